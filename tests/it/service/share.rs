//! Shares: the part that one client, user or address gets of a server that also serves others.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use fanfold::app::timeline::entry::Replies;
use fanfold::app::timeline::seen::Seen;
use fanfold::model::clock::{Clock as _, SystemClock};
use fanfold::model::id::PostId;
use fanfold::model::mark::Mark;
use fanfold::model::user::UserFields;
use serde_json::{Value, json};
use tokio::net::TcpSocket;
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Error;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::{MaybeTlsStream, client_async};

use crate::harness::feed::{TIMELINE, follow, publish};
use crate::harness::server::{Server, command, connected, eventually, memory, metric};
use crate::harness::socket::Socket;
use crate::harness::wait::LIMIT;
use crate::harness::watch::position;
use crate::harness::world::{Redis, World};

const PROTOCOL: (&str, &str) = ("sec-websocket-protocol", "graphql-transport-ws");

/// Opens a socket of a client with little room for what it does not read.
async fn narrow(server: &Server, token: &str) -> Socket {
    let connection = TcpSocket::new_v4().unwrap();
    connection.set_recv_buffer_size(4_096).unwrap();
    let connection = connection.connect(server.address.parse().unwrap()).await.unwrap();
    let mut request = format!("ws://{}/graphql", server.address).into_client_request().unwrap();
    request.headers_mut().insert(PROTOCOL.0, HeaderValue::from_static(PROTOCOL.1));
    let (socket, _) = client_async(request, MaybeTlsStream::Plain(connection)).await.unwrap();
    let mut socket = Socket(socket);
    let payload = json!({ "Authorization": format!("Bearer {token}") });
    socket.send(json!({ "type": "connection_init", "payload": payload })).await;
    socket
}

fn cursor(server: &Server, token: &str) -> Value {
    let page = server.ask_as(token, "{ viewer { timeline { pageInfo { startCursor } } } }");
    page["data"]["viewer"]["timeline"]["pageInfo"]["startCursor"].clone()
}

#[tokio::test]
async fn watches_that_resume_load_their_posts_as_their_client_reads() {
    let redis = Redis::start();
    let server = Server::over(&redis, &["--post-publishes-per-author", "1000"]);
    let token = server.token("ada");
    publish(&server, &token, "start");
    let start = cursor(&server, &token);
    let long = "\u{1f426}".repeat(2_000);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..200).for_each(|_| drop(publish(&server, &token, &long))));
        }
    });
    let mut socket = narrow(&server, &token).await;
    let before = memory(&server);
    for number in 0..100 {
        socket.subscribe(&number.to_string(), TIMELINE, json!({ "after": start })).await;
    }
    // Far less than the time after which a client that reads nothing is disconnected.
    tokio::time::sleep(Duration::from_secs(3)).await;
    let grown = memory(&server).saturating_sub(before) >> 20;
    assert!(grown < 32, "100 watches that are 800 posts behind take {grown} MiB");
    // All events are sent nevertheless, in the order of each watch.
    let mut received = 0;
    let mut last = [(); 100].map(|()| String::new());
    while received < 300 {
        let message = socket.receive().await;
        let Some(id) = message["id"].as_str() else { continue };
        let cursor = message["payload"]["data"]["timeline"]["cursor"].as_str().unwrap().to_owned();
        let last = &mut last[id.parse::<usize>().unwrap()];
        assert_ne!(*last, cursor);
        *last = cursor;
        received += 1;
    }
}

#[tokio::test]
async fn all_watches_of_a_user_share_a_look_when_an_event_arrives() {
    let redis = Redis::start();
    let server = Server::over(&redis, &[]);
    let token = server.token("ada");
    publish(&server, &token, "start");
    let start = cursor(&server, &token);
    let mut sockets = Vec::new();
    for _ in 0..5 {
        let mut socket = Socket::acknowledged(&server, Some(&token)).await;
        for number in 0..60 {
            socket.subscribe(&number.to_string(), TIMELINE, json!({ "after": start })).await;
        }
        sockets.push(socket);
    }
    // Each watch looks when it begins. All have begun once they have sent this post.
    publish(&server, &token, "first");
    receive_everywhere(&mut sockets, "first").await;
    let looks = server.round_trips("live: removed");
    let posts = server.round_trips("read");
    publish(&server, &token, "second");
    receive_everywhere(&mut sockets, "second").await;
    let looks_for_one = server.round_trips("live: removed") - looks;
    let read = server.round_trips("read") - posts;
    assert!(
        looks_for_one < 12,
        "300 watches of one user take {looks_for_one} looks for one post, and read {read} times"
    );
    assert!(read < 24, "300 watches have read one post {read} times");
}

/// Receives a post from all 60 watches on each of these sockets, and nothing else.
async fn receive_everywhere(sockets: &mut [Socket], content: &str) {
    for socket in sockets {
        for _ in 0..60 {
            let received = socket.receive().await;
            assert_eq!(received["payload"]["data"]["timeline"]["edge"]["node"]["content"], content);
        }
        assert!(socket.is_silent().await);
    }
}

#[tokio::test]
async fn watches_that_wait_for_tokens_wait_in_turn() {
    let redis = Redis::start();
    let server = Server::over(&redis, &["--graphql-rate-limit", "600", "--graphql-cost-limit", "100"]);
    let (token, ben) = (server.token("ada"), server.token("ben"));
    follow(&server, &token, "ben");
    publish(&server, &ben, "start");
    let start = cursor(&server, &token);
    let mut socket = Socket::acknowledged(&server, Some(&token)).await;
    let query = "subscription ($after: String) { timeline(after: $after) { ... on PostAdded { edge { node { content } } } } }";
    let before = server.round_trips("authenticate");
    for number in 0..20 {
        socket.subscribe(&number.to_string(), query, json!({ "after": start })).await;
    }
    // Each takes tokens when it begins.
    assert!(eventually(|| server.round_trips("authenticate") >= before + 20));
    // No tokens for events are left when they are woken: the bucket will be full in ten seconds.
    let full_at = SystemClock.now().plus(Duration::from_secs(10)).as_millis() * 1_000;
    redis.raw::<String>(&["SET", "ff:{u1}:events", &full_at.to_string()]);
    publish(&server, &ben, "one");
    let before = server.round_trips("charge event");
    for _ in 0..20 {
        assert_eq!(socket.receive().await["payload"]["data"]["timeline"]["edge"]["node"]["content"], "one");
    }
    let taken = server.round_trips("charge event") - before;
    assert!(taken <= 45, "20 events have taken tokens {taken} times");
}

#[tokio::test]
async fn anonymous_clients_leave_room_for_others() {
    let redis = Redis::start();
    let server = Server::over(&redis, &["--http-sockets", "40"]);
    let token = server.token("ada");
    let mut open = Vec::new();
    for number in 0..40 {
        let mut socket = Socket::silent(&server).await;
        socket.send(json!({ "type": "connection_init" })).await;
        let received = socket.receive().await;
        let full = json!([1013, "Only signed-in users can connect now"]);
        assert_eq!(received, if number < 20 { json!({ "type": "connection_ack" }) } else { full });
        open.push(socket);
    }
    for _ in 0..20 {
        open.push(Socket::acknowledged(&server, Some(&token)).await);
    }
    drop(open);
    assert!(eventually(|| metric(&server, "fanfold_sockets") < 0.5));

    // Nor do silent clients lock others out.
    let mut silent = Vec::new();
    for _ in 0..40 {
        silent.push(Socket::silent(&server).await);
    }
    let mut socket = Socket::acknowledged(&server, Some(&token)).await;
    socket.subscribe("q", "{ __typename }", Value::Null).await;
    assert_eq!(socket.receive().await["type"], "next");
    assert_eq!(silent[0].receive().await, json!([4408, "Others are waiting to connect"]));
}

/// Requests a stream of events; returns the status, without waiting for an event.
fn stream_status(server: &Server, token: &str) -> (String, TcpStream) {
    let mut stream = connected(&server.address);
    let query = "subscription%7BrelationChanged%7B__typename%7D%7D";
    write!(stream, "GET /graphql?query={query} HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\nauthorization: Bearer {token}\r\n\r\n").unwrap();
    let mut head = [0; 12];
    stream.read_exact(&mut head).unwrap();
    (String::from_utf8(head.to_vec()).unwrap(), stream)
}

#[tokio::test]
async fn sockets_and_streams_are_limited_per_user_and_per_address_and_watches_per_socket() {
    let redis = Redis::start();
    let limits = [
        "--http-sockets-per-user",
        "3",
        "--http-sockets-per-address",
        "5",
        "--http-subscriptions-per-socket",
        "2",
    ];
    let server = Server::over(&redis, &limits);
    let [ada, ben] = ["ada", "ben"].map(|name| server.token(name));
    let mut held = vec![
        Socket::acknowledged(&server, Some(&ada)).await,
        Socket::acknowledged(&server, Some(&ada)).await,
    ];
    let (first, _stream) = stream_status(&server, &ada);
    assert_eq!(first, "HTTP/1.1 200");
    // Sockets and streams are counted together.
    assert_eq!(stream_status(&server, &ada).0, "HTTP/1.1 429");
    let mut fourth = Socket::silent(&server).await;
    let payload = json!({ "Authorization": format!("Bearer {ada}") });
    fourth.send(json!({ "type": "connection_init", "payload": payload })).await;
    assert_eq!(fourth.receive().await, json!([1013, "This user already has 3 sockets and streams"]));
    held.push(Socket::acknowledged(&server, Some(&ben)).await);
    held.push(Socket::acknowledged(&server, None).await);
    assert_eq!(stream_status(&server, &ben).0, "HTTP/1.1 429");
    match Socket::open(&server, &[PROTOCOL]).await {
        Err(Error::Http(response)) => {
            assert_eq!(
                (response.status().as_u16(), &response.headers()["retry-after"]),
                (429, &"10".parse().unwrap())
            );
        }
        other => panic!("{:?}", other.map(|_| ())),
    }
    // An untrusted proxy cannot claim to be others; a trusted one can.
    assert!(Socket::open(&server, &[PROTOCOL, ("x-forwarded-for", "198.51.100.1")]).await.is_err());

    let socket = &mut held[0];
    for id in ["a", "b", "c"] {
        socket.subscribe(id, "subscription { relationChanged { __typename } }", Value::Null).await;
    }
    let received = socket.receive().await;
    assert_eq!((&received["type"], &received["id"]), (&json!("error"), &json!("c")));
    let message = "Limit exceeded: there are 2 subscriptions on this socket already.";
    assert_eq!(received["payload"][0]["message"], message);
    socket.subscribe("q", "{ __typename }", Value::Null).await;
    assert_eq!(socket.receive().await["type"], "next");
}

#[tokio::test]
async fn the_length_of_the_id_of_an_operation_is_limited() {
    let redis = Redis::start();
    let server = Server::over(&redis, &[]);
    for (length, is_taken) in [(512, true), (513, false), (60_000, false)] {
        let mut socket = Socket::acknowledged(&server, None).await;
        let id = "x".repeat(length);
        socket.subscribe(&id, "{ __typename }", Value::Null).await;
        let received = socket.receive().await;
        if is_taken {
            assert_eq!((&received["id"], &received["type"]), (&json!(id), &json!("next")));
        } else {
            assert_eq!(received, json!([4400, "The id has more than 512 bytes"]));
        }
    }
}

#[tokio::test]
async fn the_total_size_of_the_documents_of_a_socket_is_limited() {
    let redis = Redis::start();
    let server = Server::over(&redis, &[]);
    let token = server.token("ada");
    let mut socket = Socket::acknowledged(&server, Some(&token)).await;
    let fields = "id username displayName bio createdAt";
    let mut authors = String::new();
    for alias in 0..29 {
        write!(authors, " a{alias}: author {{ {fields} relation {{ status user {{ {fields} }} }} }}")
            .unwrap();
    }
    let query =
        format!("subscription {{ timeline {{ ... on PostAdded {{ edge {{ node {{ {authors} }} }} }} }} }}");
    for number in 0..100 {
        socket.subscribe(&number.to_string(), &query, Value::Null).await;
    }
    let received = socket.receive().await;
    let message = "Limit exceeded: the operations of a socket may together occupy 2097152 bytes.";
    assert_eq!(received["payload"][0]["message"], message, "{received}");
    let taken = received["id"].as_str().unwrap().parse::<u32>().unwrap();
    assert!((8..12).contains(&taken), "{taken} of 380 selections each");
    // An operation that ends makes room.
    for _ in taken + 1..100 {
        assert_eq!(socket.receive().await["payload"][0]["message"], message);
    }
    socket.send(json!({ "id": "0", "type": "complete" })).await;
    socket.subscribe("again", &query, Value::Null).await;
    assert!(socket.is_silent().await);
}

#[tokio::test]
async fn a_cursor_that_names_very_many_posts_needs_a_resync() {
    let world = World::new().await;
    let ada = world.register("ada").await;
    let viewer = world.app.authenticate(&ada.token).await.unwrap();
    let removed = position(&world, &ada).await.removed;
    for (count, is_taken) in [(4_000, true), (4_001, false)] {
        let beyond = (1_000..1_000 + count).map(|id| PostId::new(id).unwrap()).collect();
        let seen = Seen { upto: Mark::START, beyond, removed };
        let mut watch = world
            .app
            .watch_timeline(&viewer, Some(seen), UserFields::NONE, Replies::default())
            .await
            .unwrap();
        let next = watch.next_by_now().await;
        assert_eq!(next.is_ok(), is_taken, "{count}");
    }
}

#[tokio::test]
async fn an_ended_session_waits_for_no_other_signals() {
    let redis = Redis::own();
    let server = Server::over(&redis, &[]);
    let token = server.token("ada");
    let mut socket = Socket::acknowledged(&server, Some(&token)).await;
    assert!(eventually(|| redis.has_subscriber(1)));
    let mut connection = redis::Client::open(redis.url()).unwrap().get_connection().unwrap();
    let mut flood = redis::pipe();
    for author in 0..40_000 {
        flood.cmd("PUBLISH").arg("ff:{g}:pulled").arg(2 + author % 20_000).ignore();
    }
    let logout = std::thread::scope(|scope| {
        scope.spawn(|| flood.query::<()>(&mut connection).unwrap()).join().unwrap();
        server.ask_as(&token, "mutation { logout { userErrors { code } } }")
    });
    assert_eq!(logout["errors"], Value::Null);
    assert_eq!(socket.receive().await, json!([4403, "The session has ended"]));
    // Each looks up the readers of many authors.
    let lookups = server.round_trips("live: readers");
    assert!(lookups < 1_000, "it waited for {lookups} lookups of readers");
}

/// Starts a server that may open this number of files.
fn with_files(redis: &Redis, files: u32, options: &[&str]) -> Server {
    let limited = format!("ulimit -n {files}; exec \"$0\" \"$@\"");
    let (url, directory) = (redis.url(), redis.directory());
    let fixed = ["serve", "--http-listen", "127.0.0.1:0", "--redis-url", &url, "--data-dir", directory];
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &limited]).arg(command(&[]).get_program()).args(fixed).args(options);
    Server::run(shell.stdin(std::process::Stdio::null()))
}

/// Returns the status of the response of the server at an address; 0 if there is none.
fn status(address: &str, path: &str) -> u16 {
    let Ok(mut stream) = TcpStream::connect(address) else { return 0 };
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    let _ = write!(stream, "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    let mut response = String::new();
    let _ = stream.read_to_string(&mut response);
    response.get(9..12).and_then(|status| status.parse().ok()).unwrap_or(0)
}

#[test]
fn silent_connections_do_not_lock_others_out() {
    let redis = Redis::start();
    let server = with_files(&redis, 256, &[]);
    let address = server.address.parse().unwrap();
    let connect = |_| TcpStream::connect_timeout(&address, Duration::from_secs(1)).ok();
    let silent: Vec<TcpStream> = (0..300).filter_map(connect).collect();
    // The server accepts the silent ones before.
    assert_eq!(status(&server.address, "/graphql?query={__typename}"), 200);
    assert_eq!(status(&server.admin, "/healthz"), 200);
    drop(silent);
}

#[tokio::test]
async fn a_server_whose_connections_are_all_busy_still_responds_to_probes() {
    let redis = Redis::start();
    let options = ["--http-sockets-per-address", "1000"];
    let server = with_files(&redis, 256, &options);
    let mut sockets = Vec::new();
    while let Ok(socket) = tokio::time::timeout(LIMIT, Socket::open(&server, &[PROTOCOL])).await.unwrap() {
        sockets.push(socket);
        assert!(sockets.len() < 256, "the number of files is limited");
    }
    assert!(sockets.len() > 30, "{}", sockets.len());
    assert_eq!([status(&server.admin, "/healthz"), status(&server.admin, "/readyz")], [200, 200]);
    assert_eq!(status(&server.address, "/graphql?query={__typename}"), 429);
    // Nor do silent connections lock probes out, on either listener.
    let connect = |address: &String| (0..100).map(|_| TcpStream::connect(address).unwrap()).collect();
    let silent: [Vec<TcpStream>; 2] = [&server.address, &server.admin].map(connect);
    assert_eq!(status(&server.admin, "/healthz"), 200);
    drop((sockets, silent));
    assert!(eventually(|| status(&server.address, "/graphql?query={__typename}") == 200));
}

#[test]
fn every_head_has_a_short_timeout_from_its_first_byte_and_an_idle_connection_a_longer_one() {
    let redis = Redis::start();
    let server = Server::over(&redis, &[]);
    let connect = || connected(&server.address);
    let began = Instant::now();
    let (mut silent, mut kept, mut slow) = (connect(), connect(), connect());
    let request = b"GET /graphql?query={__typename} HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let mut response = [0; 1_024];
    for stream in [&mut kept, &mut slow] {
        stream.write_all(request).unwrap();
        assert!(stream.read(&mut response).unwrap() > 0);
    }
    assert_eq!(silent.read(&mut response).unwrap(), 0, "it is closed");
    assert!(began.elapsed() >= Duration::from_secs(8), "{:?}", began.elapsed());
    // The time between requests does not count for the next head.
    let began = Instant::now();
    slow.write_all(&request[..30]).unwrap();
    assert_eq!(slow.read(&mut response).unwrap_or(0), 0, "it is closed as well");
    let took = began.elapsed();
    assert!((Duration::from_secs(8)..Duration::from_secs(40)).contains(&took), "{took:?}");
    kept.write_all(request).unwrap();
    assert!(kept.read(&mut response).unwrap() > 0);
}

#[tokio::test]
async fn connections_of_an_address_are_limited_and_those_of_a_trusted_proxy_are_not() {
    let redis = Redis::start();
    let limit = ["--http-connections-per-address", "5"];
    let (plain, proxied) = (
        Server::over(&redis, &limit),
        Server::over(&redis, &[&limit[..], &["--http-trusted-proxies", "127.0.0.0/8"]].concat()),
    );
    for (server, most) in [(&plain, 5), (&proxied, 20)] {
        let mut open = Vec::new();
        for _ in 0..20 {
            open.extend(Socket::open(server, &[PROTOCOL]).await.ok());
        }
        assert_eq!(open.len(), most);
    }
}
