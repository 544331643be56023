//! Relation mutations.

use std::sync::Arc;

use async_graphql::{Context, ID, InputObject, Object, SimpleObject};
use futures::FutureExt as _;

use crate::app::App;
use crate::app::error::Error;
use crate::app::viewer::Viewer;
use crate::app::visibility::Access;
use crate::graphql::context::Scope;
use crate::graphql::id::GlobalId;
use crate::graphql::selection::{Selected, relation_selection, user_selection};
use crate::graphql::types;
use crate::graphql::types::relation::{MuteScope, Relation};
use crate::graphql::types::scalar::DateTime;
use crate::graphql::types::user::User;
use crate::graphql::types::user_error::{UserErrors, split};
use crate::model::id::UserId;

/// Relation mutations.
#[derive(Default)]
pub(super) struct RelationMutation;

/// Input of `follow`.
#[derive(InputObject)]
pub(super) struct FollowInput {
    /// The id of the user to follow.
    user_id: ID,
}

/// Input of `unfollow`.
#[derive(InputObject)]
pub(super) struct UnfollowInput {
    /// The id of the user to unfollow.
    user_id: ID,
}

/// Input of `removeFollower`.
#[derive(InputObject)]
pub(super) struct RemoveFollowerInput {
    /// The id of the follower to remove.
    user_id: ID,
}

/// Input of `mute`.
#[derive(InputObject)]
pub(super) struct MuteInput {
    /// The id of the user to mute.
    user_id: ID,
    /// What to hide.
    #[graphql(default_with = "MuteScope::All")]
    scope: MuteScope,
    /// The time at which the mute ends, in the future. If null, it has no end.
    until: Option<DateTime>,
}

/// Input of `unmute`.
#[derive(InputObject)]
pub(super) struct UnmuteInput {
    /// The id of the user to unmute.
    user_id: ID,
}

/// Input of `block`.
#[derive(InputObject)]
pub(super) struct BlockInput {
    /// The id of the user to block.
    user_id: ID,
}

/// Input of `unblock`.
#[derive(InputObject)]
pub(super) struct UnblockInput {
    /// The id of the user to unblock.
    user_id: ID,
}

/// Input of `acceptFollowRequest`.
#[derive(InputObject)]
pub(super) struct AcceptFollowRequestInput {
    /// The id of the user who requested to follow the viewer.
    user_id: ID,
}

/// Input of `rejectFollowRequest`.
#[derive(InputObject)]
pub(super) struct RejectFollowRequestInput {
    /// The id of the user who requested to follow the viewer.
    user_id: ID,
}

/// Declares the payload of a mutation that changes the relation to a user.
macro_rules! payload {
    ($name:ident, $description:tt, $user:tt) => {
        #[doc = $description]
        #[derive(SimpleObject)]
        pub(super) struct $name {
            /// The viewer after the change; null on failure.
            viewer: Option<types::viewer::Viewer>,
            /// The relation after the change; null on failure.
            relation: Option<Relation>,
            #[doc = $user]
            user: Option<User>,
            #[graphql(flatten)]
            errors: UserErrors,
        }

        impl From<(Changed, UserErrors)> for $name {
            fn from((Changed { viewer, relation, user }, errors): (Changed, UserErrors)) -> Self {
                Self { viewer, relation, user, errors }
            }
        }
    };
}

payload!(
    FollowPayload,
    "Payload of `follow`.",
    "The followed user, or the one whom the viewer has requested to follow; null on failure."
);
payload!(UnfollowPayload, "Payload of `unfollow`.", "The unfollowed user; null on failure.");
payload!(RemoveFollowerPayload, "Payload of `removeFollower`.", "The removed follower; null on failure.");
payload!(MutePayload, "Payload of `mute`.", "The muted user; null on failure.");
payload!(UnmutePayload, "Payload of `unmute`.", "The unmuted user; null on failure.");
payload!(BlockPayload, "Payload of `block`.", "The blocked user; null on failure.");
payload!(UnblockPayload, "Payload of `unblock`.", "The unblocked user; null on failure.");
payload!(
    AcceptFollowRequestPayload,
    "Payload of `acceptFollowRequest`.",
    "The new follower; null on failure."
);
payload!(
    RejectFollowRequestPayload,
    "Payload of `rejectFollowRequest`.",
    "The rejected user; null on failure."
);

#[Object]
impl RelationMutation {
    /// Follows a user or, if the user's account is private, requests to follow them. Idempotent.
    async fn follow(
        &self,
        context: &Context<'_>,
        input: FollowInput,
    ) -> Option<Result<FollowPayload, Error>> {
        let changed =
            change_edge(context, &input.user_id, async |app, viewer, user| app.follow(viewer, user).await);
        Some(changed.await.map(FollowPayload::from))
    }

    /// Unfollows a user, or withdraws the request to follow them. Idempotent.
    async fn unfollow(
        &self,
        context: &Context<'_>,
        input: UnfollowInput,
    ) -> Option<Result<UnfollowPayload, Error>> {
        let changed =
            change_edge(context, &input.user_id, async |app, viewer, user| app.unfollow(viewer, user).await);
        Some(changed.await.map(UnfollowPayload::from))
    }

    /// Removes one of the viewer's followers. Idempotent.
    async fn remove_follower(
        &self,
        context: &Context<'_>,
        input: RemoveFollowerInput,
    ) -> Option<Result<RemoveFollowerPayload, Error>> {
        let changed = change_edge(context, &input.user_id, async |app, viewer, user| {
            app.remove_follower(viewer, user).await
        });
        Some(changed.await.map(RemoveFollowerPayload::from))
    }

    /// Hides a user's posts from the viewer's home timeline. The user is not notified. Idempotent; repeating it
    /// replaces scope and end.
    async fn mute(&self, context: &Context<'_>, input: MuteInput) -> Option<Result<MutePayload, Error>> {
        let MuteInput { user_id, scope, until } = input;
        let until = until.map(|DateTime(until)| until);
        let changed = change_edge(context, &user_id, async |app, viewer, user| {
            app.mute(viewer, user, scope.into(), until).await
        });
        Some(changed.await.map(MutePayload::from))
    }

    /// Blocks a user: follows and requests between them end, the user no longer sees the viewer, and the viewer's lists
    /// and timelines leave out the user. The user is not notified. Idempotent.
    async fn block(&self, context: &Context<'_>, input: BlockInput) -> Option<Result<BlockPayload, Error>> {
        let changed =
            change_edge(context, &input.user_id, async |app, viewer, user| app.block(viewer, user).await);
        Some(changed.await.map(BlockPayload::from))
    }

    /// Ends a block. Idempotent. Follows that the block ended are not restored.
    async fn unblock(
        &self,
        context: &Context<'_>,
        input: UnblockInput,
    ) -> Option<Result<UnblockPayload, Error>> {
        let changed =
            change_edge(context, &input.user_id, async |app, viewer, user| app.unblock(viewer, user).await);
        Some(changed.await.map(UnblockPayload::from))
    }

    /// Accepts a user's request to follow the viewer. Without a request, changes nothing.
    async fn accept_follow_request(
        &self,
        context: &Context<'_>,
        input: AcceptFollowRequestInput,
    ) -> Option<Result<AcceptFollowRequestPayload, Error>> {
        let changed = change_edge(context, &input.user_id, async |app, viewer, user| {
            app.accept_follow_request(viewer, user).await
        });
        Some(changed.await.map(AcceptFollowRequestPayload::from))
    }

    /// Rejects a user's request to follow the viewer. The user is not notified, and may request again. Without a
    /// request, changes nothing.
    async fn reject_follow_request(
        &self,
        context: &Context<'_>,
        input: RejectFollowRequestInput,
    ) -> Option<Result<RejectFollowRequestPayload, Error>> {
        let changed = change_edge(context, &input.user_id, async |app, viewer, user| {
            app.reject_follow_request(viewer, user).await
        });
        Some(changed.await.map(RejectFollowRequestPayload::from))
    }

    /// Ends a mute. Idempotent.
    async fn unmute(
        &self,
        context: &Context<'_>,
        input: UnmuteInput,
    ) -> Option<Result<UnmutePayload, Error>> {
        let changed =
            change_edge(context, &input.user_id, async |app, viewer, user| app.unmute(viewer, user).await);
        Some(changed.await.map(UnmutePayload::from))
    }
}

/// The objects of a payload after a change; all are `None` if the change was rejected.
#[derive(Default)]
struct Changed {
    viewer: Option<types::viewer::Viewer>,
    relation: Option<Relation>,
    user: Option<User>,
}

/// Changes the relation between the viewer and the user in `input.userId`. Then loads the user and the relation with a
/// new loader, with the data that the payload's selection needs.
async fn change_edge(
    context: &Context<'_>,
    user_id: &ID,
    change: impl AsyncFnOnce(&App, &Viewer, UserId) -> Result<(), Error>,
) -> Result<(Changed, UserErrors), Error> {
    let scope = Scope::of(context);
    scope.viewer().signed_in()?;
    let user = GlobalId::user("input.userId", user_id)?;
    let (done, errors) = split(change(&scope.app, scope.viewer(), user).await)?;
    let Some(()) = done else {
        return Ok((Changed::default(), errors));
    };
    let payload = Selected::of(context);
    let (user_of, relation_of) = (payload.field("user"), payload.field("relation"));
    let selection = user_selection(&[user_of]).and(relation_selection(&[relation_of]));
    let scope = scope.afresh();
    // Boxed because the futures' types nest deeper than the compiler's limit.
    let user = User::load_all(&scope, Arc::new([user]), selection, Access::Direct).boxed().await?;
    let user = user.into_iter().next().flatten();
    let relation = user.as_ref().and_then(User::loaded_relation);
    Ok((Changed { viewer: types::viewer::Viewer::of(&scope), relation, user }, errors))
}
