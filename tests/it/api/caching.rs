//! Responses that shared caches may store, and for how long.

use axum::http::{Method, StatusCode};
use serde_json::Value;

use crate::harness::request::{FOR_A_MINUTE, JSON, cache_control, send};
use crate::harness::world::{World, codes};

#[tokio::test]
async fn public_responses_may_be_cached_if_the_operator_enables_it() {
    let world = World::with(&FOR_A_MINUTE).await;
    let person = world.register("ada").await;
    let public =
        "{ user(by: { username: \"ada\" }) { displayName followers { totalCount } } visits { day } }";
    assert_eq!(cache_control(&world, public, &[]).await, "public, max-age=60");
    assert_eq!(cache_control(&World::new().await, public, &[]).await, "no-store");

    let token = format!("Bearer {}", person.token);
    assert_eq!(cache_control(&world, public, &[("authorization", &token)]).await, "no-store");
    assert_eq!(cache_control(&world, public, &[("authorization", "Bearer x")]).await, "no-store");
    for query in [
        "{ viewer { user { id } } }",
        "{ user(by: { username: \"ada\" }) { ...F } } fragment F on User { relation { status } }",
        "{ user(by: { username: \"ada\" }) { me: isViewer } }",
        "{ user(by: { username: \"ada\" }) { posts { nodes { author { knownFollowers { totalCount } } } } } }",
        "{ node(id: \"VXNlcjox\") { ... on User { relation { status } } } }",
        "{ node(id: \"UG9zdDox\") { ... on Post { delivery { totalCount } } } }",
        "{ relations(userIds: []) { status } }",
        "{ nothing }",
        "{",
        "mutation { logout { userErrors { code } } }",
    ] {
        assert_eq!(cache_control(&world, query, &[]).await, "no-store", "{query}");
    }
    // A skipped field does not count.
    let skipped = "{ user(by: { username: \"ada\" }) { id relation @skip(if: true) { status } } }";
    assert_eq!(cache_control(&world, skipped, &[]).await, "public, max-age=60");
    let (_, headers, _) =
        send(&world, Method::POST, "/graphql", &[JSON], "{\"query\":\"{ countries { code } }\"}").await;
    assert_eq!(headers["cache-control"], "no-store");
    let unknown = format!("/graphql?documentId=sha256:{}", "0".repeat(64));
    let (_, headers, _) = send(&world, Method::GET, &unknown, &[], "").await;
    assert_eq!(headers["cache-control"], "no-store");
}

#[tokio::test]
async fn a_response_with_an_error_may_not_be_cached() {
    let world = World::own(&[&FOR_A_MINUTE[..], &["--graphql-query-timeout", "1"]].concat()).await;
    let people = world.people(2).await;
    world.follow(&people[0], &people[1]).await;
    let read = "{ user(by: { username: \"ann1\" }) { followers { edges { cursor } } } }";
    assert_eq!(cache_control(&world, read, &[]).await, "public, max-age=60");
    let data = world.data(None, read, Value::Null).await;
    let cursor = data["user"]["followers"]["edges"][0]["cursor"].as_str().unwrap();
    // The owner of a cursor's list is checked only when the query is executed.
    let wrong = format!(
        "{{ user(by: {{ username: \"ann0\" }}) {{ followers(after: \"{cursor}\") {{ totalCount }} }} }}"
    );
    assert_eq!(codes(&world.ask(None, &wrong, Value::Null).await), ["BAD_USER_INPUT"]);
    assert_eq!(cache_control(&world, &wrong, &[]).await, "no-store");
    world.redis.pause(true);
    assert_eq!(cache_control(&world, read, &[]).await, "no-store");
    world.redis.pause(false);
}

#[tokio::test]
async fn the_schema_is_sent_once_and_then_only_if_it_has_changed() {
    let world = World::new().await;
    let (status, headers, _) = send(&world, Method::GET, "/schema.graphql", &[], "").await;
    let tag = headers["etag"].to_str().unwrap();
    assert_eq!((status, headers["cache-control"].to_str().unwrap()), (StatusCode::OK, "public, no-cache"));
    let strong = tag.trim_start_matches("W/");
    for known in [tag, strong, &format!("\"other\", {tag}"), "*"] {
        let request = axum::http::Request::get("/schema.graphql").header("if-none-match", known);
        let (status, headers, body) = world.send(request.body("".into()).unwrap()).await;
        assert_eq!((status, body.len()), (StatusCode::NOT_MODIFIED, 0), "{known}");
        assert_eq!(headers["etag"], tag);
    }
    let known = [("if-none-match", "W/\"0000\""), ("accept-encoding", "gzip")];
    let (status, headers, _) = send(&world, Method::GET, "/schema.graphql", &known, "").await;
    assert_eq!((status, headers["etag"].to_str().unwrap()), (StatusCode::OK, tag));
    assert_eq!(headers["content-encoding"], "gzip");
}
