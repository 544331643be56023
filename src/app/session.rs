//! Signs users in and out, and changes passwords.
//!
//! Not here: registration (`app::user`), token authentication (`app::viewer`), and limits on attempts
//! (`app::throttle`).

use std::cmp::Reverse;
use std::sync::Arc;

use crate::app::App;
use crate::app::error::{Error, Faults, Field, Reason, Rejection};
use crate::app::password::{Slot, Verdict};
use crate::app::read::{Pending, Read, Requests};
use crate::app::throttle::{Attempt, admit, source, source_of};
use crate::app::viewer::{Credential, KnownVersion, SessionCredential, SignedIn, Viewer};
use crate::model::address::Address;
use crate::model::clock::Day;
use crate::model::digest::Digest;
use crate::model::id::UserId;
use crate::model::recovery::Recovery;
use crate::model::secret::{Password, PasswordAttempt, PasswordHash, Token};
use crate::model::session::{Label, Session, SessionId};
use crate::model::user::Username;
use crate::store::batch::Batch;
use crate::store::name::{self, Holder};
use crate::store::recovery;
use crate::store::session::{self, Ending, OpenOutcome, StoredSession};
use crate::store::user::{self, PasswordChange};

/// A user's active sessions, most recently used first.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Sessions(pub UserId);

impl Read for Sessions {
    type Value = Arc<[Session]>;

    fn request(&self, requests: &mut Requests<'_>) -> Pending<Self::Value> {
        let sessions = requests.push(session::read_all(requests.keys(), self.0));
        let account = requests.rules().account.clone();
        Pending::hot(move |responses| {
            let sessions = responses.replies.take(sessions)?.into_iter().map(|(_, session)| session);
            let now = responses.now();
            let mut active: Vec<Session> = sessions.filter(|session| account.is_live(session, now)).collect();
            active.sort_by_key(|session| Reverse((session.last_seen_at, session.created_at)));
            Ok(active.into())
        })
    }
}

/// Maximum number of sessions per user. Opening another session evicts the least recently used session.
const MOST_SESSIONS: usize = 100;

/// A newly opened session. The server stores only the token's hash, so the token cannot be read again later.
#[derive(Debug)]
pub struct Opened {
    /// Session token, which the client stores.
    pub token: Token,
    /// Viewer authenticated by the new session.
    pub viewer: Viewer,
}

/// A password check of a session's user, before the verification.
struct Check {
    slot: Slot,
    /// Hash of the current password; `None` if the user has none.
    hash: Option<PasswordHash>,
    /// The user's recovery, expired or not; `None` if there is none.
    pending: Option<Recovery>,
}

impl App {
    /// Signs a user in, which cancels a deletion of the account, and revokes a moderator's recovery code. A throttled
    /// attempt costs no verification.
    ///
    /// Makes two round trips and one password verification, whether or not the user exists, and two more round trips if
    /// the password is correct. A wrong password that was not typed in its prepared form takes a second verification.
    /// There is one more round trip if a recovery code is pending, and one, with a hashing, if an earlier version has
    /// hashed the password as typed.
    pub async fn login(
        &self,
        username: &str,
        password: &str,
        label: Option<&str>,
        from: Option<Address>,
    ) -> Result<Opened, Error> {
        let mut faults = Faults::default();
        let Some(label) = faults.check(Field::Label, Label::parse(label.unwrap_or_default())) else {
            return Err(faults.into_error());
        };
        let password = PasswordAttempt::new(password);
        let slot = self.0.passwords.enter(source(username, from)).await?;
        // The password may change during verification; the next attempt reads the new password. So does an attempt
        // after a deletion of the account was cancelled.
        for _ in 0..3 {
            let (user, attempt) = self.user_to_verify(username, from).await?;
            let (hash, rejection) = self.password_to_verify(user, &attempt).await?;
            if let Some(rejection) = rejection {
                self.take_back(&attempt).await;
                return Err(slot.reject(rejection).await);
            }
            let verified = match slot.verify(&password, hash).await {
                Err(error @ Error::Rejected(_)) => {
                    self.take_back(&attempt).await;
                    return Err(error);
                }
                verdict => match verdict? {
                    Verdict::Right(hash) => hash,
                    Verdict::RightAsTyped(hash) => {
                        self.renew_hash(user, &slot, password.prepared.clone(), hash).await?
                    }
                    Verdict::Wrong => return Err(wrong_credentials()),
                    Verdict::Displaced(rejection) => return Err(rejection),
                },
            };
            let ending = self.welcome(user, &attempt).await?;
            let (opened, stored) = self.new_session(user, &label);
            let open = session::open(self.keys(), user, &verified, &stored, &ending);
            match self.write_sessions(user, "login: open", open).await? {
                OpenOutcome::Open(exclusions) => {
                    opened.viewer.signed_in()?.exclusions.raise(exclusions);
                    return Ok(opened);
                }
                OpenOutcome::PasswordChanged => {}
                OpenOutcome::Suspended => {
                    return Err(Error::rule(Reason::Suspended, None, "This account is suspended."));
                }
                OpenOutcome::Deletion => self.cancel_deletion(user).await?,
                OpenOutcome::Erasing => return Err(wrong_credentials()),
            }
        }
        Err(wrong_credentials())
    }

    /// Returns the id of the user with this name or, for an unknown name, an id that no user has, so that
    /// both cases take the same path. Fails if there were too many guesses from this address.
    async fn user_to_verify(
        &self,
        username: &str,
        from: Option<Address>,
    ) -> Result<(UserId, Attempt), Error> {
        let mut batch = Batch::new("login: name");
        let holder = Username::parse(username).ok().map(|name| batch.push(name::holder(self.keys(), &name)));
        let look = self.look(username, from, &mut batch);
        let mut replies = batch.send(self.store()).await?;
        let attempt = look.check(&mut replies)?;
        let user = match holder.map(|holder| replies.take(holder)).transpose()?.flatten() {
            Some(Holder::Settled(user) | Holder::Inactive(user)) => user,
            Some(Holder::Reserved(_)) | None => UserId::MAX,
        };
        Ok((user, attempt))
    }

    /// Returns the hash to verify an attempt against; `None` if the account has no hash. Also returns a
    /// rejection if too many correct passwords were entered recently. Fails if there were too many guesses.
    async fn password_to_verify(
        &self,
        user: UserId,
        attempt: &Attempt,
    ) -> Result<(Option<PasswordHash>, Option<Error>), Error> {
        let mut batch = Batch::new("login: password");
        let taken = batch.push(self.take_for(attempt));
        let sign_ins = self.look_at_sign_ins(user, attempt.address(), &mut batch);
        let hash = batch.push(user::password(self.keys(), user));
        let mut replies = batch.send(self.store()).await?;
        admit(replies.take(taken)?)?;
        Ok((replies.take(hash)?, sign_ins.rejection(&mut replies)?))
    }

    /// Settles a correct attempt, and records that the sign-in revokes a pending recovery. Returns the sessions to end
    /// when the new session is opened: all sessions if users may have only one; otherwise, expired sessions and, beyond
    /// the limit, the least recently used sessions.
    async fn welcome(&self, user: UserId, attempt: &Attempt) -> Result<Ending, Error> {
        let mut batch = Batch::new("login: sessions");
        let settled = self.settle(user, attempt, &mut batch);
        let sessions = batch.push(session::read_all(self.keys(), user));
        let stored = batch.push(recovery::read(self.keys(), user));
        let mut replies = batch.send(self.store()).await?;
        settled.check(&mut replies)?;
        let pending = replies.take(stored)?.map(|stored| stored.pending);
        self.log_revoked(user, pending.as_ref(), "Signed in with the password.").await?;
        if self.0.rules.account.session_single {
            return Ok(Ending::All);
        }
        let (mut all, now) = (replies.take(sessions)?, self.now());
        let is_live = |session: &Session| self.0.rules.account.is_live(session, now);
        all.sort_by_key(|(_, session)| std::cmp::Reverse((is_live(session), session.last_seen_at)));
        let live = all.iter().filter(|(_, session)| is_live(session)).count();
        let ended = all.into_iter().skip(live.min(MOST_SESSIONS - 1));
        Ok(Ending::These(ended.map(|(token, _)| token).collect()))
    }

    /// Creates a session that begins now. Returns the session and its stored form.
    pub(super) fn new_session(&self, user: UserId, label: &Label) -> (Opened, StoredSession) {
        let now = self.now();
        let token = Token::issue(user, self.rng());
        let session = Session {
            id: SessionId::issue(self.rng()),
            created_at: now,
            last_seen_at: now,
            expires_at: self.0.rules.account.session_end(now, now),
            label: label.clone(),
        };
        let viewer = Viewer::SignedIn(SignedIn {
            user,
            credential: Credential::Session(SessionCredential { id: session.id, token: token.hash() }),
            day: Day::of(now),
            exclusions: KnownVersion::default(),
            has_written: true,
        });
        let stored = StoredSession { token: token.hash(), session };
        (Opened { token, viewer }, stored)
    }

    /// Ends the session that authenticated the request. Makes one round trip. Fails for a viewer without a session,
    /// whose token stays valid until it expires.
    pub async fn logout(&self, viewer: &Viewer) -> Result<(), Error> {
        let signed_in = viewer.signed_in()?;
        let token = signed_in.session_credential()?.token;
        let end = session::end(self.keys(), signed_in.user, token.as_bytes());
        self.write_sessions(signed_in.user, "logout", end).await?;
        self.store().persist().await;
        Ok(())
    }

    /// Ends all of the viewer's sessions. Makes one round trip. Fails for a viewer without a session.
    pub async fn logout_everywhere(&self, viewer: &Viewer) -> Result<(), Error> {
        let signed_in = viewer.signed_in()?;
        signed_in.session_credential()?;
        let user = signed_in.user;
        self.write_sessions(user, "logout everywhere", session::end_all(self.keys(), user)).await?;
        self.store().persist().await;
        Ok(())
    }

    /// Ends one of the viewer's sessions. Makes one round trip.
    pub async fn revoke_session(&self, viewer: &Viewer, session: SessionId) -> Result<(), Error> {
        let user = viewer.signed_in()?.user;
        let revoke = session::revoke(self.keys(), user, session);
        if self.write_sessions(user, "revoke session", revoke).await? {
            self.store().persist().await;
            return Ok(());
        }
        Err(Error::rule(Reason::NotFound, Field::SessionId, "This session does not exist."))
    }

    /// Changes the viewer's password. The requesting session continues under a new token, all other sessions of the
    /// user end, and a moderator's recovery code is revoked. Makes two round trips, plus one if such a code is pending.
    /// Fails for a viewer without a session.
    pub async fn change_password(
        &self,
        viewer: &Viewer,
        current: &str,
        new: &str,
        from: Option<Address>,
    ) -> Result<Opened, Error> {
        let signed_in = viewer.signed_in()?;
        let session = signed_in.session_credential()?;
        let mut faults = Faults::default();
        let Some(new) = faults.check(Field::NewPassword, Password::choose(new)) else {
            return Err(faults.into_error());
        };
        let Check { slot, hash, pending } = self.begin_check(signed_in.user, session.id, from).await?;
        let from = from.map(|from| from.digest());
        let changed = async {
            match slot.verify(&PasswordAttempt::new(current), hash).await? {
                Verdict::Right(verified) | Verdict::RightAsTyped(verified) => {
                    Ok(Ok((verified, slot.hash(new).await?)))
                }
                Verdict::Wrong => Ok(Err(wrong_current_password())),
                Verdict::Displaced(rejection) => Ok(Err(rejection)),
            }
        };
        match changed.await {
            Ok(Ok((verified, new))) => {
                self.log_revoked(signed_in.user, pending.as_ref(), "Changed the password.").await?;
                self.write_password(signed_in, session, &verified, &new, from).await
            }
            Err(error @ Error::Rejected(Rejection::Busy { .. })) => {
                self.refund_session(signed_in.user, session.id).await;
                Err(error)
            }
            Ok(Err(error)) | Err(error) => Err(error),
        }
    }

    /// Checks the viewer's current password before a step that a stolen session must not take. A viewer who signs in
    /// with the tokens of another application has no password, and needs none. Otherwise, makes two round trips and one
    /// password verification, under the limits of a changed password; see [`Self::login`] for passwords as typed.
    pub(super) async fn confirm_password(
        &self,
        viewer: &Viewer,
        current: Option<&str>,
        from: Option<Address>,
    ) -> Result<(), Error> {
        let signed_in = viewer.signed_in()?;
        let Some(session) = signed_in.session() else { return Ok(()) };
        let missing = || Error::rule(Reason::Invalid, Field::CurrentPassword, "Enter your current password.");
        let current = current.ok_or_else(missing)?;
        let Check { slot, hash, .. } = self.begin_check(signed_in.user, session, from).await?;
        let from = from.map(|from| from.digest());
        let current = PasswordAttempt::new(current);
        match slot.verify(&current, hash).await {
            Err(error @ Error::Rejected(_)) => {
                self.refund_session(signed_in.user, session).await;
                return Err(error);
            }
            verdict => match verdict? {
                Verdict::Right(_) => {}
                Verdict::RightAsTyped(hash) => {
                    self.renew_hash(signed_in.user, &slot, current.prepared, hash).await?;
                }
                Verdict::Wrong => return Err(wrong_current_password()),
                Verdict::Displaced(rejection) => return Err(rejection),
            },
        }
        let mut batch = Batch::new("confirm password: settle");
        let given_back = batch.push(self.return_for_session(signed_in.user, session));
        let charged = self.charge_sign_in(signed_in.user, from, &mut batch);
        let mut replies = batch.send(self.store()).await?;
        replies.take(given_back)?;
        replies.take_all(charged)?;
        Ok(())
    }

    /// Replaces the hash of a password as typed, which an earlier version of Fanfold has made, by a hash of the
    /// prepared form. Returns the hash that the user has now. Makes one round trip; none if another job displaces the
    /// hashing, in which case the hash stays until the next attempt.
    async fn renew_hash(
        &self,
        user: UserId,
        slot: &Slot,
        prepared: Password,
        verified: PasswordHash,
    ) -> Result<PasswordHash, Error> {
        let new = match slot.hash(prepared).await {
            Err(Error::Rejected(_)) => return Ok(verified),
            new => new?,
        };
        let renew = user::renew_hash(self.keys(), user, &verified, &new);
        let is_renewed = renew.send("password: renew", self.store()).await?;
        Ok(if is_renewed { new } else { verified })
    }

    /// Begins to check the current password of the user of a session: enters the queue, and reads the password's hash.
    /// Makes one round trip. Fails if there were too many attempts, or too many correct passwords.
    async fn begin_check(
        &self,
        user: UserId,
        session: SessionId,
        from: Option<Address>,
    ) -> Result<Check, Error> {
        let slot = self.0.passwords.enter(source_of(user, from)).await?;
        let from = from.map(|from| from.digest());
        let (hash, pending, rejection) = self.password_to_change(user, session, from).await?;
        if let Some(rejection) = rejection {
            self.refund_session(user, session).await;
            return Err(slot.reject(rejection).await);
        }
        Ok(Check { slot, hash, pending })
    }

    /// Returns the current password's hash and the user's recovery, expired or not. Also returns a rejection if too
    /// many correct passwords were entered recently. Fails if there were too many attempts.
    async fn password_to_change(
        &self,
        user: UserId,
        session: SessionId,
        from: Option<Digest>,
    ) -> Result<(Option<PasswordHash>, Option<Recovery>, Option<Error>), Error> {
        let mut batch = Batch::new("change password: read");
        let taken = batch.push(self.take_for_session(user, session));
        let sign_ins = self.look_at_sign_ins(user, from, &mut batch);
        let hash = batch.push(user::password(self.keys(), user));
        let stored = batch.push(recovery::read(self.keys(), user));
        let mut replies = batch.send(self.store()).await?;
        admit(replies.take(taken)?)?;
        let pending = replies.take(stored)?.map(|stored| stored.pending);
        Ok((replies.take(hash)?, pending, sign_ins.rejection(&mut replies)?))
    }

    async fn write_password(
        &self,
        signed_in: &SignedIn,
        session: SessionCredential,
        verified: &PasswordHash,
        new: &PasswordHash,
        from: Option<Digest>,
    ) -> Result<Opened, Error> {
        let user = signed_in.user;
        let token = Token::issue(user, self.rng());
        let mut batch = Batch::new("change password: write");
        let given_back = batch.push(self.return_for_session(user, session.id));
        let charged = self.charge_sign_in(user, from, &mut batch);
        let change = user::change_password(self.keys(), user, verified, new, &session.token, &token.hash());
        let change = batch.push(change);
        let sent = batch.send(self.store()).await;
        // Redis may have executed a batch that failed.
        self.store().forget_sessions(user);
        let mut replies = sent?;
        let changed = replies.take(change)?;
        replies.take(given_back)?;
        replies.take_all(charged)?;
        self.store().persist().await;
        match changed {
            PasswordChange::Made => {
                let credential = Credential::Session(SessionCredential { token: token.hash(), ..session });
                let viewer = Viewer::SignedIn(SignedIn { credential, ..signed_in.clone() });
                Ok(Opened { token, viewer })
            }
            // Another request has changed the password in the meantime, so the given password is no longer
            // current.
            PasswordChange::Outdated => Err(wrong_current_password()),
            PasswordChange::SessionEnded => Err(Error::Rejected(Rejection::BadToken)),
        }
    }
}

fn wrong_current_password() -> Error {
    Error::rule(Reason::WrongCredentials, Field::CurrentPassword, "The current password is wrong.")
}

fn wrong_credentials() -> Error {
    Error::rule(Reason::WrongCredentials, None, "The username or the password is wrong.")
}
