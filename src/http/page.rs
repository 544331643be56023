//! Serves the web pages: the playground at `/`, the demo client at `/demo`, and the files of both.
//!
//! `make web` builds them into `web/`, with each file compressed. A release build embeds these files in the program;
//! other builds read them at run time. A program that was built without them serves a plain page.
//!
//! **Invariant:** a page sends requests to no other host, except for users' pictures on hosts that the operator allows,
//! and no other page may frame it.

use std::borrow::Cow;
use std::io::Read as _;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use flate2::read::GzDecoder;
use rust_embed::{Embed, EmbeddedFile};

use crate::http::Server;
use crate::http::accept::{self, MediaType};
use crate::http::response::{self, Failure};

const PLAIN: &str = include_str!("../../playground/plain.html");

const WITHOUT_DEMO: &str =
    "This build does not include the demo client. Run `make web`, then build the server again.\n";

/// Content Security Policy of the plain page, which is one file with inline styles and an inline script.
static PLAIN_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; base-uri 'none'; \
     form-action 'none'; frame-ancestors 'none'",
);
/// Content Security Policy of the playground, whose editor writes inline styles and embeds fonts in its style sheet.
static PLAYGROUND_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
     font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);
/// Content Security Policy of the demo client, except for the sources of images.
const DEMO_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
                           font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; \
                           frame-ancestors 'none'; img-src 'self' data:";

/// Subfolder of each page for files whose names contain a hash of their content.
const ASSETS: &str = "assets/";

/// The files built by `make web`.
#[derive(Embed)]
#[folder = "web/"]
struct Files;

/// Returns the Content Security Policy of the demo client, which shows pictures from these hosts.
pub(super) fn demo_policy(media_hosts: &[String]) -> HeaderValue {
    let with_host = |policy: String, host: &String| policy + " https://" + host;
    let policy = media_hosts.iter().fold(DEMO_POLICY.to_owned(), with_host);
    HeaderValue::try_from(policy).unwrap_or_else(|_| unreachable!("hosts are ASCII"))
}

/// `/`: serves the playground.
pub(super) async fn playground(headers: HeaderMap) -> Response {
    match file("playground/index.html", &headers) {
        Some(page) => with_policy(page, &PLAYGROUND_POLICY),
        None => with_policy(response::text("text/html; charset=utf-8", PLAIN), &PLAIN_POLICY),
    }
}

/// Serves a file of the playground.
pub(super) async fn playground_file(Path(path): Path<String>, headers: HeaderMap) -> Response {
    let file = part("playground", &path, &headers);
    file.map_or_else(not_found, |file| with_policy(file, &PLAYGROUND_POLICY))
}

/// `/demo`: serves the demo client.
pub(super) async fn demo(State(server): State<Arc<Server>>, headers: HeaderMap) -> Response {
    match file("demo/index.html", &headers) {
        Some(page) => with_policy(page, &server.demo_policy),
        None => {
            (StatusCode::NOT_FOUND, response::text("text/plain; charset=utf-8", WITHOUT_DEMO)).into_response()
        }
    }
}

/// Serves a file of the demo client. Any other path is one of the client's routes, and gets the client's page.
pub(super) async fn demo_file(
    State(server): State<Arc<Server>>,
    Path(path): Path<String>,
    headers: HeaderMap,
) -> Response {
    match part("demo", &path, &headers) {
        Some(file) => with_policy(file, &server.demo_policy),
        None if path.starts_with(ASSETS) => not_found(),
        None => demo(State(server), headers).await,
    }
}

fn not_found() -> Response {
    Failure::not_found().into_response(MediaType::Json)
}

/// Responds with a file of a page. Returns `None` if the file does not exist. Assets may be cached forever, since their
/// names change with their content.
fn part(page: &str, path: &str, headers: &HeaderMap) -> Option<Response> {
    // Rejects paths that could leave the page's folder.
    if path.split('/').any(|name| name.is_empty() || name.starts_with('.')) {
        return None;
    }
    let mut file = file(&format!("{page}/{path}"), headers)?;
    if path.starts_with(ASSETS) {
        let for_ever = HeaderValue::from_static("public, max-age=31536000, immutable");
        file.headers_mut().insert(header::CACHE_CONTROL, for_ever);
    }
    Some(file)
}

/// Responds with a built file. Returns `None` if the file does not exist.
fn file(path: &str, headers: &HeaderMap) -> Option<Response> {
    let content_type = content_type(path)?;
    let compressed = Files::get(&format!("{path}.gz"));
    let is_compressed = compressed.is_some();
    let file = compressed.or_else(|| Files::get(path))?;
    send(headers, content_type, &tag(&file), file.data, is_compressed)
}

/// Responds with a file, or with 304 if the client has it cached. Returns `None` if the file cannot be decompressed for
/// a client that does not accept gzip.
fn send(
    headers: &HeaderMap,
    content_type: &'static str,
    tag: &str,
    data: Cow<'static, [u8]>,
    is_compressed: bool,
) -> Option<Response> {
    let is_sent_compressed = is_compressed && accept::takes_gzip(headers);
    let mut response = if let Some(not_modified) = response::not_modified(headers, tag) {
        not_modified
    } else {
        let bytes = if is_compressed && !is_sent_compressed { decompressed(&data)? } else { bytes(data) };
        let mut response = response::tagged(response::text(content_type, bytes), tag);
        if is_sent_compressed {
            response.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        response
    };
    response.headers_mut().insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    Some(response)
}

/// Returns a file's bytes without copying them.
fn bytes(data: Cow<'static, [u8]>) -> Bytes {
    match data {
        Cow::Borrowed(bytes) => Bytes::from_static(bytes),
        Cow::Owned(bytes) => Bytes::from(bytes),
    }
}

/// Decompresses a file for a client that does not accept gzip. Returns `None` if the file is not valid gzip.
fn decompressed(data: &[u8]) -> Option<Bytes> {
    let mut bytes = Vec::new();
    GzDecoder::new(data).read_to_end(&mut bytes).ok()?;
    Some(Bytes::from(bytes))
}

/// Returns a file's entity tag. The tag is weak, because the bytes sent depend on the compression.
fn tag(file: &EmbeddedFile) -> String {
    let half = file.metadata.sha256_hash().first_chunk().map_or(0, |half| u128::from_be_bytes(*half));
    format!("W/\"{half:032x}\"")
}

/// Returns a file's content type by its extension; `None` for extensions that the build does not produce.
fn content_type(path: &str) -> Option<&'static str> {
    Some(match path.rsplit_once('.')?.1 {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "ttf" => "font/ttf",
        "woff2" => "font/woff2",
        _ => return None,
    })
}

fn with_policy(mut page: Response, policy: &HeaderValue) -> Response {
    let headers = page.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, policy.clone());
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    static BYTES: [u8; 4] = *b"page";
    const TAG: &str = "W/\"1\"";

    /// Responds with a file that is no gzip, though it is said to be.
    fn send_damaged(known: Option<&'static str>) -> Option<Response> {
        let known = known.map(|tag| (header::IF_NONE_MATCH, HeaderValue::from_static(tag)));
        send(&known.into_iter().collect(), "text/html", TAG, Cow::Borrowed(&BYTES), true)
    }

    #[test]
    fn a_file_that_the_client_has_cached_is_not_read() {
        assert!(send_damaged(None).is_none());
        assert_eq!(send_damaged(Some(TAG)).unwrap().status(), StatusCode::NOT_MODIFIED);
    }

    #[test]
    fn an_embedded_file_is_sent_without_a_copy() {
        assert_eq!(bytes(Cow::Borrowed(&BYTES)).as_ptr(), BYTES.as_ptr());
    }
}
