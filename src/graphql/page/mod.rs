//! List pages, loaded together with their nodes.
//!
//! A list resolver looks ahead at the data that its children need and loads it for the whole page. The page takes one
//! round trip; all of its users and relations take a second. The nodes hold this data, so their fields load nothing.
//!
//! # Why pages may end early
//! Entries whose node the viewer may not see are left out. If others took their place without a bound, an account could
//! make a list unreadable by filling it with such entries. So a page is refilled a few times at most, and then ends:
//! its cursor at that end is near the last entry that was looked at.

pub(super) mod like;
pub(super) mod post;
pub(super) mod referrer;
pub(super) mod user;

use futures::future::try_join;

use crate::app::error::Error;
use crate::app::visibility::list::VisiblePage;
use crate::app::visibility::{VisibleLikes, VisiblePost, VisibleReferrers, VisibleUser};
use crate::model::id::PostId;
use crate::model::like::Like;
use crate::model::page::{Direction, Page, Stepwise, Window};

/// A page with its nodes, in list order.
pub(super) struct Filled<E, N> {
    pub(super) entries: Vec<(E, N)>,
    pub(super) has_previous: bool,
    pub(super) has_next: bool,
    /// The end of the page beyond which there are more entries, although it is not full.
    pub(super) ended: Option<Ended<E>>,
}

/// An end of a page that has fewer entries than requested.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended<E> {
    /// The side of the page: `Forward` for its last entry.
    pub(super) side: Direction,
    /// The outermost entry that was looked at.
    pub(super) at: E,
}

impl<E, N> Filled<E, N> {
    pub(super) fn empty() -> Self {
        Self::complete(Vec::new(), false, false)
    }

    /// Creates a page that ends with its entries.
    pub(super) fn complete(entries: Vec<(E, N)>, has_previous: bool, has_next: bool) -> Self {
        Self { entries, has_previous, has_next, ended: None }
    }

    /// Returns the page of the same list in the opposite order.
    pub(super) fn reversed(self) -> Self {
        let Self { mut entries, has_previous, has_next, ended } = self;
        entries.reverse();
        let ended = ended.map(|Ended { side, at }| Ended { side: side.opposite(), at });
        Self { entries, has_previous: has_next, has_next: has_previous, ended }
    }
}

/// A part of a list that has been read: the entries with a node, and where the part ends.
pub(super) struct Part<E, N> {
    found: Vec<(E, N)>,
    /// The outermost entry in the direction of the window, with a node or not; `None` if the part is empty.
    outermost: Option<E>,
    has_previous: bool,
    has_next: bool,
    /// True if a page that ends with the part must not be refilled.
    is_last: bool,
}

impl<E: Clone, N> Part<E, N> {
    /// Creates a part from a page of a list of users, and those of its entries that have a node.
    pub(super) fn of_users<P>(window: &Window<P>, page: VisiblePage<E>, found: Vec<(E, N)>) -> Self {
        let part = Self::of(window, &page.page, found);
        Self { outermost: page.ended.or(part.outermost), ..part }
    }

    /// Creates a part from a page of a list, and those of its entries that have a node.
    pub(super) fn of<P>(window: &Window<P>, page: &Page<E>, found: Vec<(E, N)>) -> Self {
        let outermost = match window.direction {
            Direction::Forward => page.entries.last(),
            Direction::Backward => page.entries.first(),
        };
        Self {
            found,
            outermost: outermost.cloned(),
            has_previous: page.has_previous,
            has_next: page.has_next,
            is_last: false,
        }
    }

    /// Returns true if there are more entries in the direction of a window.
    fn has_more<P>(&self, window: &Window<P>) -> bool {
        match window.direction {
            Direction::Forward => self.has_next,
            Direction::Backward => self.has_previous,
        }
    }
}

impl Part<PostId, VisiblePost> {
    /// Creates a part of the posts that refer to a post.
    pub(super) fn of_referrers(found: VisibleReferrers) -> Self {
        let VisibleReferrers { posts, outermost, has_previous, has_next, is_exhausted } = found;
        let found = posts.into_iter().map(|post| (post.post.id, post)).collect();
        Self { found, outermost, has_previous, has_next, is_last: is_exhausted }
    }
}

impl Part<Like, VisibleUser> {
    /// Creates a part of the users who like a post.
    pub(super) fn of_likes(found: VisibleLikes) -> Self {
        let VisibleLikes { users, outermost, has_previous, has_next, is_exhausted } = found;
        Self { found: users, outermost, has_previous, has_next, is_last: is_exhausted }
    }
}

/// A list that is read part by part, with a node for each entry.
pub(super) trait Rows {
    type Entry: Clone;
    type Position: Copy + From<Self::Entry>;
    type Node;

    /// Number of entries looked at, at least, each time that a page is refilled.
    const REFILLS: &'static [usize] = &[100, 500];

    /// Reads the part of a window. It has as many entries as the window's size at most, and may have fewer.
    fn part(
        &self,
        window: Window<Self::Position>,
    ) -> impl Future<Output = Result<PartOf<Self>, Error>> + Send;
}

/// A part of such a list.
pub(super) type PartOf<R> = Part<<R as Rows>::Entry, <R as Rows>::Node>;

/// A page of such a list.
type FilledOf<R> = Filled<<R as Rows>::Entry, <R as Rows>::Node>;

/// Loads a page and its nodes. Entries without a node are omitted and replaced by entries from beyond the page, so a
/// page is shorter than requested only at the end of its list, or if it ends early.
pub(super) async fn fill<R: Rows>(rows: &R, window: Window<R::Position>) -> Result<FilledOf<R>, Error> {
    let part = rows.part(window).await?;
    complete(rows, window, part).await
}

/// Loads a page like [`fill`], with flags that do not tell of entries without a node, which the viewer may not see.
pub(super) async fn fill_visible<R: Rows<Position: Stepwise>>(
    rows: &R,
    window: Window<R::Position>,
) -> Result<FilledOf<R>, Error> {
    let ahead = fill(rows, Window { size: window.size + 1, ..window });
    let behind = async {
        let Some(behind) = window.behind() else { return Ok(false) };
        let behind = fill(rows, behind).await?;
        // Beyond what was looked at, there may be some.
        Ok(!behind.entries.is_empty() || behind.ended.is_some())
    };
    let (mut filled, has_behind) = try_join(ahead, behind).await?;
    let is_cut = filled.entries.len() > window.size;
    let has_more = is_cut || filled.ended.is_some();
    // A full page ends with its last entry.
    filled.ended = filled.ended.filter(|_| filled.entries.len() < window.size);
    match window.direction {
        Direction::Forward => {
            filled.entries.truncate(window.size);
            (filled.has_previous, filled.has_next) = (has_behind, has_more);
        }
        Direction::Backward => {
            filled.entries.drain(..usize::from(is_cut));
            (filled.has_previous, filled.has_next) = (has_more, has_behind);
        }
    }
    Ok(filled)
}

/// Completes a page whose first part has been loaded: replaces the entries that have no node, as often as
/// [`Rows::REFILLS`] says.
pub(super) async fn complete<R: Rows>(
    rows: &R,
    window: Window<R::Position>,
    first: PartOf<R>,
) -> Result<FilledOf<R>, Error> {
    let mut outermost = first.outermost.clone();
    let mut has_more = first.has_more(&window);
    let Part { found, has_previous, has_next, mut is_last, .. } = first;
    let mut filled = Filled::complete(found, has_previous, has_next);
    for &size in R::REFILLS {
        let missing = window.size.saturating_sub(filled.entries.len());
        let is_refilled = has_more && !is_last && missing > 0;
        let Some(from) = outermost.clone().filter(|_| is_refilled) else { break };
        let beyond = Window { size: size.max(missing), from: Some(R::Position::from(from)), ..window };
        let part = rows.part(beyond).await?;
        (has_more, is_last) = (part.has_more(&window), part.is_last);
        outermost = part.outermost.or(outermost);
        match window.direction {
            Direction::Forward => {
                filled.entries.extend(part.found);
                filled.has_next = part.has_next;
            }
            Direction::Backward => {
                filled.entries.splice(..0, part.found);
                filled.has_previous = part.has_previous;
            }
        }
    }
    Ok(cut(&window, filled, outermost.filter(|_| has_more)))
}

/// Ends a page: cuts off the entries that a refill has found beyond its size, or, if it has too few, notes where it
/// ends.
fn cut<P, E, N>(window: &Window<P>, mut filled: Filled<E, N>, more_beyond: Option<E>) -> Filled<E, N> {
    let excess = filled.entries.len().saturating_sub(window.size);
    if excess == 0 {
        let ended = more_beyond.filter(|_| filled.entries.len() < window.size);
        filled.ended = ended.map(|at| Ended { side: window.direction, at });
        return filled;
    }
    match window.direction {
        Direction::Forward => {
            filled.entries.truncate(window.size);
            filled.has_next = true;
        }
        Direction::Backward => {
            filled.entries.drain(..excess);
            filled.has_previous = true;
        }
    }
    filled
}
