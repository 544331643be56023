//! Sessions: signing out, revocation, expiry, limits.

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::session::{LOGIN, is_signed_in, login};
use crate::harness::wait::LIMIT;
use crate::harness::world::{PASSWORD, Redis, World, app, codes};

#[tokio::test]
async fn logging_out_ends_this_session_and_no_other() {
    let world = World::new().await;
    let ada = world.register("ada").await;
    let other = login(&world, "ada", PASSWORD).await["token"].as_str().unwrap().to_owned();
    let response =
        world.data(Some(&ada.token), "mutation { logout { userErrors { code } } }", Value::Null).await;
    assert_eq!(response, json!({ "logout": { "userErrors": [] } }));
    assert!(!is_signed_in(&world, &ada.token).await);
    assert!(is_signed_in(&world, &other).await);
}

/// Redis reports it from 7.2 on, and so does Valkey.
#[tokio::test]
async fn a_revocation_is_confirmed_once_it_is_on_disk_if_redis_reports_that() {
    for (append_only, fsync) in [("yes", "always"), ("yes", "everysec"), ("no", "everysec")] {
        let redis = Redis::start_with(&["--appendonly", append_only, "--appendfsync", fsync]);
        let world = World::on(redis, &[]).await;
        let ada = world.register("ada").await;
        let has_waitaof =
            world.redis.raw::<Vec<Option<redis::Value>>>(&["COMMAND", "INFO", "WAITAOF"])[0].is_some();
        world.redis.raw::<String>(&["CONFIG", "RESETSTAT"]);
        world.data(Some(&ada.token), "mutation { logout { userErrors { code } } }", Value::Null).await;
        let stats: String = world.redis.raw(&["INFO", "commandstats"]);
        let waited = stats.lines().any(|line| line.starts_with("cmdstat_waitaof:calls=1,"));
        assert_eq!(waited, has_waitaof && append_only == "yes", "{append_only}, {fsync}: {stats}");
        assert!(!is_signed_in(&world, &ada.token).await);
    }
}

/// The disk does not keep up: the revocation is in force, and the client receives its response all the same.
#[tokio::test]
async fn a_revocation_is_confirmed_though_the_disk_does_not_keep_up() {
    let world = World::on(Redis::start_with(&["--appendonly", "yes", "--appendfsync", "no"]), &[]).await;
    let ada = world.register("ada").await;
    world.data(Some(&ada.token), "mutation { logout { userErrors { code } } }", Value::Null).await;
    assert!(!is_signed_in(&world, &ada.token).await);
}

#[tokio::test]
async fn logging_out_everywhere_ends_all_sessions() {
    let world = World::new().await;
    let ada = world.register("ada").await;
    let other = login(&world, "ada", PASSWORD).await["token"].as_str().unwrap().to_owned();
    world.data(Some(&ada.token), "mutation { logoutEverywhere { userErrors { code } } }", Value::Null).await;
    assert!(!is_signed_in(&world, &ada.token).await);
    assert!(!is_signed_in(&world, &other).await);
}

#[tokio::test]
async fn sessions_are_listed_and_ended_one_by_one() {
    let world = World::new().await;
    let ada = world.register("ada").await;
    let bob = world.register("bob").await;
    world.clock.advance(Duration::from_mins(1));
    let input = json!({ "input": { "username": "ada", "password": PASSWORD, "label": "phone 📱" } });
    let phone = world.data(None, LOGIN, input).await["login"]["token"].as_str().unwrap().to_owned();

    let query = "{ viewer { sessions { id label isCurrent createdAt } } }";
    let sessions = world.data(Some(&ada.token), query, Value::Null).await["viewer"]["sessions"].take();
    let labels: Vec<_> =
        sessions.as_array().unwrap().iter().map(|s| (&s["label"], &s["isCurrent"])).collect();
    assert_eq!(labels, [(&json!("phone 📱"), &json!(false)), (&json!(""), &json!(true))]);
    assert_eq!(sessions[0]["createdAt"], "2026-01-01T00:01:00.000Z");

    let revoke = "mutation ($id: ID!) {
        revokeSession(input: { sessionId: $id }) { revokedSessionId userErrors { code field } }
    }";
    let id = json!({ "id": sessions[0]["id"] });
    let not_found = json!({ "revokedSessionId": null,
        "userErrors": [{ "code": "NOT_FOUND", "field": ["input", "sessionId"] }] });
    // Bob finds neither the session of another user nor one that has ended.
    assert_eq!(world.data(Some(&bob.token), revoke, id.clone()).await["revokeSession"], not_found);
    assert!(is_signed_in(&world, &phone).await);
    let revoked = world.data(Some(&ada.token), revoke, id.clone()).await["revokeSession"].take();
    assert_eq!(revoked, json!({ "revokedSessionId": sessions[0]["id"], "userErrors": [] }));
    assert!(!is_signed_in(&world, &phone).await);
    assert_eq!(world.data(Some(&ada.token), revoke, id).await["revokeSession"], not_found);
}

#[tokio::test]
async fn a_session_lives_while_it_is_used() {
    let world = World::new().await;
    let ada = world.register("ada").await;
    let day = Duration::from_hours(24);
    for _ in 0..3 {
        world.clock.advance(20 * day);
        assert!(is_signed_in(&world, &ada.token).await);
    }
    world.clock.advance(30 * day);
    assert!(!is_signed_in(&world, &ada.token).await);
}

#[tokio::test]
async fn a_session_ends_a_year_after_signing_in_however_much_it_is_used() {
    let world = World::new().await;
    let ada = world.register("ada").await;
    let day = Duration::from_hours(24);
    let count = async |token: &str| {
        let sessions = "{ viewer { sessions { id } } }";
        world.data(Some(token), sessions, Value::Null).await["viewer"]["sessions"].as_array().unwrap().len()
    };
    for _ in 0..14 {
        world.clock.advance(26 * day);
        assert!(is_signed_in(&world, &ada.token).await);
    }
    let newer = login(&world, "ada", PASSWORD).await["token"].as_str().unwrap().to_owned();
    assert_eq!(count(&newer).await, 2);
    world.clock.advance(Duration::from_hours(24) - Duration::from_millis(1));
    assert!(is_signed_in(&world, &ada.token).await);
    world.clock.advance(Duration::from_millis(1));
    assert!(!is_signed_in(&world, &ada.token).await);
    assert_eq!(count(&newer).await, 1);
    // A shorter lifetime applies to existing sessions.
    let shorter = app(&world.redis, &world.clock, &["--session-max-lifetime", "3"]).await;
    world.clock.advance(day);
    assert!(shorter.authenticate(&newer).await.is_ok());
    world.clock.advance(day);
    assert!(shorter.authenticate(&newer).await.is_err());
}

#[tokio::test]
async fn with_single_sessions_a_login_ends_those_before_it() {
    let world = World::with(&["--session-single"]).await;
    let ada = world.register("ada").await;
    let second = login(&world, "ada", PASSWORD).await["token"].as_str().unwrap().to_owned();
    assert!(!is_signed_in(&world, &ada.token).await);
    assert!(is_signed_in(&world, &second).await);
}

#[tokio::test]
async fn a_user_has_at_most_a_hundred_sessions() {
    let world = World::new().await;
    let ada = world.register("ada").await;
    world.clock.advance(Duration::from_secs(1));
    let newer = login(&world, "ada", PASSWORD).await["token"].as_str().unwrap().to_owned();
    world.clock.advance(Duration::from_secs(1));
    for _ in 0..99 {
        login(&world, "ada", PASSWORD).await;
    }
    assert_eq!(world.redis.raw::<u64>(&["HLEN", "ff:{u1}:sessions"]), 100);
    assert!(!is_signed_in(&world, &ada.token).await);
    assert!(is_signed_in(&world, &newer).await);
}

#[tokio::test]
async fn an_invalid_token_is_rejected_and_not_treated_as_absent() {
    let world = World::new().await;
    let ada = world.register("ada").await;
    let mut forged = ada.token.clone();
    forged.replace_range(30..31, if &forged[30..31] == "A" { "B" } else { "A" });
    for token in ["x", "", &forged, &ada.token[1..]] {
        assert!(!is_signed_in(&world, token).await, "{token:?}");
    }
}

#[tokio::test]
async fn after_a_logout_the_rest_of_the_document_is_unauthenticated() {
    let world = World::new().await;
    let ada = world.register("ada").await;
    let sessions = world.data(Some(&ada.token), "{ viewer { sessions { id } } }", Value::Null).await;
    let revoke =
        format!("revokeSession(input: {{ sessionId: {} }})", sessions["viewer"]["sessions"][0]["id"]);
    for end in [&revoke, "logout", "logoutEverywhere"] {
        let token = login(&world, "ada", PASSWORD).await["token"].as_str().unwrap().to_owned();
        // Ending another session leaves the caller signed in.
        let is_own = end != revoke;
        let query = format!(
            "mutation {{ {end} {{ userErrors {{ code }} }} updateProfile(input: {{ bio: \"{}\" }}) {{ viewer {{ user {{ bio }} }} }} }}",
            end.len()
        );
        let response = world.ask(Some(&token), &query, Value::Null).await;
        assert_eq!(response.get("errors").is_some(), is_own, "{response}");
        if is_own {
            assert_eq!(codes(&response), ["UNAUTHENTICATED"]);
            assert_eq!(response["data"]["updateProfile"], Value::Null);
        }
    }
    let data = world.data(None, "{ user(by: { username: \"ada\" }) { bio } }", Value::Null).await;
    assert_eq!(data["user"]["bio"], revoke.len().to_string());
}

/// The sockets of a session are closed by its signal at once; without one, some time later.
#[tokio::test]
async fn each_way_to_end_a_session_sends_its_signal() {
    let world = World::own(&[]).await;
    let ada = world.register("ada").await;
    let mut connection = redis::Client::open(world.redis.url()).unwrap().get_connection().unwrap();
    connection.set_read_timeout(Some(LIMIT)).unwrap();
    let mut signals = connection.as_pubsub();
    signals.subscribe("ff:{u1}:live").unwrap();
    let mut signals_until_now = || {
        world.redis.raw::<i64>(&["PUBLISH", "ff:{u1}:live", "now"]);
        let next = || signals.get_message().unwrap().get_payload::<String>().unwrap();
        std::iter::repeat_with(next).take_while(|signal| signal != "now").collect::<Vec<_>>()
    };
    let sessions = "{ viewer { sessions { id isCurrent } } }";
    let ends = ["revokeSession", "logout", "logoutEverywhere"];
    for end in ends {
        let token = login(&world, "ada", PASSWORD).await["token"].as_str().unwrap().to_owned();
        let listed = world.data(Some(&token), sessions, Value::Null).await;
        let listed = listed["viewer"]["sessions"].as_array().unwrap().clone();
        let other = listed.iter().find(|session| session["isCurrent"] == false);
        let input = if end == "revokeSession" {
            format!("(input: {{ sessionId: {} }})", other.expect("registering opens one")["id"])
        } else {
            String::new()
        };
        signals_until_now();
        let query = format!("mutation {{ {end}{input} {{ userErrors {{ code }} }} }}");
        assert_eq!(world.data(Some(&token), &query, Value::Null).await[end]["userErrors"], json!([]));
        let received = signals_until_now();
        assert!(received.iter().any(|signal| signal.starts_with("sessions")), "{end}: {received:?}");
    }
    assert!(!is_signed_in(&world, &ada.token).await);
}
