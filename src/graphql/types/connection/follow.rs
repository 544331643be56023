//! Connections over lists of users.

use std::sync::Arc;

use async_graphql::Object;
use async_graphql::parser::types::Field;
use futures::future::{join, try_join_all};

use crate::app::error::Error;
use crate::app::relation::read::UserList;
use crate::app::visibility::{Access, UserSelection};
use crate::graphql::context::Scope;
use crate::graphql::cursor;
use crate::graphql::directive::{CacheControlScope::Public, cache_control};
use crate::graphql::page::{Filled, Part, PartOf, Rows, complete, fill};
use crate::graphql::paging::Paging;
use crate::graphql::preloaded::{List, One, Preloaded, Source, memory, object, objects};
use crate::graphql::selection::{Selected, Wants, user_selection};
use crate::graphql::types::connection::{Bounds, PageInfo};
use crate::graphql::types::scalar::{DateTime, number};
use crate::graphql::types::user::User;
use crate::model::page::{Position, Window};
use crate::model::relation::{Follow, ListKind, Side};

/// A page of a user list.
pub(in crate::graphql) struct FollowConnection {
    scope: Arc<Scope>,
    list: UserList,
    edges: Vec<FollowEdge>,
    bounds: Bounds<Follow>,
    /// The length of the list, if it was loaded with the page.
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
        let window = paging.window(list)?;
        let (edges, nodes) = (selection.field("edges"), selection.field("nodes"));
        let wants = Wants::of(selection);
        let selection = wants.nodes.then(|| user_selection(&[edges.field("node"), nodes]));
        let rows = Follows { scope, list, selection };
        let visible = scope.visible();
        // The count is loaded together with the page. The loader caches it for the `totalCount` resolver.
        let filled = wants.fill(fill(&rows, window));
        let count = wants.count(visible.user_count(list));
        let (filled, ()) = join(filled, count).await;
        Ok(Self::new(scope, list, filled?, None))
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
        let windows = lists.iter().map(|list| paging.window(*list)).collect::<Result<Vec<_>, Error>>()?;
        let wants = Wants::of(selection);
        let (edges, nodes) = (selection.field("edges"), selection.field("nodes"));
        let selection = wants.nodes.then(|| user_selection(&[edges.field("node"), nodes]));
        let filled = wants.fill_all(owners.len(), fill_all(scope, side, &lists, &windows, selection));
        let visible = scope.visible();
        let counts = wants.counts(visible.user_counts(side, ids()));
        let (filled, counts) = join(filled, counts).await;
        let connection = |(index, (list, filled)): (usize, (&UserList, _))| {
            Self::new(scope, *list, filled, counts.as_ref().map(|counts| counts[index]))
        };
        Ok(lists.iter().zip(filled?).enumerate().map(connection).collect())
    }

    fn new(scope: &Arc<Scope>, list: UserList, filled: Filled<Follow, User>, count: Option<u64>) -> Self {
        let edge = |(follow, node)| FollowEdge { list, follow, node };
        let (entries, bounds) = Bounds::of(filled);
        let edges = entries.into_iter().map(edge).collect();
        Self { scope: Arc::clone(scope), list, edges, bounds, count }
    }

    fn info(&self) -> PageInfo {
        let end = |follow: &Follow| cursor::print(self.list, &(*follow).into());
        self.bounds.info(&self.edges, FollowEdge::print_cursor, end)
    }
}

/// A page of a user list.
#[Object(directive = cache_control::apply(Public))]
impl FollowConnection {
    /// The entries on the page, in list order.
    async fn edges(&self) -> List<'_, FollowEdge> {
        List(self.edges.iter().collect())
    }

    /// The users on the page, in list order; the same as the nodes of `edges`.
    async fn nodes(&self) -> List<'_, User> {
        List(self.edges.iter().map(|edge| &edge.node).collect())
    }

    /// The page's boundaries, for requesting adjacent pages.
    async fn page_info(&self) -> PageInfo {
        self.info()
    }

    /// The number of entries that the viewer may see; null if temporarily unavailable. If more than 5,000 users block
    /// the viewer, the counts of `followers` and `following` include them.
    async fn total_count(&self) -> Option<Result<i32, Error>> {
        Some(self.scope.visible().user_count(self.list).await.map(number))
    }
}

impl Preloaded for FollowConnection {
    fn source(field: &Field) -> Source<'_, Self> {
        match field.name.node.as_str() {
            "edges" => objects(field, |users: &Self| users.edges.iter().collect()),
            "nodes" => objects(field, |users: &Self| users.edges.iter().map(|edge| &edge.node).collect()),
            "pageInfo" => PageInfo::source_of(field, Self::info),
            "totalCount" => memory(|users: &Self, json| json.value(&number(users.count?))),
            _ => Source::Resolver,
        }
    }

    fn scope(&self) -> Option<&Arc<Scope>> {
        Some(&self.scope)
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

/// An entry of a user list.
pub(in crate::graphql) struct FollowEdge {
    list: UserList,
    follow: Follow,
    node: User,
}

impl FollowEdge {
    fn print_cursor(&self) -> String {
        cursor::print(self.list, &self.follow.into())
    }
}

/// An entry of a user list.
#[Object(directive = cache_control::apply(Public))]
impl FollowEdge {
    /// The entry's position in the list. It stays valid when entries are added or removed.
    async fn cursor(&self) -> String {
        self.print_cursor()
    }

    /// The listed user.
    async fn node(&self) -> One<'_, User> {
        One(&self.node)
    }

    /// The time of the follow that the entry represents, by which the list is ordered: in `followers` and
    /// `knownFollowers`, the time at which the listed user followed the list's owner; in `following` and `mutuals`, the
    /// time at which the owner followed the listed user.
    async fn followed_at(&self) -> DateTime {
        DateTime(self.follow.at)
    }
}

impl Preloaded for FollowEdge {
    fn source(field: &Field) -> Source<'_, Self> {
        match field.name.node.as_str() {
            "cursor" => memory(|edge: &Self, json| json.value(&edge.print_cursor())),
            "followedAt" => memory(|edge: &Self, json| json.scalar(&DateTime(edge.follow.at))),
            "node" => object(field, |edge: &Self| &edge.node),
            _ => Source::Resolver,
        }
    }

    fn scope(&self) -> Option<&Arc<Scope>> {
        self.node.scope()
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
