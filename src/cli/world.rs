//! Loads an imported or generated world of users, follows and posts into the store.

use std::collections::VecDeque;
use std::fmt;
use std::mem;
use std::time::Duration;

use crate::app::App;
use crate::app::error::Error;
use crate::app::import::{ImportFollow, ImportReaction, ImportedFollows};
use crate::app::post::NewPost;
use crate::app::user::NewAccount;
use crate::cli::progress;
use crate::model::clock::Timestamp;
use crate::model::details::{References, Reply};
use crate::model::id::{PostId, UserId};
use crate::model::post::{Content, Platform, Visibility};

/// Number of users, follows, requests, mutes, likes or bookmarks written per call.
const CHUNK: usize = 5_000;
/// Maximum number of posts written per call.
const POSTS: usize = 1_000;
/// Timeout after which a silent delivery worker is presumed dead, and its jobs are taken over.
const ABANDONED_AFTER: Duration = Duration::from_secs(5);

/// A world: users, their follows, mutes, boundaries and posts.
pub(super) struct World {
    pub(super) users: Vec<NewAccount>,
    /// Pairs of follower and followed user, as indices into `users`.
    pub(super) follows: Vec<(u32, u32)>,
    /// Function that returns the time of a follow, given its index in `follows`.
    pub(super) time: Box<dyn Fn(usize) -> Timestamp + Send + Sync>,
    /// Pairs of a user and another whom they mute, as indices into `users`.
    pub(super) mutes: Vec<(u32, u32)>,
    pub(super) boundaries: Boundaries,
    pub(super) posts: Sayings,
}

/// Private accounts and blocks. Users are indices into [`World::users`].
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Boundaries {
    /// The users whose accounts are private.
    pub(super) private: Vec<u32>,
    /// Pairs of a user and another with a private account, whom they request to follow.
    pub(super) requests: Vec<(u32, u32)>,
    /// Pairs of a user and another whom they block. Neither follows the other, or requests to.
    pub(super) blocks: Vec<(u32, u32)>,
}

/// Posts in chronological order, generated lazily.
pub(super) struct Sayings {
    pub(super) count: usize,
    /// Maximum distance between a post and another to which it refers.
    pub(super) reach: usize,
    pub(super) all: Box<dyn Iterator<Item = Saying> + Send>,
}

/// A post to load.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Saying {
    /// The author, as an index into [`World::users`].
    pub(super) author: u32,
    /// The text. A repost has none, unless its original has been archived: it then becomes a post with this text.
    pub(super) content: Content,
    pub(super) platform: Option<Platform>,
    pub(super) at: Timestamp,
    pub(super) reference: Option<Reference>,
    pub(super) reactions: Reactions,
}

/// The likes and bookmarks of a post. Users are indices into [`World::users`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Reactions {
    /// The users who like the post, each with the time of the like.
    pub(super) likes: Vec<(u32, Timestamp)>,
    /// The users who have bookmarked the post, each with the time of the bookmark.
    pub(super) bookmarks: Vec<(u32, Timestamp)>,
}

/// An earlier post to which a post refers, as an index into all [`Sayings`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reference {
    /// The post to which it replies.
    Reply(usize),
    /// The post that it quotes.
    Quote(usize),
    /// The post that it reposts.
    Repost(usize),
}

impl Reference {
    /// Returns the reference to the post that comes `count` posts later.
    pub(super) fn after(self, count: usize) -> Self {
        match self {
            Self::Reply(target) => Self::Reply(target + count),
            Self::Quote(target) => Self::Quote(target + count),
            Self::Repost(target) => Self::Repost(target + count),
        }
    }

    /// Returns the index of the other post.
    pub(super) fn target(self) -> usize {
        match self {
            Self::Reply(target) | Self::Quote(target) | Self::Repost(target) => target,
        }
    }
}

/// Statistics of loading a world.
pub(super) struct Loaded {
    users: usize,
    created: usize,
    follows: usize,
    imported: ImportedFollows,
    mutes: usize,
    private: usize,
    requests: usize,
    blocks: usize,
    posts: usize,
    published: Published,
    took: Duration,
}

/// Statistics of publishing posts.
#[derive(Default)]
struct Published {
    /// Number of new posts.
    posts: usize,
    /// Number of likes, also of those that were there.
    likes: usize,
    /// Number of bookmarks, also of those that were there.
    bookmarks: usize,
}

impl World {
    /// Loads the world. Leaves existing data unchanged.
    pub(super) async fn load(self, app: &App) -> Result<Loaded, Error> {
        let began = app.now();
        let (users, follows, posts) = (self.users.len(), self.follows.len(), self.posts.count);
        let mut ids = Vec::with_capacity(users);
        let mut created = 0;
        let bar = progress::bar("users", users as u64);
        for chunk in self.users.chunks(CHUNK) {
            let imported = app.import_users(chunk.to_vec()).await?;
            ids.extend(imported.ids);
            created += imported.created;
            bar.inc(chunk.len() as u64);
        }
        bar.finish_and_clear();

        let mut imported = ImportedFollows::default();
        let bar = progress::bar("follows", follows as u64);
        for (number, chunk) in self.follows.chunks(CHUNK).enumerate() {
            let follow = |(index, &(follower, followee)): (usize, &(u32, u32))| ImportFollow {
                follower: ids[follower as usize],
                followee: ids[followee as usize],
                at: (self.time)(number * CHUNK + index),
            };
            imported += app.import_follows(chunk.iter().enumerate().map(follow).collect()).await?;
            bar.inc(chunk.len() as u64);
        }
        bar.finish_and_clear();
        let last = (self.time)(follows.saturating_sub(1));
        let mutes = pairs(&ids, &self.mutes);
        for chunk in mutes.chunks(CHUNK) {
            app.import_mutes(chunk, last).await?;
        }
        self.boundaries.load(app, &ids, last).await?;
        let Boundaries { private, requests, blocks } = self.boundaries;
        let (private, requests, blocks) = (private.len(), requests.len(), blocks.len());
        let mutes = mutes.len();
        let published = Publisher::new(app, &ids).await?.publish(self.posts).await?;
        let took = app.now().since(began);
        Ok(Loaded {
            users,
            created,
            follows,
            imported,
            mutes,
            private,
            requests,
            blocks,
            posts,
            published,
            took,
        })
    }
}

impl Boundaries {
    /// Loads the boundaries. Requests and blocks have the time `at`.
    async fn load(&self, app: &App, ids: &[UserId], at: Timestamp) -> Result<(), Error> {
        let private: Vec<UserId> = self.private.iter().map(|user| ids[*user as usize]).collect();
        for chunk in private.chunks(CHUNK) {
            app.import_private(chunk).await?;
        }
        let requests = pairs(ids, &self.requests);
        let request = |&(follower, followee): &_| ImportFollow { follower, followee, at };
        for chunk in requests.chunks(CHUNK) {
            app.import_requests(chunk.iter().map(request).collect()).await?;
        }
        app.import_blocks(&pairs(ids, &self.blocks), at).await
    }
}

/// Returns the ids of pairs of users.
fn pairs(ids: &[UserId], pairs: &[(u32, u32)]) -> Vec<(UserId, UserId)> {
    pairs.iter().map(|(user, other)| (ids[*user as usize], ids[*other as usize])).collect()
}

/// Publishes and delivers the posts that do not exist yet. An author's posts always come in the same order, so that if
/// an author already has N posts, the first N are skipped. Writes the likes and bookmarks of all posts that are not
/// archived.
///
/// A post needs the ids of those to which it refers. Posts are therefore published in waves: a post that refers to one
/// of the current wave begins the next.
struct Publisher<'a> {
    app: &'a App,
    ids: &'a [UserId],
    /// For each author, those of the posts there already that have not been skipped yet.
    there: Vec<VecDeque<Option<PostId>>>,
    /// The latest sayings.
    latest: VecDeque<Known>,
    /// Number of sayings before `latest`.
    forgotten: usize,
    /// The posts of the current wave, each with the index of its saying.
    wave: Vec<(usize, NewPost)>,
    /// The reactions to posts of the current wave, each with the index of the post's saying.
    waiting: Vec<(usize, Reactions)>,
    /// The likes to write.
    likes: Vec<ImportReaction>,
    /// The bookmarks to write.
    bookmarks: Vec<ImportReaction>,
    published: Published,
}

/// What a reference to a post needs.
#[derive(Default)]
struct Known {
    /// The id; `None` until the post is published, or if it has been archived.
    id: Option<PostId>,
    /// The position in the conversation.
    reply: Option<Reply>,
}

impl<'a> Publisher<'a> {
    async fn new(app: &'a App, ids: &'a [UserId]) -> Result<Self, Error> {
        let there = app.posts_of(ids).await?.into_iter().map(VecDeque::from).collect();
        Ok(Self {
            app,
            ids,
            there,
            latest: VecDeque::new(),
            forgotten: 0,
            wave: Vec::with_capacity(POSTS),
            waiting: Vec::new(),
            likes: Vec::new(),
            bookmarks: Vec::new(),
            published: Published::default(),
        })
    }

    /// Publishes the posts with their reactions.
    async fn publish(mut self, Sayings { count, reach, all }: Sayings) -> Result<Published, Error> {
        let bar = progress::bar("posts", count as u64);
        let mut workers = self.app.workers();
        let mut undelivered = 0;
        for (index, saying) in all.enumerate() {
            let target = saying.reference.map(Reference::target);
            if self.wave.first().is_some_and(|(first, _)| target >= Some(*first) || index - first >= POSTS) {
                undelivered += self.publish_wave().await?;
            }
            if undelivered >= POSTS {
                for worker in &mut workers {
                    worker.drain(ABANDONED_AFTER).await?;
                }
                undelivered = 0;
            }
            self.add(index, saying);
            self.react(CHUNK).await?;
            if self.latest.len() > reach + POSTS {
                self.latest.pop_front();
                self.forgotten += 1;
            }
            bar.inc(1);
        }
        self.publish_wave().await?;
        self.react(1).await?;
        for worker in &mut workers {
            worker.drain(ABANDONED_AFTER).await?;
        }
        bar.finish_and_clear();
        Ok(self.published)
    }

    /// Adds a saying to the wave, unless its post is there already.
    fn add(&mut self, index: usize, saying: Saying) {
        let Saying { author, content, platform, at, reference, reactions } = saying;
        let mut references = self.references(reference);
        let is_repost = references.original.is_some();
        let (content, platform) = if is_repost { (Content::of_repost(), None) } else { (content, platform) };
        references.tags = References::of_text(content.as_str()).tags;
        let reply = references.reply.clone();
        if let Some(id) = self.there[author as usize].pop_front() {
            self.latest.push_back(Known { id, reply });
            if let Some(id) = id {
                self.keep(id, &reactions);
            }
            return;
        }
        self.waiting.push((index, reactions));
        self.latest.push_back(Known { id: None, reply });
        let (author, visibility) = (self.ids[author as usize], Visibility::Public);
        self.wave
            .push((index, NewPost { author, content, platform, visibility, references, created_at: at }));
    }

    /// Returns the references of a saying. It refers to nothing if the other post has been archived.
    fn references(&self, reference: Option<Reference>) -> References {
        let known = |index: usize| self.latest.get(index.checked_sub(self.forgotten)?);
        match reference {
            None => References::default(),
            Some(Reference::Reply(parent)) => {
                let reply =
                    known(parent).and_then(|parent| Some(Reply::to(parent.id?, parent.reply.as_ref())));
                References { reply, ..References::default() }
            }
            Some(Reference::Quote(quoted)) => {
                let quoted = known(quoted).and_then(|quoted| quoted.id);
                References { quoted, ..References::default() }
            }
            Some(Reference::Repost(original)) => {
                let original = known(original).and_then(|original| original.id);
                References { original, ..References::default() }
            }
        }
    }

    /// Publishes the current wave, and returns the number of its posts.
    async fn publish_wave(&mut self) -> Result<usize, Error> {
        let (indices, posts): (Vec<usize>, Vec<NewPost>) = self.wave.drain(..).unzip();
        let ids = self.app.import_posts(&posts).await?;
        for (index, id) in indices.into_iter().zip(ids) {
            self.latest[index - self.forgotten].id = Some(id);
        }
        for (index, reactions) in mem::take(&mut self.waiting) {
            if let Some(id) = self.latest[index - self.forgotten].id {
                self.keep(id, &reactions);
            }
        }
        self.published.posts += posts.len();
        Ok(posts.len())
    }

    /// Keeps the reactions to a post until there are enough to write.
    fn keep(&mut self, post: PostId, Reactions { likes, bookmarks }: &Reactions) {
        let reaction =
            |&(user, at): &(u32, Timestamp)| ImportReaction { user: self.ids[user as usize], post, at };
        self.likes.extend(likes.iter().map(reaction));
        self.bookmarks.extend(bookmarks.iter().map(reaction));
    }

    /// Writes the likes and the bookmarks of which there are at least `least`.
    async fn react(&mut self, least: usize) -> Result<(), Error> {
        if self.likes.len() >= least {
            for likes in self.likes.chunks(CHUNK) {
                self.app.import_likes(likes).await?;
            }
            self.published.likes += self.likes.len();
            self.likes.clear();
        }
        if self.bookmarks.len() >= least {
            for bookmarks in self.bookmarks.chunks(CHUNK) {
                self.app.import_bookmarks(bookmarks).await?;
            }
            self.published.bookmarks += self.bookmarks.len();
            self.bookmarks.clear();
        }
        Ok(())
    }
}

impl fmt::Display for Loaded {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { users, created, follows, imported, mutes, private, requests, blocks, .. } = self;
        let Self { posts, published, took, .. } = self;
        let ImportedFollows { added, already, rejected } = imported;
        writeln!(formatter, "users:   {users}, of which {created} are new")?;
        write!(formatter, "follows: {follows}, of which {added} are new, {already} were there")?;
        if *rejected > 0 {
            write!(formatter, ", {rejected} exceeded the follow limit")?;
        }
        if *mutes > 0 {
            write!(formatter, "\nmutes:   {mutes}")?;
        }
        if *private > 0 {
            write!(formatter, "\nprivate: {private} accounts, with {requests} requests to follow them")?;
        }
        if *blocks > 0 {
            write!(formatter, "\nblocks:  {blocks}")?;
        }
        if *posts > 0 {
            write!(formatter, "\nposts:   {posts}, of which {} are new", published.posts)?;
        }
        if published.likes > 0 {
            write!(formatter, "\nlikes:   {}, and {} bookmarks", published.likes, published.bookmarks)?;
        }
        write!(formatter, "\ntook {:.1} s", took.as_secs_f64())
    }
}
