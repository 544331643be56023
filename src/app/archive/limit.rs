//! Queues posts beyond the hot post limit for archiving, after an operator has lowered the limit.

use crate::app::App;
use crate::app::error::Error;
use crate::model::id::UserId;
use crate::store::batch::Batch;
use crate::store::moving;
use crate::store::user;

/// Maximum number of authors per batch.
const AUTHORS: u64 = 500;

impl App {
    /// Queues every post beyond the current limit for archiving. The operator may have lowered the limit
    /// since the posts were published. Does nothing if a sweep for this limit has already finished. Returns
    /// the number of queued posts.
    pub(super) async fn queue_beyond_limit(&self) -> Result<usize, Error> {
        let limit = self.0.rules.timeline.post_hot_limit;
        if moving::swept_limit(self.keys()).send("move: limit", self.store()).await? == Some(limit) {
            return Ok(0);
        }
        let last = user::last_id(self.keys()).send("move: authors", self.store()).await?;
        let mut queued = 0;
        for first in (1..=last).step_by(usize::try_from(AUTHORS).unwrap_or(usize::MAX)) {
            let authors = (first..=last.min(first + AUTHORS - 1)).filter_map(UserId::new);
            queued += self.queue_beyond(authors.collect(), limit).await?;
        }
        moving::note_swept_limit(self.keys(), limit).send("move: note limit", self.store()).await?;
        Ok(queued)
    }

    async fn queue_beyond(&self, authors: Vec<UserId>, limit: u32) -> Result<usize, Error> {
        let (mut queued, mut start, mut open) = (0, 0, authors);
        while !open.is_empty() {
            let mut batch = Batch::new("move: beyond");
            let read = |&author: &UserId| batch.push(moving::beyond(self.keys(), author, limit, start));
            let found: Vec<_> = open.iter().map(read).collect();
            let mut replies = batch.send(self.store()).await?;
            let mut commands = Vec::new();
            let mut rest = Vec::new();
            for (author, found) in open.into_iter().zip(found) {
                let mut posts = replies.take_readable(found, "posts", author.get())?.unwrap_or_default();
                queued += posts.len();
                // Queue the oldest posts first.
                posts.reverse();
                if posts.len() == moving::MOST {
                    rest.push(author);
                }
                if !posts.is_empty() {
                    commands.push(moving::queue(self.keys(), &posts, self.now()));
                }
            }
            self.send_all("move: queue", commands).await?;
            open = rest;
            start += moving::MOST;
        }
        Ok(queued)
    }
}
