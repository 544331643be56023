//! SQL servers for tests: a MariaDB and a PostgreSQL of their own, run as the user who runs the tests, with a database
//! for each test.

use std::fs;
use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use fanfold::archive::Archive;
use fanfold::config::ArchiveConfig;
use sqlx::Connection as _;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::harness::case::test;
use crate::harness::instance::directory_in_memory;
use crate::harness::reach::{is_recorded, note_statements, recorded_archive};
use crate::harness::wait::eventually;

/// The kinds of databases that an archive may be in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Kind {
    Sqlite,
    Mariadb,
    Postgres,
}

/// A test for each kind of database, named after the kind: `make test` leaves out those of MariaDB and PostgreSQL that
/// `tests/it/deployments.txt` does not list.
macro_rules! on_every_kind {
    ($($name:ident;)*) => {
        $(mod $name {
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn sqlite() {
                super::$name($crate::harness::sql::Kind::Sqlite).await;
            }
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn mariadb() {
                super::$name($crate::harness::sql::Kind::Mariadb).await;
            }
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn postgres() {
                super::$name($crate::harness::sql::Kind::Postgres).await;
            }
        })*
    };
    ($(blocking $name:ident;)*) => {
        $(mod $name {
            #[test]
            fn sqlite() {
                super::$name($crate::harness::sql::Kind::Sqlite);
            }
            #[test]
            fn mariadb() {
                super::$name($crate::harness::sql::Kind::Mariadb);
            }
            #[test]
            fn postgres() {
                super::$name($crate::harness::sql::Kind::Postgres);
            }
        })*
    };
}
pub(crate) use on_every_kind;

/// The options with which the servers count the statements of each database.
const COUNTED_BY_POSTGRES: [&str; 4] =
    ["-c", "shared_preload_libraries=pg_stat_statements", "-c", "pg_stat_statements.track_utility=off"];
const COUNTED_BY_MARIADB: [&str; 2] = ["--performance-schema=ON", "--performance-schema-digests-size=20000"];

/// The password of the user `fanfold`, who owns everything.
const PASSWORD: &str = "secret";

/// A server in a directory of its own, on a socket there.
pub(crate) struct Server {
    kind: Kind,
    directory: PathBuf,
    /// Each ends the server, and removes the directory, when its standard input does: also if this process is
    /// killed.
    guards: Vec<Child>,
}

/// Returns the path of a program that may not be on `PATH`.
fn program(name: &str) -> PathBuf {
    let postgres = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let places = ["/usr/sbin", "/usr/libexec", "/usr/local/sbin", "/opt/homebrew/bin"].map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places =
        std::env::split_paths(&path).chain(places).chain(postgres.map(|version| version.path().join("bin")));
    let found = places.map(|place| place.join(name)).find(|path| path.is_file());
    found.unwrap_or_else(|| panic!("{name} is missing; `deploy/install test` installs it"))
}

/// Returns the command, run as another user if the tests run as root, whom neither server accepts.
fn run(directory: &Path, program: &Path, kind: Kind, arguments: &[&str]) -> Command {
    let is_root = rustix::process::getuid().is_root();
    let mut command = if is_root {
        let user = if kind == Kind::Postgres { "postgres" } else { "mysql" };
        let mut command = Command::new("setpriv");
        command.args([&format!("--reuid={user}"), &format!("--regid={user}"), "--init-groups", "--"]);
        command.arg(program);
        assert!(Command::new("chown").args(["-R", user]).arg(directory).status().unwrap().success());
        command
    } else {
        Command::new(program)
    };
    command.args(arguments).current_dir(directory).stdin(Stdio::null());
    let log = fs::File::options().append(true).create(true).open(directory.join("log")).unwrap();
    command.stdout(log.try_clone().unwrap()).stderr(log).env("HOME", directory);
    command
}

impl Server {
    pub(crate) fn start(kind: Kind) -> Self {
        let directory = tempfile::Builder::new().prefix("sql").tempdir_in("/tmp").unwrap().keep();
        let path = |name: &str| directory.join(name).to_str().unwrap().to_owned();
        fs::create_dir(directory.join("data")).unwrap();
        let data = path("data");
        let made = match kind {
            Kind::Sqlite => unreachable!("SQLite has no server"),
            Kind::Postgres => {
                fs::write(directory.join("password"), PASSWORD).unwrap();
                let password = path("password");
                let arguments = ["-D", &data, "-U", "fanfold", "-A", "scram-sha-256", "--pwfile", &password];
                let more = ["--no-sync", "-E", "UTF8", "--locale", "C"];
                run(&directory, &program("initdb"), kind, &[&arguments[..], &more].concat()).status()
            }
            Kind::Mariadb => {
                let data = format!("--datadir={data}");
                let arguments = ["--no-defaults", &data, "--auth-root-authentication-method=normal"];
                run(&directory, &program("mariadb-install-db"), kind, &arguments).status()
            }
        };
        let mut server = Self { kind, directory, guards: Vec::new() };
        assert!(made.unwrap().success(), "{}", server.log());
        server.serve(&[]);
        if kind == Kind::Mariadb {
            let user = format!(
                "CREATE USER fanfold@localhost IDENTIFIED BY '{PASSWORD}'; \
                 GRANT ALL ON *.* TO fanfold@localhost"
            );
            server.run_as_root(&user);
        }
        server
    }

    fn log(&self) -> String {
        fs::read_to_string(self.directory.join("log")).unwrap_or_default()
    }

    /// Runs the server, with more options.
    pub(crate) fn serve(&mut self, options: &[&str]) {
        let directory = self.directory.to_str().unwrap();
        let (data, socket) = (format!("{directory}/data"), format!("{directory}/socket"));
        let mut server = match self.kind {
            Kind::Sqlite => unreachable!("SQLite has no server"),
            Kind::Postgres => {
                let arguments = ["-D", &data, "-k", directory, "-c", "listen_addresses=", "-c", "fsync=off"];
                let more = ["-c", "max_connections=200", "-c", "shared_buffers=32MB"];
                let counted: &[&str] = if is_recorded() { &COUNTED_BY_POSTGRES } else { &[] };
                run(
                    &self.directory,
                    &program("postgres"),
                    self.kind,
                    &[&arguments[..], &more, counted, options].concat(),
                )
            }
            Kind::Mariadb => {
                // Another server would take its temporary files for those of its own that died.
                let (temporary, data) = (format!("--tmpdir={data}"), format!("--datadir={data}"));
                let socket = format!("--socket={socket}");
                let arguments =
                    ["--no-defaults", &data, &temporary, &socket, "--skip-networking", "--skip-log-bin"];
                let more = ["--innodb-flush-log-at-trx-commit=2", "--innodb-buffer-pool-size=32M"];
                let counted: &[&str] = if is_recorded() { &COUNTED_BY_MARIADB } else { &[] };
                run(
                    &self.directory,
                    &program("mariadbd"),
                    self.kind,
                    &[&arguments[..], &more, counted, options].concat(),
                )
            }
        };
        let server = server.process_group(0).spawn().unwrap();
        let ends = format!("cat; kill -9 {}; sleep 0.2; rm -rf {directory}", server.id());
        let mut guard = Command::new("sh");
        guard.args(["-c", &ends]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // Not ended by an interrupt from the keyboard before it has done its work.
        self.guards.push(guard.process_group(0).spawn().unwrap());
        self.guards.push(server);
        self.wait();
    }

    /// Waits until it accepts connections.
    fn wait(&self) {
        let is_ready = || match self.kind {
            Kind::Postgres => fs::read(self.directory.join("log")).is_ok_and(|log| {
                let log = String::from_utf8_lossy(&log).into_owned();
                log.matches("ready to accept connections").count() >= self.guards.len() / 2
            }),
            _ => std::os::unix::net::UnixStream::connect(self.directory.join("socket"))
                .is_ok_and(|mut stream| stream.read(&mut [0]).is_ok_and(|count| count == 1)),
        };
        assert!(eventually(is_ready), "the server is not ready: {}", self.log());
    }

    /// Kills the server. What it has confirmed is on disk.
    pub(crate) fn kill(&mut self) {
        let mut server = self.guards.pop().expect("it runs");
        server.kill().unwrap();
        server.wait().unwrap();
        // Both servers take a second run for one that may still be running, but see that it is gone.
        self.guards.push(server);
    }

    /// Sends statements to a MariaDB, as its owner.
    pub(crate) fn run_as_root(&self, statements: &str) {
        let socket = format!("--socket={}", self.directory.join("socket").display());
        let arguments = ["--no-defaults", &socket, "-uroot", "-e", statements];
        let done = Command::new(program("mariadb")).args(arguments).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }

    /// Returns the URL of a database, for this user with this password.
    pub(crate) fn url_of(&self, database: &str, user: &str, password: &str) -> String {
        let directory = self.directory.display();
        match self.kind {
            Kind::Postgres => format!("postgres://{user}:{password}@localhost/{database}?host={directory}"),
            _ => format!("mysql://{user}:{password}@localhost/{database}?socket={directory}/socket"),
        }
    }

    /// Creates a database, and returns its URL.
    pub(crate) async fn database(&self) -> String {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("test{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        let existing = if self.kind == Kind::Postgres { "postgres" } else { "mysql" };
        execute(&self.url_of(existing, "fanfold", PASSWORD), &format!("CREATE DATABASE {name}")).await;
        self.url_of(&name, "fanfold", PASSWORD)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        for guard in &mut self.guards {
            drop(guard.stdin.take());
            let _ = guard.wait();
        }
    }
}

/// One server of each kind for all tests. They end with the process.
static MARIADB: LazyLock<Server> = LazyLock::new(|| Server::start(Kind::Mariadb));
static POSTGRES: LazyLock<Server> = LazyLock::new(|| Server::start(Kind::Postgres));

/// A database of a test's own.
pub(crate) struct Database {
    pub(crate) url: String,
    kind: Kind,
    _directory: Option<TempDir>,
}

impl Database {
    pub(crate) async fn new(kind: Kind) -> Self {
        let server = match kind {
            Kind::Sqlite => {
                let directory = directory_in_memory();
                let url = format!("sqlite:{}/archive.db", directory.path().display());
                return Self { url, kind, _directory: Some(directory) };
            }
            Kind::Mariadb => &MARIADB,
            Kind::Postgres => &POSTGRES,
        };
        // The first test to need it starts the server, which takes a while.
        let server = tokio::task::spawn_blocking(|| LazyLock::force(server)).await.unwrap();
        Self { url: server.database().await, kind, _directory: None }
    }

    /// Returns a handle on the archive in it, as another process would have.
    pub(crate) fn archive(&self) -> Archive {
        archive(&self.url)
    }

    /// Returns the number that a statement selects past the archive.
    pub(crate) async fn number(&self, statement: &str) -> i64 {
        number(&self.url, statement).await
    }

    /// Sends statements past the archive, as an operator would.
    pub(crate) async fn execute(&self, statements: &str) {
        execute(&self.url, statements).await;
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if is_recorded() && self.kind != Kind::Sqlite {
            let (url, kind, test) = (self.url.clone(), self.kind, test());
            let noting = std::thread::spawn(move || {
                let executed = Runtime::new().unwrap().block_on(executed(&url));
                note_statements(&test, kind, executed);
            });
            noting.join().unwrap();
        }
    }
}

/// Returns the statements that a server has counted in a database, without their values.
async fn executed(url: &str) -> Vec<String> {
    if url.starts_with("postgres") {
        execute(url, "CREATE EXTENSION IF NOT EXISTS pg_stat_statements").await;
        let query = "SELECT query FROM pg_stat_statements JOIN pg_database ON oid = dbid \
            WHERE datname = current_database()";
        let mut connection = sqlx::PgConnection::connect(url).await.unwrap();
        sqlx::query_scalar(query).fetch_all(&mut connection).await.unwrap()
    } else {
        let query = "SELECT digest_text FROM performance_schema.events_statements_summary_by_digest \
            WHERE schema_name = DATABASE() AND digest_text IS NOT NULL";
        let mut connection = sqlx::MySqlConnection::connect(url).await.unwrap();
        sqlx::query_scalar(query).fetch_all(&mut connection).await.unwrap()
    }
}

/// Returns the number that a statement selects.
async fn number(url: &str, statement: &str) -> i64 {
    let statement = sqlx::AssertSqlSafe(statement.to_owned());
    if url.starts_with("postgres") {
        let mut connection = sqlx::PgConnection::connect(url).await.unwrap();
        sqlx::query_scalar(statement).fetch_one(&mut connection).await.unwrap()
    } else if url.starts_with("mysql") {
        let mut connection = sqlx::MySqlConnection::connect(url).await.unwrap();
        sqlx::query_scalar(statement).fetch_one(&mut connection).await.unwrap()
    } else {
        let mut connection = sqlx::SqliteConnection::connect(url).await.unwrap();
        sqlx::query_scalar(statement).fetch_one(&mut connection).await.unwrap()
    }
}

/// Returns a handle on the archive at a URL.
pub(crate) fn archive(url: &str) -> Archive {
    let config = ArchiveConfig { archive_url: Some(url.to_owned().into()), archive_connections: 4 };
    let kind = match url.split(':').next() {
        Some("postgres") => Kind::Postgres,
        Some("mysql") => Kind::Mariadb,
        _ => Kind::Sqlite,
    };
    recorded_archive(Archive::new(&config, Path::new("nowhere")).unwrap(), kind)
}

/// Sends statements to a database.
pub(crate) async fn execute(url: &str, statements: &str) {
    let statements = sqlx::raw_sql(sqlx::AssertSqlSafe(statements.to_owned()));
    if url.starts_with("postgres") {
        let mut connection = sqlx::PgConnection::connect(url).await.unwrap();
        statements.execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
    } else if url.starts_with("mysql") {
        let mut connection = sqlx::MySqlConnection::connect(url).await.unwrap();
        statements.execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
    } else {
        let mut connection = sqlx::SqliteConnection::connect(url).await.unwrap();
        statements.execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
    }
}
