//! Pages of a user's posts, and of those to which the viewer has reacted.

use std::sync::Arc;

use futures::future::{try_join_all, try_join3};

use crate::app::archive::{Listed, StoredPost};
use crate::app::error::Error;
use crate::app::visibility::{PostAccess, ShownPost, UserSelection, VisiblePost};
use crate::graphql::context::Scope;
use crate::graphql::page::{Filled, Part, PartOf, Rows, complete};
use crate::model::clock::Period;
use crate::model::id::{PostId, UserId};
use crate::model::page::{Position, Window};
use crate::model::reaction::{ReactionKind, Reactions};

/// The posts of a user to list, and what to read of others'.
#[derive(Clone, Copy)]
pub(in crate::graphql) struct Listing {
    pub(in crate::graphql) period: Period,
    /// The data to read of the authors of reposted posts; and of all posts, the viewer's reactions.
    pub(in crate::graphql) original: UserSelection,
}

/// A user's posts, read page by page.
struct Posts<'a> {
    scope: &'a Arc<Scope>,
    author: UserId,
    access: PostAccess,
    list: Listing,
}

impl Rows for Posts<'_> {
    type Entry = Listed;
    type Position = PostId;
    type Node = ShownPost;

    async fn part(&self, window: Window<PostId>) -> Result<PartOf<Self>, Error> {
        let visible = self.scope.visible();
        let page = visible.unfiltered_post_page(self.author, window, self.list.period).await?;
        let reactions = self.list.original.reactions;
        let (posts, reactions) = visible.reacted_records(Arc::clone(&page.entries), true, reactions).await?;
        let found = self.found(&page.entries, &posts, &reactions).await?;
        Ok(Part::of(&window, &page, found))
    }
}

impl Posts<'_> {
    /// Returns the listed posts that exist and that the viewer may see. Makes no round trip without reposts; otherwise
    /// two.
    async fn found(
        &self,
        listed: &[Listed],
        posts: &[Option<StoredPost>],
        reactions: &[Reactions],
    ) -> Result<Vec<(Listed, ShownPost)>, Error> {
        let visible = self.scope.visible();
        let shown = visible.shown_posts((posts, reactions), self.access, self.list.original).await?;
        let found = listed.iter().zip(shown).filter_map(|(listed, shown)| Some((listed.clone(), shown?)));
        Ok(found.collect())
    }
}

/// Returns the number of each author's posts that the viewer may see. `known` are the accesses to them, if they are
/// known; otherwise, `accesses` loads them. Makes one round trip.
pub(in crate::graphql) async fn counts(
    scope: &Arc<Scope>,
    authors: &[UserId],
    known: Option<Vec<PostAccess>>,
    accesses: impl Future<Output = Result<Vec<PostAccess>, Error>>,
    period: Period,
) -> Result<Arc<[u64]>, Error> {
    let visible = scope.visible();
    if let Some(known) = known {
        let accesses: Vec<_> = authors.iter().copied().zip(known).collect();
        return Ok(visible.post_counts(&accesses, period).await?.into());
    }
    // The numbers that may be needed are read in the same round trip as what decides which of them are.
    let with = |access| -> Vec<_> { authors.iter().map(|author| (*author, access)).collect() };
    let (all, public) = (with(PostAccess::All), with(PostAccess::Public));
    let (accesses, all, public) =
        try_join3(accesses, visible.post_counts(&all, period), visible.post_counts(&public, period)).await?;
    let count = |(index, access)| match access {
        PostAccess::None => 0,
        PostAccess::Public => public[index],
        PostAccess::All => all[index],
    };
    Ok(accesses.into_iter().enumerate().map(count).collect())
}

/// Loads these windows of the authors' posts. Makes one round trip for all pages, and one for all posts.
pub(in crate::graphql) async fn fill_all(
    scope: &Arc<Scope>,
    authors: &[UserId],
    accesses: impl Future<Output = Result<Vec<PostAccess>, Error>>,
    windows: &[Window<PostId>],
    list: Listing,
) -> Result<Vec<Filled<Listed, ShownPost>>, Error> {
    let visible = scope.visible();
    let pages: Vec<_> = authors.iter().copied().zip(windows.iter().copied()).collect();
    let (accesses, pages) = visible.post_pages(&pages, list.period, accesses).await?;
    let rows = authors.iter().copied().zip(accesses);
    let rows: Vec<_> = rows.map(|(author, access)| Posts { scope, author, access, list }).collect();
    let listed = pages.iter().flat_map(|page| page.entries.iter().cloned()).collect();
    let (posts, reactions) = visible.reacted_records(listed, true, list.original.reactions).await?;
    let mut start = 0;
    let filled = rows.iter().zip(windows).zip(&pages).map(|((rows, window), page)| {
        let range = start..start + page.entries.len();
        start = range.end;
        let (posts, reactions) = (&posts[range.clone()], &reactions[range]);
        async move {
            let found = rows.found(&page.entries, posts, reactions).await?;
            complete(rows, *window, Part::of(window, page, found)).await
        }
    });
    try_join_all(filled).await
}

/// The posts to which the viewer has reacted, read part by part.
pub(in crate::graphql) struct Reacted<'a> {
    pub(in crate::graphql) scope: &'a Arc<Scope>,
    pub(in crate::graphql) kind: ReactionKind,
    /// The data to read of the authors, and the viewer's reactions to the posts.
    pub(in crate::graphql) author: UserSelection,
}

impl Rows for Reacted<'_> {
    type Entry = Position<PostId>;
    type Position = Position<PostId>;
    type Node = VisiblePost;

    // Each refill takes three round trips.
    const REFILLS: &'static [usize] = &[200];

    /// Omits posts that do not exist or are hidden from the viewer.
    async fn part(&self, window: Window<Self::Position>) -> Result<PartOf<Self>, Error> {
        let visible = self.scope.visible();
        let page = visible.unfiltered_reaction_page(self.kind, window).await?;
        let posts = page.entries.iter().map(|entry| Listed::Id(entry.id)).collect();
        let posts = visible.posts(posts, self.author).await?;
        let found = page.entries.iter().zip(posts).filter_map(|(entry, post)| Some((*entry, post?)));
        Ok(Part::of(&window, &page, found.collect()))
    }
}
