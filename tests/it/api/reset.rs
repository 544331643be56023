//! Resets of watched timelines: which changes make a client read its timeline again, and which do not.

use std::time::Duration;

use fanfold::app::timeline::entry::Replies;
use fanfold::app::timeline::live::{TimelineEvent, TimelineWatch};
use fanfold::app::timeline::seen::Seen;
use fanfold::app::timeline::{TimelinePage, TimelineQuery};
use fanfold::model::id::UserId;
use fanfold::model::moderation::ActionNote;
use fanfold::model::moderator::Moderator;
use fanfold::model::page::{Direction, Window};
use fanfold::model::relation::MuteScope;
use fanfold::model::user::UserFields;
use serde_json::{Value, json};

use crate::harness::post::{delete, publish};
use crate::harness::watch::watch_after;
use crate::harness::world::{DAY, Person, World, app, deliver_all, user_of};

/// Ada watches her timeline. She follows Ben, and Cem, whose account is private.
struct Play {
    world: World,
    ada: Person,
    ben: Person,
    cem: Person,
    dan: Person,
    /// The position after what Ada has read.
    seen: Seen,
}

impl Play {
    async fn new(strategy: &str) -> Self {
        let world = World::with(&["--timeline-strategy", strategy]).await;
        let [ada, ben, cem, dan] = [
            world.register("ada").await,
            world.register("ben").await,
            world.register("cem").await,
            world.register("dan").await,
        ];
        for followed in [&ben, &cem] {
            world.follow(&ada, followed).await;
        }
        let seen = seen(&world, &ada).await;
        let play = Self { world, ada, ben, cem, dan, seen };
        play.hide(&play.cem).await;
        play
    }

    async fn change(&self, person: &Person, mutation: &str, id: &str) {
        let query = format!("mutation ($id: ID!) {{ change: {mutation} {{ userErrors {{ code }} }} }}");
        let data = self.world.data(Some(&person.token), &query, json!({ "id": id })).await;
        assert_eq!(data["change"]["userErrors"], json!([]), "{mutation}");
    }

    async fn hide(&self, person: &Person) {
        let query = "mutation { updateProfile(input: { isPrivate: true }) { userErrors { code } } }";
        self.world.data(Some(&person.token), query, Value::Null).await;
        self.world.app.work_on_accounts().await.unwrap();
    }

    async fn suspend(&self, id: UserId, is_suspended: bool) {
        let app = &self.world.app;
        let note = ActionNote::default();
        if is_suspended {
            app.suspend_user(&Moderator::Operator, id, note).await.unwrap();
        } else {
            app.unsuspend_user(&Moderator::Operator, id, note).await.unwrap();
        }
        self.work().await;
    }

    async fn work(&self) {
        self.world.clock.advance(Duration::from_secs(61));
        self.world.app.repair().await.unwrap();
        self.world.app.work_on_accounts().await.unwrap();
        deliver_all(&self.world.app).await;
    }

    /// Returns the number of resets since the last call, on a watch that resumes.
    async fn resets(&mut self) -> usize {
        let mut watch = watch_after(&self.world, &self.ada, &self.seen).await;
        let (resets, seen) = resets_of(&mut watch).await;
        self.seen = seen.unwrap_or_else(|| self.seen.clone());
        resets
    }
}

/// Returns the position of a client that has read its timeline, which may be empty.
async fn seen(world: &World, person: &Person) -> Seen {
    let viewer = world.app.authenticate(&person.token).await.unwrap();
    let window = Window { direction: Direction::Forward, size: 10, from: None };
    let query = TimelineQuery { window, author: UserFields::NONE, replies: Replies::All, looks_back: false };
    let page: TimelinePage = world.app.timeline(&viewer, query).await.unwrap();
    page.seen().expect("the page begins at the top")
}

/// Returns the number of resets among the events until now, and the position after them.
async fn resets_of(watch: &mut TimelineWatch) -> (usize, Option<Seen>) {
    let (mut resets, mut last) = (0, None);
    while let Some((event, seen)) = watch.next_by_now().await.unwrap() {
        resets += usize::from(matches!(event, TimelineEvent::Reset));
        last = Some(seen);
    }
    (resets, last)
}

#[tokio::test]
async fn what_the_viewer_changes_resets_the_timeline_once() {
    for strategy in ["hybrid", "push", "pull"] {
        let mut play = Play::new(strategy).await;
        assert_eq!(play.resets().await, 0, "{strategy}");
        let (ada, ben, dan) = (play.ada.clone(), play.ben.clone(), play.dan.clone());
        for (mutation, other, is_reset) in [
            ("follow(input: { userId: $id })", &dan, true),
            ("follow(input: { userId: $id })", &dan, false),
            ("mute(input: { userId: $id })", &dan, true),
            ("mute(input: { userId: $id })", &dan, false),
            ("mute(input: { userId: $id, scope: REPOSTS })", &dan, true),
            ("unmute(input: { userId: $id })", &dan, true),
            ("unmute(input: { userId: $id })", &dan, false),
            ("unfollow(input: { userId: $id })", &dan, true),
            ("unfollow(input: { userId: $id })", &dan, false),
            ("block(input: { userId: $id })", &ben, true),
            ("block(input: { userId: $id })", &ben, false),
            ("unblock(input: { userId: $id })", &ben, true),
            ("unblock(input: { userId: $id })", &ben, false),
        ] {
            play.change(&ada, mutation, &other.id).await;
            play.work().await;
            assert_eq!(play.resets().await, usize::from(is_reset), "{strategy}: {mutation}");
            assert_eq!(play.resets().await, 0, "{strategy}: {mutation}");
        }
    }
}

#[tokio::test]
async fn a_request_resets_the_timeline_once_it_is_accepted() {
    let mut play = Play::new("hybrid").await;
    let (ada, ben, dan) = (play.ada.clone(), play.ben.clone(), play.dan.clone());
    play.hide(&dan).await;
    play.change(&ada, "follow(input: { userId: $id })", &dan.id).await;
    assert_eq!(play.resets().await, 0, "a request");
    play.change(&dan, "rejectFollowRequest(input: { userId: $id })", &ada.id).await;
    assert_eq!(play.resets().await, 0, "a rejected request");
    play.change(&ada, "follow(input: { userId: $id })", &dan.id).await;
    play.change(&dan, "acceptFollowRequest(input: { userId: $id })", &ada.id).await;
    assert_eq!(play.resets().await, 1, "an accepted request");
    play.change(&ben, "removeFollower(input: { userId: $id })", &ada.id).await;
    assert_eq!(play.resets().await, 1, "Ben, whom anyone sees, has removed a follower");
    play.change(&dan, "removeFollower(input: { userId: $id })", &ada.id).await;
    assert_eq!(play.resets().await, 0, "Dan is not seen any more");
}

#[tokio::test]
async fn the_end_of_a_mute_resets_the_timeline_once() {
    let mut play = Play::new("hybrid").await;
    let viewer = play.world.app.authenticate(&play.ada.token).await.unwrap();
    let ben = user_of(&play.world, &play.ben).await;
    let until = play.world.app.now().plus(DAY / 2);
    play.world.app.mute(&viewer, ben, MuteScope::All, Some(until)).await.unwrap();
    assert_eq!(play.resets().await, 1);
    play.world.clock.advance(DAY / 4);
    assert_eq!(play.resets().await, 0);
    play.world.clock.advance(DAY / 3);
    assert_eq!(play.resets().await, 1);
    assert_eq!(play.resets().await, 0);
}

#[tokio::test]
async fn users_who_become_invisible_leave_no_trace() {
    for strategy in ["hybrid", "push", "pull"] {
        let mut play = Play::new(strategy).await;
        let (ada, ben, cem, dan) = (play.ada.clone(), play.ben.clone(), play.cem.clone(), play.dan.clone());
        play.change(&dan, "follow(input: { userId: $id })", &ada.id).await;
        play.change(&cem, "block(input: { userId: $id })", &ada.id).await;
        play.work().await;
        assert_eq!(play.resets().await, 0, "{strategy}: followed by one, and blocked by another");
        play.change(&cem, "unblock(input: { userId: $id })", &ada.id).await;
        let id = user_of(&play.world, &ben).await;
        play.suspend(id, true).await;
        assert_eq!(play.resets().await, 0, "{strategy}: unblocked by one, and another was suspended");
        play.suspend(id, false).await;
        assert_eq!(play.resets().await, 1, "{strategy}: a follow is put back");
        play.world.app.delete_user(&Moderator::Operator, id, ActionNote::default(), DAY).await.unwrap();
        play.work().await;
        play.world.clock.advance(2 * DAY);
        play.work().await;
        let record = play.world.app.store().keys().user(id);
        assert!(!play.world.redis.raw::<bool>(&["EXISTS", record.name()]), "{strategy}: it is erased");
        assert_eq!(play.resets().await, 0, "{strategy}: a followed account was deleted");
    }
}

#[tokio::test]
async fn posts_never_reset_the_timeline() {
    let mut play = Play::new("hybrid").await;
    let (ben, dan) = (play.ben.clone(), play.dan.clone());
    let original = publish(&play.world, &dan, "original").await;
    play.change(&ben, "repost(input: { postId: $id })", &original).await;
    play.change(&dan, "editPost(input: { postId: $id, content: \"edited\" })", &original).await;
    let own = publish(&play.world, &ben, "own").await;
    play.work().await;
    play.change(&ben, "undoRepost(input: { postId: $id })", &original).await;
    delete(&play.world, &ben, &own).await;
    play.work().await;
    assert_eq!(play.resets().await, 0);
}

#[tokio::test]
async fn another_strategy_resets_the_timeline_once() {
    let mut play = Play::new("hybrid").await;
    assert_eq!(play.resets().await, 0);
    let other = app(&play.world.redis, &play.world.clock, &["--timeline-strategy", "pull"]).await;
    let viewer = other.authenticate(&play.ada.token).await.unwrap();
    let resets = async |after: &Seen| {
        let watch = other.watch_timeline(&viewer, Some(after.clone()), UserFields::NONE, Replies::All);
        resets_of(&mut watch.await.unwrap()).await
    };
    let window = Window { direction: Direction::Forward, size: 10, from: None };
    let query = TimelineQuery { window, author: UserFields::NONE, replies: Replies::All, looks_back: false };
    other.timeline(&viewer, query).await.unwrap();
    let (count, seen) = resets(&play.seen).await;
    assert_eq!(count, 1);
    assert_eq!(resets(&seen.unwrap()).await.0, 0);
}
