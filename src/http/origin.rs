//! Checks the origin of requests, to control which sites may send requests through a user's browser.
//!
//! A browser reports the origin of the page that sends a request. Pages of this server may send requests. Pages of
//! other sites may do so only if their origin is allowed. So a page that a user happens to visit cannot use a server
//! that only this user can reach, not even to read. Clients other than browsers report no origin and are not checked.

use std::net::IpAddr;

use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;

use crate::config::HttpConfig;
use crate::graphql::error::Code;
use crate::http::response::{self, Failure};

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// Time for which a browser may cache the result of a preflight request, in seconds: a day.
const PREFLIGHT_MAX_AGE: HeaderValue = HeaderValue::from_static("86400");

/// The origin of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// The request comes from a page of this server, or from no page at all.
    Own,
    /// The request comes from a page of another, allowed site.
    Allowed(HeaderValue),
}

/// Returns a request's origin. Rejects an origin that is not allowed.
pub(super) fn judge(headers: &HeaderMap, config: &HttpConfig) -> Result<Origin, Failure> {
    let host = only(headers, &header::HOST)?.map(str::to_ascii_lowercase);
    let is_listed =
        |origin: &str| config.http_cors_origins.iter().any(|allowed| allowed == "*" || allowed == origin);
    let is_own = |host: &str| {
        // Anyone can point a name at this machine, so a name does not prove a page's origin. Where names are
        // configured, `http::host` has already rejected requests for all others.
        let is_known = !config.http_hosts.is_empty();
        let is_safe = is_known || !config.addresses.http_listen.is_loopback() || is_certain(host);
        is_safe || ["http", "https"].iter().any(|scheme| is_listed(&format!("{scheme}://{host}")))
    };
    if host.as_deref().is_some_and(|host| !is_own(host)) {
        return Err(rejection());
    }
    let Some(origin) = only(headers, &header::ORIGIN)? else {
        let is_foreign = headers.get(FETCH_SITE).is_some_and(|site| site == "cross-site");
        return if is_foreign { Err(rejection()) } else { Ok(Origin::Own) };
    };
    let lower = origin.to_ascii_lowercase();
    let site = lower.split_once("://").map(|(_, site)| site);
    if site.is_some() && site == host.as_deref() {
        return Ok(Origin::Own);
    }
    // A server that listens on a loopback address trusts all sites served on this machine.
    let is_near = config.addresses.http_listen.is_loopback() && site.is_some_and(is_here);
    match HeaderValue::from_str(origin) {
        Ok(origin) if is_listed(&lower) || is_near => Ok(Origin::Allowed(origin)),
        _ => Err(rejection()),
    }
}

/// Returns the value of a header; `None` if the request has none. Rejects a request in which the header occurs more
/// than once.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, Failure> {
    let mut values = headers.get_all(name).iter();
    let first = values.next().map(|value| value.to_str().map_err(|_| rejection())).transpose()?;
    if values.next().is_some() { Err(rejection()) } else { Ok(first) }
}

/// Returns a host without its port.
fn name(host: &str) -> &str {
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    let name = host.rsplit_once(':').filter(|(_, end)| is_port(end)).map_or(host, |(name, _)| name);
    name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name)
}

fn is_localhost(name: &str) -> bool {
    name == "localhost" || name.ends_with(".localhost")
}

/// Returns true if a host cannot be pointed elsewhere by DNS: it is an IP address or a `localhost` name.
pub(super) fn is_certain(host: &str) -> bool {
    is_localhost(name(host)) || name(host).parse::<IpAddr>().is_ok()
}

/// Returns true if a site's host is this machine.
fn is_here(site: &str) -> bool {
    is_localhost(name(site)) || name(site).parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn rejection() -> Failure {
    let message = "This origin is not allowed, or this host name is not accepted. The option \
        --http-cors-origins lists the allowed origins.";
    Failure::new(StatusCode::FORBIDDEN, Code::Forbidden, message)
}

impl Origin {
    /// Allows the page to read the response.
    pub(super) fn admit(&self, response: &mut Response) {
        let headers = response.headers_mut();
        if let Self::Allowed(origin) = self {
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
            let exposed = HeaderValue::from_static(
                "retry-after, x-ratelimit-cost, x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset, \
                 x-request-id",
            );
            headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
        }
    }
}

/// Responds to a browser's preflight request.
pub(super) fn preflight(headers: &HeaderMap, config: &HttpConfig) -> Result<Response, Failure> {
    let origin = judge(headers, config)?;
    let mut response = response::text("text/plain; charset=utf-8", "");
    *response.status_mut() = StatusCode::NO_CONTENT;
    origin.admit(&mut response);
    let headers = response.headers_mut();
    let methods = HeaderValue::from_static("GET, HEAD, POST, OPTIONS");
    headers.insert(header::VARY, HeaderValue::from_static("origin"));
    headers.insert(header::ALLOW, methods.clone());
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, methods);
    let allowed =
        HeaderValue::from_static("authorization, content-type, traceparent, tracestate, x-request-id");
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, allowed);
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, PREFLIGHT_MAX_AGE);
    Ok(response)
}
