//! A stage: a small world in which calls are made one step at a time, and what all users should see then.
//!
//! Not here: which calls are made (`timeline`, `moving`, `traces`).

mod account;
mod actor;
mod call;
mod hold;
mod invariant;
mod like;
mod moment;
mod read;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fanfold::app::App;
use fanfold::app::viewer::Viewer;
use fanfold::archive::Archive;
use fanfold::model::id::UserId;

use crate::harness::deployment::is_on_cluster;
use crate::harness::sql::{self, Database, Kind};
pub(crate) use crate::harness::stage::call::{AccountChange, Call, Refer, Results, Scenario};
pub(crate) use crate::harness::stage::hold::{hold_everywhere, hold_everywhere_on};
pub(crate) use crate::harness::stage::invariant::check_posts;
use crate::harness::world::{WATERMARK_AGE, World, app, archive_all, deliver_all};

pub(crate) const STRATEGIES: [&str; 3] = ["hybrid", "push", "pull"];

/// Returns the strategies of tests that take long: on a cluster only the first one, which both pushes and pulls.
pub(crate) fn strategies() -> &'static [&'static str] {
    if is_on_cluster() { &STRATEGIES[..1] } else { &STRATEGIES }
}

pub(crate) const USERS: u64 = 4;
/// Entries per page.
const PAGE: usize = 2;

fn id(number: u64) -> UserId {
    UserId::new(number).unwrap()
}

/// An application with timelines of `capacity` posts, where two followers make a star.
async fn small(world: &World, strategy: &str, capacity: &str, more: &[&str]) -> App {
    let options = [
        ["--timeline-strategy", strategy],
        ["--timeline-capacity", capacity],
        ["--timeline-push-limit", "1"],
        ["--relation-changes-per-pair", "1000000"],
        ["--post-reactions-per-user", "1000000"],
    ];
    app(&world.redis, &world.clock, &[options.as_flattened(), more].concat()).await
}

/// The same, with reads that share a watermark for the longest time that can be configured.
async fn stale(world: &World, strategy: &str, capacity: &str, more: &[&str]) -> App {
    let app = small(world, strategy, capacity, &[more, &[WATERMARK_AGE, "1000"]].concat()).await;
    app.open_archive().await.unwrap();
    app
}

/// A way to make the archive fail, at once and for all processes.
struct Outage {
    url: String,
    is_on: AtomicBool,
}

impl Outage {
    async fn begin(&self) {
        if !self.is_on.swap(true, Ordering::SeqCst) {
            sql::execute(&self.url, "ALTER TABLE posts RENAME TO away").await;
        }
    }

    async fn end(&self) {
        if self.is_on.swap(false, Ordering::SeqCst) {
            sql::execute(&self.url, "ALTER TABLE away RENAME TO posts").await;
        }
    }
}

/// A world with users 1 to 4 who are signed in, and an application with small timelines.
pub(crate) struct Stage {
    pub(crate) world: World,
    pub(crate) app: App,
    /// The application of readers, each of whom reads the watermark once and then never again.
    stale: App,
    pub(crate) database: Database,
    archive: Archive,
    outage: Arc<Outage>,
    viewers: HashMap<u64, Viewer>,
    /// The viewers of those who watch, as other processes know them.
    watchers: HashMap<u64, Viewer>,
    pub(crate) results: Arc<Mutex<Results>>,
}

impl Stage {
    /// Creates a stage with timelines of `capacity` posts, and stars from two followers on.
    pub(crate) async fn new(strategy: &str, capacity: &str) -> Self {
        Self::with_archive(Kind::Sqlite, strategy, capacity, "1000").await
    }

    /// The same on a single server of its own.
    pub(crate) async fn own(strategy: &str, capacity: &str) -> Self {
        Self::on(World::own(&[]).await, Kind::Sqlite, strategy, capacity, "1000").await
    }

    /// The same with an archive of this kind, and this number of hot posts per author.
    pub(crate) async fn with_archive(kind: Kind, strategy: &str, capacity: &str, hot: &str) -> Self {
        Self::on(World::new().await, kind, strategy, capacity, hot).await
    }

    async fn on(world: World, kind: Kind, strategy: &str, capacity: &str, hot: &str) -> Self {
        let (mut viewers, mut watchers) = (HashMap::new(), HashMap::new());
        for (number, person) in (1..).zip(world.people(USERS as usize).await) {
            viewers.insert(number, world.app.authenticate(&person.token).await.unwrap());
            watchers.insert(number, world.app.authenticate(&person.token).await.unwrap());
        }
        let database = Database::new(kind).await;
        let archive = database.archive();
        let outage = Arc::new(Outage { url: database.url.clone(), is_on: AtomicBool::new(false) });
        let options = ["--archive-url", &database.url, "--post-hot-limit", hot];
        let app = small(&world, strategy, capacity, &options).await;
        app.open_archive().await.unwrap();
        let stale = stale(&world, strategy, capacity, &options).await;
        let stage =
            Self { world, app, stale, database, archive, outage, viewers, watchers, results: Arc::default() };
        stage.keep_sessions();
        stage
    }

    /// The same world under another strategy.
    pub(crate) async fn changed(self, strategy: &str) -> Self {
        let options = ["--archive-url", &self.database.url];
        let app = small(&self.world, strategy, "5", &options).await;
        Self { app, stale: stale(&self.world, strategy, "5", &options).await, ..self }
    }

    /// Removes everything but the users and their sessions.
    pub(crate) async fn clear(&self) {
        self.unmute_all().await;
        self.restore_accounts();
        let keys: Vec<String> = self.world.redis.raw(&["KEYS", "ff:*"]);
        let stays = [":user", ":secret", ":sessions", ":layout", ":next:user"];
        let goes = |key: &&String| !key.contains("name:") && !stays.iter().any(|end| key.ends_with(end));
        let mut words = vec!["DEL", "nothing"];
        words.extend(keys.iter().filter(goes).map(String::as_str));
        self.world.redis.raw::<i64>(&words);
        self.outage.end().await;
        self.database
            .execute("DELETE FROM posts; DELETE FROM referrers; DELETE FROM edits; DELETE FROM likes")
            .await;
        *self.results.lock().unwrap() = Results::default();
    }

    /// Removes all mutes, so that the cached exclusions are those of the cleared store.
    async fn unmute_all(&self) {
        for (user, viewer) in &self.viewers {
            for other in self.muted(*user) {
                self.app.unmute(viewer, id(other)).await.unwrap();
            }
        }
    }

    fn muted(&self, user: u64) -> Vec<u64> {
        self.world.redis.raw(&["HKEYS", &format!("ff:{{u{user}}}:muting")])
    }

    /// Returns true during an outage of the archive.
    pub(crate) fn is_archive_away(&self) -> bool {
        self.outage.is_on.load(Ordering::SeqCst)
    }

    /// Waits until no call can be in progress, does the jobs of accounts, repairs, and delivers everything.
    pub(crate) async fn settle(&self) {
        self.outage.end().await;
        // A job that a worker has claimed is due again after a minute.
        self.world.clock.advance(Duration::from_secs(61));
        self.app.work_on_accounts().await.unwrap();
        // A repair may leave an intent that is dropped once it is a minute old.
        let mut has_more = true;
        for _ in 0..3 {
            self.world.clock.advance(Duration::from_secs(61));
            has_more = has_more && self.app.repair().await.unwrap() > 0;
        }
        // The mover of a deleted post may leave its reposts to the workers, under an intent, and these leave them to movers.
        for _ in 0..3 {
            deliver_all(&self.app).await;
            archive_all(&self.app).await;
            let intents: Vec<String> = self.world.redis.raw(&["KEYS", "ff:*:intents"]);
            if intents.is_empty() {
                return;
            }
            self.world.clock.advance(Duration::from_secs(61));
            self.app.repair().await.unwrap();
        }
    }

    /// Returns a user as a viewer.
    pub(crate) fn viewer(&self, user: u64) -> Viewer {
        self.viewers[&user].clone()
    }
}
