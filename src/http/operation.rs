//! Operations of a WebSocket. Each runs in a task of its own, which sends results as capacity allows.
//!
//! Not here: the WebSocket's protocol (`http::socket`).

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::{FutureExt as _, StreamExt as _};
use tokio::sync::mpsc::Sender;
use tokio::task::AbortHandle;

use crate::graphql::error::{GraphqlResponse, RequestError};
use crate::graphql::pace::{Paced, Permit, Room};
use crate::graphql::{Api, Plan};
use crate::http::log::{OperationLog, Outcome};
use crate::http::memory::{Full, Share};
use crate::http::print;
use crate::http::request::RequestId;
use crate::model::address::Address;

/// A message from an operation to its client.
pub(super) struct OperationMessage {
    pub(super) id: Arc<str>,
    /// The operation's number, which distinguishes successive operations with the same id.
    pub(super) number: u64,
    pub(super) kind: MessageKind,
}

pub(super) enum MessageKind {
    /// A serialized result, with what it holds until it is sent.
    Next(String, HeldResult),
    Error(RequestError),
    Complete,
}

/// What a result holds until it is sent.
pub(super) struct HeldResult {
    _place: Option<Permit>,
    _share: Share,
}

/// A handle to a running operation. Dropping it aborts the operation.
pub(super) struct Running {
    pub(super) number: u64,
    pub(super) watches: bool,
    /// Memory that the operation occupies, in bytes.
    pub(super) weight: usize,
    pub(super) task: AbortHandle,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The credentials of a WebSocket's client.
#[derive(Clone)]
pub(super) struct Credentials {
    /// The token; `None` for an anonymous client.
    pub(super) token: Option<String>,
}

/// The channel from an operation to the task that writes to the client.
pub(super) struct ClientChannel {
    pub(super) id: Arc<str>,
    pub(super) number: u64,
    pub(super) messages: Sender<OperationMessage>,
}

impl ClientChannel {
    /// Sends a message once the channel has capacity. Does nothing if the WebSocket is closed.
    async fn send(&self, kind: MessageKind) {
        let message = OperationMessage { id: Arc::clone(&self.id), number: self.number, kind };
        drop(self.messages.send(message).await);
    }
}

/// Serializes a result as a message. Only this string stays in memory while the result waits to be sent.
fn print_next(id: &str, answer: &GraphqlResponse) -> String {
    let id = serde_json::Value::from(id);
    print::between(&format!(r#"{{"id":{id},"type":"next","payload":"#), answer, "}")
}

/// An operation of a WebSocket that has not started yet.
pub(super) struct SocketOperation {
    pub(super) api: Api,
    pub(super) plan: Plan,
    pub(super) credentials: Credentials,
    pub(super) address: Option<Address>,
    pub(super) room: Room,
    /// The memory that the operation occupies.
    pub(super) share: Share,
    pub(super) request_id: RequestId,
    pub(super) to: ClientChannel,
}

impl SocketOperation {
    /// Runs the operation. A panic ends this operation and no other.
    pub(super) async fn run(self) {
        let mut log = OperationLog::begin(self.plan.summary());
        let Self { api, plan, credentials, address, room, mut share, request_id, to } = self;
        let id = request_id.as_str();
        let executing = async {
            // The permit is held until the response is sent. Each event of a subscription takes a permit of its own.
            let place =
                if plan.watches() { None } else { Some(api.in_time(room.enter(plan.objects())).await?) };
            let token = credentials.token.as_deref();
            let admitted = api.admit(std::iter::once(&plan), token, address).await;
            let caller = admitted.map_err(|error| RequestError::of(&error, id))?;
            log.viewer = caller.viewer.user();
            if plan.watches() {
                let mut answers = std::pin::pin!(api.subscribe(plan, caller, id, Some(room))?);
                let mut fault = None;
                while let Some(Paced { answer, place, turn }) = answers.next().await {
                    fault = answer.code();
                    let text = print_next(&to.id, &answer);
                    drop((answer, turn));
                    let mut share = share.beside();
                    // A client that resumes receives the event.
                    share.resize(text.len()).map_err(Full::into_error)?;
                    to.send(MessageKind::Next(text, HeldResult { _place: place, _share: share })).await;
                }
                return Ok(fault);
            }
            let (cost, reads) = (plan.objects(), plan.reads());
            let (request_id, name) = (request_id.clone(), Arc::clone(&to.id));
            let executing = {
                let api = api.clone();
                async move {
                    match api.execute(plan, caller, request_id.as_str()).await {
                        GraphqlResponse::Rejected(error) => Err(error),
                        answer @ GraphqlResponse::Executed { .. } => {
                            Ok((answer.code(), print_next(&name, &answer)))
                        }
                    }
                }
            };
            let (fault, text) = api.in_turn(cost, address, executing.boxed()).await??;
            share.fill(text.len(), reads).map_err(Full::into_error)?;
            to.send(MessageKind::Next(text, HeldResult { _place: place, _share: share })).await;
            Ok(fault)
        };
        let executed = AssertUnwindSafe(executing).catch_unwind().await;
        let executed = executed.unwrap_or_else(|_panic| Err(RequestError::internal(id)));
        log.outcome = Outcome::Done(executed.as_ref().map_or_else(|error| Some(error.code), |fault| *fault));
        to.send(executed.map_or_else(MessageKind::Error, |_| MessageKind::Complete)).await;
    }
}
