//! Pages of a user's posts.

use std::sync::Arc;

use futures::future::{try_join_all, try_join3};

use crate::app::archive::{Listed, StoredPost};
use crate::app::error::Error;
use crate::app::visibility::{PostAccess, ShownPost, UserSelection};
use crate::graphql::context::Scope;
use crate::graphql::page::{Filled, Part, PartOf, Rows, complete};
use crate::model::clock::Period;
use crate::model::id::{PostId, UserId};
use crate::model::page::Window;

/// The posts of a user to list, and what to read of others'.
#[derive(Clone, Copy)]
pub(in crate::graphql) struct Listing {
    pub(in crate::graphql) period: Period,
    /// The data to read of the authors of reposted posts.
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
        let posts = visible.post_records(Arc::clone(&page.entries)).await?;
        let found = self.found(&page.entries, &posts).await?;
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
    ) -> Result<Vec<(Listed, ShownPost)>, Error> {
        let shown = self.scope.visible().shown_posts(posts, self.access, self.list.original).await?;
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
    let posts = scope.visible().post_records(listed).await?;
    let mut start = 0;
    let filled = rows.iter().zip(windows).zip(&pages).map(|((rows, window), page)| {
        let posts = &posts[start..start + page.entries.len()];
        start += page.entries.len();
        async move {
            let found = rows.found(&page.entries, posts).await?;
            complete(rows, *window, Part::of(window, page, found)).await
        }
    });
    try_join_all(filled).await
}
