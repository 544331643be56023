//! Mutes through one server process and another, and during live updates.

use serde_json::{Value, json};

use crate::harness::feed::{TIMELINE, follow, publish};
use crate::harness::server::{Server, eventually};
use crate::harness::socket::Socket;
use crate::harness::world::Redis;

/// Mutes or unmutes a user by name.
fn change(server: &Server, token: &str, mutation: &str, other: &str) {
    let query = format!("{{ user(by: {{ username: \"{other}\" }}) {{ id }} }}");
    let id = server.ask(&query)["data"]["user"]["id"].clone();
    let mutation =
        format!("mutation {{ {mutation}(input: {{ userId: {id} }}) {{ userErrors {{ code }} }} }}");
    let response = server.ask_as(token, &mutation);
    assert_eq!(
        response.pointer("/data/mute").or(response.pointer("/data/unmute")).unwrap()["userErrors"],
        json!([])
    );
}

/// Returns the number of posts in the viewer's home timeline.
fn posts(server: &Server, token: &str) -> usize {
    let page = server.ask_as(token, "{ viewer { timeline { nodes { id } } } }");
    page["data"]["viewer"]["timeline"]["nodes"].as_array().unwrap_or_else(|| panic!("{page}")).len()
}

#[tokio::test]
async fn all_processes_know_a_mute_once_it_is_acknowledged() {
    let redis = Redis::start();
    let changes = ["--relation-changes-per-pair", "1000"];
    let uncached = [&changes[..], &["--relation-exclusion-cache", "0"]].concat();
    let servers = [Server::over(&redis, &changes), Server::over(&redis, &uncached)];
    let [ada, ben] = ["ada", "ben"].map(|name| servers[0].token(name));
    follow(&servers[0], &ada, "ben");
    publish(&servers[0], &ben, "post");
    for round in 0..20 {
        let writer = &servers[round % 2];
        change(writer, &ada, "mute", "ben");
        assert_eq!(servers.each_ref().map(|server| posts(server, &ada)), [0, 0], "{round}");
        change(writer, &ada, "unmute", "ben");
        assert_eq!(servers.each_ref().map(|server| posts(server, &ada)), [1, 1], "{round}");
    }
}

#[tokio::test]
async fn processes_that_cache_sessions_learn_of_mutes_soon() {
    let redis = Redis::own();
    let cached = ["--redis-user-cache", "1000000"];
    let (one, other) = (Server::over(&redis, &[]), Server::over(&redis, &cached));
    let [ada, ben] = ["ada", "ben"].map(|name| one.token(name));
    follow(&one, &ada, "ben");
    publish(&one, &ben, "post");
    for _ in 0..5 {
        assert!(eventually(|| posts(&other, &ada) == 1));
        change(&one, &ada, "mute", "ben");
        assert!(eventually(|| posts(&other, &ada) == 0));
        change(&one, &ada, "unmute", "ben");
    }
}

#[tokio::test]
async fn live_updates_leave_out_the_posts_of_a_muted_user() {
    let redis = Redis::start();
    let (one, other) = (Server::over(&redis, &[]), Server::over(&redis, &["--delivery-in-server", "off"]));
    let [ada, ben, eve] = ["ada", "ben", "eve"].map(|name| one.token(name));
    for followee in ["ben", "eve"] {
        follow(&one, &ada, followee);
    }
    let mut socket = Socket::acknowledged(&other, Some(&ada)).await;
    socket.watch_timeline(&other, TIMELINE, Value::Null).await;
    publish(&one, &ben, "before");
    let content =
        |received: &Value| received["payload"]["data"]["timeline"]["edge"]["node"]["content"].clone();
    assert_eq!(content(&socket.receive().await), "before");
    let kind = |received: &Value| received["payload"]["data"]["timeline"]["__typename"].clone();
    change(&one, &ada, "mute", "ben");
    assert_eq!(kind(&socket.receive().await), "TimelineReset");
    publish(&one, &ben, "during");
    publish(&one, &eve, "other");
    assert_eq!(content(&socket.receive().await), "other");
    change(&one, &ada, "unmute", "ben");
    assert_eq!(kind(&socket.receive().await), "TimelineReset");
    publish(&one, &ben, "after");
    assert_eq!(content(&socket.receive().await), "after");
    assert!(socket.is_silent().await);
}

#[tokio::test]
async fn the_viewers_sessions_are_notified_of_mutes_and_the_muted_user_is_not() {
    let redis = Redis::start();
    let (one, other) = (Server::over(&redis, &[]), Server::over(&redis, &[]));
    let (ada, ben) = (one.token("ada"), one.token("ben"));
    let fields = "muteScope user { username relation { muteScope } }";
    let mut sockets =
        [Socket::acknowledged(&other, Some(&ada)).await, Socket::acknowledged(&other, Some(&ben)).await];
    assert!(eventually(|| redis.has_subscriber(1) && redis.has_subscriber(2)));
    for socket in &mut sockets {
        socket.watch_relations(fields).await;
    }
    for (mutation, scope) in [("mute", json!("ALL")), ("unmute", Value::Null)] {
        change(&one, &ada, mutation, "ben");
        let relation =
            json!({ "muteScope": scope, "user": { "username": "ben", "relation": { "muteScope": scope } } });
        assert_eq!(sockets[0].receive().await["payload"]["data"]["relationChanged"]["relation"], relation);
    }
    // A repeat changes nothing.
    change(&one, &ada, "unmute", "ben");
    assert!(sockets[0].is_silent().await && sockets[1].is_silent().await);
}
