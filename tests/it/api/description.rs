//! Descriptions of operations, variables and fragments, as the specification of September 2025 allows them.

use axum::http::{Method, StatusCode};
use serde_json::{Value, json};
use tempfile::NamedTempFile;

use crate::harness::manifest::{content_of, hash};
use crate::harness::request::{JSON, send};
use crate::harness::world::{World, codes};

/// A document with descriptions wherever they are allowed.
const DESCRIBED: &str = "\"\"\"
The name of a user: é 🦀
\"\"\"
query Find(
  \"The username, such as \\\"ann0\\\" \\u{1F980}\" $name: String! = \"ann0\"
  \"\"\"Unused\"\"\" $is: Boolean = true
) { user(by: { username: $name }) { ...F } __typename @include(if: $is) }
\"The fields of a user\"
fragment F on User { username }
\"Another operation\" mutation Other { logout { userErrors { code } } }";

fn found() -> Value {
    json!({ "user": { "username": "ann0" }, "__typename": "Query" })
}

#[tokio::test]
async fn descriptions_are_accepted_and_change_nothing() {
    let world = World::new().await;
    world.people(1).await;
    let body = json!({ "query": DESCRIBED, "operationName": "Find" }).to_string();
    let (status, _, response) = send(&world, Method::POST, "/graphql", &[JSON], &body).await;
    assert_eq!((status, &response), (StatusCode::OK, &json!({ "data": found() })));
    for described in [
        "\"x\" { __typename }",
        "{ \"x\" __typename }",
        "{ __typename \"x\" }",
        "{ __typename } \"x\"",
        "\"x\" \"y\" query { __typename }",
        "\"x\" \"y\" fragment F on Query { __typename } { ...F }",
        "query \"x\" Q { __typename }",
        "query \"x\" query { __typename }",
        "query Q(\"x\") { __typename }",
        "query Q($a: Int \"x\") { __typename }",
        "query Q(\"x\" \"y\" $a: Int) { __typename }",
        "query Q($a: \"x\" Int) { __typename }",
        "query Q \"x\" { __typename }",
        "{ ...F } fragment \"x\" F on Query { __typename }",
        "{ visits(\"x\" first: 1) { day } }",
        "{ __typename @skip(\"x\" if: false) }",
        "\"\\q\" query { __typename }",
        "\"\\uD83E\" query { __typename }",
        "\"x query { __typename }",
        "\"\"\"x query { __typename }",
    ] {
        assert_eq!(
            codes(&world.ask(None, described, Value::Null).await),
            ["GRAPHQL_PARSE_FAILED"],
            "{described}"
        );
    }
}

#[tokio::test]
async fn errors_have_the_locations_of_the_document_as_sent() {
    let world = World::new().await;
    for (document, code, line, column) in [
        ("\"é🦀\" query { nothing }", "GRAPHQL_VALIDATION_FAILED", 1, 14),
        ("\"\"\"é\n🦀\n\"\"\" query { nothing }", "GRAPHQL_VALIDATION_FAILED", 3, 13),
        ("\"\"\"é\r\n\r\n🦀\"\"\" query { nothing }", "GRAPHQL_VALIDATION_FAILED", 3, 14),
        (
            "query(\"é\" $a: Int \"🦀\" $b: Nope) { visits(first: $a, before: $b) { day } }",
            "GRAPHQL_VALIDATION_FAILED",
            1,
            23,
        ),
        ("{ ...F }\n\"é\" fragment F on Query { __typename ] }", "GRAPHQL_PARSE_FAILED", 2, 38),
    ] {
        let response = world.ask(None, document, Value::Null).await;
        assert_eq!(codes(&response)[0], code, "{response}");
        assert_eq!(
            response["errors"][0]["locations"][0],
            json!({ "line": line, "column": column }),
            "{document}"
        );
    }
    // The location of a field's error, at execution.
    world.redis.raw::<i64>(&["LPUSH", "ff:{r0}:region", "x"]);
    world.people(1).await;
    let document =
        "\"\"\"é\n🦀\"\"\" query { user(by: { username: \"ann0\" }) { region { country { code } } } }";
    let response = world.ask(None, document, Value::Null).await;
    assert_eq!(response["errors"][0]["locations"], json!([{ "line": 2, "column": 47 }]), "{response}");
}

#[tokio::test]
async fn descriptions_count_as_tokens() {
    let world = World::new().await;
    // Each variable has five tokens, with its description, and the rest of the document has six.
    for (count, code) in [(398, "GRAPHQL_VALIDATION_FAILED"), (399, "QUERY_TOO_COMPLEX")] {
        let variables: Vec<String> = (0..count).map(|number| format!("\"x\" $v{number}: Int ")).collect();
        let variables = variables.concat();
        let response = world.ask(None, &format!("query({variables}) {{ __typename }}"), Value::Null).await;
        assert_eq!(codes(&response)[0], code, "{count}");
    }
}

#[tokio::test]
async fn the_hash_of_a_document_includes_its_descriptions() {
    let document = "\"The type\" query Q { __typename }";
    let plain = "query Q { __typename }";
    let persisted =
        |document: &str| json!({ "persistedQuery": { "version": 1, "sha256Hash": hash(document) } });
    let ask = async |world: &World, request: Value| {
        send(world, Method::POST, "/graphql", &[JSON], &request.to_string()).await.2
    };
    let found = json!({ "data": { "__typename": "Query" } });
    let world = World::new().await;
    let sent = json!({ "query": document, "extensions": persisted(document) });
    assert_eq!(ask(&world, sent).await, found);
    assert_eq!(ask(&world, json!({ "extensions": persisted(document) })).await, found);
    let other = ask(&world, json!({ "extensions": persisted(plain) })).await;
    assert_eq!(codes(&other), ["PERSISTED_QUERY_NOT_FOUND"]);

    let file = NamedTempFile::new().unwrap();
    std::fs::write(&file, content_of(&[document])).unwrap();
    let options =
        ["--graphql-trusted-documents", file.path().to_str().unwrap(), "--graphql-trusted-mode", "only"];
    let world = World::with(&options).await;
    assert_eq!(ask(&world, json!({ "documentId": hash(document) })).await, found);
    assert_eq!(ask(&world, json!({ "query": document })).await, found);
    assert_eq!(codes(&ask(&world, json!({ "query": plain })).await), ["FORBIDDEN"]);
}
