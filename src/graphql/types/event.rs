//! Events that subscriptions send.

use async_graphql::{ID, Interface, SimpleObject};

use crate::graphql::types::connection::post::PostEdge;
use crate::graphql::types::relation::Relation;
use crate::graphql::types::viewer::Viewer;

/// A change to the viewer's home timeline.
#[derive(Interface)]
#[graphql(field(
    name = "cursor",
    ty = "&String",
    desc = "The event's cursor. Pass it as this subscription's `after` to resume without missing or repeating events. \
            It is also a valid cursor for `Viewer.timeline`."
))]
pub(in crate::graphql) enum TimelineEvent {
    /// A post added to the timeline.
    Added(PostAdded),
    /// A post removed from the timeline.
    Removed(PostRemoved),
    /// A repost removed from the timeline.
    RepostRemoved(RepostRemoved),
    /// A change of what the timeline contains.
    Reset(TimelineReset),
}

/// An event sent when a post is added to the timeline. The post may be older than posts added earlier.
#[derive(SimpleObject)]
pub(in crate::graphql) struct PostAdded {
    /// The event's cursor. Pass it as this subscription's `after` to resume without missing or repeating events. It is
    /// also a valid cursor for `Viewer.timeline`.
    pub(in crate::graphql) cursor: String,
    /// The added entry. If a repost put the post into the timeline, `repostedBy` is the user who has reposted it:
    /// another repost of the same post sends another event, with the same `key`.
    pub(in crate::graphql) edge: Box<PostEdge>,
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

/// An event sent when a user has undone a repost in the timeline. The post is no longer in the timeline if this was the
/// only repost that put it there, and it is not there as its author's own. The client may never have received the
/// repost.
#[derive(SimpleObject)]
pub(in crate::graphql) struct RepostRemoved {
    /// The event's cursor. Pass it as this subscription's `after` to resume without missing or repeating events. It is
    /// also a valid cursor for `Viewer.timeline`.
    pub(in crate::graphql) cursor: String,
    /// The id of the post that was reposted.
    pub(in crate::graphql) post_id: ID,
    /// The id of the user who no longer reposts the post.
    pub(in crate::graphql) user_id: ID,
}

/// An event sent when what the timeline contains has changed otherwise than by a post: after a follow, a mute or a
/// block of the viewer has begun or ended, or when the server's timeline strategy has changed. Read the timeline again.
/// There are no such events about users who have become invisible to the viewer.
#[derive(SimpleObject)]
pub(in crate::graphql) struct TimelineReset {
    /// The event's cursor. Pass it as this subscription's `after` to resume without missing or repeating events. It is
    /// also a valid cursor for `Viewer.timeline`.
    pub(in crate::graphql) cursor: String,
}

/// A change of the viewer's relations to other users.
#[derive(Interface)]
#[graphql(field(name = "viewer", ty = "&Viewer", desc = "The viewer after the change."))]
pub(in crate::graphql) enum RelationEvent {
    /// A change of one relation.
    Changed(RelationChanged),
    /// A possible change of any relation.
    Reset(RelationsReset),
}

/// An event sent when the relation between the viewer and another user has changed.
#[derive(SimpleObject)]
pub(in crate::graphql) struct RelationChanged {
    /// The viewer after the change.
    pub(in crate::graphql) viewer: Viewer,
    /// The relation after the change.
    pub(in crate::graphql) relation: Box<Relation>,
}

/// An event sent when changes of relations may have been missed, because the server's connection to its store was lost
/// or the client has read too slowly. Read the relations that you show again: later changes are sent as usual.
#[derive(SimpleObject)]
pub(in crate::graphql) struct RelationsReset {
    /// The viewer after the change.
    pub(in crate::graphql) viewer: Viewer,
}
