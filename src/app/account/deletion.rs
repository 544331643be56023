//! Deletion of accounts, which can be cancelled for some days.
//!
//! Not here: what happens after these days (`app::account::erase`).

use std::time::Duration;

use crate::app::App;
use crate::app::deadline::ABANDONED_AFTER;
use crate::app::error::{Error, Rejection};
use crate::app::viewer::Viewer;
use crate::model::account::Inactivity;
use crate::model::address::Address;
use crate::model::clock::Timestamp;
use crate::model::id::UserId;
use crate::store::account::Job;

impl App {
    /// Returns the time for which the deletion of an account can be cancelled.
    #[must_use]
    pub fn deletion_grace(&self) -> Duration {
        self.0.rules.account.deletion_grace()
    }

    /// Deletes the viewer's account: ends its sessions, and hides it from everyone. Returns the time at which it will
    /// be erased; until then, signing in with the password cancels the deletion. Fails if the password is wrong. Makes
    /// as many round trips as [`App::confirm_password`] and [`App::deactivate`].
    pub async fn delete_account(
        &self,
        viewer: &Viewer,
        password: Option<&str>,
        from: Option<Address>,
    ) -> Result<Timestamp, Error> {
        let user = viewer.signed_in()?.user;
        self.confirm_password(viewer, password, from).await?;
        let at = self.now().plus(self.deletion_grace());
        match self.schedule_erasure(user, at).await? {
            Some(at) => Ok(at),
            // The account was erased a moment ago.
            None => Err(Error::Rejected(Rejection::BadToken)),
        }
    }

    /// Hides an account from everyone, and erases it at this time, or a minute from now if that is later, when no
    /// writer that began before writes any more. An account that is to be erased earlier keeps the time. Returns the
    /// time given; `None` if there is no such user.
    pub(in crate::app) async fn schedule_erasure(
        &self,
        user: UserId,
        at: Timestamp,
    ) -> Result<Option<Timestamp>, Error> {
        let at = at.max(self.now().plus(ABANDONED_AFTER));
        let job = Job { user, token: self.rng().nonce() };
        self.schedule_job(job, at).await?;
        if self.deactivate(user, Inactivity::Deletion, at).await? {
            return Ok(Some(at));
        }
        self.end_job(job).await?;
        Ok(None)
    }

    /// Cancels the deletion of an account. Makes as many round trips as [`App::deactivate`].
    pub(in crate::app) async fn cancel_deletion(&self, user: UserId) -> Result<(), Error> {
        self.reactivate(user, Inactivity::Deletion).await.map(drop)
    }
}
