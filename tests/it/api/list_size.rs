//! Lists that are as long as what is stored: entries beyond the size that the schema states are paid for before they
//! are made.

use std::collections::BTreeSet;

use apollo_compiler::Schema;
use apollo_compiler::ast::FieldDefinition;
use apollo_compiler::schema::ExtendedType;
use serde_json::{Value, json};

use crate::harness::post::publish;
use crate::harness::session::login;
use crate::harness::world::{PASSWORD, Person, World, deliver_all};

/// Lists that are never longer than stated.
const NEVER_LONGER: [&str; 1] = ["Query.countries"];

/// A query, or a mutation, that reads a list several times, and its reader.
struct Case {
    list: &'static str,
    reader: Person,
    /// The operation, in which `LIST` stands for the list.
    operation: String,
    /// The list and the selections of an entry.
    selection: &'static str,
}

/// Returns the lists of the schema, or only those whose assumed size no argument replaces. A payload's `userErrors` are
/// one list.
fn lists(only_assumed: bool) -> BTreeSet<String> {
    let schema = Schema::parse_and_validate(fanfold::graphql::sdl(), "schema.graphql").unwrap();
    let is_meant = |field: &FieldDefinition| {
        let size = field.directives.get("listSize");
        size.is_some_and(|size| {
            !only_assumed || size.specified_argument_by_name("slicingArguments").is_none()
        })
    };
    let objects = schema.types.values().filter_map(ExtendedType::as_object);
    let lists = objects.flat_map(|object| {
        let fields = object.fields.values().filter(|field| is_meant(field));
        fields.map(|field| match field.name.as_str() {
            "userErrors" => "userErrors".to_owned(),
            name => format!("{}.{name}", object.name),
        })
    });
    lists.collect()
}

async fn segments(world: &World) -> Case {
    let reader = world.register("segments").await;
    let content: Vec<String> = (0..10).map(|n| format!("@nobody{n} #tag{n} host{n}.com ")).collect();
    let content = content.concat();
    let post = publish(world, &reader, &content).await;
    let operation = format!("{{ post(id: \"{post}\") {{ LIST }} }}");
    Case { list: "Post.segments", reader, operation, selection: "segments { text start }" }
}

async fn edits(world: &World) -> Case {
    let reader = world.register("editor").await;
    let post = publish(world, &reader, "0").await;
    let edit = "mutation ($id: ID!, $content: String!) {
        editPost(input: { postId: $id, content: $content }) { userErrors { code } } }";
    for version in 1..=20 {
        let variables = json!({ "id": post, "content": version.to_string() });
        world.data(Some(&reader.token), edit, variables).await;
    }
    let operation = format!("{{ post(id: \"{post}\") {{ LIST }} }}");
    Case { list: "Post.edits", reader, operation, selection: "edits { content }" }
}

async fn sessions(world: &World) -> Case {
    let reader = world.register("sessions").await;
    for _ in 0..30 {
        assert!(login(world, "sessions", PASSWORD).await["token"].is_string());
    }
    let operation = "{ viewer { LIST } }".to_owned();
    Case { list: "Viewer.sessions", reader, operation, selection: "sessions { label }" }
}

async fn subdivisions(world: &World) -> Case {
    let reader = world.register("settler").await;
    let settle = "mutation { updateProfile(input: { region: { country: \"US\" } }) { viewer { id } } }";
    world.data(Some(&reader.token), settle, Value::Null).await;
    let operation = "{ viewer { user { region { country { LIST } } } } }".to_owned();
    Case { list: "Country.subdivisions", reader, operation, selection: "subdivisions { name }" }
}

async fn reposted_by(world: &World) -> Case {
    let reader = world.register("reader").await;
    let author = world.register("author").await;
    let post = publish(world, &author, "Reposted by everyone.").await;
    // The page ends with this post, after all reposts.
    publish(world, &reader, "Older than the reposts.").await;
    let repost = "mutation ($id: ID!) { repost(input: { postId: $id }) { userErrors { code } } }";
    for number in 0..40 {
        let follower = world.register(&format!("reposter{number}")).await;
        world.follow(&reader, &follower).await;
        world.data(Some(&follower.token), repost, json!({ "id": post })).await;
    }
    deliver_all(&world.app).await;
    let operation = "{ viewer { timeline(first: 2) { edges { LIST } } } }".to_owned();
    Case { list: "PostEdge.repostedBy", reader, operation, selection: "repostedBy { username }" }
}

/// The same entry has as many positions.
fn positions(reposted: &Case) -> Case {
    let (reader, operation) = (reposted.reader.clone(), reposted.operation.clone());
    Case { list: "PostEdge.positions", reader, operation, selection: "positions" }
}

async fn user_errors(world: &World) -> Case {
    let reader = world.register("invalid").await;
    let operation = "mutation { register(input: { username: \"\", password: \"\", displayName: \"\\u0007\", label: \"\\u0007\" }) { LIST } }";
    Case { list: "userErrors", reader, operation: operation.to_owned(), selection: "userErrors { code }" }
}

#[test]
fn the_bench_of_the_worst_request_has_worst_data_for_every_list() {
    let bench = include_str!("../../../benches/worst/lists.rs");
    let missing: Vec<String> =
        lists(false).into_iter().filter(|list| !bench.contains(&format!("{list}\""))).collect();
    assert!(missing.is_empty(), "add them in benches/worst/lists.rs: {missing:?}");
}

#[tokio::test]
async fn every_list_that_is_longer_than_stated_pays_for_its_further_entries() {
    let world = World::with(&["--graphql-cost-limit", "100"]).await;
    let reposted = reposted_by(&world).await;
    let cases = [
        positions(&reposted),
        reposted,
        segments(&world).await,
        edits(&world).await,
        sessions(&world).await,
        subdivisions(&world).await,
        user_errors(&world).await,
    ];
    let known = cases.iter().map(|case| case.list).chain(NEVER_LONGER).map(str::to_owned).collect();
    assert_eq!(lists(true), known, "lists with an assumed size");
    for Case { list, reader, operation, selection } in cases {
        let read = async |times: usize| {
            let lists: Vec<String> = (0..times).map(|n| format!("list{n}: {selection}")).collect();
            world.ask(Some(&reader.token), &operation.replace("LIST", &lists.join(" ")), Value::Null).await
        };
        assert_eq!(read(1).await.get("errors"), None, "{list}");
        let mut times = 2;
        let refused = loop {
            let response = read(times).await;
            if let Some(error) = response["errors"].get(0) {
                break error["message"].as_str().unwrap().to_owned();
            }
            times += 1;
        };
        let reason = "its lists are longer than predicted, and their further entries cost more than 100";
        assert!(refused.contains(reason), "{list}, {times} times: {refused}");
    }
}
