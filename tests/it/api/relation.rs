//! Following and being followed, and the relation of each user to the viewer.

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::world::{Person, World, user_of};

fn relation(status: &str, following: Option<&str>, follower: Option<&str>) -> Value {
    json!({ "status": status, "followingSince": following, "followerSince": follower })
}

async fn status(world: &World, viewer: &Person, other: &Person) -> Value {
    let query =
        "query ($id: ID!) { user(by: { id: $id }) { relation { status followingSince followerSince } } }";
    world.data(Some(&viewer.token), query, json!({ "id": other.id })).await["user"]["relation"].take()
}

async fn both_strategies(test: impl AsyncFn(World)) {
    for strategy in ["zinterstore", "zmscore"] {
        test(World::with(&["--relation-strategy", strategy]).await).await;
    }
}

#[tokio::test]
async fn two_users_have_one_of_four_relations() {
    both_strategies(async |world: World| {
        let (ada, bob) = (world.register("ada").await, world.register("bob").await);
        let (one, two) = (Some("2026-01-01T00:00:00.000Z"), Some("2026-01-01T00:00:05.000Z"));
        assert_eq!(status(&world, &ada, &bob).await, relation("NONE", None, None));
        world.follow(&ada, &bob).await;
        assert_eq!(status(&world, &ada, &bob).await, relation("FOLLOWING", one, None));
        assert_eq!(status(&world, &bob, &ada).await, relation("FOLLOWER", None, one));
        world.clock.advance(Duration::from_secs(5));
        world.follow(&bob, &ada).await;
        assert_eq!(status(&world, &ada, &bob).await, relation("MUTUAL", one, two));
        assert_eq!(status(&world, &bob, &ada).await, relation("MUTUAL", two, one));
        // Users have no relation to themselves.
        assert_eq!(status(&world, &ada, &ada).await, Value::Null);
    })
    .await;
}

#[tokio::test]
async fn following_twice_keeps_the_time_and_following_after_an_unfollow_does_not() {
    let world = World::new().await;
    let (ada, bob) = (world.register("ada").await, world.register("bob").await);
    let since = async |payload: Value| payload["relation"]["followingSince"].clone();
    assert_eq!(since(world.follow(&ada, &bob).await).await, "2026-01-01T00:00:00.000Z");
    world.clock.advance(Duration::from_secs(5));
    assert_eq!(since(world.follow(&ada, &bob).await).await, "2026-01-01T00:00:00.000Z");
    for _ in 0..2 {
        let payload = world.unfollow(&ada, &bob).await;
        assert_eq!(payload["relation"], relation("NONE", None, None));
        assert_eq!(payload["userErrors"], json!([]));
    }
    assert_eq!(since(world.follow(&ada, &bob).await).await, "2026-01-01T00:00:05.000Z");
}

#[tokio::test]
async fn a_follower_can_be_removed() {
    let world = World::new().await;
    let (ada, bob) = (world.register("ada").await, world.register("bob").await);
    world.follow(&ada, &bob).await;
    world.follow(&bob, &ada).await;
    let query = "mutation ($id: ID!) { removeFollower(input: { userId: $id }) {
        relation { status } user { username followers { totalCount } following { totalCount } } userErrors { code } } }";
    let payload = world.data(Some(&bob.token), query, json!({ "id": ada.id })).await["removeFollower"].take();
    let expected = json!({
        "relation": { "status": "FOLLOWING" },
        "user": { "username": "ada", "followers": { "totalCount": 1 }, "following": { "totalCount": 0 } },
        "userErrors": [],
    });
    assert_eq!(payload, expected);
}

#[tokio::test]
async fn violations_of_the_rules_are_reported_and_change_nothing() {
    let world = World::with(&["--relation-follow-limit", "2"]).await;
    let people = world.people(4).await;
    let ada = &people[0];
    let rejected = |code: &str, field: Value, payload: &Value| {
        assert_eq!(payload["relation"], Value::Null);
        let error = &payload["userErrors"][0];
        assert_eq!((&error["code"], &error["field"]), (&json!(code), &field), "{payload}");
    };
    let unknown_user = Person { id: "VXNlcjo3NzAwMDA".into(), ..ada.clone() };
    let user_id = json!(["input", "userId"]);
    rejected("SELF", user_id.clone(), &world.follow(ada, ada).await);
    rejected("SELF", user_id.clone(), &world.unfollow(ada, ada).await);
    rejected("NOT_FOUND", user_id.clone(), &world.follow(ada, &unknown_user).await);
    rejected("NOT_FOUND", user_id, &world.unfollow(ada, &unknown_user).await);
    world.follow(ada, &people[1]).await;
    world.follow(ada, &people[2]).await;
    rejected("FOLLOW_LIMIT", Value::Null, &world.follow(ada, &people[3]).await);
    // A user who is already followed may be followed again, even at the limit.
    assert_eq!(world.follow(ada, &people[1]).await["userErrors"], json!([]));
    world.unfollow(ada, &people[1]).await;
    assert_eq!(world.follow(ada, &people[3]).await["userErrors"], json!([]));

    let query = "query ($id: ID!) { user(by: { id: $id }) { following { totalCount nodes { username } } } }";
    let data = world.data(None, query, json!({ "id": ada.id })).await;
    let expected = json!({ "totalCount": 2, "nodes": [{ "username": "ann3" }, { "username": "ann2" }] });
    assert_eq!(data["user"]["following"], expected);
    assert_eq!(world.app.repair().await.unwrap(), 0, "a violation leaves nothing behind");
}

#[tokio::test]
async fn relations_come_in_the_order_of_the_ids() {
    both_strategies(async |world: World| {
        let people = world.people(3).await;
        let (ada, bob, eve) = (&people[0], &people[1], &people[2]);
        world.follow(ada, bob).await;
        world.follow(eve, ada).await;
        let query = "query ($ids: [ID!]!) { relations(userIds: $ids) { user { username bio } status } }";
        let ids = json!({ "ids": [eve.id, "VXNlcjo3NzAwMDA", ada.id, bob.id, eve.id] });
        let follower = json!({ "user": { "username": "ann2", "bio": "" }, "status": "FOLLOWER" });
        let following = json!({ "user": { "username": "ann1", "bio": "" }, "status": "FOLLOWING" });
        let data = world.data(Some(&ada.token), query, ids.clone()).await;
        assert_eq!(data["relations"], json!([follower, null, null, following, follower]));
        let data = world.data(None, query, ids).await;
        assert_eq!(data["relations"], json!([null, null, null, null, null]));
        let data = world.data(Some(&ada.token), query, json!({ "ids": [] })).await;
        assert_eq!(data["relations"], json!([]));
    })
    .await;
}

#[tokio::test]
async fn users_are_found_by_id_and_by_name() {
    let world = World::new().await;
    let ada = world.register("ada").await;
    let query = "query ($id: ID!) {
        node(id: $id) { __typename id ... on User { username relation { status } } }
        nodes(ids: [$id, \"VXNlcjo5\", $id]) { id }
        user(by: { id: $id }) { isViewer }
        named: user(by: { username: \"ADA\" }) { id createdAt isViewer }
        unknown: user(by: { username: \"bob\" }) { id }
        impossible: user(by: { username: \"no such name\" }) { id }
    }";
    let data = world.data(None, query, json!({ "id": ada.id })).await;
    let id = json!({ "id": ada.id });
    let expected = json!({
        "node": { "__typename": "User", "id": ada.id, "username": "ada", "relation": null },
        "nodes": [id, null, id],
        "user": { "isViewer": false },
        "named": { "id": ada.id, "createdAt": "2026-01-01T00:00:00.000Z", "isViewer": false },
        "unknown": null,
        "impossible": null,
    });
    assert_eq!(data, expected);
    let data = world
        .data(Some(&ada.token), "{ viewer { user { isViewer relation { status } } } }", Value::Null)
        .await;
    assert_eq!(data["viewer"]["user"], json!({ "isViewer": true, "relation": null }));
}

#[tokio::test]
async fn known_followers_are_those_whom_the_viewer_follows() {
    let world = World::new().await;
    let people = world.people(6).await;
    let (viewer, star) = (&people[0], &people[1]);
    for follower in &people[2..6] {
        world.follow(follower, star).await;
        world.clock.advance(Duration::from_secs(1));
    }
    for known in [&people[5], &people[3], star] {
        world.follow(viewer, known).await;
    }
    let query = "query ($id: ID!) { user(by: { id: $id }) {
        knownFollowers { totalCount edges { followedAt node { username relation { status } } } } } }";
    let data = world.data(Some(&viewer.token), query, json!({ "id": star.id })).await;
    let known = |username: &str, at: &str| json!({ "followedAt": at, "node": { "username": username, "relation": { "status": "FOLLOWING" } } });
    let edges = [known("ann5", "2026-01-01T00:00:03.000Z"), known("ann3", "2026-01-01T00:00:01.000Z")];
    assert_eq!(data["user"]["knownFollowers"], json!({ "totalCount": 2, "edges": edges }));
    let data = world.data(None, query, json!({ "id": star.id })).await;
    assert_eq!(data["user"]["knownFollowers"], json!({ "totalCount": 0, "edges": [] }));
}

/// Changes the relation of a user to another, and returns the user errors.
async fn change(world: &World, person: &Person, mutation: &str, other: &str) -> Value {
    let query = format!(
        "mutation ($id: ID!) {{ {mutation}(input: {{ userId: $id }}) {{
            userErrors {{ code field message retryAfterSeconds }} }} }}"
    );
    world.data(Some(&person.token), &query, json!({ "id": other })).await[mutation]["userErrors"].take()
}

#[tokio::test]
async fn changes_back_and_forth_are_throttled_for_each_pair_of_users_and_what_ends_contact_never_is() {
    let world = World::new().await;
    let people = world.people(5).await;
    let (viewer, last) = (&people[0], &people[4]);
    let message = "You have changed your relation to this user too often. Try again in 3 minutes.";
    let throttled =
        json!([{ "code": "THROTTLED", "field": null, "message": message, "retryAfterSeconds": 180 }]);
    let none = json!([]);
    let pairs = [("follow", "unfollow"), ("unblock", "block"), ("unmute", "mute")];
    for ((limited, free), other) in pairs.into_iter().zip(&people[1..]) {
        let is_made_first = limited != "follow";
        for _ in 0..20 {
            if is_made_first {
                assert_eq!(change(&world, viewer, free, &other.id).await, none, "{free}");
            }
            // A repeat changes nothing, and takes no token.
            for _ in 0..2 {
                assert_eq!(change(&world, viewer, limited, &other.id).await, none, "{limited}");
            }
            if !is_made_first {
                assert_eq!(change(&world, viewer, free, &other.id).await, none, "{free}");
            }
        }
        for _ in 0..2 {
            assert_eq!(change(&world, viewer, free, &other.id).await, none, "{free} is possible at any time");
            assert_eq!(change(&world, viewer, limited, &other.id).await, throttled, "{limited}");
        }
        // Another pair is not affected, in either direction.
        assert_eq!(change(&world, viewer, "follow", &last.id).await, none);
        assert_eq!(change(&world, last, "follow", &viewer.id).await, none);
        // The bucket expires soon after it is full.
        let bucket = format!("ff:{{u1}}:changes:{}", number(&world, other).await);
        assert!((3_600..=3_661).contains(&world.redis.raw::<i64>(&["TTL", &bucket])));
    }
    // Nothing was changed, and no work is left.
    let query = "query ($ids: [ID!]!) { relations(userIds: $ids) { status blockedSince mutedSince } }";
    let ids: Vec<&str> = people[1..4].iter().map(|person| &*person.id).collect();
    let relations = world.data(Some(&viewer.token), query, json!({ "ids": ids })).await["relations"].take();
    let is = |index: usize, field: &str| !relations[index][field].is_null();
    assert_eq!(relations[0]["status"], "NONE");
    assert!(is(1, "blockedSince") && is(2, "mutedSince"), "{relations}");
    for partition in 0..16 {
        let intents = format!("ff:{{i{partition}}}:intents");
        assert_eq!(world.redis.raw::<u64>(&["ZCARD", &intents]), 0);
    }
    world.clock.advance(Duration::from_mins(3));
    for ((limited, free), other) in pairs.into_iter().zip(&people[1..]) {
        assert_eq!(change(&world, viewer, limited, &other.id).await, none, "{limited}");
        assert_eq!(change(&world, viewer, free, &other.id).await, none, "{free}");
        assert_eq!(change(&world, viewer, limited, &other.id).await, throttled, "{limited}");
    }
}

async fn number(world: &World, person: &Person) -> u64 {
    user_of(world, person).await.get()
}

#[tokio::test]
async fn throttled_changes_say_nothing_about_the_other_user() {
    let world = World::new().await;
    let (ada, ben) = (world.register("ada").await, world.register("ben").await);
    let bucket = "ff:{u1}:changes:2";
    let level = || world.redis.raw::<Option<String>>(&["GET", bucket]);
    // What the other user does takes no token, nor do changes that are rejected.
    for mutation in ["follow", "unfollow", "mute", "unmute", "block"] {
        assert_eq!(change(&world, &ben, mutation, &ada.id).await, json!([]));
    }
    let unknown = change(&world, &ada, "follow", "VXNlcjo5OTk").await;
    for mutation in ["follow", "unfollow", "unblock", "unmute", "mute", "block"] {
        assert_eq!(change(&world, &ada, mutation, &ben.id).await, unknown, "{mutation}");
    }
    assert_eq!((unknown[0]["code"].as_str(), level()), (Some("NOT_FOUND"), None));
    assert_eq!(change(&world, &ben, "unblock", &ada.id).await, json!([]));
    for _ in 0..20 {
        world.follow(&ada, &ben).await;
        world.unfollow(&ada, &ben).await;
    }
    let before = level();
    let throttled = change(&world, &ada, "follow", &ben.id).await;
    assert_eq!(throttled[0]["code"], "THROTTLED");
    // While the other blocks the viewer, the response is that for a user who does not exist.
    assert_eq!(change(&world, &ben, "block", &ada.id).await, json!([]));
    assert_eq!(change(&world, &ada, "follow", &ben.id).await, unknown);
    assert_eq!(change(&world, &ben, "unblock", &ada.id).await, json!([]));
    assert_eq!(change(&world, &ada, "follow", &ben.id).await, throttled);
    assert_eq!(level(), before);
}

#[tokio::test]
async fn the_throttle_takes_no_round_trip_of_its_own() {
    let world = World::new().await;
    let people = world.people(2).await;
    let viewer = world.app.authenticate(&people[0].token).await.unwrap();
    let other = user_of(&world, &people[1]).await;
    let trips = || world.app.store().round_trips();
    let mut counts = Vec::new();
    // Redis caches the scripts when they are first called.
    for _ in 0..21 {
        let before = trips();
        let followed = world.app.follow(&viewer, other).await;
        counts.push((followed.is_ok(), trips() - before));
        world.app.unfollow(&viewer, other).await.unwrap();
    }
    assert_eq!(counts[1..20], vec![(true, 6); 19]);
    // The user is read, the intent recorded, the follow rejected, and the intent dropped.
    assert_eq!(counts[20], (false, 4));
}
