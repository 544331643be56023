//! Connections over lists of users.

use std::sync::Arc;

use futures::future::join;

use crate::app::error::Error;
use crate::app::relation::read::UserList;
use crate::app::visibility::list::OwnList;
use crate::app::visibility::{VisiblePost, VisibleUser};
use crate::graphql::context::Scope;
use crate::graphql::cursor::{self, ListOf};
use crate::graphql::page::like::Likes;
use crate::graphql::page::referrer::Referrers;
use crate::graphql::page::user::{Follows, Users, fill_all};
use crate::graphql::page::{Filled, fill, fill_visible};
use crate::graphql::paging::Paging;
use crate::graphql::preloaded::{Preloaded as _, memory};
use crate::graphql::selection::{Selected, Wants};
use crate::graphql::types::connection::{At, Connection, Edge, connection, edge};
use crate::graphql::types::scalar::{DateTime, number};
use crate::graphql::types::selection::user_selection;
use crate::graphql::types::user::User;
use crate::model::attachment::ReferrerKind;
use crate::model::clock::Timestamp;
use crate::model::id::{PostId, UserId};
use crate::model::like::Like;
use crate::model::page::Position;
use crate::model::relation::{Follow, ListKind};

/// A page of a user's list of users.
pub(in crate::graphql) type FollowConnection = Connection<At<ListKind>, User, (), Length>;
type FollowEdge = Edge<At<ListKind>, User>;

/// The length of a list.
pub(in crate::graphql) struct Length {
    list: UserList,
    /// The length, if it was loaded with the page.
    count: Option<u64>,
}

impl FollowConnection {
    /// Loads a page of one of a user's lists, with the data that the connection's selection needs.
    pub(in crate::graphql) async fn load(
        scope: &Arc<Scope>,
        list: UserList,
        paging: &Paging,
        selection: &Selected<'_>,
    ) -> Result<Self, Error> {
        let window = paging.window(list.into())?;
        let wants = Wants::of(selection);
        let selection = wants.nodes.then(|| user_selection(&selection.nodes()));
        let rows = Follows { scope, list, selection };
        let visible = scope.visible();
        // The count is loaded together with the page. The loader caches it for the `totalCount` resolver.
        let (filled, ()) = join(wants.fill(fill(&rows, window)), wants.count(visible.user_count(list))).await;
        Ok(Self::of(scope, list, filled?, None))
    }

    /// Loads a page of the followers, or of the followed users, of each of these users. Makes as many round trips as
    /// for a single page.
    pub(in crate::graphql) async fn load_all(
        owners: &[&User],
        kind: ListKind,
        paging: &Paging,
        selection: &Selected<'_>,
    ) -> Result<Vec<Self>, Error> {
        let Some(scope) = owners.first().and_then(|owner| owner.scope()) else { return Ok(Vec::new()) };
        let ids = || owners.iter().map(|owner| owner.user_id());
        let lists: Vec<_> = ids().map(|owner| UserList { owner, kind }).collect();
        let Some(side) = lists[0].stored() else { return Ok(Vec::new()) };
        let windows =
            lists.iter().map(|list| paging.window((*list).into())).collect::<Result<Vec<_>, _>>()?;
        let wants = Wants::of(selection);
        let selection = wants.nodes.then(|| user_selection(&selection.nodes()));
        let filled = wants.fill_all(owners.len(), fill_all(scope, side, &lists, &windows, selection));
        let visible = scope.visible();
        let counts = wants.counts(visible.user_counts(side, ids()));
        let (filled, counts) = join(filled, counts).await;
        let connection = |(index, (list, filled)): (usize, (&UserList, _))| {
            Self::of(scope, *list, filled, counts.as_ref().map(|counts| counts[index]))
        };
        Ok(lists.iter().zip(filled?).enumerate().map(connection).collect())
    }

    fn of(
        scope: &Arc<Scope>,
        list: UserList,
        filled: Filled<Follow, Option<VisibleUser>>,
        count: Option<u64>,
    ) -> Self {
        let at = |follow: &Follow| At { list: list.into(), position: (*follow).into() };
        let unread = |follow: Follow| User::unread(scope, follow.user);
        let shown = |follow, user: Option<_>| {
            (user.map_or_else(|| unread(follow), |user| User::visible(scope, user)), ())
        };
        Self::new(scope, filled, at, shown, Length { list, count })
    }
}

impl From<UserList> for ListOf<ListKind> {
    fn from(UserList { kind, owner }: UserList) -> Self {
        Self { kind, owner }
    }
}

connection! {
    /// A page of a user list.
    FollowConnection of FollowEdge, Public, "users": User;

    resolver "its source, below, has the count only if it was loaded with the page" {
        /// The number of entries that the viewer may see; null if temporarily unavailable. If more than 5,000 users
        /// block the viewer, the counts of `followers` and `following` include them.
        async fn total_count(&self) -> Option<Result<i32, Error>> {
            Some(self.scope.visible().user_count(self.total.list).await.map(number))
        }
    }
    source "totalCount" = |_| memory(|users: &Self, json| json.value(&number(users.total.count?)));
}

edge! {
    /// An entry of a user list.
    FollowEdge, Public, "The listed user.": User;

    /// The time of the follow that the entry represents, by which the list is ordered: in `followers` and
    /// `knownFollowers`, the time at which the listed user followed the list's owner; in `following` and `mutuals`, the
    /// time at which the owner followed the listed user.
    value followed_at "followedAt": DateTime = |edge| DateTime(edge.at.position.at);
}

/// A page of a list of users that only the viewer sees.
pub(in crate::graphql) type UserConnection = Connection<At<OwnList>, User, (), OwnList>;
type UserEdge = Edge<At<OwnList>, User>;

impl UserConnection {
    /// Loads a page of a list, with the data that the connection's selection needs.
    pub(in crate::graphql) async fn load(
        scope: &Arc<Scope>,
        list: ListOf<OwnList>,
        paging: &Paging,
        selection: &Selected<'_>,
    ) -> Result<Self, Error> {
        let window = paging.window(list)?;
        let rows = Users { scope, list: list.kind, selection: user_selection(&selection.nodes()) };
        let wants = Wants::of(selection);
        // The count is loaded together with the page. The loader, or the process, caches it for the `totalCount`
        // resolver.
        let visible = scope.visible();
        let count = wants.count(visible.own_count(list.kind));
        let (filled, ()) = join(wants.fill(fill(&rows, window)), count).await;
        let at = |entry: &Position| At { list, position: *entry };
        Ok(Self::new(scope, filled?, at, |_, user| (User::visible(scope, user), ()), list.kind))
    }
}

connection! {
    /// A page of a list of users.
    UserConnection of UserEdge, Private, "users": User;

    resolver "a page and its count are loaded together, into the loader" {
        /// The total number of entries in the list; null if temporarily unavailable.
        async fn total_count(&self) -> Option<Result<i32, Error>> {
            Some(self.scope.visible().own_count(self.total).await.map(number))
        }
    }
}

edge! {
    /// An entry of a list of users.
    UserEdge, Private, "The listed user.": User;

    /// The time at which the user was added to the list, by which the list is ordered.
    value since "since": DateTime = |edge| DateTime(edge.at.position.at);
}

/// A page of the users who have reposted a post.
pub(in crate::graphql) type RepostConnection = Connection<At<ReferrerKind>, User, Timestamp>;
type RepostEdge = Edge<At<ReferrerKind>, User, Timestamp>;

impl RepostConnection {
    /// Loads a page of the users who have reposted a post. Makes as many round trips as a page of its replies.
    pub(in crate::graphql) async fn load(
        scope: &Arc<Scope>,
        list: ListOf<ReferrerKind>,
        paging: &Paging,
        selection: &Selected<'_>,
    ) -> Result<Self, Error> {
        let window = paging.window(list)?;
        let rows = Referrers { scope, list, author: user_selection(&selection.nodes()) };
        let filled = Wants::of(selection).fill(fill_visible(&rows, window)).await?;
        let at = |repost: &PostId| At { list, position: *repost };
        let shown = |_, VisiblePost { post, author, .. }| (User::visible(scope, author), post.created_at);
        Ok(Self::new(scope, filled, at, shown, ()))
    }
}

connection! {
    /// A page of the users who have reposted a post. It has no total count, because viewers see different parts of the
    /// list; `repostCount` is the number of reposts that everyone sees.
    RepostConnection of RepostEdge, Public, "users": User;
}

edge! {
    /// A user's repost of a post.
    RepostEdge, Public, "The user who has reposted the post.": User;

    /// The time of the repost, by which the list is ordered.
    value since "since": DateTime = |edge| DateTime(edge.extra);
}

/// A page of the users who like a post.
pub(in crate::graphql) type LikeConnection = Connection<At<cursor::Likes>, User>;
type LikeEdge = Edge<At<cursor::Likes>, User>;

impl LikeConnection {
    /// Loads a page of the users who like a post, of this author. Makes three round trips: for the likes, for what
    /// decides who is listed, and for the users; and three more for each refill.
    pub(in crate::graphql) async fn load(
        scope: &Arc<Scope>,
        list: ListOf<cursor::Likes>,
        author: UserId,
        paging: &Paging,
        selection: &Selected<'_>,
    ) -> Result<Self, Error> {
        let window = paging.window(list)?;
        let rows = Likes { scope, post: list.owner, author, selection: user_selection(&selection.nodes()) };
        let filled = Wants::of(selection).fill(fill_visible(&rows, window)).await?;
        let at = |like: &Like| At { list, position: *like };
        Ok(Self::new(scope, filled, at, |_, user| (User::visible(scope, user), ()), ()))
    }
}

connection! {
    /// A page of the users who like a post. It has no total: see `Post.likeCount`.
    LikeConnection of LikeEdge, Private, "users": User;
}

edge! {
    /// A user who likes a post.
    LikeEdge, Private, "The user.": User;
}
