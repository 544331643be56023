//! A session: one sign-in of one user, with a token of its own.
//!
//! Not here: the token (`secret`), how long sessions live (`config`).

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::model::chance::Chance;
use crate::model::clock::Timestamp;
use crate::model::text::{Rule, texts};

/// Names one session among those of its user. Random, and not derived from the token, so that a
/// list of sessions gives no token away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SessionId([u8; 12]);

impl SessionId {
    /// A new id.
    #[must_use]
    pub fn issue(chance: &Chance) -> Self {
        Self(chance.bytes())
    }

    /// The id printed so.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut bytes = [0; 12];
        let length = URL_SAFE_NO_PAD.decode_slice(text, &mut bytes).ok()?;
        (length == bytes.len()).then_some(Self(bytes))
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&URL_SAFE_NO_PAD.encode(self.0))
    }
}

/// One sign-in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Which one.
    pub id: SessionId,
    /// When the user signed in.
    pub created_at: Timestamp,
    /// When its token was last presented, to within some minutes.
    pub last_seen_at: Timestamp,
    /// From when on its token is refused.
    pub expires_at: Timestamp,
    /// What the client called itself.
    pub label: Label,
}

texts! {
    /// What a client calls itself when it signs in: up to 100 characters, may be empty, one line.
    #[derive(Default)]
    Label: Rule { subject: "A label", least: 0, most: 100, lines: false };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_id_is_read_as_it_was_printed() {
        let id = SessionId::issue(&Chance::from_seed(1));
        assert_eq!(SessionId::parse(&id.to_string()), Some(id));
        for text in ["", "AAAA", "AAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAA", "!!!!!!!!!!!!!!!!"] {
            assert_eq!(SessionId::parse(text), None, "{text:?}");
        }
    }
}
