//! Prints responses as JSON, up to a number of bytes.
//!
//! Not here: their status and headers (`http::response`).

use std::io;

use async_graphql::{ServerError, Value};
use serde::Serialize;

use crate::budget::{Exceeded, Resource};
use crate::graphql::error::{GraphqlResponse, RequestError};
use crate::http::metrics::exceed;

/// The body of an answer. Without `data` the request was not executed.
#[derive(Serialize)]
struct Answered<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a Value>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    errors: &'a [ServerError],
}

impl<'a> Answered<'a> {
    fn of(answer: &'a GraphqlResponse) -> Self {
        match answer {
            GraphqlResponse::Refused(error) => Self { data: None, errors: &error.errors },
            GraphqlResponse::Executed { data, errors, .. } => Self { data: Some(data), errors },
        }
    }
}

/// The body of a response, for those who send it on in a way of their own.
pub(super) fn answer(answer: &GraphqlResponse) -> String {
    let limit = limit_of(answer);
    within(&Answered::of(answer), limit).unwrap_or_else(|| refused_as_data(&too_large(limit)))
}

/// The body of the response to an operation that was executed.
pub(super) fn executed(data: &Value, errors: &[ServerError], limit: u64) -> String {
    within(&Answered { data: Some(data), errors }, limit)
        .unwrap_or_else(|| refused_as_data(&too_large(limit)))
}

/// The body of the response to a request that was not executed.
pub(super) fn refused(error: &RequestError) -> String {
    print_as_json(&Answered { data: None, errors: &error.errors })
}

/// The body of the response to a batch, which may have as many bytes as that to one operation.
pub(super) fn batch(answers: &[GraphqlResponse]) -> String {
    let limit = answers.iter().map(limit_of).min().unwrap_or(u64::MAX);
    let answered: Vec<Answered> = answers.iter().map(Answered::of).collect();
    within(&answered, limit).unwrap_or_else(|| {
        let error = too_large(limit);
        let each = answers.iter().map(|_| Answered { data: Some(&Value::Null), errors: &error.errors });
        print_as_json(&each.collect::<Vec<_>>())
    })
}

/// The body that stands for one that is too large.
fn refused_as_data(error: &RequestError) -> String {
    print_as_json(&Answered { data: Some(&Value::Null), errors: &error.errors })
}

fn too_large(limit: u64) -> RequestError {
    exceed(Resource::ResponseBytes);
    RequestError::over_budget(&Exceeded { resource: Resource::ResponseBytes, limit })
}

fn limit_of(answer: &GraphqlResponse) -> u64 {
    match answer {
        GraphqlResponse::Refused(_) => u64::MAX,
        GraphqlResponse::Executed { limit, .. } => *limit,
    }
}

/// The JSON of a response; `None` if it has more bytes, of which nothing is printed beyond the limit.
fn within(answered: &impl Serialize, limit: u64) -> Option<String> {
    let left = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut body = Bounded { bytes: Vec::with_capacity(1_024), left };
    serde_json::to_writer(&mut body, answered).ok()?;
    String::from_utf8(body.bytes).ok()
}

/// Takes as many bytes as there is room for.
struct Bounded {
    bytes: Vec<u8>,
    left: usize,
}

impl io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes).map(|()| bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.left = self.left.checked_sub(bytes.len()).ok_or(io::ErrorKind::FileTooLarge)?;
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The errors of a request that was not executed, by themselves.
pub(super) fn errors(error: &RequestError) -> String {
    print_as_json(&error.errors)
}

/// Data and errors are trees of strings and numbers: to write them cannot fail.
fn print_as_json(answered: &impl Serialize) -> String {
    serde_json::to_string(answered).unwrap_or_default()
}
