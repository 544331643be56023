//! Which sites may send requests through the browsers of those who visit them.
//!
//! A browser tells whose page sends a request. A page of this server may, one of another site only if it is allowed;
//! so no page somebody happens to visit can use a server that only that somebody can reach, not even to read. Whoever
//! is no browser says nothing of it, and is not asked.

use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;

use crate::config::HttpConfig;
use crate::graphql::error::Code;
use crate::http::response::{self, Failure};

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// For how long a browser may remember what it was told of a site, in seconds.
const REMEMBERED: HeaderValue = HeaderValue::from_static("86400");

/// Whose page has sent a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// One of this server, or it was no page.
    Own,
    /// One of another site, which is allowed.
    Allowed(HeaderValue),
}

/// Whose page has sent a request; refused if it is one of a site that is not allowed.
pub(super) fn judge(headers: &HeaderMap, config: &HttpConfig) -> Result<Origin, Failure> {
    let Some(origin) = headers.get(header::ORIGIN) else {
        let is_foreign = headers.get(FETCH_SITE).is_some_and(|site| site == "cross-site");
        return if is_foreign { Err(refused()) } else { Ok(Origin::Own) };
    };
    let text = origin.to_str().unwrap_or_default();
    let site = text.split_once("://").map(|(_, site)| site);
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    if site.is_some() && site == host {
        return Ok(Origin::Own);
    }
    let is_listed = config.http_cors_origins.iter().any(|allowed| allowed == "*" || allowed == text);
    // Who serves only this machine trusts what is served on it.
    let is_local = config.listen.ip().is_loopback() && site.is_some_and(is_local);
    if is_listed || is_local { Ok(Origin::Allowed(origin.clone())) } else { Err(refused()) }
}

fn is_local(site: &str) -> bool {
    let name = site.rsplit_once(':').filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
    let name = name.map_or(site, |(name, _)| name);
    matches!(name, "localhost" | "127.0.0.1" | "[::1]")
}

fn refused() -> Failure {
    let message =
        "Pages of this site may not send requests here. The option --http-cors-origins allows sites.";
    Failure::new(StatusCode::FORBIDDEN, Code::Forbidden, message)
}

impl Origin {
    /// Lets the page read the answer.
    pub(super) fn admit(&self, response: &mut Response) {
        let headers = response.headers_mut();
        headers.append(header::VARY, HeaderValue::from_static("origin"));
        if let Self::Allowed(origin) = self {
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
            let exposed = HeaderValue::from_static("retry-after, x-request-id");
            headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
        }
    }
}

/// What a browser is told that asks whether a page may send a request.
pub(super) fn preflight(headers: &HeaderMap, config: &HttpConfig) -> Result<Response, Failure> {
    let origin = judge(headers, config)?;
    let mut response = response::text("text/plain; charset=utf-8", "");
    *response.status_mut() = StatusCode::NO_CONTENT;
    origin.admit(&mut response);
    let headers = response.headers_mut();
    let methods = HeaderValue::from_static("GET, HEAD, POST, OPTIONS");
    headers.insert(header::ALLOW, methods.clone());
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, methods);
    let allowed = HeaderValue::from_static("authorization, content-type, x-request-id");
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, allowed);
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, REMEMBERED);
    Ok(response)
}
