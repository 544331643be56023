//! A Redis and an archive that do not agree: one has lost data, belongs to another, or has data that the other rejects.

use std::time::Duration;

use serde_json::{Value, json};

use fanfold::app::check::Finding;

use crate::harness::post::{delete, ids, posts, publish};
use crate::harness::sql::{Database, Kind, on_every_kind};
use crate::harness::world::{World, archive_all};

#[tokio::test]
async fn an_archive_of_another_redis_is_rejected_until_it_is_adopted() {
    let database = Database::new(Kind::Sqlite).await;
    let (one, other) = (
        World::with_archive(&database, &["--post-hot-limit", "1"]).await,
        World::with_archive(&database, &[]).await,
    );
    let person = one.register("ada").await;
    publish(&one, &person, "first").await;
    publish(&one, &person, "second").await;
    archive_all(&one.app).await;
    // A Redis that has no archive yet, and one that has another.
    let error = other.app.open_archive().await.unwrap_err().to_string();
    assert!(error.contains("another archive") && error.contains("fanfold archive adopt"), "{error}");
    let third = World::new().await;
    third.app.open_archive().await.unwrap();
    let lost = world_on(&third, &database).await;
    lost.open_archive().await.unwrap_err();
    lost.adopt_archive().await.unwrap();
    lost.open_archive().await.unwrap();
    // No id is used twice.
    let person = third.register("bob").await;
    assert_eq!(publish(&third, &person, "x").await, "UG9zdDoy");
}

#[tokio::test]
async fn a_post_that_conflicts_with_the_archive_stays_in_redis_and_is_reported() {
    let database = Database::new(Kind::Sqlite).await;
    let world = World::with_archive(&database, &["--post-hot-limit", "1"]).await;
    let person = world.register("ada").await;
    world.app.open_archive().await.unwrap();
    for number in 0..3 {
        publish(&world, &person, &number.to_string()).await;
    }
    database
        .execute("INSERT INTO posts (id, author, created_at, content, delivery, deleted) VALUES (1, 9, 5, 'other', 'pulled', 0)")
        .await;
    archive_all(&world.app).await;
    let page = posts(&world, &person, json!({ "first": 9 })).await;
    assert_eq!((ids(&page["nodes"]).len(), &page["totalCount"]), (3, &json!(3)));
    let query = "{ viewer { user { posts { nodes { content } } } } }";
    let data = world.data(Some(&person.token), query, Value::Null).await;
    assert_eq!(data["viewer"]["user"]["posts"]["nodes"][2]["content"], "0");
    let found = world.app.check_intents(false).await.unwrap();
    assert_eq!((found[Finding::Unmovable], found.faults()), (1, 1));
    // Once the conflict is resolved, a repair retries the move.
    database.execute("DELETE FROM posts WHERE author = 9").await;
    world.app.check_intents(true).await.unwrap();
    archive_all(&world.app).await;
    assert_eq!(world.app.check_intents(false).await.unwrap().faults(), 0);
    assert_eq!(world.app.archived_count().await.unwrap(), 2);
    assert_eq!(posts(&world, &person, json!({ "first": 9 })).await["totalCount"], 3);
}

#[tokio::test]
async fn an_entry_that_a_mover_does_not_know_is_set_aside_and_blocks_nothing() {
    let world = World::with(&["--post-hot-limit", "1"]).await;
    let person = world.register("ada").await;
    world.redis.raw::<u64>(&["RPUSH", "ff:{a}:pending", "what is this"]);
    publish(&world, &person, "1").await;
    publish(&world, &person, "2").await;
    archive_all(&world.app).await;
    assert_eq!(world.app.archived_count().await.unwrap(), 1);
    let transit = world.app.transit().await.unwrap();
    assert_eq!((transit.pending, transit.moving, transit.unmovable, transit.moved), (0, 0, 1, 1));
}

#[tokio::test]
async fn counts_that_differ_from_the_archive_are_found_and_repaired() {
    let database = Database::new(Kind::Sqlite).await;
    let world = World::with_archive(&database, &["--post-hot-limit", "1"]).await;
    let person = world.register("ada").await;
    for number in 0..5 {
        publish(&world, &person, &number.to_string()).await;
    }
    archive_all(&world.app).await;
    let miscounted = async |repair| world.app.check_users(1, repair).await.unwrap()[Finding::Miscounted];
    assert_eq!(miscounted(false).await, 0);
    // The archive is one of yesterday, from a backup.
    database.execute("DELETE FROM posts WHERE id = 4").await;
    assert_eq!(miscounted(false).await, 1);
    // A deletion in progress is not taken for a fault, and hides none.
    delete(&world, &person, "UG9zdDox").await;
    assert_eq!(miscounted(false).await, 1);
    archive_all(&world.app).await;
    assert_eq!((miscounted(true).await, miscounted(false).await), (1, 0));
    assert_eq!(posts(&world, &person, json!({ "first": 9 })).await["totalCount"], 3);
}

#[tokio::test]
async fn a_post_deleted_in_the_archive_stays_deleted_though_redis_has_lost_the_deletion() {
    let database = Database::new(Kind::Sqlite).await;
    let world = World::with_archive(&database, &["--post-hot-limit", "2"]).await;
    let person = world.register("ada").await;
    world.app.open_archive().await.unwrap();
    for number in 0..4 {
        publish(&world, &person, &number.to_string()).await;
    }
    // The archive received the deletion, and then Redis lost its last writes.
    database.execute("INSERT INTO posts (id, author, deleted) VALUES (1, 1, 1)").await;
    archive_all(&world.app).await;
    let page = posts(&world, &person, json!({ "first": 9 })).await;
    assert_eq!((ids(&page["nodes"]).len(), &page["totalCount"]), (3, &json!(3)));
    assert_eq!(world.app.transit().await.unwrap().unmovable, 0);
    assert_eq!(world.app.check_users(1, false).await.unwrap()[Finding::Miscounted], 0);
}

#[tokio::test]
async fn ids_in_the_archive_are_not_issued_again_by_a_redis_that_has_lost_them() {
    let database = Database::new(Kind::Sqlite).await;
    let world = World::with_archive(&database, &["--post-hot-limit", "1"]).await;
    let person = world.register("ada").await;
    for number in 0..3 {
        publish(&world, &person, &number.to_string()).await;
    }
    archive_all(&world.app).await;
    world.redis.raw::<String>(&["SET", "ff:{g}:next:post", "0"]);
    let restarted = world_on(&world, &database).await;
    restarted.open_archive().await.unwrap();
    assert_eq!(world.redis.raw::<u64>(&["GET", "ff:{g}:next:post"]), 2);
}

#[tokio::test]
async fn a_mover_stops_when_another_archive_is_adopted() {
    let (one, other) = (Database::new(Kind::Sqlite).await, Database::new(Kind::Sqlite).await);
    let world = World::with_archive(&one, &["--post-hot-limit", "1"]).await;
    let person = world.register("ada").await;
    archive_all(&world.app).await;
    world_on(&world, &other).await.adopt_archive().await.unwrap();
    for number in 0..3 {
        publish(&world, &person, &number.to_string()).await;
    }
    let error = world.app.mover().drain(Duration::ZERO).await.unwrap_err().to_string();
    assert!(error.contains("another archive"), "{error}");
    assert_eq!(one.archive().post_count().await.unwrap(), 0);
    archive_all(&world_on(&world, &other).await).await;
    assert_eq!(other.archive().post_count().await.unwrap(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_post_that_the_database_rejects_blocks_no_others() {
    let database = Database::new(Kind::Postgres).await;
    let world = World::with_archive(&database, &["--post-hot-limit", "1"]).await;
    let person = world.register("ada").await;
    for number in 0..5 {
        publish(&world, &person, &number.to_string()).await;
    }
    // PostgreSQL rejects this character.
    world.redis.raw::<u64>(&["HSET", "ff:{p2}:post", "content", "a\0b"]);
    archive_all(&world.app).await;
    let transit = world.app.transit().await.unwrap();
    assert_eq!((transit.pending, transit.moving, transit.unmovable, transit.moved), (0, 0, 1, 3));
    let page = posts(&world, &person, json!({ "first": 9 })).await;
    assert_eq!((ids(&page["nodes"]).len(), &page["totalCount"]), (5, &json!(5)));
}

async fn an_unusable_table_is_the_fault_of_no_post(kind: Kind) {
    let database = Database::new(kind).await;
    let world = World::with_archive(&database, &["--post-hot-limit", "1"]).await;
    let person = world.register("ada").await;
    world.app.open_archive().await.unwrap();
    for number in 0..3 {
        publish(&world, &person, &number.to_string()).await;
    }
    database.execute("ALTER TABLE posts RENAME TO away").await;
    world.app.mover().drain(Duration::ZERO).await.unwrap_err();
    database.execute("ALTER TABLE away RENAME TO posts").await;
    archive_all(&world.app).await;
    let transit = world.app.transit().await.unwrap();
    assert_eq!((transit.pending, transit.unmovable, transit.moved), (0, 0, 2));
}

on_every_kind! {
    an_unusable_table_is_the_fault_of_no_post;
}

async fn world_on(world: &World, database: &Database) -> fanfold::app::App {
    crate::harness::world::app(&world.redis, &world.clock, &["--archive-url", &database.url]).await
}

#[tokio::test]
async fn a_wrong_count_fails_no_page_and_is_corrected_while_posts_wait_to_be_archived() {
    let database = Database::new(Kind::Sqlite).await;
    let world = World::with_archive(&database, &["--post-hot-limit", "1"]).await;
    let people = world.people(2).await;
    world.follow(&people[1], &people[0]).await;
    for number in 0..5 {
        publish(&world, &people[0], &number.to_string()).await;
    }
    archive_all(&world.app).await;
    // A deletion and a post are queued, and no mover runs.
    delete(&world, &people[0], "UG9zdDox").await;
    publish(&world, &people[0], "5").await;
    let count = || world.redis.raw::<String>(&["HGET", "ff:{u1}:cold", "count"]);
    assert_eq!(count(), "3");
    let timeline = "{ viewer { timeline(first: 9) { nodes { content } } } }";
    for wrong in ["-1", "0", "2", "4", "99", "a lot"] {
        world.redis.raw::<i64>(&["HSET", "ff:{u1}:cold", "count", wrong]);
        let mut seen = Vec::new();
        let mut cursor = Value::Null;
        loop {
            let page = posts(&world, &people[0], json!({ "first": 2, "after": cursor })).await;
            seen.extend(ids(&page["nodes"]));
            cursor = page["pageInfo"]["endCursor"].clone();
            if page["pageInfo"]["hasNextPage"] == false {
                break;
            }
        }
        assert_eq!(seen.len(), 5, "with the count {wrong}");
        let data = world.data(Some(&people[1].token), timeline, Value::Null).await;
        assert_eq!(data["viewer"]["timeline"]["nodes"].as_array().unwrap().len(), 5);
        let miscounted = async |repair| world.app.check_users(1, repair).await.unwrap()[Finding::Miscounted];
        assert_eq!((miscounted(false).await, count()), (1, wrong.to_owned()));
        assert_eq!((miscounted(true).await, miscounted(false).await, count()), (1, 0, "3".to_owned()));
    }
    archive_all(&world.app).await;
    assert_eq!((count(), world.app.check_users(1, false).await.unwrap().faults()), ("4".to_owned(), 0));
}
