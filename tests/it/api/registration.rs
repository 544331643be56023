//! Registration modes and invites.

use std::time::Duration;

use fanfold::app::moderation::invite::NewInvite;
use fanfold::model::clock::{Clock as _, Timestamp};
use fanfold::model::invite::{Invite, InviteState};
use fanfold::model::moderator::Moderator;
use futures::future::join_all;
use serde_json::{Value, json};

use crate::harness::world::{PASSWORD, World};

const REGISTER: &str = "mutation ($input: RegisterInput!) {
    register(input: $input) { token viewer { user { id } } userErrors { code message field } }
}";

const INVITED: [&str; 2] = ["--account-registration", "invite"];

async fn register(world: &World, username: &str, invite: Option<&str>) -> Value {
    let input = json!({ "input": { "username": username, "password": PASSWORD, "invite": invite } });
    world.data(None, REGISTER, input).await["register"].take()
}

/// Registers a user, and returns the message if that is rejected because of the invite.
async fn rejection(world: &World, username: &str, invite: Option<&str>) -> Option<String> {
    let payload = register(world, username, invite).await;
    let errors = payload["userErrors"].as_array().unwrap();
    assert_eq!(errors.is_empty(), payload["token"].is_string());
    let error = errors.first()?;
    assert_eq!((&error["code"], &error["field"]), (&json!("INVITE_INVALID"), &json!(["input", "invite"])));
    Some(error["message"].as_str().unwrap().to_owned())
}

async fn invite(world: &World, uses: u32, expires_at: Option<Timestamp>) -> String {
    let wish = NewInvite { uses: uses.into(), expires_at, note: "" };
    let invite = world.app.create_invite(&Moderator::Operator, wish).await.unwrap();
    invite.code.as_str().to_owned()
}

async fn stored(world: &World) -> Invite {
    world.app.invites(&Moderator::Operator).await.unwrap().remove(0)
}

fn user_count(world: &World) -> usize {
    world.redis.raw::<Vec<String>>(&["KEYS", "ff:{u*}:user"]).len()
}

#[tokio::test]
async fn anyone_can_register_while_registration_is_open_and_an_invite_is_ignored() {
    let world = World::new().await;
    let code = invite(&world, 1, None).await;
    for (name, invite) in [("bob", None), ("eve", Some("nonsense")), ("joe", Some(code.as_str()))] {
        assert_eq!(rejection(&world, name, invite).await, None);
    }
    assert_eq!(stored(&world).await.used, 0);
}

#[tokio::test]
async fn no_one_can_register_while_registration_is_closed() {
    let world = World::with(&["--account-registration", "closed"]).await;
    let code = invite(&world, 1, None).await;
    let before: u64 = world.redis.raw(&["DBSIZE"]);
    for code in [None, Some(code.as_str())] {
        let payload = register(&world, "ada", code).await;
        let error = json!({
            "code": "REGISTRATION_CLOSED", "message": "Registration is closed.", "field": null
        });
        assert_eq!(payload, json!({ "token": null, "viewer": null, "userErrors": [error] }));
    }
    assert_eq!(world.redis.raw::<u64>(&["DBSIZE"]), before);
}

#[tokio::test]
async fn an_invite_admits_as_many_users_as_it_has_uses() {
    let world = World::with(&INVITED).await;
    let code = invite(&world, 2, None).await;
    let rejected = async |name: &'static str, code: Option<&str>| {
        rejection(&world, name, code).await.unwrap_or_default()
    };
    assert_eq!(rejected("ada", None).await, "Registration requires an invite.");
    for unknown in ["", "nonsense", "0123456789abcdef", &"x".repeat(10_000)] {
        assert_eq!(rejected("ada", Some(unknown)).await, "This invite does not exist.");
    }
    assert_eq!(user_count(&world), 0);
    assert_eq!(rejected("ada", Some(&code)).await, "");
    assert_eq!(rejected("bob", Some(&format!(" {} ", code.to_uppercase()))).await, "");
    assert_eq!(rejected("eve", Some(&code)).await, "This invite has been used up.");
    assert_eq!(user_count(&world), 2);
    // Only holders of an invite learn which names are taken.
    assert_eq!(rejected("ada", Some("0123456789abcdef")).await, "This invite does not exist.");
    let stored = stored(&world).await;
    assert_eq!((stored.used, stored.state(world.clock.now())), (2, InviteState::UsedUp));
    let unfinished: bool = world.redis.raw(&["EXISTS", &format!("ff:{{m}}:invite:{code}:unfinished")]);
    assert!(!unfinished);
}

#[tokio::test]
async fn a_missing_invite_is_reported_together_with_the_other_faults() {
    let world = World::with(&INVITED).await;
    let payload = register(&world, "a", None).await;
    let codes: Vec<&Value> =
        payload["userErrors"].as_array().unwrap().iter().map(|error| &error["code"]).collect();
    assert_eq!(codes, ["TOO_SHORT", "INVITE_INVALID"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_100_parallel_registrations_with_an_invite_of_10_uses_10_succeed() {
    let world = World::with(&INVITED).await;
    let code = invite(&world, 10, None).await;
    let names: Vec<String> = (0..100).map(|number| format!("ann{number}")).collect();
    let rejections = join_all(names.iter().map(|name| rejection(&world, name, Some(&code)))).await;
    let rejected: Vec<String> = rejections.into_iter().flatten().collect();
    assert_eq!(rejected.len(), 90);
    assert!(rejected.iter().all(|message| message == "This invite has been used up."), "{rejected:?}");
    assert_eq!((user_count(&world), stored(&world).await.used), (10, 10));
    // The users of the rejected registrations do not exist, and their names are free.
    let names: Vec<String> = world.redis.raw(&["KEYS", "ff:*:intents"]);
    assert!(names.is_empty(), "{names:?}");
    let other = invite(&world, 100, None).await;
    let mut taken = 0;
    for number in 0..100 {
        let payload = register(&world, &format!("ann{number}"), Some(&other)).await;
        taken += usize::from(payload["userErrors"][0]["code"] == "TAKEN");
    }
    assert_eq!((taken, user_count(&world)), (10, 100));
}

#[tokio::test]
async fn an_invite_expires() {
    let world = World::with(&INVITED).await;
    let (day, moment) = (Duration::from_hours(24), Duration::from_millis(1));
    let code = invite(&world, 10, Some(world.clock.now().plus(day).plus(moment))).await;
    world.clock.advance(day);
    assert_eq!(rejection(&world, "ada", Some(&code)).await, None);
    world.clock.advance(moment);
    let expired = rejection(&world, "bob", Some(&code)).await;
    assert_eq!(expired.as_deref(), Some("This invite has expired."));
    assert_eq!(stored(&world).await.state(world.clock.now()), InviteState::Expired);
}

#[tokio::test]
async fn a_revoked_invite_admits_no_one_and_its_users_stay() {
    let world = World::with(&INVITED).await;
    let (code, other) = (invite(&world, 10, None).await, invite(&world, 10, None).await);
    assert_eq!(rejection(&world, "ada", Some(&code)).await, None);
    let revoked = fanfold::model::invite::InviteCode::parse(&code).unwrap();
    world.app.revoke_invite(&Moderator::Operator, &revoked).await.unwrap();
    assert!(world.app.revoke_invite(&Moderator::Operator, &revoked).await.is_err());
    let unknown = rejection(&world, "bob", Some(&code)).await;
    assert_eq!(unknown.as_deref(), Some("This invite does not exist."));
    assert_eq!((user_count(&world), stored(&world).await.code.as_str()), (1, other.as_str()));
    let left: Vec<String> = world.redis.raw(&["KEYS", &format!("ff:{{m}}:*{code}*")]);
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_taken_name_costs_no_use() {
    let world = World::with(&INVITED).await;
    let code = invite(&world, 2, None).await;
    // Both find the name free before they hash their passwords.
    let both = join_all([0, 1].map(|_| register(&world, "ada", Some(&code)))).await;
    let taken = both.iter().filter(|payload| payload["userErrors"][0]["code"] == "TAKEN").count();
    assert_eq!(taken, 1, "{both:?}");
    assert_eq!(stored(&world).await.used, 1);
    assert_eq!(rejection(&world, "bob", Some(&code)).await, None);
}

#[tokio::test]
async fn users_are_imported_in_every_mode() {
    use fanfold::app::user::NewAccount;
    use fanfold::model::user::{Bio, Username};
    let world = World::with(&["--account-registration", "closed"]).await;
    let username = Username::parse("ada").unwrap();
    let account = NewAccount {
        display_name: (&username).into(),
        username,
        bio: Bio::default(),
        region: None,
        created_at: world.clock.now(),
        password: None,
        subject: None,
        sign_in: None,
    };
    assert_eq!(world.app.import_users(vec![account]).await.unwrap().created, 1);
}
