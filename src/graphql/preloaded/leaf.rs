//! Values without subfields.

use async_graphql::ID;
use async_graphql::resolver_utils::EnumType;

use super::Json;

/// A value without subfields, as it is in a response.
pub(in crate::graphql) trait Leaf {
    /// Writes the value; returns `None` if that is impossible.
    fn write(self, json: &mut Json) -> Option<()>;
}

/// Declares types that serde writes as they are in a response.
macro_rules! serialized {
    ($($leaf:ty),*) => {
        $(impl Leaf for $leaf {
            fn write(self, json: &mut Json) -> Option<()> {
                json.value(&self)
            }
        })*
    };
}

serialized!(&str, String, bool, i32, ID);

impl<L: Leaf> Leaf for Option<L> {
    fn write(self, json: &mut Json) -> Option<()> {
        match self {
            Some(leaf) => leaf.write(json),
            None => json.value(&()),
        }
    }
}

/// Returns the name of an enum's value in the schema.
pub(in crate::graphql) fn name_of<E: EnumType>(value: E) -> Option<&'static str> {
    E::items().iter().find(|item| item.value == value).map(|item| item.name)
}
