//! Throttling: how many passwords may be guessed, and how many accounts made.
//!
//! Whoever tells a password draws on buckets ([`crate::store::bucket`]) before it is looked at, and gets back what was
//! drawn if it was right. Which buckets, follows from where it comes:
//! - an address from which the account was signed in to before has a bucket for this account, and only this one counts;
//! - any other draws on that of the address, and then on that of the account, which all strangers share;
//! - a session, which asks for the password once more before it is changed, has one of its own.
//!
//! So whoever knows a name may use up what strangers have, but not what its owner has where it has been before; and
//! with sessions that are open nothing of this interferes. Buckets of accounts go by name: a name that is nobody's has
//! one like any other. A right password that is told too often in vain is not looked at, either.
//!
//! Right passwords take from buckets of their own, one of the user and one of the address, since hashing them costs as
//! much: a client with accounts of its own does not have passwords hashed without end. These buckets are looked into
//! before a password is verified and charged afterwards, so wrong passwords cannot empty them.
//!
//! Not here: what a bucket is (`store::bucket`).

use std::time::Duration;

use crate::app::App;
use crate::app::error::{Error, Reason};
use crate::app::password::Source;
use crate::app::viewer::SignedIn;
use crate::model::address::Address;
use crate::model::digest::Digest;
use crate::model::id::UserId;
use crate::model::user::Username;
use crate::store::batch::{Batch, Replies, Ticket};
use crate::store::bucket::{self, Drawn, Limit};
use crate::store::command::Command;
use crate::store::key::{Bucket, Key};
use crate::store::throttle;

/// In which time what the configuration allows may be done again.
const PERIOD: Duration = Duration::from_hours(1);

/// Right passwords for one account, of those within an hour, that need nothing in the bucket of their address: those who
/// share an address with a client that empties it still sign in.
const SPARED: u32 = 20;

/// That somebody tells a password: for which account, and from where.
pub(super) struct Guess {
    /// The account, by its name, whether or not it is anybody's.
    account: Digest,
    origin: Option<Origin>,
}

impl Guess {
    /// The address it comes from, if that is known.
    pub(super) fn address(&self) -> Option<Digest> {
        self.origin.as_ref().map(|origin| origin.address)
    }
}

/// Where a guess comes from.
struct Origin {
    address: Digest,
    /// The address as it is remembered of the account.
    remembered: Digest,
    /// Whether the account was signed in to from here.
    is_known: bool,
    /// Whether something was drawn on the bucket of the address.
    has_drawn: bool,
}

/// What is asked of the right passwords given for a user, and from an address.
pub(super) struct SignIns {
    limit: Limit,
    of_user: Ticket<Drawn>,
    from: Option<Ticket<Drawn>>,
}

impl SignIns {
    /// Why a further one is rejected; `None` if it is not.
    pub(super) fn rejection(self, replies: &mut Replies) -> Result<Option<Error>, Error> {
        let of_user = replies.take(self.of_user)?;
        let from = self.from.map(|from| replies.take(from)).transpose()?;
        let is_spared = of_user.remaining.saturating_add(SPARED) > self.limit.capacity;
        let from = from.filter(|_| !is_spared);
        Ok(admit(of_user).and_then(|()| from.map_or(Ok(()), admit)).err())
    }
}

/// What was sent for a guess that was right.
pub(super) struct Settled {
    done: Vec<Ticket<bool>>,
    charged: Vec<Ticket<Drawn>>,
}

impl Settled {
    /// Fails if part of it did.
    pub(super) fn judge(self, replies: &mut Replies) -> Result<(), Error> {
        replies.take_all(self.done)?;
        replies.take_all(self.charged)?;
        Ok(())
    }
}

/// What is asked of where a guess comes from.
pub(super) struct Look {
    account: Digest,
    origin: Option<(Address, Ticket<bool>, Ticket<Drawn>)>,
}

impl Look {
    /// The guess; refused if too many have come from an address from which the account was never signed in to.
    pub(super) fn judge(self, replies: &mut Replies) -> Result<Guess, Error> {
        let account = self.account;
        let Some((address, is_known, drawn)) = self.origin else {
            return Ok(Guess { account, origin: None });
        };
        let (is_known, drawn) = (replies.take(is_known)?, replies.take(drawn)?);
        if !is_known {
            admit(drawn)?;
        }
        let (address, remembered) = (address.digest(), address.digest_for(account));
        let origin = Origin { address, remembered, is_known, has_drawn: drawn.wait.is_none() };
        Ok(Guess { account, origin: Some(origin) })
    }
}

impl App {
    /// Asks what there is to know of where a guess comes from, and draws on the bucket of that address.
    pub(super) fn look(&self, name: &str, from: Option<Address>, batch: &mut Batch) -> Look {
        let (account, now) = (account(name), self.now());
        let origin = from.map(|from| {
            let is_known = throttle::is_known(self.keys(), account, from.digest_for(account), now);
            let bucket = self.keys().logins_from(from.digest());
            let drawn = bucket::draw(&bucket, self.limit_by_address(), 1, now);
            (from, batch.push(is_known), batch.push(drawn))
        });
        Look { account, origin }
    }

    /// Draws on the bucket that this guess has of its account.
    pub(super) fn draw_for(&self, guess: &Guess) -> Command<Drawn> {
        bucket::draw(&self.bucket_of(guess), self.limit_by_account(), 1, self.now())
    }

    fn bucket_of(&self, Guess { account, origin }: &Guess) -> Key<Bucket> {
        match origin {
            Some(Origin { remembered, is_known: true, .. }) => {
                self.keys().known_logins_to(*account, *remembered)
            }
            _ => self.keys().logins_to(*account),
        }
    }

    /// The guess was right: gives back what was drawn for it, charges the sign-in, and remembers where it came from.
    pub(super) fn settle(&self, user: UserId, guess: &Guess, batch: &mut Batch) -> Settled {
        let remember = |Origin { remembered, .. }: &Origin| {
            batch.push(throttle::remember(self.keys(), guess.account, *remembered, self.now()))
        };
        let mut done: Vec<Ticket<bool>> = guess.origin.as_ref().map(remember).into_iter().collect();
        done.extend(self.give_back(guess, batch));
        Settled { done, charged: self.charge_sign_in(user, guess.address(), batch) }
    }

    /// Gives back what was drawn for a guess.
    fn give_back(&self, guess: &Guess, batch: &mut Batch) -> Vec<Ticket<bool>> {
        let now = self.now();
        let give_back = |bucket, limit| bucket::give_back(&bucket, limit, 1, now);
        let mut tickets = vec![batch.push(give_back(self.bucket_of(guess), self.limit_by_account()))];
        if let Some(Origin { address, has_drawn: true, .. }) = guess.origin {
            tickets.push(batch.push(give_back(self.keys().logins_from(address), self.limit_by_address())));
        }
        tickets
    }

    /// The guess was not looked at: gives back what was drawn for it. One round trip.
    pub(super) async fn take_back(&self, guess: &Guess) {
        let mut batch = Batch::new("login: give back");
        self.give_back(guess, &mut batch);
        // What cannot be given back comes back with time.
        drop(batch.send(self.store()).await);
    }

    /// Looks into the buckets of right passwords, and takes nothing.
    pub(super) fn look_at_sign_ins(&self, user: UserId, from: Option<Digest>, batch: &mut Batch) -> SignIns {
        let (now, keys, limit) = (self.now(), self.keys(), self.sign_ins_of_account());
        let of_user = bucket::peek(&keys.sign_ins_of(user), limit, 1, now);
        let from =
            from.map(|from| bucket::peek(&keys.sign_ins_from(from), self.sign_ins_of_address(), 1, now));
        SignIns { limit, of_user: batch.push(of_user), from: from.map(|from| batch.push(from)) }
    }

    /// Charges a right password to its user and address. Passwords in work at the same time may find that others have
    /// emptied the bucket: they were admitted, and are not charged.
    pub(super) fn charge_sign_in(
        &self,
        user: UserId,
        from: Option<Digest>,
        batch: &mut Batch,
    ) -> Vec<Ticket<Drawn>> {
        let (now, keys) = (self.now(), self.keys());
        let of_user = bucket::draw(&keys.sign_ins_of(user), self.sign_ins_of_account(), 1, now);
        let from =
            from.map(|from| bucket::draw(&keys.sign_ins_from(from), self.sign_ins_of_address(), 1, now));
        [Some(of_user), from].into_iter().flatten().map(|draw| batch.push(draw)).collect()
    }

    /// Draws on the bucket for passwords that are told through a session.
    pub(super) fn draw_through(&self, session: &SignedIn) -> Command<Drawn> {
        let bucket = self.keys().guesses(session.user, session.session);
        bucket::draw(&bucket, self.limit_by_account(), 1, self.now())
    }

    /// Gives that back: it was right.
    pub(super) fn give_back_through(&self, session: &SignedIn) -> Command<bool> {
        let bucket = self.keys().guesses(session.user, session.session);
        bucket::give_back(&bucket, self.limit_by_account(), 1, self.now())
    }

    /// Gives that back: the password was not looked at. One round trip.
    pub(super) async fn take_back_through(&self, session: &SignedIn) {
        // What cannot be given back comes back with time.
        drop(self.give_back_through(session).send("change password: give back", self.store()).await);
    }

    /// Draws on the bucket for accounts that are made from an address.
    pub(super) fn draw_for_registration(&self, from: Address) -> Command<Drawn> {
        let bucket = self.keys().registrations_from(from.digest());
        bucket::draw(&bucket, limit(self.0.rules.account.registrations_per_address), 1, self.now())
    }

    /// Gives that back: the account was not made for lack of room. One round trip.
    pub(super) async fn take_back_registration(&self, from: Address) {
        let bucket = self.keys().registrations_from(from.digest());
        let limit = limit(self.0.rules.account.registrations_per_address);
        let give_back = bucket::give_back(&bucket, limit, 1, self.now());
        // What cannot be given back comes back with time.
        drop(give_back.send("register: give back", self.store()).await);
    }

    /// Remembers where an account was made: its owner has been there. One round trip.
    pub(super) async fn remember(&self, username: &Username, from: Address) -> Result<(), Error> {
        let account = account(username.as_str());
        let remember = throttle::remember(self.keys(), account, from.digest_for(account), self.now());
        remember.send("remember address", self.store()).await?;
        Ok(())
    }

    fn sign_ins_of_account(&self) -> Limit {
        limit(self.0.rules.account.sign_ins_per_account)
    }

    fn sign_ins_of_address(&self) -> Limit {
        limit(self.0.rules.account.sign_ins_per_address)
    }

    fn limit_by_account(&self) -> Limit {
        limit(self.0.rules.account.logins_per_account)
    }

    fn limit_by_address(&self) -> Limit {
        limit(self.0.rules.account.logins_per_address)
    }
}

/// A limit of N at once, or within an hour.
pub(super) fn limit(capacity: u32) -> Limit {
    Limit { capacity, period: PERIOD }
}

/// Where a password for the account of this name comes from.
pub(super) fn source(name: &str, address: Option<Address>) -> Source {
    Source { address, account: account(name) }
}

/// Where a password comes from that a user gives through a session.
pub(super) fn source_of(user: UserId, address: Option<Address>) -> Source {
    Source { address, account: Digest::of([None, Some(&user.to_string())]) }
}

/// What the account of this name is kept under: also what can be no name has something.
fn account(name: &str) -> Digest {
    match Username::parse(name) {
        Ok(name) => Digest::of([Some(name.as_str())]),
        Err(_) => Digest::of([Some(name)]),
    }
}

/// Goes on if something was drawn.
pub(super) fn admit(drawn: Drawn) -> Result<(), Error> {
    drawn.wait.map_or(Ok(()), |wait| Err(throttled(wait, "There were too many attempts.")))
}

/// Rejects for so long, because there was too much of something.
pub(super) fn throttled(wait: Duration, too_much: &str) -> Error {
    let (number, unit) = match wait.as_millis().div_ceil(1_000) {
        seconds @ ..=120 => (seconds, "second"),
        seconds => (seconds.div_ceil(60), "minute"),
    };
    let ending = if number == 1 { "" } else { "s" };
    let message = format!("{too_much} Try again in {number} {unit}{ending}.");
    Error::rule(Reason::Throttled, None, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::error::Refused;

    #[test]
    fn who_is_throttled_is_told_a_time_after_which_it_is_over() {
        let drawn = |wait| Drawn { wait, remaining: 0, full_in: PERIOD };
        let told = |millis| match admit(drawn(Some(Duration::from_millis(millis)))) {
            Err(Error::Refused(Refused::Rules(refusals))) => refusals[0].message.clone(),
            other => panic!("{other:?}"),
        };
        let message = |time: &str| format!("There were too many attempts. Try again in {time}.");
        assert_eq!(told(1), message("1 second"));
        assert_eq!(told(1_001), message("2 seconds"));
        assert_eq!(told(119_999), message("120 seconds"));
        assert_eq!(told(120_001), message("3 minutes"));
        assert_eq!(told(180_000), message("3 minutes"));
        assert!(admit(drawn(None)).is_ok());
    }

    #[test]
    fn a_name_is_one_account_in_any_case() {
        assert_eq!(account("Ada"), account("ada"));
        assert_ne!(account("no name"), account("No name"));
        assert_ne!(account("ada"), account("eve"));
    }
}
