//! The archive and the processes that use it: servers, and the commands of `fanfold archive`.

use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::harness::server::{Server, command, eventually};
use crate::harness::sql::{Database, Kind, execute};
use crate::harness::world::Redis;

/// Runs a command on this Redis to its end.
fn run(redis: &Redis, arguments: &[&str]) -> Output {
    let (url, directory) = (redis.url(), redis.directory());
    command(&[arguments, &["--redis-url", &url, "--data-dir", directory]].concat()).output().unwrap()
}

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(1));
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn publish(server: &Server, token: &str, content: &str) {
    let query =
        format!("mutation {{ publish(input: {{ content: \"{content}\" }}) {{ userErrors {{ message }} }} }}");
    assert_eq!(server.ask_as(token, &query)["data"]["publish"]["userErrors"], json!([]));
}

fn contents(server: &Server, token: &str) -> Vec<String> {
    let data = server.ask_as(token, "{ viewer { user { posts(first: 100) { nodes { content } } } } }");
    let nodes = data["data"]["viewer"]["user"]["posts"]["nodes"].as_array().cloned().unwrap_or_default();
    nodes.iter().map(|node| node["content"].as_str().unwrap().to_owned()).collect()
}

fn metric(server: &Server, name: &str) -> u64 {
    let (status, metrics) = server.page("/metrics");
    assert_eq!(status, 200);
    let line = metrics.lines().find(|line| line.starts_with(&format!("{name} "))).expect("is measured");
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

#[test]
fn a_server_archives_unless_configured_otherwise() {
    let redis = Redis::start();
    let serve =
        |archive: &str| Server::over(&redis, &["--post-hot-limit", "2", "--archive-in-server", archive]);
    let idle = serve("off");
    let ada = idle.token("ada");
    for number in 0..6 {
        publish(&idle, &ada, &number.to_string());
    }
    assert_eq!(
        (metric(&idle, "fanfold_archive_pending_posts"), metric(&idle, "fanfold_archived_posts_total")),
        (4, 0)
    );
    let status = stdout(&run(&redis, &["archive", "status"]));
    for line in [
        "archive:           SQLite, ",
        "posts waiting:     4",
        "posts archived:    0",
        "posts there now:   0",
    ] {
        assert!(status.contains(line), "{status}");
    }
    let busy = serve("on");
    assert!(eventually(|| metric(&idle, "fanfold_archived_posts_total") == 4));
    assert_eq!(metric(&idle, "fanfold_archive_pending_posts"), 0);
    assert_eq!(contents(&idle, &ada), ["5", "4", "3", "2", "1", "0"]);
    assert_eq!(busy.stop(), Some(0));
    // A separate command archives everything, beside a server.
    publish(&idle, &ada, "6");
    let status = stdout(&run(&redis, &["archive", "run", "--until-empty"]));
    for line in
        ["posts waiting:     0", "posts archived:    5", "posts there now:   5", "oldest of them:    0 s"]
    {
        assert!(status.contains(line), "{status}");
    }
    assert_eq!(contents(&idle, &ada).len(), 7);
    assert_eq!(idle.stop(), Some(0));
    assert!(stdout(&run(&redis, &["check"])).contains("all is well"));
}

#[test]
fn a_mover_that_is_killed_with_posts_in_transit_loses_none() {
    const POSTS: usize = 3_000;
    let redis = Redis::start();
    let options =
        ["--post-hot-limit", "10", "--archive-in-server", "off", "--post-publishes-per-author", "10000"];
    let server = Server::over(&redis, &options);
    let ada = server.token("ada");
    for number in 0..POSTS {
        publish(&server, &ada, &number.to_string());
    }
    let (url, directory) = (redis.url(), redis.directory());
    for _ in 0..6 {
        let mut mover = command(&["archive", "run", "--redis-url", &url, "--data-dir", directory])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Some have done nothing, some are at one step or another.
        while redis.raw::<Vec<String>>(&["KEYS", "ff:{a}:moving:*"]).is_empty() {
            std::thread::yield_now();
        }
        mover.kill().unwrap();
        mover.wait().unwrap();
    }
    assert!(
        !redis.raw::<Vec<String>>(&["KEYS", "ff:{a}:moving:*"]).is_empty(),
        "it was killed with posts in transit"
    );
    // As if it were a minute later.
    for mover in redis.raw::<Vec<String>>(&["ZRANGE", "ff:{a}:movers", "0", "-1"]) {
        redis.raw::<u64>(&["ZADD", "ff:{a}:movers", "1", &mover]);
    }
    stdout(&run(&redis, &["archive", "run", "--until-empty"]));
    let query = |after: &Value| {
        format!(
            "{{ viewer {{ user {{ posts(first: 100, after: {after}) {{ totalCount nodes {{ content }} pageInfo {{ hasNextPage endCursor }} }} }} }} }}"
        )
    };
    let (mut found, mut after) = (Vec::new(), Value::Null);
    loop {
        let data = server.ask_as(&ada, &query(&after));
        let page = &data["data"]["viewer"]["user"]["posts"];
        assert_eq!(page["totalCount"], POSTS);
        let nodes = page["nodes"].as_array().unwrap();
        found.extend(nodes.iter().map(|node| node["content"].as_str().unwrap().parse::<usize>().unwrap()));
        after = page["pageInfo"]["endCursor"].clone();
        if page["pageInfo"]["hasNextPage"] == false {
            break;
        }
    }
    assert_eq!(found, (0..POSTS).rev().collect::<Vec<_>>());
    assert_eq!(redis.raw::<u64>(&["LLEN", "ff:{u1}:posts"]), 10);
}

#[tokio::test]
async fn a_server_does_not_start_on_an_archive_it_cannot_use_and_reports_why() {
    let redis = Redis::start();
    let database = Database::new(Kind::Sqlite).await;
    let archive = ["--archive-url", &database.url];
    stdout(&run(&redis, &[&["archive", "status"], &archive[..]].concat()));
    execute(&database.url, "UPDATE fanfold_migrations SET version = 99 WHERE version = 3").await;
    let serve = ["serve", "--http-listen", "127.0.0.1:0"];
    let error = stderr(&run(&redis, &[&serve[..], &archive[..]].concat()));
    assert!(error.contains("newer Fanfold (its schema version is 99"), "{error}");
    execute(&database.url, "UPDATE fanfold_migrations SET version = 3 WHERE version = 99").await;

    let other = ["--archive-url", &format!("{}.other", database.url)];
    let error = stderr(&run(&redis, &[&serve[..], &other[..]].concat()));
    assert!(
        error.contains("another archive than this one") && error.contains("fanfold archive adopt"),
        "{error}"
    );
    assert!(stdout(&run(&redis, &[&["archive", "adopt"], &other[..]].concat())).contains("archive.db.other"));
    stdout(&run(&redis, &[&["archive", "run", "--until-empty"], &other[..]].concat()));

    let none = ["--archive-url", "oracle://x"];
    let error = stderr(&run(&redis, &[&serve[..], &none[..]].concat()));
    assert!(error.contains("expected sqlite:path"), "{error}");
    let secret = ["--archive-url", "postgres://ada:hunter2@localhost:70000/x"];
    let error = stderr(&run(&redis, &[&serve[..], &secret[..]].concat()));
    assert!(!error.contains("hunter2"), "{error}");
}

#[test]
fn a_server_starts_while_its_archive_is_unavailable() {
    let redis = Redis::start();
    let server = Server::over(&redis, &["--archive-url", "postgres://nobody@localhost:1/none"]);
    assert_eq!(server.page("/readyz"), (200, "ready\narchive: unavailable\n".to_owned()));
    let ada = server.token("ada");
    publish(&server, &ada, "hot");
    assert_eq!(contents(&server, &ada), ["hot"]);
    assert_eq!(server.stop(), Some(0));
}

/// A limit on the size of files stands in for a full disk, and can be lifted for the server's process.
#[test]
fn on_a_full_disk_posts_wait_in_redis_and_move_by_themselves_when_there_is_room() {
    let redis = Redis::start();
    let (url, directory) = (redis.url(), redis.directory());
    let limited = format!(
        "trap '' XFSZ; ulimit -S -f 200; exec {} serve --http-listen 127.0.0.1:0 --redis-url {url} \
         --data-dir {directory} --post-hot-limit 2",
        env!("CARGO_BIN_EXE_fanfold")
    );
    let server = Server::run(Command::new("sh").args(["-c", &limited]));
    let ada = server.token("ada");
    let long = "x".repeat(1_900);
    for _ in 0..150 {
        publish(&server, &ada, &long);
    }
    let waits =
        || metric(&server, "fanfold_archive_pending_posts") + metric(&server, "fanfold_archive_moving_posts");
    let is_stuck = || server.page("/readyz").1 == "ready\narchive: unavailable\n";
    assert!(eventually(is_stuck) && waits() > 0, "there was room for all");
    publish(&server, &ada, "hot");
    assert_eq!(contents(&server, &ada).len(), 100);
    let pid = server.process.id().to_string();
    assert!(
        Command::new("prlimit")
            .args(["--pid", &pid, "--fsize=unlimited:unlimited"])
            .status()
            .unwrap()
            .success()
    );
    assert!(eventually(|| waits() == 0), "{} wait", waits());
    let data =
        server.ask_as(&ada, "{ viewer { user { posts(last: 100) { totalCount nodes { content } } } } }");
    assert_eq!(data["data"]["viewer"]["user"]["posts"]["totalCount"], 151);
    assert_eq!(data["data"]["viewer"]["user"]["posts"]["nodes"].as_array().unwrap().len(), 100);
    assert!(stdout(&run(&redis, &["check"])).contains("all is well"));
}

#[test]
fn a_server_that_has_stopped_leaves_its_archive_in_one_file() {
    let redis = Redis::start();
    let server = Server::over(&redis, &["--post-hot-limit", "2"]);
    let ada = server.token("ada");
    for number in 0..6 {
        publish(&server, &ada, &number.to_string());
    }
    assert!(eventually(|| metric(&server, "fanfold_archived_posts_total") == 4));
    assert_eq!(server.stop(), Some(0));
    let path = |name: &str| std::path::Path::new(redis.directory()).join(name);
    assert!(path("archive.db").exists() && !path("archive.db-wal").exists());
    let status = stdout(&run(&redis, &["archive", "status"]));
    assert!(status.contains("posts there now:   4"), "{status}");
}

#[test]
fn wrong_parameters_of_an_archive_url_are_not_logged() {
    let redis = Redis::start();
    let url = "postgres://127.0.0.1:1/x?user=ada&pass=hunter2&password=hunter3";
    let (redis_url, directory) = (redis.url(), redis.directory());
    let fixed = ["archive", "run", "--until-empty", "--log-filter", "trace", "--archive-url", url];
    let output = command(&[&fixed[..], &["--redis-url", &redis_url, "--data-dir", directory]].concat())
        .output()
        .unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("the archive is unavailable: the archive cannot be reached"), "{stderr}");
    assert!(!stderr.contains("hunter"), "{stderr}");
}
