//! Time as a value, and the trait through which the clock is injected.
//!
//! Not here: the format of instants in the API (`graphql::types::scalar`).

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// An instant: milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The latest instant.
    pub const MAX: Self = Self(i64::MAX);

    /// Creates the instant `millis` milliseconds after the epoch.
    #[must_use]
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Returns the number of milliseconds since the epoch.
    #[must_use]
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// Returns the instant `duration` later.
    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(millis(duration)))
    }

    /// Returns the instant `duration` earlier.
    #[must_use]
    pub fn minus(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(millis(duration)))
    }

    /// Returns the time elapsed since `earlier`; zero if `earlier` is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        let millis = self.0.saturating_sub(earlier.0);
        Duration::from_millis(u64::try_from(millis).unwrap_or(0))
    }
}

/// A period of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Period {
    /// First instant of the period; `None` if it has no beginning.
    pub since: Option<Timestamp>,
    /// First instant after the period; `None` if it has no end.
    pub until: Option<Timestamp>,
}

impl Period {
    /// All time.
    pub const ALL: Self = Self { since: None, until: None };

    /// Returns true if the period contains an instant.
    #[must_use]
    pub fn contains(self, time: Timestamp) -> bool {
        self.since.is_none_or(|since| since <= time) && self.until.is_none_or(|until| time < until)
    }
}

/// A day in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Day(i64);

impl Day {
    const MILLIS: i64 = 86_400_000;

    /// Returns the day that contains an instant.
    #[must_use]
    pub fn of(time: Timestamp) -> Self {
        Self(time.0.div_euclid(Self::MILLIS))
    }

    /// Creates the day `number` days after 1970-01-01.
    #[must_use]
    pub const fn from_number(number: i64) -> Self {
        Self(number)
    }

    /// Returns the number of days since 1970-01-01.
    #[must_use]
    pub const fn number(self) -> i64 {
        self.0
    }

    /// Returns the day's first instant.
    #[must_use]
    pub fn start(self) -> Timestamp {
        Timestamp(self.0.saturating_mul(Self::MILLIS))
    }

    /// Returns the day `days` days later.
    #[must_use]
    pub fn plus(self, days: i64) -> Self {
        Self(self.0.saturating_add(days))
    }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// A source of time, injected so that tests can control it.
pub trait Clock: Send + Sync {
    /// Returns the current time.
    fn now(&self) -> Timestamp;
}

/// A clock shared by all parts of a process.
pub type SharedClock = Arc<dyn Clock>;

/// The system clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the injected clock")]
    fn now(&self) -> Timestamp {
        let elapsed = SystemTime::now().duration_since(UNIX_EPOCH);
        Timestamp(elapsed.map_or(0, millis))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_begins_at_midnight() {
        let day = |millis| Day::of(Timestamp::from_millis(millis)).number();
        assert_eq!([day(0), day(86_399_999), day(86_400_000)], [0, 0, 1]);
        assert_eq!([day(-1), day(-86_400_000), day(-86_400_001)], [-1, -1, -2]);
        assert_eq!(Day::from_number(3).plus(-2).start(), Timestamp::from_millis(86_400_000));
    }
}
