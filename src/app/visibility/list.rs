//! Lists of users as a viewer sees them: without the users on the other side of a block, whether in a page or in a
//! count.
//!
//! For a viewer whom more users block than are cached, the counts of stored lists include these, though pages do not.
//!
//! Not here: the data of the listed users (`app::visibility`).

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::{try_join, try_join_all};

use crate::app::account::read::InactiveAmong;
use crate::app::error::Error;
use crate::app::exclusion::BlockersAmong;
use crate::app::read::{Load, Many, Shared};
use crate::app::relation::read::{EntryTimes, FollowCount, FollowPage, UserList, WholeList};
use crate::app::visibility::Visible;
use crate::model::exclusion::{Blockers, Exclusions};
use crate::model::id::UserId;
use crate::model::page::{Direction, InListOrder as _, Page, Position, Window};
use crate::model::relation::{Follow, Side};

/// Maximum number of entries read at once to replace those left out of a page.
const MOST_ENTRIES: usize = 1_000;

/// Maximum number of reads of a list for one page. If the viewer may see too few of what they find, the page ends
/// early: otherwise, users who block the viewer could make a list unreadable.
pub const LOOKS: usize = 3;

/// Number of users who are looked up together in the set of inactive users, until the set lacks one.
const PROBED: usize = 100;

/// Maximum number of lookups of excluded users in lists for which the lengths of the lists are not read first.
const MOST_PROBES: usize = 10_000;

/// One of the lists of users that only the viewer sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OwnList {
    /// The users whom the viewer mutes.
    Muted,
    /// The users whom the viewer blocks.
    Blocked,
    /// The users who have requested to follow the viewer.
    Requests,
    /// The users whom the viewer has requested to follow.
    SentRequests,
}

/// A page of a list of users as a viewer sees it.
#[derive(Clone, Debug)]
pub struct VisiblePage<E> {
    /// The entries that the viewer may see, and whether there may be others around them.
    pub page: Arc<Page<E>>,
    /// The outermost entry that was looked at in the direction of the window, if the page ends early: neither full nor
    /// at the end of the list.
    pub ended: Option<E>,
}

impl VisiblePage<Follow> {
    /// Returns the page as one of positions.
    #[must_use]
    pub fn positions(&self) -> VisiblePage<Position> {
        let Page { entries, has_previous, has_next } = &*self.page;
        let entries = entries.iter().map(|entry| Position::from(*entry)).collect();
        let page = Page { entries, has_previous: *has_previous, has_next: *has_next };
        VisiblePage { page: Arc::new(page), ended: self.ended.map(Position::from) }
    }
}

impl<E> From<Arc<Page<E>>> for VisiblePage<E> {
    fn from(page: Arc<Page<E>>) -> Self {
        Self { page, ended: None }
    }
}

/// What was found of a stored list.
struct Found {
    /// Visible entries, in list order.
    entries: Vec<Follow>,
    /// The last entry that was looked at, if there are too few visible ones, and others beyond it that were not looked
    /// at.
    ended: Option<Follow>,
}

impl<L: Load> Visible<'_, L> {
    /// Returns the viewer's exclusions if there may be blocks among them.
    async fn blocks(&self) -> Result<Option<(Arc<Exclusions>, Shared<UserId>)>, Error> {
        let Some(exclusions) = self.exclusions().await? else { return Ok(None) };
        // The same list for all reads, so that the loader recognizes a count that it has read.
        let blocks = Shared(Arc::clone(exclusions.blocks()));
        let has_any = !blocks.0.is_empty() || *exclusions.blockers() == Blockers::TooMany;
        Ok(has_any.then_some((exclusions, blocks)))
    }

    /// Returns a page of a list of users. Makes one round trip, plus one for known followers and for long lists of
    /// mutuals, and up to [`LOOKS`] further ones to replace entries that the viewer may not see.
    pub async fn user_page(
        &self,
        list: UserList,
        window: Window<Position>,
    ) -> Result<VisiblePage<Follow>, Error> {
        match list.stored() {
            Some(side) => self.stored_page(list.owner, side, window).await,
            None => Ok(Arc::new(Page::of(&self.visible_entries(list).await?, &window)).into()),
        }
    }

    /// Returns a page of a stored list.
    async fn stored_page(
        &self,
        owner: UserId,
        side: Side,
        window: Window<Position>,
    ) -> Result<VisiblePage<Follow>, Error> {
        match self.blocks().await? {
            Some((exclusions, _)) => self.visible_page(owner, side, window, &exclusions).await,
            None => self.load.load(FollowPage { owner, side, window }).await.map(VisiblePage::from),
        }
    }

    /// Returns pages of several stored lists of one kind, in the order of the requests. Makes as many round trips as
    /// for the one that takes most.
    pub async fn user_pages(
        &self,
        side: Side,
        pages: impl Iterator<Item = (UserId, Window<Position>)> + Send,
    ) -> Result<Vec<VisiblePage<Follow>>, Error> {
        let Some((exclusions, _)) = self.blocks().await? else {
            let pages = pages.map(|(owner, window)| FollowPage { owner, side, window });
            let pages = self.load.load(Many(pages.collect())).await?;
            return Ok(pages.iter().map(|page| Arc::clone(page).into()).collect());
        };
        let page = |(owner, window)| self.visible_page(owner, side, window, &exclusions);
        try_join_all(pages.map(page).collect::<Vec<_>>()).await
    }

    /// Returns the length of a list of users. Makes one round trip, plus one for known followers and for long lists of
    /// mutuals.
    pub async fn user_count(&self, list: UserList) -> Result<u64, Error> {
        match list.stored() {
            Some(side) => self.stored_count(list.owner, side).await,
            None => Ok(self.visible_entries(list).await?.len() as u64),
        }
    }

    /// Returns the length of a stored list.
    async fn stored_count(&self, owner: UserId, side: Side) -> Result<u64, Error> {
        let excluded = self.blocks().await?.map(|(_, excluded)| excluded);
        self.load.load(FollowCount { owner, side, excluded }).await
    }

    /// Returns the lengths of several stored lists of one kind. Makes one round trip, or two if many users would have
    /// to be looked up in many lists.
    pub async fn user_counts(
        &self,
        side: Side,
        owners: impl Iterator<Item = UserId> + Send,
    ) -> Result<Arc<[u64]>, Error> {
        let blocks = self.blocks().await?;
        let owners: Vec<UserId> = owners.collect();
        let counts = |excluded: Option<&Shared<UserId>>| {
            let count = |&owner: &UserId| FollowCount { owner, side, excluded: excluded.cloned() };
            self.load.load(Many(owners.iter().map(count).collect()))
        };
        match blocks {
            Some((exclusions, excluded)) if owners.len() * excluded.0.len() > MOST_PROBES => {
                let lengths = counts(None).await?;
                self.count_apart(side, &owners, &lengths, &exclusions, &excluded).await
            }
            blocks => counts(blocks.map(|(_, excluded)| excluded).as_ref()).await,
        }
    }

    /// Returns the numbers of visible entries of stored lists of these lengths. Reads lists that are shorter than that
    /// of the excluded users, and looks up the excluded users in the others. Makes one round trip.
    async fn count_apart(
        &self,
        side: Side,
        owners: &[UserId],
        lengths: &[u64],
        exclusions: &Exclusions,
        excluded: &Shared<UserId>,
    ) -> Result<Arc<[u64]>, Error> {
        let is_short = |index: usize| lengths[index] <= excluded.0.len() as u64;
        let (short, long): (Vec<usize>, Vec<usize>) = (0..owners.len()).partition(|&index| is_short(index));
        let lists = short.iter().map(|&index| WholeList { owner: owners[index], side }).collect();
        let count =
            |&index: &usize| FollowCount { owner: owners[index], side, excluded: Some(excluded.clone()) };
        let counts = long.iter().map(count).collect();
        let (lists, counts) = self.load.load_both(Many(lists), Many(counts)).await?;
        let is_visible = |entry: &&Follow| !exclusions.has_block_with(entry.user);
        let mut all = vec![0; owners.len()];
        for (index, list) in short.into_iter().zip(lists.iter()) {
            all[index] = list.iter().filter(is_visible).count() as u64;
        }
        for (index, count) in long.into_iter().zip(counts.iter()) {
            all[index] = *count;
        }
        Ok(all.into())
    }

    /// Returns all visible entries of a computed list, newest first.
    async fn visible_entries(&self, list: UserList) -> Result<Arc<[Follow]>, Error> {
        let blocks = self.blocks().await?;
        let all = list.all(self.load, self.viewer.user()).await?;
        let Some((exclusions, _)) = blocks else { return Ok(all) };
        Ok(self.visible_among(&all, &exclusions).await?.into())
    }

    /// Returns those of these entries that the viewer may see. Makes no round trip; one for a viewer whom too many
    /// users block to cache.
    async fn visible_among(&self, entries: &[Follow], exclusions: &Exclusions) -> Result<Vec<Follow>, Error> {
        let visible = entries.iter().filter(|entry| !exclusions.has_block_with(entry.user));
        let visible: Vec<Follow> = visible.copied().collect();
        if visible.is_empty() || *exclusions.blockers() != Blockers::TooMany {
            return Ok(visible);
        }
        let users = Shared(visible.iter().map(|entry| entry.user).collect());
        let blockers = BlockersAmong { viewer: self.viewer.signed_in()?.user, users };
        // Boxed because the futures' types nest deeper than the compiler's limit.
        let blockers = self.load.load(blockers).boxed().await?;
        let visible = visible.into_iter().zip(blockers.iter()).filter(|(_, blocks_viewer)| !**blocks_viewer);
        Ok(visible.map(|(entry, _)| entry).collect())
    }

    /// Returns a page of the visible entries of a stored list.
    async fn visible_page(
        &self,
        owner: UserId,
        side: Side,
        window: Window<Position>,
        exclusions: &Exclusions,
    ) -> Result<VisiblePage<Follow>, Error> {
        let ahead = Window { size: window.size + 1, ..window };
        let found = self.collect(owner, side, ahead, ahead.size, exclusions);
        let has_behind = self.has_visible_behind(owner, side, ahead, exclusions);
        let (Found { mut entries, ended }, has_behind) = try_join(found, has_behind).await?;
        let more = entries.len() > window.size || ended.is_some();
        let (has_previous, has_next) = match window.direction {
            Direction::Forward => {
                entries.truncate(window.size);
                (has_behind, more)
            }
            Direction::Backward => {
                entries.drain(..entries.len().saturating_sub(window.size));
                (more, has_behind)
            }
        };
        Ok(VisiblePage { page: Arc::new(Page { entries: entries.into(), has_previous, has_next }), ended })
    }

    /// Returns true if there are visible entries on the other side of a window's position, or at the position, or if
    /// there may be, since not all were looked at. Makes as many round trips if the position is that of a hidden entry
    /// as if it is that of no entry.
    async fn has_visible_behind(
        &self,
        owner: UserId,
        side: Side,
        window: Window<Position>,
        exclusions: &Exclusions,
    ) -> Result<bool, Error> {
        let Some(from) = window.from else { return Ok(false) };
        let behind = Window { direction: window.direction.opposite(), ..window };
        // The position's entry may be gone, or may have another time.
        let users = Shared(Arc::new([from.id]) as Arc<[UserId]>);
        let times = self.load.load(EntryTimes { owner, side, users });
        let page = self.load.load(FollowPage { owner, side, window: behind });
        let (times, page) = try_join(times, page).await?;
        let own = times[0].filter(|at| *at == from.at).map(|at| Follow { user: from.id, at });
        let nearest: Vec<Follow> = page.entries.iter().copied().chain(own).collect();
        if !self.visible_among(&nearest, exclusions).await?.is_empty() {
            return Ok(true);
        }
        let Some(rest) = beyond(&behind, &page) else { return Ok(false) };
        let found = self.collect(owner, side, rest, 1, exclusions).await?;
        Ok(!found.entries.is_empty() || found.ended.is_some())
    }

    /// Returns visible entries in list order: those of a window and, unless these are `enough`, those beyond it until
    /// they are, or until it has looked [`LOOKS`] times.
    async fn collect(
        &self,
        owner: UserId,
        side: Side,
        mut window: Window<Position>,
        enough: usize,
        exclusions: &Exclusions,
    ) -> Result<Found, Error> {
        let mut found = Found { entries: Vec::new(), ended: None };
        for _ in 0..LOOKS {
            let page = self.load.load(FollowPage { owner, side, window }).await?;
            let visible = self.visible_among(&page.entries, exclusions).await?;
            match window.direction {
                Direction::Forward => found.entries.extend(visible),
                Direction::Backward => drop(found.entries.splice(..0, visible)),
            }
            let is_full = found.entries.len() >= enough;
            let Some(rest) = beyond(&window, &page).filter(|_| !is_full) else {
                return Ok(Found { ended: None, ..found });
            };
            window = rest;
            found.ended = window.from.map(|Position { at, id }| Follow { user: id, at });
        }
        Ok(found)
    }

    /// Returns all entries of one of the viewer's own lists, newest first; `None` if the list is not among the
    /// exclusions, but stored. Makes at most one round trip.
    async fn own_entries(&self, list: OwnList) -> Result<Option<Vec<Position>>, Error> {
        let viewer = self.viewer.signed_in()?;
        let exclusions = self.app.exclusions(viewer).await?;
        let mut entries = match list {
            OwnList::Muted => exclusions.muted(self.app.now()),
            OwnList::Blocked => exclusions.blocked(),
            OwnList::SentRequests => exclusions.requested(),
            OwnList::Requests => return Ok(None),
        };
        let users: Shared<UserId> = Shared(entries.iter().map(|entry| entry.id).collect());
        if let Some(hidden) = self.hidden(viewer, &exclusions, &users, super::Access::Direct).await? {
            let mut hidden = hidden.into_iter();
            entries.retain(|_| hidden.next() == Some(false));
        }
        Ok(Some(entries))
    }

    /// Returns a page of one of the viewer's own lists. Makes at most two round trips, and up to [`LOOKS`] further ones
    /// to replace requests of users whom the viewer may not see.
    pub async fn own_page(
        &self,
        list: OwnList,
        window: Window<Position>,
    ) -> Result<VisiblePage<Position>, Error> {
        if let Some(entries) = self.own_entries(list).await? {
            let Page { entries: page, has_previous, has_next } = Page::of(&entries, &window);
            // Rows leave out inactive users by themselves, because these have no record; the flags must as well.
            let (before, after) = around(&entries, &page);
            let has_previous = async { Ok::<_, Error>(has_previous && self.has_active(before).await?) };
            let has_next = async { Ok(has_next && self.has_active(after).await?) };
            let (has_previous, has_next) = try_join(has_previous, has_next).await?;
            return Ok(Arc::new(Page { entries: page, has_previous, has_next }).into());
        }
        let page = self.stored_page(self.viewer.signed_in()?.user, Side::Requests, window).await?;
        Ok(page.positions())
    }

    /// Returns true if the account of one of these users is active. Makes one round trip for each 100 users
    /// whose accounts are not.
    async fn has_active(&self, entries: &[Position]) -> Result<bool, Error> {
        for entries in entries.chunks(PROBED) {
            let users = Shared(entries.iter().map(|entry| entry.id).collect());
            if self.load.load(InactiveAmong(users)).await?.contains(&false) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the length of one of the viewer's own lists. Makes at most two round trips.
    pub async fn own_count(&self, list: OwnList) -> Result<u64, Error> {
        match self.own_entries(list).await? {
            Some(entries) if entries.is_empty() => Ok(0),
            Some(entries) => {
                // Pages leave out inactive users by themselves, because these have no record.
                let users = Shared(entries.iter().map(|entry| entry.id).collect());
                let inactive = self.load.load(InactiveAmong(users)).await?;
                Ok(inactive.iter().filter(|is_inactive| !**is_inactive).count() as u64)
            }
            None => self.stored_count(self.viewer.signed_in()?.user, Side::Requests).await,
        }
    }
}

/// Returns the entries of a list before and after a page of it; the whole list for both if the page is empty.
fn around<'a>(list: &'a [Position], page: &[Position]) -> (&'a [Position], &'a [Position]) {
    let Some(first) = page.first() else { return (list, list) };
    let start = list.partition_point(|entry| entry.in_list_order(first).is_lt());
    (&list[..start], &list[start + page.len()..])
}

/// Returns the window with which a page of a list continues, far larger; `None` if the list ends with the page.
fn beyond(window: &Window<Position>, page: &Page<Follow>) -> Option<Window<Position>> {
    let (outermost, more) = match window.direction {
        Direction::Forward => (page.entries.last(), page.has_next),
        Direction::Backward => (page.entries.first(), page.has_previous),
    };
    let last = outermost.filter(|_| more)?;
    let size = (10 * window.size).min(MOST_ENTRIES);
    Some(Window { size, from: Some(Position::from(*last)), ..*window })
}
