//! The cost of a query: round trips grow with the depth of a query, commands with its rows, and nothing with the number
//! of fields.

use std::collections::BTreeMap;

use fanfold::app::import::ImportFollow;
use fanfold::app::post::NewPost;
use fanfold::model::details::References;
use fanfold::model::id::UserId;
use fanfold::model::page::Direction;
use fanfold::model::post::{Content, Visibility};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::harness::cost::{cost, counted};
use crate::harness::graph::Graph;
use crate::harness::walk::walk;
use crate::harness::world::{Person, WATERMARK_AGE, World, deliver_all};

/// A world in which `star` has very many followers, who follow each other, and a viewer.
async fn world(options: &[&str]) -> (World, Person) {
    let world = World::with(options).await;
    let viewer = world.register("viewer").await;
    let graph = Graph::generated(300, 6_000, 3);
    let follows = (1..300).map(|follower| (follower, 0)).chain(graph.follows);
    Graph { users: 300, follows: follows.collect() }.load(&world.app, None).await;
    (world, viewer)
}

fn commands<const N: usize>(commands: [(&str, u64); N]) -> BTreeMap<String, u64> {
    commands.into_iter().map(|(name, count)| (name.to_owned(), count)).collect()
}

#[tokio::test]
async fn a_page_of_followers_costs_three_round_trips_and_a_command_a_row() {
    let (world, viewer) = world(&[]).await;
    let query = "{ user(by: { username: \"u0\" }) { followers(first: 50) { nodes {
        username displayName relation { status } } } } }";
    let (trips, counted) = cost(&world, &viewer, query).await;
    assert_eq!(trips, 3);
    // The session and the name; the page; fifty users and one transaction for their relations.
    let expected = commands([
        ("hget", 1),
        ("zrevrange", 1 + 2),
        ("hmget", 1 + 50),
        ("multi", 1),
        ("zadd", 1),
        ("pexpire", 1),
        ("zinterstore", 2),
        ("unlink", 1),
        ("exec", 1),
    ]);
    assert_eq!(counted, expected);
}

#[tokio::test]
async fn by_probing_a_page_costs_the_same_round_trips_and_no_writes() {
    let (world, viewer) = world(&["--relation-strategy", "zmscore"]).await;
    let query = "{ user(by: { username: \"u0\" }) { followers(first: 50) { nodes {
        username displayName relation { status } } } } }";
    let (trips, counted) = cost(&world, &viewer, query).await;
    assert_eq!(trips, 3);
    let expected = commands([("hget", 1), ("zrevrange", 1), ("hmget", 1 + 50), ("zmscore", 2)]);
    assert_eq!(counted, expected);
}

#[tokio::test]
async fn nested_pages_cost_a_round_trip_per_level_regardless_of_their_number() {
    let (world, viewer) = world(&[]).await;
    let nested = |outer: usize, inner: usize, fields: &str| {
        format!(
            "{{ user(by: {{ username: \"u0\" }}) {{ followers(first: {outer}) {{ nodes {{
                followers(first: {inner}) {{ nodes {{ {fields} relation {{ status }} }} }} }} }} }} }}"
        )
    };
    let (trips, counted) = cost(&world, &viewer, &nested(20, 5, "username")).await;
    // One round trip finds the user; the levels below take at most four.
    assert_eq!(trips, 1 + 4);
    assert_eq!(counted["zrevrange"], 1 + 20 + 2);
    assert!(counted["hmget"] <= 1 + 20 + 20 * 5);
    assert_eq!((counted["multi"], counted["zinterstore"]), (1, 2));
    for (outer, inner, fields) in
        [(100, 20, "username"), (20, 5, "id username displayName bio createdAt isViewer")]
    {
        let (same, counted) = cost(&world, &viewer, &nested(outer, inner, fields)).await;
        assert_eq!(same, trips, "{outer} × {inner}");
        assert!(counted["hmget"] <= (1 + outer + outer * inner) as u64);
    }
}

#[tokio::test]
async fn fields_side_by_side_share_round_trips() {
    let (world, viewer) = world(&[]).await;
    let query = "{
        a: user(by: { username: \"u0\" }) { ...all }
        b: user(by: { username: \"u1\" }) { ...all }
        viewer { user { ...all } }
    }
    fragment all on User {
        displayName bio relation { status }
        followers(first: 5) { totalCount nodes { displayName relation { status } } pageInfo { hasNextPage } }
        following(first: 5) { totalCount edges { followedAt node { bio relation { status } } } }
        mutuals(first: 5) { totalCount nodes { username } }
    }";
    let (trips, _) = cost(&world, &viewer, query).await;
    // Names and the viewer's own lists; lists of the two named; and their users. The viewer is one
    // level ahead, so its users go with the lists of the others.
    assert_eq!(trips, 3);
}

#[tokio::test]
async fn known_followers_cost_one_more_round_trip_and_only_once() {
    let (world, viewer) = world(&[]).await;
    let people = world.people(1).await;
    world.follow(&viewer, &people[0]).await;
    let one = "{ user(by: { username: \"u0\" }) { knownFollowers { totalCount nodes { username } } } }";
    let many = "{ user(by: { username: \"u0\" }) { followers(first: 20) { nodes {
        knownFollowers(first: 3) { totalCount } } } } }";
    assert!(cost(&world, &viewer, one).await.0 <= 4);
    let (trips, counted) = cost(&world, &viewer, many).await;
    assert!(trips <= 5, "{trips}");
    assert_eq!(counted["zmscore"], 20);
}

#[tokio::test]
async fn unselected_fields_are_not_loaded() {
    let (world, viewer) = world(&[]).await;
    let (trips, counted) =
        cost(&world, &viewer, "{ user(by: { username: \"u0\" }) { followers { totalCount } } }").await;
    assert_eq!((trips, counted), (2, commands([("hmget", 1), ("hget", 1), ("zcard", 1)])));
    let query = "{ user(by: { username: \"u0\" }) { id isViewer followers { pageInfo { hasNextPage } } } }";
    let (trips, counted) = cost(&world, &viewer, query).await;
    assert_eq!((trips, counted), (2, commands([("hmget", 1), ("hget", 1), ("zrevrange", 1)])));
    let query = "{ user(by: { username: \"u0\" }) { followers(first: 3) { nodes { id } } } }";
    let (trips, counted) = cost(&world, &viewer, query).await;
    assert_eq!((trips, counted), (3, commands([("hget", 1), ("zrevrange", 1), ("hmget", 1 + 3)])));
}

#[tokio::test]
async fn an_anonymous_page_reads_no_relations() {
    let (world, _) = world(&[]).await;
    let query = "{ user(by: { username: \"u0\" }) { followers(first: 5) { nodes { username relation { status } } } } }";
    world.redis.raw::<String>(&["CONFIG", "RESETSTAT"]);
    let data = world.data(None, query, Value::Null).await;
    assert_eq!(data["user"]["followers"]["nodes"][0]["relation"], json!(null));
    let stats: String = world.redis.raw(&["INFO", "commandstats"]);
    assert!(!stats.contains("zinterstore") && !stats.contains("multi"));
}

#[tokio::test]
async fn the_payload_of_a_mutation_is_read_in_one_round_trip() {
    let (world, viewer) = world(&[]).await;
    let query = "mutation { follow(input: { userId: \"VXNlcjoy\" }) {
        relation { status user { bio } } user { username displayName bio createdAt relation { status } } } }";
    let (trips, counted) = cost(&world, &viewer, query).await;
    // One to find the user, five for the edge, whose mirror is written with a look at the record, and one for the payload.
    assert_eq!((trips, counted["hmget"]), (7, 1 + 1 + 2));
}

#[tokio::test]
async fn a_relation_leads_back_to_its_user_at_no_cost() {
    let (world, viewer) = world(&[]).await;
    let query = "{ user(by: { username: \"u0\" }) { followers(first: 10) { nodes {
        relation { status user { displayName bio createdAt } } } } } }";
    let (trips, counted) = cost(&world, &viewer, query).await;
    assert_eq!((trips, counted["hmget"]), (3, 1 + 10));
}

#[tokio::test]
async fn sessions_are_read_with_the_fields_beside_them() {
    let (world, viewer) = world(&[]).await;
    let query =
        "{ viewer { sessions { label } again: sessions { id } user { bio followers { totalCount } } } }";
    let (trips, counted) = cost(&world, &viewer, query).await;
    assert_eq!((trips, counted["hgetall"]), (1, 1));
}

/// A world in which the viewer follows this number of authors, who have posted, one of them a star.
async fn feed(follows: usize) -> (World, Person) {
    let world = World::with(&["--timeline-push-limit", "20"]).await;
    let viewer = world.register("viewer").await;
    let graph = Graph { users: follows + 25, follows: (1..25).map(|fan| (fan, 0)).collect() };
    let ids = graph.load(&world.app, None).await;
    let at = Graph::time(0);
    let follower = world.app.authenticate(&viewer.token).await.unwrap().user().unwrap();
    let follow = |&followee| ImportFollow { follower, followee, at };
    world.app.import_follows(ids[..follows].iter().map(follow).collect()).await.unwrap();
    let post = |number: usize| NewPost {
        references: References::default(),
        author: ids[number % follows],
        content: Content::parse(&number.to_string()).unwrap(),
        platform: None,
        visibility: Visibility::Public,
        created_at: at,
    };
    for round in 0..3 {
        let posts: Vec<NewPost> = (round * follows..(round + 1) * follows).map(post).collect();
        world.app.import_posts(&posts).await.unwrap();
    }
    deliver_all(&world.app).await;
    (world, viewer)
}

const FEED: &str = "{ viewer { timeline(first: 20) { nodes {
    content createdAt author { username displayName relation { status followingSince } } } } } }";

#[tokio::test]
async fn a_page_of_the_timeline_costs_the_same_regardless_of_its_size_and_of_the_number_of_followees() {
    let mut costs = Vec::new();
    for follows in [5, 500] {
        let (world, viewer) = feed(follows).await;
        for first in [1, 20, 100] {
            let query = FEED.replace("first: 20", &format!("first: {first}"));
            let (trips, counted) = cost(&world, &viewer, &query).await;
            // The posts of the star, the posts of the page, and their authors with their relations to the viewer.
            costs.push(trips);
            let posts = first.min(3 * follows - 1) + 1;
            let authors = posts.min(follows) as u64;
            assert_eq!(counted["hmget"], 1 + posts as u64 + authors, "{follows} {first}");
            assert_eq!(counted["multi"], 1);
        }
    }
    assert_eq!(costs, [5; 6], "the watermark, the timeline, the star, the posts, the authors");
}

#[tokio::test]
async fn timelines_read_at_the_same_time_share_the_watermark() {
    let world = World::with(&[WATERMARK_AGE, "10"]).await;
    let viewer = world.register("viewer").await;
    let publish = "mutation { publish(input: { content: \"news\" }) { post { id } } }";
    world.data(Some(&viewer.token), publish, Value::Null).await;
    deliver_all(&world.app).await;
    let query = "{ viewer { timeline(first: 1) { nodes { content } } } }";
    cost(&world, &viewer, query).await;
    world.redis.raw::<String>(&["CONFIG", "RESETSTAT"]);
    let began = Instant::now();
    for _ in 0..100 {
        let reads = (0..10).map(|_| world.data(Some(&viewer.token), query, Value::Null));
        futures::future::join_all(reads).await;
    }
    // The script of the watermark is the only one that looks for the first post being published.
    let watermarks = counted(&world)["zrange"];
    let most = began.elapsed().as_millis() / 10 + 1;
    assert!(u128::from(watermarks) <= most, "{watermarks} watermarks for 1,000 timelines, at most {most}");
}

#[tokio::test]
async fn of_very_many_stars_only_a_new_one_is_read() {
    let world = World::with(&["--timeline-push-limit", "1"]).await;
    let people = world.people(3).await;
    for follower in &people[1..] {
        world.follow(follower, &people[0]).await;
    }
    let script = "for star = 10, 100009 do redis.call('SADD', KEYS[1], star) redis.call('ZADD', KEYS[2], star, star) end";
    world.redis.raw::<()>(&["EVAL", script, "2", "ff:{g}:stars", "ff:{g}:stars:numbered"]);
    let bytes = || {
        let stats: redis::InfoDict = world.redis.raw(&["INFO", "stats"]);
        stats.get::<u64>("total_net_output_bytes").unwrap()
    };
    let read = async || {
        let before = bytes();
        let query = "{ viewer { timeline(first: 1) { nodes { content } } } }";
        (world.data(Some(&people[1].token), query, Value::Null).await, bytes() - before)
    };
    assert!(read().await.1 > 500_000, "all stars");
    let publish = "mutation { publish(input: { content: \"news\" }) { post { id } } }";
    world.data(Some(&people[0].token), publish, Value::Null).await;
    let (data, bytes) = read().await;
    assert_eq!(data["viewer"]["timeline"]["nodes"][0]["content"], "news");
    assert!(bytes < 20_000, "{bytes} bytes");
}

#[tokio::test]
async fn merging_pulled_posts_costs_one_round_trip() {
    let (world, viewer) = feed(5).await;
    cost(&world, &viewer, FEED).await;
    let star = UserId::new(2).unwrap();
    let content = Content::parse("news").unwrap();
    let news = NewPost {
        references: References::default(),
        author: star,
        content,
        platform: None,
        visibility: Visibility::Public,
        created_at: Graph::time(0),
    };
    world.app.import_posts(&[news]).await.unwrap();
    let before = world.app.store().round_trips();
    let data = world.data(Some(&viewer.token), FEED, Value::Null).await;
    assert_eq!(data["viewer"]["timeline"]["nodes"][0]["content"], "news");
    assert_eq!(world.app.store().round_trips() - before - 1, 6);
}

#[tokio::test]
async fn five_hundred_authors_are_pulled_in_one_batch() {
    let (world, viewer) = feed(500).await;
    world.data(Some(&viewer.token), FEED, Value::Null).await;
    world.redis.raw::<i64>(&["DEL", "ff:{u1}:timeline"]);
    let before = world.app.store().round_trips();
    let data = world.data(Some(&viewer.token), FEED, Value::Null).await;
    assert_eq!(data["viewer"]["timeline"]["nodes"].as_array().unwrap().len(), 20);
    // The session, the watermark, the timeline, all authors, the merge, the posts, the authors.
    assert_eq!(world.app.store().round_trips() - before, 7);
}

#[tokio::test]
async fn the_posts_of_the_authors_in_a_timeline_cost_two_round_trips_for_all_of_them() {
    let (world, viewer) = feed(20).await;
    let nested = |authors: usize| {
        format!(
            "{{ viewer {{ timeline(first: {authors}) {{ nodes {{ author {{ username posts(first: 3) {{ nodes {{ content
                author {{ username }} }} totalCount }} }} }} }} }} }}"
        )
    };
    let (few, _) = cost(&world, &viewer, &nested(2)).await;
    let (many, counted) = cost(&world, &viewer, &nested(40)).await;
    assert_eq!((few, many), (7, 7));
    // The last are by the page script, which looks for cold posts.
    assert!(counted["hmget"] <= 1 + 41 + 20 + 60 + 20, "{counted:?}");
}

#[tokio::test]
async fn a_post_is_published_in_five_round_trips_and_its_payload_read_in_three() {
    let (world, viewer) = world(&[]).await;
    let query = "mutation { publish(input: { content: \"x\" }) { post { content author { username displayName relation { status } } delivery { totalCount } } } }";
    let (trips, _) = cost(&world, &viewer, query).await;
    assert_eq!(trips, 5 + 3, "the delivery is read last");
    let query = "mutation { publish(input: { content: \"x\" }) { userErrors { message } } }";
    assert_eq!(cost(&world, &viewer, query).await.0, 5);
}

#[tokio::test]
async fn below_its_floor_a_page_of_the_timeline_costs_two_more_round_trips() {
    let mut costs = Vec::new();
    for follows in [10, 100] {
        let world = World::with(&["--timeline-capacity", "5"]).await;
        let viewer = world.register("viewer").await;
        let ids = Graph { users: follows, follows: Vec::new() }.load(&world.app, None).await;
        let follower = world.app.authenticate(&viewer.token).await.unwrap().user().unwrap();
        let at = Graph::time(0);
        let follow = |&followee| ImportFollow { follower, followee, at };
        world.app.import_follows(ids.iter().map(follow).collect()).await.unwrap();
        let content = Content::parse("x").unwrap();
        let post = |&author| NewPost {
            references: References::default(),
            author,
            content: content.clone(),
            platform: None,
            visibility: Visibility::Public,
            created_at: at,
        };
        for _ in 0..5 {
            world.app.import_posts(&ids.iter().map(post).collect::<Vec<_>>()).await.unwrap();
        }
        deliver_all(&world.app).await;
        let (trips, _) = cost(&world, &viewer, FEED).await;
        costs.push(trips);
    }
    // The watermark, the timeline, the viewer's followees, their posts; the posts of the page and their authors.
    assert_eq!(costs, [6, 6]);
}

#[tokio::test]
async fn a_frequent_author_among_many_infrequent_ones_is_read_in_full() {
    for capacity in ["100", "5"] {
        let world = World::with(&["--timeline-capacity", capacity]).await;
        let viewer = world.register("viewer").await;
        let ids = Graph { users: 30, follows: Vec::new() }.load(&world.app, None).await;
        let caller = world.app.authenticate(&viewer.token).await.unwrap();
        let at = Graph::time(0);
        let follow = |&followee| ImportFollow { follower: caller.user().unwrap(), followee, at };
        world.app.import_follows(ids.iter().map(follow).collect()).await.unwrap();
        // Two of each, then many by the first, then two of each again.
        let authors = ids.iter().chain(&ids).chain(std::iter::repeat_n(&ids[0], 150)).chain(&ids).chain(&ids);
        let content = Content::parse("x").unwrap();
        let post = |&author| NewPost {
            references: References::default(),
            author,
            content: content.clone(),
            platform: None,
            visibility: Visibility::Public,
            created_at: at,
        };
        let posts: Vec<NewPost> = authors.map(post).collect();
        let published = world.app.import_posts(&posts).await.unwrap();
        for direction in [Direction::Forward, Direction::Backward] {
            let seen = walk(&world.app, &caller, direction, 50).await;
            let expected: Vec<u64> = published.iter().rev().map(|post| post.get()).collect();
            assert_eq!(seen, expected, "{capacity} {direction:?}");
        }
    }
}
