//! Mutes: what they hide from whom, until when, and what they cost.

use std::time::Duration;

use fanfold::model::clock::Timestamp;
use fanfold::model::id::UserId;
use serde_json::{Value, json};

use crate::harness::cost::cost;
use crate::harness::post::publish_and_deliver;
use crate::harness::world::{ManualClock, PASSWORD, Person, World, codes};

const RELATION: &str = "relation { mutedSince mutedUntil muteScope status }";

/// Mutes a user, with more fields of the input. Returns the payload.
async fn mute(world: &World, viewer: &Person, other: &Person, more: &str) -> Value {
    let query = format!(
        "mutation ($id: ID!) {{ mute(input: {{ userId: $id {more} }}) {{
            {RELATION} user {{ username {RELATION} }} viewer {{ muted {{ totalCount nodes {{ username }} }} }}
            userErrors {{ code field message limit }} }} }}"
    );
    world.data(Some(&viewer.token), &query, json!({ "id": other.id })).await["mute"].take()
}

async fn unmute(world: &World, viewer: &Person, other: &Person) -> Value {
    let query = format!(
        "mutation ($id: ID!) {{ unmute(input: {{ userId: $id }}) {{ {RELATION} userErrors {{ code field }} }} }}"
    );
    world.data(Some(&viewer.token), &query, json!({ "id": other.id })).await["unmute"].take()
}

/// Returns the contents of the viewer's home timeline.
async fn timeline(world: &World, viewer: &Person) -> Value {
    let query = "{ viewer { timeline(first: 50) { nodes { content } } } }";
    let mut data = world.data(Some(&viewer.token), query, Value::Null).await;
    let nodes = data["viewer"]["timeline"]["nodes"].take();
    nodes.as_array().unwrap().iter().map(|node| node["content"].clone()).collect()
}

/// Returns the usernames of the users whom the viewer mutes.
async fn muted(world: &World, viewer: &Person) -> Value {
    let query = "{ viewer { muted { totalCount edges { since node { username } } nodes { username } } } }";
    let mut data = world.data(Some(&viewer.token), query, Value::Null).await;
    let list = data["viewer"]["muted"].take();
    let names = |nodes: &[&Value]| nodes.iter().map(|node| node["username"].clone()).collect::<Value>();
    let edges: Vec<&Value> = list["edges"].as_array().unwrap().iter().map(|edge| &edge["node"]).collect();
    let nodes: Vec<&Value> = list["nodes"].as_array().unwrap().iter().collect();
    assert_eq!(list["totalCount"], nodes.len());
    assert_eq!(names(&edges), names(&nodes));
    names(&nodes)
}

#[tokio::test]
async fn a_mute_hides_a_users_posts_from_the_viewers_timeline_and_nowhere_else() {
    let world = World::new().await;
    let people = world.people(3).await;
    let [ada, ben, eve] = &people[..] else { unreachable!() };
    for followee in [ben, eve] {
        world.follow(ada, followee).await;
    }
    publish_and_deliver(&world, ben, "before").await;
    publish_and_deliver(&world, eve, "other").await;
    assert_eq!(timeline(&world, ada).await, json!(["other", "before"]));

    let since = "2026-01-01T00:00:00.000Z";
    let relation =
        json!({ "mutedSince": since, "mutedUntil": null, "muteScope": "ALL", "status": "FOLLOWING" });
    let expected = json!({
        "relation": relation,
        "user": { "username": "ann1", "relation": relation },
        "viewer": { "muted": { "totalCount": 1, "nodes": [{ "username": "ann1" }] } },
        "userErrors": [],
    });
    assert_eq!(mute(&world, ada, ben, "").await, expected);
    publish_and_deliver(&world, ben, "during").await;
    assert_eq!(timeline(&world, ada).await, json!(["other"]));
    assert_eq!(muted(&world, ada).await, json!(["ann1"]));

    // The muted user's profile shows the posts, and the user is not notified.
    let query =
        "query ($id: ID!) { user(by: { id: $id }) { posts { nodes { content } } relation { mutedSince } } }";
    let profile = world.data(Some(&ada.token), query, json!({ "id": ben.id })).await;
    assert_eq!(profile["user"]["posts"]["nodes"].as_array().unwrap().len(), 2);
    assert_eq!(profile["user"]["relation"]["mutedSince"], since);
    let other = world.data(Some(&ben.token), query, json!({ "id": ada.id })).await;
    assert_eq!(other["user"]["relation"], json!({ "mutedSince": null }));
    assert_eq!(muted(&world, ben).await, json!([]));

    // All of it comes back.
    let nothing = json!({ "mutedSince": null, "mutedUntil": null, "muteScope": null, "status": "FOLLOWING" });
    for _ in 0..2 {
        assert_eq!(unmute(&world, ada, ben).await, json!({ "relation": nothing, "userErrors": [] }));
    }
    assert_eq!(timeline(&world, ada).await, json!(["during", "other", "before"]));
}

#[tokio::test]
async fn a_mute_ends_at_its_time_and_repeating_it_replaces_scope_and_end() {
    let world = World::new().await;
    let people = world.people(2).await;
    let [ada, ben] = &people[..] else { unreachable!() };
    world.follow(ada, ben).await;
    publish_and_deliver(&world, ben, "post").await;
    let until = "until: \"2026-01-01T00:01:00Z\"";
    assert_eq!(mute(&world, ada, ben, until).await["relation"]["mutedUntil"], "2026-01-01T00:01:00.000Z");
    world.clock.advance(Duration::from_secs(59));
    assert_eq!((timeline(&world, ada).await, muted(&world, ada).await), (json!([]), json!(["ann1"])));
    world.clock.advance(Duration::from_secs(1));
    assert_eq!((timeline(&world, ada).await, muted(&world, ada).await), (json!(["post"]), json!([])));
    // The ended mute is over: another one has a time of its own.
    let again = mute(&world, ada, ben, "").await["relation"].take();
    assert_eq!(
        (&again["mutedSince"], &again["mutedUntil"]),
        (&json!("2026-01-01T00:01:00.000Z"), &Value::Null)
    );
    world.clock.advance(Duration::from_secs(1));
    let replaced = mute(&world, ada, ben, "scope: REPOSTS, until: \"2026-01-01T00:02:00Z\"").await;
    let expected = json!({
        "mutedSince": "2026-01-01T00:01:00.000Z", "mutedUntil": "2026-01-01T00:02:00.000Z",
        "muteScope": "REPOSTS", "status": "FOLLOWING",
    });
    assert_eq!(replaced["relation"], expected);
    assert_eq!(timeline(&world, ada).await, json!(["post"]), "the post is not a repost");
}

#[tokio::test]
async fn violations_of_the_rules_are_reported_and_mute_no_one() {
    let world = World::with(&["--relation-mute-limit", "2"]).await;
    let people = world.people(5).await;
    let ada = &people[0];
    let error = |payload: &Value| {
        (payload["userErrors"][0]["code"].clone(), payload["userErrors"][0]["field"].clone())
    };
    let user_id = json!(["input", "userId"]);
    let unknown = Person { id: "VXNlcjo3NzAwMDA".into(), ..ada.clone() };
    assert_eq!(error(&mute(&world, ada, ada, "").await), (json!("SELF"), user_id.clone()));
    assert_eq!(error(&mute(&world, ada, &unknown, "").await), (json!("NOT_FOUND"), user_id.clone()));
    assert_eq!(error(&unmute(&world, ada, ada).await), (json!("SELF"), user_id.clone()));
    assert_eq!(error(&unmute(&world, ada, &unknown).await), (json!("NOT_FOUND"), user_id));
    let past = mute(&world, ada, &people[1], "until: \"2026-01-01T00:00:00Z\"").await;
    assert_eq!(error(&past), (json!("INVALID"), json!(["input", "until"])));
    let anonymous = "mutation { mute(input: { userId: \"VXNlcjox\" }) { userErrors { code } } }";
    assert_eq!(codes(&world.ask(None, anonymous, Value::Null).await), ["UNAUTHENTICATED"]);

    mute(&world, ada, &people[1], "").await;
    mute(&world, ada, &people[2], "until: \"2026-01-01T00:01:00Z\"").await;
    let limited = mute(&world, ada, &people[3], "").await;
    assert_eq!(error(&limited), (json!("LIST_LIMIT"), Value::Null));
    assert_eq!((&limited["userErrors"][0]["limit"], &limited["relation"]), (&json!(2), &Value::Null));
    // A mute at the limit may be replaced, and one that has ended makes room.
    assert_eq!(mute(&world, ada, &people[1], "scope: REPOSTS").await["userErrors"], json!([]));
    assert_eq!(muted(&world, ada).await, json!(["ann2", "ann1"]));
    world.clock.advance(Duration::from_mins(1));
    assert_eq!(mute(&world, ada, &people[3], "").await["userErrors"], json!([]));
    assert_eq!(muted(&world, ada).await, json!(["ann3", "ann1"]));
}

#[tokio::test]
async fn the_mutes_of_a_user_outlive_all_sessions() {
    let world = World::new().await;
    let people = world.people(2).await;
    let [ada, ben] = &people[..] else { unreachable!() };
    world.follow(ada, ben).await;
    publish_and_deliver(&world, ben, "post").await;
    mute(&world, ada, ben, "").await;
    world.data(Some(&ada.token), "mutation { logoutEverywhere { userErrors { code } } }", Value::Null).await;
    let login = "mutation ($password: String!) { login(input: { username: \"ann0\", password: $password }) {
        token viewer { timeline { nodes { content } } muted { totalCount } sessions { isCurrent } } } }";
    let mut data = world.data(None, login, json!({ "password": PASSWORD })).await;
    let expected = json!({
        "timeline": { "nodes": [] }, "muted": { "totalCount": 1 }, "sessions": [{ "isCurrent": true }],
    });
    assert_eq!(data["login"]["viewer"], expected);
    let token = data["login"]["token"].take().as_str().unwrap().to_owned();
    let change = "mutation ($old: String!) { changePassword(input: { currentPassword: $old, newPassword: \"correct mule\" }) {
        token viewer { timeline { nodes { content } } } } }";
    let mut data = world.data(Some(&token), change, json!({ "old": PASSWORD })).await;
    assert_eq!(data["changePassword"]["viewer"]["timeline"]["nodes"], json!([]));
    let token = data["changePassword"]["token"].take().as_str().unwrap().to_owned();
    assert_eq!(timeline(&world, &Person { token, ..ada.clone() }).await, json!([]));
}

#[tokio::test]
async fn a_process_that_caches_sessions_knows_its_own_mutes_at_once() {
    let world = World::own(&["--redis-user-cache", "1000000"]).await;
    let people = world.people(2).await;
    let [ada, ben] = &people[..] else { unreachable!() };
    world.follow(ada, ben).await;
    publish_and_deliver(&world, ben, "post").await;
    for _ in 0..3 {
        assert_eq!(timeline(&world, ada).await, json!(["post"]));
        mute(&world, ada, ben, "").await;
        assert_eq!(timeline(&world, ada).await, json!([]));
        unmute(&world, ada, ben).await;
    }
}

#[tokio::test]
async fn mutes_apply_to_requests_that_are_charged() {
    let world = World::with(&["--graphql-rate-limit", "100000"]).await;
    let people = world.people(2).await;
    let [ada, ben] = &people[..] else { unreachable!() };
    world.follow(ada, ben).await;
    publish_and_deliver(&world, ben, "post").await;
    mute(&world, ada, ben, "").await;
    assert_eq!(timeline(&world, ada).await, json!([]));
}

#[tokio::test]
async fn a_store_has_the_feature_once_a_user_is_muted() {
    let world = World::new().await;
    let people = world.people(2).await;
    let features = || world.redis.raw::<Option<String>>(&["HGET", "ff:{g}:layout", "features"]);
    unmute(&world, &people[0], &people[1]).await;
    assert_eq!(features(), None);
    for _ in 0..2 {
        mute(&world, &people[0], &people[1], "").await;
        assert_eq!(features().as_deref(), Some("exclusions"));
    }
    // A version that is lost, because an earlier server has ended the sessions, is restored.
    world.redis.raw::<u64>(&["HDEL", "ff:{u1}:sessions", "exclusions"]);
    assert_eq!(mute(&world, &people[0], &people[1], "").await["relation"]["muteScope"], "ALL");
}

#[tokio::test]
async fn the_old_posts_of_a_muted_user_cost_nothing() {
    let world = World::with(&["--timeline-capacity", "5", "--post-publishes-per-author", "1000"]).await;
    let people = world.people(3).await;
    let [ada, ben, eve] = &people[..] else { unreachable!() };
    for followee in [ben, eve] {
        world.follow(ada, followee).await;
    }
    for number in 0..20 {
        publish_and_deliver(&world, eve, &format!("eve {number}")).await;
    }
    let query = "{ viewer { timeline(first: 20) { nodes { content } } } }";
    let (_, without) = cost(&world, ada, query).await;
    for number in 0..40 {
        publish_and_deliver(&world, ben, &format!("ben {number}")).await;
    }
    mute(&world, ada, ben, "").await;
    let data = world.data(Some(&ada.token), query, Value::Null).await;
    assert_eq!(data["viewer"]["timeline"]["nodes"].as_array().unwrap().len(), 20);
    // Of the forty, only those in the stored timeline are read, and left out.
    let (_, with) = cost(&world, ada, query).await;
    assert!(with["hmget"] <= without["hmget"] + 10, "{with:?} instead of {without:?}");
}

#[tokio::test]
async fn a_page_of_the_muted_is_in_the_order_of_their_mutes() {
    let world = World::new().await;
    let people = world.people(7).await;
    for (index, other) in people[1..].iter().enumerate() {
        mute(&world, &people[0], other, "").await;
        world.clock.advance(Duration::from_millis(index as u64 % 2));
    }
    let all = muted(&world, &people[0]).await;
    let query = "query ($first: Int, $after: String, $last: Int, $before: String) {
        viewer { muted(first: $first, after: $after, last: $last, before: $before) {
            nodes { username } pageInfo { startCursor endCursor hasNextPage hasPreviousPage } } } }";
    let page = async |variables: Value| {
        world.data(Some(&people[0].token), query, variables).await["viewer"]["muted"].take()
    };
    let (mut forward, mut backward) = (Vec::new(), Vec::new());
    let mut after = Value::Null;
    loop {
        let page = page(json!({ "first": 2, "after": after })).await;
        forward.extend(page["nodes"].as_array().unwrap().iter().map(|node| node["username"].clone()));
        after = page["pageInfo"]["endCursor"].clone();
        if page["pageInfo"]["hasNextPage"] == false {
            break;
        }
    }
    let mut before = Value::Null;
    loop {
        let page = page(json!({ "last": 4, "before": before })).await;
        backward.splice(..0, page["nodes"].as_array().unwrap().iter().map(|node| node["username"].clone()));
        before = page["pageInfo"]["startCursor"].clone();
        if page["pageInfo"]["hasPreviousPage"] == false {
            break;
        }
    }
    assert_eq!((json!(forward), json!(backward)), (all.clone(), all));
    let foreign = json!({ "first": 1, "after": before });
    let query =
        "query ($first: Int, $after: String) { viewer { user { followers(first: $first, after: $after) {
        totalCount } } } }";
    assert_eq!(codes(&world.ask(Some(&people[0].token), query, foreign).await), ["BAD_USER_INPUT"]);
}

#[tokio::test]
async fn five_thousand_mutes_cost_no_command_once_they_are_cached() {
    let world = World::new().await;
    let people = world.people(3).await;
    let [ada, ben, eve] = &people[..] else { unreachable!() };
    world.follow(ada, ben).await;
    publish_and_deliver(&world, ben, "post").await;
    let key_read = "{ user(by: { username: \"ann1\" }) { followers { nodes { username relation { status mutedSince } } } } }";
    let timeline = "{ viewer { timeline { nodes { content author { relation { mutedSince } } } } } }";
    let without = (cost(&world, ada, key_read).await, cost(&world, ada, timeline).await);
    // As many as one can mute.
    let mutes = (10..5_009).flat_map(|user| [user.to_string(), "1767225600000::all".to_owned()]);
    let words: Vec<String> = ["HSET", "ff:{u1}:muting"].map(str::to_owned).into_iter().chain(mutes).collect();
    world.redis.raw::<u64>(&words.iter().map(String::as_str).collect::<Vec<_>>());
    mute(&world, ada, eve, "").await;
    assert_eq!((cost(&world, ada, key_read).await, cost(&world, ada, timeline).await), without);
}

#[tokio::test]
async fn a_page_whose_first_posts_are_by_a_muted_author_takes_two_round_trips_more() {
    let world = World::with(&["--post-publishes-per-author", "1000"]).await;
    let people = world.people(3).await;
    let [ada, ben, eve] = &people[..] else { unreachable!() };
    for followee in [ben, eve] {
        world.follow(ada, followee).await;
    }
    for number in 0..50 {
        publish_and_deliver(&world, eve, &format!("eve {number}")).await;
    }
    let query = "{ viewer { timeline(first: 50) { nodes { content } } } }";
    let (trips, _) = cost(&world, ada, query).await;
    for number in 0..49 {
        publish_and_deliver(&world, ben, &format!("ben {number}")).await;
    }
    mute(&world, ada, ben, "").await;
    let data = world.data(Some(&ada.token), query, Value::Null).await;
    let nodes = data["viewer"]["timeline"]["nodes"].as_array().unwrap().clone();
    assert_eq!((nodes.len(), &nodes[0]["content"]), (50, &json!("eve 49")));
    let (with_mute, _) = cost(&world, ada, query).await;
    assert!(with_mute <= trips + 2, "{with_mute} instead of {trips}");
}

#[tokio::test]
async fn imported_mutes_hide_posts_and_earlier_ones_keep_their_times_and_lose_their_ends() {
    let world = World::with(&["--relation-mute-limit", "2"]).await;
    let people = world.people(4).await;
    let [ada, ben, eve, joe] = &people[..] else { unreachable!() };
    for (author, content) in [(ben, "ben"), (eve, "eve"), (joe, "joe")] {
        world.follow(ada, author).await;
        publish_and_deliver(&world, author, content).await;
    }
    mute(&world, ada, ben, "until: \"2026-01-01T00:01:00Z\"").await;
    assert_eq!(timeline(&world, ada).await, json!(["joe", "eve"]));

    let id = |user: u64| UserId::new(user).unwrap();
    let at = Timestamp::from_millis(ManualClock::BEGINNING - 1_000);
    // Those of one user, of which one exceeds the limit, and that of another user.
    let mutes = [(id(1), id(2)), (id(1), id(3)), (id(1), id(4)), (id(4), id(1))];
    for _ in 0..2 {
        world.app.import_mutes(&mutes, at).await.unwrap();
        assert_eq!(muted(&world, joe).await, json!(["ann0"]));
        assert_eq!(timeline(&world, ada).await, json!(["joe"]));
        world.clock.advance(Duration::from_mins(1));
    }
    let relation = async |other: &Person| {
        let query = format!("query ($id: ID!) {{ user(by: {{ id: $id }}) {{ {RELATION} }} }}");
        let data = world.data(Some(&ada.token), &query, json!({ "id": other.id })).await;
        data["user"]["relation"].clone()
    };
    let shown = |since: &str| json!({ "mutedSince": since, "mutedUntil": null, "muteScope": "ALL", "status": "FOLLOWING" });
    assert_eq!(relation(ben).await, shown("2026-01-01T00:00:00.000Z"), "it has lost its end only");
    assert_eq!(relation(eve).await, shown("2025-12-31T23:59:59.000Z"));
    assert_eq!(relation(joe).await["mutedSince"], Value::Null);
}
