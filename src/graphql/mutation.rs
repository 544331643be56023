//! What can be changed.
//!
//! Every field answers a payload that is read afresh after the change, in a scope of its own, so
//! that the second field of a document sees what the first one wrote. Refusals that a person can do
//! something about are in the payload; everything else is an error of the field.

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

/// What `register` takes.
#[derive(InputObject)]
pub(super) struct RegisterInput {
    /// 2 to 30 of a–z, 0–9 and _, in any case.
    username: String,
    /// 8 to 256 bytes.
    password: String,
    /// 1 to 50 characters; the username if not given.
    display_name: Option<String>,
    /// What the client calls itself in the list of sessions: up to 100 characters.
    label: Option<String>,
}

/// What `login` takes.
#[derive(InputObject)]
pub(super) struct LoginInput {
    /// The name, in any case.
    username: String,
    /// The password.
    password: String,
    /// What the client calls itself in the list of sessions: up to 100 characters.
    label: Option<String>,
}

/// What `revokeSession` takes.
#[derive(InputObject)]
pub(super) struct RevokeSessionInput {
    /// The session to end.
    session_id: ID,
}

/// What `changePassword` takes.
#[derive(InputObject)]
pub(super) struct ChangePasswordInput {
    /// The password as it is.
    current_password: String,
    /// The password as it shall be: 8 to 256 bytes.
    new_password: String,
}

/// What `updateProfile` takes. What is not given stays as it is.
#[derive(InputObject)]
pub(super) struct UpdateProfileInput {
    /// 1 to 50 characters of any script; stays as it is also if null.
    display_name: Option<String>,
    /// Up to 500 characters of any script, empty to say nothing; stays as it is also if null.
    bio: Option<String>,
    /// Where the viewer is; null to say nothing.
    region: MaybeUndefined<RegionInput>,
}

/// A country, or one of its subdivisions.
#[derive(InputObject)]
pub(super) struct RegionInput {
    /// The code of a country in ISO 3166-1: two letters in any case, such as DE.
    country: String,
    /// The code of one of its subdivisions in ISO 3166-2, in any case, such as DE-BE; null for the whole country.
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

/// What `follow` takes.
#[derive(InputObject)]
pub(super) struct FollowInput {
    /// Whom to follow.
    user_id: ID,
}

/// What `unfollow` takes.
#[derive(InputObject)]
pub(super) struct UnfollowInput {
    /// Whom to follow no longer.
    user_id: ID,
}

/// What `removeFollower` takes.
#[derive(InputObject)]
pub(super) struct RemoveFollowerInput {
    /// Who shall follow the viewer no longer.
    user_id: ID,
}

/// What `publish` takes.
#[derive(InputObject)]
pub(super) struct PublishInput {
    /// 1 to 2,000 characters of any script.
    content: String,
    /// The client it is written with, such as web: 1 to 50 characters.
    platform: Option<String>,
    /// Names this attempt, so that it may be sent again: under the same key, for a day, the same post is
    /// published once. 1 to 100 characters.
    idempotency_key: Option<String>,
}

/// What `deletePost` takes.
#[derive(InputObject)]
pub(super) struct DeletePostInput {
    /// Which post.
    post_id: ID,
}

/// What `register` answers.
#[derive(SimpleObject)]
pub(super) struct RegisterPayload {
    /// For the header `Authorization: Bearer …`; null if refused.
    token: Option<String>,
    /// The new user, signed in; null if refused.
    viewer: Option<Viewer>,
    /// Why it was refused; empty if it was not.
    user_errors: Vec<UserError>,
}

/// What `login` answers.
#[derive(SimpleObject)]
pub(super) struct LoginPayload {
    /// For the header `Authorization: Bearer …`; null if refused.
    token: Option<String>,
    /// The user, signed in; null if refused.
    viewer: Option<Viewer>,
    /// Why it was refused; empty if it was not.
    user_errors: Vec<UserError>,
}

/// What `logout` and `logoutEverywhere` answer.
#[derive(SimpleObject)]
pub(super) struct LogoutPayload {
    /// Why it was refused; empty if it was not.
    user_errors: Vec<UserError>,
}

/// What `revokeSession` answers.
#[derive(SimpleObject)]
pub(super) struct RevokeSessionPayload {
    /// The session that has ended; null if refused.
    revoked_id: Option<ID>,
    /// Why it was refused; empty if it was not.
    user_errors: Vec<UserError>,
}

/// What `changePassword` answers.
#[derive(SimpleObject)]
pub(super) struct ChangePasswordPayload {
    /// The token of the session from now on, for the header `Authorization: Bearer …`; null if refused.
    token: Option<String>,
    /// The viewer; null if refused.
    viewer: Option<Viewer>,
    /// Why it was refused; empty if it was not.
    user_errors: Vec<UserError>,
}

/// What `updateProfile` answers.
#[derive(SimpleObject)]
pub(super) struct UpdateProfilePayload {
    /// The user as it is now; null if refused.
    user: Option<User>,
    /// Why it was refused; empty if it was not.
    user_errors: Vec<UserError>,
}

/// What `follow` answers.
#[derive(SimpleObject)]
pub(super) struct FollowPayload {
    /// How the viewer and the user stand now; null if refused.
    relation: Option<Relation>,
    /// The user; null if refused.
    user: Option<User>,
    /// Why it was refused; empty if it was not.
    user_errors: Vec<UserError>,
}

/// What `unfollow` answers.
#[derive(SimpleObject)]
pub(super) struct UnfollowPayload {
    /// How the viewer and the user stand now; null if refused.
    relation: Option<Relation>,
    /// The user; null if refused.
    user: Option<User>,
    /// Why it was refused; empty if it was not.
    user_errors: Vec<UserError>,
}

/// What `removeFollower` answers.
#[derive(SimpleObject)]
pub(super) struct RemoveFollowerPayload {
    /// How the viewer and the user stand now; null if refused.
    relation: Option<Relation>,
    /// The user; null if refused.
    user: Option<User>,
    /// Why it was refused; empty if it was not.
    user_errors: Vec<UserError>,
}

/// What `publish` answers.
pub(super) struct PublishPayload {
    scope: Arc<Scope>,
    published: Option<PostId>,
    user_errors: Vec<UserError>,
}

/// What `publish` answers.
#[Object]
impl PublishPayload {
    /// The post; null if refused, or deleted since.
    async fn post(&self, context: &Context<'_>) -> Option<Result<Post, Error>> {
        let id = self.published?;
        let posts = load_posts(&self.scope, Arc::new([id]), &context.look_ahead()).await;
        posts.map(|posts| posts.into_iter().next().flatten()).transpose()
    }

    /// Why it was refused; empty if it was not.
    async fn user_errors(&self) -> &[UserError] {
        &self.user_errors
    }
}

/// What `deletePost` answers.
#[derive(SimpleObject)]
pub(super) struct DeletePostPayload {
    /// The post that is gone; null if refused.
    deleted_id: Option<ID>,
    /// Why it was refused; empty if it was not.
    user_errors: Vec<UserError>,
}

/// What can be changed. Every payload can be null, so that one failing field does not take the answers
/// of the others away.
#[Object]
impl Mutation {
    /// Makes an account and signs it in.
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

    /// Ends the session that asks.
    async fn logout(&self, context: &Context<'_>) -> Option<Result<LogoutPayload, Error>> {
        let scope = Scope::of(context);
        let done = scope.app.logout(scope.viewer()).await.inspect(|()| scope.end_session());
        Some(split(done).map(|(_, user_errors)| LogoutPayload { user_errors }))
    }

    /// Ends all sessions of the viewer, this one included.
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

    /// Changes the viewer's password. Ends all other sessions, and gives the session that asks a new token: the old one is
    /// void at once.
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

    /// Changes what others see of the viewer.
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

    /// The viewer follows a user. Doing it again changes nothing.
    async fn follow(
        &self,
        context: &Context<'_>,
        input: FollowInput,
    ) -> Option<Result<FollowPayload, Error>> {
        let changed =
            change_edge(context, &input.user_id, async |app, viewer, user| app.follow(viewer, user).await);
        Some(changed.await.map(|(relation, user, user_errors)| FollowPayload { relation, user, user_errors }))
    }

    /// The viewer no longer follows a user. Doing it again changes nothing.
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

    /// A user no longer follows the viewer. Doing it again changes nothing.
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

    /// Publishes a post. It is visible at once; delivery to followers goes on afterwards.
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

    /// Deletes a post of the viewer's. Doing it again changes nothing.
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

/// The token and the viewer of a session that was just opened.
fn signed_in(scope: &Scope, opened: Option<Opened>) -> (Option<String>, Option<Viewer>) {
    match opened {
        Some(Opened { token, viewer }) => (Some(token.expose()), Viewer::of(&scope.seen_by(viewer))),
        None => (None, None),
    }
}

/// Changes how the viewer and the user in `input.userId` stand, and reads afresh how they do, with
/// what the payload's selection asks for.
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
