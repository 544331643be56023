//! Users whom a viewer does not want to see.
//!
//! Not here: storage of exclusions (`store::exclusion`), and what they hide (`app::visibility`).

use std::num::NonZeroU64;

use crate::model::clock::Timestamp;
use crate::model::id::UserId;
use crate::model::page::{InListOrder as _, Position};
use crate::model::relation::{Mute, MuteScope};

/// Version of a user's exclusions. Each change of them raises it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(NonZeroU64);

impl Version {
    /// Creates a version; `None` if the number is zero.
    #[must_use]
    pub fn new(number: u64) -> Option<Self> {
        NonZeroU64::new(number).map(Self)
    }

    /// Returns the version's number.
    #[must_use]
    pub fn get(self) -> u64 {
        self.0.get()
    }
}

/// All users whom a viewer does not want to see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exclusions {
    /// The mutes, sorted by user. Some may have ended.
    mutes: Box<[(UserId, Mute)]>,
}

impl Exclusions {
    /// Creates exclusions of these mutes, at most one per user, in any order.
    #[must_use]
    pub fn new(mut mutes: Vec<(UserId, Mute)>) -> Self {
        mutes.sort_unstable_by_key(|(user, _)| *user);
        Self { mutes: mutes.into() }
    }

    /// Returns the mute of a user, unless it has ended.
    #[must_use]
    pub fn mute_of(&self, user: UserId, now: Timestamp) -> Option<Mute> {
        let index = self.mutes.binary_search_by_key(&user, |(muted, _)| *muted).ok()?;
        Some(self.mutes[index].1).filter(|mute| mute.is_active(now))
    }

    /// Returns true if posts of some users do not belong in the viewer's home timeline.
    #[must_use]
    pub fn hide_posts(&self, now: Timestamp) -> bool {
        self.mutes.iter().any(|(_, mute)| mute.is_active(now) && mute.scope == MuteScope::All)
    }

    /// Returns true if the posts of a user do not belong in the viewer's home timeline.
    #[must_use]
    pub fn hide_posts_of(&self, user: UserId, now: Timestamp) -> bool {
        self.mute_of(user, now).is_some_and(|mute| mute.scope == MuteScope::All)
    }

    /// Returns the users whose mutes have ended.
    #[must_use]
    pub fn ended(&self, now: Timestamp) -> Vec<UserId> {
        self.mutes.iter().filter(|(_, mute)| !mute.is_active(now)).map(|(user, _)| *user).collect()
    }

    /// Returns the muted users, in list order. Leaves out mutes that have ended.
    #[must_use]
    pub fn muted(&self, now: Timestamp) -> Vec<Position> {
        let active = self.mutes.iter().filter(|(_, mute)| mute.is_active(now));
        let mut muted: Vec<_> =
            active.map(|&(user, Mute { since, .. })| Position { at: since, user }).collect();
        muted.sort_by(Position::in_list_order);
        muted
    }

    /// Returns the size of the exclusions in memory, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.mutes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mute_counts_until_it_ends_and_the_newest_is_listed_first() {
        let time = Timestamp::from_millis;
        let user = |number| UserId::new(number).unwrap();
        let mute = |since, until: Option<i64>| Mute {
            since: time(since),
            until: until.map(time),
            scope: MuteScope::All,
        };
        let mutes =
            vec![(user(9), mute(1, None)), (user(3), mute(5, Some(20))), (user(4), mute(7, Some(10)))];
        let exclusions = Exclusions::new(mutes);
        let muted =
            |now| exclusions.muted(time(now)).iter().map(|entry| entry.user.get()).collect::<Vec<_>>();
        assert_eq!(muted(9), [4, 3, 9]);
        assert_eq!(muted(10), [3, 9], "a mute ends at its end");
        assert_eq!(exclusions.mute_of(user(3), time(19)), Some(mute(5, Some(20))));
        assert_eq!(exclusions.mute_of(user(3), time(20)), None);
        assert_eq!(exclusions.mute_of(user(5), time(0)), None);
    }
}
