//! Reads from the replicas of a cluster.

use std::sync::mpsc::Receiver;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::cluster::Cluster;
use crate::harness::server::{Server, eventually};
use crate::service::cluster::serve;
use crate::service::slots::monitor;
use crate::service::watch::{follow, publish};

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

/// Returns the reads that nodes have executed since the last call.
fn reads(monitors: &[Receiver<String>]) -> Vec<String> {
    let name = |line: &str| line.split('"').nth(1).unwrap_or_default().to_ascii_uppercase();
    let lines = monitors.iter().flat_map(Receiver::try_iter);
    lines.filter(|line| READS.contains(&name(line).as_str())).collect()
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
    let monitors: Vec<_> = cluster.nodes[3..].iter().map(|node| monitor(node.port)).collect();
    // Nobody has written for a while.
    let is_read = |server: &Server| {
        reads(&monitors);
        profile(server, &eve, "ada");
        std::thread::sleep(Duration::from_millis(50));
        !reads(&monitors).is_empty()
    };
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert!(eventually(|| is_read(&one)) && eventually(|| is_read(&other)), "replicas are read");

    for node in &cluster.nodes[..3] {
        node.proxy().delay_replication(Duration::from_secs(2));
    }
    // Replicas that lag are still read.
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert!(is_read(&one) && is_read(&other));
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
    assert!(is_read(&one) && is_read(&other));
    let others: Vec<String> = reads(&monitors)
        .into_iter()
        .filter(|line| {
            !LAGGING.iter().any(|name| line.to_ascii_uppercase().contains(&format!("] \"{name}\"")))
        })
        .collect();
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
