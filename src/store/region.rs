//! Where users are, packed: two bytes for each, at a fixed place in strings of a fixed length.
//!
//! A user's id tells the shard and the place in it. So a write touches its own two bytes and nobody else's, and
//! those who are close to each other are read by one command.
//!
//! # Why 4,093 users to a shard
//! Redis puts seven bytes or so around a string, and its allocator hands out memory in fixed sizes: a string of
//! 8,192 bytes takes 10,240, one of 8,186 takes 8,192.
//!
//! Not here: what the bytes mean (`model::region`).

use redis::{FromRedisValue, ParsingError, Value};

use crate::model::id::UserId;
use crate::model::region::{Region, Table};
use crate::store::command::{Command, call, command};
use crate::store::key::Keys;
use crate::store::script;

/// How many users share a shard. Part of the stored format.
pub const USERS_PER_SHARD: u64 = 4_093;
/// Where each of some users is; `None` if it is not known.
pub type Places = Vec<(UserId, Option<Region>)>;

/// Bytes of each user.
const WIDTH: u64 = 2;
/// Bytes between two users up to which both are read by one command: that many cost less than another command.
const GAP: u64 = 512;

/// The shard of a user, and its place there.
fn place(user: UserId) -> (u64, u64) {
    (user.get() / USERS_PER_SHARD, user.get() % USERS_PER_SHARD * WIDTH)
}

/// Writes where a user is; `None` if nobody shall know.
pub fn write(keys: &Keys, user: UserId, region: Option<Region>) -> Command<bool> {
    let (shard, offset) = place(user);
    let bytes = region.map_or([0; 2], Region::bytes);
    let write = call(&script::WRITE_REGION).key(&keys.regions(shard)).arg(offset);
    write.arg(&bytes[..]).arg(USERS_PER_SHARD * WIDTH).reply()
}

/// Where each of these users is; `None` if it is not known. A command for each user, or for several who are close to
/// each other.
#[must_use]
pub fn read(keys: &Keys, mut users: Vec<UserId>) -> Vec<Command<Places>> {
    users.sort_unstable();
    users.dedup();
    let is_close = |one: &UserId, next: &UserId| {
        let ((shard, offset), (next_shard, next_offset)) = (place(*one), place(*next));
        shard == next_shard && next_offset - offset <= GAP
    };
    users.chunk_by(is_close).map(|users| read_span(keys, users.to_vec())).collect()
}

/// Where these users are, who are in one shard, in the order of their ids.
fn read_span(keys: &Keys, users: Vec<UserId>) -> Command<Places> {
    let (shard, start) = place(users[0]);
    let (_, last) = place(users[users.len() - 1]);
    let read = command("GETRANGE").key(&keys.regions(shard)).arg(start).arg(last + WIDTH - 1);
    read.reply::<Bytes>().map(move |Bytes(bytes)| {
        let region = |user| {
            let at = usize::try_from(place(user).1 - start).ok()?;
            // A shard that is not there is empty.
            let bytes = [*bytes.get(at)?, *bytes.get(at + 1)?];
            Table::current().region(bytes)
        };
        Ok(users.into_iter().map(|user| (user, region(user))).collect())
    })
}

/// Bytes as they are.
struct Bytes(Vec<u8>);

impl FromRedisValue for Bytes {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        match value {
            Value::BulkString(bytes) => Ok(Self(bytes)),
            other => Err(ParsingError::from(format!("{other:?} is no string"))),
        }
    }
}
