//! `fanfold check`: finds inconsistencies, and repairs them.

use fanfold::app::App;
use fanfold::app::check::{Findings, USERS_AT_A_TIME};

use crate::harness::graph::Graph;
use crate::harness::world::World;

/// Checks everything.
pub(crate) async fn check(app: &App, repair: bool) -> Findings {
    let mut findings = app.check_intents(repair).await.unwrap();
    for shard in 0..app.name_shards() {
        findings += app.check_names(shard, repair).await.unwrap();
    }
    let last = app.last_user_id().await.unwrap();
    for first in (1..=last).step_by(usize::try_from(USERS_AT_A_TIME).unwrap()) {
        findings += app.check_users(first, repair).await.unwrap();
    }
    findings
}

/// 2,500 users, of whom u0 has more followers than are read at once.
async fn world() -> World {
    let world = World::with(&["--redis-expected-users", "3000"]).await;
    let graph = Graph::generated(2_500, 5_000, 4);
    let follows =
        (1..2_500).map(|follower| (follower, 0)).chain(graph.follows.into_iter().filter(|edge| edge.1 != 0));
    Graph { users: 2_500, follows: follows.collect() }.load(&world.app, None).await;
    world
}

#[tokio::test]
async fn inconsistencies_are_found_and_repaired() {
    let world = world().await;
    let well = check(&world.app, false).await;
    assert_eq!((well.users, well.faults(), well.unfinished), (2_500, 0, 0));

    let raw = |words: &[&str]| world.redis.raw::<redis::Value>(words);
    // A missing mirror, one with another time, and one without a truth.
    raw(&["ZREM", "ff:{u1}:followers", "2"]);
    raw(&["ZADD", "ff:{u1}:followers", "7", "2400"]);
    raw(&["ZREM", "ff:{u3}:following", "1"]);
    // A follow of a user who does not exist, and one by such a user.
    raw(&["ZADD", "ff:{u5}:following", "5", "77777"]);
    raw(&["ZADD", "ff:{u5}:followers", "5", "88888"]);
    // A user whose name is missing from the index, and a name of no user.
    let shard = |name: &str| {
        let name = fanfold::model::user::Username::parse(name).unwrap();
        world.app.store().keys().names_with(&name).name().to_owned()
    };
    raw(&["HDEL", &shard("u6"), "u6"]);
    raw(&["HSET", &shard("nobody"), "nobody", "99999"]);
    // A name reserved for no user, and a user who follows themselves.
    raw(&["HSET", &shard("ghost"), "ghost", "?99998"]);
    raw(&["ZADD", "ff:{u9}:following", "5", "9"]);
    raw(&["ZADD", "ff:{u9}:followers", "5", "9"]);

    let found = check(&world.app, false).await;
    assert_eq!((found.torn_edges, found.dangling_edges, found.wrong_names), (3, 4, 3));
    let repaired = check(&world.app, true).await;
    assert!(repaired.faults() >= 9, "the mirror of a dropped edge is dropped, too");
    let after = check(&world.app, false).await;
    assert_eq!((after.users, after.faults()), (2_500, 0));
    assert_eq!(after.edges, well.edges - 1, "the truth decides");
    let follows = |key: &str, member: &str| world.redis.raw::<Option<i64>>(&["ZSCORE", key, member]);
    assert_eq!(follows("ff:{u1}:followers", "2"), follows("ff:{u2}:following", "1"));
    assert_eq!(follows("ff:{u1}:followers", "3"), None);
    assert_eq!(world.redis.raw::<String>(&["HGET", &shard("u6"), "u6"]), "7");
}

#[tokio::test]
async fn faults_of_blocks_and_requests_are_found_once_and_repaired() {
    let world = world().await;
    let raw = |words: &[&str]| world.redis.raw::<redis::Value>(words);
    // A block that lacks its mirror, and a mirror that lacks its block. The users are not checked together.
    raw(&["ZADD", "ff:{u20}:blocking", "5", "2400"]);
    raw(&["ZADD", "ff:{u2401}:blockers", "5", "21"]);
    // A block of a follower.
    raw(&["ZADD", "ff:{u22}:blocking", "5", "2402"]);
    raw(&["ZADD", "ff:{u2402}:blockers", "5", "22"]);
    raw(&["ZADD", "ff:{u2402}:following", "5", "22"]);
    raw(&["ZADD", "ff:{u22}:followers", "5", "2402"]);
    // Requests to follow a user whose account is public: more than are accepted together.
    for user in 1_000..2_200 {
        let user = user.to_string();
        raw(&["ZREM", "ff:{u2403}:followers", &user]);
        raw(&["ZREM", &format!("ff:{{u{user}}}:following"), "2403"]);
        raw(&["ZADD", &format!("ff:{{u{user}}}:requesting"), "5", "2403"]);
        raw(&["ZADD", "ff:{u2403}:requests", "5", &user]);
    }

    let found = check(&world.app, false).await;
    let faults = (found.torn_blocks, found.crossed_blocks, found.stray_requests);
    assert_eq!((faults, found.faults()), ((2, 1, 1_000), 1_003));
    check(&world.app, true).await;
    assert_eq!(check(&world.app, false).await.faults(), 0);
    let time = |key: &str, member: &str| world.redis.raw::<Option<i64>>(&["ZSCORE", key, member]);
    assert_eq!(time("ff:{u2400}:blockers", "20"), Some(5), "the truth decides");
    assert_eq!(time("ff:{u2401}:blockers", "21"), None);
    assert_eq!(time("ff:{u2402}:following", "22"), None);
    assert_eq!(time("ff:{u22}:followers", "2402"), None);
    assert_eq!(world.redis.raw::<u64>(&["ZCARD", "ff:{u2403}:requests"]), 0);
    assert!(time("ff:{u2199}:following", "2403").is_some(), "the requests are accepted");
}
