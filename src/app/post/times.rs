//! Writes the creation times of hot posts again: of posts that an earlier version published without them, and of posts
//! whose times are wrong.
//!
//! Publishing, deleting and archiving a post keep the times (`store/lua/part/times.lua`).

use crate::app::App;
use crate::app::error::Error;
use crate::model::clock::Timestamp;
use crate::model::id::{PostId, UserId};
use crate::store::batch::Batch;
use crate::store::post::{self, Record};
use crate::store::post_list::{self, Timed, time_element};
use crate::store::unreadable::readable;

/// Maximum number of records per batch.
const RECORDS: usize = 1_000;
/// Number of attempts to write the times of an author who keeps publishing.
const ATTEMPTS: usize = 5;

impl App {
    /// Writes the creation times of an author's hot posts. Makes two round trips, plus one per [`RECORDS`] posts. Leaves
    /// them unknown if the author's posts keep changing.
    pub(in crate::app) async fn write_times(&self, author: UserId) -> Result<(), Error> {
        for _ in 0..ATTEMPTS {
            let (posts, _) = post_list::timed(self.keys(), author).send("times: posts", self.store()).await?;
            let times = self.read_times(&posts).await?;
            // A post without a record is not shown. The time of its neighbor keeps the order.
            let mut last = times.iter().flatten().next().copied().unwrap_or(Timestamp::from_millis(0));
            let timed = posts.into_iter().zip(times).map(|(post, time)| {
                last = time.unwrap_or(last);
                (post, last)
            });
            let write = post_list::write_times(self.keys(), author, &timed.collect::<Vec<_>>());
            if write.send("times: write", self.store()).await? {
                break;
            }
        }
        Ok(())
    }

    /// Reads the creation times in the records of these posts; `None` for a post without a record.
    async fn read_times(&self, posts: &[PostId]) -> Result<Vec<Option<Timestamp>>, Error> {
        let mut times = Vec::with_capacity(posts.len());
        for posts in posts.chunks(RECORDS) {
            let read = post::read_all(self.keys(), posts.to_vec());
            for (id, record) in read.send("times: records", self.store()).await? {
                times.push(match readable(record, "post", id.get())? {
                    Some(Record::Live(post)) => Some(post.created_at),
                    _ => None,
                });
            }
        }
        Ok(times)
    }

    /// Counts these authors whose hot posts have wrong creation times. With `repair`, writes the times again.
    pub(in crate::app) async fn check_times(&self, authors: &[UserId], repair: bool) -> Result<u64, Error> {
        let mut faults = 0;
        for (author, timed) in self.timed_posts(authors).await? {
            if self.is_right(&timed).await? {
                continue;
            }
            // A server may have written between the two reads.
            let again = post_list::timed(self.keys(), author).send("check: times", self.store()).await?;
            if self.is_right(&again).await? {
                continue;
            }
            faults += 1;
            if repair {
                self.write_times(author).await?;
            }
        }
        Ok(faults)
    }

    /// Returns the hot posts of these authors with their times. Omits unreadable lists. Makes one round trip.
    async fn timed_posts(&self, authors: &[UserId]) -> Result<Vec<(UserId, Timed)>, Error> {
        let mut batch = Batch::new("check: times");
        let read = |&author: &UserId| batch.push(post_list::timed(self.keys(), author));
        let tickets: Vec<_> = authors.iter().map(read).collect();
        let mut replies = batch.send(self.store()).await?;
        let mut found = Vec::with_capacity(authors.len());
        for (&author, ticket) in authors.iter().zip(tickets) {
            if let Some(timed) = replies.take_readable(ticket, "posts", author.get())? {
                found.push((author, timed));
            }
        }
        Ok(found)
    }

    async fn is_right(&self, (posts, elements): &Timed) -> Result<bool, Error> {
        let times = self.read_times(posts).await?;
        let is_right = |((post, time), element): ((&PostId, &Option<Timestamp>), &String)| {
            time.is_none_or(|time| time_element(*post, time) == *element)
        };
        Ok(posts.len() == elements.len() && posts.iter().zip(&times).zip(elements).all(is_right))
    }
}
