//! The actors that make the calls on a stage, one step at a time.

use std::sync::Arc;
use std::time::Duration;

use fanfold::app::App;
use fanfold::app::post::{EditRequest, PublishRequest};
use fanfold::app::timeline::entry::Replies;
use fanfold::app::viewer::Viewer;
use fanfold::gate::Moment;
use fanfold::model::id::{PostId, UserId};
use fanfold::model::page::Direction;
use fanfold::model::post::Visibility;
use fanfold::model::relation::MuteScope;

use crate::harness::edits::read_versions;
use crate::harness::screen::watch;
use crate::harness::stage::call::{Call, Refer};
use crate::harness::stage::invariant::check_posts;
use crate::harness::stage::{Stage, USERS, id};
use crate::harness::turnstile::Actor;
use crate::harness::walk::{walk_entries, walk_posts};

impl Stage {
    pub(crate) async fn begin(&self, call: Call) -> Actor {
        let results = Arc::clone(&self.results);
        let viewer = |user: u64| self.viewers[&user].clone();
        match call {
            Call::Publish(user, key) => self.begin_publishing((user, key), Visibility::Public).await,
            Call::PublishLimited(user) => self.begin_publishing((user, None), Visibility::Followers).await,
            Call::Refer(refer) => self.begin_referring(refer).await,
            Call::Repost(user, rank) | Call::Undo(user, rank) => self.begin_reposting(call, user, rank).await,
            Call::Like(user, rank) | Call::Unlike(user, rank) => self.begin_liking(call, user, rank).await,
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
            Call::Account(change, user) => self.begin_account_change(change, user).await,
            Call::Work => Actor::begin(&self.app, async |app: App| drop(app.work_on_accounts().await)).await,
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

    /// Begins to like a post, or to take the like back.
    async fn begin_liking(&self, call: Call, user: u64, rank: usize) -> Actor {
        self.world.clock.advance(Duration::from_millis(1));
        let (viewer, post) = (self.viewers[&user].clone(), self.post_of_rank(rank).await);
        let work = async move |app: App| {
            let Some(post) = post else { return };
            drop(match call {
                Call::Like(..) => app.like(&viewer, post).await,
                _ => app.unlike(&viewer, post).await,
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
}
