//! Conversations: replies and quotes, and the lists of them.

use fanfold::app::post::NewPost;
use fanfold::model::clock::Clock as _;
use fanfold::model::details::{References, Reply};
use fanfold::model::id::{PostId, UserId};
use fanfold::model::post::{Content, Visibility};
use serde_json::{Value, json};

use crate::harness::cost::cost;
use crate::harness::id::global;
use crate::harness::post::{PUBLISH, delete, post, try_publish};
use crate::harness::sql::{Database, Kind};
use crate::harness::world::{Person, World, archive_all};

async fn reply(world: &World, person: &Person, parent: &str) -> String {
    try_publish(world, person, json!({ "inReplyTo": parent })).await.unwrap()
}

/// Returns all posts of a list, read page by page.
async fn walk(
    world: &World,
    person: &Person,
    id: &str,
    list: &str,
    (many, from): (&str, &str),
) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let query = format!(
            "query ($id: ID!, $cursor: String) {{ post(id: $id) {{ {list}({many}: 2, {from}: $cursor ORDER) {{
                nodes {{ id }} pageInfo {{ hasNextPage hasPreviousPage startCursor endCursor }} }} }} }}"
        );
        let query = query.replace(" ORDER", if list == "replies" { ", order: NEWEST" } else { "" });
        let mut data = world.data(Some(&person.token), &query, json!({ "id": id, "cursor": cursor })).await;
        let page = data["post"][list].take();
        let nodes = page["nodes"].as_array().unwrap().iter();
        let ids: Vec<String> = nodes.map(|node| node["id"].as_str().unwrap().to_owned()).collect();
        let info = &page["pageInfo"];
        assert_eq!(info[if many == "first" { "hasPreviousPage" } else { "hasNextPage" }], !found.is_empty());
        let (goes_on, next) = if many == "first" {
            found.extend(ids);
            (&info["hasNextPage"], &info["endCursor"])
        } else {
            found.splice(..0, ids);
            (&info["hasPreviousPage"], &info["startCursor"])
        };
        if *goes_on == false {
            return found;
        }
        cursor = next.clone();
    }
}

#[tokio::test]
async fn a_reply_is_listed_counted_and_shows_its_parent() {
    let world = World::new().await;
    let [ada, bob] = [world.register("ada").await, world.register("bob").await];
    let parent = try_publish(&world, &ada, json!({})).await.unwrap();
    let child = reply(&world, &bob, &parent).await;
    let quoting = try_publish(&world, &bob, json!({ "quoteOf": parent })).await.unwrap();
    let fields = "isReply inReplyTo { id author { username } } isQuote quoteOf { id } replyCount quoteCount
        replies { nodes { id author { relation { status } } } } quotes { edges { node { id } } } ancestors { id }";
    let (none, one) = (json!({ "nodes": [] }), json!({ "edges": [] }));
    assert_eq!(
        post(&world, &ada, &parent, fields).await,
        json!({
            "isReply": false, "inReplyTo": null, "isQuote": false, "quoteOf": null,
            "replyCount": 1, "quoteCount": 1,
            "replies": { "nodes": [{ "id": child, "author": { "relation": { "status": "NONE" } } }] },
            "quotes": { "edges": [{ "node": { "id": quoting } }] }, "ancestors": [],
        })
    );
    let shown = post(&world, &ada, &child, fields).await;
    assert_eq!(shown["inReplyTo"], json!({ "id": parent, "author": { "username": "ada" } }));
    assert_eq!((&shown["ancestors"], &shown["isReply"]), (&json!([{ "id": parent }]), &json!(true)));
    assert_eq!((&shown["replies"], &shown["quotes"]), (&none, &one));
    assert_eq!(post(&world, &ada, &quoting, fields).await["quoteOf"]["id"], parent);

    delete(&world, &ada, &parent).await;
    let shown = post(&world, &ada, &child, fields).await;
    assert_eq!(
        (&shown["isReply"], &shown["inReplyTo"], &shown["ancestors"]),
        (&json!(true), &Value::Null, &json!([]))
    );
    let shown = post(&world, &ada, &quoting, fields).await;
    assert_eq!((&shown["isQuote"], &shown["quoteOf"]), (&json!(true), &Value::Null));
}

#[tokio::test]
async fn a_count_that_an_earlier_version_did_not_have_begins_at_zero() {
    let world = World::new().await;
    let [ada, bob] = [world.register("ada").await, world.register("bob").await];
    let id = try_publish(&world, &ada, json!({})).await.unwrap();
    // Without the counts of replies and quotes.
    world.redis.raw::<u64>(&["HSET", "ff:{p1}:post", "details", "1 0 0 0 tags=rust"]);
    let counts = async || {
        let query = "query ($id: ID!) { post(id: $id) { replyCount quoteCount repostCount } }";
        let data = world.data(None, query, json!({ "id": id })).await;
        ["replyCount", "quoteCount", "repostCount"].map(|count| data["post"][count].as_u64().unwrap())
    };
    assert_eq!(counts().await, [0, 0, 0]);
    reply(&world, &bob, &id).await;
    assert_eq!(counts().await, [1, 0, 0]);
    let details: String = world.redis.raw(&["HGET", "ff:{p1}:post", "details"]);
    assert_eq!(details, "2 0 0 0 1 0 tags=rust");
    // A later version had a seventh number.
    world.redis.raw::<u64>(&["HSET", "ff:{p1}:post", "details", "2 0 0 0 1 0 9 tags=rust"]);
    reply(&world, &bob, &id).await;
    let details: String = world.redis.raw(&["HGET", "ff:{p1}:post", "details"]);
    assert_eq!((details.as_str(), counts().await), ("3 0 0 0 2 0 9 tags=rust", [2, 0, 0]));
}

#[tokio::test]
async fn what_cannot_be_referred_to_is_an_error_that_names_the_field() {
    let world = World::new().await;
    let [ada, bob, eve] =
        [world.register("ada").await, world.register("bob").await, world.register("eve").await];
    world.follow(&bob, &ada).await;
    let public = try_publish(&world, &ada, json!({})).await.unwrap();
    let limited = try_publish(&world, &ada, json!({ "visibility": "FOLLOWERS" })).await.unwrap();
    let gone = try_publish(&world, &ada, json!({})).await.unwrap();
    delete(&world, &ada, &gone).await;
    let unknown = "UG9zdDo3Nzc3";
    let error = |code: &str, field: &str| Err(json!([code, ["input", field]]));
    for post in [unknown, &gone] {
        let found = try_publish(&world, &bob, json!({ "inReplyTo": post })).await;
        assert_eq!(found, error("NOT_FOUND", "inReplyTo"));
        assert_eq!(
            try_publish(&world, &bob, json!({ "quoteOf": post })).await,
            error("NOT_FOUND", "quoteOf")
        );
    }
    // Eve does not follow Ada.
    let hidden = try_publish(&world, &eve, json!({ "inReplyTo": limited, "visibility": "FOLLOWERS" })).await;
    assert_eq!(hidden, error("NOT_FOUND", "inReplyTo"));
    let too_visible = try_publish(&world, &bob, json!({ "inReplyTo": limited })).await;
    assert_eq!(too_visible, error("VISIBILITY", "visibility"));
    assert_eq!(
        try_publish(&world, &bob, json!({ "quoteOf": limited })).await,
        error("VISIBILITY", "quoteOf")
    );
    assert!(
        try_publish(&world, &bob, json!({ "inReplyTo": limited, "visibility": "FOLLOWERS" })).await.is_ok()
    );
    let private = "mutation { updateProfile(input: { isPrivate: true }) { userErrors { code } } }";
    world.data(Some(&ada.token), private, Value::Null).await;
    assert_eq!(try_publish(&world, &bob, json!({ "quoteOf": public })).await, error("VISIBILITY", "quoteOf"));
    // A user's id is no post's.
    let input = json!({ "input": { "content": "x", "inReplyTo": "VXNlcjox" } });
    let response = world.ask(Some(&bob.token), PUBLISH, input).await;
    assert!(response["errors"][0]["message"].as_str().unwrap().contains("input.inReplyTo"), "{response}");
    // Only the replies that each viewer may see are listed; public ones are counted.
    assert_eq!(post(&world, &ada, &limited, "replyCount replies { nodes { id } }").await["replyCount"], 0);
}

#[tokio::test]
async fn an_attempt_that_succeeded_succeeds_again_after_its_parent_is_deleted() {
    let world = World::new().await;
    let [ada, bob] = [world.register("ada").await, world.register("bob").await];
    let parent = try_publish(&world, &ada, json!({})).await.unwrap();
    let other = try_publish(&world, &ada, json!({})).await.unwrap();
    let input = json!({ "inReplyTo": parent, "idempotencyKey": "k" });
    let published = try_publish(&world, &bob, input.clone()).await.unwrap();
    assert_eq!(try_publish(&world, &bob, input.clone()).await.as_ref(), Ok(&published));
    let another = json!({ "inReplyTo": other, "idempotencyKey": "k" });
    let mismatch = Err(json!(["IDEMPOTENCY_MISMATCH", ["input", "idempotencyKey"]]));
    assert_eq!(try_publish(&world, &bob, another).await, mismatch);
    delete(&world, &ada, &parent).await;
    assert_eq!(try_publish(&world, &bob, input).await.as_ref(), Ok(&published));
    assert_eq!(post(&world, &ada, &other, "replyCount").await["replyCount"], 0);
}

#[tokio::test]
async fn pages_of_replies_are_those_that_the_viewer_may_see_hot_and_archived() {
    let database = Database::new(Kind::Sqlite).await;
    let world = World::with_archive(&database, &["--post-hot-limit", "1"]).await;
    let [ada, bob, eve] =
        [world.register("ada").await, world.register("bob").await, world.register("eve").await];
    world.follow(&ada, &eve).await;
    let parent = try_publish(&world, &ada, json!({})).await.unwrap();
    let mut all = Vec::new();
    for number in 0..9 {
        let visibility = if number % 3 == 1 { "FOLLOWERS" } else { "PUBLIC" };
        let input = json!({ "inReplyTo": parent, "visibility": visibility });
        all.insert(0, (visibility, try_publish(&world, &eve, input).await.unwrap()));
    }
    let quotes: Vec<String> = {
        let one = try_publish(&world, &bob, json!({ "quoteOf": parent })).await.unwrap();
        vec![try_publish(&world, &eve, json!({ "quoteOf": parent })).await.unwrap(), one]
    };
    let everything: Vec<String> = all.iter().map(|(_, id)| id.clone()).collect();
    let public: Vec<String> =
        all.iter().filter(|(visibility, _)| *visibility == "PUBLIC").map(|(_, id)| id.clone()).collect();
    for is_archived in [false, true] {
        for arguments in [("first", "after"), ("last", "before")] {
            for (viewer, expected) in [(&ada, &everything), (&eve, &everything), (&bob, &public)] {
                assert_eq!(walk(&world, viewer, &parent, "replies", arguments).await, *expected);
                assert_eq!(walk(&world, viewer, &parent, "quotes", arguments).await, quotes);
            }
        }
        let oldest = post(
            &world,
            &bob,
            &parent,
            "replyCount quoteCount replies(first: 2) {
            nodes { id } pageInfo { hasNextPage hasPreviousPage } }",
        )
        .await;
        let mut first = public.clone();
        first.reverse();
        assert_eq!(
            oldest,
            json!({
                "replyCount": 6, "quoteCount": 2, "replies": {
                    "nodes": [{ "id": first[0] }, { "id": first[1] }],
                    "pageInfo": { "hasNextPage": true, "hasPreviousPage": false },
                },
            })
        );
        if !is_archived {
            // Ada's newest post stays hot.
            try_publish(&world, &ada, json!({})).await.unwrap();
            archive_all(&world.app).await;
            assert!(!world.redis.raw::<bool>(&["HEXISTS", "ff:{p1}:post", "author"]));
        }
    }
    // An archived post gains and loses replies.
    let late = reply(&world, &bob, &parent).await;
    assert_eq!(walk(&world, &bob, &parent, "replies", ("first", "after")).await[0], late);
    delete(&world, &bob, &late).await;
    delete(&world, &eve, &public[0]).await;
    assert_eq!(post(&world, &bob, &parent, "replyCount").await["replyCount"], 5);
    assert_eq!(walk(&world, &bob, &parent, "replies", ("last", "before")).await, public[1..]);
    delete(&world, &ada, &parent).await;
    archive_all(&world.app).await;
    assert_eq!(post(&world, &bob, &parent, "id").await, Value::Null);
}

#[tokio::test]
async fn a_cursor_belongs_to_one_list_of_one_post() {
    let world = World::new().await;
    let ada = world.register("ada").await;
    let parent = try_publish(&world, &ada, json!({})).await.unwrap();
    let other = reply(&world, &ada, &parent).await;
    let cursor = post(&world, &ada, &parent, "replies { pageInfo { endCursor } }").await["replies"]["pageInfo"]
        ["endCursor"]
        .take();
    for (id, list, message) in [
        (&other, "replies", "`after` is a cursor of another post's list."),
        (&parent, "quotes", "`after` is a cursor of another list."),
    ] {
        let query = format!(
            "query ($id: ID!) {{ post(id: $id) {{ {list}(after: {cursor}) {{ nodes {{ id }} }} }} }}"
        );
        let response = world.ask(Some(&ada.token), &query, json!({ "id": id })).await;
        assert_eq!(response["errors"][0]["message"], message);
    }
}

#[tokio::test]
async fn ancestors_are_read_eight_at_a_time_up_to_the_first_that_is_gone() {
    let world = World::new().await;
    let ada = world.register("ada").await;
    let mut thread = vec![try_publish(&world, &ada, json!({})).await.unwrap()];
    for _ in 0..50 {
        thread.push(reply(&world, &ada, thread.last().unwrap()).await);
    }
    let last = thread.pop().unwrap();
    thread.reverse();
    let above = async |first: &str| {
        let shown = post(&world, &ada, &last, &format!("ancestors{first} {{ id }}")).await;
        let ancestors = shown["ancestors"].as_array().unwrap().clone();
        ancestors.into_iter().map(|post| post["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    for (first, count) in
        [("", 8), ("(first: 3)", 3), ("(first: 17)", 17), ("(first: 100)", 40), ("(first: 0)", 0)]
    {
        assert_eq!(above(first).await, thread[..count], "{first}");
    }
    let query = |first: u32| format!("{{ post(id: \"{last}\") {{ ancestors(first: {first}) {{ id }} }} }}");
    let (plain, _) = cost(&world, &ada, &format!("{{ post(id: \"{last}\") {{ id }} }}")).await;
    for (first, trips) in [(1, 2), (8, 2), (16, 3), (17, 4), (40, 6)] {
        // One for each eight, and one for the authors of the last.
        let (counted, _) = cost(&world, &ada, &query(first)).await;
        assert_eq!(counted - plain, trips, "{first}");
    }
    delete(&world, &ada, &thread[11]).await;
    assert_eq!(above("(first: 40)").await, thread[..11]);
}

#[tokio::test]
async fn round_trips_do_not_grow_with_the_number_of_posts() {
    let world = World::with(&["--post-publishes-per-author", "1000"]).await;
    let [ada, bob] = [world.register("ada").await, world.register("bob").await];
    world.follow(&ada, &bob).await;
    let parent = try_publish(&world, &ada, json!({})).await.unwrap();
    for _ in 0..105 {
        try_publish(&world, &bob, json!({ "inReplyTo": parent, "quoteOf": parent })).await.unwrap();
    }
    let (plain, _) = cost(&world, &ada, &format!("{{ post(id: \"{parent}\") {{ id }} }}")).await;
    for first in [1, 20, 100] {
        let replies = format!(
            "{{ post(id: \"{parent}\") {{ replies(first: {first}) {{ nodes {{ id author {{ relation {{ status }} }} }}
               pageInfo {{ hasNextPage }} }} }} }}"
        );
        assert_eq!(cost(&world, &ada, &replies).await.0 - plain, 3, "{first}");
        let timeline = |more: &str| {
            format!(
                "{{ viewer {{ timeline(first: {first}) {{ nodes {{
                    id replyCount isReply author {{ relation {{ status }} }} {more} }} }} }} }}"
            )
        };
        let more = "inReplyTo { id author { username } } quoteOf { id author { username } }";
        let [without, with] =
            [cost(&world, &ada, &timeline("")).await.0, cost(&world, &ada, &timeline(more)).await.0];
        assert_eq!(with - without, 2, "{first}");
    }
    let before = world.app.store().round_trips();
    try_publish(&world, &bob, json!({})).await.unwrap();
    let plain = world.app.store().round_trips() - before;
    reply(&world, &bob, &parent).await;
    let replying = world.app.store().round_trips() - before - plain;
    // The parent and its author, the parent's list, and the record again.
    assert_eq!(replying - plain, 4);
}

#[tokio::test]
async fn round_trips_do_not_grow_with_the_length_and_the_depth_of_a_thread() {
    let world = World::with(&["--post-publishes-per-author", "1000"]).await;
    let ada = world.register("ada").await;
    let author = UserId::new(1).unwrap();
    let import = async |replies: Vec<Reply>| {
        let post = |reply| NewPost {
            references: References { reply: Some(reply), ..References::default() },
            author,
            content: Content::parse("x").unwrap(),
            platform: None,
            visibility: Visibility::Public,
            created_at: world.clock.now(),
        };
        let posts: Vec<NewPost> = replies.into_iter().map(post).collect();
        world.app.import_posts(&posts).await.unwrap()
    };
    let parent = try_publish(&world, &ada, json!({})).await.unwrap();
    let root = PostId::new(1).unwrap();
    for _ in 0..10 {
        import(vec![Reply::to(root, None); 1_000]).await;
    }
    let (plain, _) = cost(&world, &ada, &format!("{{ post(id: \"{parent}\") {{ id }} }}")).await;
    // The post, and its author, who may be private.
    assert_eq!(plain, 2);
    let fields = "nodes { id author { relation { status } } } pageInfo { startCursor endCursor }";
    let middle = post(&world, &ada, &parent, "replies(first: 100) { pageInfo { endCursor } }").await;
    let middle = middle["replies"]["pageInfo"]["endCursor"].as_str().unwrap().to_owned();
    for page in ["first: 20".to_owned(), "last: 20".to_owned(), format!("first: 20, after: \"{middle}\"")] {
        let query = format!("{{ post(id: \"{parent}\") {{ replyCount replies({page}) {{ {fields} }} }} }}");
        let shown = world.data(Some(&ada.token), &query, Value::Null).await["post"].take();
        assert_eq!(shown["replyCount"], 10_000);
        assert_eq!(shown["replies"]["nodes"].as_array().unwrap().len(), 20);
        assert_eq!(cost(&world, &ada, &query).await.0 - plain, 3, "{page}");
    }

    let (mut last, mut place) = (root, None);
    for _ in 0..1_000 {
        place = Some(Reply::to(last, place.as_ref()));
        last = import(place.iter().cloned().collect()).await[0];
    }
    let last = global("Post", last);
    let query = format!("{{ post(id: \"{last}\") {{ ancestors(first: 40) {{ id }} }} }}");
    let shown = world.data(Some(&ada.token), &query, Value::Null).await;
    assert_eq!(shown["post"]["ancestors"].as_array().unwrap().len(), 40);
    assert_eq!(cost(&world, &ada, &query).await.0 - plain, 6);
}
