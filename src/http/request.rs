//! Reads GraphQL requests: their ids, bodies and parameters.

use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use http_body_util::BodyExt as _;
use serde_json::{Map, Value};

use crate::app::App;
use crate::config::HttpConfig;
use crate::graphql::error::{Code, RequestError};
use crate::graphql::{DocumentHash, GraphqlRequest};
use crate::http::inbound::TIMEOUT;
use crate::http::memory::{Full, Share};
use crate::http::response::Failure;
use crate::http::{REQUEST_ID, list};

/// A request id, which appears in responses and logs. It is chosen by the client, or random.
#[derive(Clone)]
pub(super) struct RequestId(String);

impl RequestId {
    /// Returns the client's id if it consists of 1 to 64 letters, digits, `-`, `_` and `.`; otherwise a random id.
    pub(super) fn of(headers: &HeaderMap, app: &App) -> Self {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        let given = headers.get(REQUEST_ID).and_then(|value| value.to_str().ok());
        let given = given.filter(|text| (1..=64).contains(&text.len()) && text.bytes().all(is_plain));
        Self(given.map_or_else(|| app.request_id(), str::to_owned))
    }

    /// Returns the id of the operation with this number.
    pub(super) fn numbered(&self, number: u64) -> Self {
        Self(format!("{}-{number}", self.0))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

/// The content of a request.
pub(super) enum Incoming {
    /// A single request.
    One(GraphqlRequest),
    /// A batch. Some of its requests may be invalid.
    Batch(Vec<Result<GraphqlRequest, Failure>>),
}

/// A request as received, before it is parsed.
pub(super) enum Unparsed {
    Body(Vec<u8>),
    Url(Uri),
}

impl Unparsed {
    /// Reads a body, which occupies `share` as it arrives.
    pub(super) async fn read(
        headers: &HeaderMap,
        body: Body,
        config: &HttpConfig,
        share: &mut Share,
    ) -> Result<Self, Failure> {
        check_content_type(headers)?;
        read_body(headers, body, config.http_body_limit, share).await.map(Self::Body)
    }

    /// Returns the size of the request, in bytes.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Body(body) => body.len(),
            Self::Url(uri) => uri.query().map_or(0, str::len),
        }
    }

    /// Parses the request.
    pub(super) fn parse(self, config: &HttpConfig) -> Result<Incoming, Failure> {
        match self {
            Self::Body(body) => parse_body(&body, config.http_batch_limit.into()),
            Self::Url(uri) => parse_url(&uri).map(Incoming::One),
        }
    }
}

/// Parses a body: a GraphQL request, or a batch of at most `most` requests.
fn parse_body(body: &[u8], most: usize) -> Result<Incoming, Failure> {
    let json = serde_json::from_slice(body)
        .map_err(|error| bad_request(format!("The body is not JSON: {error}.")))?;
    match json {
        Value::Object(parts) => take_apart(parts).map(Incoming::One),
        Value::Array(requests) => batch(requests, most).map(Incoming::Batch),
        _ => Err(bad_request("The body must be a JSON object.")),
    }
}

fn batch(requests: Vec<Value>, limit: usize) -> Result<Vec<Result<GraphqlRequest, Failure>>, Failure> {
    if limit == 0 {
        return Err(bad_request("The body must be a single request. Batches are disabled."));
    }
    if requests.is_empty() || requests.len() > limit {
        return Err(bad_request(format!("A batch must have 1 to {limit} requests.")));
    }
    let request = |request| match request {
        Value::Object(parts) => Ok(take_apart(parts)),
        _ => Err(bad_request("A batch must consist of JSON objects.")),
    };
    requests.into_iter().map(request).collect()
}

/// Parses the GraphQL request in a URL's query string.
fn parse_url(uri: &Uri) -> Result<GraphqlRequest, Failure> {
    let mut parts = Map::new();
    for (name, value) in form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()) {
        let value = match &*name {
            "query" | "documentId" | "operationName" => Value::String(value.into_owned()),
            "variables" | "extensions" if value.is_empty() => Value::Null,
            "variables" | "extensions" => serde_json::from_str(&value)
                .map_err(|error| bad_request(format!("`{name}` is not JSON: {error}.")))?,
            _ => continue,
        };
        if parts.insert(name.clone().into_owned(), value).is_some() {
            return Err(bad_request(format!("`{name}` is given more than once.")));
        }
    }
    // In a URL, an empty operation name counts as omitted.
    if parts.get("operationName").is_some_and(|name| name == "") {
        parts.remove("operationName");
    }
    take_apart(parts)
}

fn check_content_type(headers: &HeaderMap) -> Result<(), Failure> {
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let mut parts = list::split(content_type.unwrap_or_default(), ';').map(str::trim);
    let is_json = parts.next().is_some_and(|essence| essence.eq_ignore_ascii_case("application/json"));
    let is_utf8 = parts.filter_map(|part| part.split_once('=')).all(|(name, value)| {
        let charset = value.trim_matches('"');
        !name.trim().eq_ignore_ascii_case("charset")
            || ["utf-8", "utf8"].iter().any(|known| charset.eq_ignore_ascii_case(known))
    });
    if is_json && is_utf8 {
        return Ok(());
    }
    let message = "The Content-Type must be application/json with UTF-8.";
    Err(Failure::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, Code::BadRequest, message))
}

async fn read_body(
    headers: &HeaderMap,
    body: Body,
    limit: u64,
    share: &mut Share,
) -> Result<Vec<u8>, Failure> {
    let announced = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    if announced.and_then(|text| text.parse::<u64>().ok()).is_some_and(|length| length > limit) {
        return Err(too_large(limit));
    }
    match tokio::time::timeout(TIMEOUT, collect(body, limit, share)).await {
        Ok(collected) => collected,
        Err(_elapsed) => {
            let message = format!("The body did not arrive within {} seconds.", TIMEOUT.as_secs());
            Err(Failure::new(StatusCode::REQUEST_TIMEOUT, Code::BadRequest, message))
        }
    }
}

/// Copies a body, up to the limit. A frame is a part of the buffer into which it was read: if frames were collected as
/// they are, a body that arrives byte by byte would take such a buffer for each byte.
async fn collect(mut body: Body, limit: u64, share: &mut Share) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| bad_request("The body was interrupted."))?;
        // Trailers are ignored.
        let Some(data) = frame.data_ref() else { continue };
        let length = bytes.len() + data.len();
        if length as u64 > limit {
            return Err(too_large(limit));
        }
        share.resize(length).map_err(Full::into_failure)?;
        bytes.extend_from_slice(data);
    }
    Ok(bytes)
}

fn too_large(limit: u64) -> Failure {
    let message = format!("The body exceeds the limit of {limit} bytes.");
    Failure::new(StatusCode::PAYLOAD_TOO_LARGE, Code::BadRequest, message)
}

/// Extracts a request's parameters from its JSON object. A null parameter counts as omitted.
pub(super) fn take_apart(mut parts: Map<String, Value>) -> Result<GraphqlRequest, Failure> {
    let mut part = |name: &str| parts.remove(name).filter(|value| !value.is_null());
    let mut text = |name: &str| match part(name) {
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(bad_request(format!("`{name}` must be a string."))),
        None => Ok(None),
    };
    let (query, id, operation_name) = (text("query")?, text("documentId")?, text("operationName")?);
    let variables = match part("variables") {
        Some(variables @ Value::Object(_)) => variables,
        Some(_) => return Err(bad_request("`variables` must be an object.")),
        None => Value::Null,
    };
    let announced = match part("extensions") {
        Some(Value::Object(extensions)) => announced_hash(extensions)?,
        Some(_) => return Err(bad_request("`extensions` must be an object.")),
        None => None,
    };
    let named = match id {
        // All document ids are hashes, so any other id is unknown.
        Some(id) => Some(DocumentHash::parse(&id).ok_or_else(|| Failure::of(RequestError::not_found()))?),
        None => None,
    };
    // Clients whose protocol requires `query` send an empty string with a hash.
    let query = query.filter(|query| !query.is_empty() || announced.or(named).is_none());
    if query.is_none() && announced.or(named).is_none() {
        let message = "`query` is missing: it must be a string with the document. A known document may be \
            named by `documentId` instead.";
        return Err(bad_request(message));
    }
    if announced.is_some() && named.is_some() && announced != named {
        return Err(bad_request("`documentId` and the hash in `extensions` name different documents."));
    }
    Ok(GraphqlRequest { query, hash: announced.or(named), operation_name, variables })
}

/// Returns the document's hash, per Apollo's protocol for persisted queries.
fn announced_hash(mut extensions: Map<String, Value>) -> Result<Option<DocumentHash>, Failure> {
    let persisted = match extensions.remove("persistedQuery") {
        None | Some(Value::Null) => return Ok(None),
        Some(persisted) => persisted,
    };
    if persisted["version"] != 1 {
        return Err(bad_request("The version of `persistedQuery` must be 1."));
    }
    let hash = persisted["sha256Hash"].as_str().and_then(DocumentHash::parse);
    let message = "`sha256Hash` of `persistedQuery` must be a SHA-256 hash, in 64 hexadecimal digits.";
    hash.map(Some).ok_or_else(|| bad_request(message))
}

fn bad_request(message: impl Into<String>) -> Failure {
    Failure::of(RequestError::new(Code::BadRequest, message))
}
