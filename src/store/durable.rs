//! Waiting until what was written is on disk, for what must not come back after a crash.
//!
//! `WAITAOF` waits for the last write of its own connection, and nothing else is answered there meanwhile. So there is a
//! connection for this alone: a small write on it comes after all that was written before, wherever, and to have that
//! one on disk is to have them all. Callers that come while one waits are served together by the next.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Mutex;

use crate::store::error::Error;
use crate::store::key::Keys;
use crate::store::pool::Pool;

/// Milliseconds to wait for the disk. It is written to every second, if not at once.
const PATIENCE: u64 = 2_000;

/// The way to have everything on disk.
pub(super) struct Durable {
    pool: Pool,
    requested: AtomicU64,
    /// How many of the requests are fulfilled.
    fulfilled: Mutex<u64>,
}

impl Durable {
    /// Over a connection of its own.
    pub(super) fn new(pool: Pool) -> Self {
        Self { pool, requested: AtomicU64::new(0), fulfilled: Mutex::new(0) }
    }

    /// Returns whether all that was written before is on disk. Fails if Redis does not answer.
    pub(super) async fn wait(&self, keys: &Keys) -> Result<bool, Error> {
        let number = self.requested.fetch_add(1, Ordering::SeqCst) + 1;
        let mut fulfilled = self.fulfilled.lock().await;
        if *fulfilled >= number {
            return Ok(true);
        }
        let upto = self.requested.load(Ordering::SeqCst);
        let mut pipeline = redis::Pipeline::with_capacity(2);
        pipeline.cmd("SET").arg(keys.probe()).arg("").arg("EX").arg(60);
        pipeline.cmd("WAITAOF").arg(1).arg(0).arg(PATIENCE);
        let replies = self.pool.exchange(&pipeline).await?;
        let is_on_disk = matches!(
            replies.last(),
            Some(redis::Value::Array(copies)) if matches!(copies.first(), Some(redis::Value::Int(1..)))
        );
        if is_on_disk {
            *fulfilled = upto;
        }
        Ok(is_on_disk)
    }
}
