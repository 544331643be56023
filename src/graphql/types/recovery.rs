//! A pending recovery of an account, as its user sees it.

use std::sync::Arc;

use async_graphql::{Context, Object};

use crate::app::error::Error;
use crate::app::visibility::Access;
use crate::graphql::context::Scope;
use crate::graphql::directive::{CacheControlScope::Private, cache_control};
use crate::graphql::selection::Selected;
use crate::graphql::types::scalar::DateTime;
use crate::graphql::types::selection::user_selection;
use crate::graphql::types::user::User;
use crate::model::recovery;

/// A recovery code for the viewer's account that may still be used. Someone who has the code can set the password while
/// it is valid.
pub(in crate::graphql) struct PendingRecovery {
    scope: Arc<Scope>,
    pending: recovery::Recovery,
}

impl PendingRecovery {
    pub(in crate::graphql) fn new(scope: &Arc<Scope>, pending: recovery::Recovery) -> Self {
        Self { scope: Arc::clone(scope), pending }
    }
}

/// A recovery code for the viewer's account that may still be used. Someone who has the code can set the password while
/// it is valid.
#[Object(directive = cache_control::apply(Private))]
impl PendingRecovery {
    /// The time at which the code was issued.
    async fn issued_at(&self) -> DateTime {
        DateTime(self.pending.issued_at)
    }

    /// The time from which the code is valid.
    async fn valid_from(&self) -> DateTime {
        DateTime(self.pending.valid_from)
    }

    /// The time from which the code is no longer valid.
    async fn expires_at(&self) -> DateTime {
        DateTime(self.pending.expires_at)
    }

    /// True if the operator of the server has issued the code. The viewer cannot cancel it then.
    async fn is_by_operator(&self) -> bool {
        self.pending.is_by_operator()
    }

    /// The moderator who has issued the code; null if the operator has, and if the viewer cannot see the moderator.
    async fn issuer(&self, context: &Context<'_>) -> Option<Result<User, Error>> {
        let issuer = self.pending.issuer.user()?;
        let selection = user_selection(&[Selected::of(context)]);
        let users = User::load_all(&self.scope, Arc::new([issuer]), selection, Access::Direct).await;
        users.map(|mut users| users.pop().flatten()).transpose()
    }
}
