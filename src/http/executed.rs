//! Writes responses to batches of executed operations, with the responder of `async-graphql-axum`.
//!
//! # Why not the rest of that crate
//! The responder serializes executed operations and leaves the status and headers to its caller. It parses lists that
//! are JSON text already once more, so `http::print` writes responses to single operations. The crate's extractors and
//! services accept requests that must be rejected, and report rejections in forms that clients cannot act on:
//! `tests/it/service/stock.rs` has the list.
//!
//! # Why a response is measured first
//! The responder has no size limit. An upper bound of the size suffices for nearly every response. Only a response that
//! might exceed the limit is serialized once more, to count its bytes.

use async_graphql::{BatchResponse, Response as Executed, ServerError, Value};
use async_graphql_axum::GraphQLResponse;
use axum::response::{IntoResponse as _, Response};

use crate::graphql::error::GraphqlResponse;
use crate::http::print;

/// Writes the responses to a batch. The size limit of one operation's response applies to their total. If an operation
/// was rejected, returns the unchanged batch as `Err`, since the responder would include `data` for that operation.
pub(super) fn batch(answers: Vec<GraphqlResponse>) -> Result<Response, Vec<GraphqlResponse>> {
    if answers.iter().any(|answer| matches!(answer, GraphqlResponse::Rejected(_))) {
        return Err(answers);
    }
    let limit = print::limit_of_batch(&answers);
    let all: Vec<Executed> = answers.into_iter().filter_map(of).collect();
    let all = if print::is_within(&all, &all, limit) { all } else { too_large_together(limit, all.len()) };
    Ok(GraphQLResponse::from(BatchResponse::Batch(all)).into_response())
}

fn of(answer: GraphqlResponse) -> Option<Executed> {
    match answer {
        GraphqlResponse::Rejected(_) => None,
        GraphqlResponse::Executed { data, errors, .. } => Some(executed(data, errors)),
    }
}

fn executed(data: Value, errors: Vec<ServerError>) -> Executed {
    let mut executed = Executed::new(data);
    executed.errors = errors;
    executed
}

fn too_large_together(limit: u64, count: usize) -> Vec<Executed> {
    let errors = print::too_large(limit).errors;
    (0..count).map(|_| Executed::from_errors(errors.clone())).collect()
}
