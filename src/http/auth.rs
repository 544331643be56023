//! Reads the token of a session or of an existing application. It is accepted in `Authorization: Bearer …` and nowhere
//! else.
//!
//! # Why no cookie
//! A browser adds cookies, but not this header, to requests that other sites make.

use axum::http::{HeaderMap, header};

use crate::graphql::error::{Code, RequestError};
use crate::http::response::Failure;

/// Returns the request's token; `None` if the request has none.
pub(super) fn token(headers: &HeaderMap) -> Result<Option<&str>, Failure> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    let is_only = values.next().is_none();
    let token = value.to_str().ok().filter(|_| is_only).and_then(bearer);
    if token.is_none() {
        let message = "The request must have exactly one Authorization header, of the form `Bearer <token>`.";
        return Err(Failure::of(RequestError::new(Code::Unauthenticated, message)));
    }
    Ok(token)
}

/// Returns the token in a value of the form `Bearer <token>`.
pub(super) fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}
