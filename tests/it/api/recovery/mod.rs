//! Recovery of accounts with codes.

mod failure;
mod race;
mod revoke;
mod rules;

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use fanfold::app::App;
use fanfold::app::error::{Error, Reason, Rejection};
use fanfold::model::address::Address;
use fanfold::model::id::UserId;
use fanfold::model::moderation::ActionNote;
use fanfold::model::moderator::Moderator;
use serde_json::{Value, json};

use crate::harness::world::{Person, World};

pub(super) const NEW: &str = "another horse";
pub(super) const HOUR: Duration = Duration::from_hours(1);
pub(super) const PENDING: &str =
    "{ viewer { pendingRecovery { issuedAt validFrom expiresAt isByOperator issuer { username } } } }";

pub(super) fn user_id(number: u64) -> UserId {
    UserId::new(number).unwrap()
}

/// Creates a world with people, of whom the first two are moderators.
pub(super) async fn world(people: usize) -> (World, Vec<Person>) {
    let world = World::new().await;
    let people = world.people(people).await;
    for user in [1, 2] {
        grant(&world, user, true).await;
    }
    (world, people)
}

pub(super) async fn grant(world: &World, user: u64, is_moderator: bool) {
    world.app.set_moderator(&Moderator::Operator, user_id(user), is_moderator).await.unwrap();
}

pub(super) async fn mutate(
    world: &World,
    token: Option<&str>,
    name: &str,
    input: Value,
    rest: &str,
) -> Value {
    let kind = format!("{}{}", name[..1].to_uppercase(), &name[1..]);
    let query = format!(
        "mutation ($input: {kind}Input!) {{ {name}(input: $input) {{ {rest} userErrors {{ code }} }} }}"
    );
    world.data(token, &query, json!({ "input": input })).await[name].take()
}

/// Returns the code of the only user error; `None` if there is none.
pub(super) fn error(payload: &Value) -> Option<&str> {
    let errors = payload["userErrors"].as_array().unwrap();
    assert!(errors.len() < 2, "{payload}");
    errors.first().map(|error| error["code"].as_str().unwrap())
}

pub(super) async fn issue(world: &World, moderator: &Person, user: &str) -> Value {
    let input = json!({ "userId": user, "note": "by letter" });
    mutate(world, Some(&moderator.token), "issueRecoveryCode", input, "code validFrom expiresAt").await
}

/// Issues a code and returns it.
pub(super) async fn issued(world: &World, moderator: &Person, user: &Person) -> String {
    let payload = issue(world, moderator, &user.id).await;
    payload["code"].as_str().unwrap_or_else(|| panic!("{payload}")).to_owned()
}

pub(super) async fn issued_by_operator(world: &World, user: u64) -> String {
    let operator = Moderator::Operator;
    let issued =
        world.app.issue_recovery_code(&operator, user_id(user), ActionNote::default()).await.unwrap();
    issued.code.expose().to_owned()
}

/// Recovers an account. Returns true if that succeeds; otherwise, the error is that of wrong credentials.
pub(super) async fn recovers(world: &World, username: &str, code: &str) -> bool {
    let input = json!({ "username": username, "code": code, "newPassword": NEW });
    let payload = mutate(world, None, "recoverAccount", input, "").await;
    assert!([None, Some("WRONG_CREDENTIALS")].contains(&error(&payload)), "{payload}");
    error(&payload).is_none()
}

pub(super) async fn pending(world: &World, person: &Person) -> Value {
    world.data(Some(&person.token), PENDING, Value::Null).await["viewer"]["pendingRecovery"].take()
}

pub(super) async fn cancel(world: &World, person: &Person) -> Value {
    let query = "mutation { cancelRecovery { viewer { pendingRecovery { issuedAt } } userErrors { code } } }";
    world.data(Some(&person.token), query, Value::Null).await["cancelRecovery"].take()
}

pub(super) async fn login(world: &World, username: &str, password: &str) -> bool {
    let input = json!({ "username": username, "password": password });
    mutate(world, None, "login", input, "token").await["token"].is_string()
}

/// Returns the log of the moderators, newest first: action, name of the actor and of the user, and note.
pub(super) async fn log(world: &World, moderator: &Person) -> Vec<[String; 4]> {
    let query = "{ viewer { moderation { log(first: 100) { nodes {
        action moderator { username } account { username } note } } } } }";
    let data = world.data(Some(&moderator.token), query, Value::Null).await;
    let nodes = data["viewer"]["moderation"]["log"]["nodes"].as_array().unwrap();
    let entry = |node: &Value| {
        ["/action", "/moderator/username", "/account/username", "/note"]
            .map(|part| node.pointer(part).and_then(Value::as_str).unwrap_or("operator").to_owned())
    };
    nodes.iter().map(entry).collect()
}

pub(super) fn entry(parts: [&str; 4]) -> [String; 4] {
    parts.map(str::to_owned)
}

pub(super) fn address(number: u8) -> Address {
    IpAddr::from(Ipv4Addr::new(203, 0, 113, number)).into()
}

pub(super) async fn recover_from(app: &App, name: &str, code: &str, from: u8) -> Result<(), Reason> {
    match app.recover_account(name, code, NEW, Some(address(from))).await {
        Ok(()) => Ok(()),
        Err(Error::Rejected(Rejection::Rules(rules))) => Err(rules[0].reason),
        Err(error) => panic!("{error:?}"),
    }
}
