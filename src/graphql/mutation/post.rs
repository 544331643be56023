//! Post mutations.

use std::sync::Arc;

use async_graphql::{Context, ID, InputObject, Object};

use crate::app::error::Error;
use crate::app::post::{EditRequest, PublishRequest};
use crate::app::{self, App};
use crate::graphql::context::Scope;
use crate::graphql::id::GlobalId;
use crate::graphql::selection::Selected;
use crate::graphql::types::connection::post::PostEdge;
use crate::graphql::types::post::{Post, Visibility};
use crate::graphql::types::user_error::{UserErrors, split};
use crate::graphql::types::viewer::Viewer;
use crate::model::id::PostId;

/// Post mutations.
#[derive(Default)]
pub(super) struct PostMutation;

/// Input of `publish`.
#[derive(InputObject)]
pub(super) struct PublishInput {
    /// The post's text: 1 to 2,000 characters of any script, of which at least one is visible. Direction isolates end
    /// in their paragraph.
    content: String,
    /// The client application that publishes the post, such as web: 1 to 50 characters.
    platform: Option<String>,
    /// The users who can see the post. It cannot be changed later. A reply to a post for followers only must be for
    /// followers only as well.
    #[graphql(default_with = "Visibility::Public")]
    visibility: Visibility,
    /// The id of the post to which this one replies.
    in_reply_to: Option<ID>,
    /// The id of the post that this one quotes. Everyone must be able to see that post.
    quote_of: Option<ID>,
    /// A key that makes retries safe: for one day, requests with the same key publish a single post. 1 to 100
    /// characters. It must differ from the keys passed to `editPost`.
    idempotency_key: Option<String>,
}

/// Input of `editPost`.
#[derive(InputObject)]
pub(super) struct EditPostInput {
    /// The id of the post to edit.
    post_id: ID,
    /// The post's new text: 1 to 2,000 characters of any script, of which at least one is visible. Direction isolates
    /// end in their paragraph.
    content: String,
    /// A key that makes retries safe: for one day, requests with the same key edit the post once, even if it is edited
    /// again in between. 1 to 100 characters. It must differ from the keys passed to `publish`.
    idempotency_key: Option<String>,
}

/// Input of `deletePost`.
#[derive(InputObject)]
pub(super) struct DeletePostInput {
    /// The id of the post to delete.
    post_id: ID,
}

/// Input of `repost`.
#[derive(InputObject)]
pub(super) struct RepostInput {
    /// The id of the post to repost. Everyone must be able to see that post.
    post_id: ID,
}

/// Input of `undoRepost`.
#[derive(InputObject)]
pub(super) struct UndoRepostInput {
    /// The id of the post that the viewer has reposted.
    post_id: ID,
}

/// Input of `like`.
#[derive(InputObject)]
pub(super) struct LikeInput {
    /// The id of the post to like.
    post_id: ID,
}

/// Input of `unlike`.
#[derive(InputObject)]
pub(super) struct UnlikeInput {
    /// The id of the post that the viewer no longer likes.
    post_id: ID,
}

/// Input of `bookmark`.
#[derive(InputObject)]
pub(super) struct BookmarkInput {
    /// The id of the post to bookmark.
    post_id: ID,
}

/// Input of `removeBookmark`.
#[derive(InputObject)]
pub(super) struct RemoveBookmarkInput {
    /// The id of the bookmarked post.
    post_id: ID,
}

/// Payload of `publish`.
pub(super) struct PublishPayload {
    scope: Arc<Scope>,
    published: Option<PostId>,
    errors: UserErrors,
}

impl PublishPayload {
    /// Loads the published post with what this selection of a post needs.
    async fn load(&self, selection: &Selected<'_>) -> Option<Result<Post, Error>> {
        Post::load_one(&self.scope, self.published?, selection).await
    }
}

/// Payload of `publish`.
#[Object]
impl PublishPayload {
    /// The published post; null on failure, or if it has been deleted since.
    async fn post(&self, context: &Context<'_>) -> Option<Result<Post, Error>> {
        self.load(&Selected::of(context)).await
    }

    /// The published post as the first entry of `User.posts`, to prepend to the list in a cache; null whenever `post`
    /// is null.
    async fn post_edge(&self, context: &Context<'_>) -> Option<Result<PostEdge, Error>> {
        let post = self.load(&Selected::of(context).field("node")).await?;
        Some(post.map(PostEdge::of))
    }

    /// The viewer after the change; null on failure.
    async fn viewer(&self) -> Option<Viewer> {
        self.published.and_then(|_| Viewer::of(&self.scope))
    }

    #[graphql(flatten)]
    #[expect(clippy::unused_async, reason = "the library requires it")]
    async fn user_errors(&self) -> &UserErrors {
        &self.errors
    }
}

/// The outcome of a change of a post.
struct Changed {
    /// A scope that reads anew.
    scope: Arc<Scope>,
    /// The post, unless the change was rejected.
    post: Option<PostId>,
    errors: UserErrors,
}

impl Changed {
    /// Loads the post after the change, with what the selection needs.
    async fn load(&self, context: &Context<'_>) -> Option<Result<Post, Error>> {
        Post::load_one(&self.scope, self.post?, &Selected::of(context)).await
    }

    /// Returns the viewer after the change.
    fn viewer(&self) -> Option<Viewer> {
        self.post.and_then(|_| Viewer::of(&self.scope))
    }
}

/// Payload of `editPost`.
pub(super) struct EditPostPayload(Changed);

/// Payload of `editPost`.
#[Object]
impl EditPostPayload {
    /// The edited post; null on failure, or if it has been deleted since.
    async fn post(&self, context: &Context<'_>) -> Option<Result<Post, Error>> {
        self.0.load(context).await
    }

    #[graphql(flatten)]
    #[expect(clippy::unused_async, reason = "the library requires it")]
    async fn user_errors(&self) -> &UserErrors {
        &self.0.errors
    }
}

/// Payload of `deletePost`.
pub(super) struct DeletePostPayload(Changed);

/// Payload of `deletePost`.
#[Object]
impl DeletePostPayload {
    /// The id of the deleted post; null on failure.
    async fn deleted_post_id(&self) -> Option<ID> {
        self.0.post.map(|post| GlobalId::Post(post).print())
    }

    /// The viewer after the change; null on failure.
    async fn viewer(&self) -> Option<Viewer> {
        self.0.viewer()
    }

    #[graphql(flatten)]
    #[expect(clippy::unused_async, reason = "the library requires it")]
    async fn user_errors(&self) -> &UserErrors {
        &self.0.errors
    }
}

/// Declares the payload of a mutation after which the post is still there, for others.
macro_rules! repost_payload {
    ($name:ident, $description:literal) => {
        #[doc = $description]
        pub(super) struct $name(Changed);

        #[doc = $description]
        #[Object]
        impl $name {
            /// The post after the change; null on failure, or if it was deleted or is hidden from the viewer.
            async fn post(&self, context: &Context<'_>) -> Option<Result<Post, Error>> {
                self.0.load(context).await
            }

            /// The viewer after the change; null on failure.
            async fn viewer(&self) -> Option<Viewer> {
                self.0.viewer()
            }

            #[graphql(flatten)]
            async fn user_errors(&self) -> &UserErrors {
                &self.0.errors
            }
        }
    };
}

repost_payload!(RepostPayload, "Payload of `repost`.");
repost_payload!(UndoRepostPayload, "Payload of `undoRepost`.");

/// Declares the payload of a mutation by which the viewer reacts to a post, with the description of the post.
macro_rules! reaction_payload {
    ($name:ident, $description:literal, $post:literal) => {
        #[doc = $description]
        pub(super) struct $name(Changed);

        #[doc = $description]
        #[Object]
        impl $name {
            #[doc = $post]
            async fn post(&self, context: &Context<'_>) -> Option<Result<Post, Error>> {
                self.0.load(context).await
            }

            #[graphql(flatten)]
            async fn user_errors(&self) -> &UserErrors {
                &self.0.errors
            }
        }
    };
}

reaction_payload!(LikePayload, "Payload of `like`.", "The post after the change; null on failure.");
reaction_payload!(
    UnlikePayload,
    "Payload of `unlike`.",
    "The post after the change; null on failure, or if the viewer can no longer see it."
);
reaction_payload!(BookmarkPayload, "Payload of `bookmark`.", "The bookmarked post; null on failure.");
reaction_payload!(
    RemoveBookmarkPayload,
    "Payload of `removeBookmark`.",
    "The post; null on failure, or if the viewer can no longer see it."
);

/// Changes the post in `input.postId`.
async fn change_post(
    context: &Context<'_>,
    post_id: &ID,
    change: impl AsyncFnOnce(&App, &app::viewer::Viewer, PostId) -> Result<(), Error>,
) -> Result<Changed, Error> {
    let scope = Scope::of(context);
    let done = async {
        scope.viewer().signed_in()?;
        let post = GlobalId::post("input.postId", post_id)?;
        change(&scope.app, scope.viewer(), post).await.map(|()| post)
    };
    let (post, errors) = split(done.await)?;
    Ok(Changed { scope: scope.afresh(), post, errors })
}

#[Object]
impl PostMutation {
    /// Publishes a post. The post is visible immediately; delivery to followers continues in the background.
    async fn publish(
        &self,
        context: &Context<'_>,
        input: PublishInput,
    ) -> Option<Result<PublishPayload, Error>> {
        let scope = Scope::of(context);
        let done = async {
            scope.viewer().signed_in()?;
            let post = |field, id: &Option<ID>| id.as_ref().map(|id| GlobalId::post(field, id)).transpose();
            let request = PublishRequest {
                content: &input.content,
                platform: input.platform.as_deref(),
                visibility: input.visibility.into(),
                in_reply_to: post("input.inReplyTo", &input.in_reply_to)?,
                quote_of: post("input.quoteOf", &input.quote_of)?,
                idempotency_key: input.idempotency_key.as_deref(),
            };
            scope.app.publish(scope.viewer(), request).await
        };
        Some(split(done.await).map(|(published, errors)| PublishPayload {
            scope: scope.afresh(),
            published,
            errors,
        }))
    }

    /// Changes the text of one of the viewer's posts. Earlier versions stay readable. What the post replies to or
    /// quotes stays the same, and so does its place in lists. A request that does not change the text changes nothing.
    async fn edit_post(
        &self,
        context: &Context<'_>,
        input: EditPostInput,
    ) -> Option<Result<EditPostPayload, Error>> {
        let EditPostInput { post_id, content, idempotency_key } = &input;
        let changed = change_post(context, post_id, async |app, viewer, post| {
            let request = EditRequest { post, content, idempotency_key: idempotency_key.as_deref() };
            app.edit_post(viewer, request).await
        });
        Some(changed.await.map(EditPostPayload))
    }

    /// Deletes one of the viewer's posts. Idempotent.
    async fn delete_post(
        &self,
        context: &Context<'_>,
        input: DeletePostInput,
    ) -> Option<Result<DeletePostPayload, Error>> {
        let changed = change_post(context, &input.post_id, async |app, viewer, post| {
            app.delete_post(viewer, post).await
        });
        Some(changed.await.map(DeletePostPayload))
    }

    /// Reposts a post: shows it to the viewer's followers. Repeating it changes nothing.
    async fn repost(
        &self,
        context: &Context<'_>,
        input: RepostInput,
    ) -> Option<Result<RepostPayload, Error>> {
        let changed =
            change_post(context, &input.post_id, async |app, viewer, post| app.repost(viewer, post).await);
        Some(changed.await.map(RepostPayload))
    }

    /// Takes the viewer's repost of a post back. Repeating it changes nothing.
    async fn undo_repost(
        &self,
        context: &Context<'_>,
        input: UndoRepostInput,
    ) -> Option<Result<UndoRepostPayload, Error>> {
        let changed = change_post(context, &input.post_id, async |app, viewer, post| {
            app.undo_repost(viewer, post).await
        });
        Some(changed.await.map(UndoRepostPayload))
    }

    /// Likes a post. Idempotent; a repeated like keeps its place.
    async fn like(&self, context: &Context<'_>, input: LikeInput) -> Option<Result<LikePayload, Error>> {
        let changed =
            change_post(context, &input.post_id, async |app, viewer, post| app.like(viewer, post).await);
        Some(changed.await.map(LikePayload))
    }

    /// Takes the viewer's like of a post back. Idempotent.
    async fn unlike(
        &self,
        context: &Context<'_>,
        input: UnlikeInput,
    ) -> Option<Result<UnlikePayload, Error>> {
        let changed =
            change_post(context, &input.post_id, async |app, viewer, post| app.unlike(viewer, post).await);
        Some(changed.await.map(UnlikePayload))
    }

    /// Adds a post to the viewer's bookmarks, which only the viewer sees: up to 5,000. Idempotent; a repeated bookmark
    /// keeps its place.
    async fn bookmark(
        &self,
        context: &Context<'_>,
        input: BookmarkInput,
    ) -> Option<Result<BookmarkPayload, Error>> {
        let changed =
            change_post(context, &input.post_id, async |app, viewer, post| app.bookmark(viewer, post).await);
        Some(changed.await.map(BookmarkPayload))
    }

    /// Removes a post from the viewer's bookmarks. Idempotent.
    async fn remove_bookmark(
        &self,
        context: &Context<'_>,
        input: RemoveBookmarkInput,
    ) -> Option<Result<RemoveBookmarkPayload, Error>> {
        let changed = change_post(context, &input.post_id, async |app, viewer, post| {
            app.remove_bookmark(viewer, post).await
        });
        Some(changed.await.map(RemoveBookmarkPayload))
    }
}
