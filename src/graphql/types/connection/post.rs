//! Connections over lists of posts.

use std::sync::Arc;

use async_graphql::Object;
use async_graphql::parser::types::Field;
use futures::future::{join, try_join_all, try_join3};

use crate::app::archive::{Listed, StoredPost};
use crate::app::error::{Broken, Error};
use crate::app::timeline::TimelinePage;
use crate::app::visibility::{PostAccess, ShownPost, UserSelection};
use crate::graphql::context::Scope;
use crate::graphql::cursor::{self, PostList, ReferrerList, TimelineList, TimelinePosition};
use crate::graphql::directive::{CacheControlScope::Public, cache_control, list_size};
use crate::graphql::page::{Filled, Part, PartOf, Rows, complete};
use crate::graphql::paging::Paging;
use crate::graphql::preloaded::{List, One, Preloaded, Source, memory, object, objects};
use crate::graphql::selection::{Selected, Wants, user_selection};
use crate::graphql::types::connection::{Bounds, PageInfo};
use crate::graphql::types::post::Post;
use crate::graphql::types::scalar::number;
use crate::graphql::types::user::User;
use crate::model::clock::Period;
use crate::model::id::{PostId, UserId};
use crate::model::page::Window;

/// A page of posts, with flags that state whether the list continues before and after the page.
pub(super) struct PostPage {
    edges: Vec<PostEdge>,
    bounds: Bounds<Place>,
}

impl PostPage {
    pub(super) fn new(filled: Filled<Place, Shown>) -> Self {
        let edge = |(place, Shown { post, reposted_by })| PostEdge { place, node: post, reposted_by };
        let (entries, bounds) = Bounds::of(filled);
        Self { edges: entries.into_iter().map(edge).collect(), bounds }
    }

    pub(super) fn edges(&self) -> List<'_, PostEdge> {
        List(self.edges.iter().collect())
    }

    pub(super) fn nodes(&self) -> List<'_, Post> {
        List(self.edges.iter().map(|edge| &edge.node).collect())
    }

    pub(super) fn info(&self) -> PageInfo {
        self.bounds.info(&self.edges, |edge| edge.place.cursor(), Place::cursor)
    }
}

/// A post as an entry shows it.
pub(super) struct Shown {
    pub(super) post: Post,
    /// The users whose reposts put the post there.
    pub(super) reposted_by: Vec<User>,
}

impl From<Post> for Shown {
    fn from(post: Post) -> Self {
        Self { post, reposted_by: Vec::new() }
    }
}

/// A page of a user's posts.
pub(in crate::graphql) struct PostConnection {
    author: User,
    period: Period,
    page: PostPage,
    /// The length of the list, if it was loaded with the page.
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
        let owners = || authors.iter().map(|author| author.user_id());
        let windows = owners().map(|owner| paging.window(PostList { owner }));
        let windows = windows.collect::<Result<Vec<_>, Error>>()?;
        let wants = Wants::of(selection);
        let (edges, nodes) = (selection.field("edges"), selection.field("nodes"));
        let original = user_selection(&[edges.field("node").field("author"), nodes.field("author")]);
        let list = Listing { period, original };
        let filled = wants.fill_all(authors.len(), fill_all(scope, authors, &windows, list));
        let counts = wants.counts(counts(scope, authors, period));
        let (filled, counts) = join(filled, counts).await;
        let connection = |(index, (author, filled)): (usize, (&&User, _))| {
            let count = counts.as_ref().map(|counts| counts[index]);
            Self::new(author, period, filled, count)
        };
        let filled = filled?;
        Ok(authors.iter().zip(filled).enumerate().map(connection).collect())
    }

    fn new(author: &User, period: Period, filled: Filled<Listed, Shown>, count: Option<u64>) -> Self {
        let list = PostList { owner: author.user_id() };
        let place = |listed: Listed| Place::Post(list, PostId::from(listed));
        let page = PostPage::new(filled.map(|(listed, node)| (place(listed), node), place));
        Self { author: author.clone(), period, page, count }
    }
}

/// A page of a user's posts.
#[Object(directive = cache_control::apply(Public))]
impl PostConnection {
    /// The entries on the page, in list order.
    async fn edges(&self) -> List<'_, PostEdge> {
        self.page.edges()
    }

    /// The posts on the page, in list order; the same as the nodes of `edges`.
    async fn nodes(&self) -> List<'_, Post> {
        self.page.nodes()
    }

    /// The page's boundaries, for requesting adjacent pages.
    async fn page_info(&self) -> PageInfo {
        self.page.info()
    }

    /// The total number of posts and reposts in the list, including reposts of posts that are hidden from the viewer;
    /// null if temporarily unavailable.
    async fn total_count(&self) -> Option<Result<i32, Error>> {
        Some(match (self.count, self.scope()) {
            (Some(count), _) => Ok(number(count)),
            (None, Some(scope)) => {
                counts(scope, &[&self.author], self.period).await.map(|counts| number(counts[0]))
            }
            (None, None) => Err(Broken::NoRecord(self.author.user_id()).into()),
        })
    }
}

impl Preloaded for PostConnection {
    fn source(field: &Field) -> Source<'_, Self> {
        match field.name.node.as_str() {
            "edges" => objects(field, |posts: &Self| posts.page.edges().0),
            "nodes" => objects(field, |posts: &Self| posts.page.nodes().0),
            "pageInfo" => PageInfo::source_of(field, |posts: &Self| posts.page.info()),
            "totalCount" => memory(|posts: &Self, json| json.value(&number(posts.count?))),
            _ => Source::Resolver,
        }
    }

    fn scope(&self) -> Option<&Arc<Scope>> {
        self.author.scope()
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

/// An entry's place in its list. The cursor is printed only if it is selected.
pub(super) enum Place {
    /// A post in an author's list.
    Post(PostList, PostId),
    /// A post that refers to another.
    Referrer(ReferrerList, PostId),
    /// The entry with this index in a page of a home timeline.
    Timeline(TimelineList, Arc<TimelinePage>, usize),
}

impl Place {
    fn cursor(&self) -> String {
        match self {
            Self::Post(list, post) => cursor::print(*list, post),
            Self::Referrer(list, post) => cursor::print(*list, post),
            Self::Timeline(list, page, index) => {
                let post = page.page.entries[*index].id;
                cursor::print(*list, &TimelinePosition { post, seen: page.seen_from(*index) })
            }
        }
    }
}

/// An entry of a post list.
pub(in crate::graphql) struct PostEdge {
    place: Place,
    node: Post,
    reposted_by: Vec<User>,
}

impl PostEdge {
    /// Returns a post as an entry of its author's list.
    pub(in crate::graphql) fn of(node: Post) -> Self {
        let place = Place::Post(PostList { owner: node.author_id() }, node.post_id());
        Self { place, node, reposted_by: Vec::new() }
    }
}

/// An entry of a post list.
#[Object(directive = cache_control::apply(Public))]
impl PostEdge {
    /// The entry's position in the list. It stays valid when entries are added or removed.
    async fn cursor(&self) -> String {
        self.place.cursor()
    }

    /// The listed post.
    async fn node(&self) -> One<'_, Post> {
        One(&self.node)
    }

    /// The users whose reposts put the post here, newest repost first: in a home timeline, users whom the viewer follows;
    /// among a user's posts, that user. Empty if the post is here as its author's own.
    #[graphql(directive = list_size::apply(Some(1), None, None, None))]
    async fn reposted_by(&self) -> List<'_, User> {
        List(self.reposted_by.iter().collect())
    }
}

impl Preloaded for PostEdge {
    fn source(field: &Field) -> Source<'_, Self> {
        match field.name.node.as_str() {
            "cursor" => memory(|edge: &Self, json| json.value(&edge.place.cursor())),
            "node" => object(field, |edge: &Self| &edge.node),
            "repostedBy" => objects(field, |edge: &Self| edge.reposted_by.iter().collect()),
            _ => Source::Resolver,
        }
    }

    fn scope(&self) -> Option<&Arc<Scope>> {
        self.node.scope()
    }
}

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
            ShownPost::Own(post) => Post::new(self.scope, post, self.author.clone()).into(),
            ShownPost::Original(original) => {
                Shown { post: Post::visible(self.scope, &original), reposted_by: vec![self.author.clone()] }
            }
        };
        let found =
            listed.iter().zip(shown).filter_map(|(listed, shown)| Some((listed.clone(), node(shown?))));
        Ok(found.collect())
    }
}
