//! The workers of delivery: what disturbs them keeps no post from anybody.

use std::time::Duration;

use fanfold::app::App;
use fanfold::app::delivery::Worker;
use fanfold::app::viewer::Viewer;
use fanfold::gate::Moment;

use crate::stage::Call::{Follow, Publish, Read};
use crate::stage::Stage;
use crate::turnstile::Actor;
use crate::world::{World, app, deliver_all};

/// User 1 writes, user 2 follows and has a timeline.
struct Scene {
    world: World,
    app: App,
    author: Viewer,
}

impl Scene {
    async fn set() -> Self {
        let world = World::new().await;
        let people = world.people(2).await;
        world.follow(&people[1], &people[0]).await;
        let app = app(&world.redis, &world.clock, &["--timeline-strategy", "push"]).await;
        let author = app.recognise(&people[0].token).await.unwrap();
        world.redis.raw::<u64>(&["RPUSH", "ff:{u2}:timeline", "=1:0:1:0"]);
        Self { world, app, author }
    }

    async fn publish(&self, count: u64) {
        for number in 0..count {
            self.app.publish(&self.author, &number.to_string(), None, None).await.unwrap();
        }
    }

    /// The one whose jobs are those of the author.
    fn worker(&self) -> Worker {
        self.app.worker(1)
    }

    fn received(&self) -> u64 {
        self.world.redis.raw::<u64>(&["LLEN", "ff:{u2}:timeline"]) - 1
    }

    /// How many jobs wait, and how many were given up.
    async fn jobs(&self) -> (u64, u64) {
        let backlog = self.app.backlog().await.unwrap();
        (backlog.jobs, backlog.failed)
    }
}

#[tokio::test]
async fn a_worker_drains_more_than_it_takes_at_once() {
    let scene = Scene::set().await;
    scene.publish(600).await;
    scene.worker().drain(Duration::from_secs(5)).await.unwrap();
    assert_eq!((scene.received(), scene.jobs().await), (600, (0, 0)));
}

#[tokio::test]
async fn a_worker_drains_more_than_it_finishes_at_once() {
    let scene = Scene::set().await;
    // More followers than a job with many others beside it serves in a round.
    let mut words = vec!["ZADD".to_owned(), "ff:{u1}:followers".to_owned()];
    words.extend((3..100).flat_map(|user| [user.to_string(), user.to_string()]));
    scene.world.redis.raw::<i64>(&words.iter().map(String::as_str).collect::<Vec<_>>());
    scene.publish(300).await;
    scene.worker().drain(Duration::from_secs(5)).await.unwrap();
    assert_eq!((scene.received(), scene.jobs().await), (300, (0, 0)));
}

#[tokio::test]
async fn a_job_whose_progress_cannot_be_read_holds_no_other_up() {
    let scene = Scene::set().await;
    scene.publish(2).await;
    scene.world.redis.raw::<i64>(&["HSET", "ff:{f1}:fanout:progress", "deliver:1", "of another version"]);
    let mut worker = scene.worker();
    worker.drain(Duration::from_secs(5)).await.unwrap();
    assert_eq!((scene.received(), scene.jobs().await), (1, (1, 0)));
    worker.drain(Duration::ZERO).await.unwrap();
    assert_eq!(scene.jobs().await, (0, 1), "it is put aside in the end");
}

#[tokio::test]
async fn jobs_whose_answer_was_lost_on_the_way_are_done_by_their_worker() {
    let scene = Scene::set().await;
    let mut worker = scene.worker();
    scene.publish(1).await;
    worker.drain(Duration::from_secs(5)).await.unwrap();
    scene.publish(2).await;
    // Redis has given it the jobs, and it does not know.
    let script = "local worker = redis.call('XINFO', 'CONSUMERS', KEYS[1], 'delivery')[1][2]
        return redis.call('XREADGROUP', 'GROUP', 'delivery', worker, 'COUNT', 2, 'STREAMS', KEYS[1], '>')";
    let taken: redis::Value = scene.world.redis.raw(&["EVAL", script, "1", "ff:{f1}:fanout"]);
    assert_ne!(taken, redis::Value::Nil);
    worker.drain(Duration::from_secs(5)).await.unwrap();
    assert_eq!((scene.received(), scene.jobs().await), (3, (0, 0)));
}

#[tokio::test]
async fn a_redis_that_is_full_is_waited_for_and_no_job_is_blamed() {
    let scene = Scene::set().await;
    let mut worker = scene.worker();
    worker.drain(Duration::ZERO).await.unwrap();
    scene.publish(3).await;
    // It has begun them.
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
async fn workers_that_die_again_and_again_put_no_more_than_one_job_aside_and_it_can_be_tried_again() {
    let scene = Scene::set().await;
    scene.publish(3).await;
    for _ in 0..5 {
        let work = async |app: App| {
            drop(app.worker(1).drain(Duration::ZERO).await);
        };
        let mut dying = Actor::begin(&scene.app, work).await;
        dying.step_to(Moment::Before, "deliver: timelines").await;
        assert!(dying.waits.is_some());
        dying.cut_off().await;
    }
    scene.worker().drain(Duration::ZERO).await.unwrap();
    assert_eq!((scene.received(), scene.jobs().await), (2, (0, 1)));
    let found = scene.app.check_intents(false).await.unwrap();
    assert_eq!((found.given_up, found.faults()), (1, 1));
    scene.app.check_intents(true).await.unwrap();
    scene.worker().drain(Duration::ZERO).await.unwrap();
    assert_eq!((scene.received(), scene.jobs().await), (3, (0, 0)));
    assert_eq!(scene.app.check_intents(false).await.unwrap().faults(), 0);
}

#[tokio::test]
async fn jobs_of_another_version_are_left_alone() {
    let scene = Scene::set().await;
    scene.worker().drain(Duration::ZERO).await.unwrap();
    let raw = |words: &[&str]| scene.world.redis.raw::<redis::Value>(words);
    raw(&["XADD", "ff:{f1}:fanout", "*", "new", "field"]);
    raw(&["XADD", "ff:{f1}:fanout", "*", "kind", "new", "post", "1", "author", "1"]);
    scene.publish(1).await;
    for _ in 0..8 {
        drop(tokio::time::timeout(Duration::from_millis(100), scene.worker().drain(Duration::ZERO)).await);
    }
    assert_eq!((scene.received(), scene.jobs().await), (1, (2, 0)));
}

#[tokio::test]
async fn jobs_that_a_worker_has_when_it_is_told_to_stop_are_taken_by_another_at_once() {
    let scene = Scene::set().await;
    scene.publish(100).await;
    // They are stopped at once, or in the middle of something.
    for millis in 0..20 {
        scene.worker().apart().work(tokio::time::sleep(Duration::from_millis(millis % 5))).await;
    }
    // What was on its way to the last one just then is taken over later.
    scene.worker().drain(Duration::from_hours(1)).await.unwrap();
    tokio::time::sleep(Duration::from_millis(10)).await;
    scene.worker().drain(Duration::from_millis(10)).await.unwrap();
    assert_eq!((scene.received(), scene.jobs().await), (100, (0, 0)));
}

#[tokio::test]
async fn posts_are_taken_out_of_timelines_while_others_are_delivered() {
    let scene = Scene::set().await;
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
async fn a_timeline_that_cannot_be_written_keeps_no_other_from_its_posts() {
    let stage = Stage::set("push", "3").await;
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
async fn a_job_that_fails_again_and_again_is_put_aside_and_others_are_done() {
    let stage = Stage::set("push", "3").await;
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
