//! A post as clients see it.

use std::sync::Arc;

use async_graphql::{Context, Enum, ID, Object, SimpleObject};
use futures::FutureExt as _;

use crate::app::archive::Listed;
use crate::app::delivery::progress::{Delivered, DeliveryProgress};
use crate::app::error::Error;
use crate::app::read::Load as _;
use crate::app::visibility::VisiblePost;
use crate::graphql::context::Scope;
use crate::graphql::cursor::{Likes, ListOf};
use crate::graphql::directive::{
    CacheControlScope::{Private, Public},
    cache_control, list_size, names,
};
use crate::graphql::entries::Entries;
use crate::graphql::id::GlobalId;
use crate::graphql::paging::{Paging, connections};
use crate::graphql::preloaded::{Json, Leaf, fields, memory, name_of};
use crate::graphql::selection::Selected;
use crate::graphql::types::connection::post::{PostListConnection, ReplyOrder};
use crate::graphql::types::connection::user::{LikeConnection, RepostConnection};
use crate::graphql::types::scalar::{DateTime, number};
use crate::graphql::types::segment::Segment;
use crate::graphql::types::selection::author_selection_of;
use crate::graphql::types::user::User;
use crate::model;
use crate::model::attachment::ReferrerKind;
use crate::model::clock::Timestamp;
use crate::model::details::References;
use crate::model::edit::EarlierVersion;
use crate::model::entity;
use crate::model::id::{PostId, UserId};
use crate::model::reaction::{ReactionKind, Reactions};

/// Default and maximum number of ancestors of a post.
const ANCESTORS: usize = 8;
const MOST_ANCESTORS: usize = 40;

/// An existing post, with its author.
pub(in crate::graphql) struct Post {
    scope: Arc<Scope>,
    record: Arc<model::post::Post>,
    author: User,
    reactions: Reactions,
}

impl Post {
    pub(in crate::graphql) fn new(
        scope: &Arc<Scope>,
        record: Arc<model::post::Post>,
        author: User,
        reactions: Reactions,
    ) -> Self {
        Self { scope: Arc::clone(scope), record, author, reactions }
    }

    /// Creates a post from loaded data.
    pub(in crate::graphql) fn visible(
        scope: &Arc<Scope>,
        VisiblePost { post, author, reactions }: &VisiblePost,
    ) -> Self {
        Self::new(scope, Arc::clone(post), User::visible(scope, author.clone()), *reactions)
    }

    /// Returns the scope in which the post was read.
    pub(in crate::graphql) fn read_in(&self) -> &Scope {
        &self.scope
    }

    /// Returns the time at which the post was created.
    pub(in crate::graphql) fn written_at(&self) -> Timestamp {
        self.record.created_at
    }

    /// Returns the post's id.
    pub(in crate::graphql) fn post_id(&self) -> PostId {
        self.record.id
    }

    /// Returns the author's id.
    pub(in crate::graphql) fn author_id(&self) -> UserId {
        self.record.author
    }

    /// Loads these posts, with the author data that the selection needs. An entry is `None` if its post does not exist.
    /// Makes two round trips: one for the posts and one for their authors.
    pub(in crate::graphql) async fn load_all(
        scope: &Arc<Scope>,
        ids: impl Iterator<Item = PostId>,
        selection: &Selected<'_>,
    ) -> Result<Vec<Option<Self>>, Error> {
        let posts = ids.map(Listed::Id).collect();
        let author = author_selection_of(std::slice::from_ref(selection));
        let posts = scope.visible().posts(posts, author).await?;
        Ok(posts.iter().map(|post| Some(Self::visible(scope, post.as_ref()?))).collect())
    }

    /// Loads a post like [`Self::load_all`]; `None` if it does not exist.
    pub(in crate::graphql) async fn load_one(
        scope: &Arc<Scope>,
        post: PostId,
        selection: &Selected<'_>,
    ) -> Option<Result<Self, Error>> {
        let posts = Self::load_all(scope, std::iter::once(post), selection).await;
        posts.map(|posts| posts.into_iter().next().flatten()).transpose()
    }
}

impl Post {
    fn references(&self) -> &References {
        &self.record.details.references
    }

    /// Returns true if the viewer has reacted to the post.
    async fn has_reacted(&self, kind: ReactionKind) -> Result<bool, Error> {
        match self.reactions.of(kind) {
            Some(has_reacted) => Ok(has_reacted),
            None => self.scope.visible().has_reacted(self.record.id, kind).boxed().await,
        }
    }

    /// Loads a post to which this one refers.
    async fn load_referred(&self, post: PostId, context: &Context<'_>) -> Option<Result<Self, Error>> {
        Self::load_one(&self.scope, post, &Selected::of(context)).await
    }
}

fields! {
    /// A post published by a user.
    impl Post, Public, |post| Some(&post.scope);

    /// The global id: unique across all types, opaque to clients.
    value id "id": ID = |post| GlobalId::Post(post.record.id).print();
    /// The user who published the post.
    object author "author": User = |post| &post.author;
    /// The post's text: 1 to 2,000 characters of any script. It may contain line breaks.
    text content "content" = |post| &post.record.content;
    resolver "its entries are paid for before they are made" {
        /// The post's text, divided into plain text, mentions, hashtags and links, in order.
        #[graphql(directive = list_size::apply(Some(8), None, None, None))]
        #[expect(clippy::unused_async, reason = "the library requires it")]
        async fn segments(&self, context: &Context<'_>) -> Result<Entries<Segment>, Error> {
            let segments = entity::segments(&self.record.content);
            let segment = |segment| Segment::new(&self.scope, segment);
            Entries::pay(&self.scope, context, segments.len(), || segments.into_iter().map(segment).collect())
        }
    }
    /// The client application that published the post, such as web; null if not given.
    value platform "platform": Option<&str> = |post| post.record.platform.as_deref();
    /// The users who can see the post. The author always can.
    value visibility "visibility": Visibility = |post| post.record.visibility.into();
    /// The time of publication.
    value created_at "createdAt": DateTime = |post| DateTime(post.record.created_at);
    /// The time of the last edit; null if the post was never edited.
    value edited_at "editedAt": Option<DateTime> = |post| post.record.details.edited_at.map(DateTime);
    resolver "it is loaded" {
        /// The earlier versions of the post, newest first: the first version, and the newest 19 of the others; null if
        /// temporarily unavailable.
        #[graphql(directive = list_size::apply(Some(2), None, None, None))]
        async fn edits(&self, context: &Context<'_>) -> Option<Result<Entries<PostEdit>, Error>> {
            let versions = self.scope.visible().earlier_versions(&self.record).boxed().await;
            let edit =
                |version: &EarlierVersion| PostEdit { scope: Arc::clone(&self.scope), version: version.clone() };
            let pay = |versions: Arc<[EarlierVersion]>| {
                Entries::pay(&self.scope, context, versions.len(), || versions.iter().map(edit).collect())
            };
            Some(versions.and_then(pay))
        }
    }
    /// True if the post is a reply, even if the post to which it replies no longer exists.
    value is_reply "isReply": bool = |post| post.references().reply.is_some();
    resolver "they are loaded" {
        /// The post to which this one replies; null if it is not a reply, or if that post was deleted or is hidden from
        /// the viewer.
        async fn in_reply_to(&self, context: &Context<'_>) -> Option<Result<Post, Error>> {
            let parent = self.references().reply.as_ref()?.parent();
            self.load_referred(parent, context).boxed().await
        }

        /// The posts above this one in its conversation, the nearest first, up to the first that was deleted or is
        /// hidden from the viewer; null if temporarily unavailable.
        #[graphql(directive = list_size::apply(Some(ANCESTORS), Some(names(["first"])), None, Some(false)))]
        async fn ancestors(
            &self,
            context: &Context<'_>,
            #[graphql(desc = "Maximum number of posts. Default 8; values above 40 count as 40.", default = 8)]
            first: Option<i32>,
        ) -> Option<Result<Vec<Post>, Error>> {
            let most = first.map_or(ANCESTORS, |first| usize::try_from(first).unwrap_or(0)).min(MOST_ANCESTORS);
            let author = author_selection_of(&[Selected::of(context)]);
            let visible = self.scope.visible();
            let ancestors = visible.ancestors(&self.record, most, author).boxed().await;
            Some(ancestors.map(|posts| posts.iter().map(|post| Self::visible(&self.scope, post)).collect()))
        }
    }
    /// The number of replies that everyone sees: public posts of public accounts.
    value reply_count "replyCount": i32 = |post| number(post.record.details.counts.of(ReferrerKind::Reply));
    /// True if the post quotes another, even if that post no longer exists.
    value is_quote "isQuote": bool = |post| post.references().quoted.is_some();
    resolver "it is loaded" {
        /// The post that this one quotes; null if it quotes none, or if that post was deleted or is hidden from the
        /// viewer.
        async fn quote_of(&self, context: &Context<'_>) -> Option<Result<Post, Error>> {
            let quoted = self.references().quoted?;
            self.load_referred(quoted, context).boxed().await
        }
    }
    /// The number of posts quoting this one that everyone sees: public posts of public accounts.
    value quote_count "quoteCount": i32 = |post| number(post.record.details.counts.of(ReferrerKind::Quote));
    /// The number of reposts that everyone sees: those by public accounts.
    value repost_count "repostCount": i32 = |post| number(post.record.details.counts.of(ReferrerKind::Repost));
    /// The number of likes, without those of users whose accounts are not active. The same for all viewers.
    value like_count "likeCount": i32 = |post| number(post.record.details.counts.likes());
    resolver "they are loaded" {
        /// True if the viewer has reposted the post; false for an anonymous request; null if temporarily unavailable.
        #[graphql(directive = cache_control::apply(Private))]
        async fn viewer_has_reposted(&self) -> Option<Result<bool, Error>> {
            Some(self.scope.visible().has_reposted(self.record.id).boxed().await)
        }

        /// True if the viewer likes the post; false for an anonymous request; null if temporarily unavailable.
        #[graphql(directive = cache_control::apply(Private))]
        async fn viewer_has_liked(&self) -> Option<Result<bool, Error>> {
            Some(self.has_reacted(ReactionKind::Like).await)
        }

        /// True if the post is in the viewer's bookmarks; false for an anonymous request; null if temporarily
        /// unavailable.
        #[graphql(directive = cache_control::apply(Private))]
        async fn viewer_has_bookmarked(&self) -> Option<Result<bool, Error>> {
            Some(self.has_reacted(ReactionKind::Bookmark).await)
        }

        #[graphql(flatten)]
        #[expect(clippy::unused_async, reason = "the library requires it")]
        async fn referrers(&self) -> PostReferrers {
            PostReferrers { scope: Arc::clone(&self.scope), target: self.record.id, author: self.record.author }
        }

        /// The progress of delivering the post to followers; null unless the viewer is the author.
        async fn delivery(&self) -> Option<Result<Delivery, Error>> {
            let model::post::Post { id, author, delivery, .. } = *self.record;
            (self.scope.viewer_id() == Some(author)).then_some(())?;
            let pushed = |delivered_count, total_count| Delivery {
                mode: DeliveryMode::Pushed,
                delivered_count,
                total_count,
            };
            Some(match delivery {
                model::post::Delivery::Pulled => {
                    Ok(Delivery { mode: DeliveryMode::Pulled, delivered_count: 0, total_count: 0 })
                }
                model::post::Delivery::Delivered { followers } => {
                    Ok(pushed(number(followers), number(followers)))
                }
                model::post::Delivery::Pushed { followers } => {
                    let progress = DeliveryProgress { author, post: id };
                    self.scope.loader.load(progress).boxed().await.map(|delivered| match delivered {
                        Delivered::Some(served) => pushed(number(served), number(followers.max(served))),
                        Delivered::All(followers) => pushed(number(followers), number(followers)),
                        Delivered::Over => pushed(number(followers), number(followers)),
                    })
                }
            })
        }
    }
    source "viewerHasLiked" = |_| memory(|post: &Self, json| json.value(&post.reactions.of(ReactionKind::Like)?));
    source "viewerHasBookmarked" =
        |_| memory(|post: &Self, json| json.value(&post.reactions.of(ReactionKind::Bookmark)?));
}

/// An earlier version of a post.
pub(in crate::graphql) struct PostEdit {
    scope: Arc<Scope>,
    version: EarlierVersion,
}

/// An earlier version of a post.
#[Object(directive = cache_control::apply(Public))]
impl PostEdit {
    /// The text of this version.
    #[expect(clippy::unused_async, reason = "the library requires it")]
    async fn content(&self) -> Result<&str, Error> {
        self.scope.text(&self.version.content)
    }

    /// The time at which this version was written.
    async fn written_at(&self) -> DateTime {
        DateTime(self.version.written_at)
    }
}

/// The posts that refer to a post, and the users who like it, as connections.
struct PostReferrers {
    scope: Arc<Scope>,
    target: PostId,
    author: UserId,
}

impl PostReferrers {
    async fn load(
        &self,
        kind: ReferrerKind,
        order: ReplyOrder,
        paging: &Paging,
        context: &Context<'_>,
    ) -> Result<PostListConnection, Error> {
        let list = ListOf { kind, owner: self.target };
        PostListConnection::load(&self.scope, list, order, paging, &Selected::of(context)).await
    }
}

connections! {
    impl PostReferrers {
        /// The replies to the post.
        async fn replies(
            &self, context, paging,
            order: ReplyOrder = "The order of the replies. If null, the oldest first.",
        ) -> PostListConnection {
            self.load(ReferrerKind::Reply, order.unwrap_or_default(), &paging, context).await
        }

        /// The posts that quote the post, newest first.
        async fn quotes(&self, context, paging) -> PostListConnection {
            self.load(ReferrerKind::Quote, ReplyOrder::Newest, &paging, context).await
        }

        /// The users who have reposted the post, newest repost first.
        async fn reposted_by(&self, context, paging) -> RepostConnection {
            let list = ListOf { kind: ReferrerKind::Repost, owner: self.target };
            RepostConnection::load(&self.scope, list, &paging, &Selected::of(context)).await
        }

        /// The users who like the post, the newest 128 likes first; the others in no particular order. Users hidden
        /// from the viewer are left out; users with private accounts are listed only to their followers, to the author
        /// of the post, and to themselves.
        async fn liked_by(&self, context, paging) -> LikeConnection {
            let list = ListOf { kind: Likes, owner: self.target };
            LikeConnection::load(&self.scope, list, self.author, &paging, &Selected::of(context)).await
        }
    }
}

/// The users who can see a post, apart from its author.
#[derive(Clone, Copy, Debug, Enum, PartialEq, Eq)]
#[graphql(remote = "model::post::Visibility")]
pub(in crate::graphql) enum Visibility {
    /// Everyone; only followers while the author's account is private.
    Public,
    /// The author's followers.
    Followers,
}

impl Leaf for Visibility {
    fn write(self, json: &mut Json) -> Option<()> {
        json.value(&name_of(self)?)
    }
}

/// The method of delivering a post to its author's followers.
#[derive(Clone, Copy, Enum, PartialEq, Eq)]
pub(in crate::graphql) enum DeliveryMode {
    /// The server adds the post to each follower's stored home timeline (fan-out on write).
    Pushed,
    /// The server adds the post to a follower's home timeline when the follower reads the timeline (fan-out on read).
    Pulled,
}

/// The progress of delivering a post to its author's followers.
#[derive(SimpleObject)]
#[graphql(directive = cache_control::apply(Private))]
pub(in crate::graphql) struct Delivery {
    /// The delivery mode.
    mode: DeliveryMode,
    /// The number of followers reached so far. The post is in each of their timelines, or will be when the follower
    /// next returns. 0 in mode `PULLED`.
    delivered_count: i32,
    /// The total number of followers to reach. 0 in mode `PULLED`.
    total_count: i32,
}
