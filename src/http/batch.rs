//! Executes batches: several operations in one request.
//!
//! # Why a mutation runs alone
//! An array has an order, and a client that sends a mutation and then a query expects to read its own write. So a
//! mutation starts when all operations before it are done, and the operations after it start when the mutation is done.
//! The order of the queries between two mutations makes no difference, so they run concurrently.

use std::sync::Arc;

use axum::http::{HeaderMap, StatusCode};
use futures::FutureExt as _;
use futures::future::join_all;
use tokio::time::Instant;

use crate::app::viewer::Caller;
use crate::graphql::error::{Code, GraphqlResponse, RequestError};
use crate::graphql::{Plan, Summary, check_rate_limit};
use crate::http::accept::MediaType;
use crate::http::log::{self, Account};
use crate::http::memory::{Full, Share};
use crate::http::request::RequestId;
use crate::http::response::{self, Failure, Reply};
use crate::http::{Server, auth};
use crate::model::address::Address;

/// The sender of a batch.
pub(super) struct Client<'a> {
    pub(super) headers: &'a HeaderMap,
    pub(super) address: Option<Address>,
    /// The memory that the request occupies.
    pub(super) share: Share,
    /// The media type of the response.
    pub(super) media_type: MediaType,
}

/// Executes the operations of a batch and responds in request order. Rejects the whole batch if it exceeds a limit.
pub(super) async fn respond(
    server: &Arc<Server>,
    plans: Vec<Result<Plan, RequestError>>,
    Client { headers, address, mut share, media_type }: Client<'_>,
    id: &RequestId,
    account: &mut Account,
) -> Result<Reply, Failure> {
    let reject_subscription = |plan: Plan| {
        if plan.watches() {
            return Err(RequestError::new(Code::BadRequest, "A subscription cannot be part of a batch."));
        }
        Ok(plan)
    };
    let plans: Vec<_> = plans.into_iter().map(|plan| plan.and_then(reject_subscription)).collect();
    let together = Plan::check_together(plans.iter().flatten());
    together.map_err(|error| Failure::of(error).with_status(StatusCode::BAD_REQUEST))?;
    share.resize(plans.iter().flatten().map(Plan::weight).sum()).map_err(Full::into_failure)?;

    if plans.iter().all(Result::is_err) {
        let rejected = plans.into_iter().filter_map(Result::err).map(GraphqlResponse::Rejected);
        return Ok(print(rejected.collect(), media_type));
    }
    let token = auth::token(headers)?;
    let admitted = server.api.admit(plans.iter().flatten(), token, address).await;
    let caller = admitted.map_err(|error| Failure::of(RequestError::of(&error, id.as_str())))?;
    account.admit(&caller);
    check_rate_limit(&caller).map_err(Failure::of)?;
    let reads = plans.iter().flatten().all(Plan::reads);
    let summary = Summary::of_batch(plans.iter().flatten().map(Plan::summary));
    let batch = Batch {
        server: Arc::clone(server),
        plans,
        cost: summary.cost,
        token: token.map(str::to_owned),
        caller,
        id: id.clone(),
        began: account.began,
    };
    let executing = async move {
        let Reply { response, fault } = print(batch.execute().await, media_type);
        share.hold(response, reads).map(|response| Reply { response, fault })
    };
    let executed = server.api.in_turn(summary.cost, address, executing.boxed()).await;
    let answer = executed.map_err(Failure::of)?.map_err(Full::into_failure)?;
    account.operation = Some(summary);
    Ok(answer)
}

fn print(answers: Vec<GraphqlResponse>, media_type: MediaType) -> Reply {
    let fault = answers.iter().find_map(GraphqlResponse::code);
    Reply { response: response::respond_to_batch(answers, media_type), fault }
}

/// A batch whose caller was admitted.
struct Batch {
    server: Arc<Server>,
    plans: Vec<Result<Plan, RequestError>>,
    /// The total predicted cost of all operations.
    cost: u64,
    token: Option<String>,
    caller: Caller,
    id: RequestId,
    /// The time at which the request arrived.
    began: Instant,
}

impl Batch {
    /// Executes the batch and returns the responses, in request order.
    async fn execute(self) -> Vec<GraphqlResponse> {
        let Self { server, plans, cost, token, caller, id, began } = self;
        let (api, id) = (&server.api, id.as_str());
        let (budget, viewer, address) = (&api.budget(), caller.viewer.clone(), caller.address);
        let mut asking = Ok(caller);
        let mut may_have_ended = false;
        let mut answers = Vec::with_capacity(plans.len());
        let mut begun = Vec::new();
        for plan in plans {
            let is_change = plan.as_ref().is_ok_and(|plan| !plan.reads());
            if is_change {
                answers.extend(join_all(begun.drain(..)).await);
            }
            if may_have_ended {
                asking = match asking {
                    Ok(caller) => {
                        let again = api.admit_again(token.as_deref(), caller).await;
                        again.map_err(|error| RequestError::of(&error, id))
                    }
                    ended => ended,
                };
            }
            let caller = asking.clone();
            begun.push(async move {
                let summary = plan.as_ref().ok().map(Plan::summary);
                let answer = match (plan, caller) {
                    (Ok(plan), Ok(caller)) => api.execute_within(budget, plan, caller, id).await,
                    (Err(error), _) | (_, Err(error)) => GraphqlResponse::Rejected(error),
                };
                log::count_one(began, summary.as_ref(), &answer);
                answer
            });
            if is_change {
                answers.extend(join_all(begun.drain(..)).await);
            }
            // A mutation may end the caller's session.
            may_have_ended = is_change;
        }
        answers.extend(join_all(begun).await);
        api.settle(budget, cost, &viewer, address);
        answers
    }
}
