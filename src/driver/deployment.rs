//! The servers that hold a store's data: a single server, which Sentinel may watch, or a Redis Cluster.

use std::sync::Arc;

use redis::io::tcp::{TcpSettings, socket2};
use redis::{ConnectionInfo, ErrorKind, IntoConnectionInfo as _, RedisError};

use crate::config::{RedisConfig, SecretUrl};
use crate::driver::cluster::Cluster;
use crate::driver::encode::Pipeline;
use crate::driver::error::Error;
use crate::driver::error::OpenError;
use crate::driver::lag;
use crate::driver::pool::{Pool, Server};
use crate::driver::replica::Replicas;
use crate::driver::reply::Replies;
use crate::driver::sentinel::Sentinel;
use crate::driver::topology::Node;
use crate::driver::wire::KEEPALIVE;

/// Connections to all servers of a deployment.
#[derive(Clone)]
pub(crate) enum Deployment {
    /// One server, or the master that Sentinel names.
    Single(Box<Pool>),
    /// The masters of a Redis Cluster.
    Cluster(Cluster),
}

/// Addresses, as the operator has given them.
#[derive(Debug)]
enum Addresses {
    Single(Box<ConnectionInfo>),
    /// Some nodes of a cluster.
    Cluster(Vec<ConnectionInfo>),
    Sentinel(Box<Sentinel>),
}

/// The default port of sentinels.
const SENTINEL_PORT: u16 = 26_379;

impl Addresses {
    /// Parses a URL.
    ///
    /// - `redis-cluster://user:password@host:port,host:port` names nodes of a cluster.
    /// - `redis-sentinel://user:password@host:port,host:port/name/db?sentinel_username=…&sentinel_password=…` names
    ///   sentinels, and the master that they watch. The user and the password are the master's.
    /// - With `rediss`, connections are encrypted. All other URLs are those of the `redis` crate.
    fn parse(url: &str, tcp: &TcpSettings) -> Result<Self, RedisError> {
        let open = |url: &str| Ok::<_, RedisError>(url.into_connection_info()?.set_tcp_settings(tcp.clone()));
        let (scheme, rest) = url.split_once("://").unwrap_or_default();
        let (user, rest) = match rest.rsplit_once('@') {
            Some((user, rest)) => (format!("{user}@"), rest),
            None => (String::new(), rest),
        };
        let (hosts, path) = rest.split_once('/').unwrap_or((rest, ""));
        match scheme.replace('+', "-").rsplit_once('-') {
            Some((scheme, "cluster")) => {
                let seeds = hosts.split(',').map(|host| open(&format!("{scheme}://{user}{host}")));
                Ok(Self::Cluster(seeds.collect::<Result<_, _>>()?))
            }
            Some((scheme, "sentinel")) => {
                let Watched { name, db, user: sentinel_user } = Watched::parse(path)?;
                let sentinel = |host: &str| open(&format!("{scheme}://{sentinel_user}{}", with_port(host)));
                let sentinels = hosts.split(',').map(sentinel).collect::<Result<_, _>>()?;
                let master = open(&format!("{scheme}://{user}master/{db}"))?;
                Ok(Self::Sentinel(Box::new(Sentinel::new(sentinels, name, master))))
            }
            _ => Ok(Self::Single(Box::new(open(url)?))),
        }
    }
}

/// Returns the same connections to a cluster, which also read replicas.
fn reading_replicas(cluster: Cluster) -> Cluster {
    let replicas = Replicas::default();
    lag::watch(&cluster, &replicas);
    cluster.reading(replicas)
}

/// Returns a sentinel's host with its port.
fn with_port(host: &str) -> String {
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| !port.contains(']'));
    if has_port { host.to_owned() } else { format!("{host}:{SENTINEL_PORT}") }
}

/// The part of a sentinel URL after the hosts.
struct Watched {
    name: String,
    db: String,
    /// The user and the password of the sentinels, as in a URL.
    user: String,
}

impl Watched {
    /// Parses `name/db?sentinel_username=…&sentinel_password=…`, or `db?sentinelMasterId=name`.
    fn parse(path: &str) -> Result<Self, RedisError> {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let option = |name: &str| {
            query.split('&').filter_map(|option| option.split_once('=')).find(|(key, _)| *key == name)
        };
        let value = |name: &str| option(name).map_or("", |(_, value)| value);
        let (name, db) = match value("sentinelMasterId") {
            "" => path.split_once('/').unwrap_or((path, "")),
            name => (name, path),
        };
        if name.is_empty() {
            return Err((ErrorKind::InvalidClientConfig, "the URL does not name the master").into());
        }
        let user = match [value("sentinel_username"), value("sentinel_password")] {
            ["", ""] => String::new(),
            [user, password] => format!("{user}:{password}@"),
        };
        Ok(Self { name: name.to_owned(), db: db.trim_end_matches('/').to_owned(), user })
    }
}

/// Returns the configured addresses. Rejects an invalid URL, and options that do not apply to such a deployment.
fn addresses(config: &RedisConfig) -> Result<Addresses, OpenError> {
    // Installs the cryptography provider for rediss:// URLs. This process may have installed it already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let tcp = TcpSettings::default()
        .set_nodelay(true)
        .set_keepalive(socket2::TcpKeepalive::new().with_time(KEEPALIVE));
    let url = config.redis_url.as_ref().map(SecretUrl::expose).filter(|url| !url.is_empty());
    let addresses = Addresses::parse(url.unwrap_or("redis://127.0.0.1/"), &tcp).map_err(OpenError::Url)?;
    if config.redis_replica_reads && !matches!(addresses, Addresses::Cluster(_)) {
        return Err(OpenError::ReplicasOfSingle);
    }
    Ok(addresses)
}

impl Deployment {
    /// Validates the options without connecting.
    pub(crate) fn validate(config: &RedisConfig) -> Result<(), OpenError> {
        addresses(config).map(drop)
    }

    /// Connects to the servers, so that a wrong address fails immediately, with its full cause. In a cluster, a new
    /// master of the slot `watched` counts as a change ([`Self::changes`]).
    pub(crate) async fn connect(config: &RedisConfig, watched: u16) -> Result<Self, OpenError> {
        let size = config.redis_connections;
        let server = match addresses(config)? {
            Addresses::Single(info) => Server::At(Arc::from(info)),
            Addresses::Sentinel(sentinel) => Server::Watched(Arc::from(sentinel)),
            Addresses::Cluster(seeds) => {
                let cluster = Cluster::connect(seeds, size, watched).await?;
                return Ok(Self::Cluster(if config.redis_replica_reads {
                    reading_replicas(cluster)
                } else {
                    cluster
                }));
            }
        };
        Ok(Self::Single(Box::new(Pool::connect(server, size).await?)))
    }

    /// Returns separate connections, one to each server, which all lanes share.
    pub(crate) fn apart(&self) -> Self {
        match self {
            Self::Single(pool) => Self::Single(Box::new(pool.apart())),
            Self::Cluster(cluster) => Self::Cluster(cluster.apart()),
        }
    }

    /// Returns the number of times that a server was restarted or replaced by another server.
    pub(crate) fn changes(&self) -> u64 {
        match self {
            Self::Single(pool) => pool.changes(),
            Self::Cluster(cluster) => cluster.changes(),
        }
    }

    /// Returns the number of open connections.
    pub(crate) fn connections(&self) -> u32 {
        match self {
            Self::Single(pool) => pool.connections(),
            Self::Cluster(cluster) => cluster.connections(),
        }
    }

    /// Returns the addresses of a cluster's masters, and whether each was reached when it was last tried; nothing for
    /// other deployments.
    pub(crate) fn masters(&self) -> Vec<(String, bool)> {
        match self {
            Self::Single(_) => Vec::new(),
            Self::Cluster(cluster) => {
                cluster.masters().into_iter().map(|(node, is_up)| (node.to_string(), is_up)).collect()
            }
        }
    }

    /// Returns the number of slots of each master of a cluster, by address; nothing for other deployments.
    pub(crate) fn slots(&self) -> Vec<(String, usize)> {
        match self {
            Self::Single(_) => Vec::new(),
            Self::Cluster(cluster) => {
                let topology = cluster.topology();
                let slots = |node: &Node| (node.to_string(), topology.slots_of(node));
                topology.masters().iter().map(slots).collect()
            }
        }
    }

    /// Returns true if replicas are read.
    pub(crate) fn reads_replicas(&self) -> bool {
        match self {
            Self::Single(_) => false,
            Self::Cluster(cluster) => cluster.reads_replicas(),
        }
    }

    /// Returns true if most masters of a cluster respond within a second; true for other deployments.
    pub(crate) async fn mostly_responds(&self) -> bool {
        match self {
            Self::Single(_) => true,
            Self::Cluster(cluster) => cluster.mostly_responds().await,
        }
    }

    /// Opens the connections of the current thread's lane.
    pub(crate) async fn open_lane(&self) -> Result<(), RedisError> {
        match self {
            Self::Single(pool) => pool.open_lane().await,
            Self::Cluster(cluster) => cluster.open_lane().await,
        }
    }

    /// Sends a pipeline and waits for its replies.
    pub(crate) async fn exchange(&self, pipeline: Pipeline) -> Result<Replies, Error> {
        match self {
            Self::Single(pool) => pool.exchange(pipeline).await,
            Self::Cluster(cluster) => Box::pin(cluster.exchange(pipeline)).await,
        }
    }

    /// Sends a pipeline without keys to each server, and returns each server's replies.
    pub(crate) async fn ask_all(&self, pipeline: Pipeline) -> Vec<Result<Replies, Error>> {
        match self {
            Self::Single(pool) => vec![pool.exchange(pipeline).await],
            Self::Cluster(cluster) => cluster.ask_all(pipeline).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(info: &ConnectionInfo) -> String {
        let settings = info.redis_settings();
        let [user, password] = [settings.username(), settings.password()].map(Option::unwrap_or_default);
        format!("{user}:{password}@{}/{}", info.addr(), settings.db())
    }

    fn parsed(url: &str) -> Vec<String> {
        match Addresses::parse(url, &TcpSettings::default()).unwrap() {
            Addresses::Single(info) => vec![format!("single {}", described(&info))],
            Addresses::Cluster(seeds) => seeds.iter().map(described).collect(),
            Addresses::Sentinel(sentinel) => {
                vec![format!("{}: {}", sentinel.addresses(), described(sentinel.settings()))]
            }
        }
    }

    #[test]
    fn a_url_names_a_server_or_the_nodes_of_a_cluster() {
        assert_eq!(parsed("redis://host:7000/1"), ["single :@host:7000/1"]);
        assert_eq!(parsed("redis-cluster://one:7000,two"), [":@one:7000/0", ":@two:6379/0"]);
        assert_eq!(parsed("redis+cluster://me:p%40ss@one:1,two:2/"), ["me:p@ss@one:1/0", "me:p@ss@two:2/0"]);
        assert_eq!(parsed("rediss-cluster://:pass@one:1"), [":pass@one:1/0"]);
        for url in ["redis-cluster://", "redis-cluster://one:1,,two", "http-cluster://one", "nothing"] {
            assert!(Addresses::parse(url, &TcpSettings::default()).is_err(), "{url}");
        }
    }

    #[test]
    fn a_url_names_sentinels_and_their_master() {
        let one = "main (by Sentinel at one:26379, two:7): me:pass@master:6379/3";
        for url in [
            "redis-sentinel://me:pass@one,two:7/main/3",
            "redis+sentinel://me:pass@one,two:7/3?sentinelMasterId=main",
        ] {
            assert_eq!(parsed(url), [one]);
        }
        for url in ["redis-sentinel://one", "redis-sentinel://one/", "redis-sentinel://one/main/x"] {
            assert!(Addresses::parse(url, &TcpSettings::default()).is_err(), "{url}");
        }
    }
}
