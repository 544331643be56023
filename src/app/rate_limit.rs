//! Rate limits on operation cost.
//!
//! Each user has a token bucket ([`crate::store::bucket`]), stored next to the user's sessions so that one
//! round trip reads both. Anonymous requests use the bucket of the client address. The server takes an
//! operation's cost before it executes the operation. If the bucket has too few tokens, the server rejects
//! the operation without querying the store any further. If the operation fails, the server does not return
//! the tokens, because the work was done.
//!
//! Not here: an operation's cost (`graphql::document`), and throttling of sign-in attempts (`app::throttle`).

use crate::app::App;
use crate::app::charge::{Charge, RateLimit};
use crate::app::error::Error;
use crate::app::viewer::{Caller, Viewer};
use crate::model::address::Address;
use crate::store::bucket;

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

    /// Waits until the viewer's bucket has enough tokens for an event, and takes them. Applies no limit if
    /// the store fails or is not writable.
    ///
    /// Only one event per user waits at a time. Otherwise, all waiting events would compete for each refilled
    /// token.
    pub async fn wait_for_allowance(&self, viewer: &Viewer, charge: Option<Charge>) {
        let (Some(user), Some(charge)) = (viewer.user(), charge) else { return };
        let bucket = self.keys().cost_of(user);
        let turns = self.0.process.allowances.of(user);
        let _turn = turns.lock().await;
        loop {
            let draw = bucket::take(&bucket, charge.limit(), charge.cost, self.now());
            match draw.send("charge event", self.store()).await.map(|taken| taken.wait) {
                Ok(Some(wait)) => tokio::time::sleep(wait).await,
                Ok(None) | Err(_) => return,
            }
        }
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
