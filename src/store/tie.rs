//! Storage of ties: the users in whose data a user may be named, so that an erasure need not search all keys.
//!
//! A tie connects two users of whom one has at some time muted the other, or issued a recovery code for them. It is in
//! the slots of both before the mute or the code is stored, and stays when that ends, until one of the two is erased.
//! So there may be a tie without a mute, but no mute without a tie, and no order of writes matters but this one. The
//! ties of a user are a tree of shards (see [`crate::store::tree`]): four to eight bytes for each, in both slots, and a
//! hundred for the first.
//!
//! Whatever else names other users in a user's slot, and is not mirrored in theirs, shall be found by ties as well.
//!
//! Not here: the mutes (`store::exclusion`), the codes (`store::recovery`), and what an erasure does with ties
//! (`store::erasure`).

use crate::model::id::UserId;
use crate::store::command::Command;
use crate::store::key::Keys;
use crate::store::tree;

/// Adds a tie with `other` in a user's slot. Returns true if it was not there.
pub fn add(keys: &Keys, user: UserId, other: UserId) -> Command<bool> {
    tree::add(|shard| keys.ties(user, shard), other)
}

/// Removes the tie with `other` from a user's slot. Returns true if it was there.
pub(super) fn remove(keys: &Keys, user: UserId, other: UserId) -> Command<bool> {
    tree::remove(|shard| keys.ties(user, shard), other)
}

/// Returns true if a tie with `other` is in a user's slot.
pub fn contains(keys: &Keys, user: UserId, other: UserId) -> Command<bool> {
    tree::contains(|shard| keys.ties(user, shard), other)
}
