//! Answers as events, one after the other: `text/event-stream`, by the protocol of graphql-sse in its form with a
//! connection for each operation.
//!
//! Nothing is kept for a client that does not read: the next event is asked for when there is room for it.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use futures::future::{BoxFuture, FutureExt as _};
use futures::stream::{self, BoxStream, StreamExt as _};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::app::error::{Error, Refused};
use crate::app::viewer::Asker;
use crate::graphql::Plan;
use crate::graphql::error::{GraphqlResponse, RequestError};
use crate::graphql::pace::Paced;
use crate::http::connection::turns_true;
use crate::http::request::RequestId;
use crate::http::response::Failure;
use crate::http::seat::{Full, Seat};
use crate::http::{Server, print, response};

/// The media type.
pub(super) const EVENT_STREAM: &str = "text/event-stream";

/// How often something is sent to show that the connection is there.
const SHOWN: Duration = Duration::from_secs(12);

const COMPLETE: &str = "event: complete\ndata:\n\n";

/// Whether a client takes events.
pub(super) fn is_accepted(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let mut ranges = values.flat_map(|value| value.split(','));
    ranges.any(|range| {
        let mut parts = range.split(';').map(str::trim);
        let is_named = parts.next().is_some_and(|name| name.eq_ignore_ascii_case(EVENT_STREAM));
        is_named && !parts.any(|part| matches!(part, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"))
    })
}

/// The events of a subscription, or the one answer to another operation.
pub(super) async fn answer(
    server: &Arc<Server>,
    plan: Plan,
    asker: Asker,
    id: &RequestId,
) -> Result<Response, Failure> {
    if !plan.watches() {
        let (cost, address) = (plan.objects(), asker.address);
        let executing = {
            let (server, id) = (Arc::clone(server), id.clone());
            async move { next(&server.api.execute(plan, asker, id.as_str()).await) }
        };
        let answer = server.api.in_turn(cost, address, executing.boxed()).await.map_err(Failure::of)?;
        return Ok(response::text(EVENT_STREAM, format!("{answer}{COMPLETE}")));
    }
    let seat = server.seats.enter_as(asker.address, asker.viewer.user()).map_err(Full::into_failure)?;
    let (app, viewer) = (server.api.app().clone(), asker.viewer.clone());
    let answers = server.api.subscribe(plan, asker, id.as_str(), None).map_err(Failure::of)?;
    let answers = answers.map(|Paced { answer, .. }| answer).boxed();
    let session_end = async move { app.session_end(&viewer).await }.boxed();
    let (stopping, id) = (server.stopping.clone(), id.as_str().to_owned());
    let feed = Feed { answers, session_end, stopping, id, _seat: seat };
    let events = stream::unfold(Some(feed), async |feed| feed?.event().await);
    let mut response = response::text(EVENT_STREAM, Body::from_stream(events.map(Ok::<_, Infallible>)));
    // Proxies that collect answers before they pass them on know this one.
    response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    Ok(response)
}

/// What is sent over one connection.
struct Feed {
    answers: BoxStream<'static, GraphqlResponse>,
    session_end: BoxFuture<'static, ()>,
    stopping: watch::Receiver<bool>,
    id: String,
    _seat: Seat,
}

impl Feed {
    /// The next event, and what is left then; or a sign of life, if there is none for some time. When the server stops it
    /// breaks off without a word, so that clients come back.
    async fn event(mut self) -> Option<(String, Option<Self>)> {
        tokio::select! {
            biased;
            () = turns_true(self.stopping.clone()) => None,
            () = &mut self.session_end => {
                let error = RequestError::of(&Error::Refused(Refused::BadToken), &self.id);
                let answer = next(&GraphqlResponse::Refused(error));
                Some((format!("{answer}{COMPLETE}"), None))
            }
            answer = timeout(SHOWN, self.answers.next()) => Some(match answer {
                Ok(Some(answer)) => (next(&answer), Some(self)),
                Ok(None) => (COMPLETE.to_owned(), None),
                Err(_elapsed) => (":\n\n".to_owned(), Some(self)),
            }),
        }
    }
}

fn next(answer: &GraphqlResponse) -> String {
    print::answer_between("event: next\ndata: ", answer, "\n\n")
}
