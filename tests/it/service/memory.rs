//! Memory usage: the command reports what Redis reports, writes nothing, and each kind stays within its budget.

use std::collections::BTreeSet;
use std::process::Output;

use fanfold::app::memory::{Footprint, Usage};
use fanfold::app::post::PublishRequest;
use fanfold::app::read::AnyRead;
use fanfold::app::user::read::UserByName;
use fanfold::model::id::{PostId, UserId};
use fanfold::model::user::Username;
use fanfold::store::batch::Batch;
use fanfold::store::name;
use serde_json::{Value, json};

use crate::harness::case::share;
use crate::harness::server::command;
use crate::harness::world::{World, deliver_all};

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
    let edit =
        "mutation ($id: ID!) { editPost(input: { postId: $id, content: \"y\" }) { userErrors { code } } }";
    let settle = "mutation { updateProfile(input: { region: { country: \"DE\" } }) { viewer { id } } }";
    let mute = "mutation ($id: ID!) { mute(input: { userId: $id }) { userErrors { code } } }";
    world.data(Some(&people[2].token), mute, json!({ "id": people[0].id })).await;
    let strangers = [world.register("private").await, world.register("foe").await];
    let private = "mutation { updateProfile(input: { isPrivate: true }) { userErrors { code } } }";
    world.data(Some(&strangers[0].token), private, Value::Null).await;
    world.follow(&people[0], &strangers[0]).await;
    let block = "mutation ($id: ID!) { block(input: { userId: $id }) { userErrors { code } } }";
    world.data(Some(&people[0].token), block, json!({ "id": strangers[1].id })).await;
    for person in &people[1..] {
        let data = world.data(Some(&person.token), publish, Value::Null).await;
        // The first of the two posts is edited.
        if data["publish"]["post"]["id"] == "UG9zdDox" {
            world.data(Some(&person.token), edit, json!({ "id": "UG9zdDox" })).await;
        }
        world.data(Some(&person.token), settle, Value::Null).await;
    }
    let replier = world.app.authenticate(&people[2].token).await.unwrap();
    let request = PublishRequest { content: "x", in_reply_to: PostId::new(1), ..PublishRequest::default() };
    world.app.publish(&replier, request).await.unwrap();
    world.app.repost(&replier, PostId::new(1).unwrap()).await.unwrap();
    world.app.bookmark(&replier, PostId::new(1).unwrap()).await.unwrap();
    world.app.like(&replier, PostId::new(1).unwrap()).await.unwrap();
    let limited = "mutation { publish(input: { content: \"x\", visibility: FOLLOWERS }) { post { id } } }";
    world.data(Some(&strangers[1].token), limited, Value::Null).await;
    deliver_all(&world.app).await;
    world
}

#[tokio::test]
async fn everything_is_measured_as_redis_says() {
    let world = world().await;
    let usage =
        |keys: &[&str]| keys.iter().map(|key| world.redis.raw::<u64>(&["MEMORY", "USAGE", key])).sum::<u64>();
    let keys = |pattern: &str| world.redis.raw::<Vec<String>>(&["KEYS", pattern]);
    let reported: Value = serde_json::from_slice(&run(&world, &["--json"]).stdout).unwrap();
    let kind = |kind: &str| {
        let all = reported["footprints"].as_array().unwrap();
        all.iter().find(|footprint| footprint["kind"] == kind).unwrap().clone()
    };
    // A subject is that of a user without a password.
    let footprints = reported["footprints"].as_array().unwrap().iter();
    let missing: Vec<&Value> = footprints.filter(|footprint| footprint["count"] == 0).collect();
    assert_eq!(missing.iter().map(|footprint| &footprint["kind"]).collect::<Vec<_>>(), ["subject"]);
    let counts = [
        ("follow", 3),
        ("follow request", 1),
        ("block", 1),
        ("mute", 1),
        ("tie", 2),
        ("timeline entry", 4),
        ("user", 5),
        ("username", 5),
        ("post", 5),
        ("listed post", 5),
        ("limited post", 1),
        ("reply or quote", 1),
        ("repost", 1),
        ("bookmark", 1),
        ("like", 1),
        ("like of a hot post", 1),
        ("earlier version", 1),
        ("visit", 5),
        ("region", 2),
    ];
    for (name, count) in counts {
        let footprint = kind(name);
        assert_eq!(footprint["count"], count, "{name}");
        // A repost is in a list of the post, and in a hash of its author.
        let encodings: &[&[&str]] =
            &[&["listpack"], &["quicklist"], &["intset"], &["raw"], &["listpack", "quicklist"]];
        assert!(encodings.iter().any(|some| footprint["encodings"] == json!(some)), "{footprint}");
    }
    let bytes = |name: &str| kind(name)["bytes"].as_u64().unwrap();
    let users: Vec<String> = (1..=5).map(|user| format!("ff:{{u{user}}}:user")).collect();
    assert_eq!(bytes("user"), usage(&users.iter().map(String::as_str).collect::<Vec<_>>()));
    assert_eq!(bytes("follow request"), usage(&["ff:{u1}:requesting", "ff:{u4}:requests"]));
    assert_eq!(bytes("block"), usage(&["ff:{u1}:blocking", "ff:{u5}:blockers"]));
    assert_eq!(bytes("mute"), usage(&["ff:{u3}:muting"]));
    assert_eq!(bytes("tie"), usage(&["ff:{u1}:ties:0", "ff:{u3}:ties:0"]));
    assert_eq!(bytes("bookmark"), usage(&["ff:{u3}:bookmarks"]));
    assert_eq!(bytes("like"), usage(&["ff:{u3}:liked"]));
    assert_eq!(bytes("like of a hot post"), usage(&["ff:{p1}:likes"]));
    assert_eq!(bytes("limited post"), usage(&["ff:{u5}:limited"]));
    assert_eq!(bytes("timeline entry"), usage(&["ff:{u1}:timeline"]));
    assert_eq!(bytes("reply or quote"), usage(&["ff:{p1}:replies"]));
    assert_eq!(bytes("repost"), usage(&["ff:{u3}:reposted", "ff:{p1}:reposts"]));
    assert_eq!(bytes("earlier version"), usage(&["ff:{p1}:edits"]));
    assert_eq!(bytes("region"), usage(&["ff:{r0}:region"]));
    let lists = |pattern: &str| keys(pattern).iter().map(|key| usage(&[key])).sum::<u64>();
    assert_eq!(bytes("follow"), lists("ff:{u*}:following") + lists("ff:{u*}:followers"));
    assert_eq!(bytes("listed post"), lists("ff:{u*}:posts") + lists("ff:{u*}:posts:times"));
    assert_eq!(bytes("visit"), lists("ff:{v*}:visit"));
    let all: u64 = counts.iter().map(|(name, _)| bytes(name)).sum();
    assert_eq!(reported["bytes"], all);
    assert!(reported["redisBytes"].as_u64().unwrap() > all, "{reported}");
}

#[tokio::test]
async fn the_table_says_the_same_to_people() {
    let world = world().await;
    let table = String::from_utf8(run(&world, &[]).stdout).unwrap();
    for line in [
        "follow ",
        "follow request ",
        "block ",
        "mute ",
        "tie ",
        "timeline entry ",
        "user ",
        "username ",
        "post ",
        "listed post ",
        "limited post ",
        "reply or quote ",
        "repost ",
        "earlier version ",
        "visit ",
        "region ",
    ] {
        assert_eq!(
            table.lines().filter(|one| one.starts_with(&format!("{line:<15}"))).count(),
            1,
            "{line}\n{table}"
        );
    }
    for word in ["bytes each", "intset", "\nall kinds ", "\nRedis "] {
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
async fn a_measurement_sends_no_command_that_writes() {
    let world = world().await;
    let writing: BTreeSet<String> =
        world.redis.raw::<Vec<String>>(&["ACL", "CAT", "write"]).into_iter().collect();
    assert!(writing.contains("set"), "{writing:?}");
    world.redis.raw::<()>(&["CONFIG", "RESETSTAT"]);
    run(&world, &[]);
    let sent = commands(&world);
    assert!(sent.contains("memory|usage") || sent.contains("memory"), "{sent:?}");
    assert!(sent.is_disjoint(&writing), "{:?}", sent.intersection(&writing));
}

/// Returns the names of the commands that Redis has executed, also those within scripts.
fn commands(world: &World) -> BTreeSet<String> {
    let statistics: String = world.redis.raw(&["INFO", "commandstats"]);
    let names = statistics.lines().filter_map(|line| line.strip_prefix("cmdstat_")?.split(':').next());
    names.map(str::to_owned).collect()
}

#[tokio::test]
async fn short_and_long_lists_are_measured() {
    let world = World::new().await;
    world.people(60).await;
    for user in 1..=60_u64 {
        let count = if user == 30 { 5_000 } else { 20 };
        let pairs =
            (100..100 + count).flat_map(|id: u64| [(1_767_225_600_000 + id).to_string(), id.to_string()]);
        let pairs: Vec<String> = pairs.collect();
        let key = format!("ff:{{u{user}}}:followers");
        let add = ["ZADD", &key].into_iter().chain(pairs.iter().map(String::as_str));
        world.redis.raw::<i64>(&add.collect::<Vec<_>>());
    }
    let usage = world.app.measure_memory().await.unwrap();
    let follow = footprint(&usage, "follow");
    assert_eq!(follow.encodings, ["listpack", "skiplist"].map(str::to_owned).into());
    let of = |user: u64| {
        let key = format!("ff:{{u{user}}}:followers");
        world.redis.raw::<u64>(&["MEMORY", "USAGE", &key, "SAMPLES", "50"])
    };
    let bytes: u64 = (1..=60).map(of).sum();
    assert!((follow.bytes_each - bytes as f64 / (59.0 * 20.0 + 5_000.0)).abs() < 0.001, "{follow:?}");
    let short = of(1) as f64 / 20.0;
    assert!(short <= 20.0, "{short} bytes for each follow of a short list");
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
}

#[tokio::test(flavor = "multi_thread")]
async fn a_million_names_are_packed_and_a_hundred_are_found_in_one_round_trip() {
    let crowd = share(1_000_000);
    let world = World::own(&["--redis-expected-users", &crowd.to_string()]).await;
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
    assert!(name.bytes_each <= 28.0, "{name:?}");
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
