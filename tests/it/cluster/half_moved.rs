//! Lists of a user whose slot of a Redis Cluster is half moved: the same responses as before, without a pause.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::time::{Duration, Instant};

use fanfold::app::App;
use fanfold::model::clock::{Period, Timestamp};
use fanfold::model::id::{PostId, UserId};
use fanfold::model::mark::Mark;
use fanfold::model::page::{Direction, Window};
use fanfold::store::post_list::{self, CountWithin, Counted, PostPage};
use fanfold::store::post_times;
use fanfold::store::timeline::{self, Pulled};
use proptest::collection::{btree_map, btree_set};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::Value;

use crate::harness::case::model_config;
use crate::harness::cluster::Cluster;
use crate::harness::feed::{follow, publish};
use crate::harness::server::{Server, eventually, serve};
use crate::harness::world::{ManualClock, app_at};

/// Number of posts that stay hot.
const HOT: usize = 4;
/// Time within which each request is served. An operation that waits for the slot takes two seconds, and any other takes
/// milliseconds.
const PROMPT: Duration = Duration::from_millis(1_900);

/// Sends a request, and asserts that it succeeds without a pause.
#[allow(clippy::disallowed_methods, reason = "a server process takes real time")]
fn promptly(server: &Server, token: &str, query: &str) -> Value {
    let began = Instant::now();
    let response = server.ask_as(token, query);
    assert!(response["errors"].is_null(), "{query}: {response}");
    assert!(began.elapsed() < PROMPT, "{query} took {:?}", began.elapsed());
    response
}

fn timeline(server: &Server, token: &str) -> Vec<Value> {
    let query = "{ viewer { timeline(first: 100) { nodes { content author { username } } } } }";
    let response = promptly(server, token, query);
    response["data"]["viewer"]["timeline"]["nodes"].as_array().unwrap().clone()
}

/// Returns the star's posts, newest first: the content, the cursor and the time of each.
fn posts(server: &Server, token: &str) -> Vec<[String; 3]> {
    let query = "{ user(by: { username: \"star\" }) { posts(first: 100) { edges { cursor node { content createdAt } } } } }";
    let response = server.ask_as(token, query);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let edges = response["data"]["user"]["posts"]["edges"].as_array().unwrap();
    let post =
        |edge: &Value| [&edge["node"]["content"], &edge["cursor"], &edge["node"]["createdAt"]].map(text);
    edges.iter().map(post).collect()
}

/// Returns queries of the star's lists: pages of posts from several positions and in several periods, and lists of
/// users.
fn queries(posts: &[[String; 3]]) -> Vec<String> {
    let user = "username relation { status }";
    let of_star = |fields: &str| format!("{{ user(by: {{ username: \"star\" }}) {{ {fields} }} }}");
    let lists = ["followers", "following", "mutuals", "knownFollowers"];
    let lists = lists.map(|list| format!("{list}(first: 3) {{ totalCount nodes {{ {user} }} }}"));
    let mut queries = vec![of_star(&format!("{user} {}", lists.join(" ")))];
    let mut periods = vec![String::new()];
    for (since, until) in
        [(Some(2), None), (None, Some(2)), (Some(HOT + 1), Some(1)), (Some(posts.len() - 1), Some(HOT + 2))]
    {
        let end = |name, index: Option<usize>| index.map(|index| format!("{name}: \"{}\" ", posts[index][2]));
        let ends = [end("since", since), end("until", until)].map(Option::unwrap_or_default).concat();
        periods.push(format!(", createdAt: {{ {ends}}}"));
    }
    let part = "totalCount nodes { content } pageInfo { hasNextPage hasPreviousPage startCursor endCursor }";
    for period in periods {
        let mut pages =
            vec![format!("first: 3{period}"), format!("last: 3{period}"), format!("first: 50{period}")];
        for [_, cursor, _] in [&posts[1], &posts[HOT - 1], &posts[HOT], &posts[posts.len() - 2]] {
            pages.push(format!("first: 2, after: \"{cursor}\"{period}"));
            pages.push(format!("last: 2, before: \"{cursor}\"{period}"));
        }
        for pages in pages.chunks(4) {
            let page = |(index, page): (usize, &String)| format!("page{index}: posts({page}) {{ {part} }}");
            queries.push(of_star(&pages.iter().enumerate().map(page).collect::<Vec<_>>().join(" ")));
        }
    }
    queries
}

/// Asserts that the owner of the token, whose slot moves, reads without a pause, and learns it in time if an operation
/// cannot be executed.
fn a_user_of_the_slot_is_served(cluster: &Cluster, server: &Server, token: &str) {
    let moving = cluster.begin_to_move_slot("ff:{u1}:user");
    moving.move_key("ff:{u1}:posts");
    promptly(server, token, "{ viewer { user { username posts(first: 3) { nodes { content } } } } }");
    let exclusions = "{ viewer { blocked { nodes { username } } muted { totalCount } } }";
    promptly(server, token, exclusions);
    let publish = "mutation { publish(input: { content: \"between\", platform: \"test\" }) { post { id } } }";
    for request in [publish, "{ viewer { timeline(first: 3) { nodes { content } } } }"] {
        #[allow(clippy::disallowed_methods, reason = "a server process takes real time")]
        let began = Instant::now();
        let response = server.ask_as(token, request);
        assert!(began.elapsed() < Duration::from_secs(20), "{request} took {:?}", began.elapsed());
        let code = &response["errors"][0]["extensions"]["code"];
        assert!(response["errors"].is_null() || code == "UNAVAILABLE", "{response}");
    }
    moving.end();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_of_users_in_a_half_moved_slot_are_read_without_a_pause() {
    let (cluster, directory) = (Cluster::start(3, 0), tempfile::tempdir().unwrap());
    let hot = HOT.to_string();
    let limits = ["--post-publishes-per-author", "1000000", "--account-registrations-per-address", "1000"];
    // No exclusions are cached.
    let uncached = ["--relation-exclusion-cache", "0"];
    let options =
        [&["--timeline-push-limit", "1", "--post-hot-limit", &hot], &limits[..], &uncached].concat();
    let server = serve(&cluster, &directory, &options);
    // The star has the id 1.
    let [star, reader, fan, friend] = ["star", "reader", "fan", "friend"].map(|name| server.token(name));
    for follower in [&fan, &friend, &reader] {
        follow(&server, follower, "star");
    }
    for (follower, followee) in [(&star, "friend"), (&star, "reader"), (&reader, "fan")] {
        follow(&server, follower, followee);
    }
    // The star has exclusions, and a server that does not know them yet reads them while the slot moves.
    server.token("foe");
    let foe = server.ask("{ user(by: { username: \"foe\" }) { id } }")["data"]["user"]["id"].clone();
    let block = format!("mutation {{ block(input: {{ userId: {foe} }}) {{ userErrors {{ code }} }} }}");
    assert_eq!(server.ask_as(&star, &block)["data"]["block"]["userErrors"], serde_json::json!([]));
    let published: Vec<String> =
        (0..12).map(|number| publish(&server, &star, &format!("{number}"))).collect();
    let hot_posts =
        || cluster.owner_of(&["LLEN", "ff:{u1}:posts"]).redis.raw::<usize>(&["LLEN", "ff:{u1}:posts"]);
    assert!(eventually(|| hot_posts() == HOT), "the other posts are archived");
    for post in [&published[2], &published[10]] {
        let input = format!("input: {{ postId: \"{post}\" }}");
        let response =
            server.ask_as(&star, &format!("mutation {{ deletePost({input}) {{ deletedPostId }} }}"));
        assert_eq!(response["data"]["deletePost"]["deletedPostId"], **post, "{response}");
    }
    let keys: Vec<String> = {
        let moving = cluster.begin_to_move_slot("ff:{u1}:user");
        let keys = moving.keys(100);
        moving.end();
        keys
    };
    for key in ["posts", "cold", "recent", "following", "followers"] {
        assert!(keys.contains(&format!("ff:{{u1}}:{key}")), "{keys:?}");
    }
    let none = vec![Vec::new(), keys.clone()];
    for (number, moved) in none.into_iter().chain(keys.iter().map(|key| vec![key.clone()])).enumerate() {
        // One follower has a timeline, which lacks the new post, and the other does not have one yet.
        let newcomer = server.token(&format!("newcomer{number}"));
        follow(&server, &newcomer, "star");
        timeline(&server, &fan);
        let content = format!("before move {number}");
        publish(&server, &star, &content);
        let posts = posts(&server, &reader);
        assert_eq!(posts[0][0], content);
        let queries = queries(&posts);
        let expected: Vec<Value> = queries.iter().map(|query| promptly(&server, &reader, query)).collect();

        let moving = cluster.begin_to_move_slot("ff:{u1}:user");
        for key in &moved {
            moving.move_key(key);
        }
        for (query, expected) in queries.iter().zip(&expected) {
            assert_eq!(promptly(&server, &reader, query), *expected, "{query}, with {moved:?} moved");
        }
        for follower in [&fan, &newcomer] {
            let contents: Vec<Value> =
                timeline(&server, follower).iter().map(|post| post["content"].clone()).collect();
            assert_eq!(
                contents,
                posts.iter().map(|[content, ..]| content.as_str()).collect::<Vec<_>>(),
                "with {moved:?} moved"
            );
        }
        moving.end();
        for (query, expected) in queries.iter().zip(&expected) {
            assert_eq!(promptly(&server, &reader, query), *expected);
        }
    }
    a_user_of_the_slot_is_served(&cluster, &server, &star);
    publish(&server, &star, "after all moves");
    assert_eq!(timeline(&server, &fan)[0]["content"], "after all moves");
}

/// Ids of posts.
const IDS: Range<u64> = 1..2_100;
/// A day in milliseconds.
const DAY: i64 = 86_400_000;

/// What is stored about an author's posts.
#[derive(Clone, Debug)]
struct Stored {
    /// The hot posts, with the time by which each was created early or late.
    hot: BTreeMap<u64, i64>,
    /// Deleted posts that may still be in the archive.
    gone: BTreeSet<u64>,
    /// The greatest cold post, the number of cold posts and the latest creation time of a cold post.
    cold: Option<(u64, u64, Option<i64>)>,
    /// Only followers can see every hot post whose id is divisible by this number, and so many cold posts.
    limited: Option<(u64, u64)>,
    /// Number of the newest posts.
    recent: usize,
    has_times: bool,
}

/// A read of an author's posts.
#[derive(Clone, Debug)]
struct Request {
    window: Window<PostId>,
    period: Period,
    mark: Mark,
    limit: usize,
}

/// The ids grow with the time: ten a day, published by servers whose clocks differ.
fn time_of(post: u64, early: i64) -> i64 {
    i64::try_from(post).unwrap() * DAY / 10 + early
}

fn stored() -> impl Strategy<Value = Stored> {
    let hot =
        prop_oneof![btree_map(IDS, -DAY / 2..DAY / 2, 0..12), btree_map(IDS, -DAY / 2..DAY / 2, 40..400)];
    let cold = proptest::option::of((IDS, 0u64..50, proptest::option::of(0..210 * DAY)));
    let limited = proptest::option::of((1u64..4, 0u64..3));
    let rest = (btree_set(IDS, 0..400), cold, limited, 1usize..20, proptest::bool::weighted(0.9));
    (hot, rest).prop_map(|(hot, (mut gone, cold, limited, recent, has_times))| {
        gone.retain(|post| !hot.contains_key(post));
        Stored { hot, gone, cold, limited, recent, has_times }
    })
}

fn request() -> impl Strategy<Value = Request> {
    let end = || proptest::option::of(-DAY..211 * DAY);
    let parts = (any::<bool>(), 0usize..60, proptest::option::of(IDS), end(), end(), 0..2_200u64, 1usize..60);
    parts.prop_map(|(forward, size, from, since, until, mark, limit)| {
        let direction = if forward { Direction::Forward } else { Direction::Backward };
        let time = |end: Option<i64>| end.map(Timestamp::from_millis);
        Request {
            window: Window { direction, size, from: from.and_then(PostId::new) },
            period: Period { since: time(since), until: time(until) },
            mark: Mark::new(mark),
            limit,
        }
    })
}

impl Stored {
    /// Writes all of it to the keys of the first user.
    fn write(&self, cluster: &Cluster) {
        let execute = |name: &str, part: &str, words: Vec<String>| {
            let key = format!("ff:{{u1}}:{part}");
            cluster.try_raw(&["DEL", &key]).unwrap();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            if !words.is_empty() {
                cluster.try_raw(&[&[name, &key], &words[..]].concat()).unwrap();
            }
        };
        let scored = |ids: Vec<u64>| ids.iter().flat_map(|id| [id.to_string(), id.to_string()]).collect();
        let newest: Vec<u64> = self.hot.keys().rev().copied().collect();
        execute("RPUSH", "posts", newest.iter().map(u64::to_string).collect());
        let element = |(post, early): (&u64, &i64)| {
            post_times::time_element(
                PostId::new(*post).unwrap(),
                Timestamp::from_millis(time_of(*post, *early)),
            )
        };
        let times = self.hot.iter().rev().map(element).collect();
        execute("RPUSH", "posts:times", if self.has_times { times } else { Vec::new() });
        let is_limited = |post: u64| self.limited.is_some_and(|(number, _)| post.is_multiple_of(number));
        let limited = self.hot.iter().filter(|(post, _)| is_limited(**post));
        let limited =
            limited.flat_map(|(post, early)| [time_of(*post, *early).to_string(), post.to_string()]);
        execute("ZADD", "limited", limited.collect());
        execute("ZADD", "recent", scored(newest.into_iter().take(self.recent).collect()));
        execute("ZADD", "gone", scored(self.gone.iter().copied().collect()));
        let cold = self.cold.map_or(Vec::new(), |(greatest, count, latest)| {
            let latest = latest.map(|latest| ("latest", latest.to_string()));
            let fields = [("greatest", greatest.to_string()), ("count", count.to_string())];
            let limited = self.limited.map(|(_, cold)| ("limited", cold.to_string()));
            let fields = fields.into_iter().chain(latest).chain(limited);
            fields.flat_map(|(name, value)| [name.to_owned(), value]).collect()
        });
        execute("HSET", "cold", cold);
    }
}

/// What scripts read of an author's posts: two pages, the counts of all posts and of public ones, and what is pulled.
type AllRead = (PostPage, Option<PostPage>, [(u64, Option<CountWithin>); 2], Pulled);

/// Reads all that scripts read of the first user's posts.
async fn read(app: &App, request: &Request) -> AllRead {
    let (store, keys, author) = (app.store(), app.store().keys(), UserId::new(1).unwrap());
    let Request { window, period, mark, limit } = request;
    let count = async |only_public| {
        let counted = Counted { period: *period, only_public };
        let mut within = post_list::count_within(keys, author, counted).send("test", store).await.unwrap();
        // Their order does not matter.
        if let Some(count) = &mut within {
            count.excluded.sort();
        }
        (post_list::count(keys, author, only_public).send("test", store).await.unwrap(), within)
    };
    (
        post_list::page(keys, author, window).send("test", store).await.unwrap(),
        post_list::page_within(keys, author, window, *period).send("test", store).await.unwrap(),
        [count(false).await, count(true).await],
        timeline::pull(keys, author, *mark, *limit).send("test", store).await.unwrap(),
    )
}

#[test]
fn keys_that_are_read_one_by_one_are_read_as_by_the_scripts() {
    let (cluster, directory) = (Cluster::start(3, 0), tempfile::tempdir().unwrap());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let path = directory.path().to_str().unwrap();
    let app = runtime.block_on(app_at(&cluster.url(), path, &ManualClock::new(), &[]));
    let requests = proptest::collection::vec(request(), 10);
    let reads = |requests: &[Request]| -> Vec<_> {
        requests.iter().map(|request| runtime.block_on(read(&app, request))).collect()
    };
    TestRunner::new(model_config(48))
        .run(&(stored(), requests), |(stored, requests)| {
            stored.write(&cluster);
            let expected = reads(&requests);
            let moving = cluster.begin_to_move_slot("ff:{u1}:cold");
            moving.move_key("ff:{u1}:cold");
            let before = app.store().round_trips();
            let divided = reads(&requests);
            let exchanges = app.store().round_trips() - before;
            moving.end();
            prop_assert_eq!(divided, expected);
            prop_assert_eq!(exchanges, 14 * requests.len() as u64, "a second exchange for each");
            Ok(())
        })
        .unwrap();
}
