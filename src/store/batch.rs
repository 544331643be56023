//! Sends batches: many commands in one round trip.
//!
//! All commands go to Redis through this module, which sends independent commands together. On a single
//! server, a batch is one pipeline. On a cluster, a batch would be one pipeline per slot group, sent in
//! parallel. Hence **no command of a batch may depend on another command of the same batch**.

use redis::{Cmd, Pipeline, ServerErrorKind, Value};
use tracing::Instrument as _;

use crate::budget::{self, Resource};
use crate::gate::Moment;
use crate::store::Store;
use crate::store::command::{Body, Command, Decode};
use crate::store::error::Error;
use crate::store::script::Script;

/// A set of commands to send together.
pub struct Batch {
    name: &'static str,
    bodies: Vec<Body>,
    /// Budget cost of the commands.
    weight: u64,
}

/// A claim on one reply of a batch.
#[must_use]
pub struct Ticket<T> {
    index: usize,
    decode: Decode<T>,
}

/// A batch's replies, which the caller claims with the batch's tickets.
pub struct Replies {
    values: Vec<Value>,
}

impl Batch {
    /// Creates an empty batch. The name identifies the operation and its step, for gates, logs and metrics.
    #[must_use]
    pub fn new(name: &'static str) -> Self {
        Self { name, bodies: Vec::new(), weight: 0 }
    }

    /// Returns true if there is nothing to send.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bodies.is_empty()
    }

    /// Adds a command.
    pub fn push<T>(&mut self, command: Command<T>) -> Ticket<T> {
        self.weight += command.weight;
        self.bodies.push(command.body);
        Ticket { index: self.bodies.len() - 1, decode: command.decode }
    }

    /// Sends the commands and waits for all replies. Makes one round trip; none if the batch is empty.
    ///
    /// Fails as a whole only if Redis does not respond or the batch exceeds the budget of the current
    /// operation. A command that Redis rejects fails alone, when the caller claims its reply.
    ///
    /// A batch whose commands exceed the budget is not sent. A batch of more than 4,000 commands is sent in
    /// portions; once its replies exceed the budget, no further portion is sent.
    pub async fn send(self, store: &Store) -> Result<Replies, Error> {
        if self.is_empty() {
            return Ok(Replies { values: Vec::new() });
        }
        budget::spend(Resource::Commands, self.weight)?;
        store.pass(Moment::Before, self.name).await;
        let span = tracing::trace_span!(
            "redis",
            "otel.name" = self.name,
            "otel.kind" = "client",
            "db.system.name" = "redis",
            "db.operation.batch.size" = self.bodies.len(),
        );
        let answered = send(self.name, self.bodies, store).instrument(span).await;
        store.pass(Moment::After, self.name).await;
        answered
    }
}

/// Maximum number of commands sent together. Bounds how long other batches wait.
const PORTION: usize = 4_000;

/// Sends commands in portions.
async fn send(name: &'static str, mut bodies: Vec<Body>, store: &Store) -> Result<Replies, Error> {
    let mut values = Vec::new();
    loop {
        let rest = bodies.split_off(bodies.len().min(PORTION));
        let answered = Packed::of(bodies).send(name, store).await?;
        budget::spend(Resource::ReplyBytes, answered.iter().map(size).sum())?;
        if values.is_empty() {
            values = answered;
        } else {
            values.extend(answered);
        }
        if rest.is_empty() {
            return Ok(Replies { values });
        }
        bodies = rest;
    }
}

/// Returns a reply's size in memory, in bytes.
fn size(value: &Value) -> u64 {
    let held = size_of::<Value>() as u64;
    held + match value {
        Value::BulkString(bytes) => bytes.len() as u64,
        Value::SimpleString(text) => text.len() as u64,
        Value::Array(values) | Value::Set(values) => values.iter().map(size).sum(),
        Value::Map(pairs) => pairs.iter().map(|(key, value)| size(key) + size(value)).sum(),
        _ => 0,
    }
}

/// Position of a command's reply among Redis's replies.
enum Span {
    /// The next single reply.
    One,
    /// The last of N replies: a transaction's reply to EXEC, which follows OK and QUEUED replies.
    Last(usize),
    /// The next N replies, combined.
    Several(usize),
}

/// A batch in wire order.
struct Packed {
    pipeline: Pipeline,
    /// Position of each command's reply.
    spans: Vec<Span>,
    /// Script calls, to be repeated with the source if Redis has not cached the script.
    scripts: Vec<(usize, &'static Script, usize, Cmd)>,
}

impl Packed {
    fn of(bodies: Vec<Body>) -> Self {
        let mut packed = Self {
            pipeline: Pipeline::with_capacity(bodies.len()),
            spans: Vec::with_capacity(bodies.len()),
            scripts: Vec::new(),
        };
        for (index, body) in bodies.into_iter().enumerate() {
            match body {
                Body::Single(cmd) => {
                    packed.pipeline.add_command(cmd);
                    packed.spans.push(Span::One);
                }
                Body::Several(commands) => {
                    packed.spans.push(Span::Several(commands.len()));
                    for command in commands {
                        packed.pipeline.add_command(command);
                    }
                }
                Body::Script { script, keys, arguments } => {
                    packed.pipeline.add_command(script.by_digest(keys, &arguments));
                    packed.scripts.push((index, script, keys, arguments));
                    packed.spans.push(Span::One);
                }
                Body::Transaction(commands) => {
                    packed.spans.push(Span::Last(commands.len() + 2));
                    packed.pipeline.cmd("MULTI");
                    for command in commands {
                        packed.pipeline.add_command(command);
                    }
                    packed.pipeline.cmd("EXEC");
                }
            }
        }
        packed
    }

    async fn send(self, step: &'static str, store: &Store) -> Result<Vec<Value>, Error> {
        let mut values = self.values(store.exchange(step, &self.pipeline).await?)?;
        self.retry_unknown_scripts(step, store, &mut values).await?;
        Ok(values)
    }

    /// Returns each command's reply, in order.
    fn values(&self, answers: Vec<Value>) -> Result<Vec<Value>, Error> {
        let mut answers = answers.into_iter();
        let value = |span: &Span| match span {
            Span::One => answers.next(),
            Span::Last(count) => answers.nth(count - 1),
            Span::Several(count) => Some(Value::Array(answers.by_ref().take(*count).collect())),
        };
        let values: Option<Vec<Value>> = self.spans.iter().map(value).collect();
        values.ok_or_else(|| Error::corrupt("fewer replies than commands"))
    }

    /// Repeats calls that failed because Redis has not cached the script, this time with the source. Redis
    /// loses its script cache when it restarts. The failed calls had no effect.
    async fn retry_unknown_scripts(
        &self,
        step: &'static str,
        store: &Store,
        values: &mut [Value],
    ) -> Result<(), Error> {
        let scripts = self.scripts.iter().filter(|(index, ..)| is_unknown_script(&values[*index]));
        let unknown: Vec<_> = scripts.collect();
        if unknown.is_empty() {
            return Ok(());
        }
        let mut pipeline = Pipeline::with_capacity(unknown.len());
        for (_, script, keys, arguments) in &unknown {
            pipeline.add_command(script.by_source(*keys, arguments));
        }
        let answers = store.exchange(step, &pipeline).await?;
        for ((index, ..), answer) in unknown.into_iter().zip(answers) {
            values[*index] = answer;
        }
        Ok(())
    }
}

fn is_unknown_script(value: &Value) -> bool {
    matches!(value, Value::ServerError(error) if error.kind() == Some(ServerErrorKind::NoScript))
}

impl Replies {
    /// Returns one command's reply. Each ticket can be used once.
    pub fn take<T>(&mut self, ticket: Ticket<T>) -> Result<T, Error> {
        let value = self.values.get_mut(ticket.index).map(std::mem::take);
        (ticket.decode)(value.ok_or_else(|| Error::corrupt("the ticket belongs to another batch"))?)
    }

    /// Returns the replies to several commands of one type, in order.
    pub fn take_all<T>(&mut self, tickets: Vec<Ticket<T>>) -> Result<Vec<T>, Error> {
        tickets.into_iter().map(|ticket| self.take(ticket)).collect()
    }
}

impl<T> Command<T> {
    /// Sends this command alone.
    pub async fn send(self, name: &'static str, store: &Store) -> Result<T, Error> {
        let mut batch = Batch::new(name);
        let ticket = batch.push(self);
        batch.send(store).await?.take(ticket)
    }
}
