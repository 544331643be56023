//! The servers that are compared, each with the configurations that are tried.

use std::env::current_exe;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::floor::Client;
use crate::free_port;
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

const TEXTBOOK: &str = "textbook async-graphql, ZMSCORE";
const MERCURIUS: &str = "mercurius with JIT, ZMSCORE";
const YOGA: &str = "graphql-yoga, ZMSCORE";
const PHP: &str = "PHP page, ZINTERSTORE";

/// Names of the relation strategies, as in options and as published.
const STRATEGIES: [(&str, &str); 2] = [("zinterstore", "ZINTERSTORE"), ("zmscore", "ZMSCORE")];

/// Numbers of connections to Redis and of threads that the floor tries.
const FLOORS: [(usize, usize); 4] = [(1, 1), (1, 2), (2, 2), (4, 2)];

/// Size of the cache of users, in bytes.
const CACHE: &str = "16777216";

/// Numbers of processes that the Node servers try.
const NODE_PROCESSES: [usize; 2] = [1, 2];

/// Numbers of processes that the PHP page tries.
const PHP_PROCESSES: [usize; 3] = [8, 4, 16];

/// Starts the servers whose names contain one of `only`, and Fanfold, which the others are compared with. Leaves out
/// servers whose runtime is not installed, with a note.
pub(crate) fn start(redis: &Redis, world: &World, only: &[String], tries_variants: bool) -> Vec<Peer> {
    let is_wanted =
        |name: &str| only.is_empty() || only.iter().any(|only| name.to_lowercase().contains(only));
    let mut peers: Vec<Peer> = STRATEGIES.iter().map(|names| fanfold(redis, *names)).collect();
    if is_wanted("cache") {
        peers.extend(STRATEGIES.iter().map(|names| cached(redis, *names)));
    }
    if is_wanted("floor") {
        for client in [Client::Common, Client::Own] {
            peers.extend(STRATEGIES.iter().map(|names| floor(redis, client, *names, tries_variants)));
        }
    }
    if is_wanted(TEXTBOOK) {
        peers.push(textbook(redis, world));
    }
    for (name, file) in [(MERCURIUS, "mercurius.mjs"), (YOGA, "yoga.mjs")] {
        if is_wanted(name) {
            peers.extend(node(redis, world, name, file, tries_variants));
        }
    }
    if is_wanted(PHP) {
        peers.extend(php(redis, world, tries_variants));
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

fn cached(redis: &Redis, (option, strategy): (&str, &str)) -> Peer {
    let server = Server::start(redis, &["--relation-strategy", option, "--redis-user-cache", CACHE]);
    Peer {
        name: format!("Fanfold with cache, {strategy}"),
        floor: floor_of(strategy),
        reads: &Read::ALL,
        is_exact: true,
        variants: vec![Variant { label: String::new(), server }],
    }
}

fn floor_of(strategy: &str) -> String {
    format!("floor, {strategy}")
}

fn floor(redis: &Redis, client: Client, (option, strategy): (&str, &str), tries_variants: bool) -> Peer {
    let start = |(connections, threads): &(usize, usize)| Variant {
        label: format!("{}, {}", counted(*threads, "thread"), counted(*connections, "Redis connection")),
        server: launch_self(&[
            "floor",
            &redis.url(),
            client.name(),
            option,
            &connections.to_string(),
            &threads.to_string(),
        ]),
    };
    let count = if tries_variants { FLOORS.len() } else { 1 };
    Peer {
        name: match client {
            Client::Common => floor_of(strategy),
            Client::Own => format!("floor on Fanfold's client, {strategy}"),
        },
        floor: floor_of(strategy),
        reads: &Read::ALL,
        is_exact: true,
        variants: FLOORS[..count].iter().map(start).collect(),
    }
}

fn textbook(redis: &Redis, world: &World) -> Peer {
    let server = launch_self(&["textbook", &redis.url(), &world.name_shards.to_string()]);
    Peer {
        name: TEXTBOOK.to_owned(),
        floor: floor_of("ZMSCORE"),
        reads: &Read::FIXED,
        is_exact: false,
        variants: vec![Variant { label: String::new(), server }],
    }
}

/// Starts a server in Node; `None` if Node or its packages are not installed.
fn node(redis: &Redis, world: &World, name: &str, file: &str, tries_variants: bool) -> Option<Peer> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/peers/node");
    let is_installed = directory.join("node_modules").exists()
        && Command::new("node").arg("--version").stdout(Stdio::null()).status().is_ok();
    if !is_installed {
        println!(
            "left out: {name}, because Node or the packages of {} are not installed",
            directory.display()
        );
        return None;
    }
    let start = |processes: &usize| Variant {
        label: counted(*processes, "process"),
        server: Server::launch(
            Command::new("node")
                .current_dir(&directory)
                .arg(file)
                .env("NODE_ENV", "production")
                .env("REDIS_URL", redis.url())
                .env("NAME_SHARDS", world.name_shards.to_string())
                .env("WORKERS", processes.to_string()),
        ),
    };
    let count = if tries_variants { NODE_PROCESSES.len() } else { 1 };
    Some(Peer {
        name: name.to_owned(),
        floor: floor_of("ZMSCORE"),
        reads: &Read::FIXED,
        is_exact: false,
        variants: NODE_PROCESSES[..count].iter().map(start).collect(),
    })
}

/// Starts the PHP page; `None` if PHP, its Redis extension or nginx is not installed.
fn php(redis: &Redis, world: &World, tries_variants: bool) -> Option<Peer> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/peers/php/serve.sh");
    if !Command::new(&script).arg("check").status().is_ok_and(|status| status.success()) {
        println!("left out: {PHP}, because php-fpm, its Redis extension or nginx is not installed");
        return None;
    }
    let start = |processes: &usize| Variant {
        label: counted(*processes, "process"),
        server: Server::launch(
            Command::new(&script)
                .env("PORT", free_port().to_string())
                .env("REDIS_URL", redis.url())
                .env("NAME_SHARDS", world.name_shards.to_string())
                .env("WORKERS", processes.to_string()),
        ),
    };
    let count = if tries_variants { PHP_PROCESSES.len() } else { 1 };
    Some(Peer {
        name: PHP.to_owned(),
        floor: floor_of("ZINTERSTORE"),
        reads: &[Read::Key],
        is_exact: false,
        variants: PHP_PROCESSES[..count].iter().map(start).collect(),
    })
}

/// Returns a number with a noun, such as "2 processes".
fn counted(number: usize, noun: &str) -> String {
    match (number, noun.ends_with('s')) {
        (1, _) => format!("1 {noun}"),
        (_, true) => format!("{number} {noun}es"),
        (_, false) => format!("{number} {noun}s"),
    }
}

/// Starts a server that is part of this program.
fn launch_self(arguments: &[&str]) -> Server {
    Server::launch(Command::new(current_exe().unwrap()).args(arguments).stderr(Stdio::inherit()))
}
