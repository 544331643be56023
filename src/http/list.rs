//! Parses lists in request headers (RFC 9110, section 5.6).

use axum::http::{HeaderMap, HeaderName};

/// Returns the elements of a comma-separated list, which may span several header lines of the same name.
pub(super) fn elements<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> {
    let values = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| split(value, ',')).map(str::trim)
}

/// Splits a string at each separator that is not within a quoted string.
pub(super) fn split(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    text.split(move |character: char| {
        let was_escaped = std::mem::take(&mut is_escaped);
        match character {
            _ if was_escaped => false,
            '"' => {
                is_quoted = !is_quoted;
                false
            }
            '\\' => {
                is_escaped = is_quoted;
                false
            }
            _ => character == separator && !is_quoted,
        }
    })
}
