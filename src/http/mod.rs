//! The transport: GraphQL over HTTP, web pages, and endpoints for monitoring.
//!
//! This layer is thin: `request` reads requests, the API executes them, and `response` writes responses. Not here: the
//! meaning of a document (`graphql`), or sessions (`app`).
//!
#![doc = include_str!("README.md")]

mod accept;
mod address;
mod auth;
mod batch;
mod connection;
mod exchange;
mod executed;
mod export;
mod fair;
mod health;
mod host;
mod inbound;
mod list;
mod listener;
mod log;
mod memory;
mod metrics;
mod operation;
mod origin;
mod page;
mod peer;
mod print;
mod probe;
mod request;
mod response;
mod schema;
mod seat;
mod socket;
mod stream;
mod trace;
mod websocket;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::HeaderValue;
use axum::middleware::from_fn_with_state;
use axum::routing::get;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use crate::config::HttpConfig;
use crate::graphql::error::RequestError;
use crate::graphql::{Api, GraphqlRequest, Plan};
use crate::http::accept::MediaType;
use crate::http::connection::{Common, Threads, turns_true};
use crate::http::health::Health;
use crate::http::memory::Memory;
use crate::http::peer::Peers;
use crate::http::request::{Incoming, Unparsed};
use crate::http::response::Failure;
use crate::http::schema::Contract;
use crate::http::seat::Seats;
use crate::metric;
use crate::model::address::Address;
use crate::worker::Workers;

pub use crate::http::listener::Listener;
pub use crate::http::probe::{Probe, ProbeError, probe};

/// The header that contains the request id, in requests and responses.
const REQUEST_ID: &str = "x-request-id";

/// Log directives that override all others. They silence the WebSocket library, which would otherwise log messages,
/// including the tokens in them.
pub const LOG_DIRECTIVES: [&str; 2] = ["tungstenite=off", "tokio_tungstenite=off"];

/// Timeout for requests in progress on the admin listener, once the server has finished its other work.
const LAST_PROBES: Duration = Duration::from_millis(500);

/// State shared by the handlers.
struct Server {
    api: Api,
    config: HttpConfig,
    contract: Contract,
    /// Content Security Policy of the demo client.
    demo_policy: HeaderValue,
    began: Instant,
    health: Health,
    /// The stop signal: true once the server is about to stop.
    stopping: watch::Receiver<bool>,
    /// Capacity for WebSockets and event streams.
    seats: Arc<Seats>,
    /// Capacity for downloads of exports.
    downloads: Arc<Seats>,
    /// Memory for requests and responses in progress.
    memory: Arc<Memory>,
    /// The tasks of open WebSockets and downloads.
    tasks: TaskTracker,
}

impl Server {
    fn new(api: Api, config: HttpConfig, stopping: watch::Receiver<bool>) -> Self {
        let (seats, downloads) = (Seats::new(&config), Seats::of_downloads());
        let (contract, began, tasks) = (Contract::new(), Instant::now(), TaskTracker::new());
        let (health, memory) = (Health::default(), Memory::new(&config));
        let demo_policy = page::demo_policy(api.media_hosts());
        Self { api, config, contract, demo_policy, began, health, stopping, seats, downloads, memory, tasks }
    }

    /// Parses and plans a request. Rejects it if it is not well-formed; other errors concern one operation.
    async fn plan(self: &Arc<Self>, request: Unparsed, address: Option<Address>) -> Result<Planned, Failure> {
        let (server, bytes) = (Arc::clone(self), request.bytes());
        let plan = move || {
            Ok(match request.parse(&server.config)? {
                Incoming::One(request) => {
                    Planned::One(server.plan_one(request, address).map_err(Failure::of)?)
                }
                Incoming::Batch(requests) => {
                    let plan = |request: Result<_, Failure>| {
                        request.map_err(Failure::into_error).and_then(|one| server.plan_one(one, address))
                    };
                    Planned::Batch(requests.into_iter().map(plan).collect())
                }
            })
        };
        self.api.plan_in_turn(bytes, address, plan).await.map_err(Failure::of)?
    }

    /// Prepares a request's document for execution. Counts a rejected document and charges the client's address for it.
    fn plan_one(&self, incoming: GraphqlRequest, address: Option<Address>) -> Result<Plan, RequestError> {
        let bytes = incoming.query.as_ref().map_or(0, String::len);
        let planned = tracing::trace_span!("plan").in_scope(|| self.api.plan(incoming));
        if let Err(rejected) = &planned {
            metric::documents_rejected_total(rejected.code.as_str()).increment(1);
            self.api.charge_rejected(address, bytes);
        }
        planned
    }
}

/// A request that was parsed and planned.
#[expect(clippy::large_enum_variant, reason = "it is moved once, and most requests have one operation")]
enum Planned {
    One(Plan),
    /// The operations of a batch. Some of them may be invalid.
    Batch(Vec<Result<Plan, RequestError>>),
}

/// The routes of a server.
#[derive(Debug)]
pub struct Routers {
    /// The API, the schema and the web pages.
    pub main: Router,
    /// The metrics and the probes.
    pub admin: Router,
}

/// Returns the server's routes. When `stopping` turns true, `/readyz` begins to report that the server is not ready.
#[must_use]
pub fn routers(api: Api, config: HttpConfig, stopping: watch::Receiver<bool>) -> Routers {
    let server = Arc::new(Server::new(api, config, stopping));
    Routers { main: route(Arc::clone(&server)), admin: route_admin(server) }
}

fn route(server: Arc<Server>) -> Router {
    let graphql = get(exchange::graphql).post(exchange::graphql).options(exchange::preflight);
    let router = Router::new()
        .route("/", get(page::playground))
        .route("/playground/{*path}", get(page::playground_file))
        .route("/demo", get(page::demo))
        .route("/demo/", get(page::demo))
        .route("/demo/{*path}", get(page::demo_file))
        .route(self::trace::GRAPHQL, graphql)
        .route(export::ROUTE, get(export::download))
        .route("/schema.graphql", get(schema::page))
        .fallback(async || Failure::not_found().into_response(MediaType::Json))
        .method_not_allowed_fallback(async || response::method_not_allowed())
        .with_state(Arc::clone(&server))
        .layer(response::compression());
    if server.config.http_hosts.is_empty() {
        return router;
    }
    router.layer(from_fn_with_state(server, host::check))
}

fn route_admin(server: Arc<Server>) -> Router {
    let router = Router::new()
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .route("/metrics", get(self::metrics::page))
        .fallback(async || Failure::not_found().into_response(MediaType::Json))
        .with_state(Arc::clone(&server))
        .layer(response::compression());
    if server.config.addresses.admin().is_some_and(|address| address.is_loopback()) {
        return router.layer(from_fn_with_state(server, host::check_admin));
    }
    router
}

/// The sockets that a server listens on.
#[derive(Debug)]
pub struct Listeners {
    /// The listener for the API, the schema and the web pages.
    pub main: Listener,
    /// The listener for the metrics and the probes; `None` if it is off.
    pub admin: Option<Listener>,
}

/// Starts recording metrics for `/metrics`. Values recorded before the first call are lost.
pub fn begin_figures() {
    self::metrics::begin();
}

/// Serves until `stopping` turns true, then finishes the work in progress, including work for disconnected clients,
/// within the configured timeout. Metrics and probes are served until then. The workers serve the connections to the
/// main listener, which use at most `files` file descriptors.
pub async fn serve(
    listeners: Listeners,
    api: Api,
    config: HttpConfig,
    workers: &Workers,
    files: usize,
    stopping: watch::Receiver<bool>,
) {
    let idle = Duration::from_secs(config.http_idle_timeout.into());
    let timeout = config.shutdown_timeout();
    let peers = Peers::new(&config, files);
    let server = Arc::new(Server::new(api, config, stopping.clone()));
    let common =
        |router, peers, stopping| Common::new(router, peers, Arc::clone(&server.memory), idle, stopping);
    let main = common(route(Arc::clone(&server)), peers, stopping.clone());
    let connected = connection::serve(listeners.main, Threads::Workers(workers), main);
    let (end_admin, admin_ended) = watch::channel(false);
    let admin = listeners.admin.map(|listener| {
        let admin = common(route_admin(Arc::clone(&server)), Peers::of_admin(), admin_ended);
        tokio::spawn(connection::serve(listener, Threads::Runtime, admin))
    });
    let serving = async {
        connected.await;
        server.tasks.close();
        server.tasks.wait().await;
        server.api.finish().await;
    };
    let timed_out = async {
        turns_true(stopping).await;
        tokio::time::sleep(timeout).await;
    };
    tokio::select! {
        () = serving => {}
        () = self::metrics::run_upkeep() => {}
        () = timed_out => {
            tracing::warn!("shutdown timeout reached with requests still in progress");
        }
    }
    end_admin.send_replace(true);
    if let Some(admin) = admin {
        // A panic has already been reported, and the process does not wait for slow clients.
        drop(tokio::time::timeout(LAST_PROBES, admin).await);
    }
}
