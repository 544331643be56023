//! Storage of invites: a hash for each invite, its users, and a list of all codes.
//!
//! A use is recorded before its user is created, in another slot. Until the user is known to exist, the use is
//! *unfinished*, and can be returned.
//!
//! Not here: the steps of a registration with an invite (`app::moderation::invite`).

use std::num::NonZeroU32;

use crate::model::clock::Timestamp;
use crate::model::id::UserId;
use crate::model::invite::{Invite, InviteCode, InviteNote};
use crate::model::page::Position;
use crate::store::command::{Command, call, command, several, transaction};
use crate::store::error::Error;
use crate::store::key::Keys;
use crate::store::relation::Score;
use crate::store::script;

const USES: &str = "uses";
const EXPIRES: &str = "expires";
const CREATED_AT: &str = "created_at";
const CREATED_BY: &str = "created_by";
const NOTE: &str = "note";

/// Maximum number of unfinished uses that are read at a time.
const PAGE: usize = 100;

/// A stored invite.
#[derive(Clone, Debug)]
pub struct StoredInvite {
    /// The invite.
    pub invite: Invite,
    /// Users of the oldest unfinished uses up to a given time.
    pub unfinished: Vec<UserId>,
}

/// The outcome of taking a use of an invite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// The use is taken.
    Taken,
    /// There is no such invite.
    Unknown,
    /// The invite has expired.
    Expired,
    /// The invite is used up.
    UsedUp,
}

/// Stores a new invite, which has no uses yet.
pub fn create(keys: &Keys, invite: &Invite) -> Command<Vec<i64>> {
    let Invite { code, uses, used: _, expires_at, created_at, created_by, note } = invite;
    let record = command("HSET").key(&keys.invite(code)).arg(USES).arg(uses.get());
    let record = record.arg(CREATED_AT).arg(created_at.as_millis());
    let record = record.arg(CREATED_BY).arg(created_by.to_string()).arg(NOTE).arg(note.as_str());
    let record = match expires_at {
        Some(end) => record.arg(EXPIRES).arg(end.as_millis()),
        None => record,
    };
    let listed = command("ZADD").key(&keys.invites()).arg(created_at.as_millis()).arg(code.as_str());
    transaction(&[record, listed])
}

/// Reads the positions of all invites, newest first.
pub fn list(keys: &Keys) -> Command<Vec<Position<InviteCode>>> {
    let read = command("ZREVRANGE").key(&keys.invites()).arg(0).arg(-1).arg("WITHSCORES");
    let parse = |(code, Score(at)): (String, Score)| {
        let id = InviteCode::parse(&code);
        let id = id.ok_or_else(|| Error::corrupt("the list of invites has a member that is no code"))?;
        Ok(Position { at, id })
    };
    read.reply::<Vec<(String, Score)>>().map(move |invites| invites.into_iter().map(parse).collect())
}

/// Returns the number of invites.
pub fn count(keys: &Keys) -> Command<u64> {
    command("ZCARD").key(&keys.invites()).reply()
}

/// Reads an invite with its unfinished uses up to this time; `None` if there is no such invite.
pub fn read(keys: &Keys, code: &InviteCode, until: Timestamp) -> Command<Option<StoredInvite>> {
    type Record = (Option<u32>, Option<i64>, Option<i64>, Option<String>, Option<String>);
    let record = command("HMGET").key(&keys.invite(code)).arg(USES).arg(EXPIRES).arg(CREATED_AT);
    let record = record.arg(CREATED_BY).arg(NOTE);
    let used = command("ZCARD").key(&keys.invite_users(code));
    let unfinished = command("ZRANGEBYSCORE").key(&keys.invite_unfinished(code));
    let unfinished = unfinished.arg("-inf").arg(until.as_millis()).arg("LIMIT").arg(0).arg(PAGE);
    let code = *code;
    several::<(Record, u32, Vec<u64>)>(&[record, used, unfinished]).map(
        move |((uses, expires, created, creator, note), used, unfinished)| {
            let Some(uses) = uses else { return Ok(None) };
            let corrupt = || Error::corrupt(format!("the invite {} is incomplete", code.as_str()));
            let uses = NonZeroU32::new(uses).ok_or_else(corrupt)?;
            let note = note.map(|note| InviteNote::of_stored(&note)).ok_or_else(corrupt)?;
            let created_at = created.map(Timestamp::from_millis).ok_or_else(corrupt)?;
            let created_by = creator.and_then(|creator| creator.parse().ok()).ok_or_else(corrupt)?;
            let expires_at = expires.map(Timestamp::from_millis);
            let unfinished = unfinished.into_iter().filter_map(UserId::new).collect();
            let invite = Invite { code, uses, used, expires_at, created_at, created_by, note };
            Ok(Some(StoredInvite { invite, unfinished }))
        },
    )
}

/// Takes a use of an invite for a user who is about to be created. The use is unfinished.
pub fn take(keys: &Keys, code: &InviteCode, user: UserId, now: Timestamp) -> Command<Use> {
    let take = call(&script::TAKE_INVITE).key(&keys.invite(code)).key(&keys.invite_users(code));
    let take = take.key(&keys.invite_unfinished(code)).arg(user.get()).arg(now.as_millis());
    take.reply::<i64>().map(|taken| match taken {
        1 => Ok(Use::Taken),
        0 => Ok(Use::Unknown),
        -1 => Ok(Use::Expired),
        -2 => Ok(Use::UsedUp),
        other => Err(Error::corrupt(format!("unexpected result of the use of an invite: {other}"))),
    })
}

/// Finishes a use, whose user exists. Returns true if the use was unfinished.
pub fn finish(keys: &Keys, code: &InviteCode, user: UserId) -> Command<bool> {
    command("ZREM").key(&keys.invite_unfinished(code)).arg(user.get()).reply()
}

/// Returns an unfinished use, whose user will never exist, to the invite. Returns true if there was such a use.
pub fn give_back(keys: &Keys, code: &InviteCode, user: UserId) -> Command<bool> {
    let give_back = call(&script::RETURN_INVITE).key(&keys.invite_users(code));
    give_back.key(&keys.invite_unfinished(code)).arg(user.get()).reply()
}

/// Replaces a user who exists no more by an anonymous use of the invite. The nonce distinguishes calls. Returns true if
/// the user had used the invite.
pub fn anonymize(keys: &Keys, code: &InviteCode, user: UserId, nonce: u64) -> Command<bool> {
    let anonymize = call(&script::ANONYMIZE_INVITE).key(&keys.invite_users(code));
    let anonymize = anonymize.key(&keys.invite_unfinished(code));
    anonymize.arg(user.get()).arg(format!("erased:{nonce:x}")).reply()
}

/// Deletes an invite. Returns false if there is no such invite.
pub fn revoke(keys: &Keys, code: &InviteCode) -> Command<bool> {
    let revoke = call(&script::REVOKE_INVITE).key(&keys.invites()).key(&keys.invite(code));
    revoke.key(&keys.invite_users(code)).key(&keys.invite_unfinished(code)).arg(code.as_str()).reply()
}
