//! Every key of the hot store, and the only place where one is put together.
//!
//! `{…}` is the part that Redis Cluster hashes: keys with one tag lie in one slot. A command, a
//! transaction or a script touches keys of one [`Tag`] only, which makes a single Redis and a
//! cluster the same program. All keys begin with a prefix (`ff:`), so that several deployments, or
//! several tests, can share a server.
//!
//! | key | kind | holds |
//! |---|---|---|
//! | `ff:{g}:layout` | hash | what was fixed when the store was first used: `name_shards`; `archive`, the identity of the archive, and `post_hot_limit`, the limit beyond which all posts have been queued for it; and the strategy of timelines in force: `timeline_strategy`, with the number of those there were, `timeline_generation` |
//! | `ff:{g}:next:user`, `ff:{g}:next:post` | counter | the last id issued |
//! | `ff:{g}:probe` | text | when it was last tried to write, for `/readyz`. Kept a minute |
//! | `ff:{g}:publishing` | sorted set | posts that have an id and are not settled yet, by id, see [`crate::store::draft`] |
//! | `ff:{g}:stars` | set | authors whose posts are pulled, not pushed |
//! | `ff:{g}:stars:version` | text | another one with each new star |
//! | `ff:name:{n12}` | hash, sharded | username → user id; `?7` while user 7 is being made |
//! | `ff:{i3}:intents` | sorted set | unfinished operations by the time they began, see [`crate::store::intent`] |
//! | `ff:{u7}:user` | hash | `username`, `display_name`, `bio`, `created_at` |
//! | `ff:{u7}:secret` | hash | `password`: its hash as a PHC string |
//! | `ff:{u7}:sessions` | hash | SHA-256 of a token → the session, see [`crate::store::session`] |
//! | `ff:{u7}:void` | sorted set | what must never come to be in this slot, by when that was noted: `user`, the record itself; `9`, a post; `deleted:9`, a post for a second time. Kept a day |
//! | `ff:{u7}:following` | sorted set | whom user 7 follows, by time of the follow: the truth of an edge |
//! | `ff:{u7}:followers` | sorted set | who follows user 7, by time of the follow: its mirror |
//! | `ff:{u7}:find:N`, `…:a`, `…:b` | sorted set, temporary | a page of users and its two intersections; N is unique |
//! | `ff:{p9}:post` | hash | `author`, `content`, `created_at`, `platform`, `delivery`; or `author`, `deleted`, and `settled`: 1 when the archive knows of it, 2 if the post was never visible |
//! | `ff:{u7}:posts` | list | user 7's posts, greatest id first |
//! | `ff:{u7}:recent` | sorted set | the newest twenty of them, by id |
//! | `ff:{u7}:cold` | hash | user 7's posts that have left `posts` for the archive: `greatest`, the greatest of them there ever was; `count`, how many there are |
//! | `ff:{u7}:gone` | sorted set | user 7's posts that were deleted and that the archive may still have, by id |
//! | `ff:{u7}:timeline` | list | the posts of user 7's home timeline, greatest id first, and a seal; see `store/lua/part/timeline.lua` |
//! | `ff:{u7}:removed` | sorted set | posts that were taken out of that timeline, by when; see `store/lua/part/remove.lua`. Kept a day |
//! | `ff:{u7}:idem:K` | text | the attempt to publish that the idempotency key with the digest K stands for; a day |
//! | `ff:{f3}:fanout` | stream | posts to be brought to timelines |
//! | `ff:{f3}:sweep` | stream | deleted posts to be taken out of them |
//! | `ff:{f3}:fanout:open` | sorted set | posts that are still to be brought to timelines, by id |
//! | `ff:{f3}:fanout:ready` | hash | how many jobs of each author are among those to be brought to timelines |
//! | `ff:{f3}:fanout:held` | sorted set | further jobs of those authors, which are held back: `author:post:time`, padded; see `store/lua/part/turns.lua` |
//! | `ff:{f3}:fanout:turns` | sorted set | the authors of those held back, by the time of the first |
//! | `ff:{f3}:fanout:progress` | hash | how far each of these jobs is: `kind:post` → time, user, timelines served |
//! | `ff:{f3}:fanout:served` | counter | how many timelines have been served, ever |
//! | `ff:{f3}:fanout:failed` | stream | jobs that were given up |
//! | `ff:{g}:visit:days` | hash | the days whose visits are not archived yet → over how many shards they are spread; and `since`, the first day there was |
//! | `ff:{v20777.391.3}:visit` | set, sharded | who came on a day (a number, from 1970-01-01) that is spread over 391 shards: users, and 0 once it is closed |
//! | `ff:{u7}:audience:20777:N` | set, sharded | who looked at user 7's profile on a day, see [`crate::store::audience`]. Kept a month |
//! | `ff:{r12}:region` | packed | two bytes for each of 4,093 users: where they are, see [`crate::store::region`] |
//! | `ff:{h1f…}:login`, `ff:{h1f…}:register` | bucket | attempts to sign in, and accounts made, from the address with the digest 1f…, see [`crate::store::bucket`]. Kept until it is full, as all buckets |
//! | `ff:{k2e…}:login` | bucket | attempts to sign in to the account whose name, which may be nobody's, has the digest 2e… |
//! | `ff:{k2e…}:login:3d…` | bucket | those of them from an address that is known, by its digest |
//! | `ff:{k2e…}:known` | sorted set | from where this account was signed in to, by when last, see [`crate::store::throttle`]. Kept some months |
//! | `ff:{u7}:cost`, `ff:{h1f…}:cost` | bucket | what user 7 may ask for, and nobody from this address |
//! | `ff:{u7}:publish` | bucket | posts that user 7 may publish |
//! | `ff:{u7}:guesses:N` | bucket | attempts to tell the password through the session with the id N |
//! | `ff:{u7}:signins`, `ff:{h1f…}:signins` | bucket | right passwords given for user 7, and from this address |
//! | `ff:{m}:measuring` | text | somebody measures how much memory things take. Kept a minute |
//! | `ff:{m}:…` | | things kept in a simpler way, for comparison. Kept a minute |
//! | `ff:{a}:pending` | list | posts that shall become cold, and deleted ones: `post:time`, the time from when they wait; a post may be there more than once |
//! | `ff:{a}:moving:M` | list | those that the mover M has taken |
//! | `ff:{a}:movers` | sorted set | the movers, by when they were last heard of |
//! | `ff:{a}:moved` | counter | how many posts have been archived, ever |
//! | `ff:{a}:unmovable` | hash | those that the archive does not take: `post` → `post:time` |
//!
//! Times are milliseconds since the epoch, ids decimal numbers.
//!
//! Two kinds of channels have names like keys: on `ff:{u7}:live` it is said what changes for user 7, on
//! `ff:{g}:pulled` who has posted something that its readers pull, see [`crate::store::signal`].

use std::fmt::{self, Write as _};
use std::marker::PhantomData;
use std::sync::Arc;

use redis::{RedisWrite, ToRedisArgs};

use crate::model::clock::Day;
use crate::model::digest::Digest;
use crate::model::id::{PostId, UserId};
use crate::model::session::SessionId;
use crate::model::user::Username;

/// How many partitions the intents are spread over. Part of the stored format.
pub const INTENT_PARTITIONS: u32 = 16;

/// How many partitions the jobs of delivery are spread over, by author. Part of the stored format.
pub const FANOUT_PARTITIONS: u32 = 4;

/// The kind of a key that holds a hash.
#[derive(Debug)]
pub enum Hash {}
/// The kind of a key that holds a set.
#[derive(Debug)]
pub enum Set {}
/// The kind of a key that holds a sorted set.
#[derive(Debug)]
pub enum SortedSet {}
/// The kind of a key that holds a number to count with.
#[derive(Debug)]
pub enum Counter {}
/// The kind of a key that holds a bucket.
#[derive(Debug)]
pub enum Bucket {}
/// The kind of a key that holds a list.
#[derive(Debug)]
pub enum List {}
/// The kind of a key that holds a stream.
#[derive(Debug)]
pub enum Stream {}
/// The kind of a key that holds fields of fixed length, one after the other.
#[derive(Debug)]
pub enum Packed {}
/// The kind of a key that holds a text.
#[derive(Debug)]
pub enum Text {}
/// The kind of a name that is a channel's and no key.
#[derive(Debug)]
enum Channel {}

/// A day, and over how many shards its visits are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Layout {
    /// The day.
    pub day: Day,
    /// How many shards.
    pub shards: u32,
}

/// What a key's `{…}` says: the slot it lies in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tag {
    /// `{g}`: what there is once.
    Global,
    /// `{u7}`: all of one user.
    User(UserId),
    /// `{n12}`: one shard of the username index.
    Names(u32),
    /// `{i3}`: one partition of the intents.
    Intents(u32),
    /// `{p9}`: one post.
    Post(PostId),
    /// `{f3}`: one partition of delivery.
    Fanout(u32),
    /// `{a}`: what is on its way to the archive.
    Archive,
    /// `{v20777.391.3}`: one shard of the visits of a day, of so many.
    Visits(Layout, u32),
    /// `{h1f…}`: what is kept of one address, by its digest.
    Address(Digest),
    /// `{k2e…}`: what is kept of attempts to sign in under one name, by its digest.
    Account(Digest),
    /// `{m}`: what is measured.
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

/// A key whose kind the compiler knows: no list command on a hash.
#[derive(Debug)]
pub struct Key<Kind> {
    name: String,
    tag: Tag,
    kind: PhantomData<fn() -> Kind>,
}

impl<Kind> Key<Kind> {
    /// The slot it lies in.
    #[must_use]
    pub fn tag(&self) -> Tag {
        self.tag
    }

    /// The key as Redis sees it.
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
    /// The keys that begin with this prefix, where the username index has so many shards.
    #[must_use]
    pub fn new(prefix: &str, name_shards: u32) -> Self {
        Self { prefix: prefix.into(), name_shards }
    }

    /// How many shards the username index has.
    #[must_use]
    pub fn name_shards(&self) -> u32 {
        self.name_shards
    }

    /// What holds for the whole store.
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

    /// What is written to see whether writes are taken.
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

    /// One shard of the username index.
    #[must_use]
    pub fn names(&self, shard: u32) -> Key<Hash> {
        let tag = Tag::Names(shard);
        Key { name: format!("{}name:{tag}", self.prefix), tag, kind: PhantomData }
    }

    /// The shard of the username index that holds a name: by crc32, part of the stored format.
    #[must_use]
    pub fn names_with(&self, username: &Username) -> Key<Hash> {
        self.names(self.names_shard(username))
    }

    /// The number of that shard.
    #[must_use]
    pub fn names_shard(&self, username: &Username) -> u32 {
        crc32fast::hash(username.as_str().as_bytes()) % self.name_shards
    }

    /// One partition of the intents.
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

    /// What must never come to be in a user's slot.
    #[must_use]
    pub fn void(&self, user: UserId) -> Key<SortedSet> {
        self.key(Tag::User(user), "void")
    }

    /// Whom a user follows.
    #[must_use]
    pub fn following(&self, user: UserId) -> Key<SortedSet> {
        self.key(Tag::User(user), "following")
    }

    /// Who follows a user.
    #[must_use]
    pub fn followers(&self, user: UserId) -> Key<SortedSet> {
        self.key(Tag::User(user), "followers")
    }

    /// A page of users to intersect, and the places for its intersections with `following` and
    /// with `followers`.
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

    /// What became cold of a user's posts.
    #[must_use]
    pub fn cold(&self, author: UserId) -> Key<Hash> {
        self.key(Tag::User(author), "cold")
    }

    /// A user's posts that were deleted and that the archive may still have.
    #[must_use]
    pub fn gone(&self, author: UserId) -> Key<SortedSet> {
        self.key(Tag::User(author), "gone")
    }

    /// A user's home timeline.
    #[must_use]
    pub fn timeline(&self, user: UserId) -> Key<List> {
        self.key(Tag::User(user), "timeline")
    }

    /// What was taken out of a user's home timeline.
    #[must_use]
    pub fn removed(&self, user: UserId) -> Key<SortedSet> {
        self.key(Tag::User(user), "removed")
    }

    /// The channel on which it is said what changes for a user. Scripts make its name of that of a key of the
    /// user's.
    #[must_use]
    pub fn live(&self, user: UserId) -> String {
        self.key::<Channel>(Tag::User(user), "live").name
    }

    /// The channel on which it is said who has posted something that is pulled.
    #[must_use]
    pub fn pulled(&self) -> String {
        self.key::<Channel>(Tag::Global, "pulled").name
    }

    /// What an idempotency key of a user stands for.
    #[must_use]
    pub fn attempt(&self, author: UserId, key: Digest) -> Key<Text> {
        self.key(Tag::User(author), &format!("idem:{key}"))
    }

    /// The jobs of one partition of delivery.
    #[must_use]
    pub fn fanout(&self, partition: u32) -> Key<Stream> {
        self.key(Tag::Fanout(partition), "fanout")
    }

    /// The jobs of one partition that take posts out of timelines.
    #[must_use]
    pub fn sweep(&self, partition: u32) -> Key<Stream> {
        self.key(Tag::Fanout(partition), "sweep")
    }

    /// Posts that the jobs of one partition are still to bring to timelines.
    #[must_use]
    pub fn fanout_open(&self, partition: u32) -> Key<SortedSet> {
        self.key(Tag::Fanout(partition), "fanout:open")
    }

    /// How many jobs of each author are in the stream of a partition.
    #[must_use]
    pub fn fanout_ready(&self, partition: u32) -> Key<Hash> {
        self.key(Tag::Fanout(partition), "fanout:ready")
    }

    /// Jobs of a partition that are held back.
    #[must_use]
    pub fn fanout_held(&self, partition: u32) -> Key<SortedSet> {
        self.key(Tag::Fanout(partition), "fanout:held")
    }

    /// The authors of the jobs of a partition that are held back.
    #[must_use]
    pub fn fanout_turns(&self, partition: u32) -> Key<SortedSet> {
        self.key(Tag::Fanout(partition), "fanout:turns")
    }

    /// How far the jobs of a partition are.
    #[must_use]
    pub fn fanout_progress(&self, partition: u32) -> Key<Hash> {
        self.key(Tag::Fanout(partition), "fanout:progress")
    }

    /// How many timelines the jobs of a partition have served.
    #[must_use]
    pub fn fanout_served(&self, partition: u32) -> Key<Counter> {
        self.key(Tag::Fanout(partition), "fanout:served")
    }

    /// Jobs of a partition that were given up.
    #[must_use]
    pub fn fanout_failed(&self, partition: u32) -> Key<Stream> {
        self.key(Tag::Fanout(partition), "fanout:failed")
    }

    /// Posts that shall become cold.
    #[must_use]
    pub fn pending(&self) -> Key<List> {
        self.key(Tag::Archive, "pending")
    }

    /// Posts that a mover has taken.
    #[must_use]
    pub fn moving(&self, mover: &str) -> Key<List> {
        self.key(Tag::Archive, &format!("moving:{mover}"))
    }

    /// The movers.
    #[must_use]
    pub fn movers(&self) -> Key<SortedSet> {
        self.key(Tag::Archive, "movers")
    }

    /// How many posts have been archived.
    #[must_use]
    pub fn moved(&self) -> Key<Counter> {
        self.key(Tag::Archive, "moved")
    }

    /// Posts that the archive does not take.
    #[must_use]
    pub fn unmovable(&self) -> Key<Hash> {
        self.key(Tag::Archive, "unmovable")
    }

    /// The days whose visits are not archived yet.
    #[must_use]
    pub fn visit_days(&self) -> Key<Hash> {
        self.key(Tag::Global, "visit:days")
    }

    /// One shard of the visits of a day.
    #[must_use]
    pub fn visits(&self, layout: Layout, shard: u32) -> Key<Set> {
        self.key(Tag::Visits(layout, shard), "visit")
    }

    /// One shard of those who looked at a user's profile on a day.
    #[must_use]
    pub fn audience(&self, user: UserId, day: Day, shard: u32) -> Key<Set> {
        self.key(Tag::User(user), &format!("audience:{}:{shard}", day.number()))
    }

    /// One shard of the regions.
    #[must_use]
    pub fn regions(&self, shard: u64) -> Key<Packed> {
        self.key(Tag::Regions(shard), "region")
    }

    /// Attempts to sign in from an address.
    #[must_use]
    pub fn logins_from(&self, address: Digest) -> Key<Bucket> {
        self.key(Tag::Address(address), "login")
    }

    /// Accounts made from an address.
    #[must_use]
    pub fn registrations_from(&self, address: Digest) -> Key<Bucket> {
        self.key(Tag::Address(address), "register")
    }

    /// What a user may ask for.
    #[must_use]
    pub fn cost_of(&self, user: UserId) -> Key<Bucket> {
        self.key(Tag::User(user), "cost")
    }

    /// What a user may publish.
    #[must_use]
    pub fn publishes_of(&self, user: UserId) -> Key<Bucket> {
        self.key(Tag::User(user), "publish")
    }

    /// What somebody who is nobody may ask for from an address.
    #[must_use]
    pub fn cost_from(&self, address: Digest) -> Key<Bucket> {
        self.key(Tag::Address(address), "cost")
    }

    /// Attempts to sign in to an account, from anywhere that is not known.
    #[must_use]
    pub fn logins_to(&self, account: Digest) -> Key<Bucket> {
        self.key(Tag::Account(account), "login")
    }

    /// Attempts to sign in to an account from an address that is known.
    #[must_use]
    pub fn known_logins_to(&self, account: Digest, address: Digest) -> Key<Bucket> {
        self.key(Tag::Account(account), &format!("login:{address}"))
    }

    /// From where an account was signed in to.
    #[must_use]
    pub fn known_addresses(&self, account: Digest) -> Key<SortedSet> {
        self.key(Tag::Account(account), "known")
    }

    /// Attempts to tell the password through a session.
    #[must_use]
    pub fn guesses(&self, user: UserId, session: SessionId) -> Key<Bucket> {
        self.key(Tag::User(user), &format!("guesses:{session}"))
    }

    /// Right passwords given for a user.
    #[must_use]
    pub fn sign_ins_of(&self, user: UserId) -> Key<Bucket> {
        self.key(Tag::User(user), "signins")
    }

    /// Right passwords given from an address.
    #[must_use]
    pub fn sign_ins_from(&self, address: Digest) -> Key<Bucket> {
        self.key(Tag::Address(address), "signins")
    }

    /// That somebody measures how much memory things take.
    #[must_use]
    pub fn measuring(&self) -> Key<Text> {
        self.key(Tag::Memory, "measuring")
    }

    /// Something kept in a simpler way, for comparison.
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
        assert_eq!(keys.names_with(&Username::parse("ada").unwrap()).name(), "ff:name:{n1896}");
    }
}
