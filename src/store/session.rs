//! Storage of sessions: one hash per user, which maps the SHA-256 of a session token to the session.
//!
//! A value is `id ⇥ created ⇥ seen ⇥ expires ⇥ label`, with times in milliseconds. A user has at most about a
//! hundred sessions (`app::session`), so reading the whole hash is cheap enough. The hash also has the version of the
//! user's exclusions (`store::exclusion`).

use redis::{FromRedisValue, ParsingError, Value};

use crate::model::clock::Timestamp;
use crate::model::exclusion::Version;
use crate::model::id::UserId;
use crate::model::secret::{PasswordHash, TokenHash};
use crate::model::session::{Label, Session, SessionId};
use crate::store::bucket::{self, Limit, Taken};
use crate::store::command::{Command, call, command};
use crate::store::exclusion::VERSION;
use crate::store::key::Keys;
use crate::store::script;

/// A session together with the hash of its token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredSession {
    /// Hash of the session token.
    pub token: TokenHash,
    /// The session itself.
    pub session: Session,
}

impl StoredSession {
    pub(super) fn field(&self) -> &[u8] {
        self.token.as_bytes()
    }

    pub(super) fn value(&self) -> String {
        value(&self.session)
    }
}

fn value(session: &Session) -> String {
    let Session { id, created_at, last_seen_at, expires_at, label } = session;
    let [created, seen, expires] = [created_at, last_seen_at, expires_at].map(|time| time.as_millis());
    format!("{id}\t{created}\t{seen}\t{expires}\t{}", label.as_str())
}

impl FromRedisValue for Session {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        let text = String::from_redis_value(value)?;
        parse(&text).ok_or_else(|| ParsingError::from(format!("{text:?} is not a session")))
    }
}

fn parse(text: &str) -> Option<Session> {
    let mut parts = text.splitn(5, '\t');
    let id = SessionId::parse(parts.next()?)?;
    let mut time = || parts.next()?.parse().ok().map(Timestamp::from_millis);
    let (created_at, last_seen_at, expires_at) = (time()?, time()?, time()?);
    let label = Label::of_stored(parts.next()?);
    Some(Session { id, created_at, last_seen_at, expires_at, label })
}

/// A token's session, expired or not, and the version of the user's exclusions.
#[derive(Clone, Debug)]
pub struct Authentication {
    /// The token's session.
    pub session: Session,
    /// The version of the user's exclusions; `None` if the user has never had any.
    pub exclusions: Option<Version>,
}

/// Reads a token's session; `None` if there is no such session.
pub fn read(keys: &Keys, user: UserId, token: &TokenHash) -> Command<Option<Authentication>> {
    let read = command("HMGET").key(&keys.sessions(user)).arg(token.as_bytes()).arg(VERSION);
    read.reply::<(Option<Session>, Option<Version>)>()
        .map(|(session, exclusions)| Ok(session.map(|session| Authentication { session, exclusions })))
}

/// Reads the session of a session token, and takes `amount` tokens from the bucket that limits the user's
/// query cost. Takes none if the session does not exist or has expired. Fails with
/// [`Error::is_divided`](crate::store::error::Error::is_divided) while the two keys are at two masters of a cluster.
pub fn read_and_take(
    keys: &Keys,
    user: UserId,
    token: &TokenHash,
    limit: Limit,
    amount: u32,
    now: Timestamp,
) -> Command<Option<(Authentication, Taken)>> {
    let read = call(&script::AUTHENTICATE).key(&keys.sessions(user)).key(&keys.cost_of(user));
    let read = bucket::taking(read.arg(token.as_bytes()).arg(now.as_millis()), limit, amount);
    let read = read.reply::<(Option<Session>, Option<Version>, u64, u64)>().failing_if_divided();
    read.map(move |(session, exclusions, wait, full)| {
        Ok(session.map(|session| (Authentication { session, exclusions }, Taken::read(limit, wait, full))))
    })
}

/// Reads all of a user's sessions with their token hashes, expired or not, in no particular order.
pub fn read_all(keys: &Keys, user: UserId) -> Command<Vec<(Vec<u8>, Session)>> {
    let all = command("HGETALL").key(&keys.sessions(user)).reply::<Vec<(Vec<u8>, Value)>>();
    all.map(|fields| {
        let sessions = fields.into_iter().filter(|(field, _)| field != VERSION.as_bytes());
        sessions.map(|(token, value)| Ok((token, Session::from_redis_value(value)?))).collect()
    })
}

/// Sessions to end when another session is opened.
pub enum Ending {
    /// All other sessions.
    All,
    /// The sessions with these token hashes.
    These(Vec<Vec<u8>>),
}

/// The outcome of opening a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenOutcome {
    /// The session is open. Has the version of the user's exclusions; `None` if the user has never had any.
    Open(Option<Version>),
    /// The password has changed since it was verified.
    PasswordChanged,
    /// The account is suspended.
    Suspended,
    /// The user has deleted the account, and may still cancel that.
    Deletion,
    /// The account is being erased.
    Erasing,
}

impl FromRedisValue for OpenOutcome {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        let (outcome, version): (String, Option<Version>) = FromRedisValue::from_redis_value(value)?;
        Ok(match outcome.as_str() {
            "open" => Self::Open(version),
            "changed" => Self::PasswordChanged,
            "suspended" => Self::Suspended,
            "deletion" => Self::Deletion,
            "erasing" => Self::Erasing,
            _ => {
                return Err(ParsingError::from(format!(
                    "{outcome:?} is not the outcome of opening a session"
                )));
            }
        })
    }
}

/// Opens a session if the account is active and the password hash is still `verified`. A moderator's recovery code is
/// revoked then.
pub fn open(
    keys: &Keys,
    user: UserId,
    verified: &PasswordHash,
    session: &StoredSession,
    ending: &Ending,
) -> Command<OpenOutcome> {
    let open = call(&script::OPEN_SESSION)
        .key(&keys.secret(user))
        .key(&keys.sessions(user))
        .key(&keys.user(user))
        .key(&keys.recovery(user))
        .arg(verified.expose())
        .arg(session.field())
        .arg(session.value());
    match ending {
        Ending::All => open.arg("1"),
        Ending::These(tokens) => open.arg("0").args(tokens.iter()),
    }
    .reply()
}

/// Updates a session's last-seen and expiry times, unless the session was ended or touched since the caller
/// read it as `before`.
pub fn touch(keys: &Keys, user: UserId, before: &StoredSession, after: &Session) -> Command<bool> {
    let touch = call(&script::TOUCH_SESSION).key(&keys.sessions(user));
    touch.arg(before.field()).arg(before.value()).arg(value(after)).reply()
}

/// Ends a token's session. Returns the number of sessions ended.
pub fn end(keys: &Keys, user: UserId, token: &[u8]) -> Command<i64> {
    call(&script::END_SESSIONS).key(&keys.sessions(user)).arg(token).reply()
}

/// Ends all of a user's sessions. Returns the number of sessions ended.
pub fn end_all(keys: &Keys, user: UserId) -> Command<i64> {
    call(&script::END_SESSIONS).key(&keys.sessions(user)).arg("").reply()
}

/// Ends the session with this id. Returns false if there is no such session.
pub fn revoke(keys: &Keys, user: UserId, session: SessionId) -> Command<bool> {
    call(&script::REVOKE_SESSION).key(&keys.sessions(user)).arg(format!("{session}\t")).reply()
}
