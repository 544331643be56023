//! What happens to those who watch.

use async_graphql::{ID, SimpleObject, Union};

use crate::graphql::types::post::Post;

/// Something that has happened to a home timeline.
#[derive(Union)]
pub(in crate::graphql) enum TimelineEvent {
    /// A post has come.
    Added(PostAdded),
    /// A post was taken out.
    Removed(PostRemoved),
}

/// A post has come to the timeline. It may be older than others that came before it.
#[derive(SimpleObject)]
pub(in crate::graphql) struct PostAdded {
    /// Where to go on after this, with nothing missed and nothing told twice: an `after` of this subscription, and a
    /// place in the timeline.
    pub(in crate::graphql) cursor: String,
    /// The post.
    pub(in crate::graphql) post: Post,
}

/// A post was taken out of the timeline, because it was deleted. It may be one that the client has never seen.
#[derive(SimpleObject)]
pub(in crate::graphql) struct PostRemoved {
    /// Where to go on after this, with nothing missed and nothing told twice: an `after` of this subscription, and a
    /// place in the timeline.
    pub(in crate::graphql) cursor: String,
    /// The id that the post had.
    pub(in crate::graphql) post_id: ID,
}
