//! Each source file has an area, and each area has tests: `make quick` runs those of what has changed.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::program::stdout_of;

const AREAS: &str = include_str!("../areas.txt");

/// Returns each area and its filters of test names.
fn areas() -> HashMap<&'static str, Vec<&'static str>> {
    let lines = AREAS.lines().filter(|line| !line.starts_with('#'));
    let areas = lines.map(|line| {
        let mut words = line.split(' ');
        (words.next().unwrap(), words.collect())
    });
    areas.collect()
}

/// Returns the paths below `src` of all files with code, without their extension.
fn files() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut open, mut files) = (vec![root.clone()], Vec::new());
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path: PathBuf = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path
                .extension()
                .is_some_and(|extension| ["rs", "lua", "sql"].iter().any(|code| extension == *code))
            {
                files.push(path.strip_prefix(&root).unwrap().with_extension("").to_str().unwrap().to_owned());
            }
        }
    }
    files
}

#[test]
fn each_source_file_has_an_area_and_each_area_a_file() {
    let areas = areas();
    let files = files();
    // The tests of these layers are those of what all of their files have in common.
    let layers = ["app", "graphql", "http", "model", "store"];
    let has_area = |file: &&String| {
        let mut words = file.split('/').peekable();
        let _layer = words.next_if(|word| layers.contains(word));
        words.any(|word| word == "mod" || areas.contains_key(word))
    };
    let without: Vec<&String> = files.iter().filter(|file| !has_area(file)).collect();
    assert!(without.is_empty(), "add the areas of {without:?} to tests/it/areas.txt");
    let unused: Vec<&&str> = areas
        .keys()
        .filter(|area| !files.iter().any(|file| file.split('/').any(|word| word == **area)))
        .collect();
    assert!(unused.is_empty(), "{unused:?} of tests/it/areas.txt are in no path");
}

#[test]
fn each_area_has_tests() {
    let tests = stdout_of(Command::new(std::env::current_exe().unwrap()).arg("--list"));
    for (area, filters) in areas() {
        assert!(!filters.is_empty(), "{area} has tests");
        for filter in filters {
            assert!(tests.contains(filter), "{filter} of {area} names a test");
        }
    }
}

#[test]
fn the_tests_of_what_has_changed_are_listed() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path();
    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    let shell = |commands: &str| {
        let git = "git -c user.name=a -c user.email=a@example.org -c init.defaultBranch=main";
        stdout_of(Command::new("sh").current_dir(path).args(["-ec", &commands.replace("git", git)]))
    };
    shell("git init -q && mkdir -p tests/it/api src/app/post src/store/lua");
    for file in ["tests/areas", "tests/it/areas.txt"] {
        std::fs::copy(project.join(file), path.join(file)).unwrap();
    }
    shell(
        "git add . && git commit -qm one && echo 1 > src/app/post/edit.rs && git add . && git commit -qm two",
    );
    let listed = || {
        shell("tests/areas")
            .lines()
            .filter(|line| !line.starts_with("sources::"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(listed(), ["api::edits::", "protocols::edits::"]);
    shell("echo 2 > tests/it/api/lists.rs && echo 3 >> src/app/post/edit.rs && echo 4 > src/app/post/mod.rs");
    let areas = areas();
    let post = areas["post"].iter().copied();
    let mut expected: Vec<&str> =
        ["api::edits::", "protocols::edits::", "api::lists::"].into_iter().chain(post).collect();
    expected.sort_unstable();
    assert_eq!(listed(), expected);
}
