//! Publishing posts and deleting them.
//!
//! A post comes to be in steps, because its record, its author's lists and the jobs of delivery lie in
//! different slots:
//! 0. it is decided whether the post is pushed or pulled, once: an author with more followers than the
//!    push limit becomes a star first, and stays one;
//! 1. an id is issued, and noted as being published;
//! 2. the record is made;
//! 3. the post becomes visible: it enters its author's lists, in one step in the author's slot, unless
//!    it is void; the idempotency key is done;
//! 4. the job of delivery is added, unless the post is pulled; what the author's lists have no more room
//!    for is put on its way to the archive;
//! 5. the note is taken away. `publish` answers, and waits for no delivery.
//!
//! Whoever is cut off leaves the note. The repairer looks at those that are some seconds old: if the post is
//! visible it does 4 and 5 again. If not, and the note is a minute old, it makes the post void in the
//! author's slot, erases its record, and only then does 5. So whatever is not noted is visible or never will be, which is what readers
//! count on ([`crate::app::timeline`]).
//!
//! An *idempotency key* stands for an attempt: the draft of a post and the digest of what it says. It
//! is bound to the attempt before step 2. Whoever comes with the same key and text goes on with that
//! draft, from step 2 on, unless it is done; if it is void, a new draft takes its place by comparison.
//!
//! A post is deleted under an intent, as an edge is written: 1. the record becomes a tombstone, from
//! when on nobody sees the post; 2. it leaves its author's lists; 3. it is put on its way to the archive,
//! and a job is added to take it out of timelines. Nobody waits for that one.

mod delete;
mod publish;
mod settle;

use std::collections::BTreeSet;

use crate::app::App;
use crate::app::error::Error;
use crate::model::clock::Timestamp;
use crate::model::id::{PostId, UserId};
use crate::model::post::{Content, Delivery, Platform};
use crate::store::batch::Batch;
use crate::store::fanout::{self, Kind, Task};
use crate::store::moving;
use crate::store::post::Sizes;

/// A post as it is to be.
#[derive(Clone, Debug)]
pub struct NewPost {
    /// Who writes it.
    pub author: UserId,
    /// What it says.
    pub content: Content,
    /// The client it is written with.
    pub platform: Option<Platform>,
    /// When it is written.
    pub created_at: Timestamp,
}

impl App {
    fn sizes(&self) -> Sizes {
        Sizes { timeline: self.0.rules.timeline.timeline_capacity, hot: self.0.rules.timeline.post_hot_limit }
    }

    /// Step 4. One round trip, or none.
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

/// What is to be added to queues.
#[derive(Default)]
struct Queue {
    tasks: Vec<Task>,
    cold: BTreeSet<PostId>,
}

impl Queue {
    /// A post that is visible now, and what its author's lists have no more room for.
    fn add(&mut self, author: UserId, post: PostId, delivery: Option<Delivery>, cold: Vec<PostId>) {
        if matches!(delivery, Some(Delivery::Pushed { .. })) {
            self.tasks.push(Task { kind: Kind::Deliver, post, author });
        }
        self.cold.extend(cold);
    }
}
