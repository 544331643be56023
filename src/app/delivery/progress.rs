//! The progress of deliveries.

use crate::app::read::{Pending, Read, Requests};
use crate::model::id::{PostId, UserId};
use crate::model::post::Delivery;
use crate::store::fanout::{self, Kind, Task};
use crate::store::post;

/// The progress of the delivery of a pushed post.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DeliveryProgress {
    /// The author.
    pub author: UserId,
    /// The post.
    pub post: PostId,
}

/// The progress of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivered {
    /// The number of followers pushed to so far.
    Some(u64),
    /// Delivered to all followers; the number of them.
    All(u64),
    /// Delivered to all followers counted at the start.
    Over,
}

impl Read for DeliveryProgress {
    type Value = Delivered;

    fn request(&self, requests: &mut Requests<'_>) -> Pending<Self::Value> {
        let Self { author, post } = *self;
        let task = Task { kind: Kind::Deliver, post, author };
        let progress = requests.push(fanout::progress(requests.keys(), &task));
        let trace = requests.push(post::trace(requests.keys(), post));
        Pending::hot(move |responses| {
            let served = responses.replies.take(progress)?.map(|progress| progress.served);
            let trace = responses.replies.take(trace)?;
            let is_archived = trace.is_none();
            Ok(match (served, trace.and_then(|trace| trace.delivery)) {
                (_, Some(Delivery::Delivered { followers })) => Delivered::All(followers),
                (None, _) if is_archived => Delivered::Over,
                (served, _) => Delivered::Some(served.unwrap_or(0)),
            })
        })
    }
}
