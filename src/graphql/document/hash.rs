//! Hashes of documents, by which clients reference them.

use std::fmt;

use sha2::{Digest as _, Sha256};

/// A document's identifier: the SHA-256 of its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DocumentHash([u8; 32]);

impl DocumentHash {
    /// Returns the hash of a document.
    #[must_use]
    pub fn of(text: &str) -> Self {
        Self(Sha256::digest(text).into())
    }

    /// Parses a hash in hexadecimal digits, with or without the prefix `sha256:`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix("sha256:").unwrap_or(text);
        let mut hash = [0; 32];
        if digits.len() != 2 * hash.len() || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        for (byte, digits) in hash.iter_mut().zip(digits.as_bytes().chunks(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
        }
        Some(Self(hash))
    }
}

impl fmt::Display for DocumentHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}
