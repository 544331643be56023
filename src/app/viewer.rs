//! Who is asking.
//!
//! Not here: where the token comes from (`http::auth`).

use std::time::Duration;

use futures::future::join;

use crate::app::App;
use crate::app::error::{Error, Refused};
use crate::app::rate_limit::{Charge, RateLimit};
use crate::model::address::Address;
use crate::model::clock::{Day, Timestamp};
use crate::model::id::UserId;
use crate::model::secret::{Token, TokenHash};
use crate::model::session::{Session, SessionId};
use crate::store;
use crate::store::session::{self, StoredSession};

/// How exactly a session tells when it was seen: the price of a write is paid once in this time.
const SEEN_WITHIN: Duration = Duration::from_mins(5);

/// Who is asking, and from where.
#[derive(Clone, Debug)]
pub struct Asker {
    /// Who.
    pub viewer: Viewer,
    /// From where; `None` if that is not known.
    pub address: Option<Address>,
    /// What it may still ask for; `None` if that is not limited.
    pub rate_limit: Option<RateLimit>,
}

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
        Ok(self.recognise_and_charge(token, None).await?.0)
    }

    /// Waits until the session that asks has ended; for ever, if nobody is signed in. Who stays counts as coming back
    /// now and then.
    pub async fn session_end(&self, viewer: &Viewer) {
        let Ok((SignedIn { user, token, .. }, mut listener)) =
            viewer.signed_in().and_then(|signed_in| Ok((signed_in, self.listen(viewer)?)))
        else {
            return std::future::pending().await;
        };
        loop {
            if listener.changes().await.sessions
                && let Err(Error::Refused(_)) = self.recognise_session(*user, *token, None).await
            {
                return;
            }
        }
    }

    /// The same, and what is left to the viewer when it has been charged, in the same round trips. Who has not enough
    /// left does not count as having come.
    pub(super) async fn recognise_and_charge(
        &self,
        token: &str,
        charge: Option<Charge>,
    ) -> Result<(Viewer, Option<RateLimit>), Error> {
        let token = Token::parse(token).ok_or(Error::Refused(Refused::BadToken))?;
        self.recognise_session(token.user(), token.hash(), charge).await
    }

    async fn recognise_session(
        &self,
        user: UserId,
        hash: TokenHash,
        charge: Option<Charge>,
    ) -> Result<(Viewer, Option<RateLimit>), Error> {
        let bad = || Error::Refused(Refused::BadToken);
        let now = self.now();
        let read = self.read_session(user, &hash, charge, now).await?;
        let is_live = |session: &Session| self.0.rules.account.is_live(session, now);
        let (session, rate_limit) = read.filter(|(session, _)| is_live(session)).ok_or_else(bad)?;
        let signed_in = SignedIn { user, session: session.id, day: Day::of(now), token: hash };
        if rate_limit.is_some_and(|rate_limit| rate_limit.wait.is_some()) {
            return Ok((Viewer::SignedIn(signed_in), rate_limit));
        }
        // Who may read is let in even where nothing can be written.
        let (seen, ()) =
            join(self.mark_seen(&signed_in, session, now), self.record_visit(user, signed_in.day)).await;
        if let Err(error) = seen {
            tracing::warn!(error = &error as &dyn std::error::Error, "a session could not be marked as seen");
        }
        Ok((Viewer::SignedIn(signed_in), rate_limit))
    }

    /// The session that a token opens, expired or not, and what is left to its user.
    async fn read_session(
        &self,
        user: UserId,
        token: &TokenHash,
        charge: Option<Charge>,
        now: Timestamp,
    ) -> Result<Option<(Session, Option<RateLimit>)>, Error> {
        if let Some(charge) = charge {
            let read = session::read_and_draw(self.keys(), user, token, charge.limit(), charge.cost, now);
            let read = read.send("recognise", self.store()).await;
            // Where nothing can be written, nothing is limited.
            if !read.as_ref().is_err_and(store::error::Error::is_read_only) {
                return Ok(read?.map(|(session, drawn)| (session, Some(charge.drawn(drawn, now)))));
            }
        }
        let read = session::read(self.keys(), user, token).send("recognise", self.store()).await?;
        Ok(read.map(|session| (session, None)))
    }

    async fn mark_seen(&self, signed_in: &SignedIn, session: Session, now: Timestamp) -> Result<(), Error> {
        if now.since(session.last_seen_at) < SEEN_WITHIN {
            return Ok(());
        }
        let expires_at = self.0.rules.account.session_end(session.created_at, now);
        let seen = Session { last_seen_at: now, expires_at, ..session.clone() };
        let before = StoredSession { token: signed_in.token, session };
        session::touch(self.keys(), signed_in.user, &before, &seen).send("mark seen", self.store()).await?;
        Ok(())
    }
}
