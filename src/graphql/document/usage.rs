//! The validation rule *All Variable Usages Are Allowed*. The library applies this rule only to whole arguments; this
//! module also applies it inside lists and input objects.

use std::collections::HashSet;

use apollo_compiler::ast::{Type, Value};
use apollo_compiler::executable::{Operation, Selection, SelectionSet};
use apollo_compiler::schema::ExtendedType;
use apollo_compiler::{ExecutableDocument, Name, Node, Schema};

use crate::graphql::error::{Code, RequestError};

/// Rejects a document that uses a variable where another type is expected.
pub(super) fn check(schema: &Schema, document: &ExecutableDocument) -> Result<(), RequestError> {
    for operation in document.operations.iter() {
        let mut usages = Usages { schema, document, operation, seen: HashSet::new() };
        usages.check_selections(&operation.selection_set)?;
    }
    Ok(())
}

/// The variable usages in an operation and in the fragments that it spreads.
struct Usages<'a> {
    schema: &'a Schema,
    document: &'a ExecutableDocument,
    operation: &'a Operation,
    seen: HashSet<&'a Name>,
}

impl<'a> Usages<'a> {
    fn check_selections(&mut self, set: &'a SelectionSet) -> Result<(), RequestError> {
        for selection in &set.selections {
            match selection {
                Selection::Field(field) => {
                    for argument in &field.arguments {
                        if let Some(definition) = field.definition.argument_by_name(&argument.name) {
                            self.check_value(
                                &definition.ty,
                                definition.default_value.is_some(),
                                &argument.value,
                            )?;
                        }
                    }
                    self.check_selections(&field.selection_set)?;
                }
                Selection::InlineFragment(fragment) => self.check_selections(&fragment.selection_set)?,
                Selection::FragmentSpread(spread) => {
                    if self.seen.insert(&spread.fragment_name)
                        && let Some(fragment) = self.document.fragments.get(&spread.fragment_name)
                    {
                        self.check_selections(&fragment.selection_set)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Checks that the variables in a value may be used where this type is expected.
    fn check_value(&self, ty: &Type, has_default: bool, value: &Node<Value>) -> Result<(), RequestError> {
        match (&**value, ty) {
            (Value::Variable(name), _) => self.check_variable(ty, has_default, name),
            (Value::List(values), Type::List(inner) | Type::NonNullList(inner)) => {
                values.iter().try_for_each(|value| self.check_value(inner, false, value))
            }
            // A single value is coerced to a list with one item.
            (_, Type::List(inner) | Type::NonNullList(inner)) => self.check_value(inner, false, value),
            (Value::Object(fields), Type::Named(name) | Type::NonNullNamed(name)) => {
                let Some(ExtendedType::InputObject(input)) = self.schema.types.get(name) else {
                    return Ok(());
                };
                let is_one_of = input.directives.iter().any(|directive| directive.name == "oneOf");
                for (name, value) in fields {
                    let Some(field) = input.fields.get(name) else { continue };
                    let wanted = Type::clone(&field.ty);
                    let wanted = if is_one_of { wanted.non_null() } else { wanted };
                    self.check_value(&wanted, field.default_value.is_some(), value)?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn check_variable(&self, wanted: &Type, has_default: bool, name: &Name) -> Result<(), RequestError> {
        let Some(variable) = self.operation.variables.iter().find(|variable| variable.name == *name) else {
            return Ok(());
        };
        let is_never_null = variable.default_value.as_ref().is_some_and(|value| !value.is_null());
        let may_default = !variable.ty.is_non_null() && (is_never_null || has_default);
        let wanted_here = if may_default { wanted.clone().nullable() } else { wanted.clone() };
        if variable.ty.is_assignable_to(&wanted_here) {
            return Ok(());
        }
        let message =
            format!("The variable `${name}` of type {} is used where {wanted} is expected.", variable.ty);
        Err(RequestError::new(Code::ValidationFailed, message))
    }
}
