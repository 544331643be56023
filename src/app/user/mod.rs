//! Creates accounts and changes profiles.
//!
#![doc = include_str!("README.md")]

pub(in crate::app) mod first_sign_in;
pub mod read;

use crate::app::App;
use crate::app::deadline::Deadline;
use crate::app::error::{Broken, Error, Faults, Field, Reason};
use crate::app::session::Opened;
use crate::app::throttle::{admit, source};
use crate::app::viewer::Viewer;
use crate::model::address::Address;
use crate::model::clock::Timestamp;
use crate::model::id::UserId;
use crate::model::region::{Region, Residence, Table};
use crate::model::secret::{Password, PasswordHash};
use crate::model::session::Label;
use crate::model::subject::Subject;
use crate::model::user::{AvatarUrl, Bio, DisplayName, ProfileChange, Username};
use crate::store::batch::{Batch, Ticket};
use crate::store::intent::Operation;
use crate::store::name::{self, Holder};
use crate::store::user::{self, NewUser};
use crate::store::{region, subject};

/// A user to be created.
#[derive(Clone, Debug)]
pub struct NewAccount {
    /// Requested username, which may be taken.
    pub username: Username,
    /// Display name, not necessarily unique.
    pub display_name: DisplayName,
    /// Bio, possibly empty.
    pub bio: Bio,
    /// Region; `None` if unknown.
    pub region: Option<Region>,
    /// Time of registration.
    pub created_at: Timestamp,
    /// Password hash; `None` to make sign-in with a password impossible.
    pub password: Option<PasswordHash>,
    /// Subject of an existing application that signs in as the user, already reserved for the user's id; `None` if
    /// there is none.
    pub subject: Option<Subject>,
    /// Label of the session to open on creation; `None` to open no session.
    pub sign_in: Option<Label>,
}

/// A requested profile change. Fields that are `None` stay unchanged.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProfileUpdate<'a> {
    /// New display name, not yet validated.
    pub display_name: Option<&'a str>,
    /// New bio, not yet validated.
    pub bio: Option<&'a str>,
    /// New URL of the picture, not yet validated; empty to remove the picture.
    pub avatar_url: Option<&'a str>,
    /// True to make the account private, false to make it public.
    pub is_private: Option<bool>,
    /// New residence, not yet validated, or removal of the residence.
    pub residence: Option<ResidenceUpdate<'a>>,
}

/// A requested change of residence.
#[derive(Clone, Copy, Debug)]
pub enum ResidenceUpdate<'a> {
    /// Removal of the residence.
    Nowhere,
    /// A country code and, optionally, the code of one of the country's subdivisions.
    In(&'a str, Option<&'a str>),
}

impl ProfileUpdate<'_> {
    fn check(self, media_hosts: &[String]) -> Result<ProfileChange, Error> {
        let mut faults = Faults::default();
        let display_name =
            self.display_name.map(|text| faults.check(Field::DisplayName, DisplayName::parse(text)));
        let bio = self.bio.map(|text| faults.check(Field::Bio, Bio::parse(text)));
        let avatar_url =
            self.avatar_url.map(|text| faults.check(Field::AvatarUrl, AvatarUrl::parse(text, media_hosts)));
        let residence = self.residence.map(|wish| match wish {
            ResidenceUpdate::Nowhere => Some(Residence(None)),
            ResidenceUpdate::In(country, subdivision) => {
                let region = faults.check_region(Table::current().find(country, subdivision))?;
                Some(Residence(Some(region)))
            }
        });
        if !faults.is_empty() {
            return Err(faults.into_error());
        }
        Ok(ProfileChange {
            display_name: display_name.flatten(),
            bio: bio.flatten(),
            avatar_url: avatar_url.flatten(),
            is_private: self.is_private,
            residence: residence.flatten(),
        })
    }
}

/// The outcome of creating a [`NewAccount`].
#[derive(Debug)]
pub enum Created {
    /// The user was created, with a session if one was requested.
    User(UserId, Option<Opened>),
    /// The name is taken or reserved.
    Taken,
}

/// An account to create, with the id issued for it.
pub(super) struct Candidate<'a> {
    pub(super) account: &'a NewAccount,
    pub(super) id: UserId,
}

/// Maximum number of attempts to create a user. The repairer revokes an id only if the caller stalls for a minute, so
/// several failures in a row indicate a persistent problem.
pub(super) const ATTEMPTS: usize = 3;

impl App {
    /// Creates an account and opens its first session. Unless registration requires an invite, ignores `invite`.
    pub async fn register(
        &self,
        username: &str,
        password: &str,
        display_name: Option<&str>,
        label: Option<&str>,
        invite: Option<&str>,
        from: Option<Address>,
    ) -> Result<Opened, Error> {
        self.check_registration_is_possible()?;
        let mut faults = Faults::default();
        let username = faults.check(Field::Username, Username::parse(username));
        let password = faults.check(Field::Password, Password::choose(password));
        let display_name =
            display_name.map(|text| faults.check(Field::DisplayName, DisplayName::parse(text)));
        let label = faults.check(Field::Label, Label::parse(label.unwrap_or_default()));
        let invite = faults.check_rule(self.required_invite(invite));
        let (Some(username), Some(password), Some(label), Some(invite), None | Some(Some(_))) =
            (username, password, label, invite, &display_name)
        else {
            return Err(faults.into_error());
        };
        let slot = self.0.passwords.enter(source(username.as_str(), from)).await?;
        let mut batch = Batch::new("register: name");
        let token = from.map(|from| batch.push(self.take_for_registration(from)));
        let holder = batch.push(name::holder(self.keys(), &username));
        let read_invite = invite.as_ref().map(|code| batch.push(self.read_invite(code)));
        let mut replies = batch.send(self.store()).await?;
        token.map_or(Ok(()), |token| admit(replies.take(token)?))?;
        // These checks detect most invalid invites and taken names before the cost of hashing. The invite is first, so
        // that only its holders learn which names are taken.
        if let Some(read) = read_invite {
            self.check_invite(replies.take(read)?).await?;
        }
        if replies.take(holder)?.is_some() {
            return Err(taken());
        }
        let hash = slot.hash(password).await;
        if let (Err(Error::Rejected(_)), Some(from)) = (&hash, from) {
            self.refund_registration(from).await;
        }
        let hash = hash?;
        drop(slot);
        let account = NewAccount {
            display_name: display_name.flatten().unwrap_or_else(|| (&username).into()),
            username: username.clone(),
            bio: Bio::default(),
            region: None,
            created_at: self.now(),
            password: Some(hash),
            subject: None,
            sign_in: Some(label),
        };
        let created = match &invite {
            Some(code) => self.make_invited(&account, code).await?,
            None => self.make_users(vec![account]).await?.pop(),
        };
        match created {
            Some(Created::User(_, Some(opened))) => {
                if let Some(from) = from {
                    self.record_first_address(&username, from).await;
                }
                Ok(opened)
            }
            Some(Created::Taken) => Err(taken()),
            Some(Created::User(_, None)) | None => Err(Broken::GaveUp("registering").into()),
        }
    }

    /// Records the registration's address as known for the account. Logs a failure, which does not fail the
    /// registration.
    async fn record_first_address(&self, username: &Username, from: Address) {
        if let Err(error) = self.record_known_address(username, from).await {
            tracing::warn!(error = &error as &dyn std::error::Error, "a known address could not be recorded");
        }
    }

    /// Changes the viewer's profile. Makes one round trip, or two if both the residence and other fields change,
    /// because the residence is stored separately. Making the account private or public makes more round trips.
    pub async fn change_profile(&self, viewer: &Viewer, wish: ProfileUpdate<'_>) -> Result<(), Error> {
        let user = viewer.signed_in()?.user;
        let change = wish.check(&self.0.rules.media.media_hosts)?;
        // If this write fails, the profile remains unchanged.
        if let Some(Residence(region)) = change.residence {
            region::write(self.keys(), user, region).send("change profile: region", self.store()).await?;
        }
        match change.is_private {
            Some(is_private) => self.write_privacy(user, is_private, change).await,
            None => self.write_profile(user, &change).await,
        }
    }

    /// Writes the changed fields of a user's record. Makes one round trip; none if there are none.
    pub(super) async fn write_profile(&self, user: UserId, change: &ProfileChange) -> Result<(), Error> {
        if let Some(write) = user::change_profile(self.keys(), user, change) {
            let written = write.send("change profile", self.store()).await;
            // Redis may have executed a write that failed.
            self.store().forget_user(user);
            written?;
        }
        Ok(())
    }

    /// Returns the URL of a user's picture; `None` if there is no picture, or its host is not allowed any more.
    #[must_use]
    pub fn shown_avatar<'a>(&self, url: &'a str) -> Option<&'a str> {
        AvatarUrl::is_on(url, &self.0.rules.media.media_hosts).then_some(url)
    }

    /// Creates users, running each step for all users together. Makes six round trips for any number of
    /// users.
    ///
    /// Names must be distinct.
    pub(super) async fn make_users(&self, accounts: Vec<NewAccount>) -> Result<Vec<Created>, Error> {
        let mut made: Vec<Option<Created>> = accounts.iter().map(|_| None).collect();
        for _ in 0..ATTEMPTS {
            let open: Vec<usize> = (0..made.len()).filter(|&index| made[index].is_none()).collect();
            let asked: Vec<&NewAccount> = open.iter().map(|&index| &accounts[index]).collect();
            for (index, outcome) in open.into_iter().zip(self.try_to_make(&asked).await?) {
                made[index] = outcome;
            }
            if made.iter().all(Option::is_some) {
                break;
            }
        }
        let made: Option<Vec<Created>> = made.into_iter().collect();
        made.ok_or_else(|| Broken::GaveUp("making a user").into())
    }

    /// Makes one attempt to create users. Returns `None` for each user whose id was revoked.
    async fn try_to_make(&self, accounts: &[&NewAccount]) -> Result<Vec<Option<Created>>, Error> {
        let deadline = self.deadline();
        let candidates = self.issue_ids(accounts).await?;
        self.make(&candidates, &deadline).await
    }

    /// Creates users with issued ids. Returns `None` for each user whose id was revoked.
    pub(super) async fn make(
        &self,
        candidates: &[Candidate<'_>],
        deadline: &Deadline<'_>,
    ) -> Result<Vec<Option<Created>>, Error> {
        let operation = |candidate: &Candidate<'_>| Operation::Name {
            username: candidate.account.username.clone(),
            user: candidate.id,
        };
        let make = async || {
            let holders = self.reserve_names(candidates).await?;
            deadline.check()?;
            let outcomes = self.create_users(candidates, &holders).await?;
            deadline.check()?;
            self.settle_names(candidates, &outcomes).await?;
            Ok(outcomes)
        };
        self.under_intents(&self.intents(candidates.iter().map(operation)), deadline, make).await
    }

    /// Issues an id for each account.
    pub(super) async fn issue_ids<'a>(
        &self,
        accounts: &[&'a NewAccount],
    ) -> Result<Vec<Candidate<'a>>, Error> {
        let count = accounts.len() as u64;
        let last = user::issue_ids(self.keys(), count).send("make user: ids", self.store()).await?;
        let ids = (last + 1 - count..=last).filter_map(UserId::new);
        Ok(accounts.iter().zip(ids).map(|(account, id)| Candidate { account, id }).collect())
    }

    async fn reserve_names(&self, candidates: &[Candidate<'_>]) -> Result<Vec<Holder>, Error> {
        let reserve =
            |candidate: &Candidate<'_>| name::reserve(self.keys(), &candidate.account.username, candidate.id);
        self.send_all("make user: reserve", candidates.iter().map(reserve)).await
    }

    /// Creates the users whose names are reserved for them, and writes their regions. Returns `None` for each
    /// user whose id was revoked.
    async fn create_users(
        &self,
        candidates: &[Candidate<'_>],
        holders: &[Holder],
    ) -> Result<Vec<Option<Created>>, Error> {
        let mut batch = Batch::new("make user: create");
        let create = |(candidate, holder): (&Candidate<'_>, &Holder)| {
            let reserved = *holder == Holder::Reserved(candidate.id);
            reserved.then(|| {
                let (user, opened) = self.new_user(candidate);
                (batch.push(user::create(self.keys(), &user)), opened)
            })
        };
        let creations: Vec<_> = candidates.iter().zip(holders).map(create).collect();
        // A region written for an unused id is harmless.
        let locate = |candidate: &Candidate<'_>| {
            let region = candidate.account.region?;
            Some(batch.push(region::write(self.keys(), candidate.id, Some(region))))
        };
        let places = candidates.iter().filter_map(locate).collect();
        let mut replies = batch.send(self.store()).await?;
        replies.take_all(places)?;
        let outcome = |(candidate, creation): (&Candidate<'_>, Option<(Ticket<bool>, _)>)| {
            let Some((ticket, opened)) = creation else {
                return Ok(Some(Created::Taken));
            };
            Ok(replies.take(ticket)?.then_some(Created::User(candidate.id, opened)))
        };
        candidates.iter().zip(creations).map(outcome).collect()
    }

    fn new_user(&self, candidate: &Candidate<'_>) -> (NewUser, Option<Opened>) {
        let Candidate { account, id } = candidate;
        let session = account.sign_in.as_ref().map(|label| self.new_session(*id, label));
        let (opened, stored) = session.unzip();
        let user = NewUser {
            id: *id,
            username: account.username.clone(),
            display_name: account.display_name.clone(),
            bio: account.bio.clone(),
            created_at: account.created_at,
            password: account.password.clone(),
            subject: account.subject,
            session: stored,
        };
        (user, opened)
    }

    /// Settles the names and subjects of created users, and frees those of users whose id was revoked. The
    /// process that revoked the id should have freed them, but may have been interrupted. Also frees the subjects
    /// of users whose name is taken.
    async fn settle_names(
        &self,
        candidates: &[Candidate<'_>],
        outcomes: &[Option<Created>],
    ) -> Result<(), Error> {
        let mut commands = Vec::new();
        for (Candidate { account, id }, outcome) in candidates.iter().zip(outcomes) {
            let username = &account.username;
            if let Some(subject) = account.subject {
                commands.push(match outcome {
                    Some(Created::User(..)) => subject::settle(self.keys(), subject, *id),
                    Some(Created::Taken) | None => subject::free(self.keys(), subject, Holder::Reserved(*id)),
                });
            }
            commands.push(match outcome {
                Some(Created::User(..)) => name::settle(self.keys(), username, *id),
                Some(Created::Taken) => continue,
                None => name::free(self.keys(), username, Holder::Reserved(*id)),
            });
        }
        self.send_all("make user: settle", commands).await?;
        Ok(())
    }
}

fn taken() -> Error {
    Error::rule(Reason::Taken, Field::Username, "This username is taken.")
}
