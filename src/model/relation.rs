//! Relations between two users, and the lists derived from them.
//!
//! Not here: how a relation is stored (`store::relation`) or changed (`app::relation`).

use crate::model::clock::Timestamp;
use crate::model::id::UserId;

/// The relation between a viewer and another user: the two possible follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Relation {
    /// Time at which the viewer followed the other user.
    pub following_since: Option<Timestamp>,
    /// Time at which the other user followed the viewer.
    pub follower_since: Option<Timestamp>,
}

/// The four states of a relation, as seen by the viewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// Neither follows the other.
    None,
    /// The viewer follows the other, who does not follow back.
    Following,
    /// The other follows the viewer, who does not follow back.
    Follower,
    /// Each follows the other.
    Mutual,
}

impl Relation {
    /// Returns the state of the relation.
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

/// An entry of a list of users: the user, and the time of the follow that created the entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Follow {
    /// The listed user.
    pub user: UserId,
    /// The time of the follow.
    pub at: Timestamp,
}

/// One of the two lists stored for each user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// The users that the user follows: the source of truth of each edge.
    Following,
    /// The followers of the user: the mirror.
    Followers,
}

/// The kinds of user lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ListKind {
    /// The owner's followers.
    Followers,
    /// The users that the owner follows.
    Following,
    /// The users that the owner follows and who follow back.
    Mutuals,
    /// The owner's followers that the viewer follows.
    KnownFollowers,
}
