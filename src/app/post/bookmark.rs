//! Bookmarks: posts that users keep for themselves. No one else sees them, and they change nothing about the post.
//!
//! A bookmark is in the user's slot only, so one script writes it. A deleted post stays bookmarked: readers leave it
//! out, like a post that is hidden from the viewer, and it counts towards the limit until the user removes the
//! bookmark.

use std::sync::Arc;

use crate::app::App;
use crate::app::archive::Listed;
use crate::app::error::{Error, Reason};
use crate::app::post::own::missing;
use crate::app::read::{Load, Pending, Read, Requests};
use crate::app::throttle::{limit, throttled};
use crate::app::viewer::Viewer;
use crate::app::visibility::{UserSelection, Visible};
use crate::model::id::{PostId, UserId};
use crate::model::page::{Page, Position, Window};
use crate::store::Feature;
use crate::store::bucket::{Limit, Throttled};
use crate::store::ordered::{self, Added, ORDERED};

/// A page of a user's bookmarks, newest first, including posts that do not exist or that the user may not see.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BookmarkPage {
    /// The user.
    pub user: UserId,
    /// Requested page.
    pub window: Window<Position<PostId>>,
}

impl Read for BookmarkPage {
    type Value = Arc<Page<Position<PostId>>>;

    fn request(&self, requests: &mut Requests<'_>) -> Pending<Self::Value> {
        let bookmarks = requests.keys().bookmarks(self.user);
        let page = requests.push(ordered::page(&bookmarks, &self.window));
        Pending::hot(move |responses| Ok(Arc::new(responses.replies.take(page)?)))
    }
}

impl<L: Load> Visible<'_, L> {
    /// Returns a page of the viewer's bookmarks, including posts that the viewer may not see. Makes one round trip.
    pub async fn unfiltered_bookmark_page(
        &self,
        window: Window<Position<PostId>>,
    ) -> Result<Arc<Page<Position<PostId>>>, Error> {
        let user = self.viewer.signed_in()?.user;
        self.load.load(BookmarkPage { user, window }).await
    }
}

impl App {
    /// Bookmarks a post that the viewer may see. Idempotent; a repeated bookmark keeps its place. A new one takes a
    /// token from the viewer's bucket of reactions. Makes three round trips, plus one archive query unless the post is
    /// hot.
    pub async fn bookmark(&self, viewer: &Viewer, post: PostId) -> Result<(), Error> {
        let user = viewer.signed_in()?.user;
        let visible = Visible { app: self, load: self, viewer };
        let found = visible.posts(Arc::new([Listed::Id(post)]), UserSelection::NONE).await?;
        if found.iter().flatten().next().is_none() {
            return Err(missing());
        }
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
            Added::Throttled(Throttled(wait)) => Err(throttled(wait, "You have reacted to posts too often.")),
        }
    }

    /// Removes the viewer's bookmark of a post, whether or not the post still exists. Idempotent. Makes one round trip.
    pub async fn remove_bookmark(&self, viewer: &Viewer, post: PostId) -> Result<(), Error> {
        let bookmarks = self.keys().bookmarks(viewer.signed_in()?.user);
        ordered::remove(&bookmarks, post).send("remove bookmark", self.store()).await?;
        Ok(())
    }

    /// Returns the limit of the posts to which a user reacts.
    fn reaction_limit(&self) -> Limit {
        limit(self.0.rules.timeline.post_reactions_per_user)
    }
}
