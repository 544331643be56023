//! Ordered compact sets: the same as a list in order of time, in little memory.

use std::collections::BTreeMap;
use std::ops::Range;

use fanfold::app::check::Finding;
use fanfold::model::clock::Timestamp;
use fanfold::model::id::{PostId, UserId};
use fanfold::model::page::{Direction, InListOrder, Page, Position, Window};
use fanfold::store::Store;
use fanfold::store::batch::Batch;
use fanfold::store::key::{KEYS, Key, OrderedSet};
use fanfold::store::memory::usage_of_user;
use fanfold::store::ordered::{self, Added, ORDERED, PROBE, stored_time};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use crate::harness::case;
use crate::harness::world::World;

/// Number of members of the largest set without a tree.
const SMALL: u64 = 128;
/// A time in this century, in milliseconds.
const NOW: i64 = 1_795_163_400_000;

fn user() -> UserId {
    UserId::new(7).unwrap()
}

fn post(number: u64) -> PostId {
    PostId::new(number).unwrap()
}

fn set(store: &Store) -> Key<OrderedSet> {
    store.keys().bookmarks(user())
}

/// A change: a post, and the second at which it is added; or none if it is removed.
type Change = (u64, Option<i64>);

/// A naive implementation.
#[derive(Default)]
struct Model {
    /// All members, and the times of those whose times are known.
    members: BTreeMap<u64, Option<i64>>,
}

impl Model {
    /// Returns the entries whose times are known, in no particular order.
    fn entries(&self) -> impl Iterator<Item = Position<PostId>> {
        self.members.iter().filter_map(|(&id, at)| {
            let at = Timestamp::from_millis(NOW + (*at)? * 1_000);
            Some(Position { at, id: post(id) })
        })
    }

    /// Returns the entries in order.
    fn order(&self) -> Vec<Position<PostId>> {
        let mut order: Vec<_> = self.entries().collect();
        order.sort_by(InListOrder::in_list_order);
        order
    }

    /// Applies a change. Returns true if the set changed.
    fn apply(&mut self, (id, at): Change) -> bool {
        let Some(at) = at else { return self.members.remove(&id).is_some() };
        if self.members.contains_key(&id) {
            return false;
        }
        self.members.insert(id, Some(at));
        if self.members.len() > ORDERED && self.entries().count() > ORDERED {
            // The last one remains a member, without a place.
            let last = self.entries().max_by(InListOrder::in_list_order).unwrap();
            self.members.insert(last.id.get(), None);
        }
        true
    }
}

/// Applies changes. Returns for each true if the set changed.
async fn change(store: &Store, changes: &[Change]) -> Vec<bool> {
    let (set, bucket) = (set(store), store.keys().reactions_of(user()));
    let mut changed = Vec::new();
    for changes in changes.chunks(1_000) {
        let mut batch = Batch::new("test");
        let change = |&(id, at): &Change| match at {
            Some(at) => {
                // The millisecond is not stored.
                let at = Timestamp::from_millis(NOW + at * 1_000 + i64::try_from(id % 1_000).unwrap());
                let add = ordered::add(&set, post(id), at, None, &bucket, None);
                batch.push(add.map(|added| Ok(added == Added::Added)))
            }
            None => batch.push(ordered::remove(&set, post(id))),
        };
        let tickets = changes.iter().map(change).collect();
        changed.extend(batch.send(store).await.unwrap().take_all(tickets).unwrap());
    }
    changed
}

async fn page(store: &Store, window: Window<Position<PostId>>) -> Page<Position<PostId>> {
    ordered::page(&set(store), &window).send("test", store).await.unwrap()
}

/// Compares a set with its model: pages in both directions from several positions, lookups, and the number of members.
async fn compare(world: &World, model: &Model, rng: &mut StdRng) {
    let (store, order) = (world.app.store(), model.order());
    for _ in 0..24 {
        let (id, second) = (rng.random_range(1..9_000), rng.random_range(-40..40));
        let existing = order.get(rng.random_range(0..order.len().max(1))).copied();
        let absent = Position { at: Timestamp::from_millis(NOW + second * 1_000), id: post(id) };
        let from = [None, Some(absent), existing][rng.random_range(0..3)];
        let size = [0, 1, 20, 100, 6_000][rng.random_range(0..5)];
        for direction in [Direction::Forward, Direction::Backward] {
            let window = Window { direction, size, from };
            assert_eq!(page(store, window).await, Page::of(&order, &window), "{window:?}");
        }
    }
    let posts: Vec<PostId> = (0..PROBE).map(|_| post(rng.random_range(1..9_000))).collect();
    let sets: Vec<_> = (0..rng.random_range(1..3)).map(|_| set(store)).collect();
    let found = ordered::contains(&sets, &posts).send("test", store).await.unwrap();
    let expected: Vec<bool> = posts.iter().map(|post| model.members.contains_key(&post.get())).collect();
    assert_eq!(found, vec![expected; sets.len()]);
    let stored = ordered::stored(&set(store)).send("test", store).await.unwrap();
    let count = stored.count.unwrap_or(stored.lengths()[0] as u64);
    assert_eq!(count, model.members.len() as u64);
    assert_eq!(stored.entries(), order);
    if stored.count.is_some() {
        let all: Vec<u64> = model.members.keys().copied().collect();
        assert_eq!(in_shards(world), all);
    }
}

/// Returns all members by their shards, and checks the encodings.
fn in_shards(world: &World) -> Vec<u64> {
    let keys: Vec<String> = world.redis.raw(&["KEYS", "ff:{u7}:bookmarks:*"]);
    let is_shard = |key: &&String| key.rsplit(':').next().unwrap().parse::<u32>().is_ok();
    let mut members = Vec::new();
    for key in keys.iter().filter(is_shard) {
        assert_eq!(world.redis.raw::<String>(&["OBJECT", "ENCODING", key]), "intset", "{key}");
        members.extend(world.redis.raw::<Vec<u64>>(&["SMEMBERS", key]));
    }
    members.retain(|member| *member != 0);
    members.sort_unstable();
    members
}

#[tokio::test]
async fn an_ordered_set_is_a_list_in_order_of_time_however_it_grows_and_shrinks() {
    let world = World::new().await;
    let mut rng = StdRng::seed_from_u64(case::seed(6));
    let mut model = Model::default();
    // The greatest id, and the number of changes; an addition is more likely than a removal at first, and less at last.
    for (greatest, changes, additions) in
        [(9, 40, 2), (300, 150, 5), (300, 400, 2), (8_000, 9_000, 9), (8_000, 2_000, 2), (8_000, 1_500, 0)]
    {
        let change_of = |_| {
            let is_added = rng.random_range(0..additions + 1) > 0;
            let at = is_added.then(|| rng.random_range(-30..30));
            (rng.random_range(1..=greatest), at)
        };
        let changes: Vec<Change> = (0..changes).map(change_of).collect();
        let changed = change(world.app.store(), &changes).await;
        for (&change, changed) in changes.iter().zip(changed) {
            assert_eq!(model.apply(change), changed, "{change:?}");
        }
        compare(&world, &model, &mut rng).await;
    }
    let all: Vec<Change> = model.members.keys().map(|id| (*id, None)).collect();
    assert!(change(world.app.store(), &all).await.iter().all(|changed| *changed));
    for part in ["", ":posts", ":times", ":count"] {
        assert!(!world.redis.raw::<bool>(&["EXISTS", &format!("ff:{{u7}}:bookmarks{part}")]), "{part}");
    }
    // An empty set is small again.
    change(world.app.store(), &[(3, Some(0)), (9, Some(1)), (3, Some(2))]).await;
    let stored = ordered::stored(&set(world.app.store())).send("test", world.app.store()).await.unwrap();
    let ids: Vec<u64> = stored.entries().iter().map(|entry| entry.id.get()).collect();
    assert_eq!((&ids[..], stored.lengths(), stored.count), (&[9, 3][..], [2, 0, 0], None));
}

#[tokio::test]
async fn a_set_with_a_limit_rejects_members_and_one_without_drops_the_oldest_from_the_order() {
    let world = World::new().await;
    let store = world.app.store();
    let bucket = store.keys().reactions_of(user());
    let full: Vec<Change> = (1..=ORDERED as u64).map(|id| (id, Some(i64::try_from(id).unwrap()))).collect();
    assert!(change(store, &full).await.iter().all(|changed| *changed));
    let add = async |id, second: i64, most| {
        let at = Timestamp::from_millis(NOW + second * 1_000);
        ordered::add(&set(store), post(id), at, most, &bucket, None).send("test", store).await.unwrap()
    };
    assert_eq!(add(9_000, 9_000, Some(ORDERED)).await, Added::Full);
    assert_eq!(add(5, 9_000, Some(ORDERED)).await, Added::Present);
    let last = Window { direction: Direction::Backward, size: 1, from: None };
    let last_of = async || page(store, last).await.entries[0].id.get();
    assert_eq!(last_of().await, 1);
    assert_eq!(add(9_000, 9_000, None).await, Added::Added);
    assert_eq!(last_of().await, 2, "the oldest has lost its place");
    assert_eq!(add(9_001, -5, None).await, Added::Added);
    assert_eq!(last_of().await, 2, "a member older than all others gets no place");
    let found = ordered::contains(&[set(store)], &[post(1), post(9_001), post(9_002)]);
    assert_eq!(found.send("test", store).await.unwrap(), [[true, true, false]]);
    assert_eq!(add(9_001, 9_001, None).await, Added::Present);
    let stored = ordered::stored(&set(store)).send("test", store).await.unwrap();
    assert_eq!((stored.posts.len(), stored.count), (ORDERED, Some(ORDERED as u64 + 2)));
    assert_eq!(change(store, &[(1, None), (1, None)]).await, [true, false]);
}

#[tokio::test]
async fn a_member_takes_at_most_seventeen_bytes_in_a_large_set() {
    let world = World::new().await;
    let mut before = 0;
    for (size, most) in [(SMALL, 12), (ORDERED as u64, 17)] {
        // Ids of a store with a hundred million posts, and times of different days.
        let members: Vec<Change> = (before..size)
            .map(|id| (100_000_000 + id * 977, Some(i64::try_from(id * 4_001).unwrap())))
            .collect();
        change(world.app.store(), &members).await;
        before = size;
        let keys: Vec<String> = world.redis.raw(&["KEYS", "ff:{u7}:bookmarks*"]);
        let bytes: u64 = keys.iter().map(|key| world.redis.raw::<u64>(&["MEMORY", "USAGE", key])).sum();
        // Beside members, a set takes some hundred bytes, and a shard about a hundred.
        assert!(bytes <= most * size + 1_000 + size / 2, "{size}: {bytes}");
    }
}

#[tokio::test]
async fn elements_that_cannot_be_read_are_left_out() {
    let world = World::new().await;
    let store = world.app.store();
    let members: Vec<Change> = (1..=200).map(|id| (id, Some(i64::try_from(id).unwrap()))).collect();
    change(store, &members[..3]).await;
    assert_eq!(world.redis.raw::<u64>(&["ZADD", "ff:{u7}:bookmarks", "5", "x"]), 1);
    let all = Window { direction: Direction::Forward, size: 100, from: None };
    assert_eq!(
        page(store, all).await.entries.iter().map(|entry| entry.id.get()).collect::<Vec<_>>(),
        [3, 2, 1]
    );
    change(store, &members).await;
    assert_eq!(in_shards(&world), (1..=200).collect::<Vec<_>>());
    assert_eq!(world.redis.raw::<u64>(&["LREM", "ff:{u7}:bookmarks:posts", "0", "x"]), 1);
    assert_eq!(world.redis.raw::<u64>(&["LREM", "ff:{u7}:bookmarks:times", "0", "5"]), 1);
    let spoil = |list: &str, index: &str| world.redis.raw::<()>(&["LSET", list, index, "x"]);
    for index in ["0", "99", "100", "199"] {
        spoil("ff:{u7}:bookmarks:posts", index);
    }
    spoil("ff:{u7}:bookmarks:times", "5");
    let readable: Vec<u64> = (1..=200).rev().filter(|id| ![200, 101, 100, 1, 195].contains(id)).collect();
    let mut found = Vec::new();
    let mut from = None;
    loop {
        let read = page(store, Window { direction: Direction::Forward, size: 7, from }).await;
        found.extend(read.entries.iter().map(|entry| entry.id.get()));
        from = read.entries.last().copied();
        if !read.has_next || from.is_none() {
            break;
        }
    }
    assert_eq!(found, readable);
    // Changes find their places all the same.
    let at = |second: i64| stored_time(Timestamp::from_millis(NOW + second * 1_000));
    assert_eq!(change(store, &[(1_000, Some(100)), (30, None)]).await, [true, true]);
    let around = Position { at: at(100), id: post(1_001) };
    let read = page(store, Window { direction: Direction::Forward, size: 1, from: Some(around) }).await;
    assert_eq!(read.entries[..], [Position { at: at(100), id: post(1_000) }]);
}

/// Returns changes that add posts, and then remove others.
fn changes(added: Range<u64>, removed: Range<u64>) -> Vec<Change> {
    added.map(|number| (number, Some(0))).chain(removed.map(|number| (number, None))).collect()
}

/// Returns the posts in the tree of the set from this shard on, in ascending order.
fn tree(world: &World, first: u32) -> Vec<u64> {
    let name = |shard: u32| format!("ff:{{u7}}:bookmarks:{shard}");
    let elements = |shard| world.redis.raw::<Vec<String>>(&["SMEMBERS", &name(shard)]);
    let mut posts: Vec<u64> =
        (first..=84).flat_map(elements).filter_map(|post: String| post.parse().ok()).collect();
    posts.retain(|post| *post > 0);
    posts.sort_unstable();
    posts
}

#[tokio::test]
async fn a_repair_of_a_shard_keeps_what_is_below_it_in_reach() {
    const ALL: u64 = 5_600;
    let replace = "redis.call('DEL', KEYS[1]) redis.call('HSET', KEYS[1], 'x', 'x')";
    let (root, number) = ("ff:{u7}:bookmarks:0", "ff:{u7}:bookmarks:count");
    let faults = [&["EVAL", replace, "1", root][..], &["SADD", root, "x"], &["SET", number, "x"]];
    let world = World::new().await;
    world.people(7).await;
    let store = world.app.store();
    let find = async |repair| world.app.check_users(1, repair).await.unwrap()[Finding::WrongReactions];
    for fault in faults {
        for removed in [601..601, 601..ALL + 1] {
            let names = ["", ":posts", ":times", ":count"].map(|part| format!("ff:{{u7}}:bookmarks{part}"));
            let shards = (0..=20).map(|shard| format!("ff:{{u7}}:bookmarks:{shard}"));
            for name in names.into_iter().chain(shards) {
                world.redis.raw::<u64>(&["DEL", &name]);
            }
            // An element that is no id takes the place of one in a root that is full.
            let is_element = fault[0] == "SADD";
            change(store, &changes(1..200, 0..0)).await;
            if is_element {
                world.redis.raw::<redis::Value>(fault);
            }
            change(store, &changes(200..ALL + 1, removed.clone())).await;
            if !is_element {
                world.redis.raw::<redis::Value>(fault);
            }
            let below = tree(&world, 1);
            assert_eq!((find(false).await, find(true).await, find(false).await), (1, 1, 0), "{fault:?}");
            let mut members = tree(&world, 0);
            assert_eq!(world.redis.raw::<usize>(&["GET", number]), members.len(), "{fault:?}");
            let distinct = members.len();
            members.dedup();
            assert_eq!(members.len(), distinct, "none twice, {fault:?}");
            assert!(below.iter().all(|post| members.binary_search(post).is_ok()), "{fault:?}, {removed:?}");
        }
    }
}

#[tokio::test]
async fn a_repair_adds_nothing_to_a_set_that_has_changed_since_it_was_read() {
    let world = World::new().await;
    let store = world.app.store();
    let set = set(store);
    change(store, &changes(1..200, 0..0)).await;
    world.redis.raw::<u64>(&["SREM", "ff:{u7}:bookmarks:0", "150"]);
    let read = ordered::stored(&set).send("test", store).await.unwrap();
    let (order, missing) = (read.entries(), [post(150)]);
    let restore = || ordered::restore(&set, &read, &order, &missing, read.count);
    change(store, &changes(200..201, 0..0)).await;
    assert!(!restore().send("test", store).await.unwrap());
    assert_eq!(tree(&world, 0).len(), 199);
    change(store, &changes(0..0, 200..201)).await;
    assert!(restore().send("test", store).await.unwrap());
    assert_eq!(tree(&world, 0).len(), 199);
}

#[tokio::test]
async fn the_memory_of_a_set_is_measured_though_its_root_is_nearly_empty() {
    let world = World::new().await;
    let store = world.app.store();
    change(store, &changes(1..5_601, 1..513)).await;
    let row = KEYS.iter().find(|row| row.method == "bookmarks").unwrap();
    let usage = usage_of_user(store.keys(), row, user());
    let usage = usage.send("test", store).await.unwrap().unwrap();
    let bytes = |name: String| world.redis.raw::<Option<u64>>(&["MEMORY", "USAGE", &name]).unwrap_or(0);
    let parts = [":posts", ":times", ":count"].map(|part| format!("ff:{{u7}}:bookmarks{part}"));
    let shards = (0..=84).map(|shard| format!("ff:{{u7}}:bookmarks:{shard}"));
    let all: u64 = parts.into_iter().chain(shards).map(bytes).sum();
    assert!(usage.bytes.abs_diff(all) < all / 10, "{} of {all} bytes", usage.bytes);
    change(store, &changes(0..0, 601..5_601)).await;
    let usage = usage_of_user(store.keys(), row, user());
    assert_eq!(usage.send("test", store).await.unwrap().unwrap().items, 88);
}
