//! Likes: users who like a post, in the order of its list.
//!
//! A post's likes are numbered in the order in which they were made. Redis knows the numbers of the newest 128 only,
//! and all other likes come after these, in the order of the hashes by which they are stored. The archive keeps that
//! order, so that a cursor stays valid when the post is archived.

use std::cmp::Ordering;

use crate::model::id::UserId;
use crate::model::page::{Direction, InListOrder, Stepwise};

/// Number of digits of a hash, in base 4.
const DIGITS: u32 = 16;

/// A like of a post: an entry of the list of its likes, and a position in it. The list is in descending order of
/// number, and then in ascending order of user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Like {
    /// The position of the like among all likes that the post ever had, from 1. A negative number if it is not known:
    /// see [`Like::unnumbered`]. Part of the stored format.
    pub number: i64,
    /// The user who likes the post.
    pub member: UserId,
}

impl Like {
    /// Returns a like whose number is not known, given the hash that determines the member's path in a tree of shards.
    /// Such likes are in the order of their *places*: the digits of the hash in base 4 in the opposite order, so that
    /// the first digit of the path comes first. The likes in a subtree thus follow each other.
    #[must_use]
    pub fn unnumbered(member: UserId, hash: u32) -> Self {
        Self { number: number_of_place(reversed(hash)), member }
    }

    /// Returns the place of a like whose number is not known; `None` if its number is known.
    #[must_use]
    pub fn place(&self) -> Option<u32> {
        u32::try_from(-1 - self.number).ok()
    }

    /// Returns the position before all likes at this place. (The first user has another place than any at which a
    /// subtree begins.)
    #[must_use]
    pub fn before_place(place: u32) -> Self {
        Self { number: number_of_place(place), member: UserId::LEAST }
    }

    /// Returns a position at which a part can end in this direction, if it has `last`, and not `next`, which follows
    /// it: the roundest number between theirs, which tells little of them.
    #[must_use]
    pub fn end_between(last: Self, next: Self, direction: Direction) -> Self {
        let (earlier, later) = match direction {
            Direction::Forward => (last, next),
            Direction::Backward => (next, last),
        };
        if earlier.number > later.number {
            return Self { number: roundest(later.number, earlier.number), member: UserId::MAX };
        }
        let member = roundest(earlier.member.get().cast_signed(), later.member.get().cast_signed());
        // The position may be that of `last`, but not that of `next`.
        let member = if direction == Direction::Forward { member - 1 } else { member };
        Self { member: UserId::new(member.cast_unsigned()).unwrap_or(last.member), ..last }
    }

    /// Returns the position after all likes at this place.
    #[must_use]
    pub fn after_place(place: u32) -> Self {
        Self { number: number_of_place(place), member: UserId::MAX }
    }
}

impl InListOrder for Like {
    fn in_list_order(&self, other: &Self) -> Ordering {
        other.number.cmp(&self.number).then(self.member.cmp(&other.member))
    }
}

/// Returns the number in this range, without its start, whose binary digits end with the most zeros.
fn roundest(after: i64, upto: i64) -> i64 {
    let differing = (after ^ upto).cast_unsigned().checked_ilog2().unwrap_or(0);
    upto >> differing << differing
}

fn number_of_place(place: u32) -> i64 {
    -1 - i64::from(place)
}

impl Stepwise for Like {
    fn before(self) -> Self {
        match UserId::new(self.member.get() - 1) {
            Some(member) => Self { member, ..self },
            None => Self { number: self.number.saturating_add(1), member: UserId::MAX },
        }
    }

    fn after(self) -> Option<Self> {
        let next = || Some(Self { number: self.number.checked_sub(1)?, member: UserId::LEAST });
        UserId::new(self.member.get().wrapping_add(1))
            .map_or_else(next, |member| Some(Self { member, ..self }))
    }
}

/// Returns a hash, or a place, with its digits in base 4 in the opposite order.
#[must_use]
pub fn reversed(hash: u32) -> u32 {
    (0..DIGITS).fold(0, |reversed, digit| (reversed << 2) | ((hash >> (2 * digit)) & 3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(id: u64) -> UserId {
        UserId::new(id).unwrap()
    }

    #[test]
    fn the_order_of_likes_is_part_of_the_stored_data() {
        assert_eq!(reversed(0b_11_10_01), 0b_01_10_11 << 26);
        assert_eq!(Like::unnumbered(user(7), 1), Like { number: -1 - (1 << 30), member: user(7) });
        let list = [
            Like { number: 9, member: user(1) },
            Like { number: 2, member: user(5) },
            Like::unnumbered(user(3), 0),
            Like::unnumbered(user(4), 0),
            Like::unnumbered(user(2), 0b_01_00),
            Like::unnumbered(user(6), 0b_01),
            Like::unnumbered(user(8), u32::MAX),
        ];
        assert!(list.is_sorted_by(|one, next| one.in_list_order(next).is_lt()));
        let places = list.map(|like| like.place().map(reversed));
        assert_eq!(places, [None, None, Some(0), Some(0), Some(0b_01_00), Some(1), Some(u32::MAX)]);
    }

    #[test]
    fn a_part_ends_between_its_last_like_and_the_next() {
        let like = |number, member| Like { number, member: user(member) };
        let ends = |one: Like, other| {
            let [forward, backward] = [
                Like::end_between(one, other, Direction::Forward),
                Like::end_between(other, one, Direction::Backward),
            ];
            assert!(one.in_list_order(&forward).is_le() && forward.in_list_order(&other).is_lt());
            assert!(one.in_list_order(&backward).is_lt() && backward.in_list_order(&other).is_le());
            forward.number
        };
        assert_eq!(ends(like(9, 1), like(3, 2)), 8);
        assert_eq!(ends(like(4, 1), like(3, 2)), 4);
        assert_eq!(ends(like(7, 1), like(-7, 2)), 0);
        assert_eq!(ends(like(-5, 1), like(-12, 2)), -8);
        assert_eq!(ends(like(-1_000_000, 1), like(-1_000_001, 2)), -1_000_000);
        assert_eq!(ends(like(-3, 1), like(-3, 2)), -3);
        assert_eq!(ends(like(-3, 5), like(-3, 90)), -3);
    }

    #[test]
    fn a_place_has_ends() {
        let (before, like, after) =
            (Like::before_place(0), Like::unnumbered(user(3), 0), Like::after_place(0));
        assert!(before.in_list_order(&like).is_lt() && like.in_list_order(&after).is_lt());
        assert!(after.in_list_order(&Like::before_place(1)).is_lt());
    }
}
