//! The limit of open files, and the share of it for connections.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::config::DataConfig;

/// Files that a server needs for itself, besides connections to its stores.
const OWN: u64 = 128;

/// Raises the limit of open files as far as the system allows, and returns the number left for connections.
pub(super) fn for_connections(data: &DataConfig) -> usize {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // Where this is not permitted, the limit stays unchanged.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let stores = u64::from(data.redis.redis_connections) + u64::from(data.archive.archive_connections);
    // With a very low limit, connections get half of it.
    let left = limit.saturating_sub(OWN + stores).max(limit / 2);
    usize::try_from(left).unwrap_or(usize::MAX)
}
