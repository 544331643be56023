//! Resolves lists of preloaded objects synchronously, as JSON text.
//!
//! # Why
//! async-graphql creates a boxed future, a context and a map entry for each field of each object. In a list whose
//! objects are in memory, that work exceeds all others. A [`List`] plans its selection once, and writes every field
//! that is in memory into one string. Only the remaining fields are resolved as futures, all of them concurrently.
//!
//! The text becomes a raw value: serde writes it as it is.
//!
//! Not here: loading the objects (`page`), or resolving single objects (`async_graphql::Object`).

use std::borrow::Cow;

use async_graphql::parser::types::{Field, Selection, SelectionSet};
use async_graphql::registry::Registry;
use async_graphql::{
    ContainerType, ContextSelectionSet, Name, OutputType, Positioned, ScalarType, ServerResult, Value,
};
use async_graphql_value::RAW_VALUE_TOKEN;
use futures::future::{BoxFuture, FutureExt as _, try_join_all};

use crate::budget::Resource;
use crate::graphql::context::Scope;

/// An object whose fields may be in memory.
pub(super) trait Preloaded: ContainerType {
    /// Returns the function that writes a field; `None` if the field's resolver must resolve it.
    fn writer(field: &Field) -> Option<Writer<Self>>;

    /// Returns the scope whose budget the object's text is charged to.
    fn scope(&self) -> &Scope;
}

/// Writes a field of an object; returns `None` if the field is not in memory.
pub(super) type Writer<T> = Box<dyn Fn(&T, &mut Json) -> Option<()> + Send + Sync>;

/// Creates the writer of a field.
#[expect(clippy::unnecessary_wraps, reason = "it is a result of `Preloaded::writer`")]
pub(super) fn writer<T>(
    write: impl Fn(&T, &mut Json) -> Option<()> + Send + Sync + 'static,
) -> Option<Writer<T>> {
    Some(Box::new(write))
}

/// Creates the writer of a field whose value is an object; `None` if a selected field of that object cannot be written.
pub(super) fn nested<T, N: Preloaded + 'static>(
    field: &Field,
    value: impl Fn(&T) -> &N + Send + Sync + 'static,
) -> Option<Writer<T>> {
    let nested = Nested::of(field)?;
    writer(move |object: &T, json: &mut Json| nested.write(value(object), json))
}

/// JSON text under construction.
#[derive(Default)]
pub(super) struct Json {
    bytes: Vec<u8>,
}

impl Json {
    fn push(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// Writes a value.
    pub(super) fn value(&mut self, value: &impl serde::Serialize) -> Option<()> {
        serde_json::to_writer(&mut self.bytes, value).ok()
    }

    /// Writes a custom scalar.
    pub(super) fn scalar(&mut self, scalar: &impl ScalarType) -> Option<()> {
        self.value(&scalar.to_value())
    }

    fn into_value(self) -> Option<Value> {
        let text = Value::String(String::from_utf8(self.bytes).ok()?);
        Some(Value::Object([(Name::new(RAW_VALUE_TOKEN), text)].into_iter().collect()))
    }
}

/// The fields of a nested object, all of which can be written.
pub(super) struct Nested<T>(Vec<(String, Writer<T>)>);

impl<T: Preloaded> Nested<T> {
    /// Plans the selection of a nested object; `None` if a field must be resolved.
    pub(super) fn of(field: &Field) -> Option<Self> {
        let fields = plan(&field.selection_set.node)?.into_iter();
        let fields = fields.map(|Planned { key, source }| match source {
            Source::Memory(write) => Some((key, write)),
            Source::Resolver(_) => None,
        });
        fields.collect::<Option<Vec<_>>>().map(Self)
    }

    /// Writes the object.
    pub(super) fn write(&self, object: &T, json: &mut Json) -> Option<()> {
        for (key, write) in &self.0 {
            json.push(key);
            write(object, json)?;
        }
        json.push("}");
        Some(())
    }
}

/// A selected field.
struct Planned<'a, T> {
    /// The text before the field's value, such as `,"username":`.
    key: String,
    source: Source<'a, T>,
}

enum Source<'a, T> {
    Memory(Writer<T>),
    Resolver(&'a Positioned<Field>),
}

/// Plans a selection; `None` if it contains anything but fields.
fn plan<T: Preloaded>(selections: &SelectionSet) -> Option<Vec<Planned<'_, T>>> {
    let fields = selections.items.iter().enumerate().map(|(index, selection)| {
        let Selection::Field(field) = &selection.node else { return None };
        let before = if index == 0 { '{' } else { ',' };
        let key = format!("{before}\"{}\":", field.node.response_key().node);
        let source = match writer_of(&field.node) {
            Some(write) => Source::Memory(write),
            None => Source::Resolver(field),
        };
        Some(Planned { key, source })
    });
    fields.collect()
}

fn writer_of<T: Preloaded>(field: &Field) -> Option<Writer<T>> {
    match field.name.node.as_str() {
        "__typename" => writer(|_: &T, json| json.value(&T::type_name())),
        _ if field.directives.is_empty() => T::writer(field),
        _ => None,
    }
}

/// A list of preloaded objects, as a field's value.
pub(super) struct List<'a, T>(pub(super) Vec<&'a T>);

/// A preloaded object, as a field's value.
pub(super) struct One<'a, T>(pub(super) &'a T);

/// The text of one or several objects, and what is missing in it.
struct Written {
    json: Json,
    /// The positions at which the values of the remaining fields belong.
    gaps: Vec<usize>,
    /// Length of the text already charged to the budget, in bytes.
    charged: usize,
}

impl Written {
    fn new(start: &str) -> Self {
        let mut json = Json::default();
        json.push(start);
        Self { json, gaps: Vec::new(), charged: 0 }
    }

    /// Writes an object.
    fn push<T: Preloaded>(&mut self, object: &T, plan: &[Planned<'_, T>]) -> Option<()> {
        for Planned { key, source } in plan {
            self.json.push(key);
            match source {
                Source::Memory(write) => write(object, &mut self.json)?,
                Source::Resolver(_) => self.gaps.push(self.json.bytes.len()),
            }
        }
        self.json.push("}");
        // Object by object, so that the text never exceeds the budget by much.
        let length = self.json.bytes.len();
        let written = length - std::mem::replace(&mut self.charged, length);
        object.scope().budget().spend(Resource::ResponseBytes, written as u64).ok()
    }

    /// Inserts values into the gaps.
    fn fill(self, values: &[Value]) -> Option<Value> {
        if self.gaps.is_empty() {
            return self.json.into_value();
        }
        let (text, mut filled, mut start) = (self.json.bytes, Json::default(), 0);
        for (gap, value) in self.gaps.into_iter().zip(values) {
            filled.bytes.extend_from_slice(&text[start..gap]);
            filled.value(value)?;
            start = gap;
        }
        filled.bytes.extend_from_slice(&text[start..]);
        filled.into_value()
    }
}

/// Returns the fields of a plan that are not in memory, in order.
fn rest<'a, T>(plan: &[Planned<'a, T>]) -> Vec<&'a Positioned<Field>> {
    let rest = plan.iter().filter_map(|planned| match planned.source {
        Source::Memory(_) => None,
        Source::Resolver(field) => Some(field),
    });
    rest.collect()
}

/// Resolves these fields of an object.
fn resolve<'a, T: Preloaded>(
    context: &'a ContextSelectionSet<'a>,
    object: &'a T,
    fields: &'a [&'a Positioned<Field>],
) -> impl Iterator<Item = BoxFuture<'a, ServerResult<Value>>> {
    fields.iter().map(move |field| {
        let resolving = async move {
            let value = object.resolve_field(&context.with_field(field)).await;
            value.map(Option::unwrap_or_default)
        };
        resolving.boxed()
    })
}

impl<T: Preloaded> List<'_, T> {
    fn write(&self, plan: &[Planned<'_, T>]) -> Option<Written> {
        let mut written = Written::new("[");
        for (index, object) in self.0.iter().enumerate() {
            if index > 0 {
                written.json.push(",");
            }
            written.push(*object, plan)?;
        }
        written.json.push("]");
        Some(written)
    }

    /// Resolves these fields of all objects. Errors have the path that async-graphql would give them.
    async fn resolve_rest(
        &self,
        context: &ContextSelectionSet<'_>,
        fields: &[&Positioned<Field>],
    ) -> ServerResult<Vec<Value>> {
        let resolve_one = |(index, object)| async move {
            let context = context.with_index(index);
            let values = try_join_all(resolve(&context, object, fields)).await;
            values.map_err(|error| context.set_error_path(error))
        };
        let objects = self.0.iter().copied().enumerate();
        Ok(try_join_all(objects.map(resolve_one)).await?.concat())
    }
}

impl<T: Preloaded> OutputType for List<'_, T> {
    fn type_name() -> Cow<'static, str> {
        Vec::<&T>::type_name()
    }

    fn qualified_type_name() -> String {
        Vec::<&T>::qualified_type_name()
    }

    fn create_type_info(registry: &mut Registry) -> String {
        Vec::<&T>::create_type_info(registry)
    }

    async fn resolve(
        &self,
        context: &ContextSelectionSet<'_>,
        field: &Positioned<Field>,
    ) -> ServerResult<Value> {
        if let Some(plan) = plan(&context.item.node)
            && let Some(written) = self.write(&plan)
        {
            let values = match &*rest(&plan) {
                [] => Vec::new(),
                fields => self.resolve_rest(context, fields).boxed().await?,
            };
            if let Some(value) = written.fill(&values) {
                return Ok(value);
            }
        }
        // Some object is not in memory, or the budget is exhausted, which the fields' resolvers report.
        self.0.resolve(context, field).boxed().await
    }
}

impl<T: Preloaded> OutputType for One<'_, T> {
    fn type_name() -> Cow<'static, str> {
        T::type_name()
    }

    fn create_type_info(registry: &mut Registry) -> String {
        T::create_type_info(registry)
    }

    async fn resolve(
        &self,
        context: &ContextSelectionSet<'_>,
        field: &Positioned<Field>,
    ) -> ServerResult<Value> {
        if let Some(plan) = plan(&context.item.node) {
            let mut written = Written::new("");
            if written.push(self.0, &plan).is_some() {
                let fields = rest(&plan);
                let values = try_join_all(resolve(context, self.0, &fields)).boxed().await?;
                if let Some(value) = written.fill(&values) {
                    return Ok(value);
                }
            }
        }
        self.0.resolve(context, field).boxed().await
    }
}
