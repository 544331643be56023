//! Account and session mutations.

use async_graphql::{Context, ID, InputObject, Object, SimpleObject};

use crate::app::error::Error;
use crate::app::session::Opened;
use crate::graphql::context::Scope;
use crate::graphql::id::GlobalId;
use crate::graphql::types::scalar::DateTime;
use crate::graphql::types::user_error::{UserErrors, split};
use crate::graphql::types::viewer::Viewer;

/// Account and session mutations.
#[derive(Default)]
pub(super) struct AccountMutation;

/// Input of `register`.
#[derive(InputObject)]
pub(super) struct RegisterInput {
    /// The username: 2 to 30 characters from a–z, 0–9 and _. Case is ignored.
    username: String,
    /// The password: 8 to 256 bytes.
    password: String,
    /// The display name: 1 to 50 characters of any script, of which at least one is visible; the username if null. It
    /// contains no invisible characters except in emoji and where scripts need them.
    display_name: Option<String>,
    /// A label for the session, shown in `Viewer.sessions`: up to 100 characters.
    #[graphql(default_with = "Some(String::new())")]
    label: Option<String>,
    /// The code of an invite, if the server requires one; otherwise, the code is ignored. Case is ignored.
    invite: Option<String>,
}

/// Input of `login`.
#[derive(InputObject)]
pub(super) struct LoginInput {
    /// The username. Case is ignored.
    username: String,
    /// The user's password.
    password: String,
    /// A label for the session, shown in `Viewer.sessions`: up to 100 characters.
    #[graphql(default_with = "Some(String::new())")]
    label: Option<String>,
}

/// Input of `revokeSession`.
#[derive(InputObject)]
pub(super) struct RevokeSessionInput {
    /// The id of the session to end.
    session_id: ID,
}

/// Input of `changePassword`.
#[derive(InputObject)]
pub(super) struct ChangePasswordInput {
    /// The viewer's current password.
    current_password: String,
    /// The new password: 8 to 256 bytes.
    new_password: String,
}

/// Input of `deleteAccount`.
#[derive(InputObject)]
pub(super) struct DeleteAccountInput {
    /// The viewer's current password. Required, unless the viewer signs in with the token of another application.
    current_password: Option<String>,
}

/// Payload of `register`.
#[derive(SimpleObject)]
pub(super) struct RegisterPayload {
    /// The session token, for the header `Authorization: Bearer …`; null on failure.
    token: Option<String>,
    /// The new user, signed in; null on failure.
    viewer: Option<Viewer>,
    #[graphql(flatten)]
    errors: UserErrors,
}

/// Payload of `login`.
#[derive(SimpleObject)]
pub(super) struct LoginPayload {
    /// The session token, for the header `Authorization: Bearer …`; null on failure.
    token: Option<String>,
    /// The signed-in user; null on failure.
    viewer: Option<Viewer>,
    #[graphql(flatten)]
    errors: UserErrors,
}

/// Payload of `logout` and `logoutEverywhere`.
#[derive(SimpleObject)]
pub(super) struct LogoutPayload {
    #[graphql(flatten)]
    errors: UserErrors,
}

/// Payload of `revokeSession`.
#[derive(SimpleObject)]
pub(super) struct RevokeSessionPayload {
    /// The id of the revoked session; null on failure.
    revoked_session_id: Option<ID>,
    #[graphql(flatten)]
    errors: UserErrors,
}

/// Payload of `changePassword`.
#[derive(SimpleObject)]
pub(super) struct ChangePasswordPayload {
    /// The session's new token, for the header `Authorization: Bearer …`; null on failure.
    token: Option<String>,
    /// The viewer, signed in with the new token; null on failure.
    viewer: Option<Viewer>,
    #[graphql(flatten)]
    errors: UserErrors,
}

/// Payload of `deleteAccount`.
#[derive(SimpleObject)]
pub(super) struct DeleteAccountPayload {
    /// The time from which the account may be erased, so that the deletion cannot be cancelled any more; null on
    /// failure.
    deletion_at: Option<DateTime>,
    #[graphql(flatten)]
    errors: UserErrors,
}

#[Object]
impl AccountMutation {
    /// Creates a user account and signs the user in.
    async fn register(
        &self,
        context: &Context<'_>,
        input: RegisterInput,
    ) -> Option<Result<RegisterPayload, Error>> {
        let scope = Scope::of(context);
        let RegisterInput { username, password, display_name, label, invite } = input;
        let (display_name, label, invite) = (display_name.as_deref(), label.as_deref(), invite.as_deref());
        let from = scope.address();
        let done = scope.app.register(&username, &password, display_name, label, invite, from).await;
        Some(split(done).map(|(opened, errors)| {
            let (token, viewer) = signed_in(&scope, opened);
            RegisterPayload { token, viewer, errors }
        }))
    }

    /// Signs a user in with their username and password.
    async fn login(&self, context: &Context<'_>, input: LoginInput) -> Option<Result<LoginPayload, Error>> {
        let scope = Scope::of(context);
        let LoginInput { username, password, label } = input;
        let done = scope.app.login(&username, &password, label.as_deref(), scope.address()).await;
        Some(split(done).map(|(opened, errors)| {
            let (token, viewer) = signed_in(&scope, opened);
            LoginPayload { token, viewer, errors }
        }))
    }

    /// Ends the current session. A viewer who signs in with the token of another application has none: the user error
    /// is `EXTERNAL_SIGN_IN`, and the token stays valid until it expires.
    async fn logout(&self, context: &Context<'_>) -> Option<Result<LogoutPayload, Error>> {
        let scope = Scope::of(context);
        let done = scope.app.logout(scope.viewer()).await.inspect(|()| scope.end_session());
        Some(split(done).map(|(_, errors)| LogoutPayload { errors }))
    }

    /// Ends all sessions of the viewer, including the current one. With the token of another application, as `logout`.
    async fn logout_everywhere(&self, context: &Context<'_>) -> Option<Result<LogoutPayload, Error>> {
        let scope = Scope::of(context);
        let done = scope.app.logout_everywhere(scope.viewer()).await.inspect(|()| scope.end_session());
        Some(split(done).map(|(_, errors)| LogoutPayload { errors }))
    }

    /// Ends one of the viewer's sessions.
    async fn revoke_session(
        &self,
        context: &Context<'_>,
        input: RevokeSessionInput,
    ) -> Option<Result<RevokeSessionPayload, Error>> {
        let scope = Scope::of(context);
        let done = async {
            let session = GlobalId::session("input.sessionId", &input.session_id)?;
            let is_own = scope.viewer().signed_in()?.session() == Some(session);
            let done = scope.app.revoke_session(scope.viewer(), session).await;
            if is_own && done.is_ok() {
                scope.end_session();
            }
            done
        };
        Some(split(done.await).map(|(done, errors)| RevokeSessionPayload {
            revoked_session_id: done.map(|()| input.session_id),
            errors,
        }))
    }

    /// Changes the viewer's password. Ends all other sessions and issues a new token for the current session; the old
    /// token is revoked immediately. With the token of another application, the user error is `EXTERNAL_SIGN_IN`.
    async fn change_password(
        &self,
        context: &Context<'_>,
        input: ChangePasswordInput,
    ) -> Option<Result<ChangePasswordPayload, Error>> {
        let scope = Scope::of(context);
        let ChangePasswordInput { current_password, new_password } = input;
        let from = scope.address();
        let done = scope.app.change_password(scope.viewer(), &current_password, &new_password, from).await;
        Some(split(done).map(|(opened, errors)| {
            if let Some(Opened { viewer, .. }) = &opened {
                scope.renew_session(viewer.clone());
            }
            let (token, viewer) = signed_in(&scope, opened);
            ChangePasswordPayload { token, viewer, errors }
        }))
    }

    /// Deletes the viewer's account. No one sees the user and their posts any more, and all sessions end at once; the
    /// account is erased at `deletionAt`, permanently. Until then, signing in with the password cancels the deletion.
    async fn delete_account(
        &self,
        context: &Context<'_>,
        input: DeleteAccountInput,
    ) -> Option<Result<DeleteAccountPayload, Error>> {
        let scope = Scope::of(context);
        let password = input.current_password.as_deref();
        let done = scope.app.delete_account(scope.viewer(), password, scope.address()).await;
        let done = done.inspect(|_| scope.end_session());
        Some(split(done).map(|(at, errors)| DeleteAccountPayload { deletion_at: at.map(DateTime), errors }))
    }
}

/// Returns the token and the viewer of a newly opened session.
fn signed_in(scope: &Scope, opened: Option<Opened>) -> (Option<String>, Option<Viewer>) {
    match opened {
        Some(Opened { token, viewer }) => (Some(token.expose()), Viewer::of(&scope.seen_by(viewer))),
        None => (None, None),
    }
}
