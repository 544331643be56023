//! Random worlds, and the changes and checks that make a round.

use std::collections::BTreeSet;
use std::time::Duration;

use fanfold::app::timeline::seen::Seen;
use fanfold::app::viewer::Viewer;
use fanfold::model::clock::Clock as _;
use fanfold::model::id::UserId;
use fanfold::model::moderation::ActionNote;
use fanfold::model::moderator::Moderator;
use fanfold::model::post::Visibility;
use rand::rngs::StdRng;
use rand::seq::IteratorRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Value, json};

use crate::api::visibility::model::{Change, Entry, Model, NaivePost, USERS, number_of, post_id, user_id};
use crate::api::visibility::users::RELATION;
use crate::api::visibility::window::{Cut, Place};
use crate::harness::sql::Database;
use crate::harness::world::{ManualClock, PASSWORD, Person, World, archive_all, deliver_all};

/// Maximum number of posts, so that one page holds a whole timeline.
const MOST_POSTS: usize = 95;

/// A client that shows a home timeline and receives live updates.
pub(super) struct Screen {
    pub(super) user: usize,
    pub(super) viewer: Viewer,
    pub(super) seen: Option<Seen>,
    pub(super) shown: BTreeSet<u64>,
}

/// A random world and its model.
pub(super) struct Play {
    pub(super) world: World,
    pub(super) people: Vec<Person>,
    pub(super) model: Model,
    pub(super) rng: StdRng,
    pub(super) places: Vec<Place<Entry>>,
    pub(super) own_places: Vec<Place<Entry>>,
    pub(super) post_places: Vec<Place<u64>>,
    pub(super) timeline_places: Vec<Place<u64>>,
    pub(super) screens: Vec<Screen>,
    /// The newest post that existed when the screens began.
    pub(super) newest: u64,
    pub(super) log: Vec<String>,
    pub(super) pairs: usize,
}

impl Play {
    pub(super) async fn new(database: &Database, strategy: &str, seed: u64) -> Self {
        let relations = if seed.is_multiple_of(2) { "zinterstore" } else { "zmscore" };
        let options = [
            ["--archive-url", &database.url],
            ["--timeline-strategy", strategy],
            ["--relation-strategy", relations],
            ["--timeline-capacity", "8"],
            ["--timeline-push-limit", "3"],
            ["--post-hot-limit", "1"],
            ["--post-publishes-per-author", "1000"],
            ["--relation-changes-per-pair", "1000000"],
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

    pub(super) async fn ask(&self, viewer: Option<usize>, query: &str, variables: Value) -> Value {
        let token = viewer.map(|viewer| self.people[viewer].token.as_str());
        self.world.data(token, query, variables).await
    }

    /// Compares what is found with what the model says.
    /// Requests a window of a list of a user.
    pub(super) async fn ask_page(
        &self,
        viewer: Option<usize>,
        (owner, list): (usize, &str),
        cut: Cut,
        cursor: Value,
    ) -> Value {
        let query = format!(
            "query ($id: ID!, $at: String) {{ user(by: {{ id: $id }}) {{ {list}({}) {{ totalCount nodes {{ id }}
                pageInfo {{ hasPreviousPage hasNextPage }} }} }} }}",
            cut.arguments()
        );
        self.ask(viewer, &query, json!({ "id": user_id(owner), "at": cursor })).await
    }

    #[track_caller]
    pub(super) fn expect(&self, found: &Value, expected: &Value, what: &str) {
        assert_eq!(found, expected, "{what} after\n{}", self.log.join("\n"));
    }

    pub(super) async fn publish(&mut self, author: usize) {
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

    pub(super) async fn delete(&mut self) {
        let user = self.random_active();
        let Some(index) = (0..self.model.posts.len()).choose(&mut self.rng) else { return };
        // Mostly by its author.
        let post = &self.model.posts[index];
        let is_author = self.rng.random_bool(0.7) && !self.model.suspended.contains(&post.author);
        let user = if is_author { post.author } else { user };
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

    pub(super) async fn make_private(&mut self) {
        let user = self.random_active();
        let is_private = self.rng.random_bool(0.5);
        self.log.push(format!("{user} is private: {is_private}"));
        let query =
            "mutation ($is: Boolean) { updateProfile(input: { isPrivate: $is }) { userErrors { code } } }";
        self.ask(Some(user), query, json!({ "is": is_private })).await;
        self.model.make_private(user, is_private);
    }

    /// Makes a random change between two users, mostly one that the model says is possible.
    pub(super) async fn change(&mut self) {
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
        let can_act = |(user, _): &(usize, usize)| !self.model.suspended.contains(user);
        let likely = likely.filter(can_act).filter(|_| rng.random_bool(0.6));
        let (user, other) = match likely {
            Some(pair) => pair,
            None => (self.random_active(), self.rng.random_range(0..USERS)),
        };
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

    /// Suspends a user, or lifts a suspension. At most three users are suspended at a time.
    async fn suspend(&mut self) {
        let user = self.rng.random_range(0..USERS);
        let id = UserId::new(user as u64 + 1).unwrap();
        let lifted = self.model.suspended.iter().copied().choose(&mut self.rng);
        if let Some(lifted) = lifted.filter(|_| self.model.suspended.len() == 3 || self.rng.random_bool(0.4))
        {
            return self.unsuspend_user(lifted).await;
        }
        self.log.push(format!("{user} is suspended"));
        self.world.app.suspend_user(&Moderator::Operator, id, ActionNote::default()).await.unwrap();
        self.model.suspend(user, true);
    }

    /// Lifts a suspension, after which the user signs in again.
    pub(super) async fn unsuspend_user(&mut self, user: usize) {
        self.log.push(format!("{user} is suspended no longer, at {}", self.model.now));
        let id = UserId::new(user as u64 + 1).unwrap();
        self.world.app.unsuspend_user(&Moderator::Operator, id, ActionNote::default()).await.unwrap();
        self.model.suspend(user, false);
        let opened = self.world.app.login(&format!("ann{user}"), PASSWORD, None, None).await.unwrap();
        self.people[user].token = opened.token.expose();
    }

    pub(super) async fn act(&mut self) {
        let author = self.random_active();
        match self.rng.random_range(0..12) {
            0 | 1 => self.publish(author).await,
            2 => self.delete().await,
            3 => self.make_private().await,
            4 => self.suspend().await,
            _ => self.change().await,
        }
        // Often, several changes have the same time.
        self.world.clock.advance(Duration::from_millis(self.rng.random_range(0..3)));
        self.model.now = self.world.clock.now().as_millis() - ManualClock::BEGINNING;
    }

    /// Runs some steps, and compares everything after them.
    pub(super) async fn round(&mut self, steps: usize) {
        for _ in 0..steps {
            self.act().await;
        }
        deliver_all(&self.world.app).await;
        if self.rng.random_bool(0.8) {
            archive_all(&self.world.app).await;
        }
        self.check_screens().await;
        let active = self.model.active();
        for viewer in std::iter::once(None).chain(active.iter().copied().map(Some)) {
            self.check_all(viewer).await;
            self.check_single(viewer).await;
        }
        for user in active {
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

    pub(super) fn random_cut(&mut self) -> Cut {
        Cut { is_forward: self.rng.random_bool(0.5), size: self.rng.random_range(1..4) }
    }

    /// Draws a user who can sign in.
    pub(super) fn random_active(&mut self) -> usize {
        self.model.active().into_iter().choose(&mut self.rng).unwrap()
    }

    pub(super) fn random_viewer(&mut self) -> Option<usize> {
        self.rng.random_bool(0.9).then(|| self.random_active())
    }
}
