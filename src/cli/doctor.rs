//! `fanfold doctor`: checks the set-up of a deployment, and names the remedies.

use std::fs::{self, Metadata};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use rustix::fs::{Access, access};
use serde_json::{Value, json};

use crate::app::doctor::{Finding, Level, examine_archive, examine_redis};
use crate::archive::Archive;
use crate::cli::{Outcome, Signals, interrupted, say, stop};
use crate::config::{ArchiveConfig, DataConfig, ListenAddress, ListenConfig, RedisConfig};
use crate::http::{Listener, Probe, probe};
use crate::managed::Managed;
use crate::model::clock::SystemClock;

/// Timeout of the probe that recognizes a running server.
const PROBE: Duration = Duration::from_secs(2);

/// Checks the set-up of Redis, the archive and this machine, and names the remedies.
///
/// Prints a line for each check: its result (ok, unknown, warning or fault), what was found, and what to do. Takes the
/// options of a server, and may run alongside one. Changes nothing, except that it starts Fanfold's own Redis for the
/// time of the checks, if --redis-url is missing and no server runs. The exit code is 1 if there is a fault.
#[derive(Args, Debug)]
pub(super) struct Doctor {
    /// Print JSON.
    #[arg(long, env = "FANFOLD_DOCTOR_JSON")]
    json: bool,

    #[command(flatten)]
    addresses: ListenConfig,
    #[command(flatten)]
    data: DataConfig,
}

impl Doctor {
    pub(super) async fn run(self) -> Outcome {
        let json = self.json;
        let mut signals = Signals::listen();
        let findings = tokio::select! {
            findings = self.examine() => findings,
            () = signals.next() => return Ok(interrupted()),
        };
        say(&if json { print_json(&findings) } else { print_lines(&findings) })?;
        let is_faulty = findings.iter().any(|finding| finding.level == Level::Fault);
        Ok(if is_faulty { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }

    async fn examine(self) -> Vec<Finding> {
        let DataConfig { mut redis, archive, .. } = self.data;
        // An empty environment variable counts as unset.
        redis.redis_url = redis.redis_url.filter(|url| !url.expose().is_empty());
        // Before Redis, which may create the directory.
        let directory = directory(&redis, &archive);
        let is_usable = directory.level != Level::Fault;
        let mut findings = vec![directory];
        findings.extend(listeners(&self.addresses).await);
        findings.extend(examine_stores(redis, &archive, is_usable).await);
        findings
    }
}

/// Checks Redis and the archive. Without a usable data directory, leaves out what would be in it.
async fn examine_stores(
    mut redis: RedisConfig,
    archive: &ArchiveConfig,
    is_directory_usable: bool,
) -> Vec<Finding> {
    let unknown = |check| Finding::new(check, (Level::Unknown, "needs the data directory"), "");
    if redis.redis_url.is_none() && !is_directory_usable {
        let mut findings = vec![unknown("redis")];
        match archive.url() {
            Some(_) => findings.extend(examine_archive_at(archive, &redis).await),
            None => findings.push(unknown("archive")),
        }
        return findings;
    }
    let managed = match &redis.redis_url {
        Some(_) => Ok(None),
        None => Managed::join(&redis.data_dir).await.map(Some),
    };
    let mut findings = match managed {
        Ok(managed) => {
            if let Some(managed) = &managed {
                redis.redis_url = Some(managed.url().clone());
            }
            let findings = examine_redis(&redis, &SystemClock).await;
            stop(managed).await;
            findings
        }
        Err(error) => {
            let remedy = "install redis-server or valkey-server, or name a running server in --redis-url";
            vec![Finding::new("redis", (Level::Fault, error.to_string()), remedy)]
        }
    };
    if archive.url().is_none() && !is_directory_usable {
        findings.push(unknown("archive"));
    } else {
        findings.extend(examine_archive_at(archive, &redis).await);
    }
    findings
}

async fn examine_archive_at(archive: &ArchiveConfig, redis: &RedisConfig) -> Vec<Finding> {
    match Archive::new(archive, &redis.data_dir) {
        Ok(archive) => examine_archive(&archive).await.into_iter().collect(),
        Err(error) => {
            let found = (Level::Fault, error.to_string());
            vec![Finding::new("archive", found, "correct --archive-url")]
        }
    }
}

/// Checks that the data directory can be written, and that others cannot enter it.
fn directory(redis: &RedisConfig, archive: &ArchiveConfig) -> Finding {
    const CHECK: &str = "data directory";
    let path = redis.data_dir.as_path();
    let shown = path.display();
    if redis.redis_url.is_some() && archive.url().is_some() {
        return Finding::new(CHECK, (Level::Ok, "not used"), "");
    }
    match fs::metadata(path) {
        Ok(found) => of_directory(CHECK, path, &found),
        Err(_) if is_writable(existing_parent(path)) => {
            Finding::new(CHECK, (Level::Ok, format!("{shown} is created on first use")), "")
        }
        Err(error) => {
            let remedy = "create it for this user, or name another directory in --data-dir";
            Finding::new(CHECK, (Level::Fault, format!("{shown} cannot be created: {error}")), remedy)
        }
    }
}

fn of_directory(check: &'static str, path: &Path, found: &Metadata) -> Finding {
    let shown = path.display();
    if !found.is_dir() {
        let verdict = (Level::Fault, format!("{shown} is not a directory"));
        Finding::new(check, verdict, "name another directory in --data-dir")
    } else if !is_writable(path) {
        let verdict = (Level::Fault, format!("this user cannot write to {shown}"));
        Finding::new(check, verdict, format!("chown -R <user> {shown}"))
    } else if found.permissions().mode() & 0o007 != 0 {
        let verdict = (Level::Warning, format!("others can enter {shown}"));
        Finding::new(check, verdict, format!("chmod 700 {shown}"))
    } else {
        Finding::new(check, (Level::Ok, shown.to_string()), "")
    }
}

fn is_writable(directory: &Path) -> bool {
    fs::metadata(directory).is_ok_and(|found| found.is_dir())
        && access(directory, Access::WRITE_OK | Access::EXEC_OK).is_ok()
}

/// Returns the nearest directory above a path that exists.
fn existing_parent(path: &Path) -> &Path {
    let parents = path
        .ancestors()
        .skip(1)
        .map(|parent| if parent.as_os_str().is_empty() { Path::new(".") } else { parent });
    parents.into_iter().find(|parent| parent.exists()).unwrap_or(Path::new("/"))
}

/// Checks that a server can listen on its addresses, unless it does already.
async fn listeners(addresses: &ListenConfig) -> Vec<Finding> {
    let admin = addresses.admin();
    let is_running = match &admin {
        Some(address) => matches!(tokio::time::timeout(PROBE, probe(address, Probe::Alive)).await, Ok(Ok(_))),
        None => false,
    };
    let mut findings = vec![listener("listener", &addresses.http_listen, "--http-listen", is_running).await];
    match admin {
        Some(address) => {
            findings.push(listener("admin listener", &address, "--http-admin-listen", is_running).await);
        }
        None => findings.push(Finding::new("admin listener", (Level::Ok, "off"), "")),
    }
    findings
}

async fn listener(check: &'static str, address: &ListenAddress, option: &str, is_running: bool) -> Finding {
    let verdict = match Listener::bind(address).await {
        Ok(_) => (Level::Ok, format!("{address} is free")),
        Err(_) if is_running => (Level::Ok, format!("a server runs on {address}")),
        Err(error) => (Level::Fault, format!("a server cannot listen on {address}: {error}")),
    };
    Finding::new(check, verdict, format!("stop the other process, or choose another address with {option}"))
}

fn print_json(findings: &[Finding]) -> String {
    let checks = findings.iter().map(|Finding { check, level, found, remedy }| {
        json!({ "check": check, "level": level.name(), "found": found, "remedy": remedy })
    });
    let checks: Vec<Value> = checks.collect();
    let count = |level| findings.iter().filter(|finding| finding.level == level).count();
    let json = json!({ "checks": checks, "faults": count(Level::Fault), "warnings": count(Level::Warning) });
    format!("{json:#}")
}

/// Formats a line for each check, and the verdict.
fn print_lines(findings: &[Finding]) -> String {
    let mut lines: Vec<String> = findings.iter().map(print_line).collect();
    let count = |level| findings.iter().filter(|finding| finding.level == level).count();
    lines.push(match (count(Level::Fault), count(Level::Warning)) {
        (0, 0) => "all is well".to_owned(),
        (faults, warnings) => format!("faults: {faults}, warnings: {warnings}"),
    });
    lines.join("\n")
}

fn print_line(Finding { check, level, found, remedy }: &Finding) -> String {
    let line = format!("{:<8} {check:<17} {found}", level.name());
    match remedy {
        Some(remedy) => format!("{line}; remedy: {remedy}"),
        None => line,
    }
}
