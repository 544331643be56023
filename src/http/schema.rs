//! `/schema.graphql`: the contract with clients, as a text that is read again only when it has changed.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};

use crate::graphql::DocumentHash;
use crate::http::{Server, response};

/// A text, and what it is known by.
pub(super) struct Contract {
    text: String,
    /// Weak, because the bytes depend on how they are compressed.
    tag: String,
}

impl Contract {
    pub(super) fn new() -> Self {
        let text = crate::graphql::sdl();
        let tag = format!("W/\"{}\"", DocumentHash::of(&text));
        Self { text, tag }
    }

    /// Whether this is what the client has already.
    fn is_known(&self, headers: &HeaderMap) -> bool {
        let known = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
        let opaque = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
        known
            .flat_map(|tags| tags.split(','))
            .any(|tag| tag.trim() == "*" || opaque(tag) == opaque(&self.tag))
    }
}

/// Anybody may keep it, but shall ask each time whether it is still the same.
pub(super) async fn page(State(server): State<Arc<Server>>, headers: HeaderMap) -> Response {
    let contract = &server.contract;
    let mut response = if contract.is_known(&headers) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        response::text("text/plain; charset=utf-8", contract.text.clone())
    };
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, no-cache"));
    if let Ok(tag) = HeaderValue::from_str(&contract.tag) {
        headers.insert(header::ETAG, tag);
    }
    response
}
