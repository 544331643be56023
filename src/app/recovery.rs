//! Recovery of accounts whose users have lost their passwords.
//!
//! A moderator issues a code, which is returned once, and hands it to the user outside of Fanfold. The code becomes
//! valid after a delay, so that it cannot take an account over from a user who is there: until then, and while it is
//! valid, the user sees it, and revokes it by signing in, by changing the password, or explicitly. A code of the
//! operator is valid at once, and the user cannot revoke it, so that an account can be recovered from a thief who has
//! the password.
//!
//! All of this is in the slot of the user: one script checks the code, the account and the time, and sets the password.
//! The rights of the moderator are in another slot. To issue a code takes these steps:
//! 1. Tie the moderator and the user, so that an erasure of the user finds the list, and add the user to the
//!    moderator's list.
//! 2. Write the code.
//! 3. Read the rights of the moderator, and revoke the code if they have ended.
//!
//! When a moderator loses the rights, the codes of the users in the list are revoked, after the record was changed. So
//! a code that step 3 leaves in force was listed when the rights ended, and one that is not listed then was never
//! returned. A job of the moderator's account ([`crate::app::account`]) finishes what an interrupted call has left.
//!
//! Not here: storage (`store::recovery`).

use std::time::Duration;

use crate::app::App;
use crate::app::error::{Error, Faults, Field, Reason, Rejection};
use crate::app::live::Listener;
use crate::app::moderation::read::moderates;
use crate::app::moderation::{check_changeable, no_such_user};
use crate::app::read::{Pending, Read, Requests};
use crate::app::throttle::{admit, source};
use crate::app::viewer::Viewer;
use crate::model::address::Address;
use crate::model::id::UserId;
use crate::model::moderation::{Action, ActionNote, Objects};
use crate::model::moderator::Moderator;
use crate::model::recovery::{Recovery, RecoveryCode};
use crate::model::secret::Password;
use crate::model::user::Username;
use crate::store::Feature;
use crate::store::batch::Batch;
use crate::store::name::{self, Holder};
use crate::store::recovery::{self, Issuers, StoredRecovery};
use crate::store::{account, user};

/// Time for which a code is valid.
const LIFETIME: Duration = Duration::from_hours(24);
/// Maximum number of users for whom codes of a moderator may be pending.
const MOST_PENDING: u32 = 100;

/// A newly issued code. The server stores only its hash, so the code cannot be read again later.
#[derive(Debug)]
pub struct IssuedRecovery {
    /// The code, for the user.
    pub code: RecoveryCode,
    /// The code's issuer and times.
    pub pending: Recovery,
}

/// A user's pending recovery; `None` if there is none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PendingRecoveryOf(pub UserId);

impl Read for PendingRecoveryOf {
    type Value = Option<Recovery>;

    fn request(&self, requests: &mut Requests<'_>) -> Pending<Self::Value> {
        let stored = requests.push(recovery::read(requests.keys(), self.0));
        Pending::hot(move |responses| {
            let now = responses.now();
            let pending = responses.replies.take(stored)?.map(|stored| stored.pending);
            Ok(pending.filter(|pending| pending.is_pending(now)))
        })
    }
}

/// A subscription to a user's pending recovery, which ends when this value is dropped.
pub struct RecoveryWatch {
    app: App,
    user: UserId,
    listener: Listener,
    /// The pending recovery that was read last.
    read: Option<Recovery>,
    /// The pending recovery that the subscriber knows; at first, none.
    seen: Option<Recovery>,
    /// True until the pending recovery was read once.
    is_new: bool,
}

impl RecoveryWatch {
    /// Waits until the pending recovery may have changed.
    pub async fn ready(&mut self) {
        if std::mem::take(&mut self.is_new) {
            return;
        }
        while !self.listener.changes().await.recovery {}
    }

    /// Reads the pending recovery. Returns true if the subscriber does not know it. Makes one round trip.
    pub async fn has_changed(&mut self) -> Result<bool, Error> {
        self.read = self.app.pending_recovery(self.user).await?;
        Ok(self.read != self.seen)
    }

    /// Returns the pending recovery that was read last, which the subscriber then knows; `None` if there was none.
    pub fn take(&mut self) -> Option<Recovery> {
        self.seen.clone_from(&self.read);
        self.read.take()
    }
}

impl App {
    /// Subscribes to the viewer's pending recovery. One that is pending already is the first change.
    pub fn watch_recovery(&self, viewer: &Viewer) -> Result<RecoveryWatch, Error> {
        let user = viewer.signed_in()?.user;
        let listener = self.listen(viewer)?;
        Ok(RecoveryWatch { app: self.clone(), user, listener, read: None, seen: None, is_new: true })
    }

    /// Issues a recovery code for a user, in place of the one before. A moderator can issue none for themselves, for
    /// other moderators, and in place of one of the operator; no one can for an inactive account, or for a user who
    /// signs in with another application. Makes three round trips, plus three for a moderator, and one for the first
    /// code of the process.
    pub async fn issue_recovery_code(
        &self,
        moderator: &Moderator,
        user: UserId,
        note: ActionNote,
    ) -> Result<IssuedRecovery, Error> {
        self.check_recoverable(moderator, user).await?;
        self.enter(Feature::Recovery).await?;
        let (code, now) = (RecoveryCode::issue(self.rng()), self.now());
        let valid_from = match moderator {
            Moderator::Operator => now,
            Moderator::User(_) => now.plus(self.0.rules.account.recovery_delay()),
        };
        let expires_at = valid_from.plus(LIFETIME);
        let pending = Recovery { issuer: *moderator, issued_at: now, valid_from, expires_at };
        if let Moderator::User(moderator) = *moderator {
            self.add_ties(&[(moderator, user)]).await?;
            let list = recovery::list(self.keys(), moderator, user, expires_at);
            list.send("recovery: list", self.store()).await?;
        }
        self.log(moderator, Action::IssueRecoveryCode, Objects::user(user), note).await?;
        let stored = StoredRecovery { code: code.hash(), pending };
        let issue = recovery::issue(self.keys(), user, &stored);
        if !issue.send("recovery: issue", self.store()).await? {
            // The account has changed since the check.
            self.check_recoverable(moderator, user).await?;
            return Err(no_such_user());
        }
        if let Moderator::User(moderator) = *moderator
            && !self.account(moderator).await?.as_ref().is_some_and(moderates)
        {
            self.revoke_recoveries(moderator, &[user]).await?;
            return Err(Error::Rejected(Rejection::Forbidden));
        }
        Ok(IssuedRecovery { code, pending: stored.pending })
    }

    /// Fails if a moderator can issue no recovery code for a user. Makes one round trip.
    async fn check_recoverable(&self, moderator: &Moderator, user: UserId) -> Result<(), Error> {
        let (now, mut batch) = (self.now(), Batch::new("recovery: account"));
        let account = batch.push(account::read(self.keys(), user));
        let subject = batch.push(user::subject(self.keys(), user));
        let stored = batch.push(recovery::read(self.keys(), user));
        let others = |moderator| batch.push(recovery::others_listed(self.keys(), moderator, user, now));
        let others = moderator.user().map(others);
        let mut replies = batch.send(self.store()).await?;
        let account = replies.take(account)?.ok_or_else(no_such_user)?;
        let (subject, stored) = (replies.take(subject)?, replies.take(stored)?);
        let others = others.map(|others| replies.take(others)).transpose()?;
        check_changeable(*moderator, &account)?;
        if !account.is_active() {
            let message = "This account is suspended or deleted.";
            return Err(Error::rule(Reason::Inactive, Field::UserId, message));
        }
        if subject.is_some() {
            let message = "This user signs in with another application, which manages the password.";
            return Err(Error::rule(Reason::ExternalSignIn, Field::UserId, message));
        }
        let pending = stored.map(|stored| stored.pending).filter(|pending| pending.is_pending(now));
        if moderator.user().is_some() && pending.is_some_and(|pending| pending.is_by_operator()) {
            let message = "A recovery code of the operator is pending, which only the operator can replace.";
            return Err(Error::rule(Reason::NotYours, Field::UserId, message));
        }
        if others.is_some_and(|others| others >= MOST_PENDING as usize) {
            let message =
                format!("Recovery codes of yours for {MOST_PENDING} users are pending, the maximum.");
            return Err(Error::at_limit(Reason::ListLimit, MOST_PENDING, message));
        }
        Ok(())
    }

    /// Revokes the viewer's recovery code. Without one, does nothing. Fails if the operator has issued it. Makes one
    /// round trip, and two more if there is a code.
    pub async fn cancel_recovery(&self, viewer: &Viewer) -> Result<(), Error> {
        let user = viewer.signed_in()?.user;
        let pending = self.pending_recovery(user).await?;
        if pending.as_ref().is_some_and(Recovery::is_by_operator) {
            let message = "The operator of the server has issued this recovery code. You cannot cancel it.";
            return Err(Error::rule(Reason::NotYours, None, message));
        }
        if pending.is_none() {
            return Ok(());
        }
        self.log_revoked(user, pending.as_ref(), "").await?;
        recovery::revoke(self.keys(), user, Issuers::Moderators)
            .send("recovery: cancel", self.store())
            .await?;
        self.store().persist().await;
        Ok(())
    }

    /// Returns a user's pending recovery; `None` if there is none. Makes one round trip.
    async fn pending_recovery(&self, user: UserId) -> Result<Option<Recovery>, Error> {
        let stored = recovery::read(self.keys(), user).send("recovery: read", self.store()).await?;
        let now = self.now();
        Ok(stored.map(|stored| stored.pending).filter(|pending| pending.is_pending(now)))
    }

    /// Records that a user is about to revoke the pending recovery code of a moderator. Makes one round trip; none if
    /// no such code is pending.
    pub(super) async fn log_revoked(
        &self,
        user: UserId,
        pending: Option<&Recovery>,
        how: &str,
    ) -> Result<(), Error> {
        let now = self.now();
        if !pending.is_some_and(|pending| pending.is_pending(now) && !pending.is_by_operator()) {
            return Ok(());
        }
        let note = ActionNote::parse(how).unwrap_or_default();
        self.log(&Moderator::User(user), Action::CancelRecovery, Objects::user(user), note).await
    }

    /// Sets the password of a user with a recovery code, and ends all their sessions. Every failure of the code, the
    /// account and the time is the same error, and makes two round trips and one password hash. A success makes two
    /// more round trips.
    pub async fn recover_account(
        &self,
        username: &str,
        code: &str,
        new_password: &str,
        from: Option<Address>,
    ) -> Result<(), Error> {
        let mut faults = Faults::default();
        let Some(new) = faults.check(Field::NewPassword, Password::choose(new_password)) else {
            return Err(faults.into_error());
        };
        let slot = self.0.passwords.enter(source(username, from)).await?;
        let user = self.user_to_recover(username, from).await?;
        let stored = recovery::read(self.keys(), user).send("recover: code", self.store()).await?;
        // Hashed in any case, so that the time does not show whether the code is right.
        let hash = slot.hash(new).await;
        if let (Err(Error::Rejected(_)), Some(from)) = (&hash, from) {
            self.refund_recovery(from).await;
        }
        let hash = hash?;
        drop(slot);
        let (code, now) = (RecoveryCode::parse(code).map(|code| code.hash()), self.now());
        let is_right = |stored: &StoredRecovery| Some(stored.code) == code && stored.pending.is_valid(now);
        let Some(StoredRecovery { code, .. }) = stored.filter(is_right) else {
            return Err(wrong_recovery());
        };
        let objects = Objects::user(user);
        self.log(&Moderator::User(user), Action::RecoverAccount, objects, ActionNote::default()).await?;
        let recover = recovery::recover(self.keys(), user, &code, &hash, now);
        let is_recovered = self.write_sessions(user, "recover: account", recover).await?;
        self.store().persist().await;
        if is_recovered { Ok(()) } else { Err(wrong_recovery()) }
    }

    /// Returns the id of the user with this name or, for an unknown name, an id that no user has, so that both cases
    /// take the same path. Takes a token for the attempt. Makes one round trip.
    async fn user_to_recover(&self, username: &str, from: Option<Address>) -> Result<UserId, Error> {
        let mut batch = Batch::new("recover: name");
        let token = from.map(|from| batch.push(self.take_for_recovery(from)));
        let holder = Username::parse(username).ok().map(|name| batch.push(name::holder(self.keys(), &name)));
        let mut replies = batch.send(self.store()).await?;
        token.map_or(Ok(()), |token| admit(replies.take(token)?))?;
        Ok(match holder.map(|holder| replies.take(holder)).transpose()?.flatten() {
            Some(Holder::Settled(user)) => user,
            _ => UserId::MAX,
        })
    }

    /// Revokes the recovery codes that a moderator has issued for these users. Makes two round trips; none if there are
    /// no users.
    pub(in crate::app) async fn revoke_recoveries(
        &self,
        moderator: UserId,
        users: &[UserId],
    ) -> Result<(), Error> {
        if users.is_empty() {
            return Ok(());
        }
        let revoke = |user: &UserId| recovery::revoke(self.keys(), *user, Issuers::One(moderator));
        self.send_all("recovery: revoke", users.iter().map(revoke)).await?;
        self.store().persist().await;
        recovery::unlist(self.keys(), moderator, users).send("recovery: unlist", self.store()).await?;
        Ok(())
    }
}

fn wrong_recovery() -> Error {
    let message = "The username or the recovery code is wrong, or the code is not valid now.";
    Error::rule(Reason::WrongCredentials, None, message)
}
