//! Bulk import of users, follows, mutes, private accounts, blocks, posts, likes and bookmarks, in the same steps as
//! individual writes.
//!
//! All imports but that of posts are idempotent: an existing name keeps its user, and an existing follow, request,
//! mute, block, like or bookmark keeps its time (a mute loses its end). To complete an interrupted import of these,
//! run it again.

use std::ops::AddAssign;

use futures::stream::{self, StreamExt as _, TryStreamExt as _};

use crate::app::App;
use crate::app::error::{Broken, Error};
use crate::app::post::NewPost;
use crate::app::post::like::Liking;
use crate::app::throttle::source;
use crate::app::user::{Created, NewAccount};
use crate::model::clock::Timestamp;
use crate::model::id::{PostId, UserId};
use crate::model::page::{Direction, Window};
use crate::model::relation::{Mute, MuteScope};
use crate::model::secret::{Password, PasswordHash};
use crate::store::follow::{Followed, NewFollow};
use crate::store::name::{self, Holder};
use crate::store::ordered::{self, ORDERED};
use crate::store::post_list::{self, PostPage};
use crate::store::{Feature, exclusion};

/// Number of posts read per user: more than any user has in Redis.
const MOST_HOT: usize = 10_000_000;
/// Number of blocks written concurrently.
const BLOCKS: usize = 64;

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
    /// Number of follows or requests created.
    pub added: usize,
    /// Number of follows or requests that already existed and kept their original times.
    pub already: usize,
    /// Number of follows or requests rejected by the follow limit, or by a block between the two users.
    pub rejected: usize,
}

impl AddAssign for ImportedFollows {
    fn add_assign(&mut self, other: Self) {
        self.added += other.added;
        self.already += other.already;
        self.rejected += other.rejected;
    }
}

/// A follow to import, or a request to follow.
#[derive(Clone, Copy, Debug)]
pub struct ImportFollow {
    /// Id of the follower.
    pub follower: UserId,
    /// Id of the followed user, who must differ from the follower.
    pub followee: UserId,
    /// Time of the follow or of the request.
    pub at: Timestamp,
}

/// A like or a bookmark to import.
#[derive(Clone, Copy, Debug)]
pub struct ImportReaction {
    /// Id of the user who likes or bookmarks the post.
    pub user: UserId,
    /// Id of the post, which the user sees.
    pub post: PostId,
    /// Time of the like or of the bookmark.
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
                Some(Holder::Settled(user) | Holder::Inactive(user)) => Some(user),
                Some(Holder::Reserved(user)) => {
                    self.end_reservation(&newcomer.username, user).await?;
                    let again = name::holder(self.keys(), &newcomer.username);
                    match again.send("import: name", self.store()).await? {
                        Some(Holder::Settled(user) | Holder::Inactive(user)) => Some(user),
                        Some(Holder::Reserved(_)) | None => None,
                    }
                }
                None => None,
            });
        }
        Ok(holders)
    }

    async fn read_holders(&self, accounts: &[NewAccount]) -> Result<Vec<Option<Holder>>, Error> {
        let read = |newcomer: &NewAccount| name::holder(self.keys(), &newcomer.username);
        self.send_all("import: names", accounts.iter().map(read)).await
    }

    /// Writes follows, even of users whose accounts are private. Makes five round trips for any number of follows; a
    /// few thousand follows per call is a good batch size.
    pub async fn import_follows(&self, follows: Vec<ImportFollow>) -> Result<ImportedFollows, Error> {
        self.import_edges(follows, false).await
    }

    /// Writes requests to follow users whose accounts are private; a request to a public account becomes a follow.
    /// Makes as many round trips as [`App::import_follows`], plus two if an account is public; none for no requests.
    pub async fn import_requests(&self, requests: Vec<ImportFollow>) -> Result<ImportedFollows, Error> {
        if requests.is_empty() {
            return Ok(ImportedFollows::default());
        }
        self.enter(Feature::Boundaries).await?;
        self.import_edges(requests, true).await
    }

    async fn import_edges(
        &self,
        mut edges: Vec<ImportFollow>,
        is_private: bool,
    ) -> Result<ImportedFollows, Error> {
        // Consecutive follows by the same follower form one command. The sort is stable.
        edges.sort_by_key(|edge| edge.follower);
        let edge = |&ImportFollow { follower, followee, at }: &ImportFollow| {
            (follower, NewFollow { followee, at, is_private })
        };
        let edges: Vec<_> = edges.iter().map(edge).collect();
        let mut imported = ImportedFollows::default();
        for followed in self.write_follows(&edges, None).await?.followed {
            match followed {
                Followed::Added(_) => imported.added += 1,
                Followed::Already(_) => imported.already += 1,
                Followed::AtLimit | Followed::Blocking | Followed::Blocked | Followed::Throttled(_) => {
                    imported.rejected += 1;
                }
            }
        }
        Ok(imported)
    }

    /// Writes blocks: pairs of a user and another whom they block since `at`. Ends the follows and requests between the
    /// two. Blocks beyond the limit are left out. Makes six round trips per block, for 64 blocks at a time; none for no
    /// blocks.
    pub async fn import_blocks(&self, blocks: &[(UserId, UserId)], at: Timestamp) -> Result<(), Error> {
        if blocks.is_empty() {
            return Ok(());
        }
        self.enter(Feature::Boundaries).await?;
        let block = |&(user, other): &(UserId, UserId)| self.write_block(user, other, at);
        let blocks: Vec<_> = blocks.iter().map(block).collect();
        stream::iter(blocks).buffer_unordered(BLOCKS).try_for_each(|_| async { Ok(()) }).await
    }

    /// Writes mutes without an end: pairs of a user and another whom they mute since `at`. Mutes beyond the limit are
    /// left out. Makes three round trips for any number of mutes; none for no mutes.
    pub async fn import_mutes(&self, mutes: &[(UserId, UserId)], at: Timestamp) -> Result<(), Error> {
        if mutes.is_empty() {
            return Ok(());
        }
        self.enter(Feature::Exclusions).await?;
        // First, so that an erasure finds each mute, also after an interrupted import.
        self.add_ties(mutes).await?;
        let limit = self.0.rules.relation.relation_mute_limit;
        let mute = Mute { since: at, until: None, scope: MuteScope::All };
        let write = |&(user, other): &_| exclusion::mute(self.keys(), user, other, mute, limit);
        self.send_all("import: mutes", mutes.iter().map(write)).await?;
        Ok(())
    }

    /// Returns the ids of each user's posts, oldest first; `None` for an archived post. Makes one round trip per
    /// thousand users.
    pub async fn posts_of(&self, authors: &[UserId]) -> Result<Vec<Vec<Option<PostId>>>, Error> {
        let all = Window { direction: Direction::Forward, size: MOST_HOT, from: None };
        let mut posts = Vec::with_capacity(authors.len());
        for authors in authors.chunks(1_000) {
            let commands = authors.iter().map(|&author| post_list::page(self.keys(), author, &all));
            for PostPage { page, cold, .. } in self.send_all("import: posts", commands).await? {
                let archived = usize::try_from(cold.count).unwrap_or(usize::MAX);
                let hot = page.entries.iter().rev().copied().map(Some);
                posts.push(std::iter::repeat_n(None, archived).chain(hot).collect());
            }
        }
        Ok(posts)
    }

    /// Publishes posts, given in chronological order, and not earlier than the posts that their authors already have:
    /// pages of a period rely on ids and times growing together. Makes five round trips for any number of posts; a
    /// thousand posts per call is a good batch size.
    pub async fn import_posts(&self, posts: &[NewPost]) -> Result<Vec<PostId>, Error> {
        self.publish_all(posts).await
    }

    /// Writes likes, without taking tokens. Makes five round trips for each hundred likes, plus one query for each
    /// archived post; none for no likes.
    pub async fn import_likes(&self, likes: &[ImportReaction]) -> Result<(), Error> {
        if likes.is_empty() {
            return Ok(());
        }
        self.enter(Feature::Reactions).await?;
        let liking = |&ImportReaction { user, post, at }: &_| (Liking { user, post }, at);
        self.add_likes(&likes.iter().map(liking).collect::<Vec<_>>()).await
    }

    /// Writes bookmarks, without taking tokens. Bookmarks beyond the limit are left out. Makes one round trip for any
    /// number of bookmarks; none for no bookmarks.
    pub async fn import_bookmarks(&self, bookmarks: &[ImportReaction]) -> Result<(), Error> {
        if bookmarks.is_empty() {
            return Ok(());
        }
        self.enter(Feature::Reactions).await?;
        let bookmark = |&ImportReaction { user, post, at }: &ImportReaction| {
            let (set, bucket) = (self.keys().bookmarks(user), self.keys().reactions_of(user));
            ordered::add(&set, post, at, Some(ORDERED), &bucket, None)
        };
        self.send_all("import: bookmarks", bookmarks.iter().map(bookmark)).await?;
        Ok(())
    }
}
