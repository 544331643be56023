//! The visibility of posts: its way from `publish` to the archive, and what is counted for it.

use fanfold::app::check::Finding;
use fanfold::app::post::read::PostCount;
use fanfold::app::read::Load as _;
use fanfold::model::clock::{Period, Timestamp};
use fanfold::model::id::UserId;
use serde_json::{Value, json};

use crate::harness::cost::cost;
use crate::harness::post::delete;
use crate::harness::sql::{Database, Kind, on_every_kind};
use crate::harness::world::{Person, World, archive_all, deliver_all, user_of};

on_every_kind! {
    a_visibility_stays_the_same_in_the_archive;
}

const PUBLISH: &str = "mutation ($content: String!, $visibility: Visibility, $key: String) {
    publish(input: { content: $content, visibility: $visibility, idempotencyKey: $key }) {
        post { id visibility } userErrors { code } } }";

/// Publishes a post, and returns the payload.
async fn publish(world: &World, person: &Person, variables: Value) -> Value {
    let query = match variables["visibility"] {
        // The default applies to an input without the field.
        Value::Null => {
            PUBLISH.replace("visibility: $visibility, ", "").replace("$visibility: Visibility, ", "")
        }
        _ => PUBLISH.replace("$visibility: Visibility,", "$visibility: Visibility!,"),
    };
    world.data(Some(&person.token), &query, variables).await["publish"].take()
}

/// Publishes a post for followers, and returns its id.
async fn publish_limited(world: &World, person: &Person) -> String {
    let payload = publish(world, person, json!({ "content": "x", "visibility": "FOLLOWERS" })).await;
    assert_eq!(payload["post"]["visibility"], "FOLLOWERS");
    payload["post"]["id"].as_str().unwrap().to_owned()
}

/// Returns the visibilities of a person's posts, newest first: as they are in the list, and by id.
async fn visibilities(world: &World, person: &Person) -> Vec<String> {
    let query = "{ viewer { user { posts { nodes { id visibility } } } } }";
    let data = world.data(Some(&person.token), query, Value::Null).await;
    let posts = data["viewer"]["user"]["posts"]["nodes"].as_array().unwrap().clone();
    let ids: Vec<&Value> = posts.iter().map(|post| &post["id"]).collect();
    let query = "query ($ids: [ID!]!) { nodes(ids: $ids) { id ... on Post { visibility } } }";
    let nodes = world.data(Some(&person.token), query, json!({ "ids": ids })).await["nodes"].take();
    assert_eq!(nodes, Value::from(posts.clone()));
    posts.iter().map(|post| post["visibility"].as_str().unwrap().to_owned()).collect()
}

/// Returns the numbers of all posts and of public ones. They are the same with a period that contains all posts.
async fn counts(world: &World, author: UserId) -> [u64; 2] {
    let mut counts = [0; 2];
    for (count, only_public) in counts.iter_mut().zip([false, true]) {
        let since = Some(Timestamp::from_millis(0));
        let [all, within] = [Period::ALL, Period { since, until: None }]
            .map(|period| world.app.load(PostCount { author, period, only_public }));
        *count = all.await.unwrap();
        assert_eq!(*count, within.await.unwrap());
    }
    counts
}

fn features(world: &World) -> String {
    world.redis.raw::<Option<String>>(&["HGET", "ff:{g}:layout", "features"]).unwrap_or_default()
}

#[tokio::test]
async fn public_posts_are_stored_as_by_the_version_before() {
    let world = World::new().await;
    let person = world.register("ada").await;
    for visibility in [Value::Null, json!("PUBLIC")] {
        let payload = publish(&world, &person, json!({ "content": "x", "visibility": visibility })).await;
        assert_eq!(payload["post"]["visibility"], "PUBLIC");
    }
    for post in ["ff:{p1}:post", "ff:{p2}:post"] {
        let mut fields: Vec<String> = world.redis.raw(&["HKEYS", post]);
        fields.sort();
        assert_eq!(fields, ["author", "content", "created_at", "delivery"]);
    }
    assert_eq!(world.redis.raw::<u64>(&["EXISTS", "ff:{u1}:limited"]), 0);
    assert!(!features(&world).contains("boundaries"));
    publish_limited(&world, &person).await;
    assert!(features(&world).contains("boundaries"));
    assert_eq!(world.redis.raw::<String>(&["HGET", "ff:{p3}:post", "visibility"]), "followers");
    assert_eq!(visibilities(&world, &person).await, ["FOLLOWERS", "PUBLIC", "PUBLIC"]);
}

#[tokio::test]
async fn a_retry_has_the_same_visibility() {
    let world = World::new().await;
    let person = world.register("ada").await;
    for (key, visibility, other) in [("a", "FOLLOWERS", "PUBLIC"), ("b", "PUBLIC", "FOLLOWERS")] {
        let attempt = |visibility| json!({ "content": "x", "visibility": visibility, "key": key });
        let first = publish(&world, &person, attempt(visibility)).await;
        assert_eq!(first["post"]["visibility"], visibility);
        assert_eq!(publish(&world, &person, attempt(visibility)).await, first);
        let mismatch = publish(&world, &person, attempt(other)).await;
        assert_eq!(mismatch["userErrors"][0]["code"], "IDEMPOTENCY_MISMATCH");
    }
    assert_eq!(visibilities(&world, &person).await, ["PUBLIC", "FOLLOWERS"]);
}

async fn a_visibility_stays_the_same_in_the_archive(kind: Kind) {
    let database = Database::new(kind).await;
    let world = World::with_archive(&database, &["--post-hot-limit", "2"]).await;
    let person = world.register("ada").await;
    let author = user_of(&world, &person).await;
    let mut limited = Vec::new();
    for number in 0..8 {
        if number % 2 == 0 {
            limited.push(publish_limited(&world, &person).await);
        } else {
            publish(&world, &person, json!({ "content": "x" })).await;
        }
    }
    assert_eq!(counts(&world, author).await, [8, 4]);
    deliver_all(&world.app).await;
    archive_all(&world.app).await;
    assert_eq!(visibilities(&world, &person).await, ["PUBLIC", "FOLLOWERS"].repeat(4));
    assert_eq!(counts(&world, author).await, [8, 4]);
    // One is hot, one is cold, and one is deleted again after all of its traces but the row have expired.
    for (index, left) in [(3, 7), (0, 6)] {
        delete(&world, &person, &limited[index]).await;
        assert_eq!(counts(&world, author).await, [left, 4]);
        archive_all(&world.app).await;
        assert_eq!(counts(&world, author).await, [left, 4]);
    }
    world.redis.raw::<u64>(&["DEL", "ff:{p1}:post", "ff:{u1}:void"]);
    delete(&world, &person, &limited[0]).await;
    assert_eq!(counts(&world, author).await, [6, 4]);
    assert_eq!(world.app.check_users(1, false).await.unwrap().faults(), 0);
}

#[tokio::test]
async fn a_post_with_an_unknown_visibility_is_not_shown() {
    let database = Database::new(Kind::Sqlite).await;
    let world = World::with_archive(&database, &["--post-hot-limit", "1"]).await;
    let person = world.register("ada").await;
    let query = "query ($id: ID!) { post(id: $id) { content } }";
    let hot = publish_limited(&world, &person).await;
    world.redis.raw::<u64>(&["HSET", "ff:{p1}:post", "visibility", "friends"]);
    assert_eq!(world.data(Some(&person.token), query, json!({ "id": hot })).await["post"], Value::Null);
    world.redis.raw::<u64>(&["HSET", "ff:{p1}:post", "visibility", "followers"]);
    publish(&world, &person, json!({ "content": "x" })).await;
    archive_all(&world.app).await;
    database.execute("UPDATE posts SET visibility = 'friends'").await;
    let response = world.ask(Some(&person.token), query, json!({ "id": hot })).await;
    assert_eq!(response["data"]["post"], Value::Null);
}

#[tokio::test]
async fn a_check_finds_and_repairs_wrong_counts_of_posts_for_followers() {
    let database = Database::new(Kind::Sqlite).await;
    let world = World::with_archive(&database, &["--post-hot-limit", "4"]).await;
    let person = world.register("ada").await;
    let author = user_of(&world, &person).await;
    for number in 0..10 {
        if number % 2 == 0 {
            publish_limited(&world, &person).await;
        } else {
            publish(&world, &person, json!({ "content": "x" })).await;
        }
    }
    archive_all(&world.app).await;
    let (set, cold) = ("ff:{u1}:limited", "ff:{u1}:cold");
    let found = async |repair| {
        let findings = world.app.check_users(1, repair).await.unwrap();
        (findings[Finding::WrongVisibilities], findings[Finding::Miscounted])
    };
    assert_eq!((found(false).await, counts(&world, author).await), ((0, 0), [10, 5]));
    for (wrong, expected) in [
        (&["DEL", set][..], (1, 0)),
        (&["ZREM", set, "9"], (1, 0)),
        (&["ZADD", set, "7", "9"], (1, 0)),
        (&["ZADD", set, "7", "10"], (1, 0)),
        (&["ZADD", set, "7", "3"], (1, 0)),
        (&["HSET", cold, "limited", "7"], (0, 1)),
        (&["HSET", cold, "limited", "many"], (0, 1)),
        (&["HDEL", cold, "limited"], (0, 1)),
    ] {
        world.redis.raw::<redis::Value>(wrong);
        assert_eq!((found(false).await, found(true).await, found(false).await), (expected, expected, (0, 0)));
        assert_eq!(counts(&world, author).await, [10, 5], "{wrong:?}");
    }
    // Times that an earlier version did not write are written without losing the set.
    world.redis.raw::<u64>(&["DEL", "ff:{u1}:posts:times"]);
    assert_eq!(counts(&world, author).await, [10, 5]);
    assert_eq!(found(false).await, (0, 0));
}

#[tokio::test]
async fn a_public_page_costs_the_same_however_many_archived_posts_are_for_followers_only() {
    let database = Database::new(Kind::Sqlite).await;
    let world = World::with_archive(&database, &["--post-hot-limit", "2"]).await;
    let (author, stranger) = (world.register("ada").await, world.register("ben").await);
    let query = "{ user(by: { username: \"ada\" }) { posts(first: 1) { totalCount nodes { content }
        pageInfo { hasNextPage hasPreviousPage } } } }";
    publish(&world, &author, json!({ "content": "public" })).await;
    let mut costs = Vec::new();
    for _ in 0..4 {
        for _ in 0..15 {
            publish_limited(&world, &author).await;
        }
        archive_all(&world.app).await;
        let data = world.data(Some(&stranger.token), query, Value::Null).await;
        let page = json!({ "totalCount": 1, "nodes": [{ "content": "public" }],
            "pageInfo": { "hasNextPage": false, "hasPreviousPage": false } });
        assert_eq!(data["user"]["posts"], page);
        costs.push(cost(&world, &stranger, query).await);
    }
    assert!(costs.windows(2).all(|costs| costs[0] == costs[1]), "{costs:?}");
}
