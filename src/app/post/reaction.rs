//! Reactions to posts: likes and bookmarks.

use std::sync::Arc;

use futures::FutureExt as _;

use crate::app::App;
use crate::app::archive::{Listed, StoredPost};
use crate::app::error::Error;
use crate::app::post::own::missing;
use crate::app::post::read::PostRecords;
use crate::app::read::{Load, Pending, Read, Requests, Responses, Shared};
use crate::app::throttle::{limit, throttled};
use crate::app::viewer::Viewer;
use crate::app::visibility::{UserSelection, Visible};
use crate::model::id::{PostId, UserId};
use crate::model::page::{Page, Position, Window};
use crate::model::reaction::{ReactionKind, ReactionSelection, Reactions};
use crate::store::bucket::{Limit, Throttled};
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
        let selection = self.selection;
        let sets: Vec<_> = selection.kinds().map(|kind| requests.keys().reacted(self.viewer, kind)).collect();
        let probe = |posts: &[PostId]| (posts.len(), requests.push(ordered::contains(&sets, posts)));
        let probes: Vec<_> = self.posts.chunks(PROBE).map(probe).collect();
        let read = move |responses: &mut Responses| {
            let mut reactions = Vec::new();
            for (count, probe) in probes {
                // A list for each set, in their order.
                let found = responses.replies.take(probe)?;
                let of = |index: usize| {
                    let kinds = selection.kinds().zip(&found);
                    kinds.fold(Reactions::default(), |all, (kind, found)| all.with(kind, found[index]))
                };
                reactions.extend((0..count).map(of));
            }
            Ok(reactions.into())
        };
        Pending::hot(move |responses| Ok(read(responses)))
    }
}

/// A page of the posts to which a user has reacted, newest reaction first, including posts that do not exist or that
/// the user may not see.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ReactionPage {
    /// The user.
    pub user: UserId,
    /// The kind of the reactions.
    pub kind: ReactionKind,
    /// Requested page.
    pub window: Window<Position<PostId>>,
}

impl Read for ReactionPage {
    type Value = Arc<Page<Position<PostId>>>;

    fn request(&self, requests: &mut Requests<'_>) -> Pending<Self::Value> {
        let page = ordered::page(&requests.keys().reacted(self.user, self.kind), &self.window);
        let page = requests.push(page);
        Pending::hot(move |responses| Ok(Arc::new(responses.replies.take(page)?)))
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

    /// Returns true if the viewer has reacted to a post. Makes one round trip, or none for an anonymous viewer.
    pub async fn has_reacted(&self, post: PostId, kind: ReactionKind) -> Result<bool, Error> {
        let Some(viewer) = self.viewer.user() else { return Ok(false) };
        let selection = ReactionSelection::of([kind]);
        let read = ReactionsTo { viewer, posts: Arc::new([post]), selection };
        Ok(self.load.load(read).await??[0].of(kind) == Some(true))
    }

    /// Returns a page of the posts to which the viewer has reacted, including posts that the viewer may not see. Makes
    /// one round trip.
    pub async fn unfiltered_reaction_page(
        &self,
        kind: ReactionKind,
        window: Window<Position<PostId>>,
    ) -> Result<Arc<Page<Position<PostId>>>, Error> {
        let user = self.viewer.signed_in()?.user;
        self.load.load(ReactionPage { user, kind, window }).await
    }
}

/// Returns the error for a user whose bucket of reactions is empty.
pub(super) fn too_many(Throttled(wait): Throttled) -> Error {
    throttled(wait, "You have reacted to posts too often.")
}

impl App {
    /// Fails unless the viewer may see a post. Makes two round trips, plus one archive query unless the post is hot.
    pub(super) async fn check_visible(&self, viewer: &Viewer, post: PostId) -> Result<(), Error> {
        let visible = Visible { app: self, load: self, viewer };
        let found = visible.posts(Arc::new([Listed::Id(post)]), UserSelection::NONE).await?;
        if found.iter().flatten().next().is_none() { Err(missing()) } else { Ok(()) }
    }

    /// Returns the limit of the posts to which a user reacts.
    pub(super) fn reaction_limit(&self) -> Limit {
        limit(self.0.rules.timeline.post_reactions_per_user)
    }
}
