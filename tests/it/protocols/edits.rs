//! Edits: whatever runs concurrently and wherever it is interrupted, at every moment a reader finds a history of versions
//! in which each edit occurs once, hot or archived.

use std::cell::RefCell;

use fanfold::app::App;
use fanfold::app::archive::SILENT_AFTER;
use fanfold::gate::Moment;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use tokio::runtime::{Handle, Runtime};

use crate::harness::case::model_config;
use crate::harness::sql::{Kind, on_every_kind};
use crate::harness::stage::{Call, Refer, Scenario, Stage};
use crate::harness::turnstile::{Actor, Event, events};

/// The users who publish and edit.
const AUTHORS: [u64; 2] = [3, 4];

fn scenarios() -> impl Strategy<Value = Scenario> {
    let author = || prop::sample::select(&AUTHORS[..]);
    let edit = || {
        let edit = (author(), 0..3usize, prop::option::weighted(0.4, 0..2u8));
        edit.prop_map(|(user, rank, key)| Call::Edit(user, rank, key))
    };
    let refer = || {
        let refer = (author(), 0..3usize);
        refer.prop_map(|(user, rank)| Call::Refer(Refer { user, rank, quotes: false, is_limited: false }))
    };
    let call = move || {
        prop_oneof![
            2 => author().prop_map(|user| Call::Publish(user, None)),
            1 => refer(),
            8 => edit(),
            2 => (author(), 0..3usize).prop_map(|(user, rank)| Call::Delete(user, rank)),
            2 => (author(), 0..3usize).prop_map(|(user, rank)| Call::ReadVersions(user, rank)),
            4 => Just(Call::Move),
            1 => Just(Call::Outage),
        ]
    };
    let before = proptest::collection::vec(call(), 2..12);
    let together = proptest::collection::vec(call(), 2..5);
    (before, together).prop_map(|(before, together)| Scenario { before, together })
}

fn each_post_has_one_history(kind: Kind) {
    let runtime = Runtime::new().unwrap();
    let stage = runtime.block_on(Stage::with_archive(kind, "hybrid", "3", "1"));
    let config = model_config(150);
    let tested =
        TestRunner::new(config).run(&(scenarios(), events()), |(scenario, events): (_, Vec<Event>)| {
            runtime.block_on(async {
                stage.clear().await;
                let wrong = RefCell::new(None);
                let note = |_, _: &_| {
                    let now =
                        tokio::task::block_in_place(|| Handle::current().block_on(stage.check_versions()));
                    if let Err(what) = now {
                        wrong.borrow_mut().get_or_insert(what);
                    }
                };
                stage.play_noting(&scenario, &events, note).await;
                prop_assert_eq!(wrong.into_inner(), None);
                stage.settle().await;
                stage.check_store().await
            })
        });
    if let Err(failed) = tested {
        panic!("{kind:?}: {failed}");
    }
}

on_every_kind! {
    blocking each_post_has_one_history;
}

const A: u64 = AUTHORS[0];
const POST: Call = Call::Publish(A, None);
const REPLY: Call = Call::Refer(Refer { user: AUTHORS[1], rank: 0, quotes: false, is_limited: false });
/// Edits of the older of two posts, and its deletion.
const EDIT: Call = Call::Edit(A, 1, None);
const KEYED: Call = Call::Edit(A, 1, Some(0));
const OTHER_KEY: Call = Call::Edit(A, 1, Some(1));
const READ: Call = Call::ReadVersions(A, 1);
const DELETE: Call = Call::Delete(A, 1);

/// Plays `setup`, then holds a call before each of its batches in turn while others do `meanwhile`, resumes or interrupts it,
/// makes it again if `is_repeated`, and checks the versions at each moment. Without interruptions, outages and deletions, all
/// edits must succeed.
async fn hold_everywhere(setup: &[Call], held: Call, meanwhile: &[Call], is_repeated: bool) {
    let stage = Stage::with_archive(Kind::Sqlite, "hybrid", "3", "1").await;
    let may_fail =
        meanwhile.iter().chain([&held]).any(|call| matches!(call, Call::Delete(..) | Call::Outage));
    for is_interrupted in [false, true] {
        for sent in 0.. {
            let mut actor = stage.hold(setup, held, sent).await;
            let (is_over, stop) = (actor.waits.is_none(), actor.waits);
            let context = |error| {
                panic!("{held:?} held at {stop:?}, interrupted: {is_interrupted}, {meanwhile:?}: {error}")
            };
            // Up to the interruption, the moments are those of the call that is resumed.
            if !is_interrupted {
                stage.check_versions().await.unwrap_or_else(context);
            }
            for call in meanwhile {
                stage.call(*call).await;
                if !is_interrupted {
                    stage.check_versions().await.unwrap_or_else(context);
                    stage.check_listed_texts(A).await.unwrap_or_else(context);
                }
            }
            if is_interrupted {
                actor.interrupt().await;
            }
            while actor.waits.is_some() {
                actor.step().await;
                stage.check_versions().await.unwrap_or_else(context);
            }
            if !is_interrupted && !may_fail && !stage.results.lock().unwrap().edits.are_confirmed() {
                context("an edit failed".to_owned());
            }
            if is_repeated {
                stage.call(held).await;
                stage.check_versions().await.unwrap_or_else(context);
            }
            stage.settle().await;
            stage.check_store().await.unwrap_or_else(|error| context(error.to_string()));
            if is_over {
                break;
            }
        }
    }
}

#[tokio::test]
async fn two_edits_make_two_versions() {
    for setup in [&[POST, POST][..], &[POST, POST, Call::Move], &[POST, POST, EDIT, REPLY]] {
        for meanwhile in [&[EDIT][..], &[EDIT, Call::Move], &[Call::Move, EDIT], &[EDIT, Call::Move, EDIT]] {
            hold_everywhere(setup, EDIT, meanwhile, false).await;
        }
    }
}

#[tokio::test]
async fn an_edit_under_a_key_is_made_once_whatever_happens_before_it_is_repeated() {
    for setup in [&[POST, POST][..], &[POST, POST, EDIT, Call::Move]] {
        for meanwhile in
            [&[KEYED][..], &[EDIT], &[OTHER_KEY, KEYED], &[Call::Move, EDIT, KEYED], &[Call::Outage]]
        {
            hold_everywhere(setup, KEYED, meanwhile, true).await;
        }
    }
}

#[tokio::test]
async fn versions_move_with_their_post() {
    let setup = [POST, POST, EDIT, EDIT];
    for meanwhile in [
        &[EDIT][..],
        &[EDIT, Call::Move, EDIT],
        &[Call::Move, EDIT],
        &[REPLY, EDIT],
        &[DELETE],
        &[EDIT, DELETE],
    ] {
        hold_everywhere(&setup, Call::Move, meanwhile, false).await;
    }
}

#[tokio::test]
async fn a_late_mover_leaves_a_later_version_in_the_archive() {
    let stage = Stage::with_archive(Kind::Sqlite, "hybrid", "3", "1").await;
    for call in [POST, POST, EDIT] {
        stage.call(call).await;
    }
    let redis = &stage.world.redis;
    let pending: Vec<String> = redis.raw(&["LRANGE", "ff:{a}:pending", "0", "-1"]);
    let mut late = stage.begin(Call::Move).await;
    late.step_to(Moment::Before, "move: versions").await;
    // The post is queued once more, as it may be after the limit of hot posts was changed.
    redis.raw::<u64>(&["RPUSH", "ff:{a}:pending", &pending[0]]);
    stage.call(EDIT).await;
    let drain = async |app: App| drop(app.mover().drain(SILENT_AFTER).await);
    let mut other = Actor::begin(&stage.app, drain).await;
    other.step_to(Moment::Before, "move: remove archived").await;
    late.finish().await;
    other.finish().await;
    assert_eq!(redis.raw::<u64>(&["HLEN", "ff:{a}:unmovable"]), 0);
    stage.settle().await;
    stage.check_store().await.unwrap();
}

#[tokio::test]
async fn no_version_of_a_deleted_post_is_left() {
    for setup in [&[POST, POST, EDIT][..], &[POST, POST, EDIT, Call::Move]] {
        for meanwhile in
            [&[EDIT][..], &[Call::Move], &[EDIT, Call::Move], &[Call::Move, EDIT, Call::Move], &[DELETE]]
        {
            hold_everywhere(setup, DELETE, meanwhile, false).await;
        }
        for meanwhile in [&[DELETE][..], &[DELETE, Call::Move], &[Call::Move, DELETE, Call::Move]] {
            hold_everywhere(setup, EDIT, meanwhile, true).await;
        }
    }
}

#[tokio::test]
async fn a_reader_sees_a_version_with_those_before_it() {
    for setup in [&[POST, POST, EDIT][..], &[POST, POST, EDIT, Call::Move]] {
        for meanwhile in [&[EDIT][..], &[Call::Move], &[EDIT, Call::Move, EDIT], &[DELETE, Call::Move]] {
            hold_everywhere(setup, READ, meanwhile, false).await;
        }
    }
}
