//! Blocks and private accounts: their limits and errors, what they cost, and viewers whom very many users block.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use fanfold::app::timeline::live::{TimelineEvent, TimelineWatch};
use fanfold::model::id::UserId;
use fanfold::model::moderation::ActionNote;
use fanfold::model::moderator::Moderator;
use serde_json::{Value, json};

use crate::harness::block::add_blockers;
use crate::harness::cost::cost;
use crate::harness::graph::Graph;
use crate::harness::post::publish_and_deliver;
use crate::harness::watch::watch;
use crate::harness::world::{Person, World, codes};

/// Makes a change between two users. Returns the payload.
async fn change(world: &World, user: &Person, mutation: &str, other: &Person) -> Value {
    let query = format!(
        "mutation ($id: ID!) {{ {mutation}(input: {{ userId: $id }}) {{
            relation {{ status blockedSince requestedSince requesterSince }} userErrors {{ code field limit }} }} }}"
    );
    world.data(Some(&user.token), &query, json!({ "id": other.id })).await[mutation].take()
}

/// Makes a change that must succeed. Returns the relation.
async fn done(world: &World, user: &Person, mutation: &str, other: &Person) -> Value {
    let mut payload = change(world, user, mutation, other).await;
    assert_eq!(payload["userErrors"], json!([]), "{mutation}");
    payload["relation"].take()
}

async fn make_private(world: &World, user: &Person, is_private: bool) {
    let query =
        "mutation ($is: Boolean) { updateProfile(input: { isPrivate: $is }) { userErrors { code } } }";
    world.data(Some(&user.token), query, json!({ "is": is_private })).await;
}

#[tokio::test]
async fn a_block_keeps_its_time_and_blocking_or_unblocking_twice_changes_nothing() {
    let world = World::new().await;
    let people = world.people(2).await;
    let [ada, ben] = &people[..] else { unreachable!() };
    world.follow(ada, ben).await;
    world.follow(ben, ada).await;
    let nothing =
        json!({ "status": "NONE", "blockedSince": null, "requestedSince": null, "requesterSince": null });
    for _ in 0..2 {
        let blocked = done(&world, ada, "block", ben).await;
        assert_eq!(blocked["blockedSince"], "2026-01-01T00:00:00.000Z");
        assert_eq!(blocked["status"], "NONE");
        world.clock.advance(Duration::from_secs(1));
    }
    for _ in 0..2 {
        assert_eq!(done(&world, ada, "unblock", ben).await, nothing, "follows are not restored");
    }
    let blocked = done(&world, ada, "block", ben).await;
    assert_eq!(blocked["blockedSince"], "2026-01-01T00:00:02.000Z");
    assert_eq!(world.app.repair().await.unwrap(), 0, "nothing is left behind");
}

#[tokio::test]
async fn users_who_have_blocked_each_other_may_both_unblock() {
    let world = World::new().await;
    let people = world.people(2).await;
    let [ada, ben] = &people[..] else { unreachable!() };
    done(&world, ada, "block", ben).await;
    // As if both had blocked each other at the same time.
    world.redis.raw::<u64>(&["ZADD", "ff:{u2}:blocking", "1767225600000", "1"]);
    world.redis.raw::<u64>(&["ZADD", "ff:{u1}:blockers", "1767225600000", "2"]);
    for user in ["1", "2"] {
        world.redis.raw::<i64>(&["HINCRBY", &format!("ff:{{u{user}}}:sessions"), "exclusions", "1"]);
    }
    let payload = change(&world, ben, "unblock", ada).await;
    assert_eq!(payload["userErrors"][0]["code"], "NOT_FOUND", "Ada still blocks Ben");
    assert_eq!(done(&world, ada, "unblock", ben).await["blockedSince"], Value::Null);
    assert_eq!(done(&world, ben, "follow", ada).await["status"], "FOLLOWING");
}

#[tokio::test]
async fn violations_of_the_rules_are_reported_and_change_nothing() {
    let world = World::with(&["--relation-block-limit", "2", "--relation-follow-limit", "2"]).await;
    let people = world.people(6).await;
    let error = |code: &str, field: Value, limit: Value| json!({ "relation": null, "userErrors": [{ "code": code, "field": field, "limit": limit }] });
    let (ada, user_id) = (&people[0], json!(["input", "userId"]));
    for mutation in ["block", "unblock", "follow", "acceptFollowRequest", "rejectFollowRequest"] {
        let itself = error("SELF", user_id.clone(), Value::Null);
        assert_eq!(change(&world, ada, mutation, ada).await, itself, "{mutation}");
        let unknown = Person { id: "VXNlcjo3NzAwMDA".to_owned(), ..ada.clone() };
        let missing = error("NOT_FOUND", user_id.clone(), Value::Null);
        assert_eq!(change(&world, ada, mutation, &unknown).await, missing, "{mutation}");
    }
    for other in &people[1..3] {
        done(&world, ada, "block", other).await;
    }
    world.follow(&people[3], ada).await;
    assert_eq!(change(&world, ada, "block", &people[3]).await, error("LIST_LIMIT", Value::Null, json!(2)));
    // The block that was rejected ends no follow.
    let follows = change(&world, &people[3], "follow", ada).await;
    assert_eq!(follows["relation"]["status"], "FOLLOWING");
    // A block at the limit may be repeated, and one that ends makes room.
    done(&world, ada, "block", &people[2]).await;
    assert_eq!(change(&world, ada, "follow", &people[2]).await, error("BLOCKED", user_id, Value::Null));
    done(&world, ada, "unblock", &people[1]).await;
    done(&world, ada, "block", &people[3]).await;

    // Requests count against the limit of follows, so that an accepted request does not exceed it.
    make_private(&world, &people[4], true).await;
    let requested = done(&world, ada, "follow", &people[4]).await;
    assert_eq!((&requested["status"], requested["requestedSince"].is_string()), (&json!("NONE"), true));
    done(&world, ada, "follow", &people[1]).await;
    let limited = error("FOLLOW_LIMIT", Value::Null, json!(2));
    assert_eq!(change(&world, ada, "follow", &people[5]).await, limited);
    done(&world, &people[4], "acceptFollowRequest", ada).await;
    assert_eq!(change(&world, ada, "follow", &people[5]).await, limited);
    // So do follows of suspended accounts, which come back with them.
    let suspended = UserId::new(5).unwrap();
    world.app.suspend_user(&Moderator::Operator, suspended, ActionNote::default()).await.unwrap();
    assert_eq!(change(&world, ada, "follow", &people[5]).await, limited);
    world.app.unsuspend_user(&Moderator::Operator, suspended, ActionNote::default()).await.unwrap();
    done(&world, ada, "unfollow", &people[4]).await;
    done(&world, ada, "follow", &people[5]).await;
    assert_eq!(world.app.repair().await.unwrap(), 0, "a violation leaves nothing behind");
}

#[tokio::test]
async fn malformed_ids_are_rejected_before_execution() {
    let world = World::new().await;
    let ada = world.register("ada").await;
    let mutations = [
        "follow",
        "unfollow",
        "removeFollower",
        "mute",
        "unmute",
        "block",
        "unblock",
        "acceptFollowRequest",
        "rejectFollowRequest",
    ];
    for mutation in mutations {
        let query = format!(
            "mutation ($id: ID!) {{ {mutation}(input: {{ userId: $id }}) {{ userErrors {{ code }} }} }}"
        );
        // No id, an id that is not canonical, a post's, and that of no user.
        for id in ["", "1", "VXNlcjowMQ", "UG9zdDox", "VXNlcjow", "VXNlcjotMQ", "VXNlcjox\u{0}"] {
            let response = world.ask(Some(&ada.token), &query, json!({ "id": id })).await;
            assert_eq!(codes(&response), ["BAD_USER_INPUT"], "{mutation} {id:?}");
            assert!(response["data"].is_null() || response["data"][mutation].is_null(), "{response}");
        }
    }
    for list in ["muted", "blocked", "followRequests", "sentFollowRequests"] {
        for cursor in ["", "x", "AQgAAAAAAAAAAQ"] {
            let query = format!("query ($at: String) {{ viewer {{ {list}(after: $at) {{ totalCount }} }} }}");
            let response = world.ask(Some(&ada.token), &query, json!({ "at": cursor })).await;
            assert_eq!(codes(&response), ["BAD_USER_INPUT"], "{list} {cursor:?}");
        }
    }
}

/// A world in which `u0` has 120 followers, and the viewer blocks this number of the newest of them.
async fn star(blocked: usize) -> (World, Person) {
    let world = World::new().await;
    let viewer = world.register("viewer").await;
    let follows = (1..=120).map(|follower| (follower, 0)).collect();
    Graph { users: 121, follows }.load(&world.app, None).await;
    // `u0` has the id 2, and its newest follower is `u120`.
    for number in 0..blocked {
        let id = user_id(120 - number as u64 + 2);
        let query = "mutation ($id: ID!) { block(input: { userId: $id }) { userErrors { code } } }";
        world.data(Some(&viewer.token), query, json!({ "id": id })).await;
    }
    (world, viewer)
}

fn user_id(user: u64) -> String {
    URL_SAFE_NO_PAD.encode(format!("User:{user}"))
}

const PAGE: &str = "{ user(by: { username: \"u0\" }) { followers(first: 50) { nodes {
    username displayName relation { status blockedSince } } } } }";
const PAGE_WITH_COUNT: &str = "{ user(by: { username: \"u0\" }) { followers(first: 50) { totalCount nodes {
    username displayName relation { status blockedSince } } } } }";

#[tokio::test]
async fn five_thousand_blocks_cost_no_command_once_they_are_cached() {
    let (world, viewer) = star(0).await;
    let without = (cost(&world, &viewer, PAGE).await, cost(&world, &viewer, PAGE_WITH_COUNT).await);
    // As many as one can block; none of them is listed.
    let blocks = (10_000..14_999).flat_map(|user| ["1767225600000".to_owned(), user.to_string()]);
    let words: Vec<String> =
        ["ZADD", "ff:{u1}:blocking"].map(str::to_owned).into_iter().chain(blocks).collect();
    world.redis.raw::<u64>(&words.iter().map(String::as_str).collect::<Vec<_>>());
    let other = world.register("other").await;
    done(&world, &viewer, "block", &other).await;
    let with = cost(&world, &viewer, PAGE).await;
    assert_eq!(with.0, without.0.0);
    assert_eq!(with.1, without.0.1);
    // The count needs the blocked users among all followers: one command for each thousand of them.
    let (trips, mut counted) = cost(&world, &viewer, PAGE_WITH_COUNT).await;
    assert_eq!(trips, without.1.0, "the count comes with the page");
    assert_eq!(counted.remove("zmscore"), Some(5));
    assert_eq!(counted, without.1.1);

    // The process reads the exclusions once for each version.
    world.redis.raw::<String>(&["CONFIG", "RESETSTAT"]);
    done(&world, &viewer, "unblock", &other).await;
    for _ in 0..5 {
        world.data(Some(&viewer.token), PAGE, Value::Null).await;
    }
    let stats: String = world.redis.raw(&["INFO", "commandstats"]);
    assert!(stats.contains("cmdstat_hgetall:calls=1,"), "{stats}");
}

#[tokio::test]
async fn many_counts_stay_within_the_budget_of_a_viewer_with_five_thousand_blockers() {
    const QUERY: &str = "{ user(by: { username: \"u0\" }) { followers(first: 50) {
        nodes { followers { totalCount } following { totalCount } } } } }";
    let (world, viewer) = star(0).await;
    // Each of the listed users has some followers, of whom some block the viewer.
    let listed = world.redis.raw::<Vec<String>>(&["ZREVRANGE", "ff:{u2}:followers", "0", "49"]);
    let mut expected = Vec::new();
    for (index, user) in listed.iter().enumerate() {
        let key = format!("ff:{{u{user}}}:followers");
        // The first list is longer than that of those who block the viewer.
        let (count, first) = if index == 0 { (6_000, 104_900) } else { (index as u64 % 7, 104_997) };
        let before = world.redis.raw::<u64>(&["ZCARD", &key]);
        let entries = (first..first + count).flat_map(|follower| ["5".to_owned(), follower.to_string()]);
        let words: Vec<String> = ["ZADD".to_owned(), key].into_iter().chain(entries).collect();
        if count > 0 {
            world.redis.raw::<u64>(&words.iter().map(String::as_str).collect::<Vec<_>>());
        }
        // Users from 100,000 to 104,999 block the viewer.
        expected.push(before + count - (105_000 - first).min(count));
    }
    add_blockers(&world, 1, 5_000).await;
    world.redis.raw::<i64>(&["HINCRBY", "ff:{u1}:sessions", "exclusions", "1"]);
    let data = world.data(Some(&viewer.token), QUERY, Value::Null).await;
    let nodes = data["user"]["followers"]["nodes"].as_array().unwrap();
    let counts: Vec<u64> =
        nodes.iter().map(|node| node["followers"]["totalCount"].as_u64().unwrap()).collect();
    assert_eq!(counts, expected);
    let (trips, commands) = cost(&world, &viewer, QUERY).await;
    assert_eq!((trips, commands.get("zmscore")), (5, Some(&5)), "{commands:?}");
}

#[tokio::test]
async fn a_page_whose_first_users_are_blocked_takes_two_round_trips_more() {
    let (world, viewer) = star(0).await;
    let (trips, _) = cost(&world, &viewer, PAGE_WITH_COUNT).await;
    let (world, viewer) = star(49).await;
    let (with_blocks, _) = cost(&world, &viewer, PAGE_WITH_COUNT).await;
    assert!(with_blocks <= trips + 2, "{with_blocks} instead of {trips}");
    let data = world.data(Some(&viewer.token), PAGE_WITH_COUNT, Value::Null).await;
    let page = &data["user"]["followers"];
    let names: Vec<&str> =
        page["nodes"].as_array().unwrap().iter().map(|node| node["username"].as_str().unwrap()).collect();
    assert_eq!((names.len(), names[0], names[49], &page["totalCount"]), (50, "u71", "u22", &json!(71)));
}

#[tokio::test]
async fn the_flags_of_a_page_do_not_count_blocked_users_even_if_the_entry_at_its_cursor_is_gone() {
    let world = World::new().await;
    let people = world.people(6).await;
    let viewer = &people[0];
    for follower in [1, 2, 3, 4] {
        world.clock.advance(Duration::from_millis(1));
        world.follow(&people[follower], &people[5]).await;
    }
    let query = "query ($id: ID!, $first: Int, $after: String, $last: Int, $before: String) { user(by: { id: $id }) {
        followers(first: $first, after: $after, last: $last, before: $before) { edges { cursor node { username } }
            pageInfo { hasPreviousPage hasNextPage } } } }";
    let page = async |mut arguments: Value| {
        arguments["id"] = json!(people[5].id);
        world.data(Some(&viewer.token), query, arguments).await["user"]["followers"].take()
    };
    // ann4, ann3, ann2, ann1
    let edges = page(json!({ "first": 4 })).await["edges"].take();
    let cursor = |index: usize| edges[index]["cursor"].clone();
    for other in [1, 4] {
        done(&world, viewer, "block", &people[other]).await;
    }
    let flags = async |arguments: Value| {
        let page = page(arguments).await;
        let info = &page["pageInfo"];
        let count = page["edges"].as_array().unwrap().len();
        (count, info["hasPreviousPage"] == true, info["hasNextPage"] == true)
    };
    assert_eq!(flags(json!({ "first": 5 })).await, (2, false, false));
    assert_eq!(
        flags(json!({ "first": 5, "after": cursor(0) })).await,
        (2, false, false),
        "after a blocked user"
    );
    assert_eq!(
        flags(json!({ "first": 5, "after": cursor(1) })).await,
        (1, true, false),
        "after a visible user"
    );
    assert_eq!(
        flags(json!({ "last": 5, "before": cursor(2) })).await,
        (1, false, true),
        "before a visible user"
    );
    assert_eq!(
        flags(json!({ "last": 5, "before": cursor(3) })).await,
        (2, false, false),
        "before a blocked user"
    );
    for follower in [2, 3] {
        world.unfollow(&people[follower], &people[5]).await;
    }
    assert_eq!(flags(json!({ "first": 5, "after": cursor(1) })).await, (0, false, false), "after no entry");
    assert_eq!(flags(json!({ "last": 5, "before": cursor(2) })).await, (0, false, false), "before no entry");
    // The entry with this cursor is gone, even if the user follows again.
    world.clock.advance(Duration::from_millis(1));
    world.follow(&people[3], &people[5]).await;
    assert_eq!(flags(json!({ "first": 5, "after": cursor(1) })).await, (0, true, false), "after no entry");
}

#[tokio::test]
async fn a_viewer_whom_very_many_users_block_sees_none_of_them() {
    let world = World::new().await;
    let people = world.people(7).await;
    let viewer = &people[0];
    for follower in [1, 2, 3, 4, 5, 0] {
        world.clock.advance(Duration::from_millis(1));
        world.follow(&people[follower], &people[6]).await;
        world.follow(&people[6], &people[follower]).await;
    }
    world.follow(viewer, &people[3]).await;
    publish_and_deliver(&world, &people[2], "hidden").await;
    publish_and_deliver(&world, &people[3], "shown").await;
    add_blockers(&world, 1, 5_001).await;
    for blocker in [&people[2], &people[4]] {
        done(&world, blocker, "block", viewer).await;
    }

    let query = "query ($ids: [ID!]!) { nodes(ids: $ids) { id } relations(userIds: $ids) { user { id } } }";
    let ids: Vec<&String> = people[1..].iter().map(|person| &person.id).collect();
    let data = world.data(Some(&viewer.token), query, json!({ "ids": ids })).await;
    let is_shown = |values: &Value| -> Vec<bool> {
        values.as_array().unwrap().iter().map(|value| !value.is_null()).collect()
    };
    let expected = [true, false, true, false, true, true];
    assert_eq!(is_shown(&data["nodes"]), expected);
    assert_eq!(is_shown(&data["relations"]), expected);
    for (person, is_shown) in people[1..].iter().zip(expected) {
        for mutation in ["follow", "unfollow"] {
            let payload = change(&world, viewer, mutation, person).await;
            let code = &payload["userErrors"][0]["code"];
            assert_eq!(*code, if is_shown { Value::Null } else { json!("NOT_FOUND") }, "{mutation}");
        }
    }
    for followee in [3, 6] {
        world.follow(viewer, &people[followee]).await;
    }

    // Pages leave them out; the counts of stored lists include them.
    let names = |page: &Value| -> Vec<String> {
        let nodes = page["nodes"].as_array().unwrap().iter();
        nodes.map(|node| node["username"].as_str().unwrap().to_owned()).collect()
    };
    for (list, arguments, expected, count) in [
        ("followers", "first: 3", &["ann0", "ann5", "ann3"], 6),
        ("following", "first: 3", &["ann0", "ann5", "ann3"], 6),
        ("followers", "last: 2", &["ann3", "ann1"], 6),
        ("mutuals", "first: 3", &["ann0", "ann5", "ann3"], 4),
    ] as [(&str, &str, &[&str], u64); 4]
    {
        let query = format!(
            "query ($id: ID!) {{ user(by: {{ id: $id }}) {{ {list}({arguments}) {{ totalCount nodes {{ username }}
                pageInfo {{ hasNextPage hasPreviousPage }} }} }} }}"
        );
        let data = world.data(Some(&viewer.token), &query, json!({ "id": people[6].id })).await;
        let page = &data["user"][list];
        assert_eq!(names(page), expected, "{list}({arguments})");
        assert_eq!(page["totalCount"], count, "{list}");
        // The other visible users are on another page.
        let is_forward = arguments.starts_with("first");
        let flags = json!({ "hasNextPage": is_forward, "hasPreviousPage": !is_forward });
        assert_eq!(page["pageInfo"], flags, "{list}({arguments})");
    }
    // No cursor tells who blocks the viewer.
    let query = "query ($id: ID!) { user(by: { id: $id }) {
        followers(first: 3) { pageInfo { endCursor } edges { cursor } } } }";
    let data = world.data(Some(&viewer.token), query, json!({ "id": people[6].id })).await;
    let page = &data["user"]["followers"];
    assert_eq!(page["pageInfo"]["endCursor"], page["edges"][2]["cursor"]);
    let query =
        "query ($id: ID!) { user(by: { id: $id }) { followers(first: 3) { pageInfo { endCursor } } } }";
    let alone = world.data(Some(&viewer.token), query, json!({ "id": people[6].id })).await;
    assert_eq!(alone["user"]["followers"]["pageInfo"], page["pageInfo"]);
    // A page without data of users has no edges of blockers either.
    let query = "query ($id: ID!) { user(by: { id: $id }) { followers { edges { followedAt } } } }";
    let data = world.data(Some(&viewer.token), query, json!({ "id": people[6].id })).await;
    assert_eq!(data["user"]["followers"]["edges"].as_array().unwrap().len(), 4);

    let query = "{ viewer { timeline { nodes { content } } } }";
    let data = world.data(Some(&viewer.token), query, Value::Null).await;
    assert_eq!(data["viewer"]["timeline"]["nodes"], json!([{ "content": "shown" }]));
    // Another block ends, and the user is visible again.
    done(&world, &people[2], "unblock", viewer).await;
    let query = "{ user(by: { username: \"ann2\" }) { posts { nodes { content } } } }";
    let data = world.data(Some(&viewer.token), query, Value::Null).await;
    assert_eq!(data["user"]["posts"]["nodes"], json!([{ "content": "hidden" }]));
}

#[tokio::test]
async fn the_next_page_costs_no_round_trip_more_however_many_blocked_users_precede_it() {
    let query = |after: &Value| {
        format!("{{ user(by: {{ username: \"u0\" }}) {{ followers(first: 20, after: {after}) {{ totalCount edges {{ cursor }}
            nodes {{ username }} pageInfo {{ hasPreviousPage }} }} }} }}")
    };
    let mut costs = Vec::new();
    for blocked in [0, 60] {
        let (world, viewer) = star(blocked).await;
        let data = world.data(Some(&viewer.token), &query(&Value::Null), Value::Null).await;
        let after = &data["user"]["followers"]["edges"][19]["cursor"];
        let data = world.data(Some(&viewer.token), &query(after), Value::Null).await;
        let page = &data["user"]["followers"];
        let (first, total) = (100 - blocked, 120 - blocked);
        assert_eq!(page["nodes"][0]["username"], format!("u{first}"));
        assert_eq!(
            (&page["totalCount"], &page["pageInfo"]["hasPreviousPage"]),
            (&json!(total), &json!(true))
        );
        costs.push(cost(&world, &viewer, &query(after)).await.0);
    }
    assert_eq!(costs, [3, 3]);
}

#[tokio::test]
async fn a_process_that_caches_users_and_sessions_knows_its_own_blocks_at_once() {
    let world = World::own(&["--redis-user-cache", "1000000"]).await;
    let people = world.people(2).await;
    let [ada, ben] = &people[..] else { unreachable!() };
    publish_and_deliver(&world, ben, "post").await;
    let query = "{ user(by: { username: \"ann1\" }) { isPrivate posts { totalCount } } }";
    let posts = async || {
        let data = world.data(Some(&ada.token), query, Value::Null).await;
        data["user"]["posts"]["totalCount"].as_u64()
    };
    for _ in 0..3 {
        assert_eq!(posts().await, Some(1));
        make_private(&world, ben, true).await;
        assert_eq!(posts().await, Some(0));
        make_private(&world, ben, false).await;
        done(&world, ben, "block", ada).await;
        assert_eq!(posts().await, None);
        done(&world, ben, "unblock", ada).await;
        assert_eq!(posts().await, Some(1));
        done(&world, ada, "block", ben).await;
        assert_eq!(posts().await, Some(0));
        done(&world, ada, "unblock", ben).await;
    }
}

async fn next(watch: &mut TimelineWatch) -> Option<String> {
    match watch.next_by_now().await.unwrap() {
        Some((TimelineEvent::Added(entry), _)) => Some(entry.post.content.clone()),
        Some((TimelineEvent::Removed(post), _)) => Some(format!("removed {post:?}")),
        Some((TimelineEvent::Reset, _)) => Some("reset".to_owned()),
        None => None,
    }
}

#[tokio::test]
async fn a_block_between_two_events_means_no_further_event_of_the_author() {
    for strategy in ["hybrid", "push", "pull"] {
        for (blocker, mutation) in [(0, "block"), (1, "block"), (0, "mute")] {
            let world = World::with(&["--timeline-strategy", strategy]).await;
            let people = world.people(3).await;
            for author in &people[1..] {
                world.follow(&people[0], author).await;
            }
            publish_and_deliver(&world, &people[0], "own").await;
            let mut watch = watch(&world, &people[0]).await;
            // More than are loaded at once.
            for number in 0..12 {
                publish_and_deliver(&world, &people[1 + number % 2], &format!("post {number}")).await;
            }
            assert_eq!(next(&mut watch).await.as_deref(), Some("post 0"));
            assert_eq!(next(&mut watch).await.as_deref(), Some("post 1"));
            let (one, other) = (&people[blocker], &people[1 - blocker]);
            done(&world, one, mutation, other).await;
            for number in [3, 5, 7, 9, 11] {
                let post = format!("post {number}");
                assert_eq!(next(&mut watch).await, Some(post), "{strategy} {mutation} by {blocker}");
            }
            assert_eq!(next(&mut watch).await, None);
        }
    }
}

#[tokio::test]
async fn posts_of_a_private_account_are_for_its_followers_and_come_back_when_it_is_public() {
    let world = World::with(&["--timeline-capacity", "3"]).await;
    let people = world.people(3).await;
    let [ada, ben, eve] = &people[..] else { unreachable!() };
    world.follow(ada, ben).await;
    for number in 0..5 {
        publish_and_deliver(&world, ben, &number.to_string()).await;
    }
    let query = "{ user(by: { username: \"ann1\" }) { isPrivate posts { totalCount nodes { content } } } }";
    let counts = async || {
        let mut counts = Vec::new();
        for viewer in [Some(ada), Some(ben), Some(eve), None] {
            let token = viewer.map(|viewer| viewer.token.as_str());
            let data = world.data(token, query, Value::Null).await;
            let posts = &data["user"]["posts"];
            assert_eq!(posts["totalCount"], posts["nodes"].as_array().unwrap().len());
            counts.push(posts["totalCount"].as_u64().unwrap());
        }
        counts
    };
    assert_eq!(counts().await, [5, 5, 5, 5]);
    make_private(&world, ben, true).await;
    assert_eq!(counts().await, [5, 5, 0, 0]);
    // A removed follower does not see them any more, not even those in the home timeline.
    let timeline = "{ viewer { timeline { nodes { content } } } }";
    let length = async |viewer: &Person| {
        let data = world.data(Some(&viewer.token), timeline, Value::Null).await;
        data["viewer"]["timeline"]["nodes"].as_array().unwrap().len()
    };
    assert_eq!(length(ada).await, 5);
    done(&world, ben, "removeFollower", ada).await;
    assert_eq!((counts().await, length(ada).await), (vec![0, 5, 0, 0], 0));
    done(&world, ada, "follow", ben).await;
    done(&world, eve, "follow", ben).await;
    assert_eq!((counts().await, length(ada).await), (vec![0, 5, 0, 0], 0), "requests show nothing");
    done(&world, ben, "acceptFollowRequest", ada).await;
    assert_eq!((counts().await, length(ada).await), (vec![5, 5, 0, 0], 5));
    make_private(&world, ben, false).await;
    assert_eq!(counts().await, [5, 5, 5, 5]);
    assert_eq!(length(eve).await, 5, "the pending request is accepted");
}

#[tokio::test]
async fn an_imported_private_account_keeps_its_followers_and_others_request_to_follow_it() {
    let world = World::new().await;
    let people = world.people(4).await;
    let [ada, ben, eve, joe] = &people[..] else { unreachable!() };
    world.follow(ada, ben).await;
    publish_and_deliver(&world, ben, "for followers").await;
    let see = async |viewer: &Person, user: &Person| {
        let query = "query ($id: ID!) { user(by: { id: $id }) { isPrivate posts { nodes { content } } } }";
        world.data(Some(&viewer.token), query, json!({ "id": user.id })).await["user"].take()
    };
    let posts = json!([{ "content": "for followers" }]);
    let public = json!({ "isPrivate": false, "posts": { "nodes": posts } });
    for viewer in [ada, eve] {
        assert_eq!(see(viewer, ben).await, public);
    }
    let private = [2, 4].map(|user| UserId::new(user).unwrap());
    world.app.import_private(&private).await.unwrap();
    let shown = json!({ "isPrivate": true, "posts": { "nodes": posts } });
    assert_eq!(see(ada, ben).await, shown, "a follower");
    assert_eq!(see(eve, ben).await["isPrivate"], true);
    assert_ne!(see(eve, ben).await["posts"]["nodes"], posts);
    for user in [ben, joe] {
        let requested = done(&world, eve, "follow", user).await;
        assert_eq!((&requested["status"], requested["requestedSince"].is_string()), (&json!("NONE"), true));
    }
    assert_eq!(see(ben, eve).await["isPrivate"], false, "others stay public");
}
