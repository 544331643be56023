//! Storage of relations: sorted sets of users, of followed users and followers, and of those who have requested to be.
//!
//! Not here: changes of these lists (`store::follow`).

use redis::{FromRedisValue, ParsingError, Value};

use crate::config::RelationStrategy;
use crate::driver::reply::{Answer, Reply};
use crate::model::clock::Timestamp;
use crate::model::id::UserId;
use crate::model::page::{Direction, Page, Position, Window};
use crate::model::relation::{Follow, Relation, Side};
use crate::store::command::{Command, call, command, several, transaction};
use crate::store::key::{Key, Keys, SortedSet};
use crate::store::script;

/// Maximum number of users that one transaction looks up, or that one command probes. Bounds the time for
/// which a transaction or command can block Redis.
pub const PROBE: usize = 1_000;

/// Number of lookups, or operations of similar cost, that a relation transaction makes per user.
const LOOKS: usize = 5;

/// Lifetime of a temporary set, in milliseconds, in case Redis stops before deleting it.
const FIND_MILLIS: u64 = 10_000;

/// Members with scores as Redis returns them: users with follow times.
pub(super) struct Follows(pub(super) Vec<Follow>);

impl FromRedisValue for Follows {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        let pairs = Vec::<(Value, Value)>::from_redis_value(value)?;
        let follow = |(member, score)| {
            let Member(user) = Member::from_redis_value(member)?;
            let Score(at) = Score::from_redis_value(score)?;
            Ok(Follow { user, at })
        };
        pairs.into_iter().map(follow).collect::<Result<_, _>>().map(Self)
    }
}

impl Follows {
    /// Reads members with scores where they are.
    fn read(reply: Reply<'_>) -> Option<Self> {
        let mut elements = reply.elements()?;
        let mut follows = Vec::with_capacity(elements.len() / 2);
        while let Some(member) = elements.next() {
            let user = UserId::new(member.integer()?.try_into().ok()?)?;
            follows.push(Follow { user, at: time_of(elements.next()?)? });
        }
        Some(Self(follows))
    }

    /// Sorts the follows by user, for [`Self::time_of`].
    fn sorted(mut self) -> Self {
        self.0.sort_unstable_by_key(|follow| follow.user);
        self
    }

    /// Returns the time of a user's follow. The follows must be sorted.
    fn time_of(&self, user: UserId) -> Option<Timestamp> {
        let index = self.0.binary_search_by_key(&user, |follow| follow.user).ok()?;
        Some(self.0[index].at)
    }
}

/// Reads a score where it is.
fn time_of(score: Reply<'_>) -> Option<Timestamp> {
    score.integer().map(Timestamp::from_millis)
}

/// A member of a relation set: a user id.
struct Member(UserId);

impl FromRedisValue for Member {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        let text = String::from_redis_value(value)?;
        text.parse().map(Self).map_err(|_| ParsingError::from(format!("{text:?} is not a user id")))
    }
}

/// A score of a relation set: a time. Milliseconds are far below 2⁵³, so a double holds them exactly.
pub(super) struct Score(pub(super) Timestamp);

impl FromRedisValue for Score {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        i64::from_redis_value(value).map(|millis| Self(Timestamp::from_millis(millis)))
    }
}

/// Reads a page of a user's followers, or of the users they follow, in `O(log n + page)`.
pub fn page(keys: &Keys, user: UserId, side: Side, window: &Window<Position>) -> Command<Page<Follow>> {
    page_of(&keys.list(user, side), window)
}

/// Reads a page of a set of users, the latest first, in `O(log n + page)`.
pub(super) fn page_of(list: &Key<SortedSet>, window: &Window<Position>) -> Command<Page<Follow>> {
    match window.from {
        Some(from) => {
            let page = call(&script::PAGE).key(list);
            let page = page.arg(window.direction.as_str()).arg(window.size);
            let page = page.arg(from.at.as_millis()).arg(from.id.get());
            let page = page.reply::<(bool, bool, Follows)>().walking(window.size);
            page.map(|(has_previous, has_next, Follows(follows))| {
                Ok(Page { entries: follows.into(), has_previous, has_next })
            })
        }
        None => outermost_page(list, window),
    }
}

/// Reads the first or the last page. Requests one extra entry; if Redis returns it, there are more pages.
fn outermost_page(list: &Key<SortedSet>, window: &Window<Position>) -> Command<Page<Follow>> {
    let Window { direction, size, from: _ } = *window;
    let (start, stop) = match direction {
        Direction::Forward => (0, i64::try_from(size).unwrap_or(i64::MAX)),
        Direction::Backward => (-1 - i64::try_from(size).unwrap_or(i64::MAX - 1), -1),
    };
    let range = command("ZREVRANGE").key(list).arg(start).arg(stop).arg("WITHSCORES");
    range.reply().read_by(|answer| Follows::read(answer.reply())).walking(size).may_lag().map(
        move |Follows(mut follows)| {
            let more = follows.len() > size;
            match direction {
                Direction::Forward => follows.truncate(size),
                Direction::Backward if more => drop(follows.remove(0)),
                Direction::Backward => {}
            }
            let (has_previous, has_next) = match direction {
                Direction::Forward => (false, more),
                Direction::Backward => (more, false),
            };
            Ok(Page { entries: follows.into(), has_previous, has_next })
        },
    )
}

/// Returns the number of users in a list.
pub fn count(keys: &Keys, user: UserId, side: Side) -> Command<u64> {
    command("ZCARD").key(&keys.list(user, side)).reply::<u64>().may_lag()
}

/// Reads up to `count` entries of a list, newest first, from rank `start`. For full traversals.
pub fn range(keys: &Keys, user: UserId, side: Side, start: usize, count: usize) -> Command<Vec<Follow>> {
    let range = command("ZREVRANGE").key(&keys.list(user, side)).arg(start).arg(start + count - 1);
    let range = range.arg("WITHSCORES").reply::<Follows>().walking(count);
    range.map(|Follows(follows)| Ok(follows))
}

/// Reads a whole list, newest first. Intended for `following`, whose length the follow limit bounds.
pub fn all(keys: &Keys, user: UserId, side: Side) -> Command<Vec<Follow>> {
    let range = command("ZREVRANGE").key(&keys.list(user, side)).arg(0).arg(-1);
    range.arg("WITHSCORES").reply::<Follows>().map(|Follows(follows)| Ok(follows))
}

/// A user's mutuals, or [`TooMany`] if the user follows too many users for a traversal.
pub type Mutuals = Result<Vec<Follow>, TooMany>;

/// The number of followed users, which exceeds the traversal limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMany(pub usize);

/// Reads a user's mutuals, most recently followed first, unless the user follows more than `most` users. Takes `O(n log
/// n)` for a user who follows `n` users: Redis walks the smaller set and probes the larger set. Fails with
/// [`Error::is_divided`](crate::store::error::Error::is_divided) while the two sets are at two masters of a cluster.
pub fn mutuals(keys: &Keys, user: UserId, most: usize) -> Command<Mutuals> {
    let read = call(&script::MUTUALS).key(&keys.following(user)).key(&keys.followers(user)).arg(most);
    // Redis looks up each member, and the script returns it.
    let read = read.reply::<(usize, Follows)>().walking(most).probing(2 * most);
    read.failing_if_divided().map(move |(following, Follows(mut follows))| {
        if following > most {
            return Ok(Err(TooMany(following)));
        }
        // Redis returns the mutuals oldest first.
        follows.reverse();
        Ok(Ok(follows))
    })
}

/// Returns the time at which each of `others` was added to a list of `user`; `None` for users not in the
/// list.
///
/// # Panics
/// If `others` is empty or has more than [`PROBE`] users.
pub fn times(keys: &Keys, user: UserId, side: Side, others: &[UserId]) -> Command<Vec<Option<Timestamp>>> {
    assert!((1..=PROBE).contains(&others.len()), "a probe has 1 to {PROBE} members");
    let probe = command("ZMSCORE").key(&keys.list(user, side)).args(others.iter().map(|id| id.get()));
    probe
        .reply::<Vec<Option<Score>>>()
        .probing(others.len())
        .map(|scores| Ok(scores.into_iter().map(|score| score.map(|Score(at)| at)).collect()))
}

/// Returns for each of `authors` true if `user` follows them. Not charged.
///
/// # Panics
/// If `authors` is empty or has more than [`PROBE`] users.
pub fn follows_which(keys: &Keys, user: UserId, authors: &[UserId]) -> Command<Vec<bool>> {
    assert!((1..=PROBE).contains(&authors.len()), "a probe has 1 to {PROBE} members");
    let list = keys.list(user, Side::Following);
    let probe = command("ZMSCORE").key(&list).args(authors.iter().map(|id| id.get()));
    let probe = probe.reply::<Vec<Option<Score>>>().uncharged();
    probe.map(|scores| Ok(scores.iter().map(Option::is_some).collect()))
}

/// Counts those of `users` who are in one of a user's lists, which is expected to contain few of them.
///
/// # Panics
/// If `users` is empty or has more than [`PROBE`] users.
pub fn count_among(keys: &Keys, user: UserId, side: Side, users: &[UserId]) -> Command<u64> {
    assert!((1..=PROBE).contains(&users.len()), "a probe has 1 to {PROBE} members");
    let probe = command("ZMSCORE").key(&keys.list(user, side)).args(users.iter().map(|id| id.get()));
    let probe = probe.reply::<Vec<Option<Score>>>().missing(users.len());
    probe.map(|scores| Ok(scores.iter().flatten().count() as u64))
}

/// Reads the relation between the viewer and each of `others`, in the given order: only follows. The cost depends on
/// the number of `others`, never on the number of followers or followed users.
///
/// # Panics
/// If `others` is empty or has more than [`PROBE`] users.
pub fn relations(
    keys: &Keys,
    viewer: UserId,
    others: &[UserId],
    strategy: RelationStrategy,
    nonce: u64,
) -> Command<Vec<Relation>> {
    assert!((1..=PROBE).contains(&others.len()), "a page has 1 to {PROBE} users");
    match strategy {
        RelationStrategy::Zinterstore => {
            by_intersection(keys, viewer, others, nonce).probing(others.len() * LOOKS)
        }
        RelationStrategy::Zmscore => by_probe(keys, viewer, others).probing(others.len() * 2),
    }
}

/// Adds `others` to a temporary set in the viewer's slot and intersects that set with the viewer's two sets.
/// Weights 0 and 1 turn the result scores into follow times. Users in both results are mutuals. A nonce in
/// the key names keeps concurrent requests apart. The transaction deletes the sets at the end.
fn by_intersection(keys: &Keys, viewer: UserId, others: &[UserId], nonce: u64) -> Command<Vec<Relation>> {
    type Answers = (i64, i64, i64, i64, Follows, Follows, i64);
    let [find, following, followers] = keys.find(viewer, nonce);
    let intersect = |result: &Key<SortedSet>, with: &Key<SortedSet>| {
        let store = command("ZINTERSTORE").key(result).arg(2).key(&find).key(with);
        store.arg("WEIGHTS").arg(0).arg(1)
    };
    let all_of = |key: &Key<SortedSet>| command("ZREVRANGE").key(key).arg(0).arg(-1).arg("WITHSCORES");
    let members = others.iter().flat_map(|other| [0, other.get()]);
    let steps = vec![
        command("ZADD").key(&find).args(members),
        command("PEXPIRE").key(&find).arg(FIND_MILLIS),
        intersect(&following, &keys.following(viewer)),
        intersect(&followers, &keys.followers(viewer)),
        all_of(&following),
        all_of(&followers),
        command("UNLINK").key(&find).key(&following).key(&followers),
    ];
    let others = others.to_vec();
    let read = |answer: &Answer| {
        let mut answers = answer.reply().elements()?;
        let is_error = |answer: Reply<'_>| answer.error_code().is_some();
        if answers.clone().any(is_error) {
            return None;
        }
        Some((0, 0, 0, 0, Follows::read(answers.nth(4)?)?, Follows::read(answers.next()?)?, 0))
    };
    transaction::<Answers>(&steps).read_by(read).map(move |(_, _, _, _, following, followers, _)| {
        let (following, followers) = (following.sorted(), followers.sorted());
        let relation = |other: &UserId| Relation {
            following_since: following.time_of(*other),
            follower_since: followers.time_of(*other),
            ..Relation::default()
        };
        Ok(others.iter().map(relation).collect())
    })
}

/// Probes both of the viewer's sets for `others`. Makes no writes, so a replica could execute this command.
fn by_probe(keys: &Keys, viewer: UserId, others: &[UserId]) -> Command<Vec<Relation>> {
    type Answers = (Vec<Option<Score>>, Vec<Option<Score>>);
    let probe = |key: Key<SortedSet>| command("ZMSCORE").key(&key).args(others.iter().map(|id| id.get()));
    let probes = vec![probe(keys.following(viewer)), probe(keys.followers(viewer))];
    let scores = |reply: Reply<'_>| -> Option<Vec<Option<Score>>> {
        let score =
            |score: Reply<'_>| if score.is_null() { Some(None) } else { Some(Some(Score(time_of(score)?))) };
        reply.elements()?.map(score).collect()
    };
    let read = move |answer: &Answer| {
        let mut replies = answer.replies();
        Some((scores(replies.next()?)?, scores(replies.next()?)?))
    };
    several::<Answers>(&probes).read_by(read).map(|(following, followers)| {
        let time = |score: Option<Score>| score.map(|Score(at)| at);
        let relation = |(following, followers)| Relation {
            following_since: time(following),
            follower_since: time(followers),
            ..Relation::default()
        };
        Ok(following.into_iter().zip(followers).map(relation).collect())
    })
}

/// Returns the time at which `other` was added to a list of `user`; `None` if the list does not contain them.
pub fn time(keys: &Keys, user: UserId, side: Side, other: UserId) -> Command<Option<Timestamp>> {
    let read = command("ZSCORE").key(&keys.list(user, side)).arg(other.get());
    read.reply::<Option<Score>>().map(|score| Ok(score.map(|Score(at)| at)))
}

/// Removes `other` from a list of `user`. Returns true if the list contained them.
pub fn remove(keys: &Keys, user: UserId, side: Side, other: UserId) -> Command<bool> {
    let write = call(&script::WRITE_FOLLOW).key(&keys.list(user, side));
    write.arg(other.get()).arg("").reply()
}

/// Adds `other` to a list of `user` with the time `at`, or changes their time in the list to `at`. Returns
/// true if the list changed.
pub fn put(keys: &Keys, user: UserId, side: Side, other: UserId, at: Timestamp) -> Command<bool> {
    let write = call(&script::WRITE_FOLLOW).key(&keys.list(user, side));
    write.arg(other.get()).arg(at.as_millis()).reply()
}
