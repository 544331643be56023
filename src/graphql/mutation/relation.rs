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
use crate::graphql::selection::Selected;
use crate::graphql::types;
use crate::graphql::types::relation::{MuteScope, Relation};
use crate::graphql::types::scalar::DateTime;
use crate::graphql::types::selection::{relation_selection, user_selection};
use crate::graphql::types::user::User;
use crate::graphql::types::user_error::{UserErrors, split};
use crate::model::id::UserId;

/// Relation mutations.
#[derive(Default)]
pub(super) struct RelationMutation;

/// Declares the mutations that change the relation to a user, each with its input, its payload and the change.
macro_rules! relation_mutations {
    ($(
        $(#[$meta:meta])*
        $name:literal = $method:ident(
            $input:ident { user_id: $id:literal $(, $($more:tt)+)? }
        ) -> $payload:ident { user: $user_of:literal }
        |$app:ident, $viewer:ident, $user:ident $(, $given:ident)?| $change:expr;
    )*) => {
        $(
            #[doc = concat!("Input of `", $name, "`.")]
            #[derive(InputObject)]
            pub(super) struct $input {
                #[doc = $id]
                user_id: ID,
                $($($more)+)?
            }

            #[doc = concat!("Payload of `", $name, "`.")]
            #[derive(SimpleObject)]
            pub(super) struct $payload {
                /// The viewer after the change; null on failure.
                viewer: Option<types::viewer::Viewer>,
                /// The relation after the change; null on failure.
                relation: Option<Relation>,
                #[doc = $user_of]
                user: Option<User>,
                #[graphql(flatten)]
                errors: UserErrors,
            }
        )*

        #[Object]
        impl RelationMutation {
            $(
                $(#[$meta])*
                #[graphql(name = $name)]
                async fn $method(
                    &self,
                    context: &Context<'_>,
                    input: $input,
                ) -> Option<Result<$payload, Error>> {
                    let changed = change_relation(context, &input.user_id, async |$app, $viewer, $user| {
                        $(let $given = &input;)?
                        $change.await
                    });
                    Some(changed.await.map(|(Changed { viewer, relation, user }, errors)| $payload {
                        viewer,
                        relation,
                        user,
                        errors,
                    }))
                }
            )*
        }
    };
}

relation_mutations! {
    /// Follows a user or, if the user's account is private, requests to follow them. Idempotent.
    "follow" = follow(FollowInput { user_id: "The id of the user to follow." })
        -> FollowPayload {
            user: "The followed user, or the one whom the viewer has requested to follow; null on failure."
        }
        |app, viewer, user| app.follow(viewer, user);

    /// Unfollows a user, or withdraws the request to follow them. Idempotent.
    "unfollow" = unfollow(UnfollowInput { user_id: "The id of the user to unfollow." })
        -> UnfollowPayload { user: "The unfollowed user; null on failure." }
        |app, viewer, user| app.unfollow(viewer, user);

    /// Removes one of the viewer's followers. Idempotent.
    "removeFollower" = remove_follower(RemoveFollowerInput { user_id: "The id of the follower to remove." })
        -> RemoveFollowerPayload { user: "The removed follower; null on failure." }
        |app, viewer, user| app.remove_follower(viewer, user);

    /// Hides a user's posts from the viewer's home timeline. The user is not notified. Idempotent; repeating it
    /// replaces scope and end.
    "mute" = mute(MuteInput {
            user_id: "The id of the user to mute.",
            /// What to hide.
            #[graphql(default_with = "MuteScope::All")]
            scope: MuteScope,
            /// The time at which the mute ends, in the future. If null, it has no end.
            until: Option<DateTime>,
        })
        -> MutePayload { user: "The muted user; null on failure." }
        |app, viewer, user, input| {
            app.mute(viewer, user, input.scope.into(), input.until.as_ref().map(|DateTime(until)| *until))
        };

    /// Blocks a user: follows and requests between them end, the user no longer sees the viewer, and the viewer's lists
    /// and timelines leave out the user. The user is not notified. Idempotent.
    "block" = block(BlockInput { user_id: "The id of the user to block." })
        -> BlockPayload { user: "The blocked user; null on failure." }
        |app, viewer, user| app.block(viewer, user);

    /// Ends a block. Idempotent. Follows that the block ended are not restored.
    "unblock" = unblock(UnblockInput { user_id: "The id of the user to unblock." })
        -> UnblockPayload { user: "The unblocked user; null on failure." }
        |app, viewer, user| app.unblock(viewer, user);

    /// Accepts a user's request to follow the viewer. Without a request, changes nothing.
    "acceptFollowRequest" = accept_follow_request(AcceptFollowRequestInput {
            user_id: "The id of the user who requested to follow the viewer."
        })
        -> AcceptFollowRequestPayload { user: "The new follower; null on failure." }
        |app, viewer, user| app.accept_follow_request(viewer, user);

    /// Rejects a user's request to follow the viewer. The user is not notified, and may request again. Without a
    /// request, changes nothing.
    "rejectFollowRequest" = reject_follow_request(RejectFollowRequestInput {
            user_id: "The id of the user who requested to follow the viewer."
        })
        -> RejectFollowRequestPayload { user: "The rejected user; null on failure." }
        |app, viewer, user| app.reject_follow_request(viewer, user);

    /// Ends a mute. Idempotent.
    "unmute" = unmute(UnmuteInput { user_id: "The id of the user to unmute." })
        -> UnmutePayload { user: "The unmuted user; null on failure." }
        |app, viewer, user| app.unmute(viewer, user);
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
async fn change_relation(
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
