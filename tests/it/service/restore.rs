//! Backup and restore: the commands of the page for operators, run once for real.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::document::{backup_section, texts};
use crate::harness::feed::publish;
use crate::harness::instance::{Instance, program};
use crate::harness::server::{Server, command};
use crate::harness::sql::{Database, Kind};

/// The blocks of commands in the section about backups. Tests of this file run all of them.
pub(crate) struct Steps {
    back_up: String,
    back_up_own_redis: String,
    dump_postgres: String,
    dump_mariadb: String,
    restore_redis: String,
    restore_own_redis: String,
    restore_sqlite: String,
    restore_postgres: String,
    restore_mariadb: String,
    verify: String,
}

impl Steps {
    fn new() -> Self {
        let blocks: [String; 10] = texts(backup_section(), "sh").try_into().expect("a test runs each block");
        let [back_up, back_up_own_redis, dump_postgres, dump_mariadb, restore_redis, rest @ ..] = blocks;
        let [restore_own_redis, restore_sqlite, restore_postgres, restore_mariadb, verify] = rest;
        Self {
            back_up,
            back_up_own_redis,
            dump_postgres,
            dump_mariadb,
            restore_redis,
            restore_own_redis,
            restore_sqlite,
            restore_postgres,
            restore_mariadb,
            verify,
        }
    }

    /// Splits the first block into its preparation, the backup of Redis, and that of the archive.
    fn back_up(&self) -> [String; 3] {
        let lines: Vec<&str> = self.back_up.lines().collect();
        let [umask, directory, redis, archive] = lines[..] else { panic!("{lines:?}") };
        [format!("{umask}\n{directory}"), format!("{umask}\n{redis}"), format!("{umask}\n{archive}")]
    }
}

/// Runs commands in this directory as a shell does, and returns what they print.
fn shell(directory: &Path, commands: &str) -> String {
    let programs = Path::new(env!("CARGO_BIN_EXE_fanfold")).parent().unwrap().to_str().unwrap();
    let mut shell = Command::new("sh");
    shell.args(["-e", "-c", commands]).current_dir(directory);
    shell.env("PATH", format!("{programs}:{}", std::env::var("PATH").unwrap()));
    // Other programs may listen on the default ports.
    shell.env("FANFOLD_HTTP_LISTEN", "127.0.0.1:0");
    let output = shell.output().unwrap();
    assert!(output.status.success(), "{commands}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A deployment with a Redis of its own machine, or with Fanfold's own, and an archive in a file.
struct Deployment {
    steps: Steps,
    /// Has the data directory and the backup.
    directory: TempDir,
    redis: Option<Instance>,
}

const APPEND_ONLY: [&str; 2] = ["--appendonly", "yes"];

impl Deployment {
    fn new() -> Self {
        let redis = Some(Instance::start(&APPEND_ONLY));
        Self { steps: Steps::new(), directory: tempfile::tempdir().unwrap(), redis }
    }

    fn with_own_redis() -> Self {
        Self { steps: Steps::new(), directory: tempfile::tempdir().unwrap(), redis: None }
    }

    fn path(&self, name: &str) -> String {
        self.directory.path().join(name).to_str().unwrap().to_owned()
    }

    /// Returns a command with these arguments and the options of the data.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command(arguments);
        command.args(["--data-dir", &self.path("fanfold-data"), "--post-hot-limit", "2"]);
        // A small index of names, which `check` reads fast.
        command.args(["--redis-expected-users", "100"]);
        if let Some(redis) = &self.redis {
            command.args(["--redis-url", &redis.url()]);
        }
        command
    }

    fn serve(&self) -> Server {
        // Posts are archived only by `archive`.
        Server::run(&mut self.command(&[
            "serve",
            "--http-listen",
            "127.0.0.1:0",
            "--archive-in-server",
            "off",
        ]))
    }

    /// Runs a command to its end; returns its exit code and what it prints.
    fn run(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let output = self.command(arguments).output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(text).unwrap())
    }

    fn archive(&self) {
        let (code, output) = self.run(&["archive", "run", "--until-empty"]);
        assert_eq!(code, Some(0), "{output}");
    }

    /// Runs commands of the page, with the addresses and paths of this deployment.
    fn shell(&self, commands: &str) -> String {
        // Valkey's client has a name of its own.
        let mut commands = commands.replace("redis-cli", &program().replace("-server", "-cli"));
        if let Some(redis) = &self.redis {
            let socket = format!("-s {}/redis.sock", redis.directory());
            commands = commands
                .replace("-u redis://user:password@127.0.0.1:6379/0", &socket)
                .replace("/var/lib/redis", redis.directory());
            let options = format!("export FANFOLD_POST_HOT_LIMIT=2 FANFOLD_REDIS_URL={}\n", redis.url());
            commands.insert_str(0, &options);
        } else {
            commands.insert_str(0, "export FANFOLD_POST_HOT_LIMIT=2\n");
        }
        shell(self.directory.path(), &commands)
    }

    /// Kills Redis, destroys the archive, and restores both from the backup.
    fn lose_and_restore(&mut self) {
        let restore_sqlite = self.steps.restore_sqlite.clone();
        // A write-ahead log of the former file.
        std::fs::write(self.path("fanfold-data/archive.db"), "lost").unwrap();
        std::fs::write(self.path("fanfold-data/archive.db-wal"), "lost").unwrap();
        self.restore_redis();
        self.shell(&restore_sqlite);
    }

    fn restore_redis(&mut self) {
        if let Some(redis) = &mut self.redis {
            redis.kill();
            self.shell(&self.steps.restore_redis);
            self.redis.as_mut().unwrap().restart(&APPEND_ONLY);
        } else {
            self.shell(&self.steps.restore_own_redis);
        }
    }
}

fn delete(server: &Server, token: &str, post: &str) {
    let query = format!(
        "mutation {{ deletePost(input: {{ postId: \"{post}\" }}) {{ deletedPostId userErrors {{ message }} }} }}"
    );
    let response = server.ask_as(token, &query);
    assert_eq!(response["data"]["deletePost"]["deletedPostId"], post, "{response}");
}

/// Returns all that a viewer sees: their follows, and the posts of everybody, from Redis and from the archive.
fn view(server: &Server, token: &str) -> Value {
    let posts = "totalCount nodes { id content createdAt author { username } }";
    let users = "totalCount nodes { username posts(first: 50) { POSTS } }".replace("POSTS", posts);
    let query = format!(
        "{{ viewer {{ timeline(first: 50) {{ nodes {{ id content }} }} user {{ username posts(first: 50) {{ {posts} }}
            following(first: 10) {{ {users} }} followers(first: 10) {{ {users} }} }} }} }}"
    );
    let response = server.ask_as(token, &query);
    assert_eq!(response.get("errors"), None, "{response}");
    response
}

/// Returns the contents of the viewer's posts, newest first, and their total number.
fn own_posts(server: &Server, token: &str) -> (Vec<String>, u64) {
    let view = view(server, token);
    let posts = &view["data"]["viewer"]["user"]["posts"];
    let content = |post: &Value| post["content"].as_str().unwrap().to_owned();
    let contents = posts["nodes"].as_array().unwrap().iter().map(content).collect();
    (contents, posts["totalCount"].as_u64().unwrap())
}

/// Ada and Ben follow each other; Ada has published six posts, of which four are archived, and one is deleted.
fn populate(deployment: &Deployment) -> (Server, [String; 2]) {
    let server = deployment.serve();
    let tokens = ["ada", "ben"].map(|name| server.token(name));
    let id = |token: &str| {
        let response = server.ask_as(token, "{ viewer { user { id } } }");
        response["data"]["viewer"]["user"]["id"].as_str().unwrap().to_owned()
    };
    let ids = [id(&tokens[0]), id(&tokens[1])];
    for (follower, followee) in [(0, 1), (1, 0)] {
        let query = format!(
            "mutation {{ follow(input: {{ userId: \"{}\" }}) {{ userErrors {{ message }} }} }}",
            ids[followee]
        );
        assert_eq!(server.ask_as(&tokens[follower], &query)["data"]["follow"]["userErrors"], json!([]));
    }
    let posts: Vec<String> =
        (0..6).map(|number| publish(&server, &tokens[0], &format!("post {number}"))).collect();
    publish(&server, &tokens[1], "by ben");
    delete(&server, &tokens[0], &posts[2]);
    deployment.archive();
    (server, tokens)
}

/// Publishes and archives more.
fn go_on(deployment: &Deployment, server: &Server, tokens: &[String; 2]) {
    publish(server, &tokens[1], "too late");
    for number in 6..10 {
        publish(server, &tokens[0], &format!("post {number}"));
    }
    deployment.archive();
}

fn all_is_restored(mut deployment: Deployment) {
    let (server, tokens) = populate(&deployment);
    let seen = tokens.each_ref().map(|token| view(&server, token));
    assert_eq!(
        own_posts(&server, &tokens[0]),
        (["5", "4", "3", "1", "0"].map(|n| format!("post {n}")).into(), 5)
    );
    let (_, checked) = deployment.run(&["check"]);
    let [prepare, redis, archive] = deployment.steps.back_up();
    deployment.shell(&prepare);
    let own = deployment.steps.back_up_own_redis.clone();
    deployment.shell(if deployment.redis.is_some() { &redis } else { &own });
    deployment.shell(&archive);
    go_on(&deployment, &server, &tokens);
    assert_ne!(view(&server, &tokens[1]), seen[1]);
    assert_eq!(server.stop(), Some(0));

    deployment.lose_and_restore();
    let verified = deployment.shell(&deployment.steps.verify);
    assert!(verified.contains("all is well") && verified.contains("posts there now:   3"), "{verified}");
    assert_eq!(deployment.run(&["check"]), (Some(0), checked));
    let server = deployment.serve();
    assert_eq!(tokens.each_ref().map(|token| view(&server, token)), seen);
    go_on(&deployment, &server, &tokens);
    let (contents, count) = own_posts(&server, &tokens[0]);
    assert_eq!((contents.len(), count), (9, 9));
    assert_eq!(server.stop(), Some(0));
    // What was restored is on disk.
    let server = deployment.serve();
    assert_eq!(own_posts(&server, &tokens[0]), (contents, count));
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn a_backup_of_redis_and_sqlite_is_restored() {
    all_is_restored(Deployment::new());
}

#[test]
fn a_backup_of_the_redis_in_the_data_directory_is_restored() {
    all_is_restored(Deployment::with_own_redis());
}

#[test]
fn an_archive_that_is_newer_than_redis_loses_and_doubles_nothing() {
    let mut deployment = Deployment::new();
    let (server, tokens) = populate(&deployment);
    let seen = view(&server, &tokens[1]);
    let posts = view(&server, &tokens[0])["data"]["viewer"]["user"]["posts"]["nodes"].clone();
    let newest = posts[0]["id"].as_str().unwrap();
    let [prepare, redis, archive] = deployment.steps.back_up();
    deployment.shell(&prepare);
    deployment.shell(&redis);
    delete(&server, &tokens[0], newest);
    // The posts 4, 6 and 7 are archived, and the deletion of 5.
    go_on(&deployment, &server, &tokens);
    deployment.shell(&archive);
    assert_eq!(server.stop(), Some(0));

    deployment.lose_and_restore();
    let server = deployment.serve();
    assert_eq!(view(&server, &tokens[1]), seen);
    let (code, checked) = deployment.run(&["check"]);
    assert!(code == Some(1) && checked.contains("archived posts miscounted:     1"), "{checked}");
    assert_eq!(deployment.run(&["check", "--repair"]).0, Some(0));
    // The posts 6 and 7, which only the archive knows, are listed, and new posts have other ids. The post 5 is deleted
    // again.
    for number in 8..10 {
        publish(&server, &tokens[0], &format!("post {number}"));
    }
    deployment.archive();
    let expected = ["9", "8", "7", "6", "4", "3", "1", "0"].map(|number| format!("post {number}"));
    assert_eq!(own_posts(&server, &tokens[0]), (expected.into(), 8));
    let (code, checked) = deployment.run(&["check"]);
    assert!(code == Some(0) && checked.contains("all is well"), "{checked}");
}

#[test]
fn an_archive_that_is_older_than_redis_lacks_posts_and_check_corrects_the_counts() {
    let mut deployment = Deployment::new();
    let (server, tokens) = populate(&deployment);
    let posts = view(&server, &tokens[0])["data"]["viewer"]["user"]["posts"]["nodes"].clone();
    let oldest = posts[4]["id"].as_str().unwrap();
    let [prepare, redis, archive] = deployment.steps.back_up();
    deployment.shell(&prepare);
    deployment.shell(&archive);
    go_on(&deployment, &server, &tokens);
    delete(&server, &tokens[0], oldest);
    deployment.archive();
    deployment.shell(&redis);
    assert_eq!(server.stop(), Some(0));

    deployment.lose_and_restore();
    let server = deployment.serve();
    // The posts 4 to 7 are lost, and the deleted post 0 is listed again.
    let expected: Vec<String> = ["9", "8", "3", "1", "0"].map(|number| format!("post {number}")).into();
    assert_eq!(own_posts(&server, &tokens[0]).0, expected);
    let (code, checked) = deployment.run(&["check"]);
    assert!(code == Some(1) && checked.contains("archived posts miscounted:     1"), "{checked}");
    assert_eq!(deployment.run(&["check", "--repair"]).0, Some(0));
    assert_eq!(own_posts(&server, &tokens[0]), (expected, 5));
}

#[test]
fn a_redis_that_was_restored_alone_belongs_to_its_archive_and_an_empty_one_does_not() {
    let mut deployment = Deployment::new();
    let (server, tokens) = populate(&deployment);
    let [prepare, redis, _] = deployment.steps.back_up();
    deployment.shell(&prepare);
    deployment.shell(&redis);
    let seen = view(&server, &tokens[1]);
    go_on(&deployment, &server, &tokens);
    assert_eq!(server.stop(), Some(0));

    deployment.redis.as_mut().unwrap().restart_empty();
    let (code, status) = deployment.run(&["archive", "status"]);
    assert!(code == Some(1) && status.contains("another archive"), "{status}");
    deployment.restore_redis();
    assert_eq!(deployment.run(&["archive", "status"]).0, Some(0));
    let server = deployment.serve();
    assert_eq!(view(&server, &tokens[1]), seen);
}

#[test]
fn a_new_user_does_not_receive_the_posts_of_a_user_whom_redis_has_lost() {
    let mut deployment = Deployment::new();
    let (server, _) = populate(&deployment);
    let [prepare, redis, _] = deployment.steps.back_up();
    deployment.shell(&prepare);
    deployment.shell(&redis);
    let write_as = |deployment: &Deployment, server: &Server, name: &str| {
        let token = server.token(name);
        for number in 0..4 {
            publish(server, &token, &format!("{name} {number}"));
        }
        deployment.archive();
        own_posts(server, &token)
    };
    assert_eq!(write_as(&deployment, &server, "cy").1, 4);
    assert_eq!(server.stop(), Some(0));

    deployment.restore_redis();
    let server = deployment.serve();
    assert!(!server.has_user("cy"));
    let expected = ["3", "2", "1", "0"].map(|number| format!("dan {number}"));
    assert_eq!(write_as(&deployment, &server, "dan"), (expected.into(), 4));
    assert_eq!(server.stop(), Some(0));
}

/// Backs up the archive in a database, loses posts there, and restores them.
async fn a_dump_is_restored(kind: Kind) {
    let (database, other) = (Database::new(kind).await, Database::new(kind).await);
    let redis = Instance::start(&[]);
    let directory = tempfile::tempdir().unwrap();
    let options = ["--post-hot-limit", "2", "--archive-in-server", "off"];
    let serve = |url: &str| {
        let data_dir = directory.path().to_str().unwrap();
        Server::at(&redis.url(), data_dir, &[&options[..], &["--archive-url", url]].concat())
    };
    let server = serve(&database.url);
    let ada = server.token("ada");
    for number in 0..6 {
        publish(&server, &ada, &format!("post {number}"));
    }
    let moved = command(&["archive", "run", "--until-empty", "--redis-url", &redis.url()])
        .args(["--post-hot-limit", "2", "--archive-url", &database.url])
        .output();
    assert!(moved.unwrap().status.success());
    let seen = view(&server, &ada);
    assert_eq!(server.stop(), Some(0));

    let steps = Steps::new();
    let (dump, restore) = match kind {
        Kind::Postgres => (steps.dump_postgres, steps.restore_postgres),
        _ => (steps.dump_mariadb, steps.restore_mariadb),
    };
    let at = |commands: &str, url: &str| {
        // Both clients of MariaDB have the same options.
        let (name, socket) = parts(url);
        let options = format!("--socket={socket} --user=fanfold --password=secret {name}");
        let commands = commands
            .replace("postgres://user:password@127.0.0.1/fanfold", &format!("'{url}'"))
            .replace("--host=127.0.0.1 --user=user --password fanfold", &options);
        shell(directory.path(), &commands)
    };
    shell(directory.path(), "mkdir backup");
    at(&dump, &database.url);
    database.execute("DELETE FROM posts").await;
    at(&restore, &other.url);
    let server = serve(&other.url);
    assert_eq!(view(&server, &ada), seen);
    assert_eq!(server.stop(), Some(0));
}

/// Splits the URL of a database into its name and its socket.
fn parts(url: &str) -> (&str, &str) {
    let (path, query) = url.split_once('?').expect("the URL names a socket");
    let (_, name) = path.rsplit_once('/').expect("the URL names a database");
    (name, query.split_once('=').expect("the query has a value").1)
}

mod a_dump_of_the_server_is_restored {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn postgres() {
        a_dump_is_restored(Kind::Postgres).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn mariadb() {
        a_dump_is_restored(Kind::Mariadb).await;
    }
}
