//! How two users stand to each other, and the lists that follow from it.
//!
//! Not here: how a relation is stored (`store::relation`) or changed (`app::relation`).

use crate::model::clock::Timestamp;
use crate::model::id::UserId;

/// How one user (the viewer) and another stand: the two possible follows between them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Relation {
    /// Since when the viewer follows the other.
    pub following_since: Option<Timestamp>,
    /// Since when the other follows the viewer.
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
    /// Which of the four states this is.
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

/// An entry of a list of users: who, and when the follow that put it there was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Follow {
    /// The listed user.
    pub user: UserId,
    /// The time of the follow.
    pub at: Timestamp,
}

/// Which of the two lists that are kept of every user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// Whom the user follows: the truth of each edge.
    Following,
    /// Who follows the user: its mirror.
    Followers,
}

/// The lists of users that a user has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ListKind {
    /// Who follows the owner.
    Followers,
    /// Whom the owner follows.
    Following,
    /// Whom the owner follows and who follow back.
    Mutuals,
    /// The owner's followers whom the viewer follows.
    KnownFollowers,
}
