//! Mutations of moderators, and reports of users to moderators.

use std::sync::Arc;

use async_graphql::{Context, ID, InputObject, Object, OneofObject, SimpleObject};

use crate::app::App;
use crate::app::error::Error;
use crate::app::moderation::invite::NewInvite;
use crate::app::moderation::note;
use crate::app::moderation::report::ReportTarget;
use crate::graphql::context::Scope;
use crate::graphql::id::GlobalId;
use crate::graphql::types::moderation::account::Account;
use crate::graphql::types::moderation::invite::Invite;
use crate::graphql::types::scalar::DateTime;
use crate::graphql::types::user_error::{UserErrors, split};
use crate::model::id::UserId;
use crate::model::moderator::Moderator;

/// Mutations of moderators, and reports of users to moderators.
#[derive(Default)]
pub(super) struct ModerationMutation;

/// The object of a report. Exactly one field must be given.
#[derive(OneofObject)]
pub(super) enum ReportTargetInput {
    /// The id of the user to report.
    UserId(ID),
    /// The id of the post to report.
    PostId(ID),
}

/// Input of `report`.
#[derive(InputObject)]
pub(super) struct ReportInput {
    /// The user or post to report.
    target: ReportTargetInput,
    /// The reason, for the moderators: 1 to 1,000 characters, of which at least one is visible. It may contain line
    /// breaks.
    reason: String,
}

/// Input of `suspendUser`.
#[derive(InputObject)]
pub(super) struct SuspendUserInput {
    /// The id of the user to suspend.
    user_id: ID,
    /// A note for the log: up to 1,000 characters.
    note: Option<String>,
}

/// Input of `unsuspendUser`.
#[derive(InputObject)]
pub(super) struct UnsuspendUserInput {
    /// The id of the user to unsuspend.
    user_id: ID,
    /// A note for the log: up to 1,000 characters.
    note: Option<String>,
}

/// Input of `deleteUser`.
#[derive(InputObject)]
pub(super) struct DeleteUserInput {
    /// The id of the user to delete.
    user_id: ID,
    /// A note for the log: up to 1,000 characters.
    note: Option<String>,
}

/// Input of `cancelUserDeletion`.
#[derive(InputObject)]
pub(super) struct CancelUserDeletionInput {
    /// The id of the user whose deletion is to be cancelled.
    user_id: ID,
    /// A note for the log: up to 1,000 characters.
    note: Option<String>,
}

/// Input of `endSessions`.
#[derive(InputObject)]
pub(super) struct EndSessionsInput {
    /// The id of the user whose sessions are to end.
    user_id: ID,
}

/// Input of `removePost`.
#[derive(InputObject)]
pub(super) struct RemovePostInput {
    /// The id of the post to remove.
    post_id: ID,
    /// A note for the log: up to 1,000 characters.
    note: Option<String>,
}

/// Input of `createInvite`.
#[derive(InputObject)]
pub(super) struct CreateInviteInput {
    /// The maximum number of users who can register with the invite: 1 to 1,000,000.
    #[graphql(default = 1)]
    uses: i32,
    /// The time from which the invite is no longer valid; if null, the invite does not expire.
    expires_at: Option<DateTime>,
    /// A note for the list of invites: up to 200 characters.
    note: Option<String>,
}

/// Input of `revokeInvite`.
#[derive(InputObject)]
pub(super) struct RevokeInviteInput {
    /// The id of the invite to revoke.
    invite_id: ID,
}

/// Input of `resolveReport`.
#[derive(InputObject)]
pub(super) struct ResolveReportInput {
    /// The id of the report to resolve.
    report_id: ID,
    /// A note for the log: up to 1,000 characters.
    note: Option<String>,
}

/// Payload of `report`.
#[derive(SimpleObject)]
pub(super) struct ReportPayload {
    #[graphql(flatten)]
    errors: UserErrors,
}

/// Defines the payload of a mutation that changes an account.
macro_rules! account_payload {
    ($name:ident, $description:literal) => {
        #[doc = $description]
        #[derive(SimpleObject)]
        pub(super) struct $name {
            /// The account after the change; null on failure.
            account: Option<Account>,
            #[graphql(flatten)]
            errors: UserErrors,
        }

        impl From<(Option<Account>, UserErrors)> for $name {
            fn from((account, errors): (Option<Account>, UserErrors)) -> Self {
                Self { account, errors }
            }
        }
    };
}

account_payload!(SuspendUserPayload, "Payload of `suspendUser`.");
account_payload!(UnsuspendUserPayload, "Payload of `unsuspendUser`.");
account_payload!(DeleteUserPayload, "Payload of `deleteUser`.");
account_payload!(CancelUserDeletionPayload, "Payload of `cancelUserDeletion`.");
account_payload!(EndSessionsPayload, "Payload of `endSessions`.");

/// Payload of `removePost`.
#[derive(SimpleObject)]
pub(super) struct RemovePostPayload {
    /// The id of the removed post; null on failure.
    removed_post_id: Option<ID>,
    #[graphql(flatten)]
    errors: UserErrors,
}

/// Payload of `createInvite`.
#[derive(SimpleObject)]
pub(super) struct CreateInvitePayload {
    /// The new invite; null on failure.
    invite: Option<Invite>,
    #[graphql(flatten)]
    errors: UserErrors,
}

/// Payload of `revokeInvite`.
#[derive(SimpleObject)]
pub(super) struct RevokeInvitePayload {
    /// The id of the revoked invite; null on failure.
    revoked_invite_id: Option<ID>,
    #[graphql(flatten)]
    errors: UserErrors,
}

/// Payload of `resolveReport`.
#[derive(SimpleObject)]
pub(super) struct ResolveReportPayload {
    /// The id of the resolved report; null on failure.
    resolved_report_id: Option<ID>,
    #[graphql(flatten)]
    errors: UserErrors,
}

/// Performs a moderator's change of an account, and loads the account afterwards.
async fn change_account(
    context: &Context<'_>,
    user_id: &ID,
    change: impl AsyncFnOnce(&App, &Moderator, UserId) -> Result<(), Error>,
) -> Result<(Option<Account>, UserErrors), Error> {
    let scope = Scope::of(context);
    let done = async {
        let moderator = scope.app.moderator(scope.viewer()).await?;
        let user = GlobalId::user("input.userId", user_id)?;
        change(&scope.app, &moderator, user).await?;
        let details = scope.app.account_details(&moderator, user).await?;
        Ok(details.map(|details| Account::new(&scope.afresh(), details)))
    };
    split(done.await).map(|(account, errors)| (account.flatten(), errors))
}

/// Returns the moderator who sent the request.
pub(super) async fn moderator_of(scope: &Arc<Scope>) -> Result<Moderator, Error> {
    scope.app.moderator(scope.viewer()).await
}

#[Object]
impl ModerationMutation {
    /// Reports a user or a post to the moderators. A repeated report of the same user or post replaces the reason,
    /// until a moderator has resolved it. The reported user is not notified.
    async fn report(
        &self,
        context: &Context<'_>,
        input: ReportInput,
    ) -> Option<Result<ReportPayload, Error>> {
        let scope = Scope::of(context);
        let done = async {
            scope.viewer().signed_in()?;
            let target = match &input.target {
                ReportTargetInput::UserId(id) => {
                    ReportTarget::User(GlobalId::user("input.target.userId", id)?)
                }
                ReportTargetInput::PostId(id) => {
                    ReportTarget::Post(GlobalId::post("input.target.postId", id)?)
                }
            };
            scope.app.report(scope.viewer(), target, &input.reason).await
        };
        Some(split(done.await).map(|(_, errors)| ReportPayload { errors }))
    }

    /// For moderators: suspends a user. No one sees the user and their posts until they are unsuspended, and all their
    /// sessions end. Only the operator of the server can suspend moderators. Idempotent.
    async fn suspend_user(
        &self,
        context: &Context<'_>,
        input: SuspendUserInput,
    ) -> Option<Result<SuspendUserPayload, Error>> {
        let changed = change_account(context, &input.user_id, async |app, moderator, user| {
            app.suspend_user(moderator, user, note(input.note.as_deref())?).await
        });
        Some(changed.await.map(SuspendUserPayload::from))
    }

    /// For moderators: ends the suspension of a user. They and their posts are visible again, and they can sign in.
    /// Idempotent.
    async fn unsuspend_user(
        &self,
        context: &Context<'_>,
        input: UnsuspendUserInput,
    ) -> Option<Result<UnsuspendUserPayload, Error>> {
        let changed = change_account(context, &input.user_id, async |app, moderator, user| {
            app.unsuspend_user(moderator, user, note(input.note.as_deref())?).await
        });
        Some(changed.await.map(UnsuspendUserPayload::from))
    }

    /// For moderators: deletes a user. The user is suspended at once, and the account is erased with all posts at
    /// `Account.deletionAt`, permanently. Until then, `cancelUserDeletion` cancels it. Idempotent.
    async fn delete_user(
        &self,
        context: &Context<'_>,
        input: DeleteUserInput,
    ) -> Option<Result<DeleteUserPayload, Error>> {
        let changed = change_account(context, &input.user_id, async |app, moderator, user| {
            app.delete_user(moderator, user, note(input.note.as_deref())?, app.deletion_grace()).await
        });
        Some(changed.await.map(DeleteUserPayload::from))
    }

    /// For moderators: cancels the deletion of a user, whether a moderator or the user has begun it. A suspended user
    /// stays suspended. Idempotent.
    async fn cancel_user_deletion(
        &self,
        context: &Context<'_>,
        input: CancelUserDeletionInput,
    ) -> Option<Result<CancelUserDeletionPayload, Error>> {
        let changed = change_account(context, &input.user_id, async |app, moderator, user| {
            app.cancel_user_deletion(moderator, user, note(input.note.as_deref())?).await
        });
        Some(changed.await.map(CancelUserDeletionPayload::from))
    }

    /// For moderators: ends all sessions of a user, who can sign in again.
    async fn end_sessions(
        &self,
        context: &Context<'_>,
        input: EndSessionsInput,
    ) -> Option<Result<EndSessionsPayload, Error>> {
        let changed = change_account(context, &input.user_id, async |app, moderator, user| {
            app.end_sessions(moderator, user).await
        });
        Some(changed.await.map(EndSessionsPayload::from))
    }

    /// For moderators: deletes a post of any user, permanently. Only the operator of the server can remove posts of
    /// other moderators. Idempotent.
    async fn remove_post(
        &self,
        context: &Context<'_>,
        input: RemovePostInput,
    ) -> Option<Result<RemovePostPayload, Error>> {
        let scope = Scope::of(context);
        let done = async {
            let moderator = moderator_of(&scope).await?;
            let post = GlobalId::post("input.postId", &input.post_id)?;
            scope.app.remove_post(&moderator, post, note(input.note.as_deref())?).await
        };
        Some(split(done.await).map(|(done, errors)| RemovePostPayload {
            removed_post_id: done.map(|()| input.post_id),
            errors,
        }))
    }

    /// For moderators: creates an invite.
    async fn create_invite(
        &self,
        context: &Context<'_>,
        input: CreateInviteInput,
    ) -> Option<Result<CreateInvitePayload, Error>> {
        let scope = Scope::of(context);
        let done = async {
            let moderator = moderator_of(&scope).await?;
            let CreateInviteInput { uses, expires_at, note } = input;
            let expires_at = expires_at.map(|DateTime(end)| end);
            let wish = NewInvite { uses: uses.into(), expires_at, note: note.as_deref().unwrap_or_default() };
            scope.app.create_invite(&moderator, wish).await
        };
        Some(split(done.await).map(|(invite, errors)| CreateInvitePayload {
            invite: invite.map(|invite| Invite::new(invite, scope.app.now())),
            errors,
        }))
    }

    /// For moderators: revokes an invite. The users who have registered with it stay.
    async fn revoke_invite(
        &self,
        context: &Context<'_>,
        input: RevokeInviteInput,
    ) -> Option<Result<RevokeInvitePayload, Error>> {
        let scope = Scope::of(context);
        let done = async {
            let moderator = moderator_of(&scope).await?;
            let code = GlobalId::invite("input.inviteId", &input.invite_id)?;
            scope.app.revoke_invite(&moderator, &code).await
        };
        Some(split(done.await).map(|(done, errors)| RevokeInvitePayload {
            revoked_invite_id: done.map(|()| input.invite_id),
            errors,
        }))
    }

    /// For moderators: resolves a report, which removes it from the queue. The note is in the log.
    async fn resolve_report(
        &self,
        context: &Context<'_>,
        input: ResolveReportInput,
    ) -> Option<Result<ResolveReportPayload, Error>> {
        let scope = Scope::of(context);
        let done = async {
            let moderator = moderator_of(&scope).await?;
            let report = GlobalId::report("input.reportId", &input.report_id)?;
            scope.app.resolve_report(&moderator, report, note(input.note.as_deref())?).await
        };
        Some(split(done.await).map(|(done, errors)| ResolveReportPayload {
            resolved_report_id: done.map(|_| input.report_id),
            errors,
        }))
    }
}
