//! The commands of the operator as a moderator, beside a server.

use std::io::Write as _;
use std::process::{Command, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use crate::harness::server::Server;
use crate::harness::socket::Socket;
use crate::harness::world::{PASSWORD, Redis};

/// Runs a command with this standard input, and returns its exit code, its output and its errors.
fn run(redis: &Redis, arguments: &[&str], input: &str) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fanfold"));
    let data = ["--redis-url", &redis.url(), "--data-dir", redis.directory()];
    let command = command.args(arguments).args(data);
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = command.spawn().unwrap();
    // A command that reads no input may have closed it.
    let _ = process.stdin.take().unwrap().write_all(input.as_bytes());
    let output = process.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().trim_end().to_owned();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn succeed(redis: &Redis, arguments: &[&str]) -> String {
    let (code, output, errors) = run(redis, arguments, "");
    assert_eq!(code, Some(0), "{arguments:?}: {errors}");
    output
}

fn fail(redis: &Redis, arguments: &[&str]) -> (i32, String) {
    let (code, _, errors) = run(redis, arguments, "");
    (code.unwrap(), errors)
}

fn list(redis: &Redis, arguments: &[&str], name: &str) -> Vec<Value> {
    let output = succeed(redis, &[arguments, &["--json"]].concat());
    let mut printed: Value = serde_json::from_str(&output).unwrap();
    serde_json::from_value(printed[name].take()).unwrap()
}

fn names(users: &[Value]) -> Vec<&str> {
    users.iter().map(|user| user["username"].as_str().unwrap()).collect()
}

fn login(server: &Server, name: &str, password: &str) -> Value {
    let input = format!("username: \"{name}\", password: \"{password}\"");
    let done = server.ask(&format!("mutation {{ login(input: {{ {input} }}) {{ token }} }}"));
    done["data"]["login"]["token"].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_is_listed_suspended_and_unsuspended_and_open_sockets_are_closed() {
    let redis = Redis::start();
    let server = Server::over(&redis, &[]);
    let [ada, _] = ["ada", "bob"].map(|name| server.token(name));
    let users = list(&redis, &["user", "list"], "users");
    assert_eq!(names(&users), ["bob", "ada"]);
    let shown = ["number", "status", "isModerator", "sessions"].map(|field| users[1][field].clone());
    assert_eq!(shown, [json!(1), json!("active"), json!(false), json!(1)]);
    assert_eq!(succeed(&redis, &["user", "list", "--limit", "1"]).lines().count(), 2);
    let mut socket = Socket::acknowledged(&server, Some(&ada)).await;
    let suspend = ["user", "suspend", "Ada", "--note", "spam"];
    assert_eq!(succeed(&redis, &suspend), "suspended ada (#1)");
    assert_eq!(socket.receive().await, json!([4403, "The session has ended"]));
    assert!(!server.has_user("ada"));
    assert_eq!(names(&list(&redis, &["user", "list", "--status", "suspended"], "users")), ["ada"]);
    assert_eq!(names(&list(&redis, &["user", "list", "--status", "active"], "users")), ["bob"]);
    let shown: Value = serde_json::from_str(&succeed(&redis, &["user", "show", "ada", "--json"])).unwrap();
    assert_eq!(shown["status"], "suspended");
    assert!(succeed(&redis, &["user", "show", "#1"]).contains("ada"));
    assert_eq!(succeed(&redis, &["user", "unsuspend", "1"]), "unsuspended ada (#1)");
    assert!(server.has_user("ada"));
    assert!(login(&server, "ada", PASSWORD).is_string());
    let log = list(&redis, &["moderator", "log"], "log");
    let shown: Vec<[Value; 4]> = log
        .iter()
        .map(|entry| ["moderator", "action", "username", "note"].map(|field| entry[field].clone()))
        .collect();
    let entry = |action: &str, note: &str| [json!("operator"), json!(action), json!("ada"), json!(note)];
    assert_eq!(shown, [entry("unsuspend_user", ""), entry("suspend_user", "spam")]);
    assert!(succeed(&redis, &["moderator", "log"]).contains("suspend_user      ada, \"spam\""));
}

#[test]
fn a_user_is_deleted_and_the_deletion_cancelled() {
    let redis = Redis::start();
    let server = Server::over(&redis, &[]);
    server.token("ada");
    let deleted = succeed(&redis, &["user", "delete", "ada", "--note", "spam"]);
    assert!(deleted.starts_with("deleted ada (#1), to be erased at 20"), "{deleted}");
    assert!(!server.has_user("ada"));
    let sooner = succeed(&redis, &["user", "delete", "ada", "--account-deletion-grace", "3"]);
    assert!(sooner < deleted, "{sooner}, {deleted}");
    assert_eq!(succeed(&redis, &["user", "delete", "ada"]), sooner);
    let cancel = ["user", "cancel-deletion", "ada"];
    assert_eq!(succeed(&redis, &cancel), "cancelled the deletion of ada (#1)");
    assert!(login(&server, "ada", PASSWORD).is_null());
    succeed(&redis, &["user", "unsuspend", "ada"]);
    assert!(login(&server, "ada", PASSWORD).is_string());
}

#[test]
fn a_password_is_read_from_standard_input_and_sessions_end() {
    let redis = Redis::start();
    let server = Server::over(&redis, &[]);
    let viewer = "{ viewer { id } }";
    let ada = server.token("ada");
    assert_eq!(succeed(&redis, &["user", "end-sessions", "ada"]), "ended the sessions of ada (#1)");
    assert_eq!(server.ask_as(&ada, viewer)["errors"][0]["extensions"]["code"], "UNAUTHENTICATED");
    let set = ["user", "set-password", "ada"];
    let (code, output, errors) = run(&redis, &set, "another horse\n");
    assert_eq!((code, output.as_str()), (Some(0), "set the password of ada (#1)"), "{errors}");
    assert!(login(&server, "ada", PASSWORD).is_null());
    assert!(login(&server, "ada", "another horse").is_string());
    let (code, _, errors) = run(&redis, &set, "short\n");
    assert_eq!((code, errors.as_str()), (Some(1), "error: A password has at least 8 bytes."));
}

#[test]
fn a_recovery_code_of_the_command_line_is_valid_at_once_and_once() {
    let redis = Redis::start();
    let server = Server::over(&redis, &[]);
    let ada = server.token("ada");
    let first = succeed(&redis, &["user", "recovery-code", "ada"]);
    let code = succeed(&redis, &["user", "recovery-code", "ada", "--note", "lost"]);
    assert!(code.len() == 26 && code != first, "{code}");
    let pending = "{ viewer { pendingRecovery { isByOperator } } }";
    let pending = || server.ask_as(&ada, pending)["data"]["viewer"]["pendingRecovery"].take();
    assert_eq!(pending(), json!({ "isByOperator": true }));
    // A thief who has the password does not revoke it.
    assert!(login(&server, "ada", PASSWORD).is_string());
    let recover = |code: &str| {
        let recover = format!(
            "mutation {{ recoverAccount(input: {{ username: \"ada\", code: \"{code}\", newPassword: \"another horse\" }}) {{
                userErrors {{ code }} }} }}"
        );
        server.ask(&recover)["data"]["recoverAccount"]["userErrors"].take()
    };
    let wrong = json!([{ "code": "WRONG_CREDENTIALS" }]);
    assert_eq!(recover(&first), wrong);
    assert_eq!(recover(&code), json!([]));
    assert_eq!(recover(&code), wrong);
    assert!(login(&server, "ada", PASSWORD).is_null());
    assert!(login(&server, "ada", "another horse").is_string());
    let log = succeed(&redis, &["moderator", "log"]);
    assert!(log.contains("recover_account") && log.contains("issue_recovery_code"), "{log}");
    assert!(log.contains("\"lost\"") && !log.contains(&code), "{log}");
    succeed(&redis, &["user", "suspend", "ada"]);
    let inactive = (1, "error: This account is suspended or deleted.".to_owned());
    assert_eq!(fail(&redis, &["user", "recovery-code", "ada"]), inactive);
}

#[test]
fn moderators_are_made_and_reports_and_posts_handled() {
    let redis = Redis::start();
    let server = Server::over(&redis, &[]);
    let [ada, bob] = ["ada", "bob"].map(|name| server.token(name));
    let is_moderator = || {
        server.ask_as(&ada, "{ viewer { isModerator } }")["data"]["viewer"]["isModerator"].as_bool().unwrap()
    };
    assert!(!is_moderator());
    assert_eq!(succeed(&redis, &["moderator", "add", "ada"]), "made a moderator: ada (#1)");
    assert!(is_moderator());
    assert!(succeed(&redis, &["user", "list"]).contains("active, moderator"));
    assert_eq!(succeed(&redis, &["moderator", "remove", "ada"]), "no longer a moderator: ada (#1)");
    assert!(!is_moderator());

    assert_eq!(succeed(&redis, &["report", "list"]), "there are no open reports");
    let publish = "mutation { publish(input: { content: \"lies\" }) { post { id } } }";
    let post = server.ask_as(&ada, publish)["data"]["publish"]["post"]["id"].as_str().unwrap().to_owned();
    let report = format!(
        "mutation {{ report(input: {{ target: {{ postId: \"{post}\" }}, reason: \"wrong\" }}) {{ userErrors {{ code }} }} }}"
    );
    assert_eq!(server.ask_as(&bob, &report)["data"]["report"]["userErrors"], json!([]));
    let number =
        String::from_utf8(URL_SAFE_NO_PAD.decode(&post).unwrap()).unwrap()["Post:".len()..].to_owned();
    let reports = list(&redis, &["report", "list"], "reports");
    let shown =
        ["number", "reporter", "username", "content", "reason"].map(|field| reports[0][field].clone());
    assert_eq!(shown, [json!(1), json!("bob"), json!("ada"), json!("lies"), json!("wrong")]);
    let table = succeed(&redis, &["report", "list"]);
    assert!(table.contains(&format!("post {number} of ada, reported by bob: \"wrong\"")), "{table}");
    assert_eq!(succeed(&redis, &["post", "remove", &number]), format!("removed post {number}"));
    assert_eq!(list(&redis, &["report", "list"], "reports")[0]["content"], Value::Null);
    assert_eq!(succeed(&redis, &["report", "resolve", "1", "--note", "done"]), "resolved report 1");
    assert_eq!(list(&redis, &["report", "list"], "reports").len(), 0);
    let resolved = (1, "error: This report does not exist, or has been resolved.".to_owned());
    assert_eq!(fail(&redis, &["report", "resolve", "1"]), resolved);
    assert_eq!(fail(&redis, &["post", "remove", "77"]), (1, "error: This post does not exist.".to_owned()));
    let (code, errors) = fail(&redis, &["user", "show", "no name"]);
    assert!(code == 2 && errors.contains("expected a username, or the number of a user"), "{errors}");
    assert_eq!(fail(&redis, &["user", "show", "eve"]), (1, "error: there is no user eve".to_owned()));
}
