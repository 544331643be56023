//! Likes, which are [`mirrored`](crate::app::mirrored).
//!
//! The truth is in the slot of the user who likes a post: the posts that the user likes, together with the account,
//! since a user whose account is inactive likes nothing. The mirror is stored with the post, in Redis while it has a
//! record, in the archive otherwise, and is counted there. What is special about the steps:
//! - Step 2 of a like takes a token from the user's bucket of reactions.
//! - Step 3 looks at the record of the post in the script that writes the mirror; without one, a transaction of the
//!   archive locks the row. If the post is deleted, step 3 takes the like back.
//!
//! # Why
//! If the record were looked at in a step of its own, a like of a post that is archived or deleted in between would be
//! written to a list that no one reads. A like of a deleted post that stayed in the truth would be shown by no one, and
//! would stay in the user's slot for ever.

use std::sync::Arc;

use futures::{StreamExt as _, TryStreamExt as _, stream};

use crate::app::App;
use crate::app::archive::Found;
use crate::app::deadline::Deadline;
use crate::app::error::Error;
use crate::app::mirrored::{Known, Mirrored, Written};
use crate::app::post::own::missing;
use crate::app::post::reaction::too_many;
use crate::app::post::read::ArchiveLookup;
use crate::app::read::{Load as _, Pending, Read, Requests, Shared};
use crate::app::viewer::Viewer;
use crate::archive::like::LikePage;
use crate::model::clock::Timestamp;
use crate::model::id::{PostId, UserId};
use crate::model::like::Like;
use crate::model::page::Window;
use crate::store::Feature;
use crate::store::intent::{Intent, Operation};
use crate::store::like::{self, LikePart};
use crate::store::ordered;
use crate::store::post::{self, Attached, Record};
use crate::store::tree::Shard;

/// The progress of a walk of a user's likes, in no particular order. A like that is made or taken back meanwhile may be
/// missed: its own call agrees with the account.
#[derive(Debug, Default)]
pub(in crate::app) struct LikeWalk {
    /// The posts that were read and have not been visited.
    posts: Vec<PostId>,
    /// The shards that are left; `None` before the first portion.
    shards: Option<Vec<Shard>>,
}

impl LikeWalk {
    /// Returns a walk of no likes.
    pub(in crate::app) fn none() -> Self {
        Self { posts: Vec::new(), shards: Some(Vec::new()) }
    }

    /// Returns true if all likes were visited.
    pub(in crate::app) fn is_done(&self) -> bool {
        self.posts.is_empty() && self.shards.as_ref().is_some_and(Vec::is_empty)
    }
}

/// Number of likes of archived posts that are written concurrently.
const ARCHIVED_AT_ONCE: usize = 8;
/// Number of likes that are written together: so few that the transactions of the archive, of which each has one, end
/// long before the deadline.
const TOGETHER: usize = 100;

/// A like of a post by a user, whether or not it exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::app) struct Liking {
    pub(in crate::app) user: UserId,
    pub(in crate::app) post: PostId,
}

impl Liking {
    fn operation(self) -> Operation {
        let Self { user, post } = self;
        Operation::Like { user, post }
    }
}

impl Mirrored for Liking {
    /// True if the user likes the post.
    type Truth = bool;
    /// True if the post exists.
    type Seen = bool;
    type Due = ();

    async fn read(app: &App, likings: Vec<Self>) -> Result<Vec<Known<Self>>, Error> {
        let read = |liking: &Self| like::read(app.keys(), liking.user, liking.post);
        let truths = app.send_all("like: read truth", likings.iter().map(read)).await?;
        Ok(likings.into_iter().zip(truths).collect())
    }

    /// Makes an archive query as well for each archived post.
    async fn mirror(app: &App, likings: &[Known<Self>], deadline: &Deadline<'_>) -> Result<Vec<bool>, Error> {
        let write =
            |(Self { user, post }, is_liked): &Known<Self>| like::mirror(app.keys(), *post, *user, *is_liked);
        let outcomes = app.send_all("like: mirror", likings.iter().map(write)).await?;
        let exists = |((Self { user, post }, is_liked), outcome): (Known<Self>, Attached)| async move {
            Ok::<_, Error>(match outcome {
                Attached::Done => true,
                Attached::Deleted => false,
                Attached::Missing => {
                    deadline.check()?;
                    app.archive().await?.set_like(post, user, is_liked).await?.is_some()
                }
            })
        };
        let written: Vec<_> = likings.iter().copied().zip(outcomes).map(exists).collect();
        stream::iter(written).buffered(ARCHIVED_AT_ONCE).try_collect().await
    }

    /// Takes back the likes of posts that do not exist. Makes one round trip; none if there are none.
    async fn correct(
        app: &App,
        written: Vec<Written<Self>>,
        deadline: &Deadline<'_>,
    ) -> Result<(Vec<Known<Self>>, Vec<Written<Self>>), Error> {
        let is_kept = |((_, is_liked), exists): &Written<Self>| *exists || !*is_liked;
        let (written, without_post): (Vec<_>, Vec<_>) = written.into_iter().partition(is_kept);
        if !without_post.is_empty() {
            deadline.check()?;
            let take_back =
                |((Self { user, post }, _), _): &Written<Self>| like::unlike(app.keys(), *user, *post);
            app.send_all("like: take back", without_post.iter().map(take_back)).await?;
        }
        // No mirror needs to be written again: that of a deleted post is gone, and stays so.
        Ok((Vec::new(), written))
    }

    async fn read_again(app: &App, written: &[Written<Self>]) -> Result<Vec<(bool, ())>, Error> {
        let read = |((liking, _), _): &Written<Self>| like::read(app.keys(), liking.user, liking.post);
        let truths = app.send_all("like: read again", written.iter().map(read)).await?;
        Ok(truths.into_iter().map(|truth| (truth, ())).collect())
    }
}

impl App {
    /// Makes the viewer like a post that they may see. Idempotent; a repeated like keeps its place. A new one takes a
    /// token from the viewer's bucket of reactions. Makes seven round trips, plus one query, or two if the post is
    /// archived; plus two whenever another call changes the like concurrently.
    pub async fn like(&self, viewer: &Viewer, post: PostId) -> Result<(), Error> {
        let user = viewer.signed_in()?.user;
        self.check_visible(viewer, post).await?;
        self.enter(Feature::Reactions).await?;
        let deadline = self.deadline();
        let liking = Liking { user, post };
        let write = async || {
            let like = like::like(self.keys(), user, post, Some(self.reaction_limit()), self.now());
            let liked = like.send("like: truth", self.store()).await?;
            Ok(match liked {
                Ok(()) => Ok(self.mirror_until_equal(vec![(liking, true)], &deadline).await?),
                Err(throttled) => Err(throttled),
            })
        };
        let written = self.under_intents(&self.intents([liking.operation()]), &deadline, write).await?;
        let is_gone = written.map_err(too_many)? > 0;
        if is_gone { Err(missing()) } else { Ok(()) }
    }

    /// Writes likes, each with its time, without taking tokens. A repeated like keeps its time. Makes five round
    /// trips for each hundred likes, plus one query for each archived post.
    pub(in crate::app) async fn add_likes(&self, likes: &[(Liking, Timestamp)]) -> Result<(), Error> {
        for likes in likes.chunks(TOGETHER) {
            self.add_some_likes(likes).await?;
        }
        Ok(())
    }

    async fn add_some_likes(&self, likes: &[(Liking, Timestamp)]) -> Result<(), Error> {
        let deadline = self.deadline();
        let intents = self.intents(likes.iter().map(|(liking, _)| liking.operation()));
        let add = async || {
            let like = |(Liking { user, post }, at): &_| like::like(self.keys(), *user, *post, None, *at);
            self.send_all("import: likes", likes.iter().map(like)).await?;
            let liked = likes.iter().map(|(liking, _)| (*liking, true)).collect();
            self.mirror_until_equal(liked, &deadline).await.map(drop)
        };
        self.under_intents(&intents, &deadline, add).await
    }

    /// Makes the viewer no longer like a post, whether or not they may still see it. Idempotent. Makes five round
    /// trips, plus one query if the post is archived; plus two whenever another call changes the like concurrently.
    /// Makes six, and a query, if the viewer does not like the post.
    pub async fn unlike(&self, viewer: &Viewer, post: PostId) -> Result<(), Error> {
        let user = viewer.signed_in()?.user;
        let was_liked = self.end_some_likes(&[Liking { user, post }]).await?;
        if was_liked == [false] {
            self.conceal(post).await?;
        }
        Ok(())
    }

    /// Asks the archive for a post of which Redis has a record, so that the answer to a request that changes nothing
    /// takes as many queries for a post that is hidden as for one that does not exist. Makes one round trip.
    async fn conceal(&self, post: PostId) -> Result<(), Error> {
        let record = post::read(self.keys(), post).send("post: exist", self.store()).await;
        if !matches!(record, Ok(Record::Missing)) {
            self.load(ArchiveLookup(Shared(Arc::new([post])))).await?;
        }
        Ok(())
    }

    /// Takes these likes back, running each step for a hundred of them together. Makes five round trips for these, plus
    /// one query for each archived post; none if there are no likes.
    pub(in crate::app) async fn end_likes(&self, likings: &[Liking]) -> Result<(), Error> {
        for likings in likings.chunks(TOGETHER) {
            self.end_some_likes(likings).await?;
        }
        Ok(())
    }

    /// Takes likes back. Returns for each of them true if there was one.
    async fn end_some_likes(&self, likings: &[Liking]) -> Result<Vec<bool>, Error> {
        let deadline = self.deadline();
        let intents = self.intents(likings.iter().map(|liking| liking.operation()));
        let end = async || {
            let unlike = likings.iter().map(|liking| like::unlike(self.keys(), liking.user, liking.post));
            let were_liked = self.send_all("like: truth", unlike).await?;
            let ended = likings.iter().map(|liking| (*liking, false)).collect();
            self.mirror_until_equal(ended, &deadline).await?;
            Ok(were_liked)
        };
        self.under_intents(&intents, &deadline, end).await
    }

    /// Returns up to `most` of a user's likes that were not visited; none if there are no more. Makes one round trip
    /// for each 512 likes.
    pub(in crate::app) async fn next_likes(
        &self,
        user: UserId,
        walk: &mut LikeWalk,
        most: usize,
    ) -> Result<Vec<Liking>, Error> {
        let set = self.keys().liked(user);
        if walk.shards.is_none() {
            let stored = ordered::stored(&set).send("like: all", self.store()).await?;
            // A tree has all of them.
            let has_tree = stored.count.is_some();
            walk.posts =
                if has_tree { Vec::new() } else { stored.entries().iter().map(|entry| entry.id).collect() };
            walk.shards = Some(if has_tree { vec![Shard::ROOT] } else { Vec::new() });
        }
        let shards = walk.shards.get_or_insert_default();
        while walk.posts.len() < most {
            let Some(shard) = shards.pop() else { break };
            let elements = ordered::shard(&set, shard).send("like: shard", self.store()).await?;
            shards.extend(shard.below(&elements));
            walk.posts.extend(elements.into_iter().filter_map(PostId::new));
        }
        let portion = walk.posts.split_off(walk.posts.len().saturating_sub(most));
        Ok(portion.into_iter().map(|post| Liking { user, post }).collect())
    }

    /// Makes the mirrors of these likes equal to their truths, each under an intent of this call. Makes five round
    /// trips for each hundred likes, plus two whenever another call changes one concurrently; none if there are no
    /// likes.
    pub(in crate::app) async fn make_likes_agree(&self, likings: Vec<Liking>) -> Result<(), Error> {
        for likings in likings.chunks(TOGETHER) {
            let intents = self.intents(likings.iter().map(|liking| liking.operation()));
            self.repair_mirrors(likings.to_vec(), &intents, &self.deadline()).await?;
        }
        Ok(())
    }

    /// Makes the mirror of a like equal to its truth. The intent carries this process's token, as that of
    /// [`App::repair_edges`] does.
    pub(in crate::app) async fn repair_like(&self, user: UserId, post: PostId) -> Result<(), Error> {
        let liking = Liking { user, post };
        let intents = [Intent { operation: liking.operation(), token: self.0.repairer_token }];
        self.repair_mirrors(vec![liking], &intents, &self.deadline()).await
    }
}

/// A part of the list of a post's likes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::app) struct Likes {
    /// The post.
    pub(in crate::app) post: PostId,
    /// The requested part.
    pub(in crate::app) window: Window<Like>,
}

impl Read for Likes {
    type Value = Arc<LikePart>;

    fn request(&self, requests: &mut Requests<'_>) -> Pending<Self::Value> {
        let Self { post, window } = *self;
        let part = requests.push(like::part(requests.keys(), post, window));
        Pending::cold(move |responses| {
            let part = responses.replies.take(part)?.ok_or_else(|| {
                responses.wanted.likes.push(LikePage { post, window });
                responses.wanted.likes.len() - 1
            });
            Ok(move |found: &Found| match (part, &found.likes) {
                (Ok(part), _) => Ok(Arc::new(part)),
                (Err(index), Ok(pages)) => Ok(Arc::new(LikePart::of_page(&pages[index], window.direction))),
                (Err(_), Err(error)) => Err(error.clone()),
            })
        })
    }
}
