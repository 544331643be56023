//! Blocks and private accounts through one server process and another, and during live updates.

use serde_json::{Value, json};

use crate::harness::feed::{TIMELINE, follow, publish};
use crate::harness::server::{Server, eventually};
use crate::harness::socket::Socket;
use crate::harness::world::Redis;

/// Returns the id of a user, who sees themselves in spite of all blocks.
fn id(server: &Server, token: &str) -> Value {
    server.ask_as(token, "{ viewer { user { id } } }")["data"]["viewer"]["user"]["id"].clone()
}

/// Makes a change between two users, given by their tokens.
fn change(server: &Server, token: &str, mutation: &str, other: &str) {
    let id = id(server, other);
    let query = format!("mutation {{ {mutation}(input: {{ userId: {id} }}) {{ userErrors {{ code }} }} }}");
    let response = server.ask_as(token, &query);
    assert_eq!(response["data"][mutation]["userErrors"], json!([]), "{mutation}: {response}");
}

fn make_private(server: &Server, token: &str, is_private: bool) {
    let query = format!(
        "mutation {{ updateProfile(input: {{ isPrivate: {is_private} }}) {{ userErrors {{ code }} }} }}"
    );
    server.ask_as(token, &query);
}

#[tokio::test]
async fn all_processes_know_a_block_once_it_is_acknowledged() {
    let redis = Redis::start();
    let servers = [Server::over(&redis, &[]), Server::over(&redis, &["--relation-exclusion-cache", "0"])];
    let [ada, ben] = ["ada", "ben"].map(|name| servers[0].token(name));
    publish(&servers[0], &ben, "post");
    // Each sees the other, and the posts of the other.
    let sees = |token: &str, name: &str| {
        let query = format!("{{ user(by: {{ username: \"{name}\" }}) {{ posts {{ totalCount }} }} }}");
        let sees = servers.each_ref().map(|server| server.ask_as(token, &query)["data"]["user"].clone());
        assert_eq!(sees[0], sees[1]);
        sees[0]["posts"]["totalCount"].as_u64()
    };
    for round in 0..10 {
        let writer = &servers[round % 2];
        assert_eq!((sees(&ada, "ben"), sees(&ben, "ada")), (Some(1), Some(0)), "{round}");
        change(writer, &ada, "block", &ben);
        assert_eq!((sees(&ada, "ben"), sees(&ben, "ada")), (Some(0), None), "{round}");
        change(writer, &ada, "unblock", &ben);
        change(writer, &ben, "block", &ada);
        assert_eq!((sees(&ada, "ben"), sees(&ben, "ada")), (None, Some(0)), "{round}");
        change(writer, &ben, "unblock", &ada);
    }
}

#[tokio::test]
async fn live_updates_leave_out_the_posts_of_a_user_on_the_other_side_of_a_block() {
    let redis = Redis::start();
    let (one, other) = (Server::over(&redis, &[]), Server::over(&redis, &["--delivery-in-server", "off"]));
    let [ada, ben, eve] = ["ada", "ben", "eve"].map(|name| one.token(name));
    for followee in ["ben", "eve"] {
        follow(&one, &ada, followee);
    }
    let mut socket = Socket::acknowledged(&other, Some(&ada)).await;
    socket.watch_timeline(&other, TIMELINE, Value::Null).await;
    let content =
        |received: &Value| received["payload"]["data"]["timeline"]["edge"]["node"]["content"].clone();
    let kind = |received: &Value| received["payload"]["data"]["timeline"]["__typename"].clone();
    // Ada's own block resets her timeline; she does not notice Ben's.
    for (blocker, blocked, is_own) in [(&ada, &ben, true), (&ben, &ada, false)] {
        publish(&one, &ben, "before");
        assert_eq!(content(&socket.receive().await), "before");
        change(&one, blocker, "block", blocked);
        if is_own {
            assert_eq!(kind(&socket.receive().await), "TimelineReset");
        }
        publish(&one, &ben, "during");
        publish(&one, &eve, "other");
        assert_eq!(content(&socket.receive().await), "other");
        change(&one, blocker, "unblock", blocked);
        if is_own {
            assert_eq!(kind(&socket.receive().await), "TimelineReset");
        }
        publish(&one, &ben, "not followed any more");
        publish(&one, &eve, "other");
        assert_eq!(content(&socket.receive().await), "other");
        follow(&one, &ada, "ben");
        assert_eq!(kind(&socket.receive().await), "TimelineReset");
    }
}

#[tokio::test]
async fn both_sides_learn_of_requests_and_only_the_blocker_of_a_block() {
    let redis = Redis::start();
    let (one, other) = (Server::over(&redis, &[]), Server::over(&redis, &[]));
    let (ada, ben) = (one.token("ada"), one.token("ben"));
    let fields = "status requestedSince requesterSince blockedSince user { username }";
    let mut sockets =
        [Socket::acknowledged(&one, Some(&ada)).await, Socket::acknowledged(&other, Some(&ben)).await];
    assert!(eventually(|| redis.has_subscriber(1) && redis.has_subscriber(2)));
    for socket in &mut sockets {
        socket.watch_relations(fields).await;
    }
    make_private(&one, &ben, true);
    // The change, its author, and the relation on the sides of ada and ben: status, request, requester, block.
    let relation = |status: &str, is: [bool; 3]| (status.to_owned(), is);
    let none = relation("NONE", [false; 3]);
    let steps = [
        ("follow", 0, relation("NONE", [true, false, false]), relation("NONE", [false, true, false])),
        ("rejectFollowRequest", 1, none.clone(), none.clone()),
        ("follow", 0, relation("NONE", [true, false, false]), relation("NONE", [false, true, false])),
        ("unfollow", 0, none.clone(), none.clone()),
        ("follow", 0, relation("NONE", [true, false, false]), relation("NONE", [false, true, false])),
        ("acceptFollowRequest", 1, relation("FOLLOWING", [false; 3]), relation("FOLLOWER", [false; 3])),
        ("removeFollower", 1, none.clone(), none.clone()),
    ];
    let receive = async |socket: &mut Socket| {
        let received = socket.receive().await;
        let relation = &received["payload"]["data"]["relationChanged"]["relation"];
        let is = ["requestedSince", "requesterSince", "blockedSince"].map(|name| !relation[name].is_null());
        (relation["status"].as_str().unwrap_or_else(|| panic!("{received}")).to_owned(), is)
    };
    for (mutation, author, at_ada, at_ben) in steps {
        let (user, target) = if author == 0 { (&ada, &ben) } else { (&ben, &ada) };
        change(&one, user, mutation, target);
        for (socket, expected) in sockets.iter_mut().zip([&at_ada, &at_ben]) {
            assert_eq!(receive(socket).await, *expected, "{mutation}");
            assert!(socket.is_silent().await, "{mutation}");
        }
    }
    // A block of a follower, and its end: the blocked user is not notified, not even of the end of the follow.
    make_private(&one, &ben, false);
    change(&one, &ada, "follow", &ben);
    for (socket, status) in sockets.iter_mut().zip(["FOLLOWING", "FOLLOWER"]) {
        assert_eq!(receive(socket).await, relation(status, [false; 3]));
    }
    change(&one, &ben, "block", &ada);
    let blocked = relation("NONE", [false, false, true]);
    let mut last = receive(&mut sockets[1]).await;
    while last != blocked {
        last = receive(&mut sockets[1]).await;
    }
    assert!(sockets[0].is_silent().await);
    change(&one, &ben, "unblock", &ada);
    let mut last = receive(&mut sockets[1]).await;
    while last != none {
        last = receive(&mut sockets[1]).await;
    }
    assert!(sockets[0].is_silent().await && sockets[1].is_silent().await);
}
