//! Builds pages of posts stored in Redis, in the archive, or across both.
//!
//! Not here: the order of the queries (`app::read`, `app::timeline`).

use std::collections::HashSet;
use std::sync::Arc;

use crate::app::error::Error;
use crate::archive::range::Range;
use crate::model::clock::Period;
use crate::model::id::{PostId, UserId};
use crate::model::page::{Direction, Page, Window};
use crate::model::post::Post;
use crate::store::post_list::{Cold, MOST_GONE, PostPage};

/// A post as it is stored, whether or not a viewer may see it. [`crate::app::visibility`] turns it into what its viewer
/// sees; other layers pass it on without a look (`tests/it/sources/house.rs`).
#[derive(Clone, Debug)]
pub struct StoredPost {
    post: Arc<Post>,
    is_archived: bool,
}

impl StoredPost {
    pub(in crate::app) fn hot(post: Arc<Post>) -> Self {
        Self { post, is_archived: false }
    }

    pub(in crate::app) fn archived(post: Arc<Post>) -> Self {
        Self { post, is_archived: true }
    }

    /// Returns the post, which no layer above this one may call: nothing is checked.
    #[must_use]
    pub fn unchecked(&self) -> &Arc<Post> {
        &self.post
    }

    /// Returns true if the post was read from the archive.
    pub(in crate::app) fn is_archived(&self) -> bool {
        self.is_archived
    }
}

/// A post in a list: its id or, if it has already been read, the whole post.
#[derive(Clone, Debug)]
pub enum Listed {
    /// A post that was in Redis when the list was read.
    Id(PostId),
    /// A post that was read together with the list.
    Read(StoredPost),
}

impl Listed {
    /// Returns the post's id.
    #[must_use]
    pub fn id(&self) -> PostId {
        match self {
            Self::Id(id) => *id,
            Self::Read(stored) => stored.post.id,
        }
    }
}

impl From<Listed> for PostId {
    fn from(listed: Listed) -> Self {
        listed.id()
    }
}

/// Returns the range of ids in which the archive may have posts for a window, given the page that Redis
/// returned for the window; `None` if the archive has none. The range extends from the window's position to
/// the end of the page or, if the hot list ends there, to the end of the archive.
pub(in crate::app) fn cold_range(
    author: UserId,
    window: &Window<PostId>,
    PostPage { page, cold, .. }: &PostPage,
) -> Option<Range> {
    let Window { direction, size: limit, from } = *window;
    let from = from.map(PostId::get);
    let (above, below) = match direction {
        Direction::Forward => (page.entries.last().filter(|_| page.has_next), from),
        Direction::Backward => {
            let first = page.entries.first().filter(|_| page.has_previous);
            return range(author, direction, from.unwrap_or(0), first.map(|first| first.get()), limit, cold);
        }
    };
    range(author, direction, above.map_or(0, |last| last.get()), below, limit, cold)
}

/// Builds a range; `None` if it is certain to be empty.
fn range(
    author: UserId,
    direction: Direction,
    above: u64,
    below: Option<u64>,
    limit: usize,
    cold: &Cold,
) -> Option<Range> {
    let upto = cold.greatest.saturating_add(1);
    let below = below.map_or(upto, |below| below.min(upto));
    // Use the greatest id, not the count, so that a wrong count hides no posts.
    let can_be = cold.greatest > 0 && below > above.saturating_add(1);
    can_be.then_some(Range {
        author,
        direction,
        above,
        below,
        limit,
        period: Period::ALL,
        only_public: false,
    })
}

/// A page of an author's posts, merged from Redis and the archive.
pub(in crate::app) struct Joint {
    window: Window<PostId>,
    hot: PostPage,
    /// Index of the requested range for the page's cold posts and the post after the page; `None` if no range
    /// is needed.
    beside: Option<usize>,
    /// Index of the requested range that shows if there are cold posts on the other side of the window's
    /// position; `None` if no range is needed.
    behind: Option<usize>,
}

impl Joint {
    /// Creates a page of the posts created in a period from its hot part, and adds to `ranges` the archive ranges that
    /// complete the page. With `only_public`, the archive returns no posts that only followers can see; that there are
    /// further posts may then be said of these.
    pub(in crate::app) fn new(
        author: UserId,
        window: Window<PostId>,
        period: Period,
        only_public: bool,
        hot: PostPage,
        ranges: &mut Vec<Range>,
    ) -> Self {
        let mut ask = |range: Option<Range>| {
            ranges.push(Range { period, only_public, ..range? });
            Some(ranges.len() - 1)
        };
        // The archive may return deleted posts, which `join` filters out. Request one more post for each.
        let size = window.size + 1 + hot.gone.beside.len();
        let beside = if Self::is_known_to_go_on(&window, &hot) {
            None
        } else {
            ask(cold_range(author, &Window { size, ..window }, &hot))
        };
        let behind = ask(Self::range_behind(author, &window, &hot, 1 + hot.gone.behind.len()));
        Self { window, hot, beside, behind }
    }

    /// Returns true if the page is full and all cold posts lie beyond it.
    fn is_known_to_go_on(window: &Window<PostId>, PostPage { page, cold, .. }: &PostPage) -> bool {
        let is_full = page.entries.len() == window.size;
        let last = page.entries.last().map_or(0, |last| last.get());
        // If any posts have become cold, a count of 0 is unreliable, so query the archive.
        let is_known = cold.count > 0 || cold.greatest == 0;
        window.direction == Direction::Forward && is_full && cold.greatest < last && is_known
    }

    fn range_behind(
        author: UserId,
        window: &Window<PostId>,
        PostPage { page, cold, .. }: &PostPage,
        limit: usize,
    ) -> Option<Range> {
        let from = window.from?.get();
        match window.direction {
            Direction::Forward if !page.has_previous => {
                range(author, Direction::Backward, from - 1, None, limit, cold)
            }
            // If all cold posts lie on that side, posts certainly exist there, and no query is needed.
            Direction::Backward if !page.has_next && (cold.greatest > from || cold.count == 0) => {
                range(author, Direction::Forward, 0, Some(from + 1), limit, cold)
            }
            _ => None,
        }
    }

    /// Merges the page with the posts found in the requested ranges. Fails only if the archive query failed
    /// and this page requested a range.
    pub(in crate::app) fn join(
        self,
        found: &Result<Vec<Vec<Arc<Post>>>, Error>,
    ) -> Result<Page<Listed>, Error> {
        let found = match found {
            Ok(found) => found.as_slice(),
            Err(_) if self.beside.is_none() && self.behind.is_none() => &[],
            Err(error) => return Err(error.clone()),
        };
        Ok(self.join_found(found))
    }

    fn join_found(self, found: &[Vec<Arc<Post>>]) -> Page<Listed> {
        let Self { window, hot: PostPage { page, cold, gone }, beside, behind } = self;
        let found = |range: Option<usize>| range.map_or(&[][..], |range| &found[range]);
        let mut entries: Vec<Listed> = page.entries.iter().copied().map(Listed::Id).collect();
        entries.extend(without(&gone.beside, found(beside), window.direction));
        // The sort is stable. If a post is in both Redis and the archive, the Redis entry wins.
        entries.sort_by_key(Listed::id);
        entries.dedup_by_key(|listed| listed.id());
        if window.direction == Direction::Forward {
            entries.reverse();
        }
        let has_cold_behind = {
            let opposite = match window.direction {
                Direction::Forward => Direction::Backward,
                Direction::Backward => Direction::Forward,
            };
            without(&gone.behind, found(behind), opposite).next().is_some()
        };
        let goes_on = entries.len() > window.size;
        entries.truncate(window.size);
        let (has_previous, has_next) = match window.direction {
            Direction::Forward => {
                let all_cold_is_beyond = beside.is_none() && cold.count > 0 && {
                    let last = entries.last().map(Listed::id).or(window.from);
                    last.is_none_or(|last| cold.greatest < last.get())
                };
                (page.has_previous || has_cold_behind, page.has_next || goes_on || all_cold_is_beyond)
            }
            Direction::Backward => {
                let all_cold_is_behind =
                    cold.count > 0 && window.from.is_some_and(|from| cold.greatest <= from.get());
                (page.has_previous || goes_on, page.has_next || has_cold_behind || all_cold_is_behind)
            }
        };
        if window.direction == Direction::Backward {
            entries.reverse();
        }
        Page { entries: entries.into(), has_previous, has_next }
    }
}

/// Filters out deleted posts. If Redis may have listed only the first [`MOST_GONE`] deleted posts, returns
/// posts beyond the last listed post as hot, because only their records show if they are deleted.
fn without<'a>(
    gone: &[PostId],
    found: &'a [Arc<Post>],
    direction: Direction,
) -> impl Iterator<Item = Listed> + use<'a> {
    let last = gone.last().copied().filter(|_| gone.len() == MOST_GONE);
    let gone: HashSet<PostId> = gone.iter().copied().collect();
    let is_beyond = move |id: PostId| match (last, direction) {
        (None, _) => false,
        (Some(last), Direction::Forward) => id < last,
        (Some(last), Direction::Backward) => id > last,
    };
    let there = found.iter().filter(move |post| !gone.contains(&post.id));
    let stored = |post: &Arc<Post>| Listed::Read(StoredPost::archived(Arc::clone(post)));
    there.map(move |post| if is_beyond(post.id) { Listed::Id(post.id) } else { stored(post) })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::clock::Timestamp;
    use crate::model::details::Details;
    use crate::model::post::{Delivery, Visibility};
    use crate::store::post_list::Gone;

    fn id(number: u64) -> PostId {
        PostId::new(number).unwrap()
    }

    fn post(number: u64) -> Arc<Post> {
        Arc::new(Post {
            id: id(number),
            author: UserId::new(7).unwrap(),
            content: String::new(),
            platform: None,
            visibility: Visibility::Public,
            created_at: Timestamp::from_millis(0),
            delivery: Delivery::Pulled,
            details: Details::default(),
        })
    }

    /// The location of a post: nowhere, in Redis, in both, in the archive, or deleted but still in the
    /// archive.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Stored {
        Nowhere,
        Hot,
        Both,
        Cold,
        Gone,
    }

    fn stored() -> impl Strategy<Value = Vec<Stored>> {
        let low = prop_oneof![
            1 => Just(Stored::Nowhere),
            1 => Just(Stored::Hot),
            1 => Just(Stored::Both),
            4 => Just(Stored::Cold),
            1 => Just(Stored::Gone),
        ];
        // Posts above the greatest cold id may be in both, but not only in the archive.
        let high = prop_oneof![Just(Stored::Nowhere), Just(Stored::Hot), Just(Stored::Both)];
        let (low, high) = (proptest::collection::vec(low, 0..8), proptest::collection::vec(high, 0..8));
        (low, high).prop_map(|(low, high)| low.into_iter().chain(high).collect())
    }

    /// Returns the ids that are stored in one of these ways, greatest first.
    fn numbers(stored: &[Stored], are: &[Stored]) -> Vec<PostId> {
        let chosen = (1..).zip(stored).filter(|(_, stored)| are.contains(stored));
        let mut ids: Vec<PostId> = chosen.map(|(number, _)| id(number)).collect();
        ids.reverse();
        ids
    }

    /// Returns the gone posts as Redis returns them, greatest first.
    fn gone_beside(gone: &[PostId], window: &Window<PostId>, page: &Page<PostId>) -> Gone {
        let from = window.from;
        let is_behind = |id: &&PostId| match window.direction {
            Direction::Forward => from.is_some_and(|from| **id >= from),
            Direction::Backward => from.is_some_and(|from| **id <= from),
        };
        let is_on_page = |id: &&PostId| match window.direction {
            Direction::Forward => !page.has_next || page.entries.last().is_none_or(|last| *id > last),
            Direction::Backward => !page.has_previous || page.entries.first().is_none_or(|first| *id < first),
        };
        let behind = gone.iter().filter(is_behind).copied().collect();
        let beside = gone.iter().filter(|id| !is_behind(id)).filter(is_on_page).copied().collect();
        Gone { beside, behind }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 20_000, ..ProptestConfig::default() })]

        #[test]
        fn a_page_across_both_is_a_page_of_all(
            stored in stored(),
            is_forward: bool,
            size in 0..5usize,
            from in prop::option::of(1..18u64),
            is_counted in prop::bool::weighted(0.8),
        ) {
            let direction = if is_forward { Direction::Forward } else { Direction::Backward };
            let window = Window { direction, size, from: from.map(id) };
            let hot = numbers(&stored, &[Stored::Hot, Stored::Both]);
            let visible = numbers(&stored, &[Stored::Hot, Stored::Both, Stored::Cold]);
            let archived = numbers(&stored, &[Stored::Both, Stored::Cold, Stored::Gone]);
            let was_cold = numbers(&stored, &[Stored::Cold, Stored::Gone]);
            let cold = Cold {
                greatest: was_cold.first().map_or(0, |id| id.get()),
                // A wrong count reads as 0.
                count: if is_counted { numbers(&stored, &[Stored::Cold]).len() as u64 } else { 0 },
            };
            let mut ranges = Vec::new();
            let page = Page::of(&hot, &window);
            let gone = gone_beside(&numbers(&stored, &[Stored::Gone]), &window, &page);
            let page = PostPage { page, cold, gone };
            let joint = Joint::new(UserId::new(7).unwrap(), window, Period::ALL, false, page, &mut ranges);
            let find = |range: &Range| {
                let inside = |id: &&PostId| range.above < id.get() && id.get() < range.below;
                let mut found: Vec<&PostId> = archived.iter().filter(inside).collect();
                if range.direction == Direction::Backward {
                    found.reverse();
                }
                found.into_iter().take(range.limit).map(|id| post(id.get())).collect()
            };
            let found = Ok(ranges.iter().map(find).collect());
            let joined = joint.join(&found).unwrap();
            let entries: Vec<PostId> = joined.entries.iter().cloned().map(PostId::from).collect();
            let expected = Page::of(&visible, &window);
            prop_assert_eq!(&entries[..], &expected.entries[..]);
            prop_assert_eq!(
                (joined.has_previous, joined.has_next),
                (expected.has_previous, expected.has_next),
                "{:?}", ranges
            );
        }
    }
}
