//! Reposts: the posts that users show to their followers, and the timelines that show them.

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::cost::cost;
use crate::harness::post::{delete, post, try_publish};
use crate::harness::sql::{Database, Kind};
use crate::harness::world::{Person, World, archive_all, deliver_all};

const REPOST: &str = "mutation ($id: ID!) { change: repost(input: { postId: $id }) {
    post { id repostCount viewerHasReposted } userErrors { code field } } }";
const UNDO: &str = "mutation ($id: ID!) { change: undoRepost(input: { postId: $id }) {
    post { id repostCount viewerHasReposted } userErrors { code field } } }";

/// Sends a mutation, and returns the post's number of reposts and if it is reposted by this user; or else the error.
async fn change(world: &World, person: &Person, mutation: &str, id: &str) -> Value {
    world.clock.advance(Duration::from_millis(1));
    let payload = world.data(Some(&person.token), mutation, json!({ "id": id })).await["change"].take();
    match &payload["post"] {
        Value::Null => json!([payload["userErrors"][0]["code"], payload["userErrors"][0]["field"]]),
        post => json!([post["repostCount"], post["viewerHasReposted"]]),
    }
}

/// Returns the entries of a timeline: each post, with the users who have reposted it.
async fn timeline(world: &World, person: &Person, arguments: &str) -> Vec<(String, Vec<String>)> {
    deliver_all(&world.app).await;
    let query = format!(
        "{{ viewer {{ timeline{arguments} {{ edges {{ node {{ id }} repostedBy {{ username }} }} }} }} }}"
    );
    let data = world.data(Some(&person.token), &query, Value::Null).await;
    entries(&data["viewer"]["timeline"]["edges"])
}

fn entries(edges: &Value) -> Vec<(String, Vec<String>)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let entry = |edge: &Value| {
        let users = edge["repostedBy"].as_array().unwrap();
        (text(&edge["node"]["id"]), users.iter().map(|user| text(&user["username"])).collect())
    };
    edges.as_array().unwrap().iter().map(entry).collect()
}

fn entry(post: &str, users: &[&str]) -> (String, Vec<String>) {
    (post.to_owned(), users.iter().map(|user| (*user).to_owned()).collect())
}

/// A world in which Ada follows Bob and Cem, none of whom follows Eve.
async fn people(world: &World) -> [Person; 4] {
    let people = [
        world.register("ada").await,
        world.register("bob").await,
        world.register("cem").await,
        world.register("eve").await,
    ];
    for followed in &people[1..3] {
        world.follow(&people[0], followed).await;
    }
    people
}

#[tokio::test]
async fn a_repost_shows_a_post_to_the_followers_of_the_user_who_reposts_it() {
    let world = World::new().await;
    let [ada, bob, cem, eve] = people(&world).await;
    let original = try_publish(&world, &eve, json!({})).await.unwrap();
    let plain = try_publish(&world, &bob, json!({})).await.unwrap();
    assert_eq!(timeline(&world, &ada, "").await, [entry(&plain, &[])]);
    assert_eq!(change(&world, &bob, REPOST, &original).await, json!([1, true]));
    assert_eq!(change(&world, &bob, REPOST, &original).await, json!([1, true]), "repeated");
    assert_eq!(timeline(&world, &ada, "").await, [entry(&original, &["bob"]), entry(&plain, &[])]);
    // Another repost moves the post up, and both users are named.
    let newer = try_publish(&world, &bob, json!({})).await.unwrap();
    assert_eq!(change(&world, &cem, REPOST, &original).await, json!([2, true]));
    let both = entry(&original, &["cem", "bob"]);
    let all = [both, entry(&newer, &[]), entry(&plain, &[])];
    assert_eq!(timeline(&world, &ada, "").await, all);
    assert_eq!(timeline(&world, &ada, "(last: 9)").await, all);
    // Bob sees no repost of his own, and Eve none of her own post.
    assert_eq!(timeline(&world, &bob, "").await, [entry(&newer, &[]), entry(&plain, &[])]);
    world.follow(&eve, &bob).await;
    assert_eq!(timeline(&world, &eve, "").await.len(), 3);
    // Who follows the author sees the post in its own place.
    world.follow(&ada, &eve).await;
    assert_eq!(
        timeline(&world, &ada, "").await,
        [entry(&newer, &[]), entry(&plain, &[]), entry(&original, &[])]
    );
    let query = format!(
        "{{ post(id: \"{original}\") {{ repostCount viewerHasReposted repostedBy {{ nodes {{ username }} }} }} }}"
    );
    let expected = json!({
        "repostCount": 2, "viewerHasReposted": false,
        "repostedBy": { "nodes": [{ "username": "cem" }, { "username": "bob" }] },
    });
    assert_eq!(world.data(Some(&ada.token), &query, Value::Null).await["post"], expected);
    assert_eq!(world.data(None, &query, Value::Null).await["post"], expected);

    assert_eq!(change(&world, &cem, UNDO, &original).await, json!([1, false]));
    assert_eq!(change(&world, &cem, UNDO, &original).await, json!([1, false]), "repeated");
    assert_eq!(change(&world, &cem, REPOST, &original).await, json!([2, true]), "again");
    assert_eq!(world.redis.raw::<u64>(&["HLEN", "ff:{u3}:reposted"]), 1);
}

#[tokio::test]
async fn reposts_are_among_the_posts_of_the_user_who_reposts() {
    let world = World::new().await;
    let [ada, bob, _, eve] = people(&world).await;
    let original = try_publish(&world, &eve, json!({})).await.unwrap();
    let plain = try_publish(&world, &bob, json!({})).await.unwrap();
    change(&world, &bob, REPOST, &original).await;
    let query =
        "{ user(by: { username: \"bob\" }) { posts(first: 9) { totalCount nodes { id author { username } }
        edges { node { id author { username relation { status } } } repostedBy { username } } } } }";
    let posts = world.data(Some(&ada.token), query, Value::Null).await["user"]["posts"].take();
    assert_eq!(entries(&posts["edges"]), [entry(&original, &["bob"]), entry(&plain, &[])]);
    assert_eq!(posts["nodes"][0], json!({ "id": original, "author": { "username": "eve" } }));
    assert_eq!(posts["edges"][0]["node"]["author"]["relation"]["status"], "NONE");
    assert_eq!(posts["totalCount"], 2);
    // Nested below a list, all users' originals are read together.
    let nested = "{ user(by: { username: \"ada\" }) { following { nodes { posts { edges {
        node { id } repostedBy { username } } } } } } }";
    let users = world.data(Some(&ada.token), nested, Value::Null).await["user"]["following"]["nodes"].take();
    assert_eq!(entries(&users[1]["posts"]["edges"])[0], entry(&original, &["bob"]));

    delete(&world, &eve, &original).await;
    let posts = world.data(Some(&ada.token), query, Value::Null).await["user"]["posts"].take();
    assert_eq!(entries(&posts["edges"]), [entry(&plain, &[])]);
    deliver_all(&world.app).await;
    let posts = world.data(Some(&ada.token), query, Value::Null).await["user"]["posts"].take();
    assert_eq!(posts["totalCount"], 1);
    assert_eq!(world.redis.raw::<Vec<String>>(&["KEYS", "ff:*:repost*"]), Vec::<String>::new());
}

#[tokio::test]
async fn what_cannot_be_reposted_is_an_error_that_names_the_field() {
    let world = World::new().await;
    let [ada, bob, _, eve] = people(&world).await;
    let limited = try_publish(&world, &bob, json!({ "visibility": "FOLLOWERS" })).await.unwrap();
    let public = try_publish(&world, &bob, json!({})).await.unwrap();
    let gone = try_publish(&world, &bob, json!({})).await.unwrap();
    delete(&world, &bob, &gone).await;
    let error = |code: &str| json!([code, ["input", "postId"]]);
    for id in ["UG9zdDo3Nzc3", &gone] {
        assert_eq!(change(&world, &ada, REPOST, id).await, error("NOT_FOUND"));
    }
    assert_eq!(change(&world, &ada, REPOST, &limited).await, error("VISIBILITY"));
    assert_eq!(change(&world, &eve, REPOST, &limited).await, error("NOT_FOUND"));
    // A repost is no post to others: it is neither found nor referred to.
    change(&world, &ada, REPOST, &public).await;
    let newest: Vec<u64> = world.redis.raw(&["LRANGE", "ff:{u1}:posts", "0", "0"]);
    let repost = fanfold_id(newest[0]);
    assert_eq!(post(&world, &bob, &repost, "id").await, Value::Null);
    assert_eq!(change(&world, &bob, REPOST, &repost).await, error("NOT_FOUND"));
    let replied = try_publish(&world, &bob, json!({ "inReplyTo": repost })).await;
    assert_eq!(replied, Err(json!(["NOT_FOUND", ["input", "inReplyTo"]])));

    let private = "mutation { updateProfile(input: { isPrivate: true }) { userErrors { code } } }";
    world.data(Some(&bob.token), private, Value::Null).await;
    assert_eq!(change(&world, &ada, REPOST, &public).await, error("VISIBILITY"));
    let user = world.ask(Some(&ada.token), REPOST, json!({ "id": "VXNlcjox" })).await;
    assert!(user["errors"][0]["message"].as_str().unwrap().contains("input.postId"), "{user}");
}

/// Returns the global id of a post.
fn fanfold_id(post: u64) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD_NO_PAD.encode(format!("Post:{post}"))
}

#[tokio::test]
async fn the_original_of_a_repost_is_hidden_from_those_who_may_not_see_it() {
    let world = World::new().await;
    let [ada, bob, _, eve] = people(&world).await;
    let original = try_publish(&world, &eve, json!({})).await.unwrap();
    change(&world, &bob, REPOST, &original).await;
    let shown = [entry(&original, &["bob"])];
    let send = async |mutation: &str, other: &Person| {
        let mutation = format!("mutation ($id: ID!) {{ {mutation} {{ userErrors {{ code }} }} }}");
        world.data(Some(&ada.token), &mutation, json!({ "id": other.id })).await;
    };
    let mute_reposts = "mute(input: { userId: $id, scope: REPOSTS })";
    assert_eq!(timeline(&world, &ada, "").await, shown);
    for (other, hide, show) in [
        (&eve, "mute(input: { userId: $id })", "unmute(input: { userId: $id })"),
        (&eve, "block(input: { userId: $id })", "unblock(input: { userId: $id })"),
        (&bob, mute_reposts, "unmute(input: { userId: $id })"),
    ] {
        send(hide, other).await;
        assert_eq!(timeline(&world, &ada, "").await, [], "{hide}");
        send(show, other).await;
        assert_eq!(timeline(&world, &ada, "").await, shown, "{show}");
    }
    send(mute_reposts, &eve).await;
    assert_eq!(timeline(&world, &ada, "").await, shown, "a post by a user whose reposts are muted");
    for is_private in [true, false] {
        let profile = format!(
            "mutation {{ updateProfile(input: {{ isPrivate: {is_private} }}) {{ userErrors {{ code }} }} }}"
        );
        world.data(Some(&eve.token), &profile, Value::Null).await;
        assert_eq!(timeline(&world, &ada, "").await.len(), usize::from(!is_private));
    }
    delete(&world, &eve, &original).await;
    assert_eq!(timeline(&world, &ada, "").await, []);
}

#[tokio::test]
async fn pages_of_a_timeline_are_folded_each_for_itself() {
    let world = World::new().await;
    let [ada, bob, cem, eve] = people(&world).await;
    let first = try_publish(&world, &eve, json!({})).await.unwrap();
    let second = try_publish(&world, &eve, json!({})).await.unwrap();
    change(&world, &bob, REPOST, &first).await;
    let plain = try_publish(&world, &bob, json!({})).await.unwrap();
    change(&world, &bob, REPOST, &second).await;
    change(&world, &cem, REPOST, &first).await;
    change(&world, &cem, REPOST, &second).await;
    // By id, newest first: second (Cem), first (Cem), second (Bob), plain, first (Bob).
    let all = [entry(&second, &["cem", "bob"]), entry(&first, &["cem", "bob"]), entry(&plain, &[])];
    assert_eq!(timeline(&world, &ada, "(first: 3)").await[..2], [all[0].clone(), entry(&first, &["cem"])]);
    assert_eq!(timeline(&world, &ada, "(first: 9)").await, all);
    let query = "query ($cursor: String) { viewer { timeline(first: 2, after: $cursor) {
        edges { node { id } repostedBy { username } } pageInfo { hasNextPage endCursor } } } }";
    let page = world.data(Some(&ada.token), query, Value::Null).await["viewer"]["timeline"].take();
    assert_eq!(entries(&page["edges"]), [entry(&second, &["cem"]), entry(&first, &["cem"])]);
    let next = json!({ "cursor": page["pageInfo"]["endCursor"] });
    let page = world.data(Some(&ada.token), query, next).await["viewer"]["timeline"].take();
    assert_eq!(entries(&page["edges"]), [entry(&second, &["bob"]), entry(&plain, &[])]);
    assert_eq!(page["pageInfo"]["hasNextPage"], true);
    let next = json!({ "cursor": page["pageInfo"]["endCursor"] });
    let page = world.data(Some(&ada.token), query, next).await["viewer"]["timeline"].take();
    assert_eq!(entries(&page["edges"]), [entry(&first, &["bob"])]);
    assert_eq!(page["pageInfo"]["hasNextPage"], false);
}

#[tokio::test]
async fn a_timeline_shows_the_replies_that_were_asked_for() {
    let world = World::new().await;
    let [ada, bob, cem, eve] = people(&world).await;
    let mut ids = Vec::new();
    for author in [&ada, &bob, &cem, &eve] {
        ids.push(try_publish(&world, author, json!({})).await.unwrap());
    }
    let reply = async |author: &Person, parent: &String| {
        try_publish(&world, author, json!({ "inReplyTo": parent })).await.unwrap()
    };
    let own = reply(&ada, &ids[3]).await;
    let to_reader = reply(&bob, &ids[0]).await;
    let to_self = reply(&bob, &ids[1]).await;
    let to_followed = reply(&bob, &ids[2]).await;
    let to_stranger = reply(&bob, &ids[3]).await;
    let shown = async |arguments: &str| -> Vec<String> {
        let entries = timeline(&world, &ada, arguments).await;
        entries.into_iter().map(|(post, _)| post).filter(|post| !ids.contains(post)).collect()
    };
    assert_eq!(shown("").await, [&to_followed, &to_self, &to_reader, &own].map(String::clone));
    assert_eq!(shown("(replies: null)").await, shown("(replies: FOLLOWED)").await);
    assert_eq!(shown("(replies: NONE)").await, [&to_self, &to_reader, &own].map(String::clone));
    let all = [&to_stranger, &to_followed, &to_self, &to_reader, &own].map(String::clone);
    assert_eq!(shown("(replies: ALL)").await, all);
    // A reply to a post that is gone is one to no one whom the reader follows.
    delete(&world, &cem, &ids[2]).await;
    assert_eq!(shown("").await, [&to_self, &to_reader, &own].map(String::clone));
    assert_eq!(shown("(replies: ALL)").await, all);
}

#[tokio::test]
async fn a_timeline_is_shown_while_the_archive_that_has_an_original_is_away() {
    let database = Database::new(Kind::Sqlite).await;
    let world = World::with_archive(&database, &["--post-hot-limit", "1"]).await;
    let [ada, bob, _, eve] = people(&world).await;
    let original = try_publish(&world, &eve, json!({})).await.unwrap();
    try_publish(&world, &eve, json!({})).await.unwrap();
    archive_all(&world.app).await;
    change(&world, &bob, REPOST, &original).await;
    assert_eq!(timeline(&world, &ada, "").await, [entry(&original, &["bob"])]);
    assert_eq!(post(&world, &ada, &original, "repostCount").await["repostCount"], 1);
    database.execute("ALTER TABLE posts RENAME TO away").await;
    assert_eq!(timeline(&world, &ada, "").await, []);
    database.execute("ALTER TABLE away RENAME TO posts").await;
    assert_eq!(timeline(&world, &ada, "").await.len(), 1);
}

#[tokio::test]
async fn round_trips_do_not_grow_with_the_number_of_reposts() {
    let world = World::with(&["--post-publishes-per-author", "1000"]).await;
    let [ada, bob, cem, eve] = people(&world).await;
    for number in 0..55 {
        let original = try_publish(&world, &eve, json!({})).await.unwrap();
        let by = if number % 2 == 0 { &bob } else { &cem };
        change(&world, by, REPOST, &original).await;
        try_publish(&world, by, json!({ "inReplyTo": original, "quoteOf": original })).await.unwrap();
    }
    deliver_all(&world.app).await;
    let mut counted = Vec::new();
    for first in [1, 20, 100] {
        let timeline = |edge: &str, node: &str| {
            format!(
                "{{ viewer {{ timeline(first: {first}, replies: ALL) {{ edges {{ {edge} node {{
                    id author {{ relation {{ status }} }} {node} }} }} }} }} }}"
            )
        };
        let without = cost(&world, &ada, &timeline("", "")).await.0;
        let node = "repostCount inReplyTo { id author { username } } quoteOf { id author { username } }
            viewerHasReposted";
        let with = cost(&world, &ada, &timeline("repostedBy { username }", node)).await.0;
        assert_eq!(with - without, 2, "{first}");
        counted.push(without);
    }
    assert!(counted[1..].iter().all(|trips| *trips == counted[1]), "{counted:?}");
}
