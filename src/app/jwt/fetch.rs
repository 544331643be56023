//! Fetches the key set (JWKS) of an existing application over HTTP.
//!
//! Redirects are not followed: they could lead to a place that the operator has not configured.
//!
//! Not here: when to fetch (`app::jwt::key_ring`), and the keys themselves (`app::jwt::keys`).

use std::fmt;
use std::time::Duration;

use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::body::Bytes;
use hyper::header::{ACCEPT, CACHE_CONTROL, HeaderMap, HeaderValue, USER_AGENT};
use hyper::{Request, StatusCode, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{Connect, HttpConnector};
use hyper_util::rt::TokioExecutor;

use crate::app::jwt::keys::KeySet;

/// Timeout of a fetch.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum size of a key set, in bytes.
const MOST_BYTES: usize = 262_144;

/// The causes of a failed fetch.
#[derive(Debug, thiserror::Error)]
pub(super) enum FetchError {
    #[error("the server does not respond within {} seconds", TIMEOUT.as_secs())]
    Timeout,
    #[error("the server cannot be reached")]
    Unreachable(#[source] hyper_util::client::legacy::Error),
    #[error("the server responds with status {0}; redirects are not followed")]
    Status(u16),
    #[error("the response breaks off, or has more than {MOST_BYTES} bytes")]
    Body(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("the response is not a JSON Web Key Set")]
    Malformed,
}

/// Fetched keys, and the time for which the server lets clients cache them.
pub(super) struct Fetched {
    pub(super) keys: KeySet,
    pub(super) max_age: Option<Duration>,
}

/// A client that fetches one key set. Each fetch opens a connection.
pub(super) struct KeySetClient {
    uri: Uri,
    transport: Transport,
}

impl fmt::Debug for KeySetClient {
    /// Leaves out the URL, whose query may contain a key.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("KeySetClient").finish_non_exhaustive()
    }
}

enum Transport {
    Plain(Client<HttpConnector, Empty<Bytes>>),
    Tls(Client<HttpsConnector<HttpConnector>, Empty<Bytes>>),
}

impl KeySetClient {
    /// Creates a client. Loads the system's certificates for HTTPS, which may fail.
    pub(super) fn new(url: &str) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        let uri: Uri = url.parse()?;
        let transport = if uri.scheme_str() == Some("http") {
            Transport::Plain(client(HttpConnector::new()))
        } else {
            let connector = HttpsConnectorBuilder::new().with_native_roots()?.https_only().enable_http1();
            Transport::Tls(client(connector.build()))
        };
        Ok(Self { uri, transport })
    }

    /// Fetches the key set.
    pub(super) async fn fetch(&self) -> Result<Fetched, FetchError> {
        let fetching = async {
            match &self.transport {
                Transport::Plain(client) => fetch(client, &self.uri).await,
                Transport::Tls(client) => fetch(client, &self.uri).await,
            }
        };
        tokio::time::timeout(TIMEOUT, fetching).await.unwrap_or(Err(FetchError::Timeout))
    }
}

/// Creates a client that keeps no idle connections: the thread of the next fetch may be another.
fn client<C: Connect + Clone>(connector: C) -> Client<C, Empty<Bytes>> {
    Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build(connector)
}

async fn fetch<C>(client: &Client<C, Empty<Bytes>>, uri: &Uri) -> Result<Fetched, FetchError>
where
    C: Connect + Clone + Send + Sync + 'static,
{
    let mut request = Request::new(Empty::new());
    *request.uri_mut() = uri.clone();
    let headers = request.headers_mut();
    headers.insert(ACCEPT, HeaderValue::from_static("application/jwk-set+json, application/json"));
    headers.insert(USER_AGENT, HeaderValue::from_static("fanfold"));
    let response = client.request(request).await.map_err(FetchError::Unreachable)?;
    if response.status() != StatusCode::OK {
        return Err(FetchError::Status(response.status().as_u16()));
    }
    let max_age = max_age(response.headers());
    let body = Limited::new(response.into_body(), MOST_BYTES).collect().await.map_err(FetchError::Body)?;
    let keys = KeySet::of_jwks(&body.to_bytes()).ok_or(FetchError::Malformed)?;
    Ok(Fetched { keys, max_age })
}

/// Returns the `max-age` of a response; `None` if it has none.
fn max_age(headers: &HeaderMap) -> Option<Duration> {
    let values = headers.get_all(CACHE_CONTROL).iter().filter_map(|value| value.to_str().ok());
    let seconds = values.flat_map(|value| value.split(',')).find_map(|directive| {
        let (name, seconds) = directive.trim().split_once('=')?;
        name.eq_ignore_ascii_case("max-age").then(|| seconds.trim_matches('"').parse().ok())?
    });
    seconds.map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_for_which_a_response_may_be_cached_is_read() {
        let read = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(CACHE_CONTROL, HeaderValue::from_static(value));
            max_age(&headers).map(|age| age.as_secs())
        };
        assert_eq!(read("public, Max-Age=600, must-revalidate"), Some(600));
        assert_eq!(read("max-age=\"60\""), Some(60));
        for value in ["no-store", "max-age", "max-age=soon", "s-maxage=60"] {
            assert_eq!(read(value), None, "{value}");
        }
    }
}
