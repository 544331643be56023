//! The mutation that exports an account's data.

use async_graphql::{Context, InputObject, Object, SimpleObject};

use crate::app::account::export::RequestedExport;
use crate::app::error::Error;
use crate::graphql::context::Scope;
use crate::graphql::types::scalar::DateTime;
use crate::graphql::types::user_error::{UserErrors, split};

/// The mutation that exports an account's data.
#[derive(Default)]
pub(super) struct ExportMutation;

/// Input of `exportAccount`.
#[derive(InputObject)]
pub(super) struct ExportAccountInput {
    /// The viewer's current password. Required, unless the viewer signs in with the token of another application.
    current_password: Option<String>,
}

/// Payload of `exportAccount`.
#[derive(SimpleObject)]
pub(super) struct ExportAccountPayload {
    /// The path of the download on this server, such as /export/… It is a secret: a client that has it can read
    /// the viewer's data. Null on failure.
    export_path: Option<String>,
    /// The time from which on the path is not valid any more; null on failure.
    expires_at: Option<DateTime>,
    #[graphql(flatten)]
    errors: UserErrors,
}

#[Object]
impl ExportMutation {
    /// Prepares a download of the viewer's data as a JSON Lines file, in which each line has a `type`. The path
    /// replaces the one returned before. It is valid for a day, or until the session that requested it ends.
    async fn export_account(
        &self,
        context: &Context<'_>,
        input: ExportAccountInput,
    ) -> Option<Result<ExportAccountPayload, Error>> {
        let scope = Scope::of(context);
        let password = input.current_password.as_deref();
        let done = scope.app.export_account(scope.viewer(), password, scope.address()).await;
        Some(split(done).map(|(export, errors)| {
            let (export_path, expires_at) = match export {
                Some(RequestedExport { token, expires_at }) => {
                    (Some(format!("/export/{}", token.expose())), Some(DateTime(expires_at)))
                }
                None => (None, None),
            };
            ExportAccountPayload { export_path, expires_at, errors }
        }))
    }
}
