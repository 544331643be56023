//! Bulk import of users and follows, by the same steps as for single ones.
//!
//! Idempotent: existing names keep their users, and follows keep their times. An interrupted import is
//! completed by running it again.

use std::ops::AddAssign;

use crate::app::App;
use crate::app::error::{Broken, Error};
use crate::app::post::NewPost;
use crate::app::relation::Edge;
use crate::app::throttle::source;
use crate::app::user::{Created, NewAccount};
use crate::model::clock::Timestamp;
use crate::model::id::{PostId, UserId};
use crate::model::secret::{Password, PasswordHash};
use crate::store::batch::Batch;
use crate::store::name::{self, Holder};
use crate::store::post;
use crate::store::relation::Followed;

/// The result of importing users.
#[derive(Debug)]
pub struct ImportedUsers {
    /// The id of each user, in input order.
    pub ids: Vec<UserId>,
    /// Number of users created.
    pub created: usize,
}

/// The result of importing follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImportedFollows {
    /// Number of follows created.
    pub added: usize,
    /// Number that existed and kept their time.
    pub already: usize,
    /// Number rejected by the follow limit.
    pub rejected: usize,
}

impl AddAssign for ImportedFollows {
    fn add_assign(&mut self, other: Self) {
        self.added += other.added;
        self.already += other.already;
        self.rejected += other.rejected;
    }
}

/// A follow to import.
#[derive(Clone, Copy, Debug)]
pub struct ImportFollow {
    /// The following user.
    pub follower: UserId,
    /// The followed user; differs from the follower.
    pub followee: UserId,
    /// The time of the follow.
    pub at: Timestamp,
}

impl App {
    /// Returns the hash of a password shared by many users.
    pub async fn hash_password(&self, password: Password) -> Result<PasswordHash, Error> {
        let place = self.0.passwords.enter(source("", None)).await?;
        place.hash(password).await
    }

    /// Creates those users who do not exist yet. Names must be distinct. About eight round trips for any
    /// number of users; a few thousand per call is a good number.
    pub async fn import_users(&self, accounts: Vec<NewAccount>) -> Result<ImportedUsers, Error> {
        let mut ids: Vec<Option<UserId>> = self.holders(&accounts).await?;
        let missing: Vec<usize> = (0..ids.len()).filter(|&index| ids[index].is_none()).collect();
        let wanted = missing.iter().map(|&index| accounts[index].clone()).collect();
        let mut created = 0;
        for (index, made) in missing.iter().zip(self.make_users(wanted).await?) {
            if let Created::User(user, _) = made {
                ids[*index] = Some(user);
                created += 1;
            }
        }
        // Another request may have registered one of the names meanwhile.
        if ids.iter().any(Option::is_none) {
            ids = self.holders(&accounts).await?;
        }
        let ids: Option<Vec<UserId>> = ids.into_iter().collect();
        let ids = ids.ok_or(Broken::GaveUp("importing users: a name is being registered concurrently"))?;
        Ok(ImportedUsers { ids, created })
    }

    /// Returns the holder of each name. A reservation left behind by an interrupted import is ended first.
    async fn holders(&self, accounts: &[NewAccount]) -> Result<Vec<Option<UserId>>, Error> {
        let mut holders = Vec::with_capacity(accounts.len());
        for (newcomer, holder) in accounts.iter().zip(self.read_holders(accounts).await?) {
            holders.push(match holder {
                Some(Holder::Settled(user)) => Some(user),
                Some(Holder::Reserved(user)) => {
                    self.end_reservation(&newcomer.username, user).await?;
                    let again = name::holder(self.keys(), &newcomer.username);
                    match again.send("import: name", self.store()).await? {
                        Some(Holder::Settled(user)) => Some(user),
                        Some(Holder::Reserved(_)) | None => None,
                    }
                }
                None => None,
            });
        }
        Ok(holders)
    }

    async fn read_holders(&self, accounts: &[NewAccount]) -> Result<Vec<Option<Holder>>, Error> {
        let mut batch = Batch::new("import: names");
        let read = |newcomer: &NewAccount| batch.push(name::holder(self.keys(), &newcomer.username));
        let tickets = accounts.iter().map(read).collect();
        Ok(batch.send(self.store()).await?.take_all(tickets)?)
    }

    /// Writes follows. Five round trips for any number of them; a few thousand per call is a good number.
    pub async fn import_follows(&self, mut follows: Vec<ImportFollow>) -> Result<ImportedFollows, Error> {
        // Consecutive follows of one follower are one command; the sort is stable.
        follows.sort_by_key(|follow| follow.follower);
        let edge = |follow: &ImportFollow| {
            (Edge { follower: follow.follower, followee: follow.followee }, follow.at)
        };
        let follows: Vec<_> = follows.iter().map(edge).collect();
        let mut imported = ImportedFollows::default();
        for followed in self.write_follows(&follows).await? {
            match followed {
                Followed::Added(_) => imported.added += 1,
                Followed::Already(_) => imported.already += 1,
                Followed::Rejected => imported.rejected += 1,
            }
        }
        Ok(imported)
    }

    /// Returns the number of posts of each of these users. One round trip per thousand users.
    pub async fn count_posts(&self, authors: &[UserId]) -> Result<Vec<u64>, Error> {
        let mut counts = Vec::with_capacity(authors.len());
        for authors in authors.chunks(1_000) {
            let mut batch = Batch::new("import: posts");
            let tickets = authors.iter().map(|&author| batch.push(post::count(self.keys(), author)));
            let tickets = tickets.collect();
            counts.extend(batch.send(self.store()).await?.take_all(tickets)?);
        }
        Ok(counts)
    }

    /// Publishes posts in order of time. Five round trips for any number of them; a thousand per call is a
    /// good number.
    pub async fn import_posts(&self, posts: &[NewPost]) -> Result<Vec<PostId>, Error> {
        self.publish_all(posts).await
    }
}
