//! What may happen: the rules, and the order in which several slots are written.
//!
//! Every write goes through here with a [`viewer::Viewer`]. Every read takes many questions at once
//! ([`question`]) and is the batch that the loaders of `graphql` send. Not here: Redis commands
//! (`store`), or how anything looks to a client (`graphql`).

pub mod archive;
pub mod audience;
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
pub mod question;
pub mod rate_limit;
mod recovery;
pub mod region;
pub mod relation;
pub mod repair;
pub mod session;
mod throttle;
pub mod timeline;
pub mod user;
pub mod viewer;
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
use crate::model::chance::Chance;
use crate::model::clock::{Day, SharedClock, Timestamp};
use crate::model::id::UserId;
use crate::store::Store;
use crate::store::key::Keys;

/// What can be done with the hot store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// All there is to do.
    Ready,
    /// Reading: its memory is full.
    Full,
    /// Reading, but nothing is written: it is a replica, or cannot write to its disk.
    ReadOnly,
    /// Nothing.
    Away,
}

/// The application: the rules over one store. Cheap to clone.
#[derive(Clone)]
pub struct App(Arc<Parts>);

struct Parts {
    store: Store,
    clock: SharedClock,
    chance: Arc<Chance>,
    rules: RulesConfig,
    archive: Archive,
    /// Whether the mover of this process fails.
    is_stuck: Arc<AtomicBool>,
    /// The identity of the archive, when it is known to have the posts of this store.
    bound: Arc<OnceCell<String>>,
    passwords: Passwords,
    /// What this process knows of the strategy in force.
    strategy: Strategy,
    /// What this process knows of who came today.
    visits: Visits,
    /// Counts of days with very many visitors.
    visitor_counts: Counts,
    /// Whose profile was looked at today by whom.
    views: Once<(UserId, UserId)>,
    /// Who listens in this process.
    listeners: Listeners,
    /// The last look at each timeline that is watched.
    looks: PerUser<TimelineLooks>,
    /// Held by the one event of a user that waits for its allowance.
    allowances: PerUser<tokio::sync::Mutex<()>>,
    /// Up to where posts have been delivered, as far as this process knows.
    delivered_mark: DeliveredMark,
    /// The greatest post id this process has issued, or read as a watermark: its readers hold marks up to there.
    last_issued: AtomicU64,
    /// What was done about the counter of posts since Redis was restarted.
    recovery: Recovery,
    /// What this process's intents to mend carry as their token.
    mender: u64,
}

impl App {
    /// The rules over this store and this archive, with time and chance handed in.
    #[must_use]
    pub fn new(
        store: Store,
        archive: Archive,
        clock: SharedClock,
        chance: Chance,
        rules: RulesConfig,
    ) -> Self {
        let chance = Arc::new(chance);
        let passwords = Passwords::new(&rules.account, Arc::clone(&chance));
        let mender = chance.nonce();
        Self(Arc::new(Parts {
            store,
            clock,
            chance,
            rules,
            archive,
            is_stuck: Arc::default(),
            bound: Arc::default(),
            passwords,
            strategy: Strategy::default(),
            visits: Visits::default(),
            visitor_counts: Counts::default(),
            views: Once::default(),
            listeners: Listeners::default(),
            looks: PerUser::default(),
            allowances: PerUser::default(),
            delivered_mark: DeliveredMark::default(),
            last_issued: AtomicU64::new(0),
            recovery: Recovery::default(),
            mender,
        }))
    }

    /// The same application as another process would have it, its round trips seen through a gate.
    #[must_use]
    pub fn with_gate(&self, gate: Arc<dyn Gate>) -> Self {
        self.over(self.store().with_gate(Arc::clone(&gate)), self.0.archive.with_gate(gate))
    }

    /// The same application over other ways to the same store and archive.
    fn over(&self, store: Store, archive: Archive) -> Self {
        let Parts { clock, chance, rules, is_stuck, bound, passwords, .. } = &*self.0;
        Self(Arc::new(Parts {
            store,
            clock: Arc::clone(clock),
            chance: Arc::clone(chance),
            rules: rules.clone(),
            archive,
            is_stuck: Arc::clone(is_stuck),
            bound: Arc::clone(bound),
            passwords: passwords.clone(),
            strategy: Strategy::default(),
            visits: Visits::default(),
            visitor_counts: Counts::default(),
            views: Once::default(),
            listeners: Listeners::default(),
            looks: PerUser::default(),
            allowances: PerUser::default(),
            delivered_mark: DeliveredMark::default(),
            last_issued: AtomicU64::new(0),
            recovery: Recovery::default(),
            mender: chance.nonce(),
        }))
    }

    /// The hot store.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.0.store
    }

    /// Whether the hot store can be reached and written, without which hardly anything can be done. One round trip.
    pub async fn is_ready(&self) -> Readiness {
        match self.store().probe(self.now()).await {
            Ok(()) => Readiness::Ready,
            Err(error) if error.is_full() => Readiness::Full,
            Err(error) if error.is_read_only() => Readiness::ReadOnly,
            Err(_) => Readiness::Away,
        }
    }

    /// How many passwords this process has verified so far.
    #[must_use]
    pub fn passwords_verified(&self) -> u64 {
        self.0.passwords.verified()
    }

    /// A name for a request that has none: unlike that of any other.
    #[must_use]
    pub fn request_id(&self) -> String {
        format!("{:032x}", u128::from_le_bytes(self.chance().bytes()))
    }

    /// How many passwords wait to be hashed.
    #[must_use]
    pub fn waiting_passwords(&self) -> usize {
        self.0.passwords.waiting()
    }

    /// How many connections to the archive there are.
    #[must_use]
    pub fn archive_connections(&self) -> u32 {
        self.0.archive.connections()
    }

    /// The rules that an operator has set.
    #[must_use]
    pub fn rules(&self) -> &RulesConfig {
        &self.0.rules
    }

    fn keys(&self) -> &Keys {
        self.0.store.keys()
    }

    fn chance(&self) -> &Chance {
        &self.0.chance
    }

    /// The day by the clock that was handed in.
    #[must_use]
    pub fn today(&self) -> Day {
        Day::of(self.now())
    }

    /// The time by the clock that was handed in.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.0.clock.now()
    }
}
