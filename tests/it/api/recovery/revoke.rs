//! What revokes a code, and what does not.

use fanfold::model::moderation::ActionNote;
use fanfold::model::moderator::Moderator;
use serde_json::{Value, json};

use crate::api::recovery::{
    HOUR, cancel, entry, error, grant, issue, issued, issued_by_operator, log, login, mutate, pending,
    recovers, user_id, world,
};
use crate::harness::world::{PASSWORD, Person, World};

/// What revokes the code of a moderator, and what the log says of it.
const REVOKING: [(&str, Option<&str>); 10] = [
    ("cancelRecovery", Some("")),
    ("login", Some("Signed in with the password.")),
    ("changePassword", Some("Changed the password.")),
    ("suspendUser", None),
    ("deleteAccount", None),
    ("set-password", None),
    ("moderator remove", None),
    ("suspension of the moderator", None),
    ("deletion of the moderator", None),
    ("another code", None),
];

/// Does what revokes a code, so that afterwards, the account is active and has the password.
async fn revoke(world: &World, people: &[Person], how: &str) {
    let user = &people[2];
    let (operator, none) = (Moderator::Operator, ActionNote::default);
    let current = json!({ "currentPassword": PASSWORD });
    match how {
        "cancelRecovery" => {
            let canceled = json!({ "viewer": { "pendingRecovery": null }, "userErrors": [] });
            assert_eq!(cancel(world, user).await, canceled);
        }
        "login" => assert!(login(world, "ann2", PASSWORD).await),
        "changePassword" => {
            let input = json!({ "currentPassword": PASSWORD, "newPassword": PASSWORD });
            let payload = mutate(world, Some(&user.token), how, input, "token").await;
            assert_eq!(error(&payload), None);
        }
        "suspendUser" => {
            world.app.suspend_user(&Moderator::User(user_id(1)), user_id(3), none()).await.unwrap();
            world.app.unsuspend_user(&Moderator::User(user_id(1)), user_id(3), none()).await.unwrap();
        }
        "deleteAccount" => {
            assert_eq!(error(&mutate(world, Some(&user.token), how, current, "").await), None);
            world.app.cancel_user_deletion(&operator, user_id(3), none()).await.unwrap();
        }
        "set-password" => world.app.set_password(&operator, user_id(3), PASSWORD).await.unwrap(),
        "moderator remove" => {
            grant(world, 1, false).await;
            grant(world, 1, true).await;
        }
        "suspension of the moderator" => {
            world.app.suspend_user(&operator, user_id(1), none()).await.unwrap();
            world.app.unsuspend_user(&operator, user_id(1), none()).await.unwrap();
        }
        "deletion of the moderator" => {
            assert_eq!(
                error(&mutate(world, Some(&people[0].token), "deleteAccount", current, "").await),
                None
            );
            world.app.cancel_user_deletion(&operator, user_id(1), none()).await.unwrap();
        }
        "another code" => drop(issued(world, &people[1], user).await),
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn the_code_of_a_moderator_is_revoked_once_the_user_is_there_or_the_moderator_has_lost_the_rights() {
    for (how, logged) in REVOKING {
        let (world, people) = world(3).await;
        let code = issued(&world, &people[0], &people[2]).await;
        world.clock.advance(30 * HOUR);
        revoke(&world, &people, how).await;
        assert!(!recovers(&world, "ann2", &code).await, "{how}");
        let is_left: bool = world.redis.raw(&["EXISTS", "ff:{u3}:recovery"]);
        assert_eq!(is_left, how == "another code", "{how}");
        let steps: Vec<_> = log(&world, &people[1]).await;
        let steps = steps.iter().filter(|step| step[0] == "CANCEL_RECOVERY").collect::<Vec<_>>();
        let expected = logged.map(|note| entry(["CANCEL_RECOVERY", "ann2", "ann2", note]));
        assert_eq!(steps, expected.iter().collect::<Vec<_>>(), "{how}");
        assert!(login(&world, "ann2", PASSWORD).await, "{how} keeps the password");
    }
}

#[tokio::test]
async fn the_code_of_the_operator_is_valid_at_once_and_the_password_does_not_revoke_it() {
    for (how, _) in REVOKING {
        let (world, people) = world(3).await;
        let code = issued_by_operator(&world, 3).await;
        let own = pending(&world, &people[2]).await;
        assert_eq!((&own["isByOperator"], &own["issuer"]), (&json!(true), &Value::Null));
        assert_eq!(own["validFrom"], own["issuedAt"]);
        match how {
            "cancelRecovery" => assert_eq!(error(&cancel(&world, &people[2]).await), Some("NOT_YOURS")),
            "another code" => {
                assert_eq!(error(&issue(&world, &people[0], &people[2].id).await), Some("NOT_YOURS"));
            }
            how => revoke(&world, &people, how).await,
        }
        // The account itself was not there, or the operator has chosen another way.
        let is_revoked = ["suspendUser", "deleteAccount", "set-password"].contains(&how);
        assert_eq!(recovers(&world, "ann2", &code).await, !is_revoked, "{how}");
        let steps = log(&world, &people[1]).await;
        assert!(steps.iter().all(|step| step[0] != "CANCEL_RECOVERY"), "{how}: {steps:?}");
    }
    let (world, people) = world(3).await;
    let first = issued_by_operator(&world, 3).await;
    let second = issued_by_operator(&world, 3).await;
    assert!(!recovers(&world, "ann2", &first).await);
    assert!(recovers(&world, "ann2", &second).await);
    let third = issued_by_operator(&world, 3).await;
    world.clock.advance(24 * HOUR);
    assert!(!recovers(&world, "ann2", &third).await, "expired");
    assert_eq!(
        error(&issue(&world, &people[0], &people[2].id).await),
        None,
        "one that has expired is no obstacle"
    );
}
