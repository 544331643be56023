//! The image, without a container engine: the commands of its Dockerfile run in a root that has what the image has, as
//! the image's user, and the root is read-only.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::harness::instance::Instance;
use crate::harness::port::{free_ports, on_free_ports};
use crate::harness::server::{Server, eventually, exchange};
use tempfile::TempDir;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// The configuration of the image, as the last stage of the Dockerfile states it.
#[derive(Default)]
struct Image {
    entrypoint: Vec<String>,
    command: Vec<String>,
    health: Vec<String>,
    copies: Vec<Copied>,
    environment: BTreeMap<String, String>,
    user: String,
    directory: String,
    signal: String,
}

/// A directory that is copied from the stage before.
#[derive(Default)]
struct Copied {
    from: String,
    to: String,
    owner: Option<String>,
    mode: Option<String>,
}

impl Copied {
    fn parse(arguments: &str) -> Self {
        let mut copied = Self::default();
        for word in arguments.split_whitespace() {
            match word.split_once('=') {
                Some(("--from", stage)) => assert_eq!(stage, "build"),
                Some(("--chown", owner)) => copied.owner = Some(owner.to_owned()),
                Some(("--chmod", mode)) => copied.mode = Some(mode.to_owned()),
                Some(_) => panic!("no test for {word}"),
                None if copied.from.is_empty() => word.clone_into(&mut copied.from),
                None => word.clone_into(&mut copied.to),
            }
        }
        copied
    }
}

impl Image {
    fn read() -> Self {
        let file = include_str!("../../../Dockerfile").replace("\\\n", " ");
        let lines = file.lines().filter(|line| !line.starts_with('#'));
        let stages: Vec<&str> = lines.collect::<Vec<_>>().join("\n").leak().split("\nFROM ").collect();
        let mut image = Self::default();
        for line in stages.last().unwrap().lines() {
            let (instruction, rest) = line.split_once(' ').unwrap_or((line, ""));
            let words = || -> Vec<String> { serde_json::from_str(rest).unwrap() };
            match instruction {
                "ENTRYPOINT" => image.entrypoint = words(),
                "CMD" => image.command = words(),
                "HEALTHCHECK" => {
                    let command = rest.split_once("CMD ").unwrap().1;
                    image.health = serde_json::from_str(command).unwrap();
                }
                "ENV" => {
                    let pairs = rest.split_whitespace().map(|pair| pair.split_once('=').unwrap());
                    image.environment.extend(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())));
                }
                "USER" => rest.clone_into(&mut image.user),
                "WORKDIR" => rest.clone_into(&mut image.directory),
                "STOPSIGNAL" => rest.clone_into(&mut image.signal),
                "COPY" => image.copies.push(Copied::parse(rest)),
                "scratch" | "LABEL" | "VOLUME" | "EXPOSE" | "" => {}
                other => panic!("no test for {other}"),
            }
        }
        image
    }
}

/// A root with what the image has.
struct Container {
    root: TempDir,
    image: Image,
    redis_port: u16,
    /// The port of the server. The next one is that of its admin listener.
    port: u16,
}

impl Container {
    fn new(redis_port: u16) -> Self {
        let [port, _] = free_ports();
        let container = Self { root: tempfile::tempdir().unwrap(), image: Image::read(), redis_port, port };
        for copied in &container.image.copies {
            container.copy(copied);
        }
        container
    }

    /// Copies what the stage before has made: the root of the image, or an empty directory.
    fn copy(&self, Copied { from, to, owner, mode }: &Copied) {
        let to = format!("{}{to}", self.root.path().display());
        if from == "/image/" {
            let mut make = Command::new(format!("{ROOT}/deploy/image-root"));
            run(make.arg(env!("CARGO_BIN_EXE_fanfold")).arg(to));
            return;
        }
        // A copy does not change the owner and the mode of a directory that exists.
        let is_new = !Path::new(&to).exists();
        run(Command::new("mkdir").args(["-p", &to]));
        if let Some(mode) = mode.as_ref().filter(|_| is_new) {
            run(Command::new("chmod").args([mode, &to]));
        }
        if let Some(owner) = owner.as_ref().filter(|_| is_new && is_root()) {
            run(Command::new("chown").args([owner, &to]));
        }
    }

    /// Returns a command in the root, with the image's user, environment and working directory.
    fn command(&self, words: &[String]) -> Command {
        // A container engine mounts the root read-only, these two, and over the data directory a writable volume, which
        // begins as a copy of what the image has there.
        let script = r#"
            root=$1 directory=$2 user=$3; shift 3
            mount --bind "$root" "$root"
            mkdir -p "$root/proc" "$root/dev"
            mount -t proc proc "$root/proc"
            mount --rbind /dev "$root/dev"
            [ -e "$root.volume" ] || cp -a "$root$directory" "$root.volume"
            mount --bind "$root.volume" "$root$directory"
            mount -o remount,bind,ro "$root"
            exec chroot --userspec="$user" "$root" "$@""#;
        let Image { environment, user, directory, .. } = &self.image;
        let mut command = Command::new("unshare");
        // Someone else than root gets a namespace in which they are root, and there is no other user.
        let (options, user): (&[&str], _) =
            if is_root() { (&["--mount"], user.as_str()) } else { (&["--mount", "--map-root-user"], "0:0") };
        command.args(options).args(["sh", "-ec", script, "sh"]);
        command.arg(self.root.path()).args([directory, user]).args(words);
        command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").envs(environment);
        let redis = format!("redis://127.0.0.1:{}/0", self.redis_port);
        // Tests share the ports of the machine.
        let listen = environment["FANFOLD_HTTP_LISTEN"].replace("8080", &self.port.to_string());
        command.env("FANFOLD_REDIS_URL", redis).env("FANFOLD_HTTP_LISTEN", listen);
        command.stdin(Stdio::null());
        command
    }

    fn is_healthy(&self) -> bool {
        self.command(&self.image.health)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap()
            .success()
    }

    /// Returns the paths of all files in the root.
    fn files(&self) -> Vec<String> {
        let find = Command::new("find").arg(".").current_dir(self.root.path()).output().unwrap();
        let mut files: Vec<String> =
            String::from_utf8(find.stdout).unwrap().lines().map(str::to_owned).collect();
        files.sort();
        files
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(volume(self.root.path()));
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Runs a command, which must succeed.
fn run(command: &mut Command) {
    assert!(command.status().unwrap().success(), "{command:?}");
}

fn volume(root: &Path) -> String {
    format!("{}.volume", root.display())
}

#[test]
fn the_commands_of_the_image_run_in_its_read_only_root() {
    let (redis_port, _redis) = Instance::start_on_port(&[]);
    let mut container = Container::new(redis_port);
    let image = &container.image;
    assert!(image.user.split(':').all(|id| id.parse::<u32>().is_ok_and(|id| id > 0)), "{}", image.user);
    assert!(!container.is_healthy(), "without a server, the image is not healthy");
    let before = container.files();
    let words = [&image.entrypoint[..], &image.command].concat();
    let server = on_free_ports(|[port, _]| {
        container.port = port;
        Server::run_if_free(&mut container.command(&words))
    });
    assert_eq!(server.address, format!("0.0.0.0:{}", container.port));
    assert!(eventually(|| container.is_healthy()));
    let address = format!("127.0.0.1:{}", container.port);
    let body = r#"{"query":"mutation { register(input: { username: \"ada\", password: \"correct horse\" }) { token } }"}"#;
    let (status, body) = exchange(&address, "POST /graphql", "", body);
    assert!(status == 200 && body.contains("\"token\":\""), "{status}: {body}");
    assert_eq!(container.files(), before, "only the data directory is written");
    assert!(std::fs::exists(format!("{}/archive.db", volume(container.root.path()))).unwrap());
    server.signal(&format!("-{}", container.image.signal));
    assert_eq!(server.end(), Some(0));
    assert!(!container.is_healthy());
}

#[test]
fn the_root_of_the_image_has_the_program_its_libraries_and_certificates_and_nothing_else() {
    let container = Container::new(0);
    let is_library = |file: &str| file.contains("/lib") && file.contains(".so");
    let files = container.files();
    let files = files.iter().filter(|file| container.root.path().join(file).is_file());
    let others: Vec<&str> = files.map(String::as_str).filter(|file| !is_library(file)).collect();
    let expected = [
        "./etc/group",
        "./etc/nsswitch.conf",
        "./etc/passwd",
        "./etc/ssl/certs/ca-certificates.crt",
        "./usr/bin/fanfold",
    ];
    assert_eq!(others, expected);
}

/// Returns true if a file of the sources is sent to the builder of the image.
fn is_sent(path: &str) -> bool {
    let mut is_sent = true;
    for rule in include_str!("../../../.dockerignore").lines().filter(|line| !line.starts_with('#')) {
        let pattern = rule.trim_start_matches('!');
        let below = path.strip_prefix(pattern.trim_end_matches("/*"));
        if path == pattern || below.is_some_and(|rest| rest.starts_with('/')) {
            // The last rule that matches decides.
            is_sent = rule.starts_with('!');
        }
    }
    is_sent
}

#[test]
fn the_builder_of_the_image_receives_the_sources_without_secrets() {
    for path in ["deploy/.env", "secret.env", "fanfold-data/fanfold.toml", ".git/config"] {
        assert!(!is_sent(path), "{path}");
    }
    for path in ["Cargo.toml", "src/main.rs", "playground/package.json", "deploy/image-root"] {
        assert!(is_sent(path), "{path}");
    }
}
