//! Builds all keys of the hot store. No other module builds key names.
//!
//! `{…}` is a Redis Cluster hash tag: keys with the same tag share a slot. A command, transaction or script
//! touches keys of a single [`Tag`], so the same code runs on a single server and on a cluster. All keys begin
//! with a prefix (`ff:`), so that several deployments or tests can share a server.
//!
//! The table of keys is in [`rows`]: each row becomes a method of [`Keys`], with what the key holds as its
//! documentation, and a [`Row`] of [`KEYS`]. Here are the tags, and what a row cannot say.

pub mod row;
pub mod rows;

use std::fmt::{self, Write as _};
use std::marker::PhantomData;
use std::sync::Arc;

use redis::{RedisWrite, ToRedisArgs};

use crate::driver::topology::slot;
use crate::model::attachment::ReferrerKind;
use crate::model::clock::Day;
use crate::model::digest::Digest;
use crate::model::id::{PostId, UserId};
use crate::model::reaction::ReactionKind;
use crate::model::referrer::EntryKind;
use crate::model::relation::Side;
use crate::model::subject::Subject;
use crate::model::user::Username;
use row::{Row, noun};
pub use rows::KEYS;

/// Number of intent partitions. Part of the stored format.
pub const INTENT_PARTITIONS: u32 = 16;

/// Number of delivery job partitions of stores whose layout does not contain it. Part of the stored format.
pub const FIRST_FANOUT_PARTITIONS: u32 = 4;

/// Beginning of the names of the keys of publish attempts and edits.
const ATTEMPT: &str = "idem:";
/// End of the names of the keys of the numbers of members of compact sets.
const COUNT: &str = ":count";
/// End of the names of the keys of the newest posts of ordered compact sets.
const POSTS: &str = ":posts";
/// End of the names of the keys of the times of ordered compact sets.
const TIMES: &str = ":times";
/// Beginning of the names of the keys of password attempts in a session.
const GUESSES: &str = "guesses:";

/// The kind of a key, its marker type.
pub trait Kind {
    /// The command that counts the elements of a key.
    const COUNT: &'static str;
    /// The number of elements that are no items.
    const SEALS: u64;
    /// The ends of the names of the keys that are the parts of this key, without those of shards.
    const PARTS: &'static [&'static str];
}

/// A kind of key with shards, and the number of members in all of them.
pub trait Sharded: Kind {}

impl Sharded for CompactSet {}
impl Sharded for OrderedSet {}

/// Declares kinds of keys: what a key of the kind holds, the command that counts its elements, the number of elements
/// that are no items, if there are any, and the ends of the names of further keys that belong to it.
macro_rules! kinds {
    ($($(#[$doc:meta])+ $kind:ident: $count:literal $(- $seals:literal)? $(+ $part:ident)*;)+) => {
        $(
            $(#[$doc])+
            #[derive(Debug)]
            pub enum $kind {}

            impl Kind for $kind {
                const COUNT: &'static str = $count;
                const SEALS: u64 = 0 $(+ $seals)?;
                const PARTS: &'static [&'static str] = &["" $(, $part)*];
            }
        )+
    };
}

kinds! {
    /// A hash whose fields are items.
    Hash: "HLEN";
    /// A hash whose fields are those of one item.
    Record: "EXISTS";
    /// A set.
    Set: "SCARD";
    /// A sorted set.
    SortedSet: "ZCARD";
    /// A counter.
    Counter: "EXISTS";
    /// A token bucket.
    Bucket: "EXISTS";
    /// A list.
    List: "LLEN";
    /// A list whose last element is a seal; see [`crate::store::timeline`].
    SealedList: "LLEN" - 1;
    /// A stream.
    Stream: "XLEN";
    /// A string of fixed-length fields. The elements are bytes.
    Packed: "STRLEN";
    /// A string.
    Text: "EXISTS";
    /// A compact set, see [`crate::store::compact`]: the key is that of the newest members, which are its elements
    /// here; with further parts after its name it is `:count`, the number of members, and `:N`, their shard N.
    CompactSet: "ZCARD" + COUNT;
    /// An ordered compact set, see [`crate::store::ordered`]: the key is that of the members of a small set. With
    /// further parts after its name it is `:posts`, the list of the newest members of a larger set, `:times`, that of
    /// their times, `:count`, the number of members, and `:N`, their shard N.
    OrderedSet: "ZCARD" + POSTS + TIMES + COUNT;
    /// A key of any kind, which can only be deleted or measured.
    Any: "EXISTS";
    /// A pub/sub channel, which is named like a key. In a cluster it is a channel of sharded pub/sub, so it has a slot
    /// as well.
    Channel: "EXISTS";
}

/// A day and its number of visit shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Layout {
    /// Day of the visits.
    pub day: Day,
    /// Number of shards that hold the day's visitors.
    pub shards: u32,
}

/// A key's hash tag, which determines the key's slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tag {
    /// `{g}`: global data.
    Global,
    /// `{u7}`: one user's data.
    User(UserId),
    /// `{n12}`: one shard of the username index.
    Names(u32),
    /// `{s12}`: one shard of the subject index.
    Subjects(u32),
    /// `{i3}`: one intent partition.
    Intents(u32),
    /// `{p9}`: one post.
    Post(PostId),
    /// `{f3}`: one delivery partition.
    Fanout(u32),
    /// `{a}`: posts on their way to the archive.
    Archive,
    /// `{v20777.391.3}`: one shard of a day's visits. The layout contains the day and its number of shards.
    Visits(Layout, u32),
    /// `{h1f…}`: one address's buckets, by address digest.
    Address(Digest),
    /// `{k2e…}`: sign-in attempts for one username, by username digest.
    Account(Digest),
    /// `{r12}`: one region shard.
    Regions(u64),
    /// `{m}`: data of moderators.
    Moderation,
}

impl fmt::Display for Tag {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Global => formatter.write_str("{g}"),
            Self::User(user) => write!(formatter, "{{u{user}}}"),
            Self::Names(shard) => write!(formatter, "{{n{shard}}}"),
            Self::Subjects(shard) => write!(formatter, "{{s{shard}}}"),
            Self::Intents(partition) => write!(formatter, "{{i{partition}}}"),
            Self::Post(post) => write!(formatter, "{{p{post}}}"),
            Self::Fanout(partition) => write!(formatter, "{{f{partition}}}"),
            Self::Archive => formatter.write_str("{a}"),
            Self::Visits(Layout { day, shards }, shard) => {
                write!(formatter, "{{v{}.{shards}.{shard}}}", day.number())
            }
            Self::Address(address) => write!(formatter, "{{h{address}}}"),
            Self::Account(account) => write!(formatter, "{{k{account}}}"),
            Self::Regions(shard) => write!(formatter, "{{r{shard}}}"),
            Self::Moderation => formatter.write_str("{m}"),
        }
    }
}

impl Tag {
    /// Returns the slot of the keys with this tag in a cluster.
    #[must_use]
    pub fn slot(self) -> u16 {
        slot(self.to_string().trim_matches(['{', '}']))
    }

    /// Appends the tag to a name. The tags of which a page has many are written without a formatter, whose share in
    /// the server's work would be noticeable.
    fn append_to(self, name: &mut String) {
        let (letter, id) = match self {
            Self::User(user) => ("u", user.get()),
            Self::Post(post) => ("p", post.get()),
            other => {
                // Writing to a string cannot fail.
                let _ = write!(name, "{other}");
                return;
            }
        };
        for part in ["{", letter, itoa::Buffer::new().format(id), "}"] {
            name.push_str(part);
        }
    }
}

/// A key with its kind as a type parameter, so that the compiler rejects, for example, a list command on a
/// hash.
#[derive(Debug)]
pub struct Key<Kind> {
    name: String,
    tag: Tag,
    is_sharded: bool,
    kind: PhantomData<fn() -> Kind>,
}

impl<Kind> Key<Kind> {
    /// Returns the key's tag, which determines the key's slot.
    #[must_use]
    pub fn tag(&self) -> Tag {
        self.tag
    }

    /// Returns the key's slot in a cluster; `None` on a single server.
    pub(super) fn slot(&self) -> Option<u16> {
        self.is_sharded.then(|| self.tag.slot())
    }

    /// Returns the key's name after the tag.
    #[must_use]
    pub fn noun(&self) -> &str {
        self.name.rsplit_once("}:").map_or("", |(_, noun)| noun)
    }

    /// Returns the key's full name in Redis.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Key<CompactSet> {
    /// Returns the key of the newest members.
    pub(super) fn newest(&self) -> Key<SortedSet> {
        self.part(format_args!(""))
    }
}

impl Key<OrderedSet> {
    /// Returns the key of the posts of a set without a tree, with their times.
    pub(super) fn few(&self) -> Key<SortedSet> {
        self.part(format_args!(""))
    }

    /// Returns the key of the newest posts of a set with a tree.
    pub(super) fn posts(&self) -> Key<List> {
        self.part(format_args!("{POSTS}"))
    }

    /// Returns the key of the times of the newest posts of a set with a tree.
    pub(super) fn times(&self) -> Key<List> {
        self.part(format_args!("{TIMES}"))
    }
}

impl<Set: Sharded> Key<Set> {
    /// Returns the key of the number of members, if they are more than the newest.
    pub(super) fn count(&self) -> Key<Counter> {
        self.part(format_args!("{COUNT}"))
    }

    /// Returns the key of a shard of the members, if they are more than the newest.
    pub(super) fn shard(&self, shard: u32) -> Key<self::Set> {
        self.part(format_args!(":{shard}"))
    }

    fn part<Kind>(&self, end: fmt::Arguments<'_>) -> Key<Kind> {
        let Self { name, tag, is_sharded, .. } = self;
        Key { name: format!("{name}{end}"), tag: *tag, is_sharded: *is_sharded, kind: PhantomData }
    }
}

impl<Kind> ToRedisArgs for Key<Kind> {
    fn write_redis_args<W: ?Sized + RedisWrite>(&self, out: &mut W) {
        out.write_arg(self.name.as_bytes());
    }
}

/// A builder of one deployment's keys.
#[derive(Clone, Debug)]
pub struct Keys {
    prefix: Arc<str>,
    name_shards: u32,
    fanout_partitions: u32,
    is_sharded: bool,
}

impl Keys {
    /// Creates a builder of keys with this prefix, for a username index with `name_shards` shards.
    #[must_use]
    pub fn new(prefix: &str, name_shards: u32) -> Self {
        let fanout_partitions = FIRST_FANOUT_PARTITIONS;
        Self { prefix: prefix.into(), name_shards, fanout_partitions, is_sharded: false }
    }

    /// Returns the same builder, for this number of delivery job partitions.
    #[must_use]
    pub fn with_fanout_partitions(self, fanout_partitions: u32) -> Self {
        Self { fanout_partitions, ..self }
    }

    /// Returns the same builder for the keys of a cluster, if `is_sharded`.
    #[must_use]
    pub fn sharded(self, is_sharded: bool) -> Self {
        Self { is_sharded, ..self }
    }

    /// Returns true if the keys are those of a cluster, in which a channel is in a slot, like a key.
    #[must_use]
    pub fn is_sharded(&self) -> bool {
        self.is_sharded
    }

    /// Returns the number of username index shards.
    #[must_use]
    pub fn name_shards(&self) -> u32 {
        self.name_shards
    }

    /// Returns the number of delivery job partitions. A job's author determines its partition.
    #[must_use]
    pub fn fanout_partitions(&self) -> u32 {
        self.fanout_partitions
    }

    /// The tag is at the end of the name.
    fn names_by_shard(&self, shard: u32) -> Key<Hash> {
        let tag = Tag::Names(shard);
        Key {
            name: format!("{}name:{tag}", self.prefix),
            tag,
            is_sharded: self.is_sharded,
            kind: PhantomData,
        }
    }

    /// Returns the key of the username index shard that holds a name. The name's CRC32 determines the shard,
    /// as part of the stored format.
    #[must_use]
    pub fn names_with(&self, username: &Username) -> Key<Hash> {
        self.names(self.names_shard(username))
    }

    /// Returns the number of the username index shard that holds a name.
    #[must_use]
    pub fn names_shard(&self, username: &Username) -> u32 {
        crc32fast::hash(username.as_str().as_bytes()) % self.name_shards
    }

    /// Returns the key of the subject index shard that holds a subject. The CRC32 of the subject's string form
    /// determines the shard, as part of the stored format.
    #[must_use]
    pub fn subjects_with(&self, subject: Subject) -> Key<Hash> {
        self.subjects(self.subjects_shard(subject))
    }

    /// Returns the number of the subject index shard that holds a subject.
    #[must_use]
    pub fn subjects_shard(&self, subject: Subject) -> u32 {
        crc32fast::hash(subject.to_string().as_bytes()) % self.name_shards
    }

    /// Returns the user whose record has this key; `None` for all other keys.
    #[must_use]
    pub fn user_of(&self, key: &[u8]) -> Option<UserId> {
        self.owner_of(key, "}:user")
    }

    /// Returns the id of the user whose sessions have this key; `None` for all other keys.
    #[must_use]
    pub fn sessions_owner_of(&self, key: &[u8]) -> Option<UserId> {
        self.owner_of(key, "}:sessions")
    }

    /// Returns the prefix of all keys.
    #[must_use]
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    fn owner_of(&self, key: &[u8], end: &str) -> Option<UserId> {
        let rest = std::str::from_utf8(key).ok()?.strip_prefix(&*self.prefix)?;
        rest.strip_prefix("{u")?.strip_suffix(end)?.parse().ok()
    }

    /// Returns the number of the username index shard that has this key; `None` for all other keys.
    #[must_use]
    pub fn names_shard_of(&self, key: &[u8]) -> Option<u32> {
        let rest = std::str::from_utf8(key).ok()?.strip_prefix(&*self.prefix)?;
        rest.strip_prefix("name:{n")?.strip_suffix('}')?.parse().ok()
    }

    /// Returns the key with this name among a user's keys that expire; `None` if it is not one of them.
    #[must_use]
    pub fn expiring_named(&self, user: UserId, name: &str) -> Option<Key<Any>> {
        let is_known = [ATTEMPT, GUESSES].iter().any(|beginning| name.starts_with(beginning));
        is_known.then(|| self.key(Tag::User(user), name))
    }

    /// Returns the keys that an erasure deletes with a user: all with fixed names in the user's slot, except those
    /// whose row says why not.
    pub fn erased(&self, user: UserId) -> impl Iterator<Item = Key<Any>> {
        let is_erased =
            |row: &&Row| row.is_of_user() && row.arguments.is_empty() && !row.is_kept() && !row.is_channel();
        let erased = move |row: &'static Row| {
            let key = move |part: &&str| self.key(Tag::User(user), &[noun(row.name), *part].concat());
            row.parts.iter().map(key)
        };
        KEYS.iter().filter(is_erased).flat_map(erased)
    }

    /// Returns the key of this row of ordered compact sets, without arguments, in a user's slot.
    pub(super) fn ordered_of_user(&self, row: &Row, user: UserId) -> Key<OrderedSet> {
        self.key(Tag::User(user), noun(row.name))
    }

    /// Returns the key of this row, without arguments, in a user's slot.
    #[must_use]
    pub fn of_user(&self, row: &Row, user: UserId) -> Key<Any> {
        self.key(Tag::User(user), noun(row.name))
    }

    /// Returns the key of one of a user's lists of follows and requests to follow.
    #[must_use]
    pub fn list(&self, user: UserId, side: Side) -> Key<SortedSet> {
        match side {
            Side::Following => self.following(user),
            Side::Followers => self.followers(user),
            Side::Requesting => self.requesting(user),
            Side::Requests => self.requests(user),
        }
    }

    /// Returns the key of the posts to which a user has reacted.
    #[must_use]
    pub fn reacted(&self, user: UserId, kind: ReactionKind) -> Key<OrderedSet> {
        match kind {
            ReactionKind::Like => self.liked(user),
            ReactionKind::Bookmark => self.bookmarks(user),
        }
    }

    /// Returns the key of a page of users, and the keys of its intersections with `following` and
    /// `followers`.
    #[must_use]
    pub fn find(&self, viewer: UserId, nonce: u64) -> [Key<SortedSet>; 3] {
        ["", ":a", ":b"].map(|part| self.find_part(viewer, nonce, part))
    }

    fn referrers_by_kind(&self, post: PostId, kind: ReferrerKind, entries: EntryKind) -> Key<List> {
        self.key(Tag::Post(post), &format!("{}{}", kind.attachment().noun, entries.suffix()))
    }

    /// Returns the keys of a post's referrers of this kind, in the order of [`EntryKind::ALL`].
    #[must_use]
    pub fn entries(&self, post: PostId, kind: ReferrerKind) -> [Key<List>; EntryKind::ALL.len()] {
        EntryKind::ALL.map(|entries| self.referrers(post, kind, entries))
    }

    fn key<Kind>(&self, tag: Tag, noun: &str) -> Key<Kind> {
        let mut name = String::with_capacity(self.prefix.len() + noun.len() + 16);
        name.push_str(&self.prefix);
        tag.append_to(&mut name);
        name.push(':');
        name.push_str(noun);
        Key { name, tag, is_sharded: self.is_sharded, kind: PhantomData }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::session::SessionId;

    #[test]
    fn a_key_of_a_cluster_is_in_the_slot_of_its_tag() {
        let (keys, user) = (Keys::new("ff:", 16_384), UserId::new(7).unwrap());
        assert_eq!(keys.user(user).slot(), None);
        let keys = keys.sharded(true);
        assert_eq!(
            [keys.user(user), keys.secret(user), keys.layout()].map(|key| key.slot()),
            [Some(12_568), Some(12_568), Some(7_233)]
        );
        assert_eq!(keys.names(12).slot(), Some(slot("n12")));
    }

    #[test]
    fn a_compact_set_has_a_count_and_shards() {
        let blockers = Keys::new("ff:", 16_384).blockers(UserId::new(7).unwrap());
        let parts = [blockers.newest().name, blockers.count().name, blockers.shard(84).name];
        assert_eq!(parts, ["ff:{u7}:blockers", "ff:{u7}:blockers:count", "ff:{u7}:blockers:84"]);
        let bookmarks = Keys::new("ff:", 16_384).bookmarks(UserId::new(7).unwrap());
        let parts = [bookmarks.few().name, bookmarks.posts().name, bookmarks.times().name];
        assert_eq!(parts, ["ff:{u7}:bookmarks", "ff:{u7}:bookmarks:posts", "ff:{u7}:bookmarks:times"]);
    }

    #[test]
    fn the_owners_of_keys_are_found() {
        let (keys, user) = (Keys::new("ff:", 16_384), UserId::new(7));
        assert_eq!(keys.user_of(b"ff:{u7}:user"), user);
        assert_eq!(keys.user_of(b"ff:{u7}:secret").or(keys.user_of(b"xx:{u7}:user")), None);
        assert_eq!(keys.sessions_owner_of(b"ff:{u7}:sessions"), user);
        assert_eq!(keys.names_shard_of(b"ff:name:{n12}"), Some(12));
        assert_eq!(keys.prefix(), "ff:");
    }

    #[test]
    fn the_shards_of_names_and_subjects_are_part_of_the_stored_data() {
        let keys = Keys::new("ff:", 16_384);
        let ada = Username::parse("ada").unwrap();
        assert_eq!((keys.names_with(&ada).name(), keys.names_shard(&ada)), ("ff:name:{n1896}", 1_896));
        let subject = Subject::of("https://a.example", "7");
        assert_eq!(
            (keys.subjects_with(subject).name(), keys.subjects_shard(subject)),
            ("ff:{s613}:subjects", 613)
        );
    }

    #[test]
    fn the_names_of_lists_are_part_of_the_stored_data() {
        let keys = Keys::new("ff:", 16_384);
        let (user, post) = (UserId::new(7).unwrap(), PostId::new(9).unwrap());
        for (side, name) in [
            (Side::Following, "following"),
            (Side::Followers, "followers"),
            (Side::Requesting, "requesting"),
            (Side::Requests, "requests"),
        ] {
            assert_eq!(keys.list(user, side).name(), format!("ff:{{u7}}:{name}"));
        }
        for (kind, name) in [
            (ReferrerKind::Reply, "replies"),
            (ReferrerKind::Quote, "quotes"),
            (ReferrerKind::Repost, "reposts"),
        ] {
            let names = ["", ":limited", ":withheld"].map(|entries| format!("ff:{{p9}}:{name}{entries}"));
            assert_eq!(keys.entries(post, kind).map(|key| key.name().to_owned()), names);
        }
        let find = keys.find(user, 0xab).map(|key| key.name().to_owned());
        assert_eq!(find, ["ff:{u7}:find:ab", "ff:{u7}:find:ab:a", "ff:{u7}:find:ab:b"]);
    }

    #[test]
    fn keys_that_expire_are_found_by_their_names() {
        let (keys, user) = (Keys::new("ff:", 16_384), UserId::new(7).unwrap());
        let guesses = keys.guesses(user, SessionId::parse("AAAAAAAAAAAAAAAA").unwrap());
        assert_eq!(keys.expiring_named(user, guesses.noun()).unwrap().name(), guesses.name());
        assert!(keys.expiring_named(user, "user").is_none());
    }

    #[test]
    fn every_key_is_in_the_table() {
        let code = include_str!("mod.rs").split("#[cfg(test)]").next().unwrap();
        let keys = code.split("    pub fn ").filter(|function| {
            let head = function.split('{').next().unwrap();
            head.contains("-> Key<") || head.contains("-> [Key<")
        });
        let keys: Vec<&str> = keys.map(|function| function.split(['(', '<']).next().unwrap()).collect();
        let built_by_others =
            ["names_with", "subjects_with", "of_user", "list", "reacted", "find", "entries"];
        assert_eq!(keys, built_by_others, "a key that no other method builds has a row in the table");
    }
}
