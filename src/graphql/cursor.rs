//! Cursors: positions in lists, opaque to clients, valid for one list of one owner.
//!
//! A cursor is the base64url encoding of a format version (1 byte), the code of a list (1 byte, `lists!`), the id of its
//! owner (8 bytes), a user or a post, and a position ([`Encoded`]). A list that only moderators see is owned by the moderator.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::app::account::export::page::{ExportPosition, Section, SectionPosition};
use crate::app::error::Error;
use crate::app::timeline::seen::Seen;
use crate::app::visibility::list::OwnList;
use crate::model::clock::Timestamp;
use crate::model::id::{PostId, ReportId, UserId};
use crate::model::invite::{InviteCode, InvitePosition};
use crate::model::mark::Mark;
use crate::model::moderation::LogId;
use crate::model::page::Position;
use crate::model::referrer::ReferrerKind;
use crate::model::relation::ListKind;
use crate::model::session::SessionId;

const FORMAT: u8 = 1;
/// Number of bytes before the position.
const HEAD: usize = 10;

/// Declares the lists with cursors: the types of their kinds, with what owns them and what a position in them is; and for
/// each kind its code, and the fields of the schema that issue and accept its cursors. Codes are part of the format: they
/// stay with their lists.
macro_rules! lists {
    ($($kind:ty, of $owner:ty, at $position:ty {
        $($code:literal = $pattern:pat, [$(($object:literal, $field:literal)),*];)*
    })*) => {
        $(impl Kind for $kind {
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
                    $($($code)|* => Some(Self(number)),)*
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
                    $($($code)|* => <$position>::parse(bytes).is_some(),)*
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
    Posts, of UserId, at PostId {
        5 = Self, [("User", "posts")];
    }
    Timeline, of UserId, at TimelinePosition {
        6 = Self, [("Viewer", "timeline"), ("Subscription", "timeline")];
    }
    OwnList, of UserId, at Position {
        7 = Self::Muted, [("Viewer", "muted")];
        8 = Self::Blocked, [("Viewer", "blocked")];
        9 = Self::Requests, [("Viewer", "followRequests")];
        10 = Self::SentRequests, [("Viewer", "sentFollowRequests")];
    }
    Accounts, of UserId, at Position {
        11 = Self, [("Moderation", "accounts")];
    }
    Reports, of UserId, at ReportId {
        12 = Self, [("Moderation", "reports")];
    }
    Log, of UserId, at LogId {
        13 = Self, [("Moderation", "log")];
    }
    Invites, of UserId, at InvitePosition {
        14 = Self, [("Moderation", "invites")];
    }
    Export, of UserId, at ExportPosition {
        15 = Self, [];
    }
    ReferrerKind, of PostId, at PostId {
        16 = Self::Reply, [("Post", "replies")];
        17 = Self::Quote, [("Post", "quotes")];
        18 = Self::Repost, [("Post", "repostedBy")];
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

/// The list of a user's posts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Posts;

/// A user's home timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Timeline;

/// A moderator's list of accounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Accounts;

/// A moderator's queue of reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reports;

/// A moderator's log of what moderators did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Log;

/// A moderator's list of invites.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Invites;

/// An export of a user's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Export;

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

/// A position in a list, as a cursor encodes it.
pub(super) trait Encoded: Sized {
    fn print(&self, bytes: &mut Vec<u8>);
    fn parse(bytes: &[u8]) -> Option<Self>;
}

/// A time and a user id, of 8 bytes each. Lists of users are ordered by time, and several entries can have the same time.
impl Encoded for Position {
    fn print(&self, bytes: &mut Vec<u8>) {
        print_time(self.at, bytes);
        bytes.extend(self.user.get().to_be_bytes());
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let (at, user) = parse_time(bytes)?;
        Some(Self { at, user: UserId::new(parse_number(user)?)? })
    }
}

/// 8 bytes.
impl Encoded for PostId {
    fn print(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.get().to_be_bytes());
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        parse_post(parse_number(bytes)?)
    }
}

/// 8 bytes.
impl Encoded for ReportId {
    fn print(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.get().to_be_bytes());
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        Self::new(parse_number(bytes)?)
    }
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

/// A time of 8 bytes and a code of 16.
impl Encoded for InvitePosition {
    fn print(&self, bytes: &mut Vec<u8>) {
        print_time(self.at, bytes);
        bytes.extend(self.code.as_str().as_bytes());
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let (at, code) = parse_time(bytes)?;
        Some(Self { at, code: InviteCode::parse(std::str::from_utf8(code).ok()?)? })
    }
}

/// A section, of 1 byte; then nothing, a time and a session's id, of 8 and 16 bytes, a position in a list of users, or a
/// post id, depending on the section.
impl Encoded for ExportPosition {
    fn print(&self, bytes: &mut Vec<u8>) {
        bytes.push(self.section as u8);
        match self.after {
            None => {}
            Some(SectionPosition::Session(at, id)) => {
                print_time(at, bytes);
                bytes.extend(id.to_string().as_bytes());
            }
            Some(SectionPosition::User(position)) => position.print(bytes),
            Some(SectionPosition::Post(post)) => post.print(bytes),
        }
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let (section, rest) = bytes.split_first()?;
        let section = *Section::ALL.get(usize::from(*section))?;
        let after = match section {
            _ if rest.is_empty() => None,
            Section::Account => return None,
            Section::Sessions => {
                let (at, id) = parse_time(rest)?;
                Some(SectionPosition::Session(at, SessionId::parse(std::str::from_utf8(id).ok()?)?))
            }
            Section::Posts => Some(SectionPosition::Post(PostId::parse(rest)?)),
            _ => Some(SectionPosition::User(Position::parse(rest)?)),
        };
        Some(Self { section, after })
    }
}

/// The post's id, of 8 bytes; then, as variable-length integers, the id up to which the client has seen all posts, the time
/// up to which the client has seen all removals, and the ids of the other posts seen, delta-encoded. They allow a
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
    let invalid = |why: &str| Err(Error::Invalid(format!("`{argument}` {why}.")));
    let garbage = "is not a cursor issued by this server";
    let Some((code, owner, position)) = read(cursor) else {
        return invalid(garbage);
    };
    if code != list.kind.code() {
        return invalid("is a cursor of another list");
    }
    if owner != list.owner.number() {
        return invalid(&format!("is a cursor of another {}'s list", K::Owner::NOUN));
    }
    K::Position::parse(&position).map_or_else(|| invalid(garbage), Ok)
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
    use super::*;

    fn list(kind: ListKind, owner: u64) -> UserList {
        UserList { kind, owner: UserId::new(owner).unwrap() }
    }

    #[test]
    fn a_cursor_is_valid_for_its_own_list_only() {
        let position = Position { at: Timestamp::from_millis(-5), user: UserId::new(9).unwrap() };
        let mine = list(ListKind::Followers, 7);
        let cursor = print(mine, &position);
        assert_eq!(parse("after", mine, &cursor).unwrap(), position);
        let error = |list| parse("after", list, &cursor).unwrap_err().to_string();
        assert_eq!(error(list(ListKind::Following, 7)), "`after` is a cursor of another list.");
        assert_eq!(error(list(ListKind::Followers, 8)), "`after` is a cursor of another user's list.");
    }

    #[test]
    fn a_cursor_of_each_kind_of_referrers_is_valid_for_its_own_post_only() {
        let (target, place) = (PostId::new(7).unwrap(), PostId::new(9).unwrap());
        for kind in [ReferrerKind::Reply, ReferrerKind::Quote, ReferrerKind::Repost] {
            let list = ReferrerList { target, kind };
            let cursor = print(list, &place);
            assert_eq!(parse("after", list, &cursor).unwrap(), place);
            check("after", Some(list.code()), &cursor).unwrap();
            let error =
                parse("after", ReferrerList { target: place, kind }, &cursor).unwrap_err().to_string();
            assert_eq!(error, "`after` is a cursor of another post's list.");
        }
    }

    #[test]
    fn a_cursor_of_posts_is_a_post() {
        let list = PostList { owner: UserId::new(7).unwrap() };
        let post = PostId::new(9).unwrap();
        let cursor = print(list, &post);
        assert_eq!(parse("after", list, &cursor).unwrap(), post);
        let timeline = TimelineList { owner: list.owner };
        let error = parse("after", timeline, &cursor).unwrap_err().to_string();
        assert_eq!(error, "`after` is a cursor of another list.");
        // The head of one list with the position of another.
        let mut bytes = URL_SAFE_NO_PAD.decode(&cursor).unwrap();
        bytes.extend([0; 8]);
        assert!(parse("after", list, &URL_SAFE_NO_PAD.encode(bytes)).is_err());
    }

    #[test]
    fn a_cursor_of_a_timeline_has_the_posts_seen() {
        let list = TimelineList { owner: UserId::new(7).unwrap() };
        let post = |number| PostId::new(number).unwrap();
        let greatest = PostId::GREATEST;
        for (upto, beyond, removed) in [
            (0, vec![], None),
            (9, vec![], Some(1)),
            (127, vec![post(128), post(130), post(16_384), greatest], Some(1_767_225_600_000)),
            (greatest.get(), vec![], None),
        ] {
            let seen = Seen { upto: Mark::new(upto), beyond, removed: removed.map(Timestamp::from_millis) };
            let place = TimelinePosition { post: post(9), seen };
            let cursor = print(list, &place);
            assert_eq!(parse("after", list, &cursor).unwrap(), place);
            assert!(
                parse("after", list, &cursor[..cursor.len() - 4]).is_err() || place.seen.beyond.len() > 1
            );
        }
        let head = [&[1, 6][..], &7_u64.to_be_bytes(), &9_u64.to_be_bytes()].concat();
        let numbers: [&[u8]; 6] = [
            &[],
            &[1],
            &[1, 1, 0],
            &[0x80, 0, 1],
            &[0xff; 11],
            &[1, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f],
        ];
        for numbers in numbers {
            let cursor = URL_SAFE_NO_PAD.encode([&head, numbers].concat());
            assert!(parse("after", list, &cursor).is_err(), "{numbers:?}");
        }
    }

    #[test]
    fn a_cursor_of_an_export_is_a_section_and_a_place_in_it() {
        let list = ExportList(UserId::new(7).unwrap());
        let at = Timestamp::from_millis(-5);
        let session = Place::Session(at, SessionId::parse("AAAAAAAAAAAAAAAA").unwrap());
        let user = Place::User(Position { at, user: UserId::new(9).unwrap() });
        let post = Place::Post(PostId::new(9).unwrap());
        for section in Section::ALL {
            let place = match section {
                Section::Account => None,
                Section::Sessions => Some(session),
                Section::Posts => Some(post),
                _ => Some(user),
            };
            for after in [None, place] {
                let position = ExportPosition { section, after };
                let cursor = print(list, &position);
                assert_eq!(parse("after", list, &cursor).unwrap(), position);
                let other = ExportList(UserId::new(8).unwrap());
                let error = parse("after", other, &cursor).unwrap_err().to_string();
                assert_eq!(error, "`after` is a cursor of another user's list.");
            }
        }
        let head = [&[1, 15][..], &7_u64.to_be_bytes()].concat();
        for place in [&[][..], &[9], &[0, 0], &[8, 1], &[1, 0, 0, 0, 0, 0, 0, 0, 0], &[2; 16]] {
            let cursor = URL_SAFE_NO_PAD.encode([&head, place].concat());
            assert!(parse("after", list, &cursor).is_err(), "{place:?}");
        }
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
