//! Making users: whatever happens at the same time and wherever it is cut off, a name leads to one
//! user or to nobody.

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

use crate::turnstile::{self, Actor, Event, events};
use crate::world::{PASSWORD, World, model_config};

const NAMES: [&str; 2] = ["ada", "bob"];

/// Somebody wants this name, by registering or by an import.
#[derive(Clone, Copy, Debug)]
struct Wish {
    name: &'static str,
    registers: bool,
}

fn wishes() -> impl Strategy<Value = Vec<Wish>> {
    let name = prop_oneof![4 => Just(NAMES[0]), 1 => Just(NAMES[1])];
    let wish = (name, prop::bool::weighted(0.2)).prop_map(|(name, registers)| Wish { name, registers });
    proptest::collection::vec(wish, 1..5)
}

/// Who was told that a name is theirs.
type Told = Arc<Mutex<Vec<(&'static str, UserId)>>>;

async fn begin(world: &World, Wish { name, registers }: Wish, told: &Told) -> Actor {
    let told = Arc::clone(told);
    let username = Username::parse(name).unwrap();
    let work = async move |app: App| {
        let made = if registers {
            app.register(name, PASSWORD, None, None, None).await.map(|opened| opened.viewer.user().unwrap())
        } else {
            let newcomer = NewAccount {
                display_name: (&username).into(),
                username,
                bio: Bio::default(),
                region: None,
                created_at: Timestamp::from_millis(0),
                password: None,
                sign_in: None,
            };
            app.import_users(vec![newcomer]).await.map(|imported| imported.ids[0])
        };
        if let Ok(user) = made {
            told.lock().unwrap().push((name, user));
        }
    };
    Actor::begin(&world.app, work).await
}

async fn play(world: &World, wishes: &[Wish], events: &[Event]) -> Vec<(&'static str, UserId)> {
    let told = Told::default();
    let mut actors = Vec::new();
    for wish in wishes {
        actors.push(begin(world, *wish, &told).await);
    }
    turnstile::play(world, &world.app, actors, events, |_, _| ()).await;
    told.lock().unwrap().clone()
}

fn check(world: &World, told: &[(&'static str, UserId)]) -> Result<(), TestCaseError> {
    let mut users: HashMap<String, Vec<u64>> = HashMap::new();
    for key in world.redis.raw::<Vec<String>>(&["KEYS", "ff:{u*}:user"]) {
        let id = key.trim_start_matches("ff:{u").trim_end_matches("}:user").parse().unwrap();
        users.entry(world.redis.raw(&["HGET", &key, "username"])).or_default().push(id);
    }
    for name in NAMES {
        let key = world.app.store().keys().names_with(&Username::parse(name).unwrap());
        let held: Option<String> = world.redis.raw(&["HGET", key.name(), name]);
        let bearers = users.remove(name).unwrap_or_default();
        prop_assert!(bearers.len() <= 1, "{} users are called {}", bearers.len(), name);
        prop_assert_eq!(held, bearers.first().map(u64::to_string), "{} leads to its user, or nowhere", name);
        for (_, user) in told.iter().filter(|(told, _)| *told == name) {
            prop_assert_eq!(
                Some(&user.get()),
                bearers.first(),
                "who was told that {} is theirs has it",
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
    fn a_name_leads_to_one_user_or_to_nobody(wishes in wishes(), events in events()) {
        thread_local!(static HERE: (Runtime, World) = {
            let runtime = Runtime::new().unwrap();
            let world = runtime.block_on(World::new());
            (runtime, world)
        });
        HERE.with(|(runtime, world)| {
            world.redis.raw::<String>(&["FLUSHALL"]);
            let told = runtime.block_on(async {
                let told = play(world, &wishes, &events).await;
                world.clock.turn(Duration::from_secs(61));
                world.app.repair().await.unwrap();
                told
            });
            check(world, &told)
        })?;
    }
}

#[tokio::test]
async fn who_finds_its_id_void_frees_the_name_itself() {
    let world = World::new().await;
    let wish = Wish { name: "ada", registers: false };
    let mut maker = begin(&world, wish, &Told::default()).await;
    maker.step_to(Moment::After, "make user: reserve").await;
    // Another import makes the id void and is cut off before it frees the name.
    let mut other = begin(&world, wish, &Told::default()).await;
    other.step_to(Moment::After, "repair: revoke").await;
    other.cut_off().await;
    maker.step_to(Moment::After, "make user: create").await;
    maker.step_to(Moment::After, "drop intents").await;
    maker.cut_off().await;
    world.clock.turn(Duration::from_secs(61));
    world.app.repair().await.unwrap();
    check(&world, &[]).unwrap();
}

#[tokio::test]
async fn a_name_left_reserved_is_free_again_after_a_minute() {
    let world = World::new().await;
    let wish = Wish { name: "ada", registers: true };
    let mut cut = begin(&world, wish, &Told::default()).await;
    cut.step_to(Moment::After, "make user: reserve").await;
    cut.cut_off().await;
    let register = async || world.app.register("ada", PASSWORD, None, None, None).await.is_ok();
    assert!(!register().await);
    world.clock.turn(Duration::from_secs(30));
    world.app.repair().await.unwrap();
    assert!(!register().await);
    world.clock.turn(Duration::from_secs(31));
    world.app.repair().await.unwrap();
    assert!(register().await);
}

#[tokio::test]
async fn an_import_takes_over_what_another_left_half_done() {
    let world = World::new().await;
    for (batch, moment) in [
        ("make user: reserve", Moment::After),
        ("make user: create", Moment::After),
        ("make user: settle", Moment::Before),
    ] {
        world.redis.raw::<String>(&["FLUSHALL"]);
        let wish = Wish { name: "ada", registers: false };
        let mut cut = begin(&world, wish, &Told::default()).await;
        cut.step_to(moment, batch).await;
        cut.cut_off().await;
        let told = Told::default();
        begin(&world, wish, &told).await.finish().await;
        let told = told.lock().unwrap().clone();
        assert_eq!(told.len(), 1);
        world.clock.turn(Duration::from_secs(61));
        world.app.repair().await.unwrap();
        check(&world, &told).unwrap();
    }
}

#[tokio::test]
async fn a_user_who_was_made_can_soon_sign_in_though_the_maker_was_cut_off() {
    let world = World::new().await;
    let wish = Wish { name: "ada", registers: true };
    let mut cut = begin(&world, wish, &Told::default()).await;
    cut.step_to(Moment::After, "make user: create").await;
    cut.cut_off().await;
    let signs_in = async || world.app.login("ada", PASSWORD, None, None).await.is_ok();
    assert!(!signs_in().await);
    world.clock.turn(Duration::from_secs(6));
    world.app.repair().await.unwrap();
    assert!(signs_in().await);
}

#[tokio::test]
async fn a_counter_that_falls_back_harms_nobody() {
    let world = World::new().await;
    world.register("ada").await;
    world.register("bob").await;
    world.redis.raw::<String>(&["SET", "ff:{g}:next:user", "0"]);
    let made = world.app.register("eve", PASSWORD, None, None, None).await.unwrap();
    assert_eq!(made.viewer.user(), UserId::new(3));
    for name in ["ada", "bob", "eve"] {
        assert!(world.app.login(name, PASSWORD, None, None).await.is_ok(), "{name}");
    }
}

#[tokio::test]
async fn a_name_that_cannot_be_freed_holds_nothing_else_up() {
    let world = World::new().await;
    for name in NAMES {
        let mut cut = begin(&world, Wish { name, registers: false }, &Told::default()).await;
        cut.step_to(Moment::After, "make user: reserve").await;
        cut.cut_off().await;
    }
    let keys = world.app.store().keys();
    let shard = keys.names_with(&Username::parse(NAMES[0]).unwrap()).name().to_owned();
    world.redis.raw::<i64>(&["DEL", &shard]);
    world.redis.raw::<String>(&["SET", &shard, "no index"]);
    world.clock.turn(Duration::from_mins(2));
    world.app.repair().await.unwrap();
    assert!(world.app.register(NAMES[1], PASSWORD, None, None, None).await.is_ok());
    // What could not be done is not forgotten.
    world.redis.raw::<i64>(&["DEL", &shard]);
    world.redis.raw::<i64>(&["HSET", &shard, NAMES[0], "?1"]);
    world.app.repair().await.unwrap();
    assert!(world.app.register(NAMES[0], PASSWORD, None, None, None).await.is_ok());
}
