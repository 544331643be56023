//! Watching timelines and relations, through one server process and another, by clients that disconnect and resume.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Message;

use crate::harness::case::{cases, share};
use crate::harness::feed::{TIMELINE, follow, publish};
use crate::harness::server::{Server, command, eventually};
use crate::harness::socket::Socket;
use crate::harness::wait::LIMIT;
use crate::harness::world::Redis;

#[tokio::test]
async fn a_watch_resumes_through_another_process() {
    let redis = Redis::start();
    let (one, other) = (Server::over(&redis, &[]), Server::over(&redis, &["--delivery-in-server", "off"]));
    let (ada, ben) = (one.token("ada"), one.token("ben"));
    follow(&one, &ada, "ben");
    let mut socket = Socket::acknowledged(&other, Some(&ada)).await;
    socket.watch_timeline(&other, TIMELINE, Value::Null).await;
    let first = publish(&one, &ben, "first");
    let mut received = socket.receive().await;
    assert_eq!((&received["id"], &received["type"]), (&json!("t"), &json!("next")), "{received}");
    let event = received["payload"]["data"]["timeline"].take();
    assert_eq!(event["edge"]["node"]["content"], "first");
    assert_eq!(
        event["edge"]["node"]["author"],
        json!({ "username": "ben", "relation": { "status": "FOLLOWING" } })
    );
    publish(&one, &ada, "own");
    assert_eq!(socket.receive().await["payload"]["data"]["timeline"]["edge"]["node"]["content"], "own");
    drop(socket);

    // It resumes through the other process, with the events that happened meanwhile.
    publish(&one, &ben, "second");
    let delete = format!("mutation {{ deletePost(input: {{ postId: \"{first}\" }}) {{ deletedPostId }} }}");
    assert_eq!(one.ask_as(&ben, &delete)["data"]["deletePost"]["deletedPostId"], first);
    let mut socket = Socket::acknowledged(&one, Some(&ada)).await;
    socket.subscribe("t", TIMELINE, json!({ "after": event["cursor"] })).await;
    let mut received = Vec::new();
    for _ in 0..3 {
        let event = socket.receive().await["payload"]["data"]["timeline"].clone();
        received
            .push(event["edge"]["node"]["content"].as_str().or(event["postId"].as_str()).unwrap().to_owned());
    }
    received.sort();
    let mut expected = ["own".to_owned(), "second".to_owned(), first];
    expected.sort();
    assert_eq!(received, expected);
    assert!(socket.is_silent().await);
}

#[tokio::test]
async fn reposts_arrive_and_are_removed_when_they_are_undone() {
    let redis = Redis::start();
    let server = Server::over(&redis, &[]);
    let [ada, ben, eve] = ["ada", "ben", "eve"].map(|name| server.token(name));
    follow(&server, &ada, "ben");
    publish(&server, &ben, "before");
    let page = server.ask_as(&ada, "{ viewer { timeline { pageInfo { startCursor } } } }");
    let start = &page["data"]["viewer"]["timeline"]["pageInfo"]["startCursor"];
    let post = publish(&server, &eve, "by eve");
    let change = |token: &str, mutation: &str| {
        let query =
            format!("mutation {{ {mutation}(input: {{ postId: \"{post}\" }}) {{ userErrors {{ code }} }} }}");
        assert_eq!(server.ask_as(token, &query)["data"][mutation]["userErrors"], json!([]));
    };
    let query = "subscription ($after: String) { timeline(after: $after) { __typename
        ... on PostAdded { edge { node { id } repostedBy { username } } }
        ... on PostRemoved { postId } ... on RepostRemoved { postId userId } } }";
    let mut socket = Socket::acknowledged(&server, Some(&ada)).await;
    socket.subscribe("t", query, json!({ "after": start })).await;
    let mut event = async || socket.receive().await["payload"]["data"]["timeline"].take();
    let added = json!({
        "__typename": "PostAdded", "edge": { "node": { "id": post }, "repostedBy": [{ "username": "ben" }] }
    });
    let user = &server.ask("{ user(by: { username: \"ben\" }) { id } }")["data"]["user"]["id"];
    let undone = json!({ "__typename": "RepostRemoved", "postId": post, "userId": user });
    for _ in 0..2 {
        change(&ben, "repost");
        assert_eq!(event().await, added);
        change(&ben, "undoRepost");
        assert_eq!(event().await, undone);
    }
    change(&ben, "repost");
    assert_eq!(event().await, added);
    change(&eve, "deletePost");
    assert_eq!(event().await, json!({ "__typename": "PostRemoved", "postId": post }));
}

#[tokio::test]
async fn an_event_of_which_a_part_cannot_be_read_is_sent_without_it_and_again_to_a_client_that_resumes() {
    let redis = Redis::start();
    let server = Server::over(&redis, &[]);
    let (ada, ben) = (server.token("ada"), server.token("ben"));
    follow(&server, &ada, "ben");
    publish(&server, &ben, "before");
    let page = server.ask_as(&ada, "{ viewer { timeline { pageInfo { startCursor } } } }");
    let start = &page["data"]["viewer"]["timeline"]["pageInfo"]["startCursor"];
    let query = "subscription ($after: String) { timeline(after: $after) {
        ... on PostAdded { cursor edge { node { content author { following { totalCount } } } } } } }";
    // The field selected of the author cannot be read.
    redis.raw::<()>(&["SET", "ff:{u2}:following", "broken"]);
    publish(&server, &ben, "now");
    let mut socket = Socket::acknowledged(&server, Some(&ada)).await;
    socket.subscribe("t", query, json!({ "after": start })).await;
    let received = socket.receive().await;
    let post = &received["payload"]["data"]["timeline"]["edge"]["node"];
    assert_eq!(*post, json!({ "content": "now", "author": { "following": { "totalCount": null } } }));
    let error = &received["payload"]["errors"][0];
    assert_eq!(error["path"], json!(["timeline", "edge", "node", "author", "following", "totalCount"]));
    assert_eq!(error["extensions"]["code"], "INTERNAL_SERVER_ERROR");
    assert!(socket.is_silent().await);
    redis.raw::<i64>(&["DEL", "ff:{u2}:following"]);
    socket.subscribe("again", query, json!({ "after": start })).await;
    assert_eq!(socket.receive().await["payload"]["data"]["timeline"]["edge"]["node"]["content"], "now");
}

/// A bucket of a hundred tokens, of which hardly any are refilled during a test.
const CHARGED: [&str; 4] = ["--graphql-rate-limit", "1", "--graphql-cost-limit", "100"];
/// Users may change their relations as often as they like.
const UNTHROTTLED: [&str; 2] = ["--relation-changes-per-pair", "1000000"];
/// Each event about a relation costs 3: the event, the relation, and a field or several of it.
const RELATION_COST: u64 = 3;

/// Returns the number of tokens missing from a bucket of which one is refilled each minute.
fn missing_tokens(redis: &Redis, bucket: &str) -> u64 {
    // A bucket expires a minute after it is full.
    let lifetime: i64 = redis.raw(&["PTTL", bucket]);
    u64::try_from(lifetime - 60_000).map_or(0, |full_in| full_in.div_ceil(60_000))
}

fn change_relation(server: &Server, token: &str, mutation: &str, other: &Value) -> Value {
    let query =
        format!("mutation {{ {mutation}(input: {{ userId: {other} }}) {{ userErrors {{ code }} }} }}");
    server.ask_as(token, &query)["data"][mutation]["userErrors"].take()
}

fn id_of(server: &Server, username: &str) -> Value {
    server.ask(&format!("{{ user(by: {{ username: \"{username}\" }}) {{ id }} }}"))["data"]["user"]["id"]
        .take()
}

#[tokio::test]
async fn events_take_tokens_from_a_bucket_of_their_own_and_wait_for_them_without_being_lost() {
    let redis = Redis::start();
    let (server, unlimited) = (Server::over(&redis, &CHARGED), Server::over(&redis, &[]));
    let (ada, ben) = (server.token("ada"), unlimited.token("ben"));
    follow(&server, &ada, "ben");
    let query =
        "subscription ($after: String) { timeline(after: $after) { cursor ... on PostAdded { edge { node {
        content author { followers(first: 30) { nodes { username } } } } } } } }";
    let mut socket = Socket::acknowledged(&server, Some(&ada)).await;
    socket.watch_timeline(&server, query, Value::Null).await;
    let operations = missing_tokens(&redis, "ff:{u1}:cost");
    // The bucket has tokens for two events. The third waits, and the viewer's operations do not.
    let mut cursor = Value::Null;
    for content in ["one", "two"] {
        publish(&unlimited, &ben, content);
        let event = socket.receive().await["payload"]["data"]["timeline"].take();
        assert_eq!(event["edge"]["node"]["content"], content);
        cursor = event["cursor"].clone();
    }
    publish(&unlimited, &ben, "three");
    assert!(socket.is_silent().await);
    assert!(missing_tokens(&redis, "ff:{u1}:cost") <= operations, "events cost operations nothing");
    let viewer = server.ask_as(&ada, "{ viewer { user { username } } }");
    assert_eq!(viewer["data"]["viewer"]["user"]["username"], "ada");
    drop(socket);
    let mut socket = Socket::acknowledged(&unlimited, Some(&ada)).await;
    socket.subscribe("t", query, json!({ "after": cursor })).await;
    assert_eq!(socket.receive().await["payload"]["data"]["timeline"]["edge"]["node"]["content"], "three");
    assert!(socket.is_silent().await);
}

#[tokio::test]
async fn a_user_who_follows_and_unfollows_takes_no_tokens_for_operations_and_few_for_events() {
    let redis = Redis::start();
    let server = Server::over(&redis, &["--graphql-rate-limit", "1"]);
    let unlimited = Server::over(&redis, &UNTHROTTLED);
    let (ada, ben) = (server.token("ada"), unlimited.token("ben"));
    let id = id_of(&unlimited, "ada");
    let mut socket = Socket::acknowledged(&server, Some(&ada)).await;
    assert!(eventually(|| redis.has_subscriber(1)));
    socket.watch_relations("status followerSince").await;
    let before = missing_tokens(&redis, "ff:{u1}:cost");
    let began = Instant::now();
    let changes = share(800);
    for number in 0..changes {
        let mutation = ["follow", "unfollow"][usize::from(number % 2 == 1)];
        assert_eq!(change_relation(&unlimited, &ben, mutation, &id), json!([]));
    }
    assert_eq!(change_relation(&unlimited, &ben, "follow", &id), json!([]));
    // The last state arrives, wherever the client was.
    let query = "{ user(by: { username: \"ben\" }) { relation { status followerSince } } }";
    let last = server.ask_as(&ada, query)["data"]["user"]["relation"].take();
    assert_eq!(last["status"], "FOLLOWER");
    let mut received = 1;
    while socket.receive().await["payload"]["data"]["relationChanged"]["relation"] != last {
        received += 1;
    }
    assert!(socket.is_silent().await);
    // The query costs a user, a relation, and four fields.
    let operations = missing_tokens(&redis, "ff:{u1}:cost").saturating_sub(before);
    assert!(operations <= 3, "{changes} changes took {operations} tokens of the one who watches");
    let most = began.elapsed().as_secs() / 3 + 2;
    assert!(received <= most, "{changes} changes sent {received} events, more than {most}");
    assert!(missing_tokens(&redis, "ff:{u1}:events") <= received * RELATION_COST);

    // A client that connects again reads the relation, and then receives further changes.
    change_relation(&unlimited, &ben, "unfollow", &id);
    while socket.receive().await["payload"]["data"]["relationChanged"]["relation"]["status"] != "NONE" {}
    let mut resumed = Socket::acknowledged(&server, Some(&ada)).await;
    drop(socket);
    resumed.watch_relations("status").await;
    assert_eq!(server.ask_as(&ada, query)["data"]["user"]["relation"]["status"], "NONE");
    change_relation(&unlimited, &ben, "follow", &id);
    assert_eq!(
        resumed.receive().await["payload"]["data"]["relationChanged"]["relation"],
        json!({ "status": "FOLLOWER" })
    );
}

#[tokio::test]
async fn an_event_that_the_viewer_may_not_see_costs_nothing() {
    let redis = Redis::start();
    let server = Server::over(&redis, &CHARGED);
    let unlimited = Server::over(&redis, &[]);
    let ada = server.token("ada");
    let [ben, eve] = ["ben", "eve"].map(|name| unlimited.token(name));
    for followee in ["ben", "eve"] {
        follow(&unlimited, &ada, followee);
    }
    let id = id_of(&unlimited, "ada");
    let mut socket = Socket::acknowledged(&server, Some(&ada)).await;
    assert!(eventually(|| redis.has_subscriber(1)));
    socket.watch_relations("status user { id }").await;
    let operations = missing_tokens(&redis, "ff:{u1}:cost");
    let reads = || server.round_trips("exclusions: version");
    let has_cost_nothing = || {
        let [cost, events] = ["ff:{u1}:cost", "ff:{u1}:events"].map(|bucket| missing_tokens(&redis, bucket));
        cost <= operations && (events, server.round_trips("charge event")) == (0, 0)
    };

    // The follow ends, of which the blocked user is not notified.
    let before = reads();
    assert_eq!(change_relation(&unlimited, &ben, "block", &id), json!([]));
    assert!(eventually(|| reads() > before), "the watch looks");
    assert!(socket.is_silent().await && has_cost_nothing());
    drop(socket);

    // A repost of a post by the user who blocks the viewer, and its end.
    let post = publish(&unlimited, &ben, "hidden");
    let mut socket = Socket::acknowledged(&server, Some(&ada)).await;
    let query = "subscription { timeline { ... on PostAdded { edge { node { content } } } } }";
    socket.watch_timeline(&server, query, Value::Null).await;
    let operations = missing_tokens(&redis, "ff:{u1}:cost");
    for mutation in ["repost", "undoRepost"] {
        let before = reads();
        let query =
            format!("mutation {{ {mutation}(input: {{ postId: \"{post}\" }}) {{ userErrors {{ code }} }} }}");
        assert_eq!(unlimited.ask_as(&eve, &query)["data"][mutation]["userErrors"], json!([]));
        assert!(eventually(|| reads() > before), "the watch looks");
        assert!(socket.is_silent().await);
    }
    assert_eq!((server.round_trips("charge event"), missing_tokens(&redis, "ff:{u1}:events")), (0, 0));
    assert!(missing_tokens(&redis, "ff:{u1}:cost") <= operations);

    // An event that the viewer may see costs what it costs without the others: the event, its entry, the post, and a
    // field of it.
    publish(&unlimited, &eve, "visible");
    assert_eq!(socket.receive().await["payload"]["data"]["timeline"]["edge"]["node"]["content"], "visible");
    assert_eq!((server.round_trips("charge event"), missing_tokens(&redis, "ff:{u1}:events")), (1, 4));
}

#[tokio::test]
async fn a_change_of_a_pending_recovery_costs_as_much_as_another_event() {
    let redis = Redis::start();
    let server = Server::over(&redis, &CHARGED);
    let ada = server.token("ada");
    let mut socket = Socket::acknowledged(&server, Some(&ada)).await;
    socket.subscribe("r", "subscription { pendingRecoveryChanged { issuedAt } }", Value::Null).await;
    assert!(eventually(|| redis.has_subscriber(1)));
    assert!(socket.is_silent().await);
    assert_eq!((server.round_trips("charge event"), missing_tokens(&redis, "ff:{u1}:events")), (0, 0));
    let options = ["--redis-url", &redis.url(), "--data-dir", redis.directory()];
    let issued = command(&["user", "recovery-code", "ada"]).args(options).output().unwrap();
    assert!(issued.status.success(), "{issued:?}");
    let event = socket.receive().await;
    assert!(event["payload"]["data"]["pendingRecoveryChanged"]["issuedAt"].is_string(), "{event}");
    // An object, and a field of it.
    assert_eq!((server.round_trips("charge event"), missing_tokens(&redis, "ff:{u1}:events")), (1, 2));
}

#[tokio::test]
async fn the_posts_of_a_star_reach_watchers() {
    let redis = Redis::start();
    let options = ["--timeline-push-limit", "0"];
    let (one, other) = (Server::over(&redis, &options), Server::over(&redis, &options));
    let (ada, ben) = (one.token("ada"), one.token("ben"));
    follow(&one, &ada, "ben");
    publish(&one, &ben, "before");
    let page = one.ask_as(&ada, "{ viewer { timeline { pageInfo { startCursor } } } }");
    let start = &page["data"]["viewer"]["timeline"]["pageInfo"]["startCursor"];
    let mut socket = Socket::acknowledged(&other, Some(&ada)).await;
    socket.subscribe("t", TIMELINE, json!({ "after": start })).await;
    assert!(socket.is_silent().await);
    for content in ["one", "two"] {
        publish(&one, &ben, content);
        assert_eq!(socket.receive().await["payload"]["data"]["timeline"]["edge"]["node"]["content"], content);
    }
}

#[tokio::test]
async fn a_new_star_reaches_watchers_whose_server_has_just_read_the_stars() {
    let redis = Redis::start();
    let options = ["--timeline-push-limit", "1", "--timeline-watermark-age", "1000"];
    let (one, other) = (Server::over(&redis, &options), Server::over(&redis, &options));
    let [ada, ben, eve] = ["ada", "ben", "eve"].map(|name| one.token(name));
    for token in [&ada, &eve] {
        follow(&one, token, "ben");
    }
    let mut socket = Socket::acknowledged(&other, Some(&ada)).await;
    socket.watch_timeline(&other, TIMELINE, Value::Null).await;
    other.ask_as(&ada, "{ viewer { timeline { pageInfo { startCursor } } } }");
    publish(&one, &ben, "one");
    assert_eq!(socket.receive().await["payload"]["data"]["timeline"]["edge"]["node"]["content"], "one");
}

#[tokio::test]
async fn relations_are_watched_from_both_sides() {
    let redis = Redis::start();
    let (one, other) = (Server::over(&redis, &[]), Server::over(&redis, &[]));
    let (ada, ben) = (one.token("ada"), one.token("ben"));
    let fields = "status user { username }";
    let mut sockets =
        [Socket::acknowledged(&one, Some(&ada)).await, Socket::acknowledged(&other, Some(&ben)).await];
    assert!(eventually(|| redis.has_subscriber(1) && redis.has_subscriber(2)));
    for socket in &mut sockets {
        socket.watch_relations(fields).await;
    }
    follow(&one, &ada, "ben");
    for (socket, (status, name)) in sockets.iter_mut().zip([("FOLLOWING", "ben"), ("FOLLOWER", "ada")]) {
        let relation = json!({ "status": status, "user": { "username": name } });
        assert_eq!(socket.receive().await["payload"]["data"]["relationChanged"]["relation"], relation);
    }
    // A repeat changes nothing.
    follow(&other, &ada, "ben");
    assert!(sockets[0].is_silent().await && sockets[1].is_silent().await);
}

#[tokio::test]
async fn a_watch_of_relations_that_has_missed_signals_sends_one_reset_and_goes_on() {
    let redis = Redis::start();
    let server = Server::over(&redis, &[]);
    let (ada, ben) = (server.token("ada"), server.token("ben"));
    let id = id_of(&server, "ada");
    let mut socket = Socket::acknowledged(&server, Some(&ada)).await;
    assert!(eventually(|| redis.has_subscriber(1)));
    socket.watch_relations("status").await;
    let status = || {
        let query = "{ user(by: { username: \"ben\" }) { relation { status } } }";
        server.ask_as(&ada, query)["data"]["user"]["relation"]["status"].take()
    };
    for number in 0..2 {
        let (mutation, missed) = [("follow", "FOLLOWER"), ("unfollow", "NONE")][number];
        redis.raw::<u64>(&["CLIENT", "KILL", "TYPE", "pubsub"]);
        assert_eq!(change_relation(&server, &ben, mutation, &id), json!([]));
        let received = socket.receive().await;
        assert_eq!(
            received["payload"]["data"],
            json!({ "relationChanged": { "__typename": "RelationsReset" } })
        );
        assert_eq!(status(), missed, "a client that reads after the reset sees the missed change");
    }
    // The signals of a slow machine may have arrived after all.
    assert_eq!(change_relation(&server, &ben, "follow", &id), json!([]));
    let mut event = Value::Null;
    while event["relation"]["status"] != "FOLLOWER" {
        event = socket.receive().await["payload"]["data"]["relationChanged"].take();
        assert_eq!(event["__typename"], "RelationChanged");
    }
    assert!(socket.is_silent().await);
}

/// Publishes through whichever process is running, until `stop` is set. Returns the published posts, and those that
/// were deleted.
async fn keep_publishing(
    addresses: Arc<Mutex<Vec<String>>>,
    authors: Vec<String>,
    stop: Arc<AtomicBool>,
) -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut published, mut deleted) = (BTreeSet::new(), BTreeSet::new());
    let mut number = 0_usize;
    while !stop.load(Ordering::Relaxed) {
        number += 1;
        let address = addresses.lock().unwrap()[number % 2].clone();
        let token = &authors[number % authors.len()];
        // Under its key it is published once, however often and to whichever process it is sent.
        let input = format!("content: \"{number}\", idempotencyKey: \"key {number}\"");
        let publish = format!("mutation {{ publish(input: {{ {input} }}) {{ post {{ id }} }} }}");
        let Some(response) = post(&address, token, &publish).await else {
            number -= 1;
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        let id = response["data"]["publish"]["post"]["id"]
            .as_str()
            .unwrap_or_else(|| panic!("{response}"))
            .to_owned();
        if number.is_multiple_of(7) {
            let delete =
                format!("mutation {{ deletePost(input: {{ postId: \"{id}\" }}) {{ deletedPostId }} }}");
            // The deletion is sent to the same process, or if that is gone, to the one that is running.
            if post(&address, token, &delete).await.is_none() {
                let running = addresses.lock().unwrap()[0].clone();
                post(&running, token, &delete).await.expect("this server is never killed");
            }
            deleted.insert(id.clone());
        }
        published.insert(id);
        tokio::time::sleep(Duration::from_millis(15)).await;
    }
    (published, deleted)
}

/// Returns the response to a document, if a server sends one.
async fn post(address: &str, token: &str, query: &str) -> Option<Value> {
    let mut stream = TcpStream::connect(address).await.ok()?;
    let body = json!({ "query": query }).to_string();
    let length = body.len();
    let request = format!(
        "POST /graphql HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut response = String::new();
    tokio::time::timeout(LIMIT, stream.read_to_string(&mut response)).await.ok()?.ok()?;
    serde_json::from_str(response.split_once("\r\n\r\n")?.1).ok()
}

/// A client that disconnects and resumes many times, with what it has seen.
#[derive(Default)]
struct Wanderer {
    cursor: Value,
    added: Vec<String>,
    removed: BTreeSet<String>,
}

impl Wanderer {
    /// Watches for a moment, and then disconnects wherever it is.
    async fn visit(&mut self, address: &str, token: &str, moment: Duration) {
        let visit = async {
            let mut socket = Socket::at(address).await?;
            let payload = json!({ "Authorization": format!("Bearer {token}") });
            let watch = json!({ "query": TIMELINE, "variables": { "after": self.cursor } });
            for message in [
                json!({ "type": "connection_init", "payload": payload }),
                json!({ "id": "t", "type": "subscribe", "payload": watch }),
            ] {
                socket.0.send(Message::text(message.to_string())).await.ok()?;
            }
            loop {
                let Some(Ok(Message::Text(text))) = socket.0.next().await else { return None::<()> };
                let received: Value = serde_json::from_str(&text).unwrap();
                if received["type"] == "connection_ack" {
                    continue;
                }
                let event = &received["payload"]["data"]["timeline"];
                match event["__typename"].as_str() {
                    Some("PostAdded") => {
                        self.added.push(event["edge"]["node"]["id"].as_str().unwrap().to_owned());
                    }
                    Some("PostRemoved") => {
                        self.removed.insert(event["postId"].as_str().unwrap().to_owned());
                    }
                    _ => panic!("{received}"),
                }
                self.cursor = event["cursor"].clone();
            }
        };
        let _ = tokio::time::timeout(moment, visit).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_resumes_a_thousand_times_misses_nothing_and_sees_nothing_twice() {
    let redis = Redis::start();
    // Some of what it reads is pushed to it, and some it pulls: two more follow one of the authors.
    let options = ["--timeline-push-limit", "2"];
    let (one, mut other) = (Server::over(&redis, &options), Server::over(&redis, &options));
    let [reader, star, ben, eve, kim] = ["ada", "star", "ben", "eve", "kim"].map(|name| one.token(name));
    for (token, followee) in
        [(&reader, "star"), (&eve, "star"), (&kim, "star"), (&reader, "ben"), (&reader, "eve")]
    {
        follow(&one, token, followee);
    }
    let start = publish(&one, &ben, "start");
    let page = "{ viewer { timeline { edges { cursor node { id } } } } }";
    let mut wanderer = Wanderer::default();
    while wanderer.cursor.is_null() {
        let edge = one.ask_as(&reader, page)["data"]["viewer"]["timeline"]["edges"][0].take();
        if edge["node"]["id"] == start.as_str() {
            wanderer.cursor = edge["cursor"].clone();
        }
    }
    let addresses = Arc::new(Mutex::new(vec![one.address.clone(), other.address.clone()]));
    let stop = Arc::<AtomicBool>::default();
    let authors = vec![star, ben, eve, reader.clone()];
    let publishing = tokio::spawn(keep_publishing(Arc::clone(&addresses), authors, Arc::clone(&stop)));

    let visits = usize::try_from(cases(1_000)).unwrap();
    for number in 0..visits {
        if number % (visits / 4).max(1) == visits / 8 {
            let address = other.address.clone();
            other.kill();
            other = Server::over(&redis, &options);
            addresses.lock().unwrap()[1].clone_from(&other.address);
            assert_ne!(address, other.address);
        }
        let address = addresses.lock().unwrap()[number % 2].clone();
        // Long enough to receive something, or not.
        let moment = Duration::from_millis((number as u64 * 7_919) % 41);
        wanderer.visit(&address, &reader, moment).await;
    }
    stop.store(true, Ordering::Relaxed);
    let (published, deleted) = publishing.await.unwrap();
    // Work that was interrupted with its process is taken over after a while.
    let is_there = |wanderer: &Wanderer| {
        let added: BTreeSet<&String> = wanderer.added.iter().collect();
        let is_right = |post: &String| {
            // A post that was deleted before it arrived need not be sent.
            let is_added = added.contains(post);
            if deleted.contains(post) { !is_added || wanderer.removed.contains(post) } else { is_added }
        };
        published.iter().all(is_right)
    };
    for _ in 0..60 {
        if is_there(&wanderer) {
            break;
        }
        wanderer.visit(&one.address, &reader, Duration::from_secs(1)).await;
    }
    let added: BTreeSet<&String> = wanderer.added.iter().collect();
    assert_eq!(added.len(), wanderer.added.len(), "nothing is seen twice");
    let missing: Vec<&String> =
        published.iter().filter(|post| !added.contains(post) && !deleted.contains(*post)).collect();
    assert!(missing.is_empty(), "{missing:?} of {} are missing", published.len());
    let left = deleted.iter().filter(|post| added.contains(post) && !wanderer.removed.contains(*post));
    assert_eq!(left.collect::<Vec<_>>(), Vec::<&String>::new(), "deletions are sent");
    assert!(added.iter().all(|post| published.contains(*post)), "no other post arrives");
    assert!(published.len() > visits / 20, "{} posts in {visits} visits", published.len());
}
