//! How it is reached: GraphQL over HTTP, and the pages around it.
//!
//! A thin layer of our own: `request` reads what came, `response` writes what goes, and between them
//! stands the API. Not here: what a document means (`graphql`), or which sessions exist (`app`).

mod auth;
mod connection;
mod health;
mod metrics;
mod origin;
mod playground;
mod request;
mod response;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::response::Response;
use axum::routing::get;
use futures::FutureExt as _;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::app::viewer::Viewer;
use crate::config::HttpConfig;
use crate::graphql::Api;
use crate::graphql::error::{GraphqlResponse, RequestError};
use crate::http::request::RequestId;
use crate::http::response::{Failure, MediaType};

/// The header that names a request, in and out.
const REQUEST_ID: &str = "x-request-id";

/// What the handlers share.
struct Server {
    api: Api,
    config: HttpConfig,
    sdl: String,
    /// Turns true when the server is about to stop.
    stopping: watch::Receiver<bool>,
}

/// All routes of the server. `stopping` turns true when it is about to stop: from then on it says
/// that it is not ready.
pub fn router(api: Api, config: HttpConfig, stopping: watch::Receiver<bool>) -> Router {
    let server = Server { api, config, sdl: crate::graphql::sdl(), stopping };
    Router::new()
        .route("/", get(playground::page))
        .route("/graphql", get(graphql).post(graphql).options(preflight))
        .route("/schema.graphql", get(schema))
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .route("/metrics", get(self::metrics::page))
        .fallback(async || Failure::not_found().into_response(MediaType::Json))
        .method_not_allowed_fallback(async || response::method_not_allowed())
        .with_state(Arc::new(server))
        .layer(response::compression())
}

/// Serves until `stopping` turns true, then finishes what is under way, also what nobody waits for any more, but waits
/// no longer than the configuration says.
pub async fn serve(listener: TcpListener, api: Api, config: HttpConfig, stopping: watch::Receiver<bool>) {
    let stopped = |mut stopping: watch::Receiver<bool>| async move {
        // A sender that is gone cannot say anything else any more.
        let _ = stopping.wait_for(|stopping| *stopping).await;
    };
    let seconds = |seconds: u32| Duration::from_secs(u64::from(seconds));
    let (idle, patience) = (seconds(config.http_idle_timeout), seconds(config.http_shutdown_timeout));
    let router = router(api.clone(), config, stopping.clone());
    let connected = connection::serve(listener, router, idle, stopped(stopping.clone()));
    let serving = async {
        connected.await;
        api.finish().await;
    };
    let out_of_patience = async {
        stopped(stopping).await;
        tokio::time::sleep(patience).await;
    };
    tokio::select! {
        () = serving => {}
        () = out_of_patience => {
            tracing::warn!("some requests had not finished when the time for stopping was over");
        }
    }
}

async fn schema(State(server): State<Arc<Server>>) -> Response {
    response::text("text/plain; charset=utf-8", server.sdl.clone())
}

/// A GraphQL request. A panic in it is told as an internal error; it harms no other request.
async fn graphql(State(server): State<Arc<Server>>, request: Request) -> Response {
    let id = RequestId::of(request.headers(), server.api.app());
    let accepted = MediaType::accepted(request.headers());
    let media_type = accepted.unwrap_or(MediaType::Json);
    let mut response = match origin::judge(request.headers(), &server.config) {
        Err(failure) => failure.into_response(media_type),
        Ok(origin) => {
            let mut response = if accepted.is_some() {
                answer_safely(&server, request, &id, media_type).await
            } else {
                Failure::not_acceptable().into_response(media_type)
            };
            origin.admit(&mut response);
            response
        }
    };
    let headers = response.headers_mut();
    headers.insert(header::VARY, HeaderValue::from_static("accept, authorization, origin"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Ok(value) = HeaderValue::from_str(id.as_str()) {
        headers.insert(REQUEST_ID, value);
    }
    response
}

async fn answer_safely(server: &Server, request: Request, id: &RequestId, media_type: MediaType) -> Response {
    match AssertUnwindSafe(answer(server, request, id)).catch_unwind().await {
        Ok(Ok(answer)) => response::of_answer(answer, media_type),
        Ok(Err(failure)) => failure.into_response(media_type),
        // The hook of the process has logged what the panic said, and where.
        Err(_panic) => Failure::of(RequestError::internal(id.as_str())).into_response(media_type),
    }
}

/// What a browser asks before it lets a page send a request.
async fn preflight(State(server): State<Arc<Server>>, headers: HeaderMap) -> Response {
    let told = origin::preflight(&headers, &server.config);
    told.unwrap_or_else(|failure| failure.into_response(MediaType::Json))
}

async fn answer(server: &Server, request: Request, id: &RequestId) -> Result<GraphqlResponse, Failure> {
    let (head, body) = request.into_parts();
    // HEAD is answered like GET, without the body.
    let is_post = head.method == Method::POST;
    let incoming = if is_post {
        request::read(&head.headers, body, &server.config).await?
    } else {
        request::read_url(&head.uri)?
    };
    // Nothing is asked of the store before the document is known to be one.
    let plan = match server.api.plan(incoming) {
        Ok(plan) => plan,
        Err(error) => return Ok(GraphqlResponse::Refused(error)),
    };
    if !is_post && !plan.reads() {
        return Err(Failure::only_by_post());
    }
    let viewer = viewer(server, &head.headers, id).await?;
    Ok(server.api.execute(plan, viewer, id.as_str()).await)
}

async fn viewer(server: &Server, headers: &HeaderMap, id: &RequestId) -> Result<Viewer, Failure> {
    let Some(token) = auth::token(headers)? else {
        return Ok(Viewer::Anonymous);
    };
    let recognised = server.api.app().recognise(token).await;
    recognised.map_err(|error| Failure::of(RequestError::of(&error, id.as_str())))
}
