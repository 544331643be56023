//! Lists of referrers that have very many entries which readers may not see: what a page takes, and what a reader finds.

use fanfold::app::import::ImportFollow;
use fanfold::app::post::NewPost;
use fanfold::model::attachment::ReferrerKind;
use fanfold::model::clock::Clock as _;
use fanfold::model::details::{References, Reply};
use fanfold::model::id::{PostId, UserId};
use fanfold::model::page::Direction;
use fanfold::model::post::{Content, Visibility};
use fanfold::model::referrer::{EntryKind, Referral};
use fanfold::store::batch::Batch;
use fanfold::store::referrer::refer;
use serde_json::{Value, json};

use crate::harness::cost::counted;
use crate::harness::graph::Graph;
use crate::harness::id::global;
use crate::harness::post::{post, try_publish};
use crate::harness::sql::{Database, Kind};
use crate::harness::walk::{ReferrerField, ReferrerPage, ReferrerWalk};
use crate::harness::world::{Person, World, archive_all, user_of};

/// Number of entries that readers may not see.
const HIDDEN: u64 = 50_000;
/// Number of imported users who each reply to the post, quote it and repost it: some of them are public, others are private,
/// and others write for followers only.
const AUTHORS: usize = 60;
const PRIVATE: std::ops::Range<usize> = 40..50;
const FOR_FOLLOWERS: std::ops::Range<usize> = 50..60;

/// The bounds of a page, beyond the two round trips that find the post: those of an anonymous viewer, whose page is one part,
/// and those of others, whose page may be refilled. Entries of authors whom the viewer does not follow are not looked up.
const ANONYMOUS_ROUND_TRIPS: u64 = 3;
const ROUND_TRIPS: u64 = 6;
const COMMANDS: u64 = 600;

/// A world in which a post has very many entries.
struct Crowd {
    world: World,
    /// The post's author, a user who follows all who write for followers, and one who follows no one.
    people: [Person; 3],
    target: String,
    /// The entries of each list that everyone sees, and those that only the follower sees as well, oldest first.
    public: [Vec<String>; 3],
    all: [Vec<String>; 3],
}

const KINDS: [ReferrerKind; 3] = [ReferrerKind::Reply, ReferrerKind::Quote, ReferrerKind::Repost];

impl Crowd {
    async fn new(database: &Database) -> Self {
        let world = World::with_archive(database, &["--post-hot-limit", "1"]).await;
        let people = [world.register("ada").await, world.register("bob").await, world.register("eve").await];
        let ids = Graph { users: AUTHORS, follows: Vec::new() }.load(&world.app, None).await;
        let follower = user_of(&world, &people[1]).await;
        let follows = ids[PRIVATE.start..].iter().map(|&followee| ImportFollow {
            follower,
            followee,
            at: world.clock.now(),
        });
        world.app.import_follows(follows.collect()).await.unwrap();
        world.app.import_private(&ids[PRIVATE]).await.unwrap();
        let target = try_publish(&world, &people[0], json!({})).await.unwrap();
        let mut crowd = Self { world, people, target, public: Default::default(), all: Default::default() };
        let per_author = HIDDEN / AUTHORS as u64;
        for (index, author) in ids.iter().enumerate() {
            crowd.publish(index, *author).await;
            crowd.hide(per_author).await;
        }
        crowd
    }

    /// Lets an imported user reply to the post, quote it, and repost it.
    async fn publish(&mut self, index: usize, author: UserId) {
        let target = PostId::new(1).unwrap();
        let references = [
            References { reply: Some(Reply::to(target, None)), ..References::default() },
            References { quoted: Some(target), ..References::default() },
            References { original: Some(target), ..References::default() },
        ];
        let is_limited = FOR_FOLLOWERS.contains(&index);
        let posts: Vec<NewPost> = references
            .into_iter()
            .map(|references| {
                let is_repost = references.original.is_some();
                NewPost {
                    author,
                    content: if is_repost { Content::of_repost() } else { Content::parse("x").unwrap() },
                    platform: None,
                    visibility: if is_limited && !is_repost {
                        Visibility::Followers
                    } else {
                        Visibility::Public
                    },
                    references,
                    created_at: self.world.clock.now(),
                }
            })
            .collect();
        let published = self.world.app.import_posts(&posts).await.unwrap();
        for (kind, post) in published.into_iter().enumerate() {
            let is_repost = KINDS[kind] == ReferrerKind::Repost;
            let entry = if is_repost { global("User", author.get()) } else { global("Post", post.get()) };
            if !PRIVATE.contains(&index) && (is_repost || !is_limited) {
                self.public[kind].push(entry.clone());
            }
            self.all[kind].push(entry);
        }
    }

    /// Adds this number of entries by many authors who are private or inactive, a third of them to each list.
    async fn hide(&self, count: u64) {
        let redis = &self.world.redis;
        let last: u64 = redis.raw(&["INCRBY", "ff:{g}:next:post", &count.to_string()]);
        let store = self.world.app.store();
        let mut batch = Batch::new("test: hide");
        let hide = |id: u64| {
            let kind = KINDS[(id % 3) as usize];
            let (target, referrer) = (PostId::new(1).unwrap(), PostId::new(id).unwrap());
            let author = UserId::new(1_000_000 + id).unwrap();
            let entries = if id.is_multiple_of(2) { EntryKind::Limited } else { EntryKind::Withheld };
            batch.push(refer(store.keys(), &Referral { kind, target, referrer, author }, Some(entries)))
        };
        let tickets = (last + 1 - count..=last).map(hide).collect();
        batch.send(store).await.unwrap().take_all(tickets).unwrap();
    }

    /// Reads a list page by page, and checks what each page takes. Returns the entries in list order, and the number of
    /// pages that are short, apart from the last.
    async fn walk(&self, walk: &ReferrerWalk<'_>) -> (Vec<String>, usize) {
        let app = &self.world.app;
        let plain = format!("{{ post(id: \"{}\") {{ id }} }}", self.target);
        let found = self.world.data(walk.token, &plain, Value::Null).await;
        assert_eq!(found["post"]["id"], json!(self.target));
        let before = app.store().round_trips();
        self.world.data(walk.token, &plain, Value::Null).await;
        let found = app.store().round_trips() - before;
        let (mut seen, mut short, mut cursor) = (Vec::new(), 0, None);
        loop {
            if cursor.is_none() {
                // So that everything is warm.
                walk.page(None).await.unwrap();
            }
            self.world.redis.raw::<String>(&["CONFIG", "RESETSTAT"]);
            let before = app.store().round_trips();
            let ReferrerPage { nodes, next } = walk.page(cursor.as_ref()).await.unwrap();
            let trips = app.store().round_trips() - before - found;
            let commands: u64 = counted(&self.world).values().sum();
            let what = format!("{:?} {:?} from {cursor:?}", walk.list, walk.direction);
            let most = walk.token.map_or(ANONYMOUS_ROUND_TRIPS, |_| ROUND_TRIPS);
            assert!(trips <= most, "{trips} round trips: {what}");
            assert!(commands <= COMMANDS, "{commands} commands: {what}");
            short += usize::from(nodes.len() < walk.size && next.is_some());
            match walk.direction {
                Direction::Forward => seen.extend(nodes),
                Direction::Backward => drop(seen.splice(..0, nodes)),
            }
            cursor = next;
            if cursor.is_none() {
                return (seen, short);
            }
        }
    }

    /// Reads all lists, in pages of this size, as each viewer.
    async fn check(&self, size: usize) {
        let [_, follower, stranger] = &self.people;
        let viewers = [(None, false), (Some(follower), true), (Some(stranger), false)];
        for (list, direction, (viewer, sees_all)) in ReferrerField::ALL.into_iter().flat_map(|list| {
            let directions = [Direction::Forward, Direction::Backward].into_iter();
            directions.flat_map(move |direction| viewers.map(|viewer| (list, direction, viewer)))
        }) {
            let kind = match list {
                ReferrerField::OldestReplies | ReferrerField::NewestReplies => 0,
                ReferrerField::Quotes => 1,
                ReferrerField::RepostedBy => 2,
            };
            let mut expected = if sees_all { self.all[kind].clone() } else { self.public[kind].clone() };
            if list != ReferrerField::OldestReplies {
                expected.reverse();
            }
            let token = viewer.map(|viewer| viewer.token.as_str());
            let walk = ReferrerWalk { world: &self.world, token, post: &self.target, list, direction, size };
            let (seen, short) = self.walk(&walk).await;
            assert_eq!(seen, expected, "{list:?} {direction:?} for {viewer:?}");
            assert!(viewer.is_some() || short == 0, "{short} short pages of {list:?} {direction:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn entries_that_readers_may_not_see_cost_them_little_and_hide_nothing() {
    let database = Database::new(Kind::Sqlite).await;
    let crowd = Crowd::new(&database).await;
    crowd.check(20).await;
    crowd.check(7).await;
    let counts = json!({ "replyCount": 40, "quoteCount": 40, "repostCount": 50 });
    let fields = "replyCount quoteCount repostCount";
    assert_eq!(post(&crowd.world, &crowd.people[2], &crowd.target, fields).await, counts);
    // The author's newer post lets the other one be archived.
    try_publish(&crowd.world, &crowd.people[0], json!({})).await.unwrap();
    archive_all(&crowd.world.app).await;
    assert!(!crowd.world.redis.raw::<bool>(&["HEXISTS", "ff:{p1}:post", "author"]), "it is archived");
    crowd.check(20).await;
    assert_eq!(post(&crowd.world, &crowd.people[2], &crowd.target, fields).await, counts);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_among_very_many_posts_of_a_blocked_user_end_early() {
    const POSTS: usize = 3_000;
    let database = Database::new(Kind::Sqlite).await;
    let world = World::with_archive(&database, &[]).await;
    let people = [world.register("ada").await, world.register("bob").await, world.register("eve").await];
    let (target, author) = (PostId::new(1).unwrap(), user_of(&world, &people[2]).await);
    let id = try_publish(&world, &people[0], json!({})).await.unwrap();
    let first = try_publish(&world, &people[0], json!({ "inReplyTo": id })).await.unwrap();
    let reply = NewPost {
        author,
        content: Content::parse("x").unwrap(),
        platform: None,
        visibility: Visibility::Public,
        references: References { reply: Some(Reply::to(target, None)), ..References::default() },
        created_at: world.clock.now(),
    };
    for _ in 0..POSTS / 1_000 {
        world.app.import_posts(&vec![reply.clone(); 1_000]).await.unwrap();
    }
    let last = try_publish(&world, &people[0], json!({ "inReplyTo": id })).await.unwrap();
    let block = format!(
        "mutation {{ block(input: {{ userId: \"{}\" }}) {{ userErrors {{ code }} }} }}",
        people[2].id
    );
    world.data(Some(&people[1].token), &block, Value::Null).await;
    let crowd = Crowd { world, people, target: id, public: Default::default(), all: Default::default() };
    for direction in [Direction::Forward, Direction::Backward] {
        let token = Some(crowd.people[1].token.as_str());
        let (list, post) = (ReferrerField::OldestReplies, crowd.target.as_str());
        let walk = ReferrerWalk { world: &crowd.world, token, post, list, direction, size: 20 };
        let (seen, short) = crowd.walk(&walk).await;
        assert_eq!(seen, [first.as_str(), &last], "{direction:?}");
        assert!((2..20).contains(&short), "{short} pages end early");
    }
}
