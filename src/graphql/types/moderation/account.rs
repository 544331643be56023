//! An account as moderators see it.

use std::sync::Arc;

use async_graphql::{Context, Enum, ID, Object};

use crate::app::error::Error;
use crate::app::visibility::Access;
use crate::graphql::context::Scope;
use crate::graphql::directive::{CacheControlScope::Private, cache_control};
use crate::graphql::id::GlobalId;
use crate::graphql::selection::Selected;
use crate::graphql::types::scalar::{DateTime, number};
use crate::graphql::types::selection::user_selection;
use crate::graphql::types::user::User;
use crate::model::moderation::{self, AccountDetails};

/// A user's account, active or not, as moderators see it.
#[derive(Clone)]
pub(in crate::graphql) struct Account {
    scope: Arc<Scope>,
    details: AccountDetails,
}

impl Account {
    pub(in crate::graphql) fn new(scope: &Arc<Scope>, details: AccountDetails) -> Self {
        Self { scope: Arc::clone(scope), details }
    }
}

/// A user's account, active or not, as moderators see it.
#[Object(directive = cache_control::apply(Private))]
impl Account {
    /// The account's id, for caches: it is not the id of the user. `node` does not look it up.
    async fn id(&self) -> ID {
        GlobalId::Account(self.details.account.user).print()
    }

    /// The user's id, as in `User.id`, to pass to mutations.
    async fn user_id(&self) -> ID {
        GlobalId::User(self.details.account.user).print()
    }

    /// The user as the viewer sees them; null while their account is not active, or if they block the viewer.
    async fn user(&self, context: &Context<'_>) -> Option<Result<User, Error>> {
        let selection = user_selection(&[Selected::of(context)]);
        let ids = Arc::new([self.details.account.user]);
        let users = User::load_all(&self.scope, ids, selection, Access::Direct).await;
        users.map(|mut users| users.pop().flatten()).transpose()
    }

    /// The username, which an account keeps while it is not active.
    async fn username(&self) -> &str {
        &self.details.account.username
    }

    /// The display name.
    async fn display_name(&self) -> &str {
        &self.details.display_name
    }

    /// The time of registration.
    async fn created_at(&self) -> DateTime {
        DateTime(self.details.account.created_at)
    }

    /// The status of the account. Others see only active accounts.
    async fn status(&self) -> AccountStatus {
        moderation::AccountStatus::of(&self.details.account).into()
    }

    /// The time of the suspension; null if the account is not suspended.
    async fn suspended_at(&self) -> Option<DateTime> {
        self.details.account.suspended_at.map(DateTime)
    }

    /// The time from which the account may be erased; null unless the user or a moderator has deleted it.
    async fn deletion_at(&self) -> Option<DateTime> {
        self.details.account.deletion_at.map(DateTime)
    }

    /// True if the user is a moderator. A suspended moderator has no rights.
    async fn is_moderator(&self) -> bool {
        self.details.account.is_moderator
    }

    /// The number of the user's active sessions.
    async fn session_count(&self) -> i32 {
        number(self.details.session_count as u64)
    }

    /// The number of open reports about the user and their posts.
    async fn open_report_count(&self) -> i32 {
        number(self.details.open_report_count)
    }
}

/// The status of an account.
#[derive(Clone, Copy, Debug, Enum, PartialEq, Eq)]
#[graphql(remote = "moderation::AccountStatus")]
pub(in crate::graphql) enum AccountStatus {
    /// Others see the account.
    Active,
    /// A moderator has suspended the account, whether or not it is also to be erased.
    Suspended,
    /// The user has deleted the account, and may still cancel that.
    Deleted,
}
