//! Reposts: posts without a text of their own, which bring another post, the *original*, to their author's followers.
//!
//! A repost is published, delivered, archived and deleted like any post. Its author's slot has the author's repost of
//! each post: step 3 of publishing, which makes the repost visible, enters it, and does not make it visible if there is
//! an earlier one. Step 2 of a deletion removes it. So a user has at most one repost of a post.
//!
//! A deleted post takes its reposts with it. Readers see none from the moment at which the post is deleted, because
//! they see a repost as its original. The lists of the reposts stay behind, and the worker that removes the post from
//! timelines (`app::delivery`) deletes the listed reposts before it ends its job. If the post was archived, the archive
//! has the list, which the mover copies to Redis before the archive's tombstone replaces it, under an intent: a slow
//! mover may copy a list that others have copied and whose reposts they have deleted.

use std::collections::HashSet;
use std::sync::Arc;

use crate::app::App;
use crate::app::archive::Listed;
use crate::app::error::{Broken, Error, Field, Reason, RuleViolation};
use crate::app::post::NewPost;
use crate::app::viewer::Viewer;
use crate::app::visibility::{UserSelection, Visible, VisiblePost};
use crate::archive::post::Row;
use crate::archive::referrer::EntryPortion;
use crate::model::attachment::ReferrerKind;
use crate::model::details::References;
use crate::model::id::{PostId, UserId};
use crate::model::post::{Content, Post, Visibility};
use crate::model::referrer::{EntryKind, EntryList, ReferrerEntry};
use crate::model::user::UserFields;
use crate::store::batch::{Batch, Ticket};
use crate::store::intent::Operation;
use crate::store::post::{self, DeletedPost, Erased, Record};
use crate::store::referrer;
use crate::store::unreadable::readable;

/// Maximum number of attempts to repost a post. An attempt fails if an earlier repost is just being deleted.
const ATTEMPTS: usize = 3;
/// Number of reposts of a deleted post that are deleted together.
const TOGETHER: usize = 500;

/// Returns the post to repost, which is `None` if the viewer may not see it.
fn original(found: Option<VisiblePost>) -> Result<PostId, RuleViolation> {
    let Some(VisiblePost { post, author, .. }) = found else {
        let message = "This post does not exist.";
        return Err(RuleViolation::new(Reason::NotFound, Field::PostId, message));
    };
    if !post.visibility.is_public() || author.record.is_private == Some(true) {
        let message = "Only posts that everyone can see can be reposted.";
        return Err(RuleViolation::new(Reason::Visibility, Field::PostId, message));
    }
    Ok(post.id)
}

impl App {
    /// Reposts a post, unless the viewer has reposted it before. Takes one token from the viewer's bucket of posts.
    /// Makes ten round trips; four if the viewer has reposted the post before.
    pub async fn repost(&self, viewer: &Viewer, post: PostId) -> Result<(), Error> {
        let author = viewer.signed_in()?.user;
        let visible = Visible { app: self, load: self, viewer };
        let selection = UserSelection { fields: UserFields::PRIVATE, ..UserSelection::NONE };
        let found = visible.posts(Arc::new([Listed::Id(post)]), selection).await?;
        let original = original(found.into_iter().next().flatten())?;
        for _ in 0..ATTEMPTS {
            let Some(earlier) = self.repost_of(author, original).await? else {
                let references = References { original: Some(original), ..References::default() };
                let (content, created_at) = (Content::of_repost(), self.now());
                let visibility = Visibility::Public;
                let repost = NewPost { author, content, platform: None, visibility, references, created_at };
                self.publish_each(&[repost], Some(author)).await?;
                return Ok(());
            };
            if self.exist(&[earlier]).await?[0] {
                return Ok(());
            }
            self.finish_undoing(author, earlier, original).await?;
        }
        Err(Broken::GaveUp("reposting a post whose earlier repost is being deleted").into())
    }

    /// Deletes the viewer's repost of a post, if there is one. Idempotent. Makes one round trip without a repost;
    /// otherwise seven, plus an archive query if the repost is archived.
    pub async fn undo_repost(&self, viewer: &Viewer, post: PostId) -> Result<(), Error> {
        let author = viewer.signed_in()?.user;
        match self.repost_of(author, post).await? {
            Some(repost) => self.finish_undoing(author, repost, post).await,
            None => Ok(()),
        }
    }

    async fn repost_of(&self, author: UserId, original: PostId) -> Result<Option<PostId>, Error> {
        let read = referrer::reposts_by(self.keys(), author, &[original]);
        Ok(read.send("repost: earlier", self.store()).await?.pop().flatten())
    }

    /// Deletes a repost, or finishes its deletion.
    async fn finish_undoing(&self, author: UserId, repost: PostId, original: PostId) -> Result<(), Error> {
        if !self.delete_own(author, repost).await? {
            // Redis has lost the repost with its latest writes.
            self.unlist(&[deleted_repost(repost, author, original)], false).await?;
        }
        Ok(())
    }

    /// Returns some of the reposts of each of these deleted posts, with the lists that they are in. Makes one round
    /// trip.
    pub(in crate::app) async fn reposts_left(
        &self,
        deleted: &[PostId],
    ) -> Result<Vec<Vec<(EntryList, ReferrerEntry)>>, Error> {
        let mut batch = Batch::new("delete: reposts");
        let mut read = |list| (list, batch.push(referrer::portion(self.keys(), list, 0, TOGETHER)));
        let lists = deleted.iter().map(|post| EntryList::of(*post, ReferrerKind::Repost).map(&mut read));
        let lists: Vec<_> = lists.collect();
        let mut replies = batch.send(self.store()).await?;
        let mut left = |lists: [(EntryList, Ticket<Vec<ReferrerEntry>>); EntryKind::ALL.len()]| {
            let mut left = Vec::new();
            for (list, ticket) in lists {
                left.extend(replies.take(ticket)?.into_iter().map(|entry| (list, entry)));
            }
            Ok(left)
        };
        lists.into_iter().map(&mut left).collect()
    }

    /// Deletes these reposts of a deleted post. Idempotent; a repost that is just being archived stays listed. Makes
    /// five round trips, plus a query for archived reposts.
    pub(in crate::app) async fn delete_reposts(
        &self,
        original: PostId,
        reposts: &[(EntryList, ReferrerEntry)],
    ) -> Result<(), Error> {
        let ids = reposts.iter().map(|(_, repost)| repost.post).collect();
        let found = self.reposts_to_delete(original, ids).await?;
        let mut batch = Batch::new("delete: erase reposts");
        let erase =
            |(DeletedPost { id, author, visibility, references }, state): &(DeletedPost, RepostState)| {
                let archived = (*state == RepostState::Archived).then_some((*visibility, references));
                (*state != RepostState::Deleted)
                    .then(|| batch.push(post::erase(self.keys(), *author, *id, archived)))
            };
        let tickets: Vec<_> = found.iter().map(erase).collect();
        let mut replies = batch.send(self.store()).await?;
        let (mut deleted, mut moving) = (Vec::new(), HashSet::new());
        for ((repost, _), ticket) in found.into_iter().zip(tickets) {
            match ticket.map(|ticket| replies.take(ticket)).transpose()? {
                Some(Erased::Missing) => drop(moving.insert(repost.id)),
                Some(Erased::Foreign) => {}
                Some(Erased::Erased) | None => deleted.push(repost),
            }
        }
        self.unlist(&deleted, true).await?;
        let done = reposts.iter().filter(|(_, repost)| !moving.contains(&repost.post));
        let remove = |(list, repost): &(EntryList, ReferrerEntry)| {
            referrer::remove_repost(self.keys(), *list, *repost)
        };
        self.send_all("delete: reposts done", done.map(remove)).await?;
        Ok(())
    }

    /// Returns those of these reposts that exist, or whose deletion may be unfinished.
    async fn reposts_to_delete(
        &self,
        original: PostId,
        reposts: Vec<PostId>,
    ) -> Result<Vec<(DeletedPost, RepostState)>, Error> {
        let records = post::read_all(self.keys(), reposts);
        let records = records.send("delete: read reposts", self.store()).await?;
        let (mut found, mut missing) = (Vec::new(), Vec::new());
        for (id, record) in records {
            match readable(record, "post", id.get())? {
                Some(Record::Live(Post { author, details, .. }))
                    if details.references.original == Some(original) =>
                {
                    found.push((deleted_repost(id, author, original), RepostState::Hot));
                }
                Some(Record::Tombstone { author, references, is_settled: false, .. })
                    if references.original == Some(original) =>
                {
                    found.push((deleted_repost(id, author, original), RepostState::Deleted));
                }
                Some(Record::Missing) => missing.push(id),
                None | Some(Record::Live(_) | Record::Tombstone { .. } | Record::Revoked { .. }) => {}
            }
        }
        if !missing.is_empty() {
            let rows = self.archive().await?.read(&missing).await?;
            let rows = rows.into_iter().filter_map(Row::live);
            let rows = rows.filter(|post| post.details.references.original == Some(original));
            found.extend(
                rows.map(|post| (deleted_repost(post.id, post.author, original), RepostState::Archived)),
            );
        }
        Ok(found)
    }

    /// Copies the reposts of these deleted posts, whatever the kind of their entries, from the archive, which is about
    /// to lose them, to Redis. Returns the posts with such reposts. Makes one query, and two round trips if it finds
    /// reposts; more for many reposts.
    pub(super) async fn keep_archived_reposts(
        &self,
        posts: &[DeletedPost],
    ) -> Result<HashSet<PostId>, Error> {
        let mut reposted = HashSet::new();
        let lists = posts.iter().flat_map(|post| EntryList::of(post.id, ReferrerKind::Repost));
        let mut open: Vec<EntryPortion> =
            lists.map(|list| EntryPortion { list, from: None, size: TOGETHER }).collect();
        while !open.is_empty() {
            let found = self.archive().await?.entries(&open).await?;
            let found: Vec<(EntryPortion, Vec<ReferrerEntry>)> =
                open.into_iter().zip(found).filter(|(_, entries)| !entries.is_empty()).collect();
            let has_reposts: HashSet<PostId> = found.iter().map(|(portion, _)| portion.list.target).collect();
            let first =
                posts.iter().filter(|post| has_reposts.contains(&post.id) && !reposted.contains(&post.id));
            let deletions = first.map(|post| Operation::Delete { author: post.author, post: post.id });
            let intents = self.intents(deletions);
            self.record(&intents, &self.deadline()).await?;
            let mut commands = Vec::new();
            open = Vec::new();
            for (portion, entries) in found {
                let reposts: Vec<PostId> = entries.iter().map(|entry| entry.post).collect();
                commands.push(referrer::list_reposts(self.keys(), portion.list.target, &reposts));
                if reposts.len() == portion.size {
                    open.push(EntryPortion { from: reposts.last().copied(), ..portion });
                }
            }
            reposted.extend(has_reposts);
            self.send_all("move: reposts", commands).await?;
        }
        Ok(reposted)
    }
}

/// Where a repost is that must be deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RepostState {
    Hot,
    Archived,
    /// Its record is a tombstone, but it may still be listed.
    Deleted,
}

/// Returns what a deletion needs to know of a repost: reposts are public.
fn deleted_repost(id: PostId, author: UserId, original: PostId) -> DeletedPost {
    let references = References { original: Some(original), ..References::default() };
    DeletedPost { id, author, visibility: Visibility::Public, references }
}
