//! Merges the posts of several authors into one order.
//!
//! Each author has a list of their own, so a merge reads every list as far as the window reaches. With more
//! than [`MANY`] authors, it first reads only each author's *nearest* post: the first post in the window's
//! direction, which is the newest or the oldest. That read is far cheaper than reading a page. The merge then
//! reads pages only for authors who can have posts in the window.
//!
//! Not here: the choice of authors, and the use of the result (`app::timeline`, `app::timeline::pull`).

use crate::app::App;
use crate::app::archive::cold_range;
use crate::app::error::Error;
use crate::model::id::{PostId, UserId};
use crate::model::mark::Mark;
use crate::model::page::{Direction, Window};
use crate::store::batch::Batch;
use crate::store::post_list::{self, Nearest, PostPage};

/// Minimum number of posts read per author when a merge has several authors.
const FEWEST: usize = 20;

/// Number of authors above which a merge reads their nearest posts first. Also the size of the sample that
/// decides if reading the nearest posts of the remaining authors is worthwhile.
const MANY: usize = 1_000;

/// The storage from which a merge reads posts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Redis only.
    Hot,
    /// Redis and the archive.
    Archive,
}

/// The merged posts of several authors.
pub(super) struct Merged {
    /// The posts, ordered in the window's direction.
    pub(super) posts: Vec<PostId>,
    /// A mark that covers all of the authors' cold posts.
    pub(super) cold: Mark,
}

/// An author with unread posts.
#[derive(Clone, Copy)]
struct Open {
    author: UserId,
    /// The position to read from; `None` for the start.
    from: Option<PostId>,
    /// Bound before which the author has no unread posts.
    nearest: PostId,
}

impl App {
    /// Merges these authors' posts in a window, in the window's direction. Fills the window if there are
    /// enough posts, and may return more posts than its size. Makes one round trip if all authors post about
    /// equally often; otherwise two or three. Each is followed by an archive query if the archive may have
    /// posts. With more than [`MANY`] authors, makes one or two additional round trips first.
    pub(super) async fn merge_posts(
        &self,
        step: &'static str,
        reach: Reach,
        authors: &[UserId],
        window: &Window<PostId>,
    ) -> Result<Merged, Error> {
        let Window { direction, size, from } = *window;
        let mut limit = FEWEST.max(2 * size / authors.len().max(1)).min(size);
        let Ahead { read, mut deferred } = self.look_ahead(authors, window).await?;
        let mut next: Vec<_> = read.into_iter().map(|author| (author, from)).collect();
        let mut posts: Vec<PostId> = Vec::new();
        let mut cold = Mark::START;
        // The position up to which the posts of all authors are known.
        let mut known_to: Option<PostId> = None;
        while !next.is_empty() {
            let mut open = std::mem::take(&mut deferred);
            for (author, part) in self.read_parts(step, reach, &next, direction, limit).await? {
                cold = cold.max(part.cold);
                open.extend(part.resume_after.map(|nearest| Open { author, from: Some(nearest), nearest }));
                posts.extend(part.posts);
            }
            posts.sort_unstable();
            // A post may be in both Redis and the archive while a mover archives it.
            posts.dedup();
            if direction == Direction::Forward {
                posts.reverse();
            }
            // Authors not read past the last post that fits may have more posts before it.
            let last = size.checked_sub(1).and_then(|last| posts.get(last)).copied();
            let may_have_more = |nearest: PostId| match last {
                None => size > 0,
                Some(last) => direction.is_before(nearest, last),
            };
            let (still_open, known): (Vec<_>, Vec<_>) =
                open.into_iter().partition(|open| may_have_more(open.nearest));
            for Open { nearest, .. } in known {
                known_to = Some(match known_to {
                    Some(known) if direction.is_before(known, nearest) => known,
                    _ => nearest,
                });
            }
            next = still_open.into_iter().map(|open| (open.author, open.from)).collect();
            limit = (limit * 4).min(size);
        }
        if let Some(known_to) = known_to {
            posts.retain(|&post| !direction.is_before(known_to, post));
        }
        Ok(Merged { posts, cold })
    }

    /// Selects the authors whose pages to read: all or, with more than [`MANY`] authors, only authors who can
    /// have posts in the window. Makes no round trip for up to [`MANY`] authors; otherwise one or two.
    async fn look_ahead(&self, authors: &[UserId], window: &Window<PostId>) -> Result<Ahead, Error> {
        if authors.len() <= MANY || window.size == 0 {
            return Ok(Ahead { read: authors.to_vec(), deferred: Vec::new() });
        }
        let (some, others) = authors.split_at(MANY);
        let mut nearest = self.nearest(some, window.direction).await?;
        let ahead = Ahead::of(&nearest, window);
        if 2 * ahead.read.len() > MANY {
            // Most pages are needed anyway.
            let read = [&ahead.read, others].concat();
            return Ok(Ahead { read, ..ahead });
        }
        nearest.extend(self.nearest(others, window.direction).await?);
        Ok(Ahead::of(&nearest, window))
    }

    /// Reads each author's nearest post. Leaves out authors with unreadable keys. Makes one round trip.
    async fn nearest(
        &self,
        authors: &[UserId],
        direction: Direction,
    ) -> Result<Vec<(UserId, Nearest)>, Error> {
        let mut batch = Batch::new("timeline: nearest");
        let read = |&author: &UserId| batch.push(post_list::nearest(self.keys(), author, direction));
        let tickets: Vec<_> = authors.iter().map(read).collect();
        let mut replies = batch.send(self.store()).await?;
        let take = |(&author, ticket): (&UserId, _)| {
            let nearest = replies.take_readable(ticket, "posts", author.get())?;
            Ok(nearest.map(|nearest| (author, nearest)))
        };
        authors.iter().zip(tickets).map(take).filter_map(Result::transpose).collect()
    }

    /// Reads each author's posts after that author's own position, first from Redis, then from the archive.
    /// Leaves out authors with unreadable keys. Makes one round trip, plus one query if the archive may have
    /// posts.
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
        let read =
            |&(author, from): &(UserId, _)| batch.push(post_list::page(self.keys(), author, &window(from)));
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
}

/// A reading plan, derived from the authors' nearest posts.
struct Ahead {
    /// Authors whose pages to read.
    read: Vec<UserId>,
    /// Authors whose posts are needed only if other authors' posts are deleted meanwhile.
    deferred: Vec<Open>,
}

impl Ahead {
    fn of(nearest: &[(UserId, Nearest)], window: &Window<PostId>) -> Self {
        let Window { direction, size, from } = *window;
        let is_in_window = |&post: &PostId| from.is_none_or(|from| direction.is_before(from, post));
        // The id before which the author has no posts in the window; `None` if it is unknown because the
        // nearest post lies before the window or in the archive.
        let bound = |nearest: &Nearest| nearest.bound(direction).filter(is_in_window);
        let is_there = |(_, nearest): &&(UserId, Nearest)| bound(nearest) == nearest.hot;
        let mut best: Vec<PostId> =
            nearest.iter().filter(is_there).filter_map(|(_, nearest)| nearest.hot).collect();
        best.sort_unstable();
        if direction == Direction::Forward {
            best.reverse();
        }
        let last = size.checked_sub(1).and_then(|last| best.get(last)).copied();

        let (mut read, mut deferred) = (Vec::new(), Vec::new());
        for &(author, nearest) in nearest {
            match bound(&nearest) {
                Some(post) if last.is_some_and(|last| direction.is_before(last, post)) => {
                    deferred.push(Open { author, from, nearest: post });
                }
                None if nearest.has_no_posts() => {}
                _ => read.push(author),
            }
        }
        Self { read, deferred }
    }
}

/// Posts read from one author's list.
struct Part {
    /// Posts in any order.
    posts: Vec<PostId>,
    /// The position after which there are more posts, if any.
    resume_after: Option<PostId>,
    /// A mark that covers all of the author's cold posts.
    cold: Mark,
}

impl Part {
    fn of(PostPage { page, cold, .. }: PostPage, direction: Direction) -> Self {
        let (outermost, more) = match direction {
            Direction::Forward => (page.entries.last(), page.has_next),
            Direction::Backward => (page.entries.first(), page.has_previous),
        };
        Self {
            resume_after: outermost.copied().filter(|_| more),
            posts: page.entries.to_vec(),
            cold: Mark::new(cold.greatest),
        }
    }

    /// Adds posts from the archive, which are in the window's direction. If the archive returned `limit`
    /// posts, the next read resumes after the last of these.
    fn add(&mut self, archived: &[PostId], limit: usize) {
        self.posts.extend(archived);
        if let Some(last) = archived.last().filter(|_| archived.len() == limit) {
            self.resume_after = Some(*last);
        }
    }
}
