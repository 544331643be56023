//! Connections over the lists that only moderators see.

use async_graphql::{Object, OutputType};

use crate::graphql::cursor::{self, Kind, ListOf};
use crate::graphql::directive::{CacheControlScope::Private, cache_control};
use crate::graphql::types::connection::PageInfo;
use crate::graphql::types::moderation::account::Account;
use crate::graphql::types::moderation::invite::Invite;
use crate::graphql::types::moderation::log::ModerationLogEntry;
use crate::graphql::types::moderation::report::Report;
use crate::model::page::Page;

/// A page of a list that only moderators see.
pub(in crate::graphql) struct ModerationConnection<T>(Page<ModerationEdge<T>>);

impl<T> ModerationConnection<T> {
    /// Creates a connection from a page. `entry` returns the position and the node of an entry.
    pub(super) fn new<K: Kind, E>(
        list: ListOf<K>,
        page: &Page<E>,
        entry: impl Fn(&E) -> (K::Position, T),
    ) -> Self {
        let edge = |listed: &E| {
            let (position, node) = entry(listed);
            ModerationEdge { cursor: cursor::print(list, &position), node }
        };
        let entries = page.entries.iter().map(edge).collect();
        Self(Page { entries, has_previous: page.has_previous, has_next: page.has_next })
    }
}

/// A page of a list that only moderators see.
#[Object(
    directive = cache_control::apply(Private),
    concrete(name = "AccountConnection", params(Account)),
    concrete(name = "ReportConnection", params(Report)),
    concrete(name = "ModerationLogConnection", params(ModerationLogEntry)),
    concrete(name = "InviteConnection", params(Invite))
)]
impl<T: OutputType> ModerationConnection<T>
where
    ModerationEdge<T>: OutputType,
{
    /// The entries on the page, in list order.
    async fn edges(&self) -> Vec<&ModerationEdge<T>> {
        self.0.entries.iter().collect()
    }

    /// The nodes of `edges`, in list order.
    async fn nodes(&self) -> Vec<&T> {
        self.0.entries.iter().map(|edge| &edge.node).collect()
    }

    /// The page's boundaries, for requesting adjacent pages.
    async fn page_info(&self) -> PageInfo {
        PageInfo {
            has_next: self.0.has_next,
            has_previous: self.0.has_previous,
            start: self.0.entries.first().map(|edge| edge.cursor.clone()),
            end: self.0.entries.last().map(|edge| edge.cursor.clone()),
        }
    }
}

/// An entry of a list that only moderators see.
pub(in crate::graphql) struct ModerationEdge<T> {
    cursor: String,
    node: T,
}

/// An entry of a list that only moderators see.
#[Object(
    directive = cache_control::apply(Private),
    concrete(name = "AccountEdge", params(Account)),
    concrete(name = "ReportEdge", params(Report)),
    concrete(name = "ModerationLogEdge", params(ModerationLogEntry)),
    concrete(name = "InviteEdge", params(Invite))
)]
impl<T: OutputType> ModerationEdge<T> {
    /// The entry's position in the list. It stays valid when entries are added or removed.
    async fn cursor(&self) -> &str {
        &self.cursor
    }

    /// The listed object.
    async fn node(&self) -> &T {
        &self.node
    }
}
