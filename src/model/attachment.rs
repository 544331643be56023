//! Attachments: what hangs on a post, is stored with it, and is counted in its details.
//!
//! Not here: the entries of the lists (`referrer`), and the text form of the counts (`details`).

/// What becomes of an attachment when its post is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDeletion {
    /// It is deleted in the same step.
    Drop,
    /// It stays until the posts in it are deleted as well: see `app::post::repost`.
    KeepUntilSwept,
}

/// What the layers need to know of a kind of attachments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// The name of its keys in Redis. Part of the stored format.
    pub noun: &'static str,
    /// Position of its count among the numbers of a post's details, from 1. Part of the stored format.
    pub position: usize,
    /// The number of its listed entries in the archive. Part of the stored format; see
    /// [`EntryKind::number`](crate::model::referrer::EntryKind::number).
    pub number: i16,
    /// What becomes of it when its post is deleted.
    pub on_deletion: OnDeletion,
}

macro_rules! attachments {
    ($(#[$about:meta])* $kinds:ident {
        $($(#[$doc:meta])* $kind:ident = $noun:literal $position:literal $number:literal $end:ident;)*
    }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $kinds {
            $($(#[$doc])* $kind,)*
        }

        impl $kinds {
            /// All kinds.
            pub const ALL: [Self; [$(Self::$kind),*].len()] = [$(Self::$kind),*];

            /// Returns what the layers need to know of this kind.
            #[must_use]
            pub const fn attachment(self) -> Attachment {
                let (noun, position, number, on_deletion) = match self {
                    $(Self::$kind => ($noun, $position, $number, OnDeletion::$end),)*
                };
                Attachment { noun, position, number, on_deletion }
            }
        }
    };
}

attachments! {
    /// The kinds of posts that refer to another post, which has lists of each kind: see [`crate::model::referrer`].
    ReferrerKind {
        //       noun      position  number  on deletion
        /// Posts that reply to the post.
        Reply  = "replies" 5         1       Drop;
        /// Posts that quote the post.
        Quote  = "quotes"  6         2       Drop;
        /// Reposts of the post.
        Repost = "reposts" 4         3       KeepUntilSwept;
    }
}

/// How many attachments a post has: the numbers of the *listed* entries, which everyone sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AttachmentCounts([u64; ReferrerKind::ALL.len()]);

impl AttachmentCounts {
    /// Position of the first count among the numbers of a post's details, from 1.
    pub const FIRST: usize = 4;

    /// Returns the number of listed entries of this kind.
    #[must_use]
    pub fn of(&self, kind: ReferrerKind) -> u64 {
        self.0[kind.attachment().position - Self::FIRST]
    }

    /// Returns the number of listed entries of this kind, to change it.
    pub fn of_mut(&mut self, kind: ReferrerKind) -> &mut u64 {
        &mut self.0[kind.attachment().position - Self::FIRST]
    }

    /// Returns the counts in the order of their positions.
    pub(super) fn in_order(&self) -> &[u64] {
        &self.0
    }

    /// Returns the counts in the order of their positions, to read them.
    pub(super) fn in_order_mut(&mut self) -> &mut [u64] {
        &mut self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::referrer::EntryKind;

    #[test]
    fn the_table_of_attachments_is_part_of_the_stored_data() {
        let attachments = ReferrerKind::ALL.map(ReferrerKind::attachment);
        assert_eq!(attachments.map(|attachment| attachment.noun), ["replies", "quotes", "reposts"]);
        let mut positions = attachments.map(|attachment| attachment.position);
        positions.sort_unstable();
        let expected: Vec<usize> = (AttachmentCounts::FIRST..).take(positions.len()).collect();
        assert_eq!(positions, *expected, "the positions follow each other");
        let number = |kind| EntryKind::ALL.map(|entries| entries.number(kind));
        assert_eq!(ReferrerKind::ALL.map(number), [[1, 4, 7], [2, 5, 8], [3, 6, 9]]);
    }
}
