//! Combines requests for users' records and names that the cache lacks.

use std::sync::Arc;

use super::Responses;
use crate::app::error::Error;
use crate::model::id::UserId;
use crate::model::user::{User, Username};
use crate::store::batch::Ticket;
use crate::store::cached::Missed;
use crate::store::name::Holder;
use crate::store::user::ReadUser;
use crate::store::{self, Store};

/// A claim on users' records.
pub enum UserTicket {
    /// Records that are read with the batch.
    Stored(Ticket<Vec<ReadUser>>),
    /// Users, and their cached records.
    Cached(Arc<[UserId]>, Vec<Option<Arc<User>>>),
}

/// A claim on the user to whom a username belongs.
pub enum HolderTicket {
    /// A holder that is read with the batch.
    Stored(Ticket<Option<Holder>>),
    /// A cached holder.
    Cached(UserId),
    /// A username that is not cached.
    Missed(Username),
}

/// A user's id, and the record, or the error of its reply.
type FoundUser = (UserId, Result<Option<Arc<User>>, store::error::Error>);

/// Users and usernames that are not cached.
#[derive(Default)]
pub(super) struct Missing {
    users: Vec<UserId>,
    usernames: Vec<Username>,
}

impl Missing {
    pub(super) fn users(&mut self, store: &Store, users: Arc<[UserId]>) -> UserTicket {
        let cached: Vec<_> = users.iter().map(|user| store.cached_user(*user)).collect();
        let missing = users.iter().zip(&cached).filter(|(_, cached)| cached.is_none());
        self.users.extend(missing.map(|(user, _)| *user));
        UserTicket::Cached(users, cached)
    }

    pub(super) fn holder(&mut self, store: &Store, username: &Username) -> HolderTicket {
        if let Some(user) = store.cached_holder(username) {
            return HolderTicket::Cached(user);
        }
        self.usernames.push(username.clone());
        HolderTicket::Missed(username.clone())
    }

    /// Reads what is missing. Makes one round trip; none if nothing is missing.
    pub(super) async fn read(mut self, store: &Store) -> Result<Missed, Error> {
        self.users.sort_unstable();
        self.users.dedup();
        Ok(store.read_missed(&self.users, &self.usernames).await?)
    }
}

impl Responses {
    /// Returns records requested by [`super::Requests::users`].
    pub(in crate::app) fn users(&mut self, ticket: UserTicket) -> Result<Vec<FoundUser>, Error> {
        match ticket {
            UserTicket::Stored(records) => {
                let records = self.replies.take(records)?.into_iter();
                Ok(records.map(|(user, record)| (user, record.map(|record| record.map(Arc::new)))).collect())
            }
            UserTicket::Cached(users, cached) => {
                let found = |(user, cached): (&UserId, Option<Arc<User>>)| match cached {
                    Some(record) => Ok((*user, Ok(Some(record)))),
                    None => Ok((*user, self.missed()?.users.get(user).cloned().unwrap_or(Ok(None)))),
                };
                users.iter().zip(cached).map(found).collect()
            }
        }
    }

    /// Returns the holder requested by [`super::Requests::holder`].
    pub(in crate::app) fn holder(&mut self, ticket: HolderTicket) -> Result<Option<Holder>, Error> {
        match ticket {
            HolderTicket::Stored(holder) => Ok(self.replies.take(holder)?),
            HolderTicket::Cached(user) => Ok(Some(Holder::Settled(user))),
            HolderTicket::Missed(username) => Ok(self.missed()?.holders.get(&username).copied()),
        }
    }

    fn missed(&self) -> Result<&Missed, Error> {
        self.missed.as_ref().map_err(Error::clone)
    }
}
