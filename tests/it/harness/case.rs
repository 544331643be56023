//! How much the randomised tests try, and with which random numbers: one place for all of them.
//!
//! A run takes two numbers from the environment. `FANFOLD_TEST_CASES` is the percentage of the full number of cases:
//! 10 by default, 100 in `make test-all`. `FANFOLD_TEST_SEED` is the seed from which they are drawn: by default a
//! committed one, so that a change does not fail by chance; a new one in each `make test-all`.

use std::str::FromStr;
use std::sync::LazyLock;
use std::thread;

use proptest::prelude::ProptestConfig;
use proptest::test_runner::{FileFailurePersistence, RngSeed};

use crate::harness::deployment::is_on_cluster;

static PERCENTAGE: LazyLock<u64> = LazyLock::new(|| from_env("FANFOLD_TEST_CASES").unwrap_or(10));
static SEED: LazyLock<u64> = LazyLock::new(|| from_env("FANFOLD_TEST_SEED").unwrap_or(1));

fn from_env<T: FromStr>(name: &str) -> Option<T> {
    let value = std::env::var(name).ok()?;
    Some(value.parse().unwrap_or_else(|_| panic!("{name} is a number, not {value}")))
}

/// Returns this run's share of a number, at least 1.
pub(crate) fn share(full: u64) -> u64 {
    (full * *PERCENTAGE).div_ceil(100).max(1)
}

/// Returns this run's share of a number of cases, and prints the command that repeats them, which is shown if the test
/// fails.
pub(crate) fn cases(full: u32) -> u32 {
    print_command();
    u32::try_from(share(full.into())).unwrap()
}

/// Returns the distance between the steps that a test takes which otherwise takes every step, or every few.
pub(crate) fn stride(full: usize) -> usize {
    full * usize::try_from(100 / (*PERCENTAGE).clamp(1, 100)).unwrap()
}

/// Returns all of these alternatives in a full run; otherwise one of them, another at each turn.
pub(crate) fn in_turns<T: Copy>(alternatives: &[T], turn: usize) -> Vec<T> {
    if *PERCENTAGE >= 100 { alternatives.to_vec() } else { vec![alternatives[turn % alternatives.len()]] }
}

/// Returns the seed of this run for a generator of random numbers, and prints the command that repeats them. Tests with
/// several generators pass a number for each.
pub(crate) fn seed(number: u64) -> u64 {
    print_command();
    // Seeds of successive runs must not share generators.
    SEED.wrapping_mul(1 << 20).wrapping_add(number)
}

#[allow(clippy::print_stdout, reason = "the output of a test is for the reader of its failure")]
fn print_command() {
    let deployment = if is_on_cluster() { "FANFOLD_TEST_DEPLOYMENT=cluster " } else { "" };
    let (seed, percentage, test) = (*SEED, *PERCENTAGE, test());
    println!(
        "to repeat: {deployment}FANFOLD_TEST_SEED={seed} FANFOLD_TEST_CASES={percentage} \
        cargo test --locked --test it -- --exact {test}"
    );
}

/// Returns the name of the test that runs on this thread.
pub(crate) fn test() -> String {
    thread::current().name().unwrap_or("main").to_owned()
}

/// Configures a model test with this run's share of a number of cases. A failure is shrunk for no longer than a minute
/// or two, so that it is reported before the developer gives up waiting. It is then added to a file of the test in
/// `proptest-regressions`, to be committed: later runs try it first.
pub(crate) fn model_config(full: u32) -> ProptestConfig {
    let file = format!("proptest-regressions/it/{}.txt", test().replace("::", "/"));
    ProptestConfig {
        cases: cases(full),
        rng_seed: RngSeed::Fixed(*SEED),
        max_shrink_iters: 2_000,
        max_shrink_time: 100_000,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(file.leak()))),
        ..ProptestConfig::default()
    }
}
