//! Deletion of hot and cold posts.

use crate::app::App;
use crate::app::error::{Broken, Error};
use crate::app::mirrored::Mirrored as _;
use crate::app::post::own::OwnPost;
use crate::app::post::referral::Referring;
use crate::app::viewer::Viewer;
use crate::model::details::Details;
use crate::model::id::{PostId, UserId};
use crate::model::post::Post;
use crate::store::batch::Batch;
use crate::store::fanout::{self, Kind, Task};
use crate::store::intent::Operation;
use crate::store::moving;
use crate::store::post::{self, DeletedPost, Erased, Record};

/// Maximum number of attempts to delete a post. An attempt fails if the post moves to the archive in the
/// meantime, which happens at most once.
const ATTEMPTS: usize = 3;

impl App {
    /// Deletes one of the viewer's posts. Idempotent. Makes six round trips, plus an archive query if the
    /// post is archived.
    pub async fn delete_post(&self, viewer: &Viewer, id: PostId) -> Result<(), Error> {
        let author = viewer.signed_in()?.user;
        if self.delete_own(author, id).await? { Ok(()) } else { Err(self.not_own(viewer, id).await?) }
    }

    /// Deletes a post of this author. Returns false if the post does not exist or belongs to another user. Idempotent.
    /// Makes as many round trips as [`App::delete_post`].
    pub(in crate::app) async fn delete_own(&self, author: UserId, id: PostId) -> Result<bool, Error> {
        for _ in 0..ATTEMPTS {
            let (post, is_archived) = match self.find_own(author, id).await? {
                OwnPost::Hot(post) => (post, false),
                OwnPost::Archived(post) => (post, true),
                // The earlier deletion may have been interrupted or may not have reached the lists yet.
                OwnPost::Deleted => {
                    self.finish_deletion(author, id, false).await?;
                    return Ok(true);
                }
                OwnPost::NotOwn => return Ok(false),
            };
            let deadline = self.deadline();
            let delete = async || {
                let Post { visibility, details: Details { references, .. }, .. } = post;
                let archived = is_archived.then_some((visibility, &references));
                let erase = post::erase(self.keys(), author, id, archived);
                let erased = erase.send("delete: erase", self.store()).await?;
                if erased == Erased::Erased {
                    deadline.check()?;
                    self.unlist(&[DeletedPost { id, author, visibility, references }], true).await?;
                }
                Ok(erased)
            };
            let intents = self.intents([Operation::Delete { author, post: id }]);
            match self.under_intents(&intents, &deadline, delete).await? {
                Erased::Erased => return Ok(true),
                // The post has just been archived.
                Erased::Missing => {}
                Erased::Foreign => return Ok(false),
            }
        }
        Err(Broken::GaveUp("deleting a post that is being archived").into())
    }

    /// Runs steps 2 and 3 of an interrupted deletion, if step 1 has erased the post. If the deletion is
    /// abandoned, repeats step 3 even if it appears to have run.
    pub(in crate::app) async fn finish_deletion(
        &self,
        author: UserId,
        id: PostId,
        is_abandoned: bool,
    ) -> Result<(), Error> {
        match post::read(self.keys(), id).send("delete: trace", self.store()).await? {
            Record::Tombstone { is_settled: false, visibility, references, .. } => {
                self.unlist(&[DeletedPost { id, author, visibility, references }], is_abandoned).await
            }
            // The archive has the tombstone, so step 2 is done.
            Record::Tombstone { is_settled: true, .. } if is_abandoned => {
                let sweep = fanout::add(self.keys(), &sweep(author, id));
                sweep.send("delete: queue", self.store()).await.map(drop).map_err(Error::from)
            }
            _ => Ok(()),
        }
    }

    /// Runs step 2, and then step 3 for posts that were listed, or for all if `queues_anyway` is true. Makes two round
    /// trips, plus one for posts that refer to others.
    pub(super) async fn unlist(&self, posts: &[DeletedPost], queues_anyway: bool) -> Result<(), Error> {
        let were_listed = self.remove_from_lists(posts).await?;
        let queued = posts.iter().zip(were_listed).filter(|(_, was_listed)| *was_listed || queues_anyway);
        let queued: Vec<&DeletedPost> = queued.map(|(post, _)| post).collect();
        if queued.is_empty() {
            return Ok(());
        }
        let ids: Vec<PostId> = queued.iter().map(|post| post.id).collect();
        let mut batch = Batch::new("delete: queue");
        let archive = batch.push(moving::queue(self.keys(), &ids, self.now()));
        let sweeps =
            queued.iter().map(|post| batch.push(fanout::add(self.keys(), &sweep(post.author, post.id))));
        let sweeps: Vec<_> = sweeps.collect();
        let mut replies = batch.send(self.store()).await?;
        replies.take(archive)?;
        replies.take_all(sweeps)?;
        Ok(())
    }

    /// Runs step 2 for deleted posts that a mover found. Adds the jobs that remove posts from timelines, for those that
    /// were still listed, and for those with reposts in the archive: these must be deleted as well, and the archive is
    /// about to lose their list. Makes two round trips and one query, and more for posts with many reposts.
    pub(in crate::app) async fn unlist_moving(&self, posts: &[DeletedPost]) -> Result<(), Error> {
        if posts.is_empty() {
            return Ok(());
        }
        let were_listed = self.remove_from_lists(posts).await?;
        let reposted = self.keep_archived_reposts(posts).await?;
        let swept = posts.iter().zip(were_listed);
        let swept = swept.filter(|(post, was_listed)| *was_listed || reposted.contains(&post.id));
        let add = |(post, _): (&DeletedPost, _)| fanout::add(self.keys(), &sweep(post.author, post.id));
        self.send_all("move: sweeps", swept.map(add)).await?;
        Ok(())
    }

    /// Runs step 2. Returns for each post true if it was listed. Makes one round trip, plus one for posts that refer to
    /// others.
    async fn remove_from_lists(&self, posts: &[DeletedPost]) -> Result<Vec<bool>, Error> {
        let now = self.now();
        let delete = |post: &DeletedPost| post::delete(self.keys(), post, now);
        let were_listed = self.send_all("delete: lists", posts.iter().map(delete)).await?;
        let referring = |post: &DeletedPost| {
            Referring::known((post.id, post.author), &post.references, post.visibility, None)
        };
        let referring: Vec<_> = posts.iter().filter_map(referring).collect();
        Referring::mirror(self, &referring, &self.deadline()).await?;
        Ok(were_listed)
    }
}

/// Creates the job that removes a post from the timelines that received or pulled it.
fn sweep(author: UserId, post: PostId) -> Task {
    Task { kind: Kind::Remove, post, author }
}
