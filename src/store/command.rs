//! A query or update of Redis, typed by its reply, on keys of one tag.
//!
//! Not here: the commands of each domain (`store::user` and its siblings), or how they are sent
//! (`store::batch`).

use redis::{Cmd, FromRedisValue, ToRedisArgs, Value};

use crate::store::error::Error;
use crate::store::key::{Key, Tag};
use crate::store::script::Script;

/// A command, script or transaction to send in a [`Batch`](crate::store::batch::Batch), with a decoder of its
/// reply into a `T`.
///
/// Every command may be sent twice, because a connection may break after Redis has executed it. So each is
/// written to be safe to repeat.
#[must_use = "a command does nothing until it is sent"]
pub struct Command<T> {
    pub(super) body: Body,
    pub(super) decode: Decode<T>,
    /// The cost in a budget: the number of simple commands that keep Redis equally busy.
    pub(super) weight: u64,
}

pub(super) type Decode<T> = Box<dyn FnOnce(Value) -> Result<T, Error> + Send>;

/// The base cost of a script in a budget, excluding the members it walks: it runs a few commands itself.
const SCRIPT_WEIGHT: u64 = 3;
/// Members that Redis walks in the time of one simple command, about two microseconds.
const MEMBERS_PER_COMMAND: u64 = 5;
/// Members that Redis looks up in a sorted set in the same time.
const PROBES_PER_COMMAND: u64 = 3;

pub(super) enum Body {
    Single(Cmd),
    Script { script: &'static Script, keys: usize, arguments: Cmd },
    Several(Vec<Cmd>),
    Transaction(Vec<Cmd>),
}

impl<T> Command<T> {
    /// Maps the reply.
    pub fn map<U>(self, turn: impl FnOnce(T) -> Result<U, Error> + Send + 'static) -> Command<U>
    where
        T: 'static,
    {
        let Self { body, decode, weight } = self;
        Command { body, decode: Box::new(move |value| turn(decode(value)?)), weight }
    }

    /// Adds the cost of walking this many members of a set or list.
    pub(super) fn walking(self, members: usize) -> Self {
        Self { weight: self.weight + members as u64 / MEMBERS_PER_COMMAND, ..self }
    }

    /// Adds the cost of looking up this many members in a sorted set.
    pub(super) fn probing(self, members: usize) -> Self {
        Self { weight: self.weight + members as u64 / PROBES_PER_COMMAND, ..self }
    }
}

/// Builds one command and ensures that its keys have one tag.
pub(super) struct Builder {
    cmd: Cmd,
    keys: usize,
    tag: Option<Tag>,
    script: Option<&'static Script>,
}

/// Starts building a command.
pub(super) fn command(name: &str) -> Builder {
    Builder { cmd: redis::cmd(name), keys: 0, tag: None, script: None }
}

/// Starts building a script call: keys first, then arguments.
pub(super) fn call(script: &'static Script) -> Builder {
    Builder { cmd: Cmd::new(), keys: 0, tag: None, script: Some(script) }
}

impl Builder {
    /// # Panics
    /// If the key has a different tag from the keys before it: such a command cannot run in a cluster.
    pub(super) fn key<Kind>(mut self, key: &Key<Kind>) -> Self {
        assert_eq!(*self.tag.get_or_insert(key.tag()), key.tag(), "a command touches keys of one tag");
        self.cmd.arg(key);
        self.keys += 1;
        self
    }

    pub(super) fn arg(mut self, argument: impl ToRedisArgs) -> Self {
        self.cmd.arg(argument);
        self
    }

    pub(super) fn args(mut self, arguments: impl IntoIterator<Item = impl ToRedisArgs>) -> Self {
        for argument in arguments {
            self.cmd.arg(argument);
        }
        self
    }

    /// Finishes the command, with its reply read as a `T`.
    pub(super) fn reply<T: FromRedisValue + 'static>(self) -> Command<T> {
        let (body, weight) = match self.script {
            Some(script) => (Body::Script { script, keys: self.keys, arguments: self.cmd }, SCRIPT_WEIGHT),
            None => (Body::Single(self.cmd), 1),
        };
        Command { body, decode: Box::new(read), weight }
    }
}

/// Combines commands of one tag into a transaction; the reply is the list of their replies.
pub(super) fn transaction<T: FromRedisValue + 'static>(commands: Vec<Builder>) -> Command<T> {
    let weight = commands.len() as u64;
    Command { body: Body::Transaction(of_one_tag(commands)), decode: Box::new(read), weight }
}

/// Combines commands of one tag that are sent together but not atomically; the reply is the list of their
/// replies. A Redis that is full rejects every transaction, even a read-only one, but not these.
pub(super) fn several<T: FromRedisValue + 'static>(commands: Vec<Builder>) -> Command<T> {
    let weight = commands.len() as u64;
    Command { body: Body::Several(of_one_tag(commands)), decode: Box::new(read), weight }
}

/// # Panics
/// If the commands have more than one tag.
fn of_one_tag(commands: Vec<Builder>) -> Vec<Cmd> {
    let mut tags = commands.iter().filter_map(|command| command.tag);
    let first = tags.next();
    assert!(tags.all(|tag| Some(tag) == first), "commands sent together touch keys of one tag");
    commands.into_iter().map(|command| command.cmd).collect()
}

fn read<T: FromRedisValue>(value: Value) -> Result<T, Error> {
    let failed = match &value {
        Value::ServerError(error) => Some(error),
        Value::Array(values) => values.iter().find_map(|value| match value {
            Value::ServerError(error) => Some(error),
            _ => None,
        }),
        _ => None,
    };
    match failed {
        Some(error) => Err(redis::RedisError::from(error.clone()).into()),
        None => Ok(T::from_redis_value(value)?),
    }
}
