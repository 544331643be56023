//! The posts and accounts that decide about entries in lists of referrers.
//!
//! Not here: the lists (`app::check::entry`).

use std::collections::HashMap;

use crate::app::App;
use crate::app::error::Error;
use crate::archive::error::Error as ArchiveError;
use crate::archive::post::Row;
use crate::model::account::Standing;
use crate::model::details::References;
use crate::model::id::{PostId, UserId};
use crate::model::post::Post;
use crate::model::referrer::{EntryKind, Referral};
use crate::store::post::{self, Record};
use crate::store::unreadable::readable;

/// Maximum number of posts read together.
pub(super) const TOGETHER: usize = 1_000;

/// Where posts and their lists are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Storage {
    Redis,
    Archive,
}

/// The state of a post.
pub(super) enum State {
    Live(Storage, Post),
    /// A tombstone in Redis.
    Deleted {
        author: UserId,
        references: References,
    },
    /// No record and no archived post.
    Gone,
    Unreadable,
}

impl State {
    /// Returns the live post, if it is in this storage.
    pub(super) fn live_in(&self, storage: Storage) -> Option<&Post> {
        match self {
            Self::Live(is_in, post) if *is_in == storage => Some(post),
            _ => None,
        }
    }

    /// Returns the author whose account decides about the entries of the post; `None` for a post that is to have none.
    fn author(&self) -> Option<UserId> {
        match self {
            Self::Live(_, post) => Some(post.author),
            Self::Deleted { .. } | Self::Gone | Self::Unreadable => None,
        }
    }

    /// Returns what decides about the post's entries in lists. `standings` has the accounts that are readable.
    fn truth(&self, id: PostId, standings: &HashMap<UserId, Standing>) -> Truth {
        let (author, references, entry) = match self {
            Self::Live(_, post) => {
                let Some(&standing) = standings.get(&post.author) else { return Truth::Unreadable };
                let entry = EntryKind::of(post.visibility.is_public(), standing);
                (post.author, &post.details.references, Some(entry))
            }
            Self::Deleted { author, references } => (*author, references, None),
            Self::Gone => return Truth::Gone,
            Self::Unreadable => return Truth::Unreadable,
        };
        Truth::Referring { author, referrals: references.referrals(id, author).collect(), entry }
    }
}

/// What decides about a post's entries in lists.
pub(super) enum Truth {
    /// What the post refers to, and the kind of its entries there; `None` if it is deleted.
    Referring {
        author: UserId,
        referrals: Vec<Referral>,
        entry: Option<EntryKind>,
    },
    Gone,
    Unreadable,
}

impl App {
    /// Returns what decides about the entries of these posts.
    pub(super) async fn truths(&self, mut posts: Vec<PostId>) -> Result<HashMap<PostId, Truth>, Error> {
        posts.sort_unstable();
        posts.dedup();
        let mut truths = HashMap::with_capacity(posts.len());
        for posts in posts.chunks(TOGETHER) {
            let states = self.states(posts).await?;
            let standings = self.readable_standings(states.values().filter_map(State::author)).await?;
            truths.extend(states.into_iter().map(|(id, state)| (id, state.truth(id, &standings))));
        }
        Ok(truths)
    }

    /// Returns the standings of these accounts, without those whose records are unreadable. Makes one round trip.
    async fn readable_standings(
        &self,
        authors: impl Iterator<Item = UserId>,
    ) -> Result<HashMap<UserId, Standing>, Error> {
        let mut authors = authors.peekable();
        if authors.peek().is_none() {
            return Ok(HashMap::new());
        }
        let records = self.read_standings(authors).send("check: authors", self.store()).await?;
        let mut found = Vec::with_capacity(records.len());
        for (author, record) in records {
            found.extend(readable(record, "user", author.get())?.map(|record| (author, Ok(record))));
        }
        Self::standings(found)
    }

    /// Reads the states of posts. Makes one round trip, plus an archive query for posts without a record.
    pub(super) async fn states(&self, posts: &[PostId]) -> Result<HashMap<PostId, State>, Error> {
        if posts.is_empty() {
            return Ok(HashMap::new());
        }
        let read = post::read_all(self.keys(), posts.to_vec());
        let mut states = HashMap::with_capacity(posts.len());
        let mut missing = Vec::new();
        for (id, record) in read.send("check: posts", self.store()).await? {
            let state = match readable(record, "post", id.get())? {
                Some(Record::Live(post)) => State::Live(Storage::Redis, post),
                Some(Record::Tombstone { author, references, .. }) => State::Deleted { author, references },
                Some(Record::Missing) => {
                    missing.push(id);
                    State::Gone
                }
                Some(Record::Revoked { .. }) => State::Gone,
                None => State::Unreadable,
            };
            states.insert(id, state);
        }
        if !missing.is_empty() {
            states.extend(self.archived_states(&missing).await?);
        }
        Ok(states)
    }

    /// Reads the states of those of these posts that are archived, all together or, if one is unreadable, one by one.
    async fn archived_states(&self, posts: &[PostId]) -> Result<Vec<(PostId, State)>, Error> {
        let archive = self.archive().await?;
        let live = |row: Row| row.live().map(|post| (post.id, State::Live(Storage::Archive, post)));
        match archive.read(posts).await {
            Ok(rows) => return Ok(rows.into_iter().filter_map(live).collect()),
            Err(ArchiveError::Corrupt(_)) => {}
            Err(error) => return Err(error.into()),
        }
        let mut states = Vec::with_capacity(posts.len());
        for &post in posts {
            match archive.read(&[post]).await {
                Ok(rows) => states.extend(rows.into_iter().filter_map(live)),
                Err(ArchiveError::Corrupt(error)) => {
                    tracing::error!(%error, %post, "an archived post cannot be read and is not checked");
                    states.push((post, State::Unreadable));
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(states)
    }
}
