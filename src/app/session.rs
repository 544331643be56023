//! Signing in and out, and changing the password that it takes.
//!
//! Not here: making accounts (`app::user`), recognising a token (`app::viewer`), how many attempts there may be
//! (`app::throttle`).

use crate::app::App;
use crate::app::error::{Error, Faults, Field, Reason};
use crate::app::throttle::{Guess, admit};
use crate::app::viewer::{SignedIn, Viewer};
use crate::model::address::Address;
use crate::model::clock::Day;
use crate::model::id::UserId;
use crate::model::secret::{Password, PasswordHash, Token};
use crate::model::session::{Label, Session, SessionId};
use crate::model::user::Username;
use crate::store::batch::Batch;
use crate::store::name::{self, Holder};
use crate::store::session::{self, Ending, StoredSession};
use crate::store::user;

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
        let place = self.0.passwords.enter()?;
        // The password may be changed while it is verified; the second attempt sees the new one.
        for _ in 0..2 {
            let (user, guess) = self.user_to_verify(username, from).await?;
            let hash = self.password_to_verify(user, &guess).await?;
            let right = place.verify(password.clone(), hash.clone()).await?;
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

    /// The password that a guess has to be; `None` if there is none. Refused if there were too many guesses.
    async fn password_to_verify(&self, user: UserId, guess: &Guess) -> Result<Option<PasswordHash>, Error> {
        let mut batch = Batch::new("login: password");
        let drawn = batch.push(self.draw_for(guess));
        let hash = batch.push(user::password(self.keys(), user));
        let mut replies = batch.send(self.store()).await?;
        admit(replies.take(drawn)?)?;
        Ok(replies.take(hash)?)
    }

    /// Settles a guess that was right, and tells which sessions end now that another one is opened: expired ones, and
    /// beyond the limit those that were not seen for longest.
    async fn welcome(&self, user: UserId, guess: &Guess) -> Result<Ending, Error> {
        let mut batch = Batch::new("login: sessions");
        let settled = self.settle(guess, &mut batch);
        let sessions = batch.push(session::read_all(self.keys(), user));
        let mut replies = batch.send(self.store()).await?;
        replies.take_all(settled)?;
        if self.0.rules.account.sessions_single {
            return Ok(Ending::All);
        }
        let (mut all, now) = (replies.take(sessions)?, self.now());
        all.sort_by_key(|(_, session)| std::cmp::Reverse((session.expires_at > now, session.last_seen_at)));
        let live = all.iter().filter(|(_, session)| session.expires_at > now).count();
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
            expires_at: now.plus(self.0.rules.account.session_lifetime()),
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

    /// Changes the password of the user who asks and ends all its other sessions. Two round trips.
    pub async fn change_password(&self, viewer: &Viewer, current: &str, new: &str) -> Result<(), Error> {
        let signed_in = viewer.signed_in()?;
        let SignedIn { user, token, .. } = signed_in;
        let mut faults = Faults::default();
        let Some(new) = faults.check(Field::NewPassword, Password::choose(new)) else {
            return Err(faults.into_error());
        };
        let wrong = || {
            let message = "The current password is wrong.";
            Error::rule(Reason::WrongCredentials, Field::CurrentPassword, message)
        };
        let place = self.0.passwords.enter()?;
        let mut batch = Batch::new("change password: read");
        let drawn = batch.push(self.draw_through(signed_in));
        let hash = batch.push(user::password(self.keys(), *user));
        let mut replies = batch.send(self.store()).await?;
        admit(replies.take(drawn)?)?;
        let hash = replies.take(hash)?;
        let right = place.verify(Password::attempt(current), hash.clone()).await?;
        let (Some(verified), true) = (hash, right) else {
            return Err(wrong());
        };
        let new = place.hash(new).await?;
        let mut batch = Batch::new("change password: write");
        let given_back = batch.push(self.give_back_through(signed_in));
        let change = user::change_password(self.keys(), *user, &verified, &new, token.as_bytes());
        let changed = batch.push(change);
        let mut replies = batch.send(self.store()).await?;
        let changed = replies.take(changed)?;
        replies.take(given_back)?;
        self.store().persist().await;
        // Somebody else has changed it meanwhile: what was given is no longer the current one.
        if changed { Ok(()) } else { Err(wrong()) }
    }
}

fn wrong_credentials() -> Error {
    Error::rule(Reason::WrongCredentials, None, "The username or the password is wrong.")
}
