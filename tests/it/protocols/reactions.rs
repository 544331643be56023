//! Likes: whatever runs concurrently and wherever it is interrupted, each post has the likes of the active users who like
//! it, hot or archived, and as many are counted, at every moment.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fanfold::app::App;
use fanfold::app::error::Error;
use fanfold::gate::Moment;
use fanfold::model::id::PostId;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use tokio::runtime::{Handle, Runtime};

use crate::harness::case::model_config;
use crate::harness::sql::{Kind, on_every_kind};
use crate::harness::stage::{AccountChange, Call, Scenario, Stage, hold_everywhere};
use crate::harness::turnstile::{Actor, Event, events};

/// The author, and users who like the posts.
const A: u64 = 1;
const B: u64 = 3;
const C: u64 = 4;

fn scenarios() -> impl Strategy<Value = Scenario> {
    let user = || prop::sample::select(&[A, B, C][..]);
    let call = move || {
        prop_oneof![
            2 => Just(Call::Publish(A, None)),
            8 => (user(), 0..3usize).prop_map(|(user, rank)| Call::Like(user, rank)),
            5 => (user(), 0..3usize).prop_map(|(user, rank)| Call::Unlike(user, rank)),
            1 => (0..3usize).prop_map(|rank| Call::Edit(A, rank, None)),
            2 => (0..3usize).prop_map(|rank| Call::Delete(A, rank)),
            4 => Just(Call::Move),
            2 => Just(Call::Account(AccountChange::Suspend, C)),
            2 => Just(Call::Account(AccountChange::Lift, C)),
            1 => Just(Call::Work),
            1 => Just(Call::Check),
            1 => Just(Call::Outage),
        ]
    };
    let before = proptest::collection::vec(call(), 2..12);
    let together = proptest::collection::vec(call(), 2..5);
    (before, together).prop_map(|(mut before, together)| {
        before.insert(0, POST);
        Scenario { before, together }
    })
}

fn each_post_has_the_likes_that_users_have_made(kind: Kind) {
    let runtime = Runtime::new().unwrap();
    let stage = runtime.block_on(Stage::with_archive(kind, "hybrid", "3", "1"));
    let config = model_config(150);
    let tested =
        TestRunner::new(config).run(&(scenarios(), events()), |(scenario, events): (_, Vec<Event>)| {
            runtime.block_on(async {
                stage.clear().await;
                let wrong = RefCell::new(None);
                let note = |_, _: &_| {
                    if stage.is_archive_away() {
                        return;
                    }
                    let now =
                        tokio::task::block_in_place(|| Handle::current().block_on(stage.check_likes_now()));
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
    blocking each_post_has_the_likes_that_users_have_made;
}

const POST: Call = Call::Publish(A, None);
/// Likes of the oldest post, and the same taken back.
const LIKE: Call = Call::Like(B, 0);
const UNLIKE: Call = Call::Unlike(B, 0);
const OTHER: Call = Call::Like(C, 0);
/// The deletion of the older of two posts.
const DELETE: Call = Call::Delete(A, 1);
const EDIT: Call = Call::Edit(A, 1, None);
const SUSPEND: Call = Call::Account(AccountChange::Suspend, C);
const LIFT: Call = Call::Account(AccountChange::Lift, C);

#[tokio::test]
async fn a_like_is_with_the_post_whatever_happens_to_it() {
    for meanwhile in [
        &[UNLIKE][..],
        &[UNLIKE, LIKE],
        &[OTHER],
        &[EDIT],
        &[DELETE],
        &[Call::Move],
        &[Call::Move, DELETE],
        &[DELETE, Call::Move],
        &[UNLIKE, Call::Move],
        &[Call::Check],
    ] {
        hold_everywhere(&[POST, POST], LIKE, meanwhile).await;
        hold_everywhere(&[POST, POST, Call::Move], LIKE, meanwhile).await;
    }
}

#[tokio::test]
async fn a_like_that_is_taken_back_is_gone() {
    for meanwhile in [&[LIKE][..], &[LIKE, UNLIKE], &[OTHER], &[DELETE], &[Call::Move], &[LIKE, Call::Move]] {
        hold_everywhere(&[POST, POST, LIKE, OTHER], UNLIKE, meanwhile).await;
        hold_everywhere(&[POST, POST, LIKE, OTHER, Call::Move], UNLIKE, meanwhile).await;
    }
}

#[tokio::test]
async fn likes_move_with_their_post() {
    for meanwhile in [
        &[LIKE][..],
        &[UNLIKE],
        &[OTHER, UNLIKE],
        &[OTHER, Call::Move],
        &[UNLIKE, Call::Move],
        &[EDIT],
        &[DELETE],
        &[DELETE, Call::Move],
    ] {
        hold_everywhere(&[POST, POST, LIKE], Call::Move, meanwhile).await;
    }
}

#[tokio::test]
async fn nothing_is_left_of_the_likes_of_a_deleted_post() {
    for meanwhile in [&[LIKE][..], &[UNLIKE], &[OTHER], &[Call::Move], &[OTHER, Call::Move]] {
        hold_everywhere(&[POST, POST, LIKE], DELETE, meanwhile).await;
        hold_everywhere(&[POST, POST, LIKE, Call::Move], DELETE, meanwhile).await;
    }
}

#[tokio::test]
async fn an_inactive_account_likes_nothing() {
    for meanwhile in [
        &[OTHER][..],
        &[Call::Unlike(C, 0)],
        &[LIFT],
        &[LIFT, SUSPEND],
        &[Call::Move],
        &[DELETE],
        &[Call::Work],
    ] {
        hold_everywhere(&[POST, POST, LIKE, OTHER], SUSPEND, meanwhile).await;
        hold_everywhere(&[POST, POST, LIKE, OTHER, Call::Move], SUSPEND, meanwhile).await;
    }
    for meanwhile in [&[SUSPEND][..], &[Call::Unlike(C, 0)], &[Call::Move], &[DELETE], &[SUSPEND, Call::Work]]
    {
        hold_everywhere(&[POST, POST, LIKE, OTHER, SUSPEND], LIFT, meanwhile).await;
    }
    hold_everywhere(&[POST, POST], OTHER, &[SUSPEND]).await;
    hold_everywhere(&[POST, POST, OTHER], Call::Unlike(C, 0), &[SUSPEND, LIFT]).await;
}

#[tokio::test]
async fn a_like_of_a_post_that_is_deleted_meanwhile_is_rejected_and_taken_back() {
    let stage = Stage::with_archive(Kind::Sqlite, "hybrid", "3", "1").await;
    for setup in [&[POST, POST][..], &[POST, POST, Call::Move]] {
        stage.clear().await;
        for call in setup {
            stage.call(*call).await;
        }
        let rejected = Arc::new(AtomicBool::new(false));
        let (viewer, post, noted) = (stage.viewer(B), PostId::new(1).unwrap(), Arc::clone(&rejected));
        let like = async move |app: App| {
            let liked = app.like(&viewer, post).await;
            noted.store(matches!(liked, Err(Error::Rejected(_))), Ordering::SeqCst);
        };
        let mut slow = Actor::begin(&stage.app, like).await;
        slow.step_to(Moment::Before, "like: mirror").await;
        stage.call(DELETE).await;
        assert_eq!(stage.liked(B), BTreeSet::from([1]));
        slow.finish().await;
        assert!(rejected.load(Ordering::SeqCst));
        assert_eq!(stage.liked(B), BTreeSet::new());
        stage.settle().await;
        stage.check_store().await.unwrap();
    }
}

/// Begins anew with two posts, the older of which may be archived. Returns the step that writes a like of it.
async fn begin(stage: &Stage, is_archived: bool) -> &'static str {
    stage.clear().await;
    for call in [POST, POST] {
        stage.call(call).await;
    }
    if !is_archived {
        return "like: mirror";
    }
    stage.call(Call::Move).await;
    "archive: like"
}

#[tokio::test]
async fn an_interrupted_repairer_leaves_its_work_to_the_next() {
    let stage = Stage::with_archive(Kind::Sqlite, "hybrid", "3", "1").await;
    for is_archived in [false, true] {
        let written = begin(&stage, is_archived).await;
        let mut like = stage.begin(LIKE).await;
        like.step_to(Moment::After, written).await;
        stage.world.clock.advance(Duration::from_secs(6));
        let mut repairer = Actor::begin(&stage.app, async |app: App| drop(app.repair().await)).await;
        repairer.step_to(Moment::Before, "like: mirror").await;
        // All others are done, and have dropped their intents, when it writes what it read long ago.
        like.finish().await;
        stage.call(UNLIKE).await;
        repairer.step_to(Moment::After, written).await;
        repairer.interrupt().await;
        stage.settle().await;
        stage.check_store().await.unwrap();
    }
}

#[tokio::test]
async fn one_call_does_not_drop_the_intent_of_another() {
    let stage = Stage::with_archive(Kind::Sqlite, "hybrid", "3", "1").await;
    for is_archived in [false, true] {
        begin(&stage, is_archived).await;
        let mut one = stage.begin(LIKE).await;
        let mut other = stage.begin(UNLIKE).await;
        one.step_to(Moment::Before, "drop intents").await;
        other.step_to(Moment::After, "like: truth").await;
        one.finish().await;
        other.interrupt().await;
        stage.settle().await;
        stage.check_store().await.unwrap();
    }
}
