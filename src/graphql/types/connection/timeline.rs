//! Connections over home timelines.

use std::sync::Arc;

use async_graphql::Enum;

use crate::app::error::Error;
use crate::app::timeline::TimelineQuery;
use crate::app::timeline::entry::{Replies, TimelineEntry};
use crate::graphql::context::Scope;
use crate::graphql::cursor::{ListOf, Timeline};
use crate::graphql::page::Filled;
use crate::graphql::paging::Paging;
use crate::graphql::selection::{Selected, user_selection};
use crate::graphql::types::connection::connection;
use crate::graphql::types::connection::post::{PostEdge, PostPage, PostPlace};
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
pub(in crate::graphql) type TimelineConnection = PostPage<Endless>;

/// The length of a home timeline, which extends back to the oldest post.
pub(in crate::graphql) struct Endless;

impl TimelineConnection {
    /// Loads a page of the viewer's home timeline.
    pub(in crate::graphql) async fn load(
        scope: &Arc<Scope>,
        owner: UserId,
        replies: Replies,
        paging: &Paging,
        selection: &Selected<'_>,
    ) -> Result<Self, Error> {
        let list = ListOf { kind: Timeline, owner };
        let Window { direction, size, from } = paging.window(list)?;
        let window = Window { direction, size, from: from.map(|position| position.post) };
        let reposters = user_selection(&[selection.field("edges").field("repostedBy")]);
        let info = selection.field("pageInfo");
        let looks_back = match window.direction {
            Direction::Forward => info.field("hasPreviousPage").exists(),
            Direction::Backward => info.field("hasNextPage").exists(),
        };
        let author = selection.authors().and(reposters).fields;
        let query = TimelineQuery { window, author, replies, looks_back };
        let page = scope.loader.timeline(scope.viewer(), query).await?;
        let entries = page.page.entries.iter().enumerate().collect();
        let filled = Filled::complete(entries, page.page.has_previous, page.page.has_next);
        let place = |index: &usize| PostPlace::Timeline(list, Arc::clone(&page), *index);
        let shown = |_, entry: &TimelineEntry| {
            let author = User::visible(scope, entry.author.clone());
            let reposted_by = entry.reposted_by.iter().map(|user| User::visible(scope, user.clone()));
            (Post::new(scope, Arc::clone(&entry.post), author), reposted_by.collect())
        };
        Ok(Self::new(scope, filled, place, shown, Endless))
    }
}

connection! {
    /// A page of a home timeline. It has no total count, because a timeline extends back to the oldest post.
    TimelineConnection of PostEdge, Private,
    "The posts on the page, in list order; the same as the nodes of `edges`.": Post {}
}
