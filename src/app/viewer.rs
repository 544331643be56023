//! Authentication: the caller of a request.
//!
//! Not here: extraction of the token from the request (`http::auth`).

use std::time::Duration;

use futures::future::join;

use crate::app::App;
use crate::app::charge::{Charge, RateLimit};
use crate::app::error::{Error, Rejection};
use crate::model::address::Address;
use crate::model::clock::{Day, Timestamp};
use crate::model::id::UserId;
use crate::model::secret::{Token, TokenHash};
use crate::model::session::{Session, SessionId};
use crate::store;
use crate::store::session::{self, StoredSession};

/// Precision of a session's last-seen time: it is written at most once per interval.
const SEEN_WITHIN: Duration = Duration::from_mins(5);

/// The caller of a request: identity, address and rate limit.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The identity.
    pub viewer: Viewer,
    /// The client address; `None` if unknown.
    pub address: Option<Address>,
    /// The state of the caller's rate limit; `None` if not limited.
    pub rate_limit: Option<RateLimit>,
}

/// The identity of a caller.
#[derive(Clone, Debug)]
pub enum Viewer {
    /// Not signed in: may read public data.
    Anonymous,
    /// A user, authenticated by one of their sessions.
    SignedIn(SignedIn),
}

/// An authenticated user and their session.
#[derive(Clone, Debug)]
pub struct SignedIn {
    /// The user.
    pub user: UserId,
    /// The session.
    pub session: SessionId,
    /// The day of the request.
    pub day: Day,
    pub(super) token: TokenHash,
}

impl Viewer {
    /// Returns the user, if signed in.
    #[must_use]
    pub fn user(&self) -> Option<UserId> {
        match self {
            Self::Anonymous => None,
            Self::SignedIn(signed_in) => Some(signed_in.user),
        }
    }

    /// Returns the user and session; rejected for an anonymous request.
    pub fn signed_in(&self) -> Result<&SignedIn, Error> {
        match self {
            Self::Anonymous => Err(Error::Rejected(Rejection::Unauthenticated)),
            Self::SignedIn(signed_in) => Ok(signed_in),
        }
    }
}

impl App {
    /// Authenticates a token, and counts the user as a visitor of today. One round trip; a second one every
    /// few minutes of use, and for the first use of a day.
    ///
    /// A token of no live session is rejected instead of being treated as anonymous.
    pub async fn authenticate(&self, token: &str) -> Result<Viewer, Error> {
        Ok(self.authenticate_and_charge(token, None).await?.0)
    }

    /// Waits until the viewer's session has ended; never completes for an anonymous viewer. While waiting,
    /// the user counts as a visitor from time to time.
    pub async fn session_end(&self, viewer: &Viewer) {
        let Ok((SignedIn { user, token, .. }, mut listener)) =
            viewer.signed_in().and_then(|signed_in| Ok((signed_in, self.listen(viewer)?)))
        else {
            return std::future::pending().await;
        };
        loop {
            if listener.changes().await.sessions
                && let Err(Error::Rejected(_)) = self.authenticate_session(*user, *token, None).await
            {
                return;
            }
        }
    }

    /// Does the same and charges the viewer, in the same round trips. A viewer with too few tokens does not
    /// count as a visitor.
    pub(super) async fn authenticate_and_charge(
        &self,
        token: &str,
        charge: Option<Charge>,
    ) -> Result<(Viewer, Option<RateLimit>), Error> {
        let token = Token::parse(token).ok_or(Error::Rejected(Rejection::BadToken))?;
        self.authenticate_session(token.user(), token.hash(), charge).await
    }

    async fn authenticate_session(
        &self,
        user: UserId,
        hash: TokenHash,
        charge: Option<Charge>,
    ) -> Result<(Viewer, Option<RateLimit>), Error> {
        let bad = || Error::Rejected(Rejection::BadToken);
        let now = self.now();
        let read = self.read_session(user, &hash, charge, now).await?;
        let is_live = |session: &Session| self.0.rules.account.is_live(session, now);
        let (session, rate_limit) = read.filter(|(session, _)| is_live(session)).ok_or_else(bad)?;
        let signed_in = SignedIn { user, session: session.id, day: Day::of(now), token: hash };
        if rate_limit.is_some_and(|rate_limit| rate_limit.wait.is_some()) {
            return Ok((Viewer::SignedIn(signed_in), rate_limit));
        }
        // Authentication succeeds even if the store is not writable.
        let (seen, ()) =
            join(self.mark_seen(&signed_in, session, now), self.record_visit(user, signed_in.day)).await;
        if let Err(error) = seen {
            tracing::warn!(error = &error as &dyn std::error::Error, "a session could not be marked as seen");
        }
        Ok((Viewer::SignedIn(signed_in), rate_limit))
    }

    /// Returns the session of a token, expired or not, and the user's rate limit after the charge.
    async fn read_session(
        &self,
        user: UserId,
        token: &TokenHash,
        charge: Option<Charge>,
        now: Timestamp,
    ) -> Result<Option<(Session, Option<RateLimit>)>, Error> {
        if let Some(charge) = charge {
            let read = session::read_and_take(self.keys(), user, token, charge.limit(), charge.cost, now);
            let read = read.send("authenticate", self.store()).await;
            // If the store is not writable, nothing is limited.
            if !read.as_ref().is_err_and(store::error::Error::is_read_only) {
                return Ok(read?.map(|(session, taken)| (session, Some(charge.rate_limit(taken, now)))));
            }
        }
        let read = session::read(self.keys(), user, token).send("authenticate", self.store()).await?;
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
