//! Faults of the entries in lists of referrers, and the lists that are read to find them.
//!
//! Not here: which lists are read, and what repairs them (`app::check::referral`).

use std::collections::HashMap;

use crate::app::App;
use crate::app::check::state::{Storage, Truth};
use crate::app::error::Error;
use crate::archive::referrer::EntryPortion;
use crate::model::details::Details;
use crate::model::id::{PostId, UserId};
use crate::model::post::Post;
use crate::model::referrer::{EntryKind, EntryList, Referral, ReferrerEntry};
use crate::store::batch::Batch;
use crate::store::referrer;

/// Maximum number of entries of lists read together.
const ENTRIES: usize = 20_000;

/// Minimum number of entries of a list read at a time.
const LEAST_ENTRIES: usize = 10;

/// A fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Fault {
    /// A post has an entry in none of the three lists of the post that it refers to.
    Missing(Referral),
    /// A list has an entry that no post accounts for. The author is that of the post, or if unknown, of the list's
    /// post.
    Stray(Referral),
    /// A post has an entry in another list than the one that it belongs to.
    Misplaced(Referral),
    /// A post has a wrong number of listed entries.
    Miscounted(PostId),
}

impl Fault {
    /// Returns the post whose check finds the fault.
    pub(super) fn found_at(&self) -> PostId {
        match self {
            Self::Missing(referral) => referral.referrer,
            Self::Stray(referral) | Self::Misplaced(referral) => referral.target,
            Self::Miscounted(target) => *target,
        }
    }

    /// Returns the entry at fault; `None` if a number is.
    pub(super) fn referral(&self) -> Option<&Referral> {
        match self {
            Self::Missing(referral) | Self::Stray(referral) | Self::Misplaced(referral) => Some(referral),
            Self::Miscounted(_) => None,
        }
    }
}

/// A list of a post, as far as it has been read.
pub(super) struct List {
    pub(super) of: EntryList,
    /// The author of the post that has the list.
    author: UserId,
    /// Number of entries read.
    read: usize,
    /// The entry read last.
    last: Option<PostId>,
    is_unreadable: bool,
    pub(super) faults: Vec<Fault>,
}

impl List {
    pub(super) fn new(list: EntryList, author: UserId) -> Self {
        Self { of: list, author, read: 0, last: None, is_unreadable: false, faults: Vec::new() }
    }

    /// Returns all lists of a post.
    fn all(post: &Post) -> impl Iterator<Item = Self> + use<> {
        let author = post.author;
        EntryList::all(post.id).map(move |list| Self::new(list, author))
    }

    /// Counts the next entries.
    fn count(&mut self, entries: &[ReferrerEntry]) {
        self.read += entries.len();
        self.last = entries.last().map(|entry| entry.post).or(self.last);
    }

    /// Counts the next entries, and compares them with the posts. `None` if they are unreadable.
    fn compare(&mut self, entries: Option<&[ReferrerEntry]>, truths: &HashMap<PostId, Truth>) {
        let Some(entries) = entries else {
            self.is_unreadable = true;
            return;
        };
        self.count(entries);
        let faults = entries.iter().filter_map(|entry| self.fault_of(entry, &truths[&entry.post]));
        let faults: Vec<Fault> = faults.collect();
        self.faults.extend(faults);
    }

    fn fault_of(&self, entry: &ReferrerEntry, truth: &Truth) -> Option<Fault> {
        let EntryList { target, kind, entries } = self.of;
        let referral = |author| Referral { kind, target, referrer: entry.post, author };
        match truth {
            Truth::Unreadable => None,
            Truth::Gone => Some(Fault::Stray(referral(self.author))),
            Truth::Referring { author, referrals, entry: right } => {
                let referral = referral(*author);
                match right.filter(|_| referrals.contains(&referral)) {
                    Some(right) if right != entries => Some(Fault::Misplaced(referral)),
                    // Settling an entry in its list does not change its author.
                    Some(right) if *entry == ReferrerEntry::of(&referral, right) => None,
                    Some(_) | None => Some(Fault::Stray(referral)),
                }
            }
        }
    }

    /// Returns true if the list is of listed entries, and the stored number of these is another.
    pub(super) fn is_miscounted_by(&self, details: &Details) -> bool {
        let EntryList { kind, entries, .. } = self.of;
        let is_counted = entries == EntryKind::Listed && !self.is_unreadable;
        is_counted && details.counts.of(kind) != self.read as u64
    }
}

impl App {
    /// Reads the lists of these posts in `storage`, and compares their entries with the posts.
    pub(super) async fn lists(&self, storage: Storage, posts: &[&Post]) -> Result<Vec<List>, Error> {
        let mut open: Vec<List> = posts.iter().flat_map(|post| List::all(post)).collect();
        let mut lists = Vec::with_capacity(open.len());
        while !open.is_empty() {
            let together = open.split_off(open.len().saturating_sub(ENTRIES / LEAST_ENTRIES));
            let size = ENTRIES / together.len();
            let portions = self.portions(storage, &together, size).await?;
            let entries = portions.iter().flatten().flatten();
            let truths = self.truths(entries.map(|entry| entry.post).collect()).await?;
            for (mut list, portion) in together.into_iter().zip(portions) {
                list.compare(portion.as_deref(), &truths);
                let is_read = portion.is_none_or(|portion| portion.len() < size);
                let part = if is_read { &mut lists } else { &mut open };
                part.push(list);
            }
        }
        Ok(lists)
    }

    /// Reads the next `size` entries of each list; `None` of a list that is unreadable.
    async fn portions(
        &self,
        storage: Storage,
        lists: &[List],
        size: usize,
    ) -> Result<Vec<Option<Vec<ReferrerEntry>>>, Error> {
        if storage == Storage::Redis {
            let mut batch = Batch::new("check: lists of referrers");
            let read = |list: &List| {
                (list.of.target, batch.push(referrer::portion(self.keys(), list.of, list.read, size)))
            };
            let tickets: Vec<_> = lists.iter().map(read).collect();
            let mut replies = batch.send(self.store()).await?;
            let read = |(target, ticket): (PostId, _)| replies.take_readable(ticket, "entries", target.get());
            return Ok(tickets.into_iter().map(read).collect::<Result<_, _>>()?);
        }
        let portion = |list: &List| EntryPortion { list: list.of, from: list.last, size };
        let portions: Vec<EntryPortion> = lists.iter().map(portion).collect();
        Ok(self.archive().await?.entries(&portions).await?.into_iter().map(Some).collect())
    }

    /// Returns the number of entries of a list; `None` if it is unreadable.
    pub(super) async fn length(&self, storage: Storage, list: List) -> Result<Option<u64>, Error> {
        let mut lists = [list];
        loop {
            let portion = self.portions(storage, &lists, ENTRIES).await?.pop().flatten();
            let Some(portion) = portion else { return Ok(None) };
            let [list] = &mut lists;
            list.count(&portion);
            if portion.len() < ENTRIES {
                return Ok(Some(list.read as u64));
            }
        }
    }
}
