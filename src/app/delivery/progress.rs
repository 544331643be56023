//! Reads the delivery progress of posts.

use crate::app::read::{Pending, Read, Requests};
use crate::model::id::{PostId, UserId};
use crate::model::post::Delivery;
use crate::store::fanout::{self, Kind, Task};
use crate::store::post;

/// A read of a pushed post's delivery progress.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DeliveryProgress {
    /// The post's author, to whose followers the post is delivered.
    pub author: UserId,
    /// The pushed post.
    pub post: PostId,
}

/// The delivery progress of a pushed post.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivered {
    /// Delivery has not finished. Contains the number of followers processed so far.
    Some(u64),
    /// Delivery has finished. Contains the number of followers processed.
    All(u64),
    /// Delivery has finished, but Redis no longer has the number of followers processed. The caller uses the
    /// number of followers at publication instead.
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
