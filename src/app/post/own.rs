//! Finds the posts that an author wants to delete or edit.

use std::sync::Arc;

use crate::app::App;
use crate::app::archive::Listed;
use crate::app::error::{Error, Field, Reason};
use crate::app::viewer::Viewer;
use crate::app::visibility::{UserSelection, Visible};
use crate::archive::post::Row;
use crate::model::id::{PostId, UserId};
use crate::model::post::Post;
use crate::store::batch::Batch;
use crate::store::post::{self, Location, Record};

/// The state of a post, for its author.
pub(super) enum OwnPost {
    /// The post's record is in Redis.
    Hot(Post),
    /// The post is in the archive.
    Archived(Post),
    /// The post has already been deleted.
    Deleted,
    /// The post does not exist, or belongs to another user.
    NotOwn,
}

impl App {
    /// Returns the state of a post. Makes one round trip, plus an archive query unless the post is listed as hot.
    pub(super) async fn find_own(&self, author: UserId, id: PostId) -> Result<OwnPost, Error> {
        let mut batch = Batch::new("own: post");
        let record = batch.push(post::read(self.keys(), id));
        let whereabouts = batch.push(post::find(self.keys(), author, id));
        let mut replies = batch.send(self.store()).await?;
        let whereabouts = replies.take(whereabouts)?;
        match replies.take(record)? {
            Record::Tombstone { author: other, .. } if other == author => Ok(OwnPost::Deleted),
            Record::Tombstone { .. } | Record::Revoked { .. } => Ok(OwnPost::NotOwn),
            Record::Live(post) if post.author != author => {
                // As for a post that does not exist.
                self.read_row(id).await?;
                Ok(OwnPost::NotOwn)
            }
            Record::Live(post) => match whereabouts {
                Location::Listed => Ok(OwnPost::Hot(post)),
                // The post is being archived or was never visible.
                Location::Cold if self.read_row(id).await?.is_some_and(|row| row.author() == author) => {
                    Ok(OwnPost::Hot(post))
                }
                Location::Cold | Location::Absent => Ok(OwnPost::NotOwn),
            },
            Record::Missing => match self.read_row(id).await? {
                Some(Row::Live(post)) if post.author == author => Ok(OwnPost::Archived(post)),
                Some(Row::Tombstone { author: other, .. }) if other == author => Ok(OwnPost::Deleted),
                Some(_) | None => Ok(OwnPost::NotOwn),
            },
        }
    }

    async fn read_row(&self, id: PostId) -> Result<Option<Row>, Error> {
        Ok(self.archive().await?.read(&[id]).await?.pop())
    }

    /// Returns the error about a post that does not exist or belongs to another user. The two are not distinguishable
    /// if the viewer may not see the post. Makes two round trips, plus an archive query unless the post is hot.
    pub(super) async fn not_own(&self, viewer: &Viewer, id: PostId) -> Result<Error, Error> {
        let visible = Visible { app: self, load: self, viewer };
        let post = Arc::new([Listed::Id(id)]);
        let found = visible.posts(post, UserSelection::NONE).await?;
        // A post by the viewer is not visible yet, or not any more.
        let is_foreign = found.iter().flatten().any(|found| Some(found.post.author) != viewer.user());
        Ok(if is_foreign { foreign() } else { missing() })
    }
}

/// Returns the error about a post that does not exist.
pub(super) fn missing() -> Error {
    Error::rule(Reason::NotFound, Field::PostId, "This post does not exist.")
}

fn foreign() -> Error {
    Error::rule(Reason::NotYours, Field::PostId, "This post belongs to another user.")
}
