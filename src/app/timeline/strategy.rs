//! Reads the data of the timeline strategy in force: its generation, the watermark and the stars.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::OnceCell;

use crate::app::App;
use crate::app::error::Error;
use crate::model::id::UserId;
use crate::model::mark::Mark;
use crate::store::timeline;

/// This process's cache of the strategy in force.
#[derive(Default)]
pub(in crate::app) struct Strategy {
    /// The strategy's generation, a number that changes whenever the strategy changes.
    generation: OnceCell<u64>,
    /// The stars, as of the last read.
    stars: RwLock<Arc<Stars>>,
}

/// A version of the list of stars.
#[derive(Default)]
pub(in crate::app) struct Stars {
    version: String,
    pub(super) authors: Vec<UserId>,
}

impl App {
    /// Returns the generation of the strategy in force. Makes no round trip on a cache hit; otherwise one.
    pub(in crate::app) async fn generation(&self) -> Result<u64, Error> {
        let strategy = self.0.rules.timeline.timeline_strategy.as_str();
        let enter = async || {
            timeline::enter_strategy(self.keys(), strategy).send("timeline: strategy", self.store()).await
        };
        Ok(*self.0.process.strategy.generation.get_or_try_init(enter).await?)
    }

    /// Runs step 1 of a timeline read: returns the watermark and the stars. Makes one round trip.
    pub(in crate::app) async fn watermark(&self) -> Result<(Mark, Arc<Stars>), Error> {
        let stars = &self.0.process.strategy.stars;
        let known = Arc::clone(&stars.read().unwrap_or_else(PoisonError::into_inner));
        let read = timeline::watermark(self.keys(), &known.version);
        let read = read.send("timeline: watermark", self.store()).await?;
        // After a failover that resets the id counter to an older value, the server must not reissue ids that
        // readers have passed.
        self.0.process.last_issued.fetch_max(read.mark.get(), Ordering::Relaxed);
        let Some(authors) = read.stars else {
            return Ok((read.mark, known));
        };
        let current = Arc::new(Stars { version: read.version, authors });
        *stars.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&current);
        Ok((read.mark, current))
    }
}
