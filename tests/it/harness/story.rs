//! Users who follow each other and publish, the same on every server.

use serde_json::json;

use crate::harness::feed::{follow, publish, wait_for_timeline};
use crate::harness::server::Server;

/// Number of users in the story.
pub(crate) const USERS: usize = 9;

/// Returns the name of a user.
pub(crate) fn name(user: usize) -> String {
    format!("user{user}")
}

/// Returns true if the first user follows the second, in the story.
pub(crate) fn follows(one: usize, other: usize) -> bool {
    one != other && (one * 7 + other * 3) % 4 < 2
}

/// Registers users who follow each other and publish, and returns their tokens. Returns once their posts are delivered.
pub(crate) async fn story(server: &Server) -> Vec<String> {
    let tokens: Vec<String> = (0..USERS).map(|user| server.token(&name(user))).collect();
    for (one, token) in tokens.iter().enumerate() {
        for other in (0..USERS).filter(|other| follows(one, *other)) {
            follow(server, token, &name(other));
        }
    }
    for number in 0..3 {
        for (user, token) in tokens.iter().enumerate() {
            let post = publish(server, token, &format!("post {number} of {}", name(user)));
            if (number + user) % 5 == 0 {
                let query = format!(
                    "mutation {{ deletePost(input: {{ postId: \"{post}\" }}) {{ userErrors {{ code }} }} }}"
                );
                assert_eq!(server.ask_as(token, &query)["data"]["deletePost"]["userErrors"], json!([]));
            }
        }
    }
    for (user, token) in tokens.iter().enumerate() {
        wait_for_timeline(server, token, &expected_timeline(user)).await;
    }
    tokens
}

/// Returns the posts that a user's timeline contains in the end, newest first.
pub(crate) fn expected_timeline(user: usize) -> Vec<String> {
    let mut posts = Vec::new();
    for number in 0..3 {
        for author in (0..USERS).filter(|author| *author == user || follows(user, *author)) {
            if (number + author) % 5 != 0 {
                posts.push(format!("post {number} of {}", name(author)));
            }
        }
    }
    posts.reverse();
    posts
}
