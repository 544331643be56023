//! Timelines of very many authors, merged where the timeline itself does not reach: in order and complete, whichever
//! authors have posts, and without a page of every author.

use std::collections::BTreeSet;

use fanfold::app::App;
use fanfold::app::import::ImportFollow;
use fanfold::app::post::NewPost;
use fanfold::app::timeline::TimelineQuery;
use fanfold::app::timeline::entry::Replies;
use fanfold::app::viewer::Viewer;
use fanfold::gate::Moment;
use fanfold::model::clock::Timestamp;
use fanfold::model::details::References;
use fanfold::model::id::{PostId, UserId};
use fanfold::model::page::{Direction, Window};
use fanfold::model::post::{Content, Visibility};
use fanfold::model::reaction::ReactionSelection;
use fanfold::model::user::UserFields;
use tokio::sync::oneshot;

use crate::harness::graph::Graph;
use crate::harness::turnstile::Actor;
use crate::harness::walk::walk;
use crate::harness::world::{World, archive_all};

const AUTHORS: usize = 1_200;

/// A reader who follows very many authors, and the posts of these.
struct Setup {
    world: World,
    reader: Viewer,
    authors: Vec<UserId>,
    posts: BTreeSet<PostId>,
}

impl Setup {
    async fn new() -> Self {
        let world = World::with(&["--timeline-capacity", "10", "--post-hot-limit", "5"]).await;
        let person = world.register("reader").await;
        let reader = world.app.authenticate(&person.token).await.unwrap();
        let authors = Graph { users: AUTHORS, follows: Vec::new() }.load(&world.app, None).await;
        let follower = reader.user().unwrap();
        let follow = |&followee| ImportFollow { follower, followee, at: Timestamp::from_millis(0) };
        world.app.import_follows(authors.iter().map(follow).collect()).await.unwrap();
        Self { world, reader, authors, posts: BTreeSet::new() }
    }

    /// Each of these authors publishes once, in this order.
    async fn publish(&mut self, authors: impl Iterator<Item = usize>) -> Vec<PostId> {
        let content = Content::parse("Hello").unwrap();
        let post = |author| NewPost {
            references: References::default(),
            author: self.authors[author],
            content: content.clone(),
            platform: None,
            visibility: Visibility::Public,
            created_at: Timestamp::from_millis(0),
        };
        let posts = self.world.app.import_posts(&authors.map(post).collect::<Vec<_>>()).await.unwrap();
        self.posts.extend(&posts);
        posts
    }

    /// Removes a post at once, as a deletion does in the end.
    fn delete(&mut self, author: usize, post: PostId) {
        let (list, record) =
            (format!("ff:{{u{}}}:posts", self.authors[author]), format!("ff:{{p{post}}}:post"));
        self.world.redis.raw::<i64>(&["LREM", &list, "1", &post.to_string()]);
        self.world.redis.raw::<i64>(&["DEL", &record]);
        self.posts.remove(&post);
    }

    /// Asserts that the pages of the whole timeline have each post once, in order, in both directions.
    async fn check(&self, size: usize) {
        let posts: Vec<u64> = self.posts.iter().rev().map(|post| post.get()).collect();
        for direction in [Direction::Forward, Direction::Backward] {
            let seen = walk(&self.world.app, &self.reader, direction, size).await;
            assert_eq!(seen, posts, "{direction:?}, {size}");
        }
    }
}

#[tokio::test]
async fn a_timeline_of_very_many_authors_of_whom_few_post_is_complete_both_ways() {
    let mut setup = Setup::new().await;
    setup.publish((0..400).map(|number| (number * 7) % 90 * 13)).await;
    archive_all(&setup.world.app).await;
    // Some have cold posts now; some others publish only from here on, and one of them much.
    let posts = setup.publish((0..40).flat_map(|number| [number + 600, 1_199])).await;
    setup.delete(600, posts[0]);
    setup.delete(620, posts[40]);
    for size in [7, 100] {
        setup.check(size).await;
    }
}

#[tokio::test]
async fn a_timeline_of_very_many_authors_who_all_post_is_complete_both_ways() {
    let mut setup = Setup::new().await;
    setup.publish((0..AUTHORS).chain((0..AUTHORS).rev()).chain([3, 3, 3, 3, 3, 3])).await;
    archive_all(&setup.world.app).await;
    for size in [90, 100] {
        setup.check(size).await;
    }
}

#[tokio::test]
async fn authors_left_out_of_a_page_are_read_when_others_delete_their_posts_meanwhile() {
    for direction in [Direction::Forward, Direction::Backward] {
        let mut setup = Setup::new().await;
        let posts = setup.publish(0..60).await;
        // Below the floor of the timeline, at either end.
        let (from, deleted) = match direction {
            Direction::Forward => (Some(posts[40]), 30..40),
            Direction::Backward => (None, 0..10),
        };
        let reader = setup.reader.clone();
        let query = TimelineQuery {
            window: Window { direction, size: 5, from },
            author: UserFields::NONE,
            reactions: ReactionSelection::NONE,
            replies: Replies::default(),
            looks_back: false,
        };
        setup.world.app.timeline(&reader, query).await.unwrap();
        let (sender, page) = oneshot::channel();
        let work = async move |app: App| {
            let page = app.timeline(&reader, query).await.unwrap().page;
            let posts = page.entries.iter().map(|entry| entry.post.id).collect::<Vec<_>>();
            sender.send((posts, page.has_next, page.has_previous)).unwrap();
        };
        let mut slow = Actor::begin(&setup.world.app, work).await;
        slow.step_to(Moment::Before, "timeline: below").await;
        assert!(slow.waits.is_some());
        for author in deleted.clone() {
            setup.delete(author, posts[author]);
        }
        slow.finish().await;
        let expected = match direction {
            Direction::Forward => (25..30).rev().map(|number| posts[number]).collect(),
            Direction::Backward => (10..15).rev().map(|number| posts[number]).collect::<Vec<_>>(),
        };
        let (posts, has_next, has_previous) = page.await.unwrap();
        let has_more = if direction == Direction::Forward { has_next } else { has_previous };
        assert_eq!((posts, has_more), (expected, true), "{direction:?}");
    }
}

#[tokio::test]
async fn a_page_reads_no_more_authors_than_may_have_posts_in_it() {
    let mut setup = Setup::new().await;
    setup.publish(0..AUTHORS).await;
    let app = &setup.world.app;
    let query = |direction| TimelineQuery {
        window: Window { direction, size: 20, from: None },
        author: UserFields::NONE,
        reactions: ReactionSelection::NONE,
        replies: Replies::default(),
        looks_back: false,
    };
    app.timeline(&setup.reader, query(Direction::Forward)).await.unwrap();
    setup.world.redis.raw::<String>(&["CONFIG", "RESETSTAT"]);
    app.timeline(&setup.reader, query(Direction::Backward)).await.unwrap();
    let stats: String = setup.world.redis.raw(&["INFO", "commandstats"]);
    let scripts = stats.lines().find(|line| line.starts_with("cmdstat_evalsha:")).unwrap();
    let calls: u64 = scripts.split(['=', ',']).nth(1).unwrap().parse().unwrap();
    assert!(calls < 40, "{calls} scripts");
}
