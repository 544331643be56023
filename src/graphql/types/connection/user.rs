//! Connections over lists of users: those that only the viewer sees, and the users who have reposted a post.

use std::sync::Arc;

use async_graphql::Object;
use async_graphql::parser::types::Field;
use futures::future::join;

use crate::app::archive::Listed;
use crate::app::error::Error;
use crate::app::visibility::list::OwnList;
use crate::app::visibility::{Access, UserSelection};
use crate::graphql::context::Scope;
use crate::graphql::cursor::{self, ReferrerList, ViewerList};
use crate::graphql::directive::{CacheControlScope::Private, cache_control};
use crate::graphql::page::{Filled, Found, Rows, fill, fill_visible};
use crate::graphql::paging::Paging;
use crate::graphql::preloaded::{List, One, Preloaded, Source, memory, object, objects};
use crate::graphql::selection::{Selected, Wants, user_selection};
use crate::graphql::types::connection::PageInfo;
use crate::graphql::types::scalar::{DateTime, number};
use crate::graphql::types::user::User;
use crate::model::clock::Timestamp;
use crate::model::referrer::ReferrerKind;
use crate::model::id::{PostId, UserId};
use crate::model::page::{Page, Position, Window};
use crate::model::post::Post;

/// A page of a list of users.
pub(in crate::graphql) struct UserConnection {
    scope: Arc<Scope>,
    total: Total,
    edges: Vec<UserEdge>,
    has_previous: bool,
    has_next: bool,
}

/// The length of a list.
#[derive(Clone, Copy)]
enum Total {
    /// That of a list that only the viewer sees.
    Own(OwnList),
    Known(u64),
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
        let Filled { entries, has_previous, has_next } = filled?;
        let edge = |(entry, node): (Position, User)| UserEdge {
            place: Place::Own(list, entry),
            since: entry.at,
            node,
        };
        let edges = entries.into_iter().map(edge).collect();
        Ok(Self { scope: Arc::clone(scope), total: Total::Own(list.kind), edges, has_previous, has_next })
    }

    /// Loads a page of the users who have reposted a post, which has this number of reposts. Makes three round trips: for
    /// the list, the reposts and the users. Makes further ones to replace users who are hidden from the viewer.
    pub(in crate::graphql) async fn reposters(
        scope: &Arc<Scope>,
        (target, reposts): (PostId, u64),
        paging: &Paging,
        selection: &Selected<'_>,
    ) -> Result<Self, Error> {
        let list = ReferrerList { target, kind: ReferrerKind::Repost };
        let window = paging.window(list)?;
        let (edges, nodes) = (selection.field("edges"), selection.field("nodes"));
        let rows = Reposters { scope, target, selection: user_selection(&[edges.field("node"), nodes]) };
        let filled = Wants::of(selection).fill(fill_visible(&rows, window)).await?;
        let Filled { entries, has_previous, has_next } = filled;
        let edge = |(repost, (since, node))| UserEdge { place: Place::Repost(list, repost), since, node };
        let edges = entries.into_iter().map(edge).collect();
        Ok(Self { scope: Arc::clone(scope), total: Total::Known(reposts), edges, has_previous, has_next })
    }

    fn info(&self) -> PageInfo {
        PageInfo {
            has_next_page: self.has_next,
            has_previous_page: self.has_previous,
            start_cursor: self.edges.first().map(UserEdge::print_cursor),
            end_cursor: self.edges.last().map(UserEdge::print_cursor),
        }
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
        Some(match self.total {
            Total::Own(list) => self.scope.visible().own_count(list).await.map(number),
            Total::Known(count) => Ok(number(count)),
        })
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

/// An entry's place in its list. The cursor is printed only if it is selected.
enum Place {
    Own(ViewerList, Position),
    Repost(ReferrerList, PostId),
}

/// An entry of a list of users.
pub(in crate::graphql) struct UserEdge {
    place: Place,
    since: Timestamp,
    node: User,
}

impl UserEdge {
    fn print_cursor(&self) -> String {
        match &self.place {
            Place::Own(list, entry) => cursor::print(*list, entry),
            Place::Repost(list, repost) => cursor::print(*list, repost),
        }
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
        DateTime(self.since)
    }
}

impl Preloaded for UserEdge {
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

    async fn page(&self, window: Window<Position>) -> Result<Arc<Page<Position>>, Error> {
        self.scope.visible().own_page(self.list.kind, window).await
    }

    /// Returns the entries with their users. Omits entries whose user has no record or is hidden from the viewer.
    async fn nodes(&self, entries: &Arc<[Position]>) -> Result<Vec<(Position, User)>, Error> {
        let ids: Arc<[UserId]> = entries.iter().map(|entry| entry.user).collect();
        let users = User::load_all(self.scope, ids, self.selection, Access::Direct).await?;
        Ok(entries.iter().zip(users).filter_map(|(entry, user)| Some((*entry, user?))).collect())
    }
}

/// The users who have reposted a post, read page by page.
struct Reposters<'a> {
    scope: &'a Arc<Scope>,
    target: PostId,
    selection: UserSelection,
}

impl Rows for Reposters<'_> {
    type Entry = PostId;
    type Position = PostId;
    type Node = (Timestamp, User);

    async fn page(&self, window: Window<PostId>) -> Result<Arc<Page<PostId>>, Error> {
        self.scope.visible().unfiltered_referrers(self.target, ReferrerKind::Repost, window).await
    }

    /// Returns the reposts with their times and users. Omits those whose user is hidden from the viewer.
    async fn nodes(&self, reposts: &Arc<[PostId]>) -> Result<Found<Self>, Error> {
        let listed = reposts.iter().copied().map(Listed::Id).collect();
        let records = self.scope.visible().post_records(listed).await?;
        let records: Vec<_> = records.iter().flatten().collect();
        let authors: Arc<[UserId]> = records.iter().map(|repost| repost.author).collect();
        let users = User::load_all(self.scope, authors, self.selection, Access::Listed).await?;
        let node = |(repost, user): (&Arc<Post>, Option<User>)| Some((repost.id, (repost.created_at, user?)));
        Ok(records.into_iter().zip(users).filter_map(node).collect())
    }
}
