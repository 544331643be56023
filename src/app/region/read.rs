//! Reads of regions, and of the followers counted by region.

use std::sync::Arc;

use crate::app::read::{Pending, Read, Requests, Shared};
use crate::model::id::UserId;
use crate::model::region::Region;

/// The region of each of these users; `None` if unknown.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Regions(pub Shared<UserId>);

impl Read for Regions {
    type Value = Arc<[Option<Region>]>;

    fn request(&self, requests: &mut Requests<'_>) -> Pending<Self::Value> {
        let users = self.0.clone();
        requests.regions(&users.0);
        Pending::hot(move |responses| users.0.iter().map(|user| responses.region(*user)).collect())
    }
}

/// The followers of a user, given their known number: all of them or, if there are too many, an even sample. The sample
/// shrinks as the number of such reads in a batch grows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FollowerSample {
    /// The user.
    pub user: UserId,
    /// The number of their followers.
    pub count: u64,
}

impl Read for FollowerSample {
    type Value = Arc<[UserId]>;

    fn request(&self, requests: &mut Requests<'_>) -> Pending<Self::Value> {
        let sample = requests.sample(self.user, self.count);
        Pending::hot(move |responses| {
            Ok(responses.sample(sample)?.iter().map(|follow| follow.user).collect())
        })
    }
}
