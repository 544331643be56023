//! Finds keys by pattern, on every server of the deployment.
//!
//! Redis walks all of its keys, some at a time, in between other commands. So a scan takes time in proportion to all keys,
//! and none of it at once. It finds every key that exists from its beginning to its end, unless a cluster moves the key's
//! slot meanwhile. Nothing that a client waits for may scan.

use redis::FromRedisValue as _;

use crate::store::Store;
use crate::store::command::{command, pipeline};
use crate::store::error::Error;
use crate::store::topology::Node;

/// Number of keys that Redis walks with one command: about a millisecond.
const WALKED: usize = 1_000;

/// A scan in progress.
pub struct Scan<'a> {
    store: &'a Store,
    pattern: String,
    /// Servers that are left, the current one last; `None` is the only server.
    servers: Vec<Option<Node>>,
    cursor: u64,
}

impl Store {
    /// Begins a scan for the keys of this deployment whose names, after the prefix, match a pattern of Redis.
    #[must_use]
    pub fn scan(&self, pattern: &str) -> Scan<'_> {
        let mut escaped = String::new();
        for character in self.keys().prefix().chars() {
            if "*?[]\\".contains(character) {
                escaped.push('\\');
            }
            escaped.push(character);
        }
        Scan { store: self, pattern: escaped + pattern, servers: self.deployment.servers(), cursor: 0 }
    }
}

impl Scan<'_> {
    /// Returns the next keys found, perhaps none, and perhaps some again; `None` at the end of the scan. Makes one round
    /// trip.
    pub async fn next(&mut self) -> Result<Option<Vec<Vec<u8>>>, Error> {
        let Some(server) = self.servers.last() else { return Ok(None) };
        let walk = command("SCAN").arg(self.cursor).arg("MATCH").arg(&self.pattern).arg("COUNT").arg(WALKED);
        let replies = self.store.deployment.exchange_with(server.as_ref(), pipeline(&[walk])).await?;
        let reply = replies.iter().next().unwrap_or_default();
        reply.check()?;
        let (cursor, keys) = <(u64, Vec<Vec<u8>>)>::from_redis_value(reply.value()?)?;
        self.cursor = cursor;
        if cursor == 0 {
            self.servers.pop();
        }
        Ok(Some(keys))
    }
}
