//! Several operations in one request.
//!
//! # Why mutations wait, and are waited for
//! An array has an order, and who sends a change and then a question expects to be told what was changed. So a mutation
//! begins when all before it is done, and what follows begins when it is done. Queries between two mutations can see no
//! difference and are executed together.

use axum::http::StatusCode;
use axum::http::request::Parts;
use futures::future::join_all;

use crate::graphql::error::{Code, GraphqlResponse, RequestError};
use crate::graphql::{GraphqlRequest, Plan, Summary, check_rate_limit};
use crate::http::log::Account;
use crate::http::request::RequestId;
use crate::http::response::Failure;
use crate::http::{Server, address, auth};

/// Executes what a batch asks for, and answers in its order. A batch that asks for too much is refused as a whole.
pub(super) async fn answer(
    server: &Server,
    requests: Vec<Result<GraphqlRequest, Failure>>,
    head: &Parts,
    id: &RequestId,
    account: &mut Account,
) -> Result<Vec<GraphqlResponse>, Failure> {
    let address = address::of(head, &server.config.http_trusted_proxies);
    let plan = |request: Result<_, Failure>| {
        let plan = request.map_err(Failure::into_error).and_then(|one| server.plan(one, address))?;
        if plan.watches() {
            return Err(RequestError::new(Code::BadRequest, "A subscription cannot be part of a batch."));
        }
        Ok(plan)
    };
    let plans: Vec<Result<Plan, RequestError>> = requests.into_iter().map(plan).collect();
    let summaries: Vec<Option<Summary>> =
        plans.iter().map(|plan| plan.as_ref().ok().map(Plan::summary)).collect();
    let together = Plan::check_together(plans.iter().flatten());
    together.map_err(|error| Failure::of(error).with_status(StatusCode::BAD_REQUEST))?;

    if plans.iter().all(Result::is_err) {
        return Ok(plans.into_iter().filter_map(Result::err).map(GraphqlResponse::Refused).collect());
    }
    let token = auth::token(&head.headers)?;
    let refused = |error| RequestError::of(&error, id.as_str());
    let admitted = server.api.admit(plans.iter().flatten(), token, address).await;
    let first = admitted.map_err(refused).map_err(Failure::of)?;
    account.admit(&first);
    check_rate_limit(&first).map_err(Failure::of)?;
    let (budget, viewer) = (server.api.budget(), first.viewer.clone());
    let mut asking = Ok(first);
    let account_of_all = &*account;
    let mut may_have_ended = false;
    let mut answers = Vec::with_capacity(plans.len());
    let mut begun = Vec::new();
    for (plan, summary) in plans.into_iter().zip(&summaries) {
        let is_change = plan.as_ref().is_ok_and(|plan| !plan.reads());
        if is_change {
            answers.extend(join_all(begun.drain(..)).await);
        }
        if may_have_ended {
            asking = match asking {
                Ok(asker) => server.api.admit_again(token, asker).await.map_err(refused),
                ended => ended,
            };
        }
        let (asker, budget) = (asking.clone(), &budget);
        begun.push(async move {
            let answer = match (plan, asker) {
                (Ok(plan), Ok(asker)) => server.api.execute_within(budget, plan, asker, id.as_str()).await,
                (Err(error), _) | (_, Err(error)) => GraphqlResponse::Refused(error),
            };
            account_of_all.count(summary.as_ref(), &answer);
            answer
        });
        if is_change {
            answers.extend(join_all(begun.drain(..)).await);
        }
        // A change may end the session that asks.
        may_have_ended = is_change;
    }
    answers.extend(join_all(begun).await);
    let summary = Summary::of_batch(summaries.iter().flatten());
    server.api.settle(&budget, summary.cost, &viewer, address);
    account.operation = Some(summary);
    Ok(answers)
}
