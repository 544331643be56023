//! Compares posts, timelines and live updates with the model.

use std::collections::BTreeSet;

use fanfold::app::timeline::entry::Replies;
use fanfold::app::timeline::live::TimelineEvent;
use fanfold::app::timeline::{TimelinePage, TimelineQuery};
use fanfold::model::page::{Direction, Window};
use fanfold::model::reaction::ReactionSelection;
use fanfold::model::user::UserFields;
use rand::seq::IndexedRandom as _;
use serde_json::{Value, json};

use crate::api::visibility::model::post_id;
use crate::api::visibility::window::Place;
use crate::api::visibility::world::{Play, Screen};

impl Play {
    pub(super) async fn check_posts_page(&mut self) {
        let (viewer, cut) = (self.random_viewer(), self.random_cut());
        let Some(place) = self.post_places.choose(&mut self.rng).cloned() else { return };
        let Place { owner, at, cursor, .. } = place;
        let data = self.ask_page(viewer, (owner, "posts"), cut, cursor).await;
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

    pub(super) async fn check_timeline_page(&mut self) {
        let cut = self.random_cut();
        let Some(place) = self.timeline_places.choose(&mut self.rng).cloned() else { return };
        let Place { owner, at, cursor, .. } = place;
        if self.model.suspended.contains(&owner) {
            return;
        }
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
    pub(super) async fn begin_screens(&mut self) {
        self.newest = self.model.posts.last().map_or(0, |post| post.number);
        self.screens.clear();
        for user in self.model.active() {
            let (app, person) = (&self.world.app, &self.people[user]);
            let viewer = app.authenticate(&person.token).await.unwrap();
            let window = Window { direction: Direction::Forward, size: 100, from: None };
            let query = TimelineQuery {
                window,
                author: UserFields::NONE,
                reactions: ReactionSelection::NONE,
                replies: Replies::default(),
                looks_back: false,
            };
            let page: TimelinePage = app.timeline(&viewer, query).await.unwrap();
            let shown = page.page.entries.iter().map(|entry| entry.post.id.get()).collect();
            let seen = (!page.page.entries.is_empty()).then(|| page.seen_from(0));
            self.screens.push(Screen { user, viewer, seen, shown });
        }
    }

    /// Receives the events since the screens began.
    pub(super) async fn check_screens(&mut self) {
        for Screen { user, viewer, seen, shown } in std::mem::take(&mut self.screens) {
            let Some(seen) = seen.filter(|_| !self.model.suspended.contains(&user)) else { continue };
            let app = &self.world.app;
            let mut watch =
                app.watch_timeline(&viewer, Some(seen), UserFields::NONE, Replies::default()).await.unwrap();
            let (mut added, mut is_reset) = (BTreeSet::new(), false);
            while let Some((event, _)) = watch.next_by_now().await.unwrap() {
                match event {
                    TimelineEvent::Added(entry) => {
                        assert!(added.insert(entry.post.id.get()), "an event arrives once");
                    }
                    TimelineEvent::Removed(removal) => {
                        let removed = removal.post.get();
                        let post = self.model.posts.iter().find(|known| known.number == removed);
                        assert!(post.unwrap().is_deleted);
                    }
                    TimelineEvent::Reset => is_reset = true,
                }
            }
            if is_reset {
                continue;
            }
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
