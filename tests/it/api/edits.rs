//! Edits of posts through the API.

use std::collections::HashSet;
use std::time::Duration;

use fanfold::model::edit::{Edit, Edited};
use fanfold::model::id::{PostId, UserId};
use fanfold::model::post::Content;
use fanfold::store;
use futures::future::join_all;
use serde_json::{Value, json};

use crate::harness::cost::cost;
use crate::harness::post::{delete, publish};
use crate::harness::sql::{Database, Kind, on_every_kind};
use crate::harness::world::{Person, World, archive_all, deliver_all};

on_every_kind! {
    an_archived_post_is_edited_like_a_hot_one;
}

const EDIT: &str = "mutation ($input: EditPostInput!) { editPost(input: $input) {
    post { id content createdAt editedAt edits { content writtenAt } } userErrors { code message field } } }";

async fn edit(world: &World, person: &Person, input: Value) -> Value {
    world.data(Some(&person.token), EDIT, json!({ "input": input })).await["editPost"].take()
}

/// Edits a post after a second, and returns the texts of its versions, the current one first.
async fn edit_to(
    world: &World,
    person: &Person,
    post: &str,
    content: &str,
    key: Option<&str>,
) -> Vec<String> {
    world.clock.advance(Duration::from_secs(1));
    let input = json!({ "postId": post, "content": content, "idempotencyKey": key });
    let edited = edit(world, person, input).await;
    assert_eq!(edited["userErrors"], json!([]), "{content}");
    texts(&edited["post"])
}

/// Returns the texts of the versions of a post, the current one first.
fn texts(post: &Value) -> Vec<String> {
    let earlier = post["edits"].as_array().unwrap().iter().map(|edit| &edit["content"]);
    [&post["content"]].into_iter().chain(earlier).map(|text| text.as_str().unwrap().to_owned()).collect()
}

/// Returns the code and field of the error of an edit, which has no post.
async fn error(world: &World, person: &Person, input: Value) -> (String, Value) {
    let mut edited = edit(world, person, input).await;
    assert_eq!(edited["post"], Value::Null);
    let error = edited["userErrors"][0].take();
    (error["code"].as_str().unwrap().to_owned(), error["field"].clone())
}

async fn read(world: &World, person: Option<&Person>, post: &str) -> Value {
    let query = "query ($id: ID!) { post(id: $id) { content editedAt edits { content writtenAt } } }";
    let token = person.map(|person| person.token.as_str());
    world.data(token, query, json!({ "id": post })).await["post"].take()
}

#[tokio::test]
async fn an_edited_post_has_its_new_text_everywhere_and_its_earlier_versions() {
    let world = World::new().await;
    let people = world.people(2).await;
    world.follow(&people[1], &people[0]).await;
    let post = publish(&world, &people[0], "first").await;
    deliver_all(&world.app).await;
    let query = "{ viewer { timeline { nodes { content editedAt edits { content } } } } }";
    let timeline = async || world.data(Some(&people[1].token), query, Value::Null).await;
    let node = |content: &str, edited_at: Value, edits: Value| json!({ "viewer": { "timeline": { "nodes": [{ "content": content, "editedAt": edited_at, "edits": edits }] } } });
    assert_eq!(timeline().await, node("first", Value::Null, json!([])));

    world.clock.advance(Duration::from_secs(1));
    let edited = edit(&world, &people[0], json!({ "postId": post, "content": " second\nline " })).await;
    let created_at = edited["post"]["createdAt"].clone();
    assert_eq!(
        edited,
        json!({
            "post": {
                "id": post, "content": "second\nline", "createdAt": created_at,
                "editedAt": "2026-01-01T00:00:01.000Z",
                "edits": [{ "content": "first", "writtenAt": created_at }],
            },
            "userErrors": [],
        })
    );
    let expected = node("second\nline", json!("2026-01-01T00:00:01.000Z"), json!([{ "content": "first" }]));
    assert_eq!(timeline().await, expected);
    assert_eq!(edit_to(&world, &people[0], &post, "third", None).await, ["third", "second\nline", "first"]);
    let shown = read(&world, None, &post).await;
    assert_eq!(shown["editedAt"], "2026-01-01T00:00:02.000Z");
    assert_eq!(shown["edits"][0]["writtenAt"], "2026-01-01T00:00:01.000Z");
    // The same text again makes no version.
    assert_eq!(edit_to(&world, &people[0], &post, "third ", None).await.len(), 3);
    assert_eq!(read(&world, None, &post).await, shown);
}

#[tokio::test]
async fn what_cannot_be_edited_is_an_error_that_names_the_field() {
    let world = World::new().await;
    let [ada, bob, eve] =
        [world.register("ada").await, world.register("bob").await, world.register("eve").await];
    let post = publish(&world, &ada, "mine").await;
    let limited = "mutation { publish(input: { content: \"mine\", visibility: FOLLOWERS }) { post { id } } }";
    let limited = world.data(Some(&ada.token), limited, Value::Null).await["publish"]["post"]["id"].take();
    let deleted = publish(&world, &ada, "deleted").await;
    delete(&world, &ada, &deleted).await;
    let block = "mutation ($id: ID!) { block(input: { userId: $id }) { userErrors { code } } }";
    world.data(Some(&ada.token), block, json!({ "id": eve.id })).await;
    let post_field = || json!(["input", "postId"]);
    for (person, id, expected) in [
        (&bob, json!(post), "NOT_YOURS"),
        // Posts that the viewer may not see are like those that do not exist.
        (&bob, limited, "NOT_FOUND"),
        (&eve, json!(post), "NOT_FOUND"),
        (&ada, json!(deleted), "NOT_FOUND"),
        (&bob, json!(deleted), "NOT_FOUND"),
        (&ada, json!("UG9zdDo5OQ"), "NOT_FOUND"),
    ] {
        let found = error(&world, person, json!({ "postId": id, "content": "x" })).await;
        assert_eq!(found, (expected.to_owned(), post_field()), "{id}");
    }
    for (content, expected) in [(" \n ".to_owned(), "TOO_SHORT"), ("x".repeat(2_001), "TOO_LONG")] {
        let found = error(&world, &ada, json!({ "postId": post, "content": content })).await;
        assert_eq!(found, (expected.to_owned(), json!(["input", "content"])));
    }
    let input = json!({ "postId": post, "content": "x", "idempotencyKey": "" });
    assert_eq!(
        error(&world, &ada, input).await,
        ("TOO_SHORT".to_owned(), json!(["input", "idempotencyKey"]))
    );
    let shown = read(&world, None, &post).await;
    assert_eq!(shown, json!({ "content": "mine", "editedAt": null, "edits": [] }));
}

#[tokio::test]
async fn earlier_versions_are_hidden_with_their_post() {
    let world = World::new().await;
    let people = world.people(2).await;
    let post = publish(&world, &people[0], "first").await;
    edit_to(&world, &people[0], &post, "second", None).await;
    let private = "mutation { updateProfile(input: { isPrivate: true }) { userErrors { code } } }";
    world.data(Some(&people[0].token), private, Value::Null).await;
    assert_eq!(read(&world, Some(&people[1]), &post).await, Value::Null);
    assert_eq!(read(&world, None, &post).await, Value::Null);
    assert_eq!(texts(&read(&world, Some(&people[0]), &post).await), ["second", "first"]);
    delete(&world, &people[0], &post).await;
    assert_eq!(read(&world, Some(&people[0]), &post).await, Value::Null);
    assert_eq!(world.redis.raw::<Vec<String>>(&["KEYS", "ff:{p*}:edits"]), [""; 0]);
}

#[tokio::test]
async fn the_first_and_the_newest_versions_are_kept() {
    let world = World::new().await;
    let people = world.people(1).await;
    let post = publish(&world, &people[0], "0").await;
    for number in 1..=30 {
        let found = edit_to(&world, &people[0], &post, &number.to_string(), None).await;
        let newest = (0..=number).rev().take(20);
        let expected = newest.chain((number >= 20).then_some(0)).map(|number: u32| number.to_string());
        assert_eq!(found, expected.collect::<Vec<_>>());
    }
    assert_eq!(world.redis.raw::<u64>(&["LLEN", "ff:{p1}:edits"]), 20);
}

#[tokio::test]
async fn an_edit_changes_only_the_text() {
    let world = World::new().await;
    let [ada, bob] = [world.register("ada").await, world.register("bob").await];
    let parent = publish(&world, &ada, "parent").await;
    let query = "mutation ($id: ID!) { publish(input: { content: \"x\", platform: \"web\", inReplyTo: $id, quoteOf: $id }) {
        post { id } } }";
    let child =
        world.data(Some(&bob.token), query, json!({ "id": parent })).await["publish"]["post"]["id"].take();
    let child = child.as_str().unwrap();
    let reply = "mutation ($id: ID!) { publish(input: { content: \"x\", inReplyTo: $id }) { post { id } } }";
    world.data(Some(&ada.token), reply, json!({ "id": child })).await;
    let query = "query ($id: ID!) { post(id: $id) { platform createdAt visibility isReply inReplyTo { id } quoteOf { id }
        replyCount replies { nodes { id } } } }";
    let before = world.data(None, query, json!({ "id": child })).await;
    assert_eq!(edit_to(&world, &bob, child, "y", None).await, ["y", "x"]);
    assert_eq!(edit_to(&world, &ada, &parent, "edited parent", None).await, ["edited parent", "parent"]);
    assert_eq!(world.data(None, query, json!({ "id": child })).await, before);
    let lists = "query ($id: ID!) { post(id: $id) { replyCount quoteCount replies { nodes { content } } quotes { nodes { content } } } }";
    let expected = json!({ "post": { "replyCount": 1, "quoteCount": 1,
        "replies": { "nodes": [{ "content": "y" }] }, "quotes": { "nodes": [{ "content": "y" }] } } });
    assert_eq!(world.data(None, lists, json!({ "id": parent })).await, expected);
}

#[tokio::test]
async fn a_key_names_one_edit_or_one_post() {
    let world = World::new().await;
    let people = world.people(2).await;
    let [post, other] =
        [publish(&world, &people[0], "first").await, publish(&world, &people[0], "other").await];
    let keyed = async |content: &str| edit_to(&world, &people[0], &post, content, Some("key")).await;
    assert_eq!(keyed("second").await, ["second", "first"]);
    assert_eq!(keyed("second").await, ["second", "first"]);
    // Sent again after another edit, it does not undo that.
    assert_eq!(edit_to(&world, &people[0], &post, "third", None).await, ["third", "second", "first"]);
    assert_eq!(keyed("second").await, ["third", "second", "first"]);
    // An edit that changed nothing still changes nothing.
    let same = async || edit_to(&world, &people[0], &post, "third", Some("same")).await;
    assert_eq!(same().await.len(), 3);
    assert_eq!(edit_to(&world, &people[0], &post, "fourth", None).await.len(), 4);
    assert_eq!(same().await, ["fourth", "third", "second", "first"]);

    let mismatch = ("IDEMPOTENCY_MISMATCH".to_owned(), json!(["input", "idempotencyKey"]));
    for input in [
        json!({ "postId": post, "content": "fifth", "idempotencyKey": "key" }),
        json!({ "postId": other, "content": "second", "idempotencyKey": "key" }),
    ] {
        assert_eq!(error(&world, &people[0], input).await, mismatch);
    }
    let published = async |content: &str, key: &str| {
        let query = "mutation ($input: PublishInput!) { publish(input: $input) { post { id } userErrors { code field } } }";
        let input = json!({ "content": content, "idempotencyKey": key });
        world.data(Some(&people[0].token), query, json!({ "input": input })).await["publish"].take()
    };
    let of_edit = published("second", "key").await;
    assert_eq!(of_edit["userErrors"], json!([{ "code": mismatch.0, "field": mismatch.1 }]));
    let own = published("x", "publish").await["post"]["id"].take();
    let input = json!({ "postId": own, "content": "x", "idempotencyKey": "publish" });
    assert_eq!(error(&world, &people[0], input).await, mismatch);
    // The keys of other users are others.
    let theirs = publish(&world, &people[1], "theirs").await;
    assert_eq!(edit_to(&world, &people[1], &theirs, "edited", Some("key")).await, ["edited", "theirs"]);
    // A key that is forgotten may be used again.
    for key in world.redis.raw::<Vec<String>>(&["KEYS", "ff:{u1}:idem:*"]) {
        assert!((86_000..=86_400).contains(&world.redis.raw::<u64>(&["TTL", &key])), "{key}");
        world.redis.raw::<u64>(&["DEL", &key]);
    }
    assert_eq!(keyed("fifth").await[0], "fifth");
}

#[tokio::test]
async fn a_repeated_edit_stays_made_when_its_version_is_not_kept_any_more() {
    let world = World::new().await;
    let people = world.people(1).await;
    let post = publish(&world, &people[0], "0").await;
    edit_to(&world, &people[0], &post, "1", None).await;
    edit_to(&world, &people[0], &post, "keyed", Some("key")).await;
    for number in 2..=25 {
        edit_to(&world, &people[0], &post, &number.to_string(), None).await;
    }
    let found = edit_to(&world, &people[0], &post, "keyed", Some("key")).await;
    assert_eq!((found[0].as_str(), found.contains(&"keyed".to_owned())), ("25", false));
}

#[tokio::test(flavor = "multi_thread")]
async fn edits_at_the_same_time_are_made_one_after_the_other() {
    let world = World::new().await;
    let people = world.people(1).await;
    let post = publish(&world, &people[0], "0").await;
    let edits = (1..=6).map(|number| {
        let key = format!("key {}", number % 2);
        let content = if number > 3 { format!("keyed {}", number % 2) } else { number.to_string() };
        let input =
            json!({ "postId": post, "content": content, "idempotencyKey": (number > 3).then_some(key) });
        edit(&world, &people[0], input)
    });
    for edited in join_all(edits).await {
        assert_eq!(edited["userErrors"], json!([]));
    }
    let shown = read(&world, None, &post).await;
    let found: HashSet<String> = texts(&shown).into_iter().collect();
    let expected = ["0", "1", "2", "3", "keyed 0", "keyed 1"].map(str::to_owned);
    assert_eq!((found, texts(&shown).len()), (expected.into(), 6));
}

#[tokio::test]
async fn edits_take_from_the_limit_of_posts() {
    let world = World::with(&["--post-publishes-per-author", "4"]).await;
    let people = world.people(1).await;
    let post = publish(&world, &people[0], "0").await;
    edit_to(&world, &people[0], &post, "1", None).await;
    for _ in 0..9 {
        edit_to(&world, &people[0], &post, "2", Some("key")).await;
    }
    edit_to(&world, &people[0], &post, "3", None).await;
    for key in [None, Some("another")] {
        let input = json!({ "postId": post, "content": "4", "idempotencyKey": key });
        let edited = edit(&world, &people[0], input).await;
        assert_eq!(edited["userErrors"][0]["code"], "THROTTLED");
        let message = edited["userErrors"][0]["message"].as_str().unwrap();
        assert!(
            message.starts_with("You have published or edited too many posts. Try again in"),
            "{message}"
        );
    }
    assert_eq!(texts(&read(&world, None, &post).await)[0], "3");
    let publish = "mutation { publish(input: { content: \"x\" }) { userErrors { code } } }";
    let published = world.data(Some(&people[0].token), publish, Value::Null).await;
    assert_eq!(published["publish"]["userErrors"], json!([{ "code": "THROTTLED" }]));
    world.clock.advance(Duration::from_mins(15));
    assert_eq!(edit_to(&world, &people[0], &post, "4", Some("another")).await[0], "4");
}

#[tokio::test]
async fn a_command_that_is_sent_twice_edits_once() {
    let world = World::new().await;
    let people = world.people(1).await;
    publish(&world, &people[0], "first").await;
    let edit =
        Edit { post: PostId::new(1).unwrap(), replaced: 0, content: Content::parse("second").unwrap() };
    let store = world.app.store();
    for (author, expected) in
        [(2, Some(Edited::Deleted)), (1, Some(Edited::Done)), (1, Some(Edited::Conflict))]
    {
        let author = UserId::new(author).unwrap();
        let edited =
            store::edit::edit(store.keys(), author, &edit, world.app.now()).send("test", store).await;
        assert_eq!(edited.unwrap(), expected);
    }
    assert_eq!(world.redis.raw::<u64>(&["LLEN", "ff:{p1}:edits"]), 1);
}

#[tokio::test]
async fn earlier_versions_cost_one_round_trip_and_only_where_there_are_some() {
    let world = World::new().await;
    let people = world.people(1).await;
    let mut ids = Vec::new();
    for number in 0..9 {
        ids.push(publish(&world, &people[0], &number.to_string()).await);
    }
    let page = |fields: &str| {
        format!("{{ user(by: {{ username: \"ann0\" }}) {{ posts {{ nodes {{ content {fields} }} }} }} }}")
    };
    let plain = cost(&world, &people[0], &page("")).await;
    assert_eq!(cost(&world, &people[0], &page("editedAt edits { content writtenAt }")).await, plain);
    for id in &ids[..4] {
        edit_to(&world, &people[0], id, "edited", None).await;
    }
    assert_eq!(cost(&world, &people[0], &page("editedAt")).await, plain);
    let (trips, mut commands) = plain;
    for command in ["lrange", "hexists"] {
        *commands.entry(command.to_owned()).or_default() += 4;
    }
    assert_eq!(cost(&world, &people[0], &page("edits { content }")).await, (trips + 1, commands));
}

async fn an_archived_post_is_edited_like_a_hot_one(kind: Kind) {
    let database = Database::new(kind).await;
    let world = World::with_archive(&database, &["--post-hot-limit", "1"]).await;
    let people = world.people(2).await;
    let post = publish(&world, &people[0], "0").await;
    edit_to(&world, &people[0], &post, "1", Some("hot")).await;
    publish(&world, &people[0], "another").await;
    archive_all(&world.app).await;
    assert_eq!(world.redis.raw::<Vec<String>>(&["KEYS", "ff:{p1}:edits"]), [""; 0]);
    assert_eq!(texts(&read(&world, None, &post).await), ["1", "0"]);
    assert_eq!(edit_to(&world, &people[0], &post, "2", None).await, ["2", "1", "0"]);
    // Repeated, neither the edit before the post was archived nor one after it is made again.
    assert_eq!(edit_to(&world, &people[0], &post, "1", Some("hot")).await, ["2", "1", "0"]);
    for _ in 0..2 {
        assert_eq!(edit_to(&world, &people[0], &post, "3", Some("cold")).await, ["3", "2", "1", "0"]);
    }
    let input = json!({ "postId": post, "content": "4", "idempotencyKey": "cold" });
    assert_eq!(error(&world, &people[0], input).await.0, "IDEMPOTENCY_MISMATCH");
    assert_eq!(edit_to(&world, &people[0], &post, "3", None).await.len(), 4);
    for number in 4..=25 {
        edit_to(&world, &people[0], &post, &number.to_string(), None).await;
    }
    let found = texts(&read(&world, None, &post).await);
    let expected = (6..=25).rev().chain([0]).map(|number| number.to_string());
    assert_eq!(found, expected.collect::<Vec<_>>());
    let foreign = error(&world, &people[1], json!({ "postId": post, "content": "x" })).await;
    assert_eq!(foreign.0, "NOT_YOURS");
    delete(&world, &people[0], &post).await;
    let deleted = error(&world, &people[0], json!({ "postId": post, "content": "x" })).await;
    assert_eq!(deleted.0, "NOT_FOUND");
    archive_all(&world.app).await;
    assert_eq!(database.number("SELECT COUNT(*) FROM edits").await, 0);
}
