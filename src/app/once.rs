//! A cache of the once-a-day operations that this process has already done today.

use std::collections::HashSet;
use std::hash::Hash;

use parking_lot::Mutex;

use crate::model::clock::Day;

/// Maximum number of cached operations. Repeating an evicted operation is harmless.
const MOST: usize = 100_000;

/// The latest day, and the operations done on it.
pub(super) struct Once<K>(Mutex<(Day, HashSet<K>)>);

impl<K> Default for Once<K> {
    fn default() -> Self {
        Self(Mutex::new((Day::from_number(i64::MIN), HashSet::new())))
    }
}

impl<K: Eq + Hash> Once<K> {
    /// Returns true if the operation is known to have been done on this day.
    pub(super) fn is_done(&self, day: Day, what: &K) -> bool {
        let done = self.0.lock();
        done.0 == day && done.1.contains(what)
    }

    /// Clears the cache.
    pub(super) fn forget(&self) {
        self.0.lock().1.clear();
    }

    /// Records that the operation was done on `day`, unless a later day has begun.
    pub(super) fn note(&self, day: Day, what: K) {
        let mut done = self.0.lock();
        if done.0 < day || done.1.len() >= MOST {
            *done = (done.0.max(day), HashSet::new());
        }
        if done.0 == day {
            done.1.insert(what);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_counts_for_its_day() {
        let (one, two) = (Day::from_number(1), Day::from_number(2));
        let once = Once::default();
        assert!(!once.is_done(one, &7));
        once.note(one, 7);
        assert!(once.is_done(one, &7) && !once.is_done(one, &8) && !once.is_done(two, &7));
        once.note(two, 8);
        once.note(one, 9);
        assert!(once.is_done(two, &8) && !once.is_done(two, &9) && !once.is_done(one, &9));
        once.forget();
        assert!(!once.is_done(two, &8));
    }

    #[test]
    fn the_number_of_cached_notes_is_limited() {
        let (once, day) = (Once::default(), Day::from_number(1));
        (0..=MOST).for_each(|number| once.note(day, number));
        assert!(once.is_done(day, &MOST) && !once.is_done(day, &0));
    }
}
