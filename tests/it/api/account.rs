//! Accounts: registration, signing in, passwords, profiles.

use axum::http::StatusCode;
use fanfold::app::App;
use fanfold::app::error::{Error, Rejection};
use fanfold::gate::Moment;
use fanfold::model::rng::Rng;
use fanfold::model::secret::{PasswordHash, Token};
use fanfold::store;
use fanfold::store::user::PasswordChange;
use futures::future::join_all;
use serde_json::{Value, json};

use crate::harness::server::Server;
use crate::harness::session::{LOGIN, is_signed_in, login};
use crate::harness::socket::Socket;
use crate::harness::turnstile::Actor;
use crate::harness::world::{PASSWORD, Person, Redis, World, app, codes};

const REGISTER: &str = "mutation ($input: RegisterInput!) {
    register(input: $input) { token viewer { user { username displayName } } userErrors { code message field } }
}";

fn user_errors(payload: &Value) -> Vec<(&str, &str)> {
    let text = |value: &'_ Value| -> &'static str { value.as_str().unwrap_or("").to_owned().leak() };
    let errors = payload["userErrors"].as_array().unwrap();
    errors.iter().map(|error| (text(&error["code"]), text(&error["field"][1]))).collect()
}

#[tokio::test]
async fn a_picture_is_shown_while_its_host_is_allowed() {
    let world = World::with(&["--media-hosts", "pictures.example,other.example:8443"]).await;
    let person = world.register("ada").await;
    let update = "mutation ($url: String) {
        updateProfile(input: { avatarUrl: $url }) {
            viewer { user { avatarUrl } } userErrors { code field message } } }";
    let attempt = async |url: Value| {
        world.data(Some(&person.token), update, json!({ "url": url })).await["updateProfile"].take()
    };
    let shown = |url: Value| json!({ "viewer": { "user": { "avatarUrl": url } }, "userErrors": [] });
    let everywhere =
        "{ user(by: { username: \"ada\" }) { avatarUrl posts { nodes { author { avatarUrl } } } } }";
    world
        .data(
            Some(&person.token),
            "mutation { publish(input: { content: \"a\" }) { post { id } } }",
            Value::Null,
        )
        .await;
    let avatars = async || {
        let user = &world.data(None, everywhere, Value::Null).await["user"];
        [&user["avatarUrl"], &user["posts"]["nodes"][0]["author"]["avatarUrl"]].map(Clone::clone)
    };
    assert_eq!(avatars().await, [Value::Null, Value::Null], "none is set");
    let url = "https://pictures.example/ada.png";
    assert_eq!(attempt(json!("https://PICTURES.example/ada.png ")).await, shown(json!(url)));
    assert_eq!(avatars().await, [json!(url), json!(url)]);
    let rejected = attempt(json!("https://evil.example/ada.png")).await;
    assert_eq!(user_errors(&rejected), [("INVALID", "avatarUrl")]);
    let message = "A picture is on one of these hosts: pictures.example, other.example:8443.";
    assert_eq!(rejected["userErrors"][0]["message"], message);
    let rejected = attempt(json!(format!("https://pictures.example/{}", "a".repeat(500)))).await;
    assert_eq!(user_errors(&rejected), [("TOO_LONG", "avatarUrl")]);
    assert_eq!(avatars().await, [json!(url), json!(url)], "nothing has changed");
    let others = app(&world.redis, &world.clock, &["--media-hosts", "other.example:8443"]).await;
    assert_eq!(others.shown_avatar(url), None, "its host is not allowed any more");
    assert_eq!(attempt(Value::Null).await, shown(Value::Null));
    assert_eq!(avatars().await, [Value::Null, Value::Null]);
}

#[tokio::test]
async fn registering_signs_in_and_usernames_are_case_insensitive() {
    let world = World::new().await;
    let input = json!({ "input": { "username": "Ada_99", "password": PASSWORD, "displayName": " Ада " } });
    let data = world.data(None, REGISTER, input).await;
    let user = json!({ "username": "ada_99", "displayName": "Ада" });
    assert_eq!(data["register"]["viewer"]["user"], user);
    assert!(is_signed_in(&world, data["register"]["token"].as_str().unwrap()).await);

    let input = json!({ "input": { "username": "aDA_99", "password": PASSWORD } });
    let data = world.data(None, REGISTER, input).await;
    assert_eq!(user_errors(&data["register"]), [("TAKEN", "username")]);
    assert_eq!(data["register"]["token"], Value::Null);
    assert_eq!(login(&world, "ADA_99", PASSWORD).await["viewer"]["user"]["username"], "ada_99");
}

#[tokio::test]
async fn without_a_display_name_the_username_is_shown() {
    let world = World::new().await;
    let input = json!({ "input": { "username": "Bob", "password": PASSWORD } });
    let data = world.data(None, REGISTER, input).await;
    assert_eq!(data["register"]["viewer"]["user"]["displayName"], "bob");
}

#[tokio::test]
async fn every_fault_of_a_registration_is_reported_with_its_field_and_nothing_is_stored() {
    let world = World::new().await;
    let long = "x".repeat(300);
    let cases = [
        (json!({ "username": "a", "password": PASSWORD }), vec![("TOO_SHORT", "username")]),
        (json!({ "username": "x".repeat(31), "password": PASSWORD }), vec![("TOO_LONG", "username")]),
        (json!({ "username": "a b", "password": PASSWORD }), vec![("INVALID", "username")]),
        (json!({ "username": "аda", "password": PASSWORD }), vec![("INVALID", "username")]),
        (json!({ "username": "ada", "password": "1234567" }), vec![("TOO_SHORT", "password")]),
        (json!({ "username": "ada", "password": long }), vec![("TOO_LONG", "password")]),
        (
            json!({ "username": "a\u{0}", "password": "", "displayName": "a\u{0}b", "label": long }),
            vec![
                ("INVALID", "username"),
                ("TOO_SHORT", "password"),
                ("INVALID", "displayName"),
                ("TOO_LONG", "label"),
            ],
        ),
    ];
    let before: u64 = world.redis.raw(&["DBSIZE"]);
    for (input, expected) in cases {
        let data = world.data(None, REGISTER, json!({ "input": input })).await;
        assert_eq!(user_errors(&data["register"]), expected, "{input}");
        assert_eq!(data["register"]["viewer"], Value::Null);
    }
    assert_eq!(world.redis.raw::<u64>(&["DBSIZE"]), before);
}

#[tokio::test]
async fn an_unknown_name_and_a_wrong_password_are_indistinguishable() {
    let world = World::new().await;
    world.register("ada").await;
    // Redis caches its scripts when they are first called.
    login(&world, "ada", "wrong password").await;
    let mut responses = Vec::new();
    for (username, password) in [("ada", "wrong password"), ("bob", "wrong password"), ("bob", PASSWORD)] {
        let before = world.app.store().round_trips();
        let response = login(&world, username, password).await;
        responses.push((response, world.app.store().round_trips() - before));
    }
    assert_eq!(user_errors(&responses[0].0), [("WRONG_CREDENTIALS", "")]);
    assert!(responses.iter().all(|response| *response == responses[0]), "{responses:?}");
}

#[tokio::test]
async fn a_user_without_a_password_cannot_sign_in() {
    let world = World::new().await;
    world.register("ada").await;
    world.redis.raw::<i64>(&["DEL", "ff:{u1}:secret"]);
    for password in ["", PASSWORD, "nobody's password"] {
        assert_eq!(user_errors(&login(&world, "ada", password).await), [("WRONG_CREDENTIALS", "")]);
    }
}

const CHANGE: &str = "mutation ($current: String!, $new: String!) {
    changePassword(input: { currentPassword: $current, newPassword: $new }) {
        token viewer { user { username } sessions { id label createdAt isCurrent } } userErrors { code field }
    }
}";

#[tokio::test]
async fn changing_the_password_ends_all_other_sessions_and_replaces_the_token() {
    let world = World::new().await;
    let ada = world.register("ada").await;
    let input = json!({ "input": { "username": "ada", "password": PASSWORD, "label": "phone" } });
    let phone = world.data(None, LOGIN, input).await["login"]["token"].as_str().unwrap().to_owned();
    let attempt = async |current: &str, new: &str| {
        let variables = json!({ "current": current, "new": new });
        world.data(Some(&phone), CHANGE, variables).await["changePassword"].take()
    };
    let wrong = attempt("wrong", "a new password").await;
    assert_eq!(user_errors(&wrong), [("WRONG_CREDENTIALS", "currentPassword")]);
    assert_eq!((&wrong["token"], &wrong["viewer"]), (&Value::Null, &Value::Null));
    assert_eq!(user_errors(&attempt(PASSWORD, "short").await), [("TOO_SHORT", "newPassword")]);
    assert!(is_signed_in(&world, &ada.token).await && is_signed_in(&world, &phone).await);
    let sessions = "{ viewer { sessions { id label createdAt isCurrent } } }";
    let before = world.data(Some(&phone), sessions, Value::Null).await["viewer"]["sessions"].take();
    let before = before.as_array().unwrap().iter().find(|session| session["isCurrent"] == true).unwrap();

    let changed = attempt(PASSWORD, "a new password").await;
    assert_eq!(user_errors(&changed), []);
    assert_eq!(changed["viewer"]["user"]["username"], "ada");
    // It is the same session, under another token.
    assert_eq!(before["label"], "phone");
    assert_eq!(changed["viewer"]["sessions"], json!([before]));
    let token = changed["token"].as_str().unwrap();
    assert!(is_signed_in(&world, token).await);
    assert!(!is_signed_in(&world, &phone).await && !is_signed_in(&world, &ada.token).await);
    assert_eq!(user_errors(&login(&world, "ada", PASSWORD).await), [("WRONG_CREDENTIALS", "")]);
    assert_eq!(user_errors(&login(&world, "ada", "a new password").await), []);
}

#[tokio::test]
async fn the_rest_of_a_document_that_changes_the_password_uses_the_new_token() {
    let world = World::new().await;
    let ada = world.register("ada").await;
    let change =
        "changePassword(input: { currentPassword: \"correct horse\", newPassword: \"another horse\" })";
    let document = format!(
        "mutation {{ {change} {{ token }} updateProfile(input: {{ bio: \"hello\" }}) {{ viewer {{ user {{ bio }} }} }}
         logout {{ userErrors {{ code }} }} last: updateProfile(input: {{ bio: \"bye\" }}) {{ viewer {{ user {{ bio }} }} }} }}"
    );
    let response = world.ask(Some(&ada.token), &document, Value::Null).await;
    assert_eq!(response["data"]["updateProfile"]["viewer"]["user"]["bio"], "hello");
    // The new token is the one that is signed out.
    assert_eq!(codes(&response), ["UNAUTHENTICATED"]);
    assert!(!is_signed_in(&world, response["data"]["changePassword"]["token"].as_str().unwrap()).await);
    assert_eq!(world.redis.raw::<u64>(&["HLEN", "ff:{u1}:sessions"]), 0);
}

#[tokio::test]
async fn a_socket_that_changes_the_password_receives_the_new_token_before_it_is_closed() {
    let redis = Redis::start();
    let server = Server::over(&redis, &[]);
    let token = server.token("ada");
    let mut other = Socket::acknowledged(&server, Some(&token)).await;
    let mut socket = Socket::acknowledged(&server, Some(&token)).await;
    socket.subscribe("watching", "subscription { relationChanged { __typename } }", Value::Null).await;
    let variables = json!({ "current": PASSWORD, "new": "a new password" });
    socket.subscribe("m", CHANGE, variables).await;
    let received = socket.receive().await;
    let renewed =
        received["payload"]["data"]["changePassword"]["token"].as_str().expect("is sent").to_owned();
    assert_eq!(socket.receive().await, json!({ "id": "m", "type": "complete" }));
    assert_eq!(socket.receive().await, json!([4403, "The session has ended"]));
    assert_eq!(other.receive().await, json!([4403, "The session has ended"]));
    assert!(Socket::acknowledged(&server, Some(&renewed)).await.is_silent().await);
}

#[tokio::test]
async fn a_session_that_is_revoked_meanwhile_does_not_change_the_password() {
    let world = World::new().await;
    let ada = world.app.register("ada", PASSWORD, None, None, None, None).await.unwrap().viewer;
    let owner = login(&world, "ada", PASSWORD).await["token"].as_str().unwrap().to_owned();
    let change = |app: App| {
        let thief = ada.clone();
        async move {
            let done = app.change_password(&thief, PASSWORD, "another horse", None).await;
            assert!(matches!(done, Err(Error::Rejected(Rejection::BadToken))), "{done:?}");
        }
    };
    let app = &world.app;
    let mut thief = Actor::begin(app, change).await;
    thief.step_to(Moment::Before, "change password: write").await;
    app.revoke_session(&app.authenticate(&owner).await.unwrap(), ada.signed_in().unwrap().session().unwrap())
        .await
        .unwrap();
    thief.finish().await;
    change(app.clone()).await;
    assert_eq!(user_errors(&login(&world, "ada", PASSWORD).await), []);
    assert!(is_signed_in(&world, &owner).await);
}

#[tokio::test]
async fn a_change_of_the_password_that_is_sent_twice_is_applied_once() {
    let world = World::new().await;
    let keys = world.app.store().keys().clone();
    let ada = world.app.register("ada", PASSWORD, None, None, None, None).await.unwrap();
    let user = ada.viewer.user().unwrap();
    let verified = store::user::password(&keys, user).send("test", world.app.store()).await.unwrap().unwrap();
    let new = PasswordHash::from_phc("new");
    let token = Token::issue(user, &Rng::from_seed(7));
    let change = async || {
        let (from, to) = (ada.token.hash(), token.hash());
        let change = store::user::change_password(&keys, user, &verified, &new, &from, &to);
        change.send("test", world.app.store()).await.unwrap()
    };
    assert_eq!(change().await, PasswordChange::Made);
    // Another session is opened before the repeat: it stays.
    world.redis.raw::<u64>(&["HSET", "ff:{u1}:sessions", "other", "a\t1\t1\t1\t"]);
    assert_eq!(change().await, PasswordChange::Made);
    assert_eq!(world.redis.raw::<u64>(&["HLEN", "ff:{u1}:sessions"]), 2);
    assert!(is_signed_in(&world, &token.expose()).await && !is_signed_in(&world, &ada.token.expose()).await);
}

#[tokio::test]
async fn only_the_given_fields_of_a_profile_change() {
    let world = World::new().await;
    let ada = world.register("ada").await;
    let update = "mutation ($input: UpdateProfileInput!) {
        updateProfile(input: $input) { viewer { user { displayName bio } } userErrors { code field } }
    }";
    let attempt = async |input: Value| {
        world.data(Some(&ada.token), update, json!({ "input": input })).await["updateProfile"].take()
    };
    let is = |name: &str, bio: &str| json!({ "viewer": { "user": { "displayName": name, "bio": bio } }, "userErrors": [] });
    assert_eq!(attempt(json!({})).await, is("ada", ""));
    assert_eq!(attempt(json!({ "bio": "שלום\n𝄞" })).await, is("ada", "שלום\n𝄞"));
    assert_eq!(attempt(json!({ "displayName": "Ada", "bio": null })).await, is("Ada", "שלום\n𝄞"));
    let rejected = attempt(json!({ "displayName": " ", "bio": "x".repeat(501) })).await;
    assert_eq!(user_errors(&rejected), [("TOO_SHORT", "displayName"), ("TOO_LONG", "bio")]);
    let rejected = attempt(json!({ "displayName": "Eve", "bio": "a\u{0}" })).await;
    assert_eq!(user_errors(&rejected), [("INVALID", "bio")]);
    assert_eq!(attempt(json!({ "bio": "" })).await, is("Ada", ""));
}

#[tokio::test]
async fn of_a_hundred_registrations_of_one_name_one_succeeds() {
    let world = World::new().await;
    let input = json!({ "input": { "username": "ada", "password": PASSWORD } });
    let attempts = (0..100).map(|_| world.data(None, REGISTER, input.clone()));
    let responses = join_all(attempts).await;
    let (made, rejected): (Vec<_>, Vec<_>) =
        responses.iter().partition(|data| data["register"]["token"].is_string());
    assert_eq!(made.len(), 1);
    assert!(rejected.iter().all(|data| user_errors(&data["register"]) == [("TAKEN", "username")]));
    let users: Vec<String> = world.redis.raw(&["KEYS", "ff:{u*}:user"]);
    assert_eq!(users.len(), 1);
    assert!(is_signed_in(&world, made[0]["register"]["token"].as_str().unwrap()).await);
}

#[tokio::test]
async fn when_the_queue_for_passwords_is_full_clients_are_asked_to_retry() {
    let world = World::with(&["--password-workers", "1", "--password-queue", "2"]).await;
    world.register("ada").await;
    let input = json!({ "input": { "username": "ada", "password": PASSWORD } });
    let responses =
        join_all((0..8).map(|_| world.ask_as(None, "application/json", LOGIN, input.clone()))).await;
    let (busy, finished): (Vec<_>, Vec<_>) =
        responses.iter().partition(|(status, _)| *status == StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!((busy.len(), finished.len()), (5, 3));
    for (_, response) in busy {
        assert_eq!((codes(response), &response["data"]["login"]), (vec!["UNAVAILABLE"], &Value::Null));
    }
}

#[tokio::test]
async fn no_password_and_no_token_is_stored_in_plain_text() {
    let world = World::new().await;
    let Person { token, .. } = world.register("ada").await;
    let mut stored = String::new();
    for key in world.redis.raw::<Vec<String>>(&["KEYS", "*"]) {
        if world.redis.raw::<String>(&["TYPE", &key]) == "hash" {
            let values: Vec<Vec<u8>> = world.redis.raw(&["HGETALL", &key]);
            stored.extend(values.iter().map(|value| String::from_utf8_lossy(value).into_owned()));
        }
    }
    assert!(stored.contains("$argon2id$v=19$m=19456,t=2,p=1$"));
    assert!(!stored.contains(PASSWORD) && !stored.contains(&token));
}

#[tokio::test]
async fn operations_that_need_a_user_are_rejected_for_anonymous_requests() {
    let world = World::new().await;
    let ada = world.register("ada").await;
    let id = &ada.id;
    for mutation in [
        "logout { userErrors { code } }".to_owned(),
        "logoutEverywhere { userErrors { code } }".to_owned(),
        "updateProfile(input: { bio: \"x\" }) { viewer { id } }".to_owned(),
        "changePassword(input: { currentPassword: \"x\", newPassword: \"x\" }) { userErrors { code } }"
            .to_owned(),
        format!("follow(input: {{ userId: \"{id}\" }}) {{ user {{ id }} }}"),
        format!("unfollow(input: {{ userId: \"{id}\" }}) {{ user {{ id }} }}"),
        format!("removeFollower(input: {{ userId: \"{id}\" }}) {{ user {{ id }} }}"),
    ] {
        let response = world.ask(None, &format!("mutation {{ {mutation} }}"), Value::Null).await;
        assert_eq!(codes(&response), ["UNAUTHENTICATED"], "{mutation}");
    }
    assert_eq!(world.data(None, "{ viewer { user { id } } }", Value::Null).await, json!({ "viewer": null }));
}

#[tokio::test]
async fn the_second_field_of_a_mutation_sees_the_writes_of_the_first() {
    let world = World::new().await;
    let ada = world.register("ada").await;
    let query = "mutation {
        one: updateProfile(input: { bio: \"one\" }) { viewer { user { bio } } }
        two: updateProfile(input: { displayName: \"Two\" }) { viewer { user { bio displayName } } }
    }";
    let data = world.data(Some(&ada.token), query, Value::Null).await;
    let expected = json!({
        "one": { "viewer": { "user": { "bio": "one" } } },
        "two": { "viewer": { "user": { "bio": "one", "displayName": "Two" } } },
    });
    assert_eq!(data, expected);
}
