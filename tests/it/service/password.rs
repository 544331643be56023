//! The queue for passwords: one address, or one account, does not keep others waiting for long.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use fanfold::app::App;
use fanfold::app::error::{Error, Reason, Rejection};
use fanfold::model::address::Address;
use futures::future::join_all;
use tokio::task::JoinSet;

use crate::harness::wait::eventually_async;
use crate::harness::world::{PASSWORD, World};

fn address(number: u8) -> Address {
    IpAddr::from(Ipv4Addr::new(203, 0, 113, number)).into()
}

async fn login(app: &App, name: &str, from: Address) -> Result<(), Error> {
    app.login(name, PASSWORD, None, Some(from)).await.map(drop)
}

fn is_busy(done: &Result<(), Error>) -> bool {
    matches!(done, Err(Error::Rejected(Rejection::Busy { .. })))
}

fn is_throttled(done: &Result<(), Error>) -> bool {
    let Err(Error::Rejected(Rejection::Rules(violations))) = done else { return false };
    violations[0].reason == Reason::Throttled
}

/// Connections that sign in again and again.
struct Flood {
    connections: JoinSet<()>,
    signed_in: Arc<AtomicUsize>,
}

impl Flood {
    async fn begin(app: &App, names: &[String], connections: usize, from: Address) -> Self {
        let signed_in = Arc::<AtomicUsize>::default();
        let mut flood = Self { connections: JoinSet::new(), signed_in: Arc::clone(&signed_in) };
        for number in 0..connections {
            let (app, name, signed_in) =
                (app.clone(), names[number % names.len()].clone(), Arc::clone(&signed_in));
            flood.connections.spawn(async move {
                loop {
                    let done = login(&app, &name, from).await;
                    signed_in.fetch_add(usize::from(done.is_ok()), Ordering::Relaxed);
                    tokio::task::yield_now().await;
                }
            });
        }
        assert!(eventually_async(async || flood.signed_in() >= names.len()).await);
        flood
    }

    fn signed_in(&self) -> usize {
        self.signed_in.load(Ordering::Relaxed)
    }
}

/// Asserts that most of the counts are no greater than this, and none is ten times as great: on a busy machine, a round
/// trip may take as long as many passwords.
fn assert_mostly(counts: &[usize], most: usize) {
    let small = counts.iter().filter(|count| **count <= most).count();
    let is_right = small > counts.len() * 3 / 4 && counts.iter().all(|count| *count <= 10 * most);
    assert!(is_right, "{counts:?}");
}

async fn people(world: &World, prefix: &str, count: usize) -> Vec<String> {
    let names: Vec<String> = (0..count).map(|number| format!("{prefix}{number}")).collect();
    for name in &names {
        world.register(name).await;
    }
    names
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn right_passwords_of_one_address_do_not_keep_others_from_signing_in() {
    let world = World::with(&["--password-workers", "1"]).await;
    let own = people(&world, "own", 15).await;
    let others = people(&world, "ann", 20).await;
    let mut flood = Flood::begin(&world.app, &own, 300, address(1)).await;
    let mut overtaken = Vec::new();
    for (name, number) in others.iter().zip(2..) {
        let before = flood.signed_in();
        let done = login(&world.app, name, address(number)).await;
        overtaken.push(flood.signed_in() - before);
        assert!(done.is_ok(), "{name}: {done:?}, after {overtaken:?}");
    }
    flood.connections.shutdown().await;
    // The password under way, and one more for each round trip that takes as long as that.
    assert_mostly(&overtaken, 6);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn behind_one_address_a_client_that_sends_very_many_does_not_delay_others() {
    let world = World::with(&["--password-workers", "1"]).await;
    let own = people(&world, "own", 3).await;
    let others = people(&world, "ann", 20).await;
    let mut flood = Flood::begin(&world.app, &own, 100, address(1)).await;
    let mut overtaken = Vec::new();
    for name in &others {
        let before = flood.signed_in();
        let done = login(&world.app, name, address(1)).await;
        overtaken.push(flood.signed_in() - before);
        assert!(done.is_ok(), "{name}: {done:?}, after {overtaken:?}");
    }
    flood.connections.shutdown().await;
    // Each of the three accounts may have its turn before.
    assert_mostly(&overtaken, 10);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crowd_behind_one_address_signs_in_with_a_retry_each() {
    let options = ["--password-workers", "1", "--password-queue-per-address", "10"];
    let world = World::with(&options).await;
    let names = people(&world, "ann", 40).await;
    let retries = AtomicUsize::new(0);
    let sign_in = async |name: &String| {
        loop {
            match login(&world.app, name, address(1)).await {
                done if is_busy(&done) => retries.fetch_add(1, Ordering::Relaxed),
                done => return done.unwrap(),
            };
        }
    };
    join_all(names.iter().map(sign_in)).await;
    let retries = retries.into_inner();
    assert!(retries >= 30, "only ten have a place at a time: {retries}");
    let buckets: Vec<String> = world.redis.raw(&["KEYS", "ff:*:login*"]);
    assert_eq!(buckets, Vec::<String>::new(), "a retry has taken no token");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_password_that_is_displaced_costs_nothing() {
    let world = World::with(&SHORT_QUEUE).await;
    let names = people(&world, "ann", 2).await;
    let wrong = async |name: String| {
        let done = world.app.login(&name, "wrong password", None, Some(address(1))).await;
        done.map(drop)
    };
    let attempts = join_all((0..6).map(|_| wrong(names[0].clone())));
    let newcomers = async {
        while world.app.waiting_passwords() < 5 {
            tokio::task::yield_now().await;
        }
        join_all((2..5).map(|number| login(&world.app, &names[1], address(number)))).await
    };
    let (attempts, newcomers) = futures::future::join(attempts, newcomers).await;
    assert!(newcomers.iter().all(Result::is_ok), "{newcomers:?}");
    let displaced = attempts.iter().filter(|done| is_busy(done)).count() as u64;
    assert_eq!(displaced, 3);
    assert_eq!(world.app.passwords_verified(), 6 - displaced + 3);
    // Those that were verified have taken tokens, of twenty.
    let left = async || {
        let mut left = 0;
        while !is_throttled(&wrong(names[0].clone()).await) {
            left += 1;
        }
        left
    };
    assert_eq!(left().await, 20 - (6 - displaced));
}

/// Makes six attempts from an address, while another client signs in from other addresses. Returns the number of those
/// that are displaced, and the results of the others.
async fn try_in_a_crowd(
    world: &World,
    attempt: impl AsyncFn(usize) -> Result<(), Error>,
) -> (usize, Vec<Result<(), Error>>) {
    let is_over = AtomicBool::new(false);
    let attempts = async {
        let attempts = join_all((0..6).map(async |number| attempt(number).await)).await;
        is_over.store(true, Ordering::Relaxed);
        attempts
    };
    let newcomers = async {
        for number in 101..104 {
            // Only a password that waits is displaced.
            while world.app.waiting_passwords() == 0 && !is_over.load(Ordering::Relaxed) {
                tokio::task::yield_now().await;
            }
            drop(login(&world.app, "ann0", address(number)).await);
        }
    };
    let (attempts, ()) = futures::future::join(attempts, newcomers).await;
    let (displaced, others): (Vec<_>, Vec<_>) = attempts.into_iter().partition(is_busy);
    (displaced.len(), others)
}

/// Repeats an attempt, each time with another number, until it is throttled. Returns the number of the others.
async fn count_until_throttled(attempt: impl AsyncFn(usize) -> Result<(), Error>) -> usize {
    let mut count = 0;
    while !is_throttled(&attempt(count).await) {
        count += 1;
    }
    count
}

/// Options of a server on which few passwords wait.
const SHORT_QUEUE: [&str; 6] =
    ["--password-workers", "1", "--password-queue", "5", "--password-queue-per-address", "6"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_registration_that_is_displaced_costs_nothing() {
    let world =
        World::with(&[&SHORT_QUEUE[..], &["--account-registrations-per-address", "6"]].concat()).await;
    people(&world, "ann", 1).await;
    for round in 1.. {
        let register = async |name: String| {
            world.app.register(&name, PASSWORD, None, None, None, Some(address(round))).await.map(drop)
        };
        let own = async |number| register(format!("own{round}_{number}")).await;
        let (displaced, others) = try_in_a_crowd(&world, own).await;
        assert!(others.iter().all(Result::is_ok), "{others:?}");
        let more =
            count_until_throttled(async |number| register(format!("more{round}_{number}")).await).await;
        assert_eq!(others.len() + more, 6, "the address registers as many as it may");
        // How many are displaced depends on the time that each takes.
        if displaced > 0 {
            break;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_recovery_that_is_displaced_costs_nothing() {
    let world = World::with(&[&SHORT_QUEUE[..], &["--password-failures-per-address", "6"]].concat()).await;
    people(&world, "ann", 1).await;
    for round in 1.. {
        let recover = async |_: usize| {
            world.app.recover_account("ann0", "no code", PASSWORD, Some(address(round))).await
        };
        let (displaced, others) = try_in_a_crowd(&world, &recover).await;
        let more = count_until_throttled(&recover).await;
        assert_eq!(others.len() + more, 6, "the address makes as many attempts as it may");
        if displaced > 0 {
            break;
        }
    }
}

#[tokio::test]
async fn right_passwords_are_counted_too_by_account_and_by_address() {
    let options = ["--password-successes-per-account", "30", "--password-successes-per-address", "40"];
    let world = World::with(&options).await;
    let names = people(&world, "ann", 3).await;
    let sign_in = async |name: &str, from: u8, most: usize| {
        for number in 0..most {
            let done = login(&world.app, name, address(from)).await;
            if is_throttled(&done) {
                return number;
            }
            done.unwrap();
        }
        most
    };
    let verified = world.app.passwords_verified();
    assert_eq!(sign_in(&names[0], 1, 100).await, 30);
    assert_eq!(sign_in(&names[0], 2, 100).await, 0, "an account has thirty, from any address");
    // Ten are left to the address, and twenty to each account in any case.
    assert_eq!(sign_in(&names[1], 1, 100).await, 20);
    assert_eq!(world.app.passwords_verified() - verified, 50, "rejected attempts are not verified");
    assert_eq!(sign_in(&names[2], 1, 20).await, 20);
    assert_eq!(sign_in(&names[1], 3, 100).await, 10, "elsewhere the account has the rest");
    world.clock.advance(Duration::from_mins(2));
    assert_eq!(sign_in(&names[0], 4, 100).await, 1);
    let buckets: Vec<String> = world.redis.raw(&["KEYS", "ff:*:login*"]);
    assert_eq!(buckets, Vec::<String>::new(), "rejected attempts do not count as wrong ones");
    world.clock.advance(Duration::from_hours(1));
    // Wrong ones take no tokens from it.
    for _ in 0..20 {
        let done = world.app.login(&names[2], "wrong password", None, Some(address(9))).await;
        assert!(done.is_err());
    }
    assert_eq!(sign_in(&names[2], 1, 100).await, 30);
}

#[tokio::test]
async fn changing_the_password_counts_as_a_right_one() {
    let world = World::with(&["--password-successes-per-account", "3"]).await;
    let mut viewer = world.app.register("ada", PASSWORD, None, None, None, None).await.unwrap().viewer;
    for _ in 0..3 {
        viewer = world.app.change_password(&viewer, PASSWORD, PASSWORD, None).await.unwrap().viewer;
    }
    let done = world.app.change_password(&viewer, PASSWORD, PASSWORD, None).await.map(drop);
    assert!(is_throttled(&done), "{done:?}");
    assert!(is_throttled(&login(&world.app, "ada", address(1)).await));
}
