//! What clients and audits of others say of a running server. They come from npm; `make setup-tests` installs them.

use std::process::Command;

use crate::server::Server;
use crate::world::Redis;

/// Runs a program to its end; what it says, and whether it was content.
pub(crate) fn outcome(program: &mut Command) -> (bool, String) {
    let output = program.output().expect("the program is there; `make setup-tests` installs it");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return (true, said);
    }
    (false, format!("{said}{}", String::from_utf8_lossy(&output.stderr)))
}

/// Runs a program to its good end, and tells what it says.
pub(crate) fn told(program: &mut Command) -> String {
    let (is_content, said) = outcome(program);
    assert!(is_content, "{said}");
    said
}

/// Runs one of the scripts of `tests/npm` to its good end, and tells what it says.
pub(crate) fn run(script: &str, arguments: &[&str]) -> String {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/npm");
    told(Command::new("node").arg(script).args(arguments).current_dir(directory))
}

#[test]
fn all_audits_of_graphql_over_http_are_passed() {
    let redis = Redis::start();
    let server = Server::over(&redis, &[]);
    assert_eq!(run("audit.mjs", &[&server.url()]), "61 of 61\n");
}

#[test]
fn documents_are_taken_as_graphql_js_takes_them() {
    let redis = Redis::start();
    let server = Server::over(&redis, &[]);
    let tokens = ["ada", "ben"].map(|name| server.token(name));
    for (token, other) in tokens.iter().zip(["VXNlcjoy", "VXNlcjox"]) {
        let publish = "publish(input: { content: \"x\" }) { userErrors { code } }";
        let follow = format!("follow(input: {{ userId: \"{other}\" }}) {{ userErrors {{ code }} }}");
        let answer = server.ask_as(token, &format!("mutation {{ {publish} {follow} }}"));
        assert!(answer.get("errors").is_none(), "{answer}");
    }
    let url = server.url();
    let said = run("verdicts.mjs", &[&url, "../../schema.graphql"]);
    let last = said.lines().last().unwrap_or_default();
    let (same, all) = last.split_once(" of ").expect("it tells how many are the same");
    assert!(same == all && all.parse::<u32>().unwrap() > 250, "{said}");
}

#[test]
fn clients_of_sockets_and_of_events_watch_and_go_on_where_they_were() {
    let redis = Redis::start();
    let server = Server::over(&redis, &[]);
    let [ada, ben] = ["ada", "ben"].map(|name| server.token(name));
    server.ask_as(&ada, "mutation { follow(input: { userId: \"VXNlcjoy\" }) { userErrors { code } } }");
    let url = server.url();
    for (kind, refused) in [("ws", "GRAPHQL_VALIDATION_FAILED"), ("sse", "400")] {
        let said = run("watch.mjs", &[kind, &url, &ada, &ben]);
        let posts = ["one", "two", "three", "four", "five", "six"].map(|content| format!("ben: {content}\n"));
        assert_eq!(said, format!("{}{refused}\n", posts.concat()), "{kind}");
    }
}
