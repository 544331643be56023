//! The memory of what clients send before the server has read a whole request or message, and for how long they can
//! hold it.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::time::Instant;

use crate::harness::server::{Server, connected, eventually, memory};
use crate::harness::socket::Socket;
use crate::harness::world::Redis;

const REQUEST: &[u8] = b"GET /graphql?query={__typename} HTTP/1.1\r\nhost: localhost\r\n\r\n";
/// Size of what a hostile client sends, in bytes: less than the limits of heads, bodies and messages.
const LARGE: usize = 60_000;
/// Time after which what has not arrived completely is dropped, in seconds, and a machine that is busy.
const DROPPED_WITHIN: Duration = Duration::from_secs(40);

/// Sends a request over a connection that stays open, and reads the response.
fn request(stream: &mut TcpStream) -> String {
    stream.write_all(REQUEST).unwrap();
    let mut response = [0; 1_024];
    let length = stream.read(&mut response).unwrap();
    String::from_utf8(response[..length].to_vec()).unwrap()
}

/// Returns once the server has closed these connections.
fn wait_until_closed(streams: Vec<TcpStream>) {
    for mut stream in streams {
        // A server that closes a connection whose client has sent more resets it.
        while stream.read(&mut [0; 1_024]).is_ok_and(|length| length > 0) {}
    }
}

/// Returns whether a server has read everything that was sent to it.
fn has_read_all(server: &Server) -> bool {
    let port: u16 = server.address.rsplit(':').next().unwrap().parse().unwrap();
    let port = format!(":{port:04X}");
    let connections = std::fs::read_to_string("/proc/net/tcp").unwrap();
    // Local address, remote address, state, and the bytes that wait to be sent and to be read.
    let mut waiting = connections.lines().filter_map(|line| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let (sent, received) = columns.get(4)?.split_once(':')?;
        let [is_client, is_server] = [columns[2], columns[1]].map(|address| address.ends_with(&port));
        Some((is_client && sent != "00000000") || (is_server && received != "00000000"))
    });
    !waiting.any(|is_waiting| is_waiting)
}

/// Returns by how many MiB the memory of a server has grown.
fn growth(server: &Server, before: u64) -> u64 {
    memory(server).saturating_sub(before) >> 20
}

#[test]
fn unfinished_heads_take_little_memory_for_a_short_time_on_later_requests_as_well() {
    let redis = Redis::start();
    let server = Server::over(&redis, &[]);
    let mut streams: Vec<TcpStream> = (0..1_000).map(|_| connected(&server.address)).collect();
    for stream in &mut streams {
        assert!(request(stream).starts_with("HTTP/1.1 200"));
    }
    let (before, began) = (memory(&server), Instant::now());
    let head = format!("GET /graphql HTTP/1.1\r\nhost: localhost\r\nx-filler: {}", "x".repeat(LARGE));
    for stream in &mut streams {
        // The server closes connections beyond the limit of the address.
        let _ = stream.write_all(head.as_bytes());
    }
    // An ordinary request of the same address needs no share of that limit.
    assert!(!server.has_user("ada"));
    let grown = growth(&server, before);
    wait_until_closed(streams);
    let took = began.elapsed();
    // Those of an address may occupy 16 MiB. A buffer grows by doubling, and the allocator keeps what it has outgrown.
    assert!(grown < 48, "1,000 unfinished heads take {grown} MiB");
    assert!(took < DROPPED_WITHIN, "they take it for {took:?}");
}

#[test]
fn bodies_that_arrive_byte_by_byte_take_their_own_size() {
    let redis = Redis::start();
    let server = Server::over(&redis, &[]);
    let mut streams: Vec<TcpStream> = (0..50).map(|_| connected(&server.address)).collect();
    let head = "POST /graphql HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 60000\r\n\r\n";
    for stream in &mut streams {
        stream.write_all(head.as_bytes()).unwrap();
    }
    let before = memory(&server);
    // On a busy machine as well, these arrive within the ten seconds that a body may take.
    for _ in 0..60 {
        for stream in &mut streams {
            stream.write_all(b" ").unwrap();
        }
        // Otherwise, it would read several bytes at a time.
        assert!(eventually(|| has_read_all(&server)));
    }
    let grown = growth(&server, before);
    assert!(grown < 8, "50 bodies of 60 bytes take {grown} MiB");
}

/// Returns the beginning of a frame of a text, masked with zeros. `is_last` means that no further frame belongs to it.
fn frame(is_first: bool, is_last: bool, length: usize) -> Vec<u8> {
    let mut frame = vec![u8::from(is_first) | u8::from(is_last) << 7, 0xfe];
    frame.extend(u16::try_from(length).unwrap().to_be_bytes());
    frame.extend([0; 4]);
    frame
}

async fn send_raw(socket: &mut Socket, bytes: &[u8]) {
    let stream = socket.0.get_mut();
    stream.write_all(bytes).await.unwrap();
    stream.flush().await.unwrap();
}

#[tokio::test]
async fn messages_of_sockets_must_arrive_in_time() {
    let redis = Redis::start();
    let server = Server::over(&redis, &[]);
    let part = "x".repeat(30_000).into_bytes();
    let whole_frame = [frame(true, false, 30_000), part.clone()].concat();
    let half_a_frame = [frame(true, true, LARGE), part].concat();
    for sent in [whole_frame, half_a_frame] {
        let mut socket = Socket::acknowledged(&server, None).await;
        let began = Instant::now();
        send_raw(&mut socket, &sent).await;
        // A frame that is complete can be followed by pongs, which show that the client is there.
        let closed = socket.receive().await;
        assert!(began.elapsed() > Duration::from_secs(8), "{:?}", began.elapsed());
        assert_eq!(closed, json!([4408, "The message did not arrive within 10 seconds"]));
    }
}

#[tokio::test]
async fn frames_of_a_message_count_though_they_are_empty() {
    let redis = Redis::start();
    let server = Server::over(&redis, &[]);
    let mut socket = Socket::acknowledged(&server, None).await;
    let empty = [0, 0x80, 0, 0, 0, 0].repeat(100);
    send_raw(&mut socket, &[frame(true, false, 200), vec![b' '; 200]].concat()).await;
    let stream = socket.0.get_mut();
    // The server closes the socket before it has read all of them.
    for _ in 0..400 {
        if stream.write_all(&empty).await.is_err() {
            break;
        }
    }
    assert_eq!(socket.receive().await, json!([1009, "The message is too large"]));
}

#[tokio::test]
async fn sockets_keep_nothing_of_a_large_upgrade_head() {
    let redis = Redis::start();
    let server = Server::over(&redis, &[]);
    let filler = "x".repeat(LARGE);
    let protocol = ("sec-websocket-protocol", "graphql-transport-ws");
    let (mut open, mut grown) = (Vec::new(), Vec::new());
    for headers in [&[protocol][..], &[protocol, ("x-filler", &filler)]] {
        let before = memory(&server);
        for _ in 0..500 {
            let mut socket = Socket::open(&server, headers).await.unwrap();
            socket.send(json!({ "type": "connection_init" })).await;
            assert_eq!(socket.receive().await, json!({ "type": "connection_ack" }));
            open.push(socket);
        }
        grown.push(growth(&server, before));
    }
    assert!(grown[1] < grown[0] + 12, "500 sockets take {} MiB, with large heads {}", grown[0], grown[1]);
}

#[tokio::test]
async fn sockets_keep_nothing_of_a_large_message() {
    let redis = Redis::start();
    let server = Server::over(&redis, &[]);
    let mut open = Vec::new();
    for _ in 0..500 {
        open.push(Socket::acknowledged(&server, None).await);
    }
    let filler = "x".repeat(LARGE);
    let before = memory(&server);
    for socket in &mut open {
        socket.send(json!({ "type": "ping", "payload": { "filler": filler } })).await;
        assert_eq!(socket.receive().await, json!({ "type": "pong" }));
        // The server has read on.
        socket.subscribe("q", "{ __typename }", Value::Null).await;
        assert_eq!(socket.receive().await["type"], "next");
    }
    let grown = growth(&server, before);
    assert!(grown < 12, "a large message of each of 500 sockets leaves {grown} MiB");
}

#[tokio::test]
async fn messages_that_are_sent_without_waiting_or_in_several_frames_all_arrive() {
    let redis = Redis::start();
    let server = Server::over(&redis, &[]);
    let mut socket = Socket::acknowledged(&server, None).await;
    let ping = |size: usize| json!({ "type": "ping", "payload": { "filler": "x".repeat(size) } }).to_string();
    let whole = |size| {
        let text = ping(size);
        [frame(true, true, text.len()), text.into_bytes()].concat()
    };
    let divided = |size| {
        let text = ping(size).into_bytes();
        let (begin, end) = text.split_at(text.len() / 2);
        [&frame(true, false, begin.len()), begin, &frame(false, true, end.len()), end].concat()
    };
    for round in 0..50 {
        let messages =
            [whole(20_000), whole(200 + round), divided(20_000), whole(9_000 + round), whole(LARGE)];
        send_raw(&mut socket, &messages.concat()).await;
        for _ in &messages {
            assert_eq!(socket.receive().await, json!({ "type": "pong" }));
        }
        // The buffer is replaced after a message that nothing follows.
        socket.send(json!({ "type": "ping", "payload": { "filler": "x".repeat(20_000) } })).await;
        assert_eq!(socket.receive().await, json!({ "type": "pong" }));
    }
}

#[test]
fn the_large_head_of_an_event_stream_counts_until_the_stream_ends() {
    let redis = Redis::start();
    let options = ["--http-sockets-per-user", "1000", "--http-memory-limit", "67108864"];
    let server = Server::over(&redis, &options);
    let token = server.token("ada");
    let filler = "x".repeat(LARGE);
    let query = "subscription%7BrelationChanged%7B__typename%7D%7D";
    let head = format!(
        "GET /graphql?query={query} HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\nauthorization: Bearer \
         {token}\r\nx-filler: {filler}\r\n\r\n"
    );
    let mut open = Vec::new();
    for _ in 0..200 {
        let (mut stream, mut status) = (connected(&server.address), [0; 12]);
        // A rejected connection may be closed before the head is sent, and reset before the response is read.
        let is_sent = stream.write_all(head.as_bytes()).is_ok();
        if is_sent && stream.read_exact(&mut status).is_ok() && &status == b"HTTP/1.1 200" {
            open.push(stream);
        }
    }
    assert!((100..140).contains(&open.len()), "8 MiB are enough for {} streams", open.len());
    assert!(!server.has_user("ben"), "others are served");
}

#[test]
fn a_connection_ends_with_a_request_that_has_a_large_head() {
    let redis = Redis::start();
    let server = Server::over(&redis, &[]);
    for (size, is_closed) in [(1_000, false), (20_000, true)] {
        let mut stream = connected(&server.address);
        let filler = "x".repeat(size);
        write!(
            stream,
            "GET /graphql?query={{__typename}} HTTP/1.1\r\nhost: localhost\r\nx-filler: {filler}\r\n\r\n"
        )
        .unwrap();
        let mut response = [0; 1_024];
        let length = stream.read(&mut response).unwrap();
        let response = String::from_utf8_lossy(&response[..length]).into_owned();
        assert!(response.starts_with("HTTP/1.1 200"), "{response}");
        assert_eq!(response.contains("connection: close"), is_closed, "{response}");
    }
}
