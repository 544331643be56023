//! Traces of requests, as a collector receives them.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::json;
use tempfile::NamedTempFile;

use crate::harness::server::{Server, command, eventually};
use crate::harness::world::{Redis, hex};

const SERVER: i32 = 2;
const CLIENT: i32 = 3;
const ERROR: i32 = 2;

/// A receiver of traces, over their protocol.
struct Collector {
    address: String,
    received: Arc<Mutex<Vec<ExportTraceServiceRequest>>>,
}

impl Collector {
    fn start() -> Self {
        Self::speaking("http", |stream| stream)
    }

    /// A collector that speaks TLS, with the certificate that it writes to this file.
    fn start_secured(certificate: &Path) -> Self {
        let signed = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        std::fs::write(certificate, signed.cert.pem()).unwrap();
        let key = PrivateKeyDer::Pkcs8(signed.signing_key.serialize_der().into());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config =
            ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let config = config.with_no_client_auth().with_single_cert(vec![signed.cert.der().clone()], key);
        let config = Arc::new(config.unwrap());
        Self::speaking("https", move |stream| {
            StreamOwned::new(ServerConnection::new(Arc::clone(&config)).unwrap(), stream)
        })
    }

    fn speaking<S: Read + Write + Send + 'static>(
        scheme: &str,
        speak: impl Fn(TcpStream) -> S + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("{scheme}://localhost:{}/below", listener.local_addr().unwrap().port());
        let received = Arc::new(Mutex::new(Vec::new()));
        let shelf = Arc::clone(&received);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, shelf) = (speak(stream.unwrap()), Arc::clone(&shelf));
                std::thread::spawn(move || serve(stream, &shelf));
            }
        });
        Self { address, received }
    }

    fn spans(&self) -> Vec<Span> {
        let received = self.received.lock().unwrap();
        let scopes = received.iter().flat_map(|one| &one.resource_spans).flat_map(|one| &one.scope_spans);
        scopes.flat_map(|scope| scope.spans.clone()).collect()
    }

    fn services(&self) -> Vec<String> {
        let received = self.received.lock().unwrap();
        let resources = received.iter().flat_map(|one| &one.resource_spans).flat_map(|one| &one.resource);
        resources.map(|resource| text(&resource.attributes, "service.name")).collect()
    }
}

fn serve(stream: impl Read + Write, shelf: &Mutex<Vec<ExportTraceServiceRequest>>) {
    let mut reader = BufReader::new(stream);
    loop {
        let mut head = Vec::new();
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            if line == "\r\n" {
                break;
            }
            head.push(line.trim().to_ascii_lowercase());
        }
        assert_eq!(head[0], "post /below/v1/traces http/1.1");
        assert!(head.contains(&"content-type: application/x-protobuf".to_owned()), "{head:?}");
        let length = head.iter().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        let mut body = vec![0; length.parse().unwrap()];
        reader.read_exact(&mut body).unwrap();
        shelf.lock().unwrap().push(ExportTraceServiceRequest::decode(&*body).unwrap());
        reader.get_mut().write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
    }
}

/// Returns an attribute as text; empty if it is absent.
fn text(attributes: &[KeyValue], key: &str) -> String {
    let found = attributes.iter().find(|attribute| attribute.key == key);
    match found.and_then(|attribute| attribute.value.clone()?.value) {
        Some(Value::StringValue(text)) => text,
        Some(Value::IntValue(number)) => number.to_string(),
        other => other.map(|other| format!("{other:?}")).unwrap_or_default(),
    }
}

fn attribute_of(span: &Span, key: &str) -> String {
    text(&span.attributes, key)
}

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";

#[test]
fn the_trace_of_a_request_has_its_round_trips_and_queries() {
    let redis = Redis::start();
    let collector = Collector::start();
    let options = ["--trace-otlp-endpoint", &collector.address, "--http-trusted-proxies", "127.0.0.1"];
    let server = Server::over(&redis, &[&options[..], &["--http-batch-limit", "2"]].concat());
    server.register("ada");
    let query = "query Look { user(by: { username: \"ada\" }) { followers { totalCount } } post(id: \"UG9zdDo5\") { id } }";
    let more = format!("traceparent: 00-{TRACE}-{PARENT}-01\r\nx-request-id: traced\r\n");
    let (_, response) = server.send_with("POST /graphql", &more, &json!({ "query": query }).to_string());
    assert!(response.contains("totalCount"), "{response}");
    server.ask("{ nothing }");
    // The server stops before the next batch of traces is due: pending traces are sent before the end.
    assert_eq!(server.stop(), Some(0));

    let spans = collector.spans();
    let ids: HashMap<&[u8], &Span> = spans.iter().map(|span| (&*span.span_id, span)).collect();
    let traced: Vec<_> = spans.iter().filter(|span| hex(&span.trace_id) == TRACE).collect();
    let request = traced.iter().find(|span| hex(&span.parent_span_id) == PARENT).expect("it has its parent");
    assert_eq!((&*request.name, request.kind), ("POST /graphql", SERVER));
    for (key, value) in [
        ("http.request.method", "POST"),
        ("http.route", "/graphql"),
        ("http.response.status_code", "200"),
        ("graphql.operation.type", "query"),
        ("graphql.operation.name", "Look"),
        ("fanfold.request.id", "traced"),
        ("error.type", ""),
    ] {
        assert_eq!(attribute_of(request, key), value, "{key}");
    }
    let under = |name: &str| {
        let found = traced.iter().find(|span| span.name == name);
        let found = found.unwrap_or_else(|| {
            panic!("{name} in {:?}", traced.iter().map(|span| &span.name).collect::<Vec<_>>())
        });
        (found.kind, &*ids[&*found.parent_span_id].name, attribute_of(found, "db.system.name"))
    };
    assert_eq!(under("plan").1, "POST /graphql");
    assert_eq!(under("execute").1, "POST /graphql");
    let round_trips: Vec<_> =
        traced.iter().filter(|span| attribute_of(span, "db.system.name") == "redis").collect();
    assert!(!round_trips.is_empty());
    for span in round_trips {
        assert_eq!((span.kind, &*ids[&*span.parent_span_id].name), (CLIENT, "execute"));
    }
    let queries: Vec<_> =
        traced.iter().filter(|span| attribute_of(span, "db.system.name") == "sqlite").collect();
    assert_eq!(queries.len(), 1, "a post that Redis does not have");
    assert_eq!((queries[0].kind, &*ids[&*queries[0].parent_span_id].name), (CLIENT, "execute"));

    let change =
        spans.iter().find(|span| attribute_of(span, "graphql.operation.type") == "mutation").unwrap();
    assert_ne!(hex(&change.trace_id), TRACE);
    let written: Vec<_> = spans
        .iter()
        .filter(|span| span.trace_id == change.trace_id && attribute_of(span, "db.system.name") == "redis")
        .collect();
    assert!(
        written.iter().any(|span| span.name.starts_with("register: ")),
        "also work that continues without the client"
    );
    let rejected =
        spans.iter().find(|span| attribute_of(span, "error.type") == "GRAPHQL_VALIDATION_FAILED").unwrap();
    assert_eq!(
        rejected.status.as_ref().map_or(0, |status| status.code),
        0,
        "it is not a fault of the server"
    );
    // Only requests begin a trace.
    for span in &spans {
        assert!(span.name == "POST /graphql" || ids.contains_key(&*span.parent_span_id), "{}", span.name);
    }
    assert!(collector.services().iter().all(|service| service == "fanfold"));
    let everything = format!("{spans:?}");
    assert!(!everything.contains("correct horse") && !everything.contains("totalCount"));
}

/// Returns the traces of two requests to a server with this sampler, each with its id and the spans that it is linked
/// to. The client of the first request asks for a trace, and that of the second for none.
fn traces_with(sampler: &str, options: &[&str]) -> Vec<(String, Vec<String>)> {
    let redis = Redis::start();
    let collector = Collector::start();
    let (url, directory) = (redis.url(), redis.directory());
    let fixed = ["serve", "--http-listen", "127.0.0.1:0", "--redis-url", &url, "--data-dir", directory];
    let mut command =
        command(&[&fixed[..], &["--trace-otlp-endpoint", &collector.address], options].concat());
    let server = Server::run(command.env("OTEL_TRACES_SAMPLER", sampler));
    for flags in ["01", "00"] {
        let header = format!("traceparent: 00-{TRACE}-{PARENT}-{flags}\r\ntracestate: a=b\r\n");
        let query = json!({ "query": "{ __typename }" }).to_string();
        assert_eq!(server.send_with("POST /graphql", &header, &query).0, 200);
    }
    assert_eq!(server.stop(), Some(0));
    let requests = collector.spans().into_iter().filter(|span| span.name == "POST /graphql");
    let linked = |span: &Span| {
        assert!(span.links.iter().all(|link| hex(&link.trace_id) == TRACE && link.trace_state.is_empty()));
        span.links.iter().map(|link| hex(&link.span_id)).collect()
    };
    requests.map(|span| (hex(&span.trace_id), linked(&span))).collect()
}

#[test]
fn only_trusted_proxies_decide_which_requests_are_traced_and_others_traces_are_linked() {
    const PROXY: [&str; 2] = ["--http-trusted-proxies", "127.0.0.0/8"];
    assert_eq!(traces_with("parentbased_always_off", &[]), []);
    let joined = [(TRACE.to_owned(), Vec::new())];
    assert_eq!(traces_with("parentbased_always_off", &PROXY), joined);
    assert_eq!(traces_with("parentbased_always_on", &PROXY), joined);
    let own = traces_with("parentbased_always_on", &[]);
    assert_eq!(own.len(), 2, "a client cannot prevent a trace, either");
    for (trace, links) in own {
        assert_ne!(trace, TRACE);
        assert_eq!(links, [PARENT]);
    }
}

#[test]
fn faults_of_the_server_are_marked_in_the_trace() {
    let redis = Redis::own();
    let collector = Collector::start();
    let options = ["--trace-otlp-endpoint", &collector.address, "--graphql-query-timeout", "1"];
    let server = Server::over(&redis, &options);
    redis.pause(true);
    server.ask("{ user(by: { username: \"ada\" }) { bio } }");
    redis.pause(false);
    // Without an end, they arrive after some seconds.
    assert!(eventually(|| !collector.spans().is_empty()));
    assert_eq!(server.stop(), Some(0));
    let spans = collector.spans();
    let failed = spans.iter().find(|span| span.name == "POST /graphql").unwrap();
    assert_eq!(
        (attribute_of(failed, "error.type"), attribute_of(failed, "http.response.status_code")),
        ("TIMEOUT".to_owned(), "503".to_owned())
    );
    assert_eq!(failed.status.as_ref().unwrap().code, ERROR);
}

#[test]
fn traces_may_be_sent_over_tls() {
    let redis = Redis::start();
    let certificate = NamedTempFile::new().unwrap();
    let collector = Collector::start_secured(certificate.path());
    let (url, directory) = (redis.url(), redis.directory());
    let listen = ["serve", "--http-listen", "127.0.0.1:0", "--redis-url", &url, "--data-dir", directory];
    let mut command = command(&[&listen[..], &["--trace-otlp-endpoint", &collector.address]].concat());
    let server = Server::run(command.env("SSL_CERT_FILE", certificate.path()));
    assert!(!server.has_user("ada"));
    assert_eq!(server.stop(), Some(0));
    assert!(collector.spans().iter().any(|span| span.name == "POST /graphql"));
}

#[test]
fn an_unavailable_collector_delays_nothing() {
    let redis = Redis::start();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let swallows = format!("http://{}", silent.local_addr().unwrap());
    for endpoint in ["http://127.0.0.1:9", &swallows] {
        let server = Server::over(&redis, &["--trace-otlp-endpoint", endpoint]);
        assert!(!server.has_user("ada"));
        let stopping = tokio::time::Instant::now();
        assert_eq!(server.stop(), Some(0));
        // The last traces may take three seconds; a busy machine, ten times as long.
        assert!(stopping.elapsed() < Duration::from_secs(30), "{:?}", stopping.elapsed());
    }
}
