//! Storage of users. Each user is a small hash, with the password hash or the subject in a separate key.
//!
//! Not here: the username index (`store::name`), sessions (`store::session`).

use crate::driver::reply::Reply;
use crate::model::clock::Timestamp;
use crate::model::id::UserId;
use crate::model::secret::{PasswordHash, TokenHash};
use crate::model::subject::Subject;
use crate::model::user::{AvatarUrl, Bio, DisplayName, ProfileChange, User, UserFields, Username};
use crate::store::command::{Builder, Command, call, command, each};
use crate::store::error::Error;
use crate::store::key::Keys;
use crate::store::script;
use crate::store::session::StoredSession;

/// Absent if the account is inactive.
pub(super) const USERNAME: &str = "username";
/// The username of an inactive account.
const INACTIVE_USERNAME: &str = "inactive_username";
const DISPLAY_NAME: &str = "display_name";
/// Empty if there is none.
const BIO: &str = "bio";
/// Absent if it was never set.
const AVATAR_URL: &str = "avatar_url";
/// Milliseconds since the epoch.
const CREATED_AT: &str = "created_at";
/// 1 if the account is private; absent if that was never set.
const PRIVATE: &str = "private";

/// An optional field of a record: its name in Redis, and how it is read, which returns `None` if that is impossible.
type Field = (UserFields, &'static str, fn(&mut User, Option<&str>) -> Option<()>);

/// The optional fields of a record.
const FIELDS: &[Field] = &[
    (UserFields::DISPLAY_NAME, DISPLAY_NAME, |user, text| {
        set(&mut user.display_name, text.map(str::to_owned))
    }),
    (UserFields::BIO, BIO, |user, text| set(&mut user.bio, text.map(str::to_owned))),
    (UserFields::AVATAR_URL, AVATAR_URL, |user, text| {
        set(&mut user.avatar_url, Some(AvatarUrl::stored(text)))
    }),
    (UserFields::CREATED_AT, CREATED_AT, |user, text| set(&mut user.created_at, timestamp(text?))),
    (UserFields::PRIVATE, PRIVATE, |user, text| set(&mut user.is_private, Some(text == Some("1")))),
];

/// Retention of revocations, in milliseconds: far longer than any write takes.
pub(super) const REVOKED_MILLIS: u64 = 86_400_000;

/// Issues ids for `count` users, and returns the last id issued. If sent twice, skips ids, which is harmless.
pub fn issue_ids(keys: &Keys, count: u64) -> Command<u64> {
    command("INCRBY").key(&keys.next_user()).arg(count).reply()
}

/// Returns the last id issued; no user has a greater id.
pub fn last_id(keys: &Keys) -> Command<u64> {
    command("GET").key(&keys.next_user()).reply::<Option<u64>>().map(|last| Ok(last.unwrap_or(0)))
}

/// Reads the requested fields of a user's record; `None` if the user does not exist. The record does not
/// contain the residence.
pub fn read(keys: &Keys, user: UserId, fields: UserFields) -> Command<Option<User>> {
    let missing = || Error::corrupt("no reply for a user");
    read_all(keys, &[user], fields).map(move |mut records| records.pop().ok_or_else(missing)?.1)
}

/// A user's id, and the record, or the error of its reply.
pub type ReadUser = (UserId, Result<Option<User>, Error>);

/// Reads the requested fields of users' records, as [`read`] does for one user.
pub fn read_all(keys: &Keys, users: &[UserId], fields: UserFields) -> Command<Vec<ReadUser>> {
    read_named(keys, users, fields, USERNAME)
}

/// Returns for each of these users true if their account is private; `None` for those who do not exist. Not charged.
pub fn privacy(keys: &Keys, users: &[UserId]) -> Command<Vec<Option<bool>>> {
    let read = read_all(keys, users, UserFields::PRIVATE).uncharged();
    let is_private = |(_, user): ReadUser| user.ok().flatten()?.is_private;
    read.map(move |users| Ok(users.into_iter().map(is_private).collect()))
}

/// Reads the requested fields of a user's record, as [`read`] does, if the account is inactive; otherwise `None`.
pub fn read_inactive(keys: &Keys, user: UserId, fields: UserFields) -> Command<Option<User>> {
    let missing = || Error::corrupt("no reply for a user");
    read_named(keys, &[user], fields, INACTIVE_USERNAME)
        .map(move |mut records| records.pop().ok_or_else(missing)?.1)
}

/// Reads the requested fields of users' records that have the username in this field.
fn read_named(
    keys: &Keys,
    users: &[UserId],
    fields: UserFields,
    username: &'static str,
) -> Command<Vec<ReadUser>> {
    let asked = FIELDS.iter().filter(move |(field, ..)| fields.contains(*field));
    let names = asked.clone().map(|(_, name, _)| *name);
    let build = |read: Builder, user: &UserId| read.key(&keys.user(*user)).arg(username).args(names.clone());
    let read = each("HMGET", users.to_vec(), build, move |user, row| record(*user, asked.clone(), row));
    // An account that has become private is private at once.
    if fields.contains(UserFields::PRIVATE) { read } else { read.may_lag() }
}

/// Reads a user's display name, whether or not their account is active; `None` if there is no such user.
pub fn display_name(keys: &Keys, user: UserId) -> Command<Option<String>> {
    command("HGET").key(&keys.user(user)).arg(DISPLAY_NAME).reply()
}

/// Reads a row of a record: the username and the optional fields that were asked for.
fn record(
    user: UserId,
    asked: impl Iterator<Item = &'static Field>,
    row: Reply<'_>,
) -> Result<Option<User>, Error> {
    let unexpected = || Error::corrupt(format!("the record of user {user} is not a list of texts"));
    let mut row = row.elements().ok_or_else(unexpected)?;
    let mut text = || match row.next() {
        Some(field) if !field.is_null() => field.text().map(Some).ok_or_else(unexpected),
        _ => Ok(None),
    };
    let Some(username) = text()? else { return Ok(None) };
    let mut record = User::new(user, username.to_owned());
    for (_, name, read) in asked {
        let value = text()?;
        read(&mut record, value).ok_or_else(|| match value {
            Some(value) => Error::corrupt(format!("{name} of user {user} is {value:?}")),
            None => Error::corrupt(format!("user {user} has no {name}")),
        })?;
    }
    Ok(Some(record))
}

/// Sets a field of a user as read; returns `None` without a value.
fn set<V>(field: &mut Option<V>, value: Option<V>) -> Option<()> {
    *field = value;
    field.is_some().then_some(())
}

fn timestamp(text: &str) -> Option<Timestamp> {
    text.parse().ok().map(Timestamp::from_millis)
}

/// A user to create.
pub struct NewUser {
    /// A freshly issued id.
    pub id: UserId,
    /// The username, already reserved for this id.
    pub username: Username,
    /// The validated display name.
    pub display_name: DisplayName,
    /// The validated bio.
    pub bio: Bio,
    /// Time of the user's creation.
    pub created_at: Timestamp,
    /// The password hash. Without it, the user cannot sign in with a password.
    pub password: Option<PasswordHash>,
    /// The subject of an existing application that signs in as the user, if any.
    pub subject: Option<Subject>,
    /// The initial session, if any.
    pub session: Option<StoredSession>,
}

/// Creates a user atomically. Returns false, without any effect, if the id was revoked or is in use; the
/// caller must then use another id.
pub fn create(keys: &Keys, user: &NewUser) -> Command<bool> {
    let created_at = user.created_at.as_millis().to_string();
    let record = [
        (USERNAME, user.username.as_str()),
        (DISPLAY_NAME, user.display_name.as_str()),
        (BIO, user.bio.as_str()),
        (CREATED_AT, &created_at),
    ];
    let mut create = call(&script::CREATE_USER)
        .key(&keys.user(user.id))
        .key(&keys.void(user.id))
        .key(&keys.secret(user.id))
        .key(&keys.sessions(user.id))
        .arg(record.len() * 2)
        .args(record.into_iter().flat_map(|(name, value)| [name, value]))
        .arg(user.password.as_ref().map_or("", PasswordHash::expose))
        .arg(user.subject.map_or(String::new(), |subject| subject.to_string()));
    if let Some(session) = &user.session {
        create = create.arg(session.field()).arg(session.value());
    }
    create.reply()
}

/// Revokes the id of a user who does not exist, so that no late writer creates the user. Returns true if the
/// user exists.
pub fn revoke_unless_exists(keys: &Keys, user: UserId, now: Timestamp) -> Command<bool> {
    let revoke = call(&script::REVOKE_USER).key(&keys.user(user)).key(&keys.void(user));
    revoke.arg(now.as_millis()).arg(REVOKED_MILLIS).reply()
}

/// Writes the fields in `change` to a user's record; `None` if `change` contains no fields. The user must
/// exist.
#[must_use]
pub fn change_profile(keys: &Keys, user: UserId, change: &ProfileChange) -> Option<Command<i64>> {
    let display_name = change.display_name.as_ref().map(|name| (DISPLAY_NAME, name.as_str()));
    let bio = change.bio.as_ref().map(|bio| (BIO, bio.as_str()));
    let avatar_url = change.avatar_url.as_ref().map(|url| (AVATAR_URL, url.as_str()));
    let is_private = change.is_private.map(|is_private| (PRIVATE, if is_private { "1" } else { "0" }));
    let mut fields = display_name.into_iter().chain(bio).chain(avatar_url).chain(is_private).peekable();
    fields.peek()?;
    let write = command("HSET").key(&keys.user(user));
    Some(write.args(fields.flat_map(|(name, value)| [name, value])).reply())
}

/// Reads up to `most` of the users who have requested to follow a user, oldest request first; `None` if the user's
/// account is private, so that requests wait for approval.
pub fn requests_to_public(keys: &Keys, user: UserId, most: usize) -> Command<Option<Vec<UserId>>> {
    let read = call(&script::REQUESTS_TO_PUBLIC).key(&keys.user(user)).key(&keys.requests(user)).arg(most);
    read.reply::<Option<Vec<u64>>>()
        .map(|users| Ok(users.map(|users| users.into_iter().filter_map(UserId::new).collect())))
}

/// Reads a user's password hash; `None` if the user has no password or does not exist.
pub fn password(keys: &Keys, user: UserId) -> Command<Option<PasswordHash>> {
    let read = command("HGET").key(&keys.secret(user)).arg("password");
    read.reply::<Option<String>>().map(|hash| Ok(hash.map(PasswordHash::from_phc)))
}

/// Reads the subject that signs in as a user; `None` if there is none, or the user does not exist.
pub fn subject(keys: &Keys, user: UserId) -> Command<Option<Subject>> {
    let read = command("HGET").key(&keys.secret(user)).arg("subject").reply::<Option<String>>();
    read.map(|text| text.map(|text| parse_subject(&text)).transpose())
}

/// Parses a subject as a user's secret has it.
pub(super) fn parse_subject(text: &str) -> Result<Subject, Error> {
    Subject::parse(text).ok_or_else(|| Error::corrupt(format!("{text:?} is not a subject")))
}

/// Sets a user's password, whether or not their account is active, ends all of their sessions, and revokes their
/// recovery code. Returns false if there is no such user.
pub fn set_password(keys: &Keys, user: UserId, new: &PasswordHash) -> Command<bool> {
    let set = call(&script::SET_PASSWORD).key(&keys.user(user)).key(&keys.secret(user));
    set.key(&keys.sessions(user)).key(&keys.recovery(user)).arg(new.expose()).reply()
}

/// Replaces a user's password hash by another hash of the same password, if it is still `verified`. Returns true if the
/// user has the new hash now.
pub fn renew_hash(keys: &Keys, user: UserId, verified: &PasswordHash, new: &PasswordHash) -> Command<bool> {
    let renew = call(&script::RENEW_HASH).key(&keys.secret(user));
    renew.arg(verified.expose()).arg(new.expose()).reply()
}

/// The outcome of a password change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PasswordChange {
    /// The password was changed.
    Made,
    /// The password has changed since it was verified.
    Outdated,
    /// The requesting session has ended.
    SessionEnded,
}

/// Changes the password if its hash is still `verified`. The session with token hash `from` continues
/// under token hash `to`; all other sessions end, and a moderator's recovery code is revoked.
pub fn change_password(
    keys: &Keys,
    user: UserId,
    verified: &PasswordHash,
    new: &PasswordHash,
    from: &TokenHash,
    to: &TokenHash,
) -> Command<PasswordChange> {
    let change = call(&script::CHANGE_PASSWORD).key(&keys.secret(user)).key(&keys.sessions(user));
    let change = change.key(&keys.recovery(user)).arg(verified.expose()).arg(new.expose());
    let change = change.arg(from.as_bytes()).arg(to.as_bytes());
    change.reply::<i64>().map(|made| match made {
        1 => Ok(PasswordChange::Made),
        0 => Ok(PasswordChange::Outdated),
        -1 => Ok(PasswordChange::SessionEnded),
        other => Err(Error::corrupt(format!("unexpected result of a password change: {other}"))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_of_a_record_is_read() {
        let read = FIELDS.iter().fold(UserFields::NONE, |all, (field, ..)| all | *field);
        assert_eq!(read, UserFields::RECORD);
        for (field, name, read) in FIELDS {
            let mut user = User::new(UserId::new(1).unwrap(), "ada".to_owned());
            assert_eq!((read(&mut user, Some("1")), user.fields()), (Some(()), *field), "{name}");
        }
    }
}
