//! Per-user values, each shared within this process for as long as any caller holds it.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use crate::model::id::UserId;

/// Minimum number of entries before dead entries are removed.
const FEWEST: usize = 64;

/// A map from users to shared values. The map itself does not keep the values alive.
pub(super) struct PerUser<T>(Mutex<Values<T>>);

struct Values<T> {
    of: HashMap<UserId, Weak<T>>,
    /// Number of entries at which dead entries are removed.
    most: usize,
}

impl<T> Default for PerUser<T> {
    fn default() -> Self {
        Self(Mutex::new(Values { of: HashMap::new(), most: FEWEST }))
    }
}

impl<T: Default> PerUser<T> {
    /// Returns the user's value, which callers share while any of them holds it. Once no caller holds it, the
    /// next call creates a new value.
    pub(super) fn of(&self, user: UserId) -> Arc<T> {
        let mut values = self.0.lock();
        if let Some(value) = values.of.get(&user).and_then(Weak::upgrade) {
            return value;
        }
        if values.of.len() >= values.most {
            values.of.retain(|_, value| value.strong_count() > 0);
            values.most = FEWEST.max(2 * values.of.len());
        }
        let value = Arc::<T>::default();
        values.of.insert(user, Arc::downgrade(&value));
        value
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn a_value_is_shared_while_it_is_held_and_takes_no_room_afterwards() {
        let values = PerUser::<AtomicU64>::default();
        let user = |number| UserId::new(number).unwrap();
        let held = values.of(user(1));
        held.store(7, Ordering::Relaxed);
        for number in 2..10_000 {
            assert_eq!(values.of(user(number)).load(Ordering::Relaxed), 0);
            values.of(user(number)).store(1, Ordering::Relaxed);
        }
        assert_eq!(values.of(user(1)).load(Ordering::Relaxed), 7);
        assert!(values.0.lock().of.len() <= 2 * FEWEST);
        drop(held);
        assert_eq!(values.of(user(1)).load(Ordering::Relaxed), 0);
    }
}
