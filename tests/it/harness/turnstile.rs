//! Actors that make their round trips one by one, in any order, and are interrupted anywhere.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use fanfold::app::App;
use fanfold::gate::{Gate, Moment};
use futures::future::BoxFuture;
use proptest::prelude::*;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

use crate::harness::reach::{Recorder, is_recorded};
use crate::harness::world::World;

/// Timeout of a step: longer than that of any request to Redis and the archive.
const STEP_TIMEOUT: Duration = Duration::from_mins(2);

/// A gate that admits one step at a time and reports where its actor waits.
struct Turnstile {
    /// Records what passes, if this run is recorded.
    recorder: Option<Recorder>,
    arrivals: UnboundedSender<Stop>,
    steps: Semaphore,
}

/// A stop of an actor: the side of a batch where it waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stop {
    pub(crate) moment: Moment,
    pub(crate) batch: &'static str,
}

impl Gate for Turnstile {
    fn pass(&self, moment: Moment, batch: &'static str) -> BoxFuture<'_, ()> {
        if let Some(recorder) = &self.recorder {
            recorder.note(batch);
        }
        Box::pin(async move {
            self.arrivals.send(Stop { moment, batch }).expect("the actor is watched");
            self.steps.acquire().await.expect("the turnstile is open").forget();
        })
    }
}

/// A piece of work that runs one step at a time.
pub(crate) struct Actor {
    turnstile: Arc<Turnstile>,
    arrivals: UnboundedReceiver<Stop>,
    task: Option<JoinHandle<()>>,
    /// The stop where it waits; `None` when it is done or interrupted.
    pub(crate) waits: Option<Stop>,
    /// The stops of its concurrent parts. It passes them after the first one, in order.
    behind: VecDeque<Stop>,
}

impl Actor {
    /// Begins the work on an application of its own, and runs it to its first round trip.
    pub(crate) async fn begin<F>(app: &App, work: impl FnOnce(App) -> F) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (sender, arrivals) = unbounded_channel();
        let recorder = is_recorded().then(|| Recorder::of(app));
        let turnstile = Arc::new(Turnstile { recorder, arrivals: sender, steps: Semaphore::new(0) });
        let task = tokio::spawn(work(app.with_gate(Arc::clone(&turnstile) as _)));
        let behind = VecDeque::new();
        let mut actor = Self { turnstile, arrivals, task: Some(task), waits: None, behind };
        actor.waits = actor.arrival().await;
        actor
    }

    /// Runs it to its next stop. A batch that is sent has its reply when this returns, whatever else the actor does
    /// concurrently.
    pub(crate) async fn step(&mut self) {
        let passed = self.waits.take();
        self.turnstile.steps.add_permits(1);
        if let Some(Stop { moment: Moment::Before, batch }) = passed {
            let replied = Stop { moment: Moment::After, batch };
            while let Some(stop) = self.arrival().await {
                self.behind.push_back(stop);
                if stop == replied {
                    break;
                }
            }
        } else if self.behind.is_empty() {
            self.waits = self.arrival().await;
            return;
        }
        self.waits = self.behind.pop_front();
    }

    /// Runs it to this stop, or to its end if it does not reach it.
    pub(crate) async fn step_to(&mut self, moment: Moment, batch: &'static str) {
        while self.waits.is_some_and(|stop| stop != Stop { moment, batch }) {
            self.step().await;
        }
    }

    /// Lets it send this many batches, and runs it to the next one, or to its end. This stops at each state of the store that
    /// it can be interrupted in: between a reply and the next batch, it does not change the store.
    pub(crate) async fn send_batches(&mut self, count: usize) {
        for _ in 0..count {
            if self.waits.is_some() {
                self.step().await;
            }
            while self.waits.is_some_and(|stop| stop.moment == Moment::After) {
                self.step().await;
            }
        }
    }

    /// Runs it to its end.
    pub(crate) async fn finish(&mut self) {
        while self.waits.is_some() {
            self.step().await;
        }
    }

    /// Interrupts it where it waits: it does nothing more, and receives nothing.
    pub(crate) async fn interrupt(&mut self) {
        if let Some(task) = self.task.take() {
            task.abort();
            assert!(task.await.unwrap_err().is_cancelled());
        }
        self.waits = None;
        self.behind.clear();
    }

    /// Returns its next stop; `None` at its end.
    async fn arrival(&mut self) -> Option<Stop> {
        let task = self.task.as_mut().expect("the actor was not interrupted");
        tokio::select! {
            biased;
            stop = self.arrivals.recv() => stop,
            done = task => {
                done.expect("the work does not panic");
                self.task = None;
                self.behind.clear();
                None
            }
            () = tokio::time::sleep(STEP_TIMEOUT) => panic!("a step does not end"),
        }
    }
}

/// The next event. Numbers choose among the actors that run.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    /// An actor makes some steps.
    Step(usize, usize),
    /// An actor is interrupted.
    Interrupt(usize),
    /// Some time passes: little, more than the repairer waits, or more than the lifetime of an intent.
    Pass(Duration),
    /// A repairer begins a round.
    Repair,
}

pub(crate) fn events() -> impl Strategy<Value = Vec<Event>> {
    let times = prop_oneof![Just(1), Just(5_000), Just(70_000)];
    let event = prop_oneof![
        12 => (any::<usize>(), 1..14usize).prop_map(|(which, steps)| Event::Step(which, steps)),
        2 => any::<usize>().prop_map(Event::Interrupt),
        3 => times.prop_map(|millis| Event::Pass(Duration::from_millis(millis))),
        1 => Just(Event::Repair),
    ];
    proptest::collection::vec(event, 0..40)
}

/// Plays the events over the actors, then runs the rest of them to their end. Calls `note` after every step, with the
/// number of the actor.
pub(crate) async fn play(
    world: &World,
    app: &App,
    mut actors: Vec<Actor>,
    events: &[Event],
    mut note: impl FnMut(usize, &Actor),
) {
    for event in events {
        let waiting: Vec<usize> = (0..actors.len()).filter(|&index| actors[index].waits.is_some()).collect();
        let chosen = |number: usize| (!waiting.is_empty()).then(|| waiting[number % waiting.len()]);
        match event {
            Event::Step(number, steps) => {
                for index in chosen(*number).into_iter().cycle().take(*steps) {
                    if actors[index].waits.is_some() {
                        actors[index].step().await;
                        note(index, &actors[index]);
                    }
                }
            }
            Event::Interrupt(number) => {
                if let Some(index) = chosen(*number) {
                    actors[index].interrupt().await;
                }
            }
            Event::Pass(time) => {
                // An actor that has checked its deadline sends first: what was checked a minute ago is not sent now.
                for (index, actor) in actors.iter_mut().enumerate() {
                    if actor.waits.is_some_and(|stop| stop.moment == Moment::Before) {
                        actor.step().await;
                        note(index, actor);
                    }
                }
                world.clock.advance(*time);
            }
            Event::Repair => {
                let repair = async |app: App| drop(app.repair().await);
                actors.push(Actor::begin(app, repair).await);
            }
        }
    }
    for (index, actor) in actors.iter_mut().enumerate() {
        while actor.waits.is_some() {
            actor.step().await;
            note(index, actor);
        }
    }
}
