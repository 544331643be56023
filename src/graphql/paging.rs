//! Paging: the arguments of connections, and the pages that these arguments select.

use async_graphql::parser::types::Field;
use async_graphql_value::Value;

use crate::app::error::Error;
use crate::graphql::cursor::{self, Kind, ListOf};
use crate::graphql::types::scalar::parse_instant;
use crate::model::clock::Period;
use crate::model::page::{Direction, Window};

/// Default number of entries in a page.
pub(super) const DEFAULT_SIZE: usize = 20;
/// Maximum number of entries in a page. Larger requested sizes are reduced to this maximum.
const MOST: usize = 100;

/// Declares an object whose fields are connections. Each field has the four paging arguments, which its resolver
/// receives as one [`Paging`], and then its own optional arguments, each with its description. List a field's other
/// directives in `@[…]`. Flatten the declared object into the object that owns the connections.
macro_rules! connections {
    (impl $object:ident {
        $($(#[$meta:meta])* $(@[$($directive:tt)*])?
        async fn $name:ident(
            &$self:ident, $context:ident, $paging:ident
            $(, $filter:ident: $filter_type:ty = $description:tt)* $(,)?
        ) -> $connection:ty $body:block)*
    }) => {
        #[async_graphql::Object]
        impl $object {
            $(
                $(#[$meta])*
                #[graphql(
                    directive = $crate::graphql::directive::list_size::apply(
                        Some($crate::graphql::paging::DEFAULT_SIZE),
                        Some($crate::graphql::directive::names(["first", "last"])),
                        Some($crate::graphql::directive::names(["edges", "nodes"])),
                        Some(false),
                    )
                    $(, $($directive)*)?
                )]
                async fn $name(
                    &$self,
                    $context: &async_graphql::Context<'_>,
                    #[graphql(
                        desc = "Maximum number of entries, from the start of the list or after `after`. Values \
                                above 100 count as 100. Must not be given with `last` or `before`, which take the \
                                place of the default.",
                        default = 20
                    )]
                    first: Option<i32>,
                    #[graphql(desc = "A cursor of this list. The page begins after it.")] after: Option<String>,
                    #[graphql(
                        desc = "Maximum number of entries, from the end of the list or before `before`. Default 20 \
                                with `before`; values above 100 count as 100."
                    )]
                    last: Option<i32>,
                    #[graphql(desc = "A cursor of this list. The page ends before it.")] before: Option<String>,
                    $(#[graphql(desc = $description)] $filter: Option<$filter_type>,)*
                ) -> Option<Result<$connection, $crate::app::error::Error>> {
                    let $paging = $crate::graphql::paging::Paging { first, after, last, before };
                    // Boxed: the future of each field of a node is as large as its object's largest resolver.
                    Some(futures::FutureExt::boxed(async move { $body }).await)
                }
            )*
        }
    };
}
pub(super) use connections;

/// The four arguments of a connection, as given by the client.
pub(super) struct Paging {
    pub(super) first: Option<i32>,
    pub(super) after: Option<String>,
    pub(super) last: Option<i32>,
    pub(super) before: Option<String>,
}

impl Paging {
    /// Returns the arguments of a field of a document to execute, in which they are constants; `None` if an argument
    /// has another type.
    pub(super) fn of(field: &Field) -> Option<Self> {
        let value = |name| field.get_argument(name).map_or(&Value::Null, |value| &value.node);
        let number = |name| match value(name) {
            Value::Null => Some(None),
            Value::Number(number) => Some(Some(i32::try_from(number.as_i64()?).ok()?)),
            _ => None,
        };
        let cursor = |name| match value(name) {
            Value::Null => Some(None),
            Value::String(cursor) => Some(Some(cursor.clone())),
            _ => None,
        };
        let (first, after) = (number("first")?, cursor("after")?);
        Some(Self { first, after, last: number("last")?, before: cursor("before")? })
    }

    /// Returns the window of this list that the arguments select. `last` and `before` take precedence over `first`,
    /// which has a default; a document that gives arguments of both pairs is rejected before execution.
    pub(super) fn window<K: Kind>(&self, list: ListOf<K>) -> Result<Window<K::Position>, Error> {
        let Self { first, after, last, before } = self;
        let backward = last.is_some() || before.is_some();
        let place = |argument, cursor: &Option<String>| {
            cursor.as_deref().map(|cursor| cursor::parse(argument, list, cursor)).transpose()
        };
        Ok(if backward {
            Window { direction: Direction::Backward, size: page_limit(*last), from: place("before", before)? }
        } else {
            Window { direction: Direction::Forward, size: page_limit(*first), from: place("after", after)? }
        })
    }
}

/// Returns the period in an argument of a field of a document to execute; `None` if the argument has another type.
pub(super) fn period_of(field: &Field, argument: &str) -> Option<Period> {
    let period = match field.get_argument(argument).map_or(&Value::Null, |value| &value.node) {
        Value::Null => return Some(Period::ALL),
        Value::Object(period) => period,
        _ => return None,
    };
    let end = |name| match period.get(name).unwrap_or(&Value::Null) {
        Value::Null => Some(None),
        Value::String(text) => parse_instant(text).map(Some),
        _ => None,
    };
    Some(Period { since: end("since")?, until: end("until")? })
}

/// Returns the maximum number of entries in a page for a requested size of `asked`.
pub(super) fn page_size(asked: i64) -> u64 {
    u64::try_from(asked).unwrap_or(0).min(MOST as u64)
}

/// Returns the maximum number of entries in a page, given its `first` or `last` argument. A document with a negative
/// argument is rejected before execution.
pub(super) fn page_limit(size: Option<i32>) -> usize {
    size.map_or(DEFAULT_SIZE, |size| usize::try_from(size).unwrap_or(0).min(MOST))
}
