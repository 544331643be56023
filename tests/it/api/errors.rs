//! What errors state for programs: limits, delays, and the ids of what they concern.

use serde_json::{Value, json};

use crate::harness::world::{Person, World};

const FOLLOW: &str = "mutation ($id: ID!) { follow(input: { userId: $id }) {
    viewer { id user { following { totalCount } } }
    relation { id status viewer { id user { following { totalCount } } } }
    user { id followers { totalCount } relation { id } }
    userErrors { code field limit retryAfterSeconds } } }";

async fn follow(world: &World, follower: &Person, followee: &Person) -> Value {
    world.data(Some(&follower.token), FOLLOW, json!({ "id": followee.id })).await["follow"].take()
}

#[tokio::test]
async fn user_errors_state_their_limits_and_delays() {
    let world = World::with(&["--relation-follow-limit", "1", "--post-publishes-per-author", "1"]).await;
    let people = world.people(3).await;
    let query = "mutation ($name: String!, $password: String!, $displayName: String) {
        register(input: { username: $name, password: $password, displayName: $displayName }) {
            userErrors { code field limit retryAfterSeconds } } }";
    let register = async |name: &str, password: &str, display_name: &str| {
        let variables = json!({ "name": name, "password": password, "displayName": display_name });
        world.data(None, query, variables).await["register"]["userErrors"].take()
    };
    let error = |code: &str, field: &str, limit: Option<i32>| json!({ "code": code, "field": ["input", field], "limit": limit, "retryAfterSeconds": null });
    let faults = register("a", "short", &"x".repeat(51)).await;
    let expected = [
        error("TOO_SHORT", "username", Some(2)),
        error("TOO_SHORT", "password", Some(8)),
        error("TOO_LONG", "displayName", Some(50)),
    ];
    assert_eq!(faults, json!(expected));
    let faults = register(&"a".repeat(31), &"p".repeat(257), "\0").await;
    let expected = [
        error("TOO_LONG", "username", Some(30)),
        error("TOO_LONG", "password", Some(256)),
        error("INVALID", "displayName", None),
    ];
    assert_eq!(faults, json!(expected));

    follow(&world, &people[0], &people[1]).await;
    let rejected = follow(&world, &people[0], &people[2]).await;
    let limit = json!({ "code": "FOLLOW_LIMIT", "field": null, "limit": 1, "retryAfterSeconds": null });
    let nothing = json!({ "viewer": null, "relation": null, "user": null, "userErrors": [limit] });
    assert_eq!(rejected, nothing);

    let publish = "mutation { publish(input: { content: \"x\" }) {
        post { id } viewer { id } postEdge { cursor } userErrors { code limit retryAfterSeconds } } }";
    let token = Some(people[0].token.as_str());
    world.data(token, publish, Value::Null).await;
    let throttled = world.data(token, publish, Value::Null).await["publish"].take();
    let error = json!({ "code": "THROTTLED", "limit": null, "retryAfterSeconds": 3_600 });
    let nothing = json!({ "post": null, "viewer": null, "postEdge": null, "userErrors": [error] });
    assert_eq!(throttled, nothing);
}

#[tokio::test]
async fn payloads_have_the_counts_and_the_ids_that_caches_need() {
    let world = World::new().await;
    let people = world.people(2).await;
    let token = Some(people[0].token.as_str());
    let followed = follow(&world, &people[0], &people[1]).await;
    assert_eq!(followed["viewer"]["user"]["following"]["totalCount"], 1);
    assert_eq!(followed["user"]["followers"]["totalCount"], 1);
    assert_eq!(followed["relation"]["viewer"], followed["viewer"]);
    // A relation has one id, wherever it is read.
    let relation = &followed["relation"]["id"];
    assert_eq!(followed["user"]["relation"]["id"], *relation);
    let query = "query ($ids: [ID!]!) { viewer { id user { id following { nodes { relation { id } } } } }
        relations(userIds: $ids) { id user { id } } }";
    let data = world.data(token, query, json!({ "ids": [people[1].id] })).await;
    assert_eq!(data["viewer"]["user"]["following"]["nodes"][0]["relation"]["id"], *relation);
    assert_eq!(data["relations"], json!([{ "id": relation, "user": { "id": people[1].id } }]));
    // The other side has its own.
    let data = world.data(Some(&people[1].token), query, json!({ "ids": [people[0].id] })).await;
    assert_ne!(data["relations"][0]["id"], *relation);
    for id in [relation, &followed["viewer"]["id"]] {
        assert_ne!(*id, json!(people[0].id));
        let response =
            world.ask(token, "query ($id: ID!) { node(id: $id) { id } }", json!({ "id": id })).await;
        assert_eq!(response["errors"][0]["extensions"]["code"], "BAD_USER_INPUT");
    }

    let publish = "mutation { publish(input: { content: \"x\" }) {
        post { id } postEdge { cursor node { id author { username } } }
        viewer { user { posts { totalCount edges { cursor node { id } } } } } } }";
    let published = world.data(token, publish, Value::Null).await["publish"].take();
    let (edge, posts) = (&published["postEdge"], &published["viewer"]["user"]["posts"]);
    assert_eq!((&edge["node"]["id"], &posts["totalCount"]), (&published["post"]["id"], &json!(1)));
    assert_eq!(
        (&edge["cursor"], &edge["node"]["id"]),
        (&posts["edges"][0]["cursor"], &posts["edges"][0]["node"]["id"])
    );
    assert_eq!(edge["node"]["author"]["username"], "ann0");
    let delete = "mutation ($id: ID!) { deletePost(input: { postId: $id }) {
        deletedPostId viewer { user { posts { totalCount } } } } }";
    let deleted =
        world.data(token, delete, json!({ "id": published["post"]["id"] })).await["deletePost"].take();
    let nothing_left = json!({ "user": { "posts": { "totalCount": 0 } } });
    assert_eq!(deleted, json!({ "deletedPostId": published["post"]["id"], "viewer": nothing_left }));
}

#[tokio::test]
async fn errors_that_pass_state_when_to_retry() {
    let world = World::own(&["--graphql-rate-limit", "60", "--graphql-cost-limit", "100"]).await;
    let person = world.register("ada").await;
    let token = Some(person.token.as_str());
    let query = "{ viewer { user { followers(first: 60) { nodes { username } } } } }";
    world.data(token, query, Value::Null).await;
    let limited = world.ask(token, query, Value::Null).await;
    let extensions = &limited["errors"][0]["extensions"];
    assert_eq!(extensions["code"], "RATE_LIMITED");
    assert!((1..60).contains(&extensions["retryAfterSeconds"].as_u64().unwrap()), "{limited}");

    world.redis.raw::<u64>(&["DEL", "ff:{u1}:cost"]);
    world.redis.pause(true);
    let unavailable = world.ask(token, query, Value::Null).await;
    world.redis.pause(false);
    let extensions = &unavailable["errors"][0]["extensions"];
    assert_eq!((&extensions["code"], &extensions["retryAfterSeconds"]), (&json!("UNAVAILABLE"), &json!(1)));
}

#[tokio::test]
async fn paging_arguments_are_checked_before_anything_is_executed() {
    let world = World::new().await;
    let person = world.register("ada").await;
    let follow_self = format!("follow(input: {{ userId: \"{}\" }}) {{ userErrors {{ code }}", person.id);
    for (arguments, message) in [
        ("first: -1", "`first` must not be negative, but is -1."),
        ("last: -7", "`last` must not be negative, but is -7."),
        (
            "first: 1, last: 1",
            "`first` and `after` page forward, `last` and `before` backward: use only one pair.",
        ),
    ] {
        let query = format!(
            "mutation {{ {follow_self} viewer {{ user {{ posts({arguments}) {{ totalCount }} }} }} }} }}"
        );
        let before = world.app.store().round_trips();
        let response = world.ask(Some(&person.token), &query, Value::Null).await;
        let error = &response["errors"][0];
        assert_eq!(
            (&error["message"], &error["extensions"]["code"]),
            (&json!(message), &json!("BAD_USER_INPUT"))
        );
        assert_eq!((response.get("data"), world.app.store().round_trips()), (None, before));
    }
    // The default of `first` does not count as given, nor do nulls.
    for arguments in ["last: 2", "first: null, last: 2", "before: null", "after: null, last: 1"] {
        let query = format!("{{ viewer {{ user {{ posts({arguments}) {{ nodes {{ id }} }} }} }} }}");
        world.data(Some(&person.token), &query, Value::Null).await;
    }
}
