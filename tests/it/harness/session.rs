//! Sessions in a world: signing in, and whether a token is that of a session.

use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::harness::world::{World, codes};

pub(crate) const LOGIN: &str = "mutation ($input: LoginInput!) {
    login(input: $input) { token viewer { user { username } } userErrors { code message field } }
}";
const VIEWER: &str = "{ viewer { user { username } } }";

/// Signs a user in, and returns the payload.
pub(crate) async fn login(world: &World, username: &str, password: &str) -> Value {
    let input = json!({ "input": { "username": username, "password": password } });
    world.data(None, LOGIN, input).await["login"].take()
}

/// Returns true if a token is that of a session.
pub(crate) async fn is_signed_in(world: &World, token: &str) -> bool {
    let (status, response) = world.ask_as(Some(token), "application/json", VIEWER, Value::Null).await;
    if status == StatusCode::UNAUTHORIZED {
        assert_eq!(codes(&response), ["UNAUTHENTICATED"]);
        assert_eq!(response.get("data"), None);
    }
    status == StatusCode::OK
}
