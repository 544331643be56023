//! Entries in the lists of referrers: whatever runs concurrently and wherever it is interrupted, in the end each is in the list
//! that its post and its author's account belong to, and until then no reader sees a post that the reader may not see.

use fanfold::gate::Moment;
use fanfold::model::account::Standing;
use fanfold::model::attachment::ReferrerKind;
use fanfold::model::id::PostId;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use tokio::runtime::{Handle, Runtime};
use tokio::task::block_in_place;

use crate::harness::case::{in_turns, model_config};
use crate::harness::sql::{Kind, on_every_kind};
use crate::harness::stage::AccountChange::{Cancel, Delete, GoPrivate, GoPublic, Lift, Suspend};
use crate::harness::stage::{AccountChange, Call, Refer, Scenario, Stage, hold_everywhere_on};
use crate::harness::turnstile::{Event, Stop, events};

/// The author of the posts that others refer to, and the author of those that refer to them.
const A: u64 = 3;
const B: u64 = 4;

const POST: Call = Call::Publish(A, None);
/// A reply to the oldest post, the same for followers only, a quote, and a repost.
const REPLY: Call = Call::Refer(Refer { user: B, rank: 0, quotes: false, is_limited: false });
const LIMITED: Call = Call::Refer(Refer { user: B, rank: 0, quotes: false, is_limited: true });
const QUOTE: Call = Call::Refer(Refer { user: B, rank: 0, quotes: true, is_limited: false });
const REPOST: Call = Call::Repost(B, 0);
/// The deletions of the newest post that refers to another, and of the older of two posts that are referred to.
const REFERRER: Call = Call::Delete(B, 0);
const TARGET: Call = Call::Delete(A, 1);
/// An edit of the older of two posts that are referred to, which raises its version.
const EDIT: Call = Call::Edit(A, 1, None);

const fn change(change: AccountChange) -> Call {
    Call::Account(change, B)
}

fn scenarios() -> impl Strategy<Value = Scenario> {
    // Mostly one post that others refer to, and one author who does, so that calls meet.
    let author = || prop_oneof![4 => Just(B), 1 => Just(A)];
    let rank = || prop_oneof![4 => Just(0usize), 1 => 0..4usize];
    let refer = move || {
        let refer = (author(), rank(), prop::bool::weighted(0.3), prop::bool::weighted(0.3));
        refer.prop_map(|(user, rank, quotes, is_limited)| {
            Call::Refer(Refer { user, rank, quotes, is_limited })
        })
    };
    let account = move || {
        let change = prop::sample::select(&[Suspend, Lift, GoPrivate, GoPublic, Delete, Cancel][..]);
        (change, author()).prop_map(|(change, user)| Call::Account(change, user))
    };
    let call = move || {
        prop_oneof![
            5 => refer(),
            2 => (author(), rank()).prop_map(|(user, rank)| Call::Repost(user, rank)),
            1 => (author(), rank()).prop_map(|(user, rank)| Call::Undo(user, rank)),
            3 => (author(), 0..3usize).prop_map(|(user, rank)| Call::Delete(user, rank)),
            1 => Just(EDIT),
            10 => account(),
            2 => Just(Call::Work),
            4 => Just(Call::Move),
            1 => Just(Call::Deliver),
        ]
    };
    let before = proptest::collection::vec(call(), 1..8);
    let together = proptest::collection::vec(call(), 2..5);
    (before, together)
        .prop_map(|(before, together)| Scenario { before: [&[POST, POST], &before[..]].concat(), together })
}

fn each_entry_is_where_its_post_and_author_say(kind: Kind) {
    let runtime = Runtime::new().unwrap();
    let stage = runtime.block_on(Stage::with_archive(kind, "hybrid", "3", "2"));
    let config = model_config(200);
    let tested =
        TestRunner::new(config).run(&(scenarios(), events()), |(scenario, events): (_, Vec<Event>)| {
            runtime.block_on(async {
                stage.clear().await;
                let mut wrong = Ok(());
                let check = |_: usize, actor: &crate::harness::turnstile::Actor| {
                    let has_written = actor.waits.is_none_or(|stop| stop.moment == Moment::After);
                    if wrong.is_ok() && has_written {
                        wrong = block_in_place(|| Handle::current().block_on(stage.check_moment()));
                    }
                };
                stage.play_noting(&scenario, &events, check).await;
                wrong.map_err(TestCaseError::fail)?;
                stage.settle().await;
                stage.check_moment().await.map_err(TestCaseError::fail)?;
                stage.check_store().await?;
                check_jobs(&stage)
            })
        });
    if let Err(failed) = tested {
        panic!("{kind:?}: {failed}");
    }
}

on_every_kind! {
    blocking each_entry_is_where_its_post_and_author_say;
}

/// Asserts that no job is left, except those that erase deleted accounts later.
fn check_jobs(stage: &Stage) -> Result<(), TestCaseError> {
    let raw = &stage.world.redis;
    let jobs: Vec<String> = raw.raw(&["ZRANGE", "ff:{g}:account:jobs", "0", "-1"]);
    for job in jobs {
        let user = job.split(':').next().unwrap();
        let is_deleted: bool = raw.raw(&["HEXISTS", &format!("ff:{{u{user}}}:user"), "deletion"]);
        let due: i64 = raw.raw(&["ZSCORE", "ff:{g}:account:jobs", &job]);
        let now = fanfold::model::clock::Clock::now(&*stage.world.clock).as_millis();
        // The job of a deletion that was cancelled does nothing when it is due.
        prop_assert!(due - now > 86_400_000, "the job {} is left, deleted: {}", job, is_deleted);
    }
    Ok(())
}

/// The posts that are referred to, hot and archived, with entries by B of these kinds.
fn setups(entries: &[Call]) -> [Vec<Call>; 2] {
    [[&[POST, POST], entries].concat(), [&[POST, POST], entries, &[Call::Move]].concat()]
}

/// The calls that are made on a stage while others are held. A full run repeats each with each setup.
struct Holds {
    stage: Stage,
    turn: usize,
}

impl Holds {
    async fn new() -> Self {
        Self { stage: Stage::with_archive(Kind::Sqlite, "hybrid", "3", "1").await, turn: 0 }
    }

    async fn hold(&mut self, setups: &[Vec<Call>], held: Call, meanwhile: &[Call]) {
        let setups: Vec<&[Call]> = setups.iter().map(Vec::as_slice).collect();
        for setup in in_turns(&setups, self.turn) {
            hold_everywhere_on(&self.stage, setup, held, meanwhile).await;
        }
        self.turn += 1;
    }
}

#[tokio::test]
async fn a_post_that_is_published_while_its_author_changes_is_in_the_list_of_the_author() {
    let mut holds = Holds::new().await;
    let published = [REPLY, QUOTE, REPOST, LIMITED];
    for (turn, meanwhile) in [
        &[change(Suspend)][..],
        &[change(GoPrivate)],
        &[change(Suspend), change(Lift)],
        &[change(GoPrivate), Call::Move],
        &[change(GoPrivate), change(GoPublic)],
    ]
    .into_iter()
    .enumerate()
    {
        for published in in_turns(&published, turn) {
            holds.hold(&setups(&[]), published, meanwhile).await;
        }
    }
}

#[tokio::test]
async fn a_post_that_is_published_while_its_author_returns_is_listed() {
    let mut holds = Holds::new().await;
    for (first, then) in [(Suspend, Lift), (GoPrivate, GoPublic), (Delete, Cancel)] {
        holds.hold(&setups(&[change(first)]), REPLY, &[change(then)]).await;
        holds.hold(&setups(&[change(first)]), QUOTE, &[change(then), Call::Move]).await;
    }
}

#[tokio::test]
async fn entries_follow_their_author_whatever_happens_meanwhile() {
    let mut holds = Holds::new().await;
    for (held, back) in [(Suspend, Lift), (GoPrivate, GoPublic)] {
        for meanwhile in [
            &[change(back)][..],
            &[change(back), change(held)],
            &[REPLY],
            &[REFERRER],
            &[Call::Move],
            &[EDIT, Call::Move],
            &[TARGET, Call::Move],
        ] {
            holds.hold(&setups(&[REPLY, QUOTE, LIMITED]), change(held), meanwhile).await;
        }
    }
}

#[tokio::test]
async fn entries_return_with_their_author_whatever_happens_meanwhile() {
    let mut holds = Holds::new().await;
    for (first, held) in [(Suspend, Lift), (GoPrivate, GoPublic)] {
        for meanwhile in [&[change(first)][..], &[REFERRER], &[QUOTE], &[Call::Move, EDIT]] {
            holds.hold(&setups(&[REPLY, REPOST, change(first)]), change(held), meanwhile).await;
        }
        // So that each setup meets each change.
        holds.turn += 1;
    }
}

#[tokio::test]
async fn the_followers_of_an_author_whose_privacy_changes_see_the_entries_all_the_time() {
    const FOLLOWER: u64 = 1;
    let stage = Stage::with_archive(Kind::Sqlite, "hybrid", "3", "1").await;
    for setup in setups(&[Call::Follow(FOLLOWER, B), REPLY, QUOTE]) {
        stage.clear().await;
        stage.calls(&setup).await;
        for changed in [GoPrivate, GoPublic] {
            let mut walk = stage.begin(change(changed)).await;
            let mut writes = 0;
            while let Some(stop) = walk.waits {
                writes += usize::from(stop == Stop { moment: Moment::After, batch: "post: refer" });
                for kind in [ReferrerKind::Reply, ReferrerKind::Quote] {
                    let shown =
                        stage.shown(PostId::new(1).unwrap(), kind, &stage.viewer(FOLLOWER)).await.unwrap();
                    assert_eq!(shown.len(), 1, "{kind:?}, {changed:?} at {stop:?}");
                }
                walk.step().await;
            }
            assert_eq!(writes, 1, "{changed:?} writes the entries");
        }
    }
}

#[tokio::test]
async fn a_walk_that_is_interrupted_leaves_no_entry_of_a_post_that_was_deleted_meanwhile() {
    let stage = Stage::with_archive(Kind::Sqlite, "hybrid", "3", "1").await;
    let [hot, archived] = setups(&[REPLY]);
    // A mover removes the entries of a deleted post as well: nothing but an intent finds one that is written afterwards.
    for (setup, write, meanwhile) in
        [(hot, "post: refer", &[REFERRER][..]), (archived, "archive: refer", &[REFERRER, Call::Move])]
    {
        for changed in [Suspend, GoPrivate] {
            stage.clear().await;
            stage.calls(&setup).await;
            let mut walk = stage.begin(change(changed)).await;
            walk.step_to(Moment::Before, write).await;
            assert!(walk.waits.is_some(), "{changed:?} writes an entry: {write}");
            stage.calls(meanwhile).await;
            walk.step_to(Moment::After, write).await;
            walk.interrupt().await;
            stage.settle().await;
            stage.check_store().await.unwrap();
        }
    }
}

#[tokio::test]
async fn changes_of_two_kinds_at_once_end_as_the_record_says() {
    let mut holds = Holds::new().await;
    let entries = setups(&[REPLY, LIMITED]);
    holds.hold(&entries, change(Suspend), &[change(GoPrivate)]).await;
    holds.hold(&entries, change(GoPrivate), &[change(Suspend)]).await;
    holds.hold(&entries, change(GoPrivate), &[change(Delete), change(Cancel), change(Lift)]).await;
    holds.hold(&entries, change(Delete), &[change(GoPrivate), change(Lift)]).await;
    let deleted = setups(&[REPLY, LIMITED, change(Delete), change(Lift)]);
    holds.hold(&deleted, change(Cancel), &[change(GoPrivate)]).await;
}

#[tokio::test]
async fn a_list_that_is_moved_has_the_kinds_of_its_entries() {
    let mut holds = Holds::new().await;
    for meanwhile in [
        &[change(Suspend)][..],
        &[change(GoPrivate), change(GoPublic)],
        &[change(Suspend), EDIT, change(Lift)],
        &[change(GoPrivate), Call::Move],
    ] {
        holds.hold(&[vec![POST, POST, REPLY, REPOST]], Call::Move, meanwhile).await;
    }
    // Changes of limited entries change no number.
    let limited = [vec![POST, POST, LIMITED], vec![POST, POST, QUOTE, change(GoPrivate)]];
    for meanwhile in [
        &[change(Suspend)][..],
        &[Call::Move, change(Suspend)],
        &[change(Suspend), Call::Move],
        &[Call::Move, change(Suspend), change(Lift)],
    ] {
        holds.hold(&limited, Call::Move, meanwhile).await;
    }
}

#[tokio::test]
async fn a_deletion_removes_an_entry_from_whichever_list_has_it() {
    let mut holds = Holds::new().await;
    for meanwhile in [&[change(Suspend)][..], &[change(GoPrivate)], &[change(GoPrivate), Call::Move]] {
        holds.hold(&setups(&[REPLY]), REFERRER, meanwhile).await;
    }
    for first in [Suspend, GoPrivate] {
        holds.hold(&setups(&[REPLY, change(first)]), REFERRER, &[Call::Move]).await;
        // Withheld and limited reposts go with their original.
        let reposted = setups(&[REPOST, change(first)]);
        holds.hold(&reposted, TARGET, &[Call::Move, Call::Deliver]).await;
        holds.hold(&reposted, Call::Undo(B, 0), &[Call::Move]).await;
        // So that each setup meets each change.
        holds.turn += 1;
    }
}

#[tokio::test]
async fn a_worker_can_be_interrupted_anywhere() {
    let stage = Stage::with_archive(Kind::Sqlite, "hybrid", "3", "1").await;
    for sent in 0.. {
        stage.clear().await;
        stage.calls(&[POST, POST, REPLY, QUOTE, LIMITED, REPOST]).await;
        let mut suspension = stage.begin(change(Suspend)).await;
        while stage.standing(B) != Standing::Inactive {
            suspension.step().await;
        }
        suspension.interrupt().await;
        stage.world.clock.advance(std::time::Duration::from_secs(16));
        let mut worker = stage.begin(Call::Work).await;
        worker.send_batches(sent).await;
        let is_over = worker.waits.is_none();
        stage.call(change(Lift)).await;
        stage.check_moment().await.unwrap();
        if sent % 2 == 0 {
            worker.interrupt().await;
        } else {
            worker.finish().await;
        }
        stage.settle().await;
        stage.check_store().await.unwrap();
        check_jobs(&stage).unwrap();
        if is_over {
            break;
        }
    }
}
