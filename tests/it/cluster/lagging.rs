//! Servers over a cluster whose replicas lag behind their masters.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use redis::from_redis_value;
use serde_json::Value;
use tokio::time::Instant;

use crate::harness::cluster::{Cluster, Node};
use crate::harness::feed::{TIMELINE, follow, publish_in_the_end, wait_until_first};
use crate::harness::placement::placed;
use crate::harness::server::{Server, eventually, serve};
use crate::harness::socket::Socket;
use crate::harness::story::name;

fn connection(node: &Node) -> redis::Connection {
    let client = redis::Client::open(format!("redis://127.0.0.1:{}", node.port)).unwrap();
    client.get_connection().unwrap()
}

fn set(master: &Node, value: u64) {
    redis::cmd("SET").arg("key").arg(value).exec(&mut connection(master)).unwrap();
}

/// Returns true if a node has this value, as a replica or as a master.
fn has(node: &Node, value: u64) -> bool {
    let mut connection = connection(node);
    redis::cmd("READONLY").exec(&mut connection).unwrap();
    redis::cmd("GET").arg("key").query::<Option<u64>>(&mut connection).unwrap() == Some(value)
}

#[test]
fn a_proxy_delays_what_replicas_receive_or_what_clients_receive() {
    const DELAY: Duration = Duration::from_millis(400);
    let mut cluster = Cluster::start_behind_proxies(3, 1, &[]);
    let master = cluster.share_of("key");
    let [node, replica] = [master, master + 3].map(|node| &cluster.nodes[node]);
    set(node, 1);
    assert!(eventually(|| has(replica, 1)));
    node.proxy().hold_back_replication();
    let began = Instant::now();
    set(node, 2);
    assert!(has(replica, 1), "clients are not delayed");
    node.proxy().delay_replication(DELAY);
    assert!(eventually(|| has(replica, 2)) && began.elapsed() >= DELAY);
    node.proxy().hold_back_replication();
    set(node, 3);
    std::thread::sleep(2 * DELAY);
    assert!(has(replica, 2));
    node.proxy().release_replication();
    assert!(eventually(|| has(replica, 3)));
    node.proxy().hold_back_replication();
    set(node, 4);
    let began = Instant::now();
    node.proxy().delay_replies(DELAY);
    assert!(has(node, 4) && began.elapsed() >= DELAY);

    // What was held back is lost with the master. The replica takes over behind its own proxy.
    cluster.nodes[master].redis.kill();
    cluster.nodes.remove(master);
    cluster.wait_for_owners();
    let replica = cluster.owner_of(&["GET", "key"]);
    assert!(has(replica, 3));
    set(replica, 5);
}

/// Publishes a post, and returns the number in its id.
async fn number_of_new_post(server: &Server, token: &str, content: &str) -> u64 {
    let id = URL_SAFE_NO_PAD.decode(publish_in_the_end(server, token, content).await).unwrap();
    String::from_utf8(id).unwrap().strip_prefix("Post:").unwrap().parse().unwrap()
}

/// Waits until a subscription receives the post with this content.
async fn wait_for_event(socket: &mut Socket, content: &str) {
    loop {
        let event = socket.receive().await;
        let received = event["payload"]["data"]["timeline"]["edge"]["node"]["content"].as_str();
        if received.unwrap_or_else(|| panic!("{event}")) == content {
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_id_is_issued_again_by_a_replica_that_lagged_behind() {
    replace_issuer(true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_id_is_issued_again_by_a_replica_that_has_received_none() {
    replace_issuer(false).await;
}

/// Has a replica that lags take over from the master that issues ids. It has received the first id, or none.
async fn replace_issuer(has_received: bool) {
    /// Number of posts whose ids the replica does not know to be issued.
    const POSTS: u64 = 200;
    let counter = ["GET", "ff:{g}:next:post"];
    // A replica may take over however long it has received nothing.
    let options = ["--cluster-replica-validity-factor", "0"];
    let (mut cluster, directory) =
        (Cluster::start_behind_proxies(3, 1, &options), tempfile::tempdir().unwrap());
    let options = ["--timeline-push-limit", "1", "--post-publishes-per-author", "1000000"];
    let old = serve(&cluster, &directory, &options);
    let users = placed(&cluster, &old, 20);
    let down = cluster.share_of(counter[1]);
    let elsewhere: Vec<usize> =
        (0..users.len()).filter(|user| users[*user].is_served_without(down)).collect();
    let [star, pushed, reader, live] = elsewhere[..4] else { panic!("too few users elsewhere") };
    for (follower, author) in [(reader, star), (reader, pushed), (live, star)] {
        follow(&old, &users[follower].token, &name(author + 1));
    }
    let [star, pushed, reader, live] = [star, pushed, reader, live].map(|user| &users[user].token);
    let mut socket = Socket::acknowledged(&old, Some(live)).await;
    socket.watch_timeline(&old, TIMELINE, Value::Null).await;
    if has_received {
        number_of_new_post(&old, star, "first").await;
        wait_until_first(&old, reader, "first").await;
    }
    cluster.wait_for_replica_of(cluster.nodes[down].port);
    cluster.nodes[down].proxy().hold_back_replication();
    let issued = |cluster: &Cluster| {
        let counter: Option<u64> = from_redis_value(cluster.try_raw(&counter).unwrap()).unwrap();
        counter.unwrap_or_default()
    };
    let known = issued(&cluster);
    let mut greatest = known;
    for number in 0..POSTS {
        let author = if number % 2 == 0 { pushed } else { star };
        greatest = greatest.max(number_of_new_post(&old, author, &number.to_string()).await);
    }
    assert!(greatest >= known + POSTS);
    let last = (POSTS - 1).to_string();
    wait_until_first(&old, reader, &last).await;
    wait_for_event(&mut socket, &last).await;

    // Were it not paused, this process might raise the counter before the other one publishes.
    old.signal("-STOP");
    let port = cluster.nodes[down].port;
    cluster.nodes[down].redis.kill();
    cluster.nodes.retain(|node| node.port != port);
    cluster.wait_for_owners();
    assert_eq!(issued(&cluster), known);
    let new = serve(&cluster, &directory, &options);
    let mut publish = async |server: &Server, author: &str, content: &str| {
        let number = number_of_new_post(server, author, content).await;
        assert!(number > greatest, "{number} is not above {greatest}");
        greatest = number;
    };
    publish(&new, pushed, "new pushed").await;
    publish(&new, star, "new star").await;
    wait_until_first(&new, reader, "new star").await;
    old.signal("-CONT");
    wait_for_event(&mut socket, "new star").await;
    for (server, author, content) in [
        (&old, star, "old star"),
        (&old, pushed, "old pushed"),
        (&new, star, "another new star"),
        (&new, pushed, "another new pushed"),
    ] {
        publish(server, author, content).await;
        for reading in [&old, &new] {
            wait_until_first(reading, reader, content).await;
        }
        if author == star {
            wait_for_event(&mut socket, content).await;
        }
    }
}
