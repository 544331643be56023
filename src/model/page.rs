//! Pages of lists, newest first.
//!
//! Not here: opaque cursors for positions (`graphql::cursor`), and pagination inside Redis
//! (`store/lua/page.lua`), which uses the same order.

use std::cmp::Ordering;
use std::sync::Arc;
use std::time::Duration;

use crate::model::clock::Timestamp;
use crate::model::id::{PostId, UserId};
use crate::model::invite::InviteCode;
use crate::model::relation::Follow;
use crate::model::session::SessionId;

/// A position in a list. The type of the position defines the list's order.
pub trait InListOrder: Copy {
    /// Compares two positions in list order, newest first.
    #[must_use]
    fn in_list_order(&self, other: &Self) -> Ordering;
}

/// A position in a list of posts is a post id. The post need not exist any more. The newest post has the
/// greatest id.
impl InListOrder for PostId {
    fn in_list_order(&self, other: &Self) -> Ordering {
        other.cmp(self)
    }
}

/// A position in a list ordered by time: the time and the id of an entry, whether or not the entry still exists.
/// Both are needed because several entries can have the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Position<Id = UserId> {
    /// Score of the entry: in a list of users, the time at which the user entered the list.
    pub at: Timestamp,
    /// Member of the entry: what the list contains.
    pub id: Id,
}

/// What a list ordered by time contains. Determines the order of the entries of the same time.
pub trait Member: Copy + Eq {
    /// Compares two members of a list that have the same time, in list order.
    #[must_use]
    fn in_member_order(&self, other: &Self) -> Ordering;
}

/// Lists of posts are in descending order of id.
impl Member for PostId {
    fn in_member_order(&self, other: &Self) -> Ordering {
        self.in_list_order(other)
    }
}

macro_rules! members_of_sorted_sets {
    ($($id:ty),+) => { $(
        /// A list in a sorted set is in descending byte order of the printed id.
        ///
        /// # Why bytes
        /// Redis orders members of equal score by their bytes (`10` is less than `9`).
        impl Member for $id {
            fn in_member_order(&self, other: &Self) -> Ordering {
                if self == other {
                    return Ordering::Equal;
                }
                other.to_string().cmp(&self.to_string())
            }
        }
    )+ };
}
members_of_sorted_sets!(UserId, SessionId, InviteCode);

impl<Id: Member> InListOrder for Position<Id> {
    /// Compares newest first, then in the order of the members.
    fn in_list_order(&self, other: &Self) -> Ordering {
        other.at.cmp(&self.at).then_with(|| self.id.in_member_order(&other.id))
    }
}

/// A position with a closest position on either side, whether or not the list has an entry there.
pub trait Stepwise: InListOrder {
    /// Returns the position just before this one.
    #[must_use]
    fn before(self) -> Self;

    /// Returns the position just after this one; `None` for the end of every list.
    #[must_use]
    fn after(self) -> Option<Self>;
}

impl Stepwise for PostId {
    fn before(self) -> Self {
        Self::new(self.get().saturating_add(1)).unwrap_or(self)
    }

    fn after(self) -> Option<Self> {
        Self::new(self.get() - 1)
    }
}

impl Stepwise for Position<PostId> {
    fn before(self) -> Self {
        Self { id: self.id.before(), ..self }
    }

    fn after(self) -> Option<Self> {
        let after_last = || Self { at: self.at.minus(Duration::from_millis(1)), id: PostId::GREATEST };
        Some(self.id.after().map_or_else(after_last, |id| Self { id, ..self }))
    }
}

impl From<Follow> for Position {
    fn from(follow: Follow) -> Self {
        Self { at: follow.at, id: follow.user }
    }
}

/// The direction in which a window extends from its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// The entries after the position; without a position, the first entries of the list.
    Forward,
    /// The entries before the position; without a position, the last entries of the list.
    Backward,
}

impl Direction {
    /// Returns the name of the direction, as used in Lua scripts.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Backward => "backward",
        }
    }

    /// Returns the other direction.
    #[must_use]
    pub fn opposite(self) -> Self {
        match self {
            Self::Forward => Self::Backward,
            Self::Backward => Self::Forward,
        }
    }

    /// Returns true if `one` comes before `other` in this direction.
    #[must_use]
    pub fn is_before<P: InListOrder>(self, one: P, other: P) -> bool {
        match self {
            Self::Forward => one.in_list_order(&other).is_lt(),
            Self::Backward => one.in_list_order(&other).is_gt(),
        }
    }
}

/// A requested page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Window<P> {
    /// Direction from the start position.
    pub direction: Direction,
    /// Maximum number of entries. Zero requests only the page's flags.
    pub size: usize,
    /// Start position, exclusive: the page does not contain its entry. `None` to start at an end of the list.
    pub from: Option<P>,
}

impl<P: Stepwise> Window<P> {
    /// Returns a window of one entry on the other side of the window's position, including the entry at the position;
    /// `None` if the window has no position. One entry is enough to show that there are any.
    #[must_use]
    pub fn behind(&self) -> Option<Self> {
        let from = self.from?;
        Some(match self.direction {
            Direction::Forward => Self { direction: Direction::Backward, size: 1, from: from.after() },
            Direction::Backward => Self { direction: Direction::Forward, size: 1, from: Some(from.before()) },
        })
    }
}

/// A page of results, in list order regardless of the direction. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<E> {
    /// Entries, in list order.
    pub entries: Arc<[E]>,
    /// True if the list has entries before this page.
    pub has_previous: bool,
    /// True if the list has entries after this page.
    pub has_next: bool,
}

impl<E: Clone> Page<E> {
    /// Creates a page from the entries beyond the window's position, in the order in which the window extends, of which
    /// one more than its size was requested. `has_behind` states if there are entries on the other side.
    #[must_use]
    pub fn beyond<P>(window: &Window<P>, mut entries: Vec<E>, has_behind: bool) -> Self {
        let has_more = entries.len() > window.size;
        entries.truncate(window.size);
        let (has_previous, has_next) = match window.direction {
            Direction::Forward => (has_behind, has_more),
            Direction::Backward => (has_more, has_behind),
        };
        if window.direction == Direction::Backward {
            entries.reverse();
        }
        Self { entries: entries.into(), has_previous, has_next }
    }
}

impl<E: Copy> Page<E> {
    /// Returns the requested page of a complete list, given in list order.
    #[must_use]
    pub fn of<P: InListOrder + From<E>>(list: &[E], window: &Window<P>) -> Self {
        let precedes = |entry: &E, place: &P, upto| P::from(*entry).in_list_order(place) <= upto;
        let (start, end) = match (window.direction, window.from) {
            (Direction::Forward, None) => (0, window.size),
            (Direction::Forward, Some(from)) => {
                let start = list.partition_point(|entry| precedes(entry, &from, Ordering::Equal));
                (start, start.saturating_add(window.size))
            }
            (Direction::Backward, None) => (list.len().saturating_sub(window.size), list.len()),
            (Direction::Backward, Some(from)) => {
                let end = list.partition_point(|entry| precedes(entry, &from, Ordering::Less));
                (end.saturating_sub(window.size), end)
            }
        };
        let end = end.min(list.len());
        Self { entries: list[start..end].into(), has_previous: start > 0, has_next: end < list.len() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn follow(user: u64, at: i64) -> Follow {
        Follow { user: UserId::new(user).unwrap(), at: Timestamp::from_millis(at) }
    }

    /// Newest first, and 9 before 10 on ties, as in Redis.
    fn list() -> Vec<Follow> {
        vec![follow(3, 9), follow(9, 5), follow(10, 5), follow(1, 5), follow(7, 1)]
    }

    fn page(direction: Direction, size: usize, from: Option<Follow>) -> (Vec<u64>, bool, bool) {
        let window = Window { direction, size, from: from.map(Position::from) };
        let page = Page::of(&list(), &window);
        (page.entries.iter().map(|follow| follow.user.get()).collect(), page.has_previous, page.has_next)
    }

    #[test]
    fn the_list_is_in_list_order() {
        let mut sorted = list();
        sorted.reverse();
        sorted.sort_by(|a, b| Position::from(*a).in_list_order(&Position::from(*b)));
        assert_eq!(sorted, list());
    }

    #[test]
    fn pages_follow_ties_and_know_their_neighbours() {
        use Direction::{Backward, Forward};
        assert_eq!(page(Forward, 2, None), (vec![3, 9], false, true));
        assert_eq!(page(Forward, 2, Some(follow(9, 5))), (vec![10, 1], true, true));
        assert_eq!(page(Forward, 9, Some(follow(1, 5))), (vec![7], true, false));
        assert_eq!(page(Backward, 2, None), (vec![1, 7], true, false));
        assert_eq!(page(Backward, 2, Some(follow(1, 5))), (vec![9, 10], true, true));
        assert_eq!(page(Backward, 9, Some(follow(9, 5))), (vec![3], false, true));
        assert_eq!(page(Forward, 0, Some(follow(3, 9))), (vec![], true, true));
        assert_eq!(page(Backward, 0, None), (vec![], true, false));
    }

    #[test]
    fn a_position_whose_entry_has_gone_keeps_its_place() {
        use Direction::{Backward, Forward};
        assert_eq!(page(Forward, 1, Some(follow(95, 5))), (vec![9], true, true));
        assert_eq!(page(Backward, 1, Some(follow(95, 5))), (vec![3], false, true));
        assert_eq!(page(Forward, 1, Some(follow(7, 0))), (vec![], true, false));
        assert_eq!(page(Backward, 1, Some(follow(7, 10))), (vec![], false, true));
    }
}
