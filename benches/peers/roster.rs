//! The servers that are compared, each with the configurations that are tried.

use std::env::current_exe;
use std::process::{Command, Stdio};

use crate::ground::Redis;
use crate::reads::Read;
use crate::server::Server;
use crate::world::World;

/// A server that is compared.
pub(crate) struct Peer {
    pub(crate) name: String,
    /// Name of the floor that the server is compared with.
    pub(crate) floor: String,
    pub(crate) reads: &'static [Read],
    /// True if the responses have the same bytes as Fanfold's, and not only equal JSON.
    pub(crate) is_exact: bool,
    /// Configurations, of which the fastest counts.
    pub(crate) variants: Vec<Variant>,
}

/// A running server.
pub(crate) struct Variant {
    /// What distinguishes the configuration; empty if there is only one.
    pub(crate) label: String,
    pub(crate) server: Server,
}

/// Names of the relation strategies, as in options and as published.
const STRATEGIES: [(&str, &str); 2] = [("zinterstore", "ZINTERSTORE"), ("zmscore", "ZMSCORE")];

/// Numbers of connections to Redis that the floor tries.
const CONNECTIONS: [usize; 3] = [1, 2, 4];

/// Starts the servers whose names contain one of `only`, and Fanfold, which the others are compared with.
pub(crate) fn start(redis: &Redis, world: &World, only: &[String], tries_variants: bool) -> Vec<Peer> {
    let is_wanted = |name: &str| only.is_empty() || only.iter().any(|only| name.contains(only.as_str()));
    let mut peers: Vec<Peer> = STRATEGIES.iter().map(|names| fanfold(redis, *names)).collect();
    if is_wanted("floor") {
        peers.extend(STRATEGIES.iter().map(|names| floor(redis, *names, tries_variants)));
    }
    peers
}

fn fanfold(redis: &Redis, (option, strategy): (&str, &str)) -> Peer {
    let server = Server::start(redis, &["--relation-strategy", option]);
    Peer {
        name: format!("Fanfold, {strategy}"),
        floor: floor_of(strategy),
        reads: &Read::ALL,
        is_exact: true,
        variants: vec![Variant { label: String::new(), server }],
    }
}

fn floor_of(strategy: &str) -> String {
    format!("floor, {strategy}")
}

fn floor(redis: &Redis, (option, strategy): (&str, &str), tries_variants: bool) -> Peer {
    let start = |connections: &usize| Variant {
        label: format!("connections to Redis: {connections}"),
        server: launch_self(&["floor", &redis.url(), option, &connections.to_string()]),
    };
    let count = if tries_variants { CONNECTIONS.len() } else { 1 };
    Peer {
        name: floor_of(strategy),
        floor: floor_of(strategy),
        reads: &Read::ALL,
        is_exact: true,
        variants: CONNECTIONS[..count].iter().map(start).collect(),
    }
}

/// Starts a server that is part of this program.
fn launch_self(arguments: &[&str]) -> Server {
    Server::launch(Command::new(current_exe().unwrap()).args(arguments).stderr(Stdio::inherit()))
}
