//! Home timelines: whatever is done at the same time and wherever it is cut off, everybody sees each
//! post once that a naive model says it should see.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fanfold::app::App;
use fanfold::app::timeline::TimelineQuery;
use fanfold::app::viewer::Viewer;
use fanfold::model::id::{PostId, UserId};
use fanfold::model::page::{Direction, Window};
use fanfold::model::user::UserFields;
use proptest::prelude::*;
use tokio::runtime::Runtime;

use crate::turnstile::{self, Actor, Event, events};
use crate::world::{World, app, deliver_all};

pub(crate) const STRATEGIES: [&str; 3] = ["hybrid", "push", "pull"];
const USERS: u64 = 4;

/// Something that somebody does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Call {
    /// Publishes, under one of two idempotency keys or none.
    Publish(u64, Option<u8>),
    /// Deletes the own post of this rank among those that are there.
    Delete(u64, usize),
    Follow(u64, u64),
    Unfollow(u64, u64),
    /// Reads the whole timeline, in pages of this size.
    Read(u64, usize),
    /// Delivers what waits, and takes over what others have begun.
    Deliver,
    /// The timeline expires.
    Expire(u64),
}

/// Calls that are made one after the other before the others begin, and those that then run together.
#[derive(Clone, Debug)]
struct Scenario {
    before: Vec<Call>,
    together: Vec<Call>,
}

fn scenarios() -> impl Strategy<Value = Scenario> {
    // Mostly 1 and 2 read what 3 and 4 write.
    let reader = prop_oneof![5 => Just(1u64), 2 => Just(2), 1 => Just(3)];
    let author = prop_oneof![5 => Just(3u64), 3 => Just(4), 1 => Just(1)];
    let call = || {
        let pair = (reader.clone(), author.clone());
        let pair = pair.prop_map(|(one, other)| if one == other { (one, 4) } else { (one, other) });
        prop_oneof![
            8 => (author.clone(), prop::option::weighted(0.25, 0..2u8)).prop_map(|(who, key)| Call::Publish(who, key)),
            2 => (author.clone(), 0..3usize).prop_map(|(who, rank)| Call::Delete(who, rank)),
            5 => pair.clone().prop_map(|(one, other)| Call::Follow(one, other)),
            2 => pair.prop_map(|(one, other)| Call::Unfollow(one, other)),
            4 => (reader.clone(), 1..4usize).prop_map(|(who, size)| Call::Read(who, size)),
            2 => Just(Call::Deliver),
            1 => reader.clone().prop_map(Call::Expire),
        ]
    };
    let before = proptest::collection::vec(call(), 0..10);
    let together = proptest::collection::vec(call(), 1..6);
    (before, together).prop_map(|(before, together)| Scenario { before, together })
}

/// What was told to callers.
#[derive(Default)]
struct Told {
    published: Vec<(u64, Option<u8>, PostId)>,
    deleted: Vec<PostId>,
    asked_to_delete: BTreeSet<PostId>,
    /// What is wrong with what somebody has read.
    wrong: Vec<String>,
}

fn id(number: u64) -> UserId {
    UserId::new(number).unwrap()
}

/// An application with timelines of `capacity` posts, where two followers make a star.
async fn small(world: &World, strategy: &str, capacity: &str) -> App {
    let options =
        ["--timeline-strategy", strategy, "--timeline-capacity", capacity, "--timeline-push-limit", "1"];
    app(&world.redis, &world.clock, &options).await
}

/// A world with users 1 to 4 who are signed in, and an application with small timelines.
pub(crate) struct Stage {
    pub(crate) world: World,
    pub(crate) app: App,
    viewers: HashMap<u64, Viewer>,
    told: Arc<Mutex<Told>>,
}

impl Stage {
    /// Timelines of `capacity` posts, and stars from two followers on.
    pub(crate) async fn set(strategy: &str, capacity: &str) -> Self {
        let world = World::new().await;
        let mut viewers = HashMap::new();
        for (number, person) in (1..).zip(world.people(USERS as usize).await) {
            viewers.insert(number, world.app.recognise(&person.token).await.unwrap());
        }
        let app = small(&world, strategy, capacity).await;
        Self { world, app, viewers, told: Arc::default() }
    }

    /// The same world under another strategy.
    pub(crate) async fn changed(self, strategy: &str) -> Self {
        Self { app: small(&self.world, strategy, "5").await, ..self }
    }

    /// Leaves nothing but the users and their sessions.
    pub(crate) fn clear(&self) {
        let keys: Vec<String> = self.world.redis.raw(&["KEYS", "ff:*"]);
        let stays = [":user", ":secret", ":sessions", ":layout", ":next:user"];
        let goes = |key: &&String| !key.contains("name:") && !stays.iter().any(|end| key.ends_with(end));
        let mut words = vec!["DEL", "nothing"];
        words.extend(keys.iter().filter(goes).map(String::as_str));
        self.world.redis.raw::<i64>(&words);
        *self.told.lock().unwrap() = Told::default();
    }

    pub(crate) async fn begin(&self, call: Call) -> Actor {
        let told = Arc::clone(&self.told);
        let viewer = |who: u64| self.viewers[&who].clone();
        match call {
            Call::Publish(who, key) => {
                let viewer = viewer(who);
                let work = async move |app: App| {
                    let (content, key_text) = match key {
                        Some(key) => (format!("keyed {key}"), Some(format!("key {key}"))),
                        None => ("plain".to_owned(), None),
                    };
                    let published = app.publish(&viewer, &content, None, key_text.as_deref()).await;
                    if let Ok(post) = published {
                        told.lock().unwrap().published.push((who, key, post));
                    }
                };
                Actor::begin(&self.app, work).await
            }
            Call::Delete(who, rank) => {
                let post = self.posts(who).get(rank).copied().and_then(PostId::new);
                let viewer = viewer(who);
                if let Some(post) = post {
                    told.lock().unwrap().asked_to_delete.insert(post);
                }
                let work = async move |app: App| {
                    let Some(post) = post else { return };
                    if app.delete_post(&viewer, post).await.is_ok() {
                        told.lock().unwrap().deleted.push(post);
                    }
                };
                Actor::begin(&self.app, work).await
            }
            Call::Follow(one, other) => {
                let viewer = viewer(one);
                let work = async move |app: App| drop(app.follow(&viewer, id(other)).await);
                Actor::begin(&self.app, work).await
            }
            Call::Unfollow(one, other) => {
                let viewer = viewer(one);
                let work = async move |app: App| drop(app.unfollow(&viewer, id(other)).await);
                Actor::begin(&self.app, work).await
            }
            Call::Read(who, size) => {
                let viewer = viewer(who);
                let work = async move |app: App| {
                    let read = walk(&app, &viewer, Direction::Forward, size).await;
                    if !read.is_sorted_by(|one, next| one > next) {
                        told.lock().unwrap().wrong.push(format!("{who} has read {read:?}"));
                    }
                };
                Actor::begin(&self.app, work).await
            }
            Call::Deliver => {
                let work = async move |app: App| {
                    for mut worker in app.workers() {
                        drop(worker.drain(Duration::ZERO).await);
                    }
                };
                Actor::begin(&self.app, work).await
            }
            Call::Expire(who) => {
                let key = format!("ff:{{u{who}}}:timeline");
                self.world.redis.raw::<i64>(&["DEL", &key]);
                Actor::begin(&self.app, async |_| ()).await
            }
        }
    }

    /// Does it, with nobody else about.
    pub(crate) async fn call(&self, call: Call) {
        self.begin(call).await.finish().await;
    }

    /// Does these, and delivers after each.
    pub(crate) async fn calls(&self, calls: &[Call]) {
        for call in calls {
            self.call(*call).await;
            deliver_all(&self.app).await;
        }
    }

    async fn play(&self, scenario: &Scenario, events: &[Event]) {
        for call in &scenario.before {
            self.call(*call).await;
        }
        let mut actors = Vec::new();
        for call in &scenario.together {
            actors.push(self.begin(*call).await);
        }
        turnstile::play(&self.world, actors, events, |_, _| ()).await;
    }

    /// Waits until nobody can be at anything, repairs, and delivers everything.
    pub(crate) async fn settle(&self) {
        self.world.clock.turn(Duration::from_secs(61));
        self.app.repair().await.unwrap();
        deliver_all(&self.app).await;
    }

    /// The posts in an author's list.
    pub(crate) fn posts(&self, who: u64) -> Vec<u64> {
        self.world.redis.raw(&["LRANGE", &format!("ff:{{u{who}}}:posts"), "0", "-1"])
    }

    /// What the naive model says a user should see: all posts of those followed and its own.
    fn expected(&self, who: u64) -> Vec<u64> {
        let following: Vec<u64> =
            self.world.redis.raw(&["ZRANGE", &format!("ff:{{u{who}}}:following"), "0", "-1"]);
        let mut posts: Vec<u64> =
            following.into_iter().chain([who]).flat_map(|who| self.posts(who)).collect();
        posts.sort_unstable();
        posts.reverse();
        posts
    }

    /// What a user sees, walking forward and backward.
    pub(crate) async fn seen(&self, app: &App, who: u64, size: usize) -> (Vec<u64>, Vec<u64>) {
        let forward = walk(app, &self.viewers[&who], Direction::Forward, size).await;
        let backward = walk(app, &self.viewers[&who], Direction::Backward, size).await;
        (forward, backward)
    }

    /// Everybody sees what they should see.
    pub(crate) async fn check_timelines(&self, app: &App) -> Result<(), TestCaseError> {
        for who in 1..=USERS {
            let expected = self.expected(who);
            let (forward, backward) = self.seen(app, who, 2).await;
            prop_assert_eq!(&forward, &expected, "what {} sees", who);
            prop_assert_eq!(&backward, &expected, "what {} sees, backward", who);
        }
        Ok(())
    }

    /// What is kept is what callers were told, and nothing is left over.
    pub(crate) fn check_store(&self) -> Result<(), TestCaseError> {
        let raw = &self.world.redis;
        let told = self.told.lock().unwrap();
        prop_assert!(told.wrong.is_empty(), "{:?}", told.wrong);
        let mut listed = BTreeMap::new();
        for who in 1..=USERS {
            let posts = self.posts(who);
            prop_assert!(posts.is_sorted_by(|one, next| one > next), "the posts of {} are {:?}", who, posts);
            let recent: Vec<u64> = raw.raw(&["ZREVRANGE", &format!("ff:{{u{who}}}:recent"), "0", "-1"]);
            prop_assert_eq!(&recent[..], &posts[..posts.len().min(20)], "the newest posts of {}", who);
            listed.extend(posts.into_iter().map(|post| (post, who)));
        }
        for (who, key, post) in &told.published {
            let is_there = listed.get(&post.get()) == Some(who);
            prop_assert!(is_there || told.asked_to_delete.contains(post), "{} published {}", who, post);
            let same = told.published.iter().filter(|(other, other_key, _)| (other, other_key) == (who, key));
            prop_assert!(
                key.is_none() || same.clone().all(|(_, _, other)| other == post),
                "{} under one key",
                post
            );
        }
        for post in &told.deleted {
            prop_assert!(!listed.contains_key(&post.get()), "{} was deleted", post);
        }
        // Under one key there is one post, told or not.
        let mut keyed = BTreeSet::new();
        for key in raw.raw::<Vec<String>>(&["KEYS", "ff:{p*}:post"]) {
            let post: u64 = key.trim_start_matches("ff:{p").trim_end_matches("}:post").parse().unwrap();
            let content: Option<String> = raw.raw(&["HGET", &key, "content"]);
            prop_assert_eq!(content.is_some(), listed.contains_key(&post), "the record of {}", post);
            if let Some(content) = content.filter(|content| content != "plain") {
                prop_assert!(keyed.insert((listed[&post], content)), "two posts under one key");
            }
            let delivery: Option<String> = raw.raw(&["HGET", &key, "delivery"]);
            let is_open = delivery.is_some_and(|delivery| delivery.starts_with("pushed"));
            prop_assert!(!is_open || !listed.contains_key(&post), "{} is delivered", post);
        }
        for key in raw.raw::<Vec<String>>(&["KEYS", "ff:{f*}:fanout"]) {
            prop_assert_eq!(raw.raw::<u64>(&["XLEN", &key]), 0, "a job is left");
        }
        for pattern in ["ff:*:intents", "ff:{g}:publishing", "ff:*:progress", "ff:*:failed"] {
            let left: Vec<String> = raw.raw(&["KEYS", pattern]);
            prop_assert!(left.is_empty(), "{:?} is left", left);
        }
        Ok(())
    }
}

/// Reads a whole timeline page by page, from one end to the other; newest first.
pub(crate) async fn walk(app: &App, viewer: &Viewer, direction: Direction, size: usize) -> Vec<u64> {
    let mut seen: Vec<u64> = Vec::new();
    let mut from = None;
    loop {
        let window = Window { direction, size, from };
        let query = TimelineQuery { window, author: UserFields::NONE, looks_back: true };
        // Who is cut off reads nothing more; who is too late has an error, and has read enough.
        let Ok(page) = app.timeline(viewer, query).await else { return seen };
        let posts: Vec<u64> = page.entries.iter().map(|entry| entry.post.id.get()).collect();
        let (more, back) = match direction {
            Direction::Forward => (page.has_next, page.has_previous),
            Direction::Backward => (page.has_previous, page.has_next),
        };
        assert!(from.is_some() || !back, "nothing lies before the first page");
        match direction {
            Direction::Forward => seen.extend(&posts),
            Direction::Backward => drop(seen.splice(..0, posts.iter().copied())),
        }
        let outermost = if direction == Direction::Forward { posts.last() } else { posts.first() };
        from = outermost.and_then(|post| PostId::new(*post));
        if !more || from.is_none() {
            return seen;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, max_shrink_iters: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn everybody_sees_each_post_once_whatever_is_cut_off_where(scenario in scenarios(), events in events()) {
        thread_local!(static STAGES: (Runtime, Vec<Stage>) = {
            let runtime = Runtime::new().unwrap();
            let set = async || {
                let mut stages = Vec::new();
                for strategy in STRATEGIES {
                    stages.push(Stage::set(strategy, "3").await);
                }
                stages
            };
            let stages = runtime.block_on(set());
            (runtime, stages)
        });
        STAGES.with(|(runtime, stages)| {
            for stage in stages {
                stage.clear();
                runtime.block_on(async {
                    stage.play(&scenario, &events).await;
                    stage.settle().await;
                    stage.check_store()?;
                    stage.check_timelines(&stage.app).await
                })?;
            }
            Ok::<(), TestCaseError>(())
        })?;
    }
}
