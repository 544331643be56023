//! When a code is valid, who can issue one for whom, and what shows it.

use std::time::Duration;

use fanfold::app::error::{Error, Reason, Rejection};
use fanfold::model::moderation::ActionNote;
use fanfold::model::moderator::Moderator;
use serde_json::{Value, json};

use crate::api::recovery::{
    HOUR, NEW, cancel, entry, error, grant, issue, issued, issued_by_operator, log, login, mutate, pending,
    recovers, user_id, world,
};
use crate::harness::id::global;
use crate::harness::wait::eventually_async;
use crate::harness::world::{PASSWORD, Person, World, codes};

#[tokio::test]
async fn a_code_is_valid_after_a_day_for_a_day_and_once() {
    let (world, people) = world(3).await;
    let user = &people[2];
    let payload = issue(&world, &people[0], &user.id).await;
    let code = payload["code"].as_str().unwrap().to_owned();
    assert_eq!(payload["validFrom"], "2026-01-02T00:00:00.000Z");
    assert_eq!(payload["expiresAt"], "2026-01-03T00:00:00.000Z");
    let expected = json!({
        "issuedAt": "2026-01-01T00:00:00.000Z", "validFrom": payload["validFrom"],
        "expiresAt": payload["expiresAt"], "isByOperator": false, "issuer": { "username": "ann0" },
    });
    assert_eq!(pending(&world, user).await, expected);
    assert_eq!(pending(&world, &people[1]).await, Value::Null);
    world.clock.advance(Duration::from_millis(24 * 3_600_000 - 1));
    assert!(!recovers(&world, "ann2", &code).await, "too early");
    world.clock.advance(Duration::from_millis(1));
    for (username, code) in [("ann1", code.as_str()), ("nobody", &code), ("no name", &code), ("ann2", "")] {
        assert!(!recovers(&world, username, code).await, "{username}");
    }
    assert!(
        !recovers(&world, "ann2", &code.replace(&code[..1], if code.starts_with('0') { "1" } else { "0" }))
            .await
    );
    assert!(world.app.authenticate(&user.token).await.is_ok(), "nothing has happened");
    assert!(recovers(&world, "Ann2", &format!(" {} ", code.to_uppercase())).await);
    assert!(world.app.authenticate(&user.token).await.is_err(), "all sessions have ended");
    assert!(!recovers(&world, "ann2", &code).await, "a code is valid once");
    assert!(!login(&world, "ann2", PASSWORD).await);
    assert!(login(&world, "ann2", NEW).await);
    let code = issued(&world, &people[0], user).await;
    world.clock.advance(Duration::from_millis(48 * 3_600_000 - 1));
    assert!(!recovers(&world, "ann2", &code[1..]).await);
    world.clock.advance(Duration::from_millis(1));
    assert!(!recovers(&world, "ann2", &code).await, "expired");
    let opened = world.app.login("ann2", NEW, None, None).await.unwrap();
    let user = Person { id: user.id.clone(), token: opened.token.expose() };
    assert_eq!(pending(&world, &user).await, Value::Null);
}

#[tokio::test]
async fn the_delay_is_an_option_and_the_code_is_stored_as_a_hash() {
    let world = World::with(&["--account-recovery-delay", "1"]).await;
    let people = world.people(2).await;
    grant(&world, 1, true).await;
    let code = issued(&world, &people[0], &people[1]).await;
    for key in world.redis.raw::<Vec<String>>(&["KEYS", "ff:*"]) {
        let dump: Vec<u8> = world.redis.raw(&["DUMP", &key]);
        assert!(!dump.windows(code.len()).any(|part| part == code.as_bytes()), "{key} contains the code");
    }
    let left: i64 = world.redis.raw(&["TTL", "ff:{u2}:recovery"]);
    assert!((1..=25 * 3_600).contains(&left), "{left}");
    world.clock.advance(Duration::from_millis(3_600_000 - 1));
    assert!(!recovers(&world, "ann1", &code).await);
    world.clock.advance(Duration::from_millis(1));
    let short = json!({ "username": "ann1", "code": code, "newPassword": "short" });
    let payload = mutate(&world, None, "recoverAccount", short, "").await;
    assert_eq!(error(&payload), Some("TOO_SHORT"));
    assert!(recovers(&world, "ann1", &code).await);
}

#[tokio::test]
async fn no_one_gets_a_code_for_themselves_a_moderator_an_inactive_account_or_a_user_of_another_application()
{
    let (world, people) = world(4).await;
    let (moderator, note) = (&people[0], ActionNote::default);
    let before = log(&world, moderator).await.len();
    for (user, code) in [("1", "SELF"), ("2", "MODERATOR"), ("77", "NOT_FOUND")] {
        assert_eq!(error(&issue(&world, moderator, &global("User", user)).await), Some(code));
    }
    let subject = fanfold::model::subject::Subject::of("https://issuer.example", "7").to_string();
    world.redis.raw::<i64>(&["HSET", "ff:{u4}:secret", "subject", &subject]);
    assert_eq!(error(&issue(&world, moderator, &people[3].id).await), Some("EXTERNAL_SIGN_IN"));
    assert_eq!(log(&world, moderator).await.len(), before, "what breaks a rule is not in the log");
    world.app.suspend_user(&Moderator::Operator, user_id(3), note()).await.unwrap();
    assert_eq!(error(&issue(&world, moderator, &people[2].id).await), Some("INACTIVE"));
    // The operator can recover moderators, but no account that is inactive or belongs to another application.
    for (user, reason) in [(3, Reason::Inactive), (4, Reason::ExternalSignIn)] {
        let done = world.app.issue_recovery_code(&Moderator::Operator, user_id(user), note()).await;
        let Err(Error::Rejected(Rejection::Rules(rules))) = done else { panic!("{done:?}") };
        assert_eq!(rules[0].reason, reason);
    }
    let code = issued_by_operator(&world, 1).await;
    assert!(recovers(&world, "ann0", &code).await);
    let query = "mutation ($input: IssueRecoveryCodeInput!) { issueRecoveryCode(input: $input) { code } }";
    let input = json!({ "input": { "userId": people[3].id } });
    assert_eq!(codes(&world.ask(None, query, input.clone()).await), ["UNAUTHENTICATED"]);
    assert_eq!(codes(&world.ask(Some(&people[3].token), query, input).await), ["FORBIDDEN"]);
}

#[tokio::test]
async fn a_user_who_becomes_a_moderator_or_gets_another_sign_in_is_not_recovered_by_a_code_of_before() {
    let (world, people) = world(4).await;
    let first = issued(&world, &people[0], &people[2]).await;
    let second = issued(&world, &people[0], &people[3]).await;
    world.clock.advance(24 * HOUR);
    grant(&world, 3, true).await;
    assert_eq!(pending(&world, &people[2]).await, Value::Null);
    assert!(!recovers(&world, "ann2", &first).await);
    // The script checks it as well.
    world.redis.raw::<i64>(&["HSET", "ff:{u4}:user", "moderator", "1"]);
    assert!(!recovers(&world, "ann3", &second).await);
    world.redis.raw::<i64>(&["HDEL", "ff:{u4}:user", "moderator"]);
    world.redis.raw::<i64>(&["HSET", "ff:{u4}:secret", "subject", "x"]);
    assert!(!recovers(&world, "ann3", &second).await);
    world.redis.raw::<i64>(&["HDEL", "ff:{u4}:secret", "subject"]);
    assert!(recovers(&world, "ann3", &second).await);
}

#[tokio::test]
async fn each_step_is_in_the_log_before_it_is_taken() {
    let (world, people) = world(3).await;
    let code = issued(&world, &people[0], &people[2]).await;
    cancel(&world, &people[2]).await;
    cancel(&world, &people[2]).await;
    let code_of_operator = issued_by_operator(&world, 3).await;
    assert!(!recovers(&world, "ann2", &code).await);
    assert!(recovers(&world, "ann2", &code_of_operator).await);
    let steps = log(&world, &people[1]).await;
    let expected = [
        ["RECOVER_ACCOUNT", "ann2", "ann2", ""],
        ["ISSUE_RECOVERY_CODE", "operator", "ann2", ""],
        ["CANCEL_RECOVERY", "ann2", "ann2", ""],
        ["ISSUE_RECOVERY_CODE", "ann0", "ann2", "by letter"],
    ];
    assert_eq!(steps[..4], expected.map(entry));
    assert_eq!(steps[4][0], "ADD_MODERATOR");
    let code = issued_by_operator(&world, 3).await;
    world.redis.raw::<i64>(&["DEL", "ff:{m}:log"]);
    world.redis.raw::<String>(&["SET", "ff:{m}:log", "no stream"]);
    let input = json!({ "input": { "username": "ann2", "code": code, "newPassword": "third horse" } });
    let query =
        "mutation ($input: RecoverAccountInput!) { recoverAccount(input: $input) { userErrors { code } } }";
    assert_eq!(codes(&world.ask(None, query, input).await), ["INTERNAL_SERVER_ERROR"]);
    assert!(world.app.login("ann2", NEW, None, None).await.is_ok(), "what cannot be logged is not done");
}

#[tokio::test]
async fn a_moderator_has_a_limited_number_of_codes_pending() {
    let (world, people) = world(4).await;
    let list = "ff:{u1}:recoveries";
    let end = "1767312000000";
    for user in 1_000..1_100 {
        world.redis.raw::<i64>(&["ZADD", list, end, &user.to_string()]);
    }
    assert_eq!(error(&issue(&world, &people[0], &people[2].id).await), Some("LIST_LIMIT"));
    assert_eq!(
        error(&issue(&world, &people[1], &people[2].id).await),
        None,
        "another has a list of their own"
    );
    world.redis.raw::<i64>(&["ZREM", list, "1000"]);
    assert_eq!(error(&issue(&world, &people[0], &people[2].id).await), None);
    assert_eq!(
        error(&issue(&world, &people[0], &people[2].id).await),
        None,
        "one that is replaced does not count"
    );
    assert_eq!(error(&issue(&world, &people[0], &people[3].id).await), Some("LIST_LIMIT"));
    world.clock.advance(24 * HOUR);
    assert_eq!(error(&issue(&world, &people[0], &people[3].id).await), None, "expired ones do not count");
}

#[tokio::test]
async fn a_subscription_sends_a_pending_recovery_and_each_change() {
    let (world, people) = world(3).await;
    let listening = tokio::spawn({
        let app = world.app.clone();
        async move { app.keep_listening().await }
    });
    let viewer = world.app.authenticate(&people[2].token).await.unwrap();
    issued(&world, &people[0], &people[2]).await;
    let mut watch = world.app.watch_recovery(&viewer).unwrap();
    let mut next = async || {
        loop {
            watch.ready().await;
            if watch.has_changed().await.unwrap() {
                return watch.take();
            }
        }
    };
    let first = next().await.expect("what is pending already is sent at once");
    assert_eq!(first.issuer, Moderator::User(user_id(1)));
    issued(&world, &people[1], &people[2]).await;
    assert_eq!(next().await.unwrap().issuer, Moderator::User(user_id(2)));
    cancel(&world, &people[2]).await;
    assert_eq!(next().await, None);
    let code = issued_by_operator(&world, 3).await;
    assert!(next().await.unwrap().is_by_operator());
    assert!(recovers(&world, "ann2", &code).await);
    assert_eq!(next().await, None);
    listening.abort();
}

#[tokio::test]
async fn an_export_has_the_pending_recovery_without_the_code() {
    let (world, people) = world(3).await;
    let code = issued(&world, &people[0], &people[2]).await;
    let lines = async || {
        let account = world.app.account(user_id(3)).await.unwrap().unwrap();
        let mut export =
            fanfold::graphql::export::Export::of_operator(&world.app, &account, None).await.unwrap();
        export.next_page().await.unwrap().0
    };
    let text = lines().await;
    assert!(!text.contains(&code));
    let account: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let expected = json!({
        "issuedAt": "2026-01-01T00:00:00.000Z", "validFrom": "2026-01-02T00:00:00.000Z",
        "expiresAt": "2026-01-03T00:00:00.000Z", "isByOperator": false,
        "issuer": { "userId": people[0].id, "username": "ann0" },
    });
    assert_eq!(account["pendingRecovery"], expected);
    cancel(&world, &people[2]).await;
    let account: Value = serde_json::from_str(lines().await.lines().next().unwrap()).unwrap();
    assert_eq!(account["pendingRecovery"], Value::Null);
}

#[tokio::test]
async fn an_erased_user_is_in_no_list_of_a_moderator() {
    let world = World::with(&["--account-deletion-grace", "0"]).await;
    let people = world.people(3).await;
    world.app.open_archive().await.unwrap();
    grant(&world, 1, true).await;
    issued(&world, &people[0], &people[1]).await;
    issued(&world, &people[0], &people[2]).await;
    let input = json!({ "currentPassword": PASSWORD });
    mutate(&world, Some(&people[1].token), "deleteAccount", input, "").await;
    world.clock.advance(Duration::from_mins(2));
    assert!(
        eventually_async(async || {
            world.app.work_on_accounts().await.unwrap();
            !world.redis.raw::<bool>(&["EXISTS", "ff:{u2}:user"])
        })
        .await
    );
    let keys: Vec<String> = world.redis.raw(&["KEYS", "ff:{u2}:*"]);
    assert_eq!(keys, ["ff:{u2}:void"]);
    assert_eq!(world.redis.raw::<Vec<String>>(&["ZRANGE", "ff:{u1}:recoveries", "0", "-1"]), ["3"]);
}
