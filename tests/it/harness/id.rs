//! Ids as the API prints them.

use std::fmt::Display;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// Returns the global id of an object of this type.
pub(crate) fn global(kind: &str, id: impl Display) -> String {
    URL_SAFE_NO_PAD.encode(format!("{kind}:{id}"))
}
