//! Compact sets: sets of users that may be very large, in five bytes a member, of which the newest are known.
//!
//! A small set is a sorted set by time. From the 129th member on, all members are in a tree of shards (see
//! [`crate::store::tree`]), and the sorted set orders the newest of them only. The times of older members are forgotten.
//! Each operation is one script, so that the number of members always equals the length of the set.
//!
//! Not here: what the sets are for.

use crate::model::clock::Timestamp;
use crate::model::id::UserId;
use crate::model::relation::Follow;
use crate::store::command::{Builder, Command, call};
use crate::store::key::Keys;
use crate::store::relation::Follows;
use crate::store::script;
use crate::store::tree::{GENERATIONS, ROOM, Shard};

/// Number of the newest members whose order is known. The same as in `store/lua/part/compact.lua`.
pub const NEWEST: usize = 128;
/// Maximum number of members that one command looks up, each in [`GENERATIONS`] shards.
pub const PROBE: usize = 100;

/// A compact set, by what it contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CompactSet {
    /// The users who block this user.
    Blockers(UserId),
}

impl CompactSet {
    /// Adds the keys of the newest members and of the number of members to a script's.
    fn begin(self, keys: &Keys, call: Builder) -> Builder {
        let Self::Blockers(user) = self;
        call.key(&keys.blockers(user)).key(&keys.blocker_count(user))
    }

    /// Adds the keys of the shards that may contain a member.
    fn path(self, keys: &Keys, call: Builder, member: UserId) -> Builder {
        let Self::Blockers(user) = self;
        Shard::all_of(member).fold(call, |call, shard| call.key(&keys.blocker_shard(user, shard.index())))
    }
}

/// The newest members of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Newest {
    /// Number of all members.
    pub count: u64,
    /// The newest members, newest first: at most [`NEWEST`], and fewer if some of them have been removed.
    pub members: Vec<Follow>,
}

/// Adds a member with the time `at`. A member that the set contains keeps its time. Returns true if the set changed.
pub fn add(keys: &Keys, set: CompactSet, member: UserId, at: Timestamp) -> Command<bool> {
    let add = set.path(keys, set.begin(keys, call(&script::ADD_TO_SET)), member);
    add.arg(member.get()).arg(at.as_millis()).arg(ROOM).reply()
}

/// Removes a member. Returns true if the set changed.
pub fn remove(keys: &Keys, set: CompactSet, member: UserId) -> Command<bool> {
    let remove = set.path(keys, set.begin(keys, call(&script::REMOVE_FROM_SET)), member);
    remove.arg(member.get()).arg(ROOM).reply()
}

/// Reads the number of members, and up to `size` of the newest.
pub fn newest(keys: &Keys, set: CompactSet, size: usize) -> Command<Newest> {
    let read = set.begin(keys, call(&script::NEWEST_OF_SET)).arg(size);
    let read = read.reply::<(u64, Follows)>().walking(size.min(NEWEST));
    read.map(|(count, Follows(members))| Ok(Newest { count, members }))
}

/// Returns for each of `others`, in the given order, true if the set contains them.
///
/// # Panics
/// If there are more than [`PROBE`].
pub fn contains(keys: &Keys, set: CompactSet, others: &[UserId]) -> Command<Vec<bool>> {
    assert!(others.len() <= PROBE, "a probe has {PROBE} members at most");
    let probe = set.begin(keys, call(&script::PROBE_SET));
    let probe = others.iter().fold(probe, |probe, other| set.path(keys, probe, *other));
    let probe = probe.arg(GENERATIONS).arg(ROOM).args(others.iter().map(|other| other.get()));
    probe.reply().probing(others.len() * GENERATIONS as usize)
}
