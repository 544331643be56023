//! Watching timelines and relations, through one server process and another, by clients that go away and come back.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;

use crate::server::Server;
use crate::socket::Socket;
use crate::world::{Redis, cases};

pub(crate) const TIMELINE: &str = "subscription ($after: String) { timeline(after: $after) {
    __typename ... on PostAdded { cursor post { id content author { username relation { status } } } }
    ... on PostRemoved { cursor postId } } }";

pub(crate) fn publish(server: &Server, token: &str, content: &str) -> String {
    let input = format!("content: \"{content}\"");
    let answer =
        server.ask_as(token, &format!("mutation {{ publish(input: {{ {input} }}) {{ post {{ id }} }} }}"));
    answer["data"]["publish"]["post"]["id"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

/// The first follows the second.
pub(crate) fn follow(server: &Server, token: &str, other: &str) {
    let id =
        server.ask(&format!("{{ user(by: {{ username: \"{other}\" }}) {{ id }} }}"))["data"]["user"]["id"]
            .clone();
    let answer = server.ask_as(
        token,
        &format!("mutation {{ follow(input: {{ userId: {id} }}) {{ userErrors {{ code }} }} }}"),
    );
    assert_eq!(answer, json!({ "data": { "follow": { "userErrors": [] } } }));
}

#[tokio::test]
async fn a_timeline_is_watched_through_one_process_and_on_through_another() {
    let redis = Redis::start();
    let (one, other) = (Server::over(&redis, &[]), Server::over(&redis, &["--deliver", "off"]));
    let (ada, ben) = (one.token("ada"), one.token("ben"));
    follow(&one, &ada, "ben");
    let mut socket = Socket::greeted(&other, Some(&ada)).await;
    socket.subscribe("t", TIMELINE, Value::Null).await;
    // It has begun when something comes.
    let mut number = 0;
    while socket.is_silent().await {
        number += 1;
        publish(&one, &ben, &format!("before {number}"));
        assert!(number < 20, "it comes");
    }
    let first = publish(&one, &ben, "first");
    let event = loop {
        let heard = socket.hear().await;
        assert_eq!((&heard["id"], &heard["type"]), (&json!("t"), &json!("next")), "{heard}");
        let event = heard["payload"]["data"]["timeline"].clone();
        if event["post"]["content"] == "first" {
            break event;
        }
    };
    assert_eq!(event["post"]["author"], json!({ "username": "ben", "relation": { "status": "FOLLOWING" } }));
    publish(&one, &ada, "own");
    assert_eq!(socket.hear().await["payload"]["data"]["timeline"]["post"]["content"], "own");
    drop(socket);

    // It goes on where it was, through the other process, with what has happened meanwhile.
    publish(&one, &ben, "second");
    let delete = format!("mutation {{ deletePost(input: {{ postId: \"{first}\" }}) {{ deletedId }} }}");
    assert_eq!(one.ask_as(&ben, &delete)["data"]["deletePost"]["deletedId"], first);
    let mut socket = Socket::greeted(&one, Some(&ada)).await;
    socket.subscribe("t", TIMELINE, json!({ "after": event["cursor"] })).await;
    let mut heard = Vec::new();
    for _ in 0..3 {
        let event = socket.hear().await["payload"]["data"]["timeline"].clone();
        heard.push(event["post"]["content"].as_str().or(event["postId"].as_str()).unwrap().to_owned());
    }
    heard.sort();
    let mut expected = ["own".to_owned(), "second".to_owned(), first];
    expected.sort();
    assert_eq!(heard, expected);
    assert!(socket.is_silent().await);
}

#[tokio::test]
async fn an_event_that_cannot_be_told_is_told_to_who_goes_on_from_the_one_before() {
    let redis = Redis::start();
    let server = Server::over(&redis, &[]);
    let (ada, ben) = (server.token("ada"), server.token("ben"));
    follow(&server, &ada, "ben");
    publish(&server, &ben, "before");
    let page = server.ask_as(&ada, "{ viewer { timeline { pageInfo { startCursor } } } }");
    let start = &page["data"]["viewer"]["timeline"]["pageInfo"]["startCursor"];
    let query = "subscription ($after: String) { timeline(after: $after) {
        ... on PostAdded { cursor post { content author { following { totalCount } } } } } }";
    // What is asked of the author cannot be read.
    redis.raw::<()>(&["SET", "ff:{u2}:following", "broken"]);
    publish(&server, &ben, "now");
    let mut socket = Socket::greeted(&server, Some(&ada)).await;
    socket.subscribe("t", query, json!({ "after": start })).await;
    let heard = socket.hear().await;
    assert_eq!((&heard["type"], &heard["payload"]["data"]), (&json!("next"), &Value::Null), "{heard}");
    assert_eq!(heard["payload"]["errors"][0]["extensions"]["code"], "INTERNAL_SERVER_ERROR");
    assert_eq!(socket.hear().await, json!({ "id": "t", "type": "complete" }));
    redis.raw::<i64>(&["DEL", "ff:{u2}:following"]);
    socket.subscribe("t", query, json!({ "after": start })).await;
    assert_eq!(socket.hear().await["payload"]["data"]["timeline"]["post"]["content"], "now");
}

#[tokio::test]
async fn events_are_charged_and_come_when_there_is_enough() {
    let redis = Redis::start();
    let server = Server::over(&redis, &["--graphql-rate-limit", "1", "--graphql-cost-limit", "100"]);
    let (ada, ben) = (server.token("ada"), server.token("ben"));
    follow(&server, &ada, "ben");
    let query = "subscription { timeline { ... on PostAdded { post {
        content author { followers(first: 30) { nodes { username } } } } } } }";
    let mut socket = Socket::greeted(&server, Some(&ada)).await;
    socket.subscribe("t", query, Value::Null).await;
    // It has begun when something comes.
    assert!(socket.is_silent().await);
    publish(&server, &ben, "one");
    assert_eq!(socket.hear().await["payload"]["data"]["timeline"]["post"]["content"], "one");
    for content in ["two", "three"] {
        publish(&server, &ben, content);
    }
    // A hundred are there at once: the subscription, and one or two events.
    let mut heard = 1;
    while !socket.is_silent().await {
        heard += 1;
        assert!(heard < 4, "the last one waits");
    }
}

#[tokio::test]
async fn a_star_s_posts_reach_those_who_watch() {
    let redis = Redis::start();
    let options = ["--timeline-push-limit", "0"];
    let (one, other) = (Server::over(&redis, &options), Server::over(&redis, &options));
    let (ada, ben) = (one.token("ada"), one.token("ben"));
    follow(&one, &ada, "ben");
    publish(&one, &ben, "before");
    let page = one.ask_as(&ada, "{ viewer { timeline { pageInfo { startCursor } } } }");
    let start = &page["data"]["viewer"]["timeline"]["pageInfo"]["startCursor"];
    let mut socket = Socket::greeted(&other, Some(&ada)).await;
    socket.subscribe("t", TIMELINE, json!({ "after": start })).await;
    assert!(socket.is_silent().await);
    for content in ["one", "two"] {
        publish(&one, &ben, content);
        assert_eq!(socket.hear().await["payload"]["data"]["timeline"]["post"]["content"], content);
    }
}

#[tokio::test]
async fn relations_are_watched_from_both_sides() {
    let redis = Redis::start();
    let (one, other) = (Server::over(&redis, &[]), Server::over(&redis, &[]));
    let (ada, ben) = (one.token("ada"), one.token("ben"));
    let query = "subscription { relationChanged { status user { username } } }";
    let mut sockets = [Socket::greeted(&one, Some(&ada)).await, Socket::greeted(&other, Some(&ben)).await];
    for socket in &mut sockets {
        socket.subscribe("r", query, Value::Null).await;
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    follow(&one, &ada, "ben");
    for (socket, (status, name)) in sockets.iter_mut().zip([("FOLLOWING", "ben"), ("FOLLOWER", "ada")]) {
        let relation = json!({ "status": status, "user": { "username": name } });
        assert_eq!(socket.hear().await["payload"]["data"]["relationChanged"], relation);
    }
    // Nothing changes.
    follow(&other, &ada, "ben");
    assert!(sockets[0].is_silent().await && sockets[1].is_silent().await);
}

/// Somebody who goes on publishing by way of whichever process there is, until it is told to stop. Answers what was
/// published, and what was deleted of it.
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
        // Under its key it is published once, whichever process has to be asked how often.
        let input = format!("content: \"{number}\", idempotencyKey: \"key {number}\"");
        let publish = format!("mutation {{ publish(input: {{ {input} }}) {{ post {{ id }} }} }}");
        let Some(answer) = post(&address, token, &publish).await else {
            number -= 1;
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        let id =
            answer["data"]["publish"]["post"]["id"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned();
        if number.is_multiple_of(7) {
            let delete = format!("mutation {{ deletePost(input: {{ postId: \"{id}\" }}) {{ deletedId }} }}");
            // It is asked where it was published, or if that is gone, where there is a server.
            if post(&address, token, &delete).await.is_none() {
                let living = addresses.lock().unwrap()[0].clone();
                post(&living, token, &delete).await.expect("this server is never killed");
            }
            deleted.insert(id.clone());
        }
        published.insert(id);
        tokio::time::sleep(Duration::from_millis(15)).await;
    }
    (published, deleted)
}

/// The answer to a document, if there is a server that gives one.
async fn post(address: &str, token: &str, query: &str) -> Option<Value> {
    let mut stream = TcpStream::connect(address).await.ok()?;
    let body = json!({ "query": query }).to_string();
    let length = body.len();
    let request = format!(
        "POST /graphql HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.ok()?;
    serde_json::from_str(answer.split_once("\r\n\r\n")?.1).ok()
}

/// A client that goes away and comes back many times, and what it has seen.
#[derive(Default)]
struct Wanderer {
    cursor: Value,
    added: Vec<String>,
    removed: BTreeSet<String>,
}

impl Wanderer {
    /// Watches for a moment; it goes away wherever it then is.
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
                let heard: Value = serde_json::from_str(&text).unwrap();
                if heard["type"] == "connection_ack" {
                    continue;
                }
                let event = &heard["payload"]["data"]["timeline"];
                match event["__typename"].as_str() {
                    Some("PostAdded") => self.added.push(event["post"]["id"].as_str().unwrap().to_owned()),
                    Some("PostRemoved") => {
                        self.removed.insert(event["postId"].as_str().unwrap().to_owned());
                    }
                    _ => panic!("{heard}"),
                }
                self.cursor = event["cursor"].clone();
            }
        };
        let _ = tokio::time::timeout(moment, visit).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_comes_back_a_thousand_times_misses_nothing_and_sees_nothing_twice() {
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
        // Long enough to hear something, or not.
        let moment = Duration::from_millis((number as u64 * 7_919) % 41);
        wanderer.visit(&address, &reader, moment).await;
    }
    stop.store(true, Ordering::Relaxed);
    let (published, deleted) = publishing.await.unwrap();
    // What was cut off with its process is taken over after a while.
    let is_there = |wanderer: &Wanderer| {
        let added: BTreeSet<&String> = wanderer.added.iter().collect();
        let is_right = |post: &String| {
            // What was deleted before it came need not be told.
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
    assert_eq!(left.collect::<Vec<_>>(), Vec::<&String>::new(), "what was deleted is told");
    assert!(added.iter().all(|post| published.contains(*post)), "nothing else comes");
    assert!(published.len() > visits / 20, "{} posts in {visits} visits", published.len());
}
