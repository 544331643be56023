//! A call that is held before each of its batches in turn, while others are made, and how it ends then.

use std::time::Duration;

use fanfold::app::check::Finding;
use fanfold::gate::Moment;

use crate::harness::case::in_turns;
use crate::harness::sql::Kind;
use crate::harness::stage::{Call, Stage, check_posts};
use crate::harness::turnstile::Actor;

/// What happens to a call that was held.
#[derive(Clone, Copy, Debug)]
enum Ending {
    /// It is finished.
    Finished,
    /// It is interrupted where it was held.
    Interrupted,
    /// It makes one more step after a repair, and is interrupted then.
    InterruptedAfterRepair,
    /// It is finished after others have taken over all that it has left open.
    TakenOver,
}

const ENDINGS: [Ending; 4] =
    [Ending::Finished, Ending::Interrupted, Ending::InterruptedAfterRepair, Ending::TakenOver];

impl Ending {
    async fn play(self, stage: &Stage, actor: &mut Actor) {
        match self {
            Self::Finished => actor.finish().await,
            Self::Interrupted => actor.interrupt().await,
            Self::InterruptedAfterRepair => {
                // The repairer leaves younger operations to their callers.
                stage.world.clock.advance(Duration::from_secs(6));
                stage.app.repair().await.unwrap();
                if actor.waits.is_some() {
                    actor.step().await;
                }
                actor.interrupt().await;
            }
            Self::TakenOver => {
                // What was checked long ago is not sent now.
                if actor.waits.is_some_and(|stop| stop.moment == Moment::Before) {
                    actor.step().await;
                }
                stage.world.clock.advance(Duration::from_secs(16));
                stage.app.work_on_accounts().await.unwrap();
                stage.app.repair().await.unwrap();
                actor.finish().await;
            }
        }
    }
}

impl Stage {
    /// Begins again with an empty store, makes the calls of `setup`, without deliveries, and holds a call after it has
    /// sent this many batches.
    pub(crate) async fn hold(&self, setup: &[Call], held: Call, sent: usize) -> Actor {
        self.clear().await;
        for call in setup {
            self.call(*call).await;
        }
        let mut actor = self.begin(held).await;
        actor.send_batches(sent).await;
        actor
    }
}

/// Plays `setup`, then holds a call before each of its batches in turn while others do `meanwhile`, finishes or interrupts it,
/// and checks the lists in the end.
pub(crate) async fn hold_everywhere(setup: &[Call], held: Call, meanwhile: &[Call]) {
    let stage = Stage::with_archive(Kind::Sqlite, "hybrid", "3", "1").await;
    hold_everywhere_on(&stage, setup, held, meanwhile).await;
}

/// The same on a stage that is used again.
pub(crate) async fn hold_everywhere_on(stage: &Stage, setup: &[Call], held: Call, meanwhile: &[Call]) {
    for sent in 0.. {
        let mut is_over = false;
        for ending in in_turns(&ENDINGS, sent + meanwhile.len()) {
            is_over = hold(stage, setup, (held, sent), meanwhile, ending).await;
        }
        if is_over {
            break;
        }
    }
}

/// Holds a call after it has sent this many batches. Returns true if the call sends no more.
async fn hold(
    stage: &Stage,
    setup: &[Call],
    (held, sent): (Call, usize),
    meanwhile: &[Call],
    ending: Ending,
) -> bool {
    let mut actor = stage.hold(setup, held, sent).await;
    let (is_over, stop) = (actor.waits.is_none(), actor.waits);
    let context = |error: String| panic!("{held:?} held at {stop:?}, {ending:?}, {meanwhile:?}: {error}");
    for call in meanwhile {
        stage.call(*call).await;
        stage.check_moment().await.unwrap_or_else(context);
        if let Call::Repost(user, _) = *call {
            stage.check_confirmed_reposts(user).await;
        }
    }
    if let Ok(found) = check_posts(&stage.app, false).await {
        let found = (found[Finding::WrongReferrals], found[Finding::MiscountedReferrals]);
        assert_eq!(found, (0, 0), "{held:?} held at {stop:?}, {meanwhile:?}: in progress");
    }
    ending.play(stage, &mut actor).await;
    stage.settle().await;
    stage.check_store().await.unwrap_or_else(|error| context(error.to_string()));
    is_over
}
