//! Referrers: posts that reply to another, quote it or repost it, and their entries in the lists of that post.
//!
//! Not here: the reading order of the lists (`page`), and what a post has beyond these (`details`).

use std::fmt;
use std::str::FromStr;

use crate::model::account::Standing;
use crate::model::attachment::ReferrerKind;
use crate::model::id::{PostId, UserId};
use crate::model::page::{Direction, Page};

/// The kinds of entries in the lists of a post's referrers. Each has a list of its own, so that readers read only what
/// they may see, or can look up together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EntryKind {
    /// A public post of an active, public account: everyone sees it, apart from blocks.
    Listed,
    /// A post for followers only, or of a private account: the author and the author's followers see it.
    Limited,
    /// A post of an inactive account: no one sees it.
    Withheld,
}

impl EntryKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Listed, Self::Limited, Self::Withheld];

    /// Returns the kind of the entries of a post, whose author's account has this standing. `is_public` is false for a
    /// post for followers only.
    #[must_use]
    pub fn of(is_public: bool, standing: Standing) -> Self {
        match standing {
            Standing::Inactive => Self::Withheld,
            Standing::Public if is_public => Self::Listed,
            Standing::Public | Standing::Private => Self::Limited,
        }
    }

    /// Returns the end of the names of the keys of such entries in Redis. Part of the stored format.
    #[must_use]
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Listed => "",
            Self::Limited => ":limited",
            Self::Withheld => ":withheld",
        }
    }

    /// Returns the number of such entries of a kind of posts in the archive. Part of the stored format.
    #[must_use]
    pub fn number(self, kind: ReferrerKind) -> i16 {
        let after_listed = match self {
            Self::Listed => 0,
            Self::Limited => 3,
            Self::Withheld => 6,
        };
        kind.attachment().number + after_listed
    }
}

/// What a post says of its place among the referrers of another post. It has an entry there as long as it exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Referral {
    /// The kind of reference.
    pub kind: ReferrerKind,
    /// The post that has the lists.
    pub target: PostId,
    /// The post that refers to it.
    pub referrer: PostId,
    /// The author of the post that refers to it.
    pub author: UserId,
}

/// One of the lists of a post's referrers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EntryList {
    /// The post that has the list.
    pub target: PostId,
    /// The kind of posts in the list.
    pub kind: ReferrerKind,
    /// The kind of entries in the list.
    pub entries: EntryKind,
}

impl EntryList {
    /// Returns the lists of a post's referrers of this kind.
    #[must_use]
    pub fn of(target: PostId, kind: ReferrerKind) -> [Self; EntryKind::ALL.len()] {
        EntryKind::ALL.map(|entries| Self { target, kind, entries })
    }

    /// Returns all lists of a post.
    pub fn all(target: PostId) -> impl Iterator<Item = Self> {
        ReferrerKind::ALL.into_iter().flat_map(move |kind| Self::of(target, kind))
    }
}

/// An entry of a list of referrers, as it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReferrerEntry {
    /// The post that refers to the one that has the list.
    pub post: PostId,
    /// Its author, in lists of limited entries; `None` in others, whose readers do not need it.
    pub author: Option<UserId>,
}

impl ReferrerEntry {
    /// Returns the entry of a post in a list of this kind.
    #[must_use]
    pub fn of(referral: &Referral, kind: EntryKind) -> Self {
        Self { post: referral.referrer, author: (kind == EntryKind::Limited).then_some(referral.author) }
    }
}

/// Formats an entry for storage: the post, and the author after a colon.
impl fmt::Display for ReferrerEntry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { post, author } = self;
        match author {
            Some(author) => write!(formatter, "{post}:{author}"),
            None => write!(formatter, "{post}"),
        }
    }
}

/// The text is not that of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseEntryError;

impl FromStr for ReferrerEntry {
    type Err = ParseEntryError;

    fn from_str(text: &str) -> Result<Self, ParseEntryError> {
        let (post, author) = match text.split_once(':') {
            Some((post, author)) => (post, Some(author.parse().map_err(|_| ParseEntryError)?)),
            None => (text, None),
        };
        Ok(Self { post: post.parse().map_err(|_| ParseEntryError)?, author })
    }
}

/// An entry of a list of limited entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LimitedEntry {
    /// The post that refers to the one that has the list.
    pub post: PostId,
    /// Its author.
    pub author: UserId,
}

impl From<LimitedEntry> for PostId {
    fn from(entry: LimitedEntry) -> Self {
        entry.post
    }
}

/// What is read of the lists of a post's referrers at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryPage {
    /// A page of the listed entries.
    pub listed: Page<PostId>,
    /// The limited entries next to the page's position, the nearest first.
    pub limited: Vec<LimitedEntry>,
    /// True if there are limited entries beyond these.
    pub has_more_limited: bool,
}

impl EntryPage {
    /// Creates a page. `limited` has the limited entries next to its position in list order, of which one more than
    /// `most` was requested.
    #[must_use]
    pub fn new(
        listed: Page<PostId>,
        mut limited: Vec<LimitedEntry>,
        direction: Direction,
        most: usize,
    ) -> Self {
        if direction == Direction::Backward {
            limited.reverse();
        }
        let has_more_limited = limited.len() > most;
        limited.truncate(most);
        Self { listed, limited, has_more_limited }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_of_an_entry_follows_from_its_post_and_its_author() {
        use Standing::{Inactive, Private, Public};
        let kinds =
            |is_public| [Public, Private, Inactive].map(|standing| EntryKind::of(is_public, standing));
        let [listed, limited, withheld] = EntryKind::ALL;
        assert_eq!(kinds(true), [listed, limited, withheld]);
        assert_eq!(kinds(false), [limited, limited, withheld]);
    }

    #[test]
    fn the_format_of_an_entry_is_part_of_the_stored_data() {
        let (post, author) = (|id| PostId::new(id).unwrap(), UserId::new(7).unwrap());
        let referral = Referral { kind: ReferrerKind::Reply, target: post(1), referrer: post(9), author };
        let entries = EntryKind::ALL.map(|kind| ReferrerEntry::of(&referral, kind));
        assert_eq!(entries.map(|entry| entry.to_string()), ["9", "9:7", "9"]);
        for entry in entries {
            assert_eq!(entry.to_string().parse(), Ok(entry));
        }
        for text in ["", ":", "9:", ":7", "0", "9:0", "9:x"] {
            assert_eq!(text.parse::<ReferrerEntry>(), Err(ParseEntryError), "{text:?}");
        }
    }
}
