//! Relay-style cursor connections: pages of lists, as clients see them.

pub(in crate::graphql) mod follow;
pub(in crate::graphql) mod post;
pub(in crate::graphql) mod referrer;
pub(in crate::graphql) mod repost;
pub(in crate::graphql) mod timeline;
pub(in crate::graphql) mod user;

use std::sync::Arc;

use async_graphql::SimpleObject;
use async_graphql::parser::types::Field;

use crate::graphql::context::Scope;
use crate::graphql::directive::{CacheControlScope::Public, cache_control};
use crate::graphql::page::{Ended, Filled};
use crate::graphql::preloaded::{Nested, Preloaded, Source, memory};
use crate::model::page::Direction;

/// The boundaries of a page, for requesting adjacent pages. A page may end early, with fewer entries than requested or
/// none, if the viewer may not see many of those around it: then the list goes on all the same.
#[derive(SimpleObject)]
#[graphql(directive = cache_control::apply(Public))]
pub(in crate::graphql) struct PageInfo {
    /// True if the list may have entries after the page.
    pub(super) has_next_page: bool,
    /// True if the list may have entries before the page.
    pub(super) has_previous_page: bool,
    /// The cursor of the first entry, or of the place where the page ends early; null if there is neither.
    pub(super) start_cursor: Option<String>,
    /// The cursor of the last entry, or of the place where the page ends early; null if there is neither.
    pub(super) end_cursor: Option<String>,
}

/// The boundaries of a page, and where it ends if it has fewer entries than requested.
pub(super) struct Bounds<E> {
    has_previous: bool,
    has_next: bool,
    ended: Option<Ended<E>>,
}

impl<E> Bounds<E> {
    /// Divides a page into its entries and its boundaries.
    pub(super) fn of<N>(filled: Filled<E, N>) -> (Vec<(E, N)>, Self) {
        let Filled { entries, has_previous, has_next, ended } = filled;
        (entries, Self { has_previous, has_next, ended })
    }

    /// Returns the boundaries as clients see them, given the first and the last entry.
    pub(super) fn info<T>(
        &self,
        edges: &[T],
        cursor_of: impl Fn(&T) -> String,
        print: impl Fn(&E) -> String,
    ) -> PageInfo {
        let ended =
            |side| self.ended.as_ref().filter(|ended| ended.side == side).map(|ended| print(&ended.at));
        PageInfo {
            has_next_page: self.has_next,
            has_previous_page: self.has_previous,
            start_cursor: ended(Direction::Backward).or_else(|| edges.first().map(&cursor_of)),
            end_cursor: ended(Direction::Forward).or_else(|| edges.last().map(&cursor_of)),
        }
    }
}

impl PageInfo {
    /// Returns the source of a field whose value is a connection's page info.
    fn source_of<T>(field: &Field, info: impl Fn(&T) -> Self + Send + Sync + 'static) -> Source<'_, T> {
        match Nested::of(field) {
            Some(nested) => memory(move |connection, json| nested.write(&info(connection), json)),
            None => Source::Resolver,
        }
    }
}

impl Preloaded for PageInfo {
    fn source(field: &Field) -> Source<'_, Self> {
        match field.name.node.as_str() {
            "hasNextPage" => memory(|info: &Self, json| json.value(&info.has_next_page)),
            "hasPreviousPage" => memory(|info: &Self, json| json.value(&info.has_previous_page)),
            "startCursor" => memory(|info: &Self, json| json.value(&info.start_cursor)),
            "endCursor" => memory(|info: &Self, json| json.value(&info.end_cursor)),
            _ => Source::Resolver,
        }
    }

    fn scope(&self) -> Option<&Arc<Scope>> {
        None
    }
}
