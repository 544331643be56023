//! Connections over lists of users.

use std::sync::Arc;

use futures::future::{join, try_join_all};

use crate::app::error::Error;
use crate::app::relation::read::UserList;
use crate::app::visibility::{Access, UserSelection};
use crate::graphql::context::Scope;
use crate::graphql::cursor::ListOf;
use crate::graphql::page::{Filled, Part, PartOf, Rows, complete, fill};
use crate::graphql::paging::Paging;
use crate::graphql::preloaded::{Preloaded as _, memory};
use crate::graphql::selection::{Selected, Wants, user_selection};
use crate::graphql::types::connection::{At, Connection, Edge, connection, edge};
use crate::graphql::types::scalar::{DateTime, number};
use crate::graphql::types::user::User;
use crate::model::page::{Position, Window};
use crate::model::relation::{Follow, ListKind, Side};

/// A page of such a list.
pub(in crate::graphql) type FollowConnection = Connection<At<ListKind>, User, (), Length>;

/// An entry of such a list.
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
        let windows = lists.iter().map(|list| paging.window((*list).into()));
        let windows = windows.collect::<Result<Vec<_>, Error>>()?;
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

    fn of(scope: &Arc<Scope>, list: UserList, filled: Filled<Follow, User>, count: Option<u64>) -> Self {
        let place = |follow: &Follow| At { list: list.into(), position: (*follow).into() };
        Self::new(scope, filled, place, |_, user| (user, ()), Length { list, count })
    }
}

impl From<UserList> for ListOf<ListKind> {
    fn from(UserList { kind, owner }: UserList) -> Self {
        Self { kind, owner }
    }
}

connection! {
    /// A page of a user list.
    FollowConnection of FollowEdge, Public,
    "The users on the page, in list order; the same as the nodes of `edges`.": User {
        resolver "its source, below, has the count only if it was loaded with the page" {
            /// The number of entries that the viewer may see; null if temporarily unavailable. If more than 5,000 users
            /// block the viewer, the counts of `followers` and `following` include them.
            async fn total_count(&self) -> Option<Result<i32, Error>> {
                Some(self.scope.visible().user_count(self.total.list).await.map(number))
            }
        }
        source "totalCount" = |_| memory(|users: &Self, json| json.value(&number(users.total.count?)));
    }
}

edge! {
    /// An entry of a user list.
    FollowEdge, Public, "The listed user.": User {
        /// The time of the follow that the entry represents, by which the list is ordered: in `followers` and
        /// `knownFollowers`, the time at which the listed user followed the list's owner; in `following` and `mutuals`, the
        /// time at which the owner followed the listed user.
        value followed_at "followedAt": DateTime = |edge| DateTime(edge.place.position.at);
    }
}

/// Loads these windows of stored lists. Makes one round trip for all pages, and one for all users.
async fn fill_all(
    scope: &Arc<Scope>,
    side: Side,
    lists: &[UserList],
    windows: &[Window<Position>],
    selection: Option<UserSelection>,
) -> Result<Vec<Filled<Follow, User>>, Error> {
    let rows: Vec<_> = lists.iter().map(|list| Follows { scope, list: *list, selection }).collect();
    let pages = lists.iter().zip(windows).map(|(list, window)| (list.owner, *window));
    let pages = scope.visible().user_pages(side, pages).await?;
    let follows: Arc<[Follow]> = pages.iter().flat_map(|page| page.page.entries.iter().copied()).collect();
    let users = users(scope, &follows, selection).await?;
    let mut users = follows.iter().zip(users);
    let filled = rows.iter().zip(windows).zip(pages).map(|((rows, window), page)| {
        let found = users.by_ref().take(page.page.entries.len());
        let found = found.filter_map(|(follow, user)| Some((*follow, user?))).collect();
        complete(rows, *window, Part::of_users(window, page, found))
    });
    try_join_all(filled.collect::<Vec<_>>()).await
}

/// Loads the users of these follows; `None` for users without a record. Loads nothing if nothing of them is selected.
async fn users(
    scope: &Arc<Scope>,
    follows: &[Follow],
    selection: Option<UserSelection>,
) -> Result<Vec<Option<User>>, Error> {
    match selection {
        Some(selection) => {
            User::load_all(
                scope,
                follows.iter().map(|follow| follow.user).collect(),
                selection,
                Access::Listed,
            )
            .await
        }
        None => Ok(follows.iter().map(|follow| Some(User::unread(scope, follow.user))).collect()),
    }
}

/// A list of users, read page by page.
struct Follows<'a> {
    scope: &'a Arc<Scope>,
    list: UserList,
    /// The user data to load; `None` if no nodes are selected.
    selection: Option<UserSelection>,
}

impl Rows for Follows<'_> {
    type Entry = Follow;
    type Position = Position;
    type Node = User;

    /// Omits entries whose user has no record or is hidden from the viewer.
    async fn part(&self, window: Window<Position>) -> Result<PartOf<Self>, Error> {
        let page = self.scope.visible().user_page(self.list, window).await?;
        let users = users(self.scope, &page.page.entries, self.selection).await?;
        let found = page.page.entries.iter().zip(users).filter_map(|(follow, user)| Some((*follow, user?)));
        let found = found.collect();
        Ok(Part::of_users(&window, page, found))
    }
}
