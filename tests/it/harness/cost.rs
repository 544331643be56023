//! What a request costs: round trips, and the commands that Redis executes.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::harness::world::{Person, World};

/// Number of times that a query is sent until everything is warm: until each master of a cluster has cached the
/// scripts.
const WARM: usize = 8;

/// Sends a query until everything is warm, and returns the cost of sending it once more: round trips without the one
/// that authenticates the viewer, and the commands that Redis has counted.
pub(crate) async fn cost(world: &World, viewer: &Person, query: &str) -> (u64, BTreeMap<String, u64>) {
    for _ in 0..WARM {
        world.data(Some(&viewer.token), query, Value::Null).await;
    }
    world.redis.raw::<String>(&["CONFIG", "RESETSTAT"]);
    let before = world.app.store().round_trips();
    world.data(Some(&viewer.token), query, Value::Null).await;
    (world.app.store().round_trips() - before - 1, counted(world))
}

/// Returns the number of calls of each command that Redis has counted.
pub(crate) fn counted(world: &World) -> BTreeMap<String, u64> {
    let stats: String = world.redis.raw(&["INFO", "commandstats"]);
    let line = |line: &str| {
        let (command, rest) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
        let command = command.to_owned();
        let quiet = ["config", "info", "client", "hello", "select"];
        let is_quiet = quiet.iter().any(|name| command.starts_with(name));
        (!is_quiet).then(|| (command, rest.split(',').next().unwrap().parse().unwrap()))
    };
    stats.lines().filter_map(line).collect()
}
