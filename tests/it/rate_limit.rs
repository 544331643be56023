//! How much one may ask for: what is drawn, refused, told, and comes back.

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

use crate::world::{Knobs, StillClock, World, app, codes, model_config};

/// A hundred at once, and one comes back each second.
const LIMITED: [&str; 4] = ["--graphql-cost-limit", "100", "--graphql-rate-limit", "60"];
/// Costs 32: a user, a list, up to twenty-seven in it, and as many names, of which ten cost as much as a user.
const PAGE: &str = "{ user(by: { username: \"ada\" }) { followers(first: 27) { nodes { username } } } }";
/// Costs 2: an object and four fields without fields.
const LEFT: &str = "{ rateLimit { limit cost remaining resetAt } }";

/// The router of another server process.
async fn another(world: &World, options: &[&str]) -> Router {
    let Knobs { http, graphql, .. } = Knobs::new(&world.redis, options);
    let app = app(&world.redis, &world.clock, options).await;
    fanfold::http::router(Api::open(app, graphql).unwrap(), http, watch::channel(false).1)
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

/// What the headers tell: limit, cost, remaining, and in how many seconds all is there again.
fn told(world: &World, headers: &HeaderMap) -> Option<[u64; 4]> {
    let figure = |name: &str| headers.get(name)?.to_str().unwrap().parse::<u64>().ok();
    let now = world.clock.now().since(Timestamp::from_millis(0)).as_secs();
    let reset = figure("x-ratelimit-reset")?.checked_sub(now).unwrap();
    Some([figure("x-ratelimit-limit")?, figure("x-ratelimit-cost")?, figure("x-ratelimit-remaining")?, reset])
}

#[tokio::test]
async fn what_is_asked_for_is_drawn_and_refused_when_there_is_not_enough_and_comes_back() {
    let world = World::with(&LIMITED).await;
    let ada = world.register("ada").await;
    let token = Some(&*ada.token);
    for remaining in [68, 36, 4] {
        let (status, headers, _) = ask(&world, token, 1, PAGE).await;
        assert_eq!(status, StatusCode::OK);
        assert_eq!(told(&world, &headers), Some([100, 32, remaining, 100 - remaining]));
    }
    let trips = world.app.store().round_trips();
    let (status, headers, answer) = ask(&world, token, 1, PAGE).await;
    assert_eq!(status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(world.app.store().round_trips() - trips, 1, "nothing else was asked");
    assert_eq!((codes(&answer), answer.get("data")), (vec!["RATE_LIMITED"], None));
    let message = "This operation costs 32, and 4 of 100 are left. Try again in 28 seconds.";
    assert_eq!(answer["errors"][0]["message"], message);
    assert_eq!(told(&world, &headers), Some([100, 32, 4, 96]));
    assert_eq!(headers["retry-after"], "28");
    // What is small is still heard.
    let (status, _, answer) = ask(&world, token, 1, LEFT).await;
    let left = json!({ "limit": 100, "cost": 2, "remaining": 2, "resetAt": "2026-01-01T00:01:38.000Z" });
    assert_eq!((status, &answer["data"]["rateLimit"]), (StatusCode::OK, &left));

    world.clock.turn(Duration::from_millis(29_001));
    let (status, headers, _) = ask(&world, token, 1, PAGE).await;
    assert_eq!((status, &headers["retry-after"]), (StatusCode::TOO_MANY_REQUESTS, &"1".parse().unwrap()));
    world.clock.turn(Duration::from_millis(999));
    assert_eq!(ask(&world, token, 1, PAGE).await.0, StatusCode::OK);
    world.clock.turn(Duration::from_secs(1_000));
    let (_, headers, _) = ask(&world, token, 1, "{ __typename }").await;
    assert_eq!(told(&world, &headers), Some([100, 1, 99, 1]));
}

#[tokio::test]
async fn a_user_has_one_bucket_wherever_it_is_and_nobody_has_one_by_address() {
    let world = World::with(&LIMITED).await;
    let (ada, bob) = (world.register("ada").await, world.register("bob").await);
    for (token, from) in [(Some(&*ada.token), 1), (None, 1), (None, 2), (Some(&*bob.token), 1)] {
        let (_, headers, _) = ask(&world, token, from, PAGE).await;
        assert_eq!(told(&world, &headers).unwrap()[2], 68);
    }
    let (_, headers, _) = ask(&world, Some(&ada.token), 2, PAGE).await;
    assert_eq!(told(&world, &headers).unwrap()[2], 36);
    for expected in [StatusCode::OK, StatusCode::OK, StatusCode::TOO_MANY_REQUESTS] {
        let trips = world.app.store().round_trips();
        let (status, headers, _) = ask(&world, None, 1, PAGE).await;
        assert_eq!(status, expected);
        if expected == StatusCode::TOO_MANY_REQUESTS {
            assert_eq!(headers["retry-after"], "28");
            assert_eq!(world.app.store().round_trips() - trips, 1);
        }
    }
    // Who comes over no network is not counted.
    let body = json!({ "query": LEFT }).to_string();
    let request = Request::post("/graphql").header(header::CONTENT_TYPE, "application/json");
    let (_, headers, _) = world.send(request.body(body.into()).unwrap()).await;
    assert_eq!(told(&world, &headers), None);
}

#[tokio::test]
async fn servers_share_the_bucket_and_a_burst_gets_no_more_out_of_it() {
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
async fn what_is_rejected_charges_its_address_and_no_user() {
    let world = World::with(&LIMITED).await;
    let ada = world.register("ada").await;
    let token = Some(&*ada.token);
    for query in ["{", "{ nothing }", "{ countries { code } }", "{ node(id: \"x\") { id } }"] {
        let (_, headers, answer) = ask(&world, token, 1, query).await;
        assert!(answer["errors"].is_array() && told(&world, &headers).is_none(), "{query}: {answer}");
    }
    // A document that is rejected is charged to where it came from, when it has been answered.
    let expected = (StillClock::BEGINNING + 4_000) * 1_000;
    let address = loop {
        tokio::time::sleep(Duration::from_millis(10)).await;
        let buckets: Vec<String> = world.redis.raw(&["KEYS", "ff:*:cost"]);
        if let [address] = &buckets[..]
            && world.redis.raw::<i64>(&["GET", address]) == expected
        {
            break address.clone();
        }
    };
    // A token that opens nothing uses nothing up of whose id it carries.
    let mut forged = ada.token.clone();
    forged.replace_range(30..34, "AAAA");
    assert_eq!(ask(&world, Some(&forged), 1, PAGE).await.0, StatusCode::UNAUTHORIZED);
    let (_, headers, _) = ask(&world, token, 1, LEFT).await;
    assert_eq!(told(&world, &headers).unwrap()[2], 98);
    world.clock.turn(Duration::from_hours(24 * 31));
    assert_eq!(ask(&world, token, 1, PAGE).await.0, StatusCode::UNAUTHORIZED);
    let mut buckets: Vec<String> = world.redis.raw(&["KEYS", "ff:*:cost"]);
    buckets.retain(|bucket| *bucket != address);
    let full: i64 = world.redis.raw(&["GET", &buckets[0]]);
    assert_eq!((buckets.len(), full), (1, (StillClock::BEGINNING + 2_000) * 1_000), "an expired one neither");
    // It is forgotten soon after it is full.
    assert!((1..=62).contains(&world.redis.raw::<i64>(&["TTL", &buckets[0]])));
}

#[tokio::test]
async fn without_a_limit_nothing_is_told_and_with_one_a_viewer_waits_for_redis_no_more_often() {
    let (without, with) = (World::new().await, World::with(&LIMITED).await);
    let mut trips = Vec::new();
    for world in [&without, &with] {
        let ada = world.register("ada").await;
        // Redis learns its scripts when they are first called.
        ask(world, Some(&ada.token), 1, LEFT).await;
        ask(world, None, 1, LEFT).await;
        let before = world.app.store().round_trips();
        ask(world, Some(&ada.token), 1, PAGE).await;
        let signed_in = world.app.store().round_trips();
        ask(world, None, 1, PAGE).await;
        trips.push((signed_in - before, world.app.store().round_trips() - signed_in));
    }
    assert_eq!((trips[0].0, trips[0].1 + 1), trips[1]);
    let (_, headers, answer) = ask(&without, None, 1, LEFT).await;
    assert_eq!((told(&without, &headers), answer["data"].clone()), (None, json!({ "rateLimit": null })));
    assert_eq!(without.redis.raw::<Vec<String>>(&["KEYS", "ff:*:cost"]), Vec::<String>::new());
}

#[tokio::test]
async fn a_limit_below_what_one_operation_may_cost_lets_it_through_now_and_then() {
    let world = World::with(&["--graphql-rate-limit", "1"]).await;
    let (_, headers, _) = ask(&world, None, 1, PAGE).await;
    assert_eq!(told(&world, &headers), Some([5_000, 32, 4_968, 32 * 60]));
    let world = World::with(&["--graphql-rate-limit", "60000"]).await;
    let (_, headers, _) = ask(&world, None, 1, PAGE).await;
    assert_eq!(told(&world, &headers), Some([60_000, 32, 59_968, 1]));
}

#[tokio::test]
async fn where_redis_cannot_write_who_reads_is_let_in() {
    let world = World::with(&LIMITED).await;
    let ada = world.register("ada").await;
    ask(&world, Some(&ada.token), 1, PAGE).await;
    ask(&world, None, 1, PAGE).await;
    world.redis.raw::<String>(&["CONFIG", "SET", "maxmemory", "1"]);
    for token in [Some(&*ada.token), None] {
        for _ in 0..5 {
            let (status, headers, answer) = ask(&world, token, 1, PAGE).await;
            assert_eq!((status, told(&world, &headers)), (StatusCode::OK, None));
            assert_eq!(answer.get("errors"), None);
        }
    }
}

/// Time passes, or so much is drawn or given back.
#[derive(Clone, Copy, Debug)]
enum Step {
    Pass(u32),
    Draw(u32),
    Drain(u32),
    GiveBack,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        (0..3_000_u32).prop_map(Step::Pass),
        (1..12_u32).prop_map(Step::Draw),
        (1..30_u32).prop_map(Step::Drain),
        Just(Step::GiveBack),
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
            let (bucket, clock) = (store.keys().cost_of(UserId::new(1).unwrap()), StillClock::new());
            // In thousandths, of which one comes back in a millisecond.
            let full = capacity * 1_000;
            let mut level = full;
            let mut last = 0;
            for step in steps {
                match step {
                    Step::Pass(millis) => {
                        clock.turn(Duration::from_millis(millis.into()));
                        level = full.min(level + millis);
                    }
                    Step::Draw(amount) => {
                        let drawn = runtime.block_on(bucket::take(&bucket, limit, amount, clock.now()).send("draw", store));
                        let drawn = drawn.unwrap();
                        let missing = (amount * 1_000).saturating_sub(level);
                        let wait = (missing > 0).then(|| Duration::from_millis(missing.into()));
                        last = if missing == 0 { amount } else { 0 };
                        level -= last * 1_000;
                        prop_assert_eq!(drawn.wait, wait);
                        prop_assert_eq!(drawn.remaining, level / 1_000);
                        prop_assert_eq!(drawn.full_in, Duration::from_millis((full - level).into()));
                    }
                    Step::Drain(used) => {
                        let drain = bucket::drain(&bucket, limit, used, clock.now()).send("drain", store);
                        let full_in = runtime.block_on(drain).unwrap();
                        level -= used.min(level / 1_000) * 1_000;
                        last = 0;
                        prop_assert_eq!(full_in, u64::from(full - level) * 1_000);
                    }
                    Step::GiveBack => {
                        runtime.block_on(bucket::give_back(&bucket, limit, last, clock.now()).send("give back", store)).unwrap();
                        level = full.min(level + last * 1_000);
                        last = 0;
                    }
                }
            }
            Ok(())
        })?;
    }
}
