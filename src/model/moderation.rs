//! Moderation: the actions of moderators, the log of them, and the reports of users.
//!
//! Not here: storage (`store::report`, `store::moderation_log`), and the rules (`app::moderation`).

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use crate::model::account::Account;
use crate::model::clock::Timestamp;
use crate::model::id::{ParseIdError, PostId, ReportId, UserId};
use crate::model::invite::InviteCode;
use crate::model::moderator::Moderator;
use crate::model::page::InListOrder;
use crate::model::text::{Form, Rule, texts};

/// The kinds of actions that the log records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each variant is named after its action")]
pub enum Action {
    SuspendUser,
    UnsuspendUser,
    DeleteUser,
    CancelDeletion,
    EndSessions,
    SetPassword,
    IssueRecoveryCode,
    CancelRecovery,
    RecoverAccount,
    RemovePost,
    CreateInvite,
    RevokeInvite,
    ResolveReport,
    AddModerator,
    RemoveModerator,
}

impl Action {
    /// All actions, in declaration order.
    pub const ALL: [Self; 15] = [
        Self::SuspendUser,
        Self::UnsuspendUser,
        Self::DeleteUser,
        Self::CancelDeletion,
        Self::EndSessions,
        Self::SetPassword,
        Self::IssueRecoveryCode,
        Self::CancelRecovery,
        Self::RecoverAccount,
        Self::RemovePost,
        Self::CreateInvite,
        Self::RevokeInvite,
        Self::ResolveReport,
        Self::AddModerator,
        Self::RemoveModerator,
    ];

    /// Returns the word that identifies the action in the log.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::SuspendUser => "suspend_user",
            Self::UnsuspendUser => "unsuspend_user",
            Self::DeleteUser => "delete_user",
            Self::CancelDeletion => "cancel_deletion",
            Self::EndSessions => "end_sessions",
            Self::SetPassword => "set_password",
            Self::IssueRecoveryCode => "issue_recovery_code",
            Self::CancelRecovery => "cancel_recovery",
            Self::RecoverAccount => "recover_account",
            Self::RemovePost => "remove_post",
            Self::CreateInvite => "create_invite",
            Self::RevokeInvite => "revoke_invite",
            Self::ResolveReport => "resolve_report",
            Self::AddModerator => "add_moderator",
            Self::RemoveModerator => "remove_moderator",
        }
    }

    /// Returns the action that a word identifies; `None` if no action of this version does.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.word() == word)
    }
}

/// The objects of an action.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Objects {
    /// The user; for an action on a post or a report, the author of the post, or the reported user.
    pub user: Option<UserId>,
    /// The post.
    pub post: Option<PostId>,
    /// The report.
    pub report: Option<ReportId>,
    /// The invite.
    pub invite: Option<InviteCode>,
}

impl Objects {
    /// Creates the objects of an action on a user.
    #[must_use]
    pub fn user(user: UserId) -> Self {
        Self { user: Some(user), ..Self::default() }
    }

    /// Creates the objects of an action on an invite.
    #[must_use]
    pub fn invite(code: InviteCode) -> Self {
        Self { invite: Some(code), ..Self::default() }
    }
}

texts! {
    /// A moderator's note on an action: up to 1,000 characters, possibly empty.
    #[derive(Default)]
    ActionNote: Rule { subject: "A note", least: 0, most: 1_000, form: Form::Paragraphs };
    /// The reason that a user gives for a report: 1 to 1,000 characters.
    ReportReason: Rule { subject: "A reason", least: 1, most: 1_000, form: Form::Paragraphs };
}

/// An action to record in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedAction {
    /// The author of the action: a moderator or, for a step of a recovery, the user of the account.
    pub moderator: Moderator,
    /// The kind of action.
    pub action: Action,
    /// The objects of the action.
    pub objects: Objects,
    /// The moderator's note.
    pub note: ActionNote,
}

/// The position of an entry of the log: entries have increasing times, and a number among those of the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LogId {
    /// Time of the action.
    pub at: Timestamp,
    /// Number of earlier entries with the same time.
    pub number: u64,
}

impl InListOrder for LogId {
    fn in_list_order(&self, other: &Self) -> Ordering {
        other.cmp(self)
    }
}

/// The form of the ids of a stream: `1767225600000-0`.
impl fmt::Display for LogId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}-{}", self.at.as_millis(), self.number)
    }
}

impl FromStr for LogId {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        let parts = text.split_once('-').and_then(|(at, number)| {
            let at = at.parse().ok().filter(|at| *at >= 0).map(Timestamp::from_millis)?;
            Some(Self { at, number: number.parse().ok()? })
        });
        // Each entry has exactly one id.
        parts.filter(|id| id.to_string() == text).ok_or(ParseIdError)
    }
}

/// An entry of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// The position of the entry, with the time of the action.
    pub id: LogId,
    /// The action.
    pub logged: LoggedAction,
}

/// What a user reports: another user, or one of their posts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reported {
    /// The reported user, or the author of the reported post.
    pub user: UserId,
    /// The reported post; `None` if the user as such is reported.
    pub post: Option<PostId>,
}

/// A report that no moderator has resolved yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Id of the report.
    pub id: ReportId,
    /// The user who has reported.
    pub reporter: UserId,
    /// The reported user or post.
    pub reported: Reported,
    /// Time of the report, or of its last change by the reporter.
    pub at: Timestamp,
    /// The reason that the reporter gives.
    pub reason: ReportReason,
}

impl InListOrder for ReportId {
    fn in_list_order(&self, other: &Self) -> Ordering {
        other.cmp(self)
    }
}

/// The state of an account, as lists of accounts show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccountStatus {
    /// Others see the account.
    Active,
    /// A moderator has suspended the account, whether or not the user has also deleted it.
    Suspended,
    /// The user has deleted the account, and may still cancel that.
    Deleted,
}

impl AccountStatus {
    /// Returns the status of an account.
    #[must_use]
    pub fn of(account: &Account) -> Self {
        match (account.suspended_at, account.deletion_at) {
            (Some(_), _) => Self::Suspended,
            (None, Some(_)) => Self::Deleted,
            (None, None) => Self::Active,
        }
    }
}

/// An account as moderators see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountDetails {
    /// The account.
    pub account: Account,
    /// The display name.
    pub display_name: String,
    /// Number of open sessions.
    pub session_count: usize,
    /// Number of open reports about the user or their posts.
    pub open_report_count: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_actions_are_part_of_the_stored_data() {
        let words = Action::ALL.map(Action::word);
        assert_eq!(
            words,
            [
                "suspend_user",
                "unsuspend_user",
                "delete_user",
                "cancel_deletion",
                "end_sessions",
                "set_password",
                "issue_recovery_code",
                "cancel_recovery",
                "recover_account",
                "remove_post",
                "create_invite",
                "revoke_invite",
                "resolve_report",
                "add_moderator",
                "remove_moderator",
            ]
        );
        assert_eq!(words.map(Action::of_word), Action::ALL.map(Some));
        assert_eq!(Action::of_word("dance"), None);
    }

    #[test]
    fn the_id_of_an_entry_is_read_as_it_was_printed() {
        let id = LogId { at: Timestamp::from_millis(1_767_225_600_000), number: 3 };
        assert_eq!(id.to_string(), "1767225600000-3");
        assert_eq!("1767225600000-3".parse(), Ok(id));
        for text in ["", "-", "5", "5-", "-5-1", "05-1", "5-01", "+5-1", "5-1-1"] {
            assert_eq!(text.parse::<LogId>(), Err(ParseIdError), "{text:?}");
        }
    }
}
