//! Reads of the states of accounts.

use std::sync::Arc;

use crate::app::read::{Pending, Read, Requests, Shared};
use crate::model::id::UserId;
use crate::store::account;
use crate::store::relation::PROBE;

/// For each of these users, true if the account is inactive.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::app) struct InactiveAmong(pub(in crate::app) Shared<UserId>);

impl Read for InactiveAmong {
    type Value = Arc<[bool]>;

    fn request(&self, requests: &mut Requests<'_>) -> Pending<Self::Value> {
        let probe = |users: &[UserId]| requests.push(account::are_inactive(requests.keys(), users));
        let found: Vec<_> = self.0.0.chunks(PROBE).map(probe).collect();
        Pending::hot(move |responses| Ok(responses.replies.take_all(found)?.concat().into()))
    }
}
