//! Raises the open-file limit, and computes how many files are left for connections.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::config::DataConfig;

/// Number of files that a server needs besides its worker threads, and connections to Redis and the archive.
const OWN: u64 = 128;
/// Number of files that the runtime of a worker thread needs.
const WORKER: u64 = 4;

/// Raises the open-file limit to its hard limit, and returns the number of files left for client connections of a
/// server with this number of worker threads.
pub(super) fn for_connections(data: &DataConfig, threads: usize) -> usize {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // On failure, the limit stays unchanged.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let redis = u64::from(data.redis.redis_connections);
    let archive = u64::from(data.archive.archive_connections);
    let workers = threads as u64 * (redis + WORKER);
    // Client connections get at least half of the limit.
    let left = limit.saturating_sub(OWN + redis + archive + workers).max(limit / 2);
    usize::try_from(left).unwrap_or(usize::MAX)
}
