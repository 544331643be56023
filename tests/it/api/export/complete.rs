//! Exports are complete against a naive model, wherever the download is cut.

use std::collections::{BTreeMap, BTreeSet};

use fanfold::app::account::export::position::Section;
use fanfold::model::clock::Clock as _;
use fanfold::model::id::PostId;
use fanfold::store::batch::Batch;
use fanfold::store::ordered::{self, ORDERED};
use rand::RngExt as _;
use serde_json::Value;

use crate::api::export::random::Random;
use crate::api::export::{download, export, parse};
use crate::harness::case;
use crate::harness::world::{World, archive_all, user_of};

/// Returns the lines without their cursors and without the progress of deliveries, which the model does not have.
fn plain(lines: &[Value]) -> Vec<Value> {
    let strip = |line: &Value| {
        let mut line = line.clone();
        let fields = line.as_object_mut().unwrap();
        fields.remove("cursor");
        fields.remove("delivery");
        line
    };
    lines.iter().map(strip).collect()
}

/// Returns the lines of these types in a canonical order.
fn sorted(lines: &[Value]) -> Vec<String> {
    let mut lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    lines.sort();
    lines
}

/// Returns the lines that are about lists and posts. The first ones are about the account and its sessions.
fn of_model(lines: &[Value]) -> Vec<Value> {
    let is_own = |line: &&Value| !["account", "session", "end"].contains(&line["type"].as_str().unwrap());
    plain(lines).iter().filter(is_own).cloned().collect()
}

/// Returns what identifies a line: its type, and its object.
fn key(line: &Value) -> String {
    format!("{} {}{}{}", line["type"], line["id"], line["userId"], line["postId"])
}

/// Returns the complete lines of a text.
fn complete(text: &str) -> &str {
    &text[..text.rfind('\n').map_or(0, |end| end + 1)]
}

/// Returns the types of the lines, in order.
fn types() -> Vec<&'static str> {
    Section::ALL.into_iter().map(|section| section.records().0).chain(["end"]).collect()
}

#[tokio::test]
async fn an_export_is_complete_against_the_naive_model_wherever_it_is_cut() {
    // A world that has lines of each type, which one drawn anew need not have.
    let mut random = Random::grow(1).await;
    let world = &random.world;
    assert!(world.app.archived_count().await.unwrap() > 50, "most posts are archived");
    let path = export(world, &random.owner).await;
    let whole = download(world, &path, None).await;
    let lines = parse(&whole);
    assert_eq!(sorted(&of_model(&lines)), sorted(&random.expected()));
    let types = types();
    for kind in &types {
        assert!(lines.iter().any(|line| line["type"] == *kind), "there is no {kind}");
    }
    for kind in ["following", "follower", "post"] {
        assert!(lines.iter().filter(|line| line["type"] == kind).count() > 100, "several pages of {kind}");
    }
    let order: Vec<usize> =
        lines.iter().map(|line| types.iter().position(|kind| line["type"] == *kind).unwrap()).collect();
    assert!(order.is_sorted(), "{order:?}");
    assert_eq!(whole.lines().last(), Some("{\"type\":\"end\"}"));
    // Cut anywhere, the download continues with the next line.
    for _ in 0..40 {
        let end = random.rng.random_range(whole.find('\n').unwrap() + 1..whole.len());
        let end = (0..=end).rev().find(|end| whole.is_char_boundary(*end)).unwrap();
        let had = complete(&whole[..end]);
        let last = parse(had).pop().unwrap();
        let rest = download(world, &path, Some(last["cursor"].as_str().unwrap())).await;
        assert_eq!(format!("{had}{rest}"), whole);
    }
}

#[tokio::test]
async fn nothing_that_exists_throughout_is_missing_or_twice_while_others_are_added() {
    let mut random = Random::grow(case::seed(2)).await;
    let before: BTreeMap<String, Value> =
        random.expected().into_iter().map(|line| (key(&line), line)).collect();
    let path = export(&random.world, &random.owner).await;
    let (mut text, mut after) = (String::new(), None::<String>);
    loop {
        let rest = download(&random.world, &path, after.as_deref()).await;
        if text.len() > 60_000 {
            text.push_str(&rest);
            break;
        }
        let end = random.rng.random_range(0..6_000.min(rest.len()));
        let end = (0..=end).rev().find(|end| rest.is_char_boundary(*end)).unwrap();
        text.push_str(complete(&rest[..end]));
        after = parse(&text).pop().map(|line| line["cursor"].as_str().unwrap().to_owned());
        for _ in 0..8 {
            random.act().await;
        }
        for _ in 0..3 {
            random.publish().await;
        }
        archive_all(&random.world.app).await;
    }
    let lines = of_model(&parse(&text));
    let expected: BTreeMap<String, Value> =
        random.expected().into_iter().map(|line| (key(&line), line)).collect();
    let mut found = BTreeMap::new();
    for line in lines {
        assert_eq!(found.insert(key(&line), line.clone()), None, "twice: {line}");
    }
    let throughout = before.iter().filter(|(key, line)| expected.get(*key) == Some(line));
    let missing: Vec<_> = throughout.filter(|(key, line)| found.get(*key) != Some(line)).collect();
    assert_eq!(missing, Vec::<(&String, &Value)>::new());
}

#[tokio::test]
async fn likes_whose_times_are_forgotten_are_exported_too() {
    const COUNT: u64 = 6_000;
    let world = World::new().await;
    let owner = world.register("ada").await;
    let (store, user) = (world.app.store(), user_of(&world, &owner).await);
    let (liked, bucket) = (store.keys().liked(user), store.keys().reactions_of(user));
    let mut batch = Batch::new("test");
    let like = |post| {
        let post = PostId::new(post).unwrap();
        batch.push(ordered::add(&liked, post, world.clock.now(), None, &bucket, None))
    };
    let tickets = (1..=COUNT).map(like).collect();
    batch.send(store).await.unwrap().take_all(tickets).unwrap();
    let path = export(&world, &owner).await;
    let whole = download(&world, &path, None).await;
    let lines = parse(&whole);
    let likes: Vec<&Value> = lines.iter().filter(|line| line["type"] == "like").collect();
    let timed = likes.iter().filter(|line| !line["since"].is_null()).count();
    assert_eq!((likes.len() as u64, timed), (COUNT, ORDERED));
    let posts: BTreeSet<&str> = likes.iter().map(|line| line["postId"].as_str().unwrap()).collect();
    assert_eq!(posts.len() as u64, COUNT);
    for number in [0, 99, 4_998, 4_999, 5_000, 5_001, 5_100, 5_551, 5_999] {
        let cursor = likes[number]["cursor"].as_str().unwrap();
        let rest = download(&world, &path, Some(cursor)).await;
        assert!(whole.ends_with(&rest) && rest.lines().count() == COUNT as usize - number, "{number}");
    }
}
