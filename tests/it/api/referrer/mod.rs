//! The lists of posts that refer to a post, against a naive model: random worlds in which users and moderators hide posts, and
//! show them again, while posts are hot, and after they were archived.

mod model;
mod play;

use fanfold::app::post::NewPost;
use fanfold::model::clock::Clock as _;
use fanfold::model::details::{References, Reply};
use fanfold::model::id::PostId;
use fanfold::model::moderation::ActionNote;
use fanfold::model::moderator::Moderator;
use fanfold::model::post::{Content, Visibility};
use serde_json::{Value, json};

use crate::api::referrer::play::Play;
use crate::harness::case::{self, cases};
use crate::harness::post::{post, try_publish};
use crate::harness::sql::{Database, Kind, on_every_kind};
use crate::harness::world::{Person, World, user_of};

/// Plays random worlds. A post is archived when its author has two newer ones.
async fn every_viewer_sees_the_referrers_that_a_naive_model_says(kind: Kind) {
    for number in 0..u64::from(cases(20).min(if kind == Kind::Sqlite { 20 } else { 1 })) {
        let database = Database::new(kind).await;
        let mut play = Play::new(&database, case::seed(number)).await;
        for _ in 0..4 {
            play.round(25).await;
        }
        play.finish().await;
    }
}

on_every_kind! {
    every_viewer_sees_the_referrers_that_a_naive_model_says;
}

/// Makes an account private, or public.
async fn set_private(world: &World, person: &Person, is_private: bool) -> Value {
    let query = "mutation ($is: Boolean) { updateProfile(input: { isPrivate: $is }) {
        userErrors { code field } } }";
    let data = world.data(Some(&person.token), query, json!({ "is": is_private })).await;
    data["updateProfile"]["userErrors"].clone()
}

#[tokio::test]
async fn the_entries_of_all_posts_of_an_account_follow_it() {
    const POSTS: u64 = 1_200;
    let world = World::new().await;
    let people = world.people(2).await;
    let target = try_publish(&world, &people[0], json!({})).await.unwrap();
    let author = user_of(&world, &people[1]).await;
    let reply = NewPost {
        author,
        content: Content::parse("x").unwrap(),
        platform: None,
        visibility: Visibility::Public,
        references: References {
            reply: Some(Reply::to(PostId::new(1).unwrap(), None)),
            ..References::default()
        },
        created_at: world.clock.now(),
    };
    world.app.import_posts(&vec![reply; usize::try_from(POSTS).unwrap()]).await.unwrap();
    let expect = async |count: u64, lists: [u64; 3]| {
        assert_eq!(post(&world, &people[0], &target, "replyCount").await["replyCount"], count);
        let keys = ["ff:{p1}:replies", "ff:{p1}:replies:limited", "ff:{p1}:replies:withheld"];
        assert_eq!(keys.map(|key| world.redis.raw::<u64>(&["LLEN", key])), lists);
        assert_eq!(world.redis.raw::<u64>(&["ZCARD", "ff:{g}:account:jobs"]), 0);
    };
    expect(POSTS, [POSTS, 0, 0]).await;
    set_private(&world, &people[1], true).await;
    expect(0, [0, POSTS, 0]).await;
    let by = &Moderator::Operator;
    world.app.suspend_user(by, author, ActionNote::default()).await.unwrap();
    expect(0, [0, 0, POSTS]).await;
    world.app.unsuspend_user(by, author, ActionNote::default()).await.unwrap();
    expect(0, [0, POSTS, 0]).await;
}

#[tokio::test]
async fn an_account_becomes_private_or_public_ten_times_a_day() {
    let world = World::new().await;
    let person = world.register("ada").await;
    for number in 0..10 {
        assert_eq!(set_private(&world, &person, number % 2 == 0).await, json!([]), "{number}");
        // A request that leaves the account as it is does not count.
        assert_eq!(set_private(&world, &person, number % 2 == 0).await, json!([]), "{number}");
    }
    let query = "mutation { updateProfile(input: { isPrivate: true }) { userErrors { code } } }";
    let response = world.ask(Some(&person.token), query, Value::Null).await;
    assert!(response.to_string().contains("THROTTLED"), "{response}");
    world.clock.advance(std::time::Duration::from_hours(3));
    assert_eq!(set_private(&world, &person, true).await, json!([]));
}
