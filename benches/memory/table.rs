//! The table that the bench prints.

use fanfold::app::memory::{Footprint, Usage};

use crate::sample::Ratio;

/// Prints a line for each kind, and another for each further layout that it is compared with.
pub(crate) fn print(usage: &Usage, ratios: &[Ratio]) -> String {
    let mut lines = vec![
        line(["", "about", "bytes", "bytes", "", "bytes", "times", ""]),
        line(["kind", "how many", "each", "in all", "encoding", "each", "as much", "in another layout"]),
    ];
    lines.extend(usage.footprints.iter().flat_map(|footprint| print_footprint(footprint, ratios)));
    lines.push(line(["all kinds", "", "", &grouped(usage.bytes()), "", "", "", ""]));
    lines.push(line(["Redis", "", "", &grouped(usage.redis_bytes), "", "", "", ""]));
    lines.join("\n")
}

fn print_footprint(footprint: &Footprint, ratios: &[Ratio]) -> Vec<String> {
    let Footprint { kind, count, bytes_each, encodings, .. } = footprint;
    let encodings = encodings.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    let own =
        [(*kind).to_owned(), grouped(*count), figure(*bytes_each), grouped(footprint.bytes()), encodings];
    let mut own = own.each_ref().map(String::as_str);
    let mut lines = Vec::new();
    for Ratio { layout, times, .. } in ratios.iter().filter(|ratio| ratio.kind == *kind) {
        let [kind, count, each, all, encodings] = own;
        lines.push(line([
            kind,
            count,
            each,
            all,
            encodings,
            &figure(bytes_each * times),
            &figure(*times),
            layout,
        ]));
        own = [""; 5];
    }
    lines
}

fn line([kind, count, each, all, encoding, other, times, layout]: [&str; 8]) -> String {
    let line =
        format!("{kind:<20}{count:>12}{each:>9}{all:>16}  {encoding:<20}{other:>9}{times:>9}  {layout}");
    line.trim_end().to_owned()
}

/// Formats a number with a useful number of decimal places.
fn figure(figure: f64) -> String {
    if figure < 1.0 { format!("{figure:.2}") } else { format!("{figure:.1}") }
}

/// Formats a number with its digits in groups of three.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|group| std::str::from_utf8(group).unwrap()).collect();
    groups.join(",")
}
