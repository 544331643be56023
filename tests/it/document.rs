//! The README says only what is true: its queries are run, and their answers compared.

use std::fmt::Write as _;
use std::process::Command;

use serde_json::{Value, json};

use crate::world::World;

const README: &str = include_str!("../../README.md");

/// The blocks of code in this language, in order.
fn blocks(language: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut open: Option<String> = None;
    for line in README.lines() {
        match (&mut open, line.trim_end()) {
            (None, fence) if fence == format!("```{language}") => open = Some(String::new()),
            (Some(_), "```") => blocks.extend(open.take()),
            (Some(block), line) => writeln!(block, "{line}").unwrap(),
            (None, _) => {}
        }
    }
    blocks
}

/// A world made by `fanfold demo`, as `make run` makes it.
pub(crate) async fn demo_world() -> World {
    let world = World::new().await;
    let demo = Command::new(env!("CARGO_BIN_EXE_fanfold"))
        .args(["demo", "--redis-url", &world.redis.url()])
        .output()
        .unwrap();
    assert!(demo.status.success(), "{}", String::from_utf8_lossy(&demo.stderr));
    world
}

#[tokio::test]
async fn the_queries_of_the_readme_have_the_answers_that_it_shows() {
    let world = demo_world().await;
    let (queries, answers) = (blocks("graphql"), blocks("json"));
    assert!(queries.len() >= 2 && queries.len() == answers.len(), "every query has its answer");
    let mut token: Option<String> = None;
    for (query, answer) in queries.iter().zip(&answers) {
        let mut data = json!({ "data": world.data(token.as_deref(), query, Value::Null).await });
        let mut shown: Value = serde_json::from_str(answer).expect("the README shows JSON");
        // A token is never the same twice.
        if let Some(given) = data.pointer_mut("/data/login/token") {
            token = given.as_str().map(str::to_owned);
            *given = shown.pointer_mut("/data/login/token").expect("the README shows a token").take();
            *shown.pointer_mut("/data/login/token").unwrap() = given.clone();
        }
        assert_eq!(data, shown, "{query}");
    }
    assert!(token.is_some(), "the README signs in");
}

#[test]
fn the_files_and_commands_that_the_readme_names_exist() {
    let makefile = include_str!("../../Makefile");
    for block in blocks("sh") {
        for line in block.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                ["make", target, ..] => assert!(makefile.contains(&format!("\n{target}:")), "{line}"),
                ["fanfold", ref command @ ..] => {
                    let command = command.iter().take_while(|word| !word.starts_with("--"));
                    let help = Command::new(env!("CARGO_BIN_EXE_fanfold"))
                        .args(command)
                        .arg("--help")
                        .output()
                        .unwrap();
                    assert!(help.status.success(), "{line}");
                    let help = String::from_utf8(help.stdout).unwrap();
                    for flag in words.iter().filter(|word| word.starts_with("--")) {
                        assert!(help.contains(flag), "{line}: {flag}");
                    }
                }
                ["git" | "cd", ..] => {}
                _ => panic!("nothing runs this line of the README: {line}"),
            }
        }
    }
}
