//! The printed table.

use std::fmt::Write as _;

use crate::report::{Measured, Spread};

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
