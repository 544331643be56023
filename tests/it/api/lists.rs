//! Lists: their order, their pages, their counts, against the naive model.

use std::collections::HashMap;

use fanfold::app::read::AnyRead;
use fanfold::app::relation::read::RelationTo;
use fanfold::model::clock::Timestamp;
use fanfold::model::id::UserId;
use fanfold::model::page::{Direction, InListOrder as _, Page, Position, Window};
use fanfold::model::relation::{Follow, Side};
use fanfold::model::secret::Password;
use fanfold::store::relation;
use proptest::prelude::*;
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use rand::seq::{IndexedRandom as _, IteratorRandom as _};
use serde_json::{Value, json};

use crate::harness::case::{self, model_config};
use crate::harness::graph::{Graph, Model};
use crate::harness::world::{PASSWORD, World};

const LISTS: [&str; 4] = ["followers", "following", "mutuals", "knownFollowers"];

fn printed(at: Timestamp) -> String {
    let seconds = at.as_millis().div_euclid(1_000);
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // All times of these graphs lie in the last quarter of an hour of 2025 or after it.
    let day = if days == 20_453 { "2025-12-31" } else { "2026-01-01" };
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{day}T{hour:02}:{minute:02}:{second:02}.{:03}Z", at.as_millis().rem_euclid(1_000))
}

/// Walks a list from one end to the other.
struct Walk<'a> {
    world: &'a World,
    token: &'a str,
    owner: &'a str,
    list: &'a str,
}

impl Walk<'_> {
    /// Returns all entries in list order, as (username, followedAt, status).
    async fn walk(&self, forward: bool, size: usize, total: usize) -> Vec<(String, String, String)> {
        let (count, place) = if forward { ("first", "after") } else { ("last", "before") };
        let list = self.list;
        let query = format!(
            "query ($owner: String!, $place: String) {{ user(by: {{ username: $owner }}) {{ list: {list}({count}: {size}, {place}: $place) {{
                totalCount
                pageInfo {{ hasNextPage hasPreviousPage startCursor endCursor }}
                edges {{ cursor followedAt node {{ username relation {{ status }} }} }}
                nodes {{ username }}
            }} }} }}"
        );
        let mut entries = Vec::new();
        let mut place = Value::Null;
        loop {
            let variables = json!({ "owner": self.owner, "place": place });
            let mut data = self.world.data(Some(self.token), &query, variables).await;
            let page = data["user"]["list"].take();
            let edges = page["edges"].as_array().unwrap();
            let info = &page["pageInfo"];
            assert_eq!(page["totalCount"], total);
            assert_eq!(info["startCursor"], edges.first().map_or(Value::Null, |edge| edge["cursor"].clone()));
            assert_eq!(info["endCursor"], edges.last().map_or(Value::Null, |edge| edge["cursor"].clone()));
            let nodes = page["nodes"].as_array().unwrap();
            assert!(nodes.iter().zip(edges).all(|(node, edge)| node["username"] == edge["node"]["username"]));
            let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
            let page: Vec<_> = edges
                .iter()
                .map(|edge| {
                    let node = &edge["node"];
                    (text(&node["username"]), text(&edge["followedAt"]), text(&node["relation"]["status"]))
                })
                .collect();
            let (done, to_go) = if forward {
                entries.extend(page);
                (&info["hasPreviousPage"], &info["hasNextPage"])
            } else {
                entries.splice(..0, page);
                (&info["hasNextPage"], &info["hasPreviousPage"])
            };
            assert_eq!(*done, json!(!place.is_null()), "there is something behind every page but the first");
            assert_eq!(*to_go, json!(entries.len() < total));
            if entries.len() >= total {
                return entries;
            }
            place = info[if forward { "endCursor" } else { "startCursor" }].clone();
        }
    }
}

fn expected(
    model: &Model,
    names: &HashMap<UserId, String>,
    list: &str,
    owner: UserId,
    viewer: UserId,
) -> Vec<(String, String, String)> {
    let entry = |(user, at): (UserId, Timestamp)| {
        let status = if user == viewer { "-" } else { model.status(viewer, user) };
        (names[&user].clone(), printed(at), status.to_owned())
    };
    model.list(list, owner, viewer).into_iter().map(entry).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn on_a_graph_of_real_size_every_page_equals_the_model() {
    let graph = Graph::of_real_size();
    for strategy in ["zinterstore", "zmscore"] {
        let world = World::with(&["--relation-strategy", strategy]).await;
        let hash = world.app.hash_password(Password::choose(PASSWORD).unwrap()).await.unwrap();
        let ids = graph.load(&world.app, Some(hash)).await;
        let model = graph.model(&ids);
        let names: HashMap<UserId, String> =
            ids.iter().enumerate().map(|(index, id)| (*id, format!("u{index}"))).collect();

        relations_equal_the_model(&world, &model, &ids).await;

        // The users with the longest lists, and a random sample of the others.
        let mut owners = ids.clone();
        owners.sort_by_key(|id| {
            std::cmp::Reverse(
                model.list("followers", *id, *id).len() + model.list("following", *id, *id).len(),
            )
        });
        let mut rng = StdRng::seed_from_u64(case::seed(2));
        let chosen: Vec<UserId> = owners[2..].iter().copied().sample(&mut rng, 48);
        let owners = [&owners[..2], &chosen].concat();
        let viewer = owners[1];
        let token = sign_in(&world, &names[&viewer]).await;
        for owner in &owners {
            for list in LISTS {
                let expected = expected(&model, &names, list, *owner, viewer);
                let walk = Walk { world: &world, token: &token, owner: &names[owner], list };
                for size in [1, 7, 100] {
                    // One by one only a list that does not take thousands of requests.
                    if size == 1 && expected.len() > 100 {
                        continue;
                    }
                    for forward in [true, false] {
                        let walked = walk.walk(forward, size, expected.len()).await;
                        assert_eq!(
                            walked, expected,
                            "{list} of {} by {size}, forward: {forward}",
                            names[owner]
                        );
                    }
                }
            }
        }
    }
}

async fn sign_in(world: &World, username: &str) -> String {
    let query = "mutation ($name: String!, $password: String!) {
        login(input: { username: $name, password: $password }) { token }
    }";
    let data = world.data(None, query, json!({ "name": username, "password": PASSWORD })).await;
    data["login"]["token"].as_str().unwrap().to_owned()
}

/// Compares 2,000 random pairs with the model, and as many with a relation.
async fn relations_equal_the_model(world: &World, model: &Model, ids: &[UserId]) {
    let mut rng = StdRng::seed_from_u64(case::seed(1));
    let mut pick = || *ids.choose(&mut rng).unwrap();
    let mut pairs = Vec::new();
    while pairs.len() < 4_000 {
        let (viewer, other) = (pick(), pick());
        if viewer != other && (pairs.len() < 2_000 || model.status(viewer, other) != "NONE") {
            pairs.push((viewer, other));
        }
    }
    let read = |&(viewer, other): &(UserId, UserId)| AnyRead::new(RelationTo { viewer, other });
    let reads: Vec<AnyRead> = pairs.iter().map(read).collect();
    let values = world.app.read_all(&reads).await;
    for ((viewer, other), read) in pairs.into_iter().zip(&reads) {
        let relation = values[read].clone().of::<RelationTo>().unwrap();
        assert_eq!(relation.following_since, model.since(viewer, other));
        assert_eq!(relation.follower_since, model.since(other, viewer));
    }
}

#[tokio::test]
async fn ties_of_any_length_are_paged_without_loss_or_repeat() {
    let world = World::new().await;
    let star = world.register("star").await;
    // The clock does not advance: all follow in the same millisecond.
    let graph = Graph { users: 250, follows: Vec::new() };
    let ids = graph.load(&world.app, None).await;
    let target = world.app.import_users(Vec::new()).await.map(|_| UserId::new(1).unwrap()).unwrap();
    let follow = |id: &UserId| fanfold::app::import::ImportFollow {
        follower: *id,
        followee: target,
        at: Timestamp::from_millis(5),
    };
    world.app.import_follows(ids.iter().map(follow).collect()).await.unwrap();
    let mut expected: Vec<String> = ids.iter().map(ToString::to_string).collect();
    expected.sort_by(|one, other| other.cmp(one));
    let expected: Vec<String> =
        expected.iter().map(|id| format!("u{}", id.parse::<u64>().unwrap() - ids[0].get())).collect();
    for (forward, size) in [(true, 7), (false, 7), (true, 100), (false, 100)] {
        let walk = Walk { world: &world, token: &star.token, owner: "star", list: "followers" };
        let walked = walk.walk(forward, size, 250).await;
        assert_eq!(walked.into_iter().map(|(name, _, _)| name).collect::<Vec<_>>(), expected);
    }
}

#[tokio::test]
async fn a_cursor_stays_valid_while_entries_are_added_and_removed() {
    let world = World::new().await;
    let people = world.people(9).await;
    let star = &people[0];
    for follower in &people[1..7] {
        world.follow(follower, star).await;
        world.clock.advance(std::time::Duration::from_millis(1));
    }
    let page = async |arguments: &str| {
        let query = format!(
            "{{ user(by: {{ username: \"ann0\" }}) {{ followers({arguments}) {{ nodes {{ username }} pageInfo {{ endCursor startCursor hasNextPage hasPreviousPage }} }} }} }}"
        );
        let data = world.data(None, &query, Value::Null).await;
        let page = &data["user"]["followers"];
        let names = page["nodes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|node| node["username"].as_str().unwrap().to_owned());
        (names.collect::<Vec<_>>(), page["pageInfo"].clone())
    };
    let (names, info) = page("first: 3").await;
    assert_eq!(names, ["ann6", "ann5", "ann4"]);
    let (start, end) = (info["startCursor"].as_str().unwrap(), info["endCursor"].as_str().unwrap());
    // The entry at the cursor is removed, another is removed and comes back at the top, a new one is added.
    world.unfollow(&people[4], star).await;
    world.unfollow(&people[2], star).await;
    world.follow(&people[2], star).await;
    world.follow(&people[7], star).await;
    let (names, info) = page(&format!("first: 10, after: \"{end}\"")).await;
    assert_eq!(names, ["ann3", "ann1"]);
    assert_eq!((&info["hasPreviousPage"], &info["hasNextPage"]), (&json!(true), &json!(false)));
    let (names, _) = page(&format!("last: 10, before: \"{end}\"")).await;
    assert_eq!(names, ["ann7", "ann2", "ann6", "ann5"]);
    let (names, info) = page(&format!("last: 1, before: \"{start}\"")).await;
    assert_eq!(names, ["ann2"]);
    assert_eq!((&info["hasPreviousPage"], &info["hasNextPage"]), (&json!(true), &json!(true)));
    for person in &people[1..8] {
        world.unfollow(person, star).await;
    }
    let (names, info) = page(&format!("first: 10, after: \"{end}\"")).await;
    assert!(names.is_empty());
    let none =
        json!({ "endCursor": null, "startCursor": null, "hasNextPage": false, "hasPreviousPage": false });
    assert_eq!(info, none);
}

#[tokio::test]
async fn sizes_are_clamped_and_zero_returns_only_the_flags() {
    let world = World::new().await;
    world.register("star").await;
    let graph = Graph { users: 130, follows: Vec::new() };
    let ids = graph.load(&world.app, None).await;
    let follow = |(index, id): (usize, &UserId)| fanfold::app::import::ImportFollow {
        follower: *id,
        followee: UserId::new(1).unwrap(),
        at: Timestamp::from_millis(index as i64),
    };
    world.app.import_follows(ids.iter().enumerate().map(follow).collect()).await.unwrap();
    let query = "query ($size: Int, $none: Int) { user(by: { username: \"star\" }) {
        default: followers { nodes { id } }
        null: followers(first: null) { nodes { id } }
        omitted: followers(first: $none) { nodes { id } }
        many: followers(first: $size) { nodes { id } pageInfo { hasNextPage hasPreviousPage } }
        last: followers(last: $size) { nodes { id } pageInfo { hasNextPage hasPreviousPage } }
        zero: followers(first: 0) { nodes { id } pageInfo { hasNextPage hasPreviousPage startCursor } }
        lastZero: followers(last: 0) { nodes { id } pageInfo { hasNextPage hasPreviousPage endCursor } }
        count: followers { totalCount }
    } }";
    let data = world.data(None, query, json!({ "size": 1_000_000 })).await;
    let user = &data["user"];
    let length = |name: &str| user[name]["nodes"].as_array().unwrap().len();
    let lengths = ["default", "null", "omitted", "many", "last", "zero", "lastZero"].map(length);
    assert_eq!(lengths, [20, 20, 20, 100, 100, 0, 0]);
    assert_eq!(user["many"]["pageInfo"], json!({ "hasNextPage": true, "hasPreviousPage": false }));
    assert_eq!(user["last"]["pageInfo"], json!({ "hasNextPage": false, "hasPreviousPage": true }));
    let flags = json!({ "hasNextPage": true, "hasPreviousPage": false, "startCursor": null });
    assert_eq!(user["zero"]["pageInfo"], flags);
    let flags = json!({ "hasNextPage": false, "hasPreviousPage": true, "endCursor": null });
    assert_eq!(user["lastZero"]["pageInfo"], flags);
    assert_eq!(user["count"], json!({ "totalCount": 130 }));
}

#[tokio::test]
async fn a_listed_user_without_a_record_is_left_out_and_the_page_filled_up() {
    let world = World::new().await;
    let people = world.people(8).await;
    for follower in &people[1..8] {
        world.follow(follower, &people[0]).await;
        world.clock.advance(std::time::Duration::from_millis(1));
    }
    for gone in [3, 4, 7] {
        let key = format!("ff:{{u{}}}:user", gone + 1);
        assert_eq!(world.redis.raw::<String>(&["HGET", &key, "username"]), format!("ann{gone}"));
        world.redis.raw::<i64>(&["DEL", &key]);
    }
    let page = async |arguments: &str| {
        let query = format!(
            "{{ user(by: {{ username: \"ann0\" }}) {{ followers({arguments}) {{ nodes {{ username }} pageInfo {{ hasNextPage hasPreviousPage }} }} }} }}"
        );
        let data = world.data(None, &query, Value::Null).await;
        let nodes = data["user"]["followers"]["nodes"].as_array().unwrap().iter();
        let names: Vec<_> = nodes.map(|node| node["username"].as_str().unwrap().to_owned()).collect();
        (names, data["user"]["followers"]["pageInfo"].clone())
    };
    let flags = |previous: bool, next: bool| json!({ "hasNextPage": next, "hasPreviousPage": previous });
    let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(page("first: 3").await, (names(&["ann6", "ann5", "ann2"]), flags(false, true)));
    assert_eq!(page("first: 9").await, (names(&["ann6", "ann5", "ann2", "ann1"]), flags(false, false)));
    assert_eq!(page("last: 3").await, (names(&["ann5", "ann2", "ann1"]), flags(true, false)));
}

proptest! {
    #![proptest_config(model_config(256))]

    /// The page that Redis cuts is the page that plain code cuts from the whole list: with ties, and with cursors of
    /// entries that exist, that are gone, that have another time, and that never existed.
    #[test]
    fn redis_cuts_pages_as_plain_code_does(
        entries in proptest::collection::hash_map(1u64..40, 0i64..4, 0..30),
        size in 0usize..8,
        forward: bool,
        from in proptest::option::of((1u64..50, -1i64..6)),
    ) {
        thread_local! {
            static HERE: (tokio::runtime::Runtime, World) = {
                let runtime = tokio::runtime::Runtime::new().unwrap();
                let world = runtime.block_on(World::new());
                (runtime, world)
            };
        }
        HERE.with(|(runtime, world)| {
            let follow = |(user, at): (&u64, &i64)| Follow {
                user: UserId::new(*user).unwrap(),
                at: Timestamp::from_millis(*at),
            };
            let mut list: Vec<Follow> = entries.iter().map(follow).collect();
            list.sort_by(|one, other| Position::from(*one).in_list_order(&Position::from(*other)));
            let direction = if forward { Direction::Forward } else { Direction::Backward };
            let position = |(user, at)| Position { at: Timestamp::from_millis(at), id: UserId::new(user).unwrap() };
            let window = Window { direction, size, from: from.map(position) };
            let page = runtime.block_on(async {
                let (store, owner) = (world.app.store(), UserId::new(1).unwrap());
                world.redis.raw::<i64>(&["DEL", "ff:{u1}:followers"]);
                for follow in &list {
                    let put = relation::put(store.keys(), owner, Side::Followers, follow.user, follow.at);
                    put.send("test", store).await.unwrap();
                }
                relation::page(store.keys(), owner, Side::Followers, &window).send("test", store).await.unwrap()
            });
            prop_assert_eq!(page, Page::of(&list, &window));
            Ok(())
        })?;
    }
}
