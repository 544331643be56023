//! The key by which a user is looked up.

use async_graphql::{ID, OneofObject};

/// The key by which to look up a user. Exactly one field must be given.
#[derive(OneofObject)]
pub(in crate::graphql) enum UserBy {
    /// The user's id, as in `User.id`.
    Id(ID),
    /// The username. Case is ignored.
    Username(String),
}
