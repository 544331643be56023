//! Throttling: how many passwords are looked at, and that no owner is kept out.

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

use crate::server::Server;
use crate::world::{PASSWORD, Redis, World, app};

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
/// As many as strangers may give for one account, unless it is configured otherwise.
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
    let mut answer: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(answer.get("errors"), None);
    answer["data"].take()
}

async fn login_from(world: &World, from: IpAddr, name: &str, password: &str) -> Value {
    let variables = json!({ "name": name, "password": password });
    send(world, from, &[], LOGIN, variables).await["login"].take()
}

fn is_throttled(payload: &Value) -> bool {
    payload["userErrors"][0]["code"] == "THROTTLED"
}

/// What becomes of an attempt to sign in: `None` if it succeeds.
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

    // The session of the owner goes on, and so does signing in where the owner has been.
    let who = "{ viewer { user { username } } }";
    let authorization = format!("Bearer {token}");
    let seen =
        send(&world, stranger(1), &[("authorization", &authorization)], who, Value::Null).await["viewer"]
            .take();
    assert_eq!(seen["user"]["username"], "ada");
    assert!(login_from(&world, HOME, "ada", PASSWORD).await["token"].is_string());

    // From elsewhere the right password is answered like a wrong one, for the time being.
    let elsewhere = stranger(200);
    assert_eq!(login_from(&world, elsewhere, "ada", PASSWORD).await, last);
    assert_eq!(last["userErrors"][0]["message"], "Too many attempts. Try again in 3 minutes.");
    world.clock.turn(Duration::from_mins(3));
    assert!(login_from(&world, elsewhere, "ada", PASSWORD).await["token"].is_string());
    // Now it is known there, too.
    for number in 0..3 {
        login_from(&world, stranger(number), "ada", "wrong").await;
    }
    assert!(is_throttled(&login_from(&world, stranger(3), "ada", PASSWORD).await));
    assert!(login_from(&world, elsewhere, "ada", PASSWORD).await["token"].is_string());
}

#[tokio::test]
async fn a_known_and_an_unknown_name_cost_the_same_and_are_answered_the_same() {
    let world = World::new().await;
    register_at_home(&world, "ada").await;
    let app = &world.app;
    let mut courses = Vec::new();
    for (name, from) in [("ada", 1), ("bob", 2), ("Eve_99", 3), ("no name", 4)] {
        let mut course = Vec::new();
        for _ in 0..LIMIT + 5 {
            let (trips, verified) = (app.store().round_trips(), app.passwords_verified());
            let answer = attempt(app, name, "wrong password", Some(stranger(from))).await;
            course.push((answer, app.store().round_trips() - trips, app.passwords_verified() - verified));
        }
        courses.push(course);
    }
    assert!(courses.iter().all(|course| *course == courses[0]));
    let reasons =
        courses[0].iter().map(|(answer, trips, verified)| (answer.as_ref().unwrap().0, *trips, *verified));
    let (heard, not_heard): (Vec<_>, Vec<_>) = reasons.partition(|(_, _, verified)| *verified > 0);
    assert!(heard.iter().all(|cost| *cost == (Reason::WrongCredentials, 2, 1)), "{heard:?}");
    assert!(not_heard.iter().all(|cost| *cost == (Reason::Throttled, 2, 0)), "{not_heard:?}");
    assert_eq!((heard.len(), not_heard.len()), (20, 5));
}

#[tokio::test]
async fn servers_share_what_there_is_and_a_burst_gets_no_more_of_it() {
    let world = World::new().await;
    register_at_home(&world, "ada").await;
    let other = app(&world.redis, &world.clock, &[]).await;
    let before = world.app.passwords_verified();
    let burst = (0..80_u8).map(|number| {
        let app = if number % 2 == 0 { &world.app } else { &other };
        reason(app, "ada", "wrong password", Some(stranger(number)))
    });
    let answers = join_all(burst).await;
    let verified = world.app.passwords_verified() - before;
    assert_eq!(verified + other.passwords_verified(), LIMIT);
    let wrong = answers.iter().filter(|answer| **answer == Some(Reason::WrongCredentials)).count();
    assert_eq!(wrong as u64, LIMIT);
    // What comes back comes back for both together.
    world.clock.turn(Duration::from_mins(6));
    let mut heard = 0;
    for app in [&world.app, &other, &world.app, &other] {
        let answer = reason(app, "ada", "wrong password", Some(stranger(99))).await;
        heard += u64::from(answer == Some(Reason::WrongCredentials));
    }
    assert_eq!(heard, 2);
    assert_eq!(reason(&other, "ada", PASSWORD, Some(HOME)).await, None);
}

#[tokio::test]
async fn one_address_may_not_try_the_names_one_after_another_but_who_is_known_there_gets_in() {
    let world = World::with(&["--logins-per-address", "4"]).await;
    register_at_home(&world, "ada").await;
    register_at_home(&world, "eve").await;
    let before = world.app.passwords_verified();
    for number in 0..9 {
        let answer = reason(&world.app, &format!("name{number}"), PASSWORD, Some(HOME)).await;
        let expected = if number < 4 { Reason::WrongCredentials } else { Reason::Throttled };
        assert_eq!(answer, Some(expected), "{number}");
    }
    assert_eq!(world.app.passwords_verified() - before, 4);
    // Names that were tried when the address had nothing left have lost nothing.
    let buckets: Vec<String> = world.redis.raw(&["KEYS", "ff:{k*}:login"]);
    assert_eq!(buckets.len(), 4);
    assert_eq!(reason(&world.app, "ada", PASSWORD, Some(HOME)).await, None);
    assert_eq!(reason(&world.app, "ada", PASSWORD, Some(stranger(1))).await, None);
    world.app.register("bob", PASSWORD, None, None, None).await.unwrap();
    assert_eq!(reason(&world.app, "bob", PASSWORD, Some(HOME)).await, Some(Reason::Throttled));
}

#[tokio::test]
async fn where_the_owner_has_been_guesses_are_counted_by_themselves_and_counted() {
    let world = World::with(&["--logins-per-account", "3"]).await;
    register_at_home(&world, "ada").await;
    let before = world.app.passwords_verified();
    for number in 0..6 {
        let answer = reason(&world.app, "ada", "wrong password", Some(HOME)).await;
        let expected = if number < 3 { Reason::WrongCredentials } else { Reason::Throttled };
        assert_eq!(answer, Some(expected), "{number}");
    }
    assert_eq!(world.app.passwords_verified() - before, 3);
    assert_eq!(reason(&world.app, "ada", PASSWORD, Some(HOME)).await, Some(Reason::Throttled));
    assert_eq!(reason(&world.app, "ada", PASSWORD, Some(stranger(1))).await, None);
    // One comes back every twenty minutes.
    world.clock.turn(Duration::from_mins(20) - Duration::from_millis(1));
    assert_eq!(reason(&world.app, "ada", PASSWORD, Some(HOME)).await, Some(Reason::Throttled));
    world.clock.turn(Duration::from_millis(1));
    assert_eq!(reason(&world.app, "ada", PASSWORD, Some(HOME)).await, None);
}

#[tokio::test]
async fn right_passwords_use_nothing_up() {
    let world = World::with(&["--logins-per-account", "2", "--logins-per-address", "2"]).await;
    register_at_home(&world, "ada").await;
    for from in [None, Some(HOME), Some(stranger(1))] {
        for _ in 0..5 {
            assert_eq!(reason(&world.app, "ada", PASSWORD, from).await, None);
        }
    }
    let buckets: Vec<String> = world.redis.raw(&["KEYS", "ff:*:login*"]);
    assert_eq!(buckets, Vec::<String>::new(), "a full bucket is not kept");
}

#[tokio::test]
async fn what_is_kept_of_attempts_is_forgotten() {
    let world = World::new().await;
    register_at_home(&world, "ada").await;
    for (name, from) in [("ada", HOME), ("ada", stranger(1)), ("bob", stranger(2))] {
        reason(&world.app, name, "wrong password", Some(from)).await;
    }
    let keys: Vec<String> = world.redis.raw(&["KEYS", "ff:{[hk]*"]);
    // Three of addresses and three of accounts, one of registrations, and where the account was made.
    assert_eq!(keys.len(), 8, "{keys:?}");
    let month = 30 * 86_400;
    for key in keys {
        let seconds: i64 = world.redis.raw(&["TTL", &key]);
        let most = if key.ends_with(":known") { 3 * month } else { 3_600 };
        assert!(0 < seconds && seconds <= most, "{key}: {seconds}");
        assert!(!key.contains("192.0.2") && !key.contains("ada"));
    }
    for number in 0..30 {
        world.clock.turn(Duration::from_secs(1));
        assert_eq!(reason(&world.app, "ada", PASSWORD, Some(stranger(number))).await, None);
    }
    let known: Vec<String> = world.redis.raw(&["KEYS", "ff:*:known"]);
    assert_eq!(world.redis.raw::<u64>(&["ZCARD", &known[0]]), 20);
    // The first was forgotten for the last; with time, all are.
    let keeps = async |from| {
        for _ in 0..=LIMIT {
            reason(&world.app, "ada", "wrong password", Some(stranger(100))).await;
        }
        reason(&world.app, "ada", PASSWORD, Some(from)).await.is_none()
    };
    assert!(!keeps(HOME).await && keeps(stranger(29)).await);
    world.clock.turn(Duration::from_hours(24 * 91));
    assert!(!keeps(stranger(29)).await);
}

#[tokio::test]
async fn through_a_session_the_password_is_not_guessed_either_and_nobody_else_is_concerned() {
    let world = World::with(&["--logins-per-account", "3"]).await;
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
async fn accounts_that_are_made_are_counted_by_address() {
    let world = World::with(&["--registrations-per-address", "2"]).await;
    let register = async |name: &str, from| {
        violation(world.app.register(name, PASSWORD, None, None, Some(Address::from(from))).await)
    };
    assert_eq!(register("ann0", HOME).await, None);
    assert_eq!(register("ann1", HOME).await, None);
    let message = "Too many attempts. Try again in 30 minutes.".to_owned();
    assert_eq!(register("ann2", HOME).await, Some((Reason::Throttled, message)));
    assert_eq!(register("ann2", stranger(1)).await, None);
    world.clock.turn(Duration::from_mins(30));
    assert_eq!(register("ann3", HOME).await, None);
    assert!(register("ann4", HOME).await.is_some());
}

#[test]
fn a_server_counts_by_whom_it_is_connected_to_or_by_whom_a_trusted_proxy_names() {
    let redis = Redis::start();
    let limit = ["--registrations-per-address", "1"];
    let trusting = Server::over(&redis, &[&limit[..], &["--http-trusted-proxies", "127.0.0.0/8"]].concat());
    let strict = Server::over(&redis, &limit);
    let register = |server: &Server, name: &str, forwarded: &str| {
        let input = format!("username: \"{name}\", password: \"correct horse\"");
        let query = format!("mutation {{ register(input: {{ {input} }}) {{ userErrors {{ code }} }} }}");
        let (_, body) = server.send_with("POST /graphql", forwarded, &json!({ "query": query }).to_string());
        let answer: Value = serde_json::from_str(&body).unwrap();
        answer["data"]["register"]["userErrors"][0]["code"].as_str().map(str::to_owned)
    };
    let throttled = Some("THROTTLED".to_owned());
    assert_eq!(register(&trusting, "ann0", "x-forwarded-for: 198.51.100.1\r\n"), None);
    assert_eq!(register(&trusting, "ann1", "x-forwarded-for: 9.9.9.9, 198.51.100.1\r\n"), throttled);
    assert_eq!(register(&trusting, "ann1", "x-forwarded-for: 198.51.100.2\r\n"), None);
    assert_eq!(register(&strict, "ann2", "x-forwarded-for: 198.51.100.3\r\n"), None);
    assert_eq!(register(&strict, "ann3", "x-forwarded-for: 198.51.100.4\r\n"), throttled);
    assert_eq!(register(&trusting, "ann3", ""), throttled, "the proxy itself has none left");
    assert_eq!((trusting.stop(), strict.stop()), (Some(0), Some(0)));
}
