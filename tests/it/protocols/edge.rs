//! The edge protocol: whatever runs concurrently and wherever it is interrupted, both directions of every edge end
//! equal.

use std::collections::HashMap;
use std::time::Duration;

use fanfold::app::App;
use fanfold::app::viewer::Viewer;
use fanfold::gate::Moment;
use fanfold::model::id::UserId;
use futures::stream::{self, StreamExt as _};
use proptest::prelude::*;
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::harness::case::model_config;
use crate::harness::turnstile::{self, Actor, Event, Stop, events};
use crate::harness::world::World;

const USERS: u64 = 3;

fn id(number: u64) -> UserId {
    UserId::new(number).unwrap()
}

/// A call of a client.
#[derive(Clone, Copy, Debug)]
enum Call {
    Follow(u64, u64),
    Unfollow(u64, u64),
    RemoveFollower(u64, u64),
}

impl Call {
    /// Returns the follower, the followed, and whether the edge exists after the call.
    fn edge(self) -> (u64, u64, bool) {
        match self {
            Self::Follow(viewer, other) => (viewer, other, true),
            Self::Unfollow(viewer, other) => (viewer, other, false),
            Self::RemoveFollower(viewer, other) => (other, viewer, false),
        }
    }
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    // Mostly one edge, so that calls meet.
    let pair = prop_oneof![
        6 => Just((1, 2)),
        1 => (1..=USERS, 1..USERS).prop_map(|(one, step)| (one, (one + step - 1) % USERS + 1)),
    ];
    let call = (pair, 0..5u8).prop_map(|((viewer, other), kind)| match kind {
        0..=1 => Call::Follow(viewer, other),
        2..=3 => Call::Unfollow(viewer, other),
        _ => Call::RemoveFollower(other, viewer),
    });
    proptest::collection::vec(call, 1..6)
}

/// A world with users 1 to 3 who are signed in.
struct Stage {
    world: World,
    viewers: HashMap<u64, Viewer>,
}

impl Stage {
    async fn new() -> Self {
        let world = World::with(&["--relation-changes-per-pair", "1000000"]).await;
        let mut viewers = HashMap::new();
        for (number, person) in (1..).zip(world.people(3).await) {
            viewers.insert(number, world.app.authenticate(&person.token).await.unwrap());
        }
        Self { world, viewers }
    }

    fn clear(&self) {
        for user in 1..=USERS {
            self.world.redis.raw::<i64>(&[
                "DEL",
                &format!("ff:{{u{user}}}:following"),
                &format!("ff:{{u{user}}}:followers"),
            ]);
        }
        for partition in 0..16 {
            self.world.redis.raw::<i64>(&["DEL", &format!("ff:{{i{partition}}}:intents")]);
        }
    }

    async fn begin(&self, call: Call) -> Actor {
        let (viewer, other) = match call {
            Call::Follow(viewer, other)
            | Call::Unfollow(viewer, other)
            | Call::RemoveFollower(viewer, other) => (self.viewers[&viewer].clone(), id(other)),
        };
        let work = async move |app: App| {
            // A call that is too late fails, and nothing else may go wrong.
            let _ = match call {
                Call::Follow(..) => app.follow(&viewer, other).await,
                Call::Unfollow(..) => app.unfollow(&viewer, other).await,
                Call::RemoveFollower(..) => app.remove_follower(&viewer, other).await,
            };
        };
        Actor::begin(&self.world.app, work).await
    }

    fn score(&self, list: &str, owner: u64, member: u64) -> Option<String> {
        self.world.redis.raw(&["ZSCORE", &format!("ff:{{u{owner}}}:{list}"), &member.to_string()])
    }

    /// Plays the events over the calls, and returns the final truth of each edge, by the order in which the truths were
    /// written.
    async fn play(&self, calls: &[Call], events: &[Event]) -> HashMap<(u64, u64), bool> {
        let mut truth = HashMap::new();
        let mut actors = Vec::new();
        for &call in calls {
            actors.push(self.begin(call).await);
        }
        let written = Some(Stop { moment: Moment::After, batch: "edge: truth" });
        let note = |number: usize, actor: &Actor| {
            if let Some(call) = calls.get(number)
                && actor.waits == written
            {
                let (follower, followee, follows) = call.edge();
                truth.insert((follower, followee), follows);
            }
        };
        turnstile::play(&self.world, &self.world.app, actors, events, note).await;
        truth
    }

    fn check(&self, truth: &HashMap<(u64, u64), bool>) -> Result<(), TestCaseError> {
        for follower in 1..=USERS {
            for followee in (1..=USERS).filter(|followee| *followee != follower) {
                let following = self.score("following", follower, followee);
                let mirror = self.score("followers", followee, follower);
                prop_assert_eq!(&following, &mirror, "{} → {}", follower, followee);
                let expected = truth.get(&(follower, followee)).copied().unwrap_or(false);
                prop_assert_eq!(following.is_some(), expected, "{} → {}", follower, followee);
            }
        }
        for partition in 0..16 {
            let left: u64 = self.world.redis.raw(&["ZCARD", &format!("ff:{{i{partition}}}:intents")]);
            prop_assert_eq!(left, 0, "intents are left");
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(model_config(1_000))]

    #[test]
    fn both_directions_end_equal_wherever_calls_are_interrupted(calls in calls(), events in events()) {
        thread_local!(static STAGE: (Runtime, Stage) = {
            let runtime = Runtime::new().unwrap();
            let stage = runtime.block_on(Stage::new());
            (runtime, stage)
        });
        STAGE.with(|(runtime, stage)| {
            stage.clear();
            let truth = runtime.block_on(async {
                let truth = stage.play(&calls, &events).await;
                stage.world.clock.advance(Duration::from_secs(61));
                stage.world.app.repair().await.unwrap();
                truth
            });
            stage.check(&truth)
        })?;
    }
}

#[tokio::test]
async fn a_slow_follow_does_not_give_the_mirror_of_a_later_one_its_time() {
    let stage = Stage::new().await;
    let mut slow = stage.begin(Call::Follow(1, 2)).await;
    slow.step_to(Moment::Before, "edge: mirror").await;
    for call in [Call::Unfollow(1, 2), Call::Follow(1, 2)] {
        stage.world.clock.advance(Duration::from_millis(1));
        stage.begin(call).await.finish().await;
    }
    slow.finish().await;
    let truth = HashMap::from([((1, 2), true)]);
    stage.check(&truth).unwrap();
}

#[tokio::test]
async fn a_writer_from_long_ago_does_not_undo_later_changes() {
    let stage = Stage::new().await;
    let mut old = stage.begin(Call::Follow(1, 2)).await;
    old.step_to(Moment::After, "edge: truth").await;
    stage.world.clock.advance(Duration::from_secs(70));
    stage.world.app.repair().await.unwrap();
    stage.begin(Call::Unfollow(1, 2)).await.finish().await;
    old.step_to(Moment::After, "edge: mirror").await;
    old.interrupt().await;
    stage.check(&HashMap::new()).unwrap();
}

#[tokio::test]
async fn one_call_does_not_drop_the_intent_of_another() {
    let stage = Stage::new().await;
    let mut one = stage.begin(Call::Follow(1, 2)).await;
    let mut other = stage.begin(Call::Unfollow(1, 2)).await;
    one.step_to(Moment::Before, "drop intents").await;
    other.step_to(Moment::After, "edge: truth").await;
    one.finish().await;
    other.interrupt().await;
    stage.world.clock.advance(Duration::from_secs(61));
    stage.world.app.repair().await.unwrap();
    stage.check(&HashMap::new()).unwrap();
}

#[tokio::test]
async fn an_interrupted_repairer_leaves_its_work_to_the_next() {
    let stage = Stage::new().await;
    let mut follow = stage.begin(Call::Follow(1, 2)).await;
    follow.step_to(Moment::After, "edge: mirror").await;
    stage.world.clock.advance(Duration::from_secs(6));
    let mut repairer = Actor::begin(&stage.world.app, async |app: App| drop(app.repair().await)).await;
    repairer.step_to(Moment::Before, "edge: mirror").await;
    // All others are done, and have dropped their intents, when it writes what it read long ago.
    follow.finish().await;
    stage.begin(Call::Unfollow(1, 2)).await.finish().await;
    repairer.step_to(Moment::After, "edge: mirror").await;
    repairer.interrupt().await;
    stage.world.clock.advance(Duration::from_secs(61));
    stage.world.app.repair().await.unwrap();
    stage.check(&HashMap::new()).unwrap();
}

#[tokio::test]
async fn a_follow_that_cannot_be_repaired_blocks_no_others() {
    let stage = Stage::new().await;
    for call in [Call::Follow(1, 2), Call::Follow(1, 3), Call::Follow(2, 3)] {
        let mut interrupted = stage.begin(call).await;
        interrupted.step_to(Moment::After, "edge: truth").await;
        interrupted.interrupt().await;
    }
    stage.world.redis.raw::<String>(&["SET", "ff:{u2}:followers", "no list"]);
    let intents = || -> u64 {
        (0..16).map(|n| stage.world.redis.raw::<u64>(&["ZCARD", &format!("ff:{{i{n}}}:intents")])).sum()
    };
    for _ in 0..5 {
        stage.world.clock.advance(Duration::from_secs(61));
        stage.world.app.repair().await.unwrap();
        assert!(stage.score("followers", 3, 1).is_some() && stage.score("followers", 3, 2).is_some());
        assert_eq!(intents(), 2, "the torn edge keeps the intents of its caller and of its repairer");
    }
    stage.world.redis.raw::<i64>(&["DEL", "ff:{u2}:followers"]);
    stage.world.clock.advance(Duration::from_secs(61));
    stage.world.app.repair().await.unwrap();
    stage.check(&HashMap::from([((1, 2), true), ((1, 3), true), ((2, 3), true)])).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_follows_and_unfollows_of_one_pair_leave_both_sides_equal() {
    let world = World::with(&["--relation-changes-per-pair", "1000000"]).await;
    let people = world.people(2).await;
    let viewer = world.app.authenticate(&people[0].token).await.unwrap();
    let call = |number: u32| {
        let (app, viewer) = (world.app.clone(), viewer.clone());
        tokio::spawn(async move {
            if number.is_multiple_of(2) {
                app.follow(&viewer, id(2)).await
            } else {
                app.unfollow(&viewer, id(2)).await
            }
        })
    };
    // A call that waits too long for Redis fails, so no more are made at a time than a slow machine manages.
    let mut calls = stream::iter((0..10_000).map(call)).buffer_unordered(1_000);
    while let Some(done) = calls.next().await {
        done.unwrap().unwrap();
    }
    let score = |key: &str, member: &str| world.redis.raw::<Option<String>>(&["ZSCORE", key, member]);
    assert_eq!(score("ff:{u1}:following", "2"), score("ff:{u2}:followers", "1"));
    // Nothing is left to repair.
    world.clock.advance(Duration::from_secs(61));
    assert_eq!(world.app.repair().await.unwrap(), 0);
    // And the last call holds.
    assert_eq!(world.follow(&people[0], &people[1]).await["relation"]["status"], "FOLLOWING");
    assert_eq!(world.unfollow(&people[0], &people[1]).await["relation"]["status"], "NONE");
    let query = "{ user(by: { username: \"ann1\" }) { followers { totalCount nodes { id } } } }";
    let data = world.data(None, query, Value::Null).await;
    assert_eq!(data["user"]["followers"], serde_json::json!({ "totalCount": 0, "nodes": [] }));
}

#[tokio::test]
async fn a_writer_that_was_paused_too_long_writes_no_more() {
    let world = World::new().await;
    let people = world.people(2).await;
    let viewer = world.app.authenticate(&people[0].token).await.unwrap();
    let follow = async move |app: App| assert!(app.follow(&viewer, id(2)).await.is_err());
    let mut actor = Actor::begin(&world.app, follow).await;
    actor.step_to(Moment::After, "edge: truth").await;
    world.clock.advance(Duration::from_secs(11));
    actor.finish().await;
    let mirror = |world: &World| world.redis.raw::<Option<String>>(&["ZSCORE", "ff:{u2}:followers", "1"]);
    assert_eq!(mirror(&world), None);
    assert_eq!(world.app.repair().await.unwrap(), 1);
    assert!(mirror(&world).is_some(), "the repairer has finished what the writer began");
}

#[tokio::test]
async fn a_writer_that_was_paused_before_its_first_write_writes_nothing() {
    let stage = Stage::new().await;
    let mut paused = stage.begin(Call::Follow(1, 2)).await;
    paused.step_to(Moment::After, "record intents").await;
    stage.world.clock.advance(Duration::from_secs(61));
    assert_eq!(stage.world.app.repair().await.unwrap(), 1, "the repairer drops its intent");
    // If it wrote the truth now, and were then interrupted, nothing would write the mirror.
    paused.step_to(Moment::After, "edge: truth").await;
    assert!(paused.waits.is_none(), "it has failed");
    stage.check(&HashMap::new()).unwrap();
}

#[tokio::test]
async fn a_follow_of_a_user_who_is_erased_before_the_mirror_is_written_ends() {
    let stage = Stage::new().await;
    let mut follow = stage.begin(Call::Follow(1, 2)).await;
    follow.step_to(Moment::Before, "edge: mirror").await;
    stage.world.redis.raw::<u64>(&["DEL", "ff:{u2}:user"]);
    stage.world.redis.raw::<u64>(&["ZADD", "ff:{u2}:void", "1", "user"]);
    follow.finish().await;
    stage.check(&HashMap::new()).unwrap();
}
