//! Servers over a Redis that Sentinel watches: failovers from a master that dies, and from one that lives on.

use serde_json::{Value, json};

use crate::harness::feed::{TIMELINE, follow, publish};
use crate::harness::sentinel::Watched;
use crate::harness::server::{Server, eventually};
use crate::harness::socket::Socket;

fn serve(watched: &Watched, directory: &str) -> Server {
    Server::at(&watched.url(), directory, &[])
}

/// Repeats a mutation until it succeeds.
fn wait_for_writes(server: &Server, token: &str) {
    let query = "mutation { publish(input: { content: \"again\" }) { post { content } } }";
    let done = json!({ "data": { "publish": { "post": { "content": "again" } } } });
    let mut response = Value::Null;
    let is_done = eventually(|| {
        response = server.ask_as(token, query);
        response == done
    });
    assert!(is_done, "{response}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_follows_the_master_that_sentinel_names() {
    let (mut watched, directory) = (Watched::start(), tempfile::tempdir().unwrap());
    let server = serve(&watched, directory.path().to_str().unwrap());
    let [ada, ben] = ["ada", "ben"].map(|name| server.token(name));
    follow(&server, &ada, "ben");
    let mut socket = Socket::acknowledged(&server, Some(&ada)).await;
    socket.watch_timeline(&server, TIMELINE, Value::Null).await;
    publish(&server, &ben, "one");
    assert_eq!(socket.receive().await["payload"]["data"]["timeline"]["edge"]["node"]["content"], "one");

    // The old master lives on, as a replica.
    watched.fail_over();
    watched.wait_for_master(1);
    wait_for_writes(&server, &ben);
    assert_eq!(socket.receive().await["payload"]["data"]["timeline"]["edge"]["node"]["content"], "again");
    assert!(eventually(|| watched.clients_of(0).is_empty()), "{:?}", watched.clients_of(0));

    // Sentinel lets some time pass between failovers.
    watched.wait_for_replica(0);
    watched.servers[1].kill();
    watched.wait_for_master(0);
    wait_for_writes(&server, &ben);
    assert_eq!(socket.receive().await["payload"]["data"]["timeline"]["edge"]["node"]["content"], "again");
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
