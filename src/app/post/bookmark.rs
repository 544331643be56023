//! Bookmarks: posts that users keep for themselves. No one else sees them, and they change nothing about the post.
//!
//! A bookmark is in the user's slot only, so one script writes it. A deleted post stays bookmarked: readers leave it
//! out, like a post that is hidden from the viewer, and it counts towards the limit until the user removes the
//! bookmark.

use crate::app::App;
use crate::app::error::{Error, Reason};
use crate::app::post::reaction::too_many;
use crate::app::viewer::Viewer;
use crate::model::id::PostId;
use crate::store::Feature;
use crate::store::ordered::{self, Added, ORDERED};

impl App {
    /// Bookmarks a post that the viewer may see. Idempotent; a repeated bookmark keeps its place. A new one takes a
    /// token from the viewer's bucket of reactions. Makes three round trips, plus one archive query unless the post is
    /// hot.
    pub async fn bookmark(&self, viewer: &Viewer, post: PostId) -> Result<(), Error> {
        let user = viewer.signed_in()?.user;
        self.check_visible(viewer, post).await?;
        self.enter(Feature::Reactions).await?;
        let (bookmarks, bucket) = (self.keys().bookmarks(user), self.keys().reactions_of(user));
        let now = self.now();
        let add =
            ordered::add(&bookmarks, post, now, Some(ORDERED), &bucket, Some((self.reaction_limit(), now)));
        match add.send("bookmark", self.store()).await? {
            Added::Added | Added::Present => Ok(()),
            Added::Full => {
                let message = format!("You have {ORDERED} bookmarks, the maximum.");
                let limit = u32::try_from(ORDERED).unwrap_or(u32::MAX);
                Err(Error::at_limit(Reason::ListLimit, limit, message))
            }
            Added::Throttled(throttled) => Err(too_many(throttled)),
        }
    }

    /// Removes the viewer's bookmark of a post, whether or not the post still exists. Idempotent. Makes one round trip.
    pub async fn remove_bookmark(&self, viewer: &Viewer, post: PostId) -> Result<(), Error> {
        let bookmarks = self.keys().bookmarks(viewer.signed_in()?.user);
        ordered::remove(&bookmarks, post).send("remove bookmark", self.store()).await?;
        Ok(())
    }
}
