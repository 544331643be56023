//! The log of what moderators did, and of the steps of recoveries.
//!
//! Not here: reading it (`app::moderation::read`).

use crate::app::App;
use crate::app::error::Error;
use crate::model::moderation::{Action, ActionNote, LoggedAction, Objects};
use crate::model::moderator::Moderator;
use crate::store::moderation_log;

impl App {
    /// Records an action that a moderator, or the user of a recovery, is about to take. If this fails, the caller must
    /// not act. Makes one round trip.
    pub(in crate::app) async fn log(
        &self,
        moderator: &Moderator,
        action: Action,
        objects: Objects,
        note: ActionNote,
    ) -> Result<(), Error> {
        let logged = LoggedAction { moderator: *moderator, action, objects, note };
        let add = moderation_log::add(self.keys(), &logged, self.now(), self.rng().nonce());
        add.send("moderator: log", self.store()).await?;
        Ok(())
    }
}
