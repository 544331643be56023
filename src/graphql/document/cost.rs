//! The cost of an operation: its predicted number of objects, and its depth.
//!
//! An object costs one and any other field a tenth; what is selected on each entry of a list counts as often as the
//! list may have entries. So the cost is known before anything is read, from the requested page sizes. It is a
//! prediction: actual use is bounded by the budget (`crate::budget`).

use apollo_compiler::executable::Field;
use apollo_compiler::{Name, Node};
use async_graphql_value::Value;

use crate::graphql::connection::page_size;
use crate::graphql::error::RequestError;
use crate::graphql::types::region::SUBDIVISIONS;

/// Maximum number of levels of fields, except in introspection, which has limits of its own.
const MOST_LEVELS: usize = 12;
/// Maximum number of times an operation may select the schema, or a type of it.
const MOST_INTROSPECTIONS: usize = 3;
/// Maximum number of times one of these introspection lists may occur on the path to a field: each occurrence
/// multiplies the size of the response.
const MOST_REPEATED: usize = 2;
const INTROSPECTION_LISTS: [&str; 4] = ["fields", "inputFields", "possibleTypes", "interfaces"];

/// Parts per unit of cost.
const PARTS: u64 = 10;
/// Cost of a field without subfields, in parts.
const LEAF: u64 = 1;

/// Counts the cost of an operation.
#[derive(Debug)]
pub(in crate::graphql) struct Costs {
    limit: u64,
    /// The cost so far, in parts.
    parts: u64,
    /// True if it has a field that hashes a password.
    has_sign_in: bool,
    /// The number of times the schema is selected.
    introspections: usize,
}

/// Rejects operations that together exceed the limits of one.
pub(in crate::graphql) fn check_together<'a>(
    all: impl Iterator<Item = &'a Costs>,
) -> Result<(), RequestError> {
    let (mut total, mut sign_ins, mut introspections) = (0_u64, 0, 0);
    for costs in all {
        total = total.saturating_add(costs.total());
        sign_ins += u32::from(costs.has_sign_in);
        introspections += costs.introspections;
        if total > costs.limit {
            return Err(too_many(costs.limit));
        }
    }
    if sign_ins > 1 {
        return Err(too_many_sign_ins());
    }
    if introspections > MOST_INTROSPECTIONS {
        return Err(too_many_introspections());
    }
    Ok(())
}

fn too_many(limit: u64) -> RequestError {
    let what = format!(
        "it costs more than {limit}, at 1 for an object and 0.1 for any other field. Ask for smaller pages, or for fewer of them at once"
    );
    RequestError::too_complex(&what)
}

fn too_many_introspections() -> RequestError {
    RequestError::too_complex(&format!("it selects the schema more than {MOST_INTROSPECTIONS} times"))
}

fn too_many_sign_ins() -> RequestError {
    RequestError::too_complex("it may have only one `login`, `register` or `changePassword`")
}

/// A position in an operation.
#[derive(Clone, Debug)]
pub(super) struct Place {
    levels: usize,
    /// The maximum number of objects at this position.
    objects: u64,
    /// The maximum length of the lists of this object that have no arguments of their own.
    entries: u64,
    /// The number of introspection lists on the path, for each list; `None` outside introspection.
    introspection: Option<[usize; INTROSPECTION_LISTS.len()]>,
}

impl Place {
    pub(super) fn root() -> Self {
        Self { levels: 1, objects: 1, entries: 1, introspection: None }
    }
}

impl Costs {
    pub(super) fn new(limit: u64) -> Self {
        Self { limit, parts: 0, has_sign_in: false, introspections: 0 }
    }

    /// Returns the total cost: roughly the number of objects loaded.
    pub(in crate::graphql) fn total(&self) -> u64 {
        self.parts.div_ceil(PARTS)
    }

    /// Counts a field without subfields, for each object at this position.
    pub(super) fn leaf(&mut self, place: &Place) -> Result<(), RequestError> {
        if place.introspection.is_some() {
            return Ok(());
        }
        self.add(place.objects.saturating_mul(LEAF))
    }

    fn add(&mut self, parts: u64) -> Result<(), RequestError> {
        self.parts = self.parts.saturating_add(parts);
        if self.total() > self.limit { Err(too_many(self.limit)) } else { Ok(()) }
    }

    /// Counts a field with subfields, and returns its position.
    pub(super) fn enter(
        &mut self,
        place: &Place,
        object: &Name,
        field: &Node<Field>,
        arguments: &[(async_graphql::Name, Value)],
    ) -> Result<Place, RequestError> {
        if place.introspection.is_some() || field.name.starts_with("__") {
            if place.introspection.is_none() {
                self.introspections += 1;
            }
            if self.introspections > MOST_INTROSPECTIONS {
                return Err(too_many_introspections());
            }
            return introspect(place, field);
        }
        if object == "Mutation" && matches!(field.name.as_str(), "login" | "register" | "changePassword") {
            if self.has_sign_in {
                return Err(too_many_sign_ins());
            }
            self.has_sign_in = true;
        }
        let levels = place.levels + 1;
        if levels > MOST_LEVELS {
            let what = format!("it has more than {MOST_LEVELS} levels of fields");
            return Err(RequestError::too_complex(&what));
        }
        let own = own_entries(object, &field.name, arguments);
        let is_list = field.definition.ty.is_list();
        let times = if is_list { own.unwrap_or(place.entries) } else { 1 };
        let objects = place.objects.saturating_mul(times);
        let weight = place.objects.saturating_mul(weight(object, &field.name));
        self.add(objects.saturating_add(weight).saturating_mul(PARTS))?;
        let entries = if is_list { 1 } else { own.unwrap_or(1) };
        Ok(Place { levels, objects, entries, introspection: None })
    }
}

/// Checks an introspection field. Introspection costs nothing that grows with the data, but its lists multiply.
fn introspect(place: &Place, field: &Node<Field>) -> Result<Place, RequestError> {
    let mut lists = place.introspection.unwrap_or_default();
    if let Some(list) = INTROSPECTION_LISTS.iter().position(|list| field.name == *list) {
        lists[list] += 1;
        if lists[list] > MOST_REPEATED {
            let what = format!("it nests `{}` more than {MOST_REPEATED} times", field.name);
            return Err(RequestError::too_complex(&what));
        }
    }
    Ok(Place { introspection: Some(lists), ..place.clone() })
}

/// Returns the maximum length of a list, or of the lists of an object that pages one, as far as it can be determined
/// here.
fn own_entries(object: &str, field: &str, arguments: &[(async_graphql::Name, Value)]) -> Option<u64> {
    let argument = |name: &str| arguments.iter().find(|(given, _)| given == name).map(|(_, value)| value);
    let number = |name: &str| match argument(name) {
        Some(Value::Number(number)) => number.as_i64(),
        _ => None,
    };
    let length = |name: &str| match argument(name) {
        Some(Value::List(values)) => values.len() as u64,
        _ => 1,
    };
    let page = |default: i64| {
        let asked = number("first").or_else(|| number("last")).unwrap_or(default);
        page_size(asked)
    };
    match (object, field) {
        ("Query", "nodes") => Some(length("ids")),
        ("Query", "relations") => Some(length("userIds")),
        ("Query", "countries") => Some(250),
        ("Query", "visits") => Some(page(7)),
        ("Country", "subdivisions") => Some(SUBDIVISIONS),
        ("Viewer", "sessions") => Some(10),
        (
            "User",
            "followers" | "following" | "mutuals" | "knownFollowers" | "posts" | "followersByRegion",
        )
        | ("Viewer", "timeline")
        | ("Audience", "regions") => Some(page(20)),
        _ => None,
    }
}

/// Returns the cost of a field in addition to its objects, for the data that is read for it.
fn weight(object: &str, field: &str) -> u64 {
    match (object, field) {
        ("User", "followersByRegion") | ("Viewer", "audience") => 50,
        ("Query", "visits") => 20,
        ("User", "mutuals" | "knownFollowers") | ("Viewer", "timeline") => 10,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use apollo_compiler::Schema;
    use apollo_compiler::schema::ExtendedType;

    use super::*;

    /// Lists of objects that take their length from the field above them, or have at most one entry.
    const SIZED_ABOVE: [(&str, &[&str]); 3] = [
        ("Connection", &["nodes", "edges"]),
        ("FollowersByRegion", &["shares"]),
        ("Payload", &["userErrors"]),
    ];

    #[test]
    fn it_is_known_of_every_list_how_long_it_may_be() {
        let schema = Schema::parse_and_validate(crate::graphql::sdl(), "schema.graphql").unwrap();
        let is_object = |name: &Name| matches!(schema.types.get(name), Some(ty) if !ty.is_leaf());
        let mut unknown = Vec::new();
        for object in schema.types.values().filter_map(ExtendedType::as_object) {
            let is_introspection = object.name.starts_with("__");
            for field in object.fields.values().filter(|field| field.ty.is_list() && !is_introspection) {
                let is_sized_above = SIZED_ABOVE
                    .iter()
                    .any(|(end, fields)| object.name.ends_with(end) && fields.contains(&field.name.as_str()));
                let is_known = is_sized_above || own_entries(&object.name, &field.name, &[]).is_some();
                if !is_known && is_object(field.ty.inner_named_type()) {
                    unknown.push(format!("{}.{}", object.name, field.name));
                }
            }
        }
        assert!(unknown.is_empty(), "lists of unknown length: {unknown:?}");
    }
}
