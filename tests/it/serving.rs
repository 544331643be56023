//! The server as a process: how it starts, what it takes over, how it ends.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use fanfold::app::App;
use fanfold::app::post::NewPost;
use fanfold::model::id::{PostId, UserId};
use fanfold::model::post::Content;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::graph::Graph;
use crate::world::{Redis, StillClock, app};

/// A running `fanfold serve`.
struct Server {
    process: Child,
    address: String,
}

impl Server {
    fn start(arguments: &[&str]) -> Self {
        let mut process = command(arguments).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address =
            line.trim().strip_prefix("Fanfold listens on http://").expect("it says where it listens");
        Self { process, address: address.trim_end_matches('/').to_owned() }
    }

    fn on(data_dir: &TempDir) -> Self {
        Self::start(&["serve", "--listen", "127.0.0.1:0", "--data-dir", data_dir.path().to_str().unwrap()])
    }

    /// Sends a request by hand; returns the status and the body.
    fn send(&self, head: &str, body: &str) -> (u16, String) {
        self.send_with(head, "", body)
    }

    /// With more lines of the head.
    fn send_with(&self, head: &str, more: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let length = body.len();
        write!(stream, "{head} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{more}content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let status = answer[9..12].parse().unwrap();
        (status, answer.split_once("\r\n\r\n").unwrap().1.to_owned())
    }

    fn ask(&self, query: &str) -> Value {
        let (_, body) = self.send("POST /graphql", &json!({ "query": query }).to_string());
        serde_json::from_str(&body).unwrap()
    }

    fn ask_as(&self, token: &str, query: &str) -> Value {
        let authorization = format!("authorization: Bearer {token}\r\n");
        let body = json!({ "query": query }).to_string();
        serde_json::from_str(&self.send_with("POST /graphql", &authorization, &body).1).unwrap()
    }

    /// The token of somebody new.
    fn token(&self, username: &str) -> String {
        let input = format!("username: \"{username}\", password: \"correct horse\"");
        let answer = self.ask(&format!("mutation {{ register(input: {{ {input} }}) {{ token }} }}"));
        answer["data"]["register"]["token"].as_str().expect("is registered").to_owned()
    }

    fn register(&self, username: &str) -> Value {
        let input = format!("username: \"{username}\", password: \"correct horse\"");
        self.ask(&format!(
            "mutation {{ register(input: {{ {input} }}) {{ viewer {{ user {{ username }} }} }} }}"
        ))
    }

    fn knows(&self, username: &str) -> bool {
        let answer = self.ask(&format!("{{ user(by: {{ username: \"{username}\" }}) {{ username }} }}"));
        answer["data"]["user"]["username"] == username
    }

    fn signal(&self, signal: &str) {
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
    }

    /// Asks it to end, and tells its exit code.
    fn stop(self) -> Option<i32> {
        self.signal("-TERM");
        self.end()
    }

    /// Waits for its end, and tells its exit code.
    fn end(mut self) -> Option<i32> {
        self.process.wait().unwrap().code()
    }

    fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fanfold"));
    command.args(arguments).stdin(Stdio::null());
    command
}

fn fails(arguments: &[&str]) -> String {
    let output = command(arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    String::from_utf8(output.stderr).unwrap()
}

/// Whether a Redis answers on the socket of a data directory.
fn redis_runs(data_dir: &Path) -> bool {
    let client =
        redis::Client::open(format!("unix:{}", data_dir.join("redis/redis.sock").display())).unwrap();
    client.get_connection().is_ok()
}

/// The number of the process of that Redis.
fn redis_process(data_dir: &Path) -> String {
    let client =
        redis::Client::open(format!("unix:{}", data_dir.join("redis/redis.sock").display())).unwrap();
    let info: redis::InfoDict = redis::cmd("INFO").query(&mut client.get_connection().unwrap()).unwrap();
    info.get("process_id").unwrap()
}

fn eventually(condition: impl Fn() -> bool) -> bool {
    (0..200).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        condition()
    })
}

#[test]
fn without_a_redis_it_starts_one_and_stops_it_and_the_data_stay() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::on(&data);
    assert_eq!(server.send("GET /healthz", ""), (200, "ok\n".to_owned()));
    assert_eq!(server.send("GET /readyz", ""), (200, "ready\n".to_owned()));
    assert_eq!(server.send("GET /schema.graphql", "").1, include_str!("../../schema.graphql"));
    assert!(server.send("GET /", "").1.contains("<html"));
    server.register("ada");
    assert!(redis_runs(data.path()));
    assert_eq!(server.stop(), Some(0));
    assert!(!redis_runs(data.path()));

    let server = Server::on(&data);
    assert!(server.knows("ada"));
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
    assert!(server.knows("ada"));
    assert_eq!(server.stop(), Some(0));
    assert!(eventually(|| !redis_runs(data.path())));
}

#[test]
fn a_second_server_on_one_data_directory_is_refused_and_other_commands_work_beside_it() {
    let data = tempfile::tempdir().unwrap();
    let directory = data.path().to_str().unwrap();
    let server = Server::on(&data);
    let said = fails(&["serve", "--listen", "127.0.0.1:0", "--data-dir", directory]);
    let number = server.process.id();
    assert!(said.contains(&format!("is in use by another fanfold process (number {number})")), "{said}");

    let demo = command(&["demo", "--users", "20", "--data-dir", directory]).output().unwrap();
    assert!(demo.status.success(), "{}", String::from_utf8_lossy(&demo.stderr));
    assert!(server.knows("ada"));
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn a_redis_that_dies_is_started_again() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::on(&data);
    server.register("ada");
    // What was written a second ago is on disk.
    std::thread::sleep(Duration::from_millis(1_500));
    let process = redis_process(data.path());
    assert!(Command::new("kill").args(["-9", &process]).status().unwrap().success());
    assert!(eventually(|| server.send("GET /readyz", "").0 == 200 && redis_process(data.path()) != process));
    assert!(server.knows("ada"));
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn without_a_program_to_start_it_says_how_to_install_one() {
    let data = tempfile::tempdir().unwrap();
    let output = command(&["serve", "--listen", "127.0.0.1:0", "--data-dir", data.path().to_str().unwrap()])
        .env("PATH", "")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("apt install redis-server") && said.contains("--redis-url"), "{said}");
}

#[test]
fn places_that_cannot_be_used_are_named() {
    let data = tempfile::tempdir().unwrap();
    let long = data.path().join("x".repeat(100));
    let said = fails(&["serve", "--listen", "127.0.0.1:0", "--data-dir", long.to_str().unwrap()]);
    assert!(said.contains("the path of the data directory is too long"), "{said}");
    let file = data.path().join("file");
    std::fs::write(&file, "").unwrap();
    let said = fails(&["serve", "--listen", "127.0.0.1:0", "--data-dir", file.to_str().unwrap()]);
    assert!(said.contains("cannot be used"), "{said}");

    let redis = Redis::start();
    let server = Server::start(&["serve", "--listen", "127.0.0.1:0", "--redis-url", &redis.url()]);
    let said = fails(&["serve", "--listen", &server.address, "--redis-url", &redis.url()]);
    assert!(said.contains("cannot listen on") && said.contains("--listen"), "{said}");
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn requests_under_way_are_answered_before_it_ends() {
    let redis = Redis::start();
    let server = Server::start(&["serve", "--listen", "127.0.0.1:0", "--redis-url", &redis.url()]);
    let mut stream = TcpStream::connect(&server.address).unwrap();
    let body = json!({ "query": "{ viewer { user { id } } }" }).to_string();
    let length = body.len();
    write!(stream, "POST /graphql HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n").unwrap();
    std::thread::sleep(Duration::from_millis(300));
    server.signal("-TERM");
    std::thread::sleep(Duration::from_millis(300));
    assert!(TcpStream::connect(&server.address).is_err(), "it takes no new connections");
    stream.write_all(body.as_bytes()).unwrap();
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200");
    drop(stream);
    assert_eq!(server.end(), Some(0));
}

#[test]
fn when_redis_is_away_it_says_so_and_comes_back_with_it() {
    let mut redis = Redis::start();
    let server = Server::start(&["serve", "--listen", "127.0.0.1:0", "--redis-url", &redis.url()]);
    server.register("ada");
    redis.pause(true);
    assert_eq!(server.send("GET /healthz", "").0, 200);
    assert_eq!(server.send("GET /readyz", "").0, 503);
    redis.pause(false);
    assert!(server.knows("ada"));
    redis.restart_empty();
    assert!(!server.knows("ada"));
    assert_eq!(server.register("ada")["data"]["register"]["viewer"]["user"]["username"], "ada");
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn a_client_that_goes_away_leaves_no_change_half_done() {
    let redis = Redis::start();
    let server = Server::start(&["serve", "--listen", "127.0.0.1:0", "--redis-url", &redis.url()]);
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
        let mut stream = TcpStream::connect(&server.address).unwrap();
        write!(stream, "POST /graphql HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}").unwrap();
    }
    let unfinished =
        || (0..16).map(|n| redis.raw::<u64>(&["ZCARD", &format!("ff:{{i{n}}}:intents")])).sum::<u64>();
    assert!(eventually(|| unfinished() == 0));
    assert_eq!(server.stop(), Some(0));
    let check = command(&["check", "--redis-url", &redis.url()]).status().unwrap();
    assert!(check.success());
}

#[test]
fn any_path_will_do_for_a_data_directory_and_others_cannot_look_into_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let data = tempfile::tempdir().unwrap();
    let directory = data.path().join("a b#c?d%41 [x]*{y} '\"é\"");
    let server =
        Server::start(&["serve", "--listen", "127.0.0.1:0", "--data-dir", directory.to_str().unwrap()]);
    server.register("ada");
    let mode = std::fs::metadata(directory.join("redis")).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0);
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn a_server_that_is_stopped_while_it_starts_leaves_nothing_behind() {
    let data = tempfile::tempdir().unwrap();
    for wait in [0, 5, 20, 60] {
        let arguments = ["serve", "--listen", "127.0.0.1:0", "--data-dir", data.path().to_str().unwrap()];
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
fn a_command_that_cannot_say_anything_still_stops_what_it_started() {
    let data = tempfile::tempdir().unwrap();
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let directory = data.path().to_str().unwrap();
    let listen = ["serve", "--listen", "127.0.0.1:0", "--data-dir", directory];
    for arguments in
        [&listen[..], &["check", "--data-dir", directory], &["demo", "--users", "5", "--data-dir", directory]]
    {
        let output = command(arguments).stdout(full.try_clone().unwrap()).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(!redis_runs(data.path()), "{arguments:?}");
    }
}

#[test]
fn a_terminal_that_closes_stops_the_server_and_its_redis() {
    for signal in ["-HUP", "-INT", "-QUIT"] {
        let data = tempfile::tempdir().unwrap();
        let server = Server::on(&data);
        server.signal(signal);
        assert_eq!(server.end(), Some(0), "{signal}");
        assert!(!redis_runs(data.path()), "{signal}");
    }
}

/// A process that delivers, and says so.
fn deliver(redis: &Redis) -> Child {
    let arguments = ["deliver", "--redis-url", &redis.url()];
    let mut process = command(&arguments).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "Fanfold delivers\n");
    process
}

/// An author with so many followers, all of whom have a timeline.
async fn audience(redis: &Redis, followers: usize) -> (App, UserId) {
    let app = app(redis, &StillClock::new(), &["--timeline-push-limit", "1000000"]).await;
    let graph =
        Graph { users: followers + 1, follows: (1..=followers).map(|follower| (follower, 0)).collect() };
    let ids = graph.load(&app, None).await;
    // Timelines as they are when their owners have read them, and there was nothing to read.
    let open =
        "for user = ARGV[1], ARGV[2] do redis.call('RPUSH', 'ff:{u' .. user .. '}:timeline', '=1:0:1:0') end";
    redis.raw::<()>(&["EVAL", open, "0", "2", &(followers + 1).to_string()]);
    (app, ids[0])
}

async fn publish(app: &App, author: UserId) -> PostId {
    let content = Content::parse("hello").unwrap();
    let post = NewPost { author, content, platform: None, created_at: Graph::time(0) };
    app.import_posts(&[post]).await.unwrap()[0]
}

/// Waits until a delivery is in the middle.
fn until_begun(redis: &Redis) {
    let progress = || redis.raw::<Option<String>>(&["HGET", "ff:{f1}:fanout:progress", "deliver:1"]);
    while progress().is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// How many followers have the post once, and how many more than once.
fn receivers(redis: &Redis, followers: usize, post: PostId) -> (u64, u64) {
    let count = "local once, more = 0, 0
        for user = 2, ARGV[1] + 1 do
            local list, found = redis.call('LRANGE', 'ff:{u' .. user .. '}:timeline', 0, -2), 0
            for _, post in ipairs(list) do if post == ARGV[2] then found = found + 1 end end
            if found == 1 then once = once + 1 elseif found > 1 then more = more + 1 end
        end
        return { once, more }";
    redis.raw(&["EVAL", count, "0", &followers.to_string(), &post.to_string()])
}

#[tokio::test]
async fn a_delivery_that_is_killed_in_the_middle_is_finished_by_another_server() {
    const FOLLOWERS: usize = 50_000;
    let redis = Redis::start();
    let (app, author) = audience(&redis, FOLLOWERS).await;
    let serve = || {
        let listen = ["serve", "--listen", "127.0.0.1:0", "--timeline-push-limit", "1000000"];
        Server::start(&[&listen[..], &["--redis-url", &redis.url()]].concat())
    };
    let (one, other) = (serve(), serve());
    other.signal("-STOP");
    let post = publish(&app, author).await;
    until_begun(&redis);
    one.kill();
    let (some, _) = receivers(&redis, FOLLOWERS, post);
    assert!(0 < some && some < FOLLOWERS as u64, "it was killed in the middle: {some}");
    other.signal("-CONT");
    assert!(eventually(|| redis.raw::<u64>(&["XLEN", "ff:{f1}:fanout"]) == 0));
    assert_eq!(receivers(&redis, FOLLOWERS, post), (FOLLOWERS as u64, 0));
    let delivery: String = redis.raw(&["HGET", "ff:{p1}:post", "delivery"]);
    assert_eq!(delivery, format!("delivered:{FOLLOWERS}"));
    assert_eq!(app.backlog().await.unwrap().jobs, 0);
    assert_eq!(other.stop(), Some(0));
}

#[tokio::test]
async fn a_delivery_that_is_stopped_is_given_to_another_process_at_once() {
    const FOLLOWERS: usize = 50_000;
    let redis = Redis::start();
    let (app, author) = audience(&redis, FOLLOWERS).await;
    let post = publish(&app, author).await;
    let mut one = deliver(&redis);
    until_begun(&redis);
    Command::new("kill").arg(one.id().to_string()).status().unwrap();
    assert_eq!(one.wait().unwrap().code(), Some(0));
    assert!(receivers(&redis, FOLLOWERS, post).0 < FOLLOWERS as u64);
    // Without waiting until it counts as dead.
    let drained = command(&["deliver", "--until-empty", "--redis-url", &redis.url()]).output().unwrap();
    let said = String::from_utf8_lossy(&drained.stdout);
    assert_eq!(said, "left for later: 0\ngiven up:       0\n");
    assert_eq!(receivers(&redis, FOLLOWERS, post), (FOLLOWERS as u64, 0));
}

#[test]
fn a_server_delivers_by_itself_unless_told_not_to_and_tells_how_it_goes() {
    let redis = Redis::start();
    let serve = |deliver: &str| {
        Server::start(&[
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--redis-url",
            &redis.url(),
            "--deliver",
            deliver,
        ])
    };
    let metric = |server: &Server, name: &str| -> u64 {
        let (status, metrics) = server.send("GET /metrics", "");
        assert_eq!(status, 200);
        let line = metrics.lines().find(|line| line.starts_with(name)).expect("is measured");
        line.rsplit(' ').next().unwrap().parse().unwrap()
    };
    let idle = serve("off");
    let (ada, bob) = (idle.token("ada"), idle.token("bob"));
    let read = "{ viewer { timeline { nodes { content } } } }";
    idle.ask_as(&bob, "mutation { follow(input: { userId: \"VXNlcjox\" }) { userErrors { message } } }");
    idle.ask_as(&bob, read);
    idle.ask_as(&ada, "mutation { publish(input: { content: \"hello\" }) { userErrors { message } } }");
    assert_eq!(idle.ask_as(&bob, read)["data"]["viewer"]["timeline"]["nodes"], json!([]));
    assert_eq!((metric(&idle, "fanfold_fanout_jobs "), metric(&idle, "fanfold_deliveries_total ")), (1, 0));

    let busy = serve("on");
    assert!(eventually(|| metric(&idle, "fanfold_fanout_jobs ") == 0));
    assert_eq!(metric(&idle, "fanfold_deliveries_total "), 1);
    let nodes = idle.ask_as(&bob, read)["data"]["viewer"]["timeline"]["nodes"].take();
    assert_eq!(nodes, json!([{ "content": "hello" }]));
    assert_eq!(busy.stop(), Some(0));
    redis.pause(true);
    assert_eq!(idle.send("GET /metrics", "").0, 503);
    redis.pause(false);
    assert_eq!(idle.stop(), Some(0));
}
