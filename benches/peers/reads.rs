//! The reads that are measured.

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Value, json};

use crate::world::World;

/// Name of the user whose followers the key read returns.
pub(crate) const TARGET: &str = "ada";

/// Query of [`Read::Key`].
pub(crate) const KEY: &str = r#"{ user(by: { username: "ada" }) { followers(first: 50) { nodes { username displayName relation { status } } } } }"#;

/// Query of [`Read::Feed`].
pub(crate) const FEED: &str = "{ viewer { timeline(first: 20) { nodes { content author { username displayName relation { status } posts(first: 3) { nodes { content } } } } } } }";

/// Query of [`Read::Popular`].
pub(crate) const POPULAR: &str = "query ($username: String!) { user(by: { username: $username }) { followers(first: 50) { nodes { username displayName relation { status } } } } }";

/// A query that every server answers in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Read {
    /// A page of followers, each with the relation to the viewer.
    Key,
    /// The viewer's timeline, with each author's relation to the viewer and newest posts.
    Feed,
    /// The key read of many users, of whom a few are read most often, while other clients change profiles.
    Popular,
}

impl Read {
    pub(crate) const ALL: [Self; 3] = [Self::Key, Self::Feed, Self::Popular];
    /// The reads that always have the same response.
    pub(crate) const FIXED: [Self; 2] = [Self::Key, Self::Feed];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Key => "key read",
            Self::Feed => "nested feed",
            Self::Popular => "key read of popular users",
        }
    }

    pub(crate) fn query(self) -> &'static str {
        match self {
            Self::Key => KEY,
            Self::Feed => FEED,
            Self::Popular => POPULAR,
        }
    }

    /// Returns the read as HTTP requests by the world's viewer, in the order in which they are sent.
    pub(crate) fn requests(self, world: &World) -> Vec<Vec<u8>> {
        let World { token, names, draws, .. } = world;
        match self {
            Self::Key | Self::Feed => vec![request(token, &json!({ "query": self.query() }))],
            Self::Popular => {
                let body = |name: &String| json!({ "query": POPULAR, "variables": { "username": name } });
                popular(names, *draws).map(|name| request(token, &body(name))).collect()
            }
        }
    }

    /// Returns true if profiles change while the read is measured.
    pub(crate) fn has_writes(self) -> bool {
        self == Self::Popular
    }
}

/// Draws `count` names, whose probability is inversely proportional to their position: Zipf's law with exponent 1.
fn popular(names: &[String], count: usize) -> impl Iterator<Item = &String> {
    #[allow(clippy::cast_precision_loss, reason = "there are few names")]
    let weights = (1..=names.len()).map(|rank| 1.0 / rank as f64);
    let sums = weights.scan(0.0, |sum, weight| {
        *sum += weight;
        Some(*sum)
    });
    let sums: Vec<f64> = sums.collect();
    let mut rng = StdRng::seed_from_u64(4);
    (0..count).map(move |_| {
        let drawn = rng.random::<f64>() * sums.last().unwrap();
        &names[sums.partition_point(|sum| *sum < drawn).min(names.len() - 1)]
    })
}

fn request(token: &str, body: &Value) -> Vec<u8> {
    let body = body.to_string();
    format!(
        "POST /graphql HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}
