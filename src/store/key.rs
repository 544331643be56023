//! All keys of the hot store. This is the only place where key names are built.
//!
//! `{…}` is the hash tag of Redis Cluster: keys with the same tag lie in the same slot. A command,
//! transaction or script touches keys of one [`Tag`] only, so the same code runs on a single Redis and on a
//! cluster. All keys begin with a prefix (`ff:`), so that several deployments, or several tests, can share a
//! server.
//!
//! | key | kind | holds |
//! |---|---|---|
//! | `ff:{g}:layout` | hash | settings fixed when the store is first used: `name_shards`; `archive`, the identity of the archive; `post_hot_limit`, the limit beyond which all posts have been queued for it; and the timeline strategy in force: `timeline_strategy`, with its generation number, `timeline_generation` |
//! | `ff:{g}:next:user`, `ff:{g}:next:post` | counter | the last id issued |
//! | `ff:{g}:probe` | text | time of the last write probe, for `/readyz`. Expires after a minute |
//! | `ff:{g}:publishing` | sorted set | posts that have an id and are not settled yet, by id, see [`crate::store::draft`] |
//! | `ff:{g}:stars` | set | authors whose posts are pulled, not pushed |
//! | `ff:{g}:stars:version` | text | changes with each new star |
//! | `ff:name:{n12}` | hash, sharded | username → user id; `?7` while user 7 is being created |
//! | `ff:{i3}:intents` | sorted set | unfinished operations by start time, see [`crate::store::intent`] |
//! | `ff:{u7}:user` | hash | `username`, `display_name`, `bio`, `created_at` |
//! | `ff:{u7}:secret` | hash | `password`: its hash as a PHC string |
//! | `ff:{u7}:sessions` | hash | SHA-256 of a token → the session, see [`crate::store::session`] |
//! | `ff:{u7}:void` | sorted set | items that must never be created in this slot, by the time they were revoked: `user`, the record itself; `9`, a post; `deleted:9`, a deleted post. Expires after a day |
//! | `ff:{u7}:following` | sorted set | users that user 7 follows, by time of the follow: the source of truth for an edge |
//! | `ff:{u7}:followers` | sorted set | followers of user 7, by time of the follow: the mirror |
//! | `ff:{u7}:find:N`, `…:a`, `…:b` | sorted set, temporary | a page of users and its two intersections; N is unique |
//! | `ff:{p9}:post` | hash | `author`, `content`, `created_at`, `platform`, `delivery`; or the tombstone `author`, `deleted`, and `settled`: 1 when the archive has recorded the deletion, 2 if the post was never visible |
//! | `ff:{u7}:posts` | list | posts of user 7, greatest id first |
//! | `ff:{u7}:recent` | sorted set | the newest twenty of them, by id |
//! | `ff:{u7}:cold` | hash | posts of user 7 that have left `posts` for the archive: `greatest`, the greatest id ever archived; `count`, their number |
//! | `ff:{u7}:gone` | sorted set | deleted posts of user 7 that may still be in the archive, by id |
//! | `ff:{u7}:timeline` | list | the posts of user 7's home timeline, greatest id first, and a seal; see `store/lua/part/timeline.lua` |
//! | `ff:{u7}:removed` | sorted set | posts removed from that timeline, by time of removal; see `store/lua/part/remove.lua`. Expires after a day |
//! | `ff:{u7}:idem:K` | text | the publish attempt bound to the idempotency key with the digest K. Expires after a day |
//! | `ff:{f3}:fanout` | stream | jobs that push posts to timelines |
//! | `ff:{f3}:sweep` | stream | jobs that remove deleted posts from timelines |
//! | `ff:{f3}:fanout:open` | sorted set | posts not yet pushed to all timelines, by id |
//! | `ff:{f3}:fanout:ready` | hash | number of push jobs in the stream, by author |
//! | `ff:{f3}:fanout:held` | sorted set | push jobs of those authors that are held back: `author:post:time`, padded; see `store/lua/part/turns.lua` |
//! | `ff:{f3}:fanout:turns` | sorted set | authors with jobs held back, by the time of the first |
//! | `ff:{f3}:fanout:progress` | hash | progress of these jobs: `kind:post` → time, user, timelines written |
//! | `ff:{f3}:fanout:served` | counter | total number of timelines written |
//! | `ff:{f3}:fanout:failed` | stream | jobs that were given up |
//! | `ff:{g}:visit:days` | hash | days whose visits are not archived yet → number of shards; and `since`, the first day recorded |
//! | `ff:{v20777.391.3}:visit` | set, sharded | visitors of a day (a number, counted from 1970-01-01) with 391 shards: user ids, and 0 once the shard is closed |
//! | `ff:{u7}:audience:20777:N` | set, sharded | viewers of user 7's profile on a day, see [`crate::store::audience`]. Expires after a month |
//! | `ff:{r12}:region` | packed | two bytes for each of 4,093 users: their region, see [`crate::store::region`] |
//! | `ff:{h1f…}:login`, `ff:{h1f…}:register` | bucket | sign-in attempts and registrations from the address with the digest 1f…, see [`crate::store::bucket`]. Like all buckets, expires when it is full |
//! | `ff:{k2e…}:login` | bucket | sign-in attempts for the username with the digest 2e…, which need not exist |
//! | `ff:{k2e…}:login:3d…` | bucket | the same from a known address, by its digest |
//! | `ff:{k2e…}:known` | sorted set | addresses that have signed in to this account, by time of the last sign-in, see [`crate::store::throttle`]. Expires after some months |
//! | `ff:{u7}:cost`, `ff:{h1f…}:cost` | bucket | query cost allowed to user 7, and to anonymous clients from this address |
//! | `ff:{u7}:publish` | bucket | posts that user 7 may publish |
//! | `ff:{u7}:guesses:N` | bucket | password attempts through the session with the id N |
//! | `ff:{u7}:signins`, `ff:{h1f…}:signins` | bucket | successful password checks for user 7, and from this address |
//! | `ff:{m}:measuring` | text | lock of the process that measures memory usage. Expires after a minute |
//! | `ff:{m}:…` | | data in a simpler encoding, for comparison. Expires after a minute |
//! | `ff:{a}:pending` | list | posts to be archived, and deleted ones: `post:time`, with the time they were queued. A post may occur more than once |
//! | `ff:{a}:moving:M` | list | posts taken by the mover M |
//! | `ff:{a}:movers` | sorted set | the movers, by time of their last heartbeat |
//! | `ff:{a}:moved` | counter | total number of posts archived |
//! | `ff:{a}:unmovable` | hash | posts rejected by the archive: `post` → `post:time` |
//!
//! Times are milliseconds since the epoch, ids decimal numbers.
//!
//! Two kinds of pub/sub channels are named like keys: `ff:{u7}:live` announces changes that affect user 7;
//! `ff:{g}:pulled` announces authors with new posts that their readers pull. See [`crate::store::signal`].

use std::fmt::{self, Write as _};
use std::marker::PhantomData;
use std::sync::Arc;

use redis::{RedisWrite, ToRedisArgs};

use crate::model::clock::Day;
use crate::model::digest::Digest;
use crate::model::id::{PostId, UserId};
use crate::model::session::SessionId;
use crate::model::user::Username;

/// Number of partitions of the intents. Part of the stored format.
pub const INTENT_PARTITIONS: u32 = 16;

/// Number of partitions of the delivery jobs, which are assigned by author. Part of the stored format.
pub const FANOUT_PARTITIONS: u32 = 4;

/// Kind of a key that holds a hash.
#[derive(Debug)]
pub enum Hash {}
/// Kind of a key that holds a set.
#[derive(Debug)]
pub enum Set {}
/// Kind of a key that holds a sorted set.
#[derive(Debug)]
pub enum SortedSet {}
/// Kind of a key that holds a counter.
#[derive(Debug)]
pub enum Counter {}
/// Kind of a key that holds a token bucket.
#[derive(Debug)]
pub enum Bucket {}
/// Kind of a key that holds a list.
#[derive(Debug)]
pub enum List {}
/// Kind of a key that holds a stream.
#[derive(Debug)]
pub enum Stream {}
/// Kind of a key that holds consecutive fields of fixed length.
#[derive(Debug)]
pub enum Packed {}
/// Kind of a key that holds a text.
#[derive(Debug)]
pub enum Text {}
/// Kind of a name that denotes a channel, not a key.
#[derive(Debug)]
enum Channel {}

/// A day and the number of shards of its visits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Layout {
    /// The day.
    pub day: Day,
    /// Number of shards.
    pub shards: u32,
}

/// The hash tag of a key, which determines its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tag {
    /// `{g}`: global data.
    Global,
    /// `{u7}`: all data of one user.
    User(UserId),
    /// `{n12}`: one shard of the username index.
    Names(u32),
    /// `{i3}`: one partition of the intents.
    Intents(u32),
    /// `{p9}`: one post.
    Post(PostId),
    /// `{f3}`: one partition of delivery.
    Fanout(u32),
    /// `{a}`: posts on their way to the archive.
    Archive,
    /// `{v20777.391.3}`: one shard of the visits of a day; the layout states the number of shards.
    Visits(Layout, u32),
    /// `{h1f…}`: the buckets of one address, by its digest.
    Address(Digest),
    /// `{k2e…}`: sign-in attempts for one username, by its digest.
    Account(Digest),
    /// `{m}`: memory measurements.
    Memory,
    /// `{r12}`: one shard of the regions.
    Regions(u64),
}

impl fmt::Display for Tag {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Global => formatter.write_str("{g}"),
            Self::User(user) => write!(formatter, "{{u{user}}}"),
            Self::Names(shard) => write!(formatter, "{{n{shard}}}"),
            Self::Intents(partition) => write!(formatter, "{{i{partition}}}"),
            Self::Post(post) => write!(formatter, "{{p{post}}}"),
            Self::Fanout(partition) => write!(formatter, "{{f{partition}}}"),
            Self::Archive => formatter.write_str("{a}"),
            Self::Visits(Layout { day, shards }, shard) => {
                write!(formatter, "{{v{}.{shards}.{shard}}}", day.number())
            }
            Self::Address(address) => write!(formatter, "{{h{address}}}"),
            Self::Account(account) => write!(formatter, "{{k{account}}}"),
            Self::Memory => formatter.write_str("{m}"),
            Self::Regions(shard) => write!(formatter, "{{r{shard}}}"),
        }
    }
}

/// A key with its kind as a type, so that the compiler rejects, for example, a list command on a hash.
#[derive(Debug)]
pub struct Key<Kind> {
    name: String,
    tag: Tag,
    kind: PhantomData<fn() -> Kind>,
}

impl<Kind> Key<Kind> {
    /// Returns the tag, which determines the slot.
    #[must_use]
    pub fn tag(&self) -> Tag {
        self.tag
    }

    /// Returns the full name of the key in Redis.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl<Kind> ToRedisArgs for Key<Kind> {
    fn write_redis_args<W: ?Sized + RedisWrite>(&self, out: &mut W) {
        out.write_arg(self.name.as_bytes());
    }
}

/// Builds the keys of one deployment.
#[derive(Clone, Debug)]
pub struct Keys {
    prefix: Arc<str>,
    name_shards: u32,
}

impl Keys {
    /// Creates the keys with this prefix, for a username index of `name_shards` shards.
    #[must_use]
    pub fn new(prefix: &str, name_shards: u32) -> Self {
        Self { prefix: prefix.into(), name_shards }
    }

    /// Returns the number of shards of the username index.
    #[must_use]
    pub fn name_shards(&self) -> u32 {
        self.name_shards
    }

    /// The layout: settings of the whole store.
    #[must_use]
    pub fn layout(&self) -> Key<Hash> {
        self.key(Tag::Global, "layout")
    }

    /// The last user id issued.
    #[must_use]
    pub fn next_user(&self) -> Key<Counter> {
        self.key(Tag::Global, "next:user")
    }

    /// The last post id issued.
    #[must_use]
    pub fn next_post(&self) -> Key<Counter> {
        self.key(Tag::Global, "next:post")
    }

    /// The key written to check that Redis accepts writes.
    #[must_use]
    pub fn probe(&self) -> Key<Text> {
        self.key(Tag::Global, "probe")
    }

    /// Posts that are being published.
    #[must_use]
    pub fn publishing(&self) -> Key<SortedSet> {
        self.key(Tag::Global, "publishing")
    }

    /// Authors whose posts are pulled.
    #[must_use]
    pub fn stars(&self) -> Key<Set> {
        self.key(Tag::Global, "stars")
    }

    /// The version of the stars.
    #[must_use]
    pub fn stars_version(&self) -> Key<Text> {
        self.key(Tag::Global, "stars:version")
    }

    /// A shard of the username index.
    #[must_use]
    pub fn names(&self, shard: u32) -> Key<Hash> {
        let tag = Tag::Names(shard);
        Key { name: format!("{}name:{tag}", self.prefix), tag, kind: PhantomData }
    }

    /// The shard of the username index that holds a name. Assigned by CRC32, which is part of the stored
    /// format.
    #[must_use]
    pub fn names_with(&self, username: &Username) -> Key<Hash> {
        self.names(self.names_shard(username))
    }

    /// Returns the number of the shard that holds a name.
    #[must_use]
    pub fn names_shard(&self, username: &Username) -> u32 {
        crc32fast::hash(username.as_str().as_bytes()) % self.name_shards
    }

    /// A partition of the intents.
    #[must_use]
    pub fn intents(&self, partition: u32) -> Key<SortedSet> {
        self.key(Tag::Intents(partition), "intents")
    }

    /// A user's record.
    #[must_use]
    pub fn user(&self, user: UserId) -> Key<Hash> {
        self.key(Tag::User(user), "user")
    }

    /// A user's password.
    #[must_use]
    pub fn secret(&self, user: UserId) -> Key<Hash> {
        self.key(Tag::User(user), "secret")
    }

    /// A user's sessions.
    #[must_use]
    pub fn sessions(&self, user: UserId) -> Key<Hash> {
        self.key(Tag::User(user), "sessions")
    }

    /// Items that must never be created in a user's slot.
    #[must_use]
    pub fn void(&self, user: UserId) -> Key<SortedSet> {
        self.key(Tag::User(user), "void")
    }

    /// The users that a user follows.
    #[must_use]
    pub fn following(&self, user: UserId) -> Key<SortedSet> {
        self.key(Tag::User(user), "following")
    }

    /// The followers of a user.
    #[must_use]
    pub fn followers(&self, user: UserId) -> Key<SortedSet> {
        self.key(Tag::User(user), "followers")
    }

    /// A page of users to intersect, and the destinations of its intersections with `following` and with
    /// `followers`.
    #[must_use]
    pub fn find(&self, viewer: UserId, nonce: u64) -> [Key<SortedSet>; 3] {
        ["", ":a", ":b"].map(|part| self.key(Tag::User(viewer), &format!("find:{nonce:x}{part}")))
    }

    /// A post's record.
    #[must_use]
    pub fn post(&self, post: PostId) -> Key<Hash> {
        self.key(Tag::Post(post), "post")
    }

    /// A user's posts.
    #[must_use]
    pub fn posts(&self, author: UserId) -> Key<List> {
        self.key(Tag::User(author), "posts")
    }

    /// A user's newest posts.
    #[must_use]
    pub fn recent(&self, author: UserId) -> Key<SortedSet> {
        self.key(Tag::User(author), "recent")
    }

    /// The summary of a user's cold posts.
    #[must_use]
    pub fn cold(&self, author: UserId) -> Key<Hash> {
        self.key(Tag::User(author), "cold")
    }

    /// A user's deleted posts that may still be in the archive.
    #[must_use]
    pub fn gone(&self, author: UserId) -> Key<SortedSet> {
        self.key(Tag::User(author), "gone")
    }

    /// A user's home timeline.
    #[must_use]
    pub fn timeline(&self, user: UserId) -> Key<List> {
        self.key(Tag::User(user), "timeline")
    }

    /// Posts removed from a user's home timeline.
    #[must_use]
    pub fn removed(&self, user: UserId) -> Key<SortedSet> {
        self.key(Tag::User(user), "removed")
    }

    /// The channel that announces changes that affect a user. Scripts derive its name from a key of the user.
    #[must_use]
    pub fn live(&self, user: UserId) -> String {
        self.key::<Channel>(Tag::User(user), "live").name
    }

    /// The channel that announces authors with new posts that are pulled.
    #[must_use]
    pub fn pulled(&self) -> String {
        self.key::<Channel>(Tag::Global, "pulled").name
    }

    /// The publish attempt bound to an idempotency key of a user.
    #[must_use]
    pub fn attempt(&self, author: UserId, key: Digest) -> Key<Text> {
        self.key(Tag::User(author), &format!("idem:{key}"))
    }

    /// The delivery jobs of a partition.
    #[must_use]
    pub fn fanout(&self, partition: u32) -> Key<Stream> {
        self.key(Tag::Fanout(partition), "fanout")
    }

    /// The jobs of a partition that remove posts from timelines.
    #[must_use]
    pub fn sweep(&self, partition: u32) -> Key<Stream> {
        self.key(Tag::Fanout(partition), "sweep")
    }

    /// Posts that the jobs of a partition have not pushed to all timelines yet.
    #[must_use]
    pub fn fanout_open(&self, partition: u32) -> Key<SortedSet> {
        self.key(Tag::Fanout(partition), "fanout:open")
    }

    /// The number of jobs in the stream of a partition, by author.
    #[must_use]
    pub fn fanout_ready(&self, partition: u32) -> Key<Hash> {
        self.key(Tag::Fanout(partition), "fanout:ready")
    }

    /// Jobs of a partition that are held back.
    #[must_use]
    pub fn fanout_held(&self, partition: u32) -> Key<SortedSet> {
        self.key(Tag::Fanout(partition), "fanout:held")
    }

    /// Authors of a partition with jobs held back.
    #[must_use]
    pub fn fanout_turns(&self, partition: u32) -> Key<SortedSet> {
        self.key(Tag::Fanout(partition), "fanout:turns")
    }

    /// The progress of the jobs of a partition.
    #[must_use]
    pub fn fanout_progress(&self, partition: u32) -> Key<Hash> {
        self.key(Tag::Fanout(partition), "fanout:progress")
    }

    /// The number of timelines written by the jobs of a partition.
    #[must_use]
    pub fn fanout_served(&self, partition: u32) -> Key<Counter> {
        self.key(Tag::Fanout(partition), "fanout:served")
    }

    /// Jobs of a partition that were given up.
    #[must_use]
    pub fn fanout_failed(&self, partition: u32) -> Key<Stream> {
        self.key(Tag::Fanout(partition), "fanout:failed")
    }

    /// Posts queued for the archive.
    #[must_use]
    pub fn pending(&self) -> Key<List> {
        self.key(Tag::Archive, "pending")
    }

    /// Posts taken by a mover.
    #[must_use]
    pub fn moving(&self, mover: &str) -> Key<List> {
        self.key(Tag::Archive, &format!("moving:{mover}"))
    }

    /// The movers.
    #[must_use]
    pub fn movers(&self) -> Key<SortedSet> {
        self.key(Tag::Archive, "movers")
    }

    /// The number of posts archived.
    #[must_use]
    pub fn moved(&self) -> Key<Counter> {
        self.key(Tag::Archive, "moved")
    }

    /// Posts rejected by the archive.
    #[must_use]
    pub fn unmovable(&self) -> Key<Hash> {
        self.key(Tag::Archive, "unmovable")
    }

    /// The days whose visits are not archived yet.
    #[must_use]
    pub fn visit_days(&self) -> Key<Hash> {
        self.key(Tag::Global, "visit:days")
    }

    /// A shard of the visits of a day.
    #[must_use]
    pub fn visits(&self, layout: Layout, shard: u32) -> Key<Set> {
        self.key(Tag::Visits(layout, shard), "visit")
    }

    /// A shard of the viewers of a user's profile on a day.
    #[must_use]
    pub fn audience(&self, user: UserId, day: Day, shard: u32) -> Key<Set> {
        self.key(Tag::User(user), &format!("audience:{}:{shard}", day.number()))
    }

    /// A shard of the regions.
    #[must_use]
    pub fn regions(&self, shard: u64) -> Key<Packed> {
        self.key(Tag::Regions(shard), "region")
    }

    /// Sign-in attempts from an address.
    #[must_use]
    pub fn logins_from(&self, address: Digest) -> Key<Bucket> {
        self.key(Tag::Address(address), "login")
    }

    /// Registrations from an address.
    #[must_use]
    pub fn registrations_from(&self, address: Digest) -> Key<Bucket> {
        self.key(Tag::Address(address), "register")
    }

    /// The query cost bucket of a user.
    #[must_use]
    pub fn cost_of(&self, user: UserId) -> Key<Bucket> {
        self.key(Tag::User(user), "cost")
    }

    /// The publish bucket of a user.
    #[must_use]
    pub fn publishes_of(&self, user: UserId) -> Key<Bucket> {
        self.key(Tag::User(user), "publish")
    }

    /// The query cost bucket of anonymous clients from an address.
    #[must_use]
    pub fn cost_from(&self, address: Digest) -> Key<Bucket> {
        self.key(Tag::Address(address), "cost")
    }

    /// Sign-in attempts for an account from unknown addresses.
    #[must_use]
    pub fn logins_to(&self, account: Digest) -> Key<Bucket> {
        self.key(Tag::Account(account), "login")
    }

    /// Sign-in attempts for an account from a known address.
    #[must_use]
    pub fn known_logins_to(&self, account: Digest, address: Digest) -> Key<Bucket> {
        self.key(Tag::Account(account), &format!("login:{address}"))
    }

    /// Addresses that have signed in to an account.
    #[must_use]
    pub fn known_addresses(&self, account: Digest) -> Key<SortedSet> {
        self.key(Tag::Account(account), "known")
    }

    /// Password attempts through a session.
    #[must_use]
    pub fn guesses(&self, user: UserId, session: SessionId) -> Key<Bucket> {
        self.key(Tag::User(user), &format!("guesses:{session}"))
    }

    /// Successful password checks for a user.
    #[must_use]
    pub fn sign_ins_of(&self, user: UserId) -> Key<Bucket> {
        self.key(Tag::User(user), "signins")
    }

    /// Successful password checks from an address.
    #[must_use]
    pub fn sign_ins_from(&self, address: Digest) -> Key<Bucket> {
        self.key(Tag::Address(address), "signins")
    }

    /// The lock of the process that measures memory usage.
    #[must_use]
    pub fn measuring(&self) -> Key<Text> {
        self.key(Tag::Memory, "measuring")
    }

    /// Data in a simpler encoding, for comparison.
    #[must_use]
    pub fn plain<Kind>(&self, name: &str) -> Key<Kind> {
        self.key(Tag::Memory, name)
    }

    fn key<Kind>(&self, tag: Tag, noun: &str) -> Key<Kind> {
        let mut name = String::with_capacity(self.prefix.len() + noun.len() + 16);
        // Writing to a string cannot fail.
        let _ = write!(name, "{}{tag}:{noun}", self.prefix);
        Key { name, tag, kind: PhantomData }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_of_keys_is_part_of_the_stored_data() {
        let keys = Keys::new("ff:", 16_384);
        let user = UserId::new(7).unwrap();
        assert_eq!(keys.layout().name(), "ff:{g}:layout");
        assert_eq!(keys.next_user().name(), "ff:{g}:next:user");
        assert_eq!(keys.names(12).name(), "ff:name:{n12}");
        assert_eq!(keys.intents(3).name(), "ff:{i3}:intents");
        assert_eq!(keys.user(user).name(), "ff:{u7}:user");
        assert_eq!(keys.secret(user).name(), "ff:{u7}:secret");
        assert_eq!(keys.sessions(user).name(), "ff:{u7}:sessions");
        assert_eq!(keys.void(user).name(), "ff:{u7}:void");
        assert_eq!(keys.following(user).name(), "ff:{u7}:following");
        assert_eq!(keys.followers(user).name(), "ff:{u7}:followers");
        let post = PostId::new(9).unwrap();
        assert_eq!(keys.next_post().name(), "ff:{g}:next:post");
        assert_eq!(keys.probe().name(), "ff:{g}:probe");
        assert_eq!(keys.publishing().name(), "ff:{g}:publishing");
        assert_eq!(keys.stars().name(), "ff:{g}:stars");
        assert_eq!(keys.stars_version().name(), "ff:{g}:stars:version");
        assert_eq!(keys.post(post).name(), "ff:{p9}:post");
        assert_eq!(keys.posts(user).name(), "ff:{u7}:posts");
        assert_eq!(keys.recent(user).name(), "ff:{u7}:recent");
        assert_eq!(keys.cold(user).name(), "ff:{u7}:cold");
        assert_eq!(keys.gone(user).name(), "ff:{u7}:gone");
        assert_eq!(keys.timeline(user).name(), "ff:{u7}:timeline");
        assert_eq!(keys.removed(user).name(), "ff:{u7}:removed");
        assert_eq!(keys.live(user), "ff:{u7}:live");
        assert_eq!(keys.pulled(), "ff:{g}:pulled");
        let digest = Digest::parse("ab").unwrap();
        assert_eq!(keys.attempt(user, digest).name(), "ff:{u7}:idem:000000000000000000000000000000ab");
        assert_eq!(keys.fanout(3).name(), "ff:{f3}:fanout");
        assert_eq!(keys.sweep(3).name(), "ff:{f3}:sweep");
        assert_eq!(keys.fanout_open(3).name(), "ff:{f3}:fanout:open");
        assert_eq!(keys.fanout_ready(3).name(), "ff:{f3}:fanout:ready");
        assert_eq!(keys.fanout_held(3).name(), "ff:{f3}:fanout:held");
        assert_eq!(keys.fanout_turns(3).name(), "ff:{f3}:fanout:turns");
        assert_eq!(keys.fanout_progress(3).name(), "ff:{f3}:fanout:progress");
        assert_eq!(keys.fanout_served(3).name(), "ff:{f3}:fanout:served");
        assert_eq!(keys.fanout_failed(3).name(), "ff:{f3}:fanout:failed");
        assert_eq!(keys.pending().name(), "ff:{a}:pending");
        assert_eq!(keys.moving("m").name(), "ff:{a}:moving:m");
        assert_eq!(keys.movers().name(), "ff:{a}:movers");
        assert_eq!(keys.moved().name(), "ff:{a}:moved");
        assert_eq!(keys.unmovable().name(), "ff:{a}:unmovable");
        let day = Day::from_number(20_777);
        assert_eq!(keys.visit_days().name(), "ff:{g}:visit:days");
        assert_eq!(keys.visits(Layout { day, shards: 391 }, 3).name(), "ff:{v20777.391.3}:visit");
        assert_eq!(keys.audience(user, day, 84).name(), "ff:{u7}:audience:20777:84");
        let hex = "000000000000000000000000000000ab";
        assert_eq!(keys.logins_from(digest).name(), format!("ff:{{h{hex}}}:login"));
        assert_eq!(keys.registrations_from(digest).name(), format!("ff:{{h{hex}}}:register"));
        assert_eq!(keys.logins_to(digest).name(), format!("ff:{{k{hex}}}:login"));
        assert_eq!(keys.known_logins_to(digest, digest).name(), format!("ff:{{k{hex}}}:login:{hex}"));
        assert_eq!(keys.sign_ins_of(user).name(), "ff:{u7}:signins");
        assert_eq!(keys.sign_ins_from(digest).name(), format!("ff:{{h{hex}}}:signins"));
        assert_eq!(keys.cost_of(user).name(), "ff:{u7}:cost");
        assert_eq!(keys.publishes_of(user).name(), "ff:{u7}:publish");
        assert_eq!(keys.cost_from(digest).name(), format!("ff:{{h{hex}}}:cost"));
        assert_eq!(keys.known_addresses(digest).name(), format!("ff:{{k{hex}}}:known"));
        assert_eq!(keys.regions(12).name(), "ff:{r12}:region");
        let find = keys.find(user, 0xab).map(|key| key.name().to_owned());
        assert_eq!(find, ["ff:{u7}:find:ab", "ff:{u7}:find:ab:a", "ff:{u7}:find:ab:b"]);
        let ada = Username::parse("ada").unwrap();
        assert_eq!((keys.names_with(&ada).name(), keys.names_shard(&ada)), ("ff:name:{n1896}", 1_896));
        let session = SessionId::parse("AAAAAAAAAAAAAAAA").unwrap();
        assert_eq!(keys.guesses(user, session).name(), "ff:{u7}:guesses:AAAAAAAAAAAAAAAA");
        assert_eq!(keys.measuring().name(), "ff:{m}:measuring");
        assert_eq!(keys.plain::<Hash>("plain").name(), "ff:{m}:plain");
    }

    #[test]
    fn every_key_is_in_the_table_and_its_format_is_tested() {
        let (table, rest) = include_str!("key.rs").split_once("\nuse ").unwrap();
        let (code, tests) = rest.split_once("mod tests {").unwrap();
        let (_, keys) = code.split_once("impl Keys {").unwrap();
        let functions: Vec<&str> =
            keys.split("pub fn ").skip(1).filter_map(|function| function.split(['(', '<']).next()).collect();
        for name in functions.iter().filter(|name| !["new", "name_shards"].contains(name)) {
            let is_called = ["(", "::<"].iter().any(|end| tests.contains(&format!("keys.{name}{end}")));
            assert!(is_called, "the format of the key `{name}` is not tested");
        }
        // The end of each name, as the test above has it: what follows the hash tag.
        for (_, end) in
            tests.split("\"ff:").skip(1).filter_map(|name| name.split('"').next()?.split_once('}'))
        {
            let noun = end.trim_start_matches(['}', ':']).split([':', '{']).next().unwrap();
            let is_listed = noun.is_empty() || noun == "plain" || table.contains(&format!("}}:{noun}"));
            assert!(is_listed, "the key `{noun}` is not in the table at the top of this file");
        }
    }
}
