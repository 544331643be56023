//! Fair queuing of the tasks of workers: clients that use little of a worker's time go first.
//!
//! A worker polls its tasks in the order in which they become ready. So if an address has a thousand ready tasks, a
//! request from another address waits for all of them, once for each of its round trips. Here, a task waits in a queue
//! if its address has used more of the worker's time than the mean of the addresses, and more than [`ALLOWANCE`].
//! Whenever the worker has polled all other ready tasks, it goes on with a [`SLICE`] of the queued ones, one of each
//! address in turn (round robin).
//!
//! The scheduling is work-conserving: the worker is never idle while a task waits, and tasks of an address that is
//! alone on a worker are never queued.
//!
//! Not here: work that takes milliseconds without interruption, which runs on other threads (`graphql::turn`).

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::model::address::Address;
use crate::worker;

/// Interval at which what addresses have used is halved.
const PERIOD: Duration = Duration::from_secs(1);
/// Time of a worker that an address may have used without waiting for others.
const ALLOWANCE: Duration = Duration::from_millis(10);
/// Time below which what an address has used is forgotten.
const NEGLIGIBLE: Duration = Duration::from_micros(100);
/// Time for which queued tasks run before the tasks of other addresses that have become ready.
const SLICE: Duration = Duration::from_micros(200);

thread_local! {
    /// The queue of a worker.
    static QUEUE: RefCell<Queue> = RefCell::default();
}

#[derive(Default)]
struct Queue {
    /// True while a task that counts is being polled, perhaps by a future around it that counts as well.
    is_polling: bool,
    /// The time at which what addresses have used is halved next.
    halved_at: Option<Instant>,
    /// What addresses have used of the worker, and the sum of their times.
    used: HashMap<Address, Used>,
    total: Duration,
    /// The tasks that wait. Each receives a message when it may go on.
    waiting: HashMap<Address, VecDeque<oneshot::Sender<()>>>,
    /// The addresses with tasks that wait, in the order of their turns.
    turns: VecDeque<Address>,
    /// True while a task runs that lets those that wait go on.
    is_served: bool,
}

/// What an address has used of a worker.
#[derive(Clone, Copy, Default)]
struct Used {
    time: Duration,
    polls: u32,
}

pin_project_lite::pin_project! {
    /// A task of an address; see [`fairly`].
    pub(super) struct Fair<F> {
        address: Option<Address>,
        #[pin]
        task: F,
        // The receiver that the task waits for, if it waits.
        turn: Option<oneshot::Receiver<()>>,
    }
}

/// Returns a future that runs a task of this address, behind those of other addresses if the address has used much of
/// the worker's time. Changes nothing if the address is unknown, on threads that are not workers', and within another
/// such task.
pub(super) fn fairly<F: Future>(address: Option<Address>, task: F) -> Fair<F> {
    Fair { address, task, turn: None }
}

impl<F: Future> Future for Fair<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let Some(address) = this.address.filter(|_| worker::lane() > 0) else {
            return this.task.poll(context);
        };
        if with_queue(|queue| queue.is_polling) {
            return this.task.poll(context);
        }
        if this.turn.is_none() {
            *this.turn = with_queue(|queue| queue.enter(address, Instant::now()));
        }
        if let Some(waiting) = this.turn {
            // An error would mean that the worker stops.
            let _ = ready!(Pin::new(waiting).poll(context));
            *this.turn = None;
        }
        let _polling = Polling::begin(address);
        this.task.poll(context)
    }
}

fn with_queue<T>(work: impl FnOnce(&mut Queue) -> T) -> T {
    QUEUE.with_borrow_mut(work)
}

/// A poll in progress, counted when this value is dropped.
struct Polling {
    address: Address,
    began: Instant,
}

impl Polling {
    fn begin(address: Address) -> Self {
        with_queue(|queue| queue.is_polling = true);
        Self { address, began: Instant::now() }
    }
}

impl Drop for Polling {
    fn drop(&mut self) {
        with_queue(|queue| {
            queue.is_polling = false;
            queue.count(self.address, self.began.elapsed());
        });
    }
}

impl Queue {
    /// Returns a receiver that gets a message when a task of this address may go on; `None` if it may go on at once.
    fn enter(&mut self, address: Address, now: Instant) -> Option<oneshot::Receiver<()>> {
        self.halve_if_due(now);
        let used = self.used.get(&address).map_or(Duration::ZERO, |used| used.time);
        let mean = self.total / u32::try_from(self.used.len()).unwrap_or(u32::MAX).max(1);
        if used <= mean.max(ALLOWANCE) {
            return None;
        }
        let (go_on, turn) = oneshot::channel();
        let tasks = self.waiting.entry(address).or_default();
        if tasks.is_empty() {
            self.turns.push_back(address);
        }
        tasks.push_back(go_on);
        if !std::mem::replace(&mut self.is_served, true) {
            tokio::spawn(serve());
        }
        Some(turn)
    }

    fn halve_if_due(&mut self, now: Instant) {
        if self.halved_at.is_some_and(|at| now < at) {
            return;
        }
        self.halved_at = Some(now + PERIOD);
        self.used.retain(|_, used| {
            used.time /= 2;
            used.polls = used.polls.div_ceil(2);
            used.time > NEGLIGIBLE
        });
        self.total = self.used.values().map(|used| used.time).sum();
    }

    fn count(&mut self, address: Address, time: Duration) {
        let used = self.used.entry(address).or_default();
        used.time += time;
        used.polls += 1;
        self.total += time;
    }

    /// Lets tasks go on that together probably take a slice, one of each address in turn. Returns false if none waits.
    fn go_on(&mut self) -> bool {
        let mut rest = SLICE;
        while !rest.is_zero() {
            let Some(address) = self.turns.pop_front() else {
                self.is_served = false;
                return false;
            };
            let Some(tasks) = self.waiting.get_mut(&address) else { continue };
            // A task that was dropped takes no time.
            let goes_on = tasks.pop_front().is_some_and(|task| task.send(()).is_ok());
            if tasks.is_empty() {
                self.waiting.remove(&address);
            } else {
                self.turns.push_back(address);
            }
            if goes_on {
                let Used { time, polls } = self.used.get(&address).copied().unwrap_or_default();
                rest = rest.saturating_sub(time / polls.max(1));
            }
        }
        true
    }
}

/// Lets the tasks that wait go on until none waits.
async fn serve() {
    // The runtime continues a task that yields once it has polled the ready tasks and the sources of events.
    while with_queue(Queue::go_on) {
        tokio::task::yield_now().await;
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::channel;

    use tokio::task::yield_now;

    use super::*;
    use crate::worker::Workers;

    const LONG: Duration = Duration::from_secs(30);

    fn address(last: u8) -> Address {
        IpAddr::from([192, 0, 2, last]).into()
    }

    /// A queue in which these addresses have used this many milliseconds each, in two polls.
    fn queue(used: &[(u8, u64)]) -> Queue {
        let mut queue = Queue { is_served: true, ..Queue::default() };
        queue.halve_if_due(Instant::now());
        for (last, millis) in used {
            for _ in 0..2 {
                queue.count(address(*last), Duration::from_millis(*millis) / 2);
            }
        }
        queue
    }

    #[test]
    fn who_has_used_more_than_the_mean_waits() {
        let waits = |used: &[(u8, u64)]| {
            let mut queue = queue(used);
            [1, 2, 3].map(|last| queue.enter(address(last), Instant::now()).is_some())
        };
        assert_eq!(waits(&[(1, 100)]), [false; 3]);
        assert_eq!(waits(&[(1, 100), (2, 80)]), [true, false, false]);
        assert_eq!(waits(&[(1, 100), (2, 80), (3, 20)]), [true, true, false]);
        assert_eq!(waits(&[(1, 8), (2, 1)]), [false; 3]);
    }

    #[test]
    fn what_was_used_is_forgotten() {
        let now = Instant::now();
        let mut queue = queue(&[(1, 100), (2, 1)]);
        let waits: Vec<bool> =
            (1..=12).map(|period| queue.enter(address(1), now + period * PERIOD).is_some()).collect();
        assert_eq!(waits.iter().filter(|waits| **waits).count(), 4, "{waits:?}");
        assert_eq!((queue.used.len(), queue.total), (0, Duration::ZERO));
    }

    #[test]
    fn addresses_take_turns_and_a_slice_is_what_tasks_have_used_before() {
        let now = Instant::now();
        // A poll takes 100 µs, half a slice; and 20 ms.
        let mut queue = queue(&[(1, 20), (2, 40), (3, 1), (4, 1), (5, 1)]);
        queue.used.get_mut(&address(1)).unwrap().polls = 200;
        let waiting = [1, 1, 1, 1, 2].map(|last| queue.enter(address(last), now).unwrap());
        let went_on = |waiting: &mut [oneshot::Receiver<()>; 5]| {
            waiting.each_mut().map(|task| u8::from(task.try_recv().is_ok()))
        };
        let mut waiting = waiting;
        assert!(queue.go_on());
        assert_eq!(went_on(&mut waiting), [1, 0, 0, 0, 1]);
        assert!(queue.go_on());
        assert_eq!(went_on(&mut waiting), [0, 1, 1, 0, 0]);
        waiting[3].close();
        assert!(!queue.go_on());
        assert_eq!((queue.waiting.len(), queue.turns.len(), queue.is_served), (0, 0, false));
    }

    /// Runs the tasks of a flood on a worker, and then one task of another address that yields `hops` times. Returns
    /// how often the flood was polled meanwhile.
    fn polls_beside(hops: usize) -> usize {
        let workers = Workers::start(1).unwrap();
        let polls = Arc::new(AtomicUsize::new(0));
        for _ in 0..500 {
            let polls = Arc::clone(&polls);
            workers.spawn(fairly(Some(address(1)), async move {
                loop {
                    std::thread::sleep(SLICE / 2);
                    polls.fetch_add(1, Ordering::Relaxed);
                    yield_now().await;
                }
            }));
        }
        let (done, results) = channel();
        workers.spawn(fairly(Some(address(2)), async move {
            // The flood has become known.
            while polls.load(Ordering::Relaxed) < 1_000 {
                yield_now().await;
            }
            let before = polls.load(Ordering::Relaxed);
            for _ in 0..hops {
                yield_now().await;
            }
            done.send(polls.load(Ordering::Relaxed) - before).unwrap();
        }));
        results.recv_timeout(LONG).unwrap()
    }

    #[test]
    fn a_request_waits_for_a_slice_of_a_flood_and_not_for_all_of_it() {
        let polls = polls_beside(20);
        assert!((1..=60).contains(&polls), "the flood was polled {polls} times");
    }

    #[test]
    fn what_waits_may_be_dropped_and_nested_tasks_wait_once() {
        let workers = Workers::start(1).unwrap();
        let (done, results) = channel();
        for last in [1, 2] {
            let done = done.clone();
            workers.spawn(fairly(Some(address(last)), async move {
                std::thread::sleep(2 * ALLOWANCE);
                for _ in 0..50 {
                    let inner = fairly(Some(address(3)), yield_now());
                    let dropped = fairly(Some(address(last)), std::future::pending::<()>());
                    tokio::select! {
                        () = inner => {}
                        () = dropped => {}
                    }
                }
                done.send(with_queue(|queue| queue.used.contains_key(&address(3)))).unwrap();
            }));
        }
        assert_eq!([(); 2].map(|()| results.recv_timeout(LONG).unwrap()), [false; 2]);
    }
}
