//! Signing in and out, and changing the password that it takes.
//!
//! Not here: making accounts (`app::user`), recognising a token (`app::viewer`).

use crate::app::App;
use crate::app::error::{Error, Faults, Field, Reason};
use crate::app::viewer::{SignedIn, Viewer};
use crate::model::clock::Day;
use crate::model::id::UserId;
use crate::model::secret::{Password, Token};
use crate::model::session::{Label, Session, SessionId};
use crate::model::user::Username;
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
    /// exists; two more if the password is right.
    pub async fn login(&self, username: &str, password: &str, label: Option<&str>) -> Result<Opened, Error> {
        let mut faults = Faults::default();
        let Some(label) = faults.check(Field::Label, Label::parse(label.unwrap_or_default())) else {
            return Err(faults.into_error());
        };
        let password = Password::attempt(password);
        // The password may be changed while it is verified; the second attempt sees the new one.
        for _ in 0..2 {
            let user = self.user_to_verify(username).await?;
            let hash = user::password(self.keys(), user).send("login: password", self.store()).await?;
            let right = self.0.passwords.verify(password.clone(), hash.clone()).await?;
            let (Some(verified), true) = (hash, right) else {
                return Err(wrong_credentials());
            };
            let ending = if self.0.rules.account.sessions_single {
                Ending::All
            } else {
                Ending::These(self.sessions_to_end(user).await?)
            };
            let (opened, stored) = self.new_session(user, &label);
            let open = session::open(self.keys(), user, &verified, &stored, &ending);
            if open.send("login: open", self.store()).await? {
                return Ok(opened);
            }
        }
        Err(wrong_credentials())
    }

    /// The user who has this name, or one who does not exist: an unknown name goes the same way as
    /// a known one.
    async fn user_to_verify(&self, username: &str) -> Result<UserId, Error> {
        let Ok(username) = Username::parse(username) else {
            return Ok(UserId::MAX);
        };
        let held = name::holder(self.keys(), &username).send("login: name", self.store()).await?;
        Ok(match held {
            Some(Holder::Settled(user)) => user,
            Some(Holder::Reserved(_)) | None => UserId::MAX,
        })
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

    /// The sessions that must go so that another has room: expired ones, and beyond the limit those
    /// that were not seen for longest.
    async fn sessions_to_end(&self, user: UserId) -> Result<Vec<Vec<u8>>, Error> {
        let now = self.now();
        let mut all = session::read_all(self.keys(), user).send("login: sessions", self.store()).await?;
        all.sort_by_key(|(_, session)| std::cmp::Reverse((session.expires_at > now, session.last_seen_at)));
        let live = all.iter().filter(|(_, session)| session.expires_at > now).count();
        let ended = all.into_iter().skip(live.min(MOST_SESSIONS - 1));
        Ok(ended.map(|(token, _)| token).collect())
    }

    /// Ends the session that asks. One round trip.
    pub async fn logout(&self, viewer: &Viewer) -> Result<(), Error> {
        let SignedIn { user, token, .. } = viewer.signed_in()?;
        session::end(self.keys(), *user, token.as_bytes()).send("logout", self.store()).await?;
        Ok(())
    }

    /// Ends all sessions of the user who asks. One round trip.
    pub async fn logout_everywhere(&self, viewer: &Viewer) -> Result<(), Error> {
        let user = viewer.signed_in()?.user;
        session::end_all(self.keys(), user).send("logout everywhere", self.store()).await?;
        Ok(())
    }

    /// Ends one session of the user who asks. One round trip.
    pub async fn revoke_session(&self, viewer: &Viewer, session: SessionId) -> Result<(), Error> {
        let user = viewer.signed_in()?.user;
        if session::revoke(self.keys(), user, session).send("revoke session", self.store()).await? {
            return Ok(());
        }
        Err(Error::rule(Reason::NotFound, Field::SessionId, "You have no such session."))
    }

    /// Changes the password of the user who asks and ends all its other sessions.
    pub async fn change_password(&self, viewer: &Viewer, current: &str, new: &str) -> Result<(), Error> {
        let SignedIn { user, token, .. } = viewer.signed_in()?;
        let mut faults = Faults::default();
        let Some(new) = faults.check(Field::NewPassword, Password::choose(new)) else {
            return Err(faults.into_error());
        };
        let wrong = || {
            let message = "The current password is wrong.";
            Error::rule(Reason::WrongCredentials, Field::CurrentPassword, message)
        };
        let hash = user::password(self.keys(), *user).send("change password: read", self.store()).await?;
        let right = self.0.passwords.verify(Password::attempt(current), hash.clone()).await?;
        let (Some(verified), true) = (hash, right) else {
            return Err(wrong());
        };
        let new = self.0.passwords.hash(new).await?;
        let change = user::change_password(self.keys(), *user, &verified, &new, token.as_bytes());
        let changed = change.send("change password: write", self.store()).await?;
        // Somebody else has changed it meanwhile: what was given is no longer the current one.
        if changed { Ok(()) } else { Err(wrong()) }
    }
}

fn wrong_credentials() -> Error {
    Error::rule(Reason::WrongCredentials, None, "The username or the password is wrong.")
}
