//! Storage of follows and requests to follow: the state of each in the slot of the user who follows, and its mirror in
//! the slot of the user who is followed.
//!
//! A user follows another, has requested to, or neither. The state is one value, in two sorted sets of which at most
//! one contains the other user, so that no interruption leaves a user who both follows and requests to. While the
//! other's account is inactive, the follow is *withheld*: it is in a set of its own, which no one lists.
//!
//! Not here: the lists themselves (`store::relation`), the order of writes to the two slots (`app::edge`).

use std::time::Duration;

use redis::{FromRedisValue, ParsingError, Value};

use crate::model::clock::Timestamp;
use crate::model::exclusion::Version;
use crate::model::id::UserId;
use crate::model::relation::FollowState;
use crate::store::bucket::{self, Limit, Throttled};
use crate::store::command::{Builder, Command, call, command};
use crate::store::compact;
use crate::store::key::Keys;
use crate::store::script;
use crate::store::timeline::with_timeline;
use crate::store::tree::{GENERATIONS, ROOM};

/// Maximum number of follows that one command writes, each with [`GENERATIONS`] keys.
pub const MOST: usize = compact::PROBE;

/// A follow as it is stored in the follower's slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredFollow {
    /// The state of the follow.
    pub state: FollowState,
    /// True if the follow is not in the follower's lists, because the account of the followed user is inactive.
    pub is_withheld: bool,
}

impl FromRedisValue for StoredFollow {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        let (state, time, is_withheld): (String, String, bool) = FromRedisValue::from_redis_value(value)?;
        if state.is_empty() {
            return Ok(Self { state: FollowState::None, is_withheld });
        }
        let millis = time.parse().map_err(|_| ParsingError::from(format!("{time:?} is not a time")))?;
        let at = Timestamp::from_millis(millis);
        let state = match state.as_str() {
            "following" => FollowState::Following(at),
            "requested" => FollowState::Requested(at),
            _ => return Err(ParsingError::from(format!("{state:?} is not the state of a follow"))),
        };
        Ok(Self { state, is_withheld })
    }
}

/// The account of a followed user, which determines if a follow is requested, withheld or ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Followee {
    /// Anyone may follow the user.
    Public,
    /// Followers need the user's approval.
    Private,
    /// No one sees the user.
    Inactive,
    /// The user has been deleted.
    Deleted,
}

impl FromRedisValue for Followee {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        let name = String::from_redis_value(value)?;
        Ok(match name.as_str() {
            "public" => Self::Public,
            "private" => Self::Private,
            "inactive" => Self::Inactive,
            "deleted" => Self::Deleted,
            _ => return Err(ParsingError::from(format!("{name:?} is not the state of an account"))),
        })
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
    /// The user has followed the other too often.
    Throttled(Throttled),
}

impl Followed {
    /// Returns the state after the follow; `None` if the follow was rejected.
    #[must_use]
    pub fn state(self) -> Option<FollowState> {
        match self {
            Self::Added(state) | Self::Already(state) => Some(state),
            Self::AtLimit | Self::Blocking | Self::Blocked | Self::Throttled(_) => None,
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
            "throttled" => {
                let wait = time.parse().map_err(|_| ParsingError::from(format!("{time:?} is not a time")))?;
                Self::Throttled(Throttled(Duration::from_micros(wait)))
            }
            _ => return Err(ParsingError::from(format!("{result:?} is not the outcome of a follow"))),
        })
    }
}

/// Writes the source of truth for a user's follows, in order, until the user follows, or has requested to follow,
/// `limit` users. Each new follow or request takes a token from the bucket of the two users, if `throttle` is given.
/// Returns the outcomes, and the version of the user's exclusions after the writes.
///
/// # Panics
/// If there are more than [`MOST`].
pub fn write(
    keys: &Keys,
    follower: UserId,
    follows: &[NewFollow],
    limit: u32,
    throttle: Option<(Limit, Timestamp)>,
) -> Command<(Vec<Followed>, Option<Version>)> {
    assert!(follows.len() <= MOST, "a command writes {MOST} follows at most");
    let write = with_follows(call(&script::FOLLOW), keys, follower).key(&keys.blocking(follower));
    let others = follows.iter().map(|follow| follow.followee);
    let write = compact::with_keys(&keys.blockers(follower), write, others.clone());
    let write = others.fold(write, |write, other| write.key(&keys.changes_of(follower, other)));
    let write = bucket::throttling(write.arg(limit).arg(GENERATIONS).arg(ROOM), throttle);
    let write = follows.iter().fold(write, |write, NewFollow { followee, at, is_private }| {
        write.arg(followee.get()).arg(at.as_millis()).arg(u8::from(*is_private))
    });
    write.reply()
}

/// A follow after a change, and the version of the follower's exclusions; `None` if the follower has never had any.
pub type Changed = (FollowState, Option<Version>);

/// What ends between two users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// A request to follow, but no follow.
    Request,
    /// A follow, or a request to follow.
    Follow {
        /// True if the end of a follow resets the follower's timeline.
        resets: bool,
    },
}

/// Ends a follow, or a request to follow.
pub fn end(keys: &Keys, follower: UserId, followee: UserId, ended: Ended) -> Command<Changed> {
    let end = with_follows(call(&script::END_FOLLOW), keys, follower);
    let end = end.arg(followee.get()).arg(u8::from(ended == Ended::Request));
    let end = end.arg(u8::from(ended == Ended::Follow { resets: true }));
    end.reply::<(StoredFollow, Option<Version>)>().map(|(follow, version)| Ok((follow.state, version)))
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
    let accept = with_follows(call(&script::ACCEPT_REQUEST), keys, follower);
    let requested = requested.map_or_else(String::new, |at| at.as_millis().to_string());
    let accept = accept.arg(followee.get()).arg(requested).arg(now.as_millis()).reply::<StoredFollow>();
    accept.map(|follow| Ok(follow.state))
}

/// Reads the source of truth for a follow. A follower whose account is inactive follows no one.
pub fn read(keys: &Keys, follower: UserId, followee: UserId) -> Command<StoredFollow> {
    let read = with_follows(call(&script::READ_FOLLOW), keys, follower).key(&keys.user(follower));
    read.arg(followee.get()).reply()
}

/// Records that the next merge of a follow into the follower's timeline resets the timeline.
pub fn await_merge(keys: &Keys, follower: UserId, followee: UserId) -> Command<bool> {
    let call = call(&script::AWAIT_MERGE).key(&keys.timeline(follower)).key(&keys.merging(follower));
    call.arg(followee.get()).reply()
}

/// Withholds a follow, or puts it back into the follower's lists. Returns the state of the follow.
pub fn withhold(keys: &Keys, follower: UserId, followee: UserId, is_withheld: bool) -> Command<FollowState> {
    let withhold = with_follows(call(&script::WITHHOLD_FOLLOW), keys, follower).arg(followee.get());
    withhold.arg(u8::from(is_withheld)).reply::<StoredFollow>().map(|follow| Ok(follow.state))
}

/// Makes the mirror of a follow equal to this state, unless the followed user has been deleted. Returns the account of
/// the followed user.
pub fn mirror(keys: &Keys, follower: UserId, followee: UserId, state: FollowState) -> Command<Followee> {
    let mirror = call(&script::MIRROR_FOLLOW).key(&keys.followers(followee)).key(&keys.requests(followee));
    let mirror = mirror.key(&keys.user(followee)).key(&keys.void(followee));
    mirror.arg(follower.get()).args(print(state)).reply()
}

/// Reads the users whose follows by a user are withheld.
pub fn withheld(keys: &Keys, follower: UserId) -> Command<Vec<UserId>> {
    let read = command("ZRANGE").key(&keys.withheld(follower)).arg(0).arg(-1).reply::<Vec<String>>();
    read.map(|members| {
        let user = |member: &String| member.split_once(':').and_then(|(_, user)| user.parse().ok());
        Ok(members.iter().filter_map(user).collect())
    })
}

/// Adds the keys of a user's follows to the call of a script, and those of the timeline.
pub(super) fn with_follows(call: Builder, keys: &Keys, user: UserId) -> Builder {
    let call = call.key(&keys.following(user)).key(&keys.requesting(user));
    let call = call.key(&keys.withheld(user)).key(&keys.merging(user)).key(&keys.sessions(user));
    with_timeline(call, keys, user)
}
