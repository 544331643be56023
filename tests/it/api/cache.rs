//! The cache of users' records, names and sessions: it is coherent with the writes of all servers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use fanfold::app::App;
use fanfold::app::error::{Error, Rejection};
use fanfold::app::read::Load;
use fanfold::app::user::ProfileUpdate;
use fanfold::app::user::read::{UserByName, UserRecord};
use fanfold::app::viewer::Viewer;
use fanfold::app::visibility::Visible;
use fanfold::model::id::UserId;
use fanfold::model::moderation::ActionNote;
use fanfold::model::moderator::Moderator;
use fanfold::model::user::{UserFields, Username};
use futures::future::join;
use serde_json::Value;
use tokio::time::Instant;

use crate::harness::instance::Instance;
use crate::harness::proxy::Proxy;
use crate::harness::wait::{LIMIT, eventually_async};
use crate::harness::world::{PASSWORD, Redis, World, app, app_at};

const CACHED: [&str; 2] = ["--redis-user-cache", "1000000"];

fn user(id: u64) -> UserId {
    UserId::new(id).unwrap()
}

async fn display_name(app: &App, id: u64) -> String {
    let read = UserRecord { user: user(id), fields: UserFields::DISPLAY_NAME };
    app.load(read).await.unwrap().unwrap().display_name.clone().unwrap()
}

async fn rename(app: &App, token: &str, name: &str) {
    let viewer = app.authenticate(token).await.unwrap();
    let change = ProfileUpdate { display_name: Some(name), ..ProfileUpdate::default() };
    app.change_profile(&viewer, change).await.unwrap();
}

/// Returns the ids of the connections over which Redis tracks keys.
fn tracked(world: &World) -> Vec<String> {
    let list: String = world.redis.raw(&["CLIENT", "LIST"]);
    let tracks =
        |line: &&str| line.split(' ').any(|field| field.starts_with("flags=") && field.contains('t'));
    let id = |line: &str| line.split(' ').next().unwrap().strip_prefix("id=").unwrap().to_owned();
    list.lines().filter(tracks).map(id).collect()
}

/// Cuts the connections over which Redis tracks keys.
fn cut(world: &World) {
    for id in tracked(world) {
        world.redis.raw::<u64>(&["CLIENT", "KILL", "ID", &id]);
    }
}

async fn trips(app: &App, id: u64) -> u64 {
    let before = app.store().round_trips();
    display_name(app, id).await;
    app.store().round_trips() - before
}

/// Waits until a condition holds.
async fn eventually(condition: impl AsyncFnMut() -> bool) {
    assert!(eventually_async(condition).await, "the condition holds soon");
}

/// Waits until a user's record is cached.
async fn warm(app: &App, id: u64) {
    let is_cached = async || {
        display_name(app, id).await;
        app.store().cached_user(user(id)).is_some()
    };
    eventually(is_cached).await;
}

#[tokio::test]
async fn a_cached_record_and_a_cached_name_take_no_round_trip() {
    let world = World::own(&CACHED).await;
    let people = world.people(3).await;
    let query =
        "{ user(by: { username: \"ann1\" }) { username displayName bio createdAt region { __typename } } }";
    let expected = world.data(None, query, Value::Null).await;
    warm(&world.app, 2).await;
    assert_eq!((trips(&world.app, 2).await, trips(&world.app, 2).await), (0, 0));
    let name = UserByName(Username::parse("ann1").unwrap());
    world.app.load(name.clone()).await.unwrap();
    let before = world.app.store().round_trips();
    assert_eq!(world.app.load(name).await.unwrap(), Some(user(2)));
    assert_eq!(world.app.store().round_trips(), before);
    assert_eq!(world.data(None, query, Value::Null).await, expected);
    // Users and names that do not exist are not cached.
    let nobody = UserByName(Username::parse("ann9").unwrap());
    assert_eq!(world.app.load(nobody.clone()).await.unwrap(), None);
    world.register("ann9").await;
    assert_eq!(world.app.load(nobody).await.unwrap(), Some(user(4)));
    drop(people);
}

#[tokio::test]
async fn a_change_shows_at_once_in_the_same_process_and_soon_in_others() {
    let world = World::own(&CACHED).await;
    let people = world.people(1).await;
    let other = app(&world.redis, &world.clock, &CACHED).await;
    for round in 0..50 {
        warm(&world.app, 1).await;
        warm(&other, 1).await;
        let name = format!("Ann {round}");
        rename(&world.app, &people[0].token, &name).await;
        assert_eq!(display_name(&world.app, 1).await, name);
        eventually(async || display_name(&other, 1).await == name).await;
    }
}

/// Waits until a session is cached.
async fn warm_session(app: &App, token: &str) {
    let is_cached = async || {
        app.authenticate(token).await.unwrap();
        let before = app.store().round_trips();
        app.authenticate(token).await.unwrap();
        app.store().round_trips() == before
    };
    eventually(is_cached).await;
}

#[tokio::test]
async fn an_ended_session_is_rejected_at_once_in_the_same_process_and_soon_in_others() {
    let world = World::own(&CACHED).await;
    let people = world.people(1).await;
    let other = app(&world.redis, &world.clock, &CACHED).await;
    let warmed = async |token: &str| {
        warm_session(&world.app, token).await;
        warm_session(&other, token).await;
        world.app.authenticate(token).await.unwrap()
    };
    let is_rejected = async |app: &App, token: &str| {
        matches!(app.authenticate(token).await, Err(Error::Rejected(Rejection::BadToken)))
    };
    for round in 0..20 {
        let opened = world.app.login("ann0", PASSWORD, None, None).await.unwrap();
        let token = opened.token.expose();
        warmed(&people[0].token).await;
        let viewer = warmed(&token).await;
        if round % 2 == 0 {
            world.app.logout(&viewer).await.unwrap();
        } else {
            world.app.revoke_session(&viewer, viewer.signed_in().unwrap().session().unwrap()).await.unwrap();
        }
        assert!(is_rejected(&world.app, &token).await);
        eventually(async || is_rejected(&other, &token).await).await;
        // The other session goes on.
        warmed(&people[0].token).await;
    }
    let token = people[0].token.clone();
    let viewer = warmed(&token).await;
    let changed = world.app.change_password(&viewer, PASSWORD, "another password", None).await.unwrap();
    assert!(is_rejected(&world.app, &token).await);
    eventually(async || is_rejected(&other, &token).await).await;
    warmed(&changed.token.expose()).await;
    world.app.logout_everywhere(&changed.viewer).await.unwrap();
    assert!(is_rejected(&world.app, &changed.token.expose()).await);
}

#[tokio::test]
async fn who_waits_for_the_end_of_a_session_reads_the_session_again_although_it_is_cached() {
    let world = World::own(&CACHED).await;
    let people = world.people(1).await;
    let token = people[0].token.clone();
    let other = app(&world.redis, &world.clock, &CACHED).await;
    let listening = tokio::spawn({
        let other = other.clone();
        async move { other.keep_listening().await }
    });
    warm_session(&other, &token).await;
    let viewer = other.authenticate(&token).await.unwrap();
    let ended = tokio::spawn(async move { other.session_end(&viewer).await });
    // Signals may arrive before the messages that invalidate the cache: here, without any.
    let reads = || {
        let statistics: String = world.redis.raw(&["INFO", "commandstats"]);
        let line = statistics.lines().find_map(|line| line.strip_prefix("cmdstat_hmget:calls=")).unwrap();
        line.split(',').next().unwrap().parse::<u64>().unwrap()
    };
    for _ in 0..5 {
        let before = reads();
        let is_read = async || {
            world.redis.raw::<u64>(&["PUBLISH", "ff:{u1}:live", "sessions"]);
            reads() > before
        };
        eventually(is_read).await;
    }
    assert!(!ended.is_finished(), "the session goes on");
    world.app.logout(&world.app.authenticate(&token).await.unwrap()).await.unwrap();
    tokio::time::timeout(LIMIT, ended).await.expect("the end is signalled").unwrap();
    listening.abort();
}

#[tokio::test]
async fn a_request_that_a_process_puts_back_is_shown_by_it_at_once_although_the_session_is_cached() {
    let (port, redis) = Instance::start_on_port(&[]);
    let proxy = Proxy::before(port);
    let world = World::on(Redis::Own(redis), &[]).await;
    let people = world.people(3).await;
    let url = format!("redis://127.0.0.1:{}", proxy.port);
    let cached = app_at(&url, world.redis.directory(), &world.clock, &CACHED).await;
    let owner = world.app.authenticate(&people[1].token).await.unwrap();
    let privacy = ProfileUpdate { is_private: Some(true), ..ProfileUpdate::default() };
    world.app.change_profile(&owner, privacy).await.unwrap();
    world.follow(&people[0], &people[1]).await;
    let (by, note) = (&Moderator::Operator, ActionNote::default);
    world.app.suspend_user(by, user(2), note()).await.unwrap();

    let requested = async |viewer: Viewer, other: u64| {
        let visible = Visible { app: &cached, load: &cached, viewer: &viewer };
        visible.relation(user(other), false).await.unwrap().unwrap().requested_since
    };
    let token = &people[0].token;
    warm_session(&cached, token).await;
    // This caches the exclusions, with which requests are read, in the version of the session.
    assert_eq!(requested(cached.authenticate(token).await.unwrap(), 3).await, None);
    // What invalidates the cache arrives late.
    proxy.hold_back_tracking(true);
    cached.unsuspend_user(by, user(2), note()).await.unwrap();
    let (viewer, ()) = join(cached.authenticate(token), async { proxy.hold_back_tracking(false) }).await;
    assert!(requested(viewer.unwrap(), 2).await.is_some(), "the request is pending again");
}

#[tokio::test]
async fn a_lost_connection_and_an_emptied_store_empty_the_cache() {
    let world = World::own(&CACHED).await;
    world.people(2).await;
    warm(&world.app, 1).await;
    world.redis.raw::<u64>(&["HSET", "ff:{u2}:user", "display_name", "before"]);
    warm(&world.app, 2).await;
    cut(&world);
    world.redis.raw::<u64>(&["HSET", "ff:{u2}:user", "display_name", "after"]);
    eventually(async || world.app.store().cached_user(user(2)).is_none()).await;
    assert_eq!(display_name(&world.app, 2).await, "after");
    warm(&world.app, 2).await;
    world.redis.raw::<String>(&["FLUSHALL"]);
    eventually(async || world.app.store().cached_user(user(2)).is_none()).await;
}

#[tokio::test]
async fn entries_are_not_used_while_redis_does_not_answer() {
    let world = World::own(&CACHED).await;
    world.people(1).await;
    warm(&world.app, 1).await;
    world.redis.pause(true);
    eventually(async || world.app.store().cached_user(user(1)).is_none()).await;
    world.redis.pause(false);
    eventually(async || world.app.store().cached_user(user(1)).is_some()).await;
}

/// Numbers written to users' display names, of which the last is acknowledged.
struct Writes {
    acknowledged: Vec<AtomicU64>,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_read_is_older_than_a_write_acknowledged_by_the_same_process() {
    const USERS: u64 = 4;
    let world = World::own(&CACHED).await;
    let people = world.people(USERS as usize).await;
    let other = app(&world.redis, &world.clock, &CACHED).await;
    let writes = Arc::new(Writes { acknowledged: (0..USERS).map(|_| AtomicU64::new(0)).collect() });
    for person in &people {
        rename(&world.app, &person.token, "0").await;
    }
    let until = Instant::now() + Duration::from_secs(4);
    let mut tasks = tokio::task::JoinSet::new();
    // Half of the users are written by the process that is read, and half by another.
    for (index, person) in people.iter().enumerate() {
        let app = if index % 2 == 0 { world.app.clone() } else { other.clone() };
        let (token, writes) = (person.token.clone(), Arc::clone(&writes));
        tasks.spawn(async move {
            for number in 1.. {
                rename(&app, &token, &number.to_string()).await;
                writes.acknowledged[index].store(number, Ordering::SeqCst);
                if Instant::now() > until {
                    return;
                }
                tokio::time::sleep(Duration::from_micros(number * 7 % 1_500)).await;
            }
        });
    }
    for reader in 0..4 {
        let (app, writes) = (world.app.clone(), Arc::clone(&writes));
        tasks.spawn(async move {
            let mut last = [0; USERS as usize];
            for round in 0_u64.. {
                let index = ((round * 7 + reader) % USERS) as usize;
                let acknowledged = writes.acknowledged[index].load(Ordering::SeqCst);
                let read: u64 = display_name(&app, index as u64 + 1).await.parse().unwrap();
                assert!(index % 2 == 1 || read >= acknowledged, "{read} is older than {acknowledged}");
                assert!(read >= last[index], "{read} is older than {}", last[index]);
                last[index] = read;
                if Instant::now() > until {
                    return;
                }
                tokio::task::yield_now().await;
            }
        });
    }
    while Instant::now() < until {
        tokio::time::sleep(Duration::from_millis(300)).await;
        cut(&world);
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    for (index, acknowledged) in writes.acknowledged.iter().enumerate() {
        let newest = acknowledged.load(Ordering::SeqCst).to_string();
        eventually(async || display_name(&world.app, index as u64 + 1).await == newest).await;
    }
}
