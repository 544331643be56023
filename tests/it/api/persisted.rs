//! Documents identified by their hash: those that clients have sent before, and those that the operator trusts.

use std::process::Stdio;

use axum::http::{Method, StatusCode};
use serde_json::{Value, json};
use tempfile::NamedTempFile;

use crate::harness::manifest::{content_of, hash};
use crate::harness::request::{JSON, send};
use crate::harness::server::command;
use crate::harness::world::{Redis, World, codes};

/// Returns the `extensions` of Apollo's clients.
fn announced(hash: &str) -> Value {
    json!({ "persistedQuery": { "version": 1, "sha256Hash": hash } })
}

async fn post(world: &World, request: &Value) -> (StatusCode, Value) {
    let accept = ("accept", "application/graphql-response+json");
    let (status, _, response) =
        send(world, Method::POST, "/graphql", &[JSON, accept], &request.to_string()).await;
    (status, response)
}

/// Returns the data, or the codes of the errors.
async fn ask(world: &World, request: Value) -> Result<Value, Vec<String>> {
    let (status, mut response) = post(world, &request).await;
    if status == StatusCode::OK {
        return Ok(response["data"].take());
    }
    Err(codes(&response).into_iter().map(str::to_owned).collect())
}

fn rejected<T>(code: &str) -> Result<T, Vec<String>> {
    Err(vec![code.to_owned()])
}

fn file_of(documents: &[&str]) -> NamedTempFile {
    let file = NamedTempFile::new().unwrap();
    std::fs::write(&file, content_of(documents)).unwrap();
    file
}

const QUERY: &str = "query ($name: String!) { user(by: { username: $name }) { username } }";
const OTHER: &str = "query Other { __typename }";
const LOGOUT: &str = "mutation { logout { userErrors { code } } }";

#[tokio::test]
async fn a_document_that_was_sent_with_its_hash_is_cached_under_it() {
    let world = World::new().await;
    world.people(1).await;
    let name = hash(QUERY);
    let variables = json!({ "name": "ann0" });
    let by_hash = json!({ "extensions": announced(&name), "variables": variables });
    let (status, response) = post(&world, &by_hash).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert_eq!(response["errors"][0]["message"], "PersistedQueryNotFound", "clients check the message");
    assert_eq!(codes(&response), ["PERSISTED_QUERY_NOT_FOUND"]);
    // Clients of the older media type treat any other status as a failure of the transport.
    let (status, _, response) = send(&world, Method::POST, "/graphql", &[JSON], &by_hash.to_string()).await;
    assert_eq!((status, codes(&response)), (StatusCode::OK, vec!["PERSISTED_QUERY_NOT_FOUND"]));

    let found = Ok(json!({ "user": { "username": "ann0" } }));
    let with_document = json!({ "query": QUERY, "extensions": announced(&name), "variables": variables });
    assert_eq!(ask(&world, with_document).await, found);
    assert_eq!(ask(&world, by_hash).await, found);
    assert_eq!(
        ask(&world, json!({ "extensions": announced(&name.to_uppercase()), "variables": variables })).await,
        found
    );
    let id = format!("sha256:{name}");
    assert_eq!(ask(&world, json!({ "documentId": id, "variables": variables })).await, found);
    // Clients whose protocol requires a text send an empty one.
    assert_eq!(ask(&world, json!({ "query": "", "documentId": id, "variables": variables })).await, found);

    let extensions =
        format!("%7B%22persistedQuery%22:%7B%22version%22:1,%22sha256Hash%22:%22{name}%22%7D%7D");
    let uri = format!("/graphql?variables=%7B%22name%22:%22ann0%22%7D&extensions={extensions}");
    let (status, _, response) = send(&world, Method::GET, &uri, &[], "").await;
    assert_eq!((status, Ok(response["data"].clone())), (StatusCode::OK, found.clone()));
    let uri = format!("/graphql?variables=%7B%22name%22:%22ann0%22%7D&documentId={id}");
    assert_eq!(Ok(send(&world, Method::GET, &uri, &[], "").await.2["data"].take()), found);
}

#[tokio::test]
async fn invalid_documents_and_wrong_hashes_are_not_cached() {
    let world = World::new().await;
    let before = world.app.store().round_trips();
    let wrong = json!({ "query": OTHER, "extensions": announced(&hash(QUERY)) });
    assert_eq!(ask(&world, wrong).await, rejected("BAD_REQUEST"));
    for (document, code) in [
        ("{ nothing }", "GRAPHQL_VALIDATION_FAILED"),
        ("{", "GRAPHQL_PARSE_FAILED"),
        (&format!("{{ {} }}", "a: __typename ".repeat(3_000)), "QUERY_TOO_COMPLEX"),
    ] {
        let extensions = announced(&hash(document));
        assert_eq!(ask(&world, json!({ "query": document, "extensions": extensions })).await, rejected(code));
        assert_eq!(
            ask(&world, json!({ "extensions": extensions })).await,
            rejected("PERSISTED_QUERY_NOT_FOUND")
        );
    }
    assert_eq!(
        ask(&world, json!({ "extensions": announced(&hash(QUERY)) })).await,
        rejected("PERSISTED_QUERY_NOT_FOUND")
    );
    assert_eq!(world.app.store().round_trips(), before);
}

#[tokio::test]
async fn invalid_document_ids_are_rejected() {
    let world = World::new().await;
    let name = hash(OTHER);
    let version = json!({ "persistedQuery": { "version": 2, "sha256Hash": name } });
    let cases = [
        (json!({}), "BAD_REQUEST"),
        (json!({ "extensions": { "persistedQuery": 7 } }), "BAD_REQUEST"),
        (json!({ "extensions": { "persistedQuery": { "version": 1 } } }), "BAD_REQUEST"),
        (json!({ "query": OTHER, "extensions": version }), "BAD_REQUEST"),
        (json!({ "query": OTHER, "extensions": announced("abc") }), "BAD_REQUEST"),
        (json!({ "query": OTHER, "extensions": announced(&format!("+{}", &name[1..])) }), "BAD_REQUEST"),
        (json!({ "documentId": 7 }), "BAD_REQUEST"),
        (json!({ "documentId": name, "extensions": announced(&hash(QUERY)) }), "BAD_REQUEST"),
        (json!({ "documentId": "md5:0cc175b9c0f1b6a831c399e269772661" }), "PERSISTED_QUERY_NOT_FOUND"),
        (json!({ "documentId": format!("sha256:{name}") }), "PERSISTED_QUERY_NOT_FOUND"),
    ];
    for (request, code) in cases {
        assert_eq!(ask(&world, request.clone()).await, rejected(code), "{request}");
    }
    let none = json!({ "query": OTHER, "extensions": { "persistedQuery": null, "more": {} } });
    assert_eq!(ask(&world, none).await, Ok(json!({ "__typename": "Query" })));
}

#[tokio::test]
async fn a_cached_mutation_is_still_rejected_over_get() {
    let world = World::new().await;
    let name = hash(LOGOUT);
    assert!(ask(&world, json!({ "query": LOGOUT, "extensions": announced(&name) })).await.is_ok());
    let uri = format!("/graphql?documentId=sha256:{name}");
    let (status, headers, _) = send(&world, Method::GET, &uri, &[], "").await;
    assert_eq!((status, headers["allow"].to_str().unwrap()), (StatusCode::METHOD_NOT_ALLOWED, "POST"));
}

#[tokio::test]
async fn without_a_cache_clients_are_asked_to_send_no_hashes() {
    let world = World::with(&["--graphql-persisted-queries", "off"]).await;
    let extensions = announced(&hash(OTHER));
    let sent = json!({ "query": OTHER, "extensions": extensions });
    assert_eq!(ask(&world, sent).await, Ok(json!({ "__typename": "Query" })));
    let (_, response) = post(&world, &json!({ "extensions": extensions })).await;
    assert_eq!(response["errors"][0]["message"], "PersistedQueryNotSupported");
    assert_eq!(codes(&response), ["PERSISTED_QUERY_NOT_SUPPORTED"]);
}

#[tokio::test]
async fn trusted_documents_are_known_by_their_hash_beside_others_or_alone() {
    let file = file_of(&[QUERY, LOGOUT]);
    let variables = json!({ "name": "ann0" });
    let path = file.path().to_str().unwrap();
    let no_user = Ok(json!({ "user": null }));
    for mode in ["prefer", "only"] {
        let world = World::with(&["--graphql-trusted-documents", path, "--graphql-trusted-mode", mode]).await;
        let id = format!("sha256:{}", hash(QUERY));
        let named = [
            json!({ "documentId": id }),
            json!({ "extensions": announced(&hash(QUERY)) }),
            json!({ "query": QUERY }),
        ];
        for mut request in named {
            request["variables"] = variables.clone();
            assert_eq!(ask(&world, request.clone()).await, no_user, "{mode} {request}");
        }
        let others = [
            json!({ "query": OTHER }),
            json!({ "query": OTHER, "extensions": announced(&hash(OTHER)) }),
            // A space makes it another document.
            json!({ "query": format!("{LOGOUT} ") }),
        ];
        for request in others {
            let result = ask(&world, request.clone()).await;
            if mode == "only" {
                assert_eq!(result, rejected("FORBIDDEN"), "{request}");
            } else {
                assert!(result.is_ok(), "{request}");
            }
        }
        let result = ask(&world, json!({ "documentId": hash(OTHER) })).await;
        let is_known = mode == "prefer";
        assert_eq!(result.is_ok(), is_known, "{result:?}");
        let unknown = json!({ "documentId": hash("{ a }") });
        assert_eq!(ask(&world, unknown).await, rejected("PERSISTED_QUERY_NOT_FOUND"));
    }
    let world = World::with(&["--graphql-trusted-documents", path, "--graphql-trusted-mode", "off"]).await;
    let named = json!({ "documentId": hash(QUERY), "variables": variables });
    assert_eq!(ask(&world, named).await, rejected("PERSISTED_QUERY_NOT_FOUND"));
}

#[tokio::test]
async fn documents_of_several_files_are_trusted_and_may_be_in_more_than_one() {
    let files = [file_of(&[OTHER, LOGOUT]), file_of(&[LOGOUT, QUERY])];
    let [first, second] = files.each_ref().map(|file| file.path().to_str().unwrap());
    let listed = format!("{first},{second}");
    let repeated = ["--graphql-trusted-documents", first, "--graphql-trusted-documents", second];
    for options in [&["--graphql-trusted-documents", &listed][..], &repeated] {
        let world = World::with(&[options, &["--graphql-trusted-mode", "only"]].concat()).await;
        for document in [OTHER, LOGOUT, QUERY] {
            let named = json!({ "documentId": hash(document), "variables": { "name": "ann0" } });
            assert!(ask(&world, named).await.is_ok(), "{document}");
        }
        let other = json!({ "query": "{ __typename }" });
        assert_eq!(ask(&world, other).await, rejected("FORBIDDEN"));
    }
}

#[tokio::test]
async fn a_trusted_document_may_read_the_schema_where_others_may_not() {
    let trusted = "{ __schema { queryType { name } } }";
    let other = "{ __schema { mutationType { name } } }";
    let file = file_of(&[trusted]);
    let path = file.path().to_str().unwrap();
    let options = ["--graphql-trusted-documents", path, "--graphql-introspection", "off"];
    let world = World::with(&options).await;
    let schema = Ok(json!({ "__schema": { "queryType": { "name": "Query" } } }));
    assert_eq!(ask(&world, json!({ "documentId": hash(trusted) })).await, schema);
    assert_eq!(ask(&world, json!({ "query": trusted })).await, schema);
    assert_eq!(ask(&world, json!({ "query": other })).await, rejected("GRAPHQL_VALIDATION_FAILED"));
}

/// Returns the standard error of a server that does not start.
fn startup_error(redis: &Redis, options: &[&str]) -> String {
    let (url, directory) = (redis.url(), redis.directory());
    let fixed = ["serve", "--http-listen", "127.0.0.1:0", "--redis-url", &url, "--data-dir"];
    let arguments = [&fixed[..], &[directory], options].concat();
    let output = command(&arguments).stdout(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_file_that_cannot_be_trusted_keeps_the_server_from_starting() {
    let redis = Redis::start();
    let file = NamedTempFile::new().unwrap();
    let path = file.path().to_str().unwrap();
    let (wrong, invalid, broken) = (hash("x"), hash("{ nothing }"), hash("{"));
    let sha1 = "f".repeat(40);
    let entries = json!({
        format!("sha256:{}", hash(QUERY)): QUERY,
        &wrong: OTHER,
        &invalid: "{ nothing }",
        &broken: "{",
        &sha1: OTHER,
    });
    for (content, parts) in [
        (
            entries.to_string(),
            &[
                &format!("{wrong}: this is not the SHA-256 of the document"),
                &format!("{invalid}: "),
                "`nothing`",
                &format!("{broken}: "),
                &format!("{sha1}: the key is not a SHA-256"),
            ][..],
        ),
        ("[]".to_owned(), &["is not a JSON object from hashes to documents"]),
        ("{".to_owned(), &["is not a JSON object from hashes to documents"]),
        (json!({ hash(QUERY): 7 }).to_string(), &["is not a JSON object from hashes to documents"]),
    ] {
        std::fs::write(path, content).unwrap();
        let stderr = startup_error(&redis, &["--graphql-trusted-documents", path]);
        assert!(stderr.contains(path), "{stderr}");
        for part in parts {
            assert!(stderr.contains(part), "{part}: {stderr}");
        }
        assert!(!stderr.contains(&hash(QUERY)), "{stderr}");
    }
    let good = file_of(&[QUERY]);
    let several = format!("{},{path}", good.path().display());
    let stderr = startup_error(&redis, &["--graphql-trusted-documents", &several]);
    assert!(stderr.contains(&format!("{path} is not a JSON object")), "{stderr}");
    let stderr = startup_error(&redis, &["--graphql-trusted-documents", "/nowhere/at/all"]);
    assert!(stderr.contains("/nowhere/at/all cannot be read"), "{stderr}");
    let stderr = startup_error(&redis, &["--graphql-trusted-mode", "only"]);
    assert!(stderr.contains("--graphql-trusted-documents"), "{stderr}");
}
