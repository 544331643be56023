//! Observability: metrics, a log, traces.

use std::time::Duration;

use fanfold::metric::{self, Metric};
use serde_json::{Value, json};

use crate::harness::document::{OPERATING, table};
use crate::harness::server::{Logged, Server, eventually, metric};
use crate::harness::socket::Socket;
use crate::harness::world::{PASSWORD, Redis};

fn is(metric: f64, count: u32) -> bool {
    (metric - f64::from(count)).abs() < 0.5
}

#[test]
fn the_page_for_operators_has_the_metrics_as_declared() {
    let row = |metric: &Metric| {
        let name = metric.name.strip_prefix("fanfold_").unwrap();
        let labels: Vec<String> = metric.labels.iter().map(|label| format!("`{label}`")).collect();
        let kind = format!("{:?}", metric.kind).to_lowercase();
        vec![format!("`{name}`"), kind, labels.join(", "), metric.text.to_owned()]
    };
    assert_eq!(table(OPERATING, "| Metric |"), metric::ALL.iter().map(row).collect::<Vec<_>>());
}

#[test]
fn requests_are_counted_by_type_and_by_outcome() {
    let redis = Redis::start();
    let server = Server::over(&redis, &["--http-batch-limit", "10"]);
    let token = server.token("ada");
    for _ in 0..3 {
        server.ask("{ user(by: { username: \"ada\" }) { followers { totalCount } } }");
    }
    server.ask("{ nothing }");
    server.ask("{");
    server.ask_as("wrong", "{ __typename }");
    server.ask_as(&token, "mutation { logout { userErrors { code } } }");
    server.ask("mutation { logout { userErrors { code } } }");
    server.send("POST /graphql", "no JSON");
    let batch =
        json!([{ "query": "{ __typename }" }, { "query": "{ nothing }" }, { "query": "{ a: __typename }" }]);
    server.send("POST /graphql", &batch.to_string());
    for (operation, code, count) in [
        ("query", "ok", 5),
        ("query", "UNAUTHENTICATED", 1),
        ("mutation", "ok", 2),
        ("mutation", "UNAUTHENTICATED", 1),
        ("none", "GRAPHQL_VALIDATION_FAILED", 2),
        ("none", "GRAPHQL_PARSE_FAILED", 1),
        ("none", "BAD_REQUEST", 1),
        ("batch", "ok", 0),
    ] {
        let name = format!("fanfold_requests_total{{operation=\"{operation}\",code=\"{code}\"}}");
        assert!(is(metric(&server, &name), count), "{name} {}", metric(&server, &name));
    }
    let rejected = "fanfold_documents_rejected_total{code=\"GRAPHQL_VALIDATION_FAILED\"}";
    assert!(is(metric(&server, rejected), 2));
    let requests = "fanfold_request_seconds";
    assert!(is(metric(&server, &format!("{requests}_count{{operation=\"query\"}}")), 6));
    assert!(is(metric(&server, &format!("{requests}_bucket{{operation=\"query\",le=\"10\"}}")), 6));
    assert!(
        metric(&server, &format!("{requests}_sum{{operation=\"mutation\"}}")) > 0.005,
        "a password was hashed"
    );
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn the_state_of_dependencies_is_reported() {
    let redis = Redis::own();
    let server = Server::over(&redis, &["--redis-connections", "3", "--http-threads", "1"]);
    server.token("ada");
    let query = "{ user(by: { username: \"ada\" }) { followers { totalCount } following { totalCount } } }";
    server.ask(query);
    server.ask(query);
    let query = json!({ "query": query, "extensions": { "persistedQuery": { "version": 1,
        "sha256Hash": "0".repeat(64) } } });
    server.send("POST /graphql", &query.to_string());
    assert!(is(metric(&server, "fanfold_redis_seconds_count{step=\"login: open\"}"), 0));
    assert!(metric(&server, "fanfold_redis_seconds_count{step=\"ping\"}") < 0.5);
    let (_, page) = server.page("/metrics");
    let counted = |name: &str| page.lines().any(|line| line.starts_with(name));
    assert!(counted("fanfold_redis_seconds_bucket{step=\"register: "), "{page}");
    // The name is read alone, and then both counts together.
    assert!(is(
        metric(&server, "fanfold_loader_reads_bucket{le=\"2\"}"),
        metric(&server, "fanfold_loader_reads_count") as u32
    ));
    assert!(metric(&server, "fanfold_loader_reads_sum") > metric(&server, "fanfold_loader_reads_count"));
    assert!(is(metric(&server, "fanfold_redis_connections"), 2 * 3));
    assert!(is(metric(&server, "fanfold_redis_up"), 1));
    assert!(is(metric(&server, "fanfold_documents_cached"), 2));
    assert!(is(metric(&server, "fanfold_persisted_cached"), 0));
    assert!(is(metric(&server, "fanfold_passwords_waiting"), 0));
    assert!(is(
        metric(&server, &format!("fanfold_build_info{{version=\"{}\"}}", env!("CARGO_PKG_VERSION"))),
        1
    ));
    let uptime = metric(&server, "fanfold_uptime_seconds");
    std::thread::sleep(Duration::from_millis(50));
    assert!(metric(&server, "fanfold_uptime_seconds") > uptime && uptime < 60.0);
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn waiting_passwords_are_reported() {
    let redis = Redis::start();
    let server = Server::over(&redis, &["--password-workers", "1"]);
    let waiting = || metric(&server, "fanfold_passwords_waiting") > 0.5;
    std::thread::scope(|scope| {
        let ask = |name: usize| server.register(&format!("ann{name}"));
        let asked: Vec<_> = (0..30).map(|name| scope.spawn(move || ask(name))).collect();
        assert!(eventually(waiting));
        for one in asked {
            one.join().unwrap();
        }
    });
    assert!(!waiting());
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn a_request_is_a_line_of_the_log_if_enabled() {
    let redis = Redis::start();
    for options in [&["--log-format", "json", "--log-requests"][..], &["--log-format", "json"]] {
        let logged = Logged::start(&redis, options);
        let name = format!("user{}", options.len());
        let token = logged.server.token(&name);
        let query = "query Who { viewer { user { username } } }";
        let body = json!({ "query": query }).to_string();
        let more = format!("authorization: Bearer {token}\r\nx-request-id: the-one\r\n");
        let (status, response) = logged.server.send_with("POST /graphql", &more, &body);
        assert_eq!(status, 200);
        logged.server.send("GET /graphql?query={nothing}", "");
        if options.len() == 2 {
            assert!(!logged.log().contains("answered"), "{}", logged.log());
            continue;
        }
        let lines = logged.lines();
        let requests: Vec<_> = lines.iter().filter(|line| line["target"] == "fanfold::http::log").collect();
        let line = requests.iter().find(|line| line["span"]["id"] == "the-one").expect("it is logged");
        let fields = &line["fields"];
        assert_eq!(fields["method"], "POST");
        assert_eq!((&fields["operation"], &fields["name"]), (&json!("query"), &json!("Who")));
        assert_eq!((&fields["code"], &fields["status"]), (&json!("ok"), &json!(200)));
        assert_eq!(fields["viewer"], "1");
        assert_eq!(fields["cost"], 3);
        assert_eq!(fields["bytes"], response.len());
        assert!(fields["milliseconds"].as_f64().unwrap() > 0.0);
        let rejected = requests.last().unwrap();
        assert_eq!(rejected["fields"]["code"], "GRAPHQL_VALIDATION_FAILED");
        assert_eq!(
            (&rejected["fields"]["method"], &rejected["fields"]["viewer"]),
            (&json!("GET"), &json!("anonymous"))
        );
        assert_eq!(rejected["span"]["id"].as_str().unwrap().len(), 32);
    }
}

#[test]
fn log_lines_of_a_request_have_its_id() {
    let redis = Redis::start();
    for form in ["text", "json"] {
        let logged = Logged::start(&redis, &["--log-format", form, "--log-filter", "warn"]);
        // A counter of the wrong type.
        redis.raw::<()>(&["DEL", "ff:{g}:next:user"]);
        redis.raw::<u64>(&["HSET", "ff:{g}:next:user", "a", "b"]);
        let input = "input: { username: \"eve\", password: \"correct horse\" }";
        let body = json!({ "query": format!("mutation {{ register({input}) {{ token }} }}") }).to_string();
        let (_, response) = logged.server.send_with("POST /graphql", "x-request-id: broken-one\r\n", &body);
        assert!(response.contains("INTERNAL_SERVER_ERROR"), "{response}");
        let log = logged.log();
        let named = if form == "json" { "\"id\":\"broken-one\"" } else { "request{id=\"broken-one\"}" };
        let line = log.lines().find(|line| line.contains("a request failed")).expect("it is logged");
        assert!(line.contains(named), "{line}");
        redis.raw::<()>(&["DEL", "ff:{g}:next:user"]);
    }
}

#[test]
fn nothing_secret_is_logged_at_any_level() {
    let redis = Redis::start();
    let logged = Logged::start(&redis, &["--log-format", "json", "--log-filter", "trace", "--log-requests"]);
    let server = &logged.server;
    let token = server.token("ada");
    let login =
        "mutation ($input: LoginInput!) { login(input: $input) { token marker: userErrors { code } } }";
    let input = json!({ "input": { "username": "ada", "password": PASSWORD, "label": "a-variable-value" } });
    let (_, response) =
        server.send("POST /graphql", &json!({ "query": login, "variables": input.clone() }).to_string());
    let response: Value = serde_json::from_str(&response).unwrap();
    let second = response["data"]["login"]["token"].as_str().unwrap();
    server
        .ask_as(&token, "mutation { publish(input: { content: \"what-is-said\" }) { userErrors { code } } }");
    server.ask_as(&token, "{ viewer { marker: timeline { nodes { content } } } }");
    server.ask_as(&token, "{ viewer { marker } }");
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let mut socket = Socket::acknowledged(server, Some(&token)).await;
        socket.subscribe("m", login, input).await;
        assert_eq!(socket.receive().await["type"], "next");
    });
    assert!(eventually(|| logged.log().contains("fanfold::http::log")));
    let log = logged.log();
    for secret in [&*token, second, PASSWORD, "a-variable-value", "what-is-said", "marker"] {
        assert!(
            !log.contains(secret),
            "{secret}: {}",
            log.lines().find(|line| line.contains(secret)).unwrap()
        );
    }
}
