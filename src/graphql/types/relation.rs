//! A relation as clients see it.

use async_graphql::{Enum, Object};

use crate::graphql::types::scalar::DateTime;
use crate::graphql::types::user::User;
use crate::model;

/// The four ways in which the viewer and another user can stand.
#[derive(Clone, Copy, Enum, PartialEq, Eq)]
#[graphql(remote = "model::relation::Status")]
pub(in crate::graphql) enum RelationStatus {
    /// Neither follows the other.
    None,
    /// The viewer follows the user, who does not follow back.
    Following,
    /// The user follows the viewer, who does not follow back.
    Follower,
    /// Each follows the other.
    Mutual,
}

/// How the viewer and one other user stand.
pub(in crate::graphql) struct Relation {
    user: User,
    relation: model::relation::Relation,
}

impl Relation {
    pub(in crate::graphql) fn new(user: User, relation: model::relation::Relation) -> Self {
        Self { user, relation }
    }
}

/// How the viewer and one other user stand.
#[Object]
impl Relation {
    /// The other user.
    async fn user(&self) -> &User {
        &self.user
    }

    /// Which of the four ways.
    async fn status(&self) -> RelationStatus {
        self.relation.status().into()
    }

    /// Since when the viewer follows the user; null if it does not.
    async fn following_since(&self) -> Option<DateTime> {
        self.relation.following_since.map(DateTime)
    }

    /// Since when the user follows the viewer; null if it does not.
    async fn follower_since(&self) -> Option<DateTime> {
        self.relation.follower_since.map(DateTime)
    }
}
