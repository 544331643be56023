//! Builds an operation's executable form, in which duplicate fields are merged and variables are replaced.
//!
//! This is the specification's *CollectFields*, done once for the whole operation. Selections with the same response
//! name become one field, regardless of which fragments contain them. Skipped selections are removed. Fragments remain
//! only where the object's type decides which fragment applies. Variables are replaced by their values, and arguments
//! whose variable is missing are removed. The result contains nothing that async-graphql, which executes it, would
//! misinterpret.
//!
//! Not here: document validation (`document`) and operation cost (`cost`).

use apollo_compiler::ast;
use apollo_compiler::collections::{IndexMap, IndexSet};
use apollo_compiler::executable::{Directive, Field, OperationType, Selection, SelectionSet};
use apollo_compiler::parser::SourceSpan;
use apollo_compiler::response::{JsonMap, JsonValue};
use apollo_compiler::schema::{ExtendedType, ObjectType};
use apollo_compiler::validation::Valid;
use apollo_compiler::{ExecutableDocument, Name, Node, Schema};
use async_graphql::parser::types as executed;
use async_graphql::{Number, Pos, Positioned};
use async_graphql_value::Value;

use crate::graphql::document::Document;
use crate::graphql::document::cost::{CostContext, Costs};
use crate::graphql::document::entry::{self, EntryCosts};
use crate::graphql::document::{argument, public};
use crate::graphql::error::{Code, RequestError};

/// Maximum memory for the values of an operation, in bytes: several times as much as the longest cursors and texts that
/// clients have a use for.
const MOST_BYTES: usize = 256 << 10;
/// Approximate memory for a value without its text, for a selection, and for an operation without its selections.
const VALUE_BYTES: usize = 64;
const SELECTION_BYTES: usize = 512;
const OPERATION_BYTES: usize = 2_048;

/// A builder of an operation's executable form.
pub(super) struct Builder<'a> {
    pub(super) schema: &'a Valid<Schema>,
    pub(super) document: &'a Document,
    pub(super) variables: &'a JsonMap,
    pub(super) costs: Costs,
    pub(super) has_introspection: bool,
    /// True if no field so far depends on the viewer.
    pub(super) is_public: bool,
    /// Memory for the values so far, in bytes.
    pub(super) bytes: usize,
    /// Number of selections so far, with fragments counted at every spread.
    pub(super) selections: usize,
    /// What the entries of the lists so far cost.
    pub(super) entries: EntryCosts,
}

/// The selections with each response name, from all fragments.
type Fields<'a> = IndexMap<&'a Name, Vec<&'a Node<Field>>>;

impl<'a> Builder<'a> {
    /// Builds the operation, ready for execution.
    pub(super) fn build(
        &mut self,
        kind: OperationType,
        selections: &'a SelectionSet,
    ) -> Result<executed::ExecutableDocument, RequestError> {
        let ty = match kind {
            OperationType::Query => executed::OperationType::Query,
            OperationType::Mutation => executed::OperationType::Mutation,
            OperationType::Subscription => executed::OperationType::Subscription,
        };
        let selection_set = self.selection_set(&selections.ty, &[selections], &CostContext::root())?;
        let operation = executed::OperationDefinition {
            ty,
            variable_definitions: Vec::new(),
            directives: Vec::new(),
            selection_set,
        };
        Ok(executed::ExecutableDocument {
            operations: executed::DocumentOperations::Single(Positioned::new(operation, Pos::default())),
            fragments: std::collections::HashMap::new(),
        })
    }

    fn executable(&self) -> &'a ExecutableDocument {
        &self.document.executable
    }

    /// Builds the selections on a type, at one position.
    fn selection_set(
        &mut self,
        ty: &Name,
        sets: &[&'a SelectionSet],
        place: &CostContext,
    ) -> Result<Positioned<executed::SelectionSet>, RequestError> {
        let items = match self.schema.types.get(ty) {
            Some(ExtendedType::Interface(_) | ExtendedType::Union(_)) => self.by_type(ty, sets, place)?,
            _ => self.fields(ty, sets, place)?,
        };
        Ok(Positioned::new(executed::SelectionSet { items }, Pos::default()))
    }

    /// Builds the selections on each object that an abstract type may resolve to.
    fn by_type(
        &mut self,
        ty: &Name,
        sets: &[&'a SelectionSet],
        place: &CostContext,
    ) -> Result<Vec<Positioned<executed::Selection>>, RequestError> {
        let mut items = Vec::new();
        let before = self.costs.mark();
        let mut most = before;
        for object in possible_types(self.schema, ty) {
            self.costs.set(before);
            let fields = self.fields(&object, sets, place)?;
            let condition = executed::TypeCondition { on: unplaced(async_graphql::Name::new(&object)) };
            let fragment = executed::InlineFragment {
                type_condition: Some(unplaced(condition)),
                directives: Vec::new(),
                selection_set: unplaced(executed::SelectionSet { items: fields }),
            };
            items.push(unplaced(executed::Selection::InlineFragment(unplaced(fragment))));
            most = most.max(self.costs.mark());
        }
        self.costs.set(most);
        Ok(items)
    }

    /// Builds the selections on an object.
    fn fields(
        &mut self,
        object: &Name,
        sets: &[&'a SelectionSet],
        place: &CostContext,
    ) -> Result<Vec<Positioned<executed::Selection>>, RequestError> {
        let mut collected = Fields::default();
        let mut spread = IndexSet::default();
        for set in sets {
            self.collect(object, set, &mut collected, &mut spread)?;
        }
        self.selections += collected.len();
        let mut items = Vec::with_capacity(collected.len());
        for (key, fields) in collected {
            if *key != fields[0].name {
                self.weigh(key.len())?;
            }
            let field = self.field(object, key, &fields, place)?;
            let position = self.position(fields[0].location());
            items.push(Positioned::new(
                executed::Selection::Field(Positioned::new(field, position)),
                position,
            ));
        }
        Ok(items)
    }

    /// Collects the selections on an object in document order. Visits each named fragment once.
    fn collect(
        &self,
        object: &Name,
        set: &'a SelectionSet,
        collected: &mut Fields<'a>,
        spread: &mut IndexSet<&'a Name>,
    ) -> Result<(), RequestError> {
        for selection in &set.selections {
            if !self.is_included(selection.directives())? {
                continue;
            }
            match selection {
                Selection::Field(field) => {
                    collected.entry(field.response_key()).or_default().push(field);
                }
                Selection::InlineFragment(fragment) => {
                    if self.applies(fragment.type_condition.as_ref(), object) {
                        self.collect(object, &fragment.selection_set, collected, spread)?;
                    }
                }
                Selection::FragmentSpread(fragment) => {
                    if spread.insert(&fragment.fragment_name)
                        && let Some(found) = self.executable().fragments.get(&fragment.fragment_name)
                        && self.applies(Some(found.type_condition()), object)
                    {
                        self.collect(object, &found.selection_set, collected, spread)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns true unless `@skip` or `@include` excludes the selection.
    fn is_included(&self, directives: &[Node<Directive>]) -> Result<bool, RequestError> {
        let mut is_included = true;
        for directive in directives {
            let is_wanted = match directive.name.as_str() {
                "skip" => false,
                "include" => true,
                _ => continue,
            };
            let condition =
                directive.specified_argument_by_name("if").and_then(|value| self.condition(value));
            let condition = condition.ok_or_else(|| {
                let message = format!("`if` of `@{}` must be true or false, not null.", directive.name);
                RequestError::new(Code::BadUserInput, message)
            })?;
            is_included &= condition == is_wanted;
        }
        Ok(is_included)
    }

    fn condition(&self, value: &ast::Value) -> Option<bool> {
        match value {
            ast::Value::Boolean(condition) => Some(*condition),
            ast::Value::Variable(name) => self.variables.get(name.as_str())?.as_bool(),
            _ => None,
        }
    }

    /// Returns true if a fragment with this type condition applies to an object.
    fn applies(&self, condition: Option<&Name>, object: &Name) -> bool {
        condition.is_none_or(|ty| ty == object || self.schema.is_subtype(ty, object))
    }

    fn field(
        &mut self,
        object: &Name,
        key: &Name,
        fields: &[&'a Node<Field>],
        place: &CostContext,
    ) -> Result<executed::Field, RequestError> {
        let field = fields[0];
        if !self.has_introspection && matches!(field.name.as_str(), "__schema" | "__type") {
            let message = "Introspection is disabled; the schema is at /schema.graphql.";
            return Err(RequestError::new(Code::ValidationFailed, message));
        }
        if let Some(other) = fields.iter().find(|other| !have_same_arguments(field, other)) {
            let message = format!("`{key}` is selected twice with different arguments.");
            let mut error = RequestError::new(Code::ValidationFailed, message);
            error.errors[0].locations =
                vec![self.position(field.location()), self.position(other.location())];
            return Err(error);
        }
        self.is_public &= !public::is_private(self.schema, object, field);
        let arguments = self.arguments(field)?;
        let position = self.position(field.location());
        argument::check_all(self.schema, object, field, &arguments).map_err(|error| error.at(position))?;
        let ty = field.definition.ty.inner_named_type();
        let has_fields = self.schema.types.get(ty).is_some_and(is_composite);
        let mut selection_set = unplaced(executed::SelectionSet::default());
        if has_fields {
            let place = self.costs.enter(place, field, &arguments)?;
            let before = self.costs.mark();
            let sets: Vec<&SelectionSet> = fields.iter().map(|field| &field.selection_set).collect();
            selection_set = self.selection_set(ty, &sets, &place)?;
            let cost = self.costs.entry(&place, before, entry::name_bytes(&selection_set.node));
            if let Some(cost) = cost.filter(|_| field.definition.ty.is_list()) {
                entry::add(&mut self.entries, position, cost);
            }
        } else {
            self.costs.leaf(place)?;
            if let Some(cost) = Costs::leaf_entry(field, &arguments) {
                entry::add(&mut self.entries, position, cost);
            }
        }
        Ok(executed::Field {
            alias: (*key != field.name).then(|| unplaced(async_graphql::Name::new(key))),
            name: Positioned::new(async_graphql::Name::new(&field.name), position),
            arguments: arguments
                .into_iter()
                .map(|(name, value)| (Positioned::new(name, position), Positioned::new(value, position)))
                .collect(),
            directives: Vec::new(),
            selection_set,
        })
    }

    /// Returns the arguments given to a field, with their values.
    fn arguments(&mut self, field: &Node<Field>) -> Result<Vec<(async_graphql::Name, Value)>, RequestError> {
        let mut arguments = Vec::with_capacity(field.arguments.len());
        for given in &field.arguments {
            if let Some(value) = self.value(&given.value)? {
                arguments.push((async_graphql::Name::new(&given.name), value));
            }
        }
        Ok(arguments)
    }

    /// Returns a value with its variables replaced; `None` for a variable that was not given.
    fn value(&mut self, value: &ast::Value) -> Result<Option<Value>, RequestError> {
        if let ast::Value::Variable(name) = value {
            let value = self.variables.get(name.as_str());
            return value.map(|value| self.json_value(value)).transpose();
        }
        self.weigh(VALUE_BYTES)?;
        Ok(Some(match value {
            // Replaced above.
            ast::Value::Variable(_) => return Ok(None),
            ast::Value::Null => Value::Null,
            ast::Value::Boolean(value) => Value::Boolean(*value),
            ast::Value::Enum(name) => Value::Enum(async_graphql::Name::new(name)),
            ast::Value::String(text) => self.text(text)?,
            ast::Value::Int(number) => Value::Number(parse_number(number.as_str())),
            ast::Value::Float(number) => Value::Number(parse_number(number.as_str())),
            ast::Value::List(values) => {
                let mut list = Vec::with_capacity(values.len());
                for value in values {
                    // A missing variable in a list becomes null.
                    list.push(self.value(value)?.unwrap_or(Value::Null));
                }
                Value::List(list)
            }
            ast::Value::Object(fields) => {
                let mut object = async_graphql::indexmap::IndexMap::with_capacity(fields.len());
                for (name, value) in fields {
                    if let Some(value) = self.value(value)? {
                        object.insert(async_graphql::Name::new(name), value);
                    }
                }
                Value::Object(object)
            }
        }))
    }

    fn json_value(&mut self, value: &JsonValue) -> Result<Value, RequestError> {
        self.weigh(VALUE_BYTES)?;
        Ok(match value {
            JsonValue::Null => Value::Null,
            JsonValue::Bool(value) => Value::Boolean(*value),
            JsonValue::Number(number) => Value::Number(number.clone()),
            JsonValue::String(text) => self.text(text.as_str())?,
            JsonValue::Array(values) => {
                let values = values.iter().map(|value| self.json_value(value));
                Value::List(values.collect::<Result<_, _>>()?)
            }
            JsonValue::Object(fields) => {
                let mut object = async_graphql::indexmap::IndexMap::with_capacity(fields.len());
                for (name, value) in fields {
                    object.insert(async_graphql::Name::new(name.as_str()), self.json_value(value)?);
                }
                Value::Object(object)
            }
        })
    }

    /// Copies a string.
    fn text(&mut self, text: &str) -> Result<Value, RequestError> {
        self.weigh(text.len())?;
        Ok(Value::String(text.to_owned()))
    }

    /// Adds the memory for a value or an alias. Rejects the operation if these are too large in total, because a
    /// variable sent once may be used in many places, and a fragment spread in many.
    fn weigh(&mut self, bytes: usize) -> Result<(), RequestError> {
        self.bytes += bytes;
        if self.bytes > MOST_BYTES {
            let what = format!("its values and aliases have more than {MOST_BYTES} bytes");
            return Err(RequestError::too_complex(&what));
        }
        Ok(())
    }

    /// Returns the approximate memory that the operation occupies, in bytes.
    pub(super) fn weight(&self) -> usize {
        OPERATION_BYTES + self.selections * SELECTION_BYTES + self.bytes
    }

    fn position(&self, span: Option<SourceSpan>) -> Pos {
        span.map_or_else(Pos::default, |span| self.document.lines.position(span.offset()))
    }
}

fn unplaced<T>(node: T) -> Positioned<T> {
    Positioned::new(node, Pos::default())
}

fn is_composite(ty: &ExtendedType) -> bool {
    matches!(ty, ExtendedType::Object(_) | ExtendedType::Interface(_) | ExtendedType::Union(_))
}

/// Returns the objects that an abstract type may resolve to.
fn possible_types(schema: &Schema, ty: &Name) -> Vec<Name> {
    if let Some(ExtendedType::Union(union)) = schema.types.get(ty) {
        return union.members.iter().map(|member| member.name.clone()).collect();
    }
    let objects = schema.types.values().filter_map(ExtendedType::as_object);
    let implements =
        |object: &&ObjectType| object.implements_interfaces.iter().any(|interface| interface.name == *ty);
    objects.filter(implements).map(|object| object.name.clone()).collect()
}

/// Returns true if two fields have the same arguments, in any order.
fn have_same_arguments(one: &Field, other: &Field) -> bool {
    let is_there = |argument: &Node<ast::Argument>| {
        other.specified_argument_by_name(&argument.name).is_some_and(|value| *value == argument.value)
    };
    one.arguments.len() == other.arguments.len() && one.arguments.iter().all(is_there)
}

/// Parses a number as precisely as possible.
fn parse_number(text: &str) -> Number {
    serde_json::from_str(text).unwrap_or_else(|_| Number::from(0))
}
