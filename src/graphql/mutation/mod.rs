//! Mutations, by area.
//!
//! Every field returns a payload that is read afresh after the change, in a scope of its own, so that the second field
//! of a document sees what the first one wrote. Errors that a user can act on are in the payload; all others are errors
//! of the field.

mod account;
mod post;
mod profile;
mod relation;

use async_graphql::MergedObject;

use self::account::AccountMutation;
use self::post::PostMutation;
use self::profile::ProfileMutation;
use self::relation::RelationMutation;

/// The root of all mutations. Every payload is nullable, so that one failing field does not discard the results of the
/// others.
#[derive(Default, MergedObject)]
pub(super) struct Mutation(AccountMutation, ProfileMutation, RelationMutation, PostMutation);
