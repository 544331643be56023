//! Where the token comes from: `Authorization: Bearer …`, and nowhere else.
//!
//! # Why no cookie
//! A browser sends a cookie along with requests that another site makes; a header it does not.

use axum::http::{HeaderMap, header};

use crate::graphql::error::{Code, RequestError};
use crate::http::response::Failure;

/// The token that a request presents; `None` if it presents none.
pub(super) fn token(headers: &HeaderMap) -> Result<Option<&str>, Failure> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    let is_only = values.next().is_none();
    let token = value.to_str().ok().filter(|_| is_only).and_then(bearer);
    if token.is_none() {
        let message = "There must be one Authorization header, of the form `Bearer <token>`.";
        return Err(Failure::of(RequestError::new(Code::Unauthenticated, message)));
    }
    Ok(token)
}

/// The token in a value of the form `Bearer <token>`.
pub(super) fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}
