//! How many files a server may open, and how many of them connections may take.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::config::DataConfig;

/// Files that a server opens for itself, besides connections to its stores.
const OWN: u64 = 128;

/// Raises the limit of open files as far as the system allows; returns how many of them connections may take.
pub(super) fn for_connections(data: &DataConfig) -> usize {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // Where this is not allowed, the limit stays what it is.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let stores = u64::from(data.redis.redis_connections) + u64::from(data.archive.archive_connections);
    // Where there are very few, half of them will have to do.
    let left = limit.saturating_sub(OWN + stores).max(limit / 2);
    usize::try_from(left).unwrap_or(usize::MAX)
}
