//! The resources that one operation may use: exceeding a limit is an error that states it, whatever the predicted cost,
//! and usage beyond the prediction is charged afterwards.

use std::time::Duration;

use fanfold::app::import::ImportFollow;
use fanfold::app::post::NewPost;
use fanfold::model::clock::Timestamp;
use fanfold::model::details::References;
use fanfold::model::id::UserId;
use fanfold::model::post::{Content, Visibility};
use serde_json::{Value, json};

use crate::harness::graph::Graph;
use crate::harness::wait::eventually_async;
use crate::harness::world::{Person, WATERMARK_AGE, World, archive_all, codes};

/// Returns the number of commands that Redis has executed, including those in scripts, but not those of the harness.
fn executed(world: &World) -> u64 {
    let stats: String = world.redis.raw(&["INFO", "commandstats"]);
    let calls =
        |line: &str| line.split([':', ',']).find_map(|part| part.strip_prefix("calls=")?.parse::<u64>().ok());
    let is_quiet = |line: &&str| {
        ["client", "config", "info"].iter().any(|name| line.starts_with(&format!("cmdstat_{name}")))
    };
    stats.lines().filter(|line| !is_quiet(line)).filter_map(calls).sum()
}

/// Returns the response, and the numbers of commands and round trips it took.
async fn measured(world: &World, token: Option<&str>, query: &str) -> (Value, u64, u64) {
    world.redis.raw::<String>(&["CONFIG", "RESETSTAT"]);
    let trips = world.app.store().round_trips();
    let response = world.ask(token, query, Value::Null).await;
    (response, executed(world), world.app.store().round_trips() - trips)
}

/// Asserts that a query was aborted for this reason.
fn assert_over(response: &Value, reason: &str) {
    assert_eq!((codes(response), &response["data"]), (vec!["QUERY_TOO_COMPLEX"], &Value::Null), "{response}");
    let message = response["errors"][0]["message"].as_str().unwrap();
    assert!(message.contains(reason), "{message}");
}

/// Publishes posts of two thousand characters, of four bytes each.
async fn publish_wide(world: &World, author: u64, count: i64) {
    let author = UserId::new(author).unwrap();
    let content = Content::parse(&"\u{1f980}".repeat(2_000)).unwrap();
    let post = |number| NewPost {
        references: References::default(),
        author,
        content: content.clone(),
        platform: None,
        visibility: Visibility::Public,
        created_at: Timestamp::from_millis(number),
    };
    world.app.import_posts(&(0..count).map(post).collect::<Vec<_>>()).await.unwrap();
}

/// Adds these follows.
async fn follow_all(world: &World, edges: impl Iterator<Item = (UserId, UserId)>) {
    let edge = |(follower, followee)| ImportFollow { follower, followee, at: Timestamp::from_millis(0) };
    world.app.import_follows(edges.map(edge).collect()).await.unwrap();
}

/// Returns the texts for the numbers below `count`, one after the other.
fn many(count: usize, text: impl Fn(usize) -> String) -> String {
    (0..count).map(text).collect::<Vec<_>>().join(" ")
}

async fn id_of(world: &World, username: &str) -> String {
    let query = format!("{{ user(by: {{ username: \"{username}\" }}) {{ id }} }}");
    world.data(None, &query, Value::Null).await["user"]["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn the_bytes_of_a_response_are_limited() {
    let world = World::with(&["--graphql-reply-limit", "1000000000"]).await;
    world.register("ada").await;
    publish_wide(&world, 1, 100).await;
    let id = id_of(&world, "ada").await;
    let ids = vec![format!("{id:?}"); 20].join(", ");
    let aliases = many(10, |number| format!("a{number}: content"));
    let query = format!(
        "{{ nodes(ids: [{ids}]) {{ ... on User {{ posts(first: 100) {{ nodes {{ {aliases} }} }} }} }} }}"
    );
    // The query requests 160 megabytes.
    let response = world.ask(None, &query, Value::Null).await;
    assert_over(&response, "its response has more than 8388608 bytes");
    // A response within the limit is sent.
    let one = format!(
        "{{ node(id: {id:?}) {{ ... on User {{ posts(first: 10) {{ nodes {{ {aliases} }} }} }} }} }}"
    );
    let response = world.ask(None, &one, Value::Null).await;
    assert!(response.to_string().len() > 800_000 && response.get("errors").is_none());
}

#[tokio::test]
async fn names_of_fields_count_as_bytes_of_the_response_too() {
    let world = World::with(&["--graphql-response-limit", "65536"]).await;
    world.register("ada").await;
    let id = id_of(&world, "ada").await;
    let long = "a".repeat(2_000);
    let ids = vec![format!("{id:?}"); 40].join(", ");
    let query = format!("{{ nodes(ids: [{ids}]) {{ {long}: id }} }}");
    assert_over(&world.ask(None, &query, Value::Null).await, "its response has more than 65536 bytes");
}

#[tokio::test]
async fn data_that_is_read_and_not_sent_is_bounded_too() {
    let world = World::with(&["--graphql-reply-limit", "65536"]).await;
    world.register("ada").await;
    publish_wide(&world, 1, 20).await;
    let query = "{ user(by: { username: \"ada\" }) { posts(first: 20) { nodes { id } } } }";
    assert_over(&world.ask(None, query, Value::Null).await, "it reads more than 65536 bytes from the store");
}

/// A reader who follows a hundred authors, each of whom has posted twice: more than the timeline holds.
async fn reader(options: &[&str]) -> (World, Person) {
    let options = [options, &["--timeline-capacity", "10"]].concat();
    let world = World::with(&options).await;
    let reader = world.register("reader").await;
    let ids = Graph { users: 100, follows: Vec::new() }.load(&world.app, None).await;
    let me = UserId::new(1).unwrap();
    follow_all(&world, ids.iter().map(|id| (me, *id))).await;
    let content = Content::parse("Hello").unwrap();
    let post = |(number, author): (i64, &UserId)| NewPost {
        references: References::default(),
        author: *author,
        content: content.clone(),
        platform: None,
        visibility: Visibility::Public,
        created_at: Timestamp::from_millis(number),
    };
    world.app.import_posts(&(0..).zip(ids.iter().chain(&ids)).map(post).collect::<Vec<_>>()).await.unwrap();
    (world, reader)
}

/// Returns the cursor after the first entries of the viewer's timeline, as a literal for documents.
async fn end_cursor(world: &World, token: Option<&str>, first: usize) -> Value {
    let query = format!("{{ viewer {{ timeline(first: {first}) {{ pageInfo {{ endCursor }} }} }} }}");
    world.data(token, &query, Value::Null).await["viewer"]["timeline"]["pageInfo"]["endCursor"].take()
}

#[tokio::test]
async fn one_page_of_a_timeline_under_many_aliases_is_read_once() {
    let (world, reader) = reader(&[]).await;
    let token = Some(&*reader.token);
    let cursor = end_cursor(&world, token, 20).await;
    let page = format!("timeline(first: 20, after: {cursor}) {{ nodes {{ content }} }}");
    let one = format!("{{ viewer {{ {page} }} }}");
    world.data(token, &one, Value::Null).await;
    let (_, commands, trips) = measured(&world, token, &one).await;
    let thirty = format!("{{ viewer {{ {} }} }}", many(30, |number| format!("a{number}: {page}")));
    let (response, commands_of_thirty, trips_of_thirty) = measured(&world, token, &thirty).await;
    assert_eq!((response.get("errors"), commands_of_thirty, trips_of_thirty), (None, commands, trips));
}

#[tokio::test]
async fn many_pages_far_down_a_timeline_stay_within_the_limit_of_commands() {
    let (world, reader) = reader(&["--graphql-command-limit", "1000", WATERMARK_AGE, "1000"]).await;
    let token = Some(&*reader.token);
    let first = "{ viewer { timeline(first: 60) { edges { cursor } } } }";
    let data = world.data(token, first, Value::Null).await;
    let cursor = |index: usize| data["viewer"]["timeline"]["edges"][index]["cursor"].clone();
    let page = |number: usize| {
        format!("a{number}: timeline(first: 2, after: {}) {{ nodes {{ id }} }}", cursor(20 + number))
    };
    let one = format!("{{ viewer {{ {} }} }}", page(0));
    assert_eq!(world.ask(token, &one, Value::Null).await.get("errors"), None);
    let thirty = format!("{{ viewer {{ {} }} }}", many(30, page));
    let (response, commands, _) = measured(&world, token, &thirty).await;
    assert_over(&response, "it needs more than 1000 commands to the store");
    assert!(commands < 1_100, "{commands}");
}

#[tokio::test]
async fn a_page_that_has_to_be_refilled_reads_each_author_once() {
    let (world, reader) = reader(&[]).await;
    let token = Some(&*reader.token);
    let cursor = end_cursor(&world, token, 12).await;
    let page = format!(
        "{{ viewer {{ timeline(first: 20, after: {cursor}) {{ nodes {{ content }} pageInfo {{ hasPreviousPage hasNextPage }} }} }} }}"
    );
    world.data(token, &page, Value::Null).await;
    let (_, before, _) = measured(&world, token, &page).await;
    // Missing records leave holes, which are filled from what was already read of the authors.
    for post in 170..185 {
        world.redis.raw::<i64>(&["DEL", &format!("ff:{{p{post}}}:post")]);
    }
    let (response, after, _) = measured(&world, token, &page).await;
    let page = response.pointer("/data/viewer/timeline").unwrap();
    assert_eq!(page["nodes"].as_array().unwrap().len(), 20);
    assert_eq!(page["pageInfo"], json!({ "hasPreviousPage": true, "hasNextPage": true }));
    assert!(after < before + 150, "{before} commands, and {after} with holes");
}

#[tokio::test]
async fn mutuals_are_bounded_by_the_number_of_followees_not_by_the_size_of_the_page() {
    let world = World::with(&["--graphql-command-limit", "2000"]).await;
    let ids = Graph { users: 1_500, follows: Vec::new() }.load(&world.app, None).await;
    follow_all(&world, ids[1..].iter().flat_map(|id| [(ids[0], *id), (*id, ids[0])])).await;
    let count = |number: usize| {
        format!("a{number}: user(by: {{ username: \"u0\" }}) {{ mutuals(first: 0) {{ totalCount }} }}")
    };
    // Under other aliases it is the same list, read once.
    let query = format!("{{ {} }}", many(30, count));
    let data = world.data(None, &query, Value::Null).await;
    assert_eq!(data["a29"]["mutuals"]["totalCount"], 1_499);
    // Several such lists exceed the limit.
    follow_all(
        &world,
        (1..=4).flat_map(|hub| ids[5..].iter().map(move |id| (hub, *id))).map(|(hub, id)| (ids[hub], id)),
    )
    .await;
    let query = format!(
        "{{ {} }}",
        many(5, |number| format!(
            "a{number}: user(by: {{ username: \"u{number}\" }}) {{ mutuals(first: 0) {{ totalCount }} }}"
        ))
    );
    let (response, _, _) = measured(&world, None, &query).await;
    assert_over(&response, "it needs more than 2000 commands to the store");
    // Nothing was intersected: the excess is detected before anything is sent.
    let stats: String = world.redis.raw(&["INFO", "commandstats"]);
    assert!(!stats.contains("cmdstat_zinter:"), "{stats}");
}

#[tokio::test]
async fn a_day_of_very_many_visitors_is_counted_once_for_all_requests() {
    let world = World::with(&["--visit-expected-visitors", "10000000"]).await;
    let people = world.people(2).await;
    world.data(Some(&people[0].token), "{ viewer { user { id } } }", Value::Null).await;
    let query = "{ visits { uniqueVisitors } }";
    let (response, commands, _) = measured(&world, None, query).await;
    assert_eq!(response["data"]["visits"], json!([{ "uniqueVisitors": 1 }]));
    assert!(commands > 70_000, "every shard was counted: {commands}");
    let aliases = many(30, |number| format!("a{number}: visits {{ uniqueVisitors }}"));
    let (response, commands, _) = measured(&world, None, &format!("{{ {aliases} }}")).await;
    assert_eq!(response["data"]["a29"], json!([{ "uniqueVisitors": 1 }]));
    assert!(commands < 10, "{commands}");
}

#[tokio::test]
async fn a_change_takes_effect_though_its_payload_exceeds_the_budget() {
    let world = World::with(&["--graphql-response-limit", "65536"]).await;
    let people = world.people(2).await;
    publish_wide(&world, 2, 20).await;
    let mutation = "mutation ($id: ID!) { follow(input: { userId: $id }) { user { posts(first: 20) { nodes { content } } } } }";
    let response = world.ask(Some(&people[0].token), mutation, json!({ "id": people[1].id })).await;
    assert_eq!(
        (codes(&response), &response["data"]),
        (vec!["QUERY_TOO_COMPLEX"], &json!({ "follow": { "user": { "posts": null } } }))
    );
    assert_eq!(response["errors"][0]["path"][0], "follow");
    let query = "{ viewer { user { following { totalCount } } } }";
    let data = world.data(Some(&people[0].token), query, Value::Null).await;
    assert_eq!(data["viewer"]["user"]["following"]["totalCount"], 1);
}

#[tokio::test]
async fn operations_of_a_batch_share_a_budget() {
    let world = World::with(&["--http-batch-limit", "10", "--graphql-response-limit", "65536"]).await;
    world.register("ada").await;
    publish_wide(&world, 1, 5).await;
    let query =
        json!({ "query": "{ user(by: { username: \"ada\" }) { posts(first: 5) { nodes { content } } } }" });
    for (count, is_over) in [(1, false), (2, true)] {
        let body = Value::Array(vec![query.clone(); count]).to_string();
        let request = axum::http::Request::post("/graphql").header("content-type", "application/json");
        let (_, _, response) = world.send(request.body(body.into()).unwrap()).await;
        let responses: Vec<Value> = serde_json::from_slice(&response).unwrap();
        assert_eq!(responses.len(), count);
        let failed: Vec<&Value> =
            responses.iter().filter(|response| response.get("errors").is_some()).collect();
        assert_eq!(!failed.is_empty(), is_over, "{responses:?}");
        assert!(failed.into_iter().all(|response| codes(response) == ["QUERY_TOO_COMPLEX"]));
    }
}

#[tokio::test]
async fn usage_beyond_the_predicted_cost_is_charged_afterwards() {
    let (world, reader) = reader(&["--graphql-rate-limit", "60", "--graphql-cost-limit", "1000"]).await;
    let token = Some(&*reader.token);
    let left = async || {
        let data = world.data(token, "{ rateLimit { remaining } }", Value::Null).await;
        data["rateLimit"]["remaining"].as_u64().unwrap()
    };
    let cursor = end_cursor(&world, token, 20).await;
    world.clock.advance(Duration::from_hours(1));
    let before = left().await;
    // The predicted cost is a few objects; the posts of every followee are read.
    let page = format!("{{ viewer {{ timeline(first: 1, after: {cursor}) {{ nodes {{ id }} }} }} }}");
    world.data(token, &page, Value::Null).await;
    let is_charged = async || {
        world.clock.advance(Duration::from_secs(2));
        left().await + 60 < before
    };
    assert!(eventually_async(is_charged).await, "it was not charged");
}

#[tokio::test]
async fn operations_that_share_a_large_fragment_are_rejected_together() {
    let world = World::new().await;
    let fields = many(900, |number| format!("f{number}: id"));
    let operations = many(130, |number| format!("query Q{number} {{ ...F }}"));
    let query = format!("{operations} fragment F on Query {{ viewer {{ user {{ {fields} }} }} }}");
    let trips = world.app.store().round_trips();
    let body = json!({ "query": query, "operationName": "Q1" }).to_string();
    let request = axum::http::Request::post("/graphql").header("content-type", "application/json");
    let (_, _, response) = world.send(request.body(body.into()).unwrap()).await;
    let response: Value = serde_json::from_slice(&response).unwrap();
    assert_eq!(codes(&response), ["QUERY_TOO_COMPLEX"]);
    assert_eq!(world.app.store().round_trips(), trips);
}

#[tokio::test]
async fn values_and_aliases_that_are_used_many_times_are_bounded() {
    let world = World::new().await;
    let long = "x".repeat(20_000);
    let message = "The document is too complex: its values and aliases have more than 262144 bytes.";
    for (count, is_bounded) in [(2, false), (20, true)] {
        let users = |selection: &str| {
            let users = (0..count)
                .map(|number| format!("u{number}: user(by: {{ username: $name }}) {{ {selection} }}"));
            users.collect::<Vec<_>>().join(" ")
        };
        let of_values = format!("query($name: String!) {{ {} }}", users("id"));
        let of_aliases =
            format!("query($name: String!) {{ {} }} fragment F on User {{ {long}: id }}", users("...F"));
        for (query, name) in [(of_values, &*long), (of_aliases, "x")] {
            let response = world.ask(None, &query, json!({ "name": name })).await;
            assert_eq!(response["errors"][0]["message"] == message, is_bounded, "{response}");
        }
    }
}

#[tokio::test]
async fn statements_to_the_archive_are_bounded() {
    let options = ["--graphql-statement-limit", "10", "--post-hot-limit", "1"];
    let (world, reader) = reader(&options).await;
    archive_all(&world.app).await;
    let token = Some(&*reader.token);
    let first = "{ viewer { timeline(first: 30) { edges { cursor } } } }";
    let data = world.data(token, first, Value::Null).await;
    let cursor = |index: usize| data["viewer"]["timeline"]["edges"][index]["cursor"].clone();
    let page = |number: usize| {
        format!("a{number}: timeline(first: 1, after: {}) {{ nodes {{ id }} }}", cursor(number))
    };
    let query = format!("{{ viewer {{ {} }} }}", many(20, page));
    assert_over(
        &world.ask(token, &query, Value::Null).await,
        "it needs more than 10 statements to the archive",
    );
}

#[tokio::test]
async fn a_country_with_very_many_subdivisions_uses_more_than_was_predicted() {
    let world = World::new().await;
    // All countries together are within the limits.
    let all = "{ countries { code name subdivisions { code name __typename } __typename } }";
    assert_eq!(world.ask(None, all, Value::Null).await.get("errors"), None);
    let ada = world.register("ada").await;
    let settle = "mutation { updateProfile(input: { region: { country: \"SI\" } }) { viewer { id } } }";
    world.data(Some(&ada.token), settle, Value::Null).await;
    let ids = vec![format!("{:?}", ada.id); 80].join(", ");
    let aliases = many(20, |number| format!("a{number}: name"));
    let query = format!(
        "{{ nodes(ids: [{ids}]) {{ ... on User {{ region {{ country {{ subdivisions {{ {aliases} }} }} }} }} }} }}"
    );
    assert_over(&world.ask(None, &query, Value::Null).await, "their further entries cost more than 5000");
}

#[tokio::test]
async fn text_of_a_list_is_not_written_far_beyond_the_limit() {
    let world = World::with(&["--graphql-response-limit", "100000", "--graphql-cost-limit", "5000"]).await;
    world.register("ada").await;
    publish_wide(&world, 1, 100).await;
    let aliases = many(30, |number| format!("{}{number}: id", "a".repeat(200)));
    let query = format!(
        "{{ user(by: {{ username: \"ada\" }}) {{ posts(first: 100) {{ nodes {{ {aliases} }} }} }} }}"
    );
    let before = world.app.store().round_trips();
    assert_over(&world.ask(None, &query, Value::Null).await, "its response has more than 100000 bytes");
    assert!(world.app.store().round_trips() - before < 6, "the list is not read again");
}
