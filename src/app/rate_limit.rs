//! How much one may ask for in a time.
//!
//! A viewer has a bucket ([`crate::store::bucket`]) next to its sessions, so that both are one look; an address has one
//! for those who are nobody. Before an operation is executed, what it costs is drawn; if there is not enough, nothing
//! else is asked of the store. It is not given back if the operation fails: the work was done.
//!
//! Not here: what an operation costs (`graphql::document`), or how attempts to sign in are throttled (`app::throttle`).

use std::time::Duration;

use crate::app::App;
use crate::app::error::Error;
use crate::app::viewer::{Asker, Viewer};
use crate::model::address::Address;
use crate::model::clock::Timestamp;
use crate::store::bucket::{self, Drawn, Limit};

const MINUTE: Duration = Duration::from_mins(1);

/// What an operation costs, and of how much that is drawn.
#[derive(Clone, Copy, Debug)]
pub struct Charge {
    /// What it costs.
    pub cost: u32,
    /// How much there may be: so much may be asked for at once.
    pub capacity: u32,
    /// How much comes back in a minute.
    pub per_minute: u32,
}

/// What may still be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// How much there may be.
    pub limit: u32,
    /// What the operation costs.
    pub cost: u32,
    /// How much there is, when that was drawn.
    pub remaining: u32,
    /// From when on all of it is there again, if nothing more is drawn.
    pub reset_at: Timestamp,
    /// How long to wait until the operation can be executed; `None` if it can be now.
    pub wait: Option<Duration>,
}

impl Charge {
    pub(super) fn limit(self) -> Limit {
        Limit { capacity: self.capacity, period: MINUTE * self.capacity / self.per_minute.max(1) }
    }

    pub(super) fn drawn(self, drawn: Drawn, now: Timestamp) -> RateLimit {
        RateLimit {
            limit: self.capacity,
            cost: self.cost,
            remaining: drawn.remaining,
            reset_at: now.plus(drawn.full_in),
            wait: drawn.wait,
        }
    }
}

impl App {
    /// Who asks with this token, from this address, and what is left to it when it is charged. Round trips as for
    /// [`App::recognise`]; without a token, one if there is a charge.
    ///
    /// Who has not enough left is told so, and nothing else is done for it.
    pub async fn admit(
        &self,
        token: Option<&str>,
        address: Option<Address>,
        charge: Option<Charge>,
    ) -> Result<Asker, Error> {
        let (viewer, rate_limit) = match token {
            Some(token) => self.recognise_and_charge(token, charge).await?,
            None => (Viewer::Anonymous, self.charge_address(address, charge).await?),
        };
        Ok(Asker { viewer, address, rate_limit })
    }

    /// Charges a viewer for an event, and waits until there is enough. Where nothing can be written, nothing is limited.
    ///
    /// The events of a user wait in turn: were they all to wait at once, they would all take tokens again whenever one
    /// comes back.
    pub async fn wait_for_allowance(&self, viewer: &Viewer, charge: Option<Charge>) {
        let (Some(user), Some(charge)) = (viewer.user(), charge) else { return };
        let bucket = self.keys().cost_of(user);
        let turns = self.0.allowances.of(user);
        let _turn = turns.lock().await;
        loop {
            let draw = bucket::draw(&bucket, charge.limit(), charge.cost, self.now());
            match draw.send("charge event", self.store()).await.map(|drawn| drawn.wait) {
                Ok(Some(wait)) => tokio::time::sleep(wait).await,
                Ok(None) | Err(_) => return,
            }
        }
    }

    /// Charges a viewer, or an address where no one is signed in, for what an operation has used beyond what it was charged
    /// for before. Takes no more than there is. One round trip.
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

    /// Who comes from no address, is not charged.
    async fn charge_address(
        &self,
        address: Option<Address>,
        charge: Option<Charge>,
    ) -> Result<Option<RateLimit>, Error> {
        let (Some(address), Some(charge)) = (address, charge) else {
            return Ok(None);
        };
        let (bucket, now) = (self.keys().cost_from(address.digest()), self.now());
        let draw = bucket::draw(&bucket, charge.limit(), charge.cost, now);
        match draw.send("charge address", self.store()).await {
            // Where nothing can be written, nothing is limited.
            Err(error) if error.is_read_only() => Ok(None),
            drawn => Ok(Some(charge.drawn(drawn?, now))),
        }
    }
}
