//! Secrets: passwords and session tokens. No `Debug` implementation here reveals a secret.
//!
//! Not here: password hashing (`app::password`), and storage of hashes (`store::session`).

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use crate::model::id::UserId;
use crate::model::rng::Rng;
use crate::model::text::Violation;

/// A password, as typed. A new password has 8 to 256 bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(Box<[u8]>);

impl Password {
    /// Minimum length of a new password, in bytes.
    const SHORTEST: usize = 8;
    /// Maximum length of a password, in bytes.
    const LONGEST: usize = 256;

    /// Validates a new password.
    pub fn choose(text: &str) -> Result<Self, Violation> {
        match text.len() {
            0..Self::SHORTEST => {
                Err(Violation::too_short(Self::SHORTEST, "A password has at least 8 bytes."))
            }
            Self::SHORTEST..=Self::LONGEST => Ok(Self(text.as_bytes().into())),
            _ => Err(Violation::too_long(Self::LONGEST, "A password has at most 256 bytes.")),
        }
    }

    /// Accepts any string as a password to verify, because an invalid password is merely wrong. Truncates the
    /// string to one byte more than the maximum length, which bounds the cost of verification.
    #[must_use]
    pub fn attempt(text: &str) -> Self {
        Self(text.as_bytes()[..text.len().min(Self::LONGEST + 1)].into())
    }

    /// Returns the password's bytes.
    #[must_use]
    pub fn expose(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Password(***)")
    }
}

/// A password hash as a PHC string, which includes parameters and salt.
#[derive(Clone, PartialEq, Eq)]
pub struct PasswordHash(Box<str>);

impl PasswordHash {
    /// Creates a hash from a PHC string.
    #[must_use]
    pub fn from_phc(text: impl Into<Box<str>>) -> Self {
        Self(text.into())
    }

    /// Returns the PHC string.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for PasswordHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("PasswordHash(***)")
    }
}

/// A session token, which authenticates a client: `base64url(user id ‖ 32 random bytes)`.
///
/// # Why it contains the id
/// With the id, a single lookup in the user's own slot finds the session. The random part is the secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    user: UserId,
    secret: [u8; 32],
}

impl Token {
    const BYTES: usize = 8 + 32;

    /// Issues a new token for this user.
    #[must_use]
    pub fn issue(user: UserId, rng: &Rng) -> Self {
        Self { user, secret: rng.bytes() }
    }

    /// Parses a token; `None` for any string that [`Token::expose`] does not produce.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut bytes = [0; Self::BYTES];
        let length = URL_SAFE_NO_PAD.decode_slice(text, &mut bytes).ok()?;
        let (user, secret) = bytes.split_first_chunk()?;
        let user = UserId::new(u64::from_be_bytes(*user))?;
        (length == Self::BYTES).then_some(Self { user, secret: secret.try_into().ok()? })
    }

    /// Returns the user whom the token authenticates, if the token is valid.
    #[must_use]
    pub fn user(&self) -> UserId {
        self.user
    }

    /// Returns the token as a string, in the form that the client stores.
    #[must_use]
    pub fn expose(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.bytes())
    }

    /// Returns the hash that the server stores in place of the token.
    #[must_use]
    pub fn hash(&self) -> TokenHash {
        TokenHash(Sha256::digest(self.bytes()).into())
    }

    fn bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&self.user.get().to_be_bytes());
        bytes[8..].copy_from_slice(&self.secret);
        bytes
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Token(***)")
    }
}

/// The SHA-256 hash of a token. The token cannot be derived from the hash.
///
/// # Why not a slow hash
/// A token has 256 random bits, so it cannot be guessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TokenHash([u8; 32]);

impl TokenHash {
    /// Returns the hash of a token that another application issued.
    #[must_use]
    pub fn of(token: &str) -> Self {
        Self(Sha256::digest(token).into())
    }

    /// Returns the hash's 32 bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Parses the string form of a hash.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        let length = URL_SAFE_NO_PAD.decode_slice(text, &mut bytes).ok()?;
        (length == bytes.len()).then_some(Self(bytes))
    }
}

impl fmt::Display for TokenHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&URL_SAFE_NO_PAD.encode(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::text::ViolationKind;

    #[test]
    fn a_token_is_read_as_it_was_written_and_not_otherwise() {
        let token = Token::issue(UserId::new(7).unwrap(), &Rng::from_seed(1));
        let text = token.expose();
        assert_eq!(Token::parse(&text), Some(token));
        let no_user = URL_SAFE_NO_PAD.encode([0; 40]);
        for text in ["", "x", &text[1..], &format!("{text}A"), &format!("{text}="), &no_user] {
            assert_eq!(Token::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_hash_is_read_as_it_was_printed() {
        let hash = TokenHash::of("token");
        assert_eq!(TokenHash::parse(&hash.to_string()), Some(hash));
        for text in ["", "AAAA", &hash.to_string()[1..], &format!("{hash}A"), &format!("{hash}=")] {
            assert_eq!(TokenHash::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn nothing_secret_is_printed() {
        let token = Token::issue(UserId::new(7).unwrap(), &Rng::from_seed(1));
        let password = Password::choose("correct horse").unwrap();
        let hash = PasswordHash::from_phc("$argon2id$v=19$secret");
        let printed = format!("{token:?} {password:?} {hash:?}");
        assert_eq!(printed, "Token(***) Password(***) PasswordHash(***)");
    }

    #[test]
    fn a_password_is_8_to_256_bytes() {
        assert_eq!(Password::choose("1234567").unwrap_err().kind, ViolationKind::TooShort);
        assert!(Password::choose("🦀🦀").is_ok());
        assert!(Password::choose(&"a".repeat(256)).is_ok());
        assert_eq!(Password::choose(&"a".repeat(257)).unwrap_err().kind, ViolationKind::TooLong);
        // A text longer than any password never matches, wherever its character boundaries are.
        let right = "a".repeat(255);
        for wrong in [right.clone() + "🦀🦀", right.clone() + "aa", right.clone() + "a"] {
            assert_ne!(Password::attempt(&wrong), Password::choose(&right).unwrap());
        }
        assert_eq!(Password::attempt(&"a".repeat(10_000)).expose().len(), 257);
    }
}
