//! The variables of a request: what must be given is given, and what is not given is not there.
//!
//! An argument, or a field of an input, whose value is a variable that was not given, counts as not given itself,
//! so that its default holds and nothing is taken for null that nobody has said is null.

use std::collections::HashSet;

use async_graphql::parser::types::{
    Directive, DocumentOperations, ExecutableDocument, OperationDefinition, Selection, SelectionSet,
    VariableDefinition,
};
use async_graphql::{Name, Positioned, Value as ConstValue, Variables};
use async_graphql_value::Value;

use crate::graphql::error::{Code, RequestError};

/// Every variable of the operation meant that must have a value has one, else some fields would run and others
/// not; and what depends on those that have none is taken out of the document.
pub(in crate::graphql) fn settle(
    document: &mut ExecutableDocument,
    operation_name: Option<&str>,
    given: &Variables,
) -> Result<(), RequestError> {
    // Which operation is meant is checked elsewhere; here it is the one that can be.
    let Some(operation) = operation_mut(&mut document.operations, operation_name) else {
        return Ok(());
    };
    let mut omitted = HashSet::new();
    for definition in &operation.variable_definitions {
        let VariableDefinition { name, var_type, default_value, .. } = &definition.node;
        let value = given.get(&name.node);
        let must_be_given = !var_type.node.nullable && default_value.is_none();
        if must_be_given && matches!(value, None | Some(ConstValue::Null)) {
            return Err(RequestError::new(
                Code::BadUserInput,
                format!("The variable `${}` of type {} must have a value.", name.node, var_type.node),
            ));
        }
        if value.is_none() && default_value.is_none() {
            omitted.insert(name.node.clone());
        }
    }
    if !omitted.is_empty() {
        omit(document, operation_name, omitted);
    }
    Ok(())
}

fn operation_mut<'a>(
    operations: &'a mut DocumentOperations,
    name: Option<&str>,
) -> Option<&'a mut OperationDefinition> {
    match (operations, name) {
        (DocumentOperations::Single(operation), None) => Some(&mut operation.node),
        (DocumentOperations::Single(_), Some(_)) => None,
        (DocumentOperations::Multiple(operations), Some(name)) => {
            operations.get_mut(name).map(|operation| &mut operation.node)
        }
        (DocumentOperations::Multiple(operations), None) => {
            operations.values_mut().next().map(|operation| &mut operation.node)
        }
    }
}

/// Takes out what depends on variables that are omitted, and their definitions if nothing else needs them.
fn omit(document: &mut ExecutableDocument, operation_name: Option<&str>, omitted: HashSet<Name>) {
    let mut omission = Omission { omitted, taken: HashSet::new(), left: HashSet::new() };
    for fragment in document.fragments.values_mut() {
        omission.look_at_directives(&fragment.node.directives);
        omission.take_from_selections(&mut fragment.node.selection_set.node);
    }
    let Some(operation) = operation_mut(&mut document.operations, operation_name) else { return };
    omission.look_at_directives(&operation.directives);
    omission.take_from_selections(&mut operation.selection_set.node);
    let Omission { taken, left, .. } = omission;
    operation.variable_definitions.retain(|definition| {
        let name = &definition.node.name.node;
        // One that nothing has used is told by validation.
        !taken.contains(name) || left.contains(name)
    });
}

/// Variables that were not given, and what was found of them.
struct Omission {
    omitted: HashSet<Name>,
    /// Those that something depended on that is taken out.
    taken: HashSet<Name>,
    /// Those that are needed where nothing can be taken out.
    left: HashSet<Name>,
}

impl Omission {
    fn take_from_selections(&mut self, set: &mut SelectionSet) {
        for selection in &mut set.items {
            match &mut selection.node {
                Selection::Field(field) => {
                    let field = &mut field.node;
                    self.look_at_directives(&field.directives);
                    field.arguments.retain_mut(|(_, value)| self.stays(&mut value.node));
                    self.take_from_selections(&mut field.selection_set.node);
                }
                Selection::FragmentSpread(spread) => self.look_at_directives(&spread.node.directives),
                Selection::InlineFragment(fragment) => {
                    self.look_at_directives(&fragment.node.directives);
                    self.take_from_selections(&mut fragment.node.selection_set.node);
                }
            }
        }
    }

    /// Whether a value stays where it is, less what is taken out of it.
    fn stays(&mut self, value: &mut Value) -> bool {
        match value {
            Value::Variable(name) if self.omitted.contains(name) => {
                self.taken.insert(name.clone());
                return false;
            }
            Value::Object(fields) => fields.retain(|_, value| self.stays(value)),
            Value::List(values) => values.iter_mut().for_each(|value| self.keep(value)),
            _ => {}
        }
        true
    }

    /// An entry of a list is null rather than not there.
    fn keep(&mut self, value: &mut Value) {
        if let Value::Variable(name) = value {
            self.left.insert(name.clone());
        } else {
            self.stays(value);
        }
    }

    fn look_at_directives(&mut self, directives: &[Positioned<Directive>]) {
        let arguments = directives.iter().flat_map(|directive| &directive.node.arguments);
        for (_, value) in arguments {
            if let Value::Variable(name) = &value.node {
                self.left.insert(name.clone());
            }
        }
    }
}
