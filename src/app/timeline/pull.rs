//! What is pulled into a timeline, and what comes into it with a follow.
//!
//! Not here: from whom, and when (`app::timeline`); the edge that a follow writes (`app::relation`).

use crate::app::App;
use crate::app::archive::cold_range;
use crate::app::error::Error;
use crate::app::relation::Edge;
use crate::model::id::{PostId, UserId};
use crate::model::page::{Direction, Window};
use crate::store::batch::{Batch, Ticket};
use crate::store::post::{self, PostPage};
use crate::store::timeline::{self, Merge, Opened, Pulled, View};

/// Fewest posts that are taken of an author at once when those of several are merged.
const FEWEST: usize = 20;

/// How many follows are merged together: each may take as many posts as a timeline holds.
const FOLLOWS: usize = 100;

/// How far back posts are merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// As far as they are in Redis.
    Hot,
    /// As far as there are any.
    Archive,
}

/// Posts of several authors.
pub(super) struct Merged {
    /// In the order in which they are come to.
    pub(super) posts: Vec<PostId>,
    /// The greatest post of one of the authors that has become cold; 0 if none has.
    cold: u64,
}

impl App {
    /// Step 3 of a read: what is to be merged into a timeline that was opened.
    pub(super) async fn pull(&self, opened: &Opened) -> Result<Merge, Error> {
        match opened.mark {
            Some(mark) => self.pull_above(&opened.sources, mark).await,
            None => self.pull_all(&opened.sources).await,
        }
    }

    fn capacity(&self) -> usize {
        self.0.rules.timeline.timeline_capacity as usize
    }

    /// The posts of these authors above a mark. One round trip.
    async fn pull_above(&self, authors: &[UserId], mark: u64) -> Result<Merge, Error> {
        let sources: Vec<(UserId, u64)> = authors.iter().map(|&author| (author, mark)).collect();
        let mut posts = Vec::new();
        let mut cut = 0;
        for pulled in self.pull_each("timeline: pull", &sources).await? {
            cut = cut.max(pulled.cut());
            posts.extend(pulled.posts);
        }
        Ok(self.merge_of(posts, cut))
    }

    /// The posts of each of these authors above a mark of its own. Nothing of those of whom nothing can be read.
    /// One round trip.
    async fn pull_each(&self, step: &'static str, sources: &[(UserId, u64)]) -> Result<Vec<Pulled>, Error> {
        let mut batch = Batch::new(step);
        let pull = |&(author, mark): &(UserId, u64)| {
            batch.push(timeline::pull(self.keys(), author, mark, self.capacity()))
        };
        let tickets: Vec<_> = sources.iter().map(pull).collect();
        let mut replies = batch.send(self.store()).await?;
        let take = |((author, _), ticket): (&(UserId, u64), _)| {
            let pulled = replies.take_readable(ticket, "posts", author.get())?;
            Ok(pulled.unwrap_or_default())
        };
        sources.iter().zip(tickets).map(take).collect()
    }

    /// As many of the newest posts of these authors as a timeline holds.
    async fn pull_all(&self, authors: &[UserId]) -> Result<Merge, Error> {
        let window = Window { direction: Direction::Forward, size: self.capacity() + 1, from: None };
        let Merged { posts, cold } = self.merge_posts("timeline: pull", Reach::Hot, authors, &window).await?;
        Ok(self.merge_of(posts, cold))
    }

    /// The posts of a window that these authors have, in the order in which they are come to from its
    /// position: as many as its size or, where more are known, more. One round trip where they post about equally much; else another one or two, for those
    /// who post much. With as many queries to the archive, if it may have any of them.
    pub(super) async fn merge_posts(
        &self,
        step: &'static str,
        reach: Reach,
        authors: &[UserId],
        window: &Window<PostId>,
    ) -> Result<Merged, Error> {
        let Window { direction, size, from } = *window;
        let mut limit = FEWEST.max(2 * size / authors.len().max(1)).min(size);
        let mut open: Vec<(UserId, Option<PostId>)> = authors.iter().map(|&author| (author, from)).collect();
        let mut posts: Vec<PostId> = Vec::new();
        let mut greatest_cold = 0;
        // How far the posts of all authors are known.
        let mut known_to: Option<PostId> = None;
        while !open.is_empty() {
            let mut unfinished = Vec::new();
            for (author, part) in self.read_parts(step, reach, &open, direction, limit).await? {
                greatest_cold = greatest_cold.max(part.greatest_cold);
                unfinished.extend(part.goes_on_from.map(|from| (author, from)));
                posts.extend(part.posts);
            }
            posts.sort_unstable();
            // While it moved, a post may have been in both.
            posts.dedup();
            if direction == Direction::Forward {
                posts.reverse();
            }
            // Who has not come beyond the last that there is room for may have more that come before it.
            let last = size.checked_sub(1).and_then(|last| posts.get(last)).copied();
            let may_have_more = |outermost: PostId| match (last, direction) {
                (None, _) => size > 0,
                (Some(last), Direction::Forward) => outermost > last,
                (Some(last), Direction::Backward) => outermost < last,
            };
            unfinished.retain(|&(_, outermost)| {
                let is_open = may_have_more(outermost);
                if !is_open {
                    let nearest = match direction {
                        Direction::Forward => known_to.max(Some(outermost)),
                        Direction::Backward => Some(known_to.map_or(outermost, |known| known.min(outermost))),
                    };
                    known_to = nearest;
                }
                is_open
            });
            open = unfinished.into_iter().map(|(author, outermost)| (author, Some(outermost))).collect();
            limit = (limit * 4).min(size);
        }
        if let Some(known_to) = known_to {
            posts.retain(|&post| match direction {
                Direction::Forward => post >= known_to,
                Direction::Backward => post <= known_to,
            });
        }
        Ok(Merged { posts, cold: greatest_cold })
    }

    /// The posts of each of these authors from a position of its own on: what Redis has, and then what the
    /// archive has as far as Redis has told. Authors of whom nothing can be read are left out. One round trip, and a
    /// query if the archive may have any.
    async fn read_parts(
        &self,
        step: &'static str,
        reach: Reach,
        open: &[(UserId, Option<PostId>)],
        direction: Direction,
        limit: usize,
    ) -> Result<Vec<(UserId, Part)>, Error> {
        let window = |from| Window { direction, size: limit, from };
        let mut batch = Batch::new(step);
        let read = |&(author, from): &(UserId, _)| batch.push(post::page(self.keys(), author, &window(from)));
        let tickets: Vec<_> = open.iter().map(read).collect();
        let mut replies = batch.send(self.store()).await?;

        let mut ranges = Vec::new();
        let mut parts = Vec::with_capacity(open.len());
        for (&(author, from), ticket) in open.iter().zip(tickets) {
            let Some(page) = replies.take_readable(ticket, "posts", author.get())? else { continue };
            let range = cold_range(author, &window(from), &page).filter(|_| reach == Reach::Archive);
            let index = range.map(|_| ranges.len());
            ranges.extend(range);
            parts.push((author, Part::of(page, direction), index));
        }
        if !ranges.is_empty() {
            let found = Box::pin(self.archived_ids(&ranges)).await?;
            for (_, part, index) in &mut parts {
                if let Some(index) = *index {
                    part.add(&found[index], limit);
                }
            }
        }
        Ok(parts.into_iter().map(|(author, part, _)| (author, part)).collect())
    }

    /// Posts as they are merged: greatest first, each once, and no more than there is room for.
    fn merge_of(&self, mut posts: Vec<PostId>, mut cut: u64) -> Merge {
        posts.sort_unstable_by(|one, other| other.cmp(one));
        posts.dedup();
        if let Some(first) = posts.get(self.capacity()) {
            cut = cut.max(first.get());
            posts.truncate(self.capacity());
        }
        Merge { posts, cut, pull: None }
    }

    /// How far down each follower's timeline is complete; `None` for those who have none.
    pub(in crate::app) fn floor_of(&self, batch: &mut Batch, follower: UserId) -> Ticket<Option<View>> {
        let nothing = Window { direction: Direction::Forward, size: 0, from: None };
        batch.push(timeline::view(self.keys(), follower, None, &nothing))
    }

    /// Merges what the followed have posted into the timelines of their followers, down to where these
    /// are complete. Called after every write of a mirror that adds: whatever is published from then on
    /// is delivered, and whatever was published before is found here. Two round trips for
    /// a hundred of them.
    pub(in crate::app) async fn merge_followed(&self, follows: &[(Edge, View)]) -> Result<(), Error> {
        for follows in follows.chunks(FOLLOWS) {
            self.merge_some_followed(follows).await?;
        }
        Ok(())
    }

    async fn merge_some_followed(&self, follows: &[(Edge, View)]) -> Result<(), Error> {
        let sources = |(edge, view): &(Edge, View)| (edge.followee, view.floor.saturating_sub(1));
        let sources: Vec<_> = follows.iter().map(sources).collect();
        let pulled = self.pull_each("edge: posts", &sources).await?;
        let nothing = Window { direction: Direction::Forward, size: 0, from: None };
        let mut batch = Batch::new("edge: merge");
        let mut tickets = Vec::new();
        for ((edge, _), pulled) in follows.iter().zip(pulled) {
            let cut = pulled.cut();
            let merge = self.merge_of(pulled.posts, cut);
            if merge.posts.is_empty() && merge.cut == 0 {
                continue;
            }
            let capacity = self.0.rules.timeline.timeline_capacity;
            let merge = timeline::merge(self.keys(), edge.follower, capacity, &merge, &nothing);
            tickets.push((edge.follower, batch.push(merge)));
        }
        let mut replies = batch.send(self.store()).await?;
        for (follower, ticket) in tickets {
            replies.take_readable(ticket, "timeline", follower.get())?;
        }
        Ok(())
    }
}

/// Some posts of one author.
struct Part {
    /// In any order.
    posts: Vec<PostId>,
    /// From where there are more, if there are.
    goes_on_from: Option<PostId>,
    /// The greatest that has become cold; 0 if none has.
    greatest_cold: u64,
}

impl Part {
    fn of(PostPage { page, cold, .. }: PostPage, direction: Direction) -> Self {
        let (outermost, more) = match direction {
            Direction::Forward => (page.entries.last(), page.has_next),
            Direction::Backward => (page.entries.first(), page.has_previous),
        };
        Self {
            goes_on_from: outermost.copied().filter(|_| more),
            posts: page.entries.to_vec(),
            greatest_cold: cold.greatest,
        }
    }

    /// Adds what the archive has, in the order in which it is come to. Where it was not all told, the part
    /// ends.
    fn add(&mut self, archived: &[PostId], limit: usize) {
        self.posts.extend(archived);
        if let Some(last) = archived.last().filter(|_| archived.len() == limit) {
            self.goes_on_from = Some(*last);
        }
    }
}

impl Pulled {
    /// What was pulled is complete above this post.
    fn cut(&self) -> u64 {
        self.cold.max(self.beyond.map_or(0, PostId::get))
    }
}
