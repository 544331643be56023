//! Regions of users, packed: two bytes each, at a fixed offset in strings of fixed length.
//!
//! A user's id determines the shard and the offset. A write touches only its own two bytes, and users with
//! nearby ids are read by one command.
//!
//! # Why 4,093 users to a shard
//! Redis adds about seven bytes to a string, and its allocator has fixed size classes: a string of 8,192
//! bytes takes 10,240, one of 8,186 takes 8,192.
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
/// The region of each of some users; `None` if it is unknown.
pub type UserRegions = Vec<(UserId, Option<Region>)>;

/// Bytes per user.
const WIDTH: u64 = 2;
/// Maximum gap in bytes between two users read by one command: reading this many costs less than another
/// command.
const GAP: u64 = 512;

/// Returns the shard of a user and the offset in it.
fn place(user: UserId) -> (u64, u64) {
    (user.get() / USERS_PER_SHARD, user.get() % USERS_PER_SHARD * WIDTH)
}

/// Writes the region of a user; `None` deletes it.
pub fn write(keys: &Keys, user: UserId, region: Option<Region>) -> Command<bool> {
    let (shard, offset) = place(user);
    let bytes = region.map_or([0; 2], Region::bytes);
    let write = call(&script::WRITE_REGION).key(&keys.regions(shard)).arg(offset);
    write.arg(&bytes[..]).arg(USERS_PER_SHARD * WIDTH).reply()
}

/// Reads the region of each of these users; `None` if it is unknown. Uses one command per user, or per group
/// of users with nearby ids.
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

/// Reads the regions of users in the same shard, in the order of their ids.
fn read_span(keys: &Keys, users: Vec<UserId>) -> Command<UserRegions> {
    let (shard, start) = place(users[0]);
    let (_, last) = place(users[users.len() - 1]);
    let read = command("GETRANGE").key(&keys.regions(shard)).arg(start).arg(last + WIDTH - 1);
    read.reply::<Bytes>().map(move |Bytes(bytes)| {
        let region = |user| {
            let at = usize::try_from(place(user).1 - start).ok()?;
            // A missing shard is empty.
            let bytes = [*bytes.get(at)?, *bytes.get(at + 1)?];
            Table::current().region(bytes)
        };
        Ok(users.into_iter().map(|user| (user, region(user))).collect())
    })
}

/// Raw bytes.
struct Bytes(Vec<u8>);

impl FromRedisValue for Bytes {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        match value {
            Value::BulkString(bytes) => Ok(Self(bytes)),
            other => Err(ParsingError::from(format!("{other:?} is not a string"))),
        }
    }
}
