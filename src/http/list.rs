//! Lists in request headers (RFC 9110, section 5.6.1).

use axum::http::{HeaderMap, HeaderName};

/// Returns the elements of a comma-separated list, which may span several headers of this name.
pub(super) fn elements<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> {
    let values = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim)
}
