//! Conversations with entries of all kinds, and everything that is stored about their lists.

use fanfold::app::post::PublishRequest;
use fanfold::app::viewer::Viewer;
use fanfold::archive::referrer::EntryPortion;
use fanfold::model::attachment::ReferrerKind;
use fanfold::model::id::{PostId, UserId};
use fanfold::model::moderation::ActionNote;
use fanfold::model::moderator::Moderator;
use fanfold::model::post::Visibility;
use fanfold::model::referrer::EntryList;

use crate::harness::sql::{Database, Kind};
use crate::harness::world::{World, archive_all};

/// The number of hot posts of each author.
const HOT: usize = 14;

/// Two posts, of which the first is archived, and those that refer to each. User 1 is their author, user 2 replies and
/// quotes, the account of user 3 is private, and that of user 4 is suspended.
pub(crate) struct Conversation {
    pub(crate) world: World,
    pub(crate) database: Database,
    pub(crate) viewers: Vec<Viewer>,
    /// An archived post that has never changed.
    pub(crate) plain: u64,
    pub(crate) archived: u64,
    pub(crate) hot: u64,
    /// The replies to each: a public one, one for followers only, another public one, a quote, a public one of the private
    /// account, and one of the suspended account.
    pub(crate) replies: [Vec<u64>; 2],
}

impl Conversation {
    /// The counts of each of the two posts.
    pub(crate) const COUNTS: &str = "0 2 1";

    pub(crate) async fn new(kind: Kind) -> Self {
        let database = Database::new(kind).await;
        let world = World::with(&options(&database.url)).await;
        world.app.open_archive().await.unwrap();
        let mut viewers = Vec::new();
        for person in world.people(4).await {
            viewers.push(world.app.authenticate(&person.token).await.unwrap());
        }
        world.app.import_private(&[UserId::new(3).unwrap()]).await.unwrap();
        let tagged = PublishRequest { content: "A #tag.", ..PublishRequest::default() };
        let plain = world.app.publish(&viewers[0], tagged).await.unwrap().get();
        let archived = publish(&world, &viewers[0], PublishRequest::default()).await;
        let mut replies = vec![refer(&world, &viewers, archived).await];
        let mut hot = archived;
        for _ in 0..HOT {
            hot = publish(&world, &viewers[0], PublishRequest::default()).await;
        }
        replies.push(refer(&world, &viewers, hot).await);
        let suspended = UserId::new(4).unwrap();
        world.app.suspend_user(&Moderator::Operator, suspended, ActionNote::default()).await.unwrap();
        archive_all(&world.app).await;
        Self { world, database, viewers, plain, archived, hot, replies: replies.try_into().unwrap() }
    }

    /// Returns the options of a server over the same data, as options of the command line.
    pub(crate) fn options(&self) -> Vec<&str> {
        options(&self.database.url)
    }

    /// Returns everything that is stored about the lists of the two posts.
    pub(crate) async fn stored(&self) -> Vec<String> {
        let mut stored = self.stored_in_redis(self.hot);
        let archive = self.database.archive();
        let archived = PostId::new(self.archived).unwrap();
        let post = archive.read(&[archived]).await.unwrap().remove(0);
        stored.push(format!("{:?}", post.live().unwrap().details.counts));
        let portion = |list| EntryPortion { list, from: None, size: 100 };
        let portions: Vec<EntryPortion> = EntryList::all(archived).map(portion).collect();
        for (list, entries) in EntryList::all(archived).zip(archive.entries(&portions).await.unwrap()) {
            let entries: Vec<String> = entries.iter().map(ToString::to_string).collect();
            stored.push(format!("{:?} {:?}: {entries:?}", list.kind, list.entries));
        }
        stored.push(self.database.number("SELECT COUNT(*) FROM referrers").await.to_string());
        stored
    }

    /// Returns everything that is stored about the lists of a hot post.
    pub(crate) fn stored_in_redis(&self, post: u64) -> Vec<String> {
        let read = |list: EntryList| {
            let entries: Vec<String> = self.world.redis.raw(&["LRANGE", &self.key(list), "0", "-1"]);
            format!("{:?} {:?}: {entries:?}", list.kind, list.entries)
        };
        let mut stored: Vec<String> = EntryList::all(PostId::new(post).unwrap()).map(read).collect();
        let details: String = self.world.redis.raw(&["HGET", &format!("ff:{{p{post}}}:post"), "details"]);
        // The version grows with each repair.
        stored.push(details.split_once(' ').unwrap().1.to_owned());
        stored
    }

    fn key(&self, list: EntryList) -> String {
        self.world.app.store().keys().referrers(list.target, list.kind, list.entries).name().to_owned()
    }

    /// Writes the lists of a hot post as earlier versions did: all entries are listed, and public posts count.
    pub(crate) fn write_earlier_lists(&self, post: u64, counts: &str) {
        let redis = &self.world.redis;
        for kind in ReferrerKind::ALL {
            let lists = EntryList::of(PostId::new(post).unwrap(), kind).map(|list| self.key(list));
            let read = |list: &String| redis.raw::<Vec<String>>(&["LRANGE", list, "0", "-1"]);
            let mut entries: Vec<String> = lists.iter().flat_map(read).collect();
            for entry in &mut entries {
                entry.truncate(entry.find(':').unwrap_or(entry.len()));
            }
            entries.sort_by_key(|entry| std::cmp::Reverse(entry.parse::<u64>().unwrap()));
            redis.raw::<u64>(&[&["DEL"][..], &lists.each_ref().map(String::as_str)].concat());
            for entry in entries {
                redis.raw::<u64>(&["RPUSH", &lists[0], &entry]);
            }
        }
        redis.raw::<u64>(&["HSET", &format!("ff:{{p{post}}}:post"), "details", &format!("9 0 0 {counts}")]);
    }

    /// Writes the lists of the archive, and the settings of the store, as earlier versions did.
    pub(crate) async fn write_earlier_archive(&self, counts: &str) {
        let lists = "UPDATE referrers SET kind = kind - 3, author = NULL WHERE kind > 3";
        for _ in 0..2 {
            self.database.execute(lists).await;
        }
        let details = format!("UPDATE posts SET details = '9 0 0 {counts}' WHERE id = {}", self.archived);
        self.database.execute(&details).await;
        self.world.redis.raw::<u64>(&["HDEL", "ff:{g}:layout", "entry_kinds", "features"]);
    }
}

fn options(archive: &str) -> Vec<&str> {
    vec!["--archive-url", archive, "--post-hot-limit", "14", "--redis-expected-users", "3000"]
}

pub(crate) async fn publish(world: &World, author: &Viewer, request: PublishRequest<'_>) -> u64 {
    let request = PublishRequest { content: "A post.", ..request };
    world.app.publish(author, request).await.unwrap().get()
}

/// Refers to a post as often as [`Conversation`] says. Returns the posts that refer to it, without a repost of the private
/// account.
async fn refer(world: &World, viewers: &[Viewer], target: u64) -> Vec<u64> {
    let target = PostId::new(target);
    let reply = PublishRequest { in_reply_to: target, ..PublishRequest::default() };
    let limited = PublishRequest { visibility: Visibility::Followers, in_reply_to: target, ..reply };
    let quote = PublishRequest { quote_of: target, ..PublishRequest::default() };
    let mut posts = Vec::new();
    for (author, request) in [(1, reply), (1, limited), (1, reply), (1, quote), (2, reply), (3, reply)] {
        posts.push(publish(world, &viewers[author], request).await);
    }
    world.app.repost(&viewers[2], target.unwrap()).await.unwrap();
    posts
}
