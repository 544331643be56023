//! Finds, and mends for a repair, what readers of sets leave out: keys of a wrong type, elements that are no ids, and
//! scores and numbers that are not whole.
//!
//! Not here: what is left out (`store::unreadable`), and the order of a set (`store::ordered`).

use redis::{FromRedisValue, ParsingError, Value};

use crate::store::command::{Builder, Command, call};
use crate::store::key::{CompactSet, Key, OrderedSet, Set};
use crate::store::script;
use crate::store::tree::{ROOM, Shard};

/// What the keys of a set contain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    /// Number of keys of a wrong type, and of elements that cannot be read.
    pub wrong: u64,
    /// For each key, in their order, true if it contains something else.
    has_others: Vec<bool>,
}

impl Form {
    /// Returns true if a key contains something that is not wrong.
    #[must_use]
    pub fn has_others(&self) -> bool {
        self.has_others.contains(&true)
    }

    /// Returns true if the set has a tree, whose root and number of members are the last two keys.
    #[must_use]
    pub fn has_tree(&self) -> bool {
        self.has_others.iter().rev().take(2).any(|has_others| *has_others)
    }
}

impl FromRedisValue for Form {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        let (wrong, has_others) = FromRedisValue::from_redis_value(value)?;
        Ok(Self { wrong, has_others })
    }
}

fn form(call: Builder, repair: bool, types: impl IntoIterator<Item = impl AsRef<str>>) -> Command<Form> {
    let types = types.into_iter().map(|kind| kind.as_ref().to_owned());
    call.arg(repair).arg(ROOM).args(types).reply()
}

/// Looks at the order, the number of members and the root shard of an ordered compact set. With `repair`, mends what is
/// wrong. The elements of the lists are not looked at.
pub(super) fn ordered(set: &Key<OrderedSet>, earliest: i64, repair: bool) -> Command<Form> {
    let call = call(&script::MALFORMED).key(&set.few()).key(&set.posts()).key(&set.times());
    let call = call.key(&set.count()).key(&set.shard(Shard::ROOT.index()));
    form(call, repair, [&format!("zset {earliest}"), "list", "list", "string", "set"])
}

/// Looks at the newest members, the number of members and the root shard of a compact set. With `repair`, mends what is
/// wrong.
pub fn compact(set: &Key<CompactSet>, repair: bool) -> Command<Form> {
    let call = call(&script::MALFORMED).key(&set.newest()).key(&set.count());
    form(call.key(&set.shard(Shard::ROOT.index())), repair, ["zset 0", "string", "set"])
}

/// Looks at shards of one set. With `repair`, mends what is wrong.
pub(super) fn shards(shards: &[Key<Set>], repair: bool) -> Command<Form> {
    let call = shards.iter().fold(call(&script::MALFORMED), Builder::key);
    form(call, repair, shards.iter().map(|_| "set"))
}
