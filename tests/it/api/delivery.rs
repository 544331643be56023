//! Delivery workers: no disturbance keeps a post from a timeline.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use fanfold::app::App;
use fanfold::app::check::Finding;
use fanfold::app::delivery::Worker;
use fanfold::app::post::PublishRequest;
use fanfold::app::viewer::Viewer;
use fanfold::gate::{Gate, Moment};
use fanfold::model::details::References;
use fanfold::model::post::Visibility;
use futures::future::BoxFuture;

use crate::harness::stage::Call::{Follow, Publish, Read};
use crate::harness::stage::Stage;
use crate::harness::turnstile::Actor;
use crate::harness::wait::eventually_async;
use crate::harness::world::{World, app, deliver_all};

/// User 1 publishes, user 2 follows and has a timeline.
struct Scene {
    world: World,
    app: App,
    author: Viewer,
}

impl Scene {
    async fn new() -> Self {
        let world = World::new().await;
        let people = world.people(2).await;
        world.follow(&people[1], &people[0]).await;
        let options = ["--timeline-strategy", "push", "--post-publishes-per-author", "10000"];
        let app = app(&world.redis, &world.clock, &options).await;
        let author = app.authenticate(&people[0].token).await.unwrap();
        world.redis.raw::<u64>(&["RPUSH", "ff:{u2}:timeline", "=1:0:1:0"]);
        Self { world, app, author }
    }

    async fn publish(&self, count: u64) {
        for number in 0..count {
            self.app
                .publish(
                    &self.author,
                    PublishRequest { content: &number.to_string(), ..PublishRequest::default() },
                )
                .await
                .unwrap();
        }
    }

    /// The worker of the author's partition.
    fn worker(&self) -> Worker {
        self.app.worker(1)
    }

    fn received(&self) -> u64 {
        self.world.redis.raw::<u64>(&["LLEN", "ff:{u2}:timeline"]) - 1
    }

    /// Returns the numbers of waiting and of failed jobs.
    async fn jobs(&self) -> (u64, u64) {
        let backlog = self.app.backlog().await.unwrap();
        (backlog.jobs, backlog.failed)
    }
}

#[tokio::test]
async fn a_worker_drains_more_than_it_takes_at_once() {
    let scene = Scene::new().await;
    scene.publish(600).await;
    scene.worker().drain(Duration::from_secs(5)).await.unwrap();
    assert_eq!((scene.received(), scene.jobs().await), (600, (0, 0)));
}

#[tokio::test]
async fn a_worker_drains_more_than_it_finishes_at_once() {
    let scene = Scene::new().await;
    // More followers than a job among many others is delivered to in a round.
    let mut words = vec!["ZADD".to_owned(), "ff:{u1}:followers".to_owned()];
    words.extend((3..100).flat_map(|user| [user.to_string(), user.to_string()]));
    scene.world.redis.raw::<i64>(&words.iter().map(String::as_str).collect::<Vec<_>>());
    scene.publish(300).await;
    scene.worker().drain(Duration::from_secs(5)).await.unwrap();
    assert_eq!((scene.received(), scene.jobs().await), (300, (0, 0)));
}

#[tokio::test]
async fn a_job_with_unreadable_progress_blocks_no_others() {
    let scene = Scene::new().await;
    scene.publish(2).await;
    scene.world.redis.raw::<i64>(&["HSET", "ff:{f1}:fanout:progress", "deliver:1", "of another version"]);
    let mut worker = scene.worker();
    worker.drain(Duration::from_secs(5)).await.unwrap();
    assert_eq!((scene.received(), scene.jobs().await), (1, (1, 0)));
    worker.drain(Duration::ZERO).await.unwrap();
    assert_eq!(scene.jobs().await, (0, 1), "it is set aside in the end");
}

#[tokio::test]
async fn jobs_whose_reply_was_lost_are_done_by_their_worker() {
    let scene = Scene::new().await;
    let mut worker = scene.worker();
    scene.publish(1).await;
    worker.drain(Duration::from_secs(5)).await.unwrap();
    scene.publish(2).await;
    // Redis has given the worker the jobs, and it does not know.
    let script = "local worker = redis.call('XINFO', 'CONSUMERS', KEYS[1], 'delivery')[1][2]
        return redis.call('XREADGROUP', 'GROUP', 'delivery', worker, 'COUNT', 2, 'STREAMS', KEYS[1], '>')";
    let taken: redis::Value = scene.world.redis.raw(&["EVAL", script, "1", "ff:{f1}:fanout"]);
    assert_ne!(taken, redis::Value::Nil);
    worker.drain(Duration::from_secs(5)).await.unwrap();
    assert_eq!((scene.received(), scene.jobs().await), (3, (0, 0)));
}

#[tokio::test]
async fn jobs_wait_for_a_full_redis_and_none_counts_as_failed() {
    let scene = Scene::new().await;
    let mut worker = scene.worker();
    worker.drain(Duration::ZERO).await.unwrap();
    scene.publish(3).await;
    // The worker begins them.
    scene.world.redis.raw::<String>(&["CONFIG", "SET", "maxmemory", "1"]);
    assert!(worker.drain(Duration::ZERO).await.is_err());
    scene.world.redis.raw::<String>(&["CONFIG", "SET", "maxmemory", "0"]);
    for _ in 0..7 {
        scene.world.redis.raw::<String>(&["CONFIG", "SET", "maxmemory", "1"]);
        assert!(worker.drain(Duration::ZERO).await.is_err());
        assert!(scene.worker().drain(Duration::ZERO).await.is_err());
        scene.world.redis.raw::<String>(&["CONFIG", "SET", "maxmemory", "0"]);
    }
    assert_eq!(scene.jobs().await, (3, 0));
    worker.drain(Duration::ZERO).await.unwrap();
    deliver_all(&scene.app).await;
    assert_eq!((scene.received(), scene.jobs().await), (3, (0, 0)));
}

#[tokio::test]
async fn workers_that_die_repeatedly_set_at_most_one_job_aside_and_it_can_be_retried() {
    let scene = Scene::new().await;
    scene.publish(3).await;
    for _ in 0..5 {
        let work = async |app: App| {
            drop(app.worker(1).drain(Duration::ZERO).await);
        };
        let mut dying = Actor::begin(&scene.app, work).await;
        dying.step_to(Moment::Before, "deliver: timelines").await;
        assert!(dying.waits.is_some());
        dying.interrupt().await;
    }
    scene.worker().drain(Duration::ZERO).await.unwrap();
    assert_eq!((scene.received(), scene.jobs().await), (2, (0, 1)));
    let found = scene.app.check_intents(false).await.unwrap();
    assert_eq!((found[Finding::GivenUp], found.faults()), (1, 1));
    scene.app.check_intents(true).await.unwrap();
    scene.worker().drain(Duration::ZERO).await.unwrap();
    assert_eq!((scene.received(), scene.jobs().await), (3, (0, 0)));
    assert_eq!(scene.app.check_intents(false).await.unwrap().faults(), 0);
}

#[tokio::test]
async fn jobs_of_another_version_are_left_alone() {
    let scene = Scene::new().await;
    scene.worker().drain(Duration::ZERO).await.unwrap();
    let raw = |words: &[&str]| scene.world.redis.raw::<redis::Value>(words);
    raw(&["XADD", "ff:{f1}:fanout", "*", "new", "field"]);
    raw(&["XADD", "ff:{f1}:fanout", "*", "kind", "new", "post", "1", "author", "1"]);
    scene.publish(1).await;
    for _ in 0..8 {
        let work = async |app: App| drop(app.worker(1).drain(Duration::ZERO).await);
        let mut worker = Actor::begin(&scene.app, work).await;
        // It takes them again and again.
        for _ in 0..8 {
            worker.step().await;
            worker.step_to(Moment::Before, "deliver: take over").await;
        }
        assert!(worker.waits.is_some());
        worker.interrupt().await;
    }
    assert_eq!((scene.received(), scene.jobs().await), (1, (2, 0)));
}

#[tokio::test]
async fn jobs_of_a_worker_that_stops_are_taken_by_another_at_once() {
    let scene = Scene::new().await;
    scene.publish(100).await;
    // Workers are stopped at once, or in the middle of a job.
    for millis in 0..20 {
        scene.worker().apart().work(tokio::time::sleep(Duration::from_millis(millis % 5))).await;
    }
    // Jobs that were on their way to the last worker are taken over later.
    scene.worker().drain(Duration::from_hours(1)).await.unwrap();
    tokio::time::sleep(Duration::from_millis(10)).await;
    scene.worker().drain(Duration::from_millis(10)).await.unwrap();
    assert_eq!((scene.received(), scene.jobs().await), (100, (0, 0)));
}

#[tokio::test]
async fn deleted_posts_are_removed_from_timelines_while_others_are_delivered() {
    let scene = Scene::new().await;
    scene.publish(5).await;
    deliver_all(&scene.app).await;
    for post in [1, 3] {
        let post = fanfold::model::id::PostId::new(post).unwrap();
        scene.app.delete_post(&scene.author, post).await.unwrap();
    }
    assert_eq!(scene.app.backlog().await.unwrap().sweeps, 2);
    scene.publish(2).await;
    deliver_all(&scene.app).await;
    assert_eq!((scene.received(), scene.app.backlog().await.unwrap().sweeps), (5, 0));
}

#[tokio::test]
async fn a_timeline_that_cannot_be_written_does_not_block_others() {
    let stage = Stage::new("push", "3").await;
    stage.calls(&[Follow(1, 3), Follow(2, 3), Read(1, 2), Read(2, 2)]).await;
    stage.world.redis.raw::<String>(&["SET", "ff:{u1}:timeline", "no list"]);
    stage.calls(&[Publish(3, None)]).await;
    assert_eq!(stage.seen(&stage.app, 2, 2).await.0, [1]);
    stage.world.redis.raw::<i64>(&["DEL", "ff:{u1}:timeline"]);
    assert_eq!(stage.seen(&stage.app, 1, 2).await.0, [1]);
    stage.settle().await;
    stage.check_store().await.unwrap();
}

#[tokio::test]
async fn a_job_that_fails_repeatedly_is_set_aside_and_others_are_done() {
    let stage = Stage::new("push", "3").await;
    stage.calls(&[Follow(1, 3), Read(1, 2)]).await;
    let followers: Vec<(String, String)> =
        stage.world.redis.raw(&["ZRANGE", "ff:{u3}:followers", "0", "-1", "WITHSCORES"]);
    stage.call(Publish(3, None)).await;
    stage.world.redis.raw::<String>(&["SET", "ff:{u3}:followers", "no set"]);
    deliver_all(&stage.app).await;
    let backlog = stage.app.backlog().await.unwrap();
    assert_eq!((backlog.jobs, backlog.failed), (0, 1));
    let kept: Vec<redis::Value> = stage.world.redis.raw(&["XRANGE", "ff:{f3}:fanout:failed", "-", "+"]);
    assert_eq!(kept.len(), 1);
    stage.world.redis.raw::<i64>(&["DEL", "ff:{u3}:followers"]);
    stage.world.redis.raw::<i64>(&["ZADD", "ff:{u3}:followers", &followers[0].1, &followers[0].0]);
    stage.calls(&[Publish(3, None)]).await;
    assert_eq!(stage.seen(&stage.app, 1, 2).await.0[0], 2);
}

/// An author whose jobs are in the same partition as those of the first user, also with the 16 partitions of a cluster.
const OTHER: u64 = 641;

/// User 1 and the other author publish; user 2 follows both, and so do the users from 10 on.
async fn crowd(followers: u64) -> Scene {
    let scene = Scene::new().await;
    for author in [1, OTHER] {
        let key = format!("ff:{{u{author}}}:followers");
        let mut words = vec!["ZADD".to_owned(), key, "1".to_owned(), "2".to_owned()];
        words.extend((10..10 + followers).flat_map(|user| [user.to_string(), user.to_string()]));
        scene.world.redis.raw::<i64>(&words.iter().map(String::as_str).collect::<Vec<_>>());
    }
    scene
}

async fn publish_as(app: &App, author: u64) -> u64 {
    let content = fanfold::model::post::Content::parse("hello").unwrap();
    let author = fanfold::model::id::UserId::new(author).unwrap();
    let created_at = crate::harness::graph::Graph::time(0);
    let post = fanfold::app::post::NewPost {
        references: References::default(),
        author,
        content,
        platform: None,
        visibility: Visibility::Public,
        created_at,
    };
    app.import_posts(&[post]).await.unwrap()[0].get()
}

#[tokio::test]
async fn an_author_who_publishes_much_does_not_delay_others() {
    let scene = crowd(500).await;
    for _ in 0..300 {
        publish_as(&scene.app, 1).await;
    }
    let raw = &scene.world.redis;
    assert_eq!((scene.jobs().await.0, raw.raw::<u64>(&["XLEN", "ff:{f1}:fanout"])), (300, 4));
    let other = publish_as(&scene.app, OTHER).await.to_string();
    let is_delivered = || -> bool {
        let delivery: String = raw.raw(&["HGET", &format!("ff:{{p{other}}}:post"), "delivery"]);
        delivery.starts_with("delivered")
    };
    let mut worker = scene.worker();
    // As many round trips as its own followers need, and not those of three hundred posts.
    let before = scene.app.store().round_trips();
    let drained = async { worker.drain(Duration::ZERO).await.unwrap() };
    let watched = async {
        assert!(eventually_async(async || is_delivered()).await, "the other post is delivered");
        scene.app.store().round_trips() - before
    };
    tokio::pin!(drained);
    let trips = tokio::select! {
        () = &mut drained => panic!("all was delivered before the other post"),
        trips = watched => trips,
    };
    assert!(trips <= 200, "{trips} round trips");
    assert!(scene.jobs().await.0 > 250, "the author who publishes much still waits");
    drained.await;
    assert_eq!((scene.received(), scene.jobs().await), (301, (0, 0)));
    // In order, and nothing is left of their turns.
    let kept: Vec<u64> = raw.raw(&["LRANGE", "ff:{u2}:timeline", "0", "-2"]);
    assert!(kept.is_sorted_by(|one, next| one > next));
    let left: Vec<String> = raw.raw(&["KEYS", "ff:{f1}:fanout:[orht]*"]);
    assert!(left.is_empty(), "{left:?}");
}

/// Counts how often a worker looks for jobs to take over: once in a hundred turns.
#[derive(Default)]
struct TakeOvers(AtomicU64);

impl Gate for TakeOvers {
    fn pass(&self, moment: Moment, batch: &'static str) -> BoxFuture<'_, ()> {
        let is_one = moment == Moment::Before && batch == "deliver: take over";
        self.0.fetch_add(u64::from(is_one), Ordering::Relaxed);
        Box::pin(async {})
    }
}

#[tokio::test]
async fn a_worker_with_the_maximum_of_jobs_waits_without_spinning() {
    let scene = Scene::new().await;
    // Of one partition, also with the 16 of a cluster: an author with one job, and as many with several as fill a
    // worker. Each job takes three rounds.
    let followers: Vec<String> = (2..=52).flat_map(|user| ["1".to_owned(), user.to_string()]).collect();
    let authors = (0..65).map(|number| 1 + 16 * number);
    for author in authors.clone() {
        let key = format!("ff:{{u{author}}}:followers");
        let arguments = ["ZADD", &key].into_iter().chain(followers.iter().map(String::as_str));
        scene.world.redis.raw::<i64>(&arguments.collect::<Vec<_>>());
    }
    publish_as(&scene.app, 1).await;
    for author in authors.skip(1).flat_map(|author| [author; 5]) {
        publish_as(&scene.app, author).await;
    }
    let gate = Arc::new(TakeOvers::default());
    let worker = scene.app.with_gate(Arc::clone(&gate) as _).worker(1).apart();
    let all_delivered = async {
        assert!(eventually_async(async || scene.jobs().await.0 == 0).await, "all jobs are done");
    };
    worker.work(all_delivered).await;
    // It may look in both queues at first, and whenever it has finished all the jobs it took.
    let searches = gate.0.load(Ordering::Relaxed);
    assert!(searches < 10, "{searches} times");
}

#[tokio::test]
async fn jobs_that_are_held_back_survive_workers_that_die_and_jobs_that_are_set_aside() {
    let scene = Scene::new().await;
    scene.publish(40).await;
    for _ in 0..5 {
        let work = async |app: App| {
            drop(app.worker(1).drain(Duration::ZERO).await);
        };
        let mut dying = Actor::begin(&scene.app, work).await;
        dying.step_to(Moment::Before, "deliver: timelines").await;
        dying.interrupt().await;
    }
    scene.worker().drain(Duration::ZERO).await.unwrap();
    assert_eq!((scene.received(), scene.jobs().await), (39, (0, 1)));
    scene.app.check_intents(true).await.unwrap();
    scene.worker().drain(Duration::ZERO).await.unwrap();
    assert_eq!((scene.received(), scene.jobs().await), (40, (0, 0)));
    let left: Vec<String> = scene.world.redis.raw(&["KEYS", "ff:{f1}:fanout:[orht]*"]);
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test]
async fn a_wrong_count_holds_no_jobs_back() {
    let scene = Scene::new().await;
    // Another version has taken jobs out and has not counted them.
    scene.world.redis.raw::<i64>(&["HSET", "ff:{f1}:fanout:ready", "1", "4"]);
    scene.publish(20).await;
    assert_eq!(scene.world.redis.raw::<u64>(&["EXISTS", "ff:{f1}:fanout"]), 0);
    assert_eq!(scene.jobs().await, (20, 0));
    assert!(scene.app.backlog().await.unwrap().oldest < Duration::from_hours(24 * 365 * 10));
    scene.worker().drain(Duration::ZERO).await.unwrap();
    assert_eq!((scene.received(), scene.jobs().await), (20, (0, 0)));
    // Jobs that it has added are not counted, either.
    for post in 21..=30 {
        let post = post.to_string();
        let words = ["XADD", "ff:{f1}:fanout", "*", "kind", "deliver", "post", &post, "author", "1"];
        scene.world.redis.raw::<String>(&words);
    }
    scene.publish(20).await;
    scene.worker().drain(Duration::ZERO).await.unwrap();
    assert_eq!((scene.received(), scene.jobs().await), (40, (0, 0)));
    assert_eq!(scene.world.redis.raw::<u64>(&["EXISTS", "ff:{f1}:fanout:ready"]), 0);
}

#[tokio::test]
async fn a_store_keeps_the_number_of_partitions_that_it_was_created_with() {
    // The layout of a store of an earlier version does not contain the number.
    for (created_with, is_old, expected) in [("4", true, 4), ("4", false, 4), ("16", false, 16)] {
        let push = ["--timeline-strategy", "push"];
        let world = World::with(&[&push[..], &["--redis-delivery-partitions", created_with]].concat()).await;
        let people = world.people(12).await;
        let (reader, authors) = people.split_first().unwrap();
        world.redis.raw::<u64>(&["RPUSH", "ff:{u1}:timeline", "=1:0:1:0"]);
        for author in authors {
            world.follow(reader, author).await;
        }
        if is_old {
            world.redis.raw::<u64>(&["HDEL", "ff:{g}:layout", "fanout_partitions"]);
        }
        let options = [&push[..], &["--redis-delivery-partitions", "16"]].concat();
        let reopened = app(&world.redis, &world.clock, &options).await;
        assert_eq!(reopened.delivery_partitions(), expected);
        for app in [&world.app, &reopened] {
            for author in authors {
                let author = app.authenticate(&author.token).await.unwrap();
                app.publish(&author, PublishRequest { content: "hello", ..PublishRequest::default() })
                    .await
                    .unwrap();
            }
        }
        let streams: Vec<String> = world.redis.raw(&["KEYS", "ff:{f*}:fanout"]);
        assert_eq!(streams.len(), authors.len().min(expected as usize));
        deliver_all(&reopened).await;
        let backlog = reopened.backlog().await.unwrap();
        assert_eq!((backlog.jobs, backlog.failed), (0, 0));
        let mut posts: Vec<String> = world.redis.raw(&["LRANGE", "ff:{u1}:timeline", "0", "-2"]);
        posts.sort_unstable();
        posts.dedup();
        assert_eq!(posts.len(), 2 * authors.len());
        assert_eq!(world.redis.raw::<usize>(&["LLEN", "ff:{u1}:timeline"]), 2 * authors.len() + 1);
    }
}
