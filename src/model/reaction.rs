//! What a viewer has done with a post by naming it only: bookmarks.

/// The reactions of a viewer to a post, as far as they have been read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reactions {
    /// True if the viewer has bookmarked the post; `None` if this has not been read.
    pub bookmarked: Option<bool>,
}

impl Reactions {
    /// The reactions of an anonymous viewer.
    pub const OF_NO_ONE: Self = Self { bookmarked: Some(false) };
}

/// The reactions to read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ReactionSelection {
    /// True if [`Reactions::bookmarked`] is needed.
    pub bookmarked: bool,
}

impl ReactionSelection {
    /// A selection of no reactions.
    pub const NONE: Self = Self { bookmarked: false };

    /// Returns the selection of all reactions of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self { bookmarked: self.bookmarked || other.bookmarked }
    }
}
