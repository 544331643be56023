//! Lists of post ids: their form in replies, and pages and counts of the lists of authors.
//!
//! A script has a second form, for the time in which its keys are divided between two masters of a cluster: commands
//! that read the keys one by one, and code that computes from their replies what the script returns. The commands are
//! not atomic, so their order matters:
//!
//! - The list of posts is read before the summary of cold posts. A post that becomes cold in between is in the list
//!   that was read, and perhaps also in the archive. Pages contain it once, since those who merge them drop duplicates,
//!   and the excluded posts of a count contain it. Only a total count may count it twice, and a public count may count
//!   it once although only followers can see it.
//! - The deleted posts are read last. A post that is deleted in between is one of them, or its deletion has reached the
//!   archive; if it is in the list that was read, its record says that it is deleted.
//! - A post that is published in between is missing, as if it had been published after the read.
//! - Creation times that do not belong to the posts read before them are unknown.
//!
//! Not here: changes of these lists (`store::post`, `store::moving`, `store::post_times`), and timelines
//! (`store::timeline`).

use redis::{FromRedisValue, ParsingError, Value};

use crate::budget::{self, Resource};
use crate::driver::reply::{Answer, Reply};
use crate::model::clock::{Period, Timestamp};
use crate::model::id::{PostId, UserId};
use crate::model::page::{Direction, Page, Window};
use crate::store::command::{Builder, Command, MEMBERS_PER_COMMAND, call, command, several};
use crate::store::error::Error;
use crate::store::key::{Key, Keys, List, SortedSet};
use crate::store::script;

/// A post id as Redis returns it.
pub(super) struct Id(pub(super) PostId);

impl FromRedisValue for Id {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        let text = String::from_redis_value(value)?;
        text.parse().map(Self).map_err(|_| ParsingError::from(format!("{text:?} is not a post id")))
    }
}

/// Reads a list of post ids where it is.
pub(super) fn read_ids(reply: Reply<'_>) -> Option<Vec<Id>> {
    let id = |id: Reply<'_>| PostId::new(id.count()?).map(Id);
    reply.elements()?.map(id).collect()
}

/// Unwraps decoded post ids.
pub(super) fn ids(ids: Vec<Id>) -> Vec<PostId> {
    ids.into_iter().map(|Id(id)| id).collect()
}

/// Adds the arguments that select the page for a script to return.
pub(super) fn windowed(builder: Builder, window: &Window<PostId>) -> Builder {
    let from = window.from.map_or(String::new(), |from| from.to_string());
    builder.arg(window.direction.as_str()).arg(window.size).arg(from)
}

/// A page of an author's hot posts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostPage {
    /// Page of post ids. `has_previous` and `has_next` refer to the hot list only.
    pub page: Page<PostId>,
    /// Summary of the cold posts. A post that is neither cold nor in the list is not visible.
    pub cold: Cold,
    /// Deleted posts near the page that may still be in the archive.
    pub gone: Gone,
}

/// Deleted posts near a page's position that may still be in the archive: at most [`MOST_GONE`] on each side.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gone {
    /// Posts within the page's range, in the page's direction.
    pub beside: Vec<PostId>,
    /// Posts on the other side of the position, nearest first.
    pub behind: Vec<PostId>,
}

/// Maximum number of deleted posts returned on each side of a page's position. This limit is reached only if
/// no mover is running.
pub const MOST_GONE: usize = 200;

/// Summary of an author's cold posts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cold {
    /// Greatest id of all posts that ever became cold; 0 if none did.
    pub greatest: u64,
    /// Number of cold posts, excluding deleted posts.
    pub count: u64,
}

/// Reads a page of an author's posts in `O(log n + page)`.
pub fn page(keys: &Keys, author: UserId, window: &Window<PostId>) -> Command<PostPage> {
    let page = call(&script::POSTS_PAGE).key(&keys.posts(author)).key(&keys.cold(author));
    let page = windowed(page.key(&keys.gone(author)), window).arg(MOST_GONE);
    let page = page.reply::<PageParts>().read_by(|answer| read_page(answer.reply()));
    let window = *window;
    let apart =
        move |keys: &Keys| vec![all(&keys.posts(author)), summary(keys, author), members(&keys.gone(author))];
    page.map(|parts| Ok(page_of(parts))).or_apart(
        keys,
        apart,
        move |(posts, Summary { cold, .. }, gone): (Vec<Id>, _, Vec<Id>)| {
            Ok(PostPage::cut(&ids(posts), &window, cold, &ids(gone)))
        },
    )
}

/// Reads a page of an author's posts that were created in a period in `O(log n + page)`, plus the posts created up to a
/// day before and after the period. Returns `None` if the creation times are unknown. The number of cold posts in the
/// period is unknown, which a count of 0 means.
pub fn page_within(
    keys: &Keys,
    author: UserId,
    window: &Window<PostId>,
    period: Period,
) -> Command<Option<PostPage>> {
    let page = call(&script::POSTS_PAGE_WITHIN).key(&keys.posts(author)).key(&keys.cold(author));
    let page = page.key(&keys.gone(author)).key(&keys.post_times(author));
    let page = in_period(windowed(page, window).arg(MOST_GONE), period);
    let read = |answer: &Answer| {
        let mut parts = answer.reply().elements()?;
        let (examined, page) = (parts.next()?.count()?, read_page(parts.next()?)?);
        Some(Some((examined, page)))
    };
    let page = page.reply::<Option<(u64, PageParts)>>().read_by(read).walking(FEW_TIMES);
    let page = page.map(|reply| {
        let Some((examined, parts)) = reply else { return Ok(None) };
        spend_on(examined)?;
        Ok(Some(page_of(parts)))
    });
    let window = *window;
    let cut = move |(posts, times, _, summary, gone): PartsWithin| {
        let cut = |posts: Vec<_>| {
            let cold = Cold { greatest: summary.greatest_within(period), count: 0 };
            PostPage::cut(&posts, &window, cold, &ids(gone))
        };
        Ok(created_in(period, &ids(posts), &times).map(cut))
    };
    page.or_apart(keys, move |keys| parts_within(keys, author), cut)
}

/// Number of creation times that a search examines for an author who publishes some twenty posts a day. It is charged
/// before the search.
const FEW_TIMES: usize = 100;

/// Charges the times that a search examined in addition to [`FEW_TIMES`] to the current operation's budget.
fn spend_on(examined: u64) -> Result<(), Error> {
    let more = examined.saturating_sub(FEW_TIMES as u64);
    Ok(budget::spend(Resource::Commands, more / MEMBERS_PER_COMMAND)?)
}

/// Adds a period's ends to the arguments.
fn in_period(builder: Builder, Period { since, until }: Period) -> Builder {
    let end = |time: Option<Timestamp>| time.map_or(String::new(), |time| time.as_millis().to_string());
    builder.arg(end(since)).arg(end(until))
}

/// All parts of an author's posts: the list, the stored elements of its creation times, those posts that only followers
/// can see, the summary of cold posts, and the deleted posts.
type PartsWithin = (Vec<Id>, Vec<i64>, Vec<Id>, Summary, Vec<Id>);

/// The posts to count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// Period in which the posts were created.
    pub period: Period,
    /// True to leave out the posts that only followers can see.
    pub only_public: bool,
}

/// Builds the commands that read all parts of an author's posts one by one.
fn parts_within(keys: &Keys, author: UserId) -> Vec<Builder> {
    let lists = [all(&keys.posts(author)), all(&keys.post_times(author))];
    let sets = [members(&keys.limited(author)), summary(keys, author), members(&keys.gone(author))];
    lists.into_iter().chain(sets).collect()
}

fn all(list: &Key<List>) -> Builder {
    command("LRANGE").key(list).arg(0).arg(-1)
}

fn summary(keys: &Keys, author: UserId) -> Builder {
    command("HMGET").key(&keys.cold(author)).args(["greatest", "count", "latest", "limited"])
}

fn members(set: &Key<SortedSet>) -> Builder {
    command("ZRANGE").key(set).arg(0).arg(-1)
}

/// The summary of an author's cold posts.
struct Summary {
    cold: Cold,
    /// The latest creation time of all cold posts, if it is known.
    latest: Option<Timestamp>,
    /// Number of cold posts that only followers can see, as stored.
    limited: Option<String>,
}

impl FromRedisValue for Summary {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        let (greatest, count, latest, limited) = FromRedisValue::from_redis_value(value)?;
        let cold = Cold { greatest: number(greatest), count: number(count) };
        let latest = Option::<String>::and_then(latest, |latest| latest.parse().ok());
        Ok(Self { cold, latest: latest.map(Timestamp::from_millis), limited })
    }
}

impl Summary {
    /// Returns the greatest id of the cold posts; 0 if none of them is in the period.
    fn greatest_within(&self, period: Period) -> u64 {
        let is_before = period.since.zip(self.latest).is_some_and(|(since, latest)| latest < since);
        if is_before { 0 } else { self.cold.greatest }
    }
}

/// Returns a stored number; 0 if it is missing or corrupt.
fn number(stored: Option<String>) -> u64 {
    stored.and_then(|stored| stored.parse().ok()).unwrap_or(0)
}

/// Returns the posts that were created in a period, in list order; `None` if the times do not belong to the posts.
fn created_in(period: Period, posts: &[PostId], times: &[i64]) -> Option<Vec<PostId>> {
    let belongs = |(post, time): (&PostId, &i64)| time.rem_euclid(1_024).unsigned_abs() == post.get() % 1_024;
    if posts.len() != times.len() || !posts.iter().zip(times).all(belongs) {
        return None;
    }
    let is_in = |time: i64| period.contains(Timestamp::from_millis(time.div_euclid(1_024)));
    Some(posts.iter().zip(times).filter(|(_, time)| is_in(**time)).map(|(post, _)| *post).collect())
}

impl PostPage {
    /// Cuts a page from an author's whole list, as `store/lua/posts_page.lua` does.
    fn cut(posts: &[PostId], window: &Window<PostId>, cold: Cold, gone: &[PostId]) -> Self {
        let page = Page::of(posts, window);
        let gone = if cold.greatest > 0 { Gone::near(&page, window, &cold, gone) } else { Gone::default() };
        Self { page, cold, gone }
    }
}

impl Gone {
    /// Selects those of an author's deleted posts that are near a page. `gone` is in ascending order.
    fn near(page: &Page<PostId>, window: &Window<PostId>, cold: &Cold, gone: &[PostId]) -> Self {
        let Cold { greatest, count } = *cold;
        let from = window.from.map(PostId::get);
        let between = |above: u64, upto: u64| {
            gone.iter().copied().filter(move |post| above < post.get() && post.get() <= upto)
        };
        let up = |above, upto| between(above, upto).take(MOST_GONE).collect();
        let down = |upto, above| between(above, upto).rev().take(MOST_GONE).collect();
        if window.direction == Direction::Forward {
            let last = page.entries.last().map_or(0, |last| last.get());
            // A full page above all cold posts does not depend on deleted cold posts.
            let is_above = page.entries.len() == window.size && last > greatest && count > 0;
            let upto = from.map_or(greatest, |from| greatest.min(from - 1));
            let beside = if is_above { Vec::new() } else { down(upto, if page.has_next { last } else { 0 }) };
            let behind = from.filter(|_| !page.has_previous).map(|from| up(from - 1, greatest));
            return Self { beside, behind: behind.unwrap_or_default() };
        }
        let first = page.entries.first().filter(|_| page.has_previous);
        let upto = first.map_or(greatest, |first| greatest.min(first.get() - 1));
        let behind = from.filter(|_| !page.has_next).map(|from| down(greatest.min(from), 0));
        Self { beside: up(from.unwrap_or(0), upto), behind: behind.unwrap_or_default() }
    }
}

/// The parts of a page as the script returns them.
type PageParts = (bool, bool, Vec<Id>, u64, u64, Vec<Id>, Vec<Id>);

fn read_page(reply: Reply<'_>) -> Option<PageParts> {
    let mut parts = reply.elements()?;
    let mut next = || parts.next();
    let (has_previous, has_next) = (next()?.integer()? == 1, next()?.integer()? == 1);
    let (found, greatest, count) = (read_ids(next()?)?, next()?.count()?, next()?.count()?);
    Some((has_previous, has_next, found, greatest, count, read_ids(next()?)?, read_ids(next()?)?))
}

fn page_of((has_previous, has_next, found, greatest, count, beside, behind): PageParts) -> PostPage {
    let page = Page { entries: ids(found).into(), has_previous, has_next };
    let gone = Gone { beside: ids(beside), behind: ids(behind) };
    PostPage { page, cold: Cold { greatest, count }, gone }
}

/// Returns true if an author has posts, hot or cold, that only followers can see.
pub fn has_limited(keys: &Keys, author: UserId) -> Command<bool> {
    let hot = command("EXISTS").key(&keys.limited(author));
    let cold = command("HGET").key(&keys.cold(author)).arg("limited");
    several::<(bool, Option<String>)>(&[hot, cold]).map(|(hot, cold)| Ok(hot || number(cold) > 0))
}

/// Maximum number of posts that one command looks up.
pub const PROBE: usize = 1_000;

/// Returns for each of an author's posts true if it is hot and only followers can see it.
///
/// # Panics
/// If `posts` is empty or has more than [`PROBE`] posts.
pub fn are_limited(keys: &Keys, author: UserId, posts: &[PostId]) -> Command<Vec<bool>> {
    assert!((1..=PROBE).contains(&posts.len()), "a probe has 1 to {PROBE} members");
    let probe = command("ZMSCORE").key(&keys.limited(author)).args(posts.iter().map(|post| post.get()));
    let probe = probe.reply::<Vec<Option<f64>>>().probing(posts.len());
    probe.map(|scores| Ok(scores.iter().map(Option::is_some).collect()))
}

/// The information in Redis about an author's first post in one direction: the newest or the oldest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nearest {
    /// First post of the hot list in this direction.
    pub hot: Option<PostId>,
    /// The cold post with the greatest id.
    pub cold: Option<PostId>,
}

impl Nearest {
    /// Returns true if the author has no posts.
    #[must_use]
    pub fn has_no_posts(&self) -> bool {
        self.hot.is_none() && self.cold.is_none()
    }

    /// Returns a bound before which the author has no posts in this direction; `None` if no bound is known or
    /// the author has no posts.
    #[must_use]
    pub fn bound(&self, direction: Direction) -> Option<PostId> {
        match direction {
            Direction::Forward => self.hot.max(self.cold),
            Direction::Backward => self.hot.filter(|_| self.cold.is_none()),
        }
    }
}

/// Reads the information about an author's first post in one direction. Far cheaper than reading a page.
pub fn nearest(keys: &Keys, author: UserId, direction: Direction) -> Command<Nearest> {
    let index = match direction {
        Direction::Forward => 0,
        Direction::Backward => -1,
    };
    // The order matters: if a post becomes cold between the two reads, at least one of them finds it.
    let hot = command("LINDEX").key(&keys.posts(author)).arg(index);
    let cold = command("HGET").key(&keys.cold(author)).arg("greatest");
    several::<(Option<Id>, Option<u64>)>(&[hot, cold])
        .map(|(hot, cold)| Ok(Nearest { hot: hot.map(|Id(id)| id), cold: cold.and_then(PostId::new) }))
}

/// The number of an author's hot posts in a period, and what is needed to count the cold ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountWithin {
    /// Number of hot posts in the period.
    pub hot: u64,
    /// False if everyone can see all cold posts, of any period.
    pub has_limited: bool,
    /// Greatest id of the cold posts; 0 if no cold post is in the period.
    pub greatest: u64,
    /// Posts that may be in the archive although they are hot or deleted.
    pub excluded: Vec<PostId>,
}

/// Counts an author's hot posts that were created in a period in `O(log n)`, plus the posts created up to a day before
/// and after both of its ends. Returns `None` if the creation times are unknown.
pub fn count_within(keys: &Keys, author: UserId, counted: Counted) -> Command<Option<CountWithin>> {
    let Counted { period, only_public } = counted;
    let count = call(&script::COUNT_POSTS_WITHIN).key(&keys.posts(author)).key(&keys.cold(author));
    let count = count.key(&keys.gone(author)).key(&keys.post_times(author)).key(&keys.limited(author));
    let count = in_period(count, period).arg(only_public);
    let count = count.reply::<Option<(u64, u64, u64, Vec<Id>, bool)>>().walking(FEW_TIMES).map(|parts| {
        let Some((examined, hot, greatest, excluded, has_limited)) = parts else { return Ok(None) };
        spend_on(examined + excluded.len() as u64)?;
        Ok(Some(CountWithin { hot, greatest, has_limited, excluded: ids(excluded) }))
    });
    let join = move |(posts, times, limited, summary, gone): PartsWithin| {
        let (posts, limited, greatest) = (ids(posts), ids(limited), summary.greatest_within(period));
        let count = |hot: Vec<PostId>| {
            let counts = |post: &&PostId| !only_public || !limited.contains(post);
            let may_be_archived = |post: &PostId| post.get() <= greatest;
            let excluded = ids(gone).into_iter().chain(posts.iter().copied()).filter(may_be_archived);
            CountWithin {
                hot: hot.iter().filter(counts).count() as u64,
                greatest,
                has_limited: summary.limited.is_some_and(|limited| limited != "0"),
                excluded: excluded.collect(),
            }
        };
        Ok(created_in(period, &posts, &times).map(count))
    };
    count.or_apart(keys, move |keys| parts_within(keys, author), join)
}

/// Counts an author's hot and cold posts; if `is_public`, only those that not only followers can see.
pub fn count(keys: &Keys, author: UserId, only_public: bool) -> Command<u64> {
    let count = call(&script::COUNT_POSTS).key(&keys.posts(author)).key(&keys.cold(author));
    let count = count.key(&keys.limited(author)).arg(only_public).reply();
    let apart = move |keys: &Keys| {
        let hot = command("LLEN").key(&keys.posts(author));
        vec![hot, command("ZCARD").key(&keys.limited(author)), summary(keys, author)]
    };
    count.or_apart(keys, apart, move |(hot, hot_limited, summary): (u64, u64, Summary)| {
        let all = hot + summary.cold.count;
        let limited = if only_public { hot_limited + number(summary.limited) } else { 0 };
        Ok(all.saturating_sub(limited))
    })
}
