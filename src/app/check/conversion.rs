//! Converts the lists of referrers of a store that earlier versions have written: these have all entries among the
//! listed ones, also those of posts for followers only, and of private and inactive accounts.
//!
//! The check of the lists finds all of these in a wrong list, and its repair moves them and corrects the counts. A
//! worker of every server runs it, some users or posts at a time, and records how far it has come. Servers that convert
//! the same portion do the same; the one that is overtaken lets the other work. An interrupted portion is converted
//! again.

use std::time::Duration;

use crate::app::App;
use crate::app::check::USERS_AT_A_TIME;
use crate::app::error::Error;
use crate::model::id::UserId;
use crate::store::Feature;
use crate::store::conversion::{self, Progress};
use crate::store::moving;

/// Pause between portions, so that the conversion leaves most of the time of Redis to requests.
const PAUSE: Duration = Duration::from_millis(100);
/// Pause after a failed portion, or one that another server was faster to convert.
const LATER: Duration = Duration::from_secs(10);

/// The outcome of an attempt to convert a portion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conversion {
    /// Nothing is left to convert.
    Done,
    /// A portion is converted.
    Advanced,
    /// Another server has converted the portion.
    Overtaken,
}

impl App {
    /// Converts the lists of referrers, if that is not done yet. Then waits until dropped.
    pub async fn keep_converting_entries(&self) {
        loop {
            let pause = match self.convert_entries().await {
                Ok(Conversion::Done) => break,
                Ok(Conversion::Advanced) => PAUSE,
                Ok(Conversion::Overtaken) => LATER,
                Err(error) => {
                    let error = &error as &dyn std::error::Error;
                    tracing::warn!(
                        error,
                        "lists of replies, quotes and reposts are not converted yet; retrying"
                    );
                    LATER
                }
            };
            tokio::time::sleep(pause).await;
        }
        std::future::pending::<()>().await;
    }

    /// Converts the next portion. If that fails, the next call tries again.
    pub async fn convert_entries(&self) -> Result<Conversion, Error> {
        self.enter(Feature::EntryKinds).await?;
        let read = conversion::progress(self.keys()).send("convert: progress", self.store()).await?;
        let now = match read {
            None => self.begin_conversion().await?,
            Some(Progress::Users(last)) => self.convert_users(last).await?,
            Some(Progress::Posts(last)) => {
                let (_, last) = self.check_archived_posts(last, true).await?;
                last.map_or(Progress::Lists(0), Progress::Posts)
            }
            Some(Progress::Lists(last)) => {
                let (_, last) = self.check_archived_lists(last, true).await?;
                last.map_or(Progress::Done, Progress::Lists)
            }
            Some(Progress::Done) => return Ok(Conversion::Done),
        };
        let advance = conversion::advance(self.keys(), read, now);
        if !advance.send("convert: advance", self.store()).await? {
            return Ok(Conversion::Overtaken);
        }
        if read.is_some() && now == Progress::Done {
            tracing::info!("the lists of replies, quotes and reposts are converted");
        }
        Ok(Conversion::Advanced)
    }

    /// Returns the progress at the beginning. A new store has nothing to convert.
    async fn begin_conversion(&self) -> Result<Progress, Error> {
        if self.last_user_id().await? == 0 && self.last_post_id().await? == 0 {
            return Ok(Progress::Done);
        }
        tracing::info!("the lists of replies, quotes and reposts are being converted");
        Ok(Progress::Users(0))
    }

    /// Converts the lists of the hot posts of the next users.
    async fn convert_users(&self, last: u64) -> Result<Progress, Error> {
        let greatest = self.last_user_id().await?;
        let until = last + USERS_AT_A_TIME;
        let users: Vec<UserId> = (last + 1..=until).filter_map(UserId::new).collect();
        self.check_hot_referrals(&users, true).await?;
        if until < greatest {
            return Ok(Progress::Users(until));
        }
        // No post has ever been moved before a store has an archive.
        let archive = moving::archive(self.keys()).send("convert: archive", self.store()).await?;
        Ok(if archive.is_some() { Progress::Posts(0) } else { Progress::Done })
    }
}
