//! Sends the archive queries of one level of a GraphQL query, after Redis has replied.

use std::collections::HashMap;
use std::sync::Arc;

use futures::future::{join3, join5};

use crate::app::App;
use crate::app::error::Error;
use crate::archive::like::LikePage;
use crate::archive::post::Row;
use crate::archive::range::{CountRange, Range};
use crate::archive::referrer::ReferrerPage;
use crate::model::clock::Day;
use crate::model::edit::EarlierVersion;
use crate::model::id::PostId;
use crate::model::like::Like;
use crate::model::page::Page;
use crate::model::post::Post;
use crate::model::referrer::EntryPage;

/// The data to fetch from the archive.
#[derive(Default)]
pub(in crate::app) struct Wanted {
    /// Ids of posts missing from Redis.
    pub(in crate::app) ids: Vec<PostId>,
    /// Ranges of authors' post lists.
    pub(in crate::app) ranges: Vec<Range>,
    /// Posts to count.
    pub(in crate::app) counts: Vec<CountRange>,
    /// Pages of lists of referrers.
    pub(in crate::app) referrers: Vec<ReferrerPage>,
    /// Pages of posts' likes.
    pub(in crate::app) likes: Vec<LikePage>,
    /// Posts whose earlier versions to read.
    pub(in crate::app) versions: Vec<PostId>,
    /// Periods for which to read daily visitor counts: the newest day and the number of days of each.
    pub(in crate::app) visits: Vec<(Day, usize)>,
}

/// The visitor count of each archived day in a period.
type Visits = Result<Arc<[(Day, u64)]>, Error>;

/// The results of the archive queries; for a failed query, its error.
pub(in crate::app) struct Found {
    /// The requested posts that exist, by id.
    pub(in crate::app) posts: Result<HashMap<PostId, Arc<Post>>, Error>,
    /// The posts of each requested range, in the order of the request.
    pub(in crate::app) ranges: Result<Vec<Vec<Arc<Post>>>, Error>,
    /// The requested counts, in the order of the request.
    pub(in crate::app) counts: Result<Vec<u64>, Error>,
    /// The requested pages of referrers, in the order of the request.
    pub(in crate::app) referrers: Result<Vec<EntryPage>, Error>,
    /// The requested pages of likes, in the order of the request.
    pub(in crate::app) likes: Result<Vec<Page<Like>>, Error>,
    /// The earlier versions of the requested posts, newest first; none for posts that were never edited.
    pub(in crate::app) versions: Result<HashMap<PostId, Vec<EarlierVersion>>, Error>,
    /// The visitor counts of each requested period, by newest day and number of days.
    pub(in crate::app) visits: HashMap<(Day, usize), Visits>,
}

impl App {
    /// Queries the archive. Makes one query for all posts, one for all ranges, one for all counts, one for all pages of
    /// referrers, one for all pages of likes and one for all earlier versions, if any, plus one per period of visitor
    /// counts.
    pub(in crate::app) async fn ask_archive(&self, wanted: Wanted) -> Found {
        let Wanted { mut ids, ranges, counts, referrers, likes, versions, visits } = wanted;
        let is_empty = ids.is_empty() && ranges.is_empty() && counts.is_empty() && likes.is_empty();
        if is_empty && referrers.is_empty() && versions.is_empty() && visits.is_empty() {
            return Found {
                posts: Ok(HashMap::new()),
                ranges: Ok(Vec::new()),
                counts: Ok(Vec::new()),
                referrers: Ok(Vec::new()),
                likes: Ok(Vec::new()),
                versions: Ok(HashMap::new()),
                visits: HashMap::new(),
            };
        }
        ids.sort_unstable();
        ids.dedup();
        // Boxed, because resolvers nest, and each would otherwise reserve stack space that few of them need.
        let asked = async {
            let visits = self.archived_visits(visits);
            let (posts, ranges) = (self.archived_posts(&ids), self.archived_ranges(&ranges));
            let (counts, referrers) =
                (self.archived_counts_within(&counts), self.archived_referrers(&referrers));
            let (likes, versions) = (self.archived_likes(&likes), self.archived_versions(&versions));
            join3(join5(posts, ranges, counts, referrers, visits), likes, versions).await
        };
        let ((posts, ranges, counts, referrers, visits), likes, versions) = Box::pin(asked).await;
        Found { posts, ranges, counts, referrers, likes, versions, visits }
    }

    async fn archived_visits(&self, days: Vec<(Day, usize)>) -> HashMap<(Day, usize), Visits> {
        let mut found = HashMap::new();
        for (newest, count) in days {
            let visits = async { Ok(self.archive().await?.visits(newest, count).await?.into()) };
            found.insert((newest, count), visits.await);
        }
        found
    }

    /// Returns the ids of the posts in each of these ranges.
    pub(in crate::app) async fn archived_ids(&self, ranges: &[Range]) -> Result<Vec<Vec<PostId>>, Error> {
        Ok(self.archive().await?.ids_of(ranges).await?)
    }

    async fn archived_posts(&self, ids: &[PostId]) -> Result<HashMap<PostId, Arc<Post>>, Error> {
        if ids.is_empty() {
            return Ok(HashMap::new());
        }
        let rows = self.archive().await?.read(ids).await?;
        let posts = rows.into_iter().filter_map(Row::live);
        Ok(posts.map(|post| (post.id, Arc::new(post))).collect())
    }

    async fn archived_counts_within(&self, ranges: &[CountRange]) -> Result<Vec<u64>, Error> {
        if ranges.is_empty() {
            return Ok(Vec::new());
        }
        Ok(self.archive().await?.count_within(ranges).await?)
    }

    async fn archived_referrers(&self, pages: &[ReferrerPage]) -> Result<Vec<EntryPage>, Error> {
        if pages.is_empty() {
            return Ok(Vec::new());
        }
        Ok(self.archive().await?.referrers(pages).await?)
    }

    async fn archived_likes(&self, pages: &[LikePage]) -> Result<Vec<Page<Like>>, Error> {
        if pages.is_empty() {
            return Ok(Vec::new());
        }
        Ok(self.archive().await?.likes(pages).await?)
    }

    async fn archived_versions(
        &self,
        posts: &[PostId],
    ) -> Result<HashMap<PostId, Vec<EarlierVersion>>, Error> {
        if posts.is_empty() {
            return Ok(HashMap::new());
        }
        Ok(self.archive().await?.versions(posts).await?)
    }

    async fn archived_ranges(&self, ranges: &[Range]) -> Result<Vec<Vec<Arc<Post>>>, Error> {
        if ranges.is_empty() {
            return Ok(Vec::new());
        }
        let found = self.archive().await?.posts_of(ranges).await?;
        Ok(found.into_iter().map(|posts| posts.into_iter().map(Arc::new).collect()).collect())
    }
}
