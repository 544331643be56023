//! Redis fails over behind one address, or is restarted and has lost its last writes.

use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use fanfold::app::App;
use fanfold::app::post::NewPost;
use fanfold::model::details::References;
use fanfold::model::id::{PostId, UserId};
use fanfold::model::post::{Content, Visibility};
use serde_json::Value;
use tokio::time::Instant;

use crate::harness::graph::Graph;
use crate::harness::instance::Instance;
use crate::harness::server::{Server, eventually};
use crate::harness::world::{ManualClock, Redis, World, app, archive_all};

/// An address that leads to one Redis, and after a failover to another: for new connections only.
struct Address {
    port: u16,
    target: Arc<Mutex<String>>,
    accepted: Arc<AtomicU64>,
}

impl Address {
    fn of(redis: &Instance) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (target, accepted) = (Arc::new(Mutex::new(socket(redis))), Arc::<AtomicU64>::default());
        let (to, count) = (Arc::clone(&target), Arc::clone(&accepted));
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                count.fetch_add(1, Ordering::Relaxed);
                let Ok(server) = UnixStream::connect(&*to.lock().unwrap()) else { continue };
                forward(client, server);
            }
        });
        Self { port, target, accepted }
    }

    fn lead_to(&self, redis: &Instance) {
        *self.target.lock().unwrap() = socket(redis);
    }

    fn accepted(&self) -> u64 {
        self.accepted.load(Ordering::Relaxed)
    }
}

fn forward(client: TcpStream, server: UnixStream) {
    let (mut from, mut to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    thread::spawn(move || {
        let _ = io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Both);
    });
    let (mut from, mut to) = (server, client);
    thread::spawn(move || {
        let _ = io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Both);
    });
}

/// Returns the path of a server's socket.
fn socket(redis: &Instance) -> String {
    redis.url().trim_start_matches("unix:").to_owned()
}

/// Waits until a server reports that it is ready.
fn wait_until_ready(server: &Server) {
    assert!(eventually(|| server.page("/readyz") == (200, "ready\n".to_owned())), "it is ready");
}

fn publish(server: &Server, token: &str) -> bool {
    let query = "mutation { publish(input: { content: \"x\" }) { post { id } } }";
    server.ask_as(token, query)["data"]["publish"]["post"] != Value::Null
}

#[test]
fn after_a_failover_behind_one_address_writes_go_to_the_new_master() {
    let (one_port, one) = Instance::start_on_port(&[]);
    let (other_port, other) = Instance::start_on_port(&["--replicaof", "127.0.0.1", &one_port.to_string()]);
    let address = Address::of(&one);
    let url = format!("redis://127.0.0.1:{}", address.port);
    let fixed = ["serve", "--http-listen", "127.0.0.1:0", "--redis-url", &url, "--data-dir", one.directory()];
    let server = Server::start(&fixed);
    let ada = server.token("ada");
    assert!(publish(&server, &ada));
    assert_eq!(server.page("/readyz"), (200, "ready\n".to_owned()));
    let link = || other.raw::<String>(&["INFO", "replication"]).contains("master_link_status:up");
    let has_post = || other.raw::<u64>(&["EXISTS", "ff:{p1}:post"]) == 1;
    assert!(eventually(|| link() && has_post()), "it replicates");

    // The master is demoted, and the address still leads to it, as if to a replica that is meant to be used.
    other.raw::<String>(&["REPLICAOF", "NO", "ONE"]);
    one.raw::<String>(&["REPLICAOF", "127.0.0.1", &other_port.to_string()]);
    assert!(!publish(&server, &ada));
    let is_unready = || server.page("/readyz") == (503, "redis: read-only\n".to_owned());
    assert!(eventually(is_unready), "it is not ready");
    let (began, before) = (Instant::now(), address.accepted());
    while began.elapsed() < Duration::from_secs(4) {
        assert!(!publish(&server, &ada));
        assert_eq!(
            server.ask_as(&ada, "{ viewer { user { username } } }")["data"]["viewer"]["user"]["username"],
            "ada"
        );
    }
    let connected = address.accepted() - before;
    // A second: four for requests, one for each delivery worker.
    let most = began.elapsed().as_secs() * 10;
    assert!(connected <= most, "{connected} connections in {:?}", began.elapsed());

    address.lead_to(&other);
    assert!(eventually(|| publish(&server, &ada)), "it publishes again");
    wait_until_ready(&server);
    assert!((0..20).all(|_| publish(&server, &ada)), "over every connection");
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn a_redis_that_is_full_is_still_read() {
    let redis = Redis::start();
    let server = Server::over(&redis, &[]);
    redis.raw::<String>(&["CONFIG", "SET", "maxmemory", "1"]);
    assert_eq!(server.page("/readyz"), (200, "ready\nredis: full\n".to_owned()));
    redis.raw::<String>(&["CONFIG", "SET", "maxmemory", "0"]);
    wait_until_ready(&server);
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn readiness_checks_cost_one_write_per_second() {
    let redis = Redis::start();
    let server = Server::over(&redis, &["--delivery-in-server", "off", "--archive-in-server", "off"]);
    let writes = || {
        let stats: String = redis.raw(&["INFO", "commandstats"]);
        let line = stats.lines().find(|line| line.starts_with("cmdstat_set:")).unwrap_or_default();
        line.split(['=', ',']).nth(1).and_then(|calls| calls.parse::<u64>().ok()).unwrap_or(0)
    };
    let (began, before) = (Instant::now(), writes());
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| (0..25).for_each(|_| assert_eq!(server.page("/readyz").0, 200)));
        }
    });
    let caused = writes() - before;
    let took = began.elapsed();
    assert!((1..=took.as_secs() + 10).contains(&caused), "{caused} writes for 200 requests in {took:?}");
    assert_eq!(server.stop(), Some(0));
}

async fn import(app: &App, author: u64) -> u64 {
    let content = Content::parse("hello").unwrap();
    let author = UserId::new(author).unwrap();
    let post = NewPost {
        references: References::default(),
        author,
        content,
        platform: None,
        visibility: Visibility::Public,
        created_at: Graph::time(0),
    };
    app.import_posts(&[post]).await.unwrap().pop().map_or(0, PostId::get)
}

#[tokio::test]
async fn nothing_is_published_below_a_watermark_that_was_read() {
    let world = World::new().await;
    let ada = world.register("ada").await;
    for _ in 0..5 {
        import(&world.app, 1).await;
    }
    // Another process has issued nothing, but its readers hold marks.
    let other = app(&world.redis, &world.clock, &[]).await;
    let viewer = other.authenticate(&ada.token).await.unwrap();
    let window = fanfold::model::page::Window {
        direction: fanfold::model::page::Direction::Forward,
        size: 5,
        from: None,
    };
    let author = fanfold::model::user::UserFields::NONE;
    let query = fanfold::app::timeline::TimelineQuery {
        window,
        author,
        reactions: fanfold::model::reaction::ReactionSelection::NONE,
        replies: fanfold::app::timeline::entry::Replies::default(),
        looks_back: false,
    };
    assert_eq!(other.timeline(&viewer, query).await.unwrap().page.entries.len(), 5);
    world.redis.raw::<String>(&["SET", "ff:{g}:next:post", "2"]);
    assert_eq!(import(&other, 1).await, 6);
}

#[tokio::test]
async fn after_a_restart_no_id_is_issued_that_is_archived_or_that_a_reader_has_passed() {
    let mut redis = Redis::own();
    let clock = ManualClock::new();
    let options = ["--post-hot-limit", "1"];
    let writer = app(&redis, &clock, &options).await;
    for _ in 0..5 {
        import(&writer, 1).await;
    }
    archive_all(&writer).await;
    let other = app(&redis, &clock, &options).await;
    other.open_archive().await.unwrap();
    redis.restart_empty();
    // The archive has four of them.
    assert_eq!(import(&other, 1).await, 5);

    // A process that has seen more raises the counter for all, even if it publishes nothing.
    redis.restart_empty();
    import(&other, 2).await;
    redis.restart_empty();
    // The first round finds that Redis was restarted.
    for _ in 0..2 {
        writer.repair().await.unwrap();
    }
    let third = app(&redis, &clock, &options).await;
    assert_eq!(import(&third, 1).await, 6);
}

#[tokio::test]
async fn an_unavailable_archive_does_not_prevent_publishing_after_a_restart() {
    let mut redis = Redis::own();
    let clock = ManualClock::new();
    let app = app(&redis, &clock, &["--post-hot-limit", "1"]).await;
    for _ in 0..3 {
        import(&app, 1).await;
    }
    archive_all(&app).await;
    let url = format!("sqlite:{}/archive.db", redis.directory());
    crate::harness::sql::execute(&url, "ALTER TABLE posts RENAME TO away").await;
    redis.restart_empty();
    let began = Instant::now();
    assert!(import(&app, 1).await > 3, "it has issued three itself");
    assert!(began.elapsed() < Duration::from_secs(10), "it waits for no archive: {:?}", began.elapsed());
    assert!(app.repair().await.is_ok());
    crate::harness::sql::execute(&url, "ALTER TABLE away RENAME TO posts").await;
    app.repair().await.unwrap();
}
