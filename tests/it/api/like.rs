//! Likes: who sees them, how they are counted, and what becomes of them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fanfold::app::archive::SILENT_AFTER;
use fanfold::app::check::Finding;
use fanfold::app::import::ImportReaction;
use fanfold::model::clock::{Clock as _, Timestamp};
use fanfold::model::id::{PostId, UserId};
use fanfold::model::moderation::ActionNote;
use fanfold::model::moderator::Moderator;
use fanfold::store::batch::Batch;
use fanfold::store::{like, ordered};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::harness::case;
use crate::harness::check::check;
use crate::harness::cost::cost;
use crate::harness::id::global;
use crate::harness::post::{delete, post, publish};
use crate::harness::session::login;
use crate::harness::sql::{Database, Kind, on_every_kind};
use crate::harness::world::{ManualClock, PASSWORD, Person, World, archive_all, codes, deliver_all};

const LIKE: &str = "mutation ($id: ID!) { change: like(input: { postId: $id }) {
    post { likeCount viewerHasLiked } userErrors { code field } } }";
const UNLIKE: &str = "mutation ($id: ID!) { change: unlike(input: { postId: $id }) {
    post { likeCount viewerHasLiked } userErrors { code field } } }";

/// Sends a mutation at a second of its own. Returns the number of likes and whether the viewer likes the post, null for a
/// post that they cannot see; or else the error.
async fn change(world: &World, person: &Person, mutation: &str, id: &str) -> Value {
    world.clock.advance(Duration::from_secs(1));
    let payload = world.data(Some(&person.token), mutation, json!({ "id": id })).await["change"].take();
    match (payload["userErrors"].as_array().unwrap().first(), &payload["post"]) {
        (Some(error), _) => json!([error["code"], error["field"]]),
        (None, Value::Null) => Value::Null,
        (None, post) => json!([post["likeCount"], post["viewerHasLiked"]]),
    }
}

fn not_found() -> Value {
    json!(["NOT_FOUND", ["input", "postId"]])
}

/// Returns the names of the users who like a post, as a viewer sees them, in list order, reading pages of this size in
/// both directions.
async fn liked_by(world: &World, viewer: Option<&Person>, id: &str, size: usize) -> Vec<String> {
    let mut found = Vec::new();
    for (first, argument, flag, cursor) in
        [("first", "after", "hasNextPage", "endCursor"), ("last", "before", "hasPreviousPage", "startCursor")]
    {
        let (mut all, mut from): (Vec<String>, _) = (Vec::new(), Value::Null);
        loop {
            let query = format!(
                "query ($id: ID!, $from: String) {{ post(id: $id) {{ likedBy({first}: {size}, {argument}: $from) {{
                    nodes {{ username }} pageInfo {{ {flag} {cursor} }} }} }} }}"
            );
            let variables = json!({ "id": id, "from": from });
            let data = world.data(viewer.map(|viewer| &*viewer.token), &query, variables).await;
            let page = &data["post"]["likedBy"];
            let names = page["nodes"].as_array().unwrap().iter();
            let names: Vec<String> =
                names.map(|node| node["username"].as_str().unwrap().to_owned()).collect();
            assert!(names.len() <= size);
            if first == "first" {
                all.extend(names);
            } else {
                all.splice(..0, names);
            }
            if page["pageInfo"][flag] == false {
                break;
            }
            from = page["pageInfo"][cursor].clone();
        }
        found.push(all);
    }
    let (forward, backward) = (found.remove(0), found.remove(0));
    assert_eq!(forward, backward, "in pages of {size}");
    forward
}

/// Returns the posts that a viewer likes, newest like first.
async fn likes(world: &World, viewer: &Person) -> Vec<String> {
    let query = "{ viewer { likes { nodes { id viewerHasLiked } edges { listedAt positions } } } }";
    let data = world.data(Some(&viewer.token), query, Value::Null).await;
    let list = &data["viewer"]["likes"];
    let edges = list["edges"].as_array().unwrap();
    assert!(edges.is_sorted_by(|one, next| one["positions"][0].as_str() > next["positions"][0].as_str()));
    let nodes = list["nodes"].as_array().unwrap();
    assert!(nodes.iter().all(|node| node["viewerHasLiked"] == true), "{data}");
    nodes.iter().map(|node| node["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn imported_likes_and_bookmarks_take_no_tokens_and_earlier_ones_keep_their_times() {
    let database = Database::new(Kind::Sqlite).await;
    let options = ["--post-hot-limit", "1", "--post-reactions-per-user", "1"];
    let world = World::with_archive(&database, &options).await;
    let people = world.people(3).await;
    let [ada, bob, _] = &people[..] else { unreachable!("there are three") };
    let posts = [publish(&world, ada, "old").await, publish(&world, ada, "new").await];
    assert_eq!(change(&world, bob, LIKE, &posts[0]).await, json!([1, true]));
    let read = async || {
        let lists =
            "likes { edges { listedAt node { id likeCount } } } bookmarks { edges { listedAt node { id } } }";
        world.data(Some(&bob.token), &format!("{{ viewer {{ {lists} }} }}"), Value::Null).await["viewer"]
            .take()
    };
    let liked_at = read().await["likes"]["edges"][0]["listedAt"].take();
    archive_all(&world.app).await;

    // Ada and Bob like both posts, of which Bob likes one already, and which is in the archive.
    let at = Timestamp::from_millis(ManualClock::BEGINNING - 60_000);
    let reaction = |user, post| ImportReaction {
        user: UserId::new(user).unwrap(),
        post: PostId::new(post).unwrap(),
        at,
    };
    let likes = [(1, 1), (1, 2), (2, 1), (2, 2)].map(|(user, post)| reaction(user, post));
    for _ in 0..2 {
        world.app.import_likes(&likes).await.unwrap();
        world.app.import_bookmarks(&likes).await.unwrap();
        let edge = |at: &Value, id: &str| json!({ "listedAt": at, "node": { "id": id, "likeCount": 2 } });
        let mut lists = read().await;
        let imported = json!("2025-12-31T23:59:00.000Z");
        assert_eq!(lists["likes"]["edges"], json!([edge(&liked_at, &posts[0]), edge(&imported, &posts[1])]));
        let bookmarks = lists["bookmarks"]["edges"].take();
        let bookmarked: Vec<&Value> =
            bookmarks.as_array().unwrap().iter().map(|edge| &edge["node"]["id"]).collect();
        assert_eq!(json!(bookmarked), json!([posts[1], posts[0]]));
        assert!(bookmarks.as_array().unwrap().iter().all(|edge| edge["listedAt"] == imported), "{bookmarks}");
    }
    assert_eq!(liked_by(&world, Some(bob), &posts[1], 2).await, ["ann1", "ann0"]);
    assert_eq!(check(&world.app, false).await.faults(), 0);
}

#[tokio::test]
async fn likes_are_counted_and_listed_once_hot_and_archived() {
    let database = Database::new(Kind::Sqlite).await;
    let world = World::with_archive(&database, &["--post-hot-limit", "1"]).await;
    let people = world.people(4).await;
    let [ada, bob, eve, dan] = &people[..] else { unreachable!("there are four") };
    let (old, new) = (publish(&world, ada, "old").await, publish(&world, ada, "new").await);
    for is_archived in [false, true] {
        for (number, person) in (1..).zip([bob, eve, ada]) {
            for _ in 0..2 {
                assert_eq!(change(&world, person, LIKE, &old).await, json!([number, true]));
            }
        }
        assert_eq!(change(&world, bob, LIKE, &new).await[1], true);
        assert_eq!(likes(&world, bob).await, [&*new, &old]);
        assert_eq!(liked_by(&world, Some(dan), &old, 2).await, ["ann0", "ann2", "ann1"]);
        assert_eq!(liked_by(&world, None, &old, 1).await, ["ann0", "ann2", "ann1"]);
        let count = post(&world, dan, &old, "likeCount viewerHasLiked").await;
        assert_eq!((&count["likeCount"], &count["viewerHasLiked"]), (&json!(3), &json!(false)));
        for (number, person) in [(2, eve), (1, bob), (0, ada)] {
            for _ in 0..2 {
                assert_eq!(change(&world, person, UNLIKE, &old).await, json!([number, false]));
            }
        }
        assert_eq!(liked_by(&world, Some(dan), &old, 2).await, [""; 0]);
        assert_eq!(likes(&world, bob).await, [&*new]);
        assert_eq!(change(&world, bob, UNLIKE, &new).await, json!([0, false]));
        assert_eq!(check(&world.app, false).await.faults(), 0);
        if !is_archived {
            assert_eq!(change(&world, eve, LIKE, &old).await[1], true);
            archive_all(&world.app).await;
            assert_eq!(liked_by(&world, Some(dan), &old, 2).await, ["ann2"]);
            assert_eq!(change(&world, eve, UNLIKE, &old).await, json!([0, false]));
        }
    }
}

#[tokio::test]
async fn the_likes_of_private_accounts_count_and_are_listed_only_to_some() {
    let world = World::new().await;
    let people = world.people(4).await;
    let [ada, bob, eve, dan] = &people[..] else { unreachable!("there are four") };
    world.follow(eve, bob).await;
    let id = publish(&world, ada, "x").await;
    for person in [bob, dan] {
        change(&world, person, LIKE, &id).await;
    }
    let private = "mutation { updateProfile(input: { isPrivate: true }) { userErrors { code } } }";
    world.data(Some(&bob.token), private, Value::Null).await;
    for (viewer, names) in [
        (Some(ada), &["ann3", "ann1"][..]),
        (Some(bob), &["ann3", "ann1"]),
        (Some(eve), &["ann3", "ann1"]),
        (Some(dan), &["ann3"]),
        (None, &["ann3"]),
    ] {
        assert_eq!(liked_by(&world, viewer, &id, 1).await, names);
        let query = "query ($id: ID!) { post(id: $id) { likeCount } }";
        let data = world.data(viewer.map(|viewer| &*viewer.token), query, json!({ "id": id })).await;
        assert_eq!(data["post"]["likeCount"], 2);
    }
    // Users across a block do not see each other's likes.
    world.change(dan, "block(input: { userId: $id })", &eve.id).await;
    assert_eq!(liked_by(&world, Some(eve), &id, 2).await, ["ann1"]);
    world.change(dan, "unblock(input: { userId: $id })", &eve.id).await;
    assert_eq!(liked_by(&world, Some(eve), &id, 2).await, ["ann3", "ann1"]);
}

#[tokio::test]
async fn a_post_that_the_viewer_may_not_see_cannot_be_liked() {
    let world = World::new().await;
    let people = world.people(3).await;
    let [ada, bob, eve] = &people[..] else { unreachable!("there are three") };
    let (one, other) = (publish(&world, ada, "x").await, publish(&world, ada, "y").await);
    assert_eq!(change(&world, bob, LIKE, &one).await, json!([1, true]));
    assert_eq!(change(&world, eve, LIKE, &one).await, json!([2, true]));
    delete(&world, ada, &other).await;
    for gone in [&*other, &global("Post", 9_999)] {
        assert_eq!(change(&world, bob, LIKE, gone).await, not_found());
        assert_eq!(change(&world, bob, UNLIKE, gone).await, Value::Null);
    }
    world.change(ada, "block(input: { userId: $id })", &bob.id).await;
    assert_eq!(change(&world, bob, LIKE, &one).await, not_found());
    assert_eq!(likes(&world, bob).await, [""; 0]);
    let count = post(&world, ada, &one, "likeCount").await;
    assert_eq!(count["likeCount"], 2, "as before the block");
    assert_eq!(change(&world, bob, UNLIKE, &one).await, Value::Null, "taken back all the same");
    assert_eq!(liked_by(&world, Some(ada), &one, 2).await, ["ann2"]);
    for mutation in [LIKE, UNLIKE] {
        let response = world.ask(None, mutation, json!({ "id": one })).await;
        assert_eq!(codes(&response), ["UNAUTHENTICATED"]);
        for malformed in ["", "x", &ada.id] {
            let response = world.ask(Some(&ada.token), mutation, json!({ "id": malformed })).await;
            assert_eq!(codes(&response), ["BAD_USER_INPUT"], "{malformed:?}");
        }
    }
    delete(&world, ada, &one).await;
    assert_eq!(likes(&world, eve).await, [""; 0]);
    assert_eq!(check(&world.app, false).await.faults(), 0);
}

#[tokio::test]
async fn a_like_takes_seven_round_trips_and_a_token() {
    let world = World::with(&["--post-reactions-per-user", "3"]).await;
    let (ada, bob) = (world.register("ada").await, world.register("bob").await);
    for _ in 0..3 {
        publish(&world, &bob, "x").await;
    }
    let viewer = world.app.authenticate(&ada.token).await.unwrap();
    let store = world.app.store();
    let post = |number| PostId::new(number).unwrap();
    world.app.like(&viewer, post(1)).await.unwrap();
    // Every master has the scripts then.
    world.app.like(&viewer, post(2)).await.unwrap();
    world.app.unlike(&viewer, post(2)).await.unwrap();
    let before = store.round_trips();
    world.app.like(&viewer, post(2)).await.unwrap();
    assert_eq!(store.round_trips() - before, 7);
    let before = store.round_trips();
    world.app.unlike(&viewer, post(2)).await.unwrap();
    assert_eq!(store.round_trips() - before, 5);
    let id = |number| global("Post", number);
    assert_eq!(change(&world, &ada, LIKE, &id(3)).await, json!(["THROTTLED", null]));
    assert_eq!(change(&world, &ada, LIKE, &id(1)).await, json!([1, true]), "a repeated like is free");
    let visible = post_of(&world, &bob, 3).await;
    assert_eq!(visible, json!(0), "nothing is left of a like without a token");
}

async fn post_of(world: &World, viewer: &Person, number: u64) -> Value {
    post(world, viewer, &global("Post", number), "likeCount").await["likeCount"].clone()
}

#[tokio::test]
async fn both_reactions_and_the_count_take_one_command_and_no_further_round_trip() {
    let world = World::new().await;
    let (ada, bob) = (world.register("ada").await, world.register("bob").await);
    world.follow(&ada, &bob).await;
    for index in 0..110 {
        let id = publish(&world, &bob, "x").await;
        if index % 3 == 0 {
            change(&world, &ada, LIKE, &id).await;
        }
    }
    deliver_all(&world.app).await;
    for list in [
        "user(by: { username: \"bob\" }) { posts(first: SIZE) { nodes { id FIELDS } } }",
        "viewer { timeline(first: SIZE) { edges { node { id FIELDS } } } }",
    ] {
        for size in ["20", "100"] {
            let query = |fields| format!("{{ {} }}", list.replace("SIZE", size).replace("FIELDS", fields));
            let (plain, without) = cost(&world, &ada, &query("")).await;
            let fields = "likeCount viewerHasLiked viewerHasBookmarked";
            let (trips, with) = cost(&world, &ada, &query(fields)).await;
            assert_eq!(trips, plain, "{list} {size}");
            assert_eq!(with["evalsha"], without.get("evalsha").unwrap_or(&0) + 1, "{list} {size}");
        }
    }
}

#[tokio::test]
async fn the_likes_of_a_suspended_account_are_taken_off_and_come_back() {
    let world = World::new().await;
    let people = world.people(3).await;
    let [ada, bob, dan] = &people[..] else { unreachable!("there are three") };
    let id = publish(&world, ada, "x").await;
    for person in [bob, dan] {
        change(&world, person, LIKE, &id).await;
    }
    let (by, user) = (&Moderator::Operator, UserId::new(2).unwrap());
    // So many likes, of posts that do not exist, that they are in a tree.
    let (store, keys) = (world.app.store(), world.app.store().keys());
    let mut batch = Batch::new("test");
    let like = |post| {
        let (post, bucket) = (PostId::new(post).unwrap(), keys.reactions_of(user));
        batch.push(ordered::add(&keys.liked(user), post, world.clock.now(), None, &bucket, None))
    };
    let tickets = (1_000..1_600).map(like).collect();
    batch.send(store).await.unwrap().take_all(tickets).unwrap();
    world.app.suspend_user(by, user, ActionNote::default()).await.unwrap();
    assert_eq!(post(&world, ada, &id, "likeCount").await["likeCount"], 1);
    assert_eq!(liked_by(&world, Some(ada), &id, 2).await, ["ann2"]);
    world.app.unsuspend_user(by, user, ActionNote::default()).await.unwrap();
    assert_eq!(post(&world, ada, &id, "likeCount").await["likeCount"], 2);
    assert_eq!(liked_by(&world, Some(ada), &id, 2).await, ["ann1", "ann2"]);
}

/// What viewers see of the likes of a post: the number, whom it is listed to have, and whether it is the viewer's.
async fn seen(world: &World, viewer: &Person, id: &str) -> Value {
    let fields = post(world, viewer, id, "likeCount viewerHasLiked").await;
    if fields.is_null() {
        return fields;
    }
    json!([fields["likeCount"], liked_by(world, Some(viewer), id, 1).await, fields["viewerHasLiked"]])
}

/// Checks what these viewers see.
async fn expect<const N: usize>(
    world: &World,
    viewers: [&Person; N],
    id: &str,
    expected: [Value; N],
    after: &str,
) {
    for (viewer, expected) in viewers.into_iter().zip(expected) {
        assert_eq!(seen(world, viewer, id).await, expected, "after {after}, {viewer:?}");
    }
}

#[tokio::test]
async fn what_becomes_of_likes_shows_on_another_server_and_so_does_its_reversal() {
    let database = Database::new(Kind::Sqlite).await;
    let options = [["--archive-url", &database.url], ["--post-hot-limit", "1"]];
    let world = World::with(options.as_flattened()).await;
    let beside = world.beside(options.as_flattened()).await;
    let people = world.people(4).await;
    let [ada, bob, mut eve, dan] = people.try_into().unwrap();
    let by = &Moderator::Operator;
    for is_archived in [false, true] {
        let id = &*publish(&world, &ada, "x").await;
        change(&world, &bob, LIKE, id).await;
        change(&world, &eve, LIKE, id).await;
        if is_archived {
            publish(&world, &ada, "newer").await;
            archive_all(&world.app).await;
        }
        let viewers = [&ada, &bob, &eve, &dan];
        let both = |flag: bool| json!([2, ["ann2", "ann1"], flag]);
        let all = [both(false), both(true), both(true), both(false)];
        expect(&beside, viewers, id, all.clone(), "likes").await;

        change(&world, &eve, UNLIKE, id).await;
        let one = |flag: bool| json!([1, ["ann1"], flag]);
        expect(&beside, viewers, id, [one(false), one(true), one(false), one(false)], "unlike").await;
        change(&world, &eve, LIKE, id).await;
        expect(&beside, viewers, id, all.clone(), "like").await;

        world.change(&ada, "editPost(input: { postId: $id, content: \"y\" })", id).await;
        expect(&beside, viewers, id, all.clone(), "edit").await;

        let without_eve = |flag: bool| json!([2, ["ann1"], flag]);
        world.change(&dan, "block(input: { userId: $id })", &eve.id).await;
        expect(&beside, viewers, id, [both(false), both(true), both(true), without_eve(false)], "block")
            .await;
        world.change(&dan, "unblock(input: { userId: $id })", &eve.id).await;
        expect(&beside, viewers, id, all.clone(), "unblock").await;

        world.change(&ada, "block(input: { userId: $id })", &eve.id).await;
        expect(
            &beside,
            viewers,
            id,
            [without_eve(false), both(true), Value::Null, both(false)],
            "block by the author",
        )
        .await;
        world.change(&ada, "unblock(input: { userId: $id })", &eve.id).await;
        expect(&beside, viewers, id, all.clone(), "unblock by the author").await;

        let hidden = [both(false), without_eve(true), both(true), without_eve(false)];
        for (is_private, expected) in [(true, hidden), (false, all.clone())] {
            let update = format!(
                "mutation {{ updateProfile(input: {{ isPrivate: {is_private} }}) {{ userErrors {{ code }} }} }}"
            );
            world.data(Some(&eve.token), &update, Value::Null).await;
            expect(&beside, viewers, id, expected, "private").await;
        }

        let user = UserId::new(3).unwrap();
        world.app.suspend_user(by, user, ActionNote::default()).await.unwrap();
        let others = [&ada, &bob, &dan];
        expect(&beside, others, id, [one(false), one(true), one(false)], "suspension").await;
        world.app.unsuspend_user(by, user, ActionNote::default()).await.unwrap();
        eve.token = login(&world, "ann2", PASSWORD).await["token"].as_str().unwrap().to_owned();
        let viewers = [&ada, &bob, &eve, &dan];
        expect(&beside, viewers, id, all.clone(), "return").await;

        delete(&world, &ada, id).await;
        expect(&beside, viewers, id, [const { Value::Null }; 4], "deletion").await;
        assert_eq!(likes(&beside, &bob).await, [""; 0]);
        assert_eq!(check(&world.app, false).await.faults(), 0);
    }
}

on_every_kind! {
    likes_in_parallel_are_counted_as_they_are_listed;
}

/// Users like posts and take that back, on two servers and all at once, while two movers archive the posts. Each of them
/// sees what they have done on the other server.
async fn likes_in_parallel_are_counted_as_they_are_listed(kind: Kind) {
    let database = Database::new(kind).await;
    let options = [
        ["--archive-url", &database.url],
        ["--post-hot-limit", "1"],
        ["--post-reactions-per-user", "1000000"],
    ];
    let world = World::with(options.as_flattened()).await;
    let people = world.people(50).await;
    let mut posts = Vec::new();
    for _ in 0..3 {
        posts.push(publish(&world, &people[0], "x").await);
    }
    let beside = world.beside(options.as_flattened()).await;
    let worlds = Arc::new([world, beside]);
    let is_over = Arc::new(AtomicBool::new(false));
    let movers = [0, 1].map(|number| {
        let (app, is_over) = (worlds[number].app.clone(), Arc::clone(&is_over));
        tokio::spawn(async move {
            let mover = app.mover();
            while !is_over.load(Ordering::SeqCst) {
                // Posts that have changed meanwhile are taken again at once.
                mover.turn(SILENT_AFTER, app.now().plus(Duration::from_secs(61))).await.unwrap();
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
    });
    let mut calls = JoinSet::new();
    for (index, person) in people.iter().cloned().enumerate() {
        let (worlds, posts) = (Arc::clone(&worlds), posts.clone());
        let viewer = worlds[index % 2].app.authenticate(&person.token).await.unwrap();
        let mut rng = StdRng::seed_from_u64(case::seed(index as u64));
        calls.spawn(async move {
            let (app, beside) = (&worlds[index % 2].app, &worlds[1 - index % 2]);
            let mut liked = [false; 3];
            for _ in 0..case::share(100) {
                let number = rng.random_range(0..liked.len());
                let id = PostId::new(number as u64 + 1).unwrap();
                liked[number] = rng.random_bool(0.6);
                if liked[number] {
                    app.like(&viewer, id).await.unwrap();
                } else {
                    app.unlike(&viewer, id).await.unwrap();
                }
                let seen = post(beside, &person, &posts[number], "likeCount viewerHasLiked").await;
                assert_eq!(seen["viewerHasLiked"], liked[number]);
                assert!(seen["likeCount"] != 0 || !liked[number]);
            }
            (index, liked)
        });
    }
    let mut liked = calls.join_all().await;
    liked.sort_unstable();
    is_over.store(true, Ordering::SeqCst);
    for mover in movers {
        mover.await.unwrap();
    }
    let [world, beside] = &*worlds;
    for is_archived in [false, true] {
        for (number, id) in posts.iter().enumerate() {
            let expected = liked.iter().filter(|(_, liked)| liked[number]);
            let expected: BTreeSet<String> = expected.map(|(index, _)| format!("ann{index}")).collect();
            let listed = liked_by(beside, Some(&people[0]), id, 5).await;
            assert_eq!(listed.len(), expected.len(), "no one twice, archived: {is_archived}");
            assert_eq!(listed.into_iter().collect::<BTreeSet<_>>(), expected, "archived: {is_archived}");
            for (person, (_, liked)) in people.iter().zip(&liked) {
                let seen = post(world, person, id, "likeCount viewerHasLiked").await;
                assert_eq!(seen["likeCount"], expected.len());
                assert_eq!(seen["viewerHasLiked"], liked[number]);
            }
        }
        assert_eq!(check(&world.app, false).await.faults(), 0, "archived: {is_archived}");
        archive_all(&world.app).await;
    }
}

#[tokio::test]
async fn a_check_finds_wrong_likes_of_a_hot_post_and_repairs_them() {
    const LIKERS: usize = 131;
    let world = World::new().await;
    let (ada, likers) = (world.register("ada").await, world.people(LIKERS).await);
    let id = publish(&world, &ada, "x").await;
    for liker in &likers {
        change(&world, liker, LIKE, &id).await;
    }
    let raw = |words: &[&str]| {
        world.redis.raw::<redis::Value>(words);
    };
    let find = async |repair| {
        let found = world.app.check_users(1, repair).await.unwrap();
        [Finding::WrongReactions, Finding::MiscountedReferrals, Finding::TornLikes]
            .map(|finding| found[finding] > 0)
    };
    assert_eq!(find(false).await, [false; 3]);
    let replace = "redis.call('DEL', KEYS[1]) redis.call('HSET', KEYS[1], 'x', 'x')";
    let (newest, number, root) = ("ff:{p1}:likes", "ff:{p1}:likes:count", "ff:{p1}:likes:0");
    let (wrong, miscounted, torn) = ([true, false, false], [false, true, false], [false, false, true]);
    let faults: [(&[&str], [bool; 3]); 13] = [
        (&["ZADD", newest, "500", "x"], wrong),
        (&["ZADD", newest, "1.5", "77"], wrong),
        (&["ZADD", newest, "500", "9999"], wrong),
        (&["SADD", root, "x"], wrong),
        (&["SET", number, "x"], wrong),
        (&["EVAL", replace, "1", newest], wrong),
        (&["EVAL", replace, "1", number], wrong),
        (&["EVAL", replace, "1", root], wrong),
        (&["SET", number, "7"], miscounted),
        (&["HSET", "ff:{p1}:post", "details", "900 0 0 0 0 0 7 200"], miscounted),
        (&["DEL", number], [false, true, true]),
        (&["SREM", root, "5"], [false, true, true]),
        (&["SADD", root, "9999"], [false, true, true]),
    ];
    for (fault, found) in faults {
        raw(fault);
        assert_eq!(find(false).await, found, "{fault:?}");
        find(true).await;
        assert_eq!(find(false).await, [false; 3], "{fault:?}");
        assert_eq!(post_of(&world, &ada, 1).await, json!(LIKERS), "{fault:?}");
        assert_eq!(world.redis.raw::<String>(&["GET", number]), LIKERS.to_string(), "{fault:?}");
        assert_eq!(liked_by(&world, Some(&ada), &id, 100).await.len(), LIKERS, "{fault:?}");
    }
    // The truth of one of them is lost, and another is unreadable.
    raw(&["DEL", "ff:{u3}:liked"]);
    assert_eq!(find(false).await, torn);
    raw(&["EVAL", replace, "1", "ff:{u4}:liked"]);
    assert_eq!(find(false).await, [true, false, true]);
    // What the unreadable key had contained is a fault of the post's as soon as it is removed.
    assert_eq!(find(true).await, [true, false, true]);
    assert_eq!(find(true).await, torn);
    assert_eq!(find(false).await, [false; 3]);
    assert_eq!(post_of(&world, &ada, 1).await, json!(LIKERS - 2));
}

#[tokio::test]
async fn a_post_that_has_had_many_likes_and_has_few_is_counted_right() {
    let world = World::new().await;
    let (ada, likers) = (world.register("ada").await, world.people(5).await);
    let id = publish(&world, &ada, "x").await;
    let (store, post) = (world.app.store(), PostId::new(1).unwrap());
    for is_liked in [true, false] {
        let mut batch = Batch::new("test");
        for user in (1_000..1_600).filter_map(UserId::new) {
            let _ = batch.push(like::mirror(store.keys(), post, user, is_liked));
        }
        batch.send(store).await.unwrap();
    }
    for liker in &likers {
        change(&world, liker, LIKE, &id).await;
    }
    assert!(world.redis.raw::<bool>(&["EXISTS", "ff:{p1}:likes:0"]), "what is left of the tree");
    for repair in [false, true, false] {
        assert_eq!(check(&world.app, repair).await.faults(), 0);
    }
    assert_eq!(post_of(&world, &ada, 1).await, json!(likers.len()));
}
