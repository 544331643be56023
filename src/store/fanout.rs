//! Storage of delivery jobs. Each job pushes a post to the timelines of the author's followers, or removes a
//! post from these timelines.
//!
//! Jobs are queued in streams, one stream per kind and partition. A job belongs to the worker that took it
//! until the job is done or the worker has been silent for some time. A job's progress is stored next to its
//! stream.
//!
//! Not here: the work itself (`app::delivery`).

use std::fmt;

use redis::{FromRedisValue, ParsingError, Value};

use crate::model::clock::Timestamp;
use crate::model::id::{PostId, UserId};
use crate::model::page::Position;
use crate::store::command::{Builder, Command, call, command, several};
use crate::store::key::{Key, Keys, Stream};
use crate::store::post_list::{Id, ids};
use crate::store::script;

/// Consumer group of all workers.
const GROUP: &str = "delivery";

/// Consumer that owns the jobs that workers return. Workers take jobs over from any consumer, by idle time.
const UNCLAIMED: &str = "unclaimed";

/// Number of starts without progress after which a worker sets a job aside.
const MOST_BEGINNINGS: u32 = 5;

/// The kind of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A job that pushes the post to timelines.
    Deliver,
    /// A job that removes the post from timelines.
    Remove,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::Deliver => "deliver",
            Self::Remove => "remove",
        }
    }
}

/// The delivery work for one post.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Task {
    /// Kind of work: push or remove.
    pub kind: Kind,
    /// Post to push or remove.
    pub post: PostId,
    /// The post's author, whose followers the worker traverses.
    pub author: UserId,
}

impl Task {
    /// Returns the task's queue.
    fn queue(&self, keys: &Keys) -> Queue {
        let partition = self.author.get() % u64::from(keys.fanout_partitions());
        Queue { kind: self.kind, partition: u32::try_from(partition).unwrap_or(0) }
    }

    /// Returns the task's field in its partition's progress hash.
    fn field(&self) -> String {
        format!("{}:{}", self.kind.word(), self.post)
    }
}

/// The queue of all jobs of one kind in one partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue {
    /// Kind of the jobs.
    pub kind: Kind,
    /// Partition number, below [`Keys::fanout_partitions`].
    pub partition: u32,
}

impl Queue {
    /// Returns all queues: first the push queues, then the removal queues.
    pub fn all(keys: &Keys) -> impl Iterator<Item = Self> {
        let partitions = 0..keys.fanout_partitions();
        let of_kind = |kind| partitions.clone().map(move |partition| Self { kind, partition });
        of_kind(Kind::Deliver).chain(of_kind(Kind::Remove))
    }

    fn stream(self, keys: &Keys) -> Key<Stream> {
        match self.kind {
            Kind::Deliver => keys.fanout(self.partition),
            Kind::Remove => keys.sweep(self.partition),
        }
    }
}

/// A stream entry that contains a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// The entry's id in the stream.
    pub id: String,
    /// The task; `None` for a job unknown to this version.
    pub task: Option<Task>,
}

impl FromRedisValue for Job {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        let (id, fields) = <(String, Vec<String>)>::from_redis_value(value)?;
        let task = || match fields.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["kind", kind, "post", post, "author", author] => {
                let kinds = [Kind::Deliver, Kind::Remove];
                let kind = kinds.into_iter().find(|known| known.word() == kind)?;
                Some(Task { kind, post: post.parse().ok()?, author: author.parse().ok()? })
            }
            _ => None,
        };
        Ok(Self { id, task: task() })
    }
}

/// A job's progress through the author's followers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Last follower processed; `None` before the first.
    pub cursor: Option<Position>,
    /// Number of followers processed.
    pub served: u64,
}

impl fmt::Display for Progress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.cursor {
            Some(Position { at, id }) => write!(formatter, "{}:{id}:{}", at.as_millis(), self.served),
            None => write!(formatter, "::{}", self.served),
        }
    }
}

impl FromRedisValue for Progress {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        let text = String::from_redis_value(value)?;
        let parse = || {
            let mut parts = text.split(':');
            let (at, user) = (parts.next()?, parts.next()?);
            let served = parts.next()?.parse().ok()?;
            if user.is_empty() {
                return Some(Self { cursor: None, served });
            }
            let at = Timestamp::from_millis(at.parse().ok()?);
            Some(Self { cursor: Some(Position { at, id: user.parse().ok()? }), served })
        };
        parse().ok_or_else(|| ParsingError::from(format!("{text:?} is not the progress of a job")))
    }
}

/// Jobs taken over from other workers.
pub struct TakenOver {
    /// Jobs taken over, now assigned to this worker.
    pub jobs: Vec<Job>,
    /// True if the only job is a suspect, which must run alone because it may have killed its workers.
    pub is_suspect: bool,
}

/// Adds the keys used to schedule the jobs of different authors in turn.
fn turns(builder: Builder, keys: &Keys, partition: u32) -> Builder {
    let builder = builder.key(&keys.fanout_ready(partition)).key(&keys.fanout_held(partition));
    builder.key(&keys.fanout_turns(partition))
}

/// Adds a job. Holds a push job back while several of its author's jobs are in the stream. A job added twice
/// runs twice, which is harmless.
pub fn add(keys: &Keys, task: &Task) -> Command<String> {
    let queue = task.queue(keys);
    match task.kind {
        Kind::Deliver => {
            let add = call(&script::ADD_JOB).key(&queue.stream(keys));
            let add = turns(add.key(&keys.fanout_open(queue.partition)), keys, queue.partition);
            add.arg(task.post.get()).arg(task.author.get()).reply()
        }
        Kind::Remove => {
            let add = command("XADD").key(&queue.stream(keys)).arg("*").arg("kind").arg(task.kind.word());
            add.arg("post").arg(task.post.get()).arg("author").arg(task.author.get()).reply()
        }
    }
}

/// Returns the least id of the posts that a partition's jobs have not pushed to all timelines yet; `None` if
/// no post is left.
pub fn least_open(keys: &Keys, partition: u32) -> Command<Option<PostId>> {
    let first = command("ZRANGE").key(&keys.fanout_open(partition)).arg(0).arg(0);
    first.reply::<Vec<Id>>().map(|first| Ok(ids(first).pop()))
}

/// Takes up to `count` jobs that no worker has taken. Waits up to `wait` milliseconds for the first job;
/// without `wait`, returns at once. If the reply is lost, [`take_over`] recovers the jobs.
pub fn take(keys: &Keys, queue: Queue, worker: &str, count: usize, wait: Option<u64>) -> Command<Vec<Job>> {
    let take = command("XREADGROUP").arg("GROUP").arg(GROUP).arg(worker).arg("COUNT").arg(count);
    let take = match wait {
        Some(wait) => take.arg("BLOCK").arg(wait),
        None => take,
    };
    let take = take.arg("STREAMS").key(&queue.stream(keys)).arg(">");
    take.reply::<Option<Vec<(String, Vec<Job>)>>>()
        .map(|streams| Ok(streams.into_iter().flatten().flat_map(|(_, jobs)| jobs).collect()))
}

/// Takes over up to `count` orphaned jobs: jobs whose worker has been silent for `idle` milliseconds, and
/// jobs assigned to this worker but not in `held`. Sets aside jobs started too often without progress.
pub fn take_over<'a>(
    keys: &Keys,
    queue: Queue,
    worker: &str,
    idle: u64,
    count: usize,
    held: impl Iterator<Item = &'a str>,
) -> Command<TakenOver> {
    let take = call(&script::TAKE_OVER_JOBS).key(&queue.stream(keys));
    let take = take.key(&keys.fanout_progress(queue.partition)).key(&keys.fanout_failed(queue.partition));
    let take = take.key(&keys.fanout_open(queue.partition));
    let take = match queue.kind {
        Kind::Deliver => turns(take, keys, queue.partition),
        Kind::Remove => take,
    };
    let take = take.arg(GROUP).arg(worker).arg(idle).arg(MOST_BEGINNINGS).arg(count).args(held);
    take.reply::<(Vec<Job>, bool)>().map(|(jobs, is_suspect)| Ok(TakenOver { jobs, is_suspect }))
}

/// Puts up to `count` of a partition's failed jobs back into their queues. Returns the number of requeued
/// jobs.
pub fn requeue(keys: &Keys, partition: u32, count: usize) -> Command<u64> {
    let queue = |kind| Queue { kind, partition }.stream(keys);
    let requeue = call(&script::REQUEUE_JOBS).key(&keys.fanout_failed(partition));
    let requeue = requeue.key(&queue(Kind::Deliver)).key(&queue(Kind::Remove));
    turns(requeue.key(&keys.fanout_open(partition)), keys, partition).arg(count).reply()
}

/// Gives back all of a worker's jobs, so that another worker takes them over at once. Returns the number of
/// jobs given back.
pub fn give_back(keys: &Keys, queue: Queue, worker: &str) -> Command<u64> {
    call(&script::RETURN_JOBS).key(&queue.stream(keys)).arg(GROUP).arg(worker).arg(UNCLAIMED).reply()
}

/// Releases a job that could not be completed, so that a worker retries it later. If `has_failed`, the attempt
/// counts towards the limit.
pub fn release(keys: &Keys, queue: Queue, job: &str, has_failed: bool) -> Command<Vec<String>> {
    let claim = command("XCLAIM").key(&queue.stream(keys)).arg(GROUP).arg(UNCLAIMED).arg(0).arg(job);
    let claim = if has_failed { claim } else { claim.arg("RETRYCOUNT").arg(0) };
    claim.arg("JUSTID").reply()
}

/// Returns a task's progress; `None` if the task has not started or is finished.
pub fn progress(keys: &Keys, task: &Task) -> Command<Option<Progress>> {
    command("HGET").key(&keys.fanout_progress(task.queue(keys).partition)).arg(task.field()).reply()
}

/// Records a job's progress, and adds `served` to the total number of timelines written. Returns false if
/// another worker has taken the job over.
pub fn note_progress(
    keys: &Keys,
    worker: &str,
    job: &str,
    task: &Task,
    progress: &Progress,
    served: u64,
) -> Command<bool> {
    let queue = task.queue(keys);
    let note = call(&script::NOTE_PROGRESS).key(&queue.stream(keys));
    let note = note.key(&keys.fanout_progress(queue.partition)).key(&keys.fanout_served(queue.partition));
    note.arg(GROUP).arg(worker).arg(job).arg(task.field()).arg(progress.to_string()).arg(served).reply()
}

/// Removes a finished job from its queue.
pub fn finish(keys: &Keys, job: &str, task: &Task) -> Command<bool> {
    let queue = task.queue(keys);
    let finish = call(&script::FINISH_JOB).key(&queue.stream(keys));
    let finish = finish.key(&keys.fanout_progress(queue.partition)).key(&keys.fanout_open(queue.partition));
    let finish = turns(finish, keys, queue.partition);
    let brought = match task.kind {
        Kind::Deliver => task.post.to_string(),
        Kind::Remove => String::new(),
    };
    finish.arg(GROUP).arg(job).arg(task.field()).arg(brought).arg(task.author.get()).reply()
}

/// Returns the number of a queue's jobs that are waiting or under way.
pub fn waiting(keys: &Keys, queue: Queue) -> Command<u64> {
    let in_stream = command("XLEN").key(&queue.stream(keys));
    match queue.kind {
        Kind::Deliver => {
            let held = command("ZCARD").key(&keys.fanout_held(queue.partition));
            several::<(u64, u64)>(&[in_stream, held]).map(|(in_stream, held)| Ok(in_stream + held))
        }
        Kind::Remove => in_stream.reply(),
    }
}

/// Returns the time at which a queue's oldest job, in the stream or held back, was added, by the Redis clock.
pub fn oldest(keys: &Keys, queue: Queue) -> Command<Option<Timestamp>> {
    let first = command("XRANGE").key(&queue.stream(keys)).arg("-").arg("+").arg("COUNT").arg(1);
    let held = command("ZRANGE").key(&keys.fanout_turns(queue.partition)).arg(0).arg(0).arg("WITHSCORES");
    several::<(Vec<Job>, Vec<(u64, i64)>)>(&[first, held]).map(|(jobs, held)| {
        let millis = |job: &Job| job.id.split('-').next()?.parse().ok();
        let held = held.first().map(|(_, since)| *since);
        Ok(jobs.first().and_then(millis).into_iter().chain(held).min().map(Timestamp::from_millis))
    })
}

/// Returns the total number of timelines that a partition's jobs have written.
pub fn served(keys: &Keys, partition: u32) -> Command<u64> {
    let read = command("GET").key(&keys.fanout_served(partition));
    read.reply::<Option<u64>>().map(|served| Ok(served.unwrap_or(0)))
}

/// Returns the number of a partition's failed jobs.
pub fn failed(keys: &Keys, partition: u32) -> Command<u64> {
    command("XLEN").key(&keys.fanout_failed(partition)).reply()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_of_progress_is_part_of_the_stored_data() {
        let cursor = Position { at: Timestamp::from_millis(-5), id: UserId::new(7).unwrap() };
        for (progress, text) in
            [(Progress::default(), "::0"), (Progress { cursor: Some(cursor), served: 3 }, "-5:7:3")]
        {
            assert_eq!(progress.to_string(), text);
            let read = Progress::from_redis_value(Value::BulkString(text.into())).unwrap();
            assert_eq!(read, progress);
        }
    }
}
