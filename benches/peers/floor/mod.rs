//! The floor: a handler written by hand for two fixed queries, with the same commands and round trips as Fanfold, and
//! the same bytes in response. It shows how fast Fanfold could be if GraphQL took no time. It caches only the
//! watermark, as Fanfold does.

mod answer;
mod direct;
mod link;
mod store;

use std::borrow::Cow;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use axum::serve::ListenerExt as _;
use fanfold::config::RelationStrategy;
use fanfold::model::secret::Token;
use serde::Deserialize;
use tokio::net::TcpListener;
use tokio::runtime::Builder;

use crate::floor::direct::Direct;
pub(crate) use crate::floor::store::strategy;
use crate::floor::store::{Commands, Store};
use crate::reads::{FEED, KEY, POPULAR, TARGET};

/// Serves until the process is killed.
pub(crate) fn serve(
    redis: &str,
    client: Client,
    strategy: RelationStrategy,
    connections: usize,
    threads: usize,
) {
    let runtime = Builder::new_multi_thread().worker_threads(threads).enable_all().build().unwrap();
    runtime.block_on(async {
        match client {
            Client::Common => listen(Store::open(redis, strategy, connections).await).await,
            Client::Own => listen(Direct::open(redis, strategy, connections).await).await,
        }
    });
}

async fn listen<C: Commands>(store: C) {
    let store = Arc::new(store);
    let router = Router::new().route("/graphql", post(respond::<C>)).with_state(store);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("floor listens on http://{}/", listener.local_addr().unwrap());
    let listener = listener.tap_io(|stream| stream.set_nodelay(true).unwrap());
    axum::serve(listener, router).await.unwrap();
}

/// A client of Redis.
#[derive(Clone, Copy)]
pub(crate) enum Client {
    /// That of the `redis` crate.
    Common,
    /// Fanfold's own.
    Own,
}

impl Client {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Common => "common",
            Self::Own => "own",
        }
    }

    /// Returns the client with this name.
    pub(crate) fn named(name: &str) -> Self {
        if name == Self::Own.name() { Self::Own } else { Self::Common }
    }
}

/// A GraphQL request.
#[derive(Deserialize)]
struct Incoming<'a> {
    #[serde(borrow)]
    query: Cow<'a, str>,
    #[serde(borrow, default)]
    variables: Variables<'a>,
}

#[derive(Default, Deserialize)]
struct Variables<'a> {
    #[serde(borrow, default)]
    username: Cow<'a, str>,
}

async fn respond<C: Commands>(State(store): State<Arc<C>>, headers: HeaderMap, body: Bytes) -> Response {
    let Some(token) = token(&headers) else { return StatusCode::UNAUTHORIZED.into_response() };
    let Ok(incoming) = serde_json::from_slice::<Incoming<'_>>(&body) else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    if !store.is_live(&token).await {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    let text = match &*incoming.query {
        KEY => answer::followers(&*store, token.user(), TARGET).await,
        POPULAR => answer::followers(&*store, token.user(), &incoming.variables.username).await,
        FEED => answer::timeline(&*store, token.user()).await,
        _ => return StatusCode::BAD_REQUEST.into_response(),
    };
    ([(header::CONTENT_TYPE, "application/json; charset=utf-8")], text).into_response()
}

fn token(headers: &HeaderMap) -> Option<Token> {
    Token::parse(headers.get(header::AUTHORIZATION)?.to_str().ok()?.strip_prefix("Bearer ")?)
}
