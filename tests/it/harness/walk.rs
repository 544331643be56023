//! Reading lists of posts, of referrers and timelines from one end to the other, page by page.

use std::sync::Arc;

use fanfold::app::App;
use fanfold::app::archive::{Listed, StoredPost};
use fanfold::app::error::Error;
use fanfold::app::post::read::{PostPage, PostRecords};
use fanfold::app::read::{Load as _, Shared};
use fanfold::app::timeline::entry::{Replies, TimelineEntry};
use fanfold::app::timeline::{TimelinePage, TimelineQuery};
use fanfold::app::viewer::Viewer;
use fanfold::model::clock::Period;
use fanfold::model::id::{PostId, UserId};
use fanfold::model::page::{Direction, Window};
use fanfold::model::post::Post;
use fanfold::model::reaction::ReactionSelection;
use fanfold::model::user::UserFields;
use serde_json::Value;

use crate::harness::world::World;

/// Returns the contents of these posts.
pub(crate) async fn read_posts(app: &App, ids: &[PostId]) -> Vec<Option<String>> {
    let posts = app
        .load(PostRecords {
            posts: Shared(ids.iter().copied().map(Listed::Id).collect()),
            needs_archive: true,
        })
        .await
        .unwrap();
    posts.iter().map(|post| Some(post.as_ref()?.unchecked().content.clone())).collect()
}

/// Reads the posts of an author page by page, from one end to the other; newest first.
pub(crate) async fn walk_posts(
    app: &App,
    author: u64,
    direction: Direction,
    size: usize,
) -> Result<Vec<PostId>, Error> {
    Ok(walk_records(app, author, direction, size).await?.iter().map(|post| post.id).collect())
}

/// The same with all that is known of each post.
pub(crate) async fn walk_records(
    app: &App,
    author: u64,
    direction: Direction,
    size: usize,
) -> Result<Vec<Arc<Post>>, Error> {
    let mut seen: Vec<Arc<Post>> = Vec::new();
    let mut from = None;
    loop {
        let window = Window { direction, size, from };
        let page = app
            .load(PostPage {
                author: UserId::new(author).unwrap(),
                window,
                period: Period::ALL,
                only_public: false,
            })
            .await?;
        let posts =
            app.load(PostRecords { posts: Shared(Arc::clone(&page.entries)), needs_archive: true }).await?;
        let found: Vec<Arc<Post>> = posts.iter().flatten().map(StoredPost::unchecked).cloned().collect();
        let (outermost, more) = match direction {
            Direction::Forward => {
                seen.extend(found);
                (page.entries.last(), page.has_next)
            }
            Direction::Backward => {
                seen.splice(..0, found);
                (page.entries.first(), page.has_previous)
            }
        };
        from = outermost.cloned().map(PostId::from);
        if !more || from.is_none() {
            return Ok(seen);
        }
    }
}

/// Reads a whole timeline page by page, from one end to the other; newest first.
pub(crate) async fn walk(app: &App, viewer: &Viewer, direction: Direction, size: usize) -> Vec<u64> {
    walk_with(app, viewer, (direction, size), Replies::default()).await
}

/// The same with these replies.
pub(crate) async fn walk_with(
    app: &App,
    viewer: &Viewer,
    of: (Direction, usize),
    replies: Replies,
) -> Vec<u64> {
    walk_entries(app, viewer, of, replies).await.iter().map(|entry| entry.post.id.get()).collect()
}

/// The same as entries, which are ordered by their own ids: reposts show older posts.
pub(crate) async fn walk_entries(
    app: &App,
    viewer: &Viewer,
    (direction, size): (Direction, usize),
    replies: Replies,
) -> Vec<TimelineEntry> {
    let mut seen: Vec<TimelineEntry> = Vec::new();
    let mut from = None;
    loop {
        let window = Window { direction, size, from };
        let query = TimelineQuery {
            window,
            author: UserFields::NONE,
            reactions: ReactionSelection::NONE,
            replies,
            looks_back: true,
        };
        // An interrupted call reads nothing more; a call that is too late has an error, and has read enough.
        let Ok(TimelinePage { page, .. }) = app.timeline(viewer, query).await else { return seen };
        let entries = page.entries.iter().cloned();
        let (outermost, more, back) = match direction {
            Direction::Forward => (page.entries.last(), page.has_next, page.has_previous),
            Direction::Backward => (page.entries.first(), page.has_previous, page.has_next),
        };
        assert!(from.is_some() || !back, "nothing lies before the first page");
        match direction {
            Direction::Forward => seen.extend(entries),
            Direction::Backward => drop(seen.splice(..0, entries)),
        }
        from = outermost.map(|entry| entry.id);
        if !more || from.is_none() {
            return seen;
        }
    }
}

/// A list of the posts that refer to a post, or of the users who have reposted it, as the API shows it to a viewer.
pub(crate) struct ReferrerWalk<'a> {
    pub(crate) world: &'a World,
    /// The token of the viewer; `None` for an anonymous viewer.
    pub(crate) token: Option<&'a str>,
    /// The global id of the post.
    pub(crate) post: &'a str,
    /// The field of the list, with the order of replies if it has one.
    pub(crate) list: ReferrerField,
    pub(crate) direction: Direction,
    /// Number of entries requested per page.
    pub(crate) size: usize,
}

/// The fields with lists of referrers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReferrerField {
    OldestReplies,
    NewestReplies,
    Quotes,
    RepostedBy,
}

impl ReferrerField {
    pub(crate) const ALL: [Self; 4] =
        [Self::OldestReplies, Self::NewestReplies, Self::Quotes, Self::RepostedBy];

    fn name_and_order(self) -> (&'static str, &'static str) {
        match self {
            Self::OldestReplies => ("replies", ""),
            Self::NewestReplies => ("replies", ", order: NEWEST"),
            Self::Quotes => ("quotes", ""),
            Self::RepostedBy => ("repostedBy", ""),
        }
    }
}

/// A page of such a list.
#[derive(Debug)]
pub(crate) struct ReferrerPage {
    /// The ids of the nodes, in list order.
    pub(crate) nodes: Vec<String>,
    /// The cursor of the next page in the direction of the walk; `None` at the end of the list.
    pub(crate) next: Option<Value>,
}

impl ReferrerWalk<'_> {
    /// Returns the document that requests a page from this cursor on, or the first page.
    pub(crate) fn document(&self, cursor: Option<&Value>) -> String {
        let (list, order) = self.list.name_and_order();
        let (many, from) = match self.direction {
            Direction::Forward => ("first", "after"),
            Direction::Backward => ("last", "before"),
        };
        let from = cursor.map(|cursor| format!(", {from}: {cursor}")).unwrap_or_default();
        let (post, size) = (self.post, self.size);
        format!(
            "{{ post(id: \"{post}\") {{ list: {list}({many}: {size}{from}{order}) {{ nodes {{ id }}
                edges {{ cursor node {{ id }} }}
                pageInfo {{ hasNextPage hasPreviousPage startCursor endCursor }} }} }} }}"
        )
    }

    /// Reads a page from this cursor on, or the first page; `None` if the viewer may not see the post.
    pub(crate) async fn page(&self, cursor: Option<&Value>) -> Option<ReferrerPage> {
        let mut data = self.world.data(self.token, &self.document(cursor), Value::Null).await;
        let page = data["post"].as_object_mut()?["list"].take();
        let ids = |nodes: Vec<&Value>| -> Vec<String> {
            nodes.into_iter().map(|node| node["id"].as_str().unwrap().to_owned()).collect()
        };
        let edges = page["edges"].as_array().unwrap();
        let nodes = ids(page["nodes"].as_array().unwrap().iter().collect());
        assert_eq!(nodes, ids(edges.iter().map(|edge| &edge["node"]).collect()));
        assert!(nodes.len() <= self.size, "{page}");
        let info = &page["pageInfo"];
        let (more, end, back, outermost) = match self.direction {
            Direction::Forward => ("hasNextPage", "endCursor", "hasPreviousPage", edges.last()),
            Direction::Backward => ("hasPreviousPage", "startCursor", "hasNextPage", edges.first()),
        };
        assert!(cursor.is_some() || info[back] == false, "nothing lies before the first page: {page}");
        let has_more = info[more].as_bool().unwrap();
        // A page that is full ends with its outermost entry.
        assert!(nodes.len() < self.size || info[end] == outermost.unwrap()["cursor"], "{page}");
        assert!(
            !has_more || (info[end].is_string() && Some(&info[end]) != cursor),
            "the list goes on: {page}"
        );
        Some(ReferrerPage { nodes, next: has_more.then(|| info[end].clone()) })
    }
}

/// Reads such a list page by page, until a page says that there are no more; in list order. Pages may end early. Returns
/// `None` if the viewer may not see the post.
pub(crate) async fn walk_referrers(walk: &ReferrerWalk<'_>) -> Option<Vec<String>> {
    let (mut seen, mut cursor) = (Vec::new(), None);
    loop {
        let ReferrerPage { nodes, next } = walk.page(cursor.as_ref()).await?;
        match walk.direction {
            Direction::Forward => seen.extend(nodes),
            Direction::Backward => drop(seen.splice(..0, nodes)),
        }
        cursor = next;
        if cursor.is_none() {
            return Some(seen);
        }
    }
}
