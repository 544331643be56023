//! A world in which users act at random, with its model.

use std::time::Duration;

use fanfold::app::post::{EditRequest, PublishRequest};
use fanfold::app::user::ProfileUpdate;
use fanfold::app::viewer::Viewer;
use fanfold::model::clock::{Clock as _, Timestamp};
use fanfold::model::id::UserId;
use fanfold::model::moderation::ActionNote;
use fanfold::model::moderator::Moderator;
use fanfold::model::post::Visibility;
use fanfold::model::reaction::ReactionKind;
use fanfold::model::relation::MuteScope;
use fanfold::store::ordered::stored_time;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Value, json};

use crate::api::export::model::{Model, print};
use crate::harness::graph::Graph;
use crate::harness::id::global;
use crate::harness::world::{Person, World, archive_all, deliver_all};

/// Users in a random world. The owner of the export is the last one.
const USERS: usize = 260;

/// A random world, with its model.
pub(super) struct Random {
    pub(super) world: World,
    pub(super) model: Model,
    pub(super) rng: StdRng,
    pub(super) ids: Vec<UserId>,
    pub(super) owner: Person,
    pub(super) me: UserId,
}

impl Random {
    async fn new(seed: u64) -> Self {
        let options = [
            ["--post-hot-limit", "20"],
            ["--post-publishes-per-author", "1000000"],
            ["--relation-changes-per-pair", "1000000"],
            ["--post-reactions-per-user", "1000000"],
        ];
        let world = World::with(options.as_flattened()).await;
        let graph = Graph { users: USERS, follows: Vec::new() };
        let mut ids = graph.load(&world.app, None).await;
        let owner = world.register("owner").await;
        let me = world.app.authenticate(&owner.token).await.unwrap().user().unwrap();
        ids.push(me);
        let (model, rng) = (Model::default(), StdRng::seed_from_u64(seed));
        Self { world, model, rng, ids, owner, me }
    }

    fn now(&self) -> Timestamp {
        self.world.clock.now()
    }

    /// Authenticates a user. A viewer of an earlier call would not see the blocks since then.
    async fn viewer(&self, user: UserId) -> Viewer {
        self.world.app.operator_as(user).await.unwrap()
    }

    fn draw(&mut self) -> UserId {
        self.ids[self.rng.random_range(0..USERS)]
    }

    async fn follow(&mut self, from: UserId, to: UserId) {
        let (viewer, now) = (self.viewer(from).await, self.now());
        // A follow across a block is rejected.
        drop(self.world.app.follow(&viewer, to).await);
        self.model.follow(from, to, now);
    }

    pub(super) async fn publish(&mut self) {
        let viewer = self.viewer(self.me).await;
        let number = self.model.posts.len();
        let visibility = if self.rng.random_bool(0.3) { Visibility::Followers } else { Visibility::Public };
        let platform = self.rng.random_bool(0.5).then_some("web");
        let content = format!("post {number}\n\"quoted\" \\ ü 🦀");
        let id = self
            .world
            .app
            .publish(
                &viewer,
                PublishRequest { content: &content, platform, visibility, ..PublishRequest::default() },
            )
            .await
            .unwrap();
        let line = json!({
            "type": "post",
            "id": global("Post", id.get()),
            "content": content,
            "platform": platform,
            "visibility": if visibility.is_public() { "PUBLIC" } else { "FOLLOWERS" },
            "createdAt": print(self.now()),
            "inReplyTo": null,
            "quoteOf": null,
            "repostOf": null,
            "editedAt": null,
            "edits": [],
        });
        self.model.posts.insert(id, line);
    }

    /// Edits a post, which may be archived.
    async fn edit(&mut self) {
        let viewer = self.viewer(self.me).await;
        let now = print(self.now());
        let index = self.rng.random_range(0..self.model.posts.len().max(1));
        let Some((id, line)) = self.model.posts.iter_mut().nth(index) else { return };
        let content = format!("edited {now} of {id}");
        let request = EditRequest { post: *id, content: &content, idempotency_key: None };
        self.world.app.edit_post(&viewer, request).await.unwrap();
        let former = if line["editedAt"].is_null() { &line["createdAt"] } else { &line["editedAt"] };
        let version = json!({ "content": line["content"], "writtenAt": former });
        line["edits"].as_array_mut().unwrap().insert(0, version);
        line["content"] = json!(content);
        line["editedAt"] = json!(now);
    }

    /// Likes or bookmarks one of the owner's posts, or takes that back. It outlives the post.
    async fn react(&mut self) {
        let (app, viewer) = (&self.world.app, self.viewer(self.me).await);
        let drawn = self.rng.random_range(0..2 * self.model.posts.len().max(1));
        let Some(id) = self.model.posts.keys().nth(drawn / 2).copied() else { return };
        let kind = ReactionKind::ALL[drawn % 2];
        let is_taken_back = self.model.reactions.remove(&(kind as usize, id)).is_some();
        match (kind, is_taken_back) {
            (ReactionKind::Like, false) => app.like(&viewer, id).await,
            (ReactionKind::Like, true) => app.unlike(&viewer, id).await,
            (ReactionKind::Bookmark, false) => app.bookmark(&viewer, id).await,
            (ReactionKind::Bookmark, true) => app.remove_bookmark(&viewer, id).await,
        }
        .unwrap();
        if !is_taken_back {
            self.model.reactions.insert((kind as usize, id), stored_time(self.now()));
        }
    }

    /// Lets the owner, or another user to the owner, do something.
    pub(super) async fn act(&mut self) {
        self.world.clock.advance(Duration::from_millis(7));
        let (other, me, now) = (self.draw(), self.me, self.now());
        if self.model.suspended.contains(&other) {
            return;
        }
        let (mine, theirs) = (self.viewer(me).await, self.viewer(other).await);
        let app = self.world.app.clone();
        match self.rng.random_range(0..100) {
            0..25 => self.follow(me, other).await,
            25..55 => self.follow(other, me).await,
            55..58 => {
                drop(app.unfollow(&mine, other).await);
                self.model.end(me, other);
            }
            58..61 => {
                drop(app.unfollow(&theirs, me).await);
                self.model.end(other, me);
            }
            61..66 => {
                drop(app.accept_follow_request(&mine, other).await);
                self.model.accept(other, me, now);
            }
            66..72 => {
                let is_private = self.rng.random_bool(0.7);
                let update = ProfileUpdate { is_private: Some(is_private), ..ProfileUpdate::default() };
                app.change_profile(&theirs, update).await.unwrap();
                if is_private {
                    self.model.private.insert(other);
                } else {
                    self.model.make_public(other, now);
                }
            }
            72..75 => {
                app.block(&mine, other).await.ok();
                if !self.model.blocks.contains_key(&(other, me)) {
                    self.model.block(me, other, now);
                }
            }
            75..77 => {
                app.block(&theirs, me).await.ok();
                if !self.model.blocks.contains_key(&(me, other)) {
                    self.model.block(other, me, now);
                }
            }
            77..85 => {
                let until = self.rng.random_bool(0.5).then(|| now.plus(Duration::from_millis(900)));
                let scope = if self.rng.random_bool(0.5) { MuteScope::All } else { MuteScope::Reposts };
                if app.mute(&mine, other, scope, until).await.is_ok() {
                    let former = self.model.mutes.get(&(me, other)).copied();
                    let is_active = |until: Option<Timestamp>| until.is_none_or(|until| until > now);
                    let former = former.filter(|(_, until, _)| is_active(*until));
                    let since = former.map_or(now, |(since, ..)| since);
                    self.model.mutes.insert((me, other), (since, until, scope));
                }
            }
            85..87 => {
                let note = ActionNote::default();
                app.suspend_user(&Moderator::Operator, other, note).await.unwrap();
                self.model.suspended.insert(other);
            }
            87..89 => {
                if let Some(post) = self.model.posts.keys().next().copied() {
                    app.delete_post(&mine, post).await.unwrap();
                    self.model.posts.remove(&post);
                }
            }
            89..92 => self.edit().await,
            92..95 => self.react().await,
            _ => self.publish().await,
        }
    }

    /// Makes the account of the owner private from now on.
    async fn make_private(&mut self) {
        let viewer = self.viewer(self.me).await;
        let update = ProfileUpdate { is_private: Some(true), ..ProfileUpdate::default() };
        self.world.app.change_profile(&viewer, update).await.unwrap();
        self.model.private.insert(self.me);
    }

    pub(super) async fn grow(seed: u64) -> Self {
        let mut random = Self::new(seed).await;
        for _ in 0..130 {
            random.publish().await;
        }
        for _ in 0..400 {
            random.react().await;
        }
        for index in 0..220 {
            let other = random.ids[index];
            random.world.clock.advance(Duration::from_millis(1));
            random.follow(random.me, other).await;
            random.follow(other, random.me).await;
        }
        for _ in 0..250 {
            random.act().await;
        }
        random.make_private().await;
        for _ in 0..250 {
            random.act().await;
        }
        deliver_all(&random.world.app).await;
        archive_all(&random.world.app).await;
        random
    }

    pub(super) fn expected(&self) -> Vec<Value> {
        let name = |user: UserId| {
            let index = self.ids.iter().position(|id| *id == user).unwrap();
            format!("u{index}")
        };
        self.model.lines(self.me, self.now(), name)
    }
}
