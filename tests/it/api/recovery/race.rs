//! Codes that are used, revoked and issued at the same time, with steps in any order.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use fanfold::app::App;
use fanfold::model::moderation::ActionNote;
use fanfold::model::moderator::Moderator;
use serde_json::Value;

use crate::api::recovery::{HOUR, NEW, grant, issued, pending, recover_from, user_id, world};
use crate::harness::turnstile::Actor;

/// Does something while a code is used, at each point of the use. Returns for each point whether the code was accepted.
async fn during_use(what: &'static str) -> Vec<bool> {
    let mut outcomes = Vec::new();
    for steps in 0.. {
        let (world, people) = world(3).await;
        let code = issued(&world, &people[0], &people[2]).await;
        world.clock.advance(24 * HOUR);
        let (accepted, name) = (Arc::new(AtomicUsize::new(0)), "ann2");
        let begin = async || {
            let (code, accepted) = (code.clone(), Arc::clone(&accepted));
            let work = async move |app: App| {
                let is_ok = recover_from(&app, name, &code, 9).await.is_ok();
                accepted.fetch_add(usize::from(is_ok), Ordering::Relaxed);
            };
            Actor::begin(&world.app, work).await
        };
        let mut actor = begin().await;
        for _ in 0..steps {
            if actor.waits.is_some() {
                actor.step().await;
            }
        }
        let is_finished = actor.waits.is_none();
        let before = accepted.load(Ordering::Relaxed);
        match what {
            "cancelled" => {
                let viewer = world.app.authenticate(&people[2].token).await;
                if let Ok(viewer) = viewer {
                    world.app.cancel_recovery(&viewer).await.unwrap();
                }
            }
            "suspended" => {
                let (operator, note) = (Moderator::Operator, ActionNote::default());
                world.app.suspend_user(&operator, user_id(3), note).await.unwrap();
            }
            "rights" => grant(&world, 1, false).await,
            "used" => begin().await.finish().await,
            other => panic!("{other}"),
        }
        actor.finish().await;
        let count = accepted.load(Ordering::Relaxed);
        assert!(count <= 1, "a code is accepted once: {what} after {steps} steps");
        let is_new = world.app.login("ann2", NEW, None, None).await.is_ok();
        if what == "suspended" {
            assert!(!is_new);
        } else {
            assert_eq!(is_new, count == 1, "{what} after {steps} steps");
        }
        outcomes.push(if what == "used" { count == 1 } else { before == count && count == 0 });
        if is_finished {
            return outcomes;
        }
    }
    unreachable!("the use ends at some time")
}

#[tokio::test]
async fn a_code_that_is_revoked_during_its_use_is_accepted_or_not() {
    for what in ["cancelled", "suspended", "rights"] {
        let refused = during_use(what).await;
        // Until the script, it is revoked; afterwards, it was used.
        assert!(refused[0] && !refused[refused.len() - 1], "{what}: {refused:?}");
        assert!(refused.is_sorted_by(|one, other| one >= other), "{what}: {refused:?}");
    }
}

#[tokio::test]
async fn a_code_that_is_used_twice_at_once_is_accepted_once() {
    let outcomes = during_use("used").await;
    assert!(outcomes.iter().all(|is_once| *is_once), "{outcomes:?}");
}

#[tokio::test]
async fn a_code_that_is_issued_while_the_rights_end_is_revoked() {
    for steps in 0.. {
        let (world, people) = world(3).await;
        let work = async |app: App| {
            let moderator = Moderator::User(user_id(1));
            drop(app.issue_recovery_code(&moderator, user_id(3), ActionNote::default()).await);
        };
        let mut actor = Actor::begin(&world.app, work).await;
        for _ in 0..steps {
            if actor.waits.is_some() {
                actor.step().await;
            }
        }
        let is_finished = actor.waits.is_none();
        grant(&world, 1, false).await;
        actor.finish().await;
        assert_eq!(pending(&world, &people[2]).await, Value::Null, "after {steps} steps");
        if is_finished {
            return;
        }
    }
}

#[tokio::test]
async fn rights_whose_end_is_interrupted_end_for_their_codes_as_well() {
    for steps in 0.. {
        let (world, people) = world(3).await;
        issued(&world, &people[0], &people[2]).await;
        let work = async |app: App| {
            drop(app.set_moderator(&Moderator::Operator, user_id(1), false).await);
        };
        let mut actor = Actor::begin(&world.app, work).await;
        for _ in 0..steps {
            if actor.waits.is_some() {
                actor.step().await;
            }
        }
        let is_finished = actor.waits.is_none();
        actor.interrupt().await;
        world.clock.advance(Duration::from_mins(2));
        while world.app.work_on_accounts().await.unwrap() > 0 {}
        let is_moderator: bool = world.redis.raw(&["HEXISTS", "ff:{u1}:user", "moderator"]);
        assert_eq!(pending(&world, &people[2]).await != Value::Null, is_moderator, "after {steps} steps");
        let jobs: i64 = world.redis.raw(&["ZCARD", "ff:{g}:account:jobs"]);
        assert_eq!(jobs, 0);
        if is_finished {
            assert!(!is_moderator);
            return;
        }
    }
}
