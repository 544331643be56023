//! Records which features the store has, so that servers of earlier versions reject it.
//!
//! Not here: the names of the features, and the check when a server starts (`store`).

use tokio::sync::OnceCell;

use crate::app::App;
use crate::app::error::Error;
use crate::store::Feature;

/// The features that this process has recorded in the store.
#[derive(Default)]
pub(super) struct Entered {
    exclusions: OnceCell<()>,
    boundaries: OnceCell<()>,
    inactivity: OnceCell<()>,
    conversations: OnceCell<()>,
    recovery: OnceCell<()>,
    entry_kinds: OnceCell<()>,
    reactions: OnceCell<()>,
}

impl Entered {
    fn of(&self, feature: Feature) -> &OnceCell<()> {
        match feature {
            Feature::Exclusions => &self.exclusions,
            Feature::Boundaries => &self.boundaries,
            Feature::Inactivity => &self.inactivity,
            Feature::Conversations => &self.conversations,
            Feature::Recovery => &self.recovery,
            Feature::EntryKinds => &self.entry_kinds,
            Feature::Reactions => &self.reactions,
        }
    }
}

impl App {
    /// Records that the store has a feature. Call this function before the first data of the feature are stored. Makes
    /// one round trip; none if this process has recorded the feature before.
    pub(super) async fn enter(&self, feature: Feature) -> Result<(), Error> {
        self.0.process.entered.of(feature).get_or_try_init(|| self.store().add_feature(feature)).await?;
        Ok(())
    }
}
