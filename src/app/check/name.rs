//! Checks that names resolve to the users who have them.

use crate::app::App;
use crate::app::check::{Finding, Findings};
use crate::app::error::Error;
use crate::model::id::UserId;
use crate::model::user::Username;
use crate::store::batch::Batch;
use crate::store::intent::Operation;
use crate::store::name::{self, Holder};

impl App {
    /// Checks one shard of the name index. With `repair`, frees names that resolve to no user or to a user
    /// with another name, and ends reservations.
    pub async fn check_names(&self, shard: u32, repair: bool) -> Result<Findings, Error> {
        let names = name::all(self.keys(), shard).send("check: names", self.store()).await?;
        let ids: Vec<UserId> = names.iter().map(|(_, holder)| holder.user()).collect();
        let found = self.accounts(&ids).await?;
        let mut findings = Findings::default();
        for ((username, holder), found) in names.into_iter().zip(found) {
            let found = found.filter(|account| account.username == username.as_str());
            match (holder, found) {
                (Holder::Settled(_), Some(account)) if account.is_active() => {}
                (Holder::Inactive(_), Some(account)) if !account.is_active() => {}
                (Holder::Settled(_) | Holder::Inactive(_), Some(account)) => {
                    findings += self.check_activity(account.user, repair).await?;
                }
                (Holder::Settled(_) | Holder::Inactive(_), None) => {
                    findings[Finding::WrongNames] += 1;
                    if repair {
                        name::free(self.keys(), &username, holder).send("check: free", self.store()).await?;
                    }
                }
                (Holder::Reserved(user), _) => {
                    // A reservation with an intent is in progress, or the repairer will finish it.
                    if !self
                        .unfinished()
                        .await?
                        .contains(&Operation::Name { username: username.clone(), user })
                    {
                        findings[Finding::WrongNames] += 1;
                    }
                    if repair {
                        self.end_reservation(&username, user).await?;
                    }
                }
            }
        }
        Ok(findings)
    }

    /// Counts those of these users whose name neither resolves to them nor is reserved for them. With `repair`, points
    /// the name to them again.
    pub(super) async fn check_own_names(
        &self,
        users: Vec<(UserId, String)>,
        repair: bool,
    ) -> Result<u64, Error> {
        let unnamed = self.unnamed(self.unnamed(users).await?).await?;
        let count = unnamed.len() as u64;
        if repair {
            for (id, username) in unnamed {
                self.name_again(id, &username).await?;
            }
        }
        Ok(count)
    }

    /// Returns the users whose name neither resolves to them nor is reserved for them.
    async fn unnamed(&self, users: Vec<(UserId, String)>) -> Result<Vec<(UserId, String)>, Error> {
        let mut batch = Batch::new("check: holders");
        let read = |(_, username): &(UserId, String)| {
            let username = Username::parse(username).ok()?;
            Some(batch.push(name::holder(self.keys(), &username)))
        };
        let tickets: Vec<_> = users.iter().map(read).collect();
        let mut replies = batch.send(self.store()).await?;
        let mut unnamed = Vec::new();
        for (user, ticket) in users.into_iter().zip(tickets) {
            let holder = ticket.map(|ticket| replies.take(ticket)).transpose()?.flatten();
            if holder.map(Holder::user) != Some(user.0) {
                unnamed.push(user);
            }
        }
        Ok(unnamed)
    }

    /// Points a user's name to the user again, if the name is valid and free.
    async fn name_again(&self, id: UserId, username: &str) -> Result<(), Error> {
        if let Ok(username) = Username::parse(username) {
            name::reserve(self.keys(), &username, id).send("check: reserve", self.store()).await?;
            name::settle(self.keys(), &username, id).send("check: settle", self.store()).await?;
        }
        Ok(())
    }
}
