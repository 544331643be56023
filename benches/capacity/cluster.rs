//! The memory that a key takes in a cluster, in addition to what it takes on a single server.

use std::net::TcpListener;
use std::thread::sleep;
use std::time::Duration;

use redis::{Connection, InfoDict, Pipeline, cmd};

use crate::ground::Redis;
use crate::world::{float, used};

/// Keys written in one pipeline.
const BATCH_SIZE: usize = 1_000;

/// Returns the additional bytes of a key.
pub(crate) fn bytes_per_key(keys: u64) -> f64 {
    let [port, bus] = free_ports();
    let bus = bus.to_string();
    let node = Redis::start_with(Some(port), &["--cluster-enabled", "yes", "--cluster-port", &bus]);
    let mut connection = node.client().get_connection().unwrap();
    cmd("CLUSTER").arg("ADDSLOTSRANGE").arg(0).arg(16_383).exec(&mut connection).unwrap();
    while !is_ready(&mut connection) {
        sleep(Duration::from_millis(50));
    }
    let single = Redis::start(None);
    bytes(&mut connection, keys) - bytes(&mut single.client().get_connection().unwrap(), keys)
}

fn is_ready(connection: &mut Connection) -> bool {
    let info: InfoDict = cmd("CLUSTER").arg("INFO").query(connection).unwrap();
    info.get::<String>("cluster_state").unwrap() == "ok"
}

/// Writes keys, and returns the bytes that each takes.
fn bytes(connection: &mut Connection, keys: u64) -> f64 {
    let before = used(connection);
    let numbers: Vec<u64> = (0..keys).collect();
    for numbers in numbers.chunks(BATCH_SIZE) {
        let mut pipeline = Pipeline::new();
        for number in numbers {
            pipeline.cmd("SET").arg(format!("ff:{{p{number}}}:post")).arg(1).ignore();
        }
        pipeline.exec(connection).unwrap();
    }
    (used(connection) - before) / float(keys)
}

/// Returns ports that no process listens on.
fn free_ports() -> [u16; 2] {
    let listeners = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    listeners.map(|listener| listener.local_addr().unwrap().port())
}
