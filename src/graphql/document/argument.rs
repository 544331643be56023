//! What the values of arguments must be beside what their types say: known before anything is executed.
//!
//! Not here: what depends on whose list it is, or on what exists.

use apollo_compiler::executable::{Argument, Field};
use apollo_compiler::schema::ExtendedType;
use apollo_compiler::{Name, Node, Schema};
use async_graphql::ID;
use async_graphql_value::Value;

use crate::app::error::Error;
use crate::graphql::cursor;
use crate::graphql::error::{Code, RequestError};
use crate::graphql::id::GlobalId;
use crate::graphql::types::scalar;

/// Checks the value of an argument of a field.
pub(super) fn check(
    schema: &Schema,
    object: &Name,
    field: &Node<Field>,
    argument: &Argument,
    value: &Value,
) -> Result<(), RequestError> {
    let Some(definition) = field.definition.argument_by_name(&argument.name) else { return Ok(()) };
    let ty = definition.ty.inner_named_type();
    // What stands in the document makes it invalid; what comes with the request does not.
    let code =
        if argument.value.as_variable().is_some() { Code::BadUserInput } else { Code::ValidationFailed };
    let place = Place { object, field: &field.name, code };
    check_value(schema, place, ty, &argument.name, value)
}

/// Where an argument stands.
#[derive(Clone, Copy)]
struct Place<'a> {
    object: &'a str,
    field: &'a str,
    /// The code of an input that has not the form of its type.
    code: Code,
}

fn check_value(
    schema: &Schema,
    place: Place<'_>,
    ty: &Name,
    path: &str,
    value: &Value,
) -> Result<(), RequestError> {
    match value {
        Value::List(values) => {
            for (index, value) in values.iter().enumerate() {
                check_value(schema, place, ty, &format!("{path}[{index}]"), value)?;
            }
            Ok(())
        }
        Value::Object(fields) => {
            let Some(ExtendedType::InputObject(input)) = schema.types.get(ty) else { return Ok(()) };
            let is_one_of = input.directives.iter().any(|directive| directive.name == "oneOf");
            if is_one_of && (fields.len() != 1 || fields.values().any(|value| *value == Value::Null)) {
                let message = format!("`{path}` must have exactly one field, and it must not be null.");
                return Err(RequestError::new(place.code, message));
            }
            for (name, value) in fields {
                if let Some(field) = input.fields.get(name.as_str()) {
                    let path = format!("{path}.{name}");
                    check_value(schema, place, field.ty.inner_named_type(), &path, value)?;
                }
            }
            Ok(())
        }
        Value::Null => Ok(()),
        value => check_scalar(place, ty, path, value),
    }
}

fn check_scalar(
    Place { object, field, .. }: Place<'_>,
    ty: &str,
    path: &str,
    value: &Value,
) -> Result<(), RequestError> {
    let argument = path.rsplit('.').next().unwrap_or(path);
    let checked = match (ty, value) {
        ("ID", Value::String(id)) => check_id(object, field, argument, path, &ID::from(id)),
        ("ID", Value::Number(id)) => check_id(object, field, argument, path, &ID::from(id.to_string())),
        ("Date", value) if !matches!(value, Value::String(text) if scalar::is_date(text)) => {
            Err(Error::Invalid(format!("`{path}` must be a day such as 2026-11-20.")))
        }
        ("String", Value::String(cursor)) if matches!(argument, "after" | "before") => {
            cursor::check(path, cursor::code_of(object, field), cursor)
        }
        _ => Ok(()),
    };
    checked.map_err(|error| RequestError::of(&error, ""))
}

/// What an id must name that stands here.
fn check_id(object: &str, field: &str, argument: &str, path: &str, id: &ID) -> Result<(), Error> {
    let argument = argument.split('[').next().unwrap_or(argument);
    match (object, field, argument) {
        ("Query", "user", "id") | (_, _, "userId" | "userIds") => GlobalId::user(path, id).map(drop),
        ("Query", "post", "id") | (_, _, "postId") => GlobalId::post(path, id).map(drop),
        (_, _, "sessionId") => GlobalId::session(path, id).map(drop),
        ("Query", "node" | "nodes", _) => GlobalId::node(path, id).map(drop),
        _ => Ok(()),
    }
}
