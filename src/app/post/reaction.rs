//! Reads of the viewer's reactions to posts.

use std::sync::Arc;

use futures::FutureExt as _;

use crate::app::error::Error;
use crate::app::read::{Load, Pending, Read, Requests};
use crate::app::visibility::Visible;
use crate::model::id::{PostId, UserId};
use crate::model::reaction::{ReactionSelection, Reactions};
use crate::store::ordered::{self, PROBE};

/// The selected reactions of a viewer to these posts, in their order. One command reads all of them for [`PROBE`] posts.
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
    type Value = Arc<[Reactions]>;

    fn request(&self, requests: &mut Requests<'_>) -> Pending<Self::Value> {
        let ReactionSelection { bookmarked } = self.selection;
        let bookmarks = bookmarked.then(|| requests.keys().bookmarks(self.viewer));
        let sets: Vec<_> = bookmarks.into_iter().collect();
        let probe = |posts: &[PostId]| (posts.len(), requests.push(ordered::contains(&sets, posts)));
        let probes: Vec<_> = self.posts.chunks(PROBE).map(probe).collect();
        Pending::hot(move |responses| {
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
        })
    }
}

impl<L: Load> Visible<'_, L> {
    /// Returns the selected reactions of the viewer to these posts, in their order; none if they cannot be read. Makes
    /// no round trip for an anonymous viewer, and without a selection; otherwise one.
    pub async fn reactions(&self, posts: Arc<[PostId]>, selection: ReactionSelection) -> Arc<[Reactions]> {
        let of_all = |reactions: Reactions| posts.iter().map(|_| reactions).collect();
        if selection == ReactionSelection::NONE || posts.is_empty() {
            return of_all(Reactions::default());
        }
        let Some(viewer) = self.viewer.user() else { return of_all(Reactions::OF_NO_ONE) };
        let read = ReactionsTo { viewer, posts: Arc::clone(&posts), selection };
        // Boxed because few reads need it, and because the futures' types nest deeper than the compiler's limit.
        let read = self.load.load(read).boxed().await;
        read.unwrap_or_else(|_| of_all(Reactions::default()))
    }

    /// Returns true if the viewer has bookmarked a post. Makes one round trip, or none for an anonymous viewer.
    pub async fn has_bookmarked(&self, post: PostId) -> Result<bool, Error> {
        let Some(viewer) = self.viewer.user() else { return Ok(false) };
        let selection = ReactionSelection { bookmarked: true };
        let read = ReactionsTo { viewer, posts: Arc::new([post]), selection };
        Ok(self.load.load(read).await?[0].bookmarked == Some(true))
    }
}
