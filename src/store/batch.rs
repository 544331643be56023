//! Sends batches: many commands in one round trip.
//!
//! All commands go to Redis through this module, which sends independent commands together. On a single
//! server, a batch is one pipeline. On a cluster, a batch is one pipeline per master, sent in parallel
//! (`driver::distribution`). Hence **no command of a batch may depend on another command of the same batch**.

use tracing::Instrument as _;

use crate::budget::{self, Resource};
use crate::driver::encode::{Arguments, Masters, Pipeline};
use crate::driver::reply::{self, Answer};
use crate::gate::Moment;
use crate::model::id::UserId;
use crate::store::Store;
use crate::store::command::{Body, Command, Decode, Divided, MEMBERS_PER_COMMAND};
use crate::store::error::Error;
use crate::store::key::Tag;

/// A set of commands to send together.
pub struct Batch {
    name: &'static str,
    bodies: Vec<Body>,
    /// Budget cost of the commands.
    weight: u64,
    masters: Masters,
}

/// A claim on one reply of a batch.
#[must_use]
pub struct Ticket<T> {
    index: usize,
    decode: Decode<T>,
}

/// A batch's replies, which the caller claims with the batch's tickets.
pub struct Replies {
    answers: Vec<Answer>,
}

impl Batch {
    /// Creates an empty batch. The name identifies the operation and its step, for gates, logs and metrics.
    #[must_use]
    pub fn new(name: &'static str) -> Self {
        Self { name, bodies: Vec::new(), weight: 0, masters: Masters::Always }
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

    /// Lets replicas execute the commands whose replies may lag, except those with keys of this user.
    pub fn allow_replicas(&mut self, except: Option<UserId>) {
        self.masters = Masters::Of(except.map(|user| Tag::User(user).slot()));
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
            return Ok(Replies { answers: Vec::new() });
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
        // Boxed because batches are sent within many other futures.
        let sent = Box::pin(send(self.name, self.bodies, self.masters, store));
        let answered = sent.instrument(span).await;
        store.pass(Moment::After, self.name).await;
        answered
    }
}

/// Maximum number of commands sent together, where those of one tag count as one. Bounds how long other batches wait.
const PORTION: usize = 4_000;

/// Sends commands in portions.
async fn send(
    name: &'static str,
    mut bodies: Vec<Body>,
    masters: Masters,
    store: &Store,
) -> Result<Replies, Error> {
    let mut answers = Vec::new();
    loop {
        let rest = bodies.split_off(portion(&bodies));
        answers.extend(Portion::of(bodies, masters, store.keys().is_sharded()).send(name, store).await?);
        if rest.is_empty() {
            return Ok(Replies { answers });
        }
        bodies = rest;
    }
}

/// Returns the number of bodies whose commands are sent together: at least one.
fn portion(bodies: &[Body]) -> usize {
    let mut commands = 0;
    let fits = |body: &&Body| {
        commands += match body {
            Body::Each(pipeline) => pipeline.len(),
            _ => 1,
        };
        commands <= PORTION
    };
    bodies.iter().take_while(fits).count().max(1)
}

impl Body {
    /// Returns the number of commands, which equals the number of replies.
    fn commands(&self) -> usize {
        match self {
            Self::Script { .. } => 1,
            Self::Single(pipeline)
            | Self::Several(pipeline)
            | Self::Each(pipeline)
            | Self::Transaction(pipeline) => pipeline.len(),
        }
    }
}

/// Bodies whose commands are sent together, and the commands in wire order.
struct Portion {
    bodies: Vec<Body>,
    pipeline: Pipeline,
}

impl Portion {
    fn of(mut bodies: Vec<Body>, masters: Masters, is_sharded: bool) -> Self {
        let mut pipeline = Pipeline::default();
        for body in &mut bodies {
            match body {
                Body::Script { script, slot, keys, arguments, divided } => {
                    push_call(&mut pipeline, &script.by_digest(is_sharded, *keys, arguments), *slot, divided);
                }
                Body::Single(commands)
                | Body::Several(commands)
                | Body::Each(commands)
                | Body::Transaction(commands) => pipeline.append(commands),
            }
        }
        Self { bodies, pipeline: pipeline.with_masters(masters) }
    }

    async fn send(self, step: &'static str, store: &Store) -> Result<Vec<Answer>, Error> {
        let Self { bodies, pipeline } = self;
        let replies = exchange(step, pipeline, store).await?;
        let mut answers =
            answers(&bodies, &replies).ok_or_else(|| Error::corrupt("fewer replies than commands"))?;
        retry_unknown_scripts(&bodies, step, store, &mut answers).await?;
        read_apart(bodies, step, store, &mut answers).await?;
        Ok(answers)
    }
}

/// Adds a call of a script.
fn push_call(pipeline: &mut Pipeline, call: &Arguments, slot: Option<u16>, divided: &Divided) {
    pipeline.push(call, slot);
    if !matches!(divided, Divided::Waits) {
        pipeline.fail_if_divided();
    }
}

/// Returns the answer to each body, in order.
fn answers(bodies: &[Body], replies: &reply::Replies) -> Option<Vec<Answer>> {
    let mut first = 0;
    let answer = |body: &Body| {
        let count = body.commands();
        let answer = match body {
            Body::Single(_) | Body::Script { .. } => replies.one(first),
            Body::Several(_) | Body::Each(_) => replies.list(first, count),
            Body::Transaction(_) => replies.one(first + count - 1),
        };
        first += count;
        answer
    };
    bodies.iter().map(answer).collect()
}

/// Repeats calls that failed because Redis has not cached the script, this time with the source. Redis
/// loses its script cache when it restarts. The failed calls had no effect.
async fn retry_unknown_scripts(
    bodies: &[Body],
    step: &'static str,
    store: &Store,
    answers: &mut [Answer],
) -> Result<(), Error> {
    let (mut pipeline, mut unknown) = (Pipeline::default(), Vec::new());
    for (body, answer) in bodies.iter().zip(answers) {
        if let Body::Script { script, slot, keys, arguments, divided } = body
            && answer.reply().error_code() == Some(b"NOSCRIPT")
        {
            let call = script.by_source(store.keys().is_sharded(), *keys, arguments);
            push_call(&mut pipeline, &call, *slot, divided);
            unknown.push(answer);
        }
    }
    if unknown.is_empty() {
        return Ok(());
    }
    let replies = exchange(step, pipeline, store).await?;
    for (index, answer) in unknown.into_iter().enumerate() {
        *answer = replies.one(index).ok_or_else(|| Error::corrupt("fewer replies than commands"))?;
    }
    Ok(())
}

/// Reads the keys of scripts one by one, if the keys are divided between two masters of a cluster: in one exchange for
/// all such scripts. Spends what their commands and the members of their replies cost.
async fn read_apart(
    bodies: Vec<Body>,
    step: &'static str,
    store: &Store,
    answers: &mut [Answer],
) -> Result<(), Error> {
    let (mut pipeline, mut apart) = (Pipeline::default(), Vec::new());
    for (body, answer) in bodies.into_iter().zip(answers) {
        if let Body::Script { divided: Divided::ReadsApart(build), .. } = body
            && answer.reply().error_code() == Some(b"TRYAGAIN")
        {
            let first = pipeline.len();
            pipeline.append(&mut build());
            apart.push((answer, first, pipeline.len() - first));
        }
    }
    if apart.is_empty() {
        return Ok(());
    }
    budget::spend(Resource::Commands, pipeline.len() as u64)?;
    let replies = exchange(step, pipeline, store).await?;
    budget::spend(Resource::Commands, replies.elements() / MEMBERS_PER_COMMAND)?;
    for (answer, first, count) in apart {
        *answer = replies.list(first, count).ok_or_else(|| Error::corrupt("fewer replies than commands"))?;
    }
    Ok(())
}

/// Sends a pipeline, if it has any commands, and spends the size of its replies from the budget of the current
/// operation.
async fn exchange(step: &'static str, pipeline: Pipeline, store: &Store) -> Result<reply::Replies, Error> {
    if pipeline.is_empty() {
        return Ok(reply::Replies::default());
    }
    let replies = store.exchange(step, pipeline).await?;
    budget::spend(Resource::ReplyBytes, replies.size())?;
    Ok(replies)
}

impl Replies {
    /// Returns one command's reply. Each ticket can be used once.
    pub fn take<T>(&mut self, ticket: Ticket<T>) -> Result<T, Error> {
        let answer = self.answers.get(ticket.index);
        (ticket.decode)(answer.ok_or_else(|| Error::corrupt("the ticket belongs to another batch"))?)
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
