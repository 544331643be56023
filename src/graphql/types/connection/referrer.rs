//! Connections over the posts that refer to a post.

use std::sync::Arc;

use async_graphql::Enum;

use crate::app::error::Error;
use crate::app::visibility::{UserSelection, VisiblePost};
use crate::graphql::context::Scope;
use crate::graphql::cursor::ListOf;
use crate::graphql::page::{PartOf, Rows, fill_visible};
use crate::graphql::paging::Paging;
use crate::graphql::selection::{Selected, Wants};
use crate::graphql::types::connection::post::{PostEdge, PostPage, PostPlace};
use crate::graphql::types::connection::{At, connection};
use crate::graphql::types::post::Post;
use crate::model::id::PostId;
use crate::model::page::Window;
use crate::model::referrer::ReferrerKind;

/// The order of a list of replies.
#[derive(Clone, Copy, Debug, Default, Enum, PartialEq, Eq)]
pub(in crate::graphql) enum ReplyOrder {
    /// The oldest reply first, as in a conversation.
    #[default]
    Oldest,
    /// The newest reply first.
    Newest,
}

/// A page of a list of posts whose length differs between viewers.
pub(in crate::graphql) type PostListConnection = PostPage<()>;

impl PostListConnection {
    /// Loads a page of the posts that refer to a post. Makes three round trips: for the list, the posts and their authors; and
    /// three more to replace posts that the viewer may not see, if there are any.
    pub(in crate::graphql) async fn load(
        scope: &Arc<Scope>,
        list: ListOf<ReferrerKind>,
        order: ReplyOrder,
        paging: &Paging,
        selection: &Selected<'_>,
    ) -> Result<Self, Error> {
        let window = in_stored_order(paging.window(list)?, order);
        let rows = Referrers { scope, list, author: selection.authors() };
        let filled = Wants::of(selection).fill(fill_visible(&rows, window)).await?;
        let filled = if order == ReplyOrder::Oldest { filled.reversed() } else { filled };
        let place = |post: &PostId| PostPlace::Referrer(At { list, position: *post });
        let shown = |_, post| (Post::visible(scope, &post), Vec::new());
        Ok(Self::new(scope, filled, place, shown, ()))
    }
}

connection! {
    /// A page of a list of posts. It has no total count, because viewers see different parts of the list.
    PostListConnection of PostEdge, Public,
    "The posts on the page, in list order; the same as the nodes of `edges`.": Post {}
}

/// Returns the window of a list in the order in which it is stored: the newest first.
fn in_stored_order(window: Window<PostId>, order: ReplyOrder) -> Window<PostId> {
    match order {
        ReplyOrder::Newest => window,
        ReplyOrder::Oldest => Window { direction: window.direction.opposite(), ..window },
    }
}

/// The posts that refer to a post, read part by part.
pub(super) struct Referrers<'a> {
    pub(super) scope: &'a Arc<Scope>,
    pub(super) list: ListOf<ReferrerKind>,
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
        let ListOf { kind, owner: target } = self.list;
        let found = self.scope.visible().referrers((target, kind), window, self.author).await?;
        Ok(PartOf::<Self>::of_referrers(found))
    }
}
