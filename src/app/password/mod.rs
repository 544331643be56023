//! Password hashing, off the server threads and behind a bounded queue.
//!
//! Argon2id with 19 MiB and two passes takes some twenty milliseconds of CPU time, by design. Unbounded, a
//! burst of logins would use up all processors and all memory. A fixed number of hashes therefore run at a
//! time, on low-priority threads ([`workers`]). A bounded number wait, scheduled fairly by address and
//! account ([`turns`]). Beyond that, the client is asked to retry later.

mod turns;
mod workers;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use argon2::{Argon2, PasswordHasher as _, PasswordVerifier as _};
use tokio::sync::{Semaphore, oneshot};

use self::turns::{Limits, SlotId};
use self::workers::{Call, Workers};
use crate::app::error::{Broken, Error, Rejection};
use crate::config::AccountConfig;
use crate::model::rng::Rng;
use crate::model::secret::{Password, PasswordHash};

pub(super) use self::turns::Source;

/// Retry delay sent when the queue is full: about the time it takes to drain.
const RETRY_AFTER: Duration = Duration::from_secs(2);
/// Delay before a rejection is sent. A client that retries at once receives one rejection per second and
/// connection, instead of as many as the server can write.
const HELD_BACK: Duration = Duration::from_secs(1);
/// Maximum number of rejections delayed at a time; further ones are sent at once.
const MOST_HELD_BACK: usize = 4_096;

/// Verified in place of a missing hash, so that an unknown name costs the same as a wrong password.
static UNKNOWN_USER: LazyLock<PasswordHash> = LazyLock::new(|| {
    let hash = Argon2::default().hash_password_with_salt(b"nobody's password", &[0; 16]);
    PasswordHash::from_phc(hash.map(|hash| hash.to_string()).unwrap_or_default())
});

/// The password hashing service. Clones share its capacity.
#[derive(Clone)]
pub(super) struct Passwords {
    workers: Arc<Workers>,
    rejections: Arc<Semaphore>,
    rng: Arc<Rng>,
    /// Number of passwords verified.
    verified: Arc<AtomicU64>,
}

/// A place in the queue, used for one password after another. Released when the last clone is dropped.
#[derive(Clone)]
pub(super) struct Slot {
    passwords: Passwords,
    taken: Arc<Taken>,
}

/// A place that is released on drop.
struct Taken {
    workers: Arc<Workers>,
    id: SlotId,
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.workers.leave(self.id);
    }
}

impl Passwords {
    pub(super) fn new(config: &AccountConfig, rng: Arc<Rng>) -> Self {
        let workers = config.password_workers.map_or_else(usual_workers, usize::from);
        let total = workers + config.password_queue as usize;
        let limits = Limits { total, per_address: config.passwords_per_address as usize };
        Self {
            workers: Arc::new(Workers::new(workers, limits)),
            rejections: Arc::new(Semaphore::new(MOST_HELD_BACK)),
            rng,
            verified: Arc::default(),
        }
    }

    /// Returns the number of waiting passwords.
    pub(super) fn waiting(&self) -> usize {
        self.workers.waiting()
    }

    /// Returns the number of passwords verified so far.
    pub(super) fn verified(&self) -> u64 {
        self.verified.load(Ordering::Relaxed)
    }

    /// Takes a place in the queue; must come before any other work for the password.
    pub(super) async fn enter(&self, source: Source) -> Result<Slot, Error> {
        if let Some(id) = self.workers.enter(source) {
            let taken = Arc::new(Taken { workers: Arc::clone(&self.workers), id });
            return Ok(Slot { passwords: self.clone(), taken });
        }
        Err(self.hold_back(busy()).await)
    }

    /// Returns a rejection after a delay.
    async fn hold_back(&self, rejection: Error) -> Error {
        if let Ok(_held_back) = self.rejections.try_acquire() {
            tokio::time::sleep(HELD_BACK).await;
        }
        rejection
    }
}

impl Slot {
    /// Releases the place, and returns the rejection after a delay.
    pub(super) async fn reject(self, rejection: Error) -> Error {
        let Self { passwords, taken } = self;
        drop(taken);
        passwords.hold_back(rejection).await
    }

    /// Hashes a password with a fresh salt.
    pub(super) async fn hash(&self, password: Password) -> Result<PasswordHash, Error> {
        let salt: [u8; 16] = self.passwords.rng.bytes();
        let hash = move || Argon2::default().hash_password_with_salt(password.expose(), &salt);
        let hash = self.run(hash).await?.map_err(|error| Broken::Hashing(error.to_string()))?;
        Ok(PasswordHash::from_phc(hash.to_string()))
    }

    /// Returns whether the password matches the hash. Without a hash, does the same work and returns false.
    pub(super) async fn verify(&self, password: Password, hash: Option<PasswordHash>) -> Result<bool, Error> {
        let known = hash.is_some();
        let verified = Arc::clone(&self.passwords.verified);
        let verify = move || {
            verified.fetch_add(1, Ordering::Relaxed);
            let hash = hash.as_ref().unwrap_or(&UNKNOWN_USER);
            let hash = argon2::PasswordHash::new(hash.expose())?;
            match Argon2::default().verify_password(password.expose(), &hash) {
                Ok(()) => Ok(true),
                Err(argon2::password_hash::Error::PasswordInvalid) => Ok(false),
                Err(error) => Err(error),
            }
        };
        let right = self
            .run(verify)
            .await?
            .map_err(|error: argon2::password_hash::Error| Broken::Hashing(error.to_string()))?;
        Ok(known && right)
    }

    /// Runs the work when its turn comes. Fails with [`Rejection::Busy`] if another job has displaced it.
    async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, Error> {
        let (sender, done) = oneshot::channel();
        // The job owns the place until it is done, even if the client disconnects.
        let place = self.clone();
        let job = move |call| {
            let done = match call {
                Call::Run => Ok(work()),
                Call::Displaced => Err(busy()),
            };
            drop(place);
            // The receiver is gone if the client has disconnected.
            drop(sender.send(done));
        };
        self.taken
            .workers
            .run(self.taken.id, Box::new(job))
            .map_err(|error| Broken::Hashing(error.to_string()))?;
        done.await.map_err(|error| Broken::Hashing(error.to_string()))?
    }
}

/// Returns half of the processors; the others serve requests.
fn usual_workers() -> usize {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    (processors / 2).max(1)
}

fn busy() -> Error {
    Error::Rejected(Rejection::Busy { retry_after: RETRY_AFTER })
}
