//! Responses to executed operations, written by the responder of `async-graphql-axum`.
//!
//! # Why not the rest of that crate
//! Its responder prints what was executed, and leaves status and headers to its caller. Its extractors and services
//! accept requests that must be rejected, and report rejections in forms that clients cannot act on:
//! `tests/it/stock.rs` has the list.
//!
//! # Why bytes are counted first
//! The responder knows no limit. Counting is a pass that writes nothing, and takes about 40 µs for 100 kB.

use async_graphql::{BatchResponse, Response as Executed, ServerError, Value};
use async_graphql_axum::GraphQLResponse;
use axum::response::{IntoResponse as _, Response};

use crate::graphql::error::GraphqlResponse;
use crate::http::print;

/// Writes the response to one operation, or an error in its place if it has more than `limit` bytes.
pub(super) fn one(data: Value, errors: Vec<ServerError>, limit: u64) -> Response {
    let executed = executed(data, errors);
    let is_small = print::is_within(&executed, limit);
    GraphQLResponse::from(if is_small { executed } else { too_large(limit) }).into_response()
}

/// Writes the responses to a batch, which has the same limit as the response to one operation. Returns a batch of which
/// a part was not executed: its responder would print data for that part.
pub(super) fn batch(answers: Vec<GraphqlResponse>) -> Result<Response, Vec<GraphqlResponse>> {
    if answers.iter().any(|answer| matches!(answer, GraphqlResponse::Rejected(_))) {
        return Err(answers);
    }
    let limit = print::limit_of_batch(&answers);
    let all: Vec<Executed> = answers.into_iter().filter_map(of).collect();
    let all = if print::is_within(&all, limit) { all } else { too_large_together(limit, all.len()) };
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

fn too_large(limit: u64) -> Executed {
    Executed::from_errors(print::too_large(limit).errors)
}

fn too_large_together(limit: u64, count: usize) -> Vec<Executed> {
    let errors = print::too_large(limit).errors;
    (0..count).map(|_| Executed::from_errors(errors.clone())).collect()
}
