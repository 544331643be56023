//! What a viewer may not see leaves no trace: a request for it has the answer, the round trips, the charge and the commands
//! of a request where there is nothing. Limited entries of a list may take one command more.

use fanfold::model::id::UserId;
use fanfold::model::like::Like;
use fanfold::store::like;
use serde_json::{Value, json};

use crate::harness::cost::counted;
use crate::harness::id::global;
use crate::harness::issuer::base64;
use crate::harness::post::{delete, publish, try_publish};
use crate::harness::sql::{Database, Kind};
use crate::harness::world::{Person, World, archive_all};

/// A number that no user and no post has.
const NO_ONE: u64 = 4_000_000;

/// What a request was answered, and what it took.
#[derive(Debug, PartialEq)]
struct Taken {
    answer: Value,
    round_trips: u64,
    queries: u64,
    charge: i64,
}

/// The sum of all buckets of costs: what was charged, in a unit of time.
fn charged(world: &World) -> i64 {
    let keys: Vec<String> = world.redis.raw(&["KEYS", "ff:*}:cost"]);
    keys.iter().map(|key| world.redis.raw::<i64>(&["GET", key])).sum()
}

/// Sends a request until everything is warm, and measures it once more. Also returns the number of commands.
async fn measure(world: &World, token: Option<&str>, query: &str) -> (Taken, u64) {
    for _ in 0..4 {
        world.ask(token, query, Value::Null).await;
    }
    world.redis.raw::<String>(&["CONFIG", "RESETSTAT"]);
    let (trips, queries, before) =
        (world.app.store().round_trips(), world.app.archive_asked(), charged(world));
    world.redis.raw::<String>(&["CONFIG", "RESETSTAT"]);
    let answer = world.ask(token, query, Value::Null).await;
    let commands = counted(world).values().sum();
    let taken = Taken {
        answer,
        round_trips: world.app.store().round_trips() - trips,
        queries: world.app.archive_asked() - queries,
        charge: charged(world) - before,
    };
    (taken, commands)
}

/// Asserts that two requests, of which the second is for nothing, do not differ, apart from these ids.
async fn compare(world: &World, token: Option<&str>, [hidden, nothing]: [&str; 2], may_take_one_more: bool) {
    let (of_hidden, hidden_commands) = measure(world, token, hidden).await;
    let (of_nothing, commands) = measure(world, token, nothing).await;
    assert_eq!(of_hidden, of_nothing, "{hidden} as {token:?}");
    let most = commands + u64::from(may_take_one_more);
    assert!(
        (commands..=most).contains(&hidden_commands),
        "{hidden}: {hidden_commands}, not {commands} commands"
    );
}

/// The ids of posts.
struct Posts {
    /// A post for followers only.
    limited: [String; 3],
    /// Public posts of the user who blocks a viewer.
    of_blocker: String,
    /// A post to which hidden posts refer, and one to which none does.
    referred: String,
    plain: String,
    /// Replies to, and quotes of, a hidden post, and of one that does not exist any more.
    reply_to_hidden: String,
    reply_to_nothing: String,
}

async fn posts(world: &World, [ada, bob, eve]: &[Person; 3]) -> Posts {
    let publish = async |person: &Person, input: Value| try_publish(world, person, input).await.unwrap();
    let followers = || json!({ "visibility": "FOLLOWERS" });
    let limited =
        [publish(eve, followers()).await, publish(eve, followers()).await, publish(eve, followers()).await];
    let of_blocker = publish(bob, json!({})).await;
    let (referred, plain) = (publish(ada, json!({})).await, publish(ada, json!({})).await);
    for kind in ["inReplyTo", "quoteOf"] {
        publish(eve, json!({ kind: referred, "visibility": "FOLLOWERS" })).await;
    }
    let repost =
        format!("mutation {{ repost(input: {{ postId: \"{referred}\" }}) {{ userErrors {{ code }} }} }}");
    world.data(Some(&eve.token), &repost, Value::Null).await;
    let (closed, gone) = (publish(eve, json!({})).await, publish(eve, json!({})).await);
    let reply_to_hidden = publish(ada, json!({ "inReplyTo": closed })).await;
    let reply_to_nothing = publish(ada, json!({ "inReplyTo": gone })).await;
    delete(world, eve, &gone).await;
    let private = "mutation { updateProfile(input: { isPrivate: true }) { userErrors { code } } }";
    world.data(Some(&eve.token), private, Value::Null).await;
    Posts { limited, of_blocker, referred, plain, reply_to_hidden, reply_to_nothing }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_hidden_is_answered_and_charged_as_what_does_not_exist() {
    let database = Database::new(Kind::Sqlite).await;
    let world = World::with_archive(&database, &["--graphql-rate-limit", "1000000"]).await;
    let people = [world.register("ada").await, world.register("bob").await, world.register("eve").await];
    let [sam, dan] = [world.register("sam").await, world.register("dan").await];
    // A user without posts, whose account is private, too.
    let fay = world.register("fay").await;
    let posts = posts(&world, &people).await;
    let private = "mutation { updateProfile(input: { isPrivate: true }) { userErrors { code } } }";
    world.data(Some(&fay.token), private, Value::Null).await;
    let block =
        format!("mutation {{ block(input: {{ userId: \"{}\" }}) {{ userErrors {{ code }} }} }}", dan.id);
    world.data(Some(&people[1].token), &block, Value::Null).await;
    // The tombstone in Redis expires once the archive has the deletion.
    let gone: Vec<String> = world.redis.raw(&["KEYS", "ff:{p*}:post"]);
    for key in gone {
        if world.redis.raw::<bool>(&["HEXISTS", &key, "deleted"]) {
            world.redis.raw::<i64>(&["DEL", &key]);
        }
    }

    let missing = |number: u64| global("Post", NO_ONE + number);
    let fields = "content author { username relation { status } }";
    let post = |id: &str| format!("{{ post(id: \"{id}\") {{ {fields} }} }}");
    let node = |id: &str| format!("{{ node(id: \"{id}\") {{ ... on Post {{ {fields} }} }} }}");
    let nodes = |ids: [&str; 3]| {
        format!("{{ nodes(ids: [{}]) {{ id }} }}", ids.map(|id| format!("\"{id}\"")).join(" "))
    };
    let list = |id: &str, list: &str| {
        format!(
            "{{ post(id: \"{id}\") {{ {list} {{ edges {{ cursor }} nodes {{ id }} pageInfo {{ hasNextPage hasPreviousPage startCursor endCursor }} }} replyCount quoteCount repostCount }} }}"
        )
    };
    let above =
        |id: &str| format!("{{ post(id: \"{id}\") {{ isReply inReplyTo {{ id }} ancestors {{ id }} }} }}");
    let of_user = |name: &str| {
        format!(
            "{{ user(by: {{ username: \"{name}\" }}) {{ posts(first: 3) {{ totalCount nodes {{ id }} pageInfo {{ endCursor hasNextPage }} }} }} }}"
        )
    };
    let user = |name: &str| {
        format!("{{ user(by: {{ username: \"{name}\" }}) {{ displayName followers {{ totalCount }} }} }}")
    };
    let user_of = |id: &str| format!("{{ user(by: {{ id: \"{id}\" }}) {{ displayName }} }}");
    let change = |mutation: &str, id: &str| {
        format!(
            "mutation {{ {mutation}(input: {{ postId: \"{id}\" }}) {{ userErrors {{ code field message }} }} }}"
        )
    };

    let limited = posts.limited.each_ref().map(String::as_str);
    let none = [missing(0), missing(1), missing(2)];
    let none = none.each_ref().map(String::as_str);
    for viewer in [None, Some(&sam), Some(&dan)] {
        let token = viewer.map(|viewer| viewer.token.as_str());
        for [hidden, nothing] in [
            [post(limited[0]), post(none[0])],
            [node(limited[0]), node(none[0])],
            [nodes(limited), nodes(none)],
            [above(&posts.reply_to_hidden), above(&posts.reply_to_nothing)],
            [of_user("eve"), of_user("fay")],
        ] {
            compare(&world, token, [&hidden, &nothing], false).await;
        }
        for field in ["replies", "replies(order: NEWEST)", "replies(last: 2)", "quotes", "repostedBy"] {
            let [hidden, nothing] = [&posts.referred, &posts.plain].map(|id| list(id, field));
            compare(&world, token, [&hidden, &nothing], true).await;
        }
    }
    // The user who is blocked finds nothing of the one who blocks.
    let token = Some(dan.token.as_str());
    let (bob, no_one) = (people[1].id.as_str(), global("User", NO_ONE));
    for [hidden, nothing] in [
        [post(&posts.of_blocker), post(none[0])],
        [user("bob"), user("nobody")],
        [user_of(bob), user_of(&no_one)],
    ] {
        compare(&world, token, [&hidden, &nothing], false).await;
    }
    for mutation in ["repost", "deletePost", "like", "unlike", "bookmark", "removeBookmark"] {
        let [hidden, nothing] = [limited[0], none[0]].map(|id| change(mutation, id));
        compare(&world, Some(sam.token.as_str()), [&hidden, &nothing], false).await;
    }
}

/// A cursor of the list of a post's likes, as anyone can make it up.
fn cursor_at(post: u64, Like { number, member }: Like) -> String {
    let position = [post.to_be_bytes(), number.to_be_bytes(), member.get().to_be_bytes()];
    base64([&[1, 20][..], &position.concat()].concat())
}

/// Positions around that of a like.
fn around(like: Like) -> [Like; 4] {
    let [before, after] =
        [-1, 1].map(|step| UserId::new(like.member.get().checked_add_signed(step).unwrap()).unwrap());
    [
        Like { member: before, ..like },
        like,
        Like { member: after, ..like },
        Like { member: UserId::MAX, ..like },
    ]
}

async fn make_private(world: &World, person: &Person) {
    let private = "mutation { updateProfile(input: { isPrivate: true }) { userErrors { code } } }";
    world.data(Some(&person.token), private, Value::Null).await;
}

/// Two users whom a viewer may not see like a post, one among the newest and one among all others, where a cursor at
/// their place could ask for them.
#[tokio::test]
async fn a_hidden_like_leaves_no_trace_even_to_those_who_make_cursors_up() {
    let database = Database::new(Kind::Sqlite).await;
    let options = ["--graphql-rate-limit", "1000000", "--post-hot-limit", "1"];
    let world = World::with_archive(&database, &options).await;
    let [ada, sam] = [world.register("ada").await, world.register("sam").await];
    let likers = world.people(135).await;
    let id = publish(&world, &ada, "x").await;
    // The user 3 is the first of the likers.
    let hidden = [(1, UserId::new(4).unwrap()), (130, UserId::new(133).unwrap())];
    for (index, _) in hidden {
        make_private(&world, &likers[index]).await;
    }
    for liker in &likers {
        world.change(liker, "like(input: { postId: $id })", &id).await;
    }
    for is_archived in [false, true] {
        let positions = hidden.into_iter().flat_map(|(index, member)| {
            let is_newest = index > 128;
            let numbered = Like { number: index as i64 + 1, member };
            around(if is_newest { numbered } else { like::unnumbered(member) })
        });
        let mut queries = Vec::new();
        for position in positions {
            let cursor = cursor_at(1, position);
            for window in ["first: 2, after", "last: 2, before"] {
                queries.push(format!(
                    "{{ post(id: \"{id}\") {{ likedBy({window}: \"{cursor}\") {{ edges {{ cursor node {{ username }} }}
                        pageInfo {{ hasNextPage hasPreviousPage startCursor endCursor }} }} }} }}"
                ));
            }
        }
        for viewer in [Some(&sam), None] {
            let token = viewer.map(|viewer| viewer.token.as_str());
            let mut taken = Vec::new();
            for mutation in ["like(input: { postId: $id })", "unlike(input: { postId: $id })"] {
                for (index, _) in hidden {
                    world.change(&likers[index], mutation, &id).await;
                }
                let mut measured = Vec::new();
                for query in &queries {
                    measured.push(measure(&world, token, query).await.0);
                }
                taken.push(measured);
            }
            let without = taken.pop().unwrap();
            for ((query, with), without) in queries.iter().zip(taken.pop().unwrap()).zip(without) {
                assert_eq!(with, without, "{query}, archived: {is_archived}");
                let nodes = with.answer["data"]["post"]["likedBy"]["edges"].as_array().unwrap();
                assert!(!nodes.is_empty(), "{query}: {}", with.answer);
            }
        }
        publish(&world, &ada, "newer").await;
        archive_all(&world.app).await;
    }
}

/// More users than a page looks at are hidden.
#[tokio::test]
async fn no_cursor_is_the_position_of_a_hidden_like() {
    let world = World::new().await;
    let [ada, sam] = [world.register("ada").await, world.register("sam").await];
    let likers = world.people(125).await;
    let id = publish(&world, &ada, "x").await;
    for (index, liker) in likers.iter().enumerate() {
        if (1..124).contains(&index) {
            make_private(&world, liker).await;
        }
        world.change(liker, "like(input: { postId: $id })", &id).await;
    }
    for (window, place) in [("first: 2, after", "endCursor"), ("last: 2, before", "startCursor")] {
        let (mut found, mut pages, mut from) = (Vec::new(), 0, Value::Null);
        loop {
            let query = format!(
                "query ($id: ID!, $from: String) {{ post(id: $id) {{ likedBy({window}: $from) {{
                    nodes {{ username }} pageInfo {{ hasNextPage hasPreviousPage {place} }} }} }} }}"
            );
            let data = world.data(Some(&sam.token), &query, json!({ "id": id, "from": from })).await;
            let page = &data["post"]["likedBy"];
            found.extend(page["nodes"].as_array().unwrap().iter().map(|node| node["username"].clone()));
            from = page["pageInfo"][place].clone();
            pages += 1;
            for number in 2..125 {
                let hidden = Like { number, member: UserId::new(number.unsigned_abs() + 2).unwrap() };
                assert_ne!(from, cursor_at(1, hidden), "the like {number} is hidden");
            }
            let more = if place == "endCursor" { "hasNextPage" } else { "hasPreviousPage" };
            if page["pageInfo"][more] == false {
                break;
            }
        }
        found.sort_by_key(Value::to_string);
        assert_eq!((json!(found), pages), (json!(["ann0", "ann124"]), 2), "{window}");
    }
}
