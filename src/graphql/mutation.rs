//! Mutations.
//!
//! Every field returns a payload that is read afresh after the change, in a scope of its own, so that the second field
//! of a document sees what the first one wrote. Errors that a user can act on are in the payload; all others are errors
//! of the field.

use std::sync::Arc;

use async_graphql::{Context, ID, InputObject, MaybeUndefined, Object, SimpleObject};

use crate::app::App;
use crate::app::error::Error;
use crate::app::session::Opened;
use crate::app::user::{ProfileWish, ResidenceWish};
use crate::app::viewer;
use crate::graphql::connection::{UserSelection, load_posts, load_users};
use crate::graphql::context::Scope;
use crate::graphql::id::GlobalId;
use crate::graphql::types::post::Post;
use crate::graphql::types::relation::Relation;
use crate::graphql::types::user::User;
use crate::graphql::types::user_error::{UserError, split};
use crate::graphql::types::viewer::Viewer;
use crate::model::id::{PostId, UserId};

/// The root of all mutations.
pub(super) struct Mutation;

/// Input of `register`.
#[derive(InputObject)]
pub(super) struct RegisterInput {
    /// The username: 2 to 30 of a–z, 0–9 and _, in any case.
    username: String,
    /// The password: 8 to 256 bytes.
    password: String,
    /// The display name: 1 to 50 characters; the username if not given.
    display_name: Option<String>,
    /// The client's label in the list of sessions: up to 100 characters.
    label: Option<String>,
}

/// Input of `login`.
#[derive(InputObject)]
pub(super) struct LoginInput {
    /// The username, in any case.
    username: String,
    /// The password.
    password: String,
    /// The client's label in the list of sessions: up to 100 characters.
    label: Option<String>,
}

/// Input of `revokeSession`.
#[derive(InputObject)]
pub(super) struct RevokeSessionInput {
    /// The session to end.
    session_id: ID,
}

/// Input of `changePassword`.
#[derive(InputObject)]
pub(super) struct ChangePasswordInput {
    /// The current password.
    current_password: String,
    /// The new password: 8 to 256 bytes.
    new_password: String,
}

/// Input of `updateProfile`. Omitted fields stay unchanged.
#[derive(InputObject)]
pub(super) struct UpdateProfileInput {
    /// The display name: 1 to 50 characters of any script; unchanged if null.
    display_name: Option<String>,
    /// The self-description: up to 500 characters of any script; cleared if empty, unchanged if null.
    bio: Option<String>,
    /// The region; cleared if null.
    region: MaybeUndefined<RegionInput>,
}

/// A country or one of its subdivisions.
#[derive(InputObject)]
pub(super) struct RegionInput {
    /// The ISO 3166-1 code of a country: two letters in any case, such as DE.
    country: String,
    /// The ISO 3166-2 code of one of its subdivisions, in any case, such as DE-BE; null for the whole country.
    subdivision: Option<String>,
}

impl UpdateProfileInput {
    fn wish(&self) -> ProfileWish<'_> {
        let residence = match &self.region {
            MaybeUndefined::Undefined => None,
            MaybeUndefined::Null => Some(ResidenceWish::Nowhere),
            MaybeUndefined::Value(RegionInput { country, subdivision }) => {
                Some(ResidenceWish::In(country, subdivision.as_deref()))
            }
        };
        ProfileWish { display_name: self.display_name.as_deref(), bio: self.bio.as_deref(), residence }
    }
}

/// Input of `follow`.
#[derive(InputObject)]
pub(super) struct FollowInput {
    /// The user to follow.
    user_id: ID,
}

/// Input of `unfollow`.
#[derive(InputObject)]
pub(super) struct UnfollowInput {
    /// The user to unfollow.
    user_id: ID,
}

/// Input of `removeFollower`.
#[derive(InputObject)]
pub(super) struct RemoveFollowerInput {
    /// The follower to remove.
    user_id: ID,
}

/// Input of `publish`.
#[derive(InputObject)]
pub(super) struct PublishInput {
    /// The text: 1 to 2,000 characters of any script.
    content: String,
    /// The client the post is written with, such as web: 1 to 50 characters.
    platform: Option<String>,
    /// Makes retries safe: for a day, attempts with the same key publish one and the same post. 1 to 100 characters.
    idempotency_key: Option<String>,
}

/// Input of `deletePost`.
#[derive(InputObject)]
pub(super) struct DeletePostInput {
    /// The post to delete.
    post_id: ID,
}

/// Payload of `register`.
#[derive(SimpleObject)]
pub(super) struct RegisterPayload {
    /// The session token, for the header `Authorization: Bearer …`; null on failure.
    token: Option<String>,
    /// The new user, signed in; null on failure.
    viewer: Option<Viewer>,
    /// Errors to show to the user; empty on success.
    user_errors: Vec<UserError>,
}

/// Payload of `login`.
#[derive(SimpleObject)]
pub(super) struct LoginPayload {
    /// The session token, for the header `Authorization: Bearer …`; null on failure.
    token: Option<String>,
    /// The signed-in user; null on failure.
    viewer: Option<Viewer>,
    /// Errors to show to the user; empty on success.
    user_errors: Vec<UserError>,
}

/// Payload of `logout` and `logoutEverywhere`.
#[derive(SimpleObject)]
pub(super) struct LogoutPayload {
    /// Errors to show to the user; empty on success.
    user_errors: Vec<UserError>,
}

/// Payload of `revokeSession`.
#[derive(SimpleObject)]
pub(super) struct RevokeSessionPayload {
    /// The id of the ended session; null on failure.
    revoked_id: Option<ID>,
    /// Errors to show to the user; empty on success.
    user_errors: Vec<UserError>,
}

/// Payload of `changePassword`.
#[derive(SimpleObject)]
pub(super) struct ChangePasswordPayload {
    /// The new token of the session, for the header `Authorization: Bearer …`; null on failure.
    token: Option<String>,
    /// The viewer; null on failure.
    viewer: Option<Viewer>,
    /// Errors to show to the user; empty on success.
    user_errors: Vec<UserError>,
}

/// Payload of `updateProfile`.
#[derive(SimpleObject)]
pub(super) struct UpdateProfilePayload {
    /// The updated user; null on failure.
    user: Option<User>,
    /// Errors to show to the user; empty on success.
    user_errors: Vec<UserError>,
}

/// Payload of `follow`.
#[derive(SimpleObject)]
pub(super) struct FollowPayload {
    /// The relation after the change; null on failure.
    relation: Option<Relation>,
    /// The user; null on failure.
    user: Option<User>,
    /// Errors to show to the user; empty on success.
    user_errors: Vec<UserError>,
}

/// Payload of `unfollow`.
#[derive(SimpleObject)]
pub(super) struct UnfollowPayload {
    /// The relation after the change; null on failure.
    relation: Option<Relation>,
    /// The user; null on failure.
    user: Option<User>,
    /// Errors to show to the user; empty on success.
    user_errors: Vec<UserError>,
}

/// Payload of `removeFollower`.
#[derive(SimpleObject)]
pub(super) struct RemoveFollowerPayload {
    /// The relation after the change; null on failure.
    relation: Option<Relation>,
    /// The user; null on failure.
    user: Option<User>,
    /// Errors to show to the user; empty on success.
    user_errors: Vec<UserError>,
}

/// Payload of `publish`.
pub(super) struct PublishPayload {
    scope: Arc<Scope>,
    published: Option<PostId>,
    user_errors: Vec<UserError>,
}

/// Payload of `publish`.
#[Object]
impl PublishPayload {
    /// The post; null on failure, or if it was deleted since.
    async fn post(&self, context: &Context<'_>) -> Option<Result<Post, Error>> {
        let id = self.published?;
        let posts = load_posts(&self.scope, Arc::new([id]), &context.look_ahead()).await;
        posts.map(|posts| posts.into_iter().next().flatten()).transpose()
    }

    /// Errors to show to the user; empty on success.
    async fn user_errors(&self) -> &[UserError] {
        &self.user_errors
    }
}

/// Payload of `deletePost`.
#[derive(SimpleObject)]
pub(super) struct DeletePostPayload {
    /// The id of the deleted post; null on failure.
    deleted_id: Option<ID>,
    /// Errors to show to the user; empty on success.
    user_errors: Vec<UserError>,
}

/// The root of all mutations. Every payload is nullable, so that one failing field does not discard the results of the
/// others.
#[Object]
impl Mutation {
    /// Creates an account and signs in.
    async fn register(
        &self,
        context: &Context<'_>,
        input: RegisterInput,
    ) -> Option<Result<RegisterPayload, Error>> {
        let scope = Scope::of(context);
        let RegisterInput { username, password, display_name, label } = input;
        let (display_name, label, from) = (display_name.as_deref(), label.as_deref(), scope.address());
        let done = scope.app.register(&username, &password, display_name, label, from).await;
        Some(split(done).map(|(opened, user_errors)| {
            let (token, viewer) = signed_in(&scope, opened);
            RegisterPayload { token, viewer, user_errors }
        }))
    }

    /// Signs in.
    async fn login(&self, context: &Context<'_>, input: LoginInput) -> Option<Result<LoginPayload, Error>> {
        let scope = Scope::of(context);
        let LoginInput { username, password, label } = input;
        let done = scope.app.login(&username, &password, label.as_deref(), scope.address()).await;
        Some(split(done).map(|(opened, user_errors)| {
            let (token, viewer) = signed_in(&scope, opened);
            LoginPayload { token, viewer, user_errors }
        }))
    }

    /// Ends the current session.
    async fn logout(&self, context: &Context<'_>) -> Option<Result<LogoutPayload, Error>> {
        let scope = Scope::of(context);
        let done = scope.app.logout(scope.viewer()).await.inspect(|()| scope.end_session());
        Some(split(done).map(|(_, user_errors)| LogoutPayload { user_errors }))
    }

    /// Ends all sessions of the viewer, including the current one.
    async fn logout_everywhere(&self, context: &Context<'_>) -> Option<Result<LogoutPayload, Error>> {
        let scope = Scope::of(context);
        let done = scope.app.logout_everywhere(scope.viewer()).await.inspect(|()| scope.end_session());
        Some(split(done).map(|(_, user_errors)| LogoutPayload { user_errors }))
    }

    /// Ends one session of the viewer.
    async fn revoke_session(
        &self,
        context: &Context<'_>,
        input: RevokeSessionInput,
    ) -> Option<Result<RevokeSessionPayload, Error>> {
        let scope = Scope::of(context);
        let done = async {
            let session = GlobalId::session("input.sessionId", &input.session_id)?;
            let is_own = scope.viewer().signed_in()?.session == session;
            let done = scope.app.revoke_session(scope.viewer(), session).await;
            if is_own && done.is_ok() {
                scope.end_session();
            }
            done
        };
        Some(split(done.await).map(|(done, user_errors)| RevokeSessionPayload {
            revoked_id: done.map(|()| input.session_id),
            user_errors,
        }))
    }

    /// Changes the viewer's password. Ends all other sessions and issues a new token for the current one; the old token
    /// is revoked at once.
    async fn change_password(
        &self,
        context: &Context<'_>,
        input: ChangePasswordInput,
    ) -> Option<Result<ChangePasswordPayload, Error>> {
        let scope = Scope::of(context);
        let ChangePasswordInput { current_password, new_password } = input;
        let from = scope.address();
        let done = scope.app.change_password(scope.viewer(), &current_password, &new_password, from).await;
        Some(split(done).map(|(opened, user_errors)| {
            if let Some(Opened { viewer, .. }) = &opened {
                scope.renew_session(viewer.clone());
            }
            let (token, viewer) = signed_in(&scope, opened);
            ChangePasswordPayload { token, viewer, user_errors }
        }))
    }

    /// Updates the viewer's profile.
    async fn update_profile(
        &self,
        context: &Context<'_>,
        input: UpdateProfileInput,
    ) -> Option<Result<UpdateProfilePayload, Error>> {
        let scope = Scope::of(context);
        let done = scope.app.change_profile(scope.viewer(), input.wish()).await;
        let selection = UserSelection::of(&[context.look_ahead().field("user")]);
        Some(split(done).map(|(user, user_errors)| UpdateProfilePayload {
            user: user.map(|user| User::asked(&scope.afresh(), user, selection)),
            user_errors,
        }))
    }

    /// Follows a user. Repeating it changes nothing.
    async fn follow(
        &self,
        context: &Context<'_>,
        input: FollowInput,
    ) -> Option<Result<FollowPayload, Error>> {
        let changed =
            change_edge(context, &input.user_id, async |app, viewer, user| app.follow(viewer, user).await);
        Some(changed.await.map(|(relation, user, user_errors)| FollowPayload { relation, user, user_errors }))
    }

    /// Unfollows a user. Repeating it changes nothing.
    async fn unfollow(
        &self,
        context: &Context<'_>,
        input: UnfollowInput,
    ) -> Option<Result<UnfollowPayload, Error>> {
        let changed =
            change_edge(context, &input.user_id, async |app, viewer, user| app.unfollow(viewer, user).await);
        Some(changed.await.map(|(relation, user, user_errors)| UnfollowPayload {
            relation,
            user,
            user_errors,
        }))
    }

    /// Removes a follower of the viewer. Repeating it changes nothing.
    async fn remove_follower(
        &self,
        context: &Context<'_>,
        input: RemoveFollowerInput,
    ) -> Option<Result<RemoveFollowerPayload, Error>> {
        let changed = change_edge(context, &input.user_id, async |app, viewer, user| {
            app.remove_follower(viewer, user).await
        });
        Some(changed.await.map(|(relation, user, user_errors)| RemoveFollowerPayload {
            relation,
            user,
            user_errors,
        }))
    }

    /// Publishes a post. It is visible at once; delivery to followers continues in the background.
    async fn publish(
        &self,
        context: &Context<'_>,
        input: PublishInput,
    ) -> Option<Result<PublishPayload, Error>> {
        let scope = Scope::of(context);
        let PublishInput { content, platform, idempotency_key } = input;
        let (platform, key) = (platform.as_deref(), idempotency_key.as_deref());
        let done = scope.app.publish(scope.viewer(), &content, platform, key).await;
        Some(split(done).map(|(published, user_errors)| PublishPayload {
            scope: scope.afresh(),
            published,
            user_errors,
        }))
    }

    /// Deletes a post of the viewer. Repeating it changes nothing.
    async fn delete_post(
        &self,
        context: &Context<'_>,
        input: DeletePostInput,
    ) -> Option<Result<DeletePostPayload, Error>> {
        let scope = Scope::of(context);
        let done = async {
            scope.viewer().signed_in()?;
            let post = GlobalId::post("input.postId", &input.post_id)?;
            scope.app.delete_post(scope.viewer(), post).await
        };
        Some(split(done.await).map(|(done, user_errors)| DeletePostPayload {
            deleted_id: done.map(|()| input.post_id),
            user_errors,
        }))
    }
}

/// Returns the token and the viewer of a newly opened session.
fn signed_in(scope: &Scope, opened: Option<Opened>) -> (Option<String>, Option<Viewer>) {
    match opened {
        Some(Opened { token, viewer }) => (Some(token.expose()), Viewer::of(&scope.seen_by(viewer))),
        None => (None, None),
    }
}

/// Changes the relation between the viewer and the user in `input.userId`, and reads it afresh, with the data that the
/// payload's selection needs.
async fn change_edge(
    context: &Context<'_>,
    user_id: &ID,
    change: impl AsyncFnOnce(&App, &viewer::Viewer, UserId) -> Result<(), Error>,
) -> Result<(Option<Relation>, Option<User>, Vec<UserError>), Error> {
    let scope = Scope::of(context);
    scope.viewer().signed_in()?;
    let user = GlobalId::user("input.userId", user_id)?;
    let (done, user_errors) = split(change(&scope.app, scope.viewer(), user).await)?;
    let Some(()) = done else {
        return Ok((None, None, user_errors));
    };
    let payload = context.look_ahead();
    let selection = UserSelection::of(&[payload.field("user"), payload.field("relation").field("user")]);
    let selection = UserSelection { relation: true, ..selection };
    let user = load_users(&scope.afresh(), Arc::new([user]), selection).await?.pop().flatten();
    let relation = user.as_ref().and_then(User::loaded_relation);
    Ok((relation, user, user_errors))
}
