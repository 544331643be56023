//! Shows users their own writes although replicas are read.
//!
//! If `--redis-replica-reads` is set, the queries of users who have not written lately read records of users and posts,
//! and pages and lengths of lists, from replicas. A note in the viewer's slot says who has written; authentication
//! reads it. Everything in the viewer's own slot is read from its master, as are sessions, relations, timelines and
//! lists of posts.

use crate::app::App;
use crate::app::deadline::WRITER_LIVES;
use crate::app::viewer::{SignedIn, Viewer};
use crate::model::id::UserId;
use crate::store::batch::Batch;
use crate::store::written;

/// How recent the data of reads must be.
#[derive(Clone, Copy, Debug)]
pub(super) enum Consistency {
    /// All writes so far.
    Latest,
    /// Some data may lag, but not those in the slot of this viewer.
    MayLag(Option<UserId>),
}

impl Consistency {
    /// Lets replicas execute a batch, as far as they may.
    pub(super) fn apply(self, batch: &mut Batch) {
        if let Self::MayLag(viewer) = self {
            batch.allow_replicas(viewer);
        }
    }
}

impl App {
    /// Returns a handle for a query of this viewer, which reads replicas unless the viewer has written lately.
    #[must_use]
    pub fn for_query(&self, viewer: &Viewer) -> Self {
        let has_written = matches!(viewer, Viewer::SignedIn(SignedIn { has_written: true, .. }));
        if has_written || !self.store().reads_replicas() {
            return self.clone();
        }
        Self(self.0.clone(), Consistency::MayLag(viewer.user()))
    }

    /// Notes that the viewer is about to write, so that their next queries show it. Makes one round trip if replicas
    /// are read, which must end before the viewer learns of the write.
    pub async fn note_write(&self, viewer: &Viewer) {
        if let Some(user) = viewer.user() {
            self.note_write_of(user).await;
        }
    }

    /// Notes a write of this user, or one that made the user. Makes one round trip if replicas are read.
    pub(super) async fn note_write_of(&self, user: UserId) {
        if !self.store().reads_replicas() {
            return;
        }
        let note = written::note(self.keys(), user, WRITER_LIVES);
        if let Err(error) = note.send("note write", self.store()).await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "a user's write was not noted; replicas may not show it at once");
        }
    }

    /// Returns true if a user has written lately, or if that is not known.
    pub(super) async fn has_written(&self, user: UserId) -> bool {
        if !self.store().reads_replicas() {
            return false;
        }
        written::is_noted(self.keys(), user).send("has written", self.store()).await.unwrap_or(true)
    }
}
