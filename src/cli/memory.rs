//! `fanfold memory`: memory usage by kind of data.

use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};

use crate::app::App;
use crate::app::memory::{Footprint, Other, Usage};
use crate::cli::{Data, Outcome, say};
use crate::config::DataConfig;

/// Reports the memory that each kind of data takes in Redis, compared with a plain layout.
///
/// A sample of each kind is measured, then stored temporarily in a plain layout and measured in the same way. May run
/// beside a server. A follow counts in both of its lists; visits are those of the last day with a visitor.
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
    let other = |of: &Footprint, other: &Other| json!({ "layout": other.layout, "bytesEach": of.bytes_in(other), "times": other.times });
    let footprint = |footprint: &Footprint| -> Value {
        let Footprint { kind, count, sampled, bytes_each, encodings, others } = footprint;
        let others: Vec<Value> = others.iter().map(|one| other(footprint, one)).collect();
        json!({
            "kind": kind,
            "count": count,
            "sampled": sampled,
            "bytesEach": bytes_each,
            "bytes": footprint.bytes(),
            "encodings": encodings,
            "others": others,
        })
    };
    let footprints: Vec<Value> = usage.footprints.iter().map(footprint).collect();
    let json = json!({ "footprints": footprints, "bytes": usage.bytes(), "redisBytes": usage.redis_bytes });
    format!("{json:#}")
}

/// Prints a line for each kind, and another for each further layout that it is compared with.
fn print_table(usage: &Usage) -> String {
    let mut lines = vec![
        line(["", "about", "bytes", "bytes", "", "bytes", "times", ""]),
        line(["what", "how many", "each", "in all", "encoding", "each", "as much", "in another layout"]),
    ];
    for footprint in &usage.footprints {
        let Footprint { kind, count, bytes_each, encodings, others, .. } = footprint;
        let encodings = encodings.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        let own = [
            (*kind).to_owned(),
            grouped(*count),
            if *count == 0 { String::new() } else { figure(*bytes_each) },
            grouped(footprint.bytes()),
            encodings,
        ];
        let mut own = own.each_ref().map(String::as_str);
        let other = |other: &Other| (figure(footprint.bytes_in(other)), figure(other.times), other.layout);
        let others: Vec<_> = others.iter().map(other).collect();
        if others.is_empty() {
            lines.push(line([own[0], own[1], own[2], own[3], own[4], "", "", ""]));
        }
        for (each, times, layout) in &others {
            lines.push(line([own[0], own[1], own[2], own[3], own[4], each, times, layout]));
            own = [""; 5];
        }
    }
    lines.push(line(["all of these", "", "", &grouped(usage.bytes()), "", "", "", ""]));
    lines.push(line(["Redis in all", "", "", &grouped(usage.redis_bytes), "", "", "", ""]));
    lines.join("\n")
}

fn line([what, count, each, all, encoding, other, times, layout]: [&str; 8]) -> String {
    let line =
        format!("{what:<15}{count:>12}{each:>9}{all:>16}  {encoding:<20}{other:>9}{times:>9}  {layout}");
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
