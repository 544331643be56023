//! Reports of users and posts, and their resolution.
//!
//! A user has at most one open report of the same user or post: a further one replaces the reason.

use std::sync::Arc;

use crate::app::App;
use crate::app::archive::Listed;
use crate::app::error::{Error, Faults, Field, Reason};
use crate::app::throttle::{limit, throttled};
use crate::app::viewer::{SignedIn, Viewer};
use crate::app::visibility::{UserSelection, Visible};
use crate::model::id::{PostId, ReportId, UserId};
use crate::model::moderation::{Action, ActionNote, Objects, Report, ReportReason, Reported};
use crate::model::moderator::Moderator;
use crate::store::bucket;
use crate::store::report::{self, NewReport};

/// Maximum number of reports that a user sends per hour.
const MOST_PER_HOUR: u32 = 30;
/// Maximum number of open reports of a user.
const MOST_OPEN: u32 = 100;

const REPORT_ONESELF: &str = "You cannot report yourself.";

/// What a user wants to report.
#[derive(Clone, Copy, Debug)]
pub enum ReportTarget {
    /// A user.
    User(UserId),
    /// A post.
    Post(PostId),
}

impl App {
    /// Reports a user or a post to the moderators. Idempotent: a repeated report of the same user or post replaces the
    /// reason. Makes three round trips for a user and four for a post, plus an archive query if the post is archived.
    pub async fn report(&self, viewer: &Viewer, target: ReportTarget, reason: &str) -> Result<(), Error> {
        let signed_in = viewer.signed_in()?;
        let mut faults = Faults::default();
        let Some(reason) = faults.check(Field::Reason, ReportReason::parse(reason)) else {
            return Err(faults.into_error());
        };
        let reported = match target {
            ReportTarget::User(user) => {
                let named = (user, Field::ReportedUser);
                let user = self.check_named(signed_in, named, REPORT_ONESELF).await?.id;
                Reported { user, post: None }
            }
            ReportTarget::Post(post) => {
                Reported { user: self.check_post(viewer, signed_in, post).await?, post: Some(post) }
            }
        };
        let (reporter, at) = (signed_in.user, self.now());
        let take = bucket::take(&self.keys().reports_of(reporter), limit(MOST_PER_HOUR), 1, at);
        if let Some(wait) = take.send("report: take", self.store()).await?.wait {
            return Err(throttled(wait, "You have sent too many reports."));
        }
        let new = NewReport { reporter, reported, at, reason };
        let added = report::add(self.keys(), &new, MOST_OPEN).send("report: add", self.store()).await?;
        let at_limit = || {
            let message = format!("{MOST_OPEN} of your reports are waiting for a moderator, the maximum.");
            Error::at_limit(Reason::ListLimit, MOST_OPEN, message)
        };
        added.map(drop).ok_or_else(at_limit)
    }

    /// Returns the author of a post of another user. Fails if the viewer may not see the post, or is the author.
    async fn check_post(&self, viewer: &Viewer, signed_in: &SignedIn, post: PostId) -> Result<UserId, Error> {
        let visible = Visible { app: self, load: self, viewer };
        let found = visible.posts(Arc::new([Listed::Id(post)]), UserSelection::NONE).await?;
        match found.into_iter().flatten().next().map(|found| found.post.author) {
            Some(author) if author == signed_in.user => {
                Err(Error::rule(Reason::Oneself, Field::ReportedPost, REPORT_ONESELF))
            }
            Some(author) => Ok(author),
            None => Err(Error::rule(Reason::NotFound, Field::ReportedPost, "This post does not exist.")),
        }
    }

    /// Resolves a report, which removes it from the queue. The note is in the log. Returns the report.
    pub async fn resolve_report(
        &self,
        moderator: &Moderator,
        id: ReportId,
        note: ActionNote,
    ) -> Result<Report, Error> {
        let found = report::read(self.keys(), id).send("report: read", self.store()).await?;
        let missing = || {
            let message = "This report does not exist, or has been resolved.";
            Error::rule(Reason::NotFound, Field::ReportId, message)
        };
        let found = found.ok_or_else(missing)?;
        let Reported { user, post } = found.reported;
        let objects = Objects { post, report: Some(id), ..Objects::user(user) };
        self.log(moderator, Action::ResolveReport, objects, note).await?;
        // If another moderator has resolved it in the meantime, both are in the log.
        report::resolve(self.keys(), &found).send("report: resolve", self.store()).await?;
        Ok(found)
    }
}
