//! The floor's client of Redis. No other file of the floor sends commands.

use std::sync::atomic::{AtomicUsize, Ordering};

use redis::aio::{ConnectionLike as _, MultiplexedConnection};
use redis::{Client, Pipeline, Value};

/// Connections to Redis, used in turn. Each serves many requests at once.
pub(super) struct Link {
    connections: Vec<MultiplexedConnection>,
    next: AtomicUsize,
}

impl Link {
    pub(super) async fn open(url: &str, connections: usize) -> Self {
        let client = Client::open(url).unwrap();
        let mut opened = Vec::with_capacity(connections);
        for _ in 0..connections {
            opened.push(client.get_multiplexed_async_connection().await.unwrap());
        }
        Self { connections: opened, next: AtomicUsize::new(0) }
    }

    /// Sends commands in one round trip, and returns their replies.
    pub(super) async fn send(&self, commands: &Pipeline) -> Vec<Value> {
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        let mut connection = self.connections[turn % self.connections.len()].clone();
        connection.req_packed_commands(commands, 0, commands.len()).await.unwrap()
    }
}
