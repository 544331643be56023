//! The reads that are measured.

use serde_json::json;

/// Name of the user whose followers the key read returns.
pub(crate) const TARGET: &str = "ada";

/// Query of [`Read::Key`].
pub(crate) const KEY: &str = r#"{ user(by: { username: "ada" }) { followers(first: 50) { nodes { username displayName relation { status } } } } }"#;

/// Query of [`Read::Feed`].
pub(crate) const FEED: &str = "{ viewer { timeline(first: 20) { nodes { content author { username displayName relation { status } posts(first: 3) { nodes { content } } } } } } }";

/// A query that every server answers in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Read {
    /// A page of followers, each with the relation to the viewer.
    Key,
    /// The viewer's timeline, with each author's relation to the viewer and newest posts.
    Feed,
}

impl Read {
    pub(crate) const ALL: [Self; 2] = [Self::Key, Self::Feed];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Key => "key read",
            Self::Feed => "nested feed",
        }
    }

    pub(crate) fn query(self) -> &'static str {
        match self {
            Self::Key => KEY,
            Self::Feed => FEED,
        }
    }

    /// Returns the read as an HTTP request with a session token.
    pub(crate) fn request(self, token: &str) -> Vec<u8> {
        let body = json!({ "query": self.query() }).to_string();
        format!(
            "POST /graphql HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )
        .into_bytes()
    }
}
