//! Reads of users' regions, and of the followers to count by region.

use std::sync::Arc;

use crate::app::read::{Pending, Read, Requests, Shared};
use crate::model::id::UserId;
use crate::model::region::Region;

/// Regions of users; `None` for each user whose region is unknown.
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

/// A user's followers: all of them or, if there are too many, an evenly spaced sample. The more such reads a batch
/// contains, the smaller each sample.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FollowerSample {
    /// Id of the user.
    pub user: UserId,
    /// Number of the user's followers.
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
