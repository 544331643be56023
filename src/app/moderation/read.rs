//! What moderators read: accounts, reports with what they are about, and the log.
//!
//! Moderators see accounts and posts that are hidden from everyone else. So these reads bypass
//! [`crate::app::visibility`], and all that return users or posts take a [`Moderator`].

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::app::App;
use crate::app::archive::Listed;
use crate::app::error::Error;
use crate::app::post::read::PostRecords;
use crate::app::read::{Load as _, Pending, Read, Requests, Shared};
use crate::model::account::Account;
use crate::model::clock::Timestamp;
use crate::model::id::{PostId, ReportId, UserId};
use crate::model::moderation::{AccountDetails, AccountStatus, LogEntry, LogId, Report};
use crate::model::moderator::Moderator;
use crate::model::page::{Direction, Page, Position, Window};
use crate::model::post::Post;
use crate::model::user::Username;
use crate::store::batch::Batch;
use crate::store::name::{self, Holder};
use crate::store::{account, moderation_log, report, session, user};

/// Number of accounts that are read together to find those of a status.
const PORTION: usize = 100;

/// Returns true if the user moderates: a suspended moderator does not.
pub(in crate::app) fn moderates(account: &Account) -> bool {
    account.is_moderator && account.is_active()
}

/// True if a user is a moderator.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IsModerator(pub UserId);

impl Read for IsModerator {
    type Value = bool;

    fn request(&self, requests: &mut Requests<'_>) -> Pending<bool> {
        let account = requests.push(account::read(requests.keys(), self.0));
        Pending::hot(move |responses| Ok(responses.replies.take(account)?.as_ref().is_some_and(moderates)))
    }
}

/// An account in a list, with its position.
#[derive(Clone, Debug)]
pub struct ListedAccount {
    /// Position in the list.
    pub position: Position,
    /// The account.
    pub details: AccountDetails,
}

/// Accounts by user.
pub type Accounts = HashMap<UserId, AccountDetails>;

/// A page of open reports, with what they are about.
#[derive(Debug)]
pub struct ReportPage {
    /// The reports.
    pub page: Page<Report>,
    /// The accounts of the reporters and the reported users. Lacks users who were deleted.
    pub accounts: Accounts,
    /// The reported posts, hidden or not. Lacks posts that were deleted. An error if the archive is unavailable.
    pub posts: Result<HashMap<PostId, Arc<Post>>, Error>,
}

impl App {
    /// Returns an account; `None` if there is no such user. Makes one round trip.
    pub async fn account_details(
        &self,
        moderator: &Moderator,
        user: UserId,
    ) -> Result<Option<AccountDetails>, Error> {
        Ok(self.details_of(moderator, [user]).await?.remove(&user))
    }

    /// Returns the id of the user with this name, whether or not their account is active. Makes one round trip.
    pub async fn user_named(
        &self,
        _moderator: &Moderator,
        username: &Username,
    ) -> Result<Option<UserId>, Error> {
        let holder = name::holder(self.keys(), username).send("moderator: name", self.store()).await?;
        Ok(match holder {
            Some(Holder::Settled(user) | Holder::Inactive(user)) => Some(user),
            Some(Holder::Reserved(_)) | None => None,
        })
    }

    /// Returns the accounts of these users. Lacks users who do not exist. Makes one round trip; none if there are no
    /// users.
    pub async fn details_of(
        &self,
        _moderator: &Moderator,
        users: impl IntoIterator<Item = UserId>,
    ) -> Result<Accounts, Error> {
        let users: BTreeSet<UserId> = users.into_iter().collect();
        let users: Vec<UserId> = users.into_iter().collect();
        if users.is_empty() {
            return Ok(Accounts::new());
        }
        let (keys, mut batch) = (self.keys(), Batch::new("moderator: accounts"));
        let counts = batch.push(report::counts_about(keys, &users));
        let read = |user: &UserId| {
            let account = batch.push(account::read(keys, *user));
            let name = batch.push(user::display_name(keys, *user));
            (account, name, batch.push(session::read_all(keys, *user)))
        };
        let tickets: Vec<_> = users.iter().map(read).collect();
        let mut replies = batch.send(self.store()).await?;
        let (counts, now) = (replies.take(counts)?, self.now());
        let mut accounts = Accounts::new();
        for ((account, name, sessions), open_report_count) in tickets.into_iter().zip(counts) {
            let (account, name, sessions) =
                (replies.take(account)?, replies.take(name)?, replies.take(sessions)?);
            let is_live = |(_, session): &(Vec<u8>, _)| self.0.rules.account.is_live(session, now);
            let session_count = sessions.iter().filter(|session| is_live(session)).count();
            if let Some(account) = account {
                let display_name = name.unwrap_or_else(|| account.username.clone());
                let details = AccountDetails { account, display_name, session_count, open_report_count };
                accounts.insert(details.account.user, details);
            }
        }
        Ok(accounts)
    }

    /// Returns a page of the accounts, the last registered first; of those that are suspended or deleted, the last
    /// suspended or deleted first. Makes about one round trip per 100 accounts that it examines.
    pub async fn account_page(
        &self,
        moderator: &Moderator,
        status: Option<AccountStatus>,
        window: Window<Position>,
    ) -> Result<Page<ListedAccount>, Error> {
        let ahead = self.find_accounts(status, window.direction, window.from, window.size + 1).await?;
        let has_behind = match window.from {
            Some(from) => self.has_accounts_behind(status, window.direction, from).await?,
            None => false,
        };
        let Page { entries, has_previous, has_next } = Page::beyond(&window, ahead, has_behind);
        let mut accounts = self.details_of(moderator, entries.iter().map(|position| position.id)).await?;
        let listed = |position: &Position| {
            Some(ListedAccount { position: *position, details: accounts.remove(&position.id)? })
        };
        Ok(Page { entries: entries.iter().filter_map(listed).collect(), has_previous, has_next })
    }

    /// Returns true if there are accounts at a position, or on the other side of it.
    async fn has_accounts_behind(
        &self,
        status: Option<AccountStatus>,
        direction: Direction,
        from: Position,
    ) -> Result<bool, Error> {
        if self.account(from.id).await?.is_some_and(|account| has_status(&account, status)) {
            return Ok(true);
        }
        let opposite = match direction {
            Direction::Forward => Direction::Backward,
            Direction::Backward => Direction::Forward,
        };
        Ok(!self.find_accounts(status, opposite, Some(from), 1).await?.is_empty())
    }

    /// Returns the positions of up to `most` accounts of a status, in this direction from a position.
    async fn find_accounts(
        &self,
        status: Option<AccountStatus>,
        direction: Direction,
        mut from: Option<Position>,
        most: usize,
    ) -> Result<Vec<Position>, Error> {
        let mut found = Vec::new();
        while found.len() < most {
            let portion = match status {
                None | Some(AccountStatus::Active) => self.users_by_id(direction, from).await?,
                Some(AccountStatus::Suspended | AccountStatus::Deleted) => {
                    self.inactive_users(direction, from).await?
                }
            };
            let Some(last) = portion.last() else { break };
            from = Some(*last);
            let read = |position: &Position| account::read(self.keys(), position.id);
            let accounts = self.send_all("moderator: find accounts", portion.iter().map(read)).await?;
            let is_found = |account: &Option<Account>| {
                account.as_ref().is_some_and(|account| has_status(account, status))
            };
            found.extend(
                portion.iter().zip(accounts).filter(|(_, account)| is_found(account)).map(|(at, _)| *at),
            );
        }
        found.truncate(most);
        Ok(found)
    }

    /// Returns the next ids, whether or not there are such users, from the latest or from the first one. The list is
    /// ordered by id, so the times of its positions are all the same.
    async fn users_by_id(
        &self,
        direction: Direction,
        from: Option<Position>,
    ) -> Result<Vec<Position>, Error> {
        let last = user::last_id(self.keys()).send("moderator: last user", self.store()).await?;
        let portion = PORTION as u64;
        let ids: Vec<u64> = match direction {
            Direction::Forward => {
                let end = from.map_or(last.saturating_add(1), |from| from.id.get().min(last + 1));
                (end.saturating_sub(portion)..end).rev().collect()
            }
            Direction::Backward => {
                let begin = from.map_or(1, |from| from.id.get().saturating_add(1));
                (begin..=last.min(begin.saturating_add(portion))).collect()
            }
        };
        let position = |id| Position { at: Timestamp::from_millis(0), id };
        Ok(ids.into_iter().filter_map(UserId::new).map(position).collect())
    }

    /// Returns the next users whose accounts are inactive.
    async fn inactive_users(
        &self,
        direction: Direction,
        from: Option<Position>,
    ) -> Result<Vec<Position>, Error> {
        let window = Window { direction, size: PORTION, from };
        let page = account::inactive_page(self.keys(), &window);
        let page = page.send("moderator: inactive users", self.store()).await?;
        let mut positions: Vec<Position> = page.entries.iter().map(|entry| Position::from(*entry)).collect();
        if direction == Direction::Backward {
            positions.reverse();
        }
        Ok(positions)
    }

    /// Returns a page of the open reports, newest first. Makes up to four round trips, plus an archive query.
    pub async fn report_page(
        &self,
        moderator: &Moderator,
        window: Window<ReportId>,
    ) -> Result<ReportPage, Error> {
        let ids = report::page(self.keys(), &window).send("reports: page", self.store()).await?;
        let reports = if ids.entries.is_empty() {
            Vec::new()
        } else {
            report::read_all(self.keys(), &ids.entries).send("reports: read", self.store()).await?
        };
        let users = reports.iter().flat_map(|report| [report.reporter, report.reported.user]);
        let accounts = self.details_of(moderator, users).await?;
        let posts = reports.iter().filter_map(|report| report.reported.post);
        let posts = self.hidden_posts(moderator, posts).await;
        let Page { has_previous, has_next, .. } = ids;
        let page = Page { entries: reports.into(), has_previous, has_next };
        Ok(ReportPage { page, accounts, posts })
    }

    /// Returns these posts, whether or not the moderator may see them as a user. Lacks deleted posts. Makes one round
    /// trip, plus an archive query if posts are archived; none if there are no posts.
    async fn hidden_posts(
        &self,
        _moderator: &Moderator,
        posts: impl Iterator<Item = PostId>,
    ) -> Result<HashMap<PostId, Arc<Post>>, Error> {
        let posts: Arc<[Listed]> = posts.map(Listed::Id).collect();
        if posts.is_empty() {
            return Ok(HashMap::new());
        }
        let found = self.load(PostRecords { posts: Shared(posts), needs_archive: true }).await?;
        Ok(found
            .iter()
            .flatten()
            .map(|found| (found.unchecked().id, Arc::clone(found.unchecked())))
            .collect())
    }

    /// Returns the number of open reports. Makes one round trip.
    pub async fn open_report_count(&self, _moderator: &Moderator) -> Result<u64, Error> {
        Ok(report::count(self.keys()).send("reports: count", self.store()).await?)
    }

    /// Returns a page of the log of what moderators did, newest first, with the accounts of the moderators and of the
    /// users concerned. Makes two round trips.
    pub async fn log_page(
        &self,
        moderator: &Moderator,
        window: Window<LogId>,
    ) -> Result<(Page<LogEntry>, Accounts), Error> {
        let page = moderation_log::page(self.keys(), &window).send("moderator: log", self.store()).await?;
        let users = page.entries.iter().flat_map(|LogEntry { logged, .. }| {
            [logged.moderator.user(), logged.objects.user].into_iter().flatten()
        });
        let accounts = self.details_of(moderator, users).await?;
        Ok((page, accounts))
    }
}

fn has_status(account: &Account, status: Option<AccountStatus>) -> bool {
    status.is_none_or(|status| AccountStatus::of(account) == status)
}
