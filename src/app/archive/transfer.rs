//! Implements steps 2 to 7 of moving posts from Redis to the archive, as numbered in [`super`].
//!
//! Not here: the loop that runs the steps (`mover`).

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::app::App;
use crate::app::error::{Error, with_causes};
use crate::archive;
use crate::archive::post::Row;
use crate::archive::write::Lists;
use crate::model::edit::EarlierVersion;
use crate::model::id::{PostId, UserId};
use crate::model::like::Like;
use crate::model::post::Post;
use crate::model::referrer::{EntryList, ReferrerEntry};
use crate::store::batch::Batch;
use crate::store::compact::NEWEST;
use crate::store::moving::{self, Entry, Outcome};
use crate::store::post::{self, DeletedPost, Record};
use crate::store::tree::Shard;
use crate::store::{edit, like, referrer};

/// Maximum number of entries of a list of referrers that one command reads.
const PORTION: usize = 10_000;
/// Maximum number of likes of a post that is archived, and of all posts of a batch. A post with more likes stays in
/// Redis.
const MOST_LIKES: u64 = 50_000;
/// Number of shards of likes that are read, or deleted, together.
const SHARDS: usize = 250;

/// The records of a batch, grouped by the work they need.
#[derive(Default)]
struct Records {
    live: Vec<Post>,
    tombstones: Vec<(PostId, UserId)>,
    /// The same tombstones, with what each records of its post.
    deleted: Vec<DeletedPost>,
    /// The lists of the live posts.
    lists: Lists,
    /// Tombstones that the archive already has.
    settled: Vec<(PostId, UserId)>,
    missing: Vec<PostId>,
    /// Live posts with more than [`MOST_LIKES`].
    large: HashSet<PostId>,
    /// Live posts with likes for which the batch has no room. They stay in the mover's list for the next turn.
    waiting: HashSet<PostId>,
}

impl Records {
    /// Leaves out live posts with too many likes.
    fn limit_likes(&mut self) {
        let Self { live, large, waiting, .. } = self;
        let mut room = MOST_LIKES;
        live.retain(|post| {
            let likes = post.details.counts.likes();
            let left_out = match likes {
                _ if likes > MOST_LIKES => &mut *large,
                _ if likes > room => &mut *waiting,
                _ => {
                    room -= likes;
                    return true;
                }
            };
            left_out.insert(post.id);
            false
        });
    }
}

/// The outcome of comparing a batch with the archive.
#[derive(Default)]
struct Verdict {
    /// Posts that this or another mover has written to the archive.
    archived: Vec<(PostId, UserId)>,
    /// Posts that differ from the archive's post with the same id.
    unmovable: HashSet<PostId>,
    /// Posts with a tombstone in the archive.
    gone: Vec<(PostId, UserId)>,
    /// Posts with a tombstone in the archive, but without one in Redis when their records were read.
    deleted: Vec<(PostId, UserId)>,
    /// Posts whose records must be read again.
    changed: HashSet<PostId>,
}

impl App {
    /// Runs steps 2 to 7 for the whole batch. If that fails because of a post's data, retries post by post
    /// and sets aside the posts that fail.
    pub(super) async fn move_all(&self, entries: &[Entry]) -> Result<Outcome, Error> {
        let error = match self.move_posts(entries).await {
            Err(error) if error.is_about_data() => error,
            moved => return moved,
        };
        // If the archive rejects every write, no single post is to blame.
        self.archive().await?.try_to_write().await.map_err(|_| error)?;
        let mut all = Outcome::default();
        for entry in entries {
            match self.move_posts(&[*entry]).await {
                Ok(Outcome { archived, unmovable, changed, large, settled }) => {
                    all.archived.extend(archived);
                    all.unmovable.extend(unmovable);
                    all.changed.extend(changed);
                    all.large.extend(large);
                    all.settled.extend(settled);
                }
                Err(error) if error.is_about_data() => {
                    let causes = with_causes(&error);
                    tracing::error!(causes, post = %entry.post, "cannot archive a post; setting it aside");
                    all.unmovable.push(entry.to_string());
                }
                Err(error) => return Err(error),
            }
        }
        Ok(all)
    }

    /// Runs steps 2 to 7 for one batch.
    async fn move_posts(&self, entries: &[Entry]) -> Result<Outcome, Error> {
        let mut ids: Vec<PostId> = entries.iter().map(|entry| entry.post).collect();
        ids.sort_unstable();
        ids.dedup();
        let records = self.read_records(&ids).await?;
        self.unlist_moving(&records.deleted).await?;

        let archive = self.archive().await?;
        if !records.live.is_empty() || !records.tombstones.is_empty() {
            archive.write(&records.live, &records.tombstones, &records.lists).await?;
        }
        let rows = archive.read(&ids).await?;
        let mut verdict = judge(&records, rows)?;

        self.erase_again(&verdict.deleted).await?;
        self.drop_records(&records, &mut verdict).await?;
        self.remove_archived(&verdict).await?;
        self.evict_expired(&verdict.gone).await?;

        let mut outcome = Outcome::default();
        let archived: HashSet<PostId> = records.live.iter().map(|post| post.id).collect();
        for &entry in entries.iter().filter(|entry| !records.waiting.contains(&entry.post)) {
            let id = entry.post;
            if records.large.contains(&id) {
                outcome.large.push(entry);
            } else if verdict.changed.contains(&id) {
                outcome.changed.push(entry);
            } else if verdict.unmovable.contains(&id) {
                outcome.unmovable.push(entry.to_string());
            } else if archived.contains(&id) {
                outcome.archived.push(entry);
            } else {
                outcome.settled.push(entry);
            }
        }
        Ok(outcome)
    }

    /// Runs step 2: reads the records.
    async fn read_records(&self, ids: &[PostId]) -> Result<Records, Error> {
        let commands = ids.iter().map(|&id| post::read(self.keys(), id));
        let found = self.send_all("move: records", commands).await?;
        let mut records = Records::default();
        for (&id, record) in ids.iter().zip(found) {
            match record {
                Record::Live(post) => records.live.push(post),
                Record::Tombstone { author, is_settled: true, .. } => records.settled.push((id, author)),
                Record::Tombstone { author, is_settled: false, visibility, references } => {
                    records.tombstones.push((id, author));
                    records.deleted.push(DeletedPost { id, author, visibility, references });
                }
                // A revoked post has nothing to archive.
                Record::Missing | Record::Revoked { .. } => records.missing.push(id),
            }
        }
        records.limit_likes();
        // The lists after the records: a list that changes in between is not dropped with its record.
        records.lists = Lists {
            entries: self.read_lists(&records.live).await?,
            versions: self.read_versions(&records.live).await?,
            likes: self.read_likes(&records.live).await?,
        };
        Ok(records)
    }

    /// Reads the lists of referrers of these posts. Makes no round trip for posts that never changed; otherwise one, or
    /// more for long lists.
    async fn read_lists(&self, posts: &[Post]) -> Result<Vec<(EntryList, ReferrerEntry)>, Error> {
        let changed = posts.iter().filter(|post| post.details.version > 0);
        let mut open: Vec<(EntryList, usize)> =
            changed.flat_map(|post| EntryList::all(post.id).map(|list| (list, 0))).collect();
        let mut entries = Vec::new();
        while !open.is_empty() {
            let read =
                |&(list, start): &(EntryList, usize)| referrer::portion(self.keys(), list, start, PORTION);
            let portions = self.send_all("move: referrers", open.iter().map(read)).await?;
            let mut rest = Vec::new();
            for ((list, start), portion) in open.into_iter().zip(portions) {
                if portion.len() == PORTION {
                    rest.push((list, start + portion.len()));
                }
                entries.extend(portion.into_iter().map(|entry| (list, entry)));
            }
            open = rest;
        }
        Ok(entries)
    }

    /// Reads the earlier versions of these posts. Makes no round trip for posts that were never edited; otherwise one.
    async fn read_versions(&self, posts: &[Post]) -> Result<Vec<(PostId, EarlierVersion)>, Error> {
        let mut batch = Batch::new("move: versions");
        let edited = posts.iter().filter(|post| post.details.edition > 0);
        let read = |post: &Post| (post.id, batch.push(edit::versions(self.keys(), post.id)));
        let tickets: Vec<_> = edited.map(read).collect();
        let mut replies = batch.send(self.store()).await?;
        let mut versions = Vec::new();
        for (id, ticket) in tickets {
            // A post that another mover has just dropped is in the archive.
            let found = replies.take(ticket)?.unwrap_or_default();
            versions.extend(found.into_iter().map(|version| (id, version)));
        }
        Ok(versions)
    }

    /// Reads the likes of these posts: the newest, and then the others, level by level. Makes no round trip for posts
    /// without likes; otherwise one, or more for posts with many likes.
    async fn read_likes(&self, posts: &[Post]) -> Result<Vec<(PostId, Like)>, Error> {
        let liked: Vec<&Post> = posts.iter().filter(|post| post.details.counts.likes() > 0).collect();
        let newest = liked.iter().map(|post| like::numbered(self.keys(), post.id));
        let newest = self.send_all("move: likes", newest).await?;
        let (mut likes, mut open) = (Vec::new(), Vec::new());
        for (post, newest) in liked.into_iter().zip(newest) {
            if post.details.counts.likes() > newest.len() as u64 {
                open.push((post.id, Shard::ROOT));
            }
            likes.extend(newest.into_iter().map(|like| (post.id, like)));
        }
        // A member may move to another shard in the meantime. The post has another version then, but is written first.
        let mut read: HashSet<(PostId, UserId)> =
            likes.iter().map(|(post, like): &(PostId, Like)| (*post, like.member)).collect();
        while !open.is_empty() {
            let together = open.split_off(open.len().saturating_sub(SHARDS));
            for ((post, shard), elements) in self.read_shards(together).await? {
                open.extend(shard.below(&elements).into_iter().map(|shard| (post, shard)));
                let members = elements.into_iter().filter_map(UserId::new);
                let members = members.filter(|member| read.insert((post, *member)));
                likes.extend(members.map(|member| (post, like::unnumbered(member))));
            }
        }
        Ok(likes)
    }

    /// Reads the elements of these shards of likes. Makes one round trip.
    async fn read_shards(
        &self,
        shards: Vec<(PostId, Shard)>,
    ) -> Result<impl Iterator<Item = ((PostId, Shard), Vec<u64>)> + use<>, Error> {
        let read = shards.iter().map(|&(post, shard)| like::elements(self.keys(), post, shard));
        let elements = self.send_all("move: shards", read).await?;
        Ok(shards.into_iter().zip(elements))
    }

    /// Deletes what is left of the likes of posts without a live record, which is deleted without its shards. An
    /// interrupted call can be repeated, because no shard is deleted before those below it.
    pub(in crate::app) async fn sweep_likes(&self, posts: impl Iterator<Item = PostId>) -> Result<(), Error> {
        let mut open: Vec<(PostId, Shard)> = posts.map(|post| (post, Shard::ROOT)).collect();
        let mut found = Vec::new();
        while !open.is_empty() {
            let together = open.split_off(open.len().saturating_sub(SHARDS));
            for ((post, shard), elements) in self.read_shards(together).await? {
                open.extend(shard.below(&elements).into_iter().map(|shard| (post, shard)));
                found.extend((!elements.is_empty()).then_some((post, shard)));
            }
        }
        found.reverse();
        for shards in found.chunks(SHARDS) {
            let delete = |&(post, shard): &(PostId, Shard)| like::delete_shard(self.keys(), post, shard);
            self.send_all("move: sweep", shards.iter().map(delete)).await?;
        }
        Ok(())
    }

    /// Replaces these posts' records with tombstones. Either the posts were deleted after step 2, or Redis
    /// lost the deletions with its latest writes. The posts are postponed.
    async fn erase_again(&self, deleted: &[(PostId, UserId)]) -> Result<(), Error> {
        let erase = |&(id, author): &(PostId, UserId)| post::erase(self.keys(), author, id, None);
        self.send_all("move: erase", deleted.iter().map(erase)).await?;
        Ok(())
    }

    /// Runs step 6: removes the posts without a record from their authors' lists.
    async fn remove_archived(&self, verdict: &Verdict) -> Result<(), Error> {
        let without_record = verdict.archived.iter().filter(|(id, _)| !verdict.changed.contains(id));
        let put = |(author, mut posts): (UserId, Vec<PostId>)| {
            posts.sort_unstable();
            moving::remove_archived(self.keys(), author, &posts)
        };
        self.send_all("move: remove archived", by_author(without_record).into_iter().map(put)).await?;
        Ok(())
    }

    /// Runs step 5: deletes unchanged records, and what is left of the likes of these and of posts without a live
    /// record; then lets tombstones expire.
    async fn drop_records(&self, records: &Records, verdict: &mut Verdict) -> Result<(), Error> {
        let mut batch = Batch::new("move: drop");
        let drop = |post: &Post| (post.id, batch.push(post::drop(self.keys(), post)));
        let dropped: Vec<_> =
            records.live.iter().filter(|post| is_dropped(post.id, verdict)).map(drop).collect();
        let mut replies = batch.send(self.store()).await?;
        for (id, ticket) in dropped {
            if !replies.take(ticket)? {
                verdict.changed.insert(id);
            }
        }
        let has_shards =
            |post: &&Post| post.details.counts.likes_ever() > NEWEST as u64 && is_dropped(post.id, verdict);
        let dropped = records.live.iter().filter(has_shards).map(|post| post.id);
        let gone = verdict.gone.iter().map(|(id, _)| *id);
        self.sweep_likes(dropped.chain(gone).chain(records.missing.iter().copied())).await?;
        let settle = |&(id, _): &(PostId, UserId)| post::settle_tombstone(self.keys(), id);
        self.send_all("move: settle", verdict.gone.iter().map(settle)).await?;
        Ok(())
    }

    /// Runs step 7: updates the authors' sets of deleted posts.
    async fn evict_expired(&self, gone: &[(PostId, UserId)]) -> Result<(), Error> {
        let forget =
            |(author, posts): (UserId, Vec<PostId>)| moving::evict_expired(self.keys(), author, &posts);
        self.send_all("move: gone", by_author(gone).into_iter().map(forget)).await?;
        Ok(())
    }
}

/// Returns true if the record of a live post is deleted: it is in the archive, and has not changed.
fn is_dropped(post: PostId, verdict: &Verdict) -> bool {
    !verdict.unmovable.contains(&post) && !verdict.changed.contains(&post)
}

/// Runs step 4: compares the archive's rows with the records.
fn judge(records: &Records, rows: Vec<Row>) -> Result<Verdict, Error> {
    let rows: HashMap<PostId, Row> = rows.into_iter().map(|row| (row.id(), row)).collect();
    let mut verdict = Verdict::default();
    for post in &records.live {
        match rows.get(&post.id) {
            Some(Row::Live(archived)) if is_same_or_later(archived, post) => {
                verdict.archived.push((post.id, post.author));
            }
            Some(Row::Tombstone { author, .. }) if *author == post.author => {
                verdict.deleted.push((post.id, post.author));
                verdict.changed.insert(post.id);
            }
            None => return Err(archive::error::Error::Unseen.into()),
            Some(row) => {
                tracing::error!(
                    post = %post.id, author = %post.author, archived_author = %row.author(),
                    "the archive has different content under this post id; the post stays in Redis"
                );
                verdict.unmovable.insert(post.id);
            }
        }
    }
    for &(id, author) in &records.tombstones {
        match rows.get(&id) {
            Some(Row::Tombstone { author: archived, .. }) if *archived == author => {
                verdict.gone.push((id, author));
            }
            None => return Err(archive::error::Error::Unseen.into()),
            Some(row) => {
                tracing::error!(
                    post = %id, %author, archived_author = %row.author(),
                    "the archive has different content under the id of a deleted post"
                );
                verdict.unmovable.insert(id);
            }
        }
    }
    verdict.gone.extend(&records.settled);
    // A mover that deleted the record may have been interrupted before it removed the post from its author's list.
    for id in &records.missing {
        match rows.get(id) {
            Some(Row::Live(post)) => verdict.archived.push((*id, post.author)),
            Some(Row::Tombstone { author, .. }) => verdict.gone.push((*id, *author)),
            None => {}
        }
    }
    Ok(verdict)
}

/// Returns true if the archive has this post, in the version of its record or in a later one. What changes without a
/// new version is not compared: the delivery state, and what changed in the archive after the record was deleted.
fn is_same_or_later(archived: &Post, post: &Post) -> bool {
    let Post { id, author, content, platform, visibility, created_at, delivery: _, details } = archived;
    let is_edited = details.edition > post.details.edition;
    details.version >= post.details.version
        && (is_edited || *content == post.content)
        && (id, author, platform, visibility, created_at)
            == (&post.id, &post.author, &post.platform, &post.visibility, &post.created_at)
}

fn by_author<'a>(posts: impl IntoIterator<Item = &'a (PostId, UserId)>) -> BTreeMap<UserId, Vec<PostId>> {
    let mut by_author: BTreeMap<UserId, Vec<PostId>> = BTreeMap::new();
    for &(post, author) in posts {
        by_author.entry(author).or_default().push(post);
    }
    by_author
}
