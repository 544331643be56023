//! Storage of blocks: the truth in the slot of the user who blocks, and its mirror, the blockers, in the slot of the
//! other.
//!
//! The two are written one after the other, and a slow writer must not undo a later change. So the mirror is written
//! with the version of the truth, and a *fence* in its slot rejects earlier versions. The fence expires, but later than
//! any writer that could still write an earlier version.
//!
//! Not here: the order of the writes (`app::edge::block`).

use crate::model::clock::Timestamp;
use crate::model::exclusion::Version;
use crate::model::id::UserId;
use crate::model::relation::FollowState;
use crate::store::bucket::{self, Limit, Throttled};
use crate::store::command::{Command, call, command};
use crate::store::compact;
use crate::store::follow::{StoredFollow, with_follows};
use crate::store::key::Keys;
use crate::store::relation::Score;
use crate::store::script;
use crate::store::timeline::with_timeline;
use crate::store::tree::ROOM;

/// Lifetime of a fence, in milliseconds. A writer stops after ten seconds.
const FENCE_MILLIS: u64 = 60_000;

/// A block as it was read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Time of the block; `None` if there is none.
    pub since: Option<Timestamp>,
    /// Version of the blocking user's exclusions; `None` if the user has never had any.
    pub version: Option<Version>,
}

/// Blocks `other`, unless the user blocks `limit` others already, and ends the user's follow of `other`, or the request
/// to follow them. Returns the block; `None` if the user has reached the limit.
pub fn block(keys: &Keys, user: UserId, other: UserId, at: Timestamp, limit: u32) -> Command<Option<Block>> {
    let block = with_follows(call(&script::BLOCK), keys, user).key(&keys.blocking(user));
    let block = block.arg(other.get()).arg(at.as_millis()).arg(limit);
    block.reply::<Option<(Score, Version)>>().map(|block| {
        Ok(block.map(|(Score(since), version)| Block { since: Some(since), version: Some(version) }))
    })
}

/// Ends the block of `other`, if there is one, which takes a token from the bucket of the two users, if `throttle` is
/// given.
pub fn unblock(
    keys: &Keys,
    user: UserId,
    other: UserId,
    throttle: Option<(Limit, Timestamp)>,
) -> Command<Result<Block, Throttled>> {
    let unblock = call(&script::UNBLOCK).key(&keys.blocking(user)).key(&keys.sessions(user));
    let unblock = with_timeline(unblock.key(&keys.changes_of(user, other)), keys, user).arg(other.get());
    let unblock = bucket::throttling(unblock, throttle).reply::<(u64, Option<Version>)>();
    unblock.map(|(wait, version)| Ok(Throttled::check(wait).map(|()| Block { since: None, version })))
}

/// Reads the block of `other`, and the follow of `other`.
pub fn read(keys: &Keys, user: UserId, other: UserId) -> Command<(Block, FollowState)> {
    let read = with_follows(call(&script::READ_BLOCK), keys, user).key(&keys.blocking(user));
    let read = read.arg(other.get()).reply::<(Option<Score>, Option<Version>, StoredFollow)>();
    read.map(|(since, version, follow)| {
        Ok((Block { since: since.map(|Score(since)| since), version }, follow.state))
    })
}

/// Returns true if a user blocks others, or is blocked by others.
pub fn has_any(keys: &Keys, user: UserId) -> Command<bool> {
    let blockers = keys.blockers(user);
    let exists = command("EXISTS").key(&keys.blocking(user)).key(&blockers.newest()).key(&blockers.count());
    exists.reply::<u64>().map(|keys| Ok(keys > 0))
}

/// Makes the mirror of a block equal to this truth, unless a later one has been mirrored before. A block also ends the
/// other user's follow of `user`, or the request to follow them. Returns the other user's follow after the change.
pub fn mirror(keys: &Keys, user: UserId, other: UserId, block: Block) -> Command<FollowState> {
    let mirror = with_follows(call(&script::MIRROR_BLOCK), keys, other).key(&keys.fence(other, user));
    let mirror = compact::with_keys(&keys.blockers(other), mirror, std::iter::once(user));
    let since = block.since.map_or_else(String::new, |since| since.as_millis().to_string());
    let version = block.version.map_or(0, Version::get);
    let mirror = mirror.arg(user.get()).arg(version).arg(since).arg(ROOM).arg(FENCE_MILLIS);
    mirror.reply::<StoredFollow>().map(|follow| Ok(follow.state))
}
