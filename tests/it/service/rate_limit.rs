//! The rate limit: tokens are taken, operations rejected, the level is reported, and tokens are refilled.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::{HeaderMap, Request, StatusCode, header};
use fanfold::graphql::Api;
use fanfold::model::clock::{Clock as _, Timestamp};
use fanfold::model::id::UserId;
use fanfold::store::bucket::{self, Limit};
use futures::future::join_all;
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tower::ServiceExt as _;

use crate::harness::case::model_config;
use crate::harness::wait::eventually_async;
use crate::harness::world::{ManualClock, Options, World, app, codes};

/// A bucket of a hundred tokens, one of which is refilled each second.
const LIMITED: [&str; 4] = ["--graphql-cost-limit", "100", "--graphql-rate-limit", "60"];
/// Costs 32: a user, a list, up to twenty-seven in it, and as many names, of which ten cost as much as a user.
const PAGE: &str = "{ user(by: { username: \"ada\" }) { followers(first: 27) { nodes { username } } } }";
/// Costs 2: an object and four leaf fields.
const LEFT: &str = "{ rateLimit { limit cost remaining resetAt } }";

/// The router of another server process.
async fn another(world: &World, options: &[&str]) -> Router {
    let Options { http, graphql, .. } = Options::new(&world.redis, options);
    let app = app(&world.redis, &world.clock, options).await;
    fanfold::http::routers(Api::open(app, graphql).unwrap(), http, watch::channel(false).1).main
}

fn request(token: Option<&str>, from: u8, query: &str) -> Request<Body> {
    let body = json!({ "query": query }).to_string();
    let mut request = Request::post("/graphql").header(header::CONTENT_TYPE, "application/json");
    if let Some(token) = token {
        request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
    }
    let mut request = request.body(body.into()).unwrap();
    let address: IpAddr = Ipv4Addr::new(192, 0, 2, from).into();
    request.extensions_mut().insert(ConnectInfo(SocketAddr::new(address, 4_711)));
    request
}

async fn ask(world: &World, token: Option<&str>, from: u8, query: &str) -> (StatusCode, HeaderMap, Value) {
    let (status, headers, body) = world.send(request(token, from, query)).await;
    (status, headers, serde_json::from_slice(&body).unwrap())
}

/// Returns what the headers report: limit, cost, remaining, and the seconds until the bucket is full.
fn reported(world: &World, headers: &HeaderMap) -> Option<[u64; 4]> {
    let number = |name: &str| headers.get(name)?.to_str().unwrap().parse::<u64>().ok();
    let now = world.clock.now().since(Timestamp::from_millis(0)).as_secs();
    let reset = number("x-ratelimit-reset")?.checked_sub(now).unwrap();
    Some([number("x-ratelimit-limit")?, number("x-ratelimit-cost")?, number("x-ratelimit-remaining")?, reset])
}

#[tokio::test]
async fn operations_take_tokens_are_rejected_without_enough_and_tokens_are_refilled() {
    let world = World::with(&LIMITED).await;
    let ada = world.register("ada").await;
    let token = Some(&*ada.token);
    for remaining in [68, 36, 4] {
        let (status, headers, _) = ask(&world, token, 1, PAGE).await;
        assert_eq!(status, StatusCode::OK);
        assert_eq!(reported(&world, &headers), Some([100, 32, remaining, 100 - remaining]));
    }
    let trips = world.app.store().round_trips();
    let (status, headers, response) = ask(&world, token, 1, PAGE).await;
    assert_eq!(status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(world.app.store().round_trips() - trips, 1, "there is no other round trip");
    assert_eq!((codes(&response), response.get("data")), (vec!["RATE_LIMITED"], None));
    let message = "This operation costs 32, and 4 of 100 are left. Try again in 28 seconds.";
    assert_eq!(response["errors"][0]["message"], message);
    assert_eq!(reported(&world, &headers), Some([100, 32, 4, 96]));
    assert_eq!(headers["retry-after"], "28");
    // A small operation is still executed.
    let (status, _, response) = ask(&world, token, 1, LEFT).await;
    let left = json!({ "limit": 100, "cost": 2, "remaining": 2, "resetAt": "2026-01-01T00:01:38.000Z" });
    assert_eq!((status, &response["data"]["rateLimit"]), (StatusCode::OK, &left));

    world.clock.advance(Duration::from_millis(29_001));
    let (status, headers, _) = ask(&world, token, 1, PAGE).await;
    assert_eq!((status, &headers["retry-after"]), (StatusCode::TOO_MANY_REQUESTS, &"1".parse().unwrap()));
    world.clock.advance(Duration::from_millis(999));
    assert_eq!(ask(&world, token, 1, PAGE).await.0, StatusCode::OK);
    world.clock.advance(Duration::from_secs(1_000));
    let (_, headers, _) = ask(&world, token, 1, "{ __typename }").await;
    assert_eq!(reported(&world, &headers), Some([100, 1, 99, 1]));
}

#[tokio::test]
async fn a_user_has_one_bucket_everywhere_and_anonymous_clients_have_one_per_address() {
    let world = World::with(&LIMITED).await;
    let (ada, bob) = (world.register("ada").await, world.register("bob").await);
    for (token, from) in [(Some(&*ada.token), 1), (None, 1), (None, 2), (Some(&*bob.token), 1)] {
        let (_, headers, _) = ask(&world, token, from, PAGE).await;
        assert_eq!(reported(&world, &headers).unwrap()[2], 68);
    }
    let (_, headers, _) = ask(&world, Some(&ada.token), 2, PAGE).await;
    assert_eq!(reported(&world, &headers).unwrap()[2], 36);
    for expected in [StatusCode::OK, StatusCode::OK, StatusCode::TOO_MANY_REQUESTS] {
        let trips = world.app.store().round_trips();
        let (status, headers, _) = ask(&world, None, 1, PAGE).await;
        assert_eq!(status, expected);
        if expected == StatusCode::TOO_MANY_REQUESTS {
            assert_eq!(headers["retry-after"], "28");
            assert_eq!(world.app.store().round_trips() - trips, 1);
        }
    }
    // Requests without a client address are not charged.
    let body = json!({ "query": LEFT }).to_string();
    let request = Request::post("/graphql").header(header::CONTENT_TYPE, "application/json");
    let (_, headers, _) = world.send(request.body(body.into()).unwrap()).await;
    assert_eq!(reported(&world, &headers), None);
}

#[tokio::test]
async fn servers_share_the_bucket_and_a_burst_takes_no_more_from_it() {
    let world = World::with(&LIMITED).await;
    let ada = world.register("ada").await;
    let other = another(&world, &LIMITED).await;
    for token in [Some(&*ada.token), None] {
        let burst = (0..30).map(|number| {
            let (request, other, world) = (request(token, 1, PAGE), other.clone(), &world);
            async move {
                match number % 2 {
                    0 => world.send(request).await.0,
                    _ => other.oneshot(request).await.unwrap().status(),
                }
            }
        });
        let statuses = join_all(burst).await;
        assert_eq!(statuses.iter().filter(|status| **status == StatusCode::OK).count(), 3);
    }
}

#[tokio::test]
async fn rejected_requests_are_charged_to_their_address_and_to_no_user() {
    let world = World::with(&LIMITED).await;
    let ada = world.register("ada").await;
    let token = Some(&*ada.token);
    for query in ["{", "{ nothing }", "{ countries { code } }", "{ node(id: \"x\") { id } }"] {
        let (_, headers, response) = ask(&world, token, 1, query).await;
        assert!(response["errors"].is_array() && reported(&world, &headers).is_none(), "{query}: {response}");
    }
    // A rejected document is charged to its address, after the response.
    let expected = (ManualClock::BEGINNING + 4_000) * 1_000;
    let mut buckets: Vec<String> = Vec::new();
    let is_charged = eventually_async(async || {
        buckets = world.redis.raw(&["KEYS", "ff:*:cost"]);
        buckets.len() == 1 && world.redis.raw::<i64>(&["GET", &buckets[0]]) == expected
    });
    assert!(is_charged.await);
    let address = buckets.remove(0);
    // An invalid session token charges nothing to the user whose id it contains.
    let mut forged = ada.token.clone();
    forged.replace_range(30..34, "AAAA");
    assert_eq!(ask(&world, Some(&forged), 1, PAGE).await.0, StatusCode::UNAUTHORIZED);
    let (_, headers, _) = ask(&world, token, 1, LEFT).await;
    assert_eq!(reported(&world, &headers).unwrap()[2], 98);
    world.clock.advance(Duration::from_hours(24 * 31));
    assert_eq!(ask(&world, token, 1, PAGE).await.0, StatusCode::UNAUTHORIZED);
    let mut buckets: Vec<String> = world.redis.raw(&["KEYS", "ff:*:cost"]);
    buckets.retain(|bucket| *bucket != address);
    let full: i64 = world.redis.raw(&["GET", &buckets[0]]);
    assert_eq!(
        (buckets.len(), full),
        (1, (ManualClock::BEGINNING + 2_000) * 1_000),
        "nor does an expired session"
    );
    // It expires soon after it is full.
    assert!((1..=62).contains(&world.redis.raw::<i64>(&["TTL", &buckets[0]])));
}

#[tokio::test]
async fn without_a_limit_nothing_is_reported_and_with_one_a_viewer_needs_no_more_round_trips() {
    let (without, with) = (World::new().await, World::with(&LIMITED).await);
    let mut trips = Vec::new();
    for world in [&without, &with] {
        let ada = world.register("ada").await;
        // Redis caches its scripts when they are first called.
        ask(world, Some(&ada.token), 1, LEFT).await;
        ask(world, None, 1, LEFT).await;
        let before = world.app.store().round_trips();
        ask(world, Some(&ada.token), 1, PAGE).await;
        let signed_in = world.app.store().round_trips();
        ask(world, None, 1, PAGE).await;
        trips.push((signed_in - before, world.app.store().round_trips() - signed_in));
    }
    assert_eq!((trips[0].0, trips[0].1 + 1), trips[1]);
    let (_, headers, response) = ask(&without, None, 1, LEFT).await;
    assert_eq!(
        (reported(&without, &headers), response["data"].clone()),
        (None, json!({ "rateLimit": null }))
    );
    assert_eq!(without.redis.raw::<Vec<String>>(&["KEYS", "ff:*:cost"]), Vec::<String>::new());
}

#[tokio::test]
async fn a_limit_below_the_cost_of_the_largest_operation_admits_it_now_and_then() {
    let world = World::with(&["--graphql-rate-limit", "1"]).await;
    let (_, headers, _) = ask(&world, None, 1, PAGE).await;
    assert_eq!(reported(&world, &headers), Some([5_000, 32, 4_968, 32 * 60]));
    let world = World::with(&["--graphql-rate-limit", "60000"]).await;
    let (_, headers, _) = ask(&world, None, 1, PAGE).await;
    assert_eq!(reported(&world, &headers), Some([60_000, 32, 59_968, 1]));
}

#[tokio::test]
async fn while_redis_cannot_write_reads_are_admitted() {
    let world = World::with(&LIMITED).await;
    let ada = world.register("ada").await;
    ask(&world, Some(&ada.token), 1, PAGE).await;
    ask(&world, None, 1, PAGE).await;
    world.redis.raw::<String>(&["CONFIG", "SET", "maxmemory", "1"]);
    for token in [Some(&*ada.token), None] {
        for _ in 0..5 {
            let (status, headers, response) = ask(&world, token, 1, PAGE).await;
            assert_eq!((status, reported(&world, &headers)), (StatusCode::OK, None));
            assert_eq!(response.get("errors"), None);
        }
    }
}

/// Time passes, or tokens are taken or refunded.
#[derive(Clone, Copy, Debug)]
enum Step {
    Pass(u32),
    Take(u32),
    Drain(u32),
    Refund,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        (0..3_000_u32).prop_map(Step::Pass),
        (1..12_u32).prop_map(Step::Take),
        (1..30_u32).prop_map(Step::Drain),
        Just(Step::Refund),
    ];
    proptest::collection::vec(step, 1..40)
}

proptest! {
    #![proptest_config(model_config(200))]

    #[test]
    fn a_bucket_is_a_level_that_rises_with_time(steps in steps(), capacity in 1..20_u32) {
        thread_local!(static HERE: (Runtime, Arc<World>) = {
            let runtime = Runtime::new().unwrap();
            let world = Arc::new(runtime.block_on(World::new()));
            (runtime, world)
        });
        HERE.with(|(runtime, world)| {
            world.redis.raw::<String>(&["FLUSHALL"]);
            let store = world.app.store();
            let limit = Limit { capacity, period: Duration::from_secs(1) * capacity };
            let (bucket, clock) = (store.keys().cost_of(UserId::new(1).unwrap()), ManualClock::new());
            // In thousandths of a token, one of which is refilled each millisecond.
            let full = capacity * 1_000;
            let mut level = full;
            let mut last = 0;
            for step in steps {
                match step {
                    Step::Pass(millis) => {
                        clock.advance(Duration::from_millis(millis.into()));
                        level = full.min(level + millis);
                    }
                    Step::Take(amount) => {
                        let taken = runtime.block_on(bucket::take(&bucket, limit, amount, clock.now()).send("take", store));
                        let taken = taken.unwrap();
                        let missing = (amount * 1_000).saturating_sub(level);
                        let wait = (missing > 0).then(|| Duration::from_millis(missing.into()));
                        last = if missing == 0 { amount } else { 0 };
                        level -= last * 1_000;
                        prop_assert_eq!(taken.wait, wait);
                        prop_assert_eq!(taken.remaining, level / 1_000);
                        prop_assert_eq!(taken.full_in, Duration::from_millis((full - level).into()));
                    }
                    Step::Drain(used) => {
                        let drain = bucket::drain(&bucket, limit, used, clock.now()).send("drain", store);
                        let full_in = runtime.block_on(drain).unwrap();
                        level -= used.min(level / 1_000) * 1_000;
                        last = 0;
                        prop_assert_eq!(full_in, u64::from(full - level) * 1_000);
                    }
                    Step::Refund => {
                        runtime.block_on(bucket::give_back(&bucket, limit, last, clock.now()).send("refund", store)).unwrap();
                        level = full.min(level + last * 1_000);
                        last = 0;
                    }
                }
            }
            Ok(())
        })?;
    }
}
