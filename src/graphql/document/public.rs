//! Determines the fields that depend on the viewer. A response without such fields may be cached for all callers.
//!
//! `@cacheControl` states the scope in the schema. A field's own directive takes precedence. Without it, a field with
//! subfields has the scope of its type, and any other field has the scope of its object. Without either directive, a
//! field is private.

use apollo_compiler::ast::{Directive, Value};
use apollo_compiler::executable::Field;
use apollo_compiler::schema::ExtendedType;
use apollo_compiler::{Name, Node, Schema};

/// Returns true if a field may depend on the viewer.
pub(super) fn is_private(schema: &Schema, object: &Name, field: &Field) -> bool {
    if object.starts_with("__") || field.name.starts_with("__") {
        return false;
    }
    let ty = field.definition.ty.inner_named_type();
    let stated_at = if schema.types.get(ty).is_some_and(ExtendedType::is_leaf) { object } else { ty };
    let by_type = || schema.types.get(stated_at)?.directives().get("cacheControl").map(|stated| &***stated);
    let own = field.definition.directives.get("cacheControl").map(Node::as_ref);
    !own.or_else(by_type).is_some_and(is_public)
}

fn is_public(directive: &Directive) -> bool {
    let scope = directive.specified_argument_by_name("scope").map(Node::as_ref);
    matches!(scope, Some(Value::Enum(scope)) if scope == "PUBLIC")
}
