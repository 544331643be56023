//! Serializes response values as JSON.
//!
//! Lists of preloaded objects are JSON text already (`graphql::preloaded`). In a response, such a text is an object
//! with one field, as the feature `raw_value` of async-graphql defines it. This module copies the text; the library
//! would parse it again.

use async_graphql::{Name, Value};
use async_graphql_value::RAW_VALUE_TOKEN;
use serde::ser::{Serialize, SerializeMap as _, SerializeStruct as _, Serializer};

/// Returns a value that is written as this JSON text.
pub(super) fn raw(text: String) -> Value {
    Value::Object([(Name::new(RAW_VALUE_TOKEN), Value::String(text))].into_iter().collect())
}

/// Returns the JSON text of a value that is one.
pub(crate) fn raw_text(value: &Value) -> Option<&str> {
    match value {
        Value::Object(fields) if fields.len() == 1 => match fields.get(RAW_VALUE_TOKEN)? {
            Value::String(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

/// A value that is serialized as JSON. Only serde_json writes JSON texts as they are.
pub(crate) struct AsJson<'a>(pub(crate) &'a Value);

impl Serialize for AsJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Some(text) = raw_text(self.0) {
            let mut raw = serializer.serialize_struct(RAW_VALUE_TOKEN, 1)?;
            raw.serialize_field(RAW_VALUE_TOKEN, text)?;
            return raw.end();
        }
        match self.0 {
            Value::List(values) => serializer.collect_seq(values.iter().map(AsJson)),
            Value::Object(fields) => {
                let mut map = serializer.serialize_map(Some(fields.len()))?;
                fields.iter().try_for_each(|(name, value)| map.serialize_entry(name, &AsJson(value)))?;
                map.end()
            }
            value => value.serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_serialized_as_the_library_does_it() {
        let text = r#"[{"list":[1,null],"name":"a \"b\" ä\n"},{}]"#;
        let plain = Value::from_json(serde_json::from_str(text).unwrap()).unwrap();
        let fields = [
            (Name::new("raw"), raw(text.to_owned())),
            (Name::new("plain"), plain),
            (Name::new("list"), Value::List(vec![raw(text.to_owned()), Value::Null, Value::from(1.5)])),
        ];
        let value = Value::Object(fields.into_iter().collect());
        let json = serde_json::to_string(&AsJson(&value)).unwrap();
        assert_eq!(json, serde_json::to_string(&value).unwrap());
        assert_eq!(json, format!(r#"{{"raw":{text},"plain":{text},"list":[{text},null,1.5]}}"#));
    }
}
