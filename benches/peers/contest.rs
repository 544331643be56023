//! Measures the servers in rounds.

use std::process::Command;
use std::thread::available_parallelism;
use std::time::Duration;

use rand::SeedableRng as _;
use rand::rngs::StdRng;
use rand::seq::SliceRandom as _;
use serde_json::Value;

use crate::ground::Redis;
use crate::load::{Exchange, Load, ask, load};
use crate::reads::Read;
use crate::report::{Measured, MeasuredRead, MeasuredServer, Spread};
use crate::roster::{Peer, Variant};
use crate::usage::{cpu, memory};
use crate::world::World;
use crate::writes::Writes;

/// Number of connections of the loads that measure throughput.
const CONNECTIONS: usize = 32;
/// Number of rounds in which a server's configurations are compared.
const TRIALS: usize = 9;

/// The servers, and what was measured of them.
pub(crate) struct Contest {
    peers: Vec<Peer>,
    entries: Vec<Entry>,
    /// Process id of Redis.
    redis: u32,
    redis_version: String,
    /// Duration of each load.
    time: Duration,
    writes: Writes,
    rng: StdRng,
}

/// A server's measurements of one read.
struct Entry {
    /// Index of the server.
    peer: usize,
    read: Read,
    exchanges: Vec<Exchange>,
    rounds: Vec<Round>,
}

/// One round's measurements of one server and read.
struct Round {
    /// Requests per second over [`CONNECTIONS`] connections.
    rate: f64,
    /// CPU microseconds of the server and of Redis per request over [`CONNECTIONS`] connections.
    cpu_micros: Option<[f64; 2]>,
    /// Median and 99th percentile of the latency over one connection, in milliseconds.
    latencies: [f64; 2],
}

impl Contest {
    /// Checks that all servers' responses equal Fanfold's.
    pub(crate) async fn begin(redis: &Redis, world: &World, peers: Vec<Peer>, time: Duration) -> Self {
        let mut entries = Vec::new();
        for read in Read::ALL {
            let requests = read.requests(world);
            let reference = ask(&peers[0].variants[0].server.address, &requests).await;
            for (index, peer) in peers.iter().enumerate().filter(|(_, peer)| peer.reads.contains(&read)) {
                let mut expected = Vec::new();
                for variant in &peer.variants {
                    expected = ask(&variant.server.address, &requests).await;
                    for (body, reference) in expected.iter().zip(&reference) {
                        compare(peer, read, body, reference);
                    }
                }
                let exchange = |(request, expected): (&Vec<u8>, Vec<u8>)| Exchange {
                    request: request.clone(),
                    expected,
                };
                let exchanges = requests.iter().zip(expected).map(exchange).collect();
                entries.push(Entry { peer: index, read, exchanges, rounds: Vec::new() });
            }
        }
        let writes = Writes::begin(redis, world);
        let (redis, redis_version) = identify(redis);
        Self { peers, entries, redis, redis_version, time, writes, rng: StdRng::seed_from_u64(1) }
    }

    /// Chooses each server's fastest configuration at the key read, and stops the others.
    pub(crate) async fn choose_variants(&mut self) {
        for index in 0..self.peers.len() {
            let entry = self.entries.iter().find(|entry| entry.peer == index).unwrap();
            let variants = &self.peers[index].variants;
            let mut rates = vec![Vec::new(); variants.len()];
            // The first trial is a warm-up.
            for trial in 0..=TRIALS {
                for (variant, rates) in variants.iter().zip(&mut rates).filter(|_| variants.len() > 1) {
                    let load = self.load(variant, entry, CONNECTIONS).await;
                    rates.extend((trial > 0).then(|| load.rate()));
                }
            }
            let rates: Vec<f64> = rates.iter().map(|rates| median(rates)).collect();
            let best = (0..rates.len()).max_by(|a, b| rates[*a].total_cmp(&rates[*b])).unwrap();
            let chosen = self.peers[index].variants.swap_remove(best);
            self.peers[index].variants = vec![chosen];
        }
    }

    /// Measures all servers in every round, after a warm-up.
    pub(crate) async fn run(&mut self, rounds: usize) -> Measured {
        for number in 0..=rounds {
            let mut order: Vec<usize> = (0..self.entries.len()).collect();
            order.shuffle(&mut self.rng);
            for index in order {
                let round = self.measure(&self.entries[index]).await;
                self.entries[index].rounds.extend((number > 0).then_some(round));
            }
        }
        self.measured(rounds)
    }

    async fn measure(&self, entry: &Entry) -> Round {
        let variant = &self.peers[entry.peer].variants[0];
        self.writes.turn(entry.read.has_writes());
        let used = || Some([cpu(variant.server.process.id())?, cpu(self.redis)?]);
        let before = used();
        let many = self.load(variant, entry, CONNECTIONS).await;
        let after = used();
        let mut requests = self.load(variant, entry, 1).await.requests;
        requests.sort_unstable();
        let quantile =
            |percent: usize| requests[(requests.len() - 1) * percent / 100].as_secs_f64() * 1_000.0;
        #[allow(clippy::cast_precision_loss, reason = "there are few requests")]
        let count = many.requests.len() as f64;
        let micros = |index: usize| {
            Some(after?[index].saturating_sub(before?[index]).as_secs_f64() * 1_000_000.0 / count)
        };
        Round {
            rate: many.rate(),
            cpu_micros: micros(0).zip(micros(1)).map(<[f64; 2]>::from),
            latencies: [quantile(50), quantile(99)],
        }
    }

    async fn load(&self, variant: &Variant, entry: &Entry, connections: usize) -> Load {
        load(&variant.server.address, &entry.exchanges, connections, self.time).await
    }

    fn measured(&self, rounds: usize) -> Measured {
        Measured {
            day: jiff::Timestamp::now().strftime("%F").to_string(),
            cores: available_parallelism().unwrap().get(),
            redis: self.redis_version.clone(),
            node: version("node", &["--version"]),
            php: version("php", &["-r", "echo PHP_VERSION;"]),
            connections: CONNECTIONS,
            rounds,
            seconds: self.time.as_secs_f64(),
            reads: Read::ALL.map(|read| self.measured_read(read)).into(),
        }
    }

    fn measured_read(&self, read: Read) -> MeasuredRead {
        let entries = self.entries.iter().filter(|entry| entry.read == read);
        MeasuredRead {
            name: read.name().to_owned(),
            query: read.query().to_owned(),
            servers: entries.map(|entry| self.measured_server(entry)).collect(),
        }
    }

    fn measured_server(&self, entry: &Entry) -> MeasuredServer {
        let peer = &self.peers[entry.peer];
        let of_rounds = |value: &dyn Fn(&Round) -> Option<f64>| {
            let values: Option<Vec<f64>> = entry.rounds.iter().map(value).collect();
            values.map(|values| median(&values))
        };
        let floor = self
            .entries
            .iter()
            .find(|other| other.read == entry.read && self.peers[other.peer].name == peer.floor);
        let ratios = floor.map(|floor| {
            let pairs = entry.rounds.iter().zip(&floor.rounds);
            spread(&pairs.map(|(round, floor)| round.rate / floor.rate).collect::<Vec<_>>())
        });
        #[allow(clippy::cast_precision_loss, reason = "memory is far below 2^53 bytes")]
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        let variant = &peer.variants[0];
        MeasuredServer {
            name: peer.name.clone(),
            configuration: variant.label.clone(),
            floor: peer.floor.clone(),
            requests_per_second: of_rounds(&|round| Some(round.rate)).unwrap(),
            ratio: ratios,
            p50_ms: of_rounds(&|round| Some(round.latencies[0])).unwrap(),
            p99_ms: of_rounds(&|round| Some(round.latencies[1])).unwrap(),
            server_cpu_micros: of_rounds(&|round| Some(round.cpu_micros?[0])),
            redis_cpu_micros: of_rounds(&|round| Some(round.cpu_micros?[1])),
            memory_mib: memory(variant.server.process.id()).map(mib),
        }
    }
}

/// Checks that a response equals Fanfold's.
fn compare(peer: &Peer, read: Read, body: &[u8], reference: &[u8]) {
    let json = |body: &[u8]| serde_json::from_slice::<Value>(body).unwrap_or_default();
    let is_equal = if peer.is_exact { body == reference } else { json(body) == json(reference) };
    let [body, reference] = [body, reference].map(String::from_utf8_lossy);
    assert!(is_equal, "{} answers the {} differently:\n{body}\n{reference}", peer.name, read.name());
}

/// Returns the process id and the version of Redis.
fn identify(redis: &Redis) -> (u32, String) {
    let info: redis::InfoDict =
        redis::cmd("INFO").query(&mut redis.client().get_connection().unwrap()).unwrap();
    (info.get("process_id").unwrap(), info.get("redis_version").unwrap())
}

/// Returns the version that a program prints; `None` if the program is not installed.
fn version(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).trim().trim_start_matches('v').to_owned())
}

/// Returns the median and the range of some values.
fn spread(values: &[f64]) -> Spread {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(0.0, f64::max);
    Spread { median: median(values), least, most }
}

/// Returns the median; 0 if there are no values.
fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}
