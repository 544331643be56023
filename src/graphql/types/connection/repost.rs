//! Connections over the users who have reposted a post.

use std::sync::Arc;

use crate::app::error::Error;
use crate::app::visibility::VisiblePost;
use crate::graphql::context::Scope;
use crate::graphql::cursor::ListOf;
use crate::graphql::page::fill_visible;
use crate::graphql::paging::Paging;
use crate::graphql::selection::{Selected, Wants, user_selection};
use crate::graphql::types::connection::referrer::Referrers;
use crate::graphql::types::connection::{At, Connection, Edge, connection, edge};
use crate::graphql::types::scalar::DateTime;
use crate::graphql::types::user::User;
use crate::model::clock::Timestamp;
use crate::model::id::PostId;
use crate::model::referrer::ReferrerKind;

/// A page of such a list.
pub(in crate::graphql) type RepostConnection = Connection<At<ReferrerKind>, User, Timestamp>;

/// An entry of such a list. It shows the time of the repost.
type RepostEdge = Edge<At<ReferrerKind>, User, Timestamp>;

impl RepostConnection {
    /// Loads a page of the users who have reposted a post. Makes as many round trips as a page of its replies.
    pub(in crate::graphql) async fn load(
        scope: &Arc<Scope>,
        list: ListOf<ReferrerKind>,
        paging: &Paging,
        selection: &Selected<'_>,
    ) -> Result<Self, Error> {
        let window = paging.window(list)?;
        let rows = Referrers { scope, list, author: user_selection(&selection.nodes()) };
        let filled = Wants::of(selection).fill(fill_visible(&rows, window)).await?;
        let place = |repost: &PostId| At { list, position: *repost };
        let shown = |_, VisiblePost { post, author }| (User::visible(scope, author), post.created_at);
        Ok(Self::new(scope, filled, place, shown, ()))
    }
}

connection! {
    /// A page of the users who have reposted a post. It has no total count, because viewers see different parts of the list;
    /// `repostCount` is the number of reposts that everyone sees.
    RepostConnection of RepostEdge, Public,
    "The users on the page, in list order; the same as the nodes of `edges`.": User {}
}

edge! {
    /// A user's repost of a post.
    RepostEdge, Public, "The user who has reposted the post.": User {
        /// The time of the repost, by which the list is ordered.
        value since "since": DateTime = |edge| DateTime(edge.extra);
    }
}
