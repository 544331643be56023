//! Password hashing on dedicated threads, behind a bounded queue.
//!
//! Argon2id with 19 MiB and two passes takes about 20 ms of CPU time, by design. Without a bound, a burst of
//! logins would use up all processors and all memory. The server therefore computes a fixed number of hashes
//! at a time, on low-priority threads ([`workers`]). A bounded number of further jobs wait in a queue, which
//! is fair across addresses and accounts ([`turns`]). When the queue is full, the server asks the client to
//! retry later.

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
use crate::model::secret::{Password, PasswordAttempt, PasswordHash};

pub(super) use self::turns::Source;

/// Retry delay sent to the client when the queue is full: about the time that the queue takes to drain.
const RETRY_AFTER: Duration = Duration::from_secs(2);
/// Delay before the server sends a rejection. A client that retries immediately therefore receives one
/// rejection per second per connection, instead of as many as the server can write.
const HELD_BACK: Duration = Duration::from_secs(1);
/// Maximum number of rejections delayed at the same time. The server sends further rejections immediately.
const MOST_HELD_BACK: usize = 4_096;

/// Hash to verify against if the account has none, so that an unknown name takes as long to reject as a wrong
/// password.
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
    /// Number of passwords verified since the process started.
    verified: Arc<AtomicU64>,
}

/// A place in the queue, for hashing any number of passwords, one at a time. The place is released when the
/// last clone of this value is dropped.
#[derive(Clone)]
pub(super) struct Slot {
    passwords: Passwords,
    taken: Arc<Taken>,
}

/// The outcome of verifying a password.
pub(super) enum Verdict {
    /// The password is right. Has the hash that it was verified against.
    Right(PasswordHash),
    /// The password as typed is right, because an earlier version of Fanfold has made this hash.
    RightAsTyped(PasswordHash),
    /// The password is wrong.
    Wrong,
    /// The prepared form is wrong, and another job has displaced this one before the password as typed was verified.
    /// Has the rejection. The attempt's tokens are not returned: a flood would make guesses free.
    Displaced(Error),
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
        let limits = Limits { total, per_address: config.password_queue_per_address as usize };
        Self {
            workers: Arc::new(Workers::new(workers, limits)),
            rejections: Arc::new(Semaphore::new(MOST_HELD_BACK)),
            rng,
            verified: Arc::default(),
        }
    }

    /// Returns the number of passwords waiting to be hashed.
    pub(super) fn waiting(&self) -> usize {
        self.workers.waiting()
    }

    /// Returns the number of passwords verified so far.
    pub(super) fn verified(&self) -> u64 {
        self.verified.load(Ordering::Relaxed)
    }

    /// Takes a place in the queue. Callers must do this before any other work on a password attempt.
    pub(super) async fn enter(&self, source: Source) -> Result<Slot, Error> {
        if let Some(id) = self.workers.enter(source) {
            let taken = Arc::new(Taken { workers: Arc::clone(&self.workers), id });
            return Ok(Slot { passwords: self.clone(), taken });
        }
        Err(self.hold_back(busy()).await)
    }

    /// Delays a rejection, unless the maximum number of rejections is already being delayed.
    async fn hold_back(&self, rejection: Error) -> Error {
        if let Ok(_held_back) = self.rejections.try_acquire() {
            tokio::time::sleep(HELD_BACK).await;
        }
        rejection
    }
}

impl Slot {
    /// Releases the place and returns the rejection after a delay.
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

    /// Verifies a password against a hash: its prepared form, and if that is wrong and not what was typed, the password
    /// as typed. Each waits for a turn. Without a hash, does the same work, and the password is wrong.
    pub(super) async fn verify(
        &self,
        attempt: &PasswordAttempt,
        hash: Option<PasswordHash>,
    ) -> Result<Verdict, Error> {
        if self.matches(attempt.prepared.clone(), hash.clone()).await? {
            return Ok(hash.map_or(Verdict::Wrong, Verdict::Right));
        }
        let Some(typed) = attempt.typed.clone() else { return Ok(Verdict::Wrong) };
        Ok(match self.matches(typed, hash.clone()).await {
            Ok(true) => hash.map_or(Verdict::Wrong, Verdict::RightAsTyped),
            Ok(false) => Verdict::Wrong,
            Err(rejection @ Error::Rejected(_)) => Verdict::Displaced(rejection),
            Err(error) => return Err(error),
        })
    }

    /// Returns true if the password matches the hash. Without a hash, does the same work and returns false.
    async fn matches(&self, password: Password, hash: Option<PasswordHash>) -> Result<bool, Error> {
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

    /// Runs the work when its turn comes. Fails with [`Rejection::Busy`] if another job displaces this one.
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
            // The receiver has been dropped if the client disconnected.
            drop(sender.send(done));
        };
        self.taken
            .workers
            .run(self.taken.id, Box::new(job))
            .map_err(|error| Broken::Hashing(error.to_string()))?;
        done.await.map_err(|error| Broken::Hashing(error.to_string()))?
    }
}

/// Returns the default number of workers: half the number of processors. The other half serves requests.
fn usual_workers() -> usize {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    (processors / 2).max(1)
}

fn busy() -> Error {
    Error::Rejected(Rejection::Busy { retry_after: RETRY_AFTER })
}
