//! Memory usage with very much data, and how many times as much plain layouts of the same data take.
//!
//! `cargo bench --bench memory` fills a Redis of its own with the data of a million users and prints a table; under
//! `cargo test --bench memory` sixty users show that it works. Each line has
//!
//! - a kind of data, with its number of items, bytes and encoding, as `fanfold memory` reports them;
//! - a plain layout of the same data, with its bytes for each item, and how many times as much it takes.
//!
//! Only a sample of the data is written in the plain layouts.

#![allow(clippy::unwrap_used, reason = "a bench that cannot go on shall panic")]
#![allow(clippy::print_stdout, reason = "this is what it is for")]

mod ground;
#[path = "ground/people.rs"]
mod people;
#[path = "memory/plain.rs"]
mod plain;
#[path = "memory/reactions.rs"]
mod reactions;
#[path = "memory/sample.rs"]
mod sample;
#[path = "memory/table.rs"]
mod table;

use fanfold::app::App;
use fanfold::app::import::ImportFollow;
use fanfold::app::post::NewPost;
use fanfold::model::clock::{Day, Timestamp};
use fanfold::model::details::References;
use fanfold::model::id::{PostId, UserId};
use fanfold::model::page::{Direction, Window};
use fanfold::model::post::{Content, Visibility};
use fanfold::model::region::Table;
use fanfold::store::batch::Batch;
use fanfold::store::key::Layout;
use fanfold::store::{region, timeline, visit};

use crate::ground::{Redis, is_measured};
use crate::people::users;
use crate::reactions::react;
use crate::sample::Sample;

/// The amount of data.
struct Sizes {
    users: usize,
    /// Users who follow others and have a timeline.
    readers: usize,
    /// Number of users that a reader follows.
    follows: usize,
    posts: usize,
}

const FIRST_PAGE: Window<PostId> = Window { direction: Direction::Forward, size: 1, from: None };
/// Number of users whose regions and visits, and of reactions, that are written in one batch.
const BATCH_SIZE: usize = 5_000;

#[tokio::main]
async fn main() {
    let sizes = if is_measured() {
        Sizes { users: 1_000_000, readers: 2_000, follows: 200, posts: 50_000 }
    } else {
        Sizes { users: 60, readers: 5, follows: 10, posts: 40 }
    };
    let redis = Redis::start(None);
    let expected = sizes.users.to_string();
    let options = ["--redis-expected-users", &expected, "--visit-expected-visitors", &expected];
    let app = redis.app(&options).await;
    let ids = users(&app, sizes.users).await;
    follow(&app, &ids, &sizes).await;
    let posts = publish(&app, &ids, &sizes).await;
    let reactions = react(&app, &ids, &posts).await;
    let layout = record_visits(&app, &ids).await;
    // Before anything else is written into this Redis.
    let usage = app.measure_memory().await.unwrap();
    let sample = Sample::new(&ids, sizes.readers, &posts, reactions, layout);
    let ratios = sample.compare(&app, redis.client().get_connection().unwrap()).await;
    println!("{}", table::print(&usage, &ratios));
}

/// Lets the readers follow others.
async fn follow(app: &App, ids: &[UserId], sizes: &Sizes) {
    for (index, &follower) in ids[..sizes.readers].iter().enumerate() {
        let followee = |step: usize| ids[(index * 31 + step * 7 + 1) % ids.len()];
        let followees = (0..sizes.follows).map(followee).filter(|followee| *followee != follower);
        let follow = |followee| ImportFollow { follower, followee, at: Timestamp::from_millis(0) };
        app.import_follows(followees.map(follow).collect()).await.unwrap();
    }
}

/// Publishes posts, and pushes a thousand of them to the timeline of each reader.
async fn publish(app: &App, ids: &[UserId], sizes: &Sizes) -> Vec<PostId> {
    let content = Content::parse("With the lights out somebody had mended the wobbly table.").unwrap();
    let post = |number: usize| NewPost {
        references: References::default(),
        author: ids[number % ids.len()],
        content: content.clone(),
        platform: None,
        visibility: Visibility::Public,
        created_at: Timestamp::from_millis(0),
    };
    let mut posts = Vec::new();
    let numbers: Vec<usize> = (0..sizes.posts).collect();
    for numbers in numbers.chunks(1_000) {
        let new: Vec<NewPost> = numbers.iter().map(|&number| post(number)).collect();
        posts.extend(app.import_posts(&new).await.unwrap());
    }
    let (store, keys) = (app.store(), app.store().keys());
    for (index, &reader) in ids[..sizes.readers].iter().enumerate() {
        let (nobody, nonce) = (timeline::Sources::Named(&[]), index as u64 + 1);
        let open = timeline::open(keys, reader, nonce, 86_400, 1, nobody, &FIRST_PAGE);
        open.send("bench", store).await.unwrap();
        let mut batch = Batch::new("bench");
        for step in 0..1_000.min(posts.len()) {
            let post = posts[(index * 17 + step * 41) % posts.len()];
            drop(batch.push(timeline::deliver(keys, reader, post, 1_000)));
        }
        batch.send(store).await.unwrap();
    }
    posts
}

/// All users set a region, and visit on the same day.
async fn record_visits(app: &App, ids: &[UserId]) -> Layout {
    let countries = Table::current().countries();
    let (store, keys, day) = (app.store(), app.store().keys(), Day::of(app.now()));
    let layout = visit::fix_layout(keys, day, ids.len() as u64).send("bench", store).await.unwrap();
    for ids in ids.chunks(BATCH_SIZE) {
        let mut batch = Batch::new("bench");
        for &id in ids {
            let number = usize::try_from(id.get()).unwrap();
            let country = countries[number % countries.len()];
            let subdivisions = country.subdivisions();
            let code = subdivisions.first().map(|subdivision| subdivision.code.as_str());
            let region = Table::current().find(country.code, code).unwrap();
            drop(batch.push(region::write(keys, id, Some(region))));
            drop(batch.push(visit::record(keys, layout, id)));
        }
        batch.send(store).await.unwrap();
    }
    layout
}
