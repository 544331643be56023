//! Watching a home timeline: what comes to it and what is taken out of it, each told once, from any moment on.
//!
//! Who watches holds a [`Seen`]: the delivered mark (`app::delivery::mark`) as it was, and what it has seen above.
//! When it is woken, it reads the mark, and then all that lies above the one it holds; what it has not seen is new. So
//! nothing is missed or told twice whatever order posts come in, and whoever holds a [`Seen`] can go on from there, by
//! way of any process.
//!
//! # Why
//! Posts come late: the one that is published first is not always the first to be delivered. Who remembers only the
//! newest one it has seen misses those. Were what was taken out read after the timeline, a post could be told to be
//! removed before it is told to be there.
//!
//! What comes late to a place below the timeline's floor is not kept in it, and is looked for where it stands: with its
//! author. Were it not, or were whoever looks told to begin again, then whoever begins again would be told so again, for
//! as long as something is late.

use std::collections::VecDeque;
use std::time::Duration;

use crate::app::App;
use crate::app::error::{Broken, Error, Refused};
use crate::app::live::Listener;
use crate::app::timeline::{Entry, Part, TimelinePage};
use crate::app::viewer::Viewer;
use crate::model::clock::Timestamp;
use crate::model::id::{PostId, UserId};
use crate::model::page::{Direction, Window};
use crate::model::user::UserFields;
use crate::store::timeline;

/// Most posts, or removals, that may have come since somebody has looked last.
const MOST_BEHIND: usize = 1_000;
/// Most posts that are looked for below the floor: as many as a page may have.
const MOST_LATE: usize = 100;
/// How long it takes to look again when the store does not answer.
const PAUSE: Duration = Duration::from_secs(1);

/// What somebody who watches a timeline has seen of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// All that ever comes to the timeline up to this post, which need not be there.
    pub upto: u64,
    /// And above that these; least first.
    pub beyond: Vec<PostId>,
    /// All that was taken out up to then, by the clock of Redis; `None` for up to now.
    pub removed: Option<Timestamp>,
}

impl Seen {
    /// What somebody has seen who has read a page from the entry at `index` on.
    ///
    /// What lies between the mark and the page is told, though it may be read on a later page: it may also come later.
    pub(super) fn of_entry(page: &TimelinePage, index: usize) -> Self {
        let entries = &page.page.entries;
        // Where nothing lies above it, nothing that had come by then was left out.
        let is_newest = page.is_top && index == 0;
        let upto = if is_newest { page.mark } else { page.mark.min(entries[index].post.id.get()) };
        let above = entries[index..].iter().rev().map(|entry| entry.post.id);
        let beyond = above.skip_while(|post| post.get() <= upto).collect();
        Self { upto, beyond, removed: page.at }
    }

    /// The newest post that it knows of, or a later one.
    fn newest(&self) -> u64 {
        self.beyond.last().map_or(self.upto, |post| post.get().max(self.upto))
    }

    /// These were seen as well, and all up to `upto`.
    fn add(&mut self, posts: Vec<PostId>, upto: u64) {
        self.upto = self.upto.max(upto);
        self.beyond.extend(posts);
        self.beyond.retain(|post| post.get() > self.upto);
        self.beyond.sort_unstable();
        self.beyond.dedup();
    }
}

/// Something that has happened to a timeline.
#[derive(Clone, Debug)]
pub enum TimelineEvent {
    /// A post has come.
    Added(Entry),
    /// A post was taken out, because it was deleted.
    Removed(PostId),
}

/// What comes next, and what has been seen after it.
struct Step {
    /// `None` if there is nothing to be told of what was seen.
    event: Option<TimelineEvent>,
    posts: Vec<PostId>,
    upto: u64,
    removed: Timestamp,
}

/// Somebody who watches its home timeline, until it is dropped.
pub struct TimelineWatch {
    app: App,
    owner: UserId,
    author: UserFields,
    listener: Listener,
    seen: Seen,
    /// What was found and is not told yet.
    found: VecDeque<Step>,
    /// Whether it may have changed since it was looked at.
    is_stale: bool,
}

impl App {
    /// Watches the home timeline of the user who asks: from what was seen, or from now on. Authors are read with these
    /// fields. Some round trips.
    pub async fn watch_timeline(
        &self,
        viewer: &Viewer,
        after: Option<Seen>,
        author: UserFields,
    ) -> Result<TimelineWatch, Error> {
        let owner = viewer.signed_in()?.user;
        let listener = self.listen(viewer)?;
        let seen = match after {
            Some(seen) => seen,
            None => self.all_seen(owner).await?,
        };
        let (app, found) = (self.clone(), VecDeque::new());
        Ok(TimelineWatch { app, owner, author, listener, seen, found, is_stale: true })
    }

    /// What who begins to watch now has seen.
    async fn all_seen(&self, owner: UserId) -> Result<Seen, Error> {
        let mark = self.delivered_mark().await?;
        let newest = Window { direction: Direction::Forward, size: MOST_BEHIND, from: None };
        let Part { nonce, view, at } = self.refresh(owner, &newest).await?;
        // Who delivers may be far behind: what comes late below the thousandth post, or below the floor where very much
        // is there already, is not told.
        let last = view.posts.get(MOST_BEHIND - 1).map_or(0, |last| last.get());
        let upto = mark.max(last);
        let late = self.late_posts(owner, upto, view.floor).await?;
        let is_far_behind = late.is_none() && nonce.is_some();
        let upto = if is_far_behind { view.floor - 1 } else { upto };
        let mut seen = Seen { upto, beyond: Vec::new(), removed: at };
        seen.add([late.unwrap_or_default(), view.posts].concat(), 0);
        Ok(seen)
    }

    /// The posts above this one that lie below the floor of a timeline, oldest first; `None` if they are very many. No
    /// round trip where the floor is not above it.
    async fn late_posts(&self, owner: UserId, above: u64, floor: u64) -> Result<Option<Vec<PostId>>, Error> {
        if floor <= above + 1 {
            return Ok(Some(Vec::new()));
        }
        let window = Window { direction: Direction::Backward, size: MOST_LATE + 1, from: PostId::new(above) };
        let mut posts = self.posts_of_all(owner, &window).await?;
        posts.retain(|post| post.get() < floor);
        Ok((posts.len() <= MOST_LATE).then_some(posts))
    }

    /// What has come and gone since somebody has seen this. Two round trips for the mark, two for what was taken out and
    /// the timeline, two more to pull, and two to read posts and authors; where the mark is below the floor, also what a
    /// page below it costs.
    async fn steps_since(&self, owner: UserId, seen: &Seen, author: UserFields) -> Result<Vec<Step>, Error> {
        let resync = || Err(Error::Refused(Refused::Resync));
        let mark = self.delivered_mark().await?;
        let removed = timeline::removed(self.keys(), owner, seen.removed, MOST_BEHIND + 1);
        let Some(removals) = removed.send("live: removed", self.store()).await? else { return resync() };
        let size = MOST_BEHIND + seen.beyond.len() + 1;
        let above = Window { direction: Direction::Backward, size, from: PostId::new(seen.upto) };
        let Part { nonce: Some(_), view, .. } = self.refresh(owner, &above).await? else {
            return Err(Broken::GaveUp("watching a timeline that cannot be kept now").into());
        };
        let late = self.late_posts(owner, seen.upto, view.floor).await?;
        // Something may have come above all that was seen, and be below the floor by now.
        let is_cut_off = late.is_none() && view.floor > seen.newest() + 1;
        let mut new = late.unwrap_or_default();
        new.extend(view.posts.into_iter().rev());
        new.retain(|post| seen.beyond.binary_search(post).is_err());
        if is_cut_off || new.len() > MOST_BEHIND || removals.posts.len() > MOST_BEHIND {
            return resync();
        }
        let mut entries = self.read_entries(owner, new.clone(), author).await?;
        entries.sort_by_key(|entry| entry.post.id);

        let removal = |(post, at)| Step {
            event: Some(TimelineEvent::Removed(post)),
            posts: Vec::new(),
            upto: 0,
            removed: at,
        };
        let mut steps: Vec<Step> = removals.posts.into_iter().map(removal).collect();
        let mut rest = new.as_slice();
        for entry in entries {
            let (passed, left) = rest.split_at(rest.partition_point(|post| *post <= entry.post.id));
            // All up to the next that is not told yet.
            let upto = left.first().map_or(mark, |next| mark.min(next.get() - 1));
            let event = Some(TimelineEvent::Added(entry));
            steps.push(Step { event, posts: passed.to_vec(), upto, removed: removals.at });
            rest = left;
        }
        steps.push(Step { event: None, posts: rest.to_vec(), upto: mark, removed: removals.at });
        Ok(steps)
    }
}

impl TimelineWatch {
    /// What happens next, and what has been seen after that. Waits until something does. Where the store does not
    /// answer, it goes on when it does.
    ///
    /// Refused if more has happened than can be told one by one.
    pub async fn next(&mut self) -> Result<(TimelineEvent, Seen), Error> {
        loop {
            match self.next_by_now().await {
                Ok(Some(next)) => return Ok(next),
                Ok(None) => self.wait().await,
                Err(Error::Broken(Broken::Unreachable(_) | Broken::ArchiveAway(_) | Broken::GaveUp(_))) => {
                    tokio::time::sleep(PAUSE).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// The next thing that has happened by now; `None` if nothing has that is not told.
    pub async fn next_by_now(&mut self) -> Result<Option<(TimelineEvent, Seen)>, Error> {
        if self.found.is_empty() && self.is_stale {
            self.found = self.app.steps_since(self.owner, &self.seen, self.author).await?.into();
            self.is_stale = false;
        }
        while let Some(Step { event, posts, upto, removed }) = self.found.pop_front() {
            self.seen.add(posts, upto);
            self.seen.removed = Some(removed);
            if let Some(event) = event {
                return Ok(Some((event, self.seen.clone())));
            }
        }
        Ok(None)
    }

    /// Waits until the timeline may have changed.
    async fn wait(&mut self) {
        while !self.is_stale {
            self.is_stale = self.listener.changes().await.timeline;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_sees_all_up_to_the_mark_need_not_name_it() {
        let posts = |ids: &[u64]| -> Vec<PostId> { ids.iter().filter_map(|id| PostId::new(*id)).collect() };
        let mut seen = Seen { upto: 4, beyond: posts(&[6, 9]), removed: None };
        seen.add(posts(&[7]), 3);
        assert_eq!((seen.upto, &seen.beyond), (4, &posts(&[6, 7, 9])));
        seen.add(posts(&[8]), 7);
        assert_eq!((seen.upto, &seen.beyond), (7, &posts(&[8, 9])));
        seen.add(posts(&[]), 20);
        assert_eq!((seen.upto, &seen.beyond), (20, &posts(&[])));
    }
}
