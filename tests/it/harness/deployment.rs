//! The Redis of a test: one that it shares with others in turns, a single server or in a run on a cluster a cluster; or a
//! single server of its own.

use std::sync::LazyLock;

use redis::{FromRedisValue, RedisResult, Value};

use crate::harness::cluster::Cluster;
use crate::harness::instance::Instance;
use crate::harness::lent::Lent;
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
    /// A server of its own, which it may pause, restart and configure.
    Own(Instance),
    /// A server that it returns when it ends.
    Server(Lent<Instance>),
    /// A cluster that it returns when it ends.
    Cluster(Lent<Cluster>),
}

impl Redis {
    /// Takes an empty Redis of the kind that this run is on.
    pub(crate) fn start() -> Self {
        if is_on_cluster() { Self::Cluster(Lent::take()) } else { Self::Server(Lent::take()) }
    }

    /// Starts a single server for a test that needs one, whatever this run is on.
    pub(crate) fn own() -> Self {
        Self::start_with(&[])
    }

    /// The same, with these options.
    pub(crate) fn start_with(options: &[&str]) -> Self {
        Self::Own(Instance::start(options))
    }

    /// Kills the server and starts an empty one on the same socket.
    pub(crate) fn restart_empty(&mut self) {
        let Self::Own(instance) = self else { panic!("{NEEDS_OWN}") };
        instance.restart_empty();
    }

    /// Pauses the server, or resumes it.
    pub(crate) fn pause(&self, pause: bool) {
        let Self::Own(instance) = self else { panic!("{NEEDS_OWN}") };
        instance.pause(pause);
    }

    /// Returns the path of the server's socket.
    pub(crate) fn socket(&self) -> String {
        let Self::Own(instance) = self else { panic!("{NEEDS_OWN}") };
        instance.url().trim_start_matches("unix:").to_owned()
    }

    pub(crate) fn url(&self) -> String {
        match self {
            Self::Own(instance) => instance.url(),
            Self::Server(lent) => lent.url(),
            Self::Cluster(lent) => lent.url(),
        }
    }

    /// Returns a directory for the files of this test.
    pub(crate) fn directory(&self) -> &str {
        match self {
            Self::Own(instance) => instance.directory(),
            Self::Server(lent) => lent.directory(),
            Self::Cluster(lent) => lent.directory(),
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
            Self::Own(instance) => counts(instance, "NUMSUB"),
            Self::Server(lent) => counts(lent, "NUMSUB"),
            Self::Cluster(lent) => lent.nodes.iter().any(|node| counts(&node.redis, "SHARDNUMSUB")),
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
            Self::Own(instance) => return instance.try_raw(words),
            Self::Server(lent) => return lent.try_raw(words),
            Self::Cluster(lent) => raw_in_cluster(lent, words)?,
        };
        Ok(redis::from_redis_value(reply)?)
    }
}

/// The message to the author of a test that needs a server of its own.
const NEEDS_OWN: &str = "this test needs a server of its own: begin it with `Redis::own`";

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
