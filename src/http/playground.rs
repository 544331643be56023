//! The page at `/`: write a query, send it, see the answer. Works without any other host.

use axum::http::{HeaderValue, header};
use axum::response::Response;

use crate::http::response;

const PAGE: &str = include_str!("../../playground/index.html");

/// The page is one file: its own styles and script, requests to its own origin, nothing else.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub(super) async fn page() -> Response {
    let mut page = response::text("text/html; charset=utf-8", PAGE);
    let headers = page.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    page
}
