//! Checks the host name of requests.
//!
//! Anyone who owns a domain can point it at this server (DNS rebinding). A page of that domain then has the same origin
//! as the server. So if host names are configured, the server rejects requests for all other names. An admin listener
//! on a loopback address also accepts IP addresses and localhost, which cannot be pointed elsewhere, and rejects all
//! names that are not configured. On any other address, it accepts all names: load balancers and scrapers use whatever
//! name they know.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::Response;

use crate::graphql::error::Code;
use crate::http::accept::MediaType;
use crate::http::response::Failure;
use crate::http::{Server, origin};

/// Rejects a request for a host that is not configured.
pub(super) async fn check(State(server): State<Arc<Server>>, request: Request, next: Next) -> Response {
    let names = &server.config.http_hosts;
    if are_accepted(request.uri(), request.headers(), |host| is_one(host, names)) {
        return next.run(request).await;
    }
    rejection("This host name is not accepted. The option --http-hosts lists the accepted names.")
}

/// Rejects a request to an admin listener on a loopback address for a name that someone could have pointed there.
pub(super) async fn check_admin(State(server): State<Arc<Server>>, request: Request, next: Next) -> Response {
    let names = &server.config.http_hosts;
    let is_accepted = |host: &str| origin::is_certain(host) || is_one(host, names);
    if are_accepted(request.uri(), request.headers(), is_accepted) {
        return next.run(request).await;
    }
    rejection(
        "This host name is not accepted here. Use an IP address or localhost, or list the name in --http-hosts.",
    )
}

fn rejection(message: &'static str) -> Response {
    let failure = Failure::new(StatusCode::MISDIRECTED_REQUEST, Code::BadRequest, message);
    failure.into_response(MediaType::Json)
}

/// Returns true if a host is one of these names. A name without a port matches all ports.
fn is_one(host: &str, names: &[String]) -> bool {
    names.iter().any(|name| *name == host || *name == bare(host))
}

/// Returns true if a request has exactly one `Host` header, and every host that the request names is accepted. The
/// hosts are in lower case.
fn are_accepted(uri: &Uri, headers: &HeaderMap, is_accepted: impl Fn(&str) -> bool) -> bool {
    let is_accepted = |host: &str| is_accepted(&host.trim().to_ascii_lowercase());
    let mut hosts = headers.get_all(header::HOST).iter();
    let said = hosts.next().and_then(|host| host.to_str().ok());
    let is_only = hosts.next().is_none();
    let target = uri.authority().map(axum::http::uri::Authority::as_str);
    is_only && said.is_some_and(is_accepted) && target.is_none_or(is_accepted)
}

/// Returns a host without its port and without a trailing dot.
fn bare(host: &str) -> &str {
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    let name = host.rsplit_once(':').filter(|(_, port)| is_port(port)).map_or(host, |(name, _)| name);
    name.strip_suffix('.').unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn a_name_matches_all_ports_and_a_name_with_a_port_only_that_one() {
        let names =
            ["feed.example.org", "other.example:8443", "[2001:db8::1]", "192.0.2.1"].map(str::to_owned);
        let is = |uri: &str, hosts: &[&str]| {
            let mut headers = HeaderMap::new();
            for host in hosts {
                headers.append(header::HOST, HeaderValue::from_str(host).unwrap());
            }
            are_accepted(&uri.parse().unwrap(), &headers, |host| is_one(host, &names))
        };
        for host in [
            "feed.example.org",
            "FEED.example.org:8080",
            "feed.example.org.",
            "other.example:8443",
            "[2001:db8::1]:80",
            "192.0.2.1:1",
        ] {
            assert!(is("/", &[host]), "{host}");
        }
        for host in [
            "",
            "example.org",
            "feed.example.org.evil.example",
            "other.example",
            "other.example:80",
            "localhost",
        ] {
            assert!(!is("/", &[host]), "{host}");
        }
        assert!(!is("/", &[]) && !is("/", &["feed.example.org", "feed.example.org"]));
        assert!(is("http://feed.example.org/", &["feed.example.org"]));
        assert!(!is("http://evil.example/", &["feed.example.org"]));
    }
}
