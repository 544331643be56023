//! Storage of recovery codes: a hash per user, which expires with the code, and a list per moderator of the users whose
//! codes may be pending.
//!
//! The code is in the slot of the user whose password it sets, so that one script checks it and sets the password. The
//! list of a moderator only serves to revoke the codes when the moderator loses the rights; it may contain users whose
//! codes are used or revoked.
//!
//! Not here: the rules, and the order of the writes (`app::recovery`).

use std::time::Duration;

use crate::model::clock::Timestamp;
use crate::model::id::UserId;
use crate::model::moderator::Moderator;
use crate::model::recovery::Recovery;
use crate::model::secret::{PasswordHash, TokenHash};
use crate::store::command::{Command, call, command, several, transaction};
use crate::store::error::Error;
use crate::store::key::Keys;
use crate::store::relation::Score;
use crate::store::script;

/// Retention of a moderator's list after the last code: longer than any code lives, whatever the delay.
const LISTED: Duration = Duration::from_hours(40 * 24);

const CODE: &str = "code";
const ISSUER: &str = "issuer";
const ISSUED_AT: &str = "issued_at";
const VALID_FROM: &str = "valid_from";
const EXPIRES_AT: &str = "expires_at";

/// A recovery code as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRecovery {
    /// Hash of the code.
    pub code: TokenHash,
    /// The code's issuer and times.
    pub pending: Recovery,
}

/// Issues a code for a user, in place of the one before. Returns false, without any effect, if the user can have none
/// now.
pub fn issue(keys: &Keys, user: UserId, recovery: &StoredRecovery) -> Command<bool> {
    let StoredRecovery { code, pending } = recovery;
    let Recovery { issuer, issued_at, valid_from, expires_at } = pending;
    let issue =
        call(&script::ISSUE_RECOVERY).key(&keys.user(user)).key(&keys.secret(user)).key(&keys.recovery(user));
    let issue = issue.arg(issuer.to_string()).arg(issued_at.as_millis()).arg(expires_at.as_millis());
    let lifetime = expires_at.since(*issued_at).as_millis().to_string();
    issue.arg(lifetime).arg(valid_from.as_millis()).arg(code.to_string()).reply()
}

/// Reads the recovery code of a user, expired or not; `None` if there is none.
pub fn read(keys: &Keys, user: UserId) -> Command<Option<StoredRecovery>> {
    type Fields = (Option<String>, Option<String>, Option<Score>, Option<Score>, Option<Score>);
    let read = command("HMGET").key(&keys.recovery(user)).arg(CODE).arg(ISSUER);
    let read = read.arg(ISSUED_AT).arg(VALID_FROM).arg(EXPIRES_AT).reply::<Fields>();
    read.map(move |(code, issuer, issued_at, valid_from, expires_at)| {
        let Some(code) = code else { return Ok(None) };
        let malformed = || Error::corrupt(format!("the recovery code of user {user} is malformed"));
        let time = |score: Option<Score>| score.map(|Score(at)| at).ok_or_else(malformed);
        let issuer = issuer.and_then(|issuer| issuer.parse().ok()).ok_or_else(malformed)?;
        let pending = Recovery {
            issuer,
            issued_at: time(issued_at)?,
            valid_from: time(valid_from)?,
            expires_at: time(expires_at)?,
        };
        Ok(Some(StoredRecovery { code: TokenHash::parse(&code).ok_or_else(malformed)?, pending }))
    })
}

/// The recovery codes to revoke.
#[derive(Clone, Copy, Debug)]
pub enum Issuers {
    /// Those of all moderators.
    Moderators,
    /// Those of one moderator.
    One(UserId),
}

/// Revokes the code of a user if one of these has issued it. Returns true if there was such a code.
pub fn revoke(keys: &Keys, user: UserId, issuers: Issuers) -> Command<bool> {
    let issuer = match issuers {
        Issuers::Moderators => String::new(),
        Issuers::One(moderator) => Moderator::User(moderator).to_string(),
    };
    call(&script::REVOKE_RECOVERY).key(&keys.recovery(user)).arg(issuer).reply()
}

/// Sets the password of a user with the code that has this hash, and ends all of their sessions. Returns false, without
/// any effect, if there is no such code, if it is not valid now, or if the account can have no code any more.
pub fn recover(
    keys: &Keys,
    user: UserId,
    code: &TokenHash,
    new: &PasswordHash,
    now: Timestamp,
) -> Command<bool> {
    let recover = call(&script::RECOVER_ACCOUNT).key(&keys.user(user)).key(&keys.secret(user));
    let recover = recover.key(&keys.sessions(user)).key(&keys.recovery(user));
    recover.arg(code.to_string()).arg(now.as_millis()).arg(new.expose()).reply()
}

/// Adds a user to the list of a moderator until `expires_at`.
pub fn list(keys: &Keys, moderator: UserId, user: UserId, expires_at: Timestamp) -> Command<(i64, i64)> {
    let list = keys.recoveries(moderator);
    transaction(&[
        command("ZADD").key(&list).arg(expires_at.as_millis()).arg(user.get()),
        command("EXPIRE").key(&list).arg(LISTED.as_secs()),
    ])
}

/// Returns the number of users in the list of a moderator whose codes have not expired, without this user.
pub fn others_listed(keys: &Keys, moderator: UserId, user: UserId, now: Timestamp) -> Command<usize> {
    let list = keys.recoveries(moderator);
    let prune = command("ZREMRANGEBYSCORE").key(&list).arg("-inf").arg(now.as_millis());
    let count = command("ZCARD").key(&list);
    let own = command("ZSCORE").key(&list).arg(user.get());
    let read = several::<(u64, usize, Option<Score>)>(&[prune, count, own]);
    read.map(|(_, count, own)| Ok(count - usize::from(own.is_some())))
}

/// Reads the list of a moderator.
pub fn listed(keys: &Keys, moderator: UserId) -> Command<Vec<UserId>> {
    let read = command("ZRANGE").key(&keys.recoveries(moderator)).arg(0).arg(-1).reply::<Vec<u64>>();
    read.map(|users| Ok(users.into_iter().filter_map(UserId::new).collect()))
}

/// Removes a user from the list of a moderator. Returns true if the list contained them.
pub(super) fn forget(keys: &Keys, moderator: UserId, user: UserId) -> Command<bool> {
    command("ZREM").key(&keys.recoveries(moderator)).arg(user.get()).reply()
}

/// Removes users from the list of a moderator.
///
/// # Panics
/// If `users` is empty.
pub fn unlist(keys: &Keys, moderator: UserId, users: &[UserId]) -> Command<i64> {
    assert!(!users.is_empty(), "ZREM needs a member");
    command("ZREM").key(&keys.recoveries(moderator)).args(users.iter().map(|user| user.get())).reply()
}
