//! The archive as a layer: it behaves the same over all three kinds of databases.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fanfold::archive::error::Error;
use fanfold::archive::post::{Counts, GreatestIds, Row};
use fanfold::archive::range::{CountRange, Range};
use fanfold::archive::write::Lists;
use fanfold::model::clock::{Period, Timestamp};
use fanfold::model::details::Details;
use fanfold::model::edit::{EarlierVersion, Edit, Edited};
use fanfold::model::id::PostId;
use fanfold::model::page::Direction;
use fanfold::model::post::{Content, Delivery, Post, Visibility};
use tokio::task::JoinSet;

use crate::harness::row::{post, post_id, user};
use crate::harness::sql::{Database, Kind, Server, archive, execute, on_every_kind};
use crate::harness::wait::LIMIT;

on_every_kind! {
    posts_are_read_as_they_were_written;
    a_post_is_written_once_and_never_after_its_deletion;
    a_later_version_replaces_an_earlier_one;
    earlier_versions_are_replaced_and_deleted_with_their_post;
    an_edit_of_an_archived_post_keeps_the_first_and_the_newest_versions;
    public_posts_are_counted_apart;
    an_archive_of_the_version_before_is_migrated;
    a_delivery_is_completed_and_never_reset;
    ranges_are_read_from_either_end;
    a_thousand_ranges_are_read_together;
    several_processes_may_open_a_new_archive_at_once;
    an_archive_has_one_name;
    a_cancelled_call_leaves_nothing_behind;
    connections_are_opened_while_all_threads_are_busy;
}

async fn posts_are_read_as_they_were_written(kind: Kind) {
    let database = Database::new(kind).await;
    let archive = database.archive();
    let contents =
        ["plain", "🦀".repeat(2_000).as_str(), "trailing  ", "a\nb\r\nc\td", "É é É", "'\"\\%_;--", "שלום"]
            .map(str::to_owned);
    let mut posts: Vec<Post> = (1..).zip(&contents).map(|(id, content)| post(id, 7, content)).collect();
    posts[0].platform = Some("Web 🌍 ".repeat(8));
    posts[1].delivery = Delivery::Pulled;
    posts[2].delivery = Delivery::Pushed { followers: u64::from(u32::MAX) + 1 };
    // The greatest id that is exact everywhere, and times before 1970 and in the far future.
    posts[3].id = PostId::new((1 << 53) - 1).unwrap();
    posts[4].created_at = Timestamp::from_millis(-5);
    posts[5].details = "3 1 5 0 2 0 reply=1 tags=日本".parse().unwrap();
    posts[5].visibility = Visibility::Followers;
    posts[5].created_at = Timestamp::from_millis(253_402_300_799_999);
    archive.write(&posts, &[], &Lists::default()).await.unwrap();
    let mut ids: Vec<PostId> = posts.iter().map(|post| post.id).collect();
    ids.push(post_id(99));
    let mut rows = archive.read(&ids).await.unwrap();
    rows.sort_by_key(Row::id);
    posts.sort_by_key(|post| post.id);
    assert_eq!(rows, posts.into_iter().map(Row::Live).collect::<Vec<_>>());
    assert_eq!(archive.post_count().await.unwrap(), 7);
    let greatest = GreatestIds { post: (1 << 53) - 1, author: 7 };
    assert_eq!(archive.greatest_ids().await.unwrap(), greatest);
    let counts = Counts { count: 7, limited: 1, greatest: (1 << 53) - 1 };
    assert_eq!(archive.post_counts(&[user(7), user(8)]).await.unwrap(), [(user(7), counts)]);
    assert_eq!(archive.read(&[]).await.unwrap(), []);
}

async fn a_post_is_written_once_and_never_after_its_deletion(kind: Kind) {
    let database = Database::new(kind).await;
    let archive = database.archive();
    let row = async |id| archive.read(&[post_id(id)]).await.unwrap().pop();
    let tombstone = |id, author| Some(Row::Tombstone { id: post_id(id), author: user(author) });
    archive.write(&[post(1, 7, "first")], &[], &Lists::default()).await.unwrap();
    archive.write(&[post(1, 7, "second")], &[], &Lists::default()).await.unwrap();
    let third = Post { visibility: Visibility::Followers, ..version(3, 2, "third") };
    archive.write(&[third], &[], &Lists::default()).await.unwrap();
    assert_eq!(row(1).await, Some(Row::Live(post(1, 7, "first"))));
    // A tombstone of another author erases nothing.
    archive.write(&[], &[(post_id(1), user(8))], &Lists::default()).await.unwrap();
    assert_eq!(row(1).await, Some(Row::Live(post(1, 7, "first"))));
    archive
        .write(&[], &[(post_id(1), user(7)), (post_id(2), user(7)), (post_id(3), user(7))], &Lists::default())
        .await
        .unwrap();
    archive
        .write(&[post(1, 7, "first"), post(2, 7, "late")], &[(post_id(1), user(7))], &Lists::default())
        .await
        .unwrap();
    assert_eq!((row(1).await, row(2).await), (tombstone(1, 7), tombstone(2, 7)));
    assert_eq!(archive.post_count().await.unwrap(), 0);
    // The content is gone for good, and so is the visibility.
    let left = "SELECT COUNT(*) FROM posts \
        WHERE content IS NOT NULL OR visibility IS NOT NULL OR details IS NOT NULL";
    let content = match kind {
        Kind::Sqlite => format!("SELECT 1 / (({left}) = 0)"),
        _ => format!("SELECT 1 / (CASE WHEN ({left}) = 0 THEN 1 END)"),
    };
    database.execute(&content).await;
}

/// Returns a version of a post.
fn version(id: u64, version: u64, content: &str) -> Post {
    let edition = u32::try_from(version).unwrap();
    Post { details: Details { version, edition, ..Details::default() }, ..post(id, 7, content) }
}

async fn a_later_version_replaces_an_earlier_one(kind: Kind) {
    let database = Database::new(kind).await;
    let archive = database.archive();
    let pushed = |post| Post { delivery: Delivery::Pushed { followers: 4 }, ..post };
    let row = async |id| archive.read(&[post_id(id)]).await.unwrap().pop().unwrap().live().unwrap();
    let [first, second, third] = [1, 2, 3].map(|number| version(1, number, &number.to_string()));
    for (written, expected) in [
        (pushed(second.clone()), pushed(second.clone())),
        // A late mover.
        (first.clone(), pushed(second.clone())),
        (second.clone(), second.clone()),
        (pushed(second.clone()), second),
        (third.clone(), third.clone()),
    ] {
        archive.write(&[written], &[], &Lists::default()).await.unwrap();
        assert_eq!(row(1).await, expected);
    }
    // What has changed in the archive stays, since its version does not grow.
    database.execute("UPDATE posts SET content = 'edited', details = '3 4 9 0 7 0'").await;
    archive.write(std::slice::from_ref(&third), &[], &Lists::default()).await.unwrap();
    let changed = Post { content: "edited".to_owned(), details: "3 4 9 0 7 0".parse().unwrap(), ..third };
    assert_eq!(row(1).await, changed);
    // Another post under the same id changes nothing.
    let others = [
        Post { author: user(8), ..version(1, 9, "x") },
        Post { created_at: Timestamp::from_millis(1), ..version(1, 9, "x") },
    ];
    for other in others {
        archive.write(&[other], &[], &Lists::default()).await.unwrap();
        assert_eq!(row(1).await, changed);
    }
    archive.write(&[], &[(post_id(1), user(7))], &Lists::default()).await.unwrap();
    archive.write(&[version(1, 10, "late")], &[], &Lists::default()).await.unwrap();
    assert_eq!(archive.post_count().await.unwrap(), 0);
}

async fn earlier_versions_are_replaced_and_deleted_with_their_post(kind: Kind) {
    let database = Database::new(kind).await;
    let archive = database.archive();
    let edited = |version: u64, edition: u32, content: &str| Post {
        content: content.to_owned(),
        details: format!("{version} {edition} 9 0 0 0").parse().unwrap(),
        ..post(1, 7, "")
    };
    let versions = |texts: &[&str]| -> Vec<EarlierVersion> {
        let version = |(edition, text): (u32, &&str)| EarlierVersion {
            edition,
            written_at: Timestamp::from_millis(i64::from(edition)),
            content: (*text).to_owned(),
        };
        (0..).zip(texts).map(version).collect()
    };
    let lists = |texts: &[&str]| Lists {
        versions: versions(texts).into_iter().map(|version| (post_id(1), version)).collect(),
        ..Lists::default()
    };
    let stored = async || {
        let mut found = archive.versions(&[post_id(1), post_id(2)]).await.unwrap();
        assert!(!found.contains_key(&post_id(2)));
        let mut found = found.remove(&post_id(1)).unwrap_or_default();
        found.reverse();
        found
    };
    for (written, texts, expected) in [
        (edited(2, 1, "b"), &["a"][..], &["a"][..]),
        (edited(3, 2, "c"), &["a", "b"], &["a", "b"]),
        // A mover that is late, or that read the lists after the record was dropped.
        (edited(2, 1, "b"), &["a"], &["a", "b"]),
        (edited(3, 2, "c"), &[], &["a", "b"]),
    ] {
        archive.write(&[written, post(2, 7, "x")], &[], &lists(texts)).await.unwrap();
        assert_eq!(stored().await, versions(expected));
    }
    archive.write(&[], &[(post_id(1), user(8))], &Lists::default()).await.unwrap();
    assert_eq!(stored().await.len(), 2, "a tombstone of another author");
    archive.write(&[], &[(post_id(1), user(7))], &Lists::default()).await.unwrap();
    assert_eq!(stored().await, []);
    archive.write(&[edited(9, 2, "c")], &[], &lists(&["a", "b"])).await.unwrap();
    assert_eq!(stored().await, []);
}

async fn an_edit_of_an_archived_post_keeps_the_first_and_the_newest_versions(kind: Kind) {
    let database = Database::new(kind).await;
    let archive = database.archive();
    let now = Timestamp::from_millis(1_767_225_700_000);
    let edit = async |id: u64, author: u64, replaced: u32, content: &str| {
        let edit = Edit { post: post_id(id), replaced, content: Content::parse(content).unwrap() };
        archive.edit(user(author), &edit, now).await.unwrap()
    };
    archive.write(&[post(1, 7, "0"), post(2, 7, "x")], &[], &Lists::default()).await.unwrap();
    for number in 0..30 {
        assert_eq!(edit(1, 7, number, &(number + 1).to_string()).await, Edited::Done);
        assert_eq!(edit(1, 7, number, "late").await, Edited::Conflict);
    }
    let row = archive.read(&[post_id(1)]).await.unwrap().remove(0).live().unwrap();
    assert_eq!(
        (row.content.as_str(), row.details.to_string()),
        ("30", format!("30 30 {} 0 0 0", now.as_millis()))
    );
    let found = archive.versions(&[post_id(1)]).await.unwrap().remove(&post_id(1)).unwrap();
    let found: Vec<(u32, &str)> = found.iter().map(|one| (one.edition, one.content.as_str())).collect();
    let expected: Vec<(u32, String)> =
        (11..30).rev().chain([0]).map(|edition| (edition, edition.to_string())).collect();
    assert!(
        found.iter().copied().eq(expected.iter().map(|(edition, text)| (*edition, text.as_str()))),
        "{found:?}"
    );
    assert_eq!(edit(1, 8, 30, "foreign").await, Edited::Deleted);
    assert_eq!(edit(3, 7, 0, "unknown").await, Edited::Deleted);
    archive.write(&[], &[(post_id(1), user(7))], &Lists::default()).await.unwrap();
    assert_eq!(edit(1, 7, 30, "deleted").await, Edited::Deleted);
    assert_eq!(database.number("SELECT COUNT(*) FROM edits").await, 0);
}

async fn public_posts_are_counted_apart(kind: Kind) {
    let database = Database::new(kind).await;
    let archive = database.archive();
    // Every third post is for followers only.
    let visibility = |id: u64| if id.is_multiple_of(3) { Visibility::Followers } else { Visibility::Public };
    let posts: Vec<Post> =
        (1..=30).map(|id| Post { visibility: visibility(id), ..post(id, 7, "x") }).collect();
    archive.write(&posts, &[(post_id(6), user(7)), (post_id(7), user(7))], &Lists::default()).await.unwrap();
    let counts = Counts { count: 28, limited: 9, greatest: 30 };
    assert_eq!(archive.post_counts(&[user(7)]).await.unwrap(), [(user(7), counts)]);
    let period = Period { since: Some(posts[4].created_at), until: Some(posts[19].created_at) };
    let range = |period, only_public, excluded: &[u64]| CountRange {
        author: user(7),
        upto: 25,
        period,
        only_public,
        excluded: excluded.iter().copied().map(post_id).collect(),
    };
    let ranges = [
        range(Period::ALL, false, &[]),
        range(Period::ALL, true, &[]),
        range(period, false, &[]),
        range(period, true, &[]),
        range(period, true, &[8, 9, 6]),
    ];
    // The posts 5 to 19 without 6 and 7, of which 9, 12, 15 and 18 are for followers only.
    assert_eq!(archive.count_within(&ranges).await.unwrap(), [23, 16, 13, 9, 8]);
}

async fn an_archive_of_the_version_before_is_migrated(kind: Kind) {
    let database = Database::new(kind).await;
    database
        .archive()
        .write(&[post(1, 7, "old")], &[(post_id(2), user(7))], &Lists::default())
        .await
        .unwrap();
    database.execute("ALTER TABLE posts DROP COLUMN details").await;
    database.execute("ALTER TABLE posts DROP COLUMN version").await;
    database.execute("DROP TABLE referrers").await;
    database.execute("DROP TABLE edits").await;
    database.execute("DROP TABLE likes").await;
    database.execute("DELETE FROM fanfold_migrations WHERE version >= 4").await;
    let posts = [post(1, 7, "old"), version(3, 1, "new")];
    let archive = database.archive();
    archive.write(&posts[1..], &[], &Lists::default()).await.unwrap();
    let mut rows = archive.read(&[1, 2, 3].map(post_id)).await.unwrap();
    rows.sort_by_key(Row::id);
    let tombstone = Row::Tombstone { id: post_id(2), author: user(7) };
    let [old, new] = posts.map(Row::Live);
    assert_eq!(rows, [old, tombstone, new]);
    if kind == Kind::Mariadb {
        // A process was killed after the column was added.
        database.execute("UPDATE fanfold_migrations SET success = FALSE WHERE version = 6").await;
        assert_eq!(database.archive().post_count().await.unwrap(), 2);
    }
}

async fn a_delivery_is_completed_and_never_reset(kind: Kind) {
    let database = Database::new(kind).await;
    let archive = database.archive();
    let with = |delivery| Post { delivery, ..post(1, 7, "x") };
    let pushed = with(Delivery::Pushed { followers: 4 });
    let delivered = with(Delivery::Delivered { followers: 5 });
    for (written, expected) in [(&pushed, &pushed), (&delivered, &delivered), (&pushed, &delivered)] {
        archive.write(std::slice::from_ref(written), &[], &Lists::default()).await.unwrap();
        assert_eq!(archive.read(&[post_id(1)]).await.unwrap(), [Row::Live(expected.clone())]);
    }
    // Another post under the same id does not change it.
    let other = Post { author: user(8), delivery: Delivery::Delivered { followers: 9 }, ..post(2, 8, "y") };
    let first = Post { delivery: Delivery::Pulled, ..post(2, 7, "x") };
    archive.write(std::slice::from_ref(&first), &[], &Lists::default()).await.unwrap();
    archive.write(&[other], &[], &Lists::default()).await.unwrap();
    assert_eq!(archive.read(&[post_id(2)]).await.unwrap(), [Row::Live(first)]);
}

async fn ranges_are_read_from_either_end(kind: Kind) {
    let database = Database::new(kind).await;
    let archive = database.archive();
    let posts: Vec<Post> = (1..=20).map(|id| post(id, 7 + id % 2, &id.to_string())).collect();
    archive.write(&posts, &[(post_id(10), user(7))], &Lists::default()).await.unwrap();
    let range = |author, direction, above, below, limit| Range {
        author: user(author),
        direction,
        above,
        below,
        limit,
        period: Period::ALL,
        only_public: false,
    };
    let ranges = [
        range(7, Direction::Forward, 0, u64::MAX, 3),
        range(7, Direction::Backward, 0, u64::MAX, 3),
        range(7, Direction::Forward, 4, 14, 9),
        range(8, Direction::Backward, 17, 19, 9),
        range(9, Direction::Forward, 0, u64::MAX, 9),
        range(7, Direction::Backward, 6, 100, 2),
        range(7, Direction::Forward, 0, 100, 0),
    ];
    let expected: [&[u64]; 7] = [&[20, 18, 16], &[2, 4, 6], &[12, 8, 6], &[], &[], &[8, 12], &[]];
    let ids = archive.ids_of(&ranges).await.unwrap();
    let numbers: Vec<Vec<u64>> = ids.iter().map(|ids| ids.iter().map(|id| id.get()).collect()).collect();
    assert_eq!(numbers, expected);
    for (posts, ids) in archive.posts_of(&ranges).await.unwrap().iter().zip(ids) {
        assert_eq!(posts.iter().map(|post| post.id).collect::<Vec<_>>(), ids);
        assert!(posts.iter().all(|post| post.content == post.id.to_string()));
    }
}

async fn a_thousand_ranges_are_read_together(kind: Kind) {
    let database = Database::new(kind).await;
    let archive = database.archive();
    let posts: Vec<Post> = (1..=2_000).map(|id| post(id, 1 + id % 1_000, "x")).collect();
    archive.write(&posts, &[], &Lists::default()).await.unwrap();
    let range = |author| Range {
        author: user(author),
        direction: Direction::Forward,
        above: 0,
        below: 5_000,
        limit: 5,
        period: Period::ALL,
        only_public: false,
    };
    let ranges: Vec<Range> = (1..=1_000).map(range).collect();
    let found = archive.ids_of(&ranges).await.unwrap();
    for (author, ids) in (1..=1_000u64).zip(found) {
        let greatest = if author == 1 { 2_000 } else { 999 + author };
        assert_eq!(ids.iter().map(|id| id.get()).collect::<Vec<_>>(), [greatest, greatest - 1_000]);
    }
    let ids: Vec<PostId> = (1..=2_500).map(post_id).collect();
    assert_eq!(archive.read(&ids).await.unwrap().len(), 2_000);
}

async fn several_processes_may_open_a_new_archive_at_once(kind: Kind) {
    let database = Database::new(kind).await;
    let open = |_| {
        let archive = database.archive();
        tokio::spawn(async move { archive.greatest_ids().await })
    };
    let opening: Vec<_> = (0..8).map(open).collect();
    for opened in opening {
        opened.await.unwrap().unwrap();
    }
}

async fn an_archive_has_one_name(kind: Kind) {
    let database = Database::new(kind).await;
    let archive = database.archive();
    assert_eq!(archive.identity("one").await.unwrap(), "one");
    assert_eq!(database.archive().identity("two").await.unwrap(), "one");
}

/// Returns the error of opening or writing, with its message: the cause, and what to do about it.
async fn failure(url: &str) -> (Error, String) {
    let archive = archive(url);
    let failed = match archive.identity("x").await {
        Ok(_) => archive.write(&[post(1, 7, "x")], &[], &Lists::default()).await.unwrap_err(),
        Err(error) => error,
    };
    let text = failed.to_string();
    assert!(text.contains(';') || text.contains('.'), "{text} says what to do");
    (failed, text)
}

on_every_kind! {
    an_archive_of_a_newer_version_is_left_alone;
}

async fn an_archive_of_a_newer_version_is_left_alone(kind: Kind) {
    let database = Database::new(kind).await;
    database.archive().write(&[post(1, 7, "x")], &[], &Lists::default()).await.unwrap();
    let newer = "INSERT INTO fanfold_migrations SELECT 9, description, installed_on, success, checksum, \
        execution_time FROM fanfold_migrations WHERE version = 1";
    database.execute(newer).await;
    let (error, text) = failure(&database.url).await;
    assert!(matches!(error, Error::Newer { found: 9, known: 8 }), "{error:?}");
    assert!(text.contains("newer Fanfold (its schema version is 9, this version supports 8)"), "{text}");
    database.execute("DELETE FROM fanfold_migrations WHERE version = 9").await;
    assert_eq!(database.archive().post_count().await.unwrap(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_that_deny_access_and_servers_that_are_read_only_are_distinguished() {
    for kind in [Kind::Mariadb, Kind::Postgres] {
        let mut server = tokio::task::spawn_blocking(move || Server::start(kind)).await.unwrap();
        let url = server.database().await;
        let name = url.split_once("localhost/").unwrap().1.split('?').next().unwrap();
        archive(&url).greatest_ids().await.unwrap();

        let (error, text) = failure(&server.url_of(name, "fanfold", "wrong")).await;
        assert!(matches!(error, Error::Denied(_)), "{error:?}");
        assert!(text.contains("password") && text.contains("--archive-url"), "{text}");
        let (error, _) = failure(&server.url_of("missing", "fanfold", "secret")).await;
        assert!(matches!(error, Error::NoDatabase(_)), "{error:?}");

        let writer = if kind == Kind::Postgres {
            execute(&url, &format!("ALTER DATABASE {name} SET default_transaction_read_only = on")).await;
            url.clone()
        } else {
            server.run_as_root(
                "CREATE USER reader@localhost IDENTIFIED BY 'secret'; GRANT SELECT, INSERT, CREATE, UPDATE ON *.* \
                 TO reader@localhost; SET GLOBAL read_only = 1",
            );
            server.url_of(name, "reader", "secret")
        };
        let (error, text) = failure(&writer).await;
        assert!(matches!(error, Error::ReadOnly(_)), "{kind:?} {error:?}");
        assert!(text.contains("read-only"), "{text}");

        server.kill();
        let (error, text) = failure(&url).await;
        assert!(matches!(error, Error::Unreachable(_)), "{kind:?} {error:?}");
        assert!(text.contains("cannot be reached") && error.is_passing(), "{text}");
    }
}

#[tokio::test]
async fn a_file_that_cannot_be_an_archive_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(
        path("text.db"),
        "this is no database, but a text that is long enough to be seen as none ".repeat(20),
    )
    .unwrap();
    let (error, text) = failure(&format!("sqlite:{}", path("text.db"))).await;
    assert!(matches!(error, Error::Damaged(_)), "{error:?}");
    assert!(text.contains("backup"), "{text}");

    let url = format!("sqlite:{}", path("archive.db"));
    archive(&url).write(&[post(1, 7, "x")], &[], &Lists::default()).await.unwrap();
    let (error, text) = failure(&format!("{url}?mode=ro")).await;
    assert!(matches!(error, Error::ReadOnly(_)), "{error:?}");
    assert!(text.contains("writable"), "{text}");
    assert_eq!(archive(&url).post_count().await.unwrap(), 1);

    // A directory that cannot be created, because a file is in its place.
    let (error, text) = failure(&format!("sqlite:{}/below/archive.db", path("text.db"))).await;
    assert!(matches!(error, Error::Directory(..)), "{error:?}");
    assert!(text.contains("text.db/below"), "{text}");
}

#[test]
fn an_invalid_archive_url_is_rejected_before_anything_is_opened() {
    use fanfold::archive::Archive;
    use fanfold::config::ArchiveConfig;
    for url in
        ["oracle://x", "archive.db", "sqlite::memory:", "sqlite:a.db?mode=memory", "mysql://host:port/x"]
    {
        let config = ArchiveConfig { archive_url: Some(url.to_owned().into()), archive_connections: 4 };
        let Err(error) = Archive::new(&config, std::path::Path::new(".")) else {
            panic!("{url} was accepted")
        };
        assert!(matches!(error, Error::Url(_)), "{url} {error:?}");
    }
}

#[tokio::test]
async fn a_locked_database_is_waited_for_and_then_reported_as_unavailable() {
    let database = Database::new(Kind::Sqlite).await;
    let archive = database.archive();
    archive.greatest_ids().await.unwrap();
    let lock = {
        use sqlx::Connection as _;
        let mut connection = sqlx::SqliteConnection::connect(&database.url).await.unwrap();
        sqlx::raw_sql("BEGIN EXCLUSIVE").execute(&mut connection).await.unwrap();
        connection
    };
    let error = archive.write(&[post(1, 7, "x")], &[], &Lists::default()).await.unwrap_err();
    assert!(error.is_passing(), "{error:?}");
    drop(lock);
    archive.write(&[post(1, 7, "x")], &[], &Lists::default()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_killed_while_it_created_the_tables_leaves_nothing_in_the_way() {
    let database = Database::new(Kind::Mariadb).await;
    database.archive().greatest_ids().await.unwrap();
    database.execute("UPDATE fanfold_migrations SET success = FALSE; DROP TABLE visits, settings").await;
    let archive = database.archive();
    archive.write(&[post(1, 7, "x")], &[], &Lists::default()).await.unwrap();
    assert_eq!(archive.identity("one").await.unwrap(), "one");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_archive_is_waited_for_by_all_callers_at_the_same_time() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("postgres://ada@{}/x", silent.local_addr().unwrap());
    let archive = archive(&url);
    let ask = |_| {
        let archive = archive.clone();
        tokio::spawn(async move { archive.greatest_ids().await.unwrap_err() })
    };
    let reads: Vec<_> = (0..50).map(ask).collect();
    let completed = async {
        for read in reads {
            assert!(read.await.unwrap().is_passing());
        }
    };
    tokio::time::timeout(LIMIT, completed).await.expect("they do not queue");
}

/// Each turn of the runtime takes 10 ms or more, and PostgreSQL's driver yields some 800 times while it hashes a password.
async fn connections_are_opened_while_all_threads_are_busy(kind: Kind) {
    let archive = Database::new(kind).await.archive();
    archive.identity("one").await.unwrap();
    let is_over = Arc::new(AtomicBool::new(false));
    let mut busy = JoinSet::new();
    for _ in 0..100 {
        let is_over = Arc::clone(&is_over);
        busy.spawn(async move {
            while !is_over.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_micros(200));
                tokio::task::yield_now().await;
            }
        });
    }
    let read = |_| {
        let archive = archive.clone();
        tokio::spawn(async move { archive.read(&[post_id(1)]).await })
    };
    let reading: Vec<_> = (0..20).map(read).collect();
    for read in reading {
        assert_eq!(read.await.unwrap().unwrap(), []);
    }
    is_over.store(true, Ordering::Relaxed);
    busy.join_all().await;
}

async fn a_cancelled_call_leaves_nothing_behind(kind: Kind) {
    let database = Database::new(kind).await;
    let archive = database.archive();
    archive.write(&[post(1, 7, "first")], &[], &Lists::default()).await.unwrap();
    for number in 0..300 {
        let (archive, other) = (archive.clone(), archive.clone());
        let posts = [post(1_000 + number, 7, "x")];
        let writing = tokio::spawn(async move { archive.write(&posts, &[], &Lists::default()).await });
        let reading = tokio::spawn(async move { other.read(&[post_id(1)]).await });
        tokio::time::sleep(Duration::from_micros(number * 17 % 2_000)).await;
        writing.abort();
        reading.abort();
    }
    archive.write(&[post(5_000, 7, "last")], &[], &Lists::default()).await.unwrap();
    // Over any connection.
    let read = |_| {
        let archive = archive.clone();
        tokio::spawn(async move { archive.read(&[post_id(1), post_id(5_000)]).await })
    };
    let reading: Vec<_> = (0..100).map(read).collect();
    for read in reading {
        assert_eq!(read.await.unwrap().unwrap().len(), 2);
    }
}

#[tokio::test]
async fn a_directory_created_for_an_archive_is_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = tempfile::tempdir().unwrap();
    let made = directory.path().join("made for it");
    archive(&format!("sqlite:{}/archive.db", made.display())).greatest_ids().await.unwrap();
    assert_eq!(std::fs::metadata(&made).unwrap().permissions().mode() & 0o777, 0o700);
}
