//! Connections over the users who have reposted a post.

use std::sync::Arc;

use async_graphql::Object;
use async_graphql::parser::types::Field;

use crate::app::error::Error;
use crate::app::visibility::VisiblePost;
use crate::graphql::context::Scope;
use crate::graphql::cursor::{self, ReferrerList};
use crate::graphql::directive::{CacheControlScope::Public, cache_control};
use crate::graphql::page::fill_visible;
use crate::graphql::paging::Paging;
use crate::graphql::preloaded::{List, One, Preloaded, Source, memory, object};
use crate::graphql::selection::{Selected, Wants, user_selection};
use crate::graphql::types::connection::referrer::Referrers;
use crate::graphql::types::connection::{Bounds, PageInfo};
use crate::graphql::types::scalar::DateTime;
use crate::graphql::types::user::User;
use crate::model::clock::Timestamp;
use crate::model::id::PostId;

/// A page of the users who have reposted a post.
pub(in crate::graphql) struct RepostConnection {
    list: ReferrerList,
    edges: Vec<RepostEdge>,
    bounds: Bounds<PostId>,
}

impl RepostConnection {
    /// Loads a page of the users who have reposted a post. Makes as many round trips as a page of its replies.
    pub(in crate::graphql) async fn load(
        scope: &Arc<Scope>,
        list: ReferrerList,
        paging: &Paging,
        selection: &Selected<'_>,
    ) -> Result<Self, Error> {
        let window = paging.window(list)?;
        let (edges, nodes) = (selection.field("edges"), selection.field("nodes"));
        let rows = Referrers { scope, list, author: user_selection(&[edges.field("node"), nodes]) };
        let (reposts, bounds) = Bounds::of(Wants::of(selection).fill(fill_visible(&rows, window)).await?);
        let edge = |(repost, VisiblePost { post, author }): (PostId, VisiblePost)| RepostEdge {
            list,
            repost,
            since: post.created_at,
            node: User::visible(scope, author),
        };
        Ok(Self { list, edges: reposts.into_iter().map(edge).collect(), bounds })
    }
}

/// A page of the users who have reposted a post. It has no total count, because viewers see different parts of the list;
/// `repostCount` is the number of reposts that everyone sees.
#[Object(directive = cache_control::apply(Public))]
impl RepostConnection {
    /// The entries on the page, in list order.
    async fn edges(&self) -> List<'_, RepostEdge> {
        List(self.edges.iter().collect())
    }

    /// The users on the page, in list order; the same as the nodes of `edges`.
    async fn nodes(&self) -> List<'_, User> {
        List(self.edges.iter().map(|edge| &edge.node).collect())
    }

    /// The page's boundaries, for requesting adjacent pages.
    async fn page_info(&self) -> PageInfo {
        self.bounds.info(&self.edges, RepostEdge::print_cursor, |repost| cursor::print(self.list, repost))
    }
}

/// A user's repost of a post.
pub(in crate::graphql) struct RepostEdge {
    list: ReferrerList,
    repost: PostId,
    since: Timestamp,
    node: User,
}

impl RepostEdge {
    fn print_cursor(&self) -> String {
        cursor::print(self.list, &self.repost)
    }
}

/// A user's repost of a post.
#[Object(directive = cache_control::apply(Public))]
impl RepostEdge {
    /// The entry's position in the list. It stays valid when entries are added or removed.
    async fn cursor(&self) -> String {
        self.print_cursor()
    }

    /// The user who has reposted the post.
    async fn node(&self) -> One<'_, User> {
        One(&self.node)
    }

    /// The time of the repost, by which the list is ordered.
    async fn since(&self) -> DateTime {
        DateTime(self.since)
    }
}

impl Preloaded for RepostEdge {
    fn source(field: &Field) -> Source<'_, Self> {
        match field.name.node.as_str() {
            "cursor" => memory(|edge: &Self, json| json.value(&edge.print_cursor())),
            "since" => memory(|edge: &Self, json| json.scalar(&DateTime(edge.since))),
            "node" => object(field, |edge: &Self| &edge.node),
            _ => Source::Resolver,
        }
    }

    fn scope(&self) -> Option<&Arc<Scope>> {
        self.node.scope()
    }
}
