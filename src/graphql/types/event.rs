//! Events of subscriptions.

use async_graphql::{ID, SimpleObject, Union};

use crate::graphql::types::post::Post;

/// A change to a home timeline.
#[derive(Union)]
pub(in crate::graphql) enum TimelineEvent {
    /// A post was added.
    Added(PostAdded),
    /// A post was removed.
    Removed(PostRemoved),
}

/// A post was added to the timeline. It may be older than posts added before it.
#[derive(SimpleObject)]
pub(in crate::graphql) struct PostAdded {
    /// The position to resume after, without missed or repeated events: an `after` of this subscription, and a cursor
    /// of the timeline.
    pub(in crate::graphql) cursor: String,
    /// The added post.
    pub(in crate::graphql) post: Post,
}

/// A post was removed from the timeline because it was deleted. The client may never have seen it.
#[derive(SimpleObject)]
pub(in crate::graphql) struct PostRemoved {
    /// The position to resume after, without missed or repeated events: an `after` of this subscription, and a cursor
    /// of the timeline.
    pub(in crate::graphql) cursor: String,
    /// The id of the removed post.
    pub(in crate::graphql) post_id: ID,
}
