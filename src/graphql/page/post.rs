//! Pages of a user's posts.

use std::sync::Arc;

use futures::future::{try_join_all, try_join3};

use crate::app::archive::{Listed, StoredPost};
use crate::app::error::Error;
use crate::app::visibility::{PostAccess, ShownPost, UserSelection};
use crate::graphql::context::Scope;
use crate::graphql::page::{Filled, Part, PartOf, Rows, complete};
use crate::graphql::types::post::Post;
use crate::graphql::types::user::User;
use crate::model::clock::Period;
use crate::model::id::{PostId, UserId};
use crate::model::page::Window;

/// A listed post, and the users whose reposts put it there.
pub(in crate::graphql) type Shown = (Post, Vec<User>);

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
    author: &'a User,
    access: PostAccess,
    list: Listing,
}

impl Rows for Posts<'_> {
    type Entry = Listed;
    type Position = PostId;
    type Node = Shown;

    async fn part(&self, window: Window<PostId>) -> Result<PartOf<Self>, Error> {
        let visible = self.scope.visible();
        let page = visible.unfiltered_post_page(self.author.user_id(), window, self.list.period).await?;
        let posts = visible.post_records(Arc::clone(&page.entries)).await?;
        let found = self.found(&page.entries, &posts).await?;
        Ok(Part::of(&window, &page, found))
    }
}

impl Posts<'_> {
    /// Returns the listed posts that exist and that the viewer may see, each with its node: that of a repost is its original.
    /// Makes no round trip without reposts; otherwise two.
    async fn found(
        &self,
        listed: &[Listed],
        posts: &[Option<StoredPost>],
    ) -> Result<Vec<(Listed, Shown)>, Error> {
        let shown = self.scope.visible().shown_posts(posts, self.access, self.list.original).await?;
        let node = |shown| match shown {
            ShownPost::Own(post) => (Post::new(self.scope, post, self.author.clone()), Vec::new()),
            ShownPost::Original(original) => {
                (Post::visible(self.scope, &original), vec![self.author.clone()])
            }
        };
        let found =
            listed.iter().zip(shown).filter_map(|(listed, shown)| Some((listed.clone(), node(shown?))));
        Ok(found.collect())
    }
}

/// Returns the viewer's access to each author's posts. Makes no round trip if the data on which it depends are
/// preloaded; otherwise one.
async fn accesses(authors: &[&User]) -> Result<Vec<PostAccess>, Error> {
    try_join_all(authors.iter().map(|author| author.post_access())).await
}

/// Returns the number of each author's posts that the viewer may see. Makes one round trip.
pub(in crate::graphql) async fn counts(
    scope: &Arc<Scope>,
    authors: &[&User],
    period: Period,
) -> Result<Arc<[u64]>, Error> {
    let visible = scope.visible();
    let with = |access: fn(&User) -> PostAccess| -> Vec<(UserId, PostAccess)> {
        authors.iter().map(|author| (author.user_id(), access(author))).collect()
    };
    if authors.iter().all(|author| author.known_post_access().is_some()) {
        let accesses = with(|author| author.known_post_access().unwrap_or(PostAccess::None));
        return Ok(visible.post_counts(&accesses, period).await?.into());
    }
    // The numbers that may be needed are read in the same round trip as what decides which of them are.
    let (all, public) = (with(|_| PostAccess::All), with(|_| PostAccess::Public));
    let (accesses, all, public) =
        try_join3(accesses(authors), visible.post_counts(&all, period), visible.post_counts(&public, period))
            .await?;
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
    authors: &[&User],
    windows: &[Window<PostId>],
    list: Listing,
) -> Result<Vec<Filled<Listed, Shown>>, Error> {
    let visible = scope.visible();
    let pages = authors.iter().zip(windows).map(|(author, window)| (author.user_id(), *window));
    let pages: Vec<_> = pages.collect();
    let (accesses, pages) = visible.post_pages(&pages, list.period, accesses(authors)).await?;
    let rows = authors.iter().zip(&accesses);
    let rows: Vec<_> = rows.map(|(author, access)| Posts { scope, author, access: *access, list }).collect();
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
