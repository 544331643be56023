//! Relay's `Node` interface.

use async_graphql::{ID, Interface};

use crate::graphql::directive::{CacheControlScope::Public, cache_control};
use crate::graphql::types::post::Post;
use crate::graphql::types::user::User;

/// An object that `node` and `nodes` can look up by its global id.
#[derive(Interface)]
#[graphql(directive = cache_control::apply(Public))]
#[graphql(field(
    name = "id",
    ty = "ID",
    desc = "The global id: unique across all types, opaque to clients."
))]
pub(in crate::graphql) enum Node {
    User(User),
    Post(Post),
}
