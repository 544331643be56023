//! Profile views: each viewer counts once a day, and only the owner of a profile sees the audience.

use std::collections::HashSet;

use fanfold::model::clock::Day;
use fanfold::model::id::UserId;
use fanfold::store::audience;
use fanfold::store::batch::Batch;
use serde_json::{Value, json};

use crate::harness::world::{DAY, ManualClock, Person, World, app, codes};

const AUDIENCE: &str = "query ($days: Int, $first: Int) { viewer { audience(days: $days) { uniqueVisitors
    regions(first: $first) { region { country { code } subdivision { code } } count share } } } }";

async fn audience(world: &World, person: &Person, days: i64) -> i64 {
    let data = world.data(Some(&person.token), AUDIENCE, json!({ "days": days })).await;
    data.pointer("/viewer/audience/uniqueVisitors").unwrap().as_i64().unwrap()
}

async fn view(world: &World, person: &Person, username: &str) {
    let query = format!("{{ user(by: {{ username: \"{username}\" }}) {{ displayName }} }}");
    world.data(Some(&person.token), &query, Value::Null).await;
}

#[tokio::test]
async fn a_viewer_of_a_profile_is_counted_once_a_day() {
    let world = World::new().await;
    let people = world.people(4).await;
    assert_eq!(audience(&world, &people[0], 7).await, 0);
    for _ in 0..3 {
        view(&world, &people[1], "ann0").await;
    }
    view(&world, &people[0], "ann0").await;
    world.data(None, "{ user(by: { username: \"ann0\" }) { bio } }", Value::Null).await;
    assert_eq!(audience(&world, &people[0], 7).await, 1, "neither the owner nor an anonymous viewer counts");
    // By another process, by id, by node, in another case, within a fragment, and several at once.
    let other = app(&world.redis, &world.clock, &[]).await;
    let viewer = other.authenticate(&people[1].token).await.unwrap();
    other.record_views(&viewer, &[UserId::new(1).unwrap()]).await;
    assert_eq!(audience(&world, &people[0], 7).await, 1);
    let id = &people[0].id;
    let query = format!("{{ node(id: \"{id}\") {{ ... on User {{ username }} }} }}");
    world.data(Some(&people[2].token), &query, Value::Null).await;
    let query = format!(
        "{{ a: user(by: {{ id: \"{id}\" }}) {{ ...f }} b: user(by: {{ username: \"ANN1\" }}) {{ ...f }}
            c: user(by: {{ username: \"nobody\" }}) {{ ...f }} }} fragment f on User {{ createdAt }}"
    );
    world.data(Some(&people[3].token), &query, Value::Null).await;
    assert_eq!(audience(&world, &people[0], 7).await, 3);
    assert_eq!(audience(&world, &people[1], 7).await, 1);
    assert_eq!(audience(&world, &people[2], 7).await, 0);
}

#[tokio::test]
async fn a_user_who_is_only_listed_or_linked_was_not_viewed() {
    let world = World::new().await;
    let people = world.people(3).await;
    world.follow(&people[0], &people[1]).await;
    let ids = json!({ "ids": [&people[0].id], "id": &people[0].id });
    let queries = [
        "query { user(by: { username: \"ann1\" }) { followers { nodes { displayName bio } } } }",
        "query ($ids: [ID!]!) { nodes(ids: $ids) { ... on User { displayName } } }",
        "query ($ids: [ID!]!) { relations(userIds: $ids) { status user { displayName } } }",
        "query ($id: ID!) { node(id: $id) { id } }",
        "query ($id: ID!) { node(id: $id) { ... on Post { createdAt } } }",
        "query ($id: ID!) { user(by: { id: $id }) { bio @skip(if: true) ... @include(if: false) { username } id } }",
        "query ($id: ID!) { user(by: { id: $id }) { id isViewer relation { status } following { totalCount } } }",
    ];
    for query in queries {
        world.data(Some(&people[2].token), query, ids.clone()).await;
    }
    assert_eq!(audience(&world, &people[0], 30).await, 0);
}

#[tokio::test]
async fn an_audience_has_each_visitor_of_the_last_days_once() {
    let world = World::new().await;
    let people = world.people(4).await;
    view(&world, &people[1], "ann0").await;
    world.clock.advance(DAY);
    view(&world, &people[1], "ann0").await;
    view(&world, &people[2], "ann0").await;
    world.clock.advance(DAY * 5);
    view(&world, &people[3], "ann0").await;
    let counts = async || {
        let mut counts = Vec::new();
        for days in [1, 2, 5, 6, 7, 30] {
            counts.push(audience(&world, &people[0], days).await);
        }
        counts
    };
    assert_eq!(counts().await, [1, 1, 1, 3, 3, 3]);
    world.clock.advance(DAY);
    assert_eq!(counts().await, [0, 1, 1, 1, 3, 3]);
    // It expires after a month and a little more.
    let keys: Vec<String> = world.redis.raw(&["KEYS", "ff:{u1}:audience:*"]);
    assert_eq!(keys.len(), 3);
    for key in keys {
        let seconds: i64 = world.redis.raw(&["TTL", &key]);
        assert!((31 * 86_400..=32 * 86_400).contains(&seconds), "{key}: {seconds}");
    }
}

#[tokio::test]
async fn an_audience_has_its_regions() {
    let world = World::new().await;
    let people = world.people(6).await;
    let settle = async |person: &Person, region: &str| {
        let query = format!(
            "mutation {{ updateProfile(input: {{ region: {region} }}) {{ userErrors {{ code }} }} }}"
        );
        world.data(Some(&person.token), &query, Value::Null).await;
    };
    for person in &people[1..] {
        view(&world, person, "ann0").await;
    }
    settle(&people[1], "{ country: \"DE\", subdivision: \"DE-BE\" }").await;
    settle(&people[2], "{ country: \"DE\", subdivision: \"DE-BE\" }").await;
    settle(&people[3], "{ country: \"DE\" }").await;
    let ask = async |first: Value| {
        let data = world.data(Some(&people[0].token), AUDIENCE, json!({ "first": first })).await;
        data.pointer("/viewer/audience").unwrap().clone()
    };
    let berlin = json!({ "country": { "code": "DE" }, "subdivision": { "code": "DE-BE" } });
    let germany = json!({ "country": { "code": "DE" }, "subdivision": null });
    let regions = [
        json!({ "region": berlin, "count": 2, "share": 0.4 }),
        json!({ "region": null, "count": 2, "share": 0.4 }),
        json!({ "region": germany, "count": 1, "share": 0.2 }),
    ];
    assert_eq!(ask(Value::Null).await, json!({ "uniqueVisitors": 5, "regions": regions }));
    assert_eq!(ask(json!(1)).await, json!({ "uniqueVisitors": 5, "regions": regions[..1] }));
}

#[tokio::test]
async fn a_first_view_costs_a_round_trip_and_others_none() {
    let world = World::new().await;
    let people = world.people(3).await;
    let query = "{ user(by: { username: \"ann0\" }) { displayName } }";
    let mut costs = Vec::new();
    world.app.authenticate(&people[1].token).await.unwrap();
    // Every master that the view below reaches caches the script.
    view(&world, &people[2], "ann0").await;
    view(&world, &people[1], "ann2").await;
    for _ in 0..3 {
        let before = world.app.store().round_trips();
        world.data(Some(&people[1].token), query, Value::Null).await;
        costs.push(world.app.store().round_trips() - before);
    }
    assert_eq!(costs, [4, 3, 3]);
}

#[tokio::test]
async fn an_audience_under_many_aliases_is_read_once() {
    let world = World::new().await;
    let people = world.people(2).await;
    view(&world, &people[1], "ann0").await;
    let aliases: Vec<String> = (1..=30)
        .map(|days| format!("a{days}: audience(days: {days}) {{ uniqueVisitors regions {{ count }} }} "))
        .collect();
    let query = format!("{{ viewer {{ {} }} }}", aliases.join(" "));
    world.data(Some(&people[0].token), &query, Value::Null).await;
    world.redis.raw::<String>(&["CONFIG", "RESETSTAT"]);
    let before = world.app.store().round_trips();
    world.data(Some(&people[0].token), &query, Value::Null).await;
    // The session, the visitors, their regions.
    assert_eq!(world.app.store().round_trips() - before, 3);
    let stats: String = world.redis.raw(&["INFO", "commandstats"]);
    assert!(stats.contains("cmdstat_smembers:calls=30,"), "{stats}");
}

#[tokio::test]
async fn days_out_of_range_are_rejected() {
    let world = World::new().await;
    let person = world.register("ada").await;
    for days in [0, -1, 31, i64::from(i32::MIN), i64::from(i32::MAX)] {
        let response = world.ask(Some(&person.token), AUDIENCE, json!({ "days": days })).await;
        assert_eq!(codes(&response), ["BAD_USER_INPUT"], "{days}");
        let message = format!("`days` must be from 1 to 30, but is {days}.");
        assert_eq!(response["errors"][0]["message"], message);
        assert_eq!(response["data"], json!({ "viewer": { "audience": null } }));
    }
    let data = world.data(Some(&person.token), AUDIENCE, json!({ "days": null })).await;
    assert_eq!(data["viewer"]["audience"], json!({ "uniqueVisitors": 0, "regions": [] }));
}

#[tokio::test]
async fn an_option_turns_audiences_off() {
    let world = World::with(&["--visit-audience", "off"]).await;
    let people = world.people(2).await;
    view(&world, &people[1], "ann0").await;
    let data = world.data(Some(&people[0].token), AUDIENCE, json!({})).await;
    assert_eq!(data, json!({ "viewer": { "audience": null } }));
    let keys: Vec<String> = world.redis.raw(&["KEYS", "*audience*"]);
    assert!(keys.is_empty(), "{keys:?}");
    // Visits are counted all the same.
    let data = world.data(None, "{ visits { uniqueVisitors } }", Value::Null).await;
    assert_eq!(data["visits"], json!([{ "uniqueVisitors": 2 }]));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_audience_of_a_famous_profile_is_stored_compactly_and_counted_exactly() {
    let world = World::new().await;
    let person = world.register("ada").await;
    let (store, user) = (world.app.store(), UserId::new(1).unwrap());
    let today = ManualClock::BEGINNING / 86_400_000;
    let sizes = [(0, 40_000_u64, 60_000_u64), (1, 1, 512), (2, 59_000, 60_013), (3, 7, 8)];
    let mut all = HashSet::new();
    for (ago, first, last) in sizes {
        let ids: Vec<u64> = (first + 2..last + 2).collect();
        all.extend(ids.iter().copied());
        for ids in ids.chunks(5_000) {
            let mut batch = Batch::new("test");
            let day = Day::from_number(today - ago);
            let record =
                |id: &u64| batch.push(audience::record(store.keys(), user, day, UserId::new(*id).unwrap()));
            let new: Vec<_> = ids.iter().map(record).collect();
            let again = ids
                .iter()
                .map(|id| batch.push(audience::record(store.keys(), user, day, UserId::new(*id).unwrap())));
            let again: Vec<_> = again.collect();
            let mut replies = batch.send(store).await.unwrap();
            assert!(replies.take_all(new).unwrap().into_iter().all(|is_new| is_new));
            assert!(!replies.take_all(again).unwrap().into_iter().any(|is_new| is_new));
        }
    }
    assert_eq!(audience(&world, &person, 1).await, 20_000);
    assert_eq!(audience(&world, &person, 2).await, 20_511);
    assert_eq!(audience(&world, &person, 30).await, all.len() as i64);
    let keys: Vec<String> = world.redis.raw(&["KEYS", "ff:{u1}:audience:*"]);
    let mut bytes = 0;
    for key in &keys {
        assert_eq!(world.redis.raw::<String>(&["OBJECT", "ENCODING", key]), "intset", "{key}");
        assert!(world.redis.raw::<i64>(&["TTL", key]) > 0);
        bytes += world.redis.raw::<u64>(&["MEMORY", "USAGE", key]);
    }
    let entries: u64 = sizes.iter().map(|(_, first, last)| last - first).sum();
    assert!(bytes <= 10 * entries);
}
