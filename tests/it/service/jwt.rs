//! Sign-in with the JSON Web Tokens of an existing application.

use std::time::Duration;

use fanfold::app::check::Finding;
use fanfold::app::error::{Error, JwtFault, Rejection};
use fanfold::model::clock::{Clock as _, SystemClock};
use fanfold::model::id::UserId;
use fanfold::model::moderation::ActionNote;
use fanfold::model::moderator::Moderator;
use fanfold::model::subject::Subject;
use futures::future::join_all;
use ring::hmac;
use serde_json::{Value, json};

use crate::harness::check::check;
use crate::harness::feed::TIMELINE;
use crate::harness::issuer::{
    AUDIENCE, ISSUER, Issuer, NOW, RULES, SigningKey, base64, claims, message, with,
};
use crate::harness::server::{Server, command, connected};
use crate::harness::socket::Socket;
use crate::harness::wait::eventually_async;
use crate::harness::world::{PASSWORD, Redis, World, app, codes};

const VIEWER: &str = "{ viewer { user { id username displayName } sessions { id } } }";

fn es256(id: &str) -> Value {
    json!({ "alg": "ES256", "typ": "JWT", "kid": id })
}

/// Returns the current time in seconds, as servers in processes of their own have it.
fn system_time() -> i64 {
    SystemClock.now().as_millis() / 1_000
}

/// An application with one key, and a world that accepts its tokens.
struct Setting {
    key: SigningKey,
    issuer: Issuer,
    world: World,
}

impl Setting {
    async fn new() -> Self {
        Self::with(&[]).await
    }

    async fn with(options: &[&str]) -> Self {
        let key = SigningKey::p256();
        let issuer = Issuer::start(&[key.jwk("a")]);
        let world = World::with(&[&issuer.options(), options].concat()).await;
        Self { key, issuer, world }
    }

    fn token(&self, subject: &str) -> String {
        self.key.sign(&es256("a"), &claims(subject))
    }

    async fn page(&self, path: &str) -> String {
        self.world.page(path).await.1
    }

    /// Returns what the readiness probe says of the keys.
    async fn readiness(&self) -> Option<String> {
        let page = self.page("/readyz").await;
        assert!(page.starts_with("ready\n"), "{page}");
        page.lines().find(|line| line.starts_with("jwt")).map(str::to_owned)
    }
}

/// Returns the username of the user whom a token signs in.
async fn username(world: &World, token: &str) -> String {
    let data = world.data(Some(token), VIEWER, Value::Null).await;
    data["viewer"]["user"]["username"].as_str().unwrap().to_owned()
}

/// Returns the rule that a token violates.
async fn fault(world: &World, token: &str) -> JwtFault {
    match world.app.authenticate(token).await {
        Err(Error::Rejected(Rejection::BadJwt(fault))) => fault,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_first_token_of_a_subject_creates_a_user_and_the_next_ones_sign_them_in() {
    let Setting { key, world, .. } = &Setting::new().await;
    let first = key.sign(&es256("a"), &claims("ada"));
    let viewer = world.data(Some(&first), VIEWER, Value::Null).await["viewer"].take();
    assert_eq!(viewer["user"]["username"], "ada");
    assert_eq!(viewer["user"]["displayName"], "ada's name");
    let next =
        key.sign(&es256("a"), &with(claims("ada"), &json!({ "aud": ["other", AUDIENCE], "name": "Eve" })));
    assert_eq!(world.data(Some(&next), VIEWER, Value::Null).await["viewer"], viewer);
    // The user can do what others can.
    let ben = world.register("ben").await;
    let follow =
        format!("mutation {{ follow(input: {{ userId: \"{}\" }}) {{ userErrors {{ code }} }} }}", ben.id);
    assert_eq!(world.data(Some(&next), &follow, Value::Null).await["follow"]["userErrors"], json!([]));
    // There is no password.
    let login = format!(
        "mutation {{ login(input: {{ username: \"ada\", password: \"{PASSWORD}\" }}) {{ token userErrors {{ code }} }} }}"
    );
    let login = world.data(None, &login, Value::Null).await;
    assert_eq!(login["login"]["userErrors"][0]["code"], "WRONG_CREDENTIALS");
    // Tokens and sessions exist side by side.
    assert_eq!(username(world, &ben.token).await, "ben");
}

#[tokio::test]
async fn keys_of_all_supported_kinds_verify_tokens() {
    let (p256, p384, ed25519) = (SigningKey::p256(), SigningKey::p384(), SigningKey::ed25519());
    let rsa = SigningKey::rsa();
    let issuer = Issuer::start(&[p256.jwk("p256"), p384.jwk("p384"), ed25519.jwk("ed"), rsa.jwk("rsa")]);
    let world = World::with(&issuer.options()).await;
    for (key, id, algorithm) in [
        (rsa, "rsa", "RS256"),
        (rsa, "rsa", "RS512"),
        (rsa, "rsa", "PS256"),
        (rsa, "rsa", "PS384"),
        (&p256, "p256", "ES256"),
        (&p384, "p384", "ES384"),
        (&ed25519, "ed", "EdDSA"),
    ] {
        let token = key.sign(&json!({ "alg": algorithm, "kid": id }), &claims("ada"));
        assert_eq!(username(&world, &token).await, "ada", "{algorithm}");
        // A token without a key id is tried with all keys that fit.
        let token = key.sign(&json!({ "alg": algorithm }), &claims("ada"));
        assert_eq!(username(&world, &token).await, "ada", "{algorithm}");
    }
    assert_eq!(issuer.fetches(), 1);
}

#[tokio::test]
async fn a_token_that_violates_a_rule_is_rejected_with_the_rule() {
    let setting = Setting::new().await;
    let Setting { key, world, .. } = &setting;
    let changed = |changes: Value| key.sign(&es256("a"), &with(claims("ada"), &changes));
    let other = SigningKey::p256();
    let valid = setting.token("ada");
    let (unsigned, signature) = valid.rsplit_once('.').unwrap();
    let forged = message(&es256("a"), &claims("eve"));
    let malformed = "The token is not a signed JSON Web Token.";
    let missing = |claim: &str| format!("The token's claim `{claim}` is missing or malformed.");
    let cases = [
        (
            changed(json!({ "iss": "https://other.example.org" })),
            "The token is from another issuer.".to_owned(),
        ),
        (changed(json!({ "iss": format!("{ISSUER}/") })), "The token is from another issuer.".to_owned()),
        (changed(json!({ "iss": [ISSUER] })), "The token is from another issuer.".to_owned()),
        (changed(json!({ "aud": "other" })), "The token is for another audience.".to_owned()),
        (changed(json!({ "aud": ["other", "another"] })), "The token is for another audience.".to_owned()),
        (changed(json!({ "aud": [] })), "The token is for another audience.".to_owned()),
        (changed(json!({ "exp": NOW - 61 })), "The token has expired.".to_owned()),
        (changed(json!({ "nbf": NOW + 61 })), "The token is not valid yet.".to_owned()),
        (changed(json!({ "nbf": "soon" })), missing("nbf")),
        (changed(json!({ "exp": "never" })), missing("exp")),
        (changed(json!({ "exp": null })), missing("exp")),
        (changed(json!({ "iss": null })), missing("iss")),
        (changed(json!({ "aud": null })), missing("aud")),
        (changed(json!({ "sub": null })), missing("sub")),
        (changed(json!({ "sub": "" })), missing("sub")),
        (changed(json!({ "sub": 7 })), missing("sub")),
        (changed(json!({ "more": "x".repeat(4_000) })), "The token has more than 4096 bytes.".to_owned()),
        (other.sign(&es256("a"), &claims("ada")), "The token's signature is wrong.".to_owned()),
        (format!("{forged}.{signature}"), "The token's signature is wrong.".to_owned()),
        (other.sign(&es256("b"), &claims("ada")), "The token is signed with an unknown key.".to_owned()),
        (
            key.sign(&json!({ "alg": "ES256", "kid": "a", "crit": ["b64"], "b64": false }), &claims("ada")),
            malformed.to_owned(),
        ),
        (
            format!("{}.", message(&json!({ "alg": "none", "kid": "a" }), &claims("ada"))),
            malformed.to_owned(),
        ),
        (format!("{}.", message(&json!({ "alg": "None" }), &claims("ada"))), malformed.to_owned()),
        (format!("{unsigned}."), "The token's signature is wrong.".to_owned()),
        (unsigned.to_owned(), malformed.to_owned()),
        (format!("{valid}.{signature}"), malformed.to_owned()),
        ("..".to_owned(), malformed.to_owned()),
        ("a.b.c".to_owned(), malformed.to_owned()),
    ];
    for (token, rule) in cases {
        let (status, response) = world.ask_as(Some(&token), "application/json", VIEWER, Value::Null).await;
        assert_eq!((status.as_u16(), codes(&response)), (401, vec!["UNAUTHENTICATED"]), "{rule}: {response}");
        assert_eq!(response["errors"][0]["message"], rule, "{token}");
        // No part of the token is repeated.
        assert!(!token.split('.').any(|part| part.len() > 3 && response.to_string().contains(part)));
    }
    assert_eq!(world.redis.raw::<Vec<String>>(&["KEYS", "ff:{u*"]), [""; 0], "no user was created");
    // The tolerated difference between clocks counts on both ends.
    for within in [json!({ "exp": NOW - 59 }), json!({ "nbf": NOW + 59 }), json!({ "exp": NOW as f64 + 0.5 })]
    {
        assert_eq!(username(world, &changed(within)).await, "ada");
    }
}

#[tokio::test]
async fn a_key_never_serves_another_algorithm_than_its_own() {
    let rsa = SigningKey::rsa();
    let p256 = SigningKey::p256();
    let only = with(rsa.jwk("only"), &json!({ "alg": "RS256" }));
    let encryption = with(p256.jwk("encryption"), &json!({ "use": "enc" }));
    let issuer = Issuer::start(&[rsa.jwk("rsa"), p256.jwk("p256"), only, encryption]);
    let world = World::with(&issuer.options()).await;
    // The attack on verifiers that let the header decide: the public key as a shared secret.
    let modulus = rsa.jwk("rsa")["n"].as_str().unwrap().to_owned();
    for secret in [rsa.pem.as_bytes(), modulus.as_bytes(), b""] {
        for algorithm in ["HS256", "HS384", "HS512"] {
            let signed = message(&json!({ "alg": algorithm, "kid": "rsa" }), &claims("ada"));
            let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), signed.as_bytes());
            let token = format!("{signed}.{}", base64(tag));
            assert_eq!(fault(&world, &token).await, JwtFault::Algorithm);
        }
    }
    for (key, id, algorithm, expected) in [
        (rsa, "only", "PS256", JwtFault::Algorithm),
        (rsa, "p256", "RS256", JwtFault::Algorithm),
        (&p256, "rsa", "ES256", JwtFault::Algorithm),
        (&p256, "p256", "ES384", JwtFault::Algorithm),
        (&p256, "p256", "EdDSA", JwtFault::Algorithm),
        (&p256, "encryption", "ES256", JwtFault::UnknownKey),
    ] {
        let token = key.sign(&json!({ "alg": algorithm, "kid": id }), &claims("ada"));
        assert_eq!(fault(&world, &token).await, expected, "{algorithm} with {id}");
    }
    let token = rsa.sign(&json!({ "alg": "RS256", "kid": "only" }), &claims("ada"));
    assert_eq!(username(&world, &token).await, "ada");
    // The operator may accept fewer algorithms.
    let options = [&issuer.options()[..], &["--jwt-algorithms", "ES256"]].concat();
    let world = World::with(&options).await;
    assert_eq!(fault(&world, &token).await, JwtFault::Algorithm);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unknown_key_id_fetches_the_keys_once_and_at_most_every_ten_seconds() {
    let setting = Setting::new().await;
    let Setting { issuer, world, .. } = &setting;
    let next = SigningKey::p256();
    let rotated = next.sign(&es256("b"), &with(claims("ada"), &json!({ "exp": NOW + 3_000 })));
    // The keys were fetched at start, a moment ago.
    assert_eq!(fault(world, &rotated).await, JwtFault::UnknownKey);
    assert_eq!(issuer.fetches(), 1);
    world.clock.advance(Duration::from_secs(10));
    issuer.publish(&[next.jwk("b")]);
    issuer.delay(Duration::from_millis(300));
    // All that arrive during the fetch wait for it. One of them stops waiting, which does not end the fetch.
    let app = world.app.clone();
    let impatient = tokio::spawn({
        let (app, rotated) = (app.clone(), rotated.clone());
        async move { app.authenticate(&rotated).await.is_ok() }
    });
    assert!(eventually_async(async || issuer.fetches() == 2).await);
    impatient.abort();
    let signed_in = join_all((0..20).map(|_| app.authenticate(&rotated))).await;
    assert!(signed_in.iter().all(Result::is_ok), "{signed_in:?}");
    assert_eq!(issuer.fetches(), 2);
    // Others are rejected at once, without a fetch.
    let foreign = |id: usize| SigningKey::p256().sign(&es256(&format!("unknown {id}")), &claims("eve"));
    for id in 0..20 {
        assert_eq!(fault(world, &foreign(id)).await, JwtFault::UnknownKey);
    }
    assert_eq!(issuer.fetches(), 2);
    world.clock.advance(Duration::from_secs(11));
    for id in 0..20 {
        assert_eq!(fault(world, &foreign(id)).await, JwtFault::UnknownKey);
    }
    assert_eq!(issuer.fetches(), 3);
}

#[tokio::test]
async fn a_withdrawn_key_is_rejected_from_the_next_fetch_on() {
    let setting = Setting::new().await;
    let Setting { issuer, world, .. } = &setting;
    let (token, next) = (setting.token("ada"), SigningKey::ed25519());
    let rotated = next.sign(&json!({ "alg": "EdDSA", "kid": "b" }), &claims("ada"));
    assert_eq!(username(world, &token).await, "ada");
    // Both keys are valid for a while.
    issuer.publish(&[setting.key.jwk("a"), next.jwk("b")]);
    world.app.refresh_jwt_keys().await;
    assert_eq!(username(world, &token).await, "ada");
    assert_eq!(username(world, &rotated).await, "ada");
    issuer.publish(&[next.jwk("b")]);
    assert_eq!(username(world, &token).await, "ada");
    world.app.refresh_jwt_keys().await;
    // The token was verified before, but its key is no longer in force.
    assert_eq!(fault(world, &token).await, JwtFault::UnknownKey);
    assert_eq!(username(world, &rotated).await, "ada");
    // A key that is reused under the same id is another key.
    issuer.publish(&[setting.key.jwk("b")]);
    world.app.refresh_jwt_keys().await;
    assert_eq!(fault(world, &rotated).await, JwtFault::Algorithm);
    // An issuer that withdraws all keys is obeyed.
    issuer.publish(&[]);
    world.app.refresh_jwt_keys().await;
    assert_eq!(fault(world, &rotated).await, JwtFault::UnknownKey);
    assert_eq!(setting.readiness().await.as_deref(), Some("jwt: keys unavailable"));
}

#[tokio::test]
async fn while_the_keys_are_away_the_known_keys_stay_in_force() {
    let setting = Setting::new().await;
    let Setting { issuer, world, .. } = &setting;
    let token = setting.token("ada");
    assert_eq!(setting.readiness().await, None);
    for (status, headers, body) in [
        ("503 Service Unavailable", "", ""),
        ("302 Found", "location: /jwks.json\r\n", ""),
        ("200 OK", "", "<html>"),
        ("200 OK", "", &*" ".repeat(300_000)),
    ] {
        issuer.publish(&[setting.key.jwk("a")]);
        world.app.refresh_jwt_keys().await;
        assert_eq!(setting.readiness().await, None);
        let fetches = issuer.fetches();
        issuer.respond(status, headers, body);
        world.clock.advance(Duration::from_secs(20));
        world.app.refresh_jwt_keys().await;
        assert_eq!(issuer.fetches(), fetches + 1, "{status}");
        assert_eq!(username(world, &token).await, "ada");
        assert_eq!(setting.readiness().await.as_deref(), Some("jwt: keys unavailable"));
        let keys = world.app.jwt_keys().unwrap();
        assert_eq!((keys.keys, keys.age), (1, Some(Duration::from_secs(20))));
    }
}

#[tokio::test]
async fn a_server_starts_while_the_keys_are_away() {
    let key = SigningKey::p256();
    let issuer = Issuer::start(&[key.jwk("a")]);
    issuer.respond("500 Internal Server Error", "", "");
    let world = World::with(&issuer.options()).await;
    let token = key.sign(&es256("a"), &claims("ada"));
    assert_eq!(fault(&world, &token).await, JwtFault::UnknownKey);
    issuer.publish(&[key.jwk("a")]);
    world.clock.advance(Duration::from_secs(10));
    assert_eq!(username(&world, &token).await, "ada");
    assert!(!world.app.jwt_keys().unwrap().is_failing);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn first_requests_at_the_same_time_create_one_user() {
    let Setting { key, issuer, world } = &Setting::new().await;
    let other = app(&world.redis, &world.clock, &issuer.options()).await;
    let tokens: Vec<String> = (0..12)
        .map(|number| key.sign(&es256("a"), &with(claims("ada"), &json!({ "jti": number }))))
        .collect();
    let apps = [&world.app, &other].into_iter().cycle();
    let viewers = join_all(tokens.iter().zip(apps).map(|(token, app)| app.authenticate(token))).await;
    let users: Vec<_> = viewers.into_iter().map(|viewer| viewer.unwrap().user().unwrap()).collect();
    assert!(users.iter().all(|user| *user == users[0]), "{users:?}");
    assert_eq!(world.redis.raw::<Vec<String>>(&["KEYS", "ff:{u*}:user"]).len(), 1);
    assert_eq!(world.app.repair().await.unwrap(), 0);
}

#[tokio::test]
async fn equal_subjects_of_two_issuers_are_two_users() {
    let Setting { key, issuer, world } = &Setting::new().await;
    let url = ["--jwt-jwks-url", &issuer.url, "--jwt-audience", AUDIENCE];
    let other =
        app(&world.redis, &world.clock, &[&url[..], &["--jwt-issuer", "https://b.example"]].concat()).await;
    let theirs = key.sign(&es256("a"), &with(claims("ada"), &json!({ "iss": "https://b.example" })));
    let theirs = other.authenticate(&theirs).await.unwrap().user().unwrap();
    let ours = world.app.authenticate(&key.sign(&es256("a"), &claims("ada"))).await.unwrap().user().unwrap();
    assert_ne!(ours, theirs);
}

#[tokio::test]
async fn a_new_user_gets_a_free_username_that_resembles_the_claim() {
    let Setting { key, world, .. } = &Setting::new().await;
    world.register("ada").await;
    let created = async |subject: &str, changes: Value| {
        username(world, &key.sign(&es256("a"), &with(claims(subject), &changes))).await
    };
    let is_numbered = |name: &str, base: &str| {
        name.strip_prefix(base).is_some_and(|digits| digits.len() >= 2 && digits.parse::<u64>().is_ok())
    };
    let numbered = created("1", json!({ "preferred_username": "Ada" })).await;
    assert!(is_numbered(&numbered, "ada"), "{numbered}");
    assert_eq!(created("2", json!({ "preferred_username": "Eve.Adams@example.org" })).await, "eve_adams");
    for (subject, claim) in [("3", Value::Null), ("4", json!(7)), ("5", json!("李"))] {
        let name = created(subject, json!({ "preferred_username": claim, "name": "\u{7}" })).await;
        assert!(is_numbered(&name, "user"), "{name}");
    }
    let long = "a".repeat(40);
    assert_eq!(created("6", json!({ "preferred_username": long })).await, "a".repeat(30));
    let numbered = created("7", json!({ "preferred_username": long })).await;
    assert!(numbered.len() == 30 && is_numbered(&numbered, &"a".repeat(28)), "{numbered}");
    // Another claim, as configured.
    let setting = Setting::with(&["--jwt-username-claim", "nickname"]).await;
    let token = setting.key.sign(&es256("a"), &with(claims("ada"), &json!({ "nickname": "lovelace" })));
    assert_eq!(username(&setting.world, &token).await, "lovelace");
}

#[tokio::test]
async fn what_another_application_manages_is_reported_as_such() {
    let setting = Setting::new().await;
    let (world, token) = (&setting.world, setting.token("ada"));
    let viewer = world.data(Some(&token), VIEWER, Value::Null).await;
    assert_eq!(viewer["viewer"]["sessions"], json!([]));
    let change =
        format!("changePassword(input: {{ currentPassword: \"{PASSWORD}\", newPassword: \"{PASSWORD}\" }})");
    for mutation in ["logout", "logoutEverywhere", &change] {
        let query = format!("mutation {{ {mutation} {{ userErrors {{ code message field }} }} }}");
        let data = world.data(Some(&token), &query, Value::Null).await;
        let errors = data.as_object().unwrap().values().next().unwrap()["userErrors"].clone();
        assert_eq!(errors[0]["code"], "EXTERNAL_SIGN_IN", "{mutation}: {errors}");
        assert_eq!(username(world, &token).await, "ada", "{mutation}");
    }
    let revoke =
        "mutation { revokeSession(input: { sessionId: \"s_AAAAAAAAAAAAAAAA\" }) { userErrors { code } } }";
    let ben = world.register("ben").await;
    let sessions = world.data(Some(&ben.token), "{ viewer { sessions { id } } }", Value::Null).await;
    let session = sessions["viewer"]["sessions"][0]["id"].as_str().unwrap();
    let revoke = revoke.replace("s_AAAAAAAAAAAAAAAA", session);
    let data = world.data(Some(&token), &revoke, Value::Null).await;
    assert_eq!(data["revokeSession"]["userErrors"][0]["code"], "NOT_FOUND");
}

#[tokio::test]
async fn a_user_of_another_application_deletes_the_account_without_a_password_and_only_moderators_cancel_that()
 {
    let setting = Setting::new().await;
    let (world, token) = (&setting.world, setting.token("ada"));
    assert_eq!(username(world, &token).await, "ada");
    let delete = "mutation { deleteAccount(input: {}) { deletionAt userErrors { code } } }";
    let data = world.data(Some(&token), delete, Value::Null).await;
    assert!(data["deleteAccount"]["deletionAt"].is_string(), "{data}");
    let rejected = world.ask(Some(&token), VIEWER, Value::Null).await;
    assert_eq!(codes(&rejected), ["UNAUTHENTICATED"]);
    let user = UserId::new(1).unwrap();
    let note = ActionNote::default();
    world.app.cancel_user_deletion(&Moderator::Operator, user, note).await.unwrap();
    assert_eq!(username(world, &token).await, "ada");
}

#[tokio::test]
async fn the_token_of_a_deleted_or_foreign_account_is_rejected() {
    let setting = Setting::with(&["--graphql-rate-limit", "10000"]).await;
    let (world, token) = (&setting.world, setting.token("ada"));
    assert_eq!(username(world, &token).await, "ada");
    world.redis.raw::<i64>(&["HSET", "ff:{u1}:secret", "subject", "00000000000000000000000000000000"]);
    let rejected = async || {
        // With and without a charge.
        assert_eq!(fault(world, &token).await, JwtFault::NoAccount);
        let response = world.ask(Some(&token), VIEWER, Value::Null).await;
        assert_eq!(codes(&response), ["UNAUTHENTICATED"]);
    };
    rejected().await;
    world.redis.raw::<i64>(&["DEL", "ff:{u1}:user", "ff:{u1}:secret"]);
    rejected().await;
    assert_eq!(world.redis.raw::<Vec<String>>(&["KEYS", "ff:{u2*"]), [""; 0], "no other user is created");
}

#[tokio::test]
async fn the_subject_of_an_erased_account_is_free_for_another_user() {
    let setting = Setting::with(&["--redis-expected-users", "100"]).await;
    let world = &setting.world;
    let token = setting.key.sign(&es256("a"), &with(claims("ada"), &json!({ "exp": NOW + 1_000 })));
    assert_eq!(username(world, &token).await, "ada");
    assert_eq!(username(world, &setting.token("ben")).await, "ben");
    let (ada, note) = (UserId::new(1).unwrap(), ActionNote::default());
    world.app.delete_user(&Moderator::Operator, ada, note, Duration::ZERO).await.unwrap();
    world.clock.advance(Duration::from_secs(61));
    assert_eq!(world.app.work_on_accounts().await.unwrap(), 1);
    let subjects = world.redis.raw::<Vec<String>>(&["KEYS", "ff:{s*}:subjects"]);
    assert_eq!(subjects.len(), 1, "only Ben's is left: {subjects:?}");
    assert_eq!(check(&world.app, false).await.faults(), 0);
    // A process that has cached the subject rejects one request.
    assert_eq!(fault(world, &token).await, JwtFault::NoAccount);
    let viewer = world.app.authenticate(&token).await.unwrap();
    assert_eq!(viewer.user(), UserId::new(3), "Ada has another account");
    assert_eq!(username(world, &token).await, "ada");
    assert_eq!(check(&world.app, false).await.faults(), 0);
}

#[tokio::test]
async fn a_request_with_a_token_makes_one_round_trip_and_is_charged() {
    let setting = Setting::with(&["--graphql-rate-limit", "10000"]).await;
    let (world, token) = (&setting.world, setting.token("ada"));
    let query = "{ rateLimit { remaining } viewer { id } }";
    let first = world.data(Some(&token), query, Value::Null).await;
    let commands = || world.redis.raw::<String>(&["INFO", "commandstats"]);
    let scripts = |report: &str| {
        let line = report.lines().find(|line| line.starts_with("cmdstat_evalsha:")).unwrap().to_owned();
        line.split(['=', ',']).nth(1).unwrap().parse::<u64>().unwrap()
    };
    let before = scripts(&commands());
    let second = world.data(Some(&token), query, Value::Null).await;
    assert_eq!(scripts(&commands()) - before, 1);
    let remaining = |data: &Value| data["rateLimit"]["remaining"].as_i64().unwrap();
    assert!(remaining(&second) < remaining(&first), "{first} {second}");
}

#[tokio::test]
async fn public_keys_in_files_verify_tokens() {
    let (p256, ed25519) = (SigningKey::p256(), SigningKey::ed25519());
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let both = write("both.pem", &format!("a comment\n{}{}", p256.pem, SigningKey::rsa().pem));
    let files = format!("{both},{}", write("ed.pem", &ed25519.pem));
    let world = World::with(&[&["--jwt-public-keys", &files], &RULES[..]].concat()).await;
    for (key, algorithm) in [(&p256, "ES256"), (SigningKey::rsa(), "RS256"), (&ed25519, "EdDSA")] {
        let token = key.sign(&json!({ "alg": algorithm, "kid": "any" }), &claims("ada"));
        assert_eq!(username(&world, &token).await, "ada", "{algorithm}");
    }
    let other = SigningKey::p256().sign(&es256("a"), &claims("ada"));
    assert_eq!(fault(&world, &other).await, JwtFault::Signature);
    assert_eq!(world.app.jwt_keys().unwrap().keys, 3);
}

#[tokio::test]
async fn a_wrong_configuration_ends_the_start_with_the_rule() {
    let redis = Redis::start();
    let (url, directory) = (redis.url(), tempfile::tempdir().unwrap());
    let write = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let private = write("private.pem", &SigningKey::p256().private);
    let (certificate, empty) = (
        write("certificate.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
        write("empty.pem", ""),
    );
    let many = write("many.pem", &SigningKey::p256().pem.repeat(5));
    let jwks = "https://app.example.org/jwks.json";
    let cases: [(&[&str], &[&str], &str); 10] = [
        (&["--jwt-jwks-url", jwks], &[], "needs --jwt-issuer"),
        (&["--jwt-jwks-url", jwks], &RULES[..2], "needs --jwt-audience"),
        (&[], &RULES, "need --jwt-jwks-url or --jwt-public-keys"),
        (&["--jwt-jwks-url", jwks, "--jwt-public-keys", &empty], &RULES, "not both"),
        (&["--jwt-jwks-url", "http://app.example.org/"], &RULES, "https"),
        (&["--jwt-algorithms", "HS256"], &[], "invalid value 'HS256'"),
        (&["--jwt-public-keys", &private], &RULES, "contains a private key"),
        (&["--jwt-public-keys", &certificate], &RULES, "not a public key"),
        (&["--jwt-public-keys", &empty], &RULES, "contains no public key"),
        (&["--jwt-public-keys", &many], &RULES, "4 keys in all"),
    ];
    for (source, rules, expected) in cases {
        let data = directory.path().to_str().unwrap();
        let fixed = ["serve", "--listen", "127.0.0.1:0", "--redis-url", &url, "--data-dir", data];
        let output = command(&[&fixed, source, rules].concat()).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && message.contains(expected), "{expected}: {message}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sockets_and_event_streams_end_when_their_token_expires() {
    let key = SigningKey::p256();
    let issuer = Issuer::start(&[key.jwk("a")]);
    let redis = Redis::start();
    let server = Server::over(&redis, &[&issuer.options()[..], &["--jwt-leeway", "0"]].concat());
    let token = |seconds: i64| {
        let expires = system_time() + seconds;
        key.sign(&es256("a"), &with(claims("ada"), &json!({ "exp": expires })))
    };
    let (short, long) = (token(6), token(300));
    let mut lasting = Socket::acknowledged(&server, Some(&long)).await;
    let mut socket = Socket::acknowledged(&server, Some(&short)).await;
    for socket in [&mut socket, &mut lasting] {
        socket.subscribe("t", TIMELINE, Value::Null).await;
    }
    let events = std::thread::spawn({
        let address = server.address.clone();
        let body = json!({ "query": TIMELINE }).to_string();
        move || {
            use std::io::{Read as _, Write as _};
            let mut stream = connected(&address);
            let length = body.len();
            write!(stream, "POST /graphql HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\naccept: text/event-stream\r\nauthorization: Bearer {short}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}").unwrap();
            let mut response = String::new();
            stream.read_to_string(&mut response).unwrap();
            response
        }
    });
    assert_eq!(socket.receive().await, json!([4403, "The token has expired."]));
    let events = events.join().unwrap();
    assert!(events.contains("UNAUTHENTICATED") && events.contains("The token has expired."), "{events}");
    assert!(lasting.is_silent().await);
    // A socket with an expired token is closed with the rule.
    let mut late = Socket::silent(&server).await;
    let payload = json!({ "Authorization": format!("Bearer {}", token(-1)) });
    late.send(json!({ "type": "connection_init", "payload": payload })).await;
    assert_eq!(late.receive().await, json!([4403, "The token has expired."]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_are_fetched_over_https_from_a_trusted_server_only() {
    let directory = tempfile::tempdir().unwrap();
    let [own, other] = ["own.pem", "other.pem"].map(|name| directory.path().join(name));
    let key = SigningKey::p256();
    let issuer = Issuer::start_with_tls(&[key.jwk("a")], &own);
    let _other = Issuer::start_with_tls(&[], &other);
    let redis = Redis::start();
    let (url, data) = (redis.url(), redis.directory());
    let fixed = ["serve", "--listen", "127.0.0.1:0", "--redis-url", &url, "--data-dir", data];
    let token = key.sign(&es256("a"), &with(claims("ada"), &json!({ "exp": system_time() + 300 })));
    for (certificates, is_trusted) in [(&other, false), (&own, true)] {
        let mut command = command(&[&fixed[..], &issuer.options()].concat());
        let server = Server::run(command.env("SSL_CERT_FILE", certificates));
        let response = server.ask_as(&token, VIEWER);
        assert_eq!(response["data"]["viewer"]["user"]["username"] == "ada", is_trusted, "{response}");
        assert_eq!(server.page("/readyz").1 == "ready\n", is_trusted);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_reports_the_age_of_the_keys() {
    let key = SigningKey::p256();
    let issuer = Issuer::start(&[key.jwk("a")]);
    let redis = Redis::start();
    let server = Server::over(&redis, &issuer.options());
    let metric = |name: &str| {
        let (_, page) = server.page("/metrics");
        let line = page.lines().find(|line| line.starts_with(&format!("{name} "))).map(str::to_owned);
        line.and_then(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok())
    };
    assert_eq!(metric("fanfold_jwt_keys"), Some(1.0));
    let age = metric("fanfold_jwt_keys_age_seconds").unwrap();
    assert!((0.0..60.0).contains(&age), "{age}");
    assert_eq!(server.page("/readyz"), (200, "ready\n".to_owned()));
}

#[tokio::test]
async fn the_subjects_of_users_are_measured_checked_and_repaired() {
    let setting = Setting::with(&["--redis-expected-users", "100"]).await;
    let world = &setting.world;
    for subject in ["ada", "ben"] {
        username(world, &setting.token(subject)).await;
    }
    world.register("eve").await;
    let usage = world.app.measure_memory().await.unwrap();
    let footprint = usage.footprints.iter().find(|footprint| footprint.kind == "subject").unwrap();
    assert_eq!(footprint.count, 2);
    assert!(footprint.bytes() > 0);
    let (url, directory) = (world.redis.url(), world.redis.directory().to_owned());
    let run = |options: &[&str]| {
        let fixed = ["check", "--redis-url", &url, "--data-dir", &directory];
        let output = command(&[&fixed, options].concat()).output().unwrap();
        (output.status.success(), String::from_utf8(output.stdout).unwrap())
    };
    let count = |number: usize| format!("subjects without a user:       {number}\n");
    let (is_well, report) = run(&[]);
    assert!(is_well && report.contains(&count(0)), "{report}");
    // One subject is lost, and an unknown one leads to its user instead.
    let own: String = world.redis.raw(&["HGET", "ff:{u1}:secret", "subject"]);
    let key = |subject: &str| {
        let subject = Subject::parse(subject).unwrap();
        world.app.store().keys().subjects_with(subject).name().to_owned()
    };
    let (unknown, reserved) = ("000000000000000000000000000000ab", "000000000000000000000000000000ac");
    world.redis.raw::<i64>(&["HDEL", &key(&own), &own]);
    world.redis.raw::<i64>(&["HSET", &key(unknown), unknown, "1"]);
    world.redis.raw::<i64>(&["HSET", &key(reserved), reserved, "?77"]);
    let (is_well, report) = run(&[]);
    assert!(!is_well && report.contains(&count(3)), "{report}");
    assert_eq!(check(&world.app, false).await[Finding::WrongSubjects], 3);
    let (is_well, report) = run(&["--repair"]);
    assert!(is_well, "{report}");
    assert!(run(&[]).0);
    for subject in [unknown, reserved] {
        assert_eq!(world.redis.raw::<i64>(&["EXISTS", &key(subject)]), 0, "{subject}");
    }
    // Another process, which has not cached the subject, finds its user again.
    let other = app(&world.redis, &world.clock, &setting.issuer.options()).await;
    let viewer = other.authenticate(&setting.token("ada")).await.unwrap();
    assert_eq!(viewer.user().map(|user| user.to_string()).as_deref(), Some("1"));
}
