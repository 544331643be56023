//! From a document to the executed operation: merged, completed, bounded, and rejected before the first round trip.

use std::fmt::Write as _;

use fanfold::app::viewer::{Caller, Viewer};
use fanfold::graphql::{Api, GraphqlRequest};
use fanfold::thread::STACK;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use crate::harness::case::model_config;
use crate::harness::world::{Options, World, codes};

/// Asserts that the document is rejected with this code, without a round trip to Redis, in a short response; returns
/// the message.
async fn assert_rejected(world: &World, query: &str, variables: Value, code: &str) -> String {
    let before = world.app.store().round_trips();
    let response = world.ask(None, query, variables).await;
    assert_eq!(world.app.store().round_trips(), before, "{query:.200}");
    let codes = codes(&response);
    assert!(!codes.is_empty() && codes.iter().all(|one| *one == code), "{query:.200}: {response}");
    assert!(response.get("data").is_none() && response.to_string().len() < 4_096, "{query:.200}");
    response["errors"][0]["message"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn fields_selected_twice_are_executed_once() {
    let world = World::new().await;
    let people = world.people(3).await;
    for person in &people[1..] {
        world.follow(person, &people[0]).await;
    }
    let publish = "mutation {
        ...A ...B publish(input: { content: \"once\" }) { post { platform } }
    }
    fragment A on Mutation { publish(input: { content: \"once\" }) { post { content } userErrors { code } } }
    fragment B on Mutation { publish(input: { content: \"once\" }) { post { author { username } } } }";
    let data = world.data(Some(&people[0].token), publish, Value::Null).await;
    let post = json!({ "content": "once", "author": { "username": "ann0" }, "platform": null });
    assert_eq!(data["publish"], json!({ "post": post, "userErrors": [] }));
    let posts = "{ user(by: { username: \"ann0\" }) { posts { totalCount } } }";
    assert_eq!(world.data(None, posts, Value::Null).await["user"]["posts"]["totalCount"], 1);

    let list = "{
        user(by: { username: \"ann0\" }) { ...A followers { totalCount } ... on Node { id } }
        user(by: { username: \"ann0\" }) { ...B ...B }
    }
    fragment A on User { followers { nodes { username } } }
    fragment B on User { followers { nodes { displayName ... on User { bio } } } }";
    let before = world.app.store().round_trips();
    let data = world.data(None, list, Value::Null).await;
    assert_eq!(world.app.store().round_trips() - before, 3);
    let node = |number| json!({ "username": format!("ann{number}"), "displayName": format!("ann{number}"), "bio": "" });
    let followers = json!({ "nodes": [node(2), node(1)], "totalCount": 2 });
    assert_eq!(data, json!({ "user": { "followers": followers, "id": people[0].id } }));
}

#[tokio::test]
async fn conflicting_selections_are_rejected() {
    let world = World::new().await;
    for query in [
        "{ user(by: { username: \"a\" }) { id } user(by: { username: \"b\" }) { id } }",
        "{ user(by: { username: \"a\" }) { x: id x: username } }",
        "{ nodes(ids: [\"VXNlcjox\"]) { id } nodes(ids: [\"VXNlcjox\", \"VXNlcjoy\"]) { id } }",
        "{ nodes(ids: []) { id } nodes(ids: [\"VXNlcjox\"]) { id } }",
        "{ ...A ...B } fragment A on Query { user(by: { username: \"a\" }) { id } } fragment B on Query { user(by: { username: \"b\" }) { id } }",
        "{ user(by: { username: \"a\" }) { followers(first: 1) { totalCount } ... { followers(first: 2) { totalCount } } } }",
    ] {
        assert_rejected(&world, query, Value::Null, "GRAPHQL_VALIDATION_FAILED").await;
    }
}

#[tokio::test]
async fn omitted_arguments_have_their_defaults() {
    let world = World::new().await;
    let people = world.people(25).await;
    for person in &people[1..] {
        world.follow(person, &people[0]).await;
    }
    let query = "query ($first: Int, $three: Int = 3, $after: String) { user(by: { username: \"ann0\" }) {
        a: followers(first: $first, after: $after) { nodes { id } }
        b: followers(first: $three) { nodes { id } } } }";
    let count = async |variables: Value| {
        let data = world.data(None, query, variables).await;
        ["a", "b"].map(|list| data["user"][list]["nodes"].as_array().unwrap().len())
    };
    assert_eq!(count(json!({})).await, [20, 3]);
    assert_eq!(count(Value::Null).await, [20, 3]);
    assert_eq!(count(json!({ "first": 2, "three": 5, "unknown": { "x": [1] } })).await, [2, 5]);
    assert_eq!(count(json!({ "first": null, "three": null })).await, [20, 20]);
    // Numbers as other languages write them in JSON: whole all the same.
    assert_eq!(count(json!({ "first": 2.0, "three": 1e1 })).await, [2, 10]);
}

#[tokio::test]
async fn skipped_fields_are_neither_returned_nor_loaded() {
    let world = World::new().await;
    world.people(1).await;
    let query = "query ($is: Boolean!, $no: Boolean = false) { user(by: { username: \"ann0\" }) {
        username @include(if: $is) bio @skip(if: $is) ...F @include(if: $no) ... @skip(if: $no) { id }
        followers @include(if: $is) { totalCount } } }
        fragment F on User { displayName createdAt }";
    let keys = async |variables: Value| {
        let data = world.data(None, query, variables).await;
        data["user"].as_object().unwrap().keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(keys(json!({ "is": true })).await, ["followers", "id", "username"]);
    assert_eq!(keys(json!({ "is": false, "no": true })).await, ["bio", "createdAt", "displayName"]);
    let nothing = "{ user(by: { username: \"ann0\" }) { username @skip(if: true) } }";
    assert_eq!(world.data(None, nothing, Value::Null).await, json!({ "user": {} }));
    let before = world.app.store().round_trips();
    let data =
        world.data(None, "{ user(by: { username: \"ann0\" }) @skip(if: true) { id } }", Value::Null).await;
    assert_eq!((data, world.app.store().round_trips()), (json!({}), before));
}

#[tokio::test]
async fn each_type_of_node_has_the_fields_selected_of_it() {
    let world = World::new().await;
    let people = world.people(1).await;
    let publish = "mutation { publish(input: { content: \"x\" }) { post { id } } }";
    let data = world.data(Some(&people[0].token), publish, Value::Null).await;
    let ids = json!({ "ids": [people[0].id, data["publish"]["post"]["id"]] });
    let query = "query ($ids: [ID!]!) { nodes(ids: $ids) { __typename ...N ... on User { name: username } } }
        fragment N on Node { ... on Post { name: content author { ...U } } id }
        fragment U on User { username }";
    let data = world.data(None, query, ids.clone()).await;
    let user = json!({ "__typename": "User", "id": ids["ids"][0], "name": "ann0" });
    let post =
        json!({ "__typename": "Post", "name": "x", "author": { "username": "ann0" }, "id": ids["ids"][1] });
    assert_eq!(data["nodes"], json!([user, post]));
}

#[tokio::test]
async fn variables_are_checked_before_anything_is_executed() {
    let world = World::new().await;
    let query = "mutation ($name: String!, $first: Int) {
        register(input: { username: $name, password: \"correct horse\" }) {
            viewer { user { followers(first: $first) { totalCount } } } } }";
    for variables in [
        json!({}),
        json!({ "name": null }),
        json!({ "name": 7 }),
        json!({ "name": ["ada"] }),
        json!({ "name": "ada", "first": "1" }),
        json!({ "name": "ada", "first": 1.5 }),
        json!({ "name": "ada", "first": 1.000_1 }),
        json!({ "name": "ada", "first": 1e300 }),
        json!({ "name": "ada", "first": 2_147_483_648_i64 }),
        json!({ "name": "ada", "first": {} }),
    ] {
        assert_rejected(&world, query, variables, "BAD_USER_INPUT").await;
    }
    let input = "mutation ($input: RegisterInput!) { register(input: $input) { token } }";
    for input_value in [
        json!({}),
        json!({ "username": "ada" }),
        json!({ "username": "ada", "password": "correct horse", "x": 1 }),
    ] {
        assert_rejected(&world, input, json!({ "input": input_value }), "BAD_USER_INPUT").await;
    }
    for query in [
        "query ($x: Nonsense) { visits(first: $x) { day } }",
        "query ($x: String) { visits(first: $x) { day } }",
        "query ($x: Int, $x: Int) { visits(first: $x) { day } }",
        "query ($x: Int) { viewer { user { id } } }",
        "{ visits(first: $x) { day } }",
        "query ($x: User) { viewer { user { id } } visits(first: $x) { day } }",
        "query ($x: Int! = null) { visits(first: $x) { day } }",
        "query ($x: ID) { nodes(ids: [$x]) { id } }",
        "query ($x: [ID!]!) { nodes(ids: [$x]) { id } }",
        "query ($x: [String!]!) { user(by: { username: $x }) { id } }",
        "query ($x: ID) { user(by: { username: \"ada\", id: $x }) { id } }",
        "query ($x: String) { user(by: { username: $x }) { id } }",
        "mutation ($x: String) { login(input: { username: $x, password: \"x\" }) { token } }",
        "query { ...F } query Q($x: String) { ...F } fragment F on Query { user(by: { username: $x }) { id } }",
    ] {
        assert_rejected(&world, query, json!({ "x": 1 }), "GRAPHQL_VALIDATION_FAILED").await;
    }
    assert_rejected(
        &world,
        "query ($x: Int! = 5) { visits(first: $x) { day } }",
        json!({ "x": null }),
        "BAD_USER_INPUT",
    )
    .await;
    // In inputs and lists, where validation does not look, and before the fields beside them are executed.
    let ada = world.register("ada").await;
    let posted = async || {
        let data = world
            .data(None, "{ user(by: { username: \"ada\" }) { posts { totalCount } } }", Value::Null)
            .await;
        data["user"]["posts"]["totalCount"].clone()
    };
    let both = "mutation ($u: String = \"ada\") { publish(input: { content: \"hello\" }) { post { id } }
        login(input: { username: $u, password: \"x\" }) { token } }";
    let response = world.ask(Some(&ada.token), both, json!({ "u": null })).await;
    assert_eq!((codes(&response), response.get("data")), (vec!["BAD_USER_INPUT"], None));
    assert_eq!(posted().await, 0);
    for (query, variables) in [
        ("query ($x: ID = \"VXNlcjox\") { node(id: $x) { id } }", json!({ "x": null })),
        ("query ($x: Boolean = true) { __typename @skip(if: $x) }", json!({ "x": null })),
        ("query ($x: Boolean = true) { __typename @include(if: $x) }", json!({ "x": null })),
        ("query ($x: Date) { visits(before: $x) { day } }", json!({ "x": { "a": "A".repeat(9_000) } })),
        ("query ($x: Date) { visits(before: $x) { day } }", json!({ "x": ["2026-01-01"] })),
        ("{ visits(before: [\"2026-01-01\"]) { day } }", json!({})),
        ("{ visits(before: { a: $nope }) { day } }", json!({})),
    ] {
        assert_rejected(&world, query, variables, "BAD_USER_INPUT").await;
    }
    // One of two operations that share a fragment may leave a variable out.
    let two = "query A($x: Int) { ...F } query B($x: Int) { ...F } fragment F on Query { visits(first: $x) { day } }";
    let body = json!({ "query": two, "operationName": "A", "variables": {} }).to_string();
    let request = axum::http::Request::post("/graphql").header("content-type", "application/json");
    let (_, _, body) = world.send(request.body(body.into()).unwrap()).await;
    assert!(serde_json::from_slice::<Value>(&body).unwrap()["data"]["visits"].is_array());
}

#[tokio::test]
async fn bombs_are_rejected_and_do_no_harm() {
    let world = World::with(&["--http-body-limit", "1000000"]).await;
    let mut fragments = String::from("{ ...f0 } fragment f99 on Query { __typename }");
    for number in 0..99 {
        let next = number + 1;
        write!(fragments, " fragment f{number} on Query {{ ...f{next} ...f{next} }}").unwrap();
    }
    let many =
        |count: usize, one: &dyn Fn(usize) -> String| (0..count).map(one).collect::<Vec<_>>().join(" ");
    let nested =
        |open: &str, close: &str, count: usize| format!("{}{}", open.repeat(count), close.repeat(count));
    let complex = [
        fragments,
        format!("{{ {} }}", many(10_000, &|number| format!("a{number}: __typename"))),
        format!("{{ __typename {} }}", "@include(if: true) ".repeat(10_000)),
        format!("{{ {} }}", many(1_000, &|_| "__typename @skip(if: false)".to_owned())),
        format!("{{ nodes(ids: {}) {{ id }} }}", nested("[", "]", 20_000)),
        format!("{{ user(by: {}) {{ id }} }}", nested("{ id: ", "}", 20_000)),
        format!("{{ viewer {} }}", nested("{ user", "}", 20_000)),
        format!("query ($x: {}Int{}) {{ visits(first: $x) {{ day }} }}", "[".repeat(20_000), "]".repeat(20_000)),
        format!("{{ viewer {{ user {} {{ id }} {} }} }}", "{ relation { user".repeat(6), "} }".repeat(6)),
        "{ user(by: { username: \"a\" }) { followers(first: 100) { nodes { followers(first: 100) { nodes { id } } } } } }".to_owned(),
        format!("{{ {} }}", many(25, &|number| format!("a{number}: countries {{ subdivisions {{ name }} }}"))),
        "{ __schema { types { fields { type { fields { type { fields { name } } } } } } } }".to_owned(),
    ];
    for (count, one) in [(4, "__schema { queryType { name } }"), (11, "__type(name: \"User\") { name }")] {
        let document = format!("{{ {} }}", many(count, &|number| format!("a{number}: {one}")));
        assert_rejected(&world, &document, Value::Null, "QUERY_TOO_COMPLEX").await;
    }
    let ids = format!("query ($x: ID!) {{ nodes(ids: [{}]) {{ id }} }}", many(950, &|_| "$x".to_owned()));
    assert_rejected(&world, &ids, json!({ "x": "A".repeat(100_000) }), "QUERY_TOO_COMPLEX").await;
    assert_rejected(&world, &ids, json!({ "x": "VXNlcjox" }), "BAD_USER_INPUT").await;
    for query in &complex {
        assert_rejected(&world, query, Value::Null, "QUERY_TOO_COMPLEX").await;
    }
    for query in [
        "{ ...a } fragment a on Query { ...a }",
        "{ ...a } fragment a on Query { ...b } fragment b on Query { ...a }",
    ] {
        let message = assert_rejected(&world, query, Value::Null, "GRAPHQL_VALIDATION_FAILED").await;
        assert!(message.contains("is spread within itself"), "{message}");
    }
    let message = assert_rejected(&world, &complex[9], Value::Null, "QUERY_TOO_COMPLEX").await;
    assert!(message.contains("it costs more than 5000"), "{message}");
    assert_eq!(world.data(None, "{ __typename }", Value::Null).await, json!({ "__typename": "Query" }));
}

#[tokio::test]
async fn a_document_tries_one_password() {
    let world = World::new().await;
    let login = |name: &str| {
        format!("{name}: login(input: {{ username: \"ada\", password: \"x\" }}) {{ userErrors {{ code }} }}")
    };
    let register = |name: &str| {
        format!(
            "{name}: register(input: {{ username: \"{name}\", password: \"correct horse\" }}) {{ token }}"
        )
    };
    for two in [login("a") + &login("b"), register("aa") + &register("bb"), login("a") + &register("bb")] {
        let message =
            assert_rejected(&world, &format!("mutation {{ {two} }}"), Value::Null, "QUERY_TOO_COMPLEX").await;
        assert!(message.contains("one mutation with a password, such as `login`"), "{message}");
    }
    let merged = format!(
        "mutation {{ ...A ...A {} }} fragment A on Mutation {{ {} }}",
        register("aa"),
        register("aa")
    );
    world.data(None, &merged, Value::Null).await;
}

#[tokio::test]
async fn the_cost_limit_can_be_set() {
    let world = World::with(&["--graphql-cost-limit", "100"]).await;
    world.people(1).await;
    let query = |first: usize| {
        format!(
            "{{ user(by: {{ username: \"ann0\" }}) {{ followers(first: {first}) {{ nodes {{ id }} }} }} }}"
        )
    };
    // A user, a list, 89 in it, and the ids of these at a tenth each.
    world.data(None, &query(89), Value::Null).await;
    let message = assert_rejected(&world, &query(90), Value::Null, "QUERY_TOO_COMPLEX").await;
    assert!(message.contains("it costs more than 100"), "{message}");
    // A page never has more than a hundred entries, whatever is requested, and the size may be a variable.
    let query =
        "query ($n: Int) { user(by: { username: \"ann0\" }) { followers(last: $n) { nodes { id } } } }";
    world.data(None, query, json!({ "n": 89 })).await;
    assert_rejected(&world, query, json!({ "n": 1_000_000 }), "QUERY_TOO_COMPLEX").await;
}

/// The introspection of GraphiQL, Apollo's tools and Relay's compiler, as graphql-js writes it with all its options.
const INTROSPECTION: &str = "query IntrospectionQuery { __schema { description
    queryType { name kind } mutationType { name kind } subscriptionType { name kind }
    types { ...FullType }
    directives { name description isRepeatable locations args(includeDeprecated: true) { ...InputValue } } } }
fragment FullType on __Type { kind name description specifiedByURL isOneOf
    fields(includeDeprecated: true) { name description args(includeDeprecated: true) { ...InputValue }
        type { ...TypeRef } isDeprecated deprecationReason }
    inputFields(includeDeprecated: true) { ...InputValue }
    interfaces { ...TypeRef }
    enumValues(includeDeprecated: true) { name description isDeprecated deprecationReason }
    possibleTypes { ...TypeRef } }
fragment InputValue on __InputValue { name description type { ...TypeRef } defaultValue isDeprecated deprecationReason }
fragment TypeRef on __Type { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name
    ofType { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name } } } } } } } } } }";

/// The document with which gql.tada finds out which fields of introspection a server has.
const SUPPORT: &str = "query IntrospectionSupport {
    directive: __type(name: \"__Directive\") { fields { name } } field: __type(name: \"__Field\") { fields { name } }
    type: __type(name: \"__Type\") { fields { name } } input: __type(name: \"__InputValue\") { fields { name } } }";

#[tokio::test]
async fn tools_select_several_types_in_a_document() {
    let world = World::new().await;
    let data = world.data(None, SUPPORT, Value::Null).await;
    for part in ["directive", "field", "type", "input"] {
        let fields = data[part]["fields"].as_array().unwrap();
        assert!(fields.iter().any(|field| field["name"] == "name"), "{data}");
    }
    let types = |count: usize| {
        let types = (0..count).map(|number| format!("a{number}: __type(name: \"User\") {{ name }} "));
        types.collect::<String>()
    };
    let all = format!("{{ {} a: __schema {{ description }} b: __schema {{ description }} }}", types(10));
    world.data(None, &all, Value::Null).await;
    let message =
        assert_rejected(&world, &format!("{{ {} }}", types(11)), Value::Null, "QUERY_TOO_COMPLEX").await;
    assert_eq!(message, "The document is too complex: it selects `__type` more than 10 times.");
}

#[tokio::test]
async fn introspection_is_executed_unless_it_is_disabled() {
    let world = World::new().await;
    let before = world.app.store().round_trips();
    let data = world.data(None, INTROSPECTION, Value::Null).await;
    assert_eq!(world.app.store().round_trips(), before);
    let types = data["__schema"]["types"].as_array().unwrap();
    assert!(types.iter().any(|ty| ty["name"] == "FollowConnection"));
    assert!(types.iter().any(|ty| ty["name"] == "UserBy" && ty["isOneOf"] == true));
    let world = World::with(&["--graphql-introspection", "off"]).await;
    for query in [INTROSPECTION, "{ __type(name: \"User\") { name } }"] {
        let message = assert_rejected(&world, query, Value::Null, "GRAPHQL_VALIDATION_FAILED").await;
        assert!(message.contains("disabled"), "{message}");
    }
    world.data(None, "{ __typename viewer { user { id } } }", Value::Null).await;
}

#[tokio::test]
async fn a_fault_is_reported_with_its_location() {
    let world = World::new().await;
    let response = world.ask(None, "{\n  viewer {\n    nothing\n  }\n}", Value::Null).await;
    assert_eq!(response["errors"][0]["locations"], json!([{ "line": 3, "column": 5 }]));
    let response = world.ask(None, "{\n  é: user(by: {", Value::Null).await;
    assert_eq!(codes(&response), ["GRAPHQL_PARSE_FAILED"]);
    // An error of a field has its location, too.
    let query =
        "{\n  a: __typename\n  viewer { timeline { nodes { id } } }\n  ą: __typename }".replace('ą', "b");
    world.redis.raw::<i64>(&["LPUSH", "ff:{r0}:region", "x"]);
    world.people(1).await;
    let query = format!(
        "{}{}",
        "# ünï\n",
        query.replace(
            "viewer { timeline { nodes { id } } }",
            "user(by: { username: \"ann0\" }) { region { country { code } } }"
        )
    );
    let response = world.ask(None, &query, Value::Null).await;
    assert_eq!(response["errors"][0]["locations"], json!([{ "line": 4, "column": 36 }]));
}

/// Documents of clients, and of attackers.
fn documents() -> impl Strategy<Value = String> {
    let words = [
        "{",
        "{",
        "}",
        "}",
        "(",
        ")",
        "[",
        "]",
        ":",
        "$x",
        "!",
        "...",
        "on",
        "@",
        "=",
        "\"",
        "\"\"\"",
        "#",
        "&",
        "|",
        "\n",
        "query",
        "mutation",
        "fragment",
        "F",
        "user(by: { username: \"ann0\" })",
        "followers",
        "nodes",
        "id",
        "username",
        "viewer",
        "User",
        "@skip(if: $x)",
        "1e999",
        "-0",
        "é",
        "\u{0}",
        "\\u",
    ];
    let word = prop::sample::select(words.to_vec());
    let soup = proptest::collection::vec(word, 0..60).prop_map(|words| words.join(" "));
    let leaves =
        ["id", "username", "...F", "a: bio", "followers { totalCount }", "nothing", "relation { status }"];
    let leaf = prop::sample::select(leaves.to_vec()).prop_map(str::to_owned);
    let selection = leaf.prop_recursive(14, 200, 4, |inner| {
        let set = proptest::collection::vec(inner, 1..4).prop_map(|all| all.join(" "));
        (set, 0..5usize).prop_map(|(set, which)| match which {
            0 => format!("followers(first: 2) {{ nodes {{ {set} }} }}"),
            1 => format!("... on User {{ {set} }}"),
            2 => format!("relation {{ user {{ {set} }} }}"),
            3 => format!("posts(last: 1) {{ nodes {{ author {{ {set} }} }} }}"),
            _ => format!("following {{ edges {{ node {{ {set} }} }} }}"),
        })
    });
    let pair = (selection.clone(), selection);
    let formed = pair.prop_map(|(one, other)| {
        format!("{{ user(by: {{ username: \"ann0\" }}) {{ {one} ...F }} }} fragment F on User {{ {other} }}")
    });
    prop_oneof![soup, formed]
}

#[test]
fn every_document_is_checked_on_a_small_stack_and_executed_on_that_of_a_server() {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.enable_all().thread_stack_size(STACK).build().unwrap();
    let world = runtime.block_on(World::new());
    let people = runtime.block_on(world.people(2));
    runtime.block_on(world.follow(&people[0], &people[1]));
    runtime.block_on(world.follow(&people[1], &people[0]));
    let api = Api::open(world.app.clone(), Options::new(&world.redis, &[]).graphql).unwrap();
    let config = model_config(1_500);
    let run = move || {
        TestRunner::new(config).run(&documents(), |query| {
            let variables = json!({ "x": true });
            let request = GraphqlRequest { query: Some(query), variables, ..GraphqlRequest::default() };
            if let Ok(plan) = api.plan(request) {
                let api = api.clone();
                let anonymous = Caller { viewer: Viewer::Anonymous, address: None, rate_limit: None };
                let executing = async move { api.execute(plan, anonymous, "small").await };
                runtime.block_on(runtime.spawn(executing)).expect("it is executed");
            }
            Ok(())
        })
    };
    let small = std::thread::Builder::new().stack_size(512 << 10).spawn(run).unwrap();
    small.join().expect("the stack is large enough").unwrap_or_else(|failed| panic!("{failed}"));
}
