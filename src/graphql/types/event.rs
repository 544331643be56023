//! Events that subscriptions send.

use async_graphql::{ID, SimpleObject, Union};

use crate::graphql::types::post::Post;

/// A change to the viewer's home timeline.
#[derive(Union)]
pub(in crate::graphql) enum TimelineEvent {
    /// The addition of a post.
    Added(PostAdded),
    /// The removal of a post.
    Removed(PostRemoved),
}

/// The addition of a post to the timeline. The post may be older than posts added before it.
#[derive(SimpleObject)]
pub(in crate::graphql) struct PostAdded {
    /// The position to resume after without missed or repeated events. Valid as this subscription's `after` and as a
    /// cursor of the timeline.
    pub(in crate::graphql) cursor: String,
    /// The added post.
    pub(in crate::graphql) post: Post,
}

/// The removal of a post from the timeline because it was deleted. The client may never have received the post.
#[derive(SimpleObject)]
pub(in crate::graphql) struct PostRemoved {
    /// The position to resume after without missed or repeated events. Valid as this subscription's `after` and as a
    /// cursor of the timeline.
    pub(in crate::graphql) cursor: String,
    /// The id of the removed post.
    pub(in crate::graphql) post_id: ID,
}
