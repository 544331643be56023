//! `fanfold doctor`: each wrong set-up is made and named, and a right one has no findings.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use clap::Parser;
use fanfold::app::doctor::{Level, examine_redis};
use fanfold::config::DataConfig;
use serde_json::Value;
use tempfile::TempDir;

use crate::harness::cluster::Cluster;
use crate::harness::instance::Instance;
use crate::harness::port::free_ports;
use crate::harness::proxy::Proxy;
use crate::harness::sentinel::Watched;
use crate::harness::server::{Server, command, eventually};
use crate::harness::sql::{Database, Kind};
use crate::harness::world::ManualClock;

/// Options of a Redis that is set up right, as the pages advise. All versions know these names.
const RIGHT: [&str; 4] = ["--appendonly", "yes", "--hash-max-ziplist-value", "8192"];

/// The findings of a run: by check, the level, what was found and the remedy.
#[derive(Debug)]
struct Findings {
    code: Option<i32>,
    all: BTreeMap<String, (String, String, String)>,
}

impl Findings {
    /// Runs `fanfold doctor` with these options.
    fn with(options: &[&str]) -> Self {
        Self::of(&mut command(&[&["doctor", "--json"], options].concat()))
    }

    /// Runs this command, which is `fanfold doctor --json`.
    fn of(command: &mut Command) -> Self {
        let output = command.output().unwrap();
        let json: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
        let text = |check: &Value, field: &str| check[field].as_str().unwrap_or_default().to_owned();
        let all = json["checks"].as_array().unwrap().iter().map(|check| {
            let finding = (text(check, "level"), text(check, "found"), text(check, "remedy"));
            (text(check, "check"), finding)
        });
        Self { code: output.status.code(), all: all.collect() }
    }

    /// Returns the checks that are not ok, each with its level.
    fn wrong(&self) -> Vec<(&str, &str)> {
        let all = self.all.iter().map(|(check, (level, ..))| (check.as_str(), level.as_str()));
        all.filter(|(_, level)| *level != "ok").collect()
    }

    fn remedy(&self, check: &str) -> &str {
        &self.all[check].2
    }
}

/// A data directory, and the options that all runs of a test have in common.
struct SetUp {
    directory: TempDir,
    url: String,
}

/// Creates a directory that only its owner can enter.
fn private_directory() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), Permissions::from_mode(0o700)).unwrap();
    directory
}

impl SetUp {
    fn new(url: String) -> Self {
        Self { directory: private_directory(), url }
    }

    fn doctor(&self, options: &[&str]) -> Findings {
        Findings::with(&[&self.options()[..], options].concat())
    }

    fn options(&self) -> [&str; 6] {
        let directory = self.directory.path().to_str().unwrap();
        ["--http-listen", "127.0.0.1:0", "--redis-url", &self.url, "--data-dir", directory]
    }

    /// Asserts that one check finds something, and that only a fault is a failure.
    fn assert_wrong(&self, options: &[&str], check: &str, level: &str) {
        let findings = self.doctor(options);
        assert_eq!(findings.wrong(), [(check, level)], "{findings:?}");
        assert_eq!(findings.code, Some(i32::from(level == "fault")), "{findings:?}");
        assert_eq!(findings.remedy(check).is_empty(), level == "unknown", "{findings:?}");
    }
}

fn set(redis: &Instance, name: &str, value: &str) {
    redis.raw::<String>(&["CONFIG", "SET", name, value]);
}

#[test]
fn a_right_set_up_has_no_findings() {
    let redis = Instance::start(&RIGHT);
    let set_up = SetUp::new(redis.url());
    let findings = set_up.doctor(&[]);
    assert_eq!((findings.wrong(), findings.code), (vec![], Some(0)));
    assert!(findings.all.len() >= 16, "{findings:?}");
    let output = command(&[&["doctor"], &set_up.options()[..]].concat()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && text.ends_with("\nall is well\n"), "{text}");
    assert_eq!(text.lines().count(), findings.all.len() + 1, "a line for each check");
    // Nothing was written.
    assert_eq!(redis.raw::<u64>(&["DBSIZE"]), 0);
    assert_eq!(fs::read_dir(set_up.directory.path()).unwrap().count(), 0);
}

#[test]
fn fanfolds_own_redis_and_a_running_server_have_no_findings() {
    let directory = private_directory();
    let data = ["--data-dir", directory.path().to_str().unwrap()];
    let findings = Findings::with(&[&data[..], &["--http-listen", "127.0.0.1:0"]].concat());
    assert_eq!((findings.wrong(), findings.code), (vec![], Some(0)));
    let server = Server::on(&directory);
    server.register("ada");
    let addresses = ["--http-listen", &server.address, "--http-admin-listen", &server.admin];
    let findings = Findings::with(&[&data[..], &addresses].concat());
    assert_eq!((findings.wrong(), findings.code), (vec![], Some(0)));
    assert!(findings.all["listener"].1.contains("a server runs on"), "{findings:?}");
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn each_wrong_setting_of_redis_is_named() {
    let redis = Instance::start(&RIGHT);
    let set_up = SetUp::new(redis.url());
    let policies = ["volatile-lru", "allkeys-lru"];
    for (name, wrong, right, check, level) in [
        ("maxmemory-policy", policies[0], "noeviction", "eviction", "fault"),
        ("maxmemory-policy", policies[1], "noeviction", "eviction", "fault"),
        ("appendonly", "no", "yes", "append-only file", "fault"),
        ("appendfsync", "no", "everysec", "fsync", "warning"),
        ("hash-max-ziplist-value", "64", "8192", "hash encoding", "warning"),
        ("zset-max-ziplist-entries", "64", "128", "list encoding", "warning"),
        ("zset-max-ziplist-entries", "4096", "512", "list encoding", "warning"),
        ("min-replicas-to-write", "1", "0", "min-replicas", "fault"),
    ] {
        set(&redis, name, wrong);
        set_up.assert_wrong(&[], check, level);
        set(&redis, name, right);
        assert_eq!(set_up.doctor(&[]).wrong(), [], "{name}");
    }
    set(&redis, "maxmemory-policy", policies[1]);
    set_up.assert_wrong(&["--redis-allow-eviction"], "eviction", "warning");
    let remedy = set_up.doctor(&[]).remedy("eviction").to_owned();
    assert!(remedy.starts_with("redis-cli CONFIG SET maxmemory-policy noeviction"), "{remedy}");
    set(&redis, "maxmemory-policy", "noeviction");
    for (name, value) in [("appendonly", "no"), ("save", "3600 1")] {
        set(&redis, name, value);
    }
    set_up.assert_wrong(&[], "append-only file", "warning");
}

#[test]
fn full_memory_and_a_failing_disk_are_named() {
    let redis = Instance::start(&RIGHT);
    let set_up = SetUp::new(redis.url());
    // Large enough that connections make no difference.
    redis.raw::<u64>(&["SETRANGE", "large", "50000000", "x"]);
    let memory: redis::InfoDict = redis.raw(&["INFO", "memory"]);
    let used: u64 = memory.get("used_memory").unwrap();
    for (percent, level) in [(95, "fault"), (80, "warning")] {
        set(&redis, "maxmemory", &(used * 100 / percent).to_string());
        set_up.assert_wrong(&[], "memory", level);
    }
    set(&redis, "maxmemory", "0");
    assert_eq!(set_up.doctor(&[]).wrong(), []);

    // A snapshot cannot replace a directory.
    fs::create_dir(Path::new(redis.directory()).join("dump.rdb")).unwrap();
    redis.raw::<String>(&["BGSAVE"]);
    assert!(eventually(|| redis
        .raw::<String>(&["INFO", "persistence"])
        .contains("rdb_last_bgsave_status:err")));
    set_up.assert_wrong(&[], "disk", "fault");
}

#[test]
fn a_replica_and_a_store_of_a_later_version_are_named() {
    let redis = Instance::start(&RIGHT);
    let set_up = SetUp::new(redis.url());
    redis.raw::<u64>(&["HSET", "ff:{g}:layout", "name_shards", "16", "features", "exclusions teleportation"]);
    set_up.assert_wrong(&[], "features", "fault");
    assert_eq!(set_up.doctor(&["--redis-prefix", "other:"]).wrong(), []);
    redis.raw::<u64>(&["HSET", "ff:{g}:layout", "features", "exclusions boundaries"]);
    assert_eq!(set_up.doctor(&[]).wrong(), []);
    redis.raw::<String>(&["REPLICAOF", "127.0.0.1", "1"]);
    set_up.assert_wrong(&[], "role", "fault");
}

#[test]
fn a_redis_that_is_too_old_is_named() {
    let (port, _redis) = Instance::start_on_port(&RIGHT);
    let proxy = Proxy::before(port);
    let set_up = SetUp::new(format!("redis://127.0.0.1:{}", proxy.port));
    assert_eq!(set_up.doctor(&[]).wrong(), []);
    proxy.announce_old_version();
    set_up.assert_wrong(&[], "version", "fault");
    let found = &set_up.doctor(&[]).all["version"].1;
    assert!(found.starts_with("Redis 5.") && found.ends_with("6.2 or newer is required"), "{found}");
}

#[test]
fn a_user_who_lacks_access_is_named_and_hidden_settings_are_unknown() {
    let redis = Instance::start(&RIGHT);
    let with = |rules: &[&str]| {
        // Redis 6.2 gives new users access to all channels.
        let user = ["ACL", "SETUSER", "fan", "reset", "on", ">fold", "+@all", "resetchannels"];
        redis.raw::<String>(&[&user[..], rules].concat());
        SetUp::new(format!("{}?user=fan&pass=fold", redis.url()))
    };
    assert_eq!(with(&["~ff:*", "&ff:*"]).doctor(&[]).wrong(), []);
    with(&["~ff:*", "&other:*"]).assert_wrong(&[], "acl channels", "fault");
    with(&["~other:*", "&ff:*"]).assert_wrong(&[], "acl keys", "fault");
    let hidden = with(&["~ff:*", "&ff:*", "-config"]).doctor(&[]);
    let unknown = ["fsync", "hash encoding", "list encoding", "min-replicas"].map(|check| (check, "unknown"));
    assert_eq!((hidden.wrong(), hidden.code), (unknown.to_vec(), Some(0)));
    assert!(hidden.all["fsync"].1.contains("does not let the user read appendfsync"), "{hidden:?}");
}

#[test]
fn a_redis_that_cannot_be_reached_is_named() {
    let mut redis = Instance::start(&RIGHT);
    let set_up = SetUp::new(redis.url());
    redis.kill();
    set_up.assert_wrong(&[], "redis", "fault");
    SetUp::new("http://x".to_owned()).assert_wrong(&[], "redis", "fault");
}

#[test]
fn a_redis_that_refuses_further_clients_is_named() {
    let redis = Instance::start(&RIGHT);
    // This client is the only one.
    set(&redis, "maxclients", "1");
    let set_up = SetUp::new(redis.url());
    set_up.assert_wrong(&[], "redis", "fault");
    let found = &set_up.doctor(&[]).all["redis"].1;
    let cause = "with user and password: Redis refused the connection: ERR max number of clients reached";
    assert!(found.ends_with(cause), "{found}");
}

/// The options of a deployment's Redis.
#[derive(Parser)]
struct Options {
    #[command(flatten)]
    data: DataConfig,
}

#[tokio::test]
async fn clocks_that_are_apart_are_named() {
    let redis = Instance::start(&RIGHT);
    let options = Options::parse_from(["doctor", "--redis-url", &redis.url()]);
    // This clock stands at the beginning of a year.
    let findings = examine_redis(&options.data.redis, &*ManualClock::new()).await;
    let wrong = findings.iter().filter(|finding| finding.level > Level::Ok);
    let wrong: Vec<_> = wrong.map(|finding| (finding.check, finding.level)).collect();
    assert_eq!(wrong, [("clocks", Level::Warning)]);
}

#[test]
fn ports_in_use_and_a_wrong_data_directory_are_named() {
    let redis = Instance::start(&RIGHT);
    let set_up = SetUp::new(redis.url());
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = other.local_addr().unwrap().to_string();
    let [free] = free_ports().map(|port| format!("127.0.0.1:{port}"));
    let doctor = |listen: &str, admin: &str, directory: &Path| {
        let directory = directory.to_str().unwrap();
        let addresses = ["--http-listen", listen, "--http-admin-listen", admin, "--data-dir", directory];
        Findings::with(&[&addresses[..], &["--redis-url", &set_up.url]].concat())
    };
    let directory = set_up.directory.path();
    for (listen, admin, expected) in [
        (&taken, "off", vec![("listener", "fault")]),
        (&free, &*taken, vec![("admin listener", "fault")]),
        (&free, "127.0.0.1:0", vec![]),
    ] {
        let findings = doctor(listen, admin, directory);
        assert_eq!(findings.wrong(), expected, "{findings:?}");
    }
    let remedy = doctor(&taken, "off", directory).remedy("listener").to_owned();
    assert!(remedy.contains("choose another address with --http-listen"), "{remedy}");
    drop(other);

    let inside = directory.join("a/b");
    assert_eq!(doctor(&free, "off", &inside).wrong(), [], "it can be created");
    fs::set_permissions(directory, Permissions::from_mode(0o755)).unwrap();
    assert_eq!(doctor(&free, "off", directory).wrong(), [("data directory", "warning")]);
    let file = directory.join("file");
    fs::write(&file, "").unwrap();
    for path in [file.clone(), file.join("below")] {
        let findings = doctor(&free, "off", &path);
        assert!(findings.wrong().contains(&("data directory", "fault")), "{findings:?}");
    }
}

#[test]
fn a_data_directory_that_cannot_be_written_is_named() {
    let redis = Instance::start(&RIGHT);
    let set_up = SetUp::new(redis.url());
    let directory = set_up.directory.path().to_str().unwrap();
    // Also the superuser, as whom tests may run, cannot write to a file system that is mounted read-only.
    let script = "mount --bind \"$1\" \"$1\"; mount -o remount,bind,ro \"$1\"; shift; exec \"$@\"";
    let program = env!("CARGO_BIN_EXE_fanfold");
    for path in [directory, &format!("{directory}/below")] {
        let mut read_only = Command::new("unshare");
        read_only.args(["--mount", "--map-root-user", "sh", "-ec", script, "sh", directory, program]);
        read_only.args(["doctor", "--json", "--http-listen", "127.0.0.1:0", "--redis-url", &set_up.url]);
        let findings = Findings::of(read_only.args(["--data-dir", path]));
        assert!(findings.wrong().contains(&("data directory", "fault")), "{path}: {findings:?}");
        // What would be there is not examined, and nothing else is blamed.
        assert!(findings.wrong().contains(&("archive", "unknown")), "{path}: {findings:?}");
    }
}

#[tokio::test]
async fn an_archive_that_is_away_outdated_or_newer_is_named() {
    let redis = Instance::start(&RIGHT);
    let set_up = SetUp::new(redis.url());
    for kind in [Kind::Sqlite, Kind::Postgres, Kind::Mariadb] {
        let database = Database::new(kind).await;
        let url = ["--archive-url", &database.url];
        assert_eq!(set_up.doctor(&url).wrong(), [], "there are no tables yet");
        database.archive().identity("one").await.unwrap();
        assert_eq!(set_up.doctor(&url).wrong(), []);
        let latest = fanfold::archive::latest_schema();
        database.execute(&format!("DELETE FROM fanfold_migrations WHERE version = {latest}")).await;
        set_up.assert_wrong(&url, "archive schema", "warning");
        database.execute("UPDATE fanfold_migrations SET version = 99 WHERE version = 2").await;
        set_up.assert_wrong(&url, "archive schema", "fault");
    }
    let [port] = free_ports();
    for scheme in ["postgres", "mysql"] {
        let away = format!("{scheme}://user:topsecret@127.0.0.1:{port}/fanfold");
        set_up.assert_wrong(&["--archive-url", &away], "archive", "fault");
        assert!(!format!("{:?}", set_up.doctor(&["--archive-url", &away])).contains("topsecret"));
    }
    set_up.assert_wrong(&["--archive-url", "oracle://x"], "archive", "fault");
}

#[test]
fn a_watched_master_that_accepts_writes_without_a_replica_is_named() {
    let watched = Watched::start();
    for server in &watched.servers {
        for (name, value) in
            [("appendonly", "yes"), ("hash-max-ziplist-value", "8192"), ("min-replicas-to-write", "1")]
        {
            set(server, name, value);
        }
    }
    let set_up = SetUp::new(watched.url());
    assert!(eventually(|| set_up.doctor(&[]).wrong().is_empty()), "{:?}", set_up.doctor(&[]));
    set(&watched.servers[0], "min-replicas-to-write", "0");
    set_up.assert_wrong(&[], "min-replicas", "warning");
}

#[test]
fn each_wrong_set_up_of_a_cluster_is_named() {
    let options = [&RIGHT[..], &["--cluster-require-full-coverage", "no"]].concat();
    let cluster = Cluster::start_with(3, 1, &options);
    for node in &cluster.nodes {
        set(&node.redis, "cluster-node-timeout", "15000");
    }
    let set_up = SetUp::new(cluster.url());
    assert!(eventually(|| set_up.doctor(&[]).wrong().is_empty()), "{:?}", set_up.doctor(&[]));
    let [first, .., last] = [0, 1, 2].map(|master| &cluster.nodes[master].redis);
    for (name, wrong, right, check) in [
        ("cluster-require-full-coverage", "yes", "no", "full coverage"),
        ("cluster-node-timeout", "500", "15000", "node timeout"),
        ("cluster-node-timeout", "60000", "15000", "node timeout"),
        ("hash-max-ziplist-value", "64", "8192", "hash encoding"),
    ] {
        set(last, name, wrong);
        set_up.assert_wrong(&[], check, "warning");
        let findings = set_up.doctor(&[]);
        let found = &findings.all[check].1;
        let address = format!("(1 of 3 masters: 127.0.0.1:{})", cluster.nodes[2].port);
        assert!(found.ends_with(&address), "{found}");
        assert!(findings.remedy(check).starts_with("redis-cli --cluster call 127.0.0.1:"), "{findings:?}");
        set(last, name, right);
    }
    // The last master loses half of its slots, and the first takes them.
    let slots: Vec<String> = (13_000..16_384).map(|slot| slot.to_string()).collect();
    let slots: Vec<&str> = slots.iter().map(String::as_str).collect();
    last.raw::<()>(&[&["CLUSTER", "DELSLOTS"], &slots[..]].concat());
    for node in &cluster.nodes {
        // Another node may have learned of it already.
        let _ = node.redis.try_raw::<()>(&[&["CLUSTER", "DELSLOTS"], &slots[..]].concat());
    }
    let finds = |check: &str, level: &str| set_up.doctor(&[]).wrong().contains(&(check, level));
    assert!(eventually(|| finds("coverage", "fault")), "{:?}", set_up.doctor(&[]));
    first.raw::<()>(&[&["CLUSTER", "ADDSLOTS"], &slots[..]].concat());
    let is_uneven = || set_up.doctor(&[]).wrong() == [("slots", "warning")];
    assert!(eventually(is_uneven), "{:?}", set_up.doctor(&[]));
}

#[test]
fn a_master_without_a_replica_and_one_that_is_down_are_named() {
    let options = [&RIGHT[..], &["--cluster-require-full-coverage", "no"]].concat();
    let mut cluster = Cluster::start_with(3, 0, &options);
    for node in &cluster.nodes {
        set(&node.redis, "cluster-node-timeout", "15000");
    }
    let set_up = SetUp::new(cluster.url());
    set_up.assert_wrong(&[], "replicas", "warning");
    cluster.nodes[2].redis.kill();
    let findings = set_up.doctor(&[]);
    assert!(findings.wrong().contains(&("redis", "fault")), "{findings:?}");
    let port = cluster.nodes[2].port;
    assert!(findings.all["redis"].1.contains(&format!("127.0.0.1:{port} does not respond")), "{findings:?}");
}
