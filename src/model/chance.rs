//! Chance, and the one type through which it is handed in.
//!
//! Not here: what the random bytes are used for.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// A source of random bytes, fit for secrets when made by [`Chance::from_system`].
///
/// One per process behind a lock: it is asked a few times a request, for nanoseconds each.
pub struct Chance(Mutex<StdRng>);

impl Chance {
    /// Seeded by the operating system.
    #[must_use]
    pub fn from_system() -> Self {
        Self(Mutex::new(rand::make_rng()))
    }

    /// The same sequence for the same seed: for tests and for worlds that must come out the same.
    #[must_use]
    pub fn from_seed(seed: u64) -> Self {
        Self(Mutex::new(StdRng::seed_from_u64(seed)))
    }

    /// `N` random bytes.
    #[must_use]
    pub fn bytes<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        // A panic while the lock was held leaves the generator usable.
        let mut rng = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        rng.fill_bytes(&mut bytes);
        bytes
    }

    /// A random number; two of one process are equal once in 2⁶⁴ pairs.
    #[must_use]
    pub fn nonce(&self) -> u64 {
        u64::from_le_bytes(self.bytes())
    }
}

impl fmt::Debug for Chance {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Chance(***)")
    }
}
