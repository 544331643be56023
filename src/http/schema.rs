//! `/schema.graphql`: the contract with clients, as a text that is read again only when it has changed.

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;

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
}

/// Anybody may keep it, but shall ask each time whether it is still the same.
pub(super) async fn page(State(server): State<Arc<Server>>, headers: HeaderMap) -> Response {
    let Contract { text, tag } = &server.contract;
    response::unless_known(&headers, tag, || response::text("text/plain; charset=utf-8", text.clone()))
}
