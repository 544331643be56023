//! Accounts that become public: all pending requests to follow the user are accepted.
//!
//! 1. Record an intent. If it were recorded after step 2, an interruption in between would leave requests pending for
//!    ever.
//! 2. Write to the user's record that the account is public.
//! 3. While the account is public and there are requests: make the mirrors of some of them equal to their truths, each
//!    under an intent of its own. This accepts them ([`crate::app::edge`]).
//! 4. Drop the intent.
//!
//! If the account becomes private again meanwhile, the rest of the requests stay pending.

use crate::app::App;
use crate::app::deadline::Deadline;
use crate::app::edge::Edge;
use crate::app::error::{Broken, Error};
use crate::model::id::UserId;
use crate::model::user::ProfileChange;
use crate::store::intent::Operation;
use crate::store::user;

/// Number of requests accepted together.
const TOGETHER: usize = 1_000;
/// Maximum number of portions of requests that one call accepts. The repairer accepts the rest, as many in each round.
const PORTIONS: usize = 30;

impl App {
    /// Changes the profile of a user whose account becomes public, and accepts the pending requests: the first 30,000
    /// before it returns, and the rest in the background. Makes four round trips, plus some for each 1,000 requests.
    pub(in crate::app) async fn make_public(
        &self,
        user: UserId,
        change: &ProfileChange,
        deadline: &Deadline<'_>,
    ) -> Result<(), Error> {
        let intents = self.intents([Operation::Public { user }]);
        self.record(&intents, deadline).await?;
        deadline.check()?;
        self.write_profile(user, change).await?;
        match self.accept_requests(user).await {
            // The repairer accepts the rest.
            Ok(false) | Err(Error::Broken(Broken::Late)) => Ok(()),
            Ok(true) => self.forget(&intents).await,
            Err(error) => Err(error),
        }
    }

    /// Runs step 3. Returns true if no requests are left, or if the account is private.
    pub(in crate::app) async fn accept_requests(&self, user: UserId) -> Result<bool, Error> {
        for _ in 0..PORTIONS {
            let read = user::requests_to_public(self.keys(), user, TOGETHER);
            let requests = read.send("public: requests", self.store()).await?.unwrap_or_default();
            if requests.is_empty() {
                return Ok(true);
            }
            let edges: Vec<Edge> =
                requests.into_iter().map(|follower| Edge { follower, followee: user }).collect();
            self.repair_follows(edges).await?;
        }
        Ok(false)
    }
}
