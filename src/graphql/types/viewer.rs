//! The signed-in user who sent the request.

use std::sync::Arc;

use async_graphql::{Context, ID, Object};

use crate::app::audience::MOST_DAYS;
use crate::app::error::Error;
use crate::app::moderation::read::IsModerator;
use crate::app::read::Load as _;
use crate::app::recovery::PendingRecoveryOf;
use crate::app::session::Sessions;
use crate::app::viewer::SignedIn;
use crate::app::visibility::list::OwnList;
use crate::graphql::context::Scope;
use crate::graphql::cursor::ListOf;
use crate::graphql::directive::{CacheControlScope::Private, cache_control, cost, list_size};
use crate::graphql::entries::Entries;
use crate::graphql::id::GlobalId;
use crate::graphql::paging::{Paging, connections};
use crate::graphql::selection::Selected;
use crate::graphql::types::connection::post::{PostListConnection, TimelineConnection, TimelineReplies};
use crate::graphql::types::connection::user::UserConnection;
use crate::graphql::types::moderation::Moderation;
use crate::graphql::types::recovery::PendingRecovery;
use crate::graphql::types::selection::user_selection;
use crate::graphql::types::session::Session;
use crate::graphql::types::user::User;
use crate::graphql::types::visit::Audience;
use crate::model;
use crate::model::id::UserId;
use crate::model::reaction::ReactionKind;

/// The signed-in user who sent the request.
pub(in crate::graphql) struct Viewer {
    scope: Arc<Scope>,
    signed_in: SignedIn,
}

impl Viewer {
    /// Returns the viewer of a scope; `None` if the scope is anonymous.
    pub(in crate::graphql) fn of(scope: &Arc<Scope>) -> Option<Self> {
        Self::signed_in(scope).ok()
    }

    /// Returns the viewer of a scope. Fails if the scope is anonymous.
    pub(in crate::graphql) fn signed_in(scope: &Arc<Scope>) -> Result<Self, Error> {
        let signed_in = scope.viewer().signed_in()?.clone();
        Ok(Self { scope: Arc::clone(scope), signed_in })
    }
}

/// The signed-in user who sent the request.
#[Object(directive = cache_control::apply(Private))]
impl Viewer {
    /// The viewer's id, for caches: it is not the id of their user. `node` does not look it up.
    async fn id(&self) -> ID {
        GlobalId::Viewer(self.signed_in.user).print()
    }

    /// The viewer as other users see them.
    async fn user(&self, context: &Context<'_>) -> User {
        User::asked(&self.scope, self.signed_in.user, user_selection(&[Selected::of(context)]))
    }

    #[graphql(flatten)]
    #[expect(clippy::unused_async, reason = "the library requires it")]
    async fn timelines(&self) -> ViewerTimeline {
        ViewerTimeline { scope: Arc::clone(&self.scope), owner: self.signed_in.user }
    }

    #[graphql(flatten)]
    #[expect(clippy::unused_async, reason = "the library requires it")]
    async fn lists(&self) -> ViewerLists {
        ViewerLists { scope: Arc::clone(&self.scope), owner: self.signed_in.user }
    }

    /// Statistics about the users who viewed the signed-in user's profile; null if this server does not record profile
    /// views.
    #[graphql(directive = cost::apply("50".to_owned()))]
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

    /// True if the viewer is a moderator.
    async fn is_moderator(&self) -> Result<bool, Error> {
        self.scope.loader.load(IsModerator(self.signed_in.user)).await
    }

    /// What only moderators see; null unless the viewer is a moderator.
    async fn moderation(&self) -> Option<Result<Moderation, Error>> {
        match self.scope.loader.load(IsModerator(self.signed_in.user)).await {
            Ok(true) => Some(Ok(Moderation::new(&self.scope, self.signed_in.user))),
            Ok(false) => None,
            Err(error) => Some(Err(error)),
        }
    }

    /// The recovery code for the viewer's account that may still be used; null if there is none. If the viewer has not
    /// asked for it, `cancelRecovery` revokes it. `Subscription.pendingRecoveryChanged` reports changes.
    async fn pending_recovery(&self) -> Option<Result<PendingRecovery, Error>> {
        let pending = self.scope.loader.load(PendingRecoveryOf(self.signed_in.user)).await;
        pending.map(|pending| pending.map(|pending| PendingRecovery::new(&self.scope, pending))).transpose()
    }

    /// The viewer's active sessions, most recently used first; null if temporarily unavailable. The token of another
    /// application opens no session.
    #[graphql(directive = list_size::apply(Some(10), None, None, None))]
    async fn sessions(&self, context: &Context<'_>) -> Option<Result<Entries<Session>, Error>> {
        let sessions = self.scope.loader.load(Sessions(self.signed_in.user)).await;
        let own = |session: &model::session::Session| Session {
            is_current: Some(session.id) == self.signed_in.session(),
            session: session.clone(),
        };
        let pay = |sessions: Arc<[model::session::Session]>| {
            Entries::pay(&self.scope, context, sessions.len(), || sessions.iter().map(own).collect())
        };
        Some(sessions.and_then(pay))
    }
}

/// The viewer's home timeline, as a connection.
struct ViewerTimeline {
    scope: Arc<Scope>,
    owner: UserId,
}

connections! {
    impl ViewerTimeline {
        /// The viewer's home timeline: posts by the viewer and the users they follow, and posts that these users have
        /// reposted, newest first, back to the oldest post. Several reposts of a post on one page are one entry.
        @[directive = cost::apply("10".to_owned())]
        async fn timeline(
            &self, context, paging,
            replies: TimelineReplies = "The replies to show. If null, those to users whom the viewer follows.",
        ) -> TimelineConnection {
            let replies = replies.unwrap_or_default().into();
            TimelineConnection::load(&self.scope, self.owner, replies, &paging, &Selected::of(context)).await
        }
    }
}

/// The lists that only the viewer sees, as connections.
struct ViewerLists {
    scope: Arc<Scope>,
    owner: UserId,
}

impl ViewerLists {
    async fn list(
        &self,
        context: &Context<'_>,
        kind: OwnList,
        paging: Paging,
    ) -> Result<UserConnection, Error> {
        let list = ListOf { kind, owner: self.owner };
        UserConnection::load(&self.scope, list, &paging, &Selected::of(context)).await
    }

    async fn reacted(
        &self,
        context: &Context<'_>,
        kind: ReactionKind,
        paging: Paging,
    ) -> Result<PostListConnection, Error> {
        let list = ListOf { kind, owner: self.owner };
        PostListConnection::load_reacted(&self.scope, list, &paging, &Selected::of(context)).await
    }
}

connections! {
    impl ViewerLists {
        /// The users whom the viewer mutes, newest mute first.
        async fn muted(&self, context, paging) -> UserConnection {
            self.list(context, OwnList::Muted, paging).await
        }

        /// The users whom the viewer blocks, newest block first.
        async fn blocked(&self, context, paging) -> UserConnection {
            self.list(context, OwnList::Blocked, paging).await
        }

        /// The users who wait for the viewer to accept their requests to follow, newest request first.
        async fn follow_requests(&self, context, paging) -> UserConnection {
            self.list(context, OwnList::Requests, paging).await
        }

        /// The users whom the viewer has requested to follow, newest request first.
        async fn sent_follow_requests(&self, context, paging) -> UserConnection {
            self.list(context, OwnList::SentRequests, paging).await
        }

        /// The viewer's bookmarks, newest first: at most 5,000. Deleted and hidden posts are left out.
        async fn bookmarks(&self, context, paging) -> PostListConnection {
            self.reacted(context, ReactionKind::Bookmark, paging).await
        }

        /// The posts that the viewer likes, newest like first: the newest 5,000. Deleted and hidden posts are left out.
        async fn likes(&self, context, paging) -> PostListConnection {
            self.reacted(context, ReactionKind::Like, paging).await
        }
    }
}
