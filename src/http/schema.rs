//! `/schema.graphql`: serves the schema, which clients cache until it changes.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;

use crate::graphql::DocumentHash;
use crate::http::{Server, response};

/// The schema's text and its entity tag.
pub(super) struct Contract {
    text: Bytes,
    /// The entity tag. It is weak, because the bytes sent depend on the compression.
    tag: String,
}

impl Contract {
    pub(super) fn new() -> Self {
        let text = crate::graphql::sdl();
        let tag = format!("W/\"{}\"", DocumentHash::of(&text));
        Self { text: Bytes::from(text), tag }
    }
}

/// Serves the schema. Any cache may store it, but must revalidate it before each use.
pub(super) async fn page(State(server): State<Arc<Server>>, headers: HeaderMap) -> Response {
    let Contract { text, tag } = &server.contract;
    response::not_modified(&headers, tag)
        .unwrap_or_else(|| response::tagged(response::text("text/plain; charset=utf-8", text.clone()), tag))
}
