//! Codes that people copy and type: random characters, none of which is easily mistaken for another.
//!
//! Not here: what the codes are for (`model::invite`, `model::recovery`).

use crate::model::rng::Rng;

/// The characters of codes: digits and lower-case letters, without the letters that are easily mistaken for others.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// A code of `LENGTH` characters, each of which contains five random bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Code<const LENGTH: usize>([u8; LENGTH]);

impl<const LENGTH: usize> Code<LENGTH> {
    /// Issues a new random code.
    pub(super) fn issue(rng: &Rng) -> Self {
        let random: [u8; LENGTH] = rng.bytes();
        Self(random.map(|byte| ALPHABET[usize::from(byte) % ALPHABET.len()]))
    }

    /// Parses a code, as typed; `None` for any text that is none. Ignores case and surrounding white space.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let code: [u8; LENGTH] = text.trim().as_bytes().try_into().ok()?;
        let code = code.map(|byte| byte.to_ascii_lowercase());
        code.iter().all(|byte| ALPHABET.contains(byte)).then_some(Self(code))
    }

    /// Returns the code as text.
    pub(super) fn as_str(&self) -> &str {
        // A code consists of ASCII characters.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}
