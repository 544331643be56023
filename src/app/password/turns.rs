//! Fair scheduling of password jobs across addresses, and across the accounts at each address.
//!
//! A password attempt first takes a place; its job then waits for a turn. Turns go round-robin across the
//! addresses with waiting jobs, and within an address across its accounts. A client that floods the queue
//! therefore waits behind its own jobs, and other clients behind the same address (NAT) do not wait for those
//! jobs.
//!
//! When all places are taken, a newcomer displaces the newest waiting job of the client with the most places
//! (*longest queue drop*). The newcomer is rejected only if no such client has more places than the newcomer
//! would have.
//!
//! Not here: the jobs' work and the threads they run on (`password`, `password::workers`).

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

use crate::model::address::Address;
use crate::model::digest::Digest;

/// The origin of a password attempt: the client's address and the account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::app) struct Source {
    /// Client address; `None` if unknown.
    pub(in crate::app) address: Option<Address>,
    /// Digest that identifies the account, which need not exist.
    pub(in crate::app) account: Digest,
}

/// Limits on the number of places.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) total: usize,
    /// Maximum number of places per known address.
    pub(super) per_address: usize,
}

/// The id of a taken place, never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct SlotId(u64);

/// The scheduler: taken places, and the jobs that wait for their turns.
pub(super) struct Turns<Job> {
    limits: Limits,
    places: HashMap<SlotId, Source>,
    issued: u64,
    waiting: usize,
    addresses: Round<Option<Address>, Share<Job>>,
}

/// Members of a round-robin, by key. A member without a waiting job is only in `all`.
struct Round<Key, Member> {
    all: HashMap<Key, Member>,
    /// Keys of members with a waiting job, in the order of their turns.
    order: VecDeque<Key>,
}

/// An address's places and jobs, by account.
struct Share<Job> {
    places: usize,
    accounts: Round<Digest, Line<Job>>,
}

/// An account's places and jobs at one address.
struct Line<Job> {
    places: usize,
    jobs: VecDeque<(SlotId, Job)>,
}

impl<Key, Member> Default for Round<Key, Member> {
    fn default() -> Self {
        Self { all: HashMap::new(), order: VecDeque::new() }
    }
}

impl<Key: Copy + Eq + Hash, Member> Round<Key, Member> {
    /// Returns the member with the most places, among members with a waiting job, as its key and number of
    /// places.
    fn longest(&self, places: impl Fn(&Member) -> usize) -> Option<(Key, usize)> {
        let members = self.order.iter().filter_map(|key| Some((*key, places(self.all.get(key)?))));
        members.max_by_key(|(_, places)| *places)
    }

    fn places_of(&self, key: Key, places: impl Fn(&Member) -> usize) -> usize {
        self.all.get(&key).map_or(0, places)
    }

    fn remove_from_order(&mut self, key: Key) {
        self.order.retain(|other| *other != key);
    }
}

impl<Job> Default for Share<Job> {
    fn default() -> Self {
        Self { places: 0, accounts: Round::default() }
    }
}

impl<Job> Default for Line<Job> {
    fn default() -> Self {
        Self { places: 0, jobs: VecDeque::new() }
    }
}

impl<Job> Turns<Job> {
    pub(super) fn new(limits: Limits) -> Self {
        Self { limits, places: HashMap::new(), issued: 0, waiting: 0, addresses: Round::default() }
    }

    /// Returns the number of waiting jobs.
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Takes a place. Returns the place and the displaced job, if any; `None` if no place is available.
    pub(super) fn enter(&mut self, source: Source) -> Option<(SlotId, Option<Job>)> {
        let has_all = self.has_all_it_may(source.address);
        let displaced = if has_all || self.places.len() >= self.limits.total {
            let held = self.addresses.places_of(source.address, |share| share.places);
            let longest = self.addresses.longest(|share| share.places);
            let longest = longest.filter(|(_, places)| !has_all && *places > held + 1);
            Some(self.displace(longest.map_or(source.address, |(address, _)| address), source)?)
        } else {
            None
        };
        let place = SlotId(self.issued);
        self.issued += 1;
        self.places.insert(place, source);
        let share = self.addresses.all.entry(source.address).or_default();
        share.places += 1;
        share.accounts.all.entry(source.account).or_default().places += 1;
        Some((place, displaced))
    }

    fn has_all_it_may(&self, address: Option<Address>) -> bool {
        let held = self.addresses.places_of(address, |share| share.places);
        address.is_some() && held >= self.limits.per_address
    }

    /// Removes the newest waiting job of the account with the most places at an address. At the newcomer's
    /// own address, does so only if that account has more places than the newcomer's account would have;
    /// otherwise, returns `None`.
    fn displace(&mut self, address: Option<Address>, newcomer: Source) -> Option<Job> {
        let accounts = &self.addresses.all.get(&address)?.accounts;
        let (account, places) = accounts.longest(|line| line.places)?;
        let held = accounts.places_of(newcomer.account, |line| line.places);
        if address == newcomer.address && places <= held + 1 {
            return None;
        }
        let (place, job) = self.take(Source { address, account }, VecDeque::pop_back)?;
        self.leave(place);
        Some(job)
    }

    /// Queues a job for its turn. If another job has displaced the place, returns this job as the error.
    pub(super) fn wait(&mut self, place: SlotId, job: Job) -> Result<(), Job> {
        let Some(Source { address, account }) = self.places.get(&place).copied() else { return Err(job) };
        let share = self.addresses.all.entry(address).or_default();
        let line = share.accounts.all.entry(account).or_default();
        if share.accounts.order.is_empty() {
            self.addresses.order.push_back(address);
        }
        if line.jobs.is_empty() {
            share.accounts.order.push_back(account);
        }
        line.jobs.push_back((place, job));
        self.waiting += 1;
        Ok(())
    }

    /// Removes and returns the job whose turn is next.
    pub(super) fn next(&mut self) -> Option<Job> {
        let address = *self.addresses.order.front()?;
        let account = *self.addresses.all.get(&address)?.accounts.order.front()?;
        let (_, job) = self.take(Source { address, account }, VecDeque::pop_front)?;
        // A member with further jobs moves to the end of its round-robin.
        if let Some(share) = self.addresses.all.get_mut(&address) {
            let order = &mut share.accounts.order;
            if order.front() == Some(&account) {
                order.rotate_left(1);
            }
            if self.addresses.order.front() == Some(&address) {
                self.addresses.order.rotate_left(1);
            }
        }
        Some(job)
    }

    /// Removes a job from an account's line. An account or address without further waiting jobs leaves its
    /// round-robin.
    fn take(
        &mut self,
        Source { address, account }: Source,
        which: impl FnOnce(&mut VecDeque<(SlotId, Job)>) -> Option<(SlotId, Job)>,
    ) -> Option<(SlotId, Job)> {
        let share = self.addresses.all.get_mut(&address)?;
        let line = share.accounts.all.get_mut(&account)?;
        let taken = which(&mut line.jobs)?;
        self.waiting -= 1;
        if line.jobs.is_empty() {
            share.accounts.remove_from_order(account);
        }
        if share.accounts.order.is_empty() {
            self.addresses.remove_from_order(address);
        }
        Some(taken)
    }

    /// Releases a place that has no waiting job. Does nothing if the place was displaced.
    pub(super) fn leave(&mut self, place: SlotId) {
        let Some(Source { address, account }) = self.places.remove(&place) else { return };
        let Some(share) = self.addresses.all.get_mut(&address) else { return };
        share.places -= 1;
        if let Some(line) = share.accounts.all.get_mut(&account) {
            line.places -= 1;
            if line.places == 0 {
                share.accounts.all.remove(&account);
            }
        }
        if share.places == 0 {
            self.addresses.all.remove(&address);
        }
    }
}

#[cfg(test)]
mod tests {
    use core::net::{IpAddr, Ipv4Addr};

    use proptest::prelude::*;

    use super::*;

    fn source(address: u8, account: u8) -> Source {
        let address = IpAddr::from(Ipv4Addr::new(192, 0, 2, address));
        Source { address: Some(address.into()), account: Digest::of([Some(&account.to_string())]) }
    }

    fn turns(total: usize, per_address: usize) -> Turns<(u8, u8)> {
        Turns::new(Limits { total, per_address })
    }

    /// Takes a place and waits on it. Returns the displaced job, or an error if there was no place.
    fn join(turns: &mut Turns<(u8, u8)>, address: u8, account: u8) -> Result<Option<(u8, u8)>, ()> {
        let (place, displaced) = turns.enter(source(address, account)).ok_or(())?;
        turns.wait(place, (address, account)).unwrap();
        Ok(displaced)
    }

    fn rest(turns: &mut Turns<(u8, u8)>) -> Vec<(u8, u8)> {
        std::iter::from_fn(|| turns.next()).collect()
    }

    #[test]
    fn turns_go_round_the_addresses_and_within_an_address_round_the_accounts() {
        let mut turns = turns(100, 100);
        for (address, account) in [(1, 1), (1, 1), (1, 1), (1, 2), (1, 2), (2, 3), (2, 3), (3, 4)] {
            assert_eq!(join(&mut turns, address, account), Ok(None));
        }
        assert_eq!(turns.waiting(), 8);
        let order = [(1, 1), (2, 3), (3, 4), (1, 2), (2, 3), (1, 1), (1, 2), (1, 1)];
        assert_eq!(rest(&mut turns), order);
        assert_eq!(turns.waiting(), 0);
    }

    #[test]
    fn an_address_with_more_places_than_others_gives_up_the_newest_for_them() {
        let mut turns = turns(6, 4);
        for _ in 0..4 {
            assert_eq!(join(&mut turns, 1, 1), Ok(None));
        }
        assert_eq!(join(&mut turns, 1, 1), Err(()), "an address has four places");
        assert_eq!(join(&mut turns, 1, 2), Ok(Some((1, 1))), "another account of it has its share of them");
        assert_eq!(join(&mut turns, 1, 2), Ok(Some((1, 1))));
        assert_eq!(join(&mut turns, 1, 2), Err(()));
        assert_eq!(join(&mut turns, 2, 1), Ok(None));
        assert_eq!(join(&mut turns, 2, 1), Ok(None));
        assert_eq!(
            join(&mut turns, 3, 1).map(|displaced| displaced.map(|(address, _)| address)),
            Ok(Some(1))
        );
        assert_eq!(
            join(&mut turns, 2, 2),
            Ok(Some((2, 1))),
            "an address within its share is divided as well"
        );
        assert_eq!(join(&mut turns, 2, 2), Err(()));
    }

    #[test]
    fn a_place_that_was_displaced_is_given_up_once() {
        let mut turns = turns(2, 2);
        let (first, _) = turns.enter(source(1, 1)).unwrap();
        let (second, _) = turns.enter(source(1, 1)).unwrap();
        assert!(turns.enter(source(2, 1)).is_none(), "only a waiting job is displaced");
        turns.wait(first, (1, 1)).unwrap();
        turns.wait(second, (1, 1)).unwrap();
        let (third, displaced) = turns.enter(source(2, 1)).unwrap();
        assert_eq!(displaced, Some((1, 1)));
        turns.leave(second);
        assert_eq!(turns.wait(second, (1, 1)), Err((1, 1)));
        assert_eq!(turns.places.len(), 2);
        assert_eq!(rest(&mut turns), [(1, 1)]);
        turns.leave(first);
        turns.leave(third);
        assert!(turns.places.is_empty() && turns.addresses.all.is_empty());
    }

    proptest! {
        #[test]
        fn counts_add_up_whatever_happens(
            events in proptest::collection::vec((0..4u8, 0..3u8, 0..4u8), 0..200)
        ) {
            let mut turns = Turns::new(Limits { total: 8, per_address: 5 });
            let mut idle = Vec::new();
            for (kind, address, account) in events {
                match kind {
                    0 | 1 => if let Some((place, _)) = turns.enter(source(address, account)) {
                        if kind == 0 { turns.wait(place, place).unwrap(); } else { idle.push(place); }
                    },
                    2 => idle.extend(turns.next()),
                    _ if idle.is_empty() => {}
                    _ => turns.leave(idle.swap_remove(usize::from(address) % idle.len())),
                }
                let shares: Vec<_> = turns.addresses.all.values().collect();
                let places = shares.iter().map(|share| share.places).sum::<usize>();
                prop_assert_eq!(places, turns.places.len());
                prop_assert_eq!(places, idle.len() + turns.waiting());
                prop_assert!(places <= 8 && shares.iter().all(|share| share.places <= 5));
                let lines = || shares.iter().flat_map(|share| share.accounts.all.values());
                prop_assert_eq!(lines().map(|line| line.jobs.len()).sum::<usize>(), turns.waiting());
                let open = lines().filter(|line| !line.jobs.is_empty()).count();
                prop_assert_eq!(shares.iter().map(|share| share.accounts.order.len()).sum::<usize>(), open);
                let open = shares.iter().filter(|share| !share.accounts.order.is_empty()).count();
                prop_assert_eq!(turns.addresses.order.len(), open);
            }
            idle.extend(std::iter::from_fn(|| turns.next()));
            for place in idle {
                turns.leave(place);
            }
            prop_assert!(turns.addresses.all.is_empty());
        }
    }
}
