//! Relay-style cursor connections: pages of lists, as clients see them.

pub(in crate::graphql) mod follow;
pub(in crate::graphql) mod post;
pub(in crate::graphql) mod referrer;
pub(in crate::graphql) mod timeline;
pub(in crate::graphql) mod user;

use std::sync::Arc;

use async_graphql::SimpleObject;
use async_graphql::parser::types::Field;

use crate::graphql::context::Scope;
use crate::graphql::directive::{CacheControlScope::Public, cache_control};
use crate::graphql::preloaded::{Nested, Preloaded, Source, memory};

/// The boundaries of a page, for requesting adjacent pages.
#[derive(SimpleObject)]
#[graphql(directive = cache_control::apply(Public))]
pub(in crate::graphql) struct PageInfo {
    /// True if the list has entries after the page.
    pub(super) has_next_page: bool,
    /// True if the list has entries before the page.
    pub(super) has_previous_page: bool,
    /// The cursor of the first entry; null if the page is empty.
    pub(super) start_cursor: Option<String>,
    /// The cursor of the last entry; null if the page is empty.
    pub(super) end_cursor: Option<String>,
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
