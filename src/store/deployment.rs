//! The servers that hold a store's data: a single server, or a Redis Cluster.

use redis::io::tcp::{TcpSettings, socket2};
use redis::{ConnectionInfo, IntoConnectionInfo as _, RedisError};

use crate::config::RedisConfig;
use crate::store::OpenError;
use crate::store::cluster::Cluster;
use crate::store::encode::Pipeline;
use crate::store::error::Error;
use crate::store::pool::Pool;
use crate::store::reply::Replies;
use crate::store::wire::KEEPALIVE;

/// Connections to all servers of a deployment.
#[derive(Clone)]
pub(super) enum Deployment {
    /// One server.
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
}

impl Addresses {
    /// Parses a URL. `redis-cluster://user:password@host:port,host:port` names nodes of a cluster, and
    /// `rediss-cluster://` the same over TLS. Other URLs are those of the `redis` crate.
    fn parse(url: &str) -> Result<Self, RedisError> {
        let single = || Ok(Self::Single(Box::new(url.into_connection_info()?)));
        let Some((scheme, rest)) = url.split_once("://") else {
            return single();
        };
        let scheme = scheme.replace('+', "-");
        let Some(scheme) = scheme.strip_suffix("-cluster") else {
            return single();
        };
        let (user, hosts) = match rest.rsplit_once('@') {
            Some((user, hosts)) => (format!("{user}@"), hosts),
            None => (String::new(), rest),
        };
        let hosts = hosts.trim_end_matches('/').split(',');
        let seed = |host: &str| format!("{scheme}://{user}{host}").into_connection_info();
        Ok(Self::Cluster(hosts.map(seed).collect::<Result<_, _>>()?))
    }
}

impl Deployment {
    /// Connects to the servers, so that a wrong address fails immediately, with its full cause.
    pub(super) async fn connect(config: &RedisConfig) -> Result<Self, OpenError> {
        // Installs the cryptography provider for rediss:// URLs. This process may have installed it already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let tcp = TcpSettings::default()
            .set_nodelay(true)
            .set_keepalive(socket2::TcpKeepalive::new().with_time(KEEPALIVE));
        let url = config.redis_url.as_ref().map_or("redis://127.0.0.1/", |url| url.expose());
        match Addresses::parse(url).map_err(OpenError::Url)? {
            Addresses::Single(info) => {
                let info = info.set_tcp_settings(tcp);
                let pool = Pool::connect(info, config.redis_connections).await?;
                Ok(Self::Single(Box::new(pool)))
            }
            Addresses::Cluster(seeds) => {
                let seeds = seeds.into_iter().map(|seed| seed.set_tcp_settings(tcp.clone())).collect();
                Cluster::connect(seeds, config.redis_connections).await.map(Self::Cluster)
            }
        }
    }

    /// Returns separate connections, one to each server, which all lanes share.
    pub(super) fn apart(&self) -> Self {
        match self {
            Self::Single(pool) => Self::Single(Box::new(pool.apart())),
            Self::Cluster(cluster) => Self::Cluster(cluster.apart()),
        }
    }

    /// Returns the number of times that a server was restarted or replaced by another server.
    pub(super) fn changes(&self) -> u64 {
        match self {
            Self::Single(pool) => pool.changes(),
            Self::Cluster(cluster) => cluster.changes(),
        }
    }

    /// Returns the number of open connections.
    pub(super) fn connections(&self) -> u32 {
        match self {
            Self::Single(pool) => pool.connections(),
            Self::Cluster(cluster) => cluster.connections(),
        }
    }

    /// Opens the connections of the current thread's lane.
    pub(super) async fn open_lane(&self) -> Result<(), RedisError> {
        match self {
            Self::Single(pool) => pool.open_lane().await,
            Self::Cluster(cluster) => cluster.open_lane().await,
        }
    }

    /// Sends a pipeline and waits for its replies.
    pub(super) async fn exchange(&self, pipeline: Pipeline) -> Result<Replies, Error> {
        match self {
            Self::Single(pool) => pool.exchange(pipeline).await,
            Self::Cluster(cluster) => Box::pin(cluster.exchange(pipeline)).await,
        }
    }

    /// Sends a pipeline without keys to each server, and returns each server's replies.
    pub(super) async fn ask_all(&self, pipeline: Pipeline) -> Result<Vec<Replies>, Error> {
        match self {
            Self::Single(pool) => Ok(vec![pool.exchange(pipeline).await?]),
            Self::Cluster(cluster) => cluster.ask_all(pipeline).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(url: &str) -> Vec<String> {
        match Addresses::parse(url).unwrap() {
            Addresses::Single(info) => vec![format!("single {}", info.addr())],
            Addresses::Cluster(seeds) => {
                let text = |seed: &ConnectionInfo| {
                    let settings = seed.redis_settings();
                    let [user, password] =
                        [settings.username(), settings.password()].map(Option::unwrap_or_default);
                    format!("{user} {password} {}", seed.addr())
                };
                seeds.iter().map(text).collect()
            }
        }
    }

    #[test]
    fn a_url_names_a_server_or_the_nodes_of_a_cluster() {
        assert_eq!(parsed("redis://host:7000/1"), ["single host:7000"]);
        assert_eq!(parsed("redis-cluster://one:7000,two"), ["  one:7000", "  two:6379"]);
        assert_eq!(parsed("redis+cluster://me:p%40ss@one:1,[::1]:2/"), ["me p@ss one:1", "me p@ss ::1:2"]);
        assert_eq!(parsed("rediss-cluster://:pass@one:1"), [" pass one:1"]);
        for url in ["redis-cluster://", "redis-cluster://one:1,,two", "http-cluster://one"] {
            assert!(Addresses::parse(url).is_err(), "{url}");
        }
    }
}
