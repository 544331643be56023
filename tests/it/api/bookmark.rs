//! Bookmarks: who sees them, in which order, and what becomes of them.

use std::time::Duration;

use fanfold::app::check::Finding;
use fanfold::model::clock::Timestamp;
use fanfold::model::id::{PostId, UserId};
use fanfold::store::batch::Batch;
use fanfold::store::ordered::{self, ORDERED};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Value, json};

use crate::harness::case;
use crate::harness::check::check;
use crate::harness::cost::cost;
use crate::harness::id::global;
use crate::harness::post::{delete, post, publish};
use crate::harness::world::{Person, World, archive_all, codes, deliver_all};

const BOOKMARK: &str = "mutation ($id: ID!) { change: bookmark(input: { postId: $id }) {
    post { viewerHasBookmarked } userErrors { code field limit retryAfterSeconds } } }";
const REMOVE: &str = "mutation ($id: ID!) { change: removeBookmark(input: { postId: $id }) {
    post { viewerHasBookmarked } userErrors { code field limit retryAfterSeconds } } }";

/// Sends a mutation at a second of its own. Returns whether the viewer has bookmarked the post, null for a post that
/// they cannot see; or else the error.
async fn change(world: &World, person: &Person, mutation: &str, id: &str) -> Value {
    world.clock.advance(Duration::from_secs(1));
    let payload = world.data(Some(&person.token), mutation, json!({ "id": id })).await["change"].take();
    match payload["userErrors"].as_array().unwrap().first() {
        Some(error) => json!([error["code"], error["field"], error["limit"]]),
        None => payload["post"]["viewerHasBookmarked"].clone(),
    }
}

/// A page of bookmarks.
struct Bookmarks {
    posts: Vec<String>,
    edges: Value,
    info: Value,
}

/// Reads a page of bookmarks.
async fn page(world: &World, person: &Person, arguments: &str) -> Bookmarks {
    let query = format!(
        "{{ viewer {{ bookmarks{arguments} {{ nodes {{ id viewerHasBookmarked }}
            edges {{ cursor key positions listedAt repostedBy {{ id }} node {{ id }} }}
            pageInfo {{ hasPreviousPage hasNextPage startCursor endCursor }} }} }} }}"
    );
    let mut data = world.data(Some(&person.token), &query, Value::Null).await["viewer"]["bookmarks"].take();
    let nodes = data["nodes"].as_array().unwrap();
    assert!(nodes.iter().all(|node| node["viewerHasBookmarked"] == true), "{data}");
    let posts: Vec<String> = nodes.iter().map(|node| node["id"].as_str().unwrap().to_owned()).collect();
    let edges = data["edges"].take();
    let listed: Vec<&Value> = edges.as_array().unwrap().iter().map(|edge| &edge["node"]["id"]).collect();
    assert_eq!(json!(posts), json!(listed));
    Bookmarks { posts, edges, info: data["pageInfo"].take() }
}

/// Returns ids in the opposite order.
fn reversed(ids: &[String]) -> Vec<String> {
    ids.iter().rev().cloned().collect()
}

/// Returns the id of the post with this number.
fn post_id(number: u64) -> String {
    global("Post", number)
}

#[tokio::test]
async fn bookmarks_are_private_and_leave_out_what_the_viewer_may_not_see() {
    let world = World::new().await;
    let [ada, bob, eve] =
        [world.register("ada").await, world.register("bob").await, world.register("eve").await];
    let mut posts = Vec::new();
    for index in 0..4 {
        posts.push(publish(&world, if index == 1 { &eve } else { &bob }, "x").await);
    }
    for id in &posts {
        assert_eq!(change(&world, &ada, BOOKMARK, id).await, true);
    }
    assert_eq!(change(&world, &ada, BOOKMARK, &posts[0]).await, true, "keeps its place");
    let all = page(&world, &ada, "").await;
    assert_eq!((all.posts, &all.info["hasNextPage"]), (reversed(&posts), &json!(false)));
    let edges = all.edges.as_array().unwrap();
    let positions: Vec<&str> = edges.iter().map(|edge| edge["positions"][0].as_str().unwrap()).collect();
    assert!(positions.windows(2).all(|pair| pair[0] > pair[1]), "{positions:?}");
    let times: Vec<&str> = edges.iter().map(|edge| edge["listedAt"].as_str().unwrap()).collect();
    assert!(times.windows(2).all(|pair| pair[0] > pair[1]), "{times:?}");
    assert!(edges.iter().all(|edge| edge["repostedBy"] == json!([]) && edge["key"] == edge["node"]["id"]));

    assert_eq!(page(&world, &bob, "").await.posts, [""; 0]);
    assert_eq!(post(&world, &bob, &posts[0], "viewerHasBookmarked").await["viewerHasBookmarked"], false);
    let query = "query ($id: ID!) { post(id: $id) { viewerHasBookmarked } }";
    let anonymous = world.data(None, query, json!({ "id": posts[0] })).await;
    assert_eq!(anonymous["post"]["viewerHasBookmarked"], false);
    for mutation in [BOOKMARK, REMOVE] {
        let response = world.ask(None, mutation, json!({ "id": posts[0] })).await;
        assert_eq!(codes(&response), ["UNAUTHENTICATED"]);
    }

    // Hidden and deleted posts are left out, and the rest of the list moves up.
    world.change(&eve, "block(input: { userId: $id })", &ada.id).await;
    delete(&world, &bob, &posts[3]).await;
    let first = page(&world, &ada, "(first: 2)").await;
    assert_eq!(
        (first.posts, &first.info["hasNextPage"]),
        (vec![posts[2].clone(), posts[0].clone()], &json!(false))
    );
    let last = page(&world, &ada, "(last: 2)").await;
    assert_eq!(
        (last.posts, &last.info["hasPreviousPage"]),
        (vec![posts[2].clone(), posts[0].clone()], &json!(false))
    );
    let missing = json!(["NOT_FOUND", ["input", "postId"], null]);
    for gone in [&posts[1], &posts[3]] {
        assert_eq!(change(&world, &ada, BOOKMARK, gone).await, missing);
    }
    assert_eq!(change(&world, &ada, BOOKMARK, &post_id(9_999)).await, missing, "unknown");
    // They can be removed all the same, and what was hidden comes back.
    assert_eq!(change(&world, &ada, REMOVE, &posts[3]).await, Value::Null);
    world.change(&eve, "unblock(input: { userId: $id })", &ada.id).await;
    assert_eq!(page(&world, &ada, "").await.posts, [&*posts[2], &posts[1], &posts[0]]);
    for _ in 0..2 {
        assert_eq!(change(&world, &ada, REMOVE, &posts[2]).await, false);
    }
    assert_eq!(page(&world, &ada, "").await.posts, [&*posts[1], &posts[0]]);
    assert_eq!(change(&world, &ada, REMOVE, &post_id(9_999)).await, Value::Null, "unknown");
    for mutation in [BOOKMARK, REMOVE] {
        for malformed in ["", "x", &ada.id] {
            let response = world.ask(Some(&ada.token), mutation, json!({ "id": malformed })).await;
            assert_eq!(codes(&response), ["BAD_USER_INPUT"], "{malformed:?}");
        }
    }
    assert_eq!(check(&world.app, false).await.faults(), 0);
}

#[tokio::test]
async fn archived_posts_and_reposts_are_bookmarked_as_what_they_show() {
    let world = World::with(&["--post-hot-limit", "1"]).await;
    let (ada, bob) = (world.register("ada").await, world.register("bob").await);
    let mut posts = Vec::new();
    for _ in 0..3 {
        posts.push(publish(&world, &bob, "x").await);
    }
    deliver_all(&world.app).await;
    archive_all(&world.app).await;
    for id in &posts {
        assert_eq!(change(&world, &ada, BOOKMARK, id).await, true);
    }
    assert_eq!(page(&world, &ada, "").await.posts, reversed(&posts));
    world.change(&ada, "repost(input: { postId: $id })", &posts[2]).await;
    let repost = post_id(4);
    assert_eq!(
        change(&world, &ada, BOOKMARK, &repost).await,
        json!(["NOT_FOUND", ["input", "postId"], null])
    );
    let query = "{ viewer { user { posts { nodes { id viewerHasBookmarked } } } } }";
    let data = world.data(Some(&ada.token), query, Value::Null).await;
    assert_eq!(
        data["viewer"]["user"]["posts"]["nodes"],
        json!([{ "id": posts[2], "viewerHasBookmarked": true }])
    );
}

#[tokio::test]
async fn a_bookmark_takes_three_round_trips_and_a_token() {
    let world = World::with(&["--post-reactions-per-user", "3"]).await;
    let (ada, bob) = (world.register("ada").await, world.register("bob").await);
    let mut posts = Vec::new();
    for _ in 0..4 {
        posts.push(publish(&world, &bob, "x").await);
    }
    let features = || world.redis.raw::<Option<String>>(&["HGET", "ff:{g}:layout", "features"]);
    assert_eq!(change(&world, &ada, REMOVE, &posts[0]).await, false);
    assert_eq!(features(), None);
    assert_eq!(change(&world, &ada, BOOKMARK, &posts[0]).await, true);
    assert_eq!(features().as_deref(), Some("reactions"));
    let viewer = world.app.authenticate(&ada.token).await.unwrap();
    let store = world.app.store();
    let trips = async |id: u64| {
        let before = store.round_trips();
        world.app.bookmark(&viewer, PostId::new(id).unwrap()).await.unwrap();
        store.round_trips() - before
    };
    assert_eq!(trips(2).await, 3);
    assert_eq!(trips(2).await, 3, "repeated");
    let before = store.round_trips();
    world.app.remove_bookmark(&viewer, PostId::new(2).unwrap()).await.unwrap();
    assert_eq!(store.round_trips() - before, 1);
    // The third token. Repeated bookmarks took none, and removals take none.
    assert_eq!(change(&world, &ada, BOOKMARK, &posts[2]).await, true);
    assert_eq!(change(&world, &ada, BOOKMARK, &posts[3]).await, json!(["THROTTLED", null, null]));
    assert_eq!(change(&world, &ada, BOOKMARK, &posts[2]).await, true);
    assert_eq!(change(&world, &ada, REMOVE, &posts[2]).await, false);
    assert_eq!(change(&world, &bob, BOOKMARK, &posts[3]).await, true, "others have buckets of their own");
    world.clock.advance(Duration::from_mins(20));
    assert_eq!(change(&world, &ada, BOOKMARK, &posts[3]).await, true);
}

#[tokio::test]
async fn a_user_has_at_most_five_thousand_bookmarks() {
    let world = World::new().await;
    let (ada, bob) = (world.register("ada").await, world.register("bob").await);
    let (one, other) = (publish(&world, &bob, "x").await, publish(&world, &bob, "x").await);
    assert_eq!(change(&world, &ada, BOOKMARK, &one).await, true);
    fill(&world, 1_000, ORDERED as u64 - 1).await;
    assert_eq!(change(&world, &ada, BOOKMARK, &one).await, true, "repeated");
    assert_eq!(change(&world, &ada, BOOKMARK, &other).await, json!(["LIST_LIMIT", null, 5_000]));
    assert_eq!(check(&world.app, false).await.faults(), 0);
    let last = page(&world, &ada, "(last: 1)").await;
    assert_eq!(
        (last.posts, &last.info["hasPreviousPage"]),
        (vec![], &json!(true)),
        "only some are looked at"
    );
    let viewer = world.app.authenticate(&ada.token).await.unwrap();
    world.app.remove_bookmark(&viewer, PostId::new(1_000).unwrap()).await.unwrap();
    assert_eq!(change(&world, &ada, BOOKMARK, &other).await, true);
    assert_eq!(page(&world, &ada, "(first: 2)").await.posts, [other, one]);
}

/// Adds bookmarks of `count` posts from `first` on, which do not exist, to the first user's, before all others.
async fn fill(world: &World, first: u64, count: u64) {
    let (keys, user) = (world.app.store().keys(), UserId::new(1).unwrap());
    let mut batch = Batch::new("test");
    let add = |id| {
        let post = PostId::new(id).unwrap();
        let at = Timestamp::from_millis(1_000);
        batch.push(ordered::add(&keys.bookmarks(user), post, at, None, &keys.reactions_of(user), None))
    };
    let tickets = (first..first + count).map(add).collect();
    batch.send(world.app.store()).await.unwrap().take_all(tickets).unwrap();
}

#[tokio::test]
async fn the_bookmarks_of_a_page_are_looked_up_by_one_command_in_no_further_round_trip() {
    let world = World::new().await;
    let (ada, bob) = (world.register("ada").await, world.register("bob").await);
    world.follow(&ada, &bob).await;
    for index in 0..110 {
        let id = publish(&world, &bob, "x").await;
        if index % 2 == 0 {
            assert_eq!(change(&world, &ada, BOOKMARK, &id).await, true);
        }
    }
    deliver_all(&world.app).await;
    for (list, size) in [
        ("user(by: { username: \"bob\" }) { posts(first: SIZE) { nodes { id FIELDS } } }", 20),
        ("user(by: { username: \"bob\" }) { posts(first: SIZE) { nodes { id FIELDS } } }", 100),
        ("viewer { timeline(first: SIZE) { edges { node { id FIELDS } } } }", 20),
        ("viewer { timeline(first: SIZE) { edges { node { id FIELDS } } } }", 100),
        ("viewer { bookmarks(first: SIZE) { nodes { id FIELDS } } }", 20),
        ("viewer { bookmarks(first: SIZE) { nodes { id segments { __typename } FIELDS } } }", 50),
    ] {
        let query =
            |fields| format!("{{ {} }}", list.replace("SIZE", &size.to_string()).replace("FIELDS", fields));
        let (plain, without) = cost(&world, &ada, &query("")).await;
        let (trips, with) = cost(&world, &ada, &query("viewerHasBookmarked")).await;
        assert_eq!(
            (trips, with["evalsha"]),
            (plain, without.get("evalsha").unwrap_or(&0) + 1),
            "{list} {size}"
        );
    }
    let query = "{ viewer { timeline(first: 100) { nodes { id viewerHasBookmarked } } } }";
    let data = world.data(Some(&ada.token), query, Value::Null).await;
    let nodes = data["viewer"]["timeline"]["nodes"].as_array().unwrap();
    let bookmarked = nodes.iter().map(|node| node["viewerHasBookmarked"].as_bool().unwrap());
    assert!(bookmarked.eq((0..100).map(|index| index % 2 == 1)));
}

#[tokio::test]
async fn a_cursor_is_that_of_one_list_and_stays_valid() {
    let world = World::new().await;
    let (ada, bob) = (world.register("ada").await, world.register("bob").await);
    let mut posts = Vec::new();
    for _ in 0..5 {
        let id = publish(&world, &bob, "x").await;
        assert_eq!(change(&world, &ada, BOOKMARK, &id).await, true);
        posts.push(id);
    }
    let middle = page(&world, &ada, "(first: 3)").await;
    let cursor = middle.info["endCursor"].clone();
    assert_eq!(middle.posts[2], posts[2]);
    assert_eq!(change(&world, &ada, REMOVE, &posts[2]).await, false);
    let after = page(&world, &ada, &format!("(first: 9, after: {cursor})")).await;
    assert_eq!((after.posts, &after.info["hasPreviousPage"]), (reversed(&posts[..2]), &json!(true)));
    let before = page(&world, &ada, &format!("(last: 1, before: {cursor})")).await;
    assert_eq!((before.posts, &before.info["hasPreviousPage"]), (vec![posts[3].clone()], &json!(true)));
    let query = "{ viewer { timeline { edges { cursor } } } }";
    let timeline = world.data(Some(&bob.token), query, Value::Null).await;
    let other = timeline["viewer"]["timeline"]["edges"][0]["cursor"].clone();
    for (person, cursor) in
        [(&ada, &json!("x")), (&ada, &json!("")), (&ada, &other), (&bob, &cursor), (&ada, &json!(ada.id))]
    {
        for argument in ["after", "before"] {
            let query = format!("{{ viewer {{ bookmarks({argument}: {cursor}) {{ nodes {{ id }} }} }} }}");
            let response = world.ask(Some(&person.token), &query, Value::Null).await;
            assert_eq!(codes(&response), ["BAD_USER_INPUT"], "{cursor}");
        }
    }
}

#[tokio::test]
async fn pages_in_both_directions_contain_every_bookmark_that_stays() {
    let world = World::new().await;
    let (ada, bob) = (world.register("ada").await, world.register("bob").await);
    let mut rng = StdRng::seed_from_u64(case::seed(7));
    let mut posts = Vec::new();
    for _ in 0..40 {
        posts.push(publish(&world, &bob, "x").await);
    }
    // Oldest bookmark first.
    let mut listed: Vec<String> = Vec::new();
    for _ in 0..60 {
        toggle(&world, &ada, &mut listed, &posts[rng.random_range(0..posts.len())]).await;
    }
    for (size, cursor, flag, argument) in
        [("first", "endCursor", "hasNextPage", "after"), ("last", "startCursor", "hasPreviousPage", "before")]
    {
        let began = listed.clone();
        let (mut found, mut touched, mut from) = (Vec::new(), Vec::new(), String::new());
        loop {
            let read = page(&world, &ada, &format!("({size}: 3{from})")).await;
            found.extend(if argument == "after" { read.posts } else { reversed(&read.posts) });
            if read.info[flag] == false {
                break;
            }
            from = format!(", {argument}: {}", read.info[cursor]);
            let other = &posts[rng.random_range(0..posts.len())];
            toggle(&world, &ada, &mut listed, other).await;
            touched.push(other);
        }
        if argument == "after" {
            found.reverse();
        }
        let untouched = |list: &[String]| -> Vec<String> {
            list.iter().filter(|id| !touched.contains(id)).cloned().collect()
        };
        assert_eq!(untouched(&found), untouched(&began));
    }
    let all = page(&world, &ada, "(first: 100)").await;
    assert_eq!(all.posts, reversed(&listed));
    assert_eq!(check(&world.app, false).await.faults(), 0);
}

/// Adds a bookmark, or removes it if it is in the list.
async fn toggle(world: &World, person: &Person, listed: &mut Vec<String>, id: &str) {
    if let Some(index) = listed.iter().position(|other| other == id) {
        assert_eq!(change(world, person, REMOVE, id).await, false);
        listed.remove(index);
    } else {
        assert_eq!(change(world, person, BOOKMARK, id).await, true);
        listed.push(id.to_owned());
    }
}

#[tokio::test]
async fn data_that_cannot_be_read_fails_only_what_depends_on_it() {
    let world = World::new().await;
    let (ada, bob) = (world.register("ada").await, world.register("bob").await);
    let id = publish(&world, &bob, "x").await;
    assert_eq!(change(&world, &ada, BOOKMARK, &id).await, true);
    let query = "query ($id: ID!) { post(id: $id) { id viewerHasBookmarked }
        viewer { bookmarks { nodes { id } } } user(by: { username: \"bob\" }) { posts { nodes { id viewerHasBookmarked } } } }";
    // A set without a tree has other parts than one with a tree.
    let parts = [
        (0, &[("", true, true)][..]),
        (
            200,
            &[
                (":posts", true, false),
                (":times", true, false),
                (":count", false, false),
                (":0", false, true),
            ],
        ),
    ];
    for (size, parts) in parts {
        fill(&world, 1_000, size).await;
        for &(part, list_fails, field_fails) in parts {
            let key = format!("ff:{{u1}}:bookmarks{part}");
            world.redis.raw::<()>(&["RENAME", &key, "ff:{u1}:aside"]);
            world.redis.raw::<u64>(&["SETRANGE", &key, "0", "x"]);
            let response = world.ask(Some(&ada.token), query, json!({ "id": id })).await;
            let data = &response["data"];
            assert_eq!(data["post"]["id"], id, "{part}: {response}");
            assert_eq!(data["user"]["posts"]["nodes"][0]["id"], id, "{part}: {response}");
            assert_eq!(data["viewer"]["bookmarks"].is_null(), list_fails, "{part}: {response}");
            assert_eq!(data["post"]["viewerHasBookmarked"].is_null(), field_fails, "{part}: {response}");
            world.redis.raw::<()>(&["RENAME", "ff:{u1}:aside", &key]);
        }
    }
    assert_eq!(check(&world.app, false).await.faults(), 0);
}

#[tokio::test]
async fn a_check_finds_sets_that_do_not_agree_and_repairs_them_without_losing_a_bookmark() {
    let world = World::new().await;
    world.register("ada").await;
    fill(&world, 1_000, 200).await;
    let raw = |words: &[&str]| {
        world.redis.raw::<redis::Value>(words);
    };
    let members = || world.redis.raw::<usize>(&["LLEN", "ff:{u1}:bookmarks:posts"]);
    let wrong = async |repair| world.app.check_users(1, repair).await.unwrap()[Finding::WrongReactions];
    assert_eq!(wrong(false).await, 0);
    let replace = "redis.call('DEL', KEYS[1]) redis.call('HSET', KEYS[1], 'x', 'x')";
    let faults: [(&[&str], usize); 16] = [
        (&["SET", "ff:{u1}:bookmarks:count", "7"], 200),
        (&["DEL", "ff:{u1}:bookmarks:count"], 200),
        (&["SADD", "ff:{u1}:bookmarks:0", "77"], 201),
        (&["SREM", "ff:{u1}:bookmarks:0", "1003"], 201),
        (&["LSET", "ff:{u1}:bookmarks:posts", "3", "x"], 201),
        (&["LSET", "ff:{u1}:bookmarks:times", "3", "x"], 201),
        (&["RPOP", "ff:{u1}:bookmarks:times"], 201),
        (&["DEL", "ff:{u1}:bookmarks:posts"], 201),
        (&["SADD", "ff:{u1}:bookmarks:0", "x"], 201),
        (&["SET", "ff:{u1}:bookmarks:count", "x"], 201),
        (&["SET", "ff:{u1}:bookmarks:count", "0201"], 201),
        (&["SET", "ff:{u1}:bookmarks:count", "99999999999999999999"], 201),
        (&["EVAL", replace, "1", "ff:{u1}:bookmarks:posts"], 201),
        (&["EVAL", replace, "1", "ff:{u1}:bookmarks:times"], 201),
        (&["EVAL", replace, "1", "ff:{u1}:bookmarks:count"], 201),
        (&["EVAL", replace, "1", "ff:{u1}:bookmarks:0"], 201),
    ];
    for (fault, left) in faults {
        raw(fault);
        assert_eq!(wrong(false).await, 1, "{fault:?}");
        assert_eq!(wrong(true).await, 1, "{fault:?}");
        assert_eq!(wrong(false).await, 0, "{fault:?}");
        assert_eq!(members(), left, "{fault:?}");
    }
    // A small set has no tree, from which lost members could be restored.
    let all = ["", ":posts", ":times", ":count", ":0"].map(|part| format!("ff:{{u1}}:bookmarks{part}"));
    raw(&[&["DEL"][..], &all.each_ref().map(String::as_str)].concat());
    fill(&world, 1_000, 5).await;
    let members = || world.redis.raw::<usize>(&["ZCARD", "ff:{u1}:bookmarks"]);
    raw(&["ZADD", "ff:{u1}:bookmarks", "5", "x"]);
    assert_eq!((wrong(true).await, wrong(false).await, members()), (1, 0, 5));
    raw(&["RPUSH", "ff:{u1}:bookmarks:posts", "77"]);
    assert_eq!((wrong(true).await, wrong(false).await, members()), (1, 0, 5));
    for score in ["1.5", "1e16", "-inf"] {
        raw(&["ZADD", "ff:{u1}:bookmarks", score, "1002"]);
        assert_eq!((wrong(true).await, wrong(false).await, members()), (1, 0, 5), "{score}");
    }
    raw(&["EVAL", replace, "1", "ff:{u1}:bookmarks"]);
    assert_eq!((wrong(true).await, wrong(false).await, members()), (1, 0, 0));
}
