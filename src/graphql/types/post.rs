//! A post as clients see it.

use std::sync::Arc;

use async_graphql::{Enum, ID, Object, SimpleObject};

use crate::app::error::Error;
use crate::app::question::Delivered;
use crate::app::timeline::Entry;
use crate::graphql::context::Scope;
use crate::graphql::id::GlobalId;
use crate::graphql::types::scalar::DateTime;
use crate::graphql::types::scalar::number;
use crate::graphql::types::user::User;
use crate::model;

/// An existing post.
pub(in crate::graphql) struct Post {
    scope: Arc<Scope>,
    record: Arc<model::post::Post>,
    author: User,
}

impl Post {
    pub(in crate::graphql) fn new(scope: &Arc<Scope>, record: Arc<model::post::Post>, author: User) -> Self {
        Self { scope: Arc::clone(scope), record, author }
    }

    /// Creates a post from an entry of the viewer's home timeline.
    pub(in crate::graphql) fn of_entry(scope: &Arc<Scope>, entry: &Entry) -> Self {
        let Entry { post, author, relation } = entry;
        Self::new(scope, Arc::clone(post), User::loaded(scope, Arc::clone(author), Some(*relation)))
    }
}

/// A post.
#[Object]
impl Post {
    /// Globally unique; opaque to clients.
    pub(in crate::graphql) async fn id(&self) -> ID {
        GlobalId::Post(self.record.id).print()
    }

    /// The author.
    async fn author(&self) -> &User {
        &self.author
    }

    /// The text: 1 to 2,000 characters of any script, with line breaks.
    #[expect(clippy::unused_async, reason = "the library requires it")]
    async fn content(&self) -> Result<&str, Error> {
        self.scope.text(&self.record.content)
    }

    /// The client it was written with, such as web; null if not given.
    async fn platform(&self) -> Option<&str> {
        self.record.platform.as_deref()
    }

    /// The time of publication.
    async fn created_at(&self) -> DateTime {
        DateTime(self.record.created_at)
    }

    /// The progress of delivery to followers; null for everyone but the author.
    async fn delivery(&self) -> Option<Result<Delivery, Error>> {
        let model::post::Post { id, author, delivery, .. } = *self.record;
        (self.scope.viewer_id() == Some(author)).then_some(())?;
        let pushed = |delivered, total| Delivery { mode: DeliveryMode::Pushed, delivered, total };
        Some(match delivery {
            model::post::Delivery::Pulled => {
                Ok(Delivery { mode: DeliveryMode::Pulled, delivered: 0, total: 0 })
            }
            model::post::Delivery::Delivered { followers } => {
                Ok(pushed(number(followers), number(followers)))
            }
            model::post::Delivery::Pushed { followers } => {
                self.scope.loader.delivery(author, id).await.map(|delivered| match delivered {
                    Delivered::Some(served) => pushed(number(served), number(followers.max(served))),
                    Delivered::All(followers) => pushed(number(followers), number(followers)),
                    Delivered::Over => pushed(number(followers), number(followers)),
                })
            }
        })
    }
}

/// The way a post reaches the timelines of followers.
#[derive(Clone, Copy, Enum, PartialEq, Eq)]
pub(in crate::graphql) enum DeliveryMode {
    /// The post is pushed to the timeline of each follower.
    Pushed,
    /// Followers fetch the post when they read their timelines.
    Pulled,
}

/// The progress of the delivery of a post.
#[derive(SimpleObject)]
pub(in crate::graphql) struct Delivery {
    /// The delivery mode.
    mode: DeliveryMode,
    /// Followers reached so far: the post is in their timeline, or will be when they next return. 0 for a pulled post.
    delivered: i32,
    /// Followers to reach; 0 for a pulled post.
    total: i32,
}
