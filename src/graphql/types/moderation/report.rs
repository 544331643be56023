//! Reports as moderators see them.

use std::collections::HashMap;
use std::sync::Arc;

use async_graphql::{ID, Object};

use crate::app::error::Error;
use crate::app::moderation::read::Accounts;
use crate::graphql::context::Scope;
use crate::graphql::directive::{CacheControlScope::Private, cache_control};
use crate::graphql::id::GlobalId;
use crate::graphql::types::moderation::account::Account;
use crate::graphql::types::post::Visibility;
use crate::graphql::types::scalar::DateTime;
use crate::model::id::PostId;
use crate::model::moderation;
use crate::model::post::Post;

/// A report that no moderator has resolved.
pub(in crate::graphql) struct Report {
    sent: moderation::Report,
    reporter: Option<Account>,
    account: Option<Account>,
    post: Result<Option<ReportedPost>, Error>,
}

impl Report {
    /// Creates a report. `accounts` and `posts` contain those concerned.
    pub(super) fn new(
        scope: &Arc<Scope>,
        report: &moderation::Report,
        accounts: &Accounts,
        posts: &Result<HashMap<PostId, Arc<Post>>, Error>,
    ) -> Self {
        let account = |user| Some(Account::new(scope, accounts.get(&user)?.clone()));
        let post = match (report.reported.post, posts) {
            (None, _) => Ok(None),
            (Some(_), Err(error)) => Err(error.clone()),
            (Some(id), Ok(posts)) => Ok(posts.get(&id).map(|post| ReportedPost(Arc::clone(post)))),
        };
        let (reporter, account) = (account(report.reporter), account(report.reported.user));
        Self { sent: report.clone(), reporter, account, post }
    }
}

/// A report that no moderator has resolved.
#[Object(directive = cache_control::apply(Private))]
impl Report {
    /// The report's id, to pass to `resolveReport`; opaque to clients.
    async fn id(&self) -> ID {
        GlobalId::Report(self.sent.id).print()
    }

    /// The time of the report, or of its last change by the reporter.
    async fn created_at(&self) -> DateTime {
        DateTime(self.sent.at)
    }

    /// The reason that the reporter gave: 1 to 1,000 characters. It may contain line breaks.
    async fn reason(&self) -> &str {
        self.sent.reason.as_str()
    }

    /// The account of the user who reported; null if the user was deleted.
    async fn reporter(&self) -> Option<&Account> {
        self.reporter.as_ref()
    }

    /// The account of the reported user, or of the author of the reported post; null if the user was deleted.
    async fn account(&self) -> Option<&Account> {
        self.account.as_ref()
    }

    /// The id of the reported post, as in `Post.id`; null if the user as such is reported.
    async fn post_id(&self) -> Option<ID> {
        self.sent.reported.post.map(|post| GlobalId::Post(post).print())
    }

    /// The reported post, even if the viewer cannot see it otherwise; null if the user as such is reported, if the post
    /// was deleted, or if temporarily unavailable.
    async fn post(&self) -> Option<Result<&ReportedPost, Error>> {
        match &self.post {
            Ok(post) => post.as_ref().map(Ok),
            Err(error) => Some(Err(error.clone())),
        }
    }
}

/// A reported post. Others may not see it: its author's account may be private or not active.
pub(in crate::graphql) struct ReportedPost(Arc<Post>);

/// A reported post. Others may not see it: its author's account may be private or not active.
#[Object(directive = cache_control::apply(Private))]
impl ReportedPost {
    /// The post's id, as in `Post.id`, to pass to `removePost`.
    async fn id(&self) -> ID {
        GlobalId::Post(self.0.id).print()
    }

    /// The post's text.
    async fn content(&self) -> &str {
        &self.0.content
    }

    /// The users who can see the post while its author's account is active.
    async fn visibility(&self) -> Visibility {
        self.0.visibility.into()
    }

    /// The time of publication.
    async fn created_at(&self) -> DateTime {
        DateTime(self.0.created_at)
    }
}
