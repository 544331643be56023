//! Posts through the API: published, listed, looked up, deleted.

use std::collections::HashSet;
use std::time::Duration;

use fanfold::app::post::PublishRequest;
use fanfold::model::clock::Timestamp;
use fanfold::model::details::References;
use fanfold::model::id::PostId;
use fanfold::model::post::Delivery;
use fanfold::model::post::Visibility;
use fanfold::store;
use fanfold::store::draft::{Draft, Note};
use fanfold::store::post::{DeletedPost, Once, Settled, Sizes};
use futures::future::join_all;
use serde_json::{Value, json};

use crate::harness::world::{ManualClock, Person, World, codes, deliver_all};

const PUBLISH: &str = "mutation ($input: PublishInput!) { publish(input: $input) {
    post { id content platform createdAt author { username isViewer } delivery { mode deliveredCount totalCount } }
    userErrors { code message field } } }";

async fn publish(world: &World, user: &Person, input: Value) -> Value {
    world.data(Some(&user.token), PUBLISH, json!({ "input": input })).await["publish"].take()
}

/// Publishes and returns the id.
async fn post(world: &World, user: &Person, content: &str) -> String {
    let published = publish(world, user, json!({ "content": content })).await;
    published["post"]["id"].as_str().expect("is published").to_owned()
}

async fn delete(world: &World, user: &Person, id: &str) -> Value {
    let query = "mutation ($id: ID!) { deletePost(input: { postId: $id }) {
        deletedPostId userErrors { code message field } } }";
    world.data(Some(&user.token), query, json!({ "id": id })).await["deletePost"].take()
}

#[tokio::test]
async fn a_post_is_visible_to_all_readers_at_once() {
    let world = World::new().await;
    let people = world.people(2).await;
    let input = json!({ "content": " Hello,\nworld ", "platform": "web" });
    let published = publish(&world, &people[0], input).await;
    let expected = json!({
        "post": {
            "id": "UG9zdDox",
            "content": "Hello,\nworld",
            "platform": "web",
            "createdAt": "2026-01-01T00:00:00.000Z",
            "author": { "username": "ann0", "isViewer": true },
            "delivery": { "mode": "PUSHED", "deliveredCount": 0, "totalCount": 0 },
        },
        "userErrors": [],
    });
    assert_eq!(published, expected);
    let query = "{
        post(id: \"UG9zdDox\") { content author { username relation { status } } }
        node(id: \"UG9zdDox\") { id ... on Post { content } }
        nodes(ids: [\"VXNlcjox\", \"UG9zdDox\", \"UG9zdDoy\", \"VXNlcjo5\"]) { __typename id ... on Post { author { id } } }
        user(by: { username: \"ann0\" }) { posts { totalCount nodes { id author { username } delivery { mode } } } }
    }";
    let expected = json!({
        "post": { "content": "Hello,\nworld", "author": { "username": "ann0", "relation": { "status": "NONE" } } },
        "node": { "id": "UG9zdDox", "content": "Hello,\nworld" },
        "nodes": [
            { "__typename": "User", "id": "VXNlcjox" },
            { "__typename": "Post", "id": "UG9zdDox", "author": { "id": "VXNlcjox" } },
            null,
            null,
        ],
        "user": { "posts": {
            "totalCount": 1,
            "nodes": [{ "id": "UG9zdDox", "author": { "username": "ann0" }, "delivery": null }],
        } },
    });
    assert_eq!(world.data(Some(&people[1].token), query, Value::Null).await, expected);
}

#[tokio::test]
async fn an_invalid_post_is_rejected_with_all_its_faults_and_nothing_is_written() {
    let world = World::new().await;
    let people = world.people(1).await;
    let size = || world.redis.raw::<u64>(&["DBSIZE"]);
    // Authentication counts a visit.
    world.app.authenticate(&people[0].token).await.unwrap();
    let before = size();
    let input = json!({ "content": " \n ", "platform": "a\nb", "idempotencyKey": "" });
    let errors = publish(&world, &people[0], input).await["userErrors"].take();
    let expected = json!([
        { "code": "TOO_SHORT", "message": "The content of a post has at least 1 visible character.", "field": ["input", "content"] },
        { "code": "INVALID", "message": "A platform must not contain U+000A (line break).", "field": ["input", "platform"] },
        { "code": "TOO_SHORT", "message": "An idempotency key has at least 1 visible character.", "field": ["input", "idempotencyKey"] },
    ]);
    assert_eq!(errors, expected);
    let long = publish(&world, &people[0], json!({ "content": "x".repeat(2_001) })).await;
    assert_eq!(long["userErrors"][0]["code"], "TOO_LONG");
    let anonymous = world.ask(None, PUBLISH, json!({ "input": { "content": "x" } })).await;
    assert_eq!(codes(&anonymous), ["UNAUTHENTICATED"]);
    for (id, code) in
        [("UG9zdDox", "UNAUTHENTICATED"), ("VXNlcjox", "BAD_USER_INPUT"), ("x", "BAD_USER_INPUT")]
    {
        let query = "mutation ($id: ID!) { deletePost(input: { postId: $id }) { deletedPostId } }";
        let anonymous = world.ask(None, query, json!({ "id": id })).await;
        assert_eq!(codes(&anonymous), [code], "{id}");
    }
    let query = "mutation { deletePost(input: { postId: \"VXNlcjox\" }) { deletedPostId } }";
    let wrong = world.ask(Some(&people[0].token), query, Value::Null).await;
    assert_eq!(codes(&wrong), ["BAD_USER_INPUT"]);
    assert_eq!(wrong["errors"][0]["message"], "`input.postId` must be the id of a Post, not of a User.");
    assert_eq!(size(), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_key_sent_fifty_times_at_once_publishes_one_post() {
    let world = World::new().await;
    let people = world.people(1).await;
    let input = json!({ "content": "once", "platform": "web", "idempotencyKey": "key" });
    let published = join_all((0..50).map(|_| publish(&world, &people[0], input.clone()))).await;
    let responses: HashSet<String> = published.iter().map(Value::to_string).collect();
    assert_eq!(responses.len(), 1, "{responses:?}");
    assert_eq!(published[0]["post"]["content"], "once");
    let query = "{ viewer { user { posts { totalCount } } timeline { nodes { content } } } }";
    let data = world.data(Some(&people[0].token), query, Value::Null).await;
    assert_eq!(data["viewer"]["user"]["posts"]["totalCount"], 1);
    assert_eq!(data["viewer"]["timeline"]["nodes"], json!([{ "content": "once" }]));
    let left: u64 = world.redis.raw(&["ZCARD", "ff:{g}:publishing"]);
    assert_eq!(left, 0);
    // Later, too; but not with another text, and keys are scoped to their user.
    assert_eq!(publish(&world, &people[0], input.clone()).await, published[0]);
    let other = json!({ "content": "twice", "platform": "web", "idempotencyKey": "key" });
    let rejected = publish(&world, &people[0], other).await;
    assert_eq!(rejected["userErrors"][0]["code"], "IDEMPOTENCY_MISMATCH");
    assert_eq!(rejected["userErrors"][0]["field"], json!(["input", "idempotencyKey"]));
    let other = json!({ "content": "once", "idempotencyKey": "key" });
    assert_eq!(publish(&world, &people[0], other).await["userErrors"][0]["code"], "IDEMPOTENCY_MISMATCH");
    let other_user = world.register("ben").await;
    let theirs = publish(&world, &other_user, input).await;
    assert_ne!(theirs["post"]["id"], published[0]["post"]["id"]);
    let expiry: i64 = {
        let keys: Vec<String> = world.redis.raw(&["KEYS", "ff:{u1}:idem:*"]);
        assert_eq!(keys.len(), 1);
        world.redis.raw(&["TTL", &keys[0]])
    };
    assert!((86_000..=86_400).contains(&expiry), "{expiry}");
}

#[tokio::test]
async fn a_deleted_post_is_gone_everywhere_and_counts_are_right() {
    let world = World::new().await;
    let people = world.people(2).await;
    world.follow(&people[1], &people[0]).await;
    let query = "{ viewer { timeline { nodes { content } } } user(by: { username: \"ann0\" }) { posts { totalCount nodes { content } } } }";
    let seen = async || world.data(Some(&people[1].token), query, Value::Null).await;
    seen().await;
    let mut ids = Vec::new();
    for content in ["a", "b", "c"] {
        ids.push(post(&world, &people[0], content).await);
    }
    deliver_all(&world.app).await;
    let rejected = delete(&world, &people[1], &ids[1]).await;
    assert_eq!(rejected["userErrors"][0]["code"], "NOT_YOURS");
    assert_eq!(rejected["userErrors"][0]["field"], json!(["input", "postId"]));
    assert_eq!(delete(&world, &people[0], "UG9zdDo5OQ").await["userErrors"][0]["code"], "NOT_FOUND");
    for _ in 0..2 {
        // A repeat changes nothing.
        assert_eq!(
            delete(&world, &people[0], &ids[1]).await,
            json!({ "deletedPostId": ids[1], "userErrors": [] })
        );
    }
    assert_eq!(delete(&world, &people[1], &ids[1]).await["userErrors"][0]["code"], "NOT_FOUND");
    let expected = json!({
        "viewer": { "timeline": { "nodes": [{ "content": "c" }, { "content": "a" }] } },
        "user": { "posts": { "totalCount": 2, "nodes": [{ "content": "c" }, { "content": "a" }] } },
    });
    assert_eq!(seen().await, expected);
    let query =
        "query ($id: ID!) { post(id: $id) { content } node(id: $id) { id } nodes(ids: [$id]) { id } }";
    let gone = world.data(None, query, json!({ "id": ids[1] })).await;
    assert_eq!(gone, json!({ "post": null, "node": null, "nodes": [null] }));
    // Its content is erased; and in a while it is removed from timelines.
    assert_eq!(world.redis.raw::<Option<String>>(&["HGET", "ff:{p2}:post", "content"]), None);
    deliver_all(&world.app).await;
    let kept: Vec<String> = world.redis.raw(&["LRANGE", "ff:{u2}:timeline", "0", "-2"]);
    assert_eq!(kept, ["3", "1"]);
    assert_eq!(waiting(&world), [2]);
}

#[tokio::test]
async fn only_the_author_sees_the_progress_of_delivery() {
    let world = World::with(&["--timeline-push-limit", "2"]).await;
    let people = world.people(4).await;
    for follower in &people[1..3] {
        world.follow(follower, &people[0]).await;
    }
    let first = post(&world, &people[0], "pushed").await;
    let query = "query ($id: ID!) { post(id: $id) { delivery { mode deliveredCount totalCount } } }";
    let delivery = async |user: &Person, id: &str| {
        world.data(Some(&user.token), query, json!({ "id": id })).await["post"]["delivery"].take()
    };
    let shown =
        |mode, delivered, total| json!({ "mode": mode, "deliveredCount": delivered, "totalCount": total });
    assert_eq!(delivery(&people[0], &first).await, shown("PUSHED", 0, 2));
    assert_eq!(delivery(&people[1], &first).await, Value::Null);
    deliver_all(&world.app).await;
    assert_eq!(delivery(&people[0], &first).await, shown("PUSHED", 2, 2));
    world.follow(&people[3], &people[0]).await;
    let second = post(&world, &people[0], "pulled").await;
    assert_eq!(delivery(&people[0], &second).await, shown("PULLED", 0, 0));
    assert_eq!(delivery(&people[0], &first).await, shown("PUSHED", 2, 2));
}

#[tokio::test]
async fn the_posts_of_a_user_are_paged_both_ways() {
    let world = World::new().await;
    let people = world.people(1).await;
    for number in 0..7 {
        post(&world, &people[0], &number.to_string()).await;
    }
    let query = "query ($first: Int, $after: String, $last: Int, $before: String) { viewer { user {
        posts(first: $first, after: $after, last: $last, before: $before) {
            edges { cursor node { content } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } }
        } timeline(first: $first, after: $after, last: $last, before: $before) {
            edges { cursor node { content } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } } }";
    let lists = |query: &str| {
        let (posts, timeline) = query.split_once("timeline(").unwrap();
        [
            (format!("{posts} }} }}"), "/viewer/user/posts"),
            (
                format!(
                    "{} {{ timeline({timeline}",
                    posts.split_once("{ viewer").unwrap().0.to_owned() + "{ viewer"
                ),
                "/viewer/timeline",
            ),
        ]
    };
    for (query, pointer) in lists(query) {
        let page = async |variables: Value| {
            world.data(Some(&people[0].token), &query, variables).await.pointer(pointer).unwrap().clone()
        };
        let contents = |page: &Value| -> String {
            let edges = page["edges"].as_array().unwrap();
            edges.iter().map(|edge| edge["node"]["content"].as_str().unwrap()).collect()
        };
        let flags = |page: &Value| {
            let flag = |name: &str| page["pageInfo"][name].as_bool().unwrap();
            (flag("hasPreviousPage"), flag("hasNextPage"))
        };
        let first = page(json!({ "first": 3 })).await;
        assert_eq!((contents(&first).as_str(), flags(&first)), ("654", (false, true)));
        let second = page(json!({ "first": 3, "after": first["pageInfo"]["endCursor"] })).await;
        assert_eq!((contents(&second).as_str(), flags(&second)), ("321", (true, true)));
        let third = page(json!({ "first": 3, "after": second["pageInfo"]["endCursor"] })).await;
        assert_eq!((contents(&third).as_str(), flags(&third)), ("0", (true, false)));
        let back = page(json!({ "last": 2, "before": third["pageInfo"]["startCursor"] })).await;
        assert_eq!((contents(&back).as_str(), flags(&back)), ("21", (true, true)));
        let last = page(json!({ "last": 2 })).await;
        assert_eq!((contents(&last).as_str(), flags(&last)), ("10", (true, false)));
        let start = page(json!({ "last": 9, "before": first["pageInfo"]["endCursor"] })).await;
        assert_eq!((contents(&start).as_str(), flags(&start)), ("65", (false, true)));
        let none = page(json!({ "first": 0 })).await;
        assert_eq!((contents(&none).as_str(), flags(&none)), ("", (false, true)));
        assert_eq!(none["pageInfo"]["endCursor"], Value::Null);
    }
    // A cursor of one list is invalid in the other.
    let (posts, _) = &lists(query)[0];
    let cursor = world.data(Some(&people[0].token), posts, json!({ "first": 1 })).await;
    let cursor = cursor.pointer("/viewer/user/posts/pageInfo/endCursor").unwrap().clone();
    let query = "query ($after: String) { viewer { timeline(after: $after) { nodes { id } } } }";
    let response = world.ask(Some(&people[0].token), query, json!({ "after": cursor })).await;
    assert_eq!(response["errors"][0]["message"], "`after` is a cursor of another list.");
}

#[tokio::test]
async fn a_counter_that_falls_back_harms_no_post() {
    let world = World::new().await;
    let people = world.people(1).await;
    for content in ["a", "b", "c"] {
        post(&world, &people[0], content).await;
    }
    // The process that has issued ids does not go below them.
    world.redis.raw::<String>(&["SET", "ff:{g}:next:post", "0"]);
    assert_eq!(post(&world, &people[0], "d").await, "UG9zdDo0");
    // Another one detects that they are taken.
    world.redis.raw::<String>(&["SET", "ff:{g}:next:post", "0"]);
    let other = crate::harness::world::app(&world.redis, &world.clock, &[]).await;
    let viewer = other.authenticate(&people[0].token).await.unwrap();
    let id =
        other.publish(&viewer, PublishRequest { content: "e", ..PublishRequest::default() }).await.unwrap();
    assert!(id.get() > 4);
    let query = "{ viewer { user { posts { nodes { content } } } } }";
    let data = world.data(Some(&people[0].token), query, Value::Null).await;
    let contents: Vec<&str> = data["viewer"]["user"]["posts"]["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| node["content"].as_str().unwrap())
        .collect();
    assert_eq!(contents, ["e", "d", "c", "b", "a"]);
    assert_eq!(world.redis.raw::<u64>(&["ZCARD", "ff:{g}:publishing"]), 0);
}

#[tokio::test]
async fn posts_beyond_the_hot_limit_wait_for_the_archive_and_stay_readable() {
    let world = World::with(&["--post-hot-limit", "3"]).await;
    let people = world.people(1).await;
    let mut ids = Vec::new();
    for number in 0..6 {
        ids.push(post(&world, &people[0], &number.to_string()).await);
    }
    assert_eq!(waiting(&world), [1, 2, 3]);
    let query = "query ($id: ID!) { post(id: $id) { content } viewer { user { posts { totalCount nodes { id } } } } }";
    let data = world.data(Some(&people[0].token), query, json!({ "id": ids[0] })).await;
    assert_eq!(data["post"]["content"], "0");
    assert_eq!(data["viewer"]["user"]["posts"]["totalCount"], 6);
}

#[tokio::test]
async fn a_full_timeline_costs_at_most_eleven_bytes_an_entry() {
    let world = World::with(&["--post-publishes-per-author", "10000"]).await;
    let people = world.people(2).await;
    // Ids as they are after four billion posts.
    world.redis.raw::<String>(&["SET", "ff:{g}:next:post", "4000000000"]);
    let viewer = world.app.authenticate(&people[0].token).await.unwrap();
    for number in 0..1_000 {
        world
            .app
            .publish(&viewer, PublishRequest { content: &number.to_string(), ..PublishRequest::default() })
            .await
            .unwrap();
    }
    world.follow(&people[1], &people[0]).await;
    world
        .data(Some(&people[1].token), "{ viewer { timeline(first: 1) { nodes { id } } } }", Value::Null)
        .await;
    let key = "ff:{u2}:timeline";
    assert_eq!(world.redis.raw::<u64>(&["LLEN", key]), 1_001);
    let bytes: u64 = world.redis.raw(&["MEMORY", "USAGE", key, "SAMPLES", "0"]);
    assert!(bytes <= 11_000, "{bytes} bytes");
    // A timeline that is delivered to is the same list as one that is filled.
    for number in 0..100 {
        world
            .app
            .publish(&viewer, PublishRequest { content: &number.to_string(), ..PublishRequest::default() })
            .await
            .unwrap();
        deliver_all(&world.app).await;
    }
    let length: u64 = world.redis.raw(&["LLEN", key]);
    assert!((1_001..=1_051).contains(&length), "{length}");
    let bytes: u64 = world.redis.raw(&["MEMORY", "USAGE", key, "SAMPLES", "0"]);
    assert!(bytes <= 11 * length, "{bytes} bytes");
}

#[tokio::test]
async fn a_step_that_is_repeated_after_the_post_was_deleted_does_not_bring_it_back() {
    let world = World::new().await;
    let people = world.people(1).await;
    let author = world.app.authenticate(&people[0].token).await.unwrap().user().unwrap();
    let (store, now) = (world.app.store(), Timestamp::from_millis(ManualClock::BEGINNING));
    let note = Note { author, created_at: now, began: now, nonce: 1 };
    let draft = Draft { id: PostId::new(1).unwrap(), note };
    let sizes = Sizes { timeline: 10, hot: 10 };
    let publish = async || {
        let kind = (Visibility::Followers, Delivery::Pulled);
        let publish = store::post::publish(store.keys(), &draft, kind, sizes, Once::Never);
        assert_eq!(publish.send("test", store).await.unwrap(), Settled::Visible(vec![]));
    };
    publish().await;
    let (visibility, references) = (Visibility::Followers, References::default());
    let deleted = DeletedPost { id: draft.id, author, visibility, references };
    let delete = store::post::delete(store.keys(), &deleted, now);
    delete.send("test", store).await.unwrap();
    // Its reply was lost, so it is sent again.
    publish().await;
    assert_eq!(world.redis.raw::<u64>(&["EXISTS", "ff:{u1}:posts", "ff:{u1}:recent", "ff:{u1}:limited"]), 0);
    // A note expires after a day.
    let revoked: Vec<String> = world.redis.raw(&["ZRANGE", "ff:{u1}:void", "0", "-1"]);
    assert_eq!(revoked, ["deleted:1"]);
    let later = now.plus(Duration::from_hours(25));
    let second = DeletedPost { id: PostId::new(2).unwrap(), ..deleted };
    store::post::delete(store.keys(), &second, later).send("test", store).await.unwrap();
    let revoked: Vec<String> = world.redis.raw(&["ZRANGE", "ff:{u1}:void", "0", "-1"]);
    assert_eq!(revoked, ["deleted:2"]);
}

#[tokio::test]
async fn a_post_published_below_archived_posts_takes_another_id() {
    let world = World::new().await;
    let people = world.people(1).await;
    world.redis.raw::<i64>(&["HSET", "ff:{u1}:cold", "greatest", "1"]);
    assert_eq!(post(&world, &people[0], "x").await, "UG9zdDoy");
    world.clock.advance(Duration::from_mins(2));
    world.app.repair().await.unwrap();
    let query = "{ nodes(ids: [\"UG9zdDox\", \"UG9zdDoy\"]) { id } viewer { timeline { nodes { id } } } }";
    let data = world.data(Some(&people[0].token), query, Value::Null).await;
    let expected = json!({
        "nodes": [null, { "id": "UG9zdDoy" }],
        "viewer": { "timeline": { "nodes": [{ "id": "UG9zdDoy" }] } },
    });
    assert_eq!(data, expected);
    assert_eq!(world.redis.raw::<u64>(&["ZCARD", "ff:{g}:publishing"]), 0);
}

/// Returns the posts that wait to be archived.
fn waiting(world: &World) -> Vec<u64> {
    let entries: Vec<String> = world.redis.raw(&["LRANGE", "ff:{a}:pending", "0", "-1"]);
    entries.iter().map(|entry| entry.split(':').next().unwrap().parse().unwrap()).collect()
}

#[tokio::test]
async fn the_posts_of_an_author_are_limited_and_retries_do_not_count() {
    let world = World::with(&["--post-publishes-per-author", "5"]).await;
    let people = world.people(2).await;
    let keyed = json!({ "content": "once", "idempotencyKey": "key" });
    let first = publish(&world, &people[0], keyed.clone()).await;
    for _ in 0..20 {
        assert_eq!(publish(&world, &people[0], keyed.clone()).await, first);
    }
    for number in 0..4 {
        post(&world, &people[0], &number.to_string()).await;
    }
    let rejected = json!([{
        "code": "THROTTLED",
        "message": "You have published or edited too many posts. Try again in 12 minutes.",
        "field": null,
    }]);
    let another = json!({ "content": "another", "idempotencyKey": "another" });
    for input in [json!({ "content": "one more" }), another.clone()] {
        let response = publish(&world, &people[0], input).await;
        assert_eq!((&response["post"], &response["userErrors"]), (&Value::Null, &rejected));
    }
    // They leave nothing behind, and an existing post is found by its key all the same.
    assert_eq!(world.redis.raw::<u64>(&["EXISTS", "ff:{g}:publishing"]), 0);
    assert_eq!(world.redis.raw::<Vec<String>>(&["KEYS", "ff:{u1}:idem:*"]).len(), 1);
    assert_eq!(publish(&world, &people[0], keyed).await, first);
    let other = publish(&world, &people[0], json!({ "content": "x", "idempotencyKey": "key" })).await;
    assert_eq!(other["userErrors"][0]["code"], "IDEMPOTENCY_MISMATCH");
    // The bucket is the author's own, and fills again.
    post(&world, &people[1], "theirs").await;
    world.clock.advance(Duration::from_mins(12));
    let published = publish(&world, &people[0], another.clone()).await;
    assert_eq!(published["post"]["content"], "another");
    assert_eq!(publish(&world, &people[0], another).await, published);
    assert_eq!(publish(&world, &people[0], json!({ "content": "y" })).await["userErrors"], rejected);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_key_sent_fifty_times_at_once_takes_one_token() {
    let world = World::with(&["--post-publishes-per-author", "2"]).await;
    let people = world.people(1).await;
    let input = json!({ "content": "once", "idempotencyKey": "key" });
    let published = join_all((0..50).map(|_| publish(&world, &people[0], input.clone()))).await;
    assert!(published.iter().all(|response| *response == published[0]), "{published:?}");
    post(&world, &people[0], "another").await;
    assert_eq!(
        publish(&world, &people[0], json!({ "content": "a third" })).await["userErrors"][0]["code"],
        "THROTTLED"
    );
}

#[tokio::test]
async fn imported_posts_are_not_limited() {
    let world = World::with(&["--post-publishes-per-author", "1"]).await;
    world.people(1).await;
    let content = fanfold::model::post::Content::parse("imported").unwrap();
    let author = fanfold::model::id::UserId::new(1).unwrap();
    let created_at = Timestamp::from_millis(0);
    let post = fanfold::app::post::NewPost {
        references: References::default(),
        author,
        content,
        platform: None,
        visibility: Visibility::Public,
        created_at,
    };
    assert_eq!(world.app.import_posts(&vec![post; 50]).await.unwrap().len(), 50);
}
