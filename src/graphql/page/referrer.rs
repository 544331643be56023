//! Pages of the posts that refer to a post.

use std::sync::Arc;

use crate::app::error::Error;
use crate::app::visibility::{UserSelection, VisiblePost};
use crate::graphql::context::Scope;
use crate::graphql::cursor::ListOf;
use crate::graphql::page::{PartOf, Rows};
use crate::model::attachment::ReferrerKind;
use crate::model::id::PostId;
use crate::model::page::Window;

/// The posts that refer to a post, read part by part.
pub(in crate::graphql) struct Referrers<'a> {
    pub(in crate::graphql) scope: &'a Arc<Scope>,
    pub(in crate::graphql) list: ListOf<ReferrerKind>,
    /// The data to read of the authors.
    pub(in crate::graphql) author: UserSelection,
}

impl Rows for Referrers<'_> {
    type Entry = PostId;
    type Position = PostId;
    type Node = VisiblePost;

    // At rest, only blocks hide listed entries. Each refill takes three round trips.
    const REFILLS: &'static [usize] = &[200];

    async fn part(&self, window: Window<PostId>) -> Result<PartOf<Self>, Error> {
        let ListOf { kind, owner: target } = self.list;
        let found = self.scope.visible().referrers((target, kind), window, self.author).await?;
        Ok(PartOf::<Self>::of_referrers(found))
    }
}
