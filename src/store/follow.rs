//! Storage of follows and requests to follow: the state of each in the slot of the user who follows, and its mirror in
//! the slot of the user who is followed.
//!
//! A user follows another, has requested to, or neither. The state is one value, in two sorted sets of which at most
//! one contains the other user, so that no interruption leaves a user who both follows and requests to.
//!
//! Not here: the lists themselves (`store::relation`), the order of writes to the two slots (`app::edge`).

use redis::{FromRedisValue, ParsingError, Value};

use crate::model::clock::Timestamp;
use crate::model::exclusion::Version;
use crate::model::id::UserId;
use crate::model::relation::FollowState;
use crate::store::command::{Command, call};
use crate::store::compact::{self, CompactSet};
use crate::store::key::Keys;
use crate::store::script;
use crate::store::tree::{GENERATIONS, ROOM};

/// Maximum number of follows that one command writes, each with [`GENERATIONS`] keys.
pub const MOST: usize = compact::PROBE;

impl FromRedisValue for FollowState {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        let (state, time): (String, String) = FromRedisValue::from_redis_value(value)?;
        if state.is_empty() {
            return Ok(Self::None);
        }
        let millis = time.parse().map_err(|_| ParsingError::from(format!("{time:?} is not a time")))?;
        let at = Timestamp::from_millis(millis);
        match state.as_str() {
            "following" => Ok(Self::Following(at)),
            "requested" => Ok(Self::Requested(at)),
            _ => Err(ParsingError::from(format!("{state:?} is not the state of a follow"))),
        }
    }
}

/// Returns the name of a state and its time, as scripts take them.
fn print(state: FollowState) -> [String; 2] {
    let print = |name: &str, at: Timestamp| [name.to_owned(), at.as_millis().to_string()];
    match state {
        FollowState::None => [String::new(), String::new()],
        FollowState::Following(at) => print("following", at),
        FollowState::Requested(at) => print("requested", at),
    }
}

/// A follow to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewFollow {
    /// The user to follow.
    pub followee: UserId,
    /// Time of the follow, or of the request.
    pub at: Timestamp,
    /// True if the account of the user to follow is private, so that a request is written.
    pub is_private: bool,
}

/// The outcome of a follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Followed {
    /// The follow or the request is new, with this state.
    Added(FollowState),
    /// The follow or the request already existed and keeps its time.
    Already(FollowState),
    /// The user has reached the follow limit.
    AtLimit,
    /// The user blocks the other.
    Blocking,
    /// The other blocks the user.
    Blocked,
}

impl Followed {
    /// Returns the state after the follow; `None` if the follow was rejected.
    #[must_use]
    pub fn state(self) -> Option<FollowState> {
        match self {
            Self::Added(state) | Self::Already(state) => Some(state),
            Self::AtLimit | Self::Blocking | Self::Blocked => None,
        }
    }
}

impl FromRedisValue for Followed {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        let (result, time): (String, String) = FromRedisValue::from_redis_value(value)?;
        let at = || {
            let millis = time.parse().map_err(|_| ParsingError::from(format!("{time:?} is not a time")))?;
            Ok::<_, ParsingError>(Timestamp::from_millis(millis))
        };
        Ok(match result.as_str() {
            "followed" => Self::Added(FollowState::Following(at()?)),
            "requested" => Self::Added(FollowState::Requested(at()?)),
            "following" => Self::Already(FollowState::Following(at()?)),
            "waiting" => Self::Already(FollowState::Requested(at()?)),
            "limit" => Self::AtLimit,
            "blocking" => Self::Blocking,
            "blocked" => Self::Blocked,
            _ => return Err(ParsingError::from(format!("{result:?} is not the outcome of a follow"))),
        })
    }
}

/// Writes the source of truth for a user's follows, in order, until the user follows, or has requested to follow,
/// `limit` users. Returns the outcomes, and the version of the user's exclusions after the writes.
///
/// # Panics
/// If there are more than [`MOST`].
pub fn write(
    keys: &Keys,
    follower: UserId,
    follows: &[NewFollow],
    limit: u32,
) -> Command<(Vec<Followed>, Option<Version>)> {
    assert!(follows.len() <= MOST, "a command writes {MOST} follows at most");
    let write = call(&script::FOLLOW).key(&keys.following(follower)).key(&keys.requesting(follower));
    let write = write.key(&keys.blocking(follower)).key(&keys.sessions(follower));
    let others = follows.iter().map(|follow| follow.followee);
    let write = CompactSet::Blockers(follower).keys(keys, write, others);
    let write = write.arg(limit).arg(GENERATIONS).arg(ROOM);
    let write = follows.iter().fold(write, |write, NewFollow { followee, at, is_private }| {
        write.arg(followee.get()).arg(at.as_millis()).arg(u8::from(*is_private))
    });
    write.reply()
}

/// A follow after a change, and the version of the follower's exclusions; `None` if the follower has never had any.
pub type Changed = (FollowState, Option<Version>);

/// Ends a follow, or a request to follow.
pub fn end(keys: &Keys, follower: UserId, followee: UserId) -> Command<Changed> {
    end_of_kind(keys, follower, followee, false)
}

/// Ends a request to follow, but no follow.
pub fn end_request(keys: &Keys, follower: UserId, followee: UserId) -> Command<Changed> {
    end_of_kind(keys, follower, followee, true)
}

fn end_of_kind(keys: &Keys, follower: UserId, followee: UserId, is_request: bool) -> Command<Changed> {
    let end = call(&script::END_FOLLOW).key(&keys.following(follower)).key(&keys.requesting(follower));
    end.key(&keys.sessions(follower)).arg(followee.get()).arg(u8::from(is_request)).reply()
}

/// Turns a request to follow into a follow made at `now`. If `requested` is given, accepts only the request made then.
/// Returns the state after the change.
pub fn accept(
    keys: &Keys,
    follower: UserId,
    followee: UserId,
    requested: Option<Timestamp>,
    now: Timestamp,
) -> Command<FollowState> {
    let accept = call(&script::ACCEPT_REQUEST).key(&keys.following(follower)).key(&keys.requesting(follower));
    let requested = requested.map_or_else(String::new, |at| at.as_millis().to_string());
    accept.key(&keys.sessions(follower)).arg(followee.get()).arg(requested).arg(now.as_millis()).reply()
}

/// Reads the source of truth for a follow.
pub fn read(keys: &Keys, follower: UserId, followee: UserId) -> Command<FollowState> {
    let read = call(&script::READ_FOLLOW).key(&keys.following(follower)).key(&keys.requesting(follower));
    read.arg(followee.get()).reply()
}

/// Makes the mirror of a follow equal to this state. Returns true if the account of the followed user is private.
pub fn mirror(keys: &Keys, follower: UserId, followee: UserId, state: FollowState) -> Command<bool> {
    let mirror = call(&script::MIRROR_FOLLOW).key(&keys.followers(followee)).key(&keys.requests(followee));
    mirror.key(&keys.user(followee)).arg(follower.get()).args(print(state)).reply()
}
