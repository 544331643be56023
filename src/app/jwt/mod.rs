//! Signs users in with the JSON Web Tokens (JWT) of an existing application.
//!
//! A token's issuer and subject determine the user, who is created at first sight
//! ([`crate::app::user::first_sign_in`]). E-mail, second factors and passkeys are the application's. A verified token
//! is cached until it expires, or until its key is no longer in force. Each request checks that the account still
//! exists and belongs to the subject, in the round trip that also charges the user and reads the version of the
//! exclusions.
//!
//! Not here: the keys and when they are fetched ([`key_ring`]), and session tokens (`app::viewer`).

mod fetch;
pub mod key_ring;
mod keys;
mod signature;

use std::sync::Arc;
use std::time::Duration;

use futures::future::join;
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Header, Validation, decode, decode_header};
use quick_cache::sync::Cache;
use serde_json::{Map, Value};
use tokio::sync::Semaphore;

use crate::app::App;
use crate::app::charge::{Charge, RateLimit};
use crate::app::error::{Error, JwtFault, Rejection};
use crate::app::jwt::key_ring::{KeyRing, KeyRingError, KeyRingState};
use crate::app::jwt::keys::{KeySet, VerificationKey};
use crate::app::user::first_sign_in::SuggestedProfile;
use crate::app::viewer::{Credential, JwtGrant, KnownVersion, SignedIn, Viewer};
use crate::config::{JwtAlgorithm, JwtConfig};
use crate::model::clock::{Day, Timestamp};
use crate::model::digest::Digest;
use crate::model::id::UserId;
use crate::model::secret::TokenHash;
use crate::model::subject::Subject;
use crate::model::user::{DisplayName, Username};
use crate::store::authentication::{self, Account};
use crate::store::batch::Batch;

/// Maximum length of a token, in bytes.
const LONGEST_TOKEN: usize = 4_096;
/// Number of verified tokens that this process caches.
const CACHED_TOKENS: usize = 10_000;
/// Number of subjects whose users this process caches.
const CACHED_SUBJECTS: usize = 50_000;
/// Maximum number of users whom this process creates at a time.
const MOST_CREATIONS: usize = 16;
/// Time for which a first request waits for its turn to create a user.
const CREATION_TIMEOUT: Duration = Duration::from_secs(5);
/// Interval at which an open WebSocket or event stream checks that its token's key is still in force.
const GRANT_INTERVAL: Duration = Duration::from_mins(1);

/// The verifier of tokens in this process. Clones share it.
#[derive(Clone)]
pub(super) struct Jwt(Arc<Inner>);

struct Inner {
    config: JwtConfig,
    ring: KeyRing,
    verified: Cache<TokenHash, Arc<Verified>>,
    creations: Semaphore,
}

/// The users of subjects that this process has seen.
pub(super) struct SubjectCache(Cache<Subject, UserId>);

impl Default for SubjectCache {
    fn default() -> Self {
        Self(Cache::new(CACHED_SUBJECTS))
    }
}

/// The claims of a token whose signature, issuer and audience were verified.
#[derive(Debug)]
struct Verified {
    subject: Subject,
    suggested: SuggestedProfile,
    not_before: Option<Timestamp>,
    expires_at: Timestamp,
    /// Digest of the key that signed the token.
    key: Digest,
}

impl Verified {
    /// Checks the token's times. `leeway` is the tolerated difference between clocks.
    fn check_times(&self, now: Timestamp, leeway: Duration) -> Result<(), JwtFault> {
        if self.expires_at.plus(leeway) <= now {
            return Err(JwtFault::Expired);
        }
        if self.not_before.is_some_and(|not_before| now.plus(leeway) < not_before) {
            return Err(JwtFault::NotYetValid);
        }
        Ok(())
    }
}

impl Jwt {
    /// Creates a verifier without keys.
    pub(super) fn new(config: &JwtConfig) -> Self {
        Self(Arc::new(Inner {
            config: config.clone(),
            ring: KeyRing::default(),
            verified: Cache::new(CACHED_TOKENS),
            creations: Semaphore::new(MOST_CREATIONS),
        }))
    }

    /// Returns true if users sign in with tokens.
    pub(super) fn is_on(&self) -> bool {
        matches!(self.0.config.source(), Ok(Some(_)))
    }

    /// Verifies a token. A token that was verified before costs a lookup.
    async fn verify(&self, token: &str, now: Timestamp) -> Result<Arc<Verified>, JwtFault> {
        let Inner { config, ring, verified, .. } = &*self.0;
        if token.len() > LONGEST_TOKEN {
            return Err(JwtFault::TooLong { limit: LONGEST_TOKEN });
        }
        let hash = TokenHash::of(token);
        if let Some(known) = verified.get(&hash).filter(|known| ring.keys().contains(known.key)) {
            known.check_times(now, config.leeway())?;
            return Ok(known);
        }
        let checked = Arc::new(self.verify_signed(token, now).await?);
        checked.check_times(now, config.leeway())?;
        verified.insert(hash, Arc::clone(&checked));
        Ok(checked)
    }

    /// Verifies everything but a token's times. Looks for new keys once if the token's key is unknown.
    async fn verify_signed(&self, token: &str, now: Timestamp) -> Result<Verified, JwtFault> {
        let header = decode_header(token).map_err(|_| JwtFault::Malformed)?;
        self.check_header(&header)?;
        let ring = &self.0.ring;
        match self.verify_with(&ring.keys(), token, &header) {
            Err(JwtFault::UnknownKey) => {
                ring.look_for_new_keys(now).await;
                self.verify_with(&ring.keys(), token, &header)
            }
            checked => checked,
        }
    }

    fn check_header(&self, header: &Header) -> Result<(), JwtFault> {
        // Extensions that the issuer marks as critical must not be ignored (RFC 7515, section 4.1.11).
        if header.crit.is_some() {
            return Err(JwtFault::Malformed);
        }
        let is_accepted = self.0.config.jwt_algorithms.iter().any(|accepted| name(*accepted) == header.alg);
        if is_accepted { Ok(()) } else { Err(JwtFault::Algorithm) }
    }

    /// Verifies a token with the keys that may have signed it.
    fn verify_with(&self, keys: &KeySet, token: &str, header: &Header) -> Result<Verified, JwtFault> {
        let mut fault = JwtFault::UnknownKey;
        for key in keys.candidates(header.kid.as_deref(), header.alg)? {
            match self.verify_with_key(key, token, header) {
                Err(JwtFault::Signature) => fault = JwtFault::Signature,
                checked => return checked,
            }
        }
        Err(fault)
    }

    fn verify_with_key(
        &self,
        key: &VerificationKey,
        token: &str,
        header: &Header,
    ) -> Result<Verified, JwtFault> {
        let config = &self.0.config;
        let issuer = config.issuer().unwrap_or_default();
        let mut validation = Validation::new(header.alg);
        validation.set_required_spec_claims(&["iss", "aud", "exp", "sub"]);
        validation.set_issuer(&[issuer]);
        validation.set_audience(&config.audiences().collect::<Vec<_>>());
        // The library would read the system's clock. `check_times` checks the times, also those of cached tokens.
        (validation.validate_exp, validation.validate_nbf) = (false, false);
        let claims: Map<String, Value> =
            decode(token, &key.decoding, &validation).map_err(|error| fault(error.kind()))?.claims;
        // The library also accepts a list of issuers.
        if claims.get("iss").and_then(Value::as_str) != Some(issuer) {
            return Err(JwtFault::Issuer);
        }
        let text = |claim: &str| claims.get(claim).and_then(Value::as_str);
        let id = text("sub").filter(|id| !id.is_empty()).ok_or(JwtFault::Claim("sub"))?;
        let not_before = claims.get("nbf").map(|time| seconds(time).ok_or(JwtFault::Claim("nbf")));
        Ok(Verified {
            subject: Subject::of(issuer, id),
            suggested: SuggestedProfile {
                username: text(&config.jwt_username_claim).and_then(Username::resembling),
                display_name: text("name").and_then(|name| DisplayName::parse(name).ok()),
            },
            not_before: not_before.transpose()?,
            expires_at: claims.get("exp").and_then(seconds).ok_or(JwtFault::Claim("exp"))?,
            key: key.digest,
        })
    }
}

/// Returns an algorithm as the library names it.
fn name(algorithm: JwtAlgorithm) -> jsonwebtoken::Algorithm {
    match algorithm {
        JwtAlgorithm::Rs256 => jsonwebtoken::Algorithm::RS256,
        JwtAlgorithm::Rs384 => jsonwebtoken::Algorithm::RS384,
        JwtAlgorithm::Rs512 => jsonwebtoken::Algorithm::RS512,
        JwtAlgorithm::Ps256 => jsonwebtoken::Algorithm::PS256,
        JwtAlgorithm::Ps384 => jsonwebtoken::Algorithm::PS384,
        JwtAlgorithm::Ps512 => jsonwebtoken::Algorithm::PS512,
        JwtAlgorithm::Es256 => jsonwebtoken::Algorithm::ES256,
        JwtAlgorithm::Es384 => jsonwebtoken::Algorithm::ES384,
        JwtAlgorithm::EdDsa => jsonwebtoken::Algorithm::EdDSA,
    }
}

/// Returns the rule that a token violates, as the library reports it.
fn fault(kind: &ErrorKind) -> JwtFault {
    match kind {
        ErrorKind::InvalidSignature => JwtFault::Signature,
        ErrorKind::InvalidAlgorithm | ErrorKind::UnsupportedAlgorithm => JwtFault::Algorithm,
        ErrorKind::InvalidIssuer => JwtFault::Issuer,
        ErrorKind::InvalidAudience => JwtFault::Audience,
        ErrorKind::MissingRequiredClaim(claim) => {
            let required = ["iss", "aud", "exp", "sub"].into_iter().find(|required| required == claim);
            required.map_or(JwtFault::Malformed, JwtFault::Claim)
        }
        _ => JwtFault::Malformed,
    }
}

/// Reads a time in seconds since the Unix epoch, possibly with a fraction.
fn seconds(time: &Value) -> Option<Timestamp> {
    let seconds = time.as_f64().filter(|seconds| *seconds >= 0.0)?;
    let seconds = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
    Some(Timestamp::from_millis(0).plus(seconds))
}

impl App {
    /// Reads the keys of sign-in with tokens, if it is configured. Call this function before serving. A key set that
    /// cannot be fetched is no error: it is fetched later.
    pub async fn open_jwt(&self) -> Result<(), KeyRingError> {
        let Inner { config, ring, .. } = &*self.0.jwt.0;
        let Some(source) = config.source().map_err(KeyRingError::Options)? else { return Ok(()) };
        signature::install();
        ring.open(source, self.now()).await
    }

    /// Fetches the keys from time to time, until dropped. Does nothing if they are not at a URL.
    pub async fn keep_jwt_keys_current(&self) {
        while let Some(interval) = self.0.jwt.0.ring.interval() {
            tokio::time::sleep(interval).await;
            self.refresh_jwt_keys().await;
        }
        std::future::pending::<()>().await;
    }

    /// Fetches the keys now, if they are at a URL. Logs a failure, which leaves the known keys in force.
    pub async fn refresh_jwt_keys(&self) {
        self.0.jwt.0.ring.refresh(self.now()).await;
    }

    /// Returns the state of the keys; `None` if sign-in with tokens is not configured.
    #[must_use]
    pub fn jwt_keys(&self) -> Option<KeyRingState> {
        self.0.jwt.is_on().then(|| self.0.jwt.0.ring.report(self.now()))
    }

    /// Authenticates a JWT, and charges the viewer in the same round trip. A viewer with too few tokens in their bucket
    /// does not count as a visitor. The first request of a subject creates the user.
    pub(super) async fn authenticate_jwt(
        &self,
        token: &str,
        charge: Option<Charge>,
    ) -> Result<(Viewer, Option<RateLimit>), Error> {
        let now = self.now();
        let verified = self.0.jwt.verify(token, now).await?;
        let user = self.user_of_token(&verified).await?;
        let grant = JwtGrant {
            subject: verified.subject,
            ends_at: verified.expires_at.plus(self.0.jwt.0.config.leeway()),
            key: verified.key,
        };
        self.admit_grant(user, grant, charge, now).await
    }

    /// Returns the viewer to whom a grant belongs, and charges them, like [`App::authenticate`]. Fails if the grant has
    /// ended.
    pub(super) async fn authenticate_grant(
        &self,
        user: UserId,
        grant: JwtGrant,
        charge: Option<Charge>,
    ) -> Result<(Viewer, Option<RateLimit>), Error> {
        self.check_grant(&grant)?;
        self.admit_grant(user, grant, charge, self.now()).await
    }

    async fn admit_grant(
        &self,
        user: UserId,
        grant: JwtGrant,
        charge: Option<Charge>,
        now: Timestamp,
    ) -> Result<(Viewer, Option<RateLimit>), Error> {
        let (read, has_written) =
            join(self.read_account(user, grant.subject, charge, now), self.has_written(user)).await;
        let (exclusions, rate_limit) = read?;
        let signed_in =
            SignedIn { user, credential: Credential::Jwt(grant), day: Day::of(now), exclusions, has_written };
        if rate_limit.is_none_or(|rate_limit| rate_limit.wait.is_none()) {
            self.record_visit(user, signed_in.day).await;
        }
        Ok((Viewer::SignedIn(signed_in), rate_limit))
    }

    /// Returns the user of a token's subject. Makes no round trip if the subject is cached.
    async fn user_of_token(&self, verified: &Verified) -> Result<UserId, Error> {
        let subjects = &self.0.process.subjects.0;
        let find = async {
            let creations = self.0.jwt.0.creations.acquire();
            let busy = |_| Error::Rejected(Rejection::Busy { retry_after: CREATION_TIMEOUT });
            let _turn = tokio::time::timeout(CREATION_TIMEOUT, creations).await.map_err(busy)?;
            let user = self.user_of_subject(verified.subject, &verified.suggested).await?;
            // A user created now must be visible to this request, and to the next ones.
            self.note_write_of(user).await;
            Ok(user)
        };
        subjects.get_or_insert_async(&verified.subject, Box::pin(find)).await
    }

    /// Checks that a user's account exists and belongs to this subject. Returns the version of the user's exclusions,
    /// and the user's rate limit after the charge.
    async fn read_account(
        &self,
        user: UserId,
        subject: Subject,
        charge: Option<Charge>,
        now: Timestamp,
    ) -> Result<(KnownVersion, Option<RateLimit>), Error> {
        let (account, rate_limit) = self.read_account_and_take(user, subject, charge, now).await?;
        if account.exists && account.subject == Some(subject) {
            return Ok((KnownVersion::new(account.exclusions), rate_limit));
        }
        // The subject's next request looks for its user again.
        self.0.process.subjects.0.remove(&subject);
        Err(JwtFault::NoAccount.into())
    }

    async fn read_account_and_take(
        &self,
        user: UserId,
        subject: Subject,
        charge: Option<Charge>,
        now: Timestamp,
    ) -> Result<(Account, Option<RateLimit>), Error> {
        if let Some(charge) = charge {
            let (limit, cost) = (charge.limit(), charge.cost);
            let read = authentication::read_and_take(self.keys(), user, subject, limit, cost, now);
            let read = read.send("authenticate", self.store()).await;
            // Apply no limit if the store is not writable, or while the user's slot moves.
            if !read.as_ref().is_err_and(|error| error.is_read_only() || error.is_divided()) {
                let (account, taken) = read?;
                return Ok((account, Some(charge.rate_limit(taken, now))));
            }
        }
        let mut batch = Batch::new("authenticate");
        let account = authentication::read(self.keys(), user, &mut batch);
        Ok((account.take(&mut batch.send(self.store()).await?)?, None))
    }

    /// Waits for a while, or until the viewer's token is no longer accepted. Returns the violated rule in that case.
    pub(super) async fn wait_for_grant_end(&self, grant: &JwtGrant) -> Option<JwtFault> {
        let left = grant.ends_at.since(self.now());
        tokio::time::sleep(left.min(GRANT_INTERVAL)).await;
        self.check_grant(grant).err()
    }

    /// Checks that a verified token has not expired, and that its key is in force.
    fn check_grant(&self, grant: &JwtGrant) -> Result<(), JwtFault> {
        if grant.ends_at <= self.now() {
            return Err(JwtFault::Expired);
        }
        if self.0.jwt.0.ring.keys().contains(grant.key) { Ok(()) } else { Err(JwtFault::UnknownKey) }
    }

    /// Checks that a viewer's account still exists.
    pub(super) async fn check_account(&self, user: UserId, grant: &JwtGrant) -> Result<(), Error> {
        self.read_account(user, grant.subject, None, self.now()).await.map(drop)
    }
}

impl From<JwtFault> for Error {
    fn from(fault: JwtFault) -> Self {
        Self::Rejected(Rejection::BadJwt(fault))
    }
}
