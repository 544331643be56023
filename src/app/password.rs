//! Hashing passwords, off the threads that serve, behind a queue with an end.
//!
//! Argon2id with 19 MiB and two passes takes some twenty milliseconds of a processor, by design.
//! Left alone, a burst of logins would take all of them and all memory. So a fixed number run at a
//! time, a bounded number wait, and beyond that the client is asked to come back.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use argon2::{Argon2, PasswordHasher as _, PasswordVerifier as _};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::app::error::{Broken, Error, Refused};
use crate::config::AccountConfig;
use crate::model::chance::Chance;
use crate::model::secret::{Password, PasswordHash};

/// When to come back if the queue is full: about what it takes to work off.
const RETRY_AFTER: Duration = Duration::from_secs(2);

/// Verified in place of the hash of a user who has none or does not exist, so that an unknown name
/// costs what a wrong password costs.
static NOBODYS: LazyLock<PasswordHash> = LazyLock::new(|| {
    let hash = Argon2::default().hash_password_with_salt(b"nobody's password", &[0; 16]);
    PasswordHash::from_phc(hash.map(|hash| hash.to_string()).unwrap_or_default())
});

/// The place where passwords are hashed and verified. Clones share its room.
#[derive(Clone)]
pub(super) struct Passwords {
    /// One permit for each that may be here at all, hashed or waiting.
    places: Arc<Semaphore>,
    /// How many permits there are of both kinds.
    most: (usize, usize),
    /// One permit for each that may be hashed at the same time.
    workers: Arc<Semaphore>,
    chance: Arc<Chance>,
    /// How many have been verified.
    verified: Arc<AtomicU64>,
}

/// A place in the queue, for one password after another. It is given up with the last clone.
#[derive(Clone)]
pub(super) struct Place {
    passwords: Passwords,
    _permit: Arc<OwnedSemaphorePermit>,
}

impl Passwords {
    pub(super) fn new(config: &AccountConfig, chance: Arc<Chance>) -> Self {
        let processors = || std::thread::available_parallelism().map_or(1, usize::from);
        let workers = config.password_workers.map_or_else(processors, usize::from);
        let places = workers + config.password_queue as usize;
        let (most, places, workers) = ((places, workers), Semaphore::new(places), Semaphore::new(workers));
        let (places, workers) = (Arc::new(places), Arc::new(workers));
        Self { places, most, workers, chance, verified: Arc::default() }
    }

    /// How many wait.
    pub(super) fn waiting(&self) -> usize {
        let (places, workers) = self.most;
        let here = places.saturating_sub(self.places.available_permits());
        here.saturating_sub(workers.saturating_sub(self.workers.available_permits()))
    }

    /// How many have been verified so far.
    pub(super) fn verified(&self) -> u64 {
        self.verified.load(Ordering::Relaxed)
    }

    /// A place in the queue, to be had before anything else is done for the password.
    pub(super) fn enter(&self) -> Result<Place, Error> {
        let permit = Arc::clone(&self.places).try_acquire_owned();
        let permit = permit.map_err(|_| Error::Refused(Refused::Busy { retry_after: RETRY_AFTER }))?;
        Ok(Place { passwords: self.clone(), _permit: Arc::new(permit) })
    }
}

impl Place {
    /// The hash of a password, with a salt of its own.
    pub(super) async fn hash(&self, password: Password) -> Result<PasswordHash, Error> {
        let salt: [u8; 16] = self.passwords.chance.bytes();
        let hash = move || Argon2::default().hash_password_with_salt(password.expose(), &salt);
        let hash = self.run(hash).await?.map_err(|error| Broken::Hashing(error.to_string()))?;
        Ok(PasswordHash::from_phc(hash.to_string()))
    }

    /// Whether the password is the one hashed. Without a hash it is not, after the same work.
    pub(super) async fn verify(&self, password: Password, hash: Option<PasswordHash>) -> Result<bool, Error> {
        self.passwords.verified.fetch_add(1, Ordering::Relaxed);
        let known = hash.is_some();
        let verify = move || {
            let hash = hash.as_ref().unwrap_or(&NOBODYS);
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

    async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, Error> {
        let worker = Arc::clone(&self.passwords.workers).acquire_owned().await;
        let worker = worker.map_err(|error| Broken::Hashing(error.to_string()))?;
        // Place and permit go with the work: it runs to its end even if the client has gone.
        let place = self.clone();
        let run = move || {
            let done = work();
            drop((worker, place));
            done
        };
        let run = tokio::task::spawn_blocking(run);
        Ok(run.await.map_err(|error| Broken::Hashing(error.to_string()))?)
    }
}
