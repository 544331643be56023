//! Connections over the posts that refer to a post.

use std::sync::Arc;

use async_graphql::{Enum, Object};

use crate::app::error::Error;
use crate::app::visibility::{UserSelection, VisiblePost};
use crate::graphql::context::Scope;
use crate::graphql::cursor::ReferrerList;
use crate::graphql::directive::{CacheControlScope::Public, cache_control};
use crate::graphql::page::{PartOf, Rows, fill_visible};
use crate::graphql::paging::Paging;
use crate::graphql::preloaded::List;
use crate::graphql::selection::{Selected, Wants, user_selection};
use crate::graphql::types::connection::PageInfo;
use crate::graphql::types::connection::post::{Place, PostEdge, PostPage, Shown};
use crate::graphql::types::post::Post;
use crate::model::id::PostId;
use crate::model::page::Window;

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
    /// Loads a page of a list. Makes three round trips: for the list, the posts and their authors; and three more to replace
    /// posts that the viewer may not see, if there are any.
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
        let rows = Referrers { scope, list, author };
        let filled = Wants::of(selection).fill(fill_visible(&rows, window)).await?;
        let filled = if order == ReplyOrder::Oldest { filled.reversed() } else { filled };
        let node = |post: VisiblePost| Shown::from(Post::visible(scope, &post));
        let place = |post| Place::Referrer(list, post);
        Ok(Self(PostPage::new(filled.map(|(post, found)| (place(post), node(found)), place))))
    }
}

/// Returns the window of a list in the order in which it is stored: the newest first.
fn in_stored_order(window: Window<PostId>, order: ReplyOrder) -> Window<PostId> {
    match order {
        ReplyOrder::Newest => window,
        ReplyOrder::Oldest => Window { direction: window.direction.opposite(), ..window },
    }
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

/// The posts that refer to a post, read part by part.
pub(super) struct Referrers<'a> {
    pub(super) scope: &'a Arc<Scope>,
    pub(super) list: ReferrerList,
    /// The data to read of the authors.
    pub(super) author: UserSelection,
}

impl Rows for Referrers<'_> {
    type Entry = PostId;
    type Position = PostId;
    type Node = VisiblePost;

    // At rest, only blocks hide listed entries. Each refill takes three round trips.
    const REFILLS: &'static [usize] = &[200];

    async fn part(&self, window: Window<PostId>) -> Result<PartOf<Self>, Error> {
        let ReferrerList { target, kind } = self.list;
        let found = self.scope.visible().referrers((target, kind), window, self.author).await?;
        Ok(PartOf::<Self>::of_referrers(found))
    }
}
