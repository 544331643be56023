//! Posts in a world, through its API: published, deleted and read.

use serde_json::{Value, json};

use crate::harness::world::{Person, World, deliver_all};

/// Publishes a post, and returns its id.
pub(crate) async fn publish(world: &World, person: &Person, content: &str) -> String {
    let query = "mutation ($content: String!) { publish(input: { content: $content }) { post { id } } }";
    let data = world.data(Some(&person.token), query, json!({ "content": content })).await;
    data["publish"]["post"]["id"].as_str().unwrap().to_owned()
}

/// Publishes a post, and delivers it.
pub(crate) async fn publish_and_deliver(world: &World, author: &Person, content: &str) {
    let query =
        "mutation ($content: String!) { publish(input: { content: $content }) { userErrors { code } } }";
    world.data(Some(&author.token), query, json!({ "content": content })).await;
    deliver_all(&world.app).await;
}

/// Publishes a post with this input.
pub(crate) const PUBLISH: &str = "mutation ($input: PublishInput!) { publish(input: $input) {
    post { id } userErrors { code field message } } }";

/// Publishes a post with this input, at a time of its own. Returns its id, or the code and the field of its error.
pub(crate) async fn try_publish(world: &World, person: &Person, input: Value) -> Result<String, Value> {
    let mut input = input;
    input["content"] = json!("x");
    world.clock.advance(std::time::Duration::from_millis(1));
    let mut payload = world.data(Some(&person.token), PUBLISH, json!({ "input": input })).await;
    let payload = &mut payload["publish"];
    match payload["post"]["id"].as_str() {
        Some(id) => Ok(id.to_owned()),
        None => Err(json!([payload["userErrors"][0]["code"], payload["userErrors"][0]["field"]])),
    }
}

/// Deletes a post, and returns the payload.
pub(crate) async fn delete(world: &World, person: &Person, id: &str) -> Value {
    let query =
        "mutation ($id: ID!) { deletePost(input: { postId: $id }) { deletedPostId userErrors { code } } }";
    world.data(Some(&person.token), query, json!({ "id": id })).await["deletePost"].take()
}

/// Returns these fields of a post.
pub(crate) async fn post(world: &World, person: &Person, id: &str, fields: &str) -> Value {
    let query = format!("query ($id: ID!) {{ post(id: $id) {{ {fields} }} }}");
    world.data(Some(&person.token), &query, json!({ "id": id })).await["post"].take()
}

/// Reads a page of the viewer's own posts.
pub(crate) const POSTS: &str =
    "query ($first: Int, $after: String, $last: Int, $before: String) { viewer { user {
    posts(first: $first, after: $after, last: $last, before: $before) {
        totalCount nodes { id } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } } } }";

/// Returns a page of the user's own posts.
pub(crate) async fn posts(world: &World, person: &Person, variables: Value) -> Value {
    world.data(Some(&person.token), POSTS, variables).await["viewer"]["user"]["posts"].take()
}

/// Returns the ids of these nodes.
pub(crate) fn ids(nodes: &Value) -> Vec<String> {
    nodes.as_array().unwrap().iter().map(|node| node["id"].as_str().unwrap().to_owned()).collect()
}
