//! Reads of relations, and of lists of followers and followed users.

use std::collections::HashSet;
use std::sync::Arc;

use crate::app::error::{Broken, Error};
use crate::app::read::{Load, Pending, Read, Requests, Shared};
use crate::model::clock::Timestamp;
use crate::model::id::UserId;
use crate::model::page::{InListOrder as _, Page, Position, Window};
use crate::model::relation::{Follow, ListKind, Relation, Side};
use crate::store::relation::{self, PROBE, TooMany};

/// Maximum number of followed users for which reading mutuals takes only one round trip. Most users follow fewer.
const FEW_FOLLOWED: usize = 200;

/// Relations between a viewer and other users.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Relations {
    /// Id of the viewer.
    pub viewer: UserId,
    /// Ids of the other users.
    pub others: Shared<UserId>,
}

impl Read for Relations {
    type Value = Arc<[Relation]>;

    fn request(&self, requests: &mut Requests<'_>) -> Pending<Self::Value> {
        let pairs = requests.relations(self.viewer, &self.others.0);
        Pending::hot(move |responses| Ok(responses.relations(pairs)?.into()))
    }
}

/// The relation between a viewer and another user.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RelationTo {
    /// Id of the viewer.
    pub viewer: UserId,
    /// Id of the other user.
    pub other: UserId,
}

impl Read for RelationTo {
    type Value = Relation;

    fn request(&self, requests: &mut Requests<'_>) -> Pending<Self::Value> {
        let pairs = requests.relations(self.viewer, &[self.other]);
        Pending::hot(move |responses| Ok(responses.relations(pairs)?[0]))
    }
}

/// The time of each of these users' entries in one of a user's stored lists; `None` for those who are not in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EntryTimes {
    /// Id of the list's owner.
    pub owner: UserId,
    /// Stored list to read.
    pub side: Side,
    /// Ids of the users who may be in the list.
    pub users: Shared<UserId>,
}

impl Read for EntryTimes {
    type Value = Arc<[Option<Timestamp>]>;

    fn request(&self, requests: &mut Requests<'_>) -> Pending<Self::Value> {
        let probe =
            |users: &[UserId]| requests.push(relation::times(requests.keys(), self.owner, self.side, users));
        let times: Vec<_> = self.users.0.chunks(PROBE).map(probe).collect();
        Pending::hot(move |responses| Ok(responses.replies.take_all(times)?.concat().into()))
    }
}

/// For each of these authors of limited posts, true if the viewer follows them. Not charged: what an operation costs
/// must not tell of posts that its viewer may not see.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::app) struct FollowsWhich {
    /// Id of the viewer.
    pub(in crate::app) viewer: UserId,
    /// Ids of the authors.
    pub(in crate::app) authors: Shared<UserId>,
}

impl Read for FollowsWhich {
    type Value = Arc<[bool]>;

    fn request(&self, requests: &mut Requests<'_>) -> Pending<Self::Value> {
        let probe = |authors: &[UserId]| {
            requests.push(relation::follows_which(requests.keys(), self.viewer, authors))
        };
        let follows: Vec<_> = self.authors.0.chunks(PROBE).map(probe).collect();
        Pending::hot(move |responses| Ok(responses.replies.take_all(follows)?.concat().into()))
    }
}

/// A page of one of a user's stored lists.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FollowPage {
    /// Id of the list's owner.
    pub owner: UserId,
    /// Stored list to read.
    pub side: Side,
    /// Requested page.
    pub window: Window<Position>,
}

impl Read for FollowPage {
    type Value = Arc<Page<Follow>>;

    fn request(&self, requests: &mut Requests<'_>) -> Pending<Self::Value> {
        let page = requests.push(relation::page(requests.keys(), self.owner, self.side, &self.window));
        Pending::hot(move |responses| Ok(Arc::new(responses.replies.take(page)?)))
    }
}

/// The length of one of a user's stored lists.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FollowCount {
    /// Id of the list's owner.
    pub owner: UserId,
    /// Stored list to read.
    pub side: Side,
    /// Users who do not count.
    pub excluded: Option<Shared<UserId>>,
}

impl Read for FollowCount {
    type Value = u64;

    fn request(&self, requests: &mut Requests<'_>) -> Pending<Self::Value> {
        let Self { owner, side, .. } = *self;
        let count = requests.push(relation::count(requests.keys(), owner, side));
        let probe =
            |users: &[UserId]| requests.push(relation::count_among(requests.keys(), owner, side, users));
        let excluded = self.excluded.as_ref().map_or(&[][..], |excluded| &excluded.0);
        let excluded: Vec<_> = excluded.chunks(PROBE).map(probe).collect();
        Pending::hot(move |responses| {
            let count = responses.replies.take(count)?;
            let listed = responses.replies.take_all(excluded)?;
            // The list may have changed between the commands.
            Ok(count.saturating_sub(listed.iter().sum()))
        })
    }
}

/// All entries of one of a user's stored lists, newest first. For lists of limited length.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::app) struct WholeList {
    /// Id of the list's owner.
    pub(in crate::app) owner: UserId,
    /// Stored list to read.
    pub(in crate::app) side: Side,
}

impl WholeList {
    fn following(owner: UserId) -> Self {
        Self { owner, side: Side::Following }
    }
}

impl Read for WholeList {
    type Value = Arc<[Follow]>;

    fn request(&self, requests: &mut Requests<'_>) -> Pending<Self::Value> {
        let list = requests.push(relation::all(requests.keys(), self.owner, self.side));
        Pending::hot(move |responses| Ok(responses.replies.take(list)?.into()))
    }
}

/// The users whom `user` follows and who follow back, newest follow first. The value is [`TooMany`] if `user` follows
/// more than `most` users.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Mutuals {
    user: UserId,
    most: usize,
}

impl Read for Mutuals {
    type Value = Result<Arc<[Follow]>, TooMany>;

    fn request(&self, requests: &mut Requests<'_>) -> Pending<Self::Value> {
        let mutuals = requests.push(relation::mutuals(requests.keys(), self.user, self.most));
        Pending::hot(move |responses| Ok(responses.replies.take(mutuals)?.map(Into::into)))
    }
}

/// The users in `among` who follow `user`, with the times of their follows, newest first.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct FollowersAmong {
    user: UserId,
    among: Shared<Follow>,
}

impl Read for FollowersAmong {
    type Value = Arc<[Follow]>;

    fn request(&self, requests: &mut Requests<'_>) -> Pending<Self::Value> {
        let among = self.among.clone();
        let mut times = |chunk: &[Follow]| {
            let chunk: Vec<UserId> = chunk.iter().map(|follow| follow.user).collect();
            requests.push(relation::times(requests.keys(), self.user, Side::Followers, &chunk))
        };
        let times: Vec<_> = among.0.chunks(PROBE).map(&mut times).collect();
        Pending::hot(move |responses| Ok(present(&among.0, responses.replies.take_all(times)?.concat())))
    }
}

/// Returns the users who have a time, each with that time, in list order.
fn present(among: &[Follow], times: Vec<Option<Timestamp>>) -> Arc<[Follow]> {
    let follow = |(follow, at): (&Follow, Option<Timestamp>)| Some(Follow { user: follow.user, at: at? });
    let mut present: Vec<Follow> = among.iter().zip(times).filter_map(follow).collect();
    present.sort_by(|one, other| Position::from(*one).in_list_order(&Position::from(*other)));
    present.into()
}

/// A user list, identified by its owner and kind.
#[derive(Clone, Copy, Debug)]
pub struct UserList {
    /// Id of the list's owner.
    pub owner: UserId,
    /// Kind of the list.
    pub kind: ListKind,
}

impl UserList {
    /// Returns the stored list; `None` if lists of this kind are computed.
    #[must_use]
    pub fn stored(self) -> Option<Side> {
        match self.kind {
            ListKind::Followers => Some(Side::Followers),
            ListKind::Following => Some(Side::Following),
            ListKind::Mutuals | ListKind::KnownFollowers => None,
        }
    }

    /// Returns all entries of a computed list, newest first, as seen by the viewer. Makes one round trip, plus one for
    /// known followers and for long lists of mutuals. A loader makes that additional round trip only once.
    pub(in crate::app) async fn all(
        self,
        load: &impl Load,
        viewer: Option<UserId>,
    ) -> Result<Arc<[Follow]>, Error> {
        match (self.kind, viewer) {
            (ListKind::KnownFollowers, Some(viewer)) => known_followers(load, self.owner, viewer).await,
            (ListKind::KnownFollowers, None) => Ok(Arc::new([])),
            _ => mutuals(load, self.owner).await,
        }
    }
}

/// Returns all users whom a user follows and who follow back. Makes one round trip, plus one if the user follows more
/// than [`FEW_FOLLOWED`] users: the cost grows with the number of followed users, which must be known before the budget
/// is charged.
async fn mutuals(load: &impl Load, user: UserId) -> Result<Arc<[Follow]>, Error> {
    let mut most = FEW_FOLLOWED;
    loop {
        match load.load(Mutuals { user, most }).await {
            Ok(Ok(mutuals)) => return Ok(mutuals),
            // The user may follow more users in the meantime.
            Ok(Err(TooMany(following))) => most = following + FEW_FOLLOWED,
            Err(Error::Broken(Broken::Unreachable(error))) if error.is_divided() => {
                return mutuals_apart(load, user).await;
            }
            Err(error) => return Err(error),
        }
    }
}

/// Returns the same list, but reads the two sets one after the other, because they are at two masters of a cluster
/// while the user's slot moves. Makes two round trips.
async fn mutuals_apart(load: &impl Load, user: UserId) -> Result<Arc<[Follow]>, Error> {
    let following = load.load(WholeList::following(user)).await?;
    let followers = load.load(FollowersAmong { user, among: Shared(Arc::clone(&following)) }).await?;
    let followers: HashSet<UserId> = followers.iter().map(|follow| follow.user).collect();
    Ok(following.iter().filter(|follow| followers.contains(&follow.user)).copied().collect())
}

/// Returns the users who follow `user` and whom the viewer follows. Makes one round trip, plus one per loader to read
/// all users whom the viewer follows.
async fn known_followers(load: &impl Load, user: UserId, viewer: UserId) -> Result<Arc<[Follow]>, Error> {
    let among = Shared(load.load(WholeList::following(viewer)).await?);
    load.load(FollowersAmong { user, among }).await
}
