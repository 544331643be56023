//! Decides which users and posts a viewer may see. All users and posts reach viewers through this module, except the
//! numbers of followers by region, which are the same for all viewers.
//!
//! Lists, counts, single users and posts, timelines and live events all pass through [`Visible`]. Code
//! outside `app` has no other way to read user and post records. The rules:
//! - A viewer sees no user who blocks them: the response is that for a user who does not exist.
//! - A viewer still finds a user whom they block, by id or name, but not in lists of others, and sees none of their
//!   posts.
//! - Posts by a user with a private account, and posts for followers only, are seen by the author and the author's
//!   followers.
//! - Posts of muted users are left out of the home timeline only.
//!
//! The rule for posts is one function, [`may_see`].
//!
//! The round trips stated here do not include reading the viewer's exclusions, which are cached (`app::exclusion`).
//!
#![doc = include_str!("README.md")]

mod likes;
pub mod list;
mod posts;
mod referrers;
pub(super) mod removed;
pub use self::likes::VisibleLikes;
pub use self::posts::ShownPost;
pub use self::referrers::VisibleReferrers;

use std::collections::HashMap;
use std::sync::Arc;

use futures::future::try_join;

use crate::app::App;
use crate::app::archive::{Listed, StoredPost};
use crate::app::error::Error;
use crate::app::exclusion::BlockersAmong;
use crate::app::post::read::ArchiveLookup;
use crate::app::read::{Load, Shared};
use crate::app::relation::read::{EntryTimes, RelationTo, Relations};
use crate::app::user::read::{UserByName, UserRecord, UserRecords};
use crate::app::viewer::{SignedIn, Viewer};
use crate::model::clock::Timestamp;
use crate::model::exclusion::{Blockers, Exclusions};
use crate::model::id::{PostId, UserId};
use crate::model::post::{Post, Visibility};
use crate::model::reaction::{ReactionSelection, Reactions};
use crate::model::relation::{Relation, Side};
use crate::model::user::{User, UserFields, Username};

/// The users and posts that a viewer may see.
pub struct Visible<'a, L> {
    /// The application, which caches the viewers' exclusions.
    pub app: &'a App,
    /// The loader that performs the reads.
    pub load: &'a L,
    /// The viewer.
    pub viewer: &'a Viewer,
}

/// The user data to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserSelection {
    /// The record fields to read.
    pub fields: UserFields,
    /// True if the relation to the viewer is needed.
    pub relation: bool,
    /// True if the relation needs the time at which the user requested to follow the viewer.
    pub requester: bool,
    /// For authors of posts: the viewer's reactions to read, to the posts that are read with them.
    pub reactions: ReactionSelection,
}

impl UserSelection {
    /// A selection of no data.
    pub const NONE: Self = Self {
        fields: UserFields::NONE,
        relation: false,
        requester: false,
        reactions: ReactionSelection::NONE,
    };

    /// Returns the selection of all data of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            fields: self.fields | other.fields,
            relation: self.relation || other.relation,
            requester: self.requester || other.requester,
            reactions: self.reactions.and(other.reactions),
        }
    }

    /// Returns the same selection, with the relation and the fields that decide which of the user's posts the viewer
    /// may see.
    #[must_use]
    pub fn with_post_access(self) -> Self {
        Self { fields: self.fields | UserFields::PRIVATE, relation: true, ..self }
    }
}

/// A user whom the viewer may see.
#[derive(Clone, Debug)]
pub struct VisibleUser {
    /// The user's record, with the selected fields.
    pub record: Arc<User>,
    /// The relation to the viewer; `None` if not selected, or if the viewer is anonymous.
    pub relation: Option<Relation>,
}

/// A post that the viewer may see.
#[derive(Clone, Debug)]
pub struct VisiblePost {
    /// The post's record.
    pub post: Arc<Post>,
    /// The post's author.
    pub author: VisibleUser,
    /// The viewer's selected reactions.
    pub reactions: Reactions,
}

/// The path by which a viewer reaches a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// The viewer has named the user, or has the user in a list of their own.
    Direct,
    /// The user is in a list of another user.
    Listed,
}

/// The place where a post is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surface {
    /// The viewer's home timeline.
    Timeline,
    /// Any other place. Reposts are not shown there.
    Elsewhere,
    /// The viewer's home timeline, as the original of a repost or as the post to which a reply refers.
    Reference,
    /// Among the posts that refer to a post, which has a list of reposts as well.
    Referrers,
}

/// Those of an author's posts that a viewer may see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PostAccess {
    /// No posts.
    None,
    /// The posts that are not for followers only.
    Public,
    /// All posts.
    All,
}

impl PostAccess {
    /// Returns the access of a viewer to an author's posts. `is_private` states if the author's account is private, and
    /// `relation` is that to the viewer; `None` if the viewer is anonymous.
    #[must_use]
    pub fn of(viewer: Option<UserId>, author: UserId, is_private: bool, relation: Option<&Relation>) -> Self {
        let follows = relation.is_some_and(|relation| relation.following_since.is_some());
        let blocks = relation.is_some_and(|relation| relation.blocked_since.is_some());
        match is_private {
            _ if viewer == Some(author) => Self::All,
            _ if blocks => Self::None,
            _ if follows => Self::All,
            true => Self::None,
            false => Self::Public,
        }
    }

    /// Returns true if the access includes a post.
    #[must_use]
    pub fn includes(self, post: &Post) -> bool {
        self.allows(post.visibility)
    }

    /// Returns true if the access includes the author's posts of this visibility.
    fn allows(self, visibility: Visibility) -> bool {
        match self {
            Self::None => false,
            Self::Public => visibility == Visibility::Public,
            Self::All => true,
        }
    }
}

/// Returns true if a viewer may see a post of this visibility, or a repost, in this place. The author does not block
/// the viewer.
fn may_see(
    surface: Surface,
    viewer: Option<UserId>,
    (visibility, is_repost): (Visibility, bool),
    author: &VisibleUser,
) -> bool {
    let id = author.record.id;
    // Followers see all posts, so that a timeline does not depend on the author's account being private.
    let is_private = surface != Surface::Timeline && author.record.is_private != Some(false);
    let access = PostAccess::of(viewer, id, is_private, author.relation.as_ref());
    let is_in_timeline = || author.relation.is_some_and(|relation| relation.is_in_timeline());
    let is_in_place = match surface {
        Surface::Timeline => viewer == Some(id) || is_in_timeline(),
        Surface::Elsewhere | Surface::Reference => !is_repost,
        Surface::Referrers => true,
    };
    access.allows(visibility) && is_in_place
}

impl<L: Load> Visible<'_, L> {
    fn signed_in(&self) -> Option<&SignedIn> {
        self.viewer.signed_in().ok()
    }

    /// Returns the viewer's exclusions; `None` if the viewer is anonymous.
    async fn exclusions(&self) -> Result<Option<Arc<Exclusions>>, Error> {
        match self.signed_in() {
            Some(viewer) => Ok(Some(self.app.exclusions(viewer).await?)),
            None => Ok(None),
        }
    }

    /// Returns the id of the user with this name whom the viewer may see; `None` if there is no such user. Makes one
    /// round trip, or two for a viewer whom too many users block to cache.
    pub async fn user_by_name(&self, username: Username) -> Result<Option<UserId>, Error> {
        let user = self.load.load(UserByName(username)).await?;
        let Some(viewer) = self.signed_in() else { return Ok(user) };
        // As many round trips whether or not there is such a user.
        let is_hidden = self.app.is_hidden(self.load, viewer, user.unwrap_or(viewer.user)).await?;
        Ok(user.filter(|_| !is_hidden))
    }

    /// Returns the record of a user whom the caller has found to be visible, which this does not check; `None` if the
    /// user does not exist. Makes one round trip.
    pub async fn user_record(&self, user: UserId, fields: UserFields) -> Result<Option<Arc<User>>, Error> {
        self.load.load(UserRecord { user, fields }).await
    }

    /// Returns these users, in the same order; `None` for users who do not exist, or whom the viewer may not see. Makes
    /// no round trip if `users` is empty; otherwise one.
    pub async fn users(
        &self,
        users: Arc<[UserId]>,
        selection: UserSelection,
        access: Access,
    ) -> Result<Vec<Option<VisibleUser>>, Error> {
        if users.is_empty() {
            return Ok(Vec::new());
        }
        let users = Shared(users);
        let records = UserRecords { users: users.clone(), fields: selection.fields };
        let visible = |record: &Option<Arc<User>>, relation| {
            Some(VisibleUser { record: Arc::clone(record.as_ref()?), relation })
        };
        let Some(viewer) = self.signed_in() else {
            return Ok(self.load.load(records).await?.iter().map(|record| visible(record, None)).collect());
        };
        let exclusions = self.app.exclusions(viewer).await?;
        let reads = async {
            if !selection.relation {
                return Ok((self.load.load(records).await?, None));
            }
            let relations = Relations { viewer: viewer.user, others: users.clone() };
            let (records, relations) = self.load.load_both(records, relations).await?;
            Ok((records, Some(relations)))
        };
        let more = self.request_times_and_hidden(viewer, &exclusions, &users, selection, access);
        let ((records, relations), (requests, hidden)) = try_join(reads, more).await?;
        let now = self.app.now();
        let relation = |index: usize| {
            let requester_since = requests.as_ref().and_then(|requests| requests[index]);
            let relation = Relation { requester_since, ..relations.as_ref()?[index] };
            Some(completed(relation, users.0[index], &exclusions, now))
        };
        let visible = |(index, record)| {
            let is_hidden = hidden.as_ref().is_some_and(|hidden| hidden[index]);
            if is_hidden { None } else { visible(record, relation(index)) }
        };
        Ok(records.iter().enumerate().map(visible).collect())
    }

    /// Returns the results of [`Self::request_times`] and [`Self::hidden`]. Nearly always, neither reads anything;
    /// their futures are large, and allocated only if needed.
    async fn request_times_and_hidden(
        &self,
        viewer: &SignedIn,
        exclusions: &Exclusions,
        users: &Shared<UserId>,
        selection: UserSelection,
        access: Access,
    ) -> Result<(Option<Arc<[Option<Timestamp>]>>, Option<Vec<bool>>), Error> {
        match exclusions.blockers() {
            Blockers::These(blockers) if !selection.requester => {
                Ok((None, known_hidden(exclusions, blockers, users, access)))
            }
            _ => {
                let requests = self.request_times(viewer, users, selection);
                Box::pin(try_join(requests, self.hidden(viewer, exclusions, users, access))).await
            }
        }
    }

    /// Returns the times at which these users requested to follow the viewer; `None` if they are not selected.
    async fn request_times(
        &self,
        viewer: &SignedIn,
        users: &Shared<UserId>,
        selection: UserSelection,
    ) -> Result<Option<Arc<[Option<Timestamp>]>>, Error> {
        if !selection.requester {
            return Ok(None);
        }
        let requests = EntryTimes { owner: viewer.user, side: Side::Requests, users: users.clone() };
        self.load.load(requests).await.map(Some)
    }

    /// Returns for each of these users true if the viewer may not see them; `None` if the viewer may see all of them.
    async fn hidden(
        &self,
        viewer: &SignedIn,
        exclusions: &Exclusions,
        users: &Shared<UserId>,
        access: Access,
    ) -> Result<Option<Vec<bool>>, Error> {
        Ok(match exclusions.blockers() {
            Blockers::These(blockers) => known_hidden(exclusions, blockers, users, access),
            Blockers::TooMany => {
                let blockers = BlockersAmong { viewer: viewer.user, users: users.clone() };
                let blockers = self.load.load(blockers).await?;
                let is_hidden = |(user, blocks_viewer): (&UserId, &bool)| {
                    *blocks_viewer || is_left_out(exclusions, *user, access)
                };
                Some(users.0.iter().zip(blockers.iter()).map(is_hidden).collect())
            }
        })
    }

    /// Returns the relation between the viewer and another user, whom the viewer may see; `None` for an anonymous
    /// viewer. Makes no round trip for an anonymous viewer; otherwise one.
    pub async fn relation(&self, other: UserId, requester: bool) -> Result<Option<Relation>, Error> {
        let Some(viewer) = self.signed_in() else { return Ok(None) };
        let exclusions = self.app.exclusions(viewer).await?;
        let relation = self.load.load(RelationTo { viewer: viewer.user, other });
        let users = Shared(Arc::new([other]) as Arc<[UserId]>);
        let selection = UserSelection { requester, ..UserSelection::NONE };
        let (relation, requests) = try_join(relation, self.request_times(viewer, &users, selection)).await?;
        let requester_since = requests.and_then(|requests| requests[0]);
        let relation = Relation { requester_since, ..relation };
        Ok(Some(completed(relation, other, &exclusions, self.app.now())))
    }

    /// Returns these posts with their authors, in the same order; `None` for posts that do not exist, or that
    /// the viewer may not see. Makes one round trip for the posts and one for their authors.
    pub async fn posts(
        &self,
        posts: Arc<[Listed]>,
        author: UserSelection,
    ) -> Result<Vec<Option<VisiblePost>>, Error> {
        if posts.is_empty() {
            return Ok(Vec::new());
        }
        let (found, reactions) = self.reacted_records(posts, true, author.reactions).await?;
        self.of_requested((&found, &reactions), author).await
    }

    /// Returns these posts, which the viewer requests, like [`Self::of_records`]. The answer takes as many commands,
    /// and as long, for posts that the viewer may not see as for those that do not exist.
    async fn of_requested(
        &self,
        (found, reactions): (&[Option<StoredPost>], &[Reactions]),
        author: UserSelection,
    ) -> Result<Vec<Option<VisiblePost>>, Error> {
        let surface = Surface::Elsewhere;
        let visible = self.with_authors((found, reactions), author, surface, found.len()).await?;
        let hidden = found.iter().zip(&visible).filter(|(_, visible)| visible.is_none());
        // The archive has already been asked for the others.
        let hot = hidden.filter_map(|(found, _)| found.as_ref()).filter(|found| !found.is_archived());
        let hot: Arc<[PostId]> = hot.map(|found| found.unchecked().id).collect();
        if !hot.is_empty() {
            self.load.load(ArchiveLookup(Shared(hot))).await?;
        }
        Ok(visible)
    }

    /// Returns these posts, to which the viewer has these reactions, with their authors, in the same order; `None` for
    /// posts that the viewer may not see. Makes one round trip for the authors.
    pub async fn of_records(
        &self,
        (found, reactions): (&[Option<StoredPost>], &[Reactions]),
        author: UserSelection,
        surface: Surface,
    ) -> Result<Vec<Option<VisiblePost>>, Error> {
        // As many round trips for posts that do not exist as for those that the viewer may not see.
        let least = usize::from(surface != Surface::Timeline && !found.is_empty());
        self.with_authors((found, reactions), author, surface, least).await
    }

    /// Returns these posts like [`Self::of_records`]. Looks for `least` authors, even if there are fewer.
    async fn with_authors(
        &self,
        (found, reactions): (&[Option<StoredPost>], &[Reactions]),
        author: UserSelection,
        surface: Surface,
        least: usize,
    ) -> Result<Vec<Option<VisiblePost>>, Error> {
        let posts = self.not_excluded(found).await?;
        let viewer = self.viewer.user();
        let is_own = |post: &&Arc<Post>| viewer == Some(post.author);
        let author = match surface {
            Surface::Timeline => UserSelection { relation: true, ..author },
            Surface::Elsewhere if !posts.is_empty() && posts.iter().all(is_own) => author,
            Surface::Elsewhere | Surface::Reference | Surface::Referrers => author.with_post_access(),
        };
        let authors = posts.iter().map(|post| post.author).collect();
        let authors = self.authors(authors, least, author).await?;
        let visible = |(found, reactions): (&Option<StoredPost>, &Reactions)| {
            self.visible(found.as_ref()?.unchecked(), &authors, *reactions, surface)
        };
        Ok(found.iter().zip(reactions).map(visible).collect())
    }

    /// Returns the authors of these posts, and these others, whom the viewer may see. Makes one round trip; none
    /// without any.
    async fn authors_of(
        &self,
        found: &[Option<StoredPost>],
        others: impl Iterator<Item = UserId>,
        selection: UserSelection,
    ) -> Result<HashMap<UserId, VisibleUser>, Error> {
        let posts = self.not_excluded(found).await?;
        let authors = posts.iter().map(|post| post.author).chain(others).collect();
        self.authors(authors, 0, selection.with_post_access()).await
    }

    /// Returns those of these posts whose authors have no block with the viewer.
    async fn not_excluded<'f>(&self, found: &'f [Option<StoredPost>]) -> Result<Vec<&'f Arc<Post>>, Error> {
        let exclusions = self.exclusions().await?;
        let is_excluded = |post: &&Arc<Post>| {
            exclusions.as_ref().is_some_and(|exclusions| exclusions.has_block_with(post.author))
        };
        let posts = found.iter().flatten().map(StoredPost::unchecked);
        Ok(posts.filter(|post| !is_excluded(post)).collect())
    }

    /// Returns a post with its author, if the viewer may see it in this place, and its author.
    fn visible(
        &self,
        post: &Arc<Post>,
        authors: &HashMap<UserId, VisibleUser>,
        reactions: Reactions,
        surface: Surface,
    ) -> Option<VisiblePost> {
        let kind = (post.visibility, post.details.references.original.is_some());
        let author = authors.get(&post.author)?;
        may_see(surface, self.viewer.user(), kind, author).then(|| VisiblePost {
            post: Arc::clone(post),
            author: author.clone(),
            reactions,
        })
    }

    /// Returns those of these authors, some of whom may be repeated, whom the viewer may see. Looks for `least` users:
    /// if there are fewer authors, also for some who do not exist.
    async fn authors(
        &self,
        mut authors: Vec<UserId>,
        least: usize,
        selection: UserSelection,
    ) -> Result<HashMap<UserId, VisibleUser>, Error> {
        authors.sort_unstable();
        authors.dedup();
        let no_one = (0..).filter_map(|index| UserId::new(UserId::MAX.get() - index));
        authors.extend(no_one.take(least.saturating_sub(authors.len())));
        let authors = self.users(authors.into(), selection, Access::Listed).await?;
        Ok(authors.into_iter().flatten().map(|author| (author.record.id, author)).collect())
    }
}

/// Returns true if the viewer blocks a user, whom the lists of others therefore leave out.
fn is_left_out(exclusions: &Exclusions, user: UserId, access: Access) -> bool {
    access == Access::Listed && exclusions.blocked_since(user).is_some()
}

/// Returns for each of these users true if the viewer, whom these users block, may not see them; `None` if the viewer
/// may see all of them.
fn known_hidden(
    exclusions: &Exclusions,
    blockers: &[UserId],
    users: &Shared<UserId>,
    access: Access,
) -> Option<Vec<bool>> {
    let is_hidden =
        |user: &UserId| is_left_out(exclusions, *user, access) || blockers.binary_search(user).is_ok();
    users.0.iter().any(is_hidden).then(|| users.0.iter().map(is_hidden).collect())
}

/// Returns a relation with the data that the viewer's exclusions contain.
fn completed(relation: Relation, user: UserId, exclusions: &Exclusions, now: Timestamp) -> Relation {
    // A request that has just been accepted may still be cached.
    let requested_since = exclusions.requested_since(user).filter(|_| relation.following_since.is_none());
    let blocked_since = exclusions.blocked_since(user);
    Relation { requested_since, blocked_since, mute: exclusions.mute_of(user, now), ..relation }
}
