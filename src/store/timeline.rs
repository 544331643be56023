//! How home timelines are kept: each a list of post ids, greatest first, and a seal at its end.
//!
//! A timeline exists while its owner comes back; a timeline that does not exist receives nothing and
//! is filled anew. The seal (`store/lua/part/timeline.lua`) has a nonce, so that nothing meant for one
//! timeline gets into another under the same key; the floor, at and above which the timeline is
//! complete; and the mark, up to which everything has been pulled.
//!
//! Not here: whom a reader pulls from and in which order things are read (`app::timeline`).

use redis::{FromRedisValue, ParsingError, Value};

use crate::model::clock::Timestamp;
use crate::model::id::{PostId, UserId};
use crate::model::page::Window;
use crate::store::command::{Command, call, command};
use crate::store::key::Keys;
use crate::store::post::{Id, ids, windowed};
use crate::store::script;

/// A part of a timeline as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// At and above this post the timeline has everything; 0 if it was never trimmed.
    pub floor: u64,
    /// The posts of the part, greatest first.
    pub posts: Vec<PostId>,
}

impl View {
    fn new((floor, posts): (u64, Vec<Id>)) -> Self {
        Self { floor, posts: ids(posts) }
    }
}

/// The name of a timeline, to tell it from another under the same key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nonce(String);

/// A timeline that exists, and what must be pulled into it.
#[derive(Clone, Debug)]
pub struct Opened {
    /// Its name.
    pub nonce: Nonce,
    /// Everything up to this post has been pulled; `None` if the timeline was not filled yet.
    pub mark: Option<u64>,
    /// From whom to pull.
    pub sources: Vec<UserId>,
    /// The part that was asked for.
    pub view: View,
    /// All that was taken out of the timeline up to then is out of the part.
    pub at: Timestamp,
}

/// From whom to pull into a timeline that is filled.
#[derive(Clone, Copy, Debug)]
pub enum Sources<'a> {
    /// From everybody whom its owner follows.
    All,
    /// From those of these whom its owner follows; at most [`MOST_NAMED`].
    Named(&'a [UserId]),
}

/// For how long it is remembered that a post was taken out of a timeline: a day.
pub(super) const REMOVED_MILLIS: u64 = 86_400_000;

/// Most users that can be named to be pulled from.
pub const MOST_NAMED: usize = 1_000;

/// A user as Redis answers it.
struct Source(UserId);

impl FromRedisValue for Source {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        let text = String::from_redis_value(value)?;
        text.parse().map(Self).map_err(|_| ParsingError::from(format!("{text:?} is no user id")))
    }
}

/// Makes sure that a timeline exists, keeps it from expiring for so many seconds, and tells from whom
/// to pull; from everybody if it is not filled. With a part of it.
///
/// # Panics
/// If more than [`MOST_NAMED`] users are named.
pub fn open(
    keys: &Keys,
    owner: UserId,
    nonce: u64,
    lifetime: u64,
    generation: u64,
    sources: Sources<'_>,
    window: &Window<PostId>,
) -> Command<Opened> {
    type Answer = (String, Option<String>, Vec<Source>, u64, Vec<Id>, i64);
    let open = call(&script::OPEN_TIMELINE).key(&keys.timeline(owner)).key(&keys.following(owner));
    let open = open.key(&keys.removed(owner)).arg(format!("{nonce:x}")).arg(lifetime).arg(generation);
    let (word, named): (_, &[UserId]) = match sources {
        Sources::All => ("all", &[]),
        Sources::Named(named) => ("named", named),
    };
    assert!(named.len() <= MOST_NAMED, "at most {MOST_NAMED} users are named");
    let open = windowed(open.arg(word), window).arg(REMOVED_MILLIS).args(named.iter().map(|user| user.get()));
    open.reply::<Answer>().map(|(nonce, mark, sources, floor, posts, at)| {
        Ok(Opened {
            nonce: Nonce(nonce),
            mark: mark.and_then(|mark| mark.parse().ok()),
            sources: sources.into_iter().map(|Source(user)| user).collect(),
            view: View::new((floor, posts)),
            at: Timestamp::from_millis(at),
        })
    })
}

/// Posts to be merged into a timeline.
#[derive(Clone, Debug)]
pub struct Merge {
    /// The posts, greatest first, each once.
    pub posts: Vec<PostId>,
    /// They are complete above this post only; 0 if altogether.
    pub cut: u64,
    /// If they come of a pull, what kind.
    pub pull: Option<Pull>,
}

/// A pull: everything up to the mark is in the timeline after it.
#[derive(Clone, Debug)]
pub struct Pull {
    /// The timeline that was opened for it.
    pub nonce: Nonce,
    /// The strategy it follows.
    pub generation: u64,
    /// The mark.
    pub mark: u64,
    /// Whether it pulled everything, from everybody.
    pub is_full: bool,
}

/// Merges posts into a timeline and answers a part of it; `None` if there is no timeline, or not the
/// one that was opened.
pub fn merge(
    keys: &Keys,
    owner: UserId,
    capacity: u32,
    merge: &Merge,
    window: &Window<PostId>,
) -> Command<Option<View>> {
    let call = call(&script::MERGE_TIMELINE).key(&keys.timeline(owner));
    let call = match &merge.pull {
        Some(Pull { nonce, generation, mark, is_full }) => {
            call.arg(&nonce.0).arg(capacity).arg(merge.cut).arg(*generation).arg(*mark).arg(*is_full)
        }
        None => call.arg("").arg(capacity).arg(merge.cut).arg("").arg("").arg(false),
    };
    let merge = windowed(call, window).args(merge.posts.iter().map(|post| post.get()));
    merge.reply::<Option<(u64, Vec<Id>)>>().map(|view| Ok(view.map(View::new)))
}

/// A part of a timeline as it is kept; `None` if there is no timeline, or another one than this.
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

/// What an author has for a reader who has pulled before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pulled {
    /// The posts, greatest first.
    pub posts: Vec<PostId>,
    /// The next one, if there are more.
    pub beyond: Option<PostId>,
    /// The greatest that would be among them had it not become cold; 0 if there is none.
    pub cold: u64,
}

/// An author's newest posts above a mark, at most `limit` of them.
pub fn pull(keys: &Keys, author: UserId, mark: u64, limit: usize) -> Command<Pulled> {
    let pull = call(&script::PULL).key(&keys.recent(author)).key(&keys.posts(author)).key(&keys.cold(author));
    let pull = pull.arg(mark).arg(limit).reply::<(u64, u64, Vec<Id>)>();
    pull.map(|(beyond, cold, posts)| Ok(Pulled { posts: ids(posts), beyond: PostId::new(beyond), cold }))
}

/// Brings a post to a timeline, if there is one that reaches down to it. `true` if it is there now.
pub fn deliver(keys: &Keys, owner: UserId, post: PostId, capacity: u32) -> Command<bool> {
    call(&script::DELIVER).key(&keys.timeline(owner)).arg(post.get()).arg(capacity).reply()
}

/// Takes a post out of a timeline, if it is there, and remembers that for a day.
pub fn remove(keys: &Keys, owner: UserId, post: PostId) -> Command<bool> {
    let remove = call(&script::REMOVE_ENTRY).key(&keys.timeline(owner)).key(&keys.removed(owner));
    remove.arg(post.get()).arg(REMOVED_MILLIS).reply()
}

/// What was taken out of a timeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removals {
    /// Up to when this is all.
    pub at: Timestamp,
    /// The posts, and when each was taken out; no two at the same time, the earliest first.
    pub posts: Vec<(PostId, Timestamp)>,
}

/// At most `limit` of the posts that were taken out of a timeline after a time, by the clock of Redis; of now, if
/// there is none. `None` if not all of them are remembered.
pub fn removed(
    keys: &Keys,
    owner: UserId,
    since: Option<Timestamp>,
    limit: usize,
) -> Command<Option<Removals>> {
    let read = call(&script::REMOVED).key(&keys.removed(owner)).key(&keys.timeline(owner));
    let read = read.arg(since.map_or(String::new(), |since| since.as_millis().to_string()));
    read.arg(REMOVED_MILLIS).arg(limit).reply::<Option<(i64, Vec<(Id, i64)>)>>().map(|removals| {
        Ok(removals.map(|(at, posts)| Removals {
            at: Timestamp::from_millis(at),
            posts: posts.into_iter().map(|(Id(post), at)| (post, Timestamp::from_millis(at))).collect(),
        }))
    })
}

/// Makes an author a star for good.
pub fn make_star(keys: &Keys, author: UserId, nonce: u64) -> Command<bool> {
    let make = call(&script::MAKE_STAR).key(&keys.stars()).key(&keys.stars_version());
    make.arg(author.get()).arg(format!("{nonce:x}")).reply()
}

/// Whether an author is a star.
pub fn is_star(keys: &Keys, author: UserId) -> Command<bool> {
    command("SISMEMBER").key(&keys.stars()).arg(author.get()).reply()
}

/// Up to where all is settled, and who is pulled.
#[derive(Clone, Debug)]
pub struct Watermark {
    /// Every post up to this one is visible or never will be.
    pub mark: u64,
    /// The version of the stars.
    pub version: String,
    /// The stars; `None` if they are those of the known version.
    pub stars: Option<Vec<UserId>>,
}

/// Up to where all is settled, and who is pulled, as of one moment.
pub fn watermark(keys: &Keys, known_version: &str) -> Command<Watermark> {
    let read = call(&script::WATERMARK).key(&keys.next_post()).key(&keys.publishing());
    let read = read.key(&keys.stars()).key(&keys.stars_version()).arg(known_version);
    read.reply::<Vec<Value>>().map(|answer| {
        let mut answer = answer.into_iter();
        let mut next = || answer.next().unwrap_or_default();
        let (mark, version) = (u64::from_redis_value(next())?, String::from_redis_value(next())?);
        let stars: Option<Vec<Source>> = Option::from_redis_value(next())?;
        let stars = stars.map(|stars| stars.into_iter().map(|Source(user)| user).collect());
        Ok(Watermark { mark, version, stars })
    })
}

/// Says under which strategy timelines are kept from now on. Answers its generation: another number
/// after each change, so that what was pulled under another one is known not to be enough.
pub fn enter_strategy(keys: &Keys, strategy: &str) -> Command<u64> {
    call(&script::ENTER_STRATEGY).key(&keys.layout()).arg(strategy).reply()
}
