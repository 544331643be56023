//! Requests to a world over HTTP, with any method and headers, and what their responses allow caches to do.

use axum::body::Body;
use axum::http::{HeaderMap, Method, Request, StatusCode};
use serde_json::Value;

use crate::harness::world::World;

/// The header of a body in JSON.
pub(crate) const JSON: (&str, &str) = ("content-type", "application/json");

/// Sends a request. Returns the status, the headers and the body; null if it is not JSON.
pub(crate) async fn send(
    world: &World,
    method: Method,
    uri: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> (StatusCode, HeaderMap, Value) {
    let mut request = Request::builder().method(method).uri(uri);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let (status, headers, body) = world.send(request.body(Body::from(body.to_owned())).unwrap()).await;
    (status, headers, serde_json::from_slice(&body).unwrap_or_default())
}

/// The options that let shared caches store public responses.
pub(crate) const FOR_A_MINUTE: [&str; 2] = ["--http-public-max-age", "60"];

/// Returns the `Cache-Control` of the response to this query.
pub(crate) async fn cache_control(world: &World, query: &str, headers: &[(&str, &str)]) -> String {
    let query: String = form_urlencoded::byte_serialize(query.as_bytes()).collect();
    let (_, response_headers, _) =
        send(world, Method::GET, &format!("/graphql?query={query}"), headers, "").await;
    assert_eq!(response_headers["vary"], "accept, authorization, origin");
    response_headers["cache-control"].to_str().unwrap().to_owned()
}
