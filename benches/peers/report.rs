//! The contents of `measured.json`, and what the README shows of them: a section of text, and a plot.

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

/// Beginning and end of the measured part of the README.
const MARKERS: [&str; 2] = ["<!-- measured: `make bench` writes this -->\n", "<!-- end of measured -->"];

/// Returns a page with the measured part replaced.
///
/// # Panics
/// If the page has no measured part.
pub(crate) fn in_page(page: &str, measured: &Measured) -> String {
    let [beginning, end] = MARKERS;
    let (before, rest) = page.split_once(beginning).expect("the page has a measured part");
    let (_, after) = rest.split_once(end).expect("the measured part ends");
    format!("{before}{beginning}{}{end}{after}", section(measured))
}

fn section(measured: &Measured) -> String {
    let Measured { day, cores, redis, connections, reads, .. } = measured;
    let versions = [("Node", &measured.node), ("PHP", &measured.php)];
    let versions = versions.map(|(name, version)| {
        version.as_ref().map_or(String::new(), |version| format!(", {name} {version}"))
    });
    let versions = versions.concat();
    let mut section = format!(
        "![Requests per second of each server](docs/performance.svg)\n\
         The *floor* is a hand-written handler that sends the same commands to Redis, without GraphQL. \
         To repeat: `make bench`.\n\
         Measured on {day}, all on {cores} cores: Redis {redis}{versions}. \
         Medians at {connections} connections; p50 at one.\n\n"
    );
    let columns = reads.iter().map(|read| format!(" {} requests/s | × floor (range) | p50 ms |", read.name));
    let columns: String = columns.collect();
    let first = reads.first().map_or("", |read| &read.name);
    writeln!(section, "| server |{columns} {first}: CPU µs, server + Redis | MiB |").unwrap();
    writeln!(section, "|---|{}---:|---:|", "---:|---:|---:|".repeat(reads.len())).unwrap();
    for server in servers(measured) {
        writeln!(section, "{}", row(measured, server)).unwrap();
    }
    section
}

/// Returns the servers at the first read, which all of them serve.
fn servers(measured: &Measured) -> &[MeasuredServer] {
    measured.reads.first().map_or(&[], |read| &read.servers)
}

fn is_fanfold(server: &MeasuredServer) -> bool {
    server.name.starts_with("Fanfold")
}

fn row(measured: &Measured, server: &MeasuredServer) -> String {
    let name = match server {
        server if is_fanfold(server) => format!("**{}**", server.name),
        server if server.configuration.is_empty() => server.name.clone(),
        server => format!("{} ({})", server.name, server.configuration),
    };
    let of_reads = measured.reads.iter().map(|read| {
        let found = read.servers.iter().find(|other| other.name == server.name);
        found.map_or(" – | – | – |".to_owned(), |server| {
            let MeasuredServer { requests_per_second, p50_ms, .. } = server;
            format!(" {} | {} | {p50_ms:.2} |", thousands(*requests_per_second), ratio(server))
        })
    });
    let of_reads: String = of_reads.collect();
    let cpu = server.server_cpu_micros.zip(server.redis_cpu_micros);
    let cpu = cpu
        .map_or("–".to_owned(), |(server, redis)| format!("{} + {}", thousands(server), thousands(redis)));
    let memory = server.memory_mib.map_or("–".to_owned(), |memory| format!("{memory:.0}"));
    format!("| {name} |{of_reads} {cpu} | {memory} |")
}

/// Returns the ratio to the floor with its range, unless the server is the floor.
fn ratio(server: &MeasuredServer) -> String {
    match server.ratio {
        Some(_) if server.floor == server.name => "1".to_owned(),
        Some(Spread { median, least, most }) => format!("{median:.2} ({least:.2}–{most:.2})"),
        None => "–".to_owned(),
    }
}

/// Formats a whole number with separators.
fn thousands(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Horizontal positions in the plot.
const WIDTH: f64 = 760.0;
const LEFT: f64 = 250.0;
/// Width of the longest bar, beside which there is room for its label.
const LONGEST: f64 = 350.0;
/// Height of a bar, and of a line.
const BAR: f64 = 16.0;
const LINE: f64 = 22.0;

const STYLE: &str = "text{font:13px system-ui,sans-serif;fill:#1f2328}.head{font-weight:600}.name{text-anchor:end}\
    .fanfold{fill:#2f74d0}.floor{fill:#848d97}.peer{fill:#c08a3e}.one{stroke:#848d97;stroke-dasharray:3 3}\
    @media(prefers-color-scheme:dark){text{fill:#e6edf3}}";

/// Draws each server's requests per second, as a ratio to its floor's.
pub(crate) fn plot(measured: &Measured) -> String {
    let median = |server: &MeasuredServer| server.ratio.map_or(0.0, |ratio| ratio.median);
    let all = measured.reads.iter().flat_map(|read| &read.servers);
    let scale = LONGEST / all.map(median).fold(1.0, f64::max);
    let (mut body, mut y) = (String::new(), 0.0);
    for read in &measured.reads {
        let title =
            format!("{}: requests per second, as a ratio to the floor with the same strategy", read.name);
        writeln!(body, r#"<text class="head" x="0" y="{}">{title}</text>"#, y + BAR).unwrap();
        let (top, one) = (y + LINE, LEFT + scale);
        for (server, line) in read.servers.iter().zip(1..) {
            let y = y + LINE * f64::from(line);
            body.push_str(&bar(server, y, scale * median(server)));
        }
        y = top + LINE * read.servers.iter().map(|_| 1.0).sum::<f64>();
        writeln!(body, r#"<line class="one" x1="{one:.1}" x2="{one:.1}" y1="{top}" y2="{y}"/>"#).unwrap();
        y += LINE / 2.0;
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {y}\" width=\"{WIDTH}\" height=\"{y}\" \
         role=\"img\" aria-label=\"Requests per second of each server\">\n<style>{STYLE}</style>\n{body}</svg>\n"
    )
}

/// Draws a server's bar with its labels.
fn bar(server: &MeasuredServer, y: f64, width: f64) -> String {
    let class = match server {
        server if is_fanfold(server) => "fanfold",
        server if server.floor == server.name => "floor",
        _ => "peer",
    };
    let MeasuredServer { name, requests_per_second, .. } = server;
    let (label, base) = (server.ratio.map_or(0.0, |ratio| ratio.median), y + BAR - 3.0);
    let rate = thousands(*requests_per_second);
    format!(
        "<text class=\"name\" x=\"{}\" y=\"{base}\">{name}</text>\
         <rect class=\"{class}\" x=\"{LEFT}\" y=\"{y}\" width=\"{width:.1}\" height=\"{BAR}\" rx=\"2\"/>\
         <text x=\"{:.1}\" y=\"{base}\">{label:.2} · {rate}/s</text>\n",
        LEFT - 8.0,
        LEFT + width + 8.0,
    )
}
