//! The Redis of a test: a server of its own, or in a run on a cluster, one of the clusters that the tests share in
//! turns.

use std::collections::VecDeque;
use std::io::Write as _;
use std::process::{Child, Command, Stdio};
use std::sync::{LazyLock, Mutex};

use redis::{FromRedisValue, RedisResult, Value};
use tempfile::TempDir;

use crate::harness::cluster::Cluster;
use crate::harness::instance::{Instance, directory_in_memory};
use crate::harness::merge::merge;

/// Returns true if this run is on a cluster: `FANFOLD_TEST_DEPLOYMENT` is `cluster`.
pub(crate) fn is_on_cluster() -> bool {
    static IS: LazyLock<bool> = LazyLock::new(|| match std::env::var("FANFOLD_TEST_DEPLOYMENT").as_deref() {
        Ok("cluster") => true,
        Ok("single") | Err(_) => false,
        Ok(other) => panic!("FANFOLD_TEST_DEPLOYMENT is `single` or `cluster`, not {other}"),
    });
    *IS
}

/// The Redis of one test.
pub(crate) enum Redis {
    Single(Instance),
    Cluster(Lent),
}

impl Redis {
    /// Starts an empty Redis of the kind that this run is on.
    pub(crate) fn start() -> Self {
        if is_on_cluster() { Self::Cluster(Lent::new()) } else { Self::start_with(&[]) }
    }

    /// Starts a single server with these options.
    pub(crate) fn start_with(options: &[&str]) -> Self {
        assert!(!is_on_cluster(), "{FOR_ONE_SERVER}");
        Self::Single(Instance::start(options))
    }

    fn instance(&self) -> &Instance {
        let Self::Single(instance) = self else { panic!("{FOR_ONE_SERVER}") };
        instance
    }

    /// Kills the server and starts an empty one on the same socket.
    pub(crate) fn restart_empty(&mut self) {
        let Self::Single(instance) = self else { panic!("{FOR_ONE_SERVER}") };
        instance.restart_empty();
    }

    /// Pauses the server, or resumes it.
    pub(crate) fn pause(&self, pause: bool) {
        self.instance().pause(pause);
    }

    /// Returns the path of the server's socket.
    pub(crate) fn socket(&self) -> String {
        self.instance().url().trim_start_matches("unix:").to_owned()
    }

    pub(crate) fn url(&self) -> String {
        match self {
            Self::Single(instance) => instance.url(),
            Self::Cluster(lent) => lent.cluster().url(),
        }
    }

    /// Returns a directory for the files of this test.
    pub(crate) fn directory(&self) -> &str {
        match self {
            Self::Single(instance) => instance.directory(),
            Self::Cluster(lent) => lent.directory.path().to_str().unwrap(),
        }
    }

    /// Returns true if a server process receives the signals about this user.
    pub(crate) fn has_subscriber(&self, user: u64) -> bool {
        let channel = format!("ff:{{u{user}}}:live");
        let counts = |instance: &Instance, command: &str| {
            let (_, count): (String, u64) = instance.raw(&["PUBSUB", command, &channel]);
            count > 0
        };
        match self {
            Self::Single(instance) => counts(instance, "NUMSUB"),
            Self::Cluster(lent) => lent.cluster().nodes.iter().any(|node| counts(&node.redis, "SHARDNUMSUB")),
        }
    }

    /// Sends a command past the store, as an operator would.
    pub(crate) fn raw<T: FromRedisValue>(&self, words: &[&str]) -> T {
        self.try_raw(words).unwrap()
    }

    /// The same. In a cluster, the command goes to the master of its key, or if it concerns the whole server, to all
    /// masters, whose replies are merged.
    pub(crate) fn try_raw<T: FromRedisValue>(&self, words: &[&str]) -> RedisResult<T> {
        let reply = match self {
            Self::Single(instance) => return instance.try_raw(words),
            Self::Cluster(lent) => raw_in_cluster(lent.cluster(), words)?,
        };
        Ok(redis::from_redis_value(reply)?)
    }
}

/// The message to the author of a test that needs a single server.
const FOR_ONE_SERVER: &str = "this test needs a single server: list it in tests/it/left_out.txt";

/// The commands that concern a whole server instead of a key. So do scripts without keys.
const OF_SERVERS: [&str; 8] = ["ACL", "CLIENT", "CONFIG", "DBSIZE", "FLUSHALL", "INFO", "KEYS", "SCRIPT"];

fn raw_in_cluster(cluster: &Cluster, words: &[&str]) -> RedisResult<Value> {
    let is_of_servers = OF_SERVERS.contains(&words[0]) || matches!(words, ["EVAL", _, "0", ..]);
    if is_of_servers {
        let replies = cluster.nodes.iter().map(|node| node.redis.try_raw(words));
        return Ok(merge(replies.collect::<RedisResult<_>>()?));
    }
    if ["DEL", "EXISTS"].contains(&words[0]) {
        let replies = words[1..].iter().map(|key| cluster.try_raw(&[words[0], key]));
        return Ok(merge(replies.collect::<RedisResult<_>>()?));
    }
    cluster.try_raw(words)
}

/// The clusters that no test uses, the one that has rested longest first.
static FREE: Mutex<VecDeque<Cluster>> = Mutex::new(VecDeque::new());

/// An empty cluster for one test, which returns it.
pub(crate) struct Lent {
    /// Present until it is returned.
    cluster: Option<Cluster>,
    directory: TempDir,
}

impl Lent {
    fn new() -> Self {
        let free = FREE.lock().unwrap().pop_front();
        let cluster = free.map_or_else(start_kept, emptied);
        Self { cluster: Some(cluster), directory: directory_in_memory() }
    }

    fn cluster(&self) -> &Cluster {
        self.cluster.as_ref().expect("it is not returned yet")
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        // A test that fails may have left a cluster in any state.
        if let Some(cluster) = self.cluster.take().filter(|_| !std::thread::panicking()) {
            FREE.lock().unwrap().push_back(cluster);
        }
    }
}

/// Removes all that another test has left.
fn emptied(cluster: Cluster) -> Cluster {
    for node in &cluster.nodes {
        for words in [
            &["CLIENT", "KILL", "TYPE", "normal"][..],
            &["CLIENT", "KILL", "TYPE", "pubsub"],
            &["CONFIG", "SET", "maxmemory", "0"],
            &["FLUSHALL"],
            &["SCRIPT", "FLUSH"],
            &["CONFIG", "RESETSTAT"],
        ] {
            node.redis.raw::<Value>(words);
        }
    }
    cluster
}

/// Starts a cluster that ends with this process.
fn start_kept() -> Cluster {
    static KEEPER: LazyLock<Mutex<Child>> = LazyLock::new(|| Mutex::new(start_keeper()));
    let cluster = Cluster::start(3, 0);
    let mut keeper = KEEPER.lock().unwrap();
    for node in &cluster.nodes {
        let (pid, directory) = (node.redis.pid(), node.redis.directory());
        writeln!(keeper.stdin.as_mut().unwrap(), "{pid}:{directory}").unwrap();
    }
    cluster
}

/// Starts a shell that reads the servers of the clusters, and when this process has ended, ends the servers and removes
/// their directories. Clusters that no test uses are not dropped when a process ends.
fn start_keeper() -> Child {
    let script = "trap '' INT TERM HUP
        while read -r server; do servers=\"$servers $server\"; done
        for server in $servers; do
            directory=${server#*:}
            [ -d \"$directory\" ] && kill -9 \"${server%%:*}\" && rm -rf \"$directory\"
        done";
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    shell.spawn().unwrap()
}
