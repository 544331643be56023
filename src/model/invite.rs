//! Invites: codes with which a limited number of users can register.
//!
//! Not here: storage (`store::invite`), and the choice whether registration requires an invite (`app::moderation`).

use std::fmt;
use std::num::NonZeroU32;

use crate::model::clock::Timestamp;
use crate::model::code::Code;
use crate::model::moderator::Moderator;
use crate::model::rng::Rng;
use crate::model::text::{Form, Rule, texts};

/// The code of an invite: 16 characters, which contain 80 random bits. A client that has the code can use the invite.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InviteCode(Code<16>);

impl InviteCode {
    /// Issues a new random code.
    #[must_use]
    pub fn issue(rng: &Rng) -> Self {
        Self(Code::issue(rng))
    }

    /// Parses a code, as typed; `None` if no invite has such a code. Ignores case and surrounding white space.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Code::parse(text).map(Self)
    }

    /// Returns the code as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl fmt::Display for InviteCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl fmt::Debug for InviteCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "InviteCode({self})")
    }
}

texts! {
    /// A moderator's note on an invite: up to 200 characters, one line, possibly empty.
    #[derive(Default)]
    InviteNote: Rule { subject: "A note", least: 0, most: 200, form: Form::Line };
}

/// An invite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invite {
    /// The code that users enter.
    pub code: InviteCode,
    /// Maximum number of users who can register with the invite.
    pub uses: NonZeroU32,
    /// Number of users who have registered with the invite, or are registering.
    pub used: u32,
    /// Time from which the invite is no longer valid; `None` if it does not expire.
    pub expires_at: Option<Timestamp>,
    /// Time at which the invite was created.
    pub created_at: Timestamp,
    /// The moderator who created the invite.
    pub created_by: Moderator,
    /// The moderator's note.
    pub note: InviteNote,
}

/// Whether users can register with an invite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InviteState {
    /// The invite is valid.
    Valid,
    /// The invite has expired.
    Expired,
    /// All uses are taken.
    UsedUp,
}

impl Invite {
    /// Returns the state of the invite at this time.
    #[must_use]
    pub fn state(&self, now: Timestamp) -> InviteState {
        if self.expires_at.is_some_and(|end| end <= now) {
            InviteState::Expired
        } else if self.used >= self.uses.get() {
            InviteState::UsedUp
        } else {
            InviteState::Valid
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_read_as_it_was_printed_in_either_case() {
        let code = InviteCode::issue(&Rng::from_seed(1));
        assert_eq!(InviteCode::parse(code.as_str()), Some(code));
        assert_eq!(InviteCode::parse(&format!(" {}\n", code.as_str().to_uppercase())), Some(code));
        for text in
            ["", "0123456789abcde", "0123456789abcdefg", "0123456789abcdei", "0123456789abcd}:", "éééééééé"]
        {
            assert_eq!(InviteCode::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn two_codes_differ() {
        let rng = Rng::from_seed(1);
        assert_ne!(InviteCode::issue(&rng), InviteCode::issue(&rng));
    }
}
