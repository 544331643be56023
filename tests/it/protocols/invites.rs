//! Registration with an invite: whatever runs concurrently and wherever it is interrupted, the invite never has more
//! users than uses, and loses no use.

use std::time::Duration;

use fanfold::app::App;
use fanfold::app::error::{Error, Reason, Rejection};
use fanfold::app::moderation::invite::NewInvite;
use fanfold::gate::Moment;
use fanfold::model::moderator::Moderator;
use proptest::prelude::*;
use tokio::runtime::Runtime;

use crate::harness::case::model_config;
use crate::harness::turnstile::{self, Actor, Event, events};
use crate::harness::world::{PASSWORD, World};

const NAMES: [&str; 3] = ["ada", "bob", "eve"];

const INVITED: [&str; 2] = ["--account-registration", "invite"];

async fn invite(world: &World, uses: u32) -> String {
    let wish = NewInvite { uses: uses.into(), expires_at: None, note: "" };
    let invite = world.app.create_invite(&Moderator::Operator, wish).await.unwrap();
    invite.code.as_str().to_owned()
}

async fn begin(world: &World, name: &'static str, code: &str) -> Actor {
    let code = code.to_owned();
    let work = async move |app: App| drop(app.register(name, PASSWORD, None, None, Some(&code), None).await);
    Actor::begin(&world.app, work).await
}

fn user_count(world: &World) -> usize {
    world.redis.raw::<Vec<String>>(&["KEYS", "ff:{u*}:user"]).len()
}

/// Registers users until the invite is used up, and returns their number.
async fn use_up(world: &World, code: &str) -> usize {
    for number in 0.. {
        let name = format!("other{number}");
        match world.app.register(&name, PASSWORD, None, None, Some(code), None).await {
            Ok(_) => {}
            Err(Error::Rejected(Rejection::Rules(rules))) => {
                assert_eq!(rules[0].reason, Reason::InviteInvalid, "{rules:?}");
                return number;
            }
            Err(error) => panic!("{error:?}"),
        }
    }
    unreachable!("an invite is used up at some time")
}

/// Returns the batches that a registration sends.
async fn batches(world: &World, name: &'static str, code: &str) -> Vec<&'static str> {
    let mut actor = begin(world, name, code).await;
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
async fn only_a_registration_that_needs_an_invite_makes_round_trips_for_it() {
    let open = World::new().await;
    let code = invite(&open, 1).await;
    let usual = [
        "register: name",
        "make user: ids",
        "record intents",
        "make user: reserve",
        "make user: create",
        "make user: settle",
        "drop intents",
    ];
    assert_eq!(batches(&open, "ada", &code).await, usual);
    let invited = World::with(&INVITED).await;
    let code = invite(&invited, 1).await;
    let mut more = usual.to_vec();
    more.insert(2, "invite: take");
    more.push("invite: finish");
    assert_eq!(batches(&invited, "ada", &code).await, more);
    // That the invite is used up is found before the password is hashed.
    assert_eq!(batches(&invited, "bob", &code).await, ["register: name"]);
}

#[tokio::test]
async fn a_registration_interrupted_at_any_step_costs_a_use_only_if_the_user_exists() {
    const USES: usize = 2;
    let world = World::with(&INVITED).await;
    let mut outcomes = Vec::new();
    for steps in 0.. {
        world.redis.raw::<String>(&["FLUSHALL"]);
        let code = invite(&world, USES as u32).await;
        let mut actor = begin(&world, "ada", &code).await;
        for _ in 0..steps {
            if actor.waits.is_some() {
                actor.step().await;
            }
        }
        let is_finished = actor.waits.is_none();
        actor.interrupt().await;
        let users = user_count(&world);
        outcomes.push(users);
        world.clock.advance(Duration::from_mins(2));
        let others = use_up(&world, &code).await;
        assert_eq!(users + others, USES, "interrupted after {steps} steps");
        assert_eq!(user_count(&world), USES);
        if is_finished {
            break;
        }
    }
    assert!(outcomes.len() > 12 && outcomes.contains(&0), "{outcomes:?}");
    assert_eq!(outcomes.last(), Some(&1));
}

#[tokio::test]
async fn a_use_in_progress_is_not_given_to_another() {
    let world = World::with(&INVITED).await;
    let code = invite(&world, 1).await;
    let mut actor = begin(&world, "ada", &code).await;
    actor.step_to(Moment::After, "invite: take").await;
    world.clock.advance(Duration::from_secs(5));
    assert_eq!(use_up(&world, &code).await, 0);
    actor.finish().await;
    assert_eq!(user_count(&world), 1);
    assert!(world.app.login("ada", PASSWORD, None, None).await.is_ok());
}

#[tokio::test]
async fn a_registration_that_stalls_creates_no_user_once_its_use_was_given_to_another() {
    let world = World::with(&INVITED).await;
    let code = invite(&world, 1).await;
    let mut actor = begin(&world, "ada", &code).await;
    // It has checked its deadline.
    actor.step_to(Moment::Before, "make user: create").await;
    world.clock.advance(Duration::from_secs(61));
    assert_eq!(use_up(&world, &code).await, 1);
    actor.finish().await;
    assert_eq!(user_count(&world), 1);
    world.app.repair().await.unwrap();
    assert!(world.app.login("ada", PASSWORD, None, None).await.is_err());
    assert_eq!(world.app.invites(&Moderator::Operator).await.unwrap()[0].used, 1);
}

#[tokio::test]
async fn a_registration_that_fails_returns_its_use_at_once() {
    let world = World::with(&INVITED).await;
    let code = invite(&world, 1).await;
    let mut actor = begin(&world, "ada", &code).await;
    actor.step_to(Moment::After, "make user: reserve").await;
    // It exceeds its deadline.
    world.clock.advance(Duration::from_secs(11));
    actor.finish().await;
    assert_eq!((user_count(&world), use_up(&world, &code).await), (0, 1));
}

#[tokio::test]
async fn a_counter_that_falls_back_returns_no_use() {
    let world = World::with(&INVITED).await;
    let code = invite(&world, 3).await;
    for name in ["ada", "bob"] {
        world.app.register(name, PASSWORD, None, None, Some(&code), None).await.unwrap();
    }
    world.redis.raw::<String>(&["SET", "ff:{g}:next:user", "0"]);
    assert_eq!(use_up(&world, &code).await, 1);
    assert_eq!(user_count(&world), 3);
}

#[tokio::test]
async fn listing_the_invites_returns_the_uses_of_users_who_do_not_exist() {
    let world = World::with(&INVITED).await;
    let code = invite(&world, 5).await;
    for (name, moment, batch) in [
        ("ada", Moment::After, "invite: take"),
        ("bob", Moment::After, "make user: reserve"),
        ("eve", Moment::After, "make user: create"),
    ] {
        let mut actor = begin(&world, name, &code).await;
        actor.step_to(moment, batch).await;
        actor.interrupt().await;
    }
    let used = async || world.app.invites(&Moderator::Operator).await.unwrap()[0].used;
    assert_eq!(used().await, 3);
    world.clock.advance(Duration::from_secs(61));
    assert_eq!((used().await, user_count(&world)), (1, 1));
}

async fn check(world: &World, uses: u32) -> Result<(), TestCaseError> {
    let users = user_count(world);
    prop_assert!(users <= uses as usize, "{} users of {} uses", users, uses);
    let invites = world.app.invites(&Moderator::Operator).await.unwrap();
    prop_assert_eq!(invites[0].used as usize, users, "as many uses are taken as there are users");
    let key = format!("ff:{{m}}:invite:{}:unfinished", invites[0].code.as_str());
    prop_assert!(!world.redis.raw::<bool>(&["EXISTS", &key]), "unfinished uses are left");
    let intents: Vec<String> = world.redis.raw(&["KEYS", "ff:*:intents"]);
    prop_assert!(intents.is_empty(), "intents are left");
    Ok(())
}

async fn play(world: &World, uses: u32, names: &[usize], events: &[Event]) {
    let code = invite(world, uses).await;
    let mut actors = Vec::new();
    for name in names {
        actors.push(begin(world, NAMES[*name], &code).await);
    }
    turnstile::play(world, &world.app, actors, events, |_, _| ()).await;
}

proptest! {
    #![proptest_config(model_config(100))]

    #[test]
    fn an_invite_has_as_many_users_as_uses_are_taken(
        uses in 1..3u32,
        names in proptest::collection::vec(0..NAMES.len(), 1..5),
        events in events(),
    ) {
        thread_local!(static HERE: (Runtime, World) = {
            let runtime = Runtime::new().unwrap();
            let world = runtime.block_on(World::with(&INVITED));
            (runtime, world)
        });
        HERE.with(|(runtime, world)| {
            world.redis.raw::<String>(&["FLUSHALL"]);
            runtime.block_on(async {
                play(world, uses, &names, &events).await;
                world.clock.advance(Duration::from_secs(61));
                world.app.repair().await.unwrap();
                check(world, uses).await
            })
        })?;
    }
}
