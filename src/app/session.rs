//! Signing in and out, and changing the password that it takes.
//!
//! Not here: making accounts (`app::user`), recognising a token (`app::viewer`), how many attempts there may be
//! (`app::throttle`).

use crate::app::App;
use crate::app::error::{Error, Faults, Field, Reason, Refused};
use crate::app::throttle::{Guess, admit, source, source_of};
use crate::app::viewer::{SignedIn, Viewer};
use crate::model::address::Address;
use crate::model::clock::Day;
use crate::model::digest::Digest;
use crate::model::id::UserId;
use crate::model::secret::{Password, PasswordHash, Token};
use crate::model::session::{Label, Session, SessionId};
use crate::model::user::Username;
use crate::store::batch::Batch;
use crate::store::name::{self, Holder};
use crate::store::session::{self, Ending, StoredSession};
use crate::store::user::{self, PasswordChange};

/// Most sessions of one user; the one not seen for longest makes room for a further one.
const MOST_SESSIONS: usize = 100;

/// A session as it begins: the only moment at which its token is known.
#[derive(Debug)]
pub struct Opened {
    /// The token, for the client to keep.
    pub token: Token,
    /// The user, asking through the new session.
    pub viewer: Viewer,
}

impl App {
    /// Signs a user in. Two round trips and one verification, whether or not the user
    /// exists; two more if the password is right. Who is throttled costs no verification.
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
        let password = Password::attempt(password);
        let place = self.0.passwords.enter(source(username, from)).await?;
        // The password may be changed while it is verified; the second attempt sees the new one.
        for _ in 0..2 {
            let (user, guess) = self.user_to_verify(username, from).await?;
            let (hash, rejection) = self.password_to_verify(user, &guess).await?;
            if let Some(rejection) = rejection {
                self.take_back(&guess).await;
                return Err(place.reject(rejection).await);
            }
            let right = match place.verify(password.clone(), hash.clone()).await {
                Err(error @ Error::Refused(_)) => {
                    self.take_back(&guess).await;
                    return Err(error);
                }
                right => right?,
            };
            let (Some(verified), true) = (hash, right) else {
                return Err(wrong_credentials());
            };
            let ending = self.welcome(user, &guess).await?;
            let (opened, stored) = self.new_session(user, &label);
            let open = session::open(self.keys(), user, &verified, &stored, &ending);
            if open.send("login: open", self.store()).await? {
                return Ok(opened);
            }
        }
        Err(wrong_credentials())
    }

    /// The user who has this name, or one who does not exist: an unknown name goes the same way as
    /// a known one. Refused if too many guesses come from this address.
    async fn user_to_verify(&self, username: &str, from: Option<Address>) -> Result<(UserId, Guess), Error> {
        let mut batch = Batch::new("login: name");
        let holder = Username::parse(username).ok().map(|name| batch.push(name::holder(self.keys(), &name)));
        let look = self.look(username, from, &mut batch);
        let mut replies = batch.send(self.store()).await?;
        let guess = look.judge(&mut replies)?;
        let user = match holder.map(|holder| replies.take(holder)).transpose()?.flatten() {
            Some(Holder::Settled(user)) => user,
            Some(Holder::Reserved(_)) | None => UserId::MAX,
        };
        Ok((user, guess))
    }

    /// The password that a guess has to be; `None` if there is none. Refused if there were too many guesses. And why it
    /// is not verified, if there were too many right ones.
    async fn password_to_verify(
        &self,
        user: UserId,
        guess: &Guess,
    ) -> Result<(Option<PasswordHash>, Option<Error>), Error> {
        let mut batch = Batch::new("login: password");
        let drawn = batch.push(self.draw_for(guess));
        let sign_ins = self.look_at_sign_ins(user, guess.address(), &mut batch);
        let hash = batch.push(user::password(self.keys(), user));
        let mut replies = batch.send(self.store()).await?;
        admit(replies.take(drawn)?)?;
        Ok((replies.take(hash)?, sign_ins.rejection(&mut replies)?))
    }

    /// Settles a guess that was right, and tells which sessions end now that another one is opened: expired ones, and
    /// beyond the limit those that were not seen for longest.
    async fn welcome(&self, user: UserId, guess: &Guess) -> Result<Ending, Error> {
        let mut batch = Batch::new("login: sessions");
        let settled = self.settle(user, guess, &mut batch);
        let sessions = batch.push(session::read_all(self.keys(), user));
        let mut replies = batch.send(self.store()).await?;
        settled.judge(&mut replies)?;
        if self.0.rules.account.sessions_single {
            return Ok(Ending::All);
        }
        let (mut all, now) = (replies.take(sessions)?, self.now());
        let is_live = |session: &Session| self.0.rules.account.is_live(session, now);
        all.sort_by_key(|(_, session)| std::cmp::Reverse((is_live(session), session.last_seen_at)));
        let live = all.iter().filter(|(_, session)| is_live(session)).count();
        let ended = all.into_iter().skip(live.min(MOST_SESSIONS - 1));
        Ok(Ending::These(ended.map(|(token, _)| token).collect()))
    }

    /// A session that begins now, and the form in which it is stored.
    pub(super) fn new_session(&self, user: UserId, label: &Label) -> (Opened, StoredSession) {
        let now = self.now();
        let token = Token::issue(user, self.chance());
        let session = Session {
            id: SessionId::issue(self.chance()),
            created_at: now,
            last_seen_at: now,
            expires_at: self.0.rules.account.session_end(now, now),
            label: label.clone(),
        };
        let viewer =
            Viewer::SignedIn(SignedIn { user, session: session.id, day: Day::of(now), token: token.hash() });
        let stored = StoredSession { token: token.hash(), session };
        (Opened { token, viewer }, stored)
    }

    /// Ends the session that asks. One round trip.
    pub async fn logout(&self, viewer: &Viewer) -> Result<(), Error> {
        let SignedIn { user, token, .. } = viewer.signed_in()?;
        session::end(self.keys(), *user, token.as_bytes()).send("logout", self.store()).await?;
        self.store().persist().await;
        Ok(())
    }

    /// Ends all sessions of the user who asks. One round trip.
    pub async fn logout_everywhere(&self, viewer: &Viewer) -> Result<(), Error> {
        let user = viewer.signed_in()?.user;
        session::end_all(self.keys(), user).send("logout everywhere", self.store()).await?;
        self.store().persist().await;
        Ok(())
    }

    /// Ends one session of the user who asks. One round trip.
    pub async fn revoke_session(&self, viewer: &Viewer, session: SessionId) -> Result<(), Error> {
        let user = viewer.signed_in()?.user;
        if session::revoke(self.keys(), user, session).send("revoke session", self.store()).await? {
            self.store().persist().await;
            return Ok(());
        }
        Err(Error::rule(Reason::NotFound, Field::SessionId, "You have no such session."))
    }

    /// Changes the password of the user who asks. Its session continues under a token of another secret, and all others
    /// end. Two round trips.
    pub async fn change_password(
        &self,
        viewer: &Viewer,
        current: &str,
        new: &str,
        from: Option<Address>,
    ) -> Result<Opened, Error> {
        let signed_in = viewer.signed_in()?;
        let mut faults = Faults::default();
        let Some(new) = faults.check(Field::NewPassword, Password::choose(new)) else {
            return Err(faults.into_error());
        };
        let place = self.0.passwords.enter(source_of(signed_in.user, from)).await?;
        let from = from.map(|from| from.digest());
        let (hash, rejection) = self.password_to_change(signed_in, from).await?;
        if let Some(rejection) = rejection {
            self.take_back_through(signed_in).await;
            return Err(place.reject(rejection).await);
        }
        let changed = async {
            let right = place.verify(Password::attempt(current), hash.clone()).await?;
            let (Some(verified), true) = (hash, right) else {
                return Err(wrong_current_password());
            };
            Ok((verified, place.hash(new).await?))
        };
        match changed.await {
            Ok((verified, new)) => self.write_password(signed_in, &verified, &new, from).await,
            Err(error @ Error::Refused(Refused::Busy { .. })) => {
                self.take_back_through(signed_in).await;
                Err(error)
            }
            Err(error) => Err(error),
        }
    }

    /// The password that is to be given before it is changed. Rejected if there were too many attempts. And why it is
    /// not verified, if there were too many right ones.
    async fn password_to_change(
        &self,
        signed_in: &SignedIn,
        from: Option<Digest>,
    ) -> Result<(Option<PasswordHash>, Option<Error>), Error> {
        let mut batch = Batch::new("change password: read");
        let drawn = batch.push(self.draw_through(signed_in));
        let sign_ins = self.look_at_sign_ins(signed_in.user, from, &mut batch);
        let hash = batch.push(user::password(self.keys(), signed_in.user));
        let mut replies = batch.send(self.store()).await?;
        admit(replies.take(drawn)?)?;
        Ok((replies.take(hash)?, sign_ins.rejection(&mut replies)?))
    }

    async fn write_password(
        &self,
        signed_in: &SignedIn,
        verified: &PasswordHash,
        new: &PasswordHash,
        from: Option<Digest>,
    ) -> Result<Opened, Error> {
        let user = signed_in.user;
        let token = Token::issue(user, self.chance());
        let mut batch = Batch::new("change password: write");
        let given_back = batch.push(self.give_back_through(signed_in));
        let charged = self.charge_sign_in(user, from, &mut batch);
        let change = user::change_password(self.keys(), user, verified, new, &signed_in.token, &token.hash());
        let change = batch.push(change);
        let mut replies = batch.send(self.store()).await?;
        let changed = replies.take(change)?;
        replies.take(given_back)?;
        replies.take_all(charged)?;
        self.store().persist().await;
        match changed {
            PasswordChange::Made => {
                let viewer = Viewer::SignedIn(SignedIn { token: token.hash(), ..signed_in.clone() });
                Ok(Opened { token, viewer })
            }
            // Another request has changed it meanwhile: what was given is no longer the current one.
            PasswordChange::Outdated => Err(wrong_current_password()),
            PasswordChange::SessionEnded => Err(Error::Refused(Refused::BadToken)),
        }
    }
}

fn wrong_current_password() -> Error {
    Error::rule(Reason::WrongCredentials, Field::CurrentPassword, "The current password is wrong.")
}

fn wrong_credentials() -> Error {
    Error::rule(Reason::WrongCredentials, None, "The username or the password is wrong.")
}
