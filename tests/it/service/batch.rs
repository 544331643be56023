//! Several operations in one request.

use axum::http::{HeaderMap, Method, StatusCode};
use serde_json::{Value, json};

use crate::harness::request::{JSON, send};
use crate::harness::wait::eventually_async;
use crate::harness::world::{PASSWORD, World, codes};

const LIMIT: [&str; 2] = ["--http-batch-limit", "10"];

async fn post(world: &World, token: Option<&str>, batch: &Value) -> (StatusCode, HeaderMap, Value) {
    let authorization = format!("Bearer {}", token.unwrap_or_default());
    let mut headers = vec![JSON, ("accept", "application/graphql-response+json")];
    if token.is_some() {
        headers.push(("authorization", &authorization));
    }
    send(world, Method::POST, "/graphql", &headers, &batch.to_string()).await
}

/// Sends these documents in a batch, and returns the responses.
async fn responses(world: &World, token: Option<&str>, documents: &[&str]) -> Vec<Value> {
    let batch = documents.iter().map(|document| json!({ "query": document })).collect();
    let (status, _, response) = post(world, token, &batch).await;
    assert_eq!(status, StatusCode::OK, "{response}");
    response.as_array().unwrap().clone()
}

/// Returns the status and code with which a batch of these documents is rejected as a whole.
async fn violation(world: &World, documents: &[String]) -> (StatusCode, String) {
    let batch = documents.iter().map(|document| json!({ "query": document })).collect();
    let (status, _, response) = post(world, None, &batch).await;
    (status, codes(&response).join(" "))
}

fn login(name: &str) -> String {
    format!("mutation {{ login(input: {{ username: \"{name}\", password: \"{PASSWORD}\" }}) {{ token }} }}")
}

#[tokio::test]
async fn batches_are_accepted_where_they_are_enabled() {
    let batch = json!([{ "query": "{ __typename }" }]);
    let (status, _, response) = post(&World::new().await, None, &batch).await;
    assert_eq!((status, codes(&response)), (StatusCode::BAD_REQUEST, vec!["BAD_REQUEST"]));
    let world = World::with(&["--http-batch-limit", "2"]).await;
    let (status, headers, response) = post(&world, None, &batch).await;
    assert_eq!((status, response), (StatusCode::OK, json!([{ "data": { "__typename": "Query" } }])));
    assert_eq!(headers["content-type"], "application/graphql-response+json; charset=utf-8");
    let one = batch[0].clone();
    for batch in [json!([]), json!([one, one, one]), json!([7]), json!([one, [one]]), json!([null])] {
        let (status, _, response) = post(&world, None, &batch).await;
        assert_eq!((status, codes(&response)), (StatusCode::BAD_REQUEST, vec!["BAD_REQUEST"]), "{batch}");
    }
}

#[tokio::test]
async fn every_operation_has_its_response_in_its_place_whether_or_not_others_fail() {
    let world = World::with(&LIMIT).await;
    world.people(2).await;
    let find = "query ($name: String!) { user(by: { username: $name }) { username } }";
    let batch = json!([
        { "query": find, "variables": { "name": "ann1" } },
        { "query": "{" },
        { "variables": {} },
        { "query": "{ nodes(ids: [\"VXNlcjox\"]) { id } }", "extensions": 7 },
        { "query": "query A { __typename } query B { b: __typename }", "operationName": "B" },
        { "query": find },
        { "query": "{ visits { nodes { day } } viewer { user { id } } }" },
        { "query": find, "variables": { "name": "ann0" } },
    ]);
    let (status, _, response) = post(&world, None, &batch).await;
    let responses = response.as_array().unwrap();
    assert_eq!((status, responses.len()), (StatusCode::OK, 8), "{response}");
    assert_eq!(responses[0], json!({ "data": { "user": { "username": "ann1" } } }));
    assert_eq!(codes(&responses[1]), ["GRAPHQL_PARSE_FAILED"]);
    assert_eq!((codes(&responses[2]), codes(&responses[3])), (vec!["BAD_REQUEST"], vec!["BAD_REQUEST"]));
    assert_eq!(responses[4], json!({ "data": { "b": "Query" } }));
    assert_eq!(codes(&responses[5]), ["BAD_USER_INPUT"]);
    assert_eq!(responses[6]["data"]["viewer"], Value::Null);
    assert_eq!(responses[7], json!({ "data": { "user": { "username": "ann0" } } }));
}

#[tokio::test]
async fn operations_after_a_change_see_it_and_those_before_do_not() {
    let world = World::with(&LIMIT).await;
    let people = world.people(2).await;
    let follow = |word: &str| {
        let id = &people[1].id;
        format!("mutation {{ {word}(input: {{ userId: \"{id}\" }}) {{ relation {{ status }} }} }}")
    };
    let (follow, unfollow) = (follow("follow"), follow("unfollow"));
    let count = "{ user(by: { username: \"ann1\" }) { followers { totalCount } } }";
    let documents = [count, &follow, count, count, &unfollow, &follow, &unfollow, count];
    let responses = responses(&world, Some(&people[0].token), &documents).await;
    let counted = |index: usize| &responses[index]["data"]["user"]["followers"]["totalCount"];
    assert_eq!([0, 2, 3, 7].map(counted), [0, 1, 1, 0]);
    assert_eq!(responses[5]["data"]["follow"]["relation"]["status"], "FOLLOWING");
}

#[tokio::test]
async fn after_a_logout_the_rest_of_a_batch_is_unauthenticated() {
    let world = World::with(&LIMIT).await;
    let people = world.people(1).await;
    let viewer = "{ viewer { user { username } } }";
    let documents = [viewer, "mutation { logout { userErrors { code } } }", viewer, "{ __typename }"];
    let token = Some(&*people[0].token);
    let responses = responses(&world, token, &documents).await;
    assert_eq!(responses[0]["data"]["viewer"]["user"]["username"], "ann0");
    assert_eq!(codes(&responses[2]), ["UNAUTHENTICATED"]);
    assert_eq!(codes(&responses[3]), ["UNAUTHENTICATED"]);
    let (status, _, response) = post(&world, token, &json!([{ "query": viewer }])).await;
    assert_eq!((status, codes(&response)), (StatusCode::UNAUTHORIZED, vec!["UNAUTHENTICATED"]));
}

#[tokio::test]
async fn a_batch_may_cost_as_much_as_one_document() {
    let world = World::with(&[&LIMIT[..], &["--graphql-cost-limit", "200"]].concat()).await;
    let people = world.people(1).await;
    let page = "{ user(by: { username: \"ann0\" }) { followers(first: 60) { nodes { id } } } }".to_owned();
    let before = world.app.store().round_trips();
    let too_much = (StatusCode::BAD_REQUEST, "QUERY_TOO_COMPLEX".to_owned());
    assert_eq!(violation(&world, &vec![page.clone(); 4]).await, too_much);
    let schema = "{ __schema { queryType { name } } }".to_owned();
    assert_eq!(violation(&world, &vec![schema; 4]).await, too_much);
    let types = (0..6)
        .map(|number| format!("a{number}: __type(name: \"User\") {{ name }} "))
        .collect::<Vec<_>>()
        .concat();
    assert_eq!(violation(&world, &vec![format!("{{ {types} }}"); 2]).await, too_much);
    assert_eq!(violation(&world, &[login("ann0"), login("ann0")]).await, too_much);
    let change = "mutation { changePassword(input: { currentPassword: \"x\", newPassword: \"xxxxxxxx\" }) { userErrors { code } } }";
    assert_eq!(violation(&world, &[login("ann0"), change.to_owned()]).await, too_much);
    assert_eq!(world.app.store().round_trips(), before, "no round trip to Redis");
    let responses = responses(&world, Some(&people[0].token), &[&page, &login("ann0"), &page]).await;
    assert!(responses.iter().all(|response| response.get("errors").is_none()), "{responses:?}");
}

#[tokio::test]
async fn queries_of_a_batch_do_not_wait_for_each_other() {
    let world = World::own(&LIMIT).await;
    world.people(1).await;
    let read = "{ user(by: { username: \"ann0\" }) { followers { totalCount } } }";
    // Each of them takes two round trips. While Redis is paused, all the first ones are under way together.
    world.redis.pause(true);
    let before = world.app.store().round_trips();
    let batch: Value = std::iter::repeat_n(json!({ "query": read }), 10).collect();
    let sent = async {
        let (status, ..) = post(&world, None, &batch).await;
        assert_eq!(status, StatusCode::OK);
    };
    let resume = async {
        eventually_async(async || world.app.store().round_trips() == before + 10).await;
        assert_eq!(world.app.store().round_trips(), before + 10);
        world.redis.pause(false);
    };
    futures::join!(sent, resume);
}

#[tokio::test]
async fn a_large_batch_has_the_responses_of_a_small_one() {
    let world = World::with(&LIMIT).await;
    world.people(1).await;
    let documents = |filler: &str| {
        [
            format!("{{ user(by: {{ username: \"ann0\" }}) {{ username }} }} #{filler}"),
            format!("{{ missing }} #{filler}"),
            format!("subscription {{ relationChanged {{ __typename }} }} #{filler}"),
        ]
    };
    let [small, large] = [documents("x"), documents(&"x".repeat(10_000))];
    let answers = responses(&world, None, &small.each_ref().map(String::as_str)).await;
    assert_eq!(answers[0], json!({ "data": { "user": { "username": "ann0" } } }));
    assert_eq!(responses(&world, None, &large.each_ref().map(String::as_str)).await, answers);
}
