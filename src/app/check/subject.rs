//! Checks that the subject index and the users' secrets agree.

use crate::app::App;
use crate::app::check::{Finding, Findings};
use crate::app::error::Error;
use crate::model::id::UserId;
use crate::model::subject::Subject;
use crate::store::intent::Operation;
use crate::store::name::Holder;
use crate::store::{subject, user};

impl App {
    /// Checks one shard of the subject index, which has as many shards as the name index. With `repair`, frees subjects
    /// that resolve to no user or to a user of another subject, and ends reservations.
    pub async fn check_subjects(&self, shard: u32, repair: bool) -> Result<Findings, Error> {
        let subjects = subject::all(self.keys(), shard).send("check: subjects", self.store()).await?;
        let ids: Vec<UserId> = subjects.iter().map(|(_, holder)| holder.user()).collect();
        let mut findings = Findings::default();
        for ((subject, holder), own) in subjects.into_iter().zip(self.subjects_of(&ids).await?) {
            match holder {
                Holder::Settled(_) if own == Some(subject) => {}
                Holder::Settled(_) | Holder::Inactive(_) => {
                    findings[Finding::WrongSubjects] += 1;
                    if repair {
                        let free = subject::free(self.keys(), subject, holder);
                        free.send("check: free", self.store()).await?;
                    }
                }
                Holder::Reserved(user) => {
                    // A reservation with an intent is in progress, or the repairer will finish it.
                    if !self.unfinished().await?.contains(&Operation::Subject { subject, user }) {
                        findings[Finding::WrongSubjects] += 1;
                    }
                    if repair {
                        self.end_subject_reservation(subject, user, None).await?;
                    }
                }
            }
        }
        Ok(findings)
    }

    /// Counts the users whose subject resolves neither to them nor is reserved for them. With `repair`, points the
    /// subjects to these users again, if they have no holder.
    pub(super) async fn check_own_subjects(&self, users: &[UserId], repair: bool) -> Result<u64, Error> {
        let subjects = users.iter().zip(self.subjects_of(users).await?);
        let subjects: Vec<_> = subjects.filter_map(|(&user, subject)| Some((user, subject?))).collect();
        let astray = self.astray(self.astray(subjects).await?).await?;
        for &(user, subject) in astray.iter().filter(|_| repair) {
            subject::reserve(self.keys(), subject, user).send("check: reserve", self.store()).await?;
            subject::settle(self.keys(), subject, user).send("check: settle", self.store()).await?;
        }
        Ok(astray.len() as u64)
    }

    /// Returns the subject in each of these users' secrets.
    async fn subjects_of(&self, users: &[UserId]) -> Result<Vec<Option<Subject>>, Error> {
        let commands = users.iter().map(|user| user::subject(self.keys(), *user));
        self.send_all("check: secrets", commands).await
    }

    /// Returns the users whose subject has another holder or none.
    async fn astray(&self, users: Vec<(UserId, Subject)>) -> Result<Vec<(UserId, Subject)>, Error> {
        let read = |(_, subject): &(UserId, Subject)| subject::holder(self.keys(), *subject);
        let holders = self.send_all("check: holders", users.iter().map(read)).await?;
        let is_astray =
            |(user, holder): &((UserId, Subject), Option<Holder>)| holder.map(Holder::user) != Some(user.0);
        Ok(users.into_iter().zip(holders).filter(is_astray).map(|(user, _)| user).collect())
    }
}
