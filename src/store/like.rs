//! Storage of likes: the truth in the slot of the user, an ordered compact set of the posts that the user likes; and
//! its mirror in the slot of the post, a compact set of the users who like it. The mirror is stored there as long as
//! the post has a record; afterwards, the likes are in the archive.
//!
//! A page of the newest likes is read from the sorted set. All others are in the tree, whose shards overlap: the
//! members of a subtree are also in the shards above it. So a page of these is read from a *path*, the shards from the
//! root down to the first that is not closed. They have all members of the last one's subtree.
//!
//! Not here: the order of the steps (`app::post::like`).

use std::collections::HashSet;
use std::ops::RangeInclusive;

use redis::{FromRedisValue, ParsingError, Value};

use crate::model::attachment::AttachmentCounts;
use crate::model::clock::Timestamp;
use crate::model::id::{PostId, UserId};
use crate::model::like::Like;
use crate::model::page::{Direction, InListOrder as _, Page, Window};
use crate::store::bucket::{Limit, Throttled};
use crate::store::command::{Builder, Command, call, command};
use crate::store::compact::{self, with_paths};
use crate::store::error::Error;
use crate::store::key::{Key, Keys, Set};
use crate::store::malformed::{self, Form};
use crate::store::ordered::{self, Added};
use crate::store::post::Attached;
use crate::store::script;
use crate::store::tree::{self, ROOM, Shard, hash, is_closed};

/// Makes a user like a post at `at`, which takes a token if `limit` is given. A repeated like keeps its time and takes
/// none.
pub fn like(
    keys: &Keys,
    user: UserId,
    post: PostId,
    limit: Option<Limit>,
    at: Timestamp,
) -> Command<Result<(), Throttled>> {
    let limit = limit.map(|limit| (limit, at));
    let add = ordered::add(&keys.liked(user), post, at, None, &keys.reactions_of(user), limit);
    add.map(|added| match added {
        Added::Added | Added::Present => Ok(Ok(())),
        Added::Throttled(throttled) => Ok(Err(throttled)),
        Added::Full => Err(Error::corrupt("a set without a limit is full")),
    })
}

/// Makes a user no longer like a post. Returns true if the user liked it.
pub fn unlike(keys: &Keys, user: UserId, post: PostId) -> Command<bool> {
    ordered::remove(&keys.liked(user), post)
}

/// Returns true if a user likes a post: the truth. A user whose account is inactive likes nothing.
pub fn read(keys: &Keys, user: UserId, post: PostId) -> Command<bool> {
    let set = keys.liked(user);
    let read = call(&script::READ_LIKE).key(&keys.user(user)).key(&set.few()).key(&set.count());
    with_paths(&set, read, std::iter::once(post)).arg(post.get()).arg(ROOM).reply()
}

/// Makes a user's like of a hot post equal to its truth, and counts it. Idempotent. Takes `O(log n)`.
pub fn mirror(keys: &Keys, post: PostId, user: UserId, is_liked: bool) -> Command<Attached> {
    let mirror = call(&script::MIRROR_LIKE).key(&keys.post(post));
    let mirror = compact::with_keys(&keys.likes(post), mirror, std::iter::once(user));
    let mirror = mirror.arg(user.get()).arg(is_liked).arg(ROOM);
    mirror.arg(AttachmentCounts::LIKES).arg(AttachmentCounts::LIKES_EVER).reply()
}

/// A part of the list of a post's likes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LikePart {
    /// The likes, in list order: as many as the window's size at most, and perhaps fewer, even if there are more.
    pub likes: Vec<Like>,
    /// The position at which the part ends in the window's direction, which need not be that of a like; `None` if the
    /// part is empty, and the list ends with it.
    pub outermost: Option<Like>,
    /// True if there may be likes before the part.
    pub has_previous: bool,
    /// True if there may be likes after the part.
    pub has_next: bool,
}

impl LikePart {
    /// Creates a part from a page, which ends with its entries.
    #[must_use]
    pub fn of_page(page: &Page<Like>, direction: Direction) -> Self {
        let Page { entries, has_previous, has_next } = page;
        let outermost = match direction {
            Direction::Forward => entries.last().copied(),
            Direction::Backward => entries.first().copied(),
        };
        Self { likes: entries.to_vec(), outermost, has_previous: *has_previous, has_next: *has_next }
    }
}

/// Reads a part of a hot post's likes. `None` if the post has no record. Takes `O(log n + page)` among the newest
/// likes, and else as long as reading some of the shards of a tree. Costs as much whatever it finds.
pub fn part(keys: &Keys, post: PostId, window: Window<Like>) -> Command<Option<LikePart>> {
    let set = keys.likes(post);
    let place = place_of(&window);
    let path: Vec<Key<Set>> =
        Shard::at_place(place.unwrap_or(0)).map(|shard| set.shard(shard.index())).collect();
    let read = call(&script::LIKES).key(&keys.post(post)).key(&set.newest()).key(&set.count());
    let read = path.iter().fold(read, Builder::key).arg(place.is_some()).arg(ROOM);
    let read = read.reply::<Option<Stored>>().uncharged().walking(place.map_or(compact::NEWEST, |_| ROOM));
    let read = read.map(move |stored| Ok(stored.map(|stored| stored.part(&window))));
    let apart = move |keys: &Keys| {
        // The set before the record: when the record is dropped, the likes are already in the archive.
        let newest = command("ZREVRANGE").key(&set.newest()).arg(0).arg(-1).arg("WITHSCORES");
        let count = command("EXISTS").key(&set.count());
        let shards = path.iter().map(|shard| command("SMEMBERS").key(shard));
        let record = command("HEXISTS").key(&keys.post(post)).arg("author");
        [newest, count].into_iter().chain(shards).chain([record]).collect()
    };
    read.or_apart(keys, apart, move |Apart { stored, has_record }| {
        Ok(has_record.then(|| stored.part(&window)))
    })
}

/// Reads the likes of a hot post whose numbers are known, newest first.
pub fn numbered(keys: &Keys, post: PostId) -> Command<Vec<Like>> {
    let read = command("ZREVRANGE").key(&keys.likes(post).newest()).arg(0).arg(-1).arg("WITHSCORES");
    read.reply::<Pairs>().map(|pairs| Ok(likes(&pairs)))
}

/// Returns the like of a user whose number is not known.
#[must_use]
pub fn unnumbered(member: UserId) -> Like {
    Like::unnumbered(member, hash(member))
}

/// Reads the elements of a shard of a post's likes: all members, of which some are also among the newest, and the mark
/// of a shard that is closed.
pub fn elements(keys: &Keys, post: PostId, shard: Shard) -> Command<Vec<u64>> {
    tree::elements(&keys.likes(post).shard(shard.index()))
}

/// Looks at the form of shards of a post's likes. With `repair`, mends what is wrong.
pub fn form_of_shards(keys: &Keys, post: PostId, shards: &[Shard], repair: bool) -> Command<Form> {
    let shards: Vec<_> = shards.iter().map(|shard| keys.likes(post).shard(shard.index())).collect();
    malformed::shards(&shards, repair)
}

/// Reads the number of likes that Redis has of a post.
pub fn number(keys: &Keys, post: PostId) -> Command<u64> {
    compact::newest(&keys.likes(post), 0).map(|newest| Ok(newest.count))
}

/// Deletes a shard that is left of a post without a record.
pub fn delete_shard(keys: &Keys, post: PostId, shard: Shard) -> Command<i64> {
    command("UNLINK").key(&keys.likes(post).shard(shard.index())).reply()
}

/// Members, and their numbers.
type Pairs = Vec<(String, String)>;

/// Returns the likes that can be read.
fn likes(pairs: &Pairs) -> Vec<Like> {
    let like = |(member, number): &(String, String)| {
        Some(Like { number: number.parse().ok()?, member: member.parse().ok()? })
    };
    pairs.iter().filter_map(like).collect()
}

/// Returns the place of the first like that a window may have, among the likes whose numbers are not known; `None` if
/// it is among the newest.
fn place_of(window: &Window<Like>) -> Option<u32> {
    match (window.direction, window.from) {
        (Direction::Forward, None) => None,
        (Direction::Backward, None) => Some(u32::MAX),
        (Direction::Forward, Some(from)) => (from.number <= 0).then(|| from.place().unwrap_or(0)),
        (Direction::Backward, Some(from)) => from.place(),
    }
}

/// What is stored of a post's likes, as far as a part needs it.
struct Stored {
    /// The newest likes, in list order.
    newest: Vec<Like>,
    /// True if there is a tree of all likes.
    has_tree: bool,
    /// The elements of the shards of a path, from the root down to the first shard that is not closed.
    path: Vec<Vec<u64>>,
}

impl FromRedisValue for Stored {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        let (newest, has_tree, path) = <(Pairs, bool, Vec<Vec<String>>)>::from_redis_value(value)?;
        Ok(Self::new(&newest, has_tree, &path))
    }
}

impl Stored {
    fn new(newest: &Pairs, has_tree: bool, path: &[Vec<String>]) -> Self {
        let mut path: Vec<Vec<u64>> = path.iter().map(|shard| tree::readable(shard)).collect();
        let end = path.iter().position(|shard| !is_closed(shard)).map_or(path.len(), |open| open + 1);
        path.truncate(end);
        Self { newest: likes(newest), has_tree, path }
    }

    fn part(&self, window: &Window<Like>) -> LikePart {
        match place_of(window) {
            Some(place) if self.has_tree => self.part_of_path(window, place),
            Some(_) | None => self.part_of_newest(window),
        }
    }

    fn part_of_newest(&self, window: &Window<Like>) -> LikePart {
        let mut part = LikePart::of_page(&Page::of(&self.newest, window), window.direction);
        if self.has_tree && !part.has_next {
            part.has_next = true;
            if window.direction == Direction::Forward {
                part.outermost = Some(BEFORE_TREE);
            }
        }
        part
    }

    fn part_of_path(&self, window: &Window<Like>, place: u32) -> LikePart {
        let places = places_of_subtree(place, self.path.len().saturating_sub(1));
        let newest: HashSet<UserId> = self.newest.iter().map(|like| like.member).collect();
        let members = self.path.iter().flatten().filter_map(|member| UserId::new(*member));
        let members = members.filter(|member| !newest.contains(member));
        let members = members.map(unnumbered);
        let in_subtree = |like: &Like| like.place().is_some_and(|place| places.contains(&place));
        let mut subtree: Vec<Like> = members.filter(in_subtree).collect();
        subtree.sort_unstable_by(Like::in_list_order);
        let Page { entries, has_previous, has_next } = Page::of(&subtree, window);
        let beyond = places.end().checked_add(1).map(Like::before_place);
        let before = places.start().checked_sub(1).map(Like::after_place);
        let before = before.or((!self.newest.is_empty()).then_some(BEFORE_TREE));
        let outermost = match window.direction {
            Direction::Forward => beyond.filter(|_| !has_next).or(entries.last().copied()),
            Direction::Backward => before.filter(|_| !has_previous).or(entries.first().copied()),
        };
        LikePart {
            likes: entries.to_vec(),
            outermost,
            has_previous: has_previous || before.is_some(),
            has_next: has_next || beyond.is_some(),
        }
    }
}

/// The position between the likes whose numbers are known and all others.
const BEFORE_TREE: Like = Like { number: 0, member: UserId::MAX };

/// Returns the places of the members of a subtree: that of the shard with this depth on the path to `place`.
fn places_of_subtree(place: u32, depth: usize) -> RangeInclusive<u32> {
    let below = u32::MAX.checked_shr(2 * u32::try_from(depth).unwrap_or(u32::MAX)).unwrap_or(0);
    place & !below..=place | below
}

/// The parts of a set, read one by one.
struct Apart {
    stored: Stored,
    has_record: bool,
}

impl FromRedisValue for Apart {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        let mut parts = Vec::<Value>::from_redis_value(value)?.into_iter();
        let has_record = bool::from_redis_value(parts.next_back().unwrap_or(Value::Nil))?;
        let mut next = || parts.next().unwrap_or(Value::Nil);
        let newest = Pairs::from_redis_value(next())?;
        let has_tree = FromRedisValue::from_redis_value(next())?;
        let path = parts.map(FromRedisValue::from_redis_value).collect::<Result<Vec<Vec<String>>, _>>()?;
        Ok(Self { stored: Stored::new(&newest, has_tree, &path), has_record })
    }
}
