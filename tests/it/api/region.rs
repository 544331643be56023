//! Regions of users: set, removed, packed, and counted.

use std::collections::HashMap;

use fanfold::app::read::{Load as _, Shared};
use fanfold::app::region::read::Regions;
use fanfold::model::id::UserId;
use fanfold::model::region::{Region, Table};
use fanfold::store::batch::Batch;
use fanfold::store::region;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Value, json};

use crate::harness::case::share;
use crate::harness::graph::Graph;
use crate::harness::world::{Person, World};

const UPDATE: &str = "mutation ($input: UpdateProfileInput!) { updateProfile(input: $input) {
    viewer { user { bio region { country { code name } subdivision { code name } } } }
    userErrors { code message field } } }";

async fn update(world: &World, person: &Person, input: Value) -> Value {
    world.data(Some(&person.token), UPDATE, json!({ "input": input })).await["updateProfile"].take()
}

async fn settle(world: &World, person: &Person, country: &str, subdivision: Option<&str>) {
    let region = json!({ "country": country, "subdivision": subdivision });
    let updated = update(world, person, json!({ "region": region })).await;
    assert_eq!(updated["userErrors"], json!([]));
}

fn user(number: u64) -> UserId {
    UserId::new(number).unwrap()
}

#[tokio::test]
async fn a_user_sets_a_region_and_removes_it() {
    let world = World::new().await;
    let person = world.register("ada").await;
    let region = async |region: Value| {
        update(&world, &person, json!({ "region": region }))
            .await
            .pointer_mut("/viewer/user/region")
            .unwrap()
            .take()
    };
    let data =
        world.data(None, "{ user(by: { username: \"ada\" }) { region { country { code } } } }", Value::Null);
    assert_eq!(data.await["user"]["region"], json!(null));
    let berlin = json!({ "country": { "code": "DE", "name": "Germany" },
        "subdivision": { "code": "DE-BE", "name": "Berlin" } });
    assert_eq!(region(json!({ "country": "DE", "subdivision": "DE-BE" })).await, berlin);
    assert_eq!(region(json!({ "country": "de", "subdivision": "de-be" })).await, berlin);
    let france = json!({ "country": { "code": "FR", "name": "France" }, "subdivision": null });
    assert_eq!(region(json!({ "country": "FR" })).await, france);
    assert_eq!(region(json!({ "country": "FR", "subdivision": null })).await, france);
    // A region that is omitted stays, in whichever way it is omitted.
    let stays = update(&world, &person, json!({ "bio": "new" })).await;
    assert_eq!(stays["viewer"]["user"], json!({ "bio": "new", "region": france }));
    // Two operations may share a fragment, and a variable that one of them omits.
    let both = "mutation A($region: RegionInput) { ...F } mutation B($region: RegionInput) { ...F }
        fragment F on Mutation { updateProfile(input: { region: $region }) { userErrors { code } } }";
    let body = json!({ "query": both, "operationName": "A", "variables": {} });
    let request = axum::http::Request::post("/graphql").header("content-type", "application/json");
    let request = request.header("authorization", format!("Bearer {}", person.token));
    let (_, _, body) = world.send(request.body(body.to_string().into()).unwrap()).await;
    let response: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(response, json!({ "data": { "updateProfile": { "userErrors": [] } } }));
    let query = "mutation ($region: RegionInput, $bio: String) { updateProfile(input: { region: $region, bio: $bio }) {
        viewer { user { bio region { country { code name } subdivision { code } } } } } }";
    let data = world.data(Some(&person.token), query, json!({})).await;
    assert_eq!(data["updateProfile"]["viewer"]["user"], json!({ "bio": "new", "region": france }));
    let data = world.data(Some(&person.token), query, json!({ "region": null })).await;
    assert_eq!(data["updateProfile"]["viewer"]["user"], json!({ "bio": "new", "region": null }));
    assert_eq!(region(json!({ "country": "NZ", "subdivision": "NZ-WGN" })).await["country"]["code"], "NZ");
    assert_eq!(region(Value::Null).await, json!(null));
}

#[tokio::test]
async fn an_invalid_region_is_rejected_with_its_field_and_changes_nothing() {
    let world = World::new().await;
    let person = world.register("ada").await;
    settle(&world, &person, "DE", Some("DE-BE")).await;
    let cases = [
        ("XX", None, "country", "ISO 3166-1 has no country XX."),
        ("Germany", None, "country", "A country is given by its two letters in ISO 3166-1, such as DE."),
        ("DE", Some("DE-XX"), "subdivision", "ISO 3166-2 has no subdivision DE-XX."),
        ("DE", Some("US-CA"), "subdivision", "US-CA is not a subdivision of Germany (DE)."),
        ("DE", Some("BE"), "subdivision", "A subdivision is given by its code in ISO 3166-2, such as DE-BE."),
        ("AW", Some("AW-XX"), "subdivision", "ISO 3166-2 has no subdivision AW-XX."),
    ];
    for (country, subdivision, field, message) in cases {
        let region = json!({ "country": country, "subdivision": subdivision });
        let rejected = update(&world, &person, json!({ "region": region, "bio": "other" })).await;
        let error = json!({ "code": "INVALID", "message": message, "field": ["input", "region", field] });
        assert_eq!(rejected, json!({ "viewer": null, "userErrors": [error] }));
    }
    // All faults are reported at once.
    let input = json!({ "region": { "country": "XX" }, "displayName": "", "bio": "x".repeat(501) });
    let rejected = update(&world, &person, input).await;
    let fields: Vec<&Value> =
        rejected["userErrors"].as_array().unwrap().iter().map(|error| &error["field"]).collect();
    let region = json!(["input", "region", "country"]);
    assert_eq!(fields, [&json!(["input", "displayName"]), &json!(["input", "bio"]), &region]);
    let query = "{ user(by: { username: \"ada\" }) { bio region { subdivision { code } } } }";
    let data = world.data(None, query, Value::Null).await;
    assert_eq!(data["user"], json!({ "bio": "", "region": { "subdivision": { "code": "DE-BE" } } }));
}

#[tokio::test]
async fn the_countries_are_those_of_the_standard() {
    let world = World::new().await;
    let query = "{ countries { code name subdivisions { code name } } }";
    let before = world.app.store().round_trips();
    let countries = world.data(None, query, Value::Null).await["countries"].take();
    assert_eq!(world.app.store().round_trips(), before, "they are known without a round trip");
    let countries = countries.as_array().unwrap();
    assert_eq!(countries.len(), 249);
    assert!(countries.is_sorted_by_key(|country| country["code"].as_str().unwrap().to_owned()));
    let of = |code: &str| countries.iter().find(|country| country["code"] == code).unwrap();
    assert_eq!(of("DE")["subdivisions"].as_array().unwrap().len(), 16);
    assert_eq!(of("AW"), &json!({ "code": "AW", "name": "Aruba", "subdivisions": [] }));
    assert!(
        of("FR")["subdivisions"]
            .as_array()
            .unwrap()
            .contains(&json!({ "code": "FR-IDF", "name": "Île-de-France" }))
    );
}

#[tokio::test]
async fn followers_are_counted_by_country() {
    let world = World::new().await;
    let people = world.people(6).await;
    for fan in &people[1..] {
        world.follow(fan, &people[0]).await;
    }
    settle(&world, &people[1], "DE", Some("DE-BE")).await;
    settle(&world, &people[2], "DE", None).await;
    settle(&world, &people[3], "FR", None).await;
    settle(&world, &people[0], "NZ", None).await;
    let query = "query ($first: Int) { user(by: { username: \"ann0\" }) { followersByRegion(first: $first) {
        totalCount sampledCount regions { region { country { code } subdivision { code } } count share } } } }";
    let counted = async |first: Value| {
        let data = world.data(None, query, json!({ "first": first })).await;
        data.pointer("/user/followersByRegion").unwrap().clone()
    };
    let country = |code| json!({ "country": { "code": code }, "subdivision": null });
    let shares = [
        json!({ "region": country("DE"), "count": 2, "share": 0.4 }),
        json!({ "region": null, "count": 2, "share": 0.4 }),
        json!({ "region": country("FR"), "count": 1, "share": 0.2 }),
    ];
    assert_eq!(counted(Value::Null).await, json!({ "totalCount": 5, "sampledCount": 5, "regions": shares }));
    assert_eq!(
        counted(json!(1)).await,
        json!({ "totalCount": 5, "sampledCount": 5, "regions": shares[..1] })
    );
    assert_eq!(counted(json!(0)).await["regions"], json!([]));
    let response = world.ask(None, query, json!({ "first": -1 })).await;
    assert_eq!(crate::harness::world::codes(&response), ["BAD_USER_INPUT"]);
    let without_followers = "{ user(by: { username: \"ann1\" }) { followersByRegion { totalCount sampledCount regions { count } } } }";
    let data = world.data(None, without_followers, Value::Null).await;
    assert_eq!(
        data["user"]["followersByRegion"],
        json!({ "totalCount": 0, "sampledCount": 0, "regions": [] })
    );
}

#[tokio::test]
async fn of_very_many_followers_an_even_sample_is_counted() {
    let world = World::new().await;
    world.register("ada").await;
    let store = world.app.store();
    let (germany, france) = (find("DE", None), find("FR", None));
    // The first two thirds are in Germany, and the others in France.
    let followers: Vec<u64> = (10..30_010).collect();
    for followers in followers.chunks(5_000) {
        let words: Vec<String> = followers.iter().flat_map(|id| [id.to_string(), id.to_string()]).collect();
        let add = ["ZADD", "ff:{u1}:followers"].into_iter().chain(words.iter().map(String::as_str));
        world.redis.raw::<i64>(&add.collect::<Vec<_>>());
        let mut batch = Batch::new("test");
        for id in followers {
            let region = if *id < 20_010 { germany } else { france };
            drop(batch.push(region::write(store.keys(), user(*id), Some(region))));
        }
        batch.send(store).await.unwrap();
    }
    let query = "{ user(by: { username: \"ada\" }) { followersByRegion {
        totalCount sampledCount regions { region { country { code } } count share } } } }";
    for _ in 0..3 {
        let before = store.round_trips();
        let data = world.data(None, query, Value::Null).await;
        // The name, the count, the sample, the regions.
        assert_eq!(store.round_trips() - before, 4);
        let counted = &data["user"]["followersByRegion"];
        assert_eq!((&counted["totalCount"], &counted["sampledCount"]), (&json!(30_000), &json!(10_000)));
        let share = |index: usize| counted["regions"][index]["share"].as_f64().unwrap();
        assert!((share(0) - 2.0 / 3.0).abs() < 0.01 && (share(1) - 1.0 / 3.0).abs() < 0.01, "{counted}");
    }
}

#[tokio::test]
async fn of_many_users_at_once_fewer_followers_are_sampled() {
    let world = World::new().await;
    let ids =
        Graph { users: 40, follows: (1..40).map(|fan| (fan, 0)).collect() }.load(&world.app, None).await;
    let followers: Vec<String> =
        (1_000..8_000).flat_map(|id: u64| [id.to_string(), id.to_string()]).collect();
    for id in &ids[1..] {
        let key = format!("ff:{{u{id}}}:followers");
        let add = ["ZADD", &key].into_iter().chain(followers.iter().map(String::as_str));
        world.redis.raw::<i64>(&add.collect::<Vec<_>>());
    }
    let query = "{ user(by: { username: \"u0\" }) { followers(first: 39) { nodes {
        followersByRegion { totalCount sampledCount regions { count share } } } } } }";
    let data = world.data(None, query, Value::Null).await;
    for node in data.pointer("/user/followers/nodes").unwrap().as_array().unwrap() {
        let counted = &node["followersByRegion"];
        // Of all together as many as the budget of an operation allows, evenly spread.
        assert_eq!((&counted["totalCount"], &counted["sampledCount"]), (&json!(7_000), &json!(300)));
        assert_eq!(counted["regions"], json!([{ "count": 300, "share": 1.0 }]));
    }
}

#[tokio::test]
async fn when_a_region_cannot_be_read_the_rest_is_returned() {
    let world = World::new().await;
    let people = world.people(2).await;
    world.follow(&people[1], &people[0]).await;
    world.redis.raw::<i64>(&["LPUSH", "ff:{r0}:region", "x"]);
    let queries = [
        ("{ user(by: { username: \"ann1\" }) { displayName region { country { code } } } }", "/user"),
        (
            "{ user(by: { username: \"ann0\" }) { followers { nodes { displayName region { country { code } } } } } }",
            "/user/followers/nodes/0",
        ),
    ];
    for (query, pointer) in queries {
        let response = world.ask(None, query, Value::Null).await;
        assert_eq!(crate::harness::world::codes(&response), ["INTERNAL_SERVER_ERROR"]);
        let user = response["data"].pointer(pointer).unwrap();
        assert_eq!(user, &json!({ "displayName": "ann1", "region": null }), "{query}");
    }
    // And a change that is made together with it is not applied.
    let input = json!({ "input": { "bio": "new", "region": { "country": "DE" } } });
    let response = world.ask(Some(&people[1].token), UPDATE, input).await;
    assert_eq!(crate::harness::world::codes(&response), ["INTERNAL_SERVER_ERROR"]);
    let data = world.data(None, "{ user(by: { username: \"ann1\" }) { bio } }", Value::Null).await;
    assert_eq!(data["user"]["bio"], "");
}

fn find(country: &str, subdivision: Option<&str>) -> Region {
    Table::current().find(country, subdivision).unwrap()
}

/// Returns all regions.
fn all_regions() -> Vec<Region> {
    let table = Table::current();
    let regions = table.countries().into_iter().flat_map(|country| {
        let subdivisions = country.subdivisions();
        let codes = subdivisions.into_iter().map(|subdivision| Some(subdivision.code.clone())).chain([None]);
        codes.map(|code| find(country.code, code.as_deref())).collect::<Vec<_>>()
    });
    regions.collect()
}

async fn read(world: &World, ids: &[u64]) -> Vec<Option<Region>> {
    let users = ids.iter().map(|id| user(*id)).collect();
    world.app.load(Regions(Shared(users))).await.unwrap().to_vec()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_regions_of_a_million_users_equal_those_of_a_map_and_take_two_bytes_each() {
    let crowd = share(1_000_000);
    let world = World::own(&[]).await;
    let store = world.app.store();
    let regions = all_regions();
    assert_eq!(regions.len(), 249 + 5_046);
    let mut rng = StdRng::seed_from_u64(1);
    let mut model: HashMap<u64, Region> = HashMap::new();
    // All users in random order, and some again, of whom some remove their region.
    let mut ids: Vec<u64> = (1..=crowd).collect();
    rand::seq::SliceRandom::shuffle(&mut ids[..], &mut rng);
    ids.extend((0..crowd / 10).map(|_| rng.random_range(1..=crowd)).collect::<Vec<_>>());
    for (round, ids) in ids.chunks(20_000).enumerate() {
        let mut batch = Batch::new("test");
        for id in ids {
            let region = if rng.random_bool(0.02) && round as u64 * 20_000 >= crowd {
                model.remove(id);
                None
            } else {
                let region = regions[rng.random_range(0..regions.len())];
                model.insert(*id, region);
                Some(region)
            };
            drop(batch.push(region::write(store.keys(), user(*id), region)));
        }
        batch.send(store).await.unwrap();
    }
    let same = |ids: &[u64], read: Vec<Option<Region>>| {
        for (id, read) in ids.iter().zip(read) {
            assert_eq!(read, model.get(id).copied(), "{id}");
        }
    };
    // All of them, random ones, and neighbours.
    let all: Vec<u64> = (1..=crowd + 5_000).collect();
    for ids in all.chunks(50_000) {
        same(ids, read(&world, ids).await);
    }
    for size in [1, 2, 50, 1_000] {
        for _ in 0..20 {
            let ids: Vec<u64> = (0..size).map(|_| rng.random_range(1..=crowd)).collect();
            same(&ids, read(&world, &ids).await);
            let first = rng.random_range(1..=crowd);
            let ids: Vec<u64> = (0..size).map(|_| first + rng.random_range(0..600)).collect();
            same(&ids, read(&world, &ids).await);
        }
    }
    let keys: Vec<String> = world.redis.raw(&["KEYS", "ff:{r*}:region"]);
    let usage = |key: &String| world.redis.raw::<u64>(&["MEMORY", "USAGE", key]);
    let bytes: u64 = keys.iter().map(usage).sum();
    // The last shard has room for future users.
    let room = keys.len() as u64 * region::USERS_PER_SHARD;
    assert!(bytes as f64 <= 2.0 * 1.05 * room as f64, "{bytes} bytes for {room}");
    assert!(crowd < 1_000_000 || bytes as f64 <= 2.0 * 1.05 * crowd as f64, "{bytes} bytes");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn neighbours_who_write_at_the_same_time_do_not_disturb_each_other() {
    let world = World::new().await;
    let regions = all_regions();
    // Around the end of a shard, each by a task of its own, many times.
    let first = region::USERS_PER_SHARD - 20;
    let mut writers = tokio::task::JoinSet::new();
    for id in first..first + 40 {
        let (store, mut rng, regions) =
            (world.app.store().clone(), StdRng::seed_from_u64(id), regions.clone());
        writers.spawn(async move {
            let mut last = None;
            for _ in 0..100 {
                let region = regions[rng.random_range(0..regions.len())];
                last = rng.random_bool(0.9).then_some(region);
                region::write(store.keys(), user(id), last).send("test", &store).await.unwrap();
                let written = region::read(store.keys(), vec![user(id)]).pop().unwrap();
                assert_eq!(written.send("test", &store).await.unwrap(), [(user(id), last)]);
            }
            (id, last)
        });
    }
    let last: HashMap<u64, Option<Region>> = writers.join_all().await.into_iter().collect();
    let ids: Vec<u64> = (first..first + 40).collect();
    for (id, read) in ids.iter().zip(read(&world, &ids).await) {
        assert_eq!(read, last[id], "{id}");
    }
}

#[tokio::test]
async fn a_page_of_users_with_regions_costs_no_more_round_trips() {
    let world = World::new().await;
    let ids =
        Graph { users: 60, follows: (1..60).map(|fan| (fan, 0)).collect() }.load(&world.app, None).await;
    let store = world.app.store();
    for (index, id) in ids.iter().enumerate() {
        let region = find(["DE", "FR", "NZ"][index % 3], None);
        region::write(store.keys(), *id, Some(region)).send("test", store).await.unwrap();
    }
    let query = |fields: &str| {
        format!(
            "{{ user(by: {{ username: \"u0\" }}) {{ followers(first: 50) {{ nodes {{ username {fields} }} }} }} }}"
        )
    };
    let cost = async |query: &str| {
        world.data(None, query, Value::Null).await;
        world.redis.raw::<String>(&["CONFIG", "RESETSTAT"]);
        let before = store.round_trips();
        let data = world.data(None, query, Value::Null).await;
        let stats: String = world.redis.raw(&["INFO", "commandstats"]);
        let reads = stats.lines().find_map(|line| line.strip_prefix("cmdstat_getrange:calls="));
        let reads = reads.map_or(0, |rest| rest.split(',').next().unwrap().parse::<u64>().unwrap());
        (store.round_trips() - before, reads, data)
    };
    let (without, reads, _) = cost(&query("")).await;
    assert_eq!((without, reads), (3, 0), "unselected fields are not read");
    let (with, reads, data) = cost(&query("region { country { code } }")).await;
    // They are read with the rest, and neighbours together.
    assert_eq!((with, reads), (3, 1));
    let nodes = data["user"]["followers"]["nodes"].as_array().unwrap();
    assert!(nodes.len() == 50 && nodes.iter().all(|node| node["region"]["country"]["code"].is_string()));
    let one = "{ user(by: { username: \"u7\" }) { region { country { code } } displayName } }";
    let (trips, reads, data) = cost(one).await;
    assert_eq!((trips, reads, &data["user"]["region"]["country"]["code"]), (2, 1, &json!("FR")));
}

#[tokio::test]
async fn the_regions_of_the_authors_of_a_timeline_are_loaded_with_them() {
    let world = World::new().await;
    let people = world.people(2).await;
    world.follow(&people[0], &people[1]).await;
    settle(&world, &people[1], "DE", Some("DE-BE")).await;
    let publish = "mutation { publish(input: { content: \"x\" }) { post { id } } }";
    world.data(Some(&people[1].token), publish, Value::Null).await;
    let query = |fields: &str| {
        format!("{{ viewer {{ timeline {{ nodes {{ author {{ username {fields} }} }} }} }} }}")
    };
    let cost = async |query: &str| {
        world.data(Some(&people[0].token), query, Value::Null).await;
        let before = world.app.store().round_trips();
        let data = world.data(Some(&people[0].token), query, Value::Null).await;
        (world.app.store().round_trips() - before, data)
    };
    let (without, _) = cost(&query("")).await;
    let (with, data) = cost(&query("region { subdivision { name } }")).await;
    assert_eq!(with, without);
    let author = data.pointer("/viewer/timeline/nodes/0/author/region/subdivision/name");
    assert_eq!(author, Some(&json!("Berlin")));
}

#[tokio::test]
async fn a_region_written_by_a_newer_version_is_not_misreported() {
    let world = World::new().await;
    let person = world.register("ada").await;
    settle(&world, &person, "DE", Some("DE-BE")).await;
    let query =
        "{ user(by: { username: \"ada\" }) { username region { country { code } subdivision { code } } } }";
    let germany = json!({ "country": { "code": "DE" }, "subdivision": null });
    for (bytes, expected) in [([57u8, 250], germany), ([255, 1], Value::Null), ([0, 7], Value::Null)] {
        let [first, second] = bytes;
        let write = format!("return redis.call('SETRANGE', KEYS[1], 2, '\\{first}\\{second}')");
        world.redis.raw::<i64>(&["EVAL", &write, "1", "ff:{r0}:region"]);
        assert_eq!(world.data(None, query, Value::Null).await["user"]["region"], expected, "{bytes:?}");
    }
}
