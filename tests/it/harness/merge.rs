//! One reply from those of all masters of a cluster.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use redis::Value;

/// Merges the replies of all masters to the same command: adds up numbers, also those in lists and in the lines of
/// `INFO`, and concatenates other lists. Of other replies, it returns the first.
pub(crate) fn merge(replies: Vec<Value>) -> Value {
    replies.into_iter().reduce(merge_two).expect("a cluster has masters")
}

fn merge_two(one: Value, other: Value) -> Value {
    match (one, other) {
        (Value::Int(one), Value::Int(other)) => Value::Int(one + other),
        (Value::Array(one), Value::Array(other)) if !one.is_empty() && one.iter().all(is_number) => {
            Value::Array(one.into_iter().zip(other).map(|(one, other)| merge_two(one, other)).collect())
        }
        (Value::Array(one), Value::Array(other)) => Value::Array(one.into_iter().chain(other).collect()),
        (Value::BulkString(one), Value::BulkString(other)) => Value::BulkString(merge_info(&one, &other)),
        (one, _) => one,
    }
}

fn is_number(value: &Value) -> bool {
    matches!(value, Value::Int(_))
}

/// Merges the lines `name:value` of two texts.
fn merge_info(one: &[u8], other: &[u8]) -> Vec<u8> {
    let mut lines: BTreeMap<&str, String> = BTreeMap::new();
    let texts = [one, other].map(|text| std::str::from_utf8(text).unwrap());
    for (name, value) in texts.iter().flat_map(|text| text.lines()).filter_map(|line| line.split_once(':')) {
        lines.entry(name).and_modify(|sum| *sum = add(sum, value)).or_insert_with(|| value.to_owned());
    }
    let mut text = String::new();
    for (name, value) in lines {
        write!(text, "{name}:{value}\r\n").unwrap();
    }
    text.into_bytes()
}

/// Adds up two numbers, or the numbers of two lists such as `calls=1,usec=2`. Of other values, returns the first.
fn add(one: &str, other: &str) -> String {
    if let (Ok(one), Ok(other)) = (one.parse::<u64>(), other.parse::<u64>()) {
        return (one + other).to_string();
    }
    if !one.contains('=') {
        return one.to_owned();
    }
    let other: BTreeMap<&str, &str> = other.split(',').filter_map(|part| part.split_once('=')).collect();
    let sums = one.split(',').filter_map(|part| part.split_once('=')).map(|(name, value)| {
        let sum = other.get(name).map_or_else(|| value.to_owned(), |more| add(value, more));
        format!("{name}={sum}")
    });
    sums.collect::<Vec<_>>().join(",")
}
