//! An operation of a socket: it is executed in a task of its own, and says what comes of it when there is room.
//!
//! Not here: what is said over the socket (`http::socket`).

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::{FutureExt as _, StreamExt as _};
use tokio::sync::Semaphore;
use tokio::sync::mpsc::Sender;
use tokio::task::AbortHandle;

use crate::graphql::error::{GraphqlResponse, RequestError};
use crate::graphql::{Api, Plan};
use crate::http::log::{Outcome, Told};
use crate::http::print;
use crate::http::request::RequestId;
use crate::model::address::Address;

/// What an operation has to say.
pub(super) struct Answer {
    pub(super) id: String,
    /// Which operation of this name it was.
    pub(super) number: u64,
    pub(super) message: AnswerMessage,
}

pub(super) enum AnswerMessage {
    /// A result, as JSON.
    Next(String),
    Error(RequestError),
    Complete,
}

/// An operation under way; it ends when this is dropped.
pub(super) struct Running {
    pub(super) number: u64,
    pub(super) watches: bool,
    pub(super) task: AbortHandle,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What a client has shown to be somebody.
#[derive(Clone)]
pub(super) struct Credentials {
    /// `None` if it is nobody.
    pub(super) token: Option<String>,
}

/// The way from an operation to its client.
pub(super) struct Line {
    pub(super) id: String,
    pub(super) number: u64,
    pub(super) answers: Sender<Answer>,
}

impl Line {
    /// Says something when there is room for it. Nobody listens any more if the socket is closed.
    async fn say(&self, message: AnswerMessage) {
        let answer = Answer { id: self.id.clone(), number: self.number, message };
        drop(self.answers.send(answer).await);
    }
}

/// An operation of a socket.
pub(super) struct Operation {
    pub(super) api: Api,
    pub(super) plan: Plan,
    pub(super) credentials: Credentials,
    pub(super) address: Option<Address>,
    pub(super) at_work: Arc<Semaphore>,
    pub(super) request_id: RequestId,
    pub(super) to: Line,
}

impl Operation {
    /// A panic in it ends it and no other.
    pub(super) async fn run(self) {
        let mut told = Told::begin(self.plan.summary());
        let Self { api, plan, credentials, address, at_work, request_id, to } = self;
        let id = request_id.as_str();
        let executing = async {
            // Held until the answer is on its way.
            let _place = if plan.watches() { None } else { at_work.acquire().await.ok() };
            let token = credentials.token.as_deref();
            let admitted = api.admit(std::iter::once(&plan), token, address).await;
            let asker = admitted.map_err(|error| RequestError::of(&error, id))?;
            told.viewer = asker.viewer.user();
            if plan.watches() {
                let mut answers = std::pin::pin!(api.subscribe(plan, asker, id)?);
                let mut fault = None;
                while let Some(answer) = answers.next().await {
                    fault = answer.code();
                    to.say(AnswerMessage::Next(print::answer(&answer))).await;
                }
                return Ok(fault);
            }
            match api.execute(plan, asker, id).await {
                GraphqlResponse::Refused(error) => Err(error),
                answer @ GraphqlResponse::Executed { .. } => {
                    to.say(AnswerMessage::Next(print::answer(&answer))).await;
                    Ok(answer.code())
                }
            }
        };
        let executed = AssertUnwindSafe(executing).catch_unwind().await;
        let executed = executed.unwrap_or_else(|_panic| Err(RequestError::internal(id)));
        told.outcome = Outcome::Done(executed.as_ref().map_or_else(|error| Some(error.code), |fault| *fault));
        to.say(executed.map_or_else(AnswerMessage::Error, |_| AnswerMessage::Complete)).await;
    }
}
