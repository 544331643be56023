//! The floor's responses, in the order of the queries' fields.

use std::collections::HashMap;

use fanfold::model::id::{PostId, UserId};
use serde::Serialize;

use crate::floor::store::{Commands, Post, Profile, Status};

#[derive(Serialize)]
struct Answer<T> {
    data: T,
}

#[derive(Serialize)]
struct Nodes<T> {
    nodes: Vec<T>,
}

#[derive(Serialize)]
struct KeyRead<'a> {
    user: Option<Target<'a>>,
}

#[derive(Serialize)]
struct Target<'a> {
    followers: Nodes<Follower<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Follower<'a> {
    username: &'a str,
    display_name: &'a str,
    relation: Option<Relation>,
}

#[derive(Serialize)]
struct Relation {
    status: Status,
}

#[derive(Serialize)]
struct Feed<'a> {
    viewer: Viewer<'a>,
}

#[derive(Serialize)]
struct Viewer<'a> {
    timeline: Nodes<Entry<'a>>,
}

#[derive(Serialize)]
struct Entry<'a> {
    content: &'a str,
    author: Author<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Author<'a> {
    username: &'a str,
    display_name: &'a str,
    relation: Option<Relation>,
    posts: Nodes<Said<'a>>,
}

#[derive(Serialize)]
struct Said<'a> {
    content: &'a str,
}

/// Returns the relation to a user; `None` for the viewer.
fn relation(viewer: UserId, user: UserId, status: Status) -> Option<Relation> {
    (user != viewer).then_some(Relation { status })
}

fn print<T: Serialize>(data: T) -> String {
    serde_json::to_string(&Answer { data }).unwrap()
}

/// Answers the key read, in three round trips.
pub(super) async fn followers(store: &impl Commands, viewer: UserId, username: &str) -> String {
    let Some(target) = store.holder(username).await else { return print(KeyRead { user: None }) };
    let followers = store.followers(target).await;
    let profiles = match &followers[..] {
        [] => Vec::new(),
        followers => store.profiles(viewer, followers).await,
    };
    let nodes =
        followers.iter().zip(&profiles).map(|(user, profile)| follower(viewer, *user, profile)).collect();
    print(KeyRead { user: Some(Target { followers: Nodes { nodes } }) })
}

fn follower(viewer: UserId, user: UserId, profile: &Profile) -> Follower<'_> {
    let Profile { username, display_name, status } = profile;
    Follower { username, display_name, relation: relation(viewer, user, *status) }
}

/// Answers the nested feed, in five round trips, or six if the watermark must be read.
pub(super) async fn timeline(store: &impl Commands, viewer: UserId) -> String {
    store.watermark().await;
    let page = store.timeline(viewer).await;
    let posts: Vec<Post> = store.posts(&page).await.into_iter().flatten().collect();
    let mut authors: Vec<UserId> = posts.iter().map(|post| post.author).collect();
    authors.sort_unstable();
    authors.dedup();
    let profiles: HashMap<UserId, Profile> =
        authors.iter().copied().zip(store.profiles(viewer, &authors).await).collect();
    let is_visible = |post: &&Post| post.author == viewer || profiles[&post.author].status.is_followed();
    let visible: Vec<&Post> = posts.iter().filter(is_visible).take(20).collect();
    authors.retain(|author| visible.iter().any(|post| post.author == *author));
    let pages = store.posts_of(&authors).await;
    let ids: Vec<PostId> = pages.iter().flatten().copied().collect();
    let mut latest = store.posts(&ids).await.into_iter();
    let latest: HashMap<UserId, Vec<Post>> = authors
        .iter()
        .zip(&pages)
        .map(|(author, page)| (*author, latest.by_ref().take(page.len()).flatten().collect()))
        .collect();
    let nodes = visible.into_iter().map(|post| entry(viewer, post, &profiles, &latest)).collect();
    print(Feed { viewer: Viewer { timeline: Nodes { nodes } } })
}

fn entry<'a>(
    viewer: UserId,
    post: &'a Post,
    profiles: &'a HashMap<UserId, Profile>,
    latest: &'a HashMap<UserId, Vec<Post>>,
) -> Entry<'a> {
    let Profile { username, display_name, status } = &profiles[&post.author];
    let relation = relation(viewer, post.author, *status);
    let nodes = latest[&post.author].iter().map(|post| Said { content: &post.content }).collect();
    Entry {
        content: &post.content,
        author: Author { username, display_name, relation, posts: Nodes { nodes } },
    }
}
