//! Looks at a home timeline, shared by all watches of its owner in this process.
//!
//! A watch that is woken needs a look that began no earlier than the signal. The first watch performs the
//! look from its own position; all others whose positions it covers share it. A post that reaches a user with
//! a thousand watches is therefore looked up once, and read once per field selection.
//!
//! A look finds ids only. Their posts are loaded in small portions, as clients consume them.
//!
//! # Why
//! A portion belongs to one look, so its posts were read after that look began. If it were cached for a later
//! look, a post deleted in between could be sent after its removal.

use std::sync::Arc;

use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::app::App;
use crate::app::error::{Broken, Error, Rejection};
use crate::app::timeline::Part;
use crate::app::timeline::seen::Seen;
use crate::app::visibility::VisiblePost;
use crate::model::clock::Timestamp;
use crate::model::id::{PostId, UserId};
use crate::model::mark::Mark;
use crate::model::page::{Direction, Window};
use crate::model::user::UserFields;
use crate::store::timeline;

/// Maximum number of posts, or removals, that a watch may be behind.
pub(super) const MOST_BEHIND: usize = 1_000;
/// Maximum number of posts listed as seen above the mark. Every event repeats the list.
const MOST_SEEN: usize = 4 * MOST_BEHIND;
/// Maximum number of posts looked up below the floor: the maximum page size.
const MOST_LATE: usize = 100;
/// Portions cached per look, for watches with different selections that alternate.
const PORTIONS: usize = 2;

/// The last look at one user's timeline. Locked during a look, so that one watch at a time performs it.
pub(in crate::app) type TimelineLooks = Mutex<Option<Arc<TimelineLook>>>;

/// All additions and removals of a timeline since a position.
pub(in crate::app) struct TimelineLook {
    /// Time before the first read.
    pub(super) began: Instant,
    /// The delivered mark.
    pub(super) mark: Mark,
    /// Removals up to this time are in `removals`, by the clock of Redis.
    pub(super) at: Timestamp,
    /// Removals after `since`, earliest first.
    pub(super) removals: Vec<(PostId, Timestamp)>,
    /// Posts above `above`, in ascending order.
    pub(super) posts: Vec<PostId>,
    above: Mark,
    since: Timestamp,
    /// Whether the posts above `above` are complete.
    is_whole: bool,
    loaded: Mutex<Vec<Portion>>,
}

/// Posts loaded together.
struct Portion {
    author: UserFields,
    posts: Vec<PostId>,
    entries: Arc<[VisiblePost]>,
}

impl TimelineLook {
    /// Returns whether it covers a watch at this position that needs a look no older than `needed`.
    fn covers(&self, seen: &Seen, needed: Instant) -> bool {
        let reaches_back = seen.removed.is_some_and(|removed| self.since <= removed);
        self.is_whole && self.began >= needed && self.above <= seen.upto && reaches_back
    }

    /// Returns those of these posts that still exist, with their authors, in ascending order. Two round
    /// trips, unless another watch has just loaded the same.
    pub(super) async fn load(
        &self,
        app: &App,
        owner: UserId,
        posts: Vec<PostId>,
        author: UserFields,
    ) -> Result<Arc<[VisiblePost]>, Error> {
        let mut loaded = self.loaded.lock().await;
        let same = loaded.iter().find(|portion| portion.author == author && portion.posts == posts);
        if let Some(same) = same {
            return Ok(Arc::clone(&same.entries));
        }
        let mut entries = app.read_entries(owner, posts.clone(), author).await?;
        entries.sort_by_key(|entry| entry.post.id);
        let entries: Arc<[VisiblePost]> = entries.into();
        if loaded.len() == PORTIONS {
            loaded.remove(0);
        }
        loaded.push(Portion { author, posts, entries: Arc::clone(&entries) });
        Ok(entries)
    }
}

impl App {
    /// Returns a look that began no earlier than `needed`, for a watch at position `seen`.
    ///
    /// Rejected if there are too many events to send one by one.
    pub(super) async fn look_at_timeline(
        &self,
        looks: &TimelineLooks,
        owner: UserId,
        seen: &Seen,
        needed: Instant,
    ) -> Result<Arc<TimelineLook>, Error> {
        let mut last = looks.lock().await;
        if let Some(look) = last.as_ref().filter(|look| look.covers(seen, needed)) {
            return Ok(Arc::clone(look));
        }
        let look = Arc::new(self.look_from(owner, seen).await?);
        if look.is_whole {
            *last = Some(Arc::clone(&look));
        }
        Ok(look)
    }

    /// Reads additions and removals since a position. Two round trips for the mark, two for removals and the
    /// timeline, and two more to pull. If the mark is below the floor, also the cost of a page below it.
    async fn look_from(&self, owner: UserId, seen: &Seen) -> Result<TimelineLook, Error> {
        let began = Instant::now();
        let resync = || Err(Error::Rejected(Rejection::Resync));
        if seen.beyond.len() > MOST_SEEN {
            return resync();
        }
        let mark = self.delivered_mark().await?;
        let removed = timeline::removed(self.keys(), owner, seen.removed, MOST_BEHIND + 1);
        let Some(removals) = removed.send("live: removed", self.store()).await? else { return resync() };
        let size = MOST_BEHIND + seen.beyond.len() + 1;
        let above = Window { direction: Direction::Backward, size, from: seen.upto.last() };
        let Part { nonce: Some(_), view, .. } = self.refresh(owner, &above).await? else {
            return Err(Broken::GaveUp("watching a timeline that cannot be stored").into());
        };
        let late = self.late_posts(owner, seen.upto, view.floor).await?;
        let is_whole = late.is_some();
        // Posts above all that were seen may have arrived and already be below the floor.
        let is_cut_off = !is_whole && view.floor > seen.newest();
        let mut posts = late.unwrap_or_default();
        posts.extend(view.posts.into_iter().rev());
        let new = posts.iter().filter(|post| !seen.has(**post)).count();
        if is_cut_off || new > MOST_BEHIND || removals.posts.len() > MOST_BEHIND {
            return resync();
        }
        Ok(TimelineLook {
            began,
            mark,
            at: removals.at,
            removals: removals.posts,
            posts,
            above: seen.upto,
            since: seen.removed.unwrap_or(removals.at),
            is_whole,
            loaded: Mutex::default(),
        })
    }

    /// Returns the posts above `above` that lie below the floor of a timeline, oldest first; `None` if there
    /// are too many. No round trip if the floor is not above it.
    pub(super) async fn late_posts(
        &self,
        owner: UserId,
        above: Mark,
        floor: Mark,
    ) -> Result<Option<Vec<PostId>>, Error> {
        if floor <= above {
            return Ok(Some(Vec::new()));
        }
        let window = Window { direction: Direction::Backward, size: MOST_LATE + 1, from: above.last() };
        let mut posts = self.posts_of_all(owner, &window).await?;
        posts.retain(|post| floor.covers(*post));
        Ok((posts.len() <= MOST_LATE).then_some(posts))
    }
}
