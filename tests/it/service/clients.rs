//! Third-party clients and audits against a running server. They come from npm; `make setup-tests` installs them.

use crate::harness::program::run;
use crate::harness::server::Server;
use crate::harness::world::Redis;

#[test]
fn all_audits_of_graphql_over_http_are_passed() {
    let redis = Redis::start();
    let server = Server::over(&redis, &[]);
    assert_eq!(run("audit.mjs", &[&server.url()]), "61 of 61\n");
}

#[test]
fn documents_are_accepted_and_rejected_as_by_graphql_js() {
    let redis = Redis::start();
    let server = Server::over(&redis, &[]);
    let tokens = ["ada", "ben"].map(|name| server.token(name));
    for (token, other) in tokens.iter().zip(["VXNlcjoy", "VXNlcjox"]) {
        let publish = "publish(input: { content: \"x\" }) { userErrors { code } }";
        let follow = format!("follow(input: {{ userId: \"{other}\" }}) {{ userErrors {{ code }} }}");
        let response = server.ask_as(token, &format!("mutation {{ {publish} {follow} }}"));
        assert!(response.get("errors").is_none(), "{response}");
    }
    let url = server.url();
    let stdout = run("verdicts.mjs", &[&url, "../../schema.graphql"]);
    let last = stdout.lines().last().unwrap_or_default();
    let (same, all) = last.split_once(" of ").expect("it ends with both counts");
    assert!(same == all && all.parse::<u32>().unwrap() > 250, "{stdout}");
}

#[test]
fn clients_of_sockets_and_of_events_watch_and_resume() {
    let redis = Redis::start();
    let server = Server::over(&redis, &[]);
    let [ada, ben] = ["ada", "ben"].map(|name| server.token(name));
    server.ask_as(&ada, "mutation { follow(input: { userId: \"VXNlcjoy\" }) { userErrors { code } } }");
    let url = server.url();
    for (kind, rejection) in [("ws", "GRAPHQL_VALIDATION_FAILED"), ("sse", "400")] {
        let stdout = run("watch.mjs", &[kind, &url, &ada, &ben]);
        let posts = ["one", "two", "three", "four", "five", "six"].map(|content| format!("ben: {content}\n"));
        assert_eq!(stdout, format!("{}{rejection}\n", posts.concat()), "{kind}");
    }
}
