//! Creating users: whatever runs concurrently and wherever it is interrupted, a name leads to one user or to none.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fanfold::app::App;
use fanfold::app::user::NewAccount;
use fanfold::gate::Moment;
use fanfold::model::clock::Timestamp;
use fanfold::model::id::UserId;
use fanfold::model::user::{Bio, Username};
use proptest::prelude::*;
use tokio::runtime::Runtime;

use crate::harness::case::model_config;
use crate::harness::turnstile::{self, Actor, Event, events};
use crate::harness::world::{PASSWORD, World};

const NAMES: [&str; 2] = ["ada", "bob"];

/// A request for this name, by registration or by an import.
#[derive(Clone, Copy, Debug)]
struct Claim {
    name: &'static str,
    registers: bool,
}

fn claims() -> impl Strategy<Value = Vec<Claim>> {
    let name = prop_oneof![4 => Just(NAMES[0]), 1 => Just(NAMES[1])];
    let claim = (name, prop::bool::weighted(0.2)).prop_map(|(name, registers)| Claim { name, registers });
    proptest::collection::vec(claim, 1..5)
}

/// The names whose creation was confirmed, with their users.
type Confirmed = Arc<Mutex<Vec<(&'static str, UserId)>>>;

async fn begin(world: &World, Claim { name, registers }: Claim, confirmed: &Confirmed) -> Actor {
    let confirmed = Arc::clone(confirmed);
    let username = Username::parse(name).unwrap();
    let work = async move |app: App| {
        let made = if registers {
            app.register(name, PASSWORD, None, None, None, None)
                .await
                .map(|opened| opened.viewer.user().unwrap())
        } else {
            let newcomer = NewAccount {
                display_name: (&username).into(),
                username,
                bio: Bio::default(),
                region: None,
                created_at: Timestamp::from_millis(0),
                password: None,
                subject: None,
                sign_in: None,
            };
            app.import_users(vec![newcomer]).await.map(|imported| imported.ids[0])
        };
        if let Ok(user) = made {
            confirmed.lock().unwrap().push((name, user));
        }
    };
    Actor::begin(&world.app, work).await
}

async fn play(world: &World, claims: &[Claim], events: &[Event]) -> Vec<(&'static str, UserId)> {
    let confirmed = Confirmed::default();
    let mut actors = Vec::new();
    for claim in claims {
        actors.push(begin(world, *claim, &confirmed).await);
    }
    turnstile::play(world, &world.app, actors, events, |_, _| ()).await;
    confirmed.lock().unwrap().clone()
}

fn check(world: &World, confirmed: &[(&'static str, UserId)]) -> Result<(), TestCaseError> {
    let mut users: HashMap<String, Vec<u64>> = HashMap::new();
    for key in world.redis.raw::<Vec<String>>(&["KEYS", "ff:{u*}:user"]) {
        let id = key.trim_start_matches("ff:{u").trim_end_matches("}:user").parse().unwrap();
        users.entry(world.redis.raw(&["HGET", &key, "username"])).or_default().push(id);
    }
    for name in NAMES {
        let key = world.app.store().keys().names_with(&Username::parse(name).unwrap());
        let held: Option<String> = world.redis.raw(&["HGET", key.name(), name]);
        let users_of_name = users.remove(name).unwrap_or_default();
        prop_assert!(users_of_name.len() <= 1, "{} users are called {}", users_of_name.len(), name);
        prop_assert_eq!(
            held,
            users_of_name.first().map(u64::to_string),
            "{} leads to its user, or nowhere",
            name
        );
        for (_, user) in confirmed.iter().filter(|(confirmed, _)| *confirmed == name) {
            prop_assert_eq!(
                Some(&user.get()),
                users_of_name.first(),
                "the user for whom {} was confirmed has it",
                name
            );
        }
    }
    let intents: Vec<String> = world.redis.raw(&["KEYS", "ff:*:intents"]);
    prop_assert!(intents.is_empty(), "intents are left");
    Ok(())
}

proptest! {
    #![proptest_config(model_config(400))]

    #[test]
    fn a_name_leads_to_one_user_or_to_none(claims in claims(), events in events()) {
        thread_local!(static HERE: (Runtime, World) = {
            let runtime = Runtime::new().unwrap();
            let world = runtime.block_on(World::new());
            (runtime, world)
        });
        HERE.with(|(runtime, world)| {
            world.redis.raw::<String>(&["FLUSHALL"]);
            let confirmed = runtime.block_on(async {
                let confirmed = play(world, &claims, &events).await;
                world.clock.advance(Duration::from_secs(61));
                world.app.repair().await.unwrap();
                confirmed
            });
            check(world, &confirmed)
        })?;
    }
}

#[tokio::test]
async fn an_import_that_finds_its_id_revoked_frees_the_name_itself() {
    let world = World::new().await;
    let claim = Claim { name: "ada", registers: false };
    let mut creator = begin(&world, claim, &Confirmed::default()).await;
    creator.step_to(Moment::After, "make user: reserve").await;
    // Another import revokes the id and is interrupted before it frees the name.
    let mut other = begin(&world, claim, &Confirmed::default()).await;
    other.step_to(Moment::After, "repair: revoke").await;
    other.interrupt().await;
    creator.step_to(Moment::After, "make user: create").await;
    creator.step_to(Moment::After, "drop intents").await;
    creator.interrupt().await;
    world.clock.advance(Duration::from_secs(61));
    world.app.repair().await.unwrap();
    check(&world, &[]).unwrap();
}

#[tokio::test]
async fn an_import_takes_over_the_name_of_another_that_was_interrupted() {
    // Before the user was created, and after that.
    for (stop, user) in [("make user: reserve", 2), ("make user: create", 1)] {
        let world = World::new().await;
        let claim = Claim { name: "ada", registers: false };
        let mut interrupted = begin(&world, claim, &Confirmed::default()).await;
        interrupted.step_to(Moment::After, stop).await;
        interrupted.interrupt().await;
        let confirmed = Confirmed::default();
        begin(&world, claim, &confirmed).await.finish().await;
        let confirmed = confirmed.lock().unwrap().clone();
        assert_eq!(confirmed, [("ada", UserId::new(user).unwrap())], "{stop}");
        let issued: u64 = world.redis.raw(&["GET", "ff:{g}:next:user"]);
        assert_eq!(issued, user, "{stop}: an id is issued only for a user who does not exist");
        world.clock.advance(Duration::from_secs(61));
        world.app.repair().await.unwrap();
        check(&world, &confirmed).unwrap();
    }
}

#[tokio::test]
async fn a_name_left_reserved_is_free_again_after_a_minute() {
    let world = World::new().await;
    let claim = Claim { name: "ada", registers: true };
    let mut interrupted = begin(&world, claim, &Confirmed::default()).await;
    interrupted.step_to(Moment::After, "make user: reserve").await;
    interrupted.interrupt().await;
    let register = async || world.app.register("ada", PASSWORD, None, None, None, None).await.is_ok();
    assert!(!register().await);
    world.clock.advance(Duration::from_secs(30));
    world.app.repair().await.unwrap();
    assert!(!register().await);
    world.clock.advance(Duration::from_secs(31));
    world.app.repair().await.unwrap();
    assert!(register().await);
}

#[tokio::test]
async fn an_import_finishes_what_another_left_half_done() {
    let world = World::new().await;
    for (batch, moment) in [
        ("make user: reserve", Moment::After),
        ("make user: create", Moment::After),
        ("make user: settle", Moment::Before),
    ] {
        world.redis.raw::<String>(&["FLUSHALL"]);
        let claim = Claim { name: "ada", registers: false };
        let mut interrupted = begin(&world, claim, &Confirmed::default()).await;
        interrupted.step_to(moment, batch).await;
        interrupted.interrupt().await;
        let confirmed = Confirmed::default();
        begin(&world, claim, &confirmed).await.finish().await;
        let confirmed = confirmed.lock().unwrap().clone();
        assert_eq!(confirmed.len(), 1);
        world.clock.advance(Duration::from_secs(61));
        world.app.repair().await.unwrap();
        check(&world, &confirmed).unwrap();
    }
}

#[tokio::test]
async fn a_created_user_can_soon_sign_in_though_the_registration_was_interrupted() {
    let world = World::new().await;
    let claim = Claim { name: "ada", registers: true };
    let mut interrupted = begin(&world, claim, &Confirmed::default()).await;
    interrupted.step_to(Moment::After, "make user: create").await;
    interrupted.interrupt().await;
    let signs_in = async || world.app.login("ada", PASSWORD, None, None).await.is_ok();
    assert!(!signs_in().await);
    world.clock.advance(Duration::from_secs(6));
    world.app.repair().await.unwrap();
    assert!(signs_in().await);
}

#[tokio::test]
async fn a_counter_that_falls_back_harms_no_user() {
    let world = World::new().await;
    world.register("ada").await;
    world.register("bob").await;
    world.redis.raw::<String>(&["SET", "ff:{g}:next:user", "0"]);
    let made = world.app.register("eve", PASSWORD, None, None, None, None).await.unwrap();
    assert_eq!(made.viewer.user(), UserId::new(3));
    for name in ["ada", "bob", "eve"] {
        assert!(world.app.login(name, PASSWORD, None, None).await.is_ok(), "{name}");
    }
}

#[tokio::test]
async fn a_name_that_cannot_be_freed_blocks_nothing_else() {
    let world = World::new().await;
    for name in NAMES {
        let mut interrupted = begin(&world, Claim { name, registers: false }, &Confirmed::default()).await;
        interrupted.step_to(Moment::After, "make user: reserve").await;
        interrupted.interrupt().await;
    }
    let keys = world.app.store().keys();
    let shard = keys.names_with(&Username::parse(NAMES[0]).unwrap()).name().to_owned();
    world.redis.raw::<i64>(&["DEL", &shard]);
    world.redis.raw::<String>(&["SET", &shard, "no index"]);
    world.clock.advance(Duration::from_mins(2));
    world.app.repair().await.unwrap();
    assert!(world.app.register(NAMES[1], PASSWORD, None, None, None, None).await.is_ok());
    // The failed repair is retried.
    world.redis.raw::<i64>(&["DEL", &shard]);
    world.redis.raw::<i64>(&["HSET", &shard, NAMES[0], "?1"]);
    world.app.repair().await.unwrap();
    assert!(world.app.register(NAMES[0], PASSWORD, None, None, None, None).await.is_ok());
}
