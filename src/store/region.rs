//! Storage of users' regions: two bytes per user, at fixed offsets in fixed-length strings.
//!
//! A user's id determines the shard and the offset. A write touches only the user's two bytes. One command
//! reads a group of users with nearby ids.
//!
//! # Why 4,093 users per shard
//! Redis adds about seven bytes to a string, and its allocator has fixed size classes: a string of 8,192
//! bytes occupies 10,240 bytes, but a string of 8,186 bytes occupies only 8,192.
//!
//! Not here: the meaning of the bytes (`model::region`).

use redis::{FromRedisValue, ParsingError, Value};

use crate::model::id::UserId;
use crate::model::region::{Region, Table};
use crate::store::command::{Command, call, command};
use crate::store::key::Keys;
use crate::store::script;

/// Number of users per shard. Part of the stored format.
pub const USERS_PER_SHARD: u64 = 4_093;
/// Users with their regions; `None` marks an unknown region.
pub type UserRegions = Vec<(UserId, Option<Region>)>;

/// Bytes per user.
const WIDTH: u64 = 2;
/// Maximum gap, in bytes, between two users read by one command. Reading such a gap costs less than sending
/// another command.
const GAP: u64 = 512;

/// Returns a user's shard and byte offset in the shard.
fn place(user: UserId) -> (u64, u64) {
    (user.get() / USERS_PER_SHARD, user.get() % USERS_PER_SHARD * WIDTH)
}

/// Writes a user's region; `None` deletes it.
pub fn write(keys: &Keys, user: UserId, region: Option<Region>) -> Command<bool> {
    let (shard, offset) = place(user);
    let bytes = region.map_or([0; 2], Region::bytes);
    let write = call(&script::WRITE_REGION).key(&keys.regions(shard)).arg(offset);
    write.arg(&bytes[..]).arg(USERS_PER_SHARD * WIDTH).reply()
}

/// Reads the regions of `users`; `None` marks an unknown region. Returns one command per group of users with
/// nearby ids.
#[must_use]
pub fn read(keys: &Keys, mut users: Vec<UserId>) -> Vec<Command<UserRegions>> {
    users.sort_unstable();
    users.dedup();
    let is_close = |one: &UserId, next: &UserId| {
        let ((shard, offset), (next_shard, next_offset)) = (place(*one), place(*next));
        shard == next_shard && next_offset - offset <= GAP
    };
    users.chunk_by(is_close).map(|users| read_span(keys, users.to_vec())).collect()
}

/// Reads the regions of users in the same shard, in ascending order of id.
fn read_span(keys: &Keys, users: Vec<UserId>) -> Command<UserRegions> {
    let (shard, start) = place(users[0]);
    let (_, last) = place(users[users.len() - 1]);
    let read = command("GETRANGE").key(&keys.regions(shard)).arg(start).arg(last + WIDTH - 1);
    read.reply::<Bytes>().map(move |Bytes(bytes)| {
        let region = |user| {
            let at = usize::try_from(place(user).1 - start).ok()?;
            // Redis returns an empty string for a missing shard.
            let bytes = [*bytes.get(at)?, *bytes.get(at + 1)?];
            Table::current().region(bytes)
        };
        Ok(users.into_iter().map(|user| (user, region(user))).collect())
    })
}

/// A string reply as raw bytes.
struct Bytes(Vec<u8>);

impl FromRedisValue for Bytes {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        match value {
            Value::BulkString(bytes) => Ok(Self(bytes)),
            other => Err(ParsingError::from(format!("{other:?} is not a string"))),
        }
    }
}
