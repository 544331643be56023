//! Malformed input: the documented error, with its code, and no change.

use axum::body::Body;
use axum::http::{Request, StatusCode};
use serde_json::{Value, json};

use crate::harness::world::{World, codes};

async fn code(world: &World, token: Option<&str>, query: &str, variables: Value) -> String {
    let response = world.ask(token, query, variables).await;
    let codes = codes(&response);
    assert_eq!(codes.len(), 1, "{response}");
    codes[0].to_owned()
}

#[tokio::test]
async fn a_malformed_or_wrongly_typed_id_is_bad_user_input_and_an_unknown_one_is_null() {
    let world = World::new().await;
    let ada = world.register("ada").await;
    let sessions = world.data(Some(&ada.token), "{ viewer { sessions { id } } }", Value::Null).await;
    let session = sessions["viewer"]["sessions"][0]["id"].as_str().unwrap();
    let queries = [
        "query ($id: ID!) { node(id: $id) { id } }",
        "query ($id: ID!) { nodes(ids: [$id]) { id } }",
        "query ($id: ID!) { user(by: { id: $id }) { id } }",
        "query ($id: ID!) { relations(userIds: [$id]) { status } }",
        "mutation ($id: ID!) { follow(input: { userId: $id }) { user { id } } }",
        "mutation ($id: ID!) { unfollow(input: { userId: $id }) { user { id } } }",
        "mutation ($id: ID!) { removeFollower(input: { userId: $id }) { user { id } } }",
    ];
    for query in queries {
        for id in ["", "7", "\u{0}", "VXNlcjo3=", "VXNlcjow", "🦀", "مرحبا", session, &"A".repeat(10_000)]
        {
            let code = code(&world, Some(&ada.token), query, json!({ "id": id })).await;
            assert_eq!(code, "BAD_USER_INPUT", "{query} {id:?}");
        }
    }
    let data = world.data(None, queries[0], json!({ "id": "VXNlcjo3NzAwMDA" })).await;
    assert_eq!(data, json!({ "node": null }));
    let revoke = "mutation ($id: ID!) { revokeSession(input: { sessionId: $id }) { revokedSessionId } }";
    assert_eq!(code(&world, Some(&ada.token), revoke, json!({ "id": ada.id })).await, "BAD_USER_INPUT");
}

#[tokio::test]
async fn more_than_a_hundred_ids_are_rejected() {
    let world = World::new().await;
    let ada = world.register("ada").await;
    for (count, rejected) in [(100, false), (101, true)] {
        let ids = json!({ "ids": vec![ada.id.clone(); count] });
        for query in [
            "query ($ids: [ID!]!) { nodes(ids: $ids) { id } }",
            "query ($ids: [ID!]!) { relations(userIds: $ids) { status } }",
        ] {
            let response = world.ask(Some(&ada.token), query, ids.clone()).await;
            assert_eq!(response.get("errors").is_some(), rejected, "{query} {count}");
            if rejected {
                assert_eq!(codes(&response), ["BAD_USER_INPUT"]);
            }
        }
    }
}

#[tokio::test]
async fn impossible_pages_are_rejected() {
    let world = World::new().await;
    let people = world.people(3).await;
    world.follow(&people[0], &people[1]).await;
    let page = |list: &str, arguments: &str| {
        format!(
            "{{ user(by: {{ username: \"ann1\" }}) {{ {list}({arguments}) {{ totalCount pageInfo {{ endCursor }} }} }} }}"
        )
    };
    let cursor = async |list: &str| {
        let data = world.data(None, &page(list, "first: 1"), Value::Null).await;
        data["user"][list]["pageInfo"]["endCursor"].as_str().unwrap().to_owned()
    };
    let mine = cursor("followers").await;
    for arguments in [
        "first: -1".to_owned(),
        "last: -1".to_owned(),
        "first: -2147483648".to_owned(),
        "first: 1, last: 1".to_owned(),
        format!("first: 1, before: \"{mine}\""),
        format!("last: 1, after: \"{mine}\""),
        format!("after: \"{mine}\", before: \"{mine}\""),
        "after: \"\"".to_owned(),
        "after: \"garbage\"".to_owned(),
        "before: \"\u{1F980}\"".to_owned(),
        format!("after: \"{}\"", "A".repeat(1_000)),
        format!("after: \"{mine}A\""),
    ] {
        for list in ["followers", "following", "mutuals", "knownFollowers"] {
            let code = code(&world, None, &page(list, &arguments), Value::Null).await;
            assert_eq!(code, "BAD_USER_INPUT", "{list} {arguments}");
        }
    }
    // The cursor of another list, and of another owner's list.
    let after = format!("after: \"{mine}\"");
    for list in ["following", "mutuals", "knownFollowers"] {
        assert_eq!(code(&world, None, &page(list, &after), Value::Null).await, "BAD_USER_INPUT");
    }
    let other = page("followers", &after).replace("ann1", "ann2");
    assert_eq!(code(&world, None, &other, Value::Null).await, "BAD_USER_INPUT");
    world.data(None, &page("followers", &after), Value::Null).await;
}

#[tokio::test]
async fn invalid_documents_are_rejected_with_a_reason() {
    let world = World::new().await;
    for (query, expected) in [
        ("", "GRAPHQL_PARSE_FAILED"),
        ("{", "GRAPHQL_PARSE_FAILED"),
        ("{ viewer \u{0} }", "GRAPHQL_PARSE_FAILED"),
        ("{ nothing }", "GRAPHQL_VALIDATION_FAILED"),
        ("{ user(by: { id: \"x\", username: \"x\" }) { id } }", "GRAPHQL_VALIDATION_FAILED"),
        ("{ user(by: {}) { id } }", "GRAPHQL_VALIDATION_FAILED"),
        ("{ user { id } }", "GRAPHQL_VALIDATION_FAILED"),
        ("{ user(by: { username: 7 }) { id } }", "GRAPHQL_VALIDATION_FAILED"),
        (
            "query A { viewer { user { id } } } query B { viewer { user { id } } }",
            "GRAPHQL_VALIDATION_FAILED",
        ),
        ("mutation { register(input: { username: \"x\" }) { token } }", "GRAPHQL_VALIDATION_FAILED"),
    ] {
        for (accept, status) in [
            ("application/json", StatusCode::OK),
            ("application/graphql-response+json", StatusCode::BAD_REQUEST),
        ] {
            let (found, response) = world.ask_as(None, accept, query, Value::Null).await;
            assert_eq!((found, codes(&response)), (status, vec![expected]), "{query}");
            assert_eq!(response.get("data"), None);
        }
    }
    let levels =
        format!("{{ viewer {{ user {} {{ id }} {} }} }}", "{ relation { user".repeat(9), "} }".repeat(9));
    assert_eq!(code(&world, None, &levels, Value::Null).await, "QUERY_TOO_COMPLEX");
    let lists = format!("{{ nodes(ids: {}{}) {{ id }} }}", "[".repeat(20_000), "]".repeat(20_000));
    assert_eq!(code(&world, None, &lists, Value::Null).await, "QUERY_TOO_COMPLEX");
}

#[tokio::test]
async fn invalid_bodies_are_rejected_with_a_reason() {
    let world = World::new().await;
    let big = format!("{{\"query\":\"{}\"}}", " ".repeat(70_000));
    let cases: [(&str, &str, StatusCode); 12] = [
        ("application/json", "", StatusCode::BAD_REQUEST),
        ("application/json", "{", StatusCode::BAD_REQUEST),
        ("application/json", "\u{0}", StatusCode::BAD_REQUEST),
        ("application/json", "7", StatusCode::BAD_REQUEST),
        ("application/json", "[]", StatusCode::BAD_REQUEST),
        ("application/json", "{}", StatusCode::BAD_REQUEST),
        ("application/json", "{\"query\":7}", StatusCode::BAD_REQUEST),
        ("application/json", "{\"query\":\"{viewer{user{id}}}\",\"variables\":[]}", StatusCode::BAD_REQUEST),
        (
            "application/json",
            "{\"query\":\"{viewer{user{id}}}\",\"operationName\":7}",
            StatusCode::BAD_REQUEST,
        ),
        ("text/plain", "{\"query\":\"{viewer{user{id}}}\"}", StatusCode::UNSUPPORTED_MEDIA_TYPE),
        ("application/x-www-form-urlencoded", "query=%7Bviewer%7D", StatusCode::UNSUPPORTED_MEDIA_TYPE),
        ("application/json", &big, StatusCode::PAYLOAD_TOO_LARGE),
    ];
    let trips = world.app.store().round_trips();
    for (content_type, body, expected) in cases {
        let request = Request::post("/graphql").header("content-type", content_type);
        let (status, _, response) = world.send(request.body(Body::from(body.to_owned())).unwrap()).await;
        let response: Value = serde_json::from_slice(&response).unwrap();
        assert_eq!((status, codes(&response)), (expected, vec!["BAD_REQUEST"]), "{content_type} {body:.60}");
    }
    assert_eq!(world.app.store().round_trips(), trips, "no round trip to Redis");
}

#[tokio::test]
async fn a_request_keeps_the_id_it_came_with() {
    let world = World::new().await;
    let ask = async |name: Option<&str>| {
        let mut request = Request::post("/graphql").header("content-type", "application/json");
        if let Some(name) = name {
            request = request.header("x-request-id", name);
        }
        let (_, headers, _) = world.send(request.body(Body::from("{}")).unwrap()).await;
        headers["x-request-id"].to_str().unwrap().to_owned()
    };
    assert_eq!(ask(Some("my-request_1.2")).await, "my-request_1.2");
    assert_eq!(ask(None).await.len(), 32);
    assert_eq!(ask(Some("<script>")).await.len(), 32);
    assert_ne!(ask(None).await, ask(None).await);
}

#[tokio::test]
async fn unknown_paths_and_methods_are_reported_in_json() {
    let world = World::new().await;
    for (method, path, status) in
        [("GET", "/nothing", 404), ("DELETE", "/graphql", 405), ("POST", "/schema.graphql", 405)]
    {
        let request = Request::builder().method(method).uri(path).body(Body::empty()).unwrap();
        let (found, headers, body) = world.send(request).await;
        assert_eq!(found, status);
        assert_eq!(headers.contains_key("allow"), status == 405);
        assert_eq!(codes(&serde_json::from_slice(&body).unwrap()), ["BAD_REQUEST"]);
    }
}

#[tokio::test]
async fn a_missing_variable_rejects_the_request_before_anything_is_executed() {
    let world = World::new().await;
    let people = world.people(2).await;
    let query = "mutation ($a: ID!, $b: ID!, $c: Int = 1) {
        a: follow(input: { userId: $a }) { user { followers(first: $c) { totalCount } } }
        b: follow(input: { userId: $b }) { user { id } }
    }";
    let trips = world.app.store().round_trips();
    for variables in [json!({ "a": people[1].id }), json!({ "a": people[1].id, "b": null }), Value::Null] {
        let (status, response) =
            world.ask_as(Some(&people[0].token), "application/graphql-response+json", query, variables).await;
        assert_eq!((status, codes(&response)), (StatusCode::BAD_REQUEST, vec!["BAD_USER_INPUT"]));
        assert_eq!(response.get("data"), None);
    }
    assert_eq!(world.app.store().round_trips(), trips);
    let given = json!({ "a": people[1].id, "b": people[1].id });
    world.data(Some(&people[0].token), query, given).await;
}

#[tokio::test]
async fn two_authorization_headers_are_rejected() {
    let world = World::new().await;
    let ada = world.register("ada").await;
    let bearer = format!("Bearer {}", ada.token);
    let request = Request::post("/graphql").header("content-type", "application/json");
    let request = request.header("authorization", &bearer).header("authorization", &bearer);
    let body = json!({ "query": "{ viewer { user { id } } }" }).to_string();
    let (status, _, response) = world.send(request.body(Body::from(body)).unwrap()).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    assert_eq!(codes(&serde_json::from_slice(&response).unwrap()), ["UNAUTHENTICATED"]);
}

#[tokio::test]
async fn of_many_ids_the_wrong_one_is_named() {
    let world = World::new().await;
    let query = "{ nodes(ids: [\"VXNlcjox\", \"x\"]) { id } }";
    let response = world.ask(None, query, Value::Null).await;
    assert_eq!(response["errors"][0]["message"], "`ids[1]` is not an id issued by this server.");
    let query = "{ relations(userIds: [\"VXNlcjox\", \"VXNlcjox\", \"UG9zdDox\"]) { status } }";
    let response = world.ask(None, query, Value::Null).await;
    assert_eq!(response["errors"][0]["message"], "`userIds[2]` must be the id of a User, not of a Post.");
}
