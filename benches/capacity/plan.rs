//! The memory and the load of a deployment with many users: assumptions, and the arithmetic.

use std::fmt::Write as _;

use super::item::{
    ACCOUNT, BY_INTERSECTION, CLUSTER_KEY, FOLLOWERS_ENTRY, FOLLOWING_ENTRY, POST, REGION, TIMELINE_ENTRY,
    VIEWED_DAY, VISIT,
};
use super::number::{bytes, count, small, wrapped};
use super::{Costs, Item, Measured, MeasuredSize};

/// Number of users that a user follows, and number of a user's followers, on average.
pub(crate) const FOLLOWS: u64 = 200;
/// Number of posts of each user in Redis.
pub(crate) const POSTS: u64 = 50;
/// Number of posts in a timeline.
pub(crate) const TIMELINE: u64 = 1_000;
/// Number of days for which views of a profile are kept.
pub(crate) const DAYS_OF_VIEWS: u64 = 30;
/// Number of viewers of each profile on a day.
pub(crate) const VIEWS: u64 = 2;

/// Share of users who visit on a day, and share of users who have a timeline.
const ACTIVE: f64 = 0.1;
/// Number of posts that an active user publishes on a day.
const PUBLISHES: f64 = 2.0;
/// Number of times that an active user reads the timeline on a day.
const READS: f64 = 20.0;
/// Load at the peak, relative to the average.
const PEAK: f64 = 5.0;
/// Number of followers of an author who publishes: active users have more followers than others.
const AUDIENCE: f64 = 400.0;
const SECONDS_PER_DAY: f64 = 86_400.0;
/// Bytes of data on a master. A process that saves the data, the buffers of replicas and fragmentation need about half
/// as much again.
const MASTER: f64 = 20e9;
/// Least number of masters of a cluster.
const LEAST_MASTERS: f64 = 3.0;
/// Number of times per second that a server reads the watermark at most, with the default `--timeline-watermark-age`.
const WATERMARKS: f64 = 100.0;

/// Number of days whose visits are in Redis: today, and the last day until it is archived.
const DAYS_OF_VISITS: f64 = 2.0;

/// Returns each kind of item, with the number of items per user.
fn per_user() -> [(&'static str, f64); 9] {
    [
        (FOLLOWING_ENTRY, float(FOLLOWS)),
        (FOLLOWERS_ENTRY, float(FOLLOWS)),
        (POST, float(POSTS)),
        (TIMELINE_ENTRY, ACTIVE * float(TIMELINE)),
        (ACCOUNT, 1.0),
        (VIEWED_DAY, float(DAYS_OF_VIEWS)),
        (VISIT, ACTIVE * DAYS_OF_VISITS),
        (REGION, 1.0),
        (CLUSTER_KEY, keys_per_user()),
    ]
}

/// Returns the number of keys per user, without the few that many users share.
fn keys_per_user() -> f64 {
    /// `following` and `followers`; `posts`, `posts:times` and `recent`; `user`, `secret` and `sessions`.
    const ALWAYS: f64 = 8.0;
    ALWAYS + float(POSTS) + ACTIVE + float(DAYS_OF_VIEWS)
}

/// Describes the assumptions.
pub(crate) fn assumptions() -> String {
    let (active, master, timeline) = (percent(ACTIVE), bytes(MASTER), count(float(TIMELINE)));
    let users = format!(
        "Each user follows {FOLLOWS} others, has {POSTS} posts in Redis and one session. A profile has {VIEWS} viewers a day, \
         whom Redis keeps for {DAYS_OF_VIEWS} days. On a day, {active} of all users visit, and as many have a timeline of \
         {timeline} posts. Each of them publishes {PUBLISHES} posts, which reach {AUDIENCE} followers on average, and reads the \
         timeline {READS} times. The peak is {PEAK} times the average. Redis keeps the visits of {DAYS_OF_VISITS} days."
    );
    let servers = format!(
        "A master has {master} of data, on a machine with half as much memory again: for the process that saves the data, \
         the buffers of replicas, and fragmentation. Each master has one replica."
    );
    wrapped("All of these are estimates; compute with your own.")
        + "\n"
        + &wrapped(&users)
        + "\n"
        + &wrapped(&servers)
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// Prints the arithmetic for a deployment.
pub(crate) fn print(measured: &Measured, size: &MeasuredSize) -> String {
    let advised = measured.settings.len() - 1;
    let mut text = format!("## {} users\n\n", count(users(size)));
    text.push_str(
        "| data | items per user | bytes each | bytes per user | in all |\n|---|---:|---:|---:|---:|\n",
    );
    for (name, items) in per_user() {
        let each = bytes_of(size, name, advised);
        let all = bytes(items * each * users(size));
        writeln!(text, "| {name} | {} | {} | {} | {all} |", small(items), small(each), count(items * each))
            .unwrap();
    }
    let per_user = bytes_per_user(size, advised);
    writeln!(text, "| **sum** | | | **{}** | **{}** |\n", count(per_user), bytes(per_user * users(size)))
        .unwrap();
    text + &servers(measured, size) + "\n" + &load(measured, users(size))
}

/// Prints the number of servers under each of the settings.
fn servers(measured: &Measured, size: &MeasuredSize) -> String {
    let mut text = String::from(
        "| `zset-max-listpack-entries` | `hash-max-listpack-value` | bytes per user | in all | masters | with replicas |\n\
         |---:|---:|---:|---:|---:|---:|\n",
    );
    for (index, settings) in measured.settings.iter().enumerate() {
        let per_user = bytes_per_user(size, index);
        let all = per_user * users(size);
        let needed = (all / MASTER).ceil();
        let masters = if needed > 1.0 { needed.max(LEAST_MASTERS) } else { 1.0 };
        let least = if masters > needed { format!(" ({needed:.0} would do)") } else { String::new() };
        writeln!(
            text,
            "| {} | {} | {} | {} | {} ÷ {} → {}{least} | {} |",
            settings.zset_max_listpack_entries,
            settings.hash_max_listpack_value,
            count(per_user),
            bytes(all),
            bytes(all),
            bytes(MASTER),
            count(masters),
            count(2.0 * masters),
        )
        .unwrap();
    }
    text
}

/// Prints the load at the peak, and the cores that it takes.
fn load(measured: &Measured, users: f64) -> String {
    let active = users * ACTIVE;
    let at_peak = |per_day: f64| (active * per_day * PEAK / SECONDS_PER_DAY).round();
    let (publishes, reads) = (at_peak(PUBLISHES), at_peak(READS));
    let rate = |per_day: f64, rate: f64| {
        let (active, seconds) = (count(active), count(SECONDS_PER_DAY));
        format!("{active} × {per_day} × {PEAK} ÷ {seconds} s = **{}/s**.", count(rate))
    };
    let lines = [
        format!("- Publishes: {}", rate(PUBLISHES, publishes)),
        format!("- Timeline reads: {}", rate(READS, reads)),
        deliveries("Timelines written", publishes, ACTIVE, measured.costs.deliver),
        deliveries("Followers without a timeline", publishes, 1.0 - ACTIVE, measured.costs.skip),
        relations(reads, measured.extremes(BY_INTERSECTION, Some(measured.longest()))),
        format!(
            "- Publishes, on the master of the slot of `{{g}}`: {}.",
            cores(publishes, measured.costs.publish)
        ),
    ];
    let lines = lines.map(|line| wrapped(&line)).concat();
    format!("At the peak, with the CPU time of all masters together:\n\n{lines}")
}

/// Describes the deliveries to a share of all followers.
fn deliveries(what: &str, publishes: f64, share: f64, micros: f64) -> String {
    let rate = publishes * AUDIENCE * share;
    let (publishes, share) = (count(publishes), percent(share));
    format!(
        "- {what}: {publishes}/s × {AUDIENCE} × {share} = **{}/s**; {}.",
        count(rate),
        cores(rate, micros)
    )
}

/// Describes the relations that are read with timelines, under the first limit and under the last.
fn relations(reads: f64, micros: [f64; 2]) -> String {
    let [before, after] = micros.map(|micros| cores(reads, micros));
    format!(
        "- Relations of 50 users, once per timeline read, if all lists were as long as the longest measured: {after}; with \
         Redis's defaults, {before}."
    )
}

/// Describes the cores that calls take.
fn cores(rate: f64, micros: f64) -> String {
    format!("{}/s × {} µs = {} cores", count(rate), small(micros), small(rate * micros / 1e6))
}

/// Describes the limits of the slot of `{g}`, which do not grow with the number of masters.
pub(crate) fn limits(costs: &Costs) -> String {
    let Costs { watermark, publish, .. } = *costs;
    let (publishes, servers) = (1e6 / publish, 1e6 / WATERMARKS / watermark);
    wrapped(&format!(
        "The slot of `{{g}}` is on one master, which all publishes and timeline reads need. A server reads the watermark at \
         most {WATERMARKS} times per second, however many timelines it serves. If the core of this master did nothing else, it \
         would take {} publishes per second (1 s ÷ {} µs), or the timeline reads of {} server processes (1 s ÷ {WATERMARKS} ÷ \
         {} µs). The commands were measured one by one, over one connection; if many arrive together, each takes less.",
        count(publishes),
        small(publish),
        count(servers),
        small(watermark),
    ))
}

/// Returns the bytes of a user's data under the settings at an index.
pub(crate) fn bytes_per_user(size: &MeasuredSize, settings: usize) -> f64 {
    per_user().iter().map(|(name, items)| items * bytes_of(size, name, settings)).sum()
}

/// Returns the bytes of an item under the settings at an index.
pub(crate) fn bytes_of(size: &MeasuredSize, name: &str, settings: usize) -> f64 {
    let is = |item: &&Item| item.name == name;
    size.items.iter().find(is).map_or(f64::NAN, |item| item.bytes[settings])
}

pub(crate) fn users(size: &MeasuredSize) -> f64 {
    float(size.users)
}

#[expect(clippy::cast_precision_loss, reason = "a displayed number")]
fn float(number: u64) -> f64 {
    number as f64
}
