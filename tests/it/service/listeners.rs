//! The addresses of a server: the main and the admin listener, on ports and on Unix sockets; `fanfold healthcheck`; and
//! the notifications to systemd.

use std::fs;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use futures::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::Instant;
use tokio_tungstenite::client_async;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::http::HeaderValue;

use crate::harness::port::{free_ports, on_free_ports};
use crate::harness::server::{Server, begin_request, command, connected, eventually, exchange};
use crate::harness::wait::LIMIT;
use crate::harness::world::Redis;

const PROBES: [&str; 3] = ["/metrics", "/healthz", "/readyz"];

/// Returns the options of a server over this Redis, without those for its addresses.
fn options(redis: &Redis) -> Vec<String> {
    let (url, directory) = (redis.url(), redis.directory().to_owned());
    ["serve".to_owned(), "--redis-url".to_owned(), url, "--data-dir".to_owned(), directory].into()
}

/// Returns the command that starts a server over this Redis with these addresses.
fn serve(redis: &Redis, addresses: &[&str]) -> Command {
    let mut command = command(&[]);
    command.args(options(redis)).args(addresses);
    command
}

/// Runs a command that must fail, and returns its standard error.
fn failure(mut command: Command) -> String {
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stderr).unwrap()
}

/// The paths of a server's Unix sockets.
struct Sockets {
    directory: TempDir,
}

impl Sockets {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn address(&self, name: &str) -> String {
        format!("unix:{}", self.path(name).display())
    }

    fn start(&self, redis: &Redis, options: &[&str]) -> Server {
        let (main, admin) = (self.address("main"), self.address("admin"));
        let addresses = [&["--http-listen", &main, "--http-admin-listen", &admin], options].concat();
        Server::run(&mut serve(redis, &addresses))
    }
}

#[test]
fn metrics_and_probes_are_on_an_address_of_their_own() {
    let redis = Redis::start();
    let server = Server::over(&redis, &[]);
    assert!(server.admin.starts_with("127.0.0.1:") && server.admin != server.address, "{}", server.admin);
    for path in PROBES {
        assert_eq!(server.page(path).0, 200, "{path}");
        assert_eq!(server.send(&format!("GET {path}"), "").0, 404, "{path}");
    }
    for path in ["/", "/graphql?query={__typename}", "/schema.graphql", "/demo"] {
        assert_eq!(server.page(path).0, 404, "{path}");
    }
    let post = exchange(&server.admin, "POST /healthz", "", "");
    assert_eq!(post.0, 405);

    let without = Server::over(&redis, &["--http-admin-listen", "off"]);
    assert_eq!(without.admin, "");
    for path in PROBES {
        assert_eq!(without.send(&format!("GET {path}"), "").0, 404, "{path}");
    }
    assert_eq!([server.stop(), without.stop()], [Some(0), Some(0)]);
}

#[test]
fn the_admin_listener_has_the_next_port_and_a_port_in_use_is_an_error() {
    let redis = Redis::start();
    let ([main, admin], server) = on_free_ports(|ports: [u16; 2]| {
        let addresses = ports.map(|port| format!("127.0.0.1:{port}"));
        let server = Server::run_if_free(&mut serve(&redis, &["--http-listen", &addresses[0]]))?;
        Some((addresses, server))
    });
    assert_eq!((&server.address, &server.admin), (&main, &admin));
    let stderr = failure(serve(&redis, &["--http-listen", &admin]));
    assert!(stderr.contains(&format!("cannot listen on {admin}")), "{stderr}");
    assert!(stderr.contains("choose another with --http-listen"), "{stderr}");
    assert_eq!(server.stop(), Some(0));

    let _other = TcpListener::bind(&admin).unwrap();
    let stderr = failure(serve(&redis, &["--http-listen", &main]));
    assert!(stderr.contains(&format!("cannot listen on {admin}")), "{stderr}");
    assert!(stderr.contains("choose another with --http-admin-listen"), "{stderr}");
    let stderr =
        String::from_utf8(command(&["serve", "--http-listen", "localhost"]).output().unwrap().stderr);
    assert!(stderr.unwrap().contains("such as unix:/run/fanfold/http.sock"));
}

#[test]
fn the_admin_listener_on_a_loopback_address_rejects_names_that_anyone_may_have_pointed_there() {
    let redis = Redis::start();
    let status = |server: &Server, host: &str| {
        let head = format!("GET /metrics HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
        let mut stream = connected(&server.admin);
        stream.write_all(head.as_bytes()).unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        response[9..12].parse::<u16>().unwrap()
    };
    let local = Server::over(&redis, &["--http-hosts", "feed.example.org"]);
    let open = Server::over(&redis, &["--http-admin-listen", "0.0.0.0:0"]);
    for (host, of_local) in [
        ("127.0.0.1:8081", 200),
        ("localhost", 200),
        ("[::1]:8081", 200),
        ("feed.example.org:8081", 200),
        ("evil.example:8081", 421),
        ("localhost.evil.example", 421),
    ] {
        assert_eq!((status(&local, host), status(&open, host)), (of_local, 200), "{host}");
    }
}

#[test]
fn the_admin_listener_responds_while_the_main_one_is_busy_with_slow_requests() {
    let redis = Redis::own();
    let server = Server::over(&redis, &["--http-threads", "1"]);
    redis.pause(true);
    let body = json!({ "query": "{ user(by: { username: \"ada\" }) { id } }" }).to_string();
    let length = body.len();
    let slow = (0..200).map(|_| {
        let mut stream = connected(&server.address);
        write!(stream, "POST /graphql HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}").unwrap();
        stream
    });
    let slow: Vec<_> = slow.collect();
    assert_eq!(server.page("/healthz"), (200, "ok\n".to_owned()));
    for stream in &slow {
        stream.set_nonblocking(true).unwrap();
        let nothing = stream.peek(&mut [0]).map_err(|error| error.kind());
        assert_eq!(nothing, Err(ErrorKind::WouldBlock), "it waits for no slow request");
    }
    assert_eq!(server.page("/readyz"), (503, "redis: unreachable\n".to_owned()));
    let (status, metrics) = server.page("/metrics");
    assert!(status == 200 && metrics.contains("fanfold_redis_up 0"), "{metrics}");
    redis.pause(false);
    drop(slow);
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn both_listeners_take_unix_sockets_which_are_removed_at_the_end() {
    let (redis, sockets) = (Redis::start(), Sockets::new());
    let server = sockets.start(&redis, &[]);
    assert_eq!(server.address, sockets.address("main"));
    assert_eq!(server.admin, sockets.address("admin"));
    for name in ["main", "admin"] {
        let found = fs::metadata(sockets.path(name)).unwrap();
        assert!(found.file_type().is_socket());
        assert_eq!(found.permissions().mode() & 0o777, 0o660, "{name}");
    }
    server.register("ada");
    assert!(server.has_user("ada"));
    assert_eq!(server.page("/readyz"), (200, "ready\n".to_owned()));
    assert_eq!(server.send("GET /readyz", "").0, 404);
    assert!(server.send("GET /", "").1.contains("<html"));
    assert_eq!(server.stop(), Some(0));
    assert!(!sockets.path("main").exists() && !sockets.path("admin").exists());
}

#[test]
fn the_socket_of_a_killed_server_is_replaced_and_no_other_file_is() {
    let (redis, sockets) = (Redis::start(), Sockets::new());
    sockets.start(&redis, &[]).kill();
    assert!(sockets.path("main").exists(), "a killed server leaves it");
    let server = sockets.start(&redis, &[]);
    server.register("ada");

    let (main, admin) = (sockets.address("main"), sockets.address("admin"));
    let other = sockets.address("other");
    let stderr = failure(serve(&redis, &["--http-listen", &main]));
    assert!(stderr.contains("another process listens there"), "{stderr}");
    assert!(stderr.contains(&format!("cannot listen on {main}")), "{stderr}");
    let stderr = failure(serve(&redis, &["--http-listen", &other, "--http-admin-listen", &admin]));
    assert!(stderr.contains("choose another with --http-admin-listen"), "{stderr}");
    assert!(!sockets.path("other").exists(), "the server that failed has removed its first socket");
    assert!(server.has_user("ada"), "the server that listens is unaffected");

    fs::write(sockets.path("other"), "mine").unwrap();
    let stderr = failure(serve(&redis, &["--http-listen", &other]));
    assert!(stderr.contains("the file there is not a socket"), "{stderr}");
    assert_eq!(fs::read(sockets.path("other")).unwrap(), b"mine");
    let missing = sockets.address("missing/main");
    let stderr = failure(serve(&redis, &["--http-listen", &missing]));
    assert!(stderr.contains("No such file or directory"), "{stderr}");
    let long = sockets.address(&"x".repeat(200));
    let stderr = failure(serve(&redis, &["--http-listen", &long]));
    assert!(stderr.contains(&format!("cannot listen on {long}")), "{stderr}");
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn a_peer_on_a_unix_socket_names_its_clients_and_has_no_address_itself() {
    let (redis, sockets) = (Redis::start(), Sockets::new());
    let server =
        sockets.start(&redis, &["--registrations-per-address", "1", "--connections-per-address", "1"]);
    let is_registered = |username: &str, forwarded: &str| {
        let input = format!("username: \"{username}\", password: \"correct horse\"");
        let query =
            format!("mutation {{ register(input: {{ {input} }}) {{ userErrors {{ code }} token }} }}");
        let more =
            if forwarded.is_empty() { String::new() } else { format!("x-forwarded-for: {forwarded}\r\n") };
        let body = json!({ "query": query }).to_string();
        let (_, body) = server.send_with("POST /graphql", &more, &body);
        serde_json::from_str::<Value>(&body).unwrap()["data"]["register"]["token"].is_string()
    };
    assert!(is_registered("one", "198.51.100.1"));
    assert!(!is_registered("two", "198.51.100.1"), "the address has reached its limit");
    assert!(!is_registered("two", "203.0.113.9, 198.51.100.1"), "only the last address counts");
    assert!(is_registered("two", "198.51.100.2"));
    // Limits per address do not apply without an address.
    assert!(is_registered("three", "") && is_registered("four", ""));
    let open: Vec<UnixStream> = (0..5).map(|_| UnixStream::connect(sockets.path("main")).unwrap()).collect();
    assert!(server.has_user("one"));
    drop(open);
    assert_eq!(server.stop(), Some(0));
}

#[tokio::test]
async fn websockets_work_through_a_unix_socket_and_a_stopping_server_closes_them() {
    let (redis, sockets) = (Redis::start(), Sockets::new());
    let server = sockets.start(&redis, &[]);
    let token = server.token("ada");
    let mut request = "ws://localhost/graphql".into_client_request().unwrap();
    let protocol = HeaderValue::from_static("graphql-transport-ws");
    request.headers_mut().insert("sec-websocket-protocol", protocol);
    let stream = tokio::net::UnixStream::connect(sockets.path("main")).await.unwrap();
    let (mut socket, _) = client_async(request, stream).await.unwrap();
    let payload = json!({ "Authorization": format!("Bearer {token}") });
    let query = "{ viewer { user { username } } }";
    for message in [
        json!({ "type": "connection_init", "payload": payload }),
        json!({ "id": "1", "type": "subscribe", "payload": { "query": query } }),
    ] {
        socket.send(Message::text(message.to_string())).await.unwrap();
    }
    let mut next = async || socket.next().await.unwrap().unwrap();
    let texts = [next().await, next().await].map(|message| message.into_text().unwrap());
    assert!(texts[0].contains("connection_ack"), "{texts:?}");
    assert!(texts[1].contains("\"username\":\"ada\""), "{texts:?}");
    server.signal("-TERM");
    assert!(next().await.to_text().unwrap().contains("complete"));
    assert!(next().await.is_close());
    assert_eq!(server.end(), Some(0));
}

#[test]
fn while_a_server_finishes_its_requests_the_admin_listener_reports_that_it_is_stopping() {
    let (redis, sockets) = (Redis::start(), Sockets::new());
    let server = sockets.start(&redis, &[]);
    let body = json!({ "query": "{ user(by: { username: \"ada\" }) { id } }" }).to_string();
    let mut stream = UnixStream::connect(sockets.path("main")).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    begin_request(&mut stream, &body);
    server.signal("-TERM");
    assert!(eventually(|| !sockets.path("main").exists()), "it accepts no new connections");
    assert_eq!(server.page("/readyz"), (503, "stopping\n".to_owned()));
    assert_eq!(server.page("/healthz"), (200, "ok\n".to_owned()));
    stream.write_all(body.as_bytes()).unwrap();
    let mut response = [0; 12];
    stream.read_exact(&mut response).unwrap();
    assert_eq!(&response, b"HTTP/1.1 200");
    drop(stream);
    assert_eq!(server.end(), Some(0));
    assert!(!sockets.path("admin").exists());
}

/// Runs `fanfold healthcheck` with these options.
fn healthcheck(options: &[&str]) -> Output {
    command(&[&["healthcheck"], options].concat()).output().unwrap()
}

#[test]
fn a_healthcheck_succeeds_if_the_server_is_alive_or_ready() {
    let (redis, sockets) = (Redis::own(), Sockets::new());
    let over_tcp = Server::over(&redis, &[]);
    let over_unix = sockets.start(&redis, &[]);
    for server in [&over_tcp, &over_unix] {
        let admin = ["--http-admin-listen", &server.admin];
        for (more, printed) in [(&[][..], "ok\n"), (&["--ready"], "ready\n")] {
            let output = healthcheck(&[&admin, more].concat());
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            assert_eq!(String::from_utf8_lossy(&output.stdout), printed);
        }
    }
    // The environment of the server leads to it.
    let (address, port) = over_tcp.admin.rsplit_once(':').unwrap();
    let main = format!("{address}:{}", port.parse::<u16>().unwrap() - 1);
    let everywhere = format!("0.0.0.0:{port}");
    for (variable, value) in [("FANFOLD_HTTP_LISTEN", &main), ("FANFOLD_HTTP_ADMIN_LISTEN", &everywhere)] {
        let output = command(&["healthcheck"]).env(variable, value).output().unwrap();
        assert!(output.status.success(), "{variable}: {}", String::from_utf8_lossy(&output.stderr));
    }
    redis.pause(true);
    let admin = ["--http-admin-listen", &over_tcp.admin];
    assert!(healthcheck(&admin).status.success(), "it is alive");
    // The server caches its readiness for a second.
    assert!(eventually(|| {
        let output = healthcheck(&[&admin[..], &["--ready"]].concat());
        let stderr = String::from_utf8_lossy(&output.stderr);
        output.status.code() == Some(1) && stderr.contains("503 Service Unavailable: redis: unreachable")
    }));
    redis.pause(false);
}

#[test]
fn a_healthcheck_fails_with_a_reason_if_the_server_does_not_respond() {
    let (redis, sockets) = (Redis::start(), Sockets::new());
    let server = sockets.start(&redis, &[]);
    server.signal("-STOP");
    let missing = sockets.address("missing");
    let [closed] = free_ports().map(|port| format!("127.0.0.1:{port}"));
    for (options, reason) in [
        (&["--http-admin-listen", &server.admin, "--timeout", "1"][..], "does not respond within 1 seconds"),
        (&["--http-admin-listen", &missing], "cannot connect: No such file or directory"),
        (&["--http-admin-listen", &closed], "cannot connect: Connection refused"),
        (&["--http-admin-listen", "off"], "has no admin listener"),
        (&["--http-listen", "127.0.0.1:0"], "name the port in --http-admin-listen"),
    ] {
        let output = healthcheck(options);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{options:?}: {stderr}");
        assert!(stderr.contains(reason), "{options:?}: {stderr}");
    }
    server.signal("-CONT");
    assert_eq!(server.stop(), Some(0));
}

/// The socket on which systemd would receive a service's notifications.
struct Manager {
    socket: UnixDatagram,
    path: PathBuf,
}

impl Manager {
    fn new(directory: &Path) -> Self {
        let path = directory.join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        socket.set_read_timeout(Some(LIMIT)).unwrap();
        Self { socket, path }
    }

    /// Returns the next notification.
    fn next(&self) -> String {
        let mut buffer = [0; 1_024];
        let length = self.socket.recv(&mut buffer).expect("a notification arrives in time");
        String::from_utf8(buffer[..length].to_vec()).unwrap().trim().to_owned()
    }

    /// Returns the notifications up to this one.
    fn until(&self, last: &str) -> Vec<String> {
        let mut all = vec![self.next()];
        while all.last().is_some_and(|notification| notification != last) {
            all.push(self.next());
        }
        all
    }
}

#[test]
fn services_notify_systemd_when_they_are_ready_while_they_run_and_when_they_stop() {
    let (redis, directory) = (Redis::start(), tempfile::tempdir().unwrap());
    let manager = Manager::new(directory.path());
    let (url, data) = (redis.url(), redis.directory().to_owned());
    let data = ["--redis-url", &url, "--data-dir", &data];
    for service in [&["serve", "--http-listen", "127.0.0.1:0"][..], &["deliver"], &["archive", "run"]] {
        // This test may learn late that it is ready, and of several notifications at once.
        let began = Instant::now();
        let mut command = command(&[service, &data].concat());
        command.env("NOTIFY_SOCKET", &manager.path).env("WATCHDOG_USEC", "200000");
        let mut process = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        assert_eq!(manager.next(), "READY=1", "{service:?}");
        for _ in 0..12 {
            assert_eq!(manager.next(), "WATCHDOG=1", "{service:?}");
        }
        assert!(began.elapsed() >= Duration::from_secs(1), "twice per interval, not more");
        let pid = process.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        let last = manager.until("STOPPING=1");
        assert!(last.iter().rev().skip(1).all(|notification| notification == "WATCHDOG=1"), "{last:?}");
        assert_eq!(process.wait().unwrap().code(), Some(0), "{service:?}");
        manager.socket.set_nonblocking(true).unwrap();
        while manager.socket.recv(&mut [0; 64]).is_ok() {}
        manager.socket.set_nonblocking(false).unwrap();
    }
}
