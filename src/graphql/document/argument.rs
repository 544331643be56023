//! Validates argument values. Values must match their types, whether they consist of literals, variables or both. Ids,
//! cursors, instants and days must be well-formed, and paging arguments must select a page. All checks run before
//! execution, so no field fails on its arguments after other fields have run.
//!
//! Not here: checks that depend on a list's owner or on stored data.

use apollo_compiler::ast::{self, InputValueDefinition, Type};
use apollo_compiler::executable::Field;
use apollo_compiler::schema::{ExtendedType, InputObjectType};
use apollo_compiler::{Name, Node, Schema};
use async_graphql::ID;
use async_graphql_value::Value;

use crate::app::error::Error;
use crate::graphql::cursor;
use crate::graphql::error::{Code, RequestError};
use crate::graphql::id::{GlobalId, MOST_IDS};
use crate::graphql::types::scalar;

/// Checks the arguments given to a field. Rejects missing required arguments.
pub(super) fn check_all(
    schema: &Schema,
    object: &Name,
    field: &Node<Field>,
    given: &[(async_graphql::Name, Value)],
) -> Result<(), RequestError> {
    for definition in &field.definition.arguments {
        let value = given.iter().find(|(name, _)| *name == definition.name.as_str()).map(|(_, value)| value);
        let Some(value) = value else {
            require(definition, &definition.name)?;
            continue;
        };
        let argument = field.specified_argument_by_name(&definition.name);
        let place = ArgumentContext { schema, object, field: &field.name, code: code(argument) };
        place.check(&definition.ty, &definition.name, value)?;
    }
    check_paging(field, given)
}

/// Rejects a negative page size, and arguments that page both forward and backward.
fn check_paging(field: &Field, given: &[(async_graphql::Name, Value)]) -> Result<(), RequestError> {
    let value = |name: &str| given.iter().find(|(given, _)| given == name).map(|(_, value)| value);
    for name in ["first", "last"] {
        if let Some(Value::Number(size)) = value(name)
            && size.as_i64().is_some_and(|size| size < 0)
        {
            return Err(rejected(Code::BadUserInput, name, &format!("must not be negative, but is {size}")));
        }
    }
    let is_connection = field.definition.arguments.iter().any(|argument| argument.name == "last");
    let is_given = |name| value(name).is_some_and(|value| *value != Value::Null);
    let [is_forward, is_backward] =
        [["first", "after"], ["last", "before"]].map(|pair| pair.into_iter().any(is_given));
    if is_connection && is_forward && is_backward {
        let message = "`first` and `after` page forward, `last` and `before` backward: use only one pair.";
        return Err(RequestError::new(Code::BadUserInput, message));
    }
    Ok(())
}

/// Returns the error code for an invalid argument. An invalid literal makes the document invalid; an invalid variable
/// does not.
fn code(argument: Option<&Node<ast::Value>>) -> Code {
    let is_variable = argument.is_some_and(|value| value.as_variable().is_some());
    if is_variable { Code::BadUserInput } else { Code::ValidationFailed }
}

/// Rejects a missing value if it is required.
fn require(definition: &InputValueDefinition, path: &str) -> Result<(), RequestError> {
    if definition.ty.is_non_null() && definition.default_value.is_none() {
        return Err(rejected(Code::BadUserInput, path, "must be given"));
    }
    Ok(())
}

fn rejected(code: Code, path: &str, rule: &str) -> RequestError {
    RequestError::new(code, format!("`{path}` {rule}."))
}

/// The context of an argument: the field that it belongs to.
#[derive(Clone, Copy)]
struct ArgumentContext<'a> {
    schema: &'a Schema,
    object: &'a str,
    field: &'a str,
    /// The error code for violations of rules that also apply to literals in the document.
    code: Code,
}

impl ArgumentContext<'_> {
    fn check(self, ty: &Type, path: &str, value: &Value) -> Result<(), RequestError> {
        match (ty, value) {
            (_, Value::Null) if ty.is_non_null() => {
                Err(rejected(Code::BadUserInput, path, "must not be null"))
            }
            (_, Value::Null) => Ok(()),
            (Type::List(inner) | Type::NonNullList(inner), Value::List(values)) => {
                if *inner.inner_named_type() == "ID" && values.len() > MOST_IDS {
                    let rule = format!("has {} ids; the maximum is {MOST_IDS}", values.len());
                    return Err(rejected(Code::BadUserInput, path, &rule));
                }
                let mut values = values.iter().enumerate();
                values.try_for_each(|(index, value)| self.check(inner, &format!("{path}[{index}]"), value))
            }
            // A single value is coerced to a list with one item.
            (Type::List(inner) | Type::NonNullList(inner), value) => self.check(inner, path, value),
            (Type::Named(name) | Type::NonNullNamed(name), value) => self.check_named(name, path, value),
        }
    }

    fn check_named(self, ty: &Name, path: &str, value: &Value) -> Result<(), RequestError> {
        match (self.schema.types.get(ty), value) {
            (Some(ExtendedType::InputObject(input)), Value::Object(fields)) => {
                self.check_object(input, path, fields)
            }
            (Some(ExtendedType::InputObject(_)), _) => {
                Err(rejected(Code::BadUserInput, path, "must be an object"))
            }
            (Some(ExtendedType::Scalar(_)), value) => self.check_scalar(ty, path, value),
            _ => Ok(()),
        }
    }

    fn check_object(
        self,
        input: &InputObjectType,
        path: &str,
        fields: &async_graphql::indexmap::IndexMap<async_graphql::Name, Value>,
    ) -> Result<(), RequestError> {
        let is_one_of = input.directives.iter().any(|directive| directive.name == "oneOf");
        if is_one_of && (fields.len() != 1 || fields.values().any(|value| *value == Value::Null)) {
            return Err(rejected(self.code, path, "must have exactly one field, with a non-null value"));
        }
        for (name, definition) in &input.fields {
            let path = format!("{path}.{name}");
            match fields.get(name.as_str()) {
                Some(value) => self.check(&definition.ty, &path, value)?,
                None => require(definition, &path)?,
            }
        }
        let end = |name| match fields.get(name) {
            Some(Value::String(text)) if input.name == "PeriodInput" => scalar::parse_instant(text),
            _ => None,
        };
        if end("since").zip(end("until")).is_some_and(|(since, until)| since > until) {
            return Err(rejected(Code::BadUserInput, path, "must not begin after its end"));
        }
        Ok(())
    }

    fn check_scalar(self, ty: &str, path: &str, value: &Value) -> Result<(), RequestError> {
        let argument = path.rsplit('.').next().unwrap_or(path);
        let form = |what: &str| Err(rejected(Code::BadUserInput, path, &format!("must be {what}")));
        let checked = match (ty, value) {
            ("ID", Value::String(id)) => self.check_id(argument, path, &ID::from(id)),
            ("ID", Value::Number(id)) if id.is_i64() => {
                self.check_id(argument, path, &ID::from(id.to_string()))
            }
            ("ID", _) => return form("an id"),
            ("String", Value::String(cursor)) if matches!(argument, "after" | "before") => {
                cursor::check(path, cursor::Code::of_field(self.object, self.field), cursor)
            }
            ("String", Value::String(_)) | ("Boolean", Value::Boolean(_)) | ("Float", Value::Number(_)) => {
                Ok(())
            }
            ("Int", Value::Number(number)) if number.as_i64().is_some_and(|it| i32::try_from(it).is_ok()) => {
                Ok(())
            }
            ("Date", Value::String(text)) if scalar::is_date(text) => Ok(()),
            ("DateTime", Value::String(text)) if scalar::parse_instant(text).is_some() => Ok(()),
            ("Date", _) => return form("a day such as 2026-11-20"),
            ("DateTime", _) => return form("an instant such as 2026-11-20T08:30:00Z"),
            (ty, _) => return form(&format!("of type {ty}")),
        };
        checked.map_err(|error| RequestError::of(&error, ""))
    }

    /// Checks that an id identifies an object of the type expected here.
    fn check_id(self, argument: &str, path: &str, id: &ID) -> Result<(), Error> {
        let argument = argument.split('[').next().unwrap_or(argument);
        match (self.object, self.field, argument) {
            ("Query", "user", "id") | ("Moderation", "account", "id") | (_, _, "userId" | "userIds") => {
                GlobalId::user(path, id).map(drop)
            }
            ("Query", "post", "id") | (_, _, "postId" | "inReplyTo" | "quoteOf") => {
                GlobalId::post(path, id).map(drop)
            }
            (_, _, "sessionId") => GlobalId::session(path, id).map(drop),
            (_, _, "reportId") => GlobalId::report(path, id).map(drop),
            (_, _, "inviteId") => GlobalId::invite(path, id).map(drop),
            ("Query", "node" | "nodes", _) => GlobalId::node(path, id).map(drop),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use apollo_compiler::ast::FieldDefinition;
    use apollo_compiler::schema::ExtendedType;

    use super::*;

    /// Returns the fields of all objects, each with its object.
    fn fields(schema: &Schema) -> impl Iterator<Item = (&Name, &FieldDefinition)> {
        let objects = schema.types.values().filter_map(ExtendedType::as_object);
        objects.flat_map(|object| object.fields.values().map(|field| (&object.name, &***field)))
    }

    /// Returns the names of a field's arguments of a type, including those in input objects.
    fn arguments_of<'a>(schema: &'a Schema, field: &'a FieldDefinition, ty: &str) -> Vec<&'a Name> {
        let mut names = Vec::new();
        for argument in &field.arguments {
            let of = argument.ty.inner_named_type();
            if of == ty {
                names.push(&argument.name);
            } else if let Some(input) = schema.types.get(of).and_then(ExtendedType::as_input_object) {
                let inner = input.fields.iter().filter(|(_, field)| field.ty.inner_named_type() == ty);
                names.extend(inner.map(|(name, _)| name));
            }
        }
        names
    }

    fn schema() -> Schema {
        Schema::parse_and_validate(crate::graphql::sdl(), "schema.graphql").unwrap().into_inner()
    }

    #[test]
    fn every_cursor_is_checked_before_execution() {
        let schema = schema();
        let mut unchecked = Vec::new();
        for (object, field) in fields(&schema) {
            let mut names = arguments_of(&schema, field, "String").into_iter();
            let has_cursors = names.any(|name| name == "after" || name == "before");
            if has_cursors && cursor::Code::of_field(object, &field.name).is_none() {
                unchecked.push(format!("{object}.{}", field.name));
            }
        }
        assert!(unchecked.is_empty(), "not in `cursor::lists!`: {unchecked:?}");
    }

    #[test]
    fn every_id_is_checked_before_execution() {
        let schema = schema();
        let mut unchecked = Vec::new();
        for (object, field) in fields(&schema) {
            for name in arguments_of(&schema, field, "ID") {
                let place =
                    ArgumentContext { schema: &schema, object, field: &field.name, code: Code::BadUserInput };
                if place.check_id(name, name, &ID::from("garbage")).is_ok() {
                    unchecked.push(format!("{object}.{}({name}:)", field.name));
                }
            }
        }
        assert!(unchecked.is_empty(), "not in `check_id`: {unchecked:?}");
    }
}
