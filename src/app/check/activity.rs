//! Checks that names and follows agree with accounts being active or not.
//!
//! Not here: the lists themselves (`app::check::edge`).

use std::collections::BTreeSet;

use crate::app::App;
use crate::app::account::Walk;
use crate::app::check::{Finding, Findings};
use crate::app::error::Error;
use crate::model::account::Account;
use crate::model::id::UserId;
use crate::store::{account, follow};

impl App {
    /// Checks that these users, who exist, are in the set of inactive users if their accounts are inactive, and that
    /// the follows that they have withheld are of such users. With `repair`, repairs faults.
    pub(super) async fn check_activities(&self, ids: &[UserId], repair: bool) -> Result<Findings, Error> {
        let mut findings = Findings::default();
        if ids.is_empty() {
            return Ok(findings);
        }
        let accounts = self.accounts(ids).await?;
        let listed = account::are_inactive(self.keys(), ids).send("check: inactive", self.store()).await?;
        for (account, is_listed) in accounts.iter().zip(listed) {
            if let Some(account) = account.as_ref().filter(|account| account.is_active() == is_listed) {
                findings += self.check_activity(account.user, repair).await?;
            }
        }
        // Others put back their follows once they are active.
        let active = accounts.into_iter().flatten().filter(Account::is_active).map(|account| account.user);
        let commands = active.map(|id| follow::withheld(self.keys(), id));
        let withheld = self.send_all("check: withheld", commands).await?;
        let followees: BTreeSet<UserId> = withheld.into_iter().flatten().collect();
        let followees: Vec<UserId> = followees.into_iter().collect();
        let accounts = self.accounts(&followees).await?;
        for (followee, account) in followees.into_iter().zip(accounts) {
            if account.as_ref().is_none_or(Account::is_active) {
                findings += self.check_activity(followee, repair).await?;
            }
        }
        Ok(findings)
    }

    /// Counts an account with which other data do not agree, unless a job of the account is pending. With `repair`,
    /// makes all data agree with the account.
    pub(super) async fn check_activity(&self, user: UserId, repair: bool) -> Result<Findings, Error> {
        let has_job = !self.jobs_of(user).await?.is_empty();
        if repair {
            let mut walk = Walk::default();
            while !self.make_agree(user, &mut walk, 1).await? {}
        }
        Ok(Findings::from([(Finding::WrongActivities, u64::from(!has_job))]))
    }
}
