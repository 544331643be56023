//! Ids as clients see them: opaque and tagged with the object's type.
//!
//! An id is the base64url encoding of a string such as `User:7`. Only the canonical form is accepted, so every object
//! has exactly one id.

use async_graphql::ID;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::app::error::Error;
use crate::model::id::{PostId, ReportId, UserId};
use crate::model::invite::InviteCode;
use crate::model::moderation::LogId;
use crate::model::session::SessionId;

/// Maximum number of ids in one argument.
pub(super) const MOST_IDS: usize = 100;

/// The object that an id identifies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GlobalId {
    User(UserId),
    Post(PostId),
    Session(SessionId),
    Viewer(UserId),
    /// A user's account, as moderators see it.
    Account(UserId),
    Report(ReportId),
    Invite(InviteCode),
    LogEntry(LogId),
    /// The relation between a viewer and another user.
    Relation {
        viewer: UserId,
        user: UserId,
    },
}

impl GlobalId {
    /// Encodes the id as clients see it.
    pub(super) fn print(self) -> ID {
        let kind = self.kind();
        let text = match self {
            Self::User(user) | Self::Viewer(user) | Self::Account(user) => format!("{kind}:{user}"),
            Self::Report(report) => format!("{kind}:{report}"),
            Self::Invite(code) => format!("{kind}:{}", code.as_str()),
            Self::LogEntry(entry) => format!("{kind}:{entry}"),
            Self::Post(post) => format!("{kind}:{post}"),
            Self::Session(session) => format!("{kind}:{session}"),
            Self::Relation { viewer, user } => format!("{kind}:{viewer}:{user}"),
        };
        ID(URL_SAFE_NO_PAD.encode(text))
    }

    /// Parses an argument as an id of any type.
    pub(super) fn parse(argument: &str, id: &ID) -> Result<Self, Error> {
        read(id).ok_or_else(|| Error::Invalid(format!("`{argument}` is not an id issued by this server.")))
    }

    /// Parses an argument as an id of a type that `node` looks up.
    pub(super) fn node(argument: &str, id: &ID) -> Result<Self, Error> {
        match Self::parse(argument, id)? {
            node @ (Self::User(_) | Self::Post(_)) => Ok(node),
            other => Err(other.unexpected(argument, "Node")),
        }
    }

    /// Parses an argument as a user's id.
    pub(super) fn user(argument: &str, id: &ID) -> Result<UserId, Error> {
        match Self::parse(argument, id)? {
            Self::User(user) => Ok(user),
            other => Err(other.unexpected(argument, "User")),
        }
    }

    /// Parses an argument as a post's id.
    pub(super) fn post(argument: &str, id: &ID) -> Result<PostId, Error> {
        match Self::parse(argument, id)? {
            Self::Post(post) => Ok(post),
            other => Err(other.unexpected(argument, "Post")),
        }
    }

    /// Parses an argument as a session's id.
    pub(super) fn session(argument: &str, id: &ID) -> Result<SessionId, Error> {
        match Self::parse(argument, id)? {
            Self::Session(session) => Ok(session),
            other => Err(other.unexpected(argument, "Session")),
        }
    }

    /// Parses an argument as a report's id.
    pub(super) fn report(argument: &str, id: &ID) -> Result<ReportId, Error> {
        match Self::parse(argument, id)? {
            Self::Report(report) => Ok(report),
            other => Err(other.unexpected(argument, "Report")),
        }
    }

    /// Parses an argument as an invite's id.
    pub(super) fn invite(argument: &str, id: &ID) -> Result<InviteCode, Error> {
        match Self::parse(argument, id)? {
            Self::Invite(code) => Ok(code),
            other => Err(other.unexpected(argument, "Invite")),
        }
    }

    /// Returns the error for an id of a type that the argument does not accept.
    pub(super) fn unexpected(self, argument: &str, expected: &str) -> Error {
        Error::Invalid(format!("`{argument}` must be the id of a {expected}, not of a {}.", self.kind()))
    }

    fn kind(self) -> &'static str {
        match self {
            Self::User(_) => "User",
            Self::Post(_) => "Post",
            Self::Session(_) => "Session",
            Self::Viewer(_) => "Viewer",
            Self::Account(_) => "Account",
            Self::Report(_) => "Report",
            Self::Invite(_) => "Invite",
            Self::LogEntry(_) => "ModerationLogEntry",
            Self::Relation { .. } => "Relation",
        }
    }
}

fn read(id: &ID) -> Option<GlobalId> {
    let text = URL_SAFE_NO_PAD.decode(id.as_str()).ok()?;
    let (kind, what) = std::str::from_utf8(&text).ok()?.split_once(':')?;
    match kind {
        "User" => what.parse().ok().map(GlobalId::User),
        "Post" => what.parse().ok().map(GlobalId::Post),
        "Session" => SessionId::parse(what).map(GlobalId::Session),
        "Viewer" => what.parse().ok().map(GlobalId::Viewer),
        "Account" => what.parse().ok().map(GlobalId::Account),
        "Report" => what.parse().ok().map(GlobalId::Report),
        "Invite" => InviteCode::parse(what).filter(|code| code.as_str() == what).map(GlobalId::Invite),
        "ModerationLogEntry" => what.parse().ok().map(GlobalId::LogEntry),
        "Relation" => {
            let (viewer, user) = what.split_once(':')?;
            Some(GlobalId::Relation { viewer: viewer.parse().ok()?, user: user.parse().ok()? })
        }
        _ => None,
    }
}

/// Rejects an argument with more than [`MOST_IDS`] ids.
pub(super) fn check_count(argument: &str, ids: &[ID]) -> Result<(), Error> {
    if ids.len() <= MOST_IDS {
        return Ok(());
    }
    Err(Error::Invalid(format!("`{argument}` has {} ids; the maximum is {MOST_IDS}.", ids.len())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::rng::Rng;

    #[test]
    fn ids_that_were_issued_are_read() {
        let seven = UserId::new(7).unwrap();
        for (text, id) in [
            ("VXNlcjo3", GlobalId::User(seven)),
            ("UG9zdDo3", GlobalId::Post(PostId::new(7).unwrap())),
            (
                "U2Vzc2lvbjpBQUFBQUFBQUFBQUFBQUFB",
                GlobalId::Session(SessionId::parse("AAAAAAAAAAAAAAAA").unwrap()),
            ),
            ("Vmlld2VyOjc", GlobalId::Viewer(seven)),
            ("UmVsYXRpb246Nzo5", GlobalId::Relation { viewer: seven, user: UserId::new(9).unwrap() }),
            ("QWNjb3VudDo3", GlobalId::Account(seven)),
            ("UmVwb3J0Ojc", GlobalId::Report(ReportId::new(7).unwrap())),
            (
                "SW52aXRlOmFiY2RlZmdoamttbnBxcnM",
                GlobalId::Invite(InviteCode::parse("abcdefghjkmnpqrs").unwrap()),
            ),
            (
                "TW9kZXJhdGlvbkxvZ0VudHJ5OjE3NjcyMjU2MDAwMDAtMw",
                GlobalId::LogEntry("1767225600000-3".parse().unwrap()),
            ),
        ] {
            assert_eq!(GlobalId::parse("id", &ID(text.into())).unwrap(), id);
            assert_eq!(*id.print(), text);
        }
    }

    #[test]
    fn everything_else_is_invalid_and_its_argument_is_named() {
        let encode = |text: &str| URL_SAFE_NO_PAD.encode(text);
        for text in [
            "",
            "7",
            "VXNlcjo3=",
            "VXNlcjo4\0",
            &encode("User:07"),
            &encode("User:"),
            &encode("Cat:7"),
            &encode("Relation:7"),
            &encode("Invite:0123456789ABCDEF"),
            &encode("ModerationLogEntry:7"),
        ] {
            let error = GlobalId::parse("ids", &ID(text.into())).unwrap_err();
            assert!(error.to_string().contains("`ids`"), "{text:?}: {error}");
        }
        let session = GlobalId::Session(SessionId::issue(&Rng::from_seed(1))).print();
        let error = GlobalId::user("userId", &session).unwrap_err();
        assert_eq!(error.to_string(), "`userId` must be the id of a User, not of a Session.");
    }
}
