//! Stored data that cannot be read: one key of the wrong type fails nothing else.

use fanfold::app::timeline::TimelineQuery;
use fanfold::app::timeline::entry::Replies;
use fanfold::model::page::{Direction, Window};
use fanfold::model::reaction::ReactionSelection;
use fanfold::model::user::UserFields;
use serde_json::Value;

use crate::harness::post::publish;
use crate::harness::sql::Kind;
use crate::harness::stage::Call::{Follow, Move, Publish, Read};
use crate::harness::stage::{STRATEGIES, Stage};
use crate::harness::wait::LIMIT;
use crate::harness::world::{World, archive_all, deliver_all};

/// The reader; the author whose data cannot be read; and another author.
const READER: u64 = 1;
const BROKEN: u64 = 3;
const OTHER: u64 = 4;

/// A stage where the reader follows two authors, each of whom has another follower, and who have posted: `BROKEN` 1 and
/// 3, `OTHER` 2 and 4.
async fn stage(strategy: &str) -> Stage {
    let stage = Stage::new(strategy, "5").await;
    stage.calls(&[Follow(READER, BROKEN), Follow(2, BROKEN), Follow(READER, OTHER), Follow(2, OTHER)]).await;
    stage.calls(&[BROKEN, OTHER, BROKEN, OTHER].map(|author| Publish(author, None))).await;
    stage
}

fn spoil(stage: &Stage, key: &str) {
    stage.world.redis.raw::<i64>(&["DEL", key]);
    stage.world.redis.raw::<String>(&["SET", key, "of no use"]);
}

#[tokio::test]
async fn an_author_with_unreadable_keys_fails_no_first_fill() {
    for strategy in STRATEGIES {
        for key in ["ff:{u3}:posts", "ff:{u3}:cold"] {
            let stage = stage(strategy).await;
            spoil(&stage, key);
            assert_eq!(stage.seen(&stage.app, READER, 2).await.0, [4, 2], "{strategy}, {key}");
        }
    }
}

#[tokio::test]
async fn an_author_with_unreadable_keys_fails_no_page_of_a_filled_timeline() {
    for strategy in STRATEGIES {
        for key in ["ff:{u3}:posts", "ff:{u3}:recent"] {
            let stage = stage(strategy).await;
            stage.calls(&[Read(READER, 2)]).await;
            spoil(&stage, key);
            stage.calls(&[Publish(OTHER, None)]).await;
            assert_eq!(stage.seen(&stage.app, READER, 2).await.0, [5, 4, 3, 2, 1], "{strategy}, {key}");
        }
    }
}

#[tokio::test]
async fn an_unreadable_record_is_left_out_of_pages() {
    for strategy in STRATEGIES {
        let stage = stage(strategy).await;
        spoil(&stage, "ff:{p3}:post");
        assert_eq!(stage.seen(&stage.app, READER, 2).await.0, [4, 2, 1], "{strategy}");
        stage.world.redis.raw::<i64>(&["HSET", "ff:{p2}:post", "created_at", "yesterday"]);
        assert_eq!(stage.seen(&stage.app, READER, 2).await.0, [4, 1], "{strategy}");
        spoil(&stage, "ff:{u3}:user");
        assert_eq!(stage.seen(&stage.app, READER, 2).await.0, [4], "{strategy}");
    }
}

#[tokio::test]
async fn data_that_is_unavailable_for_a_while_is_an_error_and_is_not_skipped() {
    let stage = stage("pull").await;
    stage.calls(&[Read(READER, 2)]).await;
    stage.calls(&[Publish(BROKEN, None)]).await;
    let redis = &stage.world.redis;
    let window = Window { direction: Direction::Forward, size: 2, from: None };
    let query = TimelineQuery {
        window,
        author: UserFields::NONE,
        reactions: ReactionSelection::NONE,
        replies: Replies::default(),
        looks_back: false,
    };
    let viewer = stage.viewer(READER);
    // The permissions of the Redis user are wrong for a while.
    redis.raw::<String>(&["ACL", "SETUSER", "default", "-zrevrangebyscore"]);
    assert!(stage.app.timeline(&viewer, query).await.is_err());
    redis.raw::<String>(&["ACL", "SETUSER", "default", "+zrevrangebyscore"]);
    assert_eq!(stage.seen(&stage.app, READER, 2).await.0, [5, 4, 3, 2, 1]);
}

#[tokio::test]
async fn an_author_with_unreadable_keys_blocks_no_archiving() {
    for key in ["ff:{u3}:posts", "ff:{u3}:cold", "ff:{p1}:post"] {
        let stage = Stage::with_archive(Kind::Sqlite, "hybrid", "5", "1").await;
        stage.calls(&[BROKEN, OTHER, BROKEN, OTHER].map(|author| Publish(author, None))).await;
        spoil(&stage, key);
        stage.call(Move).await;
        assert_eq!(stage.world.redis.raw::<Vec<u64>>(&["LRANGE", "ff:{u4}:posts", "0", "-1"]), [4], "{key}");
        let transit = stage.app.transit().await.unwrap();
        assert_eq!((transit.pending, transit.moving, transit.unmovable), (0, 0, 1), "{key}");
    }
}

#[tokio::test]
async fn an_author_with_unreadable_keys_does_not_keep_a_lower_limit_from_applying_to_others() {
    let world = World::new().await;
    let people = world.people(2).await;
    for person in &people {
        for number in 0..3 {
            publish(&world, person, &number.to_string()).await;
        }
    }
    world.redis.raw::<i64>(&["DEL", "ff:{u1}:posts"]);
    world.redis.raw::<String>(&["SET", "ff:{u1}:posts", "of no use"]);
    let directory = world.redis.directory();
    let options = ["--post-hot-limit", "1", "--archive-url", &format!("sqlite:{directory}/archive.db")];
    let app = crate::harness::world::app(&world.redis, &world.clock, &options).await;
    let drained = tokio::time::timeout(LIMIT, archive_all(&app)).await;
    assert!(drained.is_ok(), "it ends");
    assert_eq!(world.redis.raw::<u64>(&["LLEN", "ff:{u2}:posts"]), 1);
    deliver_all(&app).await;
    let timeline = "{ viewer { timeline { nodes { content } } } }";
    let data = world.data(Some(&people[1].token), timeline, Value::Null).await;
    assert_eq!(data["viewer"]["timeline"]["nodes"].as_array().unwrap().len(), 3);
}
