//! Connections over lists of users.

use std::sync::Arc;

use async_graphql::parser::types::Field;
use async_graphql::{Lookahead, Object};
use futures::future::try_join;

use crate::app::error::Error;
use crate::app::relation::read::UserList;
use crate::app::visibility::UserSelection;
use crate::graphql::context::Scope;
use crate::graphql::cursor;
use crate::graphql::directive::{CacheControlScope::Public, cache_control};
use crate::graphql::page::{Filled, Rows, fill};
use crate::graphql::paging::Paging;
use crate::graphql::preloaded::{List, One, Preloaded, Writer, nested, writer};
use crate::graphql::selection::{Wants, user_selection};
use crate::graphql::types::connection::PageInfo;
use crate::graphql::types::scalar::{DateTime, number};
use crate::graphql::types::user::User;
use crate::model::page::{Page, Position, Window};
use crate::model::relation::Follow;

/// A page of a user list.
pub(in crate::graphql) struct FollowConnection {
    scope: Arc<Scope>,
    list: UserList,
    edges: Vec<FollowEdge>,
    has_previous: bool,
    has_next: bool,
}

impl FollowConnection {
    /// Loads a page of one of a user's lists, with the data that the connection's selection needs.
    pub(in crate::graphql) async fn load(
        scope: &Arc<Scope>,
        list: UserList,
        paging: &Paging,
        selection: &Lookahead<'_>,
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
        let (filled, ()) = try_join(filled, count).await?;
        Ok(Self::new(Arc::clone(scope), list, filled))
    }

    fn new(scope: Arc<Scope>, list: UserList, filled: Filled<Follow, User>) -> Self {
        let edge = |(follow, node)| FollowEdge { list, follow, node };
        let edges = filled.entries.into_iter().map(edge).collect();
        Self { scope, list, edges, has_previous: filled.has_previous, has_next: filled.has_next }
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
        PageInfo {
            has_next_page: self.has_next,
            has_previous_page: self.has_previous,
            start_cursor: self.edges.first().map(FollowEdge::print_cursor),
            end_cursor: self.edges.last().map(FollowEdge::print_cursor),
        }
    }

    /// The total number of entries in the list.
    async fn total_count(&self) -> Result<i32, Error> {
        Ok(number(self.scope.visible().user_count(self.list).await?))
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

    /// The time of the follow that the entry represents. The list is ordered by this time.
    async fn followed_at(&self) -> DateTime {
        DateTime(self.follow.at)
    }
}

impl Preloaded for FollowEdge {
    fn writer(field: &Field) -> Option<Writer<Self>> {
        match field.name.node.as_str() {
            "cursor" => writer(|edge: &Self, json| json.value(&edge.print_cursor())),
            "followedAt" => writer(|edge: &Self, json| json.scalar(&DateTime(edge.follow.at))),
            "node" => nested(field, |edge: &Self| &edge.node),
            _ => None,
        }
    }

    fn scope(&self) -> &Scope {
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

    async fn page(&self, window: Window<Position>) -> Result<Arc<Page<Follow>>, Error> {
        self.scope.visible().user_page(self.list, window).await
    }

    /// Returns the entries with their users. Omits entries whose user has no record.
    async fn nodes(&self, follows: &Arc<[Follow]>) -> Result<Vec<(Follow, User)>, Error> {
        let Self { scope, .. } = self;
        let Some(selection) = self.selection else {
            return Ok(follows.iter().map(|&follow| (follow, User::unread(scope, follow.user))).collect());
        };
        let ids = follows.iter().map(|follow| follow.user).collect();
        let users = User::load_all(scope, ids, selection).await?;
        Ok(follows.iter().zip(users).filter_map(|(follow, user)| Some((*follow, user?))).collect())
    }
}
