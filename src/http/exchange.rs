//! Handles a GraphQL request over plain HTTP, from its head to the response.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::response::Response;
use futures::FutureExt as _;
use tracing::Instrument as _;

use crate::graphql::Plan;
use crate::graphql::error::RequestError;
use crate::http::accept::{self, MediaType};
use crate::http::fair::fairly;
use crate::http::log::Account;
use crate::http::memory::Full;
use crate::http::origin::Origin;
use crate::http::request::{RequestId, Unparsed};
use crate::http::response::{self, Failure, Reply};
use crate::http::trace::Remote;
use crate::http::{
    Planned, REQUEST_ID, Server, address, auth, batch, origin, socket, stream, trace, websocket,
};
use crate::model::address::Address;

/// Handles a GraphQL request. All of its log lines carry the request id.
pub(super) async fn graphql(State(server): State<Arc<Server>>, request: Request) -> Response {
    // A client that pipelines requests must yield to other clients.
    tokio::task::consume_budget().await;
    let id = RequestId::of(request.headers(), server.api.app());
    if websocket::is_requested(request.method(), request.headers()) {
        return socket::accept(&server, request, id);
    }
    let span = trace::name(&id);
    let from = Remote::of(&request, &server.config);
    let trace = span.in_scope(|| trace::begin(trace::GRAPHQL, request.method(), &from, &id));
    let address = address::of(request.headers(), request.extensions(), &server.config.http_trusted_proxies);
    fairly(address, respond(&server, request, address, &id)).instrument(trace).instrument(span).await
}

/// Handles a browser's preflight request.
pub(super) async fn preflight(State(server): State<Arc<Server>>, headers: HeaderMap) -> Response {
    let response = origin::preflight(&headers, &server.config);
    response.unwrap_or_else(|failure| failure.into_response(MediaType::Json))
}

async fn respond(
    server: &Arc<Server>,
    request: Request,
    address: Option<Address>,
    id: &RequestId,
) -> Response {
    let mut account = Account::begin(request.method());
    let form = Form::of(request.headers());
    let (executed, origin) = match origin::judge(request.headers(), &server.config) {
        Err(failure) => (Err(failure), None),
        Ok(origin) => {
            (safely(execute(server, request, address, id, form, &mut account), id).await, Some(origin))
        }
    };
    let reply = executed.unwrap_or_else(|failure| Reply {
        fault: Some(failure.code()),
        response: failure.into_response(form.media_type()),
    });
    complete(reply, origin, &account, id)
}

/// Adds the headers that all responses have, and completes the log record.
pub(super) fn complete(reply: Reply, origin: Option<Origin>, account: &Account, id: &RequestId) -> Response {
    let Reply { mut response, fault } = reply;
    if let Some(rate_limit) = account.rate_limit {
        response::add_rate_limit(&mut response, rate_limit);
    }
    if let Some(origin) = origin {
        origin.admit(&mut response);
    }
    let headers = response.headers_mut();
    headers.insert(header::VARY, HeaderValue::from_static("accept, authorization, origin"));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    if let Ok(value) = HeaderValue::from_str(id.as_str()) {
        headers.insert(REQUEST_ID, value);
    }
    account.close(fault, &response);
    response
}

/// The forms of response that a client accepts: a single response, a stream of events, or both.
#[derive(Clone, Copy)]
struct Form {
    /// The media type of a single response; `None` if the client accepts no single response.
    whole: Option<MediaType>,
    /// True if the client accepts a stream of events.
    events: bool,
}

impl Form {
    fn of(headers: &HeaderMap) -> Self {
        Self { whole: MediaType::accepted(headers), events: accept::takes_events(headers) }
    }

    /// Returns the media type of error responses.
    fn media_type(self) -> MediaType {
        self.whole.unwrap_or(if self.events { MediaType::GraphqlResponse } else { MediaType::Json })
    }
}

/// Executes a request. A panic becomes an internal error and affects no other request.
pub(super) async fn safely(
    work: impl Future<Output = Result<Reply, Failure>>,
    id: &RequestId,
) -> Result<Reply, Failure> {
    AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|_panic| {
        // The process's panic hook has already logged the panic's message and location.
        tracing::error!("a request panicked");
        Err(Failure::of(RequestError::internal(id.as_str())))
    })
}

async fn execute(
    server: &Arc<Server>,
    request: Request,
    address: Option<Address>,
    id: &RequestId,
    form: Form,
    account: &mut Account,
) -> Result<Reply, Failure> {
    if form.whole.is_none() && !form.events {
        return Err(Failure::not_acceptable());
    }
    let (head, body) = request.into_parts();
    // HEAD is handled like GET, but the response has no body.
    let is_post = head.method == Method::POST;
    let mut share = server.memory.share(address);
    let unparsed = if is_post {
        Unparsed::read(&head.headers, body, &server.config, &mut share).await?
    } else {
        Unparsed::Url(head.uri.clone())
    };
    // Nothing is read from the store until the document is known to be valid.
    let plan = match server.plan(unparsed, address).await? {
        Planned::One(plan) => plan,
        Planned::Batch(_) if form.whole.is_none() => return Err(Failure::not_acceptable()),
        Planned::Batch(plans) => {
            let client =
                batch::Client { headers: &head.headers, address, share, media_type: form.media_type() };
            return batch::respond(server, plans, client, id, account).await;
        }
    };
    share.resize(plan.weight()).map_err(Full::into_failure)?;
    account.operation = Some(plan.summary());
    check_method(&plan, is_post, form)?;
    let token = auth::token(&head.headers)?;
    let admitted = server.api.admit(std::iter::once(&plan), token, address).await;
    let caller = admitted.map_err(|error| Failure::of(RequestError::of(&error, id.as_str())))?;
    account.admit(&caller);
    if plan.watches() || form.whole.is_none() {
        let response = stream::respond(server, plan, caller, id, share).await?;
        return Ok(Reply { response, fault: None });
    }
    let is_public = !is_post && plan.is_public() && account.viewer.is_none();
    let (cost, media_type, reads) = (plan.objects(), form.media_type(), plan.reads());
    let executing = {
        let (server, id) = (Arc::clone(server), id.clone());
        async move {
            let answer = server.api.execute(plan, caller, id.as_str()).await;
            let fault = answer.code();
            let response = if is_public {
                response::respond_publicly(answer, media_type, &server.config)
            } else {
                response::respond(answer, media_type)
            };
            let response = share.hold(response, reads).map_err(Full::into_failure)?;
            Ok(Reply { response, fault })
        }
    };
    server.api.in_turn(cost, address, executing.boxed()).await.map_err(Failure::of)?
}

/// Rejects a mutation that was not sent by POST, and a subscription whose client does not accept events.
fn check_method(plan: &Plan, is_post: bool, form: Form) -> Result<(), Failure> {
    if !is_post && !plan.reads() && !plan.watches() {
        return Err(Failure::only_by_post());
    }
    if plan.watches() && !form.events {
        return Err(Failure::only_as_events());
    }
    Ok(())
}
