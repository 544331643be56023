//! Positions in an export: its sections, and where in a section a download continues.
//!
//! Not here: the records (`app::account::export::page`), and the text of a position (`graphql::cursor`).

use crate::app::visibility::list::OwnList;
use crate::model::id::PostId;
use crate::model::page::Position;
use crate::model::reaction::ReactionKind;
use crate::model::relation::ListKind;
use crate::model::session::SessionId;
use crate::store::tree::Shard;

/// What the records of a section are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Records {
    /// The account, a single record.
    Account,
    /// Sessions.
    Sessions,
    /// Users of one of the lists that everyone sees.
    Listed(ListKind),
    /// Users of one of the lists that only the owner sees.
    Own(OwnList),
    /// Posts.
    Posts,
    /// Posts to which the owner has reacted.
    Reactions(ReactionKind),
    /// Liked posts that are no longer among the likes whose order is known.
    OlderLikes,
}

macro_rules! sections {
    ($($(#[$doc:meta])* $section:ident = $name:literal, $records:expr;)*) => {
        /// The sections of an export, in order. Their numbers are part of the format of cursors.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Section {
            $($(#[$doc])* $section,)*
        }

        impl Section {
            /// All sections, in order.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$section),*];

            /// Returns the type of the section's records, as exports name it, and what they are.
            #[must_use]
            pub const fn records(self) -> (&'static str, Records) {
                match self {
                    $(Self::$section => ($name, $records),)*
                }
            }
        }
    };
}

sections! {
    /// The account itself, a single record.
    Account = "account", Records::Account;
    /// The account's sessions.
    Sessions = "session", Records::Sessions;
    /// The users whom the owner follows.
    Following = "following", Records::Listed(ListKind::Following);
    /// The owner's followers.
    Followers = "follower", Records::Listed(ListKind::Followers);
    /// The users whom the owner has requested to follow.
    SentRequests = "followRequestSent", Records::Own(OwnList::SentRequests);
    /// The users who have requested to follow the owner.
    Requests = "followRequestReceived", Records::Own(OwnList::Requests);
    /// The users whom the owner blocks.
    Blocked = "block", Records::Own(OwnList::Blocked);
    /// The users whom the owner mutes.
    Muted = "mute", Records::Own(OwnList::Muted);
    /// The owner's posts.
    Posts = "post", Records::Posts;
    /// The owner's bookmarks, also of posts that are deleted or hidden from the owner.
    Bookmarks = "bookmark", Records::Reactions(ReactionKind::Bookmark);
    /// The newest of the owner's likes, also of posts that are deleted or hidden from the owner.
    Likes = "like", Records::Reactions(ReactionKind::Like);
    /// All other likes of the owner, in no particular order. One that was among the newest while these were read may be
    /// listed twice.
    OlderLikes = "like", Records::OlderLikes;
}

impl Section {
    /// Returns the next section; `None` for the last one.
    pub(super) fn next(self) -> Option<Self> {
        Self::ALL.get(self as usize + 1).copied()
    }
}

/// A position in an export: a section, and the last record in it that was read; `None` if none was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExportPosition {
    /// The section to continue in.
    pub section: Section,
    /// The last record read in it.
    pub after: Option<SectionPosition>,
}

impl ExportPosition {
    /// The position before the first record.
    pub const START: Self = Self::begin(Section::Account);

    /// Returns the position before the first record of a section.
    #[must_use]
    pub const fn begin(section: Section) -> Self {
        Self { section, after: None }
    }

    pub(super) fn after(section: Section, position: SectionPosition) -> Self {
        Self { section, after: Some(position) }
    }

    pub(super) fn user(self) -> Option<Position> {
        match self.after {
            Some(SectionPosition::User(position)) => Some(position),
            _ => None,
        }
    }

    pub(super) fn post(self) -> Option<PostId> {
        match self.after {
            Some(SectionPosition::Post(post)) => Some(post),
            _ => None,
        }
    }

    pub(super) fn older_like(self) -> OlderLike {
        match self.after {
            Some(SectionPosition::OlderLike(position)) => position,
            _ => OlderLike { shard: Shard::ROOT, after: None },
        }
    }

    pub(super) fn reaction(self) -> Option<Position<PostId>> {
        match self.after {
            Some(SectionPosition::Reaction(position)) => Some(position),
            _ => None,
        }
    }
}

/// The position of a record in its section. The record need not exist any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SectionPosition {
    /// A session, with the time of its sign-in.
    Session(Position<SessionId>),
    /// An entry of a list of users.
    User(Position),
    /// A post.
    Post(PostId),
    /// A reaction.
    Reaction(Position<PostId>),
    /// A like whose time is not known.
    OlderLike(OlderLike),
}

/// A position among the likes whose times are not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OlderLike {
    pub(super) shard: Shard,
    /// The last post read in the shard; `None` if none was.
    pub(super) after: Option<PostId>,
}

impl OlderLike {
    /// Returns the position after a post in a shard, or before the first one; `None` if there is no such shard.
    #[must_use]
    pub fn new(shard: u32, after: Option<PostId>) -> Option<Self> {
        Some(Self { shard: Shard::with_index(shard)?, after })
    }

    /// Returns the index of the shard of the set of likes.
    #[must_use]
    pub fn shard(self) -> u32 {
        self.shard.index()
    }

    /// Returns the last post read in the shard; `None` if none was.
    #[must_use]
    pub fn after(self) -> Option<PostId> {
        self.after
    }
}
