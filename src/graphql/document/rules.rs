//! A validation rule that the library does not implement: *Input Object Field Uniqueness*.

use apollo_compiler::Node;
use apollo_compiler::ast::{Argument, Definition, Directive, Document, Selection, Value};

use crate::graphql::error::{Code, RequestError};

/// Rejects a document in which an input object has the same field twice. Recursion is safe, because the document has
/// already passed the size checks.
pub(super) fn check(document: &Document) -> Result<(), RequestError> {
    for definition in &document.definitions {
        match definition {
            Definition::OperationDefinition(operation) => {
                for variable in &operation.variables {
                    variable.default_value.as_ref().map_or(Ok(()), |value| check_value(value))?;
                    check_directives(&variable.directives)?;
                }
                check_directives(&operation.directives)?;
                check_selections(&operation.selection_set)?;
            }
            Definition::FragmentDefinition(fragment) => {
                check_directives(&fragment.directives)?;
                check_selections(&fragment.selection_set)?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn check_selections(selections: &[Selection]) -> Result<(), RequestError> {
    for selection in selections {
        match selection {
            Selection::Field(field) => {
                check_arguments(&field.arguments)?;
                check_directives(&field.directives)?;
                check_selections(&field.selection_set)?;
            }
            Selection::FragmentSpread(spread) => check_directives(&spread.directives)?,
            Selection::InlineFragment(fragment) => {
                check_directives(&fragment.directives)?;
                check_selections(&fragment.selection_set)?;
            }
        }
    }
    Ok(())
}

fn check_directives(directives: &[Node<Directive>]) -> Result<(), RequestError> {
    directives.iter().try_for_each(|directive| check_arguments(&directive.arguments))
}

fn check_arguments(arguments: &[Node<Argument>]) -> Result<(), RequestError> {
    arguments.iter().try_for_each(|argument| check_value(&argument.value))
}

fn check_value(value: &Value) -> Result<(), RequestError> {
    match value {
        Value::List(values) => values.iter().try_for_each(|value| check_value(value)),
        Value::Object(fields) => {
            for (index, (name, value)) in fields.iter().enumerate() {
                if fields[..index].iter().any(|(other, _)| other == name) {
                    let message = format!("The input field `{name}` is given more than once.");
                    return Err(RequestError::new(Code::ValidationFailed, message));
                }
                check_value(value)?;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}
