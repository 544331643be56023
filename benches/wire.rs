//! Measures a server over the network: the time until a post reaches subscribers, the latency of ordinary queries
//! beside abusive clients, the cost of rejecting abusive documents, and the execution of the deepest documents on a
//! small stack.
//!
//! `cargo bench` measures; `cargo test` only checks that the bench works, in a few rounds with few clients.

#![allow(clippy::unwrap_used, reason = "a bench that cannot go on shall panic")]
#![allow(clippy::print_stdout, reason = "this is what it is for")]
#![allow(clippy::disallowed_methods, reason = "a bench measures time")]

#[path = "ground/connection.rs"]
mod connection;
mod ground;
#[path = "ground/requests.rs"]
mod requests;
#[path = "ground/server.rs"]
mod server;
#[path = "ground/times.rs"]
mod times;

use std::fmt::Write as _;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use clap::Parser;
use fanfold::app::App;
use fanfold::app::post::PublishRequest;
use fanfold::app::session::Opened;
use fanfold::app::viewer::{Caller, Viewer};
use fanfold::config::GraphqlConfig;
use fanfold::graphql::error::GraphqlResponse;
use fanfold::graphql::{Api, GraphqlRequest};
use futures::stream::{self, StreamExt as _};
use futures::{SinkExt as _, future::join_all};
use serde_json::{Value, json};
use tokio::time::{MissedTickBehavior, interval, sleep};
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::http::HeaderValue;

use crate::connection::{Connection, request};
use crate::ground::{Redis, is_measured};
use crate::requests::send_at_rate;
use crate::server::Server;
use crate::times::Times;

/// The numbers of clients and rounds.
struct Sizes {
    /// Number of WebSockets with a subscription.
    sockets: usize,
    /// Subscribers per author.
    readers: usize,
    publishes: usize,
    /// Number of rounds in which abusive and comparable requests alternate, and the duration of each turn.
    rounds: usize,
    round: Duration,
}

/// Rates per second: of publishing, and of each client's requests.
const PUBLISHES: u32 = 100;
const ABUSES: u32 = 50;
const ABUSERS: u32 = 8;
const QUERIES: u32 = 100;

#[derive(Parser)]
struct Knobs {
    #[command(flatten)]
    graphql: GraphqlConfig,
}

/// Registers `count` users, and returns their sessions.
async fn register(app: &App, prefix: &str, count: usize) -> Vec<Opened> {
    let register = async |number: usize| {
        app.register(&format!("{prefix}{number}"), "correct horse", None, None, None, None).await.unwrap()
    };
    stream::iter(0..count).map(register).buffered(4).collect().await
}

/// The times at which posts were published, by the number in their content.
type Published = Arc<Mutex<Vec<Instant>>>;

/// Subscribes until `count` posts have arrived, and returns the delay of each.
async fn watch(address: String, token: String, count: usize, published: Published) -> Vec<(usize, Duration)> {
    let mut request = format!("ws://{address}/graphql").into_client_request().unwrap();
    let protocol = HeaderValue::from_static("graphql-transport-ws");
    request.headers_mut().insert("sec-websocket-protocol", protocol);
    let (mut socket, _) = connect_async(request).await.unwrap();
    let say = |message: Value| Message::text(message.to_string());
    let payload = json!({ "Authorization": format!("Bearer {token}") });
    socket.send(say(json!({ "type": "connection_init", "payload": payload }))).await.unwrap();
    let query = "subscription { timeline { ... on PostAdded { cursor edge { node { content author { username } } } } } }";
    socket.send(say(json!({ "id": "1", "type": "subscribe", "payload": { "query": query } }))).await.unwrap();
    let mut seen = Vec::new();
    while seen.len() < count {
        let message = tokio::time::timeout(Duration::from_secs(20), socket.next()).await.expect("posts come");
        let Message::Text(text) = message.unwrap().unwrap() else { continue };
        let heard: Value = serde_json::from_str(&text).unwrap();
        if heard["type"] == "next" {
            let number: usize = heard["payload"]["data"]["timeline"]["edge"]["node"]["content"]
                .as_str()
                .unwrap()
                .parse()
                .unwrap();
            seen.push((number, published.lock().unwrap()[number].elapsed()));
        }
    }
    seen
}

async fn measure_watching(redis: &Redis, app: &App, server: &Server, sizes: &Sizes) {
    let authors = register(app, "author", sizes.sockets / sizes.readers).await;
    let readers = register(app, "reader", sizes.sockets).await;
    for (index, reader) in readers.iter().enumerate() {
        app.follow(&reader.viewer, authors[index / sizes.readers].viewer.user().unwrap()).await.unwrap();
    }
    let published = Published::default();
    let each = sizes.publishes / authors.len();
    let mut watching = Vec::new();
    for reader in &readers {
        let token = reader.token.expose().clone();
        watching.push(tokio::spawn(watch(server.address.clone(), token, each, Arc::clone(&published))));
    }
    let is_listened_to = async || {
        let mut connection = redis.client().get_multiplexed_async_connection().await.unwrap();
        let channels: Vec<String> =
            redis::cmd("PUBSUB").arg("CHANNELS").arg("*:live").query_async(&mut connection).await.unwrap();
        channels.len() == sizes.sockets
    };
    while !is_listened_to().await {
        sleep(Duration::from_millis(100)).await;
    }
    sleep(Duration::from_secs(1)).await;

    let mut ticks = interval(Duration::from_secs(1) / PUBLISHES);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let mut publishing = Vec::new();
    for number in 0..each * authors.len() {
        ticks.tick().await;
        published.lock().unwrap().push(Instant::now());
        let (app, viewer): (App, Viewer) = (app.clone(), authors[number % authors.len()].viewer.clone());
        publishing.push(tokio::spawn(async move {
            app.publish(
                &viewer,
                PublishRequest { content: &number.to_string(), ..PublishRequest::default() },
            )
            .await
            .unwrap();
        }));
    }
    join_all(publishing).await.into_iter().for_each(Result::unwrap);

    let mut times = Times::default();
    for (index, watching) in watching.into_iter().enumerate() {
        let seen = watching.await.unwrap();
        let mut numbers: Vec<usize> = seen.iter().map(|(number, _)| *number).collect();
        numbers.sort_unstable();
        let expected: Vec<usize> =
            (0..each).map(|round| round * authors.len() + index / sizes.readers).collect();
        assert_eq!(numbers, expected, "every post once");
        times.0.extend(seen.into_iter().map(|(_, time)| time));
    }
    println!(
        "{} sockets, {PUBLISHES} publishes a second that reach {} of them each: {} events, each post once",
        sizes.sockets,
        sizes.readers,
        times.0.len()
    );
    println!("{:<54} {:>9} {:>9} {:>9}", "milliseconds from publish to screen", "median", "90 %", "most");
    times.print("");
    println!("99 %: {:.2}", times.quantile(99));
}

/// Returns abusive documents, each as large as the body limit allows.
fn abuses() -> Vec<(&'static str, String)> {
    let (mut aliases, mut directives) = (String::from("{"), String::from("{ __typename"));
    for _ in 0..10_000 {
        aliases.push_str(" a:b");
        directives.push_str(" @a");
    }
    let mut bomb = String::from("{ ...f0 } fragment f60 on Query { __typename }");
    for number in 0..60 {
        let next = number + 1;
        write!(bomb, " fragment f{number} on Query {{ ...f{next} ...f{next} }}").unwrap();
    }
    let page = "followers(first: 100) { nodes { ";
    vec![
        ("ten thousand aliases", aliases + " }"),
        ("ten thousand directives", directives + " }"),
        ("fragments that double sixty times", bomb),
        (
            "fragments in a circle",
            "{ ...a } fragment a on Query { ...b } fragment b on Query { ...a }".to_owned(),
        ),
        ("lists in lists", format!("{{ nodes(ids: {}) {{ id }} }}", "[".repeat(60_000))),
        ("objects in objects", format!("{{ user(by: {}", "{a:".repeat(20_000))),
        ("selections in selections", format!("{{ viewer {}", "{user".repeat(12_000))),
        ("pages in pages", format!("{{ user(by: {{ username: \"u\" }}) {{ {page}{page}id }} }} }} }} }} }}")),
        ("unknown fields", format!("{{ {} }}", "nothing ".repeat(1_900))),
        ("a string without an end", format!("{{ a(b: \"{}", "x".repeat(60_000))),
    ]
}

/// Measures the cost of rejecting each abusive document.
async fn measure_refusals(api: &Api, server: &Server) {
    println!("{:<54} {:>12} {:>7} {:>6}", "rejected", "microseconds", "status", "bytes");
    let round_trips = api.app().store().round_trips();
    for (name, document) in abuses() {
        let mut times = Times::default();
        for _ in 0..101 {
            let incoming = GraphqlRequest { query: Some(document.clone()), ..GraphqlRequest::default() };
            let began = Instant::now();
            let rejected = api.plan(incoming).is_err();
            times.0.push(began.elapsed());
            assert!(rejected, "{name}");
        }
        let (status, bytes) = Connection::new(&server.address).send(&request(&document, "")).await;
        println!("{name:<54} {:>12.0} {status:>7} {bytes:>6}", times.quantile(50) * 1_000.0);
    }
    assert_eq!(api.app().store().round_trips(), round_trips, "Redis is asked nothing");
}

/// Argument of the process that sends abusive or comparable requests.
const ABUSE: &str = "abuse";

/// Sends requests of a kind for some time, from several independent clients.
async fn send_abuse(address: &str, kind: &str, time: Duration) {
    let mut requests = vec![request("{ __typename }", "")];
    if kind == "beside abuse" {
        requests = abuses().iter().map(|(_, document)| request(document, "")).collect();
        // A body beyond the limit.
        requests.push(request(&"x".repeat(12_000_000), ""));
    }
    let others = (0..ABUSERS).map(async |number: u32| {
        sleep(Duration::from_secs(1) / ABUSES * number / ABUSERS).await;
        let mut requests = requests.clone();
        let count = requests.len();
        requests.rotate_left(number as usize % count);
        send_at_rate(address, ABUSES, time, Arc::new(requests)).await
    });
    join_all(others).await;
}

async fn measure_abuse(app: &App, server: &Server, sizes: &Sizes) -> Viewer {
    let viewer = app.register("victim", "correct horse", None, None, None, None).await.unwrap();
    let fans = register(app, "fan", 40).await;
    for fan in &fans {
        app.follow(&fan.viewer, viewer.viewer.user().unwrap()).await.unwrap();
    }
    let query = "{ viewer { user { followers(first: 20) { nodes { displayName relation { status } } } } } }";
    let authorization = format!("authorization: Bearer {}\r\n", viewer.token.expose());
    let good = Arc::new(vec![request(query, &authorization)]);
    let kinds = ["beside { __typename }", "beside abuse"];
    let mut times = [Times::default(), Times::default()];
    for _ in 0..sizes.rounds {
        for (kind, times) in kinds.iter().zip(&mut times) {
            // The clients run in a process of their own, so that they share only the server.
            let mut others = Command::new(std::env::current_exe().unwrap());
            let seconds = sizes.round.as_secs_f64().to_string();
            let mut others = others.args([ABUSE, &server.address, kind, &seconds]).spawn().unwrap();
            times.0.extend(send_at_rate(&server.address, QUERIES, sizes.round, Arc::clone(&good)).await);
            assert!(others.wait().unwrap().success());
        }
    }
    println!(
        "{QUERIES} queries a second, beside {ABUSERS} clients that send {ABUSES} requests a second each, {} rounds in turns",
        sizes.rounds
    );
    println!("{:<54} {:>9} {:>9} {:>9}", "milliseconds of a good query", "median", "90 %", "most");
    for (name, times) in kinds.iter().zip(&times) {
        times.print(name);
    }
    let [plain, abused] = times.map(|times| times.quantile(99));
    println!("99 %: {plain:.2} and {abused:.2}, ratio {:.2}", abused / plain);
    viewer.viewer
}

/// Executes documents of maximum depth on a stack of 512 KiB, close to the least that suffices.
fn execute_on_a_small_stack(api: &Api, viewer: Viewer) {
    let mut documents = Vec::new();
    for (open, close) in [
        ("user { followers(first: 1) { nodes { ", " } } }"),
        ("timeline(first: 1) { nodes { author { ", " } } }"),
    ] {
        let (inner, closed) = ("relation { user { ".repeat(3), " } }".repeat(3));
        documents.push(format!("{{ viewer {{ {open}{inner}relation {{ status }}{closed}{close} }} }}"));
    }
    let lists = "followers(first: 1) { nodes { ".repeat(4);
    documents
        .push(format!("{{ viewer {{ user {{ {lists}followers {{ totalCount }}{} }} }} }}", " } }".repeat(4)));
    let edges = "followers(first: 1) { edges { node { ".repeat(3);
    documents.push(format!("{{ viewer {{ user {{ {edges}id{} }} }} }}", " } } }".repeat(3)));
    let (api, caller) = (api.clone(), Caller { viewer, address: None, rate_limit: None });
    let execute = move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        for query in &documents {
            let request = GraphqlRequest { query: Some(query.clone()), ..GraphqlRequest::default() };
            let plan = api.plan(request).unwrap_or_else(|error| panic!("{query}: {error:?}"));
            let answer = runtime.block_on(api.execute(plan, caller.clone(), "small"));
            let GraphqlResponse::Executed { errors, .. } = answer else { panic!("{query}: {answer:?}") };
            assert!(errors.is_empty(), "{query}: {errors:?}");
        }
        documents.len()
    };
    let small = std::thread::Builder::new().stack_size(512 << 10).spawn(execute).unwrap();
    println!("{} documents of twelve levels were executed on a stack of 512 KiB", small.join().unwrap());
}

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [ABUSE, address, kind, seconds] = arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        return send_abuse(address, kind, Duration::from_secs_f64(seconds.parse().unwrap())).await;
    }
    let sizes = if is_measured() {
        Sizes { sockets: 1_000, readers: 10, publishes: 3_000, rounds: 6, round: Duration::from_secs(5) }
    } else {
        Sizes { sockets: 20, readers: 10, publishes: 40, rounds: 1, round: Duration::from_millis(200) }
    };
    let redis = Redis::start(None);
    let app = redis.app(&["--post-publishes-per-author", "1000000"]).await;
    let server = Server::start(&redis, &[]);
    measure_watching(&redis, &app, &server, &sizes).await;
    let victim = measure_abuse(&app, &server, &sizes).await;
    let Knobs { graphql } = Knobs::parse_from(["bench"]);
    let api = Api::open(app, graphql).unwrap();
    measure_refusals(&api, &server).await;
    // Unoptimised builds need a larger stack.
    if is_measured() {
        execute_on_a_small_stack(&api, victim);
    }
}
