//! The state of an account: active, suspended, or about to be deleted.
//!
//! Not here: how the state is stored (`store::account`), and what follows from it (`app::account`).

use crate::model::clock::Timestamp;
use crate::model::id::UserId;

/// A reason for which an account is inactive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Inactivity {
    /// A moderator has suspended the account.
    Suspended,
    /// The user or a moderator has deleted the account, and may still cancel that.
    Deletion,
}

/// The standing of an account: what decides who sees the account's posts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Standing {
    /// An active account whose public posts everyone sees.
    Public,
    /// An active account whose posts only followers see.
    Private,
    /// An account that is inactive or does not exist: no one sees its posts.
    Inactive,
}

/// An account as its record describes it. An account that is inactive for any reason is hidden from everyone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Id of the user.
    pub user: UserId,
    /// Username, which an inactive account keeps.
    pub username: String,
    /// Time of registration.
    pub created_at: Timestamp,
    /// Time of the suspension; `None` if the account is not suspended.
    pub suspended_at: Option<Timestamp>,
    /// Time from which the account may be deleted; `None` if neither the user nor a moderator has deleted it.
    pub deletion_at: Option<Timestamp>,
    /// True once the deletion has begun, so that it cannot be cancelled.
    pub is_being_erased: bool,
    /// True if the user moderates.
    pub is_moderator: bool,
}

impl Account {
    /// Returns true if others see the account.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.suspended_at.is_none() && self.deletion_at.is_none()
    }
}
