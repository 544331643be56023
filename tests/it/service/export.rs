//! Exports over the network and by the command line: what logs do not contain, and files that are continued.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Output;

use serde_json::Value;
use tempfile::TempDir;

use crate::harness::feed::follow;
use crate::harness::server::{Logged, Server, command};
use crate::harness::world::{PASSWORD, Redis};

/// Requests an export; returns the path of its download.
fn request(server: &Server, token: &str) -> String {
    let input = format!("currentPassword: \"{PASSWORD}\"");
    let mutation = format!("mutation {{ exportAccount(input: {{ {input} }}) {{ exportPath }} }}");
    let mut response = server.ask_as(token, &mutation);
    response["data"]["exportAccount"]["exportPath"].take().as_str().unwrap().to_owned()
}

fn publish(server: &Server, token: &str, count: usize) {
    for number in 0..count {
        let input = format!("content: \"post {number} ü\"");
        let done = server
            .ask_as(token, &format!("mutation {{ publish(input: {{ {input} }}) {{ post {{ id }} }} }}"));
        assert!(done["errors"].is_null(), "{done}");
    }
}

#[test]
fn neither_the_token_nor_the_password_is_logged_whatever_the_log_level() {
    let redis = Redis::start();
    let logged = Logged::start(&redis, &["--log-format", "json", "--log-filter", "trace", "--log-requests"]);
    let server = &logged.server;
    let ada = server.token("ada");
    let path = request(server, &ada);
    let token = path.strip_prefix("/export/").unwrap();
    let (status, body) = server.send(&format!("GET {path}"), "");
    assert!(status == 200 && body.contains("{\"type\":\"end\"}"), "{status} {body}");
    assert_eq!(server.send(&format!("GET {path}?after=x"), "").0, 400);
    assert_eq!(server.send(&format!("GET {path}x"), "").0, 404);
    assert_eq!(server.send(&format!("POST {path}"), "").0, 405);
    let statuses = |lines: &[Value]| -> Vec<u64> {
        let answered = lines.iter().filter(|line| line["fields"]["message"] == "answered");
        answered.filter_map(|line| line["fields"]["status"].as_u64()).collect()
    };
    assert_eq!(statuses(&logged.lines()), [200, 200, 200, 400, 404], "{}", logged.log());
    let log = logged.log();
    assert!(!log.contains(token) && !log.contains(PASSWORD), "{log}");
}

fn run(redis: &Redis, arguments: &[&str]) -> Output {
    let beside = ["--redis-url", &redis.url(), "--data-dir", redis.directory()];
    command(&[&["user", "export"], arguments, &beside].concat()).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// Runs the command, which must fail, and returns its error.
fn fail(redis: &Redis, arguments: &[&str]) -> String {
    let output = run(redis, arguments);
    assert_eq!(output.status.code(), Some(1), "{arguments:?}");
    text(&output.stderr).trim_end().to_owned()
}

#[test]
fn the_command_writes_what_the_server_sends_and_continues_a_file_that_was_cut() {
    let redis = Redis::start();
    let server = Server::over(&redis, &["--post-hot-limit", "20"]);
    let [ada, bob] = ["ada", "bob"].map(|name| server.token(name));
    publish(&server, &ada, 120);
    let (_, downloaded) = server.send(&format!("GET {}", request(&server, &ada)), "");
    let printed = run(&redis, &["Ada"]);
    let whole = text(&printed.stdout).to_owned();
    assert!(printed.status.success(), "{}", text(&printed.stderr));
    assert_eq!(whole.lines().count(), 123);
    for line in whole.lines() {
        assert!(downloaded.contains(line), "{line}");
    }
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("ada.jsonl");
    let file = path.to_str().unwrap();
    let export = |arguments: &[&str]| {
        let output = run(&redis, &[&["ada", "--output", file], arguments].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert_eq!(text(&output.stdout).trim_end(), format!("exported ada (#1) to {file}"));
        assert_eq!(fs::read_to_string(&path).unwrap(), whole);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    };
    export(&[]);
    let complete = fail(&redis, &["ada", "--output", file]);
    let force = "pass --force to replace it";
    assert_eq!(complete, format!("error: {file} is a complete export of ada; {force}"));
    export(&["--force"]);
    // Cut at the end of a line, within a line, within a character, and within the last line.
    let line = whole.find('\n').unwrap() + 1;
    let character = whole.find('ü').unwrap() + 1;
    for length in [0, line, line + 10, character, whole.len() / 2, whole.len() - 1] {
        fs::write(&path, &whole.as_bytes()[..length]).unwrap();
        export(&[]);
    }
    let foreign = format!("error: {file} exists, and is not an export of ada; {force}");
    let of_bob = run(&redis, &["bob"]).stdout;
    for content in [&b"something\nelse\n"[..], b"{}", &of_bob, &whole.as_bytes()[..20]] {
        fs::write(&path, content).unwrap();
        assert_eq!(fail(&redis, &["ada", "--output", file]), foreign);
        assert_eq!(fs::read(&path).unwrap(), content, "the file is unchanged");
    }
    let missing = directory.path().join("none").join("x");
    assert!(
        fail(&redis, &["ada", "--output", missing.to_str().unwrap()]).starts_with("error: cannot write ")
    );
    assert_eq!(fail(&redis, &["cem"]), "error: there is no user cem");
    drop(bob);
}

#[test]
fn the_data_of_suspended_users_is_exported_by_the_command_alone() {
    let redis = Redis::start();
    let server = Server::over(&redis, &[]);
    let (ada, ben) = (server.token("ada"), server.token("ben"));
    publish(&server, &ada, 3);
    follow(&server, &ada, "ben");
    follow(&server, &ben, "ada");
    let path = request(&server, &ada);
    let suspend = ["user", "suspend", "ada", "--redis-url", &redis.url(), "--data-dir", redis.directory()];
    assert!(command(&suspend).output().unwrap().status.success());
    assert_eq!(server.send(&format!("GET {path}"), "").0, 404);
    let output = run(&redis, &["#1"]).stdout;
    let lines: Vec<Value> = text(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines[0]["username"] == "ada" && lines[0]["suspendedAt"].is_string(), "{}", lines[0]);
    assert_eq!(lines.iter().filter(|line| line["type"] == "post").count(), 3);
    assert_eq!(lines.iter().filter(|line| line["type"] == "session").count(), 0, "the sessions have ended");
    for kind in ["following", "follower"] {
        assert!(lines.iter().any(|line| line["type"] == kind && line["username"] == "ben"), "{kind}");
    }
}
