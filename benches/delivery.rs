//! Measures the duration of `publish`, and the time until a post is delivered, for an author with many followers and an
//! author with few, in turns on the same Redis. Also measures delivery while another author of the same partition
//! publishes as much as the author's bucket allows.
//!
//! `cargo bench` measures; `cargo test` only checks that the bench works, in a few rounds with few followers.

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
use fanfold::app::post::PublishRequest;
use fanfold::app::viewer::Viewer;
use fanfold::model::clock::Timestamp;
use fanfold::model::id::{PostId, UserId};
use redis::aio::MultiplexedConnection;

use crate::ground::{Redis, is_measured};
use crate::people::users;
use crate::times::Times;

/// Pause before each post of the author with few followers, both alone and beside the busy author.
const PAUSE: Duration = Duration::from_millis(20);

/// The numbers of followers, posts and rounds.
struct Sizes {
    /// Followers of the author with many followers.
    many: usize,
    /// Number of these followers who have a timeline.
    active: usize,
    /// Followers of the author with few followers. All have a timeline.
    few: usize,
    rounds: usize,
    /// Number of posts that the busy author publishes at once.
    flood: usize,
    /// Followers of the busy author. All have a timeline.
    crowd: usize,
}

/// A signed-in author, and the follower who receives posts last.
struct Author {
    viewer: Viewer,
    last: UserId,
}

struct Bench {
    app: App,
    connection: MultiplexedConnection,
    many: Author,
    few: Author,
    /// The busy author, in the same partition as `few`.
    busy: Author,
}

impl Bench {
    async fn set(redis: &Redis, sizes: &Sizes) -> Self {
        // Posts are pushed to any number of followers.
        let app = redis.app(&["--timeline-push-limit", "1000000000"]).await;
        let connection = redis.client().get_multiplexed_async_connection().await.unwrap();

        let many = app.register("many", "correct horse", None, None, None, None).await.unwrap().viewer;
        let few = app.register("few", "correct horse", None, None, None, None).await.unwrap().viewer;
        let busy = same_partition(&app, &few).await;
        let fans = users(&app, sizes.many + sizes.few).await;
        let (of_many, of_few) = fans.split_at(sizes.many);
        follow(&app, of_many, &many).await;
        follow(&app, of_few, &few).await;
        follow(&app, &of_many[..sizes.crowd], &busy).await;
        let mut bench = Self {
            app,
            connection,
            many: Author { viewer: many, last: of_many[0] },
            few: Author { viewer: few, last: *of_few.last().unwrap() },
            busy: Author { viewer: busy, last: of_many[sizes.crowd - 1] },
        };
        // Spreads the timelines evenly among the followers, so that every chunk has some.
        let step = sizes.many / sizes.active;
        let active: Vec<UserId> = of_many.iter().step_by(step).take(sizes.active).copied().collect();
        bench.many.last = *active.last().unwrap();
        bench.open_timelines(&active).await;
        bench.open_timelines(of_few).await;
        let is_open = |fan: &&UserId| active.binary_search(fan).is_ok();
        let crowd: Vec<UserId> = of_many[..sizes.crowd].iter().filter(|fan| !is_open(fan)).copied().collect();
        bench.open_timelines(&crowd).await;
        bench
    }

    /// Creates timelines as if their owners had read them while they were empty.
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
        let post = self
            .app
            .publish(
                &author.viewer,
                PublishRequest { content: "hello", platform: Some("bench"), ..PublishRequest::default() },
            )
            .await
            .unwrap();
        (post, began.elapsed())
    }

    /// Waits until the last follower has received the post.
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

    /// Publishes a post. Returns the duration of `publish`, and the time from then until the last follower received the
    /// post.
    async fn deliver(&self, author: &Author) -> (Duration, Duration) {
        let (post, took) = self.publish(author).await;
        let began = Instant::now();
        self.until_received(author, post).await;
        (took, began.elapsed())
    }

    /// Measures the author with few followers while the busy author publishes many posts at once.
    async fn flood(&self, sizes: &Sizes) {
        let (mut alone, mut beside) = (Times::default(), Times::default());
        let (mut publish_alone, mut publish_beside) = (Times::default(), Times::default());
        for _ in 0..sizes.rounds {
            self.until_quiet().await;
            tokio::time::sleep(PAUSE).await;
            let (published, delivered) = self.deliver(&self.few).await;
            publish_alone.0.push(published);
            alone.0.push(delivered);
        }
        let began = Instant::now();
        let publishing: Vec<_> = (0..sizes.flood)
            .map(|_| {
                let (app, viewer) = (self.app.clone(), self.busy.viewer.clone());
                tokio::spawn(async move {
                    app.publish(&viewer, PublishRequest { content: "flood", ..PublishRequest::default() })
                        .await
                        .is_ok()
                })
            })
            .collect();
        let mut accepted = 0;
        for publishing in publishing {
            accepted += u32::from(publishing.await.unwrap());
        }
        let published = began.elapsed();
        while self.app.backlog().await.unwrap().jobs > 1 && beside.0.len() < 100 {
            let (published, delivered) = self.deliver(&self.few).await;
            publish_beside.0.push(published);
            beside.0.push(delivered);
            tokio::time::sleep(PAUSE).await;
        }
        let waiting = self.app.backlog().await.unwrap().jobs;
        self.until_quiet().await;
        let (crowd, flood, measured) = (sizes.crowd, sizes.flood, beside.0.len());
        println!(
            "\none author with {crowd} followers publishes {flood} times at once: {accepted} accepted in {published:.1?},"
        );
        println!(
            "delivered after {:.1?}; {measured} posts of another author meanwhile, {waiting} jobs left then",
            began.elapsed()
        );
        publish_alone.print("publish, alone");
        publish_beside.print("publish, beside that");
        alone.print("published until delivered, alone");
        beside.print("published until delivered, beside that");
        if measured > 0 {
            println!("beside : alone = {:.2} (medians)", beside.quantile(50) / alone.quantile(50));
        }
    }

    async fn until_quiet(&self) {
        while self.app.backlog().await.unwrap().jobs > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// Registers an author in the same partition as another author.
async fn same_partition(app: &App, other: &Viewer) -> Viewer {
    let partition = |viewer: &Viewer| viewer.user().unwrap().get() % u64::from(app.delivery_partitions());
    for number in 0.. {
        let name = format!("busy{number}");
        let made = app.register(&name, "correct horse", None, None, None, None).await.unwrap().viewer;
        if partition(&made) == partition(other) {
            return made;
        }
    }
    unreachable!("ids go through all partitions")
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
        Sizes { many: 100_000, active: 20_000, few: 10, rounds: 40, flood: 2_000, crowd: 10_000 }
    } else {
        Sizes { many: 300, active: 60, few: 10, rounds: 2, flood: 20, crowd: 100 }
    };
    let redis = Redis::start(None);
    let bench = Bench::set(&redis, &sizes).await;
    for worker in bench.app.workers() {
        tokio::spawn(async move { worker.apart().work(std::future::pending()).await });
    }
    let mut few = Times::default();
    let mut many = Times::default();
    let mut delivered = Times::default();
    let mut delivered_to_all = Times::default();
    let mut beside = Times::default();
    for _ in 0..sizes.rounds {
        bench.until_quiet().await;
        few.0.push(bench.publish(&bench.few).await.1);
        bench.until_quiet().await;
        let (took, received) = bench.deliver(&bench.many).await;
        many.0.push(took);
        delivered.0.push(took + received);

        bench.until_quiet().await;
        let (took, received) = bench.deliver(&bench.busy).await;
        delivered_to_all.0.push(took + received);

        bench.until_quiet().await;
        bench.publish(&bench.many).await;
        let (took, received) = bench.deliver(&bench.few).await;
        beside.0.push(took + received);
    }
    let Sizes { many: followers, active, few: some, rounds, crowd, .. } = sizes;
    println!("{rounds} rounds; milliseconds {:>37} {:>9} {:>9}", "median", "90 %", "most");
    few.print(&format!("publish, {some} followers"));
    many.print(&format!("publish, {followers} followers"));
    delivered.print(&format!("until {active} of {followers} timelines have the post"));
    delivered_to_all.print(&format!("until {crowd} of {crowd} timelines have the post"));
    beside.print(&format!("until {some} have the post that was published next"));
    #[allow(clippy::cast_precision_loss, reason = "there are few followers")]
    let looked_at = followers as f64 / delivered.quantile(50) * 1_000.0;
    println!("followers' timelines looked at per second: {looked_at:.0} (median)");
    println!(
        "publish, {followers} followers : {some} followers = {:.2} (medians)",
        many.quantile(50) / few.quantile(50)
    );
    bench.flood(&sizes).await;
}
