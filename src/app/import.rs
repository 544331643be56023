//! Bringing many users and follows in at once, by the same steps as one at a time.
//!
//! Doing it again changes nothing: names that exist keep their users, follows keep their times. An
//! import that was cut off is finished by running it again.

use std::ops::AddAssign;

use crate::app::App;
use crate::app::error::{Broken, Error};
use crate::app::post::NewPost;
use crate::app::relation::Edge;
use crate::app::throttle::source;
use crate::app::user::{Made, Newcomer};
use crate::model::clock::Timestamp;
use crate::model::id::{PostId, UserId};
use crate::model::secret::{Password, PasswordHash};
use crate::store::batch::Batch;
use crate::store::name::{self, Holder};
use crate::store::post;
use crate::store::relation::Followed;

/// What has become of imported users.
#[derive(Debug)]
pub struct ImportedUsers {
    /// The id of each, in order.
    pub ids: Vec<UserId>,
    /// How many are new.
    pub created: usize,
}

/// What has become of imported follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImportedFollows {
    /// How many are new.
    pub added: usize,
    /// How many were there and kept their time.
    pub already: usize,
    /// How many the follow limit refused.
    pub refused: usize,
}

impl AddAssign for ImportedFollows {
    fn add_assign(&mut self, other: Self) {
        self.added += other.added;
        self.already += other.already;
        self.refused += other.refused;
    }
}

/// A follow to be imported.
#[derive(Clone, Copy, Debug)]
pub struct ImportFollow {
    /// Who follows.
    pub follower: UserId,
    /// Who is followed; not the follower.
    pub followee: UserId,
    /// Since when.
    pub at: Timestamp,
}

impl App {
    /// The hash of a password that many users shall have.
    pub async fn hash_password(&self, password: Password) -> Result<PasswordHash, Error> {
        let place = self.0.passwords.enter(source("", None)).await?;
        place.hash(password).await
    }

    /// Makes those users who do not exist yet. No two may have the same name. Some eight round
    /// trips, however many they are; a few thousand at a time are a good number.
    pub async fn import_users(&self, newcomers: Vec<Newcomer>) -> Result<ImportedUsers, Error> {
        let mut ids: Vec<Option<UserId>> = self.holders(&newcomers).await?;
        let missing: Vec<usize> = (0..ids.len()).filter(|&index| ids[index].is_none()).collect();
        let wanted = missing.iter().map(|&index| newcomers[index].clone()).collect();
        let mut created = 0;
        for (index, made) in missing.iter().zip(self.make_users(wanted).await?) {
            if let Made::User(user, _) = made {
                ids[*index] = Some(user);
                created += 1;
            }
        }
        // Somebody may have registered one of the names meanwhile.
        if ids.iter().any(Option::is_none) {
            ids = self.holders(&newcomers).await?;
        }
        let ids: Option<Vec<UserId>> = ids.into_iter().collect();
        let ids = ids.ok_or(Broken::GaveUp("importing users: a name is being taken by somebody else"))?;
        Ok(ImportedUsers { ids, created })
    }

    /// Who has each of the names. A reservation that is in the way, as an import that was cut off
    /// leaves it, is ended first.
    async fn holders(&self, newcomers: &[Newcomer]) -> Result<Vec<Option<UserId>>, Error> {
        let mut holders = Vec::with_capacity(newcomers.len());
        for (newcomer, holder) in newcomers.iter().zip(self.read_holders(newcomers).await?) {
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

    async fn read_holders(&self, newcomers: &[Newcomer]) -> Result<Vec<Option<Holder>>, Error> {
        let mut batch = Batch::new("import: names");
        let read = |newcomer: &Newcomer| batch.push(name::holder(self.keys(), &newcomer.username));
        let tickets = newcomers.iter().map(read).collect();
        Ok(batch.send(self.store()).await?.take_all(tickets)?)
    }

    /// Writes follows. Five round trips, however many they are; a few thousand at a time are a good
    /// number.
    pub async fn import_follows(&self, mut follows: Vec<ImportFollow>) -> Result<ImportedFollows, Error> {
        // Follows of one follower next to each other are one command; the sort keeps their order.
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
                Followed::Refused => imported.refused += 1,
            }
        }
        Ok(imported)
    }

    /// How many posts each of these users has. One round trip for a thousand of them.
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

    /// Publishes posts in the order of their times. Five round trips, however many they are; a thousand at
    /// a time are a good number.
    pub async fn import_posts(&self, posts: &[NewPost]) -> Result<Vec<PostId>, Error> {
        self.publish_all(posts).await
    }
}
