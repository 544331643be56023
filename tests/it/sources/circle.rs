//! Circular imports among files: files that import each other are hard to change one at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Circles that stay, each defended in `src/ARCHITECTURE.md`.
const DEFENDED: [&[&str]; 1] = [&[
    "graphql::types::connection::post",
    "graphql::types::connection::user",
    "graphql::types::post",
    "graphql::types::recovery",
    "graphql::types::relation",
    "graphql::types::segment",
    "graphql::types::selection",
    "graphql::types::user",
    "graphql::types::viewer",
]];

/// Returns the modules of the crate by path, such as `store::post`, each with its code outside tests.
fn modules() -> BTreeMap<String, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut modules, mut open) = (BTreeMap::new(), vec![root.clone()]);
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
                continue;
            }
            let Some(name) = path.to_str().and_then(|path| path.strip_suffix(".rs")) else { continue };
            let name = Path::new(name).strip_prefix(&root).unwrap().to_str().unwrap();
            let name = name.strip_suffix("/mod").unwrap_or(name).replace('/', "::");
            if !["lib", "main"].contains(&&*name) {
                let text = fs::read_to_string(&path).unwrap();
                let text = text.split("#[cfg(test)]\nmod ").next().unwrap();
                let code = text.lines().map(|line| line.split("//").next().unwrap());
                modules.insert(name, code.collect::<Vec<_>>().join("\n"));
            }
        }
    }
    modules
}

/// Collects the paths that the tree after a `use` or a `crate::` names, with the braces expanded.
fn expand(prefix: &str, tree: &str, paths: &mut Vec<String>) {
    let tree = tree.trim();
    let Some((before, inner)) = tree.strip_suffix('}').and_then(|tree| tree.split_once('{')) else {
        paths.push(format!("{prefix}{}", tree.split(" as ").next().unwrap()));
        return;
    };
    let prefix = format!("{prefix}{before}");
    let (mut depth, mut start) = (0, 0);
    for (at, character) in inner.char_indices().chain([(inner.len(), ',')]) {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                if !inner[start..at].trim().is_empty() {
                    expand(&prefix, &inner[start..at], paths);
                }
                start = at + 1;
            }
            _ => {}
        }
    }
}

/// Returns the paths from the root of the crate that a module names.
fn paths(module: &str, code: &str) -> Vec<String> {
    let mut paths = Vec::new();
    for (at, _) in code.match_indices("use ") {
        if code[..at].chars().next_back().is_none_or(|before| before.is_whitespace() || before == ')')
            && let Some((tree, _)) = code[at + 4..].split_once(';')
        {
            expand("", tree, &mut paths);
        }
    }
    for (at, _) in code.match_indices("crate::") {
        let path = &code[at..];
        let end = path.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')).unwrap_or(path.len());
        paths.push(path[..end].trim_end_matches(':').to_owned());
    }
    let parent =
        |module: &str| module.rsplit_once("::").map_or(String::new(), |(parent, _)| parent.to_owned());
    let absolute = |path: String| {
        if let Some(path) = path.strip_prefix("crate::") {
            return Some(path.to_owned());
        }
        if let Some(path) = path.strip_prefix("self::") {
            return Some(format!("{module}::{path}"));
        }
        let (mut rest, mut base) = (path.strip_prefix("super::")?, parent(module));
        while let Some(further) = rest.strip_prefix("super::") {
            (rest, base) = (further, parent(&base));
        }
        Some(format!("{base}::{rest}"))
    };
    paths.into_iter().filter_map(absolute).collect()
}

fn is_within(inner: &str, outer: &str) -> bool {
    inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with("::"))
}

/// Returns the modules that each module imports. A folder and its files are one unit: they may name each other.
fn imports(modules: &BTreeMap<String, String>) -> BTreeMap<&str, BTreeSet<&str>> {
    let module_of = |path: &str| {
        let mut path = path.to_owned();
        loop {
            if let Some((module, _)) = modules.get_key_value(&path) {
                return Some(module.as_str());
            }
            path = path.rsplit_once("::")?.0.to_owned();
        }
    };
    let imported = |module: &str, code: &str| {
        let imported: BTreeSet<&str> =
            paths(module, code).iter().filter_map(|path| module_of(path)).collect();
        let is_elsewhere =
            |other: &&str| *other != module && !is_within(other, module) && !is_within(module, other);
        imported.into_iter().filter(is_elsewhere).collect()
    };
    modules.iter().map(|(module, code)| (module.as_str(), imported(module, code))).collect()
}

fn reachable<'a>(imports: &BTreeMap<&'a str, BTreeSet<&'a str>>, from: &str) -> BTreeSet<&'a str> {
    let (mut reached, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(module) = open.pop() {
        for &next in &imports[module] {
            if reached.insert(next) {
                open.push(next);
            }
        }
    }
    reached
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    let modules = modules();
    let imports = imports(&modules);
    assert!(imports.values().map(BTreeSet::len).sum::<usize>() > 300, "the imports were found");
    let reachable: BTreeMap<&str, _> =
        imports.keys().map(|&module| (module, reachable(&imports, module))).collect();
    let circle_of = |module: &str| -> Vec<&str> {
        reachable[module].iter().copied().filter(|other| reachable[other].contains(module)).collect()
    };
    let circles: BTreeSet<Vec<&str>> =
        imports.keys().map(|module| circle_of(module)).filter(|circle| circle.len() > 1).collect();
    let stray: Vec<_> = circles.iter().filter(|circle| !DEFENDED.contains(&circle.as_slice())).collect();
    assert!(stray.is_empty(), "these import each other: {stray:#?}");
    for circle in DEFENDED {
        assert!(circles.contains(circle), "this circle no longer exists: {circle:?}");
    }
}
