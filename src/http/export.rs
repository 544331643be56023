//! Serves the downloads of exports: an account's data as JSON Lines.
//!
//! A page of the export is read once the client has taken the previous one, so a slow client costs the memory of a
//! page. A download that the server ends early has no last line, and its body is cut, so that clients notice. They
//! continue after the cursor of the last line that they have.
//!
//! The token is part of the path. No log and no trace contains it, and `Referrer-Policy` keeps browsers from sending it
//! to other sites.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use futures::{StreamExt as _, stream};
use tokio::sync::mpsc::{self, Sender};
use tokio::time::timeout;
use tracing::Instrument as _;

use crate::graphql::error::{Code, RequestError};
use crate::graphql::export::{Download, Export};
use crate::http::accept::MediaType;
use crate::http::connection::turns_true;
use crate::http::exchange::{complete, safely};
use crate::http::log::Account;
use crate::http::request::RequestId;
use crate::http::response::{Failure, Reply};
use crate::http::seat::{Full, Seat};
use crate::http::trace::Remote;
use crate::http::{Server, address, origin, response, trace};

/// The route of downloads.
pub(super) const ROUTE: &str = "/export/{token}";

/// The media type of JSON Lines. It has the name of the format and of the file, and no `x-` (RFC 6648), unlike
/// `application/x-ndjson`.
const JSON_LINES: &str = "application/jsonl";

/// Time within which a client must take a page.
const TAKEN_WITHIN: Duration = Duration::from_mins(1);

/// Time after which a rejected client may retry.
const RETRY_AFTER: Duration = Duration::from_secs(10);

/// Handles a download. All of its log lines carry the request id.
pub(super) async fn download(
    State(server): State<Arc<Server>>,
    token: Result<Path<String>, PathRejection>,
    request: Request,
) -> Response {
    // A client that pipelines requests must yield to other clients.
    tokio::task::consume_budget().await;
    let id = RequestId::of(request.headers(), server.api.app());
    let span = trace::name(&id);
    let from = Remote::of(&request, &server.config);
    let trace = span.in_scope(|| trace::begin(ROUTE, request.method(), &from, &id));
    let token = token.map_or_else(|_| String::new(), |Path(token)| token);
    respond(&server, &token, request, &id).instrument(trace).instrument(span).await
}

async fn respond(server: &Arc<Server>, token: &str, request: Request, id: &RequestId) -> Response {
    let mut account = Account::begin(request.method());
    // A link on another site may lead here: the token is a secret, and browsers add none. But only the scripts of
    // allowed origins can read the response.
    let origin = origin::judge(request.headers(), &server.config).ok();
    let executed = safely(open(server, token, request, id, &mut account), id).await;
    let reply = executed.unwrap_or_else(|failure| Reply {
        fault: Some(failure.code()),
        response: failure.into_response(MediaType::Json),
    });
    complete(reply, origin, &account, id)
}

/// Reads the first page, and responds with it and those that follow.
async fn open(
    server: &Arc<Server>,
    token: &str,
    request: Request,
    id: &RequestId,
    account: &mut Account,
) -> Result<Reply, Failure> {
    let (head, _) = request.into_parts();
    let after = cursor(head.uri.query().unwrap_or_default())?;
    let address = address::of(&head.headers, &head.extensions, &server.config.http_trusted_proxies);
    let opened = server.api.open_export(token, after.as_deref(), address, id.as_str()).await;
    let mut download = opened.map_err(into_failure)?.ok_or_else(no_export)?;
    account.viewer = download.viewer().user();
    let seat = server.downloads.enter_as(address, account.viewer).map_err(full)?;
    let first = download.next_page(id.as_str()).await.map_err(into_failure)?;
    let mut response = response::text(JSON_LINES, Body::empty());
    add_headers(&mut response, download.export());
    if head.method != Method::HEAD {
        *response.body_mut() = body(server, download, first, id.clone(), seat);
    }
    Ok(Reply { response, fault: None })
}

/// Returns the cursor in a query string.
fn cursor(query: &str) -> Result<Option<String>, Failure> {
    let mut cursors = form_urlencoded::parse(query.as_bytes())
        .filter(|(name, _)| name == "after")
        .map(|(_, cursor)| cursor);
    let first = cursors.next();
    if cursors.next().is_some() {
        let message = "`after` is given more than once.";
        return Err(Failure::new(StatusCode::BAD_REQUEST, Code::BadRequest, message));
    }
    Ok(first.map(std::borrow::Cow::into_owned))
}

fn add_headers(response: &mut Response, export: &Export) {
    let headers = response.headers_mut();
    // A username consists of letters, digits and _.
    let disposition = format!("attachment; filename=\"fanfold-{}.jsonl\"", export.username());
    if let Ok(disposition) = HeaderValue::from_str(&disposition) {
        headers.insert(header::CONTENT_DISPOSITION, disposition);
    }
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
}

/// Returns the failure for an error that ends a request as a whole. Its status does not depend on a media type.
fn into_failure(error: RequestError) -> Failure {
    let is_wrong_cursor = error.code == Code::BadUserInput;
    let failure = Failure::of(error);
    if is_wrong_cursor { failure.with_status(StatusCode::BAD_REQUEST) } else { failure }
}

fn no_export() -> Failure {
    let message = "There is no such export. It has expired, was replaced by another one, or the session that requested \
                   it has ended. Request another one with `exportAccount`.";
    Failure::new(StatusCode::NOT_FOUND, Code::BadRequest, message)
}

/// Returns the failure for a client that gets no seat.
fn full(full: Full) -> Failure {
    let (status, code, message) = match full {
        Full::All | Full::Anonymous => {
            let message = "Too many exports are being downloaded. Try again later.".to_owned();
            (StatusCode::SERVICE_UNAVAILABLE, Code::Unavailable, message)
        }
        Full::Address(most) => {
            let message = format!("This address already downloads {most} exports. Try again later.");
            (StatusCode::TOO_MANY_REQUESTS, Code::RateLimited, message)
        }
        Full::User(most) => {
            let message = format!("This export is already being downloaded {most} times. Try again later.");
            (StatusCode::TOO_MANY_REQUESTS, Code::RateLimited, message)
        }
    };
    Failure::of(RequestError::retry_after(code, message, RETRY_AFTER)).with_status(status)
}

/// A part of a download.
struct Portion {
    text: String,
    is_last: bool,
}

/// Returns a body of the first page and those that follow. A task reads them, so that the seat is free again if the
/// client does not take a page in time.
fn body(server: &Arc<Server>, download: Download, first: String, id: RequestId, seat: Seat) -> Body {
    let (sender, receiver) = mpsc::channel(1);
    let portion = Portion { text: first, is_last: download.export().is_complete() };
    // The channel is empty.
    let _ = sender.try_send(portion);
    let writing = {
        let server = Arc::clone(server);
        async move {
            let _seat = seat;
            let app = server.api.app().clone();
            let viewer = download.viewer().clone();
            tokio::select! {
                () = write(download, sender, &id) => {}
                () = turns_true(server.stopping.clone()) => {}
                _ = app.session_end(&viewer) => {}
            }
        }
    };
    server.tasks.spawn(writing.in_current_span());
    let portions = stream::unfold(Some(receiver), async |receiver| {
        let mut receiver = receiver?;
        match receiver.recv().await {
            Some(Portion { text, is_last }) => Some((Ok(text), (!is_last).then_some(receiver))),
            None => Some((Err(io::Error::other("the export was interrupted")), None)),
        }
    });
    // The layer that compresses bodies also polls those that have ended.
    Body::from_stream(portions.fuse())
}

/// Reads the pages after the first one, each once the client has taken the one before.
async fn write(mut download: Download, sender: Sender<Portion>, id: &RequestId) {
    while !download.export().is_complete() {
        let Ok(Ok(room)) = timeout(TAKEN_WITHIN, sender.reserve()).await else { return };
        // The error was logged. The client notices that the last line is missing.
        let Ok(text) = download.next_page(id.as_str()).await else { return };
        room.send(Portion { text, is_last: download.export().is_complete() });
    }
}
