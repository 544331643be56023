//! Creating users for the subjects of another application: whatever runs concurrently and wherever it is interrupted, a
//! subject leads to one user, and nothing stays reserved.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fanfold::app::App;
use fanfold::app::check::Finding;
use fanfold::gate::Moment;
use fanfold::model::id::UserId;
use proptest::prelude::*;
use serde_json::json;
use tokio::runtime::Runtime;

use crate::harness::case::model_config;
use crate::harness::check::check;
use crate::harness::issuer::{Issuer, NOW, SigningKey, claims, with};
use crate::harness::turnstile::{self, Actor, Event, events};
use crate::harness::world::{PASSWORD, World};

const SUBJECTS: [&str; 2] = ["1", "2"];

/// The username that the tokens of all subjects suggest.
const NAME: &str = "ada";

/// So that a check reads few shards of names and subjects.
const FEW_USERS: [&str; 2] = ["--redis-expected-users", "100"];

/// What an actor does.
#[derive(Clone, Copy, Debug)]
enum Work {
    /// Presents a token of a subject.
    SignIn(&'static str),
    /// Registers the username that the tokens suggest.
    Register,
}

fn works() -> impl Strategy<Value = Vec<Work>> {
    let work = prop_oneof![
        6 => Just(Work::SignIn(SUBJECTS[0])),
        2 => Just(Work::SignIn(SUBJECTS[1])),
        1 => Just(Work::Register),
    ];
    proptest::collection::vec(work, 1..5)
}

/// The users whom tokens have signed in, by subject.
type Confirmed = Arc<Mutex<Vec<(&'static str, UserId)>>>;

struct Setting {
    key: SigningKey,
    world: World,
    _issuer: Issuer,
}

impl Setting {
    async fn new() -> Self {
        let key = SigningKey::p256();
        let issuer = Issuer::start(&[key.jwk("a")]);
        let world = World::with(&[&issuer.options(), &FEW_USERS[..]].concat()).await;
        Self { key, world, _issuer: issuer }
    }

    /// Returns a token that outlasts the test.
    fn token(&self, subject: &str) -> String {
        let changes = json!({ "preferred_username": NAME, "exp": NOW + 100_000_000 });
        self.key.sign(&json!({ "alg": "ES256", "kid": "a" }), &with(claims(subject), &changes))
    }

    async fn begin(&self, work: Work, confirmed: &Confirmed) -> Actor {
        let confirmed = Arc::clone(confirmed);
        match work {
            Work::SignIn(subject) => {
                let token = self.token(subject);
                let sign_in = async move |app: App| {
                    if let Ok(viewer) = app.authenticate(&token).await {
                        confirmed.lock().unwrap().push((subject, viewer.user().unwrap()));
                    }
                };
                Actor::begin(&self.world.app, sign_in).await
            }
            Work::Register => {
                let register =
                    async |app: App| drop(app.register(NAME, PASSWORD, None, None, None, None).await);
                Actor::begin(&self.world.app, register).await
            }
        }
    }

    /// Lets all intents grow old, and repairs.
    async fn repair(&self) {
        self.world.clock.advance(Duration::from_secs(61));
        self.world.app.repair().await.unwrap();
    }

    /// Returns the fields and values of all hashes whose keys match a pattern.
    fn hashes(&self, pattern: &str) -> Vec<(String, HashMap<String, String>)> {
        let keys = self.world.redis.raw::<Vec<String>>(&["KEYS", pattern]);
        keys.into_iter().map(|key| (key.clone(), self.world.redis.raw(&["HGETALL", &key]))).collect()
    }

    /// Checks the stored data when nothing runs any more.
    fn check(&self, confirmed: &[(&'static str, UserId)]) -> Result<(), TestCaseError> {
        let owner = |key: &str| key.split(['u', '}']).nth(1).unwrap().to_owned();
        let mut users: HashMap<String, String> = HashMap::new();
        for (key, secret) in self.hashes("ff:{u*}:secret") {
            if let Some(subject) = secret.get("subject") {
                let twice = users.insert(subject.clone(), owner(&key));
                prop_assert_eq!(twice, None, "a subject has two users");
            }
        }
        let index: HashMap<_, _> =
            self.hashes("ff:{s*}:subjects").into_iter().flat_map(|(_, map)| map).collect();
        prop_assert_eq!(&index, &users, "each subject leads to its user");
        let records: HashMap<String, String> = self
            .hashes("ff:{u*}:user")
            .into_iter()
            .map(|(key, record)| (record["username"].clone(), owner(&key)))
            .collect();
        let names: HashMap<_, _> = self.hashes("ff:name:*").into_iter().flat_map(|(_, map)| map).collect();
        prop_assert_eq!(names, records, "each name leads to its user");
        for subject in SUBJECTS {
            let mut signed_in: Vec<_> = confirmed.iter().filter(|(own, _)| *own == subject).collect();
            signed_in.dedup();
            prop_assert!(signed_in.len() <= 1, "{:?}", signed_in);
            for (_, user) in signed_in {
                prop_assert!(users.values().any(|own| *own == user.to_string()));
            }
        }
        let intents: Vec<String> = self.world.redis.raw(&["KEYS", "ff:*:intents"]);
        prop_assert!(intents.is_empty(), "intents are left");
        Ok(())
    }
}

async fn play(setting: &Setting, works: &[Work], events: &[Event]) -> Vec<(&'static str, UserId)> {
    let confirmed = Confirmed::default();
    let mut actors = Vec::new();
    for work in works {
        actors.push(setting.begin(*work, &confirmed).await);
    }
    turnstile::play(&setting.world, &setting.world.app, actors, events, |_, _| ()).await;
    setting.repair().await;
    // Afterwards, each subject signs in.
    for subject in SUBJECTS {
        setting.begin(Work::SignIn(subject), &confirmed).await.finish().await;
    }
    let confirmed = confirmed.lock().unwrap().clone();
    assert!(SUBJECTS.iter().all(|subject| confirmed.iter().any(|(own, _)| own == subject)));
    confirmed
}

proptest! {
    #![proptest_config(model_config(200))]

    #[test]
    fn a_subject_leads_to_one_user(works in works(), events in events()) {
        thread_local!(static HERE: (Runtime, Setting) = {
            let runtime = Runtime::new().unwrap();
            let setting = runtime.block_on(Setting::new());
            (runtime, setting)
        });
        HERE.with(|(runtime, setting)| {
            setting.world.redis.raw::<String>(&["FLUSHALL"]);
            let confirmed = runtime.block_on(play(setting, &works, &events));
            setting.check(&confirmed)
        })?;
    }
}

#[tokio::test]
async fn a_first_request_interrupted_at_any_step_is_finished_by_the_next_one() {
    let setting = Setting::new().await;
    let mut steps = 0;
    loop {
        setting.world.redis.raw::<String>(&["FLUSHALL"]);
        let confirmed = Confirmed::default();
        let mut interrupted = setting.begin(Work::SignIn(SUBJECTS[0]), &confirmed).await;
        for _ in 0..steps {
            if interrupted.waits.is_some() {
                interrupted.step().await;
            }
        }
        let is_done = interrupted.waits.is_none();
        interrupted.interrupt().await;
        setting.begin(Work::SignIn(SUBJECTS[0]), &confirmed).await.finish().await;
        let signed_in = confirmed.lock().unwrap().clone();
        // The name that was reserved for the interrupted request is free again, or its user's.
        let names = setting.hashes("ff:{u*}:user");
        assert_eq!(names.len(), 1, "after {steps} steps");
        assert_eq!(names[0].1["username"], NAME, "after {steps} steps");
        setting.repair().await;
        setting.check(&signed_in).unwrap();
        if is_done {
            break;
        }
        steps += 1;
    }
    assert!(steps > 12, "{steps}");
}

#[tokio::test]
async fn an_interrupted_first_request_is_finished_by_the_repairer() {
    let setting = Setting::new().await;
    for steps in 0..20 {
        setting.world.redis.raw::<String>(&["FLUSHALL"]);
        let mut interrupted = setting.begin(Work::SignIn(SUBJECTS[0]), &Confirmed::default()).await;
        for _ in 0..steps {
            if interrupted.waits.is_some() {
                interrupted.step().await;
            }
        }
        interrupted.interrupt().await;
        setting.repair().await;
        setting.check(&[]).unwrap();
    }
}

#[tokio::test]
async fn a_reservation_for_an_id_in_use_never_leads_to_its_user() {
    let setting = Setting::new().await;
    let world = &setting.world;
    let ben =
        world.app.register("ben", PASSWORD, None, None, None, None).await.unwrap().viewer.user().unwrap();
    // The counter falls back, as after a failover, and the first request is interrupted after its reservation.
    world.redis.raw::<String>(&["SET", "ff:{g}:next:user", "0"]);
    let confirmed = Confirmed::default();
    let mut interrupted = setting.begin(Work::SignIn(SUBJECTS[0]), &confirmed).await;
    interrupted.step_to(Moment::After, "make user: subject").await;
    interrupted.interrupt().await;
    setting.repair().await;
    setting.begin(Work::SignIn(SUBJECTS[0]), &confirmed).await.finish().await;
    let signed_in = confirmed.lock().unwrap().clone();
    assert_ne!(signed_in[0].1, ben);
    setting.repair().await;
    setting.check(&signed_in).unwrap();
}

#[tokio::test]
async fn a_slow_first_request_creates_no_second_user() {
    let setting = Setting::new().await;
    for moment in [Moment::Before, Moment::After] {
        setting.world.redis.raw::<String>(&["FLUSHALL"]);
        let confirmed = Confirmed::default();
        let mut slow = setting.begin(Work::SignIn(SUBJECTS[0]), &confirmed).await;
        slow.step_to(moment, "make user: reserve").await;
        // The other request ends the reservation, and creates the user.
        setting.begin(Work::SignIn(SUBJECTS[0]), &confirmed).await.finish().await;
        slow.finish().await;
        let confirmed = confirmed.lock().unwrap().clone();
        assert_eq!(confirmed.len(), 2);
        setting.repair().await;
        setting.check(&confirmed).unwrap();
    }
}

/// Runs an actor to its end, and returns the batches that it sends.
async fn batches(actor: &mut Actor) -> Vec<&'static str> {
    let mut batches = Vec::new();
    while let Some(stop) = actor.waits {
        if stop.moment == Moment::Before {
            batches.push(stop.batch);
        }
        actor.step().await;
    }
    batches
}

#[tokio::test]
async fn a_request_that_finds_the_first_one_under_way_waits_for_its_user() {
    let setting = Setting::new().await;
    let confirmed = Confirmed::default();
    let mut first = setting.begin(Work::SignIn(SUBJECTS[0]), &confirmed).await;
    first.step_to(Moment::After, "make user: subject").await;
    let mut second = setting.begin(Work::SignIn(SUBJECTS[0]), &confirmed).await;
    // It has looked once.
    second.step_to(Moment::After, "subject: wait").await;
    assert!(second.waits.is_some(), "the subject is reserved");
    first.finish().await;
    let sent = batches(&mut second).await;
    assert!(!sent.contains(&"repair: revoke"), "the reservation is left to the first one: {sent:?}");
    let signed_in = confirmed.lock().unwrap().clone();
    let user = UserId::new(1).unwrap();
    assert_eq!(signed_in, [(SUBJECTS[0], user); 2]);
    setting.check(&signed_in).unwrap();
}

#[tokio::test]
async fn a_request_whose_subject_becomes_free_while_it_waits_creates_the_user() {
    let setting = Setting::new().await;
    let confirmed = Confirmed::default();
    let mut first = setting.begin(Work::SignIn(SUBJECTS[0]), &confirmed).await;
    first.step_to(Moment::After, "make user: subject").await;
    first.interrupt().await;
    let mut second = setting.begin(Work::SignIn(SUBJECTS[0]), &confirmed).await;
    second.step_to(Moment::Before, "subject: wait").await;
    setting.repair().await;
    let sent = batches(&mut second).await;
    assert!(!sent.contains(&"repair: revoke"), "the repairer has ended the reservation: {sent:?}");
    let signed_in = confirmed.lock().unwrap().clone();
    assert_eq!(signed_in.len(), 1);
    setting.check(&signed_in).unwrap();
}

#[tokio::test]
async fn a_reservation_is_a_fault_only_if_no_request_is_under_way() {
    let setting = Setting::new().await;
    let (world, confirmed) = (&setting.world, Confirmed::default());
    let mut first = setting.begin(Work::SignIn(SUBJECTS[0]), &confirmed).await;
    first.step_to(Moment::After, "make user: subject").await;
    assert_eq!(check(&world.app, false).await.faults(), 0, "the request is under way");
    first.interrupt().await;
    // Its intents are lost.
    for key in world.redis.raw::<Vec<String>>(&["KEYS", "ff:*:intents"]) {
        world.redis.raw::<i64>(&["DEL", &key]);
    }
    let found = check(&world.app, false).await;
    assert_eq!((found[Finding::WrongSubjects], found.faults()), (1, 1));
    assert_eq!(setting.hashes("ff:{s*}:subjects").len(), 1, "without a repair, nothing changes");
    check(&world.app, true).await;
    assert_eq!(setting.hashes("ff:{s*}:subjects").len(), 0);
    setting.begin(Work::SignIn(SUBJECTS[0]), &confirmed).await.finish().await;
    let signed_in = confirmed.lock().unwrap().clone();
    setting.check(&signed_in).unwrap();
    assert_eq!(check(&world.app, false).await.faults(), 0);
}
