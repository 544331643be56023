//! A master with a replica, watched by three sentinels.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::harness::cluster::free_ports;
use crate::harness::instance::{Instance, program};

/// Name of the master.
const NAME: &str = "main";

/// Two servers and their sentinels.
pub(crate) struct Watched {
    /// The first master, and its replica.
    pub(crate) servers: [Instance; 2],
    ports: [u16; 2],
    sentinels: [Child; 3],
    sentinel_ports: [u16; 3],
    directory: TempDir,
}

impl Watched {
    pub(crate) fn start() -> Self {
        let ports: [u16; 2] = free_ports();
        let [first, second] = ports.map(|port| port.to_string());
        let bound = ["--bind", "127.0.0.1", "--repl-diskless-sync-delay", "0"];
        let master = Instance::start(&[&["--port", &first][..], &bound].concat());
        let replica = ["--port", &second, "--replicaof", "127.0.0.1", &first];
        let replica = Instance::start(&[&replica[..], &bound].concat());
        let (directory, sentinel_ports) = (tempfile::tempdir().unwrap(), free_ports());
        let sentinels = sentinel_ports.map(|port| sentinel(&directory, port, ports[0]));
        let watched = Self { servers: [master, replica], ports, sentinels, sentinel_ports, directory };
        watched.wait_until(|| {
            let state: String = watched.servers[1].raw(&["INFO", "replication"]);
            state.contains("master_link_status:up")
                && watched.sentinel_ports.iter().all(|port| knows_all(*port))
        });
        watched
    }

    fn wait_until(&self, is_true: impl Fn() -> bool) {
        for _ in 0..1_500 {
            if is_true() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("the sentinels of {} do not agree", self.directory.path().display());
    }

    pub(crate) fn url(&self) -> String {
        let hosts = self.sentinel_ports.map(|port| format!("127.0.0.1:{port}"));
        format!("redis-sentinel://{}/{NAME}", hosts.join(","))
    }

    /// Asks for a failover from a master that still runs.
    pub(crate) fn fail_over(&self) {
        ask::<()>(self.sentinel_ports[0], &["SENTINEL", "FAILOVER", NAME]).unwrap();
    }

    /// Waits until all sentinels name this server as the master.
    pub(crate) fn wait_for_master(&self, server: usize) {
        let names = |port: &u16| {
            let asked = ["SENTINEL", "GET-MASTER-ADDR-BY-NAME", NAME];
            ask::<(String, u16)>(*port, &asked).is_ok_and(|(_, port)| port == self.ports[server])
        };
        self.wait_until(|| self.sentinel_ports.iter().all(names));
    }

    /// Returns the connections to a server, except those of sentinels and of this call.
    pub(crate) fn clients_of(&self, server: usize) -> Vec<String> {
        let clients: String = self.servers[server].raw(&["CLIENT", "LIST"]);
        let is_other = |line: &&str| {
            // Redis 6.2 omits the `|list`.
            let this = ["cmd=client|list", "cmd=client user"];
            let words = ["name=sentinel-", "cmd=replconf", "cmd=psync", "flags=M", "flags=S"];
            !this.iter().chain(&words).any(|word| line.contains(word))
        };
        clients.lines().filter(is_other).map(str::to_owned).collect()
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        for sentinel in &mut self.sentinels {
            let _ = sentinel.kill();
            let _ = sentinel.wait();
        }
    }
}

/// Starts a sentinel that watches the master at a port.
fn sentinel(directory: &TempDir, port: u16, master: u16) -> Child {
    let file = directory.path().join(format!("{port}.conf"));
    let lines = [
        format!("port {port}"),
        "bind 127.0.0.1".to_owned(),
        format!("dir {}", directory.path().display()),
        format!("sentinel monitor {NAME} 127.0.0.1 {master} 2"),
        format!("sentinel down-after-milliseconds {NAME} 500"),
        format!("sentinel failover-timeout {NAME} 3000"),
    ];
    fs::write(&file, lines.join("\n")).unwrap();
    let mut command = Command::new(program());
    command.arg(file).arg("--sentinel").stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap()
}

/// Returns true if a sentinel knows the replica and the other sentinels.
fn knows_all(port: u16) -> bool {
    let count =
        |what: &str| ask::<Vec<redis::Value>>(port, &["SENTINEL", what, NAME]).map_or(0, |all| all.len());
    count("SENTINELS") == 2 && count("REPLICAS") == 1
}

fn ask<T: redis::FromRedisValue>(port: u16, words: &[&str]) -> redis::RedisResult<T> {
    let mut connection = redis::Client::open(format!("redis://127.0.0.1:{port}"))?.get_connection()?;
    let mut command = redis::cmd(words[0]);
    command.arg(&words[1..]);
    command.query(&mut connection)
}
