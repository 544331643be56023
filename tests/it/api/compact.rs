//! Compact sets: the same as a plain set, in little memory.

use std::collections::BTreeSet;

use fanfold::model::clock::Timestamp;
use fanfold::model::id::UserId;
use fanfold::store::Store;
use fanfold::store::batch::Batch;
use fanfold::store::compact::{self, NEWEST, Newest};
use fanfold::store::key::{CompactSet, Key};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use crate::harness::case;
use crate::harness::world::World;

const OWNER: u64 = 7;

fn user(number: u64) -> UserId {
    UserId::new(number).unwrap()
}

fn set(store: &Store) -> Key<CompactSet> {
    store.keys().blockers(user(OWNER))
}

/// Adds members with the time of their numbers, or removes them. Returns how often the set changed.
async fn change(store: &Store, members: &[(u64, bool)]) -> usize {
    let mut changes = 0;
    for members in members.chunks(5_000) {
        let mut batch = Batch::new("test");
        let change = |&(member, is_added): &(u64, bool)| {
            let at = Timestamp::from_millis(i64::try_from(member).unwrap());
            batch.push(if is_added {
                compact::add(&set(store), user(member), at)
            } else {
                compact::remove(&set(store), user(member))
            })
        };
        let tickets = members.iter().map(change).collect();
        let changed = batch.send(store).await.unwrap().take_all(tickets).unwrap();
        changes += changed.into_iter().filter(|changed| *changed).count();
    }
    changes
}

async fn newest(store: &Store, size: usize) -> Newest {
    compact::newest(&set(store), size).send("test", store).await.unwrap()
}

/// Returns all members by their shards, and checks the encodings.
fn listed(world: &World) -> Vec<u64> {
    let raw = |words: &[&str]| world.redis.raw::<String>(words);
    let keys: Vec<String> = world.redis.raw(&["KEYS", "ff:{u7}:blockers:*"]);
    let mut members = Vec::new();
    for key in keys.iter().filter(|key| !key.ends_with("count")) {
        assert_eq!(raw(&["OBJECT", "ENCODING", key]), "intset", "{key}");
        members.extend(world.redis.raw::<Vec<u64>>(&["SMEMBERS", key]));
    }
    members.retain(|member| *member != 0);
    members.sort_unstable();
    members
}

#[tokio::test]
async fn a_compact_set_is_a_set_however_it_grows_and_shrinks() {
    let world = World::new().await;
    let store = world.app.store();
    let mut rng = StdRng::seed_from_u64(case::seed(5));
    let mut model: BTreeSet<u64> = BTreeSet::new();
    for (range, share) in
        [(100, 2), (129, 1), (600, 2), (600, 9), (4_000, 1), (4_000, 3), (4_000, 9), (4_000, 1)]
    {
        // A share of all members of the range is added, and the others are removed.
        let members: Vec<(u64, bool)> =
            (1..=range).map(|member| (member, rng.random_range(0..share) == 0)).collect();
        let mut expected = 0;
        for (member, is_added) in &members {
            expected += usize::from(if *is_added { model.insert(*member) } else { model.remove(member) });
        }
        assert_eq!(change(store, &members).await, expected, "{range}");
        let found = newest(store, NEWEST).await;
        assert_eq!(found.count, model.len() as u64, "{range}");
        assert!(found.members.iter().all(|follow| model.contains(&follow.user.get())));
        assert!(found.members.windows(2).all(|pair| pair[0].at > pair[1].at));
        for members in members.chunks(compact::PROBE) {
            let others: Vec<UserId> = members.iter().map(|(member, _)| user(*member)).collect();
            let probe = compact::contains(&set(store), &others).send("test", store).await.unwrap();
            let expected: Vec<bool> = members.iter().map(|(member, _)| model.contains(member)).collect();
            assert_eq!(probe, expected, "{range}");
        }
        let all =
            async |most| compact::all(store.keys(), set(store), most).send("test", store).await.unwrap();
        let mut found: Vec<u64> =
            all(compact::MOST_MEMBERS).await.unwrap().into_iter().map(UserId::get).collect();
        found.sort_unstable();
        assert_eq!(found, model.iter().copied().collect::<Vec<_>>(), "{range}");
        if model.len() > NEWEST {
            assert_eq!(all(model.len() - 1).await, None, "{range}");
        }
        let has_tree: bool = world.redis.raw(&["EXISTS", "ff:{u7}:blockers:count"]);
        if has_tree {
            assert_eq!(listed(&world), model.iter().copied().collect::<Vec<_>>(), "{range}");
        }
        if !model.is_empty() {
            let encoding: Option<String> = world.redis.raw(&["OBJECT", "ENCODING", "ff:{u7}:blockers"]);
            assert!(encoding.is_none_or(|encoding| ["listpack", "ziplist"].contains(&&*encoding)));
        }
    }
    let all: Vec<(u64, bool)> = model.iter().map(|member| (*member, false)).collect();
    assert_eq!(change(store, &all).await, all.len());
    assert_eq!(newest(store, 5).await, Newest { count: 0, members: Vec::new() });
    // An empty set is small again.
    assert_eq!(change(store, &[(3, true), (9, true), (3, true)]).await, 2);
    let found: Vec<u64> = newest(store, 5).await.members.iter().map(|follow| follow.user.get()).collect();
    assert_eq!(found, [9, 3]);
}

#[tokio::test]
async fn the_newest_members_are_those_added_last_by_their_times() {
    let world = World::new().await;
    let store = world.app.store();
    let mut members: Vec<(u64, bool)> = (1..=1_000).map(|member| (member, true)).collect();
    // The time of a member is its number, so these are added in another order than that of their times.
    members.swap(0, 999);
    members.swap(127, 500);
    assert_eq!(change(store, &members).await, 1_000);
    let found = newest(store, 50).await;
    let users: Vec<u64> = found.members.iter().map(|follow| follow.user.get()).collect();
    assert_eq!((found.count, users), (1_000, (951..=1_000).rev().collect()));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_number_of_members_is_exact_under_many_writers() {
    let world = World::new().await;
    let writers = (0..50).map(|writer: u64| {
        let app = world.app.clone();
        tokio::spawn(async move {
            // Neighbouring writers have half of their members in common, and each removes a fifth of them again.
            let own =
                |is_added: bool| (writer * 40 + 1..writer * 40 + 81).map(move |member| (member, is_added));
            let all: Vec<_> = own(true).chain(own(false).filter(|(member, _)| member % 5 == 0)).collect();
            change(app.store(), &all).await
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    // Whether a member that two writers have in common stays depends on their order, the number does not.
    let store = world.app.store();
    assert_eq!(newest(store, 0).await.count, listed(&world).len() as u64);
}

/// Returns how many commands of scripts have changed shards.
fn shards_changed(world: &World) -> u64 {
    let statistics: String = world.redis.raw(&["INFO", "commandstats"]);
    let calls = |command: &str| {
        let line =
            statistics.lines().find_map(|line| line.strip_prefix(&format!("cmdstat_{command}:calls=")));
        line.map_or(0, |line| line.split(',').next().unwrap().parse().unwrap())
    };
    calls("sadd") + calls("srem")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_set_takes_less_than_six_bytes_a_member_and_a_change_touches_few_shards() {
    const MEMBERS: u64 = 60_000;
    let world = World::own(&[]).await;
    let store = world.app.store();
    let all: Vec<(u64, bool)> = (1..=MEMBERS).map(|member| (member, true)).collect();
    change(store, &all).await;
    let keys: Vec<String> = world.redis.raw(&["KEYS", "ff:{u7}:blockers*"]);
    let bytes: u64 = keys.iter().map(|key| world.redis.raw::<u64>(&["MEMORY", "USAGE", key])).sum();
    assert!(bytes <= 6 * MEMBERS, "{bytes}");
    for change_of in [(MEMBERS + 1, true), (MEMBERS + 1, false), (1, false), (1, true)] {
        let before = shards_changed(&world);
        assert_eq!(change(store, &[change_of]).await, 1);
        let touched = shards_changed(&world) - before;
        assert!(touched <= 3, "{change_of:?}: {touched}");
    }
}
