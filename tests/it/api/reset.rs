//! Resets of watched timelines: which changes make a client read its timeline again, and which do not.

use std::time::Duration;

use fanfold::app::App;
use fanfold::app::error::{Error, Rejection};
use fanfold::app::timeline::entry::Replies;
use fanfold::app::timeline::live::{TimelineEvent, TimelineWatch};
use fanfold::app::timeline::seen::Seen;
use fanfold::gate::Moment;
use fanfold::model::clock::Timestamp;
use fanfold::model::id::UserId;
use fanfold::model::moderation::ActionNote;
use fanfold::model::moderator::Moderator;
use fanfold::model::relation::MuteScope;
use fanfold::model::user::UserFields;
use serde_json::Value;

use crate::harness::post::{delete, publish};
use crate::harness::session::login;
use crate::harness::turnstile::Actor;
use crate::harness::watch::{first_page, position, watch_after};
use crate::harness::world::{DAY, PASSWORD, Person, World, app, deliver_all, user_of};

const FOLLOW: &str = "follow(input: { userId: $id })";
const UNFOLLOW: &str = "unfollow(input: { userId: $id })";
const MUTE: &str = "mute(input: { userId: $id })";

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
        let seen = position(&world, &ada).await;
        let play = Self { world, ada, ben, cem, dan, seen };
        play.hide(&play.cem).await;
        play
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

    /// Begins a follow by Ada.
    async fn begin_follow(&self, other: &Person) -> Actor {
        let (token, other) = (self.ada.token.clone(), user_of(&self.world, other).await);
        let follow = async move |app: App| {
            let viewer = app.authenticate(&token).await.unwrap();
            app.follow(&viewer, other).await.unwrap();
        };
        Actor::begin(&self.world.app, follow).await
    }

    /// Returns Ada's unfollow of Ben before its mirror.
    async fn slow_unfollow(&self) -> Actor {
        let (token, ben) = (self.ada.token.clone(), user_of(&self.world, &self.ben).await);
        let unfollow = async move |app: App| {
            let viewer = app.authenticate(&token).await.unwrap();
            app.unfollow(&viewer, ben).await.unwrap();
        };
        let mut slow = Actor::begin(&self.world.app, unfollow).await;
        slow.step_to(Moment::Before, "edge: mirror").await;
        slow
    }

    /// Ada slowly unfollows Ben, and has followed him again when the mirror of the unfollow is written. A post is
    /// therefore not delivered to her, and she reads past it. Returns the unfollow after that mirror.
    async fn lose_delivery(&mut self) -> Actor {
        let mut slow = self.slow_unfollow().await;
        self.world.change(&self.ada, FOLLOW, &self.ben.id).await;
        slow.step().await;
        publish(&self.world, &self.ben, "not delivered").await;
        deliver_all(&self.world.app).await;
        self.seen = position(&self.world, &self.ada).await;
        slow
    }

    /// Returns the number of resets since the last call, on a watch that resumes.
    async fn resets(&mut self) -> usize {
        let mut watch = watch_after(&self.world, &self.ada, &self.seen).await;
        let (resets, seen) = resets_of(&mut watch).await;
        self.seen = seen.unwrap_or_else(|| self.seen.clone());
        resets
    }
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
            (FOLLOW, &dan, true),
            (FOLLOW, &dan, false),
            (MUTE, &dan, true),
            (MUTE, &dan, false),
            ("mute(input: { userId: $id, scope: REPOSTS })", &dan, true),
            ("unmute(input: { userId: $id })", &dan, true),
            ("unmute(input: { userId: $id })", &dan, false),
            (UNFOLLOW, &dan, true),
            (UNFOLLOW, &dan, false),
            ("block(input: { userId: $id })", &ben, true),
            ("block(input: { userId: $id })", &ben, false),
            ("unblock(input: { userId: $id })", &ben, true),
            ("unblock(input: { userId: $id })", &ben, false),
        ] {
            play.world.change(&ada, mutation, &other.id).await;
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
    play.world.change(&ada, FOLLOW, &dan.id).await;
    assert_eq!(play.resets().await, 0, "a request");
    play.world.change(&dan, "rejectFollowRequest(input: { userId: $id })", &ada.id).await;
    assert_eq!(play.resets().await, 0, "a rejected request");
    play.world.change(&ada, FOLLOW, &dan.id).await;
    play.world.change(&dan, "acceptFollowRequest(input: { userId: $id })", &ada.id).await;
    assert_eq!(play.resets().await, 1, "an accepted request");
    play.world.change(&ben, "removeFollower(input: { userId: $id })", &ada.id).await;
    assert_eq!(play.resets().await, 1, "Ben, whom anyone sees, has removed a follower");
    play.world.change(&dan, "removeFollower(input: { userId: $id })", &ada.id).await;
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
        play.world.change(&dan, FOLLOW, &ada.id).await;
        play.world.change(&cem, "block(input: { userId: $id })", &ada.id).await;
        play.work().await;
        assert_eq!(play.resets().await, 0, "{strategy}: followed by one, and blocked by another");
        play.world.change(&cem, "unblock(input: { userId: $id })", &ada.id).await;
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
    play.world.change(&ben, "repost(input: { postId: $id })", &original).await;
    play.world.change(&dan, "editPost(input: { postId: $id, content: \"edited\" })", &original).await;
    let own = publish(&play.world, &ben, "own").await;
    play.work().await;
    play.world.change(&ben, "undoRepost(input: { postId: $id })", &original).await;
    delete(&play.world, &ben, &own).await;
    play.work().await;
    assert_eq!(play.resets().await, 0);
}

#[tokio::test]
async fn a_repeated_follow_does_not_reset_the_timeline() {
    for strategy in ["hybrid", "push", "pull"] {
        let mut play = Play::new(strategy).await;
        let (ada, ben) = (play.ada.clone(), play.ben.clone());
        publish(&play.world, &ben, "not delivered").await;
        play.world.change(&ada, FOLLOW, &ben.id).await;
        assert_eq!(play.resets().await, 0, "{strategy}: the post is not delivered");
        deliver_all(&play.world.app).await;
        play.world.change(&ada, FOLLOW, &ben.id).await;
        assert_eq!(play.resets().await, 0, "{strategy}: the post is delivered");
    }
}

#[tokio::test]
async fn a_page_reflects_the_resets_that_its_position_has_passed() {
    for mutation in [MUTE, UNFOLLOW, "block(input: { userId: $id })"] {
        let mut play = Play::new("hybrid").await;
        let (ada, ben) = (play.ada.clone(), play.ben.clone());
        publish(&play.world, &ben, "before").await;
        deliver_all(&play.world.app).await;
        let viewer = play.world.app.authenticate(&ada.token).await.unwrap();
        assert_eq!(first_page(&play.world.app, &viewer).await.page.entries.len(), 1);
        play.world.change(&ada, mutation, &ben.id).await;
        let page = first_page(&play.world.app, &viewer).await;
        assert!(page.page.entries.is_empty(), "{mutation}: the viewer had authenticated before");
        play.seen = page.seen().unwrap();
        assert_eq!(play.resets().await, 0, "{mutation}");
    }
}

#[tokio::test]
async fn no_reset_is_sent_after_a_page_that_reflects_it() {
    let mut play = Play::new("hybrid").await;
    let (ada, ben) = (play.ada.clone(), play.ben.clone());
    // Removals have distinct times, so many of them get ahead of the clock.
    let removed = play.world.app.store().keys().removed(user_of(&play.world, &ada).await);
    let [seconds, _] = play.world.redis.raw::<[u64; 2]>(&["TIME"]);
    let ahead = ((seconds + 60) * 1_000).to_string();
    play.world.redis.raw::<i64>(&["ZADD", removed.name(), &ahead, "1"]);
    play.world.change(&ada, MUTE, &ben.id).await;
    play.seen = position(&play.world, &ada).await;
    assert_eq!(play.resets().await, 0);
}

#[tokio::test]
async fn a_position_that_does_not_tell_which_removals_were_seen_is_read_again() {
    let play = Play::new("hybrid").await;
    let [seconds, _] = play.world.redis.raw::<[i64; 2]>(&["TIME"]);
    // Another server of Redis has taken over, whose clock is behind; or the page was read while Redis was not writable.
    let ahead = Timestamp::from_millis((seconds + 60) * 1_000);
    for removed in [Some(ahead), None] {
        let viewer = play.world.app.authenticate(&play.ada.token).await.unwrap();
        let seen = Seen { removed, ..play.seen.clone() };
        let watch = play.world.app.watch_timeline(&viewer, Some(seen), UserFields::NONE, Replies::All).await;
        let event = async { watch?.next_by_now().await.map(drop) };
        assert!(matches!(event.await, Err(Error::Rejected(Rejection::Resync))), "{removed:?}");
    }
}

#[tokio::test]
async fn a_slow_follow_leaves_the_reset_to_a_later_one() {
    let mut play = Play::new("hybrid").await;
    let (ada, dan) = (play.ada.clone(), play.dan.clone());
    let follow = async || {
        let mut actor = play.begin_follow(&dan).await;
        actor.step_to(Moment::Before, "edge: merge").await;
        assert!(actor.waits.is_some());
        actor
    };
    let mut slow = follow().await;
    play.world.change(&ada, UNFOLLOW, &dan.id).await;
    publish(&play.world, &dan, "between the follows").await;
    deliver_all(&play.world.app).await;
    let mut later = follow().await;
    slow.finish().await;
    play.seen = position(&play.world, &ada).await;
    later.finish().await;
    assert_eq!(play.resets().await, 1);
    assert_eq!(play.resets().await, 0);
}

#[tokio::test]
async fn posts_that_were_not_delivered_because_of_a_slow_unfollow_reset_the_timeline() {
    for strategy in ["hybrid", "push"] {
        let mut play = Play::new(strategy).await;
        play.lose_delivery().await.finish().await;
        assert_eq!(play.resets().await, 1, "{strategy}");
        assert_eq!(play.resets().await, 0, "{strategy}");
    }
}

#[tokio::test]
async fn posts_that_were_not_removed_because_of_a_slow_unfollow_reset_the_timeline() {
    let mut play = Play::new("hybrid").await;
    let (ada, ben) = (play.ada.clone(), play.ben.clone());
    let post = publish(&play.world, &ben, "deleted").await;
    deliver_all(&play.world.app).await;
    let mut slow = play.slow_unfollow().await;
    play.world.change(&ada, FOLLOW, &ben.id).await;
    play.seen = position(&play.world, &ada).await;
    slow.step().await;
    delete(&play.world, &ben, &post).await;
    deliver_all(&play.world.app).await;
    slow.finish().await;
    assert_eq!(play.resets().await, 1);
    assert_eq!(play.resets().await, 0);
}

#[tokio::test]
async fn a_follow_of_a_user_who_is_not_suspended_any_more_resets_a_younger_timeline_once() {
    for strategy in ["hybrid", "push", "pull"] {
        let mut play = Play::new(strategy).await;
        let (ada, ben) = (user_of(&play.world, &play.ada).await, user_of(&play.world, &play.ben).await);
        publish(&play.world, &play.ben, "before").await;
        play.suspend(ben, true).await;
        let timeline = play.world.app.store().keys().timeline(ada);
        play.world.redis.raw::<u64>(&["DEL", timeline.name()]);
        play.seen = position(&play.world, &play.ada).await;
        let unsuspend = async move |app: App| {
            app.unsuspend_user(&Moderator::Operator, ben, ActionNote::default()).await.unwrap();
        };
        let mut unsuspended = Actor::begin(&play.world.app, unsuspend).await;
        unsuspended.step_to(Moment::Before, "edge: withhold").await;
        assert!(unsuspended.waits.is_some());
        assert_eq!(play.resets().await, 0, "{strategy}: nothing is shown yet");
        unsuspended.finish().await;
        play.work().await;
        assert_eq!(play.resets().await, 1, "{strategy}");
    }
}

#[tokio::test]
async fn posts_that_a_repeated_follow_merges_late_reset_the_timeline() {
    let mut play = Play::new("hybrid").await;
    play.lose_delivery().await.interrupt().await;
    play.world.change(&play.ada, FOLLOW, &play.ben.id).await;
    assert_eq!(play.resets().await, 1);
    play.work().await;
    assert_eq!(play.resets().await, 0);
}

#[tokio::test]
async fn a_late_merge_that_is_interrupted_resets_the_timeline_in_the_end() {
    let mut play = Play::new("hybrid").await;
    play.lose_delivery().await.interrupt().await;
    // Another follow, which changes nothing, merges the post.
    let mut repeated = play.begin_follow(&play.ben).await;
    repeated.step_to(Moment::Before, "edge: late merges").await;
    assert!(repeated.waits.is_some());
    repeated.interrupt().await;
    assert_eq!(play.resets().await, 0);
    play.work().await;
    assert_eq!(play.resets().await, 1);
}

#[tokio::test]
async fn the_viewers_own_reactivation_resets_the_timeline_once() {
    for strategy in ["hybrid", "push"] {
        let mut play = Play::new(strategy).await;
        let (ben, dan) = (play.ben.clone(), play.dan.clone());
        play.world.change(&play.ada, FOLLOW, &dan.id).await;
        play.resets().await;
        let ada = user_of(&play.world, &play.ada).await;
        play.suspend(ada, true).await;
        for author in [&ben, &dan] {
            publish(&play.world, author, "missed").await;
        }
        play.work().await;
        play.suspend(ada, false).await;
        play.ada.token = login(&play.world, "ada", PASSWORD).await["token"].as_str().unwrap().to_owned();
        assert_eq!(play.resets().await, 1, "{strategy}");
    }
}

#[tokio::test]
async fn the_deletion_of_a_hidden_user_does_not_reset_the_timeline() {
    for mutation in [MUTE, "block(input: { userId: $id })"] {
        let mut play = Play::new("hybrid").await;
        let (ada, dan) = (play.ada.clone(), play.dan.clone());
        play.world.change(&ada, mutation, &dan.id).await;
        assert_eq!(play.resets().await, 1);
        let version = |play: &Play, ada: UserId| {
            let sessions = play.world.app.store().keys().sessions(ada);
            play.world.redis.raw::<u64>(&["HGET", sessions.name(), "exclusions"])
        };
        let (ada, dan) = (user_of(&play.world, &ada).await, user_of(&play.world, &dan).await);
        let before = version(&play, ada);
        play.world.app.delete_user(&Moderator::Operator, dan, ActionNote::default(), DAY).await.unwrap();
        play.work().await;
        play.world.clock.advance(2 * DAY);
        play.work().await;
        let record = play.world.app.store().keys().user(dan);
        assert!(!play.world.redis.raw::<bool>(&["EXISTS", record.name()]), "{mutation}: it is erased");
        assert!(version(&play, ada) > before, "{mutation}: caches forget it");
        assert_eq!(play.resets().await, 0, "{mutation}");
    }
}

#[tokio::test]
async fn a_follow_without_a_timeline_awaits_no_merge() {
    let world = World::new().await;
    let [ada, ben] = [world.register("ada").await, world.register("ben").await];
    world.follow(&ada, &ben).await;
    let merging = world.app.store().keys().merging(user_of(&world, &ada).await);
    assert!(!world.redis.raw::<bool>(&["EXISTS", merging.name()]));
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
    first_page(&other, &viewer).await;
    let (count, seen) = resets(&play.seen).await;
    assert_eq!(count, 1);
    play.seen = seen.unwrap();
    // Servers with the earlier strategy may still run.
    for _ in 0..2 {
        assert_eq!(play.resets().await, 0, "the earlier strategy");
        first_page(&play.world.app, &viewer).await;
        first_page(&other, &viewer).await;
        assert_eq!(resets(&play.seen).await.0, 0, "the later strategy");
    }
}
