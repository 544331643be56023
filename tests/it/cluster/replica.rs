//! Reads from the replicas of a cluster.

use std::cell::RefCell;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::cluster::{Cluster, Node};
use crate::harness::feed::{follow, publish};
use crate::harness::monitor::monitor;
use crate::harness::server::{Server, eventually, serve};

/// Commands that only read.
const READS: [&str; 14] = [
    "HMGET",
    "ZREVRANGE",
    "ZCARD",
    "HGET",
    "HGETALL",
    "EVALSHA",
    "EVAL",
    "ZMSCORE",
    "ZSCORE",
    "LRANGE",
    "LINDEX",
    "LLEN",
    "EXISTS",
    "GET",
];
/// Commands that replicas execute.
const LAGGING: [&str; 3] = ["HMGET", "ZREVRANGE", "ZCARD"];

/// The name of a command as a node reports it.
fn name(line: &str) -> String {
    line.split('"').nth(1).unwrap_or_default().to_ascii_uppercase()
}

/// The replicas, with what they execute.
struct Replicas<'a> {
    cluster: &'a Cluster,
    reported: Vec<Receiver<String>>,
    /// All reads so far.
    reads: RefCell<Vec<String>>,
    /// A key of each master.
    keys: [String; 3],
}

impl<'a> Replicas<'a> {
    /// Watches the replicas of a cluster of three masters with one each.
    fn watch(cluster: &'a Cluster) -> Self {
        let reported = cluster.nodes[3..].iter().map(|node| monitor(node.port)).collect();
        let mut keys = (0..1_000).map(|number| format!("key{number}"));
        let mut key_of = |master| keys.find(|key| cluster.share_of(key) == master);
        let keys = [0, 1, 2].map(|master| key_of(master).unwrap());
        Self { cluster, reported, reads: RefCell::default(), keys }
    }

    fn nodes(&self) -> &'a [Node] {
        &self.cluster.nodes[3..]
    }

    /// Returns the number of reads that the replicas have executed so far.
    fn reads(&self) -> usize {
        for (node, reported) in self.nodes().iter().zip(&self.reported) {
            // All commands before this one have been reported when it is.
            node.redis.raw::<String>(&["ECHO", "now"]);
            let reported = reported.iter().take_while(|line| name(line) != "ECHO");
            // Those over sockets are of this test.
            let is_read = |line: &String| READS.contains(&name(line).as_str()) && !line.contains(" unix:");
            self.reads.borrow_mut().extend(reported.filter(is_read));
        }
        self.reads.borrow().len()
    }

    /// Returns true if a server reads them for a user who has not written lately.
    fn are_read(&self, server: &Server, token: &str) -> bool {
        let before = self.reads();
        profile(server, token, "ada");
        self.reads() > before
    }

    /// Returns true if a server reads them although none has what its master had before.
    fn are_read_while_they_lag(&self, server: &Server, token: &str) -> bool {
        let value = self.reads().to_string();
        for key in &self.keys {
            self.cluster.try_raw(&["SET", key, &value]).unwrap();
        }
        let has_value = |(node, key): (&Node, &String)| {
            node.redis.raw::<()>(&["READONLY"]);
            node.redis.raw::<Option<String>>(&["GET", key]).as_ref() == Some(&value)
        };
        self.are_read(server, token) && !self.nodes().iter().zip(&self.keys).any(has_value)
    }
}

fn profile(server: &Server, token: &str, name: &str) -> Value {
    let query = format!(
        "{{ user(by: {{ username: \"{name}\" }}) {{ id displayName followers(first: 5) {{ totalCount nodes {{ username relation {{ status }} }} }}
            posts(first: 5) {{ totalCount nodes {{ content }} }} }} }}"
    );
    let response = server.ask_as(token, &query);
    assert_eq!(response["errors"], Value::Null, "{response}");
    response["data"]["user"].clone()
}

fn change(server: &Server, token: &str, mutation: &str) {
    let response = server.ask_as(token, &format!("mutation {{ {mutation} }}"));
    assert_eq!(response["errors"], Value::Null, "{response}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_that_lag_are_read_but_hide_neither_posts_nor_own_writes() {
    let (cluster, directory) = (Cluster::start_behind_proxies(3, 1, &[]), tempfile::tempdir().unwrap());
    let serve = || serve(&cluster, &directory, &["--redis-replica-reads"]);
    let (one, other) = (serve(), serve());
    let [ada, ben, eve] = ["ada", "ben", "eve"].map(|name| one.token(name));
    follow(&one, &eve, "ada");
    let replicas = Replicas::watch(&cluster);
    // As if she had not written for a while: a note says that she has, and expires.
    let note = "ff:{u3}:written";
    let master = &cluster.owner_of(&["EXISTS", note]).redis;
    assert_ne!(master.raw::<i64>(&["PTTL", note]), -1, "it expires");
    master.raw::<()>(&["DEL", note]);
    for server in [&one, &other] {
        assert!(eventually(|| replicas.are_read(server, &eve)), "replicas are read");
    }

    for node in &cluster.nodes[..3] {
        node.proxy().delay_replication(Duration::from_secs(2));
    }
    let are_read_while_they_lag =
        || [&one, &other].iter().all(|server| eventually(|| replicas.are_read_while_they_lag(server, &eve)));
    assert!(are_read_while_they_lag());
    let id = profile(&one, &ada, "ben")["id"].clone();
    for round in 0..5 {
        let (one, other) = if round % 2 == 0 { (&one, &other) } else { (&other, &one) };
        // Nothing of this post is on a replica when another user reads it.
        let content = format!("post {round}");
        let post = publish(one, &ada, &content);
        let read = format!("{{ post(id: \"{post}\") {{ content author {{ username }} }} }}");
        assert_eq!(other.ask_as(&eve, &read)["data"]["post"]["content"], json!(content));
        assert_eq!(profile(other, &eve, "ada")["posts"]["nodes"][0]["content"], json!(content));
        let timeline = "{ viewer { timeline(first: 1) { nodes { content author { username } } } } }";
        let newest =
            || other.ask_as(&eve, timeline)["data"]["viewer"]["timeline"]["nodes"][0]["content"].clone();
        assert!(eventually(|| newest() == json!(content)));
        let stranger = one.token(&format!("stranger{round}"));
        assert_eq!(
            profile(other, &eve, &format!("stranger{round}"))["displayName"],
            json!(format!("stranger{round}"))
        );

        change(one, &ada, &format!("follow(input: {{ userId: {id} }}) {{ userErrors {{ code }} }}"));
        let followers =
            json!({ "totalCount": 1, "nodes": [{ "username": "ada", "relation": { "status": "NONE" } }] });
        assert_eq!(profile(other, &ada, "ben")["followers"]["totalCount"], followers["totalCount"]);
        assert_eq!(profile(other, &ada, "ben")["followers"]["nodes"][0]["username"], json!("ada"));
        change(other, &ada, &format!("unfollow(input: {{ userId: {id} }}) {{ userErrors {{ code }} }}"));
        assert_eq!(profile(one, &ada, "ben")["followers"]["totalCount"], json!(0));
        change(one, &stranger, &format!("follow(input: {{ userId: {id} }}) {{ userErrors {{ code }} }}"));
        assert_eq!(
            profile(other, &stranger, "ben")["followers"]["nodes"][0]["relation"]["status"],
            Value::Null
        );
        change(other, &stranger, &format!("unfollow(input: {{ userId: {id} }}) {{ userErrors {{ code }} }}"));

        change(
            one,
            &ben,
            &format!("updateProfile(input: {{ displayName: \"Ben {round}\" }}) {{ userErrors {{ code }} }}"),
        );
        assert_eq!(profile(other, &ben, "ben")["displayName"], json!(format!("Ben {round}")));
        change(
            one,
            &ada,
            &format!("deletePost(input: {{ postId: \"{post}\" }}) {{ userErrors {{ code }} }}"),
        );
        assert_eq!(other.ask_as(&ada, &read)["data"]["post"], Value::Null);
    }
    assert!(are_read_while_they_lag());
    let mut others = replicas.reads.into_inner();
    others.retain(|line| !LAGGING.contains(&name(line).as_str()));
    assert_eq!(others, [""; 0], "sessions, relations and timelines are read from masters");
}

#[test]
fn a_single_server_has_no_replicas_to_read() {
    let redis = crate::harness::deployment::Redis::start_with(&[]);
    let url = redis.url();
    let serve = ["serve", "--http-listen", "127.0.0.1:0", "--redis-url", &url, "--redis-replica-reads"];
    let output = crate::harness::server::command(&serve).output().unwrap();
    assert!(!output.status.success());
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("--redis-replica-reads requires a Redis Cluster"), "{error}");
}
