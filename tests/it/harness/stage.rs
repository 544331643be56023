//! A stage: a small world in which calls are made one step at a time, and what all users should see then.
//!
//! Not here: which calls are made (`timeline`, `moving`, `traces`).

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fanfold::app::App;
use fanfold::app::archive::Listed;
use fanfold::app::check::Findings;
use fanfold::app::error::Error;
use fanfold::app::post::read::{PostCount, PostRecords};
use fanfold::app::post::{EditRequest, PublishRequest};
use fanfold::app::read::{Load as _, Many, Shared};
use fanfold::app::timeline::entry::Replies;
use fanfold::app::viewer::Viewer;
use fanfold::archive::Archive;
use fanfold::archive::range::Range;
use fanfold::archive::referrer::ReferrerPage;
use fanfold::gate::Moment;
use fanfold::model::clock::Period;
use fanfold::model::details::{Referral, ReferrerKind};
use fanfold::model::id::{PostId, UserId};
use fanfold::model::page::{Direction, Window};
use fanfold::model::post::{Post, Visibility};
use fanfold::model::relation::MuteScope;
use proptest::prelude::*;

use crate::harness::check::check_archive;
use crate::harness::deployment::is_on_cluster;
use crate::harness::edits::{Edits, read_versions};
use crate::harness::screen::{Screen, watch};
use crate::harness::sql::{self, Database, Kind};
use crate::harness::turnstile::{self, Actor, Event};
use crate::harness::walk::{read_posts, walk, walk_entries, walk_posts, walk_records, walk_with};
use crate::harness::world::{WATERMARK_AGE, World, app, archive_all, deliver_all};

pub(crate) const STRATEGIES: [&str; 3] = ["hybrid", "push", "pull"];

/// Returns the strategies of tests that take long: on a cluster only the first one, which both pushes and pulls.
pub(crate) fn strategies() -> &'static [&'static str] {
    if is_on_cluster() { &STRATEGIES[..1] } else { &STRATEGIES }
}

pub(crate) const USERS: u64 = 4;
/// Entries per page.
const PAGE: usize = 2;
const ALL_REPLIES: [Replies; 3] = [Replies::Followed, Replies::All, Replies::None];

/// A call, or an event, in the world.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Call {
    /// Publishes, under one of two idempotency keys or none.
    Publish(u64, Option<u8>),
    /// Publishes a post that only followers can see.
    PublishLimited(u64),
    /// Publishes a post that refers to another.
    Refer(Refer),
    /// Reposts the post of this rank among all that exist, oldest first.
    Repost(u64, usize),
    /// Takes the repost of the post of this rank back.
    Undo(u64, usize),
    /// Deletes the user's own post of this rank among those that exist.
    Delete(u64, usize),
    /// Edits the user's own post of this rank, under one of two idempotency keys or none.
    Edit(u64, usize, Option<u8>),
    /// Reads all versions of the user's post of this rank.
    ReadVersions(u64, usize),
    /// Requests the deletion of the post with this id, whether or not it exists.
    DeleteId(u64, u64),
    /// Publishes and is interrupted before the post is visible; the repairer revokes its id. Not beside other calls: a
    /// minute passes.
    Revoke(u64),
    Follow(u64, u64),
    Unfollow(u64, u64),
    Mute(u64, u64),
    Unmute(u64, u64),
    /// Reads the whole timeline, in pages of this size.
    Read(u64, usize),
    /// Runs the waiting deliveries, and takes over those that others have begun.
    Deliver,
    /// The timeline expires.
    Expire(u64),
    /// Archives the waiting posts, and those that other movers have taken.
    Move,
    /// Checks the posts and their lists, and repairs them.
    Check,
    /// Reads all posts of a user, in pages of this size.
    ReadPosts(u64, usize),
    /// The archive becomes unavailable, and recovers.
    Outage,
    /// Watches the timeline after the last event seen, until no more arrive; the first time, reads it before that.
    Watch(u64),
}

/// A post that refers to another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Refer {
    pub(crate) user: u64,
    /// Rank of the other post among all that exist, oldest first.
    pub(crate) rank: usize,
    /// True to quote it, false to reply to it.
    pub(crate) quotes: bool,
    /// True for a post that only followers can see.
    pub(crate) is_limited: bool,
}

/// Calls that are made one after the other before the others begin, and those that then run together.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    pub(crate) before: Vec<Call>,
    pub(crate) together: Vec<Call>,
}

/// The results that callers received.
#[derive(Default)]
pub(crate) struct Results {
    pub(crate) published: Vec<(u64, Option<u8>, PostId)>,
    pub(crate) deleted: Vec<PostId>,
    pub(crate) deletions_requested: BTreeSet<PostId>,
    pub(crate) edits: Edits,
    /// Faults in what users have read.
    pub(crate) wrong: Vec<String>,
    /// The screens of the users who watch.
    pub(crate) screens: BTreeMap<u64, Screen>,
    /// The number of watches that each of them has begun.
    pub(crate) turns: BTreeMap<u64, usize>,
}

/// Returns the posts on the pages of a timeline with these entries, read from one end: on each page, a post is in the place
/// of its newest entry.
fn folded(entries: &[(u64, u64)], direction: Direction) -> Vec<u64> {
    let mut left: Vec<(u64, u64)> = entries.to_vec();
    if direction == Direction::Backward {
        left.reverse();
    }
    let mut pages: Vec<Vec<(u64, u64)>> = vec![Vec::new()];
    for (id, post) in left {
        let page = pages.last().unwrap();
        let posts: BTreeSet<u64> = page.iter().map(|(_, post)| *post).collect();
        if posts.len() == PAGE {
            pages.push(Vec::new());
        }
        pages.last_mut().unwrap().push((id, post));
    }
    let mut shown = Vec::new();
    for mut page in pages {
        page.sort_unstable_by(|one, other| other.cmp(one));
        let mut posts: Vec<u64> = Vec::new();
        for (_, post) in page {
            if !posts.contains(&post) {
                posts.push(post);
            }
        }
        match direction {
            Direction::Forward => shown.extend(posts),
            Direction::Backward => drop(shown.splice(..0, posts)),
        }
    }
    shown
}

fn id(number: u64) -> UserId {
    UserId::new(number).unwrap()
}

/// An application with timelines of `capacity` posts, where two followers make a star.
async fn small(world: &World, strategy: &str, capacity: &str, more: &[&str]) -> App {
    let options =
        ["--timeline-strategy", strategy, "--timeline-capacity", capacity, "--timeline-push-limit", "1"];
    app(&world.redis, &world.clock, &[&options, more].concat()).await
}

/// The same, with reads that share a watermark for the longest time that can be configured.
async fn stale(world: &World, strategy: &str, capacity: &str, more: &[&str]) -> App {
    let app = small(world, strategy, capacity, &[more, &[WATERMARK_AGE, "1000"]].concat()).await;
    app.open_archive().await.unwrap();
    app
}

/// Checks the posts of all users.
pub(crate) async fn check_posts(app: &App, repair: bool) -> Result<Findings, Error> {
    let users: Vec<UserId> = (1..=USERS).map(id).collect();
    let mut findings = app.check_posts(&users, repair).await?;
    findings += check_archive(app, repair).await?;
    Ok(findings)
}

/// A way to make the archive fail, at once and for all processes.
struct Outage {
    url: String,
    is_on: AtomicBool,
}

impl Outage {
    async fn begin(&self) {
        if !self.is_on.swap(true, Ordering::SeqCst) {
            sql::execute(&self.url, "ALTER TABLE posts RENAME TO away").await;
        }
    }

    async fn end(&self) {
        if self.is_on.swap(false, Ordering::SeqCst) {
            sql::execute(&self.url, "ALTER TABLE away RENAME TO posts").await;
        }
    }
}

/// A world with users 1 to 4 who are signed in, and an application with small timelines.
pub(crate) struct Stage {
    pub(crate) world: World,
    pub(crate) app: App,
    /// The application of readers, each of whom reads the watermark once and then never again.
    stale: App,
    pub(crate) database: Database,
    archive: Archive,
    outage: Arc<Outage>,
    viewers: HashMap<u64, Viewer>,
    /// The viewers of those who watch, as other processes know them.
    watchers: HashMap<u64, Viewer>,
    pub(crate) results: Arc<Mutex<Results>>,
}

impl Stage {
    /// Creates a stage with timelines of `capacity` posts, and stars from two followers on.
    pub(crate) async fn new(strategy: &str, capacity: &str) -> Self {
        Self::with_archive(Kind::Sqlite, strategy, capacity, "1000").await
    }

    /// The same with an archive of this kind, and this number of hot posts per author.
    pub(crate) async fn with_archive(kind: Kind, strategy: &str, capacity: &str, hot: &str) -> Self {
        let world = World::new().await;
        let (mut viewers, mut watchers) = (HashMap::new(), HashMap::new());
        for (number, person) in (1..).zip(world.people(USERS as usize).await) {
            viewers.insert(number, world.app.authenticate(&person.token).await.unwrap());
            watchers.insert(number, world.app.authenticate(&person.token).await.unwrap());
        }
        let database = Database::new(kind).await;
        let archive = database.archive();
        let outage = Arc::new(Outage { url: database.url.clone(), is_on: AtomicBool::new(false) });
        let options = ["--archive-url", &database.url, "--post-hot-limit", hot];
        let app = small(&world, strategy, capacity, &options).await;
        app.open_archive().await.unwrap();
        let stale = stale(&world, strategy, capacity, &options).await;
        Self { world, app, stale, database, archive, outage, viewers, watchers, results: Arc::default() }
    }

    /// The same world under another strategy.
    pub(crate) async fn changed(self, strategy: &str) -> Self {
        let options = ["--archive-url", &self.database.url];
        let app = small(&self.world, strategy, "5", &options).await;
        Self { app, stale: stale(&self.world, strategy, "5", &options).await, ..self }
    }

    /// Removes everything but the users and their sessions.
    pub(crate) async fn clear(&self) {
        self.unmute_all().await;
        let keys: Vec<String> = self.world.redis.raw(&["KEYS", "ff:*"]);
        let stays = [":user", ":secret", ":sessions", ":layout", ":next:user"];
        let goes = |key: &&String| !key.contains("name:") && !stays.iter().any(|end| key.ends_with(end));
        let mut words = vec!["DEL", "nothing"];
        words.extend(keys.iter().filter(goes).map(String::as_str));
        self.world.redis.raw::<i64>(&words);
        self.outage.end().await;
        self.database.execute("DELETE FROM posts; DELETE FROM referrers; DELETE FROM edits").await;
        *self.results.lock().unwrap() = Results::default();
    }

    /// Removes all mutes, so that the cached exclusions are those of the cleared store.
    async fn unmute_all(&self) {
        for (user, viewer) in &self.viewers {
            for other in self.muted(*user) {
                self.app.unmute(viewer, id(other)).await.unwrap();
            }
        }
    }

    fn muted(&self, user: u64) -> Vec<u64> {
        self.world.redis.raw(&["HKEYS", &format!("ff:{{u{user}}}:muting")])
    }

    pub(crate) async fn begin(&self, call: Call) -> Actor {
        let results = Arc::clone(&self.results);
        let viewer = |user: u64| self.viewers[&user].clone();
        match call {
            Call::Publish(user, key) => self.begin_publishing((user, key), Visibility::Public).await,
            Call::PublishLimited(user) => self.begin_publishing((user, None), Visibility::Followers).await,
            Call::Refer(refer) => self.begin_referring(refer).await,
            Call::Repost(user, rank) | Call::Undo(user, rank) => self.begin_reposting(call, user, rank).await,
            Call::Delete(user, rank) => {
                let post = self.posts(user).await.get(rank).copied().and_then(PostId::new);
                self.begin_deletion(user, post).await
            }
            Call::Edit(user, rank, key) => self.begin_editing(user, rank, key).await,
            Call::ReadVersions(user, rank) => self.begin_reading_versions(user, rank).await,
            Call::DeleteId(user, post) => self.begin_deletion(user, PostId::new(post)).await,
            Call::Revoke(user) => self.revoke(user).await,
            Call::Follow(one, other)
            | Call::Unfollow(one, other)
            | Call::Mute(one, other)
            | Call::Unmute(one, other) => self.begin_relation(call, viewer(one), id(other)).await,
            Call::Read(user, size) => {
                let viewer = viewer(user);
                let work = async move |app: App| {
                    let forward = (Direction::Forward, size);
                    let read = walk_entries(&app, &viewer, forward, Replies::default()).await;
                    let read: Vec<PostId> = read.iter().map(|entry| entry.id).collect();
                    if !read.is_sorted_by(|one, next| one > next) {
                        results.lock().unwrap().wrong.push(format!("{user} has read {read:?}"));
                    }
                };
                Actor::begin(&self.stale, work).await
            }
            Call::Deliver => {
                let work = async move |app: App| {
                    for mut worker in app.workers() {
                        drop(worker.drain(Duration::ZERO).await);
                    }
                };
                Actor::begin(&self.app, work).await
            }
            Call::Expire(user) => {
                let key = format!("ff:{{u{user}}}:timeline");
                self.world.redis.raw::<i64>(&["DEL", &key]);
                Actor::begin(&self.app, async |_| ()).await
            }
            Call::Move => {
                let work = async |app: App| drop(app.mover().drain(Duration::ZERO).await);
                Actor::begin(&self.app, work).await
            }
            Call::Check => {
                let work = async |app: App| drop(check_posts(&app, true).await);
                Actor::begin(&self.app, work).await
            }
            Call::ReadPosts(author, size) => self.begin_reading_posts(author, size).await,
            Call::Watch(user) => {
                let viewer = self.watchers[&user].clone();
                let work = async move |app: App| watch(&app, &viewer, user, &results).await;
                Actor::begin(&self.stale, work).await
            }
            Call::Outage => self.begin_outage().await,
        }
    }

    /// Begins to repost a post, or to undo that.
    async fn begin_reposting(&self, call: Call, user: u64, rank: usize) -> Actor {
        self.world.clock.advance(Duration::from_millis(1));
        let (viewer, post) = (self.viewers[&user].clone(), self.post_of_rank(rank).await);
        let work = async move |app: App| {
            let Some(post) = post else { return };
            drop(match call {
                Call::Repost(..) => app.repost(&viewer, post).await,
                _ => app.undo_repost(&viewer, post).await,
            });
        };
        Actor::begin(&self.app, work).await
    }

    async fn begin_reading_versions(&self, user: u64, rank: usize) -> Actor {
        let results = Arc::clone(&self.results);
        let post = self.posts(user).await.get(rank).copied().and_then(PostId::new);
        let work = async move |app: App| {
            let Some(post) = post else { return };
            let Ok(Some(found)) = read_versions(&app, post).await else { return };
            let mut results = results.lock().unwrap();
            // While a post is deleted, its earlier versions may be gone before its record is read again.
            if !results.deletions_requested.contains(&post)
                && let Err(what) = results.edits.check(post, &found, false)
            {
                results.wrong.push(what);
            }
        };
        Actor::begin(&self.app, work).await
    }

    /// Interrupts a publication, and repairs the store, which revokes its id.
    async fn revoke(&self, user: u64) -> Actor {
        let viewer = self.viewers[&user].clone();
        let work = async move |app: App| {
            drop(
                app.publish(&viewer, PublishRequest { content: "interrupted", ..PublishRequest::default() })
                    .await,
            );
        };
        let mut publisher = Actor::begin(&self.app, work).await;
        publisher.step_to(Moment::After, "publish: record").await;
        publisher.interrupt().await;
        self.world.clock.advance(Duration::from_secs(61));
        self.app.repair().await.unwrap();
        publisher
    }

    /// Begins to read all posts of an author, and to compare them with those that must be there.
    async fn begin_reading_posts(&self, author: u64, size: usize) -> Actor {
        let results = Arc::clone(&self.results);
        let must = self.must_exist(author);
        let must_not = results.lock().unwrap().deleted.clone();
        let work = async move |app: App| {
            let Ok(read) = walk_posts(&app, author, Direction::Forward, size).await else { return };
            let mut results = results.lock().unwrap();
            let is_right = read.is_sorted_by(|one, next| one > next)
                && must.iter().all(|post| results.deletions_requested.contains(post) || read.contains(post))
                && !must_not.iter().any(|post| read.contains(post));
            if !is_right {
                let wrong =
                    format!("{author} has {read:?}; {must:?} must be there, and {must_not:?} must not");
                results.wrong.push(wrong);
            }
        };
        Actor::begin(&self.app, work).await
    }

    /// Begins to publish, under an idempotency key or none.
    async fn begin_publishing(&self, (user, key): (u64, Option<u8>), visibility: Visibility) -> Actor {
        let (viewer, results) = (self.viewers[&user].clone(), Arc::clone(&self.results));
        // So that posts differ in their times, as they do in a server.
        self.world.clock.advance(Duration::from_millis(1));
        let work = async move |app: App| {
            let (content, key_text) = match key {
                Some(key) => (format!("keyed {key}"), Some(format!("key {key}"))),
                None => ("plain".to_owned(), None),
            };
            let published = app
                .publish(
                    &viewer,
                    PublishRequest {
                        content: &content,
                        visibility,
                        idempotency_key: key_text.as_deref(),
                        ..PublishRequest::default()
                    },
                )
                .await;
            if let Ok(post) = published {
                results.lock().unwrap().published.push((user, key, post));
            }
        };
        Actor::begin(&self.app, work).await
    }

    /// Begins to publish a post that refers to another, or to none if there is no other.
    async fn begin_referring(&self, Refer { user, rank, quotes, is_limited }: Refer) -> Actor {
        let (viewer, results) = (self.viewers[&user].clone(), Arc::clone(&self.results));
        self.world.clock.advance(Duration::from_millis(1));
        let target = self.post_of_rank(rank).await;
        let request = PublishRequest {
            content: "plain",
            visibility: if is_limited { Visibility::Followers } else { Visibility::Public },
            in_reply_to: target.filter(|_| !quotes),
            quote_of: target.filter(|_| quotes),
            ..PublishRequest::default()
        };
        let work = async move |app: App| {
            if let Ok(post) = app.publish(&viewer, request).await {
                results.lock().unwrap().published.push((user, None, post));
            }
        };
        Actor::begin(&self.app, work).await
    }

    /// Returns the post of this rank among all that exist, oldest first.
    async fn post_of_rank(&self, rank: usize) -> Option<PostId> {
        let mut all = Vec::new();
        for author in 1..=USERS {
            all.extend(self.posts(author).await);
        }
        all.sort_unstable();
        all.get(rank).copied().and_then(PostId::new)
    }

    /// Begins to edit a post. An edit under an idempotency key always has the same text.
    async fn begin_editing(&self, user: u64, rank: usize, key: Option<u8>) -> Actor {
        let (viewer, results) = (self.viewers[&user].clone(), Arc::clone(&self.results));
        self.world.clock.advance(Duration::from_millis(1));
        let post = self.posts(user).await.get(rank).copied().and_then(PostId::new);
        let work = async move |app: App| {
            let Some(post) = post else { return };
            let (number, text) = {
                let mut results = results.lock().unwrap();
                let edits = &mut results.edits;
                let text = key.map_or_else(|| edits.new_text(), |key| format!("edit under key {key}"));
                (edits.begin(post, text.clone()), text)
            };
            let key = key.map(|key| format!("edit {key} of {post}"));
            let request = EditRequest { post, content: &text, idempotency_key: key.as_deref() };
            if app.edit_post(&viewer, request).await.is_ok() {
                results.lock().unwrap().edits.confirm(number);
            }
        };
        Actor::begin(&self.app, work).await
    }

    /// Checks the versions of all posts that readers find now. Reads that fail while the archive is unavailable are not
    /// checked.
    pub(crate) async fn check_versions(&self) -> Result<(), String> {
        let posts = self.results.lock().unwrap().edits.posts();
        for post in posts {
            let Ok(found) = read_versions(&self.app, post).await else { continue };
            let mut results = self.results.lock().unwrap();
            match found {
                Some(_) if results.deleted.contains(&post) => {
                    return Err(format!("post {post} was deleted, and has {found:?}"));
                }
                Some(found) => results.edits.check(post, &found, true)?,
                None if results.deletions_requested.contains(&post) => {}
                None => return Err(format!("post {post} is missing")),
            }
        }
        Ok(())
    }

    /// Checks that the author's list has the current text of each post.
    pub(crate) async fn check_listed_texts(&self, author: u64) -> Result<(), String> {
        let Ok(listed) = walk_records(&self.app, author, Direction::Forward, PAGE).await else {
            return Ok(());
        };
        let ids: Vec<PostId> = listed.iter().map(|post| post.id).collect();
        for (post, current) in listed.iter().zip(read_posts(&self.app, &ids).await) {
            let is_being_deleted = self.results.lock().unwrap().deletions_requested.contains(&post.id);
            if current.as_ref() != Some(&post.content) && !(current.is_none() && is_being_deleted) {
                return Err(format!("{} is listed as {:?}, and is {current:?}", post.id, post.content));
            }
        }
        Ok(())
    }

    /// Asserts that the earlier versions of each post are in one place, and that those of no other posts are left.
    async fn check_edits(&self, listed: &BTreeMap<u64, u64>) -> Result<(), TestCaseError> {
        self.check_versions().await.map_err(TestCaseError::fail)?;
        let raw = &self.world.redis;
        let last = listed.keys().next_back().copied().unwrap_or(0);
        let ids: Vec<PostId> = (1..=last + 9).map(|post| PostId::new(post).unwrap()).collect();
        let read =
            PostRecords { posts: Shared(ids.iter().copied().map(Listed::Id).collect()), needs_archive: true };
        let found = self.app.load(read).await.unwrap();
        let archived = self.archive.versions(&ids).await.unwrap();
        for (post, found) in ids.iter().zip(found.iter()) {
            let is_hot = raw.raw::<bool>(&["HEXISTS", &format!("ff:{{p{post}}}:post"), "content"]);
            let hot: usize = raw.raw(&["LLEN", &format!("ff:{{p{post}}}:edits")]);
            let cold = archived.get(post).map_or(0, Vec::len);
            let edits = found.as_ref().map_or(0, |post| post.details.edition as usize);
            let expected = if is_hot { (edits, 0) } else { (0, edits) };
            prop_assert_eq!((hot, cold), expected, "the versions of {}, hot: {}", post, is_hot);
        }
        Ok(())
    }

    /// Begins a call that changes the relation of a viewer to another user.
    async fn begin_relation(&self, call: Call, viewer: Viewer, other: UserId) -> Actor {
        let work = async move |app: App| {
            let changed = match call {
                Call::Follow(..) => app.follow(&viewer, other).await,
                Call::Unfollow(..) => app.unfollow(&viewer, other).await,
                Call::Mute(..) => app.mute(&viewer, other, MuteScope::All, None).await,
                Call::Unmute(..) => app.unmute(&viewer, other).await,
                _ => unreachable!("{call:?} changes no relation"),
            };
            drop(changed);
        };
        Actor::begin(&self.app, work).await
    }

    async fn begin_deletion(&self, user: u64, post: Option<PostId>) -> Actor {
        let (viewer, results) = (self.viewers[&user].clone(), Arc::clone(&self.results));
        if let Some(post) = post {
            results.lock().unwrap().deletions_requested.insert(post);
        }
        let work = async move |app: App| {
            let Some(post) = post else { return };
            if app.delete_post(&viewer, post).await.is_ok() {
                results.lock().unwrap().deleted.push(post);
            }
        };
        Actor::begin(&self.app, work).await
    }

    async fn begin_outage(&self) -> Actor {
        let outage = Arc::clone(&self.outage);
        let work = async move |app: App| {
            let _ = app.is_ready().await;
            outage.begin().await;
            let _ = app.is_ready().await;
            outage.end().await;
        };
        Actor::begin(&self.app, work).await
    }

    /// Returns true during an outage of the archive.
    pub(crate) fn is_archive_away(&self) -> bool {
        self.outage.is_on.load(Ordering::SeqCst)
    }

    /// Returns the posts of an author that were confirmed, and whose deletion was not requested.
    pub(crate) fn must_exist(&self, author: u64) -> Vec<PostId> {
        let results = self.results.lock().unwrap();
        let there = results
            .published
            .iter()
            .filter(|(user, _, post)| *user == author && !results.deletions_requested.contains(post));
        there.map(|(_, _, post)| *post).collect()
    }

    /// Makes a call, with no other in progress.
    pub(crate) async fn call(&self, call: Call) {
        self.begin(call).await.finish().await;
    }

    /// Makes these calls, and delivers after each.
    pub(crate) async fn calls(&self, calls: &[Call]) {
        for call in calls {
            self.call(*call).await;
            deliver_all(&self.app).await;
        }
    }

    pub(crate) async fn play(&self, scenario: &Scenario, events: &[Event]) {
        self.play_noting(scenario, events, |_, _| ()).await;
    }

    pub(crate) async fn play_noting(
        &self,
        scenario: &Scenario,
        events: &[Event],
        note: impl FnMut(usize, &Actor),
    ) {
        for call in &scenario.before {
            self.call(*call).await;
        }
        let mut actors = Vec::new();
        for call in &scenario.together {
            actors.push(self.begin(*call).await);
        }
        turnstile::play(&self.world, &self.app, actors, events, note).await;
    }

    /// Waits until no call can be in progress, repairs, and delivers everything.
    pub(crate) async fn settle(&self) {
        self.outage.end().await;
        // A repair may leave an intent that is dropped once it is a minute old.
        let mut has_more = true;
        for _ in 0..3 {
            self.world.clock.advance(Duration::from_secs(61));
            has_more = has_more && self.app.repair().await.unwrap() > 0;
        }
        // The mover of a deleted post may leave its reposts to the workers, under an intent, and these leave them to movers.
        for _ in 0..3 {
            deliver_all(&self.app).await;
            archive_all(&self.app).await;
            let intents: Vec<String> = self.world.redis.raw(&["KEYS", "ff:*:intents"]);
            if intents.is_empty() {
                return;
            }
            self.world.clock.advance(Duration::from_secs(61));
            self.app.repair().await.unwrap();
        }
    }

    /// Returns the posts in an author's list and those that the archive has, newest first.
    pub(crate) async fn posts(&self, user: u64) -> Vec<u64> {
        let raw = &self.world.redis;
        let mut posts: Vec<u64> = raw.raw(&["LRANGE", &format!("ff:{{u{user}}}:posts"), "0", "-1"]);
        for post in self.archived(user).await {
            let is_deleted: bool = raw.raw(&["HEXISTS", &format!("ff:{{p{post}}}:post"), "deleted"]);
            if !is_deleted {
                posts.push(post);
            }
        }
        posts.sort_unstable();
        posts.dedup();
        posts.reverse();
        posts
    }

    /// Returns the reported numbers of an author's posts in each period: of all, or only of public ones.
    pub(crate) async fn counts(&self, author: u64, counted: &[(Period, bool)]) -> Result<Vec<usize>, Error> {
        let count = |&(period, only_public): &_| PostCount { author: id(author), period, only_public };
        let counts = self.app.load(Many(counted.iter().map(count).collect())).await?;
        Ok(counts.iter().map(|count| *count as usize).collect())
    }

    /// Returns the visibility of each of an author's posts that have been erased and are still in the list.
    pub(crate) fn half_deleted(&self, author: u64) -> Vec<Visibility> {
        let raw = &self.world.redis;
        let posts: Vec<u64> = raw.raw(&["LRANGE", &format!("ff:{{u{author}}}:posts"), "0", "-1"]);
        let erased = |post: u64| {
            let record = format!("ff:{{p{post}}}:post");
            let word: Option<String> = raw.raw(&["HGET", &record, "visibility"]);
            raw.raw::<bool>(&["HEXISTS", &record, "deleted"])
                .then(|| Visibility::of_word(word.as_deref()).unwrap())
        };
        posts.into_iter().filter_map(erased).collect()
    }

    /// Returns the posts of an author that the archive has.
    async fn archived(&self, user: u64) -> Vec<u64> {
        let all = Range {
            author: id(user),
            direction: Direction::Forward,
            above: 0,
            below: u64::MAX,
            limit: 999,
            period: Period::ALL,
            only_public: false,
        };
        let found = self.archive.ids_of(&[all]).await.unwrap().pop().unwrap();
        found.into_iter().map(PostId::get).collect()
    }

    /// Returns all posts, by id.
    pub(crate) async fn records(&self) -> HashMap<u64, Arc<Post>> {
        let mut all = Vec::new();
        for author in 1..=USERS {
            all.extend(self.posts(author).await.into_iter().filter_map(PostId::new).map(Listed::Id));
        }
        let read = PostRecords { posts: Shared(all.into()), needs_archive: true };
        let posts = self.app.load(read).await.unwrap();
        posts.iter().flatten().map(|post| (post.id.get(), Arc::clone(post))).collect()
    }

    /// Returns the entries that a user should see by the naive model, in a timeline with these replies: each with the post
    /// that it shows.
    pub(crate) fn expected_entries(
        &self,
        posts: &HashMap<u64, Arc<Post>>,
        user: u64,
        replies: Replies,
    ) -> Vec<(u64, u64)> {
        let following: Vec<u64> =
            self.world.redis.raw(&["ZRANGE", &format!("ff:{{u{user}}}:following"), "0", "-1"]);
        let muted = self.muted(user);
        let is_stored = |post: &&Arc<Post>| {
            let author = post.author.get();
            author == user || (following.contains(&author) && !muted.contains(&author))
        };
        let mut stored: Vec<u64> = posts.values().filter(is_stored).map(|post| post.id.get()).collect();
        stored.sort_unstable_by(|one, other| other.cmp(one));
        let entry = |id: u64| {
            let post = posts.get(&id)?;
            let (author, references) = (post.author.get(), &post.details.references);
            let author_of = |post: PostId| posts.get(&post.get()).map(|post| post.author.get());
            if let Some(original) = references.original {
                let of = author_of(original)?;
                let is_shown =
                    author != user && of != user && !following.contains(&of) && !muted.contains(&of);
                return is_shown.then_some((id, original.get()));
            }
            let Some(reply) = &references.reply else { return Some((id, id)) };
            let to = author_of(reply.parent());
            let is_shown = author == user
                || to == Some(user)
                || to == Some(author)
                || match replies {
                    Replies::All => true,
                    Replies::Followed => to.is_some_and(|to| following.contains(&to)),
                    Replies::None => false,
                };
            is_shown.then_some((id, id))
        };
        stored.into_iter().filter_map(entry).collect()
    }

    /// Returns the ids of the posts that a timeline contains by the naive model: all posts of the user's followees whom they
    /// do not mute, and their own.
    pub(crate) async fn expected(&self, user: u64) -> Vec<u64> {
        let following: Vec<u64> =
            self.world.redis.raw(&["ZRANGE", &format!("ff:{{u{user}}}:following"), "0", "-1"]);
        let muted = self.muted(user);
        let mut posts = self.posts(user).await;
        for followee in following.into_iter().filter(|followee| !muted.contains(followee)) {
            posts.extend(self.posts(followee).await);
        }
        posts.sort_unstable();
        posts.reverse();
        posts
    }

    /// Returns a user as a viewer.
    pub(crate) fn viewer(&self, user: u64) -> Viewer {
        self.viewers[&user].clone()
    }

    /// Returns what a user sees, paging forward and backward.
    pub(crate) async fn seen(&self, app: &App, user: u64, size: usize) -> (Vec<u64>, Vec<u64>) {
        let viewer = &self.viewers[&user];
        // Requests authenticate; the calls of the stage share a viewer.
        app.refresh_exclusions(viewer).await.unwrap();
        let forward = walk(app, viewer, Direction::Forward, size).await;
        let backward = walk(app, viewer, Direction::Backward, size).await;
        (forward, backward)
    }

    /// Asserts that all users see what they should see.
    pub(crate) async fn check_timelines(&self, app: &App) -> Result<(), TestCaseError> {
        let posts = self.records().await;
        // Without replies, all timelines of a user are the same.
        let has_replies = posts.values().any(|post| post.details.references.reply.is_some());
        let kinds = if has_replies { &ALL_REPLIES[..] } else { &ALL_REPLIES[..1] };
        for (user, replies) in (1..=USERS).flat_map(|user| kinds.iter().map(move |replies| (user, *replies)))
        {
            let viewer = &self.viewers[&user];
            // Requests authenticate; the calls of the stage share a viewer.
            app.refresh_exclusions(viewer).await.unwrap();
            let entries = self.expected_entries(&posts, user, replies);
            for direction in [Direction::Forward, Direction::Backward] {
                let seen = walk_with(app, viewer, (direction, PAGE), replies).await;
                let expected = folded(&entries, direction);
                prop_assert_eq!(
                    seen,
                    expected,
                    "what {} sees, {:?}, {:?}: {:?}",
                    user,
                    replies,
                    direction,
                    entries
                );
            }
        }
        Ok(())
    }

    /// Asserts that each post has the replies, quotes and reposts that refer to it, with their number, and that no other
    /// lists are left; and that each user has one repost of a post at most, and only of posts that exist.
    async fn check_referrals(&self, listed: &BTreeMap<u64, u64>) -> Result<(), TestCaseError> {
        let raw = &self.world.redis;
        let ids: Vec<PostId> = listed.keys().map(|&post| PostId::new(post).unwrap()).collect();
        let read =
            PostRecords { posts: Shared(ids.iter().copied().map(Listed::Id).collect()), needs_archive: true };
        let posts: Vec<Arc<Post>> = self.app.load(read).await.unwrap().iter().flatten().cloned().collect();
        let referrals: Vec<Referral> = posts
            .iter()
            .flat_map(|post| post.details.references.referrals(post.id, post.visibility.is_public()))
            .collect();
        let last = listed.keys().next_back().copied().unwrap_or(0);
        let window = Window { direction: Direction::Forward, size: 999, from: None };
        let ids = (1..=last + 9).filter_map(PostId::new);
        let pages: Vec<ReferrerPage> = ids
            .flat_map(|target| ReferrerKind::ALL.map(|kind| ReferrerPage { target, kind, window }))
            .collect();
        let archived = self.archive.referrers(&pages).await.unwrap();
        let stored: BTreeSet<String> = raw.raw(&["KEYS", "ff:{p*}:*"]);
        for (ReferrerPage { target: id, kind, .. }, cold) in pages.into_iter().zip(archived) {
            let (target, post) = (id.get(), posts.iter().find(|post| post.id == id));
            let mut expected: Vec<u64> = referrals
                .iter()
                .filter(|referral| (referral.target, referral.kind) == (id, kind) && post.is_some())
                .map(|referral| referral.referrer.get())
                .collect();
            expected.sort_unstable_by(|one, other| other.cmp(one));
            let key = self.app.store().keys().referrers(id, kind).name().to_owned();
            let hot: Vec<u64> =
                if stored.contains(&key) { raw.raw(&["LRANGE", &key, "0", "-1"]) } else { Vec::new() };
            let cold: Vec<u64> = cold.entries.iter().map(|post| post.get()).collect();
            let record = format!("ff:{{p{target}}}:post");
            let is_hot = stored.contains(&record) && raw.raw::<bool>(&["HEXISTS", &record, "content"]);
            let (list, other) = if is_hot { (hot, Vec::new()) } else { (cold, hot) };
            prop_assert_eq!(&list, &expected, "{:?} of {}, hot: {}", kind, target, is_hot);
            prop_assert!(other.is_empty(), "{:?} of {} are also {:?}", kind, target, other);
            let Some(post) = post else { continue };
            let is_counted = |referral: &&Referral| {
                (referral.target, referral.kind, referral.is_counted) == (id, kind, true)
            };
            let count = referrals.iter().filter(is_counted).count() as u64;
            prop_assert_eq!(post.details.counts.of(kind), count, "the number of {:?} of {}", kind, target);
        }
        self.check_reposts(&posts)
    }

    /// Asserts that the user's reposts of existing posts exist, as they do once a repost has been confirmed.
    pub(crate) async fn check_confirmed_reposts(&self, user: u64) {
        for (original, repost) in self.noted_reposts(user) {
            let ids = [original, repost].map(|post| Listed::Id(PostId::new(post).unwrap()));
            let read = PostRecords { posts: Shared(Arc::new(ids)), needs_archive: true };
            let found = self.app.load(read).await.unwrap();
            assert!(found[0].is_none() || found[1].is_some(), "the repost {repost} of {original} is missing");
        }
    }

    /// Returns a user's repost of each post that the user has reposted.
    fn noted_reposts(&self, user: u64) -> BTreeMap<u64, u64> {
        self.world.redis.raw(&["HGETALL", &format!("ff:{{u{user}}}:reposted")])
    }

    fn check_reposts(&self, posts: &[Arc<Post>]) -> Result<(), TestCaseError> {
        let mut reposts = BTreeMap::new();
        for post in posts {
            let Some(original) = post.details.references.original else { continue };
            let exists = posts.iter().any(|other| other.id == original);
            prop_assert!(exists, "{} is a repost of {}, which is deleted", post.id, original);
            let other = reposts.insert((post.author.get(), original.get()), post.id.get());
            prop_assert!(other.is_none(), "{} has reposted {} twice", post.author, original);
        }
        let mut noted = BTreeMap::new();
        for user in 1..=USERS {
            noted.extend(
                self.noted_reposts(user).into_iter().map(|(original, repost)| ((user, original), repost)),
            );
        }
        prop_assert_eq!(noted, reposts);
        Ok(())
    }

    /// Asserts that the stored data matches the results of callers, and that nothing is left over.
    pub(crate) async fn check_store(&self) -> Result<(), TestCaseError> {
        let raw = &self.world.redis;
        let mut listed = BTreeMap::new();
        for user in 1..=USERS {
            let hot: Vec<u64> = raw.raw(&["LRANGE", &format!("ff:{{u{user}}}:posts"), "0", "-1"]);
            prop_assert!(hot.is_sorted_by(|one, next| one > next), "the posts of {} are {:?}", user, hot);
            let cold = self.archived(user).await;
            let counted: Option<i64> = raw.raw(&["HGET", &format!("ff:{{u{user}}}:cold"), "count"]);
            prop_assert_eq!(
                counted.unwrap_or(0),
                cold.len() as i64,
                "{} has {:?} in the archive",
                user,
                cold
            );
            prop_assert!(!cold.iter().any(|post| hot.contains(post)), "{:?} {:?}", hot, cold);
            let posts = self.posts(user).await;
            let recent: Vec<u64> = raw.raw(&["ZREVRANGE", &format!("ff:{{u{user}}}:recent"), "0", "-1"]);
            prop_assert_eq!(&recent[..], &posts[..posts.len().min(20)], "the newest posts of {}", user);
            listed.extend(posts.into_iter().map(|post| (post, user)));
        }
        self.check_referrals(&listed).await?;
        self.check_edits(&listed).await?;
        let ids: Vec<PostId> = listed.keys().map(|&post| PostId::new(post).unwrap()).collect();
        let contents = read_posts(&self.app, &ids).await;
        let results = self.results.lock().unwrap();
        prop_assert!(results.wrong.is_empty(), "{:?}", results.wrong);
        for (user, key, post) in &results.published {
            let is_there = listed.get(&post.get()) == Some(user);
            prop_assert!(
                is_there || results.deletions_requested.contains(post),
                "{} published {}",
                user,
                post
            );
            let same =
                results.published.iter().filter(|(other, other_key, _)| (other, other_key) == (user, key));
            prop_assert!(
                key.is_none() || same.clone().all(|(_, _, other)| other == post),
                "{} under one key",
                post
            );
        }
        for post in &results.deleted {
            prop_assert!(!listed.contains_key(&post.get()), "{} was deleted", post);
        }
        // Under one key there is one post, confirmed or not.
        let mut keyed = BTreeSet::new();
        for (post, content) in ids.iter().zip(contents) {
            prop_assert!(content.is_some(), "{} has no content", post);
            if let Some(content) = content.filter(|content| content.starts_with("keyed")) {
                prop_assert!(keyed.insert((listed[&post.get()], content)), "two posts under one key");
            }
        }
        for key in raw.raw::<Vec<String>>(&["KEYS", "ff:{p*}:post"]) {
            let post: u64 = key.trim_start_matches("ff:{p").trim_end_matches("}:post").parse().unwrap();
            if raw.raw::<bool>(&["HEXISTS", &key, "archived"]) {
                continue;
            }
            let content: Option<String> = raw.raw(&["HGET", &key, "content"]);
            prop_assert_eq!(content.is_some(), listed.contains_key(&post), "the record of {}", post);
            let delivery: Option<String> = raw.raw(&["HGET", &key, "delivery"]);
            let is_open = delivery.is_some_and(|delivery| delivery.starts_with("pushed"));
            prop_assert!(!is_open || !listed.contains_key(&post), "{} is delivered", post);
        }
        for key in raw.raw::<Vec<String>>(&["KEYS", "ff:{f*}:fanout"]) {
            prop_assert_eq!(raw.raw::<u64>(&["XLEN", &key]), 0, "a job is left");
        }
        let left =
            ["ff:*:intents", "ff:{g}:publishing", "ff:*:progress", "ff:*:failed", "ff:*:fanout:[orht]*"];
        let unmoved = ["ff:{a}:pending", "ff:{a}:mov*:*", "ff:{a}:unmovable", "ff:*:gone"];
        for pattern in left.into_iter().chain(unmoved) {
            let left: Vec<String> = raw.raw(&["KEYS", pattern]);
            prop_assert!(left.is_empty(), "{:?} is left", left);
        }
        Ok(())
    }
}
