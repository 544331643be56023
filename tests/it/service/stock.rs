//! The faults of the extractors and services of `async-graphql-axum`, for which the server reads requests, reports
//! rejections and runs sockets with code of its own.
//!
//! Of that crate, `http::executed` uses the responder, which prints batches. Everything else in it is mounted
//! here, over a toy schema, as its documentation shows. Each test asserts faults against GraphQL over HTTP, or against
//! the protocol `graphql-transport-ws`, and turns red once a release repairs one; the message then names the code that
//! this release may replace.

use async_graphql::{EmptyMutation, Object, Schema, Subscription};
use async_graphql_axum::{
    GraphQL, GraphQLProtocol, GraphQLRequest, GraphQLResponse, GraphQLSubscription, GraphQLWebSocket,
};
use axum::Router;
use axum::body::Body;
use axum::extract::WebSocketUpgrade;
use axum::http::{HeaderMap, Method, Request, StatusCode};
use axum::response::IntoResponse as _;
use axum::routing::get;
use futures::{Stream, StreamExt as _, stream};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tower::ServiceExt as _;

use crate::harness::socket::Socket;

struct Query;

#[Object]
impl Query {
    async fn two(&self) -> i32 {
        2
    }
}

struct Mutation;

#[Object]
impl Mutation {
    async fn change(&self) -> bool {
        true
    }
}

struct Events;

#[Subscription]
impl Events {
    /// Yields one event, and then stays open.
    async fn one(&self, number: i32) -> impl Stream<Item = i32> {
        stream::iter([number]).chain(stream::pending())
    }
}

/// The service of the crate, and a handler with its extractor and responder.
fn over_http() -> [(&'static str, Router); 2] {
    let schema = Schema::new(Query, Mutation, Events);
    let service = Router::new().route_service("/graphql", GraphQL::new(schema.clone()));
    let handle = async move |request: GraphQLRequest| {
        GraphQLResponse::from(schema.execute(request.into_inner()).await)
    };
    let extractor = Router::new().route("/graphql", get(handle.clone()).post(handle));
    [("GraphQL", service), ("GraphQLRequest", extractor)]
}

async fn send(
    router: &Router,
    method: Method,
    uri: &str,
    headers: &[(&str, &str)],
    body: String,
) -> (StatusCode, HeaderMap, String) {
    let mut request = Request::builder().method(method).uri(uri);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = router.clone().oneshot(request.body(Body::from(body)).unwrap()).await.unwrap();
    let (head, body) = response.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    (head.status, head.headers, String::from_utf8(body.to_vec()).unwrap())
}

/// Asserts a fault; if it is repaired, says what to do.
#[track_caller]
fn assert_fault(is_there: bool, fault: &str, ours: &str, found: &dyn std::fmt::Debug) {
    assert!(
        is_there,
        "async-graphql-axum no longer has this fault: {fault} (it returned {found:?}). Delete this assertion, and \
         if no other names {ours}, let the crate do its work there."
    );
}

#[tokio::test]
async fn the_stock_extractors_accept_requests_that_must_be_rejected() {
    for (name, router) in over_http() {
        let json = [("content-type", "application/json")];
        let change = json!({ "query": "mutation { change }" }).to_string();

        let found = send(&router, Method::GET, "/graphql?query=mutation{change}", &[], String::new()).await;
        let is_executed = found.2 == r#"{"data":{"change":true}}"#;
        assert_fault(
            is_executed,
            &format!("{name} executes a mutation sent by GET"),
            "http::exchange",
            &found,
        );

        for content_type in ["text/plain", "application/x-www-form-urlencoded", "application/xml"] {
            let headers = [("content-type", content_type)];
            let found = send(&router, Method::POST, "/graphql", &headers, change.clone()).await;
            let is_executed = found.2 == r#"{"data":{"change":true}}"#;
            let fault = format!(
                "{name} executes a body of type {content_type}, which pages of other sites send without asking"
            );
            assert_fault(is_executed, &fault, "http::request", &found);
        }

        let uri = "/graphql?query=query+A{two}+query+B{two}&operationName=A";
        let found = send(&router, Method::GET, uri, &[], String::new()).await;
        let is_ignored = found.2.contains("Operation name required");
        assert_fault(is_ignored, &format!("{name} ignores operationName in a URL"), "http::request", &found);

        let large =
            json!({ "query": "{ two }", "operationName": null, "extensions": { "x": "x".repeat(8 << 20) } });
        let found = send(&router, Method::POST, "/graphql", &json, large.to_string()).await;
        let is_taken = found.2 == r#"{"data":{"two":2}}"#;
        assert_fault(is_taken, &format!("{name} reads a body of any size"), "http::request", &found);
    }
}

#[tokio::test]
async fn the_stock_responses_do_not_distinguish_a_rejection_from_an_execution() {
    for (name, router) in over_http() {
        let query = json!({ "query": "{ two }" }).to_string();
        for (accept, wanted) in [("application/json", "application/json"), ("text/html", "the status 406")] {
            let headers = [("content-type", "application/json"), ("accept", accept)];
            let found = send(&router, Method::POST, "/graphql", &headers, query.clone()).await;
            let is_ignored = found.1["content-type"] == "application/graphql-response+json";
            let fault = format!("{name} ignores Accept: {accept}, where clients expect {wanted}");
            assert_fault(is_ignored, &fault, "http::accept", &found);
        }
        let json = [("content-type", "application/json")];
        for document in ["{", "{ nothing }"] {
            let body = json!({ "query": document }).to_string();
            let found = send(&router, Method::POST, "/graphql", &json, body).await;
            let is_like_executed = found.0 == StatusCode::OK && found.2.starts_with(r#"{"data":null,"#);
            let fault = format!(
                "{name} responds to the invalid document `{document}` with the status 200 and null data"
            );
            assert_fault(is_like_executed, &fault, "http::response::Failure", &found);
        }
        let found = send(&router, Method::POST, "/graphql", &json, "{".to_owned()).await;
        let is_bare = found.0 == StatusCode::BAD_REQUEST && serde_json::from_str::<Value>(&found.2).is_err();
        let fault = format!("{name} reports a body that is not JSON as a text, without `errors`");
        assert_fault(is_bare, &fault, "http::response::Failure", &found);
    }
}

/// Serves one of the crate's sockets on a free port; returns its address.
async fn serve(router: Router) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}

/// Sends messages, and returns what is received: messages, and at the end the code and reason if the socket is closed.
async fn converse(address: &str, messages: &[Value], count: usize) -> Vec<Value> {
    let mut socket = Socket::at(address).await.unwrap();
    for message in messages {
        socket.send(message.clone()).await;
    }
    let mut found = Vec::new();
    for _ in 0..count {
        found.push(socket.receive().await);
    }
    found
}

fn subscribe(query: &str) -> Value {
    json!({ "id": "a", "type": "subscribe", "payload": { "query": query } })
}

#[tokio::test]
async fn the_stock_sockets_depart_from_the_protocol() {
    let service = GraphQLSubscription::new(Schema::new(Query, EmptyMutation, Events));
    let address = serve(Router::new().route_service("/graphql", service)).await;
    let init = || json!({ "type": "connection_init" });

    let found = converse(&address, &[subscribe("subscription { one(number: 1) }")], 1).await;
    let fault = "a subscription before connection_init closes with 1011, where the protocol has 4401";
    assert_fault(found[0][0] == 1011, fault, "http::socket", &found);

    let found = converse(&address, &[json!("text")], 1).await;
    let fault = "an invalid message closes with 1002, where the protocol has 4400";
    assert_fault(found[0][0] == 1002, fault, "http::socket", &found);

    let [first, second] =
        [1, 2].map(|number| subscribe(&format!("subscription {{ one(number: {number}) }}")));
    let found = converse(&address, &[init(), first, second], 2).await;
    let is_replaced = found[1] == json!({ "id": "a", "type": "next", "payload": { "data": { "one": 2 } } });
    let fault = "an id that is in use replaces its operation, where the protocol closes with 4409";
    assert_fault(is_replaced, fault, "http::socket", &found);

    let found = converse(&address, &[init(), subscribe("subscription { nothing }")], 3).await;
    let kinds = [&found[1]["type"], &found[2]["type"]];
    let fault = "an invalid document is reported by `next` and `complete`, where the protocol has `error`";
    assert_fault(kinds == ["next", "complete"], fault, "http::socket", &found);

    let messages =
        [init(), subscribe("subscription { one(number: 1) }"), json!({ "id": "a", "type": "complete" })];
    let mut socket = Socket::at(&address).await.unwrap();
    for (message, count) in messages.into_iter().zip([1, 1, 0]) {
        socket.send(message).await;
        for _ in 0..count {
            socket.receive().await;
        }
    }
    let found = socket.receive().await;
    let fault = "an operation that its client has completed is reported as complete, after its id may be in use again";
    assert_fault(found == json!({ "id": "a", "type": "complete" }), fault, "http::socket", &found);

    // One of its close codes is that of the protocol.
    let found = converse(&address, &[init(), init()], 2).await;
    assert_eq!(found[1][0], 4429, "{found:?}");
}

#[tokio::test]
async fn a_stock_socket_closes_with_an_error_of_the_client_where_it_is_forbidden() {
    let schema = Schema::new(Query, EmptyMutation, Events);
    let handle = async move |protocol: GraphQLProtocol, upgrade: WebSocketUpgrade| {
        let upgrade = upgrade.protocols(["graphql-transport-ws"]);
        let serve = async move |socket| {
            let socket = GraphQLWebSocket::new(socket, schema, protocol);
            socket.on_connection_init(async |_| Err("Forbidden".into())).serve().await;
        };
        upgrade.on_upgrade(serve).into_response()
    };
    let address = serve(Router::new().route("/graphql", get(handle))).await;
    let found = converse(&address, &[json!({ "type": "connection_init" })], 1).await;
    let fault = "a client that is not accepted is closed with 1002, where the protocol has 4403";
    assert_fault(found[0][0] == 1002, fault, "http::socket", &found);
}
