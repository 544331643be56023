//! The program as processes: servers on a port, with requests written by hand.

use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::{NamedTempFile, TempDir};

use crate::harness::cluster::Cluster;
use crate::harness::port::is_about_address_in_use;
use crate::harness::reach::note_server;
use crate::harness::wait::LIMIT;
pub(crate) use crate::harness::wait::eventually;
use crate::harness::world::Redis;

/// A running `fanfold serve`.
pub(crate) struct Server {
    pub(crate) process: Child,
    pub(crate) address: String,
    /// The address of its admin listener; empty if there is none.
    pub(crate) admin: String,
}

impl Server {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::run(&mut command(arguments))
    }

    /// Runs a command that starts a server.
    pub(crate) fn run(command: &mut Command) -> Self {
        Self::run_logging(command, Stdio::null())
    }

    /// The same, with a destination for its log.
    pub(crate) fn run_logging(command: &mut Command, log: Stdio) -> Self {
        Self::begin(command, log).expect("it prints its address")
    }

    /// The same, with ports that the test has chosen. Returns `None` if one of them is in use.
    pub(crate) fn run_if_free(command: &mut Command) -> Option<Self> {
        let log = NamedTempFile::new().unwrap();
        let server = Self::begin(command, Stdio::from(log.reopen().unwrap()));
        let log = std::fs::read_to_string(log.path()).unwrap();
        assert!(server.is_some() || is_about_address_in_use(&log), "a server has ended: {log}");
        server
    }

    /// Starts a server, and waits until it listens. Returns `None` if it has ended before.
    fn begin(command: &mut Command, log: Stdio) -> Option<Self> {
        let mut process = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        let mut line = String::new();
        if output.read_line(&mut line).unwrap() == 0 {
            process.wait().unwrap();
            return None;
        }
        // Both lines are printed at once.
        let rest = String::from_utf8(output.buffer().to_vec()).unwrap();
        let after = |line: &str, beginning: &str| {
            let address = line.trim().strip_prefix(beginning)?;
            Some(address.trim_start_matches("http://").trim_end_matches('/').to_owned())
        };
        let address = after(&line, "Fanfold listens on ").expect("it prints its address");
        let admin = after(&rest, "Metrics and probes are on ").unwrap_or_default();
        Some(Self { process, address, admin })
    }

    pub(crate) fn on(data_dir: &TempDir) -> Self {
        Self::start(&[
            "serve",
            "--http-listen",
            "127.0.0.1:0",
            "--data-dir",
            data_dir.path().to_str().unwrap(),
        ])
    }

    /// Starts a server over this Redis, with an archive beside it.
    pub(crate) fn over(redis: &Redis, options: &[&str]) -> Self {
        Self::at(&redis.url(), redis.directory(), options)
    }

    /// Starts a server over the Redis at this address, with an archive in this directory.
    pub(crate) fn at(url: &str, directory: &str, options: &[&str]) -> Self {
        let fixed = ["serve", "--http-listen", "127.0.0.1:0", "--redis-url", url, "--data-dir", directory];
        Self::start(&[&fixed, options].concat())
    }

    /// Returns the URL of the API.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/graphql", self.address)
    }

    /// Sends a request by hand; returns the status and the body.
    pub(crate) fn send(&self, head: &str, body: &str) -> (u16, String) {
        self.send_with(head, "", body)
    }

    /// The same, with more lines of the head.
    pub(crate) fn send_with(&self, head: &str, more: &str, body: &str) -> (u16, String) {
        exchange(&self.address, head, more, body)
    }

    /// Requests a page of the admin listener; returns the status and the body.
    pub(crate) fn page(&self, path: &str) -> (u16, String) {
        exchange(&self.admin, &format!("GET {path}"), "", "")
    }

    /// Returns a page of the admin listener, if it is sent soon.
    pub(crate) fn try_page(&self, path: &str) -> Option<String> {
        let mut stream = TcpStream::connect(&self.admin).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
        write!(stream, "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").ok()?;
        let mut page = String::new();
        stream.read_to_string(&mut page).ok()?;
        Some(page)
    }

    /// Returns the number of round trips to Redis of this purpose that the server has made.
    pub(crate) fn round_trips(&self, step: &str) -> u64 {
        let (_, metrics) = self.page("/metrics");
        let name = format!("fanfold_redis_seconds_count{{step=\"{step}\"}} ");
        metrics.lines().find_map(|line| line.strip_prefix(&name)).map_or(0, |count| count.parse().unwrap())
    }

    pub(crate) fn ask(&self, query: &str) -> Value {
        let (_, body) = self.send("POST /graphql", &json!({ "query": query }).to_string());
        serde_json::from_str(&body).unwrap()
    }

    pub(crate) fn ask_as(&self, token: &str, query: &str) -> Value {
        let authorization = format!("authorization: Bearer {token}\r\n");
        let body = json!({ "query": query }).to_string();
        serde_json::from_str(&self.send_with("POST /graphql", &authorization, &body).1).unwrap()
    }

    /// Registers a user, and returns their token.
    pub(crate) fn token(&self, username: &str) -> String {
        let input = format!("username: \"{username}\", password: \"correct horse\"");
        let response = self.ask(&format!("mutation {{ register(input: {{ {input} }}) {{ token }} }}"));
        response["data"]["register"]["token"].as_str().expect("is registered").to_owned()
    }

    pub(crate) fn register(&self, username: &str) -> Value {
        let input = format!("username: \"{username}\", password: \"correct horse\"");
        self.ask(&format!(
            "mutation {{ register(input: {{ {input} }}) {{ viewer {{ user {{ username }} }} }} }}"
        ))
    }

    pub(crate) fn has_user(&self, username: &str) -> bool {
        let response = self.ask(&format!("{{ user(by: {{ username: \"{username}\" }}) {{ username }} }}"));
        response["data"]["user"]["username"] == username
    }

    pub(crate) fn signal(&self, signal: &str) {
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
    }

    /// Asks it to end, and returns its exit code.
    pub(crate) fn stop(self) -> Option<i32> {
        note_server(&self);
        self.signal("-TERM");
        self.end()
    }

    /// Waits for its end, and returns its exit code.
    pub(crate) fn end(mut self) -> Option<i32> {
        let mut code = None;
        let has_ended = || {
            code = self.process.try_wait().unwrap();
            code.is_some()
        };
        assert!(eventually(has_ended), "the server ends");
        code.unwrap().code()
    }

    pub(crate) fn kill(mut self) {
        note_server(&self);
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        note_server(self);
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A server whose log goes to a file.
pub(crate) struct Logged {
    pub(crate) server: Server,
    log: NamedTempFile,
}

impl Logged {
    pub(crate) fn start(redis: &Redis, options: &[&str]) -> Self {
        let log = NamedTempFile::new().unwrap();
        let (url, directory) = (redis.url(), redis.directory());
        let fixed = ["serve", "--http-listen", "127.0.0.1:0", "--redis-url", &url, "--data-dir", directory];
        let mut command = command(&[&fixed, options].concat());
        let server = Server::run_logging(&mut command, Stdio::from(log.reopen().unwrap()));
        Self { server, log }
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.log.path()).unwrap()
    }

    /// Returns the lines of the log, each an object.
    pub(crate) fn lines(&self) -> Vec<Value> {
        self.log().lines().map(|line| serde_json::from_str(line).expect("every line is JSON")).collect()
    }
}

/// Connects to a listener of a server. A read that gets nothing fails in the end: the server may have ended, and another
/// program may have its address.
pub(crate) fn connected(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream
}

/// Sends a request by hand to an address, which may be that of a Unix socket; returns the status and the body.
pub(crate) fn exchange(address: &str, head: &str, more: &str, body: &str) -> (u16, String) {
    let length = body.len();
    let request = format!(
        "{head} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{more}content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    let response = match address.strip_prefix("unix:") {
        Some(path) => {
            let stream = UnixStream::connect(path).unwrap();
            stream.set_read_timeout(Some(LIMIT)).unwrap();
            response(stream, &request)
        }
        None => response(connected(address), &request),
    };
    let status = response[9..12].parse().unwrap();
    (status, response.split_once("\r\n\r\n").unwrap().1.to_owned())
}

/// Begins a request to the API, and returns once it is in progress: the server asks for its body.
pub(crate) fn begin_request(stream: &mut (impl Read + Write), body: &str) {
    const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
    let length = body.len();
    let head = format!(
        "POST /graphql HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut response = [0; CONTINUE.len()];
    stream.read_exact(&mut response).unwrap();
    assert_eq!(response, CONTINUE);
}

fn response(mut stream: impl Read + Write, request: &str) -> String {
    stream.write_all(request.as_bytes()).unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    response
}

pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fanfold"));
    command.args(arguments).stdin(Stdio::null());
    command
}

/// Starts a server over a cluster, with an archive in this directory.
pub(crate) fn serve(cluster: &Cluster, directory: &TempDir, options: &[&str]) -> Server {
    Server::at(&cluster.url(), directory.path().to_str().unwrap(), options)
}

/// Returns the bytes of memory that a server uses.
pub(crate) fn memory(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.process.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1_024
}

/// Returns the value of a metric; 0 if it is absent.
pub(crate) fn metric(server: &Server, name: &str) -> f64 {
    let (status, page) = server.page("/metrics");
    assert_eq!(status, 200);
    let line = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.map_or(0.0, |value| value.parse().unwrap())
}
