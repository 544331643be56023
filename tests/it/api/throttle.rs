//! Throttling: the number of passwords that are verified, and that no owner is locked out.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::{Request, header};
use fanfold::app::App;
use fanfold::app::error::{Error, Reason, Rejection};
use fanfold::model::address::Address;
use futures::future::join_all;
use serde_json::{Value, json};

use crate::harness::server::Server;
use crate::harness::world::{PASSWORD, Redis, World, app};

const LOGIN: &str = "mutation ($name: String!, $password: String!) {
    login(input: { username: $name, password: $password }) { token userErrors { code message field } }
}";
const REGISTER: &str = "mutation ($name: String!, $password: String!) {
    register(input: { username: $name, password: $password }) { token userErrors { code message field } }
}";
const CHANGE: &str = "mutation ($current: String!) {
    changePassword(input: { currentPassword: $current, newPassword: \"another horse\" }) {
        userErrors { code message field }
    }
}";
const HOME: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
/// The number of attempts by strangers for one account, unless configured otherwise.
const LIMIT: u64 = 20;

fn stranger(number: u8) -> IpAddr {
    Ipv4Addr::new(203, 0, 113, number).into()
}

/// Sends a document from an address, with these headers.
async fn send(world: &World, from: IpAddr, headers: &[(&str, &str)], query: &str, variables: Value) -> Value {
    let body = json!({ "query": query, "variables": variables }).to_string();
    let mut request = Request::post("/graphql").header(header::CONTENT_TYPE, "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let mut request = request.body(Body::from(body)).unwrap();
    request.extensions_mut().insert(ConnectInfo(SocketAddr::new(from, 4_711)));
    let (_, _, body) = world.send(request).await;
    let mut response: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(response.get("errors"), None);
    response["data"].take()
}

async fn login_from(world: &World, from: IpAddr, name: &str, password: &str) -> Value {
    let variables = json!({ "name": name, "password": password });
    send(world, from, &[], LOGIN, variables).await["login"].take()
}

fn is_throttled(payload: &Value) -> bool {
    payload["userErrors"][0]["code"] == "THROTTLED"
}

/// Returns the violation of an attempt to sign in: `None` if it succeeds.
async fn attempt(app: &App, name: &str, password: &str, from: Option<IpAddr>) -> Option<(Reason, String)> {
    violation(app.login(name, password, None, from.map(Address::from)).await)
}

fn violation<T>(done: Result<T, Error>) -> Option<(Reason, String)> {
    match done {
        Ok(_) => None,
        Err(Error::Rejected(Rejection::Rules(violations))) => {
            Some((violations[0].reason, violations[0].message.clone()))
        }
        Err(error) => panic!("{error:?}"),
    }
}

async fn reason(app: &App, name: &str, password: &str, from: Option<IpAddr>) -> Option<Reason> {
    attempt(app, name, password, from).await.map(|(reason, _)| reason)
}

async fn register_at_home(world: &World, name: &str) -> String {
    let variables = json!({ "name": name, "password": PASSWORD });
    let made = send(world, HOME, &[], REGISTER, variables).await;
    made["register"]["token"].as_str().expect("is registered").to_owned()
}

#[tokio::test]
async fn a_thousand_wrong_passwords_from_fifty_addresses_are_throttled_and_the_owner_is_not() {
    let world = World::new().await;
    let token = register_at_home(&world, "ada").await;
    let before = world.app.passwords_verified();
    let mut throttled = 0;
    let mut last = Value::Null;
    for number in 0..1_000_u32 {
        let from = stranger(u8::try_from(number % 50).unwrap());
        last = login_from(&world, from, "ada", &format!("wrong {number}")).await;
        assert_eq!(last["token"], Value::Null);
        throttled += u64::from(is_throttled(&last));
    }
    assert_eq!((world.app.passwords_verified() - before, throttled), (LIMIT, 1_000 - LIMIT));

    // The owner's session continues, and so does signing in from the owner's addresses.
    let query = "{ viewer { user { username } } }";
    let authorization = format!("Bearer {token}");
    let seen =
        send(&world, stranger(1), &[("authorization", &authorization)], query, Value::Null).await["viewer"]
            .take();
    assert_eq!(seen["user"]["username"], "ada");
    assert!(login_from(&world, HOME, "ada", PASSWORD).await["token"].is_string());

    // From elsewhere the right password is rejected like a wrong one, for the time being.
    let elsewhere = stranger(200);
    assert_eq!(login_from(&world, elsewhere, "ada", PASSWORD).await, last);
    assert_eq!(last["userErrors"][0]["message"], "Too many attempts. Try again in 3 minutes.");
    world.clock.advance(Duration::from_mins(3));
    assert!(login_from(&world, elsewhere, "ada", PASSWORD).await["token"].is_string());
    // Now it is known there, too.
    for number in 0..3 {
        login_from(&world, stranger(number), "ada", "wrong").await;
    }
    assert!(is_throttled(&login_from(&world, stranger(3), "ada", PASSWORD).await));
    assert!(login_from(&world, elsewhere, "ada", PASSWORD).await["token"].is_string());
}

#[tokio::test]
async fn a_known_and_an_unknown_name_have_the_same_cost_and_the_same_response() {
    let world = World::new().await;
    register_at_home(&world, "ada").await;
    let app = &world.app;
    // Redis caches the scripts, on each master of a cluster.
    for from in 5..15 {
        attempt(app, &format!("warm{from}"), "wrong password", Some(stranger(from))).await;
    }
    let mut courses = Vec::new();
    for (name, from) in [("ada", 1), ("bob", 2), ("Eve_99", 3), ("no name", 4)] {
        let mut course = Vec::new();
        for _ in 0..LIMIT + 5 {
            let (trips, verified) = (app.store().round_trips(), app.passwords_verified());
            let response = attempt(app, name, "wrong password", Some(stranger(from))).await;
            course.push((response, app.store().round_trips() - trips, app.passwords_verified() - verified));
        }
        courses.push(course);
    }
    assert!(courses.iter().all(|course| *course == courses[0]));
    let reasons = courses[0]
        .iter()
        .map(|(response, trips, verified)| (response.as_ref().unwrap().0, *trips, *verified));
    let (verified_attempts, throttled): (Vec<_>, Vec<_>) =
        reasons.partition(|(_, _, verified)| *verified > 0);
    assert!(
        verified_attempts.iter().all(|cost| *cost == (Reason::WrongCredentials, 2, 1)),
        "{verified_attempts:?}"
    );
    assert!(throttled.iter().all(|cost| *cost == (Reason::Throttled, 2, 0)), "{throttled:?}");
    assert_eq!((verified_attempts.len(), throttled.len()), (20, 5));
}

#[tokio::test]
async fn servers_share_the_buckets_and_a_burst_takes_no_more_from_them() {
    let world = World::new().await;
    register_at_home(&world, "ada").await;
    let other = app(&world.redis, &world.clock, &[]).await;
    let before = world.app.passwords_verified();
    let burst = (0..80_u8).map(|number| {
        let app = if number % 2 == 0 { &world.app } else { &other };
        reason(app, "ada", "wrong password", Some(stranger(number)))
    });
    let responses = join_all(burst).await;
    let verified = world.app.passwords_verified() - before;
    assert_eq!(verified + other.passwords_verified(), LIMIT);
    let wrong = responses.iter().filter(|response| **response == Some(Reason::WrongCredentials)).count();
    assert_eq!(wrong as u64, LIMIT);
    // Tokens are refilled for both together.
    world.clock.advance(Duration::from_mins(6));
    let mut verified_attempts = 0;
    for app in [&world.app, &other, &world.app, &other] {
        let response = reason(app, "ada", "wrong password", Some(stranger(99))).await;
        verified_attempts += u64::from(response == Some(Reason::WrongCredentials));
    }
    assert_eq!(verified_attempts, 2);
    assert_eq!(reason(&other, "ada", PASSWORD, Some(HOME)).await, None);
}

#[tokio::test]
async fn one_address_may_not_try_many_names_but_its_known_users_sign_in() {
    let world = World::with(&["--password-failures-per-address", "4"]).await;
    register_at_home(&world, "ada").await;
    register_at_home(&world, "eve").await;
    let before = world.app.passwords_verified();
    for number in 0..9 {
        let response = reason(&world.app, &format!("name{number}"), PASSWORD, Some(HOME)).await;
        let expected = if number < 4 { Reason::WrongCredentials } else { Reason::Throttled };
        assert_eq!(response, Some(expected), "{number}");
    }
    assert_eq!(world.app.passwords_verified() - before, 4);
    // Names that were tried while the address had no tokens have lost none.
    let buckets: Vec<String> = world.redis.raw(&["KEYS", "ff:{k*}:login"]);
    assert_eq!(buckets.len(), 4);
    assert_eq!(reason(&world.app, "ada", PASSWORD, Some(HOME)).await, None);
    assert_eq!(reason(&world.app, "ada", PASSWORD, Some(stranger(1))).await, None);
    world.app.register("bob", PASSWORD, None, None, None, None).await.unwrap();
    assert_eq!(reason(&world.app, "bob", PASSWORD, Some(HOME)).await, Some(Reason::Throttled));
}

#[tokio::test]
async fn guesses_from_an_address_of_the_owner_are_counted_separately_and_limited() {
    let world = World::with(&["--password-failures-per-account", "3"]).await;
    register_at_home(&world, "ada").await;
    let before = world.app.passwords_verified();
    for number in 0..6 {
        let response = reason(&world.app, "ada", "wrong password", Some(HOME)).await;
        let expected = if number < 3 { Reason::WrongCredentials } else { Reason::Throttled };
        assert_eq!(response, Some(expected), "{number}");
    }
    assert_eq!(world.app.passwords_verified() - before, 3);
    assert_eq!(reason(&world.app, "ada", PASSWORD, Some(HOME)).await, Some(Reason::Throttled));
    assert_eq!(reason(&world.app, "ada", PASSWORD, Some(stranger(1))).await, None);
    // One token is refilled every twenty minutes.
    world.clock.advance(Duration::from_mins(20) - Duration::from_millis(1));
    assert_eq!(reason(&world.app, "ada", PASSWORD, Some(HOME)).await, Some(Reason::Throttled));
    world.clock.advance(Duration::from_millis(1));
    assert_eq!(reason(&world.app, "ada", PASSWORD, Some(HOME)).await, None);
}

#[tokio::test]
async fn right_passwords_take_no_tokens() {
    let world =
        World::with(&["--password-failures-per-account", "2", "--password-failures-per-address", "2"]).await;
    register_at_home(&world, "ada").await;
    for from in [None, Some(HOME), Some(stranger(1))] {
        for _ in 0..5 {
            assert_eq!(reason(&world.app, "ada", PASSWORD, from).await, None);
        }
    }
    let buckets: Vec<String> = world.redis.raw(&["KEYS", "ff:*:login*"]);
    assert_eq!(buckets, Vec::<String>::new(), "a full bucket is not stored");
}

#[tokio::test]
async fn the_data_about_attempts_expires() {
    let world = World::new().await;
    register_at_home(&world, "ada").await;
    for (name, from) in [("ada", HOME), ("ada", stranger(1)), ("bob", stranger(2))] {
        reason(&world.app, name, "wrong password", Some(from)).await;
    }
    let keys: Vec<String> = world.redis.raw(&["KEYS", "ff:{[hk]*"]);
    // Three of addresses and three of accounts, one of registrations, and the address of the registration.
    assert_eq!(keys.len(), 8, "{keys:?}");
    let month = 30 * 86_400;
    for key in keys {
        let seconds: i64 = world.redis.raw(&["TTL", &key]);
        let most = if key.ends_with(":known") { 3 * month } else { 3_600 };
        assert!(0 < seconds && seconds <= most, "{key}: {seconds}");
        assert!(!key.contains("192.0.2") && !key.contains("ada"));
    }
    for number in 0..30 {
        world.clock.advance(Duration::from_secs(1));
        assert_eq!(reason(&world.app, "ada", PASSWORD, Some(stranger(number))).await, None);
    }
    let known: Vec<String> = world.redis.raw(&["KEYS", "ff:*:known"]);
    assert_eq!(world.redis.raw::<u64>(&["ZCARD", &known[0]]), 20);
    // The first was evicted for the last; with time, all expire.
    let is_known = async |from| {
        for _ in 0..=LIMIT {
            reason(&world.app, "ada", "wrong password", Some(stranger(100))).await;
        }
        reason(&world.app, "ada", PASSWORD, Some(from)).await.is_none()
    };
    assert!(!is_known(HOME).await && is_known(stranger(29)).await);
    world.clock.advance(Duration::from_hours(24 * 91));
    assert!(!is_known(stranger(29)).await);
}

#[tokio::test]
async fn guesses_through_a_session_are_limited_and_affect_no_other_session() {
    let world = World::with(&["--password-failures-per-account", "3"]).await;
    let token = register_at_home(&world, "ada").await;
    let second = login_from(&world, HOME, "ada", PASSWORD).await["token"].as_str().unwrap().to_owned();
    let change = async |token: &str, current: &str| {
        let authorization = format!("Bearer {token}");
        let headers = [("authorization", &*authorization)];
        let data = send(&world, HOME, &headers, CHANGE, json!({ "current": current })).await;
        data["changePassword"]["userErrors"][0]["code"].as_str().map(str::to_owned)
    };
    let before = world.app.passwords_verified();
    for number in 0..6 {
        let expected = if number < 3 { "WRONG_CREDENTIALS" } else { "THROTTLED" };
        assert_eq!(change(&token, "wrong password").await.as_deref(), Some(expected), "{number}");
    }
    assert_eq!(world.app.passwords_verified() - before, 3);
    assert_eq!(change(&token, PASSWORD).await.as_deref(), Some("THROTTLED"));
    assert!(login_from(&world, stranger(1), "ada", PASSWORD).await["token"].is_string());
    // Another session of the owner can change it, whatever strangers do.
    for _ in 0..5 {
        login_from(&world, stranger(2), "ada", "wrong password").await;
    }
    assert_eq!(change(&second, PASSWORD).await, None);
}

#[tokio::test]
async fn registrations_are_counted_by_address() {
    let world = World::with(&["--account-registrations-per-address", "2"]).await;
    let register = async |name: &str, from| {
        violation(world.app.register(name, PASSWORD, None, None, None, Some(Address::from(from))).await)
    };
    assert_eq!(register("ann0", HOME).await, None);
    assert_eq!(register("ann1", HOME).await, None);
    let message = "Too many attempts. Try again in 30 minutes.".to_owned();
    assert_eq!(register("ann2", HOME).await, Some((Reason::Throttled, message)));
    assert_eq!(register("ann2", stranger(1)).await, None);
    world.clock.advance(Duration::from_mins(30));
    assert_eq!(register("ann3", HOME).await, None);
    assert!(register("ann4", HOME).await.is_some());
}

#[test]
fn a_server_counts_by_the_address_of_the_connection_or_by_the_one_that_a_trusted_proxy_names() {
    let redis = Redis::start();
    let limit = ["--account-registrations-per-address", "1"];
    let trusting = Server::over(&redis, &[&limit[..], &["--http-trusted-proxies", "127.0.0.0/8"]].concat());
    let strict = Server::over(&redis, &limit);
    let register = |server: &Server, name: &str, forwarded: &str| {
        let input = format!("username: \"{name}\", password: \"correct horse\"");
        let query = format!("mutation {{ register(input: {{ {input} }}) {{ userErrors {{ code }} }} }}");
        let (_, body) = server.send_with("POST /graphql", forwarded, &json!({ "query": query }).to_string());
        let response: Value = serde_json::from_str(&body).unwrap();
        response["data"]["register"]["userErrors"][0]["code"].as_str().map(str::to_owned)
    };
    let throttled = Some("THROTTLED".to_owned());
    assert_eq!(register(&trusting, "ann0", "x-forwarded-for: 198.51.100.1\r\n"), None);
    assert_eq!(register(&trusting, "ann1", "x-forwarded-for: 9.9.9.9, 198.51.100.1\r\n"), throttled);
    assert_eq!(register(&trusting, "ann1", "x-forwarded-for: 198.51.100.2\r\n"), None);
    assert_eq!(register(&strict, "ann2", "x-forwarded-for: 198.51.100.3\r\n"), None);
    assert_eq!(register(&strict, "ann3", "x-forwarded-for: 198.51.100.4\r\n"), throttled);
    assert_eq!(register(&trusting, "ann3", ""), throttled, "the proxy itself has no tokens left");
    assert_eq!((trusting.stop(), strict.stop()), (Some(0), Some(0)));
}
