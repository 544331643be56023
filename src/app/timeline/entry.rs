//! The entries of home timelines as readers see them: posts, and posts that followed users have reposted.
//!
//! Timelines store reposts as posts of their own. A reader sees a repost as its *original*, unless the reader follows
//! the original's author, whose posts are in the timeline anyway, or has muted the reposts of the user who reposts it.
//! Several reposts of the same post on one page are one entry, in the place of the newest.
//!
//! Timelines store all replies. Which of them a reader sees depends on the authors of the posts to which they reply,
//! and is decided when the timeline is read, so that it does not depend on the way in which posts reach a timeline.

use std::collections::HashMap;
use std::sync::Arc;

use futures::future::try_join;

use crate::app::App;
use crate::app::archive::{Listed, StoredPost};
use crate::app::error::Error;
use crate::app::viewer::Viewer;
use crate::app::visibility::{Surface, UserSelection, Visible, VisiblePost, VisibleUser};
use crate::model::clock::Timestamp;
use crate::model::details::Reply;
use crate::model::id::{PostId, UserId};
use crate::model::page::Direction;
use crate::model::post::Post;
use crate::model::reaction::{ReactionSelection, Reactions};
use crate::model::user::UserFields;

/// The replies that a home timeline shows, besides the reader's own, those to the reader, and those of authors to
/// themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Replies {
    /// Replies to users whom the reader follows.
    #[default]
    Followed,
    /// All replies.
    All,
    /// No others.
    None,
}

/// The entries to show, and what to read of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct EntrySelection {
    /// The fields to read of each post's author, and of the users who reposted it.
    pub(super) author: UserFields,
    /// The viewer's reactions to read.
    pub(super) reactions: ReactionSelection,
    /// The replies to show.
    pub(super) replies: Replies,
}

/// An entry of a home timeline.
#[derive(Clone, Debug)]
pub struct TimelineEntry {
    /// The id by which the entry is ordered: that of the post, or of its newest repost on the page.
    pub id: PostId,
    /// The time of that post or repost.
    pub at: Timestamp,
    /// The post.
    pub post: Arc<Post>,
    /// The post's author.
    pub author: VisibleUser,
    /// The viewer's selected reactions to the post.
    pub reactions: Reactions,
    /// The followed users whose reposts put the post here, newest repost first; empty if the post is here as its
    /// author's own.
    pub reposted_by: Vec<VisibleUser>,
    /// The older reposts of the post on the page, which this entry replaces.
    pub(super) folded: Vec<PostId>,
}

impl TimelineEntry {
    fn own(VisiblePost { post, author, reactions }: VisiblePost) -> Self {
        let (id, at) = (post.id, post.created_at);
        Self { id, at, post, author, reactions, reposted_by: Vec::new(), folded: Vec::new() }
    }

    /// Creates the entry of an original that a repost puts into the timeline.
    fn reposted(original: VisiblePost, repost: VisiblePost) -> Self {
        let VisiblePost { post: repost, author: reposter, .. } = repost;
        let reposted_by = vec![reposter];
        Self { id: repost.id, at: repost.created_at, reposted_by, ..Self::own(original) }
    }

    /// Returns the ids of the posts and reposts that the entry shows, newest first.
    pub fn ids(&self) -> impl Iterator<Item = PostId> {
        std::iter::once(self.id).chain(self.folded.iter().copied())
    }

    /// Adds an older entry of the same post.
    fn fold(&mut self, older: Self) {
        self.folded.extend(older.ids());
        self.reposted_by.extend(older.reposted_by);
    }
}

/// The removal of an entry from a timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Removal {
    /// The id of the entry: of a post, or of a repost.
    pub id: PostId,
    /// The post that the entry has shown.
    pub post: PostId,
    /// The user whose repost was removed; `None` if the post itself was deleted.
    pub undone_by: Option<UserId>,
}

/// A page that is being filled, with entries in the direction of its window.
pub(super) struct Filling {
    size: usize,
    direction: Direction,
    pub(super) entries: Vec<TimelineEntry>,
    /// True if there are entries beyond the page.
    pub(super) has_more: bool,
}

impl Filling {
    pub(super) fn new(size: usize, direction: Direction) -> Self {
        Self { size, direction, entries: Vec::new(), has_more: false }
    }

    /// Adds the next entry, unless the page is full: a full page ends just after its last entry, so that a repost
    /// beyond it is on the next page.
    pub(super) fn add(&mut self, mut entry: TimelineEntry) {
        if self.entries.len() == self.size {
            self.has_more = true;
            return;
        }
        let is_same = |other: &TimelineEntry| other.post.id == entry.post.id;
        match (self.entries.iter().position(is_same), self.direction) {
            (Some(newer), Direction::Forward) => self.entries[newer].fold(entry),
            (Some(older), Direction::Backward) => {
                entry.fold(self.entries.remove(older));
                self.entries.push(entry);
            }
            (None, _) => self.entries.push(entry),
        }
    }
}

impl App {
    /// Returns the entries of the posts in `ids` that belong in the timeline, in the same order. Makes two round trips,
    /// and one more if there are reposts, or replies that are shown depending on the users to whom they reply.
    pub(super) async fn read_entries(
        &self,
        viewer: &Viewer,
        ids: Vec<PostId>,
        selection: EntrySelection,
    ) -> Result<Vec<TimelineEntry>, Error> {
        let visible = Visible { app: self, load: self, viewer };
        let EntrySelection { author, reactions, .. } = selection;
        let author = UserSelection { fields: author, reactions, ..UserSelection::NONE };
        let ids: Arc<[Listed]> = ids.into_iter().map(Listed::Id).collect();
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let (records, reacted) = visible.reacted_records(Arc::clone(&ids), true, reactions).await?;
        let reader = viewer.user();
        let posts = records.iter().flatten().map(StoredPost::unchecked);
        let referred = posts.filter_map(|post| referred(post, reader, selection.replies));
        let mut referred: Vec<PostId> = referred.collect();
        referred.sort_unstable();
        referred.dedup();
        let referred: Arc<[Listed]> = referred.into_iter().map(Listed::Id).collect();
        let posts = visible.of_records((&records, &reacted), author, Surface::Timeline);
        if referred.is_empty() {
            let posts = posts.await?.into_iter().flatten();
            return Ok(posts.map(TimelineEntry::own).collect());
        }
        // A post to which another refers may be left out while the archive cannot be read.
        let referred = visible.reacted_records(referred, false, reactions);
        let (posts, (referred, reacted)) = try_join(posts, referred).await?;
        let author = UserSelection { relation: true, ..author };
        let referred = visible.of_records((&referred, &reacted), author, Surface::Reference).await?;
        let referred = referred.into_iter().flatten().map(|post| (post.post.id, post)).collect();
        let entry = |post| entry(post, &referred, reader, selection.replies);
        Ok(posts.into_iter().flatten().filter_map(entry).collect())
    }
}

/// Returns the post that decides if and how a post is shown: the original of a repost, or the post to which it replies.
fn referred(post: &Post, reader: Option<UserId>, replies: Replies) -> Option<PostId> {
    let references = &post.details.references;
    let parent = references.reply.as_ref().map(Reply::parent);
    references.original.or(parent.filter(|_| replies != Replies::All && reader != Some(post.author)))
}

/// Returns the entry of a post in the reader's timeline; `None` if the timeline does not show it. `referred` has the
/// posts to which others refer and that the reader may see.
fn entry(
    visible: VisiblePost,
    referred: &HashMap<PostId, VisiblePost>,
    reader: Option<UserId>,
    replies: Replies,
) -> Option<TimelineEntry> {
    let author = visible.post.author;
    let references = &visible.post.details.references;
    if let Some(original) = references.original {
        let original = referred.get(&original)?;
        let is_own = reader == Some(author) || reader == Some(original.post.author);
        let hides_reposts = visible.author.relation.is_some_and(|relation| relation.hides_reposts());
        let relation = original.author.relation?;
        let is_elsewhere = relation.following_since.is_some();
        let is_shown = !is_own && !hides_reposts && !is_elsewhere && !relation.hides_posts();
        return is_shown.then(|| TimelineEntry::reposted(original.clone(), visible));
    }
    let is_shown = match &references.reply {
        None => true,
        Some(_) if reader == Some(author) => true,
        Some(reply) => {
            let parent = referred.get(&reply.parent());
            let is_to = |user: Option<UserId>| parent.is_some_and(|parent| Some(parent.post.author) == user);
            let is_to_followed = || {
                let relation = parent.and_then(|parent| parent.author.relation);
                relation.is_some_and(|relation| relation.following_since.is_some())
            };
            match replies {
                Replies::All => true,
                _ if is_to(reader) || is_to(Some(author)) => true,
                Replies::Followed => is_to_followed(),
                Replies::None => false,
            }
        }
    };
    is_shown.then(|| TimelineEntry::own(visible))
}
