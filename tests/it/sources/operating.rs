//! The commands of the page for operators run, in the order of the page, beside the server of its first command.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::harness::document::{OPERATING, texts};
use crate::harness::server::Server;
use crate::harness::sql::{Database, Kind};
use crate::harness::world::Redis;

/// What the page takes for granted, on this machine.
struct Stage {
    directory: TempDir,
    redis: Redis,
    database: Database,
    server: Server,
    /// Code of the invite that was created last.
    invite: String,
    /// Number of services that ran beside the server.
    services: usize,
}

impl Stage {
    /// Starts what the page expects, with the page's first command.
    async fn new(first: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, content: &str| std::fs::write(directory.path().join(name), content).unwrap();
        write("fanfold.toml", &texts(OPERATING, "toml")[0]);
        write("edges.txt", "1\t2\n2\t3\n");
        assert!(Command::new("gzip").arg(directory.path().join("edges.txt")).status().unwrap().success());
        let redis = Redis::start();
        redis.raw::<String>(&["ACL", "SETUSER", "user", "on", ">password", "~*", "&*", "+@all"]);
        let database = Database::new(Kind::Postgres).await;
        assert!(first.contains("127.0.0.1:8080"), "{first}");
        let server = Server::run(&mut shell(directory.path(), &first.replace(":8080", ":0")));
        server.token("ada");
        Self { directory, redis, database, server, invite: String::new(), services: 0 }
    }

    /// Replaces the addresses of a command by those of this machine, and the invite by the one created last.
    fn here(&self, line: &str) -> String {
        let redis = self.redis.url();
        line.replace("redis://user:password@127.0.0.1:6379/0", &format!("'{redis}?user=user&pass=password'"))
            .replace("redis://127.0.0.1:6379/0", &redis)
            .replace("postgres://user:password@127.0.0.1/fanfold", &format!("'{}'", self.database.url))
            .replace("0123456789abcdef", &self.invite)
    }

    /// Runs a service until it has started, and stops it.
    fn serve(&mut self, line: &str) {
        let mut command = shell(self.directory.path(), &self.here(line));
        // Beside the first server, which has a Redis of its own in its data directory.
        command.env("FANFOLD_DATA_DIR", "another").env("FANFOLD_HTTP_LISTEN", "127.0.0.1:0");
        // The data under a prefix belong to one archive.
        self.services += 1;
        command.env("FANFOLD_REDIS_PREFIX", format!("service{}:", self.services));
        if !line.contains("--redis-url") {
            command.env("FANFOLD_REDIS_URL", self.redis.url());
        }
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut output = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut output).unwrap();
        assert!(output.starts_with("Fanfold "), "{line}: {output}");
        assert!(Command::new("kill").arg(process.id().to_string()).status().unwrap().success());
        assert_eq!(process.wait().unwrap().code(), Some(0), "{line}");
    }

    /// Runs a command to its end.
    fn run(&mut self, line: &str) {
        let mut command = shell(self.directory.path(), &self.here(line));
        if line.starts_with("fanfold healthcheck") || line.starts_with("fanfold doctor") {
            command.env("FANFOLD_HTTP_LISTEN", &self.server.address);
            command.env("FANFOLD_HTTP_ADMIN_LISTEN", &self.server.admin);
        }
        if line.starts_with("fanfold demo") {
            // A demo world needs an empty Redis.
            command.env("FANFOLD_REDIS_PREFIX", "demo:");
        }
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.spawn().unwrap();
        // The password for `user set-password`; the other commands may have closed their input.
        let _ = process.stdin.take().unwrap().write_all(b"another horse\n");
        let output = process.wait_with_output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}: {errors}");
        if line.starts_with("fanfold invite create") {
            String::from_utf8(output.stdout).unwrap().lines().next().unwrap().clone_into(&mut self.invite);
        }
    }
}

/// Returns the command for a line of the page, as a shell runs it in this directory.
fn shell(directory: &Path, line: &str) -> Command {
    let programs = Path::new(env!("CARGO_BIN_EXE_fanfold")).parent().unwrap().to_str().unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", &format!("exec {line}")]).current_dir(directory);
    command.env("PATH", format!("{programs}:{}", std::env::var("PATH").unwrap()));
    command
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_command_of_the_page_for_operators_runs() {
    let text = texts(OPERATING, "sh").concat();
    let mut lines = text.lines().filter(|line| line.starts_with("fanfold "));
    let mut stage = Stage::new(lines.next().unwrap()).await;
    for line in lines {
        let is_service = ["fanfold serve", "fanfold deliver"].iter().any(|service| line.starts_with(service));
        if is_service { stage.serve(line) } else { stage.run(line) }
    }
    assert_eq!(stage.server.stop(), Some(0));
}
