//! The world of `fanfold demo`, in process and behind a server.

use std::process::Command;

use crate::harness::server::{Server, command};
use crate::harness::world::{Redis, World};

/// A world made by `fanfold demo`, as `make run` makes it.
pub(crate) async fn demo_world() -> World {
    let world = World::new().await;
    let demo = Command::new(env!("CARGO_BIN_EXE_fanfold"))
        .args(["demo", "--redis-url", &world.redis.url()])
        .output()
        .unwrap();
    assert!(demo.status.success(), "{}", String::from_utf8_lossy(&demo.stderr));
    world
}

/// A server with the demo world.
pub(crate) fn demo_server() -> (Redis, Server) {
    let redis = Redis::start();
    let made = command(&["demo", "--redis-url", &redis.url()]).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    // A client falls far behind there, by very many posts.
    let server = Server::over(&redis, &["--post-publishes-per-author", "100000"]);
    (redis, server)
}
