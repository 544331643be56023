//! Texts that users enter: visible and invisible characters, and characters that change the direction.

use serde_json::{Value, json};

use crate::harness::world::{Person, World};

const PUBLISH: &str = "mutation ($text: String!) { result: publish(input: { content: $text }) {
    post { content segments { text ... on MentionSegment { user { username } } } }
    userErrors { code message limit } } }";
const EDIT: &str =
    "mutation ($id: ID!, $text: String!) { result: editPost(input: { postId: $id, content: $text }) {
    post { content } userErrors { code message limit } } }";
const RENAME: &str = "mutation ($text: String!) { result: updateProfile(input: { displayName: $text }) {
    viewer { user { displayName } } userErrors { code message limit } } }";
const DESCRIBE: &str = "mutation ($text: String!) { result: updateProfile(input: { bio: $text }) {
    viewer { user { displayName bio } } userErrors { code message limit } } }";
const REPORT: &str = "mutation ($id: ID!, $text: String!) {
    result: report(input: { target: { userId: $id }, reason: $text }) { userErrors { code message limit } } }";

/// Sends a mutation with a text, and the id of an object if it takes one.
async fn send(world: &World, user: &Person, mutation: &str, id: &str, text: &str) -> Value {
    let variables =
        if mutation.contains("$id") { json!({ "id": id, "text": text }) } else { json!({ "text": text }) };
    world.data(Some(&user.token), mutation, variables).await["result"].take()
}

fn too_short(subject: &str) -> Value {
    let message = format!("{subject} has at least 1 visible character.");
    json!([{ "code": "TOO_SHORT", "message": message, "limit": 1 }])
}

fn invalid(subject: &str, fault: &str) -> Value {
    let message = format!("{subject} must not contain {fault}.");
    json!([{ "code": "INVALID", "message": message, "limit": null }])
}

#[tokio::test]
async fn texts_that_must_not_be_empty_have_a_visible_character() {
    let world = World::new().await;
    let people = world.people(2).await;
    let (ann, other) = (&people[0], people[1].id.as_str());
    let post = world.data(
        Some(&ann.token),
        "mutation { publish(input: { content: \"a\" }) { post { id } } }",
        Value::Null,
    );
    let post = post.await["publish"]["post"]["id"].as_str().unwrap().to_owned();
    let invisible =
        "\u{3164}\u{2800}\u{61C}\u{34F}\u{115F}\u{1160}\u{FFA0}\u{17B4}\u{180E}\u{FE0F}\u{FFF9}\u{1D173}";
    let texts = invisible.chars().map(String::from).chain([format!("\u{2068}{invisible} \u{2069}")]);
    for text in texts {
        for (mutation, id, subject) in [
            (PUBLISH, "", "The content of a post"),
            (EDIT, post.as_str(), "The content of a post"),
            (RENAME, "", "A display name"),
            (REPORT, other, "A reason"),
        ] {
            let result = send(&world, ann, mutation, id, &text).await;
            assert_eq!(result["userErrors"], too_short(subject), "{text:?}");
        }
        let result = send(&world, ann, DESCRIBE, "", &text).await;
        assert_eq!(result["userErrors"], json!([]), "a bio may be empty");
    }
    let text = "\u{2800}\u{200B}a\u{3164}b";
    assert_eq!(send(&world, ann, PUBLISH, "", text).await["post"]["content"], text);
    assert_eq!(send(&world, ann, EDIT, &post, text).await["post"]["content"], text);
    assert_eq!(send(&world, ann, REPORT, other, text).await["userErrors"], json!([]));
}

#[tokio::test]
async fn names_that_look_the_same_are_the_same() {
    let world = World::new().await;
    let ann = world.register("ann").await;
    for (text, fault) in [
        ("an\u{200B}n", "U+200B (invisible character)"),
        ("ann\u{3164}", "U+3164 (invisible character)"),
        ("an\u{200D}n", "U+200D (zero width joiner) outside emoji and letters that it joins"),
        ("ann\u{FE0F}", "U+FE0F (variation selector) after a character that has no such variant"),
        ("\u{2068}ann\u{2069}", "U+2068 (first strong isolate)"),
        ("ann\u{202E}", "U+202E (right-to-left override)"),
        ("an\nn", "U+000A (line break)"),
    ] {
        let result = send(&world, &ann, RENAME, "", text).await;
        assert_eq!(result["userErrors"], invalid("A display name", fault), "{text:?}");
    }
    for name in ["Ann ❤️‍🔥 👩🏽‍🦰 1️⃣", "🏴󠁧󠁢󠁳󠁣󠁴󠁿", "علی\u{200C}رضا", "ශ්\u{200D}රී", "葛\u{E0100}城"]
    {
        let renamed = json!({ "viewer": { "user": { "displayName": name } }, "userErrors": [] });
        assert_eq!(send(&world, &ann, RENAME, "", name).await, renamed);
    }
}

#[tokio::test]
async fn texts_of_other_versions_stay() {
    let world = World::new().await;
    let people = world.people(2).await;
    world.redis.raw::<u64>(&["HSET", "ff:{u1}:user", "display_name", "\u{3164}"]);
    let described =
        json!({ "viewer": { "user": { "displayName": "\u{3164}", "bio": "b" } }, "userErrors": [] });
    assert_eq!(send(&world, &people[0], DESCRIBE, "", "b").await, described);
}

#[tokio::test]
async fn a_text_contains_isolates_that_end_in_their_paragraph() {
    let world = World::new().await;
    let people = world.people(2).await;
    let ann = &people[0];
    let text = "With \u{2068}@ann1\u{2069}\nand \u{2067}ש\u{2066}a\u{2069}\u{2069}";
    let result = send(&world, ann, PUBLISH, "", text).await;
    assert_eq!(result["post"]["content"], text);
    assert_eq!(result["post"]["segments"][1], json!({ "text": "@ann1", "user": { "username": "ann1" } }));
    assert_eq!(send(&world, ann, DESCRIBE, "", text).await["viewer"]["user"]["bio"], text);
    let unclosed = "without U+2069 (pop directional isolate) in the same paragraph";
    for (text, fault) in [
        ("a\u{2068}b".to_owned(), format!("U+2068 (first strong isolate) {unclosed}")),
        ("a\u{2067}b\nc\u{2069}".to_owned(), format!("U+2067 (right-to-left isolate) {unclosed}")),
        (
            "a\u{2069}b".to_owned(),
            "U+2069 (pop directional isolate) without an isolate that it ends".to_owned(),
        ),
        ("a\u{202E}b".to_owned(), "U+202E (right-to-left override)".to_owned()),
        ("a\u{202A}b\u{202C}".to_owned(), "U+202A (left-to-right embedding)".to_owned()),
        (
            format!("a{}{}", "\u{2066}".repeat(126), "\u{2069}".repeat(126)),
            "U+2066 (left-to-right isolate) within 125 other isolates".to_owned(),
        ),
        ("a\u{7}b".to_owned(), "U+0007 (control character)".to_owned()),
    ] {
        for (mutation, subject) in [(PUBLISH, "The content of a post"), (DESCRIBE, "A bio")] {
            let result = send(&world, ann, mutation, "", &text).await;
            assert_eq!(result["userErrors"], invalid(subject, &fault), "{text:?}");
        }
    }
}
