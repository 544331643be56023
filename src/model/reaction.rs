//! What a viewer has done with a post by naming it only: likes and bookmarks.

/// The kinds of reactions. A user has at most one of each to a post.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReactionKind {
    /// The user likes the post.
    Like,
    /// The user has bookmarked the post.
    Bookmark,
}

impl ReactionKind {
    /// All kinds.
    pub const ALL: [Self; 2] = [Self::Like, Self::Bookmark];
}

/// The reactions of a viewer to a post, as far as they have been read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reactions([Option<bool>; ReactionKind::ALL.len()]);

impl Reactions {
    /// The reactions of an anonymous viewer.
    pub const OF_NO_ONE: Self = Self([Some(false); ReactionKind::ALL.len()]);

    /// Returns true if there is a reaction of this kind; `None` if it has not been read.
    #[must_use]
    pub fn of(&self, kind: ReactionKind) -> Option<bool> {
        self.0[kind as usize]
    }

    /// Returns the reactions with one that was read.
    #[must_use]
    pub fn with(mut self, kind: ReactionKind, exists: bool) -> Self {
        self.0[kind as usize] = Some(exists);
        self
    }
}

/// The kinds of reactions to read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ReactionSelection([bool; ReactionKind::ALL.len()]);

impl ReactionSelection {
    /// A selection of no reactions.
    pub const NONE: Self = Self([false; ReactionKind::ALL.len()]);

    /// Returns the selection of these kinds.
    #[must_use]
    pub fn of(kinds: impl IntoIterator<Item = ReactionKind>) -> Self {
        let mut selection = Self::NONE;
        for kind in kinds {
            selection.0[kind as usize] = true;
        }
        selection
    }

    /// Returns the selected kinds.
    pub fn kinds(self) -> impl Iterator<Item = ReactionKind> {
        ReactionKind::ALL.into_iter().filter(move |kind| self.0[*kind as usize])
    }

    /// Returns the selection of all reactions of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self::of(self.kinds().chain(other.kinds()))
    }
}
