//! The posts that refer to a post as a viewer sees them.
//!
//! Everyone reads the *listed* entries. A signed-in viewer also reads *limited* entries, which have their authors
//! beside them: which of these the viewer follows is looked up in the round trip in which the listed posts are read, so
//! that entries that the viewer may not see take no round trip. They are not charged either. The viewer's own entries
//! and those of followed authors are merged with the listed ones.
//!
//! Not here: the rule who may see a post (`app::visibility`), and how the lists are kept (`app::post`).

use std::cmp::Reverse;
use std::collections::HashSet;
use std::sync::Arc;

use futures::future::try_join;

use crate::app::archive::{Listed, StoredPost};
use crate::app::error::Error;
use crate::app::post::read::Referrers;
use crate::app::read::{Load, Shared};
use crate::app::relation::read::FollowsWhich;
use crate::app::visibility::{Surface, UserSelection, Visible, VisiblePost};
use crate::budget;
use crate::model::attachment::ReferrerKind;
use crate::model::id::{PostId, UserId};
use crate::model::page::{Direction, Window};
use crate::model::reaction::Reactions;
use crate::model::referrer::{EntryPage, LimitedEntry};

/// Number of limited entries that a page reads.
const LIMITED: usize = 1_000;
/// Number of limited entries that a page reads once its operation has read many.
const FEW_LIMITED: usize = 100;

/// A part of the posts that refer to a post: those that the viewer may see, and where the part ends.
#[derive(Clone, Debug)]
pub struct VisibleReferrers {
    /// The posts, newest first: as many as the window's size at most.
    pub posts: Vec<VisiblePost>,
    /// The outermost entry in the window's direction that was looked at, whether or not the viewer may see it. `None`
    /// if the part is empty.
    pub outermost: Option<PostId>,
    /// True if there may be entries before the part.
    pub has_previous: bool,
    /// True if there may be entries after the part.
    pub has_next: bool,
    /// True if the part ends because it has looked at as many limited entries as a page may.
    pub is_exhausted: bool,
}

impl<L: Load> Visible<'_, L> {
    /// Returns a part of the posts that refer to a post, newest first. The caller has found the post to be visible.
    /// Makes three round trips: for the entries; for the listed posts; and for their authors, and the limited posts
    /// that the viewer may see. Makes one query more if the post is archived.
    pub async fn referrers(
        &self,
        (target, kind): (PostId, ReferrerKind),
        window: Window<PostId>,
        author: UserSelection,
    ) -> Result<VisibleReferrers, Error> {
        let limited = self.signed_in().map_or(0, |_| budget::take_hidden_entries(LIMITED, FEW_LIMITED));
        let page = self.load.load(Referrers { target, kind, window, limited }).await?;
        let listed = self.stored(page.listed.entries.iter().copied(), author);
        let (listed, mut limited) = try_join(listed, self.seen_limited(&page)).await?;
        let part = Part::of(&page, &window, limited.iter().map(|entry| entry.post));
        limited.retain(|entry| part.entries.contains(&entry.post));
        let authors = self.authors_of(&listed.0, limited.iter().map(|entry| entry.author), author);
        let limited = self.stored(limited.iter().map(|entry| entry.post), author);
        let (authors, limited) = try_join(authors, limited).await?;
        let found = [listed, limited];
        let found = found.iter().flat_map(|(posts, reactions)| posts.iter().zip(reactions.iter()));
        let visible = |(found, reactions): (&Option<StoredPost>, &Reactions)| {
            let post = found.as_ref()?.unchecked();
            let visible = self.visible(post, &authors, *reactions, Surface::Referrers);
            visible.filter(|_| part.entries.contains(&post.id))
        };
        let mut posts: Vec<VisiblePost> = found.filter_map(visible).collect();
        posts.sort_unstable_by_key(|post| Reverse(post.post.id));
        posts.dedup_by_key(|post| post.post.id);
        Ok(part.with(posts))
    }

    /// Returns those of a page's limited entries that the viewer may see: their own, and those of authors whom they
    /// follow. Makes no round trip for an anonymous viewer; otherwise one, whether or not there are entries.
    async fn seen_limited(&self, page: &EntryPage) -> Result<Vec<LimitedEntry>, Error> {
        let Some(viewer) = self.viewer.user() else { return Ok(Vec::new()) };
        let mut authors: Vec<UserId> = page.limited.iter().map(|entry| entry.author).collect();
        authors.sort_unstable();
        authors.dedup();
        if authors.is_empty() {
            if !page.listed.entries.is_empty() {
                return Ok(Vec::new());
            }
            // As many round trips as with entries that the viewer may not see.
            authors.push(viewer);
        }
        let authors: Arc<[UserId]> = authors.into();
        let followed = self.load.load(FollowsWhich { viewer, authors: Shared(Arc::clone(&authors)) }).await?;
        let followed: HashSet<UserId> = authors
            .iter()
            .zip(followed.iter())
            .filter(|(_, follows)| **follows)
            .map(|(author, _)| *author)
            .collect();
        let is_seen = |entry: &&LimitedEntry| entry.author == viewer || followed.contains(&entry.author);
        Ok(page.limited.iter().filter(is_seen).copied().collect())
    }

    /// Returns these posts as they are stored, and the viewer's selected reactions to them. Makes one round trip; none
    /// without posts.
    async fn stored(
        &self,
        posts: impl Iterator<Item = PostId>,
        author: UserSelection,
    ) -> Result<(Arc<[Option<StoredPost>]>, Arc<[Reactions]>), Error> {
        let posts: Arc<[Listed]> = posts.map(Listed::Id).collect();
        if posts.is_empty() {
            return Ok((Arc::new([]), Arc::new([])));
        }
        self.reacted_records(posts, true, author.reactions).await
    }
}

/// The entries of a part of a list, visible or not.
struct Part {
    entries: HashSet<PostId>,
    outermost: Option<PostId>,
    has_previous: bool,
    has_next: bool,
    is_exhausted: bool,
}

impl Part {
    /// Merges the listed entries of a page with those of its limited entries that the viewer may see. The part ends
    /// where the listed entries, or the limited entries that were read, end first, and after as many entries as the
    /// window has.
    fn of(page: &EntryPage, window: &Window<PostId>, limited: impl Iterator<Item = PostId>) -> Self {
        let EntryPage { listed, limited: read, has_more_limited } = page;
        let direction = window.direction;
        let has_more_listed = match direction {
            Direction::Forward => listed.has_next,
            Direction::Backward => listed.has_previous,
        };
        let outermost_listed = match direction {
            Direction::Forward => listed.entries.last().copied(),
            Direction::Backward => listed.entries.first().copied(),
        };
        let end_of_listed = outermost_listed.filter(|_| has_more_listed);
        let end_of_limited = read.last().map(|entry| entry.post).filter(|_| *has_more_limited);
        // The nearer of the two.
        let nearer = |one, other| if direction.is_before(one, other) { one } else { other };
        let end = end_of_listed.into_iter().chain(end_of_limited).reduce(nearer);
        let mut entries: Vec<PostId> = listed.entries.iter().copied().chain(limited).collect();
        entries.retain(|entry| end.is_none_or(|end| !direction.is_before(end, *entry)));
        match direction {
            Direction::Forward => entries.sort_unstable_by_key(|entry| Reverse(*entry)),
            Direction::Backward => entries.sort_unstable(),
        }
        entries.dedup();
        let is_cut = entries.len() > window.size;
        entries.truncate(window.size);
        let has_more = is_cut || end.is_some();
        let outermost = if is_cut { entries.last().copied() } else { end.or(entries.last().copied()) };
        let (has_previous, has_next) = match direction {
            Direction::Forward => (listed.has_previous, has_more),
            Direction::Backward => (has_more, listed.has_next),
        };
        let is_exhausted = !is_cut && end.is_some() && end == end_of_limited;
        Self { entries: entries.into_iter().collect(), outermost, has_previous, has_next, is_exhausted }
    }

    fn with(self, posts: Vec<VisiblePost>) -> VisibleReferrers {
        let Self { outermost, has_previous, has_next, is_exhausted, .. } = self;
        VisibleReferrers { posts, outermost, has_previous, has_next, is_exhausted }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::page::Page;

    fn post(id: u64) -> PostId {
        PostId::new(id).unwrap()
    }

    /// Merges a page of listed entries, of which there may be more, with limited ones, of which the viewer sees those
    /// with even ids.
    fn merged(
        direction: Direction,
        size: usize,
        (listed, more_listed): (&[u64], bool),
        (limited, more_limited): (&[u64], bool),
    ) -> (Vec<u64>, Option<u64>, bool) {
        let (has_previous, has_next) = match direction {
            Direction::Forward => (false, more_listed),
            Direction::Backward => (more_listed, false),
        };
        let listed = Page { entries: listed.iter().copied().map(post).collect(), has_previous, has_next };
        let author = UserId::new(1).unwrap();
        let limited: Vec<LimitedEntry> =
            limited.iter().map(|id| LimitedEntry { post: post(*id), author }).collect();
        let page = EntryPage { listed, limited: limited.clone(), has_more_limited: more_limited };
        let seen = limited.iter().map(|entry| entry.post).filter(|id| id.get() % 2 == 0);
        let part = Part::of(&page, &Window { direction, size, from: None }, seen);
        let mut entries: Vec<u64> = part.entries.iter().map(|id| id.get()).collect();
        entries.sort_unstable();
        let has_more = if direction == Direction::Forward { part.has_next } else { part.has_previous };
        (entries, part.outermost.map(PostId::get), has_more)
    }

    #[test]
    fn a_part_ends_where_the_first_of_its_lists_ends() {
        use Direction::{Backward, Forward};
        // All entries are read.
        assert_eq!(merged(Forward, 9, (&[9, 5], false), (&[8, 7], false)), (vec![5, 8, 9], Some(5), false));
        assert_eq!(merged(Backward, 9, (&[9, 5], false), (&[7, 8], false)), (vec![5, 8, 9], Some(9), false));
        assert_eq!(merged(Forward, 9, (&[], false), (&[7], false)), (vec![], None, false));
        // There are more listed entries: limited ones beyond those read are left to the next part.
        assert_eq!(merged(Forward, 2, (&[9, 5], true), (&[8, 4], false)), (vec![8, 9], Some(8), true));
        assert_eq!(merged(Forward, 2, (&[9, 5], true), (&[4], false)), (vec![5, 9], Some(5), true));
        assert_eq!(merged(Backward, 2, (&[9, 5], true), (&[6, 10], false)), (vec![5, 6], Some(6), true));
        // There are more limited entries: listed ones beyond those read are left to the next part.
        assert_eq!(merged(Forward, 9, (&[9, 2], false), (&[8, 7], true)), (vec![8, 9], Some(7), true));
        assert_eq!(merged(Forward, 9, (&[2], false), (&[7, 5], true)), (vec![], Some(5), true));
        assert_eq!(merged(Backward, 9, (&[9, 2], false), (&[3, 4], true)), (vec![2, 4], Some(4), true));
    }
}
