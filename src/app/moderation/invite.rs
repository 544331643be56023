//! Invites, and registration with them.
//!
//! A registration takes a use of its invite for the issued user id before it creates the user, so that an invite never
//! has more users than uses. The use is *unfinished* until the registration has ended: then the user exists, or the
//! use is returned to the invite.
//!
//! An interrupted registration leaves an unfinished use behind. When an invite looks used up, and when invites are
//! listed, unfinished uses that are old enough to be abandoned ([`crate::app::deadline`]) are settled: if the user does
//! not exist, the id is revoked, so that a late writer cannot create the user, and the use is returned.

use std::num::NonZeroU32;

use crate::app::App;
use crate::app::deadline::ABANDONED_AFTER;
use crate::app::error::{Error, Faults, Field, Reason, RuleViolation};
use crate::app::user::{ATTEMPTS, Created, NewAccount};
use crate::config::RegistrationMode;
use crate::model::clock::Timestamp;
use crate::model::id::UserId;
use crate::model::invite::{Invite, InviteCode, InviteNote, InviteState};
use crate::model::moderation::{Action, ActionNote, Objects};
use crate::model::moderator::Moderator;
use crate::model::page::{Page, Position, Window};
use crate::store::command::Command;
use crate::store::invite::{self, StoredInvite, Use};
use crate::store::user;

/// Number of invites read at a time.
const PAGE: usize = 1_000;
/// Maximum number of invites that are not revoked.
const MOST_INVITES: u32 = 10_000;
/// Maximum number of uses of an invite.
const MOST_USES: u32 = 1_000_000;

/// An invite to be created.
#[derive(Clone, Copy, Debug)]
pub struct NewInvite<'a> {
    /// Maximum number of users who can register with the invite, not yet validated.
    pub uses: i64,
    /// Time from which the invite is no longer valid; `None` if it does not expire. Not yet validated.
    pub expires_at: Option<Timestamp>,
    /// The moderator's note, not yet validated.
    pub note: &'a str,
}

impl NewInvite<'_> {
    /// Returns the number of uses and the note.
    fn check(self, now: Timestamp) -> Result<(NonZeroU32, InviteNote), Error> {
        let mut faults = Faults::default();
        let uses = u32::try_from(self.uses).ok().and_then(NonZeroU32::new);
        let too_many = || {
            let message = format!("An invite has 1 to {MOST_USES} uses.");
            RuleViolation::new(Reason::Invalid, Field::Uses, message)
        };
        let uses = faults.check_rule(uses.filter(|uses| uses.get() <= MOST_USES).ok_or_else(too_many));
        let past = || {
            let message = "An invite expires at a time in the future.";
            RuleViolation::new(Reason::Invalid, Field::ExpiresAt, message)
        };
        let is_past = self.expires_at.is_some_and(|end| end <= now);
        let end = faults.check_rule(if is_past { Err(past()) } else { Ok(()) });
        let note = faults.check(Field::Note, InviteNote::parse(self.note));
        match (uses, end, note) {
            (Some(uses), Some(()), Some(note)) => Ok((uses, note)),
            _ => Err(faults.into_error()),
        }
    }
}

impl App {
    /// Creates an invite. Makes three round trips.
    pub async fn create_invite(&self, moderator: &Moderator, wish: NewInvite<'_>) -> Result<Invite, Error> {
        let (uses, note) = wish.check(self.now())?;
        let count = invite::count(self.keys()).send("create invite: count", self.store()).await?;
        if count >= u64::from(MOST_INVITES) {
            let message =
                format!("There are {count} invites, the maximum. Revoke those that are not needed.");
            return Err(Error::at_limit(Reason::ListLimit, MOST_INVITES, message));
        }
        let (code, expires_at, created_at) = (InviteCode::issue(self.rng()), wish.expires_at, self.now());
        let action_note = ActionNote::parse(note.as_str()).unwrap_or_default();
        self.log(moderator, Action::CreateInvite, Objects::invite(code), action_note).await?;
        let invite = Invite { code, uses, used: 0, expires_at, created_at, created_by: *moderator, note };
        invite::create(self.keys(), &invite).send("create invite", self.store()).await?;
        Ok(invite)
    }

    /// Returns a page of the invites, newest first, including those that have expired or are used up.
    pub async fn invite_page(
        &self,
        _moderator: &Moderator,
        window: Window<Position<InviteCode>>,
    ) -> Result<Page<Invite>, Error> {
        let positions = invite::list(self.keys()).send("invites: list", self.store()).await?;
        let Page { entries, has_previous, has_next } = Page::of(&positions, &window);
        let codes: Vec<InviteCode> = entries.iter().map(|position| position.id).collect();
        Ok(Page { entries: self.settled_invites(&codes).await?.into(), has_previous, has_next })
    }

    /// Returns all invites, newest first, including those that have expired or are used up.
    pub async fn invites(&self, _moderator: &Moderator) -> Result<Vec<Invite>, Error> {
        let positions = invite::list(self.keys()).send("invites: list", self.store()).await?;
        let codes: Vec<InviteCode> = positions.iter().map(|position| position.id).collect();
        let mut invites = Vec::with_capacity(codes.len());
        for page in codes.chunks(PAGE) {
            invites.extend(self.settled_invites(page).await?);
        }
        Ok(invites)
    }

    /// Reads these invites, after settling their abandoned uses. Leaves out those that were revoked in the meantime.
    async fn settled_invites(&self, codes: &[InviteCode]) -> Result<Vec<Invite>, Error> {
        let mut invites = Vec::with_capacity(codes.len());
        for stored in self.read_invites(codes).await?.into_iter().flatten() {
            invites.extend(self.settled(stored).await?.map(|stored| stored.invite));
        }
        Ok(invites)
    }

    /// Deletes an invite: no one can register with it any more. The users who have registered with it stay.
    pub async fn revoke_invite(&self, moderator: &Moderator, code: &InviteCode) -> Result<(), Error> {
        let stored = self.read_invite(code).send("revoke invite: read", self.store()).await?;
        if stored.is_none() {
            return Err(Error::rule(Reason::NotFound, Field::InviteId, UNKNOWN));
        }
        self.log(moderator, Action::RevokeInvite, Objects::invite(*code), ActionNote::default()).await?;
        invite::revoke(self.keys(), code).send("revoke invite", self.store()).await?;
        Ok(())
    }

    /// Fails if no one can register.
    pub(in crate::app) fn check_registration_is_possible(&self) -> Result<(), Error> {
        match self.0.rules.account.account_registration {
            RegistrationMode::Open | RegistrationMode::Invite => Ok(()),
            RegistrationMode::Closed => {
                Err(Error::rule(Reason::RegistrationClosed, None, "Registration is closed."))
            }
        }
    }

    /// Returns the invite that a registration needs; `None` if it needs none.
    pub(in crate::app) fn required_invite(
        &self,
        code: Option<&str>,
    ) -> Result<Option<InviteCode>, RuleViolation> {
        if self.0.rules.account.account_registration != RegistrationMode::Invite {
            return Ok(None);
        }
        let code = code.ok_or_else(|| invalid("Registration requires an invite."))?;
        InviteCode::parse(code).map(Some).ok_or_else(unknown)
    }

    /// Reads an invite with its unfinished uses that are abandoned.
    pub(in crate::app) fn read_invite(&self, code: &InviteCode) -> Command<Option<StoredInvite>> {
        invite::read(self.keys(), code, self.now().minus(ABANDONED_AFTER))
    }

    /// Fails if the invite cannot be used. Makes no round trip unless the invite looks used up.
    pub(in crate::app) async fn check_invite(&self, mut stored: Option<StoredInvite>) -> Result<(), Error> {
        if let Some(found) = stored.take_if(|found| found.invite.state(self.now()) == InviteState::UsedUp) {
            stored = self.settled(found).await?;
        }
        match stored.map(|stored| stored.invite.state(self.now())) {
            Some(InviteState::Valid) => Ok(()),
            Some(InviteState::Expired) => Err(expired().into()),
            Some(InviteState::UsedUp) => Err(used_up().into()),
            None => Err(unknown().into()),
        }
    }

    /// Creates a user with an invite. Makes two more round trips than [`App::make_users`], or three if
    /// the name is taken. Returns `None` if the id was
    /// revoked in every attempt.
    pub(in crate::app) async fn make_invited(
        &self,
        account: &NewAccount,
        code: &InviteCode,
    ) -> Result<Option<Created>, Error> {
        for _ in 0..ATTEMPTS {
            let deadline = self.deadline();
            let candidates = self.issue_ids(&[account]).await?;
            let Some(user) = candidates.first().map(|candidate| candidate.id) else { break };
            self.take_use(code, user, deadline.began()).await?;
            let made = match deadline.check() {
                Ok(()) => self.make(&candidates, &deadline).await,
                Err(late) => Err(late),
            };
            let is_created = matches!(made.as_deref(), Ok([Some(Created::User(..))]));
            self.end_use(code, user, is_created).await;
            if let Some(created) = made?.pop().flatten() {
                return Ok(Some(created));
            }
        }
        Ok(None)
    }

    /// Takes a use of an invite for the id of a user who is about to be created.
    async fn take_use(&self, code: &InviteCode, user: UserId, at: Timestamp) -> Result<(), Error> {
        let take =
            async || invite::take(self.keys(), code, user, at).send("invite: take", self.store()).await;
        let mut taken = take().await?;
        if taken == Use::UsedUp {
            let stored = self.read_invite(code).send("invite: read", self.store()).await?;
            self.check_invite(stored).await?;
            taken = take().await?;
        }
        match taken {
            Use::Taken => Ok(()),
            Use::Unknown => Err(unknown().into()),
            Use::Expired => Err(expired().into()),
            Use::UsedUp => Err(used_up().into()),
        }
    }

    /// Ends a use: finishes it if the user was created, and settles it otherwise. Logs a failure, after which the use
    /// is settled later.
    async fn end_use(&self, code: &InviteCode, user: UserId, is_created: bool) {
        let ended = if is_created {
            let finish = invite::finish(self.keys(), code, user).send("invite: finish", self.store());
            finish.await.map(drop).map_err(Error::from)
        } else {
            // If creating the user failed, Redis may still have executed the step that failed.
            self.settle_uses(code, &[user]).await
        };
        if let Err(error) = ended {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "the use of an invite could not be ended; settling it later");
        }
    }

    /// Settles the abandoned uses of an invite, and returns the invite as it is then; `None` if it was revoked in the
    /// meantime. Makes no round trips if there are no abandoned uses.
    async fn settled(&self, mut stored: StoredInvite) -> Result<Option<StoredInvite>, Error> {
        while !stored.unfinished.is_empty() {
            self.settle_uses(&stored.invite.code, &stored.unfinished).await?;
            let read = self.read_invite(&stored.invite.code).send("invite: read", self.store()).await?;
            let Some(read) = read else { return Ok(None) };
            stored = read;
        }
        Ok(Some(stored))
    }

    /// Finishes the uses of users who exist. Revokes the ids of the others, and returns their uses. Makes two round
    /// trips.
    async fn settle_uses(&self, code: &InviteCode, users: &[UserId]) -> Result<(), Error> {
        let revoke = |user: &UserId| user::revoke_unless_exists(self.keys(), *user, self.now());
        let exist = self.send_all("invite: revoke", users.iter().map(revoke)).await?;
        let settle = |(user, exists): (&UserId, bool)| {
            let end = if exists { invite::finish } else { invite::give_back };
            end(self.keys(), code, *user)
        };
        self.send_all("invite: settle", users.iter().zip(exist).map(settle)).await?;
        Ok(())
    }

    async fn read_invites(&self, codes: &[InviteCode]) -> Result<Vec<Option<StoredInvite>>, Error> {
        self.send_all("invites: read", codes.iter().map(|code| self.read_invite(code))).await
    }
}

fn invalid(message: &str) -> RuleViolation {
    RuleViolation::new(Reason::InviteInvalid, Field::Invite, message)
}

const UNKNOWN: &str = "This invite does not exist.";

fn unknown() -> RuleViolation {
    invalid(UNKNOWN)
}

fn expired() -> RuleViolation {
    invalid("This invite has expired.")
}

fn used_up() -> RuleViolation {
    invalid("This invite has been used up.")
}
