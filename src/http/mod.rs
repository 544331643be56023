//! The transport: GraphQL over HTTP, web pages, and endpoints for monitoring.
//!
//! This layer is thin: `request` reads requests, the API executes them, and `response` writes responses. Not here: the
//! meaning of a document (`graphql`), or sessions (`app`).

mod accept;
mod address;
mod auth;
mod batch;
mod connection;
mod exchange;
mod executed;
mod health;
mod host;
mod list;
mod log;
mod metrics;
mod operation;
mod origin;
mod page;
mod peer;
mod print;
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
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use crate::config::HttpConfig;
use crate::graphql::error::RequestError;
use crate::graphql::{Api, GraphqlRequest, Plan};
use crate::http::accept::MediaType;
use crate::http::connection::turns_true;
use crate::http::health::Health;
use crate::http::peer::Peers;
use crate::http::response::Failure;
use crate::http::schema::Contract;
use crate::http::seat::Seats;
use crate::model::address::Address;
use crate::worker::Workers;

/// The header that contains the request id, in requests and responses.
const REQUEST_ID: &str = "x-request-id";

/// Log directives that override all others. They silence the WebSocket library, which would otherwise log messages,
/// including the tokens in them.
pub const LOG_DIRECTIVES: [&str; 2] = ["tungstenite=off", "tokio_tungstenite=off"];

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
    /// The tasks of open WebSockets.
    tasks: TaskTracker,
}

impl Server {
    fn new(api: Api, config: HttpConfig, stopping: watch::Receiver<bool>) -> Self {
        let seats = Seats::new(&config);
        let (contract, began, tasks) = (Contract::new(), Instant::now(), TaskTracker::new());
        let health = Health::default();
        let demo_policy = page::demo_policy(api.media_hosts());
        Self { api, config, contract, demo_policy, began, health, stopping, seats, tasks }
    }

    /// Prepares a request's document for execution. Counts a rejected document and charges the client's address for it.
    fn plan(&self, incoming: GraphqlRequest, address: Option<Address>) -> Result<Plan, RequestError> {
        let bytes = incoming.query.as_ref().map_or(0, String::len);
        let planned = tracing::trace_span!("plan").in_scope(|| self.api.plan(incoming));
        if let Err(rejected) = &planned {
            self::metrics::count_rejected(rejected.code.as_str());
            self.api.charge_rejected(address, bytes);
        }
        planned
    }
}

/// Returns the server's routes. When `stopping` turns true, `/readyz` begins to report that the server is not ready.
pub fn router(api: Api, config: HttpConfig, stopping: watch::Receiver<bool>) -> Router {
    route(Arc::new(Server::new(api, config, stopping)))
}

fn route(server: Arc<Server>) -> Router {
    let graphql = get(exchange::graphql).post(exchange::graphql).options(exchange::preflight);
    let router = Router::new()
        .route("/", get(page::playground))
        .route("/playground/{*path}", get(page::playground_file))
        .route("/demo", get(page::demo))
        .route("/demo/", get(page::demo))
        .route("/demo/{*path}", get(page::demo_file))
        .route("/graphql", graphql)
        .route("/schema.graphql", get(schema::page))
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .route("/metrics", get(self::metrics::page))
        .fallback(async || Failure::not_found().into_response(MediaType::Json))
        .method_not_allowed_fallback(async || response::method_not_allowed())
        .with_state(Arc::clone(&server))
        .layer(response::compression());
    if server.config.http_hosts.is_empty() {
        return router;
    }
    router.layer(from_fn_with_state(server, host::check))
}

/// Starts recording metrics for `/metrics`. Values recorded before the first call are lost.
pub fn begin_figures() {
    self::metrics::begin();
}

/// Serves until `stopping` turns true, then finishes the work in progress, including work for disconnected clients,
/// within the configured timeout. The workers serve the connections, which use at most `files` file descriptors.
pub async fn serve(
    listener: TcpListener,
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
    let router = route(Arc::clone(&server));
    let connected = connection::serve(listener, router, workers, peers, idle, stopping.clone());
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
}
