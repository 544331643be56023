//! Writes again what is kept beside the list of an author's hot posts: creation times that an earlier version did not
//! write, and creation times and sets of follower-only posts that are wrong.
//!
//! Publishing, deleting and archiving a post keep both (`store/lua/part/times.lua`).

use crate::app::App;
use crate::app::check::{Finding, Findings};
use crate::app::error::Error;
use crate::model::clock::Timestamp;
use crate::model::id::{PostId, UserId};
use crate::model::post::Visibility;
use crate::store::batch::Batch;
use crate::store::post::{self, Record};
use crate::store::post_times::{self, Beside, Stored, time_element};
use crate::store::unreadable::readable;

/// Maximum number of records per batch.
const RECORDS: usize = 1_000;
/// Number of attempts to write for an author who keeps publishing.
const ATTEMPTS: usize = 5;

/// The parts of a post's record that are also kept beside the list; each `None` if it is unknown.
#[derive(Clone, Copy, Default)]
struct Known {
    time: Option<Timestamp>,
    visibility: Option<Visibility>,
}

impl App {
    /// Writes the creation times of an author's hot posts, and the set of those that only followers can see. Makes two
    /// round trips, plus one per [`RECORDS`] posts. Leaves them as they are if the author's posts keep changing.
    pub(in crate::app) async fn write_times(&self, author: UserId) -> Result<(), Error> {
        for _ in 0..ATTEMPTS {
            let Stored { posts, limited, .. } =
                post_times::stored(self.keys(), author).send("times: posts", self.store()).await?;
            let known = self.read_known(&posts).await?;
            // A post without a record is not shown. The time of its neighbor keeps the order.
            let mut last = known.iter().find_map(|known| known.time).unwrap_or(Timestamp::from_millis(0));
            let beside = posts.into_iter().zip(known).map(|(post, Known { time, visibility })| {
                last = time.unwrap_or(last);
                let was_limited = || limited.contains_key(&post);
                let is_limited = visibility.map_or_else(was_limited, |visibility| !visibility.is_public());
                Beside { post, time: last, is_limited }
            });
            let write = post_times::write(self.keys(), author, &beside.collect::<Vec<_>>());
            if write.send("times: write", self.store()).await? {
                break;
            }
        }
        Ok(())
    }

    /// Reads the records of these posts.
    async fn read_known(&self, posts: &[PostId]) -> Result<Vec<Known>, Error> {
        let mut known = Vec::with_capacity(posts.len());
        for posts in posts.chunks(RECORDS) {
            let read = post::read_all(self.keys(), posts.to_vec());
            for (id, record) in read.send("times: records", self.store()).await? {
                known.push(match readable(record, "post", id.get())? {
                    Some(Record::Live(post)) => {
                        Known { time: Some(post.created_at), visibility: Some(post.visibility) }
                    }
                    Some(Record::Tombstone { visibility, .. }) => {
                        Known { time: None, visibility: Some(visibility) }
                    }
                    _ => Known::default(),
                });
            }
        }
        Ok(known)
    }

    /// Counts these authors whose hot posts have wrong creation times, or a wrong set of those that only followers can
    /// see. With `repair`, writes both again.
    pub(in crate::app) async fn check_times(
        &self,
        authors: &[UserId],
        repair: bool,
    ) -> Result<Findings, Error> {
        let mut findings = Findings::default();
        for (author, stored) in self.stored_posts(authors).await? {
            if self.faults_of(&stored).await? == Findings::default() {
                continue;
            }
            // A server may have written between the two reads.
            let again = post_times::stored(self.keys(), author).send("check: times", self.store()).await?;
            let found = self.faults_of(&again).await?;
            findings += found;
            if repair && found.faults() > 0 {
                self.write_times(author).await?;
            }
        }
        Ok(findings)
    }

    /// Returns the hot posts of these authors with what is kept beside them. Omits unreadable lists. Makes one round
    /// trip.
    pub(in crate::app) async fn stored_posts(
        &self,
        authors: &[UserId],
    ) -> Result<Vec<(UserId, Stored)>, Error> {
        let mut batch = Batch::new("check: times");
        let read = |&author: &UserId| batch.push(post_times::stored(self.keys(), author));
        let tickets: Vec<_> = authors.iter().map(read).collect();
        let mut replies = batch.send(self.store()).await?;
        let mut found = Vec::with_capacity(authors.len());
        for (&author, ticket) in authors.iter().zip(tickets) {
            if let Some(stored) = replies.take_readable(ticket, "posts", author.get())? {
                found.push((author, stored));
            }
        }
        Ok(found)
    }

    /// Compares what is kept beside an author's hot posts with their records.
    async fn faults_of(&self, Stored { posts, times, limited }: &Stored) -> Result<Findings, Error> {
        let known = self.read_known(posts).await?;
        let is_right = |((post, known), element): ((&PostId, &Known), &String)| {
            known.time.is_none_or(|time| time_element(*post, time) == *element)
        };
        let is_timed = posts.len() == times.len() && posts.iter().zip(&known).zip(times).all(is_right);
        let is_as_set = |(post, known): (&PostId, &Known)| {
            let stored = limited.get(post);
            let has_right_time = stored.zip(known.time).is_none_or(|(stored, time)| *stored == time);
            let is_limited = known.visibility.map(|visibility| !visibility.is_public());
            has_right_time && is_limited.is_none_or(|is_limited| is_limited == stored.is_some())
        };
        // The set has no other posts.
        let is_limited = posts.iter().zip(&known).all(is_as_set)
            && posts.iter().filter(|post| limited.contains_key(post)).count() == limited.len();
        let count = |is_right: bool| u64::from(!is_right);
        Ok(Findings::from([
            (Finding::Mistimed, count(is_timed)),
            (Finding::WrongVisibilities, count(is_limited)),
        ]))
    }
}
