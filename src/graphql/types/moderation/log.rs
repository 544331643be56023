//! Entries of the log of what moderators did.

use std::sync::Arc;

use async_graphql::{Enum, ID, Object};

use crate::app::moderation::read::Accounts;
use crate::graphql::context::Scope;
use crate::graphql::directive::{CacheControlScope::Private, cache_control};
use crate::graphql::id::GlobalId;
use crate::graphql::types::moderation::account::Account;
use crate::graphql::types::scalar::DateTime;
use crate::model::moderation::{Action, LogEntry};

/// An action of a moderator. It is recorded before it is carried out.
pub(in crate::graphql) struct ModerationLogEntry {
    entry: LogEntry,
    moderator: Option<Account>,
    account: Option<Account>,
}

impl ModerationLogEntry {
    /// Creates an entry. `accounts` contains those of the moderator and of the user concerned.
    pub(super) fn new(scope: &Arc<Scope>, entry: &LogEntry, accounts: &Accounts) -> Self {
        let account = |user| Some(Account::new(scope, accounts.get(&user?)?.clone()));
        let moderator = account(entry.logged.moderator.user());
        Self { moderator, account: account(entry.logged.objects.user), entry: entry.clone() }
    }
}

/// An action of a moderator. It is recorded before it is carried out.
#[Object(directive = cache_control::apply(Private))]
impl ModerationLogEntry {
    /// The entry's id; opaque to clients.
    async fn id(&self) -> ID {
        GlobalId::LogEntry(self.entry.id).print()
    }

    /// The time of the action.
    async fn created_at(&self) -> DateTime {
        DateTime(self.entry.id.at)
    }

    /// The kind of action.
    async fn action(&self) -> ModerationAction {
        self.entry.logged.action.into()
    }

    /// True if the operator of the server acted, by command line.
    async fn is_by_operator(&self) -> bool {
        self.entry.logged.moderator.user().is_none()
    }

    /// The account of the moderator who acted or, for `CANCEL_RECOVERY` and `RECOVER_ACCOUNT`, of the user themselves;
    /// null for the operator, and if the user was deleted.
    async fn moderator(&self) -> Option<&Account> {
        self.moderator.as_ref()
    }

    /// The account of the user concerned: for an action on a post or a report, the author of the post or the reported
    /// user. Null if no user is concerned, and if the user was deleted.
    async fn account(&self) -> Option<&Account> {
        self.account.as_ref()
    }

    /// The id of the post concerned, as in `Post.id`; null if no post is concerned.
    async fn post_id(&self) -> Option<ID> {
        self.entry.logged.objects.post.map(|post| GlobalId::Post(post).print())
    }

    /// The id of the report concerned, as in `Report.id`; null if no report is concerned.
    async fn report_id(&self) -> Option<ID> {
        self.entry.logged.objects.report.map(|report| GlobalId::Report(report).print())
    }

    /// The id of the invite concerned, as in `Invite.id`; null if no invite is concerned.
    async fn invite_id(&self) -> Option<ID> {
        self.entry.logged.objects.invite.map(|code| GlobalId::Invite(code).print())
    }

    /// The moderator's note; empty if there is none.
    async fn note(&self) -> &str {
        self.entry.logged.note.as_str()
    }
}

/// The kind of an action of a moderator.
#[derive(Clone, Copy, Debug, Enum, PartialEq, Eq)]
#[graphql(remote = "Action")]
pub(in crate::graphql) enum ModerationAction {
    /// Suspend a user.
    SuspendUser,
    /// Unsuspend a user.
    UnsuspendUser,
    /// Delete a user.
    DeleteUser,
    /// Cancel the deletion of a user.
    CancelDeletion,
    /// End all sessions of a user.
    EndSessions,
    /// Set the password of a user, by command line.
    SetPassword,
    /// Issue a recovery code for a user.
    IssueRecoveryCode,
    /// Revoke the user's own recovery code: explicitly, or as the note says.
    CancelRecovery,
    /// Set the user's own password with a recovery code.
    RecoverAccount,
    /// Remove a post.
    RemovePost,
    /// Create an invite.
    CreateInvite,
    /// Revoke an invite.
    RevokeInvite,
    /// Resolve a report.
    ResolveReport,
    /// Make a user a moderator.
    AddModerator,
    /// End a user's rights as a moderator.
    RemoveModerator,
}
