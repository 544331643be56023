//! Backup and restore, with the commands of `docs/operating.md`, on other addresses.

use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::harness::cluster::free_ports;
use crate::harness::instance::program;
use crate::harness::server::{Server, command, eventually};
use crate::harness::sql::{Database, Kind};
use crate::service::monitoring::value;
use crate::service::watch::{follow, publish};

const PAGE: &str = include_str!("../../../docs/operating.md");
const CONFIGURATION: &str = "user user on >password ~* &* +@all
appendonly yes
save \"\"
maxmemory-policy noeviction
hash-max-listpack-value 8192
";

/// What the page takes for granted: Redis with its configuration and its files, and a database.
struct Site {
    directory: TempDir,
    port: u16,
    redis: Option<Child>,
    database: Database,
}

impl Site {
    async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let [port] = free_ports();
        let files = directory.path().join("redis");
        std::fs::create_dir(&files).unwrap();
        let own = format!("port {port}\nbind 127.0.0.1\ndir {}\n{CONFIGURATION}", files.display());
        std::fs::write(directory.path().join("redis.conf"), own).unwrap();
        let mut site = Self { directory, port, redis: None, database: Database::new(Kind::Postgres).await };
        site.start_redis();
        site
    }

    /// Starts Redis as usual.
    fn start_redis(&mut self) {
        let mut command = Command::new(program());
        command.arg("redis.conf").current_dir(self.directory.path()).stdout(Stdio::null());
        self.redis = Some(command.spawn().unwrap());
        assert!(eventually(|| TcpStream::connect(("127.0.0.1", self.port)).is_ok()));
    }

    /// Returns the commands of a block of the section, with the addresses and files of this site.
    fn block(&self, number: usize) -> Vec<String> {
        let section = PAGE.split_once("\n## Backup and restore\n").unwrap().1;
        let block = section.split("```sh\n").nth(number).unwrap().split_once("```").unwrap().0;
        let (server, client) = (program(), program().replace("server", "cli"));
        let here = self.directory.path().display();
        let block = block
            .replace("postgres://user:password@127.0.0.1/fanfold", &format!("'{}'", self.database.url))
            .replace("127.0.0.1:6379", &format!("127.0.0.1:{}", self.port))
            .replace("/var/lib/redis", &format!("{here}/redis"))
            .replace("/etc/redis/redis.conf", "redis.conf")
            .replace("redis-server ", &format!("{server} "))
            .replace("redis-cli ", &format!("{client} "));
        block.lines().map(str::to_owned).collect()
    }

    fn run(&self, line: &str) {
        let mut shell = Command::new("sh");
        let output = shell.args(["-c", line]).current_dir(self.directory.path()).output().unwrap();
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// Returns the options of the server and of the other commands.
    fn options(&self) -> Vec<String> {
        let redis = format!("redis://user:password@127.0.0.1:{}/0", self.port);
        let options = ["--redis-url", &redis, "--archive-url", &self.database.url, "--post-hot-limit", "5"];
        options.into_iter().map(str::to_owned).collect()
    }

    /// Runs a command over the data of this site. Returns its exit code and its output.
    fn fanfold(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let output = command(arguments).args(self.options()).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    }

    fn serve(&self) -> Server {
        let data = self.directory.path().join("data");
        Server::run(
            command(&["serve", "--http-listen", "127.0.0.1:0"])
                .args(self.options())
                .args([Path::new("--data-dir"), &data]),
        )
    }

    /// Destroys all data.
    async fn lose_everything(&mut self) {
        let mut redis = self.redis.take().unwrap();
        redis.kill().unwrap();
        redis.wait().unwrap();
        std::fs::remove_dir_all(self.directory.path().join("redis")).unwrap();
        std::fs::create_dir(self.directory.path().join("redis")).unwrap();
        self.database.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public").await;
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        if let Some(redis) = &mut self.redis {
            let _ = redis.kill();
            let _ = redis.wait();
        }
    }
}

/// Publishes posts, and waits until all but the newest ones are in the archive.
fn publish_many(server: &Server, token: &str, name: &str) {
    let before = value(server, "fanfold_archived_posts_total");
    for number in 0..12 {
        publish(server, token, &format!("{name} {number}"));
    }
    assert!(eventually(|| value(server, "fanfold_archived_posts_total") > before + 6.5));
    assert!(eventually(
        || value(server, "fanfold_archive_moving_posts") < 0.5 && value(server, "fanfold_fanout_jobs") < 0.5
    ));
}

/// Returns all posts of the timeline, and of the author.
fn seen(server: &Server, token: &str) -> [Vec<String>; 2] {
    let page = "(first: 100) { nodes { content } }";
    let author = format!("user(by: {{ username: \"ben\" }}) {{ posts{page} }}");
    let response = server.ask_as(token, &format!("{{ viewer {{ timeline{page} }} {author} }}"));
    let contents = |list: &Value| {
        let nodes = list["nodes"].as_array().unwrap_or_else(|| panic!("{response}"));
        nodes.iter().map(|node| node["content"].as_str().unwrap().to_owned()).collect()
    };
    [contents(&response["data"]["viewer"]["timeline"]), contents(&response["data"]["user"]["posts"])]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_site_that_lost_everything_is_restored_with_the_commands_of_the_page() {
    let mut site = Site::new().await;
    let server = site.serve();
    let [ada, ben] = ["ada", "ben"].map(|name| server.token(name));
    follow(&server, &ada, "ben");
    publish_many(&server, &ben, "before");
    let before = seen(&server, &ada);
    assert_eq!(before.each_ref().map(Vec::len), [12, 12]);

    let [redis, archive] = site.block(1).try_into().unwrap();
    site.run(&redis);
    // Meanwhile, all of these posts are archived but the last ones of the later.
    publish_many(&server, &ben, "between");
    site.run(&archive);
    publish(&server, &ben, "after");
    server.kill();
    site.lose_everything().await;

    for line in site.block(2) {
        site.run(&line);
    }
    site.start_redis();
    assert_eq!(site.fanfold(&["doctor"]).0, Some(0));
    // Posts that were archived after the copy of Redis.
    let (code, report) = site.fanfold(&["check"]);
    assert!(code == Some(1) && report.contains("archived posts miscounted:     1\n"), "{report}");
    assert!(report.contains("1 faults were found"), "{report}");
    let (code, report) = site.fanfold(&["check", "--repair"]);
    assert_eq!(code, Some(0), "{report}");

    let server = site.serve();
    let [timeline, posts] = seen(&server, &ada);
    assert_eq!(
        timeline, before[0],
        "nothing from before the copy of Redis is lost, and nothing later is there"
    );
    let archived = (0..7).rev().map(|number| format!("between {number}"));
    assert_eq!(posts, archived.chain(before[1].clone()).collect::<Vec<_>>());
    // A new post has an id that no post in the archive has.
    publish(&server, &ben, "again");
    assert!(eventually(|| seen(&server, &ada)[0] == [&["again".to_owned()][..], &before[0]].concat()));
    assert_eq!(server.stop(), Some(0));
}
