//! Servers over a Redis that Sentinel watches: failovers from a master that dies, and from one that lives on.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::harness::feed::{TIMELINE, follow, publish};
use crate::harness::sentinel::Watched;
use crate::harness::server::Server;
use crate::harness::socket::Socket;

/// Time within which a server must follow a failover. It takes a second or two; a slow machine may take longer.
const FOLLOWED: Duration = Duration::from_secs(20);

fn serve(watched: &Watched, directory: &str) -> Server {
    Server::at(&watched.url(), directory, &[])
}

/// Repeats a mutation until it succeeds.
async fn wait_for_writes(server: &Server, token: &str) {
    let began = Instant::now();
    let query = "mutation { publish(input: { content: \"again\" }) { post { content } } }";
    while server.ask_as(token, query) != json!({ "data": { "publish": { "post": { "content": "again" } } } })
    {
        assert!(began.elapsed() < FOLLOWED, "{}", server.ask_as(token, query));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_follows_the_master_that_sentinel_names() {
    let (mut watched, directory) = (Watched::start(), tempfile::tempdir().unwrap());
    let server = serve(&watched, directory.path().to_str().unwrap());
    let [ada, ben] = ["ada", "ben"].map(|name| server.token(name));
    follow(&server, &ada, "ben");
    let mut socket = Socket::acknowledged(&server, Some(&ada)).await;
    socket.subscribe("t", TIMELINE, Value::Null).await;
    assert!(socket.is_silent().await);
    publish(&server, &ben, "one");
    assert_eq!(socket.receive().await["payload"]["data"]["timeline"]["post"]["content"], "one");

    // The old master lives on, as a replica.
    watched.fail_over();
    watched.wait_for_master(1);
    wait_for_writes(&server, &ben).await;
    assert_eq!(socket.receive().await["payload"]["data"]["timeline"]["post"]["content"], "again");
    let began = Instant::now();
    while !watched.clients_of(0).is_empty() {
        assert!(began.elapsed() < FOLLOWED, "{:?}", watched.clients_of(0));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }

    // Sentinel lets some time pass between failovers.
    tokio::time::sleep(Duration::from_secs(7)).await;
    watched.servers[1].kill();
    watched.wait_for_master(0);
    wait_for_writes(&server, &ben).await;
    assert_eq!(socket.receive().await["payload"]["data"]["timeline"]["post"]["content"], "again");
    assert!(server.has_user("ada"));
}

#[test]
fn a_name_that_sentinel_does_not_know_is_rejected() {
    let (watched, directory) = (Watched::start(), tempfile::tempdir().unwrap());
    let url = watched.url().replace("/main", "/other");
    let arguments = ["check", "--redis-url", &url, "--data-dir", directory.path().to_str().unwrap()];
    let output = crate::harness::server::command(&arguments).output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && message.contains("the sentinels know no master of this name"),
        "{message}"
    );
}
