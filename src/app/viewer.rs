//! Authenticates the caller of a request.
//!
//! Not here: extraction of the token from the request (`http::auth`), and the tokens of an existing application
//! (`app::jwt`).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::future::join;

use crate::app::App;
use crate::app::charge::{Charge, RateLimit};
use crate::app::error::{Error, Reason, Rejection};
use crate::model::address::Address;
use crate::model::clock::{Day, Timestamp};
use crate::model::digest::Digest;
use crate::model::exclusion::Version;
use crate::model::id::UserId;
use crate::model::secret::{Token, TokenHash};
use crate::model::session::{Session, SessionId};
use crate::model::subject::Subject;
use crate::store::command::Command;
use crate::store::session::{self, Authentication, StoredSession};

/// Minimum interval between updates of a session's last-seen time, and so the precision of that time.
const SEEN_WITHIN: Duration = Duration::from_mins(5);

/// The caller of a request: identity, address and rate limit.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Caller's identity.
    pub viewer: Viewer,
    /// Client address; `None` if unknown.
    pub address: Option<Address>,
    /// State of the caller's rate limit after the charge; `None` if the caller is not limited.
    pub rate_limit: Option<RateLimit>,
}

/// A caller's identity.
#[derive(Clone, Debug)]
pub enum Viewer {
    /// A caller who is not signed in and may read public data.
    Anonymous,
    /// A user, authenticated by one of their sessions or by a token of an existing application.
    SignedIn(SignedIn),
}

/// An authenticated user and their credential.
#[derive(Clone, Debug)]
pub struct SignedIn {
    /// Id of the user.
    pub user: UserId,
    /// What authenticated the request.
    pub(super) credential: Credential,
    /// Day of the request, in UTC.
    pub day: Day,
    /// Version of the user's exclusions.
    pub(super) exclusions: KnownVersion,
    /// True if replicas may lack writes of the user.
    pub(super) has_written: bool,
}

/// What authenticated a request.
#[derive(Clone, Debug)]
pub(super) enum Credential {
    /// A session.
    Session(SessionCredential),
    /// A JSON Web Token.
    Jwt(JwtGrant),
    /// The command line, on which the operator reads what the user can read.
    Operator,
}

/// The session that authenticated a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct SessionCredential {
    /// Id of the session.
    pub(super) id: SessionId,
    /// Hash of its token.
    pub(super) token: TokenHash,
}

/// The sign-in that a JSON Web Token grants. There is no session.
#[derive(Clone, Copy, Debug)]
pub(super) struct JwtGrant {
    /// Subject of the token.
    pub(super) subject: Subject,
    /// Time from which on the token is rejected.
    pub(super) ends_at: Timestamp,
    /// Digest of the key that signed the token.
    pub(super) key: Digest,
}

impl SignedIn {
    /// Returns the id of the session that authenticated the request; `None` if a JSON Web Token did.
    #[must_use]
    pub fn session(&self) -> Option<SessionId> {
        self.session_credential().ok().map(|session| session.id)
    }

    /// Returns the session that authenticated the request. Fails with [`Reason::ExternalSignIn`] if a JSON Web Token
    /// did: an existing application then manages passwords and sign-out.
    pub(super) fn session_credential(&self) -> Result<SessionCredential, Error> {
        match self.credential {
            Credential::Session(session) => Ok(session),
            Credential::Jwt(_) => {
                let message =
                    "You sign in with another application, which manages your password and sign-out.";
                Err(Error::rule(Reason::ExternalSignIn, None, message))
            }
            Credential::Operator => Err(Error::Rejected(Rejection::Unauthenticated)),
        }
    }
}

/// The last known version of a viewer's exclusions. Clones share it, so that all parts of an operation see the writes
/// of the operation.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownVersion(Arc<AtomicU64>);

impl KnownVersion {
    pub(super) fn new(version: Option<Version>) -> Self {
        Self(Arc::new(AtomicU64::new(version.map_or(0, Version::get))))
    }

    /// Returns the version; `None` if the viewer has never had exclusions.
    pub(super) fn get(&self) -> Option<Version> {
        Version::new(self.0.load(Ordering::Relaxed))
    }

    /// Replaces the version by a later one.
    pub(super) fn raise(&self, version: Option<Version>) {
        self.0.fetch_max(version.map_or(0, Version::get), Ordering::Relaxed);
    }
}

impl Viewer {
    /// Returns the user's id; `None` for an anonymous caller.
    #[must_use]
    pub fn user(&self) -> Option<UserId> {
        match self {
            Self::Anonymous => None,
            Self::SignedIn(signed_in) => Some(signed_in.user),
        }
    }

    /// Returns the user and their credential. Fails with [`Rejection::Unauthenticated`] for an anonymous caller.
    pub fn signed_in(&self) -> Result<&SignedIn, Error> {
        match self {
            Self::Anonymous => Err(Error::Rejected(Rejection::Unauthenticated)),
            Self::SignedIn(signed_in) => Ok(signed_in),
        }
    }
}

impl App {
    /// Authenticates a session token or a JSON Web Token, and counts the user as one of today's visitors. Makes one
    /// round trip (none if the session is cached), plus one every few minutes of a session's use and on the first use
    /// of a day; if replicas are read, another one at the same time. A subject's first token makes more.
    ///
    /// Rejects a token without a live session, instead of treating the caller as anonymous.
    pub async fn authenticate(&self, token: &str) -> Result<Viewer, Error> {
        Ok(self.authenticate_and_charge(token, None).await?.0)
    }

    /// Waits until the viewer's session ends or their token expires, and returns the rejection of the next request;
    /// never completes for an anonymous viewer. Counts the user of a session as a visitor from time to time while
    /// waiting.
    pub async fn session_end(&self, viewer: &Viewer) -> Rejection {
        let Ok((SignedIn { user, credential, .. }, mut listener)) =
            viewer.signed_in().and_then(|signed_in| Ok((signed_in, self.listen(viewer)?)))
        else {
            return std::future::pending().await;
        };
        loop {
            let ended = match credential {
                Credential::Session(SessionCredential { token, .. }) => {
                    if !listener.changes().await.sessions {
                        continue;
                    }
                    // The signal may arrive before the message that invalidates the cache.
                    self.store().forget_sessions(*user);
                    self.authenticate_session(*user, *token, None).await.map(drop)
                }
                Credential::Jwt(grant) => tokio::select! {
                    changes = listener.changes() => {
                        if !changes.sessions {
                            continue;
                        }
                        self.check_account(*user, grant).await
                    }
                    fault = self.wait_for_grant_end(grant) => fault.map_or(Ok(()), |fault| Err(fault.into())),
                },
                Credential::Operator => std::future::pending().await,
            };
            if let Err(Error::Rejected(rejection)) = ended {
                return rejection;
            }
        }
    }

    /// Authenticates a token like [`App::authenticate`], and charges the viewer in the same round trip. A viewer
    /// with too few tokens does not count as a visitor.
    pub(super) async fn authenticate_and_charge(
        &self,
        token: &str,
        charge: Option<Charge>,
    ) -> Result<(Viewer, Option<RateLimit>), Error> {
        // A session token contains no dots.
        if token.contains('.') && self.0.jwt.is_on() {
            return Box::pin(self.authenticate_jwt(token, charge)).await;
        }
        let token = Token::parse(token).ok_or(Error::Rejected(Rejection::BadToken))?;
        self.authenticate_session(token.user(), token.hash(), charge).await
    }

    /// Authenticates the session whose token has this hash, like [`App::authenticate`], and charges its user.
    pub(super) async fn authenticate_session(
        &self,
        user: UserId,
        hash: TokenHash,
        charge: Option<Charge>,
    ) -> Result<(Viewer, Option<RateLimit>), Error> {
        let bad = || Error::Rejected(Rejection::BadToken);
        let now = self.now();
        let (read, has_written) =
            join(self.read_session(user, &hash, charge, now), self.has_written(user)).await;
        let is_live = |session: &Session| self.0.rules.account.is_live(session, now);
        let (Authentication { session, exclusions }, rate_limit) =
            read?.filter(|(found, _)| is_live(&found.session)).ok_or_else(bad)?;
        let exclusions = KnownVersion::new(exclusions);
        let day = Day::of(now);
        let credential = SessionCredential { id: session.id, token: hash };
        let signed_in =
            SignedIn { user, credential: Credential::Session(credential), day, exclusions, has_written };
        if rate_limit.is_some_and(|rate_limit| rate_limit.wait.is_some()) {
            return Ok((Viewer::SignedIn(signed_in), rate_limit));
        }
        // Authentication succeeds even if the store is not writable.
        let (seen, ()) =
            join(self.mark_seen(user, hash, session, now), self.record_visit(user, signed_in.day)).await;
        if let Err(error) = seen {
            tracing::warn!(error = &error as &dyn std::error::Error, "session last-seen time not updated");
        }
        Ok((Viewer::SignedIn(signed_in), rate_limit))
    }

    /// Returns a token's session, expired or not, and the user's rate limit after the charge.
    async fn read_session(
        &self,
        user: UserId,
        token: &TokenHash,
        charge: Option<Charge>,
        now: Timestamp,
    ) -> Result<Option<(Authentication, Option<RateLimit>)>, Error> {
        if let Some(charge) = charge {
            let read = session::read_and_take(self.keys(), user, token, charge.limit(), charge.cost, now);
            let read = read.send("authenticate", self.store()).await;
            // Apply no limit if the store is not writable, or while the user's slot moves.
            if !read.as_ref().is_err_and(|error| error.is_read_only() || error.is_divided()) {
                return Ok(read?.map(|(found, taken)| (found, Some(charge.rate_limit(taken, now)))));
            }
        }
        Ok(self.store().session(user, token).await?.map(|found| (found, None)))
    }

    async fn mark_seen(
        &self,
        user: UserId,
        token: TokenHash,
        session: Session,
        now: Timestamp,
    ) -> Result<(), Error> {
        if now.since(session.last_seen_at) < SEEN_WITHIN {
            return Ok(());
        }
        let expires_at = self.0.rules.account.session_end(session.created_at, now);
        let seen = Session { last_seen_at: now, expires_at, ..session.clone() };
        let before = StoredSession { token, session };
        let touch = session::touch(self.keys(), user, &before, &seen);
        self.write_sessions(user, "mark seen", touch).await.map(drop)
    }

    /// Performs a write to a user's sessions, or to the version of the user's exclusions beside them. Makes one round
    /// trip.
    pub(super) async fn write_sessions<T>(
        &self,
        user: UserId,
        step: &'static str,
        write: Command<T>,
    ) -> Result<T, Error>
    where
        T: Send + 'static,
    {
        let written = write.send(step, self.store()).await;
        // Redis may have executed a write that failed.
        self.store().forget_sessions(user);
        Ok(written?)
    }
}
