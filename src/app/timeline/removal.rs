//! Entries that were removed from a timeline, and what a viewer may learn of that.
//!
//! A removal is sent only if the entry could be added now: otherwise, it would tell that a hidden post existed, or that
//! a hidden user has just deleted it. Two rules of additions do not apply. A repost is removed even if the timeline
//! would show its original elsewhere, because the viewer may have followed the original's author since the repost was
//! shown. A reply is removed whichever replies a watch shows, because the viewer may see it elsewhere, and a removal
//! does not tell to whom it replied.
//!
//! # Why a client may have to resync
//! The archive does not say if a deleted post was a repost, and may be unavailable. If the viewer may see the author of
//! such an entry, its removal can neither be left out, because the client may show the entry, nor be sent, because the
//! original may be hidden. A client that refetches its timeline shows the entry no longer, and learns nothing.

use std::collections::HashMap;

use crate::app::App;
use crate::app::error::Error;
use crate::app::timeline::entry::Removal;
use crate::app::viewer::Viewer;
use crate::app::visibility::removed::{RemovedAuthors, RemovedPost};
use crate::app::visibility::{Surface, Visible};
use crate::archive::post::Row;
use crate::model::clock::Timestamp;
use crate::model::id::{PostId, UserId};
use crate::model::post::{Post, Visibility};
use crate::store::post::{self, Record};
use crate::store::unreadable::readable;

/// An entry that was removed from a timeline.
pub(super) struct RemovedEntry {
    id: PostId,
    /// Time of the removal, by the Redis clock.
    pub(super) at: Timestamp,
    remains: Remains,
    /// The original, if the entry was a repost.
    original: Option<(PostId, Remains)>,
}

/// What is known of a post that may have been deleted.
#[derive(Clone, Copy)]
enum Remains {
    /// The post, or its tombstone in Redis.
    Post { post: RemovedPost, original: Option<PostId>, exists: bool },
    /// The archive's tombstone, by this author.
    Archived(UserId),
    /// Nothing, because the archive cannot be read.
    Unread,
    /// Nothing: there is no record.
    Lost,
}

/// What a viewer may learn of a removal.
#[derive(Clone, Copy)]
pub(super) enum Notice {
    /// The removal.
    Sent(Removal),
    /// Nothing.
    Hidden,
    /// It is not known which of the two.
    Unclear,
}

impl Remains {
    fn of_post(Post { author, visibility, details, .. }: &Post) -> Self {
        Self::known((*author, *visibility), details.references.original, true)
    }

    fn known((author, visibility): (UserId, Visibility), original: Option<PostId>, exists: bool) -> Self {
        let post = RemovedPost { author, visibility, is_repost: original.is_some() };
        Self::Post { post, original, exists }
    }

    /// Returns what decides who could see the post.
    fn post(&self) -> Option<RemovedPost> {
        match *self {
            Self::Post { post, .. } => Some(post),
            // Only public posts that are no reposts can be reposted. In a follower's timeline, neither matters.
            Self::Archived(author) => {
                Some(RemovedPost { author, visibility: Visibility::Public, is_repost: false })
            }
            Self::Unread | Self::Lost => None,
        }
    }

    fn original(&self) -> Option<PostId> {
        if let Self::Post { original, .. } = *self { original } else { None }
    }

    fn exists(&self) -> bool {
        matches!(self, Self::Post { exists: true, .. })
    }

    /// Returns what a viewer may learn of the removal if no post is known.
    fn without_post(&self) -> Notice {
        if matches!(self, Self::Unread) { Notice::Unclear } else { Notice::Hidden }
    }
}

impl RemovedEntry {
    /// Returns the authors of the posts that the entry consists of, as far as they are known.
    fn authors(&self) -> impl Iterator<Item = UserId> {
        let original = self.original.as_ref().map(|(_, remains)| remains);
        [Some(&self.remains), original]
            .into_iter()
            .flatten()
            .filter_map(Remains::post)
            .map(|post| post.author)
    }

    fn notice(&self, authors: &RemovedAuthors) -> Notice {
        let Some(post) = self.remains.post() else { return self.remains.without_post() };
        let Some(author) = authors.of(post, Surface::Timeline) else { return Notice::Hidden };
        if matches!(self.remains, Remains::Archived(_)) {
            return Notice::Unclear;
        }
        let Self { id, original, .. } = *self;
        let Some((original, remains)) = original else {
            return Notice::Sent(Removal { id, post: id, undone_by: None });
        };
        if author.relation.is_some_and(|relation| relation.hides_reposts()) {
            return Notice::Hidden;
        }
        let Some(shown) = remains.post() else { return remains.without_post() };
        let is_hidden = authors
            .of(shown, Surface::Reference)
            .is_none_or(|author| author.relation.is_some_and(|relation| relation.hides_posts()));
        if is_hidden {
            return Notice::Hidden;
        }
        let undone_by = remains.exists().then_some(post.author);
        Notice::Sent(Removal { id, post: original, undone_by })
    }
}

impl App {
    /// Returns what is known of removed entries. Makes no round trip without entries; otherwise one, and another if
    /// there are reposts; plus a query after each if Redis no longer has some of the posts.
    pub(super) async fn removed_entries(
        &self,
        removed: Vec<(PostId, Timestamp)>,
    ) -> Result<Vec<RemovedEntry>, Error> {
        let entries = self.remains(removed.iter().map(|(id, _)| *id).collect()).await?;
        let originals: Vec<PostId> = entries.values().filter_map(Remains::original).collect();
        let originals = self.remains(originals).await?;
        let remains_in =
            |posts: &HashMap<PostId, Remains>, id| posts.get(&id).copied().unwrap_or(Remains::Lost);
        let entry = |(id, at)| {
            let remains = remains_in(&entries, id);
            let original = remains.original().map(|original| (original, remains_in(&originals, original)));
            RemovedEntry { id, at, remains, original }
        };
        Ok(removed.into_iter().map(entry).collect())
    }

    async fn remains(&self, mut ids: Vec<PostId>) -> Result<HashMap<PostId, Remains>, Error> {
        ids.sort_unstable();
        ids.dedup();
        if ids.is_empty() {
            return Ok(HashMap::new());
        }
        let records = post::read_all(self.keys(), ids).send("live: removed posts", self.store()).await?;
        let (mut found, mut missing) = (HashMap::new(), Vec::new());
        for (id, record) in records {
            let remains = match readable(record, "post", id.get())? {
                Some(Record::Live(post)) => Remains::of_post(&post),
                Some(Record::Tombstone { author, visibility, references, .. }) => {
                    Remains::known((author, visibility), references.original, false)
                }
                Some(Record::Missing) => {
                    missing.push(id);
                    continue;
                }
                None | Some(Record::Revoked { .. }) => Remains::Lost,
            };
            found.insert(id, remains);
        }
        found.extend(self.archived_remains(&missing).await?);
        Ok(found)
    }

    async fn archived_remains(&self, ids: &[PostId]) -> Result<Vec<(PostId, Remains)>, Error> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let rows: Result<Vec<Row>, Error> = async { Ok(self.archive().await?.read(ids).await?) }.await;
        let remains = |row: Row| match row {
            Row::Live(post) => (post.id, Remains::of_post(&post)),
            Row::Tombstone { id, author } => (id, Remains::Archived(author)),
        };
        match rows {
            Ok(rows) => Ok(rows.into_iter().map(remains).collect()),
            Err(error) if error.is_about_archive() => {
                Ok(ids.iter().map(|id| (*id, Remains::Unread)).collect())
            }
            Err(error) => Err(error),
        }
    }

    /// Returns what the viewer may learn of each removed entry, in the same order. Makes as many round trips as
    /// [`Visible::removed_authors`].
    pub(super) async fn notices(
        &self,
        viewer: &Viewer,
        removed: &[RemovedEntry],
    ) -> Result<Vec<Notice>, Error> {
        let visible = Visible { app: self, load: self, viewer };
        let authors = visible.removed_authors(removed.iter().flat_map(RemovedEntry::authors)).await?;
        Ok(removed.iter().map(|entry| entry.notice(&authors)).collect())
    }
}
