//! Application logic: the rules, and the order of writes that span several Redis slots.
//!
//! All writes pass through this layer. A write requested by a client takes a [`viewer::Viewer`]. Reads of users and
//! posts pass through [`visibility`]. All reads of one level of a query form one batch ([`read`]). Not here: Redis
//! commands (`store`) and the API representation (`graphql`).
//!
#![doc = include_str!("README.md")]

pub mod account;
pub mod archive;
pub mod audience;
pub mod charge;
pub mod check;
mod counter;
mod deadline;
pub mod delivery;
pub mod doctor;
mod edge;
pub mod error;
mod exclusion;
mod feature;
pub mod import;
mod intent;
pub mod jwt;
pub mod live;
pub mod memory;
mod mirrored;
pub mod moderation;
mod once;
mod own_writes;
mod password;
mod per_user;
pub mod post;
pub mod rate_limit;
pub mod read;
pub mod recovery;
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

use crate::app::counter::Raised;
use crate::app::delivery::mark::DeliveredMark;
use crate::app::error::Error;
use crate::app::exclusion::ExclusionCache;
use crate::app::feature::Entered;
use crate::app::jwt::{Jwt, SubjectCache};
use crate::app::live::Listeners;
use crate::app::once::Once;
use crate::app::own_writes::Consistency;
use crate::app::password::Passwords;
use crate::app::per_user::PerUser;
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
use crate::store::batch::Batch;
use crate::store::command::Command;
use crate::store::key::Keys;

/// The availability of the hot store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// The store is readable and writable.
    Ready,
    /// The store is read-only because it is out of memory.
    Full,
    /// The store is read-only because it is a replica or cannot write to disk.
    ReadOnly,
    /// The store is unreachable.
    Away,
}

/// The application: the rules, applied to one store and one archive. Cheap to clone.
#[derive(Clone)]
pub struct App(Arc<Parts>, Consistency);

struct Parts {
    store: Store,
    clock: SharedClock,
    rng: Arc<Rng>,
    rules: RulesConfig,
    archive: Archive,
    /// True while this process's archive mover is failing.
    is_stuck: Arc<AtomicBool>,
    /// The archive's identity, set once this process has verified that the archive belongs to this store.
    bound: Arc<OnceCell<String>>,
    passwords: Passwords,
    /// Verifier of the tokens of an existing application.
    jwt: Jwt,
    process: ProcessState,
    /// Token of the intents that this process's repairer records.
    repairer_token: u64,
}

/// In-memory state of this process, lost when the process exits: caches, subscribers and marks.
struct ProcessState {
    /// Cache of the timeline strategy in force.
    strategy: Strategy,
    /// Cache of today's visits: users already counted, and the day's shard layout.
    visits: Visits,
    /// Cached visitor counts of days with many visitors.
    visitor_counts: Counts,
    /// Profile views that this process has recorded today, as pairs of profile owner and profile viewer.
    views: Once<(UserId, UserId)>,
    /// All subscribers in this process.
    listeners: Listeners,
    /// Last lookup of changes to each timeline that is being watched through this process.
    looks: PerUser<TimelineLooks>,
    /// Per-user lock, held by the page of a download that is waiting for rate-limit tokens.
    allowances: PerUser<tokio::sync::Mutex<()>>,
    /// Per-user lock, held for writing by the subscription event that is waiting for rate-limit tokens.
    event_turns: PerUser<tokio::sync::RwLock<()>>,
    /// Cached delivered mark, as last read from Redis.
    delivered_mark: DeliveredMark,
    /// Cached exclusions of recent viewers.
    exclusions: ExclusionCache,
    /// Users of the subjects of recent viewers.
    subjects: SubjectCache,
    /// Features that the store is known to have.
    entered: Entered,
    /// Greatest post id that this process has issued or read as a watermark. Clients may hold cursors up to this id, so
    /// this id and all smaller ids must not be reissued.
    last_issued: AtomicU64,
    /// The Redis restarts after which the counters of ids were raised.
    raised: Raised,
}

impl ProcessState {
    fn new(rules: &RulesConfig) -> Self {
        Self {
            strategy: Strategy::default(),
            visits: Visits::default(),
            visitor_counts: Counts::default(),
            views: Once::default(),
            listeners: Listeners::default(),
            looks: PerUser::default(),
            allowances: PerUser::default(),
            event_turns: PerUser::default(),
            delivered_mark: DeliveredMark::default(),
            exclusions: ExclusionCache::new(&rules.relation),
            subjects: SubjectCache::default(),
            entered: Entered::default(),
            last_issued: AtomicU64::default(),
            raised: Raised::default(),
        }
    }
}

impl App {
    /// Creates the application over a store and an archive, with an injected clock and random number generator.
    #[must_use]
    pub fn new(store: Store, archive: Archive, clock: SharedClock, rng: Rng, rules: RulesConfig) -> Self {
        let rng = Arc::new(rng);
        let passwords = Passwords::new(&rules.account, Arc::clone(&rng));
        let jwt = Jwt::new(&rules.jwt);
        let repairer_token = rng.nonce();
        let process = ProcessState::new(&rules);
        Self(
            Arc::new(Parts {
                store,
                clock,
                rng,
                rules,
                archive,
                is_stuck: Arc::default(),
                bound: Arc::default(),
                passwords,
                jwt,
                process,
                repairer_token,
            }),
            Consistency::Latest,
        )
    }

    /// Returns a copy of the application that acts as a new process: its in-memory state is empty. The copy's round
    /// trips pass through `gate`.
    #[must_use]
    pub fn with_gate(&self, gate: Arc<dyn Gate>) -> Self {
        self.over(self.store().with_gate(Arc::clone(&gate)), self.0.archive.with_gate(gate))
    }

    /// Returns a copy of the application with empty in-memory state, over the given connections to the same store and
    /// archive.
    fn over(&self, store: Store, archive: Archive) -> Self {
        let Parts { clock, rng, rules, is_stuck, bound, passwords, jwt, .. } = &*self.0;
        Self(
            Arc::new(Parts {
                store,
                clock: Arc::clone(clock),
                rng: Arc::clone(rng),
                rules: rules.clone(),
                archive,
                is_stuck: Arc::clone(is_stuck),
                bound: Arc::clone(bound),
                passwords: passwords.clone(),
                jwt: jwt.clone(),
                process: ProcessState::new(rules),
                repairer_token: rng.nonce(),
            }),
            Consistency::Latest,
        )
    }

    /// Returns the hot store.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.0.store
    }

    /// Probes the hot store and returns its availability. Without the hot store, almost every request fails. Makes one
    /// round trip.
    pub async fn is_ready(&self) -> Readiness {
        match self.store().probe(self.now()).await {
            Ok(()) => Readiness::Ready,
            Err(error) if error.is_full() => Readiness::Full,
            Err(error) if error.is_read_only() => Readiness::ReadOnly,
            Err(_) => Readiness::Away,
        }
    }

    /// Returns the number of passwords that this process has verified.
    #[must_use]
    pub fn passwords_verified(&self) -> u64 {
        self.0.passwords.verified()
    }

    /// Returns a random id for a request that arrives without one.
    #[must_use]
    pub fn request_id(&self) -> String {
        format!("{:032x}", u128::from_le_bytes(self.rng().bytes()))
    }

    /// Returns the number of passwords waiting to be hashed.
    #[must_use]
    pub fn waiting_passwords(&self) -> usize {
        self.0.passwords.waiting()
    }

    /// Returns the number of open archive connections.
    #[must_use]
    pub fn archive_connections(&self) -> u32 {
        self.0.archive.connections()
    }

    /// Returns the rules as configured by the operator.
    #[must_use]
    pub fn rules(&self) -> &RulesConfig {
        &self.0.rules
    }

    fn keys(&self) -> &Keys {
        self.0.store.keys()
    }

    /// Sends commands of one type together, and returns their replies in order. Makes one round trip; none if there are
    /// no commands.
    fn send_all<T>(
        &self,
        step: &'static str,
        commands: impl IntoIterator<Item = Command<T>>,
    ) -> impl Future<Output = Result<Vec<T>, Error>> {
        let mut batch = Batch::new(step);
        let tickets = commands.into_iter().map(|command| batch.push(command)).collect();
        async move { Ok(batch.send(self.store()).await?.take_all(tickets)?) }
    }

    fn rng(&self) -> &Rng {
        &self.0.rng
    }

    /// Returns the current day in UTC, according to the injected clock.
    #[must_use]
    pub fn today(&self) -> Day {
        Day::of(self.now())
    }

    /// Returns the current time, according to the injected clock.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.0.clock.now()
    }
}
