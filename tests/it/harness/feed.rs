//! What users of a server do: they follow, publish, and read and watch their timelines.

use serde_json::{Value, json};

use crate::harness::server::Server;
use crate::harness::wait::eventually_async;

/// Watches the viewer's timeline.
pub(crate) const TIMELINE: &str = "subscription ($after: String) { timeline(after: $after) {
    __typename cursor ... on PostAdded { edge { node { id content author { username relation { status } } } } }
    ... on PostRemoved { postId } } }";

/// Publishes a post, and returns its id.
pub(crate) fn publish(server: &Server, token: &str, content: &str) -> String {
    let input = format!("content: \"{content}\"");
    let response =
        server.ask_as(token, &format!("mutation {{ publish(input: {{ {input} }}) {{ post {{ id }} }} }}"));
    response["data"]["publish"]["post"]["id"].as_str().unwrap_or_else(|| panic!("{response}")).to_owned()
}

/// Publishes a post, and retries while a failover is under way. Returns its id.
pub(crate) async fn publish_in_the_end(server: &Server, token: &str, content: &str) -> String {
    let input = format!("content: \"{content}\", idempotencyKey: \"{content}\"");
    let query = format!("mutation {{ publish(input: {{ {input} }}) {{ post {{ id }} }} }}");
    let mut response = Value::Null;
    eventually_async(async || {
        response = server.ask_as(token, &query);
        response["data"]["publish"]["post"]["id"].is_string()
    })
    .await;
    response["data"]["publish"]["post"]["id"].as_str().unwrap_or_else(|| panic!("{response}")).to_owned()
}

/// Makes the user with this token follow the other one.
pub(crate) fn follow(server: &Server, token: &str, other: &str) {
    let id =
        server.ask(&format!("{{ user(by: {{ username: \"{other}\" }}) {{ id }} }}"))["data"]["user"]["id"]
            .clone();
    let response = server.ask_as(
        token,
        &format!("mutation {{ follow(input: {{ userId: {id} }}) {{ userErrors {{ code }} }} }}"),
    );
    assert_eq!(response, json!({ "data": { "follow": { "userErrors": [] } } }));
}

/// Returns the contents of the newest posts of a timeline, newest first.
pub(crate) fn timeline(server: &Server, token: &str) -> Vec<String> {
    let data = server.ask_as(token, "{ viewer { timeline(first: 100) { nodes { content } } } }");
    let nodes = data["data"]["viewer"]["timeline"]["nodes"].as_array().cloned().unwrap_or_default();
    nodes.iter().map(|node| node["content"].as_str().unwrap().to_owned()).collect()
}

/// Waits until a timeline has these posts.
pub(crate) async fn wait_for_timeline(server: &Server, token: &str, expected: &[String]) {
    eventually_async(async || timeline(server, token) == expected).await;
    assert_eq!(timeline(server, token), expected);
}

/// Waits until a post is the newest of a timeline, which is in the order of ids.
pub(crate) async fn wait_until_first(server: &Server, token: &str, content: &str) {
    eventually_async(async || timeline(server, token).first().is_some_and(|first| first == content)).await;
    assert_eq!(timeline(server, token)[0], content);
}
