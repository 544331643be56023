//! What moderators do: suspend accounts and lift that, and invite users ([`invite`]).
//!
//! Not here: what follows from the state of an account (`app::account`).

pub mod invite;

use crate::app::App;
use crate::app::error::{Error, Field, Reason};
use crate::model::account::Inactivity;
use crate::model::id::UserId;

impl App {
    /// Suspends a user: no one sees the user and their posts, and all their sessions end. Idempotent.
    pub async fn suspend_user(&self, user: UserId) -> Result<(), Error> {
        if self.deactivate(user, Inactivity::Suspended, self.now()).await? {
            Ok(())
        } else {
            Err(no_such_user())
        }
    }

    /// Lifts the suspension of a user. Idempotent.
    pub async fn lift_suspension(&self, user: UserId) -> Result<(), Error> {
        self.reactivate(user, Inactivity::Suspended).await.map(drop)
    }
}

fn no_such_user() -> Error {
    Error::rule(Reason::NotFound, Field::UserId, "This user does not exist.")
}
