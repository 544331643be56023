//! What only moderators see.

pub(in crate::graphql) mod account;
pub(in crate::graphql) mod invite;
pub(in crate::graphql) mod list;
pub(in crate::graphql) mod log;
pub(in crate::graphql) mod report;

use std::sync::Arc;

use async_graphql::Object;

use crate::app::error::Error;
use crate::graphql::context::Scope;
use crate::graphql::cursor::{Accounts, Invites, ListOf, Log, Reports};
use crate::graphql::directive::{CacheControlScope::Private, cache_control, cost};
use crate::graphql::id::GlobalId;
use crate::graphql::paging::connections;
use crate::graphql::types::scalar::number;
use crate::graphql::types::user_by::UserBy;
use crate::model;
use crate::model::id::UserId;
use crate::model::moderator::Moderator;
use crate::model::page::Position;
use crate::model::user::Username;

use self::account::{Account, AccountStatus};
use self::invite::Invite;
use self::list::ModerationConnection;
use self::log::ModerationLogEntry;
use self::report::Report;

/// What only moderators see.
pub(in crate::graphql) struct Moderation {
    scope: Arc<Scope>,
    moderator: Moderator,
    user: UserId,
}

impl Moderation {
    /// Creates the part of a viewer who is a moderator.
    pub(in crate::graphql) fn new(scope: &Arc<Scope>, user: UserId) -> Self {
        Self { scope: Arc::clone(scope), moderator: Moderator::User(user), user }
    }
}

/// What only moderators see.
#[Object(directive = cache_control::apply(Private))]
impl Moderation {
    /// The account of a user, active or not; null if there is no such user.
    async fn account(
        &self,
        #[graphql(desc = "The user's id or username.")] by: UserBy,
    ) -> Option<Result<Account, Error>> {
        let account = async {
            let (app, moderator) = (&self.scope.app, &self.moderator);
            let user = match by {
                UserBy::Id(id) => Some(GlobalId::user("by.id", &id)?),
                UserBy::Username(name) => match Username::parse(&name) {
                    Ok(username) => app.user_named(moderator, &username).await?,
                    Err(_) => None,
                },
            };
            let Some(user) = user else { return Ok(None) };
            let details = app.account_details(moderator, user).await?;
            Ok(details.map(|details| Account::new(&self.scope, details)))
        };
        self.scope.budget().limit(account).await.transpose()
    }

    /// The number of reports that no moderator has resolved; null if temporarily unavailable.
    async fn open_report_count(&self) -> Option<Result<i32, Error>> {
        let count = self.scope.app.open_report_count(&self.moderator);
        Some(self.scope.budget().limit(count).await.map(number))
    }

    #[graphql(flatten)]
    #[expect(clippy::unused_async, reason = "the library requires it")]
    async fn lists(&self) -> ModerationLists {
        ModerationLists { scope: Arc::clone(&self.scope), moderator: self.moderator, user: self.user }
    }
}

/// The lists that only moderators see, as connections.
struct ModerationLists {
    scope: Arc<Scope>,
    moderator: Moderator,
    user: UserId,
}

connections! {
    impl ModerationLists {
        /// The accounts of all users, the last registered first. With the status `SUSPENDED` or `DELETED`, the last
        /// suspended or deleted first. A cursor is valid only with the same status.
        @[directive = cost::apply("20".to_owned())]
        async fn accounts(
            &self, _context, paging,
            status: AccountStatus = "Return only accounts with this status. If null, return all accounts.",
        ) -> ModerationConnection<Account> {
            let list = ListOf { kind: Accounts, owner: self.user };
            let window = paging.window(list)?;
            let page = self.scope.app.account_page(&self.moderator, status.map(Into::into), window);
            let page = self.scope.budget().limit(page).await?;
            let entry = |listed: &crate::app::moderation::read::ListedAccount| {
                (listed.position, Account::new(&self.scope, listed.details.clone()))
            };
            Ok(ModerationConnection::new(list, &page, entry))
        }

        /// The reports that no moderator has resolved, newest first.
        @[directive = cost::apply("20".to_owned())]
        async fn reports(&self, _context, paging) -> ModerationConnection<Report> {
            let list = ListOf { kind: Reports, owner: self.user };
            let window = paging.window(list)?;
            let found = self.scope.app.report_page(&self.moderator, window);
            let found = self.scope.budget().limit(found).await?;
            let entry = |report: &model::moderation::Report| {
                (report.id, Report::new(&self.scope, report, &found.accounts, &found.posts))
            };
            Ok(ModerationConnection::new(list, &found.page, entry))
        }

        /// What moderators did, newest first. An action is recorded before it is carried out, so that one that failed
        /// may be in the log as well.
        @[directive = cost::apply("20".to_owned())]
        async fn log(&self, _context, paging) -> ModerationConnection<ModerationLogEntry> {
            let list = ListOf { kind: Log, owner: self.user };
            let window = paging.window(list)?;
            let found = self.scope.app.log_page(&self.moderator, window);
            let (page, accounts) = self.scope.budget().limit(found).await?;
            let entry = |entry: &model::moderation::LogEntry| {
                (entry.id, ModerationLogEntry::new(&self.scope, entry, &accounts))
            };
            Ok(ModerationConnection::new(list, &page, entry))
        }

        /// The invites, newest first, including those that have expired or are used up.
        @[directive = cost::apply("20".to_owned())]
        async fn invites(&self, _context, paging) -> ModerationConnection<Invite> {
            let list = ListOf { kind: Invites, owner: self.user };
            let window = paging.window(list)?;
            let page = self.scope.app.invite_page(&self.moderator, window);
            let page = self.scope.budget().limit(page).await?;
            let now = self.scope.app.now();
            let entry = |invite: &model::invite::Invite| {
                (Position { at: invite.created_at, id: invite.code }, Invite::new(invite.clone(), now))
            };
            Ok(ModerationConnection::new(list, &page, entry))
        }
    }
}
