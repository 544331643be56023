//! Bounds the memory of what has not arrived completely: request heads, bodies, and messages over WebSockets.
//!
//! A client pays for an operation once the server has read it. Until then, each unfinished request may take [`FREE`]
//! bytes, as many as there are connections. Larger ones share a limit, for each address and for the process. So clients
//! that send large requests slowly reject one another, and ordinary requests never need the shared memory.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::StatusCode;

use crate::graphql::error::{Code, RequestError};
use crate::http::response::Failure;
use crate::model::address::Address;

/// Time within which a head, a body or a message must arrive, from its first byte.
pub(super) const TIMEOUT: Duration = Duration::from_secs(10);
/// Size up to which an unfinished request needs no shared memory, in bytes. A connection has a buffer of this size anyway.
pub(super) const FREE: usize = 8_192;
/// Memory that the unfinished requests of an address share, in bytes.
const OF_ADDRESS: usize = 8 << 20;
/// Number of request bodies of the maximum size for which there is room at least.
const BODIES: usize = 2;
/// Number of addresses whose unfinished requests the process has room for.
const ADDRESSES: usize = 8;
/// Time after which a rejected client may retry: until then, those that have begun before are gone.
const RETRY_AFTER: Duration = TIMEOUT;

/// The memory of all unfinished requests of a process.
pub(super) struct Intake {
    of_address: usize,
    all: usize,
    held: Mutex<Held>,
}

/// The bytes that are held: in total, and by address.
#[derive(Default)]
struct Held {
    all: usize,
    of_address: HashMap<Address, usize>,
}

/// The memory of one unfinished request. Dropping it frees the memory.
pub(super) struct Share {
    intake: Arc<Intake>,
    /// The client's address; `None` if it is unknown or a trusted proxy's, which has no limit of its own.
    address: Option<Address>,
    bytes: usize,
}

/// The reason why there is no memory for an unfinished request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Full {
    /// The address has reached its limit.
    Address,
    /// The process has reached its limit.
    All,
}

impl Intake {
    /// Creates the limits of a process that accepts bodies of this size, in bytes.
    pub(super) fn new(body_limit: u64) -> Arc<Self> {
        let body_limit = usize::try_from(body_limit).unwrap_or(usize::MAX);
        let of_address = OF_ADDRESS.max(body_limit.saturating_mul(BODIES));
        Arc::new(Self { of_address, all: of_address.saturating_mul(ADDRESSES), held: Mutex::default() })
    }

    /// Returns the memory of an unfinished request, which is empty.
    pub(super) fn share(self: &Arc<Self>, address: Option<Address>) -> Share {
        Share { intake: Arc::clone(self), address, bytes: 0 }
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Share {
    /// Sets the size of the unfinished request, in bytes. If a limit is reached, the size stays as it was.
    pub(super) fn hold(&mut self, bytes: usize) -> Result<(), Full> {
        let bytes = if bytes > FREE { bytes } else { 0 };
        if bytes == self.bytes {
            return Ok(());
        }
        let mut held = self.intake.lock();
        let all = held.all - self.bytes + bytes;
        let is_more = bytes > self.bytes;
        if is_more && all > self.intake.all {
            return Err(Full::All);
        }
        if let Some(address) = self.address {
            let of_address = held.of_address.entry(address).or_default();
            let sum = *of_address - self.bytes + bytes;
            if is_more && sum > self.intake.of_address {
                return Err(Full::Address);
            }
            *of_address = sum;
            if sum == 0 {
                held.of_address.remove(&address);
            }
        }
        held.all = all;
        self.bytes = bytes;
        Ok(())
    }

    /// Frees the memory.
    pub(super) fn release(&mut self) {
        // Less memory is always allowed.
        let _ = self.hold(0);
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.release();
    }
}

impl Full {
    /// Returns the HTTP status of a request that is rejected for this reason.
    pub(super) fn status(self) -> StatusCode {
        match self {
            Self::Address => StatusCode::TOO_MANY_REQUESTS,
            Self::All => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// Returns the reason as a sentence for clients, without the full stop.
    pub(super) fn reason(self) -> &'static str {
        match self {
            Self::Address => "Too many large requests of this address are incomplete",
            Self::All => "Too many large requests are incomplete",
        }
    }

    pub(super) fn into_failure(self) -> Failure {
        let code = match self {
            Self::Address => Code::RateLimited,
            Self::All => Code::Unavailable,
        };
        let message = format!("{}. Try again later.", self.reason());
        Failure::of(RequestError::retry_after(code, message, RETRY_AFTER)).with_status(self.status())
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    fn from(last: u8) -> Address {
        IpAddr::from([192, 0, 2, last]).into()
    }

    #[test]
    fn unfinished_requests_share_the_memory_of_their_address_and_of_the_process() {
        let intake = Arc::new(Intake { of_address: 100_000, all: 150_000, held: Mutex::default() });
        let [mut one, mut two, mut other] = [from(1), from(1), from(2)].map(|from| intake.share(Some(from)));
        assert_eq!(one.hold(60_000), Ok(()));
        assert_eq!(two.hold(50_000), Err(Full::Address));
        assert_eq!(two.hold(FREE), Ok(()), "ordinary requests need no shared memory");
        assert_eq!(two.hold(40_000), Ok(()));
        assert_eq!(other.hold(60_000), Err(Full::All));
        assert_eq!(other.hold(50_000), Ok(()));
        let mut local = intake.share(None);
        assert_eq!(local.hold(FREE + 1), Err(Full::All), "a proxy has no limit of its own, but counts");
        one.release();
        assert_eq!(local.hold(60_000), Ok(()));
        drop((one, two, other, local));
        let held = intake.lock();
        assert_eq!((held.all, held.of_address.len()), (0, 0));
    }

    #[test]
    fn there_is_room_for_bodies_of_any_size() {
        let limits = |body_limit| {
            let intake = Intake::new(body_limit);
            (intake.of_address, intake.all)
        };
        assert_eq!(limits(65_536), (8 << 20, 64 << 20));
        assert_eq!(limits(16 << 20), (32 << 20, 256 << 20));
    }
}
