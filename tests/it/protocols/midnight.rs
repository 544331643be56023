//! Visits around midnight: whatever runs concurrently and wherever it is interrupted, every visitor is counted on one
//! day, and every day's number is right at every moment and stays so.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fanfold::app::App;
use fanfold::gate::Moment;
use fanfold::model::clock::{Clock as _, Day};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::Value;
use tokio::runtime::{Handle, Runtime};

use crate::harness::case::model_config;
use crate::harness::sql::{Database, Kind};
use crate::harness::turnstile::Actor;
use crate::harness::world::{Person, Redis, World};

const PEOPLE: usize = 7;

/// A call of a process.
#[derive(Clone, Debug)]
enum Call {
    /// These people visit, one after the other.
    Visit(Vec<usize>),
    /// Closes the days that are over.
    Close,
}

/// The next event. Numbers choose among the calls in progress.
#[derive(Clone, Copy, Debug)]
enum Event {
    Step(usize, usize),
    Interrupt(usize),
    Pass(u64),
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let visit = proptest::collection::vec(0..PEOPLE, 1..4).prop_map(Call::Visit);
    proptest::collection::vec(prop_oneof![3 => visit, 2 => Just(Call::Close)], 2..7)
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    // Around midnight, past the time when a day is closed, and a day later.
    let times = prop_oneof![Just(1), Just(1_500), Just(5_000), Just(650_000), Just(86_400_000)];
    let event = prop_oneof![
        12 => (any::<usize>(), 1..6usize).prop_map(|(which, steps)| Event::Step(which, steps)),
        2 => any::<usize>().prop_map(Event::Interrupt),
        4 => times.prop_map(Event::Pass),
    ];
    proptest::collection::vec(event, 0..40)
}

/// A visit that has its response.
#[derive(Clone, Copy, Debug)]
struct Visited {
    person: usize,
    /// The first and the last day on which it may be counted.
    days: (i64, i64),
}

/// Returns whether a shard of this day, or the day itself, has been closed.
fn is_closed(redis: &Redis, day: i64) -> bool {
    let keys: Vec<String> = redis.raw(&["KEYS", &format!("ff:{{v{day}.*}}:visit")]);
    keys.iter().any(|key| redis.raw(&["SISMEMBER", key, "0"]))
}

struct Stage {
    world: Arc<World>,
    database: Database,
    people: Vec<Person>,
    visited: Arc<Mutex<Vec<Visited>>>,
}

impl Stage {
    async fn new() -> Self {
        let database = Database::new(Kind::Sqlite).await;
        let sessions = ["--session-lifetime", "3650", "--session-max-lifetime", "3650"];
        let options = ["--archive-url", &database.url, "--visit-expected-visitors", "600"];
        let options = [&options[..], &sessions].concat();
        let world = World::with(&options).await;
        let people = world.people(PEOPLE).await;
        world.app.open_archive().await.unwrap();
        Self { world: Arc::new(world), database, people, visited: Arc::default() }
    }

    fn today(&self) -> i64 {
        Day::of(self.world.clock.now()).number()
    }

    /// Removes all visits, and sets the clock to two seconds before midnight.
    async fn clear(&self) {
        let keys: Vec<String> = self.world.redis.raw(&["KEYS", "ff:*visit*"]);
        let mut words = vec!["DEL", "nothing"];
        words.extend(keys.iter().map(String::as_str));
        self.world.redis.raw::<i64>(&words);
        self.database.execute("DELETE FROM visits").await;
        self.visited.lock().unwrap().clear();
        let now = self.world.clock.now().as_millis();
        let wanted = Day::from_number(self.today() + 2).start().as_millis() - 2_000;
        self.world.clock.advance(Duration::from_millis(u64::try_from(wanted - now).unwrap()));
    }

    async fn begin(&self, call: &Call) -> Actor {
        match call.clone() {
            Call::Close => Actor::begin(&self.world.app, async |app: App| drop(app.close_days().await)).await,
            Call::Visit(visitors) => {
                let (clock, visited) = (Arc::clone(&self.world.clock), Arc::clone(&self.visited));
                let today = move || Day::of(clock.now()).number();
                let world = Arc::clone(&self.world);
                let tokens: Vec<(usize, String)> =
                    visitors.iter().map(|&person| (person, self.people[person].token.clone())).collect();
                let work = async move |app: App| {
                    for (person, token) in tokens {
                        let first = today();
                        app.authenticate(&token).await.unwrap();
                        // A late visit counts on the next day if its day was closed meanwhile, and only then.
                        let last = if is_closed(&world.redis, first) { today() + 1 } else { today() };
                        visited.lock().unwrap().push(Visited { person, days: (first, last) });
                    }
                };
                Actor::begin(&self.world.app, work).await
            }
        }
    }

    /// Returns the users counted on each day.
    fn counted(&self) -> BTreeMap<i64, BTreeSet<u64>> {
        let mut counted: BTreeMap<i64, BTreeSet<u64>> = BTreeMap::new();
        for key in self.world.redis.raw::<Vec<String>>(&["KEYS", "ff:{v*}:visit"]) {
            let day = key.trim_start_matches("ff:{v").split('.').next().unwrap().parse().unwrap();
            let users: Vec<u64> = self.world.redis.raw(&["SMEMBERS", &key]);
            counted.entry(day).or_default().extend(users.into_iter().filter(|user| *user > 0));
        }
        counted
    }

    /// Returns the number reported for each day, oldest first up to today.
    async fn reported(&self) -> Vec<u64> {
        let data = self.world.data(None, "{ visits(first: 20) { uniqueVisitors } }", Value::Null).await;
        let visits = data["visits"].as_array().unwrap().iter().rev();
        visits.map(|visits| visits["uniqueVisitors"].as_u64().unwrap()).collect()
    }

    /// Compares the reported numbers with those counted.
    async fn check_now(&self) -> Result<(), String> {
        let (reported, counted) = (self.reported().await, self.counted());
        let first = self.today() + 1 - reported.len() as i64;
        let expected = (first..=self.today()).map(|day| counted.get(&day).map_or(0, BTreeSet::len) as u64);
        let expected: Vec<u64> = expected.collect();
        if reported == expected {
            return Ok(());
        }
        Err(format!("{reported:?} is reported, and {expected:?} are counted"))
    }

    async fn play(&self, calls: &[Call], events: &[Event], note: impl Fn()) {
        let mut actors = Vec::new();
        for call in calls {
            actors.push(self.begin(call).await);
        }
        for event in events {
            let waiting: Vec<usize> =
                (0..actors.len()).filter(|&index| actors[index].waits.is_some()).collect();
            let chosen = |number: usize| (!waiting.is_empty()).then(|| waiting[number % waiting.len()]);
            match *event {
                Event::Pass(millis) => self.world.clock.advance(Duration::from_millis(millis)),
                Event::Interrupt(number) => {
                    if let Some(index) = chosen(number) {
                        actors[index].interrupt().await;
                    }
                }
                Event::Step(number, steps) => {
                    let Some(index) = chosen(number) else { continue };
                    for _ in 0..steps {
                        if actors[index].waits.is_some() {
                            actors[index].step().await;
                            note();
                        }
                    }
                }
            }
        }
        for actor in &mut actors {
            while actor.waits.is_some() {
                actor.step().await;
                note();
            }
        }
    }

    /// Asserts that every visitor is counted once; closes all days, and asserts that their numbers stay.
    async fn check_end(&self, calls: &[Call]) -> Result<(), TestCaseError> {
        let counted = self.counted();
        let days_of = |person: usize| -> Vec<i64> {
            let is_in =
                |(day, users): (&i64, &BTreeSet<u64>)| users.contains(&(person as u64 + 1)).then_some(*day);
            counted.iter().filter_map(is_in).collect()
        };
        for visited in self.visited.lock().unwrap().iter() {
            let days = days_of(visited.person);
            let is_right = days.iter().any(|day| (visited.days.0..=visited.days.1).contains(day));
            prop_assert!(is_right, "{:?} is counted on {:?}", visited, days);
        }
        for person in 0..PEOPLE {
            let calls = calls.iter().map(|call| match call {
                Call::Visit(all) => all.iter().filter(|one| **one == person).count(),
                Call::Close => 0,
            });
            let days = days_of(person);
            prop_assert!(days.len() <= calls.sum::<usize>(), "{} is counted on {:?}", person, days);
        }
        self.world.clock.advance(Duration::from_hours(25));
        self.world.app.close_days().await.unwrap();
        let open: Vec<String> = self.world.redis.raw(&["HKEYS", "ff:{g}:visit:days"]);
        prop_assert!(open.iter().all(|field| field == "since"), "{:?} are open", open);
        let keys: Vec<String> = self.world.redis.raw(&["KEYS", "ff:{v*}:visit"]);
        for key in &keys {
            prop_assert!(self.world.redis.raw::<i64>(&["TTL", key]) > 0, "{} does not expire", key);
        }
        prop_assert_eq!(self.check_now().await, Ok(()));
        let before = self.reported().await;
        let mut words = vec!["DEL", "nothing"];
        words.extend(keys.iter().map(String::as_str));
        self.world.redis.raw::<i64>(&words);
        prop_assert_eq!(self.reported().await, before);
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_of_concurrent_work_is_over_when_redis_has_replied() {
    let stage = Stage::new().await;
    for _ in 0..20 {
        // A session is marked as seen while the layout of the day is fixed.
        stage.world.clock.advance(Duration::from_hours(24));
        let mut actor = stage.begin(&Call::Visit(vec![0])).await;
        while let Some(stop) = actor.waits {
            actor.step().await;
            let days: Vec<String> = stage.world.redis.raw(&["HKEYS", "ff:{g}:visit:days"]);
            let is_laid_out = days.contains(&stage.today().to_string());
            assert!(is_laid_out || stop.moment != Moment::Before || stop.batch != "visit: layout");
        }
    }
}

#[test]
fn around_midnight_every_visitor_is_counted_on_one_day() {
    let runtime = Runtime::new().unwrap();
    let stage = runtime.block_on(Stage::new());
    let config = model_config(200);
    let tested = TestRunner::new(config).run(&(calls(), events()), |(calls, events)| {
        runtime.block_on(async {
            stage.clear().await;
            let wrong = RefCell::new(None);
            let note = || {
                let now = tokio::task::block_in_place(|| Handle::current().block_on(stage.check_now()));
                if let Err(what) = now {
                    wrong.borrow_mut().get_or_insert(what);
                }
            };
            stage.play(&calls, &events, note).await;
            prop_assert_eq!(wrong.into_inner(), None);
            stage.check_end(&calls).await
        })
    });
    if let Err(failed) = tested {
        panic!("{failed}");
    }
}
