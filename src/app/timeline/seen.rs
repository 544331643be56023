//! Defines a reader's position in a live timeline.
//!
//! Not here: the cursor that contains the position (`graphql::cursor`).

use crate::app::timeline::TimelinePage;
use crate::app::timeline::entry::TimelineEntry;
use crate::model::clock::Timestamp;
use crate::model::id::PostId;
use crate::model::mark::Mark;

/// A reader's position in a live timeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Mark up to which the reader has seen all posts. The timeline need not contain a post at the mark.
    pub upto: Mark,
    /// Posts seen above `upto`, in ascending order of id.
    pub beyond: Vec<PostId>,
    /// Time up to which the reader has seen removals, by the Redis clock; `None` if the store was not writable then.
    pub removed: Option<Timestamp>,
}

impl Seen {
    /// Returns the position of a reader who has read a page from the entry at `index` to the end.
    ///
    /// The reader also receives posts above the mark that are older than the page, even if a later page
    /// repeats them, because such posts may have arrived late.
    pub(super) fn of_entry(page: &TimelinePage, index: usize) -> Self {
        let entries = &page.page.entries;
        // If the entry is the newest, the reader has seen every post that the mark covers.
        let is_newest = page.is_top && index == 0;
        let upto = if is_newest { page.mark } else { page.mark.min(Mark::at(entries[index].id)) };
        let read = entries.iter().flat_map(TimelineEntry::ids).filter(|id| *id <= entries[index].id);
        let mut beyond: Vec<PostId> = read.filter(|id| !upto.covers(*id)).collect();
        beyond.sort_unstable();
        Self { upto, beyond, removed: page.at }
    }

    /// Returns true if the reader has seen this post.
    pub(super) fn has(&self, post: PostId) -> bool {
        self.upto.covers(post) || self.beyond.binary_search(&post).is_ok()
    }

    /// Returns the least mark that covers all seen posts.
    #[must_use]
    pub fn newest(&self) -> Mark {
        self.beyond.last().map_or(self.upto, |post| Mark::at(*post).max(self.upto))
    }

    /// Marks these posts, and all posts up to `upto`, as seen.
    pub(super) fn add(&mut self, posts: Vec<PostId>, upto: Mark) {
        self.upto = self.upto.max(upto);
        self.beyond.extend(posts);
        self.beyond.retain(|post| !self.upto.covers(*post));
        self.beyond.sort_unstable();
        self.beyond.dedup();
    }
}
