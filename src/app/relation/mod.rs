//! Follows, requests to follow and blocks, as users make and end them.
//!
//! Changes back and forth are throttled, since both users' clients are notified of each: following, unblocking and
//! unmuting a user takes a token from a bucket of the two users, in the script that makes the change. What ends contact
//! (unfollowing, blocking, muting) takes none, so that it is possible at any time. A token is only taken for a change
//! of the viewer's own data, after the other user was found to be visible, so the bucket says nothing about the other
//! user.
//!
//! Not here: the writes to several slots that a change takes (`app::edge`), and mutes (`app::exclusion`).

pub mod read;
pub mod watch;

use futures::future::try_join;

use crate::app::App;
use crate::app::edge::{Change, Edge, WrittenFollows};
use crate::app::error::{Error, Field, Reason};
use crate::app::throttle::{limit, throttled};
use crate::app::viewer::{SignedIn, Viewer};
use crate::model::clock::Timestamp;
use crate::model::id::UserId;
use crate::model::user::{User, UserFields};
use crate::store::Feature;
use crate::store::bucket::{Limit, Throttled};
use crate::store::follow::{Followed, NewFollow};
use crate::store::user;

impl App {
    /// Makes the viewer follow another user or, if the other user's account is private, requests to follow them.
    /// Idempotent; a repeated follow or request keeps its time. Makes six round trips, plus two if the viewer has a
    /// timeline.
    pub async fn follow(&self, viewer: &Viewer, followee: UserId) -> Result<(), Error> {
        let signed_in = viewer.signed_in()?;
        let other = self.check_other(signed_in, followee, "You cannot follow yourself.").await?;
        let follow = NewFollow { followee, at: self.now(), is_private: other.is_private == Some(true) };
        let throttle = Some(self.change_limit());
        let WrittenFollows { followed, version } =
            self.write_follows(&[(signed_in.user, follow)], throttle).await?;
        signed_in.exclusions.raise(version);
        match followed.first() {
            Some(Followed::AtLimit) => {
                let limit = self.0.rules.relation.relation_follow_limit;
                let message = format!("You already follow {limit} users, or have requested to, the maximum.");
                Err(Error::at_limit(Reason::FollowLimit, limit, message))
            }
            Some(Followed::Blocking) => {
                let message = "You block this user. Unblock them first.";
                Err(Error::rule(Reason::Blocked, Field::UserId, message))
            }
            Some(Followed::Blocked) => Err(no_such_user(Field::UserId)),
            Some(Followed::Throttled(throttled)) => Err(too_many_changes(*throttled)),
            Some(Followed::Added(_) | Followed::Already(_)) | None => Ok(()),
        }
    }

    /// Makes the viewer unfollow another user, or withdraws the request to follow them. Idempotent. Makes six round
    /// trips.
    pub async fn unfollow(&self, viewer: &Viewer, followee: UserId) -> Result<(), Error> {
        let signed_in = viewer.signed_in()?;
        self.check_other(signed_in, followee, "You cannot unfollow yourself.").await?;
        let edge = Edge { follower: signed_in.user, followee };
        signed_in.exclusions.raise(self.change_follow(edge, Change::End { resets: true }).await?);
        Ok(())
    }

    /// Removes another user from the viewer's followers. Idempotent. Makes seven round trips.
    pub async fn remove_follower(&self, viewer: &Viewer, follower: UserId) -> Result<(), Error> {
        let own = user::read(self.keys(), viewer.signed_in()?.user, UserFields::PRIVATE);
        let own = own.send("edge: other", self.store()).await?;
        // The former follower of a private account does not see its posts any more, as if the account did not exist.
        let resets = own.is_some_and(|own| own.is_private != Some(true));
        let oneself = "You cannot remove yourself from your followers.";
        self.change_follower(viewer, follower, Change::End { resets }, oneself).await
    }

    /// Accepts another user's request to follow the viewer. Without a request, does nothing. Makes six round trips,
    /// plus two if the other user has a timeline.
    pub async fn accept_follow_request(&self, viewer: &Viewer, follower: UserId) -> Result<(), Error> {
        let oneself = "You cannot accept a follow request from yourself.";
        self.change_follower(viewer, follower, Change::Accept, oneself).await
    }

    /// Rejects another user's request to follow the viewer. Without a request, does nothing. Makes six round trips.
    pub async fn reject_follow_request(&self, viewer: &Viewer, follower: UserId) -> Result<(), Error> {
        let oneself = "You cannot reject a follow request from yourself.";
        self.change_follower(viewer, follower, Change::EndRequest, oneself).await
    }

    async fn change_follower(
        &self,
        viewer: &Viewer,
        follower: UserId,
        change: Change,
        oneself: &str,
    ) -> Result<(), Error> {
        let signed_in = viewer.signed_in()?;
        self.check_other(signed_in, follower, oneself).await?;
        self.change_follow(Edge { follower, followee: signed_in.user }, change).await.map(drop)
    }

    /// Makes the viewer block another user: neither sees the other any more, and the follows and requests between the
    /// two end. Idempotent; a repeated block keeps its time. Makes seven round trips, plus one for the first block of
    /// the process.
    pub async fn block(&self, viewer: &Viewer, other: UserId) -> Result<(), Error> {
        let signed_in = viewer.signed_in()?;
        self.check_other(signed_in, other, "You cannot block yourself.").await?;
        self.enter(Feature::Boundaries).await?;
        let Some(version) = self.write_block(signed_in.user, other, self.now()).await? else {
            let limit = self.0.rules.relation.relation_block_limit;
            let message = format!("You already block {limit} users, the maximum.");
            return Err(Error::at_limit(Reason::ListLimit, limit, message));
        };
        signed_in.exclusions.raise(Some(version));
        Ok(())
    }

    /// Lifts the viewer's block of another user. Idempotent. Does not restore follows. Makes five round trips.
    pub async fn unblock(&self, viewer: &Viewer, other: UserId) -> Result<(), Error> {
        let signed_in = viewer.signed_in()?;
        let checked = self.check_other(signed_in, other, "You cannot unblock yourself.").await;
        // Users who have blocked each other at the same time do not see each other, and yet may unblock each other.
        let blocks = self.exclusions(signed_in).await?.blocked_since(other).is_some();
        if blocks || checked.is_ok() {
            let lifted = self.lift_block(signed_in.user, other, Some(self.change_limit())).await?;
            signed_in.exclusions.raise(lifted.map_err(too_many_changes)?);
        }
        checked.map(drop)
    }

    /// Returns the limit of the changes of a relation that are throttled, and the current time.
    pub(super) fn change_limit(&self) -> (Limit, Timestamp) {
        (limit(self.0.rules.relation.relation_changes_per_pair), self.now())
    }

    /// Returns the user named in a relation mutation, with the fields that relations need. Fails if they are the
    /// viewer, with the message `oneself`, or do not exist, or block the viewer. Makes one round trip.
    pub(super) async fn check_other(
        &self,
        viewer: &SignedIn,
        other: UserId,
        oneself: &str,
    ) -> Result<User, Error> {
        self.check_named(viewer, (other, Field::UserId), oneself).await
    }

    /// Checks a user as [`check_other`](Self::check_other), whom another input names.
    pub(super) async fn check_named(
        &self,
        viewer: &SignedIn,
        (other, field): (UserId, Field),
        oneself: &str,
    ) -> Result<User, Error> {
        if viewer.user == other {
            return Err(Error::rule(Reason::Oneself, field, oneself));
        }
        let read = user::read(self.keys(), other, UserFields::PRIVATE);
        let read = async { Ok(read.send("edge: other", self.store()).await?) };
        let (user, is_hidden) = try_join(read, self.is_hidden(self, viewer, other)).await?;
        user.filter(|_| !is_hidden).ok_or_else(|| no_such_user(field))
    }
}

/// Returns the error for a viewer who has changed the relation to another user too often.
pub(super) fn too_many_changes(Throttled(wait): Throttled) -> Error {
    throttled(wait, "You have changed your relation to this user too often.")
}

/// Returns the error about a user who does not exist, or whom the viewer may not see: the two are not distinguishable.
fn no_such_user(field: Field) -> Error {
    Error::rule(Reason::NotFound, field, "This user does not exist.")
}
