//! Relay-style cursor connections: pages of lists, as clients see them.

use std::sync::Arc;

use async_graphql::{Object, SimpleObject};

use crate::app::archive::Listed;
use crate::app::error::Error;
use crate::graphql::connection::{self, Filled};
use crate::graphql::context::Scope;
use crate::graphql::cursor::{self, FollowList, PostList, TimelineList, TimelinePlace};
use crate::graphql::types::post::Post;
use crate::graphql::types::scalar::DateTime;
use crate::graphql::types::scalar::number;
use crate::graphql::types::user::User;
use crate::model::id::PostId;
use crate::model::relation::Follow;

/// A page of a list of users.
pub(in crate::graphql) struct FollowConnection {
    scope: Arc<Scope>,
    list: FollowList,
    edges: Vec<FollowEdge>,
    has_previous: bool,
    has_next: bool,
}

impl FollowConnection {
    pub(in crate::graphql) fn new(scope: Arc<Scope>, list: FollowList, filled: Filled<Follow, User>) -> Self {
        let edge = |(follow, node)| FollowEdge { list, follow, node };
        let edges = filled.entries.into_iter().map(edge).collect();
        Self { scope, list, edges, has_previous: filled.has_previous, has_next: filled.has_next }
    }
}

/// A page of a list of users.
#[Object]
impl FollowConnection {
    /// The entries of the page.
    async fn edges(&self) -> &[FollowEdge] {
        &self.edges
    }

    /// The users of the page: the nodes of its edges.
    async fn nodes(&self) -> Vec<&User> {
        self.edges.iter().map(|edge| &edge.node).collect()
    }

    /// The position of the page in the list.
    async fn page_info(&self) -> PageInfo {
        PageInfo {
            has_next_page: self.has_next,
            has_previous_page: self.has_previous,
            start_cursor: self.edges.first().map(FollowEdge::print_cursor),
            end_cursor: self.edges.last().map(FollowEdge::print_cursor),
        }
    }

    /// The number of entries in the whole list.
    async fn total_count(&self) -> Result<i32, Error> {
        Ok(number(connection::count(&self.scope, self.list).await?))
    }
}

/// An entry of a list of users.
pub(in crate::graphql) struct FollowEdge {
    list: FollowList,
    follow: Follow,
    node: User,
}

impl FollowEdge {
    fn print_cursor(&self) -> String {
        cursor::print(self.list, &self.follow.into())
    }
}

/// An entry of a list of users.
#[Object]
impl FollowEdge {
    /// The position of the entry in the list; stays valid when entries are added or removed.
    async fn cursor(&self) -> String {
        self.print_cursor()
    }

    /// The listed user.
    async fn node(&self) -> &User {
        &self.node
    }

    /// The time of the follow by which the list is ordered.
    async fn followed_at(&self) -> DateTime {
        DateTime(self.follow.at)
    }
}

/// A page of posts with the flags of a connection.
struct PostPage {
    edges: Vec<PostEdge>,
    has_previous: bool,
    has_next: bool,
}

impl PostPage {
    fn new<E>(filled: Filled<E, Post>, cursor: impl Fn(E) -> String) -> Self {
        let edge = |(entry, node)| PostEdge { cursor: cursor(entry), node };
        let edges = filled.entries.into_iter().map(edge).collect();
        Self { edges, has_previous: filled.has_previous, has_next: filled.has_next }
    }

    fn nodes(&self) -> Vec<&Post> {
        self.edges.iter().map(|edge| &edge.node).collect()
    }

    fn info(&self) -> PageInfo {
        PageInfo {
            has_next_page: self.has_next,
            has_previous_page: self.has_previous,
            start_cursor: self.edges.first().map(|edge| edge.cursor.clone()),
            end_cursor: self.edges.last().map(|edge| edge.cursor.clone()),
        }
    }
}

/// A page of a user's posts.
pub(in crate::graphql) struct PostConnection {
    scope: Arc<Scope>,
    list: PostList,
    page: PostPage,
}

impl PostConnection {
    pub(in crate::graphql) fn new(scope: Arc<Scope>, list: PostList, filled: Filled<Listed, Post>) -> Self {
        let page = PostPage::new(filled, |listed| cursor::print(list, &PostId::from(listed)));
        Self { scope, list, page }
    }
}

/// A page of a user's posts.
#[Object]
impl PostConnection {
    /// The entries of the page.
    async fn edges(&self) -> &[PostEdge] {
        &self.page.edges
    }

    /// The posts of the page: the nodes of its edges.
    async fn nodes(&self) -> Vec<&Post> {
        self.page.nodes()
    }

    /// The position of the page in the list.
    async fn page_info(&self) -> PageInfo {
        self.page.info()
    }

    /// The number of posts the user has.
    async fn total_count(&self) -> Result<i32, Error> {
        Ok(number(self.scope.loader.post_count(self.list.owner).await?))
    }
}

/// A page of a home timeline.
pub(in crate::graphql) struct TimelineConnection(PostPage);

impl TimelineConnection {
    pub(in crate::graphql) fn new(list: TimelineList, filled: Filled<TimelinePlace, Post>) -> Self {
        Self(PostPage::new(filled, |place| cursor::print(list, &place)))
    }
}

/// A page of a home timeline. It has no count: a timeline extends as far back as there are posts.
#[Object]
impl TimelineConnection {
    /// The entries of the page.
    async fn edges(&self) -> &[PostEdge] {
        &self.0.edges
    }

    /// The posts of the page: the nodes of its edges.
    async fn nodes(&self) -> Vec<&Post> {
        self.0.nodes()
    }

    /// The position of the page in the timeline.
    async fn page_info(&self) -> PageInfo {
        self.0.info()
    }
}

/// An entry of a list of posts.
pub(in crate::graphql) struct PostEdge {
    cursor: String,
    node: Post,
}

/// An entry of a list of posts.
#[Object]
impl PostEdge {
    /// The position of the entry in the list; stays valid when entries are added or removed.
    async fn cursor(&self) -> &str {
        &self.cursor
    }

    /// The listed post.
    async fn node(&self) -> &Post {
        &self.node
    }
}

/// The position of a page in its list.
#[derive(SimpleObject)]
pub(in crate::graphql) struct PageInfo {
    /// True if the list has entries after the page.
    has_next_page: bool,
    /// True if the list has entries before the page.
    has_previous_page: bool,
    /// The cursor of the first entry; null if the page is empty.
    start_cursor: Option<String>,
    /// The cursor of the last entry; null if the page is empty.
    end_cursor: Option<String>,
}
