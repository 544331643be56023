//! How long `publish` takes and how soon a post is where it belongs, for an author with very many
//! followers and for one with a few, in turns on the same Redis.
//!
//! `cargo bench` measures; under `cargo test` a few rounds with few followers show that it works.

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
use fanfold::app::viewer::Viewer;
use fanfold::model::clock::Timestamp;
use fanfold::model::id::{PostId, UserId};
use redis::aio::MultiplexedConnection;

use crate::ground::{Redis, is_measured};
use crate::people::users;
use crate::times::Times;

/// What is measured on.
struct Sizes {
    /// Followers of the author who has many.
    many: usize,
    /// How many of them have a timeline.
    active: usize,
    /// Followers of the author who has few; all of them have a timeline.
    few: usize,
    rounds: usize,
}

/// An author who is signed in, and the follower who is served last.
struct Author {
    viewer: Viewer,
    last: UserId,
}

struct Bench {
    app: App,
    connection: MultiplexedConnection,
    many: Author,
    few: Author,
}

impl Bench {
    async fn set(redis: &Redis, sizes: &Sizes) -> Self {
        // As many as are pushed to, however many they are.
        let app = redis.app(&["--timeline-push-limit", "1000000000"]).await;
        let connection = redis.client().get_multiplexed_async_connection().await.unwrap();

        let many = app.register("many", "correct horse", None, None, None).await.unwrap().viewer;
        let few = app.register("few", "correct horse", None, None, None).await.unwrap().viewer;
        let fans = users(&app, sizes.many + sizes.few).await;
        let (of_many, of_few) = fans.split_at(sizes.many);
        follow(&app, of_many, &many).await;
        follow(&app, of_few, &few).await;
        let mut bench = Self {
            app,
            connection,
            many: Author { viewer: many, last: of_many[0] },
            few: Author { viewer: few, last: *of_few.last().unwrap() },
        };
        // Evenly among them, so that every chunk has some.
        let step = sizes.many / sizes.active;
        let active: Vec<UserId> = of_many.iter().step_by(step).take(sizes.active).copied().collect();
        bench.many.last = *active.last().unwrap();
        bench.open_timelines(&active).await;
        bench.open_timelines(of_few).await;
        bench
    }

    /// Timelines as they are when their owners have read them, and there was nothing to read.
    async fn open_timelines(&mut self, users: &[UserId]) {
        for users in users.chunks(1_000) {
            let mut pipeline = redis::pipe();
            for user in users {
                pipeline.cmd("RPUSH").arg(format!("ff:{{u{user}}}:timeline")).arg("=1:0:1:0").ignore();
            }
            pipeline.exec_async(&mut self.connection).await.unwrap();
        }
    }

    async fn publish(&self, author: &Author) -> (PostId, Duration) {
        let began = Instant::now();
        let post = self.app.publish(&author.viewer, "hello", Some("bench"), None).await.unwrap();
        (post, began.elapsed())
    }

    /// Waits until the follower who is served last has the post.
    async fn until_received(&self, author: &Author, post: PostId) {
        let key = format!("ff:{{u{}}}:timeline", author.last);
        loop {
            let mut connection = self.connection.clone();
            let newest: String =
                redis::cmd("LINDEX").arg(&key).arg(0).query_async(&mut connection).await.unwrap();
            if newest == post.to_string() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    async fn until_quiet(&self) {
        while self.app.backlog().await.unwrap().jobs > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

async fn follow(app: &App, fans: &[UserId], author: &Viewer) {
    let followee = author.user().unwrap();
    for (number, fans) in fans.chunks(5_000).enumerate() {
        let follow = |(index, &follower): (usize, &UserId)| {
            let at = i64::try_from(number * 5_000 + index).unwrap();
            ImportFollow { follower, followee, at: Timestamp::from_millis(at) }
        };
        app.import_follows(fans.iter().enumerate().map(follow).collect()).await.unwrap();
    }
}

#[tokio::main]
async fn main() {
    let sizes = if is_measured() {
        Sizes { many: 100_000, active: 20_000, few: 10, rounds: 40 }
    } else {
        Sizes { many: 300, active: 60, few: 10, rounds: 2 }
    };
    let redis = Redis::start();
    let bench = Bench::set(&redis, &sizes).await;
    for worker in bench.app.workers() {
        tokio::spawn(async move { worker.apart().work(std::future::pending()).await });
    }
    let mut few = Times::default();
    let mut many = Times::default();
    let mut delivered = Times::default();
    let mut beside = Times::default();
    for _ in 0..sizes.rounds {
        bench.until_quiet().await;
        few.0.push(bench.publish(&bench.few).await.1);
        bench.until_quiet().await;
        let began = Instant::now();
        let (post, took) = bench.publish(&bench.many).await;
        many.0.push(took);
        bench.until_received(&bench.many, post).await;
        delivered.0.push(began.elapsed());

        bench.until_quiet().await;
        bench.publish(&bench.many).await;
        let began = Instant::now();
        let (post, _) = bench.publish(&bench.few).await;
        bench.until_received(&bench.few, post).await;
        beside.0.push(began.elapsed());
    }
    let Sizes { many: followers, active, few: some, rounds } = sizes;
    println!("{rounds} rounds; milliseconds {:>37} {:>9} {:>9}", "median", "90 %", "most");
    few.print(&format!("publish, {some} followers"));
    many.print(&format!("publish, {followers} followers"));
    delivered.print(&format!("until {active} of {followers} timelines have the post"));
    beside.print(&format!("until {some} have the post that was published next"));
    println!(
        "publish, {followers} followers : {some} followers = {:.2} (medians)",
        many.quantile(50) / few.quantile(50)
    );
}
