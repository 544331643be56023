//! Secrets: passwords and session tokens. No `Debug` implementation here reveals a secret.
//!
//! Not here: password hashing (`app::password`), and storage of hashes (`store::session`).

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use unicode_normalization::UnicodeNormalization as _;
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory as _};

use crate::model::id::UserId;
use crate::model::rng::Rng;
use crate::model::text::Violation;

/// A password in its prepared form, or as typed. A new password has 8 to 256 bytes in its prepared form.
///
/// # Preparation
/// Keyboards and systems write the same text in different code points: é as one or as two, a space as U+0020 or U+00A0.
/// So a password is changed by the rules of the PRECIS profile `OpaqueString` (RFC 8265, section 4.2): each non-ASCII
/// space becomes an ASCII space, and the text is normalized to NFC. Case and compatible characters stay different.
///
/// The profile also rejects characters, which is left out here: its table of them ends with Unicode 6.3, it rejects
/// characters that users have in their passwords already, such as joined emoji, and it looks at them before the
/// normalization, so that it rejects Korean in one form and accepts it in another. Without that, the prepared form
/// depends on no table that grows.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(Box<[u8]>);

impl Password {
    /// Minimum length of a new password, in bytes.
    const SHORTEST: usize = 8;
    /// Maximum length of a password, in bytes.
    const LONGEST: usize = 256;
    /// Number of bytes of a typed text that are prepared. Preparation makes no text more than three times shorter, so a
    /// longer text is longer than any password.
    const PREPARED: usize = 4 * Self::LONGEST;

    /// Validates a new password, and prepares it.
    pub fn choose(text: &str) -> Result<Self, Violation> {
        let prepared = prepare(text);
        match prepared.len() {
            0..Self::SHORTEST => {
                Err(Violation::too_short(Self::SHORTEST, "A password has at least 8 bytes."))
            }
            Self::SHORTEST..=Self::LONGEST => Ok(Self(prepared.into_bytes().into())),
            _ => Err(Violation::too_long(Self::LONGEST, "A password has at most 256 bytes.")),
        }
    }

    /// Returns the password's bytes.
    #[must_use]
    pub fn expose(&self) -> &[u8] {
        &self.0
    }
}

/// Returns the prepared form of a text, or of as much of it as shows that it is longer than any password.
fn prepare(text: &str) -> String {
    let is_space = |character: char| character.general_category() == GeneralCategory::SpaceSeparator;
    let start = &text[..text.floor_char_boundary(Password::PREPARED)];
    start.chars().map(|character| if is_space(character) { ' ' } else { character }).nfc().collect()
}

/// A password to verify. Any text is one, because an invalid password is merely wrong.
#[derive(Clone, Debug)]
pub struct PasswordAttempt {
    /// The password in its prepared form.
    pub prepared: Password,
    /// The password as typed; `None` if it is the same, or too long. Earlier versions of Fanfold have hashed passwords
    /// as typed.
    pub typed: Option<Password>,
}

impl PasswordAttempt {
    /// Prepares a typed text. Truncates it to one byte more than the maximum length, which bounds the cost of
    /// verification.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let prepared = prepare(text);
        let is_other = text.len() <= Password::LONGEST && prepared != text;
        let length = prepared.len().min(Password::LONGEST + 1);
        Self {
            prepared: Password(prepared.as_bytes()[..length].into()),
            typed: is_other.then(|| Password(text.as_bytes().into())),
        }
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

/// The SHA-256 hash of a token or a recovery code. These cannot be derived from the hash.
///
/// # Why not a slow hash
/// A token has 256 random bits and a recovery code 130, so they cannot be guessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TokenHash([u8; 32]);

impl TokenHash {
    /// Returns the hash of a recovery code, or of a token that another application issued.
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
    use precis_profiles::OpaqueString;
    use precis_profiles::precis_core::profile::PrecisFastInvocation as _;
    use proptest::{prop_assert_eq, proptest};

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
            assert_ne!(PasswordAttempt::new(&wrong).prepared, Password::choose(&right).unwrap());
        }
        assert_eq!(PasswordAttempt::new(&"a".repeat(10_000)).prepared.expose().len(), 257);
    }

    #[test]
    fn the_length_of_a_password_is_that_of_its_prepared_form() {
        let kelvins = "\u{212a}".repeat(256);
        assert_eq!(Password::choose(&kelvins).unwrap().expose(), "K".repeat(256).as_bytes());
        assert_eq!(Password::choose(&(kelvins.clone() + "K")).unwrap_err().kind, ViolationKind::TooLong);
        assert_eq!(Password::choose("\u{212a}\u{212a}\u{212a}").unwrap_err().kind, ViolationKind::TooShort);
        let attempt = PasswordAttempt::new(&kelvins.repeat(20));
        assert_eq!((attempt.prepared.expose().len(), attempt.typed), (257, None));
        assert!(PasswordAttempt::new(&kelvins).typed.is_none(), "no earlier password was as long");
        assert!(PasswordAttempt::new("correct horse").typed.is_none());
        assert!(PasswordAttempt::new("correct\u{a0}horse").typed.is_some());
    }

    #[test]
    fn characters_that_the_profile_rejects_are_prepared_as_well() {
        let jamo = "\u{1112}\u{1161}\u{11ab}";
        for (typed, prepared) in [
            ("e\u{301} \u{1f469}\u{200d}\u{1f680}", "é \u{1f469}\u{200d}\u{1f680}"),
            ("\u{1f92f}\u{3000}e\u{301}", "\u{1f92f} é"),
            (jamo, "한"),
            ("a\u{b7}b\u{2003}c", "a·b c"),
            ("tab\tand\u{0}nul", "tab\tand\u{0}nul"),
        ] {
            assert!(OpaqueString::enforce(typed).is_err(), "{typed:?}");
            assert_eq!(prepare(typed), prepared);
            assert_eq!(prepare(prepared), prepared);
        }
    }

    proptest! {
        #[test]
        fn a_prepared_password_is_that_of_the_profile_in_every_form(text in "\\PC{0,20}") {
            let prepared = prepare(&text);
            if let Ok(enforced) = OpaqueString::enforce(&text) {
                prop_assert_eq!(&prepared, &enforced);
            }
            for other in [text.nfc().collect::<String>(), text.nfd().collect(), prepared.clone()] {
                prop_assert_eq!(&prepare(&other), &prepared);
            }
        }
    }
}
