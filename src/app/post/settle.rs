//! Repair of posts whose publishers were interrupted.

use std::collections::HashMap;

use crate::app::App;
use crate::app::deadline::{ABANDONED_AFTER, REPAIRED_AFTER};
use crate::app::error::Error;
use crate::app::post::Queue;
use crate::archive::post::Row;
use crate::model::id::{PostId, UserId};
use crate::store::batch::Batch;
use crate::store::draft::{self, Draft};
use crate::store::intent::Operation;
use crate::store::post::{self, Record, Settled};

/// Maximum number of notes read per batch.
const NOTES: usize = 1_000;

impl App {
    /// Finishes publishing posts that became visible but whose publishers were probably interrupted. Revokes
    /// posts that are not visible and can no longer have an active publisher. Returns the number of notes
    /// examined. The next round retries posts that could not be settled.
    pub(in crate::app) async fn repair_publishing(&self) -> Result<usize, Error> {
        let latest = self.now().minus(REPAIRED_AFTER);
        let (mut seen, mut start) = (0, 0);
        loop {
            let notes = draft::publishing(self.keys(), start, NOTES);
            let notes = notes.send("repair: publishing", self.store()).await?;
            let count = notes.len();
            let known = notes.into_iter().flatten();
            let old: Vec<Draft> = known.filter(|draft| draft.note.began <= latest).collect();
            seen += old.len();
            let settled = self.settle_all(&old).await?;
            if count < NOTES {
                return Ok(seen);
            }
            start += count - settled;
        }
    }

    /// Settles as many of these drafts as possible, all together or, if that fails, one by one. Returns the
    /// number of settled drafts.
    async fn settle_all(&self, drafts: &[Draft]) -> Result<usize, Error> {
        match self.settle_some(drafts).await {
            Err(error) if !self.gives_up_after(&error) => {}
            settled => return settled,
        }
        let mut settled = 0;
        for draft in drafts {
            match self.settle_some(&[*draft]).await {
                Ok(count) => settled += count,
                Err(error) => {
                    let error = &error as &dyn std::error::Error;
                    tracing::error!(error, post = %draft.id, "an unfinished post could not be settled; retrying later");
                }
            }
        }
        Ok(settled)
    }

    async fn settle_some(&self, drafts: &[Draft]) -> Result<usize, Error> {
        let (now, abandoned) = (self.now(), self.now().minus(ABANDONED_AFTER));
        let settle = |draft: &Draft| {
            let is_abandoned = draft.note.began <= abandoned;
            post::settle_if_possible(self.keys(), draft, is_abandoned, now, self.sizes())
        };
        let outcomes = self.send_all("repair: revoke post", drafts.iter().map(settle)).await?;

        let cold = drafts.iter().zip(&outcomes).filter(|(_, outcome)| **outcome == Settled::Cold);
        let cold: Vec<Draft> = cold.map(|(draft, _)| *draft).collect();
        // If the archive is unavailable, leave these drafts for the next round.
        let archived = self.rows_of(&cold).await;
        let mut batch = Batch::new("repair: post");
        let mut settled = Vec::new();
        let mut buried = Vec::new();
        let mut visible = Vec::new();
        for (draft, outcome) in drafts.iter().zip(outcomes) {
            let mut record = || batch.push(post::read(self.keys(), draft.id));
            match (outcome, &archived) {
                (Settled::Visible(cold), _) => visible.push((draft, cold, None, record())),
                (Settled::Cold, Ok(rows)) if rows.contains_key(&draft.id) => {
                    visible.push((draft, Vec::new(), rows[&draft.id].clone().live(), record()));
                }
                (Settled::Revoked, _) | (Settled::Cold, Ok(_)) => {
                    buried.push(batch.push(post::bury(self.keys(), draft)));
                }
                (Settled::Open | Settled::Reposted(_), _) | (Settled::Cold, Err(_)) => continue,
            }
            settled.push(*draft);
        }
        let mut replies = batch.send(self.store()).await?;
        replies.take_all(buried)?;
        let mut queue = Queue::default();
        let mut referring = Vec::new();
        for (draft, cold, archived, record) in visible {
            let (delivery, refers) = match replies.take(record)? {
                Record::Live(post) => (Some(post.delivery), post.details.references.refers_to_posts()),
                Record::Tombstone { references, .. } => (None, references.refers_to_posts()),
                Record::Revoked { .. } => (None, false),
                Record::Missing => (archived.map(|post| post.delivery), true),
            };
            let (author, post) = (draft.note.author, draft.id);
            queue.add(author, post, delivery, cold);
            if refers {
                referring.push(Operation::Refer { author, post });
            }
        }
        if !referring.is_empty() {
            // The publisher may still enter the post in the lists of others, even after the post is deleted. Since the
            // note is removed, an intent takes its place.
            let intents = self.intents(referring);
            self.record(&intents, &self.deadline()).await?;
        }
        if !settled.is_empty() {
            self.finish(queue, &settled, "repair: settle").await?;
        }
        Ok(settled.len())
    }

    /// Returns the archive rows of these drafts. Only drafts whose posts became visible and were then
    /// archived have a row.
    pub(super) async fn rows_of(&self, drafts: &[Draft]) -> Result<HashMap<PostId, Row>, Error> {
        if drafts.is_empty() {
            return Ok(HashMap::new());
        }
        let authors: HashMap<PostId, UserId> =
            drafts.iter().map(|draft| (draft.id, draft.note.author)).collect();
        let ids: Vec<PostId> = authors.keys().copied().collect();
        let rows = self.archive().await?.read(&ids).await?;
        let is_meant = |row: &Row| authors[&row.id()] == row.author();
        Ok(rows.into_iter().filter(is_meant).map(|row| (row.id(), row)).collect())
    }
}
