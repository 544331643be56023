//! Posts on their way to the archive: whatever runs concurrently and wherever it is interrupted, at every moment each
//! post is found once, in Redis or in the archive.

use std::cell::RefCell;
use std::sync::Arc;

use fanfold::gate::Moment;
use fanfold::model::clock::{Period, Timestamp};
use fanfold::model::details::References;
use fanfold::model::id::{PostId, UserId};
use fanfold::model::page::Direction;
use fanfold::model::post::{Content, Delivery, Post, Visibility};
use fanfold::store::draft::{Draft, Note};
use fanfold::store::{moving, post};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use tokio::runtime::{Handle, Runtime};

use crate::harness::case::model_config;
use crate::harness::sql::{Kind, on_every_kind};
use crate::harness::stage::{Call, Scenario, Stage};
use crate::harness::turnstile::{Event, events};
use crate::harness::walk::walk_records;

/// The users who publish. The first publishes most.
const AUTHORS: [u64; 2] = [3, 4];

fn scenarios() -> impl Strategy<Value = Scenario> {
    let author = prop_oneof![4 => Just(AUTHORS[0]), 1 => Just(AUTHORS[1])];
    let call = || {
        prop_oneof![
            6 => (author.clone(), prop::option::weighted(0.15, 0..2u8)).prop_map(|(user, key)| Call::Publish(user, key)),
            3 => author.clone().prop_map(Call::PublishLimited),
            4 => (author.clone(), 0..6usize).prop_map(|(user, rank)| Call::Delete(user, rank)),
            2 => (author.clone(), 1..16u64).prop_map(|(user, post)| Call::DeleteId(user, post)),
            6 => Just(Call::Move),
            3 => (author.clone(), 1..4usize).prop_map(|(user, size)| Call::ReadPosts(user, size)),
            1 => Just(Call::Outage),
        ]
    };
    let alone = prop_oneof![7 => call(), 1 => author.clone().prop_map(Call::Revoke)];
    let before = proptest::collection::vec(alone, 2..14);
    let together = proptest::collection::vec(call(), 2..6);
    (before, together).prop_map(|(before, together)| Scenario { before, together })
}

/// Checks that at this moment each post of an author is found once, has its time and visibility, and that as many are
/// found as are counted: all and public ones, with and without a period. Reads that fail while the archive is
/// unavailable are not checked. A deletion in progress is not taken for a fault of a count.
async fn check_now(stage: &Stage) -> Result<(), String> {
    let authors = AUTHORS.map(|author| UserId::new(author).unwrap());
    if let Ok(findings) = stage.app.check_posts(&authors, false).await
        && findings.faults() > 0
    {
        return Err(format!("{findings:?}"));
    }
    for author in AUTHORS {
        let must = stage.must_exist(author);
        let must_not = stage.results.lock().unwrap().deleted.clone();
        for (direction, size) in [(Direction::Forward, 2), (Direction::Backward, 3)] {
            let Ok(records) = walk_records(&stage.app, author, direction, size).await else { continue };
            let read: Vec<PostId> = records.iter().map(|post| post.id).collect();
            let is_right = read.is_sorted_by(|one, next| one > next)
                && must.iter().all(|post| read.contains(post))
                && !must_not.iter().any(|post| read.contains(post));
            if !is_right {
                return Err(format!(
                    "{author} has {read:?} {direction:?}; {must:?} must be there, and {must_not:?} must not"
                ));
            }
            if direction == Direction::Forward {
                check_counts(stage, author, &records).await?;
            }
        }
    }
    Ok(())
}

/// Checks that as many posts of an author are counted as are found.
async fn check_counts(stage: &Stage, author: u64, found: &[Arc<Post>]) -> Result<(), String> {
    let long_ago = Some(Timestamp::from_millis(0));
    // Between its first step and its second a deletion is in progress.
    let half_deleted = stage.half_deleted(author);
    let periods = match found.get(found.len() / 2).map(|post| &**post) {
        Some(Post { created_at, .. }) if half_deleted.is_empty() => {
            let (since, until) = (Some(*created_at), Some(*created_at));
            vec![Period::ALL, Period { since, until: None }, Period { since: long_ago, until }]
        }
        // The times of the posts being deleted are not known.
        _ => vec![Period::ALL, Period { since: long_ago, until: None }],
    };
    let all = periods.into_iter().flat_map(|period| [(period, false), (period, true)]);
    let all: Vec<(Period, bool)> = all.collect();
    let Ok(counts) = stage.counts(author, &all).await else { return Ok(()) };
    for ((period, only_public), count) in all.into_iter().zip(counts) {
        let is_counted = |visibility: Visibility| !only_public || visibility.is_public();
        let is_in = |post: &&Arc<Post>| period.contains(post.created_at) && is_counted(post.visibility);
        let expected = found.iter().filter(is_in).count();
        let expected = expected + half_deleted.iter().filter(|visibility| is_counted(**visibility)).count();
        if count != expected {
            return Err(format!(
                "{author} has {expected} posts in {period:?}, public only: {only_public}; {count} counted; \
                 {found:?}, {half_deleted:?} being deleted"
            ));
        }
    }
    Ok(())
}

fn at_every_moment_each_post_is_found_once(kind: Kind) {
    let runtime = Runtime::new().unwrap();
    let stage = runtime.block_on(Stage::with_archive(kind, "hybrid", "3", "2"));
    let config = model_config(150);
    let tested =
        TestRunner::new(config).run(&(scenarios(), events()), |(scenario, events): (_, Vec<Event>)| {
            runtime.block_on(async {
                stage.clear().await;
                let wrong = RefCell::new(None);
                let note = |_, _: &_| {
                    let now = tokio::task::block_in_place(|| Handle::current().block_on(check_now(&stage)));
                    if let Err(what) = now {
                        wrong.borrow_mut().get_or_insert(what);
                    }
                };
                stage.play_noting(&scenario, &events, note).await;
                prop_assert_eq!(wrong.into_inner(), None);
                stage.settle().await;
                stage.check_store().await?;
                check_now(&stage).await.map_err(TestCaseError::fail)
            })
        });
    if let Err(failed) = tested {
        panic!("{kind:?}: {failed}");
    }
}

on_every_kind! {
    blocking at_every_moment_each_post_is_found_once;
}

const A: u64 = AUTHORS[0];
const POST: Call = Call::Publish(A, None);
const LIMITED: Call = Call::PublishLimited(A);
const KEYED: Call = Call::Publish(A, Some(1));
/// Of four posts, two of which are hot.
const OLDEST: Call = Call::Delete(A, 3);
const OLDER: Call = Call::Delete(A, 2);

/// Plays `setup`, then holds a call before each of its batches in turn while others do `meanwhile`, resumes or interrupts it,
/// and checks at each moment that all posts are there.
async fn hold_everywhere(setup: &[Call], held: Call, meanwhile: &[Call]) {
    let stage = Stage::with_archive(Kind::Sqlite, "hybrid", "3", "2").await;
    for is_interrupted in [false, true] {
        for sent in 0.. {
            let mut actor = stage.hold(setup, held, sent).await;
            let (is_over, stop) = (actor.waits.is_none(), actor.waits);
            let context = |error| panic!("held at {stop:?}, interrupted: {is_interrupted}: {error}");
            // Up to the interruption, the moments are those of the call that is resumed.
            if !is_interrupted {
                check_now(&stage).await.unwrap_or_else(context);
            }
            for call in meanwhile {
                stage.call(*call).await;
                if !is_interrupted {
                    check_now(&stage).await.unwrap_or_else(context);
                }
            }
            if is_interrupted {
                actor.interrupt().await;
            }
            while actor.waits.is_some() {
                actor.step().await;
                check_now(&stage).await.unwrap_or_else(context);
            }
            stage.settle().await;
            check_now(&stage).await.unwrap_or_else(context);
            stage.check_store().await.unwrap_or_else(|error| panic!("held at {stop:?}: {error}"));
            if is_over {
                break;
            }
        }
    }
}

#[tokio::test]
async fn a_post_deleted_while_it_moves_does_not_come_back() {
    for meanwhile in [&[OLDEST][..], &[OLDEST, Call::Move], &[OLDER, OLDEST, Call::Move, POST]] {
        hold_everywhere(&[POST, POST, POST, POST], Call::Move, meanwhile).await;
    }
}

#[tokio::test]
async fn a_post_moved_while_it_is_deleted_does_not_come_back() {
    let four = [POST, POST, POST, POST];
    for setup in [&four[..], &[POST, POST, POST, POST, Call::Move]] {
        for meanwhile in [&[Call::Move][..], &[OLDEST, Call::Move], &[Call::Move, POST, Call::Move]] {
            hold_everywhere(setup, OLDEST, meanwhile).await;
        }
    }
}

#[tokio::test]
async fn posts_that_only_followers_can_see_are_counted_apart_while_they_move_and_are_deleted() {
    let four = [LIMITED, POST, LIMITED, POST];
    hold_everywhere(&four, Call::Move, &[OLDEST, Call::Move]).await;
    hold_everywhere(&four, OLDEST, &[Call::Move, LIMITED, Call::Move]).await;
    hold_everywhere(&[&four[..], &[Call::Move]].concat(), OLDEST, &[OLDEST, Call::Move]).await;
    hold_everywhere(&[], LIMITED, &[POST, POST, POST, LIMITED, Call::Move]).await;
    hold_everywhere(&four, LIMITED, &[Call::Move, Call::Delete(A, 0), POST]).await;
}

#[tokio::test]
async fn an_archived_post_is_gone_once_its_deletion_is_confirmed() {
    let stage = Stage::with_archive(Kind::Sqlite, "hybrid", "3", "2").await;
    for call in [POST, POST, POST, POST, Call::Move] {
        stage.call(call).await;
    }
    let mut one = stage.begin(OLDEST).await;
    let mut other = stage.begin(OLDEST).await;
    one.step_to(Moment::After, "delete: erase").await;
    other.finish().await;
    check_now(&stage).await.unwrap();
    one.finish().await;
    check_now(&stage).await.unwrap();
}

#[tokio::test]
async fn two_movers_with_the_same_posts_do_no_harm() {
    hold_everywhere(&[POST, POST, POST, POST], Call::Move, &[Call::Move]).await;
    hold_everywhere(&[POST, POST, POST, POST], Call::Move, &[POST, POST, Call::Move, OLDEST]).await;
    hold_everywhere(&[POST, POST, POST, POST, OLDEST], Call::Move, &[Call::Move, POST]).await;
}

#[tokio::test]
async fn posts_adopted_by_a_mover_that_was_given_up_itself_are_not_lost() {
    let stage = Stage::with_archive(Kind::Sqlite, "hybrid", "3", "2").await;
    stage.calls(&[POST, POST, POST]).await;
    let mut mover = stage.begin(Call::Move).await;
    mover.step_to(Moment::After, "move: take").await;
    mover.interrupt().await;
    // Another mover, so slow that all take it for dead, adopts what the first one has, and dies.
    let gone: Vec<String> = stage.world.redis.raw(&["ZRANGE", "ff:{a}:movers", "0", "-1"]);
    let store = stage.app.store();
    let adopted = moving::adopt(store.keys(), &gone[0], "slow").send("test", store).await.unwrap();
    assert_eq!(adopted, 1);
    stage.settle().await;
    stage.check_store().await.unwrap();
}

#[tokio::test]
async fn a_post_published_late_below_cold_posts_takes_another_id() {
    let overtaken = [POST, POST, POST, POST, Call::Move];
    hold_everywhere(&[], POST, &overtaken).await;
    hold_everywhere(&[], KEYED, &overtaken).await;
    hold_everywhere(&[], KEYED, &[KEYED, POST, POST, POST, Call::Move]).await;
    hold_everywhere(&[POST], KEYED, &[KEYED, POST, POST, Call::Move, Call::Delete(A, 2), Call::Move]).await;
}

#[tokio::test]
async fn a_reader_finds_all_posts_while_they_move() {
    let read = Call::ReadPosts(A, 3);
    for meanwhile in [&[Call::Move][..], &[POST, POST, Call::Move], &[Call::Move, OLDEST, Call::Move]] {
        hold_everywhere(&[POST, POST, POST, POST, POST], read, meanwhile).await;
    }
    hold_everywhere(&[POST, POST, POST, POST, Call::Move, OLDEST], read, &[Call::Move]).await;
}

#[tokio::test]
async fn deleting_a_revoked_post_does_not_change_the_count_of_cold_posts() {
    let stage = Stage::with_archive(Kind::Sqlite, "hybrid", "3", "2").await;
    let revoked = Call::Revoke(A);
    for call in [revoked, revoked, POST, POST, POST, Call::Move] {
        stage.call(call).await;
    }
    for post in [1, 2] {
        stage.call(Call::DeleteId(A, post)).await;
        check_now(&stage).await.unwrap();
    }
    stage.settle().await;
    stage.check_store().await.unwrap();
    let setup = [revoked, POST, revoked, POST, POST, POST];
    hold_everywhere(&setup, Call::DeleteId(A, 1), &[Call::Move, Call::DeleteId(A, 1), POST, Call::Move])
        .await;
    hold_everywhere(&setup, Call::Move, &[Call::DeleteId(A, 1), Call::DeleteId(A, 3), POST]).await;
}

#[tokio::test]
async fn a_late_command_does_not_create_the_record_of_an_archived_post_again() {
    let stage = Stage::with_archive(Kind::Sqlite, "hybrid", "3", "2").await;
    stage.calls(&[POST, POST, POST, Call::Move]).await;
    let (store, archive) = (stage.app.store(), stage.app.archived_count());
    assert_eq!(archive.await.unwrap(), 1);
    let key = "ff:{p1}:post";
    assert_eq!(stage.world.redis.raw::<Vec<String>>(&["HKEYS", key]), ["archived"]);
    let note = |author| Note {
        author: UserId::new(author).unwrap(),
        created_at: stage.app.now(),
        began: stage.app.now(),
        nonce: 1,
    };
    let (content, delivery) = (Content::parse("plain").unwrap(), Delivery::Pulled);
    for (author, expected) in [(AUTHORS[0], Some(delivery)), (AUTHORS[1], None)] {
        let draft = Draft { id: PostId::new(1).unwrap(), note: note(author) };
        let create = post::create(
            store.keys(),
            &draft,
            &content,
            None,
            Visibility::Public,
            &References::default(),
            delivery,
        );
        assert_eq!(create.send("test", store).await.unwrap(), expected);
    }
    assert_eq!(stage.world.redis.raw::<Vec<String>>(&["HKEYS", key]), ["archived"]);
    assert!(stage.world.redis.raw::<i64>(&["PTTL", key]) > 0);
    stage.check_store().await.unwrap();
}
