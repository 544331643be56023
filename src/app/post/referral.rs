//! Entries of posts in the lists of the posts that they refer to: replies, posts that quote another, and reposts.
//!
//! Two truths decide about an entry: the record of the post that refers, or its row in the archive, and the account of its
//! author. An entry exists as long as its post does. It is *listed* if everyone sees the post, *limited* if only followers
//! do, and *withheld* if the account is inactive, so that no one does ([`EntryKind::of`]). A process that writes entries
//! reads both truths again afterwards, and repeats this until they are those that it acted on; otherwise, it could enter a
//! post that was deleted in the meantime, or under an earlier kind. A deletion removes the entries after the record is a
//! tombstone, which is final. A change of the account moves the entries of all posts of the author afterwards, under a job
//! of its own ([`crate::app::account`]). An interrupted publisher leaves its note behind, and an interrupted repairer or
//! walk its intents, so that the entries are settled again.
//!
//! A list is stored with the post that has it: in Redis while that post has a record, in the archive otherwise. A change of
//! kind raises the version of that post, as each change of a list does; otherwise, a mover that has read the list before
//! would keep the earlier kind. A list ends with its post, except that the reposts of a deleted post stay in their lists
//! until they are deleted as well ([`super::repost`]). A repost that cannot be entered, since its original is deleted, is
//! deleted at once.

use std::collections::HashMap;

use futures::{StreamExt as _, TryStreamExt as _, stream};

use crate::app::App;
use crate::app::deadline::Deadline;
use crate::app::error::{Broken, Error};
use crate::archive::post::Row;
use crate::model::account::Standing;
use crate::model::details::References;
use crate::model::id::{PostId, UserId};
use crate::model::post::{Post, Visibility};
use crate::model::referrer::{EntryKind, Referral, ReferrerKind};
use crate::model::user::UserFields;
use crate::store::Feature;
use crate::store::batch::Batch;
use crate::store::command::Command;
use crate::store::intent::Operation;
use crate::store::post::{self, ReadPost, Record};
use crate::store::referrer::{self, Referred};
use crate::store::user::{self, ReadUser};

/// Maximum number of attempts to settle entries. An attempt fails if a post or its author's account changes in the
/// meantime.
const ATTEMPTS: usize = 3;

/// Number of entries of archived posts that are written concurrently.
const ARCHIVED_AT_ONCE: usize = 8;

/// A post that refers to others.
#[derive(Clone, Debug)]
pub(super) struct Referring {
    /// Id of the post.
    pub(super) post: PostId,
    /// Id of its author.
    pub(super) author: UserId,
    /// Its entries in the lists of others.
    referrals: Vec<Referral>,
    /// True unless the post is for followers only.
    is_public: bool,
    /// Standing of the author's account; `None` if the post is deleted.
    standing: Option<Standing>,
}

impl Referring {
    pub(super) fn new(
        (post, author): (PostId, UserId),
        references: &References,
        visibility: Visibility,
        standing: Option<Standing>,
    ) -> Self {
        let referrals = references.referrals(post, author).collect();
        Self { post, author, referrals, is_public: visibility.is_public(), standing }
    }

    fn of(post: &Post, standing: Option<Standing>) -> Self {
        Self::new((post.id, post.author), &post.details.references, post.visibility, standing)
    }

    /// Returns the kind of the post's entries; `None` if it is to have none.
    fn entry(&self) -> Option<EntryKind> {
        Some(EntryKind::of(self.is_public, self.standing?))
    }

    fn operation(&self) -> Operation {
        Operation::Refer { author: self.author, post: self.post }
    }
}

/// Returns the standing of an account, given what was read of it.
fn standing((author, record): ReadUser) -> Result<(UserId, Standing), Error> {
    let standing = match record? {
        Some(user) if user.is_private == Some(true) => Standing::Private,
        Some(_) => Standing::Public,
        None => Standing::Inactive,
    };
    Ok((author, standing))
}

impl App {
    /// Reads the records from which [`App::standings`] derives the standings of these accounts.
    pub(in crate::app) fn read_standings(
        &self,
        authors: impl Iterator<Item = UserId>,
    ) -> Command<Vec<ReadUser>> {
        let mut authors: Vec<UserId> = authors.collect();
        authors.sort_unstable();
        authors.dedup();
        user::read_all(self.keys(), &authors, UserFields::PRIVATE)
    }

    /// Returns the standings of accounts.
    pub(in crate::app) fn standings(records: Vec<ReadUser>) -> Result<HashMap<UserId, Standing>, Error> {
        records.into_iter().map(standing).collect()
    }

    /// Makes the entries of these posts what the posts and their authors' accounts say. Deletes reposts whose originals do
    /// not exist. Makes no round trip for posts that refer to nothing; otherwise two, plus an archive query for each entry
    /// in the list of an archived post.
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
            let again = self.entries_now(&open).await?;
            let mut changed = Vec::new();
            for (mut post, standing) in open.into_iter().zip(again) {
                let written = post.entry();
                post.standing = standing;
                if post.entry() != written {
                    changed.push(post);
                }
            }
            open = changed;
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
        let referring: Vec<Operation> =
            posts.iter().filter(|post| !post.referrals.is_empty()).map(Referring::operation).collect();
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
        self.enter(Feature::EntryKinds).await?;
        self.write_referrals(&[Referring { post, author, referrals, is_public: true, standing: None }])
            .await?;
        let referring = self.referring((post, author)).await?;
        self.settle_referrals(referring.into_iter().collect(), &deadline).await?;
        self.forget(&intents).await
    }

    /// Makes the entries of these visible posts agree with the posts and with their authors' accounts, under an intent
    /// each: a post may be deleted after it was read, and is then in no list in which a walk that is repeated would find
    /// it. Makes no round trip if none of the posts refers to another; otherwise five, plus an archive query for each entry
    /// in the list of an archived post.
    pub(in crate::app) async fn make_entries_agree<'a>(
        &self,
        posts: impl Iterator<Item = &'a Post>,
        deadline: &Deadline<'_>,
    ) -> Result<(), Error> {
        let mut referring: Vec<Referring> = posts.map(|post| Referring::of(post, None)).collect();
        referring.retain(|post| !post.referrals.is_empty());
        if referring.is_empty() {
            return Ok(());
        }
        let intents = self.intents(referring.iter().map(Referring::operation));
        self.record(&intents, deadline).await?;
        let standings = self.entries_now(&referring).await?;
        for (post, standing) in referring.iter_mut().zip(standings) {
            post.standing = standing;
        }
        self.settle_referrals(referring, deadline).await?;
        self.forget(&intents).await
    }

    /// Writes the entries of these posts in the lists of others, or removes them if the posts are deleted. Returns the
    /// reposts whose originals do not exist. Makes one round trip, plus an archive query for each entry in the list of an
    /// archived post.
    pub(super) async fn write_referrals<'a>(
        &self,
        posts: &'a [Referring],
    ) -> Result<Vec<&'a Referring>, Error> {
        let entries =
            posts.iter().flat_map(|post| post.referrals.iter().map(move |referral| (post, referral)));
        let entries: Vec<(&Referring, &Referral)> = entries.collect();
        if entries.is_empty() {
            return Ok(Vec::new());
        }
        let mut batch = Batch::new("post: refer");
        let write = |(post, referral): &(&Referring, &Referral)| {
            batch.push(referrer::refer(self.keys(), referral, post.entry()))
        };
        let tickets = entries.iter().map(write).collect();
        let outcomes = batch.send(self.store()).await?.take_all(tickets)?;
        let is_entered = |((post, referral), outcome): ((&'a Referring, &'a Referral), Referred)| async move {
            let is_entered = match outcome {
                Referred::Done => true,
                Referred::Deleted => false,
                // Without a live row, that post is deleted, and its lists with it.
                Referred::Missing => self.archive().await?.refer(referral, post.entry()).await?,
            };
            let is_original_missing =
                referral.kind == ReferrerKind::Repost && post.standing.is_some() && !is_entered;
            Ok::<_, Error>(is_original_missing.then_some(post))
        };
        let written: Vec<_> = entries.into_iter().zip(outcomes).map(is_entered).collect();
        let written = stream::iter(written).buffered(ARCHIVED_AT_ONCE);
        let without_original: Vec<Option<&Referring>> = written.try_collect().await?;
        Ok(without_original.into_iter().flatten().collect())
    }

    /// Returns what decides about the entries of these posts now: the standing of the author's account; `None` for a post
    /// that does not exist. Makes one round trip, plus an archive query for posts without a record.
    async fn entries_now(&self, posts: &[Referring]) -> Result<Vec<Option<Standing>>, Error> {
        let mut batch = Batch::new("post: refer again");
        let records = batch.push(post::read_all(self.keys(), posts.iter().map(|post| post.post).collect()));
        let authors = batch.push(self.read_standings(posts.iter().map(|post| post.author)));
        let mut replies = batch.send(self.store()).await?;
        let (records, standings) = (replies.take(records)?, Self::standings(replies.take(authors)?)?);
        let exist = self.existing(records).await?;
        let standing = |post: &Referring| standings.get(&post.author).copied().unwrap_or(Standing::Inactive);
        Ok(posts.iter().zip(exist).map(|(post, exists)| exists.then(|| standing(post))).collect())
    }

    /// Returns for each of these posts true if it exists. Makes one round trip, plus an archive query for posts without a
    /// record.
    pub(in crate::app) async fn exist(&self, ids: &[PostId]) -> Result<Vec<bool>, Error> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let read = post::read_all(self.keys(), ids.to_vec());
        self.existing(read.send("post: exist", self.store()).await?).await
    }

    /// Returns for each post of which this was read true if it exists.
    async fn existing(&self, records: Vec<ReadPost>) -> Result<Vec<bool>, Error> {
        let mut exist = Vec::with_capacity(records.len());
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

    /// Returns what a post's record, or else its row in the archive, and its author's account say; `None` if there is no
    /// such post.
    async fn referring(&self, (id, author): (PostId, UserId)) -> Result<Option<Referring>, Error> {
        let mut batch = Batch::new("post: references");
        let record = batch.push(post::read(self.keys(), id));
        let account = batch.push(self.read_standings(std::iter::once(author)));
        let mut replies = batch.send(self.store()).await?;
        let (record, standings) = (replies.take(record)?, Self::standings(replies.take(account)?)?);
        let standing = standings.get(&author).copied();
        Ok(match record {
            Record::Live(post) => Some(Referring::of(&post, standing)),
            Record::Tombstone { visibility, references, .. } => {
                Some(Referring::new((id, author), &references, visibility, None))
            }
            // A revoked post was never entered anywhere.
            Record::Revoked { .. } => None,
            Record::Missing => {
                let rows = self.archive().await?.read(&[id]).await?;
                rows.into_iter().find_map(Row::live).map(|post| Referring::of(&post, standing))
            }
        })
    }
}
