//! Replies, quotes and reposts: whatever runs concurrently and wherever it is interrupted, in the end each post has those that refer
//! to it, hot or archived.

use std::collections::HashMap;

use fanfold::gate::Moment;
use fanfold::model::clock::Clock as _;
use fanfold::model::id::PostId;
use fanfold::model::post::{Delivery, Visibility};
use fanfold::store::draft::{Draft, Note};
use fanfold::store::post::{self, Once, Settled, Sizes};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use tokio::runtime::Runtime;

use crate::harness::case::model_config;
use crate::harness::sql::{Kind, on_every_kind};
use crate::harness::stage::{Call, Refer, Scenario, Stage, hold_everywhere};
use crate::harness::turnstile::{Event, events};

/// The users who publish.
const AUTHORS: [u64; 2] = [3, 4];

fn scenarios() -> impl Strategy<Value = Scenario> {
    let author = || prop::sample::select(&AUTHORS[..]);
    let refer = || {
        let refer = (author(), 0..5usize, prop::bool::weighted(0.3), prop::bool::weighted(0.2));
        refer.prop_map(|(user, rank, quotes, is_limited)| {
            Call::Refer(Refer { user, rank, quotes, is_limited })
        })
    };
    let call = move || {
        prop_oneof![
            2 => author().prop_map(|user| Call::Publish(user, None)),
            6 => refer(),
            4 => (author(), 0..5usize).prop_map(|(user, rank)| Call::Repost(user, rank)),
            2 => (author(), 0..5usize).prop_map(|(user, rank)| Call::Undo(user, rank)),
            1 => (author(), 0..3usize).prop_map(|(user, rank)| Call::Edit(user, rank, None)),
            1 => author().prop_map(|user| Call::ReadPosts(user, 2)),
            2 => Just(Call::Deliver),
            4 => (author(), 0..5usize).prop_map(|(user, rank)| Call::Delete(user, rank)),
            4 => Just(Call::Move),
            1 => Just(Call::Check),
            1 => Just(Call::Outage),
        ]
    };
    let before = proptest::collection::vec(call(), 2..12);
    let together = proptest::collection::vec(call(), 2..5);
    (before, together).prop_map(|(before, together)| Scenario { before, together })
}

fn each_post_has_the_posts_that_refer_to_it(kind: Kind) {
    let runtime = Runtime::new().unwrap();
    let stage = runtime.block_on(Stage::with_archive(kind, "hybrid", "3", "2"));
    let config = model_config(150);
    let tested =
        TestRunner::new(config).run(&(scenarios(), events()), |(scenario, events): (_, Vec<Event>)| {
            runtime.block_on(async {
                stage.clear().await;
                stage.play(&scenario, &events).await;
                stage.settle().await;
                stage.check_store().await
            })
        });
    if let Err(failed) = tested {
        panic!("{kind:?}: {failed}");
    }
}

on_every_kind! {
    blocking each_post_has_the_posts_that_refer_to_it;
}

const A: u64 = AUTHORS[0];
const B: u64 = AUTHORS[1];
const POST: Call = Call::Publish(A, None);
/// A reply to the oldest post.
const REPLY: Call = Call::Refer(Refer { user: B, rank: 0, quotes: false, is_limited: false });
/// A quote of the oldest post.
const QUOTE: Call = Call::Refer(Refer { user: B, rank: 0, quotes: true, is_limited: false });
/// A repost of the oldest post, and the same taken back.
const REPOST: Call = Call::Repost(B, 0);
const UNDO: Call = Call::Undo(B, 0);
/// The deletions of the post that is referred to, the older of two, and of the post that refers to it.
const TARGET: Call = Call::Delete(A, 1);
const REFERRER: Call = Call::Delete(B, 0);

#[tokio::test]
async fn a_post_is_listed_whatever_happens_to_the_post_that_it_refers_to() {
    let overtaken = [QUOTE, Call::Move];
    let ends = [TARGET, Call::Move];
    for meanwhile in [&[TARGET][..], &[Call::Move], &[Call::Move, TARGET, Call::Move], &ends, &overtaken] {
        hold_everywhere(&[POST, POST], REPLY, meanwhile).await;
        hold_everywhere(&[POST, POST, Call::Move], QUOTE, meanwhile).await;
    }
}

#[tokio::test]
async fn a_post_that_is_published_while_the_archive_is_away_is_listed_afterwards() {
    let stage = Stage::with_archive(Kind::Sqlite, "hybrid", "3", "1").await;
    for call in [POST, POST, Call::Move] {
        stage.call(call).await;
    }
    let mut reply = stage.begin(REPLY).await;
    reply.step_to(Moment::Before, "post: refer").await;
    let mut outage = stage.begin(Call::Outage).await;
    while !stage.is_archive_away() {
        outage.step().await;
    }
    reply.finish().await;
    outage.finish().await;
    stage.settle().await;
    stage.check_store().await.unwrap();
    let published = stage.results.lock().unwrap().published.len();
    assert_eq!(published, 3, "the publisher does not wait for the archive");
}

#[tokio::test]
async fn a_post_that_is_deleted_while_it_is_published_is_in_no_list() {
    for meanwhile in [&[REFERRER][..], &[Call::Move, REFERRER], &[REFERRER, Call::Move], &[Call::Outage]] {
        hold_everywhere(&[POST, POST], REPLY, meanwhile).await;
    }
}

#[tokio::test]
async fn lists_are_complete_while_their_post_moves() {
    for meanwhile in
        [&[REPLY][..], &[REFERRER], &[REPLY, Call::Move], &[REFERRER, QUOTE, Call::Move], &[TARGET]]
    {
        hold_everywhere(&[POST, POST, REPLY], Call::Move, meanwhile).await;
    }
}

#[tokio::test]
async fn a_deletion_removes_what_refers_and_is_referred_to() {
    for meanwhile in [&[Call::Move][..], &[TARGET], &[QUOTE, Call::Move], &[TARGET, Call::Move]] {
        hold_everywhere(&[POST, POST, REPLY], REFERRER, meanwhile).await;
        hold_everywhere(&[POST, POST, REPLY, Call::Move], REFERRER, meanwhile).await;
    }
}

#[tokio::test]
async fn a_user_has_one_repost_of_a_post_whatever_happens_to_it() {
    for meanwhile in [
        &[REPOST][..],
        &[REPOST, UNDO],
        &[UNDO, REPOST],
        &[TARGET, Call::Deliver],
        &[Call::Move, TARGET, Call::Move, Call::Deliver],
        &[Call::Outage],
    ] {
        hold_everywhere(&[POST, POST], REPOST, meanwhile).await;
        hold_everywhere(&[POST, POST, Call::Move], REPOST, meanwhile).await;
    }
}

#[tokio::test]
async fn a_second_repost_is_never_visible_even_if_its_command_arrives_again() {
    let stage = Stage::new("hybrid", "3").await;
    stage.calls(&[POST, POST]).await;
    let mut slow = stage.begin(REPOST).await;
    slow.step_to(Moment::Before, "publish: visible").await;
    let created_at = stage.world.clock.now();
    stage.call(REPOST).await;
    slow.finish().await;
    assert_eq!(stage.posts(B).await, [4]);
    let second: HashMap<String, String> = stage.world.redis.raw(&["HGETALL", "ff:{p3}:post"]);
    assert_eq!((second.get("content"), second.get("details")), (None, None), "it is erased");
    assert_eq!(second.get("deleted").map(String::as_str), Some("1"));
    stage.settle().await;
    stage.check_store().await.unwrap();

    // The connection repeats the command after the first repost was taken back.
    stage.call(UNDO).await;
    let author = stage.viewer(B).user().unwrap();
    let note = Note { author, created_at, began: created_at, nonce: 1 };
    let draft = Draft { id: PostId::new(3).unwrap(), note };
    let (kind, once) = ((Visibility::Public, Delivery::Pulled), Once::Repost(PostId::new(1).unwrap()));
    let store = stage.app.store();
    let publish = post::publish(store.keys(), &draft, kind, Sizes { timeline: 3, hot: 9 }, once);
    assert_eq!(publish.send("test", store).await.unwrap(), Settled::Revoked);
    stage.settle().await;
    stage.check_store().await.unwrap();
    assert_eq!(stage.posts(B).await, [0u64; 0]);
}

#[tokio::test]
async fn a_repost_that_is_taken_back_can_be_made_again() {
    for meanwhile in [&[REPOST][..], &[UNDO], &[UNDO, REPOST], &[TARGET, Call::Deliver], &[Call::Move]] {
        hold_everywhere(&[POST, POST, REPOST], UNDO, meanwhile).await;
        hold_everywhere(&[POST, POST, REPOST, Call::Publish(B, None), Call::Move], UNDO, meanwhile).await;
    }
}

#[tokio::test]
async fn a_deleted_post_takes_its_reposts_with_it() {
    let reposts = [POST, POST, REPOST, Call::Repost(A, 0)];
    let queued = [POST, POST, REPOST, Call::Repost(A, 0), Call::Publish(B, None)];
    let archived = [&queued[..], &[Call::Move]].concat();
    for setup in [&reposts[..], &queued, &archived] {
        let again = [setup, &[Call::Delete(A, 2)]].concat();
        hold_everywhere(setup, Call::Delete(A, 2), &[REPOST]).await;
        hold_everywhere(setup, Call::Delete(A, 2), &[Call::Move, Call::Deliver]).await;
        hold_everywhere(&again, Call::Deliver, &[Call::Move]).await;
        hold_everywhere(&again, Call::Move, &[UNDO, Call::Deliver]).await;
    }
}

#[tokio::test]
async fn a_check_repairs_nothing_that_is_in_progress() {
    for meanwhile in [&[REPLY][..], &[REFERRER], &[Call::Move, REFERRER], &[TARGET, Call::Move]] {
        hold_everywhere(&[POST, POST, REPLY, QUOTE], Call::Check, meanwhile).await;
    }
    for held in [REPLY, REFERRER, TARGET, Call::Move] {
        hold_everywhere(&[POST, POST, REPLY, QUOTE], held, &[Call::Check]).await;
    }
}
