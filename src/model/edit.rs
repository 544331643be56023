//! Edits of posts: the earlier versions of a post that are kept, and the rule that makes edits safe to repeat.
//!
//! Not here: the current version (`post`, `details`).

use std::fmt;
use std::str::FromStr;

use crate::model::clock::Timestamp;
use crate::model::digest::Digest;
use crate::model::id::PostId;
use crate::model::post::Content;

/// Maximum number of earlier versions of a post that are kept: the first one, and the newest others.
pub const MOST_VERSIONS: usize = 20;

/// An earlier version of a post.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EarlierVersion {
    /// Number of edits before this version; 0 for the first one.
    pub edition: u32,
    /// Time at which this version was written.
    pub written_at: Timestamp,
    /// Text of this version.
    pub content: String,
}

/// Formats a version for storage.
impl fmt::Display for EarlierVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { edition, written_at, content } = self;
        write!(formatter, "{edition}:{}:{content}", written_at.as_millis())
    }
}

/// The text is not that of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseVersionError;

impl FromStr for EarlierVersion {
    type Err = ParseVersionError;

    fn from_str(text: &str) -> Result<Self, ParseVersionError> {
        let parse = || {
            let mut parts = text.splitn(3, ':');
            let edition = parts.next()?.parse().ok()?;
            let written_at = Timestamp::from_millis(parts.next()?.parse().ok()?);
            Some(Self { edition, written_at, content: parts.next()?.to_owned() })
        };
        parse().ok_or(ParseVersionError)
    }
}

/// The outcome of an edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edited {
    /// The post has the new text.
    Done,
    /// The post has another edition than the one to be replaced.
    Conflict,
    /// The post is deleted.
    Deleted,
}

/// An edit of a post.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The post.
    pub post: PostId,
    /// The edition that this edit replaces.
    pub replaced: u32,
    /// The new text.
    pub content: Content,
}

impl Edit {
    /// Returns the digest that identifies the edit under an idempotency key, whichever edition it replaces.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of([Some(self.post.to_string().as_str()), Some(self.content.as_str())])
    }

    /// Returns true if nothing is left to do: the edit has been made, or it changes nothing. `text_of` returns the text
    /// of an edition, which never changes, up to the current one; `None` if it is not kept.
    ///
    /// An edition that is not kept counts as made: later editions would have replaced it in any case.
    pub fn is_settled<'a>(&self, current: u32, text_of: impl Fn(u32) -> Option<&'a str>) -> bool {
        let is_requested = |text: Option<&str>| text.is_none_or(|text| text == self.content.as_str());
        match self.replaced {
            replaced if replaced > current => false,
            replaced if replaced == current => is_requested(text_of(current)),
            replaced => is_requested(text_of(replaced)) || is_requested(text_of(replaced + 1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_of_a_version_is_part_of_the_stored_data() {
        let written_at = Timestamp::from_millis(1_767_225_600_000);
        let version = EarlierVersion { edition: 3, written_at, content: "1:2\n3".to_owned() };
        assert_eq!(version.to_string(), "3:1767225600000:1:2\n3");
        assert_eq!("3:1767225600000:1:2\n3".parse(), Ok(version));
        for text in ["", "3", "3:5", "x:5:text", "3:x:text"] {
            assert_eq!(text.parse::<EarlierVersion>(), Err(ParseVersionError), "{text:?}");
        }
    }

    #[test]
    fn an_edit_is_settled_once_it_was_made_or_changes_nothing() {
        let texts = ["a", "b", "c", "b"];
        let is_settled = |replaced: u32, content: &str, kept: u32| {
            let post = PostId::new(9).unwrap();
            let edit = Edit { post, replaced, content: Content::parse(content).unwrap() };
            edit.is_settled(3, |edition| texts.get(edition as usize).copied().filter(|_| edition >= kept))
        };
        for (replaced, content, expected) in [
            (0, "a", true),
            (0, "b", true),
            (0, "c", false),
            (2, "b", true),
            (2, "a", false),
            (3, "b", true),
            (3, "a", false),
            (4, "b", false),
        ] {
            assert_eq!(is_settled(replaced, content, 0), expected, "{content} after {replaced}");
        }
        assert!(is_settled(0, "d", 2) && is_settled(1, "d", 2) && !is_settled(2, "d", 2), "not kept");
    }
}
