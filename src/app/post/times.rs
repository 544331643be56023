//! Writes the creation times of hot posts anew: of posts that an earlier version published without them, and of posts
//! whose times are wrong.
//!
//! Publishing, deleting and archiving a post keep the times (`store/lua/part/times.lua`).

use crate::app::App;
use crate::app::error::Error;
use crate::model::clock::Timestamp;
use crate::model::id::{PostId, UserId};
use crate::store::batch::Batch;
use crate::store::post::{self, Record};
use crate::store::unreadable::readable;
use crate::store::user;

/// Maximum number of authors per batch.
const AUTHORS: u64 = 500;
/// Maximum number of records per batch.
const RECORDS: usize = 1_000;
/// Number of attempts to write the times of an author who keeps publishing.
const ATTEMPTS: usize = 5;

/// An author's hot posts, in list order, each with the creation time in its record; `None` for a post without a record.
type Timed = Vec<(PostId, Option<Timestamp>)>;

impl App {
    /// Writes the missing creation times of all authors' hot posts, once per store. Makes one round trip if that has
    /// been done.
    pub(in crate::app) async fn write_missing_times(&self) -> Result<(), Error> {
        if post::has_all_times(self.keys()).send("times: all", self.store()).await? {
            return Ok(());
        }
        let last = user::last_id(self.keys()).send("times: authors", self.store()).await?;
        for first in (1..=last).step_by(usize::try_from(AUTHORS).unwrap_or(usize::MAX)) {
            let authors: Vec<UserId> =
                (first..=last.min(first + AUTHORS - 1)).filter_map(UserId::new).collect();
            for (author, (posts, times)) in self.listed_posts(&authors).await? {
                if posts.len() as u64 != times {
                    self.write_times(author).await?;
                }
            }
        }
        post::note_all_times(self.keys()).send("times: note all", self.store()).await?;
        Ok(())
    }

    /// Returns the hot posts of these authors, and the number of their creation times. Omits unreadable lists. Makes one
    /// round trip.
    async fn listed_posts(&self, authors: &[UserId]) -> Result<Vec<(UserId, (Vec<PostId>, u64))>, Error> {
        let mut batch = Batch::new("times: listed");
        let read = |&author: &UserId| batch.push(post::listed(self.keys(), author));
        let tickets: Vec<_> = authors.iter().map(read).collect();
        let mut replies = batch.send(self.store()).await?;
        let mut found = Vec::with_capacity(authors.len());
        for (&author, ticket) in authors.iter().zip(tickets) {
            if let Some(listed) = replies.take_readable(ticket, "posts", author.get())? {
                found.push((author, listed));
            }
        }
        Ok(found)
    }

    /// Writes the creation times of an author's hot posts. Makes two round trips, plus one per [`RECORDS`] posts.
    async fn write_times(&self, author: UserId) -> Result<(), Error> {
        for _ in 0..ATTEMPTS {
            let timed = self.timed_posts(author).await?;
            let write = post::write_times(self.keys(), author, &timed);
            if write.send("times: write", self.store()).await? {
                break;
            }
        }
        Ok(())
    }

    async fn timed_posts(&self, author: UserId) -> Result<Timed, Error> {
        let (posts, _) = post::listed(self.keys(), author).send("times: posts", self.store()).await?;
        let mut timed = Vec::with_capacity(posts.len());
        for posts in posts.chunks(RECORDS) {
            let read = post::read_all(self.keys(), posts.to_vec());
            for (id, record) in read.send("times: records", self.store()).await? {
                let time = match readable(record, "post", id.get())? {
                    Some(Record::Live(post)) => Some(post.created_at),
                    _ => None,
                };
                timed.push((id, time));
            }
        }
        Ok(timed)
    }

    /// Counts these authors whose hot posts have wrong creation times. With `repair`, writes the times anew.
    pub(in crate::app) async fn check_times(&self, authors: &[UserId], repair: bool) -> Result<u64, Error> {
        let mut faults = 0;
        for (author, (posts, times)) in self.listed_posts(authors).await? {
            if posts.is_empty() && times == 0 {
                continue;
            }
            // A server may have written between the two reads.
            if self.has_right_times(author).await? || self.has_right_times(author).await? {
                continue;
            }
            faults += 1;
            if repair {
                self.write_times(author).await?;
            }
        }
        Ok(faults)
    }

    async fn has_right_times(&self, author: UserId) -> Result<bool, Error> {
        let times = post::times(self.keys(), author).send("check: times", self.store()).await?;
        let timed = self.timed_posts(author).await?;
        let is_right = |((_, expected), time): (&(PostId, Option<Timestamp>), &Option<Timestamp>)| {
            expected.is_none() || expected == time
        };
        Ok(times.len() == timed.len() && timed.iter().zip(&times).all(is_right))
    }
}
