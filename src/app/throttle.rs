//! Throttles password guesses and registrations.
//!
//! Each password attempt takes tokens from buckets ([`crate::store::bucket`]) before the server verifies the
//! password. If the password is correct, the server returns the tokens. The buckets depend on the attempt's
//! origin:
//! - An address from which the account has signed in before has its own bucket for this account. Only this
//!   bucket limits attempts from the address.
//! - Attempts from any other address take a token from the address's bucket, and then from the account's
//!   bucket, which all strangers share.
//! - Each session has its own bucket, for attempts to enter the current password when changing it.
//!
//! Guessing by strangers can therefore exhaust only the bucket that strangers share, never the owner's bucket
//! at a known address. Open sessions are not affected. Account buckets are keyed by name, so a name without
//! an account has a bucket like any other name. While an applicable bucket is empty, the server does not
//! verify even a correct password.
//!
//! Attempts with a recovery code take a token from the address's bucket alone, because a bucket of the account
//! would let strangers keep its owner from recovering it. A code is too long to be guessed.
//!
//! Correct passwords take tokens from separate buckets, one per user and one per address. Hashing a correct
//! password costs as much as hashing a wrong password, so these buckets bound the hashing that a client can
//! cause with its own accounts. The server checks these buckets before it verifies a password, and charges
//! them only if the password is correct. Wrong passwords therefore cannot empty these buckets.
//!
//! Not here: the buckets themselves (`store::bucket`).

use std::time::Duration;

use crate::app::App;
use crate::app::error::{Error, Reason, RuleViolation};
use crate::app::password::Source;
use crate::model::address::Address;
use crate::model::digest::Digest;
use crate::model::id::UserId;
use crate::model::session::SessionId;
use crate::model::user::Username;
use crate::store::batch::{Batch, Replies, Ticket};
use crate::store::bucket::{self, Limit, Taken};
use crate::store::command::Command;
use crate::store::key::{Bucket, Key};
use crate::store::throttle;

/// Refill period of the configured limits.
const PERIOD: Duration = Duration::from_hours(1);

/// Number of correct passwords per account per hour that the server accepts even if the address's bucket is
/// empty. Users who share an address with a client that empties the bucket can therefore still sign in.
const SPARED: u32 = 20;

/// A sign-in attempt: its account and origin.
pub(super) struct Attempt {
    /// Digest of the account's name, whether or not the account exists.
    account: Digest,
    origin: Option<Origin>,
}

impl Attempt {
    /// Returns the digest of the client address; `None` if the address is unknown.
    pub(super) fn address(&self) -> Option<Digest> {
        self.origin.as_ref().map(|origin| origin.address)
    }
}

/// The origin of a sign-in attempt.
struct Origin {
    address: Digest,
    /// Digest of the address, as stored with the account.
    stored: Digest,
    /// True if the account has signed in from this address before.
    is_known: bool,
    /// True if the attempt took a token from the address's bucket.
    has_taken: bool,
}

/// Pending checks of the limits on correct passwords, for a user and an address.
pub(super) struct SignIns {
    limit: Limit,
    of_user: Ticket<Taken>,
    from: Option<Ticket<Taken>>,
}

impl SignIns {
    /// Returns the rejection of a further correct password; `None` if the limits allow another.
    pub(super) fn rejection(self, replies: &mut Replies) -> Result<Option<Error>, Error> {
        let of_user = replies.take(self.of_user)?;
        let from = self.from.map(|from| replies.take(from)).transpose()?;
        let is_spared = of_user.remaining.saturating_add(SPARED) > self.limit.capacity;
        let from = from.filter(|_| !is_spared);
        Ok(admit(of_user).and_then(|()| from.map_or(Ok(()), admit)).err())
    }
}

/// Pending commands that settle a correct attempt.
pub(super) struct Settled {
    done: Vec<Ticket<bool>>,
    charged: Vec<Ticket<Taken>>,
}

impl Settled {
    /// Fails if any of the commands failed.
    pub(super) fn check(self, replies: &mut Replies) -> Result<(), Error> {
        replies.take_all(self.done)?;
        replies.take_all(self.charged)?;
        Ok(())
    }
}

/// Pending reads of an attempt's origin.
pub(super) struct Look {
    account: Digest,
    origin: Option<(Address, Ticket<bool>, Ticket<Taken>)>,
}

impl Look {
    /// Returns the attempt. Fails if the account has never signed in from this address and there were too
    /// many attempts from it.
    pub(super) fn check(self, replies: &mut Replies) -> Result<Attempt, Error> {
        let account = self.account;
        let Some((address, is_known, taken)) = self.origin else {
            return Ok(Attempt { account, origin: None });
        };
        let (is_known, taken) = (replies.take(is_known)?, replies.take(taken)?);
        if !is_known {
            admit(taken)?;
        }
        let (address, stored) = (address.digest(), address.digest_for(account));
        let origin = Origin { address, stored, is_known, has_taken: taken.wait.is_none() };
        Ok(Attempt { account, origin: Some(origin) })
    }
}

impl App {
    /// Adds to the batch the commands that read an attempt's origin and take a token from the address's
    /// bucket.
    pub(super) fn look(&self, name: &str, from: Option<Address>, batch: &mut Batch) -> Look {
        let (account, now) = (account(name), self.now());
        let origin = from.map(|from| {
            let is_known = throttle::is_known(self.keys(), account, from.digest_for(account), now);
            let bucket = self.keys().logins_from(from.digest());
            let taken = bucket::take(&bucket, self.limit_by_address(), 1, now);
            (from, batch.push(is_known), batch.push(taken))
        });
        Look { account, origin }
    }

    /// Takes a token from the account bucket that applies to this attempt.
    pub(super) fn take_for(&self, attempt: &Attempt) -> Command<Taken> {
        bucket::take(&self.bucket_of(attempt), self.limit_by_account(), 1, self.now())
    }

    fn bucket_of(&self, Attempt { account, origin }: &Attempt) -> Key<Bucket> {
        match origin {
            Some(Origin { stored, is_known: true, .. }) => self.keys().known_logins_to(*account, *stored),
            _ => self.keys().logins_to(*account),
        }
    }

    /// Adds to the batch the commands that settle a correct attempt: they return its tokens, charge the
    /// sign-in, and record the address as known.
    pub(super) fn settle(&self, user: UserId, attempt: &Attempt, batch: &mut Batch) -> Settled {
        let record = |Origin { stored, .. }: &Origin| {
            batch.push(throttle::record(self.keys(), attempt.account, *stored, self.now()))
        };
        let mut done: Vec<Ticket<bool>> = attempt.origin.as_ref().map(record).into_iter().collect();
        done.extend(self.give_back(attempt, batch));
        Settled { done, charged: self.charge_sign_in(user, attempt.address(), batch) }
    }

    /// Adds to the batch the commands that return an attempt's tokens to their buckets.
    fn give_back(&self, attempt: &Attempt, batch: &mut Batch) -> Vec<Ticket<bool>> {
        let now = self.now();
        let give_back = |bucket, limit| bucket::give_back(&bucket, limit, 1, now);
        let mut tickets = vec![batch.push(give_back(self.bucket_of(attempt), self.limit_by_account()))];
        if let Some(Origin { address, has_taken: true, .. }) = attempt.origin {
            tickets.push(batch.push(give_back(self.keys().logins_from(address), self.limit_by_address())));
        }
        tickets
    }

    /// Returns the tokens of an unverified attempt to their buckets. Makes one round trip.
    pub(super) async fn take_back(&self, attempt: &Attempt) {
        let mut batch = Batch::new("login: refund");
        self.give_back(attempt, &mut batch);
        // If this fails, the tokens refill over time.
        drop(batch.send(self.store()).await);
    }

    /// Adds to the batch the commands that check the buckets for correct passwords, without taking tokens.
    pub(super) fn look_at_sign_ins(&self, user: UserId, from: Option<Digest>, batch: &mut Batch) -> SignIns {
        let (now, keys, limit) = (self.now(), self.keys(), self.sign_ins_of_account());
        let of_user = bucket::peek(&keys.sign_ins_of(user), limit, 1, now);
        let from =
            from.map(|from| bucket::peek(&keys.sign_ins_from(from), self.sign_ins_of_address(), 1, now));
        SignIns { limit, of_user: batch.push(of_user), from: from.map(|from| batch.push(from)) }
    }

    /// Adds to the batch the commands that charge a correct password to its user and address. If concurrent
    /// attempts have emptied a bucket, this attempt succeeds without a charge to it, because the check has
    /// already admitted the attempt.
    pub(super) fn charge_sign_in(
        &self,
        user: UserId,
        from: Option<Digest>,
        batch: &mut Batch,
    ) -> Vec<Ticket<Taken>> {
        let (now, keys) = (self.now(), self.keys());
        let of_user = bucket::take(&keys.sign_ins_of(user), self.sign_ins_of_account(), 1, now);
        let from =
            from.map(|from| bucket::take(&keys.sign_ins_from(from), self.sign_ins_of_address(), 1, now));
        [Some(of_user), from].into_iter().flatten().map(|draw| batch.push(draw)).collect()
    }

    /// Takes a token from the session's bucket for password attempts.
    pub(super) fn take_for_session(&self, user: UserId, session: SessionId) -> Command<Taken> {
        let (bucket, names) = (self.keys().guesses(user, session), self.keys().expiring(user));
        bucket::take_noted(&bucket, &names, self.limit_by_account(), self.now())
    }

    /// Returns the token to the session's bucket after a correct password.
    pub(super) fn return_for_session(&self, user: UserId, session: SessionId) -> Command<bool> {
        let bucket = self.keys().guesses(user, session);
        bucket::give_back(&bucket, self.limit_by_account(), 1, self.now())
    }

    /// Returns the token to the session's bucket if the password was not verified. Makes one round trip.
    pub(super) async fn refund_session(&self, user: UserId, session: SessionId) {
        // If this fails, the token refills over time.
        drop(self.return_for_session(user, session).send("change password: refund", self.store()).await);
    }

    /// Takes a token from the address's bucket for registrations.
    pub(super) fn take_for_registration(&self, from: Address) -> Command<Taken> {
        let bucket = self.keys().registrations_from(from.digest());
        bucket::take(&bucket, limit(self.0.rules.account.account_registrations_per_address), 1, self.now())
    }

    /// Returns the token to the address's bucket if the queue was full and no account was created. Makes one
    /// round trip.
    pub(super) async fn refund_registration(&self, from: Address) {
        let bucket = self.keys().registrations_from(from.digest());
        let limit = limit(self.0.rules.account.account_registrations_per_address);
        let give_back = bucket::give_back(&bucket, limit, 1, self.now());
        // If this fails, the token refills over time.
        drop(give_back.send("register: refund", self.store()).await);
    }

    /// Takes a token from the address's bucket for an attempt to recover an account.
    pub(super) fn take_for_recovery(&self, from: Address) -> Command<Taken> {
        bucket::take(&self.keys().logins_from(from.digest()), self.limit_by_address(), 1, self.now())
    }

    /// Returns the token to the address's bucket if the queue was full and the code was not checked. Makes one round
    /// trip.
    pub(super) async fn refund_recovery(&self, from: Address) {
        let bucket = self.keys().logins_from(from.digest());
        let give_back = bucket::give_back(&bucket, self.limit_by_address(), 1, self.now());
        // If this fails, the token refills over time.
        drop(give_back.send("recover: refund", self.store()).await);
    }

    /// Records a registration's address as known for the account. Makes one round trip.
    pub(super) async fn record_known_address(&self, username: &Username, from: Address) -> Result<(), Error> {
        let account = account(username.as_str());
        let record = throttle::record(self.keys(), account, from.digest_for(account), self.now());
        record.send("record address", self.store()).await?;
        Ok(())
    }

    /// Forgets the addresses from which an account has been signed in to.
    pub(super) async fn forget_known_addresses(&self, username: &str) -> Result<(), Error> {
        let forget = throttle::forget(self.keys(), account(username));
        forget.send("forget addresses", self.store()).await?;
        Ok(())
    }

    fn sign_ins_of_account(&self) -> Limit {
        limit(self.0.rules.account.password_successes_per_account)
    }

    fn sign_ins_of_address(&self) -> Limit {
        limit(self.0.rules.account.password_successes_per_address)
    }

    fn limit_by_account(&self) -> Limit {
        limit(self.0.rules.account.password_failures_per_account)
    }

    fn limit_by_address(&self) -> Limit {
        limit(self.0.rules.account.password_failures_per_address)
    }
}

/// Creates a limit of `capacity` tokens per hour, with bursts of up to `capacity` tokens.
pub(super) fn limit(capacity: u32) -> Limit {
    Limit { capacity, period: PERIOD }
}

/// Returns the source of a password attempt on the account with this name.
pub(super) fn source(name: &str, address: Option<Address>) -> Source {
    Source { address, account: account(name) }
}

/// Returns the source of a password attempt that a user makes through a session.
pub(super) fn source_of(user: UserId, address: Option<Address>) -> Source {
    Source { address, account: Digest::of([None, Some(&user.to_string())]) }
}

/// Returns the digest that identifies the account with this name. Invalid names also have a digest.
fn account(name: &str) -> Digest {
    match Username::parse(name) {
        Ok(name) => Digest::of([Some(name.as_str())]),
        Err(_) => Digest::of([Some(name)]),
    }
}

/// Fails with the time to wait if no token was taken.
pub(super) fn admit(taken: Taken) -> Result<(), Error> {
    taken.wait.map_or(Ok(()), |wait| Err(throttled(wait, "Too many attempts.")))
}

/// Creates a rejection that states the time to wait.
pub(super) fn throttled(wait: Duration, too_much: &str) -> Error {
    let (number, unit) = match wait.as_millis().div_ceil(1_000) {
        seconds @ ..=120 => (seconds, "second"),
        seconds => (seconds.div_ceil(60), "minute"),
    };
    let ending = if number == 1 { "" } else { "s" };
    let message = format!("{too_much} Try again in {number} {unit}{ending}.");
    let violation = RuleViolation::new(Reason::Throttled, None, message);
    RuleViolation { retry_after: Some(wait), ..violation }.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::error::Rejection;

    #[test]
    fn a_throttled_attempt_reports_a_time_after_which_a_retry_is_admitted() {
        let taken = |wait| Taken { wait, remaining: 0, full_in: PERIOD };
        let message_after = |millis| match admit(taken(Some(Duration::from_millis(millis)))) {
            Err(Error::Rejected(Rejection::Rules(violations))) => violations[0].message.clone(),
            other => panic!("{other:?}"),
        };
        let message = |time: &str| format!("Too many attempts. Try again in {time}.");
        assert_eq!(message_after(1), message("1 second"));
        assert_eq!(message_after(1_001), message("2 seconds"));
        assert_eq!(message_after(119_999), message("120 seconds"));
        assert_eq!(message_after(120_001), message("3 minutes"));
        assert_eq!(message_after(180_000), message("3 minutes"));
        assert!(admit(taken(None)).is_ok());
    }

    #[test]
    fn a_name_is_one_account_in_any_case() {
        assert_eq!(account("Ada"), account("ada"));
        assert_ne!(account("no name"), account("No name"));
        assert_ne!(account("ada"), account("eve"));
    }
}
