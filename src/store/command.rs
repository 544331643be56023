//! One question to Redis or one change, typed by its answer, on keys of one tag.
//!
//! Not here: which commands an area needs (`store::user` and its neighbours), or how they are sent
//! (`store::batch`).

use redis::{Cmd, FromRedisValue, ToRedisArgs, Value};

use crate::store::error::Error;
use crate::store::key::{Key, Tag};
use crate::store::script::Script;

/// What a [`Batch`](crate::store::batch::Batch) sends: a command, a script or a transaction, with
/// the way to read its reply as a `T`.
///
/// Every command may be sent twice (a connection may break after Redis has done its work), so each
/// is written to do no harm when repeated.
#[must_use = "a command does nothing until it is sent"]
pub struct Command<T> {
    pub(super) body: Body,
    pub(super) decode: Decode<T>,
    /// What it counts as in a budget: the number of simple commands that keep Redis as busy.
    pub(super) weight: u64,
}

pub(super) type Decode<T> = Box<dyn FnOnce(Value) -> Result<T, Error> + Send>;

/// What a script counts as in a budget, beside the members it walks: it sends a few commands itself.
const SCRIPT_WEIGHT: u64 = 3;
/// Members that Redis walks in the time of one simple command, some two microseconds.
const MEMBERS_PER_COMMAND: u64 = 5;
/// Members that Redis looks up in a sorted set in that time.
const PROBES_PER_COMMAND: u64 = 3;

pub(super) enum Body {
    Single(Cmd),
    Script { script: &'static Script, keys: usize, arguments: Cmd },
    Several(Vec<Cmd>),
    Transaction(Vec<Cmd>),
}

impl<T> Command<T> {
    /// The same command, its answer turned into something else.
    pub fn map<U>(self, turn: impl FnOnce(T) -> Result<U, Error> + Send + 'static) -> Command<U>
    where
        T: 'static,
    {
        let Self { body, decode, weight } = self;
        Command { body, decode: Box::new(move |value| turn(decode(value)?)), weight }
    }

    /// The same command, which also walks this many members of a set or list.
    pub(super) fn walking(self, members: usize) -> Self {
        Self { weight: self.weight + members as u64 / MEMBERS_PER_COMMAND, ..self }
    }

    /// The same command, which also looks this many members up in a sorted set.
    pub(super) fn probing(self, members: usize) -> Self {
        Self { weight: self.weight + members as u64 / PROBES_PER_COMMAND, ..self }
    }
}

/// Puts the arguments of one command together and sees to it that its keys have one tag.
pub(super) struct Builder {
    cmd: Cmd,
    keys: usize,
    tag: Option<Tag>,
    script: Option<&'static Script>,
}

/// Begins a command.
pub(super) fn command(name: &str) -> Builder {
    Builder { cmd: redis::cmd(name), keys: 0, tag: None, script: None }
}

/// Begins a call of a script: its keys go first, then its arguments.
pub(super) fn call(script: &'static Script) -> Builder {
    Builder { cmd: Cmd::new(), keys: 0, tag: None, script: Some(script) }
}

impl Builder {
    /// # Panics
    /// If the key has another tag than the keys before it: such a command cannot run in a cluster.
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

    /// The finished command, its reply read as a `T`.
    pub(super) fn reply<T: FromRedisValue + 'static>(self) -> Command<T> {
        let (body, weight) = match self.script {
            Some(script) => (Body::Script { script, keys: self.keys, arguments: self.cmd }, SCRIPT_WEIGHT),
            None => (Body::Single(self.cmd), 1),
        };
        Command { body, decode: Box::new(read), weight }
    }
}

/// Commands of one tag that happen at once; the answer is the list of theirs.
pub(super) fn transaction<T: FromRedisValue + 'static>(commands: Vec<Builder>) -> Command<T> {
    let weight = commands.len() as u64;
    Command { body: Body::Transaction(of_one_tag(commands)), decode: Box::new(read), weight }
}

/// Commands of one tag that are asked for together, but need not happen at once; the answer is the
/// list of theirs. A Redis that is full refuses every transaction, even one that only reads.
pub(super) fn several<T: FromRedisValue + 'static>(commands: Vec<Builder>) -> Command<T> {
    let weight = commands.len() as u64;
    Command { body: Body::Several(of_one_tag(commands)), decode: Box::new(read), weight }
}

/// # Panics
/// If the commands have more than one tag.
fn of_one_tag(commands: Vec<Builder>) -> Vec<Cmd> {
    let mut tags = commands.iter().filter_map(|command| command.tag);
    let first = tags.next();
    assert!(tags.all(|tag| Some(tag) == first), "what is asked together touches keys of one tag");
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
