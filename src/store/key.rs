//! Builds all keys of the hot store. No other module builds key names.
//!
//! `{…}` is a Redis Cluster hash tag: keys with the same tag share a slot. A command, transaction or script
//! touches keys of a single [`Tag`], so the same code runs on a single server and on a cluster. All keys begin
//! with a prefix (`ff:`), so that several deployments or tests can share a server.
//!
//! | key | kind | holds |
//! |---|---|---|
//! | `ff:{g}:layout` | hash | store-wide settings: `name_shards`, the number of username index shards, and `fanout_partitions`, the number of delivery job partitions (4 if missing), both fixed on first use; `archive`, the archive's identity; `post_hot_limit`, the last hot limit for which all excess posts were queued for the archive; `timeline_strategy`, the timeline strategy in force; `timeline_generation`, its generation number; `features`, the names of the features that servers must know, missing if there are none; `entry_kinds`, how far the lists of referrers that earlier versions have written are converted: see [`crate::store::conversion`] |
//! | `ff:{g}:next:user`, `ff:{g}:next:post` | counter | the last id issued |
//! | `ff:{g}:issuer` | string | in a cluster, the node that has issued the last post id, or that served the counter when the store was created |
//! | `ff:{g}:probe` | string | time of the last write probe, for `/readyz`. Expires after a minute |
//! | `ff:{g}:publishing` | sorted set | notes on posts that have an id but are neither visible nor revoked yet, by id; see [`crate::store::draft`] |
//! | `ff:{g}:stars` | set | authors whose posts are not pushed; followers pull them (fan-out on read) |
//! | `ff:{g}:stars:numbered` | sorted set | the same authors, numbered in the order in which they became stars |
//! | `ff:{g}:inactive` | sorted set | users whose accounts are inactive, by time of deactivation |
//! | `ff:{g}:account:jobs` | sorted set | accounts whose other data must follow the record, by the time at which this is due: `7:token`; see [`crate::store::account`] |
//! | `ff:name:{n12}` | hash, sharded | username → user id; `?7` while user 7 is being created, `!7` if the account of user 7 is inactive |
//! | `ff:{s12}:subjects` | hash, sharded | subject of an existing application, a digest → user id; `?7` while user 7 is being created |
//! | `ff:{i3}:intents` | sorted set | unfinished operations, by start time; see [`crate::store::intent`] |
//! | `ff:{u7}:user` | hash | the fields of [`crate::store::user`]. If the account is inactive, `inactive_username` instead of `username`, with `suspended`, the time of the suspension, or `deletion`, the time from which the account may be deleted; and `erasing` once that has begun. `moderator` is 1 if the user is a moderator. See [`crate::store::account`] |
//! | `ff:{u7}:secret` | hash | `password`: the password hash, a PHC string; or `subject`: the subject that signs in as user 7, see [`crate::store::subject`] |
//! | `ff:{u7}:sessions` | hash | session token's SHA-256 → session; see [`crate::store::session`]; and `exclusions`, the version of the user's exclusions; see [`crate::store::exclusion`] |
//! | `ff:{u7}:muting` | hash | user whom user 7 has muted → mute; see [`crate::store::exclusion`] |
//! | `ff:{u7}:ties:N` | set, sharded | users who have at some time muted user 7 or issued a recovery code for user 7, and those for whom user 7 has, in shard N; see [`crate::store::tie`] |
//! | `ff:{u7}:blocking` | sorted set | users that user 7 blocks, by time: the source of truth for a block |
//! | `ff:{u7}:fence:9` | string | the version of user 9's exclusions as of the last mirrored change of user 9's block of user 7; see [`crate::store::block`]. Expires after a minute |
//! | `ff:{u7}:blockers` | sorted set | users who block user 7, or the newest 128 of them, by time; see [`crate::store::compact`] |
//! | `ff:{u7}:blockers:count` | counter | number of users who block user 7, if they are more than 128 |
//! | `ff:{u7}:blockers:N` | set, sharded | users who block user 7, if they are more than 128, in shard N; and 0 once the shard is closed; see [`crate::store::tree`] |
//! | `ff:{u7}:written` | string | exists if user 7 has written lately; see [`crate::store::written`]. Expires after seconds |
//! | `ff:{u7}:recovery` | hash | the recovery code with which the password of user 7 can be set: `code`, its SHA-256; `issuer`, a moderator's id or `operator`; `issued_at`, `valid_from` and `expires_at`. Expires with the code |
//! | `ff:{u7}:recoveries` | sorted set | users for whom moderator 7 has issued recovery codes that may be pending, by time at which the code expires; see [`crate::store::recovery`]. Expires 40 days after the last code |
//! | `ff:{u7}:export` | string | the export that user 7 may download; see [`crate::store::export`]. Expires after a day |
//! | `ff:{u7}:void` | sorted set | items that must never be created in this slot, by time of revocation: `user`, the user's record; `9`, post 9; `deleted:9`, post 9 after its deletion. Expires after a day |
//! | `ff:{u7}:following` | sorted set | users that user 7 follows, by follow time: the source of truth for an edge |
//! | `ff:{u7}:followers` | sorted set | user 7's followers, by follow time: the mirror |
//! | `ff:{u7}:requesting` | sorted set | users that user 7 has requested to follow, by time: the source of truth for a request. A user is in at most one of `following` and `requesting` |
//! | `ff:{u7}:withheld` | sorted set | follows and requests of user 7 that are in neither list because the other's account is inactive: `following:9` or `requested:9`, by time |
//! | `ff:{u7}:requests` | sorted set | users who have requested to follow user 7, by time: the mirror |
//! | `ff:{u7}:find:N`, `…:a`, `…:b` | sorted set, temporary | a page of users and its intersections with `following` and `followers`; N is a nonce |
//! | `ff:{p9}:post` | hash | `author`, `content`, `created_at`, `platform`, `delivery`; `visibility`, if only followers can see the post; `details`, unless it is a plain post, in the format of [`Details`](crate::model::details::Details); or a tombstone: `author`, `deleted`, `visibility` as before, and `settled` (1 once the archive has recorded the deletion, 2 if the post was never visible); or, for a minute after the post was archived, only `archived`, the author |
//! | `ff:{p9}:replies`, `ff:{p9}:quotes` | list | the listed entries of the posts that reply to post 9, and of those that quote it: public posts of active, public accounts, in descending order of id, while post 9 has a record |
//! | `ff:{p9}:reposts` | list | the listed reposts of post 9, in the same order; once post 9 is deleted, those still to be deleted |
//! | `ff:{p9}:replies:limited`, `ff:{p9}:quotes:limited`, `ff:{p9}:reposts:limited` | list | the limited entries, as `post:author`: posts for followers only, or of private accounts; otherwise as above |
//! | `ff:{p9}:replies:withheld`, `ff:{p9}:quotes:withheld`, `ff:{p9}:reposts:withheld` | list | the withheld entries: posts of inactive accounts; otherwise as above |
//! | `ff:{u7}:reposted` | hash | post that user 7 has reposted → the repost |
//! | `ff:{p9}:edits` | list | earlier versions of post 9, the newest first, while post 9 has a record: the first one and the newest 19, in the format of [`EarlierVersion`](crate::model::edit::EarlierVersion); missing if the post was never edited |
//! | `ff:{u7}:posts` | list | user 7's hot posts, in descending order of id |
//! | `ff:{u7}:posts:times` | list | creation time and last bits of the id of each post in `posts`, in the same order; see `store/lua/part/times.lua` |
//! | `ff:{u7}:limited` | sorted set | those of `posts` that only followers can see, by creation time |
//! | `ff:{u7}:recent` | sorted set | user 7's twenty newest posts, by id |
//! | `ff:{u7}:cold` | hash | summary of user 7's cold posts, which have left `posts` for the archive: `greatest`, the greatest id ever archived; `count`, the number of cold posts; `latest`, the latest creation time ever archived, absent if not known; `limited`, the number of cold posts that only followers can see, absent if there were none |
//! | `ff:{u7}:gone` | sorted set | user 7's deleted posts that may still be in the archive, by id |
//! | `ff:{u7}:timeline` | list | user 7's home timeline: post ids in descending order, then a seal; see `store/lua/part/timeline.lua` |
//! | `ff:{u7}:removed` | sorted set | posts removed from user 7's timeline, by time of removal; see `store/lua/part/remove.lua`. Expires after a day |
//! | `ff:{u7}:idem:K` | string | publish attempt or edit bound to the idempotency key with digest K; see [`crate::store::draft`]. Expires after a day |
//! | `ff:{u7}:expiring` | sorted set | names of keys of user 7 that expire and that nothing else names, by time of expiry: `idem:K`, `guesses:N`; see [`crate::store::expiring`]. Expires with the last of them |
//! | `ff:{f3}:fanout` | stream | jobs that push posts to timelines |
//! | `ff:{f3}:sweep` | stream | jobs that remove deleted posts from timelines |
//! | `ff:{f3}:fanout:open` | sorted set | posts not yet pushed to all timelines, by id |
//! | `ff:{f3}:fanout:ready` | hash | number of push jobs in the stream, by author |
//! | `ff:{f3}:fanout:held` | sorted set | push jobs held back because their author has enough jobs in the stream: `author:post:time`, padded; see `store/lua/part/turns.lua` |
//! | `ff:{f3}:fanout:turns` | sorted set | authors with held-back jobs, by queueing time of the author's first held-back job |
//! | `ff:{f3}:fanout:progress` | hash | progress of the partition's jobs: `kind:post` → follow time and id of the last follower processed, and number of followers processed |
//! | `ff:{f3}:fanout:served` | counter | total number of timelines written |
//! | `ff:{f3}:fanout:failed` | stream | jobs abandoned after repeated starts without progress |
//! | `ff:{g}:visit:days` | hash | day not archived yet → number of the day's shards; and `since`, the first day recorded |
//! | `ff:{g}:visit:closed` | sorted set | archived days whose shards have not expired yet, by time of the archiving: `20777.391`, day 20777 in 391 shards. Expires after two days |
//! | `ff:{v20777.391.3}:visit` | set, sharded | visitors on day 20777 (counted from 1970-01-01), in shard 3 of 391: user ids, and 0 once the shard is closed |
//! | `ff:{u7}:audience:20777:N` | set, sharded | viewers of user 7's profile on day 20777, in shard N; see [`crate::store::audience`]. Expires after a month |
//! | `ff:{u7}:viewed:2597:N` | set, sharded | users whose profiles user 7 has viewed in the 2,597th period of eight days, in shard N; see [`crate::store::audience`]. Expires after 40 days |
//! | `ff:{r12}:region` | packed string | regions of 4,093 users, two bytes each; see [`crate::store::region`] |
//! | `ff:{h1f…}:login`, `ff:{h1f…}:register` | bucket | sign-in attempts and registrations from the address with digest 1f…; see [`crate::store::bucket`]. Like every bucket, expires once full |
//! | `ff:{k2e…}:login` | bucket | sign-in attempts for the username with digest 2e…, from unknown addresses. The user need not exist |
//! | `ff:{k2e…}:login:3d…` | bucket | sign-in attempts for that username from the known address with digest 3d… |
//! | `ff:{k2e…}:known` | sorted set | addresses that have signed in to that account, by time of the last sign-in; see [`crate::store::throttle`]. Expires after 90 days |
//! | `ff:{u7}:cost`, `ff:{h1f…}:cost` | bucket | query cost available to user 7, and to anonymous clients from the address with digest 1f… |
//! | `ff:{u7}:events` | bucket | cost available to the events that user 7 receives |
//! | `ff:{u7}:changes:9` | bucket | times that user 7 may follow, unblock or unmute user 9 |
//! | `ff:{u7}:publish` | bucket | posts that user 7 may publish or edit |
//! | `ff:{u7}:privacy` | bucket | times that user 7 may make the account private or public |
//! | `ff:{u7}:report` | bucket | reports that user 7 may send |
//! | `ff:{u7}:guesses:N` | bucket | password attempts made in the session with id N |
//! | `ff:{u7}:signins`, `ff:{h1f…}:signins` | bucket | successful password checks for user 7, and from the address with digest 1f… |
//! | `ff:{a}:pending` | list | posts, live or deleted, queued for the archive: `post:time`, where `time` is when the post was queued. A post may occur more than once |
//! | `ff:{a}:moving:M` | list | posts taken by mover M |
//! | `ff:{a}:movers` | sorted set | movers, by time of the last heartbeat |
//! | `ff:{a}:moved` | counter | total number of posts archived |
//! | `ff:{a}:unmovable` | hash | posts rejected by the archive: `post` → `post:time` |
//! | `ff:{m}:invites` | sorted set | codes of all invites, by time of creation |
//! | `ff:{m}:invite:C` | hash | the invite with code C: `uses`, the maximum number of users; `expires`, the time from which it is no longer valid, missing if it does not expire; `created_at`; `created_by`, the moderator's id or `operator`; and `note` |
//! | `ff:{m}:invite:C:used` | sorted set | users who have registered with invite C, or are registering, by time of use; `erased:N` for a user who was erased |
//! | `ff:{m}:invite:C:unfinished` | sorted set | those users who may not exist, because their registration is in progress or was interrupted; see [`crate::store::invite`] |
//! | `ff:{m}:next:report` | counter | the last report id issued |
//! | `ff:{m}:reports` | sorted set | open reports, by id |
//! | `ff:{m}:reports:records` | hash | open report → its record; see [`crate::store::report`] |
//! | `ff:{m}:reports:ids` | hash | `7:user:9`, user 7's open report of user 9, or `7:post:9`, that of post 9 → the report's id |
//! | `ff:{m}:reports:counts` | hash | numbers of open reports: `by:7`, those by user 7; `about:7`, those of user 7 and user 7's posts |
//! | `ff:{m}:log` | stream | actions of moderators, the newest 100,000 or a few more; see [`crate::store::moderation_log`] |
//!
//! Times are in milliseconds since the Unix epoch; ids are decimal numbers.
//!
//! Two kinds of pub/sub channels are named like keys: `ff:{u7}:live` announces changes that affect user 7;
//! `ff:{g}:pulled` announces authors of new posts that followers pull. In a cluster they are channels of sharded
//! pub/sub, so they have slots as well. See [`crate::store::signal`].

use std::fmt::{self, Write as _};
use std::marker::PhantomData;
use std::sync::Arc;

use redis::{RedisWrite, ToRedisArgs};

use crate::driver::topology::slot;
use crate::model::clock::Day;
use crate::model::digest::Digest;
use crate::model::id::{PostId, UserId};
use crate::model::invite::InviteCode;
use crate::model::referrer::{EntryKind, ReferrerKind};
use crate::model::relation::Side;
use crate::model::session::SessionId;
use crate::model::subject::Subject;
use crate::model::user::Username;

/// Number of intent partitions. Part of the stored format.
pub const INTENT_PARTITIONS: u32 = 16;

/// Number of delivery job partitions of stores whose layout does not contain it. Part of the stored format.
pub const FIRST_FANOUT_PARTITIONS: u32 = 4;

/// Beginning of the names of the keys of publish attempts and edits.
const ATTEMPT: &str = "idem:";
/// Beginning of the names of the keys of password attempts in a session.
const GUESSES: &str = "guesses:";

/// Marker type of keys that hold a hash.
#[derive(Debug)]
pub enum Hash {}
/// Marker type of keys that hold a set.
#[derive(Debug)]
pub enum Set {}
/// Marker type of keys that hold a sorted set.
#[derive(Debug)]
pub enum SortedSet {}
/// Marker type of keys that hold a counter.
#[derive(Debug)]
pub enum Counter {}
/// Marker type of keys that hold a token bucket.
#[derive(Debug)]
pub enum Bucket {}
/// Marker type of keys that hold a list.
#[derive(Debug)]
pub enum List {}
/// Marker type of keys that hold a stream.
#[derive(Debug)]
pub enum Stream {}
/// Marker type of keys that hold a string of fixed-length fields.
#[derive(Debug)]
pub enum Packed {}
/// Marker type of keys that hold a string.
#[derive(Debug)]
pub enum Text {}
/// Marker type of pub/sub channels, which are named like keys.
#[derive(Debug)]
pub enum Channel {}

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

    /// Appends the tag to a name. The tags of which a page has many are written without a formatter, whose share in the
    /// server's work would be noticeable.
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

    /// Returns the key of the layout, which holds the store-wide settings.
    #[must_use]
    pub fn layout(&self) -> Key<Hash> {
        self.key(Tag::Global, "layout")
    }

    /// Returns the key of the last user id issued.
    #[must_use]
    pub fn next_user(&self) -> Key<Counter> {
        self.key(Tag::Global, "next:user")
    }

    /// Returns the key of the last post id issued.
    #[must_use]
    pub fn next_post(&self) -> Key<Counter> {
        self.key(Tag::Global, "next:post")
    }

    /// Returns the key of the node that has issued the last post id, in a cluster.
    #[must_use]
    pub fn issuer(&self) -> Key<Text> {
        self.key(Tag::Global, "issuer")
    }

    /// Returns the key that the readiness probe writes, to check that Redis accepts writes.
    #[must_use]
    pub fn probe(&self) -> Key<Text> {
        self.key(Tag::Global, "probe")
    }

    /// Returns the key of the notes on posts being published.
    #[must_use]
    pub fn publishing(&self) -> Key<SortedSet> {
        self.key(Tag::Global, "publishing")
    }

    /// Returns the key of the stars: authors whose posts followers pull.
    #[must_use]
    pub fn stars(&self) -> Key<Set> {
        self.key(Tag::Global, "stars")
    }

    /// Returns the key of the stars' numbers.
    #[must_use]
    pub fn numbered_stars(&self) -> Key<SortedSet> {
        self.key(Tag::Global, "stars:numbered")
    }

    /// Returns the key of a username index shard.
    #[must_use]
    pub fn names(&self, shard: u32) -> Key<Hash> {
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

    /// Returns the key of the users whose accounts are inactive.
    #[must_use]
    pub fn inactive(&self) -> Key<SortedSet> {
        self.key(Tag::Global, "inactive")
    }

    /// Returns the key of the jobs of accounts.
    #[must_use]
    pub fn account_jobs(&self) -> Key<SortedSet> {
        self.key(Tag::Global, "account:jobs")
    }

    /// Returns the key of a subject index shard. There are as many as username index shards.
    #[must_use]
    pub fn subjects(&self, shard: u32) -> Key<Hash> {
        self.key(Tag::Subjects(shard), "subjects")
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

    /// Returns the key of an intent partition.
    #[must_use]
    pub fn intents(&self, partition: u32) -> Key<SortedSet> {
        self.key(Tag::Intents(partition), "intents")
    }

    /// Returns the key of a user's record.
    #[must_use]
    pub fn user(&self, user: UserId) -> Key<Hash> {
        self.key(Tag::User(user), "user")
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

    /// Returns the key of a user's password hash or subject.
    #[must_use]
    pub fn secret(&self, user: UserId) -> Key<Hash> {
        self.key(Tag::User(user), "secret")
    }

    /// Returns the key of a user's sessions.
    #[must_use]
    pub fn sessions(&self, user: UserId) -> Key<Hash> {
        self.key(Tag::User(user), "sessions")
    }

    /// Returns the key of the mutes of a user.
    #[must_use]
    pub fn muting(&self, user: UserId) -> Key<Hash> {
        self.key(Tag::User(user), "muting")
    }

    /// Returns the key of one shard of the users in whose data a user may be named, and who may be named in theirs.
    #[must_use]
    pub fn ties(&self, user: UserId, shard: u32) -> Key<Set> {
        self.key(Tag::User(user), &format!("ties:{shard}"))
    }

    /// Returns the key of the names of a user's keys that expire.
    #[must_use]
    pub fn expiring(&self, user: UserId) -> Key<SortedSet> {
        self.key(Tag::User(user), "expiring")
    }

    /// Returns the key with this name among a user's keys that expire; `None` if it is not one of them.
    #[must_use]
    pub fn expiring_named(&self, user: UserId, name: &str) -> Option<Key<Text>> {
        let is_known = [ATTEMPT, GUESSES].iter().any(|beginning| name.starts_with(beginning));
        is_known.then(|| self.key(Tag::User(user), name))
    }

    /// Returns the key of the items that must never be created in a user's slot.
    #[must_use]
    pub fn void(&self, user: UserId) -> Key<SortedSet> {
        self.key(Tag::User(user), "void")
    }

    /// Returns the key that exists if a user has written lately.
    #[must_use]
    pub fn written(&self, user: UserId) -> Key<Text> {
        self.key(Tag::User(user), "written")
    }

    /// Returns the key of the recovery code of a user.
    #[must_use]
    pub fn recovery(&self, user: UserId) -> Key<Hash> {
        self.key(Tag::User(user), "recovery")
    }

    /// Returns the key of the users for whom a moderator has issued recovery codes.
    #[must_use]
    pub fn recoveries(&self, moderator: UserId) -> Key<SortedSet> {
        self.key(Tag::User(moderator), "recoveries")
    }

    /// Returns the key of the export that a user may download.
    #[must_use]
    pub fn export(&self, user: UserId) -> Key<Text> {
        self.key(Tag::User(user), "export")
    }

    /// Returns the key of the users that a user follows.
    #[must_use]
    pub fn following(&self, user: UserId) -> Key<SortedSet> {
        self.key(Tag::User(user), "following")
    }

    /// Returns the key of a user's followers.
    #[must_use]
    pub fn followers(&self, user: UserId) -> Key<SortedSet> {
        self.key(Tag::User(user), "followers")
    }

    /// Returns the key of a user's follows and requests that are withheld.
    #[must_use]
    pub fn withheld(&self, user: UserId) -> Key<SortedSet> {
        self.key(Tag::User(user), "withheld")
    }

    /// Returns the key of the users that a user has requested to follow.
    #[must_use]
    pub fn requesting(&self, user: UserId) -> Key<SortedSet> {
        self.key(Tag::User(user), "requesting")
    }

    /// Returns the key of the users who have requested to follow a user.
    #[must_use]
    pub fn requests(&self, user: UserId) -> Key<SortedSet> {
        self.key(Tag::User(user), "requests")
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

    /// Returns the key of the users that a user blocks.
    #[must_use]
    pub fn blocking(&self, user: UserId) -> Key<SortedSet> {
        self.key(Tag::User(user), "blocking")
    }

    /// Returns the key of the last version of another user's block of this user.
    #[must_use]
    pub fn fence(&self, user: UserId, blocker: UserId) -> Key<Text> {
        self.key(Tag::User(user), &format!("fence:{blocker}"))
    }

    /// Returns the key of a page of users, and the keys of its intersections with `following` and
    /// `followers`.
    #[must_use]
    pub fn find(&self, viewer: UserId, nonce: u64) -> [Key<SortedSet>; 3] {
        ["", ":a", ":b"].map(|part| self.key(Tag::User(viewer), &format!("find:{nonce:x}{part}")))
    }

    /// Returns the key of a post's record.
    #[must_use]
    pub fn post(&self, post: PostId) -> Key<Hash> {
        self.key(Tag::Post(post), "post")
    }

    /// Returns the key of these entries of a post's replies, of the posts that quote it, or of its reposts.
    #[must_use]
    pub fn referrers(&self, post: PostId, kind: ReferrerKind, entries: EntryKind) -> Key<List> {
        self.key(Tag::Post(post), &format!("{}{}", kind.attachment().noun, entries.suffix()))
    }

    /// Returns the keys of a post's referrers of this kind, in the order of [`EntryKind::ALL`].
    #[must_use]
    pub fn entries(&self, post: PostId, kind: ReferrerKind) -> [Key<List>; EntryKind::ALL.len()] {
        EntryKind::ALL.map(|entries| self.referrers(post, kind, entries))
    }

    /// Returns the key of the posts that a user has reposted.
    #[must_use]
    pub fn reposted(&self, user: UserId) -> Key<Hash> {
        self.key(Tag::User(user), "reposted")
    }

    /// Returns the key of a hot post's earlier versions.
    #[must_use]
    pub fn edits(&self, post: PostId) -> Key<List> {
        self.key(Tag::Post(post), "edits")
    }

    /// Returns the key of a user's hot posts.
    #[must_use]
    pub fn posts(&self, author: UserId) -> Key<List> {
        self.key(Tag::User(author), "posts")
    }

    /// Returns the key of the creation times of a user's hot posts.
    #[must_use]
    pub fn post_times(&self, author: UserId) -> Key<List> {
        self.key(Tag::User(author), "posts:times")
    }

    /// Returns the key of a user's hot posts that only followers can see.
    #[must_use]
    pub fn limited(&self, author: UserId) -> Key<SortedSet> {
        self.key(Tag::User(author), "limited")
    }

    /// Returns the key of a user's newest posts.
    #[must_use]
    pub fn recent(&self, author: UserId) -> Key<SortedSet> {
        self.key(Tag::User(author), "recent")
    }

    /// Returns the key of the summary of a user's cold posts.
    #[must_use]
    pub fn cold(&self, author: UserId) -> Key<Hash> {
        self.key(Tag::User(author), "cold")
    }

    /// Returns the key of a user's deleted posts that may still be in the archive.
    #[must_use]
    pub fn gone(&self, author: UserId) -> Key<SortedSet> {
        self.key(Tag::User(author), "gone")
    }

    /// Returns the key of a user's home timeline.
    #[must_use]
    pub fn timeline(&self, user: UserId) -> Key<List> {
        self.key(Tag::User(user), "timeline")
    }

    /// Returns the key of the posts removed from a user's home timeline.
    #[must_use]
    pub fn removed(&self, user: UserId) -> Key<SortedSet> {
        self.key(Tag::User(user), "removed")
    }

    /// Returns the channel that announces changes that affect a user. Scripts derive its name from one of the
    /// user's keys.
    #[must_use]
    pub fn live(&self, user: UserId) -> Key<Channel> {
        self.key(Tag::User(user), "live")
    }

    /// Returns the channel that announces authors of new posts that followers pull.
    #[must_use]
    pub fn pulled(&self) -> Key<Channel> {
        self.key(Tag::Global, "pulled")
    }

    /// Returns the key of the publish attempt bound to one of a user's idempotency keys.
    #[must_use]
    pub fn attempt(&self, author: UserId, key: Digest) -> Key<Text> {
        self.key(Tag::User(author), &format!("{ATTEMPT}{key}"))
    }

    /// Returns the key of a partition's push jobs.
    #[must_use]
    pub fn fanout(&self, partition: u32) -> Key<Stream> {
        self.key(Tag::Fanout(partition), "fanout")
    }

    /// Returns the key of a partition's jobs that remove posts from timelines.
    #[must_use]
    pub fn sweep(&self, partition: u32) -> Key<Stream> {
        self.key(Tag::Fanout(partition), "sweep")
    }

    /// Returns the key of the posts that a partition's jobs have not pushed to all timelines yet.
    #[must_use]
    pub fn fanout_open(&self, partition: u32) -> Key<SortedSet> {
        self.key(Tag::Fanout(partition), "fanout:open")
    }

    /// Returns the key of the number of jobs in a partition's stream, by author.
    #[must_use]
    pub fn fanout_ready(&self, partition: u32) -> Key<Hash> {
        self.key(Tag::Fanout(partition), "fanout:ready")
    }

    /// Returns the key of a partition's held-back jobs.
    #[must_use]
    pub fn fanout_held(&self, partition: u32) -> Key<SortedSet> {
        self.key(Tag::Fanout(partition), "fanout:held")
    }

    /// Returns the key of the authors with held-back jobs in a partition.
    #[must_use]
    pub fn fanout_turns(&self, partition: u32) -> Key<SortedSet> {
        self.key(Tag::Fanout(partition), "fanout:turns")
    }

    /// Returns the key of the progress of a partition's jobs.
    #[must_use]
    pub fn fanout_progress(&self, partition: u32) -> Key<Hash> {
        self.key(Tag::Fanout(partition), "fanout:progress")
    }

    /// Returns the key of the total number of timelines that a partition's jobs have written.
    #[must_use]
    pub fn fanout_served(&self, partition: u32) -> Key<Counter> {
        self.key(Tag::Fanout(partition), "fanout:served")
    }

    /// Returns the key of a partition's abandoned jobs.
    #[must_use]
    pub fn fanout_failed(&self, partition: u32) -> Key<Stream> {
        self.key(Tag::Fanout(partition), "fanout:failed")
    }

    /// Returns the key of the posts queued for the archive.
    #[must_use]
    pub fn pending(&self) -> Key<List> {
        self.key(Tag::Archive, "pending")
    }

    /// Returns the key of the posts that a mover has taken.
    #[must_use]
    pub fn moving(&self, mover: &str) -> Key<List> {
        self.key(Tag::Archive, &format!("moving:{mover}"))
    }

    /// Returns the key of the movers, scored by last heartbeat.
    #[must_use]
    pub fn movers(&self) -> Key<SortedSet> {
        self.key(Tag::Archive, "movers")
    }

    /// Returns the key of the total number of posts archived.
    #[must_use]
    pub fn moved(&self) -> Key<Counter> {
        self.key(Tag::Archive, "moved")
    }

    /// Returns the key of the posts that the archive rejected.
    #[must_use]
    pub fn unmovable(&self) -> Key<Hash> {
        self.key(Tag::Archive, "unmovable")
    }

    /// Returns the key of the days whose visits are not archived yet.
    #[must_use]
    pub fn visit_days(&self) -> Key<Hash> {
        self.key(Tag::Global, "visit:days")
    }

    /// Returns the key of the archived days whose visits have not expired yet.
    #[must_use]
    pub fn closed_visits(&self) -> Key<SortedSet> {
        self.key(Tag::Global, "visit:closed")
    }

    /// Returns the key of one shard of a day's visits.
    #[must_use]
    pub fn visits(&self, layout: Layout, shard: u32) -> Key<Set> {
        self.key(Tag::Visits(layout, shard), "visit")
    }

    /// Returns the key of one shard of a day's viewers of a user's profile.
    #[must_use]
    pub fn audience(&self, user: UserId, day: Day, shard: u32) -> Key<Set> {
        self.key(Tag::User(user), &format!("audience:{}:{shard}", day.number()))
    }

    /// Returns the key of the newest users who block a user.
    #[must_use]
    pub fn blockers(&self, user: UserId) -> Key<SortedSet> {
        self.key(Tag::User(user), "blockers")
    }

    /// Returns the key of the number of users who block a user.
    #[must_use]
    pub fn blocker_count(&self, user: UserId) -> Key<Counter> {
        self.key(Tag::User(user), "blockers:count")
    }

    /// Returns the key of one shard of the users who block a user.
    #[must_use]
    pub fn blocker_shard(&self, user: UserId, shard: u32) -> Key<Set> {
        self.key(Tag::User(user), &format!("blockers:{shard}"))
    }

    /// Returns the key of one shard of the users whose profiles a user has viewed in a period.
    #[must_use]
    pub fn viewed(&self, user: UserId, period: i64, shard: u32) -> Key<Set> {
        self.key(Tag::User(user), &format!("viewed:{period}:{shard}"))
    }

    /// Returns the key of a region shard.
    #[must_use]
    pub fn regions(&self, shard: u64) -> Key<Packed> {
        self.key(Tag::Regions(shard), "region")
    }

    /// Returns the key of the bucket that limits sign-in attempts from an address.
    #[must_use]
    pub fn logins_from(&self, address: Digest) -> Key<Bucket> {
        self.key(Tag::Address(address), "login")
    }

    /// Returns the key of the bucket that limits registrations from an address.
    #[must_use]
    pub fn registrations_from(&self, address: Digest) -> Key<Bucket> {
        self.key(Tag::Address(address), "register")
    }

    /// Returns the key of the bucket that limits the cost of a user's queries.
    #[must_use]
    pub fn cost_of(&self, user: UserId) -> Key<Bucket> {
        self.key(Tag::User(user), "cost")
    }

    /// Returns the key of the bucket that limits the cost of the events that a user receives.
    #[must_use]
    pub fn events_of(&self, user: UserId) -> Key<Bucket> {
        self.key(Tag::User(user), "events")
    }

    /// Returns the key of the bucket that limits how often a user changes their relation to another user.
    #[must_use]
    pub fn changes_of(&self, user: UserId, other: UserId) -> Key<Bucket> {
        self.key(Tag::User(user), &format!("changes:{other}"))
    }

    /// Returns the key of the bucket that limits how many posts a user publishes.
    #[must_use]
    pub fn publishes_of(&self, user: UserId) -> Key<Bucket> {
        self.key(Tag::User(user), "publish")
    }

    /// Returns the key of the bucket that limits how often a user makes their account private or public.
    #[must_use]
    pub fn privacy_of(&self, user: UserId) -> Key<Bucket> {
        self.key(Tag::User(user), "privacy")
    }

    /// Returns the key of the bucket that limits how many reports a user sends.
    #[must_use]
    pub fn reports_of(&self, user: UserId) -> Key<Bucket> {
        self.key(Tag::User(user), "report")
    }

    /// Returns the key of the bucket that limits the cost of anonymous queries from an address.
    #[must_use]
    pub fn cost_from(&self, address: Digest) -> Key<Bucket> {
        self.key(Tag::Address(address), "cost")
    }

    /// Returns the key of the bucket that limits sign-in attempts to an account from unknown addresses.
    #[must_use]
    pub fn logins_to(&self, account: Digest) -> Key<Bucket> {
        self.key(Tag::Account(account), "login")
    }

    /// Returns the key of the bucket that limits sign-in attempts to an account from one known address.
    #[must_use]
    pub fn known_logins_to(&self, account: Digest, address: Digest) -> Key<Bucket> {
        self.key(Tag::Account(account), &format!("login:{address}"))
    }

    /// Returns the key of the addresses that have signed in to an account.
    #[must_use]
    pub fn known_addresses(&self, account: Digest) -> Key<SortedSet> {
        self.key(Tag::Account(account), "known")
    }

    /// Returns the key of the bucket that limits password attempts made in a session.
    #[must_use]
    pub fn guesses(&self, user: UserId, session: SessionId) -> Key<Bucket> {
        self.key(Tag::User(user), &format!("{GUESSES}{session}"))
    }

    /// Returns the key of the bucket that limits successful password checks for a user.
    #[must_use]
    pub fn sign_ins_of(&self, user: UserId) -> Key<Bucket> {
        self.key(Tag::User(user), "signins")
    }

    /// Returns the key of the bucket that limits successful password checks from an address.
    #[must_use]
    pub fn sign_ins_from(&self, address: Digest) -> Key<Bucket> {
        self.key(Tag::Address(address), "signins")
    }

    /// Returns the key of the codes of all invites.
    #[must_use]
    pub fn invites(&self) -> Key<SortedSet> {
        self.key(Tag::Moderation, "invites")
    }

    /// Returns the key of an invite.
    #[must_use]
    pub fn invite(&self, code: &InviteCode) -> Key<Hash> {
        self.key(Tag::Moderation, &format!("invite:{}", code.as_str()))
    }

    /// Returns the key of the users who have registered with an invite, or are registering.
    #[must_use]
    pub fn invite_users(&self, code: &InviteCode) -> Key<SortedSet> {
        self.key(Tag::Moderation, &format!("invite:{}:used", code.as_str()))
    }

    /// Returns the key of the users of an invite who may not exist.
    #[must_use]
    pub fn invite_unfinished(&self, code: &InviteCode) -> Key<SortedSet> {
        self.key(Tag::Moderation, &format!("invite:{}:unfinished", code.as_str()))
    }

    /// Returns the key of the last report id issued.
    #[must_use]
    pub fn next_report(&self) -> Key<Counter> {
        self.key(Tag::Moderation, "next:report")
    }

    /// Returns the key of the open reports.
    #[must_use]
    pub fn reports(&self) -> Key<SortedSet> {
        self.key(Tag::Moderation, "reports")
    }

    /// Returns the key of the records of open reports.
    #[must_use]
    pub fn report_records(&self) -> Key<Hash> {
        self.key(Tag::Moderation, "reports:records")
    }

    /// Returns the key of the ids of open reports, by who reports what.
    #[must_use]
    pub fn report_ids(&self) -> Key<Hash> {
        self.key(Tag::Moderation, "reports:ids")
    }

    /// Returns the key of the numbers of open reports, by reporter and by reported user.
    #[must_use]
    pub fn report_counts(&self) -> Key<Hash> {
        self.key(Tag::Moderation, "reports:counts")
    }

    /// Returns the key of the log of what moderators did.
    #[must_use]
    pub fn moderation_log(&self) -> Key<Stream> {
        self.key(Tag::Moderation, "log")
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
    fn the_format_of_keys_is_part_of_the_stored_data() {
        let keys = Keys::new("ff:", 16_384);
        let user = UserId::new(7).unwrap();
        assert_eq!(keys.layout().name(), "ff:{g}:layout");
        assert_eq!(keys.next_user().name(), "ff:{g}:next:user");
        assert_eq!(keys.names(12).name(), "ff:name:{n12}");
        assert_eq!(keys.subjects(12).name(), "ff:{s12}:subjects");
        let subject = Subject::of("https://a.example", "7");
        assert_eq!(
            (keys.subjects_with(subject).name(), keys.subjects_shard(subject)),
            ("ff:{s613}:subjects", 613)
        );
        assert_eq!(keys.intents(3).name(), "ff:{i3}:intents");
        assert_eq!(keys.user(user).name(), "ff:{u7}:user");
        assert_eq!(keys.user_of(b"ff:{u7}:user"), Some(user));
        assert_eq!(keys.names_shard_of(b"ff:name:{n12}"), Some(12));
        assert_eq!(keys.sessions_owner_of(b"ff:{u7}:sessions"), Some(user));
        assert_eq!(keys.user_of(b"ff:{u7}:secret").or(keys.user_of(b"xx:{u7}:user")), None);
        assert_eq!(keys.prefix(), "ff:");
        assert_eq!(keys.secret(user).name(), "ff:{u7}:secret");
        assert_eq!(keys.sessions(user).name(), "ff:{u7}:sessions");
        assert_eq!(keys.muting(user).name(), "ff:{u7}:muting");
        assert_eq!(keys.void(user).name(), "ff:{u7}:void");
        assert_eq!(keys.following(user).name(), "ff:{u7}:following");
        assert_eq!(keys.followers(user).name(), "ff:{u7}:followers");
        assert_eq!(keys.requesting(user).name(), "ff:{u7}:requesting");
        assert_eq!(keys.requests(user).name(), "ff:{u7}:requests");
        assert_eq!(keys.withheld(user).name(), "ff:{u7}:withheld");
        for (side, name) in [
            (Side::Following, "following"),
            (Side::Followers, "followers"),
            (Side::Requesting, "requesting"),
            (Side::Requests, "requests"),
        ] {
            assert_eq!(keys.list(user, side).name(), format!("ff:{{u7}}:{name}"));
        }
        assert_eq!(keys.blocking(user).name(), "ff:{u7}:blocking");
        assert_eq!(keys.fence(user, UserId::new(9).unwrap()).name(), "ff:{u7}:fence:9");
        assert_eq!(keys.ties(user, 84).name(), "ff:{u7}:ties:84");
        assert_eq!(keys.viewed(user, 2_597, 84).name(), "ff:{u7}:viewed:2597:84");
        assert_eq!(keys.closed_visits().name(), "ff:{g}:visit:closed");
    }

    #[test]
    fn the_format_of_other_keys_is_part_of_the_stored_data() {
        let keys = Keys::new("ff:", 16_384);
        let user = UserId::new(7).unwrap();
        let post = PostId::new(9).unwrap();
        assert_eq!(keys.next_post().name(), "ff:{g}:next:post");
        assert_eq!(keys.probe().name(), "ff:{g}:probe");
        assert_eq!(keys.publishing().name(), "ff:{g}:publishing");
        assert_eq!(keys.stars().name(), "ff:{g}:stars");
        assert_eq!(keys.inactive().name(), "ff:{g}:inactive");
        assert_eq!(keys.account_jobs().name(), "ff:{g}:account:jobs");
        assert_eq!(keys.numbered_stars().name(), "ff:{g}:stars:numbered");
        assert_eq!(keys.post(post).name(), "ff:{p9}:post");
        assert_eq!(
            keys.referrers(post, ReferrerKind::Reply, EntryKind::Limited).name(),
            "ff:{p9}:replies:limited"
        );
        let lists = |kind| keys.entries(post, kind).map(|key| key.name().to_owned());
        assert_eq!(
            lists(ReferrerKind::Reply),
            ["ff:{p9}:replies", "ff:{p9}:replies:limited", "ff:{p9}:replies:withheld"]
        );
        assert_eq!(
            lists(ReferrerKind::Quote),
            ["ff:{p9}:quotes", "ff:{p9}:quotes:limited", "ff:{p9}:quotes:withheld"]
        );
        assert_eq!(
            lists(ReferrerKind::Repost),
            ["ff:{p9}:reposts", "ff:{p9}:reposts:limited", "ff:{p9}:reposts:withheld"]
        );
        assert_eq!(keys.reposted(user).name(), "ff:{u7}:reposted");
        assert_eq!(keys.edits(post).name(), "ff:{p9}:edits");
        assert_eq!(keys.posts(user).name(), "ff:{u7}:posts");
        assert_eq!(keys.post_times(user).name(), "ff:{u7}:posts:times");
        assert_eq!(keys.limited(user).name(), "ff:{u7}:limited");
        assert_eq!(keys.written(user).name(), "ff:{u7}:written");
        assert_eq!(keys.export(user).name(), "ff:{u7}:export");
        assert_eq!(keys.recovery(user).name(), "ff:{u7}:recovery");
        assert_eq!(keys.recoveries(user).name(), "ff:{u7}:recoveries");
        assert_eq!(keys.recent(user).name(), "ff:{u7}:recent");
        assert_eq!(keys.cold(user).name(), "ff:{u7}:cold");
        assert_eq!(keys.gone(user).name(), "ff:{u7}:gone");
        assert_eq!(keys.timeline(user).name(), "ff:{u7}:timeline");
        assert_eq!(keys.removed(user).name(), "ff:{u7}:removed");
        assert_eq!(keys.live(user).name(), "ff:{u7}:live");
        assert_eq!(keys.issuer().name(), "ff:{g}:issuer");
        assert_eq!(keys.pulled().name(), "ff:{g}:pulled");
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
        assert_eq!(keys.blockers(user).name(), "ff:{u7}:blockers");
        assert_eq!(keys.blocker_count(user).name(), "ff:{u7}:blockers:count");
        assert_eq!(keys.blocker_shard(user, 84).name(), "ff:{u7}:blockers:84");
        let hex = "000000000000000000000000000000ab";
        assert_eq!(keys.logins_from(digest).name(), format!("ff:{{h{hex}}}:login"));
        assert_eq!(keys.registrations_from(digest).name(), format!("ff:{{h{hex}}}:register"));
        assert_eq!(keys.logins_to(digest).name(), format!("ff:{{k{hex}}}:login"));
        assert_eq!(keys.known_logins_to(digest, digest).name(), format!("ff:{{k{hex}}}:login:{hex}"));
        assert_eq!(keys.sign_ins_of(user).name(), "ff:{u7}:signins");
        assert_eq!(keys.sign_ins_from(digest).name(), format!("ff:{{h{hex}}}:signins"));
        assert_eq!(keys.cost_of(user).name(), "ff:{u7}:cost");
        assert_eq!(keys.events_of(user).name(), "ff:{u7}:events");
        assert_eq!(keys.changes_of(user, UserId::new(9).unwrap()).name(), "ff:{u7}:changes:9");
        assert_eq!(keys.publishes_of(user).name(), "ff:{u7}:publish");
        assert_eq!(keys.privacy_of(user).name(), "ff:{u7}:privacy");
        assert_eq!(keys.cost_from(digest).name(), format!("ff:{{h{hex}}}:cost"));
        assert_eq!(keys.known_addresses(digest).name(), format!("ff:{{k{hex}}}:known"));
        assert_eq!(keys.regions(12).name(), "ff:{r12}:region");
        let find = keys.find(user, 0xab).map(|key| key.name().to_owned());
        assert_eq!(find, ["ff:{u7}:find:ab", "ff:{u7}:find:ab:a", "ff:{u7}:find:ab:b"]);
        let ada = Username::parse("ada").unwrap();
        assert_eq!((keys.names_with(&ada).name(), keys.names_shard(&ada)), ("ff:name:{n1896}", 1_896));
        let session = SessionId::parse("AAAAAAAAAAAAAAAA").unwrap();
        assert_eq!(keys.guesses(user, session).name(), "ff:{u7}:guesses:AAAAAAAAAAAAAAAA");
        assert_eq!(keys.expiring(user).name(), "ff:{u7}:expiring");
        let noun = keys.guesses(user, session).noun().to_owned();
        assert_eq!(keys.expiring_named(user, &noun).unwrap().name(), keys.guesses(user, session).name());
        assert!(keys.expiring_named(user, "user").is_none());
    }

    #[test]
    fn the_format_of_keys_of_moderation_is_part_of_the_stored_data() {
        let keys = Keys::new("ff:", 16_384);
        let user = UserId::new(7).unwrap();
        assert_eq!(keys.invites().name(), "ff:{m}:invites");
        let code = InviteCode::parse("0123456789abcdef").unwrap();
        assert_eq!(keys.invite(&code).name(), "ff:{m}:invite:0123456789abcdef");
        assert_eq!(keys.invite_users(&code).name(), "ff:{m}:invite:0123456789abcdef:used");
        assert_eq!(keys.invite_unfinished(&code).name(), "ff:{m}:invite:0123456789abcdef:unfinished");
        assert_eq!(keys.next_report().name(), "ff:{m}:next:report");
        assert_eq!(keys.reports().name(), "ff:{m}:reports");
        assert_eq!(keys.report_records().name(), "ff:{m}:reports:records");
        assert_eq!(keys.report_ids().name(), "ff:{m}:reports:ids");
        assert_eq!(keys.report_counts().name(), "ff:{m}:reports:counts");
        assert_eq!(keys.moderation_log().name(), "ff:{m}:log");
        assert_eq!(keys.reports_of(user).name(), "ff:{u7}:report");
    }

    #[test]
    fn every_key_is_in_the_table_and_its_format_is_tested() {
        let (table, rest) = include_str!("key.rs").split_once("\nuse ").unwrap();
        let (code, tests) = rest.split_once("mod tests {").unwrap();
        let (_, keys) = code.split_once("impl Keys {").unwrap();
        let functions: Vec<&str> =
            keys.split("pub fn ").skip(1).filter_map(|function| function.split('(').next()).collect();
        let others = [
            "new",
            "with_fanout_partitions",
            "fanout_partitions",
            "sharded",
            "is_sharded",
            "name_shards",
            "prefix",
            "found<Kind>",
        ];
        for name in functions.iter().filter(|name| !others.contains(name)) {
            let is_called = tests.contains(&format!("keys.{name}("));
            assert!(is_called, "the format of the key `{name}` is not tested");
        }
        // The end of each name, as the test above has it: what follows the hash tag.
        for (_, end) in
            tests.split("\"ff:").skip(1).filter_map(|name| name.split('"').next()?.split_once('}'))
        {
            let noun = end.trim_start_matches(['}', ':']).split([':', '{']).next().unwrap();
            let is_listed = noun.is_empty() || table.contains(&format!("}}:{noun}"));
            assert!(is_listed, "the key `{noun}` is not in the table at the top of this file");
        }
    }
}
