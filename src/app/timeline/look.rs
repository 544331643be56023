//! TimelineLooks at a home timeline, shared by all watches of its owner in this process.
//!
//! A watch that is woken needs a look that began no earlier than the signal that woke it. The first to ask looks, from
//! what it has seen itself; all others whose positions this covers take the same look. So a post that comes to a user
//! with a thousand watches is looked for once, and read once for each selection of fields.
//!
//! A look finds ids only. Their posts are loaded in small portions, when a client takes them.
//!
//! # Why
//! A portion belongs to its look: what is loaded for a look was read after the look began. Were it kept for a later
//! one, a post could be sent that was deleted in between, after its removal was sent.

use std::sync::Arc;

use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::app::App;
use crate::app::error::{Broken, Error, Refused};
use crate::app::timeline::live::Seen;
use crate::app::timeline::{Entry, Part};
use crate::model::clock::Timestamp;
use crate::model::id::{PostId, UserId};
use crate::model::page::{Direction, Window};
use crate::model::user::UserFields;
use crate::store::timeline;

/// Most posts, or removals, that a watch may be behind.
pub(super) const MOST_BEHIND: usize = 1_000;
/// Most posts above the mark that may be named as seen. Every event names them again.
const MOST_SEEN: usize = 4 * MOST_BEHIND;
/// Most posts that are looked for below the floor: as many as a page may have.
const MOST_LATE: usize = 100;
/// Portions that a look keeps: watches with different selections take turns.
const PORTIONS: usize = 2;

/// The last look at the timeline of one user. Locked during a look: one watch at a time.
pub(in crate::app) type TimelineLooks = Mutex<Option<Arc<TimelineLook>>>;

/// All that has come to a timeline, and was taken out of it, since a position.
pub(in crate::app) struct TimelineLook {
    /// Before anything was read.
    pub(super) began: Instant,
    /// The delivered mark.
    pub(super) mark: u64,
    /// All that was taken out up to then is in `removals`, by the clock of Redis.
    pub(super) at: Timestamp,
    /// What was taken out after `since`; the earliest first.
    pub(super) removals: Vec<(PostId, Timestamp)>,
    /// The posts above `above`; the least first.
    pub(super) posts: Vec<PostId>,
    above: u64,
    since: Timestamp,
    /// Whether nothing above `above` is left out.
    is_whole: bool,
    loaded: Mutex<Vec<Portion>>,
}

/// Posts that were loaded together.
struct Portion {
    author: UserFields,
    posts: Vec<PostId>,
    entries: Arc<[Entry]>,
}

impl TimelineLook {
    /// Whether it covers what a watch needs that has seen this.
    fn serves(&self, seen: &Seen, needed: Instant) -> bool {
        let reaches_back = seen.removed.is_some_and(|removed| self.since <= removed);
        self.is_whole && self.began >= needed && self.above <= seen.upto && reaches_back
    }

    /// Those of some posts of this look that are still there, with their authors; the least first. Two round trips,
    /// unless another watch has just asked for the same.
    pub(super) async fn load(
        &self,
        app: &App,
        owner: UserId,
        posts: Vec<PostId>,
        author: UserFields,
    ) -> Result<Arc<[Entry]>, Error> {
        let mut loaded = self.loaded.lock().await;
        let same = loaded.iter().find(|portion| portion.author == author && portion.posts == posts);
        if let Some(same) = same {
            return Ok(Arc::clone(&same.entries));
        }
        let mut entries = app.read_entries(owner, posts.clone(), author).await?;
        entries.sort_by_key(|entry| entry.post.id);
        let entries: Arc<[Entry]> = entries.into();
        if loaded.len() == PORTIONS {
            loaded.remove(0);
        }
        loaded.push(Portion { author, posts, entries: Arc::clone(&entries) });
        Ok(entries)
    }
}

impl App {
    /// A look at a timeline that began no earlier than needed, for somebody who has seen this.
    ///
    /// Refused if more has happened than can be sent one by one.
    pub(super) async fn look_at_timeline(
        &self,
        looks: &TimelineLooks,
        owner: UserId,
        seen: &Seen,
        needed: Instant,
    ) -> Result<Arc<TimelineLook>, Error> {
        let mut last = looks.lock().await;
        if let Some(look) = last.as_ref().filter(|look| look.serves(seen, needed)) {
            return Ok(Arc::clone(look));
        }
        let look = Arc::new(self.look_from(owner, seen).await?);
        if look.is_whole {
            *last = Some(Arc::clone(&look));
        }
        Ok(look)
    }

    /// What has come and gone since somebody has seen this. Two round trips for the mark, two for what was taken out and
    /// the timeline, two more to pull; where the mark is below the floor, also what a page below it costs.
    async fn look_from(&self, owner: UserId, seen: &Seen) -> Result<TimelineLook, Error> {
        let began = Instant::now();
        let resync = || Err(Error::Refused(Refused::Resync));
        if seen.beyond.len() > MOST_SEEN {
            return resync();
        }
        let mark = self.delivered_mark().await?;
        let removed = timeline::removed(self.keys(), owner, seen.removed, MOST_BEHIND + 1);
        let Some(removals) = removed.send("live: removed", self.store()).await? else { return resync() };
        let size = MOST_BEHIND + seen.beyond.len() + 1;
        let above = Window { direction: Direction::Backward, size, from: PostId::new(seen.upto) };
        let Part { nonce: Some(_), view, .. } = self.refresh(owner, &above).await? else {
            return Err(Broken::GaveUp("watching a timeline that cannot be kept now").into());
        };
        let late = self.late_posts(owner, seen.upto, view.floor).await?;
        let is_whole = late.is_some();
        // Something may have come above all that was seen, and be below the floor by now.
        let is_cut_off = !is_whole && view.floor > seen.newest() + 1;
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

    /// The posts above this one that lie below the floor of a timeline, oldest first; `None` if they are very many. No
    /// round trip where the floor is not above it.
    pub(super) async fn late_posts(
        &self,
        owner: UserId,
        above: u64,
        floor: u64,
    ) -> Result<Option<Vec<PostId>>, Error> {
        if floor <= above + 1 {
            return Ok(Some(Vec::new()));
        }
        let window = Window { direction: Direction::Backward, size: MOST_LATE + 1, from: PostId::new(above) };
        let mut posts = self.posts_of_all(owner, &window).await?;
        posts.retain(|post| post.get() < floor);
        Ok((posts.len() <= MOST_LATE).then_some(posts))
    }
}
