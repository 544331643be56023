//! What things take: what is told is what Redis says, and keeps the budget.

use std::process::Output;

use fanfold::app::memory::{Footprint, Usage};
use fanfold::app::read::AnyRead;
use fanfold::app::user::read::UserByName;
use fanfold::model::id::UserId;
use fanfold::model::user::Username;
use fanfold::store::batch::Batch;
use fanfold::store::name;
use serde_json::{Value, json};

use crate::server::command;
use crate::world::{World, crowd, deliver_all};

fn footprint<'a>(usage: &'a Usage, kind: &str) -> &'a Footprint {
    usage.footprints.iter().find(|footprint| footprint.kind == kind).unwrap()
}

fn run(world: &World, options: &[&str]) -> Output {
    let (url, directory) = (world.redis.url(), world.redis.directory());
    let fixed = ["memory", "--redis-url", &url, "--data-dir", directory];
    let output = command(&[&fixed, options].concat()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

/// A world in which there is some of everything.
async fn world() -> World {
    let world = World::new().await;
    let people = world.people(3).await;
    for (one, other) in [(0, 1), (0, 2), (1, 2)] {
        world.follow(&people[one], &people[other]).await;
    }
    world.data(Some(&people[0].token), "{ viewer { timeline { nodes { id } } } }", Value::Null).await;
    let publish = "mutation { publish(input: { content: \"x\", platform: \"web\" }) { post { id } } }";
    let settle = "mutation { updateProfile(input: { region: { country: \"DE\" } }) { user { id } } }";
    for person in &people[1..] {
        world.data(Some(&person.token), publish, Value::Null).await;
        world.data(Some(&person.token), settle, Value::Null).await;
    }
    deliver_all(&world.app).await;
    world
}

#[tokio::test]
async fn everything_is_measured_as_redis_says() {
    let world = world().await;
    let usage =
        |keys: &[&str]| keys.iter().map(|key| world.redis.raw::<u64>(&["MEMORY", "USAGE", key])).sum::<u64>();
    let keys = |pattern: &str| world.redis.raw::<Vec<String>>(&["KEYS", pattern]);
    let before = keys("*");
    let told: Value = serde_json::from_slice(&run(&world, &["--json"]).stdout).unwrap();
    assert_eq!(keys("*").len(), before.len(), "nothing is left behind");
    let kind = |kind: &str| {
        let all = told["footprints"].as_array().unwrap();
        all.iter().find(|footprint| footprint["kind"] == kind).unwrap().clone()
    };
    let counts = [
        ("follow", 3),
        ("timeline entry", 2),
        ("user", 3),
        ("username", 3),
        ("post", 2),
        ("visit", 3),
        ("region", 2),
    ];
    for (name, count) in counts {
        let footprint = kind(name);
        assert_eq!(footprint["count"], count, "{name}");
        let others = footprint["others"].as_array().unwrap();
        assert!(!others.is_empty() && others.iter().all(|other| other["times"].as_f64().unwrap() > 0.0));
        let layouts = ["listpack", "quicklist", "intset", "raw"];
        assert!(layouts.iter().any(|layout| footprint["encodings"] == json!([layout])), "{footprint}");
    }
    let bytes = |name: &str| kind(name)["bytes"].as_u64().unwrap();
    assert_eq!(bytes("user"), usage(&["ff:{u1}:user", "ff:{u2}:user", "ff:{u3}:user"]));
    assert_eq!(bytes("timeline entry"), usage(&["ff:{u1}:timeline"]));
    assert_eq!(bytes("region"), usage(&["ff:{r0}:region"]));
    let lists = |pattern: &str| keys(pattern).iter().map(|key| usage(&[key])).sum::<u64>();
    assert_eq!(bytes("follow"), lists("ff:{u*}:following") + lists("ff:{u*}:followers"));
    assert_eq!(bytes("visit"), lists("ff:{v*}:visit"));
    let plain = |name: &str| kind(name)["others"][0]["bytesEach"].as_f64().unwrap();
    world.redis.raw::<()>(&["SET", "ff:{m}:name:ann0", "1"]);
    assert!((plain("username") - usage(&["ff:{m}:name:ann0"]) as f64).abs() < 0.1, "{told}");
    assert_eq!(kind("visit")["others"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn the_table_says_the_same_to_people() {
    let world = world().await;
    let table = String::from_utf8(run(&world, &[]).stdout).unwrap();
    for line in ["follow ", "timeline entry ", "user ", "username ", "post ", "visit ", "region "] {
        assert_eq!(table.lines().filter(|one| one.starts_with(line)).count(), 1, "{line}\n{table}");
    }
    for word in
        ["one set of ids", "a HyperLogLog, which is inexact", "a key for each name", "intset", "Redis in all"]
    {
        assert!(table.contains(word), "{word}\n{table}");
    }
}

#[tokio::test]
async fn where_there_is_nothing_there_is_nothing_to_measure() {
    let world = World::new().await;
    let usage = world.app.measure_memory().await.unwrap();
    assert!(usage.footprints.iter().all(|footprint| footprint.count == 0 && footprint.bytes() == 0));
    assert!(usage.redis_bytes > 0);
    run(&world, &[]);
}

#[tokio::test]
async fn only_one_measures_at_a_time() {
    let world = world().await;
    world.redis.raw::<()>(&["SET", "ff:{m}:measuring", "1"]);
    let message = world.app.measure_memory().await.unwrap_err().to_string();
    assert!(message.contains("Another measurement is running"), "{message}");
    assert_eq!(
        world.redis.raw::<String>(&["GET", "ff:{m}:measuring"]),
        "1",
        "it is not ended for somebody else"
    );
    world.redis.raw::<i64>(&["DEL", "ff:{m}:measuring"]);
    world.app.measure_memory().await.unwrap();
    world.app.measure_memory().await.unwrap();
}

#[tokio::test]
async fn the_same_lists_are_compared() {
    let world = World::new().await;
    world.people(60).await;
    // Many short lists, and one that is too long to be compared.
    for user in 1..=60_u64 {
        let count = if user == 30 { 60_000 } else { 20 };
        let ids: Vec<u64> = (100..100 + count).collect();
        for ids in ids.chunks(5_000) {
            let pairs: Vec<String> =
                ids.iter().flat_map(|id| [(1_767_225_600_000 + id).to_string(), id.to_string()]).collect();
            let key = format!("ff:{{u{user}}}:followers");
            let add = ["ZADD", &key].into_iter().chain(pairs.iter().map(String::as_str));
            world.redis.raw::<i64>(&add.collect::<Vec<_>>());
        }
    }
    let usage = world.app.measure_memory().await.unwrap();
    let follow = footprint(&usage, "follow");
    assert!(follow.encodings.contains("skiplist") && follow.encodings.contains("listpack"));
    // Twenty short entries, and as many with long ids.
    let [other] = &follow.others[..] else { panic!("{follow:?}") };
    assert!((2.0..4.0).contains(&other.times), "{follow:?}");
}

#[tokio::test]
async fn an_entry_of_a_timeline_takes_eleven_bytes_at_most() {
    let world = World::new().await;
    world.people(1).await;
    let ids: Vec<String> = (0..1_000).map(|index| (1_500_000_000 - index * 977).to_string()).collect();
    let push = ["RPUSH", "ff:{u1}:timeline"].into_iter().chain(ids.iter().map(String::as_str));
    world.redis.raw::<i64>(&push.chain(["=1:0:1:5"]).collect::<Vec<_>>());
    let usage = world.app.measure_memory().await.unwrap();
    let entry = footprint(&usage, "timeline entry");
    assert_eq!((entry.count, entry.sampled), (1_000, 1_000));
    assert!(entry.bytes_each <= 11.0, "{entry:?}");
    assert!(entry.others[0].times > 7.0, "{entry:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_million_names_are_packed_and_a_hundred_are_found_in_one_round_trip() {
    let crowd = crowd();
    let world = World::with(&["--redis-expected-users", &crowd.to_string()]).await;
    let store = world.app.store();
    let username = |id: u64| Username::parse(&format!("somebody_{id}")).unwrap();
    let ids: Vec<u64> = (1..=crowd).collect();
    for ids in ids.chunks(20_000) {
        for is_made in [false, true] {
            let mut batch = Batch::new("test");
            for id in ids {
                let (username, user) = (username(*id), UserId::new(*id).unwrap());
                if is_made {
                    drop(batch.push(name::settle(store.keys(), &username, user)));
                } else {
                    drop(batch.push(name::reserve(store.keys(), &username, user)));
                }
            }
            batch.send(store).await.unwrap();
        }
    }
    let usage = world.app.measure_memory().await.unwrap();
    let name = footprint(&usage, "username");
    assert!(name.others[0].times >= 1.0 / 0.6, "{name:?}");
    let shards = store.keys().name_shards();
    for shard in 0..shards {
        let key = store.keys().names(shard);
        assert_eq!(world.redis.raw::<String>(&["OBJECT", "ENCODING", key.name()]), "listpack", "{shard}");
    }
    let user = |index| 1 + index * crowd / 100;
    let reads: Vec<AnyRead> = (0..100).map(|index| AnyRead::new(UserByName(username(user(index))))).collect();
    let before = store.round_trips();
    let values = world.app.read_all(&reads).await;
    assert_eq!(store.round_trips() - before, 1);
    for (index, read) in (0..100).zip(&reads) {
        let found = values[read].clone().of::<UserByName>().unwrap();
        assert_eq!(found.map(UserId::get), Some(user(index)), "{read:?}");
    }
}
