//! Actors that are let through their round trips one by one, in any order, and cut off anywhere.

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

use crate::world::World;

/// How long a step may take at most: longer than anything that Redis and the archive are asked.
const MOST_PATIENCE: Duration = Duration::from_mins(2);

/// A gate that lets one step through at a time and tells who is waiting before it.
struct Turnstile {
    arrivals: UnboundedSender<Stop>,
    steps: Semaphore,
}

/// Where an actor waits: on which side of which batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stop {
    pub(crate) moment: Moment,
    pub(crate) batch: &'static str,
}

impl Gate for Turnstile {
    fn pass(&self, moment: Moment, batch: &'static str) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.arrivals.send(Stop { moment, batch }).expect("the actor is watched");
            self.steps.acquire().await.expect("the turnstile is open").forget();
        })
    }
}

/// A piece of work that goes one step at a time.
pub(crate) struct Actor {
    turnstile: Arc<Turnstile>,
    arrivals: UnboundedReceiver<Stop>,
    task: Option<JoinHandle<()>>,
    /// Where it waits; `None` when it is done or cut off.
    pub(crate) waits: Option<Stop>,
    /// Where it waits beside that, for what it does at the same time. These are let through after that, in order.
    behind: VecDeque<Stop>,
}

impl Actor {
    /// Begins the work on an application of its own, and lets it come to its first round trip.
    pub(crate) async fn begin<F>(app: &App, work: impl FnOnce(App) -> F) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (sender, arrivals) = unbounded_channel();
        let turnstile = Arc::new(Turnstile { arrivals: sender, steps: Semaphore::new(0) });
        let task = tokio::spawn(work(app.with_gate(Arc::clone(&turnstile) as _)));
        let behind = VecDeque::new();
        let mut actor = Self { turnstile, arrivals, task: Some(task), waits: None, behind };
        actor.waits = actor.arrival().await;
        actor
    }

    /// Lets it through to where it waits next. A batch that is sent is answered when this is over, whatever the actor
    /// does at the same time.
    pub(crate) async fn step(&mut self) {
        let passed = self.waits.take();
        self.turnstile.steps.add_permits(1);
        if let Some(Stop { moment: Moment::Before, batch }) = passed {
            let answered = Stop { moment: Moment::After, batch };
            while let Some(stop) = self.arrival().await {
                self.behind.push_back(stop);
                if stop == answered {
                    break;
                }
            }
        } else if self.behind.is_empty() {
            self.waits = self.arrival().await;
            return;
        }
        self.waits = self.behind.pop_front();
    }

    /// Lets it through to this stop, or to its end if it does not come there.
    pub(crate) async fn step_to(&mut self, moment: Moment, batch: &'static str) {
        while self.waits.is_some_and(|stop| stop != Stop { moment, batch }) {
            self.step().await;
        }
    }

    /// Lets it through to its end.
    pub(crate) async fn finish(&mut self) {
        while self.waits.is_some() {
            self.step().await;
        }
    }

    /// Cuts it off where it waits: it does nothing more, and learns of nothing.
    pub(crate) async fn cut_off(&mut self) {
        if let Some(task) = self.task.take() {
            task.abort();
            assert!(task.await.unwrap_err().is_cancelled());
        }
        self.waits = None;
        self.behind.clear();
    }

    /// Where it comes to wait next; `None` if it comes to its end.
    async fn arrival(&mut self) -> Option<Stop> {
        let task = self.task.as_mut().expect("the actor was not cut off");
        tokio::select! {
            biased;
            stop = self.arrivals.recv() => stop,
            done = task => {
                done.expect("the work does not panic");
                self.task = None;
                self.behind.clear();
                None
            }
            () = tokio::time::sleep(MOST_PATIENCE) => panic!("a step has no end"),
        }
    }
}

/// What happens next. Numbers choose among those who are under way.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    /// One of them makes some steps.
    Step(usize, usize),
    /// One of them is cut off.
    Cut(usize),
    /// Some time passes: little, more than the repairer waits, or more than an intent is kept.
    Turn(Duration),
    /// A repairer begins a round.
    Repair,
}

pub(crate) fn events() -> impl Strategy<Value = Vec<Event>> {
    let times = prop_oneof![Just(1), Just(5_000), Just(70_000)];
    let event = prop_oneof![
        12 => (any::<usize>(), 1..14usize).prop_map(|(which, steps)| Event::Step(which, steps)),
        2 => any::<usize>().prop_map(Event::Cut),
        3 => times.prop_map(|millis| Event::Turn(Duration::from_millis(millis))),
        1 => Just(Event::Repair),
    ];
    proptest::collection::vec(event, 0..40)
}

/// Plays the events over the actors, then lets everybody who is left come to their end. Every step
/// is told to `note`, with the number of the actor who has made it.
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
            Event::Cut(number) => {
                if let Some(index) = chosen(*number) {
                    actors[index].cut_off().await;
                }
            }
            Event::Turn(time) => {
                // Who has asked its deadline sends: what was asked for a minute ago is not sent now.
                for (index, actor) in actors.iter_mut().enumerate() {
                    if actor.waits.is_some_and(|stop| stop.moment == Moment::Before) {
                        actor.step().await;
                        note(index, actor);
                    }
                }
                world.clock.turn(*time);
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
