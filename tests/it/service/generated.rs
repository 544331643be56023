//! Clients generated from the schema, as users of the API would write them (`tests/clients`): they are generated,
//! checked by their compilers, and run against a server. And the checks of the schema on their behalf.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::harness::server::Server;
use crate::harness::world::{PASSWORD, Redis};
use crate::service::clients::{outcome, stdout_of};

#[path = "../../clients/rust/client.rs"]
mod client;

const DIRECTORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients");
const SCHEMA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/schema.graphql");

/// A script of `tests/clients/package.json`.
fn script(name: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new("npm");
    command.args(["run", "--silent", name, "--"]).args(arguments).current_dir(DIRECTORY);
    command
}

/// A program in the environment of `tests/clients/python`.
fn python(program: &str, arguments: &[&str]) -> Command {
    let mut command =
        Command::new(format!("{}/target/clients/python/bin/{program}", env!("CARGO_MANIFEST_DIR")));
    command.args(arguments).current_dir(format!("{DIRECTORY}/python"));
    command
}

/// Four follow Ada, who follows two of them, and these two each other; they have published three posts.
fn small_world() -> Redis {
    let redis = Redis::start();
    let server = Server::over(&redis, &[]);
    let people = ["ada", "ben", "cem", "dee", "eve"].map(|name| {
        let token = server.token(name);
        let mut response = server.ask_as(&token, "{ viewer { user { id } } }");
        (name, (token, response["data"]["viewer"]["user"]["id"].take()))
    });
    let people = HashMap::from(people);
    let change = |user: &str, field: &str| {
        let response =
            server.ask_as(&people[user].0, &format!("mutation {{ {field} {{ userErrors {{ code }} }} }}"));
        assert!(response.get("errors").is_none(), "{response}");
    };
    let follows = ["ben ada", "cem ada", "dee ada", "eve ada", "ada ben", "ada cem", "ben cem", "cem ben"];
    for (user, followee) in follows.iter().filter_map(|pair| pair.split_once(' ')) {
        change(user, &format!("follow(input: {{ userId: {} }})", people[followee].1));
    }
    for (user, content) in [("ben", "one"), ("ben", "two"), ("cem", "three")] {
        change(user, &format!("publish(input: {{ content: \"{content}\" }})"));
    }
    redis
}

/// A server that accepts the documents of this client and no others.
fn closed_server(redis: &Redis, client: &str, options: &[&str]) -> Server {
    let file = format!("{DIRECTORY}/{client}/generated/persisted-documents.json");
    let trust = ["--graphql-trusted-documents", &file, "--graphql-trusted-mode", "only"];
    let server = Server::over(redis, &[&trust, options].concat());
    assert_eq!(server.ask("{ viewer { user { id } } }")["errors"][0]["extensions"]["code"], "FORBIDDEN");
    server
}

#[test]
fn typed_documents_are_generated_and_named_by_their_hashes() {
    stdout_of(&mut script("codegen:generate", &[]));
    let redis = small_world();
    let server = closed_server(&redis, "codegen", &[]);
    let stdout = stdout_of(&mut script("codegen", &[&server.url(), "ada", PASSWORD]));
    let expected = "\
        login refused: WRONG_CREDENTIALS, as a whole\n\
        cem (followed both ways; mutuals: ben ada): three\n\
        ben (followed both ways; mutuals: cem ada): two\n\
        ben (followed both ways; mutuals: cem ada): one\n\
        followers: eve dee of 4\n\
        followers: cem ben of 4\n\
        post refused: TOO_SHORT, input.content\n\
        came: a new post\n\
        went\n";
    assert_eq!(stdout, expected);
}

#[test]
fn relay_pages_through_a_connection_refetches_by_id_and_rolls_back_rejected_follows() {
    stdout_of(&mut script("relay:generate", &[]));
    let redis = small_world();
    let server = closed_server(&redis, "relay", &["--relation-follow-limit", "3"]);
    let stdout = stdout_of(&mut script("relay", &[&server.url(), "ada", PASSWORD]));
    let pages: Vec<String> = stdout.trim().split("\n\n").map(|page| page.replace('\n', "; ")).collect();
    let page = |posts, eve, dee| {
        let followers = format!("eve: {eve}; dee: {dee}; cem: MUTUAL; ben: MUTUAL");
        format!("ada, posts: {posts}; followers: 4 of 4; {followers}")
    };
    let expected = [
        "ada, posts: 0; followers: 2 of 4; eve: FOLLOWER; dee: FOLLOWER".to_owned(),
        page(0, "FOLLOWER", "FOLLOWER"),
        page(0, "MUTUAL (not known yet)", "FOLLOWER"),
        page(0, "MUTUAL", "FOLLOWER"),
        // A follow beyond the limit is shown until the server has rejected it.
        page(0, "MUTUAL", "MUTUAL (not known yet)"),
        page(0, "MUTUAL", "FOLLOWER (FOLLOW_LIMIT)"),
        page(1, "MUTUAL", "FOLLOWER (FOLLOW_LIMIT)"),
    ];
    assert_eq!(pages, expected);
}

#[test]
fn types_are_inferred_from_the_text_of_a_query() {
    stdout_of(&mut script("tada:generate", &[]));
    let redis = small_world();
    let server = Server::over(&redis, &[]);
    let expected = "\
        cem (MUTUAL; mutuals: ben ada): three\n\
        ben (MUTUAL; mutuals: cem ada): two\n\
        ben (MUTUAL; mutuals: cem ada): one\n";
    assert_eq!(stdout_of(&mut script("tada", &[&server.url(), "ada", PASSWORD])), expected);
}

#[test]
fn a_typed_client_is_generated_for_python() {
    stdout_of(&mut python("ariadne-codegen", &[]));
    stdout_of(&mut python("mypy", &[]));
    let redis = small_world();
    let server = Server::over(&redis, &[]);
    let expected = "\
        These are no name and password.\n\
        cem (MUTUAL, followed when this was written; mutuals: ben ada): three\n\
        ben (MUTUAL, followed when this was written; mutuals: cem ada): two\n\
        ben (MUTUAL, followed when this was written; mutuals: cem ada): one\n";
    assert_eq!(stdout_of(&mut python("python", &["main.py", &server.url(), "ada", PASSWORD])), expected);
}

#[test]
fn a_client_in_rust_is_derived_from_the_schema() {
    let redis = small_world();
    let server = Server::over(&redis, &[]);
    let rejected = client::read_feed(&server.url(), "ada", "not her password").unwrap_err();
    assert_eq!(rejected.to_string(), "These are no name and password.");
    let feed = client::read_feed(&server.url(), "ada", PASSWORD).unwrap();
    let expected = [
        "cem (followed both ways; mutuals: ben ada): three",
        "ben (followed both ways; mutuals: cem ada): two",
        "ben (followed both ways; mutuals: cem ada): one",
    ];
    assert_eq!(feed, expected);
}

#[test]
fn the_schema_passes_the_linter() {
    assert_eq!(stdout_of(&mut script("lint:schema", &[])), "");
}

#[test]
fn changes_that_break_clients_of_the_last_release_must_be_announced() {
    let check = |schema: &Path, announced: &Value| {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("announced.json");
        std::fs::write(&file, announced.to_string()).unwrap();
        outcome(&mut script("changes", &[schema.to_str().unwrap(), file.to_str().unwrap()]))
    };
    assert!(outcome(&mut script("changes", &[SCHEMA])).0);

    let changed = tempfile::NamedTempFile::new().unwrap();
    let schema = std::fs::read_to_string(SCHEMA).unwrap();
    std::fs::write(&changed, schema.replace("  bio: String!\n", "  about: String!\n")).unwrap();
    let removed = "FIELD_REMOVED User.bio";
    let (is_accepted, stdout) = check(changed.path(), &json!([]));
    assert!(!is_accepted && stdout.contains(removed), "{stdout}");
    let announced = json!([{ "change": removed, "reason": "it is called `about` now" }]);
    let (is_accepted, stdout) = check(changed.path(), &announced);
    assert!(is_accepted && !stdout.contains(removed), "{stdout}");
    // A change without a reason is not announced; and an announcement ends with the release that it was for.
    for (schema, announced) in
        [(changed.path(), json!([{ "change": removed, "reason": "" }])), (Path::new(SCHEMA), announced)]
    {
        let (is_accepted, stdout) = check(schema, &announced);
        assert!(!is_accepted && stdout.contains(removed), "{stdout}");
    }
}
