//! Searches for the worst request: generates valid documents from the schema, as an attacker would, and measures the
//! maximum usage of the server and of Redis.
//!
//! `cargo bench` checks 20,000 documents against all bounds; `cargo test` checks 2,000 against all bounds except time.
//! A document that exceeds a bound is minimised and printed.

#![allow(clippy::unwrap_used, reason = "a bench that cannot go on shall panic")]
#![allow(clippy::print_stdout, reason = "this is what it is for")]
#![allow(clippy::disallowed_methods, reason = "a bench measures time")]

#[path = "worst/document.rs"]
mod document;
mod ground;
#[path = "worst/lists.rs"]
mod lists;
#[path = "ground/people.rs"]
mod people;
#[path = "worst/usage.rs"]
mod usage;
#[path = "worst/world.rs"]
mod world;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use tokio::runtime;

use crate::document::{Choices, Generator};
use crate::ground::is_measured;
use crate::usage::{Usage, Worst};
use crate::world::{Sizes, World};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Maximum usage of any document.
const BOUNDS: Usage = Usage {
    redis_micros: 50_000,
    commands: 20_000,
    server_micros: 100_000,
    response_bytes: 8 << 20,
    resident_bytes: 64 << 20,
};

fn main() {
    let (cases, sizes) = if is_measured() { (20_000, Sizes::LARGE) } else { (2_000, Sizes::SMALL) };
    // A single thread, so that CPU time can be attributed to a request.
    let runtime =
        runtime::Builder::new_current_thread().enable_all().thread_stack_size(8 << 20).build().unwrap();
    let world = runtime.block_on(World::build(&sizes));
    let generator = Generator::new(world.pool());
    let worst = std::cell::RefCell::new(Worst::default());
    let mut runner = TestRunner::new_with_rng(
        Config {
            cases,
            failure_persistence: None,
            max_shrink_iters: 200,
            max_global_rejects: 10 * cases,
            ..Config::default()
        },
        proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
    );
    let choices = proptest::collection::vec(any::<u16>(), 1..600);
    let tried = runner.run(&choices, |choices| {
        let document = generator.document(&mut Choices::new(&choices), |text| world.is_admissible(text));
        let Some(document) = document else {
            return Err(TestCaseError::reject("too large however small its pages"));
        };
        let mut usage = runtime.block_on(world.measure(&document));
        // Other load on the machine may slow down one attempt, but hardly three.
        for _ in 1..3 {
            if usage.beyond(&bounds()).is_some() {
                usage = runtime.block_on(world.measure(&document));
            }
        }
        worst.borrow_mut().note(&usage, &document);
        match usage.beyond(&bounds()) {
            None => Ok(()),
            Some(which) => Err(TestCaseError::fail(format!("{which}: {usage:?}\n{}", document.text))),
        }
    });
    worst.borrow().print(cases);
    if let Err(error) = tried {
        panic!("{error}");
    }
}

/// Returns the bounds that documents are checked against. Tests have no bounds on time.
fn bounds() -> Usage {
    if is_measured() { BOUNDS } else { Usage { redis_micros: u64::MAX, server_micros: u64::MAX, ..BOUNDS } }
}
