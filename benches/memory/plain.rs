//! Plain layouts of data, written into the bench's own Redis beside the product's, under a prefix of their own.

use redis::{Cmd, Connection, Pipeline, ToRedisArgs, cmd};

/// Prefix of the plain keys.
const PREFIX: &str = "plain";
/// Keys written in one pipeline, and members added by one command.
const BATCH_SIZE: usize = 1_000;
/// Number of elements that Redis samples in a key that is not packed, as in the product.
const SAMPLES: usize = 50;

/// A key in a plain layout.
pub(crate) struct Plain {
    name: String,
    value: Value,
}

enum Value {
    Text(String),
    /// Members with their scores.
    SortedSet(Vec<(String, i64)>),
    Set(Vec<u64>),
    /// Estimates the number of distinct members, but does not list them.
    HyperLogLog(Vec<u64>),
}

impl Plain {
    pub(crate) fn text(name: &str, text: String) -> Self {
        Self::new(name, Value::Text(text))
    }

    /// Returns a sorted set, unless it is empty: Redis stores no empty keys.
    pub(crate) fn sorted_set(name: &str, members: Vec<(String, i64)>) -> Option<Self> {
        (!members.is_empty()).then(|| Self::new(name, Value::SortedSet(members)))
    }

    pub(crate) fn set(name: &str, members: Vec<u64>) -> Self {
        Self::new(name, Value::Set(members))
    }

    pub(crate) fn hyper_log_log(name: &str, members: Vec<u64>) -> Self {
        Self::new(name, Value::HyperLogLog(members))
    }

    fn new(name: &str, value: Value) -> Self {
        Self { name: format!("{PREFIX}:{name}"), value }
    }

    /// Returns the commands that write this key.
    fn write(&self) -> Vec<Cmd> {
        match &self.value {
            Value::Text(text) => vec![self.command("SET", text)],
            Value::SortedSet(members) => {
                let pairs = |members: &[(String, i64)]| -> Vec<(i64, String)> {
                    members.iter().map(|(member, score)| (*score, member.clone())).collect()
                };
                members.chunks(BATCH_SIZE).map(|members| self.command("ZADD", pairs(members))).collect()
            }
            Value::Set(ids) => ids.chunks(BATCH_SIZE).map(|ids| self.command("SADD", ids)).collect(),
            Value::HyperLogLog(ids) => ids.chunks(BATCH_SIZE).map(|ids| self.command("PFADD", ids)).collect(),
        }
    }

    fn command(&self, name: &str, arguments: impl ToRedisArgs) -> Cmd {
        let mut command = cmd(name);
        command.arg(&self.name).arg(arguments);
        command
    }
}

/// Writes these keys, and returns their total size in bytes.
pub(crate) fn write(connection: &mut Connection, plains: &[Plain]) -> u64 {
    plains.chunks(BATCH_SIZE).map(|plains| write_batch(connection, plains)).sum()
}

fn write_batch(connection: &mut Connection, plains: &[Plain]) -> u64 {
    let mut writes = Pipeline::new();
    for write in plains.iter().flat_map(Plain::write) {
        writes.add_command(write).ignore();
    }
    writes.query::<()>(connection).unwrap();
    let mut usages = Pipeline::new();
    for plain in plains {
        usages.cmd("MEMORY").arg("USAGE").arg(&plain.name).arg("SAMPLES").arg(SAMPLES);
    }
    usages.query::<Vec<u64>>(connection).unwrap().into_iter().sum()
}
