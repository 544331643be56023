//! Storage of posts on their way to the archive: queued posts, posts taken by a mover, and postponed ones.
//!
//! A mover moves posts from the queue to its own list, and removes them from that list when it has finished
//! with them. When a mover falls silent, another mover takes over its list. Posts that change meanwhile are postponed.
//!
//! Not here: the order of the steps (`app::archive`), post records (`store::post`).

use std::fmt;

use crate::model::clock::Timestamp;
use crate::model::id::{PostId, UserId};
use crate::store::command::{Builder, Command, call, command, several};
use crate::store::key::Keys;
use crate::store::post_list::{Id, ids};
use crate::store::script;

/// Maximum number of posts queued by one command or taken by a mover at once.
pub const MOST: usize = 1_000;

/// A queued post.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    /// Id of the queued post.
    pub post: PostId,
    /// Time at which the post was queued.
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

/// Queues posts for the archive. Safe to repeat.
///
/// # Panics
/// If `posts` is empty or has more than [`MOST`] posts.
pub fn queue(keys: &Keys, posts: &[PostId], since: Timestamp) -> Command<i64> {
    assert!((1..=MOST).contains(&posts.len()), "1 to {MOST} posts can be queued");
    let entries = posts.iter().map(|&post| Entry { post, since }.to_string());
    command("RPUSH").key(&keys.pending()).args(entries).reply()
}

/// A mover's posts, and the movers that have fallen silent.
#[derive(Clone, Debug)]
pub struct Taken {
    /// The mover's first posts, at most [`MOST`].
    pub entries: Vec<Entry>,
    /// Entries that this version cannot parse.
    pub unknown: Vec<String>,
    /// Movers without a recent heartbeat.
    pub silent: Vec<String>,
}

/// Takes at most [`MOST`] posts, unless the mover still has posts: queued ones, and those that were postponed until
/// `due`. Records the mover's heartbeat, and returns the movers without a heartbeat for
/// `silent_after` milliseconds.
pub fn take(keys: &Keys, mover: &str, silent_after: u64, due: Timestamp) -> Command<Taken> {
    let take = call(&script::TAKE_POSTS).key(&keys.pending()).key(&keys.moving(mover)).key(&keys.movers());
    let take = take.key(&keys.postponed()).arg(mover).arg(MOST).arg(silent_after);
    let take = take.arg(due.as_millis()).reply::<(Vec<String>, Vec<String>)>();
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

/// Hands over one mover's posts to another mover. Returns the number of posts handed over.
pub fn adopt(keys: &Keys, from: &str, to: &str) -> Command<u64> {
    let hand = call(&script::HAND_OVER_POSTS).key(&keys.moving(from)).key(&keys.moving(to));
    hand.key(&keys.movers()).arg(from).arg(to).reply()
}

/// Puts a stopping mover's posts back into the queue. Returns the number of posts put back.
pub fn give_back(keys: &Keys, mover: &str) -> Command<u64> {
    let hand = call(&script::HAND_OVER_POSTS).key(&keys.moving(mover)).key(&keys.pending());
    hand.key(&keys.movers()).arg(mover).reply()
}

/// The outcome of archiving the posts that a mover took.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Posts that are in the archive.
    pub archived: Vec<Entry>,
    /// Posts rejected by the archive.
    pub unmovable: Vec<String>,
    /// Posts that changed meanwhile.
    pub changed: Vec<Entry>,
    /// Posts with too many likes. They stay in the mover's list until they are postponed as well.
    pub large: Vec<Entry>,
    /// Posts that need not be archived, or no longer need to be.
    pub settled: Vec<Entry>,
}

/// Removes the posts of a turn from a mover's list; those that changed are postponed until `due`. Returns the number of
/// posts newly archived.
pub fn finish(keys: &Keys, mover: &str, outcome: &Outcome, due: Timestamp) -> Command<u64> {
    let Outcome { archived, unmovable, changed, large: _, settled } = outcome;
    let finish =
        call(&script::FINISH_POSTS).key(&keys.moving(mover)).key(&keys.moved()).key(&keys.unmovable());
    let finish = finish.key(&keys.postponed()).arg(archived.len()).arg(unmovable.len());
    let finish = finish.arg(changed.len()).arg(due.as_millis());
    let finish = finish.args(archived.iter().map(Entry::to_string)).args(unmovable);
    finish.args(changed.iter().chain(settled).map(Entry::to_string)).reply()
}

/// Removes archived posts, in ascending order of id, from their author's list. Returns the number of posts
/// that the list contained.
///
/// # Panics
/// If `posts` is empty or not sorted.
pub fn remove_archived(keys: &Keys, author: UserId, posts: &[PostId]) -> Command<u64> {
    assert!(posts.is_sorted() && !posts.is_empty(), "at least one post, in ascending order of id");
    let put = call(&script::REMOVE_ARCHIVED_POSTS).key(&keys.posts(author)).key(&keys.cold(author));
    let put = put.key(&keys.post_times(author)).key(&keys.limited(author));
    put.args(posts.iter().map(|post| post.get())).reply()
}

/// Records that the archive no longer contains these deleted posts.
pub fn evict_expired(keys: &Keys, author: UserId, posts: &[PostId]) -> Command<u64> {
    command("ZREM").key(&keys.gone(author)).args(posts.iter().map(|post| post.get())).reply()
}

/// The stored summary of an author's cold posts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cold {
    /// Greatest id of all posts that ever became cold; 0 if none did.
    pub greatest: u64,
    /// Number of cold posts, excluding deleted posts; `None` if the stored value is not a valid count.
    pub count: Option<u64>,
    /// Number of those that only followers can see; `None` if the stored value is not a valid count.
    pub limited: Option<u64>,
    /// Deleted posts that may still be in the archive.
    pub gone: Vec<PostId>,
}

/// The fields of the summary: the greatest id and the two counts.
type ColdFields = (Option<u64>, Option<String>, Option<String>);

impl Cold {
    fn new((greatest, count, limited): ColdFields, gone: Vec<Id>) -> Self {
        let number = |count: Option<String>| count.map_or(Some(0), |count| count.parse().ok());
        let (count, limited) = (number(count), number(limited));
        Self { greatest: greatest.unwrap_or(0), count, limited, gone: ids(gone) }
    }
}

/// Reads the summary of an author's cold posts.
pub fn cold(keys: &Keys, author: UserId) -> Command<Cold> {
    let cold = command("HMGET").key(&keys.cold(author)).arg("greatest").arg("count").arg("limited");
    let gone = command("ZRANGE").key(&keys.gone(author)).arg(0).arg(-1);
    several::<(ColdFields, Vec<Id>)>(&[cold, gone]).map(|(noted, gone)| Ok(Cold::new(noted, gone)))
}

/// Atomically reads the summary of an author's cold posts and the author's list.
pub fn cold_and_listed(keys: &Keys, author: UserId) -> Command<(Cold, Vec<PostId>)> {
    let read = call(&script::COLD_AND_LISTED).key(&keys.cold(author)).key(&keys.gone(author));
    read.key(&keys.posts(author))
        .reply::<(Option<u64>, Option<String>, Option<String>, Vec<Id>, Vec<Id>)>()
        .map(|(greatest, count, limited, gone, listed)| {
            Ok((Cold::new((greatest, count, limited), gone), ids(listed)))
        })
}

/// The correct summary of an author's cold posts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RightCold {
    /// Greatest id.
    pub greatest: u64,
    /// Number of cold posts, excluding deleted posts.
    pub count: u64,
    /// Number of those that only followers can see.
    pub limited: u64,
}

/// Corrects the summary of an author's cold posts, unless the summary has changed since it was read. Returns true if
/// the summary is now correct.
pub fn correct_cold(keys: &Keys, author: UserId, read: &Cold, right: RightCold) -> Command<bool> {
    let noted = |count: Option<u64>| count.map_or(String::new(), |count| count.to_string());
    let correct = call(&script::CORRECT_COLD).key(&keys.cold(author)).key(&keys.gone(author));
    let correct = correct.arg(noted(read.count)).arg(read.greatest).arg(read.gone.len());
    let correct = correct.arg(noted(read.limited));
    correct.arg(right.count).arg(right.greatest).arg(right.limited).reply()
}

/// Reads up to [`MOST`] of an author's posts beyond the hot limit, in descending order of id, after skipping
/// `start` posts.
pub fn beyond(keys: &Keys, author: UserId, hot: u32, start: usize) -> Command<Vec<PostId>> {
    let start = start.saturating_add(hot as usize);
    let range = command("LRANGE").key(&keys.posts(author)).arg(start).arg(start + MOST - 1);
    range.reply::<Vec<Id>>().map(|found| Ok(ids(found)))
}

/// Returns the last hot limit for which all excess posts were queued; `None` if no limit was recorded.
pub fn swept_limit(keys: &Keys) -> Command<Option<u32>> {
    command("HGET").key(&keys.layout()).arg("post_hot_limit").reply()
}

/// Records that all posts in excess of this hot limit were queued.
pub fn note_swept_limit(keys: &Keys, limit: u32) -> Command<i64> {
    command("HSET").key(&keys.layout()).arg("post_hot_limit").arg(limit).reply()
}

/// Requeues up to [`MOST`] posts that the archive rejected. Returns the number of requeued posts.
pub fn requeue(keys: &Keys) -> Command<u64> {
    call(&script::REQUEUE_POSTS).key(&keys.unmovable()).key(&keys.pending()).arg(MOST).reply()
}

/// Returns the number of queued posts.
pub fn pending(keys: &Keys) -> Command<u64> {
    command("LLEN").key(&keys.pending()).reply()
}

/// Returns the number of postponed posts.
pub fn postponed(keys: &Keys) -> Command<u64> {
    command("ZCARD").key(&keys.postponed()).reply()
}

/// Returns the number of posts that are postponed beyond this time.
pub fn postponed_beyond(keys: &Keys, time: Timestamp) -> Command<u64> {
    command("ZCOUNT").key(&keys.postponed()).arg(format!("({}", time.as_millis())).arg("+inf").reply()
}

/// Returns the time at which the first post in the queue was queued.
pub fn pending_since(keys: &Keys) -> Command<Option<Timestamp>> {
    since(command("LINDEX").key(&keys.pending()))
}

/// Returns all movers, least recent heartbeat first.
pub fn movers(keys: &Keys) -> Command<Vec<String>> {
    command("ZRANGE").key(&keys.movers()).arg(0).arg(-1).reply()
}

/// Returns the number of posts that a mover has taken.
pub fn moving(keys: &Keys, mover: &str) -> Command<u64> {
    command("LLEN").key(&keys.moving(mover)).reply()
}

/// Returns the time at which the mover's first post was queued.
pub fn moving_since(keys: &Keys, mover: &str) -> Command<Option<Timestamp>> {
    since(command("LINDEX").key(&keys.moving(mover)))
}

fn since(first: Builder) -> Command<Option<Timestamp>> {
    let first = first.arg(0).reply::<Option<String>>();
    first.map(|text| Ok(text.and_then(|text| Entry::parse(&text)).map(|entry| entry.since)))
}

/// Returns the total number of posts archived.
pub fn moved(keys: &Keys) -> Command<u64> {
    command("GET").key(&keys.moved()).reply::<Option<u64>>().map(|moved| Ok(moved.unwrap_or(0)))
}

/// Returns the number of posts rejected by the archive.
pub fn unmovable(keys: &Keys) -> Command<u64> {
    command("HLEN").key(&keys.unmovable()).reply()
}

/// Returns the identity of this store's archive; `None` if no archive is recorded yet.
pub fn archive(keys: &Keys) -> Command<Option<String>> {
    command("HGET").key(&keys.layout()).arg("archive").reply()
}

/// Records this store's archive, if no archive is recorded yet.
pub fn bind_archive(keys: &Keys, identity: &str) -> Command<bool> {
    command("HSETNX").key(&keys.layout()).arg("archive").arg(identity).reply()
}

/// Replaces this store's recorded archive.
pub fn rebind_archive(keys: &Keys, identity: &str) -> Command<i64> {
    command("HSET").key(&keys.layout()).arg("archive").arg(identity).reply()
}

/// Ensures that no new post receives an id less than or equal to `upto`. Returns the last id issued.
pub fn skip_posts(keys: &Keys, upto: u64) -> Command<u64> {
    call(&script::SKIP_IDS).key(&keys.next_post()).arg(upto).reply()
}

/// Ensures that no new user receives an id less than or equal to `upto`. Returns the last id issued.
pub fn skip_users(keys: &Keys, upto: u64) -> Command<u64> {
    call(&script::SKIP_IDS).key(&keys.next_user()).arg(upto).reply()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_of_a_pending_entry_is_part_of_the_stored_data() {
        let entry = Entry { post: PostId::new(9).unwrap(), since: Timestamp::from_millis(-7) };
        assert_eq!(entry.to_string(), "9:-7");
        assert_eq!(Entry::parse("9:-7"), Some(entry));
        for text in ["", "9", "0:5", "9:x", "x:5"] {
            assert_eq!(Entry::parse(text), None, "{text:?}");
        }
    }
}
