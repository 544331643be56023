//! Who may download an export, and until when.

use std::time::Duration;

use fanfold::model::moderation::ActionNote;
use fanfold::model::moderator::Moderator;
use serde_json::{Value, json};

use crate::api::export::{EXPORT, download, export, is_gone, parse};
use crate::harness::issuer::{Issuer, SigningKey, claims};
use crate::harness::world::{PASSWORD, Person, World};

#[tokio::test]
async fn an_export_requires_the_password_and_only_the_newest_can_be_downloaded_for_a_day() {
    let world = World::new().await;
    let ada = world.register("ada").await;
    for (password, code, message) in [
        (Value::Null, "INVALID", "Enter your current password."),
        (json!("wrong"), "WRONG_CREDENTIALS", "The current password is wrong."),
    ] {
        let data = world.data(Some(&ada.token), EXPORT, json!({ "password": password })).await;
        let expected = json!({ "exportPath": null, "expiresAt": null, "userErrors": [
            { "code": code, "message": message, "field": ["input", "currentPassword"] }] });
        assert_eq!(data["exportAccount"], expected);
    }
    assert_eq!(
        world.ask(None, EXPORT, Value::Null).await["errors"][0]["extensions"]["code"],
        "UNAUTHENTICATED"
    );
    let data = world.data(Some(&ada.token), EXPORT, json!({ "password": PASSWORD })).await;
    assert_eq!(data["exportAccount"]["expiresAt"], "2026-01-02T00:00:00.000Z");
    let first = data["exportAccount"]["exportPath"].as_str().unwrap().to_owned();
    assert!(!is_gone(&world, &first).await);
    let second = export(&world, &ada).await;
    assert!(is_gone(&world, &first).await && !is_gone(&world, &second).await);
    for path in
        ["/export/x", "/export/%ff", "/export/AAAA", &format!("{second}A"), &second[..second.len() - 1]]
    {
        assert!(is_gone(&world, path).await, "{path}");
    }
    // Only a hash is stored.
    let stored: String = world.redis.raw(&["GET", "ff:{u1}:export"]);
    assert!(!stored.contains(second.strip_prefix("/export/").unwrap()));
    world.clock.advance(Duration::from_secs(86_399));
    assert!(!is_gone(&world, &second).await);
    world.clock.advance(Duration::from_secs(1));
    assert!(is_gone(&world, &second).await);
}

#[tokio::test]
async fn an_export_ends_with_the_session_that_requested_it() {
    let world = World::new().await;
    let mutation = async |person: &Person, field: &str| {
        let document = format!("mutation {{ {field} {{ userErrors {{ message }} }} }}");
        let data = world.data(Some(&person.token), &document, Value::Null).await;
        assert!(data.as_object().unwrap().values().all(|done| done["userErrors"] == json!([])), "{data}");
    };
    let change = format!(
        "changePassword(input: {{ currentPassword: \"{PASSWORD}\", newPassword: \"another horse\" }})"
    );
    for (name, field) in [("ada", "logout"), ("ben", "logoutEverywhere"), ("cem", change.as_str())] {
        let person = world.register(name).await;
        let path = export(&world, &person).await;
        assert!(!is_gone(&world, &path).await);
        mutation(&person, field).await;
        assert!(is_gone(&world, &path).await, "{field}");
    }
    let login = format!(
        "mutation {{ login(input: {{ username: \"dee\", password: \"{PASSWORD}\" }}) {{ token viewer {{ user {{ id }} }} }} }}"
    );
    let id = |person: &Person| person.id.clone();
    let dee = world.register("dee").await;
    let path = export(&world, &dee).await;
    let mut again = world.data(None, &login, Value::Null).await["login"].take();
    let other = Person { id: id(&dee), token: again["token"].take().as_str().unwrap().to_owned() };
    mutation(&other, "logout").await;
    assert!(!is_gone(&world, &path).await, "another session has ended");
    // A suspension and a deletion end it, even if they are undone.
    let viewer = world.app.authenticate(&dee.token).await.unwrap();
    let user = viewer.user().unwrap();
    world.app.suspend_user(&Moderator::Operator, user, ActionNote::default()).await.unwrap();
    assert!(is_gone(&world, &path).await);
    world.app.unsuspend_user(&Moderator::Operator, user, ActionNote::default()).await.unwrap();
    assert!(is_gone(&world, &path).await);
    let mut again = world.data(None, &login, Value::Null).await["login"].take();
    let dee = Person { id: id(&dee), token: again["token"].take().as_str().unwrap().to_owned() };
    let path = export(&world, &dee).await;
    let viewer = world.app.authenticate(&dee.token).await.unwrap();
    world.app.delete_account(&viewer, Some(PASSWORD), None).await.unwrap();
    assert!(is_gone(&world, &path).await);
    world.data(None, &login, Value::Null).await;
    assert!(is_gone(&world, &path).await, "the deletion was cancelled");
}

#[tokio::test]
async fn users_of_another_application_need_no_password_and_their_export_outlives_the_token() {
    let key = SigningKey::p256();
    let issuer = Issuer::start(&[key.jwk("a")]);
    let world = World::with(&issuer.options()).await;
    let header = json!({ "alg": "ES256", "typ": "JWT", "kid": "a" });
    let token = key.sign(&header, &claims("ada"));
    let ada = Person { id: String::new(), token: token.clone() };
    let data = world.data(Some(&token), EXPORT, Value::Null).await;
    let path = data["exportAccount"]["exportPath"].as_str().unwrap().to_owned();
    assert_eq!(parse(&download(&world, &path, None).await)[0]["username"], "ada");
    world.clock.advance(Duration::from_hours(23));
    assert_eq!(
        world.ask(Some(&ada.token), EXPORT, Value::Null).await["errors"][0]["extensions"]["code"],
        "UNAUTHENTICATED"
    );
    assert!(!is_gone(&world, &path).await);
    // The export ends with the key, as tokens do.
    issuer.publish(&[SigningKey::p256().jwk("b")]);
    world.app.refresh_jwt_keys().await;
    assert!(is_gone(&world, &path).await);
}
