//! Mutations that recover accounts.

use async_graphql::{Context, ID, InputObject, Object, SimpleObject};

use crate::app::error::Error;
use crate::app::moderation::note;
use crate::app::recovery::IssuedRecovery;
use crate::graphql::context::Scope;
use crate::graphql::id::GlobalId;
use crate::graphql::mutation::moderation::moderator_of;
use crate::graphql::types::scalar::DateTime;
use crate::graphql::types::user_error::{UserErrors, split};
use crate::graphql::types::viewer::Viewer;

/// Mutations that recover accounts.
#[derive(Default)]
pub(super) struct RecoveryMutation;

/// Input of `issueRecoveryCode`.
#[derive(InputObject)]
pub(super) struct IssueRecoveryCodeInput {
    /// The id of the user who has lost the password.
    user_id: ID,
    /// A note for the log: up to 1,000 characters.
    note: Option<String>,
}

/// Input of `recoverAccount`.
#[derive(InputObject)]
pub(super) struct RecoverAccountInput {
    /// The username. Case is ignored.
    username: String,
    /// The recovery code. Case is ignored.
    code: String,
    /// The new password: 8 to 256 bytes.
    new_password: String,
}

/// Payload of `issueRecoveryCode`.
#[derive(SimpleObject)]
pub(super) struct IssueRecoveryCodePayload {
    /// The code, to be given to the user outside of this server. It is a secret, and returned only here; null on
    /// failure.
    code: Option<String>,
    /// The time from which the code is valid; null on failure.
    valid_from: Option<DateTime>,
    /// The time from which the code is no longer valid; null on failure.
    expires_at: Option<DateTime>,
    #[graphql(flatten)]
    errors: UserErrors,
}

/// Payload of `cancelRecovery`.
#[derive(SimpleObject)]
pub(super) struct CancelRecoveryPayload {
    /// The viewer, without a pending recovery; null on failure.
    viewer: Option<Viewer>,
    #[graphql(flatten)]
    errors: UserErrors,
}

/// Payload of `recoverAccount`.
#[derive(SimpleObject)]
pub(super) struct RecoverAccountPayload {
    #[graphql(flatten)]
    errors: UserErrors,
}

#[Object]
impl RecoveryMutation {
    /// For moderators: issues a recovery code for a user who has lost the password, in place of the one before. It
    /// becomes valid after a delay, and is revoked if the user signs in, changes the password or cancels it until it is
    /// used. Moderators cannot recover their own accounts and those of other moderators.
    async fn issue_recovery_code(
        &self,
        context: &Context<'_>,
        input: IssueRecoveryCodeInput,
    ) -> Option<Result<IssueRecoveryCodePayload, Error>> {
        let scope = Scope::of(context);
        let done = async {
            let moderator = moderator_of(&scope).await?;
            let user = GlobalId::user("input.userId", &input.user_id)?;
            scope.app.issue_recovery_code(&moderator, user, note(input.note.as_deref())?).await
        };
        Some(split(done.await).map(|(issued, errors)| {
            let (code, pending) = issued.map(|IssuedRecovery { code, pending }| (code, pending)).unzip();
            let (valid_from, expires_at) =
                pending.map(|pending| (DateTime(pending.valid_from), DateTime(pending.expires_at))).unzip();
            let code = code.map(|code| code.expose().to_owned());
            IssueRecoveryCodePayload { code, valid_from, expires_at, errors }
        }))
    }

    /// Revokes the recovery code that a moderator has issued for the viewer, `Viewer.pendingRecovery`. Idempotent. A
    /// code of the operator of the server cannot be cancelled: the user error is `NOT_YOURS`.
    async fn cancel_recovery(&self, context: &Context<'_>) -> Option<Result<CancelRecoveryPayload, Error>> {
        let scope = Scope::of(context);
        let done = scope.app.cancel_recovery(scope.viewer()).await;
        Some(split(done).map(|(done, errors)| {
            let viewer = done.and_then(|()| Viewer::of(&scope.afresh()));
            CancelRecoveryPayload { viewer, errors }
        }))
    }

    /// Sets the password of a user with a recovery code, which is used up, and ends all sessions of the user. Sign in
    /// with the new password afterwards. If the username or the code is wrong, or the code is not valid now, the user
    /// error is `WRONG_CREDENTIALS`.
    async fn recover_account(
        &self,
        context: &Context<'_>,
        input: RecoverAccountInput,
    ) -> Option<Result<RecoverAccountPayload, Error>> {
        let scope = Scope::of(context);
        let RecoverAccountInput { username, code, new_password } = input;
        let done = scope.app.recover_account(&username, &code, &new_password, scope.address()).await;
        Some(split(done).map(|(_, errors)| RecoverAccountPayload { errors }))
    }
}
