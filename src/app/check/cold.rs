//! Compares the recorded numbers of cold posts with the archive, while movers and deletions may be running.
//!
//! An archived post is cold, and counted, unless it is still in its author's list (a mover has written it but
//! not yet trimmed the list) or in the set of deleted posts (deleted, but not yet tombstoned in the archive).
//! While list, set and count are unchanged, the count must therefore equal the number of rows that are in
//! neither list nor set. The same holds for those that only followers can see.

use std::collections::HashMap;

use crate::app::App;
use crate::app::error::Error;
use crate::archive::post::{Counts, Row};
use crate::model::id::{PostId, UserId};
use crate::model::post::Visibility;
use crate::store::moving::{self, Cold, RightCold};

/// Maximum number of attempts to read an author's data without a concurrent change.
const ATTEMPTS: usize = 3;

/// Maximum number of posts per archive query.
const ROWS: usize = 1_000;

impl App {
    /// Compares the archived post counts of these users with the archive. Returns the number of users with a
    /// wrong count. With `repair`, corrects wrong counts. Skips authors whose data keeps changing.
    pub(super) async fn check_cold(&self, ids: &[UserId], repair: bool) -> Result<u64, Error> {
        let counted = self.cold_counts(ids).await?;
        if counted.is_empty() {
            return Ok(0);
        }
        let authors: Vec<UserId> = counted.iter().map(|(author, _)| *author).collect();
        let archived = self.archived_counts(&authors).await?;
        let mut wrong = 0;
        for (author, cold) in counted {
            let Counts { count, limited, greatest } = archived.get(&author).copied().unwrap_or_default();
            let is_plainly_right = (cold.count, cold.limited) == (Some(count), Some(limited))
                && cold.greatest >= greatest
                && cold.gone.is_empty();
            if !is_plainly_right && self.is_miscounted(author, repair).await? {
                wrong += 1;
            }
        }
        Ok(wrong)
    }

    async fn is_miscounted(&self, author: UserId, repair: bool) -> Result<bool, Error> {
        for _ in 0..ATTEMPTS {
            let Some((cold, right)) = self.measure_cold(author).await? else {
                continue;
            };
            let RightCold { greatest, count, limited } = right;
            if (cold.greatest, cold.count, cold.limited) == (greatest, Some(count), Some(limited)) {
                return Ok(false);
            }
            if !repair
                || moving::correct_cold(self.keys(), author, &cold, right)
                    .send("check: count", self.store())
                    .await?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns an author's recorded cold post summary, and the correct one; `None` if the data changed during the
    /// read.
    async fn measure_cold(&self, author: UserId) -> Result<Option<(Cold, RightCold)>, Error> {
        let read = || moving::cold_and_listed(self.keys(), author);
        let before = read().send("check: listed", self.store()).await?;
        let archived = self.archived_counts(&[author]).await?;
        let (cold, listed) = &before;
        let elsewhere =
            self.archived_among(author, listed.iter().chain(&cold.gone).copied().collect()).await?;
        if self.archived_counts(&[author]).await? != archived {
            return Ok(None);
        }
        if read().send("check: listed", self.store()).await? != before {
            return Ok(None);
        }
        let Counts { count, limited, greatest } = archived.get(&author).copied().unwrap_or_default();
        // A post still in the list is not cold yet.
        let is_cold = PostId::new(greatest).is_some_and(|greatest| !elsewhere.contains_key(&greatest));
        let greatest = if is_cold { cold.greatest.max(greatest) } else { cold.greatest };
        let limited_elsewhere = elsewhere.values().filter(|visibility| !visibility.is_public()).count();
        let count = count.saturating_sub(elsewhere.len() as u64);
        let limited = limited.saturating_sub(limited_elsewhere as u64);
        Ok(Some((before.0, RightCold { greatest, count, limited })))
    }

    /// Returns the posts in `posts` that the archive has as live posts of this author, with their visibilities.
    async fn archived_among(
        &self,
        author: UserId,
        posts: Vec<PostId>,
    ) -> Result<HashMap<PostId, Visibility>, Error> {
        let mut found = HashMap::new();
        for posts in posts.chunks(ROWS) {
            let rows = self.archive().await?.read(posts).await?;
            let live = rows.into_iter().filter_map(Row::live);
            found.extend(live.filter(|post| post.author == author).map(|post| (post.id, post.visibility)));
        }
        Ok(found)
    }

    async fn archived_counts(&self, authors: &[UserId]) -> Result<HashMap<UserId, Counts>, Error> {
        Ok(self.archive().await?.post_counts(authors).await?.into_iter().collect())
    }

    /// Returns the cold post summary of each user who has, or had, cold posts.
    async fn cold_counts(&self, ids: &[UserId]) -> Result<Vec<(UserId, Cold)>, Error> {
        let commands = ids.iter().map(|&id| moving::cold(self.keys(), id));
        let counts = self.send_all("check: cold", commands).await?;
        let has_any = |(_, cold): &(UserId, Cold)| {
            cold.greatest > 0 || (cold.count, cold.limited) != (Some(0), Some(0))
        };
        Ok(ids.iter().copied().zip(counts).filter(has_any).collect())
    }
}
