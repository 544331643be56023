//! Storage of the states of accounts, and of the jobs that make other data follow them.
//!
//! An account is inactive if its record has no `username`, but an `inactive_username`: a read of the record finds no
//! such user, and needs no further field. The index of names, the set of inactive users and the lists of others follow,
//! in slots of their own. A job records that work until it is done.
//!
//! Not here: the order of the writes (`app::account`).

use crate::model::account::{Account, Inactivity};
use crate::model::clock::Timestamp;
use crate::model::id::UserId;
use crate::model::page::{Page, Position, Window};
use crate::model::relation::Follow;
use crate::store::command::{Command, call, command, several};
use crate::store::error::Error;
use crate::store::key::Keys;
use crate::store::relation::{PROBE, Score, page_of};
use crate::store::script;
use crate::store::user::REVOKED_MILLIS;

/// Number of jobs that a portion of a scan examines, more or less.
const SCANNED: usize = 1_000;

/// Returns the field of a record that has the time of an inactivity.
fn field(inactivity: Inactivity) -> &'static str {
    match inactivity {
        Inactivity::Suspended => "suspended",
        Inactivity::Deletion => "deletion",
    }
}

/// Makes an account inactive since `at`, or for a deletion at `at`, ends its sessions, and revokes its recovery code.
/// Returns the username; `None` if there is no such user.
pub fn deactivate(
    keys: &Keys,
    user: UserId,
    inactivity: Inactivity,
    at: Timestamp,
) -> Command<Option<String>> {
    let deactivate = call(&script::DEACTIVATE_USER).key(&keys.user(user)).key(&keys.sessions(user));
    deactivate.key(&keys.recovery(user)).arg(field(inactivity)).arg(at.as_millis()).reply()
}

/// Removes a reason for which an account is inactive, and makes it active if there is no other, unless it is being
/// erased. Returns true if the account had been inactive for this reason.
pub fn reactivate(keys: &Keys, user: UserId, inactivity: Inactivity) -> Command<bool> {
    call(&script::REACTIVATE_USER).key(&keys.user(user)).arg(field(inactivity)).reply()
}

/// Reads an account; `None` if there is no such user.
pub fn read(keys: &Keys, user: UserId) -> Command<Option<Account>> {
    type Fields =
        (Option<String>, Option<String>, Option<Score>, Option<Score>, Option<Score>, Option<u8>, Option<u8>);
    let read = command("HMGET").key(&keys.user(user)).arg("username").arg("inactive_username");
    let read = read.arg("created_at").arg("suspended").arg("deletion").arg("erasing").arg("moderator");
    let time = |score: Option<Score>| score.map(|Score(at)| at);
    read.reply::<Fields>().map(
        move |(username, inactive, created, suspended, deletion, erasing, moderator)| {
            let Some(username) = username.or(inactive) else { return Ok(None) };
            let missing = || Error::corrupt(format!("user {user} has no created_at"));
            Ok(Some(Account {
                user,
                username,
                created_at: time(created).ok_or_else(missing)?,
                suspended_at: time(suspended),
                deletion_at: time(deletion),
                is_being_erased: erasing.is_some(),
                is_moderator: moderator == Some(1),
            }))
        },
    )
}

/// Begins to erase an account whose deletion was due by `now`, and cannot be cancelled from then on. Returns the
/// username; `None` if the account is not to be erased.
pub fn begin_erasure(keys: &Keys, user: UserId, now: Timestamp) -> Command<Option<String>> {
    call(&script::BEGIN_ERASURE).key(&keys.user(user)).arg(now.as_millis()).reply()
}

/// Erases a user's record, password, sessions and recovery code, and revokes the id.
pub fn erase(keys: &Keys, user: UserId, now: Timestamp) -> Command<bool> {
    let erase = call(&script::ERASE_USER).key(&keys.user(user)).key(&keys.secret(user));
    let erase = erase.key(&keys.sessions(user)).key(&keys.void(user)).key(&keys.recovery(user));
    erase.arg(now.as_millis()).arg(REVOKED_MILLIS).reply()
}

/// Returns the number of a user's posts in Redis, and of deletions that the archive has not recorded yet.
pub fn posts_left(keys: &Keys, user: UserId) -> Command<u64> {
    let (hot, gone) = (command("LLEN").key(&keys.posts(user)), command("ZCARD").key(&keys.gone(user)));
    several(&[hot, gone]).map(|(hot, gone): (u64, u64)| Ok(hot + gone))
}

/// Ends that a user is a star, whose posts are pulled.
pub fn end_star(keys: &Keys, user: UserId) -> Command<(i64, i64)> {
    let star = command("SREM").key(&keys.stars()).arg(user.get());
    several(&[star, command("ZREM").key(&keys.numbered_stars()).arg(user.get())])
}

/// Makes a user a moderator, or ends that.
pub fn set_moderator(keys: &Keys, user: UserId, is_moderator: bool) -> Command<i64> {
    let field = "moderator";
    if is_moderator {
        return command("HSET").key(&keys.user(user)).arg(field).arg(1).reply();
    }
    command("HDEL").key(&keys.user(user)).arg(field).reply()
}

/// Adds a user to the set of inactive users.
pub fn list_inactive(keys: &Keys, user: UserId, since: Timestamp) -> Command<i64> {
    command("ZADD").key(&keys.inactive()).arg("NX").arg(since.as_millis()).arg(user.get()).reply()
}

/// Removes a user from the set of inactive users.
pub fn unlist_inactive(keys: &Keys, user: UserId) -> Command<i64> {
    command("ZREM").key(&keys.inactive()).arg(user.get()).reply()
}

/// Reads a page of the set of inactive users, the last deactivated first.
pub fn inactive_page(keys: &Keys, window: &Window<Position>) -> Command<Page<Follow>> {
    page_of(&keys.inactive(), window)
}

/// Returns for each of these users true if they are in the set of inactive users.
///
/// # Panics
/// If `users` is empty or has more than [`PROBE`] users.
pub fn are_inactive(keys: &Keys, users: &[UserId]) -> Command<Vec<bool>> {
    assert!((1..=PROBE).contains(&users.len()), "a probe has 1 to {PROBE} members");
    let probe = command("ZMSCORE").key(&keys.inactive()).args(users.iter().map(|user| user.get()));
    let probe = probe.reply::<Vec<Option<Score>>>().missing(users.len());
    probe.map(|scores| Ok(scores.iter().map(Option::is_some).collect()))
}

/// A job of an account: other data must follow the record. The token distinguishes the jobs of different calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// The user.
    pub user: UserId,
    /// Unique token of the call that has added the job.
    pub token: u64,
}

impl Job {
    fn text(self) -> String {
        format!("{}:{:x}", self.user, self.token)
    }

    fn parse(text: &str) -> Option<Self> {
        let (user, token) = text.split_once(':')?;
        Some(Self { user: user.parse().ok()?, token: u64::from_str_radix(token, 16).ok()? })
    }
}

/// Adds a job, or changes the time at which it is due.
pub fn add_job(keys: &Keys, job: Job, due: Timestamp) -> Command<i64> {
    command("ZADD").key(&keys.account_jobs()).arg(due.as_millis()).arg(job.text()).reply()
}

/// Removes jobs that are done.
pub fn remove_jobs(keys: &Keys, jobs: &[Job]) -> Command<i64> {
    command("ZREM").key(&keys.account_jobs()).args(jobs.iter().map(|job| job.text())).reply()
}

/// Reads up to `most` jobs that are due, with the times at which they were due.
pub fn due_jobs(keys: &Keys, now: Timestamp, most: usize) -> Command<Vec<(Job, Timestamp)>> {
    let read = command("ZRANGEBYSCORE").key(&keys.account_jobs()).arg("-inf").arg(now.as_millis());
    let read = read.arg("WITHSCORES").arg("LIMIT").arg(0).arg(most);
    read.reply::<Vec<(String, Score)>>().map(|jobs| {
        // A job of another form is left to the newer version that has added it.
        let parse = |(text, Score(due)): (String, Score)| Some((Job::parse(&text)?, due));
        Ok(jobs.into_iter().filter_map(parse).collect())
    })
}

/// Reads a portion of a user's jobs, also those that are not due yet, from a cursor of a scan; the first one is 0.
/// Returns the next cursor, which is 0 after the last portion. A job that exists throughout the scan is read at least
/// once.
pub fn scan_jobs(keys: &Keys, user: UserId, cursor: u64) -> Command<(u64, Vec<Job>)> {
    let scan = command("ZSCAN").key(&keys.account_jobs()).arg(cursor).arg("MATCH").arg(format!("{user}:*"));
    let scan = scan.arg("COUNT").arg(SCANNED).reply::<(u64, Vec<(String, Score)>)>();
    scan.map(|(next, jobs)| Ok((next, jobs.into_iter().filter_map(|(text, _)| Job::parse(&text)).collect())))
}

/// Claims a job that was due at `due` until `until`. Returns false if it is done, or another process has claimed it.
pub fn claim_job(keys: &Keys, job: Job, due: Timestamp, until: Timestamp) -> Command<bool> {
    let claim = call(&script::CLAIM_ACCOUNT_JOB).key(&keys.account_jobs()).arg(job.text());
    claim.arg(due.as_millis()).arg(until.as_millis()).reply()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_of_a_job_is_part_of_the_stored_data() {
        let job = Job { user: UserId::new(7).unwrap(), token: 0xff };
        assert_eq!(job.text(), "7:ff");
        assert_eq!(Job::parse("7:ff"), Some(job));
        for text in ["", "7", "0:ff", "7:", "x:ff"] {
            assert_eq!(Job::parse(text), None, "{text:?}");
        }
    }
}
