//! Reads of the viewer's reactions to posts.

use std::sync::Arc;

use futures::FutureExt as _;

use crate::app::archive::{Listed, StoredPost};
use crate::app::error::Error;
use crate::app::post::read::PostRecords;
use crate::app::read::{Load, Pending, Read, Requests, Responses, Shared};
use crate::app::visibility::Visible;
use crate::model::id::{PostId, UserId};
use crate::model::reaction::{ReactionSelection, Reactions};
use crate::store::ordered::{self, PROBE};

/// The selected reactions of a viewer to these posts, in their order. One command reads all of them for [`PROBE`]
/// posts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ReactionsTo {
    /// Id of the viewer.
    pub viewer: UserId,
    /// Ids of the posts.
    pub posts: Arc<[PostId]>,
    /// The reactions to read: at least one.
    pub selection: ReactionSelection,
}

impl Read for ReactionsTo {
    /// The reactions, or why they cannot be read: a read of posts does not fail because of them.
    type Value = Result<Arc<[Reactions]>, Error>;

    fn request(&self, requests: &mut Requests<'_>) -> Pending<Self::Value> {
        let ReactionSelection { bookmarked } = self.selection;
        let bookmarks = bookmarked.then(|| requests.keys().bookmarks(self.viewer));
        let sets: Vec<_> = bookmarks.into_iter().collect();
        let probe = |posts: &[PostId]| (posts.len(), requests.push(ordered::contains(&sets, posts)));
        let probes: Vec<_> = self.posts.chunks(PROBE).map(probe).collect();
        let read = move |responses: &mut Responses| {
            let mut reactions = Vec::new();
            for (count, probe) in probes {
                // A list for each set, in their order.
                let mut found = responses.replies.take(probe)?.into_iter();
                let bookmarks = if bookmarked { found.next() } else { None };
                let of =
                    |index: usize| Reactions { bookmarked: bookmarks.as_ref().map(|found| found[index]) };
                reactions.extend((0..count).map(of));
            }
            Ok(reactions.into())
        };
        Pending::hot(move |responses| Ok(read(responses)))
    }
}

impl<L: Load> Visible<'_, L> {
    /// Returns these posts as they are stored, like [`Self::post_records`], and the selected reactions of the viewer to
    /// each of them, as far as they can be read. Unless `needs_archive`, archived posts are `None` while the archive
    /// cannot be read. Makes one round trip.
    pub async fn reacted_records(
        &self,
        posts: Arc<[Listed]>,
        needs_archive: bool,
        selection: ReactionSelection,
    ) -> Result<(Arc<[Option<StoredPost>]>, Arc<[Reactions]>), Error> {
        let ids: Arc<[PostId]> = posts.iter().map(Listed::id).collect();
        let of_all = |reactions: Reactions| ids.iter().map(|_| reactions).collect();
        let records = PostRecords { posts: Shared(posts), needs_archive };
        let viewer = self.viewer.user();
        let Some(viewer) = viewer.filter(|_| selection != ReactionSelection::NONE && !ids.is_empty()) else {
            let reactions = if viewer.is_none() { Reactions::OF_NO_ONE } else { Reactions::default() };
            return Ok((self.load.load(records).await?, of_all(reactions)));
        };
        let reactions = ReactionsTo { viewer, posts: Arc::clone(&ids), selection };
        // Boxed because few reads need it.
        let (records, reactions) = self.load.load_both(records, reactions).boxed().await?;
        Ok((records, reactions.unwrap_or_else(|_| of_all(Reactions::default()))))
    }

    /// Returns true if the viewer has bookmarked a post. Makes one round trip, or none for an anonymous viewer.
    pub async fn has_bookmarked(&self, post: PostId) -> Result<bool, Error> {
        let Some(viewer) = self.viewer.user() else { return Ok(false) };
        let selection = ReactionSelection { bookmarked: true };
        let read = ReactionsTo { viewer, posts: Arc::new([post]), selection };
        Ok(self.load.load(read).await??[0].bookmarked == Some(true))
    }
}
