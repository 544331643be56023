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
    /// The items of which `fanfold memory` measures it, in the singular.
    pub footprint: &'static str,
}

macro_rules! attachments {
    ($(#[$about:meta])* $kinds:ident {
        $(
            $(#[$doc:meta])*
            $kind:ident = $noun:literal $position:literal $number:literal $end:ident $footprint:literal;
        )*
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
                let (noun, position, number, on_deletion, footprint) = match self {
                    $(Self::$kind => ($noun, $position, $number, OnDeletion::$end, $footprint),)*
                };
                Attachment { noun, position, number, on_deletion, footprint }
            }
        }
    };
}

attachments! {
    /// The kinds of posts that refer to another post, which has lists of each kind: see [`crate::model::referrer`].
    ReferrerKind {
        //       noun      position  number  on deletion     footprint
        /// Posts that reply to the post.
        Reply  = "replies" 5         1       Drop            "reply or quote";
        /// Posts that quote the post.
        Quote  = "quotes"  6         2       Drop            "reply or quote";
        /// Reposts of the post.
        Repost = "reposts" 4         3       KeepUntilSwept  "repost";
    }
}

/// How many attachments a post has: the numbers of the *listed* entries of each kind of referrers, which everyone sees,
/// and those of its likes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AttachmentCounts([u64; ReferrerKind::ALL.len() + 2]);

impl AttachmentCounts {
    /// Position of the first count among the numbers of a post's details, from 1.
    pub const FIRST: usize = 4;
    /// Position of the number of likes. Part of the stored format.
    pub const LIKES: usize = 7;
    /// Position of the number of likes ever, with those that were taken back. Part of the stored format.
    pub const LIKES_EVER: usize = 8;

    /// Returns the number of listed entries of this kind.
    #[must_use]
    pub fn of(&self, kind: ReferrerKind) -> u64 {
        self.0[kind.attachment().position - Self::FIRST]
    }

    /// Returns the number of listed entries of this kind, to change it.
    pub fn of_mut(&mut self, kind: ReferrerKind) -> &mut u64 {
        &mut self.0[kind.attachment().position - Self::FIRST]
    }

    /// Returns the number of users who like the post.
    #[must_use]
    pub fn likes(&self) -> u64 {
        self.0[Self::LIKES - Self::FIRST]
    }

    /// Returns the number of times that a user began to like the post. It never decreases, and numbers the likes.
    #[must_use]
    pub fn likes_ever(&self) -> u64 {
        self.0[Self::LIKES_EVER - Self::FIRST]
    }

    /// Counts a like that was added, or taken back.
    pub fn count_like(&mut self, is_added: bool) {
        let likes = &mut self.0[Self::LIKES - Self::FIRST];
        *likes = if is_added { *likes + 1 } else { likes.saturating_sub(1) };
        self.0[Self::LIKES_EVER - Self::FIRST] += u64::from(is_added);
    }

    /// Corrects the number of likes.
    pub fn correct_likes(&mut self, likes: u64) {
        self.0[Self::LIKES - Self::FIRST] = likes;
        let ever = &mut self.0[Self::LIKES_EVER - Self::FIRST];
        *ever = likes.max(*ever);
    }

    /// Returns the counts as they are stored: in the order of their positions.
    pub(super) fn stored(&self) -> &[u64] {
        stored(&self.0)
    }

    /// Returns the counts in the order of their positions, to read them.
    pub(super) fn in_order_mut(&mut self) -> &mut [u64] {
        &mut self.0
    }
}

/// Number of counts that are always stored, because the first version that had any reads as many.
const ALWAYS_STORED: usize = 3;

/// Returns the counts without those of zero at the end that need not be stored. So the details of a post that an
/// earlier version has written are printed as they were read, although this version has more counts. Scripts do the
/// same, see `store/lua/part/details.lua`.
fn stored(counts: &[u64]) -> &[u64] {
    let last = counts.iter().rposition(|count| *count > 0).map_or(0, |last| last + 1);
    &counts[..last.max(ALWAYS_STORED)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::referrer::EntryKind;

    #[test]
    fn a_count_that_earlier_versions_do_not_have_is_stored_once_it_is_not_zero() {
        assert_eq!(stored(&[0, 0, 0, 0, 0]), [0, 0, 0]);
        assert_eq!(stored(&[1, 0, 2, 0, 3]), [1, 0, 2, 0, 3]);
        assert_eq!(stored(&[1, 0, 0, 3, 0]), [1, 0, 0, 3]);
    }

    #[test]
    fn likes_are_counted_and_numbered() {
        let mut counts = AttachmentCounts::default();
        let mut count = |is_added| {
            counts.count_like(is_added);
            (counts.likes(), counts.likes_ever())
        };
        assert_eq!([true, true, false, true].map(&mut count), [(1, 1), (2, 2), (1, 2), (2, 3)]);
    }

    #[test]
    fn the_table_of_attachments_is_part_of_the_stored_data() {
        let attachments = ReferrerKind::ALL.map(ReferrerKind::attachment);
        assert_eq!(attachments.map(|attachment| attachment.noun), ["replies", "quotes", "reposts"]);
        let mut positions = attachments.map(|attachment| attachment.position).to_vec();
        positions.sort_unstable();
        positions.extend([AttachmentCounts::LIKES, AttachmentCounts::LIKES_EVER]);
        let expected: Vec<usize> =
            (AttachmentCounts::FIRST..).take(AttachmentCounts::default().0.len()).collect();
        assert_eq!(positions, *expected, "the positions follow each other");
        let number = |kind| EntryKind::ALL.map(|entries| entries.number(kind));
        assert_eq!(ReferrerKind::ALL.map(number), [[1, 4, 7], [2, 5, 8], [3, 6, 9]]);
    }
}
