//! Connections over the posts that refer to a post.

use std::sync::Arc;

use async_graphql::{Enum, Object};

use crate::app::archive::Listed;
use crate::app::error::Error;
use crate::app::visibility::UserSelection;
use crate::graphql::context::Scope;
use crate::graphql::cursor::ReferrerList;
use crate::graphql::directive::{CacheControlScope::Public, cache_control};
use crate::graphql::page::{Filled, Found, Rows, fill_visible};
use crate::graphql::paging::Paging;
use crate::graphql::preloaded::List;
use crate::graphql::selection::{Selected, Wants, user_selection};
use crate::graphql::types::connection::PageInfo;
use crate::graphql::types::connection::post::{Place, PostEdge, PostPage, Shown};
use crate::graphql::types::post::Post;
use crate::model::id::PostId;
use crate::model::page::{Direction, Page, Window};

/// The order of a list of replies.
#[derive(Clone, Copy, Debug, Default, Enum, PartialEq, Eq)]
pub(in crate::graphql) enum ReplyOrder {
    /// The oldest reply first, as in a conversation.
    #[default]
    Oldest,
    /// The newest reply first.
    Newest,
}

/// A page of the posts that refer to a post.
pub(in crate::graphql) struct ReplyConnection(PostPage);

impl ReplyConnection {
    /// Loads a page of a list. Makes three round trips: for the list, the posts and their authors. Makes further ones to
    /// replace posts that the viewer may not see.
    pub(in crate::graphql) async fn load(
        scope: &Arc<Scope>,
        list: ReferrerList,
        order: ReplyOrder,
        paging: &Paging,
        selection: &Selected<'_>,
    ) -> Result<Self, Error> {
        let window = in_stored_order(paging.window(list)?, order);
        let (edges, nodes) = (selection.field("edges"), selection.field("nodes"));
        let author = user_selection(&[edges.field("node").field("author"), nodes.field("author")]);
        let rows = Referring { scope, list, author };
        let filled = Wants::of(selection).fill(fill_visible(&rows, window)).await?;
        let place = |(post, node)| (Place::Referrer(list, post), Shown::from(node));
        let mut entries: Vec<(Place, Shown)> = filled.entries.into_iter().map(place).collect();
        let Filled { mut has_previous, mut has_next, .. } = filled;
        if order == ReplyOrder::Oldest {
            entries.reverse();
            (has_previous, has_next) = (has_next, has_previous);
        }
        Ok(Self(PostPage::new(Filled { entries, has_previous, has_next })))
    }
}

/// Returns the window of a list in the order in which it is stored: the newest first.
fn in_stored_order(window: Window<PostId>, order: ReplyOrder) -> Window<PostId> {
    let direction = match (order, window.direction) {
        (ReplyOrder::Newest, direction) => direction,
        (ReplyOrder::Oldest, Direction::Forward) => Direction::Backward,
        (ReplyOrder::Oldest, Direction::Backward) => Direction::Forward,
    };
    Window { direction, ..window }
}

/// A page of posts that refer to a post. It has no total count, because viewers see different parts of the list.
#[Object(directive = cache_control::apply(Public))]
impl ReplyConnection {
    /// The entries on the page, in list order.
    async fn edges(&self) -> List<'_, PostEdge> {
        self.0.edges()
    }

    /// The posts on the page, in list order; the same as the nodes of `edges`.
    async fn nodes(&self) -> List<'_, Post> {
        self.0.nodes()
    }

    /// The page's boundaries, for requesting adjacent pages.
    async fn page_info(&self) -> PageInfo {
        self.0.info()
    }
}

/// The posts of a list, read page by page.
struct Referring<'a> {
    scope: &'a Arc<Scope>,
    list: ReferrerList,
    author: UserSelection,
}

impl Rows for Referring<'_> {
    type Entry = PostId;
    type Position = PostId;
    type Node = Post;

    async fn page(&self, window: Window<PostId>) -> Result<Arc<Page<PostId>>, Error> {
        let ReferrerList { target, kind } = self.list;
        self.scope.visible().unfiltered_referrers(target, kind, window).await
    }

    async fn nodes(&self, posts: &Arc<[PostId]>) -> Result<Found<Self>, Error> {
        let listed = posts.iter().copied().map(Listed::Id).collect();
        let found = self.scope.visible().posts(listed, self.author).await?;
        let node = |(id, post): (&PostId, &Option<_>)| Some((*id, Post::visible(self.scope, post.as_ref()?)));
        Ok(posts.iter().zip(&found).filter_map(node).collect())
    }
}
