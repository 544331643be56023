//! Attempts are limited by address alone, and no failure shows its cause.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use fanfold::app::App;
use fanfold::app::error::{Error, Reason, Rejection};
use fanfold::gate::Moment;
use fanfold::model::moderation::ActionNote;
use fanfold::model::moderator::Moderator;
use serde_json::Value;

use crate::api::recovery::{NEW, address, cancel, issued, issued_by_operator, recover_from, user_id, world};
use crate::harness::turnstile::Actor;
use crate::harness::world::{PASSWORD, World, codes};

#[tokio::test]
async fn attempts_are_limited_by_address_alone() {
    let world = World::with(&["--password-failures-per-address", "30"]).await;
    world.people(2).await;
    let code = issued_by_operator(&world, 2).await;
    for number in 0..30 {
        let name = if number % 2 == 0 { "ann1" } else { "nobody" };
        assert_eq!(recover_from(&world.app, name, "wrong", 1).await, Err(Reason::WrongCredentials));
    }
    assert_eq!(recover_from(&world.app, "ann1", &code, 1).await, Err(Reason::Throttled));
    for from in 2..5 {
        for _ in 0..10 {
            let done = recover_from(&world.app, "ann1", "wrong", from).await;
            assert_eq!(done, Err(Reason::WrongCredentials));
        }
    }
    // Sixty strangers' attempts lock neither the recovery nor the sign-in.
    assert!(world.app.login("ann1", PASSWORD, None, Some(address(5))).await.is_ok());
    assert_eq!(recover_from(&world.app, "ann1", &code, 6).await, Ok(()));
}

#[tokio::test]
async fn a_document_has_one_operation_with_a_password_and_this_is_one() {
    let world = World::new().await;
    let query =
        "mutation { a: recoverAccount(input: { username: \"a\", code: \"b\", newPassword: \"12345678\" }) {
        userErrors { code } } login(input: { username: \"a\", password: \"b\" }) { token } }";
    assert_eq!(codes(&world.ask(None, query, Value::Null).await), ["QUERY_TOO_COMPLEX"]);
}

/// Recovers an account step by step. Returns the batches that this sends, and the outcome.
async fn batches(world: &World, name: &'static str, code: &str) -> (Vec<&'static str>, bool) {
    let (code, done) = (code.to_owned(), Arc::new(AtomicUsize::new(0)));
    let note = Arc::clone(&done);
    let work = async move |app: App| {
        let is_ok = recover_from(&app, name, &code, 9).await.is_ok();
        note.fetch_add(usize::from(is_ok), Ordering::Relaxed);
    };
    let mut actor = Actor::begin(&world.app, work).await;
    let mut batches = Vec::new();
    while let Some(stop) = actor.waits {
        if stop.moment == Moment::Before {
            batches.push(stop.batch);
        }
        actor.step().await;
    }
    (batches, done.load(Ordering::Relaxed) == 1)
}

#[tokio::test]
async fn every_failure_makes_the_same_round_trips_and_hashes_the_password() {
    let (world, people) = world(6).await;
    let early = issued(&world, &people[0], &people[2]).await;
    let cancelled = issued(&world, &people[0], &people[3]).await;
    cancel(&world, &people[3]).await;
    let suspended = issued_by_operator(&world, 5).await;
    world.app.suspend_user(&Moderator::Operator, user_id(5), ActionNote::default()).await.unwrap();
    let code = issued_by_operator(&world, 6).await;
    let failures = [
        ("nobody", code.as_str()),
        ("no name", &code),
        ("ann5", "wrong"),
        ("ann5", &early),
        ("ann2", &early),
        ("ann3", &cancelled),
        ("ann4", &suspended),
        ("ann1", &code),
    ];
    for (name, code) in failures {
        let (sent, is_ok) = batches(&world, name, code).await;
        assert_eq!((&sent[..], is_ok), (&["recover: name", "recover: code"][..], false), "{name}");
    }
    let (sent, is_ok) = batches(&world, "ann5", &code).await;
    let all = ["recover: name", "recover: code", "moderator: log", "recover: account"];
    assert_eq!((&sent[..], is_ok), (&all[..], true));
    // A wrong name waits in the queue of passwords as a right one does: with a full queue, both are turned away.
    let busy = World::with(&["--password-workers", "1", "--password-queue", "1"]).await;
    busy.people(1).await;
    for name in ["ann0", "nobody"] {
        let crowd = (0..20).map(|number| busy.app.recover_account(name, "x", NEW, Some(address(number))));
        let done = futures::future::join_all(crowd).await;
        let is_busy = |done: &Result<(), Error>| matches!(done, Err(Error::Rejected(Rejection::Busy { .. })));
        assert!(done.iter().any(is_busy), "{name} is hashed");
    }
}
