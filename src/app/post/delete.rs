//! Deleting posts.

use crate::app::App;
use crate::app::deadline::Deadline;
use crate::app::error::{Error, Field, Reason};
use crate::app::viewer::Viewer;
use crate::model::id::{PostId, UserId};
use crate::model::post::Delivery;
use crate::store::batch::Batch;
use crate::store::fanout::{self, Kind, Task};
use crate::store::intent::Operation;
use crate::store::post::{self, Erased, Trace};

impl App {
    /// The user who asks deletes a post of its own. Doing it again changes nothing. Six round trips.
    pub async fn delete_post(&self, viewer: &Viewer, id: PostId) -> Result<(), Error> {
        let author = viewer.signed_in()?.user;
        let missing = || Error::rule(Reason::NotFound, Field::PostId, "There is no such post.");
        let foreign = || Error::rule(Reason::NotYours, Field::PostId, "This post is somebody else's.");
        let trace = post::trace(self.keys(), id).send("delete: post", self.store()).await?;
        let trace = trace.ok_or_else(missing)?;
        if trace.author != author {
            return Err(if trace.is_deleted { missing() } else { foreign() });
        }
        if trace.is_deleted {
            // Whoever deleted it has left an intent, or is done.
            return Ok(());
        }
        let deadline = Deadline::start(&*self.0.clock);
        let intents = self.intents(std::iter::once(Operation::Delete { author, post: id }));
        self.record(&intents, &deadline).await?;
        deadline.check()?;
        match post::erase(self.keys(), author, id).send("delete: erase", self.store()).await? {
            Erased::Erased => {
                deadline.check()?;
                self.unlist(author, id, trace.delivery, true).await?;
                self.forget(&intents).await
            }
            Erased::Missing => Err(missing()),
            Erased::Foreign => Err(foreign()),
        }
    }

    /// Steps 2 and 3 of a deletion that was cut off, if the post has been erased. If it is abandoned, step
    /// 3 is done again whether or not it seems to be needed.
    pub(in crate::app) async fn finish_deletion(
        &self,
        author: UserId,
        id: PostId,
        is_abandoned: bool,
    ) -> Result<(), Error> {
        let trace = post::trace(self.keys(), id).send("delete: trace", self.store()).await?;
        match trace {
            Some(Trace { delivery, is_deleted: true, .. }) => {
                self.unlist(author, id, delivery, is_abandoned).await
            }
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
        let archive = batch.push(post::queue_for_archive(self.keys(), &[id]));
        let was_pushed = matches!(delivery, Some(Delivery::Pushed { .. } | Delivery::Delivered { .. }));
        let task = Task { kind: Kind::Remove, post: id, author };
        let sweep = was_pushed.then(|| batch.push(fanout::add(self.keys(), &task)));
        let mut replies = batch.send(self.store()).await?;
        replies.take(archive)?;
        sweep.map(|sweep| replies.take(sweep)).transpose()?;
        Ok(())
    }
}
