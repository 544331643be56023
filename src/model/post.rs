//! Posts, and the rules for their content.
//!
//! Not here: the timelines that a post appears in (`app::timeline`), and how it is delivered
//! (`app::delivery`).

use crate::model::clock::Timestamp;
use crate::model::digest::Digest;
use crate::model::id::{PostId, UserId};
use crate::model::text::{Rule, Violation, texts};

texts! {
    /// Content of a post: 1 to 2,000 characters of any script, line breaks allowed.
    Content: Rule { subject: "The content of a post", least: 1, most: 2_000, lines: true };
    /// The name of the client that a post was written with, such as `web`: 1 to 50 characters, one line.
    Platform: Rule { subject: "A platform", least: 1, most: 50, lines: false };
}

/// A key that a client chooses for a publish attempt, so that retries are safe: 1 to 100 characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdempotencyKey(Box<str>);

impl IdempotencyKey {
    /// Parses a key. Uses the string verbatim, without trimming.
    pub fn parse(text: &str) -> Result<Self, Violation> {
        const RULE: Rule = Rule { subject: "An idempotency key", least: 1, most: 100, lines: false };
        RULE.check(text).map(|_| Self(text.into()))
    }

    /// Returns the fixed-length digest used in storage keys.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of([Some(&*self.0)])
    }
}

impl Digest {
    /// Computes the digest of a post's content and platform.
    #[must_use]
    pub fn of_post(content: &Content, platform: Option<&Platform>) -> Self {
        Self::of([Some(content.as_str()), platform.map(Platform::as_str)])
    }
}

/// A visible post.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Post {
    /// Id of the post.
    pub id: PostId,
    /// Id of the author.
    pub author: UserId,
    /// Text of the post.
    pub content: String,
    /// Name of the client that the post was written with; `None` if not given.
    pub platform: Option<String>,
    /// Creation time.
    pub created_at: Timestamp,
    /// Delivery mode of the post.
    pub delivery: Delivery,
}

/// The way a post reaches the timelines of its author's followers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Followers pull the post when they read their home timelines.
    Pulled,
    /// Delivery workers push the post to each follower.
    Pushed {
        /// Number of the author's followers when the post was published.
        followers: u64,
    },
    /// Delivery workers have pushed the post to all followers.
    Delivered {
        /// Number of followers to whom the post was delivered.
        followers: u64,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_content_of_a_post_is_not_empty_and_not_too_long() {
        assert!(Content::parse(&"🦀".repeat(2_000)).is_ok());
        assert_eq!(
            Content::parse(&"x".repeat(2_001)).unwrap_err().rule,
            "The content of a post has at most 2000 characters."
        );
        assert!(Content::parse(" \n ").is_err());
        assert_eq!(Content::parse(" a\nb ").unwrap().as_str(), "a\nb");
    }

    #[test]
    fn digests_differ_where_posts_do() {
        let content = |text| Content::parse(text).unwrap();
        let platform = |text| Platform::parse(text).unwrap();
        let bare = Digest::of_post(&content("ab"), None);
        assert_eq!(bare, Digest::of_post(&content(" ab "), None));
        assert_ne!(bare, Digest::of_post(&content("a"), Some(&platform("b"))));
        assert_ne!(
            Digest::of_post(&content("a"), Some(&platform("bc"))),
            Digest::of_post(&content("ab"), Some(&platform("c")))
        );
        assert_eq!(Digest::parse(&bare.to_string()), Some(bare));
    }
}
