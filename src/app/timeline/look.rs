//! Looks up changes to a home timeline, once for all of its owner's watches in this process.
//!
//! A watch that is woken needs a *look*, a read of the timeline's changes, that began no earlier than the
//! signal. The first watch performs the look from its own position, and all watches whose positions the look
//! covers share it. For a user with 1,000 watches, the process therefore looks up a post once, and reads it
//! once per field selection.
//!
//! A look finds only ids, and what is known of removed entries. Watches load the posts in small portions, as their
//! clients consume them, and then read who may see the posts and learn of the removals.
//!
//! # Why
//! A cached portion belongs to one look, so its posts were read after that look began. If a later look reused
//! the portion, a watch could send a post that was deleted in between, after having sent its removal.

use std::sync::Arc;

use futures::future::try_join;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::app::App;
use crate::app::error::{Broken, Error, Rejection};
use crate::app::timeline::entry::{EntrySelection, TimelineEntry};
use crate::app::timeline::removal::{Notice, RemovedEntry};
use crate::app::timeline::seen::Seen;
use crate::app::timeline::{Freshness, Part};
use crate::app::viewer::Viewer;
use crate::model::clock::Timestamp;
use crate::model::exclusion::Version;
use crate::model::id::PostId;
use crate::model::mark::Mark;
use crate::model::page::{Direction, Window};
use crate::store::timeline;

/// Maximum number of new posts, and of removals, per look. If either is exceeded, the client must resync.
pub(super) const MOST_BEHIND: usize = 1_000;
/// Maximum number of seen posts listed above the mark. The cursor of every event repeats the list.
const MOST_SEEN: usize = 4 * MOST_BEHIND;
/// Maximum number of posts looked up below the floor, equal to the maximum page size.
const MOST_LATE: usize = 100;
/// Maximum number of portions cached per look. Watches with different field selections may alternate.
const PORTIONS: usize = 2;

/// The last look at one user's timeline. A watch that performs a look holds the lock.
pub(in crate::app) type TimelineLooks = Mutex<Option<Arc<TimelineLook>>>;

/// All additions to a timeline, and removals from it, since a position.
pub(in crate::app) struct TimelineLook {
    /// Time just before the first read.
    pub(super) began: Instant,
    /// The delivered mark, read before the removals and posts.
    pub(super) mark: Mark,
    /// Time up to which `removed` is complete, by the Redis clock.
    pub(super) at: Timestamp,
    /// The entries removed after `since`, earliest first.
    pub(super) removed: Vec<RemovedEntry>,
    /// Time of the last reset after `since`.
    pub(super) reset: Option<Timestamp>,
    /// Posts above `above`, in ascending order of id.
    pub(super) posts: Vec<PostId>,
    above: Mark,
    since: Timestamp,
    /// True if `posts` contains all posts above `above`.
    is_whole: bool,
    loaded: Mutex<Vec<Portion>>,
    noticed: Mutex<Option<Notices>>,
}

/// What the viewer may learn of each removal of a look.
struct Notices {
    /// Version of the viewer's exclusions before this was read.
    exclusions: Option<Version>,
    notices: Arc<[Notice]>,
}

/// Posts loaded together, with their authors.
#[derive(Clone)]
pub(super) struct Portion {
    selection: EntrySelection,
    posts: Vec<PostId>,
    /// Version of the viewer's exclusions before the posts were loaded.
    exclusions: Option<Version>,
    /// The entries of those posts that belong in the timeline, in ascending order of id.
    pub(super) entries: Arc<[TimelineEntry]>,
}

impl Portion {
    /// Returns true if the viewer's exclusions are unchanged since the posts were loaded, as far as this process knows.
    pub(super) fn is_current(&self, viewer: &Viewer) -> bool {
        are_unchanged(self.exclusions, viewer)
    }
}

/// Returns true if this is the version of the viewer's exclusions, as far as this process knows.
fn are_unchanged(exclusions: Option<Version>, viewer: &Viewer) -> bool {
    viewer.signed_in().is_ok_and(|viewer| viewer.exclusions.get() == exclusions)
}

impl TimelineLook {
    /// Returns true if a watch at this position can use the look, and the look began no earlier than
    /// `needed`.
    fn covers(&self, seen: &Seen, needed: Instant) -> bool {
        let reaches_back = seen.removed.is_some_and(|removed| self.since <= removed);
        self.is_whole && self.began >= needed && self.above <= seen.upto && reaches_back
    }

    /// Returns those of `posts` that still exist and that the viewer may see. Makes one round trip on a cache hit;
    /// otherwise three.
    pub(super) async fn load(
        &self,
        app: &App,
        viewer: &Viewer,
        posts: Vec<PostId>,
        selection: EntrySelection,
    ) -> Result<Portion, Error> {
        let mut loaded = self.loaded.lock().await;
        // The viewer has authenticated long ago, and may have blocked or muted an author since the posts were loaded.
        app.refresh_exclusions(viewer).await?;
        let is_same = |portion: &&Portion| {
            portion.selection == selection && portion.posts == posts && portion.is_current(viewer)
        };
        if let Some(same) = loaded.iter().find(is_same) {
            return Ok(same.clone());
        }
        let exclusions = viewer.signed_in()?.exclusions.get();
        let mut entries = app.read_entries(viewer, posts.clone(), selection).await?;
        entries.sort_by_key(|entry| entry.id);
        if loaded.len() == PORTIONS {
            loaded.remove(0);
        }
        let portion = Portion { selection, posts, exclusions, entries: entries.into() };
        loaded.push(portion.clone());
        Ok(portion)
    }

    /// Returns what the viewer may now learn of each removal, in the same order. Makes one round trip on a cache hit;
    /// otherwise two.
    pub(super) async fn notices(&self, app: &App, viewer: &Viewer) -> Result<Arc<[Notice]>, Error> {
        let mut noticed = self.noticed.lock().await;
        // The viewer has authenticated long ago, and may have blocked or muted an author since the look began.
        app.refresh_exclusions(viewer).await?;
        if let Some(same) = noticed.as_ref().filter(|same| are_unchanged(same.exclusions, viewer)) {
            return Ok(Arc::clone(&same.notices));
        }
        let exclusions = viewer.signed_in()?.exclusions.get();
        let notices: Arc<[Notice]> = app.notices(viewer, &self.removed).await?.into();
        *noticed = Some(Notices { exclusions, notices: Arc::clone(&notices) });
        Ok(notices)
    }
}

impl App {
    /// Returns a look that began no earlier than `needed`, for a watch at position `seen`.
    ///
    /// Fails with [`Rejection::Resync`] if there are too many events to send one by one.
    pub(super) async fn look_at_timeline(
        &self,
        looks: &TimelineLooks,
        viewer: &Viewer,
        seen: &Seen,
        needed: Instant,
    ) -> Result<Arc<TimelineLook>, Error> {
        let mut last = looks.lock().await;
        if let Some(look) = last.as_ref().filter(|look| look.covers(seen, needed)) {
            return Ok(Arc::clone(look));
        }
        let look = Arc::new(self.look_from(viewer, seen).await?);
        if look.is_whole {
            *last = Some(Arc::clone(&look));
        }
        Ok(look)
    }

    /// Reads additions and removals since a position. Makes two round trips for the mark, one at the same time for the
    /// viewer's mutes, two for removals and the timeline, two to pull, and those of [`App::removed_entries`]. If the
    /// position's mark is below the floor, also makes the round trips for a page below the floor.
    async fn look_from(&self, viewer: &Viewer, seen: &Seen) -> Result<TimelineLook, Error> {
        let owner = viewer.signed_in()?;
        let began = Instant::now();
        let resync = || Err(Error::Rejected(Rejection::Resync));
        if seen.beyond.len() > MOST_SEEN {
            return resync();
        }
        let (mark, ()) = try_join(self.delivered_mark(), self.refresh_mutes(viewer)).await?;
        let removed = timeline::removed(self.keys(), owner.user, seen.removed, MOST_BEHIND + 1);
        let Some(removals) = removed.send("live: removed", self.store()).await? else { return resync() };
        if removals.posts.len() > MOST_BEHIND {
            return resync();
        }
        let removed = self.removed_entries(removals.posts).await?;
        let size = MOST_BEHIND + seen.beyond.len() + 1;
        let above = Window { direction: Direction::Backward, size, from: seen.upto.last() };
        let Part { nonce: Some(_), view, .. } = self.refresh(owner, &above, Freshness::Since(began)).await?
        else {
            return Err(Broken::GaveUp("watching a timeline that cannot be stored").into());
        };
        let late = self.late_posts(viewer, seen.upto, view.floor).await?;
        let is_whole = late.is_some();
        // Posts newer than all seen posts may have arrived and already have been trimmed.
        let is_cut_off = !is_whole && view.floor > seen.newest();
        let mut posts = late.unwrap_or_default();
        posts.extend(view.posts.into_iter().rev());
        let new = posts.iter().filter(|post| !seen.has(**post)).count();
        if is_cut_off || new > MOST_BEHIND {
            return resync();
        }
        Ok(TimelineLook {
            began,
            mark,
            at: removals.at,
            removed,
            reset: removals.reset,
            posts,
            above: seen.upto,
            since: seen.removed.unwrap_or(removals.at),
            is_whole,
            loaded: Mutex::default(),
            noticed: Mutex::default(),
        })
    }

    /// Removes mutes that have ended, which resets the timeline. Makes one round trip if there are none.
    async fn refresh_mutes(&self, viewer: &Viewer) -> Result<(), Error> {
        self.refresh_exclusions(viewer).await?;
        self.end_mutes(viewer.signed_in()?).await.map(drop)
    }

    /// Returns the posts above `above` and below a timeline's floor, oldest first; `None` if there are more
    /// than [`MOST_LATE`]. Makes no round trip if the floor is not above `above`.
    pub(super) async fn late_posts(
        &self,
        viewer: &Viewer,
        above: Mark,
        floor: Mark,
    ) -> Result<Option<Vec<PostId>>, Error> {
        if floor <= above {
            return Ok(Some(Vec::new()));
        }
        // The viewer has authenticated long ago, and may have unblocked or unmuted an author of these posts.
        self.refresh_exclusions(viewer).await?;
        let window = Window { direction: Direction::Backward, size: MOST_LATE + 1, from: above.last() };
        let mut posts = self.posts_of_all(viewer, &window).await?;
        posts.retain(|post| floor.covers(*post));
        Ok((posts.len() <= MOST_LATE).then_some(posts))
    }
}
