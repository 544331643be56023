//! Clients generated from the schema, as users of the API would write them (`tests/clients`): they are generated,
//! checked by their compilers, and run against a server. And the checks of the schema on their behalf.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use serde_json::Value;

use crate::harness::program::{outcome, stdout_of};
use crate::harness::server::{Server, eventually};
use crate::harness::wait::LIMIT;
use crate::harness::world::{PASSWORD, Redis};

#[path = "../../clients/rust/client.rs"]
mod client;
#[path = "../../clients/older/client.rs"]
mod older;

const DIRECTORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients");
const SCHEMA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/schema.graphql");
const CHANGELOG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/CHANGELOG.md");

/// A script of `tests/clients/package.json`.
fn script(name: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new("npm");
    command.args(["run", "--silent", name, "--"]).args(arguments).current_dir(DIRECTORY);
    command
}

/// Generates the code of the Relay client, once for all tests that run it.
static RELAY: LazyLock<()> = LazyLock::new(|| {
    stdout_of(&mut script("relay:generate", &[]));
});

/// A program in the environment of `tests/clients/python`, run in one of the folders with clients.
fn python(folder: &str, program: &str, arguments: &[&str]) -> Command {
    let mut command =
        Command::new(format!("{}/target/clients/python/bin/{program}", env!("CARGO_MANIFEST_DIR")));
    command.args(arguments).current_dir(format!("{DIRECTORY}/{folder}"));
    // The plugin of the generator.
    command.env("PYTHONPATH", format!("{DIRECTORY}/python"));
    command
}

/// Four follow Ada, who follows two of them, and these two each other; they have published three posts, the last in reply to the
/// second.
fn small_world() -> Redis {
    world(&[])
}

/// The small world, in which Ben has also edited his first post, and reposted one by Dee, whom Ada does not follow. Ada has
/// reposted Cem's post.
fn world_with_reposts() -> Redis {
    world(&[
        ("ben", "editPost(input: { postId: \"UG9zdDox\", content: \"One\" })"),
        ("dee", "publish(input: { content: \"four\" })"),
        ("ben", "repost(input: { postId: \"UG9zdDo0\" })"),
        ("ada", "repost(input: { postId: \"UG9zdDoz\" })"),
    ])
}

/// The small world after these mutations, each with its user.
fn world(mutations: &[(&str, &str)]) -> Redis {
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
    for (user, post) in [
        ("ben", "content: \"one\""),
        ("ben", "content: \"two\""),
        ("cem", "content: \"three\", inReplyTo: \"UG9zdDoy\""),
    ] {
        change(user, &format!("publish(input: {{ {post} }})"));
    }
    for (user, mutation) in mutations {
        change(user, mutation);
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
    let redis = world_with_reposts();
    let server = closed_server(&redis, "codegen", &[]);
    let stdout = stdout_of(&mut script("codegen", &[&server.url(), "ada", PASSWORD]));
    let expected = "\
        login refused: WRONG_CREDENTIALS, as a whole\n\
        dee (a follower; mutuals: none) [reposted by ben; reposts: 1]: four\n\
        cem (followed both ways; mutuals: ben ada) to ben [reposts: 1; reposted by the viewer]: three\n\
        ben (followed both ways; mutuals: cem ada): two\n\
        \x20 cem: three\n\
        ben (followed both ways; mutuals: cem ada) [edited]: One\n\
        followers: eve dee of 4\n\
        followers: cem ben of 4\n\
        post refused: TOO_SHORT, input.content\n\
        came: a new post\n\
        went\n";
    assert_eq!(stdout, expected);
}

#[test]
fn relay_pages_through_a_connection_refetches_by_id_and_rolls_back_rejected_follows() {
    LazyLock::force(&RELAY);
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

/// Signs a user of the small world in, and returns the token.
fn sign_in(server: &Server, username: &str) -> String {
    let input = format!("username: \"{username}\", password: \"{PASSWORD}\"");
    let login = server.ask(&format!("mutation {{ login(input: {{ {input} }}) {{ token }} }}"));
    login["data"]["login"]["token"].as_str().expect("is signed in").to_owned()
}

/// Ben, who follows and unfollows Ada on a server of his own, which counts his requests.
struct Ben {
    server: Server,
    token: String,
    ada: Value,
}

impl Ben {
    fn over(redis: &Redis) -> Self {
        let server = Server::over(redis, &[]);
        let token = sign_in(&server, "ben");
        let ada = server.ask("{ user(by: { username: \"ada\" }) { id } }")["data"]["user"]["id"].take();
        Self { server, token, ada }
    }

    /// Runs `follow` or `unfollow`.
    fn change(&self, field: &str) {
        let field = format!("{field}(input: {{ userId: {} }}) {{ userErrors {{ code }} }}", self.ada);
        let response = self.server.ask_as(&self.token, &format!("mutation {{ {field} }}"));
        assert!(response.get("errors").is_none(), "{response}");
    }

    /// Follows Ada, and unfollows and follows her again until `is_seen`: subscriptions are not acknowledged.
    fn follow_until(&self, is_seen: impl Fn() -> bool) {
        let is_seen_soon = || {
            (0..20).any(|_| {
                std::thread::sleep(Duration::from_millis(50));
                is_seen()
            })
        };
        self.change("follow");
        let is_seen_or_repeated = || {
            is_seen_soon() || {
                self.change("unfollow");
                self.change("follow");
                false
            }
        };
        assert!(eventually(is_seen_or_repeated), "the client sees that it is followed");
    }
}

/// Returns the number of requests of a type that a server has completed.
fn requests(server: &Server, operation: &str) -> u64 {
    let (_, metrics) = server.page("/metrics");
    let prefix = format!("fanfold_requests_total{{operation=\"{operation}\",");
    let lines = metrics.lines().filter(|line| line.starts_with(&prefix));
    lines.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
}

/// Runs a program that takes the steps of `tests/clients/steps.ts` while Ben follows Ada, and checks that its page is
/// right after each step, with no other requests than its three queries and the mutations.
fn assert_changes_show_everywhere(client: &str, redis: &Redis, server: &Server) {
    let ben = Ben::over(redis);
    ben.change("unfollow");
    let mut program = script(client, &[&server.url(), "ada", PASSWORD, "ben"]);
    let mut program = program.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(program.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut shown: Vec<String> = lines.by_ref().take_while(|line| !line.starts_with("Waiting")).collect();
    let rest = std::thread::spawn(move || lines.collect::<Vec<_>>());
    ben.follow_until(|| rest.is_finished());
    shown.extend(rest.join().unwrap());
    assert!(program.wait().unwrap().success());

    let page = |ben: &str, followers: u32, following: u32, posts: &str| {
        let lists = format!("following: {following}; cem MUTUAL; ben {ben}; posts: {posts}");
        let timeline = format!("timeline; cem MUTUAL to ben {ben}: three; ben {ben}: two; ben {ben}: one");
        format!("ben {ben}, followers: {followers}; {lists}; {timeline}")
    };
    let expected = [
        page("FOLLOWING", 2, 2, "0"),
        page("NONE", 1, 1, "0"),
        page("FOLLOWING", 2, 2, "0"),
        page("FOLLOWING", 2, 2, "1; a new post"),
        page("FOLLOWING", 2, 2, "2; another post; a new post"),
        page("MUTUAL", 2, 2, "2; another post; a new post"),
    ];
    let pages: Vec<String> = shown.split(String::is_empty).map(|page| page.join("; ")).collect();
    let pages: Vec<&String> = pages.iter().filter(|page| !page.is_empty()).collect();
    assert_eq!(pages, expected.iter().collect::<Vec<_>>());
    let sent = ["query", "mutation"].map(|operation| requests(server, operation));
    // The mutations: login, unfollow, follow, publish, publish.
    assert_eq!(sent, [3, 5]);
}

#[test]
fn relay_shows_changes_everywhere_without_a_further_query() {
    LazyLock::force(&RELAY);
    let redis = small_world();
    assert_changes_show_everywhere("relay:cache", &redis, &closed_server(&redis, "relay", &[]));
}

#[test]
fn apollo_client_shows_changes_everywhere_without_a_further_query() {
    stdout_of(&mut script("apollo:generate", &[]));
    let redis = small_world();
    assert_changes_show_everywhere("apollo", &redis, &Server::over(&redis, &[]));
}

#[test]
fn urql_shows_changes_everywhere_without_a_further_query() {
    stdout_of(&mut script("urql:generate", &[]));
    let redis = small_world();
    assert_changes_show_everywhere("urql", &redis, &Server::over(&redis, &[]));
}

#[test]
fn types_are_inferred_from_the_text_of_a_query() {
    stdout_of(&mut script("tada:generate", &[]));
    let redis = world_with_reposts();
    let server = Server::over(&redis, &[]);
    let expected = "\
        dee (FOLLOWER; mutuals: ) [reposted by ben; reposts: 1]: four\n\
        cem (MUTUAL; mutuals: ben ada) to ben [reposts: 1; reposted by the viewer]: three\n\
        ben (MUTUAL; mutuals: cem ada): two\n\
        \x20 cem: three\n\
        ben (MUTUAL; mutuals: cem ada) [edited]: One\n";
    assert_eq!(stdout_of(&mut script("tada", &[&server.url(), "ada", PASSWORD])), expected);
}

#[test]
fn a_typed_client_is_generated_for_python() {
    stdout_of(&mut python("python", "ariadne-codegen", &[]));
    stdout_of(&mut python("python", "mypy", &[]));
    let redis = world_with_reposts();
    let server = Server::over(&redis, &[]);
    let expected = "\
        These are no name and password.\n\
        dee (FOLLOWER; mutuals: ) [reposted by ben; reposts: 1]: four\n\
        cem (MUTUAL, followed when this was written; mutuals: ben ada) to ben [reposts: 1; reposted by the viewer]: three\n\
        ben (MUTUAL, followed when this was written; mutuals: cem ada): two\n\
        \x20 cem: three\n\
        ben (MUTUAL, followed when this was written; mutuals: cem ada) [edited]: One\n";
    let arguments = ["main.py", &server.url(), "ada", PASSWORD];
    assert_eq!(stdout_of(&mut python("python", "python", &arguments)), expected);
}

#[test]
fn a_client_in_rust_is_derived_from_the_schema() {
    let redis = world_with_reposts();
    let server = Server::over(&redis, &[]);
    let rejected = client::read_feed(&server.url(), "ada", "not her password").unwrap_err();
    assert_eq!(rejected.to_string(), "These are no name and password.");
    let feed = client::read_feed(&server.url(), "ada", PASSWORD).unwrap();
    let expected = [
        "dee (a follower; mutuals: ) [reposted by ben; reposts: 1]: four",
        "cem (followed both ways; mutuals: ben ada) to ben [reposts: 1; reposted by the viewer]: three",
        "ben (followed both ways; mutuals: cem ada): two",
        "  cem: three",
        "ben (followed both ways; mutuals: cem ada) [edited]: One",
    ];
    assert_eq!(feed, expected);
}

/// Returns the lines of a program as it prints them.
fn lines_of(mut program: Command) -> Receiver<String> {
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        let mut program = program.stdout(Stdio::piped()).spawn().unwrap();
        let stdout = BufReader::new(program.stdout.take().unwrap());
        stdout.lines().map(Result::unwrap).for_each(|line| drop(sender.send(line)));
        assert!(program.wait().unwrap().success());
    });
    lines
}

/// Returns the lines of the client in Rust as it shows them.
fn lines_of_older(url: String, token: String, cursor: String) -> Receiver<String> {
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        let relation = older::read_relation(&url, &token, "ben").unwrap().expect("is another user");
        sender.send(relation.to_owned()).unwrap();
        older::watch_timeline(&url, &token, &cursor, |line| sender.send(line).unwrap()).unwrap();
    });
    lines
}

#[test]
fn clients_of_an_earlier_version_outlive_new_values_of_enums_and_new_kinds_of_events() {
    // The earlier version breaks nothing but what it did not know: `RelationStatus.MUTUAL` and `TimelineReset`.
    let (is_accepted, stdout) = outcome(&mut script("changes", &[SCHEMA, CHANGELOG, "older/schema.graphql"]));
    assert!(is_accepted, "{stdout}");
    stdout_of(&mut script("older:generate", &[]));
    stdout_of(&mut python("older/python", "ariadne-codegen", &[]));
    stdout_of(&mut python("older/python", "mypy", &[]));
    let redis = small_world();
    let server = Server::over(&redis, &[]);
    let (ada, ben) = (sign_in(&server, "ada"), sign_in(&server, "ben"));
    let eve = server.ask("{ user(by: { username: \"eve\" }) { id } }")["data"]["user"]["id"].take();
    let change = |token: &str, field: &str| {
        let response = server.ask_as(token, &format!("mutation {{ {field} {{ userErrors {{ code }} }} }}"));
        assert!(response.get("errors").is_none(), "{response}");
    };
    let url = server.url();
    for client in ["typescript", "python", "rust"] {
        let mut viewer = server.ask_as(&ada, "{ viewer { timeline { liveCursor } } }");
        let cursor = viewer["data"]["viewer"]["timeline"]["liveCursor"].take();
        let cursor = cursor.as_str().unwrap();
        let lines = match client {
            "typescript" => lines_of(script("older", &[&url, &ada, "ben", cursor])),
            "python" => lines_of(python("older/python", "python", &["main.py", &url, &ada, "ben", cursor])),
            _ => lines_of_older(url.clone(), ada.clone(), cursor.to_owned()),
        };
        let next = || lines.recv_timeout(LIMIT);
        assert_eq!(next().as_deref(), Ok("a relation unknown to this client"), "{client}");
        change(&ada, &format!("mute(input: {{ userId: {eve} }})"));
        assert_eq!(next().as_deref(), Ok("something else happened"), "{client}");
        change(&ben, "publish(input: { content: \"last\" })");
        assert_eq!(next().as_deref(), Ok("came: last"), "{client}");
        assert_eq!(next(), Err(RecvTimeoutError::Disconnected), "{client}");
        change(&ada, &format!("unmute(input: {{ userId: {eve} }})"));
    }
}

#[test]
fn the_schema_passes_the_linter() {
    assert_eq!(stdout_of(&mut script("lint:schema", &[])), "");
}

#[test]
fn changes_that_break_clients_of_the_last_release_must_be_announced() {
    let heading = "### Breaking changes of the schema\n\n";
    let changelog = std::fs::read_to_string(CHANGELOG).unwrap();
    let changelog = changelog.replacen("\n### ", &format!("\n{heading}### "), 1);
    let check = |schema: &str, changelog: &str| {
        let directory = tempfile::tempdir().unwrap();
        let [schema_file, changelog_file] =
            [("schema.graphql", schema), ("CHANGELOG.md", changelog)].map(|(name, text)| {
                let file = directory.path().join(name);
                std::fs::write(&file, text).unwrap();
                file.to_str().unwrap().to_owned()
            });
        // As if the present schema were that of the last release.
        outcome(&mut script("changes", &[&schema_file, &changelog_file, SCHEMA]))
    };
    let schema = std::fs::read_to_string(SCHEMA).unwrap();
    let (is_accepted, stdout) = outcome(&mut script("changes", &[SCHEMA]));
    assert!(is_accepted, "{stdout}");

    let changed = schema.replace("  bio: String!\n", "  about: String!\n");
    let removed = "FIELD_REMOVED User.bio";
    let (is_accepted, stdout) = check(&changed, &changelog);
    assert!(!is_accepted && stdout.contains(removed), "{stdout}");
    let with = |entry: &str| changelog.replacen(heading, &format!("{heading}- `{removed}`{entry}\n"), 1);
    let announced = with(": it is called `about`\n  now.");
    let (is_accepted, stdout) = check(&changed, &announced);
    assert!(is_accepted && !stdout.contains(removed), "{stdout}");
    // A change without a reason is not announced. An announcement is for one release, and for a change that was made.
    let earlier = format!("# Changelog\n\n## [9.0.0]\n\nThe next version.\n\n{announced}");
    for (schema, changelog) in [(&changed, &with(":")), (&changed, &earlier), (&schema, &announced)] {
        let (is_accepted, stdout) = check(schema, changelog);
        assert!(!is_accepted && stdout.contains(removed), "{stdout}");
    }
}
