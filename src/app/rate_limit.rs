//! Rate limits on operation cost.
//!
//! Each user has a token bucket ([`crate::store::bucket`]), stored next to the user's sessions so that one
//! round trip reads both. Anonymous requests use the bucket of the client address. The server takes an
//! operation's cost before it executes the operation. If the bucket has too few tokens, the server rejects
//! the operation without querying the store any further. If the operation fails, the server does not return
//! the tokens, because the work was done.
//!
//! The events of subscriptions have a bucket of their own, of the same size, since other users cause them: no number of
//! events makes the server reject a user's operations. An event takes its tokens once it is known that the viewer may
//! see it, and waits if there are too few. An event that the viewer may not see costs nothing.
//!
//! Not here: an operation's cost (`graphql::document`), and throttling of sign-in attempts (`app::throttle`).

use std::time::Duration;

use crate::app::App;
use crate::app::charge::{Charge, RateLimit};
use crate::app::error::Error;
use crate::app::viewer::{Caller, Viewer};
use crate::model::address::Address;
use crate::store::bucket;
use crate::store::key::{Bucket, Key};

impl App {
    /// Identifies the caller by token and address, and charges their bucket. Makes as many round
    /// trips as [`App::authenticate`] or, without a token, one if there is a charge.
    ///
    /// If the bucket has too few tokens, reports the wait time in [`Caller::rate_limit`] and does nothing
    /// else.
    pub async fn admit(
        &self,
        token: Option<&str>,
        address: Option<Address>,
        charge: Option<Charge>,
    ) -> Result<Caller, Error> {
        let (viewer, rate_limit) = match token {
            Some(token) => self.authenticate_and_charge(token, charge).await?,
            None => (Viewer::Anonymous, self.charge_address(address, charge).await?),
        };
        Ok(Caller { viewer, address, rate_limit })
    }

    /// Waits until the viewer's bucket has enough tokens for a page of a download, and takes them. Applies no limit if
    /// the store fails or is not writable.
    ///
    /// Only one page per user waits at a time. Otherwise, all waiting pages would compete for each refilled token.
    pub async fn wait_for_allowance(&self, viewer: &Viewer, charge: Option<Charge>) {
        let (Some(user), Some(charge)) = (viewer.user(), charge) else { return };
        let turns = self.0.process.allowances.of(user);
        let _turn = turns.lock().await;
        self.wait_for_tokens(&self.keys().cost_of(user), charge, "charge download").await;
    }

    /// Takes the tokens for an event from the viewer's bucket for events. Returns false if the bucket has too few, or
    /// if another event of the viewer is waiting for tokens in this process. Applies no limit if the store fails or is
    /// not writable. Makes one round trip, or none if there is no charge.
    pub async fn charge_event(&self, viewer: &Viewer, charge: Option<Charge>) -> bool {
        let (Some(user), Some(charge)) = (viewer.user(), charge) else { return true };
        // A lock for writing is held by the event that waits for tokens, and requested by those after it.
        let turns = self.0.process.event_turns.of(user);
        let Ok(_turn) = turns.try_read() else { return false };
        self.take_tokens(&self.keys().events_of(user), charge, "charge event").await.is_none()
    }

    /// Waits until the viewer's bucket for events has enough tokens for an event, and takes them, like
    /// [`App::charge_event`]. Only one event per user waits at a time, in the order of the calls.
    pub async fn wait_to_charge_event(&self, viewer: &Viewer, charge: Option<Charge>) {
        let (Some(user), Some(charge)) = (viewer.user(), charge) else { return };
        let turns = self.0.process.event_turns.of(user);
        let _turn = turns.write().await;
        self.wait_for_tokens(&self.keys().events_of(user), charge, "charge event").await;
    }

    async fn wait_for_tokens(&self, bucket: &Key<Bucket>, charge: Charge, step: &'static str) {
        while let Some(wait) = self.take_tokens(bucket, charge, step).await {
            tokio::time::sleep(wait).await;
        }
    }

    /// Takes tokens from a bucket. Returns the time until it has enough; `None` if they were taken, or if the store
    /// fails or is not writable.
    async fn take_tokens(
        &self,
        bucket: &Key<Bucket>,
        charge: Charge,
        step: &'static str,
    ) -> Option<Duration> {
        let take = bucket::take(bucket, charge.limit(), charge.cost, self.now());
        take.send(step, self.store()).await.ok()?.wait
    }

    /// Charges a viewer, or an anonymous client's address, for usage beyond the cost already charged. Takes
    /// at most the tokens that are left. Makes one round trip.
    pub async fn charge_afterwards(&self, viewer: &Viewer, address: Option<Address>, charge: Charge) {
        let bucket = match (viewer.user(), address) {
            (Some(user), _) => self.keys().cost_of(user),
            (None, Some(address)) => self.keys().cost_from(address.digest()),
            (None, None) => return,
        };
        let drain = bucket::drain(&bucket, charge.limit(), charge.cost, self.now());
        if let Err(error) = drain.send("charge afterwards", self.store()).await {
            tracing::debug!(
                error = &error as &dyn std::error::Error,
                "an operation's additional usage could not be charged"
            );
        }
    }

    /// Charges an anonymous client's address. Requests without a client address are not charged.
    async fn charge_address(
        &self,
        address: Option<Address>,
        charge: Option<Charge>,
    ) -> Result<Option<RateLimit>, Error> {
        let (Some(address), Some(charge)) = (address, charge) else {
            return Ok(None);
        };
        let (bucket, now) = (self.keys().cost_from(address.digest()), self.now());
        let draw = bucket::take(&bucket, charge.limit(), charge.cost, now);
        match draw.send("charge address", self.store()).await {
            // Apply no limit if the store is not writable.
            Err(error) if error.is_read_only() => Ok(None),
            taken => Ok(Some(charge.rate_limit(taken?, now))),
        }
    }
}
