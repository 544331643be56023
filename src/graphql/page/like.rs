//! Pages of the users who like a post.

use std::sync::Arc;

use crate::app::error::Error;
use crate::app::visibility::{UserSelection, VisibleUser};
use crate::graphql::context::Scope;
use crate::graphql::page::{PartOf, Rows};
use crate::model::id::{PostId, UserId};
use crate::model::like::Like;
use crate::model::page::Window;

/// The users who like a post, read part by part.
pub(in crate::graphql) struct Likes<'a> {
    pub(in crate::graphql) scope: &'a Arc<Scope>,
    pub(in crate::graphql) post: PostId,
    pub(in crate::graphql) author: UserId,
    /// The data to read of the users.
    pub(in crate::graphql) selection: UserSelection,
}

impl Rows for Likes<'_> {
    type Entry = Like;
    type Position = Like;
    type Node = VisibleUser;

    // Beyond the newest likes, a part ends with a subtree, which has some hundred likes or fewer. Each takes three
    // round trips.
    const REFILLS: &'static [usize] = &[0, 0, 0];

    async fn part(&self, window: Window<Like>) -> Result<PartOf<Self>, Error> {
        let found = self.scope.visible().likes((self.post, self.author), window, self.selection).await?;
        Ok(PartOf::<Self>::of_likes(found))
    }
}
