//! The mover: takes posts from Redis to the archive, step by step. The steps are those of [`super`].

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use crate::app::App;
use crate::app::error::Error;
use crate::archive::post::Row;
use crate::model::id::{PostId, UserId};
use crate::model::post::{Delivery, Post};
use crate::store::batch::Batch;
use crate::store::moving::{self, Entry, Outcome, Taken};
use crate::store::post::{self, Record};
use crate::store::user;

/// From when on a mover that is not heard of counts as gone. A turn takes far less.
pub const SILENT_AFTER: Duration = Duration::from_mins(1);
/// How long a mover with nothing to do waits before it looks again.
const IDLE: Duration = Duration::from_secs(1);
/// How long it waits when the store or the archive does not answer: at first, and at most.
const PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(15));
/// How many authors are looked at together for what their lists have no more room for.
const AUTHORS: u64 = 500;

/// Whoever takes posts to the archive. Any number may be at it.
pub struct Mover {
    app: App,
    name: String,
}

/// The records of posts that were taken, by what has to be done with them.
#[derive(Default)]
struct Records {
    live: Vec<Post>,
    tombstones: Vec<(PostId, UserId, Option<Delivery>)>,
    /// Tombstones of which the archive knows.
    settled: Vec<(PostId, UserId)>,
    missing: Vec<PostId>,
}

/// What has become of them in the archive.
#[derive(Default)]
struct Verdict {
    /// The archive has them, whoever wrote them.
    archived: Vec<(PostId, UserId)>,
    /// The archive has something else under their id.
    unmovable: HashSet<PostId>,
    /// The archive knows that they were deleted.
    gone: Vec<(PostId, UserId)>,
    /// Their records must be looked at again.
    changed: HashSet<PostId>,
}

impl App {
    /// A mover.
    #[must_use]
    pub fn mover(&self) -> Mover {
        Mover { name: format!("{:x}", self.chance().nonce()), app: self.clone() }
    }
}

impl Mover {
    /// Works until `stopping` is done, then gives back what is not finished.
    pub async fn work(self, stopping: impl Future<Output = ()>) {
        tokio::select! {
            () = self.keep_working() => {}
            () = stopping => {}
        }
        let give_back = moving::give_back(self.app.keys(), &self.name);
        if let Err(error) = give_back.send("move: give back", self.app.store()).await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(
                error,
                "posts on their way to the archive could not be given back; another mover adopts them"
            );
        }
    }

    async fn keep_working(&self) {
        let mut pause = PAUSE.0;
        let mut is_swept = false;
        loop {
            match self.turn_or_sweep(&mut is_swept).await {
                Ok(had_work) => {
                    if pause > PAUSE.0 {
                        tracing::info!("posts are archived again");
                        pause = PAUSE.0;
                    }
                    if !had_work {
                        tokio::time::sleep(IDLE).await;
                    }
                }
                Err(error) => {
                    // A long outage is told once; the figures tell the rest.
                    if pause == PAUSE.0 {
                        let error = &error as &dyn std::error::Error;
                        tracing::warn!(error, "posts cannot be archived now; they stay where they are");
                    }
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(PAUSE.1);
                }
            }
        }
    }

    async fn turn_or_sweep(&self, is_swept: &mut bool) -> Result<bool, Error> {
        if self.turn(SILENT_AFTER).await? {
            return Ok(true);
        }
        if !*is_swept {
            self.app.queue_beyond_limit().await?;
            *is_swept = true;
        }
        Ok(false)
    }

    /// Works until nothing is left, adopting what movers have left that were not heard of for so long.
    pub async fn drain(&self, silent_after: Duration) -> Result<(), Error> {
        while self.turn(silent_after).await? {}
        if self.app.queue_beyond_limit().await? > 0 {
            while self.turn(silent_after).await? {}
        }
        let give_back = moving::give_back(self.app.keys(), &self.name);
        give_back.send("move: give back", self.app.store()).await?;
        Ok(())
    }

    /// Goes through all steps once. Answers whether there was anything to do.
    pub async fn turn(&self, silent_after: Duration) -> Result<bool, Error> {
        let silent_after = u64::try_from(silent_after.as_millis()).unwrap_or(u64::MAX);
        let take = moving::take(self.app.keys(), &self.name, silent_after);
        let Taken { entries, unknown, silent } = take.send("move: take", self.app.store()).await?;
        let mut adopted = 0;
        for mover in silent {
            let adopt = moving::adopt(self.app.keys(), &mover, &self.name);
            adopted += adopt.send("move: adopt", self.app.store()).await?;
        }
        if entries.is_empty() && unknown.is_empty() {
            return Ok(adopted > 0);
        }
        if !unknown.is_empty() {
            tracing::error!(
                ?unknown,
                "what waits to be archived is not known to this version; it is put aside"
            );
        }
        let mut outcome = self.app.move_posts(&entries).await?;
        outcome.unmovable.extend(unknown);
        moving::finish(self.app.keys(), &self.name, &outcome).send("move: finish", self.app.store()).await?;
        Ok(true)
    }
}

impl App {
    /// Steps 2 to 7.
    async fn move_posts(&self, entries: &[Entry]) -> Result<Outcome, Error> {
        let mut ids: Vec<PostId> = entries.iter().map(|entry| entry.post).collect();
        ids.sort_unstable();
        ids.dedup();
        let records = self.read_records(&ids).await?;
        self.finish_deletions(&records.tombstones).await?;

        let tombstones: Vec<_> = records.tombstones.iter().map(|&(id, author, _)| (id, author)).collect();
        let archive = self.archive().await?;
        if !records.live.is_empty() || !tombstones.is_empty() {
            archive.write(&records.live, &tombstones).await?;
        }
        let rows = archive.read(&ids).await?;
        let mut verdict = judge(&records, rows);

        self.put_away(&verdict.archived).await?;
        self.drop_records(&records, &mut verdict).await?;
        self.forget_gone(&verdict.gone).await?;

        let mut outcome = Outcome::default();
        let archived: HashSet<PostId> = records.live.iter().map(|post| post.id).collect();
        // What has changed stays with the mover.
        for &entry in entries.iter().filter(|entry| !verdict.changed.contains(&entry.post)) {
            let id = entry.post;
            if verdict.unmovable.contains(&id) {
                outcome.unmovable.push(entry.to_string());
            } else if archived.contains(&id) {
                outcome.archived.push(entry);
            } else {
                outcome.settled.push(entry);
            }
        }
        Ok(outcome)
    }

    /// Step 2.
    async fn read_records(&self, ids: &[PostId]) -> Result<Records, Error> {
        let mut batch = Batch::new("move: records");
        let tickets = ids.iter().map(|&id| batch.push(post::read(self.keys(), id))).collect();
        let found = batch.send(self.store()).await?.take_all(tickets)?;
        let mut records = Records::default();
        for (&id, record) in ids.iter().zip(found) {
            match record {
                Record::Live(post) => records.live.push(post),
                Record::Tombstone { author, is_settled: true, .. } => records.settled.push((id, author)),
                Record::Tombstone { author, delivery, is_settled: false } => {
                    records.tombstones.push((id, author, delivery));
                }
                Record::Missing => records.missing.push(id),
            }
        }
        Ok(records)
    }

    /// Step 5.
    async fn put_away(&self, archived: &[(PostId, UserId)]) -> Result<(), Error> {
        let mut batch = Batch::new("move: put away");
        let put = |(author, mut posts): (UserId, Vec<PostId>)| {
            posts.sort_unstable();
            batch.push(moving::put_away(self.keys(), author, &posts))
        };
        let tickets = by_author(archived).into_iter().map(put).collect();
        batch.send(self.store()).await?.take_all(tickets)?;
        Ok(())
    }

    /// Step 6.
    async fn drop_records(&self, records: &Records, verdict: &mut Verdict) -> Result<(), Error> {
        let mut batch = Batch::new("move: drop");
        let is_sure = |id: &PostId| !verdict.unmovable.contains(id) && !verdict.changed.contains(id);
        let drop = |post: &Post| (post.id, batch.push(post::drop(self.keys(), post)));
        let dropped: Vec<_> = records.live.iter().filter(|post| is_sure(&post.id)).map(drop).collect();
        let settle = |&(id, _): &(PostId, UserId)| batch.push(post::settle_tombstone(self.keys(), id));
        let settled = verdict.gone.iter().map(settle).collect();
        let mut replies = batch.send(self.store()).await?;
        for (id, ticket) in dropped {
            if !replies.take(ticket)? {
                verdict.changed.insert(id);
            }
        }
        replies.take_all(settled)?;
        Ok(())
    }

    /// Step 7.
    async fn forget_gone(&self, gone: &[(PostId, UserId)]) -> Result<(), Error> {
        let mut batch = Batch::new("move: gone");
        let forget = |(author, posts): (UserId, Vec<PostId>)| {
            batch.push(moving::forget_gone(self.keys(), author, &posts))
        };
        let tickets = by_author(gone).into_iter().map(forget).collect();
        batch.send(self.store()).await?.take_all(tickets)?;
        Ok(())
    }

    /// Puts all posts among those that wait that are beyond the limit, which may have been lowered since they
    /// were published. Only once for a limit. Answers how many there were.
    async fn queue_beyond_limit(&self) -> Result<usize, Error> {
        let limit = self.0.timeline.post_hot_limit;
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
            let tickets = open.iter().map(read).collect();
            let pages = batch.send(self.store()).await?.take_all(tickets)?;
            let mut batch = Batch::new("move: queue");
            let mut tickets = Vec::new();
            let mut rest = Vec::new();
            for (author, mut posts) in open.into_iter().zip(pages) {
                queued += posts.len();
                // What is oldest goes first.
                posts.reverse();
                if posts.len() == moving::MOST {
                    rest.push(author);
                }
                if !posts.is_empty() {
                    tickets.push(batch.push(moving::queue(self.keys(), &posts, self.now())));
                }
            }
            batch.send(self.store()).await?.take_all(tickets)?;
            open = rest;
            start += moving::MOST;
        }
        Ok(queued)
    }
}

/// Step 4: compares what the archive has with what was there.
fn judge(records: &Records, rows: Vec<Row>) -> Verdict {
    let rows: HashMap<PostId, Row> = rows.into_iter().map(|row| (row.id(), row)).collect();
    let mut verdict = Verdict::default();
    for post in &records.live {
        match rows.get(&post.id) {
            Some(Row::Live(archived)) if says_the_same(archived, post) => {
                verdict.archived.push((post.id, post.author));
            }
            // It was deleted since its record was read; the record will tell.
            Some(Row::Tombstone { author, .. }) if *author == post.author => {
                verdict.changed.insert(post.id);
            }
            row => {
                tracing::error!(post = %post.id, ?row, "the archive has something else under the id of a post, which stays in Redis");
                verdict.unmovable.insert(post.id);
            }
        }
    }
    for &(id, author, _) in &records.tombstones {
        match rows.get(&id) {
            Some(Row::Tombstone { author: archived, .. }) if *archived == author => {
                verdict.gone.push((id, author));
            }
            row => {
                tracing::error!(post = %id, ?row, "the archive has something else under the id of a deleted post");
                verdict.unmovable.insert(id);
            }
        }
    }
    verdict.gone.extend(&records.settled);
    // Who was cut off after dropping a record has taken the post off the list before, as far as Redis
    // remembers; after a loss of its last moments it may not.
    for id in &records.missing {
        match rows.get(id) {
            Some(Row::Live(post)) => verdict.archived.push((*id, post.author)),
            Some(Row::Tombstone { author, .. }) => verdict.gone.push((*id, *author)),
            None => {}
        }
    }
    verdict
}

/// Whether two are one post; how far its delivery is may differ.
fn says_the_same(one: &Post, other: &Post) -> bool {
    let Post { id, author, content, platform, created_at, delivery: _ } = one;
    (id, author, content, platform, created_at)
        == (&other.id, &other.author, &other.content, &other.platform, &other.created_at)
}

fn by_author(posts: &[(PostId, UserId)]) -> BTreeMap<UserId, Vec<PostId>> {
    let mut by_author: BTreeMap<UserId, Vec<PostId>> = BTreeMap::new();
    for &(post, author) in posts {
        by_author.entry(author).or_default().push(post);
    }
    by_author
}
