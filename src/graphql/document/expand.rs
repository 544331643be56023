//! Computes a document's size with its fragments spread, before any other code walks the whole document.
//!
//! Each fragment is measured once, however often it is spread, and nothing recurses through fragments. A fragment bomb
//! is therefore rejected immediately, and a document that passes is small enough for all later steps.

use std::collections::HashMap;

use apollo_compiler::Name;
use apollo_compiler::ast::{Definition, Document, Selection};

use crate::graphql::error::{Code, RequestError};

/// Maximum number of selections in an operation, with fragments counted at every spread.
const MOST_SELECTIONS: u64 = 2_000;
/// Maximum total number of selections in all operations of a document. The validator walks each operation and all
/// fragments spread in it.
const MOST_TOGETHER: u64 = 4_000;
/// Maximum depth of selections, with fragments counted at every spread. Introspection needs 15 levels.
const MOST_LEVELS: u64 = 16;

/// The size of a set of selections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Size {
    selections: u64,
    levels: u64,
}

impl Size {
    fn beside(self, other: Self) -> Self {
        Self {
            selections: self.selections.saturating_add(other.selections),
            levels: self.levels.max(other.levels),
        }
    }

    fn below_field(self) -> Self {
        Self { selections: self.selections.saturating_add(1), levels: self.levels.saturating_add(1) }
    }
}

type Fragments<'a> = HashMap<&'a Name, &'a [Selection]>;

/// Rejects a document with oversized operations or with a fragment that spreads itself, directly or indirectly.
pub(super) fn guard(document: &Document) -> Result<(), RequestError> {
    let mut fragments = Fragments::new();
    let mut operations = Vec::new();
    for definition in &document.definitions {
        match definition {
            Definition::FragmentDefinition(fragment) => {
                fragments.insert(&fragment.name, &fragment.selection_set);
            }
            Definition::OperationDefinition(operation) => operations.push(&operation.selection_set[..]),
            _ => {}
        }
    }
    let mut sizes: HashMap<&Name, Size> = HashMap::new();
    for name in in_order(&fragments)? {
        let size = size(fragments[name], &sizes);
        sizes.insert(name, size);
    }
    let mut together = Size::default();
    for operation in operations {
        let Size { selections, levels } = size(operation, &sizes);
        together = together.beside(Size { selections, levels });
        for (count, limit, what) in
            [(selections, MOST_SELECTIONS, "selections"), (levels, MOST_LEVELS, "levels of selections")]
        {
            if count > limit {
                let what = format!("with its fragments spread, it has more than {limit} {what}");
                return Err(RequestError::too_complex(&what));
            }
        }
    }
    if together.selections > MOST_TOGETHER {
        let what = format!(
            "with their fragments spread, its operations together have more than {MOST_TOGETHER} selections"
        );
        return Err(RequestError::too_complex(&what));
    }
    Ok(())
}

/// Returns the size of these selections, given the sizes of the fragments spread in them.
fn size(selections: &[Selection], sizes: &HashMap<&Name, Size>) -> Size {
    selections.iter().fold(Size::default(), |sum, selection| {
        sum.beside(match selection {
            Selection::Field(field) => size(&field.selection_set, sizes).below_field(),
            Selection::InlineFragment(fragment) => size(&fragment.selection_set, sizes),
            // Validation reports missing fragments.
            Selection::FragmentSpread(spread) => {
                sizes.get(&spread.fragment_name).copied().unwrap_or_default()
            }
        })
    })
}

/// Sorts fragments topologically: each fragment follows the fragments that it spreads. Rejects cycles.
fn in_order<'a>(fragments: &Fragments<'a>) -> Result<Vec<&'a Name>, RequestError> {
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum State {
        Open,
        Done,
    }
    let mut states: HashMap<&Name, State> = HashMap::new();
    let mut order = Vec::with_capacity(fragments.len());
    for &name in fragments.keys() {
        let mut way = vec![name];
        while let Some(&name) = way.last() {
            match states.get(name) {
                Some(State::Done) => {
                    way.pop();
                }
                Some(State::Open) => {
                    states.insert(name, State::Done);
                    order.push(name);
                    way.pop();
                }
                None => {
                    states.insert(name, State::Open);
                    let mut spreads = Vec::new();
                    collect_spreads(fragments[name], &mut spreads);
                    for spread in spreads {
                        let Some((&spread, _)) = fragments.get_key_value(spread) else { continue };
                        match states.get(spread) {
                            Some(State::Open) => return Err(circular(spread)),
                            Some(State::Done) => {}
                            None => way.push(spread),
                        }
                    }
                }
            }
        }
    }
    Ok(order)
}

fn collect_spreads<'a>(selections: &'a [Selection], spreads: &mut Vec<&'a Name>) {
    for selection in selections {
        match selection {
            Selection::Field(field) => collect_spreads(&field.selection_set, spreads),
            Selection::InlineFragment(fragment) => collect_spreads(&fragment.selection_set, spreads),
            Selection::FragmentSpread(spread) => spreads.push(&spread.fragment_name),
        }
    }
}

fn circular(name: &Name) -> RequestError {
    RequestError::new(Code::ValidationFailed, format!("The fragment `{name}` is spread within itself."))
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    fn guarded(text: &str) -> Result<(), String> {
        let document = Document::parse(text, "document").unwrap();
        guard(&document).map_err(|error| error.errors[0].message.clone())
    }

    #[test]
    fn a_bomb_is_rejected_without_being_expanded() {
        let mut text = String::from("{ ...f0 } fragment f99 on Query { __typename }");
        for number in 0..99 {
            let next = number + 1;
            write!(text, " fragment f{number} on Query {{ ...f{next} ...f{next} }}").unwrap();
        }
        let message =
            "The document is too complex: with its fragments spread, it has more than 2000 selections.";
        assert_eq!(guarded(&text), Err(message.to_owned()));
    }

    #[test]
    fn fragments_within_each_other_count_their_levels() {
        let chain = |length: usize| {
            let mut text = String::from("{ ...f0 }");
            for number in 0..length {
                write!(text, " fragment f{number} on Query {{ a {{ ...f{} }} }}", number + 1).unwrap();
            }
            write!(text, " fragment f{length} on Query {{ a }}").unwrap();
            guarded(&text)
        };
        assert_eq!(chain(15), Ok(()));
        assert!(chain(16).unwrap_err().contains("more than 16 levels"));
        assert!(chain(2_000).is_err());
    }

    #[test]
    fn circles_are_found_wherever_they_are() {
        let circular = |text: &str| guarded(text).unwrap_err().contains("is spread within itself");
        assert!(circular("{ ...a } fragment a on Query { ...a }"));
        assert!(circular(
            "{ b } fragment a on Query { x { ...b } } fragment b on Query { ... { ...c } } fragment c on Query { ...a }"
        ));
        assert_eq!(
            guarded("{ ...a ...a } fragment a on Query { ...b ...b } fragment b on Query { x ...gone }"),
            Ok(())
        );
    }
}
