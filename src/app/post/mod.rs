//! Publishes, edits and deletes posts.
//!
#![doc = include_str!("README.md")]

pub mod bookmark;
pub(in crate::app) mod delete;
mod edit;
pub use self::edit::EditRequest;
pub(in crate::app) mod like;
mod own;
mod publish;
pub use self::publish::PublishRequest;

pub mod reaction;
pub mod read;
mod referral;
pub mod repost;
mod settle;
mod times;

use std::collections::BTreeSet;
use std::time::Duration;

use crate::app::App;
use crate::app::error::{Error, Field, Reason};
use crate::app::throttle::{limit, throttled};
use crate::model::clock::Timestamp;
use crate::model::details::References;
use crate::model::digest::Digest;
use crate::model::id::{PostId, UserId};
use crate::model::post::{Content, Delivery, Platform, Visibility};
use crate::store::batch::Batch;
use crate::store::bucket::Limit;
use crate::store::draft::{self, Draft};
use crate::store::fanout::{self, Kind, Task};
use crate::store::moving;
use crate::store::post::Sizes;
use crate::store::signal;

/// A post to be published.
#[derive(Clone, Debug)]
pub struct NewPost {
    /// Id of the author.
    pub author: UserId,
    /// Text of the post.
    pub content: Content,
    /// Name of the client that the post was written with; `None` if not given.
    pub platform: Option<Platform>,
    /// Users who can see the post.
    pub visibility: Visibility,
    /// What the post refers to.
    pub references: References,
    /// Creation time.
    pub created_at: Timestamp,
}

impl NewPost {
    /// Returns the digest that identifies the post under an idempotency key.
    fn digest(&self, request: &PublishRequest<'_>) -> Digest {
        let Self { content, platform, visibility, .. } = self;
        Digest::of_post(content, platform.as_ref(), *visibility, [request.in_reply_to, request.quote_of])
    }
}

impl App {
    /// Returns the limit of the posts that an author publishes and edits.
    fn publish_limit(&self) -> Limit {
        limit(self.0.rules.timeline.post_publishes_per_author)
    }

    fn sizes(&self) -> Sizes {
        Sizes { timeline: self.0.rules.timeline.timeline_capacity, hot: self.0.rules.timeline.post_hot_limit }
    }

    /// Runs steps 4 and 5. Makes two round trips, or one if there is nothing to queue.
    async fn finish(&self, queue: Queue, drafts: &[Draft], step: &'static str) -> Result<(), Error> {
        let mut batch = Batch::new(step);
        let settled = batch.push(draft::settle(self.keys(), drafts));
        for author in &queue.pulled {
            // A lost signal is harmless.
            if let Some(announce) = signal::announce(self.keys(), *author) {
                drop(batch.push(announce));
            }
        }
        self.send_queue(queue).await?;
        batch.send(self.store()).await?.take(settled)?;
        Ok(())
    }

    /// Runs step 4. Makes one round trip, or none if there is nothing to queue.
    async fn send_queue(&self, queue: Queue) -> Result<(), Error> {
        let mut batch = Batch::new("publish: queue");
        let jobs: Vec<_> =
            queue.tasks.iter().map(|task| batch.push(fanout::add(self.keys(), task))).collect();
        let cold: Vec<PostId> = queue.cold.into_iter().collect();
        let cold =
            cold.chunks(moving::MOST).map(|posts| batch.push(moving::queue(self.keys(), posts, self.now())));
        let cold: Vec<_> = cold.collect();
        let mut replies = batch.send(self.store()).await?;
        replies.take_all(jobs)?;
        replies.take_all(cold)?;
        Ok(())
    }
}

/// Returns the error for an author whose token bucket is empty.
fn too_many(wait: Duration) -> Error {
    throttled(wait, "You have published or edited too many posts.")
}

/// Returns the error for an idempotency key that was used for something else.
fn key_mismatch() -> Error {
    let message = "This idempotency key was used for another post or edit.";
    Error::rule(Reason::IdempotencyMismatch, Field::IdempotencyKey, message)
}

/// Entries to add to the delivery and archiving queues, and authors to announce.
#[derive(Default)]
struct Queue {
    tasks: Vec<Task>,
    cold: BTreeSet<PostId>,
    /// Authors of posts that followers pull.
    pulled: BTreeSet<UserId>,
}

impl Queue {
    /// Adds a newly visible post, if its delivery mode is push, and the posts that it displaced from its
    /// author's hot list.
    fn add(&mut self, author: UserId, post: PostId, delivery: Option<Delivery>, cold: Vec<PostId>) {
        match delivery {
            Some(Delivery::Pushed { .. }) => self.tasks.push(Task { kind: Kind::Deliver, post, author }),
            Some(Delivery::Pulled) => drop(self.pulled.insert(author)),
            Some(Delivery::Delivered { .. }) | None => {}
        }
        self.cold.extend(cold);
    }
}
