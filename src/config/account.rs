//! Options of accounts and sessions: session lifetimes, and limits on passwords.

use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::model::clock::Timestamp;
use crate::model::session::Session;

/// Options of accounts and sessions.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Accounts")]
pub struct AccountConfig {
    /// Who can register an account.
    ///
    /// `fanfold invite` creates and lists invites. `fanfold import` and `fanfold demo` create users in every mode.
    #[arg(long, value_name = "MODE", env = "FANFOLD_ACCOUNT_REGISTRATION", default_value = "open")]
    pub account_registration: RegistrationMode,

    /// End all other sessions of a user at each login.
    #[arg(long, env = "FANFOLD_SESSION_SINGLE")]
    #[arg(alias = "sessions-single")]
    pub session_single: bool,

    /// Session lifetime after the last use, in days.
    #[arg(long, value_name = "DAYS", env = "FANFOLD_SESSION_LIFETIME", default_value_t = 30)]
    #[arg(alias = "sessions-lifetime", value_parser = clap::value_parser!(u32).range(1..=3_650))]
    pub session_lifetime: u32,

    /// Maximum session lifetime, in days, however often the session is used.
    #[arg(long, value_name = "DAYS", env = "FANFOLD_SESSION_MAX_LIFETIME", default_value_t = 365)]
    #[arg(alias = "sessions-max-lifetime", value_parser = clap::value_parser!(u32).range(1..=36_500))]
    pub session_max_lifetime: u32,

    /// Time for which the deletion of an account can be cancelled, in days.
    ///
    /// Users who have deleted their accounts cancel that by signing in. No one sees a deleted account during this time.
    /// After it, the account is erased.
    #[arg(long, value_name = "DAYS", env = "FANFOLD_ACCOUNT_DELETION_GRACE", default_value_t = 14)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=365))]
    pub account_deletion_grace: u32,

    /// Time after which a recovery code that a moderator has issued becomes valid, in hours.
    ///
    /// Until then, and for the 24 hours in which the code is valid, signing in revokes it. Codes of `fanfold user
    /// recovery-code` are valid at once.
    #[arg(long, value_name = "HOURS", env = "FANFOLD_ACCOUNT_RECOVERY_DELAY", default_value_t = 24)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=720))]
    pub account_recovery_delay: u32,

    /// Maximum wrong passwords per account per hour, from addresses that the account has never signed in from.
    ///
    /// Each address that the account has signed in from has a separate limit of the same size, which strangers cannot
    /// exhaust.
    #[arg(long, value_name = "N", env = "FANFOLD_PASSWORD_FAILURES_PER_ACCOUNT", default_value_t = 20)]
    #[arg(alias = "logins-per-account", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub password_failures_per_account: u32,

    /// Maximum wrong passwords, and attempts with recovery codes, per address per hour, over all accounts.
    ///
    /// Behind a proxy, --http-trusted-proxies determines the address.
    #[arg(long, value_name = "N", env = "FANFOLD_PASSWORD_FAILURES_PER_ADDRESS", default_value_t = 100)]
    #[arg(alias = "logins-per-address", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub password_failures_per_address: u32,

    /// Maximum correct passwords per account per hour.
    #[arg(long, value_name = "N", env = "FANFOLD_PASSWORD_SUCCESSES_PER_ACCOUNT", default_value_t = 300)]
    #[arg(alias = "sign-ins-per-account", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub password_successes_per_account: u32,

    /// Maximum correct passwords per address per hour, over all accounts.
    ///
    /// The first 20 per account do not count.
    #[arg(long, value_name = "N", env = "FANFOLD_PASSWORD_SUCCESSES_PER_ADDRESS", default_value_t = 1_000)]
    #[arg(alias = "sign-ins-per-address", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub password_successes_per_address: u32,

    /// Maximum accounts created per address per hour.
    #[arg(long, value_name = "N", env = "FANFOLD_ACCOUNT_REGISTRATIONS_PER_ADDRESS", default_value_t = 50)]
    #[arg(alias = "registrations-per-address", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub account_registrations_per_address: u32,

    /// Maximum number of passwords being hashed at a time [default: half the number of processors].
    ///
    /// The threads that hash have a lower priority than the threads that serve requests.
    #[arg(long, value_name = "N", env = "FANFOLD_PASSWORD_WORKERS")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=1_024))]
    pub password_workers: Option<u16>,

    /// Maximum number of passwords waiting to be hashed; beyond it, clients must retry later.
    ///
    /// Addresses take turns, and so do the accounts of an address. When the queue is full, a password from a client
    /// with fewer passwords in it displaces a password from the client with the most.
    #[arg(long, value_name = "N", env = "FANFOLD_PASSWORD_QUEUE", default_value_t = 256)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub password_queue: u32,

    /// Maximum number of passwords per address that are waiting or being hashed.
    #[arg(long, value_name = "N", env = "FANFOLD_PASSWORD_QUEUE_PER_ADDRESS", default_value_t = 32)]
    #[arg(alias = "passwords-per-address", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub password_queue_per_address: u32,
}

/// Who can register an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RegistrationMode {
    /// Everyone.
    Open,
    /// Holders of an invite.
    Invite,
    /// No one.
    Closed,
}

impl AccountConfig {
    /// Returns the time at which a session ends if it is not used again.
    #[must_use]
    pub fn session_end(&self, created_at: Timestamp, last_seen_at: Timestamp) -> Timestamp {
        let unused = last_seen_at.plus(days(self.session_lifetime));
        unused.min(created_at.plus(days(self.session_max_lifetime)))
    }

    /// Returns the time for which the deletion of an account can be cancelled.
    #[must_use]
    pub fn deletion_grace(&self) -> Duration {
        days(self.account_deletion_grace)
    }

    /// Returns the time after which a recovery code of a moderator becomes valid.
    #[must_use]
    pub fn recovery_delay(&self) -> Duration {
        Duration::from_hours(self.account_recovery_delay.into())
    }

    /// Returns true if a session's token is accepted. The current lifetimes also apply to sessions that were opened
    /// while longer lifetimes were configured.
    #[must_use]
    pub fn is_live(&self, session: &Session, now: Timestamp) -> bool {
        let latest = self.session_end(session.created_at, session.last_seen_at);
        now < session.expires_at.min(latest)
    }
}

fn days(count: u32) -> Duration {
    Duration::from_secs(u64::from(count) * 86_400)
}
