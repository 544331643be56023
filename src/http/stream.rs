//! Responds with streams of events (`text/event-stream`), per the graphql-sse protocol in its distinct connections
//! mode.
//!
//! Events are not buffered for a client that does not read: the server computes the next event only when the connection
//! has room for it.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::HeaderValue;
use axum::response::Response;
use futures::future::{BoxFuture, FutureExt as _};
use futures::stream::{self, BoxStream, StreamExt as _};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::app::error::{Error, Rejection};
use crate::app::viewer::Caller;
use crate::graphql::Plan;
use crate::graphql::error::{GraphqlResponse, RequestError};
use crate::graphql::pace::Paced;
use crate::http::accept::EVENT_STREAM;
use crate::http::connection::turns_true;
use crate::http::memory::{Full, Share};
use crate::http::request::RequestId;
use crate::http::response::Failure;
use crate::http::seat::Seat;
use crate::http::{Server, print, response, seat};

/// Interval between the comments that keep an idle connection alive.
const KEEP_ALIVE: Duration = Duration::from_secs(12);

const COMPLETE: &str = "event: complete\ndata:\n\n";

/// Responds with a subscription's events, or with the single result of a query or mutation.
pub(super) async fn respond(
    server: &Arc<Server>,
    plan: Plan,
    caller: Caller,
    id: &RequestId,
    share: Share,
) -> Result<Response, Failure> {
    if !plan.watches() {
        let (cost, address, reads) = (plan.objects(), caller.address, plan.reads());
        let executing = {
            let (server, id) = (Arc::clone(server), id.clone());
            async move { next(&server.api.execute(plan, caller, id.as_str()).await) }
        };
        let answer = server.api.in_turn(cost, address, executing.boxed()).await.map_err(Failure::of)?;
        let response = response::text(EVENT_STREAM, format!("{answer}{COMPLETE}"));
        return share.hold(response, reads).map_err(Full::into_failure);
    }
    let seat =
        server.seats.enter_as(caller.address, caller.viewer.user()).map_err(seat::Full::into_failure)?;
    let weight = plan.weight();
    let (app, viewer) = (server.api.app().clone(), caller.viewer.clone());
    let answers = server.api.subscribe(plan, caller, id.as_str(), None).map_err(Failure::of)?;
    let answers = answers.map(|Paced { answer, .. }| answer).boxed();
    let session_end = async move { app.session_end(&viewer).await }.boxed();
    let (stopping, id) = (server.stopping.clone(), id.as_str().to_owned());
    let feed = Feed { answers, session_end, stopping, id, weight, share, _seat: seat };
    let events = stream::unfold(Some(feed), async |feed| feed?.event().await);
    let mut response = response::text(EVENT_STREAM, Body::from_stream(events.map(Ok::<_, Infallible>)));
    // Disables buffering in nginx and other proxies that support this header.
    response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    Ok(response)
}

/// The events sent over one connection.
struct Feed {
    answers: BoxStream<'static, GraphqlResponse>,
    session_end: BoxFuture<'static, Rejection>,
    stopping: watch::Receiver<bool>,
    id: String,
    /// Memory that the subscription occupies, in bytes.
    weight: usize,
    /// Memory that the subscription and the event being sent occupy.
    share: Share,
    _seat: Seat,
}

impl Feed {
    /// Returns the next event and the rest of the feed. If no event occurs within the interval, returns a keep-alive
    /// comment in place of the event. When the server stops, the stream ends without a final event, so that clients
    /// reconnect.
    async fn event(mut self) -> Option<(String, Option<Self>)> {
        // The connection has taken the last event.
        self.share.shrink(self.weight);
        tokio::select! {
            biased;
            () = turns_true(self.stopping.clone()) => None,
            rejection = &mut self.session_end => {
                let error = RequestError::of(&Error::Rejected(rejection), &self.id);
                Some((last(error), None))
            }
            answer = timeout(KEEP_ALIVE, self.answers.next()) => Some(match answer {
                Ok(Some(answer)) => {
                    let event = next(&answer);
                    match self.share.resize(self.weight + event.len()) {
                        Ok(()) => (event, Some(self)),
                        // A client that resumes receives the event.
                        Err(full) => (last(full.into_error()), None),
                    }
                }
                Ok(None) => (COMPLETE.to_owned(), None),
                Err(_elapsed) => (":\n\n".to_owned(), Some(self)),
            }),
        }
    }
}

/// Returns the event of an error, after which the stream ends.
fn last(error: RequestError) -> String {
    let answer = next(&GraphqlResponse::Rejected(error));
    format!("{answer}{COMPLETE}")
}

fn next(answer: &GraphqlResponse) -> String {
    print::between("event: next\ndata: ", answer, "\n\n")
}
