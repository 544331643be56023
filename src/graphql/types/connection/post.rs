//! Connections over lists of posts.

use std::sync::Arc;

use futures::future::{join, try_join_all, try_join3};

use crate::app::archive::{Listed, StoredPost};
use crate::app::error::Error;
use crate::app::timeline::TimelinePage;
use crate::app::visibility::{PostAccess, ShownPost, UserSelection};
use crate::graphql::context::Scope;
use crate::graphql::cursor::{self, ListOf, TimelinePosition};
use crate::graphql::directive::list_size;
use crate::graphql::page::{Filled, Part, PartOf, Rows, complete};
use crate::graphql::paging::Paging;
use crate::graphql::preloaded::{Preloaded as _, memory};
use crate::graphql::selection::{Selected, Wants};
use crate::graphql::types::connection::{At, Connection, Edge, Place, connection, edge};
use crate::graphql::types::post::Post;
use crate::graphql::types::scalar::number;
use crate::graphql::types::user::User;
use crate::model::clock::Period;
use crate::model::id::{PostId, UserId};
use crate::model::page::Window;
use crate::model::referrer::ReferrerKind;

/// A page of posts, in which `T` tells the length of the list.
pub(super) type PostPage<T> = Connection<PostPlace, Post, Vec<User>, T>;

/// A page of a user's posts.
pub(in crate::graphql) type PostConnection = PostPage<Length>;

/// An entry of a list of posts. It shows the users whose reposts put the post there.
pub(in crate::graphql) type PostEdge = Edge<PostPlace, Post, Vec<User>>;

/// The length of a list of a user's posts.
pub(in crate::graphql) struct Length {
    author: User,
    period: Period,
    /// The length, if it was loaded with the page.
    count: Option<u64>,
}

impl PostConnection {
    /// Loads a page of each of these users' posts of a period, in their order. Makes one round trip for all pages and
    /// counts, and one for all posts; two more if some are reposts.
    pub(in crate::graphql) async fn load_all(
        authors: &[&User],
        paging: &Paging,
        period: Period,
        selection: &Selected<'_>,
    ) -> Result<Vec<Self>, Error> {
        let Some(scope) = authors.first().and_then(|author| author.scope()) else { return Ok(Vec::new()) };
        let windows = authors.iter().map(|author| paging.window(posts_of(author.user_id())));
        let windows = windows.collect::<Result<Vec<_>, Error>>()?;
        let wants = Wants::of(selection);
        let list = Listing { period, original: selection.authors() };
        let filled = wants.fill_all(authors.len(), fill_all(scope, authors, &windows, list));
        let counts = wants.counts(counts(scope, authors, period));
        let (filled, counts) = join(filled, counts).await;
        let connection = |(index, (author, filled)): (usize, (&&User, _))| {
            let list = posts_of(author.user_id());
            let place = |listed: &Listed| PostPlace::Author(At { list, position: listed.id() });
            let count = counts.as_ref().map(|counts| counts[index]);
            let length = Length { author: (*author).clone(), period, count };
            Self::new(scope, filled, place, |_, shown| shown, length)
        };
        Ok(authors.iter().zip(filled?).enumerate().map(connection).collect())
    }
}

/// Returns the list of a user's posts.
fn posts_of(owner: UserId) -> ListOf<cursor::Posts> {
    ListOf { kind: cursor::Posts, owner }
}

connection! {
    /// A page of a user's posts.
    PostConnection of PostEdge, Public,
    "The posts on the page, in list order; the same as the nodes of `edges`.": Post {
        resolver "its source, below, has the count only if it was loaded with the page" {
            /// The total number of posts and reposts in the list, including reposts of posts that are hidden from the viewer;
            /// null if temporarily unavailable.
            async fn total_count(&self) -> Option<Result<i32, Error>> {
                let Length { author, period, count } = &self.total;
                Some(match count {
                    Some(count) => Ok(number(*count)),
                    None => counts(&self.scope, &[author], *period).await.map(|counts| number(counts[0])),
                })
            }
        }
        source "totalCount" = |_| memory(|posts: &Self, json| json.value(&number(posts.total.count?)));
    }
}

/// Returns the viewer's access to each author's posts. Makes no round trip if the data on which it depends are
/// preloaded; otherwise one.
async fn accesses(authors: &[&User]) -> Result<Vec<PostAccess>, Error> {
    try_join_all(authors.iter().map(|author| author.post_access())).await
}

/// Returns the number of each author's posts that the viewer may see. Makes one round trip.
async fn counts(scope: &Arc<Scope>, authors: &[&User], period: Period) -> Result<Arc<[u64]>, Error> {
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
async fn fill_all(
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

/// An entry's place in a list of posts.
pub(in crate::graphql) enum PostPlace {
    /// In an author's list.
    Author(At<cursor::Posts>),
    /// In a list of posts that refer to another.
    Referrer(At<ReferrerKind>),
    /// The entry with this index in a page of a home timeline.
    Timeline(ListOf<cursor::Timeline>, Arc<TimelinePage>, usize),
}

impl Place for PostPlace {
    fn cursor(&self) -> String {
        match self {
            Self::Author(at) => at.cursor(),
            Self::Referrer(at) => at.cursor(),
            Self::Timeline(list, page, index) => {
                let post = page.page.entries[*index].id;
                cursor::print(*list, &TimelinePosition { post, seen: page.seen_from(*index) })
            }
        }
    }
}

impl PostEdge {
    /// Returns a post as an entry of its author's list.
    pub(in crate::graphql) fn of(node: Post) -> Self {
        let place = PostPlace::Author(At { list: posts_of(node.author_id()), position: node.post_id() });
        Self { place, node, extra: Vec::new() }
    }
}

edge! {
    /// An entry of a post list.
    PostEdge, Public, "The listed post.": Post {
        /// The users whose reposts put the post here, newest repost first: in a home timeline, users whom the viewer follows;
        /// among a user's posts, that user. Empty if the post is here as its author's own.
        @[directive = list_size::apply(Some(1), None, None, None)]
        objects reposted_by "repostedBy": User = |edge| edge.extra.iter().collect();
    }
}

/// A listed post, and the users whose reposts put it there.
type Shown = (Post, Vec<User>);

/// The posts of a user to list, and what to read of others'.
#[derive(Clone, Copy)]
struct Listing {
    period: Period,
    /// The data to read of the authors of reposted posts.
    original: UserSelection,
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
