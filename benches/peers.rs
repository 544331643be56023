//! Compares Fanfold with other servers on the same data: with the *floor*, a handler written by hand that sends the
//! same commands to Redis, and with servers in other libraries and languages, each in its best documented
//! configuration.
//!
//! All servers read the keys that Fanfold has written, in one Redis. Their responses are compared before the load and
//! during it. In each round, every server is measured for a moment, in random order, and ratios compare the servers
//! within a round, so that other load on the machine affects all of them alike.
//!
//! `cargo bench --bench peers` measures, with the options of `Options` after `--`. `cargo test` starts every server
//! whose runtime is installed, and only checks that the responses are equal.

#![allow(clippy::unwrap_used, reason = "a bench that cannot go on shall panic")]
#![allow(clippy::print_stdout, reason = "this is what it is for")]
#![allow(clippy::disallowed_methods, reason = "a bench measures time")]

#[path = "peers/contest.rs"]
mod contest;
#[path = "peers/floor/mod.rs"]
mod floor;
mod ground;
#[path = "peers/load.rs"]
mod load;
#[path = "peers/reads.rs"]
mod reads;
#[path = "peers/report.rs"]
mod report;
#[path = "peers/roster.rs"]
mod roster;
#[path = "ground/server.rs"]
mod server;
#[path = "peers/table.rs"]
mod table;
#[path = "peers/textbook.rs"]
mod textbook;
#[path = "peers/usage.rs"]
mod usage;
#[path = "peers/world.rs"]
mod world;
#[path = "peers/writes.rs"]
mod writes;

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

use clap::Parser;
use tokio::runtime;

use crate::contest::Contest;
use crate::floor::Client;
use crate::ground::{Redis, is_measured};
use crate::report::Measured;
use crate::world::{Sizes, World};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Options of a measurement.
#[derive(Parser)]
pub(crate) struct Options {
    /// Number of rounds.
    #[arg(long, default_value_t = 31)]
    rounds: usize,
    /// Seconds for which a server is measured in each round, for each read and number of connections.
    #[arg(long, default_value_t = 0.25)]
    seconds: f64,
    /// Parts of the names of the servers to compare with Fanfold, separated by commas.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Write the measurements to `measured.json`, the README and its plot.
    #[arg(long, conflicts_with = "only")]
    write: bool,
    /// `cargo bench` passes this.
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["floor", redis, client, strategy, connections, threads] => {
            let [connections, threads] = [connections, threads].map(|count| count.parse().unwrap());
            let client = Client::named(client);
            floor::serve(redis, client, floor::strategy(strategy), connections, threads);
        }
        ["textbook", redis, name_shards] => textbook::serve(redis, name_shards.parse().unwrap()),
        _ if is_measured() => measure(&Options::parse()),
        _ => check(),
    }
}

/// Compares the servers' speed.
fn measure(options: &Options) {
    assert!(options.rounds > 0, "there is at least one round");
    let runtime = runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let redis = Redis::start(Some(free_port()));
    let world =
        runtime.block_on(World::build(&redis, &Sizes { users: 7_000, follows: 100_000, draws: 4_096 }));
    let peers = roster::start(&redis, &world, &options.only, true);
    let time = Duration::from_secs_f64(options.seconds);
    let measured = runtime.block_on(async {
        let mut contest = Contest::begin(&redis, &world, peers, time).await;
        contest.choose_variants().await;
        contest.run(options.rounds).await
    });
    print!("{}", table::text(&measured));
    if options.write {
        write(&measured);
    }
}

/// Writes the measurements, and the parts of the documents that show them.
fn write(measured: &Measured) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("README.md")).unwrap();
    let json = serde_json::to_string_pretty(measured).unwrap();
    fs::write(root.join("benches/peers/measured.json"), json + "\n").unwrap();
    fs::write(root.join("README.md"), report::in_page(&page, measured)).unwrap();
    fs::write(root.join("docs/performance.svg"), report::plot(measured)).unwrap();
}

/// Checks that all servers respond equally.
fn check() {
    let runtime = runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let redis = Redis::start(Some(free_port()));
    let world = runtime.block_on(World::build(&redis, &Sizes { users: 600, follows: 3_000, draws: 400 }));
    let peers = roster::start(&redis, &world, &[], false);
    runtime.block_on(async {
        let mut contest = Contest::begin(&redis, &world, peers, Duration::from_millis(10)).await;
        contest.run(1).await;
    });
}

/// Returns a TCP port that no process listens on.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
