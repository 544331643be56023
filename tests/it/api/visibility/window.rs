//! Windows of lists, and positions in them.

use std::cmp::Ordering;

use serde_json::{Value, json};

/// A window of a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    pub(super) is_forward: bool,
    pub(super) size: usize,
}

impl Cut {
    /// Returns the arguments of a field, with the variable `$at` as the cursor.
    pub(super) fn arguments(self) -> String {
        let (count, place) = if self.is_forward { ("first", "after") } else { ("last", "before") };
        format!("{count}: {}, {place}: $at", self.size)
    }

    /// Returns the entries of the window, and the `pageInfo`. `order` compares an entry with the window's position; the
    /// position need not be that of an entry.
    pub(super) fn of<T: Copy>(self, list: &[T], order: Option<&dyn Fn(&T) -> Ordering>) -> (Vec<T>, Value) {
        let count = |is: fn(Ordering) -> bool| {
            order.map(|order| list.iter().filter(|entry| is(order(entry))).count())
        };
        let (start, end, has_previous, has_next) = if self.is_forward {
            let start = count(Ordering::is_le).unwrap_or(0);
            let end = list.len().min(start + self.size);
            (start, end, start > 0, end < list.len())
        } else {
            let end = count(Ordering::is_lt).unwrap_or(list.len());
            let start = end.saturating_sub(self.size);
            (start, end, start > 0, end < list.len())
        };
        let info = json!({ "hasPreviousPage": has_previous, "hasNextPage": has_next });
        (list[start..end].to_vec(), info)
    }
}

/// A position in one of the lists of a user, with its cursor. Later, the entry may be gone.
#[derive(Clone)]
pub(super) struct Place<T> {
    pub(super) owner: usize,
    pub(super) list: &'static str,
    pub(super) at: T,
    pub(super) cursor: Value,
}

/// Returns the edges of a connection; none if the object is null.
pub(super) fn edges_of<'a>(object: &'a mut Value, connection: &str) -> impl Iterator<Item = &'a mut Value> {
    let edges = object.pointer_mut(&format!("/{connection}/edges"));
    edges.into_iter().flat_map(|edges| edges.as_array_mut().unwrap())
}
