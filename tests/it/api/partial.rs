//! Responses of which a part is missing: the rest is there, and each missing part is null at its own field.

use apollo_compiler::Schema;
use apollo_compiler::ast::FieldDefinition;
use apollo_compiler::schema::ExtendedType;
use serde_json::{Value, json};

use crate::harness::post::{delete, publish};
use crate::harness::sql::{Kind, Server};
use crate::harness::world::{World, archive_all, deliver_all};

/// Returns the path of each error, with its code.
fn failures(response: &Value) -> Vec<(Value, &str)> {
    let errors = response["errors"].as_array().unwrap().iter();
    errors.map(|error| (error["path"].clone(), error["extensions"]["code"].as_str().unwrap())).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nested_pages_without_the_archive_are_null_and_the_rest_is_there() {
    let mut server = tokio::task::spawn_blocking(|| Server::start(Kind::Postgres)).await.unwrap();
    let url = server.database().await;
    let options = ["--archive-url", &url, "--post-hot-limit", "3", "--timeline-capacity", "5"];
    let world = World::with(&options).await;
    let people = world.people(4).await;
    for (follower, followee) in [(1, 0), (2, 0), (3, 0), (0, 1), (0, 2), (1, 2)] {
        world.follow(&people[follower], &people[followee]).await;
    }
    // ann1 has archived posts, ann2 has only hot ones, ann3 has none.
    for number in 0..8 {
        publish(&world, &people[1], &format!("one {number}")).await;
    }
    for number in 0..2 {
        publish(&world, &people[2], &format!("two {number}")).await;
    }
    deliver_all(&world.app).await;
    archive_all(&world.app).await;
    server.kill();

    let token = Some(people[0].token.as_str());
    let query = "{ viewer {
        timeline(first: 3) { nodes { content author { username relation { status } posts(first: 5) { nodes { content } } } } }
        below: timeline(first: 10) { nodes { content } }
        user { username followers { totalCount nodes {
            username relation { status }
            posts(first: 5) { nodes { content } }
            newest: posts(first: 2) { totalCount nodes { content } pageInfo { hasNextPage } }
            knownFollowers { nodes { username posts(first: 5) { nodes { content } } } }
            month: posts(first: 2, createdAt: { since: \"2000-01-01T00:00:00Z\" }) { totalCount nodes { content } }
        } } } } }";
    let response = world.ask(token, query, Value::Null).await;
    let viewer = &response["data"]["viewer"];
    let followers = viewer["user"]["followers"]["nodes"].as_array();
    let followers = followers.unwrap_or_else(|| panic!("{response}"));
    let names: Vec<&Value> = followers.iter().map(|follower| &follower["username"]).collect();
    assert_eq!(names, ["ann3", "ann2", "ann1"]);
    let statuses: Vec<&Value> = followers.iter().map(|follower| &follower["relation"]["status"]).collect();
    assert_eq!(statuses, ["FOLLOWER", "MUTUAL", "MUTUAL"]);
    let contents = |page: &Value| {
        let nodes = page["nodes"].as_array().unwrap().iter();
        nodes.map(|node| node["content"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    // Without the archive, nobody knows what follows the hot posts of ann1.
    assert_eq!(followers[2]["posts"], Value::Null);
    assert_eq!(contents(&followers[1]["posts"]), ["two 1", "two 0"]);
    assert!(contents(&followers[0]["posts"]).is_empty());
    assert_eq!(contents(&followers[2]["newest"]), ["one 7", "one 6"]);
    assert_eq!(followers[2]["newest"]["totalCount"], 8);
    assert_eq!(followers[2]["newest"]["pageInfo"]["hasNextPage"], true);
    // The page is there, and only its count needs the archive.
    assert_eq!(followers[2]["month"]["totalCount"], Value::Null);
    assert_eq!(contents(&followers[2]["month"]), ["one 7", "one 6"]);
    assert_eq!(followers[1]["month"]["totalCount"], 2);
    assert_eq!(contents(&viewer["timeline"]), ["two 1", "two 0", "one 7"]);
    let authors = viewer["timeline"]["nodes"].as_array().unwrap().iter().map(|post| &post["author"]);
    for author in authors {
        assert_eq!(author["relation"]["status"], "MUTUAL");
        assert_eq!(author["posts"].is_null(), author["username"] == "ann1", "{author}");
    }
    assert_eq!(viewer["below"], Value::Null);
    let mut failed = failures(&response);
    failed.sort_by_key(|(path, _)| path.to_string());
    let expected = [
        json!(["viewer", "below"]),
        json!(["viewer", "timeline", "nodes", 2, "author", "posts"]),
        // ann1 is a follower of ann2. The error is reported once, although it is found twice: the posts of ann1 fail
        // beside it, too, and then all fields of the list are resolved one by one.
        json!(["viewer", "user", "followers", "nodes", 1, "knownFollowers", "nodes", 0, "posts"]),
        json!(["viewer", "user", "followers", "nodes", 2, "month", "totalCount"]),
        json!(["viewer", "user", "followers", "nodes", 2, "posts"]),
    ];
    let expected: Vec<(Value, &str)> = expected.into_iter().map(|path| (path, "UNAVAILABLE")).collect();
    assert_eq!(failed, expected, "{response}");
    for error in response["errors"].as_array().unwrap() {
        assert_eq!(error["extensions"]["retryAfterSeconds"], 1);
    }
    // A mutation completes, and its payload lacks only what needs the archive.
    let hot = publish(&world, &people[0], "mine").await;
    assert_eq!(delete(&world, &people[0], &hot).await["userErrors"], json!([]));
}

#[test]
fn whatever_makes_a_read_of_its_own_is_nullable() {
    // These lists are in memory.
    const IN_MEMORY: [&str; 5] = [
        "Query.countries",
        "Country.subdivisions",
        "Post.segments",
        "PostEdge.positions",
        "PostEdge.repostedBy",
    ];
    let schema = Schema::parse_and_validate(fanfold::graphql::sdl(), "schema.graphql").unwrap();
    let reads = |object: &str, field: &FieldDefinition| {
        let ty = field.ty.inner_named_type().as_str();
        let has = |directive| field.directives.get(directive).is_some();
        let is_count = object.ends_with("Connection") && field.name == "totalCount";
        ty.ends_with("Connection") || is_count || has("listSize") || has("cost")
    };
    let mut wrong = Vec::new();
    let mut checked = 0;
    for object in schema.types.values().filter_map(ExtendedType::as_object) {
        if object.name.starts_with("__") || object.name.ends_with("Payload") {
            continue;
        }
        for field in object.fields.values().filter(|field| reads(&object.name, field)) {
            let name = format!("{}.{}", object.name, field.name);
            checked += 1;
            if field.ty.is_non_null() != IN_MEMORY.contains(&name.as_str()) {
                wrong.push(name);
            }
        }
    }
    assert!(wrong.is_empty(), "a failing read would take the object away: {wrong:?}");
    assert!(checked > 15, "{checked}");
}
