//! The mover: takes posts from Redis to the archive, step by step. The steps are those of [`super`].

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use crate::app::App;
use crate::app::archive::Transit;
use crate::app::error::Error;
use crate::archive::post::Row;
use crate::model::id::{PostId, UserId};
use crate::model::post::Post;
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
    tombstones: Vec<(PostId, UserId)>,
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
    /// The archive knows that they were deleted, but Redis did not when it was asked.
    deleted: Vec<(PostId, UserId)>,
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
        // What was told of an outage is not told again; the figures tell the rest.
        let mut told = None;
        loop {
            match self.turn_or_sweep(&mut is_swept).await {
                Ok(had_work) => {
                    if told.take().is_some() {
                        tracing::info!("posts are archived again");
                    }
                    pause = PAUSE.0;
                    if !had_work {
                        tokio::time::sleep(IDLE).await;
                    }
                }
                Err(error) => {
                    let causes = causes(&error);
                    if told.as_ref() != Some(&causes) {
                        tracing::warn!(causes, "posts cannot be archived now; they stay where they are");
                        told = Some(causes);
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

    /// Works until nothing is left, also with other movers; adopts what those have left that were not heard of
    /// for so long.
    pub async fn drain(&self, silent_after: Duration) -> Result<(), Error> {
        let drained = self.drain_all(silent_after).await;
        let give_back = moving::give_back(self.app.keys(), &self.name);
        give_back.send("move: give back", self.app.store()).await?;
        drained
    }

    async fn drain_all(&self, silent_after: Duration) -> Result<(), Error> {
        loop {
            while self.turn(silent_after).await? {}
            let queued = self.app.queue_beyond_limit().await?;
            let Transit { pending, moving, .. } = self.app.transit().await?;
            if queued == 0 && pending + moving == 0 {
                return Ok(());
            }
            if pending == 0 {
                tokio::time::sleep(IDLE).await;
            }
        }
    }

    /// Goes through all steps once. Answers whether there was anything to do.
    pub async fn turn(&self, silent_after: Duration) -> Result<bool, Error> {
        let silent_after = u64::try_from(silent_after.as_millis()).unwrap_or(u64::MAX);
        let Taken { entries, unknown, silent } = self.take(silent_after).await?;
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
        let mut outcome = self.app.move_all(&entries).await?;
        outcome.unmovable.extend(unknown);
        moving::finish(self.app.keys(), &self.name, &outcome).send("move: finish", self.app.store()).await?;
        Ok(true)
    }

    /// Step 1, unless the posts of this store go to another archive by now.
    async fn take(&self, silent_after: u64) -> Result<Taken, Error> {
        let (_, identity) = self.app.bound_archive().await?;
        let mut batch = Batch::new("move: take");
        let taken = batch.push(moving::take(self.app.keys(), &self.name, silent_after));
        let bound = batch.push(moving::archive(self.app.keys()));
        let mut replies = batch.send(self.app.store()).await?;
        let taken = replies.take(taken)?;
        match replies.take(bound)? {
            Some(bound) if bound == identity => Ok(taken),
            _ => Err(self.app.foreign_archive()),
        }
    }
}

/// What an error says, and why.
fn causes(error: &Error) -> String {
    let mut causes = error.to_string();
    let mut next = std::error::Error::source(error);
    while let Some(cause) = next {
        causes.push_str(": ");
        causes.push_str(&cause.to_string());
        next = cause.source();
    }
    causes
}

impl App {
    /// Steps 2 to 7 for all of them, or, if that fails for what is in one of them, for one after the other;
    /// those that fail are put aside.
    async fn move_all(&self, entries: &[Entry]) -> Result<Outcome, Error> {
        let error = match self.move_posts(entries).await {
            Err(error) if error.is_about_data() => error,
            moved => return moved,
        };
        // Should the archive fail as a whole, it is nobody's fault.
        self.archive().await?.greatest_post().await.map_err(|_| error)?;
        let mut all = Outcome::default();
        for entry in entries {
            match self.move_posts(&[*entry]).await {
                Ok(Outcome { archived, unmovable, settled }) => {
                    all.archived.extend(archived);
                    all.unmovable.extend(unmovable);
                    all.settled.extend(settled);
                }
                Err(error) if error.is_about_data() => {
                    tracing::error!(causes = causes(&error), post = %entry.post, "a post cannot be archived; it is put aside");
                    all.unmovable.push(entry.to_string());
                }
                Err(error) => return Err(error),
            }
        }
        Ok(all)
    }

    /// Steps 2 to 7.
    async fn move_posts(&self, entries: &[Entry]) -> Result<Outcome, Error> {
        let mut ids: Vec<PostId> = entries.iter().map(|entry| entry.post).collect();
        ids.sort_unstable();
        ids.dedup();
        let records = self.read_records(&ids).await?;
        self.unlist_moving(&records.tombstones).await?;

        let archive = self.archive().await?;
        if !records.live.is_empty() || !records.tombstones.is_empty() {
            archive.write(&records.live, &records.tombstones).await?;
        }
        let rows = archive.read(&ids).await?;
        let mut verdict = judge(&records, rows);

        self.erase_again(&verdict.deleted).await?;
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
                Record::Tombstone { author, is_settled: true } => records.settled.push((id, author)),
                Record::Tombstone { author, is_settled: false } => records.tombstones.push((id, author)),
                Record::Missing => records.missing.push(id),
            }
        }
        Ok(records)
    }

    /// Makes tombstones of records, which then are gone through again: the posts have been deleted since they
    /// were read, or Redis has lost its last moments and forgotten that.
    async fn erase_again(&self, deleted: &[(PostId, UserId)]) -> Result<(), Error> {
        let mut batch = Batch::new("move: erase");
        let erase =
            |&(id, author): &(PostId, UserId)| batch.push(post::erase(self.keys(), author, id, false));
        let tickets = deleted.iter().map(erase).collect();
        batch.send(self.store()).await?.take_all(tickets)?;
        Ok(())
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
            Some(Row::Tombstone { author, .. }) if *author == post.author => {
                verdict.deleted.push((post.id, post.author));
                verdict.changed.insert(post.id);
            }
            row => {
                let archived_author = row.map(|row| row.author().get());
                tracing::error!(
                    post = %post.id, author = %post.author, archived_author,
                    "the archive has something else under the id of a post, which stays in Redis"
                );
                verdict.unmovable.insert(post.id);
            }
        }
    }
    for &(id, author) in &records.tombstones {
        match rows.get(&id) {
            Some(Row::Tombstone { author: archived, .. }) if *archived == author => {
                verdict.gone.push((id, author));
            }
            row => {
                let archived_author = row.map(|row| row.author().get());
                tracing::error!(
                    post = %id, %author, archived_author,
                    "the archive has something else under the id of a deleted post"
                );
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
