//! Waits until writes are on disk, for changes that a crash must not undo.
//!
//! `WAITAOF` waits for the last write on its own connection and blocks that connection meanwhile, so it has a
//! dedicated connection. A small write on that connection follows all earlier writes on any connection. Once
//! the small write is on disk, so are the earlier writes. Callers that arrive during a wait share the next
//! wait.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Mutex;

use crate::driver::deployment::Deployment;
use crate::driver::reply::Reply;
use crate::store::command::{command, pipeline};
use crate::store::error::Error;
use crate::store::key::Keys;

/// Timeout of `WAITAOF`, in milliseconds. Redis syncs the append-only file at least every second.
const TIMEOUT: u64 = 2_000;

/// A dedicated connection, used to wait until writes are on disk.
pub(super) struct Durable {
    deployment: Deployment,
    requested: AtomicU64,
    /// Number of requests fulfilled so far.
    fulfilled: Mutex<u64>,
}

impl Durable {
    /// Creates an instance that uses these connections, of which there is one.
    pub(super) fn new(deployment: Deployment) -> Self {
        Self { deployment, requested: AtomicU64::new(0), fulfilled: Mutex::new(0) }
    }

    /// Waits until all previous writes are on disk. Returns false if Redis does not confirm this in time;
    /// fails if Redis does not respond.
    pub(super) async fn wait(&self, keys: &Keys) -> Result<bool, Error> {
        let number = self.requested.fetch_add(1, Ordering::SeqCst) + 1;
        let mut fulfilled = self.fulfilled.lock().await;
        if *fulfilled >= number {
            return Ok(true);
        }
        let upto = self.requested.load(Ordering::SeqCst);
        let write = command("SET").key(&keys.probe()).arg("").arg("EX").arg(60);
        let wait = command("WAITAOF").arg(1).arg(0).arg(TIMEOUT);
        let replies = self.deployment.exchange(pipeline(&[write, wait])).await?;
        let copies = replies.iter().nth(1).and_then(Reply::elements).and_then(|mut copies| copies.next());
        let is_on_disk = copies.and_then(Reply::integer).is_some_and(|copies| copies > 0);
        if is_on_disk {
            *fulfilled = upto;
        }
        Ok(is_on_disk)
    }
}
