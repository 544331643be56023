//! Finds the master of a Redis that Sentinel watches
//! (<https://redis.io/docs/latest/develop/reference/sentinel-clients/>).
//!
//! Each new connection asks the sentinels in turn for the master's address, and the server at this address whether it
//! is a master. After a failover, Sentinel closes the connections to the old master.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use redis::{ConnectionInfo, ErrorKind, FromRedisValue as _, RedisError, Value};
use tokio::time::timeout;

use crate::driver::error::Error;
use crate::driver::wire::{self, Connection};

/// Timeout of one sentinel's response.
const ASKED: Duration = Duration::from_millis(500);

/// The sentinels that watch a master.
#[derive(Debug)]
pub(super) struct Sentinel {
    sentinels: Vec<ConnectionInfo>,
    /// Name under which the sentinels know the master.
    name: String,
    /// Settings of connections to the master, whose address is replaced.
    master: ConnectionInfo,
    /// Index of the sentinel to ask first: the one that has responded last.
    next: AtomicUsize,
}

impl Sentinel {
    /// Creates a group of sentinels. Connections to the master get the settings of `master`.
    pub(super) fn new(sentinels: Vec<ConnectionInfo>, name: String, master: ConnectionInfo) -> Self {
        Self { sentinels, name, master, next: AtomicUsize::default() }
    }

    /// Returns the addresses of the sentinels, and the name of the master.
    pub(super) fn addresses(&self) -> String {
        let addresses: Vec<String> = self.sentinels.iter().map(|info| info.addr().to_string()).collect();
        format!("{} (by Sentinel at {})", self.name, addresses.join(", "))
    }

    /// Returns the settings of connections to the master.
    #[cfg(test)]
    pub(super) fn settings(&self) -> &ConnectionInfo {
        &self.master
    }

    /// Asks the sentinels for the master, beginning with the one that has responded last. Fails with the last one's
    /// cause.
    pub(super) async fn master(&self) -> Result<ConnectionInfo, RedisError> {
        let first = self.next.load(Ordering::Relaxed);
        let mut failed = Error::no_answer();
        for index in (0..self.sentinels.len()).map(|step| (first + step) % self.sentinels.len()) {
            match timeout(ASKED, self.ask(&self.sentinels[index])).await {
                Ok(Ok((host, port))) => {
                    self.next.store(index, Ordering::Relaxed);
                    return Ok(wire::at(&self.master, host, port));
                }
                Ok(Err(error)) => failed = error,
                Err(_elapsed) => failed = Error::no_answer(),
            }
            self.skip();
        }
        Err(failed)
    }

    /// Asks the next sentinel first from now on: this one does not respond, or has named a server that is not a master.
    pub(super) fn skip(&self) {
        let next = |index: usize| Some((index + 1) % self.sentinels.len());
        let _ = self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
    }

    /// Asks one sentinel for the master's host and port.
    async fn ask(&self, sentinel: &ConnectionInfo) -> Result<(String, u16), RedisError> {
        let connection = Connection::open(sentinel, None).await?;
        let mut pipeline = redis::pipe();
        pipeline.cmd("SENTINEL").arg("GET-MASTER-ADDR-BY-NAME").arg(&self.name);
        let reply = connection.query(&pipeline).await?.pop().unwrap_or(Value::Nil);
        let address = Option::<(String, u16)>::from_redis_value(reply.extract_error()?)?;
        address.ok_or_else(|| {
            (ErrorKind::Io, "the sentinels know no master of this name", self.name.clone()).into()
        })
    }
}

/// Fails if the server at the other end of a new connection is not a master: Sentinel may not have noticed a failover
/// yet.
pub(super) async fn check_role(connection: &Connection) -> Result<(), RedisError> {
    let reply = connection.query(redis::pipe().cmd("ROLE")).await?.pop().unwrap_or(Value::Nil);
    let Value::Array(parts) = reply.extract_error()? else { return Err(Error::no_answer()) };
    let role = parts.into_iter().next().map(String::from_redis_value).transpose()?;
    match role.as_deref() {
        Some("master") => Ok(()),
        _ => Err((ErrorKind::Io, "the server is not a master").into()),
    }
}
