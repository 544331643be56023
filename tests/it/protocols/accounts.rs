//! The protocol of accounts that are suspended and active again: whatever runs concurrently and wherever it is
//! interrupted, names, lists and mirrors end as the records say.

use std::time::Duration;

use fanfold::app::App;
use fanfold::app::user::ProfileUpdate;
use fanfold::gate::Moment;
use fanfold::model::id::UserId;
use fanfold::model::moderation::ActionNote;
use fanfold::model::moderator::Moderator;
use proptest::prelude::*;
use tokio::runtime::Runtime;

use crate::harness::case::model_config;
use crate::harness::turnstile::{self, Actor, Event, events};
use crate::harness::world::{Person, World};

/// A call of one of two clients, the first of whom is user 1 and the second user 2; of a moderator about one of them; or
/// of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Follow(u64),
    Unfollow(u64),
    RemoveFollower(u64),
    Accept(u64),
    Block(u64),
    MakePrivate(u64),
    MakePublic(u64),
    Suspend(u64),
    Lift(u64),
    Work,
}

impl Call {
    /// Returns the user who makes the call; `None` if it is a moderator or a worker.
    fn viewer(self) -> Option<u64> {
        match self {
            Self::Follow(viewer)
            | Self::Unfollow(viewer)
            | Self::RemoveFollower(viewer)
            | Self::Accept(viewer)
            | Self::Block(viewer)
            | Self::MakePrivate(viewer)
            | Self::MakePublic(viewer) => Some(viewer),
            Self::Suspend(_) | Self::Lift(_) | Self::Work => None,
        }
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
    /// The follow of user 2 by user 1.
    follow: Option<&'static str>,
    follow_back: bool,
    /// Users who are suspended.
    suspended: [bool; 2],
}

fn before() -> impl Strategy<Value = Before> {
    let follow = prop_oneof![Just(None), Just(Some("following")), Just(Some("requesting"))];
    (any::<bool>(), follow, any::<bool>(), prop::array::uniform2(prop::bool::weighted(0.3))).prop_map(
        |(is_private, follow, follow_back, suspended)| {
            let follow = follow.filter(|follow| is_private || *follow == "following");
            Before { is_private, follow, follow_back, suspended }
        },
    )
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let call = (0..15u8, 1..=2u64).prop_map(|(kind, user)| match kind {
        0 | 1 => Call::Follow(user),
        2 => Call::Unfollow(1),
        3 => Call::RemoveFollower(2),
        4 => Call::Accept(2),
        5 => Call::Block(user),
        6 => Call::MakePrivate(2),
        7 => Call::MakePublic(2),
        8..=10 => Call::Suspend(user),
        11..=13 => Call::Lift(user),
        _ => Call::Work,
    });
    proptest::collection::vec(call, 1..6)
}

/// A world of two users.
struct Stage {
    world: World,
    people: Vec<Person>,
}

impl Stage {
    async fn new() -> Self {
        let world = World::with(&["--relation-changes-per-pair", "1000000"]).await;
        let people = world.people(2).await;
        for user in 1..=2 {
            // A suspension ends the sessions.
            world.redis.raw::<i64>(&["COPY", &Self::key(user, "sessions"), &Self::key(user, "kept")]);
        }
        Self { world, people }
    }

    fn raw<T: redis::FromRedisValue>(&self, words: &[&str]) -> T {
        self.world.redis.raw(words)
    }

    fn score(&self, list: &str, owner: u64, member: &str) -> Option<String> {
        self.raw(&["ZSCORE", &format!("ff:{{u{owner}}}:{list}"), member])
    }

    fn is_active(&self, user: u64) -> bool {
        self.raw(&["HEXISTS", &format!("ff:{{u{user}}}:user"), "username"])
    }

    fn holder(&self, user: u64) -> (String, String) {
        let name = format!("ann{}", user - 1);
        let username = fanfold::model::user::Username::parse(&name).unwrap();
        (self.world.app.store().keys().names_with(&username).name().to_owned(), name)
    }

    fn key(user: u64, name: &str) -> String {
        format!("ff:{{u{user}}}:{name}")
    }

    fn clear(&self) {
        for user in 1..=2 {
            for list in
                ["following", "followers", "requesting", "requests", "withheld", "blocking", "blockers"]
            {
                self.raw::<i64>(&["DEL", &Self::key(user, list)]);
            }
            self.raw::<i64>(&["DEL", &Self::key(user, &format!("fence:{}", other(user)))]);
            let (shard, name) = self.holder(user);
            self.raw::<i64>(&["HSET", &shard, &name, &user.to_string()]);
            let record = Self::key(user, "user");
            self.raw::<i64>(&["HDEL", &record, "private", "suspended", "inactive_username"]);
            self.raw::<i64>(&["HSET", &record, "username", &name]);
        }
        for partition in 0..16 {
            self.raw::<i64>(&["DEL", &format!("ff:{{i{partition}}}:intents")]);
        }
        self.raw::<i64>(&["DEL", "ff:{g}:inactive"]);
        self.raw::<i64>(&["DEL", "ff:{g}:account:jobs"]);
    }

    /// Restores what was stored before the calls.
    async fn reset(&self, before: Before) {
        self.clear();
        if before.is_private {
            self.raw::<i64>(&["HSET", "ff:{u2}:user", "private", "1"]);
        }
        let add = |list: &str, owner: u64| {
            self.raw::<i64>(&["ZADD", &Self::key(owner, list), "7", &other(owner).to_string()]);
        };
        if let Some(truth) = before.follow {
            add(truth, 1);
            add(if truth == "following" { "followers" } else { "requests" }, 2);
        }
        if before.follow_back {
            add("following", 2);
            add("followers", 1);
        }
        for (user, is_suspended) in (1..).zip(before.suspended) {
            if is_suspended {
                self.world
                    .app
                    .suspend_user(&Moderator::Operator, id(user), ActionNote::default())
                    .await
                    .unwrap();
            } else {
                self.restore_sessions(user);
            }
        }
    }

    fn restore_sessions(&self, user: u64) {
        let (sessions, kept) = (Self::key(user, "sessions"), Self::key(user, "kept"));
        // What other processes have cached is older than this version.
        self.raw::<i64>(&["HINCRBY", &kept, "exclusions", "100000"]);
        self.raw::<i64>(&["COPY", &kept, &sessions, "REPLACE"]);
    }

    /// Begins a call; `None` if its user is suspended.
    async fn begin(&self, call: Call) -> Option<Actor> {
        let viewer = match call.viewer() {
            Some(viewer) => {
                let token = &self.people[usize::try_from(viewer).unwrap() - 1].token;
                let signed_in = self.world.app.authenticate(token).await.ok()?;
                Some((signed_in, id(other(viewer))))
            }
            None => None,
        };
        let work = async move |app: App| {
            let private =
                |is_private| ProfileUpdate { is_private: Some(is_private), ..ProfileUpdate::default() };
            // A call that is too late fails, and so does one about a user who is suspended.
            let _ = match (call, &viewer) {
                (Call::Follow(_), Some((viewer, user))) => app.follow(viewer, *user).await,
                (Call::Unfollow(_), Some((viewer, user))) => app.unfollow(viewer, *user).await,
                (Call::RemoveFollower(_), Some((viewer, user))) => app.remove_follower(viewer, *user).await,
                (Call::Accept(_), Some((viewer, user))) => app.accept_follow_request(viewer, *user).await,
                (Call::Block(_), Some((viewer, user))) => app.block(viewer, *user).await,
                (Call::MakePrivate(_), Some((viewer, _))) => app.change_profile(viewer, private(true)).await,
                (Call::MakePublic(_), Some((viewer, _))) => app.change_profile(viewer, private(false)).await,
                (Call::Suspend(user), _) => {
                    app.suspend_user(&Moderator::Operator, id(user), ActionNote::default()).await
                }
                (Call::Lift(user), _) => {
                    app.unsuspend_user(&Moderator::Operator, id(user), ActionNote::default()).await
                }
                _ => app.work_on_accounts().await.map(drop),
            };
        };
        Some(Actor::begin(&self.world.app, work).await)
    }

    async fn play(&self, calls: &[Call], events: &[Event]) {
        let mut actors = Vec::new();
        for &call in calls {
            actors.extend(self.begin(call).await);
        }
        turnstile::play(&self.world, &self.world.app, actors, events, |_, _| {}).await;
    }

    /// Finishes what was interrupted.
    async fn settle(&self) {
        for _ in 0..2 {
            self.world.clock.advance(Duration::from_secs(61));
            self.world.app.work_on_accounts().await.unwrap();
            self.world.app.repair().await.unwrap();
        }
    }

    /// Checks what is stored once everything is repaired.
    fn check(&self) -> Result<(), TestCaseError> {
        for user in 1..=2 {
            let is_active = self.is_active(user);
            let (shard, name) = self.holder(user);
            let holder: String = self.raw(&["HGET", &shard, &name]);
            prop_assert_eq!(holder, if is_active { user.to_string() } else { format!("!{user}") });
            let listed: Option<i64> = self.raw(&["ZSCORE", "ff:{g}:inactive", &user.to_string()]);
            prop_assert_eq!(listed.is_none(), is_active, "{} in the set", user);
            self.check_follow(user, other(user))?;
        }
        let jobs: u64 = self.raw(&["ZCARD", "ff:{g}:account:jobs"]);
        prop_assert_eq!(jobs, 0, "jobs are left");
        for partition in 0..16 {
            let left: u64 = self.raw(&["ZCARD", &format!("ff:{{i{partition}}}:intents")]);
            prop_assert_eq!(left, 0, "intents are left");
        }
        Ok(())
    }

    fn check_follow(&self, follower: u64, followee: u64) -> Result<(), TestCaseError> {
        let (name, back) = (followee.to_string(), follower.to_string());
        for (truth, mirror, withheld) in
            [("following", "followers", "following"), ("requesting", "requests", "requested")]
        {
            let listed = self.score(truth, follower, &name);
            let withheld = self.score("withheld", follower, &format!("{withheld}:{followee}"));
            let mirrored = self.score(mirror, followee, &back);
            let what = format!("{truth} {follower} → {followee}");
            prop_assert!(listed.is_none() || withheld.is_none(), "{} is in two places", what);
            match (self.is_active(follower), self.is_active(followee)) {
                (true, true) => {
                    prop_assert_eq!(&withheld, &None, "{} is withheld", what);
                    prop_assert_eq!(&listed, &mirrored, "{}", what);
                }
                (true, false) => {
                    prop_assert_eq!(&listed, &None, "{} is listed", what);
                    prop_assert_eq!(&withheld, &mirrored, "{}", what);
                }
                (false, _) => prop_assert_eq!(&mirrored, &None, "{} is mirrored", what),
            }
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(model_config(400))]

    #[test]
    fn data_agree_with_accounts_wherever_calls_are_interrupted(
        before in before(), calls in calls(), events in events()
    ) {
        thread_local!(static STAGE: (Runtime, Stage) = {
            let runtime = Runtime::new().unwrap();
            let stage = runtime.block_on(Stage::new());
            (runtime, stage)
        });
        STAGE.with(|(runtime, stage)| {
            runtime.block_on(async {
                stage.reset(before).await;
                stage.play(&calls, &events).await;
                stage.settle().await;
                stage.check()?;
                // Once both are active, nothing is withheld, and no follow was lost on the way.
                let follows = |user| stage.score("withheld", user, &format!("following:{}", other(user)))
                    .or_else(|| stage.score("following", user, &other(user).to_string()));
                let before = [follows(1), follows(2)];
                for user in 1..=2 {
                    stage.world.app.unsuspend_user(&Moderator::Operator, id(user), ActionNote::default()).await.unwrap();
                }
                stage.check()?;
                for (user, before) in (1..).zip(before) {
                    let after = stage.score("following", user, &other(user).to_string());
                    prop_assert!(before.is_none() || before == after, "{} follows no longer", user);
                }
                Ok(())
            })
        })?;
    }
}

#[tokio::test]
async fn a_slow_suspension_does_not_withhold_follows_after_it_was_lifted() {
    let stage = Stage::new().await;
    let before =
        Before { is_private: false, follow: Some("following"), follow_back: false, suspended: [false; 2] };
    stage.reset(before).await;
    let mut slow = stage.begin(Call::Suspend(2)).await.unwrap();
    slow.step_to(Moment::Before, "edge: withhold").await;
    assert!(slow.waits.is_some(), "a follow is to be withheld");
    stage.world.app.unsuspend_user(&Moderator::Operator, id(2), ActionNote::default()).await.unwrap();
    slow.finish().await;
    stage.check().unwrap();
}
