//! The layering: which layers may import which, where foreign crates belong, and what tests may import. A failure here
//! means that the design is being bent, not that the test is in the way.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::harness::source::{sources, sources_of};

/// Each layer and the layers it may import. All may import `model`, `config` and `metric`.
const LAYERS: [(&str, &[&str]); 15] = [
    ("model", &[]),
    ("config", &["budget"]),
    ("gate", &[]),
    ("metric", &[]),
    ("budget", &[]),
    ("thread", &[]),
    ("worker", &["thread"]),
    ("managed", &[]),
    ("driver", &["worker"]),
    ("store", &["driver", "gate", "budget"]),
    ("archive", &["gate", "budget"]),
    ("app", &["store", "archive", "gate", "budget", "thread"]),
    ("graphql", &["app", "budget", "thread"]),
    ("http", &["graphql", "app", "budget", "worker"]),
    ("cli", &["http", "graphql", "app", "store", "archive", "managed", "thread", "worker"]),
];

/// Each foreign crate that has a home, and the places where it may be named.
const HOMES: [(&str, &[&str]); 53] = [
    ("redis", &["driver", "store", "managed"]),
    ("bb8_redis", &["driver"]),
    ("sqlx", &["archive"]),
    ("rustls", &["driver/deployment.rs", "driver/wire.rs"]),
    ("argon2", &["app/password"]),
    ("async_graphql", &["graphql", "http/executed.rs", "http/print.rs", "http/response.rs"]),
    ("async_graphql_axum", &["http/executed.rs"]),
    ("async_graphql_value", &["graphql/document", "graphql/json.rs", "graphql/paging.rs"]),
    ("apollo_compiler", &["graphql/document"]),
    ("quick_cache", &["app/exclusion.rs", "app/jwt", "graphql/document", "store/cache.rs"]),
    ("dataloader", &["graphql/loader.rs"]),
    ("axum", &["http"]),
    ("bytes", &["driver"]),
    ("crc16", &["driver/topology.rs"]),
    ("clap", &["config", "cli", "main.rs"]),
    ("clap_complete", &["cli/completions.rs"]),
    ("clap_mangen", &["cli/man.rs"]),
    (
        "hyper",
        &["app/jwt/fetch.rs", "http/connection.rs", "http/memory.rs", "http/probe.rs", "http/websocket.rs"],
    ),
    ("hyper_rustls", &["app/jwt/fetch.rs", "cli/trace.rs"]),
    ("hyper_util", &["app/jwt/fetch.rs", "http/connection.rs", "http/probe.rs", "http/websocket.rs"]),
    ("ipnet", &["config", "http/address.rs"]),
    ("icu_properties", &["model/text"]),
    ("idna", &["model/entity"]),
    ("indicatif", &["cli/progress.rs"]),
    ("itoa", &["store/key"]),
    ("jiff", &["cli/print.rs", "graphql/types/scalar.rs"]),
    ("jsonwebtoken", &["app/jwt"]),
    ("metrics", &["metric.rs", "http/metrics.rs", "driver/metric.rs", "store/metric.rs", "graphql/usage.rs"]),
    ("metrics_exporter_prometheus", &["http/metrics.rs"]),
    ("opentelemetry", &["cli/trace.rs", "http/trace.rs"]),
    ("opentelemetry_http", &["cli/trace.rs", "http/trace.rs"]),
    ("opentelemetry_otlp", &["cli/trace.rs"]),
    ("opentelemetry_sdk", &["cli/trace.rs", "http/trace.rs"]),
    ("pin_project_lite", &["http/fair.rs"]),
    ("rand", &["model/rng.rs", "cli/demo"]),
    ("ring", &["app/jwt/signature.rs"]),
    ("rpassword", &["cli/user.rs"]),
    ("rust_embed", &["http/page.rs"]),
    ("rust_iso3166", &["model/region"]),
    ("rustls_native_certs", &["driver/wire.rs"]),
    ("smallvec", &["driver/encode.rs"]),
    ("sd_notify", &["cli/notify.rs"]),
    ("serde", &["graphql/json.rs", "graphql/preloaded", "http/print.rs"]),
    ("strsim", &["config/nearest.rs"]),
    ("tld", &["model/entity"]),
    ("tokio_io_timeout", &["http/connection.rs"]),
    ("tokio_rustls", &["driver/wire.rs"]),
    ("tokio_tungstenite", &["http/websocket.rs"]),
    ("tokio_util", &["graphql", "http"]),
    ("toml", &["config/file.rs", "config/key.rs"]),
    ("tracing_opentelemetry", &["cli/trace.rs", "http/trace.rs"]),
    ("unicode_normalization", &["model/entity", "model/secret.rs"]),
    ("unicode_properties", &["model/entity", "model/secret.rs"]),
];

fn code(line: &str) -> &str {
    line.split("//").next().unwrap_or_default()
}

/// Returns what a line names after a path's beginning, such as `store::relation` after `crate::`.
fn named_after<'a>(line: &'a str, beginning: &'a str) -> impl Iterator<Item = &'a str> {
    line.match_indices(beginning).filter_map(move |(at, _)| {
        let is_whole = !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':');
        is_whole.then(|| &line[at + beginning.len()..])
    })
}

#[test]
fn every_layer_imports_only_those_below_it() {
    let mut violations = Vec::new();
    for (file, lines) in sources("src") {
        let layer = file.split(['/', '.']).next().unwrap();
        let Some((_, allowed)) = LAYERS.iter().find(|(name, _)| *name == layer) else {
            assert!(["lib", "main"].contains(&layer), "{file} is in no layer");
            continue;
        };
        for (number, line) in lines.iter().enumerate() {
            for path in named_after(code(line), "crate::") {
                let is = |name: &&str| path.starts_with(*name);
                let ok = [layer, "model", "config", "metric"].iter().chain(*allowed).any(is);
                if !ok {
                    violations.push(format!("src/{file}:{}: {layer} must not import {path}", number + 1));
                }
            }
        }
    }
    assert!(violations.is_empty(), "{}", violations.join("\n"));
}

#[test]
fn foreign_crates_stay_in_their_homes() {
    let mut violations = Vec::new();
    for (file, lines) in sources("src") {
        for (number, line) in lines.iter().enumerate() {
            for (foreign, homes) in HOMES {
                let beginning = format!("{foreign}::");
                let is_named = named_after(code(line), &beginning).next().is_some();
                if is_named && !homes.iter().any(|home| file.starts_with(home)) {
                    violations.push(format!("src/{file}:{}: {foreign} belongs in {homes:?}", number + 1));
                }
            }
        }
    }
    assert!(violations.is_empty(), "{}", violations.join("\n"));
}

/// A panic poisons the locks of the standard library, which everyone who takes them would have to handle.
#[test]
fn locks_are_those_of_parking_lot() {
    let mut violations = Vec::new();
    for (file, lines) in sources("src") {
        for (number, line) in lines.iter().enumerate().filter(|(_, line)| code(line).contains("std::sync::"))
        {
            if ["Condvar", "Mutex", "RwLock"].iter().any(|lock| code(line).contains(lock)) {
                violations.push(format!("src/{file}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    assert!(violations.is_empty(), "{}", violations.join("\n"));
}

#[test]
fn every_file_begins_with_module_docs() {
    for (file, lines) in sources("src") {
        let first = lines.first().map_or("", String::as_str);
        assert!(first.starts_with("//!") || file == "lib.rs", "src/{file} does not open with //!");
    }
}

#[test]
fn each_page_of_a_folder_is_compiled_and_in_the_index() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let index = fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap();
    let (_, index) = index.split_once("# Where to look").unwrap();
    let (index, _) = index.split_once("\n# ").unwrap();
    let mut listed = BTreeSet::new();
    let is_page = |text: &&str| text.contains('/') && [".md", ".rs"].iter().any(|end| text.ends_with(end));
    for page in index.split('`').filter(is_page) {
        assert!(root.join(page).exists(), "the index in ARCHITECTURE.md lists {page}");
        listed.insert(root.join(page));
    }
    let mut open = vec![root];
    while let Some(folder) = open.pop() {
        let entries = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
        open.extend(entries.filter(|path| path.is_dir()));
        let page = folder.join("README.md");
        if page.exists() {
            let module = fs::read_to_string(folder.join("mod.rs")).unwrap();
            let is_included = module.contains("#![doc = include_str!(\"README.md\")]");
            assert!(is_included, "{} is not included", page.display());
            assert!(listed.remove(&page), "the index in ARCHITECTURE.md lacks {}", page.display());
        }
    }
}

#[test]
fn model_does_no_io_and_nothing_there_is_async() {
    for (file, lines) in sources("src") {
        if !file.starts_with("model/") {
            continue;
        }
        for (number, line) in lines.iter().enumerate() {
            let code = code(line);
            for word in ["async ", "tokio", "std::fs", "std::net", "std::io", "Serialize"] {
                assert!(!code.contains(word), "src/{file}:{}: {word} in model", number + 1);
            }
        }
    }
}

#[test]
fn lines_have_120_columns_at_most() {
    let mut long = Vec::new();
    for (file, lines) in sources("src").into_iter().chain(sources_of("src", "lua")) {
        let is_long = |(_, line): &(usize, &String)| line.chars().count() > 120;
        long.extend(
            lines.iter().enumerate().filter(is_long).map(|(number, _)| format!("{file}:{}", number + 1)),
        );
    }
    assert!(long.is_empty(), "{long:#?}");
}

#[test]
fn every_script_is_documented_and_used() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store");
    let list = fs::read_to_string(root.join("script.rs")).unwrap();
    for entry in fs::read_dir(root.join("lua")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let line = list.lines().find(|line| line.trim().starts_with(&format!("{} = ", name.to_uppercase())));
        assert!(line.is_some_and(|line| line.ends_with(&format!("\"{name}\";"))), "{name} is not listed");
        for part in ["-- KEYS[1", "-- ARGV[1", "-- Returns"] {
            assert!(text.contains(part), "{name} has no line {part}");
        }
    }
}

/// The reads of users and posts, which only the app and its `visibility` may perform, and the look at a post that no one has
/// checked.
const RAW_READS: [&str; 3] = ["app::user::read", "app::post::read", ".unchecked()"];

#[test]
fn users_and_posts_reach_a_viewer_through_visibility_only() {
    let mut violations = Vec::new();
    for (file, lines) in sources("src").into_iter().filter(|(file, _)| !file.starts_with("app/")) {
        for (number, line) in lines.iter().enumerate() {
            for raw in RAW_READS.iter().filter(|raw| code(line).contains(**raw)) {
                violations.push(format!(
                    "src/{file}:{}: {raw} is not for this layer; use `app::visibility`",
                    number + 1
                ));
            }
        }
    }
    assert!(violations.is_empty(), "{}", violations.join("\n"));
}

#[test]
fn a_field_is_declared_once_for_resolvers_and_for_lists() {
    let mut spelled = Vec::new();
    for (file, lines) in sources("src/graphql").into_iter().filter(|(file, _)| file != "preloaded/fields.rs")
    {
        let implements = |line: &&String| code(line).contains("Preloaded for ");
        spelled.extend(lines.iter().filter(implements).map(|line| format!("{file}: {line}")));
    }
    assert!(spelled.is_empty(), "declare the fields of these with `fields!`: {spelled:#?}");
}

/// The folder of these tests.
const TESTS: &str = "tests/it";

/// Returns the paths that a file names beside its own, from the root of the crate, each with the number of its line.
fn named_modules(file: &str, lines: &[String]) -> Vec<(usize, String)> {
    let module: Vec<&str> = file.trim_end_matches(".rs").trim_end_matches("/mod").split('/').collect();
    let mut named = Vec::new();
    // The indentations of the modules within the file that are open.
    let mut open: Vec<usize> = Vec::new();
    for (number, line) in (1..).zip(lines) {
        let code = code(line);
        let indentation = code.len() - code.trim_start().len();
        if code.trim() == "}" && open.last() == Some(&indentation) {
            open.pop();
        }
        // A text that ends with the beginning of a path names none.
        let is_path = |path: &&str| path.starts_with(|c: char| c.is_alphabetic() || "_{*$".contains(c));
        for path in named_after(code, "crate::").filter(is_path) {
            named.push((number, path.to_owned()));
        }
        let above = named_after(code, "super::").chain(named_after(code, "self::super::"));
        for mut path in above.filter(is_path) {
            let mut levels = 1;
            while let Some(rest) = path.strip_prefix("super::") {
                (path, levels) = (rest, levels + 1);
            }
            // The first levels lead out of the modules within the file.
            if levels > open.len() {
                let parents = &module[..module.len().saturating_sub(levels - open.len())];
                named.push((number, [parents, &[path]].concat().join("::")));
            }
        }
        let mut words = code.split_whitespace().rev();
        if (words.next(), words.nth(1)) == (Some("{"), Some("mod")) {
            open.push(indentation);
        }
    }
    named
}

#[test]
fn test_areas_import_only_the_harness_and_themselves() {
    let is_in = |path: &str, module: &str| {
        let rest = path.strip_prefix(module);
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    };
    let mut violations = Vec::new();
    for (file, lines) in sources(TESTS).iter().filter(|(file, _)| file != "main.rs") {
        // The harness, or a file of a kind of tests, or a folder.
        let mut parts = file.trim_end_matches(".rs").split('/').filter(|part| *part != "mod");
        let area = match (parts.next().unwrap(), parts.next()) {
            (kind, Some(area)) if kind != "harness" => format!("{kind}::{area}"),
            (kind, _) => kind.to_owned(),
        };
        for (number, path) in named_modules(file, lines) {
            if !is_in(&path, "harness") && !is_in(&path, &area) {
                violations.push(format!("{TESTS}/{file}:{number}: {area} must not import {path}"));
            }
        }
    }
    assert!(violations.is_empty(), "{}", violations.join("\n"));
}
