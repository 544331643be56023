//! The deletion of accounts: by their users, and by moderators.

use std::time::Duration;

use fanfold::model::id::UserId;
use fanfold::model::moderation::ActionNote;
use fanfold::model::moderator::Moderator;
use serde_json::{Value, json};

use crate::harness::world::{DAY, PASSWORD, Person, World, codes};

const DELETE: &str = "mutation ($input: DeleteAccountInput!) { deleteAccount(input: $input) {
    deletionAt userErrors { code field message } } }";

/// Requests the deletion of an account, and returns the payload.
async fn delete(world: &World, person: &Person, password: Option<&str>) -> Value {
    let input = json!({ "input": { "currentPassword": password } });
    world.data(Some(&person.token), DELETE, input).await["deleteAccount"].take()
}

/// Signs the second user in, and returns the code of the user error; `None` on success.
async fn login(world: &World) -> Option<String> {
    let query = "mutation ($password: String!) { login(input: { username: \"ann1\", password: $password }) {
        token userErrors { code } } }";
    let login = world.data(None, query, json!({ "password": PASSWORD })).await["login"].take();
    assert_ne!(login["token"].is_null(), login["userErrors"] == json!([]));
    login["userErrors"][0]["code"].as_str().map(str::to_owned)
}

/// Returns true if this person is found, by the name `ann1` as well as by the id.
async fn is_visible(world: &World, person: &Person) -> bool {
    let query =
        "query ($id: ID!) { named: user(by: { username: \"ann1\" }) { id } user(by: { id: $id }) { id } }";
    let found = world.data(None, query, json!({ "id": person.id })).await;
    assert_eq!(found["named"], found["user"], "the name and the record disagree");
    !found["named"].is_null()
}

/// Returns the followers of the first user, and their number.
async fn followers(world: &World) -> Value {
    let query = "{ user(by: { username: \"ann0\" }) { followers { nodes { username } totalCount } } }";
    world.data(None, query, Value::Null).await["user"]["followers"].take()
}

#[tokio::test]
async fn a_deletion_needs_the_password_and_is_cancelled_by_signing_in() {
    let world = World::new().await;
    let people = world.people(2).await;
    let person = &people[1];
    world.follow(person, &people[0]).await;
    for (password, code) in [(None, "INVALID"), (Some("wrong horse"), "WRONG_CREDENTIALS")] {
        let rejected = delete(&world, person, password).await;
        let error = &rejected["userErrors"][0];
        assert_eq!((&error["code"], &error["field"]), (&json!(code), &json!(["input", "currentPassword"])));
        assert_eq!(rejected["deletionAt"], Value::Null);
    }
    assert!(is_visible(&world, &people[1]).await);
    let deleted = delete(&world, person, Some(PASSWORD)).await;
    assert_eq!(deleted, json!({ "deletionAt": "2026-01-15T00:00:00.000Z", "userErrors": [] }));
    assert!(!is_visible(&world, &people[1]).await);
    assert_eq!(followers(&world).await, json!({ "nodes": [], "totalCount": 0 }));
    let viewer = world.ask(Some(&person.token), "{ viewer { id } }", Value::Null).await;
    assert_eq!(codes(&viewer), ["UNAUTHENTICATED"]);
    world.clock.advance(DAY * 13);
    assert_eq!(world.app.work_on_accounts().await.unwrap(), 0);
    assert_eq!(login(&world).await, None);
    assert!(is_visible(&world, &people[1]).await);
    assert_eq!(followers(&world).await, json!({ "nodes": [{ "username": "ann1" }], "totalCount": 1 }));
    // The job of the cancelled deletion erases nothing.
    world.clock.advance(DAY * 2);
    world.app.work_on_accounts().await.unwrap();
    assert!(is_visible(&world, &people[1]).await);
    assert_eq!(login(&world).await, None);
}

#[tokio::test]
async fn an_account_is_erased_after_the_grace_period_and_its_name_is_free() {
    let world = World::with(&["--account-deletion-grace", "3"]).await;
    let people = world.people(2).await;
    let deleted = delete(&world, &people[1], Some(PASSWORD)).await;
    assert_eq!(deleted["deletionAt"], "2026-01-04T00:00:00.000Z");
    world.clock.advance(DAY * 3);
    assert_eq!(world.app.work_on_accounts().await.unwrap(), 1);
    assert_eq!(login(&world).await.as_deref(), Some("WRONG_CREDENTIALS"));
    assert_ne!(world.register("ann1").await.id, people[1].id);
}

#[tokio::test]
async fn a_user_cannot_cancel_a_deletion_by_a_moderator_but_a_moderator_can() {
    let world = World::new().await;
    let people = world.people(2).await;
    world.follow(&people[1], &people[0]).await;
    world.app.set_moderator(&Moderator::Operator, UserId::new(1).unwrap(), true).await.unwrap();
    let ask = async |name: &str| {
        let document = format!(
            "mutation ($id: ID!) {{ {name}(input: {{ userId: $id }}) {{ account {{ status deletionAt }}
                userErrors {{ code message }} }} }}"
        );
        world.data(Some(&people[0].token), &document, json!({ "id": people[1].id })).await[name].take()
    };
    let account = |status: &str, deletion: Value| json!({ "account": { "status": status, "deletionAt": deletion }, "userErrors": [] });
    let at = "2026-01-15T00:00:00.000Z";
    assert_eq!(ask("deleteUser").await, account("SUSPENDED", json!(at)));
    world.clock.advance(DAY);
    // The earlier time stays.
    assert_eq!(ask("deleteUser").await, account("SUSPENDED", json!(at)));
    assert_eq!(login(&world).await.as_deref(), Some("SUSPENDED"));
    assert_eq!(ask("unsuspendUser").await, account("DELETED", json!(at)));
    assert!(!is_visible(&world, &people[1]).await, "no suspension, but a deletion");
    assert_eq!(ask("deleteUser").await, account("SUSPENDED", json!(at)));
    for _ in 0..2 {
        assert_eq!(ask("cancelUserDeletion").await, account("SUSPENDED", Value::Null));
    }
    assert_eq!(login(&world).await.as_deref(), Some("SUSPENDED"));
    assert_eq!(ask("unsuspendUser").await, account("ACTIVE", Value::Null));
    assert_eq!(login(&world).await, None);
    assert_eq!(followers(&world).await["totalCount"], 1);
}

#[tokio::test]
async fn a_deletion_that_has_begun_to_erase_cannot_be_cancelled() {
    let world = World::new().await;
    let person = &world.people(2).await[1];
    let user = UserId::new(2).unwrap();
    let operator = &Moderator::Operator;
    world.app.delete_user(operator, user, ActionNote::default(), Duration::ZERO).await.unwrap();
    // As if the worker was interrupted after its first step.
    world.redis.raw::<i64>(&["HSET", "ff:{u2}:user", "erasing", "1"]);
    let cancelled = world.app.cancel_user_deletion(operator, user, ActionNote::default()).await;
    assert!(format!("{:?}", cancelled.unwrap_err()).contains("which cannot be cancelled"));
    world.clock.advance(Duration::from_mins(1));
    assert_eq!(world.app.work_on_accounts().await.unwrap(), 1);
    let unknown = world.app.cancel_user_deletion(operator, user, ActionNote::default()).await;
    assert!(format!("{:?}", unknown.unwrap_err()).contains("does not exist"));
    assert_eq!(world.redis.raw::<i64>(&["EXISTS", "ff:{u2}:user"]), 0);
    assert!(world.app.authenticate(&person.token).await.is_err());
}
