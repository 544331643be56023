//! Storage of notes on posts being published, and of publish attempts and edits bound to idempotency keys. A note is
//! kept until its post is visible or revoked.
//!
//! A note is stored as `id:author:written:began:nonce`, a member of a sorted set scored by id. An attempt is
//! stored as `open:` or `done:`, followed by a digest and a note. An edit is stored as `edit:digest:edition`.
//!
//! Not here: a post's record and its author's lists (`store::post`), the order of the steps (`app::post`).

use std::fmt;
use std::time::Duration;

use redis::{FromRedisValue, ParsingError, Value};

use crate::model::clock::Timestamp;
use crate::model::digest::Digest;
use crate::model::id::{PostId, UserId};
use crate::store::bucket::{self, Limit};
use crate::store::command::{Command, call, command};
use crate::store::error::Error;
use crate::store::key::Keys;
use crate::store::script;

/// Lifetime of an idempotency key, in seconds.
const ATTEMPT_SECONDS: u64 = 86_400;

/// A post that is being published and already has an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draft {
    /// The post's id.
    pub id: PostId,
    /// The note recorded for the post.
    pub note: Note,
}

/// The note recorded for a post while it is being published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Note {
    /// The post's author.
    pub author: UserId,
    /// The post's creation time.
    pub created_at: Timestamp,
    /// Time at which publishing began.
    pub began: Timestamp,
    /// Nonce that distinguishes two attempts that received the same id.
    pub nonce: u64,
}

impl fmt::Display for Note {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { author, created_at, began, nonce } = self;
        write!(formatter, "{author}:{}:{}:{nonce:x}", created_at.as_millis(), began.as_millis())
    }
}

impl fmt::Display for Draft {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.id, self.note)
    }
}

impl Draft {
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(':');
        let mut next = || parts.next();
        let id = next()?.parse().ok()?;
        let author = next()?.parse().ok()?;
        let mut time = || next()?.parse().ok().map(Timestamp::from_millis);
        let (created_at, began) = (time()?, time()?);
        let nonce = u64::from_str_radix(next()?, 16).ok()?;
        Some(Self { id, note: Note { author, created_at, began, nonce } })
    }
}

/// A publish attempt bound to an idempotency key, with its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// The post being published.
    pub draft: Draft,
    /// Digest of the post's content.
    pub digest: Digest,
    /// True if the post is visible.
    pub is_done: bool,
}

impl Attempt {
    /// Returns the value to store under the idempotency key: the attempt in the state `is_done`.
    pub(super) fn text(&self, is_done: bool) -> String {
        let state = if is_done { "done" } else { "open" };
        format!("{state}:{}:{}", self.digest, self.draft)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, ':');
        let is_done = match parts.next()? {
            "done" => true,
            "open" => false,
            _ => return None,
        };
        let digest = Digest::parse(parts.next()?)?;
        Some(Self { draft: Draft::parse(parts.next()?)?, digest, is_done })
    }
}

/// An edit bound to an idempotency key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoundEdit {
    /// Digest of the post and its new text.
    pub digest: Digest,
    /// The edition that the edit replaces.
    pub replaced: u32,
}

/// What an idempotency key is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// A publish attempt.
    Attempt(Attempt),
    /// An edit.
    Edit(BoundEdit),
}

impl Bound {
    /// Returns the value to store under the idempotency key.
    fn text(&self) -> String {
        match self {
            Self::Attempt(attempt) => attempt.text(attempt.is_done),
            Self::Edit(BoundEdit { digest, replaced }) => format!("edit:{digest}:{replaced}"),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let Some(edit) = text.strip_prefix("edit:") else { return Attempt::parse(text).map(Self::Attempt) };
        let (digest, replaced) = edit.split_once(':')?;
        Some(Self::Edit(BoundEdit { digest: Digest::parse(digest)?, replaced: replaced.parse().ok()? }))
    }
}

impl FromRedisValue for Bound {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        let text = String::from_redis_value(value)?;
        let unknown = || ParsingError::from(format!("{text:?} is neither a publish attempt nor an edit"));
        Self::parse(&text).ok_or_else(unknown)
    }
}

/// Records the node that is going to issue the first post id of a new store, in a cluster. Returns false if one was
/// recorded before.
pub(super) fn set_issuer(keys: &Keys) -> Command<bool> {
    call(&script::SET_ISSUER).key(&keys.issuer()).reply()
}

/// Issues post ids, none below `least`, and records a note for each post. If sent twice, leaves surplus notes,
/// which the repairer removes.
pub fn issue(keys: &Keys, least: u64, notes: Vec<Note>) -> Command<Vec<Draft>> {
    let issue = call(&script::ISSUE_POSTS).key(&keys.next_post()).key(&keys.publishing()).key(&keys.issuer());
    let issue = issue.arg(least).args(notes.iter().map(Note::to_string));
    issue.reply::<u64>().map(|first| {
        let draft = |(id, note)| Some(Draft { id: PostId::new(id)?, note });
        let drafts: Option<Vec<Draft>> = (first..).zip(notes).map(draft).collect();
        drafts.ok_or_else(|| Error::corrupt("the post id 0 was issued"))
    })
}

/// Returns the last id issued; no post has a greater id.
pub fn last_id(keys: &Keys) -> Command<u64> {
    command("GET").key(&keys.next_post()).reply::<Option<u64>>().map(|last| Ok(last.unwrap_or(0)))
}

/// Removes the notes of posts that are visible or revoked.
pub fn settle(keys: &Keys, drafts: &[Draft]) -> Command<i64> {
    command("ZREM").key(&keys.publishing()).args(drafts.iter().map(Draft::to_string)).reply()
}

/// Reads up to `count` posts being published, from index `start`, in ascending order of id. `None` marks an
/// entry that this version cannot parse.
pub fn publishing(keys: &Keys, start: usize, count: usize) -> Command<Vec<Option<Draft>>> {
    let range = command("ZRANGE").key(&keys.publishing()).arg(start).arg(start + count - 1);
    let parse = |texts: Vec<String>| texts.iter().map(|text| Draft::parse(text)).collect();
    range.reply::<Vec<String>>().map(move |texts| Ok(parse(texts)))
}

/// Returns the number of posts being published.
pub fn publishing_count(keys: &Keys) -> Command<u64> {
    command("ZCARD").key(&keys.publishing()).reply()
}

/// Reads what one of the author's idempotency keys is bound to.
pub fn bound(keys: &Keys, author: UserId, key: Digest) -> Command<Option<Bound>> {
    command("GET").key(&keys.attempt(author, key)).reply()
}

/// The outcome of binding an idempotency key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claimed {
    /// The key is bound to this.
    Held(Bound),
    /// No token is left; retry after this time.
    Throttled(Duration),
}

/// Binds an idempotency key to `new`, if the key is still unbound (`known` is `None`) or still bound to `known`: an
/// attempt whose post was revoked, or an edit that another has overtaken. Binding an unbound key takes a token from the
/// author's bucket.
pub fn claim(
    keys: &Keys,
    author: UserId,
    key: Digest,
    known: Option<Bound>,
    new: Bound,
    (limit, now): (Limit, Timestamp),
) -> Command<Claimed> {
    let claim = call(&script::CLAIM_KEY).key(&keys.attempt(author, key)).key(&keys.publishes_of(author));
    let claim = claim.key(&keys.expiring(author));
    let claim = claim.arg(known.map_or(String::new(), |known| known.text()));
    let claim = claim.arg(new.text()).arg(ATTEMPT_SECONDS).arg(now.as_millis());
    bucket::taking(claim, limit, 1).reply::<(Option<Bound>, u64)>().map(|(held, wait)| {
        Ok(held.map_or_else(|| Claimed::Throttled(Duration::from_micros(wait)), Claimed::Held))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_of_a_draft_is_part_of_the_stored_data() {
        let time = Timestamp::from_millis;
        let author = UserId::new(7).unwrap();
        let note = Note { author, created_at: time(-5), began: time(6), nonce: 0xff };
        let draft = Draft { id: PostId::new(9).unwrap(), note };
        assert_eq!(draft.to_string(), "9:7:-5:6:ff");
        assert_eq!(Draft::parse("9:7:-5:6:ff"), Some(draft));
        let digest = Digest::parse("ab").unwrap();
        for (is_done, state) in [(false, "open"), (true, "done")] {
            let text = format!("{state}:000000000000000000000000000000ab:9:7:-5:6:ff");
            let attempt = Attempt { draft, digest, is_done };
            assert_eq!(Bound::Attempt(attempt).text(), text);
            assert_eq!(Bound::parse(&text), Some(Bound::Attempt(attempt)));
        }
        let edit = Bound::Edit(BoundEdit { digest, replaced: 3 });
        let text = "edit:000000000000000000000000000000ab:3";
        assert_eq!((edit.text().as_str(), Bound::parse(text)), (text, Some(edit)));
        for text in ["", "9", "0:7:5:6:ff", "9:7:x:6:ff", "open:ab", "edit:ab", "edit:ab:x"] {
            assert!(Draft::parse(text).is_none() && Bound::parse(text).is_none(), "{text:?}");
        }
    }
}
