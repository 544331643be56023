//! Connections: pages of users and of posts, loaded as a whole.
//!
//! A list resolver looks ahead at what its children need and loads that for the whole page: one round trip for the
//! page, one more for all of its users and relations. The nodes carry their data, and their fields load nothing.

use std::collections::HashMap;
use std::sync::Arc;

use async_graphql::Lookahead;
use futures::future::try_join;

use crate::app::archive::Listed;
use crate::app::error::Error;
use crate::app::question::Shared;
use crate::app::timeline::{Entry, TimelineQuery};
use crate::graphql::context::Scope;
use crate::graphql::cursor::{self, FollowList, List, PostList, TimelineList, TimelinePlace};
use crate::graphql::types::connection::{FollowConnection, PostConnection, TimelineConnection};
use crate::graphql::types::post::Post;
use crate::graphql::types::user::User;
use crate::model;
use crate::model::id::{PostId, UserId};
use crate::model::page::{Direction, Page, Position, Window};
use crate::model::relation::{Follow, ListKind, Side};
use crate::model::user::UserFields;

/// Default number of entries in a page.
const DEFAULT_SIZE: usize = 20;
/// Maximum number of entries in a page; larger requests get this many.
const MOST: usize = 100;

/// The four arguments of every connection, as given.
pub(super) struct Paging {
    pub(super) first: Option<i32>,
    pub(super) after: Option<String>,
    pub(super) last: Option<i32>,
    pub(super) before: Option<String>,
}

impl Paging {
    /// Returns the page of this list that the arguments select.
    pub(super) fn window<L: List>(&self, list: L) -> Result<Window<L::Place>, Error> {
        let Self { first, after, last, before } = self;
        let backward = last.is_some() || before.is_some();
        if backward && (first.is_some() || after.is_some()) {
            let message =
                "`first` and `after` page forward, `last` and `before` backward: use only one pair.";
            return Err(Error::Invalid(message.to_owned()));
        }
        let place = |argument, cursor: &Option<String>| {
            cursor.as_deref().map(|cursor| cursor::parse(argument, list, cursor)).transpose()
        };
        Ok(if backward {
            Window {
                direction: Direction::Backward,
                size: size("last", *last)?,
                from: place("before", before)?,
            }
        } else {
            Window {
                direction: Direction::Forward,
                size: size("first", *first)?,
                from: place("after", after)?,
            }
        })
    }
}

/// Returns the maximum number of entries in a page of the requested size.
pub(super) fn page_size(asked: i64) -> u64 {
    u64::try_from(asked).unwrap_or(0).min(MOST as u64)
}

/// Returns the maximum number of entries of a list that has no pages.
pub(super) fn most(first: Option<i32>) -> Result<usize, Error> {
    size("first", first)
}

fn size(argument: &str, size: Option<i32>) -> Result<usize, Error> {
    let Some(size) = size else {
        return Ok(DEFAULT_SIZE);
    };
    match usize::try_from(size) {
        Ok(size) => Ok(size.min(MOST)),
        Err(_) => Err(Error::Invalid(format!("`{argument}` must not be negative, but is {size}."))),
    }
}

/// The data of a user that a selection needs.
#[derive(Clone, Copy)]
pub(super) struct UserSelection {
    /// The fields of the record.
    pub(super) fields: UserFields,
    /// True if the relation to the viewer is needed.
    pub(super) relation: bool,
}

impl UserSelection {
    /// Returns the data of one user that these selections need together, including by way of the relation, which leads
    /// back to the user. Conditional fields count: loading them in vain is cheaper than loading them late.
    pub(super) fn of(selections: &[Lookahead<'_>]) -> Self {
        let selects = |name| {
            selections.iter().any(|selection| {
                selection.field(name).exists()
                    || selection.field("relation").field("user").field(name).exists()
            })
        };
        let fields = [
            ("displayName", UserFields::DISPLAY_NAME),
            ("bio", UserFields::BIO),
            ("createdAt", UserFields::CREATED_AT),
            ("region", UserFields::RESIDENCE),
        ];
        let fields = fields.into_iter().filter(|(name, _)| selects(name));
        Self {
            fields: fields.fold(UserFields::NONE, |all, (_, field)| all | field),
            relation: selects("relation"),
        }
    }
}

/// Loads a page of one of a user's lists, with the data that the selection of the connection needs.
pub(super) async fn load(
    scope: &Arc<Scope>,
    list: FollowList,
    paging: &Paging,
    selection: &Lookahead<'_>,
) -> Result<FollowConnection, Error> {
    let window = paging.window(list)?;
    let (edges, nodes) = (selection.field("edges"), selection.field("nodes"));
    let wants = Wants::of(selection);
    let user = wants.nodes.then(|| UserSelection::of(&[edges.field("node"), nodes]));
    let rows = Follows { scope, list, selection: user };
    // The count is loaded along with the page; the loader caches it until its field asks.
    let filled = wants.fill(fill(&rows, window));
    let count = wants.count(count(scope, list));
    let (filled, ()) = try_join(filled, count).await?;
    Ok(FollowConnection::new(Arc::clone(scope), list, filled))
}

/// Loads a page of a user's posts.
pub(super) async fn load_posts_of(
    scope: &Arc<Scope>,
    author: &User,
    owner: UserId,
    paging: &Paging,
    selection: &Lookahead<'_>,
) -> Result<PostConnection, Error> {
    let list = PostList { owner };
    let window = paging.window(list)?;
    let wants = Wants::of(selection);
    let rows = Posts { scope, owner, author };
    let filled = wants.fill(fill(&rows, window));
    let count = wants.count(scope.loader.post_count(owner));
    let (filled, ()) = try_join(filled, count).await?;
    Ok(PostConnection::new(Arc::clone(scope), list, filled))
}

/// Loads a page of the viewer's home timeline.
pub(super) async fn load_timeline(
    scope: &Arc<Scope>,
    owner: UserId,
    paging: &Paging,
    selection: &Lookahead<'_>,
) -> Result<TimelineConnection, Error> {
    let list = TimelineList { owner };
    let Window { direction, size, from } = paging.window(list)?;
    let window = Window { direction, size, from: from.map(|place| place.post) };
    let (edges, nodes) = (selection.field("edges"), selection.field("nodes"));
    let author = UserSelection::of(&[edges.field("node").field("author"), nodes.field("author")]);
    let info = selection.field("pageInfo");
    let looks_back = match window.direction {
        Direction::Forward => info.field("hasPreviousPage").exists(),
        Direction::Backward => info.field("hasNextPage").exists(),
    };
    let query = TimelineQuery { window, author: author.fields, looks_back };
    let page = scope.loader.timeline(scope.viewer(), query).await?;
    let node = |(index, entry): (usize, &Entry)| {
        let place = TimelinePlace { post: entry.post.id, seen: page.seen_from(index) };
        (place, Post::of_entry(scope, entry))
    };
    let entries = page.page.entries.iter().enumerate().map(node).collect();
    let (has_previous, has_next) = (page.page.has_previous, page.page.has_next);
    Ok(TimelineConnection::new(list, Filled { entries, has_previous, has_next }))
}

/// The parts of a connection that are selected.
#[derive(Clone, Copy)]
struct Wants {
    nodes: bool,
    page: bool,
    count: bool,
}

impl Wants {
    fn of(selection: &Lookahead<'_>) -> Self {
        let nodes = selection.field("edges").exists() || selection.field("nodes").exists();
        Self {
            nodes,
            page: nodes || selection.field("pageInfo").exists(),
            count: selection.field("totalCount").exists(),
        }
    }

    /// Loads the page, if it is selected.
    async fn fill<E, N>(
        self,
        filled: impl Future<Output = Result<Filled<E, N>, Error>>,
    ) -> Result<Filled<E, N>, Error> {
        if self.page { filled.await } else { Ok(Filled::empty()) }
    }

    /// Loads the count, if it is selected.
    async fn count(self, count: impl Future<Output = Result<u64, Error>>) -> Result<(), Error> {
        if self.count { count.await.map(drop) } else { Ok(()) }
    }
}

/// Returns the number of entries in a list.
pub(super) async fn count(scope: &Scope, FollowList { kind, owner }: FollowList) -> Result<u64, Error> {
    match (kind, scope.viewer_id()) {
        (ListKind::Followers, _) => scope.loader.count(owner, Side::Followers).await,
        (ListKind::Following, _) => scope.loader.count(owner, Side::Following).await,
        (ListKind::Mutuals, _) => Ok(scope.loader.mutuals(owner).await?.len() as u64),
        (ListKind::KnownFollowers, Some(viewer)) => {
            Ok(scope.loader.known_followers(owner, viewer).await?.len() as u64)
        }
        (ListKind::KnownFollowers, None) => Ok(0),
    }
}

async fn page(
    scope: &Scope,
    FollowList { kind, owner }: FollowList,
    window: Window<Position>,
) -> Result<Arc<Page<Follow>>, Error> {
    match (kind, scope.viewer_id()) {
        (ListKind::Followers, _) => scope.loader.page(owner, Side::Followers, window).await,
        (ListKind::Following, _) => scope.loader.page(owner, Side::Following, window).await,
        (ListKind::Mutuals, _) => {
            let mutuals = scope.loader.mutuals(owner).await?;
            Ok(Arc::new(Page::of(&mutuals, &window)))
        }
        (ListKind::KnownFollowers, Some(viewer)) => {
            let known = scope.loader.known_followers(owner, viewer).await?;
            Ok(Arc::new(Page::of(&known, &window)))
        }
        (ListKind::KnownFollowers, None) => Ok(Arc::new(Page::of(&[], &window))),
    }
}

/// A page with its nodes, in list order.
pub(super) struct Filled<E, N> {
    pub(super) entries: Vec<(E, N)>,
    pub(super) has_previous: bool,
    pub(super) has_next: bool,
}

impl<E, N> Filled<E, N> {
    fn empty() -> Self {
        Self { entries: Vec::new(), has_previous: false, has_next: false }
    }
}

/// A list that is read page by page, each entry with its node.
trait Rows {
    type Entry: Clone;
    type Place: Copy + From<Self::Entry>;
    type Node;

    fn page(
        &self,
        window: Window<Self::Place>,
    ) -> impl Future<Output = Result<Arc<Page<Self::Entry>>, Error>> + Send;

    /// Returns the entries that have a node, with their nodes.
    fn nodes(&self, entries: &Arc<[Self::Entry]>) -> impl Future<Output = Result<Found<Self>, Error>> + Send;
}

/// Entries with their nodes.
type Found<R> = Vec<(<R as Rows>::Entry, <R as Rows>::Node)>;

/// A list of users.
struct Follows<'a> {
    scope: &'a Arc<Scope>,
    list: FollowList,
    /// The data of the users to load; `None` if only their number matters.
    selection: Option<UserSelection>,
}

impl Rows for Follows<'_> {
    type Entry = Follow;
    type Place = Position;
    type Node = User;

    async fn page(&self, window: Window<Position>) -> Result<Arc<Page<Follow>>, Error> {
        page(self.scope, self.list, window).await
    }

    async fn nodes(&self, follows: &Arc<[Follow]>) -> Result<Vec<(Follow, User)>, Error> {
        users(self.scope, follows, self.selection).await
    }
}

/// A user's posts.
struct Posts<'a> {
    scope: &'a Arc<Scope>,
    owner: UserId,
    author: &'a User,
}

impl Rows for Posts<'_> {
    type Entry = Listed;
    type Place = PostId;
    type Node = Post;

    async fn page(&self, window: Window<PostId>) -> Result<Arc<Page<Listed>>, Error> {
        self.scope.loader.post_page(self.owner, window).await
    }

    async fn nodes(&self, listed: &Arc<[Listed]>) -> Result<Vec<(Listed, Post)>, Error> {
        let posts = self.scope.loader.posts(Shared(Arc::clone(listed))).await?;
        let node = |(listed, post): (&Listed, &Option<Arc<model::post::Post>>)| {
            let post = Arc::clone(post.as_ref()?);
            Some((listed.clone(), Post::new(self.scope, post, self.author.clone())))
        };
        Ok(listed.iter().zip(posts.iter()).filter_map(node).collect())
    }
}

/// Loads a page and its nodes. Entries without a node are left out and replaced by entries from beyond the page, so
/// that a page is short only at the end of its list.
async fn fill<R: Rows>(rows: &R, window: Window<R::Place>) -> Result<Filled<R::Entry, R::Node>, Error> {
    let mut last = rows.page(window).await?;
    let mut filled = Filled {
        entries: rows.nodes(&last.entries).await?,
        has_previous: last.has_previous,
        has_next: last.has_next,
    };
    while let Some(beyond) = beyond(&window, &last, filled.entries.len()) {
        last = rows.page(beyond).await?;
        let more = rows.nodes(&last.entries).await?;
        match window.direction {
            Direction::Forward => {
                filled.entries.extend(more);
                filled.has_next = last.has_next;
            }
            Direction::Backward => {
                filled.entries.splice(..0, more);
                filled.has_previous = last.has_previous;
            }
        }
    }
    Ok(filled)
}

/// Returns the window of the entries that replace the missing ones, if there is anything beyond the page.
fn beyond<E: Clone, P: Copy + From<E>>(
    window: &Window<P>,
    page: &Page<E>,
    entries: usize,
) -> Option<Window<P>> {
    let (outermost, more) = match window.direction {
        Direction::Forward => (page.entries.last()?, page.has_next),
        Direction::Backward => (page.entries.first()?, page.has_previous),
    };
    let missing = window.size - entries;
    let from = Some(P::from(outermost.clone()));
    (more && missing > 0).then_some(Window { direction: window.direction, size: missing, from })
}

/// Returns the users of these entries, with the data that the selection needs; without a selection, only with their
/// ids. Users without a record are left out.
async fn users(
    scope: &Arc<Scope>,
    follows: &[Follow],
    selection: Option<UserSelection>,
) -> Result<Vec<(Follow, User)>, Error> {
    let Some(selection) = selection else {
        return Ok(follows.iter().map(|&follow| (follow, User::unread(scope, follow.user))).collect());
    };
    let ids = follows.iter().map(|follow| follow.user).collect();
    let users = load_users(scope, ids, selection).await?;
    Ok(follows.iter().zip(users).filter_map(|(follow, user)| Some((*follow, user?))).collect())
}

/// Loads these posts, with the data of their authors that the selection needs; `None` for posts that do not exist. One
/// round trip for the posts, one for their authors.
pub(super) async fn load_posts(
    scope: &Arc<Scope>,
    ids: Arc<[PostId]>,
    selection: &Lookahead<'_>,
) -> Result<Vec<Option<Post>>, Error> {
    let listed = ids.iter().copied().map(Listed::Hot).collect();
    let posts = scope.loader.posts(Shared(listed)).await?;
    let mut authors: Vec<UserId> = posts.iter().flatten().map(|post| post.author).collect();
    authors.sort_unstable();
    authors.dedup();
    let selection = UserSelection::of(&[selection.field("author")]);
    let loaded = load_users(scope, authors.as_slice().into(), selection).await?;
    let authors: HashMap<UserId, User> =
        authors.into_iter().zip(loaded).filter_map(|(id, author)| Some((id, author?))).collect();
    let post = |post: &Option<Arc<model::post::Post>>| {
        let post = post.as_ref()?;
        Some(Post::new(scope, Arc::clone(post), authors.get(&post.author)?.clone()))
    };
    Ok(posts.iter().map(post).collect())
}

/// Loads these users, with the data that the selection needs; `None` for users who do not exist. One round trip.
pub(super) async fn load_users(
    scope: &Arc<Scope>,
    ids: Arc<[UserId]>,
    selection: UserSelection,
) -> Result<Vec<Option<User>>, Error> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let ids = Shared(ids);
    let relations = async {
        match scope.viewer_id() {
            Some(viewer) if selection.relation => scope.loader.relations(viewer, ids.clone()).await.map(Some),
            _ => Ok(None),
        }
    };
    let (records, relations) = try_join(scope.loader.users(ids.clone(), selection.fields), relations).await?;
    let user = |(index, record): (usize, &Option<_>)| {
        let relation = relations.as_ref().map(|relations| relations[index]);
        Some(User::loaded(scope, Arc::clone(record.as_ref()?), relation))
    };
    Ok(records.iter().enumerate().map(user).collect())
}
