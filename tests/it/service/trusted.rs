//! Trusted documents of a running server: their files change, and are read again.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

use crate::harness::manifest::{content_of, hash};
use crate::harness::server::{Logged, Server, command, eventually};
use crate::harness::wait::LIMIT;
use crate::harness::world::{Redis, codes};

const FIRST: &str = "query First { __typename }";
const SECOND: &str = "query Second { __typename }";
const THIRD: &str = "query Third { __typename }";

/// The log of a server that has read the files again, and of one that could not use them.
const REPLACED: &str = "the trusted documents were read again";
const KEPT: &str = "the trusted documents were not replaced; the former documents stay in use";

/// A server with files of trusted documents.
struct Trusting {
    logged: Logged,
    directory: TempDir,
    _redis: Redis,
}

impl Trusting {
    /// Starts a server with the files `0.json`, `1.json` and so on, each with these documents.
    fn start(files: &[&[&str]]) -> Self {
        let (redis, directory) = (Redis::start(), tempfile::tempdir().unwrap());
        let path = |number: usize| directory.path().join(format!("{number}.json"));
        for (number, documents) in files.iter().enumerate() {
            fs::write(path(number), content_of(documents)).unwrap();
        }
        let paths: Vec<String> = (0..files.len()).map(|number| path(number).display().to_string()).collect();
        let options = ["--graphql-trusted-documents", &paths.join(","), "--graphql-trusted-mode", "only"];
        let logged = Logged::start(&redis, &options);
        Self { logged, directory, _redis: redis }
    }

    fn server(&self) -> &Server {
        &self.logged.server
    }

    fn path(&self, number: usize) -> PathBuf {
        self.directory.path().join(format!("{number}.json"))
    }

    fn trusts(&self, document: &str) -> bool {
        trusts(self.server(), document)
    }

    /// Returns the number of lines of the log that contain this text.
    fn logged(&self, text: &str) -> usize {
        self.logged.log().matches(text).count()
    }
}

/// Names a document by its hash. Returns true if the server executes it, and false if the server does not know it.
fn trusts(server: &Server, document: &str) -> bool {
    let (_, body) = server.send("POST /graphql", &json!({ "documentId": hash(document) }).to_string());
    is_executed(&serde_json::from_str(&body).unwrap())
}

fn is_executed(response: &Value) -> bool {
    if response["data"] == json!({ "__typename": "Query" }) {
        return true;
    }
    assert_eq!(codes(response), ["PERSISTED_QUERY_NOT_FOUND"]);
    false
}

/// Replaces a file at once, as a deployment does.
fn replace(path: &Path, content: &str) {
    let new = path.with_extension("new");
    fs::write(&new, content).unwrap();
    fs::rename(new, path).unwrap();
}

/// Replaces the content of a file while the server may read it.
fn rewrite(path: &Path, content: &str) {
    let (start, end) = content.split_at(content.len() / 2);
    let mut file = fs::File::create(path).unwrap();
    for part in [start, end] {
        sleep(Duration::from_millis(20));
        file.write_all(part.as_bytes()).unwrap();
    }
}

#[test]
fn a_file_is_read_again_when_it_changes() {
    let trusting = Trusting::start(&[&[FIRST], &[SECOND]]);
    assert!(trusting.trusts(FIRST) && trusting.trusts(SECOND) && !trusting.trusts(THIRD));
    replace(&trusting.path(0), &content_of(&[THIRD]));
    assert!(eventually(|| trusting.trusts(THIRD)));
    assert!(!trusting.trusts(FIRST) && trusting.trusts(SECOND));
    rewrite(&trusting.path(1), &content_of(&[FIRST, SECOND]));
    assert!(eventually(|| trusting.trusts(FIRST)));
    assert!(trusting.trusts(SECOND) && trusting.trusts(THIRD));

    // Kubernetes replaces the target of a symbolic link.
    let target = trusting.directory.path().join("target.json");
    fs::write(&target, content_of(&[FIRST])).unwrap();
    let link = trusting.directory.path().join("link");
    symlink(&target, &link).unwrap();
    fs::rename(link, trusting.path(1)).unwrap();
    assert!(eventually(|| !trusting.trusts(SECOND)));
    replace(&target, &content_of(&[SECOND]));
    assert!(eventually(|| trusting.trusts(SECOND)));
    assert!(!trusting.trusts(FIRST) && trusting.trusts(THIRD));

    let read = trusting.logged(REPLACED);
    sleep(Duration::from_millis(2_500));
    assert_eq!(trusting.logged(REPLACED), read, "unchanged files are not read again");
    assert_eq!(trusting.logged.server.stop(), Some(0));
}

#[test]
fn files_are_read_again_on_a_signal() {
    let trusting = Trusting::start(&[&[FIRST]]);
    for count in 1..=3 {
        trusting.server().signal("-HUP");
        assert!(eventually(|| trusting.logged(REPLACED) == count));
    }
    replace(&trusting.path(0), &content_of(&[SECOND]));
    trusting.server().signal("-HUP");
    assert!(eventually(|| trusting.trusts(SECOND)));
    assert!(!trusting.trusts(FIRST));
    assert_eq!(trusting.logged.server.stop(), Some(0));
}

#[test]
fn a_broken_file_changes_nothing_and_is_logged_once() {
    let trusting = Trusting::start(&[&[FIRST], &[SECOND]]);
    let file = trusting.path(1);
    let broken = [
        ("{".to_owned(), "is not a JSON object from hashes to documents"),
        (json!({ hash(FIRST): THIRD }).to_string(), "this is not the SHA-256 of the document"),
        (content_of(&[THIRD, "{ nothing }"]), "`nothing`"),
    ];
    for (index, (content, reason)) in broken.into_iter().enumerate() {
        replace(&file, &content);
        assert!(eventually(|| trusting.logged(reason) == 1), "{reason}");
        // The next intervals.
        sleep(Duration::from_millis(2_500));
        assert_eq!((trusting.logged(KEPT), trusting.logged(REPLACED)), (index + 1, 0), "{reason}");
        assert_eq!(trusting.logged(file.to_str().unwrap()), index + 1);
        assert!(trusting.trusts(FIRST) && trusting.trusts(SECOND) && !trusting.trusts(THIRD));
    }
    fs::remove_file(&file).unwrap();
    assert!(eventually(|| trusting.logged("cannot be read") == 1));
    trusting.server().signal("-HUP");
    assert!(eventually(|| trusting.logged("cannot be read") == 2), "an operator who asks gets an answer");
    replace(&trusting.path(0), &content_of(&[FIRST, THIRD]));
    assert!(eventually(|| trusting.logged("cannot be read") == 3), "the files changed");
    assert!(trusting.trusts(FIRST) && trusting.trusts(SECOND) && !trusting.trusts(THIRD));
    replace(&file, &content_of(&[SECOND]));
    assert!(eventually(|| trusting.trusts(THIRD)));
    assert!(trusting.trusts(FIRST) && trusting.trusts(SECOND));
    assert_eq!((trusting.logged(KEPT), trusting.logged(REPLACED)), (6, 1));
    assert_eq!(trusting.logged.server.stop(), Some(0));
}

#[test]
fn the_files_may_be_listed_in_the_environment() {
    let (redis, directory) = (Redis::start(), tempfile::tempdir().unwrap());
    let paths = [(FIRST, "a.json"), (SECOND, "b.json")].map(|(document, name)| {
        let path = directory.path().join(name);
        fs::write(&path, content_of(&[document])).unwrap();
        path.display().to_string()
    });
    let (url, data) = (redis.url(), redis.directory());
    let mut serve =
        command(&["serve", "--http-listen", "127.0.0.1:0", "--redis-url", &url, "--data-dir", data]);
    let server =
        Server::run_logging(serve.env("FANFOLD_GRAPHQL_TRUSTED_DOCUMENTS", paths.join(",")), Stdio::null());
    assert!(trusts(&server, FIRST) && trusts(&server, SECOND) && !trusts(&server, THIRD));
    assert_eq!(server.stop(), Some(0));
}

/// Number of replacements of the file under load.
const REPLACEMENTS: usize = 20;
/// Number of clients, each of which sends at most 100 requests a second.
const CLIENTS: usize = 10;
/// Number of their requests before each replacement.
const REQUESTS: usize = 250;

/// The documents that clients name: two that are in all versions of the file, one in even and one in odd versions.
const NAMED: [&str; 4] = [FIRST, SECOND, "query Even { __typename }", "query Odd { __typename }"];

/// Returns true if a version of the file has one of these documents.
fn has(version: usize, document: usize) -> bool {
    document < 2 || document % 2 == version % 2
}

/// Returns a document that only this version has.
fn only_in(version: usize) -> String {
    format!("query Version{version} {{ __typename }}")
}

fn content_of_version(version: usize) -> String {
    let named = (0..NAMED.len()).filter(|document| has(version, *document));
    let mut documents: Vec<&str> = named.map(|document| NAMED[document]).collect();
    let own = only_in(version);
    documents.push(&own);
    content_of(&documents)
}

/// The progress of the replacements, for the clients.
#[derive(Default)]
struct Progress {
    /// Twice the version that the server has; one more while it is being replaced.
    phase: AtomicUsize,
    /// Number of responses so far.
    responses: AtomicUsize,
    is_over: AtomicBool,
}

impl Progress {
    /// Waits until the clients have received this number of responses more.
    fn wait(&self, responses: usize) {
        let all = self.responses.load(Ordering::SeqCst) + responses;
        assert!(eventually(|| self.responses.load(Ordering::SeqCst) >= all), "the clients receive responses");
    }

    /// Checks a response to a request that was sent in the phase `before`.
    fn check(&self, before: usize, document: usize, response: &Value) {
        self.responses.fetch_add(1, Ordering::SeqCst);
        let is_executed = is_executed(response);
        if document < 2 {
            assert!(is_executed, "{} is in all versions", NAMED[document]);
        } else if before.is_multiple_of(2) && before == self.phase.load(Ordering::SeqCst) {
            assert_eq!(is_executed, has(before / 2, document), "{} in phase {before}", NAMED[document]);
        }
    }
}

/// A client on a connection of its own.
struct Client(BufReader<TcpStream>);

impl Client {
    /// Sends requests until the replacements are over.
    async fn run(mut self, progress: Arc<Progress>) {
        let mut interval = tokio::time::interval(Duration::from_millis(10));
        let mut requests = 0;
        while !progress.is_over.load(Ordering::SeqCst) {
            interval.tick().await;
            let (before, document) = (progress.phase.load(Ordering::SeqCst), requests % NAMED.len());
            let response = tokio::time::timeout(LIMIT, self.name(NAMED[document])).await.unwrap();
            progress.check(before, document, &response);
            requests += 1;
        }
    }

    async fn name(&mut self, document: &str) -> Value {
        let head =
            format!("GET /graphql?documentId=sha256:{} HTTP/1.1\r\nhost: localhost\r\n\r\n", hash(document));
        self.0.write_all(head.as_bytes()).await.unwrap();
        let mut length = 0;
        loop {
            let mut line = String::new();
            self.0.read_line(&mut line).await.unwrap();
            if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if line == "\r\n" {
                break;
            }
            assert!(!line.is_empty(), "the connection was closed");
        }
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).await.unwrap();
        serde_json::from_slice(&body).unwrap()
    }
}

/// Replaces the file 20 times, by renaming and by rewriting it, with and without a signal, and breaks it in between.
fn replace_under_load(trusting: &Trusting, progress: &Progress) {
    let file = trusting.path(0);
    for version in 1..=REPLACEMENTS {
        let content = content_of_version(version);
        if version % 5 == 0 {
            let kept = trusting.logged(KEPT);
            replace(&file, &content[..content.len() - version]);
            assert!(eventually(|| trusting.logged(KEPT) > kept));
        }
        progress.wait(REQUESTS);
        progress.phase.store(2 * version - 1, Ordering::SeqCst);
        if version % 2 == 0 {
            replace(&file, &content);
        } else {
            rewrite(&file, &content);
        }
        if version % 4 < 2 {
            trusting.server().signal("-HUP");
        }
        assert!(eventually(|| trusting.trusts(&only_in(version))), "version {version}");
        progress.phase.store(2 * version, Ordering::SeqCst);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_request_fails_while_a_file_is_replaced() {
    let trusting = Trusting::start(&[&[]]);
    replace(&trusting.path(0), &content_of_version(0));
    assert!(eventually(|| trusting.trusts(&only_in(0))));
    let progress = Arc::new(Progress::default());
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        let stream = TcpStream::connect(&trusting.server().address).await.unwrap();
        clients.push(tokio::spawn(Client(BufReader::new(stream)).run(Arc::clone(&progress))));
    }
    let replaced = Arc::clone(&progress);
    let trusting = tokio::task::spawn_blocking(move || {
        replace_under_load(&trusting, &replaced);
        trusting
    });
    let trusting = trusting.await.unwrap();
    progress.is_over.store(true, Ordering::SeqCst);
    for client in clients {
        client.await.unwrap();
    }
    // A file that was read while it was being rewritten was broken as well.
    let (kept, replaced) = (trusting.logged(KEPT), trusting.logged(REPLACED));
    assert!((4..=4 + REPLACEMENTS / 2).contains(&kept) && replaced > REPLACEMENTS, "{kept} {replaced}");
    assert_eq!(trusting.logged.server.stop(), Some(0));
}
