//! What moderators do: suspend, unsuspend and delete accounts, end sessions, remove posts, invite users ([`invite`]),
//! and resolve reports ([`report`]). Only the operator sets passwords.
//!
//! A moderator is a user to whom the operator has granted this, or the operator. Each action begins with an entry in
//! the log of the moderators ([`log`]), so that no action lacks one. An action that fails afterwards is in the log as
//! well.
//!
//! Not here: what follows from the state of an account (`app::account`), and recovery codes (`app::recovery`).

pub mod invite;
mod log;
pub mod read;
pub mod report;

use std::time::Duration;

use crate::app::App;
use crate::app::error::{Error, Faults, Field, Reason, Rejection};
use crate::app::throttle::source_of;
use crate::app::viewer::Viewer;
use crate::archive::post::Row;
use crate::model::account::{Account, Inactivity};
use crate::model::id::{PostId, UserId};
use crate::model::moderation::{Action, ActionNote, Objects};
use crate::model::moderator::Moderator;
use crate::model::secret::Password;
use crate::store::batch::Batch;
use crate::store::post::{self, Record};
use crate::store::recovery::{self, Issuers};
use crate::store::{account, session, user};

/// Parses a moderator's note on an action; without one, returns an empty note.
pub fn note(text: Option<&str>) -> Result<ActionNote, Error> {
    let mut faults = Faults::default();
    let note = faults.check(Field::Note, ActionNote::parse(text.unwrap_or_default()));
    note.ok_or_else(|| faults.into_error())
}

impl App {
    /// Returns the viewer as a moderator. Fails with [`Rejection::Forbidden`] if the viewer does not moderate. Makes
    /// one round trip: the rights of a moderator end at once.
    pub async fn moderator(&self, viewer: &Viewer) -> Result<Moderator, Error> {
        let user = viewer.signed_in()?.user;
        match self.account(user).await? {
            Some(account) if read::moderates(&account) => Ok(Moderator::User(user)),
            _ => Err(Error::Rejected(Rejection::Forbidden)),
        }
    }

    /// Makes a user a moderator, or ends that. Only the operator can do this. Idempotent. Revokes recovery codes: those
    /// that the user has issued, if the rights end; one that another moderator has issued for the user, if they begin.
    pub async fn set_moderator(
        &self,
        moderator: &Moderator,
        user: UserId,
        is_moderator: bool,
    ) -> Result<(), Error> {
        if moderator.user().is_some() {
            return Err(Error::Rejected(Rejection::Forbidden));
        }
        self.account(user).await?.ok_or_else(no_such_user)?;
        let action = if is_moderator { Action::AddModerator } else { Action::RemoveModerator };
        self.log(moderator, action, Objects::user(user), ActionNote::default()).await?;
        if !is_moderator {
            return self.end_rights(user).await;
        }
        let mut batch = Batch::new("moderator: set");
        let set = batch.push(account::set_moderator(self.keys(), user, true));
        let revoked = batch.push(recovery::revoke(self.keys(), user, Issuers::Moderators));
        let mut replies = batch.send(self.store()).await?;
        replies.take(set)?;
        replies.take(revoked)?;
        Ok(())
    }

    /// Suspends a user: no one sees the user and their posts, and all their sessions end. Idempotent.
    pub async fn suspend_user(
        &self,
        moderator: &Moderator,
        user: UserId,
        note: ActionNote,
    ) -> Result<(), Error> {
        self.begin_action(moderator, Action::SuspendUser, user, note).await?;
        if self.deactivate(user, Inactivity::Suspended, self.now()).await? {
            Ok(())
        } else {
            Err(no_such_user())
        }
    }

    /// Unsuspends a user: they and their posts are visible again, and they can sign in. Idempotent.
    pub async fn unsuspend_user(
        &self,
        moderator: &Moderator,
        user: UserId,
        note: ActionNote,
    ) -> Result<(), Error> {
        self.begin_action(moderator, Action::UnsuspendUser, user, note).await?;
        self.reactivate(user, Inactivity::Suspended).await.map(drop)
    }

    /// Deletes a user: suspends them, and erases the account after `grace`, and at the earliest in a minute. Until
    /// then, a moderator can cancel the deletion. Idempotent; the earlier of two times stays.
    pub async fn delete_user(
        &self,
        moderator: &Moderator,
        user: UserId,
        note: ActionNote,
        grace: Duration,
    ) -> Result<(), Error> {
        self.begin_action(moderator, Action::DeleteUser, user, note).await?;
        // A user who is not suspended could cancel the deletion.
        let is_suspended = self.deactivate(user, Inactivity::Suspended, self.now()).await?;
        let scheduled = self.schedule_erasure(user, self.now().plus(grace)).await?;
        if is_suspended && scheduled.is_some() { Ok(()) } else { Err(no_such_user()) }
    }

    /// Cancels the deletion of a user, by a moderator or by the user. The user stays suspended if they are. Idempotent.
    pub async fn cancel_user_deletion(
        &self,
        moderator: &Moderator,
        user: UserId,
        note: ActionNote,
    ) -> Result<(), Error> {
        self.begin_action(moderator, Action::CancelDeletion, user, note).await?;
        self.cancel_deletion(user).await?;
        if self.account(user).await?.ok_or_else(no_such_user)?.deletion_at.is_none() {
            return Ok(());
        }
        let message = "This account is being erased, which cannot be cancelled.";
        Err(Error::rule(Reason::NotFound, Field::UserId, message))
    }

    /// Ends all sessions of a user.
    pub async fn end_sessions(&self, moderator: &Moderator, user: UserId) -> Result<(), Error> {
        self.begin_action(moderator, Action::EndSessions, user, ActionNote::default()).await?;
        let end = session::end_all(self.keys(), user);
        self.write_sessions(user, "moderator: end sessions", end).await?;
        self.store().persist().await;
        Ok(())
    }

    /// Sets the password of a user, ends all their sessions, and revokes their recovery code. Only the operator can do
    /// this.
    pub async fn set_password(
        &self,
        moderator: &Moderator,
        user: UserId,
        password: &str,
    ) -> Result<(), Error> {
        if moderator.user().is_some() {
            return Err(Error::Rejected(Rejection::Forbidden));
        }
        let mut faults = Faults::default();
        let Some(password) = faults.check(Field::NewPassword, Password::choose(password)) else {
            return Err(faults.into_error());
        };
        self.account(user).await?.ok_or_else(no_such_user)?;
        let slot = self.0.passwords.enter(source_of(user, None)).await?;
        let hash = slot.hash(password).await?;
        drop(slot);
        self.log(moderator, Action::SetPassword, Objects::user(user), ActionNote::default()).await?;
        let set = user::set_password(self.keys(), user, &hash);
        let is_set = self.write_sessions(user, "moderator: set password", set).await?;
        self.store().persist().await;
        if is_set { Ok(()) } else { Err(no_such_user()) }
    }

    /// Deletes a post, permanently. A moderator can remove their own posts and those of users who are not moderators.
    /// The operator can remove all. Idempotent. Makes as many round trips as [`App::delete_post`], plus three.
    pub async fn remove_post(
        &self,
        moderator: &Moderator,
        id: PostId,
        note: ActionNote,
    ) -> Result<(), Error> {
        let missing = || Error::rule(Reason::NotFound, Field::PostId, "This post does not exist.");
        let author = self.author_of(id).await?.ok_or_else(missing)?;
        self.check_removable(moderator, author).await?;
        let objects = Objects { post: Some(id), ..Objects::user(author) };
        self.log(moderator, Action::RemovePost, objects, note).await?;
        if self.delete_own(author, id).await? { Ok(()) } else { Err(missing()) }
    }

    /// Returns the author of a post, deleted or not; `None` if there is no such post.
    async fn author_of(&self, id: PostId) -> Result<Option<UserId>, Error> {
        Ok(match post::read(self.keys(), id).send("moderator: post", self.store()).await? {
            Record::Live(post) => Some(post.author),
            Record::Tombstone { author, .. } => Some(author),
            Record::Revoked { .. } => None,
            Record::Missing => self.archive().await?.read(&[id]).await?.pop().as_ref().map(Row::author),
        })
    }

    /// Fails if a moderator cannot remove an author's posts, because the author is another moderator. Moderators are
    /// equals, and what one of them removes is not kept for the other or for the operator to restore.
    async fn check_removable(&self, moderator: &Moderator, author: UserId) -> Result<(), Error> {
        if moderator.user().is_none_or(|oneself| oneself == author) {
            return Ok(());
        }
        if self.account(author).await?.is_some_and(|account| account.is_moderator) {
            let message = "The author is a moderator. Only the operator of the server can do this.";
            return Err(Error::rule(Reason::Moderator, Field::PostId, message));
        }
        Ok(())
    }

    /// Checks that a moderator can change an account, and records the action that they are about to take.
    async fn begin_action(
        &self,
        moderator: &Moderator,
        action: Action,
        user: UserId,
        note: ActionNote,
    ) -> Result<(), Error> {
        let account = self.account(user).await?.ok_or_else(no_such_user)?;
        check_changeable(*moderator, &account)?;
        self.log(moderator, action, Objects::user(user), note).await
    }
}

/// Fails if only the operator can change an account, because it is the moderator's own or another moderator's.
pub(super) fn check_changeable(moderator: Moderator, account: &Account) -> Result<(), Error> {
    match moderator.user() {
        Some(oneself) if oneself == account.user => {
            let message = "You cannot do this to your own account.";
            Err(Error::rule(Reason::Oneself, Field::UserId, message))
        }
        Some(_) if account.is_moderator => {
            let message = "This user is a moderator. Only the operator of the server can do this.";
            Err(Error::rule(Reason::Moderator, Field::UserId, message))
        }
        _ => Ok(()),
    }
}

pub(super) fn no_such_user() -> Error {
    Error::rule(Reason::NotFound, Field::UserId, "This user does not exist.")
}
