//! List sizes, as `@listSize` states them in the schema.

use apollo_compiler::Node;
use apollo_compiler::ast::{Directive, Value as Literal};
use apollo_compiler::executable::Field;
use async_graphql_value::Value;

use crate::graphql::paging::page_size;

/// The size of the list that a field returns, or of the lists in the object that it returns.
#[derive(Clone, Debug)]
pub(super) struct ListSize {
    /// Maximum number of entries in each list.
    pub(super) entries: u64,
    directive: Node<Directive>,
}

impl ListSize {
    /// Returns the list size that a field states; `None` if it states no size.
    pub(super) fn of(field: &Field, arguments: &[(async_graphql::Name, Value)]) -> Option<Self> {
        let directive = field.definition.directives.get("listSize")?;
        let given = |name: &Node<Literal>| {
            let value = arguments.iter().find(|(given, _)| Some(given.as_str()) == name.as_str());
            value.and_then(|(_, value)| length(value))
        };
        let sliced = names(directive, "slicingArguments").find_map(given);
        let assumed = || directive.specified_argument_by_name("assumedSize")?.to_i32()?.try_into().ok();
        let entries = sliced.or_else(assumed)?;
        Some(Self { entries, directive: directive.clone() })
    }

    /// Returns true if this size applies to this field of the returned object.
    pub(super) fn is_of(&self, field: &str) -> bool {
        names(&self.directive, "sizedFields").any(|sized| sized.as_str() == Some(field))
    }
}

/// Returns the names in a directive's argument.
fn names<'a>(directive: &'a Directive, argument: &str) -> impl Iterator<Item = &'a Node<Literal>> {
    directive
        .specified_argument_by_name(argument)
        .and_then(|names| names.as_list())
        .unwrap_or_default()
        .iter()
}

/// Returns the number of entries that a slicing argument's value permits; `None` for null.
fn length(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_i64().map(page_size),
        Value::List(values) => Some(values.len() as u64),
        Value::Null => None,
        // A single value is coerced to a list with one item.
        _ => Some(1),
    }
}

#[cfg(test)]
mod tests {
    use apollo_compiler::Schema;
    use apollo_compiler::ast::FieldDefinition;
    use apollo_compiler::schema::{ExtendedType, ObjectType};

    use super::*;

    /// Returns all fields of objects, each with the name of its object.
    fn fields<'a>(schema: &'a Schema) -> Vec<(&'a str, &'a FieldDefinition)> {
        let objects = schema.types.values().filter_map(ExtendedType::as_object);
        let objects = objects.filter(|object| !object.name.starts_with("__"));
        let fields_of = |object: &'a ObjectType| {
            object.fields.values().map(move |field| (object.name.as_str(), &***field))
        };
        objects.flat_map(fields_of).collect()
    }

    fn states_size(field: &FieldDefinition, of: Option<&str>) -> bool {
        let Some(size) = field.directives.get("listSize") else { return false };
        of.is_none_or(|of| names(size, "sizedFields").any(|sized| sized.as_str() == Some(of)))
    }

    #[test]
    fn every_list_of_objects_has_a_stated_size() {
        let schema = Schema::parse_and_validate(crate::graphql::sdl(), "schema.graphql").unwrap();
        let all = fields(&schema);
        let mut unknown = Vec::new();
        for (object, field) in all.iter().filter(|(_, field)| field.ty.is_list()) {
            let is_of_objects = !schema.types[field.ty.inner_named_type()].is_leaf();
            let mut above = all.iter().filter(|(_, above)| above.ty.inner_named_type() == *object).peekable();
            let is_sized_above = above.peek().is_some()
                && above.all(|(_, above)| !above.ty.is_list() && states_size(above, Some(&field.name)));
            if is_of_objects && !states_size(field, None) && !is_sized_above {
                unknown.push(format!("{object}.{}", field.name));
            }
        }
        assert!(unknown.is_empty(), "lists without `@listSize`: {unknown:?}");
    }
}
