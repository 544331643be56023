//! Cursors: places in lists, opaque to clients, good for one list of one owner.
//!
//! A cursor is base64url of: format (1), list (1 byte), owner, time, user (8 bytes each). Lists are
//! scored by time and times tie, so a place is a time and a user.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::app::error::Error;
use crate::model::clock::Timestamp;
use crate::model::id::UserId;
use crate::model::page::Position;
use crate::model::relation::ListKind;

const FORMAT: u8 = 1;
const BYTES: usize = 2 + 3 * 8;

/// The list that a cursor belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct List {
    pub(super) kind: ListKind,
    pub(super) owner: UserId,
}

impl List {
    fn code(self) -> u8 {
        match self.kind {
            ListKind::Followers => 1,
            ListKind::Following => 2,
            ListKind::Mutuals => 3,
            ListKind::KnownFollowers => 4,
        }
    }
}

/// The cursor of a place in a list.
pub(super) fn print(list: List, position: Position) -> String {
    let mut bytes = [0; BYTES];
    bytes[0] = FORMAT;
    bytes[1] = list.code();
    bytes[2..10].copy_from_slice(&list.owner.get().to_be_bytes());
    bytes[10..18].copy_from_slice(&position.at.as_millis().to_be_bytes());
    bytes[18..26].copy_from_slice(&position.user.get().to_be_bytes());
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The place that the cursor in an argument names in this list.
pub(super) fn parse(argument: &str, list: List, cursor: &str) -> Result<Position, Error> {
    let invalid = |why| Err(Error::Invalid(format!("`{argument}` {why}.")));
    let Some((code, owner, position)) = read(cursor) else {
        return invalid("is not a cursor that this server has given");
    };
    if code != list.code() {
        return invalid("is a cursor of another list");
    }
    if owner != list.owner {
        return invalid("is a cursor of another user's list");
    }
    Ok(position)
}

fn read(cursor: &str) -> Option<(u8, UserId, Position)> {
    let mut bytes = [0; BYTES];
    let length = URL_SAFE_NO_PAD.decode_slice(cursor, &mut bytes).ok()?;
    let number = |at: usize| Some(u64::from_be_bytes(*bytes[at..].first_chunk()?));
    if length != BYTES || bytes[0] != FORMAT || !(1..=4).contains(&bytes[1]) {
        return None;
    }
    let at = Timestamp::from_millis(number(10)?.cast_signed());
    let position = Position { at, user: UserId::new(number(18)?)? };
    Some((bytes[1], UserId::new(number(2)?)?, position))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(kind: ListKind, owner: u64) -> List {
        List { kind, owner: UserId::new(owner).unwrap() }
    }

    #[test]
    fn a_cursor_is_good_for_its_own_list_only() {
        let position = Position { at: Timestamp::from_millis(-5), user: UserId::new(9).unwrap() };
        let mine = list(ListKind::Followers, 7);
        let cursor = print(mine, position);
        assert_eq!(parse("after", mine, &cursor).unwrap(), position);
        let why = |list| parse("after", list, &cursor).unwrap_err().to_string();
        assert_eq!(why(list(ListKind::Following, 7)), "`after` is a cursor of another list.");
        assert_eq!(why(list(ListKind::Followers, 8)), "`after` is a cursor of another user's list.");
    }

    #[test]
    fn garbage_is_no_cursor() {
        let position = Position { at: Timestamp::from_millis(5), user: UserId::new(9).unwrap() };
        let mine = list(ListKind::Followers, 7);
        let cursor = print(mine, position);
        let zero = URL_SAFE_NO_PAD.encode([0; BYTES]);
        for text in ["", "x", &cursor[1..], &format!("{cursor}AAAA"), &format!("{cursor}="), &zero, "😀"] {
            assert!(parse("after", mine, text).is_err(), "{text:?}");
        }
    }
}
