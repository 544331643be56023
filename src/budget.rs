//! Limits on an operation's resource usage.
//!
//! A document's cost is a prediction, made before anything is read. A [`Budget`] is the hard limit: it counts an
//! operation's commands, the bytes of their replies, archive statements, list entries and the bytes of the response,
//! and rejects work that would exceed a limit. Not here: default limits (`config`) and predicted costs
//! (`graphql::document`).
//!
//! # Why a task-local
//! A read passes through every layer, and most of the code on the way has no use for a budget. Like a tracing
//! span, the budget is part of the request context: a [limited](Budget::limit) future spends from the budget,
//! whichever function sends the command. Writes are never limited, because a sequence of writes that stops
//! midway would be left to the repairer.

use std::fmt;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use tokio::sync::Notify;

/// Number of possibly hidden entries of lists that an operation reads before its pages read fewer.
const MOST_HIDDEN_ENTRIES: usize = 50_000;

/// The resources that a budget counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// Commands sent to Redis. A command that reads many members counts as several commands, in proportion to
    /// its work.
    Commands,
    /// Bytes of Redis replies.
    ReplyBytes,
    /// Statements sent to the archive.
    Statements,
    /// Bytes of the response.
    ResponseBytes,
    /// Cost of list entries beyond the number from which the operation's cost was predicted.
    Excess,
}

impl Resource {
    /// All resources, in declaration order.
    pub const ALL: [Self; 5] =
        [Self::Commands, Self::ReplyBytes, Self::Statements, Self::ResponseBytes, Self::Excess];

    /// Returns the resource's name in metrics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Commands => "commands",
            Self::ReplyBytes => "reply_bytes",
            Self::Statements => "statements",
            Self::ResponseBytes => "response_bytes",
            Self::Excess => "excess",
        }
    }
}

/// An amount of each resource, in the order of [`Resource::ALL`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amounts(pub [u64; Resource::ALL.len()]);

impl Amounts {
    /// Returns the amount of one resource.
    #[must_use]
    pub fn of(&self, resource: Resource) -> u64 {
        self.0[resource as usize]
    }
}

/// A limit that an operation would have exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exceeded {
    /// Limited resource.
    pub resource: Resource,
    /// Limit on the operation's usage of the resource.
    pub limit: u64,
}

impl fmt::Display for Exceeded {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limit = self.limit;
        match self.resource {
            Resource::Commands => write!(formatter, "it needs more than {limit} commands to the store"),
            Resource::ReplyBytes => write!(formatter, "it reads more than {limit} bytes from the store"),
            Resource::Statements => write!(formatter, "it needs more than {limit} statements to the archive"),
            Resource::ResponseBytes => write!(formatter, "its response has more than {limit} bytes"),
            Resource::Excess => {
                write!(
                    formatter,
                    "its lists are longer than predicted, and their further entries cost more than {limit}"
                )
            }
        }
    }
}

tokio::task_local! {
    /// The current operation's budget; `None` within an [`unlimited`] future.
    static CURRENT: Option<Arc<Budget>>;
}

/// An operation's limits, and its usage so far.
#[derive(Debug)]
pub struct Budget {
    limits: Amounts,
    used: [AtomicU64; Resource::ALL.len()],
    exceeded: OnceLock<Exceeded>,
    /// Notifies [`Self::over`].
    is_over: Notify,
    /// True once a statement of the operation has failed because the archive is unavailable.
    lacks_archive: AtomicBool,
    /// Number of possibly hidden entries of lists that pages may still read in full.
    hidden_entries: AtomicUsize,
}

impl Budget {
    /// Creates an unused budget.
    #[must_use]
    pub fn new(limits: Amounts) -> Arc<Self> {
        let (used, exceeded, is_over, lacks_archive) = Default::default();
        let hidden_entries = AtomicUsize::new(MOST_HIDDEN_ENTRIES);
        Arc::new(Self { limits, used, exceeded, is_over, lacks_archive, hidden_entries })
    }

    /// Creates an unused budget with the same limits.
    #[must_use]
    pub fn renewed(&self) -> Arc<Self> {
        Self::new(self.limits)
    }

    /// Runs a future that spends from this budget.
    pub async fn limit<T>(self: &Arc<Self>, work: impl Future<Output = T>) -> T {
        CURRENT.scope(Some(Arc::clone(self)), work).await
    }

    /// Takes an amount if enough is left; otherwise, fails and takes nothing.
    pub fn spend(&self, resource: Resource, amount: u64) -> Result<(), Exceeded> {
        let limit = self.limits.of(resource);
        let used = &self.used[resource as usize];
        let spend = |used: u64| used.checked_add(amount).filter(|sum| *sum <= limit);
        if used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, spend).is_ok() {
            return Ok(());
        }
        let exceeded = *self.exceeded.get_or_init(|| Exceeded { resource, limit });
        self.is_over.notify_waiters();
        Err(exceeded)
    }

    /// Returns an amount that was spent.
    fn refund(&self, resource: Resource, amount: u64) {
        let refund = |used: u64| Some(used.saturating_sub(amount));
        _ = self.used[resource as usize].fetch_update(Ordering::Relaxed, Ordering::Relaxed, refund);
    }

    /// Takes up to `most` of the possibly hidden entries that the operation may still read, but at least `least`.
    fn take_hidden_entries(&self, most: usize, least: usize) -> usize {
        let take = |left: usize| Some(left.saturating_sub(most));
        let left = self.hidden_entries.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
        left.unwrap_or(0).clamp(least.min(most), most)
    }

    /// Returns the amounts used so far.
    #[must_use]
    pub fn used(&self) -> Amounts {
        Amounts(self.used.each_ref().map(|used| used.load(Ordering::Relaxed)))
    }

    /// Returns what an operation of this predicted cost has cost: the usage in the same unit, which is about ten
    /// microseconds of store or server time, or what its lists made of the prediction if that is more.
    #[must_use]
    pub fn cost(&self, predicted: u64) -> u64 {
        const COMMANDS: u64 = 4;
        const REPLY_BYTES: u64 = 8_192;
        const RESPONSE_BYTES: u64 = 4_096;
        let used = self.used();
        let measured = used.of(Resource::Commands) / COMMANDS
            + used.of(Resource::ReplyBytes) / REPLY_BYTES
            + used.of(Resource::Statements) * 10
            + used.of(Resource::ResponseBytes) / RESPONSE_BYTES;
        measured.max(predicted.saturating_add(used.of(Resource::Excess)))
    }

    /// Returns the amount of a resource that is left.
    #[must_use]
    pub fn left(&self, resource: Resource) -> u64 {
        self.limits.of(resource).saturating_sub(self.used().of(resource))
    }

    /// Returns a resource's limit.
    #[must_use]
    pub fn limit_of(&self, resource: Resource) -> u64 {
        self.limits.of(resource)
    }

    /// Waits until a limit would have been exceeded.
    pub async fn over(&self) -> Exceeded {
        loop {
            let is_over = self.is_over.notified();
            if let Some(exceeded) = self.exceeded() {
                return exceeded;
            }
            is_over.await;
        }
    }

    /// Returns the first limit that would have been exceeded, if any.
    #[must_use]
    pub fn exceeded(&self) -> Option<Exceeded> {
        self.exceeded.get().copied()
    }
}

/// Takes an amount from the current operation's budget. Does nothing if the operation has no budget.
pub fn spend(resource: Resource, amount: u64) -> Result<(), Exceeded> {
    current(|budget| budget.spend(resource, amount)).unwrap_or(Ok(()))
}

/// Gives an amount that the current operation has spent back to its budget: one that must not show in what the
/// operation costs, because it depends on what the viewer may not see.
pub fn refund(resource: Resource, amount: u64) {
    current(|budget| budget.refund(resource, amount));
}

/// Returns the number of possibly hidden entries that the next page of a list may read: `most`, or `least` once the
/// current operation has read many. They are not charged, because what an operation costs must not tell of entries that
/// its viewer may not see, so this is their bound.
#[must_use]
pub fn take_hidden_entries(most: usize, least: usize) -> usize {
    current(|budget| budget.take_hidden_entries(most, least)).unwrap_or(most)
}

/// Returns the amount of a resource that the current operation has left; `None` if the operation is not
/// limited.
#[must_use]
pub fn left(resource: Resource) -> Option<u64> {
    current(|budget| budget.left(resource))
}

/// Records that the archive is unavailable to the current operation.
pub fn note_lack_of_archive() {
    current(|budget| budget.lacks_archive.store(true, Ordering::Relaxed));
}

/// Returns true if the archive is known to be unavailable to the current operation.
///
/// # Why
/// An unavailable archive costs a timeout. Without this, an operation would wait once for each level of its selection,
/// until its own timeout takes all of its data away.
#[must_use]
pub fn lacks_archive() -> bool {
    current(|budget| budget.lacks_archive.load(Ordering::Relaxed)).unwrap_or(false)
}

/// Runs a future outside any budget, for work done once on behalf of many later operations.
pub async fn unlimited<T>(work: impl Future<Output = T>) -> T {
    CURRENT.scope(None, work).await
}

fn current<T>(look: impl FnOnce(&Budget) -> T) -> Option<T> {
    CURRENT.try_with(|budget| budget.as_deref().map(look)).ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_budget_is_spent_by_the_future_that_it_limits_and_no_other() {
        let budget = Budget::new(Amounts([10, 0, 1, 1, 1]));
        assert_eq!(spend(Resource::Commands, 1_000), Ok(()), "nothing is limited here");
        budget
            .limit(async {
                assert_eq!(spend(Resource::Commands, 4), Ok(()));
                tokio::task::yield_now().await;
                assert_eq!(left(Resource::Commands), Some(6));
                assert_eq!(unlimited(async { spend(Resource::Commands, 1_000) }).await, Ok(()));
            })
            .await;
        assert_eq!(left(Resource::Commands), None);
        assert_eq!(budget.used().of(Resource::Commands), 4);
    }

    #[tokio::test]
    async fn what_is_refunded_does_not_show_in_the_cost() {
        let budget = Budget::new(Amounts([10, 100, 1, 1, 1]));
        budget
            .limit(async {
                assert_eq!(spend(Resource::ReplyBytes, 90), Ok(()));
                refund(Resource::ReplyBytes, 80);
            })
            .await;
        assert_eq!(budget.used().of(Resource::ReplyBytes), 10);
    }

    #[tokio::test]
    async fn pages_read_fewer_hidden_entries_once_an_operation_has_read_many() {
        let budget = Budget::new(Amounts::default());
        let taken = budget.limit(async { [(); 52].map(|()| take_hidden_entries(1_000, 100)) }).await;
        assert_eq!(taken[..50], [1_000; 50]);
        assert_eq!(taken[50..], [100; 2]);
        assert_eq!(take_hidden_entries(1_000, 100), 1_000, "nothing is limited here");
    }

    #[tokio::test]
    async fn who_waits_learns_that_a_limit_is_exceeded() {
        let budget = Budget::new(Amounts([10, 0, 1, 1, 1]));
        let waiting = tokio::spawn({
            let budget = Arc::clone(&budget);
            async move { budget.over().await }
        });
        tokio::task::yield_now().await;
        let exceeded = budget.spend(Resource::Commands, 11).unwrap_err();
        assert_eq!((waiting.await.unwrap(), budget.over().await), (exceeded, exceeded));
    }

    #[test]
    fn an_amount_that_exceeds_a_limit_is_not_spent() {
        let budget = Budget::new(Amounts([10, 0, 1, 1, 1]));
        assert_eq!(budget.spend(Resource::Commands, 10), Ok(()));
        let exceeded = Exceeded { resource: Resource::Commands, limit: 10 };
        assert_eq!(budget.spend(Resource::Commands, u64::MAX), Err(exceeded));
        assert_eq!(budget.spend(Resource::Commands, 0), Ok(()));
        assert_eq!(budget.exceeded(), Some(exceeded));
        assert_eq!(budget.used(), Amounts([10, 0, 0, 0, 0]));
    }
}
