//! What `measured.json` contains, and what is published of it.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

/// A measurement of all servers.
#[derive(Deserialize, Serialize)]
pub(crate) struct Measured {
    /// Day of the measurement, such as 2026-11-22.
    pub(crate) day: String,
    /// Number of processor cores, which load generator, server and Redis share.
    pub(crate) cores: usize,
    /// Version of Redis.
    pub(crate) redis: String,
    /// Version of Node; `None` if it is not installed.
    pub(crate) node: Option<String>,
    /// Version of PHP; `None` if it is not installed.
    pub(crate) php: Option<String>,
    /// Number of connections of the loads that measure throughput.
    pub(crate) connections: usize,
    pub(crate) rounds: usize,
    /// Duration of each load, in seconds.
    pub(crate) seconds: f64,
    pub(crate) reads: Vec<MeasuredRead>,
}

/// The measurements of one read.
#[derive(Deserialize, Serialize)]
pub(crate) struct MeasuredRead {
    pub(crate) name: String,
    pub(crate) query: String,
    pub(crate) servers: Vec<MeasuredServer>,
}

/// The measurements of one server at one read: medians of all rounds.
#[derive(Deserialize, Serialize)]
pub(crate) struct MeasuredServer {
    pub(crate) name: String,
    /// The configuration that was the fastest; empty if there is only one.
    pub(crate) configuration: String,
    /// Name of the floor that the server is compared with.
    pub(crate) floor: String,
    pub(crate) requests_per_second: f64,
    /// Requests per second as a ratio to the floor's; `None` if the floor was not measured.
    pub(crate) ratio: Option<Spread>,
    /// Median latency over one connection.
    pub(crate) p50_ms: f64,
    /// 99th percentile of the latency over one connection.
    pub(crate) p99_ms: f64,
    /// CPU time of the server and its child processes per request; `None` if the system does not report it.
    pub(crate) server_cpu_micros: Option<f64>,
    /// CPU time of Redis per request; `None` if the system does not report it.
    pub(crate) redis_cpu_micros: Option<f64>,
    /// Resident memory of the server and its child processes after the load; `None` if the system does not report it.
    pub(crate) memory_mib: Option<f64>,
}

/// The median of some values, and their range.
#[derive(Clone, Copy, Deserialize, Serialize)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
}

impl Spread {
    pub(crate) fn of(values: &[f64]) -> Self {
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(0.0, f64::max);
        Self { median: median(values), least, most }
    }
}

/// Returns the median; 0 if there are no values.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// Returns all measurements as text.
pub(crate) fn text(measured: &Measured) -> String {
    let mut text = String::new();
    for read in &measured.reads {
        let head = ["requests/s", "to floor", "p50 ms", "p99 ms", "server µs", "Redis µs", "MiB"];
        let head = head.map(|head| format!("{head:>12}")).concat();
        writeln!(text, "{:<40}{head}", read.name).unwrap();
        for server in &read.servers {
            let ratio = server.ratio.map_or(String::new(), |Spread { median, least, most }| {
                format!("{median:.2} ({least:.2}–{most:.2})")
            });
            let number = |value: Option<f64>, digits: usize| {
                value.map_or(String::new(), |value| format!("{value:.digits$}"))
            };
            let cells = [
                number(Some(server.requests_per_second), 0),
                ratio,
                number(Some(server.p50_ms), 2),
                number(Some(server.p99_ms), 2),
                number(server.server_cpu_micros, 0),
                number(server.redis_cpu_micros, 0),
                number(server.memory_mib, 0),
            ];
            let cells = cells.map(|cell| format!(" {cell:>11}")).concat();
            writeln!(text, "{:<40}{cells} {}", server.name, server.configuration).unwrap();
        }
    }
    text
}
