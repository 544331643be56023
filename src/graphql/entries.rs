//! Lists that are as long as what is stored, as the values of fields. Their entries pay before they are made
//! (`document::entry`).
//!
//! Not here: pages of lists, whose size the document states (`page`); objects in memory, which pay in `preloaded`.

use std::borrow::Cow;

use async_graphql::parser::types::Field;
use async_graphql::registry::Registry;
use async_graphql::{Context, ContextSelectionSet, OutputType, Positioned, ServerResult, Value};

use crate::app::error::Error;
use crate::graphql::context::Scope;

/// A list whose entries are paid for.
pub(super) struct Entries<T>(Vec<T>);

impl<T> Entries<T> {
    /// Charges `count` entries of the field that is being resolved, and then makes them. Fails if the budget is
    /// exhausted.
    pub(super) fn pay(
        scope: &Scope,
        context: &Context<'_>,
        count: usize,
        make: impl FnOnce() -> Vec<T>,
    ) -> Result<Self, Error> {
        let at = context.item.pos;
        scope.admit(at, count)?;
        scope.charge_names(at, count)?;
        Ok(Self(make()))
    }
}

impl<T: OutputType> OutputType for Entries<T> {
    fn type_name() -> Cow<'static, str> {
        Vec::<T>::type_name()
    }

    fn qualified_type_name() -> String {
        Vec::<T>::qualified_type_name()
    }

    fn create_type_info(registry: &mut Registry) -> String {
        Vec::<T>::create_type_info(registry)
    }

    async fn resolve(
        &self,
        context: &ContextSelectionSet<'_>,
        field: &Positioned<Field>,
    ) -> ServerResult<Value> {
        self.0.resolve(context, field).await
    }
}
