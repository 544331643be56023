//! Storage of home timelines. Each is a list of post ids, in descending order, with a seal at its end.
//!
//! A timeline expires unless its owner keeps returning. A missing timeline receives no posts, and the owner's
//! next visit rebuilds it from scratch.
//!
//! The seal (`store/lua/part/timeline.lua`) contains three values. The nonce keeps writes meant for an earlier
//! timeline out of its successor under the same key. The timeline is complete at and above the floor. The
//! server has pulled everything up to the mark.
//!
//! Not here: a reader's choice of authors to pull from, and the order of reads (`app::timeline`).

use redis::{FromRedisValue, ParsingError, Value};

use crate::driver::reply::{self, Reply};
use crate::model::clock::Timestamp;
use crate::model::exclusion::Version;
use crate::model::id::{PostId, UserId};
use crate::model::mark::Mark;
use crate::model::page::Window;
use crate::store::command::{Builder, Command, call, command, each};
use crate::store::key::Keys;
use crate::store::post_list::{Id, ids, read_ids, windowed};
use crate::store::script;

/// A section of a stored timeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// Mark above which the timeline is complete; [`Mark::START`] if the timeline was never trimmed.
    pub floor: Mark,
    /// The section's posts, in descending order of id.
    pub posts: Vec<PostId>,
}

impl View {
    fn new((floor, posts): (u64, Vec<Id>)) -> Self {
        // The seal stores the least id from which the timeline is complete.
        Self { floor: Mark::new(floor.saturating_sub(1)), posts: ids(posts) }
    }
}

/// A timeline's nonce, which distinguishes it from other timelines under the same key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nonce(String);

/// An opened timeline, and the sources to pull into it.
#[derive(Clone, Debug)]
pub struct Opened {
    /// The timeline's nonce.
    pub nonce: Nonce,
    /// Mark up to which everything has been pulled; `None` if the timeline is not filled yet.
    pub mark: Option<Mark>,
    /// Authors to pull from.
    pub sources: Vec<UserId>,
    /// The requested section.
    pub view: View,
    /// Time up to which the section reflects all removals from the timeline.
    pub at: Timestamp,
    /// Version of the owner's exclusions at that time; `None` if the owner has never had any.
    pub exclusions: Option<Version>,
}

/// Authors to pull into a filled timeline.
#[derive(Clone, Copy, Debug)]
pub enum Sources<'a> {
    /// All authors that the owner follows.
    All,
    /// The authors in this list that the owner follows. The list has at most [`MOST_NAMED`] authors.
    Named(&'a [UserId]),
}

/// Maximum number of authors that can be named as sources.
pub const MOST_NAMED: usize = 1_000;

/// A user id as Redis returns it.
struct Source(UserId);

impl Source {
    /// Reads a user id where it is.
    fn read(reply: Reply<'_>) -> Option<Self> {
        UserId::new(reply.count()?).map(Self)
    }
}

impl FromRedisValue for Source {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        let text = String::from_redis_value(value)?;
        text.parse().map(Self).map_err(|_| ParsingError::from(format!("{text:?} is not a user id")))
    }
}

/// Opens a timeline: creates it if necessary, renews its expiry to `lifetime` seconds, and returns a section
/// and the authors to pull from. If the timeline is not filled, returns all followed users as authors.
///
/// # Panics
/// If `sources` names more than [`MOST_NAMED`] users.
pub fn open(
    keys: &Keys,
    owner: UserId,
    nonce: u64,
    lifetime: u64,
    generation: u64,
    sources: Sources<'_>,
    window: &Window<PostId>,
) -> Command<Opened> {
    type Answer = (String, Option<String>, Vec<Source>, u64, Vec<Id>, i64, Option<Version>);
    let open = call(&script::OPEN_TIMELINE).key(&keys.timeline(owner)).key(&keys.following(owner));
    let open = open
        .key(&keys.removed(owner))
        .key(&keys.sessions(owner))
        .arg(format!("{nonce:x}"))
        .arg(lifetime)
        .arg(generation);
    let (word, named): (_, &[UserId]) = match sources {
        Sources::All => ("all", &[]),
        Sources::Named(named) => ("named", named),
    };
    assert!(named.len() <= MOST_NAMED, "at most {MOST_NAMED} users can be named");
    let open = windowed(open.arg(word), window).args(named.iter().map(|user| user.get()));
    let read = |answer: &reply::Answer| {
        let mut parts = answer.reply().elements()?;
        let mut next = || parts.next();
        let (nonce, mark) = (next()?.text()?.to_owned(), Some(next()?.text()?.to_owned()));
        let sources = next()?.elements()?.map(Source::read).collect::<Option<_>>()?;
        let (floor, posts, at) = (next()?.count()?, read_ids(next()?)?, next()?.integer()?);
        Some((nonce, mark, sources, floor, posts, at, next()?.count().and_then(Version::new)))
    };
    open.reply::<Answer>().read_by(read).map(|(nonce, mark, sources, floor, posts, at, exclusions)| {
        Ok(Opened {
            nonce: Nonce(nonce),
            mark: mark.and_then(|mark| mark.parse().ok()).map(Mark::new),
            sources: sources.into_iter().map(|Source(user)| user).collect(),
            view: View::new((floor, posts)),
            at: Timestamp::from_millis(at),
            exclusions,
        })
    })
}

/// Posts to merge into a timeline.
#[derive(Clone, Debug)]
pub struct Merge {
    /// Posts without duplicates, in descending order of id.
    pub posts: Vec<PostId>,
    /// Mark above which the posts are complete.
    pub cut: Mark,
    /// What returned the posts.
    pub source: MergeSource,
}

/// What returned the posts to merge into a timeline.
#[derive(Clone, Debug)]
pub enum MergeSource {
    /// A pull.
    Pull(Pull),
    /// A follow.
    Follow(MergedFollow),
}

/// A follow whose posts are merged.
#[derive(Clone, Copy, Debug)]
pub struct MergedFollow {
    /// The followed user.
    pub followee: UserId,
    /// True if reads pull the followed user's posts.
    pub is_pulled: bool,
}

/// A pull. Once its posts are merged, the timeline contains everything up to the pull's mark.
#[derive(Clone, Debug)]
pub struct Pull {
    /// Nonce of the timeline opened for the pull.
    pub nonce: Nonce,
    /// Generation of the strategy that the pull used.
    pub generation: u64,
    /// Mark up to which the pull returned everything.
    pub mark: Mark,
    /// True if the pull returned everything from all sources.
    pub is_full: bool,
}

/// Adds the keys of a user's timeline to the call of a script that resets it.
pub(super) fn with_timeline(call: Builder, keys: &Keys, user: UserId) -> Builder {
    call.key(&keys.timeline(user)).key(&keys.removed(user))
}

/// The result of a merge.
#[derive(Clone, Debug)]
pub struct Merged {
    /// A section of the timeline.
    pub view: View,
    /// The least post that the merge of a follow has added without a reset, although readers may have passed it. The
    /// next merge of the follow resets the timeline, unless this one is ended before ([`end_merges`]).
    pub late: Option<PostId>,
}

/// Merges posts into a timeline; `None` if the timeline does not exist or its nonce differs from the pull's. The first
/// merge of a new follow resets the timeline.
pub fn merge(
    keys: &Keys,
    owner: UserId,
    capacity: u32,
    merge: &Merge,
    window: &Window<PostId>,
) -> Command<Option<Merged>> {
    let call = with_timeline(call(&script::MERGE_TIMELINE), keys, owner).key(&keys.merging(owner));
    let call = match &merge.source {
        MergeSource::Pull(Pull { nonce, generation, mark, is_full }) => call
            .arg(&nonce.0)
            .arg(capacity)
            .arg(merge.cut.get())
            .arg(*generation)
            .arg(mark.get())
            .arg(*is_full)
            .arg("")
            .arg(""),
        MergeSource::Follow(MergedFollow { followee, is_pulled }) => {
            let call = call.arg("").arg(capacity).arg(merge.cut.get()).arg("").arg("").arg(false);
            call.arg(followee.get()).arg(*is_pulled)
        }
    };
    let merge = windowed(call, window).args(merge.posts.iter().map(|post| post.get()));
    merge.reply::<Option<(u64, Vec<Id>, Option<Id>)>>().map(|merged| {
        let merged = merged.map(|(floor, posts, late)| (View::new((floor, posts)), late));
        Ok(merged.map(|(view, late)| Merged { view, late: late.map(|Id(post)| post) }))
    })
}

/// Ends merges of the posts of these followed users into a timeline. If `resets`, readers have passed some of the posts
/// that the merges have added, so the timeline is reset.
pub fn end_merges(keys: &Keys, owner: UserId, followees: &[UserId], resets: bool) -> Command<bool> {
    let end = with_timeline(call(&script::END_MERGE), keys, owner).key(&keys.merging(owner));
    end.arg(resets).args(followees.iter().map(|followee| followee.get())).reply()
}

/// Reads a section of a stored timeline; `None` if the timeline does not exist or has another nonce.
pub fn view(
    keys: &Keys,
    owner: UserId,
    nonce: Option<&Nonce>,
    window: &Window<PostId>,
) -> Command<Option<View>> {
    let page = call(&script::TIMELINE_PAGE).key(&keys.timeline(owner));
    let page = windowed(page.arg(nonce.map_or("", |nonce| &nonce.0)), window);
    page.reply::<Option<(u64, Vec<Id>)>>().map(|view| Ok(view.map(View::new)))
}

/// An author's new posts for a reader who has pulled before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pulled {
    /// Posts in descending order of id.
    pub posts: Vec<PostId>,
    /// The next post beyond the limit, if any.
    pub beyond: Option<PostId>,
    /// Mark above which the posts are complete; posts at or below the mark may have become cold.
    pub cold: Mark,
}

/// Reads at most `limit` of an author's newest posts above a mark.
pub fn pull(keys: &Keys, author: UserId, mark: Mark, limit: usize) -> Command<Pulled> {
    let pull = call(&script::PULL).key(&keys.recent(author)).key(&keys.posts(author)).key(&keys.cold(author));
    let pull = pull.arg(mark.get()).arg(limit).reply::<(u64, u64, Vec<Id>)>();
    let pull = pull.map(|(beyond, cold, posts)| {
        Ok(Pulled { posts: ids(posts), beyond: PostId::new(beyond), cold: Mark::new(cold) })
    });
    // The list comes before the summary, in case a post becomes cold between the two reads.
    let apart = move |keys: &Keys| {
        let recent = command("ZREVRANGE").key(&keys.recent(author)).arg(0).arg(-1);
        let posts = command("LRANGE").key(&keys.posts(author)).arg(0).arg(limit);
        vec![recent, posts, command("HGET").key(&keys.cold(author)).arg("greatest")]
    };
    pull.or_apart(keys, apart, move |(recent, posts, greatest): (Vec<Id>, Vec<Id>, Option<u64>)| {
        Ok(Pulled::of(&ids(recent), &ids(posts), Mark::new(greatest.unwrap_or(0)), mark, limit))
    })
}

impl Pulled {
    /// Selects an author's posts above a mark from their newest posts, the first posts of the list and the greatest
    /// cold post, as the script does.
    fn of(recent: &[PostId], posts: &[PostId], greatest: Mark, mark: Mark, limit: usize) -> Self {
        let above = |posts: &[PostId]| -> Vec<PostId> {
            posts.iter().copied().take_while(|post| !mark.covers(*post)).collect()
        };
        let newest = above(recent);
        if newest.len() < recent.len() && newest.len() <= limit {
            return Self { posts: newest, ..Self::default() };
        }
        let mut posts = above(posts);
        let beyond = posts.get(limit).copied();
        posts.truncate(limit);
        Self { posts, beyond, cold: if greatest > mark { greatest } else { Mark::START } }
    }
}

/// Returns the owners in `owners` whose timeline exists. For a missing timeline, this is faster than a script that does
/// nothing. Also returns an owner whose timeline cannot be looked up: the script then reports why.
pub fn existing(keys: &Keys, owners: Vec<UserId>) -> Command<Vec<UserId>> {
    let build = |exists: Builder, owner: &UserId| exists.key(&keys.timeline(*owner));
    let exists = each("EXISTS", owners, build, |_, reply| Ok(reply.count() != Some(0)));
    exists.map(|owners| {
        let existing = owners.into_iter().filter(|(_, exists)| *exists.as_ref().unwrap_or(&true));
        Ok(existing.map(|(owner, _)| owner).collect())
    })
}

/// Adds a post to a timeline, if the timeline exists and reaches down to the post. Returns true if the
/// timeline now contains the post.
pub fn deliver(keys: &Keys, owner: UserId, post: PostId, capacity: u32) -> Command<bool> {
    call(&script::DELIVER).key(&keys.timeline(owner)).arg(post.get()).arg(capacity).reply()
}

/// Removes a post from a timeline and records the removal for a day. Returns true if the timeline contained
/// the post.
pub fn remove(keys: &Keys, owner: UserId, post: PostId) -> Command<bool> {
    let remove = call(&script::REMOVE_ENTRY).key(&keys.timeline(owner)).key(&keys.removed(owner));
    remove.arg(post.get()).reply()
}

/// Posts removed from a timeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removals {
    /// Time up to which the removals are complete.
    pub at: Timestamp,
    /// Removed posts with their removal times, earliest first. The times are distinct.
    pub posts: Vec<(PostId, Timestamp)>,
    /// Time of the last reset, which changed what the timeline contains otherwise than by a post; `None` if there was
    /// none.
    pub reset: Option<Timestamp>,
}

/// Reads at most `limit` posts removed from a timeline after `since`, by the Redis clock, and the last reset. Without
/// `since`, returns only the current time. Returns `None` if some removals after `since` are no longer recorded.
pub fn removed(
    keys: &Keys,
    owner: UserId,
    since: Option<Timestamp>,
    limit: usize,
) -> Command<Option<Removals>> {
    let read = call(&script::REMOVED).key(&keys.removed(owner)).key(&keys.timeline(owner));
    let read = read.arg(since.map_or(String::new(), |since| since.as_millis().to_string()));
    read.arg(limit).reply::<Option<(i64, Vec<(Id, i64)>, Option<i64>)>>().map(|removals| {
        Ok(removals.map(|(at, posts, reset)| Removals {
            at: Timestamp::from_millis(at),
            posts: posts.into_iter().map(|(Id(post), at)| (post, Timestamp::from_millis(at))).collect(),
            reset: reset.map(Timestamp::from_millis),
        }))
    })
}

/// Makes an author a star, permanently.
pub fn make_star(keys: &Keys, author: UserId) -> Command<bool> {
    call(&script::MAKE_STAR).key(&keys.stars()).key(&keys.numbered_stars()).arg(author.get()).reply()
}

/// The watermark and the stars.
#[derive(Clone, Debug)]
pub struct Watermark {
    /// Mark up to which every post is visible or never will be.
    pub mark: Mark,
    /// Number of the last star.
    pub last_star: u64,
    /// Number of the last star that the caller knows; 0 if `new_stars` has all stars.
    pub known_star: u64,
    /// The stars after the last one that the caller knows, in the order of their numbers.
    pub new_stars: Vec<UserId>,
}

/// Atomically reads the watermark and the stars after the star `known`, which has the number `number`.
pub fn watermark(keys: &Keys, known: Option<UserId>, number: u64) -> Command<Watermark> {
    let read = call(&script::WATERMARK).key(&keys.next_post()).key(&keys.publishing());
    let read = read.key(&keys.stars()).key(&keys.numbered_stars());
    let read = read.arg(known.map_or(0, UserId::get)).arg(number);
    read.reply::<(u64, u64, u64, Vec<Source>)>().map(|(mark, last_star, known_star, stars)| {
        let new_stars = stars.into_iter().map(|Source(user)| user).collect();
        Ok(Watermark { mark: Mark::new(mark), last_star, known_star, new_stars })
    })
}

/// Sets the timeline strategy. Returns the strategy's generation, which increases with each change of
/// strategy. A timeline filled under an earlier generation counts as unfilled.
pub fn enter_strategy(keys: &Keys, strategy: &str) -> Command<u64> {
    call(&script::ENTER_STRATEGY).key(&keys.layout()).arg(strategy).reply()
}
