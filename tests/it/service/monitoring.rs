//! The alerts and the dashboard of `deploy/`, and what servers report.

use std::process::Command;

use serde_json::json;

use crate::harness::cluster::Cluster;
use crate::harness::instance::Instance;
use crate::harness::issuer::{Issuer, SigningKey};
use crate::harness::program::stdout_of;
use crate::harness::server::{Server, eventually};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Returns the metrics that the alerts and the dashboard use, each with its labels. Fails if one of their expressions
/// is malformed.
fn used() -> Vec<(String, Vec<String>)> {
    let python = format!("{ROOT}/target/validators/bin/python");
    let lines = stdout_of(Command::new(python).arg(format!("{ROOT}/tests/deploy/monitoring.py")));
    let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let metric = |line: &str| words(line).split_first().map(|(name, labels)| (name.clone(), labels.to_vec()));
    lines.lines().filter_map(metric).collect()
}

fn metrics(server: &Server) -> String {
    let (status, page) = server.page("/metrics");
    assert_eq!(status, 200);
    page
}

/// Returns the metrics of servers that had requests and errors of all kinds.
fn eventful() -> String {
    let mut redis = Instance::start(&[]);
    let issuer = Issuer::start(&[SigningKey::p256().jwk("a")]);
    let options = [&issuer.options()[..], &["--graphql-response-limit", "65536"]].concat();
    let server = Server::at(&redis.url(), redis.directory(), &options);
    let token = server.token("ada");
    // Rejected, more than the budget allows, and left out.
    server.ask("{ nothing }");
    let publish =
        format!("publish(input: {{ content: \"{}\" }}) {{ userErrors {{ code }} }}", "a".repeat(1_000));
    for _ in 0..5 {
        server.ask_as(&token, &format!("mutation {{ {publish} }}"));
    }
    let wide = (0..30).map(|number| format!("a{number}: posts(first: 5) {{ nodes {{ content }} }}"));
    let wide = wide.collect::<Vec<_>>().join(" ");
    let response = server.ask(&format!("{{ user(by: {{ username: \"ada\" }}) {{ {wide} }} }}"));
    assert_eq!(response["errors"][0]["extensions"]["code"], "QUERY_TOO_COMPLEX", "{response}");
    for key in (1..=5).map(|post| format!("ff:{{p{post}}}:post")) {
        redis.raw::<i64>(&["DEL", &key]);
        redis.raw::<String>(&["SET", &key, "of no use"]);
    }
    let posts = "{ user(by: { username: \"ada\" }) { posts { nodes { content } } } }";
    assert_eq!(server.ask(posts)["data"]["user"]["posts"]["nodes"], json!([]));
    let before = metrics(&server);
    redis.kill();
    server.ask(posts);
    let after = metrics(&server);

    let (cluster, directory) = (Cluster::start(3, 0), tempfile::tempdir().unwrap());
    let server = Server::at(&cluster.url(), directory.path().to_str().unwrap(), &[]);
    server.token("ada");
    format!("{before}{after}{}", metrics(&server))
}

/// Returns the value of a metric without labels.
fn value(server: &Server, name: &str) -> f64 {
    let page = metrics(server);
    let value = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.unwrap_or_else(|| panic!("no {name}: {page}")).parse().unwrap()
}

#[test]
fn the_alerts_and_the_dashboard_use_metrics_and_labels_that_servers_report() {
    let page = eventful();
    let used = used();
    assert!(used.len() > 30, "{used:?}");
    for (name, labels) in used {
        // Prometheus itself reports whether a scrape succeeded.
        if name == "up" {
            continue;
        }
        let is_reported = page.lines().any(|line| {
            let rest = line.strip_prefix(&name);
            rest.is_some_and(|rest| {
                rest.starts_with(['{', ' '])
                    && labels.iter().all(|label| rest.contains(&format!("{label}=\"")))
            })
        });
        assert!(is_reported, "no server reports {name} with the labels {labels:?}");
    }
}

#[test]
fn a_server_reports_the_memory_of_redis_and_the_state_of_the_archive() {
    let mut redis = Instance::start(&["--maxmemory", "100mb"]);
    let server = Server::at(&redis.url(), redis.directory(), &[]);
    let value = |name: &str| value(&server, name);
    let used = value("fanfold_redis_memory_bytes");
    let limit = value("fanfold_redis_memory_limit_bytes");
    assert!(used > 500_000.0 && used < limit && (limit - 104_857_600.0).abs() < 0.5, "{used} of {limit}");
    assert!((value("fanfold_archive_up") - 1.0).abs() < 0.1);
    redis.kill();
    assert!(eventually(|| value("fanfold_redis_memory_bytes").is_nan()));
    assert!(value("fanfold_archive_up").is_nan(), "without Redis, it is unknown");
}

#[test]
fn a_server_without_its_archive_reports_that() {
    let redis = Instance::start(&[]);
    // No database listens on this port.
    let archive = ["--archive-url", "postgres://fanfold:password@127.0.0.1:1/fanfold"];
    let server = Server::at(&redis.url(), redis.directory(), &archive);
    assert!(value(&server, "fanfold_archive_up").abs() < 0.1);
}
