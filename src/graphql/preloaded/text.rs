//! JSON text under construction, with gaps for values that are not known yet.

use async_graphql::{ScalarType, Value};

use crate::graphql::json::{AsJson, raw};

/// JSON text.
#[derive(Clone, Debug, Default)]
pub(in crate::graphql) struct Json {
    bytes: Vec<u8>,
}

impl Json {
    pub(super) fn push(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// Writes a value.
    pub(in crate::graphql) fn value(&mut self, value: &impl serde::Serialize) -> Option<()> {
        serde_json::to_writer(&mut self.bytes, value).ok()
    }

    /// Writes a custom scalar.
    pub(in crate::graphql) fn scalar(&mut self, scalar: &impl ScalarType) -> Option<()> {
        self.value(&scalar.to_value())
    }

    /// Reserves capacity for at least this many bytes more.
    pub(super) fn reserve(&mut self, bytes: usize) {
        self.bytes.reserve(bytes);
    }

    /// Returns the text's length in bytes.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the text of a value.
    pub(super) fn of(value: &Value) -> Option<Self> {
        let mut json = Self::default();
        json.value(&AsJson(value))?;
        Some(json)
    }

    pub(super) fn into_value(self) -> Option<Value> {
        String::from_utf8(self.bytes).ok().map(raw)
    }

    /// Inserts texts at their positions, and cuts the result where the original text has these ends.
    pub(super) fn fill(self, mut inserts: Vec<Insert>, ends: &[usize]) -> Vec<Self> {
        if inserts.is_empty() && ends == [self.len()] {
            return vec![self];
        }
        inserts.sort_by_key(|insert| insert.at);
        let (mut inserts, mut start) = (inserts.into_iter().peekable(), 0);
        let mut piece = |end: usize| {
            let mut filled = Vec::with_capacity(end - start);
            while let Some(Insert { at, text }) = inserts.next_if(|insert| insert.at <= end) {
                filled.extend_from_slice(&self.bytes[start..at]);
                filled.extend_from_slice(&text.bytes);
                start = at;
            }
            filled.extend_from_slice(&self.bytes[start..end]);
            start = end;
            Self { bytes: filled }
        };
        ends.iter().map(|end| piece(*end)).collect()
    }
}

/// A text to insert at a position.
pub(in crate::graphql) struct Insert {
    pub(super) at: usize,
    pub(super) text: Json,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Json {
        Json { bytes: text.as_bytes().to_vec() }
    }

    #[test]
    fn texts_are_inserted_at_their_positions() {
        let inserts = [(8, "c"), (2, "a"), (5, "b")].map(|(at, text)| Insert { at, text: json(text) });
        let filled = json("<,><,><,>").fill(inserts.into(), &[3, 6, 6, 9]);
        let filled: Vec<_> = filled.iter().map(|json| std::str::from_utf8(&json.bytes).unwrap()).collect();
        assert_eq!(filled, ["<,a>", "<,b>", "", "<,c>"]);
    }
}
