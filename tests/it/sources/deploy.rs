//! The samples of `deploy/` agree with the options of the program, with their defaults, and with each other.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use clap::Parser as _;

use crate::harness::document::{OPERATING, texts};
use crate::harness::instance::Instance;
use crate::harness::world::Options;

const DOCKERFILE: &str = include_str!("../../../Dockerfile");
const IMAGE_ROOT: &str = include_str!("../../../deploy/image-root");
const COMPOSE: &str = include_str!("../../../deploy/compose.yaml");
const ENVIRONMENT: &str = include_str!("../../../deploy/example.env");
const CONFIGURATION: &str = include_str!("../../../deploy/kubernetes/configuration.yaml");
const DEPLOYMENT: &str = include_str!("../../../deploy/kubernetes/deployment.yaml");
const KUSTOMIZATION: &str = include_str!("../../../deploy/kubernetes/kustomization.yaml");
const SECRET: &str = include_str!("../../../deploy/kubernetes/example-secret.yaml");
const SERVICE: &str = include_str!("../../../deploy/fanfold.service");
const CADDY: &str = include_str!("../../../deploy/Caddyfile");
const NGINX: &str = include_str!("../../../deploy/nginx.conf");
const INGRESS: &str = include_str!("../../../deploy/kubernetes/ingress.yaml");
const DEPENDABOT: &str = include_str!("../../../.github/dependabot.yml");

/// Returns the text between the first occurrence of `before` and the next of `after`.
fn between<'a>(text: &'a str, before: &str, after: &str) -> &'a str {
    let rest = text.split_once(before).unwrap_or_else(|| panic!("no {before}")).1;
    rest.split_once(after).unwrap_or_else(|| panic!("no {after} after {before}")).0
}

/// Returns the number after the first occurrence of `before`.
fn number(text: &str, before: &str) -> u64 {
    let rest = text.split_once(before).unwrap_or_else(|| panic!("no {before}")).1;
    let digits = rest.trim_start_matches(['"', ' ', '\n']).split(|c: char| !c.is_ascii_digit()).next();
    digits.unwrap().parse().unwrap_or_else(|_| panic!("no number after {before}"))
}

#[test]
fn every_variable_of_the_samples_is_that_of_an_option() {
    let help = Command::new(env!("CARGO_BIN_EXE_fanfold")).args(["serve", "--help"]).output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let samples = [DOCKERFILE, COMPOSE, CONFIGURATION, DEPLOYMENT, SECRET, SERVICE, CADDY, NGINX].concat();
    let named = |text: &str| -> BTreeSet<String> {
        let is_part = |c: char| c.is_ascii_uppercase() || c == '_';
        let rests = text.split("FANFOLD_").skip(1);
        rests.map(|rest| rest.chars().take_while(|c| is_part(*c)).collect()).collect()
    };
    let (variables, known) = (named(&samples), named(&help));
    assert!(variables.len() > 5, "{variables:?}");
    let unknown: Vec<_> = variables.difference(&known).collect();
    assert!(unknown.is_empty(), "no option has the variables FANFOLD_… {unknown:?}");
    let options = samples.split("--http-").skip(1);
    for option in
        options.map(|rest| rest.split(|c: char| !c.is_ascii_lowercase() && c != '-').next().unwrap())
    {
        assert!(help.contains(&format!("--http-{option} ")), "there is no option --http-{option}");
    }
}

#[test]
fn whatever_stops_a_server_waits_until_it_has_finished_its_requests() {
    let http = Options::parse_from(["serve"]).http;
    let timeout = u64::from(http.http_shutdown_timeout);
    let compose = between(COMPOSE, "\n  fanfold:\n", "\n  caddy:\n");
    assert!(number(compose, "stop_grace_period:") > timeout);
    assert!(number(SERVICE, "TimeoutStopSec=") > timeout);
    let timeout = number(CONFIGURATION, "FANFOLD_HTTP_SHUTDOWN_TIMEOUT:");
    let pause = number(DEPLOYMENT, "seconds:");
    assert!(number(DEPLOYMENT, "terminationGracePeriodSeconds:") > pause + timeout);
}

#[test]
fn proxies_close_idle_connections_first_and_accept_the_same_bodies() {
    let http = Options::parse_from(["serve"]).http;
    let idle = u64::from(http.http_idle_timeout);
    assert!(number(CADDY, "\t\t\tkeepalive ") < idle);
    assert!(number(between(NGINX, "upstream fanfold {", "}"), "keepalive_timeout ") < idle);
    assert_eq!(number(NGINX, "client_max_body_size ") * 1_024, http.http_body_limit);
}

#[test]
fn images_have_versions_and_a_server_has_the_same_user_everywhere() {
    let version = env!("CARGO_PKG_VERSION");
    assert!(COMPOSE.contains(&format!("image: fanfold:{version}\n")));
    assert!(KUSTOMIZATION.contains(&format!("newTag: {version}\n")));
    let bases = DOCKERFILE.lines().filter_map(|line| line.strip_prefix("FROM "));
    let images = COMPOSE.lines().filter_map(|line| line.trim().strip_prefix("image: "));
    for image in bases.chain(images).filter(|image| *image != "scratch") {
        let tag = image.split_once(':').map_or("", |(_, rest)| rest.split(' ').next().unwrap());
        assert!(tag.split('.').count() >= 2 && !tag.contains("latest"), "{image} has a version");
    }
    let user = number(DOCKERFILE, "\nUSER ");
    assert!(IMAGE_ROOT.contains(&format!("fanfold:x:{user}:{user}:")));
    assert!(COMPOSE.contains(&format!("uid={user},gid={user}")));
    assert_eq!([number(DEPLOYMENT, "runAsUser:"), number(DEPLOYMENT, "fsGroup:")], [user, user]);
    let minimum = number(include_str!("../../../Cargo.toml"), "rust-version = \"1.");
    assert!(number(DOCKERFILE, "\nFROM rust:1.") >= minimum);
}

/// Returns the directories of the project that have one of these files, such as `/deploy`.
fn directories_with(names: &[&str]) -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut found, mut open) = (BTreeSet::new(), vec![root.to_owned()]);
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory).unwrap().map(Result::unwrap) {
            let name = entry.file_name().into_string().unwrap();
            if names.contains(&&*name) {
                found.insert(format!("/{}", directory.strip_prefix(root).unwrap().display()));
            } else if entry.file_type().unwrap().is_dir()
                && !name.starts_with('.')
                && !["target", "node_modules"].contains(&&*name)
            {
                open.push(entry.path());
            }
        }
    }
    found
}

#[test]
fn newer_versions_are_proposed_of_everything_that_has_an_exact_one() {
    for (ecosystem, files) in [
        ("docker-compose", &["compose.yaml"][..]),
        ("docker", &["Dockerfile"]),
        ("cargo", &["Cargo.toml"]),
        ("npm", &["package.json"]),
        ("pip", &["requirements.txt"]),
    ] {
        let all = format!("{DEPENDABOT}  - package-ecosystem:");
        let update = between(&all, &format!("package-ecosystem: {ecosystem}\n"), "  - package-ecosystem:");
        let places = update.lines().find_map(|line| line.trim().strip_prefix("director")).unwrap();
        let places = places.split_once(": ").unwrap().1.trim_matches(['[', ']']);
        let places: BTreeSet<String> = places.split(", ").map(str::to_owned).collect();
        assert_eq!(places, directories_with(files), "{ecosystem}");
    }
    assert!(DEPENDABOT.contains("package-ecosystem: github-actions\n    directory: /\n"));
}

#[test]
fn paths_of_downloads_are_kept_out_of_the_logs_of_proxies() {
    let location = between(NGINX, "location /export/ {", "}");
    for line in ["access_log off;", "error_log /dev/null;", "proxy_pass http://fanfold;"] {
        assert!(location.contains(line), "{line}");
    }
    assert!(NGINX.split("listen 80;").nth(1).unwrap().contains("access_log off;"), "it redirects downloads");
    assert!(CADDY.contains("\n\tlog_skip /export/*\n"));
    assert!(CADDY.contains("request>uri regexp ^/export/[^?]* /export/***\n"));
    let (pages, downloads) = INGRESS.split_once("\n---\n").unwrap();
    assert!(downloads.contains("nginx.ingress.kubernetes.io/enable-access-log: \"false\""));
    assert!(downloads.contains("path: /export/\n") && !pages.contains("path: /export/\n"));
}

#[test]
fn proxies_do_not_pass_on_the_traces_of_clients() {
    for header in ["traceparent", "tracestate"] {
        assert!(NGINX.contains(&format!("proxy_set_header {header} \"\";")));
        assert!(CADDY.contains(&format!("header_up -{header}\n")));
        assert!(INGRESS.contains(header));
    }
}

#[test]
fn the_doctor_approves_the_settings_of_redis() {
    let command =
        between(between(COMPOSE, "\n  redis:\n", "\n  postgres:\n"), "- redis-server\n", "    volumes:\n");
    let settings = command.lines().filter_map(|line| line.trim().strip_prefix("- "));
    let settings: Vec<&str> = settings.map(|setting| setting.trim_matches('"')).collect();
    assert!(settings.len() > 5, "{settings:?}");
    let redis = Instance::start(&settings);
    let archive = Path::new(redis.directory()).join("archive.db");
    let archive = format!("sqlite:{}", archive.display());
    let doctor = Command::new(env!("CARGO_BIN_EXE_fanfold"))
        .args(["doctor", "--redis-url", &redis.url(), "--archive-url", &archive])
        .args(["--http-listen", "127.0.0.1:0", "--http-admin-listen", "off", "--data-dir", redis.directory()])
        .output()
        .unwrap();
    let report = String::from_utf8(doctor.stdout).unwrap();
    for check in ["eviction", "memory", "append-only file", "fsync", "hash encoding", "list encoding"] {
        let line = report.lines().find(|line| line.get(9..).is_some_and(|rest| rest.starts_with(check)));
        assert!(line.is_some_and(|line| line.starts_with("ok ")), "{check}: {report}");
    }
}

#[test]
fn the_environment_that_the_page_copies_has_the_variables_of_the_containers() {
    let commands = texts(OPERATING, "sh").concat();
    let copy = commands.lines().find(|line| line.starts_with("cp example.env ")).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(directory.path().join(name), text).unwrap();
    write("example.env", ENVIRONMENT);
    write("compose.yaml", COMPOSE);
    let shell = |line: &str| Command::new("sh").args(["-c", line]).current_dir(&directory).output().unwrap();
    assert!(shell(copy).status.success(), "{copy}");

    let file = directory.path().join(".env");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let copied = std::fs::read_to_string(&file).unwrap();
    let given: BTreeSet<&str> = copied
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split('=').next().unwrap())
        .collect();
    let required: BTreeSet<&str> =
        COMPOSE.split("${").skip(1).map(|rest| rest.split_once(":?set it in .env}").unwrap().0).collect();
    assert_eq!(given, required);

    // Docker Compose reads both files without an engine.
    if !shell("docker compose version").status.success() {
        // Unlike `println!`, it is not captured.
        writeln!(std::io::stderr(), "not run: `docker compose config`, which is not installed").unwrap();
        return;
    }
    let config = shell("docker compose config --quiet");
    assert!(
        String::from_utf8_lossy(&config.stderr).contains("set it in .env"),
        "no one starts without a password"
    );
    write(".env", &copied.replace("POSTGRES_PASSWORD=", "POSTGRES_PASSWORD=password"));
    let config = shell("docker compose config --quiet");
    assert!(
        config.status.success() && config.stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&config.stderr)
    );
}
