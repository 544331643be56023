//! Pulls posts into a timeline, on read and after a follow.
//!
//! Not here: when to pull, and from which authors (`app::timeline`); the edge that a follow writes
//! (`app::edge`).

use tokio::time::Instant;

use crate::app::App;
use crate::app::error::Error;
use crate::app::timeline::Freshness;
use crate::app::timeline::merge::{Merged, Reach};
use crate::config::TimelineStrategy;
use crate::model::id::{PostId, UserId};
use crate::model::mark::Mark;
use crate::model::page::{Direction, Window};
use crate::store::batch::{Batch, Ticket};
use crate::store::timeline::{self, Merge, MergeSource, MergedFollow, Opened, Pulled, View};

/// Maximum number of follows merged per batch. Each may read as many posts as a timeline holds.
const FOLLOWS: usize = 100;

/// A follow whose posts are to be merged into the follower's timeline.
pub(in crate::app) struct DueMerge {
    pub(in crate::app) follower: UserId,
    pub(in crate::app) followee: UserId,
    /// The timeline's floor.
    pub(in crate::app) floor: Mark,
}

/// The merge of a follow that has added posts without a reset, although readers may have passed them.
struct LateMerge {
    follower: UserId,
    followee: UserId,
    /// The least of these posts.
    least: PostId,
}

/// Posts that were pulled, to be merged into a timeline.
pub(super) struct PulledPosts {
    /// The posts without duplicates, in descending order of id.
    pub(super) posts: Vec<PostId>,
    /// Mark above which the posts are complete.
    pub(super) cut: Mark,
}

impl PulledPosts {
    /// Returns the merge of the posts.
    pub(super) fn merge(self, source: MergeSource) -> Merge {
        let Self { posts, cut } = self;
        Merge { posts, cut, source }
    }
}

impl App {
    /// Runs step 3 of a read: returns the posts to merge into an opened timeline.
    pub(super) async fn pull(&self, opened: &Opened) -> Result<PulledPosts, Error> {
        match opened.mark {
            Some(mark) => self.pull_above(&opened.sources, mark).await,
            None => self.pull_all(&opened.sources).await,
        }
    }

    fn capacity(&self) -> usize {
        self.0.rules.timeline.timeline_capacity as usize
    }

    /// Returns the posts of these authors above a mark. Makes one round trip.
    async fn pull_above(&self, authors: &[UserId], mark: Mark) -> Result<PulledPosts, Error> {
        let sources: Vec<(UserId, Mark)> = authors.iter().map(|&author| (author, mark)).collect();
        let mut posts = Vec::new();
        let mut cut = Mark::START;
        for pulled in self.pull_each("timeline: pull", &sources).await? {
            cut = cut.max(pulled.cut());
            posts.extend(pulled.posts);
        }
        Ok(self.limited(posts, cut))
    }

    /// Returns each author's posts above the author's mark; no posts for authors with unreadable keys. Makes
    /// one round trip.
    async fn pull_each(&self, step: &'static str, sources: &[(UserId, Mark)]) -> Result<Vec<Pulled>, Error> {
        let mut batch = Batch::new(step);
        let pull = |&(author, mark): &(UserId, Mark)| {
            batch.push(timeline::pull(self.keys(), author, mark, self.capacity()))
        };
        let tickets: Vec<_> = sources.iter().map(pull).collect();
        let mut replies = batch.send(self.store()).await?;
        let take = |((author, _), ticket): (&(UserId, Mark), _)| {
            let pulled = replies.take_readable(ticket, "posts", author.get())?;
            Ok(pulled.unwrap_or_default())
        };
        sources.iter().zip(tickets).map(take).collect()
    }

    /// Returns the newest posts of these authors, up to a timeline's capacity.
    async fn pull_all(&self, authors: &[UserId]) -> Result<PulledPosts, Error> {
        let window = Window { direction: Direction::Forward, size: self.capacity() + 1, from: None };
        let Merged { posts, cold } = self.merge_posts("timeline: pull", Reach::Hot, authors, &window).await?;
        Ok(self.limited(posts, cold))
    }

    /// Prepares posts for a merge: sorts them in descending order of id, removes duplicates, and truncates
    /// the list to a timeline's capacity.
    fn limited(&self, mut posts: Vec<PostId>, mut cut: Mark) -> PulledPosts {
        posts.sort_unstable_by(|one, other| other.cmp(one));
        posts.dedup();
        if let Some(first) = posts.get(self.capacity()) {
            cut = cut.max(Mark::at(*first));
            posts.truncate(self.capacity());
        }
        PulledPosts { posts, cut }
    }

    /// Adds to the batch a command that reads the floor of the follower's timeline. Its reply is `None` if
    /// the follower has no timeline.
    pub(in crate::app) fn floor_of(&self, batch: &mut Batch, follower: UserId) -> Ticket<Option<View>> {
        let nothing = Window { direction: Direction::Forward, size: 0, from: None };
        batch.push(timeline::view(self.keys(), follower, None, &nothing))
    }

    /// Merges the posts of followed users into their followers' timelines, down to each timeline's floor. Must be
    /// called after every write that adds a mirror: workers deliver posts published after the write, and this function
    /// merges earlier posts. That resets the timeline if the follow is new, or if clients have read past the posts:
    /// they are not sent as events, because the mirror was missing when workers delivered them. Makes two round trips
    /// per 100 follows, and three more if posts were merged although their follow is not new.
    pub(in crate::app) async fn merge_followed(&self, follows: &[DueMerge]) -> Result<(), Error> {
        let mut late = Vec::new();
        for follows in follows.chunks(FOLLOWS) {
            late.extend(self.merge_some_followed(follows).await?);
        }
        if late.is_empty() { Ok(()) } else { self.end_late_merges(late).await }
    }

    async fn merge_some_followed(&self, follows: &[DueMerge]) -> Result<Vec<LateMerge>, Error> {
        let sources: Vec<_> = follows.iter().map(|due| (due.followee, due.floor)).collect();
        let pulled = self.pull_each("edge: posts", &sources).await?;
        let nothing = Window { direction: Direction::Forward, size: 0, from: None };
        let mut batch = Batch::new("edge: merge");
        let mut tickets = Vec::new();
        for (&DueMerge { follower, followee, .. }, pulled) in follows.iter().zip(pulled) {
            let cut = pulled.cut();
            let follow = MergedFollow { followee, is_pulled: self.pulls(followee) };
            let merge = self.limited(pulled.posts, cut).merge(MergeSource::Follow(follow));
            let capacity = self.0.rules.timeline.timeline_capacity;
            let merge = timeline::merge(self.keys(), follower, capacity, &merge, &nothing);
            tickets.push((follower, followee, batch.push(merge)));
        }
        let mut replies = batch.send(self.store()).await?;
        let mut late = Vec::new();
        for (follower, followee, ticket) in tickets {
            let merged = replies.take_readable(ticket, "timeline", follower.get())?.flatten();
            let least = merged.and_then(|merged| merged.late);
            late.extend(least.map(|least| LateMerge { follower, followee, least }));
        }
        Ok(late)
    }

    /// Returns true if reads of timelines pull the author's posts, as far as this process knows.
    fn pulls(&self, author: UserId) -> bool {
        match self.0.rules.timeline.timeline_strategy {
            TimelineStrategy::Pull => true,
            TimelineStrategy::Hybrid => self.is_known_star(author),
            TimelineStrategy::Push => false,
        }
    }

    /// Resets the timelines whose readers may have passed posts that were merged into them. Until this has been done,
    /// the next merge of such a follow resets the timeline. Makes three round trips.
    async fn end_late_merges(&self, mut merges: Vec<LateMerge>) -> Result<(), Error> {
        // Read after the merges: readers that have not seen the posts have read their mark before.
        let mark = self.read_delivered_mark(Freshness::Since(Instant::now())).await?;
        merges.sort_unstable_by_key(|merge| merge.follower);
        let end = |merges: &[LateMerge]| {
            let followees: Vec<_> = merges.iter().map(|merge| merge.followee).collect();
            let resets = merges.iter().any(|merge| mark.covers(merge.least));
            timeline::end_merges(self.keys(), merges[0].follower, &followees, resets)
        };
        let of_followers = merges.chunk_by(|one, next| one.follower == next.follower);
        self.send_all("edge: late merges", of_followers.map(end)).await?;
        Ok(())
    }
}

impl Pulled {
    /// Returns the mark above which the pulled posts are complete.
    fn cut(&self) -> Mark {
        self.cold.max(self.beyond.map_or(Mark::START, Mark::at))
    }
}
