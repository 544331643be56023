//! The fields of the schema, one by one: each test names the fields that lack a declaration.

use apollo_compiler::ast::FieldDefinition;
use apollo_compiler::collections::IndexMap;
use apollo_compiler::schema::{Component, ExtendedType};
use apollo_compiler::{Name, Schema};
use serde_json::Value;

use crate::harness::request::{FOR_A_MINUTE, cache_control};
use crate::harness::world::{Person, World};

/// A query to an object of each type whose responses may be public, with `…` for the selection.
const PATHS: [(&str, &str); 21] = [
    ("User", "{ user(by: { username: \"ann0\" }) { … } }"),
    ("Post", "{ user(by: { username: \"ann0\" }) { posts { nodes { … } } } }"),
    ("PostEdit", "{ post(id: \"UG9zdDox\") { edits { … } } }"),
    ("FollowConnection", "{ user(by: { username: \"ann0\" }) { followers { … } } }"),
    ("FollowEdge", "{ user(by: { username: \"ann0\" }) { followers { edges { … } } } }"),
    ("TextSegment", "{ post(id: \"UG9zdDox\") { segments { ... on TextSegment { … } } } }"),
    ("MentionSegment", "{ post(id: \"UG9zdDox\") { segments { ... on MentionSegment { … } } } }"),
    ("HashtagSegment", "{ post(id: \"UG9zdDox\") { segments { ... on HashtagSegment { … } } } }"),
    ("LinkSegment", "{ post(id: \"UG9zdDox\") { segments { ... on LinkSegment { … } } } }"),
    ("Hashtag", "{ post(id: \"UG9zdDox\") { segments { ... on HashtagSegment { hashtag { … } } } } }"),
    ("PostConnection", "{ user(by: { username: \"ann0\" }) { posts { … } } }"),
    ("PostEdge", "{ user(by: { username: \"ann0\" }) { posts { edges { … } } } }"),
    ("PostListConnection", "{ user(by: { username: \"ann0\" }) { posts { nodes { replies { … } } } } }"),
    ("RepostConnection", "{ user(by: { username: \"ann0\" }) { posts { nodes { repostedBy { … } } } } }"),
    ("RepostEdge", "{ user(by: { username: \"ann0\" }) { posts { nodes { repostedBy { edges { … } } } } } }"),
    ("PageInfo", "{ user(by: { username: \"ann0\" }) { followers { pageInfo { … } } } }"),
    ("FollowersByRegion", "{ user(by: { username: \"ann0\" }) { followersByRegion { … } } }"),
    ("RegionShare", "{ user(by: { username: \"ann0\" }) { followersByRegion { regions { … } } } }"),
    ("Region", "{ user(by: { username: \"ann0\" }) { region { … } } }"),
    ("Country", "{ countries { … } }"),
    ("DailyVisits", "{ visits { … } }"),
];

type Fields = IndexMap<Name, Component<FieldDefinition>>;

fn schema() -> Schema {
    Schema::parse_and_validate(fanfold::graphql::sdl(), "schema.graphql").unwrap().into_inner()
}

fn fields<'a>(schema: &'a Schema, object: &str) -> Vec<&'a FieldDefinition> {
    let object = schema.types[object].as_object().unwrap();
    object.fields.values().map(|field| &***field).collect()
}

/// Returns the fields of the objects that a field returns; `None` for a leaf.
fn fields_below<'a>(schema: &'a Schema, field: &FieldDefinition) -> Option<&'a Fields> {
    match &schema.types[field.ty.inner_named_type()] {
        ExtendedType::Object(below) => Some(&below.fields),
        ExtendedType::Interface(below) => Some(&below.fields),
        _ => None,
    }
}

/// Selects a field, with the part below it that is the same for all viewers or, if there is none, its type.
fn select(schema: &Schema, field: &FieldDefinition) -> String {
    let Some(below) = fields_below(schema, field) else { return field.name.to_string() };
    let is_open = |field: &&FieldDefinition| field.directives.get("cacheControl").is_none();
    let fields = below.values().map(|field| &***field).filter(is_open);
    let leaves = fields.filter(|field| schema.types[field.ty.inner_named_type()].is_leaf());
    let leaves: Vec<&str> = leaves.map(|field| field.name.as_str()).collect();
    let nodes = if below.contains_key("nodes") { "nodes { id }" } else { "" };
    format!("{} {{ __typename {} {nodes} }}", field.name, leaves.join(" "))
}

/// People who follow each other so that every field that depends on the viewer differs, and a post.
async fn people(world: &World) -> Vec<Person> {
    let people = world.people(4).await;
    for (follower, followee) in [(0, 1), (1, 0), (2, 0), (1, 2)] {
        world.follow(&people[follower], &people[followee]).await;
    }
    let publish =
        "mutation { publish(input: { content: \"first @ann1 #tag example.org\" }) { post { id } } }";
    world.data(Some(&people[0].token), publish, Value::Null).await;
    let region = "mutation { updateProfile(input: { region: { country: \"DE\", subdivision: \"DE-BE\" } }) { viewer { id } } }";
    world.data(Some(&people[0].token), region, Value::Null).await;
    people
}

#[tokio::test]
async fn every_field_that_depends_on_the_viewer_is_private() {
    let world = World::with(&FOR_A_MINUTE).await;
    let people = people(&world).await;
    let schema = schema();
    let (mut checked, mut open) = (0, Vec::new());
    for (object, path) in PATHS {
        for field in fields(&schema, object) {
            let query = path.replace('…', &select(&schema, field));
            if cache_control(&world, &query, &[]).await == "no-store" {
                continue;
            }
            checked += 1;
            let anonymous = world.data(None, &query, Value::Null).await;
            for person in &people {
                if world.data(Some(&person.token), &query, Value::Null).await != anonymous {
                    open.push(format!("{object}.{}", field.name));
                }
            }
        }
    }
    assert!(open.is_empty(), "without `@cacheControl(scope: PRIVATE)`, but different by viewer: {open:?}");
    assert!(checked > 30, "{checked} public fields");
}

#[test]
fn every_type_whose_responses_may_be_public_is_checked_field_by_field() {
    let schema = schema();
    let is_public = |ty: &&ExtendedType| {
        let scope = ty.directives().get("cacheControl").map(|directive| directive.to_string());
        ty.as_object().is_some() && scope.is_some_and(|scope| scope.contains("PUBLIC"))
    };
    let public = schema.types.values().filter(is_public).map(|ty| ty.name().as_str());
    // A subdivision is part of a country, and neither has anything of a user.
    let unknown: Vec<&str> = public
        .filter(|name| *name != "Subdivision" && !PATHS.iter().any(|(known, _)| known == name))
        .collect();
    assert!(unknown.is_empty(), "add a path to PATHS for {unknown:?}");
}

#[tokio::test]
async fn every_field_of_a_listed_user_is_loaded_with_its_page() {
    let world = World::new().await;
    let people = people(&world).await;
    let schema = schema();
    let token = Some(people[3].token.as_str());
    let mut late = Vec::new();
    // Counts are read below the page, in the round trip of the lists that they count (`counts.rs`).
    let is_with_page =
        |field: &&FieldDefinition| field.arguments.is_empty() && field.directives.get("cost").is_none();
    for field in fields(&schema, "User").into_iter().filter(is_with_page) {
        let selection = select(&schema, field);
        let query =
            format!("{{ user(by: {{ username: \"ann0\" }}) {{ followers {{ nodes {{ {selection} }} }} }} }}");
        world.data(token, &query, Value::Null).await;
        let before = world.app.store().round_trips();
        world.data(token, &query, Value::Null).await;
        // The session, the name, the page, and its users.
        let trips = world.app.store().round_trips() - before;
        if trips > 4 {
            late.push(format!("{}: {trips} round trips", field.name));
        }
    }
    assert!(late.is_empty(), "declare them as `record`, or what they read: {late:?}");
}

/// Selects every field of a type, and every field of the objects below it that has no arguments.
fn select_all(schema: &Schema, object: &str) -> String {
    let below = |field: &FieldDefinition| {
        let Some(below) = fields_below(schema, field) else { return String::new() };
        let leaves = below.values().filter(|field| {
            field.arguments.is_empty() && schema.types[field.ty.inner_named_type()].is_leaf()
        });
        // Some under aliases; a document has at most 30.
        let alias = |name: &str| {
            if ["id", "status"].contains(&name) { format!("_{name}: ") } else { String::new() }
        };
        let leaves: Vec<String> =
            leaves.map(|field| format!("{}{}", alias(&field.name), field.name)).collect();
        let nodes = if below.contains_key("nodes") { "nodes { id __typename }" } else { "" };
        format!("{{ __typename {} {nodes} }}", leaves.join(" "))
    };
    let fields = fields(schema, object).into_iter();
    fields.map(|field| format!("{} {}", field.name, below(field))).collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn a_field_has_the_same_value_in_a_list_as_elsewhere() {
    let world = World::new().await;
    let people = people(&world).await;
    let schema = schema();
    let (user, post) = (select_all(&schema, "User"), select_all(&schema, "Post"));
    for token in people.iter().map(|person| Some(person.token.as_str())).chain([None]) {
        let listed = format!(
            "{{ user(by: {{ username: \"ann1\" }}) {{ followers {{
                nodes {{ {user} }} edges {{ cursor followedAt node {{ id relation {{ status user {{ id bio }} }} }} }}
            }} }} }}"
        );
        let listed = world.data(token, &listed, Value::Null).await;
        let followers = &listed["user"]["followers"];
        let alone = format!("{{ user(by: {{ username: \"ann0\" }}) {{ {user} }} }}");
        let alone = world.data(token, &alone, Value::Null).await;
        assert_eq!(followers["nodes"][0], alone["user"]);
        let node = &followers["edges"][0]["node"];
        assert_eq!(node["id"], alone["user"]["id"]);
        let relation = &alone["user"]["relation"];
        assert_eq!(node["relation"]["status"], relation["_status"]);
        if relation.is_object() {
            assert_eq!(
                node["relation"]["user"],
                serde_json::json!({ "id": alone["user"]["id"], "bio": alone["user"]["bio"] })
            );
        }
        let posts = "{ user(by: { username: \"ann0\" }) { posts(first: 10) { nodes { … } edges { cursor node { … } } } } }";
        let listed = world.data(token, &posts.replace('…', &post), Value::Null).await;
        let [listed, edge] =
            ["/user/posts/nodes/0", "/user/posts/edges/0/node"].map(|path| listed.pointer(path).unwrap());
        let alone = format!("{{ node(id: {}) {{ ... on Post {{ {post} }} }} }}", listed["id"]);
        let alone = world.data(token, &alone, Value::Null).await;
        assert_eq!((listed, edge), (&alone["node"], &alone["node"]));
    }
}

/// Lists of a user, of each kind and in both directions, with further lists below them.
const LISTS: &str = "username
    posts(first: 2) { nodes { id content author { username relation { status } posts(first: 1) { totalCount } } }
        edges { cursor } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } totalCount }
    oldest: posts(last: 2) { nodes { __typename content createdAt } pageInfo { hasPreviousPage } }
    none: posts(first: 0) { nodes { id } totalCount }
    counted: posts { totalCount }
    followers(first: 3) { totalCount pageInfo { hasNextPage endCursor } edges { cursor followedAt node { id bio } }
        nodes { username relation { status user { displayName } } followers(first: 2) { nodes { username } }
            posts(first: 1) { nodes { content } } mutuals(first: 1) { nodes { username } } } }
    following(last: 2) { totalCount nodes { username posts(last: 1) { edges { node { content } } } } }
    onlyCounted: following { totalCount pageInfo { hasNextPage } }";

/// Six people who all follow each other, with up to five posts each. One post has lost its record.
async fn authors(world: &World) -> Vec<Person> {
    let people = world.people(6).await;
    for (index, follower) in people.iter().enumerate() {
        for followee in people.iter().filter(|followee| followee.id != follower.id) {
            world.follow(follower, followee).await;
        }
        for number in 0..index {
            let publish =
                format!("mutation {{ publish(input: {{ content: \"{number}\" }}) {{ post {{ id }} }} }}");
            world.data(Some(&follower.token), &publish, Value::Null).await;
        }
    }
    let newest: String = world.redis.raw(&["LINDEX", "ff:{u5}:posts", "0"]);
    world.redis.raw::<u64>(&["DEL", &format!("ff:{{p{newest}}}:post")]);
    people
}

#[tokio::test]
async fn lists_below_a_list_equal_the_lists_of_each_user() {
    let world = World::new().await;
    let people = authors(&world).await;
    for token in [Some(people[1].token.as_str()), None] {
        let listed =
            format!("{{ user(by: {{ username: \"ann0\" }}) {{ followers {{ nodes {{ {LISTS} }} }} }} }}");
        let listed = world.data(token, &listed, Value::Null).await;
        let listed = listed["user"]["followers"]["nodes"].as_array().unwrap();
        assert_eq!(listed.len(), 5);
        for user in listed {
            let alone = format!("{{ user(by: {{ username: {} }}) {{ {LISTS} }} }}", user["username"]);
            assert_eq!(*user, world.data(token, &alone, Value::Null).await["user"]);
        }
    }
}

#[tokio::test]
async fn the_lists_of_authors_are_the_same_at_each_of_their_posts() {
    let world = World::new().await;
    let people = authors(&world).await;
    let token = Some(people[5].token.as_str());
    let timeline = format!("{{ viewer {{ timeline {{ nodes {{ author {{ {LISTS} }} }} }} }} }}");
    let timeline = world.data(token, &timeline, Value::Null).await;
    let posts = timeline["viewer"]["timeline"]["nodes"].as_array().unwrap();
    assert_eq!(posts.len(), 1 + 2 + 3 + 3 + 5);
    for author in posts.iter().map(|post| &post["author"]) {
        let alone = format!("{{ user(by: {{ username: {} }}) {{ {LISTS} }} }}", author["username"]);
        assert_eq!(*author, world.data(token, &alone, Value::Null).await["user"]);
    }
}

#[tokio::test]
async fn an_unreadable_list_below_a_list_is_reported_with_its_user() {
    let world = World::new().await;
    let people = authors(&world).await;
    world.redis.raw::<u64>(&["DEL", "ff:{u4}:posts"]);
    world.redis.raw::<String>(&["SET", "ff:{u4}:posts", "no list"]);
    let query =
        "{ user(by: { username: \"ann0\" }) { followers { nodes { posts { nodes { content } } } } } }";
    let answer = world.ask(Some(&people[1].token), query, Value::Null).await;
    let [error] = answer["errors"].as_array().unwrap().as_slice() else { panic!("{answer}") };
    assert_eq!(error["path"], serde_json::json!(["user", "followers", "nodes", 2, "posts"]));
    assert_eq!(error["extensions"]["code"], "INTERNAL_SERVER_ERROR");
}
