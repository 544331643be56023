//! Storage of the export that a user may download: one string per user, which expires with it.
//!
//! The value is `expires ⇥ token ⇥ session ⇥ session's token`, or `expires ⇥ token ⇥ subject ⇥ subject ⇥ key` if a
//! token of an existing application requested the export. The time is in milliseconds, and the tokens are SHA-256
//! hashes.
//!
//! Not here: the data of an export, which is not stored (`app::account::export`).

use crate::model::clock::Timestamp;
use crate::model::digest::Digest;
use crate::model::id::UserId;
use crate::model::secret::TokenHash;
use crate::model::subject::Subject;
use crate::store::command::{Command, command};
use crate::store::error::Error;
use crate::store::key::Keys;

/// An export that a user may download.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredExport {
    /// Hash of the download's token.
    pub token: TokenHash,
    /// Time from which on the token is rejected.
    pub expires_at: Timestamp,
    /// Sign-in that requested the export.
    pub requester: Requester,
}

/// The sign-in that requested an export. The export ends with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requester {
    /// The session whose token has this hash.
    Session(TokenHash),
    /// A token of an existing application.
    Jwt {
        /// Subject of the token.
        subject: Subject,
        /// Digest of the key that signed the token.
        key: Digest,
    },
}

impl StoredExport {
    fn text(&self) -> String {
        let (expires, token) = (self.expires_at.as_millis(), self.token);
        match self.requester {
            Requester::Session(session) => format!("{expires}\t{token}\tsession\t{session}"),
            Requester::Jwt { subject, key } => format!("{expires}\t{token}\tsubject\t{subject}\t{key}"),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('\t');
        let expires_at = Timestamp::from_millis(parts.next()?.parse().ok()?);
        let token = TokenHash::parse(parts.next()?)?;
        let requester = match parts.next()? {
            "session" => Requester::Session(TokenHash::parse(parts.next()?)?),
            "subject" => {
                Requester::Jwt { subject: Subject::parse(parts.next()?)?, key: Digest::parse(parts.next()?)? }
            }
            _ => return None,
        };
        parts.next().is_none().then_some(Self { token, expires_at, requester })
    }
}

/// Replaces the export that a user may download.
pub fn write(keys: &Keys, user: UserId, export: &StoredExport, now: Timestamp) -> Command<String> {
    let millis = export.expires_at.since(now).as_millis().to_string();
    command("SET").key(&keys.export(user)).arg(export.text()).arg("PX").arg(millis).reply()
}

/// Reads the export that a user may download, expired or not; `None` if there is none.
pub fn read(keys: &Keys, user: UserId) -> Command<Option<StoredExport>> {
    let parse = |text: String| {
        let unexpected = || Error::corrupt("the export of a user is malformed");
        StoredExport::parse(&text).ok_or_else(unexpected)
    };
    let read = command("GET").key(&keys.export(user)).reply::<Option<String>>();
    read.map(move |text| text.map(parse).transpose())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_of_an_export_is_part_of_the_stored_data() {
        let (token, session) = (TokenHash::of("token"), TokenHash::of("session"));
        let expires_at = Timestamp::from_millis(5);
        let subject = Subject::of("https://a.example", "7");
        let key = Digest::of([Some("key")]);
        for (requester, end) in [
            (Requester::Session(session), format!("session\t{session}")),
            (Requester::Jwt { subject, key }, format!("subject\t{subject}\t{key}")),
        ] {
            let export = StoredExport { token, expires_at, requester };
            assert_eq!(export.text(), format!("5\t{token}\t{end}"));
            assert_eq!(StoredExport::parse(&export.text()), Some(export));
            assert_eq!(StoredExport::parse(&format!("{}\t", export.text())), None);
        }
        for text in ["", "5", &format!("5\t{token}\tnone"), &format!("x\t{token}\tsession\t{session}")] {
            assert_eq!(StoredExport::parse(text), None, "{text:?}");
        }
    }
}
