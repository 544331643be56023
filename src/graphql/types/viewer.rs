//! The signed-in user who sent the request.

use std::sync::Arc;

use async_graphql::{Context, Object};

use crate::app::audience::MOST_DAYS;
use crate::app::error::Error;
use crate::app::viewer::SignedIn;
use crate::graphql::connection::{self, Paging, UserSelection};
use crate::graphql::context::Scope;
use crate::graphql::types::connection::TimelineConnection;
use crate::graphql::types::session::Session;
use crate::graphql::types::user::User;
use crate::graphql::types::visit::Audience;
use crate::model;

/// The signed-in user who sent the request.
pub(in crate::graphql) struct Viewer {
    scope: Arc<Scope>,
    signed_in: SignedIn,
}

impl Viewer {
    /// Returns the viewer of a scope; `None` if the scope is anonymous.
    pub(in crate::graphql) fn of(scope: &Arc<Scope>) -> Option<Self> {
        let signed_in = scope.viewer().signed_in().ok()?.clone();
        Some(Self { scope: Arc::clone(scope), signed_in })
    }
}

/// The signed-in user who sent the request.
#[Object]
impl Viewer {
    /// The viewer as other users see them.
    async fn user(&self, context: &Context<'_>) -> User {
        User::asked(&self.scope, self.signed_in.user, UserSelection::of(&[context.look_ahead()]))
    }

    /// Posts by the viewer and the users they follow, newest first, as far back as there are posts.
    async fn timeline(
        &self,
        context: &Context<'_>,
        #[graphql(
            desc = "Maximum number of entries, from the start of the list or after `after`. Default 20, limited to 100."
        )]
        first: Option<i32>,
        #[graphql(desc = "A cursor of this list: the page begins after it.")] after: Option<String>,
        #[graphql(
            desc = "Maximum number of entries, from the end of the list or before `before`. Limited to 100."
        )]
        last: Option<i32>,
        #[graphql(desc = "A cursor of this list: the page ends before it.")] before: Option<String>,
    ) -> Result<TimelineConnection, Error> {
        let paging = Paging { first, after, last, before };
        connection::load_timeline(&self.scope, self.signed_in.user, &paging, &context.look_ahead()).await
    }

    /// The views of the viewer's profile; null if this server does not record them.
    async fn audience(
        &self,
        #[graphql(desc = "Number of days up to and including today: 1 to 30. Default 7.", default = 7)]
        days: Option<i32>,
    ) -> Option<Result<Audience, Error>> {
        if !self.scope.app.keeps_audiences() {
            return None;
        }
        let audience = async {
            let days = i64::from(days.unwrap_or(7));
            if !(1..=MOST_DAYS).contains(&days) {
                let message = format!("`days` must be from 1 to {MOST_DAYS}, but is {days}.");
                return Err(Error::Invalid(message));
            }
            let SignedIn { user, day, .. } = self.signed_in;
            let visitors = self.scope.loader.audience(user, day, days).await?;
            Ok(Audience::new(Arc::clone(&self.scope), visitors))
        };
        Some(audience.await)
    }

    /// The viewer's active sessions, most recently used first.
    async fn sessions(&self) -> Result<Vec<Session>, Error> {
        let sessions = self.scope.loader.sessions(self.signed_in.user).await?;
        let own = |session: &model::session::Session| Session {
            is_current: session.id == self.signed_in.session,
            session: session.clone(),
        };
        Ok(sessions.iter().map(own).collect())
    }
}
