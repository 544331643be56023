//! Cursors: positions in lists, opaque to clients, valid for one list of one owner.
//!
//! A cursor is the base64url encoding of a format version (1 byte), a list code (1 byte), the id of the owner (8 bytes), a
//! user or a post, and a position. The encoding of a position depends on the list:
//!
//! - User list: a time and a user id (8 bytes each). Lists are ordered by time, and several entries can have the same
//!   time.
//! - Post list: a post id (8 bytes). The same for the replies to a post, the posts that quote it, and its reposts.
//! - Moderators' list of accounts: a time and a user id, as in a user list. Reports: a report id (8 bytes). Log: a time and
//!   a number (8 bytes each). Invites: a time (8 bytes) and a code (16 bytes). The owner is the moderator.
//! - Export: a section (1 byte), then nothing, a time and a session's id (8 and 16 bytes), a time and a user id, or a post
//!   id, depending on the section.
//! - Home timeline: a post id (8 bytes), then the posts already seen, as variable-length integers. They allow a
//!   subscription to resume after the cursor.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::app::account::export::page::{ExportPosition, Place, Section};
use crate::app::error::Error;
use crate::app::relation::read::UserList;
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

/// A list whose positions are encoded as cursors.
pub(super) trait List: Copy {
    /// A position in the list.
    type Position;
    /// What owns the list, as errors name it.
    const OWNER: &'static str = "user";

    fn code(self) -> ListCode;
    /// Returns the number of the user or post that has the list.
    fn owner(self) -> u64;
    fn print_position(place: &Self::Position) -> Vec<u8>;
    fn parse_position(bytes: &[u8]) -> Option<Self::Position>;
}

/// Declares the codes of lists, each with the type whose positions its cursors contain, and with the fields of the
/// schema that issue and accept its cursors.
macro_rules! list_codes {
    ($($name:ident = $code:literal, $list:ident, [$(($object:literal, $field:literal)),*];)*) => {
        /// The code of a list, which is part of the cursor format.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub(super) enum ListCode {
            $($name = $code,)*
        }

        impl ListCode {
            /// Returns the code with this number, if there is one.
            fn of(number: u8) -> Option<Self> {
                match number {
                    $($code => Some(Self::$name),)*
                    _ => None,
                }
            }

            /// Returns the code of the list whose cursors a field accepts; `None` if the field accepts no cursors.
            pub(super) fn of_field(object: &str, field: &str) -> Option<Self> {
                match (object, field) {
                    $($(($object, $field) => Some(Self::$name),)*)*
                    _ => None,
                }
            }

            /// Returns true if these bytes encode a position in a list with this code.
            fn is_position(self, bytes: &[u8]) -> bool {
                match self {
                    $(Self::$name => $list::parse_position(bytes).is_some(),)*
                }
            }
        }
    };
}

list_codes! {
    Followers = 1, UserList, [("User", "followers")];
    Following = 2, UserList, [("User", "following")];
    Mutuals = 3, UserList, [("User", "mutuals")];
    KnownFollowers = 4, UserList, [("User", "knownFollowers")];
    Posts = 5, PostList, [("User", "posts")];
    Timeline = 6, TimelineList, [("Viewer", "timeline"), ("Subscription", "timeline")];
    Muted = 7, ViewerList, [("Viewer", "muted")];
    Blocked = 8, ViewerList, [("Viewer", "blocked")];
    Requests = 9, ViewerList, [("Viewer", "followRequests")];
    SentRequests = 10, ViewerList, [("Viewer", "sentFollowRequests")];
    Accounts = 11, AccountList, [("Moderation", "accounts")];
    Reports = 12, ReportList, [("Moderation", "reports")];
    Log = 13, LogList, [("Moderation", "log")];
    Invites = 14, InviteList, [("Moderation", "invites")];
    Export = 15, ExportList, [];
    Replies = 16, ReferrerList, [("Post", "replies")];
    Quotes = 17, ReferrerList, [("Post", "quotes")];
    Reposts = 18, ReferrerList, [("Post", "repostedBy")];
}

impl List for UserList {
    type Position = Position;

    fn code(self) -> ListCode {
        match self.kind {
            ListKind::Followers => ListCode::Followers,
            ListKind::Following => ListCode::Following,
            ListKind::Mutuals => ListCode::Mutuals,
            ListKind::KnownFollowers => ListCode::KnownFollowers,
        }
    }

    fn owner(self) -> u64 {
        self.owner.get()
    }

    fn print_position(place: &Position) -> Vec<u8> {
        print_entry(place)
    }

    fn parse_position(bytes: &[u8]) -> Option<Position> {
        parse_entry(bytes)
    }
}

/// A list of users that only the viewer sees, as a list with cursors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ViewerList {
    pub(super) owner: UserId,
    pub(super) kind: OwnList,
}

impl List for ViewerList {
    type Position = Position;

    fn code(self) -> ListCode {
        match self.kind {
            OwnList::Muted => ListCode::Muted,
            OwnList::Blocked => ListCode::Blocked,
            OwnList::Requests => ListCode::Requests,
            OwnList::SentRequests => ListCode::SentRequests,
        }
    }

    fn owner(self) -> u64 {
        self.owner.get()
    }

    fn print_position(place: &Position) -> Vec<u8> {
        print_entry(place)
    }

    fn parse_position(bytes: &[u8]) -> Option<Position> {
        parse_entry(bytes)
    }
}

fn print_entry(place: &Position) -> Vec<u8> {
    [place.at.as_millis().to_be_bytes(), place.user.get().to_be_bytes()].concat()
}

fn parse_entry(bytes: &[u8]) -> Option<Position> {
    let (at, user) = bytes.split_first_chunk()?;
    let user = u64::from_be_bytes(user.try_into().ok()?);
    let at = Timestamp::from_millis(i64::from_be_bytes(*at));
    Some(Position { at, user: UserId::new(user)? })
}

/// A user's posts, as a list with cursors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PostList {
    pub(super) owner: UserId,
}

impl List for PostList {
    type Position = PostId;

    fn code(self) -> ListCode {
        ListCode::Posts
    }

    fn owner(self) -> u64 {
        self.owner.get()
    }

    fn print_position(place: &PostId) -> Vec<u8> {
        place.get().to_be_bytes().to_vec()
    }

    fn parse_position(bytes: &[u8]) -> Option<PostId> {
        parse_post(u64::from_be_bytes(bytes.try_into().ok()?))
    }
}

/// The posts that refer to a post, as a list with cursors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReferrerList {
    pub(super) target: PostId,
    pub(super) kind: ReferrerKind,
}

impl List for ReferrerList {
    type Position = PostId;
    const OWNER: &'static str = "post";

    fn code(self) -> ListCode {
        match self.kind {
            ReferrerKind::Reply => ListCode::Replies,
            ReferrerKind::Quote => ListCode::Quotes,
            ReferrerKind::Repost => ListCode::Reposts,
        }
    }

    fn owner(self) -> u64 {
        self.target.get()
    }

    fn print_position(place: &PostId) -> Vec<u8> {
        PostList::print_position(place)
    }

    fn parse_position(bytes: &[u8]) -> Option<PostId> {
        PostList::parse_position(bytes)
    }
}

/// A user's home timeline, as a list with cursors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TimelineList {
    pub(super) owner: UserId,
}

/// A position in a home timeline, with the posts that a client at this position has seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TimelinePosition {
    pub(super) post: PostId,
    pub(super) seen: Seen,
}

impl List for TimelineList {
    type Position = TimelinePosition;

    fn code(self) -> ListCode {
        ListCode::Timeline
    }

    fn owner(self) -> u64 {
        self.owner.get()
    }

    /// Encodes, in this order, the post's id, the id up to which the client has seen all posts, the time up to which
    /// the client has seen all removals, and the ids of the other posts seen, delta-encoded.
    fn print_position(TimelinePosition { post, seen }: &TimelinePosition) -> Vec<u8> {
        let mut bytes = post.get().to_be_bytes().to_vec();
        number::print(&mut bytes, seen.upto.get());
        let removed = seen.removed.map_or(0, |at| u64::try_from(at.as_millis()).unwrap_or(0));
        number::print(&mut bytes, removed);
        let mut before = seen.upto.get();
        for post in &seen.beyond {
            number::print(&mut bytes, post.get() - before);
            before = post.get();
        }
        bytes
    }

    fn parse_position(bytes: &[u8]) -> Option<TimelinePosition> {
        let (post, mut rest) = bytes.split_first_chunk()?;
        let post = parse_post(u64::from_be_bytes(*post))?;
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
        is_known.then_some(TimelinePosition { post, seen: Seen { upto: Mark::new(upto), beyond, removed } })
    }
}

/// The list of accounts, as a list with cursors of a moderator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AccountList(pub(super) UserId);

impl List for AccountList {
    type Position = Position;

    fn code(self) -> ListCode {
        ListCode::Accounts
    }

    fn owner(self) -> u64 {
        self.0.get()
    }

    fn print_position(place: &Position) -> Vec<u8> {
        print_entry(place)
    }

    fn parse_position(bytes: &[u8]) -> Option<Position> {
        parse_entry(bytes)
    }
}

/// The queue of reports, as a list with cursors of a moderator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReportList(pub(super) UserId);

impl List for ReportList {
    type Position = ReportId;

    fn code(self) -> ListCode {
        ListCode::Reports
    }

    fn owner(self) -> u64 {
        self.0.get()
    }

    fn print_position(place: &ReportId) -> Vec<u8> {
        place.get().to_be_bytes().to_vec()
    }

    fn parse_position(bytes: &[u8]) -> Option<ReportId> {
        ReportId::new(u64::from_be_bytes(bytes.try_into().ok()?))
    }
}

/// The log of what moderators did, as a list with cursors of a moderator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LogList(pub(super) UserId);

impl List for LogList {
    type Position = LogId;

    fn code(self) -> ListCode {
        ListCode::Log
    }

    fn owner(self) -> u64 {
        self.0.get()
    }

    fn print_position(place: &LogId) -> Vec<u8> {
        [place.at.as_millis().to_be_bytes(), place.number.to_be_bytes()].concat()
    }

    fn parse_position(bytes: &[u8]) -> Option<LogId> {
        let (at, number) = bytes.split_first_chunk()?;
        let at = Some(i64::from_be_bytes(*at)).filter(|at| *at >= 0).map(Timestamp::from_millis)?;
        Some(LogId { at, number: u64::from_be_bytes(number.try_into().ok()?) })
    }
}

/// The list of invites, as a list with cursors of a moderator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InviteList(pub(super) UserId);

impl List for InviteList {
    type Position = InvitePosition;

    fn code(self) -> ListCode {
        ListCode::Invites
    }

    fn owner(self) -> u64 {
        self.0.get()
    }

    fn print_position(place: &InvitePosition) -> Vec<u8> {
        [&place.at.as_millis().to_be_bytes(), place.code.as_str().as_bytes()].concat()
    }

    fn parse_position(bytes: &[u8]) -> Option<InvitePosition> {
        let (at, code) = bytes.split_first_chunk()?;
        let code = InviteCode::parse(std::str::from_utf8(code).ok()?)?;
        Some(InvitePosition { at: Timestamp::from_millis(i64::from_be_bytes(*at)), code })
    }
}

/// An export of a user's data, as a list with cursors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ExportList(pub(super) UserId);

impl List for ExportList {
    type Position = ExportPosition;

    fn code(self) -> ListCode {
        ListCode::Export
    }

    fn owner(self) -> u64 {
        self.0.get()
    }

    fn print_position(ExportPosition { section, after }: &ExportPosition) -> Vec<u8> {
        let place = match after {
            None => Vec::new(),
            Some(Place::Session(at, id)) => {
                [&at.as_millis().to_be_bytes(), id.to_string().as_bytes()].concat()
            }
            Some(Place::User(position)) => print_entry(position),
            Some(Place::Post(post)) => PostList::print_position(post),
        };
        [&[*section as u8], place.as_slice()].concat()
    }

    fn parse_position(bytes: &[u8]) -> Option<ExportPosition> {
        let (section, place) = bytes.split_first()?;
        let section = *Section::ALL.get(usize::from(*section))?;
        let after = match section {
            _ if place.is_empty() => None,
            Section::Account => return None,
            Section::Sessions => {
                let (at, id) = place.split_first_chunk()?;
                let id = SessionId::parse(std::str::from_utf8(id).ok()?)?;
                Some(Place::Session(Timestamp::from_millis(i64::from_be_bytes(*at)), id))
            }
            Section::Posts => Some(Place::Post(PostList::parse_position(place)?)),
            _ => Some(Place::User(parse_entry(place)?)),
        };
        Some(ExportPosition { section, after })
    }
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
pub(super) fn print<L: List>(list: L, place: &L::Position) -> String {
    let mut bytes = vec![FORMAT, list.code() as u8];
    bytes.extend(list.owner().to_be_bytes());
    bytes.extend(L::print_position(place));
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Checks that an argument is a cursor of a list with this code. Does not check the owner.
pub(super) fn check(argument: &str, code: Option<ListCode>, cursor: &str) -> Result<(), Error> {
    let Some(code) = code else { return Ok(()) };
    match read(cursor) {
        Some((other, ..)) if other != code => {
            Err(Error::Invalid(format!("`{argument}` is a cursor of another list.")))
        }
        Some((_, _, place)) if code.is_position(&place) => Ok(()),
        Some(_) | None => Err(Error::Invalid(format!("`{argument}` is not a cursor issued by this server."))),
    }
}

/// Parses the cursor in an argument as a position in this list.
pub(super) fn parse<L: List>(argument: &str, list: L, cursor: &str) -> Result<L::Position, Error> {
    let invalid = |why: &str| Err(Error::Invalid(format!("`{argument}` {why}.")));
    let garbage = "is not a cursor issued by this server";
    let Some((code, owner, place)) = read(cursor) else {
        return invalid(garbage);
    };
    if code != list.code() {
        return invalid("is a cursor of another list");
    }
    if owner != list.owner() {
        return invalid(&format!("is a cursor of another {}'s list", L::OWNER));
    }
    L::parse_position(&place).map_or_else(|| invalid(garbage), Ok)
}

/// Decodes a cursor into its list code, owner and position.
fn read(cursor: &str) -> Option<(ListCode, u64, Vec<u8>)> {
    let bytes = URL_SAFE_NO_PAD.decode(cursor).ok()?;
    let (head, place) = bytes.split_at_checked(HEAD)?;
    let (&[format, code], owner) = head.split_first_chunk()?;
    let code = ListCode::of(code).filter(|_| format == FORMAT)?;
    let owner = u64::from_be_bytes(owner.try_into().ok()?);
    (owner > 0).then(|| (code, owner, place.to_vec()))
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
