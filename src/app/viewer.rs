//! Who is asking.
//!
//! Not here: where the token comes from (`http::auth`).

use std::time::Duration;

use futures::future::join;

use crate::app::App;
use crate::app::error::{Error, Refused};
use crate::model::clock::{Day, Timestamp};
use crate::model::id::UserId;
use crate::model::secret::{Token, TokenHash};
use crate::model::session::{Session, SessionId};
use crate::store::session::{self, StoredSession};

/// How exactly a session tells when it was seen: the price of a write is paid once in this time.
const SEEN_WITHIN: Duration = Duration::from_mins(5);

/// Who is asking.
#[derive(Clone, Debug)]
pub enum Viewer {
    /// Nobody is signed in: may read what is public.
    Anonymous,
    /// A user, through one of its sessions.
    SignedIn(SignedIn),
}

/// A user who is asking, and the session it asks through.
#[derive(Clone, Debug)]
pub struct SignedIn {
    /// The user.
    pub user: UserId,
    /// The session.
    pub session: SessionId,
    /// The day on which it asks.
    pub day: Day,
    pub(super) token: TokenHash,
}

impl Viewer {
    /// The user who is asking, if somebody is signed in.
    #[must_use]
    pub fn user(&self) -> Option<UserId> {
        match self {
            Self::Anonymous => None,
            Self::SignedIn(signed_in) => Some(signed_in.user),
        }
    }

    /// The user and session that ask; refused for an anonymous request.
    pub fn signed_in(&self) -> Result<&SignedIn, Error> {
        match self {
            Self::Anonymous => Err(Error::Refused(Refused::Unauthenticated)),
            Self::SignedIn(signed_in) => Ok(signed_in),
        }
    }
}

impl App {
    /// Who presents this token, and counts as having come today. One round trip; a second one every few minutes
    /// of use, and for the first use of a day.
    ///
    /// A token that opens no session (any more) is refused rather than taken for no token.
    pub async fn recognise(&self, token: &str) -> Result<Viewer, Error> {
        let bad = || Error::Refused(Refused::BadToken);
        let token = Token::parse(token).ok_or_else(bad)?;
        let (user, hash) = (token.user(), token.hash());
        let read = session::read(self.keys(), user, &hash).send("recognise", self.store()).await?;
        let session = read.ok_or_else(bad)?;
        let now = self.now();
        if session.expires_at <= now {
            return Err(bad());
        }
        let signed_in = SignedIn { user, session: session.id, day: Day::of(now), token: hash };
        // Who may read is let in even where nothing can be written.
        let (seen, ()) =
            join(self.mark_seen(&signed_in, session, now), self.record_visit(user, signed_in.day)).await;
        if let Err(error) = seen {
            tracing::warn!(error = &error as &dyn std::error::Error, "a session could not be marked as seen");
        }
        Ok(Viewer::SignedIn(signed_in))
    }

    async fn mark_seen(&self, signed_in: &SignedIn, session: Session, now: Timestamp) -> Result<(), Error> {
        if now.since(session.last_seen_at) < SEEN_WITHIN {
            return Ok(());
        }
        let expires_at = now.plus(self.0.rules.account.session_lifetime());
        let seen = Session { last_seen_at: now, expires_at, ..session.clone() };
        let before = StoredSession { token: signed_in.token, session };
        session::touch(self.keys(), signed_in.user, &before, &seen).send("mark seen", self.store()).await?;
        Ok(())
    }
}
