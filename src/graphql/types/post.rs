//! A post as clients see it.

use std::sync::Arc;

use async_graphql::{Enum, ID, Object, SimpleObject};

use crate::app::error::Error;
use crate::app::question::Delivered;
use crate::app::timeline::Entry;
use crate::graphql::context::Scope;
use crate::graphql::id::GlobalId;
use crate::graphql::types::connection::number;
use crate::graphql::types::scalar::DateTime;
use crate::graphql::types::user::User;
use crate::model;

/// A post that is there.
pub(in crate::graphql) struct Post {
    scope: Arc<Scope>,
    record: Arc<model::post::Post>,
    author: User,
}

impl Post {
    pub(in crate::graphql) fn new(scope: &Arc<Scope>, record: Arc<model::post::Post>, author: User) -> Self {
        Self { scope: Arc::clone(scope), record, author }
    }

    /// A post in the viewer's home timeline.
    pub(in crate::graphql) fn of_entry(scope: &Arc<Scope>, entry: &Entry) -> Self {
        let Entry { post, author, relation } = entry;
        Self::new(scope, Arc::clone(post), User::loaded(scope, Arc::clone(author), Some(*relation)))
    }
}

/// Something that somebody has said.
#[Object]
impl Post {
    /// Globally unique; opaque to clients.
    pub(in crate::graphql) async fn id(&self) -> ID {
        GlobalId::Post(self.record.id).print()
    }

    /// Who wrote it.
    async fn author(&self) -> &User {
        &self.author
    }

    /// What it says: 1 to 2,000 characters of any script, with line breaks.
    #[expect(clippy::unused_async, reason = "the library wants it so")]
    async fn content(&self) -> Result<&str, Error> {
        self.scope.text(&self.record.content)
    }

    /// The client it was written with, such as web; null if not told.
    async fn platform(&self) -> Option<&str> {
        self.record.platform.as_deref()
    }

    /// When it was written.
    async fn created_at(&self) -> DateTime {
        DateTime(self.record.created_at)
    }

    /// How far delivery to followers has come; null for everybody but the author.
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

/// How a post comes to the timelines of followers.
#[derive(Clone, Copy, Enum, PartialEq, Eq)]
pub(in crate::graphql) enum DeliveryMode {
    /// It is brought to each follower.
    Pushed,
    /// Followers fetch it when they read.
    Pulled,
}

/// How far the delivery of a post has come.
#[derive(SimpleObject)]
pub(in crate::graphql) struct Delivery {
    /// How it comes to followers.
    mode: DeliveryMode,
    /// Followers who have been served so far: their timeline has the post, or will when they next come
    /// back. 0 if it is pulled.
    delivered: i32,
    /// Followers to be served; 0 if it is pulled.
    total: i32,
}
