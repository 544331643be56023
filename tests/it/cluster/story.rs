//! Servers over a Redis Cluster: the same responses as over a single Redis, while masters fail and slots move.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use serde_json::Value;

use crate::harness::check::check_cluster;
use crate::harness::cluster::Cluster;
use crate::harness::feed::{
    TIMELINE, follow, publish, publish_in_the_end, timeline, wait_for_timeline, wait_until_first,
};
use crate::harness::placement::placed;
use crate::harness::server::{Server, eventually, serve};
use crate::harness::socket::Socket;
use crate::harness::story::{USERS, expected_timeline, follows, name, story};
use crate::harness::wait::{StopOnDrop, eventually_async};
use crate::harness::world::Redis;

/// Returns what each user sees of each other.
fn views(server: &Server, tokens: &[String]) -> Vec<Value> {
    let user = "username displayName relation { status }";
    let list = format!("totalCount nodes {{ {user} }} pageInfo {{ hasNextPage hasPreviousPage }}");
    let view = |viewer: usize, other: usize| {
        let query = format!(
            "{{ user(by: {{ username: \"{}\" }}) {{ {user} followers(first: 4) {{ {list} }}
            following(first: 4) {{ {list} }} mutuals(first: 4) {{ {list} }} knownFollowers(first: 4) {{ {list} }}
            posts(first: 2) {{ totalCount nodes {{ content author {{ {user} }} }} }} }} }}",
            name(other)
        );
        server.ask_as(&tokens[viewer], &query)
    };
    (0..USERS)
        .flat_map(|viewer| (0..USERS).map(move |other| (viewer, other)))
        .map(|(one, other)| view(one, other))
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_serves_the_same_responses_as_a_single_server() {
    let redis = Redis::start();
    let single = Server::over(&redis, &[]);
    let expected = views(&single, &story(&single).await);
    let (cluster, directory) = (Cluster::start(3, 0), tempfile::tempdir().unwrap());
    for (strategy, masters) in [("zinterstore", 3), ("zmscore", 3)] {
        let prefix = format!("{strategy}:");
        let directory = tempfile::tempdir().unwrap();
        let options =
            ["--redis-prefix", &prefix, "--relation-strategy", strategy, "--timeline-push-limit", "4"];
        let server = serve(&cluster, &directory, &options);
        assert_eq!(views(&server, &story(&server).await), expected);
        assert_eq!(cluster.statistics("keyspace", "db0").len(), masters, "all masters have keys");
    }
    // Every command went to the master that serves its keys.
    for error in ["CROSSSLOT", "MOVED", "ASK"] {
        assert_eq!(cluster.statistics("errorstats", &format!("errorstat_{error}")), [""; 0]);
    }
    drop(directory);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watchers_of_a_cluster_are_told() {
    let (cluster, directory) = (Cluster::start(3, 0), tempfile::tempdir().unwrap());
    let options = ["--timeline-push-limit", "1"];
    let (one, other) = (serve(&cluster, &directory, &options), serve(&cluster, &directory, &options));
    let [ada, ben, eve] = ["ada", "ben", "eve"].map(|name| one.token(name));
    let mut socket = Socket::acknowledged(&other, Some(&ada)).await;
    follow(&one, &ada, "ben");
    socket.watch_timeline(&other, TIMELINE, Value::Null).await;
    // Pushed, and then pulled.
    for (content, fan) in [("one", Some(&eve)), ("two", None), ("three", None)] {
        publish(&one, &ben, content);
        assert_eq!(socket.receive().await["payload"]["data"]["timeline"]["edge"]["node"]["content"], content);
        if let Some(fan) = fan {
            follow(&one, fan, "ben");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_take_over_from_masters_that_are_killed() {
    let (mut cluster, directory) = (Cluster::start(3, 1), tempfile::tempdir().unwrap());
    let server = serve(&cluster, &directory, &[]);
    let tokens = story(&server).await;
    let mut expected = views(&server, &tokens);
    let fan = (1..USERS).find(|user| follows(*user, 0)).unwrap();
    let mut posts = expected_timeline(fan);
    for master in 0..3 {
        cluster.wait_for_replica_of(cluster.nodes[master].port);
        cluster.nodes[master].redis.kill();
        eventually_async(async || views(&server, &tokens) == expected).await;
        assert_eq!(views(&server, &tokens), expected);
        let content = format!("after {master}");
        publish(&server, &tokens[0], &content);
        posts.insert(0, content);
        wait_for_timeline(&server, &tokens[fan], &posts).await;
        expected = views(&server, &tokens);
    }
    drop(server);
    check_cluster(&cluster, &directory);
}

/// Starts a cluster of masters that keep their data when they are killed. While one is down, the others serve their
/// slots.
fn lasting_cluster() -> Cluster {
    Cluster::start_with(3, 0, &["--appendonly", "yes", "--cluster-require-full-coverage", "no"])
}

/// Publishes a post that is stored by another master than this one.
fn publish_elsewhere(cluster: &Cluster, master: usize, server: &Server, token: &str, content: &str) {
    let counter = "ff:{g}:next:post";
    let global = &cluster.nodes[cluster.share_of(counter)].redis;
    let next = || global.raw::<Option<u64>>(&["GET", counter]).unwrap_or(0) + 1;
    while cluster.share_of(&format!("ff:{{p{}}}:post", next())) == master {
        // Not every id that is issued is used.
        global.raw::<u64>(&["INCR", counter]);
    }
    publish(server, token, content);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deliveries_to_other_masters_go_on_while_one_is_down() {
    let (mut cluster, directory) = (lasting_cluster(), tempfile::tempdir().unwrap());
    // If one process did not report that its jobs wait, the other one would take them over.
    let [server, _other] = [(); 2].map(|()| serve(&cluster, &directory, &[]));
    let users = placed(&cluster, &server, 20);
    // Neither the first master, which this test asks, nor that of the counters.
    let down = 3 - cluster.share_of("ff:{g}:layout");
    let mut authors = (0..users.len()).filter(|user| users[*user].is_served_without(down));
    let [author, lonely] = [(); 2].map(|()| authors.next().expect("there are users elsewhere"));
    let fans = || (0..users.len()).filter(|user| *user != author);
    for fan in fans() {
        follow(&server, &users[fan].token, &name(author + 1));
        assert_eq!(timeline(&server, &users[fan].token), [""; 0]);
    }
    let (away, here): (Vec<_>, Vec<_>) = fans().partition(|fan| users[*fan].master == down);
    // All followers of the other author are on the master that is down.
    follow(&server, &users[away[0]].token, &name(lonely + 1));
    cluster.nodes[down].redis.kill();
    publish_elsewhere(&cluster, down, &server, &users[lonely].token, "to one");
    let mut expected = Vec::new();
    for number in 0..3 {
        expected.insert(0, number.to_string());
        publish_elsewhere(&cluster, down, &server, &users[author].token, &number.to_string());
        for fan in here.iter().filter(|fan| **fan != lonely) {
            wait_for_timeline(&server, &users[*fan].token, &expected).await;
        }
    }
    // The process is ready as long as most masters respond.
    assert_eq!(server.page("/readyz").0, 200);
    let (_, metrics) = server.page("/metrics");
    for (index, node) in cluster.nodes.iter().enumerate() {
        let is_up = u8::from(index != down);
        let line = format!("fanfold_redis_node_up{{node=\"127.0.0.1:{}\"}} {is_up}", node.port);
        assert!(metrics.lines().any(|other| other == line), "{line}");
    }
    for fan in &away {
        let response = server.ask_as(&users[*fan].token, "{ viewer { timeline { nodes { content } } } }");
        assert_eq!(response["errors"][0]["extensions"]["code"], "UNAVAILABLE");
    }
    // The time after which the jobs of a silent worker are taken over.
    tokio::time::sleep(Duration::from_secs(7)).await;
    let mut waiting = 0;
    for user in [author, lonely] {
        let stream = format!("ff:{{f{}}}:fanout", (user + 1) % 16);
        let pending = ["XPENDING", &stream, "delivery", "-", "+", "10"];
        let pending: Vec<(String, String, u64, u64)> =
            cluster.nodes[users[user].deliveries].redis.raw(&pending);
        assert!(pending.iter().all(|(_, _, idle, starts)| *idle < 5_000 && *starts == 1), "{pending:?}");
        waiting += pending.len();
    }
    assert_eq!(waiting, 4);
    cluster.nodes[down].restart();
    for fan in &away {
        let to_one = (*fan == away[0]).then(|| "to one".to_owned());
        let expected: Vec<String> = expected.iter().cloned().chain(to_one).collect();
        wait_for_timeline(&server, &users[*fan].token, &expected).await;
    }
    drop(server);
    check_cluster(&cluster, &directory);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn timelines_are_read_while_the_master_of_the_watermark_is_down() {
    let (mut cluster, directory) = (lasting_cluster(), tempfile::tempdir().unwrap());
    let server = serve(&cluster, &directory, &["--timeline-push-limit", "1"]);
    let users = placed(&cluster, &server, 20);
    let down = cluster.share_of("ff:{g}:layout");
    let here: Vec<usize> = (0..users.len()).filter(|user| users[*user].master != down).collect();
    let [pushed, star, fan, other] = here[..4] else { panic!("too few users elsewhere") };
    for (follower, author) in [(fan, pushed), (fan, star), (other, star)] {
        follow(&server, &users[follower].token, &name(author + 1));
    }
    publish_elsewhere(&cluster, down, &server, &users[pushed].token, "pushed");
    publish_elsewhere(&cluster, down, &server, &users[star].token, "pulled");
    let expected = ["pulled".to_owned(), "pushed".to_owned()];
    wait_for_timeline(&server, &users[fan].token, &expected).await;
    // The delivered mark, which is read every second, has reached the posts: it was read twice after their delivery, once
    // from beginning to end.
    let is_delivered = || server.page("/metrics").1.contains("\nfanfold_fanout_jobs 0\n");
    assert!(eventually(is_delivered));
    let read = server.round_trips("delivered mark");
    assert!(eventually(|| server.round_trips("delivered mark") >= read + 2));
    cluster.nodes[down].redis.kill();
    // The state is cached for a second.
    assert!(eventually(|| server.page("/readyz").0 == 503));
    for _ in 0..20 {
        assert_eq!(timeline(&server, &users[fan].token), expected);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    cluster.nodes[down].restart();
    publish_in_the_end(&server, &users[star].token, "later").await;
    wait_until_first(&server, &users[fan].token, "later").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slots_move_while_they_are_read_and_written() {
    let (cluster, directory) = (Cluster::start(3, 0), tempfile::tempdir().unwrap());
    let server = serve(&cluster, &directory, &["--post-publishes-per-author", "1000000"]);
    let tokens = story(&server).await;
    let expected = views(&server, &tokens);
    let [star, fan] = ["star", "fan"].map(|name| server.token(name));
    let (stop, reads, writes) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                for (view, expected) in views(&server, &tokens).iter().zip(&expected) {
                    assert_eq!(view, expected);
                }
                reads.fetch_add(1, Ordering::Relaxed);
            }
        });
        scope.spawn(|| {
            follow(&server, &fan, "star");
            while !stop.load(Ordering::Relaxed) {
                publish(&server, &star, &writes.load(Ordering::Relaxed).to_string());
                writes.fetch_add(1, Ordering::Relaxed);
            }
        });
        // Even if this thread panics, the others end.
        let _stop = StopOnDrop(&stop);
        for user in 1..=USERS + 2 {
            cluster.move_slot(&format!("ff:{{u{user}}}:user"));
        }
        cluster.move_slot("ff:{g}:layout");
        for partition in 0..16 {
            cluster.move_slot(&format!("ff:{{f{partition}}}:fanout"));
        }
    });
    assert!(reads.into_inner() > 0);
    let posts: Vec<String> =
        (0..writes.into_inner()).rev().take(100).map(|number| number.to_string()).collect();
    wait_for_timeline(&server, &fan, &posts).await;
    drop(server);
    check_cluster(&cluster, &directory);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn relations_and_lists_answer_while_a_slot_is_half_moved() {
    let cluster = Cluster::start(3, 0);
    for strategy in ["zinterstore", "zmscore"] {
        let (prefix, directory) = (format!("{strategy}:"), tempfile::tempdir().unwrap());
        let server =
            serve(&cluster, &directory, &["--redis-prefix", &prefix, "--relation-strategy", strategy]);
        let tokens = story(&server).await;
        let query = "{ users: viewer { user { followers(first: 20) { totalCount nodes { username relation { status } } }
            following(first: 20) { totalCount nodes { username relation { status } } } } } }";
        let expected = server.ask_as(&tokens[0], query);
        // The first user has the id 1.
        for moved in ["following", "followers"] {
            let moving = cluster.begin_to_move_slot(&format!("{prefix}{{u1}}:user"));
            moving.move_key(&format!("{prefix}{{u1}}:{moved}"));
            assert_eq!(server.ask_as(&tokens[0], query), expected, "{strategy}, with {moved} moved");
            moving.end();
            assert_eq!(server.ask_as(&tokens[0], query), expected);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watchers_are_told_after_their_slots_have_moved_and_their_masters_have_failed() {
    let (mut cluster, directory) = (Cluster::start(3, 1), tempfile::tempdir().unwrap());
    let server = serve(&cluster, &directory, &["--timeline-push-limit", "1"]);
    let [ada, ben, eve, kim] = ["ada", "ben", "eve", "kim"].map(|name| server.token(name));
    // One author is pushed, and the other is a star.
    for (token, author) in [(&ada, "ben"), (&ada, "eve"), (&kim, "eve")] {
        follow(&server, token, author);
    }
    let mut socket = Socket::acknowledged(&server, Some(&ada)).await;
    socket.watch_timeline(&server, TIMELINE, Value::Null).await;
    let mut number = 0;
    for key in ["ff:{u1}:user", "ff:{g}:layout"] {
        cluster.move_slot(key);
        tell(&server, &mut socket, [&ben, &eve], &mut number).await;
    }
    for key in ["ff:{u1}:user", "ff:{g}:layout"] {
        let port = cluster.owner_of(&["EXISTS", key]).port;
        cluster.wait_for_replica_of(port);
        let master = cluster.nodes.iter_mut().find(|node| node.port == port).unwrap();
        master.redis.kill();
        cluster.nodes.retain(|node| node.port != port);
        cluster.wait_for_owners();
        tell(&server, &mut socket, [&ben, &eve], &mut number).await;
    }
}

/// Publishes as each of these authors, and asserts that the watcher is told.
async fn tell(server: &Server, socket: &mut Socket, authors: [&String; 2], number: &mut usize) {
    for author in authors {
        *number += 1;
        publish_in_the_end(server, author, &number.to_string()).await;
        let event = socket.receive().await;
        assert_eq!(
            event["payload"]["data"]["timeline"]["edge"]["node"]["content"],
            number.to_string(),
            "{event}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ids_are_not_issued_again_by_a_node_that_has_lost_some() {
    let (cluster, directory) = (Cluster::start(3, 0), tempfile::tempdir().unwrap());
    let options = ["--timeline-push-limit", "1"];
    let old = serve(&cluster, &directory, &options);
    let [ada, ben, eve, kim] = ["ada", "ben", "eve", "kim"].map(|name| old.token(name));
    // One author is pushed, and the other is a star.
    for (token, author) in [(&ada, "ben"), (&ada, "eve"), (&kim, "eve")] {
        follow(&old, token, author);
    }
    publish(&old, &ben, "kept");
    let counter = "ff:{g}:next:post";
    let master = cluster.owner_of(&["GET", counter]);
    // Not every id that is issued is used.
    master.redis.raw::<i64>(&["INCRBY", counter, "1000"]);
    publish(&old, &ben, "lost");
    // The reader's timeline has passed the id.
    wait_until_first(&old, &ada, "lost").await;
    // As a replica has the counter that lagged behind when it took over.
    master.redis.raw::<()>(&["SET", "ff:{g}:issuer", "another node"]);
    master.redis.raw::<i64>(&["DECRBY", counter, "1001"]);
    let new = serve(&cluster, &directory, &options);
    for (server, author, content) in
        [(&new, &ben, "new"), (&old, &ben, "old"), (&new, &eve, "new star"), (&old, &eve, "old star")]
    {
        publish(server, author, content);
        for reader in [&old, &new] {
            wait_until_first(reader, &ada, content).await;
        }
    }
}
