//! What an operation may cost: about how many objects it asks for, and how deep it goes.
//!
//! An object costs one and any other field a tenth, and what is asked of each entry of a list is counted as often as the
//! list may have entries. So the cost is known before anything is read, from the sizes of the pages that are asked for.
//! It is a prediction: what an operation really uses is bounded by its budget (`crate::budget`).

use apollo_compiler::executable::Field;
use apollo_compiler::{Name, Node};
use async_graphql_value::Value;

use crate::graphql::connection::page_size;
use crate::graphql::error::RequestError;

/// Most levels of fields, but for introspection, which has limits of its own.
const MOST_LEVELS: usize = 12;
/// How often an operation may ask for the schema, or a type of it.
const MOST_INTROSPECTIONS: usize = 3;
/// How often one of these lists of introspection may stand on the way to a field: with each the answer grows by a
/// factor.
const MOST_REPEATED: usize = 2;
const INTROSPECTION_LISTS: [&str; 4] = ["fields", "inputFields", "possibleTypes", "interfaces"];

/// Subdivisions that a country is predicted to have. Most have fewer, some two hundred: these spend more of the budget.
pub(in crate::graphql) const SUBDIVISIONS: u64 = 12;
/// In how many parts costs are counted.
const PARTS: u64 = 10;
/// What a field without fields costs, in parts.
const LEAF: u64 = 1;

/// Counts what an operation costs.
#[derive(Debug)]
pub(in crate::graphql) struct Costs {
    limit: u64,
    /// So far, in parts.
    parts: u64,
    /// Whether it has a field that costs the work of a password.
    has_sign_in: bool,
    /// How often the schema is asked for.
    introspections: usize,
}

/// Refuses operations that together ask for more than one may.
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
    RequestError::too_complex(&format!("it asks for the schema more than {MOST_INTROSPECTIONS} times"))
}

fn too_many_sign_ins() -> RequestError {
    RequestError::too_complex("it may have one `login`, `register` or `changePassword`")
}

/// A place in an operation.
#[derive(Clone, Debug)]
pub(super) struct Place {
    levels: usize,
    /// How many objects there may be.
    objects: u64,
    /// How many entries the lists of this object may have that have no arguments of their own.
    entries: u64,
    /// How many lists of introspection lie on the way; `None` if it is none.
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

    /// About how many objects are asked for.
    pub(in crate::graphql) fn total(&self) -> u64 {
        self.parts.div_ceil(PARTS)
    }

    /// Counts a field that has no fields itself, of every object that there may be.
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

    /// Goes into a field that has fields itself.
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

/// Introspection costs nothing that grows with the data; but its lists multiply.
fn introspect(place: &Place, field: &Node<Field>) -> Result<Place, RequestError> {
    let mut lists = place.introspection.unwrap_or_default();
    if let Some(list) = INTROSPECTION_LISTS.iter().position(|list| field.name == *list) {
        lists[list] += 1;
        if lists[list] > MOST_REPEATED {
            let what = format!("it asks for `{}` within itself more than {MOST_REPEATED} times", field.name);
            return Err(RequestError::too_complex(&what));
        }
    }
    Ok(Place { introspection: Some(lists), ..place.clone() })
}

/// How many entries a list has, or the lists of an object that pages one, as far as it can be told from here.
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

/// What a field costs beside its objects, because of what is read for it.
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

    /// Lists of objects that take their size from the field above them, or have an entry or none.
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
        assert!(unknown.is_empty(), "how long may these be? {unknown:?}");
    }
}
