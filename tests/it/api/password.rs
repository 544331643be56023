//! Passwords in several Unicode forms: they are the same password in every operation that takes one.

use std::net::{IpAddr, Ipv4Addr};

use argon2::{Argon2, PasswordHasher as _};
use fanfold::model::address::Address;
use serde_json::{Value, json};

use crate::harness::world::{Person, World};

/// One password in two Unicode forms: composed with ASCII spaces, and decomposed with other spaces.
const FORMS: [&str; 2] = [
    "pássword 한글 \u{1f92f}",
    "pa\u{301}ssword\u{a0}\u{1112}\u{1161}\u{11ab}\u{1100}\u{1173}\u{11af}\u{3000}\u{1f92f}",
];
const WRONG: &str = "passwo\u{301}rd 한글 \u{1f92f}";
const OTHERS: [&str; 2] = ["another ñ", "another\u{2003}n\u{303}"];

async fn mutate(world: &World, token: Option<&str>, name: &str, input: Value, rest: &str) -> Value {
    let kind = format!("{}{}", name[..1].to_uppercase(), &name[1..]);
    let query = format!(
        "mutation ($input: {kind}Input!) {{ {name}(input: $input) {{ {rest} userErrors {{ code }} }} }}"
    );
    world.data(token, &query, json!({ "input": input })).await[name].take()
}

async fn register(world: &World, username: &str, password: &str) -> Person {
    let input = json!({ "username": username, "password": password });
    let done = mutate(world, None, "register", input, "token viewer { user { id } }").await;
    let text = |pointer: &str| done.pointer(pointer).unwrap().as_str().expect("is registered").to_owned();
    Person { id: text("/viewer/user/id"), token: text("/token") }
}

async fn login(world: &World, username: &str, password: &str) -> Option<String> {
    let input = json!({ "username": username, "password": password });
    let done = mutate(world, None, "login", input, "token").await;
    let is_wrong = done["userErrors"] == json!([{ "code": "WRONG_CREDENTIALS" }]);
    assert_eq!(is_wrong, done["token"].is_null(), "{done}");
    done["token"].as_str().map(str::to_owned)
}

/// Returns true if an operation with the current password succeeds.
async fn confirms(world: &World, token: &str, name: &str, password: &str) -> bool {
    let input = json!({ "currentPassword": password });
    let done = mutate(world, Some(token), name, input, "").await;
    assert!(
        done["userErrors"] == json!([]) || done["userErrors"] == json!([{ "code": "WRONG_CREDENTIALS" }])
    );
    done["userErrors"] == json!([])
}

async fn change(world: &World, token: &str, current: &str, new: &str) -> Option<String> {
    let input = json!({ "currentPassword": current, "newPassword": new });
    let done = mutate(world, Some(token), "changePassword", input, "token").await;
    done["token"].as_str().map(str::to_owned)
}

/// Makes the hash of a user's password one of the text as typed, like earlier versions of Fanfold.
fn hash_as_before(world: &World, user: u64, password: &str) -> String {
    let hash = Argon2::default().hash_password_with_salt(password.as_bytes(), b"a salt of before").unwrap();
    let (key, hash) = (format!("ff:{{u{user}}}:secret"), hash.to_string());
    world.redis.raw::<i64>(&["HSET", &key, "password", &hash]);
    hash
}

fn hash(world: &World, user: u64) -> String {
    world.redis.raw(&["HGET", &format!("ff:{{u{user}}}:secret"), "password"])
}

#[tokio::test]
async fn a_password_is_the_same_in_every_unicode_form_in_all_operations() {
    let world = World::new().await;
    for (chosen, typed, name) in [(FORMS[0], FORMS[1], "ada"), (FORMS[1], FORMS[0], "bob")] {
        register(&world, name, chosen).await;
        assert_eq!(login(&world, name, WRONG).await, None);
        assert!(login(&world, name, chosen).await.is_some());
        let token = login(&world, name, typed).await.expect("signs in with the other form");
        assert!(confirms(&world, &token, "exportAccount", typed).await);
        assert!(!confirms(&world, &token, "exportAccount", WRONG).await);
        assert_eq!(change(&world, &token, WRONG, OTHERS[0]).await, None);
        let token = change(&world, &token, typed, OTHERS[0]).await.expect("changes with the other form");
        assert_eq!(login(&world, name, chosen).await, None);
        let token = change(&world, &token, OTHERS[1], OTHERS[1]).await.unwrap();
        assert!(login(&world, name, OTHERS[0]).await.is_some());
        assert!(!confirms(&world, &token, "deleteAccount", WRONG).await);
        assert!(confirms(&world, &token, "deleteAccount", OTHERS[0]).await);
    }
}

#[tokio::test]
async fn a_hash_of_before_is_accepted_as_typed_and_replaced_by_one_of_the_prepared_form() {
    let world = World::new().await;
    let person = register(&world, "ada", FORMS[0]).await;
    let [composed, decomposed] = FORMS;
    // With each operation that verifies a password. One with a new password replaces the hash anyway.
    for operation in ["login", "exportAccount"] {
        let before = hash_as_before(&world, 1, decomposed);
        assert_eq!(login(&world, "ada", composed).await, None, "the hash of before has another form");
        assert_eq!(login(&world, "ada", WRONG).await, None);
        assert_eq!(hash(&world, 1), before);
        if operation == "login" {
            assert!(login(&world, "ada", decomposed).await.is_some());
        } else {
            assert!(confirms(&world, &person.token, operation, decomposed).await);
        }
        assert_ne!(hash(&world, 1), before, "{operation} replaces it");
        assert!(login(&world, "ada", composed).await.is_some());
        assert!(login(&world, "ada", decomposed).await.is_some());
    }
    hash_as_before(&world, 1, decomposed);
    assert!(change(&world, &person.token, decomposed, composed).await.is_some());
    hash_as_before(&world, 1, decomposed);
    let token = login(&world, "ada", decomposed).await.unwrap();
    hash_as_before(&world, 1, decomposed);
    assert!(confirms(&world, &token, "deleteAccount", decomposed).await);
}

#[tokio::test]
async fn a_password_as_typed_costs_a_turn_of_its_own_and_one_attempt() {
    let world = World::new().await;
    register(&world, "ada", FORMS[0]).await;
    let address: Address = IpAddr::from(Ipv4Addr::new(203, 0, 113, 1)).into();
    let mut verified = world.app.passwords_verified();
    let mut cost = async |name: &str, password: &str| {
        let done = world.app.login(name, password, None, Some(address)).await.map(drop);
        let before = std::mem::replace(&mut verified, world.app.passwords_verified());
        (done.is_ok(), verified - before)
    };
    assert_eq!(cost("ada", FORMS[1]).await, (true, 1), "a right password in another form");
    assert_eq!(cost("ada", "wrong password").await, (false, 1), "a wrong one with one form");
    for name in ["ada", "nobody"] {
        assert_eq!(cost(name, "wrong\u{a0}password").await, (false, 2), "{name}, a wrong one with two forms");
    }
    // Twenty wrong passwords of the known address, of which two are used.
    for _ in 0..18 {
        assert_eq!(cost("ada", "wrong\u{a0}password").await, (false, 2));
    }
    assert_eq!(cost("ada", "wrong\u{a0}password").await, (false, 0), "an attempt is one, whatever its forms");
}
