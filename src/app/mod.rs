//! Application logic: the rules, and the order in which several slots are written.
//!
//! Every write passes through here with a [`viewer::Viewer`]. Reads of users and posts pass through
//! [`visibility`]. All reads of one level of a query form one batch ([`read`]). Not here: Redis commands (`store`),
//! and the representation for clients (`graphql`).

pub mod archive;
pub mod audience;
pub mod charge;
pub mod check;
mod deadline;
pub mod delivery;
pub mod error;
pub mod import;
mod intent;
pub mod live;
pub mod memory;
mod once;
mod password;
mod per_user;
pub mod post;
pub mod rate_limit;
pub mod read;
mod recovery;
pub mod region;
pub mod relation;
pub mod repair;
pub mod session;
mod throttle;
pub mod timeline;
pub mod user;
pub mod viewer;
pub mod visibility;
pub mod visit;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use tokio::sync::OnceCell;

use crate::app::delivery::mark::DeliveredMark;
use crate::app::live::Listeners;
use crate::app::once::Once;
use crate::app::password::Passwords;
use crate::app::per_user::PerUser;
use crate::app::recovery::Recovery;
use crate::app::timeline::Strategy;
use crate::app::timeline::look::TimelineLooks;
use crate::app::visit::{Counts, Visits};
use crate::archive::Archive;
use crate::config::RulesConfig;
use crate::gate::Gate;
use crate::model::clock::{Day, SharedClock, Timestamp};
use crate::model::id::UserId;
use crate::model::rng::Rng;
use crate::store::Store;
use crate::store::key::Keys;

/// The state of the hot store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// Readable and writable.
    Ready,
    /// Read-only: out of memory.
    Full,
    /// Read-only: a replica, or unable to write to disk.
    ReadOnly,
    /// Unreachable.
    Away,
}

/// The application: the rules over one store. Cheap to clone.
#[derive(Clone)]
pub struct App(Arc<Parts>);

struct Parts {
    store: Store,
    clock: SharedClock,
    rng: Arc<Rng>,
    rules: RulesConfig,
    archive: Archive,
    /// Whether the mover of this process is failing.
    is_stuck: Arc<AtomicBool>,
    /// The identity of the archive, once it has been verified to belong to this store.
    bound: Arc<OnceCell<String>>,
    passwords: Passwords,
    process: ProcessState,
    /// The token of this process's repair intents.
    repairer_token: u64,
}

/// State of this process alone, which is lost with it: caches, subscribers and marks.
#[derive(Default)]
struct ProcessState {
    /// The timeline strategy in force, as cached by this process.
    strategy: Strategy,
    /// Today's visitors, as cached by this process.
    visits: Visits,
    /// Cached visitor counts of days with a large number of visitors.
    visitor_counts: Counts,
    /// Today's profile views that this process has recorded: profile and visitor.
    views: Once<(UserId, UserId)>,
    /// The subscribers of this process.
    listeners: Listeners,
    /// The last read of each timeline with live readers.
    looks: PerUser<TimelineLooks>,
    /// Held by the one event per user that waits for rate-limit tokens.
    allowances: PerUser<tokio::sync::Mutex<()>>,
    /// The cached delivered mark.
    delivered_mark: DeliveredMark,
    /// The greatest post id that this process has issued or read as a watermark: its readers hold marks up to
    /// it.
    last_issued: AtomicU64,
    /// The state of post counter recovery after a Redis restart.
    recovery: Recovery,
}

impl App {
    /// Creates the application over this store and archive, with an injected clock and random generator.
    #[must_use]
    pub fn new(store: Store, archive: Archive, clock: SharedClock, rng: Rng, rules: RulesConfig) -> Self {
        let rng = Arc::new(rng);
        let passwords = Passwords::new(&rules.account, Arc::clone(&rng));
        let repairer_token = rng.nonce();
        Self(Arc::new(Parts {
            store,
            clock,
            rng,
            rules,
            archive,
            is_stuck: Arc::default(),
            bound: Arc::default(),
            passwords,
            process: ProcessState::default(),
            repairer_token,
        }))
    }

    /// Returns the application as another process would have it, with its round trips passing through a gate.
    #[must_use]
    pub fn with_gate(&self, gate: Arc<dyn Gate>) -> Self {
        self.over(self.store().with_gate(Arc::clone(&gate)), self.0.archive.with_gate(gate))
    }

    /// Returns the same application over other connections to the same store and archive.
    fn over(&self, store: Store, archive: Archive) -> Self {
        let Parts { clock, rng, rules, is_stuck, bound, passwords, .. } = &*self.0;
        Self(Arc::new(Parts {
            store,
            clock: Arc::clone(clock),
            rng: Arc::clone(rng),
            rules: rules.clone(),
            archive,
            is_stuck: Arc::clone(is_stuck),
            bound: Arc::clone(bound),
            passwords: passwords.clone(),
            process: ProcessState::default(),
            repairer_token: rng.nonce(),
        }))
    }

    /// Returns the hot store.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.0.store
    }

    /// Returns whether the hot store can be read and written; hardly anything works otherwise. One round
    /// trip.
    pub async fn is_ready(&self) -> Readiness {
        match self.store().probe(self.now()).await {
            Ok(()) => Readiness::Ready,
            Err(error) if error.is_full() => Readiness::Full,
            Err(error) if error.is_read_only() => Readiness::ReadOnly,
            Err(_) => Readiness::Away,
        }
    }

    /// Returns the number of passwords this process has verified.
    #[must_use]
    pub fn passwords_verified(&self) -> u64 {
        self.0.passwords.verified()
    }

    /// Returns a unique id for a request that has none.
    #[must_use]
    pub fn request_id(&self) -> String {
        format!("{:032x}", u128::from_le_bytes(self.rng().bytes()))
    }

    /// Returns the number of passwords waiting to be hashed.
    #[must_use]
    pub fn waiting_passwords(&self) -> usize {
        self.0.passwords.waiting()
    }

    /// Returns the number of connections to the archive.
    #[must_use]
    pub fn archive_connections(&self) -> u32 {
        self.0.archive.connections()
    }

    /// Returns the rules set by the operator.
    #[must_use]
    pub fn rules(&self) -> &RulesConfig {
        &self.0.rules
    }

    fn keys(&self) -> &Keys {
        self.0.store.keys()
    }

    fn rng(&self) -> &Rng {
        &self.0.rng
    }

    /// Returns the current day by the injected clock.
    #[must_use]
    pub fn today(&self) -> Day {
        Day::of(self.now())
    }

    /// Returns the current time by the injected clock.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.0.clock.now()
    }
}
