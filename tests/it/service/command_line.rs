//! The program: its output, its exit code, and its effects.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::process::{Command, Output};

use crate::harness::instance::Instance;
use crate::harness::port::on_free_ports;
use crate::harness::server::eventually;
use crate::harness::world::Redis;

fn fanfold(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fanfold")).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn edge_list(text: &str) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file
}

#[test]
fn schema_prints_the_committed_schema() {
    let output = fanfold(&["schema"]);
    assert!(output.status.success());
    assert_eq!(text(&output.stdout), include_str!("../../../schema.graphql"));
}

#[test]
fn an_import_reports_its_changes_and_a_repeat_changes_nothing() {
    let redis = Redis::start();
    let file = edge_list("# a graph\n30\t1412\n1412\t30\n30\t3\n3\t3\n");
    let import = || {
        let output = fanfold(&["import", file.path().to_str().unwrap(), "--redis-url", &redis.url()]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let first = import();
    assert!(first.contains("users:   3, of which 3 are new"), "{first}");
    assert!(first.contains("follows: 3, of which 3 are new, 0 were there"), "{first}");
    assert!(first.contains("1 lines were skipped"), "{first}");
    let times: Vec<(String, String)> = redis.raw(&["ZRANGE", "ff:{u1}:following", "0", "-1", "WITHSCORES"]);
    assert!(
        times[0].1 < times[1].1 && times[0].0 == "2",
        "times increase in the order of the file: {times:?}"
    );
    let again = import();
    assert!(again.contains("users:   3, of which 0 are new"), "{again}");
    assert!(again.contains("follows: 3, of which 0 are new, 3 were there"), "{again}");
    let same: Vec<(String, String)> = redis.raw(&["ZRANGE", "ff:{u1}:following", "0", "-1", "WITHSCORES"]);
    assert_eq!(times, same);
    let check = fanfold(&["check", "--redis-url", &redis.url()]);
    assert!(check.status.success() && text(&check.stdout).contains("all is well"));
}

#[test]
fn a_file_with_a_bad_line_is_not_imported_at_all() {
    let redis = Redis::start();
    let file = edge_list("1\t2\n2\tx\n");
    let output = fanfold(&["import", file.path().to_str().unwrap(), "--redis-url", &redis.url()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stderr).contains(
            "line 2: expected two node numbers separated by white space or a comma, found \"2\\tx\""
        )
    );
    assert_eq!(redis.raw::<u64>(&["DBSIZE"]), 0);
}

#[test]
fn edge_lists_are_imported_as_they_are_published() {
    let redis = Redis::start();
    let import = |text: &str| {
        let file = edge_list(text);
        let output = fanfold(&["import", file.path().to_str().unwrap(), "--redis-url", &redis.url()]);
        assert!(output.status.success(), "{}", crate::service::command_line::text(&output.stderr));
        crate::service::command_line::text(&output.stdout)
    };
    // SNAP's ego-Facebook, CollegeMsg and MUSAE data sets have these forms.
    let spaces = import("0 1\n0 2\n1 2\n");
    assert!(spaces.contains("follows: 3, of which 3 are new"), "{spaces}");
    assert!(!spaces.contains("columns"), "{spaces}");
    let times = import("1 2 1082040961\n3 4 1082155839\n5 2 1082414391\n");
    assert!(times.contains("follows: 3, of which 2 are new, 1 were there"), "{times}");
    assert!(times.ends_with("\n3 lines had further columns, which were ignored\n"), "{times}");
    let commas = import("# id_1,id_2\n0,1\n2,0\n");
    assert!(commas.contains("follows: 2, of which 1 are new, 1 were there"), "{commas}");
}

#[test]
fn a_demo_world_is_created_once() {
    let redis = Redis::start();
    let demo = || {
        let output = fanfold(&["demo", "--users", "60", "--redis-url", &redis.url()]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let first = demo();
    assert!(
        first.contains("users:   60, of which 60 are new") && first.contains("\nblocks:  1\n"),
        "{first}"
    );
    let again = demo();
    assert!(again.contains("users:   60, of which 0 are new"), "{again}");
    assert!(again.contains("posts:   480, of which 0 are new"), "{again}");
    let check = fanfold(&["check", "--redis-url", &redis.url()]);
    assert!(text(&check.stdout).contains("all is well"), "{}", text(&check.stdout));
}

#[test]
fn check_exits_with_one_on_faults_and_repairs_them_on_request() {
    let redis = Redis::start();
    let url = redis.url();
    let edges = edge_list("1\t2\n");
    // Few shards of names, each of which a check reads.
    let few = ["--redis-expected-users", "100"];
    fanfold(&[&["import", edges.path().to_str().unwrap(), "--redis-url", &url], &few[..]].concat());
    redis.raw::<i64>(&["DEL", "ff:{u2}:followers"]);
    let found = fanfold(&["check", "--redis-url", &url]);
    assert_eq!(found.status.code(), Some(1));
    assert!(text(&found.stdout).contains("1 faults were found; `fanfold check --repair` repairs them"));
    let repaired = fanfold(&["check", "--repair", "--redis-url", &url]);
    assert_eq!(repaired.status.code(), Some(0));
    assert!(text(&repaired.stdout).contains("all of these 1 faults were repaired"));
    assert_eq!(fanfold(&["check", "--redis-url", &url]).status.code(), Some(0));
}

#[test]
fn a_failure_reports_its_cause_and_place_and_a_remedy() {
    let missing = tempfile::tempdir().unwrap();
    let nowhere = format!("unix:{}", missing.path().join("none.sock").display());
    let cases: [(&[&str], i32, &str); 6] = [
        (
            &["serve", "--redis-url", &nowhere, "--http-listen", "127.0.0.1:0"],
            1,
            "cannot connect to Redis at",
        ),
        (&["import", "/no/such/file", "--redis-url", &nowhere], 1, "cannot read /no/such/file"),
        (&["check", "--redis-url", "http://x"], 1, "expected redis://, redis-cluster://"),
        (&["serve", "--relation-strategy", "x"], 2, "possible values: zinterstore, zmscore"),
        (&["demo", "--users", "1", "--redis-url", &nowhere], 2, "1 is not in 2..=1000000"),
        (
            &["demo", "--password", "short", "--redis-url", &nowhere],
            1,
            "--password: A password has at least 8 bytes.",
        ),
    ];
    for (arguments, code, message) in cases {
        let output = fanfold(arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}");
        let stderr = text(&output.stderr);
        assert!(stderr.contains(message), "{arguments:?}: {stderr}");
    }
}

#[test]
fn a_password_in_a_url_is_not_printed() {
    let urls = [
        "redis://ada:topsecret@127.0.0.1:1/",
        "reds://ada:topsecret@h",
        "redis://ada:topsecret@h:x/",
        "redis-cluster://ada:topsecret@127.0.0.1:1,127.0.0.1:x",
        "redis-cluster://ada:topsecret@127.0.0.1:1",
        "redis-sentinel://127.0.0.1:1/main?sentinel_password=topsecret",
    ];
    for url in urls {
        let output = fanfold(&["check", "--redis-url", url]);
        assert_eq!(output.status.code(), Some(1));
        assert!(!text(&output.stderr).contains("topsecret"), "{}", text(&output.stderr));
    }
}

#[test]
fn a_redis_that_may_evict_data_is_rejected_unless_allowed() {
    let redis = Redis::start_with(&["--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"]);
    let output = fanfold(&["check", "--redis-url", &redis.url()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("maxmemory-policy is allkeys-lru"));
    assert!(fanfold(&["check", "--redis-allow-eviction", "--redis-url", &redis.url()]).status.success());
}

#[test]
fn a_cluster_is_rejected_in_a_sentence_if_its_version_is_too_old() {
    let (port, redis) = Instance::start_on_port(&["--cluster-enabled", "yes", "--bind", "127.0.0.1"]);
    let slots: Vec<String> = (0..16_384).map(|slot| slot.to_string()).collect();
    let add = ["CLUSTER", "ADDSLOTS"].into_iter().chain(slots.iter().map(String::as_str));
    redis.raw::<()>(&add.collect::<Vec<_>>());
    let is_ok = || redis.raw::<String>(&["CLUSTER", "INFO"]).contains("cluster_state:ok");
    assert!(eventually(is_ok));
    let server: redis::InfoDict = redis.raw(&["INFO", "server"]);
    let version: String = server.get("redis_version").unwrap();
    let output = fanfold(&["check", "--redis-url", &format!("redis-cluster://127.0.0.1:{port}")]);
    if version.starts_with("6.") {
        let message = format!("Redis {version} is too old for a cluster: 7.0 or newer is required");
        assert!(text(&output.stderr).contains(&message), "{}", text(&output.stderr));
    }
    assert_eq!(output.status.success(), !version.starts_with("6."), "{}", text(&output.stderr));
}

#[test]
fn a_redis_behind_tls_is_used_if_its_certificate_is_trusted() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let signed = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    std::fs::write(path("cert.pem"), signed.cert.pem()).unwrap();
    std::fs::write(path("key.pem"), signed.signing_key.serialize_pem()).unwrap();
    let (cert, key) = (path("cert.pem"), path("key.pem"));
    let options = ["--tls-cert-file", &cert, "--tls-key-file", &key];
    let options = [&options[..], &["--tls-ca-cert-file", &cert, "--tls-auth-clients", "no"]].concat();
    let (port, _redis) = on_free_ports(|[port]| {
        let own = ["--tls-port", &port.to_string()];
        let options = [&own[..], &options].concat();
        Some((port, Instance::start_if_free(&options)?))
    });
    let check = |trusted: &str| {
        let url = format!("rediss://localhost:{port}/0");
        let mut command = Command::new(env!("CARGO_BIN_EXE_fanfold"));
        command.args(["check", "--redis-url", &url]).env("SSL_CERT_FILE", trusted).output().unwrap()
    };
    let trusted = check(&cert);
    assert!(trusted.status.success(), "{}", text(&trusted.stderr));
    std::fs::write(path("empty.pem"), "").unwrap();
    let untrusted = check(&path("empty.pem"));
    assert_eq!(untrusted.status.code(), Some(1));
    assert!(text(&untrusted.stderr).contains("cannot connect to Redis at"), "{}", text(&untrusted.stderr));
}

#[test]
fn an_acl_user_and_password_are_taken_from_the_url() {
    let redis = Redis::own();
    redis.raw::<String>(&["ACL", "SETUSER", "fan", "on", ">fold!", "~*", "&*", "+@all"]);
    redis.raw::<String>(&["ACL", "SETUSER", "default", "off"]);
    let with = |query: &str| fanfold(&["check", "--redis-url", &format!("{}{query}", redis.url())]);
    assert!(with("?user=fan&pass=fold%21").status.success());
    assert_eq!(with("").status.code(), Some(1));
    assert_eq!(with("?user=fan&pass=wrong").status.code(), Some(1));
}

/// Returns the options of `serve --help`, each with its default.
fn options_of_the_server() -> BTreeMap<String, Option<String>> {
    options_of(&["serve"])
}

/// Returns the options in the help of a command, each with its default.
fn options_of(command: &[&str]) -> BTreeMap<String, Option<String>> {
    let help = text(&fanfold(&[command, &["--help"]].concat()).stdout);
    let options = help.split("\n      --").skip(1).map(|option| {
        let words = option.split_whitespace().collect::<Vec<_>>().join(" ");
        let name = words.split([' ', '[']).next().unwrap().to_owned();
        let default = words.split_once("[default: ").and_then(|(_, rest)| rest.split_once(']'));
        (format!("--{name}"), default.map(|(default, _)| default.to_owned()))
    });
    options.collect()
}

/// Returns the options in the code spans of a text.
fn options_in(text: &str) -> impl Iterator<Item = &str> {
    let code = text.split('`').skip(1).step_by(2);
    code.filter(|code| code.starts_with("--")).map(|code| code.split([' ', '=']).next().unwrap())
}

#[test]
fn the_page_on_security_has_the_bounds_of_the_program() {
    let page = include_str!("../../../docs/security.md");
    let options = options_of_the_server();
    let unknown: Vec<&str> = options_in(page).filter(|name| !options.contains_key(*name)).collect();
    assert_eq!(unknown, Vec::<&str>::new(), "there is no such option");

    let mut bounds = BTreeSet::new();
    for row in page.lines().filter(|line| line.starts_with('|')) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        for name in options_in(cells[2]) {
            let plain = |default: &str| default.replace(['`', ','], "");
            assert_eq!(Some(plain(cells[3])), options[name].as_deref().map(plain), "the default of {name}");
            bounds.insert(name.to_owned());
        }
    }
    let is_bound =
        |name: &&String| name.contains("-per-") || name.starts_with("--graphql-") && name.ends_with("-limit");
    let missing: Vec<&String> =
        options.keys().filter(is_bound).filter(|name| !bounds.contains(*name)).collect();
    assert_eq!(missing, Vec::<&String>::new(), "these are in no table");
    assert!(bounds.len() > 10, "the tables were found");
}

#[test]
fn the_page_for_operators_has_all_options_with_their_defaults() {
    let page = include_str!("../../../docs/operating.md");
    let options = options_of_the_server();
    let mut listed = BTreeMap::new();
    for row in page.lines().filter(|line| line.starts_with("| `--")) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        for name in options_in(cells[1]) {
            listed.insert(name.to_owned(), cells[2].replace(['`', ','], ""));
        }
    }
    let plain = |default: Option<String>| default.unwrap_or_default().replace(',', "");
    let options: BTreeMap<String, String> =
        options.into_iter().map(|(name, default)| (name, plain(default))).collect();
    assert_eq!(listed, options);

    let commands: [&[&str]; 15] = [
        &["deliver"],
        &["archive", "run"],
        &["check"],
        &["memory"],
        &["demo"],
        &["healthcheck"],
        &["doctor"],
        &["invite", "create"],
        &["invite", "list"],
        &["user", "list"],
        &["user", "suspend"],
        &["user", "export"],
        &["post", "remove"],
        &["report", "list"],
        &["moderator", "log"],
    ];
    let others: Vec<String> = commands.iter().flat_map(|command| options_of(command).into_keys()).collect();
    let prose = [include_str!("../../../docs/clients.md"), page];
    for name in prose.iter().flat_map(|page| options_in(page)) {
        assert!(options.contains_key(name) || others.iter().any(|other| other == name), "{name}");
    }
}
