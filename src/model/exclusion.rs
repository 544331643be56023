//! Users whom a viewer is not to see, or does not want to see: those on the other side of a block, and muted ones.
//!
//! Not here: storage of exclusions (`store::exclusion`), and what they hide (`app::visibility`).

use std::num::NonZeroU64;
use std::sync::Arc;

use crate::model::clock::Timestamp;
use crate::model::id::UserId;
use crate::model::page::{InListOrder as _, Position};
use crate::model::relation::{Follow, Mute, MuteScope};

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

/// The users who block a viewer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Blockers {
    /// All of them, sorted.
    These(Box<[UserId]>),
    /// Too many to be kept in memory. They must be looked up.
    TooMany,
}

impl Default for Blockers {
    fn default() -> Self {
        Self::These(Box::default())
    }
}

/// All users whom a viewer is not to see, or does not want to see; and the users whom the viewer has requested to
/// follow, who are read with them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exclusions {
    /// The mutes, sorted by user. Some may have ended.
    mutes: Box<[(UserId, Mute)]>,
    /// The users whom the viewer blocks, sorted by user.
    blocking: Box<[Follow]>,
    /// The users whom the viewer has requested to follow, sorted by user.
    requesting: Box<[Follow]>,
    blockers: Blockers,
    /// The users on the other side of a block, each once, without blockers that are too many.
    blocks: Arc<[UserId]>,
}

impl Exclusions {
    /// Creates exclusions of these mutes, at most one per user, in any order.
    #[must_use]
    pub fn new(mut mutes: Vec<(UserId, Mute)>) -> Self {
        mutes.sort_unstable_by_key(|(user, _)| *user);
        Self { mutes: mutes.into(), ..Self::default() }
    }

    /// Returns the same exclusions, with these blocked users and users whom the viewer has requested to follow, in any
    /// order.
    #[must_use]
    pub fn with(self, blocking: Vec<Follow>, requesting: Vec<Follow>) -> Self {
        let sorted = |mut entries: Vec<Follow>| {
            entries.sort_unstable_by_key(|entry| entry.user);
            entries.into()
        };
        Self { blocking: sorted(blocking), requesting: sorted(requesting), ..self }.indexed()
    }

    /// Returns the same exclusions, with these users who block the viewer, in any order; `None` if there are too many.
    #[must_use]
    pub fn blocked_by(self, blockers: Option<Vec<UserId>>) -> Self {
        let blockers = blockers.map_or(Blockers::TooMany, |mut blockers| {
            blockers.sort_unstable();
            Blockers::These(blockers.into())
        });
        Self { blockers, ..self }.indexed()
    }

    /// Returns the same exclusions, with the list of all blocks.
    fn indexed(self) -> Self {
        let mut blocks: Vec<UserId> = self.blocking.iter().map(|entry| entry.user).collect();
        if let Blockers::These(blockers) = &self.blockers {
            blocks.extend(blockers.iter().filter(|blocker| self.blocked_since(**blocker).is_none()));
        }
        Self { blocks: blocks.into(), ..self }
    }

    /// Returns the mute of a user, unless it has ended.
    #[must_use]
    pub fn mute_of(&self, user: UserId, now: Timestamp) -> Option<Mute> {
        let index = self.mutes.binary_search_by_key(&user, |(muted, _)| *muted).ok()?;
        Some(self.mutes[index].1).filter(|mute| mute.is_active(now))
    }

    /// Returns the time at which the viewer blocked a user; `None` if the viewer does not block them.
    #[must_use]
    pub fn blocked_since(&self, user: UserId) -> Option<Timestamp> {
        time_of(&self.blocking, user)
    }

    /// Returns the time at which the viewer requested to follow a user; `None` if no request is pending.
    #[must_use]
    pub fn requested_since(&self, user: UserId) -> Option<Timestamp> {
        time_of(&self.requesting, user)
    }

    /// Returns the users who block the viewer.
    #[must_use]
    pub fn blockers(&self) -> &Blockers {
        &self.blockers
    }

    /// Returns true if the viewer blocks a user, or is known to be blocked by them.
    #[must_use]
    pub fn has_block_with(&self, user: UserId) -> bool {
        let is_blocker = |blockers: &[UserId]| blockers.binary_search(&user).is_ok();
        self.blocked_since(user).is_some()
            || matches!(&self.blockers, Blockers::These(blockers) if is_blocker(blockers))
    }

    /// Returns the users on the other side of a block, each once: those whom the viewer blocks, and those who block the
    /// viewer, unless they are too many. All calls return the same list.
    #[must_use]
    pub fn blocks(&self) -> &Arc<[UserId]> {
        &self.blocks
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
        in_list_order(active.map(|&(user, Mute { since, .. })| Position { at: since, id: user }))
    }

    /// Returns the users whom the viewer blocks, in list order.
    #[must_use]
    pub fn blocked(&self) -> Vec<Position> {
        in_list_order(self.blocking.iter().map(|entry| Position::from(*entry)))
    }

    /// Returns the users whom the viewer has requested to follow, in list order.
    #[must_use]
    pub fn requested(&self) -> Vec<Position> {
        in_list_order(self.requesting.iter().map(|entry| Position::from(*entry)))
    }

    /// Returns the size of the exclusions in memory, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let blockers = match &self.blockers {
            Blockers::These(blockers) => size_of_val(&**blockers),
            Blockers::TooMany => 0,
        };
        let lists = size_of_val(&*self.blocking) + size_of_val(&*self.requesting);
        size_of::<Self>() + size_of_val(&*self.mutes) + lists + blockers + size_of_val(&*self.blocks)
    }
}

/// Returns the time of a user's entry. The entries must be sorted by user.
fn time_of(entries: &[Follow], user: UserId) -> Option<Timestamp> {
    let index = entries.binary_search_by_key(&user, |entry| entry.user).ok()?;
    Some(entries[index].at)
}

fn in_list_order(entries: impl Iterator<Item = Position>) -> Vec<Position> {
    let mut entries: Vec<_> = entries.collect();
    entries.sort_by(Position::in_list_order);
    entries
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
        let muted = |now| exclusions.muted(time(now)).iter().map(|entry| entry.id.get()).collect::<Vec<_>>();
        assert_eq!(muted(9), [4, 3, 9]);
        assert_eq!(muted(10), [3, 9], "a mute ends at its end");
        assert_eq!(exclusions.mute_of(user(3), time(19)), Some(mute(5, Some(20))));
        assert_eq!(exclusions.mute_of(user(3), time(20)), None);
        assert_eq!(exclusions.mute_of(user(5), time(0)), None);
    }
}
