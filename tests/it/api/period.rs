//! Posts of a period, in Redis, in the archive and across both.

use std::time::Duration;

use fanfold::app::check::Finding;
use fanfold::app::post::NewPost;
use fanfold::app::post::read::PostCount;
use fanfold::app::read::Load as _;
use fanfold::model::clock::{Period, Timestamp};
use fanfold::model::details::References;
use fanfold::model::id::{PostId, UserId};
use fanfold::model::post::{Content, Visibility};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Value, json};

use crate::harness::case;
use crate::harness::graph::Graph;
use crate::harness::id::global;
use crate::harness::post::{delete, ids};
use crate::harness::sql::{Database, Kind, on_every_kind};
use crate::harness::world::{Person, World, archive_all, codes, user_of};

on_every_kind! {
    pages_of_a_period_equal_those_of_a_naive_model;
}

const POSTS: &str = "query ($name: String!, $first: Int, $after: String, $last: Int, $before: String,
        $createdAt: PeriodInput) { user(by: { username: $name }) {
    posts(first: $first, after: $after, last: $last, before: $before, createdAt: $createdAt) {
        totalCount nodes { id } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } } }";

/// A post as the naive model knows it.
#[derive(Clone, Debug)]
struct Known {
    id: String,
    at: Timestamp,
    visibility: Visibility,
}

/// Publishes public posts at these times. Returns them newest first.
async fn publish_at(world: &World, author: UserId, times: &[Timestamp]) -> Vec<Known> {
    publish_as(world, author, times, |_| Visibility::Public).await
}

/// Publishes posts at these times, each with the visibility of its number. Returns them newest first.
async fn publish_as(
    world: &World,
    author: UserId,
    times: &[Timestamp],
    visibility: impl Fn(usize) -> Visibility,
) -> Vec<Known> {
    let content = Content::parse("something to say").unwrap();
    let post = |(number, at): (usize, &Timestamp)| NewPost {
        references: References::default(),
        author,
        content: content.clone(),
        platform: None,
        visibility: visibility(number),
        created_at: *at,
    };
    let posts: Vec<NewPost> = times.iter().enumerate().map(post).collect();
    let published = world.app.import_posts(&posts).await.unwrap();
    let known = |(id, post): (PostId, &NewPost)| Known {
        id: global("Post", id),
        at: post.created_at,
        visibility: post.visibility,
    };
    published.into_iter().zip(&posts).map(known).rev().collect()
}

fn instant(at: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(at.as_millis()).unwrap().to_string()
}

/// Times that grow by up to ten minutes, with ties, and with clocks that differ by up to two minutes.
fn times(rng: &mut StdRng, count: usize) -> Vec<Timestamp> {
    let mut now = Graph::time(0);
    let mut next = || {
        now = now.plus(Duration::from_millis(rng.random_range(0..4_u64) * 150_000));
        now.minus(Duration::from_millis(if rng.random_bool(0.2) { rng.random_range(0..120_000) } else { 0 }))
    };
    (0..count).map(|_| next()).collect()
}

/// The posts of one author, some of whom are hot, some archived, some deleted.
struct Author {
    world: World,
    person: Person,
    known: Vec<Known>,
    rng: StdRng,
}

impl Author {
    async fn new(database: &Database) -> Self {
        let world = World::with_archive(database, &["--post-hot-limit", "40"]).await;
        let person = world.register("ada").await;
        let author = user_of(&world, &person).await;
        let mut rng = StdRng::seed_from_u64(case::seed(17));
        let all = times(&mut rng, 160);
        let every_third = |number| if number % 3 == 0 { Visibility::Followers } else { Visibility::Public };
        let mut known = publish_as(&world, author, &all[..110], every_third).await;
        archive_all(&world.app).await;
        let mut later = publish_as(&world, author, &all[110..], every_third).await;
        later.append(&mut known);
        Self { world, person, known: later, rng }
    }

    /// Deletes a sixth of the posts: hot ones, archived ones, and ones of which the archive does not know yet.
    async fn delete_some(&mut self) {
        let mut kept = Vec::new();
        for known in std::mem::take(&mut self.known) {
            if self.rng.random_bool(1.0 / 6.0) {
                assert_eq!(delete(&self.world, &self.person, &known.id).await["userErrors"], json!([]));
            } else {
                kept.push(known);
            }
        }
        self.known = kept;
    }

    /// An end of a period: at a post, just after one, or nowhere.
    fn end(&mut self) -> Option<Timestamp> {
        let at = self.known[self.rng.random_range(0..self.known.len())].at;
        match self.rng.random_range(0..4) {
            0 => None,
            1 => Some(at.plus(Duration::from_millis(1))),
            _ => Some(at),
        }
    }

    /// Walks through a period's pages in both directions, and compares each with the naive model.
    async fn compare(&mut self, size: usize) {
        let (since, until) = match (self.end(), self.end()) {
            (Some(one), Some(other)) => (Some(one.min(other)), Some(one.max(other))),
            ends => ends,
        };
        let is_within = |known: &&Known| {
            since.is_none_or(|since| since <= known.at) && until.is_none_or(|until| known.at < until)
        };
        let expected: Vec<&str> =
            self.known.iter().filter(is_within).map(|known| known.id.as_str()).collect();
        let public = self.known.iter().filter(|known| is_within(known) && known.visibility.is_public());
        let (author, period) = (user_of(&self.world, &self.person).await, Period { since, until });
        let counted = self.world.app.load(PostCount { author, period, only_public: true }).await.unwrap();
        assert_eq!(counted, public.count() as u64, "{period:?}");
        let period = json!({ "name": "ada", "createdAt": { "since": since.map(instant), "until": until.map(instant) } });
        for is_forward in [true, false] {
            let mut shown: Vec<String> = Vec::new();
            let mut cursor = Value::Null;
            loop {
                let mut variables = period.clone();
                let (size_of, from) = if is_forward { ("first", "after") } else { ("last", "before") };
                variables[size_of] = json!(size);
                variables[from] = cursor;
                let (trips, queries) = (self.world.app.store().round_trips(), self.world.app.archive_asked());
                let token = Some(&*self.person.token);
                let page = self.world.data(token, POSTS, variables).await["user"]["posts"].take();
                let trips = self.world.app.store().round_trips() - trips;
                // The session, the name, the list with its count, and the posts; the ranges and the count of the
                // archive.
                assert!(trips <= 4, "{trips} round trips: {period}");
                assert!(self.world.app.archive_asked() - queries <= 2);
                assert_eq!(page["totalCount"], expected.len(), "{period}");
                let nodes = ids(&page["nodes"]);
                let info = &page["pageInfo"];
                let (behind, beyond, next) = if is_forward {
                    (&info["hasPreviousPage"], &info["hasNextPage"], &info["endCursor"])
                } else {
                    (&info["hasNextPage"], &info["hasPreviousPage"], &info["startCursor"])
                };
                assert_eq!(*behind, !shown.is_empty(), "{period} {shown:?} {nodes:?}");
                let at = if is_forward { shown.len() } else { 0 };
                shown.splice(at..at, nodes.iter().cloned());
                assert_eq!(*beyond, shown.len() < expected.len(), "{period} {shown:?}");
                if *beyond == false {
                    break;
                }
                assert_eq!(nodes.len(), size);
                cursor = next.clone();
            }
            assert_eq!(shown, expected, "{period}");
        }
    }
}

async fn pages_of_a_period_equal_those_of_a_naive_model(kind: Kind) {
    let database = Database::new(kind).await;
    let mut author = Author::new(&database).await;
    // Redis caches the scripts.
    for since in [Value::Null, json!("2000-01-01T00:00:00Z")] {
        author.world.data(None, POSTS, json!({ "name": "ada", "createdAt": { "since": since } })).await;
    }
    for size in [1, 7, 100].repeat(6) {
        author.compare(size).await;
    }
    author.delete_some().await;
    for size in [1, 7, 100].repeat(6) {
        author.compare(size).await;
    }
    archive_all(&author.world.app).await;
    for size in [3, 10].repeat(6) {
        author.compare(size).await;
    }
}

#[tokio::test]
async fn a_period_of_hot_posts_needs_no_archive() {
    let database = Database::new(Kind::Sqlite).await;
    let author = Author::new(&database).await;
    let newest = &author.known[..5];
    let since = newest.iter().map(|known| known.at).min().unwrap();
    let variables = json!({ "name": "ada", "createdAt": { "since": instant(since) } });
    let queries = author.world.app.archive_asked();
    let data = author.world.data(Some(&author.person.token), POSTS, variables).await;
    assert!(data["user"]["posts"]["totalCount"].as_u64().unwrap() >= 5);
    assert_eq!(author.world.app.archive_asked(), queries);
}

#[tokio::test]
async fn lists_below_a_list_may_be_of_a_period() {
    let world = World::new().await;
    let people = world.people(3).await;
    for person in &people[1..] {
        world.follow(person, &people[0]).await;
        let author = user_of(&world, person).await;
        let minute = |number: u64| Graph::time(0).plus(Duration::from_secs(60 * number));
        publish_at(&world, author, &(0..5).map(minute).collect::<Vec<_>>()).await;
    }
    let ends: Vec<String> =
        [1, 3].iter().map(|number| instant(Graph::time(0).plus(Duration::from_secs(60 * number)))).collect();
    let posts = format!(
        "posts(createdAt: {{ since: \"{}\", until: \"{}\" }}) {{ totalCount nodes {{ createdAt }} }}",
        ends[0], ends[1]
    );
    let query = format!("{{ user(by: {{ username: \"ann0\" }}) {{ followers {{ nodes {{ {posts} }} }} }} }}");
    let data = world.data(None, &query, Value::Null).await;
    for follower in data["user"]["followers"]["nodes"].as_array().unwrap() {
        assert_eq!(follower["posts"]["totalCount"], 2);
        assert_eq!(follower["posts"]["nodes"].as_array().unwrap().len(), 2);
    }
    let query = "{ user(by: { username: \"ann1\" }) { posts(createdAt: {
        since: \"2026-11-20T08:30:00Z\", until: \"2026-11-20T08:29:59Z\" }) { totalCount } } }";
    let response = world.ask(None, query, Value::Null).await;
    assert_eq!(codes(&response), ["BAD_USER_INPUT"]);
    assert_eq!(response["errors"][0]["message"], "`createdAt` must not begin after its end.");
    // An instant has one form in responses, and any form of RFC 3339 in arguments.
    let query = "query ($since: DateTime) { user(by: { username: \"ann0\" }) { posts(createdAt: { since: $since }) { totalCount } } }";
    for (since, code) in [
        ("2026-11-20T08:30:00+01:00", None),
        ("2026-11-20T08:30:00.123456789Z", None),
        ("2026-11-20", Some("BAD_USER_INPUT")),
        ("yesterday", Some("BAD_USER_INPUT")),
    ] {
        let response = world.ask(None, query, json!({ "since": since })).await;
        assert_eq!(response["errors"][0]["extensions"]["code"].as_str(), code, "{since}: {response}");
    }
}

#[tokio::test]
async fn times_that_an_earlier_version_did_not_keep_are_written_when_they_are_needed() {
    let world = World::new().await;
    let person = world.register("ada").await;
    let author = user_of(&world, &person).await;
    let minute = |number: u64| Graph::time(0).plus(Duration::from_secs(60 * number));
    publish_at(&world, author, &(0..5).map(minute).collect::<Vec<_>>()).await;
    let count_since = async |number| {
        let variables = json!({ "name": "ada", "createdAt": { "since": instant(minute(number)) } });
        let page = world.data(None, POSTS, variables).await["user"]["posts"].take();
        assert_eq!(page["totalCount"], ids(&page["nodes"]).len());
        ids(&page["nodes"]).len()
    };
    let (posts, times) = ("ff:{u1}:posts", "ff:{u1}:posts:times");
    assert_eq!(count_since(2).await, 3);
    // It published all posts, or one, or published one and archived another: then the lists are equally long.
    world.redis.raw::<u64>(&["DEL", times]);
    assert_eq!(count_since(2).await, 3);
    let one = publish_at(&world, author, &[minute(9)]).await;
    world.redis.raw::<u64>(&["LPOP", times]);
    assert_eq!(count_since(2).await, 4);
    world.redis.raw::<u64>(&["RPOP", posts]);
    world.redis.raw::<String>(&["LPOP", times]);
    assert_eq!(world.redis.raw::<u64>(&["LLEN", posts]), world.redis.raw::<u64>(&["LLEN", times]));
    assert_eq!((count_since(2).await, count_since(9).await), (4, 1));
    // A deletion and a publication by this version leave unknown times unknown.
    world.redis.raw::<String>(&["LPOP", times]);
    delete(&world, &person, &one[0].id).await;
    publish_at(&world, author, &[minute(10)]).await;
    assert_eq!((count_since(2).await, count_since(9).await), (4, 1));
    assert_eq!(world.app.check_users(1, false).await.unwrap()[Finding::Mistimed], 0);
}

#[tokio::test]
async fn a_check_finds_and_repairs_wrong_times() {
    let world = World::new().await;
    let person = world.register("ada").await;
    let author = user_of(&world, &person).await;
    let minute = |number: u64| Graph::time(0).plus(Duration::from_secs(60 * number));
    publish_at(&world, author, &(0..5).map(minute).collect::<Vec<_>>()).await;
    assert_eq!(world.app.check_users(1, false).await.unwrap()[Finding::Mistimed], 0);
    let times = "ff:{u1}:posts:times";
    for wrong in [&["LSET", times, "2", "7"][..], &["LPOP", times], &["DEL", times]] {
        world.redis.raw::<redis::Value>(wrong);
        assert_eq!(world.app.check_users(1, false).await.unwrap()[Finding::Mistimed], 1, "{wrong:?}");
        assert_eq!(world.app.check_users(1, true).await.unwrap()[Finding::Mistimed], 1);
        assert_eq!(world.app.check_users(1, false).await.unwrap()[Finding::Mistimed], 0);
        let variables = json!({ "name": "ada", "createdAt": { "since": instant(minute(2)) } });
        assert_eq!(world.data(None, POSTS, variables).await["user"]["posts"]["totalCount"], 3);
    }
}

#[tokio::test]
async fn reading_the_times_of_many_posts_is_charged_to_the_budget() {
    let world = World::with(&["--graphql-command-limit", "1000"]).await;
    let person = world.register("ada").await;
    let author = user_of(&world, &person).await;
    publish_at(&world, author, &[Graph::time(0); 900]).await;
    let counts = |period: &dyn Fn(u64) -> String| {
        let count = |number| format!("a{number}: posts(first: {number}{}) {{ totalCount }} ", period(number));
        format!("{{ user(by: {{ username: \"ada\" }}) {{ {} }} }}", (1..9).map(count).collect::<String>())
    };
    world.data(None, &counts(&|_| String::new()), Value::Null).await;
    // All posts were created less than a day before the end of the period, so all have to be examined.
    let ends = |number| {
        let end = Graph::time(0).plus(Duration::from_secs(60 * number));
        format!(", createdAt: {{ until: \"{}\" }}", instant(end))
    };
    let response = world.ask(None, &counts(&ends), Value::Null).await;
    assert_eq!((codes(&response), &response["data"]), (vec!["QUERY_TOO_COMPLEX"], &Value::Null));
}
