//! Directives of the schema: facts that the cost analysis and shared caches need, stated at the field.
//!
//! `@listSize` and `@cost` are those of the GraphQL cost specification, `@cacheControl` that of Apollo, so that clients
//! and gateways see the numbers that this server goes by. What has no directive fails closed: a list counts as the
//! longest page (`document::cost`), a field as private (`document::public`). A test names each field that lacks one.

use async_graphql::{Enum, TypeDirective};

/// The number of objects that a field may return, for the cost of an operation.
#[TypeDirective(name = "listSize", location = "FieldDefinition")]
pub(super) fn list_size(
    #[graphql(desc = "The size if no slicing argument is given.")] assumed_size: Option<usize>,
    #[graphql(
        desc = "The arguments that limit the size: a number of entries, or a list with an item for each."
    )]
    slicing_arguments: Option<Vec<String>>,
    #[graphql(
        desc = "The lists of the returned object that have this size; without them, the field itself."
    )]
    sized_fields: Option<Vec<String>>,
    #[graphql(desc = "Whether exactly one slicing argument must be given.", default_with = "Some(true)")]
    require_one_slicing_argument: Option<bool>,
) {
}

/// Returns the names in an argument of `@listSize`.
pub(super) fn names<const N: usize>(names: [&str; N]) -> Vec<String> {
    names.map(str::to_owned).into()
}

/// The weight of a field in the cost of an operation, in addition to that of the objects that it returns. Without this
/// directive, it is 0.1 for a field without subfields, and 0 for any other. An object weighs 1.
#[TypeDirective(location = "FieldDefinition")]
pub(super) fn cost(#[graphql(desc = "The weight: a number.")] weight: String) {}

/// The callers for whom a response may be cached.
#[derive(Clone, Copy, Enum, PartialEq, Eq)]
pub(super) enum CacheControlScope {
    /// All callers: the value does not depend on the viewer.
    Public,
    /// The viewer only.
    Private,
}

/// Whether a response that contains this field, or a field of this type, may be stored by a shared cache. Fields with
/// subfields are private by default; others are as their object.
#[TypeDirective(
    name = "cacheControl",
    location = "FieldDefinition",
    location = "Object",
    location = "Interface"
)]
pub(super) fn cache_control(
    #[graphql(desc = "The callers for whom it may be cached.")] scope: CacheControlScope,
) {
}
