//! Checks that an erasure of one of two users, one of whom mutes the other, finds the mute.
//!
//! Not here: what ties are for (`store::tie`).

use crate::app::App;
use crate::app::check::{ENTRIES_AT_A_TIME, Finding, Findings};
use crate::app::error::Error;
use crate::model::id::UserId;
use crate::store::{exclusion, tie};

impl App {
    /// Counts the mutes by these users without ties in the slots of both. With `repair`, adds the ties, or removes the
    /// mute if the muted user does not exist.
    pub(super) async fn check_ties(&self, users: &[UserId], repair: bool) -> Result<Findings, Error> {
        let commands = users.iter().map(|user| exclusion::muted(self.keys(), *user));
        let muted = self.send_all("check: mutes", commands).await?;
        let mutes = users.iter().zip(muted);
        let mutes: Vec<_> =
            mutes.flat_map(|(&user, muted)| muted.into_iter().map(move |other| (user, other))).collect();
        let mut findings = Findings::default();
        for mutes in mutes.chunks(ENTRIES_AT_A_TIME) {
            let untied = self.untied(mutes).await?;
            findings[Finding::UntiedMutes] += untied.len() as u64;
            if repair {
                self.repair_ties(untied).await?;
            }
        }
        Ok(findings)
    }

    async fn repair_ties(&self, untied: Vec<(UserId, UserId)>) -> Result<(), Error> {
        let others: Vec<UserId> = untied.iter().map(|(_, other)| *other).collect();
        let accounts = self.accounts(&others).await?;
        let (kept, dangling): (Vec<_>, Vec<_>) =
            untied.into_iter().zip(accounts).partition(|(_, account)| account.is_some());
        let kept: Vec<_> = kept.into_iter().map(|(mute, _)| mute).collect();
        self.add_ties(&kept).await?;
        let remove = |((user, other), _)| exclusion::forget(self.keys(), user, other);
        self.send_all("check: remove mutes", dangling.into_iter().map(remove)).await?;
        Ok(())
    }

    /// Returns the mutes without both ties.
    async fn untied(&self, mutes: &[(UserId, UserId)]) -> Result<Vec<(UserId, UserId)>, Error> {
        let both = mutes.iter().flat_map(|&(user, other)| [(user, other), (other, user)]);
        let commands = both.map(|(user, other)| tie::contains(self.keys(), user, other));
        let found = self.send_all("check: ties", commands).await?;
        let mutes = mutes.iter().zip(found.chunks_exact(2));
        Ok(mutes.filter(|(_, found)| found.contains(&false)).map(|(mute, _)| *mute).collect())
    }
}
