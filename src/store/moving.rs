//! Posts on their way to the archive: those that wait, and those that a mover has taken.
//!
//! A mover takes what waits onto a list of its own, and takes it off there when it is done. What a mover
//! has left that is not heard of any more is handed over to another one.
//!
//! Not here: the order of the steps (`app::archive`), the records of posts (`store::post`).

use std::fmt;

use crate::model::clock::Timestamp;
use crate::model::id::{PostId, UserId};
use crate::store::command::{Builder, Command, call, command, several};
use crate::store::key::Keys;
use crate::store::post::{Id, ids};
use crate::store::script;

/// Most posts that are put among those that wait by one command, and that a mover takes at once.
pub const MOST: usize = 1_000;

/// A post that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    /// The post.
    pub post: PostId,
    /// Since when.
    pub since: Timestamp,
}

impl fmt::Display for Entry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.post, self.since.as_millis())
    }
}

impl Entry {
    fn parse(text: &str) -> Option<Self> {
        let (post, since) = text.split_once(':')?;
        Some(Self { post: post.parse().ok()?, since: Timestamp::from_millis(since.parse().ok()?) })
    }
}

/// Puts posts among those that wait. Twice does no harm.
///
/// # Panics
/// If there are none, or more than [`MOST`].
pub fn queue(keys: &Keys, posts: &[PostId], since: Timestamp) -> Command<i64> {
    assert!((1..=MOST).contains(&posts.len()), "1 to {MOST} posts are put on their way");
    let entries = posts.iter().map(|&post| Entry { post, since }.to_string());
    command("RPUSH").key(&keys.pending()).args(entries).reply()
}

/// What a mover has taken, and whom it might help.
#[derive(Clone, Debug)]
pub struct Taken {
    /// What it has, the first of them.
    pub entries: Vec<Entry>,
    /// What is among them that this version does not know.
    pub unknown: Vec<String>,
    /// Movers that are not heard of any more.
    pub silent: Vec<String>,
}

/// Takes posts, unless the mover still has some; at most [`MOST`]. Notes that it lives.
pub fn take(keys: &Keys, mover: &str, silent_after: u64) -> Command<Taken> {
    let take = call(&script::TAKE_POSTS).key(&keys.pending()).key(&keys.moving(mover)).key(&keys.movers());
    let take = take.arg(mover).arg(MOST).arg(silent_after).reply::<(Vec<String>, Vec<String>)>();
    take.map(|(texts, silent)| {
        let (mut entries, mut unknown) = (Vec::with_capacity(texts.len()), Vec::new());
        for text in texts {
            match Entry::parse(&text) {
                Some(entry) => entries.push(entry),
                None => unknown.push(text),
            }
        }
        Ok(Taken { entries, unknown, silent })
    })
}

/// Hands over what a mover has to another one.
pub fn adopt(keys: &Keys, from: &str, to: &str) -> Command<u64> {
    let hand = call(&script::HAND_OVER_POSTS).key(&keys.moving(from)).key(&keys.moving(to));
    hand.key(&keys.movers()).arg(from).arg(to).reply()
}

/// Puts back what a mover has, which works no more.
pub fn give_back(keys: &Keys, mover: &str) -> Command<u64> {
    let hand = call(&script::HAND_OVER_POSTS).key(&keys.moving(mover)).key(&keys.pending());
    hand.key(&keys.movers()).arg(mover).reply()
}

/// What has become of posts that a mover has taken.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// They are in the archive.
    pub archived: Vec<Entry>,
    /// The archive does not take them.
    pub unmovable: Vec<String>,
    /// There was nothing to be archived, or not any more.
    pub settled: Vec<Entry>,
}

/// Takes posts off a mover that it is done with.
pub fn finish(keys: &Keys, mover: &str, outcome: &Outcome) -> Command<u64> {
    let Outcome { archived, unmovable, settled } = outcome;
    let finish =
        call(&script::FINISH_POSTS).key(&keys.moving(mover)).key(&keys.moved()).key(&keys.unmovable());
    let finish = finish.arg(archived.len()).arg(unmovable.len());
    let finish = finish.args(archived.iter().map(Entry::to_string)).args(unmovable);
    finish.args(settled.iter().map(Entry::to_string)).reply()
}

/// Takes posts that the archive has, least first, out of their author's list. Answers how many were there.
///
/// # Panics
/// If there are none.
pub fn put_away(keys: &Keys, author: UserId, posts: &[PostId]) -> Command<u64> {
    assert!(posts.is_sorted() && !posts.is_empty(), "posts are put away least first");
    let put = call(&script::PUT_AWAY_POSTS).key(&keys.posts(author)).key(&keys.cold(author));
    put.args(posts.iter().map(|post| post.get())).reply()
}

/// Notes that the archive has these posts no more, which were deleted.
pub fn forget_gone(keys: &Keys, author: UserId, posts: &[PostId]) -> Command<u64> {
    command("ZREM").key(&keys.gone(author)).args(posts.iter().map(|post| post.get())).reply()
}

/// What is noted of an author's cold posts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cold {
    /// The greatest post that ever became cold; 0 if none did.
    pub greatest: u64,
    /// How many did and were not deleted; `None` if what is noted cannot be a number of posts.
    pub count: Option<u64>,
    /// Those that were deleted and that the archive may still have.
    pub gone: Vec<PostId>,
}

impl Cold {
    fn new((greatest, count): (Option<u64>, Option<String>), gone: Vec<Id>) -> Self {
        let count = count.map_or(Some(0), |count| count.parse().ok());
        Self { greatest: greatest.unwrap_or(0), count, gone: ids(gone) }
    }
}

/// What is noted of an author's cold posts.
pub fn cold(keys: &Keys, author: UserId) -> Command<Cold> {
    let cold = command("HMGET").key(&keys.cold(author)).arg("greatest").arg("count");
    let gone = command("ZRANGE").key(&keys.gone(author)).arg(0).arg(-1);
    several::<((Option<u64>, Option<String>), Vec<Id>)>(vec![cold, gone])
        .map(|(noted, gone)| Ok(Cold::new(noted, gone)))
}

/// The same, together with the posts of the author's list, as of one moment.
pub fn cold_and_listed(keys: &Keys, author: UserId) -> Command<(Cold, Vec<PostId>)> {
    let read = call(&script::COLD_AND_LISTED).key(&keys.cold(author)).key(&keys.gone(author));
    read.key(&keys.posts(author))
        .reply::<(Option<u64>, Option<String>, Vec<Id>, Vec<Id>)>()
        .map(|(greatest, count, gone, listed)| Ok((Cold::new((greatest, count), gone), ids(listed))))
}

/// Corrects what is noted of an author's cold posts to `(count, greatest)`, if it is still as it was read. `true` if
/// it is right now.
pub fn correct_cold(
    keys: &Keys,
    author: UserId,
    read: &Cold,
    (count, greatest): (u64, u64),
) -> Command<bool> {
    let correct = call(&script::CORRECT_COLD).key(&keys.cold(author)).key(&keys.gone(author));
    let noted = read.count.map_or(String::new(), |count| count.to_string());
    correct.arg(noted).arg(read.greatest).arg(read.gone.len()).arg(count).arg(greatest).reply()
}

/// Some of an author's posts that its list has no more room for, the greatest first.
pub fn beyond(keys: &Keys, author: UserId, hot: u32, start: usize) -> Command<Vec<PostId>> {
    let start = start.saturating_add(hot as usize);
    let range = command("LRANGE").key(&keys.posts(author)).arg(start).arg(start + MOST - 1);
    range.reply::<Vec<Id>>().map(|found| Ok(ids(found)))
}

/// The limit beyond which all posts were queued; `None` if that was never noted.
pub fn swept_limit(keys: &Keys) -> Command<Option<u32>> {
    command("HGET").key(&keys.layout()).arg("post_hot_limit").reply()
}

/// Notes that all posts beyond this limit were queued.
pub fn note_swept_limit(keys: &Keys, limit: u32) -> Command<i64> {
    command("HSET").key(&keys.layout()).arg("post_hot_limit").arg(limit).reply()
}

/// Puts posts that the archive did not take back among those that wait. Answers how many; at most [`MOST`].
pub fn requeue(keys: &Keys) -> Command<u64> {
    call(&script::REQUEUE_POSTS).key(&keys.unmovable()).key(&keys.pending()).arg(MOST).reply()
}

/// How many posts wait.
pub fn pending(keys: &Keys) -> Command<u64> {
    command("LLEN").key(&keys.pending()).reply()
}

/// From when on the post waits that has waited for the longest time.
pub fn pending_since(keys: &Keys) -> Command<Option<Timestamp>> {
    since(command("LINDEX").key(&keys.pending()))
}

/// All movers.
pub fn movers(keys: &Keys) -> Command<Vec<String>> {
    command("ZRANGE").key(&keys.movers()).arg(0).arg(-1).reply()
}

/// How many posts a mover has.
pub fn moving(keys: &Keys, mover: &str) -> Command<u64> {
    command("LLEN").key(&keys.moving(mover)).reply()
}

/// From when on the first post waits that a mover has.
pub fn moving_since(keys: &Keys, mover: &str) -> Command<Option<Timestamp>> {
    since(command("LINDEX").key(&keys.moving(mover)))
}

fn since(first: Builder) -> Command<Option<Timestamp>> {
    let first = first.arg(0).reply::<Option<String>>();
    first.map(|text| Ok(text.and_then(|text| Entry::parse(&text)).map(|entry| entry.since)))
}

/// How many posts have been archived, ever.
pub fn moved(keys: &Keys) -> Command<u64> {
    command("GET").key(&keys.moved()).reply::<Option<u64>>().map(|moved| Ok(moved.unwrap_or(0)))
}

/// How many posts the archive does not take.
pub fn unmovable(keys: &Keys) -> Command<u64> {
    command("HLEN").key(&keys.unmovable()).reply()
}

/// The archive that keeps the cold posts of this store; `None` if there is none yet.
pub fn archive(keys: &Keys) -> Command<Option<String>> {
    command("HGET").key(&keys.layout()).arg("archive").reply()
}

/// Notes which archive keeps the cold posts of this store, if there is none yet.
pub fn bind_archive(keys: &Keys, identity: &str) -> Command<bool> {
    command("HSETNX").key(&keys.layout()).arg("archive").arg(identity).reply()
}

/// Notes that another archive keeps them from now on.
pub fn rebind_archive(keys: &Keys, identity: &str) -> Command<i64> {
    command("HSET").key(&keys.layout()).arg("archive").arg(identity).reply()
}

/// Sees to it that no post gets an id up to this one.
pub fn skip_posts(keys: &Keys, upto: u64) -> Command<u64> {
    call(&script::SKIP_POSTS).key(&keys.next_post()).arg(upto).reply()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_of_what_waits_is_part_of_the_stored_data() {
        let entry = Entry { post: PostId::new(9).unwrap(), since: Timestamp::from_millis(-7) };
        assert_eq!(entry.to_string(), "9:-7");
        assert_eq!(Entry::parse("9:-7"), Some(entry));
        for text in ["", "9", "0:5", "9:x", "x:5"] {
            assert_eq!(Entry::parse(text), None, "{text:?}");
        }
    }
}
