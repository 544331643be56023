//! Streams additions to and removals from home timelines, each exactly once, starting at any position.
//!
//! A live reader holds a [`Seen`]: a delivered mark (`app::delivery::mark`), and the posts it has seen above
//! that mark. When woken, it reads the current mark and all posts above the mark it holds. Posts it has not
//! seen are new. It therefore misses no post and sends none twice, in whatever order posts arrive. A client
//! can resume after a [`Seen`] on any process.
//!
//! # Why
//! Posts arrive out of order: the first post published is not always the first delivered. A reader that
//! stored only the newest post it has seen would miss late posts. If it read removals after the timeline, it
//! could send a post's removal before its addition.
//!
//! A late post below the timeline's floor is not stored in the timeline, so the reader reads it from its
//! author's list. Skipping the post would lose it. Asking the client to resync would lead to one resync after
//! another for as long as any post is late.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::app::App;
use crate::app::error::{Broken, Error, Rejection};
use crate::app::live::Listener;
use crate::app::timeline::entry::{EntrySelection, Removal, Replies, TimelineEntry};
use crate::app::timeline::look::{MOST_BEHIND, Portion, TimelineLook, TimelineLooks};
use crate::app::timeline::removal::Notice;
use crate::app::timeline::seen::Seen;
use crate::app::timeline::{Freshness, Part};
use crate::app::viewer::Viewer;
use crate::model::clock::Timestamp;
use crate::model::id::PostId;
use crate::model::mark::Mark;
use crate::model::page::{Direction, Window};
use crate::model::reaction::ReactionSelection;
use crate::model::user::UserFields;

/// Maximum number of posts loaded at once, and thus held for a client that does not read.
const PORTION: usize = 8;
/// Retry delay while the store is unavailable.
const PAUSE: Duration = Duration::from_secs(1);

/// A change of a home timeline.
#[derive(Clone, Debug)]
pub enum TimelineEvent {
    /// A post was added, or put into the timeline by a repost.
    Added(TimelineEntry),
    /// A post was deleted, or its repost undone, and removed from the timeline.
    Removed(Removal),
    /// A follow, a mute or a block changed what the timeline contains, or another strategy may have: the client must
    /// read it again.
    Reset,
}

/// The results of a look, which the watch returns one by one.
struct Found {
    look: Arc<TimelineLook>,
    /// Time of the reset that the watch has to return, in the order of the removals.
    reset: Option<Timestamp>,
    /// Number of the look's removals returned or skipped so far.
    removals: usize,
    /// The next removal, if it is loaded and the viewer may learn of it.
    removal: Option<Removal>,
    /// Number of the look's posts returned or skipped so far.
    posts: usize,
    /// Number of the look's posts loaded or skipped so far.
    loaded: usize,
    /// The posts loaded last.
    portion: Option<Portion>,
    /// Those of them that exist and are not yet returned, in ascending order of id.
    entries: VecDeque<TimelineEntry>,
}

impl Found {
    /// Selects a look's results that the reader has not seen.
    fn new(look: Arc<TimelineLook>, seen: &Seen) -> Self {
        let removals = look.removed.partition_point(|entry| Some(entry.at) <= seen.removed);
        let reset = look.reset.filter(|at| Some(*at) > seen.removed);
        let (removal, portion, entries) = (None, None, VecDeque::new());
        let mut found = Self { look, reset, removals, removal, posts: 0, loaded: 0, portion, entries };
        found.skip(seen);
        found
    }

    /// Skips posts that the reader has seen.
    fn skip(&mut self, seen: &Seen) {
        self.posts += self.look.posts[self.posts..].iter().take_while(|post| seen.has(**post)).count();
    }

    /// Returns the id of the next post that the watch has to return.
    fn next(&self) -> Option<PostId> {
        self.look.posts.get(self.posts).copied()
    }

    /// Returns true if the next post is loaded, and the viewer may see it.
    fn has_next_entry(&self) -> bool {
        self.next().is_some_and(|next| self.entries.front().is_some_and(|entry| entry.id == next))
    }

    /// Returns true if the watch has to return the reset before the next removal.
    fn is_reset_next(&self) -> bool {
        let is_before = |at| self.look.removed.get(self.removals).is_none_or(|entry| entry.at > at);
        self.reset.is_some_and(is_before)
    }

    /// Skips removals that the viewer may not learn of, up to the next that the watch has to return, or the reset.
    /// Returns true if there is one of them. They come before posts. Makes no round trip without removals; otherwise at
    /// least one, so that no removal is sent of a user who has been blocked meanwhile.
    ///
    /// Fails with [`Rejection::Resync`] if it is not known whether the viewer may learn of the next removal.
    async fn load_removal(&mut self, app: &App, viewer: &Viewer) -> Result<bool, Error> {
        self.removal = None;
        if self.removals == self.look.removed.len() || self.is_reset_next() {
            return Ok(self.is_reset_next());
        }
        let notices = self.look.notices(app, viewer).await?;
        for notice in &notices[self.removals..] {
            match notice {
                _ if self.is_reset_next() => break,
                Notice::Sent(removal) => {
                    self.removal = Some(*removal);
                    return Ok(true);
                }
                Notice::Hidden => self.removals += 1,
                Notice::Unclear => return Err(Error::Rejected(Rejection::Resync)),
            }
        }
        Ok(self.is_reset_next())
    }

    fn is_passed(&self) -> bool {
        self.reset.is_none() && self.removals == self.look.removed.len() && self.next().is_none()
    }

    /// Loads the next posts, unless they are already loaded. Loads them again if the viewer's exclusions have changed
    /// since, so that no post is sent whose author has been blocked meanwhile. Makes at least one round trip.
    async fn load(
        &mut self,
        app: &App,
        viewer: &Viewer,
        seen: &Seen,
        selection: EntrySelection,
    ) -> Result<(), Error> {
        if self.loaded > self.posts {
            app.refresh_exclusions(viewer).await?;
            if self.portion.as_ref().is_some_and(|portion| portion.is_current(viewer)) {
                return Ok(());
            }
        }
        let rest = self.look.posts.iter().enumerate().skip(self.posts);
        let portion: Vec<_> = rest.filter(|(_, post)| !seen.has(**post)).take(PORTION).collect();
        let loaded = portion.last().map_or(self.posts, |(index, _)| index + 1);
        let posts = portion.into_iter().map(|(_, post)| *post).collect();
        let portion = self.look.load(app, viewer, posts, selection).await?;
        self.entries = portion.entries.iter().cloned().collect();
        self.portion = Some(portion);
        self.loaded = loaded;
        Ok(())
    }
}

/// A live reader of a home timeline, until dropped.
pub struct TimelineWatch {
    app: App,
    viewer: Viewer,
    selection: EntrySelection,
    listener: Listener,
    looks: Arc<TimelineLooks>,
    seen: Seen,
    found: Option<Found>,
    /// Time of the latest possible change since the last look; `None` if nothing can have changed.
    changed: Option<Instant>,
    /// True if the store was unavailable on the last attempt.
    is_postponed: bool,
}

impl App {
    /// Watches the viewer's home timeline after the position `after`, or from now on if `after` is `None`. Reads the
    /// `author` fields of each post's author and of the user who reposted it, and shows these `replies`. Makes several
    /// round trips.
    ///
    /// Fails with [`Rejection::Resync`] if the position does not tell which removals the reader has seen.
    pub async fn watch_timeline(
        &self,
        viewer: &Viewer,
        after: Option<Seen>,
        author: UserFields,
        replies: Replies,
    ) -> Result<TimelineWatch, Error> {
        let owner = viewer.signed_in()?.user;
        let (listener, looks) = (self.listen(viewer)?, self.0.process.looks.of(owner));
        let changed = Some(Instant::now());
        let seen = match after {
            Some(Seen { removed: None, .. }) => return Err(Error::Rejected(Rejection::Resync)),
            Some(seen) => seen,
            None => {
                let _turn = looks.lock().await;
                self.all_seen(viewer).await?
            }
        };
        let (app, viewer, found, is_postponed) = (self.clone(), viewer.clone(), None, false);
        // Events are sent later than they are loaded: what they show of reactions is read when they are sent.
        let selection = EntrySelection { author, reactions: ReactionSelection::NONE, replies };
        Ok(TimelineWatch { app, viewer, selection, listener, looks, seen, found, changed, is_postponed })
    }

    /// Returns the position of a reader that starts now.
    async fn all_seen(&self, viewer: &Viewer) -> Result<Seen, Error> {
        let owner = viewer.signed_in()?;
        let mark = self.delivered_mark().await?;
        let newest = Window { direction: Direction::Forward, size: MOST_BEHIND, from: None };
        let Part { nonce, view, at } = self.refresh(owner, &newest, Freshness::Recent).await?;
        // Delivery may be far behind. The watch does not send late posts below the thousandth newest post, or
        // below the floor if there are too many late posts.
        let last = view.posts.get(MOST_BEHIND - 1).map_or(Mark::START, |last| Mark::at(*last));
        let upto = mark.max(last);
        let late = self.late_posts(viewer, upto, view.floor).await?;
        let is_far_behind = late.is_none() && nonce.is_some();
        let upto = if is_far_behind { view.floor } else { upto };
        let mut seen = Seen { upto, beyond: Vec::new(), removed: at };
        seen.add([late.unwrap_or_default(), view.posts].concat(), Mark::START);
        Ok(seen)
    }
}

impl TimelineWatch {
    /// Waits until there may be an event that [`TimelineWatch::take`] has not yet returned. Retries while the store is
    /// unavailable.
    ///
    /// Fails with a rejection if there are too many events to send one by one.
    pub async fn ready(&mut self) -> Result<(), Error> {
        loop {
            if std::mem::take(&mut self.is_postponed) {
                tokio::time::sleep(PAUSE).await;
            }
            match self.look().await {
                Ok(true) => return Ok(()),
                Ok(false) => self.wait().await,
                Err(error) => self.postpone(error)?,
            }
        }
    }

    /// Loads the next event that the viewer may see. Returns false if there is no event yet, or the store is
    /// unavailable. If called again before [`TimelineWatch::take`], reads again whether the viewer may see the event.
    ///
    /// Fails with [`Rejection::Resync`] if it is not known whether the viewer may see the next removal.
    pub async fn prepare(&mut self) -> Result<bool, Error> {
        match self.find().await {
            Ok(is_found) => Ok(is_found),
            Err(error) => self.postpone(error).map(|()| false),
        }
    }

    /// Returns the event that [`TimelineWatch::prepare`] has loaded, and the position after it; `None` if there is
    /// none.
    pub fn take(&mut self) -> Option<(TimelineEvent, Seen)> {
        let found = self.found.as_mut()?;
        if let Some(removal) = found.removal.take() {
            self.seen.removed = Some(found.look.removed[found.removals].at);
            found.removals += 1;
            return Some((TimelineEvent::Removed(removal), self.seen.clone()));
        }
        if found.is_reset_next() {
            self.seen.removed = found.reset.take();
            return Some((TimelineEvent::Reset, self.seen.clone()));
        }
        if !found.has_next_entry() {
            return None;
        }
        let entry = self.pass()?;
        Some((TimelineEvent::Added(entry), self.seen.clone()))
    }

    /// Returns the next event up to now; `None` if the watch has returned all of these events.
    pub async fn next_by_now(&mut self) -> Result<Option<(TimelineEvent, Seen)>, Error> {
        while self.look().await? {
            if self.find().await? {
                return Ok(self.take());
            }
        }
        Ok(None)
    }

    /// Runs a look if the timeline may have changed and the watch has returned all previous results. Returns
    /// true if there are results to return.
    async fn look(&mut self) -> Result<bool, Error> {
        while self.found.as_ref().is_none_or(Found::is_passed) {
            self.settle();
            let Some(changed) = self.changed else { return Ok(false) };
            let look = self.app.look_at_timeline(&self.looks, &self.viewer, &self.seen, changed).await?;
            self.changed = None;
            self.listener.schedule_poll(look.began);
            self.found = Some(Found::new(look, &self.seen));
        }
        Ok(true)
    }

    /// Marks all results of the look as seen.
    fn settle(&mut self) {
        if let Some(Found { look, .. }) = self.found.take() {
            self.seen.add(Vec::new(), look.mark);
            self.seen.removed = self.seen.removed.max(Some(look.at));
        }
    }

    /// Skips posts and removals that the viewer may not see, up to the next event. Returns false if all results have
    /// been returned.
    async fn find(&mut self) -> Result<bool, Error> {
        while let Some(found) = &mut self.found {
            if found.load_removal(&self.app, &self.viewer).await? {
                return Ok(true);
            }
            if found.next().is_none() {
                break;
            }
            found.load(&self.app, &self.viewer, &self.seen, self.selection).await?;
            if found.has_next_entry() {
                return Ok(true);
            }
            self.pass();
        }
        Ok(false)
    }

    /// Marks the next post as seen. Returns its entry, if it is loaded and the viewer may see it.
    fn pass(&mut self) -> Option<TimelineEntry> {
        let found = self.found.as_mut()?;
        let post = found.next()?;
        let entry = found.entries.pop_front_if(|entry| entry.id == post);
        found.posts += 1;
        found.skip(&self.seen);
        // The mark covers all posts before the next post to return.
        let mark = found.look.mark;
        let upto = found.next().map_or(mark, |next| mark.min(Mark::before(next)));
        self.seen.add(vec![post], upto);
        self.seen.removed = self.seen.removed.max(Some(found.look.at));
        entry
    }

    /// Schedules a retry if the store is unavailable. Returns any other error.
    fn postpone(&mut self, error: Error) -> Result<(), Error> {
        match error {
            Error::Broken(Broken::Unreachable(_) | Broken::ArchiveAway(_) | Broken::GaveUp(_)) => {
                self.is_postponed = true;
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
    fn posts_up_to_the_mark_are_not_listed() {
        let posts = |ids: &[u64]| -> Vec<PostId> { ids.iter().filter_map(|id| PostId::new(*id)).collect() };
        let mut seen = Seen { upto: Mark::new(4), beyond: posts(&[6, 9]), removed: None };
        seen.add(posts(&[7]), Mark::new(3));
        assert_eq!((seen.upto.get(), &seen.beyond), (4, &posts(&[6, 7, 9])));
        seen.add(posts(&[8]), Mark::new(7));
        assert_eq!((seen.upto.get(), &seen.beyond), (7, &posts(&[8, 9])));
        seen.add(posts(&[]), Mark::new(20));
        assert_eq!((seen.upto.get(), &seen.beyond), (20, &posts(&[])));
    }
}
