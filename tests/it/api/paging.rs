//! Every connection of the schema, paged to its end in both directions with the cursors that it issues.

use std::time::Duration;

use apollo_compiler::Schema;
use apollo_compiler::schema::{ExtendedType, ObjectType};
use fanfold::model::id::UserId;
use fanfold::model::moderator::Moderator;
use serde_json::{Value, json};

use crate::harness::post::publish;
use crate::harness::sql::{Database, Kind};
use crate::harness::world::{Person, World, archive_all, deliver_all};

/// The number of entries that each connection of the world has at least.
const LEAST: usize = 3;

/// Each object that has connections, as a query with `…` for the connection. `ann1` is the user and the post's author.
const PATHS: [(&str, &str); 4] = [
    ("User", "{ user(by: { username: \"ann1\" }) { … } }"),
    ("Viewer", "{ viewer { … } }"),
    ("Post", "{ user(by: { username: \"ann1\" }) { posts(last: 1) { nodes { … } } } }"),
    ("Moderation", "{ viewer { moderation { … } } }"),
];

fn schema() -> Schema {
    Schema::parse_and_validate(fanfold::graphql::sdl(), "schema.graphql").unwrap().into_inner()
}

/// A connection of an object.
#[derive(Debug)]
struct Connection {
    object: String,
    field: String,
    /// The fields of an entry's node that have no subfields and no arguments.
    leaves: String,
}

/// Returns all connections of the schema: the fields whose objects have a `pageInfo`.
fn connections(schema: &Schema) -> Vec<Connection> {
    let object = |name: &str| schema.types[name].as_object();
    let mut found = Vec::new();
    for owner in schema.types.values().filter_map(ExtendedType::as_object) {
        for (name, field) in &owner.fields {
            let connection = object(field.ty.inner_named_type());
            if let Some(connection) =
                connection.filter(|connection| connection.fields.contains_key("pageInfo"))
            {
                let below = |ty: &ObjectType, field: &str| ty.fields[field].ty.inner_named_type().clone();
                let edge = object(&below(connection, "edges")).unwrap();
                let node = object(&below(edge, "node")).unwrap();
                let leaves = node.fields.values().filter(|field| {
                    field.arguments.is_empty() && schema.types[field.ty.inner_named_type()].is_leaf()
                });
                let leaves: Vec<&str> = leaves.map(|field| field.name.as_str()).collect();
                found.push(Connection {
                    object: owner.name.to_string(),
                    field: name.to_string(),
                    leaves: leaves.join(" "),
                });
            }
        }
    }
    found
}

/// Sends a mutation, which must succeed, and lets time pass, so that entries differ in their times.
async fn change(world: &World, person: &Person, mutation: &str, input: Value) {
    world.clock.advance(Duration::from_millis(7));
    let kind = format!("{}{}", mutation[..1].to_uppercase(), &mutation[1..]);
    let query = format!(
        "mutation ($input: {kind}Input!) {{ {mutation}(input: $input) {{ userErrors {{ code }} }} }}"
    );
    let data = world.data(Some(&person.token), &query, json!({ "input": input })).await;
    assert_eq!(data[mutation]["userErrors"], json!([]), "{mutation}");
}

/// Fills a world so that every connection that the first user reads has several entries. Returns that user.
async fn populate(world: &World) -> Person {
    // The viewer, the owner of the lists, three others, and three private accounts.
    let people = world.people(8).await;
    let (viewer, owner, others, private) = (&people[0], &people[1], &people[2..5], &people[5..]);
    world.app.set_moderator(&Moderator::Operator, UserId::new(1).unwrap(), true).await.unwrap();
    for other in others {
        for (person, input) in [(owner, &other.id), (other, &owner.id), (viewer, &other.id)] {
            change(world, person, "follow", json!({ "userId": input })).await;
        }
        let post = publish(world, other, "listed").await;
        change(world, viewer, "report", json!({ "target": { "postId": post }, "reason": "spam" })).await;
        change(world, viewer, "bookmark", json!({ "postId": post })).await;
        change(world, viewer, "like", json!({ "postId": post })).await;
    }
    let post = publish(world, owner, "first").await;
    for other in others {
        change(world, other, "publish", json!({ "content": "reply", "inReplyTo": post })).await;
        change(world, other, "publish", json!({ "content": "quote", "quoteOf": post })).await;
        change(world, other, "like", json!({ "postId": post })).await;
        change(world, owner, "publish", json!({ "content": "later" })).await;
    }
    for other in private {
        change(world, other, "updateProfile", json!({ "isPrivate": true })).await;
        change(world, viewer, "follow", json!({ "userId": other.id })).await;
        change(world, viewer, "createInvite", json!({})).await;
        change(world, viewer, "endSessions", json!({ "userId": owner.id })).await;
    }
    change(world, viewer, "updateProfile", json!({ "isPrivate": true })).await;
    for other in others {
        change(world, other, "follow", json!({ "userId": viewer.id })).await;
    }
    for number in 0..LEAST {
        let muted = world.register(&format!("muted{number}")).await;
        let blocked = world.register(&format!("blocked{number}")).await;
        // The viewer does not follow these users: several reposts on a page of the timeline would be one entry.
        change(world, &muted, "repost", json!({ "postId": post })).await;
        change(world, viewer, "mute", json!({ "userId": muted.id })).await;
        change(world, viewer, "block", json!({ "userId": blocked.id })).await;
    }
    deliver_all(&world.app).await;
    viewer.clone()
}

/// The direction in which a list is paged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Forward,
    Backward,
}

/// The pages of a connection.
struct Pages<'a> {
    world: &'a World,
    viewer: &'a Person,
    connection: &'a Connection,
    path: &'a str,
}

impl Pages<'_> {
    /// Returns a page, or the whole response if there is none.
    async fn page(&self, direction: Direction, size: usize, cursor: &Value) -> Result<Value, Value> {
        let (count, place) = match direction {
            Direction::Forward => ("first", "after"),
            Direction::Backward => ("last", "before"),
        };
        let Connection { field, leaves, .. } = self.connection;
        let page = format!(
            "page: {field}({count}: {size}, {place}: $cursor) {{ edges {{ cursor node {{ {leaves} }} }}
                pageInfo {{ hasNextPage hasPreviousPage startCursor endCursor }} }}"
        );
        let query = format!("query ($cursor: String) {}", self.path.replace('…', &page));
        let response = self.world.ask(Some(&self.viewer.token), &query, json!({ "cursor": cursor })).await;
        let page = find(&response["data"], "page").filter(|page| page.is_object());
        page.cloned().filter(|_| response.get("errors").is_none()).ok_or(response)
    }

    /// Returns the nodes of the whole list, read page by page, in the order of the list.
    async fn walk(&self, direction: Direction, size: usize, total: usize) -> Result<Vec<Value>, String> {
        let (more, back, outer) = match direction {
            Direction::Forward => ("hasNextPage", "hasPreviousPage", "endCursor"),
            Direction::Backward => ("hasPreviousPage", "hasNextPage", "startCursor"),
        };
        let (mut nodes, mut cursor) = (Vec::new(), Value::Null);
        loop {
            let page = self.page(direction, size, &cursor).await.map_err(|response| response.to_string())?;
            let (edges, info) = (page["edges"].as_array().unwrap(), &page["pageInfo"]);
            let ends =
                [edges.first(), edges.last()].map(|edge| edge.map_or(&Value::Null, |edge| &edge["cursor"]));
            if ends != [&info["startCursor"], &info["endCursor"]] {
                return Err(format!("the cursors of the page are not those of its ends: {page}"));
            }
            let found = edges.iter().map(|edge| edge["node"].clone());
            match direction {
                Direction::Forward => nodes.extend(found),
                Direction::Backward => drop(nodes.splice(..0, found)),
            }
            if info[back] != json!(!cursor.is_null()) || info[more] != json!(nodes.len() < total) {
                return Err(format!("{} of {total} nodes, but {info}", nodes.len()));
            }
            if info[more] == false {
                return Ok(nodes);
            }
            cursor = info[outer].clone();
        }
    }

    /// Compares the pages of each size and direction with the whole list.
    async fn check(&self) -> Result<(), String> {
        let whole = self.page(Direction::Forward, 100, &Value::Null).await;
        let whole = whole.map_err(|response| response.to_string())?;
        let nodes: Vec<Value> =
            whole["edges"].as_array().unwrap().iter().map(|edge| edge["node"].clone()).collect();
        if nodes.len() < LEAST {
            return Err(format!("only {} entries in this world", nodes.len()));
        }
        for direction in [Direction::Forward, Direction::Backward] {
            for size in [1, 2, 100] {
                let walked = self.walk(direction, size, nodes.len()).await;
                let walked = walked.map_err(|error| format!("{direction:?} by {size}: {error}"))?;
                if walked != nodes {
                    return Err(format!("{direction:?} by {size}: {walked:?} instead of {nodes:?}"));
                }
            }
        }
        Ok(())
    }
}

/// Returns the value of the first field with this name.
fn find<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    match value {
        Value::Object(fields) => {
            fields.get(name).or_else(|| fields.values().find_map(|value| find(value, name)))
        }
        Value::Array(values) => values.iter().find_map(|value| find(value, name)),
        _ => None,
    }
}

/// Pages every connection of the schema.
async fn check(world: &World, viewer: &Person) {
    let mut faults = Vec::new();
    let schema = schema();
    let connections = connections(&schema);
    assert!(connections.len() >= 17, "{connections:?}");
    for connection in &connections {
        let name = format!("{}.{}", connection.object, connection.field);
        let Some((_, path)) = PATHS.iter().find(|(object, _)| *object == connection.object) else {
            faults.push(format!("{name}: add a path to {} to PATHS", connection.object));
            continue;
        };
        let pages = Pages { world, viewer, connection, path };
        if let Err(fault) = pages.check().await {
            faults.push(format!("{name}: {fault}"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[tokio::test]
async fn every_connection_is_paged_to_its_end_with_its_own_cursors() {
    let world = World::new().await;
    let viewer = populate(&world).await;
    check(&world, &viewer).await;
}

#[tokio::test]
async fn every_connection_of_archived_posts_is_paged_to_its_end_with_its_own_cursors() {
    let database = Database::new(Kind::Sqlite).await;
    let world = World::with_archive(&database, &["--post-hot-limit", "1"]).await;
    let viewer = populate(&world).await;
    archive_all(&world.app).await;
    assert!(world.app.archive_asked() > 0);
    check(&world, &viewer).await;
}
