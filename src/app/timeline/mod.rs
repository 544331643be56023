//! Reads home timelines: the posts of a user and of the users they follow, newest first, back to the oldest.
//!
#![doc = include_str!("README.md")]

pub mod entry;
pub mod live;
pub(super) mod look;
mod merge;
pub(in crate::app) mod pull;
mod removal;
pub mod seen;
mod strategy;

use std::collections::HashSet;

pub(super) use self::strategy::{Freshness, Strategy};
use crate::app::App;
use crate::app::error::{Broken, Error};
use crate::app::timeline::entry::{EntrySelection, Filling, Replies, TimelineEntry};
use crate::app::timeline::merge::Reach;
use crate::app::timeline::seen::Seen;
use crate::app::viewer::{SignedIn, Viewer};
use crate::budget;
use crate::config::TimelineStrategy;
use crate::model::clock::Timestamp;
use crate::model::id::{PostId, UserId};
use crate::model::mark::Mark;
use crate::model::page::{Direction, Page, Window};
use crate::model::reaction::ReactionSelection;
use crate::model::relation::Side;
use crate::model::user::UserFields;
use crate::store::relation;
use crate::store::timeline::{self, MOST_NAMED, MergeSource, Merged, Nonce, Opened, Pull, Sources, View};

/// Maximum number of attempts to read a timeline that disappears during the read.
const ATTEMPTS: usize = 5;

/// Maximum number of posts read at once to replace posts left out of a page.
const MOST_LOOKED_AT: usize = 500;

/// A part of a timeline, and the timeline's identity.
struct Part {
    /// The timeline's identity; `None` if there is no timeline, because the store is not writable.
    nonce: Option<Nonce>,
    view: View,
    /// Time up to which the part reflects all removals, by the Redis clock; `None` if there is no timeline.
    at: Option<Timestamp>,
}

impl From<Opened> for Part {
    fn from(Opened { nonce, view, at, .. }: Opened) -> Self {
        Self { nonce: Some(nonce), view, at: Some(at) }
    }
}

/// The view with which a page begins.
struct FirstView {
    view: View,
    /// Number of posts that were requested.
    requested: usize,
}

impl FirstView {
    /// Returns true if there are no posts beyond the view.
    fn is_whole(&self) -> bool {
        self.view.floor == Mark::START && self.view.posts.len() < self.requested
    }
}

/// A page of a home timeline.
#[derive(Clone, Debug)]
pub struct TimelinePage {
    /// The entries, newest first.
    pub page: Page<TimelineEntry>,
    /// True if the page starts at the top of the timeline.
    is_top: bool,
    /// The delivered mark, read before the page.
    mark: Mark,
    /// Time of the read, by the Redis clock; `None` if the store is not writable.
    at: Option<Timestamp>,
}

impl TimelinePage {
    /// Returns the position of a reader who has read the page from the entry at `index` to the end.
    #[must_use]
    pub fn seen_from(&self, index: usize) -> Seen {
        Seen::of_entry(self, index)
    }

    /// Returns the position of a reader who has read the page; `None` unless the page begins at the top of the
    /// timeline.
    #[must_use]
    pub fn seen(&self) -> Option<Seen> {
        self.is_top.then(|| match self.page.entries.len() {
            0 => Seen { upto: self.mark, beyond: Vec::new(), removed: self.at },
            _ => Seen::of_entry(self, 0),
        })
    }
}

/// The parameters of a timeline read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TimelineQuery {
    /// The window of posts to return.
    pub window: Window<PostId>,
    /// The fields to read of each post's author, and of the users who reposted it.
    pub author: UserFields,
    /// The viewer's reactions to read.
    pub reactions: ReactionSelection,
    /// The replies to show.
    pub replies: Replies,
    /// True if the read must also check for entries on the other side of the window's position.
    pub looks_back: bool,
}

impl App {
    /// Returns a page of the viewer's home timeline. Makes at most six round trips once the timeline is filled,
    /// regardless of the page size and the number of followed users; one more if the page has reposts or replies. Makes
    /// additional round trips to replace entries, to read below the floor, and to check for entries on the other side.
    pub async fn timeline(&self, viewer: &Viewer, query: TimelineQuery) -> Result<TimelinePage, Error> {
        let signed_in = viewer.signed_in()?;
        // Read the mark before the page: a client that resumes live updates from the page must receive
        // everything that arrives from now on.
        let mark = match self.known_delivered_mark() {
            Some(known) => known,
            None => self.delivered_mark().await?,
        };
        let TimelineQuery { window, author, reactions, replies, .. } = query;
        let selection = EntrySelection { author, reactions, replies };
        // Read one additional post, to detect further posts.
        let wanted = Window { size: window.size + 1, ..window };
        let ahead = Window { size: self.ids_ahead(viewer, &wanted).await?, ..wanted };
        let Part { nonce, view, at } = self.refresh(signed_in, &ahead, Freshness::Recent).await?;
        let nonce = nonce.as_ref();
        let first = FirstView { view, requested: ahead.size };
        let found = self.collect(viewer, nonce, window, Some(first), selection);
        let back = async {
            match window.behind().filter(|_| query.looks_back) {
                Some(behind) => self.has_entry(viewer, nonce, behind, replies).await,
                None => Ok(false),
            }
        };
        let (Filling { mut entries, has_more: more, .. }, back) =
            futures::future::try_join(found, back).await?;
        let (has_previous, has_next) = match window.direction {
            Direction::Forward => (back, more),
            Direction::Backward => {
                entries.reverse();
                (more, back)
            }
        };
        let page = Page { entries: entries.into(), has_previous, has_next };
        let is_top = window.direction == Direction::Forward && window.from.is_none();
        Ok(TimelinePage { page, is_top, mark, at })
    }

    /// Returns the number of ids to read for a window's entries: more than these if some are likely to be left out.
    async fn ids_ahead(&self, viewer: &Viewer, window: &Window<PostId>) -> Result<usize, Error> {
        let exclusions = self.exclusions(viewer.signed_in()?).await?;
        Ok(if exclusions.hide_posts(self.now()) { 2 * window.size } else { window.size })
    }

    /// Returns true if `behind`, the window on the other side of a position, has an entry. First checks the
    /// entry at the position, which nearly always exists.
    async fn has_entry(
        &self,
        viewer: &Viewer,
        nonce: Option<&Nonce>,
        behind: Window<PostId>,
        replies: Replies,
    ) -> Result<bool, Error> {
        let selection =
            EntrySelection { author: UserFields::NONE, reactions: ReactionSelection::NONE, replies };
        let nearest = behind.from.and_then(|from| {
            PostId::new(match behind.direction {
                Direction::Forward => from.get().saturating_sub(1),
                Direction::Backward => from.get() + 1,
            })
        });
        let nearest = self.read_entries(viewer, nearest.into_iter().collect(), selection).await?;
        if !nearest.is_empty() {
            return Ok(true);
        }
        Ok(!self.collect(viewer, nonce, behind, None, selection).await?.entries.is_empty())
    }

    /// Runs steps 1 to 4, and notes the version of the owner's exclusions at that time. Returns a part of the timeline,
    /// with the posts of all authors who were stars when the watermark was read. If the store is not writable, returns
    /// an empty part with a floor above all posts, so that the caller collects all posts from the authors.
    async fn refresh(
        &self,
        owner: &SignedIn,
        window: &Window<PostId>,
        freshness: Freshness,
    ) -> Result<Part, Error> {
        match self.try_to_refresh(owner, window, freshness).await {
            Err(Error::Broken(Broken::Unreachable(error))) if error.is_read_only() => {
                Ok(Part { nonce: None, view: View { floor: Mark::END, posts: Vec::new() }, at: None })
            }
            refreshed => refreshed,
        }
    }

    async fn try_to_refresh(
        &self,
        owner: &SignedIn,
        window: &Window<PostId>,
        freshness: Freshness,
    ) -> Result<Part, Error> {
        let generation = self.generation().await?;
        for _ in 0..ATTEMPTS {
            if self.0.rules.timeline.timeline_strategy == TimelineStrategy::Push {
                let opened = self.open(owner, generation, Sources::Named(&[]), window).await?;
                if opened.mark.is_some() {
                    return Ok(opened.into());
                }
            }
            let (watermark, stars) = self.watermark(freshness).await?;
            let opened = self.open_to_pull(owner, generation, &stars.authors, window).await?;
            let is_full = opened.mark.is_none();
            // Filling a timeline benefits all later reads, so this operation's budget does not limit it.
            let pulled = if is_full {
                Box::pin(budget::unlimited(self.pull(&opened))).await?
            } else {
                self.pull(&opened).await?
            };
            if !is_full && pulled.posts.is_empty() && pulled.cut == Mark::START {
                // Leave the mark where it is: a stale mark is harmless.
                return Ok(opened.into());
            }
            let pull = Pull { nonce: opened.nonce.clone(), generation, mark: watermark, is_full };
            let merge = pulled.merge(MergeSource::Pull(pull));
            let capacity = self.0.rules.timeline.timeline_capacity;
            let merge = timeline::merge(self.keys(), owner.user, capacity, &merge, window);
            if let Some(Merged { view, .. }) = merge.send("timeline: merge", self.store()).await? {
                return Ok(Part { nonce: Some(opened.nonce), view, at: Some(opened.at) });
            }
        }
        Err(Broken::GaveUp("reading a timeline that keeps disappearing").into())
    }

    /// Runs step 2, and determines the authors to pull from.
    async fn open_to_pull(
        &self,
        owner: &SignedIn,
        generation: u64,
        stars: &[UserId],
        window: &Window<PostId>,
    ) -> Result<Opened, Error> {
        let strategy = self.0.rules.timeline.timeline_strategy;
        let sources = match strategy {
            TimelineStrategy::Hybrid if stars.len() <= MOST_NAMED => Sources::Named(stars),
            TimelineStrategy::Hybrid | TimelineStrategy::Pull => Sources::All,
            TimelineStrategy::Push => Sources::Named(&[]),
        };
        let mut opened = self.open(owner, generation, sources, window).await?;
        if opened.mark.is_none() {
            opened.sources.push(owner.user);
        } else if strategy == TimelineStrategy::Hybrid && stars.len() > MOST_NAMED {
            let stars: HashSet<&UserId> = stars.iter().collect();
            opened.sources.retain(|source| stars.contains(source));
        }
        Ok(opened)
    }

    async fn open(
        &self,
        owner: &SignedIn,
        generation: u64,
        sources: Sources<'_>,
        window: &Window<PostId>,
    ) -> Result<Opened, Error> {
        let (nonce, lifetime) = (self.rng().nonce(), self.0.rules.timeline.lifetime_seconds());
        let open = timeline::open(self.keys(), owner.user, nonce, lifetime, generation, sources, window);
        let opened = open.send("timeline: open", self.store()).await?;
        // The owner may have authenticated before a removal that the time of the read covers.
        owner.exclusions.raise(opened.exclusions);
        Ok(opened)
    }

    /// Runs step 5: returns the entries of a window, in the window's direction.
    async fn collect(
        &self,
        viewer: &Viewer,
        nonce: Option<&Nonce>,
        window: Window<PostId>,
        mut first: Option<FirstView>,
        selection: EntrySelection,
    ) -> Result<Filling, Error> {
        let mut filling = Filling::new(window.size, window.direction);
        // One more post, to detect further entries.
        let mut wanted = Window { size: window.size + 1, ..window };
        loop {
            let is_whole = first.as_ref().is_some_and(FirstView::is_whole);
            let view = first.take().map(|first| first.view);
            let posts = self.posts_from(viewer, nonce, &wanted, view).await?;
            let is_last = is_whole || posts.len() < wanted.size;
            let from = posts.last().copied();
            // `posts` may contain more posts than requested.
            for portion in posts.chunks(wanted.size.max(1)) {
                if !filling.has_more {
                    let entries = self.read_entries(viewer, portion.to_vec(), selection).await?;
                    for entry in entries {
                        filling.add(entry);
                    }
                }
            }
            if is_last || filling.has_more {
                return Ok(filling);
            }
            // If the owner has unfollowed or muted a prolific author, many posts may have to be left out.
            wanted = Window { from, size: (wanted.size * 2).min(MOST_LOOKED_AT), ..wanted };
        }
    }

    /// Returns the post ids of a window, in the window's direction. Reads the timeline down to its floor, and
    /// followed users' posts below the floor. May return more posts than the window's size.
    async fn posts_from(
        &self,
        viewer: &Viewer,
        nonce: Option<&Nonce>,
        window: &Window<PostId>,
        view: Option<View>,
    ) -> Result<Vec<PostId>, Error> {
        let owner = viewer.signed_in()?;
        let mut view = match view {
            Some(view) => view,
            None => self.view(owner, nonce, window).await?,
        };
        if window.direction == Direction::Forward {
            let mut posts = view.posts;
            if posts.len() < window.size && view.floor > Mark::START {
                let floor = view.floor.next();
                let from = window.from.min(floor).or(floor);
                let rest = Window { from, size: window.size - posts.len(), ..*window };
                posts.extend(self.posts_of_all(viewer, &rest).await?);
            }
            return Ok(posts);
        }
        let mut posts = Vec::new();
        let mut rest = *window;
        // The floor may rise between the reads.
        while view.floor > rest.from.map_or(Mark::START, Mark::at) {
            let below = self.posts_of_all(viewer, &rest).await?;
            posts.extend(below.into_iter().take_while(|post| view.floor.covers(*post)));
            if posts.len() >= window.size {
                return Ok(posts);
            }
            rest = Window { from: view.floor.last(), size: window.size - posts.len(), ..rest };
            view = self.view(owner, nonce, &rest).await?;
        }
        posts.extend(view.posts.into_iter().rev());
        Ok(posts)
    }

    /// Returns a part of the opened timeline. Rebuilds the timeline if it has disappeared.
    async fn view(
        &self,
        owner: &SignedIn,
        nonce: Option<&Nonce>,
        window: &Window<PostId>,
    ) -> Result<View, Error> {
        let view = match nonce {
            Some(_) => {
                timeline::view(self.keys(), owner.user, nonce, window)
                    .send("timeline: view", self.store())
                    .await?
            }
            None => None,
        };
        match view {
            Some(view) => Ok(view),
            None => Ok(self.refresh(owner, window, Freshness::Recent).await?.view),
        }
    }

    /// Returns the posts of the owner and all followed users who are not muted or blocked in a window, in the window's
    /// direction. Merges hot and cold posts, because the floor does not coincide with any author's boundary between hot
    /// and cold posts. May return more posts than the window's size.
    async fn posts_of_all(&self, viewer: &Viewer, window: &Window<PostId>) -> Result<Vec<PostId>, Error> {
        let signed_in = viewer.signed_in()?;
        let (owner, now) = (signed_in.user, self.now());
        let exclusions = self.exclusions(signed_in).await?;
        let following = relation::all(self.keys(), owner, Side::Following);
        let following = following.send("timeline: following", self.store()).await?;
        let following = following.iter().map(|follow| follow.user);
        let is_hidden =
            |author: &UserId| exclusions.hide_posts_of(*author, now) || exclusions.has_block_with(*author);
        let shown = following.filter(|author| !is_hidden(author));
        let authors: Vec<UserId> = shown.chain([owner]).collect();
        Ok(self.merge_posts("timeline: below", Reach::Archive, &authors, window).await?.posts)
    }
}
