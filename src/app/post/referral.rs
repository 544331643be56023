//! Entries of posts in the lists of the posts that they refer to: replies, posts that quote another, and reposts.
//!
//! An entry is [`mirrored`](crate::app::mirrored). Its truth is the record of the post that refers, or its row in the
//! archive, together with the account of its author. An entry exists as long as its post does. It is *listed* if
//! everyone sees the post, *limited* if only followers do, and *withheld* if the account is inactive, so that no one
//! does ([`EntryKind::of`]). Reading both again keeps a process from entering a post that was deleted in the meantime,
//! or under an earlier kind. A deletion removes the entries after the record is a tombstone, which is final. A change
//! of the account moves the entries of all posts of the author afterwards, under a job of its own
//! ([`crate::app::account`]). A publisher needs no intent: an interrupted one leaves its note behind, so that the
//! entries are settled again.
//!
//! A list is stored with the post that has it: in Redis while that post has a record, in the archive otherwise. A
//! change of kind raises the version of that post, as each change of a list does; otherwise, a mover that has read the
//! list before would keep the earlier kind. A list ends with its post, except that the reposts of a deleted post stay
//! in their lists until they are deleted as well ([`super::repost`]). A repost that cannot be entered, since its
//! original is deleted, is deleted at once.

use std::collections::{HashMap, HashSet};

use futures::{FutureExt as _, StreamExt as _, TryStreamExt as _, stream};

use crate::app::App;
use crate::app::deadline::Deadline;
use crate::app::error::Error;
use crate::app::mirrored::{Known, Mirrored, Written};
use crate::archive::post::Row;
use crate::model::account::Standing;
use crate::model::attachment::ReferrerKind;
use crate::model::details::References;
use crate::model::id::{PostId, UserId};
use crate::model::post::{Post, Visibility};
use crate::model::referrer::{EntryKind, Referral};
use crate::model::user::UserFields;
use crate::store::Feature;
use crate::store::batch::Batch;
use crate::store::command::Command;
use crate::store::intent::Operation;
use crate::store::post::{self, Attached, ReadPost, Record};
use crate::store::referrer;
use crate::store::user::{self, ReadUser};

/// Number of entries of archived posts that are written concurrently.
const ARCHIVED_AT_ONCE: usize = 8;

/// A post that refers to others.
#[derive(Clone, Debug)]
pub(super) struct Referring {
    /// Id of the post.
    post: PostId,
    /// Id of its author.
    author: UserId,
    /// Its entries in the lists of others.
    referrals: Vec<Referral>,
    /// True unless the post is for followers only.
    is_public: bool,
}

impl Referring {
    /// Returns a post with the kind of its entries, given the standing of the author's account, which is `None` if the
    /// post is deleted. Returns `None` if the post refers to nothing.
    pub(super) fn known(
        (post, author): (PostId, UserId),
        references: &References,
        visibility: Visibility,
        standing: Option<Standing>,
    ) -> Option<Known<Self>> {
        let referrals: Vec<Referral> = references.referrals(post, author).collect();
        let referring = Self { post, author, referrals, is_public: visibility.is_public() };
        let entry = referring.entry(standing);
        (!referring.referrals.is_empty()).then_some((referring, entry))
    }

    fn of(post: &Post, standing: Option<Standing>) -> Option<Known<Self>> {
        Self::known((post.id, post.author), &post.details.references, post.visibility, standing)
    }

    /// Returns the kind of the post's entries, given the standing of the author's account; `None` if it is to have
    /// none.
    fn entry(&self, standing: Option<Standing>) -> Option<EntryKind> {
        Some(EntryKind::of(self.is_public, standing?))
    }

    fn operation(&self) -> Operation {
        Operation::Refer { author: self.author, post: self.post }
    }
}

impl Mirrored for Referring {
    /// The kind of the entries; `None` if the post is deleted, so that it has none.
    type Truth = Option<EntryKind>;
    /// True if the post is a repost whose original does not exist.
    type Seen = bool;
    type Due = ();

    /// Makes an archive query as well for posts without a record.
    async fn read(app: &App, posts: Vec<Self>) -> Result<Vec<Known<Self>>, Error> {
        let entries = app.entries_now(posts.iter()).await?;
        Ok(posts.into_iter().zip(entries).collect())
    }

    /// Writes the entries of these posts in the lists of others, or removes them if the posts are deleted. Makes no
    /// round trip if there are no entries. Makes an archive query as well for each entry in the list of an archived
    /// post.
    async fn mirror(app: &App, posts: &[Known<Self>], _: &Deadline<'_>) -> Result<Vec<bool>, Error> {
        let entries =
            posts.iter().flat_map(|(post, entry)| post.referrals.iter().map(|referral| (*referral, *entry)));
        let entries: Vec<(Referral, Option<EntryKind>)> = entries.collect();
        let write = |(referral, entry): &(Referral, _)| referrer::refer(app.keys(), referral, *entry);
        let outcomes = app.send_all("post: refer", entries.iter().map(write)).await?;
        let without_original = |((referral, entry), outcome): ((Referral, _), Attached)| async move {
            let is_entered = match outcome {
                Attached::Done => true,
                Attached::Deleted => false,
                // Without a live row, that post is deleted, and its lists with it.
                Attached::Missing => app.archive().await?.refer(&referral, entry).await?,
            };
            let is_without = referral.kind == ReferrerKind::Repost && !is_entered;
            Ok::<_, Error>(is_without.then_some(referral.referrer))
        };
        let written: Vec<_> = entries.into_iter().zip(outcomes).map(without_original).collect();
        let written = stream::iter(written).buffered(ARCHIVED_AT_ONCE);
        let without_original: Vec<Option<PostId>> = written.try_collect().await?;
        let without_original: HashSet<PostId> = without_original.into_iter().flatten().collect();
        Ok(posts.iter().map(|(post, _)| without_original.contains(&post.post)).collect())
    }

    /// Deletes reposts whose originals do not exist. Their truths are then read again like those of all others.
    async fn correct(
        app: &App,
        written: Vec<Written<Self>>,
        _: &Deadline<'_>,
    ) -> Result<(Vec<Known<Self>>, Vec<Written<Self>>), Error> {
        for ((repost, entry), is_without_original) in &written {
            if *is_without_original && entry.is_some() {
                // Boxed, since it is rare, and larger than all that publishers usually wait for.
                app.delete_own(repost.author, repost.post).boxed().await?;
            }
        }
        Ok((Vec::new(), written))
    }

    /// Makes an archive query as well for posts without a record.
    async fn read_again(app: &App, written: &[Written<Self>]) -> Result<Vec<(Option<EntryKind>, ())>, Error> {
        let entries = app.entries_now(written.iter().map(|((post, _), _)| post)).await?;
        Ok(entries.into_iter().map(|entry| (entry, ())).collect())
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

    /// Makes the entries of newly visible posts equal to their truths, or leaves them to the repairer: the posts are
    /// visible, and an archive that is away must not hold up their delivery. Makes no round trip without posts;
    /// otherwise as many as [`App::mirror_until_equal`].
    pub(super) async fn settle_or_leave_referrals(
        &self,
        posts: Vec<Known<Referring>>,
        deadline: &Deadline<'_>,
    ) -> Result<(), Error> {
        let referring: Vec<Operation> = posts.iter().map(|(post, _)| post.operation()).collect();
        match self.mirror_until_equal(posts, deadline).await {
            Ok(_) => Ok(()),
            Err(_) => self.record(&self.intents(referring), deadline).await,
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
        let deadline = self.deadline();
        let redo = async || {
            self.enter(Feature::EntryKinds).await?;
            let strays = Referring { post, author, referrals, is_public: true };
            Referring::mirror(self, &[(strays, None)], &deadline).await?;
            let referring = self.referring((post, author)).await?;
            self.mirror_until_equal(referring.into_iter().collect(), &deadline).await.map(drop)
        };
        self.under_intents(&self.intents([Operation::Refer { author, post }]), &deadline, redo).await
    }

    /// Makes the entries of these visible posts agree with the posts and with their authors' accounts, under an intent
    /// each: a post may be deleted after it was read, and is then in no list in which a walk that is repeated would
    /// find it. Makes no round trip if none of the posts refers to another; otherwise five, plus an archive query for
    /// each entry in the list of an archived post.
    pub(in crate::app) async fn make_entries_agree<'a>(
        &self,
        posts: impl Iterator<Item = &'a Post>,
        deadline: &Deadline<'_>,
    ) -> Result<(), Error> {
        let referring = posts.filter_map(|post| Some(Referring::of(post, None)?.0));
        let referring: Vec<Referring> = referring.collect();
        let intents = self.intents(referring.iter().map(Referring::operation));
        self.repair_mirrors(referring, &intents, deadline).await
    }

    /// Returns the kind of the entries of each of these posts now; `None` for a post that does not exist. Makes one
    /// round trip, plus an archive query for posts without a record.
    async fn entries_now<'a>(
        &self,
        posts: impl Iterator<Item = &'a Referring> + Clone,
    ) -> Result<Vec<Option<EntryKind>>, Error> {
        let mut batch = Batch::new("post: refer again");
        let records = batch.push(post::read_all(self.keys(), posts.clone().map(|post| post.post).collect()));
        let authors = batch.push(self.read_standings(posts.clone().map(|post| post.author)));
        let mut replies = batch.send(self.store()).await?;
        let (records, standings) = (replies.take(records)?, Self::standings(replies.take(authors)?)?);
        let exist = self.existing(records).await?;
        let standing = |post: &Referring| standings.get(&post.author).copied().unwrap_or(Standing::Inactive);
        let entry = |(post, exists): (&Referring, bool)| post.entry(exists.then(|| standing(post)));
        Ok(posts.zip(exist).map(entry).collect())
    }

    /// Returns for each of these posts true if it exists. Makes one round trip, plus an archive query for posts without
    /// a record.
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

    /// Returns what a post's record, or else its row in the archive, and its author's account say of its entries;
    /// `None` if there is no such post, or it refers to nothing.
    async fn referring(&self, (id, author): (PostId, UserId)) -> Result<Option<Known<Referring>>, Error> {
        let mut batch = Batch::new("post: references");
        let record = batch.push(post::read(self.keys(), id));
        let account = batch.push(self.read_standings(std::iter::once(author)));
        let mut replies = batch.send(self.store()).await?;
        let (record, standings) = (replies.take(record)?, Self::standings(replies.take(account)?)?);
        let standing = standings.get(&author).copied();
        Ok(match record {
            Record::Live(post) => Referring::of(&post, standing),
            Record::Tombstone { visibility, references, .. } => {
                Referring::known((id, author), &references, visibility, None)
            }
            // A revoked post was never entered anywhere.
            Record::Revoked { .. } => None,
            Record::Missing => {
                let rows = self.archive().await?.read(&[id]).await?;
                rows.into_iter().find_map(Row::live).and_then(|post| Referring::of(&post, standing))
            }
        })
    }
}
