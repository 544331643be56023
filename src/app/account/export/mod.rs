//! Exports of an account's data: who may download one.
//!
//! There is no stored file, which a deployment of several servers could not share. A user requests an export and
//! receives the token of its download; each download then reads the data page by page ([`page`]), and may continue
//! where an earlier one was interrupted.
//!
//! The token ends with the sign-in that requested it. So a changed password, `logoutEverywhere`, a suspension and a
//! deletion end it as well, without a step of their own.

pub mod page;
pub mod position;

use std::time::Duration;

use crate::app::App;
use crate::app::charge::{Charge, RateLimit};
use crate::app::error::{Error, Rejection};
use crate::app::viewer::{Credential, JwtGrant, KnownVersion, SessionCredential, SignedIn, Viewer};
use crate::model::account::Account;
use crate::model::address::Address;
use crate::model::clock::{Day, Timestamp};
use crate::model::id::UserId;
use crate::model::secret::Token;
use crate::store::batch::Batch;
use crate::store::export::{self, Requester, StoredExport};
use crate::store::{account, exclusion};

/// Time for which an export can be downloaded.
const LIFETIME: Duration = Duration::from_hours(24);

/// A requested export. The server stores only the token's hash, so the token cannot be read again later.
#[derive(Debug)]
pub struct RequestedExport {
    /// Token of the download.
    pub token: Token,
    /// Time from which on the token is rejected.
    pub expires_at: Timestamp,
}

/// A user who downloads their export.
#[derive(Debug)]
pub struct Downloader {
    /// The user, authenticated by the sign-in that requested the export.
    pub viewer: Viewer,
    /// Id of the user.
    pub user: UserId,
    /// Name of the user.
    pub username: String,
    /// State of the user's rate limit after the charge; `None` if the user is not limited.
    pub rate_limit: Option<RateLimit>,
}

impl App {
    /// Requests an export of the viewer's data, which replaces the one requested before. A viewer with a password must
    /// give it again. Makes one round trip, plus two and one password verification for a viewer with a password.
    pub async fn export_account(
        &self,
        viewer: &Viewer,
        current_password: Option<&str>,
        from: Option<Address>,
    ) -> Result<RequestedExport, Error> {
        let signed_in = viewer.signed_in()?;
        self.confirm_password(viewer, current_password, from).await?;
        let requester = match signed_in.credential {
            Credential::Session(SessionCredential { token, .. }) => Requester::Session(token),
            Credential::Jwt(JwtGrant { subject, key, .. }) => Requester::Jwt { subject, key },
            Credential::Operator => return Err(Error::Rejected(Rejection::Unauthenticated)),
        };
        let now = self.now();
        let (token, expires_at) = (Token::issue(signed_in.user, self.rng()), now.plus(LIFETIME));
        let stored = StoredExport { token: token.hash(), expires_at, requester };
        export::write(self.keys(), signed_in.user, &stored, now).send("export: write", self.store()).await?;
        Ok(RequestedExport { token, expires_at })
    }

    /// Returns the user who may download the export with this token, and charges them; `None` if there is no such
    /// export, or if it has ended. Makes two round trips.
    pub async fn open_export(
        &self,
        token: &str,
        charge: Option<Charge>,
    ) -> Result<Option<Downloader>, Error> {
        let Some(token) = Token::parse(token) else { return Ok(None) };
        let user = token.user();
        let mut batch = Batch::new("export: open");
        let stored = batch.push(export::read(self.keys(), user));
        let account = batch.push(account::read(self.keys(), user));
        let mut replies = batch.send(self.store()).await?;
        let (stored, account) = (replies.take(stored)?, replies.take(account)?);
        let is_valid = |stored: &StoredExport| stored.token == token.hash() && stored.expires_at > self.now();
        let (Some(stored), Some(account)) = (stored.filter(is_valid), account.filter(Account::is_active))
        else {
            return Ok(None);
        };
        let authenticated = match stored.requester {
            Requester::Session(session) => self.authenticate_session(user, session, charge).await,
            Requester::Jwt { subject, key } => {
                let grant = JwtGrant { subject, ends_at: stored.expires_at, key };
                self.authenticate_grant(user, grant, charge).await
            }
        };
        match authenticated {
            Ok((viewer, rate_limit)) => {
                Ok(Some(Downloader { viewer, user, username: account.username, rate_limit }))
            }
            Err(Error::Rejected(Rejection::BadToken | Rejection::BadJwt(_))) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the viewer as whom the operator reads a user's data, whether or not the account is active. Makes one
    /// round trip.
    pub async fn operator_as(&self, user: UserId) -> Result<Viewer, Error> {
        let version = exclusion::version(self.keys(), user).send("export: exclusions", self.store()).await?;
        Ok(Viewer::SignedIn(SignedIn {
            user,
            credential: Credential::Operator,
            day: Day::of(self.now()),
            exclusions: KnownVersion::new(version),
            has_written: true,
        }))
    }
}
