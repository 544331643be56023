//! Memory of each kind of data, and CPU time of Redis, under several settings of Redis.
//!
//! `cargo bench --bench capacity` measures, and with `-- --write` writes `docs/capacity.md`, which computes the memory
//! and the load of deployments from the measurements. With `-- --page`, the bench writes the page again from the former
//! measurements, after a change of its text. The data are those of a part of the users, in the formats and with
//! the ids that they have among all users. `cargo test --bench capacity` only checks that the bench works.

#![allow(clippy::unwrap_used, reason = "a bench that cannot go on shall panic")]
#![allow(clippy::print_stdout, reason = "this is what it is for")]

#[path = "capacity/cluster.rs"]
mod cluster;
mod ground;
#[path = "capacity/report.rs"]
mod report;
#[path = "capacity/speed.rs"]
mod speed;
#[path = "capacity/world.rs"]
mod world;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::ground::{Redis, is_measured};
use crate::report::item::CLUSTER_KEY;
use crate::report::{Item, Measured, MeasuredSize, Settings};
use crate::speed::Effort;
use crate::world::{Lists, Sizes, World};

const PAGE: &str = "docs/capacity.md";
const MEASUREMENTS: &str = "benches/capacity/measured.json";
/// Numbers of users for which capacity is computed.
const USERS: [u64; 2] = [1_000_000, 100_000_000];
/// The settings under which memory is measured: Redis's defaults first.
const SETTINGS: [Settings; 4] = [
    Settings { zset_max_listpack_entries: 128, hash_max_listpack_value: 64 },
    Settings { zset_max_listpack_entries: 128, hash_max_listpack_value: 8_192 },
    Settings { zset_max_listpack_entries: 256, hash_max_listpack_value: 8_192 },
    Settings { zset_max_listpack_entries: 512, hash_max_listpack_value: 8_192 },
];
const LIST_LIMITS: [u32; 3] = [128, 256, 512];
const RECORD_LIMITS: [u32; 2] = [64, 8_192];
/// Lengths of lists on which commands are measured: one below each limit.
const LENGTHS: [u64; 3] = [100, 200, 400];

/// The amount of data of a measurement.
const MEASURED: Sizes = Sizes {
    users: 1_000,
    readers: 50,
    visitors: 20_000,
    region_shards: 10,
    keys: 100_000,
    lists: Lists { lengths: 50, entries: 20_000 },
    pause: Duration::from_millis(2_500),
};
/// The amount of data of a check that the bench works.
const CHECKED: Sizes = Sizes {
    users: 2,
    readers: 1,
    visitors: 20,
    region_shards: 1,
    keys: 100,
    lists: Lists { lengths: 2, entries: 100 },
    pause: Duration::ZERO,
};

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let (sizes, effort) = if is_measured() {
        (&MEASURED, Effort { rounds: 40, calls: 500 })
    } else {
        (&CHECKED, Effort { rounds: 1, calls: 10 })
    };
    if is_given("--page") {
        return write_page(&serde_json::from_str(&fs::read_to_string(path(MEASUREMENTS)).unwrap()).unwrap());
    }
    let measured = measure(sizes, effort).await;
    println!("{}", page(&measured));
    if is_given("--write") {
        let json = serde_json::to_string_pretty(&measured).unwrap();
        fs::write(path(MEASUREMENTS), json + "\n").unwrap();
        write_page(&measured);
    }
}

fn is_given(option: &str) -> bool {
    std::env::args().any(|argument| argument == option)
}

async fn measure(sizes: &Sizes, effort: Effort) -> Measured {
    let cluster_key = cluster::bytes_per_key(sizes.keys);
    let mut measured_sizes = Vec::new();
    for users in USERS {
        let mut size = measure_size(users, sizes).await;
        let bytes = vec![cluster_key; SETTINGS.len()];
        size.items.push(Item { name: CLUSTER_KEY.to_owned(), bytes });
        measured_sizes.push(size);
    }
    Measured {
        day: jiff::Timestamp::now().strftime("%F").to_string(),
        redis: version(),
        settings: SETTINGS.to_vec(),
        sizes: measured_sizes,
        list_limits: LIST_LIMITS.to_vec(),
        lists: speed::lists(&LIST_LIMITS, &LENGTHS, effort).await,
        record_limits: RECORD_LIMITS.to_vec(),
        records: speed::records(&RECORD_LIMITS, effort).await,
        costs: speed::costs(&options(SETTINGS[1]).each_ref().map(String::as_str), effort).await,
    }
}

/// Measures the memory of items under each of the settings.
async fn measure_size(users: u64, sizes: &Sizes) -> MeasuredSize {
    let mut items: Vec<Item> = Vec::new();
    for settings in SETTINGS {
        let options = options(settings);
        let redis = Redis::start_with(None, &options.each_ref().map(String::as_str));
        let measured = World::new(&redis, users, sizes).await.measure().await;
        for (index, (name, bytes)) in measured.into_iter().enumerate() {
            if items.len() == index {
                items.push(Item { name: name.to_owned(), bytes: Vec::new() });
            }
            items[index].bytes.push(bytes);
        }
    }
    MeasuredSize { users, items }
}

/// Returns command line options of Redis. All versions know these names, the older of the options' two names.
fn options(settings: Settings) -> [String; 4] {
    let Settings { zset_max_listpack_entries, hash_max_listpack_value } = settings;
    [
        "--zset-max-ziplist-entries".to_owned(),
        zset_max_listpack_entries.to_string(),
        "--hash-max-ziplist-value".to_owned(),
        hash_max_listpack_value.to_string(),
    ]
}

/// Returns the version of Redis.
fn version() -> String {
    let redis = Redis::start(None);
    let mut connection = redis.client().get_connection().unwrap();
    let info: redis::InfoDict = redis::cmd("INFO").arg("server").query(&mut connection).unwrap();
    info.get("redis_version").unwrap()
}

/// Returns the page with these measurements.
fn page(measured: &Measured) -> String {
    report::in_page(&fs::read_to_string(path(PAGE)).unwrap(), measured)
}

fn write_page(measured: &Measured) {
    fs::write(path(PAGE), page(measured)).unwrap();
}

fn path(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(file)
}
