//! Builds commands: Redis queries and updates on keys of one tag, typed by their replies.
//!
//! Not here: each domain's commands (`store::user` and its siblings), sending them (`store::batch`).

use redis::{FromRedisValue, RedisWrite as _, ToRedisArgs, Value};

use crate::budget::{self, Resource};
use crate::driver::encode::{Arguments, Pipeline};
use crate::driver::reply::{Answer, Reply};
use crate::store::error::Error;
use crate::store::key::{Key, Keys, Tag};
use crate::store::script::Script;

/// A command, script or transaction to send in a [`Batch`](crate::store::batch::Batch), with a decoder that
/// turns the reply into a `T`.
///
/// Every command is safe to repeat: the pool may send it twice, because a connection may break after Redis
/// has executed it.
#[must_use = "a command does nothing until it is sent"]
pub struct Command<T> {
    pub(super) body: Body,
    pub(super) decode: Decode<T>,
    /// Budget cost: the number of simple commands that keep Redis equally busy.
    pub(super) weight: u64,
}

pub(super) type Decode<T> = Box<dyn FnOnce(&Answer) -> Result<T, Error> + Send>;

/// Base budget cost of a script, which runs a few commands itself. Excludes the cost of the set or list
/// members that the script reads.
const SCRIPT_WEIGHT: u64 = 3;
/// Number of members that Redis reads in the time of one simple command: about two microseconds.
pub(super) const MEMBERS_PER_COMMAND: u64 = 5;
/// Number of sorted-set members that Redis looks up in the time of one simple command.
const PROBES_PER_COMMAND: u64 = 3;
/// Number of users whom Redis does not find in a sorted set in that time: there is no score to print.
const MISSES_PER_COMMAND: u64 = 16;

pub(super) enum Body {
    /// One command.
    Single(Pipeline),
    /// Commands of one tag, whose replies form a list.
    Several(Pipeline),
    /// Commands of any tags, whose replies form a list.
    Each(Pipeline),
    /// Commands between MULTI and EXEC, inclusive. Only the reply to EXEC matters.
    Transaction(Pipeline),
    Script {
        script: &'static Script,
        slot: Option<u16>,
        keys: usize,
        arguments: Arguments,
        divided: Divided,
    },
}

/// What becomes of a script while its keys are divided between two masters of a cluster, because their slot is moving.
pub(super) enum Divided {
    /// The script is retried, and fails after a while.
    Waits,
    /// The script fails at once, without an effect, and its caller sends other commands.
    Fails,
    /// Commands for single keys are sent instead. They are built only then.
    ReadsApart(Box<dyn FnOnce() -> Pipeline + Send + Sync>),
}

impl<T: 'static> Command<T> {
    /// Makes a script fail at once with [`Error::is_divided`], without an effect, if its keys are divided between two
    /// masters. Its caller then sends other commands.
    pub(super) fn failing_if_divided(mut self) -> Self {
        if let Body::Script { divided, .. } = &mut self.body {
            *divided = Divided::Fails;
        }
        self
    }

    /// Adds to a script that only reads the commands that read its keys one by one, which the next round trip sends
    /// instead if the keys are divided between two masters. `join` computes the result from their replies.
    ///
    /// The commands are executed in this order, but not atomically: the data may change in between. So `build` must
    /// choose an order in which whatever moves from one key to another is found in at least one of them.
    pub(super) fn or_apart<Parts: FromRedisValue>(
        self,
        keys: &Keys,
        build: impl FnOnce(&Keys) -> Vec<Builder> + Send + Sync + 'static,
        join: impl FnOnce(Parts) -> Result<T, Error> + Send + 'static,
    ) -> Self {
        let Self { mut body, decode, weight } = self;
        let Body::Script { divided, .. } = &mut body else { return Self { body, decode, weight } };
        if !keys.is_sharded() {
            // On a single server, no slots move.
            return Self { body, decode, weight };
        }
        let keys = keys.clone();
        *divided = Divided::ReadsApart(Box::new(move || of_one_tag(&build(&keys)).unite()));
        let decode =
            move |answer: &Answer| if answer.is_list() { join(read(answer)?) } else { decode(answer) };
        Self { body, decode: Box::new(decode), weight }
    }
}

impl<T> Command<T> {
    /// Applies `turn` to the decoded reply.
    pub fn map<U>(self, turn: impl FnOnce(T) -> Result<U, Error> + Send + 'static) -> Command<U>
    where
        T: 'static,
    {
        let Self { body, decode, weight } = self;
        Command { body, decode: Box::new(move |answer| turn(decode(answer)?)), weight }
    }

    /// Allows replies that lag behind the last writes, so that replicas may execute the command
    /// (`Batch::allow_replicas`). A reply without data is read again from the master. Scripts always run on masters.
    pub(super) fn may_lag(mut self) -> Self {
        if let Body::Single(pipeline) | Body::Each(pipeline) = &mut self.body {
            pipeline.let_lag();
        }
        self
    }

    /// Makes a command cost as much as one simple command, whatever it finds: what an operation costs must not tell of
    /// what its viewer may not see. The caller must bound what the command reads.
    pub(super) fn uncharged(self) -> Self
    where
        T: 'static,
    {
        let Self { body, decode, .. } = self;
        let decode = move |answer: &Answer| {
            budget::refund(Resource::ReplyBytes, answer.size());
            decode(answer)
        };
        Self { body, decode: Box::new(decode), weight: 1 }
    }

    /// Adds the budget cost of reading `members` members of a set or list.
    pub(super) fn walking(self, members: usize) -> Self {
        Self { weight: self.weight + members as u64 / MEMBERS_PER_COMMAND, ..self }
    }

    /// Adds the budget cost of looking up `members` members in a sorted set.
    pub(super) fn probing(self, members: usize) -> Self {
        Self { weight: self.weight + members as u64 / PROBES_PER_COMMAND, ..self }
    }

    /// Adds the budget cost of looking up `members` members in a sorted set that contains few of them.
    pub(super) fn missing(self, members: usize) -> Self {
        Self { weight: self.weight + members as u64 / MISSES_PER_COMMAND, ..self }
    }
}

impl<T: FromRedisValue + 'static> Command<T> {
    /// Replaces the decoder by a function that reads the reply where it is. A reply that the function does not
    /// expect is decoded as before, so that errors stay the same.
    pub(super) fn read_by(self, read: impl Fn(&Answer) -> Option<T> + Send + 'static) -> Self {
        let Self { body, decode, weight } = self;
        let decode = move |answer: &Answer| read(answer).map_or_else(|| decode(answer), Ok);
        Self { body, decode: Box::new(decode), weight }
    }
}

/// A builder of one command. Ensures that all keys have the same tag.
pub(super) struct Builder {
    arguments: Arguments,
    keys: usize,
    tag: Option<Tag>,
    /// The slot of the keys; `None` on a single server.
    slot: Option<u16>,
    script: Option<&'static Script>,
}

/// Starts building a command.
pub(super) fn command(name: &str) -> Builder {
    Builder::begin(name, Arguments::default())
}

/// Starts building a script call: keys first, then arguments. In tests, there must be as many keys as the script's
/// header lists.
pub(super) fn call(script: &'static Script) -> Builder {
    Builder { arguments: Arguments::default(), keys: 0, tag: None, slot: None, script: Some(script) }
}

impl Builder {
    /// Starts building a command in the memory of another command's arguments.
    fn begin(name: &str, mut arguments: Arguments) -> Self {
        arguments.clear();
        arguments.write_arg(name.as_bytes());
        Self { arguments, keys: 0, tag: None, slot: None, script: None }
    }

    /// Adds a key.
    ///
    /// # Panics
    /// If the key has a different tag from the keys before it: such a command cannot run in a cluster.
    pub(super) fn key<Kind>(mut self, key: &Key<Kind>) -> Self {
        match self.tag {
            None => (self.tag, self.slot) = (Some(key.tag()), key.slot()),
            Some(tag) => assert_eq!(tag, key.tag(), "a command touches keys of one tag"),
        }
        self.keys += 1;
        self.arg(key)
    }

    pub(super) fn arg(mut self, argument: impl ToRedisArgs) -> Self {
        argument.write_redis_args(&mut self.arguments);
        self
    }

    pub(super) fn args(self, arguments: impl IntoIterator<Item = impl ToRedisArgs>) -> Self {
        arguments.into_iter().fold(self, Self::arg)
    }

    /// Finishes the command, with a decoder that reads the reply as a `T`.
    pub(super) fn reply<T: FromRedisValue + 'static>(self) -> Command<T> {
        let (body, weight) = match self.script {
            Some(script) => {
                let Self { arguments, keys, slot, .. } = self;
                debug_assert!(script.takes(keys), "{}: not called with {keys} keys", script.purpose());
                (Body::Script { script, slot, keys, arguments, divided: Divided::Waits }, SCRIPT_WEIGHT)
            }
            None => (Body::Single(Pipeline::of(&self.arguments, self.slot)), 1),
        };
        Command { body, decode: Box::new(read), weight }
    }
}

/// Combines commands of one tag into a transaction. The reply is the list of the commands' replies.
pub(super) fn transaction<T: FromRedisValue + 'static>(commands: &[Builder]) -> Command<T> {
    let weight = commands.len() as u64;
    let mut pipeline = Pipeline::default();
    pipeline.push_name("MULTI");
    pipeline.append(&mut of_one_tag(commands));
    pipeline.push_name("EXEC");
    Command { body: Body::Transaction(pipeline.unite()), decode: Box::new(read), weight }
}

/// Combines commands of one tag, sent together but not atomically. The reply is the list of the commands'
/// replies. When its memory is full, Redis rejects every transaction, even a read-only transaction, but still
/// accepts read-only commands combined this way.
pub(super) fn several<T: FromRedisValue + 'static>(commands: &[Builder]) -> Command<T> {
    let weight = commands.len() as u64;
    Command { body: Body::Several(of_one_tag(commands).unite()), decode: Box::new(read), weight }
}

/// Returns the commands, after checking that their keys all have the same tag.
///
/// # Panics
/// If the keys have different tags.
fn of_one_tag(commands: &[Builder]) -> Pipeline {
    let mut tags = commands.iter().filter_map(|command| command.tag);
    let first = tags.next();
    assert!(tags.all(|tag| Some(tag) == first), "commands sent together touch keys of one tag");
    pipeline(commands)
}

/// Encodes commands in this order.
pub(super) fn pipeline(commands: &[Builder]) -> Pipeline {
    let mut pipeline = Pipeline::default();
    for command in commands {
        pipeline.push(&command.arguments, command.slot);
    }
    pipeline
}

/// Combines simple commands with this name and of any tags, one for each item. `read` reads an item's reply where it
/// is. A reply that is an error fails alone.
pub(super) fn each<I: Send + 'static, T: 'static>(
    name: &str,
    items: Vec<I>,
    build: impl Fn(Builder, &I) -> Builder,
    read: impl Fn(&I, Reply<'_>) -> Result<T, Error> + Send + 'static,
) -> Command<Vec<(I, Result<T, Error>)>> {
    let (mut pipeline, mut arguments) = (Pipeline::default(), Arguments::default());
    for (index, item) in items.iter().enumerate() {
        let slot;
        Builder { arguments, slot, .. } = build(Builder::begin(name, arguments), item);
        pipeline.push(&arguments, slot);
        if index == 0 {
            pipeline.reserve(items.len());
        }
    }
    let weight = items.len() as u64;
    let decode = move |answer: &Answer| {
        let read = |(item, reply): (I, Reply<'_>)| {
            let result = reply.check().map_err(Error::from).and_then(|()| read(&item, reply));
            (item, result)
        };
        let replies = answer.replies();
        if replies.len() != items.len() {
            return Err(Error::corrupt("another number of replies than of commands"));
        }
        Ok(items.into_iter().zip(replies).map(read).collect())
    };
    Command { body: Body::Each(pipeline), decode: Box::new(decode), weight }
}

fn read<T: FromRedisValue>(answer: &Answer) -> Result<T, Error> {
    let value = answer.value()?;
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
