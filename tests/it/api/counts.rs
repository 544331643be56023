//! The counts of a user: the same numbers as `totalCount` of the lists, for each viewer, at the same cost.

use serde_json::{Value, json};

use crate::harness::cost::cost;
use crate::harness::graph::Graph;
use crate::harness::post::{delete, publish, try_publish};
use crate::harness::world::{Person, World};

/// The counts of a user, and the lists that they count.
const COUNTS: [(&str, &str); 3] =
    [("followerCount", "followers"), ("followingCount", "following"), ("postCount", "posts")];

/// Selects the counts, and the lengths of the lists.
fn counts_and_lengths() -> String {
    COUNTS.map(|(count, list)| format!("{count} {list} {{ totalCount }}")).join(" ")
}

/// Returns a user's counts, which must equal the lengths of the lists.
fn counts_of(user: &Value) -> [u64; 3] {
    COUNTS.map(|(count, list)| {
        assert_eq!(user[count], user[list]["totalCount"], "{count} of {user}");
        user[count].as_u64().unwrap()
    })
}

/// Changes the relation to another user.
async fn change(world: &World, person: &Person, mutation: &str, other: &Person) {
    let query =
        format!("mutation ($id: ID!) {{ {mutation}(input: {{ userId: $id }}) {{ userErrors {{ code }} }} }}");
    let data = world.data(Some(&person.token), &query, json!({ "id": other.id })).await;
    assert_eq!(data[mutation]["userErrors"], json!([]), "{mutation}");
}

/// Five people, of whom three follow the first, who follows two of them and the private account of the fourth. The third
/// blocks the second. Each has a public post, and one for followers; the first has reposted a post of the second.
async fn people(world: &World) -> Vec<Person> {
    let people = world.people(5).await;
    let private = "mutation { updateProfile(input: { isPrivate: true }) { userErrors { code } } }";
    for (follower, followee) in [(1, 0), (2, 0), (4, 0), (0, 1), (0, 2), (0, 3)] {
        world.follow(&people[follower], &people[followee]).await;
    }
    world.data(Some(&people[3].token), private, Value::Null).await;
    for person in &people {
        publish(world, person, "for everyone").await;
        try_publish(world, person, json!({ "visibility": "FOLLOWERS" })).await.unwrap();
    }
    let repost = "mutation { repost(input: { postId: \"UG9zdDoz\" }) { userErrors { code } } }";
    world.data(Some(&people[0].token), repost, Value::Null).await;
    change(world, &people[2], "block", &people[1]).await;
    people
}

#[tokio::test]
async fn counts_equal_the_lengths_of_the_lists_for_each_viewer() {
    let world = World::new().await;
    let people = people(&world).await;
    let user = counts_and_lengths();
    let alone =
        |index: usize| format!("{{ user(by: {{ username: \"ann{index}\" }}) {{ username {user} }} }}");
    let listed = format!(
        "{{ user(by: {{ username: \"ann0\" }}) {{
            followers {{ nodes {{ username {user} }} edges {{ node {{ username {user} }} }} }}
            posts {{ nodes {{ author {{ username {user} }} }} }}
        }} }}"
    );
    let mut seen = Vec::new();
    for viewer in people.iter().map(|person| Some(person.token.as_str())).chain([None]) {
        let mut counts = Vec::new();
        for index in 0..people.len() {
            let data = world.data(viewer, &alone(index), Value::Null).await;
            counts.push((!data["user"].is_null()).then(|| counts_of(&data["user"])));
        }
        let data = world.data(viewer, &listed, Value::Null).await;
        let lists = ["/user/followers/nodes", "/user/followers/edges", "/user/posts/nodes"];
        let lists = lists.map(|list| data.pointer(list).unwrap().as_array().unwrap());
        let users = lists
            .into_iter()
            .flatten()
            .map(|entry| ["node", "author"].iter().find_map(|field| entry.get(field)).unwrap_or(entry));
        for user in users {
            let index: usize = user["username"].as_str().unwrap()[3..].parse().unwrap();
            assert_eq!(Some(counts_of(user)), counts[index], "{user}");
        }
        seen.push(counts);
    }
    let expected = |first, others: [Option<[u64; 3]>; 4]| [vec![Some(first)], others.into()].concat();
    let (second, third, last) = ([1, 1, 1], [1, 1, 1], [0, 1, 1]);
    let private = [1, 0, 0];
    let all = |counts: [u64; 3]| Some([counts[0], counts[1], 2]);
    assert_eq!(seen[0], expected([3, 3, 3], [all(second), all(third), all(private), Some(last)]));
    // The second and the third do not see each other.
    assert_eq!(seen[1], expected([2, 2, 3], [all(second), None, Some(private), Some(last)]));
    assert_eq!(seen[2], expected([2, 2, 3], [Some([1, 1, 0]), all(third), Some(private), Some(last)]));
    assert_eq!(seen[3], expected([3, 3, 2], [Some(second), Some(third), all(private), Some(last)]));
    assert_eq!(seen[4], expected([3, 3, 3], [Some(second), Some(third), Some(private), all(last)]));
    assert_eq!(seen[5], expected([3, 3, 2], [Some(second), Some(third), Some(private), Some(last)]));
}

/// A viewer who blocks a user and has a private account, in a world in which many users follow each other.
async fn crowd() -> (World, Person) {
    let world = World::new().await;
    let viewer = world.register("viewer").await;
    let graph = Graph::generated(100, 2_000, 3);
    let follows = (1..100).map(|follower| (follower, 0)).chain(graph.follows);
    Graph { users: 100, follows: follows.collect() }.load(&world.app, None).await;
    (world, viewer)
}

#[tokio::test]
async fn counts_cost_what_the_lengths_of_the_lists_cost() {
    let (world, viewer) = crowd().await;
    let blocked = world.data(None, "{ user(by: { username: \"u9\" }) { id } }", Value::Null).await;
    let blocked = Person { id: blocked["user"]["id"].as_str().unwrap().to_owned(), ..viewer.clone() };
    let lengths = COUNTS.map(|(_, list)| format!("{list} {{ totalCount }}"));
    let counts = COUNTS.map(|(count, _)| count.to_owned());
    let selections =
        lengths.iter().cloned().zip(counts.clone()).chain([(lengths.join(" "), counts.join(" "))]);
    let selections: Vec<(String, String)> = selections.collect();
    for is_blocking in [false, true] {
        if is_blocking {
            change(&world, &viewer, "block", &blocked).await;
        }
        for place in [
            "{ user(by: { username: \"u0\" }) { … } }",
            "{ user(by: { username: \"u0\" }) { followers(first: 30) { nodes { username … } } } }",
            "{ user(by: { username: \"u0\" }) { followers(first: 30) { edges { node { followers { nodes { … } } } } } } }",
        ] {
            for (lengths, counts) in &selections {
                let (lengths, counts) = (place.replace('…', lengths), place.replace('…', counts));
                let expected = cost(&world, &viewer, &lengths).await;
                assert_eq!(
                    cost(&world, &viewer, &counts).await,
                    expected,
                    "{counts}, blocking: {is_blocking}"
                );
            }
        }
    }
}

#[tokio::test]
async fn counts_share_the_round_trips_of_lists_and_of_other_counts() {
    let (world, viewer) = crowd().await;
    let all = COUNTS.map(|(count, _)| count).join(" ");
    let beside = format!(
        "{all} followers(first: 3) {{ totalCount nodes {{ username }} }} posts(first: 3) {{ nodes {{ content }} }}"
    );
    // The name, the counts and pages, and the nodes.
    for (selection, trips) in [("followerCount", 2), (all.as_str(), 2), (beside.as_str(), 3)] {
        let query = format!("{{ user(by: {{ username: \"u0\" }}) {{ {selection} }} }}");
        assert_eq!(cost(&world, &viewer, &query).await.0, trips, "{selection}");
    }
    // The same below a page of users.
    for (selection, trips) in [("followerCount", 4), (all.as_str(), 4), (beside.as_str(), 5)] {
        let query = format!(
            "{{ user(by: {{ username: \"u0\" }}) {{ followers(first: 9) {{ nodes {{ username {selection} }} }} }} }}"
        );
        assert_eq!(cost(&world, &viewer, &query).await.0, trips, "{selection}");
    }
}

#[tokio::test]
async fn payloads_have_the_counts_after_the_change() {
    let world = World::new().await;
    let people = world.people(2).await;
    let (token, other) = (Some(people[0].token.as_str()), &people[1]);
    let change = |name: &str| {
        format!(
            "{name}(input: {{ userId: $id }}) {{
                user {{ followerCount }} relation {{ user {{ followerCount }} }} viewer {{ user {{ followingCount }} }} }}"
        )
    };
    let query = format!(
        "mutation ($id: ID!) {{ {} again: {} {} last: {} {} }}",
        change("follow"),
        change("follow"),
        change("unfollow"),
        change("follow"),
        change("block")
    );
    let data = world.data(token, &query, json!({ "id": other.id })).await;
    for (payload, count) in [("follow", 1), ("again", 1), ("unfollow", 0), ("last", 1), ("block", 0)] {
        let user = json!({ "followerCount": count });
        let viewer = json!({ "user": { "followingCount": count } });
        let expected = json!({ "user": user, "relation": { "user": user }, "viewer": viewer });
        assert_eq!(data[payload], expected, "{payload}");
    }
    let publish = "mutation { publish(input: { content: \"x\" }) {
        post { id author { postCount } } viewer { user { postCount } } } }";
    let payload = world.data(token, publish, Value::Null).await["publish"].take();
    assert_eq!(payload["post"]["author"]["postCount"], 1);
    assert_eq!(payload["viewer"]["user"]["postCount"], 1);
    delete(&world, &people[0], payload["post"]["id"].as_str().unwrap()).await;
    let own = world.data(token, "{ viewer { user { postCount } } }", Value::Null).await;
    assert_eq!(own["viewer"]["user"]["postCount"], 0);
}

#[tokio::test]
async fn a_count_that_cannot_be_read_is_null_and_the_others_are_there() {
    let world = World::new().await;
    let people = people(&world).await;
    world.redis.raw::<u64>(&["DEL", "ff:{u2}:following"]);
    world.redis.raw::<String>(&["SET", "ff:{u2}:following", "no list"]);
    let counts = COUNTS.map(|(count, _)| count).join(" ");
    let alone = format!("{{ user(by: {{ username: \"ann1\" }}) {{ {counts} }} }}");
    let listed =
        format!("{{ user(by: {{ username: \"ann0\" }}) {{ followers {{ nodes {{ {counts} }} }} }} }}");
    for (query, user, path) in [
        (alone, "/data/user", json!(["user", "followingCount"])),
        (listed, "/data/user/followers/nodes/2", json!(["user", "followers", "nodes", 2, "followingCount"])),
    ] {
        let response = world.ask(Some(&people[4].token), &query, Value::Null).await;
        let [error] = response["errors"].as_array().unwrap().as_slice() else { panic!("{response}") };
        assert_eq!((&error["path"], &error["extensions"]["code"]), (&path, &json!("INTERNAL_SERVER_ERROR")));
        let user = response.pointer(user).unwrap();
        assert_eq!(*user, json!({ "followerCount": 1, "followingCount": null, "postCount": 1 }));
    }
}
