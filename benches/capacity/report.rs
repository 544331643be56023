//! The contents of `measured.json`, and the part of `docs/capacity.md` that shows them.

pub(crate) mod degree;
pub(crate) mod item;
mod number;
pub(crate) mod plan;

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use self::degree::{EXPONENT, FOLLOWERS, FOLLOWING, Lengths};
use self::item::{BY_INTERSECTION, BY_PROBE, CREATE_POST, FOLLOWERS_ENTRY, FOLLOWING_ENTRY, POST, READ_POST};
use self::number::{cells, count, small, wrapped};
use self::plan::{bytes_of, bytes_per_user};

/// All measurements.
#[derive(Deserialize, Serialize)]
pub(crate) struct Measured {
    /// Day of the measurement, such as 2026-11-22.
    pub(crate) day: String,
    /// Version of Redis.
    pub(crate) redis: String,
    /// The settings under which memory was measured.
    pub(crate) settings: Vec<Settings>,
    pub(crate) sizes: Vec<MeasuredSize>,
    /// Values of `zset-max-listpack-entries` under which `lists` were measured.
    pub(crate) list_limits: Vec<u32>,
    pub(crate) lists: Vec<MeasuredCommand>,
    /// Values of `hash-max-listpack-value` under which `records` were measured.
    pub(crate) record_limits: Vec<u32>,
    pub(crate) records: Vec<MeasuredCommand>,
    pub(crate) costs: Costs,
}

/// Settings of Redis.
#[derive(Clone, Copy, Deserialize, Serialize)]
pub(crate) struct Settings {
    pub(crate) zset_max_listpack_entries: u32,
    pub(crate) hash_max_listpack_value: u32,
}

/// The memory of items, if there are so many users.
#[derive(Deserialize, Serialize)]
pub(crate) struct MeasuredSize {
    pub(crate) users: u64,
    pub(crate) items: Vec<Item>,
}

/// The bytes of an item of one kind, under each of the settings.
#[derive(Deserialize, Serialize)]
pub(crate) struct Item {
    pub(crate) name: String,
    pub(crate) bytes: Vec<f64>,
}

/// The time that Redis takes for a command, under each limit.
#[derive(Deserialize, Serialize)]
pub(crate) struct MeasuredCommand {
    pub(crate) name: String,
    /// Length of the list; `None` for other commands.
    pub(crate) entries: Option<u64>,
    pub(crate) micros: Vec<f64>,
}

/// The CPU time that Redis takes for steps, in microseconds.
#[derive(Clone, Copy, Deserialize, Serialize)]
pub(crate) struct Costs {
    /// Reading the watermark.
    pub(crate) watermark: f64,
    /// The commands of a publish that need the slot of `{g}`.
    pub(crate) publish: f64,
    /// Delivering a post to a timeline.
    pub(crate) deliver: f64,
    /// Looking up a follower who has no timeline.
    pub(crate) skip: f64,
}

/// Beginning and end of the measured part of the page.
const MARKERS: [&str; 2] = ["<!-- measured: `make bench` writes this -->\n", "<!-- end of measured -->"];

/// Returns the page with the measured part replaced.
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
    let mut sections = vec![effect(measured), memory(measured), cpu(measured)];
    sections.push(format!("## Assumptions\n\n{}", plan::assumptions()));
    sections.extend(measured.sizes.iter().map(|size| plan::print(measured, size)));
    sections.push(format!("## The slot of `{{g}}`\n\n{}", plan::limits(&measured.costs)));
    sections.join("\n")
}

/// Describes the effect of the advised settings, the last ones.
fn effect(measured: &Measured) -> String {
    let mut text = "## Effect of the settings\n\n".to_owned();
    text += &wrapped(&format!("Measured on {}, with Redis {}.", measured.day, measured.redis));
    for size in &measured.sizes {
        text = text + "\n" + &wrapped(&saving(measured, size));
    }
    text + "\n" + &wrapped(&price(measured))
}

/// Describes what the advised settings save, each relative to the settings without it.
fn saving(measured: &Measured, size: &MeasuredSize) -> String {
    let last = measured.settings.len() - 1;
    let follow =
        |settings| bytes_of(size, FOLLOWING_ENTRY, settings) + bytes_of(size, FOLLOWERS_ENTRY, settings);
    let post = |settings| bytes_of(size, POST, settings);
    let user = |settings| bytes_per_user(size, settings);
    let pair = |after: f64, before: f64| format!("{} bytes instead of {}", count(after), count(before));
    format!(
        "With {} users, `hash-max-listpack-value {}` makes a post take {}, and then `zset-max-listpack-entries {}` a follow, \
         in both lists, {}. All data of a user take {}.",
        count(plan::users(size)),
        measured.settings[1].hash_max_listpack_value,
        pair(post(1), post(0)),
        measured.settings[last].zset_max_listpack_entries,
        pair(follow(last), follow(1)),
        pair(user(last), user(0)),
    )
}

/// Describes the commands that the advised settings slow down the most.
fn price(measured: &Measured) -> String {
    let change = |[before, after]: [f64; 2]| format!("{} µs instead of {}", small(after), small(before));
    let relations = |name| measured.extremes(name, Some(measured.longest()));
    let [_, after] = relations(BY_INTERSECTION);
    format!(
        "The price is CPU time. With `hash-max-listpack-value {}`, Redis creates a post in {}, and reads it in {}. With \
         `zset-max-listpack-entries {}`, and {} entries in both lists of a viewer, the relations of 50 users take {} by \
         `ZINTERSTORE`, and {} by `ZMSCORE`. By `ZINTERSTORE`, a core then looks up the relations of {} pages per second.",
        measured.record_limits[measured.record_limits.len() - 1],
        change(measured.extremes(CREATE_POST, None)),
        change(measured.extremes(READ_POST, None)),
        measured.list_limits[measured.list_limits.len() - 1],
        measured.longest(),
        change(relations(BY_INTERSECTION)),
        change(relations(BY_PROBE)),
        count(1e6 / after),
    )
}

impl Measured {
    /// Returns the length of the longest lists on which commands were measured.
    fn longest(&self) -> u64 {
        self.lists.iter().filter_map(|command| command.entries).max().unwrap_or(0)
    }

    /// Returns the microseconds of a command, under the first limit and under the last.
    fn extremes(&self, name: &str, entries: Option<u64>) -> [f64; 2] {
        let is = |command: &&MeasuredCommand| command.name == name && command.entries == entries;
        let found = self.lists.iter().chain(&self.records).find(is);
        let micros =
            |at: usize| found.and_then(|command| command.micros.get(at)).copied().unwrap_or(f64::NAN);
        [micros(0), micros(found.map_or(0, |command| command.micros.len() - 1))]
    }
}

/// Prints the bytes of each kind of item.
fn memory(measured: &Measured) -> String {
    let mut text = format!("## Memory\n\n{}", lengths(measured));
    let columns = measured.settings.iter().map(|settings| {
        let Settings { zset_max_listpack_entries, hash_max_listpack_value } = settings;
        format!("{zset_max_listpack_entries} / {hash_max_listpack_value}")
    });
    let columns = cells(columns);
    for size in &measured.sizes {
        let users = count(plan::users(size));
        writeln!(text, "\n| bytes, with the ids of {users} users |{columns}").unwrap();
        writeln!(text, "|---|{}", "---:|".repeat(measured.settings.len())).unwrap();
        for Item { name, bytes } in &size.items {
            let bytes = cells(bytes.iter().map(|bytes| small(*bytes)));
            writeln!(text, "| {name} |{bytes}").unwrap();
        }
    }
    text
}

/// Describes the lengths of lists of follows, which determine how many follows the settings affect.
fn lengths(measured: &Measured) -> String {
    let describe = |lengths: &Lengths| {
        format!("{} to {} (mean {:.0})", count(lengths.least), count(lengths.most), lengths.mean())
    };
    let mut limits: Vec<u32> =
        measured.settings.iter().map(|settings| settings.zset_max_listpack_entries).collect();
    limits.dedup();
    let shares = |lengths: &Lengths| {
        let share = |limit: &u32| format!("{:.0} %", 100.0 * lengths.share((*limit).into()));
        limits.iter().map(share).collect::<Vec<_>>().join(", ")
    };
    let all = limits.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    let columns = "Each column has the values of `zset-max-listpack-entries` and `hash-max-listpack-value`; the first \
         column has Redis's defaults. The bytes include keys and Redis's tables, but no fragmentation.";
    let lengths = format!(
        "The lengths of lists of follows are an assumption: a power law with exponent {EXPONENT}, as Kwak et al. found it for \
         followers on Twitter (2010). They are {} for followed users, and {} for followers. Of all entries, {} and {} are in \
         lists of at most {all} entries.",
        describe(&FOLLOWING),
        describe(&FOLLOWERS),
        shares(&FOLLOWING),
        shares(&FOLLOWERS),
    );
    wrapped(columns) + "\n" + &wrapped(&lengths)
}

/// Prints the time that Redis takes for commands.
fn cpu(measured: &Measured) -> String {
    let mut text = "## CPU time\n\n".to_owned();
    text += &wrapped(
        "Microseconds that Redis takes for a command, without the time for receiving it and responding: the least of many \
         rounds, in which the settings took turns.",
    );
    let tables = [
        ("zset-max-listpack-entries", &measured.list_limits, &measured.lists),
        ("hash-max-listpack-value", &measured.record_limits, &measured.records),
    ];
    for (setting, limits, commands) in tables {
        let columns = cells(limits.iter().map(u32::to_string));
        let ratio = format!("{} : {}", limits[limits.len() - 1], limits[0]);
        writeln!(text, "\n| `{setting}` |{columns} {ratio} |\n|---|{}---:|", "---:|".repeat(limits.len()))
            .unwrap();
        for MeasuredCommand { name, entries, micros } in commands {
            let entries = entries.map_or(String::new(), |entries| format!("; list of {entries}"));
            let columns = cells(micros.iter().map(|micros| small(*micros)));
            let ratio = micros[micros.len() - 1] / micros[0];
            writeln!(text, "| {name}{entries} |{columns} {ratio:.2} |").unwrap();
        }
    }
    text
}
