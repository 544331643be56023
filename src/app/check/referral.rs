//! Checks the lists of referrers: that each reply, quote and repost has an entry in the right list of the post that it
//! refers to, that the lists have no other entries, and that the listed ones are counted.
//!
//! Two truths decide about an entry: the record or the archived row of the post that refers to another, and the account
//! of its author. Posts in Redis are found by the lists of their authors, and archived posts by their rows. A post
//! whose lists change while they are read is not judged: its details have a new version then.
//!
//! A missing entry is found at the post that refers, and all other faults at the post that has the lists. Most posts
//! have none: of hot posts, one command looks whether there are any. Archived posts that have never changed are to have
//! none, and those that have some nevertheless are found by the lists.
//!
//! Not here: how lists are read and compared (`app::check::entry`), and what decides about entries
//! (`app::check::state`).

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use futures::{StreamExt as _, stream};

use crate::app::App;
use crate::app::check::entry::{Fault, List};
use crate::app::check::state::{State, Storage, TOGETHER};
use crate::app::check::{Finding, Findings};
use crate::app::error::{Broken, Error};
use crate::app::post::like::Liking;
use crate::archive::error::Error as ArchiveError;
use crate::archive::referrer::EntryPortion;
use crate::model::attachment::{AttachmentCounts, ReferrerKind};
use crate::model::details::Details;
use crate::model::id::{PostId, UserId};
use crate::model::post::Post;
use crate::model::referrer::{EntryKind, EntryList, Referral, ReferrerEntry};
use crate::store::account;
use crate::store::batch::Batch;
use crate::store::draft;
use crate::store::intent::Operation;
use crate::store::referrer;

/// Maximum number of notes read at a time.
const NOTES: usize = 1_000;

/// Maximum number of jobs of accounts that are read.
const JOBS: usize = 10_000;

/// Time within which a job of an account is due if a call or a worker makes posts agree with the account now. Deletions
/// of accounts are due much later.
const SOON: Duration = Duration::from_mins(2);

/// Number of posts whose entries are settled concurrently.
const SETTLED_AT_ONCE: usize = 16;

/// Maximum number of attempts to correct counts that others change.
const ATTEMPTS: usize = 3;

/// Which posts are checked, and what of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    /// Hot posts: their entries in the lists of others, and their own lists.
    Hot,
    /// Archived posts: the same, but not the lists of those that have never changed.
    Archived,
    /// The lists of archived posts.
    ArchivedLists,
}

impl Scope {
    fn storage(self) -> Storage {
        match self {
            Self::Hot => Storage::Redis,
            Self::Archived | Self::ArchivedLists => Storage::Archive,
        }
    }
}

/// What others are doing, which is no fault.
#[derive(Default)]
pub(super) struct InProgress {
    /// Posts that are being published or deleted, and those whose entries are being settled.
    posts: HashSet<PostId>,
    /// Likes that are being written.
    likings: HashSet<Liking>,
    /// Users with whose accounts the entries of their posts, and their likes, are being made to agree.
    authors: HashSet<UserId>,
    /// True if there may be further authors, because there are too many to read.
    has_more_authors: bool,
}

impl InProgress {
    pub(super) fn extend(&mut self, other: Self) {
        self.posts.extend(other.posts);
        self.likings.extend(other.likings);
        self.authors.extend(other.authors);
        self.has_more_authors |= other.has_more_authors;
    }

    fn has_author(&self, author: UserId) -> bool {
        self.has_more_authors || self.authors.contains(&author)
    }

    pub(super) fn has_liking(&self, liking: Liking) -> bool {
        self.has_author(liking.user) || self.likings.contains(&liking) || self.posts.contains(&liking.post)
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
        self.check_referrals(Scope::Hot, &posts, repair).await
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
        Ok((self.check_referrals(Scope::Archived, &posts, repair).await?, last))
    }

    /// Checks the lists of some of the archived posts above `after` that [`App::check_archived_posts`] leaves out, and
    /// the lists of posts that do not exist, each of which counts as one fault. With `repair`, repairs faults. Returns
    /// the position after which the check continues; `None` at the end. Opens the archive.
    pub async fn check_archived_lists(
        &self,
        after: u64,
        repair: bool,
    ) -> Result<(Findings, Option<u64>), Error> {
        let targets = self.archive().await?.listed_after(after, TOGETHER).await?;
        let states = self.states(&targets).await?;
        let is_left_out = |target: &&PostId| {
            states[*target].live_in(Storage::Archive).is_some_and(|post| is_unchanged(&post.details))
        };
        let left_out: Vec<PostId> = targets.iter().filter(is_left_out).copied().collect();
        let mut findings = self.check_referrals(Scope::ArchivedLists, &left_out, repair).await?;
        let is_gone = |target: &&PostId| matches!(states[*target], State::Gone);
        let unowned: Vec<PostId> = targets.iter().filter(is_gone).copied().collect();
        findings[Finding::WrongReferrals] += unowned.len() as u64;
        if repair && !unowned.is_empty() {
            self.archive().await?.delete_unowned_lists(&unowned).await?;
        }
        Ok((findings, targets.last().map(|last| last.get())))
    }

    /// Checks those of these posts that are in the storage of the scope. With `repair`, repairs faults.
    async fn check_referrals(&self, scope: Scope, posts: &[PostId], repair: bool) -> Result<Findings, Error> {
        let mut findings = Findings::default();
        for posts in posts.chunks(TOGETHER) {
            findings += self.check_likes_at(scope.storage(), posts, repair).await?;
            let (faults, in_progress) = self.lasting_faults(scope, posts).await?;
            for fault in &faults {
                match fault.referral() {
                    None => findings[Finding::MiscountedReferrals] += 1,
                    Some(referral) if in_progress.has_author(referral.author) => {}
                    Some(_) => findings[Finding::WrongReferrals] += 1,
                }
            }
            if repair {
                // Also entries that are being made to agree with an account, which does no harm.
                self.repair_referrals(scope.storage(), &faults).await?;
            }
        }
        Ok(findings)
    }

    /// Returns the faults that are still there in a second look, without those of posts that are being published or
    /// deleted; and what is in progress.
    async fn lasting_faults(
        &self,
        scope: Scope,
        posts: &[PostId],
    ) -> Result<(HashSet<Fault>, InProgress), Error> {
        let mut faults = self.faults_at(scope, posts).await?;
        if faults.is_empty() {
            return Ok((faults, InProgress::default()));
        }
        let mut suspects: Vec<PostId> = faults.iter().map(Fault::found_at).collect();
        suspects.sort_unstable();
        suspects.dedup();
        let mut in_progress = self.in_progress().await?;
        let again = self.faults_at(scope, &suspects).await?;
        in_progress.extend(self.in_progress().await?);
        faults.retain(|fault| {
            let is_done = |referral: &Referral| !in_progress.posts.contains(&referral.referrer);
            again.contains(fault) && fault.referral().is_none_or(is_done)
        });
        Ok((faults, in_progress))
    }

    /// Reads what others are doing.
    pub(super) async fn in_progress(&self) -> Result<InProgress, Error> {
        let (mut posts, mut likings) = (HashSet::new(), HashSet::new());
        for operation in self.unfinished().await? {
            match operation {
                Operation::Refer { post, .. } | Operation::Delete { post, .. } => drop(posts.insert(post)),
                Operation::Like { user, post } => drop(likings.insert(Liking { user, post })),
                _ => {}
            }
        }
        for start in (0..).step_by(NOTES) {
            let notes = draft::publishing(self.keys(), start, NOTES);
            let notes = notes.send("check: publishing", self.store()).await?;
            posts.extend(notes.iter().flatten().map(|draft| draft.id));
            if notes.len() < NOTES {
                break;
            }
        }
        let jobs = account::due_jobs(self.keys(), self.now().plus(SOON), JOBS);
        let jobs = jobs.send("check: jobs", self.store()).await?;
        let has_more_authors = jobs.len() == JOBS;
        let authors = jobs.into_iter().map(|(job, _)| job.user).collect();
        Ok(InProgress { posts, likings, authors, has_more_authors })
    }

    /// Returns the faults of those of these posts that are in the storage of the scope.
    async fn faults_at(&self, scope: Scope, posts: &[PostId]) -> Result<HashSet<Fault>, Error> {
        let storage = scope.storage();
        let states = self.states(posts).await?;
        let posts: Vec<&Post> = states.values().filter_map(|state| state.live_in(storage)).collect();
        let mut miscounted = match storage {
            _ if posts.is_empty() => HashSet::new(),
            Storage::Redis => self.with_miscounted_likes(&posts).await?,
            Storage::Archive => self.with_miscounted_archived_likes(&posts).await?,
        };
        let mut faults = match scope {
            Scope::Hot | Scope::Archived => self.missing(&posts).await?,
            Scope::ArchivedLists => HashSet::new(),
        };
        let (with_lists, without) = self.divide(scope, posts).await?;
        let is_miscounted =
            |post: &&Post| ReferrerKind::ALL.iter().any(|kind| post.details.counts.of(*kind) > 0);
        miscounted.extend(without.into_iter().filter(is_miscounted).map(|post| post.id));
        for list in self.lists(storage, &with_lists).await? {
            let target = list.of.target;
            let details = states[&target].live_in(storage).map(|post| &post.details);
            if details.is_some_and(|details| list.is_miscounted_by(details)) {
                miscounted.insert(target);
            }
            faults.extend(list.faults);
        }
        let suspects: Vec<PostId> = miscounted.into_iter().collect();
        for (target, state) in self.states(&suspects).await? {
            let read = states[&target].live_in(storage).map(|post| &post.details);
            if state.live_in(storage).map(|post| &post.details) == read {
                faults.insert(Fault::Miscounted(target));
            }
        }
        Ok(faults)
    }

    /// Returns those of these archived posts that have another number of likes than is stored.
    async fn with_miscounted_archived_likes(&self, posts: &[&Post]) -> Result<HashSet<PostId>, Error> {
        let ids: Vec<PostId> = posts.iter().map(|post| post.id).collect();
        let counts = self.archive().await?.like_counts(&ids).await?;
        let is_wrong =
            |post: &&&Post| post.details.counts.likes() != counts.get(&post.id).copied().unwrap_or(0);
        Ok(posts.iter().filter(is_wrong).map(|post| post.id).collect())
    }

    /// Returns the entries of these posts that are missing from the lists of others.
    async fn missing(&self, posts: &[&Post]) -> Result<HashSet<Fault>, Error> {
        let referrals = |post: &&Post| post.details.references.referrals(post.id, post.author);
        let referrals: Vec<Referral> = posts.iter().flat_map(referrals).collect();
        let mut batch = Batch::new("check: referrers");
        let find = |referral: &Referral| batch.push(referrer::kind_of(self.keys(), referral));
        let tickets: Vec<_> = referrals.iter().map(find).collect();
        let mut replies = batch.send(self.store()).await?;
        let (mut missing, mut archived) = (Vec::new(), Vec::new());
        for (referral, ticket) in referrals.into_iter().zip(tickets) {
            match replies.take_readable(ticket, "entries", referral.target.get())? {
                Some((true, None)) => missing.push(referral),
                Some((false, _)) => archived.push(referral),
                // An entry in a wrong list is found at the post that has the list.
                Some((true, Some(_))) | None => {}
            }
        }
        missing.extend(self.missing_in_archive(archived).await?);
        // A deleted post has no lists.
        let targets: Vec<PostId> = missing.iter().map(|referral| referral.target).collect();
        let states = self.states(&targets).await?;
        missing.retain(|referral| matches!(states[&referral.target], State::Live(..)));
        Ok(missing.into_iter().map(Fault::Missing).collect())
    }

    /// Returns those of these entries that are in no list of an archived post.
    async fn missing_in_archive(&self, referrals: Vec<Referral>) -> Result<Vec<Referral>, Error> {
        if referrals.is_empty() {
            return Ok(referrals);
        }
        let portions = |referral: &Referral| {
            let from = PostId::new(referral.referrer.get().saturating_add(1));
            EntryList::of(referral.target, referral.kind).map(|list| EntryPortion { list, from, size: 1 })
        };
        let portions: Vec<EntryPortion> = referrals.iter().flat_map(portions).collect();
        let found = self.archive().await?.entries(&portions).await?;
        let is_missing = |(referral, lists): &(Referral, &[Vec<ReferrerEntry>])| {
            lists.iter().flatten().all(|entry| entry.post != referral.referrer)
        };
        let missing = referrals.into_iter().zip(found.chunks(EntryKind::ALL.len())).filter(is_missing);
        Ok(missing.map(|(referral, _)| referral).collect())
    }

    /// Divides posts into those whose lists are to be read, and those that have none, or whose lists are checked apart.
    async fn divide<'a>(
        &self,
        scope: Scope,
        posts: Vec<&'a Post>,
    ) -> Result<(Vec<&'a Post>, Vec<&'a Post>), Error> {
        Ok(match scope {
            Scope::Hot => {
                let count = |post: &&Post| referrer::list_count(self.keys(), post.id);
                let counts = self.send_all("check: has lists", posts.iter().map(count)).await?;
                let (with, without): (Vec<_>, Vec<_>) =
                    posts.into_iter().zip(counts).partition(|(_, count)| *count > 0);
                let posts = |part: Vec<(&'a Post, u64)>| part.into_iter().map(|(post, _)| post).collect();
                (posts(with), posts(without))
            }
            Scope::Archived => posts.into_iter().partition(|post| !is_unchanged(&post.details)),
            Scope::ArchivedLists => (posts, Vec::new()),
        })
    }

    /// Settles the entries of posts, without those that no post accounts for, and then corrects the counts.
    async fn repair_referrals(&self, storage: Storage, faults: &HashSet<Fault>) -> Result<(), Error> {
        let mut strays: HashMap<(UserId, PostId), Vec<Referral>> = HashMap::new();
        let mut counted = HashSet::new();
        for fault in faults {
            if let Some(referral) = fault.referral() {
                let strays = strays.entry((referral.author, referral.referrer)).or_default();
                strays.extend(matches!(fault, Fault::Stray(_)).then_some(*referral));
            }
            if !matches!(fault, Fault::Missing(_)) {
                counted.insert(fault.found_at());
            }
        }
        let settle = |(post, strays)| async move { (post, self.redo_referrals_without(post, strays).await) };
        let mut settled = stream::iter(strays).map(settle).buffer_unordered(SETTLED_AT_ONCE);
        while let Some(((_, post), settled)) = settled.next().await {
            match settled {
                Err(error) if is_unreadable(&error) => {
                    let error = &error as &dyn std::error::Error;
                    tracing::error!(error, %post, "the entries of a post cannot be repaired");
                }
                settled => settled?,
            }
        }
        for target in counted {
            self.count_again(storage, target).await?;
        }
        Ok(())
    }

    /// Returns the number of users who like a post; `None` if it cannot be known.
    async fn likes_at(&self, storage: Storage, post: PostId) -> Result<Option<u64>, Error> {
        match storage {
            Storage::Redis => self.number_of_likes(post).await,
            Storage::Archive => {
                let counts = self.archive().await?.like_counts(&[post]).await?;
                Ok(Some(counts.get(&post).copied().unwrap_or(0)))
            }
        }
    }

    /// Corrects the numbers of a post's listed entries, and of its likes, unless they keep changing or cannot be known.
    /// Those of a hot post are also written if its details are right: the number of its likes is stored twice.
    async fn count_again(&self, storage: Storage, target: PostId) -> Result<(), Error> {
        for _ in 0..ATTEMPTS {
            let states = self.states(&[target]).await?;
            let Some(post) = states[&target].live_in(storage) else { return Ok(()) };
            let read = &post.details;
            let mut right = read.clone();
            for kind in ReferrerKind::ALL {
                let list = EntryList { target, kind, entries: EntryKind::Listed };
                let Some(length) = self.length(storage, List::new(list, post.author)).await? else {
                    return Ok(());
                };
                *right.counts.of_mut(kind) = length;
            }
            let Some(likes) = self.likes_at(storage, target).await? else { return Ok(()) };
            right.counts.correct_likes(likes);
            if right == *read && storage == Storage::Archive {
                return Ok(());
            }
            right.version += 1;
            let is_corrected = match storage {
                Storage::Redis => {
                    let correct = referrer::correct_details(self.keys(), target, read, &right);
                    correct.send("check: counts", self.store()).await?
                }
                Storage::Archive => self.archive().await?.correct_details(target, read, &right).await?,
            };
            if is_corrected {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// Returns true if a post has never been edited or referred to.
fn is_unchanged(details: &Details) -> bool {
    details.version == 0 && details.counts == AttachmentCounts::default()
}

/// Returns true if an operation has failed because of stored data that cannot be read.
fn is_unreadable(error: &Error) -> bool {
    match error {
        Error::Broken(Broken::Store(error)) => error.is_about_data(),
        Error::Broken(Broken::Archive(error)) => matches!(error, ArchiveError::Corrupt(_)),
        _ => false,
    }
}
