//! Rate limits on operation cost.
//!
//! Each user has a token bucket ([`crate::store::bucket`]), stored next to their sessions so that both are
//! read together. Anonymous requests use the bucket of their address. The cost of an operation is taken
//! before it is executed; if the bucket has too few tokens, the store is not queried any further. Tokens are
//! not returned if the operation fails: the work was done.
//!
//! Not here: the cost of an operation (`graphql::document`), and throttling of sign-in attempts
//! (`app::throttle`).

use crate::app::App;
use crate::app::charge::{Charge, RateLimit};
use crate::app::error::Error;
use crate::app::viewer::{Caller, Viewer};
use crate::model::address::Address;
use crate::store::bucket;

impl App {
    /// Identifies the caller by this token and address, and charges them. Round trips as for
    /// [`App::authenticate`]; without a token, one if there is a charge.
    ///
    /// If the caller has too few tokens, the result contains the wait time and nothing else is done.
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

    /// Charges a viewer for an event, waiting until the bucket has enough tokens. If the store is not
    /// writable, nothing is limited.
    ///
    /// The events of one user wait one at a time: otherwise all of them would try to take each refilled
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

    /// Charges a viewer, or the address of an anonymous client, for usage beyond the cost charged before.
    /// Takes at most the tokens that are left. One round trip.
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
                "an operation could not be charged afterwards"
            );
        }
    }

    /// Requests without a client address are not charged.
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
            // If the store is not writable, nothing is limited.
            Err(error) if error.is_read_only() => Ok(None),
            taken => Ok(Some(charge.rate_limit(taken?, now))),
        }
    }
}
