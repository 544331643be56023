//! Creates users for subjects of an existing application, at their first request.
//!
//! The steps are those of a registration ([`crate::app::user`]), with the subject reserved before the name. Only the
//! holder of the subject's reservation creates a user, so that concurrent first requests create one user. A request
//! that finds a reservation waits for it to be settled, and then ends it: a reservation left by an interrupted request
//! delays no one for long. An id is revoked before its reservation is freed, so that a late creation has no effect.
//!
//! Not here: the tokens that name subjects (`app::jwt`).
//!
//! # Why the subject is part of the user's secret
//! The index alone must not decide who signs in as a user: ids may be reissued after a failover that lost writes, and a
//! mapping that survived it would then lead to another person's account. Authentication compares the secret's subject
//! with the token's.

use std::time::Duration;

use crate::app::App;
use crate::app::error::{Broken, Error};
use crate::app::user::{Candidate, Created, NewAccount};
use crate::model::id::UserId;
use crate::model::subject::Subject;
use crate::model::user::{Bio, DisplayName, Username};
use crate::store::batch::Batch;
use crate::store::intent::Operation;
use crate::store::name::{self, Holder};
use crate::store::{subject, user};

/// Maximum number of attempts to create a user. An attempt fails if the name is taken meanwhile, or if another request
/// ended the reservation.
const ATTEMPTS: usize = 5;

/// Delays before looks at a subject that another request has reserved, in milliseconds. Afterwards, the reservation is
/// ended.
const WAITS: [u64; 5] = [10, 20, 40, 80, 160];

/// Numbers of digits appended to a username, in the order in which the names are tried.
const DIGITS: [usize; 4] = [2, 4, 6, 8];

/// Username of which all others are made if the application suggests none.
const ANYONE: &str = "user";

/// The profile that an application suggests for a new user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::app) struct SuggestedProfile {
    /// Suggested username, which may be taken.
    pub(in crate::app) username: Option<Username>,
    /// Suggested display name; the username if absent.
    pub(in crate::app) display_name: Option<DisplayName>,
}

/// The outcome of one attempt to create a user for a subject.
enum Attempt {
    /// The user was created.
    Created(UserId),
    /// Another request holds the subject.
    Held(Holder),
    /// The name is taken, or the id was revoked.
    Failed,
}

impl App {
    /// Returns the user of a subject; creates the user if there is none. Makes one round trip if there is one,
    /// otherwise eight.
    pub(in crate::app) async fn user_of_subject(
        &self,
        subject: Subject,
        suggested: &SuggestedProfile,
    ) -> Result<UserId, Error> {
        for _ in 0..ATTEMPTS {
            let (mut holder, username) = self.look_at_subject(subject, suggested).await?;
            if holder.is_none() {
                holder = match self.try_to_make_user_of(subject, username, suggested).await? {
                    Attempt::Created(user) => return Ok(user),
                    Attempt::Held(holder) => Some(holder),
                    Attempt::Failed => None,
                };
            }
            match holder {
                Some(Holder::Settled(user) | Holder::Inactive(user)) => return Ok(user),
                Some(Holder::Reserved(user)) => {
                    if let Some(user) = self.wait_for_subject(subject, user, suggested).await? {
                        return Ok(user);
                    }
                }
                None => {}
            }
        }
        Err(Broken::GaveUp("creating a user for a subject").into())
    }

    /// Returns a subject's holder, and the first suggestion for a username that is free.
    async fn look_at_subject(
        &self,
        subject: Subject,
        suggested: &SuggestedProfile,
    ) -> Result<(Option<Holder>, Username), Error> {
        let mut batch = Batch::new("subject: look");
        let held = batch.push(subject::holder(self.keys(), subject));
        let mut names = self.username_candidates(suggested.username.as_ref());
        let holders = names.iter().map(|username| batch.push(name::holder(self.keys(), username))).collect();
        let mut replies = batch.send(self.store()).await?;
        let held = replies.take(held)?;
        let is_free = replies.take_all(holders)?.into_iter().position(|holder| holder.is_none());
        // If all are taken, so is the last one: the attempt fails, and the next one has other digits.
        let index = is_free.unwrap_or(names.len() - 1);
        Ok((held, names.swap_remove(index)))
    }

    /// Returns the usernames to try: the suggested one, then names with more and more random digits.
    fn username_candidates(&self, suggested: Option<&Username>) -> Vec<Username> {
        let base = suggested.map_or(ANYONE, Username::as_str);
        let with_digits = DIGITS.map(|digits| {
            let number = self.rng().nonce() % 10_u64.pow(u32::try_from(digits).unwrap_or(0));
            format!("{}{number:0digits$}", &base[..base.len().min(Username::LONGEST - digits)])
        });
        let with_digits = with_digits.iter().filter_map(|name| Username::parse(name).ok());
        suggested.cloned().into_iter().chain(with_digits).collect()
    }

    /// Waits until another request has settled a subject reserved for this id, and returns the user. Otherwise, ends
    /// the reservation, and returns the user if that settled it.
    async fn wait_for_subject(
        &self,
        subject: Subject,
        user: UserId,
        suggested: &SuggestedProfile,
    ) -> Result<Option<UserId>, Error> {
        for wait in WAITS {
            tokio::time::sleep(Duration::from_millis(wait)).await;
            let look = subject::holder(self.keys(), subject);
            match look.send("subject: wait", self.store()).await? {
                Some(Holder::Settled(user) | Holder::Inactive(user)) => return Ok(Some(user)),
                Some(Holder::Reserved(holder)) if holder == user => {}
                // The reservation was ended.
                Some(Holder::Reserved(_)) | None => return Ok(None),
            }
        }
        let username = suggested.username.as_ref();
        Ok(self.end_subject_reservation(subject, user, username).await?.then_some(user))
    }

    /// Makes one attempt to create a user for a subject.
    async fn try_to_make_user_of(
        &self,
        subject: Subject,
        username: Username,
        suggested: &SuggestedProfile,
    ) -> Result<Attempt, Error> {
        let display_name = suggested.display_name.clone().unwrap_or_else(|| (&username).into());
        let account = NewAccount {
            username: username.clone(),
            display_name,
            bio: Bio::default(),
            region: None,
            created_at: self.now(),
            password: None,
            subject: Some(subject),
            sign_in: None,
        };
        let deadline = self.deadline();
        let candidates = self.issue_ids(&[&account]).await?;
        let Some(&Candidate { id: user, .. }) = candidates.first() else { return Ok(Attempt::Failed) };
        let operations = [Operation::Subject { subject, user }, Operation::Name { username, user }];
        let make = async || {
            let reserve = subject::reserve(self.keys(), subject, user);
            let holder = reserve.send("make user: subject", self.store()).await?;
            if holder != Holder::Reserved(user) {
                return Ok(Attempt::Held(holder));
            }
            deadline.check()?;
            let holders = self.reserve_names(&candidates).await?;
            deadline.check()?;
            let mut outcomes = self.create_users(&candidates, &holders).await?;
            deadline.check()?;
            self.settle_names(&candidates, &outcomes).await?;
            Ok(match outcomes.pop().flatten() {
                Some(Created::User(user, _)) => Attempt::Created(user),
                Some(Created::Taken) | None => Attempt::Failed,
            })
        };
        self.under_intents(&self.intents(operations), &deadline, make).await
    }

    /// Finishes the creation of a subject's user. If the creation is abandoned, ends the reservation; otherwise,
    /// settles the subject if its user exists.
    pub(in crate::app) async fn redo_subject(
        &self,
        subject: Subject,
        user: UserId,
        is_abandoned: bool,
    ) -> Result<(), Error> {
        if is_abandoned {
            self.end_subject_reservation(subject, user, None).await?;
        } else if self.is_user_of(subject, user).await? {
            self.settle_subject(subject, user).await?;
        }
        Ok(())
    }

    /// Ends the reservation of a subject for an id: settles the subject if its user exists; otherwise, revokes the id
    /// and frees the subject, and also this username if it is reserved for the id. Returns true if the user exists.
    /// Makes two or three round trips.
    pub(in crate::app) async fn end_subject_reservation(
        &self,
        subject: Subject,
        user: UserId,
        username: Option<&Username>,
    ) -> Result<bool, Error> {
        let exists = user::revoke_unless_exists(self.keys(), user, self.now())
            .send("repair: revoke", self.store())
            .await?;
        // The id may be in use by another user.
        if exists && self.is_user_of(subject, user).await? {
            self.settle_subject(subject, user).await?;
            return Ok(true);
        }
        let holder = Holder::Reserved(user);
        let name = username.filter(|_| !exists).map(|username| name::free(self.keys(), username, holder));
        let commands = [subject::free(self.keys(), subject, holder)].into_iter().chain(name);
        self.send_all("repair: subject", commands).await?;
        Ok(false)
    }

    /// Returns true if a subject signs in as this user.
    async fn is_user_of(&self, subject: Subject, user: UserId) -> Result<bool, Error> {
        let own = user::subject(self.keys(), user).send("repair: secret", self.store()).await?;
        Ok(own == Some(subject))
    }

    async fn settle_subject(&self, subject: Subject, user: UserId) -> Result<(), Error> {
        subject::settle(self.keys(), subject, user).send("repair: subject", self.store()).await?;
        Ok(())
    }
}
