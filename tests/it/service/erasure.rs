//! Erased accounts: afterwards, no key and no table contains their ids, names and texts, wherever the work is
//! interrupted.

use std::collections::BTreeSet;
use std::time::Duration;

use fanfold::app::App;
use fanfold::app::archive::Listed;
use fanfold::app::check::Finding;
use fanfold::app::import::ImportFollow;
use fanfold::app::moderation::invite::NewInvite;
use fanfold::app::moderation::report::ReportTarget;
use fanfold::app::post::read::{PostPage, PostRecords};
use fanfold::app::post::{EditRequest, NewPost, PublishRequest};
use fanfold::app::read::{Load as _, Shared};
use fanfold::app::viewer::Viewer;
use fanfold::model::attachment::ReferrerKind;
use fanfold::model::clock::{Clock as _, Day, Period};
use fanfold::model::details::References;
use fanfold::model::exclusion::Version;
use fanfold::model::id::{PostId, UserId};
use fanfold::model::moderation::ActionNote;
use fanfold::model::moderator::Moderator;
use fanfold::model::page::{Direction, Window};
use fanfold::model::post::{Content, Visibility};
use fanfold::model::reaction::ReactionKind;
use fanfold::model::relation::MuteScope;
use fanfold::store::batch::Batch;
use fanfold::store::block::Block;
use fanfold::store::key::KEYS;
use fanfold::store::key::row::{Fact, Row};
use fanfold::store::{audience, block, ordered, tie};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::harness::case::{cases, stride};
use crate::harness::check::check;
use crate::harness::graph::Graph;
use crate::harness::sql::{Database, Kind};
use crate::harness::turnstile::Actor;
use crate::harness::world::{DAY, PASSWORD, Person, World, archive_all, deliver_all};

/// A word that only the texts of deleted users contain.
const SECRET: &str = "unforgettable";

/// The id before that of the first deleted user. No other number is as large, except times.
const FIRST: u64 = 45_600;

/// Makes an account private.
const HIDE: &str = "mutation { updateProfile(input: { isPrivate: true }) { userErrors { message } } }";

fn id(number: u64) -> UserId {
    UserId::new(number).unwrap()
}

/// A world with users who stay, and an archive.
struct Stage {
    world: World,
    database: Database,
    people: Vec<Person>,
    /// Posts of the first of them: an archived one, and a hot one.
    targets: [PostId; 2],
    /// Number of further users who stay.
    strangers: usize,
    /// Code of an invite that all deleted users have used.
    invite: String,
    next: u64,
    /// The keys that some deleted user has had, by their methods, and the ends of their names.
    seen: BTreeSet<(&'static str, &'static str)>,
}

impl Stage {
    /// Creates a world in which this number of posts of an author stay in Redis.
    async fn new(kind: Kind, hot: usize) -> Self {
        let database = Database::new(kind).await;
        let options = [
            ["--archive-url", &database.url],
            ["--post-hot-limit", &hot.to_string()],
            ["--timeline-push-limit", "3"],
            ["--post-publishes-per-author", "1000000"],
            ["--account-deletion-grace", "0"],
        ];
        let world = World::with(options.as_flattened()).await;
        world.app.open_archive().await.unwrap();
        let people = world.people(8).await;
        world.data(Some(&people[6].token), HIDE, Value::Null).await;
        let author = world.app.authenticate(&people[0].token).await.unwrap();
        let mut targets = Vec::new();
        for _ in 0..=hot {
            let request = PublishRequest { content: "There.", ..PublishRequest::default() };
            targets.push(world.app.publish(&author, request).await.unwrap());
        }
        let targets = [targets[0], targets[hot]];
        archive_all(&world.app).await;
        world.app.set_moderator(&Moderator::Operator, id(2), true).await.unwrap();
        let uses = NewInvite { uses: 1_000, expires_at: None, note: "" };
        let invite = world.app.create_invite(&Moderator::Operator, uses).await.unwrap();
        let invite = invite.code.as_str().to_owned();
        Self { world, database, people, targets, strangers: 0, invite, next: FIRST, seen: BTreeSet::new() }
    }

    /// Registers a user whose id has digits that nothing else has.
    async fn leaver(&mut self) -> Person {
        self.next += 1;
        self.world.redis.raw::<String>(&["SET", "ff:{g}:next:user", &(self.next - 1).to_string()]);
        let leaver = self.world.register(&format!("{SECRET}_{}", self.next)).await;
        let edit = "mutation ($text: String!) { updateProfile(input: { displayName: $text, bio: $text,
            region: { country: \"PT\" } }) { userErrors { message } } }";
        let text = json!({ "text": format!("{SECRET} person") });
        self.world.data(Some(&leaver.token), edit, text).await;
        leaver
    }

    async fn publish(&self, author: &Person, visibility: Visibility) {
        let viewer = self.world.app.authenticate(&author.token).await.unwrap();
        let content = format!("{SECRET} #{SECRET} words");
        let key = format!("{visibility:?}");
        self.world
            .app
            .publish(
                &viewer,
                PublishRequest {
                    content: &content,
                    visibility,
                    idempotency_key: Some(&key),
                    ..PublishRequest::default()
                },
            )
            .await
            .unwrap();
        self.world
            .app
            .publish(&viewer, PublishRequest { content: &content, visibility, ..PublishRequest::default() })
            .await
            .unwrap();
    }

    /// Gives a user everything that an account may have.
    async fn live(&self, leaver: &Person) {
        let (app, people) = (&self.world.app, &self.people);
        let viewer = app.authenticate(&leaver.token).await.unwrap();
        for person in &people[..4] {
            self.world.follow(person, leaver).await;
        }
        // The last but one is a private account, and the last one is suspended later.
        app.unsuspend_user(&Moderator::Operator, id(8), ActionNote::default()).await.unwrap();
        for person in people[2..4].iter().chain(&people[6..]) {
            self.world.follow(leaver, person).await;
        }
        for _ in 0..3 {
            self.publish(leaver, Visibility::Public).await;
            self.publish(leaver, Visibility::Followers).await;
        }
        self.converse(leaver).await;
        self.edit(leaver, "once").await;
        deliver_all(app).await;
        archive_all(app).await;
        // The oldest posts are archived by now.
        self.edit(leaver, "twice").await;
        let query = "query ($id: ID!) { user(by: { id: $id }) { displayName }
            viewer { timeline { nodes { content } } } }";
        for person in &people[..7] {
            self.world.data(Some(&person.token), query, json!({ "id": leaver.id })).await;
            self.world.data(Some(&leaver.token), query, json!({ "id": person.id })).await;
        }
        self.note(leaver).await;
        app.export_account(&viewer, Some(PASSWORD), None).await.unwrap();
        app.export_account(&viewer, Some("wrong horse"), None).await.unwrap_err();
        app.mute(&viewer, id(3), MuteScope::All, None).await.unwrap();
        app.mute(&viewer, id(2), MuteScope::All, None).await.unwrap();
        app.unmute(&viewer, id(2)).await.unwrap();
        app.block(&viewer, id(5)).await.unwrap();
        for target in &self.targets[..2] {
            app.bookmark(&viewer, *target).await.unwrap();
            app.like(&viewer, *target).await.unwrap();
        }
        if self.has_trees() {
            self.add_many(&viewer).await;
        }
        let muter = app.authenticate(&people[0].token).await.unwrap();
        app.mute(&muter, id(self.next), MuteScope::All, None).await.unwrap();
        let blocker = app.authenticate(&people[5].token).await.unwrap();
        app.block(&blocker, id(self.next)).await.unwrap();
        app.suspend_user(&Moderator::Operator, id(8), ActionNote::default()).await.unwrap();
        app.work_on_accounts().await.unwrap();
        app.repost(&viewer, self.targets[0]).await.unwrap();
        // An archived post.
        let oldest = self.posts_of(&viewer).await.pop().unwrap();
        app.delete_post(&viewer, oldest).await.unwrap();
    }

    /// Returns true if the last leaver has so many likes and bookmarks that they are in trees: two of four, whose
    /// erasures are interrupted before successive round trips.
    fn has_trees(&self) -> bool {
        self.next % 4 < 2
    }

    /// Adds as many likes, bookmarks and blockers as need a tree, of posts and by users that do not exist.
    async fn add_many(&self, viewer: &Viewer) {
        let (store, user) = (self.world.app.store(), viewer.user().unwrap());
        let (keys, at) = (store.keys(), self.world.clock.now());
        let block = Block { since: Some(at), version: Version::new(1) };
        let mut batch = Batch::new("test");
        for number in 1_000_000..1_000_130 {
            let (post, blocker) = (PostId::new(number).unwrap(), UserId::new(number).unwrap());
            for kind in ReactionKind::ALL {
                let (set, bucket) = (keys.reacted(user, kind), keys.reactions_of(user));
                let _ = batch.push(ordered::add(&set, post, at, None, &bucket, None));
            }
            // Few leavers have so many blockers, whose blocks take many round trips.
            if self.next % 8 == 1 {
                let _ = batch.push(block::mirror(keys, blocker, user, block));
            }
        }
        batch.send(store).await.unwrap();
    }

    /// Makes the account of a user private, and lets another request to follow it.
    async fn hide(&self, leaver: &Person) {
        self.world.data(Some(&leaver.token), HIDE, Value::Null).await;
        self.world.follow(&self.people[6], leaver).await;
    }

    /// Returns all posts of a user, the newest first.
    async fn posts_of(&self, viewer: &Viewer) -> Vec<PostId> {
        let author = viewer.user().unwrap();
        let window = Window { direction: Direction::Forward, size: 99, from: None };
        let page = PostPage { author, window, period: Period::ALL, only_public: false };
        self.world.app.load(page).await.unwrap().entries.iter().map(Listed::id).collect()
    }

    /// Edits all posts of a user, under an idempotency key or without one.
    async fn edit(&self, leaver: &Person, how_often: &str) {
        let app = &self.world.app;
        let viewer = app.authenticate(&leaver.token).await.unwrap();
        for (number, post) in self.posts_of(&viewer).await.into_iter().enumerate() {
            let content = format!("{SECRET} words, edited {how_often}");
            let key = format!("{SECRET} edit {how_often} of {post}");
            let idempotency_key = (number % 2 == 0).then_some(key.as_str());
            let request = EditRequest { post, content: &content, idempotency_key };
            app.edit_post(&viewer, request).await.unwrap();
        }
    }

    /// Lets a user reply to posts and quote them, and others reply to the user.
    async fn converse(&self, leaver: &Person) {
        let viewer = self.world.app.authenticate(&leaver.token).await.unwrap();
        let other = self.world.app.authenticate(&self.people[1].token).await.unwrap();
        let content = format!("{SECRET} #{SECRET} words");
        let mut own = None;
        for [in_reply_to, quote_of] in [self.targets, [self.targets[1], self.targets[0]]] {
            let (in_reply_to, quote_of) = (Some(in_reply_to), Some(quote_of));
            let request =
                PublishRequest { content: &content, in_reply_to, quote_of, ..PublishRequest::default() };
            own = Some(self.world.app.publish(&viewer, request).await.unwrap());
        }
        let reply = PublishRequest { content: "Here.", in_reply_to: own, ..PublishRequest::default() };
        self.world.app.publish(&other, reply).await.unwrap();
    }

    /// Adds what moderators know of a user: reports by and about the user, the use of an invite, and a recovery code.
    async fn note(&self, leaver: &Person) {
        let app = &self.world.app;
        let reporter = app.authenticate(&self.people[1].token).await.unwrap();
        let viewer = app.authenticate(&leaver.token).await.unwrap();
        let reason = format!("an {SECRET} person");
        app.report(&reporter, ReportTarget::User(id(self.next)), &reason).await.unwrap();
        app.report(&viewer, ReportTarget::User(id(3)), &reason).await.unwrap();
        let used = format!("ff:{{m}}:invite:{}:used", self.invite);
        self.world.redis.raw::<i64>(&["ZADD", &used, "1", &self.next.to_string()]);
        let moderator = Moderator::User(id(2));
        app.issue_recovery_code(&moderator, id(self.next), ActionNote::default()).await.unwrap();
    }

    /// Lets a user and each of these view the profile of the other, and end a mute of the other.
    async fn meet(&self, leaver: UserId, strangers: &[UserId]) {
        let store = self.world.app.store();
        let (keys, day) = (store.keys(), Day::of(self.world.clock.now()));
        for strangers in strangers.chunks(500) {
            let mut batch = Batch::new("meet");
            let of_both = |&stranger: &UserId| [(leaver, stranger), (stranger, leaver)];
            let commands = strangers.iter().flat_map(of_both).flat_map(|(one, other)| {
                let noted = audience::note(keys, one, day, other);
                [tie::add(keys, one, other), noted, audience::record(keys, other, day, one)]
            });
            let met = commands.map(|command| batch.push(command)).collect();
            batch.send(store).await.unwrap().take_all(met).unwrap();
        }
    }

    /// Gives a user this number of follows, twice as many followers, and posts.
    async fn grow(&self, leaver: &Person, follows: usize, posts: usize) {
        let app = &self.world.app;
        let leaver = app.authenticate(&leaver.token).await.unwrap().user().unwrap();
        let strangers = Graph { users: 2 * follows, follows: Vec::new() }.load(app, None).await;
        let at = Graph::time(0);
        let by = |&followee: &UserId| ImportFollow { follower: leaver, followee, at };
        let of = |&follower: &UserId| ImportFollow { follower, followee: leaver, at };
        let edges = strangers[..follows].iter().map(by).chain(strangers.iter().map(of));
        app.import_follows(edges.collect()).await.unwrap();
        self.meet(leaver, &strangers).await;
        let post = |number: usize| NewPost {
            references: References::of_text(&format!("#{SECRET}")),
            author: leaver,
            content: Content::parse(&format!("{SECRET} words {number}")).unwrap(),
            platform: None,
            visibility: [Visibility::Public, Visibility::Followers][number % 2],
            created_at: at,
        };
        app.import_posts(&(0..posts).map(post).collect::<Vec<_>>()).await.unwrap();
        deliver_all(app).await;
        archive_all(app).await;
    }

    /// Notes the keys that the last leaver has.
    fn see_keys(&mut self) {
        let user = id(self.next);
        let (redis, keys) = (&self.world.redis, self.world.app.store().keys());
        for row in KEYS.iter().filter(|row| row.is_of_user()) {
            let key = keys.of_user(row, user);
            let has = |part: &&&str| redis.raw(&["EXISTS", &format!("{}{part}", key.name())]);
            self.seen.extend(row.parts.iter().filter(has).map(|part| (row.method, *part)));
        }
    }

    /// Checks that deleted users had each key that an erasure deletes, so that a new one is tested.
    fn check_seen(&self) {
        let lasts = |row: &Row| !row.facts.iter().any(|fact| matches!(fact, Fact::Expiry(_) | Fact::Derived));
        let is_erased =
            |row: &Row| row.is_of_user() && row.arguments.is_empty() && !row.is_kept() && !row.is_channel();
        let erased = KEYS.iter().filter(|row| is_erased(row) && lasts(row));
        let erased = erased.flat_map(|row| row.parts.iter().map(|part| (row.method, *part)));
        let missing: Vec<_> = erased.filter(|key| !self.seen.contains(key)).collect();
        assert!(missing.is_empty(), "let a user have these keys before the erasure: {missing:?}");
    }

    async fn delete(&self, leaver: &Person) {
        let viewer = self.world.app.authenticate(&leaver.token).await.unwrap();
        self.world.app.delete_account(&viewer, Some(PASSWORD), None).await.unwrap();
    }

    /// Works until nothing is left to do.
    async fn finish(&self) {
        for _ in 0..4 {
            self.world.clock.advance(Duration::from_secs(61));
            self.world.app.repair().await.unwrap();
            self.world.app.work_on_accounts().await.unwrap();
            deliver_all(&self.world.app).await;
            archive_all(&self.world.app).await;
        }
    }

    /// Returns everything that a key contains, as texts.
    fn texts(&self, key: &str) -> Vec<String> {
        let raw = |words: &[&str]| -> Vec<String> {
            let value: redis::Value = self.world.redis.raw(words);
            flat(value)
        };
        let kind: String = self.world.redis.raw(&["TYPE", key]);
        match kind.as_str() {
            "string" => raw(&["GET", key]),
            "hash" => raw(&["HGETALL", key]),
            "list" => raw(&["LRANGE", key, "0", "-1"]),
            "set" => raw(&["SMEMBERS", key]),
            "zset" => raw(&["ZRANGE", key, "0", "-1", "WITHSCORES"]),
            "stream" => raw(&["XRANGE", key, "-", "+"]),
            // It has expired since it was listed.
            "none" => Vec::new(),
            other => panic!("{key} is a {other}"),
        }
    }

    /// Checks that nothing is left of deleted users: neither their ids, except in tombstones, nor their names and texts.
    async fn check(&self) {
        let ids: Vec<String> = (FIRST + 1..=self.next).map(|id| id.to_string()).collect();
        for key in self.world.redis.raw::<Vec<String>>(&["KEYS", "*"]) {
            let texts = self.texts(&key);
            assert!(!texts.iter().any(|text| text.contains(SECRET)), "{key} has {texts:?}");
            // A fence expires by itself within a minute, and a bucket within an hour.
            // The log of the moderators keeps the ids.
            let is_tombstone = key.contains(":fence:")
                || key == "ff:{m}:log"
                || key.contains(":changes:")
                || key.ends_with(":void")
                || texts.iter().any(|text| text == "deleted");
            let has_id = |text: &str| {
                let mut numbers = text.split(|character: char| !character.is_ascii_digit());
                numbers.any(|number| ids.iter().any(|id| number == id))
            };
            let names = has_id(&key) || texts.iter().any(|text| has_id(text));
            // The counter of ids is the last id.
            assert!(is_tombstone || !names || key == "ff:{g}:next:user", "{key} has {texts:?}");
        }
        let statement = format!(
            "SELECT COUNT(*) FROM posts WHERE author > {} AND (deleted = 0 OR content IS NOT NULL)",
            self.people.len()
        );
        let left = self.database.number(&statement).await;
        assert_eq!(left, 0, "rows with content");
        // Nobody but the deleted users has replied to the targets, and the replies to their posts are in no list.
        assert_eq!(self.database.number("SELECT COUNT(*) FROM referrers").await, 0);
        assert_eq!(self.database.number("SELECT COUNT(*) FROM edits").await, 0);
        assert_eq!(self.world.redis.raw::<Vec<String>>(&["KEYS", "ff:{p*}:edits"]), [""; 0]);
        assert_eq!(self.world.redis.raw::<Vec<String>>(&["KEYS", "ff:{p*}:replies*"]), [""; 0]);
        assert_eq!(self.world.redis.raw::<Vec<String>>(&["KEYS", "ff:{p*}:quotes*"]), [""; 0]);
        let targets = self.targets.map(Listed::Id).into();
        let targets =
            self.world.app.load(PostRecords { posts: Shared(targets), needs_archive: true }).await.unwrap();
        for target in targets.iter().map(|target| target.as_ref().unwrap().unchecked()) {
            let counts = target.details.counts;
            assert!(ReferrerKind::ALL.iter().all(|kind| counts.of(*kind) == 0), "{}: {counts:?}", target.id);
            assert_eq!(counts.likes(), 0, "{}", target.id);
        }
        let found = check(&self.world.app, false).await;
        let stayed = self.people.len() + self.strangers;
        assert_eq!(
            (found[Finding::Users], found.faults(), found[Finding::Unfinished]),
            (stayed as u64, 0, 0)
        );
        // Erased users do not return their uses of an invite.
        let used = format!("ff:{{m}}:invite:{}:used", self.invite);
        assert_eq!(self.world.redis.raw::<u64>(&["ZCARD", &used]), self.next - FIRST);
    }
}

/// Returns the texts in a value.
fn flat(value: redis::Value) -> Vec<String> {
    match value {
        redis::Value::Array(values) => values.into_iter().flat_map(flat).collect(),
        redis::Value::BulkString(bytes) => vec![String::from_utf8_lossy(&bytes).into_owned()],
        redis::Value::SimpleString(text) => vec![text],
        redis::Value::Int(number) => vec![number.to_string()],
        _ => Vec::new(),
    }
}

/// Erases accounts, each interrupted before another of its round trips, `stride` further on than the one before, and then
/// finished by another worker.
async fn erased_wherever_interrupted(kind: Kind, stride: usize) {
    let mut stage = Stage::new(kind, 3).await;
    for stops in (0..).step_by(stride) {
        let leaver = stage.leaver().await;
        stage.live(&leaver).await;
        if stops / stride % 2 == 1 {
            stage.hide(&leaver).await;
        }
        stage.see_keys();
        stage.delete(&leaver).await;
        stage.world.clock.advance(Duration::from_secs(61));
        let work = async |app: App| drop(app.work_on_accounts().await);
        let mut worker = Actor::begin(&stage.world.app, work).await;
        // Two steps: the state before a batch is that after the one before.
        for _ in 0..2 * stops {
            if worker.waits.is_some() {
                worker.step().await;
            }
        }
        let has_ended = worker.waits.is_none();
        worker.interrupt().await;
        stage.finish().await;
        if has_ended && stage.has_trees() {
            break;
        }
    }
    assert!(stage.next - FIRST > 50 / stride as u64, "{} interruptions", stage.next - FIRST);
    stage.check_seen();
    stage.check().await;
}

mod nothing_is_left_of_an_erased_account_wherever_the_work_is_interrupted {
    use super::*;

    #[tokio::test]
    async fn sqlite() {
        erased_wherever_interrupted(Kind::Sqlite, stride(1)).await;
    }

    #[tokio::test]
    async fn mariadb() {
        erased_wherever_interrupted(Kind::Mariadb, stride(5)).await;
    }

    #[tokio::test]
    async fn postgres() {
        erased_wherever_interrupted(Kind::Postgres, stride(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[allow(clippy::print_stdout, reason = "the figures of a run, for its reader")]
async fn a_large_account_is_erased_by_workers_that_are_interrupted_again_and_again() {
    let scale = cases(10) as usize;
    let (follows, posts) = (600 * scale, 220 * scale);
    let mut stage = Stage::new(Kind::Sqlite, posts / 2).await;
    let leaver = stage.leaver().await;
    stage.live(&leaver).await;
    stage.world.redis.raw::<String>(&["SET", "ff:{g}:next:user", "10"]);
    stage.strangers = 2 * follows;
    stage.grow(&leaver, follows, posts).await;
    stage.world.redis.raw::<String>(&["SET", "ff:{g}:next:user", &stage.next.to_string()]);
    stage.delete(&leaver).await;
    let began = Instant::now();
    for stops in [3, 11, 29, 71] {
        stage.world.clock.advance(Duration::from_secs(61));
        let mut worker =
            Actor::begin(&stage.world.app, async |app: App| drop(app.work_on_accounts().await)).await;
        for _ in 0..stops {
            worker.step().await;
        }
        worker.interrupt().await;
    }
    stage.finish().await;
    println!("{follows} follows, twice as many followers and {posts} posts: erased in {:?}", began.elapsed());
    stage.check().await;
}

/// Returns the number of commands that Redis has executed since its statistics were reset.
fn executed(stats: &str) -> u64 {
    let calls = |line: &str| line.split_once("calls=")?.1.split(',').next()?.parse::<u64>().ok();
    stats.lines().filter(|line| line.starts_with("cmdstat_")).filter_map(calls).sum()
}

#[tokio::test]
async fn erasures_search_no_keys_and_cost_the_same_among_few_keys_and_many() {
    let mut stage = Stage::new(Kind::Sqlite, 3).await;
    let mut costs = Vec::new();
    for strangers in [0, 3_000] {
        if strangers > 0 {
            stage.world.redis.raw::<String>(&["SET", "ff:{g}:next:user", "10"]);
            Graph { users: strangers, follows: Vec::new() }.load(&stage.world.app, None).await;
            stage.world.redis.raw::<String>(&["SET", "ff:{g}:next:user", &stage.next.to_string()]);
            stage.strangers = strangers;
        }
        // Half of them have trees, and one has many blockers.
        for _ in 0..8 {
            let leaver = stage.leaver().await;
            stage.live(&leaver).await;
            stage.delete(&leaver).await;
        }
        stage.world.redis.raw::<String>(&["CONFIG", "RESETSTAT"]);
        stage.finish().await;
        let stats: String = stage.world.redis.raw(&["INFO", "commandstats"]);
        for search in ["cmdstat_scan:", "cmdstat_keys:"] {
            assert!(!stats.contains(search), "{stats}");
        }
        costs.push(executed(&stats));
        stage.check().await;
    }
    // Other commands, such as those that renew connections, are few.
    assert!(costs[0].abs_diff(costs[1]) < costs[0] / 20, "{costs:?}");
}

#[tokio::test]
async fn a_large_account_does_not_hold_up_the_jobs_of_others() {
    let mut stage = Stage::new(Kind::Sqlite, 3).await;
    let leaver = stage.leaver().await;
    stage.live(&leaver).await;
    stage.delete(&leaver).await;
    stage.world.clock.advance(Duration::from_secs(61));
    let redis = &stage.world.redis;
    let due = stage.world.clock.now().as_millis().to_string();
    redis.raw::<i64>(&["ZADD", "ff:{g}:account:jobs", &due, "2:ff"]);
    let mut worker =
        Actor::begin(&stage.world.app, async |app: App| drop(app.work_on_accounts().await)).await;
    while redis.raw::<Option<String>>(&["ZSCORE", "ff:{g}:account:jobs", "2:ff"]).is_some() {
        worker.step().await;
    }
    let record = format!("ff:{{u{}}}:user", stage.next);
    assert_eq!(redis.raw::<i64>(&["EXISTS", &record]), 1, "the account is still being erased");
    worker.finish().await;
    stage.finish().await;
    stage.check().await;
}

#[tokio::test]
async fn visits_and_views_of_earlier_days_are_erased() {
    let mut stage = Stage::new(Kind::Sqlite, 3).await;
    let leaver = stage.leaver().await;
    stage.live(&leaver).await;
    // Into another period of notes.
    stage.world.clock.advance(DAY * 9);
    assert_eq!(stage.world.app.close_days().await.unwrap(), 1);
    let query = "query ($id: ID!) { user(by: { id: $id }) { displayName } }";
    stage.world.data(Some(&leaver.token), query, json!({ "id": stage.people[0].id })).await;
    stage.world.data(Some(&stage.people[0].token), query, json!({ "id": leaver.id })).await;
    let visits: Vec<String> = stage.world.redis.raw(&["KEYS", "ff:{v*}:visit"]);
    let visitor = stage.next.to_string();
    let of_leaver = visits.iter().filter(|key| stage.texts(key).contains(&visitor));
    assert_eq!(of_leaver.count(), 2, "one of them is closed");
    stage.delete(&leaver).await;
    stage.finish().await;
    stage.check().await;
}
