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
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::app::App;
use crate::app::error::{Broken, Error};
use crate::app::live::Listener;
use crate::app::timeline::look::{MOST_BEHIND, TimelineLook, TimelineLooks};
use crate::app::timeline::{Entry, Part, TimelinePage};
use crate::app::viewer::Viewer;
use crate::model::clock::Timestamp;
use crate::model::id::{PostId, UserId};
use crate::model::page::{Direction, Window};
use crate::model::user::UserFields;

/// Posts that are loaded together. A client that does not read holds no more than these.
const PORTION: usize = 8;
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

    /// Whether this post is among what was seen.
    pub(super) fn has(&self, post: PostId) -> bool {
        post.get() <= self.upto || self.beyond.binary_search(&post).is_ok()
    }

    /// The newest post that it knows of, or a later one.
    pub(super) fn newest(&self) -> u64 {
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

/// What a look has found that a watch has not passed on yet.
struct Found {
    look: Arc<TimelineLook>,
    /// How many of the removals of the look were passed.
    removals: usize,
    /// How many of its posts were passed.
    posts: usize,
    /// How many of its posts were loaded, or passed.
    loaded: usize,
    /// Those that were loaded, are there, and were not passed; the least first.
    entries: VecDeque<Entry>,
}

impl Found {
    /// What a look has found beyond what was seen.
    fn new(look: Arc<TimelineLook>, seen: &Seen) -> Self {
        let removals = look.removals.partition_point(|(_, at)| Some(*at) <= seen.removed);
        let mut found = Self { look, removals, posts: 0, loaded: 0, entries: VecDeque::new() };
        found.skip(seen);
        found
    }

    /// Passes posts that were seen.
    fn skip(&mut self, seen: &Seen) {
        self.posts += self.look.posts[self.posts..].iter().take_while(|post| seen.has(**post)).count();
    }

    /// The next post, if it was not passed yet.
    fn next(&self) -> Option<PostId> {
        self.look.posts.get(self.posts).copied()
    }

    fn is_passed(&self) -> bool {
        self.removals == self.look.removals.len() && self.next().is_none()
    }

    /// Loads the next posts, unless they are.
    async fn load(&mut self, app: &App, owner: UserId, seen: &Seen, author: UserFields) -> Result<(), Error> {
        if self.loaded > self.posts {
            return Ok(());
        }
        let rest = self.look.posts.iter().enumerate().skip(self.posts);
        let portion: Vec<_> = rest.filter(|(_, post)| !seen.has(**post)).take(PORTION).collect();
        let loaded = portion.last().map_or(self.posts, |(index, _)| index + 1);
        let posts = portion.into_iter().map(|(_, post)| *post).collect();
        let entries = self.look.load(app, owner, posts, author).await?;
        self.entries = entries.iter().cloned().collect();
        self.loaded = loaded;
        Ok(())
    }
}

/// Somebody who watches its home timeline, until it is dropped.
pub struct TimelineWatch {
    app: App,
    owner: UserId,
    author: UserFields,
    listener: Listener,
    looks: Arc<TimelineLooks>,
    seen: Seen,
    found: Option<Found>,
    /// It may have changed by then, and was not looked at since.
    changed: Option<Instant>,
    /// Whether the store did not answer just now.
    is_put_off: bool,
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
        let (listener, looks) = (self.listen(viewer)?, self.0.looks.of(owner));
        let changed = Some(Instant::now());
        let seen = if let Some(seen) = after {
            seen
        } else {
            let _turn = looks.lock().await;
            self.all_seen(owner).await?
        };
        let (app, found, is_put_off) = (self.clone(), None, false);
        Ok(TimelineWatch { app, owner, author, listener, looks, seen, found, changed, is_put_off })
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
}

impl TimelineWatch {
    /// Waits until something may have happened that [`TimelineWatch::take`] has not returned. Where the store does not
    /// answer, it goes on when it does.
    ///
    /// Refused if more has happened than can be sent one by one.
    pub async fn ready(&mut self) -> Result<(), Error> {
        loop {
            if std::mem::take(&mut self.is_put_off) {
                tokio::time::sleep(PAUSE).await;
            }
            match self.look().await {
                Ok(true) => return Ok(()),
                Ok(false) => self.wait().await,
                Err(error) => self.put_off(error)?,
            }
        }
    }

    /// The next thing that has happened, and what has been seen after it; `None` if it is not known yet, or could not be
    /// read now.
    pub async fn take(&mut self) -> Result<Option<(TimelineEvent, Seen)>, Error> {
        match self.take_found().await {
            Ok(next) => Ok(next),
            Err(error) => self.put_off(error).map(|()| None),
        }
    }

    /// The next thing that has happened by now; `None` if nothing has that was not returned.
    pub async fn next_by_now(&mut self) -> Result<Option<(TimelineEvent, Seen)>, Error> {
        while self.look().await? {
            if let Some(next) = self.take_found().await? {
                return Ok(Some(next));
            }
        }
        Ok(None)
    }

    /// TimelineLooks, if the timeline may have changed and all that was found before is passed. Returns whether anything is
    /// found that is not.
    async fn look(&mut self) -> Result<bool, Error> {
        while self.found.as_ref().is_none_or(Found::is_passed) {
            self.settle();
            let Some(changed) = self.changed else { return Ok(false) };
            let look = self.app.look_at_timeline(&self.looks, self.owner, &self.seen, changed).await?;
            self.changed = None;
            self.listener.look_after(look.began);
            self.found = Some(Found::new(look, &self.seen));
        }
        Ok(true)
    }

    /// All that was found is seen.
    fn settle(&mut self) {
        if let Some(Found { look, .. }) = self.found.take() {
            self.seen.add(Vec::new(), look.mark);
            self.seen.removed = self.seen.removed.max(Some(look.at));
        }
    }

    async fn take_found(&mut self) -> Result<Option<(TimelineEvent, Seen)>, Error> {
        let Some(found) = &mut self.found else { return Ok(None) };
        if let Some((post, at)) = found.look.removals.get(found.removals).copied() {
            found.removals += 1;
            self.seen.removed = Some(at);
            return Ok(Some((TimelineEvent::Removed(post), self.seen.clone())));
        }
        while let Some(post) = found.next() {
            found.load(&self.app, self.owner, &self.seen, self.author).await?;
            let entry = found.entries.pop_front_if(|entry| entry.post.id == post);
            found.posts += 1;
            found.skip(&self.seen);
            // All up to the next that was not sent yet.
            let mark = found.look.mark;
            let upto = found.next().map_or(mark, |next| mark.min(next.get() - 1));
            self.seen.add(vec![post], upto);
            self.seen.removed = self.seen.removed.max(Some(found.look.at));
            if let Some(entry) = entry {
                return Ok(Some((TimelineEvent::Added(entry), self.seen.clone())));
            }
        }
        Ok(None)
    }

    /// Where the store does not answer, the same is tried again.
    fn put_off(&mut self, error: Error) -> Result<(), Error> {
        match error {
            Error::Broken(Broken::Unreachable(_) | Broken::ArchiveAway(_) | Broken::GaveUp(_)) => {
                self.is_put_off = true;
                Ok(())
            }
            error => Err(error),
        }
    }

    /// Waits until the timeline may have changed.
    async fn wait(&mut self) {
        while self.changed.is_none() {
            self.changed = self.listener.changes().await.timeline;
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
