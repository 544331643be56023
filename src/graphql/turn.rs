//! Turns: expensive operations run a few at a time, on low-priority threads, and so do the parsing and the planning of
//! large requests. This keeps processors free for cheap operations and bounds the memory of responses not yet
//! serialized.
//!
//! Each address holds at most half of the turns. A client that floods the server therefore waits behind its own
//! operations, and other clients wait for at most one operation per address.

use std::collections::HashMap;
use std::future::pending;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::sync::{Arc, mpsc};
use std::thread::available_parallelism;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tracing::Instrument as _;

use crate::model::address::Address;
use crate::thread;

/// Cost above which an operation waits for a turn: a few milliseconds of processor time.
const LARGE: u64 = 250;
/// Size above which parsing and planning a request wait for a turn, in bytes.
pub const LARGE_REQUEST: usize = 8_192;

/// The turns that all operations of a process share.
#[derive(Clone, Debug)]
pub(super) struct Turns(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    all: Arc<Semaphore>,
    per_address: usize,
    /// The turns of each address that has an operation holding a turn or waiting for one.
    addresses: Mutex<HashMap<Option<Address>, Arc<Semaphore>>>,
}

/// An operation's turn, released on drop. Empty for a cheap operation.
#[derive(Debug, Default)]
pub struct Turn {
    taken: Option<Taken>,
}

#[derive(Debug)]
struct Taken {
    _of_all: OwnedSemaphorePermit,
    _of_address: OfAddress,
}

/// A turn that an address holds or waits for.
#[derive(Debug)]
struct OfAddress {
    turns: Turns,
    address: Option<Address>,
    permit: Option<OwnedSemaphorePermit>,
}

impl Turns {
    /// Creates one turn per processor, but at least two. An address holds at most half of them.
    pub(super) fn new() -> Self {
        let processors = available_parallelism().map_or(1, usize::from);
        let all = Arc::new(Semaphore::new(processors.max(2)));
        Self(Arc::new(Inner { all, per_address: (processors / 2).max(1), addresses: Mutex::default() }))
    }

    /// Waits for a turn if an operation of this cost needs one.
    pub(super) async fn enter(&self, cost: u64, address: Option<Address>) -> Turn {
        if cost > LARGE { self.wait(address).await } else { Turn::default() }
    }

    /// Waits for a turn.
    pub(super) async fn wait(&self, address: Option<Address>) -> Turn {
        let of_address = OfAddress::enter(self, address).await;
        let of_all = Arc::clone(&self.0.all).acquire_owned().await;
        Turn { taken: of_all.ok().map(|of_all| Taken { _of_all: of_all, _of_address: of_address }) }
    }

    fn with_addresses<T>(&self, work: impl FnOnce(&mut HashMap<Option<Address>, Arc<Semaphore>>) -> T) -> T {
        work(&mut self.0.addresses.lock())
    }
}

impl Turn {
    /// Runs an operation. An operation with a turn runs on its own thread. Dropping this future cancels the operation.
    pub(super) async fn run<T: Send + 'static>(self, work: BoxFuture<'static, T>) -> T {
        if self.taken.is_none() {
            return work.await;
        }
        let (give, given) = mpsc::channel::<(Self, BoxFuture<'static, T>)>();
        let (mut done, waiting) = oneshot::channel();
        let runtime = Handle::current();
        let started = thread::spawn("large operation", move || {
            // The thread holds the turn: if the caller drops the future, the work still runs until its next await
            // point.
            let Ok((_turn, work)) = given.recv() else { return };
            let work = async {
                tokio::select! {
                    outcome = AssertUnwindSafe(work).catch_unwind() => Some(outcome),
                    () = done.closed() => None,
                }
            };
            if let Some(outcome) = runtime.block_on(work) {
                // The caller may have dropped the future.
                drop(done.send(outcome));
            }
        });
        if started.is_err() {
            // The thread limit is reached, so the work runs in the caller's task.
            return work.await;
        }
        drop(give.send((self, work.in_current_span().boxed())));
        match waiting.await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(panic)) => resume_unwind(panic),
            // The runtime is shutting down and drops this future.
            Err(_closed) => pending().await,
        }
    }
}

impl OfAddress {
    async fn enter(turns: &Turns, address: Option<Address>) -> Self {
        let new = || Arc::new(Semaphore::new(turns.0.per_address));
        let of_address = turns.with_addresses(|all| Arc::clone(all.entry(address).or_insert_with(new)));
        // If the caller stops waiting, dropping this value removes the map entry.
        let mut waiting = Self { turns: turns.clone(), address, permit: None };
        waiting.permit = of_address.acquire_owned().await.ok();
        waiting
    }
}

impl Drop for OfAddress {
    fn drop(&mut self) {
        self.permit = None;
        self.turns.with_addresses(|all| {
            // Every holder and every waiter has a reference. If only one reference is left, it is the map's own.
            if all.get(&self.address).is_some_and(|of_address| Arc::strong_count(of_address) == 1) {
                all.remove(&self.address);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use core::net::{IpAddr, Ipv4Addr};

    use super::*;

    fn address(number: u8) -> Address {
        Address::from(IpAddr::from(Ipv4Addr::new(10, 0, 0, number)))
    }

    /// Takes a turn if there is one without waiting.
    fn try_enter(turns: &Turns, number: u8) -> Option<Turn> {
        turns.enter(LARGE + 1, Some(address(number))).now_or_never()
    }

    #[test]
    fn an_address_waits_behind_its_own_operations_and_others_do_not() {
        let turns = Turns::new();
        let per_address = turns.0.per_address;
        let mut held: Vec<Turn> = (0..per_address).map(|_| try_enter(&turns, 1).unwrap()).collect();
        assert!(try_enter(&turns, 1).is_none());
        held.push(try_enter(&turns, 2).unwrap());
        held.remove(0);
        assert!(try_enter(&turns, 1).is_some());
    }

    #[test]
    fn turns_are_limited_and_small_operations_need_none() {
        let turns = Turns::new();
        let all = turns.0.all.available_permits();
        let mut held: Vec<Turn> =
            (0..all).map(|number| try_enter(&turns, u8::try_from(number).unwrap()).unwrap()).collect();
        assert!(try_enter(&turns, 255).is_none());
        assert!(turns.enter(LARGE, Some(address(255))).now_or_never().is_some());
        held.clear();
        assert!(try_enter(&turns, 255).is_some());
    }

    #[tokio::test]
    async fn addresses_without_large_operations_are_removed() {
        let turns = Turns::new();
        let mut held: Vec<Turn> = Vec::new();
        for _ in 0..turns.0.per_address {
            held.push(turns.enter(LARGE + 1, Some(address(1))).await);
        }
        let mut waiting = Box::pin(turns.enter(LARGE + 1, Some(address(1))));
        assert!(waiting.as_mut().now_or_never().is_none());
        drop(waiting);
        held.clear();
        assert_eq!(turns.with_addresses(|all| all.len()), 0);
    }
}
