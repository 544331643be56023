//! The assembly of responses: the order and the failures as the specification has them. Detects the two faults for
//! which later releases of the GraphQL library are not used, should they come back.

use axum::body::Body;
use axum::http::{Request, StatusCode};
use serde_json::{Value, json};

use crate::harness::world::{World, codes};

#[tokio::test]
async fn response_keys_come_in_the_order_of_the_query() {
    let world = World::new().await;
    world.register("ada").await;
    // The first field of each level waits for Redis, the last does not.
    let query =
        "{ slow: user(by: { username: \"ada\" }) { followers { totalCount __typename } bio id isViewer }
                   viewer { user { id } } __typename }";
    let body = json!({ "query": query }).to_string();
    let request = Request::post("/graphql").header("content-type", "application/json");
    let (_, _, response) = world.send(request.body(Body::from(body)).unwrap()).await;
    let expected = "{\"data\":{\"slow\":{\"followers\":{\"totalCount\":0,\"__typename\":\"FollowConnection\"},\
                    \"bio\":\"\",\"id\":\"VXNlcjox\",\"isViewer\":false},\"viewer\":null,\"__typename\":\"Query\"}}";
    assert_eq!(String::from_utf8(response).unwrap(), expected);
}

#[tokio::test]
async fn a_field_that_must_not_be_null_and_fails_makes_its_parent_null() {
    let world = World::new().await;
    world.register("ada").await;
    world.redis.raw::<i64>(&["HDEL", "ff:{u1}:user", "bio"]);
    let query =
        "{ user(by: { username: \"ada\" }) { id bio } ok: user(by: { username: \"ada\" }) { id username } }";
    let response = world.ask(None, query, Value::Null).await;
    let expected = json!({ "user": null, "ok": { "id": "VXNlcjox", "username": "ada" } });
    assert_eq!(response["data"], expected);
    assert_eq!(codes(&response), ["INTERNAL_SERVER_ERROR"]);
    assert_eq!(response["errors"][0]["path"], json!(["user", "bio"]));
}

#[tokio::test]
async fn a_nullable_field_that_fails_is_null_alone() {
    let world = World::new().await;
    let ada = world.register("ada").await;
    world.register("bob").await;
    // The viewer's list is no list: reading a relation to the viewer fails.
    world.redis.raw::<String>(&["SET", "ff:{u1}:following", "x"]);
    let query =
        "{ user(by: { username: \"bob\" }) { username relation { status } } viewer { user { username } } }";
    let response = world.ask(Some(&ada.token), query, Value::Null).await;
    let expected = json!({ "user": { "username": "bob", "relation": null }, "viewer": { "user": { "username": "ada" } } });
    assert_eq!(response["data"], expected);
    assert_eq!(response["errors"][0]["path"], json!(["user", "relation"]));
}

#[tokio::test]
async fn a_failing_branch_does_not_fail_the_others() {
    let world = World::new().await;
    let people = world.people(3).await;
    world.follow(&people[0], &people[1]).await;
    world.redis.raw::<i64>(&["DEL", "ff:{u3}:user"]);
    world.redis.raw::<String>(&["SET", "ff:{u3}:user", "x"]);
    // `bad` is cancelled while its siblings wait for the same batches.
    let query = "query ($a: ID!, $b: ID!) {
        bad: user(by: { username: \"ann2\" }) { followers { totalCount } following { nodes { bio } } bio }
        good: user(by: { id: $b }) { followers { totalCount nodes { bio } } username }
        also: user(by: { id: $a }) { following { nodes { username followers { totalCount } } } }
    }";
    let variables = json!({ "a": people[0].id, "b": people[1].id });
    for _ in 0..20 {
        let response = world.ask(Some(&people[0].token), query, variables.clone()).await;
        let expected = json!({
            "bad": null,
            "good": { "followers": { "totalCount": 1, "nodes": [{ "bio": "" }] }, "username": "ann1" },
            "also": { "following": { "nodes": [{ "username": "ann1", "followers": { "totalCount": 1 } }] } },
        });
        assert_eq!(response["data"], expected);
    }
}

#[tokio::test]
async fn an_internal_error_has_the_id_of_the_request_and_no_cause() {
    let world = World::new().await;
    world.register("ada").await;
    world.redis.raw::<i64>(&["DEL", "ff:{u1}:user"]);
    world.redis.raw::<String>(&["SET", "ff:{u1}:user", "secret"]);
    let body = json!({ "query": "{ user(by: { username: \"ada\" }) { bio } }" }).to_string();
    let request =
        Request::post("/graphql").header("content-type", "application/json").header("x-request-id", "r1");
    let (status, _, response) = world.send(request.body(Body::from(body)).unwrap()).await;
    let response: Value = serde_json::from_slice(&response).unwrap();
    assert_eq!(status, StatusCode::OK);
    let extensions = json!({ "code": "INTERNAL_SERVER_ERROR", "requestId": "r1" });
    assert_eq!(response["errors"][0]["extensions"], extensions);
    assert!(!response.to_string().contains("WRONGTYPE") && !response.to_string().contains("secret"));
}

#[tokio::test]
async fn requests_succeed_after_redis_restarts_without_scripts() {
    let mut world = World::own(&[]).await;
    let query = "mutation { register(input: { username: \"ada\", password: \"correct horse\" }) { token } }";
    world.data(None, query, Value::Null).await;
    std::sync::Arc::get_mut(&mut world.redis).unwrap().restart_empty();
    let data = world.data(None, query, Value::Null).await;
    assert!(data["register"]["token"].is_string());
}

#[tokio::test]
async fn a_redis_that_is_full_can_still_be_read() {
    let world = World::new().await;
    let people = world.people(2).await;
    world.follow(&people[0], &people[1]).await;
    world.clock.advance(std::time::Duration::from_mins(10));
    world.redis.raw::<String>(&["CONFIG", "SET", "maxmemory", "100kb"]);
    let query =
        "{ user(by: { username: \"ann1\" }) { followers { nodes { username } } relation { status } } }";
    let data = world.data(Some(&people[0].token), query, Value::Null).await;
    let expected =
        json!({ "followers": { "nodes": [{ "username": "ann0" }] }, "relation": { "status": "FOLLOWING" } });
    assert_eq!(data["user"], expected);
    let query = "mutation ($id: ID!) { unfollow(input: { userId: $id }) { userErrors { code } } }";
    let response = world.ask(Some(&people[0].token), query, json!({ "id": people[1].id })).await;
    assert_eq!(codes(&response), ["UNAVAILABLE"]);
}
