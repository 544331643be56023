//! Bulk import of users, follows, mutes and posts, in the same steps as individual writes.
//!
//! Imports of users, follows and mutes are idempotent: an existing name keeps its user, and an existing follow or mute
//! keeps its time (a mute loses its end). To complete an interrupted import of these, run it again.

use std::ops::AddAssign;

use crate::app::App;
use crate::app::error::{Broken, Error};
use crate::app::post::NewPost;
use crate::app::throttle::source;
use crate::app::user::{Created, NewAccount};
use crate::model::clock::Timestamp;
use crate::model::id::{PostId, UserId};
use crate::model::relation::{Mute, MuteScope};
use crate::model::secret::{Password, PasswordHash};
use crate::store::batch::Batch;
use crate::store::follow::{Followed, NewFollow};
use crate::store::name::{self, Holder};
use crate::store::post_list;
use crate::store::{Feature, exclusion};

/// The result of importing users.
#[derive(Debug)]
pub struct ImportedUsers {
    /// User ids, in input order.
    pub ids: Vec<UserId>,
    /// Number of users created.
    pub created: usize,
}

/// The result of importing follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImportedFollows {
    /// Number of follows created.
    pub added: usize,
    /// Number of follows that already existed and kept their original times.
    pub already: usize,
    /// Number of follows rejected by the follow limit, or by a block between the two users.
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
    /// Id of the follower.
    pub follower: UserId,
    /// Id of the followed user, who must differ from the follower.
    pub followee: UserId,
    /// Time of the follow.
    pub at: Timestamp,
}

impl App {
    /// Hashes a password once, for use by many users.
    pub async fn hash_password(&self, password: Password) -> Result<PasswordHash, Error> {
        let place = self.0.passwords.enter(source("", None)).await?;
        place.hash(password).await
    }

    /// Creates the users whose names do not exist yet. Names must be distinct. Makes about eight round trips
    /// for any number of users; a few thousand users per call is a good batch size.
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
        // Another request may have registered one of these names in the meantime.
        if ids.iter().any(Option::is_none) {
            ids = self.holders(&accounts).await?;
        }
        let ids: Option<Vec<UserId>> = ids.into_iter().collect();
        let ids = ids.ok_or(Broken::GaveUp("importing users: a name is being registered concurrently"))?;
        Ok(ImportedUsers { ids, created })
    }

    /// Returns the holder of each name. Ends any reservation that it finds, such as one left behind by an
    /// interrupted import.
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

    /// Writes follows. Makes five round trips for any number of follows; a few thousand follows per call is a
    /// good batch size.
    pub async fn import_follows(&self, mut follows: Vec<ImportFollow>) -> Result<ImportedFollows, Error> {
        // Consecutive follows by the same follower form one command. The sort is stable.
        follows.sort_by_key(|follow| follow.follower);
        let follow = |&ImportFollow { follower, followee, at }: &ImportFollow| {
            (follower, NewFollow { followee, at, is_private: false })
        };
        let follows: Vec<_> = follows.iter().map(follow).collect();
        let mut imported = ImportedFollows::default();
        for followed in self.write_follows(&follows).await?.followed {
            match followed {
                Followed::Added(_) => imported.added += 1,
                Followed::Already(_) => imported.already += 1,
                Followed::AtLimit | Followed::Blocking | Followed::Blocked => imported.rejected += 1,
            }
        }
        Ok(imported)
    }

    /// Writes mutes without an end: pairs of a user and another whom they mute since `at`. Mutes beyond the limit are left
    /// out. Makes two round trips for any number of mutes; none for no mutes.
    pub async fn import_mutes(&self, mutes: &[(UserId, UserId)], at: Timestamp) -> Result<(), Error> {
        if mutes.is_empty() {
            return Ok(());
        }
        self.enter(Feature::Exclusions).await?;
        let limit = self.0.rules.relation.relation_mute_limit;
        let mute = Mute { since: at, until: None, scope: MuteScope::All };
        let mut batch = Batch::new("import: mutes");
        let write = |&(user, other): &_| batch.push(exclusion::mute(self.keys(), user, other, mute, limit));
        let tickets = mutes.iter().map(write).collect();
        batch.send(self.store()).await?.take_all(tickets)?;
        Ok(())
    }

    /// Returns each user's number of posts. Makes one round trip per thousand users.
    pub async fn count_posts(&self, authors: &[UserId]) -> Result<Vec<u64>, Error> {
        let mut counts = Vec::with_capacity(authors.len());
        for authors in authors.chunks(1_000) {
            let mut batch = Batch::new("import: posts");
            let tickets =
                authors.iter().map(|&author| batch.push(post_list::count(self.keys(), author, false)));
            let tickets = tickets.collect();
            counts.extend(batch.send(self.store()).await?.take_all(tickets)?);
        }
        Ok(counts)
    }

    /// Publishes posts, given in chronological order, and not earlier than the posts that their authors already have:
    /// pages of a period rely on ids and times growing together. Makes five round trips for any number of posts; a
    /// thousand posts per call is a good batch size.
    pub async fn import_posts(&self, posts: &[NewPost]) -> Result<Vec<PostId>, Error> {
        self.publish_all(posts).await
    }
}
