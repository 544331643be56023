//! Cost analysis: predicts the number of objects that an operation loads and limits the operation's depth.
//!
//! An object costs 1 and any other field 0.1. The cost of selections on list entries is multiplied by the list's
//! maximum number of entries. The cost is therefore known from the requested page sizes, before anything is read. It is
//! a prediction; the budget (`crate::budget`) bounds actual use, and entries beyond a predicted number pay before they
//! are made (`entry`).

use apollo_compiler::Node;
use apollo_compiler::executable::Field;
use async_graphql_value::Value;

use crate::graphql::document::entry::{EntryCost, PARTS};
use crate::graphql::document::size::ListSize;
use crate::graphql::error::RequestError;
use crate::graphql::paging::page_size;

/// Maximum depth of fields, except in introspection, which has its own limits.
const MOST_LEVELS: usize = 12;
/// Maximum number of `__schema` selections in an operation, each of which can return all types.
const MOST_SCHEMAS: usize = 3;
/// Maximum number of `__type` selections in an operation, each of which returns a single type. Tools select several, to
/// find out which fields of introspection a server has.
const MOST_TYPES: usize = 10;
/// Maximum number of occurrences of the same introspection list on the path to a field. Each occurrence multiplies the
/// response size.
const MOST_REPEATED: usize = 2;
const INTROSPECTION_LISTS: [&str; 4] = ["fields", "inputFields", "possibleTypes", "interfaces"];

/// Cost of a field without subfields, in parts.
const LEAF: u64 = 1;

/// The accumulated cost of an operation.
#[derive(Debug)]
pub(in crate::graphql) struct Costs {
    limit: u64,
    /// The accumulated cost, in parts.
    parts: u64,
    /// True if the operation has a field that hashes a password.
    has_sign_in: bool,
    introspections: Introspections,
}

/// The numbers of selections that begin an introspection.
#[derive(Clone, Copy, Debug, Default)]
struct Introspections {
    schemas: usize,
    types: usize,
}

impl Introspections {
    /// Adds a selection of `__schema` or `__type`.
    fn add(&mut self, field: &str) -> Result<(), RequestError> {
        let (schemas, types) = if field == "__schema" { (1, 0) } else { (0, 1) };
        self.add_all(Self { schemas, types })
    }

    /// Adds the selections of another operation. Fails beyond a limit.
    fn add_all(&mut self, Self { schemas, types }: Self) -> Result<(), RequestError> {
        self.schemas += schemas;
        self.types += types;
        for (count, most, what) in
            [(self.schemas, MOST_SCHEMAS, "__schema"), (self.types, MOST_TYPES, "__type")]
        {
            if count > most {
                return Err(RequestError::too_complex(&format!(
                    "it selects `{what}` more than {most} times"
                )));
            }
        }
        Ok(())
    }
}

/// Rejects operations that together exceed the limits for a single operation.
pub(in crate::graphql) fn check_together<'a>(
    all: impl Iterator<Item = &'a Costs>,
) -> Result<(), RequestError> {
    let (mut total, mut sign_ins, mut introspections) = (0_u64, 0, Introspections::default());
    for costs in all {
        total = total.saturating_add(costs.total());
        sign_ins += u32::from(costs.has_sign_in);
        introspections.add_all(costs.introspections)?;
        if total > costs.limit {
            return Err(too_many(costs.limit));
        }
    }
    if sign_ins > 1 {
        return Err(too_many_sign_ins());
    }
    Ok(())
}

fn too_many(limit: u64) -> RequestError {
    let what = format!(
        "it costs more than {limit}, at 1 for an object and 0.1 for any other field. Request smaller pages, or fewer \
         pages at once"
    );
    RequestError::too_complex(&what)
}

fn too_many_sign_ins() -> RequestError {
    RequestError::too_complex("it has more than one mutation with a password, such as `login`")
}

/// A cost that an operation had at some position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CostMark(u64);

/// The state of cost analysis at a position in an operation.
#[derive(Clone, Debug)]
pub(super) struct CostContext {
    levels: usize,
    /// Maximum number of objects at this position.
    objects: u64,
    /// Predicted number of entries, if this position is the entries of a list; otherwise 1.
    entries: u64,
    /// The size that the parent field's `@listSize` states for lists of this object.
    size: Option<ListSize>,
    /// Occurrences of each introspection list on the path; `None` outside introspection.
    introspection: Option<[usize; INTROSPECTION_LISTS.len()]>,
}

impl CostContext {
    pub(super) fn root() -> Self {
        Self { levels: 1, objects: 1, entries: 1, size: None, introspection: None }
    }
}

impl Costs {
    pub(super) fn new(limit: u64) -> Self {
        Self { limit, parts: 0, has_sign_in: false, introspections: Introspections::default() }
    }

    /// Returns the total cost: roughly the number of objects loaded.
    pub(in crate::graphql) fn total(&self) -> u64 {
        self.parts.div_ceil(PARTS)
    }

    /// Adds the cost of a field without subfields, for each object at this position.
    pub(super) fn leaf(&mut self, place: &CostContext) -> Result<(), RequestError> {
        if place.introspection.is_some() {
            return Ok(());
        }
        self.add(place.objects.saturating_mul(LEAF))
    }

    /// Returns what an entry of a list without subfields costs; `None` for fields that are no list of a stated size.
    pub(super) fn leaf_entry(field: &Field, arguments: &[(async_graphql::Name, Value)]) -> Option<EntryCost> {
        let size = ListSize::of(field, arguments).filter(|_| field.definition.ty.is_list())?;
        Some(EntryCost { predicted: size.entries, parts: LEAF, name_bytes: 0 })
    }

    /// Returns the cost so far, to compare or to go back to.
    pub(super) fn mark(&self) -> CostMark {
        CostMark(self.parts)
    }

    /// Sets the cost to that of the mark. The selections on the types of an abstract type begin at the same mark, and
    /// only the most expensive one counts: an object has one type.
    pub(super) fn set(&mut self, mark: CostMark) {
        self.parts = mark.0;
    }

    /// Returns what an entry of the list at this position costs, whose selections begin at `mark`; `None` for
    /// introspection, and if the list has no entries.
    pub(super) fn entry(&self, place: &CostContext, mark: CostMark, name_bytes: u64) -> Option<EntryCost> {
        let below =
            place.introspection.is_none().then_some(self.parts - mark.0)?.checked_div(place.objects)?;
        Some(EntryCost { predicted: place.entries, parts: PARTS + below, name_bytes })
    }

    fn add(&mut self, parts: u64) -> Result<(), RequestError> {
        self.parts = self.parts.saturating_add(parts);
        if self.total() > self.limit { Err(too_many(self.limit)) } else { Ok(()) }
    }

    /// Adds the cost of a field with subfields and returns the position of its selections.
    pub(super) fn enter(
        &mut self,
        place: &CostContext,
        field: &Node<Field>,
        arguments: &[(async_graphql::Name, Value)],
    ) -> Result<CostContext, RequestError> {
        if place.introspection.is_some() || field.name.starts_with("__") {
            if place.introspection.is_none() {
                self.introspections.add(&field.name)?;
            }
            return introspect(place, field);
        }
        if takes_password(arguments) {
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
        let size = ListSize::of(field, arguments);
        let (times, size) = if field.definition.ty.is_list() {
            let stated = size.or_else(|| place.size.clone().filter(|size| size.is_of(&field.name)));
            (stated.map_or(page_size(i64::MAX), |size| size.entries), None)
        } else {
            (1, size)
        };
        let objects = place.objects.saturating_mul(times);
        let weight = place.objects.saturating_mul(weight(field));
        self.add(objects.saturating_add(weight).saturating_mul(PARTS))?;
        Ok(CostContext { levels, objects, entries: times, size, introspection: None })
    }
}

/// Checks an introspection field. Introspection reads no stored data, but nested lists multiply the response size.
fn introspect(place: &CostContext, field: &Node<Field>) -> Result<CostContext, RequestError> {
    let mut lists = place.introspection.unwrap_or_default();
    if let Some(list) = INTROSPECTION_LISTS.iter().position(|list| field.name == *list) {
        lists[list] += 1;
        if lists[list] > MOST_REPEATED {
            let what = format!("it nests `{}` more than {MOST_REPEATED} times", field.name);
            return Err(RequestError::too_complex(&what));
        }
    }
    Ok(CostContext { introspection: Some(lists), ..place.clone() })
}

/// Returns a field's weight: the cost of the data that the server reads to resolve the field, in addition to the cost
/// of the objects that the field returns.
fn weight(field: &Field) -> u64 {
    let cost = field.definition.directives.get("cost");
    let weight = cost.and_then(|cost| cost.specified_argument_by_name("weight")?.as_str());
    weight.and_then(|weight| weight.parse().ok()).unwrap_or_default()
}

/// Returns true if a field takes a password, which the server then hashes.
fn takes_password(arguments: &[(async_graphql::Name, Value)]) -> bool {
    let is_password = |name: &async_graphql::Name| name.to_lowercase().ends_with("password");
    arguments.iter().any(|(_, value)| matches!(value, Value::Object(input) if input.keys().any(is_password)))
}
