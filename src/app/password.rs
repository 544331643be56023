//! Hashing passwords, off the threads that serve, behind a queue with an end.
//!
//! Argon2id with 19 MiB and two passes takes some twenty milliseconds of a processor, by design.
//! Left alone, a burst of logins would take all of them and all memory. So a fixed number run at a
//! time, a bounded number wait, and beyond that the client is asked to come back.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use argon2::{Argon2, PasswordHasher as _, PasswordVerifier as _};
use tokio::sync::Semaphore;

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
    /// One permit for each that may be hashed at the same time.
    workers: Arc<Semaphore>,
    chance: Arc<Chance>,
}

impl Passwords {
    pub(super) fn new(config: &AccountConfig, chance: Arc<Chance>) -> Self {
        let processors = || std::thread::available_parallelism().map_or(1, usize::from);
        let workers = config.password_workers.map_or_else(processors, usize::from);
        let places = workers + config.password_queue as usize;
        Self { places: Arc::new(Semaphore::new(places)), workers: Arc::new(Semaphore::new(workers)), chance }
    }

    /// The hash of a password, with a salt of its own.
    pub(super) async fn hash(&self, password: Password) -> Result<PasswordHash, Error> {
        let salt: [u8; 16] = self.chance.bytes();
        let hash = move || Argon2::default().hash_password_with_salt(password.expose(), &salt);
        let hash = self.run(hash).await?.map_err(|error| Broken::Hashing(error.to_string()))?;
        Ok(PasswordHash::from_phc(hash.to_string()))
    }

    /// Whether the password is the one hashed. Without a hash it is not, after the same work.
    pub(super) async fn verify(&self, password: Password, hash: Option<PasswordHash>) -> Result<bool, Error> {
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
        let busy = || Error::Refused(Refused::Busy { retry_after: RETRY_AFTER });
        let place = Arc::clone(&self.places).try_acquire_owned().map_err(|_| busy())?;
        let worker = Arc::clone(&self.workers).acquire_owned().await.map_err(|_| busy())?;
        // The permits go with the work: it runs to its end even if the client has gone.
        let run = move || {
            let done = work();
            drop((worker, place));
            done
        };
        let run = tokio::task::spawn_blocking(run);
        Ok(run.await.map_err(|error| Broken::Hashing(error.to_string()))?)
    }
}
