//! Checks the sets of likes and of bookmarks: that the order, the tree and the number of members agree.
//!
//! Not here: the form of the sets (`store::ordered`).

use std::collections::{HashMap, HashSet};

use crate::app::App;
use crate::app::check::{Finding, Findings};
use crate::app::error::Error;
use crate::app::post::like::Liking;
use crate::model::id::{PostId, UserId};
use crate::model::page::{InListOrder, Position};
use crate::model::reaction::ReactionKind;
use crate::store::compact::NEWEST;
use crate::store::key::{Key, OrderedSet};
use crate::store::malformed::Form;
use crate::store::ordered::{self, ORDERED, Stored};
use crate::store::tree::Shard;

/// Number of users whose reactions are read together.
const TOGETHER: usize = 50;
/// Maximum number of attempts to read a user's reactions without a concurrent change.
const ATTEMPTS: usize = 3;

/// A set as it was read.
struct Found {
    stored: Stored,
    /// The members in the tree.
    tree: HashSet<PostId>,
}

/// A set as it should be.
struct Right {
    /// The entries, in order.
    order: Vec<Position<PostId>>,
    /// The members that the tree lacks.
    missing: Vec<PostId>,
    /// The number of members; `None` if the set needs no tree.
    count: Option<u64>,
}

impl Found {
    /// Returns the set with all members of the order and of the tree. Bookmarks that are only in the tree are at the
    /// end of the order, with the time of the last entry. The order of likes may lack some.
    fn right(&self, kind: ReactionKind) -> Right {
        let mut order = self.stored.entries();
        order.sort_by(InListOrder::in_list_order);
        let mut members = HashSet::new();
        order.retain(|entry| members.insert(entry.id));
        let missing: Vec<PostId> = members.iter().filter(|post| !self.tree.contains(post)).copied().collect();
        let at = order.last().map_or(ordered::EARLIEST, |entry| entry.at);
        let unordered = self.tree.iter().filter(|post| !members.contains(post));
        let has_tree = self.stored.count.is_some() || !self.tree.is_empty() || members.len() > NEWEST;
        let mut rest: Vec<_> = unordered.map(|post| Position { at, id: *post }).collect();
        let count = (members.len() + rest.len()) as u64;
        if kind == ReactionKind::Bookmark {
            order.append(&mut rest);
        }
        order.sort_by(InListOrder::in_list_order);
        order.truncate(ORDERED);
        let has_tree = has_tree && count > 0;
        Right {
            order,
            missing: if has_tree { missing } else { Vec::new() },
            count: has_tree.then_some(count),
        }
    }

    /// Returns true if the set is stored like this.
    fn is(&self, Right { order, missing, count }: &Right) -> bool {
        let length = order.len();
        let lengths = if count.is_some() { [0, length, length] } else { [length, 0, 0] };
        let Stored { count: stored, .. } = &self.stored;
        let is_ordered = self.stored.lengths() == lengths && self.stored.entries() == *order;
        is_ordered && missing.is_empty() && stored == count
    }
}

/// Returns the entries of a set that has no tree, if it is right.
fn right_entries(stored: &Stored, kind: ReactionKind) -> Option<Vec<Position<PostId>>> {
    let found = Found { stored: stored.clone(), tree: HashSet::new() };
    let right = found.right(kind);
    found.is(&right).then_some(right.order)
}

/// What a check has found of a set.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Right,
    Wrong,
    /// Wrong, and not to be read before it is repaired.
    Unreadable,
}

impl App {
    /// Checks the likes and bookmarks of these users: their sets, and the other side of each like. With `repair`,
    /// repairs faults, without losing a reaction that can be read. Does not judge sets that keep changing.
    pub(super) async fn check_reactions(&self, users: &[UserId], repair: bool) -> Result<Findings, Error> {
        let mut findings = Findings::default();
        for kind in ReactionKind::ALL {
            for users in users.chunks(TOGETHER) {
                findings += self.check_reactions_of_kind(users, kind, repair).await?;
            }
        }
        Ok(findings)
    }

    async fn check_reactions_of_kind(
        &self,
        users: &[UserId],
        kind: ReactionKind,
        repair: bool,
    ) -> Result<Findings, Error> {
        let sets = users.iter().map(|user| (*user, self.keys().reacted(*user, kind)));
        let (with_any, without_tree) = self.divide_sets(sets.collect(), repair).await?;
        let mut findings = Findings::default();
        let mut likings = Vec::new();
        for (user, set, form) in with_any {
            let entries = without_tree.get(&user).and_then(|stored| right_entries(stored, kind));
            let verdict = match &entries {
                Some(_) => Verdict::Right,
                None => self.verdict_of(&set, kind, &form, repair).await?,
            };
            findings[Finding::WrongReactions] += u64::from(verdict != Verdict::Right);
            match entries {
                _ if kind != ReactionKind::Like || verdict == Verdict::Unreadable => {}
                Some(entries) => likings.extend(entries.iter().map(|entry| Liking { user, post: entry.id })),
                None => findings += self.check_likes_of(user, repair).await?,
            }
        }
        findings += self.check_likings(&likings, repair).await?;
        Ok(findings)
    }

    /// Returns those of these sets that contain anything, and what is stored of those that are readable and have no
    /// tree.
    async fn divide_sets(
        &self,
        sets: Vec<(UserId, Key<OrderedSet>)>,
        repair: bool,
    ) -> Result<(Vec<(UserId, Key<OrderedSet>, Form)>, HashMap<UserId, Stored>), Error> {
        let forms = sets.iter().map(|(_, set)| ordered::form(set, repair));
        let forms = self.send_all("check: forms of reactions", forms).await?;
        let with_any = sets.into_iter().zip(forms).map(|((user, set), form)| (user, set, form));
        let with_any: Vec<_> = with_any.filter(|(_, _, form)| form.wrong > 0 || form.has_others()).collect();
        let without_tree = with_any.iter().filter(|(_, _, form)| form.wrong == 0 && !form.has_tree());
        let without_tree: Vec<_> = without_tree.collect();
        let stored = without_tree.iter().map(|(_, set, _)| ordered::stored(set));
        let stored = self.send_all("check: reactions", stored).await?;
        let users: Vec<UserId> = without_tree.iter().map(|(user, _, _)| *user).collect();
        Ok((with_any, users.into_iter().zip(stored).collect()))
    }

    /// Returns what is wrong with a set of which some keys have this form. With `repair`, repairs it.
    async fn verdict_of(
        &self,
        set: &Key<OrderedSet>,
        kind: ReactionKind,
        form: &Form,
        repair: bool,
    ) -> Result<Verdict, Error> {
        let mut wrong = form.wrong;
        if wrong > 0 && !repair {
            return Ok(Verdict::Unreadable);
        }
        for _ in 0..ATTEMPTS {
            if !form.has_others() && wrong == 0 {
                break;
            }
            let Some((found, wrong_in_tree)) = self.read_set(set, repair).await? else { continue };
            wrong += wrong_in_tree;
            if wrong_in_tree > 0 && !repair {
                return Ok(Verdict::Unreadable);
            }
            let right = found.right(kind);
            if found.is(&right) {
                break;
            }
            if !repair {
                return Ok(Verdict::Wrong);
            }
            let restore = ordered::restore(set, &found.stored, &right.order, &right.missing, right.count);
            if restore.send("check: restore reactions", self.store()).await? {
                return Ok(Verdict::Wrong);
            }
        }
        Ok(if wrong > 0 { Verdict::Wrong } else { Verdict::Right })
    }

    /// Reads a set, and the number of keys and elements of its tree that are wrong, which it removes with `repair`.
    /// `None` if the set has changed while it was read.
    async fn read_set(&self, set: &Key<OrderedSet>, repair: bool) -> Result<Option<(Found, u64)>, Error> {
        let read = async || ordered::stored(set).send("check: reactions", self.store()).await;
        let stored = read().await?;
        let (mut tree, mut open, mut wrong) = (HashSet::new(), vec![Shard::ROOT], 0);
        while !open.is_empty() {
            let form = ordered::form_of_shards(set, &open, repair);
            wrong += form.send("check: shards of reactions", self.store()).await?.wrong;
            if wrong > 0 && !repair {
                break;
            }
            let shards = open.iter().map(|shard| ordered::shard(set, *shard));
            let found = self.send_all("check: shards of reactions", shards).await?;
            let below = open.iter().zip(&found).flat_map(|(shard, elements)| shard.below(elements)).collect();
            tree.extend(found.into_iter().flatten().filter_map(PostId::new));
            open = below;
        }
        let is_unchanged = read().await? == stored;
        Ok(is_unchanged.then_some((Found { stored, tree }, wrong)))
    }
}
