//! Relay-style cursor connections: pages of lists, as clients see them.
//!
//! A [`Connection`] has [`Edge`]s; `connection!` and `edge!` declare their fields. The modules say which there are, and
//! which fields they have besides.
//!
//! Not here: how the pages are read (`page`).

pub(in crate::graphql) mod post;
pub(in crate::graphql) mod user;

use std::sync::Arc;

use crate::graphql::context::Scope;
use crate::graphql::cursor::{self, Kind, ListOf};
use crate::graphql::page::{Ended, Filled};
use crate::graphql::preloaded::fields;
use crate::model::page::Direction;

/// Where an entry is in its list. The cursor is printed only if it is selected.
pub(in crate::graphql) trait Positioned {
    fn cursor(&self) -> String;
}

/// A position in a list.
pub(in crate::graphql) struct At<K: Kind> {
    list: ListOf<K>,
    position: K::Position,
}

impl<K: Kind> Positioned for At<K> {
    fn cursor(&self) -> String {
        cursor::print(self.list, &self.position)
    }
}

/// An entry on a page: where it is, the listed object, and what else the entry shows.
pub(in crate::graphql) struct Edge<P, N, X = ()> {
    pub(super) at: P,
    pub(super) node: N,
    pub(super) extra: X,
}

/// A page of a list, and what it needs to tell the length of the list.
pub(in crate::graphql) struct Connection<P, N, X = (), T = ()> {
    scope: Arc<Scope>,
    edges: Vec<Edge<P, N, X>>,
    has_previous: bool,
    has_next: bool,
    /// Where the page ends, if it has fewer entries than requested.
    ended: Option<Ended<P>>,
    total: T,
}

impl<P: Positioned, N, X, T> Connection<P, N, X, T> {
    /// Creates a connection from a page. `at` returns where an entry is, and `shown` what it shows.
    fn new<E, M>(
        scope: &Arc<Scope>,
        filled: Filled<E, M>,
        at: impl Fn(&E) -> P,
        shown: impl Fn(E, M) -> (N, X),
        total: T,
    ) -> Self {
        let Filled { entries, has_previous, has_next, ended } = filled;
        let edge = |(entry, found): (E, M)| {
            let at = at(&entry);
            let (node, extra) = shown(entry, found);
            Edge { at, node, extra }
        };
        let edges = entries.into_iter().map(edge).collect();
        let ended = ended.map(|Ended { side, at: entry }| Ended { side, at: at(&entry) });
        Self { scope: Arc::clone(scope), edges, has_previous, has_next, ended, total }
    }

    fn info(&self) -> PageInfo {
        let ended =
            |side| self.ended.as_ref().filter(|ended| ended.side == side).map(|ended| ended.at.cursor());
        PageInfo {
            has_next: self.has_next,
            has_previous: self.has_previous,
            start: ended(Direction::Backward).or_else(|| self.edges.first().map(|edge| edge.at.cursor())),
            end: ended(Direction::Forward).or_else(|| self.edges.last().map(|edge| edge.at.cursor())),
        }
    }
}

/// Declares the fields of a connection: those that all have, with the noun for its nodes, and its own.
macro_rules! connection {
    ($(#[$doc:meta])* $object:ident of $edge:ident, $cached:ident, $nodes:literal: $node:ident; $($rows:tt)*) => {
        $crate::graphql::preloaded::fields! {
            $(#[$doc])*
            impl $object, $cached, |page| Some(&page.scope);

            /// The entries on the page, in list order.
            objects edges "edges": $edge = |page| page.edges.iter().collect();
            #[doc = concat!("The ", $nodes, " on the page, in list order; the same as the nodes of `edges`.")]
            objects nodes "nodes": $node = |page| page.edges.iter().map(|edge| &edge.node).collect();
            /// The page's boundaries, for requesting adjacent pages.
            nested page_info "pageInfo": $crate::graphql::types::connection::PageInfo = |page| page.info();
            $($rows)*
        }
    };
}
use connection;

/// Declares the fields of an edge: those that all have, with the description of `node`, and its own.
macro_rules! edge {
    ($(#[$doc:meta])* $object:ident, $cached:ident, $listed:literal: $node:ident; $($rows:tt)*) => {
        $crate::graphql::preloaded::fields! {
            $(#[$doc])*
            impl $object, $cached, |edge| $crate::graphql::preloaded::Preloaded::scope(&edge.node);

            /// The entry's position in the list. It stays valid when entries are added or removed.
            value cursor "cursor": String = |edge| $crate::graphql::types::connection::Positioned::cursor(&edge.at);
            #[doc = $listed]
            object node "node": $node = |edge| &edge.node;
            $($rows)*
        }
    };
}
use edge;

/// The boundaries of a page.
pub(in crate::graphql) struct PageInfo {
    pub(super) has_next: bool,
    pub(super) has_previous: bool,
    pub(super) start: Option<String>,
    pub(super) end: Option<String>,
}

fields! {
    /// The boundaries of a page, for requesting adjacent pages. A page may end early, with fewer entries than requested
    /// or none, if the viewer may not see many of those around it: then the list goes on all the same.
    impl PageInfo, Public, |_| None;

    /// True if the list may have entries after the page.
    value has_next_page "hasNextPage": bool = |info| info.has_next;
    /// True if the list may have entries before the page.
    value has_previous_page "hasPreviousPage": bool = |info| info.has_previous;
    /// The cursor of the first entry, or of the place where the page ends early; null if there is neither.
    value start_cursor "startCursor": Option<&str> = |info| info.start.as_deref();
    /// The cursor of the last entry, or of the place where the page ends early; null if there is neither.
    value end_cursor "endCursor": Option<&str> = |info| info.end.as_deref();
}
