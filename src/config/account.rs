//! Accounts and sessions: how long sessions live, and how often passwords may be tried.

use std::time::Duration;

use clap::Args;

use crate::model::clock::Timestamp;
use crate::model::session::Session;

/// Accounts and sessions.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Accounts")]
pub struct AccountConfig {
    /// A login ends all other sessions of the user.
    #[arg(long, env = "FANFOLD_SESSIONS_SINGLE")]
    pub sessions_single: bool,

    /// Days after which a session that is not used ends.
    #[arg(long, value_name = "DAYS", env = "FANFOLD_SESSIONS_LIFETIME", default_value_t = 30)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=3_650))]
    pub sessions_lifetime: u32,

    /// Days after signing in when a session ends, however much it is used.
    #[arg(long, value_name = "DAYS", env = "FANFOLD_SESSIONS_MAX_LIFETIME", default_value_t = 365)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=36_500))]
    pub sessions_max_lifetime: u32,

    /// Wrong passwords that strangers may give for one account, all at once or within an hour.
    ///
    /// Whoever comes from an address from which the account was signed in to before may give as many, whatever
    /// strangers do.
    #[arg(long, value_name = "N", env = "FANFOLD_LOGINS_PER_ACCOUNT", default_value_t = 20)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub logins_per_account: u32,

    /// Wrong passwords that may be given from one address, for any accounts, all at once or within an hour.
    ///
    /// What counts as an address behind a proxy, --http-trusted-proxies tells.
    #[arg(long, value_name = "N", env = "FANFOLD_LOGINS_PER_ADDRESS", default_value_t = 100)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub logins_per_address: u32,

    /// Right passwords that may be given for one account, all at once or within an hour.
    #[arg(long, value_name = "N", env = "FANFOLD_SIGN_INS_PER_ACCOUNT", default_value_t = 300)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub sign_ins_per_account: u32,

    /// Right passwords that may be given from one address, for any accounts, all at once or within an hour.
    ///
    /// The first 20 of each account are not counted against the others at its address.
    #[arg(long, value_name = "N", env = "FANFOLD_SIGN_INS_PER_ADDRESS", default_value_t = 1_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub sign_ins_per_address: u32,

    /// Accounts that may be made from one address, all at once or within an hour.
    #[arg(long, value_name = "N", env = "FANFOLD_REGISTRATIONS_PER_ADDRESS", default_value_t = 50)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub registrations_per_address: u32,

    /// Passwords that are hashed at the same time [default: half the number of processors].
    ///
    /// They are hashed on threads of a lower priority than those that answer requests.
    #[arg(long, value_name = "N", env = "FANFOLD_PASSWORD_WORKERS")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=1_024))]
    pub password_workers: Option<u16>,

    /// Passwords that may wait to be hashed; beyond that, clients are asked to come back.
    ///
    /// Addresses take turns, and so do the accounts of an address. Where the queue is full, a client with fewer
    /// passwords in it than another displaces one of these.
    #[arg(long, value_name = "N", env = "FANFOLD_PASSWORD_QUEUE", default_value_t = 256)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub password_queue: u32,

    /// Passwords from one address that may wait or be hashed at a time.
    #[arg(long, value_name = "N", env = "FANFOLD_PASSWORDS_PER_ADDRESS", default_value_t = 32)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub passwords_per_address: u32,
}

impl AccountConfig {
    /// The time at which a session ends that is not used any more.
    #[must_use]
    pub fn session_end(&self, created_at: Timestamp, last_seen_at: Timestamp) -> Timestamp {
        let unused = last_seen_at.plus(days(self.sessions_lifetime));
        unused.min(created_at.plus(days(self.sessions_max_lifetime)))
    }

    /// Whether the token of a session is accepted. A session that was written under a longer lifetime ends with the one
    /// that is in force now.
    #[must_use]
    pub fn is_live(&self, session: &Session, now: Timestamp) -> bool {
        let latest = self.session_end(session.created_at, session.last_seen_at);
        now < session.expires_at.min(latest)
    }
}

fn days(count: u32) -> Duration {
    Duration::from_secs(u64::from(count) * 86_400)
}
