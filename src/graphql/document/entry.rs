//! What an entry of a list costs, so that a list pays for the entries beyond their predicted number.
//!
//! # Why
//! Some lists are as long as what is stored, such as the segments of a post. The prediction assumes a common number of
//! entries (`@listSize`), so that common operations are not rejected. Without a charge for the others, a document that
//! reads posts written for the purpose would be many times as expensive as predicted.

use std::collections::HashMap;

use async_graphql::Pos;
use async_graphql::parser::types::{Selection, SelectionSet};

/// Number of parts per unit of cost.
pub(super) const PARTS: u64 = 10;

/// What the entries of an operation's lists cost, by the position of the list's field. A field that occurs several
/// times, in a fragment, has the greater cost.
pub(in crate::graphql) type EntryCosts = HashMap<Pos, EntryCost>;

/// What an entry of a list costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::graphql) struct EntryCost {
    /// Number of entries from which the operation's cost was predicted.
    pub(super) predicted: u64,
    /// Cost of an entry with everything below it, in parts of the unit of cost.
    pub(super) parts: u64,
    /// Length of the names of an entry's fields in the response, in bytes.
    pub(in crate::graphql) name_bytes: u64,
}

impl EntryCost {
    /// Returns the cost of the entries beyond the predicted number, if the list has `count`.
    pub(in crate::graphql) fn excess(self, count: usize) -> u64 {
        let further = (count as u64).saturating_sub(self.predicted);
        further.saturating_mul(self.parts).div_ceil(PARTS)
    }

    fn greater(self, other: Self) -> Self {
        Self {
            // A page has no more entries than its argument states, so only assumed sizes are exceeded, which are
            // constant.
            predicted: self.predicted.max(other.predicted),
            parts: self.parts.max(other.parts),
            name_bytes: self.name_bytes.max(other.name_bytes),
        }
    }
}

/// Adds the cost of a list's entries.
pub(super) fn add(costs: &mut EntryCosts, at: Pos, cost: EntryCost) {
    costs.entry(at).and_modify(|other| *other = other.greater(cost)).or_insert(cost);
}

/// Returns the length of the names that an object with these selections has in a response, in bytes. A list below
/// counts as one entry.
pub(super) fn name_bytes(selections: &SelectionSet) -> u64 {
    /// Quotes, colon and comma.
    const PUNCTUATION: u64 = 4;
    let (mut fields, mut of_type) = (0_u64, 0);
    for selection in &selections.items {
        match &selection.node {
            Selection::Field(field) => {
                let name = field.node.response_key().node.len() as u64;
                fields += name + PUNCTUATION + name_bytes(&field.node.selection_set.node);
            }
            // An object has one type.
            Selection::InlineFragment(fragment) => {
                of_type = of_type.max(name_bytes(&fragment.node.selection_set.node));
            }
            Selection::FragmentSpread(_) => {}
        }
    }
    fields + of_type
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_entries_beyond_the_predicted_number_cost() {
        let cost = EntryCost { predicted: 8, parts: 12, name_bytes: 0 };
        assert_eq!([0, 8, 9, 13].map(|count| cost.excess(count)), [0, 0, 2, 6]);
        assert_eq!(cost.excess(usize::MAX), u64::MAX.div_ceil(PARTS));
    }

    #[test]
    fn a_field_of_several_places_has_the_greatest_number_and_cost() {
        let cost = |predicted, parts| EntryCost { predicted, parts, name_bytes: parts };
        let mut costs = EntryCosts::new();
        for cost in [cost(1, 30), cost(100, 10), cost(2, 20)] {
            add(&mut costs, Pos::default(), cost);
        }
        assert_eq!(costs[&Pos::default()], EntryCost { predicted: 100, parts: 30, name_bytes: 30 });
    }
}
