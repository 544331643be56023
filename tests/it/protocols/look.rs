//! Looks that watches of one user share: each watch still has every post once, whatever the others have seen.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fanfold::app::App;
use fanfold::app::post::PublishRequest;
use fanfold::app::timeline::TimelineQuery;
use fanfold::app::timeline::entry::Replies;
use fanfold::app::timeline::live::TimelineEvent;
use fanfold::app::timeline::seen::Seen;
use fanfold::app::viewer::Viewer;
use fanfold::model::id::PostId;
use fanfold::model::page::{Direction, Window};
use fanfold::model::reaction::ReactionSelection;
use fanfold::model::user::UserFields;

use crate::harness::case::cases;
use crate::harness::world::{World, deliver_all};

/// Returns the next pseudorandom number.
fn next(number: &mut u64) -> u64 {
    *number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *number >> 33
}

/// A client that watches, disconnects in the middle of anything, and resumes; with what it has seen.
struct Wanderer {
    seed: u64,
    seen: Seen,
    added: Vec<PostId>,
    removed: BTreeSet<PostId>,
}

impl Wanderer {
    async fn visit(&mut self, app: &App, viewer: &Viewer) {
        let author = [UserFields::NONE, UserFields::BIO][usize::from(next(&mut self.seed).is_multiple_of(2))];
        let mut watch =
            app.watch_timeline(viewer, Some(self.seen.clone()), author, Replies::default()).await.unwrap();
        for _ in 0..next(&mut self.seed) % 12 {
            let timeout = Duration::from_millis(next(&mut self.seed) % 20);
            let is_found = tokio::time::timeout(timeout, async {
                watch.ready().await?;
                watch.prepare().await
            });
            let Ok(is_found) = is_found.await else { continue };
            is_found.unwrap();
            let Some((event, seen)) = watch.take() else { continue };
            match event {
                TimelineEvent::Added(entry) => self.added.push(entry.post.id),
                TimelineEvent::Removed(removal) => drop(self.removed.insert(removal.post)),
                TimelineEvent::Reset => panic!("nothing resets the timeline"),
            }
            self.seen = seen;
        }
    }

    fn has_all(&self, published: &BTreeSet<PostId>, deleted: &BTreeSet<PostId>) -> bool {
        let added: BTreeSet<PostId> = self.added.iter().copied().collect();
        let is_right = |post: &PostId| {
            if deleted.contains(post) {
                !added.contains(post) || self.removed.contains(post)
            } else {
                added.contains(post)
            }
        };
        published.iter().all(is_right)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watches_that_share_looks_miss_nothing_and_see_nothing_twice() {
    // The second author has two followers, and is pulled.
    let world = World::with(&["--timeline-push-limit", "1"]).await;
    let people = world.people(4).await;
    for (one, other) in [(0, 1), (0, 2), (3, 2)] {
        world.follow(&people[one], &people[other]).await;
    }
    let mut viewers = Vec::new();
    for person in &people {
        viewers.push(world.app.authenticate(&person.token).await.unwrap());
    }
    world
        .app
        .publish(&viewers[0], PublishRequest { content: "start", ..PublishRequest::default() })
        .await
        .unwrap();
    let window = Window { direction: Direction::Forward, size: 1, from: None };
    let query = TimelineQuery {
        window,
        author: UserFields::NONE,
        reactions: ReactionSelection::NONE,
        replies: Replies::default(),
        looks_back: false,
    };
    let start = world.app.timeline(&viewers[0], query).await.unwrap().seen_from(0);

    let app = world.app.clone();
    let listening = tokio::spawn(async move { app.keep_listening().await });
    let app = world.app.clone();
    let delivering = tokio::spawn(async move {
        loop {
            deliver_all(&app).await;
            tokio::time::sleep(Duration::from_millis(3)).await;
        }
    });
    let stop = Arc::<AtomicBool>::default();
    let mut wandering = Vec::new();
    for seed in 1..=8 {
        let (app, viewer, stop) = (world.app.clone(), viewers[0].clone(), Arc::clone(&stop));
        let mut wanderer =
            Wanderer { seed, seen: start.clone(), added: Vec::new(), removed: BTreeSet::new() };
        wandering.push(tokio::spawn(async move {
            while !stop.load(Ordering::Relaxed) {
                wanderer.visit(&app, &viewer).await;
            }
            wanderer
        }));
    }
    let (mut published, mut deleted) = (BTreeSet::new(), BTreeSet::new());
    for number in 0..cases(400) {
        let author = &viewers[number as usize % 3];
        let post = world
            .app
            .publish(author, PublishRequest { content: &number.to_string(), ..PublishRequest::default() })
            .await
            .unwrap();
        published.insert(post);
        if number % 5 == 0 {
            world.app.delete_post(author, post).await.unwrap();
            deleted.insert(post);
        }
        tokio::time::sleep(Duration::from_millis(u64::from(number) % 7)).await;
    }
    stop.store(true, Ordering::Relaxed);
    for wandering in wandering {
        let mut wanderer = wandering.await.unwrap();
        for _ in 0..1_000 {
            if wanderer.has_all(&published, &deleted) {
                break;
            }
            wanderer.visit(&world.app, &viewers[0]).await;
        }
        let added: BTreeSet<PostId> = wanderer.added.iter().copied().collect();
        assert_eq!(added.len(), wanderer.added.len(), "nothing is seen twice");
        assert!(wanderer.has_all(&published, &deleted), "nothing is missed, and deletions are sent");
        assert!(added.is_subset(&published), "no other post arrives");
    }
    listening.abort();
    delivering.abort();
}
