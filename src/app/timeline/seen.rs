//! The position of a reader in a live timeline.
//!
//! Not here: how it is printed as a cursor (`graphql::cursor`).

use crate::app::timeline::TimelinePage;
use crate::model::clock::Timestamp;
use crate::model::id::PostId;
use crate::model::mark::Mark;

/// A reader's position in a live timeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// All posts up to this one have been seen. It need not be in the timeline.
    pub upto: Mark,
    /// The posts seen above `upto`, in ascending order.
    pub beyond: Vec<PostId>,
    /// Removals up to this time have been seen, by the clock of Redis; `None` for up to now.
    pub removed: Option<Timestamp>,
}

impl Seen {
    /// Returns the position of a reader who has read a page from the entry at `index` on.
    ///
    /// Posts between the mark and the page are sent, even if they are read again on a later page: they may
    /// also arrive late.
    pub(super) fn of_entry(page: &TimelinePage, index: usize) -> Self {
        let entries = &page.page.entries;
        // If nothing lies above the entry, every post that had arrived by then is covered.
        let is_newest = page.is_top && index == 0;
        let upto = if is_newest { page.mark } else { page.mark.min(Mark::at(entries[index].post.id)) };
        let above = entries[index..].iter().rev().map(|entry| entry.post.id);
        let beyond = above.skip_while(|post| upto.covers(*post)).collect();
        Self { upto, beyond, removed: page.at }
    }

    /// Returns whether this post has been seen.
    pub(super) fn has(&self, post: PostId) -> bool {
        self.upto.covers(post) || self.beyond.binary_search(&post).is_ok()
    }

    /// Returns the least mark that covers all posts seen.
    pub(super) fn newest(&self) -> Mark {
        self.beyond.last().map_or(self.upto, |post| Mark::at(*post).max(self.upto))
    }

    /// Marks these posts as seen, and all posts up to `upto`.
    pub(super) fn add(&mut self, posts: Vec<PostId>, upto: Mark) {
        self.upto = self.upto.max(upto);
        self.beyond.extend(posts);
        self.beyond.retain(|post| !self.upto.covers(*post));
        self.beyond.sort_unstable();
        self.beyond.dedup();
    }
}
