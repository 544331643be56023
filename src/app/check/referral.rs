//! Checks replies and quotes: that each is in the list of the post that it refers to, that the lists have no other posts,
//! and that they are counted.
//!
//! The truth is the record or the archived row of the post that refers to another. Posts in Redis are found by the lists
//! of their authors, and archived posts by their rows. A post whose lists change while they are read is not judged: its
//! details have a new version then.

use std::collections::{HashMap, HashSet};

use crate::app::App;
use crate::app::check::Findings;
use crate::app::error::Error;
use crate::archive::post::Row;
use crate::archive::referrer::ReferrerPage;
use crate::model::details::{Details, References};
use crate::model::id::{PostId, UserId};
use crate::model::page::{Direction, Page, Window};
use crate::model::post::{Post, Visibility};
use crate::model::referrer::{Referral, ReferrerKind};
use crate::store::batch::Batch;
use crate::store::draft;
use crate::store::intent::Operation;
use crate::store::post::{self, Record};
use crate::store::referrer;
use crate::store::unreadable::readable;

/// Maximum number of posts checked together.
const TOGETHER: usize = 1_000;

/// Maximum number of entries of lists read together, if each list is to have [`LEAST_ENTRIES`] of them.
const ENTRIES: usize = 20_000;

/// Minimum number of entries of a list read at a time.
const LEAST_ENTRIES: usize = 10;

/// Maximum number of notes read at a time.
const NOTES: usize = 1_000;

/// Maximum number of attempts to correct counts that others change.
const ATTEMPTS: usize = 3;

/// A place of posts and their lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Redis,
    Archive,
}

/// The state of a post.
enum State {
    Live(Place, Post),
    /// A tombstone in Redis.
    Deleted {
        author: UserId,
        visibility: Visibility,
        references: References,
    },
    /// No record and no archived post.
    Gone,
    Unreadable,
}

impl State {
    /// Returns the live post, if it is in this place.
    fn live_in(&self, place: Place) -> Option<&Post> {
        match self {
            Self::Live(is_in, post) if *is_in == place => Some(post),
            _ => None,
        }
    }

    /// Returns the part of the state that decides about the post's entries in lists.
    fn truth(&self, id: PostId) -> Truth {
        let (author, references, visibility, is_live) = match self {
            Self::Live(_, post) => (post.author, &post.details.references, post.visibility, true),
            Self::Deleted { author, visibility, references } => (*author, references, *visibility, false),
            Self::Gone => return Truth::Gone,
            Self::Unreadable => return Truth::Unreadable,
        };
        Truth::Referring { author, referrals: references.referrals(id, author).collect(), is_live }
    }
}

/// What decides about a post's entries in lists.
enum Truth {
    Referring { author: UserId, referrals: Vec<Referral>, is_live: bool },
    Gone,
    Unreadable,
}

/// A fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Fault {
    /// A post by this author is missing from a list.
    Missing(UserId, Referral),
    /// A list has a post that does not account for it. The author is that of the post, or if unknown, of the list's post.
    Stray(UserId, Referral),
    /// A post has a wrong number of referrers.
    Miscounted(PostId),
}

impl Fault {
    /// Returns the post whose check finds the fault.
    fn found_at(&self) -> PostId {
        match self {
            Self::Missing(_, referral) => referral.referrer,
            Self::Stray(_, referral) => referral.target,
            Self::Miscounted(target) => *target,
        }
    }
}

/// A list of a post, as far as it has been read.
struct List {
    target: PostId,
    author: UserId,
    kind: ReferrerKind,
    /// Number of entries read.
    read: usize,
    /// The entry read last.
    last: Option<PostId>,
    /// Number of public posts.
    public: u64,
    /// Number of posts of which it is unknown whether they are public.
    unknown: u64,
    strays: Vec<Fault>,
}

impl List {
    fn new(post: &Post, kind: ReferrerKind) -> Self {
        let (target, author) = (post.id, post.author);
        Self { target, author, kind, read: 0, last: None, public: 0, unknown: 0, strays: Vec::new() }
    }

    /// Adds the next entries.
    fn add(&mut self, entries: &[PostId], truths: &HashMap<PostId, Truth>) {
        self.read += entries.len();
        self.last = entries.last().copied().or(self.last);
        for &referrer in entries {
            let (author, found, is_live) = match &truths[&referrer] {
                Truth::Referring { author, referrals, is_live } => {
                    let is_this =
                        |referral: &&Referral| (referral.target, referral.kind) == (self.target, self.kind);
                    (*author, referrals.iter().find(is_this), *is_live)
                }
                Truth::Gone => (self.author, None, false),
                Truth::Unreadable => {
                    self.unknown += 1;
                    continue;
                }
            };
            let entry = Referral { kind: self.kind, target: self.target, referrer, author: self.author };
            match found {
                Some(referral) => self.public += u64::from(referral.author.get() > 0),
                None => self.unknown += 1,
            }
            if !is_live || found.is_none() {
                self.strays.push(Fault::Stray(author, found.copied().unwrap_or(entry)));
            }
        }
    }

    /// Returns true if the stored number of posts can be right.
    fn is_counted_by(&self, details: &Details) -> bool {
        (self.public..=self.public + self.unknown).contains(&details.counts.of(self.kind))
    }
}

impl App {
    /// Checks the hot posts of these authors. With `repair`, repairs faults.
    pub(super) async fn check_hot_referrals(
        &self,
        authors: &[UserId],
        repair: bool,
    ) -> Result<Findings, Error> {
        let stored = self.stored_posts(authors).await?;
        let posts: Vec<PostId> = stored.into_iter().flat_map(|(_, stored)| stored.posts).collect();
        self.check_referrals(Place::Redis, &posts, repair).await
    }

    /// Checks some of the archived posts above `after` that refer to others or are referred to: their entries in lists,
    /// and their own lists. With `repair`, repairs faults. Returns the position after which the check continues; `None`
    /// at the end. Opens the archive.
    pub async fn check_archived_posts(
        &self,
        after: u64,
        repair: bool,
    ) -> Result<(Findings, Option<u64>), Error> {
        let (posts, last) = self.archive().await?.detailed_after(after, TOGETHER).await?;
        let posts: Vec<PostId> = posts.iter().map(|post| post.id).collect();
        Ok((self.check_referrals(Place::Archive, &posts, repair).await?, last))
    }

    /// Checks the lists of some of the archived posts above `after` that [`App::check_archived_posts`] does not find, and
    /// the lists of posts that do not exist, each of which counts as one fault. With `repair`, repairs faults. Returns
    /// the position after which the check continues; `None` at the end. Opens the archive.
    pub async fn check_archived_lists(
        &self,
        after: u64,
        repair: bool,
    ) -> Result<(Findings, Option<u64>), Error> {
        let targets = self.archive().await?.referred_after(after, TOGETHER).await?;
        let states = self.states(&targets).await?;
        let is_plain = |target: &&PostId| {
            states[*target].live_in(Place::Archive).is_some_and(|post| post.details == Details::default())
        };
        let plain: Vec<PostId> = targets.iter().filter(is_plain).copied().collect();
        let mut findings = self.check_referrals(Place::Archive, &plain, repair).await?;
        let is_gone = |target: &&PostId| matches!(states[*target], State::Gone);
        let unowned: Vec<PostId> = targets.iter().filter(is_gone).copied().collect();
        findings.wrong_referrals += unowned.len() as u64;
        if repair && !unowned.is_empty() {
            self.archive().await?.delete_unowned_lists(&unowned).await?;
        }
        Ok((findings, targets.last().map(|last| last.get())))
    }

    /// Checks those of these posts that are in `place`. With `repair`, repairs faults.
    async fn check_referrals(&self, place: Place, posts: &[PostId], repair: bool) -> Result<Findings, Error> {
        let mut findings = Findings::default();
        for posts in posts.chunks(TOGETHER) {
            let faults = self.lasting_faults(place, posts).await?;
            let miscounted = faults.iter().filter(|fault| matches!(fault, Fault::Miscounted(_))).count();
            findings.miscounted_referrals += miscounted as u64;
            findings.wrong_referrals += (faults.len() - miscounted) as u64;
            if repair {
                self.repair_referrals(place, &faults).await?;
            }
        }
        Ok(findings)
    }

    /// Returns the faults that are still there in a second look, without those of posts that are being published or
    /// deleted.
    async fn lasting_faults(&self, place: Place, posts: &[PostId]) -> Result<HashSet<Fault>, Error> {
        let mut faults = self.faults_at(place, posts).await?;
        if faults.is_empty() {
            return Ok(faults);
        }
        let mut suspects: Vec<PostId> = faults.iter().map(Fault::found_at).collect();
        suspects.sort_unstable();
        suspects.dedup();
        let mut under_way = self.posts_under_way().await?;
        let again = self.faults_at(place, &suspects).await?;
        under_way.extend(self.posts_under_way().await?);
        faults.retain(|fault| match fault {
            Fault::Missing(_, referral) | Fault::Stray(_, referral) => {
                again.contains(fault) && !under_way.contains(&referral.referrer)
            }
            Fault::Miscounted(_) => again.contains(fault),
        });
        Ok(faults)
    }

    /// Returns the posts that are being published or deleted, and those whose entries are being settled.
    async fn posts_under_way(&self) -> Result<HashSet<PostId>, Error> {
        let operations = self.unfinished().await?;
        let post = |operation| match operation {
            Operation::Refer { post, .. } | Operation::Delete { post, .. } => Some(post),
            _ => None,
        };
        let mut posts: HashSet<PostId> = operations.into_iter().filter_map(post).collect();
        for start in (0..).step_by(NOTES) {
            let notes = draft::publishing(self.keys(), start, NOTES);
            let notes = notes.send("check: publishing", self.store()).await?;
            posts.extend(notes.iter().flatten().map(|draft| draft.id));
            if notes.len() < NOTES {
                break;
            }
        }
        Ok(posts)
    }

    /// Returns the faults of those of these posts that are in `place`.
    async fn faults_at(&self, place: Place, posts: &[PostId]) -> Result<HashSet<Fault>, Error> {
        let states = self.states(posts).await?;
        let posts: Vec<&Post> = states.values().filter_map(|state| state.live_in(place)).collect();
        let mut faults = self.missing(&posts).await?;
        let mut miscounted = HashSet::new();
        for list in self.lists(place, &posts).await? {
            let details = states[&list.target].live_in(place).map(|post| &post.details);
            if details.is_some_and(|details| !list.is_counted_by(details)) {
                miscounted.insert(list.target);
            }
            faults.extend(list.strays);
        }
        let suspects: Vec<PostId> = miscounted.into_iter().collect();
        for (target, state) in self.states(&suspects).await? {
            let read = states[&target].live_in(place).map(|post| &post.details);
            if state.live_in(place).map(|post| &post.details) == read {
                faults.insert(Fault::Miscounted(target));
            }
        }
        Ok(faults)
    }

    /// Returns those of these posts that are missing from lists.
    async fn missing(&self, posts: &[&Post]) -> Result<HashSet<Fault>, Error> {
        let referrals = |post: &&Post| {
            let referrals = post.details.references.referrals(post.id, post.author);
            let author = post.author;
            referrals.map(move |referral| (author, referral))
        };
        let referrals: Vec<(UserId, Referral)> = posts.iter().flat_map(referrals).collect();
        let mut batch = Batch::new("check: referrers");
        let read = |(_, referral): &(UserId, Referral)| {
            let Referral { kind, target, .. } = *referral;
            batch.push(referrer::page(self.keys(), target, kind, &window_of(referral), 0))
        };
        let tickets = referrals.iter().map(read).collect();
        let pages = batch.send(self.store()).await?.take_all(tickets)?;
        let mut missing = Vec::new();
        let mut archived = Vec::new();
        for (entry, page) in referrals.into_iter().zip(pages) {
            match page {
                Some(page) if has(&page, &entry.1) => {}
                Some(_) => missing.push(entry),
                None => archived.push(entry),
            }
        }
        if !archived.is_empty() {
            let page = |(_, referral): &(UserId, Referral)| {
                let Referral { kind, target, .. } = *referral;
                ReferrerPage { target, kind, window: window_of(referral), limited: 0 }
            };
            let pages: Vec<ReferrerPage> = archived.iter().map(page).collect();
            let pages = self.archive().await?.referrers(&pages).await?;
            let absent = archived.into_iter().zip(pages).filter(|((_, referral), page)| !has(page, referral));
            missing.extend(absent.map(|(entry, _)| entry));
        }
        // A deleted post has no lists.
        let targets: Vec<PostId> = missing.iter().map(|(_, referral)| referral.target).collect();
        let states = self.states(&targets).await?;
        missing.retain(|(_, referral)| matches!(states[&referral.target], State::Live(..)));
        Ok(missing.into_iter().map(|(author, referral)| Fault::Missing(author, referral)).collect())
    }

    /// Reads the lists of these posts in `place`, and compares their entries with the posts.
    async fn lists(&self, place: Place, posts: &[&Post]) -> Result<Vec<List>, Error> {
        let lists = posts.iter().flat_map(|post| ReferrerKind::ALL.map(|kind| List::new(post, kind)));
        let mut open: Vec<List> = lists.collect();
        let mut lists = Vec::with_capacity(open.len());
        while !open.is_empty() {
            let size = LEAST_ENTRIES.max(ENTRIES / open.len());
            let portions = self.portions(place, &open, size).await?;
            let truths = self.truths(&portions).await?;
            let mut rest = Vec::new();
            for (mut list, portion) in open.into_iter().zip(portions) {
                list.add(&portion, &truths);
                let part = if portion.len() < size { &mut lists } else { &mut rest };
                part.push(list);
            }
            open = rest;
        }
        Ok(lists)
    }

    /// Reads the next `size` entries of each list.
    async fn portions(&self, place: Place, lists: &[List], size: usize) -> Result<Vec<Vec<PostId>>, Error> {
        if place == Place::Redis {
            let mut batch = Batch::new("check: lists of referrers");
            let read = |list: &List| {
                batch.push(referrer::portion(
                    self.keys(),
                    crate::model::referrer::EntryList {
                        target: list.target,
                        kind: list.kind,
                        entries: crate::model::referrer::EntryKind::Listed,
                    },
                    list.read,
                    size,
                ))
            };
            let tickets = lists.iter().map(read).collect();
            return Ok(batch
                .send(self.store())
                .await?
                .take_all(tickets)?
                .into_iter()
                .map(|l| l.into_iter().map(|e| e.post).collect())
                .collect());
        }
        let page = |list: &List| {
            let window = Window { direction: Direction::Forward, size, from: list.last };
            ReferrerPage { target: list.target, kind: list.kind, window, limited: 0 }
        };
        let pages: Vec<ReferrerPage> = lists.iter().map(page).collect();
        let pages = self.archive().await?.referrers(&pages).await?;
        Ok(pages.into_iter().map(|page| page.listed.entries.to_vec()).collect())
    }

    /// Returns the truths of all entries.
    async fn truths(&self, portions: &[Vec<PostId>]) -> Result<HashMap<PostId, Truth>, Error> {
        let mut entries: Vec<PostId> = portions.iter().flatten().copied().collect();
        entries.sort_unstable();
        entries.dedup();
        let mut truths = HashMap::with_capacity(entries.len());
        for entries in entries.chunks(TOGETHER) {
            let states = self.states(entries).await?;
            truths.extend(states.into_iter().map(|(id, state)| (id, state.truth(id))));
        }
        Ok(truths)
    }

    /// Reads the states of posts. Makes one round trip, plus an archive query for posts without a record.
    async fn states(&self, posts: &[PostId]) -> Result<HashMap<PostId, State>, Error> {
        if posts.is_empty() {
            return Ok(HashMap::new());
        }
        let read = post::read_all(self.keys(), posts.to_vec());
        let mut states = HashMap::with_capacity(posts.len());
        let mut missing = Vec::new();
        for (id, record) in read.send("check: posts", self.store()).await? {
            let state = match readable(record, "post", id.get())? {
                Some(Record::Live(post)) => State::Live(Place::Redis, post),
                Some(Record::Tombstone { author, visibility, references, .. }) => {
                    State::Deleted { author, visibility, references }
                }
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
            let rows = self.archive().await?.read(&missing).await?;
            let live = rows.into_iter().filter_map(Row::live);
            states.extend(live.map(|post| (post.id, State::Live(Place::Archive, post))));
        }
        Ok(states)
    }

    /// Settles missing and stray entries, and then corrects the counts.
    async fn repair_referrals(&self, place: Place, faults: &HashSet<Fault>) -> Result<(), Error> {
        let mut counted = HashSet::new();
        for fault in faults {
            match fault {
                Fault::Missing(author, Referral { referrer, .. }) => {
                    self.redo_referrals(*author, *referrer).await?;
                }
                Fault::Stray(author, referral) => {
                    self.redo_referrals_without((*author, referral.referrer), vec![*referral]).await?;
                    counted.insert(referral.target);
                }
                Fault::Miscounted(target) => drop(counted.insert(*target)),
            }
        }
        for target in counted {
            self.count_again(place, target).await?;
        }
        Ok(())
    }

    /// Corrects the numbers of a post's referrers, unless they keep changing or cannot be known.
    async fn count_again(&self, place: Place, target: PostId) -> Result<(), Error> {
        for _ in 0..ATTEMPTS {
            let states = self.states(&[target]).await?;
            let Some(post) = states[&target].live_in(place) else { return Ok(()) };
            let lists = self.lists(place, &[post]).await?;
            let read = &post.details;
            if lists.iter().all(|list| list.is_counted_by(read)) || lists.iter().any(|list| list.unknown > 0)
            {
                return Ok(());
            }
            let mut right = Details { version: read.version + 1, ..read.clone() };
            for list in lists {
                *right.counts.of_mut(list.kind) = list.public;
            }
            let is_corrected = match place {
                Place::Redis => {
                    let correct = referrer::correct_details(self.keys(), target, read, &right);
                    correct.send("check: counts", self.store()).await?
                }
                Place::Archive => self.archive().await?.correct_details(target, read, &right).await?,
            };
            if is_corrected {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// Returns the window whose first entry is that of a post, if the list has it.
fn window_of(referral: &Referral) -> Window<PostId> {
    let from = PostId::new(referral.referrer.get().saturating_add(1));
    Window { direction: Direction::Forward, size: 1, from }
}

fn has(page: &crate::model::referrer::EntryPage, referral: &Referral) -> bool {
    page.listed.entries.contains(&referral.referrer)
}
