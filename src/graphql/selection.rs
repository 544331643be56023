//! Look-ahead: determines what is selected.
//!
//! Not here: the data of users that it needs (`types::selection`).

use std::sync::Arc;

use async_graphql::Context;
use async_graphql::parser::types::{Field, Selection, SelectionSet};

use crate::app::error::Error;
use crate::graphql::page::Filled;

/// The selections of a field at one place, from all types that the place may have.
///
/// Documents have no other fragments when they are executed (`document::operation`).
#[derive(Clone)]
pub(super) struct Selected<'a>(Vec<&'a Field>);

impl<'a> Selected<'a> {
    /// Returns the selection that is being resolved.
    pub(super) fn of(context: &Context<'a>) -> Self {
        Self(vec![&context.item.node])
    }

    /// Returns a selection.
    pub(super) fn one(field: &'a Field) -> Self {
        Self(vec![field])
    }

    /// Returns the selections of a field of the selected values.
    pub(super) fn field(&self, name: &str) -> Self {
        let mut fields = Vec::new();
        for field in &self.0 {
            add(name, &field.selection_set.node, &mut fields);
        }
        Self(fields)
    }

    /// Returns the selections of a connection's nodes.
    pub(super) fn nodes(&self) -> [Self; 2] {
        [self.field("edges").field("node"), self.field("nodes")]
    }

    /// Returns true if there is a selection.
    pub(super) fn exists(&self) -> bool {
        !self.0.is_empty()
    }
}

/// Adds the selections of a field with this name.
fn add<'a>(name: &str, selections: &'a SelectionSet, fields: &mut Vec<&'a Field>) {
    for selection in &selections.items {
        match &selection.node {
            Selection::Field(field) if field.node.name.node == name => fields.push(&field.node),
            Selection::InlineFragment(fragment) => add(name, &fragment.node.selection_set.node, fields),
            Selection::Field(_) | Selection::FragmentSpread(_) => {}
        }
    }
}

/// The selected parts of a connection.
#[derive(Clone, Copy)]
pub(super) struct Wants {
    pub(super) nodes: bool,
    page: bool,
    count: bool,
}

impl Wants {
    pub(super) fn of(selection: &Selected<'_>) -> Self {
        let nodes = selection.field("edges").exists() || selection.field("nodes").exists();
        Self {
            nodes,
            page: nodes || selection.field("pageInfo").exists(),
            count: selection.field("totalCount").exists(),
        }
    }

    /// Loads the page if it is selected; otherwise returns an empty page.
    pub(super) async fn fill<E, N>(
        self,
        filled: impl Future<Output = Result<Filled<E, N>, Error>>,
    ) -> Result<Filled<E, N>, Error> {
        if self.page { filled.await } else { Ok(Filled::empty()) }
    }

    /// Loads the pages of `count` connections if pages are selected; otherwise returns empty pages.
    pub(super) async fn fill_all<E, N>(
        self,
        count: usize,
        filled: impl Future<Output = Result<Vec<Filled<E, N>>, Error>>,
    ) -> Result<Vec<Filled<E, N>>, Error> {
        if self.page { filled.await } else { Ok((0..count).map(|_| Filled::empty()).collect()) }
    }

    /// Loads the counts of several connections if the count is selected. A failure is left to the count's resolver,
    /// because it must not take the page away.
    pub(super) async fn counts(
        self,
        counts: impl Future<Output = Result<Arc<[u64]>, Error>>,
    ) -> Option<Arc<[u64]>> {
        if self.count { counts.await.ok() } else { None }
    }

    /// Loads the count into the loader's cache if the count is selected. A failure is left to the count's resolver.
    pub(super) async fn count(self, count: impl Future<Output = Result<u64, Error>>) {
        if self.count {
            drop(count.await);
        }
    }
}
