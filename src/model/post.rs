//! A post, and the rules for what may be posted.
//!
//! Not here: whose timelines it comes to (`app::timeline`), how it gets there (`app::delivery`).

use crate::model::clock::Timestamp;
use crate::model::digest::Digest;
use crate::model::id::{PostId, UserId};
use crate::model::text::{Rule, Violation, texts};

texts! {
    /// What a post says: 1 to 2,000 characters of any script, lines and all.
    Content: Rule { subject: "The content of a post", least: 1, most: 2_000, lines: true };
    /// The client that a post was written with, such as `web`: 1 to 50 characters, one line.
    Platform: Rule { subject: "A platform", least: 1, most: 50, lines: false };
}

/// What a client calls one attempt to publish, so that it may send it again: 1 to 100 characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdempotencyKey(Box<str>);

impl IdempotencyKey {
    /// The key this text stands for, exactly as it is.
    pub fn parse(text: &str) -> Result<Self, Violation> {
        const RULE: Rule = Rule { subject: "An idempotency key", least: 1, most: 100, lines: false };
        RULE.check(text).map(|_| Self(text.into()))
    }

    /// What it is kept under: of one length, whatever is in it.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of([Some(&*self.0)])
    }
}

impl Digest {
    /// The digest of what a post says.
    #[must_use]
    pub fn of_post(content: &Content, platform: Option<&Platform>) -> Self {
        Self::of([Some(content.as_str()), platform.map(Platform::as_str)])
    }
}

/// A post that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Post {
    /// Its id.
    pub id: PostId,
    /// Who wrote it.
    pub author: UserId,
    /// What it says.
    pub content: String,
    /// The client it was written with.
    pub platform: Option<String>,
    /// When it was written.
    pub created_at: Timestamp,
    /// How it comes to the timelines of followers.
    pub delivery: Delivery,
}

/// How a post comes to the timelines of the followers of its author.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Followers fetch it when they read.
    Pulled,
    /// It is brought to each follower; there were so many when it was published.
    Pushed {
        /// How many followers there were.
        followers: u64,
    },
    /// It has been brought to all of so many followers.
    Delivered {
        /// How many followers were served.
        followers: u64,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_post_says_something_and_not_too_much() {
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
