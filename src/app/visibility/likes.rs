//! The users who like a post as a viewer sees them.
//!
//! A user whose account is private is listed only to followers, to the author of the post, and to the user. The
//! relation to the viewer decides, which is read with the users, so that users who are left out take no round trip.

use std::sync::Arc;

use crate::app::error::Error;
use crate::app::post::like::Likes;
use crate::app::read::Load;
use crate::app::visibility::{Access, UserSelection, Visible, VisibleUser};
use crate::model::id::{PostId, UserId};
use crate::model::like::Like;
use crate::model::page::Window;
use crate::store::like::LikePart;

/// A part of the users who like a post.
#[derive(Clone, Debug)]
pub struct VisibleLikes {
    /// The likes of users whom the viewer may see, in list order, with the users.
    pub users: Vec<(Like, VisibleUser)>,
    /// The position at which the part ends in the window's direction; `None` if the part is empty, and the list ends
    /// with it.
    pub outermost: Option<Like>,
    /// True if there may be likes before the part.
    pub has_previous: bool,
    /// True if there may be likes after the part.
    pub has_next: bool,
}

impl<L: Load> Visible<'_, L> {
    /// Returns a part of the users who like this post, of this author. The caller has found the post to be visible.
    /// Makes two round trips: for the likes, and for the users. Makes one query more if the post is archived.
    pub async fn likes(
        &self,
        (post, author): (PostId, UserId),
        window: Window<Like>,
        selection: UserSelection,
    ) -> Result<VisibleLikes, Error> {
        let part = self.load.load(Likes { post, window }).await?;
        let LikePart { likes, outermost, has_previous, has_next } = &*part;
        let members: Arc<[UserId]> = likes.iter().map(|like| like.member).collect();
        let users = self.users(members, selection.with_post_access(), Access::Listed).await?;
        let listed = likes.iter().zip(users).filter_map(|(like, user)| Some((*like, user?)));
        let users = listed.filter(|(_, user)| self.is_listed(user, author)).collect();
        Ok(VisibleLikes { users, outermost: *outermost, has_previous: *has_previous, has_next: *has_next })
    }

    /// Returns true if the viewer may see that this user likes a post of this author.
    fn is_listed(&self, user: &VisibleUser, author: UserId) -> bool {
        let viewer = self.viewer.user();
        let follows = user.relation.is_some_and(|relation| relation.following_since.is_some());
        user.record.is_private == Some(false)
            || follows
            || viewer == Some(author)
            || viewer == Some(user.record.id)
    }
}
