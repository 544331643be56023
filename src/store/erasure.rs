//! Commands of an erasure: what is in the slots of others because of a user, and all keys of the user's own slot.
//!
//! Not here: the order of the steps (`app::account::erase`), and what has commands of its own, such as follows.

use crate::model::clock::Day;
use crate::model::id::UserId;
use crate::model::reaction::ReactionKind;
use crate::store::command::{Command, command};
use crate::store::key::{Key, Keys, Set};
use crate::store::tree::{self, Shard};
use crate::store::{audience, exclusion, recovery, tie};

/// A tree in a user's slot. Unless it contains posts, each member has something of the user in their own slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tree {
    /// The users who block the user.
    Blockers,
    /// The users whose mutes, lists of recoveries and ties contain the user.
    Ties,
    /// The users whose viewers in this period contain the user.
    Viewed(i64),
    /// The users whose notes of viewed profiles contain the user, because they viewed the user's profile on this day.
    Viewers(Day),
    /// The posts to which the user has reacted.
    Reactions(ReactionKind),
}

impl Tree {
    /// Returns the trees of others with whom a user is connected by nothing else, and of posts.
    pub fn all(today: Day) -> impl Iterator<Item = Self> {
        let viewed = audience::stored_periods(today).map(Self::Viewed);
        std::iter::once(Self::Ties)
            .chain(ReactionKind::ALL.map(Self::Reactions))
            .chain(viewed)
            .chain(audience::stored_days(today).map(Self::Viewers))
    }

    /// Returns the users among the members of a shard with these elements.
    #[must_use]
    pub fn users(self, elements: &[u64]) -> Vec<UserId> {
        if matches!(self, Self::Reactions(_)) {
            return Vec::new();
        }
        elements.iter().copied().filter_map(UserId::new).collect()
    }

    fn key(self, keys: &Keys, user: UserId, shard: Shard) -> Key<Set> {
        match self {
            Self::Blockers => keys.blockers(user).shard(shard.index()),
            Self::Ties => keys.ties(user, shard.index()),
            Self::Viewed(period) => keys.viewed(user, period, shard.index()),
            Self::Viewers(day) => keys.audience(user, day, shard.index()),
            Self::Reactions(kind) => keys.reacted(user, kind).shard(shard.index()),
        }
    }
}

/// Reads the elements of a shard of one of a user's trees.
pub fn elements(keys: &Keys, user: UserId, tree: Tree, shard: Shard) -> Command<Vec<u64>> {
    tree::elements(&tree.key(keys, user, shard))
}

/// Deletes a shard of one of a user's trees.
pub fn delete_shard(keys: &Keys, user: UserId, tree: Tree, shard: Shard) -> Command<i64> {
    command("UNLINK").key(&tree.key(keys, user, shard)).reply()
}

/// Removes a user from what a member of one of the user's trees has in their own slot, except from blocks.
#[must_use]
pub fn forget(keys: &Keys, user: UserId, tree: Tree, member: UserId) -> Vec<Command<bool>> {
    match tree {
        Tree::Blockers | Tree::Reactions(_) => Vec::new(),
        Tree::Ties => vec![
            exclusion::forget(keys, member, user),
            recovery::forget(keys, member, user),
            tie::remove(keys, member, user),
        ],
        Tree::Viewed(period) => audience::forget(keys, member, period, user).collect(),
        Tree::Viewers(day) => vec![audience::forget_note(keys, member, day, user)],
    }
}

/// Deletes all keys of a user's slot that have fixed names, except those whose row in the table of keys says why not.
/// Returns the number of keys deleted.
pub fn delete_own(keys: &Keys, user: UserId) -> Command<i64> {
    keys.erased(user).fold(command("UNLINK"), |delete, key| delete.key(&key)).reply()
}
