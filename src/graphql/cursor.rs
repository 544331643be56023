//! Cursors: places in lists, opaque to clients, good for one list of one owner.
//!
//! A cursor is base64url of: format (1), list (1 byte), owner (8 bytes) and the place. Lists of users are
//! scored by time and times tie, so a place there is a time and a user (8 bytes each); in a list of
//! posts it is a post (8 bytes).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::app::error::Error;
use crate::model::clock::Timestamp;
use crate::model::id::{PostId, UserId};
use crate::model::page::Position;
use crate::model::relation::ListKind;

const FORMAT: u8 = 1;
/// The bytes before the place.
const HEAD: usize = 10;
/// The codes that lists have.
const CODES: std::ops::RangeInclusive<u8> = 1..=6;

/// A list that has cursors.
pub(super) trait List: Copy {
    /// A place in it.
    type Place;

    /// Which list it is; part of the format.
    fn code(self) -> u8;
    /// Whose it is.
    fn owner(self) -> UserId;
    fn print_place(place: &Self::Place) -> Vec<u8>;
    fn parse_place(bytes: &[u8]) -> Option<Self::Place>;
}

/// A list of users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FollowList {
    pub(super) kind: ListKind,
    pub(super) owner: UserId,
}

impl List for FollowList {
    type Place = Position;

    fn code(self) -> u8 {
        match self.kind {
            ListKind::Followers => 1,
            ListKind::Following => 2,
            ListKind::Mutuals => 3,
            ListKind::KnownFollowers => 4,
        }
    }

    fn owner(self) -> UserId {
        self.owner
    }

    fn print_place(place: &Position) -> Vec<u8> {
        [place.at.as_millis().to_be_bytes(), place.user.get().to_be_bytes()].concat()
    }

    fn parse_place(bytes: &[u8]) -> Option<Position> {
        let (at, user) = bytes.split_first_chunk()?;
        let user = u64::from_be_bytes(user.try_into().ok()?);
        let at = Timestamp::from_millis(i64::from_be_bytes(*at));
        Some(Position { at, user: UserId::new(user)? })
    }
}

/// A list of posts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PostList {
    pub(super) kind: PostListKind,
    pub(super) owner: UserId,
}

/// The lists of posts that a user has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PostListKind {
    /// What the owner has posted.
    Posts,
    /// The owner's home timeline.
    Timeline,
}

impl List for PostList {
    type Place = PostId;

    fn code(self) -> u8 {
        match self.kind {
            PostListKind::Posts => 5,
            PostListKind::Timeline => 6,
        }
    }

    fn owner(self) -> UserId {
        self.owner
    }

    fn print_place(place: &PostId) -> Vec<u8> {
        place.get().to_be_bytes().to_vec()
    }

    fn parse_place(bytes: &[u8]) -> Option<PostId> {
        let number = u64::from_be_bytes(bytes.try_into().ok()?);
        PostId::new(number).filter(|post| *post <= PostId::GREATEST)
    }
}

/// The cursor of a place in a list.
pub(super) fn print<L: List>(list: L, place: &L::Place) -> String {
    let mut bytes = vec![FORMAT, list.code()];
    bytes.extend(list.owner().get().to_be_bytes());
    bytes.extend(L::print_place(place));
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The code of the list that a field pages; `None` if it pages none.
pub(super) fn code_of(object: &str, field: &str) -> Option<u8> {
    Some(match (object, field) {
        ("User", "followers") => 1,
        ("User", "following") => 2,
        ("User", "mutuals") => 3,
        ("User", "knownFollowers") => 4,
        ("User", "posts") => 5,
        ("Viewer", "timeline") => 6,
        _ => return None,
    })
}

/// Checks that the cursor in an argument is one, and of a list with this code, whoever's it is.
pub(super) fn check(argument: &str, code: Option<u8>, cursor: &str) -> Result<(), Error> {
    let Some(code) = code else { return Ok(()) };
    match read(cursor) {
        Some((other, ..)) if other != code => {
            Err(Error::Invalid(format!("`{argument}` is a cursor of another list.")))
        }
        Some(_) => Ok(()),
        None => Err(Error::Invalid(format!("`{argument}` is not a cursor that this server has given."))),
    }
}

/// The place that the cursor in an argument names in this list.
pub(super) fn parse<L: List>(argument: &str, list: L, cursor: &str) -> Result<L::Place, Error> {
    let invalid = |why| Err(Error::Invalid(format!("`{argument}` {why}.")));
    let garbage = "is not a cursor that this server has given";
    let Some((code, owner, place)) = read(cursor) else {
        return invalid(garbage);
    };
    if code != list.code() {
        return invalid("is a cursor of another list");
    }
    if owner != list.owner() {
        return invalid("is a cursor of another user's list");
    }
    L::parse_place(&place).map_or_else(|| invalid(garbage), Ok)
}

/// Which list it belongs to, whose, and the place.
fn read(cursor: &str) -> Option<(u8, UserId, Vec<u8>)> {
    let bytes = URL_SAFE_NO_PAD.decode(cursor).ok()?;
    let (head, place) = bytes.split_at_checked(HEAD)?;
    let (&[format, code], owner) = head.split_first_chunk()?;
    if format != FORMAT || !CODES.contains(&code) {
        return None;
    }
    Some((code, UserId::new(u64::from_be_bytes(owner.try_into().ok()?))?, place.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(kind: ListKind, owner: u64) -> FollowList {
        FollowList { kind, owner: UserId::new(owner).unwrap() }
    }

    #[test]
    fn a_cursor_is_good_for_its_own_list_only() {
        let position = Position { at: Timestamp::from_millis(-5), user: UserId::new(9).unwrap() };
        let mine = list(ListKind::Followers, 7);
        let cursor = print(mine, &position);
        assert_eq!(parse("after", mine, &cursor).unwrap(), position);
        let why = |list| parse("after", list, &cursor).unwrap_err().to_string();
        assert_eq!(why(list(ListKind::Following, 7)), "`after` is a cursor of another list.");
        assert_eq!(why(list(ListKind::Followers, 8)), "`after` is a cursor of another user's list.");
    }

    #[test]
    fn a_cursor_of_posts_is_a_post() {
        let owner = UserId::new(7).unwrap();
        let list = |kind| PostList { kind, owner };
        let post = PostId::new(9).unwrap();
        let cursor = print(list(PostListKind::Posts), &post);
        assert_eq!(parse("after", list(PostListKind::Posts), &cursor).unwrap(), post);
        let why = parse("after", list(PostListKind::Timeline), &cursor).unwrap_err().to_string();
        assert_eq!(why, "`after` is a cursor of another list.");
        // The head of one list with the place of another.
        let mut bytes = URL_SAFE_NO_PAD.decode(&cursor).unwrap();
        bytes.extend([0; 8]);
        assert!(parse("after", list(PostListKind::Posts), &URL_SAFE_NO_PAD.encode(bytes)).is_err());
    }

    #[test]
    fn garbage_is_no_cursor() {
        let position = Position { at: Timestamp::from_millis(5), user: UserId::new(9).unwrap() };
        let mine = list(ListKind::Followers, 7);
        let cursor = print(mine, &position);
        let zero = URL_SAFE_NO_PAD.encode([0; 26]);
        for text in ["", "x", &cursor[1..], &format!("{cursor}AAAA"), &format!("{cursor}="), &zero, "😀"] {
            assert!(parse("after", mine, text).is_err(), "{text:?}");
        }
    }
}
