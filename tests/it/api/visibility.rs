//! What each viewer sees, against a naive model: random worlds of follows, requests, blocks, mutes, private accounts
//! and posts, hot and archived.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use fanfold::app::timeline::live::TimelineEvent;
use fanfold::app::timeline::seen::Seen;
use fanfold::app::timeline::{TimelinePage, TimelineQuery};
use fanfold::app::viewer::Viewer;
use fanfold::model::clock::Clock as _;
use fanfold::model::page::{Direction, Window};
use fanfold::model::user::UserFields;
use rand::rngs::StdRng;
use rand::seq::{IndexedRandom as _, IteratorRandom as _};
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Value, json};

use crate::harness::sql::{Database, Kind};
use crate::harness::world::{ManualClock, Person, World, archive_all, cases, deliver_all};

const USERS: usize = 12;
/// Maximum number of posts, so that one page holds a whole timeline.
const MOST_POSTS: usize = 95;

const LISTS: [&str; 4] = ["followers", "following", "mutuals", "knownFollowers"];
const OWN_LISTS: [&str; 4] = ["muted", "blocked", "followRequests", "sentFollowRequests"];

const RELATION: &str =
    "status followingSince followerSince requestedSince requesterSince blockedSince mutedSince
    mutedUntil muteScope";

/// The users who may see a post, beside its author.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Visibility {
    /// All users who may see the author's posts.
    Public,
    /// The author's followers.
    Followers,
}

struct NaivePost {
    number: u64,
    author: usize,
    is_deleted: bool,
    visibility: Visibility,
}

#[derive(Clone, Copy)]
struct NaiveMute {
    since: i64,
    until: Option<i64>,
    hides_posts: bool,
}

/// An entry of a list of users: a time, and the index of the user.
type Entry = (i64, usize);

/// Ordered pairs of users, with a time.
type Pairs = BTreeMap<(usize, usize), i64>;

/// The naive model. Users are indices; times are milliseconds since the beginning.
#[derive(Default)]
struct Model {
    now: i64,
    follows: Pairs,
    requests: Pairs,
    blocks: Pairs,
    mutes: BTreeMap<(usize, usize), NaiveMute>,
    private: BTreeSet<usize>,
    posts: Vec<NaivePost>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Follow,
    Unfollow,
    RemoveFollower,
    Accept,
    Reject,
    Mute { until: Option<i64>, hides_posts: bool },
    Unmute,
    Block,
    Unblock,
}

impl Change {
    /// Returns the name of the mutation, and more fields of its input.
    fn mutation(self) -> (&'static str, String) {
        match self {
            Self::Follow => ("follow", String::new()),
            Self::Unfollow => ("unfollow", String::new()),
            Self::RemoveFollower => ("removeFollower", String::new()),
            Self::Accept => ("acceptFollowRequest", String::new()),
            Self::Reject => ("rejectFollowRequest", String::new()),
            Self::Mute { until, hides_posts } => {
                let until = until.map_or("null".to_owned(), |until| format!("\"{}\"", printed(until)));
                let scope = if hides_posts { "ALL" } else { "REPOSTS" };
                ("mute", format!(", until: {until}, scope: {scope}"))
            }
            Self::Unmute => ("unmute", String::new()),
            Self::Block => ("block", String::new()),
            Self::Unblock => ("unblock", String::new()),
        }
    }
}

fn printed(at: i64) -> String {
    let (second, milli) = (at.div_euclid(1_000), at.rem_euclid(1_000));
    format!("2026-01-01T{:02}:{:02}:{:02}.{milli:03}Z", second / 3_600, second / 60 % 60, second % 60)
}

fn global(kind: &str, number: u64) -> String {
    URL_SAFE_NO_PAD.encode(format!("{kind}:{number}"))
}

fn user_id(user: usize) -> String {
    global("User", user as u64 + 1)
}

fn post_id(post: u64) -> String {
    global("Post", post)
}

fn number_of(id: &Value) -> u64 {
    let text = URL_SAFE_NO_PAD.decode(id.as_str().unwrap()).unwrap();
    String::from_utf8(text).unwrap().split_once(':').unwrap().1.parse().unwrap()
}

/// Compares entries by their places in a list.
fn in_list_order(one: &Entry, other: &Entry) -> Ordering {
    let key = |&(at, user): &Entry| (Reverse(at), Reverse((user + 1).to_string()));
    key(one).cmp(&key(other))
}

impl Model {
    /// Makes a change that `user` requests with the id of `other`. Returns the code of the error if it is rejected.
    fn change(&mut self, change: Change, user: usize, other: usize) -> Option<&'static str> {
        if user == other {
            return Some("SELF");
        }
        if self.blocks.contains_key(&(other, user)) {
            return Some("NOT_FOUND");
        }
        let (there, back) = ((user, other), (other, user));
        match change {
            Change::Follow if self.blocks.contains_key(&there) => return Some("BLOCKED"),
            Change::Follow if self.follows.contains_key(&there) => {}
            Change::Follow => {
                let to = if self.private.contains(&other) { &mut self.requests } else { &mut self.follows };
                to.entry(there).or_insert(self.now);
            }
            Change::Unfollow => self.end(there),
            Change::RemoveFollower => self.end(back),
            Change::Accept => {
                if self.requests.remove(&back).is_some() {
                    self.follows.insert(back, self.now);
                }
            }
            Change::Reject => drop(self.requests.remove(&back)),
            Change::Mute { until, hides_posts } => {
                let since = self.mute(user, other).map_or(self.now, |mute| mute.since);
                self.mutes.insert(there, NaiveMute { since, until, hides_posts });
            }
            Change::Unmute => drop(self.mutes.remove(&there)),
            Change::Block => {
                self.blocks.entry(there).or_insert(self.now);
                self.end(there);
                self.end(back);
            }
            Change::Unblock => drop(self.blocks.remove(&there)),
        }
        None
    }

    fn end(&mut self, pair: (usize, usize)) {
        self.follows.remove(&pair);
        self.requests.remove(&pair);
    }

    fn make_private(&mut self, user: usize, is_private: bool) {
        if is_private {
            self.private.insert(user);
            return;
        }
        self.private.remove(&user);
        let accepted: Vec<_> = self.requests.keys().filter(|(_, to)| *to == user).copied().collect();
        for pair in accepted {
            self.requests.remove(&pair);
            self.follows.insert(pair, self.now);
        }
    }

    fn mute(&self, user: usize, other: usize) -> Option<NaiveMute> {
        let mute = self.mutes.get(&(user, other)).copied()?;
        mute.until.is_none_or(|until| until > self.now).then_some(mute)
    }

    /// Returns true if the viewer must not notice that the user exists.
    fn hides(&self, viewer: Option<usize>, user: usize) -> bool {
        viewer.is_some_and(|viewer| self.blocks.contains_key(&(user, viewer)))
    }

    fn has_block(&self, viewer: Option<usize>, user: usize) -> bool {
        let blocks = |viewer| self.blocks.contains_key(&(viewer, user));
        self.hides(viewer, user) || viewer.is_some_and(blocks)
    }

    /// Returns a list as the viewer sees it, in order.
    fn list(&self, list: &str, owner: usize, viewer: Option<usize>) -> Vec<Entry> {
        let follows = |from, to| self.follows.contains_key(&(from, to));
        let followers = self.follows.iter().filter(|((_, to), _)| *to == owner);
        let followers = followers.map(|((from, _), at)| (*at, *from));
        let following = self.follows.iter().filter(|((from, _), _)| *from == owner);
        let following = following.map(|((_, to), at)| (*at, *to));
        let mut entries: Vec<Entry> = match list {
            "followers" => followers.collect(),
            "following" => following.collect(),
            "mutuals" => following.filter(|(_, user)| follows(*user, owner)).collect(),
            "knownFollowers" => {
                followers.filter(|(_, user)| viewer.is_some_and(|viewer| follows(viewer, *user))).collect()
            }
            other => panic!("no list is called {other}"),
        };
        entries.retain(|(_, user)| !self.has_block(viewer, *user));
        entries.sort_by(in_list_order);
        entries
    }

    /// Returns one of the viewer's own lists, in order.
    fn own_list(&self, list: &str, viewer: usize) -> Vec<Entry> {
        let from = |pairs: &Pairs| -> Vec<Entry> {
            let from = pairs.iter().filter(|((from, _), _)| *from == viewer);
            from.map(|((_, to), at)| (*at, *to)).collect()
        };
        let mut entries = match list {
            "blocked" => from(&self.blocks),
            "sentFollowRequests" => from(&self.requests),
            "muted" => {
                let mute = |user| Some((self.mute(viewer, user)?.since, user));
                (0..USERS).filter_map(mute).collect()
            }
            "followRequests" => {
                let to = self.requests.iter().filter(|((_, to), _)| *to == viewer);
                to.map(|((from, _), at)| (*at, *from)).collect()
            }
            other => panic!("no list is called {other}"),
        };
        entries.retain(|(_, user)| !self.hides(Some(viewer), *user));
        entries.sort_by(in_list_order);
        entries
    }

    fn sees(&self, viewer: Option<usize>, post: &NaivePost) -> bool {
        let author = post.author;
        let follows = viewer.is_some_and(|viewer| self.follows.contains_key(&(viewer, author)));
        let is_limited = self.private.contains(&author) || post.visibility == Visibility::Followers;
        let sees = viewer == Some(author) || !self.has_block(viewer, author) && (follows || !is_limited);
        !post.is_deleted && sees
    }

    /// Returns a user's posts as the viewer sees them, newest first.
    fn posts_of(&self, author: usize, viewer: Option<usize>) -> Vec<u64> {
        let posts = self.posts.iter().filter(|post| post.author == author && self.sees(viewer, post));
        posts.map(|post| post.number).rev().collect()
    }

    fn timeline(&self, viewer: usize) -> Vec<u64> {
        let belongs = |author: usize| {
            let hides = self.mute(viewer, author).is_some_and(|mute| mute.hides_posts);
            author == viewer || self.follows.contains_key(&(viewer, author)) && !hides
        };
        let posts = self.posts.iter().filter(|post| belongs(post.author) && self.sees(Some(viewer), post));
        posts.map(|post| post.number).rev().collect()
    }

    fn status(&self, viewer: Option<usize>, user: usize) -> Value {
        let Some(viewer) = viewer.filter(|viewer| *viewer != user) else { return Value::Null };
        let follows = |pair| self.follows.contains_key(&pair);
        json!({ "status": match (follows((viewer, user)), follows((user, viewer))) {
            (false, false) => "NONE",
            (true, false) => "FOLLOWING",
            (false, true) => "FOLLOWER",
            (true, true) => "MUTUAL",
        } })
    }

    fn relation(&self, viewer: Option<usize>, user: usize) -> Value {
        let status = self.status(viewer, user);
        let Some(viewer) = viewer.filter(|_| !status.is_null()) else { return Value::Null };
        let (there, back) = ((viewer, user), (user, viewer));
        let at = |pairs: &Pairs, pair| pairs.get(&pair).map(|at| printed(*at));
        let mute = self.mute(viewer, user);
        json!({
            "status": status["status"],
            "followingSince": at(&self.follows, there),
            "followerSince": at(&self.follows, back),
            "requestedSince": at(&self.requests, there),
            "requesterSince": at(&self.requests, back),
            "blockedSince": at(&self.blocks, there),
            "mutedSince": mute.map(|mute| printed(mute.since)),
            "mutedUntil": mute.and_then(|mute| mute.until).map(printed),
            "muteScope": mute.map(|mute| if mute.hides_posts { "ALL" } else { "REPOSTS" }),
        })
    }
}

/// A window of a list.
#[derive(Clone, Copy, Debug)]
struct Cut {
    is_forward: bool,
    size: usize,
}

impl Cut {
    /// Returns the arguments of a field, with the variable `$at` as the cursor.
    fn arguments(self) -> String {
        let (count, place) = if self.is_forward { ("first", "after") } else { ("last", "before") };
        format!("{count}: {}, {place}: $at", self.size)
    }

    /// Returns the entries of the window, and the `pageInfo`. `order` compares an entry with the window's position; the
    /// position need not be that of an entry.
    fn of<T: Copy>(self, list: &[T], order: Option<&dyn Fn(&T) -> Ordering>) -> (Vec<T>, Value) {
        let count = |is: fn(Ordering) -> bool| {
            order.map(|order| list.iter().filter(|entry| is(order(entry))).count())
        };
        let (start, end, has_previous, has_next) = if self.is_forward {
            let start = count(Ordering::is_le).unwrap_or(0);
            let end = list.len().min(start + self.size);
            (start, end, start > 0, end < list.len())
        } else {
            let end = count(Ordering::is_lt).unwrap_or(list.len());
            let start = end.saturating_sub(self.size);
            (start, end, start > 0, end < list.len())
        };
        let info = json!({ "hasPreviousPage": has_previous, "hasNextPage": has_next });
        (list[start..end].to_vec(), info)
    }
}

/// A position in one of the lists of a user, with its cursor. Later, the entry may be gone.
#[derive(Clone)]
struct Place<T> {
    owner: usize,
    list: &'static str,
    at: T,
    cursor: Value,
}

/// A client that shows a home timeline and receives live updates.
struct Screen {
    viewer: Viewer,
    seen: Option<Seen>,
    shown: BTreeSet<u64>,
}

/// A random world and its model.
struct Play {
    world: World,
    people: Vec<Person>,
    model: Model,
    rng: StdRng,
    places: Vec<Place<Entry>>,
    own_places: Vec<Place<Entry>>,
    post_places: Vec<Place<u64>>,
    timeline_places: Vec<Place<u64>>,
    screens: Vec<Screen>,
    /// The newest post that existed when the screens began.
    newest: u64,
    log: Vec<String>,
    pairs: usize,
}

impl Play {
    async fn new(database: &Database, strategy: &str, seed: u64) -> Self {
        let relations = if seed.is_multiple_of(2) { "zinterstore" } else { "zmscore" };
        let options = [
            ["--archive-url", &database.url],
            ["--timeline-strategy", strategy],
            ["--relation-strategy", relations],
            ["--timeline-capacity", "8"],
            ["--timeline-push-limit", "3"],
            ["--post-hot-limit", "1"],
            ["--publishes-per-author", "1000"],
            ["--graphql-cost-limit", "100000"],
        ];
        let world = World::with(options.as_flattened()).await;
        world.app.open_archive().await.unwrap();
        let people = world.people(USERS).await;
        let mut play = Self {
            world,
            people,
            model: Model::default(),
            rng: StdRng::seed_from_u64(seed),
            places: Vec::new(),
            own_places: Vec::new(),
            post_places: Vec::new(),
            timeline_places: Vec::new(),
            screens: Vec::new(),
            newest: 0,
            log: vec![format!("{strategy} {seed}")],
            pairs: 0,
        };
        for user in (0..USERS).chain(0..USERS) {
            play.publish(user).await;
        }
        deliver_all(&play.world.app).await;
        archive_all(&play.world.app).await;
        play.begin_screens().await;
        play
    }

    async fn ask(&self, viewer: Option<usize>, query: &str, variables: Value) -> Value {
        let token = viewer.map(|viewer| self.people[viewer].token.as_str());
        self.world.data(token, query, variables).await
    }

    /// Compares what is found with what the model says.
    #[track_caller]
    fn expect(&self, found: &Value, expected: &Value, what: &str) {
        assert_eq!(found, expected, "{what} after\n{}", self.log.join("\n"));
    }

    async fn publish(&mut self, author: usize) {
        if self.model.posts.len() == MOST_POSTS {
            return;
        }
        let visibility = if self.rng.random_bool(0.3) { Visibility::Followers } else { Visibility::Public };
        let name = format!("{visibility:?}").to_uppercase();
        let query = format!(
            "mutation {{ publish(input: {{ content: \"x\", visibility: {name} }}) {{ post {{ id }} }} }}"
        );
        let data = self.ask(Some(author), &query, Value::Null).await;
        let number = number_of(&data["publish"]["post"]["id"]);
        self.model.posts.push(NaivePost { number, author, is_deleted: false, visibility });
        self.log.push(format!("{author} publishes {number} for {visibility:?}"));
    }

    async fn delete(&mut self) {
        let user = self.rng.random_range(0..USERS);
        let Some(index) = (0..self.model.posts.len()).choose(&mut self.rng) else { return };
        // Mostly by its author.
        let post = &self.model.posts[index];
        let user = if self.rng.random_bool(0.7) { post.author } else { user };
        let code = match () {
            () if post.author == user => None,
            () if self.model.sees(Some(user), post) => Some("NOT_YOURS"),
            () => Some("NOT_FOUND"),
        };
        let query = "mutation ($id: ID!) { deletePost(input: { postId: $id }) { userErrors { code } } }";
        let id = post_id(post.number);
        self.log.push(format!("{user} deletes {} by {}", post.number, post.author));
        let data = self.ask(Some(user), query, json!({ "id": id })).await;
        let errors: Vec<Value> = code.iter().map(|code| json!({ "code": code })).collect();
        self.expect(&data["deletePost"]["userErrors"], &json!(errors), "the deletion");
        self.model.posts[index].is_deleted |= code.is_none();
    }

    async fn make_private(&mut self) {
        let user = self.rng.random_range(0..USERS);
        let is_private = self.rng.random_bool(0.5);
        self.log.push(format!("{user} is private: {is_private}"));
        let query =
            "mutation ($is: Boolean) { updateProfile(input: { isPrivate: $is }) { userErrors { code } } }";
        self.ask(Some(user), query, json!({ "is": is_private })).await;
        self.model.make_private(user, is_private);
    }

    /// Makes a random change between two users, mostly one that the model says is possible.
    async fn change(&mut self) {
        let rng = &mut self.rng;
        let until = rng.random_bool(0.5).then(|| self.model.now + rng.random_range(1..60));
        let hides_posts = rng.random_bool(0.8);
        let (change, likely) = match rng.random_range(0..25) {
            0..10 => (Change::Follow, None),
            10..12 => (Change::Unfollow, self.model.follows.keys().choose(rng).copied()),
            12 => {
                (Change::RemoveFollower, self.model.follows.keys().choose(rng).map(|(from, to)| (*to, *from)))
            }
            13..16 => (Change::Accept, self.model.requests.keys().choose(rng).map(|(from, to)| (*to, *from))),
            16 => (Change::Reject, self.model.requests.keys().choose(rng).map(|(from, to)| (*to, *from))),
            17..19 => (Change::Mute { until, hides_posts }, self.model.follows.keys().choose(rng).copied()),
            19 => (Change::Unmute, self.model.mutes.keys().choose(rng).copied()),
            20..23 => (Change::Block, self.model.follows.keys().choose(rng).copied()),
            _ => (Change::Unblock, self.model.blocks.keys().choose(rng).copied()),
        };
        let any = (rng.random_range(0..USERS), rng.random_range(0..USERS));
        let (user, other) = likely.filter(|_| rng.random_bool(0.6)).unwrap_or(any);
        self.log.push(format!("{user} {change:?} {other} at {}", self.model.now));
        let (name, more) = change.mutation();
        let query = format!(
            "mutation ($id: ID!) {{ {name}(input: {{ userId: $id {more} }}) {{
                relation {{ {RELATION} }} user {{ id }} userErrors {{ code }} }} }}"
        );
        let data = self.ask(Some(user), &query, json!({ "id": user_id(other) })).await;
        let expected = match self.model.change(change, user, other) {
            Some(code) => json!({ "relation": null, "user": null, "userErrors": [{ "code": code }] }),
            None => json!({
                "relation": self.model.relation(Some(user), other),
                "user": { "id": user_id(other) },
                "userErrors": [],
            }),
        };
        self.expect(&data[name], &expected, "the payload");
    }

    async fn act(&mut self) {
        let author = self.rng.random_range(0..USERS);
        match self.rng.random_range(0..12) {
            0 | 1 => self.publish(author).await,
            2 => self.delete().await,
            3 => self.make_private().await,
            _ => self.change().await,
        }
        // Often, several changes have the same time.
        self.world.clock.advance(Duration::from_millis(self.rng.random_range(0..3)));
        self.model.now = self.world.clock.now().as_millis() - ManualClock::BEGINNING;
    }

    /// Runs some steps, and compares everything after them.
    async fn round(&mut self, steps: usize) {
        for _ in 0..steps {
            self.act().await;
        }
        deliver_all(&self.world.app).await;
        if self.rng.random_bool(0.8) {
            archive_all(&self.world.app).await;
        }
        self.check_screens().await;
        for viewer in std::iter::once(None).chain((0..USERS).map(Some)) {
            self.check_all(viewer).await;
            self.check_single(viewer).await;
        }
        for user in 0..USERS {
            self.check_own(user).await;
        }
        for _ in 0..20 {
            self.check_page().await;
            self.check_own_page().await;
            self.check_posts_page().await;
            self.check_timeline_page().await;
        }
        self.begin_screens().await;
    }

    /// Returns a page of users as the API shows it, without cursors.
    fn page(&self, viewer: Option<usize>, entries: &[Entry], time: &str) -> (Value, Value) {
        let edge = |&(at, user): &Entry| json!({ time: printed(at), "node": { "id": user_id(user), "relation": self.model.status(viewer, user) } });
        let nodes: Vec<Value> = entries.iter().map(|(_, user)| json!({ "id": user_id(*user) })).collect();
        (entries.iter().map(edge).collect(), json!(nodes))
    }

    fn connection(&self, viewer: Option<usize>, list: &[Entry], cut: Cut, time: &str) -> Value {
        let (entries, info) = cut.of(list, None);
        let (edges, nodes) = self.page(viewer, &entries, time);
        json!({ "totalCount": list.len(), "edges": edges, "nodes": nodes, "pageInfo": info })
    }

    /// Checks all users and posts, as they are seen through `nodes` and `relations`.
    async fn check_all(&mut self, viewer: Option<usize>) {
        let users: Vec<String> = (0..USERS).map(user_id).collect();
        let numbers: Vec<u64> = self.model.posts.iter().map(|post| post.number).collect();
        let posts: Vec<String> = numbers.iter().map(|post| post_id(*post)).collect();
        let lists: Vec<String> = LISTS
            .iter()
            .map(|list| format!("{list}(first: 3) {{ ...page }} {list}Last: {list}(last: 2) {{ ...page }}"))
            .collect();
        let lists = lists.join(" ");
        let query = format!(
            "query ($users: [ID!]!, $posts: [ID!]!) {{
                users: nodes(ids: $users) {{ ... on User {{ id username isPrivate relation {{ {RELATION} }} {lists}
                    posts(first: 2) {{ ...posts }} postsLast: posts(last: 3) {{ ...posts }} }} }}
                relations(userIds: $users) {{ {RELATION} user {{ id }} }}
                posts: nodes(ids: $posts) {{ ... on Post {{ id author {{ id relation {{ status }} }} }} }}
            }}
            fragment page on FollowConnection {{ totalCount nodes {{ id }} pageInfo {{ hasPreviousPage hasNextPage }}
                edges {{ cursor followedAt node {{ id relation {{ status }} }} }} }}
            fragment posts on PostConnection {{ totalCount edges {{ cursor node {{ id }} }}
                pageInfo {{ hasPreviousPage hasNextPage }} }}"
        );
        let mut data = self.ask(viewer, &query, json!({ "users": users, "posts": posts })).await;
        for user in 0..USERS {
            self.take_places(&mut data["users"][user], user);
            let expected = self.profile(viewer, user);
            self.expect(&data["users"][user], &expected, &format!("{viewer:?} of {user}"));
            let mut relation = self.model.relation(viewer, user);
            if self.model.hides(viewer, user) {
                relation = Value::Null;
            }
            if !relation.is_null() {
                relation["user"] = json!({ "id": user_id(user) });
            }
            self.expect(&data["relations"][user], &relation, &format!("relations: {viewer:?} of {user}"));
        }
        for (index, post) in self.model.posts.iter().enumerate() {
            let author =
                json!({ "id": user_id(post.author), "relation": self.model.status(viewer, post.author) });
            let shown = json!({ "id": post_id(post.number), "author": author });
            let expected = if self.model.sees(viewer, post) { shown } else { Value::Null };
            self.expect(&data["posts"][index], &expected, &format!("{viewer:?} of post {}", post.number));
        }
        self.pairs += USERS + self.model.posts.len();
    }

    /// Removes the cursors from a profile, and stores them as positions to read from later.
    fn take_places(&mut self, profile: &mut Value, owner: usize) {
        for list in LISTS {
            for alias in [list.to_owned(), format!("{list}Last")] {
                for edge in edges_of(profile, &alias) {
                    let user = number_of(&edge["node"]["id"]) as usize - 1;
                    let at = edge["followedAt"].as_str().unwrap().to_owned();
                    let cursor = edge.as_object_mut().unwrap().remove("cursor").unwrap();
                    let at = parsed(&at);
                    self.places.push(Place { owner, list, at: (at, user), cursor });
                }
            }
        }
        for alias in ["posts", "postsLast"] {
            for edge in edges_of(profile, alias) {
                let at = number_of(&edge["node"]["id"]);
                let cursor = edge.as_object_mut().unwrap().remove("cursor").unwrap();
                self.post_places.push(Place { owner, list: "posts", at, cursor });
            }
        }
    }

    fn profile(&self, viewer: Option<usize>, user: usize) -> Value {
        if self.model.hides(viewer, user) {
            return Value::Null;
        }
        let mut profile = json!({
            "id": user_id(user),
            "username": format!("ann{user}"),
            "isPrivate": self.model.private.contains(&user),
            "relation": self.model.relation(viewer, user),
        });
        for list in LISTS {
            let entries = self.model.list(list, user, viewer);
            let first = Cut { is_forward: true, size: 3 };
            profile[list] = self.connection(viewer, &entries, first, "followedAt");
            let last = Cut { is_forward: false, size: 2 };
            profile[format!("{list}Last")] = self.connection(viewer, &entries, last, "followedAt");
        }
        let posts = self.model.posts_of(user, viewer);
        for (alias, is_forward, size) in [("posts", true, 2), ("postsLast", false, 3)] {
            let (page, info) = Cut { is_forward, size }.of(&posts, None);
            let edges: Vec<Value> =
                page.iter().map(|post| json!({ "node": { "id": post_id(*post) } })).collect();
            profile[alias] = json!({ "totalCount": posts.len(), "edges": edges, "pageInfo": info });
        }
        profile
    }

    /// Checks the fields that look up one user or post.
    async fn check_single(&mut self, viewer: Option<usize>) {
        let query = "query ($id: ID!, $name: String!) {
            byId: user(by: { id: $id }) { id posts(first: 1) { totalCount } followers(first: 2) { totalCount nodes { id } } }
            byName: user(by: { username: $name }) {
                id posts(first: 1) { totalCount } followers(first: 2) { totalCount nodes { id } } }
            node(id: $id) { id }
        }";
        for user in 0..USERS {
            let variables = json!({ "id": user_id(user), "name": format!("ann{user}") });
            let data = self.ask(viewer, query, variables).await;
            let followers = self.model.list("followers", user, viewer);
            let nodes: Vec<Value> =
                followers.iter().take(2).map(|(_, user)| json!({ "id": user_id(*user) })).collect();
            let shown = json!({
                "id": user_id(user),
                "posts": { "totalCount": self.model.posts_of(user, viewer).len() },
                "followers": { "totalCount": followers.len(), "nodes": nodes },
            });
            let is_hidden = self.model.hides(viewer, user);
            let expected = if is_hidden {
                json!({ "byId": null, "byName": null, "node": null })
            } else {
                json!({ "byId": shown, "byName": shown, "node": { "id": user_id(user) } })
            };
            self.expect(&data, &expected, &format!("{viewer:?} of {user}"));
        }
        let query = "query ($id: ID!) { post(id: $id) { id } node(id: $id) { id } }";
        for _ in 0..4 {
            let post = self.model.posts.choose(&mut self.rng).unwrap();
            let id = post_id(post.number);
            let shown = if self.model.sees(viewer, post) { json!({ "id": id }) } else { Value::Null };
            let data = self.ask(viewer, query, json!({ "id": id })).await;
            let what = format!("{viewer:?} of {} by {}", post.number, post.author);
            self.expect(&data, &json!({ "post": shown, "node": shown }), &what);
        }
        self.pairs += USERS + 4;
    }

    /// Checks the viewer's own lists, and the home timeline.
    async fn check_own(&mut self, viewer: usize) {
        let lists: Vec<String> = OWN_LISTS
            .iter()
            .map(|list| format!("{list}(first: 2) {{ ...page }} {list}Last: {list}(last: 2) {{ ...page }}"))
            .collect();
        let lists = lists.join(" ");
        let query = format!(
            "{{ viewer {{ {lists} timeline(first: 100) {{ edges {{ cursor node {{ id author {{ id }} }} }}
                pageInfo {{ hasPreviousPage hasNextPage }} }} }} }}
            fragment page on UserConnection {{ totalCount nodes {{ id }} pageInfo {{ hasPreviousPage hasNextPage }}
                edges {{ cursor since node {{ id relation {{ status }} }} }} }}"
        );
        let mut data = self.ask(Some(viewer), &query, Value::Null).await;
        let shown = &mut data["viewer"];
        for list in OWN_LISTS {
            let entries = self.model.own_list(list, viewer);
            for (alias, is_forward) in [(list.to_owned(), true), (format!("{list}Last"), false)] {
                for edge in edges_of(shown, &alias) {
                    let user = number_of(&edge["node"]["id"]) as usize - 1;
                    let at = parsed(edge["since"].as_str().unwrap());
                    let cursor = edge.as_object_mut().unwrap().remove("cursor").unwrap();
                    self.own_places.push(Place { owner: viewer, list, at: (at, user), cursor });
                }
                let expected = self.connection(Some(viewer), &entries, Cut { is_forward, size: 2 }, "since");
                self.expect(&shown[&alias], &expected, &format!("{alias} of {viewer}"));
            }
        }
        let timeline = shown["timeline"]["edges"].as_array().unwrap();
        let place = |edge: &Value| {
            let (at, cursor) = (number_of(&edge["node"]["id"]), edge["cursor"].clone());
            Place { owner: viewer, list: "timeline", at, cursor }
        };
        let places: Vec<Place<u64>> = timeline.iter().map(place).collect();
        let found: Vec<u64> = places.iter().map(|place| place.at).collect();
        self.expect(&json!(found), &json!(self.model.timeline(viewer)), &format!("the timeline of {viewer}"));
        self.timeline_places.extend(places);
    }

    fn random_cut(&mut self) -> Cut {
        Cut { is_forward: self.rng.random_bool(0.5), size: self.rng.random_range(1..4) }
    }

    fn random_viewer(&mut self) -> Option<usize> {
        self.rng.random_bool(0.9).then(|| self.rng.random_range(0..USERS))
    }

    /// Reads a page of a list of users from the position of an entry that another viewer may have seen, and that may be
    /// gone.
    async fn check_page(&mut self) {
        let (viewer, cut) = (self.random_viewer(), self.random_cut());
        let Some(place) = self.places.choose(&mut self.rng).cloned() else { return };
        let Place { owner, list, at, cursor } = place;
        let query = format!(
            "query ($id: ID!, $at: String) {{ user(by: {{ id: $id }}) {{ {list}({}) {{ totalCount nodes {{ id }}
                pageInfo {{ hasPreviousPage hasNextPage }} }} }} }}",
            cut.arguments()
        );
        let data = self.ask(viewer, &query, json!({ "id": user_id(owner), "at": cursor })).await;
        let expected = if self.model.hides(viewer, owner) {
            Value::Null
        } else {
            let entries = self.model.list(list, owner, viewer);
            let (page, info) = cut.of(&entries, Some(&|entry: &Entry| in_list_order(entry, &at)));
            let nodes: Vec<Value> = page.iter().map(|(_, user)| json!({ "id": user_id(*user) })).collect();
            json!({ list: { "totalCount": entries.len(), "nodes": nodes, "pageInfo": info } })
        };
        self.expect(&data["user"], &expected, &format!("{viewer:?}: {list} of {owner} from {at:?}: {cut:?}"));
    }

    /// The same for the viewer's own lists.
    async fn check_own_page(&mut self) {
        let cut = self.random_cut();
        let Some(place) = self.own_places.choose(&mut self.rng).cloned() else { return };
        let Place { owner, list, at, cursor } = place;
        let query = format!(
            "query ($at: String) {{ viewer {{ {list}({}) {{ totalCount nodes {{ id }}
                pageInfo {{ hasPreviousPage hasNextPage }} }} }} }}",
            cut.arguments()
        );
        let data = self.ask(Some(owner), &query, json!({ "at": cursor })).await;
        let entries = self.model.own_list(list, owner);
        let (page, info) = cut.of(&entries, Some(&|entry: &Entry| in_list_order(entry, &at)));
        let nodes: Vec<Value> = page.iter().map(|(_, user)| json!({ "id": user_id(*user) })).collect();
        let expected = json!({ "totalCount": entries.len(), "nodes": nodes, "pageInfo": info });
        self.expect(&data["viewer"][list], &expected, &format!("{list} of {owner} from {at:?}: {cut:?}"));
    }

    async fn check_posts_page(&mut self) {
        let (viewer, cut) = (self.random_viewer(), self.random_cut());
        let Some(place) = self.post_places.choose(&mut self.rng).cloned() else { return };
        let Place { owner, at, cursor, .. } = place;
        let query = format!(
            "query ($id: ID!, $at: String) {{ user(by: {{ id: $id }}) {{ posts({}) {{ totalCount nodes {{ id }}
                pageInfo {{ hasPreviousPage hasNextPage }} }} }} }}",
            cut.arguments()
        );
        let data = self.ask(viewer, &query, json!({ "id": user_id(owner), "at": cursor })).await;
        let expected = if self.model.hides(viewer, owner) {
            Value::Null
        } else {
            let posts = self.model.posts_of(owner, viewer);
            let (page, info) = cut.of(&posts, Some(&|post: &u64| at.cmp(post)));
            let nodes: Vec<Value> = page.iter().map(|post| json!({ "id": post_id(*post) })).collect();
            json!({ "posts": { "totalCount": posts.len(), "nodes": nodes, "pageInfo": info } })
        };
        self.expect(&data["user"], &expected, &format!("{viewer:?}: posts of {owner} from {at}: {cut:?}"));
    }

    async fn check_timeline_page(&mut self) {
        let cut = self.random_cut();
        let Some(place) = self.timeline_places.choose(&mut self.rng).cloned() else { return };
        let Place { owner, at, cursor, .. } = place;
        let query = format!(
            "query ($at: String) {{ viewer {{ timeline({}) {{ nodes {{ id }}
                pageInfo {{ hasPreviousPage hasNextPage }} }} }} }}",
            cut.arguments()
        );
        let data = self.ask(Some(owner), &query, json!({ "at": cursor })).await;
        let (page, info) = cut.of(&self.model.timeline(owner), Some(&|post: &u64| at.cmp(post)));
        let nodes: Vec<Value> = page.iter().map(|post| json!({ "id": post_id(*post) })).collect();
        let what = format!("the timeline of {owner} from {at}: {cut:?}");
        self.expect(&data["viewer"]["timeline"], &json!({ "nodes": nodes, "pageInfo": info }), &what);
    }

    /// Shows every user their timeline, and signs them in, so that what happens from now on arrives as events.
    async fn begin_screens(&mut self) {
        self.newest = self.model.posts.last().map_or(0, |post| post.number);
        self.screens.clear();
        for person in &self.people {
            let app = &self.world.app;
            let viewer = app.authenticate(&person.token).await.unwrap();
            let window = Window { direction: Direction::Forward, size: 100, from: None };
            let query = TimelineQuery { window, author: UserFields::NONE, looks_back: false };
            let page: TimelinePage = app.timeline(&viewer, query).await.unwrap();
            let shown = page.page.entries.iter().map(|entry| entry.post.id.get()).collect();
            let seen = (!page.page.entries.is_empty()).then(|| page.seen_from(0));
            self.screens.push(Screen { viewer, seen, shown });
        }
    }

    /// Receives the events since the screens began.
    async fn check_screens(&mut self) {
        for (user, Screen { viewer, seen, shown }) in
            std::mem::take(&mut self.screens).into_iter().enumerate()
        {
            let Some(seen) = seen else { continue };
            let app = &self.world.app;
            let mut watch = app.watch_timeline(&viewer, Some(seen), UserFields::NONE).await.unwrap();
            let mut added = BTreeSet::new();
            while let Some((event, _)) = watch.next_by_now().await.unwrap() {
                match event {
                    TimelineEvent::Added(entry) => {
                        assert!(added.insert(entry.post.id.get()), "an event arrives once");
                    }
                    TimelineEvent::Removed(post) => {
                        let post = self.model.posts.iter().find(|known| known.number == post.get());
                        assert!(post.unwrap().is_deleted);
                    }
                }
            }
            // Posts of authors who were followed or unmuted may be events, or not.
            let timeline: BTreeSet<u64> = self.model.timeline(user).into_iter().collect();
            let wrong: Vec<&u64> =
                added.iter().filter(|post| !timeline.contains(post) || shown.contains(post)).collect();
            self.expect(&json!(wrong), &json!([]), &format!("events that {user} must not receive"));
            let is_missing = |post: &&u64| **post > self.newest && !added.contains(post);
            let missing: Vec<&u64> = timeline.iter().filter(is_missing).collect();
            self.expect(&json!(missing), &json!([]), &format!("events that {user} has not received"));
        }
    }
}

/// Returns the edges of a connection; none if the object is null.
fn edges_of<'a>(object: &'a mut Value, connection: &str) -> impl Iterator<Item = &'a mut Value> {
    let edges = object.pointer_mut(&format!("/{connection}/edges"));
    edges.into_iter().flat_map(|edges| edges.as_array_mut().unwrap())
}

fn parsed(at: &str) -> i64 {
    let part = |range: std::ops::Range<usize>| at[range].parse::<i64>().unwrap();
    ((part(11..13) * 60 + part(14..16)) * 60 + part(17..19)) * 1_000 + part(20..23)
}

/// Plays a random world. Returns the number of viewers and objects that were compared.
async fn play(kind: Kind, strategy: &str, seed: u64, rounds: u32) -> usize {
    let database = Database::new(kind).await;
    let mut play = Play::new(&database, strategy, seed).await;
    for _ in 0..rounds {
        play.round(32).await;
    }
    let cold = play.model.posts.iter().filter(|post| {
        let key = format!("ff:{{p{}}}:post", post.number);
        !post.is_deleted && play.world.redis.raw::<u64>(&["EXISTS", &key]) == 0
    });
    assert!(cold.count() > 0, "some posts are archived");
    play.pairs
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_viewer_sees_what_a_naive_model_says() {
    let rounds = cases(3);
    let plays = (0..).zip(["hybrid", "push", "pull"]);
    let plays: Vec<_> =
        plays.map(|(seed, strategy)| tokio::spawn(play(Kind::Sqlite, strategy, seed, rounds))).collect();
    let mut pairs = 0;
    for play in plays {
        pairs += play.await.unwrap();
    }
    assert!(pairs >= 1_700 * rounds as usize, "{pairs} pairs");
}

mod archived {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn mariadb() {
        Box::pin(play(Kind::Mariadb, "hybrid", 3, 1)).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn postgres() {
        Box::pin(play(Kind::Postgres, "pull", 4, 1)).await;
    }
}
