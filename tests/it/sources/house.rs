//! The layering: which layers may import which, and where foreign crates belong. A failure here means that the design
//! is being bent, not that the test is in the way.

use std::fs;
use std::path::{Path, PathBuf};

/// Each layer and the layers it may import. All may import `model` and `config`.
const LAYERS: [(&str, &[&str]); 13] = [
    ("model", &[]),
    ("config", &["budget"]),
    ("gate", &[]),
    ("budget", &[]),
    ("thread", &[]),
    ("worker", &["thread"]),
    ("managed", &[]),
    ("store", &["gate", "budget", "worker"]),
    ("archive", &["gate", "budget"]),
    ("app", &["store", "archive", "gate", "budget", "thread"]),
    ("graphql", &["app", "budget", "thread"]),
    ("http", &["graphql", "app", "budget", "worker"]),
    ("cli", &["http", "graphql", "app", "store", "archive", "managed", "thread", "worker"]),
];

/// Each foreign crate that has a home, and the places where it may be named.
const HOMES: [(&str, &[&str]); 51] = [
    ("redis", &["store", "managed"]),
    ("bb8_redis", &["store"]),
    ("sqlx", &["archive"]),
    ("rustls", &["store/deployment.rs", "store/wire.rs"]),
    ("argon2", &["app/password"]),
    ("async_graphql", &["graphql", "http/executed.rs", "http/print.rs", "http/response.rs"]),
    ("async_graphql_axum", &["http/executed.rs"]),
    ("async_graphql_value", &["graphql/document", "graphql/json.rs", "graphql/paging.rs"]),
    ("apollo_compiler", &["graphql/document"]),
    ("quick_cache", &["app/exclusion.rs", "app/jwt", "graphql/document", "store/cache.rs"]),
    ("dataloader", &["graphql/loader.rs"]),
    ("axum", &["http"]),
    ("bytes", &["store/distribution.rs", "store/encode.rs", "store/pool.rs", "store/wire.rs"]),
    ("crc16", &["store/topology.rs"]),
    ("clap", &["config", "cli", "main.rs"]),
    ("clap_complete", &["cli/completions.rs"]),
    ("clap_mangen", &["cli/man.rs"]),
    ("hyper", &["app/jwt/fetch.rs", "http/connection.rs", "http/probe.rs", "http/websocket.rs"]),
    ("hyper_rustls", &["app/jwt/fetch.rs", "cli/trace.rs"]),
    ("hyper_util", &["app/jwt/fetch.rs", "http/connection.rs", "http/probe.rs", "http/websocket.rs"]),
    ("ipnet", &["config", "http/address.rs"]),
    ("idna", &["model/entity"]),
    ("indicatif", &["cli/progress.rs"]),
    ("itoa", &["store/key.rs"]),
    ("jiff", &["cli/print.rs", "graphql/types/scalar.rs"]),
    ("jsonwebtoken", &["app/jwt"]),
    ("metrics", &["http/metrics.rs", "store/metric.rs", "graphql/usage.rs"]),
    ("metrics_exporter_prometheus", &["http/metrics.rs"]),
    ("opentelemetry", &["cli/trace.rs", "http/trace.rs"]),
    ("opentelemetry_http", &["cli/trace.rs", "http/trace.rs"]),
    ("opentelemetry_otlp", &["cli/trace.rs"]),
    ("opentelemetry_sdk", &["cli/trace.rs", "http/trace.rs"]),
    ("rand", &["model/rng.rs", "cli/conversation.rs", "cli/demo.rs", "cli/people.rs", "cli/posts.rs"]),
    ("ring", &["app/jwt/signature.rs"]),
    ("rpassword", &["cli/user.rs"]),
    ("rust_embed", &["http/page.rs"]),
    ("rust_iso3166", &["model/region"]),
    ("rustls_native_certs", &["store/wire.rs"]),
    ("smallvec", &["store/encode.rs"]),
    ("sd_notify", &["cli/notify.rs"]),
    ("serde", &["graphql/json.rs", "graphql/preloaded", "http/print.rs"]),
    ("strsim", &["config/nearest.rs"]),
    ("tld", &["model/entity"]),
    ("tokio_io_timeout", &["http/connection.rs"]),
    ("tokio_rustls", &["store/wire.rs"]),
    ("tokio_tungstenite", &["http/websocket.rs"]),
    ("tokio_util", &["graphql", "http"]),
    ("toml", &["config/file.rs", "config/key.rs"]),
    ("tracing_opentelemetry", &["cli/trace.rs", "http/trace.rs"]),
    ("unicode_normalization", &["model/entity"]),
    ("unicode_properties", &["model/entity"]),
];

/// Returns the sources, each with its path below `src` and its lines of code.
fn sources() -> Vec<(String, Vec<String>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut sources = Vec::new();
    let mut open = vec![root.clone()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path: PathBuf = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                let name = path.strip_prefix(&root).unwrap().to_string_lossy().replace('\\', "/");
                sources.push((name, text.lines().map(str::to_owned).collect()));
            }
        }
    }
    assert!(sources.len() > 30, "the sources were found");
    sources
}

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
    for (file, lines) in sources() {
        let layer = file.split(['/', '.']).next().unwrap();
        let Some((_, allowed)) = LAYERS.iter().find(|(name, _)| *name == layer) else {
            assert!(["lib", "main"].contains(&layer), "{file} is in no layer");
            continue;
        };
        for (number, line) in lines.iter().enumerate() {
            for path in named_after(code(line), "crate::") {
                let is = |name: &&str| path.starts_with(*name);
                let ok = [layer, "model", "config"].iter().chain(*allowed).any(is);
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
    for (file, lines) in sources() {
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

#[test]
fn every_file_begins_with_module_docs() {
    for (file, lines) in sources() {
        let first = lines.first().map_or("", String::as_str);
        assert!(first.starts_with("//!") || file == "lib.rs", "src/{file} does not open with //!");
    }
}

#[test]
fn model_does_no_io_and_nothing_there_is_async() {
    for (file, lines) in sources() {
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
        for part in ["-- KEYS[1]", "-- ARGV[1]", "-- Returns"] {
            assert!(text.contains(part), "{name} has no line {part}");
        }
    }
}

/// The reads of users and posts, which only the app and its `visibility` may perform.
const RAW_READS: [&str; 2] = ["app::user::read", "app::post::read"];

#[test]
fn users_and_posts_reach_a_viewer_through_visibility_only() {
    let mut violations = Vec::new();
    for (file, lines) in sources().into_iter().filter(|(file, _)| !file.starts_with("app/")) {
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
