//! Accounts on a stage: the calls that change them, and the accounts as they were before.

use std::time::Duration;

use fanfold::app::App;
use fanfold::app::user::ProfileUpdate;
use fanfold::model::account::Standing;
use fanfold::model::moderation::ActionNote;
use fanfold::model::moderator::Moderator;
use fanfold::model::user::Username;

use crate::harness::stage::{AccountChange, Stage, USERS, id};
use crate::harness::turnstile::Actor;

/// Time until a deleted account is erased: longer than a stage plays.
const GRACE: Duration = Duration::from_hours(14 * 24);

/// Returns a key in a user's slot.
fn key(user: u64, name: &str) -> String {
    format!("ff:{{u{user}}}:{name}")
}

impl Stage {
    pub(super) async fn begin_account_change(&self, change: AccountChange, user: u64) -> Actor {
        let viewer = self.viewers[&user].clone();
        let work = async move |app: App| {
            let privacy =
                |is_private| ProfileUpdate { is_private: Some(is_private), ..ProfileUpdate::default() };
            let (by, user, note) = (&Moderator::Operator, id(user), ActionNote::default());
            // A call that is too late fails.
            drop(match change {
                AccountChange::Suspend => app.suspend_user(by, user, note).await,
                AccountChange::Lift => app.unsuspend_user(by, user, note).await,
                AccountChange::Delete => app.delete_user(by, user, note, GRACE).await,
                AccountChange::Cancel => app.cancel_user_deletion(by, user, note).await,
                AccountChange::GoPrivate => app.change_profile(&viewer, privacy(true)).await,
                AccountChange::GoPublic => app.change_profile(&viewer, privacy(false)).await,
            });
        };
        Actor::begin(&self.app, work).await
    }

    /// Returns the standing of a user's account, as the record says.
    pub(crate) fn standing(&self, user: u64) -> Standing {
        let record = key(user, "user");
        let (name, privacy): (Option<String>, Option<String>) =
            self.world.redis.raw(&["HMGET", &record, "username", "private"]);
        match (name, privacy.as_deref()) {
            (None, _) => Standing::Inactive,
            (Some(_), Some("1")) => Standing::Private,
            (Some(_), _) => Standing::Public,
        }
    }

    /// Keeps a copy of the sessions, which end when an account becomes inactive.
    pub(super) fn keep_sessions(&self) {
        for user in 1..=USERS {
            self.world.redis.raw::<i64>(&["COPY", &key(user, "sessions"), &key(user, "kept:sessions")]);
        }
    }

    /// Makes all accounts active and public.
    pub(super) fn restore_accounts(&self) {
        let raw = &self.world.redis;
        for user in (1..=USERS).filter(|user| self.standing(*user) != Standing::Public) {
            let name = format!("ann{}", user - 1);
            let username = Username::parse(&name).unwrap();
            let shard = self.world.app.store().keys().names_with(&username).name().to_owned();
            raw.raw::<i64>(&["HSET", &shard, &name, &user.to_string()]);
            let record = key(user, "user");
            raw.raw::<i64>(&["HDEL", &record, "private", "suspended", "deletion", "inactive_username"]);
            raw.raw::<i64>(&["HSET", &record, "username", &name]);
            let (sessions, kept) = (key(user, "sessions"), key(user, "kept:sessions"));
            // What other processes have cached is older than this version.
            raw.raw::<i64>(&["HINCRBY", &kept, "exclusions", "100000"]);
            raw.raw::<i64>(&["COPY", &kept, &sessions, "REPLACE"]);
        }
    }
}
