//! The users who like a post as a viewer sees them.
//!
//! A user whose account is private is listed only to followers, to the author of the post, and to the user.
//!
//! # Why users who are left out leave no trace
//! A part is a fixed number of likes beyond the size of the page, and one round trip finds out which of all of these
//! the viewer may see. Neither is charged. So users who are left out take no round trip, and cost nothing, and a cursor
//! that was made up finds out no more than those of the list. If the page ends early, its cursor is no like's position.

use std::sync::Arc;

use futures::future::try_join;

use crate::app::error::Error;
use crate::app::post::like::Likes;
use crate::app::read::{Load, Shared};
use crate::app::relation::read::FollowsWhich;
use crate::app::user::read::Privacy;
use crate::app::visibility::{Access, UserSelection, Visible, VisibleUser};
use crate::budget;
use crate::model::id::{PostId, UserId};
use crate::model::like::Like;
use crate::model::page::{Direction, Window};
use crate::store::like::LikePart;

/// Number of likes beyond the size of a page that the page looks at.
const MORE: usize = 100;
/// Number of likes beyond the size of a page that the page looks at once its operation has looked at many.
const FEW_MORE: usize = 20;

/// A part of the users who like a post.
#[derive(Clone, Debug)]
pub struct VisibleLikes {
    /// The likes of users whom the viewer may see, in list order, with the users.
    pub users: Vec<(Like, VisibleUser)>,
    /// The position at which the part ends in the window's direction, which is that of no user whom the viewer may not
    /// see; `None` if the part is empty, and the list ends with it.
    pub outermost: Option<Like>,
    /// True if there may be likes before the part.
    pub has_previous: bool,
    /// True if there may be likes after the part.
    pub has_next: bool,
    /// True if the part ends because it has looked at as many likes as a page may.
    pub is_exhausted: bool,
}

impl<L: Load> Visible<'_, L> {
    /// Returns a part of the users who like this post, of this author. The caller has found the post to be visible.
    /// Makes three round trips: for the likes; for what decides who is listed; and for the users. Makes one query more
    /// if the post is archived.
    pub async fn likes(
        &self,
        (post, author): (PostId, UserId),
        window: Window<Like>,
        selection: UserSelection,
    ) -> Result<VisibleLikes, Error> {
        let size = window.size + budget::take_hidden_entries(MORE, FEW_MORE);
        let part = self.load.load(Likes { post, window: Window { size, ..window } }).await?;
        let are_listed = self.are_listed(&part.likes, author).await?;
        let shown = Shown::of(&part, &are_listed, &window, size);
        let members: Arc<[UserId]> = shown.likes.iter().map(|like| like.member).collect();
        let users = self.users(members, selection, Access::Listed).await?;
        Ok(shown.with(users))
    }

    /// Returns for each of these likes of a post of this author true if the viewer may see whose it is. Makes one round
    /// trip, whether or not there are likes.
    async fn are_listed(&self, likes: &[Like], author: UserId) -> Result<Vec<bool>, Error> {
        let users: Vec<UserId> = likes.iter().map(|like| like.member).collect();
        let users = Shared(if users.is_empty() { Arc::new([author]) } else { users.into() });
        let privacy = Privacy(users.clone());
        let Some(viewer) = self.signed_in() else {
            let privacy = self.load.load(privacy).await?;
            return Ok(privacy.iter().map(|is_private| *is_private == Some(false)).collect());
        };
        let exclusions = self.app.exclusions(viewer).await?;
        let follows = FollowsWhich { viewer: viewer.user, authors: users.clone() };
        let hidden = self.hidden(viewer, &exclusions, &users, Access::Listed);
        let ((privacy, follows), hidden) = try_join(self.load.load_both(privacy, follows), hidden).await?;
        let is_listed = |(index, user): (usize, &UserId)| {
            let sees_private = [author, *user].contains(&viewer.user) || follows[index];
            let is_hidden = hidden.as_ref().is_some_and(|hidden| hidden[index]);
            !is_hidden && privacy[index].is_some_and(|is_private| !is_private || sees_private)
        };
        Ok(users.0.iter().enumerate().map(is_listed).collect())
    }
}

/// What a page shows of a part.
struct Shown {
    /// The likes of listed users, in list order: as many as the window's size at most.
    likes: Vec<Like>,
    outermost: Option<Like>,
    has_previous: bool,
    has_next: bool,
    is_exhausted: bool,
}

impl Shown {
    /// Chooses the likes of a part of up to `size` likes that a page shows, given which are listed.
    fn of(part: &LikePart, are_listed: &[bool], window: &Window<Like>, size: usize) -> Self {
        let LikePart { likes, outermost, has_previous, has_next } = part;
        let direction = window.direction;
        let mut looked_at: Vec<(Like, bool)> =
            likes.iter().copied().zip(are_listed.iter().copied()).collect();
        if direction == Direction::Backward {
            looked_at.reverse();
        }
        let has_more = if direction == Direction::Forward { *has_next } else { *has_previous };
        // The last like serves to tell where the part ends.
        let next = if has_more && likes.len() == size { looked_at.pop() } else { None };
        let end = looked_at
            .last()
            .zip(next)
            .map(|((last, _), (next, _))| Like::end_between(*last, next, direction));
        let mut listed: Vec<Like> =
            looked_at.iter().filter(|(_, is_listed)| *is_listed).map(|(like, _)| *like).collect();
        let is_cut = listed.len() > window.size;
        listed.truncate(window.size);
        let outermost = if is_cut { listed.last().copied() } else { end.or(*outermost) };
        let has_more = is_cut || has_more;
        let (has_previous, has_next) = match direction {
            Direction::Forward => (*has_previous, has_more),
            Direction::Backward => (has_more, *has_next),
        };
        if direction == Direction::Backward {
            listed.reverse();
        }
        Self { likes: listed, outermost, has_previous, has_next, is_exhausted: !is_cut && end.is_some() }
    }

    fn with(self, users: Vec<Option<VisibleUser>>) -> VisibleLikes {
        let Self { likes, outermost, has_previous, has_next, is_exhausted } = self;
        let users = likes.into_iter().zip(users).filter_map(|(like, user)| Some((like, user?))).collect();
        VisibleLikes { users, outermost, has_previous, has_next, is_exhausted }
    }
}
