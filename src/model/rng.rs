//! The random number generator, as an injected dependency.

use std::fmt;

use parking_lot::Mutex;
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng};

/// A random number generator, suitable for secrets when created by [`Rng::from_system`].
///
/// Each process has one generator, behind a lock. A request takes the lock a few times, for nanoseconds each
/// time.
pub struct Rng(Mutex<StdRng>);

impl Rng {
    /// Creates a generator seeded by the operating system.
    #[must_use]
    pub fn from_system() -> Self {
        Self(Mutex::new(rand::make_rng()))
    }

    /// Creates a generator with a reproducible sequence, for tests and reproducible demo data.
    #[must_use]
    pub fn from_seed(seed: u64) -> Self {
        Self(Mutex::new(StdRng::seed_from_u64(seed)))
    }

    /// Returns `N` random bytes.
    #[must_use]
    pub fn bytes<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        // A panic while the lock was held leaves the generator in a usable state.
        let mut rng = self.0.lock();
        rng.fill_bytes(&mut bytes);
        bytes
    }

    /// Returns a random integer. Two such integers are equal with a probability of 2⁻⁶⁴.
    #[must_use]
    pub fn nonce(&self) -> u64 {
        u64::from_le_bytes(self.bytes())
    }
}

impl fmt::Debug for Rng {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Rng(***)")
    }
}
