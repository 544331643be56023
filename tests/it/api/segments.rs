//! The segments of a post's content, through the API.

use serde_json::{Value, json};

use crate::harness::cost::cost;
use crate::harness::post::publish;
use crate::harness::sql::{Database, Kind};
use crate::harness::world::{Person, World, archive_all, codes};

const SEGMENTS: &str = "query ($id: ID!) { post(id: $id) { content segments { __typename text start
    ... on MentionSegment { user { username displayName } }
    ... on HashtagSegment { hashtag { name } }
    ... on LinkSegment { url } } } }";

/// Returns the segments of a post as a reader sees them.
async fn segments(world: &World, reader: Option<&Person>, id: &str) -> Vec<Value> {
    let token = reader.map(|reader| reader.token.as_str());
    let mut post = world.data(token, SEGMENTS, json!({ "id": id })).await["post"].take();
    let segments = post["segments"].as_array().unwrap();
    let texts: String = segments.iter().map(|segment| segment["text"].as_str().unwrap()).collect();
    assert_eq!(post["content"], texts);
    serde_json::from_value(post["segments"].take()).unwrap()
}

/// Returns the mentioned users of a post as a reader sees them, by display name.
async fn mentioned(world: &World, reader: Option<&Person>, id: &str) -> Vec<Value> {
    let segments = segments(world, reader, id).await;
    let mentions = segments.into_iter().filter(|segment| segment["__typename"] == "MentionSegment");
    mentions.map(|mut mention| mention["user"]["username"].take()).collect()
}

#[tokio::test]
async fn a_content_is_divided_into_text_mentions_hashtags_and_links() {
    let world = World::new().await;
    let ada = world.register("ada").await;
    let id = publish(&world, &ada, "🦀 שלום @Ada، #Café\nexample.org/a_(b)! HTTP://a.org/ $CASH").await;
    let text =
        |text: &str, start: usize| json!({ "__typename": "TextSegment", "text": text, "start": start });
    let link = |text: &str, start: usize, url: &str| json!({ "__typename": "LinkSegment", "text": text, "start": start, "url": url });
    let expected = [
        text("🦀 שלום ", 0),
        json!({ "__typename": "MentionSegment", "text": "@Ada", "start": 7,
            "user": { "username": "ada", "displayName": "ada" } }),
        text("، ", 11),
        json!({ "__typename": "HashtagSegment", "text": "#Café", "start": 13, "hashtag": { "name": "café" } }),
        text("\n", 18),
        link("example.org/a_(b)", 19, "https://example.org/a_(b)"),
        text("! ", 36),
        link("HTTP://a.org/", 38, "HTTP://a.org/"),
        text(" $CASH", 51),
    ];
    assert_eq!(segments(&world, None, &id).await, expected);
    assert_eq!(segments(&world, Some(&ada), &id).await, expected);
}

#[tokio::test]
async fn the_tags_of_a_post_are_stored_and_archived_with_it() {
    let database = Database::new(Kind::Sqlite).await;
    let world = World::with(&["--archive-url", &database.url, "--post-hot-limit", "1"]).await;
    let [ada, bob] = [world.register("ada").await, world.register("bob").await];
    let stored = |post: u64| -> Option<String> {
        world.redis.raw(&["HGET", &format!("ff:{{p{post}}}:post"), "details"])
    };
    let many: Vec<String> = (10..22).map(|tag| format!("#t{tag}")).collect();
    publish(&world, &ada, &format!("#Café, @bob and #CAFÉ: {}", many.join(" "))).await;
    let tags = "0 0 0 0 0 0 tags=café,t10,t11,t12,t13,t14,t15,t16,t17";
    assert_eq!(stored(1).as_deref(), Some(tags));
    publish(&world, &bob, "@ada").await;
    assert_eq!(stored(2), None, "mentioned users are not stored");
    publish(&world, &ada, "Another.").await;
    archive_all(&world.app).await;
    assert_eq!(stored(1), None);
    let query = format!("SELECT COUNT(*) FROM posts WHERE id = 1 AND details = '{tags}'");
    assert_eq!(database.number(&query).await, 1);
}

#[tokio::test]
async fn tags_and_mentions_cost_no_round_trips_to_publish() {
    let world = World::new().await;
    let people = world.people(2).await;
    let mut costs = Vec::new();
    for content in ["#first", "Plain.", "#a #b @ann1 #c", "@ann0 @ann1"] {
        let query =
            format!("mutation {{ publish(input: {{ content: \"{content}\" }}) {{ post {{ id }} }} }}");
        costs.push(cost(&world, &people[0], &query).await.0);
    }
    assert_eq!(costs, [costs[1]; 4]);
}

#[tokio::test]
async fn a_mention_of_no_user_or_of_a_hidden_user_has_none() {
    let world = World::new().await;
    let people = world.people(3).await;
    let id = publish(&world, &people[0], "@nobody @ann1 @ann2").await;
    let block = "mutation ($id: ID!) { block(input: { userId: $id }) { userErrors { code } } }";
    world.data(Some(&people[1].token), block, json!({ "id": people[2].id })).await;
    // Whoever blocks still finds the blocked.
    let all = [Value::Null, json!("ann1"), json!("ann2")];
    assert_eq!(mentioned(&world, Some(&people[1]), &id).await, all);
    assert_eq!(mentioned(&world, None, &id).await, all);
    let hidden = [Value::Null, Value::Null, json!("ann2")];
    assert_eq!(mentioned(&world, Some(&people[2]), &id).await, hidden);
}

#[tokio::test]
async fn the_eleventh_mention_is_plain_text() {
    let world = World::new().await;
    let people = world.people(11).await;
    let names: Vec<String> = (0..11).map(|number| format!("ann{number}")).collect();
    let content = format!("@{} @ann0", names.join(" @"));
    let id = publish(&world, &people[0], &content).await;
    let expected: Vec<Value> = names[..10].iter().map(|name| json!(name)).collect();
    assert_eq!(mentioned(&world, None, &id).await, expected);
    let text = json!({ "__typename": "TextSegment", "text": " @ann10 @ann0", "start": 59 });
    assert!(segments(&world, None, &id).await.contains(&text));
}

#[tokio::test]
async fn mentions_cost_two_round_trips_regardless_of_their_number() {
    let world = World::new().await;
    let people = world.people(12).await;
    let posts = |fields: &str| {
        format!(
            "{{ user(by: {{ username: \"ann0\" }}) {{ posts(first: 20) {{ nodes {{ content {fields} }} }} }} }}"
        )
    };
    let mentions =
        posts("segments { text ... on MentionSegment { user { displayName relation { status } } } }");
    publish(&world, &people[0], "@ann1").await;
    let without = cost(&world, &people[11], &posts("")).await.0;
    let (one, _) = cost(&world, &people[11], &mentions).await;
    for number in 0..19 {
        let names: Vec<String> =
            (0..10).map(|mention| format!("@ann{}", 1 + (number + mention) % 11)).collect();
        publish(&world, &people[0], &names.join(" ")).await;
    }
    let (many, commands) = cost(&world, &people[11], &mentions).await;
    assert_eq!((one, many), (without + 2, without + 2));
    // Eleven names and the name of the author, each of them once.
    assert_eq!(commands["hget"], 1 + 11 + 1);
}

#[tokio::test]
async fn segments_of_a_long_content_take_from_the_budget_of_the_response() {
    let world = World::with(&["--graphql-response-limit", "65536"]).await;
    let ada = world.register("ada").await;
    let id = publish(&world, &ada, &format!("a.co/{} ", "x".repeat(190)).repeat(10)).await;
    let urls: Vec<String> = (0..15).map(|alias| format!("u{alias}: url t{alias}: text")).collect();
    let urls = format!("url text {}", urls.join(" "));
    let query = format!("{{ post(id: \"{id}\") {{ segments {{ ... on LinkSegment {{ {urls} }} }} }} }}");
    let response = world.ask(None, &query, Value::Null).await;
    assert_eq!(codes(&response), ["QUERY_TOO_COMPLEX"], "{response}");
}
