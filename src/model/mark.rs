//! Marks: positions in the sequence of all posts.

use crate::model::id::PostId;

/// A position in the sequence of all posts. A mark covers all posts up to and including an id. A post with
/// that id need not exist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Mark(u64);

impl Mark {
    /// The mark that covers no post.
    pub const START: Self = Self(0);
    /// The mark that covers all posts.
    pub const END: Self = Self(u64::MAX);

    /// Creates the mark that covers the posts with ids up to and including `number`.
    #[must_use]
    pub fn new(number: u64) -> Self {
        Self(number)
    }

    /// Creates the mark that covers the posts up to and including `post`.
    #[must_use]
    pub fn at(post: PostId) -> Self {
        Self(post.get())
    }

    /// Creates the mark that covers the posts before `post`.
    #[must_use]
    pub fn before(post: PostId) -> Self {
        Self(post.get() - 1)
    }

    /// Returns the last covered id as an integer; 0 if the mark covers no id.
    #[must_use]
    pub fn get(self) -> u64 {
        self.0
    }

    /// Returns the last covered id; `None` if the mark covers no id.
    #[must_use]
    pub fn last(self) -> Option<PostId> {
        PostId::new(self.0)
    }

    /// Returns the first id that the mark does not cover.
    #[must_use]
    pub fn next(self) -> Option<PostId> {
        PostId::new(self.0.saturating_add(1))
    }

    /// Returns true if the mark covers the post.
    #[must_use]
    pub fn covers(self, post: PostId) -> bool {
        post.get() <= self.0
    }
}
