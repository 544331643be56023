//! A master with a replica, watched by three sentinels.

use std::fs::{self, File};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::harness::instance::{Instance, program};
use crate::harness::port::{accepts_connections, on_free_ports};
use crate::harness::wait::eventually;

/// Name of the master.
const NAME: &str = "main";

/// Two servers and their sentinels.
pub(crate) struct Watched {
    /// The first master, and its replica.
    pub(crate) servers: [Instance; 2],
    ports: [u16; 2],
    sentinels: [Sentinel; 3],
    _directory: TempDir,
}

struct Sentinel {
    process: Child,
    port: u16,
}

/// Options of both servers.
const OPTIONS: [&str; 4] = ["--bind", "127.0.0.1", "--repl-diskless-sync-delay", "0"];

impl Watched {
    pub(crate) fn start() -> Self {
        let (first, master) = Instance::start_on_port(&OPTIONS);
        let of_first = ["--replicaof", "127.0.0.1", &first.to_string()];
        let (second, replica) = Instance::start_on_port(&[&of_first[..], &OPTIONS].concat());
        let directory = tempfile::tempdir().unwrap();
        let sentinels =
            [(); 3].map(|()| on_free_ports(|[port]| Sentinel::start_if_free(&directory, port, first)));
        let watched =
            Self { servers: [master, replica], ports: [first, second], sentinels, _directory: directory };
        watched.wait_for_replica(1);
        assert!(eventually(|| watched.sentinels.iter().all(Sentinel::knows_all)), "the sentinels agree");
        watched
    }

    /// Waits until this server has all data of the other one, as its replica.
    pub(crate) fn wait_for_replica(&self, server: usize) {
        let follows = || {
            let state: String = self.servers[server].raw(&["INFO", "replication"]);
            state.contains("role:slave") && state.contains("master_link_status:up")
        };
        assert!(eventually(follows), "a server is the replica of the other one");
    }

    pub(crate) fn url(&self) -> String {
        let hosts = self.sentinels.each_ref().map(|sentinel| format!("127.0.0.1:{}", sentinel.port));
        format!("redis-sentinel://{}/{NAME}", hosts.join(","))
    }

    /// Asks for a failover from a master that still runs.
    pub(crate) fn fail_over(&self) {
        self.sentinels[0].ask::<()>(&["SENTINEL", "FAILOVER", NAME]).unwrap();
    }

    /// Waits until all sentinels name this server as the master.
    pub(crate) fn wait_for_master(&self, server: usize) {
        let names = |sentinel: &Sentinel| {
            let asked = ["SENTINEL", "GET-MASTER-ADDR-BY-NAME", NAME];
            sentinel.ask::<(String, u16)>(&asked).is_ok_and(|(_, port)| port == self.ports[server])
        };
        assert!(eventually(|| self.sentinels.iter().all(names)), "the sentinels agree");
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

impl Sentinel {
    /// Starts a sentinel that watches the master at a port. Returns `None` if its own port is in use.
    fn start_if_free(directory: &TempDir, port: u16, master: u16) -> Option<Self> {
        let [file, log] = ["conf", "log"].map(|kind| directory.path().join(format!("{port}.{kind}")));
        let lines = [
            format!("port {port}"),
            "bind 127.0.0.1".to_owned(),
            format!("dir {}", directory.path().display()),
            format!("sentinel monitor {NAME} 127.0.0.1 {master} 2"),
            // On a busy machine, a master that lives may be silent for seconds.
            format!("sentinel down-after-milliseconds {NAME} 5000"),
            format!("sentinel failover-timeout {NAME} 3000"),
        ];
        fs::write(&file, lines.join("\n")).unwrap();
        let mut command = Command::new(program());
        command.arg(file).arg("--sentinel").stdin(Stdio::null()).stdout(File::create(&log).unwrap());
        let mut sentinel = Self { process: command.spawn().unwrap(), port };
        let responds = || ask::<String>(port, &["PING"]).is_ok();
        accepts_connections(&mut sentinel.process, &log, responds).then_some(sentinel)
    }

    /// Returns true if it knows the replica and the other sentinels.
    fn knows_all(&self) -> bool {
        let count =
            |what: &str| self.ask::<Vec<redis::Value>>(&["SENTINEL", what, NAME]).map_or(0, |all| all.len());
        count("SENTINELS") == 2 && count("REPLICAS") == 1
    }

    fn ask<T: redis::FromRedisValue>(&self, words: &[&str]) -> redis::RedisResult<T> {
        ask(self.port, words)
    }
}

impl Drop for Sentinel {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn ask<T: redis::FromRedisValue>(port: u16, words: &[&str]) -> redis::RedisResult<T> {
    let mut connection = redis::Client::open(format!("redis://127.0.0.1:{port}"))?.get_connection()?;
    let mut command = redis::cmd(words[0]);
    command.arg(&words[1..]);
    command.query(&mut connection)
}
