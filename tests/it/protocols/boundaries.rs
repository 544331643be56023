//! The protocols of blocks, requests to follow and private accounts: whatever runs concurrently and wherever it is
//! interrupted, both copies of every edge end equal, no follow crosses a block, and no request to a public account is
//! left. From the moment a block is acknowledged, neither side sees the other.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fanfold::app::App;
use fanfold::app::user::ProfileUpdate;
use fanfold::gate::Moment;
use fanfold::model::id::UserId;
use fanfold::model::relation::MuteScope;
use futures::future::join_all;
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::harness::case::model_config;
use crate::harness::turnstile::{self, Actor, Event, Stop, events};
use crate::harness::world::{Person, World, deliver_all};

/// A call of one of two clients, the first of whom is user 1 and the second user 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Follow(u64),
    Unfollow(u64),
    RemoveFollower(u64),
    Accept(u64),
    Reject(u64),
    Block(u64),
    Unblock(u64),
    Mute(u64),
    MakePrivate(u64),
    MakePublic(u64),
}

impl Call {
    /// Returns the user who makes the call.
    fn viewer(self) -> u64 {
        let (Self::Follow(viewer)
        | Self::Unfollow(viewer)
        | Self::RemoveFollower(viewer)
        | Self::Accept(viewer)
        | Self::Reject(viewer)
        | Self::Block(viewer)
        | Self::Unblock(viewer)
        | Self::Mute(viewer)
        | Self::MakePrivate(viewer)
        | Self::MakePublic(viewer)) = self;
        viewer
    }
}

fn other(user: u64) -> u64 {
    3 - user
}

fn id(number: u64) -> UserId {
    UserId::new(number).unwrap()
}

/// What is stored when the calls begin.
#[derive(Clone, Copy, Debug)]
struct Before {
    is_private: bool,
    follow: Option<&'static str>,
    follow_back: bool,
    block: bool,
}

fn before() -> impl Strategy<Value = Before> {
    let follow = prop_oneof![Just(None), Just(Some("follow")), Just(Some("request"))];
    (any::<bool>(), follow, any::<bool>(), 0..4u8).prop_map(|(is_private, follow, follow_back, block)| {
        // There are no follows across a block, and no requests to public accounts.
        let block = block == 0;
        let follow = follow.filter(|follow| !block && (is_private || *follow == "follow"));
        Before { is_private, follow, follow_back: follow_back && !block, block }
    })
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let call = (0..14u8, 1..=2u64).prop_map(|(kind, user)| match kind {
        0..=2 => Call::Follow(user),
        // User 1 asks, and user 2 decides.
        3 => Call::Unfollow(1),
        4 => Call::RemoveFollower(2),
        5 => Call::Accept(2),
        6 => Call::Reject(2),
        7 | 8 => Call::Block(user),
        9 | 10 => Call::Unblock(user),
        11 => Call::Mute(user),
        12 => Call::MakePrivate(2),
        _ => Call::MakePublic(2),
    });
    proptest::collection::vec(call, 1..6)
}

/// Blocks, by the user who blocks: which are in force, and which must be mirrored or not.
#[derive(Default)]
struct Blocks {
    /// The number of the call that made the block; `None` if there is no block.
    current: HashMap<u64, Option<usize>>,
    /// The block that each call made or found.
    of_call: HashMap<usize, usize>,
    acknowledged: HashSet<usize>,
    /// The number of the call that wrote the truth last.
    last: HashMap<u64, usize>,
    /// Users whose block was lifted by a call that has been acknowledged.
    lifted: HashSet<u64>,
}

impl Blocks {
    /// Notes that a call has written the truth of a block.
    fn write(&mut self, number: usize, call: Call) {
        match call {
            Call::Block(user) => {
                self.lifted.remove(&user);
                let block = self.current.entry(user).or_default().get_or_insert(number);
                self.of_call.insert(number, *block);
                self.last.insert(user, number);
            }
            Call::Unblock(user) => {
                self.current.insert(user, None);
                self.last.insert(user, number);
            }
            _ => {}
        }
    }

    /// Notes that a call has returned successfully.
    fn acknowledge(&mut self, number: usize, call: Call) {
        if let Some(block) = self.of_call.get(&number) {
            self.acknowledged.insert(*block);
        }
        if let Call::Unblock(user) = call
            && self.last.get(&user) == Some(&number)
        {
            self.lifted.insert(user);
        }
    }

    fn is_in_force(&self, user: u64) -> bool {
        let current = self.current.get(&user).copied().flatten();
        current.is_some_and(|block| self.acknowledged.contains(&block))
    }

    fn is_lifted(&self, user: u64) -> bool {
        self.lifted.contains(&user) && self.current.get(&user).copied().flatten().is_none()
    }
}

/// The number of the block that is stored when the calls begin.
const STORED: usize = usize::MAX;

/// A world of three users, each with a post. User 3 follows the two others, and is followed by them.
struct Stage {
    world: World,
    people: Vec<Person>,
    posts: Vec<String>,
}

impl Stage {
    async fn new() -> Self {
        let world = World::with(&["--relation-changes-per-pair", "1000000"]).await;
        let people = world.people(3).await;
        let mut posts = Vec::new();
        for person in &people {
            let publish = "mutation { publish(input: { content: \"x\" }) { post { id } } }";
            let data = world.data(Some(&person.token), publish, Value::Null).await;
            posts.push(data["publish"]["post"]["id"].as_str().unwrap().to_owned());
        }
        for person in &people[..2] {
            world.follow(&people[2], person).await;
            world.follow(person, &people[2]).await;
        }
        deliver_all(&world.app).await;
        Self { world, people, posts }
    }

    fn raw<T: redis::FromRedisValue>(&self, words: &[&str]) -> T {
        self.world.redis.raw(words)
    }

    fn has(&self, list: &str, owner: u64, member: u64) -> Option<String> {
        self.raw(&["ZSCORE", &format!("ff:{{u{owner}}}:{list}"), &member.to_string()])
    }

    /// Restores what was stored before the calls. The versions of exclusions stay, since they only grow.
    fn reset(&self, before: Before) {
        for user in 1..=2 {
            let key = |name: &str| format!("ff:{{u{user}}}:{name}");
            for list in ["following", "followers", "requesting", "requests", "blocking", "blockers"] {
                self.raw::<i64>(&["ZREM", &key(list), &other(user).to_string()]);
            }
            self.raw::<i64>(&["DEL", &key("muting"), &key(&format!("fence:{}", other(user)))]);
            self.raw::<i64>(&["HDEL", &key("user"), "private"]);
        }
        for partition in 0..16 {
            self.raw::<i64>(&["DEL", &format!("ff:{{i{partition}}}:intents")]);
        }
        let add = |list: &str, owner: u64, member: u64| {
            self.raw::<i64>(&["ZADD", &format!("ff:{{u{owner}}}:{list}"), "7", &member.to_string()]);
        };
        if before.is_private {
            self.raw::<i64>(&["HSET", "ff:{u2}:user", "private", "1"]);
        }
        match before.follow {
            Some("follow") => {
                add("following", 1, 2);
                add("followers", 2, 1);
            }
            Some(_) => {
                add("requesting", 1, 2);
                add("requests", 2, 1);
            }
            None => {}
        }
        if before.follow_back {
            add("following", 2, 1);
            add("followers", 1, 2);
        }
        if before.block {
            add("blocking", 2, 1);
            add("blockers", 1, 2);
        }
        // What other processes have cached is older than this version.
        for user in 1..=2 {
            self.raw::<i64>(&["HINCRBY", &format!("ff:{{u{user}}}:sessions"), "exclusions", "1000"]);
        }
    }

    async fn begin(&self, call: Call) -> (Actor, Arc<Mutex<bool>>) {
        let viewer = self.people[usize::try_from(call.viewer()).unwrap() - 1].token.clone();
        let viewer = self.world.app.authenticate(&viewer).await.unwrap();
        let user = id(other(call.viewer()));
        let succeeded = Arc::<Mutex<bool>>::default();
        let result = Arc::clone(&succeeded);
        let work = async move |app: App| {
            let private =
                |is_private| ProfileUpdate { is_private: Some(is_private), ..ProfileUpdate::default() };
            // A call that is too late fails, and to a user who is blocked, the other does not exist.
            let done = match call {
                Call::Follow(_) => app.follow(&viewer, user).await,
                Call::Unfollow(_) => app.unfollow(&viewer, user).await,
                Call::RemoveFollower(_) => app.remove_follower(&viewer, user).await,
                Call::Accept(_) => app.accept_follow_request(&viewer, user).await,
                Call::Reject(_) => app.reject_follow_request(&viewer, user).await,
                Call::Block(_) => app.block(&viewer, user).await,
                Call::Unblock(_) => app.unblock(&viewer, user).await,
                Call::Mute(_) => app.mute(&viewer, user, MuteScope::All, None).await,
                Call::MakePrivate(_) => app.change_profile(&viewer, private(true)).await,
                Call::MakePublic(_) => app.change_profile(&viewer, private(false)).await,
            };
            *result.lock().unwrap() = done.is_ok();
        };
        (Actor::begin(&self.world.app, work).await, succeeded)
    }

    /// Plays the events over the calls, and checks every moment. Returns the blocks.
    async fn play(&self, before: Before, calls: &[Call], events: &[Event]) -> Result<Blocks, TestCaseError> {
        let (mut actors, mut results) = (Vec::new(), Vec::new());
        for &call in calls {
            let (actor, result) = self.begin(call).await;
            actors.push(actor);
            results.push(result);
        }
        let mut blocks = Blocks::default();
        if before.block {
            blocks.current.insert(2, Some(STORED));
            blocks.acknowledged.insert(STORED);
        }
        let (mut wrong, mut ended) = (None, HashSet::new());
        let written = Some(Stop { moment: Moment::After, batch: "block: truth" });
        let note = |number: usize, actor: &Actor| {
            if let Some(&call) = calls.get(number) {
                if actor.waits == written {
                    blocks.write(number, call);
                }
                if actor.waits.is_none() && *results[number].lock().unwrap() && ended.insert(number) {
                    blocks.acknowledge(number, call);
                }
            }
            if wrong.is_none() {
                wrong = self.moment(&blocks);
            }
        };
        turnstile::play(&self.world, &self.world.app, actors, events, note).await;
        prop_assert_eq!(wrong, None);
        Ok(blocks)
    }

    /// Returns what is wrong at this moment.
    fn moment(&self, blocks: &Blocks) -> Option<String> {
        for user in 1..=2 {
            let (it, name) = (other(user), format!("the block of {} by {user}", other(user)));
            let is_mirrored = || self.has("blockers", it, user).is_some();
            if blocks.is_in_force(user) {
                if self.has("blocking", user, it).is_none() || !is_mirrored() {
                    return Some(format!("{name} is in force on one side"));
                }
                for (one, list) in [(1, "following"), (1, "requesting"), (2, "following"), (2, "requesting")]
                {
                    if self.has(list, one, other(one)).is_some() {
                        return Some(format!("{name} is in force, and {one} has the other in {list}"));
                    }
                }
            }
            if blocks.is_lifted(user) && is_mirrored() {
                return Some(format!("{name} is lifted, and still mirrored"));
            }
        }
        None
    }

    /// Checks what is stored once everything is repaired.
    fn check(&self) -> Result<(), TestCaseError> {
        let copies = [("following", "followers"), ("requesting", "requests"), ("blocking", "blockers")];
        for user in 1..=2 {
            let it = other(user);
            for (truth, mirror) in copies {
                let (one, two) = (self.has(truth, user, it), self.has(mirror, it, user));
                if truth == "blocking" {
                    prop_assert_eq!(one.is_some(), two.is_some(), "{} of {}", truth, user);
                } else {
                    prop_assert_eq!(one, two, "{} of {}", truth, user);
                }
            }
            let follows = self.has("following", user, it).is_some();
            let requests = self.has("requesting", user, it).is_some();
            prop_assert!(!(follows && requests), "{} follows and requests to", user);
            let is_blocked = self.has("blocking", 1, 2).is_some() || self.has("blocking", 2, 1).is_some();
            prop_assert!(!is_blocked || !(follows || requests), "{} follows across a block", user);
            let private: Option<String> = self.raw(&["HGET", &format!("ff:{{u{it}}}:user"), "private"]);
            prop_assert!(!requests || private.as_deref() == Some("1"), "a request to a public account");
        }
        for partition in 0..16 {
            let left: u64 = self.raw(&["ZCARD", &format!("ff:{{i{partition}}}:intents")]);
            prop_assert_eq!(left, 0, "intents are left");
        }
        Ok(())
    }

    /// Returns what a viewer sees of the other: places in which the user, or the user's post, appears.
    async fn seen(&self, viewer: u64) -> Vec<&'static str> {
        let [viewer, user] = [viewer, other(viewer)].map(|user| usize::try_from(user).unwrap() - 1);
        let query = "query ($id: ID!, $name: String!, $third: ID!, $post: ID!) {
            user(by: { id: $id }) { id } name: user(by: { username: $name }) { id } node(id: $id) { id }
            relations(userIds: [$id]) { status } post(id: $post) { id }
            third: user(by: { id: $third }) { followers { nodes { id } } following { nodes { id } } mutuals { nodes { id } } }
            viewer { timeline { nodes { id } } followRequests { nodes { id } } sentFollowRequests { nodes { id } }
                user { followers { nodes { id } } following { nodes { id } } } } }";
        let variables = json!({ "id": self.people[user].id, "name": format!("ann{user}"),
            "third": self.people[2].id, "post": self.posts[user] });
        let data = self.world.data(Some(&self.people[viewer].token), query, variables).await;
        let lists = [
            ("lists of a third", &data["third"], &self.people[user].id),
            ("own lists", &data["viewer"], &self.people[user].id),
            ("timeline", &data["viewer"]["timeline"], &self.posts[user]),
        ];
        let mut seen: Vec<_> = lists
            .into_iter()
            .filter(|(_, list, id)| list.to_string().contains(&format!("\"{id}\"")))
            .map(|(place, ..)| place)
            .collect();
        let fields = [("user", &data["user"]), ("name", &data["name"]), ("node", &data["node"])];
        let fields = fields.into_iter().chain([("post", &data["post"]), ("relation", &data["relations"][0])]);
        seen.extend(fields.filter(|(_, value)| !value.is_null()).map(|(place, _)| place));
        seen
    }

    /// Checks that neither side of a block in force sees the other.
    async fn check_sight(&self, blocks: &Blocks) -> Result<(), TestCaseError> {
        for user in (1..=2).filter(|user| blocks.is_in_force(*user)) {
            prop_assert_eq!(self.seen(other(user)).await, Vec::<&str>::new(), "{} is blocked", other(user));
            // A user who blocks another finds them, to lift the block, unless they block back, or did until a call that
            // was interrupted.
            let is_blocked_back = self.has("blocking", other(user), user).is_some()
                || self.has("blockers", user, other(user)).is_some();
            if !blocks.is_in_force(other(user)) && !is_blocked_back {
                let seen: Vec<_> = self.seen(user).await;
                prop_assert_eq!(seen, vec!["user", "name", "node", "relation"], "{} blocks", user);
            }
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(model_config(500))]

    #[test]
    fn boundaries_hold_wherever_calls_are_interrupted(
        before in before(), calls in calls(), events in events()
    ) {
        thread_local!(static STAGE: (Runtime, Stage) = {
            let runtime = Runtime::new().unwrap();
            let stage = runtime.block_on(Stage::new());
            (runtime, stage)
        });
        STAGE.with(|(runtime, stage)| {
            stage.reset(before);
            runtime.block_on(async {
                let blocks = stage.play(before, &calls, &events).await?;
                stage.check_sight(&blocks).await?;
                stage.world.clock.advance(Duration::from_secs(61));
                stage.world.app.repair().await.unwrap();
                stage.check()?;
                prop_assert_eq!(stage.moment(&blocks), None, "after repairs");
                stage.check_sight(&blocks).await
            })
        })?;
    }
}

const NOTHING: Before = Before { is_private: false, follow: None, follow_back: false, block: false };

#[tokio::test]
async fn a_slow_unblock_does_not_take_a_later_block_away() {
    let stage = Stage::new().await;
    stage.reset(Before { block: true, ..NOTHING });
    let (mut slow, _) = stage.begin(Call::Unblock(2)).await;
    slow.step_to(Moment::Before, "block: mirror").await;
    stage.begin(Call::Block(2)).await.0.finish().await;
    slow.finish().await;
    assert!(stage.has("blocking", 2, 1).is_some() && stage.has("blockers", 1, 2).is_some());
    assert_eq!(stage.seen(1).await, Vec::<&str>::new());
}

#[tokio::test]
async fn a_follow_that_began_before_a_block_does_not_outlast_it() {
    let stage = Stage::new().await;
    stage.reset(NOTHING);
    let (mut follow, followed) = stage.begin(Call::Follow(1)).await;
    follow.step_to(Moment::Before, "edge: truth").await;
    stage.begin(Call::Block(2)).await.0.finish().await;
    follow.finish().await;
    assert!(!*followed.lock().unwrap(), "the follow is rejected");
    assert_eq!(stage.has("following", 1, 2), None);
    stage.check().unwrap();
}

#[tokio::test]
async fn a_request_is_accepted_if_the_account_becomes_public_before_it_is_listed() {
    let stage = Stage::new().await;
    stage.reset(Before { is_private: true, ..NOTHING });
    let (mut follow, _) = stage.begin(Call::Follow(1)).await;
    follow.step_to(Moment::Before, "edge: mirror").await;
    stage.begin(Call::MakePublic(2)).await.0.finish().await;
    assert!(stage.has("requesting", 1, 2).is_some(), "the mirror does not show the request yet");
    follow.finish().await;
    assert!(stage.has("following", 1, 2).is_some());
    stage.check().unwrap();
}

#[tokio::test]
async fn a_process_that_has_cached_exclusions_knows_a_block_at_once() {
    let stage = Stage::new().await;
    stage.reset(NOTHING);
    assert!(stage.seen(1).await.contains(&"user") && stage.seen(2).await.contains(&"lists of a third"));
    stage.begin(Call::Block(2)).await.0.finish().await;
    assert_eq!(stage.seen(1).await, Vec::<&str>::new());
    assert!(!stage.seen(2).await.contains(&"lists of a third"));
    stage.begin(Call::Unblock(2)).await.0.finish().await;
    assert!(stage.seen(1).await.contains(&"user"));
}

#[tokio::test]
async fn a_slow_call_does_not_accept_a_later_request() {
    let stage = Stage::new().await;
    stage.reset(Before { is_private: true, follow: Some("request"), ..NOTHING });
    let (mut slow, _) = stage.begin(Call::MakePublic(2)).await;
    slow.step_to(Moment::Before, "edge: accept").await;
    for call in [Call::MakePrivate(2), Call::Unfollow(1), Call::Follow(1)] {
        stage.world.clock.advance(Duration::from_millis(1));
        stage.begin(call).await.0.finish().await;
    }
    slow.finish().await;
    assert!(stage.has("requesting", 1, 2).is_some(), "the account was private when the request was made");
    stage.check().unwrap();
}

#[tokio::test]
async fn the_repairer_lifts_one_of_two_blocks_whose_lifting_was_interrupted() {
    let stage = Stage::new().await;
    stage.reset(NOTHING);
    let (mut block, _) = stage.begin(Call::Block(1)).await;
    block.step_to(Moment::Before, "block: truth").await;
    stage.begin(Call::Block(2)).await.0.finish().await;
    block.finish().await;
    let (mut unblock, _) = stage.begin(Call::Unblock(2)).await;
    unblock.step_to(Moment::After, "block: truth").await;
    unblock.interrupt().await;
    assert_eq!(stage.seen(1).await, Vec::<&str>::new(), "its mirror is still there");
    stage.world.clock.advance(Duration::from_secs(61));
    stage.world.app.repair().await.unwrap();
    assert_eq!(stage.seen(1).await, ["user", "name", "node", "relation"]);
    assert_eq!(stage.seen(2).await, Vec::<&str>::new());
    stage.check().unwrap();
}

#[tokio::test]
async fn the_repairer_keeps_the_intent_of_a_call_that_may_still_write() {
    let stage = Stage::new().await;
    stage.reset(Before { follow: Some("follow"), ..NOTHING });
    let (mut block, _) = stage.begin(Call::Block(2)).await;
    block.step_to(Moment::Before, "block: truth").await;
    stage.world.clock.advance(Duration::from_secs(6));
    stage.world.app.repair().await.unwrap();
    block.step_to(Moment::After, "block: truth").await;
    block.interrupt().await;
    stage.world.clock.advance(Duration::from_secs(61));
    stage.world.app.repair().await.unwrap();
    assert!(stage.has("blockers", 1, 2).is_some());
    stage.check().unwrap();
}

#[tokio::test]
async fn the_repairer_keeps_the_intent_of_a_call_that_accepts_requests() {
    let stage = Stage::new().await;
    stage.reset(Before { is_private: true, follow: Some("request"), ..NOTHING });
    let (mut public, _) = stage.begin(Call::MakePublic(2)).await;
    public.step_to(Moment::After, "edge: accept").await;
    stage.world.clock.advance(Duration::from_secs(6));
    stage.world.app.repair().await.unwrap();
    stage.begin(Call::Unfollow(1)).await.0.finish().await;
    public.step_to(Moment::After, "edge: mirror").await;
    public.interrupt().await;
    stage.world.clock.advance(Duration::from_secs(61));
    stage.world.app.repair().await.unwrap();
    assert_eq!(stage.has("followers", 2, 1), None, "the user has unfollowed");
    stage.check().unwrap();
}

/// Registers a user, and lets `count` others request to follow them.
async fn besieged(world: &World, count: u64) -> Person {
    let person = world.register("private").await;
    let private = "mutation { updateProfile(input: { isPrivate: true }) { userErrors { code } } }";
    world.data(Some(&person.token), private, Value::Null).await;
    let ids: Vec<u64> = (1_000..1_000 + count).collect();
    for ids in ids.chunks(1_000) {
        let mut mirror = vec!["ZADD".to_owned(), "ff:{u1}:requests".to_owned()];
        mirror.extend(ids.iter().flat_map(|id| [id.to_string(), id.to_string()]));
        world.redis.raw::<i64>(&mirror.iter().map(String::as_str).collect::<Vec<_>>());
        for id in ids {
            let id = id.to_string();
            world.redis.raw::<i64>(&["ZADD", &format!("ff:{{u{id}}}:requesting"), &id, "1"]);
        }
    }
    person
}

fn lengths(world: &World) -> (u64, u64) {
    let length = |list: &str| world.redis.raw::<u64>(&["ZCARD", &format!("ff:{{u1}}:{list}")]);
    (length("followers"), length("requests"))
}

const PUBLIC: ProfileUpdate<'static> = ProfileUpdate {
    display_name: None,
    bio: None,
    avatar_url: None,
    is_private: Some(false),
    residence: None,
};

#[tokio::test]
async fn making_an_account_public_accepts_all_requests_once() {
    const REQUESTS: u64 = 2_500;
    let world = World::new().await;
    let person = besieged(&world, REQUESTS).await;
    let viewer = world.app.authenticate(&person.token).await.unwrap();
    world.app.change_profile(&viewer, PUBLIC).await.unwrap();
    assert_eq!(lengths(&world), (REQUESTS, 0));
    let follows =
        |id: u64| world.redis.raw::<Vec<String>>(&["ZRANGE", &format!("ff:{{u{id}}}:following"), "0", "-1"]);
    assert!((1_000..1_000 + REQUESTS).all(|id| follows(id) == ["1"]));
    world.clock.advance(Duration::from_secs(61));
    assert_eq!(world.app.repair().await.unwrap(), 0, "nothing is left to repair");
}

#[tokio::test]
async fn the_repairer_accepts_the_requests_that_an_interrupted_call_has_left() {
    const REQUESTS: u64 = 1_300;
    for stop in ["change profile", "public: requests", "edge: mirror", "edge: accept", "drop intents"] {
        for moment in [Moment::Before, Moment::After] {
            let world = World::new().await;
            let person = besieged(&world, REQUESTS).await;
            let viewer = world.app.authenticate(&person.token).await.unwrap();
            let work = async move |app: App| drop(app.change_profile(&viewer, PUBLIC).await);
            let mut actor = Actor::begin(&world.app, work).await;
            actor.step_to(moment, stop).await;
            actor.interrupt().await;
            world.clock.advance(Duration::from_secs(61));
            world.app.repair().await.unwrap();
            let is_public = (stop, moment) != ("change profile", Moment::Before);
            let expected = if is_public { (REQUESTS, 0) } else { (0, REQUESTS) };
            assert_eq!(lengths(&world), expected, "{moment:?} {stop}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn blocks_and_follows_of_one_pair_leave_both_sides_equal() {
    let stage = Stage::new().await;
    stage.reset(NOTHING);
    let mut viewers = Vec::new();
    for person in &stage.people[..2] {
        viewers.push(stage.world.app.authenticate(&person.token).await.unwrap());
    }
    let call = |number: usize| {
        let (app, viewer, it) = (
            stage.world.app.clone(),
            viewers[number % 2].clone(),
            id(2 - u64::try_from(number % 2).unwrap()),
        );
        tokio::spawn(async move {
            // To a user who is blocked, the other does not exist.
            drop(match number % 7 {
                0 | 1 => app.follow(&viewer, it).await,
                2 => app.unfollow(&viewer, it).await,
                3 | 4 => app.block(&viewer, it).await,
                _ => app.unblock(&viewer, it).await,
            });
        })
    };
    for done in join_all((0..2_000).map(call)).await {
        done.unwrap();
    }
    stage.check().unwrap();
    stage.world.clock.advance(Duration::from_secs(61));
    assert_eq!(stage.world.app.repair().await.unwrap(), 0, "nothing is left to repair");
}
