//! Reading and deleting archived posts, and operation while the archive is unavailable.

use std::collections::BTreeSet;
use std::time::Duration;

use fanfold::app::App;
use fanfold::app::archive::SILENT_AFTER;
use fanfold::app::import::ImportFollow;
use fanfold::app::post::NewPost;
use fanfold::app::read::Load as _;
use fanfold::app::visit::history::ArchivedVisits;
use fanfold::gate::Moment;
use fanfold::model::details::References;
use fanfold::model::id::{PostId, UserId};
use fanfold::model::page::{Direction, Window};
use fanfold::model::post::{Content, Visibility};
use fanfold::store;
use serde_json::{Value, json};

use crate::harness::graph::Graph;
use crate::harness::post::{POSTS, delete, ids, post, posts, publish};
use crate::harness::sql::{Database, Kind, Server, on_every_kind};
use crate::harness::turnstile::Actor;
use crate::harness::wait::eventually_async;
use crate::harness::walk::{walk, walk_posts};
use crate::harness::world::{Person, World, archive_all, codes, deliver_all, user_of};

on_every_kind! {
    all_posts_of_an_author_are_paged_in_order;
    deleting_an_archived_post_is_final;
    a_page_across_redis_and_the_archive_is_one_page;
}

async fn import(world: &World, authors: impl Iterator<Item = UserId>) -> Vec<u64> {
    let content = Content::parse("something to say").unwrap();
    let at = Graph::time(0);
    let posts = authors.map(|author| NewPost {
        references: References::default(),
        author,
        content: content.clone(),
        platform: None,
        visibility: Visibility::Public,
        created_at: at,
    });
    let posts: Vec<NewPost> = posts.collect();
    let mut ids = Vec::with_capacity(posts.len());
    for posts in posts.chunks(1_000) {
        ids.extend(world.app.import_posts(posts).await.unwrap().into_iter().map(PostId::get));
    }
    ids
}

/// 25,000 posts of one author, of whom a thousand are hot.
async fn all_posts_of_an_author_are_paged_in_order(kind: Kind) {
    const COUNT: usize = 6_000;
    let database = Database::new(kind).await;
    let world = World::with_archive(&database, &[]).await;
    let person = world.register("ada").await;
    let author = user_of(&world, &person).await;
    let mut expected = import(&world, std::iter::repeat_n(author, COUNT)).await;
    archive_all(&world.app).await;
    assert_eq!(world.redis.raw::<usize>(&["LLEN", "ff:{u1}:posts"]), 1_000);
    expected.reverse();
    // Redis caches the scripts.
    posts(&world, &person, json!({ "first": 1 })).await;

    for size in [20, 100] {
        let (mut forward, mut cursor) = (Vec::new(), Value::Null);
        loop {
            let (trips, queries) = (world.app.store().round_trips(), world.app.archive_asked());
            let page = posts(&world, &person, json!({ "first": size, "after": cursor })).await;
            // The session, the list with the count, the posts.
            assert!(world.app.store().round_trips() - trips <= 3);
            assert!(world.app.archive_asked() - queries <= 1);
            assert_eq!(page["totalCount"], COUNT);
            assert_eq!(page["pageInfo"]["hasPreviousPage"], !forward.is_empty());
            forward.extend(ids(&page["nodes"]));
            cursor = page["pageInfo"]["endCursor"].clone();
            if page["pageInfo"]["hasNextPage"] == false {
                break;
            }
        }
        let (mut backward, mut cursor) = (Vec::new(), Value::Null);
        loop {
            let (trips, queries) = (world.app.store().round_trips(), world.app.archive_asked());
            let page = posts(&world, &person, json!({ "last": size, "before": cursor })).await;
            assert!(world.app.store().round_trips() - trips <= 3);
            assert!(world.app.archive_asked() - queries <= 1);
            assert_eq!(page["pageInfo"]["hasNextPage"], !backward.is_empty());
            backward.splice(..0, ids(&page["nodes"]));
            cursor = page["pageInfo"]["startCursor"].clone();
            if page["pageInfo"]["hasPreviousPage"] == false {
                break;
            }
        }
        assert_eq!((forward.len(), &forward), (COUNT, &backward));
        let distinct: BTreeSet<&String> = forward.iter().collect();
        assert_eq!(distinct.len(), COUNT);
    }
    if kind != Kind::Sqlite {
        return;
    }
    // One by one, without the layers above. Other databases would run the same statements.
    for direction in [Direction::Forward, Direction::Backward] {
        let (trips, queries) = (world.app.store().round_trips(), world.app.archive_asked());
        let walked = walk_posts(&world.app, author.get(), direction, 1).await.unwrap();
        assert_eq!(walked.into_iter().map(PostId::get).collect::<Vec<_>>(), expected);
        assert!(world.app.store().round_trips() - trips <= 2 * COUNT as u64);
        assert!(world.app.archive_asked() - queries <= COUNT as u64);
    }
}

async fn deleting_an_archived_post_is_final(kind: Kind) {
    let database = Database::new(kind).await;
    let world = World::with_archive(&database, &["--post-hot-limit", "2"]).await;
    let people = world.people(2).await;
    let mut published = Vec::new();
    for number in 0..6 {
        published.push(publish(&world, &people[0], &number.to_string()).await);
    }
    deliver_all(&world.app).await;
    archive_all(&world.app).await;
    let cold = &published[1];
    assert_eq!(world.redis.raw::<u64>(&["HEXISTS", "ff:{p2}:post", "author"]), 0);
    let query =
        "query ($id: ID!) { post(id: $id) { content delivery { mode totalCount } author { username } } }";
    let read = async || world.data(Some(&people[0].token), query, json!({ "id": cold })).await["post"].take();
    let delivery = json!({ "mode": "PUSHED", "totalCount": 0 });
    assert_eq!(
        read().await,
        json!({ "content": "1", "delivery": delivery, "author": { "username": "ann0" } })
    );

    assert_eq!(delete(&world, &people[1], cold).await["userErrors"][0]["code"], "NOT_YOURS");
    let deleted = json!({ "deletedPostId": cold, "userErrors": [] });
    let left: Vec<&String> = published.iter().rev().filter(|id| *id != cold).collect();
    let check = async || {
        assert_eq!(read().await, Value::Null);
        let page = posts(&world, &people[0], json!({ "first": 10 })).await;
        assert_eq!(
            (ids(&page["nodes"]).iter().collect::<Vec<_>>(), &page["totalCount"]),
            (left.clone(), &json!(5))
        );
        let again = posts(&world, &people[0], json!({ "last": 2 })).await;
        assert_eq!(ids(&again["nodes"]), [left[3].clone(), left[4].clone()]);
    };
    assert_eq!(delete(&world, &people[0], cold).await, deleted);
    check().await;
    assert_eq!(delete(&world, &people[0], cold).await, deleted);
    check().await;
    archive_all(&world.app).await;
    check().await;
    assert_eq!(delete(&world, &people[0], cold).await, deleted);
    // Also when Redis has no record of it.
    world.redis.raw::<u64>(&["DEL", "ff:{p2}:post", "ff:{u1}:void"]);
    assert_eq!(delete(&world, &people[0], cold).await, deleted);
    assert_eq!(delete(&world, &people[1], cold).await["userErrors"][0]["code"], "NOT_FOUND");
    assert_eq!(delete(&world, &people[0], "UG9zdDo5OQ").await["userErrors"][0]["code"], "NOT_FOUND");
    archive_all(&world.app).await;
    check().await;
    world.clock.advance(Duration::from_mins(2));
    world.app.repair().await.unwrap();
    check().await;
    assert_eq!(world.redis.raw::<Vec<String>>(&["KEYS", "ff:*:gone"]), [""; 0]);
}

async fn a_page_across_redis_and_the_archive_is_one_page(kind: Kind) {
    let database = Database::new(kind).await;
    let world = World::with_archive(&database, &["--post-hot-limit", "5"]).await;
    let person = world.register("ada").await;
    let mut published = Vec::new();
    for number in 0..12 {
        published.push(publish(&world, &person, &number.to_string()).await);
    }
    archive_all(&world.app).await;
    posts(&world, &person, json!({ "first": 1 })).await;
    let query = "{ viewer { user { posts(first: 8) { nodes { content createdAt author { username } } } } } }";
    let (trips, queries) = (world.app.store().round_trips(), world.app.archive_asked());
    let data = world.data(Some(&person.token), query, Value::Null).await;
    let contents = data["viewer"]["user"]["posts"]["nodes"].as_array().unwrap();
    let contents: Vec<&str> = contents.iter().map(|node| node["content"].as_str().unwrap()).collect();
    assert_eq!(contents, ["11", "10", "9", "8", "7", "6", "5", "4"]);
    // The session, the list, the posts, and the author.
    assert_eq!((world.app.store().round_trips() - trips, world.app.archive_asked() - queries), (4, 1));
    // A page of hot posts does not query the archive, nor does a count.
    let queries = world.app.archive_asked();
    let page = posts(&world, &person, json!({ "first": 5 })).await;
    assert_eq!((&page["pageInfo"]["hasNextPage"], &page["totalCount"]), (&json!(true), &json!(12)));
    assert_eq!(world.app.archive_asked(), queries);
    // Many pages are one query.
    let page = |size| format!("a{size}: user {{ posts(first: {size}) {{ nodes {{ content }} }} }} ");
    let many: Vec<String> = (6..26).map(page).collect();
    let queries = world.app.archive_asked();
    world.data(Some(&person.token), &format!("{{ viewer {{ {} }} }}", many.concat()), Value::Null).await;
    assert_eq!(world.app.archive_asked() - queries, 1);
    // Posts by id are one query, too.
    let queries = world.app.archive_asked();
    let data = world
        .data(
            None,
            "query ($ids: [ID!]!) { nodes(ids: $ids) { ... on Post { content } } }",
            json!({ "ids": published }),
        )
        .await;
    assert!(data["nodes"].as_array().unwrap().iter().all(|node| node["content"].is_string()));
    assert_eq!(world.app.archive_asked() - queries, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_timeline_continues_to_the_very_first_post() {
    const AUTHORS: usize = 200;
    const EACH: usize = 100;
    let options = ["--timeline-capacity", "100", "--post-hot-limit", "20", "--timeline-push-limit", "50"];
    let world = World::with(&options).await;
    let viewer = world.register("viewer").await;
    // Some are stars, with more followers.
    let fans = (100..160).flat_map(|fan| (0..5).map(move |star| (fan, star))).collect();
    let authors = Graph { users: AUTHORS, follows: fans }.load(&world.app, None).await;
    let (caller, at) = (world.app.authenticate(&viewer.token).await.unwrap(), Graph::time(0));
    let follow = |&followee| ImportFollow { follower: caller.user().unwrap(), followee, at };
    world.app.import_follows(authors.iter().map(follow).collect()).await.unwrap();
    // Some publish rarely, some in bursts, and all the same number in the end.
    let order = (0..EACH * AUTHORS)
        .map(|number| authors[if number % 3 == 0 { number / EACH } else { number % AUTHORS }]);
    let order: Vec<UserId> = order.collect();
    let half = order.len() / 2;
    let mut expected = import(&world, order[..half].iter().copied()).await;
    archive_all(&world.app).await;
    walk_page(&world, &viewer).await;
    expected.extend(import(&world, order[half..].iter().copied()).await);
    deliver_all(&world.app).await;
    archive_all(&world.app).await;
    expected.reverse();
    for direction in [Direction::Forward, Direction::Backward] {
        let walked = walk(&world.app, &caller, direction, 100).await;
        assert_eq!(walked.len(), EACH * AUTHORS);
        assert_eq!(walked, expected, "{direction:?}");
    }
}

async fn walk_page(world: &World, viewer: &Person) {
    let query = "{ viewer { timeline(first: 20) { nodes { id } } } }";
    world.data(Some(&viewer.token), query, Value::Null).await;
}

async fn while_the_archive_is_unavailable(kind: Kind) {
    let server = tokio::task::spawn_blocking(move || Server::start(kind));
    let mut server = server.await.unwrap();
    let url = server.database().await;
    let world =
        World::with(&["--archive-url", &url, "--post-hot-limit", "3", "--timeline-capacity", "5"]).await;
    let people = world.people(2).await;
    world.follow(&people[1], &people[0]).await;
    let mut published = Vec::new();
    for number in 0..8 {
        published.push(publish(&world, &people[0], &number.to_string()).await);
    }
    deliver_all(&world.app).await;
    archive_all(&world.app).await;
    assert_eq!(world.page("/readyz").await, (200, "ready\n".to_owned()));

    server.kill();
    let mover = tokio::spawn(world.app.mover().work(std::future::pending()));
    for number in 8..12 {
        published.push(publish(&world, &people[0], &number.to_string()).await);
    }
    deliver_all(&world.app).await;
    // Hot posts are not affected, and nothing is lost: moves wait.
    let timeline = "{ viewer { timeline(first: 3) { nodes { content } } } }";
    let data = world.data(Some(&people[1].token), timeline, Value::Null).await;
    assert_eq!(data["viewer"]["timeline"]["nodes"][0]["content"], "11");
    let hot = posts(&world, &people[0], json!({ "first": 3 })).await;
    assert_eq!((ids(&hot["nodes"]).len(), &hot["totalCount"]), (3, &json!(12)));
    assert_eq!(delete(&world, &people[0], &published[11]).await["userErrors"], json!([]));
    // The last known state is returned for a second.
    let unavailable = (200, "ready\narchive: unavailable\n".to_owned());
    assert!(eventually_async(async || world.page("/readyz").await == unavailable).await);
    let metrics = world.page("/metrics").await.1;
    assert!(
        !metrics.contains("fanfold_archive_pending_posts 0\n")
            || !metrics.contains("fanfold_archive_moving_posts 0\n"),
        "{metrics}"
    );
    // Cold posts are not reported as missing.
    let query = "query ($id: ID!) { post(id: $id) { content } }";
    let response = world.ask(Some(&people[0].token), query, json!({ "id": published[0] })).await;
    assert_eq!((codes(&response), &response["data"]["post"]), (vec!["UNAVAILABLE"], &Value::Null));
    let response = world.ask(Some(&people[0].token), POSTS, json!({ "first": 12 })).await;
    assert_eq!(codes(&response), ["UNAVAILABLE"]);

    server.serve(&[]);
    // The mover reports success a moment after it has moved the last post.
    let is_done = async || {
        let transit = world.app.transit().await.unwrap();
        transit.pending + transit.moving == 0 && world.page("/readyz").await.1 == "ready\n"
    };
    assert!(eventually_async(is_done).await, "it catches up");
    mover.abort();
    published.pop();
    published.reverse();
    let all = posts(&world, &people[0], json!({ "first": 100 })).await;
    assert_eq!((ids(&all["nodes"]), &all["totalCount"]), (published, &json!(11)));
    assert_eq!(world.page("/readyz").await, (200, "ready\n".to_owned()));
}

mod posts_wait_while_their_server_is_unavailable_and_then_move_by_themselves {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn mariadb() {
        while_the_archive_is_unavailable(Kind::Mariadb).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn postgres() {
        while_the_archive_is_unavailable(Kind::Postgres).await;
    }
}

#[tokio::test]
async fn a_lower_limit_applies_to_existing_posts() {
    let world = World::new().await;
    let people = world.people(3).await;
    for person in &people[..2] {
        for number in 0..7 {
            publish(&world, person, &number.to_string()).await;
        }
    }
    let directory = world.redis.directory();
    let options = ["--post-hot-limit", "3", "--archive-url", &format!("sqlite:{directory}/archive.db")];
    let app = crate::harness::world::app(&world.redis, &world.clock, &options).await;
    archive_all(&app).await;
    for user in 1..=2 {
        assert_eq!(world.redis.raw::<u64>(&["LLEN", &format!("ff:{{u{user}}}:posts")]), 3);
    }
    assert_eq!(posts(&world, &people[0], json!({ "first": 9 })).await["nodes"].as_array().unwrap().len(), 7);
    assert_eq!(app.archived_count().await.unwrap(), 8);
}

#[tokio::test]
async fn a_post_that_changes_all_the_time_does_not_stop_the_others() {
    let database = Database::new(Kind::Sqlite).await;
    let world = World::with_archive(&database, &["--post-hot-limit", "1"]).await;
    let person = world.register("ada").await;
    let restless = publish(&world, &person, "restless").await;
    for number in 0..2 {
        publish(&world, &person, &number.to_string()).await;
    }
    let two_turns = async |app: App| {
        let mover = app.mover();
        for _ in 0..2 {
            mover.turn(SILENT_AFTER, app.now()).await.unwrap();
        }
    };
    let mut mover = Actor::begin(&world.app, two_turns).await;
    for edition in 1..=2 {
        mover.step_to(Moment::Before, "move: drop").await;
        let edit = "mutation ($input: EditPostInput!) { editPost(input: $input) { userErrors { code } } }";
        let input = json!({ "postId": restless, "content": format!("edition {edition}") });
        let edited = world.data(Some(&person.token), edit, json!({ "input": input })).await;
        assert_eq!(edited["editPost"]["userErrors"], json!([]));
        publish(&world, &person, "another").await;
        mover.step().await;
    }
    mover.finish().await;
    let moved = async || world.app.transit().await.unwrap().moved;
    assert_eq!(moved().await, 2, "the two that were queued when the turns began");
    let turn = async || world.app.mover().turn(SILENT_AFTER, world.app.now()).await.unwrap();
    while turn().await {}
    assert_eq!(moved().await, 3, "another was queued during the second turn");
    world.clock.advance(Duration::from_secs(61));
    assert!(turn().await);
    assert_eq!(moved().await, 4);
    let read = post(&world, &person, &restless, "content").await;
    assert_eq!(read["content"], "edition 2");
}

#[tokio::test]
async fn readiness_reports_that_nothing_can_be_archived() {
    let database = Database::new(Kind::Sqlite).await;
    let world = World::with_archive(&database, &["--post-hot-limit", "1"]).await;
    let person = world.register("ada").await;
    let mover = tokio::spawn(world.app.mover().work(std::future::pending()));
    let until = async |expected: &str| {
        let expected = (200, expected.to_owned());
        let is_there = eventually_async(async || world.page("/readyz").await == expected).await;
        assert!(is_there, "`/readyz` does not become {expected:?}");
    };
    until("ready\n").await;
    // The archive can be read, but not written.
    database.execute("CREATE TRIGGER no BEFORE INSERT ON posts BEGIN SELECT RAISE(FAIL, 'no'); END").await;
    for number in 0..3 {
        publish(&world, &person, &number.to_string()).await;
    }
    until("ready\narchive: unavailable\n").await;
    database.execute("DROP TRIGGER no").await;
    until("ready\n").await;
    assert_eq!(
        (world.app.transit().await.unwrap().unmovable, world.app.archived_count().await.unwrap()),
        (0, 2)
    );
    database.execute("ALTER TABLE posts RENAME TO away").await;
    until("ready\narchive: unavailable\n").await;
    database.execute("ALTER TABLE away RENAME TO posts").await;
    until("ready\n").await;
    mover.abort();
}

#[tokio::test]
async fn only_the_deleted_posts_near_the_page_are_read() {
    let database = Database::new(Kind::Sqlite).await;
    let world = World::with_archive(&database, &["--post-hot-limit", "10"]).await;
    let person = world.register("ada").await;
    let author = user_of(&world, &person).await;
    let all = import(&world, std::iter::repeat_n(author, 900)).await;
    archive_all(&world.app).await;
    // No mover runs. Deleted are every second post of the archive, and most of the oldest.
    let viewer = world.app.authenticate(&person.token).await.unwrap();
    let is_deleted = |id: &&u64| **id <= 890 && (id.is_multiple_of(2) || (100..200).contains(*id));
    for id in all.iter().filter(is_deleted) {
        world.app.delete_post(&viewer, PostId::new(*id).unwrap()).await.unwrap();
    }
    let gone = async |direction, from: Option<u64>| {
        let window = Window { direction, size: 10, from: from.and_then(PostId::new) };
        let store = world.app.store();
        let page = store::post_list::page(store.keys(), author, &window).send("test", store).await.unwrap();
        (page.gone.beside.len(), page.gone.behind.len())
    };
    assert_eq!(gone(Direction::Forward, Some(901)).await, (0, 0), "the page is hot");
    assert_eq!(gone(Direction::Forward, Some(100)).await, (49, 0));
    assert_eq!(gone(Direction::Backward, Some(850)).await, (20, 200));
    let expected: Vec<u64> = all.iter().filter(|id| !is_deleted(id)).copied().rev().collect();
    for (direction, size) in [(Direction::Forward, 7), (Direction::Backward, 100)] {
        let seen = walk_posts(&world.app, author.get(), direction, size).await.unwrap();
        let seen: Vec<u64> = seen.into_iter().map(PostId::get).collect();
        assert_eq!(seen, expected, "{direction:?}");
    }
}

/// Locks the table of visits, which posts do not need, until it is dropped.
async fn lock_visits(database: &Database) -> sqlx::PgConnection {
    use sqlx::Connection as _;
    let mut lock = sqlx::PgConnection::connect(&database.url).await.unwrap();
    sqlx::query("BEGIN").execute(&mut lock).await.unwrap();
    sqlx::query("LOCK TABLE visits").execute(&mut lock).await.unwrap();
    lock
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_that_use_all_connections_do_not_delay_movers_and_their_statements_end_with_them() {
    let database = Database::new(Kind::Postgres).await;
    let world =
        World::with_archive(&database, &["--post-hot-limit", "1", "--archive-connections", "2"]).await;
    let person = world.register("ada").await;
    world.app.open_archive().await.unwrap();
    for number in 0..3 {
        publish(&world, &person, &number.to_string()).await;
    }
    let _lock = lock_visits(&database).await;
    let ask = |count| {
        let (app, read) = (world.app.clone(), ArchivedVisits { newest: world.app.today(), count });
        tokio::spawn(async move { app.load(read).await.is_ok() })
    };
    let mut requests = [ask(1), ask(2)];
    // By a connection of its own each time: a transaction sees the same activity throughout.
    let until_wait = async |count: i64| {
        let query = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() \
            AND wait_event_type = 'Lock'";
        let wait = async || database.number(query).await == count;
        assert!(eventually_async(wait).await, "{count} statements wait");
    };
    until_wait(2).await;
    let mover = tokio::spawn(world.app.mover().work(std::future::pending()));
    assert!(eventually_async(async || world.app.transit().await.unwrap().moved >= 2).await);
    assert!(requests.iter().all(|request| !request.is_finished()), "the mover waits for a connection");
    mover.abort();
    for request in &mut requests {
        assert!(!request.await.unwrap(), "it waited until it failed");
    }
    // Statements whose caller no longer waits are not executed, either.
    until_wait(0).await;
}

#[tokio::test]
async fn an_import_is_told_which_posts_are_there_and_how_many_are_archived() {
    let database = Database::new(Kind::Sqlite).await;
    let world = World::with_archive(&database, &["--post-hot-limit", "2"]).await;
    world.people(3).await;
    let id = |user: u64| UserId::new(user).unwrap();
    let authors = [1, 3, 1, 3, 1, 1, 3, 1];
    let published = import(&world, authors.into_iter().map(id)).await;
    archive_all(&world.app).await;
    let of = |author: u64| {
        let own = authors.iter().zip(&published).filter(|(other, _)| **other == author);
        let own: Vec<_> = own.map(|(_, post)| PostId::new(*post)).collect();
        let archived = own.len().saturating_sub(2);
        [&vec![None; archived], &own[archived..]].concat()
    };
    let expected = [3, 1, 2].map(of);
    assert_eq!(expected.each_ref().map(Vec::len), [3, 5, 0]);
    assert_eq!(world.app.posts_of(&[3, 1, 2].map(id)).await.unwrap(), expected);
    // More authors than are read together.
    let many: Vec<UserId> = [2, 1].map(id).into_iter().cycle().take(1_002).collect();
    let posts = world.app.posts_of(&many).await.unwrap();
    assert_eq!((posts.len(), &posts[1_000], &posts[1_001]), (1_002, &Vec::new(), &of(1)));
}
