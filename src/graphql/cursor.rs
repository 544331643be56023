//! Cursors: positions in lists, opaque to clients, valid for one list of one owner.
//!
//! A cursor is the base64url encoding of a format version (1 byte), the code of a list (1 byte, `lists!`), the id of
//! its owner (8 bytes), a user or a post, and a position ([`Encoded`]). A list that only moderators see is owned by the
//! moderator.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::app::account::export::position::ExportPosition;
use crate::app::error::Error;
use crate::app::timeline::seen::Seen;
use crate::app::visibility::list::OwnList;
use crate::model::attachment::ReferrerKind;
use crate::model::clock::Timestamp;
use crate::model::id::{PostId, ReportId, UserId};
use crate::model::invite::InviteCode;
use crate::model::like::Like;
use crate::model::mark::Mark;
use crate::model::moderation::LogId;
use crate::model::page::Position;
use crate::model::reaction::ReactionKind;
use crate::model::relation::ListKind;
use crate::model::session::SessionId;

const FORMAT: u8 = 1;
/// Number of bytes before the position.
const HEAD: usize = 10;

/// Declares the lists with cursors: the types of their kinds, with what owns them and what a position in them is; and
/// for each kind its code, and the fields of the schema that issue and accept its cursors. A type with a description is
/// new: it has one kind. Codes are part of the format: they stay with their lists.
macro_rules! lists {
    ($($($description:literal)? $kind:ident, of $owner:ty, at $position:ty {
        $($code:literal = $pattern:pat, [$(($object:literal, $field:literal)),*];)*
    })*) => {
        $($(
            #[doc = $description]
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub(super) struct $kind;
        )?

        impl Kind for $kind {
            type Owner = $owner;
            type Position = $position;

            fn code(self) -> Code {
                Code(match self {
                    $($pattern => $code,)*
                })
            }
        })*

        impl Code {
            fn of(number: u8) -> Option<Self> {
                match number {
                    $($($code => Some(Self($code)),)*)*
                    _ => None,
                }
            }

            /// Returns the code of the list whose cursors a field accepts; `None` if the field accepts no cursors.
            pub(super) fn of_field(object: &str, field: &str) -> Option<Self> {
                match (object, field) {
                    $($($(($object, $field) => Some(Self($code)),)*)*)*
                    _ => None,
                }
            }

            /// Returns true if these bytes encode a position in a list with this code.
            fn is_position(self, bytes: &[u8]) -> bool {
                match self.0 {
                    $($($code => <$position>::parse(bytes).is_some(),)*)*
                    _ => false,
                }
            }
        }
    };
}

lists! {
    ListKind, of UserId, at Position {
        1 = Self::Followers, [("User", "followers")];
        2 = Self::Following, [("User", "following")];
        3 = Self::Mutuals, [("User", "mutuals")];
        4 = Self::KnownFollowers, [("User", "knownFollowers")];
    }
    "A user's posts." Posts, of UserId, at PostId {
        5 = Self, [("User", "posts")];
    }
    "A user's home timeline." Timeline, of UserId, at TimelinePosition {
        6 = Self, [("Viewer", "timeline"), ("Subscription", "timeline")];
    }
    OwnList, of UserId, at Position {
        7 = Self::Muted, [("Viewer", "muted")];
        8 = Self::Blocked, [("Viewer", "blocked")];
        9 = Self::Requests, [("Viewer", "followRequests")];
        10 = Self::SentRequests, [("Viewer", "sentFollowRequests")];
    }
    "A moderator's list of accounts." Accounts, of UserId, at Position {
        11 = Self, [("Moderation", "accounts")];
    }
    "A moderator's queue of reports." Reports, of UserId, at ReportId {
        12 = Self, [("Moderation", "reports")];
    }
    "A moderator's log of what moderators did." Log, of UserId, at LogId {
        13 = Self, [("Moderation", "log")];
    }
    "A moderator's list of invites." Invites, of UserId, at Position<InviteCode> {
        14 = Self, [("Moderation", "invites")];
    }
    "An export of a user's data." Export, of UserId, at ExportPosition {
        15 = Self, [];
    }
    ReferrerKind, of PostId, at PostId {
        16 = Self::Reply, [("Post", "replies")];
        17 = Self::Quote, [("Post", "quotes")];
        18 = Self::Repost, [("Post", "repostedBy")];
    }
    ReactionKind, of UserId, at Position<PostId> {
        19 = Self::Bookmark, [("Viewer", "bookmarks")];
        21 = Self::Like, [("Viewer", "likes")];
    }
    "The users who like a post." Likes, of PostId, at Like {
        20 = Self, [("Post", "likedBy")];
    }
}

/// A kind of lists with cursors.
pub(super) trait Kind: Copy {
    /// What owns such a list.
    type Owner: Owner;
    /// A position in such a list.
    type Position: Encoded;

    fn code(self) -> Code;
}

/// The code of a list, which is part of the cursor format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Code(u8);

/// What owns a list.
pub(super) trait Owner: Copy {
    /// What errors call it.
    const NOUN: &'static str;

    fn number(self) -> u64;
}

impl Owner for UserId {
    const NOUN: &'static str = "user";

    fn number(self) -> u64 {
        self.get()
    }
}

impl Owner for PostId {
    const NOUN: &'static str = "post";

    fn number(self) -> u64 {
        self.get()
    }
}

/// A list of one owner, as a list with cursors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ListOf<K: Kind> {
    pub(super) kind: K,
    pub(super) owner: K::Owner,
}

/// A position in a home timeline, with the posts that a client at this position has seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TimelinePosition {
    pub(super) post: PostId,
    pub(super) seen: Seen,
}

impl TimelinePosition {
    /// Returns the position above all posts that a client has seen.
    pub(super) fn below(seen: Seen) -> Self {
        Self { post: seen.newest().last().unwrap_or(PostId::LEAST), seen }
    }
}

/// A position in a list, as a cursor encodes it.
pub(super) trait Encoded: Sized {
    fn print(&self, bytes: &mut Vec<u8>);
    fn parse(bytes: &[u8]) -> Option<Self>;
}

/// A time of 8 bytes, and the id.
impl<Id: Encoded> Encoded for Position<Id> {
    fn print(&self, bytes: &mut Vec<u8>) {
        print_time(self.at, bytes);
        self.id.print(bytes);
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let (at, id) = parse_time(bytes)?;
        Some(Self { at, id: Id::parse(id)? })
    }
}

/// Declares ids that are encoded as numbers of 8 bytes.
macro_rules! numbers {
    ($($id:ty, |$number:ident| $parsed:expr;)*) => {
        $(impl Encoded for $id {
            fn print(&self, bytes: &mut Vec<u8>) {
                bytes.extend(self.get().to_be_bytes());
            }

            fn parse(bytes: &[u8]) -> Option<Self> {
                let $number = parse_number(bytes)?;
                $parsed
            }
        })*
    };
}

numbers! {
    UserId, |number| Self::new(number);
    PostId, |number| parse_post(number);
    ReportId, |number| Self::new(number);
}

/// Declares ids that are encoded as their text.
macro_rules! texts {
    ($($id:ty;)*) => {
        $(impl Encoded for $id {
            fn print(&self, bytes: &mut Vec<u8>) {
                bytes.extend(self.to_string().as_bytes());
            }

            fn parse(bytes: &[u8]) -> Option<Self> {
                Self::parse(std::str::from_utf8(bytes).ok()?)
            }
        })*
    };
}

texts! {
    InviteCode;
    SessionId;
}

/// A time and a number, of 8 bytes each.
impl Encoded for LogId {
    fn print(&self, bytes: &mut Vec<u8>) {
        print_time(self.at, bytes);
        bytes.extend(self.number.to_be_bytes());
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let (at, number) = parse_time(bytes)?;
        Some(Self { at, number: parse_number(number)? }).filter(|id| id.at.as_millis() >= 0)
    }
}

/// Two numbers, of 8 bytes each.
impl Encoded for Like {
    fn print(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.number.to_be_bytes());
        self.member.print(bytes);
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let (number, member) = bytes.split_first_chunk()?;
        Some(Self { number: i64::from_be_bytes(*number), member: UserId::parse(member)? })
    }
}

/// The post's id, of 8 bytes; then, as variable-length integers, the id up to which the client has seen all posts, the
/// time up to which it has seen all removals, and the ids of the other posts seen, delta-encoded. They allow a
/// subscription to resume after the cursor.
impl Encoded for TimelinePosition {
    fn print(&self, bytes: &mut Vec<u8>) {
        let Self { post, seen } = self;
        post.print(bytes);
        number::print(bytes, seen.upto.get());
        let removed = seen.removed.map_or(0, |at| u64::try_from(at.as_millis()).unwrap_or(0));
        number::print(bytes, removed);
        let mut before = seen.upto.get();
        for post in &seen.beyond {
            number::print(bytes, post.get() - before);
            before = post.get();
        }
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let (post, mut rest) = bytes.split_at_checked(size_of::<PostId>())?;
        let post = PostId::parse(post)?;
        let upto = number::parse(&mut rest)?;
        let removed = i64::try_from(number::parse(&mut rest)?).ok()?;
        let removed = (removed > 0).then(|| Timestamp::from_millis(removed));
        let mut beyond = Vec::new();
        let mut before = upto;
        while !rest.is_empty() {
            let next = before.checked_add(number::parse(&mut rest)?)?;
            beyond.push(parse_post(next).filter(|_| next > before)?);
            before = next;
        }
        let is_known = upto <= PostId::GREATEST.get();
        is_known.then_some(Self { post, seen: Seen { upto: Mark::new(upto), beyond, removed } })
    }
}

fn print_time(at: Timestamp, bytes: &mut Vec<u8>) {
    bytes.extend(at.as_millis().to_be_bytes());
}

/// Returns the time at the front of the bytes, and the rest.
fn parse_time(bytes: &[u8]) -> Option<(Timestamp, &[u8])> {
    let (at, rest) = bytes.split_first_chunk()?;
    Some((Timestamp::from_millis(i64::from_be_bytes(*at)), rest))
}

fn parse_number(bytes: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(bytes.try_into().ok()?))
}

fn parse_post(number: u64) -> Option<PostId> {
    PostId::new(number).filter(|post| *post <= PostId::GREATEST)
}

/// Variable-length integers (LEB128): seven bits per byte, least significant first, with the high bit set in all bytes
/// but the last.
mod number {
    pub(super) fn print(bytes: &mut Vec<u8>, mut number: u64) {
        while number > 0x7f {
            bytes.push(0x80 | u8::try_from(number & 0x7f).unwrap_or(0));
            number >>= 7;
        }
        bytes.push(u8::try_from(number).unwrap_or(0));
    }

    /// Removes a number from the front of the bytes. Returns `None` if the bytes do not begin with a number in its
    /// shortest encoding.
    pub(super) fn parse(bytes: &mut &[u8]) -> Option<u64> {
        let mut number = 0_u64;
        for place in 0..10 {
            let (byte, rest) = bytes.split_first()?;
            *bytes = rest;
            let bits = u64::from(byte & 0x7f);
            number |= bits.checked_shl(7 * place).filter(|shifted| shifted >> (7 * place) == bits)?;
            if byte & 0x80 == 0 {
                return (*byte > 0 || place == 0).then_some(number);
            }
        }
        None
    }
}

/// Encodes a position in a list as a cursor.
pub(super) fn print<K: Kind>(list: ListOf<K>, position: &K::Position) -> String {
    let mut bytes = vec![FORMAT, list.kind.code().0];
    bytes.extend(list.owner.number().to_be_bytes());
    position.print(&mut bytes);
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Checks that an argument is a cursor of a list with this code. Does not check the owner.
pub(super) fn check(argument: &str, code: Option<Code>, cursor: &str) -> Result<(), Error> {
    let Some(code) = code else { return Ok(()) };
    match read(cursor) {
        Some((other, ..)) if other != code => {
            Err(Error::Invalid(format!("`{argument}` is a cursor of another list.")))
        }
        Some((_, _, position)) if code.is_position(&position) => Ok(()),
        Some(_) | None => Err(Error::Invalid(format!("`{argument}` is not a cursor issued by this server."))),
    }
}

/// Parses the cursor in an argument as a position in this list.
pub(super) fn parse<K: Kind>(argument: &str, list: ListOf<K>, cursor: &str) -> Result<K::Position, Error> {
    check(argument, Some(list.kind.code()), cursor)?;
    let own = read(cursor).filter(|(_, owner, _)| *owner == list.owner.number());
    own.and_then(|(.., position)| K::Position::parse(&position)).ok_or_else(|| {
        Error::Invalid(format!("`{argument}` is a cursor of another {}'s list.", K::Owner::NOUN))
    })
}

/// Decodes a cursor into its list's code, the number of its owner, and its position.
fn read(cursor: &str) -> Option<(Code, u64, Vec<u8>)> {
    let bytes = URL_SAFE_NO_PAD.decode(cursor).ok()?;
    let (head, position) = bytes.split_at_checked(HEAD)?;
    let (&[format, code], owner) = head.split_first_chunk()?;
    let code = Code::of(code).filter(|_| format == FORMAT)?;
    let owner = u64::from_be_bytes(owner.try_into().ok()?);
    (owner > 0).then(|| (code, owner, position.to_vec()))
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use super::*;
    use crate::app::account::export::position::{Section, SectionPosition};

    fn of_user<K: Kind<Owner = UserId>>(kind: K, owner: u64) -> ListOf<K> {
        ListOf { kind, owner: UserId::new(owner).unwrap() }
    }

    fn of_post(kind: ReferrerKind, owner: u64) -> ListOf<ReferrerKind> {
        ListOf { kind, owner: post(owner) }
    }

    fn post(number: u64) -> PostId {
        PostId::new(number).unwrap()
    }

    fn user(millis: i64) -> Position {
        Position { at: Timestamp::from_millis(millis), id: UserId::new(9).unwrap() }
    }

    /// Asserts that a cursor is read as this position and printed so, and is none of other bytes. Returns its code.
    fn check_both<K: Kind>(cursor: &str, list: ListOf<K>, position: &K::Position) -> u8
    where
        K::Position: PartialEq + Debug,
    {
        assert_eq!(print(list, position), cursor);
        assert_eq!(parse("after", list, cursor).unwrap(), *position);
        check("after", Some(list.kind.code()), cursor).unwrap();
        for garbage in [&cursor[1..], &format!("{cursor}AAAA"), &format!("{cursor}="), "", "x", "😀"] {
            let is_longer = list.kind.code() == Timeline.code() && garbage.len() > cursor.len();
            assert!(is_longer || parse("after", list, garbage).is_err(), "{garbage:?}");
        }
        list.kind.code().0
    }

    #[test]
    fn cursors_that_were_issued_are_read() {
        let (at, position) = (Timestamp::from_millis(1_767_225_600_123), user(1_767_225_600_123));
        let removed = Some(Timestamp::from_millis(1_767_225_600_000));
        let seen = Seen { upto: Mark::new(127), beyond: vec![post(128), post(130)], removed };
        let invite = Position { at, id: InviteCode::parse("abcdefghjkmnpqrs").unwrap() };
        let session =
            SectionPosition::Session(Position { at, id: SessionId::parse("AAAAAAAAAAAAAAAA").unwrap() });
        let export = ExportPosition { section: Section::Sessions, after: Some(session) };
        let timeline = TimelinePosition { post: post(9), seen };
        let bookmark = Position { at, id: post(9) };
        let codes = [
            check_both("AQEAAAAAAAAABwAAAZt22qh7AAAAAAAAAAk", of_user(ListKind::Followers, 7), &position),
            check_both("AQIAAAAAAAAABwAAAZt22qh7AAAAAAAAAAk", of_user(ListKind::Following, 7), &position),
            check_both("AQMAAAAAAAAABwAAAZt22qh7AAAAAAAAAAk", of_user(ListKind::Mutuals, 7), &position),
            check_both(
                "AQQAAAAAAAAABwAAAZt22qh7AAAAAAAAAAk",
                of_user(ListKind::KnownFollowers, 7),
                &position,
            ),
            check_both("AQUAAAAAAAAABwAAAAAAAAAJ", of_user(Posts, 7), &post(9)),
            check_both("AQYAAAAAAAAABwAAAAAAAAAJf4DQ6ra3MwEC", of_user(Timeline, 7), &timeline),
            check_both("AQcAAAAAAAAABwAAAZt22qh7AAAAAAAAAAk", of_user(OwnList::Muted, 7), &position),
            check_both("AQgAAAAAAAAABwAAAZt22qh7AAAAAAAAAAk", of_user(OwnList::Blocked, 7), &position),
            check_both("AQkAAAAAAAAABwAAAZt22qh7AAAAAAAAAAk", of_user(OwnList::Requests, 7), &position),
            check_both("AQoAAAAAAAAABwAAAZt22qh7AAAAAAAAAAk", of_user(OwnList::SentRequests, 7), &position),
            check_both("AQsAAAAAAAAABwAAAZt22qh7AAAAAAAAAAk", of_user(Accounts, 7), &position),
            check_both("AQwAAAAAAAAABwAAAAAAAAAJ", of_user(Reports, 7), &ReportId::new(9).unwrap()),
            check_both("AQ0AAAAAAAAABwAAAZt22qh7AAAAAAAAAAM", of_user(Log, 7), &LogId { at, number: 3 }),
            check_both("AQ4AAAAAAAAABwAAAZt22qh7YWJjZGVmZ2hqa21ucHFycw", of_user(Invites, 7), &invite),
            check_both("AQ8AAAAAAAAABwEAAAGbdtqoe0FBQUFBQUFBQUFBQUFBQUE", of_user(Export, 7), &export),
            check_both("ARAAAAAAAAAABwAAAAAAAAAJ", of_post(ReferrerKind::Reply, 7), &post(9)),
            check_both("AREAAAAAAAAABwAAAAAAAAAJ", of_post(ReferrerKind::Quote, 7), &post(9)),
            check_both("ARIAAAAAAAAABwAAAAAAAAAJ", of_post(ReferrerKind::Repost, 7), &post(9)),
            check_both("ARMAAAAAAAAABwAAAZt22qh7AAAAAAAAAAk", of_user(ReactionKind::Bookmark, 7), &bookmark),
            check_both("ARUAAAAAAAAABwAAAZt22qh7AAAAAAAAAAk", of_user(ReactionKind::Like, 7), &bookmark),
            check_both(
                "ARQAAAAAAAAABwAAAAAAAAAJAAAAAAAAAAc",
                ListOf { kind: Likes, owner: post(7) },
                &Like { number: 9, member: UserId::new(7).unwrap() },
            ),
        ];
        let unknown = |code: &u8| Code::of(*code).is_some() != codes.contains(code);
        let unknown: Vec<u8> = (0..=u8::MAX).filter(unknown).collect();
        assert!(unknown.is_empty(), "record a cursor of each list: {unknown:?}");
    }

    #[test]
    fn a_cursor_is_valid_for_its_own_list_only() {
        let cursor = print(of_user(ListKind::Followers, 7), &user(5));
        let error = |list| parse("after", list, &cursor).unwrap_err().to_string();
        assert_eq!(error(of_user(ListKind::Following, 7)), "`after` is a cursor of another list.");
        assert_eq!(error(of_user(ListKind::Followers, 8)), "`after` is a cursor of another user's list.");
        let cursor = print(of_post(ReferrerKind::Reply, 7), &post(9));
        let error = parse("after", of_post(ReferrerKind::Reply, 8), &cursor).unwrap_err().to_string();
        assert_eq!(error, "`after` is a cursor of another post's list.");
    }

    #[test]
    fn a_cursor_of_a_timeline_has_the_posts_seen() {
        let (list, greatest) = (of_user(Timeline, 7), PostId::GREATEST);
        let all =
            [(0, vec![], None), (127, vec![post(16_384), greatest], Some(1)), (greatest.get(), vec![], None)];
        for (upto, beyond, removed) in all {
            let seen = Seen { upto: Mark::new(upto), beyond, removed: removed.map(Timestamp::from_millis) };
            let position = TimelinePosition { post: post(9), seen };
            assert_eq!(parse("after", list, &print(list, &position)).unwrap(), position);
        }
        let head = [&[1, 6][..], &7_u64.to_be_bytes(), &9_u64.to_be_bytes()].concat();
        let too_great = [&[1, 1][..], &[0xff; 7], &[0x7f]].concat();
        for numbers in [&[][..], &[1], &[1, 1, 0], &[0x80, 0, 1], &[0xff; 11], &too_great] {
            let cursor = URL_SAFE_NO_PAD.encode([&head, numbers].concat());
            assert!(parse("after", list, &cursor).is_err(), "{numbers:?}");
        }
    }
}
