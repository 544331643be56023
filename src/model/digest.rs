//! Short digests of strings.

use std::fmt;

use sha2::{Digest as _, Sha256};

/// A digest of one or more strings, for comparing them: the first half of a SHA-256 hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Digest(u128);

impl Digest {
    /// Computes the digest of `N` strings, any of which may be absent.
    #[must_use]
    pub fn of<const N: usize>(texts: [Option<&str>; N]) -> Self {
        let mut hash = Sha256::new();
        for text in texts {
            // The length prefix keeps the boundaries between strings unambiguous.
            let length = text.map_or(u64::MAX, |text| text.len() as u64);
            hash.update(length.to_be_bytes());
            hash.update(text.unwrap_or_default());
        }
        let hash: [u8; 32] = hash.finalize().into();
        Self(hash.first_chunk().map_or(0, |half| u128::from_be_bytes(*half)))
    }

    /// Parses a digest from its hexadecimal form.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        u128::from_str_radix(text, 16).ok().map(Self)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:032x}", self.0)
    }
}
