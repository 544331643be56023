//! Moderation: the rights of moderators, their actions and the log of them, reports, accounts and invites.

use std::time::Duration;

use axum::http::StatusCode;
use fanfold::model::id::{PostId, UserId};
use fanfold::model::moderation::{Action, ActionNote};
use fanfold::model::moderator::Moderator;
use serde_json::{Value, json};

use crate::harness::id::global;
use crate::harness::post::publish;
use crate::harness::world::{PASSWORD, Person, World, archive_all, codes, deliver_all};

fn user_id(number: u64) -> UserId {
    UserId::new(number).unwrap()
}

/// Creates a world with people, of whom the first is a moderator.
async fn world(people: usize) -> (World, Vec<Person>) {
    let world = World::new().await;
    let people = world.people(people).await;
    grant(&world, 1, true).await;
    (world, people)
}

async fn grant(world: &World, user: u64, is_moderator: bool) {
    world.app.set_moderator(&Moderator::Operator, user_id(user), is_moderator).await.unwrap();
}

/// Reports a user or a post, and returns the codes of the user errors.
async fn report(world: &World, reporter: &Person, target: &Value, reason: &str) -> Vec<String> {
    let query = "mutation ($input: ReportInput!) { report(input: $input) { userErrors { code } } }";
    let input = json!({ "input": { "target": target, "reason": reason } });
    let payload = world.data(Some(&reporter.token), query, input).await["report"].take();
    let errors = payload["userErrors"].as_array().unwrap();
    errors.iter().map(|error| error["code"].as_str().unwrap().to_owned()).collect()
}

/// Reads a part of `Viewer.moderation`.
async fn read(world: &World, moderator: &Person, part: &str) -> Value {
    let query = format!("{{ viewer {{ moderation {{ part: {part} }} }} }}");
    world.data(Some(&moderator.token), &query, Value::Null).await["viewer"]["moderation"]["part"].take()
}

async fn actions(world: &World, moderator: &Person) -> Vec<String> {
    let log = read(world, moderator, "log(first: 100) { nodes { action } }").await;
    let nodes = log["nodes"].as_array().unwrap();
    nodes.iter().map(|node| node["action"].as_str().unwrap().to_owned()).collect()
}

/// A mutation of moderators, its input, and the name of the object in its payload that is null on failure.
fn mutations(post: &str, invite: &str, report: &str) -> Vec<(&'static str, &'static str, Value)> {
    let user = global("User", "2");
    vec![
        ("suspendUser", "account { status }", json!({ "userId": user, "note": "spam" })),
        ("unsuspendUser", "account { status }", json!({ "userId": user })),
        ("issueRecoveryCode", "code", json!({ "userId": user })),
        ("deleteUser", "account { status }", json!({ "userId": user, "note": "spam" })),
        ("cancelUserDeletion", "account { status }", json!({ "userId": user })),
        ("endSessions", "account { sessionCount }", json!({ "userId": user })),
        ("removePost", "removedPostId", json!({ "postId": post })),
        ("createInvite", "invite { code }", json!({ "uses": 3, "note": "for friends" })),
        ("revokeInvite", "revokedInviteId", json!({ "inviteId": invite })),
        ("resolveReport", "resolvedReportId", json!({ "reportId": report, "note": "nothing wrong" })),
    ]
}

fn document(name: &str, part: &str) -> String {
    let input = format!("{}{}Input", name[..1].to_uppercase(), &name[1..]);
    format!(
        "mutation ($input: {input}!) {{ {name}(input: $input) {{ {part} userErrors {{ code message }} }} }}"
    )
}

async fn new_invite(world: &World, moderator: &Person) -> Value {
    let query = "mutation { createInvite(input: {}) { invite { id code } userErrors { code } } }";
    world.data(Some(&moderator.token), query, Value::Null).await["createInvite"]["invite"].take()
}

#[tokio::test]
async fn only_moderators_can_moderate_and_their_rights_end_at_once() {
    let (world, people) = world(4).await;
    let [moderator, author, user, other] = &people[..] else { unreachable!() };
    let post = publish(&world, author, "lies").await;
    assert_eq!(report(&world, user, &json!({ "postId": post }), "lies").await, [""; 0]);
    let invite = new_invite(&world, moderator).await["id"].as_str().unwrap().to_owned();
    let report = global("Report", "1");
    grant(&world, 4, true).await;
    let suspended = other.token.clone();
    world.app.suspend_user(&Moderator::Operator, user_id(4), ActionNote::default()).await.unwrap();
    let rejected = async |token: Option<&str>, code: &str| {
        let before = world.redis.raw::<u64>(&["XLEN", "ff:{m}:log"]);
        for (name, part, input) in mutations(&post, &invite, &report) {
            let document = document(name, part);
            let response = world.ask(token, &document, json!({ "input": input })).await;
            assert_eq!(codes(&response), [code], "{name}: {response}");
        }
        assert_eq!(world.redis.raw::<u64>(&["XLEN", "ff:{m}:log"]), before);
    };
    rejected(None, "UNAUTHENTICATED").await;
    rejected(Some(&suspended), "UNAUTHENTICATED").await;
    rejected(Some(&user.token), "FORBIDDEN").await;
    let viewer = "{ viewer { isModerator moderation { openReportCount } } }";
    let rights =
        async |person: &Person| world.data(Some(&person.token), viewer, Value::Null).await["viewer"].take();
    assert_eq!(rights(user).await, json!({ "isModerator": false, "moderation": null }));
    assert_eq!(
        rights(moderator).await,
        json!({ "isModerator": true, "moderation": { "openReportCount": 1 } })
    );
    // The rights end between two fields of a client's session.
    grant(&world, 1, false).await;
    rejected(Some(&moderator.token), "FORBIDDEN").await;
    assert_eq!(rights(moderator).await, json!({ "isModerator": false, "moderation": null }));
    grant(&world, 1, true).await;
    for (name, part, input) in mutations(&post, &invite, &report) {
        let done = world.data(Some(&moderator.token), &document(name, part), json!({ "input": input })).await;
        assert_eq!(done[name]["userErrors"], json!([]), "{name}");
        let field = part.split(' ').next().unwrap();
        assert_ne!(done[name][field], Value::Null, "{name}");
    }
}

#[tokio::test]
async fn a_moderator_whose_record_says_suspended_has_no_rights_even_with_a_session() {
    let (world, people) = world(2).await;
    let sessions = "ff:{u1}:sessions";
    world.redis.raw::<i64>(&["COPY", sessions, "ff:{u1}:kept"]);
    world.app.suspend_user(&Moderator::Operator, user_id(1), ActionNote::default()).await.unwrap();
    world.redis.raw::<i64>(&["COPY", "ff:{u1}:kept", sessions, "REPLACE"]);
    let input = json!({ "input": { "userId": people[1].id } });
    let response = world.ask(Some(&people[0].token), &document("suspendUser", "account { id }"), input).await;
    assert_eq!(codes(&response), ["FORBIDDEN"]);
    let viewer = world.data(Some(&people[0].token), "{ viewer { isModerator } }", Value::Null).await;
    assert_eq!(viewer["viewer"]["isModerator"], false);
}

#[tokio::test]
async fn every_action_is_in_the_log_with_its_objects() {
    let (world, people) = world(3).await;
    let [moderator, author, user] = &people[..] else { unreachable!() };
    let post = publish(&world, author, "lies").await;
    assert_eq!(report(&world, user, &json!({ "postId": post }), "lies").await, [""; 0]);
    let invite = new_invite(&world, moderator).await["id"].as_str().unwrap().to_owned();
    let report_id = global("Report", "1");
    for (name, part, input) in mutations(&post, &invite, &report_id) {
        world.clock.advance(Duration::from_secs(1));
        world.data(Some(&moderator.token), &document(name, part), json!({ "input": input })).await;
    }
    grant(&world, 3, true).await;
    grant(&world, 3, false).await;
    let log = read(
        &world,
        moderator,
        "log(first: 100) { nodes { id createdAt action isByOperator moderator { username } account { username }
            postId reportId inviteId note } }",
    )
    .await;
    let nodes = log["nodes"].as_array().unwrap();
    let found: Vec<&str> = nodes.iter().map(|node| node["action"].as_str().unwrap()).collect();
    let expected = [
        "REMOVE_MODERATOR",
        "ADD_MODERATOR",
        "RESOLVE_REPORT",
        "REVOKE_INVITE",
        "CREATE_INVITE",
        "REMOVE_POST",
        "END_SESSIONS",
        "CANCEL_DELETION",
        "DELETE_USER",
        "ISSUE_RECOVERY_CODE",
        "UNSUSPEND_USER",
        "SUSPEND_USER",
        "CREATE_INVITE",
        "ADD_MODERATOR",
    ];
    assert_eq!(found, expected);
    // Only the operator sets passwords, and only the user takes the other steps of a recovery.
    let others = [Action::SetPassword, Action::CancelRecovery, Action::RecoverAccount];
    for action in Action::ALL.into_iter().filter(|action| !others.contains(action)) {
        assert!(found.contains(&action.word().to_uppercase().as_str()), "{action:?}");
    }
    let shown = |index: usize, names: [&str; 6]| names.map(|name| nodes[index][name].clone());
    let names = ["isByOperator", "moderator", "account", "postId", "reportId", "note"];
    let (ann0, ann1) = (json!({ "username": "ann0" }), json!({ "username": "ann1" }));
    let resolved =
        [json!(false), ann0.clone(), ann1.clone(), json!(post), json!(report_id), json!("nothing wrong")];
    assert_eq!(shown(2, names), resolved);
    let suspended = [json!(false), ann0, ann1, json!(null), json!(null), json!("spam")];
    assert_eq!(shown(11, names), suspended);
    assert_eq!(shown(0, names)[..2], [json!(true), json!(null)]);
    assert_eq!(nodes[3]["inviteId"], json!(invite));
    assert_eq!(nodes[11]["createdAt"], "2026-01-01T00:00:01.000Z");
}

#[tokio::test]
async fn an_action_that_cannot_be_logged_does_not_happen() {
    let (world, people) = world(2).await;
    world.redis.raw::<i64>(&["DEL", "ff:{m}:log"]);
    world.redis.raw::<String>(&["SET", "ff:{m}:log", "no stream"]);
    let input = json!({ "input": { "userId": people[1].id } });
    let response = world.ask(Some(&people[0].token), &document("suspendUser", "account { id }"), input).await;
    assert_eq!(codes(&response), ["INTERNAL_SERVER_ERROR"]);
    assert!(world.redis.raw::<bool>(&["HEXISTS", "ff:{u2}:user", "username"]));
}

#[tokio::test]
async fn moderators_cannot_act_on_moderators_or_themselves_but_the_operator_can() {
    let (world, people) = world(2).await;
    grant(&world, 2, true).await;
    for (name, part, mut input) in mutations("", "", "").into_iter().take(6) {
        for (user, code) in [(&people[1], "MODERATOR"), (&people[0], "SELF")] {
            input["userId"] = json!(user.id);
            let response =
                world.data(Some(&people[0].token), &document(name, part), json!({ "input": input })).await;
            assert_eq!(response[name]["userErrors"][0]["code"], code, "{name}");
        }
    }
    let before = actions(&world, &people[0]).await;
    assert_eq!(before, ["ADD_MODERATOR"; 2]);
    world.app.suspend_user(&Moderator::Operator, user_id(2), ActionNote::default()).await.unwrap();
    let error = world.app.set_moderator(&Moderator::User(user_id(1)), user_id(2), false).await;
    assert!(format!("{:?}", error.unwrap_err()).contains("Forbidden"));
}

#[tokio::test]
async fn a_suspension_ends_sessions_and_hides_the_user_until_it_ends() {
    let (world, people) = world(3).await;
    let post = publish(&world, &people[1], "hello").await;
    let find = "query ($id: ID!) { user(by: { username: \"ann1\" }) { id } post(id: $id) { content } }";
    let id = json!({ "id": post });
    let input = json!({ "input": { "userId": people[1].id } });
    let ask = async |name: &str| {
        let document = document(name, "account { status suspendedAt sessionCount user { id } }");
        world.data(Some(&people[0].token), &document, input.clone()).await[name]["account"].take()
    };
    let suspended = ask("suspendUser").await;
    assert_eq!((&suspended["status"], &suspended["user"]), (&json!("SUSPENDED"), &Value::Null));
    assert_eq!(suspended["sessionCount"], 0);
    assert_eq!(suspended["suspendedAt"], "2026-01-01T00:00:00.000Z");
    assert_eq!(world.data(None, find, id.clone()).await, json!({ "user": null, "post": null }));
    let (status, _) =
        world.ask_as(Some(&people[1].token), "application/json", "{ viewer { id } }", Value::Null).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    assert_eq!(ask("unsuspendUser").await["status"], "ACTIVE");
    let found = world.data(None, find, id).await;
    assert_eq!(found["post"]["content"], "hello");
    assert!(world.app.login("ann1", PASSWORD, None, None).await.is_ok());
}

#[tokio::test]
async fn only_the_operator_sets_passwords_which_ends_all_sessions() {
    let (world, people) = world(2).await;
    let response = world
        .ask(Some(&people[0].token), "mutation { setPassword(input: {}) { __typename } }", Value::Null)
        .await;
    assert_eq!(codes(&response), ["GRAPHQL_VALIDATION_FAILED"]);
    let set = async |moderator: Moderator, password: &str| {
        let done = world.app.set_password(&moderator, user_id(2), password).await;
        done.map_err(|error| format!("{error:?}"))
    };
    assert!(set(Moderator::User(user_id(1)), "another horse").await.unwrap_err().contains("Forbidden"));
    assert!(set(Moderator::Operator, "short").await.unwrap_err().contains("TooShort"));
    assert!(world.app.authenticate(&people[1].token).await.is_ok());
    set(Moderator::Operator, "another horse").await.unwrap();
    assert!(world.app.authenticate(&people[1].token).await.is_err());
    assert!(world.app.login("ann1", PASSWORD, None, None).await.is_err());
    assert!(world.app.login("ann1", "another horse", None, None).await.is_ok());
}

#[tokio::test]
async fn a_removed_post_is_gone_hot_or_archived_and_unknown_posts_are_reported() {
    let world = World::with(&["--post-hot-limit", "1"]).await;
    world.app.open_archive().await.unwrap();
    let people = world.people(2).await;
    grant(&world, 1, true).await;
    let posts = [publish(&world, &people[1], "old").await, publish(&world, &people[1], "new").await];
    deliver_all(&world.app).await;
    archive_all(&world.app).await;
    let remove = async |post: &str| {
        let document = document("removePost", "removedPostId");
        let input = json!({ "input": { "postId": post } });
        world.data(Some(&people[0].token), &document, input).await["removePost"].take()
    };
    for post in &posts {
        // Idempotent.
        for _ in 0..2 {
            assert_eq!(remove(post).await, json!({ "removedPostId": post, "userErrors": [] }));
        }
        let found =
            world.data(None, "query ($id: ID!) { post(id: $id) { id } }", json!({ "id": post })).await;
        assert_eq!(found["post"], Value::Null);
    }
    assert_eq!(remove(&global("Post", "77")).await["userErrors"][0]["code"], "NOT_FOUND");
}

#[tokio::test]
async fn only_the_operator_removes_the_posts_of_moderators_for_others_than_their_authors() {
    let (world, people) = world(3).await;
    grant(&world, 2, true).await;
    let [moderator, other, _] = &people[..] else { unreachable!() };
    let posts = [publish(&world, other, "first").await, publish(&world, other, "second").await];
    let remove = async |by: &Person, post: &str| {
        let query = "mutation ($input: RemovePostInput!) {
            removePost(input: $input) { removedPostId userErrors { code field } } }";
        let input = json!({ "input": { "postId": post } });
        world.data(Some(&by.token), query, input).await["removePost"].take()
    };
    let exists = async |post: &str| {
        let query = "query ($id: ID!) { post(id: $id) { id } }";
        world.data(None, query, json!({ "id": post })).await["post"] != Value::Null
    };
    let rejected = json!([{ "code": "MODERATOR", "field": ["input", "postId"] }]);
    let before = actions(&world, moderator).await;
    assert_eq!(remove(moderator, &posts[0]).await, json!({ "removedPostId": null, "userErrors": rejected }));
    assert!(exists(&posts[0]).await);
    assert_eq!(actions(&world, moderator).await, before, "nothing was begun");
    // A moderator can remove their own post, and the operator any.
    assert_eq!(remove(other, &posts[0]).await["removedPostId"], posts[0]);
    let second = PostId::new(2).unwrap();
    world.app.remove_post(&Moderator::Operator, second, ActionNote::default()).await.unwrap();
    assert!(!exists(&posts[0]).await && !exists(&posts[1]).await);
    // Once they do not moderate any more, their posts are like those of others.
    let last = publish(&world, other, "last").await;
    grant(&world, 2, false).await;
    assert_eq!(remove(moderator, &last).await["removedPostId"], last);
}

#[tokio::test]
async fn a_report_waits_in_the_queue_until_it_is_resolved() {
    let (world, people) = world(4).await;
    let [moderator, author, first, second] = &people[..] else { unreachable!() };
    let post = publish(&world, author, "lies").await;
    let (of_post, of_user) = (json!({ "postId": post }), json!({ "userId": author.id }));
    assert_eq!(report(&world, first, &of_post, "lies").await, [""; 0]);
    world.clock.advance(Duration::from_secs(1));
    assert_eq!(report(&world, second, &of_user, " rude\nand loud ").await, [""; 0]);
    // A repeated report replaces the reason.
    assert_eq!(report(&world, first, &of_post, "damned lies").await, [""; 0]);
    world.app.suspend_user(&Moderator::Operator, user_id(2), ActionNote::default()).await.unwrap();
    let part = "reports { nodes { id reason createdAt reporter { username } account { username status openReportCount }
        postId post { id content visibility } } pageInfo { hasNextPage } }";
    let queue = read(&world, moderator, part).await;
    let account = json!({ "username": "ann1", "status": "SUSPENDED", "openReportCount": 2 });
    let expected = json!([
        {
            "id": global("Report", "2"), "reason": "rude\nand loud", "createdAt": "2026-01-01T00:00:01.000Z",
            "reporter": { "username": "ann3" }, "account": account, "postId": null, "post": null,
        },
        {
            "id": global("Report", "1"), "reason": "damned lies", "createdAt": "2026-01-01T00:00:01.000Z",
            "reporter": { "username": "ann2" }, "account": account, "postId": post,
            "post": { "id": post, "content": "lies", "visibility": "PUBLIC" },
        },
    ]);
    assert_eq!(queue["nodes"], expected);
    let resolve = async |id: &str| {
        let document = document("resolveReport", "resolvedReportId");
        let input = json!({ "input": { "reportId": global("Report", id) } });
        world.data(Some(&moderator.token), &document, input).await["resolveReport"].take()
    };
    assert_eq!(resolve("1").await["resolvedReportId"], global("Report", "1"));
    assert_eq!(resolve("1").await["userErrors"][0]["code"], "NOT_FOUND");
    assert_eq!(read(&world, moderator, "openReportCount").await, 1);
    assert_eq!(resolve("2").await["resolvedReportId"], global("Report", "2"));
    let left: Vec<String> = world.redis.raw(&["KEYS", "ff:{m}:reports*"]);
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test]
async fn reports_that_break_a_rule_are_rejected() {
    let (world, people) = world(3).await;
    let (mine, theirs) = (publish(&world, &people[1], "x").await, publish(&world, &people[2], "x").await);
    let user = &people[1];
    let reject = async |target: Value, reason: &str| report(&world, user, &target, reason).await;
    assert_eq!(reject(json!({ "userId": user.id }), "x").await, ["SELF"]);
    assert_eq!(reject(json!({ "postId": mine }), "x").await, ["SELF"]);
    assert_eq!(reject(json!({ "userId": global("User", "77") }), "x").await, ["NOT_FOUND"]);
    assert_eq!(reject(json!({ "postId": global("Post", "77") }), "x").await, ["NOT_FOUND"]);
    assert_eq!(reject(json!({ "postId": theirs }), " ").await, ["TOO_SHORT"]);
    assert_eq!(reject(json!({ "postId": theirs }), &"x".repeat(1_001)).await, ["TOO_LONG"]);
    world.app.suspend_user(&Moderator::Operator, user_id(3), ActionNote::default()).await.unwrap();
    assert_eq!(reject(json!({ "postId": theirs }), "x").await, ["NOT_FOUND"]);
    assert_eq!(reject(json!({ "userId": people[2].id }), "x").await, ["NOT_FOUND"]);
    assert_eq!(world.redis.raw::<u64>(&["ZCARD", "ff:{m}:reports"]), 0);
    let document = "mutation ($input: ReportInput!) { report(input: $input) { userErrors { code } } }";
    let target = json!({ "userId": people[0].id });
    let both = json!({ "userId": people[0].id, "postId": theirs });
    for (token, target, code) in
        [(None, target, "UNAUTHENTICATED"), (Some(user.token.as_str()), both, "BAD_USER_INPUT")]
    {
        let input = json!({ "input": { "target": target, "reason": "x" } });
        assert_eq!(codes(&world.ask(token, document, input).await), [code]);
    }
}

#[tokio::test]
async fn reports_are_limited_per_hour_and_while_they_are_open() {
    let (world, people) = world(2).await;
    let target = json!({ "userId": people[0].id });
    for _ in 0..30 {
        assert_eq!(report(&world, &people[1], &target, "x").await, [""; 0]);
    }
    assert_eq!(report(&world, &people[1], &target, "x").await, ["THROTTLED"]);
    assert_eq!(world.redis.raw::<u64>(&["ZCARD", "ff:{m}:reports"]), 1);
    world.clock.advance(Duration::from_hours(1));
    world.redis.raw::<i64>(&["HSET", "ff:{m}:reports:counts", "by:2", "100"]);
    assert_eq!(report(&world, &people[1], &target, "x").await, [""; 0]);
    let post = publish(&world, &people[0], "x").await;
    assert_eq!(report(&world, &people[1], &json!({ "postId": post }), "x").await, ["LIST_LIMIT"]);
}

/// Reads a whole list forward and backward in pages of this size, and returns the entries as read forward.
async fn pages(world: &World, moderator: &Person, list: &str, arguments: &str, size: usize) -> Vec<String> {
    let mut found = Vec::new();
    for (way, place, has_more, end) in
        [("first", "after", "hasNextPage", "endCursor"), ("last", "before", "hasPreviousPage", "startCursor")]
    {
        let (mut ids, mut cursor): (Vec<String>, Value) = (Vec::new(), Value::Null);
        loop {
            let part = format!(
                "{list}({way}: {size}, {place}: {cursor}{arguments}) {{ nodes {{ id }} edges {{ cursor }}
                    pageInfo {{ hasNextPage hasPreviousPage startCursor endCursor }} }}"
            );
            let page = read(world, moderator, &part).await;
            let nodes = page["nodes"].as_array().unwrap().iter();
            let mut of_page: Vec<String> =
                nodes.map(|node| node["id"].as_str().unwrap().to_owned()).collect();
            let behind = if way == "first" { "hasPreviousPage" } else { "hasNextPage" };
            assert_eq!(page["pageInfo"][behind], !ids.is_empty(), "{part}");
            if way == "last" {
                of_page.append(&mut ids);
                ids = of_page;
            } else {
                ids.extend(of_page);
            }
            if page["pageInfo"][has_more] == false {
                break;
            }
            cursor = page["pageInfo"][end].clone();
        }
        found.push(ids);
    }
    assert_eq!(found[0], found[1], "{list}");
    found.swap_remove(0)
}

#[tokio::test]
async fn lists_are_paged_in_both_directions() {
    let (world, people) = world(7).await;
    let accounts =
        |users: &[u64]| -> Vec<String> { users.iter().map(|user| global("Account", user)).collect() };
    for user in [3, 6, 4] {
        world.clock.advance(Duration::from_secs(1));
        world.app.suspend_user(&Moderator::Operator, user_id(user), ActionNote::default()).await.unwrap();
    }
    for reporter in &people[..1] {
        for target in [1, 4, 6] {
            assert_eq!(report(&world, reporter, &json!({ "userId": people[target].id }), "x").await, [""; 0]);
        }
    }
    for _ in 0..3 {
        new_invite(&world, &people[0]).await;
    }
    let moderator = &people[0];
    for size in [1, 2, 3, 10] {
        let list = async |name: &str, arguments: &str| pages(&world, moderator, name, arguments, size).await;
        assert_eq!(list("accounts", "").await, accounts(&[7, 6, 5, 4, 3, 2, 1]));
        assert_eq!(list("accounts", ", status: ACTIVE").await, accounts(&[7, 5, 2, 1]));
        assert_eq!(list("accounts", ", status: SUSPENDED").await, accounts(&[4, 6, 3]));
        assert_eq!(list("accounts", ", status: DELETED").await, accounts(&[]));
        let reports: Vec<String> = ["3", "2", "1"].map(|id| global("Report", id)).into();
        assert_eq!(list("reports", "").await, reports);
        assert_eq!(list("log", "").await.len(), 7);
        assert_eq!(list("invites", "").await.len(), 3);
    }
    // A cursor of another list, and of another moderator's list.
    let cursor = read(&world, moderator, "log(first: 1) { pageInfo { endCursor } }").await;
    let cursor = &cursor["pageInfo"]["endCursor"];
    grant(&world, 2, true).await;
    for (person, list) in [(moderator, "reports"), (&people[1], "log")] {
        let query =
            format!("{{ viewer {{ moderation {{ {list}(after: {cursor}) {{ nodes {{ id }} }} }} }} }}");
        assert_eq!(codes(&world.ask(Some(&person.token), &query, Value::Null).await), ["BAD_USER_INPUT"]);
    }
}

#[tokio::test]
async fn an_account_is_found_by_name_or_id_whatever_its_status() {
    let (world, people) = world(2).await;
    let find = async |by: &str| {
        let part = format!(
            "account(by: {{ {by} }}) {{ userId username displayName status isModerator sessionCount user {{ id }} }}"
        );
        read(&world, &people[0], &part).await
    };
    let by_id = format!("id: \"{}\"", people[1].id);
    let active = json!({
        "userId": people[1].id, "username": "ann1", "displayName": "ann1", "status": "ACTIVE", "isModerator": false,
        "sessionCount": 1, "user": { "id": people[1].id },
    });
    for by in ["username: \"Ann1\"", &by_id] {
        assert_eq!(find(by).await, active);
    }
    world.app.suspend_user(&Moderator::Operator, user_id(2), ActionNote::default()).await.unwrap();
    for by in ["username: \"ann1\"", &by_id] {
        let found = find(by).await;
        assert_eq!((&found["status"], &found["user"]), (&json!("SUSPENDED"), &Value::Null));
    }
    for by in ["username: \"nobody\"", "username: \"no name\"", &format!("id: \"{}\"", global("User", "77"))]
    {
        assert_eq!(find(by).await, Value::Null);
    }
}

#[tokio::test]
async fn moderators_create_and_revoke_invites() {
    let (world, people) = world(1).await;
    let create = async |input: Value| {
        let document =
            "mutation ($input: CreateInviteInput!) { createInvite(input: $input) { invite { code state uses used
                expiresAt note } userErrors { code field } } }";
        world.data(Some(&people[0].token), document, json!({ "input": input })).await["createInvite"].take()
    };
    let end = "2026-01-02T00:00:00.000Z";
    let created = create(json!({ "uses": 2, "expiresAt": end, "note": " for friends " })).await;
    let code = created["invite"]["code"].as_str().unwrap().to_owned();
    let invite = json!({
        "code": code, "state": "VALID", "uses": 2, "used": 0, "expiresAt": end, "note": "for friends"
    });
    assert_eq!(created["invite"], invite);
    let wrong =
        create(json!({ "uses": 0, "expiresAt": "2025-01-01T00:00:00Z", "note": "x".repeat(201) })).await;
    let fields: Vec<&Value> =
        wrong["userErrors"].as_array().unwrap().iter().map(|error| &error["field"][1]).collect();
    assert_eq!(fields, ["uses", "expiresAt", "note"]);
    let revoke = async |code: &str| {
        let input = json!({ "input": { "inviteId": global("Invite", code) } });
        let document = document("revokeInvite", "revokedInviteId");
        world.data(Some(&people[0].token), &document, input).await["revokeInvite"].take()
    };
    assert_eq!(revoke(&code).await["revokedInviteId"], global("Invite", &code));
    assert_eq!(revoke(&code).await["userErrors"][0]["code"], "NOT_FOUND");
    assert_eq!(read(&world, &people[0], "invites { nodes { id } }").await["nodes"], json!([]));
}

#[tokio::test]
async fn a_post_is_delivered_although_its_author_was_suspended_meanwhile() {
    for strategy in ["push", "pull", "hybrid"] {
        let world = World::with(&["--timeline-strategy", strategy]).await;
        let people = world.people(3).await;
        world.follow(&people[1], &people[0]).await;
        let timeline = async || {
            let query = "{ viewer { timeline { nodes { content } } } }";
            world.data(Some(&people[1].token), query, Value::Null).await["viewer"]["timeline"]["nodes"].take()
        };
        assert_eq!(timeline().await, json!([]));
        publish(&world, &people[0], "before").await;
        let author = user_id(1);
        world.app.suspend_user(&Moderator::Operator, author, ActionNote::default()).await.unwrap();
        deliver_all(&world.app).await;
        assert_eq!(timeline().await, json!([]), "{strategy}");
        world.app.unsuspend_user(&Moderator::Operator, author, ActionNote::default()).await.unwrap();
        deliver_all(&world.app).await;
        assert_eq!(timeline().await, json!([{ "content": "before" }]), "{strategy}");
    }
}
