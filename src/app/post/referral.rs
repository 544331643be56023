//! Entries of posts in the lists of the posts that they refer to: replies, and posts that quote another.
//!
//! The truth of an entry is the record of the post that refers, or its row in the archive: an entry exists as long as its
//! post does. A process that enters posts reads their records again afterwards, and repeats this until the state that it
//! acted on is still the current one; otherwise, it could enter a post that was deleted in the meantime. A deletion
//! removes the entries after the record is a tombstone, which is final. An interrupted publisher leaves its note behind,
//! and an interrupted repairer its intent, so that the entries are settled again.
//!
//! A list is stored with the post that has it: in Redis while that post has a record, in the archive otherwise. It ends
//! with its post, except that the reposts of a deleted post stay listed until they are deleted as well
//! ([`super::repost`]). A repost that cannot be entered, since its original is deleted, is deleted at once.

use crate::app::App;
use crate::app::deadline::Deadline;
use crate::app::error::{Broken, Error};
use crate::archive::post::Row;
use crate::model::details::{References, Referral, ReferrerKind};
use crate::model::id::{PostId, UserId};
use crate::model::post::Visibility;
use crate::store::batch::Batch;
use crate::store::intent::Operation;
use crate::store::post::{self, Record};
use crate::store::referrer::{self, Referred};

/// Maximum number of attempts to settle entries. An attempt fails if a post is deleted in the meantime.
const ATTEMPTS: usize = 3;

/// A post that refers to others.
#[derive(Clone, Debug)]
pub(super) struct Referring {
    /// Id of the post.
    pub(super) post: PostId,
    /// Id of its author.
    pub(super) author: UserId,
    /// Its entries in the lists of others.
    referrals: Vec<Referral>,
    /// True unless the post is deleted.
    exists: bool,
}

impl Referring {
    pub(super) fn new(
        (post, author): (PostId, UserId),
        references: &References,
        visibility: Visibility,
        exists: bool,
    ) -> Self {
        let referrals = references.referrals(post, visibility.is_public()).collect();
        Self { post, author, referrals, exists }
    }
}

impl App {
    /// Makes the entries of these posts what the posts say. Deletes reposts whose originals do not exist. Makes no round
    /// trip for posts that refer to nothing; otherwise two, plus an archive query for each entry in the list of an archived
    /// post.
    pub(super) async fn settle_referrals(
        &self,
        posts: Vec<Referring>,
        deadline: &Deadline<'_>,
    ) -> Result<(), Error> {
        let mut open = posts;
        open.retain(|post| !post.referrals.is_empty());
        for _ in 0..ATTEMPTS {
            if open.is_empty() {
                return Ok(());
            }
            deadline.check()?;
            for repost in self.write_referrals(&open).await? {
                self.delete_own(repost.author, repost.post).await?;
            }
            let ids: Vec<PostId> = open.iter().map(|post| post.post).collect();
            let exist = self.exist(&ids).await?;
            let mut exist = exist.into_iter();
            open.retain_mut(|post| {
                let acted_on = std::mem::replace(&mut post.exists, exist.next().unwrap_or(false));
                post.exists != acted_on
            });
        }
        Err(Broken::GaveUp("settling references of a post").into())
    }

    /// Settles the entries of newly visible posts, or leaves them to the repairer: the posts are visible, and an archive
    /// that is away must not hold up their delivery.
    pub(super) async fn settle_or_leave_referrals(
        &self,
        posts: Vec<Referring>,
        deadline: &Deadline<'_>,
    ) -> Result<(), Error> {
        let referring: Vec<Operation> = posts
            .iter()
            .filter(|post| !post.referrals.is_empty())
            .map(|post| Operation::Refer { author: post.author, post: post.post })
            .collect();
        match self.settle_referrals(posts, deadline).await {
            Ok(()) => Ok(()),
            Err(_) => self.record(&self.intents(referring.into_iter()), deadline).await,
        }
    }

    /// Settles the entries of a post whose publisher or repairer was interrupted, under an intent of its own.
    pub(in crate::app) async fn redo_referrals(&self, author: UserId, post: PostId) -> Result<(), Error> {
        self.redo_referrals_without((author, post), Vec::new()).await
    }

    /// Removes entries of a post that it does not account for, and then settles those that it accounts for, in case it
    /// was published in the meantime.
    pub(in crate::app) async fn redo_referrals_without(
        &self,
        (author, post): (UserId, PostId),
        referrals: Vec<Referral>,
    ) -> Result<(), Error> {
        let deadline = Deadline::start(&*self.0.clock);
        let intents = self.intents(std::iter::once(Operation::Refer { author, post }));
        self.record(&intents, &deadline).await?;
        self.write_referrals(&[Referring { post, author, referrals, exists: false }]).await?;
        let referring = self.referring((post, author)).await?;
        self.settle_referrals(referring.into_iter().collect(), &deadline).await?;
        self.forget(&intents).await
    }

    /// Enters these posts in the lists of others, or removes them if they are deleted. Returns the reposts whose
    /// originals do not exist. Makes one round trip, plus an archive query for each entry in the list of an archived
    /// post.
    pub(super) async fn write_referrals<'a>(
        &self,
        posts: &'a [Referring],
    ) -> Result<Vec<&'a Referring>, Error> {
        let entries = posts.iter().flat_map(|post| post.referrals.iter().map(move |entry| (post, entry)));
        let entries: Vec<(&Referring, &Referral)> = entries.collect();
        if entries.is_empty() {
            return Ok(Vec::new());
        }
        let mut batch = Batch::new("post: refer");
        let write = |(post, referral): &(&Referring, &Referral)| {
            batch.push(referrer::refer(self.keys(), referral, post.exists))
        };
        let tickets = entries.iter().map(write).collect();
        let outcomes = batch.send(self.store()).await?.take_all(tickets)?;
        let mut without_original = Vec::new();
        for ((post, referral), outcome) in entries.into_iter().zip(outcomes) {
            let is_listed = match outcome {
                Referred::Done => true,
                Referred::Deleted => false,
                // Without a live row, that post is deleted, and its lists with it.
                Referred::Missing => self.archive().await?.refer(referral, post.exists).await?,
            };
            if referral.kind == ReferrerKind::Repost && post.exists && !is_listed {
                without_original.push(post);
            }
        }
        Ok(without_original)
    }

    /// Returns for each of these posts true if it exists. Makes one round trip, plus an archive query for posts without a
    /// record.
    pub(in crate::app) async fn exist(&self, ids: &[PostId]) -> Result<Vec<bool>, Error> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let read = post::read_all(self.keys(), ids.to_vec());
        let records = read.send("post: refer again", self.store()).await?;
        let mut exist = Vec::with_capacity(ids.len());
        let mut missing = Vec::new();
        for (id, record) in records {
            let record = record?;
            if record == Record::Missing {
                missing.push(id);
            }
            exist.push((id, matches!(record, Record::Live(_))));
        }
        if !missing.is_empty() {
            let rows = self.archive().await?.read(&missing).await?;
            let live: Vec<PostId> = rows.into_iter().filter_map(Row::live).map(|post| post.id).collect();
            for (id, exists) in &mut exist {
                *exists |= live.contains(id);
            }
        }
        Ok(exist.into_iter().map(|(_, exists)| exists).collect())
    }

    /// Returns what a post's record, or else its row in the archive, says; `None` if there is neither.
    async fn referring(&self, (id, author): (PostId, UserId)) -> Result<Option<Referring>, Error> {
        let record = post::read(self.keys(), id).send("post: references", self.store()).await?;
        Ok(match record {
            Record::Live(post) => {
                Some(Referring::new((id, author), &post.details.references, post.visibility, true))
            }
            Record::Tombstone { visibility, references, .. } => {
                Some(Referring::new((id, author), &references, visibility, false))
            }
            Record::Revoked { .. } => None,
            Record::Missing => {
                let rows = self.archive().await?.read(&[id]).await?;
                let post = rows.into_iter().find_map(Row::live);
                post.map(|post| Referring::new((id, author), &post.details.references, post.visibility, true))
            }
        })
    }
}
