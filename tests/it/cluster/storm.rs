//! Continuous requests and live readers on a cluster, while its slots move and its masters fail.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinSet;

use crate::harness::check::check_cluster;
use crate::harness::cluster::Cluster;
use crate::harness::feed::{TIMELINE, follow, publish};
use crate::harness::server::{Server, eventually, serve};
use crate::harness::socket::Socket;
use crate::harness::wait::{StopOnDrop, eventually_async};

/// Number of authors. All readers follow every other author, who is therefore a star.
const AUTHORS: usize = 6;
/// Number of readers who also follow the other authors. Their posts are pushed.
const PUSHED_TO: usize = 15;
/// Number of live readers.
const READERS: usize = 50;
/// Number of users who follow and unfollow each other.
const UNSTEADY: usize = 12;
/// Pauses between two requests of each kind: 160 reads, 30 follows and 10 publications a second.
const PAUSES: [(Kind, Duration); 5] = [
    (Kind::Read, Duration::from_millis(19)),
    (Kind::Read, Duration::from_millis(19)),
    (Kind::Read, Duration::from_millis(19)),
    (Kind::Follow, Duration::from_millis(33)),
    (Kind::Publish, Duration::from_millis(100)),
];
/// Number of successive requests of a kind that must succeed before all such requests count as successful.
const SUCCESSES: usize = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Read,
    Follow,
    Publish,
}

/// A request, and what came of it.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) kind: Kind,
    pub(crate) at: Instant,
    pub(crate) took: Duration,
    /// The error code, or what else is wrong with the response; `None` if it is right.
    pub(crate) wrong: Option<String>,
}

/// The outcome of a storm.
#[derive(Default)]
pub(crate) struct Report {
    pub(crate) outcomes: Vec<Outcome>,
    /// The time from each post's publication to each event about it.
    pub(crate) late: Vec<Duration>,
    /// Descriptions of events that did not arrive, or more than once.
    pub(crate) faults: Vec<String>,
}

impl Report {
    /// Returns the requests that failed.
    pub(crate) fn wrong(&self) -> Vec<&Outcome> {
        self.outcomes.iter().filter(|outcome| outcome.wrong.is_some()).collect()
    }

    /// Returns the quantile of the durations of requests of one kind, in milliseconds.
    fn quantile(&self, kind: Kind, quantile: usize) -> u128 {
        let of_kind = self.outcomes.iter().filter(|outcome| outcome.kind == kind);
        let mut took: Vec<Duration> = of_kind.map(|outcome| outcome.took).collect();
        took.sort_unstable();
        took.get((took.len() * quantile / 100).min(took.len().saturating_sub(1)))
            .map_or(0, Duration::as_millis)
    }

    /// Describes the report, for the output of the test.
    pub(crate) fn describe(&self) -> String {
        let kinds = [Kind::Read, Kind::Follow, Kind::Publish].map(|kind| {
            let count = self.outcomes.iter().filter(|outcome| outcome.kind == kind).count();
            let [half, most, all] = [50, 99, 100].map(|quantile| self.quantile(kind, quantile));
            format!("{count} {kind:?}: p50 {half} ms, p99 {most} ms, max {all} ms")
        });
        let latest = self.late.iter().max().map_or(0, Duration::as_millis);
        let (wrong, events) = (self.wrong().len(), self.late.len());
        format!("{}; {wrong} failed; {events} events, the latest after {latest} ms", kinds.join("; "))
    }
}

/// A server under load.
pub(crate) struct Storm<'a> {
    server: &'a Server,
    readers: Vec<String>,
    authors: Vec<String>,
    unsteady: Vec<String>,
    stops: AtomicBool,
    outcomes: Mutex<Vec<Outcome>>,
    /// The posts that were published, and when their publication was confirmed.
    published: Mutex<HashMap<String, Instant>>,
    number: AtomicUsize,
}

fn follows(reader: usize, author: usize) -> bool {
    author.is_multiple_of(2) || reader < PUSHED_TO
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[allow(clippy::disallowed_methods, reason = "processes take real time")]
fn now() -> Instant {
    Instant::now()
}

/// Returns the cursor of the newest post in a user's timeline, once there is one.
fn cursor(server: &Server, token: &str) -> Value {
    let mut cursor = Value::Null;
    let has_post = eventually(|| {
        let mut page = server.ask_as(token, "{ viewer { timeline(first: 1) { pageInfo { startCursor } } } }");
        cursor = page["data"]["viewer"]["timeline"]["pageInfo"]["startCursor"].take();
        cursor.is_string()
    });
    assert!(has_post, "the timeline has a post");
    cursor
}

/// Sends requests continuously while `disturb` runs, and for a while before and after, with live readers.
/// Returns once all of them have received all posts, or none of the missing in time.
pub(crate) async fn storm(server: &Server, disturb: impl FnOnce(&Storm<'_>) + Send) -> Report {
    let register = |role: &'static str, count: usize| -> Vec<String> {
        (0..count).map(|number| server.token(&format!("{role}{number}"))).collect()
    };
    let storm = Storm {
        server,
        readers: register("reader", READERS),
        authors: register("author", AUTHORS),
        unsteady: register("unsteady", UNSTEADY),
        stops: AtomicBool::new(false),
        outcomes: Mutex::default(),
        published: Mutex::default(),
        number: AtomicUsize::new(0),
    };
    for (reader, token) in storm.readers.iter().enumerate() {
        for author in (0..AUTHORS).filter(|author| follows(reader, *author)) {
            follow(server, token, &format!("author{author}"));
        }
    }
    let mut watches = JoinSet::new();
    let received = std::sync::Arc::new(Mutex::new(Vec::new()));
    // All readers follow the first author. Whenever a subscription begins, it has all posts after this one.
    publish(server, &storm.authors[0], "start");
    for (reader, token) in storm.readers.iter().enumerate() {
        let start = cursor(server, token);
        let mut socket = Socket::acknowledged(server, Some(token)).await;
        socket.subscribe("t", TIMELINE, json!({ "after": start })).await;
        let received = std::sync::Arc::clone(&received);
        watches.spawn(async move {
            loop {
                let event = socket.receive().await;
                let post = event["payload"]["data"]["timeline"]["edge"]["node"]["content"].as_str();
                let content = post.map_or_else(|| event.to_string(), str::to_owned);
                lock(&received).push((reader, content, now()));
            }
        });
    }
    tokio::task::block_in_place(|| storm.run(disturb));
    let published = std::mem::take(&mut *lock(&storm.published));
    let readers_of = |content: &str| {
        let author = content.parse::<usize>().unwrap() % AUTHORS;
        (0..READERS).filter(move |reader| follows(*reader, author))
    };
    let expected: usize = published.keys().map(|content| readers_of(content).count()).sum();
    eventually_async(async || lock(&received).len() >= expected).await;
    watches.abort_all();
    let mut report = Report { outcomes: std::mem::take(&mut *lock(&storm.outcomes)), ..Report::default() };
    let mut counts: HashMap<(usize, &str), usize> = HashMap::new();
    let received = std::mem::take(&mut *lock(&received));
    for (reader, content, at) in &received {
        if !published.contains_key(content) {
            report.faults.push(format!("reader {reader} received {content}"));
        }
        *counts.entry((*reader, content)).or_default() += 1;
        report.late.extend(published.get(content).map(|published| at.saturating_duration_since(*published)));
    }
    for content in published.keys() {
        for reader in readers_of(content) {
            let count = counts.get(&(reader, content.as_str())).copied().unwrap_or_default();
            if count != 1 {
                report.faults.push(format!("reader {reader} received post {content} {count} times"));
            }
        }
    }
    report
}

impl Storm<'_> {
    fn run(&self, disturb: impl FnOnce(&Self) + Send) {
        std::thread::scope(|scope| {
            // Even if this thread panics, the others end.
            let _stop = StopOnDrop(&self.stops);
            for (thread, (kind, pause)) in PAUSES.into_iter().enumerate() {
                scope.spawn(move || {
                    let mut number = thread;
                    while !self.stops.load(Ordering::Relaxed) {
                        let at = now();
                        let wrong = self.request(kind, number);
                        let took = at.elapsed();
                        lock(&self.outcomes).push(Outcome { kind, at, took, wrong });
                        std::thread::sleep(pause.saturating_sub(took));
                        number += PAUSES.len();
                    }
                });
            }
            std::thread::sleep(Duration::from_secs(1));
            disturb(self);
            std::thread::sleep(Duration::from_secs(1));
        });
    }

    /// Waits until requests of all kinds succeed. Returns false if they do not.
    fn recovers(&self) -> bool {
        let since = now();
        let succeed = |outcomes: &[Outcome], kind: Kind| {
            let counts = |outcome: &&Outcome| outcome.kind == kind && outcome.at >= since;
            let last = outcomes.iter().rev().filter(counts).take(SUCCESSES);
            last.filter(|outcome| outcome.wrong.is_none()).count() == SUCCESSES
        };
        let kinds = [Kind::Read, Kind::Follow, Kind::Publish];
        eventually(|| {
            let outcomes = lock(&self.outcomes);
            kinds.iter().all(|kind| succeed(&outcomes, *kind))
        })
    }

    /// Sends a request. Returns what is wrong with the response.
    fn request(&self, kind: Kind, number: usize) -> Option<String> {
        match kind {
            Kind::Read if number.is_multiple_of(4) => self.read_timeline(number),
            Kind::Read => self.read_profile(number),
            Kind::Follow => self.follow_or_unfollow(number),
            Kind::Publish => self.publish(),
        }
    }

    fn read_profile(&self, number: usize) -> Option<String> {
        let (reader, author) = (number % self.readers.len(), number / 7 % AUTHORS);
        let query = format!(
            "{{ user(by: {{ username: \"author{author}\" }}) {{ relation {{ status }}
            followers(first: 5) {{ totalCount nodes {{ username }} }} }} }}"
        );
        let response = self.server.ask_as(&self.readers[reader], &query);
        let user = &response["data"]["user"];
        let status = if follows(reader, author) { "FOLLOWING" } else { "NONE" };
        let followers = (0..READERS).filter(|reader| follows(*reader, author)).count();
        let is_right = user["relation"]["status"] == status
            && user["followers"]["totalCount"] == followers
            && user["followers"]["nodes"].as_array().is_some_and(|nodes| nodes.len() == 5);
        (!is_right).then(|| wrong(&response))
    }

    fn read_timeline(&self, number: usize) -> Option<String> {
        let query = "{ viewer { timeline(first: 5) { nodes { content } } } }";
        let response = self.server.ask_as(&self.readers[number % self.readers.len()], query);
        let nodes = response["data"]["viewer"]["timeline"]["nodes"].as_array();
        let posts: Option<Vec<usize>> = nodes
            .map(|nodes| nodes.iter().filter_map(|node| node["content"].as_str()?.parse().ok()).collect());
        let is_right = posts.is_some_and(|posts| posts.is_sorted_by(|one, other| one > other));
        (!is_right).then(|| wrong(&response))
    }

    /// Follows or unfollows, and checks that the next request sees it.
    fn follow_or_unfollow(&self, number: usize) -> Option<String> {
        let (one, other) = (number % UNSTEADY, number / UNSTEADY % (UNSTEADY - 1));
        let other = (one + 1 + other) % UNSTEADY;
        let token = &self.unsteady[one];
        let select = format!("user(by: {{ username: \"unsteady{other}\" }}) {{ id relation {{ status }} }}");
        let before = self.server.ask_as(token, &format!("{{ {select} }}"));
        let user = &before["data"]["user"];
        let Some(status) = user["relation"]["status"].as_str() else { return Some(wrong(&before)) };
        let (change, expected) = match status {
            "NONE" => ("follow", "FOLLOWING"),
            "FOLLOWER" => ("follow", "MUTUAL"),
            "FOLLOWING" => ("unfollow", "NONE"),
            _ => ("unfollow", "FOLLOWER"),
        };
        let input = format!("input: {{ userId: {} }}", user["id"]);
        let query =
            format!("mutation {{ {change}({input}) {{ relation {{ status }} userErrors {{ code }} }} }}");
        let response = self.server.ask_as(token, &query);
        if response["data"][change]["relation"]["status"] != expected {
            return Some(wrong(&response));
        }
        let after = self.server.ask_as(token, &format!("{{ {select} }}"));
        (after["data"]["user"]["relation"]["status"] != expected).then(|| wrong(&after))
    }

    /// Publishes a post. If that fails, tries again until the storm is over, with the same key.
    fn publish(&self) -> Option<String> {
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        let input = format!("content: \"{number}\", idempotencyKey: \"{number}\"");
        let query = format!("mutation {{ publish(input: {{ {input} }}) {{ post {{ id }} }} }}");
        let mut failed = None;
        for _ in 0..100 {
            let response = self.server.ask_as(&self.authors[number % AUTHORS], &query);
            if response["data"]["publish"]["post"]["id"].is_string() {
                lock(&self.published).insert(number.to_string(), now());
                return failed;
            }
            failed = Some(wrong(&response));
            std::thread::sleep(Duration::from_millis(100));
        }
        failed
    }
}

/// Returns the code of the first error, or the whole response if it has none.
fn wrong(response: &Value) -> String {
    match response["errors"][0]["extensions"]["code"].as_str() {
        Some(code) => code.to_owned(),
        None => response.to_string(),
    }
}

/// Returns the number of slots that a test moves.
fn slots() -> usize {
    std::env::var("FANFOLD_TEST_SLOTS").ok().and_then(|slots| slots.parse().ok()).unwrap_or(60)
}

const OPTIONS: [&str; 8] = [
    "--post-publishes-per-author",
    "1000000",
    "--relation-changes-per-pair",
    "1000000",
    "--account-registrations-per-address",
    "1000",
    "--timeline-push-limit",
    "20",
];

/// Asserts that every reader received every post, that nothing is left to deliver, and that the data is consistent.
#[allow(clippy::print_stdout, reason = "the figures of a run, for its reader")]
fn assert_settled(report: &Report, server: Server, cluster: &Cluster, directory: &TempDir) {
    println!("{}", report.describe());
    assert_eq!(report.faults, [""; 0]);
    for gauge in ["fanfold_fanout_jobs 0", "fanfold_fanout_failed_jobs 0"] {
        let is_shown = || server.page("/metrics").1.lines().any(|line| line == gauge);
        assert!(eventually(is_shown), "{gauge} is not among the metrics");
    }
    drop(server);
    check_cluster(cluster, directory);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_request_fails_while_slots_move_to_and_fro() {
    /// Time for which requests certainly wait for a slot that moves.
    const MOVED: Duration = Duration::from_millis(1_500);
    let (cluster, directory) = (Cluster::start(3, 0), tempfile::tempdir().unwrap());
    let server = serve(&cluster, &directory, &OPTIONS);
    let is_atomic = cluster.moves_slots_as_a_whole();
    let mut slowest = Duration::ZERO;
    let report = storm(&server, |_| {
        for number in 0..slots() {
            // Slots of users, of posts, of partitions and of nothing.
            let key = match number % 8 {
                0..3 => format!("ff:{{u{}}}:user", number % 43 + 1),
                3..5 => format!("ff:{{p{number}}}:post"),
                5 => format!("ff:{{f{}}}:fanout", number % 16),
                6 => "ff:{g}:layout".to_owned(),
                _ => format!("{{{number}}}"),
            };
            let began = now();
            if number % 16 < 8 && is_atomic {
                cluster.move_slot_as_a_whole(&key);
            } else {
                cluster.move_slot(&key);
            }
            slowest = slowest.max(began.elapsed());
        }
    })
    .await;
    // On a machine that is so slow that a slot takes longer, requests that need it may fail.
    let is_expected = |outcome: &&Outcome| slowest > MOVED && outcome.wrong.as_deref() == Some("UNAVAILABLE");
    let wrong: Vec<_> = report.wrong().into_iter().filter(|outcome| !is_expected(outcome)).collect();
    assert!(wrong.is_empty(), "the slowest move took {slowest:?}: {wrong:?}");
    assert_settled(&report, server, &cluster, &directory);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[allow(clippy::print_stdout, reason = "the figures of a run, for its reader")]
async fn requests_fail_for_seconds_only_when_a_master_is_killed() {
    /// Time within which requests fail after a replica has taken over, on a machine with nothing else to do: usually a
    /// second or two. On a busy machine, it is longer by as many of its slowest requests as the server may need.
    const FOLLOWED: (Duration, u32) = (Duration::from_secs(10), 20);
    let options = ["--cluster-require-full-coverage", "no"];
    let (mut cluster, directory) = (Cluster::start_with(3, 1, &options), tempfile::tempdir().unwrap());
    let server = serve(&cluster, &directory, &OPTIONS);
    // When masters were killed, when their replicas had taken over, and whether all requests succeeded then.
    let mut outages = Vec::new();
    let report = storm(&server, |storm| {
        for _ in 0..3 {
            cluster.wait_for_replica_of(cluster.nodes[0].port);
            let killed = now();
            drop(cluster.nodes.remove(0));
            cluster.wait_for_owners();
            outages.push((killed, now(), storm.recovers()));
            std::thread::sleep(Duration::from_secs(1));
        }
    })
    .await;
    assert!(outages.iter().all(|(.., has_recovered)| *has_recovered), "{outages:?}");
    let mut longest = Duration::ZERO;
    for outcome in report.wrong() {
        assert_eq!(outcome.wrong.as_deref(), Some("UNAVAILABLE"), "{outcome:?}");
        let end = outcome.at + outcome.took;
        let outage = outages.iter().rfind(|(killed, ..)| *killed <= end);
        let (_, taken_over, _) = outage.expect("a master was killed");
        longest = longest.max(end.saturating_duration_since(*taken_over));
    }
    println!("the last request failed {longest:?} after a replica had taken over");
    let undisturbed = report.outcomes.iter().filter(|outcome| outcome.at + outcome.took < outages[0].0);
    let slowest = undisturbed.map(|outcome| outcome.took).max().expect("there were requests before");
    let most = FOLLOWED.0 + FOLLOWED.1 * slowest;
    assert!(longest < most, "requests failed for {longest:?}, more than {most:?}: {:?}", report.wrong());
    assert_settled(&report, server, &cluster, &directory);
}
