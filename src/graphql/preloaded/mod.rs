//! Resolves preloaded objects synchronously, as JSON text.
//!
//! # Why
//! async-graphql creates a boxed future, a context and a map entry for each field of each object. In a list whose
//! objects are in memory, that work exceeds all others. A [`List`] plans its selection once, and writes every field
//! that is in memory into one string, however deep the selection is (`level`). Values that must be loaded, such as each
//! user's posts, are loaded for all objects of a level together. Only the remaining fields are resolved as futures, all
//! of them concurrently.
//!
//! The text becomes a raw value: serde writes it as it is.
//!
//! # When something is missing
//! If an object is not in memory, a load fails or the budget is exhausted, the fields' resolvers resolve the whole list
//! instead, and report errors as async-graphql does.
//!
//! Not here: loading the objects (`page`), or the fields' resolvers (`async_graphql::Object`).

mod fields;
mod leaf;
mod level;
mod text;

use std::borrow::Cow;
use std::sync::Arc;

use async_graphql::parser::types::Field;
use async_graphql::registry::Registry;
use async_graphql::{ContainerType, ContextSelectionSet, OutputType, Pos, Positioned, ServerResult, Value};
use futures::future::{BoxFuture, FutureExt as _, try_join, try_join_all};

use crate::app::error::Error;
use crate::graphql::context::Scope;

pub(super) use self::fields::fields;
pub(super) use self::leaf::{Leaf, name_of};
use self::level::{Level, write_fields, write_list};
pub(super) use self::level::{Source, loaded, loaded_leaf, object, objects};
use self::text::Insert;
pub(super) use self::text::Json;

/// An object whose fields may be in memory. `fields!` implements it.
pub(super) trait Preloaded: ContainerType + Sized + Send + Sync + 'static {
    /// Returns the source of a field's value.
    fn source(field: &Field) -> Source<'_, Self>;

    /// Returns the scope whose budget the object's text is charged to; `None` if it is charged with the object that
    /// contains it.
    fn scope(&self) -> Option<&Arc<Scope>>;
}

/// Writes a field of an object; returns `None` if the field is not in memory.
pub(super) type Writer<T> = Box<dyn Fn(&T, &mut Json) -> Option<()> + Send + Sync>;

/// Creates a writer.
fn writer<T>(write: impl Fn(&T, &mut Json) -> Option<()> + Send + Sync + 'static) -> Writer<T> {
    Box::new(write)
}

/// Returns the source of a field whose value is in memory. `write` returns `None` for an object that lacks it.
pub(super) fn memory<'a, T>(
    write: impl Fn(&T, &mut Json) -> Option<()> + Send + Sync + 'static,
) -> Source<'a, T> {
    Source::Memory(writer(write))
}

/// The fields of a nested object that exists only while it is written. All of them are in memory.
pub(super) struct Nested<T>(Vec<(String, Writer<T>)>);

impl<T: Preloaded> Nested<T> {
    /// Plans the selection of a nested object; `None` if a field must be resolved or loaded.
    pub(super) fn of(field: &Field) -> Option<Self> {
        Level::plan(&field.selection_set.node)?.into_memory().map(Self)
    }

    /// Writes the object.
    pub(super) fn write(&self, object: &T, json: &mut Json) -> Option<()> {
        write_fields(&self.0, object, json)
    }
}

/// Returns the source of a field whose value is a nested object.
pub(super) fn nested<T: 'static, N: Preloaded>(field: &Field, get: fn(&T) -> N) -> Source<'_, T> {
    match Nested::of(field) {
        Some(nested) => memory(move |object, json| nested.write(&get(object), json)),
        None => Source::Resolver,
    }
}

/// A list of preloaded objects, as a field's value.
pub(super) struct List<'a, T>(pub(super) Vec<&'a T>);

/// A preloaded object, as a field's value.
pub(super) struct One<'a, T>(pub(super) &'a T);

impl<T: Preloaded> List<'_, T> {
    /// Writes the list; `None` if that is impossible.
    async fn write(&self, context: &ContextSelectionSet<'_>) -> ServerResult<Option<Value>> {
        let Some(mut level) = Level::plan(&context.item.node) else { return Ok(None) };
        let (mut json, mut gaps) = (Json::default(), Vec::new());
        let write = |object, json: &mut Json| level.write_charged(object, json, &mut gaps);
        if write_list(&self.0, &mut json, write).is_none() {
            return Ok(None);
        }
        let fields: Vec<_> = level.resolved().collect();
        complete(json, level, gaps, self.resolve_rest(context, &fields)).await
    }

    /// Resolves these fields of all objects. Errors have the path that async-graphql would give them.
    async fn resolve_rest(
        &self,
        context: &ContextSelectionSet<'_>,
        fields: &[&Positioned<Field>],
    ) -> ServerResult<Vec<Value>> {
        if fields.is_empty() {
            return Ok(Vec::new());
        }
        let resolve_one = |(index, object)| async move {
            let context = context.with_index(index);
            let values = try_join_all(resolve(&context, object, fields)).await;
            values.map_err(|error| context.set_error_path(error))
        };
        let objects = self.0.iter().copied().enumerate();
        Ok(try_join_all(objects.map(resolve_one)).await?.concat())
    }
}

impl<T: Preloaded> One<'_, T> {
    /// Writes the object; `None` if that is impossible.
    async fn write(&self, context: &ContextSelectionSet<'_>) -> ServerResult<Option<Value>> {
        let Some(mut level) = Level::plan(&context.item.node) else { return Ok(None) };
        let (mut json, mut gaps) = (Json::default(), Vec::new());
        if level.write_charged(self.0, &mut json, &mut gaps).is_none() {
            return Ok(None);
        }
        let fields: Vec<_> = level.resolved().collect();
        complete(json, level, gaps, try_join_all(resolve(context, self.0, &fields))).await
    }
}

/// Inserts what is missing into a text: the values that the level loads and, at the gaps, those that resolvers return.
async fn complete<T: Preloaded>(
    json: Json,
    level: Level<'_, T>,
    gaps: Vec<usize>,
    resolved: impl Future<Output = ServerResult<Vec<Value>>>,
) -> ServerResult<Option<Value>> {
    let (inserts, values) = try_join(async { Ok(level.complete().await) }, resolved).await?;
    let filled = || {
        let text = |(at, value): (usize, Value)| Some(Insert { at, text: Json::of(&value)? });
        let mut inserts = inserts?;
        inserts.extend(gaps.into_iter().zip(values).map(text).collect::<Option<Vec<_>>>()?);
        let end = json.len();
        json.fill(inserts, &[end]).pop()?.into_value()
    };
    Ok(filled())
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
        let scope = self.0.first().and_then(|first| first.scope());
        let charge = |charge: fn(&Scope, Pos, usize) -> Result<(), Error>| {
            let charged = scope.map_or(Ok(()), |scope| charge(scope, field.pos, self.0.len()));
            charged.map_err(|error| {
                context.set_error_path(async_graphql::Error::from(error).into_server_error(field.pos))
            })
        };
        charge(Scope::admit)?;
        if let Some(value) = self.write(context).boxed().await? {
            return Ok(value);
        }
        // Written text is charged with the names in it.
        charge(Scope::charge_names)?;
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
        match self.write(context).boxed().await? {
            Some(value) => Ok(value),
            None => self.0.resolve(context, field).boxed().await,
        }
    }
}
