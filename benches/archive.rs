//! Measures how fast posts are archived, and the time to read pages of a home timeline at several depths, in turns on
//! the same data.
//!
//! `cargo bench` measures; `cargo test` only checks that the bench works, with a few posts.

#![allow(clippy::unwrap_used, reason = "a bench that cannot go on shall panic")]
#![allow(clippy::print_stdout, reason = "this is what it is for")]
#![allow(clippy::disallowed_methods, reason = "a bench measures time")]

mod ground;
#[path = "ground/people.rs"]
mod people;
#[path = "ground/times.rs"]
mod times;

use std::time::{Duration, Instant};

use fanfold::app::App;
use fanfold::app::import::ImportFollow;
use fanfold::app::post::NewPost;
use fanfold::app::timeline::TimelineQuery;
use fanfold::app::timeline::entry::Replies;
use fanfold::app::viewer::Viewer;
use fanfold::model::clock::Timestamp;
use fanfold::model::details::References;
use fanfold::model::id::{PostId, UserId};
use fanfold::model::page::{Direction, Window};
use fanfold::model::post::{Content, Visibility};
use fanfold::model::reaction::ReactionSelection;
use fanfold::model::user::UserFields;

use crate::ground::{Redis, is_measured};
use crate::people::users;
use crate::times::Times;

/// The amount of data, and the number of rounds.
struct Sizes {
    authors: usize,
    /// Posts per author.
    posts: usize,
    rounds: usize,
}

/// Depths of the measured pages, as numbers of newer posts.
const DEPTHS: [usize; 4] = [0, 2_000, 100_000, 500_000];
const PAGE: usize = 20;

#[tokio::main]
async fn main() {
    let sizes = if is_measured() {
        Sizes { authors: 200, posts: 5_000, rounds: 40 }
    } else {
        Sizes { authors: 10, posts: 30, rounds: 2 }
    };
    let redis = Redis::start(None);
    // Prevents archiving until it is measured.
    let app = redis.app(&["--post-hot-limit", "100000", "--timeline-capacity", "1000"]).await;
    let reader = app.register("reader", "correct horse", None, None, None, None).await.unwrap().viewer;
    let ids = publish(&app, &reader, &sizes).await;
    let hot = if is_measured() { "1000" } else { "3" };
    let app = redis.app(&["--post-hot-limit", hot, "--timeline-capacity", "1000"]).await;
    measure_moving(&app).await;
    measure_reading(&app, &reader, &ids, sizes.rounds).await;
}

/// Publishes posts by all authors in turns, and returns their ids, newest first. The reader follows all authors.
async fn publish(app: &App, reader: &Viewer, sizes: &Sizes) -> Vec<PostId> {
    let authors = users(app, sizes.authors).await;
    let follower = reader.user().unwrap();
    let follow = |&followee: &UserId| ImportFollow { follower, followee, at: Timestamp::from_millis(0) };
    app.import_follows(authors.iter().map(follow).collect()).await.unwrap();
    let content =
        Content::parse("Some words that somebody has said, about as many as people say. ".repeat(2).as_str());
    let content = content.unwrap();
    let mut ids = Vec::with_capacity(sizes.authors * sizes.posts);
    for number in 0..sizes.posts {
        let post = |&author: &UserId| NewPost {
            references: References::default(),
            author,
            content: content.clone(),
            platform: None,
            visibility: Visibility::Public,
            created_at: Timestamp::from_millis(i64::try_from(number).unwrap()),
        };
        let posts: Vec<NewPost> = authors.iter().map(post).collect();
        ids.extend(app.import_posts(&posts).await.unwrap());
    }
    ids.reverse();
    ids
}

async fn measure_moving(app: &App) {
    let began = Instant::now();
    app.mover().drain(Duration::ZERO).await.unwrap();
    let took = began.elapsed().as_secs_f64();
    let moved = app.transit().await.unwrap().moved;
    #[expect(clippy::cast_precision_loss, reason = "for a person to read")]
    let rate = moved as f64 / took;
    println!("{moved} posts were archived in {took:.1} s: {rate:.0} a second (SQLite)");
}

async fn measure_reading(app: &App, reader: &Viewer, ids: &[PostId], rounds: usize) {
    let mut depths: Vec<(usize, Times)> = DEPTHS
        .iter()
        .filter(|depth| **depth + PAGE < ids.len())
        .map(|depth| (*depth, Times::default()))
        .collect();
    for _ in 0..=rounds {
        for (depth, times) in &mut depths {
            let from = depth.checked_sub(1).map(|last| ids[last]);
            let window = Window { direction: Direction::Forward, size: PAGE, from };
            let query = TimelineQuery {
                window,
                author: UserFields::NONE,
                reactions: ReactionSelection::NONE,
                replies: Replies::default(),
                looks_back: false,
            };
            let began = Instant::now();
            let page = app.timeline(reader, query).await.unwrap();
            times.0.push(began.elapsed());
            let found: Vec<PostId> = page.page.entries.iter().map(|entry| entry.post.id).collect();
            assert_eq!(found, &ids[*depth..*depth + PAGE]);
        }
    }
    println!("{rounds} rounds; milliseconds {:>37} {:>9} {:>9}", "median", "90 %", "most");
    for (depth, times) in &mut depths {
        // The first read fills the timeline.
        times.0.remove(0);
        times.print(&format!("a page of {PAGE} after {depth} posts"));
    }
    let median =
        |depth| depths.iter().find(|(other, _)| *other == depth).map(|(_, times)| times.quantile(50));
    if let (Some(near), Some(far)) = (median(2_000), median(500_000)) {
        println!("a page after 500000 posts : one after 2000 = {:.2} (medians)", far / near);
    }
}
