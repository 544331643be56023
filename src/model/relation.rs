//! Relations between two users, and the lists derived from them.
//!
//! Not here: storage of relations (`store::relation`) and changes to them (`app::relation`).

use crate::model::clock::Timestamp;
use crate::model::id::UserId;

/// The relation between a viewer and another user: the two possible follows, the requests to follow, and the viewer's
/// block and mute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Relation {
    /// Time at which the viewer followed the other user; `None` if the viewer does not follow them.
    pub following_since: Option<Timestamp>,
    /// Time at which the other user followed the viewer; `None` if they do not follow the viewer.
    pub follower_since: Option<Timestamp>,
    /// Time at which the viewer requested to follow the other user; `None` if no request is pending.
    pub requested_since: Option<Timestamp>,
    /// Time at which the other user requested to follow the viewer; `None` if no request is pending, or if it was not
    /// read.
    pub requester_since: Option<Timestamp>,
    /// Time at which the viewer blocked the other user; `None` if the viewer does not block them.
    pub blocked_since: Option<Timestamp>,
    /// The viewer's mute of the other user; `None` if there is none, or if it has ended.
    pub mute: Option<Mute>,
}

/// The four states of a relation, as seen by the viewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// Neither user follows the other.
    None,
    /// The viewer follows the other user, who does not follow back.
    Following,
    /// The other user follows the viewer, who does not follow back.
    Follower,
    /// The viewer and the other user follow each other.
    Mutual,
}

impl Relation {
    /// Returns the time of the viewer's mute.
    #[must_use]
    pub fn muted_since(&self) -> Option<Timestamp> {
        self.mute.map(|mute| mute.since)
    }

    /// Returns the time at which the viewer's mute ends.
    #[must_use]
    pub fn muted_until(&self) -> Option<Timestamp> {
        self.mute?.until
    }

    /// Returns true if the other user's posts belong in the viewer's home timeline.
    #[must_use]
    pub fn is_in_timeline(&self) -> bool {
        self.following_since.is_some() && !self.hides_posts()
    }

    /// Returns true if the viewer has muted the other user's posts.
    #[must_use]
    pub fn hides_posts(&self) -> bool {
        self.mute.is_some_and(|mute| mute.scope == MuteScope::All)
    }

    /// Returns true if the viewer has muted the other user's reposts. Each mute hides these.
    #[must_use]
    pub fn hides_reposts(&self) -> bool {
        self.mute.is_some()
    }

    /// Returns the relation's status.
    #[must_use]
    pub fn status(&self) -> Status {
        match (self.following_since, self.follower_since) {
            (None, None) => Status::None,
            (Some(_), None) => Status::Following,
            (None, Some(_)) => Status::Follower,
            (Some(_), Some(_)) => Status::Mutual,
        }
    }
}

/// What a mute hides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MuteScope {
    /// All posts of the user.
    All,
    /// The user's reposts.
    Reposts,
}

/// A viewer's mute of another user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mute {
    /// Time of the mute. Muting the user again does not change it.
    pub since: Timestamp,
    /// Time at which the mute ends; `None` if it has no end.
    pub until: Option<Timestamp>,
    /// What the mute hides.
    pub scope: MuteScope,
}

impl Mute {
    /// Returns true if the mute has not ended.
    #[must_use]
    pub fn is_active(&self, now: Timestamp) -> bool {
        self.until.is_none_or(|until| until > now)
    }
}

/// The state of a user's follow of another: none, a follow, or a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FollowState {
    /// The user does not follow the other, and has not requested to.
    None,
    /// The user has followed the other since this time.
    Following(Timestamp),
    /// The user has requested to follow the other, at this time.
    Requested(Timestamp),
}

/// An entry of a user list: the listed user, and the time at which the user entered the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Follow {
    /// Id of the listed user.
    pub user: UserId,
    /// Time of the follow, request or block.
    pub at: Timestamp,
}

/// One of the lists stored for each user. Each edge is in a list of its actor, which is the source of truth, and in a
/// list of the other user, which is the mirror.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// The users whom the owner follows: the source of truth.
    Following,
    /// The owner's followers: the mirror.
    Followers,
    /// The users whom the owner has requested to follow: the source of truth.
    Requesting,
    /// The users who have requested to follow the owner: the mirror.
    Requests,
}

impl Side {
    /// Returns true if the list is the source of truth for its edges.
    #[must_use]
    pub fn is_truth(self) -> bool {
        matches!(self, Self::Following | Self::Requesting)
    }
}

/// The kinds of user lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ListKind {
    /// The owner's followers.
    Followers,
    /// The users whom the owner follows.
    Following,
    /// The users whom the owner follows and who follow back.
    Mutuals,
    /// The owner's followers whom the viewer follows.
    KnownFollowers,
}
