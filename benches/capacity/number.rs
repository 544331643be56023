//! Numbers as the page shows them.

/// Formats a whole number with separators.
pub(crate) fn count(number: f64) -> String {
    let digits = format!("{number:.0}");
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| std::str::from_utf8(group).unwrap_or_default())
        .collect();
    groups.join(",")
}

/// Formats a number with about three digits.
pub(crate) fn small(number: f64) -> String {
    match number {
        100.0.. => count(number),
        10.0.. => trimmed(&format!("{number:.1}")),
        0.1.. => trimmed(&format!("{number:.2}")),
        _ => format!("{number:.4}"),
    }
}

fn trimmed(number: &str) -> String {
    number.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Formats a number of bytes.
pub(crate) fn bytes(number: f64) -> String {
    let units = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    let (unit, name) = units.into_iter().find(|(unit, _)| number >= *unit).unwrap_or((1.0, "bytes"));
    format!("{} {name}", small(number / unit))
}

/// Formats cells of a row of a table.
pub(crate) fn cells(cells: impl Iterator<Item = String>) -> String {
    cells.map(|cell| format!(" {cell} |")).collect::<Vec<_>>().concat()
}

/// Breaks a paragraph or an entry of a list into lines as long as those of the other pages.
pub(crate) fn wrapped(text: &str) -> String {
    const WIDTH: usize = 120;
    let indent = if text.starts_with("- ") { "  " } else { "" };
    let (mut lines, mut line) = (String::new(), String::new());
    for word in text.split_whitespace() {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > WIDTH {
            lines += &(std::mem::replace(&mut line, indent.to_owned()) + "\n");
        } else if !line.is_empty() {
            line.push(' ');
        }
        line += word;
    }
    lines + &line + "\n"
}
