//! Likes on their way to the archive: whatever changes meanwhile and wherever a mover is interrupted, they are stored
//! once, and nothing is left in Redis.

use std::collections::HashSet;
use std::time::Duration;

use fanfold::app::App;
use fanfold::app::archive::SILENT_AFTER;
use fanfold::app::check::Finding;
use fanfold::archive::Archive;
use fanfold::archive::like::LikePage;
use fanfold::archive::post::Row;
use fanfold::gate::Moment;
use fanfold::model::id::{PostId, UserId};
use fanfold::model::like::Like;
use fanfold::model::page::{Direction, InListOrder as _, Window};
use fanfold::store::batch::Batch;
use fanfold::store::compact::NEWEST;
use fanfold::store::like;
use serde_json::json;

use crate::harness::id::global;
use crate::harness::post::{delete, ids, posts, publish};
use crate::harness::row::{post_id, user};
use crate::harness::sql::{Database, Kind, on_every_kind};
use crate::harness::turnstile::Actor;
use crate::harness::world::{Person, World, archive_all};

on_every_kind! {
    likes_move_with_their_post;
    a_post_that_is_liked_while_it_moves_is_moved_again;
    nothing_is_left_of_a_deleted_post;
}

/// A user with posts of which all but the newest are due to be archived.
struct Author {
    database: Database,
    world: World,
    person: Person,
}

impl Author {
    async fn new(kind: Kind) -> Self {
        let database = Database::new(kind).await;
        let world = World::with_archive(&database, &["--post-hot-limit", "1"]).await;
        let person = world.register("ada").await;
        Self { database, world, person }
    }

    /// Publishes posts with these ids.
    async fn publish(&self, ids: impl IntoIterator<Item = u64>) {
        for id in ids {
            assert_eq!(publish(&self.world, &self.person, "x").await, global("Post", id));
        }
    }

    /// Makes these users like a post, or no longer like it.
    async fn like(&self, post: u64, users: impl IntoIterator<Item = u64>, is_liked: bool) {
        let store = self.world.app.store();
        let users: Vec<UserId> = users.into_iter().map(user).collect();
        for users in users.chunks(1_000) {
            let mut batch = Batch::new("test");
            let mirror =
                |member: &UserId| batch.push(like::mirror(store.keys(), post_id(post), *member, is_liked));
            let tickets = users.iter().map(mirror).collect();
            batch.send(store).await.unwrap().take_all(tickets).unwrap();
        }
    }

    /// Reads the archived likes of a post, in the order of the list, and asserts that they are counted.
    async fn archived(&self, post: u64) -> Vec<Like> {
        likes_in(&self.database.archive(), post_id(post)).await
    }

    /// Returns the numbers of posts that were moved, and of posts on their way.
    async fn moved(&self) -> (u64, u64) {
        let transit = self.world.app.transit().await.unwrap();
        assert_eq!(transit.unmovable, 0);
        (transit.moved, transit.pending + transit.moving)
    }

    /// Returns the keys of a post.
    fn keys(&self, post: u64) -> Vec<String> {
        self.world.redis.raw(&["KEYS", &format!("ff:{{p{post}}}:*")])
    }

    /// Asserts that Redis has nothing of a post but its record, which is a tombstone or a marker, and expires.
    fn assert_dropped(&self, post: u64) {
        let record = format!("ff:{{p{post}}}:post");
        assert_eq!(self.keys(post), std::slice::from_ref(&record));
        assert!(self.world.redis.raw::<i64>(&["PTTL", &record]) > 0);
    }

    /// Writes these details into the record of a post, and no list.
    fn set_details(&self, post: u64, details: &str) {
        self.world.redis.raw::<i64>(&["HSET", &format!("ff:{{p{post}}}:post"), "details", details]);
    }

    /// Runs a mover to a stop.
    async fn mover_at(&self, moment: Moment, batch: &'static str) -> Actor {
        let turn = async |app: App| {
            app.mover().turn(SILENT_AFTER, app.now()).await.unwrap();
        };
        let mut mover = Actor::begin(&self.world.app, turn).await;
        mover.step_to(moment, batch).await;
        assert!(mover.waits.is_some(), "the mover sends {batch}");
        mover
    }
}

async fn likes_in(archive: &Archive, post: PostId) -> Vec<Like> {
    let window = Window { direction: Direction::Forward, size: 100_000, from: None };
    let likes = archive.likes(&[LikePage { post, window }]).await.unwrap().remove(0).entries.to_vec();
    if let Some(Row::Live(row)) = archive.read(&[post]).await.unwrap().pop() {
        assert_eq!(row.details.counts.likes(), likes.len() as u64);
    }
    likes
}

/// Returns the likes that users made one after another, of which some were taken back, as the archive is to have them.
fn expected(users: impl IntoIterator<Item = u64>, taken_back: &[u64]) -> Vec<Like> {
    let numbered = (1..).zip(users).map(|(number, id)| Like { number, member: user(id) });
    let likes: Vec<Like> = numbered.collect();
    let known = likes.len().saturating_sub(NEWEST);
    let has_tree = likes.len() > NEWEST;
    let is_left = |like: &Like| !taken_back.contains(&like.member.get());
    let forgotten = |(index, like): (usize, Like)| {
        if has_tree && index < known { like::unnumbered(like.member) } else { like }
    };
    let mut likes: Vec<Like> = likes.into_iter().enumerate().map(forgotten).filter(is_left).collect();
    likes.sort_unstable_by(Like::in_list_order);
    likes
}

async fn likes_move_with_their_post(kind: Kind) {
    let sizes = [0, 1, 128, 129, 700, 10_000, 50_000];
    let author = Author::new(kind).await;
    author.publish([1]).await;
    for (id, size) in (1..).zip(sizes) {
        let users = 100..100 + size;
        author.like(id, users.clone(), true).await;
        // Some take it back, some of them twice.
        let taken_back: Vec<u64> = users.clone().step_by(90).collect();
        author.like(id, taken_back.iter().copied(), false).await;
        author.like(id, taken_back.iter().copied(), false).await;
        author.publish([id + 1]).await;
        // Long before other movers adopt the posts of this one.
        let moved = tokio::time::timeout(Duration::from_secs(10), archive_all(&author.world.app)).await;
        moved.unwrap_or_else(|_| panic!("{size} likes take a second"));
        assert_eq!(author.archived(id).await, expected(users, &taken_back), "{size} likes");
        author.assert_dropped(id);
        // The next like has the next number.
        let ever = author.database.archive().set_like(post_id(id), user(1), true).await.unwrap();
        assert_eq!(ever, Some(size + 1));
    }
}

async fn a_post_that_is_liked_while_it_moves_is_moved_again(kind: Kind) {
    let author = Author::new(kind).await;
    let stops = [
        (Moment::After, "move: records"),
        (Moment::After, "move: likes"),
        (Moment::After, "move: shards"),
        (Moment::After, "archive: write"),
        (Moment::Before, "move: drop"),
    ];
    author.publish([1]).await;
    for (id, (moment, batch)) in (1..).zip(stops) {
        author.like(id, 100..300, true).await;
        author.publish([id + 1]).await;
        let mut mover = author.mover_at(moment, batch).await;
        // One is new, and one is taken back.
        author.like(id, [300], true).await;
        author.like(id, [100], false).await;
        mover.finish().await;
        assert!(author.keys(id).len() > 3, "the record and the likes stay: {batch}");
        assert_eq!(author.moved().await, (id - 1, 1), "it is postponed");
        author.world.clock.advance(Duration::from_secs(61));
        // A slow mover has read the post before these changes, and writes what it has read after them.
        let mut slow = author.mover_at(Moment::Before, "archive: write").await;
        author.like(id, [301], true).await;
        author.like(id, [101], false).await;
        archive_all(&author.world.app).await;
        let right = expected(100..302, &[100, 101]);
        assert_eq!(author.archived(id).await, right);
        author.assert_dropped(id);
        slow.finish().await;
        assert_eq!(author.archived(id).await, right);
        author.assert_dropped(id);
    }
}

async fn nothing_is_left_of_a_deleted_post(kind: Kind) {
    let author = Author::new(kind).await;
    author.publish(1..=3).await;
    for id in 1..=3 {
        author.like(id, 100..900, true).await;
    }
    // One while it is hot, one while it is moved, and one while it is archived.
    let hot = global("Post", 3);
    delete(&author.world, &author.person, &hot).await;
    assert!(author.keys(3).len() > 2, "the shards stay until a mover deletes them");
    let mut mover = author.mover_at(Moment::Before, "move: drop").await;
    delete(&author.world, &author.person, &global("Post", 1)).await;
    mover.finish().await;
    author.world.clock.advance(Duration::from_secs(61));
    archive_all(&author.world.app).await;
    assert_eq!(author.archived(2).await.len(), 800);
    delete(&author.world, &author.person, &global("Post", 2)).await;
    archive_all(&author.world.app).await;
    for id in 1..=3 {
        author.assert_dropped(id);
        assert_eq!(author.archived(id).await, []);
        assert_eq!(author.database.archive().set_like(post_id(id), user(1), true).await.unwrap(), None);
    }
    assert_eq!(author.database.number("SELECT COUNT(*) FROM likes").await, 0);
}

#[tokio::test]
async fn wrong_likes_of_archived_posts_are_found_and_corrected() {
    let author = Author::new(Kind::Sqlite).await;
    let app = &author.world.app;
    author.publish([1]).await;
    for fan in author.world.people(4).await {
        let viewer = app.authenticate(&fan.token).await.unwrap();
        app.like(&viewer, post_id(1)).await.unwrap();
    }
    author.publish([2]).await;
    archive_all(app).await;
    let check = async |repair| app.check_archived_posts(0, repair).await.unwrap().0;
    let mut found = check(false).await;
    assert_eq!(found.faults(), 0);
    let shard = "ff:{p1}:likes:0";
    let statements =
        ["DELETE FROM likes WHERE member = 2", "UPDATE likes SET member = 77 WHERE member = 3", ""];
    let finding = [Finding::MiscountedReferrals, Finding::TornLikes, Finding::WrongReactions];
    for (statement, finding) in statements.into_iter().zip(finding) {
        if statement.is_empty() {
            author.world.redis.raw::<()>(&["SADD", shard, "5"]);
        } else {
            author.database.execute(statement).await;
        }
        found = check(false).await;
        assert_eq!((found[finding], found.faults()), (1, 1), "{statement}");
        assert_eq!(check(true).await[finding], 1, "{statement}");
        assert_eq!(check(false).await.faults(), 0, "{statement}");
    }
    assert!(!author.world.redis.raw::<bool>(&["EXISTS", shard]));
    let torn = app.check_users(1, true).await.unwrap()[Finding::TornLikes];
    assert_eq!(torn, 2, "those that the post has lost");
    assert_eq!(author.archived(1).await.len(), 4);
    let ever = author.database.archive().set_like(post_id(1), user(1), true).await.unwrap();
    assert_eq!(ever, Some(7), "its number is new");
}

#[tokio::test]
async fn the_shards_of_an_interrupted_mover_are_deleted_by_another() {
    // Whether the post is moved or deleted.
    for (is_deleted, stops) in [
        (false, &[(Moment::After, "move: drop"), (Moment::Before, "move: sweep")][..]),
        (true, &[(Moment::After, "archive: write"), (Moment::Before, "move: sweep")]),
        (true, &[(Moment::Before, "move: settle"), (Moment::Before, "move: finish")]),
    ] {
        for (moment, batch) in stops {
            let author = Author::new(Kind::Sqlite).await;
            author.publish(1..=2).await;
            author.like(1, 100..3_000, true).await;
            if is_deleted {
                delete(&author.world, &author.person, &global("Post", 1)).await;
            }
            let mut mover = author.mover_at(*moment, batch).await;
            mover.interrupt().await;
            archive_all(&author.world.app).await;
            author.assert_dropped(1);
            assert_eq!(author.archived(1).await.len(), if is_deleted { 0 } else { 2_900 });
        }
    }
}

#[tokio::test]
async fn no_shard_is_deleted_before_those_below_it() {
    let author = Author::new(Kind::Sqlite).await;
    author.publish(1..=2).await;
    // More shards than are deleted together.
    author.like(1, 100..45_100, true).await;
    let mut mover = author.mover_at(Moment::After, "move: sweep").await;
    let left: HashSet<String> = author.keys(1).into_iter().collect();
    assert!(left.len() > 1 && left.contains("ff:{p1}:likes:0"), "{left:?}");
    mover.interrupt().await;
    archive_all(&author.world.app).await;
    author.assert_dropped(1);
}

#[tokio::test]
async fn a_post_with_too_many_likes_stays_hot_and_stops_no_other() {
    let author = Author::new(Kind::Sqlite).await;
    author.publish([1]).await;
    // So that no drain queues the posts again, because of a new limit of hot posts.
    archive_all(&author.world.app).await;
    author.publish(2..=3).await;
    author.set_details(1, "7 0 0 0 0 0 50001 50001");
    let turn = async || author.world.app.mover().turn(SILENT_AFTER, author.world.app.now()).await.unwrap();
    assert!(turn().await);
    assert_eq!(author.moved().await, (1, 1));
    for _ in 0..2 {
        // Neither when changed posts are due, nor if all are to be archived.
        author.world.clock.advance(Duration::from_mins(30));
        assert!(!turn().await, "it is not taken again");
        archive_all(&author.world.app).await;
    }
    author.publish([4]).await;
    archive_all(&author.world.app).await;
    assert_eq!(author.moved().await, (2, 1));
    let shown = posts(&author.world, &author.person, json!({ "first": 9 })).await;
    assert_eq!(ids(&shown["nodes"]), [4, 3, 2, 1].map(|id| global("Post", id)));
    // A day later, it has fewer.
    author.set_details(1, "8 0 0 0 0 0 0 50001");
    author.world.clock.advance(Duration::from_hours(24));
    assert!(turn().await);
    assert_eq!(author.moved().await, (3, 0));
    let shown = posts(&author.world, &author.person, json!({ "first": 9 })).await;
    assert_eq!(ids(&shown["nodes"]), [4, 3, 2, 1].map(|id| global("Post", id)));
}

#[tokio::test]
async fn a_batch_ends_when_it_has_too_many_likes() {
    let author = Author::new(Kind::Sqlite).await;
    author.publish(1..=5).await;
    for (id, likes) in [(1, 30_000), (2, 20_001), (3, 20_000)] {
        author.set_details(id, &format!("7 0 0 0 0 0 {likes} {likes}"));
    }
    let mover = author.world.app.mover();
    for (moved, left) in [(3, 1), (4, 0)] {
        assert!(mover.turn(SILENT_AFTER, author.world.app.now()).await.unwrap());
        assert_eq!(author.moved().await, (moved, left));
    }
    assert!(!mover.turn(SILENT_AFTER, author.world.app.now()).await.unwrap());
    assert_eq!(author.world.app.archived_count().await.unwrap(), 4);
}
