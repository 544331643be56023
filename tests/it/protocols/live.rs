//! Live timelines: a client that watches, disconnects and resumes shows what it would read.

use std::collections::BTreeSet;

use fanfold::app::timeline::entry::Replies;
use fanfold::gate::Moment;
use proptest::prelude::*;
use tokio::runtime::Runtime;

use crate::harness::case::model_config;
use crate::harness::sql::Kind;
use crate::harness::stage::{Call, STRATEGIES, Scenario, Stage, strategies};
use crate::harness::turnstile::{Event, events};
use crate::harness::world::deliver_all;

fn scenarios() -> impl Strategy<Value = Scenario> {
    // Mostly 1 and 2 watch what 3 and 4 write.
    let reader = prop_oneof![4 => Just(1u64), 2 => Just(2), 1 => Just(3)];
    let author = prop_oneof![5 => Just(3u64), 3 => Just(4), 1 => Just(1)];
    let pair = (reader.clone(), author.clone());
    let pair = pair.prop_map(|(one, other)| if one == other { (one, 4) } else { (one, other) });
    let publish = author.clone().prop_map(|user| Call::Publish(user, None));
    let follow = pair.clone().prop_map(|(one, other)| Call::Follow(one, other));
    let watch = reader.clone().prop_map(Call::Watch);
    let repost = (author.clone(), 0..5usize).prop_map(|(user, rank)| Call::Repost(user, rank));
    let before = prop_oneof![
        2 => repost,
        6 => publish.clone(), 6 => follow.clone(), 3 => watch.clone(), 2 => Just(Call::Deliver),
        1 => Just(Call::Move),
    ];
    let together = prop_oneof![
        8 => publish,
        8 => watch,
        4 => Just(Call::Deliver),
        2 => (author.clone(), 0..3usize).prop_map(|(user, rank)| Call::Delete(user, rank)),
        3 => (author.clone(), 0..5usize).prop_map(|(user, rank)| Call::Repost(user, rank)),
        1 => (author, 0..5usize).prop_map(|(user, rank)| Call::Undo(user, rank)),
        2 => follow,
        1 => pair.clone().prop_map(|(one, other)| Call::Unfollow(one, other)),
        1 => pair.prop_map(|(one, other)| Call::Mute(one, other)),
        1 => reader.prop_map(Call::Expire),
        1 => Just(Call::Move),
    ];
    let before = proptest::collection::vec(before, 0..12);
    let together = proptest::collection::vec(together, 1..9);
    (before, together).prop_map(|(before, together)| Scenario { before, together })
}

async fn check_screens(stage: &Stage) -> Result<usize, TestCaseError> {
    let watchers: Vec<u64> = stage.results.lock().unwrap().screens.keys().copied().collect();
    let mut resyncs = 0;
    for user in watchers {
        stage.call(Call::Watch(user)).await;
        let screen = stage.results.lock().unwrap().screens[&user].clone();
        resyncs += screen.resyncs;
        let shown: BTreeSet<(u64, u64)> = screen.entries.iter().copied().collect();
        prop_assert_eq!(shown.len(), screen.entries.len(), "{} has {:?}", user, screen);
        let expected = stage.expected_entries(&stage.records().await, user, Replies::default());
        let expected: BTreeSet<(u64, u64)> = expected.into_iter().collect();
        prop_assert_eq!(&shown, &expected, "{}: {:?}", user, screen);
    }
    let wrong = stage.results.lock().unwrap().wrong.clone();
    prop_assert!(wrong.is_empty(), "{:?}", wrong);
    Ok(resyncs)
}

#[tokio::test]
async fn a_post_published_during_a_look_is_found_by_the_next_look() {
    for strategy in STRATEGIES {
        let stage = Stage::new(strategy, "50").await;
        stage.calls(&[Call::Follow(1, 3), Call::Publish(3, None), Call::Watch(1)]).await;
        for steps in 0.. {
            let mut watching = stage.begin(Call::Watch(1)).await;
            for _ in 0..steps {
                if watching.waits.is_some() {
                    watching.step().await;
                }
            }
            if watching.waits.is_none() {
                assert!(steps > 10, "it was held {steps} times");
                break;
            }
            // The post is visible before the watch continues, and delivered after its look.
            stage.call(Call::Publish(3, None)).await;
            watching.finish().await;
            deliver_all(&stage.app).await;
        }
        stage.call(Call::Watch(1)).await;
        let mut shown = stage.results.lock().unwrap().screens[&1]
            .entries
            .iter()
            .map(|(_, post)| *post)
            .collect::<Vec<_>>();
        shown.sort_unstable_by(|one, other| other.cmp(one));
        assert_eq!(shown, stage.expected(1).await, "{strategy}");
        assert_eq!(stage.results.lock().unwrap().wrong, Vec::<String>::new());
    }
}

#[tokio::test]
async fn a_post_published_after_its_author_was_muted_is_not_sent_by_a_look_that_began_before() {
    for strategy in STRATEGIES {
        for steps in 0.. {
            let stage = Stage::new(strategy, "50").await;
            stage.calls(&[Call::Follow(1, 3), Call::Publish(3, None), Call::Watch(1)]).await;
            let mut watching = stage.begin(Call::Watch(1)).await;
            for _ in 0..steps {
                if watching.waits.is_some() {
                    watching.step().await;
                }
            }
            if watching.waits.is_none() {
                assert!(steps > 5, "it was held {steps} times");
                break;
            }
            stage.calls(&[Call::Mute(1, 3), Call::Publish(3, None)]).await;
            watching.finish().await;
            stage.call(Call::Watch(1)).await;
            let screen = stage.results.lock().unwrap().screens[&1].clone();
            assert_eq!(screen.entries.len(), 0, "{strategy}, held at step {steps}: {screen:?}");
        }
    }
}

#[tokio::test]
async fn a_repost_that_is_undone_is_removed_from_the_screen() {
    for strategy in STRATEGIES {
        let stage = Stage::new(strategy, "50").await;
        stage.calls(&[Call::Follow(1, 3), Call::Follow(1, 4), Call::Publish(2, None)]).await;
        stage.calls(&[Call::Watch(1), Call::Repost(3, 0), Call::Repost(4, 0), Call::Deliver]).await;
        let shown = async || {
            stage.call(Call::Watch(1)).await;
            let screen = stage.results.lock().unwrap().screens[&1].clone();
            (screen.entries.iter().map(|(_, post)| *post).collect::<Vec<_>>(), screen.resyncs)
        };
        assert_eq!(shown().await, (vec![1, 1], 0), "{strategy}");
        stage.calls(&[Call::Undo(3, 0), Call::Deliver]).await;
        assert_eq!(shown().await, (vec![1], 0), "{strategy}");
        stage.calls(&[Call::Undo(4, 0), Call::Deliver]).await;
        assert_eq!(shown().await, (vec![], 0), "{strategy}");
        assert_eq!(stage.results.lock().unwrap().wrong, Vec::<String>::new());
    }
}

#[tokio::test]
async fn a_repost_whose_original_is_deleted_is_removed_from_the_screen() {
    for strategy in STRATEGIES {
        let stage = Stage::new(strategy, "50").await;
        // The first partition has the removal of the repost; the last one queues it.
        stage.calls(&[Call::Follow(1, 4), Call::Publish(3, None), Call::Repost(4, 0)]).await;
        stage.call(Call::Watch(1)).await;
        assert_eq!(stage.results.lock().unwrap().screens[&1].entries, [(2, 1)], "{strategy}");
        stage.call(Call::Delete(3, 0)).await;
        deliver_all(&stage.app).await;
        stage.call(Call::Watch(1)).await;
        let screen = stage.results.lock().unwrap().screens[&1].clone();
        assert_eq!((screen.entries, screen.resyncs), (vec![], 0), "{strategy}");
    }
}

#[tokio::test]
async fn posts_deleted_while_there_was_no_timeline_end_on_no_screen() {
    let stage = Stage::new("push", "50").await;
    stage.calls(&[Call::Follow(1, 3), Call::Publish(3, None), Call::Watch(1)]).await;
    // No record says what would have been removed from it.
    stage.calls(&[Call::Expire(1), Call::Delete(3, 0), Call::Watch(1)]).await;
    let screen = stage.results.lock().unwrap().screens[&1].clone();
    assert_eq!((screen.entries, screen.resyncs), (vec![], 1));
}

#[tokio::test]
async fn a_post_begun_first_that_becomes_visible_below_the_last_of_a_page_is_sent() {
    let scenario = Scenario {
        before: vec![],
        together: vec![Call::Publish(3, None), Call::Watch(3), Call::Publish(3, None)],
    };
    for strategy in STRATEGIES {
        let stage = Stage::new(strategy, "50").await;
        // The last has its id first, and is the last to be visible.
        stage.play(&scenario, &[Event::Step(2, 3)]).await;
        stage.settle().await;
        assert_eq!(check_screens(&stage).await.unwrap(), 0, "{strategy}");
    }
}

#[tokio::test]
async fn a_full_timeline_is_watched_while_a_post_below_it_is_being_published() {
    for strategy in STRATEGIES {
        let stage = Stage::new(strategy, "3").await;
        stage.calls(&[Call::Follow(1, 3), Call::Follow(1, 4), Call::Read(1, 2)]).await;
        let mut late = stage.begin(Call::Publish(3, None)).await;
        late.step_to(Moment::After, "publish: issue").await;
        stage.calls(&[Call::Publish(4, None); 5]).await;
        stage.calls(&[Call::Watch(1), Call::Publish(4, None), Call::Watch(1), Call::Watch(1)]).await;
        late.finish().await;
        stage.calls(&[Call::Watch(1), Call::Publish(4, None), Call::Watch(1)]).await;
        let screen = stage.results.lock().unwrap().screens[&1].clone();
        assert_eq!(stage.results.lock().unwrap().wrong, Vec::<String>::new());
        // The late one is below the three that the timeline holds.
        assert_eq!((screen.resyncs, screen.entries.len()), (0, 8), "{strategy}");
    }
}

#[tokio::test]
async fn a_timeline_whose_newest_posts_are_by_an_unfollowed_author_is_watched() {
    for strategy in STRATEGIES {
        let stage = Stage::new(strategy, "3").await;
        stage.calls(&[Call::Follow(1, 3), Call::Follow(1, 4), Call::Publish(4, None)]).await;
        let mut late = stage.begin(Call::Publish(4, None)).await;
        late.step_to(Moment::After, "publish: issue").await;
        stage.calls(&[Call::Publish(3, None); 5]).await;
        stage.calls(&[Call::Read(1, 2), Call::Unfollow(1, 3), Call::Watch(1)]).await;
        late.finish().await;
        stage.calls(&[Call::Watch(1), Call::Publish(4, None), Call::Watch(1)]).await;
        let screen = stage.results.lock().unwrap().screens[&1].clone();
        assert_eq!(stage.results.lock().unwrap().wrong, Vec::<String>::new());
        assert_eq!((screen.resyncs, screen.entries.len()), (0, 3), "{strategy}");
    }
}

proptest! {
    #![proptest_config(model_config(200))]

    #[test]
    fn a_watcher_has_each_post_once_wherever_calls_are_interrupted(scenario in scenarios(), events in events()) {
        thread_local!(static STAGES: (Runtime, Vec<Stage>) = {
            let runtime = Runtime::new().unwrap();
            let set = async || {
                let mut stages = Vec::new();
                for strategy in strategies() {
                    stages.push(Stage::with_archive(Kind::Sqlite, strategy, "50", "50").await);
                }
                stages.push(Stage::with_archive(Kind::Sqlite, "hybrid", "3", "2").await);
                stages
            };
            let stages = runtime.block_on(set());
            (runtime, stages)
        });
        STAGES.with(|(runtime, stages)| {
            for stage in stages {
                let resyncs = runtime.block_on(async {
                    stage.clear().await;
                    stage.play(&scenario, &events).await;
                    stage.settle().await;
                    stage.check_store().await?;
                    check_screens(stage).await
                })?;
                // So few posts can all be sent one by one, unless a timeline vanishes.
                let may_vanish = scenario.together.iter().any(|call| matches!(call, Call::Expire(_)));
                prop_assert!(resyncs == 0 || may_vanish, "{} resyncs", resyncs);
            }
            Ok::<(), TestCaseError>(())
        })?;
    }
}
