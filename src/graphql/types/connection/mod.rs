//! Relay-style cursor connections: pages of lists, as clients see them.

pub(in crate::graphql) mod follow;
pub(in crate::graphql) mod post;
pub(in crate::graphql) mod timeline;

use async_graphql::SimpleObject;

use crate::graphql::directive::{CacheControlScope::Public, cache_control};

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
