//! Deliveries to followers who listen, and to followers who do not.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fanfold::app::App;
use fanfold::app::import::ImportFollow;
use fanfold::app::live::Listener;
use fanfold::app::post::PublishRequest;
use fanfold::app::timeline::TimelineQuery;
use fanfold::app::timeline::entry::Replies;
use fanfold::app::viewer::Viewer;
use fanfold::model::clock::Timestamp;
use fanfold::model::id::UserId;
use fanfold::model::page::{Direction, Window};
use fanfold::model::reaction::ReactionSelection;
use fanfold::model::user::UserFields;
use futures::stream::{self, StreamExt as _};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::MASTERS;
use crate::ground::app_at;
use crate::harness::cluster::Cluster;
use crate::report::Failover;

/// Interval at which a state is read until it has changed.
const POLLED: Duration = Duration::from_millis(5);
/// Interval between posts during the failover.
const PUBLISHED: Duration = Duration::from_millis(100);

/// A follower of the author, and the time of the last wake-up.
pub(crate) struct Follower {
    viewer: Viewer,
    woken: Arc<AtomicU64>,
}

/// An author, all of whose followers have a timeline.
pub(crate) struct Audience {
    app: App,
    author: Viewer,
    followers: Vec<Follower>,
    began: Instant,
}

impl Audience {
    /// Registers the author and followers, and starts workers and the reception of signals.
    pub(crate) async fn new(cluster: &Cluster, directory: &str, followers: usize) -> Self {
        let options = ["--timeline-push-limit", "1000000", "--post-publishes-per-author", "1000000"];
        let app = app_at(&cluster.url(), directory, &options).await;
        let register = async |name: String| {
            app.register(&name, "correct horse", None, None, None, None).await.unwrap().viewer
        };
        let author = register("author".to_owned()).await;
        let names = (0..followers).map(|number| format!("u{number}"));
        let viewers: Vec<Viewer> = stream::iter(names).map(register).buffer_unordered(4).collect().await;
        let followee = author.user().unwrap();
        let follow = |viewer: &Viewer| ImportFollow {
            follower: viewer.user().unwrap(),
            followee,
            at: Timestamp::from_millis(0),
        };
        for viewers in viewers.chunks(1_000) {
            app.import_follows(viewers.iter().map(follow).collect()).await.unwrap();
        }
        let window = Window { direction: Direction::Forward, size: 1, from: None };
        let query = TimelineQuery {
            window,
            author: UserFields::NONE,
            reactions: ReactionSelection::NONE,
            replies: Replies::default(),
            looks_back: false,
        };
        for viewer in &viewers {
            app.timeline(viewer, query).await.unwrap();
        }
        for worker in app.workers() {
            tokio::spawn(async move { worker.apart().work(std::future::pending()).await });
        }
        let listening = app.clone();
        tokio::spawn(async move { listening.keep_listening().await });
        let follower = |viewer| Follower { viewer, woken: Arc::default() };
        let followers = viewers.into_iter().map(follower).collect();
        Self { app, author, followers, began: Instant::now() }
    }

    /// Returns the number of microseconds since the bench began.
    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_micros()).unwrap()
    }

    /// Publishes posts, and waits until all of them are delivered. Returns the number of deliveries per second.
    async fn deliver(&self, posts: usize) -> f64 {
        let began = Instant::now();
        for _ in 0..posts {
            self.app
                .publish(&self.author, PublishRequest { content: "hello", ..PublishRequest::default() })
                .await
                .unwrap();
        }
        while self.app.backlog().await.unwrap().jobs > 0 {
            sleep(POLLED).await;
        }
        #[allow(clippy::cast_precision_loss, reason = "there are few deliveries")]
        let deliveries = (posts * self.followers.len()) as f64;
        deliveries / began.elapsed().as_secs_f64()
    }

    /// Lets all followers listen until the set is dropped. Waits until the process receives their signals.
    async fn listen(&self) -> JoinSet<()> {
        let mut listening = JoinSet::new();
        let start = self.now();
        for Follower { viewer, woken } in &self.followers {
            let (listener, woken) = (self.app.listen(viewer).unwrap(), Arc::clone(woken));
            listening.spawn(note(listener, woken, self.began));
        }
        self.until_woken(start, |_| true).await;
        listening
    }

    /// Waits until all of these followers have been woken since a time.
    async fn until_woken(&self, since: u64, is_meant: impl Fn(UserId) -> bool) {
        let waits = |follower: &Follower| {
            is_meant(follower.viewer.user().unwrap()) && follower.woken.load(Ordering::Relaxed) < since
        };
        while self.followers.iter().any(waits) {
            sleep(POLLED).await;
        }
    }

    /// Measures deliveries per second without and with listeners, in turns. Returns the medians.
    pub(crate) async fn compare(&self, rounds: usize, posts: usize) -> [f64; 2] {
        let mut rates = [(); 2].map(|()| Vec::new());
        for round in 0..=rounds {
            let alone = self.deliver(posts).await;
            let listening = self.listen().await;
            let beside = self.deliver(posts).await;
            drop(listening);
            // The first round is a warm-up.
            if round > 0 {
                rates[0].push(alone);
                rates[1].push(beside);
            }
        }
        rates.map(|mut rates| {
            rates.sort_by(f64::total_cmp);
            rates[rates.len() / 2]
        })
    }

    /// Kills a master, and measures the time from the promotion of its replica until all of its users are woken.
    pub(crate) async fn fail_over(&self, cluster: &mut Cluster) -> Failover {
        let listening = self.listen().await;
        let share = |user: UserId| cluster.share_of(&format!("ff:{{u{user}}}:user"));
        // Posts are published in the meantime.
        let others = [share(self.author.user().unwrap()), cluster.share_of("ff:{g}:issuer")];
        let killed = (0..MASTERS).find(|share| !others.contains(share)).unwrap();
        let users = self.followers.iter().map(|follower| follower.viewer.user().unwrap());
        let of_killed: HashSet<UserId> = users.filter(|user| share(*user) == killed).collect();
        cluster.nodes[killed].redis.kill();
        let replica = &cluster.nodes[killed + MASTERS];
        while !replica.redis.raw::<String>(&["INFO", "replication"]).contains("role:master") {
            sleep(POLLED).await;
        }
        let promoted = self.now();
        tokio::select! {
            () = self.keep_publishing() => {}
            () = self.until_woken(promoted, |user| of_killed.contains(&user)) => {}
        }
        let took = Duration::from_micros(self.now() - promoted);
        drop(listening);
        Failover { listeners: of_killed.len(), seconds: took.as_secs_f64() }
    }

    async fn keep_publishing(&self) {
        loop {
            let _ = self
                .app
                .publish(&self.author, PublishRequest { content: "after", ..PublishRequest::default() })
                .await;
            sleep(PUBLISHED).await;
        }
    }
}

/// Notes the time of each wake-up.
async fn note(mut listener: Listener, woken: Arc<AtomicU64>, began: Instant) {
    loop {
        listener.changes().await;
        woken.store(u64::try_from(began.elapsed().as_micros()).unwrap(), Ordering::Relaxed);
    }
}
