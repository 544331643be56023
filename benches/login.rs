//! Measures signing in beside a client that floods the server with passwords: the latency of other clients' sign-ins,
//! and of queries.
//!
//! `cargo bench` measures; `cargo test` only checks that the bench works, in a few rounds with few clients.
//! `FANFOLD_BENCH_PROGRAM` is the path of another `fanfold` to measure.

#![allow(clippy::unwrap_used, reason = "a bench that cannot go on shall panic")]
#![allow(clippy::print_stdout, reason = "this is what it is for")]
#![allow(clippy::disallowed_methods, reason = "a bench measures time")]

#[path = "ground/connection.rs"]
mod connection;
mod ground;
#[path = "ground/requests.rs"]
mod requests;
#[path = "ground/server.rs"]
mod server;
#[path = "ground/times.rs"]
mod times;

use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fanfold::app::App;
use fanfold::app::session::Opened;
use futures::future::{join, join_all};
use tokio::time::{interval, sleep};

use crate::connection::{Connection, request};
use crate::ground::{Redis, is_measured};
use crate::requests::send_at_rate;
use crate::server::Server;
use crate::times::Times;

/// The numbers of accounts, connections and rounds.
struct Sizes {
    /// Number of accounts of the flooding client, and of connections per account.
    accounts: usize,
    connections: usize,
    /// Number of rounds in which the flood and quiet alternate, and the duration of each turn.
    rounds: usize,
    round: Duration,
}

/// Queries per second, and the interval of other clients' sign-ins.
const QUERIES: u32 = 100;
const OTHERS_EVERY: Duration = Duration::from_millis(250);
/// Number of other clients.
const OTHERS: usize = 20;

const ATTACKER: &str = "x-forwarded-for: 203.0.113.1\r\n";

fn login(name: &str, head: &str) -> Vec<u8> {
    let input = format!("username: \"{name}\", password: \"correct horse\"");
    request(&format!("mutation {{ login(input: {{ {input} }}) {{ token userErrors {{ code }} }} }}"), head)
}

/// Argument of the process that floods the server.
const FLOOD: &str = "flood";

/// Signs in over all connections for some time, and retries at once after a rejection. Prints the numbers of responses
/// and of rejections for lack of capacity.
async fn flood(address: &str, accounts: usize, connections: usize, time: Duration) {
    let until = Instant::now() + time;
    let connections = (0..accounts * connections).map(async |number: usize| {
        let request = login(&format!("own{}", number % accounts), ATTACKER);
        let mut connection = Connection::new(address);
        let mut counts = [0; 2];
        while Instant::now() < until {
            let (status, _) = connection.send(&request).await;
            counts[usize::from(status != 200)] += 1;
        }
        counts
    });
    let counts = join_all(connections).await;
    let sum = |index: usize| counts.iter().map(|counts| counts[index]).sum::<usize>();
    println!("    the flood: {} answers, {} of them 503", sum(0) + sum(1), sum(1));
}

/// Signs in other clients one after another, each from its own address. Returns the duration of each; a rejection
/// because the server is busy counts as an hour.
async fn sign_in_others(address: &str, time: Duration) -> Vec<Duration> {
    let until = Instant::now() + time;
    let mut ticks = interval(OTHERS_EVERY);
    let mut times = Vec::new();
    for number in 0.. {
        ticks.tick().await;
        if Instant::now() >= until {
            break;
        }
        let other = number % OTHERS;
        let head = format!("x-forwarded-for: 198.51.100.{}\r\n", other + 1);
        let began = Instant::now();
        let (status, _) = Connection::new(address).send(&login(&format!("other{other}"), &head)).await;
        times.push(if status == 200 { began.elapsed() } else { Duration::from_hours(1) });
    }
    times
}

async fn register(app: &App, name: &str) -> Opened {
    app.register(name, "correct horse", None, None, None, None).await.unwrap()
}

async fn reader(app: &App) -> Vec<u8> {
    let reader = register(app, "reader").await;
    for number in 0..40 {
        let fan = register(app, &format!("fan{number}")).await;
        app.follow(&fan.viewer, reader.viewer.user().unwrap()).await.unwrap();
    }
    let query = "{ viewer { user { followers(first: 20) { nodes { displayName relation { status } } } } } }";
    request(query, &format!("authorization: Bearer {}\r\n", reader.token.expose()))
}

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [FLOOD, address, accounts, connections, seconds] =
        arguments.iter().map(String::as_str).collect::<Vec<_>>()[..]
    {
        let time = Duration::from_secs_f64(seconds.parse().unwrap());
        return flood(address, accounts.parse().unwrap(), connections.parse().unwrap(), time).await;
    }
    let sizes = if is_measured() {
        Sizes { accounts: 15, connections: 20, rounds: 4, round: Duration::from_secs(10) }
    } else {
        Sizes { accounts: 3, connections: 4, rounds: 1, round: Duration::from_millis(600) }
    };
    let redis = Redis::start(None);
    let app = redis.app(&[]).await;
    let server = Server::start(&redis, &["--http-trusted-proxies", "127.0.0.0/8"]);
    for (name, count) in [("own", sizes.accounts), ("other", OTHERS)] {
        for number in 0..count {
            register(&app, &format!("{name}{number}")).await;
        }
    }
    let read = Arc::new(vec![reader(&app).await]);
    let (mut reads, mut others) =
        ([Times::default(), Times::default()], [Times::default(), Times::default()]);
    for _ in 0..sizes.rounds {
        for floods in [false, true] {
            let flood = floods.then(|| {
                // The flood runs in a process of its own, so that it shares only the server.
                let numbers = [sizes.accounts, sizes.connections].map(|number| number.to_string());
                let seconds = (sizes.round + Duration::from_secs(1)).as_secs_f64().to_string();
                let mut flood = Command::new(std::env::current_exe().unwrap());
                flood.args([FLOOD, &server.address]).args(numbers).arg(seconds).spawn().unwrap()
            });
            sleep(Duration::from_millis(if floods { 500 } else { 0 })).await;
            let reading = send_at_rate(&server.address, QUERIES, sizes.round, Arc::clone(&read));
            let (read, signed_in) = join(reading, sign_in_others(&server.address, sizes.round)).await;
            reads[usize::from(floods)].0.extend(read);
            others[usize::from(floods)].0.extend(signed_in);
            if let Some(mut flood) = flood {
                assert!(flood.wait().unwrap().success());
            }
        }
    }
    println!(
        "{} connections that sign in to {} accounts from one address, {} rounds in turns with quiet",
        sizes.accounts * sizes.connections,
        sizes.accounts,
        sizes.rounds
    );
    println!("{:<54} {:>9} {:>9} {:>9}", "milliseconds", "median", "90 %", "most");
    for (times, what) in [(&others, "others sign in"), (&reads, "reads")] {
        for (times, beside) in times.iter().zip(["", ", beside the flood"]) {
            times.print(&format!("{what}{beside}"));
        }
        let [quiet, beside] = [0, 1].map(|index: usize| times[index].quantile(99));
        println!("99 %: {quiet:.2} and {beside:.2}, ratio {:.2}", beside / quiet);
    }
    let most = others[1].quantile(100);
    assert!(most < 3_600_000.0, "everybody else is let in");
}
