//! Reading lists of posts and timelines from one end to the other, page by page.

use std::sync::Arc;

use fanfold::app::App;
use fanfold::app::archive::Listed;
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
use fanfold::model::user::UserFields;

/// Returns the contents of these posts.
pub(crate) async fn read_posts(app: &App, ids: &[PostId]) -> Vec<Option<String>> {
    let posts = app
        .load(PostRecords {
            posts: Shared(ids.iter().copied().map(Listed::Id).collect()),
            needs_archive: true,
        })
        .await
        .unwrap();
    posts.iter().map(|post| Some(post.as_ref()?.content.clone())).collect()
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
        let found: Vec<Arc<Post>> = posts.iter().flatten().cloned().collect();
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
        let query = TimelineQuery { window, author: UserFields::NONE, replies, looks_back: true };
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
