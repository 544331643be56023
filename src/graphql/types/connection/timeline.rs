//! Connections over home timelines.

use std::sync::Arc;

use async_graphql::{Enum, Object};

use crate::app::error::Error;
use crate::app::timeline::TimelineQuery;
use crate::app::timeline::entry::{Replies, TimelineEntry};
use crate::graphql::context::Scope;
use crate::graphql::cursor::TimelineList;
use crate::graphql::directive::{CacheControlScope::Private, cache_control};
use crate::graphql::page::Filled;
use crate::graphql::paging::Paging;
use crate::graphql::preloaded::List;
use crate::graphql::selection::{Selected, user_selection};
use crate::graphql::types::connection::PageInfo;
use crate::graphql::types::connection::post::{Place, PostEdge, PostPage, Shown};
use crate::graphql::types::post::Post;
use crate::graphql::types::user::User;
use crate::model::id::UserId;
use crate::model::page::{Direction, Window};

/// The replies in a home timeline, besides the viewer's own, those to the viewer, and those of authors to themselves.
#[derive(Clone, Copy, Debug, Default, Enum, PartialEq, Eq)]
#[graphql(remote = "Replies")]
pub(in crate::graphql) enum TimelineReplies {
    /// Replies to users whom the viewer follows.
    #[default]
    Followed,
    /// All replies.
    All,
    /// No others.
    None,
}

/// A page of a home timeline.
pub(in crate::graphql) struct TimelineConnection(PostPage);

impl TimelineConnection {
    /// Loads a page of the viewer's home timeline.
    pub(in crate::graphql) async fn load(
        scope: &Arc<Scope>,
        owner: UserId,
        replies: Replies,
        paging: &Paging,
        selection: &Selected<'_>,
    ) -> Result<Self, Error> {
        let list = TimelineList { owner };
        let Window { direction, size, from } = paging.window(list)?;
        let window = Window { direction, size, from: from.map(|place| place.post) };
        let (edges, nodes) = (selection.field("edges"), selection.field("nodes"));
        let reposters = edges.field("repostedBy");
        let author = user_selection(&[edges.field("node").field("author"), nodes.field("author"), reposters]);
        let info = selection.field("pageInfo");
        let looks_back = match window.direction {
            Direction::Forward => info.field("hasPreviousPage").exists(),
            Direction::Backward => info.field("hasNextPage").exists(),
        };
        let query = TimelineQuery { window, author: author.fields, replies, looks_back };
        let page = scope.loader.timeline(scope.viewer(), query).await?;
        let node = |(index, entry): (usize, &TimelineEntry)| {
            let post = Post::new(scope, Arc::clone(&entry.post), User::visible(scope, entry.author.clone()));
            let reposted_by =
                entry.reposted_by.iter().map(|user| User::visible(scope, user.clone())).collect();
            (Place::Timeline(list, Arc::clone(&page), index), Shown { post, reposted_by })
        };
        let entries = page.page.entries.iter().enumerate().map(node).collect();
        let (has_previous, has_next) = (page.page.has_previous, page.page.has_next);
        Ok(Self(PostPage::new(Filled::complete(entries, has_previous, has_next))))
    }
}

/// A page of a home timeline. It has no total count, because a timeline extends back to the oldest post.
#[Object(directive = cache_control::apply(Private))]
impl TimelineConnection {
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
