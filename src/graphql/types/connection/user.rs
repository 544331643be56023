//! Connections over the lists of users that only the viewer sees.

use std::sync::Arc;

use async_graphql::Object;
use async_graphql::parser::types::Field;
use futures::future::join;

use crate::app::error::Error;
use crate::app::visibility::{Access, UserSelection};
use crate::graphql::context::Scope;
use crate::graphql::cursor::{self, ViewerList};
use crate::graphql::directive::{CacheControlScope::Private, cache_control};
use crate::graphql::page::{Part, PartOf, Rows, fill};
use crate::graphql::paging::Paging;
use crate::graphql::preloaded::{List, One, Preloaded, Source, memory, object, objects};
use crate::graphql::selection::{Selected, Wants, user_selection};
use crate::graphql::types::connection::{Bounds, PageInfo};
use crate::graphql::types::scalar::{DateTime, number};
use crate::graphql::types::user::User;
use crate::model::id::UserId;
use crate::model::page::{Position, Window};

/// A page of a list of users.
pub(in crate::graphql) struct UserConnection {
    scope: Arc<Scope>,
    list: ViewerList,
    edges: Vec<UserEdge>,
    bounds: Bounds<Position>,
}

impl UserConnection {
    /// Loads a page of a list, with the data that the connection's selection needs.
    pub(in crate::graphql) async fn load(
        scope: &Arc<Scope>,
        list: ViewerList,
        paging: &Paging,
        selection: &Selected<'_>,
    ) -> Result<Self, Error> {
        let window = paging.window(list)?;
        let (edges, nodes) = (selection.field("edges"), selection.field("nodes"));
        let rows = Users { scope, list, selection: user_selection(&[edges.field("node"), nodes]) };
        let wants = Wants::of(selection);
        // The count is loaded together with the page. The loader, or the process, caches it for the `totalCount`
        // resolver.
        let (filled, ()) =
            join(wants.fill(fill(&rows, window)), wants.count(scope.visible().own_count(list.kind))).await;
        let (entries, bounds) = Bounds::of(filled?);
        let edges = entries.into_iter().map(|(entry, node)| UserEdge { list, entry, node }).collect();
        Ok(Self { scope: Arc::clone(scope), list, edges, bounds })
    }

    fn info(&self) -> PageInfo {
        self.bounds.info(&self.edges, UserEdge::print_cursor, |entry| cursor::print(self.list, entry))
    }
}

/// A page of a list of users.
#[Object(directive = cache_control::apply(Private))]
impl UserConnection {
    /// The entries on the page, in list order.
    async fn edges(&self) -> List<'_, UserEdge> {
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

    /// The total number of entries in the list; null if temporarily unavailable.
    async fn total_count(&self) -> Option<Result<i32, Error>> {
        Some(self.scope.visible().own_count(self.list.kind).await.map(number))
    }
}

impl Preloaded for UserConnection {
    fn source(field: &Field) -> Source<'_, Self> {
        match field.name.node.as_str() {
            "edges" => objects(field, |users: &Self| users.edges.iter().collect()),
            "nodes" => objects(field, |users: &Self| users.edges.iter().map(|edge| &edge.node).collect()),
            "pageInfo" => PageInfo::source_of(field, Self::info),
            _ => Source::Resolver,
        }
    }

    fn scope(&self) -> Option<&Arc<Scope>> {
        Some(&self.scope)
    }
}

/// An entry of a list of users.
pub(in crate::graphql) struct UserEdge {
    list: ViewerList,
    entry: Position,
    node: User,
}

impl UserEdge {
    fn print_cursor(&self) -> String {
        cursor::print(self.list, &self.entry)
    }
}

/// An entry of a list of users.
#[Object(directive = cache_control::apply(Private))]
impl UserEdge {
    /// The entry's position in the list. It stays valid when entries are added or removed.
    async fn cursor(&self) -> String {
        self.print_cursor()
    }

    /// The listed user.
    async fn node(&self) -> One<'_, User> {
        One(&self.node)
    }

    /// The time at which the user was added to the list, by which the list is ordered.
    async fn since(&self) -> DateTime {
        DateTime(self.entry.at)
    }
}

impl Preloaded for UserEdge {
    fn source(field: &Field) -> Source<'_, Self> {
        match field.name.node.as_str() {
            "cursor" => memory(|edge: &Self, json| json.value(&edge.print_cursor())),
            "since" => memory(|edge: &Self, json| json.scalar(&DateTime(edge.entry.at))),
            "node" => object(field, |edge: &Self| &edge.node),
            _ => Source::Resolver,
        }
    }

    fn scope(&self) -> Option<&Arc<Scope>> {
        self.node.scope()
    }
}

/// A list of users that only the viewer sees, read page by page.
struct Users<'a> {
    scope: &'a Arc<Scope>,
    list: ViewerList,
    selection: UserSelection,
}

impl Rows for Users<'_> {
    type Entry = Position;
    type Position = Position;
    type Node = User;

    /// Omits entries whose user has no record or is hidden from the viewer.
    async fn part(&self, window: Window<Position>) -> Result<PartOf<Self>, Error> {
        let page = self.scope.visible().own_page(self.list.kind, window).await?;
        let ids: Arc<[UserId]> = page.page.entries.iter().map(|entry| entry.user).collect();
        let users = User::load_all(self.scope, ids, self.selection, Access::Direct).await?;
        let found = page.page.entries.iter().zip(users).filter_map(|(entry, user)| Some((*entry, user?)));
        let found = found.collect();
        Ok(Part::of_users(&window, page, found))
    }
}
