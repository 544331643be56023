//! What a Redis server has used.

use redis::{Connection, InfoDict, cmd};

/// Returns the processor time that Redis has used for commands, in seconds.
pub(crate) fn used(connection: &mut Connection) -> f64 {
    let info: InfoDict = cmd("INFO").arg("cpu").query(connection).unwrap();
    ["used_cpu_user_main_thread", "used_cpu_sys_main_thread"]
        .iter()
        .filter_map(|field| info.get::<f64>(field))
        .sum()
}
