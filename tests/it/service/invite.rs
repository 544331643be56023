//! The commands that create, list and revoke invites, and a server that requires them.

use std::process::Command;

use serde_json::{Value, json};

use crate::harness::server::Server;
use crate::harness::world::{PASSWORD, Redis};

/// Runs a command, and returns its exit code, its output and its errors.
fn fanfold(redis: &Redis, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fanfold"));
    let output = command.args(arguments).args(["--redis-url", &redis.url()]).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().trim_end().to_owned();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn succeed(redis: &Redis, arguments: &[&str]) -> String {
    let (code, output, errors) = fanfold(redis, arguments);
    assert_eq!(code, Some(0), "{errors}");
    output
}

fn list(redis: &Redis) -> Vec<Value> {
    let mut list: Value = serde_json::from_str(&succeed(redis, &["invite", "list", "--json"])).unwrap();
    serde_json::from_value(list["invites"].take()).unwrap()
}

#[test]
fn an_invite_is_created_used_listed_and_revoked() {
    let redis = Redis::start();
    let server = Server::over(&redis, &["--account-registration", "invite"]);
    let register = |name: &str, code: &str| {
        let input = format!("username: \"{name}\", password: \"{PASSWORD}\", invite: \"{code}\"");
        let done =
            server.ask(&format!("mutation {{ register(input: {{ {input} }}) {{ userErrors {{ code }} }} }}"));
        done["data"]["register"]["userErrors"][0]["code"].as_str().unwrap_or_default().to_owned()
    };
    let once = succeed(&redis, &["invite", "create"]);
    let create = ["invite", "create", "--uses", "2", "--expires", "7", "--note", "for the team"];
    let code = succeed(&redis, &create);
    assert!(code.len() == 16 && code.chars().all(|character| character.is_ascii_alphanumeric()), "{code}");
    assert_eq!([register("ada", &once), register("bob", &once)], ["", "INVITE_INVALID"]);
    assert_eq!(register("bob", &code), "");

    let invites = list(&redis);
    let shown = |invite: &Value| ["code", "state", "uses", "used", "note"].map(|name| invite[name].clone());
    let of_code = invites.iter().find(|invite| invite["code"] == code.as_str()).unwrap();
    let expected = [json!(code), json!("valid"), json!(2), json!(1), json!("for the team")];
    assert_eq!(shown(of_code), expected);
    let [created, expires] = ["createdAt", "expiresAt"].map(|name| {
        of_code[name].as_str().unwrap().parse::<jiff::Timestamp>().expect("the time is in RFC 3339")
    });
    // The end is computed first.
    let seconds = expires.duration_since(created).as_secs();
    assert!((7 * 86_400 - 60..=7 * 86_400).contains(&seconds), "{seconds} s");
    let of_once = invites.iter().find(|invite| invite["code"] == once.as_str()).unwrap();
    assert_eq!(shown(of_once), [json!(once), json!("used up"), json!(1), json!(1), json!("")]);
    assert_eq!(of_once["expiresAt"], Value::Null);
    let table = succeed(&redis, &["invite", "list"]);
    assert_eq!(table.lines().count(), 3, "{table}");
    assert!(table.contains(&code) && table.contains("1/2") && table.contains("for the team"), "{table}");

    assert_eq!(succeed(&redis, &["invite", "revoke", &code.to_uppercase()]), format!("revoked {code}"));
    assert_eq!(register("eve", &code), "INVITE_INVALID");
    assert_eq!(list(&redis).len(), 1);
    let (status, _, errors) = fanfold(&redis, &["invite", "revoke", &code]);
    assert_eq!((status, errors), (Some(1), "error: This invite does not exist.".to_owned()));
}

#[test]
fn invalid_arguments_are_rejected_with_the_rule() {
    let redis = Redis::start();
    let long = "x".repeat(201);
    let cases: [(&[&str], &str); 4] = [
        (&["invite", "create", "--uses", "0"], "--uses"),
        (&["invite", "create", "--expires", "0"], "--expires"),
        (&["invite", "create", "--note", &long], "A note has at most 200 characters."),
        (&["invite", "revoke", "nonsense"], "a code has 16 digits and letters"),
    ];
    for (arguments, rule) in cases {
        let (status, _, errors) = fanfold(&redis, arguments);
        assert!(status == Some(2) && errors.contains(rule), "{arguments:?}: {errors}");
    }
    assert_eq!(redis.raw::<u64>(&["DBSIZE"]), 0);
}
