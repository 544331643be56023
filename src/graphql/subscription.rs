//! Resolvers of the subscription root.
//!
//! Each event is loaded with a new loader and a new budget, so no event sees another event's cached data.

use std::sync::Arc;

use async_graphql::{Context, Subscription as AsyncSubscription};
use futures::stream::unfold;
use futures::{FutureExt as _, Stream};

use crate::app::error::Error;
use crate::app::recovery::RecoveryWatch;
use crate::app::relation::watch::{self, RelationWatch};
use crate::app::timeline::entry::Removal;
use crate::app::timeline::live::{self, TimelineWatch};
use crate::app::visibility::Access;
use crate::graphql::context::Scope;
use crate::graphql::cursor::{self, ListOf, Timeline, TimelinePosition};
use crate::graphql::id::GlobalId;
use crate::graphql::pace::Pace;
use crate::graphql::selection::Selected;
use crate::graphql::types::connection::post::{PostEdge, TimelineReplies};
use crate::graphql::types::event::{
    PostAdded, PostRemoved, RelationChanged, RelationEvent, RelationsReset, RepostRemoved, TimelineEvent,
    TimelineReset,
};
use crate::graphql::types::recovery::PendingRecovery;
use crate::graphql::types::selection::{relation_selection, user_selection};
use crate::graphql::types::user::User;
use crate::graphql::types::viewer::Viewer;

/// The root of all subscriptions.
pub(super) struct Subscription;

/// The root of all subscriptions.
#[AsyncSubscription]
impl Subscription {
    /// Posts and reposts added to and removed from the viewer's home timeline, from now on or after a cursor. Requires
    /// a signed-in viewer.
    async fn timeline(
        &self,
        context: &Context<'_>,
        #[graphql(
            desc = "The cursor to resume after, from an event or a timeline entry. Missed events are sent \
                    first. After a timeline entry, they include recent posts below the entry's page. If more than a \
                    day or 1,000 events were missed, the subscription fails with RESYNC_REQUIRED: refetch the \
                    timeline, then resubscribe. If null, only new events are sent."
        )]
        after: Option<String>,
        #[graphql(desc = "The replies to send. If null, those to users whom the viewer follows.")]
        replies: Option<TimelineReplies>,
    ) -> Result<impl Stream<Item = Result<TimelineEvent, Error>>, Error> {
        let scope = Scope::of(context);
        let list = ListOf { kind: Timeline, owner: scope.viewer().signed_in()?.user };
        let seen = after.map(|cursor| cursor::parse("after", list, &cursor)).transpose()?;
        let edge = Selected::of(context).field("edge");
        let author = user_selection(&[edge.field("node").field("author"), edge.field("repostedBy")]);
        let replies = replies.unwrap_or_default().into();
        let seen = seen.map(|TimelinePosition { seen, .. }| seen);
        let watch = scope.app.watch_timeline(scope.viewer(), seen, author.fields, replies).await?;
        let pace = Arc::clone(context.data_unchecked::<Arc<Pace>>());
        let next = async move |watch: &mut TimelineWatch| {
            let (event, seen) = loop {
                watch.ready().await?;
                pace.enter().await;
                if !watch.prepare().await? {
                    pace.step_back();
                } else if pace.charge().await
                    && let Some(next) = watch.take()
                {
                    break next;
                }
            };
            let position = |post| TimelinePosition { post, seen: seen.clone() };
            let cursor = |post| cursor::print(list, &position(post));
            Ok(match event {
                live::TimelineEvent::Added(entry) => {
                    let scope = scope.for_event();
                    let edge = Box::new(PostEdge::added(&scope, list, position(entry.id), &entry));
                    TimelineEvent::Added(PostAdded { cursor: cursor(entry.id), edge })
                }
                live::TimelineEvent::Reset => TimelineEvent::Reset(TimelineReset {
                    cursor: cursor::print(list, &TimelinePosition::below(seen)),
                }),
                live::TimelineEvent::Removed(Removal { id, post, undone_by }) => {
                    let (cursor, post_id) = (cursor(id), GlobalId::Post(post).print());
                    match undone_by.map(|user| GlobalId::User(user).print()) {
                        None => TimelineEvent::Removed(PostRemoved { cursor, post_id }),
                        Some(user_id) => {
                            TimelineEvent::RepostRemoved(RepostRemoved { cursor, post_id, user_id })
                        }
                    }
                }
            })
        };
        Ok(until_it_fails(watch, next))
    }

    /// The relations between the viewer and other users, each sent whenever it changes: either user follows or
    /// unfollows the other, or makes, withdraws, accepts or rejects a request to follow; or the viewer mutes, unmutes,
    /// blocks or unblocks the other. There are at least three seconds between two events about the same user: changes
    /// in between are sent as one, with the latest state. A blocked user receives nothing. If changes may have been
    /// missed, a `RelationsReset` is sent. Requires a signed-in viewer.
    #[expect(clippy::unused_async, reason = "the library requires it")]
    async fn relation_changed(
        &self,
        context: &Context<'_>,
    ) -> Result<impl Stream<Item = Result<RelationEvent, Error>>, Error> {
        let scope = Scope::of(context);
        let watch = scope.app.watch_relations(scope.viewer())?;
        let selection = relation_selection(&[Selected::of(context).field("relation")]);
        let pace = Arc::clone(context.data_unchecked::<Arc<Pace>>());
        let next = async move |watch: &mut RelationWatch| {
            loop {
                let next = watch.next().await;
                pace.enter().await;
                scope.app.refresh_exclusions(scope.viewer()).await?;
                let scope = scope.for_event();
                let viewer = Viewer::signed_in(&scope)?;
                let event = match next {
                    watch::RelationEvent::Changed(other) => {
                        // Boxed because the futures' types nest deeper than the compiler's limit.
                        let users =
                            User::load_all(&scope, Arc::new([other]), selection, Access::Direct).boxed();
                        let relation =
                            users.await?.into_iter().flatten().find_map(|user| user.loaded_relation());
                        let relation = relation.map(Box::new);
                        relation.map(|relation| RelationEvent::Changed(RelationChanged { viewer, relation }))
                    }
                    watch::RelationEvent::Reset => Some(RelationEvent::Reset(RelationsReset { viewer })),
                };
                let Some(event) = event else {
                    pace.step_back();
                    continue;
                };
                if pace.charge().await {
                    watch.sent(next);
                    return Ok(event);
                }
                watch.put_back(next);
            }
        };
        Ok(until_it_fails(watch, next))
    }

    /// The recovery code for the viewer's account that may still be used, sent whenever one is issued; null when it is
    /// used, revoked or expired. One that is pending at the time of the subscription is sent at once. Requires a
    /// signed-in viewer.
    #[expect(clippy::unused_async, reason = "the library requires it")]
    async fn pending_recovery_changed(
        &self,
        context: &Context<'_>,
    ) -> Result<impl Stream<Item = Result<Option<PendingRecovery>, Error>>, Error> {
        let scope = Scope::of(context);
        let watch = scope.app.watch_recovery(scope.viewer())?;
        let pace = Arc::clone(context.data_unchecked::<Arc<Pace>>());
        let next = async move |watch: &mut RecoveryWatch| {
            watch.ready().await;
            loop {
                pace.enter().await;
                if !watch.has_changed().await? {
                    pace.step_back();
                    watch.ready().await;
                } else if pace.charge().await {
                    let pending = watch.take();
                    return Ok(pending.map(|pending| PendingRecovery::new(&scope.for_event(), pending)));
                }
            }
        };
        Ok(until_it_fails(watch, next))
    }
}

/// Yields the results of `next`. The first error ends the stream.
fn until_it_fails<W, T, F>(watch: W, next: F) -> impl Stream<Item = Result<T, Error>>
where
    F: AsyncFn(&mut W) -> Result<T, Error>,
{
    unfold(Some((watch, next)), async |state| {
        let (mut watch, next) = state?;
        match next(&mut watch).await {
            Ok(item) => Some((Ok(item), Some((watch, next)))),
            Err(error) => Some((Err(error), None)),
        }
    })
}
