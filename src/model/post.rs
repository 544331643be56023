//! Posts, and the rules for their content.
//!
//! Not here: the timelines that a post appears in (`app::timeline`), and how it is delivered
//! (`app::delivery`).

use crate::model::clock::Timestamp;
use crate::model::details::Details;
use crate::model::digest::Digest;
use crate::model::id::{PostId, UserId};
use crate::model::text::{Form, Rule, Violation, texts};

texts! {
    /// Content of a post: 1 to 2,000 characters of any script, at least one of them visible, line breaks allowed.
    Content: Rule { subject: "The content of a post", least: 1, most: 2_000, form: Form::Paragraphs };
    /// The name of the client that a post was written with, such as `web`: 1 to 50 characters, one line.
    Platform: Rule { subject: "A platform", least: 1, most: 50, form: Form::Line };
}

impl Content {
    /// Returns the content of a repost, which has no text of its own.
    #[must_use]
    pub fn of_repost() -> Self {
        Self("".into())
    }
}

/// A key that a client chooses for a publish attempt, so that retries are safe: 1 to 100 characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdempotencyKey(Box<str>);

impl IdempotencyKey {
    /// Parses a key. Uses the string verbatim, without trimming.
    pub fn parse(text: &str) -> Result<Self, Violation> {
        const RULE: Rule = Rule { subject: "An idempotency key", least: 1, most: 100, form: Form::Line };
        RULE.check(text).map(|_| Self(text.into()))
    }

    /// Returns the fixed-length digest used in storage keys.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of([Some(&*self.0)])
    }
}

impl Digest {
    /// Computes the digest of a post's content, platform, visibility, and the posts to which it replies and which it
    /// quotes. The digest of a public post that refers to none is the same as in versions that had no other posts.
    #[must_use]
    pub fn of_post(
        content: &Content,
        platform: Option<&Platform>,
        visibility: Visibility,
        references: [Option<PostId>; 2],
    ) -> Self {
        let (content, platform) = (Some(content.as_str()), platform.map(Platform::as_str));
        let [reply, quote] = references.map(|post| post.map(|post| post.to_string()));
        match (visibility.word(), &reply, &quote) {
            (None, None, None) => Self::of([content, platform]),
            (word, None, None) => Self::of([content, platform, word]),
            (word, ..) => Self::of([content, platform, word, reply.as_deref(), quote.as_deref()]),
        }
    }
}

/// A visible post.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Post {
    /// Id of the post.
    pub id: PostId,
    /// Id of the author.
    pub author: UserId,
    /// Text of the post; empty for a repost.
    pub content: String,
    /// Name of the client that the post was written with; `None` if not given.
    pub platform: Option<String>,
    /// Users who can see the post. Never changes.
    pub visibility: Visibility,
    /// Creation time.
    pub created_at: Timestamp,
    /// Delivery mode of the post.
    pub delivery: Delivery,
    /// What the post has beyond its text.
    pub details: Details,
}

/// The users who can see a post, apart from its author.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Visibility {
    /// Everyone; only followers while the author's account is private.
    #[default]
    Public,
    /// The author's followers.
    Followers,
}

impl Visibility {
    /// Returns true for posts whose visibility only the author's account limits.
    #[must_use]
    pub fn is_public(self) -> bool {
        self == Self::Public
    }

    /// Returns the word that identifies the visibility; `None` for public posts, which are the rule.
    #[must_use]
    pub fn word(self) -> Option<&'static str> {
        match self {
            Self::Public => None,
            Self::Followers => Some("followers"),
        }
    }

    /// Returns the visibility that a word identifies; `None` if no visibility does.
    #[must_use]
    pub fn of_word(word: Option<&str>) -> Option<Self> {
        [Self::Public, Self::Followers].into_iter().find(|visibility| visibility.word() == word)
    }
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
        let public = |text, platform: Option<Platform>| {
            Digest::of_post(&content(text), platform.as_ref(), Visibility::Public, [None, None])
        };
        let bare = public("ab", None);
        assert_eq!(bare, public(" ab ", None));
        assert_ne!(bare, public("a", Some(platform("b"))));
        assert_ne!(public("a", Some(platform("bc"))), public("ab", Some(platform("c"))));
        let with = |visibility, references: [u64; 2]| {
            Digest::of_post(&content("ab"), None, visibility, references.map(PostId::new))
        };
        let all = [
            bare,
            with(Visibility::Followers, [0, 0]),
            with(Visibility::Public, [1, 0]),
            with(Visibility::Public, [0, 1]),
            with(Visibility::Public, [1, 1]),
            with(Visibility::Followers, [1, 0]),
        ];
        for (index, digest) in all.iter().enumerate() {
            assert!(!all[..index].contains(digest), "{index}");
        }
        assert_eq!(Digest::parse(&bare.to_string()), Some(bare));
    }

    #[test]
    fn the_digest_of_a_public_post_is_part_of_the_stored_data() {
        let (content, platform) = (Content::parse("ab").unwrap(), Platform::parse("web").unwrap());
        let digest =
            |visibility| Digest::of_post(&content, Some(&platform), visibility, [None, None]).to_string();
        assert_eq!(digest(Visibility::Public), Digest::of([Some("ab"), Some("web")]).to_string());
        assert_ne!(digest(Visibility::Public), digest(Visibility::Followers));
    }

    #[test]
    fn the_words_of_visibilities_are_part_of_the_stored_data() {
        for (visibility, word) in [(Visibility::Public, None), (Visibility::Followers, Some("followers"))] {
            assert_eq!((visibility.word(), Visibility::of_word(word)), (word, Some(visibility)));
        }
        assert_eq!(Visibility::of_word(Some("public")), None);
    }
}
