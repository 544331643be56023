//! Storage of exclusions: the users whom a user has muted or blocked, the users who block the user, and the version of
//! all of these.
//!
//! The version is a field of the user's sessions, so that authentication reads it without a command of its own. Scripts
//! raise it whenever they change the set, and never remove it. A user without a version has no exclusions.
//!
//! A mute is stored as `since:until:scope`, with times in milliseconds; `until` is empty if the mute has no end.
//!
//! Not here: the cache of exclusions (`app::exclusion`).

use redis::{FromRedisValue, ParsingError, Value};

use crate::model::clock::Timestamp;
use crate::model::exclusion::{Exclusions, Version};
use crate::model::id::UserId;
use crate::model::relation::{Mute, MuteScope};
use crate::store::bucket::{self, Limit, Throttled};
use crate::store::command::{Command, call, command, several};
use crate::store::key::{Key, Keys, SortedSet};
use crate::store::relation::{Follows, PROBE};
use crate::store::script;
use crate::store::timeline::with_timeline;

/// Field of the version in the hash of a user's sessions. No session has this field: a token's hash is longer.
pub(super) const VERSION: &str = "exclusions";

impl FromRedisValue for Version {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        let number = u64::from_redis_value(value)?;
        Self::new(number).ok_or_else(|| ParsingError::from("0 is not a version"))
    }
}

/// A mute as it is stored.
struct StoredMute(Mute);

impl FromRedisValue for StoredMute {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        let text = String::from_redis_value(value)?;
        parse(&text).map(Self).ok_or_else(|| ParsingError::from(format!("{text:?} is not a mute")))
    }
}

fn parse(text: &str) -> Option<Mute> {
    let mut parts = text.split(':');
    let since = Timestamp::from_millis(parts.next()?.parse().ok()?);
    let until = match parts.next()? {
        "" => None,
        until => Some(Timestamp::from_millis(until.parse().ok()?)),
    };
    let scope = match parts.next()? {
        "all" => MuteScope::All,
        "reposts" => MuteScope::Reposts,
        _ => return None,
    };
    parts.next().is_none().then_some(Mute { since, until, scope })
}

fn name_of(scope: MuteScope) -> &'static str {
    match scope {
        MuteScope::All => "all",
        MuteScope::Reposts => "reposts",
    }
}

/// Mutes `other`, or replaces the end and the scope of their mute, unless the user has muted `limit` others, with those
/// whose mutes have ended. Returns the version after the change; `None` if the user has reached the limit.
pub fn mute(keys: &Keys, user: UserId, other: UserId, mute: Mute, limit: u32) -> Command<Option<Version>> {
    let Mute { since, until, scope } = mute;
    let until = until.map_or_else(String::new, |until| until.as_millis().to_string());
    let write = call(&script::MUTE).key(&keys.muting(user)).key(&keys.sessions(user));
    let write = with_timeline(write, keys, user);
    write.arg(other.get()).arg(since.as_millis()).arg(until).arg(name_of(scope)).arg(limit).reply()
}

/// Removes the mute of `other`, if there is one, which takes a token from the bucket of the two users and resets the
/// user's timeline. Returns the version after the change; `None` if the user has never had exclusions.
pub fn unmute(
    keys: &Keys,
    user: UserId,
    other: UserId,
    throttle: (Limit, Timestamp),
) -> Command<Result<Option<Version>, Throttled>> {
    end_mute(keys, user, other, Some(throttle))
        .map(|(wait, version)| Ok(Throttled::check(wait).map(|()| version)))
}

/// Removes the mute of a user who is erased, or is being erased, without a reset: nothing of theirs is left to show.
/// Returns true if the user has ever had exclusions.
pub fn forget(keys: &Keys, user: UserId, other: UserId) -> Command<bool> {
    end_mute(keys, user, other, None).map(|(_, version)| Ok(version.is_some()))
}

/// Removes a mute. Returns the microseconds until there is a token, and the version after the change.
fn end_mute(
    keys: &Keys,
    user: UserId,
    other: UserId,
    throttle: Option<(Limit, Timestamp)>,
) -> Command<(u64, Option<Version>)> {
    let end = call(&script::UNMUTE).key(&keys.muting(user)).key(&keys.sessions(user));
    let end = with_timeline(end.key(&keys.changes_of(user, other)), keys, user).arg(other.get());
    bucket::throttling(end, throttle).reply()
}

/// Reads the users whom a user has muted, in `O(n)`.
pub fn muted(keys: &Keys, user: UserId) -> Command<Vec<UserId>> {
    let read = command("HKEYS").key(&keys.muting(user)).reply::<Vec<u64>>();
    read.map(|ids| Ok(ids.into_iter().filter_map(UserId::new).collect()))
}

/// Removes the mutes of `others` that have ended, which resets the user's timeline. Returns the version after the
/// change; `None` if the user has never had exclusions.
pub fn remove_ended(
    keys: &Keys,
    user: UserId,
    others: &[UserId],
    now: Timestamp,
) -> Command<Option<Version>> {
    // A script's arguments must fit on the Lua stack.
    let others = others.iter().take(PROBE).map(|other| other.get());
    let remove = call(&script::REMOVE_ENDED_MUTES).key(&keys.muting(user)).key(&keys.sessions(user));
    with_timeline(remove, keys, user).arg(now.as_millis()).args(others).reply()
}

/// Reads the version of a user's exclusions; `None` if the user has never had any.
pub fn version(keys: &Keys, user: UserId) -> Command<Option<Version>> {
    command("HGET").key(&keys.sessions(user)).arg(VERSION).reply()
}

/// Reads a user's exclusions without the users who block the user, in `O(n)` for `n` muted or blocked users and users
/// whom the user has requested to follow.
pub fn read(keys: &Keys, user: UserId) -> Command<Exclusions> {
    let all = |key: &Key<SortedSet>| command("ZRANGE").key(key).arg(0).arg(-1).arg("WITHSCORES");
    let mutes = command("HGETALL").key(&keys.muting(user));
    let read = several(&[mutes, all(&keys.blocking(user)), all(&keys.requesting(user))]);
    read.map(|(mutes, Follows(blocking), Follows(requesting)): (Vec<(u64, StoredMute)>, _, _)| {
        let mute = |(user, StoredMute(mute))| Some((UserId::new(user)?, mute));
        let mutes = mutes.into_iter().filter_map(mute).collect();
        Ok(Exclusions::new(mutes).with(blocking, requesting))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_of_a_mute_is_part_of_the_stored_data() {
        let mute = |since, until: Option<i64>, scope| Mute {
            since: Timestamp::from_millis(since),
            until: until.map(Timestamp::from_millis),
            scope,
        };
        assert_eq!(parse("5::all"), Some(mute(5, None, MuteScope::All)));
        assert_eq!(parse("5:9:reposts"), Some(mute(5, Some(9), MuteScope::Reposts)));
        for text in ["", "5", "5:", "5::", "5::none", ":9:all", "5:x:all", "5::all:"] {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }
}
