//! Events that subscriptions send.

use async_graphql::{ID, SimpleObject, Union};

use crate::graphql::directive::list_size;
use crate::graphql::types::post::Post;
use crate::graphql::types::user::User;

/// A change to the viewer's home timeline.
#[derive(Union)]
pub(in crate::graphql) enum TimelineEvent {
    /// A post added to the timeline.
    Added(PostAdded),
    /// A post removed from the timeline.
    Removed(PostRemoved),
}

/// An event sent when a post is added to the timeline. The post may be older than posts added earlier.
#[derive(SimpleObject)]
pub(in crate::graphql) struct PostAdded {
    /// The event's cursor. Pass it as this subscription's `after` to resume without missing or repeating events. It is
    /// also a valid cursor for `Viewer.timeline`.
    pub(in crate::graphql) cursor: String,
    /// The added post.
    pub(in crate::graphql) post: Post,
    /// The followed user whose repost put the post into the timeline; empty if it is there as its author's own. Another
    /// repost of the same post sends another event.
    #[graphql(directive = list_size::apply(Some(1), None, None, None))]
    pub(in crate::graphql) reposted_by: Vec<User>,
}

/// An event sent when a post in the timeline is deleted. The client may never have received the post.
#[derive(SimpleObject)]
pub(in crate::graphql) struct PostRemoved {
    /// The event's cursor. Pass it as this subscription's `after` to resume without missing or repeating events. It is
    /// also a valid cursor for `Viewer.timeline`.
    pub(in crate::graphql) cursor: String,
    /// The id of the removed post.
    pub(in crate::graphql) post_id: ID,
}
