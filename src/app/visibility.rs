//! Decides which users and posts a viewer may see. All users and posts reach viewers through this module.
//!
//! Lists, counts, single users and posts, timelines and live events all pass through [`Visible`]. Code
//! outside `app` has no other way to read user and post records. The rule itself is one function, `may_see`.

use std::collections::HashMap;
use std::sync::Arc;

use futures::future::try_join;

use crate::app::App;
use crate::app::archive::Listed;
use crate::app::error::Error;
use crate::app::post::read::{PostCount, PostPage, PostRecords};
use crate::app::read::{Load, Many, Shared};
use crate::app::relation::read::{FollowCount, FollowPage, RelationTo, Relations, UserList};
use crate::app::user::read::{UserByName, UserRecord, UserRecords};
use crate::app::viewer::{SignedIn, Viewer};
use crate::model::clock::Period;
use crate::model::id::{PostId, UserId};
use crate::model::page::{Page, Position, Window};
use crate::model::post::Post;
use crate::model::relation::{Follow, Relation, Side};
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
}

/// The place where a post is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surface {
    /// The viewer's home timeline.
    Timeline,
    /// Any other place.
    Elsewhere,
}

/// Returns true if a viewer may see an author's posts in this place.
fn may_see(surface: Surface, viewer: Option<UserId>, author: &VisibleUser) -> bool {
    match surface {
        Surface::Timeline => {
            let is_own = viewer == Some(author.record.id);
            is_own || author.relation.is_some_and(|relation| relation.is_in_timeline())
        }
        Surface::Elsewhere => true,
    }
}

impl<L: Load> Visible<'_, L> {
    fn signed_in(&self) -> Option<&SignedIn> {
        self.viewer.signed_in().ok()
    }

    /// Returns the id of the user with this name; `None` if there is no such user. Makes one round trip.
    pub async fn user_by_name(&self, username: Username) -> Result<Option<UserId>, Error> {
        self.load.load(UserByName(username)).await
    }

    /// Returns a user's record; `None` if the user does not exist. Makes one round trip.
    pub async fn user(&self, user: UserId, fields: UserFields) -> Result<Option<Arc<User>>, Error> {
        self.load.load(UserRecord { user, fields }).await
    }

    /// Returns these users, in the same order; `None` for users who do not exist. Makes no round trip if
    /// `users` is empty; otherwise one.
    pub async fn users(
        &self,
        users: Arc<[UserId]>,
        selection: UserSelection,
    ) -> Result<Vec<Option<VisibleUser>>, Error> {
        if users.is_empty() {
            return Ok(Vec::new());
        }
        let users = Shared(users);
        let records = UserRecords { users: users.clone(), fields: selection.fields };
        let visible = |record: &Option<Arc<User>>, relation| {
            Some(VisibleUser { record: Arc::clone(record.as_ref()?), relation })
        };
        let Some(viewer) = self.signed_in().filter(|_| selection.relation) else {
            return Ok(self.load.load(records).await?.iter().map(|record| visible(record, None)).collect());
        };
        let relations = Relations { viewer: viewer.user, others: users.clone() };
        let reads = self.load.load_both(records, relations);
        let ((records, relations), exclusions) = try_join(reads, self.app.exclusions(viewer)).await?;
        let now = self.app.now();
        let relations = users.0.iter().zip(relations.iter());
        let relations = relations.map(|(user, relation)| relation.with_mute(exclusions.mute_of(*user, now)));
        Ok(records.iter().zip(relations).map(|(record, relation)| visible(record, Some(relation))).collect())
    }

    /// Returns the relation between the viewer and another user; `None` for an anonymous viewer. Makes no
    /// round trip for an anonymous viewer; otherwise one.
    pub async fn relation(&self, other: UserId) -> Result<Option<Relation>, Error> {
        let Some(viewer) = self.signed_in() else { return Ok(None) };
        let relation = self.load.load(RelationTo { viewer: viewer.user, other });
        let (relation, exclusions) = try_join(relation, self.app.exclusions(viewer)).await?;
        Ok(Some(relation.with_mute(exclusions.mute_of(other, self.app.now()))))
    }

    /// Returns these posts with their authors, in the same order; `None` for posts that do not exist, or that
    /// the viewer may not see. Makes one round trip for the posts and one for their authors.
    pub async fn posts(
        &self,
        posts: Arc<[Listed]>,
        author: UserSelection,
        surface: Surface,
    ) -> Result<Vec<Option<VisiblePost>>, Error> {
        if posts.is_empty() {
            return Ok(Vec::new());
        }
        let posts = self.load.load(PostRecords(Shared(posts))).await?;
        let authors = self.authors(&posts, author).await?;
        let viewer = self.viewer.user();
        let visible = |post: &Option<Arc<Post>>| {
            let post = Arc::clone(post.as_ref()?);
            let author = authors.get(&post.author).filter(|author| may_see(surface, viewer, author))?;
            Some(VisiblePost { post, author: author.clone() })
        };
        Ok(posts.iter().map(visible).collect())
    }

    async fn authors(
        &self,
        posts: &[Option<Arc<Post>>],
        selection: UserSelection,
    ) -> Result<HashMap<UserId, VisibleUser>, Error> {
        let mut authors: Vec<UserId> = posts.iter().flatten().map(|post| post.author).collect();
        authors.sort_unstable();
        authors.dedup();
        let authors = self.users(authors.into(), selection).await?;
        Ok(authors.into_iter().flatten().map(|author| (author.record.id, author)).collect())
    }

    /// Returns these posts of an author whom the viewer may see, in the same order; `None` for posts that do
    /// not exist. Makes one round trip.
    pub async fn posts_of(&self, posts: Arc<[Listed]>) -> Result<Arc<[Option<Arc<Post>>]>, Error> {
        self.load.load(PostRecords(Shared(posts))).await
    }

    /// Returns a page of a user's posts that were created in a period. Makes one round trip, plus one query if the page
    /// continues in the archive.
    pub async fn post_page(
        &self,
        author: UserId,
        window: Window<PostId>,
        period: Period,
    ) -> Result<Arc<Page<Listed>>, Error> {
        self.load.load(PostPage { author, window, period }).await
    }

    /// Returns pages of several users' posts that were created in a period, in the order of the requests. Makes one
    /// round trip, plus one query if a page continues in the archive.
    pub async fn post_pages(
        &self,
        pages: impl Iterator<Item = (UserId, Window<PostId>)>,
        period: Period,
    ) -> Result<Arc<[Arc<Page<Listed>>]>, Error> {
        let pages = pages.map(|(author, window)| PostPage { author, window, period });
        self.load.load(Many(pages.collect())).await
    }

    /// Returns the numbers of these users' posts that were created in a period. Makes one round trip, plus one query if
    /// the period is limited and reaches into the archive.
    pub async fn post_counts(
        &self,
        authors: impl Iterator<Item = UserId>,
        period: Period,
    ) -> Result<Arc<[u64]>, Error> {
        self.load.load(Many(authors.map(|author| PostCount { author, period }).collect())).await
    }

    /// Returns the number of a user's posts that were created in a period. Makes as many round trips as for several
    /// users.
    pub async fn post_count(&self, author: UserId, period: Period) -> Result<u64, Error> {
        self.load.load(PostCount { author, period }).await
    }

    /// Returns a page of a list of users. Makes as many round trips as [`UserList::page`].
    pub async fn user_page(
        &self,
        list: UserList,
        window: Window<Position>,
    ) -> Result<Arc<Page<Follow>>, Error> {
        list.page(self.load, self.viewer.user(), window).await
    }

    /// Returns pages of several stored lists of one kind, in the order of the requests. Makes one round trip.
    pub async fn user_pages(
        &self,
        side: Side,
        pages: impl Iterator<Item = (UserId, Window<Position>)>,
    ) -> Result<Arc<[Arc<Page<Follow>>]>, Error> {
        let pages = pages.map(|(owner, window)| FollowPage { owner, side, window });
        self.load.load(Many(pages.collect())).await
    }

    /// Returns the lengths of several stored lists of one kind. Makes one round trip.
    pub async fn user_counts(
        &self,
        side: Side,
        owners: impl Iterator<Item = UserId>,
    ) -> Result<Arc<[u64]>, Error> {
        self.load.load(Many(owners.map(|owner| FollowCount { owner, side }).collect())).await
    }

    /// Returns the length of a list of users. Makes as many round trips as [`UserList::count`].
    pub async fn user_count(&self, list: UserList) -> Result<u64, Error> {
        list.count(self.load, self.viewer.user()).await
    }

    /// Returns a page of the users whom the viewer mutes. Makes at most one round trip.
    pub async fn muted_page(&self, window: Window<Position>) -> Result<Arc<Page<Position>>, Error> {
        Ok(Arc::new(Page::of(&self.muted().await?, &window)))
    }

    /// Returns the number of users whom the viewer mutes. Makes at most one round trip.
    pub async fn muted_count(&self) -> Result<u64, Error> {
        Ok(self.muted().await?.len() as u64)
    }

    async fn muted(&self) -> Result<Vec<Position>, Error> {
        let exclusions = self.app.exclusions(self.viewer.signed_in()?).await?;
        Ok(exclusions.muted(self.app.now()))
    }
}
