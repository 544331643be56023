//! `fanfold memory`: reports memory usage by kind of data.

use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};

use crate::app::App;
use crate::app::memory::{Footprint, Usage};
use crate::cli::{Data, Outcome, say};
use crate::config::DataConfig;

/// Reports the memory that each kind of data takes in Redis.
///
/// Measures a sample of each kind, and extrapolates. Writes nothing, and may run alongside a server. A follow counts in
/// both lists that contain it. A reply or quote is its entry in the list of the post that it refers to. Visits are
/// those of the last day that had a visitor.
#[derive(Args, Debug)]
pub(super) struct Memory {
    /// Print JSON.
    #[arg(long, env = "FANFOLD_MEMORY_JSON")]
    json: bool,

    #[command(flatten)]
    data: DataConfig,
}

impl Memory {
    pub(super) async fn run(self) -> Outcome {
        let json = self.json;
        Data::work(self.data, async |app| report(app, json).await).await
    }
}

async fn report(app: &App, json: bool) -> Outcome {
    let usage = app.measure_memory().await?;
    say(&if json { print_json(&usage) } else { print_table(&usage) })?;
    Ok(ExitCode::SUCCESS)
}

fn print_json(usage: &Usage) -> String {
    let footprint = |footprint: &Footprint| -> Value {
        let Footprint { kind, count, sampled, bytes_each, encodings } = footprint;
        json!({
            "kind": kind,
            "count": count,
            "sampled": sampled,
            "bytesEach": bytes_each,
            "bytes": footprint.bytes(),
            "encodings": encodings,
        })
    };
    let footprints: Vec<Value> = usage.footprints.iter().map(footprint).collect();
    let json = json!({ "footprints": footprints, "bytes": usage.bytes(), "redisBytes": usage.redis_bytes });
    format!("{json:#}")
}

/// Formats a line for each kind, and the totals.
fn print_table(usage: &Usage) -> String {
    let mut lines = vec![line(["kind", "about", "bytes each", "bytes", "encoding"])];
    lines.extend(usage.footprints.iter().map(print_footprint));
    lines.push(line(["all kinds", "", "", &grouped(usage.bytes()), ""]));
    lines.push(line(["Redis", "", "", &grouped(usage.redis_bytes), ""]));
    lines.join("\n")
}

fn print_footprint(footprint: &Footprint) -> String {
    let Footprint { kind, count, sampled, bytes_each, encodings } = footprint;
    let bytes_each = if *sampled == 0 { String::new() } else { figure(*bytes_each) };
    let encodings = encodings.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    line([kind, &grouped(*count), &bytes_each, &grouped(footprint.bytes()), &encodings])
}

fn line([kind, count, bytes_each, bytes, encoding]: [&str; 5]) -> String {
    let line = format!("{kind:<15}{count:>14}{bytes_each:>13}{bytes:>18}  {encoding}");
    line.trim_end().to_owned()
}

/// Formats a number with a useful number of decimal places.
fn figure(figure: f64) -> String {
    if figure < 1.0 { format!("{figure:.2}") } else { format!("{figure:.1}") }
}

/// Formats a number with its digits in groups of three.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| std::str::from_utf8(group).unwrap_or_default())
        .collect();
    groups.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_numbers_have_more_digits() {
        assert_eq!([0.012_3, 0.999, 1.0, 72.04].map(figure), ["0.01", "1.00", "1.0", "72.0"]);
    }

    #[test]
    fn digits_are_in_groups_of_three() {
        assert_eq!([0, 12, 999, 1_000, 1_234_567].map(grouped), ["0", "12", "999", "1,000", "1,234,567"]);
    }
}
