//! What each test reaches: the names of the batches that it sends, the scripts that it runs, and the statements that an
//! SQL server has executed for it. `make deployments` records it to choose the tests that run on several deployments.
//!
//! Recorded only if `FANFOLD_TEST_REACH` names a file, to which each line is added when it is first reached.

use std::collections::{BTreeSet, HashSet};
use std::fmt;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use fanfold::app::App;
use fanfold::archive::Archive;
use fanfold::gate::{Gate, Moment};
use futures::future::BoxFuture;

use crate::harness::case::test;
use crate::harness::instance::Instance;
use crate::harness::server::Server;
use crate::harness::source::texts_after;
use crate::harness::sql::Kind;

/// What something was reached on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum On {
    Single,
    Cluster,
    Archive(Kind),
}

impl fmt::Display for On {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Single => "single",
            Self::Cluster => "cluster",
            Self::Archive(Kind::Sqlite) => "sqlite",
            Self::Archive(Kind::Mariadb) => "mariadb",
            Self::Archive(Kind::Postgres) => "postgres",
        })
    }
}

struct Record {
    file: File,
    lines: HashSet<String>,
}

static RECORD: LazyLock<Option<Mutex<Record>>> = LazyLock::new(|| {
    let path = std::env::var("FANFOLD_TEST_REACH").ok()?;
    let file = File::options().create(true).append(true).open(path).expect("FANFOLD_TEST_REACH names a file");
    Some(Mutex::new(Record { file, lines: HashSet::new() }))
});

/// Returns true if this run is recorded.
pub(crate) fn is_recorded() -> bool {
    RECORD.is_some()
}

/// Records that a test reaches something. The parts of a line are separated by tabs.
fn note(test: &str, on: On, name: &str) {
    let Some(record) = &*RECORD else { return };
    let mut record = record.lock().unwrap();
    let line = format!("{test}\t{on}\t{name}\n");
    if !record.lines.contains(&line) {
        record.file.write_all(line.as_bytes()).unwrap();
        record.lines.insert(line);
    }
}

/// Records the time that a test took on a deployment.
pub(crate) fn note_time(test: &str, on: On, took: Duration) {
    note(test, on, &format!("time: {} ms", took.as_millis()));
}

/// The names of the queries of the archive.
pub(crate) static QUERIES: LazyLock<BTreeSet<String>> =
    LazyLock::new(|| texts_after("src/archive", &[".ask("]));

/// A gate that records the names of batches and lets them pass.
#[derive(Clone)]
pub(crate) struct Recorder {
    test: String,
    store: On,
    archive: On,
}

impl Recorder {
    /// Creates a recorder of what the current test reaches through an application.
    pub(crate) fn of(app: &App) -> Self {
        let archive = match app.archive_address().split([',', ' ']).next() {
            Some("MySQL") => Kind::Mariadb,
            Some("PostgreSQL") => Kind::Postgres,
            _ => Kind::Sqlite,
        };
        let store = if app.store().keys().is_sharded() { On::Cluster } else { On::Single };
        Self { test: test(), store, archive: On::Archive(archive) }
    }

    /// Records a batch, or a query of the archive.
    pub(crate) fn note(&self, batch: &str) {
        let on = if QUERIES.contains(batch) { self.archive } else { self.store };
        note(&self.test, on, batch);
    }
}

impl Gate for Recorder {
    fn pass(&self, _: Moment, batch: &'static str) -> BoxFuture<'_, ()> {
        self.note(batch);
        Box::pin(std::future::ready(()))
    }
}

/// Returns the archive in a database of this kind, with a gate if this run is recorded.
pub(crate) fn recorded_archive(archive: Archive, kind: Kind) -> Archive {
    let recorder = || Recorder { test: test(), store: On::Single, archive: On::Archive(kind) };
    if is_recorded() { archive.with_gate(Arc::new(recorder())) } else { archive }
}

/// Returns the application, with a gate if this run is recorded.
pub(crate) fn recorded(app: App) -> App {
    if is_recorded() { app.with_gate(Arc::new(Recorder::of(&app))) } else { app }
}

/// Records the batches that a server process has sent, as its metrics report them.
pub(crate) fn note_server(server: &Server) {
    if !is_recorded() || server.admin.is_empty() {
        return;
    }
    let Some(metrics) = server.try_page("/metrics") else { return };
    let on = if metrics.contains("fanfold_redis_node_seconds") { On::Cluster } else { On::Single };
    for line in metrics.lines().filter_map(|line| line.strip_prefix("fanfold_redis_seconds_count{step=\"")) {
        note(&test(), on, line.split('"').next().unwrap());
    }
}

/// Records the scripts that servers have cached.
pub(crate) fn note_scripts(test: &str, on: On, servers: &[&Instance]) {
    if !is_recorded() {
        return;
    }
    for server in servers {
        let digests =
            SCRIPTS.iter().map(|script| if on == On::Cluster { &script.sharded } else { &script.single });
        let words: Vec<&str> = ["SCRIPT", "EXISTS"].into_iter().chain(digests.map(String::as_str)).collect();
        let Ok(cached) = server.try_raw::<Vec<bool>>(&words) else { continue };
        for (script, _) in SCRIPTS.iter().zip(cached).filter(|(_, is_cached)| *is_cached) {
            note(test, on, &script.name);
        }
    }
}

/// Records statements that an SQL server has executed, of which lists of any length count as one.
pub(crate) fn note_statements(test: &str, kind: Kind, statements: Vec<String>) {
    for statement in statements {
        let words: Vec<&str> = statement.split_whitespace().collect();
        let mut text = words.join(" ");
        text.retain(|letter| !letter.is_ascii_digit());
        for (list, short) in [("$, $", "$"), ("($), ($)", "($)"), ("?, ?", "?"), ("(?), (?)", "(?)")] {
            while text.contains(list) {
                text = text.replace(list, short);
            }
        }
        note(test, On::Archive(kind), &format!("statement: {text}"));
    }
}

/// A script, by its name in the table of scripts, with its digests.
struct Script {
    name: String,
    single: String,
    sharded: String,
}

static SCRIPTS: LazyLock<Vec<Script>> = LazyLock::new(|| {
    let store = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store");
    let read = |name: &str| std::fs::read_to_string(store.join(format!("lua/{name}.lua"))).unwrap();
    let digest = |source: String| redis::Script::new(&source).get_hash().to_owned();
    let source = |parts: &[&str], own: &str, is_sharded| {
        let mut files = Vec::new();
        for part in parts {
            include(part, is_sharded, &mut files);
        }
        files.iter().map(String::as_str).chain([own]).map(read).collect()
    };
    scripts()
        .map(|(name, parts, own)| {
            let [single, sharded] = [false, true].map(|is_sharded| digest(source(&parts, own, is_sharded)));
            Script { name, single, sharded }
        })
        .collect()
});

/// Returns the rows of one of the tables of `script.rs`.
fn rows(table: &str) -> impl Iterator<Item = &'static str> {
    let (_, rows) =
        include_str!("../../../src/store/script.rs").split_once(&format!("\n{table} {{\n")).unwrap();
    rows.split('}').next().unwrap().lines().filter_map(|line| line.trim().strip_suffix(';'))
}

/// Adds the file of a part after the files of the parts that it requires, unless it is there.
fn include(part: &str, is_sharded: bool, files: &mut Vec<String>) {
    let is_of_part = |row: &&str| row.split(' ').next() == Some(part);
    let row = rows("    parts!").find(is_of_part).unwrap();
    let (row, required) = row.split_once(" requires ").unwrap_or((row, ""));
    for required in required.split_whitespace() {
        include(required, is_sharded, files);
    }
    let sharded = row.split('"').nth(1).filter(|_| is_sharded);
    let file = format!("part/{}", sharded.unwrap_or(part));
    if !files.contains(&file) {
        files.push(file);
    }
}

/// Returns the name of each script, such as `page.lua`, the parts that it names, and its own file.
fn scripts() -> impl Iterator<Item = (String, Vec<&'static str>, &'static str)> {
    rows("scripts!").filter_map(|row| row.split_once(" = ")).map(|(name, files)| {
        let (parts, own) = files.split_once('"').unwrap();
        (
            format!("{}.lua", name.to_lowercase()),
            parts.split_whitespace().collect(),
            own.trim_end_matches('"'),
        )
    })
}

/// Returns the names of all scripts.
pub(crate) fn script_names() -> Vec<String> {
    scripts().map(|(name, ..)| name).collect()
}
