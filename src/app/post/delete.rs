//! Deleting posts, hot and cold.

use crate::app::App;
use crate::app::deadline::Deadline;
use crate::app::error::{Broken, Error, Field, Reason};
use crate::app::viewer::Viewer;
use crate::archive::post::Row;
use crate::model::id::{PostId, UserId};
use crate::model::post::Delivery;
use crate::store::batch::Batch;
use crate::store::fanout::{self, Kind, Task};
use crate::store::intent::Operation;
use crate::store::moving;
use crate::store::post::{self, Erased, Record, Whereabouts};

/// How often a post may leave for the archive under a deletion: it does so once.
const ATTEMPTS: usize = 3;

/// A post that can be deleted.
enum Deletable {
    /// Its record is in Redis.
    Hot(Delivery),
    /// The archive has it.
    Archived(Delivery),
    /// It has been deleted.
    Deleted,
}

impl App {
    /// The user who asks deletes a post of its own. Doing it again changes nothing. Six round trips, and a
    /// query to the archive if the post is there.
    pub async fn delete_post(&self, viewer: &Viewer, id: PostId) -> Result<(), Error> {
        let author = viewer.signed_in()?.user;
        for _ in 0..ATTEMPTS {
            let (delivery, archived) = match self.find_to_delete(author, id).await? {
                Deletable::Hot(delivery) => (delivery, None),
                Deletable::Archived(delivery) => (delivery, Some(delivery)),
                // Whoever deleted it has left an intent, or is done.
                Deletable::Deleted => return Ok(()),
            };
            let deadline = Deadline::start(&*self.0.clock);
            let intents = self.intents(std::iter::once(Operation::Delete { author, post: id }));
            self.record(&intents, &deadline).await?;
            deadline.check()?;
            let erase = post::erase(self.keys(), author, id, archived);
            match erase.send("delete: erase", self.store()).await? {
                Erased::Erased => {
                    deadline.check()?;
                    self.unlist(author, id, Some(delivery), true).await?;
                    return self.forget(&intents).await;
                }
                // It has just been archived.
                Erased::Missing => self.forget(&intents).await?,
                Erased::Foreign => return Err(foreign()),
            }
        }
        Err(Broken::GaveUp("deleting a post that moves").into())
    }

    /// The post, if it is this author's and visible, or was.
    async fn find_to_delete(&self, author: UserId, id: PostId) -> Result<Deletable, Error> {
        let mut batch = Batch::new("delete: post");
        let record = batch.push(post::read(self.keys(), id));
        let whereabouts = batch.push(post::find(self.keys(), author, id));
        let mut replies = batch.send(self.store()).await?;
        let whereabouts = replies.take(whereabouts)?;
        match replies.take(record)? {
            Record::Live(post) if post.author != author => Err(foreign()),
            Record::Tombstone { author: other, .. } if other != author => Err(missing()),
            Record::Tombstone { .. } => Ok(Deletable::Deleted),
            Record::Live(post) => match whereabouts {
                Whereabouts::Listed => Ok(Deletable::Hot(post.delivery)),
                // It is being archived, or was never visible.
                Whereabouts::Cold if self.read_row(id).await?.is_some() => Ok(Deletable::Hot(post.delivery)),
                Whereabouts::Cold | Whereabouts::Absent => Err(missing()),
            },
            Record::Missing => match self.read_row(id).await? {
                Some(Row::Live(post)) if post.author == author => Ok(Deletable::Archived(post.delivery)),
                Some(Row::Live(_)) => Err(foreign()),
                Some(Row::Tombstone { author: other, .. }) if other == author => Ok(Deletable::Deleted),
                Some(Row::Tombstone { .. }) | None => Err(missing()),
            },
        }
    }

    async fn read_row(&self, id: PostId) -> Result<Option<Row>, Error> {
        Ok(self.archive().await?.read(&[id]).await?.pop())
    }

    /// Steps 2 and 3 of a deletion that was cut off, if the post has been erased. If it is abandoned, step
    /// 3 is done again whether or not it seems to be needed.
    pub(in crate::app) async fn finish_deletion(
        &self,
        author: UserId,
        id: PostId,
        is_abandoned: bool,
    ) -> Result<(), Error> {
        match post::read(self.keys(), id).send("delete: trace", self.store()).await? {
            Record::Tombstone { delivery, is_settled: false, .. } => {
                self.unlist(author, id, delivery, is_abandoned).await
            }
            // It was not erased, or the archive knows of it, for which all had to be done.
            _ => Ok(()),
        }
    }

    async fn unlist(
        &self,
        author: UserId,
        id: PostId,
        delivery: Option<Delivery>,
        queues_anyway: bool,
    ) -> Result<(), Error> {
        let delete = post::delete(self.keys(), author, id, self.now());
        let was_listed = delete.send("delete: lists", self.store()).await?;
        if !was_listed && !queues_anyway {
            return Ok(());
        }
        let mut batch = Batch::new("delete: queue");
        let archive = batch.push(moving::queue(self.keys(), &[id], self.now()));
        let sweep = sweep(author, id, delivery).map(|task| batch.push(fanout::add(self.keys(), &task)));
        let mut replies = batch.send(self.store()).await?;
        replies.take(archive)?;
        sweep.map(|sweep| replies.take(sweep)).transpose()?;
        Ok(())
    }

    /// Steps 2 and 3 of deletions, for posts that have come to the archive. Two round trips.
    pub(in crate::app) async fn finish_deletions(
        &self,
        posts: &[(PostId, UserId, Option<Delivery>)],
    ) -> Result<(), Error> {
        let mut batch = Batch::new("move: deletions");
        let now = self.now();
        let delete =
            |&(id, author, _): &(PostId, UserId, _)| batch.push(post::delete(self.keys(), author, id, now));
        let tickets = posts.iter().map(delete).collect();
        let were_listed = batch.send(self.store()).await?.take_all(tickets)?;

        let mut batch = Batch::new("move: sweeps");
        let listed = posts.iter().zip(were_listed).filter(|(_, was_listed)| *was_listed);
        let tasks = listed.filter_map(|(&(id, author, delivery), _)| sweep(author, id, delivery));
        let tickets = tasks.map(|task| batch.push(fanout::add(self.keys(), &task))).collect();
        batch.send(self.store()).await?.take_all(tickets)?;
        Ok(())
    }
}

/// The job that takes a post out of the timelines it was brought to.
fn sweep(author: UserId, post: PostId, delivery: Option<Delivery>) -> Option<Task> {
    let was_pushed = matches!(delivery, Some(Delivery::Pushed { .. } | Delivery::Delivered { .. }));
    was_pushed.then_some(Task { kind: Kind::Remove, post, author })
}

fn missing() -> Error {
    Error::rule(Reason::NotFound, Field::PostId, "There is no such post.")
}

fn foreign() -> Error {
    Error::rule(Reason::NotYours, Field::PostId, "This post is somebody else's.")
}
