//! Resolvers of the mutation root, by area.
//!
//! Every field loads its payload after its change, with a new loader. A later field in the document therefore sees the
//! writes of earlier fields. Errors that a user can act on are in the payload; all other errors are field errors.

mod account;
mod export;
mod moderation;
mod post;
mod profile;
mod recovery;
mod relation;

use async_graphql::MergedObject;

use self::account::AccountMutation;
use self::export::ExportMutation;
use self::moderation::ModerationMutation;
use self::post::PostMutation;
use self::profile::ProfileMutation;
use self::recovery::RecoveryMutation;
use self::relation::RelationMutation;

/// The root of all mutations. Every payload is nullable, so a failing field does not discard the other fields' results.
#[derive(Default, MergedObject)]
pub(super) struct Mutation(
    AccountMutation,
    ExportMutation,
    ProfileMutation,
    RelationMutation,
    PostMutation,
    ModerationMutation,
    RecoveryMutation,
);
