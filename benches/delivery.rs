//! How long `publish` takes and how soon a post is where it belongs, for an author with very many
//! followers and for one with a few, in turns on the same Redis.
//!
//! `cargo bench` measures; under `cargo test` a few rounds with few followers show that it works.

#![allow(clippy::unwrap_used, reason = "a bench that cannot go on shall panic")]
#![allow(clippy::print_stdout, reason = "this is what it is for")]
#![allow(clippy::disallowed_methods, reason = "a bench measures time")]

use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Parser;
use fanfold::app::App;
use fanfold::app::import::ImportFollow;
use fanfold::app::user::Newcomer;
use fanfold::app::viewer::Viewer;
use fanfold::archive::Archive;
use fanfold::config::DataConfig;
use fanfold::model::chance::Chance;
use fanfold::model::clock::{SystemClock, Timestamp};
use fanfold::model::id::{PostId, UserId};
use fanfold::model::user::{Bio, Username};
use fanfold::store::Store;
use redis::aio::MultiplexedConnection;
use tempfile::TempDir;

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

#[derive(Parser)]
struct Knobs {
    #[command(flatten)]
    data: DataConfig,
}

/// A Redis of the bench's own.
struct Redis {
    process: Child,
    directory: TempDir,
}

impl Redis {
    fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let program = ["redis-server", "valkey-server"]
            .into_iter()
            .find(|name| Command::new(name).arg("--version").stdout(Stdio::null()).status().is_ok())
            .expect("`make setup` installs one of them");
        let process = Command::new(program)
            .current_dir(directory.path())
            .args(["--port", "0", "--unixsocket", "redis.sock", "--save", ""])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let redis = Self { process, directory };
        while redis.client().get_connection().is_err() {
            std::thread::sleep(Duration::from_millis(10));
        }
        redis
    }

    fn url(&self) -> String {
        format!("unix:{}", self.directory.path().join("redis.sock").display())
    }

    fn client(&self) -> redis::Client {
        redis::Client::open(self.url()).unwrap()
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
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
        let url = redis.url();
        // As many as are pushed to, however many they are.
        let knobs = Knobs::parse_from(["bench", "--redis-url", &url, "--timeline-push-limit", "1000000000"]);
        let DataConfig { redis: config, relation, account, timeline, archive } = knobs.data;
        let archive = Archive::new(&archive, &config.data_dir).expect("the archive is in the data directory");
        let store = Store::open(&config).await.unwrap();
        let clock = Arc::new(SystemClock);
        let app = App::new(store, archive, clock, Chance::from_seed(1), relation, account, timeline);
        let connection = redis.client().get_multiplexed_async_connection().await.unwrap();

        let many = app.register("many", "correct horse", None, None).await.unwrap().viewer;
        let few = app.register("few", "correct horse", None, None).await.unwrap().viewer;
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

async fn users(app: &App, count: usize) -> Vec<UserId> {
    let mut ids = Vec::with_capacity(count);
    let numbers: Vec<usize> = (0..count).collect();
    for numbers in numbers.chunks(5_000) {
        let newcomer = |number: &usize| {
            let username = Username::parse(&format!("u{number}")).unwrap();
            Newcomer {
                display_name: (&username).into(),
                username,
                bio: Bio::default(),
                created_at: Timestamp::from_millis(0),
                password: None,
                sign_in: None,
            }
        };
        ids.extend(app.import_users(numbers.iter().map(newcomer).collect()).await.unwrap().ids);
    }
    ids
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

/// Times of one kind.
#[derive(Default)]
struct Times(Vec<Duration>);

impl Times {
    fn quantile(&self, percent: usize) -> f64 {
        let mut times = self.0.clone();
        times.sort_unstable();
        times[(times.len() - 1) * percent / 100].as_secs_f64() * 1_000.0
    }

    fn print(&self, what: &str) {
        let [median, ninety, most] = [50, 90, 100].map(|percent| self.quantile(percent));
        println!("{what:<54} {median:>9.2} {ninety:>9.2} {most:>9.2}");
    }
}

#[tokio::main]
async fn main() {
    let sizes = if std::env::args().any(|argument| argument == "--bench") {
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
