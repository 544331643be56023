//! The server as a process: start, takeover, shutdown.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::json;
use tempfile::{NamedTempFile, TempDir};

use crate::harness::server::{Server, begin_request, command, connected, eventually};
use crate::harness::wait::LIMIT;
use crate::harness::world::Redis;

fn fails(arguments: &[&str]) -> String {
    let output = command(arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    String::from_utf8(output.stderr).unwrap()
}

/// Returns whether a Redis accepts connections on the socket of a data directory.
fn redis_runs(data_dir: &Path) -> bool {
    let client =
        redis::Client::open(format!("unix:{}", data_dir.join("redis/redis.sock").display())).unwrap();
    client.get_connection().is_ok()
}

/// Returns what that Redis reports.
fn redis_info(data_dir: &Path) -> redis::InfoDict {
    let client =
        redis::Client::open(format!("unix:{}", data_dir.join("redis/redis.sock").display())).unwrap();
    redis::cmd("INFO").query(&mut client.get_connection().unwrap()).unwrap()
}

/// Returns the process id of that Redis.
fn redis_process(data_dir: &Path) -> String {
    redis_info(data_dir).get("process_id").unwrap()
}

#[test]
fn without_a_redis_it_starts_one_and_stops_it_and_the_data_stay() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::on(&data);
    assert_eq!(server.page("/healthz"), (200, "ok\n".to_owned()));
    assert_eq!(server.page("/readyz"), (200, "ready\n".to_owned()));
    assert_eq!(server.send("GET /schema.graphql", "").1, include_str!("../../../schema.graphql"));
    assert!(server.send("GET /", "").1.contains("<html"));
    server.register("ada");
    assert!(redis_runs(data.path()));
    assert_eq!(server.stop(), Some(0));
    assert!(!redis_runs(data.path()));

    let server = Server::on(&data);
    assert!(server.has_user("ada"));
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn a_redis_left_behind_by_a_killed_server_is_taken_over() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::on(&data);
    server.register("ada");
    let process = redis_process(data.path());
    server.kill();
    assert!(redis_runs(data.path()));

    let server = Server::on(&data);
    assert_eq!(redis_process(data.path()), process);
    assert!(server.has_user("ada"));
    assert_eq!(server.stop(), Some(0));
    assert!(eventually(|| !redis_runs(data.path())));
}

#[test]
fn a_second_server_on_one_data_directory_is_rejected_and_other_commands_work_beside_it() {
    let data = tempfile::tempdir().unwrap();
    let directory = data.path().to_str().unwrap();
    let server = Server::on(&data);
    let stderr = fails(&["serve", "--http-listen", "127.0.0.1:0", "--data-dir", directory]);
    let number = server.process.id();
    assert!(stderr.contains(&format!("is in use by another fanfold process (number {number})")), "{stderr}");

    let demo = command(&["demo", "--users", "20", "--data-dir", directory]).output().unwrap();
    assert!(demo.status.success(), "{}", String::from_utf8_lossy(&demo.stderr));
    assert!(server.has_user("ada"));
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn a_redis_that_dies_is_started_again() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::on(&data);
    server.register("ada");
    // What it has written to its file survives its process.
    assert!(eventually(|| redis_info(data.path()).get::<u64>("aof_buffer_length") == Some(0)));
    let process = redis_process(data.path());
    assert!(Command::new("kill").args(["-9", &process]).status().unwrap().success());
    assert!(eventually(|| server.page("/readyz").0 == 200 && redis_process(data.path()) != process));
    assert!(server.has_user("ada"));
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn without_a_program_to_start_the_error_has_the_command_that_installs_one() {
    let data = tempfile::tempdir().unwrap();
    let output =
        command(&["serve", "--http-listen", "127.0.0.1:0", "--data-dir", data.path().to_str().unwrap()])
            .env("PATH", "")
            .output()
            .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("apt install redis-server") && stderr.contains("--redis-url"), "{stderr}");
}

#[test]
fn places_that_cannot_be_used_are_reported() {
    let data = tempfile::tempdir().unwrap();
    let long = data.path().join("x".repeat(100));
    let stderr = fails(&["serve", "--http-listen", "127.0.0.1:0", "--data-dir", long.to_str().unwrap()]);
    assert!(stderr.contains("the path of the data directory is too long"), "{stderr}");
    let file = data.path().join("file");
    std::fs::write(&file, "").unwrap();
    let stderr = fails(&["serve", "--http-listen", "127.0.0.1:0", "--data-dir", file.to_str().unwrap()]);
    assert!(stderr.contains("cannot be used"), "{stderr}");

    let redis = Redis::start();
    let server = Server::over(&redis, &[]);
    let stderr = fails(&["serve", "--http-listen", &server.address, "--redis-url", &redis.url()]);
    assert!(stderr.contains("cannot listen on") && stderr.contains("--http-listen"), "{stderr}");
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn requests_in_progress_are_completed_before_it_ends() {
    let redis = Redis::start();
    let server = Server::over(&redis, &[]);
    let mut stream = connected(&server.address);
    let body = json!({ "query": "{ viewer { user { id } } }" }).to_string();
    begin_request(&mut stream, &body);
    server.signal("-TERM");
    let is_closed = || TcpStream::connect(&server.address).is_err();
    assert!(eventually(is_closed), "it accepts no new connections");
    stream.write_all(body.as_bytes()).unwrap();
    let mut response = [0; 12];
    stream.read_exact(&mut response).unwrap();
    assert_eq!(&response, b"HTTP/1.1 200");
    drop(stream);
    assert_eq!(server.end(), Some(0));
}

#[test]
fn connections_that_are_idle_for_too_long_are_closed() {
    let redis = Redis::start();
    let server = Server::over(&redis, &["--http-idle-timeout", "1"]);
    let whole = "GET /schema.graphql HTTP/1.1\r\nhost: localhost\r\n\r\n";
    for sent in ["", "G", "GET /healthz HTTP/1.1\r\nhost: local", whole] {
        let mut stream = connected(&server.address);
        stream.write_all(sent.as_bytes()).unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        assert_eq!(response.starts_with("HTTP/1.1 200"), sent == whole, "{sent}: {response}");
    }
    let mut stream = connected(&server.address);
    // A client that sends one letter after the other is too slow, too.
    let is_closed = whole.bytes().cycle().take(200).any(|letter| {
        std::thread::sleep(Duration::from_millis(100));
        letter != b'\n' && stream.write_all(&[letter]).is_err()
    });
    assert!(is_closed);
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn a_change_whose_client_has_disconnected_is_completed_before_it_ends() {
    let redis = Redis::own();
    let server = Server::over(&redis, &[]);
    redis.pause(true);
    let mut stream = connected(&server.address);
    let register =
        "mutation { register(input: { username: \"eve\", password: \"correct horse\" }) { token } }";
    let body = json!({ "query": register }).to_string();
    let length = body.len();
    write!(stream, "POST /graphql HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}").unwrap();
    // The server executes a document once it has read it.
    assert!(eventually(|| server.page("/metrics").1.contains("\nfanfold_documents_cached 1\n")));
    drop(stream);
    server.signal("-TERM");
    std::thread::sleep(Duration::from_secs(1));
    redis.pause(false);
    assert_eq!(server.end(), Some(0));
    let server = Server::over(&redis, &[]);
    assert!(server.has_user("eve"));
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn the_server_reports_an_unavailable_redis_and_recovers_with_it() {
    let mut redis = Redis::own();
    let server = Server::over(&redis, &[]);
    server.register("ada");
    redis.pause(true);
    assert_eq!(server.page("/healthz").0, 200);
    assert_eq!(server.page("/readyz").0, 503);
    redis.pause(false);
    assert!(server.has_user("ada"));
    redis.restart_empty();
    assert!(!server.has_user("ada"));
    assert_eq!(server.register("ada")["data"]["register"]["viewer"]["user"]["username"], "ada");
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn a_client_that_disconnects_leaves_no_change_half_done() {
    let redis = Redis::start();
    let server = Server::over(&redis, &[]);
    server.register("ada");
    server.register("bob");
    let login =
        server.ask("mutation { login(input: { username: \"ada\", password: \"correct horse\" }) { token } }");
    let token = login["data"]["login"]["token"].as_str().unwrap();
    for round in 0..60 {
        let change = if round % 2 == 0 { "follow" } else { "unfollow" };
        let query =
            format!("mutation {{ {change}(input: {{ userId: \"VXNlcjoy\" }}) {{ userErrors {{ code }} }} }}");
        let body = json!({ "query": query }).to_string();
        let length = body.len();
        let mut stream = connected(&server.address);
        write!(stream, "POST /graphql HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}").unwrap();
    }
    let unfinished =
        || (0..16).map(|n| redis.raw::<u64>(&["ZCARD", &format!("ff:{{i{n}}}:intents")])).sum::<u64>();
    assert!(eventually(|| unfinished() == 0));
    assert_eq!(server.stop(), Some(0));
    let check = command(&["check", "--redis-url", &redis.url()]).status().unwrap();
    assert!(check.success());
}

#[test]
fn half_a_head_does_not_keep_a_server_from_stopping() {
    let redis = Redis::start();
    let mut server = Server::over(&redis, &["--http-shutdown-timeout", "3600"]);
    let mut stream = connected(&server.address);
    stream.write_all(b"G").unwrap();
    std::thread::sleep(Duration::from_millis(200));
    server.signal("-TERM");
    let mut ended = None;
    eventually(|| {
        ended = server.process.try_wait().unwrap();
        ended.is_some()
    });
    assert_eq!(ended.expect("it ends").code(), Some(0));
}

/// Number of posts of each user after which a server is stopped.
const BEGUN: usize = 5;

/// Publishes one post after the other, over a connection that is kept or over a new one for each, until there is no
/// response. Sends a message when some are confirmed. Returns the contents of the confirmed posts.
fn publish_until_it_ends(address: &str, token: &str, keeps: bool, begun: &Sender<()>) -> Vec<String> {
    let mut confirmed = Vec::new();
    let mut kept: Option<TcpStream> = None;
    for number in 0.. {
        let content = format!("post {number}");
        let query =
            format!("mutation {{ publish(input: {{ content: \"{content}\" }}) {{ post {{ id }} }} }}");
        let body = json!({ "query": query }).to_string();
        let connection = if keeps { "" } else { "connection: close\r\n" };
        let request = format!(
            "POST /graphql HTTP/1.1\r\nhost: localhost\r\n{connection}authorization: Bearer {token}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut exchange = || {
            let mut stream = match kept.take() {
                Some(stream) => stream,
                None => TcpStream::connect(address).ok()?,
            };
            // What has the address of a server that has ended may never respond.
            stream.set_read_timeout(Some(LIMIT)).ok()?;
            stream.write_all(request.as_bytes()).ok()?;
            let mut response = Vec::new();
            while !response.ends_with(b"}}}}") {
                let mut part = [0; 1_024];
                let read = stream.read(&mut part).ok().filter(|read| *read > 0)?;
                response.extend(&part[..read]);
            }
            Some((stream, String::from_utf8(response).unwrap()))
        };
        let Some((stream, response)) = exchange() else { break };
        assert!(response.starts_with("HTTP/1.1 200") && !response.contains("errors"), "{response}");
        confirmed.push(content);
        if confirmed.len() == BEGUN {
            begun.send(()).unwrap();
        }
        kept = keeps.then_some(stream).filter(|_| !response.to_lowercase().contains("connection: close"));
    }
    confirmed
}

#[test]
fn a_server_that_is_stopped_under_load_completes_accepted_requests_and_loses_no_confirmed_ones() {
    let redis = Redis::start();
    for round in 0..3 {
        let server = Server::over(&redis, &[]);
        let names: Vec<String> = (0..8).map(|number| format!("ann{round}_{number}")).collect();
        let tokens: Vec<String> = names.iter().map(|name| server.token(name)).collect();
        let (begun, have_begun) = channel();
        let confirmed: Vec<Vec<String>> = std::thread::scope(|scope| {
            let publishing: Vec<_> = tokens
                .iter()
                .enumerate()
                .map(|(number, token)| {
                    let (address, begun) = (server.address.clone(), begun.clone());
                    scope.spawn(move || publish_until_it_ends(&address, token, number % 2 == 0, &begun))
                })
                .collect();
            for _ in &names {
                have_begun.recv_timeout(LIMIT).expect("all users publish");
            }
            server.signal("-TERM");
            publishing.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(server.end(), Some(0));
        assert!(confirmed.iter().all(|confirmed| confirmed.len() >= BEGUN));

        let server = Server::over(&redis, &[]);
        for (name, confirmed) in names.iter().zip(confirmed) {
            let posts = "posts(first: 100) { totalCount nodes { content } }";
            let response = server.ask(&format!("{{ user(by: {{ username: \"{name}\" }}) {{ {posts} }} }}"));
            let posts = &response["data"]["user"]["posts"];
            // A request without a response was not executed.
            assert_eq!(
                posts["totalCount"],
                confirmed.len(),
                "{name} has {} confirmed posts",
                confirmed.len()
            );
            assert_eq!(posts["nodes"][0]["content"].as_str(), confirmed.last().map(String::as_str));
        }
        assert_eq!(server.stop(), Some(0));
    }
}

#[test]
fn any_path_works_as_a_data_directory_and_others_cannot_read_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let data = tempfile::tempdir().unwrap();
    let directory = data.path().join("a b#c?d%41 [x]*{y} '\"é\"");
    let server =
        Server::start(&["serve", "--http-listen", "127.0.0.1:0", "--data-dir", directory.to_str().unwrap()]);
    server.register("ada");
    let mode = std::fs::metadata(directory.join("redis")).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0);
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn a_server_that_is_stopped_while_it_starts_leaves_nothing_behind() {
    let data = tempfile::tempdir().unwrap();
    for wait in [0, 5, 20, 60] {
        let arguments =
            ["serve", "--http-listen", "127.0.0.1:0", "--data-dir", data.path().to_str().unwrap()];
        let mut process = command(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(wait));
        Command::new("kill").args(["-TERM", &process.id().to_string()]).status().unwrap();
        process.wait().unwrap();
        assert!(eventually(|| !redis_runs(data.path())), "stopped after {wait} ms");
    }
    let server = Server::on(&data);
    server.register("ada");
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn a_command_that_cannot_print_anything_still_stops_what_it_started() {
    let data = tempfile::tempdir().unwrap();
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let directory = data.path().to_str().unwrap();
    let listen = ["serve", "--http-listen", "127.0.0.1:0", "--data-dir", directory];
    for arguments in
        [&listen[..], &["check", "--data-dir", directory], &["demo", "--users", "5", "--data-dir", directory]]
    {
        let output = command(arguments).stdout(full.try_clone().unwrap()).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(!redis_runs(data.path()), "{arguments:?}");
    }
}

/// Starts a server through a program of the system that sets its signals. Returns its log as well.
fn server_by(program: &str, arguments: &[&str], input: Stdio, data: &TempDir) -> (Server, NamedTempFile) {
    let serve = [env!("CARGO_BIN_EXE_fanfold"), "serve", "--http-listen", "127.0.0.1:0", "--data-dir"];
    let (mut command, log) = (Command::new(program), NamedTempFile::new().unwrap());
    let command = command.args(arguments).args(serve).arg(data.path()).stdin(input);
    (Server::run_logging(command, log.reopen().unwrap().into()), log)
}

/// Returns how often a service has logged that it ignores SIGHUP.
fn ignored_hangups(log: &NamedTempFile) -> usize {
    let log = std::fs::read_to_string(log.path()).unwrap();
    log.matches("SIGHUP is ignored: there is nothing to reload").count()
}

#[test]
fn a_server_that_is_interrupted_stops_its_redis() {
    for signal in ["-INT", "-QUIT"] {
        let data = tempfile::tempdir().unwrap();
        // The tests may have been started by `nohup`.
        let (server, _) = server_by("env", &["--default-signal"], Stdio::null(), &data);
        server.signal(signal);
        assert_eq!(server.end(), Some(0), "{signal}");
        assert!(!redis_runs(data.path()), "{signal}");
    }
}

/// Opens a terminal; returns the end that its window holds, and the end for a program.
fn terminal() -> (OwnedFd, OwnedFd) {
    // Without CLOEXEC, programs that other tests start would keep the window open.
    let window = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&window).unwrap();
    unlockpt(&window).unwrap();
    let path = ptsname(&window, Vec::new()).unwrap();
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    (window, rustix::fs::open(path, flags, Mode::empty()).unwrap())
}

#[test]
fn a_server_ends_with_its_terminal_but_not_on_a_signal_from_an_operator() {
    let data = tempfile::tempdir().unwrap();
    let (window, input) = terminal();
    let (server, log) = server_by("setsid", &["--ctty", "env", "--default-signal"], input.into(), &data);
    server.signal("-HUP");
    assert!(eventually(|| ignored_hangups(&log) == 1));
    assert!(server.register("ada")["data"]["register"]["viewer"].is_object());
    drop(window);
    assert_eq!(server.end(), Some(0));
    assert!(!redis_runs(data.path()));
}

#[test]
fn services_outlive_a_hangup_signal_that_no_terminal_has_sent() {
    let data = tempfile::tempdir().unwrap();
    let directory = data.path().to_str().unwrap();
    let services: [&[&str]; 3] =
        [&["serve", "--http-listen", "127.0.0.1:0"], &["deliver"], &["archive", "run"]];
    for service in services {
        let log = NamedTempFile::new().unwrap();
        // Without a terminal, even if the tests have one.
        let mut command = Command::new("setsid");
        command.arg(env!("CARGO_BIN_EXE_fanfold")).args(service).args(["--data-dir", directory]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log.reopen().unwrap());
        let mut process = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let id = process.id().to_string();
        let kill = |signal: &str| Command::new("kill").args([signal, id.as_str()]).status().unwrap();
        for count in 1..=2 {
            kill("-HUP");
            assert!(eventually(|| ignored_hangups(&log) == count), "{service:?}");
        }
        kill("-TERM");
        assert_eq!(process.wait().unwrap().code(), Some(0), "{service:?}");
    }
}

#[test]
fn a_server_that_is_started_by_nohup_outlives_its_terminal() {
    let data = tempfile::tempdir().unwrap();
    let (window, input) = terminal();
    let (server, _) = server_by("setsid", &["--ctty", "nohup"], input.into(), &data);
    drop(window);
    std::thread::sleep(Duration::from_secs(1));
    assert!(server.register("ada")["data"]["register"]["viewer"].is_object());
    assert_eq!(server.stop(), Some(0));
    assert!(!redis_runs(data.path()));
}
