//! Resolvers of the mutation root, by area.
//!
//! Every field returns a payload that is read afresh after the change, in its own scope, so a document's second field
//! sees the first field's writes. Errors that a user can act on are in the payload; all other errors are field errors.

mod account;
mod post;
mod profile;
mod relation;

use async_graphql::MergedObject;

use self::account::AccountMutation;
use self::post::PostMutation;
use self::profile::ProfileMutation;
use self::relation::RelationMutation;

/// The root of all mutations. Every payload is nullable, so a failing field does not discard the other fields' results.
#[derive(Default, MergedObject)]
pub(super) struct Mutation(AccountMutation, ProfileMutation, RelationMutation, PostMutation);
