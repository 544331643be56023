//! Connections over the lists of users that only the viewer sees.

use std::sync::Arc;

use futures::future::join;

use crate::app::error::Error;
use crate::app::visibility::list::OwnList;
use crate::app::visibility::{Access, UserSelection};
use crate::graphql::context::Scope;
use crate::graphql::cursor::ListOf;
use crate::graphql::page::{Part, PartOf, Rows, fill};
use crate::graphql::paging::Paging;
use crate::graphql::selection::{Selected, Wants, user_selection};
use crate::graphql::types::connection::{At, Connection, Edge, connection, edge};
use crate::graphql::types::scalar::{DateTime, number};
use crate::graphql::types::user::User;
use crate::model::id::UserId;
use crate::model::page::{Position, Window};

/// A page of such a list.
pub(in crate::graphql) type UserConnection = Connection<At<OwnList>, User, (), OwnList>;

/// An entry of such a list.
type UserEdge = Edge<At<OwnList>, User>;

impl UserConnection {
    /// Loads a page of a list, with the data that the connection's selection needs.
    pub(in crate::graphql) async fn load(
        scope: &Arc<Scope>,
        list: ListOf<OwnList>,
        paging: &Paging,
        selection: &Selected<'_>,
    ) -> Result<Self, Error> {
        let window = paging.window(list)?;
        let rows = Users { scope, list: list.kind, selection: user_selection(&selection.nodes()) };
        let wants = Wants::of(selection);
        // The count is loaded together with the page. The loader, or the process, caches it for the `totalCount`
        // resolver.
        let visible = scope.visible();
        let count = wants.count(visible.own_count(list.kind));
        let (filled, ()) = join(wants.fill(fill(&rows, window)), count).await;
        let place = |entry: &Position| At { list, position: *entry };
        Ok(Self::new(scope, filled?, place, |_, user| (user, ()), list.kind))
    }
}

connection! {
    /// A page of a list of users.
    UserConnection of UserEdge, Private,
    "The users on the page, in list order; the same as the nodes of `edges`.": User {
        resolver "a page and its count are loaded together, into the loader" {
            /// The total number of entries in the list; null if temporarily unavailable.
            async fn total_count(&self) -> Option<Result<i32, Error>> {
                Some(self.scope.visible().own_count(self.total).await.map(number))
            }
        }
    }
}

edge! {
    /// An entry of a list of users.
    UserEdge, Private, "The listed user.": User {
        /// The time at which the user was added to the list, by which the list is ordered.
        value since "since": DateTime = |edge| DateTime(edge.place.position.at);
    }
}

/// A list of users that only the viewer sees, read page by page.
struct Users<'a> {
    scope: &'a Arc<Scope>,
    list: OwnList,
    selection: UserSelection,
}

impl Rows for Users<'_> {
    type Entry = Position;
    type Position = Position;
    type Node = User;

    /// Omits entries whose user has no record or is hidden from the viewer.
    async fn part(&self, window: Window<Position>) -> Result<PartOf<Self>, Error> {
        let page = self.scope.visible().own_page(self.list, window).await?;
        let ids: Arc<[UserId]> = page.page.entries.iter().map(|entry| entry.user).collect();
        let users = User::load_all(self.scope, ids, self.selection, Access::Direct).await?;
        let found = page.page.entries.iter().zip(users).filter_map(|(entry, user)| Some((*entry, user?)));
        let found = found.collect();
        Ok(Part::of_users(&window, page, found))
    }
}
