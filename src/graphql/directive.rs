//! Schema directives: facts about fields that cost analysis and shared caches need.
//!
//! `@listSize` and `@cost` follow the GraphQL cost specification and `@cacheControl` follows Apollo, so clients and
//! gateways see the values that this server uses. A field without a directive fails closed: a list counts as a page of
//! the maximum size (`document::cost`), and a field counts as private (`document::public`). A test lists each field
//! that lacks a directive.

use async_graphql::{Enum, TypeDirective};

/// The predicted size of a list, from which the cost of an operation is calculated.
#[TypeDirective(name = "listSize", location = "FieldDefinition")]
pub(super) fn list_size(
    #[graphql(desc = "The list size if no slicing argument is given.")] assumed_size: Option<usize>,
    #[graphql(
        desc = "The arguments that determine the list size. Each is either a number of entries or a list with one item \
                per entry."
    )]
    slicing_arguments: Option<Vec<String>>,
    #[graphql(
        desc = "The fields of the returned object that are lists of this size. If omitted, the field itself is the \
                list."
    )]
    sized_fields: Option<Vec<String>>,
    #[graphql(desc = "True if exactly one slicing argument is required.", default_with = "Some(true)")]
    require_one_slicing_argument: Option<bool>,
) {
}

/// Returns the value of a `@listSize` argument that lists these names.
pub(super) fn names<const N: usize>(names: [&str; N]) -> Vec<String> {
    names.map(str::to_owned).into()
}

/// The weight of a field in an operation's cost, in addition to the weight of the objects that the field returns.
/// Without this directive, a field without subfields weighs 0.1 and any other field weighs 0. An object weighs 1.
#[TypeDirective(location = "FieldDefinition")]
pub(super) fn cost(#[graphql(desc = "The weight, in objects: a whole number such as 10.")] weight: String) {}

/// The callers who may receive a cached response.
#[derive(Clone, Copy, Enum, PartialEq, Eq)]
pub(super) enum CacheControlScope {
    /// All callers: the value does not depend on the viewer.
    Public,
    /// Only the viewer who sent the request: the value may depend on the viewer.
    Private,
}

/// The callers who may receive a cached response that contains this field, or a field of this type. By default, fields
/// with subfields are private and other fields have the scope of their object.
#[TypeDirective(
    name = "cacheControl",
    location = "FieldDefinition",
    location = "Object",
    location = "Interface"
)]
pub(super) fn cache_control(
    #[graphql(desc = "The callers who may receive the cached response.")] scope: CacheControlScope,
) {
}
