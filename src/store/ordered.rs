//! Ordered compact sets: sets of posts that may be large, of which the newest are in order of time.
//!
//! A small set is a sorted set by time, in whole seconds. From the 129th member on, all members are in a tree of
//! shards, as in a compact set of users ([`crate::store::compact`]), and the sorted set is replaced by two lists: of
//! the newest [`ORDERED`] members, and of their times. Both are in descending order of time, and of id among members of
//! the same time, so that a time and an id are a position whether or not the set contains the member. A member takes
//! some 11 bytes in the sorted set, or in the lists, and five in the tree. (Lists of their own would take three times
//! as much memory as the sorted set if the members are very few: before version 7.2, Redis has 150 bytes for each
//! list.)
//!
//! Not here: what the sets are for.

use std::time::Duration;

use redis::{FromRedisValue, ParsingError, Value};

use crate::model::clock::Timestamp;
use crate::model::id::PostId;
use crate::model::page::{InListOrder, Page, Position, Window};
use crate::store::bucket::{self, Limit, Throttled};
use crate::store::command::{Builder, Command, call, command, several};
use crate::store::compact::with_paths;
use crate::store::key::{Bucket, Key, OrderedSet};
use crate::store::malformed::{self, Form};
use crate::store::script;
use crate::store::tree::{self, GENERATIONS, ROOM, Shard};

/// Number of the newest members whose order is known. The same as in `store/lua/part/ordered.lua`.
pub const ORDERED: usize = 5_000;
/// Maximum number of members that one command looks up, each in [`GENERATIONS`] shards: those of the longest page, and
/// some that are read ahead of it.
pub const PROBE: usize = 128;

/// The time stored as 0, in seconds since the Unix epoch. Redis stores the times of this century in 32 bits.
const EPOCH: i64 = 2_000_000_000;
const MILLIS: i64 = 1_000;

/// The time of a member whose own is unknown.
pub const EARLIEST: Timestamp = Timestamp::from_millis(0);
/// The stored form of that time.
const EARLIEST_SCORE: i64 = -EPOCH;

/// The outcome of the addition of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// The member was added.
    Added,
    /// The set contains the member already. It keeps its time.
    Present,
    /// The set has the maximum number of members.
    Full,
    /// The bucket has no token.
    Throttled(Throttled),
}

impl FromRedisValue for Added {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        let outcome = Vec::<String>::from_redis_value(value)?;
        let outcome: Vec<&str> = outcome.iter().map(String::as_str).collect();
        let is_none = || ParsingError::from(format!("{outcome:?} is not the outcome of an addition"));
        Ok(match outcome[..] {
            ["added"] => Self::Added,
            ["present"] => Self::Present,
            ["full"] => Self::Full,
            ["throttled", wait] => {
                let wait = wait.parse().map_err(|_| is_none())?;
                Self::Throttled(Throttled(Duration::from_micros(wait)))
            }
            _ => return Err(is_none()),
        })
    }
}

/// Returns the stored form of a time.
fn seconds(at: Timestamp) -> i64 {
    at.as_millis().div_euclid(MILLIS) - EPOCH
}

/// Returns the stored time of an element; `None` if it is no time.
fn time(element: &str) -> Option<Timestamp> {
    let millis = element.parse::<i64>().ok()?.checked_add(EPOCH)?.checked_mul(MILLIS)?;
    Some(Timestamp::from_millis(millis))
}

/// Returns the time of a member that is added at `at`: that of the beginning of its second.
#[must_use]
pub fn stored_time(at: Timestamp) -> Timestamp {
    Timestamp::from_millis((seconds(at) + EPOCH) * MILLIS)
}

/// Adds the keys of the sorted set, of the lists and of the number of members to a script's.
fn begin(set: &Key<OrderedSet>, call: Builder) -> Builder {
    call.key(&set.few()).key(&set.posts()).key(&set.times()).key(&set.count())
}

/// Adds a post with the time `at`, unless the set has `most` members. Takes a token from the bucket, if `limit` is
/// given. Without `most`, the oldest members lose their places in the order when it is full, but remain members.
pub fn add(
    set: &Key<OrderedSet>,
    post: PostId,
    at: Timestamp,
    most: Option<usize>,
    bucket: &Key<Bucket>,
    limit: Option<(Limit, Timestamp)>,
) -> Command<Added> {
    let add = begin(set, call(&script::ADD_TO_ORDERED)).key(bucket);
    let add = with_paths(set, add, std::iter::once(post)).arg(post.get()).arg(seconds(at)).arg(ROOM);
    let add = add.arg(most.map_or_else(String::new, |most| most.to_string()));
    bucket::throttling(add, limit).reply()
}

/// Removes a post. Returns true if the set contained it.
pub fn remove(set: &Key<OrderedSet>, post: PostId) -> Command<bool> {
    let remove = begin(set, call(&script::REMOVE_FROM_ORDERED));
    with_paths(set, remove, std::iter::once(post)).arg(post.get()).arg(ROOM).reply()
}

/// Returns for each set, for each of `posts`, in the given order, true if the set contains the post.
///
/// # Panics
/// If there are more than [`PROBE`] posts, or no set.
pub fn contains(sets: &[Key<OrderedSet>], posts: &[PostId]) -> Command<Vec<Vec<bool>>> {
    assert!(posts.len() <= PROBE && !sets.is_empty(), "a probe has {PROBE} posts at most, and a set");
    let with_set = |call: Builder, set: &Key<OrderedSet>| {
        with_paths(set, call.key(&set.few()).key(&set.count()), posts.iter())
    };
    let probe = sets.iter().fold(call(&script::PROBE_ORDERED), with_set);
    let probe = probe.arg(sets.len()).arg(GENERATIONS).arg(ROOM).args(posts.iter().map(|post| post.get()));
    probe.reply().probing(sets.len() * posts.len() * GENERATIONS as usize)
}

/// Reads a page of the members whose order is known, newest first. Elements that cannot be read are left out.
pub fn page(set: &Key<OrderedSet>, window: &Window<Position<PostId>>) -> Command<Page<Position<PostId>>> {
    let page = begin(set, call(&script::ORDERED_PAGE));
    let page = page.arg(window.direction.as_str()).arg(window.size);
    let page = match window.from {
        Some(from) => page.arg(seconds(from.at)).arg(from.id.get()),
        None => page.arg("").arg(""),
    };
    let page = page.reply::<(bool, bool, Vec<String>, Vec<String>)>().walking(2 * window.size);
    page.map(|(has_previous, has_next, posts, times)| {
        Ok(Page { entries: positions(&posts, &times).collect(), has_previous, has_next })
    })
}

/// Returns the entries of posts with their times, without those that cannot be read.
fn positions<'a>(
    posts: impl IntoIterator<Item = &'a String>,
    times: impl IntoIterator<Item = &'a String>,
) -> impl Iterator<Item = Position<PostId>> {
    let entries = posts.into_iter().zip(times);
    entries.filter_map(|(post, at)| Some(Position { at: time(at)?, id: post.parse().ok()? }))
}

/// A set as stored, without its shards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The elements of the sorted set, each before its score, in ascending order of these.
    pub few: Vec<String>,
    /// The elements of the list of posts.
    pub posts: Vec<String>,
    /// The elements of the list of times.
    pub times: Vec<String>,
    /// The number of members; `None` if the set has no tree.
    pub count: Option<u64>,
}

impl Stored {
    /// Returns the entries that can be read, in list order.
    #[must_use]
    pub fn entries(&self) -> Vec<Position<PostId>> {
        let (posts, times) = (self.few.iter().step_by(2), self.few.iter().skip(1).step_by(2));
        let mut entries: Vec<_> = positions(posts, times).collect();
        entries.sort_by(InListOrder::in_list_order);
        entries.extend(positions(&self.posts, &self.times));
        entries
    }

    /// Returns the numbers of elements of the sorted set, and of the lists.
    #[must_use]
    pub fn lengths(&self) -> [usize; 3] {
        [self.few.len() / 2, self.posts.len(), self.times.len()]
    }
}

/// Reads a set without its shards.
pub fn stored(set: &Key<OrderedSet>) -> Command<Stored> {
    let few = command("ZRANGE").key(&set.few()).arg(0).arg(-1).arg("WITHSCORES");
    let posts = command("LRANGE").key(&set.posts()).arg(0).arg(-1);
    let times = command("LRANGE").key(&set.times()).arg(0).arg(-1);
    let parts = several(&[few, posts, times, command("GET").key(&set.count())]);
    parts.map(|(few, posts, times, count)| Ok(Stored { few, posts, times, count }))
}

/// Reads the elements of a shard: members, and the mark of a shard that is closed. Leaves out what is neither.
pub fn shard(set: &Key<OrderedSet>, shard: Shard) -> Command<Vec<u64>> {
    tree::elements(&set.shard(shard.index()))
}

/// Looks at the order, the number of members and the root shard. With `repair`, mends what is wrong.
pub fn form(set: &Key<OrderedSet>, repair: bool) -> Command<Form> {
    malformed::ordered(set, EARLIEST_SCORE, repair)
}

/// Looks at the form of these shards. With `repair`, mends what is wrong.
pub fn form_of_shards(set: &Key<OrderedSet>, shards: &[Shard], repair: bool) -> Command<Form> {
    let shards: Vec<_> = shards.iter().map(|shard| set.shard(shard.index())).collect();
    malformed::shards(&shards, repair)
}

/// Replaces the order and the number of members, `None` for a set without a tree, and adds the members that the tree is
/// missing, unless order or number have changed since they were read. Returns true if it did.
pub fn restore(
    set: &Key<OrderedSet>,
    read: &Stored,
    order: &[Position<PostId>],
    missing: &[PostId],
    count: Option<u64>,
) -> Command<bool> {
    let Stored { few, posts, times, count: read_count } = read;
    let print = |count: Option<u64>| count.map_or_else(String::new, |count| count.to_string());
    let restore = with_paths(set, begin(set, call(&script::RESTORE_ORDERED)), missing.iter());
    let restore = restore.arg(print(*read_count)).arg(print(count));
    let restore = restore.arg(few.len()).arg(posts.len()).arg(times.len()).arg(order.len());
    let restore = restore.arg(missing.len()).arg(GENERATIONS).arg(ROOM);
    let restore = restore.args(missing.iter().map(|post| post.get())).args(few).args(posts).args(times);
    let restore = restore.args(order.iter().map(|entry| entry.id.get()));
    restore.args(order.iter().map(|entry| seconds(entry.at))).reply()
}
