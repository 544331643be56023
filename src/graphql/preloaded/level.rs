//! Writes the objects of one level of a selection.
//!
//! A level is a selection on one type. All of its objects are written before anything is read. The reads that their
//! fields need are then made for all objects together, and the values are inserted.

use std::collections::HashMap;
use std::hash::Hash;

use async_graphql::parser::types::{Field, Selection, SelectionSet};
use async_graphql::{Pos, Positioned};
use futures::future::{BoxFuture, FutureExt as _, join_all};

use super::text::{Insert, Json};
use super::{Leaf, Preloaded, Writer, writer};
use crate::budget::Resource;

/// Where a field's value comes from.
pub(in crate::graphql) enum Source<'a, T> {
    /// From memory.
    Memory(Writer<T>),
    /// From a level below this one.
    Below(Box<dyn Below<'a, T> + 'a>),
    /// From the field's resolver.
    Resolver,
}

/// Values that are written as far as they are in memory, and then completed for all objects together.
pub(in crate::graphql) trait Below<'a, T>: Send + Sync {
    /// Writes the value of an object; returns `None` if that is impossible.
    fn write(&mut self, object: &'a T, json: &mut Json) -> Option<()>;

    /// Returns the missing texts; `None` if one of them cannot be loaded.
    fn complete(self: Box<Self>) -> BoxFuture<'a, Option<Vec<Insert>>>;

    /// Returns a writer if the whole value is in memory.
    fn into_writer(self: Box<Self>) -> Option<Writer<T>> {
        None
    }
}

/// A selection on one type.
pub(super) struct Level<'a, T> {
    fields: Vec<Planned<'a, T>>,
}

/// A selected field.
struct Planned<'a, T> {
    /// The text before the field's value, such as `,"username":`.
    key: String,
    source: Source<'a, T>,
    field: &'a Positioned<Field>,
}

impl<'a, T: Preloaded> Level<'a, T> {
    /// Plans a selection; `None` if it contains anything but fields.
    pub(super) fn plan(selections: &'a SelectionSet) -> Option<Self> {
        let fields = selections.items.iter().enumerate().map(|(index, selection)| {
            let Selection::Field(field) = &selection.node else { return None };
            let before = if index == 0 { "{\"" } else { ",\"" };
            let key = [before, &field.node.response_key().node, "\":"].concat();
            Some(Planned { key, source: source(&field.node), field })
        });
        fields.collect::<Option<_>>().map(|fields| Self { fields })
    }

    /// Plans a selection of which no field needs its resolver; otherwise `None`.
    pub(super) fn plan_whole(selections: &'a SelectionSet) -> Option<Self> {
        Self::plan(selections).filter(|level| level.resolved().next().is_none())
    }

    /// Returns the fields that need their resolvers, in order.
    pub(super) fn resolved(&self) -> impl Iterator<Item = &'a Positioned<Field>> {
        let resolved =
            |planned: &Planned<'a, T>| matches!(planned.source, Source::Resolver).then_some(planned.field);
        self.fields.iter().filter_map(resolved)
    }

    /// Writes an object, like [`Self::write`], and charges its text to the budget.
    pub(super) fn write_charged(
        &mut self,
        object: &'a T,
        json: &mut Json,
        gaps: &mut Vec<usize>,
    ) -> Option<()> {
        let start = json.len();
        self.write(object, json, gaps)?;
        charge(object, json.len() - start)
    }

    /// Writes an object. Adds the positions of the values that resolvers must return to `gaps`.
    fn write(&mut self, object: &'a T, json: &mut Json, gaps: &mut Vec<usize>) -> Option<()> {
        for Planned { key, source, .. } in &mut self.fields {
            json.push(key);
            match source {
                Source::Memory(write) => write(object, json)?,
                Source::Below(below) => below.write(object, json)?,
                Source::Resolver => gaps.push(json.len()),
            }
        }
        json.push("}");
        Some(())
    }

    /// Returns the texts that are missing in the objects; `None` if one of them cannot be loaded.
    pub(super) async fn complete(self) -> Option<Vec<Insert>> {
        let below = self.fields.into_iter().filter_map(|planned| match planned.source {
            Source::Below(below) => Some(below.complete()),
            Source::Memory(_) | Source::Resolver => None,
        });
        let inserts = join_all(below).await.into_iter().collect::<Option<Vec<_>>>()?;
        Some(inserts.into_iter().flatten().collect())
    }

    /// Returns the writers of all fields; `None` if one of them needs a read.
    pub(super) fn into_memory(self) -> Option<Vec<(String, Writer<T>)>> {
        let fields = self.fields.into_iter().map(|Planned { key, source, .. }| match source {
            Source::Memory(write) => Some((key, write)),
            Source::Below(below) => below.into_writer().map(|write| (key, write)),
            Source::Resolver => None,
        });
        fields.collect()
    }
}

fn source<T: Preloaded>(field: &Field) -> Source<'_, T> {
    match field.name.node.as_str() {
        "__typename" => Source::Memory(writer(|_: &T, json| json.value(&T::type_name()))),
        _ if field.directives.is_empty() => T::source(field),
        _ => Source::Resolver,
    }
}

/// Charges text to the budget of the object that it belongs to; returns `None` if the budget is exhausted.
fn charge<T: Preloaded>(object: &T, length: usize) -> Option<()> {
    match object.scope() {
        Some(scope) => scope.budget().spend(Resource::ResponseBytes, length as u64).ok(),
        None => Some(()),
    }
}

/// Writes the objects at these indexes, each as a text of its own, with the values that must be loaded; `None` if that
/// is impossible. Writes an object once, however often its index occurs.
async fn write_each<'a, T: Preloaded>(
    objects: &'a [T],
    indexes: &[usize],
    field: &'a Field,
) -> Option<Vec<Json>> {
    let mut level = Level::plan_whole(&field.selection_set.node)?;
    let (mut json, mut ends) = (Json::default(), Vec::with_capacity(objects.len()));
    for object in objects {
        level.write_charged(object, &mut json, &mut Vec::new())?;
        ends.push(json.len());
    }
    let texts = json.fill(level.complete().await?, &ends);
    let mut is_charged = vec![true; objects.len()];
    let text = |index: &usize| {
        // The first occurrence is charged already, and so are the texts that were inserted into it.
        if !std::mem::replace(&mut is_charged[*index], false) {
            charge(&objects[*index], texts[*index].len())?;
        }
        Some(texts[*index].clone())
    };
    indexes.iter().map(text).collect()
}

/// Returns the source of a field whose value is an object in memory.
pub(in crate::graphql) fn object<T: 'static, N: Preloaded>(
    field: &Field,
    get: fn(&T) -> &N,
) -> Source<'_, T> {
    match Level::plan_whole(&field.selection_set.node) {
        Some(level) => Source::Below(Box::new(ObjectBelow { get, level })),
        None => Source::Resolver,
    }
}

/// Returns the source of a field whose value is a list of objects in memory.
pub(in crate::graphql) fn objects<T: 'static, N: Preloaded>(
    field: &Field,
    get: fn(&T) -> Vec<&N>,
) -> Source<'_, T> {
    match Level::plan_whole(&field.selection_set.node) {
        Some(level) => Source::Below(Box::new(ObjectsBelow { at: field.name.pos, get, level })),
        None => Source::Resolver,
    }
}

/// Returns the source of a field whose values are loaded for all objects together. `load` returns the values of
/// distinct objects, in their order, or `None` if the field's resolver must resolve them. Objects with the same id are
/// equal.
pub(in crate::graphql) fn loaded<'a, T, N, I, F>(
    field: &'a Field,
    id: fn(&T) -> I,
    load: impl FnOnce(Vec<&'a T>) -> F + Send + Sync + 'a,
) -> Source<'a, T>
where
    T: Sync + 'static,
    N: Preloaded,
    I: Eq + Hash + Send + 'static,
    F: Future<Output = Option<Vec<N>>> + Send + 'a,
{
    if Level::<N>::plan_whole(&field.selection_set.node).is_none() {
        return Source::Resolver;
    }
    let load = move |objects: Vec<&'a T>| {
        let (distinct, indexes) = distinct(objects, id);
        let values = load(distinct);
        async move { write_each(&values.await?, &indexes, field).await }.boxed()
    };
    Source::Below(Box::new(LoadedBelow { load, waiting: Vec::new() }))
}

/// Returns the source of a field without subfields whose values are loaded for all objects together, as by [`loaded`].
pub(in crate::graphql) fn loaded_leaf<'a, T, L, I, F>(
    id: fn(&T) -> I,
    load: impl FnOnce(Vec<&'a T>) -> F + Send + Sync + 'a,
) -> Source<'a, T>
where
    T: Preloaded,
    L: Leaf,
    I: Eq + Hash + Send + 'static,
    F: Future<Output = Option<Vec<L>>> + Send + 'a,
{
    let load = move |objects: Vec<&'a T>| {
        let (distinct, indexes) = distinct(objects.clone(), id);
        let values = load(distinct);
        async move { write_leaves(values.await?, &indexes, &objects) }.boxed()
    };
    Source::Below(Box::new(LoadedBelow { load, waiting: Vec::new() }))
}

/// Writes the value with each of these indexes, and charges it to the object that it belongs to.
fn write_leaves<T: Preloaded, L: Leaf>(
    values: Vec<L>,
    indexes: &[usize],
    objects: &[&T],
) -> Option<Vec<Json>> {
    let text = |value: L| {
        let mut json = Json::default();
        value.write(&mut json).map(|()| json)
    };
    let texts = values.into_iter().map(text).collect::<Option<Vec<_>>>()?;
    let charged = |(index, object): (&usize, &&T)| {
        charge(*object, texts[*index].len())?;
        Some(texts[*index].clone())
    };
    indexes.iter().zip(objects).map(charged).collect()
}

/// Returns the first object with each id, and the index among them for each of the objects.
fn distinct<T, I: Eq + Hash>(objects: Vec<&T>, id: fn(&T) -> I) -> (Vec<&T>, Vec<usize>) {
    let (mut distinct, mut known) = (Vec::new(), HashMap::new());
    let mut index = |object| {
        *known.entry(id(object)).or_insert_with(|| {
            distinct.push(object);
            distinct.len() - 1
        })
    };
    let indexes = objects.into_iter().map(&mut index).collect();
    (distinct, indexes)
}

struct ObjectBelow<'a, T, N> {
    get: fn(&T) -> &N,
    level: Level<'a, N>,
}

impl<'a, T: 'static, N: Preloaded> Below<'a, T> for ObjectBelow<'a, T, N> {
    fn write(&mut self, object: &'a T, json: &mut Json) -> Option<()> {
        self.level.write((self.get)(object), json, &mut Vec::new())
    }

    fn complete(self: Box<Self>) -> BoxFuture<'a, Option<Vec<Insert>>> {
        self.level.complete().boxed()
    }

    fn into_writer(self: Box<Self>) -> Option<Writer<T>> {
        let Self { get, level } = *self;
        let fields = level.into_memory()?;
        Some(writer(move |object: &T, json| write_fields(&fields, get(object), json)))
    }
}

struct ObjectsBelow<'a, T, N> {
    /// Position of the field in the document.
    at: Pos,
    get: fn(&T) -> Vec<&N>,
    level: Level<'a, N>,
}

impl<'a, T: 'static, N: Preloaded> Below<'a, T> for ObjectsBelow<'a, T, N> {
    fn write(&mut self, object: &'a T, json: &mut Json) -> Option<()> {
        let objects = (self.get)(object);
        if let Some(scope) = objects.first().and_then(|first| first.scope()) {
            scope.admit(self.at, objects.len()).ok()?;
        }
        write_list(&objects, json, |object, json| self.level.write(object, json, &mut Vec::new()))
    }

    fn complete(self: Box<Self>) -> BoxFuture<'a, Option<Vec<Insert>>> {
        self.level.complete().boxed()
    }
}

struct LoadedBelow<'a, T, L> {
    load: L,
    /// The objects whose values are missing, each with the value's position.
    waiting: Vec<(usize, &'a T)>,
}

impl<'a, T, L> Below<'a, T> for LoadedBelow<'a, T, L>
where
    T: Sync + 'a,
    L: FnOnce(Vec<&'a T>) -> BoxFuture<'a, Option<Vec<Json>>> + Send + Sync + 'a,
{
    fn write(&mut self, object: &'a T, json: &mut Json) -> Option<()> {
        self.waiting.push((json.len(), object));
        Some(())
    }

    fn complete(self: Box<Self>) -> BoxFuture<'a, Option<Vec<Insert>>> {
        let Self { load, waiting } = *self;
        let (positions, objects): (Vec<usize>, Vec<&T>) = waiting.into_iter().unzip();
        if objects.is_empty() {
            return futures::future::ready(Some(Vec::new())).boxed();
        }
        let texts = load(objects);
        async move {
            let inserts = positions.into_iter().zip(texts.await?);
            Some(inserts.map(|(at, text)| Insert { at, text }).collect())
        }
        .boxed()
    }
}

/// Writes an object whose fields are all in memory.
pub(super) fn write_fields<T>(fields: &[(String, Writer<T>)], object: &T, json: &mut Json) -> Option<()> {
    for (key, write) in fields {
        json.push(key);
        write(object, json)?;
    }
    json.push("}");
    Some(())
}

/// Writes a list.
pub(super) fn write_list<'a, T>(
    objects: &[&'a T],
    json: &mut Json,
    mut write: impl FnMut(&'a T, &mut Json) -> Option<()>,
) -> Option<()> {
    json.push("[");
    let start = json.len();
    for (index, object) in objects.iter().enumerate() {
        if index > 0 {
            json.push(",");
        }
        if index == 1 {
            // The other objects are about as large as the first.
            json.reserve((json.len() - start) * objects.len());
        }
        write(object, json)?;
    }
    json.push("]");
    Some(())
}
