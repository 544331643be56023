//! Random worlds, and the changes and checks that make a round.

use std::time::Duration;

use fanfold::model::id::UserId;
use fanfold::model::moderation::ActionNote;
use fanfold::model::moderator::Moderator;
use fanfold::model::page::Direction;
use rand::rngs::StdRng;
use rand::seq::{IndexedRandom as _, IteratorRandom as _};
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Value, json};

use crate::api::referrer::model::{Model, NaivePost, USERS};
use crate::harness::id::global;
use crate::harness::post::{delete, try_publish};
use crate::harness::sql::Database;
use crate::harness::walk::{ReferrerField, ReferrerWalk, walk_referrers};
use crate::harness::world::{PASSWORD, Person, World, archive_all, deliver_all};

/// The user who is a moderator, and stays active.
const MODERATOR: usize = 0;
/// Number of posts at the beginning to which most others refer.
const TARGETS: usize = 6;
/// Number of times that an account becomes private or public: the limit per day.
const CHANGES_OF_PRIVACY: u32 = 10;

/// A random world and its model.
pub(super) struct Play {
    world: World,
    people: Vec<Person>,
    model: Model,
    rng: StdRng,
    changes_of_privacy: [u32; USERS],
    log: Vec<String>,
}

fn user_id(user: usize) -> UserId {
    UserId::new(user as u64 + 1).unwrap()
}

impl Play {
    pub(super) async fn new(database: &Database, seed: u64) -> Self {
        let options = [
            ["--post-hot-limit", "2"],
            ["--post-publishes-per-author", "100000"],
            ["--relation-changes-per-pair", "1000000"],
        ];
        let world = World::with_archive(database, options.as_flattened()).await;
        world.app.open_archive().await.unwrap();
        let people = world.people(USERS).await;
        world.app.set_moderator(&Moderator::Operator, user_id(MODERATOR), true).await.unwrap();
        let (model, rng) = (Model::default(), StdRng::seed_from_u64(seed));
        let log = vec![format!("seed {seed}")];
        let mut play = Self { world, people, model, rng, changes_of_privacy: [0; USERS], log };
        for number in 0..TARGETS {
            play.publish(number % 3 + 1, None, None).await;
        }
        play
    }

    /// Draws a user who can sign in.
    fn draw(&mut self) -> usize {
        self.model.active().into_iter().choose(&mut self.rng).unwrap()
    }

    /// Draws a post, mostly one of the first.
    fn draw_post(&mut self) -> usize {
        let most = if self.rng.random_bool(0.8) { TARGETS } else { self.model.posts.len() };
        self.rng.random_range(0..most)
    }

    async fn send(&self, user: usize, mutation: &str) -> Value {
        let query = format!("mutation {{ done: {mutation} {{ userErrors {{ code }} }} }}");
        self.world.data(Some(&self.people[user].token), &query, Value::Null).await["done"]["userErrors"]
            .take()
    }

    async fn publish(&mut self, author: usize, parent: Option<usize>, quoted: Option<usize>) {
        let is_public = self.rng.random_bool(0.75);
        let refers = parent.is_some() || quoted.is_some();
        let is_public = is_public || !refers;
        let mut input = json!({ "visibility": if is_public { "PUBLIC" } else { "FOLLOWERS" } });
        for (field, post) in [("inReplyTo", parent), ("quoteOf", quoted)] {
            if let Some(post) = post {
                input[field] = json!(self.model.posts[post].id);
            }
        }
        let published = try_publish(&self.world, &self.people[author], input).await;
        self.log.push(format!("{author} publishes {published:?}: {parent:?} {quoted:?} {is_public}"));
        let referred = || [parent, quoted].into_iter().flatten().map(|post| &self.model.posts[post]);
        let is_visible = referred().all(|post| self.model.sees(Some(author), post));
        let are_open = referred().all(|post| self.model.is_listed(post));
        match published {
            Ok(id) => {
                assert!(is_visible, "{:?}", self.log);
                let (is_deleted, original) = (false, None);
                self.model.posts.push(NaivePost {
                    id,
                    author,
                    is_public,
                    is_deleted,
                    parent,
                    quoted,
                    original,
                });
            }
            Err(error) if error[0] == "VISIBILITY" => assert!(is_visible && !are_open, "{:?}", self.log),
            Err(error) => assert!(error[0] == "NOT_FOUND" && !is_visible, "{error} {:?}", self.log),
        }
    }

    async fn repost(&mut self, user: usize, post: usize) {
        self.world.clock.advance(Duration::from_millis(1));
        let original = &self.model.posts[post];
        let (id, is_open) = (original.id.clone(), self.model.is_listed(original));
        let may = is_open && self.model.sees(Some(user), original) && original.original.is_none();
        let errors = self.send(user, &format!("repost(input: {{ postId: \"{id}\" }})")).await;
        self.log.push(format!("{user} reposts {post}: {errors}"));
        assert_eq!(errors == json!([]), may, "{:?}", self.log);
        let is_there =
            |other: &NaivePost| (other.author, other.original, other.is_deleted) == (user, Some(post), false);
        if may && !self.model.posts.iter().any(is_there) {
            self.model.posts.push(NaivePost {
                // No one refers to it.
                id: String::new(),
                author: user,
                is_public: true,
                is_deleted: false,
                parent: None,
                quoted: None,
                original: Some(post),
            });
        }
    }

    async fn undo(&mut self, user: usize, post: usize) {
        let id = self.model.posts[post].id.clone();
        self.log.push(format!("{user} no longer reposts {post}"));
        self.send(user, &format!("undoRepost(input: {{ postId: \"{id}\" }})")).await;
        for repost in &mut self.model.posts {
            repost.is_deleted |= (repost.author, repost.original) == (user, Some(post));
        }
    }

    /// Deletes a post, by its author or by the moderator.
    async fn delete(&mut self, post: usize) {
        let NaivePost { id, author, .. } = &self.model.posts[post];
        let (id, author) = (id.clone(), *author);
        if self.model.is_active(author) && self.rng.random_bool(0.5) {
            delete(&self.world, &self.people[author], &id).await;
        } else {
            self.send(MODERATOR, &format!("removePost(input: {{ postId: \"{id}\" }})")).await;
        }
        self.log.push(format!("{post} is deleted"));
        self.model.posts[post].is_deleted = true;
    }

    async fn edit(&mut self, post: usize) {
        let NaivePost { id, author, is_deleted, .. } = &self.model.posts[post];
        if !is_deleted && self.model.is_active(*author) {
            self.log.push(format!("{post} is edited"));
            let edit = format!("editPost(input: {{ postId: \"{id}\", content: \"edited\" }})");
            assert_eq!(self.send(*author, &edit).await, json!([]));
        }
    }

    async fn relate(&mut self, user: usize, other: usize) {
        if user == other {
            return;
        }
        let id = global("User", other as u64 + 1);
        let back = global("User", user as u64 + 1);
        let (name, is_follow) = match self.rng.random_range(0..10) {
            0..6 => ("follow", true),
            6 => ("unfollow", false),
            7 | 8 => ("block", false),
            _ => ("unblock", false),
        };
        if is_follow && (self.model.has_block(user, other) || !self.model.is_active(other)) {
            return;
        }
        if name == "block" && (self.model.blocks.contains(&(other, user)) || !self.model.is_active(other)) {
            return;
        }
        self.log.push(format!("{user} {name} {other}"));
        self.send(user, &format!("{name}(input: {{ userId: \"{id}\" }})")).await;
        match name {
            "follow" => {
                if self.model.private.contains(&other) {
                    let accept = format!("acceptFollowRequest(input: {{ userId: \"{back}\" }})");
                    self.send(other, &accept).await;
                }
                self.model.follows.insert((user, other));
            }
            // An inactive or blocking user is not found; what is between the two stays.
            "unfollow" if self.model.is_active(other) && !self.model.blocks.contains(&(other, user)) => {
                self.model.follows.remove(&(user, other));
            }
            "block" => {
                self.model.blocks.insert((user, other));
                self.model.follows.remove(&(user, other));
                self.model.follows.remove(&(other, user));
            }
            "unblock" => {
                self.model.blocks.remove(&(user, other));
            }
            _ => {}
        }
    }

    async fn change_privacy(&mut self, user: usize) {
        let is_private = !self.model.private.contains(&user);
        if self.changes_of_privacy[user] == CHANGES_OF_PRIVACY {
            return;
        }
        self.changes_of_privacy[user] += 1;
        self.log.push(format!("{user} is private: {is_private}"));
        let update = format!("updateProfile(input: {{ isPrivate: {is_private} }})");
        assert_eq!(self.send(user, &update).await, json!([]), "{:?}", self.log);
        if is_private {
            self.model.private.insert(user);
        } else {
            self.model.private.remove(&user);
        }
    }

    async fn change_standing(&mut self) {
        let user = self.rng.random_range(1..USERS);
        let (app, by, note) = (&self.world.app, &Moderator::Operator, ActionNote::default());
        let few_are_inactive = self.model.active().len() > USERS / 2;
        let change = match (self.model.suspended.contains(&user), self.model.deleted.contains(&user)) {
            (true, _) => {
                app.unsuspend_user(by, user_id(user), note).await.unwrap();
                self.model.suspended.remove(&user);
                "lifted"
            }
            (_, true) => {
                self.sign_in(user).await;
                self.model.deleted.remove(&user);
                "deletion cancelled"
            }
            _ if !few_are_inactive => return,
            _ if self.rng.random_bool(0.6) => {
                app.suspend_user(by, user_id(user), note).await.unwrap();
                self.model.suspended.insert(user);
                "suspended"
            }
            _ => {
                let viewer = app.authenticate(&self.people[user].token).await.unwrap();
                app.delete_account(&viewer, Some(PASSWORD), None).await.unwrap();
                self.model.deleted.insert(user);
                "deleted"
            }
        };
        self.log.push(format!("{user} is {change}"));
        if change == "lifted" {
            self.sign_in(user).await;
        }
    }

    /// Signs a user in again, which cancels a deletion.
    async fn sign_in(&mut self, user: usize) {
        let opened = self.world.app.login(&format!("ann{user}"), PASSWORD, None, None).await.unwrap();
        self.people[user].token = opened.token.expose();
    }

    async fn act(&mut self) {
        let (user, other, post) = (self.draw(), self.rng.random_range(0..USERS), self.draw_post());
        let is_repost = self.model.posts[post].original.is_some();
        match self.rng.random_range(0..100) {
            _ if is_repost => {}
            0..20 => self.publish(user, Some(post), None).await,
            20..30 => self.publish(user, None, Some(post)).await,
            30..35 => {
                let quoted = self.draw_post();
                if self.model.posts[quoted].original.is_none() {
                    self.publish(user, Some(post), Some(quoted)).await;
                }
            }
            35..45 => self.repost(user, post).await,
            45..49 => self.undo(user, post).await,
            49..52 => self.publish(user, None, None).await,
            // Mostly one that refers to others.
            52..58 => {
                let of = if self.rng.random_bool(0.1) { 0 } else { TARGETS };
                let posts: Vec<usize> = (of..self.model.posts.len())
                    .filter(|post| self.model.posts[*post].original.is_none())
                    .collect();
                if let Some(&post) = posts.choose(&mut self.rng) {
                    self.delete(post).await;
                }
            }
            58..61 => self.edit(post).await,
            61..76 => self.relate(user, other).await,
            76..86 => self.change_privacy(user).await,
            86..96 => self.change_standing().await,
            _ => {
                self.log.push("the archive".to_owned());
                deliver_all(&self.world.app).await;
                archive_all(&self.world.app).await;
            }
        }
    }

    /// Compares a list of a post, read page by page.
    async fn check_list(
        &self,
        target: usize,
        list: ReferrerField,
        viewer: Option<usize>,
        walk: (Direction, usize),
    ) {
        let (direction, size) = walk;
        let post = &self.model.posts[target].id;
        let token = viewer.map(|viewer| self.people[viewer].token.as_str());
        let found =
            walk_referrers(&ReferrerWalk { world: &self.world, token, post, list, direction, size }).await;
        let expected = self.model.list(target, list, viewer, |user| self.people[user].id.clone());
        let log = self.log.join("\n");
        assert_eq!(found, expected, "{list:?} of {target} ({post}) for {viewer:?}, {walk:?}, after\n{log}");
    }

    /// Compares all numbers, and with them the lengths of the lists that an anonymous viewer sees.
    async fn check_counts(&self) {
        let posts = (0..self.model.posts.len()).filter(|post| self.model.posts[*post].original.is_none());
        for target in posts {
            let author = self.model.posts[target].author;
            let viewer = self.model.is_active(author).then_some(author);
            if !self.model.sees(viewer, &self.model.posts[target]) {
                continue;
            }
            let id = &self.model.posts[target].id;
            let query = format!("{{ post(id: \"{id}\") {{ replyCount quoteCount repostCount }} }}");
            let token = viewer.map(|viewer| self.people[viewer].token.as_str());
            let found = self.world.data(token, &query, Value::Null).await["post"].take();
            let [replies, quotes, reposts] = self.model.counts(target);
            let expected = json!({ "replyCount": replies, "quoteCount": quotes, "repostCount": reposts });
            let log = self.log.join("\n");
            assert_eq!(found, expected, "the numbers of {target} ({id}), after\n{log}");
        }
    }

    /// Runs some steps, and compares some lists after each, and all in the end.
    pub(super) async fn round(&mut self, steps: usize) {
        for _ in 0..steps {
            self.act().await;
            let target = self.rng.random_range(0..TARGETS);
            let list = *ReferrerField::ALL.choose(&mut self.rng).unwrap();
            for viewer in std::iter::once(None).chain(self.model.active().into_iter().map(Some)) {
                let size = *[1, 2, 3, 100].choose(&mut self.rng).unwrap();
                let direction = *[Direction::Forward, Direction::Backward].choose(&mut self.rng).unwrap();
                self.check_list(target, list, viewer, (direction, size)).await;
            }
        }
        deliver_all(&self.world.app).await;
        self.world.app.work_on_accounts().await.unwrap();
        for target in 0..TARGETS {
            for viewer in std::iter::once(None).chain(self.model.active().into_iter().map(Some)) {
                for list in ReferrerField::ALL {
                    self.check_list(target, list, viewer, (Direction::Forward, 100)).await;
                }
            }
        }
        self.check_counts().await;
    }

    /// Makes all accounts active and public, after which everyone sees all public posts, apart from blocks.
    pub(super) async fn finish(&mut self) {
        for user in 1..USERS {
            while !self.model.is_active(user) {
                if self.model.suspended.remove(&user) {
                    let (by, note) = (&Moderator::Operator, ActionNote::default());
                    self.world.app.unsuspend_user(by, user_id(user), note).await.unwrap();
                }
                self.sign_in(user).await;
                self.model.deleted.remove(&user);
            }
            if self.model.private.contains(&user) && self.changes_of_privacy[user] < CHANGES_OF_PRIVACY {
                self.change_privacy(user).await;
            }
        }
        self.log.push("all return".to_owned());
        archive_all(&self.world.app).await;
        self.round(1).await;
    }
}
