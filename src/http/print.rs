//! Serializes responses as JSON of limited size: bodies, and the messages of event streams and WebSockets.
//!
//! Not here: executed batches (`http::executed`); status and headers (`http::response`).

use std::io;

use async_graphql::{Response, ServerError, Value};
use serde::Serialize;

use crate::budget::{Exceeded, Resource};
use crate::graphql::error::{GraphqlResponse, RequestError};
use crate::graphql::json::{AsJson, raw_text};
use crate::metric;

/// A response body. It has no `data` if the request was not executed.
#[derive(Serialize)]
struct ResponseBody<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<AsJson<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    errors: &'a [ServerError],
}

impl<'a> ResponseBody<'a> {
    fn of(answer: &'a GraphqlResponse) -> Self {
        match answer {
            GraphqlResponse::Rejected(error) => Self { data: None, errors: &error.errors },
            GraphqlResponse::Executed { data, errors, .. } => Self { data: Some(AsJson(data)), errors },
        }
    }
}

/// Serializes a response between a protocol's prefix and suffix.
pub(super) fn between(before: &str, answer: &GraphqlResponse, after: &str) -> String {
    let limit = limit_of(answer);
    let size = match answer {
        GraphqlResponse::Executed { data, .. } => before.len() + ROOM + upper_bound(data, 1),
        GraphqlResponse::Rejected(_) => 0,
    };
    let mut text = within(before, &ResponseBody::of(answer), limit, size)
        .unwrap_or_else(|| format!("{before}{}", null_with_error(&too_large(limit))));
    text.push_str(after);
    text
}

/// Serializes the response body for a request that was not executed.
pub(super) fn rejected(error: &RequestError) -> String {
    print_as_json(&ResponseBody { data: None, errors: &error.errors })
}

/// Serializes the response body for a batch that was executed only in part. The body has the same size limit as the
/// response to one operation.
pub(super) fn batch(answers: &[GraphqlResponse]) -> String {
    let limit = limit_of_batch(answers);
    let answered: Vec<ResponseBody> = answers.iter().map(ResponseBody::of).collect();
    within("", &answered, limit, 0).unwrap_or_else(|| {
        let error = too_large(limit);
        let each =
            answers.iter().map(|_| ResponseBody { data: Some(AsJson(&Value::Null)), errors: &error.errors });
        print_as_json(&each.collect::<Vec<_>>())
    })
}

/// Serializes the body that replaces a body beyond the limit.
fn null_with_error(error: &RequestError) -> String {
    print_as_json(&ResponseBody { data: Some(AsJson(&Value::Null)), errors: &error.errors })
}

/// Returns the error that replaces a response beyond the limit, and counts the event in the metrics.
pub(super) fn too_large(limit: u64) -> RequestError {
    metric::operations_over_budget_total(Resource::ResponseBytes.as_str()).increment(1);
    RequestError::over_budget(&Exceeded { resource: Resource::ResponseBytes, limit })
}

fn limit_of(answer: &GraphqlResponse) -> u64 {
    match answer {
        GraphqlResponse::Rejected(_) => u64::MAX,
        GraphqlResponse::Executed { limit, .. } => *limit,
    }
}

/// Returns the limit on the total size of a batch's responses: the lowest of their limits.
pub(super) fn limit_of_batch(answers: &[GraphqlResponse]) -> u64 {
    answers.iter().map(limit_of).min().unwrap_or(u64::MAX)
}

/// Returns true if the body of these responses has at most `limit` bytes as JSON. Counts the bytes only if an upper
/// bound exceeds the limit.
pub(super) fn is_within(body: &impl Serialize, executed: &[Response], limit: u64) -> bool {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let has_errors = executed.iter().any(|response| !response.errors.is_empty());
    let bound = || executed.iter().map(|response| ROOM + upper_bound(&response.data, ESCAPED)).sum::<usize>();
    (!has_errors && bound() <= limit) || count(body, limit).is_some()
}

/// Bytes around the data of a response, and the data of the next one.
const ROOM: usize = 16;

/// Maximum bytes of a character as JSON, for each byte of UTF-8: a control character becomes `\u0000`.
const ESCAPED: usize = 6;

/// Returns an upper bound of the number of bytes of a value as JSON, if each byte of its strings takes at most
/// `escaped` bytes.
fn upper_bound(value: &Value, escaped: usize) -> usize {
    /// Maximum bytes of a number.
    const NUMBER: usize = 32;
    match value {
        Value::Null => 4,
        Value::Boolean(_) => 5,
        Value::Number(_) => NUMBER,
        Value::String(text) => 2 + escaped * text.len(),
        Value::Enum(name) => 2 + name.len(),
        Value::Binary(bytes) => 2 + 4 * bytes.len(),
        Value::List(values) => 2 + values.iter().map(|value| 1 + upper_bound(value, escaped)).sum::<usize>(),
        Value::Object(fields) => raw_text(value).map_or_else(
            || {
                2 + fields
                    .iter()
                    .map(|(name, value)| 4 + name.len() + upper_bound(value, escaped))
                    .sum::<usize>()
            },
            str::len,
        ),
    }
}

/// Minimum capacity of the buffer for a response, in bytes.
const LEAST: usize = 1_024;
/// Size up to which a response is serialized without being measured first, in bytes.
const SMALL: usize = 256 << 10;

/// Returns a prefix followed by a response as JSON; `None` if the JSON exceeds the limit. Stops writing at the limit.
/// `expected` is the approximate number of bytes.
fn within(before: &str, answered: &impl Serialize, limit: u64, expected: usize) -> Option<String> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let small = Vec::with_capacity(expected.clamp(LEAST, SMALL));
    let bytes = match print(before, answered, small, limit.min(SMALL)) {
        None if limit > SMALL => {
            // Growing a buffer to its final size would take several times the memory.
            let bytes = count(answered, limit)?;
            print(before, answered, Vec::with_capacity(before.len() + bytes + ROOM_BEHIND), limit)?
        }
        printed => printed?,
    };
    String::from_utf8(bytes).ok()
}

/// Returns the size of a response as JSON, in bytes; `None` if the size exceeds the limit.
fn count(answered: &impl Serialize, limit: usize) -> Option<usize> {
    let mut size = Size { bytes: 0, limit };
    serde_json::to_writer(&mut size, answered).ok()?;
    Some(size.bytes)
}

/// Spare capacity in bytes, for the suffix that a protocol appends.
const ROOM_BEHIND: usize = 16;

fn print(before: &str, answered: &impl Serialize, mut bytes: Vec<u8>, limit: usize) -> Option<Vec<u8>> {
    bytes.extend_from_slice(before.as_bytes());
    let mut bounded = Bounded { bytes, left: limit };
    serde_json::to_writer(&mut bounded, answered).ok()?;
    Some(bounded.bytes)
}

/// An in-memory writer that fails beyond a limit.
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

/// A writer that only counts bytes, and fails beyond a limit.
struct Size {
    bytes: usize,
    limit: usize,
}

impl io::Write for Size {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes += bytes.len();
        if self.bytes > self.limit { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(bytes.len()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Serializes the errors of a request that was not executed, as a bare JSON array.
pub(super) fn errors(error: &RequestError) -> String {
    print_as_json(&error.errors)
}

/// Serializes data and errors as JSON. This cannot fail, since both are trees of plain values.
fn print_as_json(answered: &impl Serialize) -> String {
    serde_json::to_string(answered).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_upper_bound_is_not_below_the_size() {
        let texts = ["", "plain", "\"\\\n\u{0}\u{1f}", "ä😀\u{2028}"];
        let mut values: Vec<Value> = texts.iter().map(|text| Value::from(*text)).collect();
        values.extend([
            Value::Null,
            Value::from(true),
            Value::from(i64::MIN),
            Value::from(f64::MIN_POSITIVE),
        ]);
        values.push(Value::from(u64::MAX));
        values.push(Value::Binary(vec![255; 9].into()));
        values.push(Value::List(values.clone()));
        let name = async_graphql::Name::new("someField");
        values.push(Value::Object([(name, values.last().unwrap().clone())].into_iter().collect()));
        values.push(Value::List(Vec::new()));
        for value in values {
            let size = serde_json::to_string(&value).unwrap().len();
            assert!(upper_bound(&value, ESCAPED) >= size, "{value:?}");
            let response = [Response::new(value)];
            let size = count(&response[0], usize::MAX).unwrap() as u64;
            assert!(
                is_within(&response[0], &response, size) && !is_within(&response[0], &response, size - 1)
            );
        }
    }
}
