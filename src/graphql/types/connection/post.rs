//! Connections over lists of posts.

use std::sync::Arc;

use async_graphql::{Context, Enum};
use futures::future::join;

use crate::app::archive::Listed;
use crate::app::error::Error;
use crate::app::timeline::entry::{Replies, TimelineEntry};
use crate::app::timeline::{TimelinePage, TimelineQuery};
use crate::app::visibility::{ShownPost, UserSelection};
use crate::graphql::context::Scope;
use crate::graphql::cursor::{self, ListOf, TimelinePosition};
use crate::graphql::directive::list_size;
use crate::graphql::entries::Entries;
use crate::graphql::id::GlobalId;
use crate::graphql::page::post::{Listing, Reacted, counts, fill_all};
use crate::graphql::page::referrer::Referrers;
use crate::graphql::page::{Filled, fill_visible};
use crate::graphql::paging::Paging;
use crate::graphql::preloaded::{Preloaded as _, memory};
use crate::graphql::selection::{Selected, Wants};
use crate::graphql::types::connection::{At, Connection, Edge, Positioned, connection, edge};
use crate::graphql::types::post::Post;
use crate::graphql::types::scalar::{DateTime, number};
use crate::graphql::types::selection::{author_selection, user_selection};
use crate::graphql::types::user::User;
use crate::model::attachment::ReferrerKind;
use crate::model::clock::{Period, Timestamp};
use crate::model::id::{PostId, UserId};
use crate::model::page::{Direction, Position, Window};
use crate::model::reaction::ReactionKind;

/// A page of posts, in which `T` is the type of the list's length.
pub(super) type PostPage<T> = Connection<PostPosition, Post, PostEntry, T>;

/// An entry of a list of posts.
pub(in crate::graphql) type PostEdge = Edge<PostPosition, Post, PostEntry>;

/// What an entry of a list of posts shows besides the post.
pub(in crate::graphql) struct PostEntry {
    /// The post that identifies the entry.
    key: PostId,
    /// What puts the post here.
    by: ListedBy,
    /// The time of the newest of them.
    at: Timestamp,
    /// The users whose reposts put the post here, newest repost first.
    reposted_by: Vec<User>,
}

/// What puts a post into a list.
enum ListedBy {
    /// These posts and reposts, newest first.
    Posts(Vec<PostId>),
    /// The viewer's reaction.
    Reaction(Position<PostId>),
}

impl ListedBy {
    /// Returns the number of positions of the entry.
    fn count(&self) -> usize {
        match self {
            Self::Posts(ids) => ids.len(),
            Self::Reaction(_) => 1,
        }
    }

    /// Returns the positions, for comparison with those of other entries of the same list.
    fn positions(&self) -> Vec<String> {
        match self {
            Self::Posts(ids) => ids.iter().map(|id| position(*id)).collect(),
            Self::Reaction(Position { at, id }) => vec![position_of_time(*at) + &position(*id)],
        }
    }
}

impl PostEntry {
    /// Creates the entry of a post that is listed itself.
    fn of(post: &Post) -> Self {
        let id = post.post_id();
        let by = ListedBy::Posts(vec![id]);
        Self { key: id, by, at: post.written_at(), reposted_by: Vec::new() }
    }

    /// Creates the entry of a reaction.
    fn of_reaction(reaction: Position<PostId>) -> Self {
        let Position { at, id } = reaction;
        Self { key: id, by: ListedBy::Reaction(reaction), at, reposted_by: Vec::new() }
    }

    /// Creates the entry of a home timeline.
    fn of_timeline(scope: &Arc<Scope>, entry: &TimelineEntry) -> Self {
        let reposted_by = entry.reposted_by.iter().map(|user| User::visible(scope, user.clone())).collect();
        Self { key: entry.post.id, by: ListedBy::Posts(entry.ids().collect()), at: entry.at, reposted_by }
    }
}

/// Where an entry is in a list of posts.
pub(in crate::graphql) enum PostPosition {
    /// In an author's list.
    Author(At<cursor::Posts>),
    /// In a list of posts that refer to another.
    Referrer(At<ReferrerKind>),
    /// Among the posts to which the viewer has reacted.
    Reaction(At<ReactionKind>),
    /// The entry with this index in a page of a home timeline.
    Timeline(ListOf<cursor::Timeline>, Arc<TimelinePage>, usize),
    /// An entry that was added to a home timeline.
    Added(At<cursor::Timeline>),
}

impl Positioned for PostPosition {
    fn cursor(&self) -> String {
        match self {
            Self::Author(at) => at.cursor(),
            Self::Referrer(at) => at.cursor(),
            Self::Reaction(at) => at.cursor(),
            Self::Timeline(list, page, index) => {
                let post = page.page.entries[*index].id;
                cursor::print(*list, &TimelinePosition { post, seen: page.seen_from(*index) })
            }
            Self::Added(at) => at.cursor(),
        }
    }
}

impl PostEdge {
    /// Returns a post as an entry of its author's list.
    pub(in crate::graphql) fn of(node: Post) -> Self {
        let at = PostPosition::Author(At { list: posts_of(node.author_id()), position: node.post_id() });
        let extra = PostEntry::of(&node);
        Self { at, node, extra }
    }

    /// Returns an entry that was added to a home timeline.
    pub(in crate::graphql) fn added(
        scope: &Arc<Scope>,
        list: ListOf<cursor::Timeline>,
        position: TimelinePosition,
        entry: &TimelineEntry,
    ) -> Self {
        let author = User::visible(scope, entry.author.clone());
        let node = Post::new(scope, Arc::clone(&entry.post), author, entry.reactions);
        let at = PostPosition::Added(At { list, position });
        Self { at, node, extra: PostEntry::of_timeline(scope, entry) }
    }
}

edge! {
    /// An entry of a post list.
    PostEdge, Public, "The listed post.": Post;

    /// Identifies the entry in its list, at each read and in events: equal keys are the same entry. It is no id of an
    /// object. In a home timeline, it identifies the post, and all reposts of it: if a list has two entries with the
    /// same key, as when a post is reposted between two pages, keep the newer.
    value key "key": String = |edge| GlobalId::Post(edge.extra.key).print().0;
    resolver "its entries pay before they are made" {
        /// Where the entry is in the list: one position for each user of `repostedBy`, in the same order, or else one.
        /// Compare positions as strings: the entry with the greatest position is the newest. An entry is at its first
        /// position.
        #[graphql(directive = list_size::apply(Some(1), None, None, None))]
        #[expect(clippy::unused_async, reason = "the library requires it")]
        async fn positions(&self, context: &Context<'_>) -> Result<Entries<String>, Error> {
            let by = &self.extra.by;
            Entries::pay(self.node.read_in(), context, by.count(), || by.positions())
        }
    }
    /// The time by which the entry is listed: that of the newest repost that put it here, or of the post; among
    /// likes and bookmarks, that of the like or bookmark, in whole seconds.
    value listed_at "listedAt": DateTime = |edge| DateTime(edge.extra.at);
    /// The users whose reposts put the post here, newest repost first: in a home timeline, users whom the viewer
    /// follows; among a user's posts, that user. Empty if the post is here as its author's own.
    @[directive = list_size::apply(Some(1), None, None, None)]
    objects reposted_by "repostedBy": User = |edge| edge.extra.reposted_by.iter().collect();
}

/// Returns the position of a post or repost, for comparison with others.
fn position(id: PostId) -> String {
    format!("{:016x}", id.get())
}

/// Returns the position of a time, for comparison with others.
fn position_of_time(at: Timestamp) -> String {
    // Times before 1970 come first.
    format!("{:016x}", at.as_millis().cast_unsigned() ^ (1 << 63))
}

/// A page of a user's posts.
pub(in crate::graphql) type PostConnection = PostPage<Length>;

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
        let ids: Vec<_> = authors.iter().map(|author| author.user_id()).collect();
        let windows = ids.iter().map(|id| paging.window(posts_of(*id))).collect::<Result<Vec<_>, _>>()?;
        let wants = Wants::of(selection);
        let list = Listing { period, original: author_selection(selection) };
        let filled = wants
            .fill_all(authors.len(), fill_all(scope, &ids, User::post_accesses(authors), &windows, list));
        let counts = wants.counts(counts_of(scope, authors, period));
        let (filled, counts) = join(filled, counts).await;
        let connection = |(index, (author, filled)): (usize, (&&User, _))| {
            let list = posts_of(author.user_id());
            let at = |listed: &Listed| PostPosition::Author(At { list, position: listed.id() });
            let shown = |listed: Listed, shown| match shown {
                ShownPost::Own(post, reactions) => own(Post::new(scope, post, (*author).clone(), reactions)),
                ShownPost::Original(original, at) => {
                    let (key, reposted_by) = (listed.id(), vec![(*author).clone()]);
                    let by = ListedBy::Posts(vec![key]);
                    (Post::visible(scope, &original), PostEntry { key, by, at, reposted_by })
                }
            };
            let count = counts.as_ref().map(|counts| counts[index]);
            Self::new(scope, filled, at, shown, Length { author: (*author).clone(), period, count })
        };
        Ok(authors.iter().zip(filled?).enumerate().map(connection).collect())
    }
}

/// Returns a post that is listed itself, and its entry.
fn own(post: Post) -> (Post, PostEntry) {
    let entry = PostEntry::of(&post);
    (post, entry)
}

/// Returns the number of each author's posts of a period that the viewer may see. Makes one round trip for all counts.
pub(in crate::graphql) async fn counts_of(
    scope: &Arc<Scope>,
    authors: &[&User],
    period: Period,
) -> Result<Arc<[u64]>, Error> {
    let ids: Vec<_> = authors.iter().map(|author| author.user_id()).collect();
    counts(scope, &ids, User::known_post_accesses(authors), User::post_accesses(authors), period).await
}

/// Returns the list of a user's posts.
fn posts_of(owner: UserId) -> ListOf<cursor::Posts> {
    ListOf { kind: cursor::Posts, owner }
}

connection! {
    /// A page of a user's posts.
    PostConnection of PostEdge, Public, "posts": Post;

    resolver "its source, below, has the count only if it was loaded with the page" {
        /// The total number of posts and reposts in the list, including reposts of posts that are hidden from the
        /// viewer; null if temporarily unavailable.
        async fn total_count(&self) -> Option<Result<i32, Error>> {
            let Length { author, period, count } = &self.total;
            Some(match count {
                Some(count) => Ok(number(*count)),
                None => counts_of(&self.scope, &[author], *period).await.map(|counts| number(counts[0])),
            })
        }
    }
    source "totalCount" = |_| memory(|posts: &Self, json| json.value(&number(posts.total.count?)));
}

/// The order of a list of replies.
#[derive(Clone, Copy, Debug, Default, Enum, PartialEq, Eq)]
pub(in crate::graphql) enum ReplyOrder {
    /// The oldest reply first, as in a conversation.
    #[default]
    Oldest,
    /// The newest reply first.
    Newest,
}

/// A page of a list of posts whose length differs between viewers.
pub(in crate::graphql) type PostListConnection = PostPage<()>;

impl PostListConnection {
    /// Loads a page of the posts that refer to a post. Makes three round trips: for the list, the posts and their
    /// authors; and three more to replace posts that the viewer may not see, if there are any.
    pub(in crate::graphql) async fn load(
        scope: &Arc<Scope>,
        list: ListOf<ReferrerKind>,
        order: ReplyOrder,
        paging: &Paging,
        selection: &Selected<'_>,
    ) -> Result<Self, Error> {
        let Window { direction, size, from } = paging.window(list)?;
        // Lists are stored with the newest first.
        let is_reversed = order == ReplyOrder::Oldest;
        let direction = if is_reversed { direction.opposite() } else { direction };
        let rows = Referrers { scope, list, author: author_selection(selection) };
        let filled = Wants::of(selection).fill(fill_visible(&rows, Window { direction, size, from })).await?;
        let filled = if is_reversed { filled.reversed() } else { filled };
        let at = |post: &PostId| PostPosition::Referrer(At { list, position: *post });
        let shown = |_, post| own(Post::visible(scope, &post));
        Ok(Self::new(scope, filled, at, shown, ()))
    }

    /// Loads a page of the posts to which the viewer has reacted. Makes three round trips: for the list, the posts and
    /// their authors; and three more to replace posts that the viewer may not see, if there are any.
    pub(in crate::graphql) async fn load_reacted(
        scope: &Arc<Scope>,
        list: ListOf<ReactionKind>,
        paging: &Paging,
        selection: &Selected<'_>,
    ) -> Result<Self, Error> {
        let rows = Reacted { scope, kind: list.kind, author: author_selection(selection) };
        let filled = Wants::of(selection).fill(fill_visible(&rows, paging.window(list)?)).await?;
        let at = |reaction: &Position<PostId>| PostPosition::Reaction(At { list, position: *reaction });
        let shown = |reaction, post| (Post::visible(scope, &post), PostEntry::of_reaction(reaction));
        Ok(Self::new(scope, filled, at, shown, ()))
    }
}

connection! {
    /// A page of a list of posts. It has no total count, because viewers see different parts of the list.
    PostListConnection of PostEdge, Public, "posts": Post;
}

/// The replies in a home timeline, besides the viewer's own, those to the viewer, and those of authors to themselves.
#[derive(Clone, Copy, Debug, Default, Enum, PartialEq, Eq)]
#[graphql(remote = "Replies")]
pub(in crate::graphql) enum TimelineReplies {
    /// Replies to users whom the viewer follows.
    #[default]
    Followed,
    /// All replies.
    All,
    /// No others.
    None,
}

/// A page of a home timeline.
pub(in crate::graphql) type TimelineConnection = PostPage<Endless>;

/// The length of a home timeline, which extends back to the oldest post; and the page, with its list.
pub(in crate::graphql) struct Endless(ListOf<cursor::Timeline>, Arc<TimelinePage>);

impl TimelineConnection {
    /// Loads a page of the viewer's home timeline.
    pub(in crate::graphql) async fn load(
        scope: &Arc<Scope>,
        owner: UserId,
        replies: Replies,
        paging: &Paging,
        selection: &Selected<'_>,
    ) -> Result<Self, Error> {
        let list = ListOf { kind: cursor::Timeline, owner };
        let Window { direction, size, from } = paging.window(list)?;
        let window = Window { direction, size, from: from.map(|position| position.post) };
        let reposters = user_selection(&[selection.field("edges").field("repostedBy")]);
        let info = selection.field("pageInfo");
        let looks_back = match window.direction {
            Direction::Forward => info.field("hasPreviousPage").exists(),
            Direction::Backward => info.field("hasNextPage").exists(),
        };
        let UserSelection { fields: author, reactions, .. } = author_selection(selection).and(reposters);
        let query = TimelineQuery { window, author, reactions, replies, looks_back };
        let page = scope.loader.timeline(scope.viewer(), query).await?;
        let entries = page.page.entries.iter().enumerate().collect();
        let filled = Filled::complete(entries, page.page.has_previous, page.page.has_next);
        let at = |index: &usize| PostPosition::Timeline(list, Arc::clone(&page), *index);
        let shown = |_, entry: &TimelineEntry| {
            let author = User::visible(scope, entry.author.clone());
            let post = Post::new(scope, Arc::clone(&entry.post), author, entry.reactions);
            (post, PostEntry::of_timeline(scope, entry))
        };
        Ok(Self::new(scope, filled, at, shown, Endless(list, Arc::clone(&page))))
    }
}

connection! {
    /// A page of a home timeline. It has no total count, because a timeline extends back to the oldest post.
    TimelineConnection of PostEdge, Private, "posts": Post;

    /// The cursor to pass as `after` to the subscription `timeline`, which then sends what is added and removed after
    /// this page was read. Null unless the page begins at the top of the timeline. An empty page has one too.
    value live_cursor "liveCursor": Option<String> = |timeline| {
        let Endless(list, page) = &timeline.total;
        page.seen().map(|seen| cursor::print(*list, &TimelinePosition::below(seen)))
    };
}
