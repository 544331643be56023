//! Sessions: one per sign-in of a user, each with its own token.
//!
//! Not here: session tokens (`secret`), and the lifetime of sessions (`config`).

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::model::clock::Timestamp;
use crate::model::rng::Rng;
use crate::model::text::{Form, Rule, texts};

/// The id of a session, unique per user. Random and not derived from the token, so that a list of sessions
/// reveals no tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SessionId([u8; 12]);

impl SessionId {
    /// Issues a new random id.
    #[must_use]
    pub fn issue(rng: &Rng) -> Self {
        Self(rng.bytes())
    }

    /// Parses the string form of an id.
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

/// A session, which begins when a user signs in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Id of the session.
    pub id: SessionId,
    /// Time of the sign-in.
    pub created_at: Timestamp,
    /// Time at which the client last presented the token, accurate to a few minutes.
    pub last_seen_at: Timestamp,
    /// Time at which the token expires.
    pub expires_at: Timestamp,
    /// Label that the client gave the session when the user signed in.
    pub label: Label,
}

texts! {
    /// The label that a client gives a session when the user signs in: up to 100 characters, one line,
    /// possibly empty.
    #[derive(Default)]
    Label: Rule { subject: "A label", least: 0, most: 100, form: Form::Line };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_id_is_read_as_it_was_printed() {
        let id = SessionId::issue(&Rng::from_seed(1));
        assert_eq!(SessionId::parse(&id.to_string()), Some(id));
        for text in ["", "AAAA", "AAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAA", "!!!!!!!!!!!!!!!!"] {
            assert_eq!(SessionId::parse(text), None, "{text:?}");
        }
    }
}
