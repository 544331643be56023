//! Sockets: the protocol, message by message, and when they are closed.

use std::time::Duration;

use futures::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::TcpSocket;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, client_async};

use crate::harness::feed::TIMELINE;
use crate::harness::server::{Server, eventually, memory};
use crate::harness::socket::Socket;
use crate::harness::wait::{LIMIT, eventually_async};
use crate::harness::world::Redis;

#[tokio::test]
async fn a_violation_of_the_protocol_closes_the_socket_with_a_reason() {
    let redis = Redis::start();
    let server = Server::over(&redis, &[]);
    let init = || json!({ "type": "connection_init" });
    let subscribe = |id: Value| json!({ "id": id, "type": "subscribe", "payload": { "query": "subscription { relationChanged { __typename } }" } });
    let token = server.token("ada");
    let bearer = |value: String| json!({ "type": "connection_init", "payload": { "authorization": value } });
    let cases = [
        (vec![json!("text")], 4400, "The message is not a JSON object"),
        (vec![json!({ "type": "other" })], 4400, "Unknown message type"),
        (vec![json!({ "type": 7 })], 4400, "Unknown message type"),
        (
            vec![json!({ "type": "connection_init", "payload": "text" })],
            4400,
            "The payload must be an object",
        ),
        (vec![json!({ "type": "ping", "payload": [] })], 4400, "The payload must be an object"),
        (vec![init(), json!({ "id": "1", "type": "subscribe" })], 4400, "The payload must be an object"),
        (vec![init(), subscribe(Value::Null)], 4400, "The message must have an id, a non-empty string"),
        (vec![init(), subscribe(json!(""))], 4400, "The message must have an id, a non-empty string"),
        (
            vec![init(), json!({ "type": "complete" })],
            4400,
            "The message must have an id, a non-empty string",
        ),
        (vec![subscribe(json!("1"))], 4401, "Unauthorized"),
        (vec![bearer("Bearer AAAA".to_owned())], 4403, "The token is invalid, or its session has ended"),
        (vec![bearer(token.clone())], 4403, "Authorization must have the form `Bearer <token>`"),
        (
            vec![json!({ "type": "connection_init", "payload": { "authToken": token } })],
            4400,
            "The token belongs in the payload as { \"Authorization\": \"Bearer <token>\" }",
        ),
        (vec![bearer(format!("Bearer {token}")), init()], 4429, "Too many initialisation requests"),
        (
            vec![bearer(format!("Bearer {token}")), subscribe(json!("one")), subscribe(json!("one"))],
            4409,
            "Subscriber for one already exists",
        ),
        (vec![], 4408, "Connection initialisation timeout"),
    ];
    for (messages, code, reason) in cases {
        let mut socket = Socket::silent(&server).await;
        for message in &messages {
            socket.send(message.clone()).await;
        }
        let mut received = socket.receive().await;
        if received == json!({ "type": "connection_ack" }) {
            received = socket.receive().await;
        }
        assert_eq!(received, json!([code, reason]), "{messages:?}");
    }

    let mut socket = Socket::silent(&server).await;
    socket.0.send(Message::binary(vec![1])).await.unwrap();
    assert_eq!(socket.receive().await, json!([4400, "Messages must be text"]));
    let mut socket = Socket::acknowledged(&server, None).await;
    socket.send(json!({ "type": "ping", "payload": { "much": "x".repeat(70_000) } })).await;
    assert_eq!(socket.receive().await, json!([1009, "The message is too large"]));
    let mut socket = Socket::open(&server, &[]).await.unwrap();
    assert_eq!(socket.receive().await, json!([4406, "Subprotocol not acceptable"]));
    // A long id does not fit the frame that closes.
    let mut socket = Socket::acknowledged(&server, Some(&token)).await;
    let id = "ü".repeat(200);
    for _ in 0..2 {
        socket.send(subscribe(json!(id))).await;
    }
    let received = socket.receive().await;
    assert_eq!((&received[0], received[1].as_str().unwrap().len() <= 123), (&json!(4409), true));
}

#[tokio::test]
async fn all_kinds_of_operations_go_over_a_socket() {
    let redis = Redis::start();
    let server = Server::over(&redis, &[]);
    let token = server.token("ada");
    let mut socket = Socket::acknowledged(&server, Some(&token)).await;
    socket.send(json!({ "type": "ping" })).await;
    assert_eq!(socket.receive().await, json!({ "type": "pong" }));
    socket.send(json!({ "type": "pong", "payload": {} })).await;

    socket
        .subscribe(
            "q",
            "query ($n: String!) { user(by: { username: $n }) { username } }",
            json!({ "n": "ADA" }),
        )
        .await;
    let data = json!({ "data": { "user": { "username": "ada" } } });
    assert_eq!(socket.receive().await, json!({ "id": "q", "type": "next", "payload": data }));
    assert_eq!(socket.receive().await, json!({ "id": "q", "type": "complete" }));
    // The id may be used again.
    socket
        .subscribe("q", "mutation { publish(input: { content: \"x\" }) { post { content } } }", Value::Null)
        .await;
    assert_eq!(socket.receive().await["payload"]["data"]["publish"]["post"]["content"], "x");
    assert_eq!(socket.receive().await, json!({ "id": "q", "type": "complete" }));

    for (query, variables, code) in [
        ("{ nothing }", Value::Null, "GRAPHQL_VALIDATION_FAILED"),
        ("{", Value::Null, "GRAPHQL_PARSE_FAILED"),
        ("query ($n: Int!) { visits(first: $n) { day } }", json!({}), "BAD_USER_INPUT"),
        ("subscription { timeline(after: \"x\") { __typename } }", Value::Null, "BAD_USER_INPUT"),
    ] {
        socket.subscribe("e", query, variables).await;
        let received = socket.receive().await;
        assert_eq!((&received["type"], &received["id"]), (&json!("error"), &json!("e")), "{received}");
        assert_eq!(received["payload"][0]["extensions"]["code"], code, "{query}");
    }
    socket.send(json!({ "id": "e", "type": "subscribe", "payload": { "query": 7 } })).await;
    assert_eq!(socket.receive().await["payload"][0]["message"], "`query` must be a string.");

    // A client other than a browser may authenticate in a header; the payload over the socket takes precedence.
    let authorization = format!("Bearer {token}");
    for (payload, username) in
        [(Value::Null, json!("ada")), (json!({ "Authorization": "Bearer x" }), Value::Null)]
    {
        let headers = [("sec-websocket-protocol", "graphql-transport-ws"), ("authorization", &authorization)];
        let mut socket = Socket::open(&server, &headers).await.unwrap();
        socket.send(json!({ "type": "connection_init", "payload": payload })).await;
        if username.is_null() {
            assert_eq!(
                socket.receive().await,
                json!([4403, "The token is invalid, or its session has ended"])
            );
            continue;
        }
        assert_eq!(socket.receive().await, json!({ "type": "connection_ack" }));
        socket.subscribe("q", "{ viewer { user { username } } }", Value::Null).await;
        assert_eq!(socket.receive().await["payload"]["data"]["viewer"]["user"]["username"], username);
    }

    // An anonymous client has nothing to watch.
    let mut socket = Socket::acknowledged(&server, None).await;
    socket.subscribe("s", TIMELINE, Value::Null).await;
    let received = socket.receive().await;
    assert_eq!(received["type"], "next");
    assert_eq!(received["payload"]["errors"][0]["extensions"]["code"], "UNAUTHENTICATED");
    assert_eq!(socket.receive().await, json!({ "id": "s", "type": "complete" }));
    assert!(socket.is_silent().await);
}

#[tokio::test]
async fn sockets_and_operations_on_a_socket_are_limited() {
    let redis = Redis::start();
    let server = Server::over(&redis, &["--http-sockets", "2"]);
    let token = server.token("ada");
    let mut socket = Socket::acknowledged(&server, Some(&token)).await;
    for number in 0..101 {
        socket
            .subscribe(&number.to_string(), "subscription { relationChanged { __typename } }", Value::Null)
            .await;
    }
    let received = socket.receive().await;
    assert_eq!((&received["type"], &received["id"]), (&json!("error"), &json!("100")));
    // An operation that ends makes room for another.
    socket.send(json!({ "id": "7", "type": "complete" })).await;
    socket.subscribe("100", "subscription { relationChanged { __typename } }", Value::Null).await;
    assert!(socket.is_silent().await);

    let second = Socket::acknowledged(&server, None).await;
    let protocol = ("sec-websocket-protocol", "graphql-transport-ws");
    match Socket::open(&server, &[protocol]).await {
        Err(Error::Http(response)) => assert_eq!(response.status(), 503),
        other => panic!("{:?}", other.map(|_| ())),
    }
    drop(second);
    let has_place = async || Socket::open(&server, &[protocol]).await.is_ok();
    assert!(eventually_async(has_place).await, "a closed socket frees its place");
}

#[tokio::test]
async fn a_client_that_reads_nothing_is_dropped_and_nothing_is_buffered_for_it() {
    let redis = Redis::start();
    let server = Server::over(&redis, &["--http-sockets", "1"]);
    let connection = TcpSocket::new_v4().unwrap();
    connection.set_recv_buffer_size(4_096).unwrap();
    let connection = connection.connect(server.address.parse().unwrap()).await.unwrap();
    let mut request = format!("ws://{}/graphql", server.address).into_client_request().unwrap();
    let protocol = HeaderValue::from_static("graphql-transport-ws");
    request.headers_mut().insert("sec-websocket-protocol", protocol);
    let (socket, _) = client_async(request, MaybeTlsStream::Plain(connection)).await.unwrap();
    let mut socket = Socket(socket);
    socket.send(json!({ "type": "connection_init" })).await;
    let query = "{ countries { code name subdivisions { code name } } }";
    for number in 0..60 {
        socket.subscribe(&number.to_string(), query, Value::Null).await;
    }
    // Its place is given to another while it is still there, and silent.
    let protocol = [("sec-websocket-protocol", "graphql-transport-ws")];
    let has_place = async || Socket::open(&server, &protocol).await.is_ok();
    assert!(eventually_async(has_place).await, "it is dropped after a while");
}

#[tokio::test]
async fn a_client_that_pings_and_reads_nothing_fills_no_memory() {
    let redis = Redis::start();
    let server = Server::over(&redis, &[]);
    let mut socket = Socket::acknowledged(&server, None).await;
    let before = memory(&server);
    let flood = async {
        let ping = || Message::Ping(vec![7; 125].into());
        // Until the server takes them no more.
        while let Ok(Ok(())) = tokio::time::timeout(Duration::from_secs(1), socket.0.send(ping())).await {}
    };
    let _ = tokio::time::timeout(Duration::from_secs(5), flood).await;
    let grown = memory(&server).saturating_sub(before);
    assert!(grown < 40 << 20, "{grown} bytes");
}

#[tokio::test]
async fn an_operation_that_ends_the_session_is_completed_before_the_socket_is_closed() {
    let redis = Redis::start();
    let server = Server::over(&redis, &[]);
    let token = server.token("ada");
    let login = "login(input: { username: \"ada\", password: \"correct horse\" }) { token }";
    let query = format!("mutation {{ logout {{ userErrors {{ code }} }} {login} }}");
    let mut socket = Socket::acknowledged(&server, Some(&token)).await;
    socket.subscribe("watching", "subscription { relationChanged { __typename } }", Value::Null).await;
    socket.subscribe("m", &query, Value::Null).await;
    let received = socket.receive().await;
    assert!(received["payload"]["data"]["login"]["token"].is_string(), "{received}");
    assert_eq!(socket.receive().await, json!({ "id": "m", "type": "complete" }));
    assert_eq!(socket.receive().await, json!([4403, "The session has ended"]));
}

#[tokio::test]
async fn a_close_frame_is_returned() {
    let redis = Redis::start();
    let server = Server::over(&redis, &[]);
    let mut socket = Socket::acknowledged(&server, None).await;
    socket.0.send(Message::Close(None)).await.unwrap();
    let response = tokio::time::timeout(LIMIT, socket.0.next()).await.unwrap();
    assert!(matches!(response, Some(Ok(Message::Close(_)))), "{response:?}");
}

#[tokio::test]
async fn a_session_that_ends_takes_its_sockets_with_it_and_no_others() {
    let redis = Redis::start();
    let (one, other) = (Server::over(&redis, &[]), Server::over(&redis, &[]));
    let token = one.token("ada");
    let login = "mutation { login(input: { username: \"ada\", password: \"correct horse\" }) { token } }";
    let second = one.ask(login)["data"]["login"]["token"].as_str().unwrap().to_owned();
    let mut socket = Socket::acknowledged(&one, Some(&token)).await;
    let mut staying = Socket::acknowledged(&one, Some(&second)).await;
    assert!(eventually(|| redis.has_subscriber(1)), "the server waits for the end of the sessions");
    assert_eq!(other.ask_as(&token, "mutation { logout { userErrors { code } } }")["errors"], Value::Null);
    assert_eq!(socket.receive().await, json!([4403, "The session has ended"]));
    assert!(staying.is_silent().await);
}

#[tokio::test]
async fn a_large_response_comes_in_frames_and_is_complete() {
    let redis = Redis::start();
    let server = Server::over(&redis, &[]);
    let token = server.token("ada");
    let mut socket = Socket::acknowledged(&server, Some(&token)).await;
    // Characters of several bytes, so that frames end within one.
    let content = "\u{1f426}\u{e4}".repeat(800);
    for _ in 0..20 {
        let publish =
            "mutation ($content: String!) { publish(input: { content: $content }) { post { id } } }";
        socket.subscribe("p", publish, json!({ "content": content })).await;
        socket.receive().await;
        assert_eq!(socket.receive().await["type"], "complete");
    }
    let aliases: Vec<_> = (0..10).map(|number| format!("a{number}: content")).collect();
    let nodes = aliases.join(" ");
    let query = format!("{{ viewer {{ user {{ posts(first: 20) {{ nodes {{ {nodes} }} }} }} }} }}");
    socket.subscribe("q", &query, json!({})).await;
    let response = socket.receive().await;
    let nodes = response.pointer("/payload/data/viewer/user/posts/nodes").unwrap().as_array().unwrap();
    assert_eq!(nodes.len(), 20);
    for node in nodes {
        assert!(node.as_object().unwrap().values().all(|value| value == &json!(content)));
    }
}
