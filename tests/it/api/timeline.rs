//! Home timelines: whatever runs concurrently and wherever it is interrupted, every user sees each post, repost and reply
//! once that a naive model says they should see.

use proptest::prelude::*;
use tokio::runtime::Runtime;

use crate::harness::case::model_config;
use crate::harness::sql::Kind;
use crate::harness::stage::{Call, Refer, Scenario, Stage, strategies};
use crate::harness::turnstile::events;

fn scenarios() -> impl Strategy<Value = Scenario> {
    // Mostly 1 and 2 read what 3 and 4 write.
    let reader = prop_oneof![5 => Just(1u64), 2 => Just(2), 1 => Just(3)];
    let author = prop_oneof![5 => Just(3u64), 3 => Just(4), 1 => Just(1)];
    let call = || {
        let pair = (reader.clone(), author.clone());
        let pair = pair.prop_map(|(one, other)| if one == other { (one, 4) } else { (one, other) });
        prop_oneof![
            8 => (author.clone(), prop::option::weighted(0.25, 0..2u8)).prop_map(|(user, key)| Call::Publish(user, key)),
            2 => (author.clone(), 0..3usize).prop_map(|(user, rank)| Call::Delete(user, rank)),
            3 => (author.clone(), 0..5usize).prop_map(|(user, rank)| {
                Call::Refer(Refer { user, rank, quotes: false, is_limited: false })
            }),
            4 => (author.clone(), 0..5usize).prop_map(|(user, rank)| Call::Repost(user, rank)),
            1 => (author.clone(), 0..5usize).prop_map(|(user, rank)| Call::Undo(user, rank)),
            5 => pair.clone().prop_map(|(one, other)| Call::Follow(one, other)),
            2 => pair.clone().prop_map(|(one, other)| Call::Unfollow(one, other)),
            2 => pair.clone().prop_map(|(one, other)| Call::Mute(one, other)),
            1 => pair.prop_map(|(one, other)| Call::Unmute(one, other)),
            4 => (reader.clone(), 1..4usize).prop_map(|(user, size)| Call::Read(user, size)),
            2 => Just(Call::Deliver),
            1 => reader.clone().prop_map(Call::Expire),
            3 => Just(Call::Move),
        ]
    };
    let before = proptest::collection::vec(call(), 0..10);
    let together = proptest::collection::vec(call(), 1..6);
    (before, together).prop_map(|(before, together)| Scenario { before, together })
}

proptest! {
    #![proptest_config(model_config(200))]

    #[test]
    fn every_user_sees_each_post_once_wherever_calls_are_interrupted(scenario in scenarios(), events in events()) {
        thread_local!(static STAGES: (Runtime, Vec<Stage>) = {
            let runtime = Runtime::new().unwrap();
            let set = async || {
                let mut stages = Vec::new();
                for strategy in strategies() {
                    stages.push(Stage::with_archive(Kind::Sqlite, strategy, "3", "2").await);
                }
                stages
            };
            let stages = runtime.block_on(set());
            (runtime, stages)
        });
        STAGES.with(|(runtime, stages)| {
            for stage in stages {
                runtime.block_on(async {
                    stage.clear().await;
                    stage.play(&scenario, &events).await;
                    stage.settle().await;
                    stage.check_store().await?;
                    stage.check_timelines(&stage.app).await
                })?;
            }
            Ok::<(), TestCaseError>(())
        })?;
    }
}
