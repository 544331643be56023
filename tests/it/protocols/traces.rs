//! The ways in which a timeline can lose, duplicate or misplace a post, each as a trace: a setup, a call held between
//! two steps, the calls of others meanwhile, and then the rest. Most are held before every batch, and interrupted before
//! every batch, too.
//!
//! User 1 reads (R), 2 also follows (S), 3 (A) and 4 (B) publish. An author with two followers is a star.

use std::time::Duration;

use fanfold::app::App;
use fanfold::app::import::ImportFollow;
use fanfold::gate::Moment;
use fanfold::model::clock::Clock as _;
use fanfold::model::id::UserId;

use crate::harness::stage::Call::{self, Delete, Deliver, Expire, Follow, Publish, Read, Unfollow};
use crate::harness::stage::{STRATEGIES, Stage, strategies};
use crate::harness::turnstile::Actor;
use crate::harness::world::{archive_all, deliver_all};

const R: u64 = 1;
const S: u64 = 2;
const A: u64 = 3;
const B: u64 = 4;

const POST: Call = Publish(A, None);
const READ: Call = Read(R, 2);

/// Plays `setup`, then holds a call before each of its batches in turn while others do `meanwhile`, resumes or interrupts it,
/// and compares what all users see in the end with the model.
async fn hold_everywhere(strategy: &str, setup: &[Call], held: Call, meanwhile: &[Call]) {
    let stage = Stage::new(strategy, "3").await;
    for is_interrupted in [false, true] {
        for sent in 0.. {
            stage.clear().await;
            stage.calls(setup).await;
            let mut actor = stage.begin(held).await;
            actor.send_batches(sent).await;
            let is_over = actor.waits.is_none();
            let stop = actor.waits;
            for call in meanwhile {
                stage.call(*call).await;
            }
            if is_interrupted {
                actor.interrupt().await;
                stage.settle().await;
            } else {
                actor.finish().await;
                deliver_all(&stage.app).await;
            }
            let context =
                |error| panic!("{strategy}, held at {stop:?}, interrupted: {is_interrupted}: {error}");
            stage.check_timelines(&stage.app).await.unwrap_or_else(context);
            stage.settle().await;
            stage.check_store().await.unwrap_or_else(context);
            stage.check_timelines(&stage.app).await.unwrap_or_else(context);
            if is_over {
                break;
            }
        }
    }
}

async fn hold_everywhere_by_all(setup: &[Call], held: Call, meanwhile: &[Call]) {
    for strategy in strategies() {
        hold_everywhere(strategy, setup, held, meanwhile).await;
    }
}

#[tokio::test]
async fn an_interrupted_read_leaves_a_timeline_that_is_known_to_be_unfilled() {
    hold_everywhere_by_all(&[POST, Follow(R, A)], READ, &[]).await;
    hold_everywhere_by_all(&[POST, Follow(R, A)], READ, &[READ]).await;
}

#[tokio::test]
async fn posts_pulled_for_a_timeline_that_is_gone_are_not_put_into_another() {
    hold_everywhere_by_all(&[Follow(R, A)], READ, &[Expire(R), POST, Deliver]).await;
    hold_everywhere_by_all(&[Follow(R, A)], READ, &[Expire(R), READ, POST, Deliver]).await;
    hold_everywhere_by_all(&[POST, Follow(R, A), READ, Expire(R)], READ, &[POST]).await;
}

#[tokio::test]
async fn posts_pulled_for_one_timeline_do_not_fill_another() {
    for strategy in STRATEGIES {
        let stage = Stage::new(strategy, "3").await;
        stage.calls(&[Follow(R, A)]).await;
        let mut slow = stage.begin(READ).await;
        slow.step_to(Moment::Before, "timeline: merge").await;
        // A post published while there is no timeline is not delivered.
        stage.calls(&[Expire(R), POST]).await;
        let mut other = stage.begin(READ).await;
        other.step_to(Moment::Before, "timeline: pull").await;
        other.interrupt().await;
        slow.finish().await;
        assert_eq!(stage.seen(&stage.app, R, 2).await.0, [1], "{strategy}");
    }
}

#[tokio::test]
async fn a_reader_whose_timeline_is_rebuilt_meanwhile_continues() {
    for strategy in STRATEGIES {
        let stage = Stage::new(strategy, "3").await;
        stage.calls(&[Follow(R, A), POST, POST, POST, POST, POST, READ]).await;
        let mut slow = stage.begin(READ).await;
        while slow.waits.is_some() {
            stage.call(Expire(R)).await;
            let mut other = stage.begin(READ).await;
            other.step_to(Moment::Before, "timeline: pull").await;
            other.interrupt().await;
            for _ in 0..3 {
                if slow.waits.is_some() {
                    slow.step().await;
                }
            }
        }
        stage.check_store().await.unwrap();
        stage.check_timelines(&stage.app).await.unwrap();
    }
}

#[tokio::test]
async fn a_post_that_became_visible_is_delivered_though_its_publisher_was_interrupted() {
    hold_everywhere_by_all(&[Follow(R, A), READ], POST, &[]).await;
    hold_everywhere_by_all(&[Follow(R, A), READ], Publish(A, Some(1)), &[READ]).await;
}

#[tokio::test]
async fn a_post_that_became_visible_is_soon_delivered_though_its_publisher_was_interrupted() {
    let stage = Stage::new("push", "3").await;
    stage.calls(&[Follow(R, A), READ]).await;
    let (mut one, mut other) = (stage.begin(POST).await, stage.begin(POST).await);
    one.step_to(Moment::Before, "publish: queue").await;
    other.step_to(Moment::Before, "publish: visible").await;
    one.interrupt().await;
    stage.world.clock.advance(Duration::from_secs(6));
    stage.app.repair().await.unwrap();
    deliver_all(&stage.app).await;
    assert_eq!(stage.seen(&stage.app, R, 2).await.0, [1]);
    // The call that was not that far continues.
    other.finish().await;
    deliver_all(&stage.app).await;
    assert_eq!(stage.seen(&stage.app, R, 2).await.0, [2, 1]);
    stage.settle().await;
    stage.check_store().await.unwrap();
}

#[tokio::test]
async fn a_publisher_that_resumes_after_its_post_was_revoked_takes_another_id() {
    for key in [None, Some(1)] {
        let stage = Stage::new("hybrid", "3").await;
        stage.calls(&[Follow(R, A), Follow(S, A), READ]).await;
        let mut publisher = stage.begin(Publish(A, key)).await;
        publisher.step_to(Moment::Before, "publish: visible").await;
        stage.world.clock.advance(Duration::from_secs(61));
        stage.app.repair().await.unwrap();
        stage.call(READ).await;
        publisher.finish().await;
        assert_eq!(stage.posts(A).await, [2], "{key:?}: the revoked id is never visible");
        stage.check_timelines(&stage.app).await.unwrap();
        let record: Option<String> = stage.world.redis.raw(&["HGET", "ff:{p1}:post", "content"]);
        assert_eq!(record, None, "nor is its record");
        stage.settle().await;
        stage.check_store().await.unwrap();
    }
}

#[tokio::test]
async fn one_key_is_one_post_wherever_calls_are_held() {
    const KEYED: Call = Publish(A, Some(1));
    let setup = [Follow(R, A), READ];
    hold_everywhere("hybrid", &setup, KEYED, &[KEYED, READ]).await;
    hold_everywhere("hybrid", &setup, KEYED, &[KEYED, Delete(A, 0), READ]).await;
    hold_everywhere("hybrid", &setup, KEYED, &[KEYED, KEYED, POST, KEYED]).await;
    // All have seen that the key is not used.
    let stage = Stage::new("hybrid", "3").await;
    let mut all = Vec::new();
    for _ in 0..10 {
        let mut one = stage.begin(KEYED).await;
        one.step_to(Moment::After, "publish: attempt").await;
        all.push(one);
    }
    while all.iter().any(|one| one.waits.is_some()) {
        for one in all.iter_mut().filter(|one| one.waits.is_some()) {
            one.step().await;
        }
    }
    assert_eq!(stage.posts(A).await.len(), 1);
    stage.settle().await;
    stage.check_store().await.unwrap();
}

#[tokio::test]
async fn a_post_that_another_call_continues_is_delivered_as_its_audience_is_then() {
    const KEYED: Call = Publish(A, Some(1));
    for (strategy, delivery) in STRATEGIES.into_iter().zip(["pulled", "delivered:2", "pulled"]) {
        let stage = Stage::new(strategy, "3").await;
        stage.calls(&[Follow(R, A), READ]).await;
        let mut publisher = stage.begin(KEYED).await;
        publisher.step_to(Moment::After, "publish: claim").await;
        publisher.interrupt().await;
        // The author becomes a star.
        stage.calls(&[Follow(S, A), KEYED]).await;
        let record = |post: u64| -> String {
            stage.world.redis.raw(&["HGET", &format!("ff:{{p{post}}}:post"), "delivery"])
        };
        let stars: u64 = stage.world.redis.raw(&["SCARD", "ff:{g}:stars"]);
        assert_eq!((record(1).as_str(), stars), (delivery, u64::from(strategy == "hybrid")), "{strategy}");
        // A post that is not interrupted is delivered in the same way.
        stage.calls(&[POST]).await;
        assert_eq!((record(2).as_str(), stage.posts(A).await), (delivery, vec![2, 1]), "{strategy}");
        stage.check_timelines(&stage.app).await.unwrap();
        stage.settle().await;
        stage.check_store().await.unwrap();
    }
}

#[tokio::test]
async fn a_post_that_was_pushed_is_delivered_though_its_author_is_a_star_by_then() {
    let stage = Stage::new("hybrid", "3").await;
    stage.calls(&[Follow(R, A), READ]).await;
    for call in [POST, Follow(S, A), READ, POST, Deliver] {
        stage.call(call).await;
    }
    stage.check_timelines(&stage.app).await.unwrap();
    hold_everywhere("hybrid", &[Follow(R, A), READ], POST, &[Follow(S, A), READ, POST, READ]).await;
}

#[tokio::test]
async fn a_post_published_during_a_follow_is_merged_or_delivered() {
    hold_everywhere_by_all(&[READ], Follow(R, A), &[POST, Deliver]).await;
    hold_everywhere_by_all(&[READ], Follow(R, A), &[POST, Deliver, READ, POST]).await;
}

#[tokio::test]
async fn an_interrupted_follow_is_finished_with_its_merge() {
    hold_everywhere_by_all(&[POST, READ], Follow(R, A), &[]).await;
    hold_everywhere_by_all(&[POST, READ], Follow(R, A), &[Unfollow(R, A), POST, Deliver]).await;
}

#[tokio::test]
async fn an_unfollow_that_writes_its_mirror_late_corrects_it_and_merges_again() {
    for strategy in STRATEGIES {
        let stage = Stage::new(strategy, "3").await;
        stage.calls(&[Follow(R, A), READ]).await;
        let mut unfollow = stage.begin(Unfollow(R, A)).await;
        unfollow.step_to(Moment::After, "edge: truth").await;
        stage.call(Follow(R, A)).await;
        unfollow.step_to(Moment::After, "edge: mirror").await;
        for call in [POST, Deliver] {
            stage.call(call).await;
        }
        unfollow.finish().await;
        stage.check_timelines(&stage.app).await.unwrap();
        assert_eq!(stage.seen(&stage.app, R, 2).await.0, [1]);
    }
    hold_everywhere_by_all(&[Follow(R, A), READ], Unfollow(R, A), &[Follow(R, A), POST, Deliver]).await;
}

#[tokio::test]
async fn a_follow_is_merged_although_another_of_the_same_import_ends_meanwhile() {
    for strategy in STRATEGIES {
        let stage = Stage::new(strategy, "3").await;
        stage.calls(&[POST, Publish(B, None), READ]).await;
        let [follower, one, other] = [R, A, B].map(|user| UserId::new(user).unwrap());
        let at = stage.world.clock.now();
        let follows = [one, other].map(|followee| ImportFollow { follower, followee, at });
        let import = async move |app: App| {
            app.import_follows(follows.to_vec()).await.unwrap();
        };
        let mut import = Actor::begin(&stage.app, import).await;
        import.step_to(Moment::After, "edge: mirror").await;
        stage.call(Unfollow(R, B)).await;
        import.finish().await;
        assert_eq!(stage.seen(&stage.app, R, 2).await.0, [1], "{strategy}");
        stage.check_timelines(&stage.app).await.unwrap();
        stage.check_store().await.unwrap();
    }
}

/// Archives a post.
async fn archive_post(stage: &Stage, post: u64) {
    stage.world.redis.raw::<i64>(&["RPUSH", "ff:{a}:pending", &format!("{post}:0")]);
    archive_all(&stage.app).await;
}

/// Returns the stored timeline of R, and its floor.
fn stored(stage: &Stage) -> (Vec<String>, u64) {
    let mut list: Vec<String> = stage.world.redis.raw(&["LRANGE", "ff:{u1}:timeline", "0", "-1"]);
    let seal = list.pop().unwrap();
    (list, seal.split(':').nth(1).unwrap().parse().unwrap())
}

#[tokio::test]
async fn the_merge_of_a_follow_ends_at_archived_posts() {
    let stage = Stage::new("push", "5").await;
    stage.calls(&[Publish(B, None), POST, POST, POST, POST]).await;
    archive_post(&stage, 2).await;
    stage.calls(&[Follow(R, B), READ, Follow(R, A)]).await;
    // Post 1 would be next to 3 as if 2 had never existed.
    assert_eq!(stored(&stage), (vec!["5".into(), "4".into(), "3".into()], 3));
}

#[tokio::test]
async fn the_fill_of_a_timeline_ends_at_archived_posts() {
    for strategy in STRATEGIES {
        let stage = Stage::new(strategy, "5").await;
        stage.calls(&[Publish(B, None), POST, POST, POST, POST, Delete(A, 1)]).await;
        archive_post(&stage, 2).await;
        stage.calls(&[Follow(R, A), Follow(R, B), READ]).await;
        assert_eq!(stored(&stage), (vec!["5".into(), "3".into()], 3));
    }
}

#[tokio::test]
async fn posts_archived_before_a_reader_pulls_are_not_skipped() {
    let stage = Stage::new("hybrid", "5").await;
    stage.calls(&[Follow(R, A), Follow(S, A), Follow(R, B), Publish(B, None), READ, POST, POST, POST]).await;
    archive_post(&stage, 2).await;
    for newest in [3, 4] {
        stage.world.redis.raw::<i64>(&["ZREM", "ff:{u3}:recent", &newest.to_string()]);
    }
    stage.call(READ).await;
    assert_eq!(stored(&stage), (vec!["4".into(), "3".into()], 3));
}

#[tokio::test]
async fn nothing_is_added_to_a_timeline_below_its_floor() {
    for strategy in STRATEGIES {
        let stage = Stage::new(strategy, "3").await;
        stage.calls(&[Follow(R, A), Follow(R, B), READ, POST]).await;
        let mut late = stage.begin(POST).await;
        late.step_to(Moment::Before, "publish: queue").await;
        stage.calls(&[Publish(B, None); 4]).await;
        stage.call(READ).await;
        late.finish().await;
        deliver_all(&stage.app).await;
        assert_eq!(stage.seen(&stage.app, R, 2).await.0, [6, 5, 4, 3, 2, 1]);
        stage.check_timelines(&stage.app).await.unwrap();
    }
    let setup = [Follow(R, A), Follow(R, B), READ, POST];
    hold_everywhere_by_all(&setup, POST, &[Publish(B, None); 4]).await;
}

#[tokio::test]
async fn an_author_followed_during_a_read_is_pulled() {
    let setup = [Follow(S, A), Follow(B, A), POST, READ];
    hold_everywhere_by_all(&setup, READ, &[Follow(R, A), POST, Deliver]).await;
    // There is something to pull from another star, so that the mark moves.
    let other = [Follow(R, B), Follow(S, B)];
    let setup = [&other[..], &setup, &[Publish(B, None)]].concat();
    hold_everywhere_by_all(&setup, READ, &[Follow(R, A), POST, Deliver]).await;
}

#[tokio::test]
async fn many_posts_between_two_reads_are_all_there() {
    // The set of an author's newest posts holds twenty.
    for strategy in STRATEGIES {
        let stage = Stage::new(strategy, "100").await;
        stage.calls(&[Follow(R, A), Follow(S, A), READ]).await;
        stage.calls(&[POST; 25]).await;
        assert_eq!(stage.seen(&stage.app, R, 7).await.0, (1..=25).rev().collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn few_newest_posts_do_not_mean_that_there_are_no_others() {
    let stage = Stage::new("hybrid", "100").await;
    stage.calls(&[Follow(R, A), Follow(S, A), READ]).await;
    stage.calls(&[POST; 25]).await;
    for _ in 0..10 {
        stage.call(Delete(A, 0)).await;
    }
    assert_eq!(stage.seen(&stage.app, R, 7).await.0, (1..=15).rev().collect::<Vec<_>>());
    stage.settle().await;
    stage.check_store().await.unwrap();
    // Even if the set has lost some.
    let stage = Stage::new("hybrid", "100").await;
    stage.calls(&[Follow(R, A), Follow(S, A), READ, POST, POST, POST]).await;
    stage.world.redis.raw::<i64>(&["ZREM", "ff:{u3}:recent", "1", "2"]);
    assert_eq!(stage.seen(&stage.app, R, 7).await.0, [3, 2, 1]);
}

#[tokio::test]
async fn an_id_issued_before_the_mark_and_visible_after_it_is_pulled() {
    let stage = Stage::new("hybrid", "5").await;
    stage.calls(&[Follow(R, A), Follow(S, A), Follow(R, B), Follow(S, B), READ]).await;
    let mut late = stage.begin(POST).await;
    late.step_to(Moment::Before, "publish: visible").await;
    // Another star's post has a greater id, and is read before.
    stage.calls(&[Publish(B, None), READ]).await;
    assert_eq!(stored(&stage).0, ["2"]);
    late.finish().await;
    assert_eq!(stage.seen(&stage.app, R, 2).await.0, [2, 1]);
    let setup = [Follow(R, A), Follow(S, A), Follow(R, B), Follow(S, B), READ];
    hold_everywhere_by_all(&setup, POST, &[Publish(B, None), READ]).await;
}

#[tokio::test]
async fn posts_that_become_visible_in_another_order_than_they_were_begun_are_in_order() {
    let setup = [Follow(R, A), POST, POST];
    hold_everywhere_by_all(&setup, POST, &[POST, POST, READ]).await;
    hold_everywhere_by_all(&[Follow(R, A), Follow(S, A), READ], POST, &[POST, READ, POST]).await;
}

#[tokio::test]
async fn a_slow_read_does_not_move_the_mark_of_a_later_one_back() {
    let setup = [Follow(R, A), Follow(S, A), READ, POST];
    hold_everywhere_by_all(&setup, READ, &[POST, READ, POST]).await;
}

#[tokio::test]
async fn a_timeline_contains_the_posts_of_its_owner() {
    for strategy in STRATEGIES {
        let stage = Stage::new(strategy, "3").await;
        stage.calls(&[Publish(R, None), READ, Publish(R, None)]).await;
        assert_eq!(stage.seen(&stage.app, R, 2).await.0, [2, 1]);
    }
    hold_everywhere_by_all(&[Publish(R, None)], READ, &[Publish(R, None), Expire(R), Publish(R, None)]).await;
}

#[tokio::test]
async fn a_reader_sees_the_watermark_of_one_moment() {
    hold_everywhere_by_all(&[Follow(R, A), Follow(S, A)], READ, &[POST, POST]).await;
    hold_everywhere_by_all(&[Follow(R, A), Follow(S, A)], POST, &[READ]).await;
}

#[tokio::test]
async fn below_the_floor_there_is_no_seam() {
    let mut setup = vec![Publish(B, None); 2];
    setup.extend([POST; 5]);
    setup.extend([Publish(B, None), POST, Follow(R, A), Follow(R, B)]);
    for strategy in STRATEGIES {
        let stage = Stage::new(strategy, "3").await;
        stage.calls(&setup).await;
        for size in 1..=10 {
            let (forward, backward) = stage.seen(&stage.app, R, size).await;
            assert_eq!(forward, (1..=9).rev().collect::<Vec<_>>(), "{strategy} {size}");
            assert_eq!(forward, backward, "{strategy} {size}");
        }
    }
}

#[tokio::test]
async fn the_mark_of_a_timeline_expires_with_it() {
    hold_everywhere_by_all(&[POST, Follow(R, A), READ, Expire(R)], READ, &[POST, Deliver]).await;
    hold_everywhere_by_all(&[POST, Follow(R, A), READ], POST, &[Expire(R), READ]).await;
}

#[tokio::test]
async fn an_author_is_a_star_before_the_first_post_that_is_not_pushed() {
    hold_everywhere("hybrid", &[Follow(R, A), Follow(S, A), READ], POST, &[READ]).await;
    hold_everywhere("hybrid", &[Follow(R, A), Follow(S, A), READ], POST, &[READ, POST, READ]).await;
    hold_everywhere("hybrid", &[Follow(R, A), Follow(S, A)], READ, &[POST, READ]).await;
}

#[tokio::test]
async fn a_star_who_loses_followers_stays_a_star() {
    let stage = Stage::new("hybrid", "5").await;
    stage.calls(&[Follow(R, A), Follow(S, A), READ, POST]).await;
    // A reader who was away returns when the author no longer has the followers of a star.
    stage.calls(&[Unfollow(S, A), POST]).await;
    assert_eq!(stage.seen(&stage.app, R, 2).await.0, [2, 1]);
    let job: u64 = stage.world.redis.raw(&["XLEN", "ff:{f3}:fanout"]);
    assert_eq!((job, stage.world.redis.raw::<u64>(&["SCARD", "ff:{g}:stars"])), (0, 1));
}

#[tokio::test]
async fn a_post_that_is_deleted_while_it_is_delivered_is_visible_nowhere() {
    hold_everywhere_by_all(&[Follow(R, A), READ, POST, READ], Delete(A, 0), &[READ, POST, Deliver]).await;
    for strategy in STRATEGIES {
        let stage = Stage::new(strategy, "3").await;
        stage.calls(&[Follow(R, A), READ]).await;
        stage.call(POST).await;
        let mut deliver = stage.begin(Deliver).await;
        for stop in ["deliver: begin", "deliver: followers", "deliver: timelines", "deliver: progress"] {
            deliver.step_to(Moment::Before, stop).await;
        }
        stage.call(Delete(A, 0)).await;
        deliver.finish().await;
        stage.settle().await;
        stage.check_store().await.unwrap();
        assert_eq!(stage.seen(&stage.app, R, 2).await.0, [0u64; 0]);
        let timeline: Vec<String> = stage.world.redis.raw(&["LRANGE", "ff:{u1}:timeline", "0", "-2"]);
        assert!(timeline.is_empty() || strategy != "push", "the sweep has removed it: {timeline:?}");
    }
}

#[tokio::test]
async fn an_interrupted_delivery_is_finished_by_another_worker() {
    let setup = [Follow(R, A), Follow(S, A), READ, Read(S, 2)];
    hold_everywhere("push", &setup, Deliver, &[]).await;
    let stage = Stage::new("push", "3").await;
    for sent in 0.. {
        stage.clear().await;
        stage.calls(&setup).await;
        stage.call(POST).await;
        let mut worker = stage.begin(Deliver).await;
        worker.send_batches(sent).await;
        if worker.waits.is_none() {
            break;
        }
        worker.interrupt().await;
        deliver_all(&stage.app).await;
        let timeline: Vec<String> = stage.world.redis.raw(&["LRANGE", "ff:{u1}:timeline", "0", "-2"]);
        assert_eq!(timeline, ["1"], "interrupted after {sent} batches");
        stage.check_store().await.unwrap();
    }
}

#[tokio::test]
async fn posts_published_under_another_strategy_are_found() {
    for (one, other) in [("hybrid", "pull"), ("pull", "push"), ("push", "hybrid")] {
        let stage = Stage::new(one, "5").await;
        stage.calls(&[Follow(R, A), READ, POST, READ]).await;
        // All processes stop, others start, and later the first ones again.
        let changed = stage.changed(other).await;
        changed.calls(&[POST]).await;
        let back = changed.changed(one).await;
        back.calls(&[POST, READ]).await;
        assert_eq!(back.seen(&back.app, R, 2).await.0, [3, 2, 1], "{one}, {other}, {one}");
        back.check_timelines(&back.app).await.unwrap();
    }
}

#[tokio::test]
async fn very_many_stars_are_pulled_as_well() {
    let stage = Stage::new("hybrid", "5").await;
    stage.calls(&[Follow(R, A), Follow(S, A), Follow(R, B), READ]).await;
    let others: Vec<String> = (10..2_000).map(|star: u64| star.to_string()).collect();
    let words: Vec<&str> =
        ["SADD", "ff:{g}:stars"].into_iter().chain(others.iter().map(String::as_str)).collect();
    // An earlier version did not number the stars.
    stage.world.redis.raw::<i64>(&words);
    stage.calls(&[POST, Publish(B, None), READ, POST]).await;
    assert_eq!(stage.seen(&stage.app, R, 2).await.0, [3, 2, 1]);
}

#[tokio::test]
async fn a_timeline_does_not_expire_while_it_is_read() {
    for strategy in STRATEGIES {
        let stage = Stage::new(strategy, "3").await;
        stage.calls(&[Follow(R, A), READ]).await;
        let (short, full) = (10_000, 21 * 86_400);
        // A slow run may take some seconds of it.
        let expires_in = |seconds: i64| {
            let left = stage.world.redis.raw::<i64>(&["TTL", "ff:{u1}:timeline"]);
            assert!((seconds - 60..=seconds).contains(&left), "{left} of {seconds}");
        };
        expires_in(full);
        stage.world.redis.raw::<i64>(&["EXPIRE", "ff:{u1}:timeline", &short.to_string()]);
        // Receiving is not reading.
        stage.calls(&[POST; 7]).await;
        expires_in(short);
        stage.call(READ).await;
        expires_in(full);
    }
}

#[tokio::test]
async fn timelines_can_be_read_while_nothing_can_be_written() {
    for strategy in STRATEGIES {
        let stage = Stage::own(strategy, "3").await;
        stage.calls(&[Follow(R, A), Follow(R, B), Follow(S, A), READ]).await;
        stage.calls(&[POST, Publish(B, None), POST, POST, POST, Publish(R, None)]).await;
        let raw = |words: &[&str]| drop(stage.world.redis.raw::<redis::Value>(words));
        let (full, room) = (["CONFIG", "SET", "maxmemory", "1"], ["CONFIG", "SET", "maxmemory", "0"]);
        let (replica, master) = (["REPLICAOF", "127.0.0.1", "1"], ["REPLICAOF", "NO", "ONE"]);
        for (ends, begins) in [(&full[..], &room[..]), (&replica[..], &master[..])] {
            raw(ends);
            // R has a timeline, S has none.
            for (user, expected) in [(R, vec![6, 5, 4, 3, 2, 1]), (S, vec![5, 4, 3, 1])] {
                let (forward, backward) = stage.seen(&stage.app, user, 2).await;
                assert_eq!((&forward, &backward), (&expected, &expected), "{strategy} {ends:?}");
            }
            raw(begins);
        }
        stage.check_timelines(&stage.app).await.unwrap();
    }
}
