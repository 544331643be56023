//! Who may learn that a post was removed from a timeline: those who could see it there if it still existed.

use std::collections::HashMap;

use crate::app::error::Error;
use crate::app::read::Load;
use crate::app::visibility::{Surface, UserSelection, Visible, VisibleUser, may_see};
use crate::model::id::UserId;
use crate::model::post::Visibility;

/// A post that was removed, with what decides who could see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::app) struct RemovedPost {
    /// Id of the author.
    pub(in crate::app) author: UserId,
    /// The post's visibility.
    pub(in crate::app) visibility: Visibility,
    /// True if the post was a repost.
    pub(in crate::app) is_repost: bool,
}

/// The authors of removed posts whom a viewer may see.
pub(in crate::app) struct RemovedAuthors {
    viewer: Option<UserId>,
    authors: HashMap<UserId, VisibleUser>,
}

impl RemovedAuthors {
    /// Returns a removed post's author, with the relation to the viewer; `None` if the viewer could not see the post in
    /// this place.
    pub(in crate::app) fn of(&self, post: RemovedPost, surface: Surface) -> Option<&VisibleUser> {
        let RemovedPost { author, visibility, is_repost } = post;
        let author = self.authors.get(&author)?;
        may_see(surface, self.viewer, (visibility, is_repost), author).then_some(author)
    }
}

impl<L: Load> Visible<'_, L> {
    /// Returns those of these authors of removed posts whom the viewer may see. Makes no round trip without authors;
    /// otherwise one, and another at the same time for a viewer whom too many users block to cache.
    pub(in crate::app) async fn removed_authors(
        &self,
        authors: impl Iterator<Item = UserId>,
    ) -> Result<RemovedAuthors, Error> {
        let selection = UserSelection::NONE.with_post_access();
        let authors = self.authors(authors.collect(), 0, selection).await?;
        Ok(RemovedAuthors { viewer: self.viewer.user(), authors })
    }
}
