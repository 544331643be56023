//! The README and the pages of `docs` are correct: their queries are executed and the responses compared, their
//! commands exist, and their client runs.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use apollo_compiler::schema::ExtendedType;
use apollo_compiler::{ExecutableDocument, Schema};
use fanfold::app::account::export::position::Section;
use serde_json::Value;

use crate::harness::demo::{demo_server, demo_world};
use crate::harness::document::{OPERATING, backup_section, blocks, table, texts};
use crate::harness::program::stdout_of;

const README: &str = include_str!("../../../README.md");
const CLIENTS: &str = include_str!("../../../docs/clients.md");
const SECURITY: &str = include_str!("../../../docs/security.md");
const CAPACITY: &str = include_str!("../../../docs/capacity.md");
const CLUSTER: &str = include_str!("../../../docs/cluster.md");
const CONTRIBUTING: &str = include_str!("../../../CONTRIBUTING.md");

#[tokio::test]
async fn the_queries_of_the_pages_have_the_responses_that_they_show() {
    let world = demo_world().await;
    for (page, least, signs_in) in [(README, 1, false), (CLIENTS, 5, true)] {
        let (queries, responses) = (texts(page, "graphql"), texts(page, "json"));
        assert!(queries.len() >= least && queries.len() == responses.len(), "every query has its response");
        let blocks = blocks(page);
        let pairs = blocks.windows(2).filter(|pair| {
            let [first, second] = pair else { return false };
            first.language == "graphql" && second.language == "json"
        });
        assert_eq!(pairs.count(), queries.len(), "every query is followed by its response");
        let mut token: Option<String> = None;
        for (query, response) in queries.iter().zip(&responses) {
            let given = world.ask(token.as_deref(), query, Value::Null).await;
            let mut shown: Value = serde_json::from_str(response).expect("the page shows JSON");
            // A token is never the same twice.
            if let Some(new) = given.pointer("/data/login/token") {
                let shown = shown.pointer_mut("/data/login/token").expect("the page shows a token");
                assert!(new.is_string() && shown.is_string(), "{query}");
                token = new.as_str().map(str::to_owned);
                *shown = new.clone();
            }
            assert_eq!(given, shown, "{query}");
        }
        assert_eq!(token.is_some(), signs_in);
    }
}

#[test]
fn the_documents_in_the_clients_of_the_pages_are_valid() {
    let schema = Schema::parse_and_validate(fanfold::graphql::sdl(), "schema.graphql").unwrap();
    for page in [README, CLIENTS] {
        let code = texts(page, "js");
        let literals = code.iter().flat_map(|code| code.split('`').skip(1).step_by(2));
        let is_document =
            |text: &&str| ["query", "mutation", "subscription"].iter().any(|kind| text.starts_with(kind));
        let documents: Vec<&str> = literals.filter(is_document).collect();
        assert!(!documents.is_empty(), "the clients were found");
        for document in documents {
            if let Err(error) = ExecutableDocument::parse_and_validate(&schema, document, "page.md") {
                panic!("{document}\n{}", error.errors);
            }
        }
    }
}

#[test]
fn the_page_for_clients_has_a_row_for_each_type_of_line_of_an_export() {
    let rows = table(CLIENTS, "| `type` |");
    let described: Vec<&str> = rows.iter().flat_map(|row| row[0].split('`').skip(1).step_by(2)).collect();
    let types = Section::ALL.into_iter().map(|section| section.records().0);
    let mut types: Vec<&str> = types.chain(["end"]).collect();
    types.dedup();
    assert_eq!(described, types, "in this order");
}

#[test]
fn the_client_of_the_readme_shows_the_followers_that_the_readme_shows() {
    let (_redis, server) = demo_server();
    let code = texts(README, "js").concat();
    let shown: Value = serde_json::from_str(&texts(README, "json")[0]).unwrap();
    assert!(code.contains("http://127.0.0.1:8080/graphql"), "{code}");
    let code = code.replace("http://127.0.0.1:8080/graphql", &server.url());
    let stdout = stdout_of(Command::new("node").args(["--input-type=module", "--eval", &code]));
    let followers = &shown["data"]["user"]["followers"];
    assert!(stdout.contains(&format!("totalCount: {}", followers["totalCount"])), "{stdout}");
    for follower in followers["nodes"].as_array().unwrap() {
        assert!(stdout.contains(follower["displayName"].as_str().unwrap()), "{stdout}");
    }
    server.kill();
}

/// Returns true if the section about backups has this line, so that a test of `service/restore.rs` runs it.
fn is_run(line: &str) -> bool {
    texts(backup_section(), "sh").concat().lines().any(|other| other == line)
}

/// Asserts that the program has a command, and its options.
fn assert_is_command(line: &str, words: &[&str]) {
    let command = words.iter().take_while(|word| !word.starts_with("--"));
    let help = Command::new(env!("CARGO_BIN_EXE_fanfold")).args(command).arg("--help").output().unwrap();
    assert!(help.status.success(), "{line}");
    let help = String::from_utf8(help.stdout).unwrap();
    for flag in words.iter().filter(|word| word.starts_with("--")) {
        assert!(help.contains(flag), "{line}: {flag}");
    }
}

#[test]
fn the_files_and_commands_that_the_pages_name_exist() {
    let makefile = include_str!("../../../Makefile");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for block in [README, CONTRIBUTING, OPERATING, CLIENTS].iter().flat_map(|page| texts(page, "sh")) {
        let block = block.replace("\\\n", " ");
        for line in block.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let words: Vec<&str> = line.split_whitespace().collect();
            for file in words.iter().filter(|word| word.starts_with("deploy/")) {
                assert!(root.join(file).exists(), "{line}: {file}");
            }
            match words[..] {
                // The workflow of a release, and the image, run it.
                ["cargo", "build", "--release", "--locked"] => {}
                ["make", target, ..] => assert!(makefile.contains(&format!("\n{target}:")), "{line}"),
                ["fanfold", ref command @ ..]
                | ["docker", "compose", "run", "--rm", "fanfold", ref command @ ..]
                | ["docker", "compose", "exec", "fanfold", "/usr/bin/fanfold", ref command @ ..] => {
                    assert_is_command(line, command);
                }
                _ if is_run(line) => {}
                ["kubectl", "exec", ..] => {
                    let command = line.split_once(" -- /usr/bin/fanfold ").unwrap().1;
                    assert_is_command(line, &command.split(' ').collect::<Vec<_>>());
                }
                ["cp", from, ..] => assert!(root.join("deploy").join(from).exists(), "{line}"),
                // The tests of the client package do the same with the app of the page for clients.
                ["curl", "-o", "schema.graphql", url] => assert!(url.ends_with("/schema.graphql"), "{line}"),
                ["npm", "install", ..]
                | ["npx", "graphql-codegen", ..]
                | ["git" | "cd" | "docker" | "kubectl" | "useradd" | "install" | "systemctl", ..] => {}
                _ => panic!("no test for this line of the pages: {line}"),
            }
        }
    }
}

#[test]
fn the_page_for_clients_lists_every_error_code() {
    let is_head = |line: &&str| line.starts_with("| Code | Meaning | What to do | Status |");
    let rows = CLIENTS.lines().skip_while(|line| !is_head(line)).skip(2);
    let rows = rows.take_while(|line| line.starts_with('|'));
    let listed: Vec<&str> = rows.filter_map(|row| row.split('`').nth(1)).collect();
    let schema = Schema::parse_and_validate(fanfold::graphql::sdl(), "schema.graphql").unwrap();
    let codes = schema.types["ErrorCode"].as_enum().unwrap().values.keys();
    assert_eq!(listed, codes.map(apollo_compiler::Name::as_str).collect::<Vec<_>>());
}

/// Returns the words between backquotes in the part of the page for clients between these two texts.
fn named_between(start: &str, end: &str) -> BTreeSet<&'static str> {
    let part = CLIENTS.split_once(start).unwrap_or_else(|| panic!("{start}")).1;
    let part = part.split_once(end).unwrap_or_else(|| panic!("{end}")).0;
    part.split('`').skip(1).step_by(2).collect()
}

/// Returns the objects of the schema that queries return.
fn objects_of_queries(schema: &Schema) -> BTreeSet<&str> {
    let (mut open, mut found) = (vec!["Query"], BTreeSet::new());
    while let Some(name) = open.pop() {
        let fields = match &schema.types[name] {
            ExtendedType::Object(object) => &object.fields,
            ExtendedType::Interface(interface) => {
                open.extend(schema.types.values().filter_map(|ty| {
                    let object = ty.as_object()?;
                    object.implements_interfaces.contains(&interface.name).then_some(object.name.as_str())
                }));
                continue;
            }
            _ => continue,
        };
        if found.insert(name) {
            open.extend(fields.values().map(|field| field.ty.inner_named_type().as_str()));
        }
    }
    found
}

#[test]
fn the_page_for_clients_names_the_objects_with_ids() {
    let schema = Schema::parse_and_validate(fanfold::graphql::sdl(), "schema.graphql").unwrap();
    let has_id = |name: &&str| {
        let id = schema.types[*name].as_object().and_then(|object| object.fields.get("id"));
        id.is_some_and(|id| id.arguments.is_empty())
    };
    let with: BTreeSet<&str> = objects_of_queries(&schema).into_iter().filter(has_id).collect();
    assert_eq!(named_between("change shows everywhere. The ids of ", " are\nunique"), with);
}

#[test]
fn the_pages_say_of_errors_and_inputs_what_the_schema_says() {
    let schema = Schema::parse_and_validate(fanfold::graphql::sdl(), "schema.graphql").unwrap();
    let errors = schema.types["UserError"].as_object().unwrap();
    let limit = errors.fields["limit"].description.as_ref().unwrap();
    let codes: BTreeSet<&str> = limit.split('`').skip(1).step_by(2).collect();
    assert_eq!(named_between("`limit` is the violated minimum or maximum (", "), and"), codes);

    let profile = schema.types["UpdateProfileInput"].as_input_object().unwrap();
    let is_removed =
        |field: &&apollo_compiler::schema::Component<apollo_compiler::ast::InputValueDefinition>| {
            let description = field.description.as_ref().unwrap();
            ["removed if null", "cleared if null"].iter().any(|rule| description.contains(rule))
        };
    let removed: BTreeSet<&str> =
        profile.fields.values().filter(is_removed).map(|field| field.name.as_str()).collect();
    assert_eq!(named_between("omitting a field leaves it unchanged. For ", ", null removes"), removed);

    // Mutations that verify the current password share a limit, and those that hash a password another.
    let with = |names: &[&str]| -> BTreeSet<&str> {
        let mutations = schema.types["Mutation"].as_object().unwrap().fields.values();
        let has = |input: &str| {
            let input = schema.types[input].as_input_object().unwrap();
            names.iter().any(|name| input.fields.contains_key(*name))
        };
        let of = |field: &apollo_compiler::ast::FieldDefinition| {
            let input = field.argument_by_name("input")?;
            has(input.ty.inner_named_type()).then_some(())
        };
        mutations.filter(|field| of(field).is_some()).map(|field| field.name.as_str()).collect()
    };
    let named = |start: &str, end: &str| -> BTreeSet<&str> {
        let row = SECURITY.lines().find(|line| line.starts_with(start) && line.contains(end));
        let (names, _) = row.unwrap_or_else(|| panic!("{start}")).split_once(end).unwrap();
        names.split('`').skip(1).step_by(2).collect()
    };
    assert_eq!(named("| Wrong current passwords in", " per hour"), with(&["currentPassword"]));
    let hashed = with(&["password", "currentPassword", "newPassword"]);
    assert_eq!(named("| `login`", " together"), hashed);
}

#[test]
fn the_readme_lists_nothing_as_missing_that_the_schema_has() {
    let (_, rest) = README.split_once("- There are no ").expect("the readme says what is missing");
    let (missing, _) = rest.split_once('.').unwrap();
    let schema = fanfold::graphql::sdl().to_lowercase();
    for word in missing.replace(" or ", ", ").split(", ") {
        let name = word.trim_end_matches('s').replace(' ', "");
        let is_field = |line: &str| line.trim_start().starts_with(&name) && line.contains(':');
        let is_type = |line: &str| line.starts_with("type ") && line.contains(&name);
        let found = schema.lines().find(|line| is_field(line) || is_type(line));
        assert_eq!(found, None, "{word}");
    }
}

#[test]
fn the_files_that_the_pages_link_to_exist() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let pages = [("docs", CLIENTS), ("docs", OPERATING), ("docs", CAPACITY), ("docs", CLUSTER)];
    for (directory, page) in [(".", README), (".", CONTRIBUTING)].into_iter().chain(pages) {
        let links = page.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link);
        let is_file = |link: &&str| !link.contains("://") && !link.starts_with('#');
        for link in links.filter(is_file) {
            assert!(root.join(directory).join(link).exists(), "{link}");
        }
    }
}
