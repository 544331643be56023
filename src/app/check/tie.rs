//! Checks that an erasure of one of two users, one of whom mutes the other, finds the mute.
//!
//! Not here: what ties are for (`store::tie`).

use crate::app::App;
use crate::app::check::{ENTRIES_AT_A_TIME, Findings};
use crate::app::error::Error;
use crate::model::id::UserId;
use crate::store::batch::Batch;
use crate::store::{exclusion, tie};

impl App {
    /// Counts the mutes by these users without ties in the slots of both. With `repair`, adds the ties, or removes the
    /// mute if the muted user does not exist.
    pub(super) async fn check_ties(&self, users: &[UserId], repair: bool) -> Result<Findings, Error> {
        let mut batch = Batch::new("check: mutes");
        let tickets = users.iter().map(|user| batch.push(exclusion::muted(self.keys(), *user))).collect();
        let muted = batch.send(self.store()).await?.take_all(tickets)?;
        let mutes = users.iter().zip(muted);
        let mutes: Vec<_> =
            mutes.flat_map(|(&user, muted)| muted.into_iter().map(move |other| (user, other))).collect();
        let mut findings = Findings::default();
        for mutes in mutes.chunks(ENTRIES_AT_A_TIME) {
            let untied = self.untied(mutes).await?;
            findings.untied_mutes += untied.len() as u64;
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
        let mut batch = Batch::new("check: remove mutes");
        let remove = |((user, other), _)| batch.push(exclusion::forget(self.keys(), user, other));
        let removed = dangling.into_iter().map(remove).collect();
        batch.send(self.store()).await?.take_all(removed)?;
        Ok(())
    }

    /// Returns the mutes without both ties.
    async fn untied(&self, mutes: &[(UserId, UserId)]) -> Result<Vec<(UserId, UserId)>, Error> {
        let mut batch = Batch::new("check: ties");
        let both = mutes.iter().flat_map(|&(user, other)| [(user, other), (other, user)]);
        let looked = both.map(|(user, other)| batch.push(tie::contains(self.keys(), user, other))).collect();
        let found = batch.send(self.store()).await?.take_all(looked)?;
        let mutes = mutes.iter().zip(found.chunks_exact(2));
        Ok(mutes.filter(|(_, found)| found.contains(&false)).map(|(mute, _)| *mute).collect())
    }
}
